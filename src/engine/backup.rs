//! Backups: the durable states, written as a store of their own while bookings go on. Each group
//! stands as it did at some moment after the backup began. Reference 11.1.

use std::path::Path;

use crate::engine::published::Published;
use crate::engine::recovery::{directory_position, group_position, write_directory, write_group};
use crate::store::state;
use crate::store::{NewGeneration, StoreError, Stream};

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
) -> Result<(), StoreError> {
    let mut generation = NewGeneration::create(to)?.paced();
    let groups = published.count_groups();
    for (written, group) in published.groups().enumerate() {
        progress(written, groups);
        let group_state = published.group_state(group).expect("a published group stays published");
        let position = group_position(&group_state);
        write_group(generation.begin_snapshot(Stream::Group(group), position), &group_state)?;
    }
    for group in published.quarantined().values() {
        let Some(last_state) = &group.last_state else {
            let reason = format!(
                "group {} is set aside and has no state to back up; stop the server and copy the data directory",
                group.group
            );
            return Err(StoreError::rejected(reason));
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
    let position = directory_position(&directory);
    write_directory(generation.begin_snapshot(Stream::Directory, position), &directory)?;
    drop(generation.publish()?);
    Ok(())
}
