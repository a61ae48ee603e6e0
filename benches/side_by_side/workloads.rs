//! Workloads on every contender: bookings, bursts, searches and both mixed.

use crate::contenders::{Contenders, Context, Load, Measured};
use crate::data::{APPOINTMENTS_A_DAY, APPOINTMENTS_A_HALF_FULL_DAY, first_day};
use crate::parameters::{Latencies, SearchSize, Shape, Work};
use crate::report::{Row, Table, grouped};

/// Days of bookings that every calendar accepts: `maxrdv_period` is 3,650 days.
const BOOKABLE_DAYS: u64 = 3_600;
/// Connections of bursts, searches and mixed loads.
const BURST_CLIENTS: u64 = 64;
const SEARCH_CONNECTIONS: u64 = 16;
const NO_LIMIT: u64 = u64::MAX;

fn plural(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(count))
}

fn row(workload: &str, measured: &Measured, latencies: Latencies, comparison: String) -> Row {
    Row {
        workload: workload.to_owned(),
        contender: measured.name.to_owned(),
        rate: Some(measured.result.rate),
        latencies: Some(latencies),
        processor_us: Some(measured.result.processor_us),
        comparison,
        resident: None,
        bytes_each: None,
    }
}

/// Adds a row for each contender, compared with the rate of slotbook, the first.
fn add_rows(
    table: &mut Table,
    workload: &str,
    all: &[Measured],
    latencies: impl Fn(&Measured) -> Latencies,
) {
    for (index, measured) in all.iter().enumerate() {
        let ratio = all[0].result.rate / measured.result.rate;
        let comparison = if index == 0 { String::new() } else { format!("slotbook {ratio:.2}×") };
        table.add(row(workload, measured, latencies(measured), comparison));
    }
}

/// Bookings of free starts by clients that are all new, in stores of three shapes.
pub(crate) fn bookings(context: &Context, table: &mut Table) {
    let options = &context.options;
    let shapes = [
        ("one_group", 1, options.choose(100, 1_000)),
        ("many_groups", options.choose(20, 1_000), 5),
        ("one_calendar", 1, 1),
    ];
    for (name, groups, calendars) in shapes {
        let shape = Shape {
            groups,
            calendars,
            open_minutes: 1_440,
            appointments: 0,
            appointments_a_day: APPOINTMENTS_A_DAY,
            first_day: first_day(),
        };
        let mut contenders = Contenders::start(context, name, shape);
        contenders.start_bare(201, None);
        let connections = options.connections();
        let starts = shape.calendars_total() * 96 * BOOKABLE_DAYS;
        // One start stays for the sample of the bare server.
        let requests_max = (starts - 1) / (options.rounds * connections.len() as u64);
        for connections in connections {
            let load = Load { work: Work::Bookings, connections, requests_max };
            let all = contenders.measure(options, &load, None);
            let workload = format!(
                "bookings, {} of {}, {}",
                plural(groups, "group"),
                plural(calendars, "calendar"),
                plural(connections, "connection")
            );
            add_rows(table, &workload, &all, |measured| measured.result.bookings);
        }
        contenders.finish(context);
    }
}

/// 64 clients at once on the 32 starts of one calendar-day, then on a day that is full.
pub(crate) fn burst(context: &Context, table: &mut Table) {
    let options = &context.options;
    let shape = Shape {
        groups: 1,
        calendars: 10,
        open_minutes: 480,
        appointments: 0,
        appointments_a_day: APPOINTMENTS_A_DAY,
        first_day: first_day(),
    };
    let mut contenders = Contenders::start(context, "burst", shape);
    // One more day warms up.
    let days = options.choose(3, 21);
    let mut first_day = 0;
    for (random, order) in [(false, "in order"), (true, "at random")] {
        let work = Work::Burst { first_day, days, random };
        let load = Load { work, connections: BURST_CLIENTS, requests_max: NO_LIMIT };
        let all = contenders.measure(options, &load, None);
        let workload = format!("burst of 64 clients on 32 starts {order}, until all are taken");
        add_rows(table, &workload, &all, |measured| measured.result.bookings);
        first_day += days * options.rounds;
    }
    contenders.start_bare(400, None);
    let work = Work::Refusals { full_days: first_day };
    let load = Load { work, connections: BURST_CLIENTS, requests_max: NO_LIMIT };
    let all = contenders.measure(options, &load, None);
    let workload = "burst, refusals on full days, 64 connections";
    add_rows(table, workload, &all, |measured| measured.result.bookings);
    contenders.finish(context);
}

/// Searches, and searches with bookings, in a store of 780,000 appointments.
pub(crate) fn searches(context: &Context, table: &mut Table) {
    let options = &context.options;
    let booked_days = options.choose(10, 130);
    let shape = Shape {
        groups: options.choose(1, 10),
        calendars: 50,
        open_minutes: 480,
        appointments: booked_days * APPOINTMENTS_A_DAY,
        appointments_a_day: APPOINTMENTS_A_DAY,
        first_day: first_day(),
    };
    let mut contenders = Contenders::start(context, "search", shape);
    if options.includes("search") {
        for (calendars, days) in [(1, 7), (10, 30), (50, 92)] {
            let size = SearchSize { calendars, days, first: false };
            let workload = format!("search, {calendars} × {days} days");
            add_search(context, table, &mut contenders, size, &workload);
        }
        let size = SearchSize { calendars: 50, days: 30, first: true };
        add_search(context, table, &mut contenders, size, "search, 50 × 30 days, first=1");
    }
    if options.includes("mixed") {
        mixed(context, table, &mut contenders);
    }
    contenders.finish(context);
    if options.includes("search") {
        half_full(context, table, shape);
    }
}

/// A search of a month in a store whose booked days are half full.
fn half_full(context: &Context, table: &mut Table, shape: Shape) {
    let half_full = Shape {
        appointments: shape.booked_days() * APPOINTMENTS_A_HALF_FULL_DAY,
        appointments_a_day: APPOINTMENTS_A_HALF_FULL_DAY,
        ..shape
    };
    let mut contenders = Contenders::start(context, "half_full", half_full);
    let size = SearchSize { calendars: 10, days: 30, first: false };
    let workload = "search, 10 × 30 days on an agenda half full";
    add_search(context, table, &mut contenders, size, workload);
    contenders.finish(context);
}

/// Adds the rows of one kind of search.
fn add_search(
    context: &Context,
    table: &mut Table,
    contenders: &mut Contenders,
    size: SearchSize,
    workload: &str,
) {
    contenders.start_bare(201, Some(size));
    let load = Load {
        work: Work::Searches(size),
        connections: SEARCH_CONNECTIONS,
        requests_max: NO_LIMIT,
    };
    let all = contenders.measure(&context.options, &load, None);
    let workload = format!("{workload}, {SEARCH_CONNECTIONS} connections");
    add_rows(table, &workload, &all, |measured| measured.result.searches);
}

/// 95 % searches and 5 % bookings: the peak in a closed loop, then open loops at half of it.
fn mixed(context: &Context, table: &mut Table, contenders: &mut Contenders) {
    let options = &context.options;
    let size = SearchSize { calendars: 1, days: 7, first: false };
    contenders.start_bare(201, Some(size));
    let load = Load { work: Work::Mixed(size), connections: BURST_CLIENTS, requests_max: NO_LIMIT };
    let peak = contenders.measure(options, &load, None);
    let workload = "mixed, peak in a closed loop, 64 connections: searches";
    add_rows(table, workload, &peak, |measured| measured.result.searches);
    let mut own = Vec::new();
    for measured in &peak {
        own.push(measured.result.rate / 2.0);
    }
    // At their own peaks contenders differ in load, so the times are compared at one rate too.
    let lowest = own.iter().copied().fold(f64::INFINITY, f64::min);
    let same = vec![lowest; own.len()];
    for (rates, name) in [(&own, "half of its own peak"), (&same, "half of the lowest peak")] {
        let all = contenders.measure(options, &load, Some(rates));
        let workload = format!("mixed, {name} in an open loop");
        add_p99_rows(table, &format!("{workload}: searches"), &all, |all| all.result.searches);
        add_p99_rows(table, &format!("{workload}: bookings"), &all, |all| all.result.bookings);
    }
}

/// Adds a row for each contender, compared with the 99th percentile of slotbook, the first.
fn add_p99_rows(
    table: &mut Table,
    workload: &str,
    all: &[Measured],
    latencies: impl Fn(&Measured) -> Latencies,
) {
    let slotbook = &all[0];
    for (index, measured) in all.iter().enumerate() {
        let p99_ratio = latencies(measured).p99 / latencies(slotbook).p99;
        let load_ratio = measured.result.rate / slotbook.result.rate;
        // A short run at a low rate may have no booking at all.
        let comparable = latencies(measured).count > 0 && latencies(slotbook).count > 0;
        let comparison = if index == 0 || !comparable {
            String::new()
        } else {
            format!("p99 {p99_ratio:.2}× slotbook's at {load_ratio:.2}× the load")
        };
        table.add(row(workload, measured, latencies(measured), comparison));
    }
}
