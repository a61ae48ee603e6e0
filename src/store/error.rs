//! Errors of the store: the fault, its file and place, and the operator's next step. Reference 8.

use std::any::Any;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::store::codec::DecodeError;
use crate::store::formats::Formats;
use crate::store::record::{BatchNumber, Stream};

/// Advice for damage that a start has found.
const COPY_THEN_CHECK: &str = "; copy the directory before anything else, then restore the newest \
    backup (`slotbook check` on the copy shows what can still be read)";
/// The same advice where a check would show no more.
const COPY_THEN_RESTORE: &str =
    "; copy the directory before anything else, then restore the newest backup";

/// Reason why the store cannot be read or written. After a failed append nothing more is written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused. The disk may be full or failing.
    #[error(
        "cannot {doing} {}: {source}; check the disk, its free space and its permissions",
        path.display()
    )]
    Io {
        /// The file or directory concerned.
        path: PathBuf,
        /// The failed operation, as a verb: "open", "sync".
        doing: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// The files belong to another user. The store itself is intact.
    #[error(
        "this user (uid {user}) may not {doing} {}: permission denied; run slotbook as the owner \
         of the data directory, or give that user all of it: chown -R USER DIRECTORY",
        path.display()
    )]
    Denied {
        /// The file or directory concerned.
        path: PathBuf,
        /// The failed operation, as a verb: "open", "find".
        doing: &'static str,
        /// User id of this process.
        user: u32,
    },
    /// Root would leave files in another user's directory that its owner cannot open.
    #[error(
        "{} belongs to another user (uid {owner}), who could not open the files that root writes; \
         run slotbook as that user: setpriv --reuid {owner} --regid {group} --clear-groups \
         slotbook …",
        directory.display()
    )]
    ForeignOwner {
        /// The data directory.
        directory: PathBuf,
        /// User id of its owner.
        owner: u32,
        /// Group id of the directory.
        group: u32,
    },
    /// Another process serves this directory.
    #[error(
        "{} is in use by another slotbook (process {holder}); stop it, or choose another data \
         directory",
        directory.display()
    )]
    Locked {
        /// The data directory.
        directory: PathBuf,
        /// Process id that the holder wrote into the lock file, or "unknown".
        holder: String,
    },
    /// A file of an open store was removed, moved away or replaced.
    #[error(
        "{} was removed, moved or replaced while the store was open; put it back before the next \
         start, or restore a backup",
        path.display()
    )]
    Gone {
        /// The file or directory concerned.
        path: PathBuf,
    },
    /// The directory has no store yet.
    #[error(
        "{} holds no store; fill it with `slotbook import`, or create one with \
         `slotbook serve --create`",
        directory.display()
    )]
    Empty {
        /// The data directory.
        directory: PathBuf,
    },
    /// The directory is that of a server in a cluster, and has no store.
    #[error(
        "{} is the directory of a server in the cluster {id}, and holds no store: serve it with \
         --shared and --advertise, then commands reach the cluster through that server; or name \
         another directory by --data",
        directory.display()
    )]
    OfCluster {
        /// The data directory.
        directory: PathBuf,
        /// The id of the cluster.
        id: String,
    },
    /// The shared store is that of another cluster than the directory names.
    #[error(
        "the shared store is that of the cluster {id}, and {} names the cluster {noted:?}, in which \
         this server was before: correct --shared, or restore that cluster's database; to have the \
         server join another cluster for good, remove the file",
        path.display()
    )]
    OtherCluster {
        /// The file that names a cluster.
        path: PathBuf,
        /// The id in it.
        noted: String,
        /// The id in the shared store.
        id: Uuid,
    },
    /// The directory for a new store has a store already.
    #[error(
        "{} holds a store already; choose another directory, or `slotbook import --merge`",
        directory.display()
    )]
    Occupied {
        /// The data directory.
        directory: PathBuf,
    },
    /// The directory for a new store has files that belong to no store.
    #[error(
        "{} holds {}, which belongs to no store; choose an empty directory, or one that does not \
         exist",
        directory.display(), found.display()
    )]
    Foreign {
        /// The directory.
        directory: PathBuf,
        /// The first foreign file, by name.
        found: PathBuf,
    },
    /// The free space of the disk is below the reserve.
    #[error(
        "the disk of {} has no free space beyond the reserve; delete files from it",
        directory.display()
    )]
    NoRoom {
        /// The data directory.
        directory: PathBuf,
    },
    /// A checksum, count or number of a file does not match.
    #[error(
        "{} is damaged at {place}: {what}{COPY_THEN_CHECK}",
        path.display()
    )]
    Damaged {
        /// The file or database directory concerned.
        path: PathBuf,
        /// The place in the file.
        place: DamageLocation,
        /// The mismatch.
        what: String,
    },
    /// sled reported an error, or panicked, on a database.
    #[error(
        "sled cannot {doing} the database {}: {reason}{COPY_THEN_CHECK}",
        path.display()
    )]
    Database {
        /// The directory of the database.
        path: PathBuf,
        /// The failed operation, as a verb: "open", "read", "write".
        doing: &'static str,
        /// sled's error, or the message of its panic.
        reason: String,
    },
    /// The journal lacks batches that had been acknowledged.
    #[error(
        "{} ends at batch {ends}, but batch {watermark} was durable once: acknowledged writes are \
         missing{COPY_THEN_RESTORE}",
        path.display()
    )]
    JournalShort {
        /// The directory of the last journal.
        path: PathBuf,
        /// The last whole batch found.
        ends: BatchNumber,
        /// The last durable batch according to the watermark.
        watermark: BatchNumber,
    },
    /// Two readings of a journal differ: the disk fails to read. Nothing was changed.
    #[error(
        "two readings of {} differ: the disk fails to read; nothing was changed, so look at the \
         disk and start again",
        path.display()
    )]
    ReadingsDiffer {
        /// The directory of the journal.
        path: PathBuf,
    },
    /// A record does not continue its stream. On reading it is damage; on appending, a bug.
    #[error(
        "{} batch {batch}: {stream} continues with record {found} of epoch {epoch}, where record \
         {expected} belongs{COPY_THEN_RESTORE}",
        path.display()
    )]
    Gap {
        /// The directory of the journal.
        path: PathBuf,
        /// The batch that holds the record.
        batch: BatchNumber,
        /// The stream of the record.
        stream: Stream,
        /// The sequence that would continue the stream.
        expected: u64,
        /// The sequence found.
        found: u64,
        /// The epoch found.
        epoch: u32,
    },
    /// A later release wrote this.
    #[error(
        "{} has format {format}, this slotbook reads up to {known}; start the release that wrote it",
        path.display()
    )]
    Newer {
        /// The file or database directory concerned.
        path: PathBuf,
        /// The format found.
        format: u16,
        /// The newest format this release reads.
        known: u16,
    },
    /// An earlier append failed, so the content of the disk is unknown until the next recovery.
    #[error(
        "the journal in {} refuses writes since an earlier one failed; restart to recover what is \
         on disk",
        path.display()
    )]
    Poisoned {
        /// The directory of the journal.
        path: PathBuf,
    },
    /// A shared store cannot be reached, or refuses.
    #[error("cannot {doing} the shared store: {reason}")]
    Shared {
        /// The failed operation, as a verb: "reach", "read".
        doing: &'static str,
        /// The words of PostgreSQL or of the connection, or the remedy.
        reason: String,
    },
    /// The formats in force in a cluster are none that this release writes. Nothing was changed.
    #[error(
        "the formats in force in the cluster are {in_force}; this slotbook writes from {} up \
         to {}: {remedy}",
        Formats::OLDEST_WRITTEN,
        Formats::NEWEST
    )]
    NotWritten {
        /// The formats in force.
        in_force: Formats,
        /// The step to take.
        remedy: &'static str,
    },
    /// Another server of the cluster has taken over. Nothing that was not answered counts.
    #[error("another server of the cluster has taken over; start again, to follow it")]
    Fenced,
    /// A row of a shared store does not have the bytes that were written. Nothing was changed.
    #[error(
        "the table {table}, part {part}, n {n} is damaged: {what}; nothing was changed: restore \
         the database, or begin a new cluster with a backup"
    )]
    SharedDamaged {
        /// The table.
        table: &'static str,
        /// The part.
        part: i32,
        /// Number of the row, or of the snapshot.
        n: i64,
        /// The mismatch.
        what: String,
    },
    /// The visitor of a recovery cannot decode a snapshot or record. The store adds the place.
    #[error("not understood: {what}")]
    Rejected {
        /// The reason why the bytes do not decode.
        what: String,
    },
}

/// A place within a file of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageLocation {
    /// The file as a whole.
    Whole,
    /// The entry that identifies a database.
    Header,
    /// A batch of the journal.
    Batch(BatchNumber),
    /// A record of the journal.
    Record {
        /// The batch that holds it.
        batch: BatchNumber,
        /// The stream of the record.
        stream: Stream,
        /// Its sequence in that stream.
        sequence: u64,
    },
    /// A snapshot, at one of its values; value 0 is its header.
    Snapshot {
        /// The stream of the snapshot.
        stream: Stream,
        /// Index of the value in sled.
        value: u32,
    },
}

impl fmt::Display for DamageLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("its content"),
            Self::Header => f.write_str("its header"),
            Self::Batch(batch) => write!(f, "batch {batch}"),
            Self::Record { batch, stream, sequence } => {
                write!(f, "batch {batch}, {stream}, record {sequence}")
            }
            Self::Snapshot { stream, value } => {
                write!(f, "the snapshot of {stream}, value {value}")
            }
        }
    }
}

impl StoreError {
    /// Returns a conversion of an operating system's error that names `path`, for `map_err`.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| {
            if source.kind() == io::ErrorKind::PermissionDenied {
                return Self::Denied { path, doing, user: rustix::process::geteuid().as_raw() };
            }
            Self::Io { path, doing, source }
        }
    }

    /// Reports damage of `path` at `place`.
    pub(crate) fn damaged(path: &Path, place: DamageLocation, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), place, what: what.into() }
    }

    /// Reports a shared store that cannot do something. `doing` is a verb.
    pub(crate) fn shared(doing: &'static str, reason: impl Into<String>) -> Self {
        Self::Shared { doing, reason: reason.into() }
    }

    /// Returns the message without the advice: for the report of a check.
    pub fn finding(&self) -> String {
        let message = self.to_string();
        for advice in [COPY_THEN_CHECK, COPY_THEN_RESTORE] {
            if let Some(finding) = message.strip_suffix(advice) {
                return finding.to_owned();
            }
        }
        message
    }

    /// Whether bytes are damaged, or the disk failed to read them: another generation may replace
    /// them. A machine short of memory or descriptors says nothing about the disk.
    pub(crate) fn is_unreadable(&self) -> bool {
        if let Self::Io { source, .. } = self {
            return source.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error());
        }
        matches!(self, Self::Damaged { .. } | Self::Database { .. })
    }

    /// Replaces a path in the copy `copy` by that of its original in `original`.
    #[must_use]
    pub fn with_original_path(mut self, copy: &Path, original: &Path) -> Self {
        match &mut self {
            Self::Io { path, .. }
            | Self::Denied { path, .. }
            | Self::Damaged { path, .. }
            | Self::Database { path, .. }
            | Self::JournalShort { path, .. }
            | Self::ReadingsDiffer { path }
            | Self::Gap { path, .. }
            | Self::Newer { path, .. }
            | Self::Poisoned { path }
            | Self::Gone { path }
            | Self::ForeignOwner { directory: path, .. }
            | Self::Locked { directory: path, .. }
            | Self::Empty { directory: path }
            | Self::OfCluster { directory: path, .. }
            | Self::OtherCluster { path, .. }
            | Self::Occupied { directory: path }
            | Self::Foreign { directory: path, .. }
            | Self::NoRoom { directory: path } => {
                if path == copy {
                    original.clone_into(path);
                } else if let Ok(within) = path.strip_prefix(copy) {
                    *path = original.join(within);
                }
            }
            Self::Shared { .. }
            | Self::Fenced
            | Self::SharedDamaged { .. }
            | Self::NotWritten { .. }
            | Self::Rejected { .. } => {}
        }
        self
    }

    /// Reports bytes that a recovery visitor cannot decode. The store adds the place.
    pub fn rejected(what: impl Into<String>) -> Self {
        Self::Rejected { what: what.into() }
    }

    /// Adds path and place to a visitor's [`StoreError::Rejected`]. Other errors stay unchanged.
    pub(crate) fn located(self, path: &Path, place: DamageLocation) -> Self {
        if let Self::Rejected { what } = self { Self::damaged(path, place, what) } else { self }
    }
}

/// Returns the message of a panic; empty if it has none.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or_default()
}

impl From<DecodeError> for StoreError {
    fn from(error: DecodeError) -> Self {
        Self::Rejected { what: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;
    use crate::domain::records::ids::GroupId;

    #[test]
    fn a_place_is_named_by_batch_stream_and_number() {
        let batch = BatchNumber(12);
        let stream = Stream::Group(GroupId::new(7).unwrap());
        for (place, text) in [
            (DamageLocation::Whole, "its content"),
            (DamageLocation::Header, "its header"),
            (DamageLocation::Batch(batch), "batch 12"),
            (DamageLocation::Record { batch, stream, sequence: 3 }, "batch 12, group 7, record 3"),
            (
                DamageLocation::Snapshot { stream: Stream::Directory, value: 4 },
                "the snapshot of the directory, value 4",
            ),
        ] {
            let error = StoreError::damaged(Path::new("data/journal-000001"), place, "it is wrong");
            assert!(error.to_string().contains(text), "{error}");
        }
    }

    #[test]
    fn only_a_read_that_the_disk_failed_makes_files_unreadable() {
        let failed = |errno: Errno| StoreError::io("read", Path::new("db"))(errno.into());
        assert!(failed(Errno::IO).is_unreadable());
        for errno in [Errno::MFILE, Errno::NOMEM, Errno::NOSPC, Errno::ACCESS] {
            assert!(!failed(errno).is_unreadable(), "{errno}");
        }
    }

    #[test]
    fn an_error_in_a_copy_names_the_original() {
        let copy = Path::new("/dev/shm/copy");
        let original = Path::new("data/journal-000001");
        for (found, named) in [
            ("/dev/shm/copy", "data/journal-000001"),
            ("/dev/shm/copy/db", "data/journal-000001/db"),
            ("/elsewhere/db", "/elsewhere/db"),
        ] {
            let error = StoreError::Poisoned { path: found.into() };
            let StoreError::Poisoned { path } = error.with_original_path(copy, original) else {
                panic!("it is the same error")
            };
            assert_eq!(path, Path::new(named));
        }
    }
}
