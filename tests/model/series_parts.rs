//! A change of a part of a series, held against the list of its occurrences.

use proptest::prelude::*;
use slotbook::domain::records::ids::VeventId;
use slotbook::domain::records::text::Text;
use slotbook::domain::records::vevent::{OptionalFields, Vevent, VeventKind};
use slotbook::domain::recurrence::{Exceptions, Series};
use slotbook::domain::state::command::{Command, PutVevents, VeventDraft};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::put_vevent::{ChangePart, SeriesPart};
use slotbook::domain::state::refusal::{Refusal, Refusals};
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::{Civil, CivilDay, DAY, MINUTE};
use slotbook::store::codec;

use super::shop::{Draws, Shop, assert_stamped, calendar, civil, decide_at_once, redrawn};

/// A series near the clock changes of Paris in 2026, as it is written.
#[derive(Clone, Debug)]
struct Written {
    start: String,
    minutes: i64,
    rule: String,
    exceptions: Vec<usize>,
}

fn a_series() -> impl Strategy<Value = Written> {
    let start = (20..29_u32, 2..4_u32, 0..24_u32, prop_oneof![Just(0_u32), Just(30)]);
    let frequency = prop_oneof![
        3 => Just("FREQ=DAILY".to_owned()),
        2 => Just("FREQ=WEEKLY".to_owned()),
        // The first day need not be one of the rule.
        4 => proptest::sample::subsequence(vec!["MO", "WE", "TH", "SU"], 1..5)
            .prop_map(|days| format!("FREQ=WEEKLY;BYDAY={}", days.join(","))),
        1 => Just("FREQ=MONTHLY".to_owned()),
        1 => Just("FREQ=MONTHLY;BYDAY=2TU".to_owned()),
        1 => Just("FREQ=YEARLY".to_owned()),
    ];
    let interval = prop_oneof![3 => Just(1), 2 => Just(2), 1 => Just(3)];
    let end = prop_oneof![
        2 => Just(String::new()),
        2 => (2..9_u32).prop_map(|count| format!(";COUNT={count}")),
        2 => (4..10_u32, 1..29_u32).prop_map(|(month, day)| format!(";UNTIL=2026{month:02}{day:02}T215959Z")),
    ];
    let exceptions = proptest::collection::vec(0..8_usize, 0..4);
    (start, 15..600_i64, frequency, interval, end, exceptions).prop_map(
        |((day, month, hour, minute), minutes, frequency, interval, end, exceptions)| Written {
            start: format!("2026-{month:02}-{day:02} {hour:02}:{minute:02}"),
            minutes,
            rule: format!("{frequency};INTERVAL={interval}{end}"),
            exceptions,
        },
    )
}

/// What is done to a part.
#[derive(Clone, Debug)]
enum Change {
    Delete,
    Text,
    Calendar,
    /// Another start and another length of each occurrence, in minutes.
    Times(i64, i64),
    /// Another rule; of several occurrences only.
    Rule,
}

fn a_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => Just(Change::Delete),
        1 => Just(Change::Text),
        1 => Just(Change::Calendar),
        3 => (-90..90_i64, 15..300_i64).prop_map(|(later, minutes)| Change::Times(later, minutes)),
        1 => Just(Change::Rule),
    ]
}

/// An occurrence: its calendar, its wall-clock start, and its time.
type Taken = (u64, Civil, Interval);

fn horizon() -> (Civil, Civil) {
    (civil("2026-01-01 00:00"), civil("2029-01-01 00:00"))
}

/// The occurrences of all plages up to 2029.
fn occurrences(state: &GroupState) -> Vec<Taken> {
    let zone = state.catalogue.zone();
    let (from, to) = horizon();
    let mut taken = Vec::new();
    for row in state.rows.values().filter(|row| !row.deleted) {
        let series = row.series().expect("a plage is a series");
        for occurrence in series.occurrences(zone, from, to) {
            let interval = Interval { start: occurrence.start, end: occurrence.end };
            taken.push((row.calendar_id.number(), occurrence.start_civil, interval));
        }
    }
    taken.sort_by_key(|(calendar, start, interval)| (*start, *calendar, interval.end));
    taken
}

/// A shop with one series on calendar 1; `None` if it is no legal one.
fn shop_with(written: &Written) -> Option<Shop> {
    let mut shop = Shop::in_zone("Paris", "2026-02-01 08:00");
    let zone = shop.group_state.catalogue.zone();
    let start = civil(&written.start);
    let end = start.plus_seconds(written.minutes * MINUTE);
    let rule = Some(written.rule.parse().expect("a rule"));
    let plain = Series::from_stored(zone, start, end, rule, Exceptions::default()).ok()?;
    let (from, to) = horizon();
    let days: Vec<CivilDay> =
        plain.occurrences(zone, from, to).take(10).map(|it| it.start_civil.day()).collect();
    let excepted = written.exceptions.iter().filter_map(|nth| days.get(*nth).copied()).collect();
    let exceptions = Exceptions::from_days(excepted).expect("few days");
    let series = Series::from_stored(zone, start, end, rule, exceptions).ok()?;
    shop.put(1, VeventKind::Plage(Box::new(series)));
    shop.now = shop.now.plus_minutes(1);
    Some(shop)
}

/// The draft of a change, which sees the part as an event of its own.
fn draft(change: &Change) -> Option<VeventDraft> {
    let change = change.clone();
    if matches!(change, Change::Delete) {
        return None;
    }
    Some(redrawn(move |state, row| {
        let VeventKind::Plage(series) = &mut row.kind else { panic!("a plage") };
        let zone = state.catalogue.zone();
        match change {
            Change::Delete => {}
            Change::Text => {
                let text = Text::new("closed").expect("a text");
                row.rare = OptionalFields { text, ..OptionalFields::default() }.boxed();
            }
            Change::Calendar => row.calendar_id = calendar(2),
            Change::Times(later, minutes) => {
                let start = shifted(series.start(), later);
                let end = start.plus_seconds(minutes * MINUTE);
                let exceptions = series.exceptions().clone();
                let moved =
                    Series::from_stored(zone, start, end, series.rule().copied(), exceptions);
                **series = moved.expect("the end is after the start");
            }
            Change::Rule => {
                let rule = Some("FREQ=DAILY;COUNT=3".parse().expect("a rule"));
                let none = Exceptions::default();
                let other = Series::from_stored(zone, series.start(), series.end(), rule, none);
                **series = other.expect("a series");
            }
        }
    }))
}

/// A start some minutes later on the same day.
fn shifted(start: Civil, minutes: i64) -> Civil {
    let second = (start.second_of_day() + minutes * MINUTE).clamp(0, DAY - 1);
    start.day().midnight().plus_seconds(second)
}

/// The occurrences after a change, from those before it.
fn expected(shop: &Shop, before: &[Taken], part: SeriesPart, change: &Change) -> Vec<Taken> {
    let zone = shop.group_state.catalogue.zone();
    let is_part = |start: Civil| match part {
        SeriesPart::One(day) => start.day() == day,
        SeriesPart::Following(day) => start.day() >= day,
    };
    let at = |calendar: u64, start: Civil, seconds: i64| {
        let end = start.plus_seconds(seconds);
        (calendar, start, Interval { start: zone.instant_of(start), end: zone.instant_of(end) })
    };
    let mut after = Vec::new();
    for (calendar, start, interval) in before {
        let taken = (*calendar, *start, *interval);
        if !is_part(*start) {
            after.push(taken);
            continue;
        }
        match change {
            Change::Delete => {}
            Change::Text => after.push(taken),
            Change::Calendar => after.push((2, *start, *interval)),
            Change::Times(later, minutes) => {
                after.push(at(*calendar, shifted(*start, *later), minutes * MINUTE));
            }
            Change::Rule => {}
        }
    }
    let (SeriesPart::One(day) | SeriesPart::Following(day)) = part;
    if matches!(change, Change::Rule) {
        let first = before.iter().find(|(_, start, _)| start.day() == day).expect("it is there");
        let row = shop.group_state.rows.values().next().expect("a series");
        let series = row.series().expect("a series");
        let seconds = series.end().seconds_since(series.start());
        after.extend((0..3).map(|later| at(first.0, first.1.plus_seconds(later * DAY), seconds)));
    }
    after.sort_by_key(|(calendar, start, interval)| (*start, *calendar, interval.end));
    after
}

fn decided(shop: &Shop, part: SeriesPart, change: &Change) -> Result<Option<Event>, Refusals> {
    let id = *shop.group_state.rows.keys().next().expect("a series");
    let command = ChangePart { id, part, draft: draft(change) };
    let command = Command::PutVevents(Box::new(PutVevents::Part(command)));
    let mut draws = Draws { first: 100, ..Draws::none(shop.now) };
    Ok(decide_at_once(&shop.group_state, &command, &mut draws, shop.now)?.0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn the_occurrences_after_a_change_of_a_part_are_those_that_the_change_says(
        written in a_series(),
        nth in 0..7_usize,
        is_one in any::<bool>(),
        change in a_change(),
    ) {
        let Some(shop) = shop_with(&written) else { return Ok(()) };
        let before = occurrences(&shop.group_state);
        let Some((_, start, _)) = before.get(nth) else { return Ok(()) };
        let day = start.day();
        // One occurrence has no rule.
        let is_one = is_one && !matches!(change, Change::Rule);
        let part = if is_one { SeriesPart::One(day) } else { SeriesPart::Following(day) };
        let event = decided(&shop, part, &change).expect("it is legal");
        let after = match &event {
            Some(event) => shop.group_state.apply(event),
            None => shop.group_state.clone(),
        };
        let wanted = expected(&shop, &before, part, &change);
        prop_assert_eq!(occurrences(&after), wanted, "{:?}", event);
        let live = after.rows.values().filter(|row| !row.deleted);
        for row in live {
            let series = row.series().expect("a series");
            let (from, to) = (Civil(0), Civil(253_402_300_799));
            let zone = after.catalogue.zone();
            prop_assert!(series.occurrences(zone, from, to).next().is_some(), "nothing is left of {row:?}");
        }
        if let Some(event) = event {
            prop_assert_eq!(after.sequence, shop.group_state.sequence + 1);
            assert_stamped(&shop.group_state, &after, &event);
            let read: Event = codec::decode(&codec::encode(&event)).expect("it is read");
            prop_assert_eq!(read, event);
        }
    }

    #[test]
    fn only_days_on_which_the_series_begins_are_its_occurrences(
        written in a_series(),
        days in 0..60_i32,
        is_one in any::<bool>(),
    ) {
        let Some(shop) = shop_with(&written) else { return Ok(()) };
        let day = civil("2026-02-15 00:00").day().plus_days(days);
        let part = if is_one { SeriesPart::One(day) } else { SeriesPart::Following(day) };
        let is_there =
            occurrences(&shop.group_state).iter().any(|(_, start, _)| start.day() == day);
        match decided(&shop, part, &Change::Delete) {
            Ok(_) => prop_assert!(is_there),
            Err(refusals) => {
                prop_assert!(!is_there);
                let [Refusal::InvalidParameter(fault)] = &refusals[..] else {
                    panic!("{refusals:?}")
                };
                prop_assert_eq!(&fault.field, "occurrence");
            }
        }
    }
}

/// The series and the part of a change of a weekly plage of Mondays, four times.
fn rows_after(part: SeriesPart, change: &Change) -> Vec<(u64, String, bool)> {
    let written = Written {
        start: "2026-03-23 09:00".to_owned(),
        minutes: 60,
        rule: "FREQ=WEEKLY;COUNT=4".to_owned(),
        exceptions: Vec::new(),
    };
    let shop = shop_with(&written).expect("a series");
    let event = decided(&shop, part, change).expect("it is legal").expect("it changes");
    let after = shop.group_state.apply(&event);
    let shown = |row: &Vevent| {
        let rule = row.series().and_then(Series::rule).map(ToString::to_string);
        (row.id.number(), rule.unwrap_or_default(), row.deleted)
    };
    after.rows.values().map(|row| shown(row)).collect()
}

#[test]
fn a_series_is_cut_before_the_occurrence_and_another_goes_on_with_what_is_left_of_its_count() {
    let day = |text: &str| civil(text).day();
    let second = day("2026-03-30 00:00");
    let live = |id: u64, rule: &str| (id, rule.to_owned(), false);
    let cut = live(1, "FREQ=WEEKLY;UNTIL=20260330T065959Z");
    assert_eq!(
        rows_after(SeriesPart::Following(second), &Change::Times(30, 60)),
        [cut.clone(), live(100, "FREQ=WEEKLY;COUNT=3")]
    );
    assert_eq!(rows_after(SeriesPart::Following(second), &Change::Delete), [cut]);
    let last = day("2026-04-13 00:00");
    assert_eq!(
        rows_after(SeriesPart::Following(last), &Change::Text),
        [live(1, "FREQ=WEEKLY;UNTIL=20260413T065959Z"), live(100, "")]
    );
    assert_eq!(
        rows_after(SeriesPart::One(second), &Change::Text),
        [live(1, "FREQ=WEEKLY;COUNT=4"), live(100, "")]
    );
    // From the first occurrence on it is the whole series, which keeps its id.
    let first = day("2026-03-23 00:00");
    assert_eq!(
        rows_after(SeriesPart::Following(first), &Change::Text),
        [live(1, "FREQ=WEEKLY;COUNT=4")]
    );
    let gone = (1, "FREQ=WEEKLY;COUNT=4".to_owned(), true);
    assert_eq!(rows_after(SeriesPart::Following(first), &Change::Delete), [gone]);
}

#[test]
fn a_part_whose_form_stays_the_same_stays_in_its_series() {
    let written = Written {
        start: "2026-03-23 09:00".to_owned(),
        minutes: 60,
        rule: "FREQ=WEEKLY".to_owned(),
        exceptions: Vec::new(),
    };
    let shop = shop_with(&written).expect("a series");
    let day = civil("2026-03-30 00:00").day();
    for part in [SeriesPart::One(day), SeriesPart::Following(day)] {
        assert_eq!(decided(&shop, part, &Change::Times(0, 60)), Ok(None));
    }
    let id = VeventId::new(1).expect("an id");
    assert!(!shop.group_state.rows[&id].deleted);
}
