//! A disk that fills up: writes are refused before one can fail, reads go on, and nothing is lost.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use super::rounds;
use super::server::{Served, booking, complaint, exported, half_hour, practice, run, store_of};
use super::witness::{CALENDARS, Witness};

/// A file system in memory; unmounted when dropped.
struct Memory(tempfile::TempDir);

impl Memory {
    fn new(mib: u32) -> Result<Self, String> {
        let memory = Self(tempfile::tempdir().map_err(|error| error.to_string())?);
        memory.mount(&["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"]).map(|()| memory)
    }

    fn mount(&self, arguments: &[&str]) -> Result<(), String> {
        let done = Command::new("mount").args(arguments).arg(self.0.path()).output();
        let done = done.map_err(|error| error.to_string())?;
        if done.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&done.stderr).into_owned())
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(self.0.path()).status());
    }
}

/// A file system in memory; `None`, with the reason printed, where none can be mounted.
#[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
fn memory(mib: u32) -> Option<Memory> {
    match Memory::new(mib) {
        Ok(memory) => Some(memory),
        Err(reason) => {
            println!("skipped: a tmpfs cannot be mounted here (it takes root): {reason}");
            None
        }
    }
}

/// Waits until a server takes writes.
async fn await_ready(base: &str) {
    for _ in 0..500 {
        if status(base, "/readyz").await == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the server takes no writes");
}

async fn status(base: &str, path: &str) -> u16 {
    reqwest::get(format!("{base}{path}")).await.expect("an answer").status().as_u16()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fills_up_takes_no_writes_and_answers_reads_and_loses_nothing() {
    let Some(memory) = memory(64) else { return };
    let data = store_of(memory.0.path(), &practice(CALENDARS));
    let witness = Arc::new(Witness::verbose());
    let server = Served::on(&data, &["--disk-reserve-mib", "16"]);
    let clients = witness.load(&server.base, usize::MAX).await;
    clients.join_all().await;
    // Every client was told 503, and the process is there to say so.
    let reading = "/api/v1/groups/1?apikey=test-key";
    assert_eq!(status(&server.base, "/readyz").await, 503);
    assert_eq!(
        (status(&server.base, "/healthz").await, status(&server.base, reading).await),
        (200, 200)
    );
    let write = |client: &str| {
        let wish = booking(client, &half_hour(200_000), 1, &[2]);
        let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", server.base);
        reqwest::Client::new().post(url).json(&wish).send()
    };
    let refused = write("late").await.expect("an answer");
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("retry-after"));
    memory.mount(&["-o", "remount,size=512m"]).expect("it could be mounted");
    await_ready(&server.base).await;
    let answered = witness.answered();
    let more = witness.load(&server.base, 100).await;
    server.end("KILL");
    more.join_all().await;
    witness.examine(&exported(&data));
    println!(
        "{answered} answered writes filled the disk, {} with more room: nothing lost",
        witness.answered()
    );
    assert!(
        answered > 1_000 && witness.answered() > answered,
        "{answered} before there was room again"
    );
}

#[test]
fn a_backup_that_has_no_room_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(8_000));
    let Some(memory) = memory(1) else { return };
    let to = memory.0.path().join("backups/today");
    let refused = run(&["backup", to.to_str().expect("a plain path")], &data);
    assert_eq!(refused.status.code(), Some(1));
    let said = complaint(&refused);
    assert!(
        said.contains("MiB free") && said.contains("make room on it, or choose another place"),
        "{said}"
    );
    assert_eq!(
        std::fs::read_dir(memory.0.path()).expect("it is there").count(),
        0,
        "nothing was made"
    );
    memory.mount(&["-o", "remount,size=64m"]).expect("it could be mounted");
    let done = run(&["backup", to.to_str().expect("a plain path")], &data);
    assert!(done.status.success(), "{}", complaint(&done));
}

/// Writes a file that takes all free space of its disk.
fn fill(path: &std::path::Path) {
    use std::io::Write as _;
    let mut file = std::fs::File::create(path).expect("a name needs no space here");
    for size in [1 << 20, 4_096, 1] {
        while file.write_all(&vec![7; size]).is_ok() {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_without_a_free_byte_serves_reads_and_later_writes() {
    let Some(memory) = memory(64) else { return };
    let data = store_of(memory.0.path(), &practice(CALENDARS));
    let witness = Arc::new(Witness::brief());
    let server = Served::on(&data, &["--disk-reserve-mib", "4"]);
    let clients = witness.load(&server.base, 200).await;
    server.end("KILL");
    clients.join_all().await;

    let filler = memory.0.path().join("filler");
    fill(&filler);
    let server = Served::on(&data, &["--disk-reserve-mib", "4"]);
    let reading = "/api/v1/groups/1?apikey=test-key";
    assert_eq!(status(&server.base, reading).await, 200);
    assert_eq!(status(&server.base, "/readyz").await, 503);
    let wish = booking("late", &half_hour(200_000), 1, &[2]);
    let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", server.base);
    let refused = reqwest::Client::new().post(url).json(&wish).send().await.expect("an answer");
    assert_eq!(refused.status(), 503);

    std::fs::remove_file(&filler).expect("ours");
    await_ready(&server.base).await;
    let clients = witness.load(&server.base, 100).await;
    server.end("KILL");
    clients.join_all().await;
    witness.examine(&exported(&data));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_filled_in_one_burst_under_load_ends_no_process() {
    let Some(memory) = memory(96) else { return };
    let data = store_of(memory.0.path(), &practice(CALENDARS));
    let witness = Arc::new(Witness::brief());
    let server = Served::on(&data, &["--disk-reserve-mib", "4"]);
    let filler = memory.0.path().join("filler");
    let reading = "/api/v1/groups/1?apikey=test-key";
    let bursts = rounds(6, 24);
    for burst in 0..bursts {
        let clients = witness.load(&server.base, 100).await;
        fill(&filler);
        // Each client books on until it is told 503.
        clients.join_all().await;
        assert_eq!(status(&server.base, "/readyz").await, 503, "burst {burst}");
        assert_eq!(status(&server.base, reading).await, 200, "burst {burst}");
        std::fs::remove_file(&filler).expect("ours");
        await_ready(&server.base).await;
    }
    server.end("KILL");
    witness.examine(&exported(&data));
    println!("{bursts} bursts, {} answered writes: nothing lost", witness.answered());
}
