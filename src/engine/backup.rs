//! Backups: the durable states, written as a store of their own while bookings go on. Each group
//! stands as it did at some moment after the backup began. Reference 11.1.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::state::group_state::GroupState;
use crate::domain::state::outbox::Outbox;
use crate::engine::published::Published;
use crate::engine::recovery::{
    FIRST_EPOCH, directory_position, group_position, write_directory, write_group,
};
use crate::engine::shared_compaction::SharedSizes;
use crate::planted_faults::PlantedFault;
use crate::store::state;
use crate::store::{
    NewGeneration, SnapshotWriter as _, StoreError, Stream, free_bytes, store_sizes,
};

/// Largest size of the files of a store, in times of the same states in a shared one.
const FILES_FACTOR: u64 = 2;

/// Reason why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The disk has too little room.
    #[error(
        "the disk of {} has {free_mib} MiB free, and a backup may take {backup_mib} MiB beside \
         {reserve_mib} MiB of reserve; make room on it, or choose another place",
        path.display()
    )]
    NoRoom {
        /// The place of the backup, or the directory in which it would be made.
        path: PathBuf,
        /// Free space on its disk.
        free_mib: u64,
        /// The largest size of the backup.
        backup_mib: u64,
        /// Space to leave.
        reserve_mib: u64,
    },
    /// The new database failed, which says nothing about the store that is backed up.
    #[error("{} cannot be written: {reason}; the unfinished backup is removed again", path.display())]
    Unwritable {
        /// The directory of the new database.
        path: PathBuf,
        /// Its error.
        reason: String,
    },
    /// One of the stores failed.
    #[error(transparent)]
    Store(StoreError),
    /// The place cannot be examined.
    #[error("the operating system refuses: {0}")]
    System(#[from] io::Error),
}

impl From<StoreError> for BackupError {
    fn from(error: StoreError) -> Self {
        if let StoreError::Database { path, reason, .. } = error {
            return Self::Unwritable { path, reason };
        }
        Self::Store(error)
    }
}

/// Refuses a backup into `to` that would leave its disk too little room: of the store in `data`, or
/// of a shared store with these sizes. The reserve counts only if `to` lies on the disk of `data`.
///
/// # Errors
/// Too little room, or a place that cannot be examined.
pub fn check_room(
    data: &Path,
    shared: Option<&SharedSizes>,
    to: &Path,
    reserve_mib: u64,
) -> Result<(), BackupError> {
    let existing = to.ancestors().find(|path| path.exists()).unwrap_or(to);
    let is_same_disk = std::fs::metadata(data)?.dev() == std::fs::metadata(existing)?.dev();
    let reserve_mib = if is_same_disk { reserve_mib } else { 0 };
    let backup_bytes = match shared {
        Some(sizes) => sizes.sum().saturating_mul(FILES_FACTOR),
        None => store_sizes(data)?.sum(),
    };
    let free = free_bytes(existing)?;
    if free > backup_bytes.saturating_add(reserve_mib << 20) {
        return Ok(());
    }
    Err(BackupError::NoRoom {
        path: existing.to_owned(),
        free_mib: free >> 20,
        backup_mib: backup_bytes.div_ceil(1 << 20),
        reserve_mib,
    })
}

/// Writes a store into the empty directory `to`, throttled, and reads it back. `progress` gets the
/// number of groups written and the number of all groups, before each group.
///
/// # Errors
/// A directory that holds a store, a failed write, or a quarantined group without a state. In the
/// last case stop the server and copy the data directory.
pub fn write_backup(
    published: &Published,
    to: &Path,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(), BackupError> {
    let mut generation = NewGeneration::create(to)?.paced();
    let groups = published.count_groups();
    for (written, group) in published.groups().enumerate() {
        progress(written, groups);
        let mut group_state =
            published.group_state(group).expect("a published group stays published");
        if PlantedFault::BackupWithoutMessages.is_active() {
            group_state = without_messages(&group_state);
        }
        let position = group_position(FIRST_EPOCH, &group_state);
        write_group(generation.begin_snapshot(Stream::Group(group), position), &group_state)?;
    }
    for group in published.quarantined().values() {
        let Some(last_state) = &group.last_state else {
            let reason = format!(
                "group {} is set aside and has no state to back up; stop the server and copy the data directory",
                group.group
            );
            return Err(StoreError::rejected(reason).into());
        };
        let mut snapshot = generation.begin_snapshot(Stream::Group(group.group), group.position());
        state::write_group(last_state, |frame| snapshot.write_frame(frame))?;
        for frame in group.pending_frames()? {
            snapshot.write_frame(&frame)?;
        }
        snapshot.finish()?;
    }
    // The directory comes last, so that it knows every block of ids that a written group may use.
    let directory = published.directory();
    let position = directory_position(FIRST_EPOCH, &directory);
    write_directory(generation.begin_snapshot(Stream::Directory, position), &directory)?;
    drop(generation.publish()?);
    Ok(())
}

/// Returns a state without its messages: a planted fault.
fn without_messages(group_state: &GroupState) -> Arc<GroupState> {
    let mut poorer = group_state.clone();
    poorer.outbox = Outbox::default();
    Arc::new(poorer)
}
