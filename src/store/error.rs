//! What can go wrong with the disk, where, and what the operator does next.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::store::codec::DecodeError;
use crate::store::record::{BatchNumber, Stream};

/// What to do about damage that a start has met.
const COPY_THEN_CHECK: &str = "; copy the directory before anything else, then restore the newest backup \
    (`slotbook check` on the copy shows what can still be read)";
/// The same where a check would show no more.
const COPY_THEN_RESTORE: &str =
    "; copy the directory before anything else, then restore the newest backup";

/// Why the store cannot be read or written. Each ends what it interrupts: nothing is written after a failed append.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused; the disk may be full or failing.
    #[error("cannot {doing} {}: {source}; look at the disk, its free space and its permissions", path.display())]
    Io {
        /// The file or directory concerned.
        path: PathBuf,
        /// What was tried, as a verb: "open", "sync".
        doing: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// The files are another user's. The store itself is well.
    #[error(
        "this user (uid {user}) may not {doing} {}: permission denied; run slotbook as the owner of the data directory, or \
         give that user all of it: chown -R USER DIRECTORY",
        path.display()
    )]
    Denied {
        /// The file or directory concerned.
        path: PathBuf,
        /// What was tried, as a verb: "open", "find".
        doing: &'static str,
        /// Who tried.
        user: u32,
    },
    /// GroupState would leave files in another user's directory that its owner cannot open.
    #[error(
        "{} belongs to another user (uid {owner}), who could not open what root would write there; run slotbook as that \
         user: setpriv --reuid {owner} --regid {group} --clear-groups slotbook …",
        directory.display()
    )]
    ForeignOwner {
        /// The data directory.
        directory: PathBuf,
        /// Who owns it.
        owner: u32,
        /// And which group.
        group: u32,
    },
    /// Another process serves this directory.
    #[error(
        "{} is in use by another slotbook (process {holder}); stop it, or choose another data directory",
        directory.display()
    )]
    Locked {
        /// The data directory.
        directory: PathBuf,
        /// Process id the holder wrote into the lock file, or "unknown".
        holder: String,
    },
    /// The directory has no store yet.
    #[error("{} holds no store; fill it with `slotbook import`, or let `slotbook serve` begin one", directory.display())]
    Empty {
        /// The data directory.
        directory: PathBuf,
    },
    /// A store stands where a new one was to be made.
    #[error("{} holds a store already; choose another directory, or `slotbook import --merge`", directory.display())]
    Occupied {
        /// The data directory.
        directory: PathBuf,
    },
    /// Something stands where a store was to be made.
    #[error(
        "{} holds {}, which is no store's; choose an empty directory, or one that is not there",
        directory.display(), found.display()
    )]
    Foreign {
        /// The directory.
        directory: PathBuf,
        /// The first of what it holds.
        found: PathBuf,
    },
    /// The disk has less room than is to be left free.
    #[error("the disk of {} has no room for more beside what is kept in reserve; make room on it", directory.display())]
    NoRoom {
        /// The data directory.
        directory: PathBuf,
    },
    /// A file cannot be what was written: a checksum, a count or a number does not hold.
    #[error(
        "{} is damaged at {place}: {what}{COPY_THEN_CHECK}",
        path.display()
    )]
    Damaged {
        /// The file or database directory concerned.
        path: PathBuf,
        /// Where in it.
        place: DamageLocation,
        /// Which promise is broken.
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
        /// What was tried, as a verb: "open", "read", "write".
        doing: &'static str,
        /// What sled said, or the message of its panic.
        reason: String,
    },
    /// The journal lost batches that had been answered for.
    #[error(
        "{} ends at batch {ends}, but batch {watermark} was durable once: answered writes are missing{COPY_THEN_RESTORE}",
        path.display()
    )]
    JournalShort {
        /// The directory of the last journal.
        path: PathBuf,
        /// The last whole batch found.
        ends: BatchNumber,
        /// The batch that the mark promises.
        watermark: BatchNumber,
    },
    /// A record does not continue its stream. Met on reading it is damage; met on appending, our own mistake.
    #[error(
        "{} batch {batch}: {stream} goes on with record {found} of epoch {epoch}, where record {expected} belongs{COPY_THEN_RESTORE}",
        path.display()
    )]
    Gap {
        /// The directory of the journal.
        path: PathBuf,
        /// The batch that holds the record.
        batch: BatchNumber,
        /// Whose record it is.
        stream: Stream,
        /// The sequence that would continue the stream.
        expected: u64,
        /// The sequence found.
        found: u64,
        /// The epoch found.
        epoch: u32,
    },
    /// A later release wrote this.
    #[error("{} has format {format}, this slotbook reads up to {known}; start the release that wrote it", path.display())]
    Newer {
        /// The file or database directory concerned.
        path: PathBuf,
        /// The format found.
        format: u16,
        /// The newest format this release reads.
        known: u16,
    },
    /// An earlier append failed, so nobody can say what the disk holds: only a restart can.
    #[error("the journal in {} refuses writes since an earlier one failed; restart to recover what is on disk", path.display())]
    Poisoned {
        /// The directory of the journal.
        path: PathBuf,
    },
    /// Whoever rebuilds the state could not read the bytes of a snapshot or record. The store adds the place.
    #[error("not understood: {what}")]
    Rejected {
        /// What was wrong with the bytes.
        what: String,
    },
}

/// A place within a file of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageLocation {
    /// The file as a whole.
    Whole,
    /// The entry that says what a database is.
    Header,
    /// A batch of the journal.
    Batch(BatchNumber),
    /// A record of the journal.
    Record {
        /// The batch that holds it.
        batch: BatchNumber,
        /// Whose record it is.
        stream: Stream,
        /// Its sequence in that stream.
        sequence: u64,
    },
    /// A snapshot, at one of its values; value 0 is its head.
    Snapshot {
        /// Whose snapshot it is.
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
    /// Turns an operating system's error into one that names `path`; made for `map_err`.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| {
            if source.kind() == io::ErrorKind::PermissionDenied {
                return Self::Denied { path, doing, user: rustix::process::geteuid().as_raw() };
            }
            Self::Io { path, doing, source }
        }
    }

    /// Damage of `path` at `place`.
    pub(super) fn damaged(path: &Path, place: DamageLocation, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), place, what: what.into() }
    }

    /// What is wrong, without what to do about it: for a check, which has been done.
    #[must_use]
    pub fn finding(&self) -> String {
        let said = self.to_string();
        let advice = [COPY_THEN_CHECK, COPY_THEN_RESTORE];
        advice
            .iter()
            .find_map(|advice| said.strip_suffix(advice))
            .map_or(said.clone(), str::to_owned)
    }

    /// The same error, of the file in `to` of which the one in `from` is a copy.
    #[must_use]
    pub fn with_original_path(mut self, from: &Path, to: &Path) -> Self {
        match &mut self {
            Self::Io { path, .. }
            | Self::Denied { path, .. }
            | Self::Damaged { path, .. }
            | Self::Database { path, .. }
            | Self::JournalShort { path, .. }
            | Self::Gap { path, .. }
            | Self::Newer { path, .. }
            | Self::Poisoned { path } => {
                if let Ok(within) = path.strip_prefix(from) {
                    *path = to.join(within);
                }
            }
            Self::ForeignOwner { directory, .. }
            | Self::Locked { directory, .. }
            | Self::Empty { directory }
            | Self::Occupied { directory }
            | Self::Foreign { directory, .. }
            | Self::NoRoom { directory } => {
                if directory == from {
                    to.clone_into(directory);
                }
            }
            Self::Rejected { .. } => {}
        }
        self
    }

    /// What a visitor says of bytes it cannot make sense of; the store adds the place.
    #[must_use]
    pub fn rejected(what: impl Into<String>) -> Self {
        Self::Rejected { what: what.into() }
    }

    /// Gives a visitor's [`StoreError::Rejected`] the path and place it could not know; other errors stay as they are.
    pub(super) fn located(self, path: &Path, place: DamageLocation) -> Self {
        if let Self::Rejected { what } = self { Self::damaged(path, place, what) } else { self }
    }
}

impl From<DecodeError> for StoreError {
    fn from(error: DecodeError) -> Self {
        Self::Rejected { what: error.to_string() }
    }
}
