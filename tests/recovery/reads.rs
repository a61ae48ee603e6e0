//! A disk that fails to read: a start that refuses leaves every byte as it was, and the next start
//! on a healthy disk finds all that was answered. Reference 8.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::faults::strace_works;
use super::rounds;
use super::server::{Served, complaint, exported, practice, run, signal, store_of};
use super::witness::{CALENDARS, Witness};

/// Calls by which files are read: sled's own and those of the standard library.
const READS: [&str; 2] = ["pread64", "read"];

/// Files of a store by path, without the lock, which holds nothing of the store.
fn files_of(data: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut open = vec![data.to_owned()];
    let mut files = BTreeMap::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.is_file() && !path.ends_with("lock") {
                let bytes = std::fs::read(&path).expect("a file");
                files.insert(path.strip_prefix(data).expect("below").to_owned(), bytes);
            }
        }
    }
    files
}

pub(crate) fn copy_of(data: &Path, to: &Path) -> PathBuf {
    let copied = Command::new("cp").arg("-a").arg(data).arg(to).status().expect("cp is there");
    assert!(copied.success());
    to.to_owned()
}

/// A store under load that was killed, and the witness of what it answered.
async fn killed_store(folder: &Path, answers: usize) -> (PathBuf, Arc<Witness>) {
    let data = store_of(folder, &practice(CALENDARS));
    let witness = Arc::new(Witness::verbose());
    let server = Served::on(&data, &[]);
    let load = witness.load(&server.base, answers).await;
    server.end("KILL");
    load.join_all().await;
    (data, witness)
}

/// Starts the program with its `nth` call of a kind failing, counted per thread; returns whether the
/// call came, and whether the program refused. A server that starts is killed.
fn run_with_fault(arguments: &[&str], data: &Path, call: &str, nth: u64) -> (bool, bool) {
    let log = data.with_extension("strace");
    let mut command = Command::new("strace");
    command.args(["-D", "-f", "-qq", "-o"]).arg(&log);
    command.args(["-e", &format!("trace={call}")]);
    command.args(["-e", &format!("inject={call}:error=EIO:when={nth}")]);
    if call == "read" {
        // Only what lies below the data directory fails, not configuration or random numbers.
        for file in files_of(data).keys() {
            command.arg("-P").arg(data.join(file));
        }
    }
    command.arg(env!("CARGO_BIN_EXE_slotbook")).args(arguments);
    command.env("SLOTBOOK_LOG", "off").env("SLOTBOOK_DATA", data);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("strace was found");
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    stdout.read_line(&mut line).expect("text");
    if line.starts_with("listening on") {
        signal(child.id(), "KILL");
    }
    let status = child.wait().expect("it ends");
    let was_injected = std::fs::read_to_string(&log).unwrap_or_default().contains("INJECTED");
    (was_injected, !line.starts_with("listening on") && !status.success())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_read_at_start_destroys_nothing() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (data, witness) = killed_store(folder.path(), 1_000).await;
    let (mut injected, mut refused) = (0, 0);
    for call in READS {
        for nth in 1..=rounds(40, 500) {
            // A short run tries the first calls, and then every third.
            if rounds(1, 0) == 1 && nth > 12 && nth % 3 != 0 {
                continue;
            }
            let copy = copy_of(&data, &folder.path().join(format!("{call}-{nth}")));
            let before = files_of(&copy);
            let (was_injected, was_refused) =
                run_with_fault(&["serve", "--listen", "127.0.0.1:0"], &copy, call, nth);
            injected += u64::from(was_injected);
            if was_refused {
                refused += 1;
                assert_eq!(changed(&before, &files_of(&copy)), "", "{call} {nth}: it refused");
            }
            witness.examine(&exported(&copy));
            std::fs::remove_dir_all(&copy).expect("ours");
        }
    }
    println!("{injected} reads failed at start, {refused} starts refused: nothing lost");
    assert!(injected >= 10 && refused >= 5, "{injected} failed, {refused} refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_read_of_a_command_changes_no_byte() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (data, witness) = killed_store(folder.path(), 400).await;
    let out = folder.path().join("out");
    let out = out.to_str().expect("a plain path");
    let (mut injected, mut refused) = (0, 0);
    for arguments in [&["check"][..], &["export", out], &["backup", out]] {
        for call in READS {
            for nth in (1..=rounds(12, 60)).step_by(usize::try_from(rounds(3, 1)).expect("small")) {
                let before = files_of(&data);
                let (was_injected, was_refused) = run_with_fault(arguments, &data, call, nth);
                injected += u64::from(was_injected);
                refused += u64::from(was_refused);
                let what = format!("{arguments:?} {call} {nth}");
                assert_eq!(changed(&before, &files_of(&data)), "", "{what}");
                drop(std::fs::remove_dir_all(out));
                drop(std::fs::remove_file(out));
            }
        }
    }
    witness.examine(&exported(&data));
    println!("{injected} reads of commands failed, {refused} refused: no byte changed");
    assert!(injected >= 6 && refused >= 3, "{injected} failed, {refused} refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_byte_changes_nothing_and_its_repair_brings_all_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let (data, witness) = killed_store(folder.path(), 400).await;
    let journals: Vec<PathBuf> = files_of(&data)
        .into_keys()
        .filter(|file| file.starts_with("journal-000001") || file.ends_with("journal-000002/db"))
        .filter(|file| file.ends_with("db"))
        .collect();
    let journal = data.join(&journals[0]);
    let end = std::fs::read(&journal).expect("a file").iter().rposition(|byte| *byte != 0);
    let end = u64::try_from(end.expect("it is written")).expect("a length");
    let mut refused = 0;
    for part in 1..rounds(12, 200) {
        let at = end * part / rounds(12, 200);
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&journal);
        let file = file.expect("ours");
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).expect("it is there");
        file.write_all_at(&[byte[0] ^ 0x55], at).expect("ours");
        let before = files_of(&data);
        let started = Command::new(env!("CARGO_BIN_EXE_slotbook"))
            .args(["check"])
            .env("SLOTBOOK_DATA", &data)
            .output()
            .expect("the program runs");
        if !started.status.success() {
            refused += 1;
            let served = run(&["serve", "--listen", "127.0.0.1:0"], &data);
            assert!(!served.status.success(), "{}", complaint(&served));
        }
        assert_eq!(changed(&before, &files_of(&data)), "", "byte {at}");
        file.write_all_at(&byte, at).expect("ours");
        witness.examine(&exported(&data));
    }
    println!("{refused} flipped bytes refused a start: each repair brought all back");
    assert!(refused > 0);
}

/// Names of the files that differ, for messages that can be read.
fn changed(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> String {
    let mut names = Vec::new();
    for name in before.keys().chain(after.keys().filter(|name| !before.contains_key(*name))) {
        if before.get(name) != after.get(name) {
            names.push(name.display().to_string());
        }
    }
    names.join(", ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_while_an_unreadable_journal_is_removed_leaves_a_store_that_starts() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (data, witness) = killed_store(folder.path(), 20).await;
    // The first write of a life begins a journal. It cannot be read back, and while it is removed
    // the process is killed: two of its files are gone then.
    let journal = data.join("journal-000002");
    let log = data.with_extension("strace");
    let mut command = Command::new("strace");
    command.args(["-D", "-f", "-qq", "-o"]).arg(&log).args(["-e", "trace=pread64,unlinkat"]);
    command.args(["-e", "inject=pread64:error=EIO", "-e", "inject=unlinkat:signal=KILL:when=3"]);
    for path in [journal.clone(), journal.join("db"), journal.with_extension("new")] {
        command.arg("-P").arg(path);
    }
    command.arg(env!("CARGO_BIN_EXE_slotbook")).args(["serve", "--listen", "127.0.0.1:0"]);
    command.env("SLOTBOOK_LOG", "off").env("SLOTBOOK_DATA", &data);
    let child =
        super::server::unlimited(&mut command).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("strace was found");
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    stdout.read_line(&mut line).expect("text");
    // Upkeep may write before the server listens, and then ends it already.
    if let Some(base) = line.trim().strip_prefix("listening on ") {
        witness.load(base, 1).await.join_all().await;
    }
    let status = child.wait().expect("it ends");
    assert_eq!(status.signal(), Some(9), "{}", std::fs::read_to_string(&log).unwrap_or_default());
    witness.examine(&exported(&data));
}
