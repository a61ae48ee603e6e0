//! Weekly opening hours: replaced in one event, read back as they were given, and open when a naive reading of the rows
//! says so.

use std::collections::BTreeSet;

use proptest::prelude::*;
use slotbook::domain::availability::weekly_hours::{
    DayTimes, Rhythm, WeeklyRange, WeeklyRule, plan_openings, read_ranges, sort_ranges,
};
use slotbook::domain::decisions::founding::{FoundGroup, FoundShop, decide_shop};
use slotbook::domain::directory::professionals::ProDraft;
use slotbook::domain::directory::roles::ProRole;
use slotbook::domain::records::author::Author;
use slotbook::domain::records::calendar::Calendar;
use slotbook::domain::records::ids::{GroupId, VeventId};
use slotbook::domain::records::text::{Email, Name, Text};
use slotbook::domain::records::vevent::{
    Availability, OptionalFields, Permits, Vevent, VeventKind,
};
use slotbook::domain::recurrence::{Exceptions, Series, WEEK};
use slotbook::domain::state::command::{Command, Patch, PutVevents};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::put_vevent::PutHours;
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::{CivilDay, MINUTE};
use slotbook::store::codec;

use super::shop::{Draws, Shop, assert_stamped, calendar, civil, decide_at_once, intervention};

/// The first day of the tests: Wednesday, 18 February 2026, so that both clock changes are near.
fn day(number: i32) -> CivilDay {
    civil("2026-02-18 00:00").day().plus_days(number)
}

/// One row of a week, before its ranges are known.
fn a_rule() -> impl Strategy<Value = WeeklyRule> {
    let until = prop_oneof![2 => Just(None), 1 => (0..60_i32).prop_map(Some)];
    let permits = prop_oneof![
        2 => Just(Permits::All),
        1 => Just(Permits::only(vec![intervention(1)])),
        1 => Just(Permits::only(vec![intervention(2), intervention(1)])),
    ];
    (0..7_usize, any::<bool>(), permits, 0..40_i32, until).prop_map(
        |(weekday, is_weekly, permits, from, until)| WeeklyRule {
            weekday: WEEK[weekday],
            rhythm: if is_weekly { Rhythm::Weekly } else { Rhythm::Fortnightly },
            permits,
            from: day(from),
            until: until.map(|days| day(from + days)),
        },
    )
}

/// Times that often touch and repeat: of the whole day, around the hours that a clock change leaves out, and to midnight.
fn a_time() -> impl Strategy<Value = DayTimes> {
    let times = vec![
        (0, 1_440),
        (120, 180),
        (90, 240),
        (540, 720),
        (540, 690),
        (720, 1_080),
        (1_380, 1_440),
        (485, 721),
    ];
    proptest::sample::select(times)
        .prop_map(|(start, end)| DayTimes::new(start, end).expect("a range"))
}

/// A week whose ranges of the same interventions do not overlap.
fn a_week() -> impl Strategy<Value = Vec<WeeklyRange>> {
    proptest::collection::vec((a_rule(), a_time()), 0..25).prop_map(|given| {
        let mut week: Vec<WeeklyRange> = Vec::new();
        for (rule, times) in given {
            let Some(range) = rule.with_times(times) else { continue };
            if !week.iter().any(|other| overlaps_naively(other, &range)) {
                week.push(range);
            }
        }
        sort_ranges(&mut week);
        week
    })
}

/// Whether a range is open on a day, by walking from its first day.
fn is_open_on(range: &WeeklyRange, wanted: CivilDay) -> bool {
    let mut day = range.first();
    while day < wanted {
        day = day.plus_days(7 * i32::from(range.rhythm().weeks()));
    }
    day == wanted && range.last().is_none_or(|last| day <= last)
}

fn overlaps_naively(one: &WeeklyRange, other: &WeeklyRange) -> bool {
    let (a, b) = (one.times(), other.times());
    one.permits() == other.permits()
        && a.start_minute() < b.end_minute()
        && b.start_minute() < a.end_minute()
        && (0..200).any(|number| is_open_on(one, day(number)) && is_open_on(other, day(number)))
}

/// The times that a week opens up to the 200th day, with the interventions, by the rows alone.
fn opened_naively(week: &[WeeklyRange], shop: &Shop) -> BTreeSet<(Interval, Permits)> {
    let zone = shop.group_state.catalogue.zone();
    let mut opened = BTreeSet::new();
    for range in week {
        for day in (0..200).map(day).filter(|day| is_open_on(range, *day)) {
            let at = |minute: u16| {
                zone.instant_of(day.midnight().plus_seconds(i64::from(minute) * MINUTE))
            };
            let interval = Interval {
                start: at(range.times().start_minute()),
                end: at(range.times().end_minute()),
            };
            // An hour that a clock change leaves out opens nothing.
            if interval.start < interval.end {
                opened.insert((interval, range.permits().clone()));
            }
        }
    }
    opened
}

fn availabilities(state: &GroupState) -> Vec<Vevent> {
    let view = &state.calendars[&calendar(1)];
    view.rules().availabilities().iter().map(|row| Vevent::clone(row)).collect()
}

/// The times that the availabilities of calendar 1 open in the same days.
fn opened(shop: &Shop) -> BTreeSet<(Interval, Permits)> {
    let zone = shop.group_state.catalogue.zone();
    let window = Interval {
        start: zone.instant_of(day(0).midnight()),
        end: zone.instant_of(day(200).midnight()),
    };
    let mut opened = BTreeSet::new();
    for row in availabilities(&shop.group_state) {
        let VeventKind::Availability(availability) = &row.kind else { panic!("{row:?}") };
        for interval in availability.series.intervals_overlapping(zone, window) {
            opened.insert((interval, availability.permits.clone()));
        }
    }
    opened
}

fn read_week(shop: &Shop) -> Vec<WeeklyRange> {
    let zone = shop.group_state.catalogue.zone();
    let rows = availabilities(&shop.group_state);
    let mut week: Vec<WeeklyRange> =
        rows.iter().filter_map(|row| read_ranges(row, zone)).flatten().collect();
    sort_ranges(&mut week);
    week
}

/// Decides to set the hours of calendar 1. Returns the event, and the shop after it.
fn put(shop: &Shop, week: &[WeeklyRange]) -> (Option<Event>, Shop) {
    let hours =
        PutHours { calendar_id: calendar(1), ranges: week.to_vec(), taker: Text::default() };
    let command = Command::PutVevents(Box::new(PutVevents::Hours(hours)));
    let first = shop.group_state.highest_ids.vevent + 1;
    let now = shop.now.plus_minutes(1);
    let mut draws = Draws { first, ..Draws::none(now) };
    let (event, _) =
        decide_at_once(&shop.group_state, &command, &mut draws, now).expect("it is legal");
    let mut after = shop.clone();
    if let Some(event) = &event {
        after.group_state = after.group_state.apply(event);
        assert_stamped(&shop.group_state, &after.group_state, event);
    }
    (event, after)
}

/// Availabilities that no row expresses: single, of two days, with an exception, a colour, or a first day off the rule.
fn with_others(mut shop: Shop) -> Shop {
    let zone = shop.group_state.catalogue.zone();
    for (from, to, rule, exceptions) in [
        ("2026-03-02 09:00", "2026-03-02 12:00", "", ""),
        ("2026-03-02 22:00", "2026-03-03 02:00", "FREQ=WEEKLY", ""),
        ("2026-03-02 09:00", "2026-03-02 12:00", "FREQ=WEEKLY", "2026-03-09"),
        ("2026-03-02 09:00", "2026-03-02 12:00", "FREQ=WEEKLY;BYDAY=TU", ""),
        ("2026-03-02 09:00", "2026-03-02 12:00", "FREQ=WEEKLY;INTERVAL=3", ""),
        ("2026-03-02 09:00", "2026-03-02 12:00", "FREQ=MONTHLY", ""),
        ("2026-03-02 09:00", "2026-03-02 12:00", "FREQ=DAILY;INTERVAL=2", ""),
    ] {
        let rule = if rule.is_empty() { None } else { Some(rule.parse().expect("a rule")) };
        let exceptions: Exceptions = exceptions.parse().expect("dates");
        let series = Series::new(zone, civil(from), civil(to), rule, exceptions).expect("a series");
        let permits = Permits::All;
        shop.put(1, VeventKind::Availability(Box::new(Availability { series, permits })));
    }
    let plain = "FREQ=WEEKLY";
    let mut shop = shop.opened(1, "2026-03-04 09:00", "2026-03-04 12:00", plain, Permits::All);
    let id = VeventId::new(shop.group_state.highest_ids.vevent).expect("an id");
    let mut coloured = Vevent::clone(&shop.group_state.rows[&id]);
    let text = Text::new("only with a voucher").expect("a text");
    coloured.rare = OptionalFields { text, ..OptionalFields::default() }.boxed();
    shop.group_state.put_vevent(coloured.into());
    shop
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn hours_are_read_as_they_were_given_and_open_when_the_rows_say_so(
        first in a_week(),
        second in a_week(),
    ) {
        let shop = Shop::in_zone("Paris", "2026-02-18 08:00");
        for (before, week) in [(shop.clone(), &first), (put(&shop, &first).1, &second)] {
            let (event, after) = put(&before, week);
            prop_assert_eq!(&read_week(&after), week);
            prop_assert_eq!(opened(&after), opened_naively(week, &shop));
            prop_assert_eq!(availabilities(&after.group_state).len(), plan_openings(week).len());
            prop_assert!(put(&after, week).0.is_none(), "the same hours change nothing");
            if let Some(event) = event {
                prop_assert_eq!(after.group_state.sequence, before.group_state.sequence + 1);
                let read: Event = codec::decode(&codec::encode(&event)).expect("it is read");
                prop_assert_eq!(read, event);
            }
        }
    }

    #[test]
    fn ranges_overlap_if_a_naive_walk_finds_a_day_of_both(
        one in (a_rule(), a_time()),
        other in (a_rule(), a_time()),
    ) {
        // Mostly of the same day and interventions, so that phases and ends decide.
        let on_two_days = |rule: WeeklyRule| {
            let weekday = WEEK[usize::from(rule.weekday as u8 > 4)];
            WeeklyRule { weekday, permits: Permits::All, ..rule }
        };
        let one = on_two_days(one.0).with_times(one.1);
        let other = on_two_days(other.0).with_times(other.1);
        if let (Some(one), Some(other)) = (one, other) {
            prop_assert_eq!(one.overlaps(&other), overlaps_naively(&one, &other));
            prop_assert_eq!(other.overlaps(&one), overlaps_naively(&one, &other));
        }
    }

    #[test]
    fn a_week_of_one_rhythm_takes_one_availability_for_the_same_times(
        days in proptest::sample::subsequence(WEEK.to_vec(), 1..8),
        times in proptest::collection::btree_set(a_time(), 1..5),
        is_weekly in any::<bool>(),
        from in 0..40_i32,
        until in proptest::option::of(14..60_i32),
    ) {
        let rhythm = if is_weekly { Rhythm::Weekly } else { Rhythm::Fortnightly };
        let monday = day(from).plus_days(-i32::from(day(from).weekday() as u8));
        let mut week = Vec::new();
        for weekday in days {
            for times in &times {
                // All of one week, so that a fortnight has one phase.
                let from = monday.plus_days(i32::from(weekday as u8));
                let until = until.map(|days| monday.plus_days(days));
                let rule = WeeklyRule { weekday, rhythm, permits: Permits::All, from, until };
                week.push(rule.with_times(*times).expect("it is open"));
            }
        }
        sort_ranges(&mut week);
        prop_assert_eq!(plan_openings(&week).len(), times.len());
    }
}

#[test]
fn availabilities_that_rows_cannot_express_stay_as_they_are() {
    let shop = with_others(Shop::in_zone("Paris", "2026-02-18 08:00"));
    let others = availabilities(&shop.group_state);
    assert_eq!(others.len(), 8);
    assert!(read_week(&shop).is_empty());
    let rule = WeeklyRule {
        weekday: WEEK[0],
        rhythm: Rhythm::Weekly,
        permits: Permits::All,
        from: day(0),
        until: None,
    };
    let week = [rule.with_times(DayTimes::new(540, 720).expect("a range")).expect("it is open")];
    let (_, open) = put(&shop, &week);
    let rows = availabilities(&open.group_state);
    assert_eq!((&rows[..8], rows.len()), (&others[..], 9));
    let (_, closed) = put(&open, &[]);
    assert_eq!(availabilities(&closed.group_state), others);
}

#[test]
fn hours_change_the_availabilities_that_are_there_before_they_make_others() {
    let rule = "FREQ=WEEKLY;BYDAY=MO,TU";
    let open =
        |shop: Shop, from: &str, to: &str, rule: &str| shop.opened(1, from, to, rule, Permits::All);
    let shop = Shop::in_zone("Paris", "2026-02-18 08:00");
    let shop = open(shop, "2026-02-23 09:00", "2026-02-23 12:00", rule);
    let shop = open(shop, "2026-02-23 14:00", "2026-02-23 18:00", rule);
    // A daily one without end is a row of each day, and a count is a last day.
    let shop = open(shop, "2026-02-23 19:00", "2026-02-23 20:00", "FREQ=DAILY");
    let shop = open(shop, "2026-02-25 07:00", "2026-02-25 08:00", "FREQ=WEEKLY;COUNT=3");
    let week = read_week(&shop);
    assert_eq!(week.len(), 2 + 2 + 7 + 1);
    let counted = week.iter().find(|range| range.last().is_some()).expect("one ends");
    assert_eq!(counted.last(), Some(civil("2026-03-11 00:00").day()));
    assert!(put(&shop, &week).0.is_none());
    let mornings: Vec<WeeklyRange> =
        week.iter().filter(|range| range.times().start_minute() != 840).cloned().collect();
    let Some(Event::BatchDone { events, .. }) = put(&shop, &mornings).0 else {
        panic!("it changes")
    };
    let changed: Vec<(u64, bool)> = events
        .iter()
        .map(|event| match event {
            Event::VeventPut { row, .. } => (row.id.number(), row.deleted),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(changed, [(2, true)], "the others open the same as before");
    let later: Vec<WeeklyRange> = mornings
        .iter()
        .map(|range| {
            let minutes = range.times();
            let times = DayTimes::new(minutes.start_minute() + 5, minutes.end_minute());
            let rule = WeeklyRule {
                weekday: range.weekday(),
                rhythm: range.rhythm(),
                permits: range.permits().clone(),
                from: range.first(),
                until: range.last(),
            };
            rule.with_times(times.expect("a range")).expect("it is open")
        })
        .collect();
    let (_, after) = put(&shop, &later);
    assert_eq!(read_week(&after).len(), 2 + 7 + 1);
    let ids: Vec<u64> =
        availabilities(&after.group_state).iter().map(|row| row.id.number()).collect();
    assert_eq!(ids, [1, 2, 3], "three of the four get other times");
}

#[test]
fn hours_that_replace_more_than_2000_availabilities_are_refused() {
    let mut shop = Shop::in_zone("Paris", "2026-02-18 08:00");
    let (from, to) = ("2026-02-23 09:00", "2026-02-23 12:00");
    for _ in 0..2_000 {
        shop = shop.opened(1, from, to, "FREQ=WEEKLY", Permits::All);
    }
    let closes = |shop: &Shop| {
        let ranges = Vec::new();
        let hours = PutHours { calendar_id: calendar(1), ranges, taker: Text::default() };
        let command = Command::PutVevents(Box::new(PutVevents::Hours(hours)));
        decide_at_once(&shop.group_state, &command, &mut Draws::none(shop.now), shop.now)
    };
    let Ok((Some(Event::BatchDone { events, .. }), _)) = closes(&shop) else {
        panic!("it is the most that one change takes")
    };
    assert_eq!(events.len(), 2_000);
    let shop = shop.opened(1, from, to, "FREQ=WEEKLY", Permits::All);
    let refusals = closes(&shop).expect_err("one too many");
    let [Refusal::InvalidParameter(fault)] = &refusals[..] else { panic!("{refusals:?}") };
    assert_eq!(fault.field, "rows");
    assert!(fault.rule.contains("2001"), "{}", fault.rule);
}

#[test]
fn a_shop_that_begins_with_hours_is_open_then_and_one_without_is_not() {
    let rule = WeeklyRule {
        weekday: WEEK[1],
        rhythm: Rhythm::Weekly,
        permits: Permits::All,
        from: day(0),
        until: None,
    };
    let hours = rule.with_times(DayTimes::new(540, 720).expect("a range")).expect("it is open");
    for hours in [Vec::new(), vec![hours]] {
        let owner = ProDraft {
            email: Email::new("ann@example.org").expect("an address"),
            password_hash: None,
            lastname: Name::default(),
            firstname: Name::default(),
            cellphone: Text::default(),
            groups: BTreeSet::new(),
            main: None,
            role: ProRole::Administrator,
        };
        let named = || Name::new("shown").expect("a name");
        let mut first_calendar = Patch::default();
        first_calendar.push(move |row: &mut Calendar| row.name = named());
        let shop = FoundShop {
            group: FoundGroup { fields: Patch::default() },
            calendar: first_calendar,
            interventions: Vec::new(),
            hours: hours.clone(),
            owner,
        };
        let now = Shop::in_zone("UTC", "2026-02-18 08:00").now;
        let id = GroupId::new(7).expect("an id");
        let founded = decide_shop(&shop, id, Author::Operator, &mut Draws::none(now), now);
        let (_, _, state) = founded.expect("it has what it needs");
        let mut open = Vec::new();
        for row in availabilities(&state) {
            open.extend(read_ranges(&row, state.catalogue.zone()).expect("weekly hours"));
        }
        assert_eq!(open, hours);
    }
}
