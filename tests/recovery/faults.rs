//! A disk that refuses: strace makes the nth call of some kind fail. Nobody is answered for what is not there, the
//! process ends with 70, and the next start finds all that was answered.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::rounds;
use super::server::{complaint, exported, practice, run, store_of};
use super::witness::{CALENDARS, Witness};

/// A call that fails, and how.
#[derive(Clone, Copy, Debug)]
struct Fault {
    call: &'static str,
    error: &'static str,
    /// The last of these calls, counted for each thread, that seconds of load reach.
    last: u64,
}

/// The calls that change a disk or promise that it holds something.
const FAULTS: [Fault; 5] = [
    Fault { call: "pwrite64", error: "EIO", last: 200 },
    Fault { call: "pwrite64", error: "ENOSPC", last: 200 },
    Fault { call: "fdatasync", error: "EIO", last: 200 },
    Fault { call: "fsync", error: "EIO", last: 20 },
    Fault { call: "rename", error: "EIO", last: 4 },
];

/// Reads that fail: those of sled, and those of a copy that sled opens. A server may go on.
const READ_FAULTS: [Fault; 2] = [
    Fault { call: "pread64", error: "EIO", last: 20 },
    Fault { call: "read", error: "EIO", last: 20 },
];

/// The paths of a store's first generations: only calls about these are counted and fail.
fn paths(data: &Path) -> Vec<String> {
    let text = |path: std::path::PathBuf| path.to_str().expect("a plain path").to_owned();
    let mut paths = vec![text(data.to_owned())];
    paths.extend(["mark", "CURRENT", "CURRENT.new"].map(|name| text(data.join(name))));
    for generation in 1..6 {
        for database in ["journal", "snapshots"] {
            for kind in ["", ".new"] {
                let database = data.join(format!("{database}-{generation:06}{kind}"));
                paths.extend(["db", "conf", "blobs"].map(|name| text(database.join(name))));
                paths.push(text(database));
            }
        }
    }
    paths
}

/// Serves the store while the `nth` call of each thread about one of these paths fails; `None` for the address where it
/// ends before it can serve.
fn failing(
    data: &Path,
    faulty: &[String],
    Fault { call, error, .. }: Fault,
    nth: u64,
    log: &Path,
) -> (Child, Option<String>) {
    let mut command = Command::new("strace");
    // The filter of the kernel stops a thread at these calls alone, so that the load stays one.
    command.args(["-D", "-f", "--seccomp-bpf", "-qq", "-o"]).arg(log);
    command.args([
        "-e",
        &format!("trace={call}"),
        "-e",
        &format!("inject={call}:error={error}:when={nth}"),
    ]);
    for path in faulty {
        command.args(["-P", path]);
    }
    command.arg(env!("CARGO_BIN_EXE_slotbook")).args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--journal-mib",
        "0",
    ]);
    super::server::unlimited(&mut command);
    command.env("SLOTBOOK_LOG", "off").env("SLOTBOOK_DATA", data);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("strace was found");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("text");
    let base = line.trim().strip_prefix("listening on ").map(str::to_owned);
    (child, base)
}

pub(crate) fn strace_works() -> bool {
    let works = Command::new("strace").args(["-qq", "-e", "trace=none", "true"]).output();
    works.is_ok_and(|output| output.status.success())
}

/// Room that a process takes by files that have no name any more, in bytes.
fn held_without_a_name(pid: u32) -> u64 {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("it runs")
        .map(|entry| entry.expect("one").path());
    let nameless = open.filter(|path| {
        std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().ends_with(" (deleted)"))
    });
    nameless.map(|path| std::fs::metadata(path).map_or(0, |file| file.blocks() * 512)).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_served_backup_that_fails_leaves_nothing_and_holds_no_room() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    // Within sled first, which keeps what has failed open.
    let within = ["snapshots-000001/db"].as_slice();
    let beside = ["mark", "CURRENT.new", "journal-000001.new"].as_slice();
    let cases = [
        (within, FAULTS[1], 1),
        (within, FAULTS[2], 1),
        (within, FAULTS[2], 2),
        (beside, FAULTS[1], 1),
    ];
    for (names, fault, nth) in
        cases.into_iter().chain([(beside, FAULTS[1], 3), (beside, FAULTS[4], 1)])
    {
        let folder = tempfile::tempdir().expect("a folder");
        let data = store_of(folder.path(), &practice(CALENDARS));
        let (log, to) = (folder.path().join("strace.log"), folder.path().join("made/for/it"));
        let faulty: Vec<String> =
            names.iter().map(|name| to.join(name).to_string_lossy().into_owned()).collect();
        let (mut child, base) = failing(&data, &faulty, fault, nth, &log);
        let base = base.expect("nothing of its own store fails");
        let back_up = |to: &Path| run(&["backup", to.to_str().expect("a plain path")], &data);
        let failed = back_up(&to);
        let said = complaint(&failed);
        assert_eq!(failed.status.code(), Some(1), "{fault:?} at {nth}: {said}");
        assert!(!said.contains("restore the newest backup"), "that is not what to do here: {said}");
        assert!(!folder.path().join("made").exists(), "{fault:?} at {nth}: {said}");
        assert_eq!(held_without_a_name(child.id()), 0, "{fault:?} at {nth}: {said}");
        assert_eq!(reqwest::get(format!("{base}/readyz")).await.expect("an answer").status(), 200);
        let elsewhere = folder.path().join("elsewhere");
        let done = back_up(&elsewhere);
        assert!(done.status.success(), "{fault:?} at {nth}, elsewhere: {}", complaint(&done));
        child.kill().expect("ours");
        child.wait().expect("ours");
        assert_eq!(run(&["check"], &elsewhere).status.code(), Some(0));
    }
}

/// Time for which a server that goes on after a failed read is left to it.
const AFTERWARDS: Duration = Duration::from_millis(300);

/// Runs that met their fault, or did not.
#[derive(Default)]
struct Tally {
    runs: u64,
    injected: u64,
    answered: u64,
}

/// Serves a store under load until the `nth` call fails or `patience` is over, and compares what
/// was answered with what the next start finds. Returns whether the call came, and the answers.
async fn run_with(fault: Fault, nth: u64, patience: Duration) -> (bool, u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(CALENDARS));
    let log = folder.path().join("strace.log");
    let was_injected = || std::fs::read_to_string(&log).unwrap_or_default().contains("INJECTED");
    let may_go_on = READ_FAULTS.iter().any(|read| read.call == fault.call);
    let witness = Arc::new(Witness::verbose());
    let (mut child, base) = failing(&data, &paths(&data), fault, nth, &log);
    if let Some(base) = base {
        let clients = witness.load(&base, 100).await;
        // The load goes on until the call comes, but not for ever: it may never come.
        let mut deadline = tokio::time::Instant::now() + patience;
        while child.try_wait().expect("ours").is_none() {
            let now = tokio::time::Instant::now();
            if may_go_on && was_injected() {
                deadline = deadline.min(now + AFTERWARDS);
            }
            if now > deadline {
                child.kill().expect("ours");
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        clients.join_all().await;
    }
    let code = child.wait().expect("ours").code();
    let hit = was_injected();
    assert!(
        !hit || may_go_on || code == Some(70) || code.is_none(),
        "{fault:?} at {nth}: ended with {code:?}"
    );
    let calls = std::fs::read_to_string(&log).unwrap_or_default();
    assert_eq!(find_sync_again(&calls), None, "{fault:?} at {nth}: a failed sync was tried again");
    witness.examine(&exported(&data));
    (hit && (may_go_on || code == Some(70)), witness.answered())
}

/// Finds a sync of data by the thread and of the file for which one was made to fail before, in the
/// lines of strace: `29889 fdatasync(16) = 0`.
fn find_sync_again(calls: &str) -> Option<&str> {
    let mut failed = BTreeSet::new();
    calls.lines().filter(|line| line.contains(" fdatasync(")).find(|line| {
        let call = line.split(')').next();
        if line.contains("INJECTED") {
            failed.insert(call);
            return false;
        }
        failed.contains(&call)
    })
}

/// Meets a fault at each of the calls `short`, or 1,000 times at one call after the other in a long
/// run; `SLOTBOOK_FAULTS` chooses another number for that. A few runs stand beside one another,
/// since most of their time they wait for the disk.
#[expect(clippy::print_stdout, reason = "the figures are the result of a long run")]
async fn meet(fault: Fault, short: &[u64], patience: Duration) -> Tally {
    let long = std::env::var("SLOTBOOK_FAULTS").map_or(1_000, |n| n.parse().expect("a number"));
    let wanted = rounds(u64::try_from(short.len()).expect("a few"), long);
    let runs_max = rounds(wanted, wanted * 3 / 2);
    let at_once = usize::try_from(rounds(1, 4)).expect("a few");
    let mut tally = Tally::default();
    let mut running = tokio::task::JoinSet::new();
    let mut started = 0;
    loop {
        let under_way = u64::try_from(running.len()).expect("a few");
        if running.len() < at_once && tally.injected + under_way < wanted && started < runs_max {
            let round = usize::try_from(started).expect("some thousands");
            let nth = rounds(short[round % short.len()], started % fault.last + 1);
            running.spawn(run_with(fault, nth, patience));
            started += 1;
            continue;
        }
        let Some(done) = running.join_next().await else { break };
        let (hit, answered) = done.expect("no answer is lost");
        tally.runs += 1;
        tally.injected += u64::from(hit);
        tally.answered += answered;
        if tally.runs.is_multiple_of(100) {
            println!("{fault:?}: {} faults in {} runs", tally.injected, tally.runs);
        }
    }
    let Tally { runs, injected, answered } = tally;
    println!("{fault:?}: {injected} faults in {runs} runs, {answered} answered writes: none lost");
    tally
}

/// Meets each of these faults, which end the process.
#[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
async fn meet_all(faults: &[Fault]) {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    for fault in faults {
        let last = fault.last.min(15);
        let patience = Duration::from_secs(rounds(4, 10));
        let Tally { runs, injected, .. } = meet(*fault, &[1, last.min(4), last], patience).await;
        assert!(injected * 2 > runs, "{fault:?}: {injected} of {runs} runs met their fault");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_failed_write_ends_the_process_and_loses_nothing_that_was_answered() {
    meet_all(&FAULTS[..2]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_failed_sync_ends_the_process_and_loses_nothing_that_was_answered() {
    meet_all(&FAULTS[2..4]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_failed_rename_ends_the_process_and_loses_nothing_that_was_answered() {
    meet_all(&FAULTS[4..]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_failed_read_of_a_serving_store_loses_nothing_that_was_answered() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    // The reads of a start come first, then those of each new journal and its snapshots: new
    // generations are due each second.
    let calls: [&[u64]; 2] = [&[1, 2, 5, 10, 17, 26, 37, 50], &[1, 3, 8, 15]];
    for (fault, calls) in READ_FAULTS.into_iter().zip(calls) {
        let tally = meet(fault, calls, Duration::from_millis(1_500)).await;
        assert!(tally.injected >= 3, "{fault:?}: {}", tally.injected);
    }
}
