//! The engine against a naive agenda that keeps plain lists and checks every rule by brute force.
//!
//! A script of random commands runs on both. After each command the answers, the reasons of a
//! refusal, the appointments that stand and the starts that a search offers are compared. A script
//! that fails is shrunk, and printed one command a line. Reference 4, 6.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use slotbook::clock::ManualClock;
use slotbook::domain::availability::slot_request::{BookingMode, ChainSearch};
use slotbook::domain::availability::slots::free_starts;
use slotbook::domain::directory::{Directory, DirectoryEvent};
use slotbook::domain::records::author::Author;
use slotbook::domain::records::booking_origin::{BookingOrigin, ClientProof};
use slotbook::domain::records::calendar::Calendar;
use slotbook::domain::records::fault::Fault;
use slotbook::domain::records::group::Group;
use slotbook::domain::records::ids::{FicheId, GroupId, VeventId};
use slotbook::domain::records::intervention::Intervention;
use slotbook::domain::records::text::{Bounded, Name};
use slotbook::domain::records::vevent::{Availability, Permits, Vevent, VeventKind};
use slotbook::domain::recurrence::{Exceptions, Series};
use slotbook::domain::state::command::{
    CancelAppointment, CancelRight, Client, Command, Patch, Put, PutVevent, RecordChange,
    VeventDraft,
};
use slotbook::domain::state::group_record::GroupRecord;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::zone::Zone;
use slotbook::domain::time::zone_names::ZoneName;
use slotbook::domain::time::{Civil, DAY, Instant, MINUTE};
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::{Committed, Engine, EngineParts, Rejection};
use slotbook::store::codec;
use slotbook::store::{SimulatedDisk, Stream, Tail};

use super::bookable::obstacle_name;
use super::shop::{Shop, booking_of, calendar, civil, intervention, redrawn};

/// Every time in a script is a multiple of it, so that brute force may look at these moments only.
const TICK: i64 = 5 * MINUTE;
/// Midnights, on the shop's clock, that the times of a script count from: two days before a clock
/// change in spring and one in autumn.
const FIRST_DAYS: [&str; 2] = ["2026-03-27 00:00", "2026-10-23 00:00"];
const ZONES: [&str; 4] = ["Paris", "London", "Newfoundland", "Lima"];
const CLIENTS: u8 = 4;

/// Ticks after the first midnight, on the wall clock.
type Ticks = i64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Application,
    ProOnModuleRules,
    ProInBackOffice,
}

impl By {
    const fn mode(self) -> BookingMode {
        match self {
            Self::Application => BookingMode::Module,
            Self::ProOnModuleRules => BookingMode::ModuleByPro,
            Self::ProInBackOffice => BookingMode::BackOffice,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Setting {
    Open(bool),
    Inactive(bool),
    ValidateEmail(bool),
    MinutesBetween(i64),
    UpcomingMax(i64),
    ChainMax(i64),
    GridMinutes(u64, i64),
    LeadMinutes(u64, i64),
    AheadMinutes(u64, i64),
    CancelMinutes(u64, i64),
    CalendarShown(u64, bool),
    CalendarDeleted(u64, bool),
    InterventionShown(u64, bool),
    InterventionDeleted(u64, bool),
    InterventionMinutes(u64, i64),
}

/// One line of a script.
#[derive(Clone, Debug)]
enum Line {
    Book {
        client: u8,
        at: Ticks,
        chain: Vec<u64>,
        on: Option<u64>,
        by: By,
    },
    /// A professional books for the client of an appointment, named by its id.
    BookAgain {
        like: prop::sample::Index,
        at: Ticks,
        on: Option<u64>,
        by: By,
    },
    Cancel {
        which: prop::sample::Index,
        by_secret: bool,
    },
    Move {
        which: prop::sample::Index,
        at: Ticks,
        on: u64,
    },
    Delete {
        which: prop::sample::Index,
    },
    Restore {
        which: prop::sample::Index,
    },
    Open {
        on: u64,
        at: Ticks,
        ticks: i64,
        days: i64,
        only: Option<u64>,
    },
    Block {
        on: u64,
        at: Ticks,
        ticks: i64,
        days: i64,
    },
    Set(Setting),
    Zone(usize),
    /// The clock moves, also back.
    Wait(i64),
    /// The clock moves to so many minutes before an appointment.
    Approach {
        which: prop::sample::Index,
        minutes: i64,
    },
    /// The power fails, and the server starts again.
    Restart(u8),
    Search {
        on: u64,
        from: Ticks,
        chain: Vec<u64>,
        by: By,
    },
}

fn a_setting() -> impl Strategy<Value = Setting> {
    let on = || 1..3_u64;
    let what = || 1..4_u64;
    prop_oneof![
        any::<bool>().prop_map(Setting::Open),
        any::<bool>().prop_map(Setting::Inactive),
        any::<bool>().prop_map(Setting::ValidateEmail),
        prop_oneof![Just(0), Just(30), Just(90)].prop_map(Setting::MinutesBetween),
        (0..4_i64).prop_map(Setting::UpcomingMax),
        (1..4_i64).prop_map(Setting::ChainMax),
        (on(), prop_oneof![Just(5), Just(15), Just(30), Just(45)])
            .prop_map(|(on, minutes)| Setting::GridMinutes(on, minutes)),
        (on(), prop_oneof![Just(0), Just(60), Just(1_500)])
            .prop_map(|(on, minutes)| Setting::LeadMinutes(on, minutes)),
        (on(), prop_oneof![Just(600), Just(3_000), Just(131_400)])
            .prop_map(|(on, minutes)| Setting::AheadMinutes(on, minutes)),
        (on(), prop_oneof![Just(0), Just(120), Just(2_880)])
            .prop_map(|(on, minutes)| Setting::CancelMinutes(on, minutes)),
        (on(), any::<bool>()).prop_map(|(on, shown)| Setting::CalendarShown(on, shown)),
        (on(), any::<bool>()).prop_map(|(on, deleted)| Setting::CalendarDeleted(on, deleted)),
        (what(), any::<bool>()).prop_map(|(id, shown)| Setting::InterventionShown(id, shown)),
        (what(), any::<bool>()).prop_map(|(id, deleted)| Setting::InterventionDeleted(id, deleted)),
        (what(), prop_oneof![Just(10), Just(30), Just(60)])
            .prop_map(|(id, minutes)| Setting::InterventionMinutes(id, minutes)),
    ]
}

fn a_line() -> impl Strategy<Value = Line> {
    let index = any::<prop::sample::Index>;
    // Five days, with the changes of the clocks among them; mostly the hours that are open first.
    let at = || prop_oneof![3 => 108..168_i64, 1 => 0..5 * 288_i64, 1 => (2 * 288 + 12)..(2 * 288 + 60_i64)];
    let on = || prop_oneof![Just(None), (1..3_u64).prop_map(Some)];
    let by = || {
        prop_oneof![
            3 => Just(By::Application),
            1 => Just(By::ProOnModuleRules),
            1 => Just(By::ProInBackOffice),
        ]
    };
    let chain = || proptest::collection::vec(1..4_u64, 1..4);
    let only = prop_oneof![2 => Just(None), 1 => (1..4_u64).prop_map(Some)];
    let pros = prop_oneof![Just(By::ProOnModuleRules), Just(By::ProInBackOffice)];
    prop_oneof![
        8 => (0..CLIENTS, at(), chain(), on(), by())
            .prop_map(|(client, at, chain, on, by)| Line::Book { client, at, chain, on, by }),
        1 => (index(), at(), on(), pros)
            .prop_map(|(like, at, on, by)| Line::BookAgain { like, at, on, by }),
        2 => (index(), any::<bool>())
            .prop_map(|(which, by_secret)| Line::Cancel { which, by_secret }),
        2 => (index(), at(), 1..3_u64).prop_map(|(which, at, on)| Line::Move { which, at, on }),
        1 => index().prop_map(|which| Line::Delete { which }),
        2 => index().prop_map(|which| Line::Restore { which }),
        2 => (1..3_u64, at(), 3..80_i64, 1..4_i64, only)
            .prop_map(|(on, at, ticks, days, only)| Line::Open { on, at, ticks, days, only }),
        1 => (1..3_u64, at(), 1..20_i64, 1..4_i64)
            .prop_map(|(on, at, ticks, days)| Line::Block { on, at, ticks, days }),
        3 => a_setting().prop_map(Line::Set),
        1 => (0..ZONES.len()).prop_map(Line::Zone),
        2 => prop_oneof![-4_000..20_000_i64, (-12..100_i64).prop_map(|ticks| ticks * TICK), Just(2 * DAY), Just(-DAY), Just(200 * DAY), Just(-200 * DAY)]
            .prop_map(Line::Wait),
        2 => (index(), prop_oneof![Just(0), Just(60), Just(120), Just(600), Just(2_880)])
            .prop_map(|(which, minutes)| Line::Approach { which, minutes }),
        1 => (0..3_u8).prop_map(Line::Restart),
        3 => (1..3_u64, at(), chain(), by())
            .prop_map(|(on, from, chain, by)| Line::Search { on, from, chain, by }),
    ]
}

#[derive(Clone, Debug)]
enum NaiveKind {
    Appointment {
        civil: Civil,
        start: Instant,
        seconds: i64,
        client: FicheId,
        /// Whether it was booked with a key alone.
        by_key: bool,
    },
    Plage {
        from: Civil,
        to: Civil,
        days: i64,
    },
    Availability {
        from: Civil,
        to: Civil,
        days: i64,
        only: Option<u64>,
    },
}

#[derive(Clone, Debug)]
struct NaiveEvent {
    id: VeventId,
    on: u64,
    deleted: bool,
    kind: NaiveKind,
}

#[derive(Clone, Debug)]
struct NaiveCalendar {
    shown: bool,
    deleted: bool,
    grid_minutes: i64,
    lead_minutes: i64,
    ahead_minutes: i64,
    cancel_minutes: i64,
}

#[derive(Clone, Debug)]
struct NaiveIntervention {
    shown: bool,
    deleted: bool,
    minutes: i64,
}

/// A client as the naive agenda knows it.
#[derive(Clone, Debug)]
struct NaiveClient {
    id: FicheId,
    name: u8,
}

/// The whole agenda as plain lists.
#[derive(Clone, Debug)]
struct NaiveAgenda {
    zone: Zone,
    now: Instant,
    open: bool,
    inactive: bool,
    validate_email: bool,
    minutes_between: i64,
    upcoming_max: i64,
    chain_max: i64,
    calendars: [NaiveCalendar; 2],
    interventions: [NaiveIntervention; 3],
    clients: Vec<NaiveClient>,
    events: Vec<NaiveEvent>,
}

/// A refusal by its name, and the fact it gives where there is one.
type Reason = (&'static str, i64);

fn place(id: u64) -> usize {
    usize::try_from(id).expect("small") - 1
}

fn holds(interval: Interval, moment: Instant) -> bool {
    interval.start <= moment && moment < interval.end
}

fn ticks_of(interval: Interval) -> impl Iterator<Item = Instant> {
    let ticks = interval.end.seconds_since(interval.start).max(0) / TICK;
    (0..ticks).map(move |tick| interval.start.plus_seconds(tick * TICK))
}

impl NaiveAgenda {
    fn new(zone: Zone, now: Instant) -> Self {
        let calendar = NaiveCalendar {
            shown: true,
            deleted: false,
            grid_minutes: 30,
            lead_minutes: 0,
            ahead_minutes: 131_400,
            cancel_minutes: 120,
        };
        let intervention = |minutes| NaiveIntervention { shown: true, deleted: false, minutes };
        Self {
            zone,
            now,
            open: true,
            inactive: false,
            validate_email: false,
            minutes_between: 0,
            upcoming_max: 0,
            chain_max: 3,
            calendars: [calendar.clone(), calendar],
            interventions: [intervention(30), intervention(60), intervention(15)],
            clients: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Occurrences on the days of an event, in instants; one that ends before it starts is none.
    fn occurrences(&self, from: Civil, to: Civil, days: i64) -> Vec<Interval> {
        let mut found = Vec::new();
        for day in 0..days {
            let start = self.zone.instant_of(from.plus_seconds(day * DAY));
            let end = self.zone.instant_of(to.plus_seconds(day * DAY));
            if start < end {
                found.push(Interval { start, end });
            }
        }
        found
    }

    /// Notes a setting of the group, and returns it as a command.
    fn set_group(&mut self, setting: Setting) -> RecordChange {
        match setting {
            Setting::Open(open) => {
                self.open = open;
                of_group(move |group| group.open = open)
            }
            Setting::Inactive(inactive) => {
                self.inactive = inactive;
                of_group(move |group| group.inactive = inactive)
            }
            Setting::ValidateEmail(validate) => {
                self.validate_email = validate;
                of_group(move |group| group.validate_email = validate)
            }
            Setting::MinutesBetween(minutes) => {
                self.minutes_between = minutes;
                of_group(move |group| group.mintime_between = Bounded::new(minutes).expect("legal"))
            }
            Setting::UpcomingMax(most) => {
                self.upcoming_max = most;
                of_group(move |group| group.maxrdv_number = Bounded::new(most).expect("legal"))
            }
            Setting::ChainMax(most) => {
                self.chain_max = most;
                of_group(move |group| group.max_multirdvs = Bounded::new(most).expect("legal"))
            }
            Setting::GridMinutes(..)
            | Setting::LeadMinutes(..)
            | Setting::AheadMinutes(..)
            | Setting::CancelMinutes(..)
            | Setting::CalendarShown(..)
            | Setting::CalendarDeleted(..)
            | Setting::InterventionShown(..)
            | Setting::InterventionDeleted(..)
            | Setting::InterventionMinutes(..) => unreachable!("a setting of the group"),
        }
    }

    /// Times at which a calendar is open for an intervention.
    fn permitting(&self, on: u64, wanted: u64) -> Vec<Interval> {
        let mut found = Vec::new();
        for event in self.events.iter().filter(|event| event.on == on && !event.deleted) {
            if let NaiveKind::Availability { from, to, days, only } = event.kind
                && only.is_none_or(|only| only == wanted)
            {
                found.extend(self.occurrences(from, to, days));
            }
        }
        found
    }

    fn appointments(&self, on: u64) -> Vec<(VeventId, Interval)> {
        let mut found = Vec::new();
        for event in self.events.iter().filter(|event| event.on == on && !event.deleted) {
            if let NaiveKind::Appointment { start, seconds, .. } = event.kind {
                found.push((event.id, Interval { start, end: start.plus_seconds(seconds) }));
            }
        }
        found
    }

    fn plages(&self, on: u64) -> Vec<Interval> {
        let mut found = Vec::new();
        for event in self.events.iter().filter(|event| event.on == on && !event.deleted) {
            if let NaiveKind::Plage { from, to, days } = event.kind {
                found.extend(self.occurrences(from, to, days));
            }
        }
        found
    }

    fn is_offered(&self, on: u64, chain: &[u64], by: By) -> bool {
        let calendar = &self.calendars[place(on)];
        let legs: Vec<_> = chain.iter().map(|id| &self.interventions[place(*id)]).collect();
        if by == By::ProInBackOffice {
            return !calendar.deleted && legs.iter().all(|leg| !leg.deleted);
        }
        !(by == By::Application && self.inactive)
            && calendar.shown
            && !calendar.deleted
            && legs.iter().all(|leg| leg.shown && !leg.deleted)
    }

    fn seconds(&self, chain: &[u64]) -> i64 {
        chain.iter().map(|id| self.interventions[place(*id)].minutes * MINUTE).sum()
    }

    fn lead_time(&self, on: u64, start: Instant) -> Option<Reason> {
        let calendar = &self.calendars[place(on)];
        let earliest = self.now.plus_minutes(calendar.lead_minutes);
        let latest = self.now.plus_minutes(calendar.ahead_minutes);
        if start < earliest {
            return Some(("MintimeRdv", earliest.0));
        }
        (start > latest).then_some(("MaxRdvPeriod", latest.0))
    }

    /// The rules that stand in the way of a start, by name and in their order.
    fn obstacles(&self, on: u64, chain: &[u64], start: Instant, by: By) -> Vec<&'static str> {
        let mut found = Vec::new();
        if !self.is_offered(on, chain, by) {
            if by == By::Application {
                return vec!["not_offered"];
            }
            found.push("not_offered");
        }
        if by != By::ProInBackOffice {
            found.extend(self.lead_time(on, start).map(|(name, _)| name));
            let first = self.permitting(on, chain[0]);
            let anchors: Vec<_> = first.iter().filter(|open| holds(**open, start)).collect();
            let grid_seconds = self.calendars[place(on)].grid_minutes * MINUTE;
            let on_grid =
                anchors.iter().any(|open| start.seconds_since(open.start) % grid_seconds == 0);
            if !anchors.is_empty() && !on_grid {
                found.push("off_grid");
            }
            if !self.is_open_throughout(on, chain, start) {
                found.push("outside_availability");
            }
        }
        let whole = Interval { start, end: start.plus_seconds(self.seconds(chain)) };
        let appointments = self.appointments(on);
        let plages = self.plages(on);
        let is_taken = |moment| {
            appointments.iter().any(|(_, taken)| holds(*taken, moment))
                || plages.iter().any(|taken| holds(*taken, moment))
        };
        if ticks_of(whole).any(is_taken) {
            found.push("taken");
        }
        // The second pass of a repeated hour: the clock has shown this time before.
        let shown = self.zone.civil_of(start);
        if (1..40).any(|tick| self.zone.civil_of(start.plus_seconds(-tick * TICK)) == shown) {
            found.push("repeated_hour");
        }
        found
    }

    fn is_open_throughout(&self, on: u64, chain: &[u64], start: Instant) -> bool {
        let mut at = start;
        for id in chain {
            let end = at.plus_seconds(self.interventions[place(*id)].minutes * MINUTE);
            let open = self.permitting(on, *id);
            let leg = Interval { start: at, end };
            if !ticks_of(leg).all(|moment| open.iter().any(|open| holds(*open, moment))) {
                return false;
            }
            at = end;
        }
        true
    }

    /// Calendars that a booking without a preference may get: shown, and open ahead for each leg.
    fn offering(&self, chain: &[u64], by: By) -> Vec<u64> {
        let mut found = Vec::new();
        for on in [1, 2] {
            let is_open_ahead =
                |id: &u64| self.permitting(on, *id).iter().any(|open| open.end > self.now);
            let is_open = by == By::ProInBackOffice || chain.iter().all(is_open_ahead);
            if self.is_offered(on, chain, by) && is_open {
                found.push(on);
            }
        }
        found
    }

    /// Refusals of the client's own rules.
    fn client_reasons(
        &self,
        client: Option<FicheId>,
        whole: Interval,
        legs: usize,
        by: By,
    ) -> Vec<Reason> {
        let mut upcoming = Vec::new();
        for on in [1, 2] {
            for event in self.events.iter().filter(|event| event.on == on && !event.deleted) {
                if let NaiveKind::Appointment { start, seconds, client: own, by_key, .. } =
                    event.kind
                    && Some(own) == client
                    && start.plus_seconds(seconds) > self.now
                    && (by == By::Application || !by_key)
                {
                    upcoming.push(Interval { start, end: start.plus_seconds(seconds) });
                }
            }
        }
        let mut reasons = Vec::new();
        let meets = |other: &Interval| other.start < whole.end && whole.start < other.end;
        if upcoming.iter().any(meets) {
            reasons.push(("SameTimeRdv", 0));
        }
        if by == By::ProInBackOffice {
            return reasons;
        }
        let is_too_close = |other: &Interval| {
            let seconds = self.minutes_between * MINUTE;
            let after = whole.start >= other.end && whole.start.seconds_since(other.end) < seconds;
            let before = other.start >= whole.end && other.start.seconds_since(whole.end) < seconds;
            after || before
        };
        if upcoming.iter().any(is_too_close) {
            reasons.push(("MintimeBetween", self.minutes_between));
        }
        let count = i64::try_from(upcoming.len() + legs).expect("few");
        if self.upcoming_max > 0 && count > self.upcoming_max {
            reasons.push(("MaxRdvNumber", self.upcoming_max));
        }
        reasons
    }

    /// Whether a booking is refused before any calendar is asked, and by what.
    fn reasons(&self, wish: &Wish) -> Vec<Reason> {
        if wish.by == By::Application && self.validate_email {
            return vec![("Unauthorized", 0)];
        }
        let chain_max = if wish.by == By::ProInBackOffice { 100 } else { self.chain_max };
        if i64::try_from(wish.chain.len()).expect("few") > chain_max {
            return vec![("InvalidParameter", 0)];
        }
        if wish.by == By::Application && !self.open && wish.client.is_none() {
            return vec![("EmailNotFound", 0)];
        }
        let offering = match wish.on {
            Some(on) => vec![on],
            None => self.offering(&wish.chain, wish.by),
        };
        let are_offered = offering.iter().all(|on| self.is_offered(*on, &wish.chain, wish.by));
        if wish.by != By::ProInBackOffice && are_offered {
            let leads: Vec<_> = offering.iter().map(|on| self.lead_time(*on, wish.start)).collect();
            let all = |name| {
                !leads.is_empty()
                    && leads.iter().all(|lead| lead.is_some_and(|lead| lead.0 == name))
            };
            let facts = || leads.iter().flatten().map(|lead| lead.1);
            if all("MintimeRdv") {
                return vec![("MintimeRdv", facts().min().expect("one"))];
            }
            if all("MaxRdvPeriod") {
                return vec![("MaxRdvPeriod", facts().max().expect("one"))];
            }
        }
        let whole =
            Interval { start: wish.start, end: wish.start.plus_seconds(self.seconds(&wish.chain)) };
        self.client_reasons(wish.client, whole, wish.chain.len(), wish.by)
    }
}

/// A booking as the naive agenda judges it.
struct Wish {
    start: Instant,
    chain: Vec<u64>,
    on: Option<u64>,
    /// The known client that it would be for.
    client: Option<FicheId>,
    by: By,
}

fn reason(refusal: &Refusal) -> Reason {
    match refusal {
        Refusal::Unauthorized { .. } => ("Unauthorized", 0),
        Refusal::InvalidParameter(_) => ("InvalidParameter", 0),
        Refusal::NoResult => ("NoResult", 0),
        Refusal::MaxRdvNumber { most } => ("MaxRdvNumber", *most),
        Refusal::MintimeBetween { minutes } => ("MintimeBetween", *minutes),
        Refusal::MaxRdvPeriod { latest } => ("MaxRdvPeriod", latest.0),
        Refusal::MintimeRdv { earliest, .. } => ("MintimeRdv", earliest.0),
        Refusal::MintimeAnnulation { until } => ("MintimeAnnulation", until.0),
        Refusal::EmailAlreadyExists => ("EmailAlreadyExists", 0),
        Refusal::SameTimeRdv { .. } => ("SameTimeRdv", 0),
        Refusal::EmailNotFound => ("EmailNotFound", 0),
        Refusal::ClocksOverlap { .. } => ("ClocksOverlap", 0),
        Refusal::PreconditionFailed(_) => ("PreconditionFailed", 0),
        Refusal::OtherEffect(_) => ("OtherEffect", 0),
        Refusal::ExternidHeldTwice { .. } => ("ExternidHeldTwice", 0),
        Refusal::UpcomingAppointments { .. } => ("UpcomingAppointments", 0),
        Refusal::TooManyHolds { .. } => ("TooManyHolds", 0),
        Refusal::NotAvailable { .. } => ("NotAvailable", 0),
    }
}

fn group() -> GroupId {
    GroupId::new(1).expect("an id")
}

/// The engine over a simulated disk, and the naive agenda beside it.
struct Pair {
    /// The midnight that the script counts from.
    first_day: &'static str,
    shop: Shop,
    disk: SimulatedDisk,
    clock: Arc<ManualClock>,
    naive: NaiveAgenda,
    /// Lives of the server so far.
    lives: u8,
}

impl Pair {
    fn new(first_day: &'static str) -> Self {
        let shop = Shop::in_zone(ZONES[0], first_day);
        let naive = NaiveAgenda::new(shop.group_state.catalogue.zone(), shop.now);
        let clock = Arc::new(ManualClock::at(shop.now));
        Self { first_day, shop, disk: SimulatedDisk::new(), clock, naive, lives: 0 }
    }

    fn civil_at(&self, at: Ticks) -> Civil {
        civil(self.first_day).plus_seconds(at * TICK)
    }

    /// Returns what the disk holds, replayed from the first state.
    fn recovered(&self) -> (Directory, GroupState) {
        let (mut directory, mut state) = (Directory::default(), self.shop.group_state.clone());
        let read = self.disk.recover(|_, record| {
            match record.stream {
                Stream::Directory => {
                    directory = directory.apply(&codec::decode::<DirectoryEvent>(&record.bytes)?);
                }
                Stream::Group(_) => {
                    state = state.apply(&codec::decode::<GroupRecord>(&record.bytes)?.event)
                }
            }
            Ok(())
        });
        read.expect("what was written is read");
        (directory, state)
    }

    /// Runs lines of a script until the next restart; returns the lines that are left.
    fn live<'l>(&mut self, lines: &'l [Line]) -> Result<&'l [Line], TestCaseError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let (directory, state) = self.recovered();
            let (log, _) = self.disk.recover(|_, _| Ok(())).expect("it was read before");
            self.lives += 1;
            let parts = EngineParts {
                directory,
                group_states: [state].into(),
                clock: Arc::clone(&self.clock) as _,
                randomness: Randomness::seeded([self.lives; 32]),
                transport: Transport::direct(),
                admission_limits: AdmissionLimits::default(),
                decision_timeout: Duration::from_secs(10),
            };
            let (engine, journal) = Engine::start(parts, log).await;
            tokio::spawn(journal.run_simulated(|| Duration::from_millis(1)));
            self.compare_states(&engine)?;
            for (number, line) in lines.iter().enumerate() {
                if let Line::Restart(tail) = line {
                    self.disk.crash([Tail::Lost, Tail::Torn(1), Tail::Whole][usize::from(*tail)]);
                    return Ok(&lines[number + 1..]);
                }
                self.run(&engine, line).await?;
                self.compare_states(&engine)?;
            }
            Ok(&lines[lines.len()..])
        })
    }

    async fn run(&mut self, engine: &Engine, line: &Line) -> Result<(), TestCaseError> {
        match line {
            Line::Book { client, at, chain, on, by } => {
                self.book_by_name(engine, *client, *at, chain, *on, *by).await
            }
            Line::BookAgain { like, at, on, by } => {
                let Some((_, client)) = self.appointment(*like) else { return Ok(()) };
                let mut command = booking_of("unused", self.first_day);
                command.client = Client {
                    id: Some(client),
                    email: None,
                    fields: Patch::default(),
                    customs: Vec::new(),
                };
                command.date = self.civil_at(*at);
                command.calendar_id = on.map(calendar);
                let start = self.naive.zone.instant_of(command.date);
                let wish = Wish { start, chain: vec![1], on: *on, client: Some(client), by: *by };
                self.book(engine, command, &wish, u8::MAX).await
            }
            Line::Cancel { which, by_secret } => self.cancel(engine, *which, *by_secret).await,
            Line::Move { which, at, on } => self.reschedule(engine, *which, *at, *on).await,
            Line::Delete { which } => {
                if self.naive.events.is_empty() {
                    return Ok(());
                }
                let place = which.index(self.naive.events.len());
                let id = self.naive.events[place].id;
                let done = engine
                    .write(group(), Author::Operator, Command::PutVevent(PutVevent::Delete(id)))
                    .await;
                prop_assert!(done.is_ok(), "{done:?}");
                self.naive.events[place].deleted = true;
                Ok(())
            }
            Line::Restore { which } => self.restore(engine, *which).await,
            Line::Open { on, at, ticks, days, only } => {
                let (from, to) = (self.civil_at(*at), self.civil_at(at + ticks));
                let kind = NaiveKind::Availability { from, to, days: *days, only: *only };
                self.put(engine, *on, from, to, *days, kind).await
            }
            Line::Block { on, at, ticks, days } => {
                let (from, to) = (self.civil_at(*at), self.civil_at(at + ticks));
                let kind = NaiveKind::Plage { from, to, days: *days };
                self.put(engine, *on, from, to, *days, kind).await
            }
            Line::Set(setting) => self.set(engine, *setting).await,
            Line::Zone(which) => self.change_zone(engine, ZONES[*which]).await,
            Line::Wait(seconds) => {
                self.naive.now = self.naive.now.plus_seconds(*seconds);
                self.clock.set(self.naive.now);
                Ok(())
            }
            Line::Approach { which, minutes } => {
                if let Some((place, _)) = self.appointment(*which)
                    && let NaiveKind::Appointment { start, .. } = self.naive.events[place].kind
                {
                    self.naive.now = start.plus_minutes(-minutes);
                    self.clock.set(self.naive.now);
                }
                Ok(())
            }
            Line::Search { on, from, chain, by } => self.search(engine, *on, *from, chain, *by),
            Line::Restart(_) => unreachable!("a restart ends the life"),
        }
    }

    /// Returns an appointment that was made, cancelled or not, and its client.
    fn appointment(&self, which: prop::sample::Index) -> Option<(usize, FicheId)> {
        let mut all = Vec::new();
        for (place, event) in self.naive.events.iter().enumerate() {
            if let NaiveKind::Appointment { client, .. } = event.kind {
                all.push((place, client));
            }
        }
        if all.is_empty() { None } else { Some(all[which.index(all.len())]) }
    }

    /// Books for a client described by a name, known or not.
    async fn book_by_name(
        &mut self,
        engine: &Engine,
        client: u8,
        at: Ticks,
        chain: &[u64],
        on: Option<u64>,
        by: By,
    ) -> Result<(), TestCaseError> {
        let mut command = booking_of(&format!("client{client}"), self.first_day);
        command.date = self.civil_at(at);
        command.intervention_ids = chain.iter().map(|id| intervention(*id)).collect();
        command.calendar_id = on.map(calendar);
        let known = self.naive.clients.iter().find(|known| known.name == client);
        let wish = Wish {
            start: self.naive.zone.instant_of(command.date),
            chain: chain.to_vec(),
            on,
            // The back office makes a client of its own unless it names one.
            client: known.filter(|_| by != By::ProInBackOffice).map(|known| known.id),
            by,
        };
        self.book(engine, command, &wish, client).await
    }

    async fn book(
        &mut self,
        engine: &Engine,
        mut command: slotbook::domain::state::command::BookAppointment,
        wish: &Wish,
        name: u8,
    ) -> Result<(), TestCaseError> {
        match wish.by {
            By::Application => {
                let proof = ClientProof::KeyAlone;
                let origin = BookingOrigin { source: [1; 16], apikey: [2; 16], proof };
                command.booking_origin = Some(Box::new(origin));
            }
            By::ProOnModuleRules => command = super::shop::by_pro(command, true),
            By::ProInBackOffice => command = super::shop::by_pro(command, false),
        }
        let reasons = self.naive.reasons(wish);
        let candidates = match wish.on {
            Some(on) => vec![on],
            None => self.naive.offering(&wish.chain, wish.by),
        };
        let obstacles = |on| self.naive.obstacles(on, &wish.chain, wish.start, wish.by);
        let can_take: Vec<u64> =
            candidates.into_iter().filter(|on| obstacles(*on).is_empty()).collect();
        let answer =
            engine.write(group(), Author::Visitor, Command::BookAppointment(command.into())).await;
        match answer {
            Ok(done) => {
                prop_assert!(reasons.is_empty(), "booked in spite of {reasons:?}");
                self.note_booked(&done, wish, name, &can_take)
            }
            Err(Rejection::Refused(refusals)) => {
                if let [Refusal::NotAvailable { obstacles: found }] = &refusals[..] {
                    prop_assert!(reasons.is_empty(), "not available, expected {reasons:?}");
                    prop_assert!(can_take.is_empty(), "refused though {can_take:?} can take it");
                    if let Some(on) = wish.on {
                        let mut names: Vec<_> = found.iter().map(obstacle_name).collect();
                        names.dedup();
                        prop_assert_eq!(names, obstacles(on));
                    }
                } else {
                    let found: Vec<Reason> = refusals.iter().map(reason).collect();
                    prop_assert_eq!(found, reasons);
                }
                Ok(())
            }
            Err(other) => Err(TestCaseError::fail(format!("{other:?}"))),
        }
    }

    /// Notes what was booked: which calendar was drawn and which ids were given is the engine's.
    fn note_booked(
        &mut self,
        done: &Committed,
        wish: &Wish,
        name: u8,
        can_take: &[u64],
    ) -> Result<(), TestCaseError> {
        prop_assert_eq!(done.appointments.len(), wish.chain.len());
        let mut start = wish.start;
        for (id, leg) in done.appointments.iter().zip(&wish.chain) {
            let row = done.group_state.rows.get(id).expect("a booked appointment has a row");
            let client = row.appointment().expect("it is an appointment").fiche_id;
            let on = row.calendar_id.number();
            prop_assert!(can_take.contains(&on), "calendar {on} is none of {can_take:?}");
            match wish.client {
                Some(known) => prop_assert_eq!(client, known),
                None if *id == done.appointments[0] => {
                    let is_new = self.naive.clients.iter().all(|known| known.id != client);
                    prop_assert!(is_new, "client {client} is another's");
                    self.naive.clients.push(NaiveClient { id: client, name });
                }
                None => prop_assert_eq!(client, self.naive.clients.last().expect("the new one").id),
            }
            let seconds = self.naive.interventions[place(*leg)].minutes * MINUTE;
            let civil = self.naive.zone.civil_of(start);
            let by_key = wish.by == By::Application;
            let kind = NaiveKind::Appointment { civil, start, seconds, client, by_key };
            self.naive.events.push(NaiveEvent { id: *id, on, deleted: false, kind });
            start = start.plus_seconds(seconds);
        }
        Ok(())
    }

    async fn cancel(
        &mut self,
        engine: &Engine,
        which: prop::sample::Index,
        by_secret: bool,
    ) -> Result<(), TestCaseError> {
        let Some((at, _)) = self.appointment(which) else { return Ok(()) };
        let event = self.naive.events[at].clone();
        let NaiveKind::Appointment { start, .. } = event.kind else { return Ok(()) };
        let right = if by_secret {
            let state = engine.published().group_state(group()).expect("the group");
            let row = state.rows.get(&event.id).expect("it has a row");
            CancelRight::Secret(row.appointment().expect("one").key.as_str().to_owned())
        } else {
            CancelRight::Pro
        };
        let until = start.plus_minutes(-self.naive.calendars[place(event.on)].cancel_minutes);
        let is_late = by_secret && !event.deleted && self.naive.now > until;
        let command = Command::CancelAppointment(CancelAppointment { id: event.id, right });
        match engine.write(group(), Author::Visitor, command).await {
            Ok(_) => {
                prop_assert!(!is_late, "cancelled after {until:?}");
                self.naive.events[at].deleted = true;
                Ok(())
            }
            Err(Rejection::Refused(refusals)) => {
                let found: Vec<Reason> = refusals.iter().map(reason).collect();
                let expected =
                    if is_late { vec![("MintimeAnnulation", until.0)] } else { Vec::new() };
                prop_assert_eq!(found, expected);
                Ok(())
            }
            Err(other) => Err(TestCaseError::fail(format!("{other:?}"))),
        }
    }

    /// Whether an appointment may stand at a time: only other live appointments stand in its way.
    fn may_stand(&self, id: VeventId, on: u64, at: Interval) -> bool {
        let meets = |other: &Interval| other.start < at.end && at.start < other.end;
        self.naive.appointments(on).iter().all(|(other, taken)| *other == id || !meets(taken))
    }

    async fn reschedule(
        &mut self,
        engine: &Engine,
        which: prop::sample::Index,
        at: Ticks,
        on: u64,
    ) -> Result<(), TestCaseError> {
        let Some((place, client)) = self.appointment(which) else { return Ok(()) };
        let event = self.naive.events[place].clone();
        let NaiveKind::Appointment { seconds, by_key, .. } = event.kind else { return Ok(()) };
        let start = self.naive.zone.instant_of(self.civil_at(at));
        let civil_start = self.naive.zone.civil_of(start);
        let draft = redrawn(move |_, row| {
            row.calendar_id = calendar(on);
            if let VeventKind::Appointment(appointment) = &mut row.kind {
                appointment.civil_start = civil_start;
                appointment.start = start;
            }
        });
        let at = Interval { start, end: start.plus_seconds(seconds) };
        let may_stand = event.deleted || self.may_stand(event.id, on, at);
        let command = Command::PutVevent(PutVevent::Change(event.id, draft));
        if self.is_done(engine, command, may_stand).await? {
            let civil = civil_start;
            let kind = NaiveKind::Appointment { civil, start, seconds, client, by_key };
            self.naive.events[place] = NaiveEvent { on, kind, ..event };
        }
        Ok(())
    }

    async fn restore(
        &mut self,
        engine: &Engine,
        which: prop::sample::Index,
    ) -> Result<(), TestCaseError> {
        if self.naive.events.is_empty() {
            return Ok(());
        }
        let place = which.index(self.naive.events.len());
        let event = self.naive.events[place].clone();
        let may_stand = match event.kind {
            NaiveKind::Appointment { start, seconds, .. } if event.deleted => {
                let at = Interval { start, end: start.plus_seconds(seconds) };
                self.may_stand(event.id, event.on, at)
            }
            NaiveKind::Appointment { .. }
            | NaiveKind::Plage { .. }
            | NaiveKind::Availability { .. } => true,
        };
        let draft = redrawn(|_, row| row.deleted = false);
        let command = Command::PutVevent(PutVevent::Change(event.id, draft));
        if self.is_done(engine, command, may_stand).await? {
            self.naive.events[place].deleted = false;
        }
        Ok(())
    }

    /// Carries out a change of an event, which must succeed exactly where its time is free.
    async fn is_done(
        &self,
        engine: &Engine,
        command: Command,
        may_stand: bool,
    ) -> Result<bool, TestCaseError> {
        match engine.write(group(), Author::Visitor, command).await {
            Ok(_) => {
                prop_assert!(may_stand, "it stands where another appointment is");
                Ok(true)
            }
            Err(Rejection::Refused(refusals)) => {
                prop_assert!(!may_stand, "refused: {refusals:?}");
                let is_taken = matches!(refusals[..], [Refusal::NotAvailable { .. }]);
                prop_assert!(is_taken, "{refusals:?}");
                Ok(false)
            }
            Err(other) => Err(TestCaseError::fail(format!("{other:?}"))),
        }
    }

    async fn put(
        &mut self,
        engine: &Engine,
        on: u64,
        from: Civil,
        to: Civil,
        days: i64,
        kind: NaiveKind,
    ) -> Result<(), TestCaseError> {
        let only = match kind {
            NaiveKind::Availability { only, .. } => Some(only),
            NaiveKind::Appointment { .. } | NaiveKind::Plage { .. } => None,
        };
        let draft = VeventDraft::new(move |state, _, draws, at| {
            let rule =
                (days > 1).then(|| format!("FREQ=DAILY;COUNT={days}").parse().expect("a rule"));
            let zone = state.catalogue.zone();
            let series = Series::new(zone, from, to, rule, Exceptions::default())
                .map_err(|error| vec![Fault::new("end", error.to_string())])?;
            let kind = match only {
                None => VeventKind::Plage(Box::new(series)),
                Some(only) => {
                    let permits = Permits::only(only.map(intervention).into_iter().collect());
                    VeventKind::Availability(Box::new(Availability { series, permits }))
                }
            };
            Ok(Vevent {
                id: draws.id,
                calendar_id: calendar(on),
                kind,
                deleted: false,
                created_at: at,
                updated_at: at,
                rare: None,
            })
        });
        // The first occurrence itself must not end before it starts, which a gap can make of it.
        let is_legal = self.naive.zone.instant_of(from) < self.naive.zone.instant_of(to);
        match engine
            .write(group(), Author::Operator, Command::PutVevent(PutVevent::Make(draft)))
            .await
        {
            Ok(done) => {
                prop_assert!(is_legal);
                let id = VeventId::new(done.object).expect("an id");
                self.naive.events.push(NaiveEvent { id, on, deleted: false, kind });
                Ok(())
            }
            Err(Rejection::Refused(refusals)) => {
                prop_assert!(!is_legal, "{refusals:?}");
                Ok(())
            }
            Err(other) => Err(TestCaseError::fail(format!("{other:?}"))),
        }
    }

    async fn set(&mut self, engine: &Engine, setting: Setting) -> Result<(), TestCaseError> {
        let naive = &mut self.naive;
        let change = match setting {
            Setting::Open(_)
            | Setting::Inactive(_)
            | Setting::ValidateEmail(_)
            | Setting::MinutesBetween(_)
            | Setting::UpcomingMax(_)
            | Setting::ChainMax(_) => naive.set_group(setting),
            Setting::GridMinutes(on, minutes) => {
                naive.calendars[place(on)].grid_minutes = minutes;
                of_calendar(on, move |row| {
                    row.generate_interval = Bounded::new(minutes).expect("legal");
                })
            }
            Setting::LeadMinutes(on, minutes) => {
                naive.calendars[place(on)].lead_minutes = minutes;
                of_calendar(on, move |row| row.mintime_rdv = Bounded::new(minutes).expect("legal"))
            }
            Setting::AheadMinutes(on, minutes) => {
                naive.calendars[place(on)].ahead_minutes = minutes;
                of_calendar(on, move |row| {
                    row.maxrdv_period = Bounded::new(minutes).expect("legal");
                })
            }
            Setting::CancelMinutes(on, minutes) => {
                naive.calendars[place(on)].cancel_minutes = minutes;
                of_calendar(on, move |row| {
                    row.mintime_annulation = Bounded::new(minutes).expect("legal");
                })
            }
            Setting::CalendarShown(on, shown) => {
                naive.calendars[place(on)].shown = shown;
                let publicname = name_where(shown);
                of_calendar(on, move |row| row.publicname = publicname.clone())
            }
            Setting::CalendarDeleted(on, deleted) => {
                naive.calendars[place(on)].deleted = deleted;
                of_calendar(on, move |row| row.deleted = deleted)
            }
            Setting::InterventionShown(id, shown) => {
                naive.interventions[place(id)].shown = shown;
                let publicname = name_where(shown);
                of_intervention(id, move |row| row.publicname = publicname.clone())
            }
            Setting::InterventionDeleted(id, deleted) => {
                naive.interventions[place(id)].deleted = deleted;
                of_intervention(id, move |row| row.deleted = deleted)
            }
            Setting::InterventionMinutes(id, minutes) => {
                naive.interventions[place(id)].minutes = minutes;
                of_intervention(id, move |row| row.length = Bounded::new(minutes).expect("legal"))
            }
        };
        let done = engine.write(group(), Author::Operator, Command::ChangeRecord(change)).await;
        prop_assert!(done.is_ok(), "{done:?}");
        Ok(())
    }

    /// Another zone keeps wall clocks, and is refused where live appointments would overlap.
    async fn change_zone(&mut self, engine: &Engine, name: &str) -> Result<(), TestCaseError> {
        let zone_name = ZoneName::from_name(name).expect("a zone");
        let mut after = self.naive.clone();
        after.zone = zone_name.zone();
        let mut overlaps = false;
        for event in &mut after.events {
            if let NaiveKind::Appointment { civil, start, .. } = &mut event.kind
                && after.zone != self.naive.zone
            {
                *start = after.zone.instant_of(*civil);
            }
        }
        for on in [1, 2] {
            let all = after.appointments(on);
            for (id, at) in &all {
                let meets = |other: &Interval| other.start < at.end && at.start < other.end;
                overlaps |= all.iter().any(|(other, taken)| other != id && meets(taken));
            }
        }
        let change = of_group(move |group| group.timezone = zone_name);
        match engine.write(group(), Author::Operator, Command::ChangeRecord(change)).await {
            Ok(_) => {
                prop_assert!(!overlaps, "appointments overlap in {name}");
                self.naive = after;
                Ok(())
            }
            Err(Rejection::Refused(refusals)) => {
                prop_assert!(overlaps, "{refusals:?}");
                let is_named = matches!(refusals[..], [Refusal::ClocksOverlap { .. }]);
                prop_assert!(is_named, "{refusals:?}");
                Ok(())
            }
            Err(other) => Err(TestCaseError::fail(format!("{other:?}"))),
        }
    }

    /// Offered starts are those, tick by tick, that nothing stands in the way of.
    fn search(
        &self,
        engine: &Engine,
        on: u64,
        from: Ticks,
        chain: &[u64],
        by: By,
    ) -> Result<(), TestCaseError> {
        if by == By::ProInBackOffice {
            // Its grid counts from midnight: the slots' own property test compares it.
            return Ok(());
        }
        let state = engine.published().group_state(group()).expect("the group");
        let ids: Vec<_> = chain.iter().map(|id| intervention(*id)).collect();
        let Ok(legs) = state.catalogue.chain(&ids, by.mode()) else { return Ok(()) };
        let start = self.naive.zone.instant_of(self.civil_at(from));
        let window = Interval { start, end: start.plus_seconds(60 * TICK) };
        let view = state.calendars.get(&calendar(on)).expect("a calendar");
        let mut offered = Vec::new();
        let now = self.naive.now;
        let search = ChainSearch::new(&legs, by.mode());
        free_starts(&state.catalogue, view, search, window, now, &mut offered);
        let expected: Vec<Instant> = ticks_of(window)
            .filter(|start| self.naive.obstacles(on, chain, *start, by).is_empty())
            .collect();
        prop_assert_eq!(offered, expected);
        Ok(())
    }

    /// Every event stands where the naive agenda has it, and none beside.
    fn compare_states(&self, engine: &Engine) -> Result<(), TestCaseError> {
        let state = engine.published().group_state(group()).expect("the group");
        prop_assert_eq!(state.rows.len(), self.naive.events.len());
        for event in &self.naive.events {
            let row = state.rows.get(&event.id);
            let Some(row) = row else {
                return Err(TestCaseError::fail(format!("lost: {event:?}")));
            };
            prop_assert_eq!((row.calendar_id, row.deleted), (calendar(event.on), event.deleted));
            if let NaiveKind::Appointment { start, seconds, client, .. } = event.kind {
                let appointment = row.appointment().expect("an appointment stays one");
                let found = (
                    appointment.start,
                    i64::from(appointment.length_seconds),
                    appointment.fiche_id,
                );
                prop_assert_eq!(found, (start, seconds, client));
            }
        }
        for on in [1, 2] {
            let view = state.calendars.get(&calendar(on)).expect("a calendar");
            let taken: BTreeSet<_> =
                view.taken().iter().map(|taken| (taken.interval.start, taken.id)).collect();
            let expected = self.naive.appointments(on).into_iter();
            let expected: BTreeSet<_> = expected.map(|(id, at)| (at.start, id)).collect();
            prop_assert_eq!(taken, expected);
        }
        Ok(())
    }
}

fn name_where(shown: bool) -> Name<255> {
    Name::new(if shown { "shown" } else { "" }).expect("a name")
}

fn of_group(change: impl Fn(&mut Group) + Send + Sync + 'static) -> RecordChange {
    let mut fields = Patch::default();
    fields.push(change);
    RecordChange::Group(fields)
}

fn of_calendar(on: u64, change: impl Fn(&mut Calendar) + Send + Sync + 'static) -> RecordChange {
    let mut fields = Patch::default();
    fields.push(change);
    RecordChange::Calendar(Put { id: Some(calendar(on)), fields })
}

fn of_intervention(
    id: u64,
    change: impl Fn(&mut Intervention) + Send + Sync + 'static,
) -> RecordChange {
    let mut fields = Patch::default();
    fields.push(change);
    RecordChange::Intervention(Put { id: Some(intervention(id)), fields })
}

/// A script begins with both calendars open, in the night of the clock change too, so that most
/// bookings have a chance.
fn opening() -> Vec<Line> {
    let open = |on, at, ticks, days| Line::Open { on, at, ticks, days, only: None };
    vec![open(1, 108, 60, 3), open(2, 108, 60, 3), open(1, 2 * 288 + 6, 60, 1)]
}

fn run_script(first_day: &'static str, lines: &[Line]) -> Result<(), TestCaseError> {
    let mut pair = Pair::new(first_day);
    let script = [&opening(), lines].concat();
    let mut left = script.as_slice();
    loop {
        let before = left.len();
        left = pair.live(left)?;
        if left.is_empty() {
            return Ok(());
        }
        assert!(left.len() < before, "each life runs a line at least");
    }
}

proptest! {
    // SLOTBOOK_LONG runs fifty times as many scripts.
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("SLOTBOOK_LONG").is_some() { 20_000 } else { 400 },
        ..ProptestConfig::default()
    })]

    #[test]
    fn engine_and_naive_agenda_agree_on_every_script(
        first_day in prop_oneof![Just(FIRST_DAYS[0]), Just(FIRST_DAYS[1])],
        lines in proptest::collection::vec(a_line(), 1..50),
    ) {
        if let Err(error) = run_script(first_day, &lines) {
            let script: Vec<String> = lines.iter().map(|line| format!("  {line:?}")).collect();
            return Err(TestCaseError::fail(format!("{error}\nscript from {first_day}:\n{}", script.join("\n"))));
        }
    }
}
