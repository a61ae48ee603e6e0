//! A power cut: only what reached the block device counts. SIGKILL cannot show this, since the page cache survives it.
//!
//! The store lies on an ext4 image on a loop device. Under load the server is stopped, the image file copied, and the
//! copy mounted: it holds what a disk would hold.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::rounds;
use super::server::{Served, complaint, exported, practice, run, signal, store_of};
use super::witness::{CALENDARS, Witness};

/// An image file mounted somewhere; unmounted when dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn new(image: &Path, at: PathBuf) -> Result<Self, String> {
        std::fs::create_dir_all(&at).map_err(|error| error.to_string())?;
        succeed(Command::new("mount").args(["-o", "loop"]).arg(image).arg(&at))?;
        Ok(Self(at))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(succeed(Command::new("umount").arg(&self.0)));
    }
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// A disk in a folder, mounted.
fn disk(folder: &Path) -> Result<(PathBuf, Mounted), String> {
    let image = folder.join("disk.img");
    let file = std::fs::File::create(&image).map_err(|error| error.to_string())?;
    file.set_len(192 << 20).map_err(|error| error.to_string())?;
    succeed(Command::new("mkfs.ext4").arg("-q").arg(&image))?;
    let mounted = Mounted::new(&image, folder.join("disk"))?;
    Ok((image, mounted))
}

/// Stops a process, and returns once every thread of it stands still or has ended. One of them has
/// to be run to take the signal and to pass it on: where many wait for the processors, the others
/// go on for seconds meanwhile, and answer.
pub(crate) fn stop(pid: u32) {
    signal(pid, "STOP");
    let threads = PathBuf::from(format!("/proc/{pid}/task"));
    let stands = |thread: std::io::Result<std::fs::DirEntry>| {
        let Ok(stat) = std::fs::read_to_string(thread.expect("a thread").path().join("stat"))
        else {
            return true;
        };
        // The state comes after the name, which stands in brackets.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 'Z']))
    };
    while !std::fs::read_dir(&threads).expect("it runs").all(stands) {
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// Longer than the steps in which a file system tells time.
const TICK: Duration = Duration::from_millis(20);

/// What the disk holds at one moment, whoever uses it being stopped meanwhile; and how often it had to be copied for that.
/// The kernel still writes of its own, and half of what it wrote while a copy was made is of no moment at all: such a copy
/// is made again.
fn after_a_cut(folder: &Path, image: &Path) -> (Mounted, u64) {
    let copy = folder.join("copy.img");
    for times in 1.. {
        let written =
            || std::fs::metadata(image).and_then(|found| found.modified()).expect("it is there");
        // A clock's tick later, so that no write of the same tick goes unseen.
        let mut before = written();
        while before.elapsed().is_ok_and(|age| age < TICK) {
            std::thread::park_timeout(TICK);
            before = written();
        }
        std::fs::copy(image, &copy).expect("it is copied");
        if written() == before {
            return (
                Mounted::new(&copy, folder.join("after")).expect("the first one could be mounted"),
                times,
            );
        }
    }
    unreachable!("nobody writes for ever")
}

/// The number of the newest snapshots, whole or not, above the current generation's.
fn is_being_compacted(data: &Path) -> bool {
    let Ok(current) = std::fs::read_to_string(data.join("CURRENT")) else { return false };
    let current: u64 =
        current.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
    let Ok(names) = std::fs::read_dir(data) else { return false };
    names.flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.strip_prefix("snapshots-")
            .and_then(|n| n.parse::<u64>().ok())
            .is_some_and(|number| number > current)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn power_cuts_lose_nothing_that_was_answered() {
    let cuts = rounds(10, 200);
    let mut chance = StdRng::seed_from_u64(12);
    let (mut answered, mut compacting, mut copies) = (0, 0, 0);
    for cut in 0..cuts {
        let mut folder = tempfile::tempdir().expect("a folder");
        let (image, mounted) = match disk(folder.path()) {
            Ok(disk) => disk,
            Err(reason) => {
                return println!(
                    "skipped: a loop device cannot be mounted here (it takes group_state): {reason}"
                );
            }
        };
        // Both images stay where something is amiss: nothing else can say why.
        folder.disable_cleanup(true);
        let data = store_of(&mounted.0, &practice(CALENDARS));
        let witness = Arc::new(Witness::verbose());
        // Every other cut falls into the making of a new generation.
        let mib = if cut.is_multiple_of(2) { "64" } else { "0" };
        let server = Served::on(&data, &["--journal-mib", mib]);
        let load = witness.load(&server.base, chance.random_range(100..800)).await;
        let mut patience = 20_000;
        while mib == "0" && !is_being_compacted(&data) && patience > 0 {
            tokio::time::sleep(Duration::from_micros(500)).await;
            patience -= 1;
        }
        stop(server.pid());
        compacting += u64::from(is_being_compacted(&data));
        let (after, times) = after_a_cut(folder.path(), &image);
        copies += times;
        let found = exported(&after.0.join("data"));
        // It has not run since, so whatever the clients have still to read was answered before the cut.
        server.end("KILL");
        load.join_all().await;
        witness.examine(&found);
        answered += witness.answered();
        drop((after, mounted));
        folder.disable_cleanup(false);
        if (cut + 1).is_multiple_of(20) {
            println!("{} power cuts, {answered} answered writes so far", cut + 1);
        }
    }
    println!(
        "{cuts} power cuts ({copies} copies of the disk), {compacting} amid a compaction, {answered} answered writes: \
         nothing lost"
    );
    assert!(answered > cuts * 50, "only {answered} were answered");
    assert!(compacting > 0, "no cut fell into the making of a generation");
}

#[test]
fn a_power_cut_amid_the_first_creation_leaves_all_or_nothing() {
    let cuts = rounds(10, 200);
    let (mut nothing, mut whole) = (0, 0);
    for cut in 0..cuts {
        let folder = tempfile::tempdir().expect("a folder");
        let (image, mounted) = match disk(folder.path()) {
            Ok(disk) => disk,
            Err(reason) => {
                return println!(
                    "skipped: a loop device cannot be mounted here (it takes group_state): {reason}"
                );
            }
        };
        let file = folder.path().join("document.json");
        std::fs::write(&file, practice(200).to_string()).expect("it is written");
        let file = file.to_str().expect("a plain path");
        let data = mounted.0.join("data");
        let mut import = Command::new(env!("CARGO_BIN_EXE_slotbook"))
            .args(["import", file])
            .env("SLOTBOOK_DATA", &data)
            .spawn()
            .expect("the program starts");
        // Wait for the first file of the store, then for a part of what the creation takes.
        while !data.join("lock").exists() && import.try_wait().expect("ours").is_none() {
            std::thread::yield_now();
        }
        std::thread::park_timeout(Duration::from_millis(cut * 400 / cuts));
        stop(import.id());
        let (after, _) = after_a_cut(folder.path(), &image);
        signal(import.id(), "CONT");
        let done = import.wait().expect("it ends");
        assert!(done.success());
        let found = run(
            &["export", folder.path().join("found.json").to_str().expect("plain")],
            &after.0.join("data"),
        );
        match found.status.code() {
            Some(0) => whole += 1,
            Some(1) => {
                assert!(complaint(&found).contains("holds no store"), "{}", complaint(&found));
                let again = run(&["import", file], &after.0.join("data"));
                assert!(again.status.success(), "{}", complaint(&again));
                nothing += 1;
            }
            other => panic!("{other:?}: {}", complaint(&found)),
        }
        drop((after, mounted));
    }
    println!("{cuts} power cuts amid a creation: {nothing} left nothing, {whole} the whole");
    assert!(nothing > 0, "no cut came early enough to interrupt anything");
}
