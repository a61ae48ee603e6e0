//! Compares series with a model that steps day by day and asks the zone database each time, and
//! with the rrule crate.

use std::num::NonZeroU32;

use chrono::{DateTime, MappedLocalTime, Offset, TimeDelta, TimeZone};
use chrono_tz::Tz;
use proptest::prelude::*;

use super::*;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::{
    CIVIL_MAX, CIVIL_MIN, Civil, CivilDay, DAY, HOUR, INSTANT_MAX, Instant, MINUTE, Weekday,
    days_in_month,
};

const ZONES: [&str; 10] = [
    "Etc/UTC",
    "Europe/Paris",
    "America/New_York",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
    "Asia/Katmandu",
    "America/St_Johns",
    "Asia/Tehran",
    "Pacific/Apia",
    "America/Sao_Paulo",
];

/// Naive model: walks from the first day and looks at each day.
struct Model<'m> {
    series: &'m Series,
    tz: Tz,
}

impl Model<'_> {
    fn instant_of(&self, civil: Civil) -> Instant {
        let mut asked = DateTime::from_timestamp(civil.0, 0).expect("a time").naive_utc();
        loop {
            match self.tz.offset_from_local_datetime(&asked) {
                MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(offset, _) => {
                    return Instant(civil.0 - i64::from(offset.fix().local_minus_utc()));
                }
                MappedLocalTime::None => asked -= TimeDelta::minutes(30),
            }
        }
    }

    fn falls_on(&self, rule: &Rule, day: CivilDay) -> bool {
        let first = self.series.start().day();
        let ((year, month, of_month), (first_year, first_month, first_of_month)) =
            (day.ymd(), first.ymd());
        let months = (year - first_year) * 12 + i32::try_from(month).expect("small")
            - i32::try_from(first_month).expect("small");
        let weeks = (day.0 - day.weekday() as i32 - (first.0 - first.weekday() as i32)) / 7;
        let every = |periods: i32| i64::from(periods) % i64::from(rule.interval().get()) == 0;
        match rule.repetition() {
            Repetition::Daily => every(day.0 - first.0),
            Repetition::Weekly(None) => every(weeks) && day.weekday() == first.weekday(),
            Repetition::Weekly(Some(days)) => {
                every(weeks) && days.days().any(|named| named == day.weekday())
            }
            Repetition::Monthly(None) => every(months) && of_month == first_of_month,
            Repetition::Monthly(Some(on)) => {
                let from_end = days_in_month(year, month) - of_month;
                let nth = if on.nth() > 0 { (of_month - 1) / 7 } else { from_end / 7 } + 1;
                every(months)
                    && on.weekday() == day.weekday()
                    && nth == u32::from(on.nth().unsigned_abs())
            }
            Repetition::Yearly => {
                every(year - first_year) && (month, of_month) == (first_month, first_of_month)
            }
        }
    }

    /// All occurrences that start before `to`.
    fn occurrences(&self, to: Civil) -> Vec<Occurrence> {
        let start = self.series.start();
        let length = self.series.end().seconds_since(self.series.start());
        let mut found = Vec::new();
        let mut counted = 0_u32;
        let mut end_before = None;
        for days in 0.. {
            let start_civil = start.plus_seconds(days * DAY);
            if start_civil >= to || start_civil.plus_seconds(length) > CIVIL_MAX {
                break;
            }
            let day = start_civil.day();
            if days > 0 && !self.series.rule().is_some_and(|rule| self.falls_on(rule, day)) {
                continue;
            }
            let end_civil = start_civil.plus_seconds(length);
            let start = self.instant_of(start_civil);
            let end = self.instant_of(end_civil);
            counted += 1;
            match self.series.rule().map(Rule::end) {
                Some(RuleEnd::Count(count)) if counted > count.get() => break,
                Some(RuleEnd::Until(until))
                    if start > until || (start == until && end_before == Some(until)) =>
                {
                    break;
                }
                _ => {}
            }
            end_before = Some(end);
            if !self.series.exceptions().days().contains(&day) {
                found.push(Occurrence { start_civil, end_civil, start, end });
            }
        }
        found
    }

    fn assert_window(&self, from: Civil, to: Civil) {
        let zone = zone(self.tz);
        let all = self.occurrences(to);
        let expected: Vec<_> =
            all.into_iter().filter(|occurrence| from <= occurrence.start_civil).collect();
        let found: Vec<_> = self.series.occurrences(zone, from, to).collect();
        assert_eq!(found, expected, "{:?} {} from {from:?} to {to:?}", self.series, self.tz);
    }

    fn assert_overlapping(&self, from: Instant, to: Instant) {
        let zone = zone(self.tz);
        let all = self.occurrences(Civil(to.0 + 3 * DAY));
        let expected: Vec<_> =
            all.into_iter().filter(|o| o.start < to && from < o.end && o.start < o.end).collect();
        let found: Vec<_> = self.series.occurrences_overlapping(zone, from, to).collect();
        assert_eq!(found, expected, "{:?} {} overlapping {from:?} to {to:?}", self.series, self.tz);
        let window = Interval { start: from, end: to };
        let intervals = self.series.intervals_overlapping(zone, window);
        let intervals: Vec<_> = intervals.map(|interval| (interval.start, interval.end)).collect();
        assert_eq!(intervals, expected.iter().map(|o| (o.start, o.end)).collect::<Vec<_>>());
        // An occurrence in the window proves that one ends after the window began.
        if !expected.is_empty() {
            assert!(self.series.has_occurrence_ending_after(zone, from));
        }
    }
}

pub(super) fn zone(tz: Tz) -> Zone {
    Zone::from_iana(tz.name()).expect("a zone")
}

pub(super) fn at(text: &str) -> Civil {
    let numbers: Vec<u32> =
        text.split(['-', ' ', ':']).map(|part| part.parse().expect("a number")).collect();
    let [year, month, day, hour, minute] = numbers[..] else { panic!("not a time: {text}") };
    Civil::from_ymd_hms(i32::try_from(year).expect("a year"), month, day, hour, minute, 0)
        .expect("a time")
}

pub(super) fn series_in(tz: Tz, start: &str, minutes: i64, rule: &str, exceptions: &str) -> Series {
    let start = at(start);
    let rule = (!rule.is_empty()).then(|| rule.parse().expect("a rule"));
    let exceptions = exceptions.parse().expect("exceptions");
    Series::new(zone(tz), start, start.plus_seconds(minutes * MINUTE), rule, exceptions)
        .expect("a series")
}

pub(super) fn starts(series: &Series, tz: Tz, from: &str, to: &str) -> Vec<Civil> {
    series
        .occurrences(zone(tz), at(from), at(to))
        .map(|occurrence| occurrence.start_civil)
        .collect()
}

fn weekday() -> impl Strategy<Value = Weekday> {
    (0_usize..7).prop_map(|place| WEEK[place])
}

fn repetition() -> impl Strategy<Value = Repetition> {
    let weekdays = prop::collection::vec(weekday(), 1..6).prop_map(Weekdays::from_days);
    let nth = (prop_oneof![-5_i8..=-1, 1_i8..=5], weekday())
        .prop_map(|(nth, day)| NthWeekday::new(nth, day));
    prop_oneof![
        Just(Repetition::Daily),
        Just(Repetition::Weekly(None)),
        weekdays.prop_map(Repetition::Weekly),
        Just(Repetition::Monthly(None)),
        nth.prop_map(Repetition::Monthly),
        Just(Repetition::Yearly),
    ]
}

/// Starts at all minutes of all years, more often near midnight, clock changes and ends of months.
fn start() -> impl Strategy<Value = Civil> {
    let day = prop_oneof![
        3 => 0_i32..40_000,
        // March, April, October and November of one year: clocks change.
        1 => 20_148_i32..20_200,
        1 => 20_362_i32..20_410,
        // The last days of months and years, leap days among them.
        1 => (1970_i32..2090, 1_u32..=12, 0_i32..4).prop_map(|(year, month, back)| {
            CivilDay::from_ymd(year, month, days_in_month(year, month)).expect("a day").plus_days(-back).0
        }),
    ];
    let minute = prop_oneof![Just(0), Just(1_439), 0_i64..240, 0_i64..1_440];
    (day, minute).prop_map(|(day, minute)| CivilDay(day).midnight().plus_seconds(minute * MINUTE))
}

fn length() -> impl Strategy<Value = i64> {
    prop_oneof![3 => 1_i64..180, 1 => Just(1_440), 1 => Just(1_380), 1 => Just(1_500), 1 => Just(7 * 1_440), 1 => 1_i64..20_000]
        .prop_map(|minutes| minutes * MINUTE)
}

#[derive(Clone, Debug)]
enum DrawnEnd {
    Never,
    Count(u32),
    /// UNTIL at the start or the end of the nth occurrence, and some seconds off.
    AtStart(usize, i64),
    AtEnd(usize, i64),
}

fn end() -> impl Strategy<Value = DrawnEnd> {
    let off = || prop_oneof![4 => Just(0_i64), 1 => Just(1), 1 => Just(-1), 1 => -9_000_i64..9_000];
    prop_oneof![
        Just(DrawnEnd::Never),
        prop_oneof![2_u32..60, Just(1_000_000_000)].prop_map(DrawnEnd::Count),
        (0_usize..40, off()).prop_map(|(nth, off)| DrawnEnd::AtStart(nth, off)),
        (0_usize..40, off()).prop_map(|(nth, off)| DrawnEnd::AtEnd(nth, off)),
    ]
}

prop_compose! {
    /// A zone and a series that is allowed in it.
    fn any_series()(
        tz in prop::sample::select(&ZONES[..]),
        start in start(),
        length in length(),
        rule in prop::option::weighted(0.95, (repetition(), prop_oneof![3 => Just(1), 3 => 2_u32..5, 1 => 5_u32..200, 1 => Just(u32::MAX)])),
        end in end(),
        excepted in prop::collection::vec(0_usize..30, 0..5),
    ) -> (Tz, Series) {
        let tz: Tz = tz.parse().expect("a zone");
        let zone = zone(tz);
        let rule = rule.map(|(repetition, interval)| (repetition, NonZeroU32::new(interval).expect("positive")));
        let made = |end: RuleEnd, exceptions: Exceptions| {
            let rule = rule.map(|(repetition, interval)| Rule::new(repetition, interval, end).expect("a rule"));
            Series::new(zone, start, start.plus_seconds(length), rule, exceptions)
        };
        let Ok(endless) = made(RuleEnd::Never, Exceptions::default()) else {
            // The event lies inside a gap: any other series will do.
            return (tz, Series::new_note(zone, start.day(), None, Exceptions::default()).expect("a note"));
        };
        let known: Vec<_> = endless.occurrences(zone, start, start.plus_seconds(3_000 * DAY)).take(60).collect();
        let of = |nth: usize| known[nth % known.len()];
        let end = match end {
            DrawnEnd::Never => RuleEnd::Never,
            DrawnEnd::Count(count) => RuleEnd::Count(NonZeroU32::new(count).expect("positive")),
            DrawnEnd::AtStart(nth, off) => RuleEnd::Until(of(nth).start.plus_seconds(off)),
            DrawnEnd::AtEnd(nth, off) => RuleEnd::Until(of(nth).end.plus_seconds(off)),
        };
        let days: Vec<_> = excepted.into_iter().map(|nth| of(nth).start_civil.day()).collect();
        let exceptions = Exceptions::from_days(days).expect("few");
        (tz, made(end, exceptions).unwrap_or(endless))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_window_has_the_occurrences_that_a_walk_from_the_start_finds(
        (tz, series) in any_series(),
        ahead in prop_oneof![-400_i64..400, 0_i64..12_000],
        second in 0..DAY,
        days in prop_oneof![0_i64..10, 0_i64..500, 0_i64..3_000],
    ) {
        let model = Model { series: &series, tz };
        let from = series.start().plus_seconds(ahead * DAY + second);
        model.assert_window(from, from.plus_seconds(days * DAY));
        model.assert_window(series.start(), series.start().plus_seconds(days * DAY));
    }

    #[test]
    fn an_occurrence_overlaps_a_window_if_they_share_a_moment(
        (tz, series) in any_series(),
        nth in 0_usize..60,
        off in prop_oneof![Just(0_i64), Just(1), Just(-1), -100_000_i64..100_000],
        seconds in prop_oneof![0_i64..10, 0_i64..DAY, 0_i64..200 * DAY],
        from_end in any::<bool>(),
    ) {
        let zone = zone(tz);
        let known: Vec<_> = series.occurrences(zone, CIVIL_MIN, CIVIL_MAX).take(60).collect();
        let Some(near) = known.get(nth % known.len().max(1)) else { return Ok(()) };
        let edge = if from_end { near.end } else { near.start };
        let from = edge.plus_seconds(off);
        if from < Instant(0) { return Ok(()) }
        Model { series: &series, tz }.assert_overlapping(from, from.plus_seconds(seconds));
        // And the window that ends at that edge.
        Model { series: &series, tz }.assert_overlapping(from.plus_seconds(-seconds).max(Instant(0)), from);
    }

    #[test]
    fn has_occurrence_ending_after_is_false_from_the_last_end_on((tz, series) in any_series()) {
        let zone = zone(tz);
        let ended = matches!(series.rule().map(Rule::end), None | Some(RuleEnd::Until(_)));
        if ended {
            let last = series.occurrences(zone, CIVIL_MIN, CIVIL_MAX).filter(|o| o.start < o.end).map(|o| o.end).max();
            if let Some(last) = last {
                prop_assert!(series.has_occurrence_ending_after(zone, last.plus_seconds(-1)));
                prop_assert!(!series.has_occurrence_ending_after(zone, last));
            } else {
                prop_assert!(!series.has_occurrence_ending_after(zone, Instant(0)));
            }
        }
    }

    #[test]
    fn a_stored_series_is_read_back_unchanged((_, series) in any_series()) {
        let config = bincode::config::standard();
        let bytes = bincode::serde::encode_to_vec(&series, config).expect("writes");
        let (read, length): (Series, usize) = bincode::serde::decode_from_slice(&bytes, config).expect("reads");
        prop_assert_eq!(length, bytes.len());
        prop_assert_eq!(&read, &series);
        if let Some(rule) = series.rule() {
            prop_assert_eq!(rule.to_string().parse::<Rule>(), Ok(*rule));
        }
        prop_assert_eq!(series.exceptions().to_string().parse::<Exceptions>(), Ok(series.exceptions().clone()));
    }

    #[test]
    fn the_rrule_crate_agrees_if_the_rule_falls_on_the_event(
        repetition in repetition(),
        interval in 1_u16..20,
        start in start(),
        count in prop::option::of(2_u32..40),
    ) {
        let interval = NonZeroU32::from(std::num::NonZeroU16::new(interval).expect("positive"));
        let end = count.map_or(RuleEnd::Never, |count| RuleEnd::Count(NonZeroU32::new(count).expect("positive")));
        let rule = Rule::new(repetition, interval, end).expect("a rule");
        let utc = zone(Tz::UTC);
        let series = Series::new(utc, start, start.plus_seconds(HOUR), Some(rule), Exceptions::default()).expect("a series");
        // The crate refuses the fifth weekday from the end. It gives no occurrence on a DTSTART on
        // which the rule does not fall.
        let refused = matches!(repetition, Repetition::Monthly(Some(on)) if on.nth() == -5);
        if refused || !(Model { series: &series, tz: Tz::UTC }).falls_on(&rule, start.day()) {
            return Ok(());
        }
        let stamp = DateTime::from_timestamp(start.0, 0).expect("a time").format("%Y%m%dT%H%M%SZ");
        let oracle: rrule::RRuleSet = format!("DTSTART:{stamp}\nRRULE:{rule}").parse().expect("the crate reads it");
        let expected: Vec<i64> = oracle.all(30).dates.iter().map(|date| date.timestamp()).collect();
        let found = series.occurrences(utc, start, CIVIL_MAX).take(expected.len()).map(|o| o.start.0);
        prop_assert_eq!(found.collect::<Vec<_>>(), expected, "{}", rule);
    }
}

#[test]
fn a_count_of_a_billion_has_no_last_day_before_the_calendar_ends() {
    for rule in [
        "FREQ=DAILY",
        "FREQ=WEEKLY;BYDAY=MO,TU",
        "FREQ=MONTHLY;BYDAY=5FR",
        "FREQ=MONTHLY",
        "FREQ=YEARLY",
    ] {
        let endless = series_in(Tz::UTC, "2024-01-31 10:00", 60, rule, "");
        let counted =
            series_in(Tz::UTC, "2024-01-31 10:00", 60, &format!("{rule};COUNT=1000000000"), "");
        assert_eq!(
            starts(&counted, Tz::UTC, "9990-01-01 00:00", "9999-12-31 23:59"),
            starts(&endless, Tz::UTC, "9990-01-01 00:00", "9999-12-31 23:59")
        );
        assert!(!starts(&counted, Tz::UTC, "9990-01-01 00:00", "9999-12-31 23:59").is_empty());
    }
}

#[test]
fn a_count_is_exact_far_from_the_start() {
    // The 31st exists in seven months of twelve, a last Wednesday in all: 4,999 = 714 × 7 + 1.
    for (rule, months) in
        [("FREQ=MONTHLY;COUNT=5000", 714 * 12 + 2), ("FREQ=MONTHLY;BYDAY=-1WE;COUNT=5000", 4_999)]
    {
        let series = series_in(Tz::UTC, "2024-01-31 10:00", 60, rule, "");
        let all: Vec<_> = series.occurrences(zone(Tz::UTC), CIVIL_MIN, CIVIL_MAX).collect();
        assert_eq!(all.len(), 5_000);
        let (year, month, _) = all[4_999].start_civil.day().ymd();
        assert_eq!((year - 2024) * 12 + i32::try_from(month).expect("small") - 1, months, "{rule}");
    }
}

#[test]
fn an_occurrence_at_until_belongs_to_the_series_unless_the_one_before_ends_there() {
    let daily = |minutes, exceptions| {
        series_in(
            Tz::UTC,
            "2025-06-01 09:00",
            minutes,
            "FREQ=DAILY;UNTIL=20250604T090000Z",
            exceptions,
        )
    };
    let last =
        |series: &Series| starts(series, Tz::UTC, "2025-01-01 00:00", "2026-01-01 00:00").pop();
    assert_eq!(last(&daily(60, "")), Some(at("2025-06-04 09:00")));
    assert_eq!(last(&daily(1_440, "")), Some(at("2025-06-03 09:00")));
    // A removed occurrence counts as well: UNTIL is its end.
    assert_eq!(last(&daily(1_440, "2025-06-03")), Some(at("2025-06-02 09:00")));
}

#[test]
fn an_event_off_its_rule_is_still_the_first_occurrence() {
    let series =
        series_in(Tz::UTC, "2025-06-04 09:00", 60, "FREQ=WEEKLY;BYDAY=MO;COUNT=3", "2025-06-09");
    let all = starts(&series, Tz::UTC, "2025-01-01 00:00", "2026-01-01 00:00");
    assert_eq!(all, [at("2025-06-04 09:00"), at("2025-06-16 09:00")]);
}

#[test]
fn an_occurrence_inside_a_gap_overlaps_nothing() {
    let paris = Tz::Europe__Paris;
    // On 30 March 2025 clocks jump from 02:00 to 03:00: 02:30 is 01:30 UTC, and 03:15 was at 01:15
    // UTC.
    let series = series_in(paris, "2025-03-29 02:30", 45, "FREQ=DAILY;COUNT=3", "");
    let all: Vec<_> = series.occurrences(zone(paris), CIVIL_MIN, CIVIL_MAX).collect();
    assert_eq!(all.len(), 3);
    assert!(all[1].end < all[1].start);
    assert_eq!(series.occurrences_overlapping(zone(paris), Instant(0), INSTANT_MAX).count(), 2);
}

#[test]
fn a_wrong_end_or_until_is_refused_with_its_reason() {
    let paris = zone(Tz::Europe__Paris);
    let made = |start: &str, end: &str, rule: Option<&str>| {
        let rule = rule.map(|rule| rule.parse().expect("a rule"));
        Series::new(paris, at(start), at(end), rule, Exceptions::default()).map(|_| ())
    };
    let start = "2025-06-01 09:00";
    let end = "2025-06-01 10:00";
    assert_eq!(made(start, start, None), Err(SeriesError::EndNotAfterStart));
    assert_eq!(made(end, start, None), Err(SeriesError::EndNotAfterStart));
    // On these clocks 03:15 is 15 minutes before 02:30.
    assert_eq!(
        made("2025-03-30 02:30", "2025-03-30 03:15", None),
        Err(SeriesError::EndNotAfterStart)
    );
    assert_eq!(
        made(start, end, Some("FREQ=DAILY;UNTIL=20250601T070000Z")),
        Err(SeriesError::UntilNotAfterStart)
    );
    assert_eq!(made(start, end, Some("FREQ=DAILY;UNTIL=20250601T070001Z")), Ok(()));
}

#[test]
fn a_note_has_occurrences_but_no_length() {
    let paris = zone(Tz::Europe__Paris);
    let day = at("2025-06-01 00:00").day();
    let rule = "FREQ=MONTHLY;UNTIL=20250901T000000Z".parse().expect("a rule");
    let note = Series::new_note(paris, day, Some(rule), Exceptions::default()).expect("a note");
    let all: Vec<_> = note.occurrences(paris, CIVIL_MIN, CIVIL_MAX).collect();
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|occurrence| occurrence.start == occurrence.end));
    assert!(!note.has_occurrence_ending_after(paris, Instant(0)));
    assert_eq!(
        note.repeat_until(),
        Some(crate::domain::time::zone::instant_of_utc(at("2025-09-01 00:00")))
    );
}

#[test]
fn the_event_itself_is_looked_at_beside_the_days_of_its_rule() {
    let paris = zone(Tz::Europe__Paris);
    let rule = "FREQ=MONTHLY;INTERVAL=4;BYDAY=2SU".parse().expect("a rule");
    let (start, end) = (at("2025-06-02 09:00"), at("2025-06-02 10:00"));
    let series = Series::new(paris, start, end, Some(rule), Exceptions::default());
    let series = series.expect("a series");
    let from = paris.instant_of(start);
    let to = from.plus_seconds(400 * DAY);
    assert_eq!(series.occurrences_overlapping(paris, from, to).count(), 5);
    assert_eq!(series.count_looked_at(paris, from, to), 5);
}

#[test]
fn an_event_ends_after_it_begins_on_the_wall_clock_or_in_elapsed_time() {
    let paris = zone(Tz::Europe__Paris);
    let at = |day, hour, minute| {
        Civil::from_ymd_hms(2026, 3, day, hour, minute, 0).expect("a civil time")
    };
    let stored = |start, end| Series::from_stored(paris, start, end, None, Exceptions::default());
    assert_eq!(stored(at(3, 10, 0), at(3, 9, 0)), Err(SeriesError::EndNotAfterStart));
    assert_eq!(stored(at(3, 10, 0), at(3, 10, 0)), Err(SeriesError::EndNotAfterStart));
    assert!(stored(at(3, 10, 0), at(3, 10, 1)).is_ok());
    // Clocks leave out the hour from 2 to 3 on 29 March: 2:50 is 3:50.
    assert!(stored(at(29, 2, 50), at(29, 3, 10)).is_ok(), "it does on the wall clock");
    let through_the_gap = stored(at(29, 3, 10), at(29, 2, 50)).expect("40 minutes");
    // Where clocks leave out nothing, it would end before it begins.
    let moved = through_the_gap.in_zone(zone(Tz::Etc__UTC), paris);
    assert_eq!(moved, Err("would end before it begins"));
    let berlin = zone(Tz::Europe__Berlin);
    assert!(through_the_gap.in_zone(berlin, paris).is_ok(), "its clocks leave out the same hour");
}

#[test]
fn the_keys_of_a_rule_are_named_in_capitals() {
    for (key, name) in [
        (RuleKey::Freq, "FREQ"),
        (RuleKey::Interval, "INTERVAL"),
        (RuleKey::Count, "COUNT"),
        (RuleKey::Until, "UNTIL"),
        (RuleKey::ByDay, "BYDAY"),
    ] {
        assert_eq!(key.name(), name);
    }
}
