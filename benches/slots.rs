//! Availability search, on the domain alone.

mod practice;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use practice::{calendar, intervention, morning, practice};
use slotbook::domain::availability::bookable::bookable;
use slotbook::domain::availability::slot_request::{BookingMode, Chain, ChainSearch, SlotRequest};
use slotbook::domain::availability::slots::{BlockedTime, free_starts, free_time};
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::{DAY, HOUR};

fn walks(c: &mut Criterion) {
    let group_state = practice(1, 92, 12);
    let view = group_state.calendars.get(&calendar(1)).expect("the calendar");
    for (name, days) in [("free_time/7_days_84_events", 7), ("free_time/92_days_1104_events", 92)] {
        // The span ends before opening on either side of the clock change.
        let span =
            Interval { start: morning(), end: morning().plus_seconds(days * DAY - 2 * HOUR) };
        let open = view.open_time(group_state.catalogue.zone(), span, morning());
        let permitted = open.permitted_time(intervention());
        let chain = group_state.catalogue.chain(&[intervention()], BookingMode::Module);
        let chain = chain.expect("a chain");
        let search = ChainSearch::new(&chain, BookingMode::Module);
        let blocked = BlockedTime::new(view, search, span, morning());
        c.bench_function(name, |b| {
            b.iter(|| {
                let (mut gaps, mut free) = (0, 0);
                free_time(permitted, &blocked, black_box(span), |gap| {
                    gaps += 1;
                    free += gap.end.seconds_since(gap.start);
                });
                assert_eq!((gaps, free), (days * 12, days * 12 * 1_800));
            });
        });
    }
}

fn searches(c: &mut Criterion) {
    let mut group = c.benchmark_group("slots");
    for (name, calendars, days) in [
        ("7_days_84_events", 1, 7),
        ("92_days_1104_events", 1, 92),
        ("10_calendars_30_days_3600_events", 10, 30),
    ] {
        let group_state = practice(calendars, 92, 12);
        let chain: Chain =
            group_state.catalogue.chain(&[intervention()], BookingMode::Module).expect("a chain");
        let window =
            Interval { start: morning(), end: morning().plus_seconds(days * DAY - 2 * HOUR) };
        let mut starts = Vec::new();
        group.throughput(Throughput::Elements(calendars * days.unsigned_abs() * 12));
        group.bench_function(name, |b| {
            b.iter(|| {
                starts.clear();
                for view in group_state.calendars.values() {
                    let window = black_box(window);
                    free_starts(
                        &group_state.catalogue,
                        view,
                        ChainSearch::new(&chain, BookingMode::Module),
                        window,
                        morning(),
                        &mut starts,
                    );
                }
                assert_eq!(starts.len() as u64, calendars * days.unsigned_abs() * 12);
            });
        });
    }
    group.finish();
}

fn one_point(c: &mut Criterion) {
    let group_state = practice(1, 92, 12);
    let view = group_state.calendars.get(&calendar(1)).expect("the calendar");
    let chain =
        group_state.catalogue.chain(&[intervention()], BookingMode::Module).expect("a chain");
    let start = morning().plus_seconds(3_600);
    let request = SlotRequest::new(chain, start, BookingMode::Module);
    c.bench_function("bookable/one_free_start", |b| {
        b.iter(|| {
            let verdict = bookable(&group_state.catalogue, view, black_box(&request), morning());
            assert!(verdict.is_ok());
        });
    });
}

criterion_group!(benches, walks, searches, one_point);
criterion_main!(benches);
