//! A store that a cluster shares in PostgreSQL with a synchronous standby, beside one on the disk:
//! bookings, and searches by way of a server that follows. Reference 8.11.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::contenders::{Contender, Context, Load, Slotbook, median_result};
use crate::data::{APPOINTMENTS_A_DAY, first_day};
use crate::pair::{Pair, database_url, free_port};
use crate::parameters::{LoadResult, SearchSize, Shape, Work};
use crate::processes::Process;
use crate::report::{Row, Table};

/// Pause between two looks at whether a server answers, and their number.
const LOOK_PAUSE: Duration = Duration::from_millis(50);
const LOOKS_MAX: u32 = 600;
/// The role of the servers in PostgreSQL.
const ROLE: &str = "slotbook_server";

/// Bookings and searches in turn, in pairs.
pub(crate) fn cluster(context: &Context, table: &mut Table) {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return eprintln!("side_by_side: without a cluster: {reason}"),
    };
    let options = &context.options;
    let shape = Shape {
        groups: 1,
        calendars: options.choose(100, 1_000),
        open_minutes: 1_440,
        appointments: 0,
        appointments_a_day: APPOINTMENTS_A_DAY,
        first_day: first_day(),
    };
    let [alone, shared] = ["alone", "cluster"].map(|name| {
        let folder = tempfile::tempdir_in(context.folder.path()).expect("it can be written");
        let data = Slotbook::import(folder.path(), name, &shape);
        (folder, data)
    });
    let (folder, data) = alone;
    // All rounds book in one group, which has room for them.
    let server = Slotbook::serve_with(&data, &["--group-mib", "0"]);
    let mut alone = Contender::from_slotbook(server, folder);
    let (folder, data) = shared;
    fill(&pair, &data);
    let decides = serve(&pair, folder.path(), "first");
    wait_until_found(&decides.address, "/readyz");
    let follows = serve(&pair, folder.path(), "second");
    // It finds no page of its own.
    wait_until_found(&follows.address, "/docs");
    let mut follower = Contender::from_slotbook(follows, folder);
    let folder = tempfile::tempdir_in(context.folder.path()).expect("it can be written");
    let mut decider = Contender::from_slotbook(decides, folder);
    let search = Work::Searches(SearchSize { calendars: 1, days: 1, first: false });
    for connections in [options.choose(16, 64), 1] {
        let load = Load { work: Work::Bookings, connections, requests_max: u64::MAX };
        let mut contenders = [("on the disk", &mut alone), ("in a cluster", &mut decider)];
        add_rows(context, table, "cluster, bookings", &load, shape, &mut contenders);
    }
    let load = Load { work: search, connections: 1, requests_max: u64::MAX };
    let mut contenders = [("the one that decides", &mut decider), ("a follower", &mut follower)];
    add_rows(context, table, "cluster, searches", &load, shape, &mut contenders);
}

/// Runs a load on two contenders in turn, and compares the second with the first.
fn add_rows(
    context: &Context,
    table: &mut Table,
    workload: &str,
    load: &Load,
    shape: Shape,
    contenders: &mut [(&str, &mut Contender); 2],
) {
    let mut rounds: [Vec<LoadResult>; 2] = Default::default();
    for round in 0..context.options.rounds {
        for (results, (_, contender)) in rounds.iter_mut().zip(contenders.iter_mut()) {
            results.push(contender.run_load(&context.options, shape, load, None, round));
        }
    }
    let [first, second] = rounds.map(|results| median_result(&results));
    let latencies = |result: &LoadResult| match load.work {
        Work::Bookings => result.bookings,
        _ => result.searches,
    };
    let compared = format!(
        "rate {:.2}×, median {:+.2} ms",
        second.rate / first.rate,
        latencies(&second).p50 - latencies(&first).p50
    );
    let results = [(first, String::new()), (second, compared)];
    for ((name, _), (result, comparison)) in contenders.iter().zip(results) {
        table.add(Row {
            workload: format!("{workload}, {} connections", load.connections),
            contender: format!("slotbook, {name}"),
            rate: Some(result.rate),
            latencies: Some(latencies(&result)),
            processor_us: Some(result.processor_us),
            comparison,
            resident: None,
            bytes_each: None,
        });
    }
}

/// Makes the shared store, with the content of a data directory.
fn fill(pair: &Pair, data: &Path) {
    let owner = database_url("postgres", &pair.ports);
    let mut init = Slotbook::command(data);
    init.args(["cluster", "init", "--role", ROLE, "--shared", &owner]);
    let mut import = Slotbook::command(data);
    import.args(["cluster", "import", "--shared", &database_url(ROLE, &pair.ports)]);
    import.arg("--data").arg(data);
    for mut command in [init, import] {
        let status = command.stdout(Stdio::null()).status();
        assert!(status.expect("the program runs").success(), "{command:?}");
    }
}

/// Starts a server of the cluster.
fn serve(pair: &Pair, folder: &Path, name: &str) -> Slotbook {
    let data = folder.join(name);
    let listen = format!("127.0.0.1:{}", free_port());
    let mut command = Slotbook::command(&data);
    command.args(["serve", "--group-mib", "0", "--listen", &listen]).arg("--data").arg(&data);
    command.args(["--shared", &database_url(ROLE, &pair.ports)]);
    command.args(["--advertise", &format!("http://{listen}")]);
    // One that follows prints nothing.
    let child = command.stdout(Stdio::null()).spawn().expect("the program starts");
    Slotbook { process: Process(child), address: listen }
}

#[expect(clippy::disallowed_methods, reason = "a server tells this program nothing of a takeover")]
fn wait_until_found(address: &str, path: &str) {
    let head = format!("GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n");
    for _ in 0..LOOKS_MAX {
        let mut answer = String::new();
        let asked = TcpStream::connect(address).and_then(|mut stream| {
            stream.write_all(head.as_bytes())?;
            stream.read_to_string(&mut answer)
        });
        if asked.is_ok() && answer.starts_with("HTTP/1.1 200 ") {
            return;
        }
        std::thread::sleep(LOOK_PAUSE);
    }
    panic!("{address} finds no {path}");
}
