//! Speed of the server beside others on the same machine, in the same run.
//!
//! The others are a bare axum server and PostgreSQL, directly and behind axum. Loads come from a
//! process of their own, which is this program in another role. Every answer is checked, so no
//! figure is made from errors.
//!
//! `cargo bench --bench side_by_side` runs everything. Arguments after `--`: `quick` for small
//! sizes, `only=bookings,burst,search,mixed,steps,growth,followers,cluster` for a part,
//! `connections=64`, `rounds=3`, `seconds=1.5`, `against=PROGRAM` for another program of slotbook
//! beside this one. The table, its rows as JSON and a chart are written to `target/side_by_side`.
//!
//! `cargo test --bench side_by_side -- chart=docs/benchmarks.json` measures nothing. It draws the
//! runs of that file, and writes the chart beside it as SVG.

mod chart;
mod cluster;
mod contenders;
mod data;
mod followers;
mod goals;
mod growth;
mod handlers;
mod http_client;
mod load;
mod options;
#[expect(dead_code, reason = "tests use more of it")]
#[path = "../../tests/recovery/cluster/postgres.rs"]
mod pair;
mod parameters;
mod postgres;
mod postgres_client;
#[path = "../../tests/recovery/cluster/postgres_programs.rs"]
mod postgres_programs;
mod processes;
mod report;
#[expect(dead_code, reason = "tests use more of it")]
#[path = "../../tests/recovery/cluster/required.rs"]
mod required;
mod search;
mod steps;
mod workloads;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use contenders::Context;
use options::Options;
use report::{Run, Table};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, parameters] = arguments.as_slice()
        && let Some(role) = role.strip_prefix("role=")
    {
        match role {
            "load" => print(&load::run(parameters)),
            "follow" => followers::run(parameters),
            "bare" => handlers::serve_bare(parameters),
            "postgres" => handlers::serve_postgres(parameters),
            role => panic!("no role is called {role}"),
        }
        return ExitCode::SUCCESS;
    }
    // A test runner that lists tests finds none here.
    if arguments.iter().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    if let Some(file) = arguments.iter().find_map(|argument| argument.strip_prefix("chart=")) {
        let file = Path::new(file);
        std::fs::write(file.with_extension("svg"), chart::draw_file(file))
            .expect("the folder can be written");
        return ExitCode::SUCCESS;
    }
    match Options::parse(&arguments) {
        Ok(options) => run(options),
        Err(reason) => {
            eprintln!("side_by_side: {reason}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn run(options: Options) {
    if options.quick {
        assert_docs_chart();
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target is its parent");
    let results = target.join("side_by_side");
    std::fs::create_dir_all(&results).expect("the target folder can be written");
    let folder = postgres::open_folder(&results);
    let workloads = ["bookings", "burst", "search", "mixed"];
    let mut cluster = None;
    if workloads.iter().any(|workload| options.includes(workload)) {
        match postgres::Cluster::start(folder.path()) {
            Ok(started) => cluster = Some(started),
            Err(reason) => eprintln!("side_by_side: without PostgreSQL: {reason}"),
        }
    }
    let context = Context { options, cluster, folder };
    let mut table = Table::default();
    if context.options.includes("bookings") {
        workloads::bookings(&context, &mut table);
    }
    if context.options.includes("burst") {
        workloads::burst(&context, &mut table);
    }
    if context.options.includes("search") || context.options.includes("mixed") {
        workloads::searches(&context, &mut table);
    }
    if context.options.includes("steps") {
        steps::steps(&context, &mut table);
    }
    if context.options.includes("growth") {
        growth::growth(&context, &mut table);
    }
    if context.options.includes("followers") {
        followers::followers(&context, &mut table);
    }
    if context.options.includes("cluster") {
        cluster::cluster(&context, &mut table);
    }
    if !table.is_empty() {
        print(&Run::new(&context, table).write(&results));
    }
}

/// Checks that the chart of the documentation shows the figures beside it.
fn assert_docs_chart() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/benchmarks.json");
    let chart = std::fs::read_to_string(file.with_extension("svg")).expect("the chart is there");
    assert!(
        chart == chart::draw_file(&file),
        "draw it: cargo test --bench side_by_side -- chart=docs/benchmarks.json"
    );
}

fn print(text: &str) {
    writeln!(std::io::stdout(), "{text}").expect("stdout is open");
}
