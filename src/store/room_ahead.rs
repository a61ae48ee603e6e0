//! Room on the disk ahead of the end of a file that grows. Reference 8.

use std::fs::File;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// Bytes of room after it was made: what bookings write in more than a second.
const AHEAD: u64 = 4 << 20;
/// Bytes of room below which more is made.
const LEAST: u64 = AHEAD / 2;

/// The room ahead of the end of one file.
#[derive(Debug, Default)]
pub(crate) struct RoomAhead {
    /// The end of the room; 0 before the first.
    until: u64,
    /// Whether the file system makes no room ahead.
    is_unsupported: bool,
}

impl RoomAhead {
    /// Makes room ahead of the end of the file, whose `size` stays, if little is left. Without free
    /// space it tries again next time: what is left is enough until writes are refused.
    pub(crate) fn keep(&mut self, file: &File, size: u64) {
        if self.is_unsupported || self.until >= size.saturating_add(LEAST) {
            return;
        }
        match fallocate(file, FallocateFlags::KEEP_SIZE, size, AHEAD) {
            Ok(()) => self.until = size.saturating_add(AHEAD),
            Err(Errno::NOSPC | Errno::DQUOT | Errno::INTR) => {}
            Err(_) => self.is_unsupported = true,
        }
    }
}

/// Gives the room ahead of a file back to the disk.
pub(crate) fn give_back(file: &File) {
    // A file that keeps its room is larger on the disk than it could be, and whole.
    if let Ok(found) = file.metadata() {
        drop(file.set_len(found.len()));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn room_is_made_ahead_of_the_end_and_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = File::create(folder.path().join("db")).unwrap();
        let mut room = RoomAhead::default();
        let on_disk = |file: &File| file.metadata().unwrap().blocks() * 512;
        room.keep(&file, 0);
        if room.is_unsupported {
            return println!("skipped: no room can be made ahead on this file system");
        }
        assert_eq!((file.metadata().unwrap().len(), on_disk(&file)), (0, AHEAD));
        for megabyte in 1..=5 {
            file.write_all(&vec![7; 1 << 20]).unwrap();
            let size = file.metadata().unwrap().len();
            assert_eq!(size, megabyte << 20, "the size is that of what was written");
            room.keep(&file, size);
            assert!(on_disk(&file) >= size + LEAST, "{} of {size}", on_disk(&file));
        }
        give_back(&file);
        assert_eq!(file.metadata().unwrap().len(), 5 << 20);
        assert!(on_disk(&file) <= (5 << 20) + 4_096, "{}", on_disk(&file));
    }
}
