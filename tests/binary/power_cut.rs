//! A power cut: only what reached the block device counts. SIGKILL cannot show this, since the page cache survives it.
//!
//! The store lies on an ext4 image on a loop device. Under load the server is stopped, the image file copied, and the
//! copy mounted: it holds what a disk would hold.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::server::{Served, exported, practice, signal, store_of};
use super::witness::{CALENDARS, Witness};

/// An image file mounted somewhere; unmounted when dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn new(image: &Path, at: PathBuf) -> Result<Self, String> {
        std::fs::create_dir_all(&at).map_err(|error| error.to_string())?;
        run(Command::new("mount").args(["-o", "loop"]).arg(image).arg(&at))?;
        Ok(Self(at))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(run(Command::new("umount").arg(&self.0)));
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

fn disk(folder: &Path) -> Result<(PathBuf, Mounted), String> {
    let image = folder.join("disk.img");
    let file = std::fs::File::create(&image).map_err(|error| error.to_string())?;
    file.set_len(256 << 20).map_err(|error| error.to_string())?;
    run(Command::new("mkfs.ext4").arg("-q").arg(&image))?;
    let mounted = Mounted::new(&image, folder.join("disk"))?;
    Ok((image, mounted))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_loses_nothing_that_was_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let (image, mounted) = match disk(folder.path()) {
        Ok(disk) => disk,
        Err(reason) => return println!("skipped: a loop device cannot be mounted here (it takes root): {reason}"),
    };
    let data = store_of(&mounted.0, &practice(CALENDARS));
    let witness = Arc::new(Witness::default());
    let server = Served::on(&data);
    let load = witness.load(&server.base, 700).await;
    // From here on nothing more is written; what was answered before must be in the image.
    signal(server.pid(), "STOP");
    let copy = folder.path().join("copy.img");
    std::fs::copy(&image, &copy).expect("it is copied");
    let after = Mounted::new(&copy, folder.path().join("after")).expect("the first one could be mounted");
    let found = exported(&after.0.join("data"));
    server.kill();
    load.join_all().await;
    assert!(witness.booked() > 500, "only {} were answered", witness.booked());
    witness.examine(&found);
    drop((after, mounted));
}
