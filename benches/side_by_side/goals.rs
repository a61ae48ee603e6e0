//! The goals of the server, each compared with what a run measured.

use std::fmt::Write as _;

use crate::contenders::BARE;
use crate::report::{Row, Table};

const SLOTBOOK: &str = "slotbook";
const DIRECT: &str = "PostgreSQL, direct";
const BEHIND_AXUM: &str = "axum + PostgreSQL";

/// Beginnings of the workloads whose processor time has a goal.
const BOOKING: &str = "bookings, 1 group of 1,000 calendars, 64 ";
const WEEK: &str = "search, 1 × 7 days";
const HALF_FULL_MONTH: &str = "search, 10 × 30 days on an agenda half full";

/// Limit that a figure has to keep.
#[derive(Clone, Copy)]
enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

/// One goal: what is measured, its limit and the value aimed at.
struct Goal {
    name: &'static str,
    limit: Limit,
    aim: f64,
    unit: &'static str,
    /// Returns the figure; `None` if the run did not measure it.
    measure: fn(&Table) -> Option<f64>,
}

const GOALS: [Goal; 24] = [
    Goal {
        name: "processor time of a booking, 1 group of 1,000 calendars, 64 connections",
        limit: Limit::AtMost(50.0),
        aim: 40.0,
        unit: " µs",
        measure: |table| processor_us(table, BOOKING),
    },
    Goal {
        name: "the same against bare axum",
        limit: Limit::AtMost(3.6),
        aim: 3.0,
        unit: "×",
        measure: |table| processor_times(table, BOOKING),
    },
    Goal {
        name: "processor time of a search of 1 × 7 days",
        limit: Limit::AtMost(15.0),
        aim: 13.0,
        unit: " µs",
        measure: |table| processor_us(table, WEEK),
    },
    Goal {
        name: "the same against bare axum with the same bytes",
        limit: Limit::AtMost(1.5),
        aim: 1.3,
        unit: "×",
        measure: |table| processor_times(table, WEEK),
    },
    Goal {
        name: "processor time of a search of 10 × 30 days on an agenda half full",
        limit: Limit::AtMost(70.0),
        aim: 45.0,
        unit: " µs",
        measure: |table| processor_us(table, HALF_FULL_MONTH),
    },
    Goal {
        name: "the same against bare axum with the same bytes",
        limit: Limit::AtMost(5.0),
        aim: 3.5,
        unit: "×",
        measure: |table| processor_times(table, HALF_FULL_MONTH),
    },
    Goal {
        name: "bookings, 1 group of 1,000 calendars, 64 connections, against PostgreSQL behind axum",
        limit: Limit::AtLeast(4.0),
        aim: 5.0,
        unit: "×",
        measure: |table| rates(table, "bookings, 1 group of 1,000 calendars, 64 ", BEHIND_AXUM),
    },
    Goal {
        name: "the same with 256 connections",
        limit: Limit::AtLeast(4.0),
        aim: 5.0,
        unit: "×",
        measure: |table| rates(table, "bookings, 1 group of 1,000 calendars, 256 ", BEHIND_AXUM),
    },
    Goal {
        name: "bookings, 1,000 groups of 5 calendars, 64 connections, against PostgreSQL behind axum",
        limit: Limit::AtLeast(4.0),
        aim: 6.0,
        unit: "×",
        measure: |table| rates(table, "bookings, 1,000 groups of 5 calendars, 64 ", BEHIND_AXUM),
    },
    Goal {
        name: "the same with 256 connections",
        limit: Limit::AtLeast(4.0),
        aim: 6.0,
        unit: "×",
        measure: |table| rates(table, "bookings, 1,000 groups of 5 calendars, 256 ", BEHIND_AXUM),
    },
    Goal {
        name: "bookings, 1 group of 1,000 calendars, 256 connections against 64",
        limit: Limit::AtLeast(1.0),
        aim: 1.2,
        unit: "×",
        measure: |table| {
            let few = find(table, "bookings, 1 group of 1,000 calendars, 64 ", SLOTBOOK)?.rate?;
            let many = find(table, "bookings, 1 group of 1,000 calendars, 256 ", SLOTBOOK)?.rate?;
            Some(many / few)
        },
    },
    Goal {
        name: "one client, p50 of a booking against PostgreSQL without HTTP",
        limit: Limit::AtMost(1.3),
        aim: 1.0,
        unit: "×",
        measure: |table| {
            let own = find(table, "bookings, 1 group of 1,000 calendars, 1 c", SLOTBOOK)?;
            let other = find(table, "bookings, 1 group of 1,000 calendars, 1 c", DIRECT)?;
            Some(own.latencies?.p50 / other.latencies?.p50)
        },
    },
    Goal {
        name: "burst of 64 clients on 32 starts in order, against PostgreSQL without HTTP",
        limit: Limit::AtLeast(1.5),
        aim: 3.0,
        unit: "×",
        measure: |table| rates(table, "burst of 64 clients on 32 starts in order", DIRECT),
    },
    Goal {
        name: "the same at random",
        limit: Limit::AtLeast(1.5),
        aim: 3.0,
        unit: "×",
        measure: |table| rates(table, "burst of 64 clients on 32 starts at random", DIRECT),
    },
    Goal {
        name: "search of 1 × 7 days against bare axum with the same bytes",
        limit: Limit::AtLeast(0.6),
        aim: 0.8,
        unit: "×",
        measure: |table| rates(table, "search, 1 × 7 days", BARE),
    },
    Goal {
        name: "search of 10 × 30 days against bare axum with the same bytes",
        limit: Limit::AtLeast(0.3),
        aim: 0.4,
        unit: "×",
        measure: |table| rates(table, "search, 10 × 30 days, ", BARE),
    },
    Goal {
        name: "search of 10 × 30 days against PostgreSQL without HTTP",
        limit: Limit::AtLeast(30.0),
        aim: 50.0,
        unit: "×",
        measure: |table| rates(table, "search, 10 × 30 days, ", DIRECT),
    },
    Goal {
        name: "first start of 50 × 30 days against PostgreSQL without HTTP",
        limit: Limit::AtLeast(1.0),
        aim: 1.0,
        unit: "×",
        measure: |table| rates(table, "search, 50 × 30 days, first=1", DIRECT),
    },
    Goal {
        name: "mixed load at half of its peak, p99 of searches against that of bare axum",
        limit: Limit::AtMost(3.0),
        aim: 2.0,
        unit: "×",
        measure: |table| {
            p99_times(table, "mixed, half of the lowest peak in an open loop: searches")
        },
    },
    Goal {
        name: "mixed load, each at half of its own peak, p99 of bookings against that of bare axum",
        limit: Limit::AtMost(2.0),
        aim: 1.5,
        unit: "×",
        measure: |table| p99_times(table, "mixed, half of its own peak in an open loop: bookings"),
    },
    Goal {
        name: "p50 of a booking, as its group grows to 10,000 calendars",
        limit: Limit::AtMost(1.3),
        aim: 1.0,
        unit: "×",
        measure: |table| growth(table, "growth, calendars of one group: ", "1", "10,000"),
    },
    Goal {
        name: "p50 of a booking, as its calendar grows to 10⁶ appointments",
        limit: Limit::AtMost(1.3),
        aim: 1.0,
        unit: "×",
        measure: |table| {
            growth(table, "growth, appointments of one calendar: ", "100", "1,000,000")
        },
    },
    Goal {
        name: "bytes of an appointment, without its client",
        limit: Limit::AtMost(300.0),
        aim: 250.0,
        unit: " bytes",
        measure: |table| {
            find(table, "growth, appointments of one calendar: 1,000,000, memory", SLOTBOOK)?
                .bytes_each
        },
    },
    Goal {
        name: "memory of 100,000 groups of 5 calendars",
        limit: Limit::AtMost(6.0),
        aim: 2.0,
        unit: " GB",
        measure: |table| {
            let row = find(table, "growth, groups of 5 calendars: 100,000, memory", SLOTBOOK)?;
            Some(row.resident? / 1e9)
        },
    },
];

/// Finds the row of a contender whose workload begins with a text.
fn find<'t>(table: &'t Table, workload: &str, contender: &str) -> Option<&'t Row> {
    table.rows().iter().find(|row| row.workload.starts_with(workload) && row.contender == contender)
}

/// Returns the processor time of a request to slotbook, in microseconds.
fn processor_us(table: &Table, workload: &str) -> Option<f64> {
    find(table, workload, SLOTBOOK)?.processor_us
}

/// Returns the processor time of a request to slotbook, in times of that to bare axum.
fn processor_times(table: &Table, workload: &str) -> Option<f64> {
    Some(processor_us(table, workload)? / find(table, workload, BARE)?.processor_us?)
}

/// Returns the rate of slotbook divided by that of another contender.
fn rates(table: &Table, workload: &str, other: &str) -> Option<f64> {
    Some(find(table, workload, SLOTBOOK)?.rate? / find(table, workload, other)?.rate?)
}

/// Returns the p99 of slotbook, in times of that of bare axum.
fn p99_times(table: &Table, workload: &str) -> Option<f64> {
    let own = find(table, workload, SLOTBOOK)?.latencies?.p99;
    Some(own / find(table, workload, BARE)?.latencies?.p99)
}

/// Returns by how much the p50 of a booking grows between two sizes.
fn growth(table: &Table, dimension: &str, small: &str, large: &str) -> Option<f64> {
    let p50 = |size: &str| {
        let row = find(table, &format!("{dimension}{size}, booking"), SLOTBOOK)?;
        Some(row.latencies?.p50)
    };
    Some(p50(large)? / p50(small)?)
}

/// Returns the goals that the run measured, as Markdown; empty if there is none.
pub(crate) fn markdown(table: &Table) -> String {
    let mut text = String::new();
    for goal in &GOALS {
        let Some(figure) = (goal.measure)(table) else { continue };
        if text.is_empty() {
            text.push_str(
                "| goal | limit | aim | measured | |\n| --- | ---: | ---: | ---: | --- |\n",
            );
        }
        let (limit, reached, aimed) = match goal.limit {
            Limit::AtLeast(least) => ("at least", figure >= least, figure >= goal.aim),
            Limit::AtMost(most) => ("at most", figure <= most, figure <= goal.aim),
        };
        let (Limit::AtLeast(value) | Limit::AtMost(value)) = goal.limit;
        let verdict = match (aimed, reached) {
            (true, _) => "aim reached",
            (false, true) => "reached",
            (false, false) => "not reached",
        };
        let (name, aim, unit) = (goal.name, goal.aim, goal.unit);
        // Memory in bytes needs no fraction.
        let digits = if figure >= 100.0 { 0 } else { 2 };
        writeln!(
            text,
            "| {name} | {limit} {value}{unit} | {aim}{unit} | {figure:.digits$}{unit} | {verdict} |"
        )
        .expect("memory can be written");
    }
    text
}
