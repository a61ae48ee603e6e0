//! A disk that refuses: strace makes the nth call of some kind fail. Nobody is answered for what is not there, the
//! process ends with 70, and the next start finds all that was answered.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::rounds;
use super::server::{complaint, exported, practice, run, store_of};
use super::witness::{CALENDARS, Witness};

/// The calls that change a disk or promise that it holds something, and how they fail.
const FAULTS: [(&str, &str); 5] = [
    ("pwrite64", "EIO"),
    ("pwrite64", "ENOSPC"),
    ("fdatasync", "EIO"),
    ("fsync", "EIO"),
    ("rename", "EIO"),
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
    (call, error): (&str, &str),
    nth: u64,
    log: &Path,
) -> (Child, Option<String>) {
    let mut command = Command::new("strace");
    command.args(["-D", "-f", "-qq", "-o"]).arg(log);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_write_or_sync_ends_the_process_and_loses_nothing_that_was_answered() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let (mut injected, mut answered, mut runs) = (0, 0, 0);
    for fault in FAULTS {
        let last = rounds(3, 200);
        for round in 0..last {
            // In a short run a few calls far apart, in a long one each of the first.
            let nth = if last == 3 {
                [1, 4, 15][usize::try_from(round).expect("small")]
            } else {
                round + 1
            };
            let folder = tempfile::tempdir().expect("a folder");
            let data = store_of(folder.path(), &practice(CALENDARS));
            let log = folder.path().join("strace.log");
            let witness = Arc::new(Witness::verbose());
            let (mut child, base) = failing(&data, &paths(&data), fault, nth, &log);
            if let Some(base) = base {
                let clients = witness.load(&base, 600).await;
                // The load goes on until the call comes, but not for ever: it may never come.
                let deadline = tokio::time::Instant::now() + Duration::from_secs(rounds(2, 60));
                while child.try_wait().expect("ours").is_none() {
                    if tokio::time::Instant::now() > deadline {
                        child.kill().expect("ours");
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                clients.join_all().await;
            }
            let code = child.wait().expect("ours").code();
            let hit = std::fs::read_to_string(&log).unwrap_or_default().contains("INJECTED");
            assert!(
                !hit || code == Some(70) || code.is_none(),
                "{fault:?} at {nth}: ended with {code:?}"
            );
            injected += u64::from(hit && code == Some(70));
            runs += 1;
            witness.examine(&exported(&data));
            answered += witness.answered();
        }
    }
    println!(
        "{runs} runs, {injected} ended by an injected fault, {answered} answered writes: nothing lost"
    );
    assert!(injected * 2 > runs, "{injected} of {runs} runs met their fault");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_read_of_a_serving_store_loses_nothing_that_was_answered() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let (mut injected, mut answered) = (0, 0);
    for round in 0..rounds(10, 200) {
        // The reads of a start come first, then those of each new journal and its snapshots.
        let nth = if rounds(0, 1) == 1 { round + 1 } else { 1 + round * round };
        let folder = tempfile::tempdir().expect("a folder");
        let data = store_of(folder.path(), &practice(CALENDARS));
        let log = folder.path().join("strace.log");
        let witness = Arc::new(Witness::verbose());
        let (mut child, base) = failing(&data, &paths(&data), ("pread64", "EIO"), nth, &log);
        if let Some(base) = base {
            let clients = witness.load(&base, 400).await;
            // Compactions are due each second: they begin new journals under load.
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            if child.try_wait().expect("ours").is_none() {
                child.kill().expect("ours");
            }
            clients.join_all().await;
        }
        child.wait().expect("ours");
        injected +=
            u64::from(std::fs::read_to_string(&log).unwrap_or_default().contains("INJECTED"));
        witness.examine(&exported(&data));
        answered += witness.answered();
    }
    println!("{injected} reads failed, {answered} answered writes: nothing lost");
    assert!(injected >= 3, "{injected}");
}
