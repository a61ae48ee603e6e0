//! Speed of the server beside others on the same machine, in the same run.
//!
//! The others are a bare axum server and PostgreSQL, directly and behind axum. Loads come from a
//! process of their own, which is this program in another role. Every answer is checked, so no
//! figure is made from errors.
//!
//! `cargo bench --bench side_by_side` runs everything. Arguments after `--`: `quick` for small
//! sizes, `only=bookings,burst,search,mixed,steps,growth` for a part, `connections=64`, `rounds=3`,
//! `seconds=1.5`.

mod chart;
mod contenders;
mod data;
mod goals;
mod growth;
mod handlers;
mod http_client;
mod load;
mod options;
mod parameters;
mod postgres;
mod postgres_client;
mod processes;
mod report;
mod search;
mod steps;
mod workloads;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use contenders::Context;
use options::Options;
use report::Table;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, parameters] = arguments.as_slice()
        && let Some(role) = role.strip_prefix("role=")
    {
        match role {
            "load" => print(&load::run(parameters)),
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
    if !table.is_empty() {
        print(&table.write(&context, &results));
    }
}

fn print(text: &str) {
    writeln!(std::io::stdout(), "{text}").expect("stdout is open");
}
