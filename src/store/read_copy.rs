//! Copies of databases, made to be read.
//!
//! sled repairs as it opens: it takes a read error or a flipped byte for the end of its log, and
//! overwrites what follows. So a database that was written before is never opened where it lies.
//! Its files are read to their end into a copy, which reports every read error, and sled opens the
//! copy. The original is only read.

use std::fs::{self, DirBuilder, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::planted_faults::PlantedFault;
use crate::store::error::StoreError;
use crate::store::files::{directory_bytes, free_bytes, list_paths};
use crate::store::generation::COPY;
use crate::store::io_throttle::{IoThrottle, THROTTLED_BYTES};

/// Bytes that sled may add to a copy while it is read.
const GROWTH_BYTES: u64 = 16 << 20;
/// Directory in memory, used where the store's own disk has no room.
const MEMORY: &str = "/dev/shm";

/// A copy of one database, removed when dropped.
#[derive(Debug)]
pub(super) struct ReadCopy {
    /// Directory of the copy. Only its owner may read it.
    path: PathBuf,
}

impl ReadCopy {
    /// Copies the database in `original`: beside it where its disk has room, else into memory or
    /// the directory for temporary files. A `throttle` keeps the copying out of the way of others.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] when a file cannot be read to its end; [`StoreError::NoRoom`] when no
    /// place has room for the copy.
    pub(super) fn create(
        original: &Path,
        mut throttle: Option<&mut IoThrottle>,
    ) -> Result<Self, StoreError> {
        let needed = directory_bytes(original)?.saturating_add(GROWTH_BYTES);
        let data = original.parent().unwrap_or(Path::new("."));
        let path = Self::place(data, original, needed)?;
        let copy = Self { path };
        copy_files(original, &copy.path, &mut throttle)?;
        Ok(copy)
    }

    /// Makes the empty directory of a copy in the first place that has room.
    fn place(data: &Path, original: &Path, needed: u64) -> Result<PathBuf, StoreError> {
        static COPIES: AtomicU64 = AtomicU64::new(0);
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let name = original.file_name().unwrap_or_default().to_string_lossy();
        let beside = data.join(COPY);
        let elsewhere = format!("slotbook-copy-{}-{number}-{name}", std::process::id());
        let places = [
            (data.to_owned(), beside.join(format!("{name}-{number}"))),
            (PathBuf::from(MEMORY), Path::new(MEMORY).join(&elsewhere)),
            (std::env::temp_dir(), std::env::temp_dir().join(&elsewhere)),
        ];
        // A process that was ended as it read has left its copy. The store is locked, so that no
        // other process reads in it now.
        drop(fs::remove_dir_all(&places[0].1));
        for (disk, path) in places {
            // Where the room cannot be seen, the next place is tried.
            if free_bytes(&disk).is_ok_and(|free| free > needed)
                && DirBuilder::new().recursive(true).mode(0o700).create(&path).is_ok()
            {
                return Ok(path);
            }
        }
        Err(StoreError::NoRoom { directory: data.to_owned() })
    }

    /// Directory of the copy.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ReadCopy {
    fn drop(&mut self) {
        // A copy that cannot be removed now is removed by the next start.
        drop(fs::remove_dir_all(&self.path));
        if let Some(parent) = self.path.parent().filter(|parent| parent.ends_with(COPY)) {
            // Another copy may still lie in it.
            drop(fs::remove_dir(parent));
        }
    }
}

fn copy_files(
    from: &Path,
    to: &Path,
    throttle: &mut Option<&mut IoThrottle>,
) -> Result<(), StoreError> {
    for path in list_paths(from)? {
        let target = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            fs::create_dir(&target).map_err(StoreError::io("create", &target))?;
            copy_files(&path, &target, throttle)?;
        } else if path.is_file() {
            copy_file(&path, &target, throttle)?;
        }
    }
    Ok(())
}

/// Copies a file by reading every byte of it: a clone of its blocks would leave a read error to be
/// found by sled. Blocks of zeros, of which sled's files are mostly made, take no room.
fn copy_file(
    from: &Path,
    to: &Path,
    throttle: &mut Option<&mut IoThrottle>,
) -> Result<(), StoreError> {
    let mut source = File::open(from).map_err(StoreError::io("open", from))?;
    let mut target = File::create_new(to).map_err(StoreError::io("create", to))?;
    let mut piece = vec![0; THROTTLED_BYTES];
    let mut length = 0_u64;
    loop {
        let read = match source.read(&mut piece) {
            Err(_) if PlantedFault::FailedReadIsEnd.is_active() => 0,
            read => read.map_err(StoreError::io("read", from))?,
        };
        if read == 0 {
            break;
        }
        length += u64::try_from(read).expect("a piece is small");
        if piece[..read].iter().all(|byte| *byte == 0) {
            target.seek(SeekFrom::Start(length)).map_err(StoreError::io("write", to))?;
        } else {
            target.write_all(&piece[..read]).map_err(StoreError::io("write", to))?;
        }
        if let Some(throttle) = throttle {
            throttle.add_bytes(read);
        }
    }
    target.set_len(length).map_err(StoreError::io("write", to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_read_is_an_error_and_no_end() {
        let data = tempfile::tempdir().unwrap();
        // A directory can be opened, and refuses to be read.
        let original = data.path().join("db");
        fs::create_dir(&original).unwrap();
        let copied = copy_file(&original, &data.path().join("copy"), &mut None);
        assert!(matches!(copied, Err(StoreError::Io { doing: "read", .. })), "{copied:?}");
    }

    #[test]
    fn a_copy_has_every_byte_and_goes_when_it_is_dropped() {
        let data = tempfile::tempdir().unwrap();
        let original = data.path().join("journal-000001");
        fs::create_dir_all(original.join("blobs")).unwrap();
        let mut bytes = vec![0; 3 * THROTTLED_BYTES + 17];
        bytes[THROTTLED_BYTES * 2 + 5] = 7;
        fs::write(original.join("db"), &bytes).unwrap();
        fs::write(original.join("conf"), b"").unwrap();
        let copy = ReadCopy::create(&original, None).unwrap();
        assert!(copy.path().starts_with(data.path()));
        assert_eq!(fs::read(copy.path().join("db")).unwrap(), bytes);
        assert_eq!(fs::read(copy.path().join("conf")).unwrap(), b"");
        assert!(copy.path().join("blobs").is_dir());
        drop(copy);
        assert_eq!(list_paths(data.path()).unwrap(), [original]);
    }

    #[test]
    fn a_copy_that_an_ended_process_left_is_replaced() {
        let data = tempfile::tempdir().unwrap();
        let original = data.path().join("journal-000001");
        fs::create_dir_all(original.join("blobs")).unwrap();
        fs::write(original.join("db"), b"new").unwrap();
        let before = ReadCopy::create(&original, None).unwrap();
        let number: u64 =
            before.path().to_str().unwrap().rsplit_once('-').unwrap().1.parse().unwrap();
        // Other tests of this process number their copies, too.
        for next in number + 1..number + 500 {
            let left = data.path().join(COPY).join(format!("journal-000001-{next}"));
            fs::create_dir_all(left.join("blobs")).unwrap();
            fs::write(left.join("db"), b"a longer one").unwrap();
        }
        let copy = ReadCopy::create(&original, None).unwrap();
        assert_eq!(fs::read(copy.path().join("db")).unwrap(), b"new");
    }
}
