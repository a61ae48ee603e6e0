//! Upgrades: a release refuses the store of a later one without a change, and the first start after
//! an upgrade may be killed at any moment. Reference 8.10.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::faults::strace_works;
use super::golden::{PRESENT, content, restored, stores};
use super::rounds;
use super::second_reader::{compare, edit};
use super::server::{Served, complaint, exported, practice, signal, without_access};

/// Commands that open a store. `OUT` is a path of their own.
const COMMANDS: [&[&str]; 8] = [
    &["serve", "--listen", "127.0.0.1:0"],
    &["check"],
    &["backup", "OUT"],
    &["export", "OUT"],
    &["import", "--merge", "DOCUMENT"],
    &["group", "list"],
    &["key", "list"],
    &["history", "--group", "1"],
];

/// Calls before which the first start is killed, with their place in their thread.
const MOMENTS: [(&str, u64); 38] = [
    ("fsync", 1),
    ("rename", 1),
    ("fdatasync", 1),
    ("unlinkat", 1),
    ("mkdir", 2),
    ("pwrite64", 1),
    ("fsync", 2),
    ("write", 9),
    ("fsync", 5),
    ("rename", 2),
    ("fdatasync", 4),
    ("unlinkat", 4),
    ("mkdir", 5),
    ("pwrite64", 2),
    ("fsync", 3),
    ("rmdir", 1),
    ("fsync", 11),
    ("rename", 3),
    ("fdatasync", 6),
    ("unlinkat", 8),
    ("mkdir", 9),
    ("pwrite64", 3),
    ("fsync", 8),
    ("flock", 7),
    ("fsync", 18),
    ("fsync", 22),
    ("fdatasync", 2),
    ("unlinkat", 12),
    ("mkdir", 12),
    ("ftruncate", 1),
    ("fsync", 14),
    ("ftruncate", 3),
    ("fsync", 25),
    ("rename", 4),
    ("fdatasync", 7),
    ("unlinkat", 16),
    ("mkdir", 13),
    ("write", 12),
];
/// Files and folders of a store, with their time and content. Neither the file `lock`, which holds
/// nothing of the store, nor the time of the directory itself, in which it is made, counts.
fn state_of(data: &Path) -> BTreeMap<PathBuf, (SystemTime, Option<Vec<u8>>)> {
    let mut open = vec![data.to_owned()];
    let mut found = BTreeMap::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path == data.join("lock") {
                continue;
            }
            let changed = fs::metadata(&path).expect("it stands").modified().expect("a time");
            let bytes = path.is_file().then(|| fs::read(&path).expect("a file"));
            if path.is_dir() {
                open.push(path.clone());
            }
            found.insert(path, (changed, bytes));
        }
    }
    found
}

/// Names of the databases of a kind, in the order of their numbers.
fn databases(data: &Path, prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(data).expect("a folder").map(|entry| entry.expect("an entry"));
    let names = entries.map(|entry| entry.file_name().into_string().expect("plain"));
    let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort();
    names
}

/// The part of a store whose format a later release raises.
#[derive(Clone, Copy, Debug)]
enum Raised {
    Record,
    Snapshot,
    Manifest,
    JournalHeader,
    Mark,
}

/// Makes a store as a later release would have written it.
fn raise(data: &Path, part: Raised) {
    let current = fs::read_to_string(data.join("CURRENT")).expect("it stands");
    let generation = current.split(' ').next().expect("a number");
    let snapshots = format!("snapshots-{generation}");
    let journal = format!("journal-{generation}");
    match part {
        Raised::Record => {
            let used = databases(data, "journal-").into_iter().rev();
            let last =
                used.map(|name| (edit::last_batch(data, &name), name)).find(|(at, _)| *at > 0);
            let (batch, journal) = last.expect("a journal with a batch");
            edit::raise_record(data, &journal, batch);
        }
        Raised::Snapshot => {
            let key = [&1_u64.to_be_bytes()[..], &0_u32.to_be_bytes()].concat();
            edit::raise_header(data, &snapshots, &key);
        }
        Raised::Manifest => edit::raise_header(data, &snapshots, &[0]),
        Raised::JournalHeader => edit::raise_header(data, &journal, &[0; 12]),
        Raised::Mark => edit::raise_mark(data),
    }
}

/// Runs each command of a program on a store, which it has to refuse as it is: with a reason, a
/// remedy and exit code 1.
fn assert_refused(program: &Path, data: &Path, reason: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let document = folder.path().join("document.json");
    fs::write(&document, practice(1).to_string()).expect("written");
    let before = state_of(data);
    for (nth, arguments) in COMMANDS.iter().enumerate() {
        let out = folder.path().join(format!("out-{nth}"));
        let arguments = arguments.iter().map(|argument| match *argument {
            "OUT" => out.clone(),
            "DOCUMENT" => document.clone(),
            other => PathBuf::from(other),
        });
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "60"]).arg(program).args(arguments);
        command.env("SLOTBOOK_DATA", data).env_remove("SLOTBOOK_LOG");
        let done = command.output().expect("it runs");
        let said = complaint(&done);
        assert_eq!(done.status.code(), Some(1), "{nth}: {said}");
        assert!(said.contains(reason), "{nth}: {said}");
        assert!(said.contains("start the release that wrote it"), "{nth}: {said}");
        let after = state_of(data);
        let names = |state: &BTreeMap<PathBuf, _>| state.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&before), names(&after), "{nth}");
        assert!(before == after, "{nth}: a file has changed");
        assert!(!out.exists(), "{nth}: it has written something");
    }
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_slotbook"))
}

#[test]
fn a_store_of_a_later_release_is_refused_and_not_changed() {
    let known: u16 = PRESENT.parse().expect("a number");
    for part in
        [Raised::Record, Raised::Snapshot, Raised::Manifest, Raised::JournalHeader, Raised::Mark]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let data = restored(&stores().join(PRESENT), folder.path());
        compare(&data, "before it is raised");
        raise(&data, part);
        let known = match part {
            Raised::Record | Raised::Snapshot => known,
            Raised::Manifest | Raised::JournalHeader | Raised::Mark => 1,
        };
        let next = known + 1;
        let reason = format!("has format {next}, this slotbook reads up to {known}");
        println!("{part:?}: {reason}");
        assert_refused(program(), &data, &reason);
    }
}

/// Runs git in the repository. `None` where it fails, as in an archive without a history.
fn git(arguments: &[&str]) -> Option<String> {
    let repository = env!("CARGO_MANIFEST_DIR");
    let done = Command::new("git").arg("-C").arg(repository).args(arguments).output().ok()?;
    let said = String::from_utf8(done.stdout).expect("text");
    done.status.success().then(|| said.trim().to_owned())
}

/// Builds the program of the last commit that wrote the format before the present one. `None`
/// without the history of the repository.
fn program_of_the_format_before() -> Option<PathBuf> {
    let written = format!("RECORD_FORMAT: u16 = {PRESENT}");
    let search = ["log", "--reverse", "--format=%H", "-S", &written, "--", "src/store/codec.rs"];
    let found = git(&search)?;
    let before = format!("{}^", found.lines().next()?);
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/upgrade");
    let source = target.join("source");
    let source_name = source.to_str().expect("a plain path");
    if source.exists() {
        git(&["-C", source_name, "checkout", "--quiet", "--detach", &before])?;
    } else {
        git(&["worktree", "prune"])?;
        git(&["worktree", "add", "--force", "--detach", source_name, &before])?;
    }
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--locked", "--bin", "slotbook"]).current_dir(&source);
    // What `cargo test` says of this package would build the other one's crates again.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO")) {
        if name != "CARGO_HOME" {
            build.env_remove(name);
        }
    }
    build.env("CARGO_TARGET_DIR", &target).env("CARGO_INCREMENTAL", "0");
    assert!(build.status().expect("cargo runs").success(), "the release before builds");
    Some(target.join("debug/slotbook"))
}

#[test]
fn the_release_before_refuses_a_store_of_this_one_and_does_not_change_it() {
    if rounds(0, 1) == 0 {
        return println!("skipped: it builds another release, with SLOTBOOK_LONG=1");
    }
    let Some(old) = program_of_the_format_before() else {
        return println!("skipped: the history of the repository is not here");
    };
    let present: u16 = PRESENT.parse().expect("a number");
    let known = present - 1;
    let reason = format!("has format {present}, this slotbook reads up to {known}");
    let folder = tempfile::tempdir().expect("a folder");
    let data = restored(&stores().join(PRESENT), folder.path());
    assert_refused(&old, &data, &reason);
    // A store of its own, after the first start of this release.
    let folder = tempfile::tempdir().expect("a folder");
    let data = restored(&stores().join(known.to_string()), folder.path());
    let checked = Command::new(&old).arg("check").env("SLOTBOOK_DATA", &data).output();
    let checked = checked.expect("it runs");
    assert!(checked.status.success(), "{}", complaint(&checked));
    upgrade(&data, None);
    assert_refused(&old, &data, &reason);
    println!("{} commands of the release before refuse: {reason}", 2 * COMMANDS.len());
}

/// Starts on a store of an earlier release until a generation of this one is current, and ends in
/// peace; or is killed at a moment. Returns whether it was killed.
fn upgrade(data: &Path, moment: Option<(&str, u64)>) -> bool {
    let log = data.with_extension("strace");
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "120"]);
    if let Some((call, nth)) = moment {
        // With --seccomp-bpf some releases of strace send no signal but at the first place.
        command.args(["strace", "-D", "-f", "-qq", "-o"]).arg(&log);
        command.args(["-e", &format!("trace={call}")]);
        command.args(["-e", &format!("inject={call}:signal=KILL:when={nth}")]);
    }
    command.arg(program()).args(["serve", "--listen", "127.0.0.1:0", "--journal-mib", "0"]);
    command.env("SLOTBOOK_DATA", data).env("SLOTBOOK_LOG", "off").env_remove("LD_LIBRARY_PATH");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("it starts");
    let before = fs::read(data.join("CURRENT")).expect("it stands");
    let mut line = String::new();
    let mut said = BufReader::new(child.stdout.take().expect("piped"));
    said.read_line(&mut line).expect("text");
    let began = Instant::now();
    while fs::read(data.join("CURRENT")).expect("it stands") == before
        && child.try_wait().expect("ours").is_none()
    {
        assert!(began.elapsed() < Duration::from_secs(60), "no generation is made");
        std::thread::park_timeout(Duration::from_millis(5));
    }
    if child.try_wait().expect("ours").is_none() {
        signal(child.id(), "TERM");
    }
    let ended = child.wait().expect("it ends");
    let was_killed = ended.code() != Some(0);
    let traced = fs::read_to_string(&log).unwrap_or_default();
    assert_eq!(was_killed, traced.contains("KILL"), "{moment:?}: {ended:?}, {traced}");
    was_killed
}

/// What a store holds after its upgrade: the counts of a golden store, and the whole export. The
/// moment of the export does not count, nor how far the delivery of messages is: notices that had
/// waited are due at some moment of these starts.
fn upgraded(data: &Path) -> (Value, Value) {
    let mut counted = content(data);
    counted["events"].take();
    let mut document = without_access(exported(data));
    for group in document["groups"].as_array_mut().expect("a list") {
        for message in group["messages"].as_array_mut().expect("a list") {
            *message = json!([message["id"], message["kind"], message["appointments"]]);
        }
    }
    (counted, document)
}

/// Compares two exports by their sections, so that a difference is named.
fn assert_same(found: &Value, expected: &Value, what: &str) {
    let sections = |document: &Value| document["groups"][0].as_object().expect("a group").clone();
    let (found_group, expected_group) = (sections(found), sections(expected));
    for (name, section) in &expected_group {
        assert_eq!(found_group.get(name), Some(section), "{what}: {name}");
    }
    assert!(found == expected, "{what}");
}

/// Kills first starts on the golden store of a format: at some moments in a short run, each format
/// at others.
#[expect(clippy::print_stdout, reason = "the figures are the result of a long run")]
fn kill_first_starts(format: usize) {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let golden = stores().join(format.to_string());
    let folder = tempfile::tempdir().expect("a folder");
    let data = restored(&golden, folder.path());
    assert!(!upgrade(&data, None));
    let undisturbed = upgraded(&data);
    let mut kills = 0;
    let (step, kills_min) = (rounds(8, 1), rounds(2, 20));
    let step = usize::try_from(step).expect("small");
    for moment in MOMENTS.iter().skip((format - 1) % step).step_by(step) {
        let folder = tempfile::tempdir().expect("a folder");
        let data = restored(&golden, folder.path());
        if !upgrade(&data, Some(*moment)) {
            continue;
        }
        kills += 1;
        let what = format!("format {format}, killed at {moment:?}");
        compare(&data, &what);
        let (code, said) = Served::heard(&data, &["--journal-mib", "0"]).end("TERM");
        assert_eq!(code, Some(0), "{what}: {said}");
        let found = upgraded(&data);
        assert_eq!(found.0, undisturbed.0, "{what}");
        assert_same(&found.1, &undisturbed.1, &what);
    }
    println!("format {format}: {kills} kills amid the first start, nothing lost");
    assert!(kills >= kills_min, "{kills}");
}

#[test]
fn the_first_start_on_format_1_may_be_killed() {
    kill_first_starts(1);
}

#[test]
fn the_first_start_on_format_2_may_be_killed() {
    kill_first_starts(2);
}

#[test]
fn the_first_start_on_format_3_may_be_killed() {
    kill_first_starts(3);
}

#[test]
fn the_first_start_on_format_4_may_be_killed() {
    kill_first_starts(4);
}

#[test]
fn the_first_start_on_format_5_may_be_killed() {
    kill_first_starts(5);
}

#[test]
fn the_first_start_on_format_6_may_be_killed() {
    kill_first_starts(6);
}

#[test]
fn each_format_before_the_present_one_has_its_kills() {
    let text = include_str!("upgrade.rs");
    for format in 1..PRESENT.parse::<usize>().expect("a number") {
        assert!(text.contains(&format!("kill_first_starts({format});")), "{format}");
    }
}
