//! The rows of a run: printed, and written as Markdown, as JSON and as a chart.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::chart;
use crate::contenders::Context;
use crate::data::civil_text;
use crate::goals;
use crate::parameters::Latencies;

/// One line of the table. Figures that a workload does not have are left out.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Row {
    pub(crate) workload: String,
    pub(crate) contender: String,
    /// Requests a second, or starts taken a second by a burst.
    pub(crate) rate: Option<f64>,
    pub(crate) latencies: Option<Latencies>,
    /// Processor time for each request, in microseconds.
    pub(crate) processor_us: Option<f64>,
    pub(crate) comparison: String,
    /// Resident memory of the server in bytes, where the row is about memory.
    pub(crate) resident: Option<f64>,
    /// Bytes of memory for each further object, where the row is about memory.
    pub(crate) bytes_each: Option<f64>,
}

/// All lines in the order in which they were measured.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

/// A table with what it was measured on. Files of runs are lists of it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) date: String,
    /// Commit of the measured program, and `-dirty` if files differed from it.
    pub(crate) build: String,
    command: String,
    machine: String,
    #[serde(flatten)]
    table: Table,
}

const HEAD: [&str; 8] = [
    "workload",
    "contender",
    "rate /s",
    "p50 ms",
    "p99 ms",
    "p99.9 ms",
    "processor µs/request",
    "comparison",
];

const NOTES: &str = "\
- Figures are medians of the rounds. Contenders are measured in turn. A warm-up of a third of the time does not count.
- `slotbook 2.00×`: the rate of slotbook is twice that of this contender.
- The clients are one process with one thread on the same machine. Their processor time is not counted.
- Processor time is user and system time of the server's processes; with PostgreSQL those of the whole cluster.
- Bare axum returns bodies that slotbook answered before. It reads the requests and does nothing else.
- PostgreSQL books and searches by one prepared statement each. Behind axum it has a pool of 32 connections.
- Bursts: the rate counts starts taken a second; the times are those until all 32 are taken.
- An open loop counts times from the moment at which a request is due.
";

impl Table {
    pub(crate) fn add(&mut self, row: Row) {
        eprintln!("side_by_side: {} | {} | {}", row.workload, row.contender, rate_text(row.rate));
        self.rows.push(row);
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn markdown(&self) -> String {
        let mut text = String::new();
        let cells: Vec<[String; 8]> = self.rows.iter().map(Row::cells).collect();
        let mut widths = HEAD.map(|name| name.chars().count());
        for row in &cells {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        write_line(&mut text, &HEAD, &widths);
        let mut rule = String::from("|");
        for (index, width) in widths.iter().enumerate() {
            // Figures are aligned to the right.
            let end = if (2..7).contains(&index) { ":" } else { "-" };
            rule += &format!(" {}{end} |", "-".repeat(width - 1));
        }
        text += &rule;
        text.push('\n');
        for row in &cells {
            write_line(&mut text, &row.each_ref().map(String::as_str), &widths);
        }
        text.push('\n');
        text += NOTES;
        let goals = goals::markdown(self);
        if !goals.is_empty() {
            text.push('\n');
            text += &goals;
        }
        text
    }
}

impl Run {
    /// Adds to a table the machine, the command, the build and the date.
    pub(crate) fn new(context: &Context, table: Table) -> Self {
        let now = SystemTime::UNIX_EPOCH.elapsed().expect("the clock is past 1970");
        Self {
            date: civil_text(now.as_secs() / 60),
            build: build(),
            command: command(context),
            machine: machine(context),
            table,
        }
    }

    pub(crate) fn rows(&self) -> &[Row] {
        self.table.rows()
    }

    /// Writes `table.md`, `runs.json` and `chart.svg` to a folder. Returns the Markdown.
    pub(crate) fn write(self, folder: &Path) -> String {
        let text = format!(
            "- machine: {}\n- command: {}\n- build: {}\n- date: {} UTC\n\n{}",
            self.machine,
            self.command,
            self.build,
            self.date,
            self.table.markdown(),
        );
        let write = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).expect("the target folder can be written");
        };
        let runs = [self];
        write("table.md", &text);
        write("runs.json", &serde_json::to_string_pretty(&runs).expect("runs are JSON"));
        if let Some(chart) = chart::draw(&runs) {
            write("chart.svg", &chart);
        }
        eprintln!("side_by_side: written to {}", folder.display());
        text
    }
}

impl Row {
    fn cells(&self) -> [String; 8] {
        let milliseconds = |pick: fn(&Latencies) -> f64| match &self.latencies {
            Some(latencies) if latencies.count > 0 => format!("{:.3}", pick(latencies)),
            _ => String::new(),
        };
        [
            self.workload.clone(),
            self.contender.clone(),
            rate_text(self.rate),
            milliseconds(|latencies| latencies.p50),
            milliseconds(|latencies| latencies.p99),
            milliseconds(|latencies| latencies.p999),
            self.processor_us.map_or(String::new(), |micros| format!("{micros:.0}")),
            self.comparison.clone(),
        ]
    }
}

fn write_line(text: &mut String, cells: &[&str; 8], widths: &[usize; 8]) {
    text.push('|');
    for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let padding = " ".repeat(width - cell.chars().count());
        let (before, after) =
            if (2..7).contains(&index) { (padding.as_str(), "") } else { ("", padding.as_str()) };
        write!(text, " {before}{cell}{after} |").expect("memory can be written");
    }
    text.push('\n');
}

pub(crate) fn rate_text(rate: Option<f64>) -> String {
    match rate {
        None => String::new(),
        Some(rate) if rate < 100.0 => format!("{rate:.1}"),
        Some(rate) => {
            let digits = format!("{rate:.0}");
            grouped(digits.parse().expect("a rate is a number"))
        }
    }
}

/// Writes a number with a comma after every three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn machine(context: &Context) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, name)| name);
    let database = match &context.cluster {
        Some(cluster) => format!("PostgreSQL {}", cluster.version),
        None => "without PostgreSQL".to_owned(),
    };
    format!("{cores} cores, {model}; {database}")
}

fn command(context: &Context) -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let cargo = if arguments.iter().any(|a| a == "--bench") { "bench" } else { "test" };
    let arguments: Vec<String> = arguments.into_iter().filter(|a| a != "--bench").collect();
    let options = &context.options;
    let profile = if cfg!(debug_assertions) { "test" } else { "dist" };
    format!(
        "`cargo {cargo} --bench side_by_side -- {}`; profile {profile}, {} rounds of {} s",
        arguments.join(" "),
        options.rounds,
        options.seconds,
    )
}

/// Returns the commit of the working tree, or "unknown" outside a repository.
fn build() -> String {
    let described = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    match described {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => "unknown".to_owned(),
    }
}
