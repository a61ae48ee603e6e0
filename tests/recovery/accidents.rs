//! Accidents of operators: files of the store removed under a running server, a removed lock, a paused process, a disk
//! that does not answer, starts without threads, crash loops and bursts of connections.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::faults::strace_works;
use super::server::{
    Served, appointments, booking, complaint, exported, half_hour, practice, signal, store_of,
    unlimited,
};
use super::witness::{CALENDARS, Witness};

/// Exit code after a failure of the store.
const STORE_FAILED: Option<i32> = Some(70);

/// Something that happens to the data directory of a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accident {
    JournalRemoved,
    AllRemoved,
    NameRemoved(&'static str),
    DirectoryMoved,
}

impl Accident {
    fn happen(self, data: &Path) {
        match self {
            Self::JournalRemoved => {
                fs::remove_dir_all(newest_journal(data)).expect("it is removed");
            }
            Self::AllRemoved => fs::remove_dir_all(data).expect("it is removed"),
            Self::NameRemoved(name) => {
                fs::rename(data.join(name), data.with_extension("kept")).expect("it is moved");
            }
            Self::DirectoryMoved => {
                fs::rename(data, data.with_extension("away")).expect("it is moved");
            }
        }
    }

    /// Puts back what was moved. Whether all is there again.
    fn undo(self, data: &Path) -> bool {
        match self {
            Self::JournalRemoved | Self::AllRemoved => return false,
            Self::NameRemoved(name) => {
                fs::rename(data.with_extension("kept"), data.join(name)).expect("it is moved");
            }
            Self::DirectoryMoved => {
                fs::rename(data.with_extension("away"), data).expect("it is moved");
            }
        }
        true
    }
}

/// Waits until the server has ended by itself. One that does not is told to end, and so ends well.
fn left(server: Served) -> (Option<i32>, String) {
    let (done, is_done) = mpsc::channel::<()>();
    let pid = server.pid();
    let patience = std::thread::spawn(move || {
        if is_done.recv_timeout(Duration::from_secs(30)).is_err() {
            signal(pid, "TERM");
        }
    });
    let left = server.left();
    // The receiver is gone once it has told the server to end.
    let _ = done.send(());
    patience.join().expect("no panic");
    left
}

fn newest_journal(data: &Path) -> std::path::PathBuf {
    let names = fs::read_dir(data).expect("a directory").map(|entry| entry.expect("one").path());
    let is_journal = |path: &std::path::PathBuf| path.to_string_lossy().contains("/journal-");
    names.filter(is_journal).max().expect("a journal")
}

/// Sends a booking, and returns its status if it is answered.
async fn book(base: &str, client: &str, nth: u64) -> Option<u16> {
    let wish = booking(client, &half_hour(nth), 1, &[1]);
    let url = format!("{base}/api/v1/groups/1/appointments?apikey=test-key");
    let answer = reqwest::Client::new().post(url).json(&wish).send().await.ok()?;
    Some(answer.status().as_u16())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_ends_when_files_of_its_store_are_removed_or_moved() {
    for accident in [
        Accident::JournalRemoved,
        Accident::AllRemoved,
        Accident::NameRemoved("CURRENT"),
        Accident::NameRemoved("lock"),
        Accident::NameRemoved("mark"),
        Accident::DirectoryMoved,
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let data = store_of(folder.path(), &practice(CALENDARS));
        let server = Served::heard(&data, &["--log", "warn"]);
        let witness = Arc::new(Witness::brief());
        let load = witness.load(&server.base, 200).await;
        accident.happen(&data);
        // What is sent from now on would be written into files without a name.
        if matches!(accident, Accident::JournalRemoved | Accident::AllRemoved) {
            let late = book(&server.base, "late", 4_000).await;
            assert_ne!(late, Some(201), "{accident:?}");
        }
        let (code, said) = left(server);
        assert_eq!(code, STORE_FAILED, "{accident:?}: {said}");
        assert!(said.contains("was removed, moved or replaced"), "{accident:?}: {said}");
        load.join_all().await;
        if accident.undo(&data) {
            witness.examine(&exported(&data));
        }
    }
}

#[tokio::test]
async fn a_removed_lock_lets_no_second_server_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let server = Served::heard(&data, &[]);
    // Stopped, so that it does not notice before the other has tried.
    signal(server.pid(), "STOP");
    fs::remove_file(data.join("lock")).expect("it is removed");
    let mut second = Command::new("timeout");
    second.args(["20", env!("CARGO_BIN_EXE_slotbook"), "serve", "--listen", "127.0.0.1:0"]);
    let refused = second.env("SLOTBOOK_DATA", &data).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(1), "{}", complaint(&refused));
    assert!(complaint(&refused).contains("is in use"), "{}", complaint(&refused));
    signal(server.pid(), "CONT");
    let (code, said) = left(server);
    assert_eq!(code, STORE_FAILED, "{said}");
    assert_eq!(Served::heard(&data, &[]).terminate(), Some(0), "nothing is missing");
}

/// Serves under strace, with calls that fail.
fn served_with(inject: &str, data: &Path) -> Command {
    let mut command = Command::new("strace");
    let call = inject.split(':').next().expect("a call");
    command.args(["-D", "-f", "--seccomp-bpf", "-qq", "-o"]).arg(data.with_extension("strace"));
    command.args(["-e", &format!("trace={call}"), "-e", &format!("inject={inject}")]);
    command.arg(env!("CARGO_BIN_EXE_slotbook")).args(["serve", "--listen", "127.0.0.1:0"]);
    unlimited(&mut command).env("SLOTBOOK_DATA", data).env("SLOTBOOK_LOG", "warn");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts the command. Returns where it serves; `None` if it ends before.
fn start(mut command: Command) -> (Child, Option<String>) {
    let mut child = command.spawn().expect("strace was found");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("text");
    let base = line.trim().strip_prefix("listening on ").map(str::to_owned);
    (child, base)
}

#[tokio::test]
async fn a_start_without_a_thread_ends_with_the_reason() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let mut refused = 0;
    for nth in 1..40 {
        let inject = format!("clone3:error=EAGAIN:when={nth}");
        let (child, base) = start(served_with(&inject, &data));
        let has_served = base.is_some();
        if has_served {
            signal(child.id(), "TERM");
        }
        let ended = child.wait_with_output().expect("it ends");
        let said = complaint(&ended);
        let calls = fs::read_to_string(data.with_extension("strace")).expect("a log");
        if !calls.contains("INJECTED") {
            assert!(has_served && refused > 3, "{refused} places before {nth}: {said}");
            return;
        }
        if has_served {
            assert_eq!(ended.status.code(), Some(0), "place {nth}: {said}");
        } else {
            assert_eq!(ended.status.code(), Some(1), "place {nth}: {said}");
            assert!(said.contains("gives no thread"), "place {nth}: {said}");
            refused += 1;
        }
    }
    panic!("each start makes more threads than that");
}

#[tokio::test]
async fn a_disk_that_does_not_answer_once_is_warned_of_and_one_that_never_does_ends_the_process() {
    if !strace_works() {
        return println!("skipped: strace is not here or may not trace");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    // The monitor's third look, and all from then on: each thread counts for itself.
    let (child, base) = start(served_with("statfs:error=EIO:when=3+", &data));
    assert_eq!(book(&base.expect("it serves"), "early", 4).await, Some(201));
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), STORE_FAILED, "{}", complaint(&ended));
    assert!(complaint(&ended).contains("ask for the free space"), "{}", complaint(&ended));

    let (mut child, base) = start(served_with("statfs:error=EIO:when=3", &data));
    let mut warnings = BufReader::new(child.stderr.take().expect("piped")).lines();
    let warned = warnings.find(|line| {
        line.as_ref().is_ok_and(|line| line.contains("the disk does not answer a look at it"))
    });
    assert!(warned.is_some(), "it goes on after the warning");
    assert_eq!(book(&base.expect("it serves"), "late", 8).await, Some(201));
    signal(child.id(), "TERM");
    assert!(warnings.all(|line| line.is_ok()), "the rest of what it says is text");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!(appointments(&exported(&data)).count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_of_a_minute_amid_bookings_is_no_stalled_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(CALENDARS));
    let server = Served::on(&data, &[]);
    let witness = Arc::new(Witness::brief());
    let load = witness.load(&server.base, 200).await;
    signal(server.pid(), "STOP");
    tokio::time::sleep(Duration::from_secs(62)).await;
    signal(server.pid(), "CONT");
    let status = book(&server.base, "later", 17_000).await;
    assert!(matches!(status, Some(201 | 503)), "it goes on: {status:?}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(book(&server.base, "last", 17_004).await, Some(201));
    assert_eq!(server.terminate(), Some(0));
    load.join_all().await;
    let document = exported(&data);
    let kept: BTreeSet<u64> =
        appointments(&document).map(|row| row["id"].as_u64().expect("an id")).collect();
    let booked = witness.booked();
    assert!(booked.len() > 100 && booked.iter().all(|id| kept.contains(id)), "{booked:?}");
}

#[tokio::test]
async fn lives_that_end_within_a_second_leave_few_journals() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let journals = || {
        let names = fs::read_dir(&data).expect("a directory");
        let names = names.map(|entry| entry.expect("one").file_name());
        names.filter(|name| name.to_string_lossy().starts_with("journal-")).count()
    };
    let current = || fs::read(data.join("CURRENT")).expect("it stands");
    // A generation keeps the journals since the one before it, so that about two times 18 may be there.
    let (mut most, mut generation) = (0, current());
    let mut lives_since = 0;
    for life in 0..60 {
        let server = Served::on(&data, &[]);
        assert_eq!(book(&server.base, &format!("c{life}"), life * 2).await, Some(201));
        // The compaction of a life begins with its service. Others end at any moment.
        for _ in 0..250 {
            if lives_since < 17 || current() != generation {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        server.end("KILL");
        most = most.max(journals());
        lives_since += 1;
        if current() != generation {
            (generation, lives_since) = (current(), 0);
        }
    }
    assert!((17..=40).contains(&most), "{most} journals");
    assert_eq!(appointments(&exported(&data)).count(), 60);
}

#[tokio::test]
async fn a_burst_of_a_thousand_connections_waits_for_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let server = Served::on(&data, &["--source-connections-max", "2000"]);
    let address: std::net::SocketAddr =
        server.base.strip_prefix("http://").expect("a base").parse().expect("an address");
    let allowed = fs::read_to_string("/proc/sys/net/core/somaxconn").expect("linux");
    if allowed.trim().parse::<u32>().expect("a number") < 1_100 {
        return println!("skipped: this system lets fewer connections wait");
    }
    // Stopped, it accepts none, so that all of them wait in the backlog.
    signal(server.pid(), "STOP");
    let connected = tokio::task::spawn_blocking(move || {
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_secs(20));
        (0..1_000).map(connect).collect::<Result<Vec<_>, _>>()
    })
    .await;
    let connected = connected.expect("no panic").expect("each has room in the backlog");
    signal(server.pid(), "CONT");
    assert_eq!(connected.len(), 1_000);
    drop(connected);
    assert_eq!(book(&server.base, "after", 4).await, Some(201));
    assert_eq!(server.terminate(), Some(0));
}
