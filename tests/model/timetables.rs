//! Changes of timetables from a day on, against a naive reading of their days.

use proptest::prelude::*;
use slotbook::domain::availability::timetable::{
    DayHours, OpenWeeks, TimetableChange, TimetableKey, Validity, change_hours, changes_after,
    drop_ended, find_conflict, hours_from, timetables,
};
use slotbook::domain::availability::weekly_hours::{
    DayTimes, Rhythm, WeeklyRange, WeeklyRule, sort_ranges,
};
use slotbook::domain::records::vevent::Permits;
use slotbook::domain::recurrence::WEEK;
use slotbook::domain::time::CivilDay;

use super::shop::{civil, intervention};

/// Days that are looked at.
const DAYS: i32 = 120;

fn day(number: i32) -> CivilDay {
    civil("2026-02-18 00:00").day().plus_days(number)
}

fn a_time() -> impl Strategy<Value = DayTimes> {
    let times = vec![(540, 720), (720, 1_080), (1_080, 1_440)];
    proptest::sample::select(times).prop_map(|(from, to)| DayTimes::new(from, to).expect("times"))
}

fn a_permit() -> impl Strategy<Value = Permits> {
    prop_oneof![Just(Permits::All), Just(Permits::only(vec![intervention(1)]))]
}

fn a_range() -> impl Strategy<Value = Option<WeeklyRange>> {
    let until = prop_oneof![1 => Just(None), 1 => (0..60_i32).prop_map(Some)];
    (0..7_usize, any::<bool>(), a_permit(), 0..60_i32, until, a_time()).prop_map(
        |(weekday, is_weekly, permits, from, until, times)| {
            let rule = WeeklyRule {
                weekday: WEEK[weekday],
                rhythm: if is_weekly { Rhythm::Weekly } else { Rhythm::Fortnightly },
                permits,
                from: day(from),
                until: until.map(|days| day(from + days)),
            };
            rule.with_times(times)
        },
    )
}

/// Hours of which none of the same interventions overlap.
fn some_ranges() -> impl Strategy<Value = Vec<WeeklyRange>> {
    proptest::collection::vec(a_range(), 0..25).prop_map(|given| {
        let mut ranges: Vec<WeeklyRange> = Vec::new();
        for range in given.into_iter().flatten() {
            if !ranges.iter().any(|other| other.overlaps(&range)) {
                ranges.push(range);
            }
        }
        sort_ranges(&mut ranges);
        ranges
    })
}

fn some_hours() -> impl Strategy<Value = Vec<DayHours>> {
    proptest::collection::btree_set((0..7_usize, a_time()), 0..8).prop_map(|rows| {
        rows.into_iter().map(|(day, times)| DayHours { weekday: WEEK[day], times }).collect()
    })
}

fn is_open_on(range: &WeeklyRange, day: CivilDay) -> bool {
    let period = 7 * i32::from(range.rhythm().weeks());
    range.first() <= day
        && range.last().is_none_or(|last| day <= last)
        && (day.0 - range.first().0) % period == 0
}

/// The times of a timetable on a day.
fn times_on(ranges: &[WeeklyRange], key: &TimetableKey, day: CivilDay) -> Vec<DayTimes> {
    let of_key = ranges.iter().filter(|range| TimetableKey::new(range) == *key);
    let mut times: Vec<DayTimes> =
        of_key.filter(|range| is_open_on(range, day)).map(WeeklyRange::times).collect();
    times.sort_unstable();
    times
}

/// The Monday of the week of a day, as a number of weeks.
fn week(day: CivilDay) -> i32 {
    (day.0 + 3).div_euclid(7)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_change_holds_from_its_day_up_to_the_next_one_and_leaves_all_else(
        ranges in some_ranges(),
        hours in some_hours(),
        nth in 0..4_usize,
        from in 0..90_i32,
    ) {
        let all = TimetableKey { weeks: OpenWeeks::Every, permits: Permits::All };
        let keys = timetables(&ranges);
        let key = keys.get(nth).cloned().unwrap_or(all);
        let from = day(from);
        let before = changes_after(&ranges, &key, from).first().copied();
        let validity = Validity { from, before };
        let change = TimetableChange { old: &key, new: &key, validity };
        let changed = change_hours(&ranges, &change, &hours);
        let is_concerned = |day: CivilDay| from <= day && before.is_none_or(|before| day < before);
        let mut keys = keys;
        keys.push(key.clone());
        for number in 0..DAYS {
            let day = day(number);
            for other in &keys {
                let is_on = *other == key && is_concerned(day);
                let mut wanted = times_on(&ranges, other, day);
                if is_on {
                    let even = week(day).rem_euclid(2) == 0;
                    let is_week = match key.weeks {
                        OpenWeeks::Every => true,
                        OpenWeeks::Even => even,
                        OpenWeeks::Odd => !even,
                    };
                    let of_day = hours.iter().filter(|hours| is_week && hours.weekday == day.weekday());
                    wanted = of_day.map(|hours| hours.times).collect();
                    wanted.sort_unstable();
                }
                prop_assert_eq!(times_on(&changed, other, day), wanted, "{:?} {:?}", other, day);
            }
        }
        // A conflict is found if and only if the hours overlap on some day.
        let mut overlap = false;
        for number in 0..DAYS {
            let open: Vec<&WeeklyRange> =
                changed.iter().filter(|range| is_open_on(range, day(number))).collect();
            for (place, one) in open.iter().enumerate() {
                overlap |= open[..place].iter().any(|other| {
                    one.permits() == other.permits()
                        && one.times().start_minute() < other.times().end_minute()
                        && other.times().start_minute() < one.times().end_minute()
                });
            }
        }
        prop_assert_eq!(find_conflict(&ranges, &change, &hours).is_some(), overlap);

        // The hours that a form shows, sent back, change nothing.
        let shown = hours_from(&changed, &key, from);
        if find_conflict(&ranges, &change, &hours).is_none() {
            let mut wanted = hours.clone();
            wanted.sort_unstable();
            prop_assert_eq!(&shown, &wanted, "what was saved is shown");
        }
        let again = change_hours(&changed, &change, &shown);
        for number in 0..DAYS {
            let day = day(number);
            prop_assert_eq!(times_on(&again, &key, day), times_on(&changed, &key, day));
        }
        let mut twice = change_hours(&again, &change, &shown);
        prop_assert_eq!(&twice, &again, "nothing is cut in two");
        sort_ranges(&mut twice);
        prop_assert_eq!(twice, again);
    }

    #[test]
    fn the_weeks_of_a_timetable_are_alike_from_one_change_up_to_the_next(
        ranges in some_ranges(),
        from in 0..60_i32,
    ) {
        let keys = timetables(&ranges);
        prop_assert!(keys.is_sorted() && keys.windows(2).all(|pair| pair[0] != pair[1]));
        prop_assert!(ranges.iter().all(|range| keys.contains(&TimetableKey::new(range))));
        for key in &keys {
            prop_assert!(ranges.iter().any(|range| TimetableKey::new(range) == *key));
            let period = if key.weeks == OpenWeeks::Every { 7 } else { 14 };
            let mut changes = changes_after(&ranges, key, day(from));
            // The first weeks are those that a form shows; a change is told after them.
            let mut since = day(from);
            changes.push(day(DAYS + 40));
            for change in changes {
                prop_assert!(since.plus_days(period) <= change, "{:?} {:?}", since, change);
                let mut at = since;
                while at.plus_days(period) < change {
                    let again = times_on(&ranges, key, at.plus_days(period));
                    prop_assert_eq!(times_on(&ranges, key, at), again, "{:?} {:?}", key, at);
                    at = at.plus_days(1);
                }
                since = change;
            }
        }
    }

    #[test]
    fn of_too_many_hours_those_that_ended_first_are_left_out(
        ranges in some_ranges(),
        before in 0..120_i32,
        kept_max in 0..25_usize,
    ) {
        let before = day(before);
        let mut kept = ranges.clone();
        drop_ended(&mut kept, before, kept_max);
        let ended = |range: &&WeeklyRange| range.last().is_some_and(|last| last < before);
        let excess = ranges.len().saturating_sub(kept_max);
        let mut dropped: Vec<&WeeklyRange> = ranges.iter().filter(|one| !kept.contains(one)).collect();
        prop_assert_eq!(dropped.len(), excess.min(ranges.iter().filter(ended).count()));
        prop_assert!(dropped.iter().all(ended));
        let latest = dropped.iter().filter_map(|range| range.last()).max();
        prop_assert!(kept.iter().filter(ended).all(|range| latest <= range.last()));
        let mut sorted = kept.clone();
        sort_ranges(&mut sorted);
        prop_assert_eq!(&sorted, &kept, "what is left keeps its order");
        let mut all = kept;
        all.extend(dropped.drain(..).cloned());
        sort_ranges(&mut all);
        prop_assert_eq!(all, ranges);
    }
}
