//! The agenda of a window against all occurrences since the first one. Reference 4.10.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use slotbook::domain::records::ids::{FicheId, VeventId};
use slotbook::domain::records::vevent::{
    Appointment, AppointmentKey, Availability, Permits, Reminders, State, Vevent, VeventKind,
};
use slotbook::domain::recurrence::{Exceptions, Series};
use slotbook::domain::state::agenda_window::{
    AGENDA_OCCURRENCES_MAX, Agenda, AgendaEvent, AgendaWindow, OpenStretch, TooManyOccurrences,
};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::zone::Zone;
use slotbook::domain::time::{Civil, CivilDay, DAY, Instant, MINUTE};

use super::shop::{SECRET, Shop, calendar, intervention};

#[derive(Clone, Copy, Debug)]
enum Kind {
    Appointment,
    Plage,
    Note,
    Open,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Never,
    Count(i64),
    /// Minutes from the story's midnight, and one more.
    Until(i64),
}

/// An event as a shop would note it down.
#[derive(Clone, Debug)]
struct Planned {
    kind: Kind,
    on: u64,
    /// Minutes from the story's midnight.
    start: i64,
    length: i64,
    /// Days from one occurrence to the next; weekly if seven divides them.
    every: Option<(i64, End)>,
    /// Which occurrences do not take place.
    excepted: Vec<i64>,
    deleted: bool,
}

#[derive(Clone, Debug)]
struct Story {
    zone: &'static str,
    midnight: &'static str,
    /// The id of each event; one that comes again replaces the one before.
    planned: Vec<(u64, Planned)>,
    window: (i64, i64),
    calendars: Vec<u64>,
}

fn a_planned_event() -> impl Strategy<Value = Planned> {
    let kind = prop_oneof![
        1 => Just(Kind::Appointment),
        2 => Just(Kind::Plage),
        1 => Just(Kind::Note),
        2 => Just(Kind::Open),
    ];
    let start = prop_oneof![
        3 => -2_000..4_000_i64,
        1 => -120_000..20_000_i64,
        1 => (-20..20_i64).prop_map(|day| day * 288),
    ];
    let length = prop_oneof![
        3 => 1..200_i64,
        1 => (1..6_i64).prop_map(|days| days * 288),
        1 => 1..30_000_i64,
    ];
    let end = prop_oneof![
        Just(End::Never),
        (2..60_i64).prop_map(End::Count),
        (-20_000..20_000_i64).prop_map(|minutes| End::Until(minutes * 5)),
    ];
    let step = prop_oneof![1..5_i64, Just(7), Just(14)];
    let every = prop_oneof![Just(None), (step, end).prop_map(Some)];
    let excepted = proptest::collection::vec(0..40_i64, 0..4);
    (kind, 1..3_u64, start, length, every, excepted, prop::bool::weighted(0.1)).prop_map(
        |(kind, on, start, length, every, excepted, deleted)| {
            // In steps of five minutes.
            Planned { kind, on, start: start * 5, length: length * 5, every, excepted, deleted }
        },
    )
}

fn a_story() -> impl Strategy<Value = Story> {
    let place = prop_oneof![
        Just(("Paris", "2026-03-28 00:00")),
        Just(("Paris", "2026-10-24 00:00")),
        Just(("Newfoundland", "2026-10-30 00:00")),
        // Clocks that went back over midnight.
        Just(("America/St_Johns", "2010-11-05 00:00")),
        Just(("America/Santiago", "2026-04-04 00:00")),
        Just(("America/Santiago", "2026-09-05 00:00")),
        Just(("UTC", "2026-06-01 00:00")),
    ];
    let window = prop_oneof![
        (-300..900_i64, 1..4_000_i64),
        (-2..3_i64, 1..15_i64).prop_map(|(day, days)| (day * 288, days * 288)),
    ];
    let calendars = prop_oneof![Just(vec![1, 2]), Just(vec![2, 1]), Just(vec![2])];
    let planned = proptest::collection::vec((1..12_u64, a_planned_event()), 0..24);
    (place, planned, window, calendars).prop_map(
        |((zone, midnight), planned, (start, length), calendars)| {
            let window = (start * 5, length * 5);
            Story { zone, midnight, planned, window, calendars }
        },
    )
}

impl Planned {
    /// The event as a row; `None` if it is none, since it would end before it begins.
    fn row(&self, id: u64, zone: Zone, midnight: Civil, client: FicheId) -> Option<Vevent> {
        let start = midnight.plus_seconds(self.start * MINUTE);
        let kind = match self.kind {
            Kind::Appointment => VeventKind::Appointment(Appointment {
                civil_start: start,
                start: zone.instant_of(start),
                length_seconds: u32::try_from(self.length * MINUTE).expect("a length"),
                intervention_id: intervention(1),
                fiche_id: client,
                key: AppointmentKey::new(SECRET).expect("a secret"),
                state: State::default(),
                smsreminder: false,
                from_web: false,
                reminders: Reminders::since(Instant(0)),
                booking_origin: None,
            }),
            Kind::Plage => VeventKind::Plage(Box::new(self.series(zone, midnight)?)),
            Kind::Note => VeventKind::Note(Box::new(self.series(zone, midnight)?)),
            Kind::Open => {
                let (series, permits) = (self.series(zone, midnight)?, Permits::All);
                VeventKind::Availability(Box::new(Availability { series, permits }))
            }
        };
        Some(Vevent {
            id: VeventId::new(id).expect("an id"),
            calendar_id: calendar(self.on),
            kind,
            deleted: self.deleted,
            created_at: Instant(0),
            updated_at: Instant(0),
            rare: None,
        })
    }

    fn series(&self, zone: Zone, midnight: Civil) -> Option<Series> {
        let start = midnight.plus_seconds(self.start * MINUTE);
        let rule = self.every.map(|(days, end)| {
            let freq = if days % 7 == 0 {
                format!("FREQ=WEEKLY;INTERVAL={}", days / 7)
            } else {
                format!("FREQ=DAILY;INTERVAL={days}")
            };
            let end = match end {
                End::Never => String::new(),
                End::Count(count) => format!(";COUNT={count}"),
                End::Until(_) => {
                    let until = zone.instant_of(self.until(midnight).expect("it ends then"));
                    let (year, month, day) = Civil(until.0).day().ymd();
                    let (hour, minute, second) = Civil(until.0).hour_minute_second();
                    format!(";UNTIL={year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
                }
            };
            format!("{freq}{end}").parse().expect("a rule")
        });
        let days = self.excepted.iter().filter_map(|nth| self.nth_start(*nth, midnight));
        let exceptions = Exceptions::from_days(days.map(Civil::day).collect()).expect("a few");
        if matches!(self.kind, Kind::Note) {
            return Series::new_note(zone, start.day(), rule, exceptions).ok();
        }
        let end = start.plus_seconds(self.length * MINUTE);
        let series = Series::new(zone, start, end, rule, exceptions).ok()?;
        series.check_length().is_ok().then_some(series)
    }

    /// A minute after a time at which an occurrence may begin.
    fn until(&self, midnight: Civil) -> Option<Civil> {
        match self.every {
            Some((_, End::Until(minutes))) => Some(midnight.plus_seconds((minutes + 1) * MINUTE)),
            Some((_, End::Never | End::Count(_))) | None => None,
        }
    }

    /// The wall-clock start of an occurrence, from 0 on, before exceptions; `None` beyond the last.
    fn nth_start(&self, nth: i64, midnight: Civil) -> Option<Civil> {
        let mut first = midnight.plus_seconds(self.start * MINUTE);
        if matches!(self.kind, Kind::Note) {
            first = first.day().midnight();
        }
        match self.every {
            None => (nth == 0).then_some(first),
            Some((_, End::Count(count))) if nth >= count => None,
            Some((days, _)) => Some(first.plus_seconds(nth * days * DAY)),
        }
    }

    /// Every occurrence of a live series up to a moment, from the first one on: its time, its day,
    /// and whether it goes from midnight to midnight.
    fn occurrences(
        &self,
        zone: Zone,
        midnight: Civil,
        to: Instant,
    ) -> Vec<(Interval, CivilDay, bool)> {
        let mut found = Vec::new();
        let excepted: Vec<_> =
            self.excepted.iter().filter_map(|nth| self.nth_start(*nth, midnight)).collect();
        let until = self.until(midnight).map(|until| zone.instant_of(until));
        for nth in 0.. {
            let Some(begins) = self.nth_start(nth, midnight) else { break };
            let start = zone.instant_of(begins);
            if start > to.plus_seconds(2 * DAY) || until.is_some_and(|until| start > until) {
                break;
            }
            let is_note = matches!(self.kind, Kind::Note);
            let ends = begins.plus_seconds(if is_note { DAY } else { self.length * MINUTE });
            let whole_days = begins.second_of_day() == 0 && ends.second_of_day() == 0;
            if !excepted.contains(&begins) {
                let interval = Interval { start, end: zone.instant_of(ends) };
                found.push((interval, begins.day(), whole_days));
            }
        }
        found
    }
}

impl Story {
    /// The group, and the live events by id.
    fn tell(&self) -> (GroupState, Civil, BTreeMap<u64, Planned>) {
        let mut shop = Shop::in_zone(self.zone, self.midnight);
        let zone = shop.group_state.catalogue.zone();
        let midnight = zone.civil_of(shop.now).day().midnight();
        let client = shop.knows("Ada", "ada@example.org");
        let mut present = BTreeMap::new();
        for (id, planned) in &self.planned {
            let Some(row) = planned.row(*id, zone, midnight, client) else { continue };
            shop.group_state.put_vevent(Arc::new(row));
            present.insert(*id, planned.clone());
        }
        present.retain(|_, planned| !planned.deleted);
        (shop.group_state, midnight, present)
    }

    fn window(&self, zone: Zone, midnight: Civil) -> AgendaWindow {
        let (from, length) = self.window;
        let start = zone.instant_of(midnight.plus_seconds(from * MINUTE));
        let interval = Interval { start, end: start.plus_seconds(length * MINUTE) };
        let calendars = self.calendars.iter().map(|id| calendar(*id)).collect();
        AgendaWindow { interval, calendars }
    }
}

fn expected_events(
    present: &BTreeMap<u64, Planned>,
    zone: Zone,
    midnight: Civil,
    window: &AgendaWindow,
) -> Vec<AgendaEvent> {
    let mut events = Vec::new();
    for (id, planned) in present {
        if !window.calendars.contains(&calendar(planned.on)) || matches!(planned.kind, Kind::Open) {
            continue;
        }
        let is_appointment = matches!(planned.kind, Kind::Appointment);
        let once = Planned { every: None, excepted: Vec::new(), ..planned.clone() };
        let told = if is_appointment { &once } else { planned };
        for (mut interval, day, whole_days) in told.occurrences(zone, midnight, window.interval.end)
        {
            if is_appointment {
                interval.end = interval.start.plus_seconds(planned.length * MINUTE);
            }
            if interval.overlaps(window.interval) {
                events.push(AgendaEvent {
                    interval,
                    id: VeventId::new(*id).expect("an id"),
                    calendar_id: calendar(planned.on),
                    occurrence: told.every.map(|_| day),
                    is_all_day: whole_days && !is_appointment,
                });
            }
        }
    }
    events.sort_unstable();
    events
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn an_agenda_holds_what_a_walk_through_all_occurrences_finds(story in a_story()) {
        let (state, midnight, present) = story.tell();
        let zone = state.catalogue.zone();
        let window = story.window(zone, midnight);
        let agenda = Agenda::find(&state, &window).expect("a few events");
        let expected = expected_events(&present, zone, midnight, &window);
        prop_assert_eq!(&agenda.events, &expected);
        for (id, open) in window.calendars.iter().zip(&agenda.open) {
            let mut times = [Vec::new(), Vec::new()];
            for planned in present.values().filter(|planned| calendar(planned.on) == *id) {
                let at = match planned.kind {
                    Kind::Open => 0,
                    Kind::Plage => 1,
                    Kind::Appointment | Kind::Note => continue,
                };
                let found = planned.occurrences(zone, midnight, window.interval.end);
                times[at].extend(found.into_iter().map(|(interval, _, _)| interval));
            }
            let holds = |times: &[Interval], t: Instant| times.iter().any(|i| i.start <= t && t < i.end);
            let mut moment = window.interval.start;
            while moment < window.interval.end {
                let is_open = holds(&times[0], moment) && !holds(&times[1], moment);
                let found = open.iter().find(|it| it.interval.start <= moment && moment < it.interval.end);
                prop_assert_eq!(found.is_some(), is_open, "{:?}", moment);
                if let Some(stretch) = found {
                    // A day begins with the first midnight that clocks show.
                    let shown = zone.civil_of(moment).day();
                    let next = zone.instant_of(shown.plus_days(1).midnight());
                    let day = if next <= moment { shown.plus_days(1) } else { shown };
                    prop_assert_eq!(stretch.day, day);
                }
                moment = moment.plus_minutes(5);
            }
            prop_assert!(open.windows(2).all(|pair| pair[0].interval.end <= pair[1].interval.start));
        }
        let rows = state.rows.values().cloned().collect();
        let fiches = state.fiches.values().cloned().collect();
        let catalogue = (*state.catalogue).clone();
        let loaded = GroupState::from_records(catalogue, fiches, Vec::new(), rows);
        prop_assert_eq!(&Agenda::find(&loaded, &window).expect("a few events"), &agenda);
        prop_assert!(Agenda::count_looked_at(&state, &window) >= agenda.events.len() as i64);
    }
}

#[test]
fn a_window_with_more_than_the_maximum_is_refused_before_all_is_expanded() {
    let mut shop = Shop::in_zone("UTC", "2026-06-01 00:00");
    let zone = shop.group_state.catalogue.zone();
    let midnight = zone.civil_of(shop.now);
    let client = shop.knows("Ada", "ada@example.org");
    let daily = Planned {
        kind: Kind::Plage,
        on: 1,
        start: 0,
        length: 5,
        every: Some((1, End::Never)),
        excepted: Vec::new(),
        deleted: false,
    };
    let interval = Interval { start: shop.now, end: shop.now.plus_seconds(40 * DAY) };
    let window = AgendaWindow { interval, calendars: vec![calendar(1)] };
    let series = AGENDA_OCCURRENCES_MAX as u64 / 40;
    for id in 1..=series {
        let row = daily.row(id, zone, midnight, client).expect("a plage");
        shop.group_state.put_vevent(Arc::new(row));
    }
    let full = Agenda::find(&shop.group_state, &window).expect("exactly the maximum");
    assert_eq!(full.events.len(), AGENDA_OCCURRENCES_MAX);
    let once = Planned { every: None, ..daily };
    let row = once.row(series + 1, zone, midnight, client).expect("a plage");
    shop.group_state.put_vevent(Arc::new(row));
    assert_eq!(Agenda::find(&shop.group_state, &window), Err(TooManyOccurrences));
}

#[test]
fn an_event_of_the_first_pass_is_in_a_window_that_ends_in_the_second() {
    let mut shop = Shop::in_zone("Paris", "2026-10-25 00:00");
    let zone = shop.group_state.catalogue.zone();
    let midnight = zone.civil_of(shop.now);
    let client = shop.knows("Ada", "ada@example.org");
    let plage = Planned {
        kind: Kind::Plage,
        on: 1,
        start: 150,
        length: 15,
        every: None,
        excepted: Vec::new(),
        deleted: false,
    };
    let row = plage.row(1, zone, midnight, client).expect("a plage");
    shop.group_state.put_vevent(Arc::new(row));
    // From midnight to ten past two, an hour after the first pass of that time.
    let interval = Interval { start: shop.now, end: shop.now.plus_minutes(190) };
    let window = AgendaWindow { interval, calendars: vec![calendar(1)] };
    let agenda = Agenda::find(&shop.group_state, &window).expect("one event");
    assert_eq!(agenda.events.len(), 1);
}

#[test]
fn a_day_begins_with_the_first_midnight_that_clocks_show() {
    // Clocks of Newfoundland went back on 7 November 2010 from 00:01 to 23:01.
    let mut shop = Shop::in_zone("America/St_Johns", "2010-11-06 00:00");
    let zone = shop.group_state.catalogue.zone();
    let midnight = zone.civil_of(shop.now);
    let client = shop.knows("Ada", "ada@example.org");
    let open = Planned {
        kind: Kind::Open,
        on: 1,
        start: 20 * 60,
        length: 10 * 60,
        every: None,
        excepted: Vec::new(),
        deleted: false,
    };
    let row = open.row(1, zone, midnight, client).expect("opening hours");
    shop.group_state.put_vevent(Arc::new(row));
    let first_midnight = zone.instant_of(midnight.plus_seconds(DAY));
    let again_half_past_eleven = first_midnight.plus_minutes(30);
    assert_eq!(zone.civil_of(again_half_past_eleven).day(), midnight.day());
    let end = again_half_past_eleven.plus_minutes(180);
    let interval = Interval { start: again_half_past_eleven, end };
    let window = AgendaWindow { interval, calendars: vec![calendar(1)] };
    let agenda = Agenda::find(&shop.group_state, &window).expect("no event");
    let day = midnight.day().plus_days(1);
    assert_eq!(agenda.open, [[OpenStretch { day, interval }]]);
}

#[test]
fn a_morning_and_an_evening_until_midnight_are_one_stretch_of_their_day() {
    let mut shop = Shop::in_zone("Paris", "2026-06-01 00:00");
    let zone = shop.group_state.catalogue.zone();
    let midnight = zone.civil_of(shop.now);
    let client = shop.knows("Ada", "ada@example.org");
    let open = |start, length| Planned {
        kind: Kind::Open,
        on: 1,
        start,
        length,
        every: None,
        excepted: Vec::new(),
        deleted: false,
    };
    for (id, planned) in [(1, open(0, 60)), (2, open(22 * 60, 120))] {
        let row = planned.row(id, zone, midnight, client).expect("opening hours");
        shop.group_state.put_vevent(Arc::new(row));
    }
    let stretch = |from: i64, to: i64| OpenStretch {
        day: midnight.day(),
        interval: Interval { start: shop.now.plus_minutes(from), end: shop.now.plus_minutes(to) },
    };
    let expected = [stretch(0, 60), stretch(22 * 60, 24 * 60)];
    // Whether the window ends with the day or later.
    for days in [1, 2] {
        let interval = Interval { start: shop.now, end: shop.now.plus_seconds(days * DAY) };
        let window = AgendaWindow { interval, calendars: vec![calendar(1)] };
        let agenda = Agenda::find(&shop.group_state, &window).expect("two events");
        assert_eq!(agenda.open, [expected]);
    }
}
