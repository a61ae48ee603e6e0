//! What an expansion costs: occurrences with both their instants, in windows near and far from the series' start.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use slotbook::domain::recurrence::{Exceptions, Series};
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::zone::Zone;
use slotbook::domain::time::{Civil, DAY, HOUR, Instant};

fn civil(year: i32, month: u32, day: u32, hour: u32) -> Civil {
    Civil::from_ymd_hms(year, month, day, hour, 0, 0).expect("a civil time")
}

/// A two-hour event in Paris that repeats.
fn series(start: Civil, rule: &str) -> Series {
    let rule = rule.parse().expect("a rule");
    Series::new(paris(), start, start.plus_seconds(2 * HOUR), Some(rule), Exceptions::default())
        .expect("a series")
}

fn paris() -> Zone {
    Zone::from_iana("Europe/Paris").expect("a zone")
}

/// Expands from `from` to `to` and checks the number of occurrences and the sum of their instants.
fn window(c: &mut Criterion, name: &str, series: &Series, (from, to): (Civil, Civil), count: u64) {
    let zone = paris();
    let sum = |from, to| {
        series.occurrences(zone, from, to).fold((0, 0_i64), |(count, sum), occurrence| {
            (count + 1, sum.wrapping_add(occurrence.start.0).wrapping_add(occurrence.end.0))
        })
    };
    let expected = sum(from, to);
    assert_eq!(expected.0, count, "{name}");
    let mut group = c.benchmark_group("recurrence");
    group.throughput(Throughput::Elements(count));
    group.bench_function(name, |b| {
        b.iter(|| assert_eq!(sum(black_box(from), black_box(to)), expected))
    });
    group.finish();
}

fn occurrences(c: &mut Criterion) {
    let year = (civil(2026, 1, 1, 0), civil(2027, 1, 1, 0));
    let decade = (civil(2026, 1, 1, 0), civil(2036, 1, 1, 0));
    let week_days = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR";
    let last_friday = "FREQ=MONTHLY;BYDAY=-1FR";
    window(c, "weekly_mo_fr_1_year", &series(civil(2025, 12, 31, 9), week_days), year, 261);
    window(
        c,
        "weekly_mo_fr_1_year_started_30_years_back",
        &series(civil(1996, 1, 1, 9), week_days),
        year,
        261,
    );
    window(
        c,
        "monthly_last_friday_10_years",
        &series(civil(2025, 12, 26, 9), last_friday),
        decade,
        120,
    );
    let long_ago = series(civil(1995, 12, 29, 9), last_friday);
    window(c, "monthly_last_friday_10_years_started_30_years_back", &long_ago, decade, 120);
    window(c, "daily_1_year", &series(civil(2025, 12, 31, 9), "FREQ=DAILY"), year, 365);
    window(c, "yearly_leap_day_10_years", &series(civil(2024, 2, 29, 9), "FREQ=YEARLY"), decade, 2);
    let counted = series(civil(1996, 1, 1, 9), &format!("{week_days};COUNT=1000000000"));
    window(
        c,
        "weekly_mo_fr_1_week_of_a_billion",
        &counted,
        (civil(2026, 6, 1, 0), civil(2026, 6, 8, 0)),
        5,
    );
}

fn intervals(c: &mut Criterion) {
    let zone = paris();
    let series =
        series(civil(1996, 1, 1, 9), "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;UNTIL=20300101T000000Z");
    let from = zone.instant_of(civil(2026, 6, 1, 0));
    let mut group = c.benchmark_group("recurrence");
    group.throughput(Throughput::Elements(5));
    group.bench_function("intervals_7_days_with_until", |b| {
        b.iter(|| {
            let from = black_box(from);
            let window = Interval { start: from, end: from.plus_seconds(7 * DAY) };
            let intervals = series.intervals_overlapping(zone, window);
            let lengths = intervals.map(|found| found.end.seconds_since(found.start));
            assert_eq!(lengths.sum::<i64>(), 5 * 2 * HOUR);
        });
    });
    group.finish();
}

fn conversions(c: &mut Criterion) {
    let zone = paris();
    let first = civil(2026, 1, 1, 9);
    let mut group = c.benchmark_group("zone");
    group.throughput(Throughput::Elements(365));
    group.bench_function("instant_of_and_back_365_days", |b| {
        b.iter(|| {
            for day in 0..365 {
                let civil = black_box(first).plus_seconds(day * DAY);
                assert_eq!(zone.civil_of(zone.instant_of(civil)), civil);
            }
        });
    });
    group.bench_function("names_itself_365_days", |b| {
        b.iter(|| {
            let first = black_box(Instant(1_767_258_000));
            assert_eq!(
                (0..365).filter(|day| zone.is_first_pass(first.plus_seconds(day * DAY))).count(),
                365
            );
        });
    });
    group.finish();
}

criterion_group!(benches, occurrences, intervals, conversions);
criterion_main!(benches);
