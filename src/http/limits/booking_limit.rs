//! Limits on bookings, holds and moves by the public and by accounts: by source, by client or
//! appointment, and by key. Reference 6.11.
//!
//! A booking takes its places before the write, so that concurrent ones cannot pass together, and
//! gives them back if it is refused. A request whose connection ends keeps them, since its write
//! goes on.

use std::net::IpAddr;

use sha2::{Digest as _, Sha256};

use crate::domain::records::ids::{GroupId, VeventId};
use crate::domain::records::text::Email;
use crate::domain::state::command::Caller;
use crate::domain::time::{DAY, HOUR, Instant};
use crate::http::auth::Identity;
use crate::http::error::ApiError;
use crate::http::limits::sliding_window::{SlidingWindow, source};

/// Number of holds for each booking that a limit allows: a client may choose another time.
pub(crate) const HOLDS_PER_BOOKING: usize = 3;
/// Number of moves for each booking that a limit allows: a client may change its mind.
pub(crate) const MOVES_PER_BOOKING: usize = 3;
/// Domains whose addresses are the same with and without dots before the `@`.
const DOTLESS_DOMAINS: [&str; 2] = ["gmail.com", "googlemail.com"];

/// Says of refused bookings that their client is the same.
const CLIENT: &str = "for one client";

/// Maximum numbers of bookings; 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookingLimits {
    /// From one source within an hour.
    pub source_hourly_max: u32,
    /// From one source within 24 hours.
    pub source_daily_max: u32,
    /// For one e-mail address, or by one account, within an hour.
    pub client_hourly_max: u32,
    /// With one key in one group within an hour.
    pub key_hourly_max: u32,
}

impl BookingLimits {
    /// The limits without any option.
    pub const DEFAULT: Self = Self {
        source_hourly_max: 10,
        source_daily_max: 30,
        client_hourly_max: 5,
        key_hourly_max: 0,
    };
    /// The limits of a demonstration that is served on its own machine only.
    pub const DEMONSTRATION: Self = Self {
        source_hourly_max: 1_000,
        source_daily_max: 1_000,
        client_hourly_max: 1_000,
        key_hourly_max: 0,
    };
    /// No limit.
    pub const NONE: Self =
        Self { source_hourly_max: 0, source_daily_max: 0, client_hourly_max: 0, key_hourly_max: 0 };
}

/// The limits, with the recent bookings of each. A limit that is switched off is left out.
#[derive(Debug)]
pub(crate) struct BookingLimit {
    rules: Vec<BookingRule>,
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
    /// The thing that bookings have in common, for the message of a refusal.
    common: &'static str,
    subject: fn(&LimitSubjects) -> Option<BookingSubject>,
    window: SlidingWindow<BookingSubject>,
}

/// Something that bookings are counted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BookingSubject {
    Source(IpAddr),
    /// SHA-256 of a group and a client.
    Client([u8; 32]),
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
    /// The source; `None` behind a key of a server, which stands for many clients.
    source: Option<IpAddr>,
    /// The account, or the address that a key alone gave, within the group; of a move the
    /// appointment.
    client: Option<[u8; 32]>,
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
    Hold,
    Move,
}

/// Places of a booking under way, one for each appointment and limit.
#[derive(Debug)]
pub(crate) struct BookingReservation<'l> {
    taken: Vec<(&'l BookingRule, BookingSubject)>,
    number: usize,
    at: Instant,
}

impl BookingLimit {
    /// Returns the limits without any booking.
    pub(crate) fn new(limits: BookingLimits) -> Self {
        Self {
            rules: make_rules(limits, 1, CLIENT),
            hold_rules: make_rules(limits, HOLDS_PER_BOOKING, CLIENT),
            move_rules: make_rules(limits, MOVES_PER_BOOKING, "of one appointment"),
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
        let mut reservation = BookingReservation { taken: Vec::new(), number, at: now };
        let (rules, what) = match subjects.kind {
            LimitedWrite::Booking => (&self.rules, "bookings"),
            LimitedWrite::Hold => {
                self.check_place_for_booking(subjects, now)?;
                (&self.hold_rules, "holds")
            }
            LimitedWrite::Move => (&self.move_rules, "moves"),
        };
        for rule in rules {
            let Some(subject) = (rule.subject)(subjects) else { continue };
            if let Err(seconds) = rule.window.try_add(&subject, number, now) {
                reservation.give_back();
                return Err(rule.refuse(what, seconds));
            }
            reservation.taken.push((rule, subject));
        }
        Ok(reservation)
    }

    /// Checks that each limit on bookings has a free place for the booking of a hold.
    fn check_place_for_booking(
        &self,
        subjects: &LimitSubjects,
        now: Instant,
    ) -> Result<(), (&'static str, ApiError)> {
        for rule in &self.rules {
            let Some(subject) = (rule.subject)(subjects) else { continue };
            if let Some(seconds) = rule.window.wait(&subject, now) {
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

/// Returns the limits that are not switched off, each `factor` times as large. `of_client` says of
/// refused ones that they have the client in common.
fn make_rules(limits: BookingLimits, factor: usize, of_client: &'static str) -> Vec<BookingRule> {
    let rule = |name, common, limit: u32, seconds, subject| {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).saturating_mul(factor);
        BookingRule { name, common, subject, window: SlidingWindow::new(limit, seconds) }
    };
    let rules = [
        rule(
            "source_daily",
            "from one address",
            limits.source_daily_max,
            DAY,
            |subjects: &LimitSubjects| subjects.source.map(BookingSubject::Source),
        ),
        rule("source_hourly", "from one address", limits.source_hourly_max, HOUR, |subjects| {
            subjects.source.map(BookingSubject::Source)
        }),
        rule("client_hourly", of_client, limits.client_hourly_max, HOUR, |subjects| {
            subjects.client.map(BookingSubject::Client)
        }),
        rule("key_hourly", "with this apikey", limits.key_hourly_max, HOUR, |subjects| {
            Some(BookingSubject::Key(subjects.apikey, subjects.group))
        }),
    ];
    rules.into_iter().filter(|rule| !rule.window.is_off()).collect()
}

impl BookingReservation<'_> {
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
            if !matches!(subject, BookingSubject::Source(_)) {
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
        let client = email.map(|email| client_hash(group, b'e', &mailbox(&email.folded())));
        let source = Some(source(from));
        let kind = LimitedWrite::Booking;
        Self { source, client, apikey: PAGES_KEY, group, is_by_key: true, kind }
    }

    /// The source; `None` behind a key of a server.
    pub(crate) fn source(&self) -> Option<IpAddr> {
        self.source
    }

    /// Whether the caller shows a key alone, or is the visitor of a page.
    pub(crate) fn is_by_key(&self) -> bool {
        self.is_by_key
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
        let client = match (&identity.caller, email) {
            (Caller::Pro(_), _) => return None,
            (Caller::Account(account), _) => Some((b'a', account.fiche_id.number().to_string())),
            (Caller::Application, Some(email)) => Some((b'e', mailbox(&email.folded()))),
            (Caller::Application, None) => None,
        };
        let client = client.map(|(kind, name)| client_hash(group, kind, &name));
        let source = if identity.is_server() { None } else { Some(source(from)) };
        let apikey = identity.apikey;
        let is_by_key = matches!(identity.caller, Caller::Application);
        let kind = LimitedWrite::Booking;
        Some(Self { source, client, apikey, group, is_by_key, kind })
    }
}

/// Returns the SHA-256 that stands for a client of a group.
fn client_hash(group: GroupId, kind: u8, name: &str) -> [u8; 32] {
    Sha256::new_with_prefix(group.number().to_be_bytes())
        .chain_update([kind])
        .chain_update(name)
        .finalize()
        .into()
}

/// Returns the mailbox of a folded address: without the tag after a plus sign, and without dots
/// where the domain ignores them. Only limits use it: a booking keeps the address as it was given.
fn mailbox(email: &str) -> String {
    let Some((local, domain)) = email.rsplit_once('@') else { return email.to_owned() };
    let name = match local.split_once('+') {
        Some((name, _)) if !name.is_empty() => name,
        _ => local,
    };
    if DOTLESS_DOMAINS.contains(&domain) {
        return format!("{}@gmail.com", name.replace('.', ""));
    }
    format!("{name}@{domain}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant(1_000);

    fn limits(source: [u32; 2], client_hourly_max: u32, key_hourly_max: u32) -> BookingLimits {
        let [source_hourly_max, source_daily_max] = source;
        BookingLimits { source_hourly_max, source_daily_max, client_hourly_max, key_hourly_max }
    }

    fn subjects(source: Option<&str>, client: u8) -> LimitSubjects {
        LimitSubjects {
            source: source.map(|address| address.parse().expect("an address")),
            client: Some([client; 32]),
            apikey: [1; 32],
            group: GroupId::new(4).expect("an id"),
            is_by_key: true,
            kind: LimitedWrite::Booking,
        }
    }

    /// The limit that refuses a booking, with its Retry-After.
    fn refused(
        limit: &BookingLimit,
        subjects: &LimitSubjects,
        now: Instant,
    ) -> Option<&'static str> {
        limit.reserve(subjects, 1, now).err().map(|(name, _)| name)
    }

    #[test]
    fn each_limit_refuses_by_itself() {
        for (limits, name) in [
            (limits([2, 0], 0, 0), "source_hourly"),
            (limits([0, 2], 0, 0), "source_daily"),
            (limits([0, 0], 2, 0), "client_hourly"),
            (limits([0, 0], 0, 2), "key_hourly"),
        ] {
            let limit = BookingLimit::new(limits);
            let subjects = subjects(Some("10.0.0.1"), 1);
            for _ in 0..2 {
                assert_eq!(refused(&limit, &subjects, NOW), None);
            }
            assert_eq!(refused(&limit, &subjects, NOW), Some(name));
            let hour_later = refused(&limit, &subjects, NOW.plus_seconds(HOUR));
            assert_eq!(hour_later.is_some(), name == "source_daily");
            assert_eq!(refused(&limit, &subjects, NOW.plus_seconds(2 * DAY)), None);
        }
    }

    #[test]
    fn a_refused_booking_gives_back_the_places_of_every_limit() {
        let limit = BookingLimit::new(limits([3, 3], 1, 0));
        let busy = subjects(Some("10.0.0.1"), 1);
        limit.reserve(&busy, 1, NOW).expect("free").give_back();
        assert_eq!(refused(&limit, &busy, NOW), None);
        for _ in 0..9 {
            assert_eq!(refused(&limit, &busy, NOW), Some("client_hourly"));
        }
        for client in [2, 3] {
            assert_eq!(refused(&limit, &subjects(Some("10.0.0.1"), client), NOW), None);
        }
        assert_eq!(refused(&limit, &subjects(Some("10.0.0.1"), 4), NOW), Some("source_daily"));
        assert_eq!(refused(&limit, &subjects(None, 4), NOW), None, "a server has no source");
    }

    #[test]
    fn a_chain_takes_one_place_for_each_appointment() {
        let limit = BookingLimit::new(limits([5, 0], 0, 0));
        let subjects = subjects(Some("10.0.0.1"), 1);
        assert!(limit.reserve(&subjects, 3, NOW).is_ok());
        assert!(limit.reserve(&subjects, 3, NOW).is_err());
        assert!(limit.reserve(&subjects, 2, NOW).is_ok());
        let later = NOW.plus_seconds(HOUR);
        assert!(limit.reserve(&subjects, 9, later).is_ok(), "longer than the limit, alone");
        assert!(limit.reserve(&subjects, 1, later).is_err());
    }

    #[test]
    fn holds_count_by_themselves_and_need_a_free_place_for_their_booking() {
        let limit = BookingLimit::new(limits([2, 0], 0, 0));
        let booking = subjects(Some("10.0.0.1"), 1);
        let hold = booking.clone().for_hold();
        for _ in 0..5 {
            assert_eq!(refused(&limit, &hold, NOW), None);
        }
        for _ in 0..2 {
            assert_eq!(refused(&limit, &booking, NOW), None);
        }
        assert_eq!(refused(&limit, &hold, NOW), Some("source_hourly"), "no place for its booking");
        let other = LimitSubjects { source: Some([10, 0, 0, 2].into()), ..hold };
        for _ in 0..6 {
            assert_eq!(refused(&limit, &other, NOW), None);
        }
        assert_eq!(refused(&limit, &other, NOW), Some("source_hourly"));
        let booking = LimitSubjects { kind: LimitedWrite::Booking, ..other };
        assert_eq!(refused(&limit, &booking, NOW), None, "holds take no place of bookings");
    }

    #[test]
    fn moves_count_by_themselves_by_source_and_by_appointment() {
        let limit = BookingLimit::new(limits([2, 0], 1, 0));
        let moving = |source, number| {
            subjects(Some(source), 1).for_move(VeventId::new(number).expect("an id"))
        };
        for client in [8, 9] {
            assert_eq!(refused(&limit, &subjects(Some("10.0.0.1"), client), NOW), None);
        }
        for _ in 0..3 {
            assert_eq!(refused(&limit, &moving("10.0.0.1", 7), NOW), None, "bookings do not count");
        }
        assert_eq!(refused(&limit, &moving("10.0.0.1", 7), NOW), Some("client_hourly"));
        assert_eq!(refused(&limit, &moving("10.0.0.2", 7), NOW), Some("client_hourly"));
        for _ in 0..3 {
            assert_eq!(refused(&limit, &moving("10.0.0.1", 8), NOW), None);
        }
        assert_eq!(refused(&limit, &moving("10.0.0.1", 6), NOW), Some("source_hourly"));
        let none = BookingLimit::new(BookingLimits::NONE);
        for _ in 0..100 {
            assert_eq!(refused(&none, &moving("10.0.0.1", 7), NOW), None);
        }
    }

    #[test]
    fn spellings_of_one_mailbox_are_one_client() {
        for (one, other, is_same) in [
            ("ann+a@example.org", "ann@example.org", true),
            ("a.n.n+x+y@gmail.com", "ann@googlemail.com", true),
            ("a.nn@example.org", "ann@example.org", false),
            ("+ann@example.org", "@example.org", false),
            ("ann@example.org", "ann@example.com", false),
        ] {
            assert_eq!(mailbox(one) == mailbox(other), is_same, "{one} {other}");
        }
    }
}
