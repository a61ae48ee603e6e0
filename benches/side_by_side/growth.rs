//! Growth of slotbook: time, memory and recovery while one dimension of the store grows.

use std::time::Instant;

use crate::contenders::{Contender, Context, Load, Slotbook, median_result};
use crate::data::{APPOINTMENTS_A_DAY, first_day};
use crate::parameters::{LoadResult, SearchSize, Shape, Work};
use crate::processes::{resident_bytes, wait_until_idle};
use crate::report::{Row, Table, grouped};

/// One dimension of a store.
struct Dimension {
    name: &'static str,
    /// Noun for one of it.
    unit: &'static str,
    sizes: [u64; 3],
    shape: fn(u64) -> Shape,
}

/// A server of one size, with what was measured when it started.
struct Size {
    size: u64,
    contender: Contender,
    shape: Shape,
    recovery_seconds: f64,
    resident: u64,
}

fn shape(groups: u64, calendars: u64, appointments: u64) -> Shape {
    Shape {
        groups,
        calendars,
        open_minutes: 480,
        appointments,
        appointments_a_day: APPOINTMENTS_A_DAY,
        first_day: first_day(),
    }
}

pub(crate) fn growth(context: &Context, table: &mut Table) {
    let options = &context.options;
    let dimensions = [
        Dimension {
            name: "appointments of one calendar",
            unit: "appointment",
            sizes: options.choose([100, 1_000, 10_000], [100, 10_000, 1_000_000]),
            shape: |size| shape(1, 1, size),
        },
        Dimension {
            name: "calendars of one group",
            unit: "calendar",
            sizes: options.choose([1, 10, 100], [1, 100, 10_000]),
            shape: |size| shape(1, size, 0),
        },
        Dimension {
            name: "groups of 5 calendars",
            unit: "group",
            sizes: options.choose([1, 10, 100], [1, 1_000, 100_000]),
            shape: |size| shape(size, 5, 0),
        },
    ];
    for dimension in dimensions {
        grow(context, table, &dimension);
    }
}

/// Measures the three sizes of a dimension, in turn.
fn grow(context: &Context, table: &mut Table, dimension: &Dimension) {
    let options = &context.options;
    let mut sizes = Vec::new();
    for size in dimension.sizes {
        sizes.push(start(context, (dimension.shape)(size), size));
    }
    let search = SearchSize { calendars: 1, days: 7, first: false };
    for (work, kind) in [(Work::Searches(search), "search"), (Work::Bookings, "booking")] {
        // One calendar has 20 free starts on each day that can be booked.
        let requests_max = 60_000 / options.rounds;
        let load = Load { work, connections: 1, requests_max };
        let mut rounds: Vec<Vec<LoadResult>> = vec![Vec::new(); sizes.len()];
        for round in 0..options.rounds {
            for (index, size) in sizes.iter_mut().enumerate() {
                let result = size.contender.run_load(options, size.shape, &load, None, round);
                rounds[index].push(result);
            }
        }
        let mut smallest_p50 = None;
        for (size, rounds) in sizes.iter().zip(&rounds) {
            let result = median_result(rounds);
            let bookings = matches!(work, Work::Bookings);
            let latencies = if bookings { result.bookings } else { result.searches };
            let ratio = latencies.p50 / *smallest_p50.get_or_insert(latencies.p50);
            table.add(Row {
                workload: format!("growth, {}: {}, {kind}", dimension.name, grouped(size.size)),
                contender: size.contender.name.to_owned(),
                rate: Some(result.rate),
                latencies: Some(latencies),
                processor_us: Some(result.processor_us),
                comparison: format!("p50 {ratio:.2}× the smallest"),
                resident: None,
                bytes_each: None,
            });
        }
    }
    let smallest = (sizes[0].size, sizes[0].resident);
    for size in &sizes {
        let mib = size.resident as f64 / 1_048_576.0;
        let mut comparison = format!("{mib:.1} MiB, recovery {:.3} s", size.recovery_seconds);
        let bytes = size.resident as f64 - smallest.1 as f64;
        let mut bytes_each = None;
        // Less than that is the noise of the allocator.
        if bytes > 1_048_576.0 {
            let each = bytes / (size.size - smallest.0) as f64;
            comparison += &format!(", {each:.0} bytes for each further {}", dimension.unit);
            bytes_each = Some(each);
        }
        table.add(Row {
            workload: format!("growth, {}: {}, memory", dimension.name, grouped(size.size)),
            contender: size.contender.name.to_owned(),
            rate: None,
            latencies: None,
            processor_us: None,
            comparison,
            resident: Some(size.resident as f64),
            bytes_each,
        });
    }
}

/// Imports a store of one size and serves it.
fn start(context: &Context, shape: Shape, size: u64) -> Size {
    eprintln!("side_by_side: growing to {shape:?}");
    let folder = tempfile::tempdir_in(context.folder.path()).expect("the folder can be written");
    let data = Slotbook::import(folder.path(), "growth", &shape);
    // The first start reads the document's content, and writes an event of each group; the second
    // is what an operator sees.
    let first = Slotbook::serve(&data);
    wait_until_idle(first.process.pid());
    first.process.terminate();
    let began = Instant::now();
    let server = Slotbook::serve(&data);
    let recovery_seconds = began.elapsed().as_secs_f64();
    let resident = resident_bytes(server.process.pid());
    let contender = Contender::from_slotbook(server, folder);
    Size { size, contender, shape, recovery_seconds, resident }
}
