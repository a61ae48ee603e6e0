use chrono_tz::Tz;

use super::*;
use crate::domain::recurrence::tests::{at, series_in, starts, zone};
use crate::domain::time::MINUTE;

const DAY_MINUTES: i64 = 1_440;

#[test]
fn an_event_that_repeats_lasts_at_most_31_periods_and_366_days() {
    let check = |rule, minutes| {
        series_in(Tz::UTC, "2025-06-01 09:00", minutes, rule, "").check_length().map_err(|error| {
            let SeriesError::TooLong { days_max } = error else { panic!("not of its length") };
            days_max
        })
    };
    for (rule, days_max) in [
        ("FREQ=DAILY", 31),
        ("FREQ=DAILY;INTERVAL=3", 93),
        ("FREQ=WEEKLY;BYDAY=MO,TU", 217),
        ("FREQ=MONTHLY;COUNT=2", 366),
        ("FREQ=YEARLY", 366),
    ] {
        assert_eq!(check(rule, 2 * DAY_MINUTES), Ok(()), "{rule}");
        assert_eq!(check(rule, days_max * DAY_MINUTES), Ok(()), "{rule}");
        assert_eq!(check(rule, days_max * DAY_MINUTES + 1), Err(days_max), "{rule}");
        assert_eq!(check(rule, 1_000 * DAY_MINUTES), Err(days_max), "{rule}");
    }
    assert_eq!(check("", 1_000 * DAY_MINUTES), Ok(()), "it does not repeat");
}

#[test]
fn events_of_the_same_length_and_period_have_the_same_limit() {
    let series = |start, minutes, rule| series_in(Tz::UTC, start, minutes, rule, "");
    let daily = series("2025-06-01 09:00", 60, "FREQ=DAILY");
    for (other, same) in [
        (series("2025-07-01 11:00", 60, "FREQ=DAILY;COUNT=3"), true),
        (series("2025-06-01 09:00", 61, "FREQ=DAILY"), false),
        (series("2025-06-01 09:00", 60, "FREQ=WEEKLY"), false),
        (series("2025-06-01 09:00", 60, ""), false),
        (series("2025-06-01 09:00", 61, "FREQ=WEEKLY"), false),
    ] {
        assert_eq!(daily.has_length_of(&other), same, "{other:?}");
        assert_eq!(other.has_length_of(&daily), same, "{other:?}");
    }
}

#[test]
fn at_least_as_many_occurrences_are_counted_as_overlap_a_window() {
    let utc = zone(Tz::UTC);
    for (rule, minutes, overlapping) in [
        ("FREQ=DAILY", 60, 9),
        ("FREQ=DAILY", 20 * DAY_MINUTES, 28),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA", 60, 7),
        ("FREQ=WEEKLY;BYDAY=MO,SU", 50 * DAY_MINUTES, 18),
    ] {
        let series = series_in(Tz::UTC, "2025-01-01 09:00", minutes, rule, "");
        let from = utc.instant_of(at("2025-06-01 09:30"));
        let to = from.plus_seconds(8 * DAY + 1);
        let found = series.occurrences_overlapping(utc, from, to).count();
        assert_eq!(found, overlapping, "{rule}");
        let counted = usize::try_from(series.count_looked_at(utc, from, to)).expect("a count");
        assert!(counted >= found, "{rule}: {counted}");
        assert!(counted <= found + 10, "{rule}: {counted}");
    }
}

#[test]
fn an_event_moves_to_a_zone_where_it_stays_in_the_years_1970_to_9999() {
    let moved = |start, minutes, to| {
        series_in(Tz::UTC, start, minutes, "", "").in_zone(zone(to), zone(Tz::UTC)).map(|_| ())
    };
    let beyond = Err("would leave the years 1970 to 9999");
    assert_eq!(moved("1970-01-01 00:00", 60, Tz::Etc__UTC), Ok(()));
    assert_eq!(moved("1970-01-01 00:59", 60, Tz::Europe__Paris), beyond);
    assert_eq!(moved("1970-01-01 00:00", 60, Tz::Europe__Paris), beyond);
    assert_eq!(moved("1970-01-01 01:00", 60, Tz::Europe__Paris), Ok(()));
    assert_eq!(moved("9999-12-31 17:59", 60, Tz::America__New_York), Ok(()));
    assert_eq!(moved("9999-12-31 18:59", 60, Tz::America__New_York), beyond);
    // The last second of all.
    let utc = zone(Tz::Etc__UTC);
    let last = Series::new(utc, at("9999-12-31 23:00"), CIVIL_MAX, None, Exceptions::default());
    assert!(last.expect("a series").in_zone(utc, zone(Tz::Europe__Paris)).is_ok());
}

#[test]
fn a_note_moves_to_any_zone_that_has_its_day() {
    let note = |day: &str| {
        Series::new_note(zone(Tz::UTC), at(day).day(), None, Exceptions::default()).expect("a note")
    };
    let (utc, paris) = (zone(Tz::UTC), zone(Tz::Europe__Paris));
    let first = note("1970-01-01 00:00");
    assert_eq!(first.in_zone(utc, paris), Ok(first.clone()));
    assert!(first.in_zone(paris, utc).is_err(), "it would begin in 1969");
    let later = note("2025-06-01 00:00");
    assert_eq!(later.in_zone(paris, utc), Ok(later.clone()));
}

#[test]
fn an_event_spans_the_days_that_it_touches_in_the_zone_that_is_most_ahead() {
    let tz = Tz::Pacific__Kiritimati;
    // UNTIL is 13:00 on 11 June there.
    for (start, minutes, rule, first, last) in [
        ("2025-06-01 09:00", 23 * 60, "", "2025-06-01", "2025-06-02"),
        ("2025-06-01 18:00", 60 * 60, "", "2025-06-01", "2025-06-04"),
        (
            "2025-06-01 09:00",
            23 * 60,
            "FREQ=DAILY;UNTIL=20250610T230000Z",
            "2025-06-01",
            "2025-06-12",
        ),
        (
            "2025-06-01 09:00",
            9 * DAY_MINUTES + 23 * 60,
            "FREQ=DAILY;UNTIL=20250610T230000Z",
            "2025-06-01",
            "2025-06-21",
        ),
        ("2025-06-01 09:00", 23 * 60, "FREQ=WEEKLY;COUNT=4", "2025-06-01", "2025-06-23"),
    ] {
        let series = series_in(tz, start, minutes, rule, "");
        let day = |text: &str| i64::from(at(&format!("{text} 00:00")).day().0);
        assert_eq!(series.days_spanned(), day(first)..=day(last), "{start} {minutes} {rule}");
        let occurrences = series.occurrences(zone(tz), CIVIL_MIN, CIVIL_MAX);
        let end = occurrences.map(|one| one.end_civil.day()).max().expect("one at least");
        assert_eq!(i64::from(end.0), day(last), "{start} {minutes} {rule}");
    }
}

#[test]
fn a_series_that_is_cut_keeps_the_exceptions_of_its_part() {
    let utc = zone(Tz::UTC);
    let daily = series_in(
        Tz::UTC,
        "2025-06-01 09:00",
        60,
        "FREQ=DAILY;COUNT=9",
        "2025-06-02,2025-06-05,2025-06-07",
    );
    let day = at("2025-06-05 00:00").day();
    let before = daily.cut_before(utc, day).expect("some are before");
    assert_eq!(before.exceptions().to_string(), "2025-06-02 00:00:00");
    let rest = daily.rest_from(utc, day);
    assert_eq!(rest.exceptions().to_string(), "2025-06-05 00:00:00,2025-06-07 00:00:00");
}

#[test]
fn an_occurrence_before_until_belongs_to_the_series_though_the_one_before_ends_at_until() {
    // Each lasts for 30 hours, so that two overlap.
    let series =
        series_in(Tz::UTC, "2025-06-01 09:00", 1_800, "FREQ=DAILY;UNTIL=20250604T150000Z", "");
    let all = starts(&series, Tz::UTC, "2025-01-01 00:00", "2026-01-01 00:00");
    assert_eq!(all.last(), Some(&at("2025-06-04 09:00")));
}

#[test]
fn an_occurrence_before_until_may_begin_on_the_day_that_clocks_then_set_back_leave_again() {
    // On 7 November 2010 at 00:01, 02:31 UTC, the clocks show 23:01 of the day before.
    let tz = Tz::America__St_Johns;
    let series = series_in(tz, "2010-11-04 00:00", 30, "FREQ=DAILY;UNTIL=20101107T024500Z", "");
    let all = starts(&series, tz, "2010-01-01 00:00", "2011-01-01 00:00");
    assert_eq!(all.last(), Some(&at("2010-11-07 00:00")));
}

#[test]
fn the_last_occurrence_ends_with_the_calendar() {
    let last = |seconds: i64| {
        let start = at("9999-12-01 12:00");
        let rule = Some("FREQ=DAILY".parse().expect("a rule"));
        let end = start.plus_seconds(seconds);
        let series = Series::new(zone(Tz::UTC), start, end, rule, Exceptions::default());
        let series = series.expect("a series");
        let all = series.occurrences(zone(Tz::UTC), CIVIL_MIN, CIVIL_MAX);
        all.map(|occurrence| occurrence.start_civil).max()
    };
    assert_eq!(last(12 * 60 * MINUTE - 1), Some(at("9999-12-31 12:00")));
    assert_eq!(last(12 * 60 * MINUTE), Some(at("9999-12-30 12:00")));
    assert_eq!(last(13 * 60 * MINUTE), Some(at("9999-12-30 12:00")));
    assert_eq!(last(40 * 60 * MINUTE), Some(at("9999-12-29 12:00")));
}

#[test]
fn a_window_reaches_to_both_ends_of_the_calendar() {
    for tz in [Tz::Etc__UTC, Tz::Pacific__Kiritimati, Tz::Pacific__Pago_Pago] {
        let zone = zone(tz);
        for day in ["1970-01-02 12:00", "9999-12-30 20:00"] {
            let series = series_in(tz, day, 60, "", "");
            let start = zone.instant_of(at(day));
            for (from, to) in
                [(i64::MIN, i64::MAX), (start.0 - DAY, start.0 + DAY), (start.0, start.0 + 1)]
            {
                let found = series.occurrences_overlapping(zone, Instant(from), Instant(to));
                assert_eq!(found.count(), 1, "{day} {tz} from {from} to {to}");
            }
            let beyond = CIVIL_MAX.plus_seconds(1);
            assert_eq!(series.occurrences(zone, beyond, Civil(i64::MAX)).count(), 0);
            assert_eq!(series.occurrences(zone, Civil(i64::MIN), CIVIL_MIN).count(), 0);
        }
    }
}
