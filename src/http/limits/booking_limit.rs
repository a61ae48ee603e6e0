//! Limits on bookings, holds and moves by the public and by accounts: by source and the networks
//! around it, by client or appointment, and by key. Reference 6.11.
//!
//! A booking takes its places before the write, so that concurrent ones cannot pass together, and
//! gives them back if it is refused. A request whose connection ends keeps them, since its write
//! goes on.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::domain::records::booking_origin::{BookingOrigin, NetworkWidth};
use crate::domain::records::ids::{GroupId, VeventId};
use crate::domain::records::text::Email;
use crate::domain::state::command::Caller;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{DAY, HOUR, Instant};
use crate::engine::Committed;
use crate::http::auth::Identity;
use crate::http::error::ApiError;
use crate::http::limits::booking_limits::BookingLimits;
use crate::http::limits::client_hash::{address_hash, client_hash};
use crate::http::limits::saved_counts::NamedCounts;
use crate::http::limits::sliding_window::SlidingWindow;
use crate::http::limits::source_networks::SourceNetworks;
use crate::planted_faults::PlantedFault;

/// Number of holds for each booking that a limit allows: a client may choose another time.
pub(crate) const HOLDS_PER_BOOKING: usize = 3;
/// Number of moves for each booking that a limit allows: a client may change its mind.
pub(crate) const MOVES_PER_BOOKING: usize = 3;

/// Number of bookings with a code for each booking that a limit of an IPv4 address allows: a whole
/// mobile network may share it, and it takes a mailbox to give a code.
const CODES_PER_BOOKING_BY_IPV4: usize = 25;
/// The same of an IPv6 network: a waiting room may share it.
const CODES_PER_BOOKING_BY_IPV6: usize = 5;
/// Number of bookings from a /56 for each that its sources may make.
const SITE_FACTOR: usize = 2;
/// The same from a /48, and from the IPv4 addresses of a /24.
const WIDEST_FACTOR: usize = 4;

/// Number of bookings for an address for each that one network may make for it without a code. So
/// strangers with one network do not learn of as many bookings for that address by its owner.
pub(crate) const ADDRESS_FACTOR: usize = 2;

/// Says of refused bookings that their client is the same.
const CLIENT: &str = "for one client";

/// The limits, with the recent bookings of each. A limit that is switched off is left out.
#[derive(Debug)]
pub(crate) struct BookingLimit {
    rules: Vec<BookingRule>,
    /// Limits on bookings that wait for a code, which have counts of their own.
    code_rules: Vec<BookingRule>,
    /// Limits on holds, which have counts of their own: one is made before its booking.
    hold_rules: Vec<BookingRule>,
    /// Limits on moves, which have counts of their own: the appointment exists already.
    move_rules: Vec<BookingRule>,
}

/// A limit on the bookings that have one thing in common.
#[derive(Debug)]
struct BookingRule {
    /// Name of the limit in metrics.
    name: &'static str,
    /// Name of the subjects, which no other rule of this name has.
    counted_by: &'static str,
    /// The thing that bookings have in common, for the message of a refusal.
    common: &'static str,
    subject: fn(&LimitSubjects) -> Option<BookingSubject>,
    window: SlidingWindow<BookingSubject>,
    /// Whether a booking beyond it is made with a code, in place of a refusal.
    is_soft: bool,
}

/// Something that bookings are counted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum BookingSubject {
    /// A source, or a network around it.
    Network(IpNet),
    /// SHA-256 of a group and a client.
    Client([u8; 32]),
    /// The same of an address that a key alone gave, and the hash of the source or of the widest
    /// network around it.
    AddressInNetwork([u8; 32], [u8; 16]),
    /// SHA-256 of an application key, and a group.
    Key([u8; 32], GroupId),
}

/// The places that are left of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateLimit {
    /// Name of the limit.
    pub(crate) name: &'static str,
    /// Number of further bookings.
    pub(crate) remaining: usize,
    /// Seconds after which all places taken by now are free again.
    pub(crate) seconds: i64,
}

/// The subjects that one write counts for.
#[derive(Clone, Debug)]
pub(crate) struct LimitSubjects {
    /// The networks around the source; `None` behind a key of a server, which stands for many
    /// clients.
    networks: Option<SourceNetworks>,
    /// The account, or the address that a key alone gave, within the group; of a move the
    /// appointment.
    client: Option<[u8; 32]>,
    /// The hash of the source that a booking keeps as its origin.
    origin: Option<[u8; 16]>,
    apikey: [u8; 32],
    group: GroupId,
    /// Whether the caller shows a key alone, so that refusals tell a stranger of a client.
    is_by_key: bool,
    kind: LimitedWrite,
}

/// The writes that limits count, each kind by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitedWrite {
    Booking,
    /// A booking that waits for a code.
    BookingByCode,
    Hold,
    Move,
}

/// Places of a booking under way, one for each appointment and limit.
#[derive(Debug)]
pub(crate) struct BookingReservation<'l> {
    taken: Vec<(&'l BookingRule, BookingSubject)>,
    number: usize,
    at: Instant,
    source: Option<IpNet>,
    /// Whether a soft limit is used up, so that a code is asked for.
    asks_code: bool,
    /// Whether the booking is not made without one, although none may be left: the limit is not
    /// that of an address, which strangers could use up together with its codes.
    needs_code: bool,
}

impl BookingLimit {
    /// The counts, for other servers of a cluster.
    pub(crate) fn counts(&self) -> impl Iterator<Item = NamedCounts<'_>> {
        let sets = [
            ("bookings", &self.rules),
            ("code_bookings", &self.code_rules),
            ("holds", &self.hold_rules),
            ("moves", &self.move_rules),
        ];
        sets.into_iter().flat_map(|(set, rules)| {
            rules.iter().map(move |rule| {
                NamedCounts::new(format!("{set}.{}.{}", rule.name, rule.counted_by), &rule.window)
            })
        })
    }

    /// Returns the limits without any booking.
    pub(crate) fn new(limits: BookingLimits) -> Self {
        Self {
            rules: make_rules(limits, Factors::uniform(1), CLIENT),
            code_rules: make_rules(limits, Factors::BY_CODE, CLIENT),
            hold_rules: make_rules(limits, Factors::uniform(HOLDS_PER_BOOKING), CLIENT),
            move_rules: make_rules(
                limits,
                Factors::uniform(MOVES_PER_BOOKING),
                "of one appointment",
            ),
        }
    }

    /// Takes one place of every limit for each of `number` appointments. More appointments than a
    /// limit has places take all of them, if all are free. A hold also needs a free place of each
    /// limit on bookings, and does not take it.
    ///
    /// # Errors
    /// The limit that has too few places, by its name in metrics, and 429 with the time to wait.
    /// Nothing is taken.
    pub(crate) fn reserve(
        &self,
        subjects: &LimitSubjects,
        number: usize,
        now: Instant,
    ) -> Result<BookingReservation<'_>, (&'static str, ApiError)> {
        let source = subjects.networks.map(|networks| networks.own);
        let mut reservation = BookingReservation {
            taken: Vec::new(),
            number,
            at: now,
            source,
            asks_code: false,
            needs_code: false,
        };
        let (rules, what) = match subjects.kind {
            LimitedWrite::Booking => (&self.rules, "bookings"),
            LimitedWrite::BookingByCode => (&self.code_rules, "bookings"),
            LimitedWrite::Hold => {
                self.check_place_for_booking(subjects, now)?;
                (&self.hold_rules, "holds")
            }
            LimitedWrite::Move => (&self.move_rules, "moves"),
        };
        for rule in rules {
            let Some(subject) = (rule.subject)(subjects) else { continue };
            if let Err(seconds) = rule.window.try_add(&subject, number, now) {
                if rule.is_soft {
                    reservation.asks_code = true;
                    reservation.needs_code |= matches!(subject, BookingSubject::Network(_));
                    continue;
                }
                reservation.give_back();
                return Err(rule.refuse(what, seconds));
            }
            reservation.taken.push((rule, subject));
        }
        Ok(reservation)
    }

    /// Gives back the places for its address of each booking with a key alone that a write has
    /// cancelled within the hour. Its source keeps them.
    pub(crate) fn forget_cancelled(&self, done: &Committed) {
        for step in done.steps.iter().flatten() {
            self.forget_cancelled(step);
        }
        let named = VeventId::new(done.object).filter(|id| !done.appointments.contains(id));
        for id in done.appointments.iter().copied().chain(named) {
            self.forget_if_cancelled(&done.before, &done.group_state, id);
        }
    }

    /// Does the same for an appointment that has been cancelled between two states.
    pub(crate) fn forget_if_cancelled(
        &self,
        before: &GroupState,
        after: &GroupState,
        id: VeventId,
    ) {
        let (Some(was), Some(row)) = (before.rows.get(&id), after.rows.get(&id)) else { return };
        let is_late = row.updated_at.seconds_since(row.created_at) >= HOUR;
        if was.deleted || !row.deleted || is_late || !row.is_booked_by_key() {
            return;
        }
        let client = was.appointment().and_then(|booked| before.fiches.get(&booked.fiche_id));
        let Some(email) = client.and_then(|client| client.email.as_ref()) else { return };
        let Some(origin) = row.booking_source() else { return };
        let client = address_hash(before.catalogue.group.id, email);
        let widest = NetworkWidth::Widest.network_of(origin);
        for subject in [
            BookingSubject::Client(client),
            BookingSubject::AddressInNetwork(client, origin),
            BookingSubject::AddressInNetwork(client, widest),
        ] {
            // Each is known to one rule only.
            for rule in &self.rules {
                rule.window.remove_newest(&subject);
            }
        }
    }

    /// Checks that each limit on bookings has a free place for the booking of a hold.
    fn check_place_for_booking(
        &self,
        subjects: &LimitSubjects,
        now: Instant,
    ) -> Result<(), (&'static str, ApiError)> {
        for rule in &self.rules {
            let Some(subject) = (rule.subject)(subjects) else { continue };
            if let Some(seconds) = rule.window.wait(&subject, now)
                && !rule.is_soft
            {
                return Err(rule.refuse("bookings", seconds));
            }
        }
        Ok(())
    }
}

impl BookingRule {
    fn refuse(&self, what: &str, seconds: i64) -> (&'static str, ApiError) {
        (self.name, ApiError::too_many(&format!("{what} {}", self.common), seconds))
    }
}

/// Numbers of writes for each booking that a limit allows.
#[derive(Clone, Copy, Debug)]
struct Factors {
    /// From an IPv4 address.
    by_ipv4: usize,
    /// From a /64.
    by_ipv6: usize,
    /// For a client; 0 for no limit.
    by_client: usize,
    /// With a key.
    by_key: usize,
}

impl Factors {
    const BY_CODE: Self = Self {
        by_ipv4: CODES_PER_BOOKING_BY_IPV4,
        by_ipv6: CODES_PER_BOOKING_BY_IPV6,
        // A recipient of codes has limits of its own.
        by_client: 0,
        by_key: 1,
    };

    const fn uniform(factor: usize) -> Self {
        Self { by_ipv4: factor, by_ipv6: factor, by_client: factor, by_key: factor }
    }
}

type FindSubject = fn(&LimitSubjects) -> Option<BookingSubject>;

impl BookingRule {
    fn new(
        name: &'static str,
        counted_by: &'static str,
        common: &'static str,
        limit: u32,
        factor: usize,
        seconds: i64,
        subject: FindSubject,
    ) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).saturating_mul(factor);
        let window = SlidingWindow::new(limit, seconds);
        Self { name, counted_by, common, subject, window, is_soft: false }
    }
}

/// Returns the limits that are not switched off, each by its factor. `of_client` says of refused
/// writes that they have the client in common.
fn make_rules(
    limits: BookingLimits,
    factors: Factors,
    of_client: &'static str,
) -> Vec<BookingRule> {
    let names = ["source_daily", "network_daily"];
    let day = if PlantedFault::DailyLimitOfHalfDay.is_active() { DAY / 2 } else { DAY };
    let mut rules = make_source_rules(names, limits.source_daily_max, day, factors);
    let names = ["source_hourly", "network_hourly"];
    rules.extend(make_source_rules(names, limits.source_hourly_max, HOUR, factors));
    rules.push(BookingRule::new(
        "client_hourly",
        "at_source",
        of_client,
        limits.client_hourly_max,
        factors.by_client,
        HOUR,
        LimitSubjects::client_at_source,
    ));
    let of_address = |counted_by, factor, subject| {
        let factor = factors.by_client * factor;
        let limit = limits.client_hourly_max;
        let name = "address_hourly";
        let rule = BookingRule::new(name, counted_by, of_client, limit, factor, HOUR, subject);
        BookingRule { is_soft: true, ..rule }
    };
    rules.push(of_address("in_network", 1, LimitSubjects::address_in_network));
    rules.push(of_address("in_all", ADDRESS_FACTOR, LimitSubjects::address));
    rules.push(BookingRule::new(
        "key_hourly",
        "in_group",
        "with this apikey",
        limits.key_hourly_max,
        factors.by_key,
        HOUR,
        |subjects| Some(BookingSubject::Key(subjects.apikey, subjects.group)),
    ));
    rules.retain(|rule| !rule.window.is_off());
    rules
}

/// Returns the limits on a source and on the networks around it. `names` are those of both in
/// metrics.
fn make_source_rules(
    names: [&'static str; 2],
    limit: u32,
    seconds: i64,
    factors: Factors,
) -> Vec<BookingRule> {
    let [source, network] = names;
    let of_source = |counted_by, factor, subject| {
        BookingRule::new(source, counted_by, "from one address", limit, factor, seconds, subject)
    };
    let of_network = |counted_by, factor, subject| {
        BookingRule::new(network, counted_by, "from one network", limit, factor, seconds, subject)
    };
    let by_ipv4 = factors.by_ipv4;
    let by_ipv6 = factors.by_ipv6;
    let mut rules = vec![
        of_source("ipv4", by_ipv4, |subjects| {
            subjects.network(|all| all.is_ipv4().then_some(all.own))
        }),
        of_source("ipv6", by_ipv6, |subjects| subjects.network(|all| all.site.and(Some(all.own)))),
        of_network("site", by_ipv6 * SITE_FACTOR, |subjects| subjects.network(|all| all.site)),
        of_network("widest_ipv6", by_ipv6 * WIDEST_FACTOR, |subjects| {
            subjects.network(|all| all.site.and(Some(all.widest)))
        }),
    ];
    // The addresses of a /24 may belong to as many households.
    let widest_of_ipv4 = of_network("widest_ipv4", by_ipv4 * WIDEST_FACTOR, |subjects| {
        subjects.network(|all| all.is_ipv4().then_some(all.widest))
    });
    rules.push(BookingRule { is_soft: true, ..widest_of_ipv4 });
    rules
}

impl BookingReservation<'_> {
    /// Whether a soft limit is used up, so that a code is asked for.
    pub(crate) fn asks_code(&self) -> bool {
        self.asks_code
    }

    /// Whether the booking is not made without a code.
    pub(crate) fn needs_code(&self) -> bool {
        self.needs_code
    }

    /// Gives the places back if nothing was booked. Returns the limit that has the fewest places
    /// left for the source, without this booking's places.
    pub(crate) fn settle(self, has_booked: bool) -> Option<RateLimit> {
        let limit = self.tightest();
        if !has_booked {
            self.give_back();
        }
        limit
    }

    /// Returns the limit of the source that has the fewest places left; `None` if none counts the
    /// booking. The other limits would tell of bookings by others.
    fn tightest(&self) -> Option<RateLimit> {
        let mut tightest: Option<RateLimit> = None;
        for (rule, subject) in &self.taken {
            let BookingSubject::Network(network) = subject else { continue };
            if Some(*network) != self.source {
                continue;
            }
            let remaining = rule.window.remaining(subject, self.at);
            if tightest.is_none_or(|known| remaining < known.remaining) {
                let seconds = rule.window.seconds();
                tightest = Some(RateLimit { name: rule.name, remaining, seconds });
            }
        }
        tightest
    }

    /// Gives the places back: nothing was booked.
    fn give_back(self) {
        for (rule, subject) in &self.taken {
            rule.window.take_back(subject, self.number, self.at);
        }
    }
}

/// Stands for the pages of the server itself, which have no application key.
const PAGES_KEY: [u8; 32] = [0; 32];

impl LimitSubjects {
    /// Returns the subjects of a booking on a page of the server.
    pub(crate) fn of_page(group: GroupId, email: Option<&Email>, from: IpAddr) -> Self {
        let client = email.map(|email| address_hash(group, email));
        let networks = Some(SourceNetworks::around(from));
        let kind = LimitedWrite::Booking;
        let apikey = PAGES_KEY;
        Self { networks, client, origin: None, apikey, group, is_by_key: true, kind }
    }

    /// The address that a key alone gave for a booking.
    fn address(&self) -> Option<BookingSubject> {
        match self.kind {
            LimitedWrite::Booking | LimitedWrite::BookingByCode if self.is_by_key => {
                self.client.map(BookingSubject::Client)
            }
            LimitedWrite::Booking
            | LimitedWrite::BookingByCode
            | LimitedWrite::Hold
            | LimitedWrite::Move => None,
        }
    }

    /// The same address in the widest network around the source.
    fn address_in_network(&self) -> Option<BookingSubject> {
        let client = self.address().and(self.client)?;
        let widest = NetworkWidth::Widest.network_of(self.origin?);
        Some(BookingSubject::AddressInNetwork(client, widest))
    }

    /// The same address at its source; else the account or the appointment.
    fn client_at_source(&self) -> Option<BookingSubject> {
        let client = self.client?;
        match (self.address(), self.origin) {
            (Some(_), Some(origin)) => Some(BookingSubject::AddressInNetwork(client, origin)),
            _ => Some(BookingSubject::Client(client)),
        }
    }

    /// The address of the source; `None` behind a key of a server.
    pub(crate) fn source(&self) -> Option<IpAddr> {
        self.networks.map(|networks| networks.own.addr())
    }

    /// The networks around the source; `None` behind a key of a server.
    pub(crate) fn networks(&self) -> Option<SourceNetworks> {
        self.networks
    }

    fn network(
        &self,
        choose: impl FnOnce(SourceNetworks) -> Option<IpNet>,
    ) -> Option<BookingSubject> {
        self.networks.and_then(choose).map(BookingSubject::Network)
    }

    /// Whether the caller shows a key alone, or is the visitor of a page.
    pub(crate) fn is_by_key(&self) -> bool {
        self.is_by_key
    }

    /// Returns the subjects of a booking that keeps an origin.
    pub(crate) fn with_origin(self, origin: Option<&BookingOrigin>) -> Self {
        Self { origin: origin.map(|origin| origin.source), ..self }
    }

    /// Returns the subjects of a booking that waits for a code.
    pub(crate) fn for_code(self) -> Self {
        Self { kind: LimitedWrite::BookingByCode, ..self }
    }

    /// Returns the subjects of a hold in place of that of a booking.
    pub(crate) fn for_hold(self) -> Self {
        Self { kind: LimitedWrite::Hold, ..self }
    }

    /// Returns the subjects of a move of an appointment in place of that of a booking.
    pub(crate) fn for_move(self, appointment: VeventId) -> Self {
        let client = client_hash(self.group, b'm', &appointment.number().to_string());
        Self { kind: LimitedWrite::Move, client: Some(client), ..self }
    }

    /// Returns the subjects of a booking by the public or by an account; `None` for one by a
    /// professional, which no limit counts.
    pub(crate) fn new(
        identity: &Identity,
        group: GroupId,
        email: Option<&Email>,
        from: IpAddr,
    ) -> Option<Self> {
        // An address that a key alone gives may be a stranger's. It does not use up the places of
        // the account that has it.
        let client = match &identity.caller {
            Caller::Pro(_) => return None,
            Caller::Account(account) => {
                Some(client_hash(group, b'a', &account.fiche_id.number().to_string()))
            }
            Caller::Application => email.map(|email| address_hash(group, email)),
        };
        let networks = if identity.is_server() { None } else { Some(SourceNetworks::around(from)) };
        let apikey = identity.apikey;
        let is_by_key = matches!(identity.caller, Caller::Application);
        let kind = LimitedWrite::Booking;
        Some(Self { networks, client, origin: None, apikey, group, is_by_key, kind })
    }
}

#[cfg(test)]
mod tests;
