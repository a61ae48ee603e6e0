//! Waits until no process holds a data directory any more.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest time until a child of another test runs its own program.
const RELEASE_MAX: Duration = Duration::from_secs(60);

/// Waits until the data directory that this process has used is free: a child that another test
/// starts holds the lock with its copies of the descriptors until it runs its own program.
pub(crate) fn expect_released(data: &Path) {
    let inodes = [data.to_path_buf(), data.join("lock")]
        .map(|path| std::fs::metadata(path).expect("it stands").ino());
    let is_held = |inode: &u64| {
        let held = std::fs::read_to_string("/proc/locks").expect("locks of this machine");
        held.split_whitespace().any(|word| word.ends_with(&format!(":{inode}")))
    };
    let began = Instant::now();
    while inodes.iter().any(is_held) {
        assert!(began.elapsed() < RELEASE_MAX, "the lock is held");
        std::thread::yield_now();
    }
}
