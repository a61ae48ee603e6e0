//! Each call to the system of a start, a compaction, a backup and a merge fails once: the program ends or goes on, it
//! never hangs, and the store holds what it held.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::faults::strace_works;
use super::reads::copy_of;
use super::rounds;
use super::server::{
    Served, complaint, exported, practice, run, signal, store_of, unlimited, without_access,
};

/// Calls, each with an error that the system gives for it.
const CALLS: [(&str, &str); 13] = [
    ("clone3", "EAGAIN"),
    ("openat", "EMFILE"),
    ("mmap", "ENOMEM"),
    ("pread64", "EIO"),
    ("pwrite64", "ENOSPC"),
    ("fsync", "EIO"),
    ("fdatasync", "EIO"),
    ("rename", "EIO"),
    ("ftruncate", "EIO"),
    ("mkdir", "ENOSPC"),
    ("unlinkat", "EIO"),
    ("getdents64", "EIO"),
    ("flock", "ENOLCK"),
];
/// Seconds after which a program hangs.
const HANGS_AFTER: &str = "60";
/// Exit code of `timeout` for a program that it has killed.
const HUNG: i32 = 137;

/// What the program does while a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Start,
    Compaction,
    Backup,
    Merge,
}

/// A store with a group and appointments in its journal, and what belongs to it.
struct Scene {
    folder: tempfile::TempDir,
    data: PathBuf,
    /// Its content before the merge.
    before: Value,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = store_of(folder.path(), &practice(2));
        let added = run(&["group", "add", "more", "--timezone", "Paris"], &data);
        assert!(added.status.success(), "{}", complaint(&added));
        let before = without_access(exported(&data));
        let mut other = practice(3);
        other["groups"][0]["name"] = json!("merged");
        std::fs::write(folder.path().join("merge.json"), other.to_string()).expect("written");
        Self { folder, data, before }
    }

    /// Does the work on a copy of the store while the `nth` call of each thread fails. Whether the
    /// call came.
    fn survive(&self, work: Work, (call, error): (&str, &str), nth: u64) -> bool {
        let what = format!("{work:?}, {call} {error}, place {nth}");
        let data = copy_of(&self.data, &self.folder.path().join("copy"));
        let backup = path_in(&self.folder, "backup");
        let log = self.folder.path().join("strace.log");
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", HANGS_AFTER, "strace", "-D", "-f", "--seccomp-bpf", "-qq"]);
        command.arg("-o").arg(&log).args(["-e", &format!("trace={call}")]);
        command.args(["-e", &format!("inject={call}:error={error}:when={nth}")]);
        command.arg(env!("CARGO_BIN_EXE_slotbook"));
        match work {
            Work::Start => command.args(["serve", "--listen", "127.0.0.1:0"]),
            Work::Compaction => {
                command.args(["serve", "--listen", "127.0.0.1:0", "--journal-mib", "0"])
            }
            Work::Backup => command.args(["backup", &backup]),
            Work::Merge => {
                command.args(["import", "--merge", &path_in(&self.folder, "merge.json")])
            }
        };
        // The test's own search path of libraries makes a start open many more.
        command.env_remove("LD_LIBRARY_PATH");
        unlimited(&mut command).env("SLOTBOOK_DATA", &data).env("SLOTBOOK_LOG", "off");
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().expect("piped"));
        said.read_line(&mut line).expect("text");
        if line.starts_with("listening on ") {
            if work == Work::Compaction {
                await_generation(&data, &mut child);
            }
            if child.try_wait().expect("ours").is_none() {
                signal(child.id(), "TERM");
            }
        }
        let ended = child.wait().expect("it ends");
        assert!(ended.code() != Some(HUNG) && ended.signal() != Some(9), "{what} hangs");
        // Before the program itself begins, the loader refuses; without memory it aborts.
        let is_clean = matches!(ended.code(), Some(0 | 1 | 70 | 127));
        assert!(is_clean || call == "mmap", "{what}: {ended:?}");
        let checked = run(&["check"], &data);
        assert!(checked.status.success(), "{what}: {}", complaint(&checked));
        let content = without_access(exported(&data));
        assert!(content == self.before || is_merged(&content), "{what}: {content}");
        if work == Work::Backup && Path::new(&backup).exists() {
            let checked = run(&["check"], Path::new(&backup));
            let is_empty = complaint(&checked).contains("holds no store");
            assert!(checked.status.success() || is_empty, "{what}: {}", complaint(&checked));
            std::fs::remove_dir_all(&backup).expect("ours");
        }
        assert_eq!(Served::on(&data, &[]).terminate(), Some(0), "{what}");
        std::fs::remove_dir_all(&data).expect("ours");
        std::fs::read_to_string(&log).unwrap_or_default().contains("INJECTED")
    }
}

/// Whether a store holds the group of the document that was merged into it, and the other one.
fn is_merged(content: &Value) -> bool {
    let groups = &content["groups"];
    let calendars = groups[0]["calendars"].as_array().map_or(0, Vec::len);
    groups[0]["name"] == "merged" && calendars == 3 && groups[1]["name"] == "more"
}

fn path_in(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_str().expect("a plain path").to_owned()
}

/// Waits for a new generation, for the end of the program, or for a moment.
fn await_generation(data: &Path, child: &mut std::process::Child) {
    let current = || std::fs::read(data.join("CURRENT")).expect("it stands");
    let (first, began) = (current(), Instant::now());
    while current() == first
        && began.elapsed() < Duration::from_secs(2)
        && child.try_wait().expect("ours").is_none()
    {
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Lets calls fail: a few in a short run, one after the other until there is no more in a long one.
#[expect(clippy::print_stdout, reason = "the figures are the result of a long run")]
fn let_each_fail(work: Work) {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let scene = Scene::new();
    let mut injected = 0;
    for fault in CALLS {
        let mut nth = 1;
        while scene.survive(work, fault, nth) {
            injected += 1;
            nth = rounds(nth * 3, nth + 1);
        }
    }
    println!("{work:?}: {injected} calls failed, and nothing was lost");
    assert!(injected > 15, "{injected}");
}

#[test]
fn each_call_of_a_start_may_fail() {
    let_each_fail(Work::Start);
}

#[test]
fn each_call_of_a_compaction_may_fail() {
    let_each_fail(Work::Compaction);
}

#[test]
fn each_call_of_a_backup_may_fail() {
    let_each_fail(Work::Backup);
}

#[test]
fn each_call_of_a_merge_may_fail() {
    let_each_fail(Work::Merge);
}

/// Makes a backup that is killed at the `nth` of these calls. Whether the call came.
fn kill_backup(scene: &Scene, backup: &str, call: &str, nth: u64) -> bool {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
    command.args(["-e", &format!("inject={call}:signal=KILL:when={nth}")]);
    command.args([env!("CARGO_BIN_EXE_slotbook"), "backup", backup]);
    command.env("SLOTBOOK_DATA", &scene.data).env("SLOTBOOK_LOG", "off");
    let done = unlimited(&mut command).output().expect("strace runs");
    assert!(done.status.success() || done.status.signal() == Some(9), "{done:?}");
    !done.status.success()
}

#[tokio::test]
async fn a_killed_backup_leaves_no_directory_that_is_served_as_a_shop() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let scene = Scene::new();
    let (mut unfinished, mut whole) = (0, 0);
    for call in ["mkdir", "openat", "pwrite64", "fsync", "rename"] {
        let mut nth = 1;
        loop {
            let backup = path_in(&scene.folder, &format!("{call}-{nth}"));
            let was_killed = kill_backup(&scene, &backup, call, nth);
            let place = Path::new(&backup);
            if !was_killed || place.join("CURRENT").exists() {
                assert_eq!(without_access(exported(place)), scene.before, "{call} {nth}");
                whole += 1;
            } else {
                let refused = run(&["serve", "--listen", "127.0.0.1:0"], place);
                assert_eq!(refused.status.code(), Some(1), "{call} {nth}");
                let said = complaint(&refused);
                assert!(said.contains("holds no store"), "{call} {nth}: {said}");
                let served = Served::on(place, &["--create"]);
                let ready = reqwest::get(format!("{}/readyz", served.base)).await;
                assert_eq!(ready.expect("an answer").status(), 503, "{call} {nth}");
                served.terminate();
                unfinished += 1;
            }
            if !was_killed {
                break;
            }
            nth = rounds(nth * 3, nth + 1);
        }
    }
    println!("{unfinished} backups were not whole, {whole} were");
    assert!(unfinished > 5 && whole >= 5, "{unfinished} {whole}");
}
