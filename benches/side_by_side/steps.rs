//! Where the time of one request goes: the steps of bookings and searches of a single client, from
//! the metrics of slotbook.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::contenders::{Contender, Context, Load, Slotbook};
use crate::data::{APPOINTMENTS_A_DAY, first_day};
use crate::parameters::{LoadResult, SearchSize, Shape, Work};
use crate::report::{Row, Table};

/// Metrics that measure a step, each a histogram of seconds.
const STEPS: [&str; 5] = [
    "slotbook_request_seconds",
    "slotbook_write_seconds",
    "slotbook_write_queue_seconds",
    "slotbook_write_decide_seconds",
    "slotbook_fsync_seconds",
];

/// Metric -> sum of its seconds, and number of values.
type Sums = BTreeMap<&'static str, (f64, f64)>;

pub(crate) fn steps(context: &Context, table: &mut Table) {
    let options = &context.options;
    let shape = Shape {
        groups: 1,
        calendars: 10,
        open_minutes: 480,
        appointments: options.choose(120, 1_200),
        appointments_a_day: APPOINTMENTS_A_DAY,
        first_day: first_day(),
    };
    let folder = tempfile::tempdir_in(context.folder.path()).expect("the folder can be written");
    let data = Slotbook::import(folder.path(), "steps", &shape);
    let (server, metrics) = Slotbook::serve_with_metrics(&data);
    let mut contender = Contender::from_slotbook(server, folder);
    let mut run = |work: Work| -> (LoadResult, Sums, Sums) {
        let load = Load { work, connections: 1, requests_max: u64::MAX };
        let before = read_sums(&metrics);
        let result = contender.run_load(options, shape, &load, None, 0);
        (result, before, read_sums(&metrics))
    };
    let mut add = |step: &str, micros: f64| table.add(row(step, micros));
    // The bookings of a second leave no free start in the first week.
    let search = SearchSize { calendars: 1, days: 7, first: false };
    let (result, before, after) = run(Work::Searches(search));
    let (total, request) =
        (1e6 / result.rate, mean_us(&before, &after, "slotbook_request_seconds"));
    add("search of 1 × 7 days, whole, as the client sees it", total);
    add("search of 1 × 7 days, connection", total - request);
    add("search of 1 × 7 days, handler: routing, parsing, search, rendering", request);
    let (result, before, after) = run(Work::Bookings);
    let mean = |metric: &str| mean_us(&before, &after, metric);
    let (total, request) = (1e6 / result.rate, mean("slotbook_request_seconds"));
    let (write, queue) = (mean("slotbook_write_seconds"), mean("slotbook_write_queue_seconds"));
    let (decide, batch) = (mean("slotbook_write_decide_seconds"), mean("slotbook_fsync_seconds"));
    add("booking, whole, as the client sees it", total);
    add("booking, connection: client, sockets, HTTP framing", total - request);
    add("booking, handler: routing, caller, parsing, rendering", request - write);
    add("booking, way to the group's actor", queue);
    add("booking, decision of group and calendar", decide);
    add("booking, batch: write, sync, publish", batch);
    add("booking, wake-ups of journal and connection", write - queue - decide - batch);
}

fn row(step: &str, micros: f64) -> Row {
    Row {
        workload: format!("steps, {step}"),
        contender: "slotbook".to_owned(),
        rate: None,
        latencies: None,
        processor_us: None,
        comparison: format!("{micros:.1} µs"),
        resident: None,
        bytes_each: None,
    }
}

/// Returns the mean of the values that a metric got between two readings, in microseconds.
fn mean_us(before: &Sums, after: &Sums, metric: &str) -> f64 {
    let ((old_sum, old_count), (sum, count)) = (before[metric], after[metric]);
    assert!(count > old_count, "{metric} got values");
    1e6 * (sum - old_sum) / (count - old_count)
}

/// Reads the sums of the steps, those of bookings where a metric has kinds of writes.
fn read_sums(address: &str) -> Sums {
    let mut stream = TcpStream::connect(address).expect("the metrics are served");
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
        .expect("the server reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("metrics are text");
    let mut sums = Sums::new();
    for step in STEPS {
        let value = |end: &str| {
            let name = format!("{step}_{end}");
            let line = text.lines().find(|line| {
                let Some(labels) = line.strip_prefix(&name) else { return false };
                labels.starts_with(' ') || labels.contains("booking")
            });
            let line = line.unwrap_or_else(|| panic!("{name} is missing in {text}"));
            let (_, value) = line.rsplit_once(' ').expect("a metric has a value");
            value.parse::<f64>().expect("a value is a number")
        };
        sums.insert(step, (value("sum"), value("count")));
    }
    sums
}
