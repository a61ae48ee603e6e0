//! Searches over free starts that are kept from event to event, against searches of each calendar
//! anew and against `bookable`. Reference 4.7.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use proptest::prelude::*;
use slotbook::domain::availability::bookable::bookable;
use slotbook::domain::availability::free_places::DayStarts;
use slotbook::domain::availability::merged_starts::{SearchExtent, StartSearch};
use slotbook::domain::availability::slot_request::{
    BookingMode, Chain, ChainSearch, OwnTime, SlotRequest,
};
use slotbook::domain::availability::slots::free_starts;
use slotbook::domain::records::booking_origin::{BookingOrigin, ClientProof};
use slotbook::domain::records::calendar::Calendar;
use slotbook::domain::records::group::Group;
use slotbook::domain::records::hold::HoldId;
use slotbook::domain::records::ids::{CalendarId, VeventId};
use slotbook::domain::records::text::Bounded;
use slotbook::domain::records::vevent::{
    Appointment, AppointmentKey, Availability, Permits, Reminders, State, VeventKind,
};
use slotbook::domain::recurrence::Series;
use slotbook::domain::state::command::{CancelRight, HoldTime, Patch, Put, RecordChange};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::zone_names::ZoneName;
use slotbook::domain::time::{Civil, Instant, MINUTE};

use super::shop::{SECRET, Shop, booking_of, by_pro, calendar, civil, intervention};

/// Zones, each with a midnight near a change of its clocks: days of 23 and 25 hours, of half an
/// hour more, with midnight left out or shown twice, and an offset that is no whole hour.
const PLACES: [(&str, &str); 9] = [
    ("Paris", "2026-03-28 00:00"),
    ("Paris", "2026-10-24 00:00"),
    ("UTC", "2026-06-01 00:00"),
    ("Africa/Cairo", "2026-04-23 00:00"),
    ("Africa/Cairo", "2026-10-28 00:00"),
    ("America/Santiago", "2026-09-05 00:00"),
    ("America/Havana", "2026-10-31 00:00"),
    ("Australia/Lord_Howe", "2026-10-03 00:00"),
    ("Kathmandu", "2026-06-01 00:00"),
];
/// Minutes from the first midnight, and a length.
type Span = (i64, i64);

#[derive(Clone, Debug)]
enum Step {
    /// Opens time, each day or once, for one intervention or all.
    Open {
        on: u64,
        span: Span,
        only: Option<u64>,
        daily: bool,
    },
    Close {
        on: u64,
        span: Span,
        daily: bool,
    },
    /// Puts an appointment into the agenda, whatever is there, by a key alone or not.
    Take {
        on: u64,
        span: Span,
        by_key: bool,
    },
    /// Books the nth start that is offered to the public, or to a professional.
    Book {
        nth: usize,
        chain: usize,
        by_pro: bool,
    },
    Cancel(prop::sample::Index),
    /// Moves an event to another time and calendar.
    Move {
        which: prop::sample::Index,
        on: u64,
        start: i64,
    },
    Delete(prop::sample::Index),
    Restore(prop::sample::Index),
    Hold {
        nth: usize,
        chain: usize,
    },
    Release(prop::sample::Index),
    GridMinutes(u64, i64),
    LeadMinutes(u64, i64, i64),
    Hide(u64, bool),
    DayPercent(i64),
    Zone(&'static str),
    Wait(i64),
    /// Keeps the state for searches that come later, as requests do that began before.
    Remember,
    Search(Wish),
}

/// A search.
#[derive(Clone, Debug)]
struct Wish {
    chain: usize,
    mode: BookingMode,
    window: Span,
    at_least: usize,
    both: bool,
    /// Whether the caller's newest hold counts as free.
    own_hold: bool,
    /// Whether the remembered state is searched.
    remembered: bool,
}

/// The chains that searches ask for.
const CHAINS: [&[u64]; 6] = [&[1], &[2], &[3], &[1, 2], &[3, 3], &[2, 1, 3]];

fn a_span() -> impl Strategy<Value = Span> {
    // Mostly on five minutes, as bits are.
    prop_oneof![
        4 => (0..3 * 288_i64, 1..180_i64).prop_map(|(start, length)| (start * 5, length * 5)),
        1 => (0..3 * 1_440_i64, 5..900_i64),
    ]
}

fn a_wish() -> impl Strategy<Value = Wish> {
    let mode = prop_oneof![
        4 => Just(BookingMode::Module),
        1 => Just(BookingMode::ModuleByAccount),
        1 => Just(BookingMode::ModuleByPro),
        1 => Just(BookingMode::BackOffice),
    ];
    let window = prop_oneof![
        // From four days on, what is found is kept.
        4 => (-1_440..4 * 1_440_i64, 4 * 1_440..9 * 1_440_i64),
        4 => (-1_440..4 * 1_440_i64, 1..4 * 1_440_i64),
        1 => (-1_440..1_440_i64, 30 * 1_440..40 * 1_440_i64),
        1 => (90 * 1_440..120 * 1_440_i64, 1..20 * 1_440_i64),
    ];
    (0..CHAINS.len(), mode, window, 1..3_usize, any::<[bool; 3]>()).prop_map(
        |(chain, mode, window, at_least, [both, own_hold, remembered])| Wish {
            chain,
            mode,
            window,
            at_least,
            both,
            own_hold,
            remembered,
        },
    )
}

fn a_step() -> impl Strategy<Value = Step> {
    let on = || 1..3_u64;
    let which = || any::<prop::sample::Index>();
    let chain = || 0..CHAINS.len();
    let only = prop_oneof![2 => Just(None), 1 => (1..4_u64).prop_map(Some)];
    let grid = prop_oneof![Just(5_i64), Just(7), Just(10), Just(15), Just(20), Just(30), Just(45)];
    let zone = prop::sample::select(PLACES.map(|(zone, _)| zone).to_vec());
    prop_oneof![
        3 => (on(), a_span(), only, any::<bool>())
            .prop_map(|(on, span, only, daily)| Step::Open { on, span, only, daily }),
        1 => (on(), a_span(), any::<bool>())
            .prop_map(|(on, span, daily)| Step::Close { on, span, daily }),
        3 => (on(), a_span(), any::<bool>())
            .prop_map(|(on, span, by_key)| Step::Take { on, span, by_key }),
        6 => (0..200_usize, chain(), any::<bool>())
            .prop_map(|(nth, chain, by_pro)| Step::Book { nth, chain, by_pro }),
        2 => which().prop_map(Step::Cancel),
        1 => (which(), on(), 0..4_320_i64)
            .prop_map(|(which, on, start)| Step::Move { which, on, start: start / 5 * 5 }),
        1 => which().prop_map(Step::Delete),
        1 => which().prop_map(Step::Restore),
        2 => (0..200_usize, chain()).prop_map(|(nth, chain)| Step::Hold { nth, chain }),
        1 => which().prop_map(Step::Release),
        1 => (on(), grid).prop_map(|(on, minutes)| Step::GridMinutes(on, minutes)),
        1 => (on(), 0..600_i64, 1_000..200_000_i64)
            .prop_map(|(on, least, most)| Step::LeadMinutes(on, least, most)),
        1 => (on(), any::<bool>()).prop_map(|(on, hidden)| Step::Hide(on, hidden)),
        1 => prop_oneof![Just(100), 1..100_i64].prop_map(Step::DayPercent),
        1 => zone.prop_map(Step::Zone),
        2 => prop_oneof![0..60_i64, 0..2_880_i64, 0..20_000_i64].prop_map(Step::Wait),
        2 => Just(Step::Remember),
        16 => a_wish().prop_map(Step::Search),
    ]
}

/// A shop whose searches are compared.
struct Compared {
    shop: Shop,
    /// Wall-clock midnight from which times count.
    midnight: Civil,
    remembered: (GroupState, Instant),
    events: Vec<VeventId>,
    holds: Vec<HoldId>,
}

impl Compared {
    fn new(place: usize) -> Self {
        let (zone, midnight) = PLACES[place];
        let shop = Shop::in_zone(zone, midnight);
        let remembered = (shop.group_state.clone(), shop.now);
        let (events, holds) = (Vec::new(), Vec::new());
        Self { shop, midnight: civil(midnight), remembered, events, holds }
    }

    fn at(&self, minutes: i64) -> Civil {
        self.midnight.plus_seconds(minutes * MINUTE)
    }

    fn instant_at(&self, minutes: i64) -> Instant {
        self.shop.group_state.catalogue.zone().instant_of(self.at(minutes))
    }

    fn series(&self, span: Span, daily: bool) -> Option<Series> {
        let rule = daily.then(|| "FREQ=DAILY;COUNT=130".parse().expect("a rule"));
        let (start, end) = (self.at(span.0), self.at(span.0 + span.1));
        let zone = self.shop.group_state.catalogue.zone();
        Series::new(zone, start, end, rule, Default::default()).ok()
    }

    fn put(&mut self, on: u64, kind: VeventKind) {
        self.shop.put(on, kind);
        self.events.extend(self.shop.group_state.rows.keys().next_back());
    }

    fn appointment(&mut self, span: Span, by_key: bool) -> VeventKind {
        let fiche_id = self.shop.knows("Ada", "ada@example.org");
        let start = self.instant_at(span.0);
        let proof = if by_key { ClientProof::KeyAlone } else { ClientProof::Account };
        let origin = BookingOrigin { source: [1; 16], apikey: [1; 16], proof };
        VeventKind::Appointment(Appointment {
            civil_start: self.shop.group_state.catalogue.zone().civil_of(start),
            start,
            length_seconds: u32::try_from(span.1 * MINUTE).expect("short"),
            intervention_id: intervention(1),
            fiche_id,
            key: AppointmentKey::new(SECRET).expect("20 letters"),
            state: State::default(),
            smsreminder: false,
            from_web: false,
            reminders: Reminders::since(Instant(0)),
            booking_origin: Some(Box::new(origin)),
        })
    }

    fn chain(&self, state: &GroupState, nth: usize, mode: BookingMode) -> Option<Chain> {
        let ids: Vec<_> = CHAINS[nth].iter().map(|id| intervention(*id)).collect();
        state.catalogue.chain(&ids, mode).ok()
    }

    /// Returns the nth start of the first days, and a calendar that has it.
    fn find(&self, nth: usize, chain: usize) -> Option<(Civil, CalendarId)> {
        let state = &self.shop.group_state;
        let legs = self.chain(state, chain, BookingMode::Module)?;
        let window = Interval { start: self.shop.now, end: self.instant_at(4 * 1_440) };
        let calendars = [1, 2].map(calendar);
        let search = ChainSearch::new(&legs, BookingMode::Module);
        let starts = StartSearch {
            catalogue: &state.catalogue,
            views: &state.calendars,
            search,
            calendars: &calendars,
            at_least: 1,
            now: self.shop.now,
        };
        let mut found = Vec::new();
        starts.for_each_start(window, |start, free| {
            found.extend(free.iter().map(|place| (start, calendars[place])));
        });
        let (start, on) = found.get(nth % found.len().max(1))?;
        Some((state.catalogue.zone().civil_of(*start), *on))
    }

    fn one_of<T: Copy>(list: &[T], which: &prop::sample::Index) -> Option<T> {
        if list.is_empty() { None } else { Some(*which.get(list)) }
    }

    fn change_calendar(&mut self, on: u64, change: impl Fn(&mut Calendar) + Send + Sync + 'static) {
        let mut fields = Patch::default();
        fields.push(change);
        let change = RecordChange::Calendar(Put { id: Some(calendar(on)), fields });
        // Another step may have deleted it.
        let _ = self.shop.changes(&change);
    }

    fn change_group(&mut self, change: impl Fn(&mut Group) + Send + Sync + 'static) {
        let mut fields = Patch::default();
        fields.push(change);
        // Another zone is refused where appointments would overlap.
        let _ = self.shop.changes(&RecordChange::Group(fields));
    }

    /// Carries out a step. Refusals change nothing, and are of no interest here.
    fn carry_out(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Open { on, span, only, daily } => {
                let permits = Permits::only(only.iter().map(|id| intervention(*id)).collect());
                if let Some(series) = self.series(*span, *daily) {
                    let availability = Availability { series, permits };
                    self.put(*on, VeventKind::Availability(Box::new(availability)));
                }
            }
            Step::Close { on, span, daily } => {
                if let Some(series) = self.series(*span, *daily) {
                    self.put(*on, VeventKind::Plage(Box::new(series)));
                }
            }
            Step::Take { on, span, by_key } => {
                let kind = self.appointment(*span, *by_key);
                self.put(*on, kind);
            }
            Step::Book { nth, chain, by_pro: pro } => self.book(*nth, *chain, *pro),
            Step::Cancel(which) => {
                if let Some(id) = Self::one_of(&self.events, which) {
                    let row = &self.shop.group_state.rows[&id];
                    if row.appointment().is_some() {
                        let _ = self.shop.cancel(id, CancelRight::Pro);
                    }
                }
            }
            Step::Move { which, on, start } => self.change(which, Some((*on, *start)), None),
            Step::Delete(which) => self.change(which, None, Some(true)),
            Step::Restore(which) => self.change(which, None, Some(false)),
            Step::Hold { nth, chain } => self.hold(*nth, *chain),
            Step::Release(which) => {
                if let Some(id) = Self::one_of(&self.holds, which) {
                    self.shop.releases(id);
                }
            }
            Step::GridMinutes(on, minutes) => {
                let minutes = Bounded::new(*minutes).expect("legal");
                self.change_calendar(*on, move |row| row.generate_interval = minutes);
            }
            Step::LeadMinutes(on, least, most) => {
                let [least, most] = [*least, *most];
                self.change_calendar(*on, move |row| {
                    row.mintime_rdv = Bounded::new(least).expect("legal");
                    row.maxrdv_period = Bounded::new(most).expect("legal");
                });
            }
            Step::Hide(on, hidden) => {
                let hidden = *hidden;
                self.change_calendar(*on, move |row| row.deleted = hidden);
            }
            Step::DayPercent(percent) => {
                let percent = Bounded::new(*percent).expect("legal");
                self.change_group(move |group| group.unverified_day_percent = percent);
            }
            Step::Zone(name) => {
                let zone = ZoneName::from_name(name).expect("a zone");
                self.change_group(move |group| group.timezone = zone);
            }
            Step::Wait(minutes) => self.shop.now = self.shop.now.plus_minutes(*minutes),
            Step::Remember => self.remembered = (self.shop.group_state.clone(), self.shop.now),
            Step::Search(wish) => self.compare(wish)?,
        }
        Ok(())
    }

    fn book(&mut self, nth: usize, chain: usize, pro: bool) {
        let Some((date, on)) = self.find(nth, chain) else { return };
        // Each client books once, so that no rule about clients stands in the way.
        let name = format!("Bob{}", self.events.len());
        let mut command = booking_of(&name, "2026-01-01 00:00");
        command.date = date;
        command.calendar_id = Some(on);
        command.intervention_ids = CHAINS[chain].iter().map(|id| intervention(*id)).collect();
        if pro {
            command = by_pro(command, true);
        }
        self.events.extend(self.shop.book(&command).unwrap_or_default());
    }

    fn hold(&mut self, nth: usize, chain: usize) {
        let Some((date, on)) = self.find(nth, chain) else { return };
        let command = HoldTime {
            date,
            intervention_ids: CHAINS[chain].iter().map(|id| intervention(*id)).collect(),
            calendar_id: Some(on),
            hold: None,
            source: None,
            is_by_key: true,
        };
        self.holds.extend(self.shop.holds(&command));
    }

    /// Moves an event by a professional's hand, deletes or restores it.
    fn change(
        &mut self,
        which: &prop::sample::Index,
        to: Option<(u64, i64)>,
        deleted: Option<bool>,
    ) {
        let Some(id) = Self::one_of(&self.events, which) else { return };
        let row = self.shop.group_state.rows[&id].clone();
        let mut kind = row.kind.clone();
        let mut on = row.calendar_id.number();
        if let Some((to, minutes)) = to {
            on = to;
            let (civil_start, start) = (self.at(minutes), self.instant_at(minutes));
            if let VeventKind::Appointment(appointment) = &mut kind {
                (appointment.civil_start, appointment.start) = (civil_start, start);
            }
        }
        let _ = self.shop.puts(Some(id), on, kind, deleted.unwrap_or(row.deleted));
    }

    fn compare(&self, wish: &Wish) -> Result<(), TestCaseError> {
        let (state, now) = if wish.remembered {
            (&self.remembered.0, self.remembered.1)
        } else {
            (&self.shop.group_state, self.shop.now)
        };
        let Some(chain) = self.chain(state, wish.chain, wish.mode) else { return Ok(()) };
        let hold = self.holds.last().copied().filter(|_| wish.own_hold);
        let own = OwnTime { hold, appointment: None };
        let search = ChainSearch { chain: &chain, mode: wish.mode, own };
        let start = self.instant_at(wish.window.0);
        let window = Interval { start, end: start.plus_minutes(wish.window.1) };
        let calendars: Vec<_> = (1..=if wish.both { 2 } else { 1 }).map(calendar).collect();
        let starts = StartSearch {
            catalogue: &state.catalogue,
            views: &state.calendars,
            search,
            calendars: &calendars,
            at_least: wish.at_least.min(calendars.len()),
            now,
        };
        let mut found: BTreeMap<Instant, Vec<usize>> = BTreeMap::new();
        starts.for_each_start(window, |start, free| {
            found.insert(start, free.iter().collect());
        });
        let mut expected = find_anew(&starts, window);
        prop_assert_eq!(&found, &expected);
        judge_some(&starts, window, &found)?;
        prop_assert_eq!(starts.first_start(window), found.keys().next().copied());
        prop_assert_eq!(starts.count_by_day(window), days_of(&starts, &found));
        let mut nearest = Vec::new();
        let end = starts.each_start(window, SearchExtent::Nearest, |start, free| {
            nearest.push((start, free.iter().collect::<Vec<_>>()));
            if nearest.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        prop_assert_eq!(end.is_break(), found.len() >= 3);
        for (start, free) in nearest {
            prop_assert_eq!(expected.pop_first(), Some((start, free)));
        }
        Ok(())
    }
}

/// Returns what a search finds on each calendar without anything that is kept.
fn find_anew(starts: &StartSearch<'_>, window: Interval) -> BTreeMap<Instant, Vec<usize>> {
    let mut found: BTreeMap<Instant, Vec<usize>> = BTreeMap::new();
    for (place, id) in starts.calendars.iter().enumerate() {
        let mut on_calendar = Vec::new();
        let view = &starts.views[id];
        let (catalogue, now) = (starts.catalogue, starts.now);
        free_starts(catalogue, view, starts.search, window, now, &mut on_calendar);
        for start in on_calendar {
            found.entry(start).or_default().push(place);
        }
    }
    found.retain(|_, free| free.len() >= starts.at_least);
    found
}

/// Asks the rule itself about starts of the window: many, whether they were found or not.
fn judge_some(
    starts: &StartSearch<'_>,
    window: Interval,
    found: &BTreeMap<Instant, Vec<usize>>,
) -> Result<(), TestCaseError> {
    if starts.search.mode == BookingMode::BackOffice {
        // Its grid is none of the rules.
        return Ok(());
    }
    let minutes = window.end.seconds_since(window.start) / MINUTE;
    let step = (minutes / 100).max(1);
    let some = (0..minutes).step_by(usize::try_from(step).expect("positive"));
    let mut asked: BTreeSet<Instant> =
        some.map(|minute| window.start.plus_minutes(minute)).collect();
    asked.extend(found.keys().step_by(found.len() / 40 + 1));
    for start in asked {
        let mut free = Vec::new();
        for (place, id) in starts.calendars.iter().enumerate() {
            let ChainSearch { chain, mode, own } = starts.search;
            let request = SlotRequest { own, ..SlotRequest::new(chain.clone(), start, mode) };
            if bookable(starts.catalogue, &starts.views[id], &request, starts.now).is_ok() {
                free.push(place);
            }
        }
        let is_offered = !free.is_empty() && free.len() >= starts.at_least;
        let expected = if is_offered { Some(&free) } else { None };
        prop_assert_eq!(found.get(&start), expected, "{:?}", start);
    }
    Ok(())
}

fn days_of(starts: &StartSearch<'_>, found: &BTreeMap<Instant, Vec<usize>>) -> Vec<DayStarts> {
    let mut days: Vec<DayStarts> = Vec::new();
    for (start, places) in found {
        let day = starts.catalogue.zone().civil_of(*start).day();
        match days.iter_mut().find(|other| other.day == day) {
            Some(known) => known.count += 1,
            None => days.push(DayStarts { day, count: 1, first: *start, places: places.clone() }),
        }
    }
    days
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn starts_that_are_kept_agree_with_those_found_anew_after_any_events(
        place in 0..PLACES.len(),
        steps in proptest::collection::vec(a_step(), 1..60),
    ) {
        let mut compared = Compared::new(place);
        // Some time is open from the beginning, so that most searches find something.
        compared.carry_out(&Step::Open { on: 1, span: (480, 720), only: None, daily: true })?;
        compared.carry_out(&Step::Open { on: 2, span: (540, 480), only: None, daily: true })?;
        for step in &steps {
            compared.carry_out(step)?;
        }
    }
}
