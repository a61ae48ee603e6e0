//! Another store with all that is durable at the moment, written from the published states while bookings go on. Each
//! group stands as it did at some moment after the backup began. Reference 11.

use std::path::Path;

use crate::engine::published::Published;
use crate::engine::recovery::{directory_position, position, write_directory, write_group};
use crate::store::state;
use crate::store::{NewGeneration, StoreError, Stream};

/// Writes a store into the empty directory `to`, in the disk's pauses, and reads it back. `progress` is told how many of
/// how many groups are written.
///
/// # Errors
/// A directory that holds a store, a disk that refuses, or a group set aside of which there is no state to be written:
/// then stop the server and copy the data directory.
pub fn write(
    published: &Published,
    to: &Path,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(), StoreError> {
    let mut generation = NewGeneration::create(to)?.paced();
    let groups = published.groups().count();
    for (done, group) in published.groups().enumerate() {
        progress(done, groups);
        let group_state = published.group_state(group).expect("a published group stays published");
        write_group(
            generation.begin_snapshot(Stream::Group(group), position(&group_state)),
            &group_state,
        )?;
    }
    for aside in published.aside().values() {
        let Some(base) = &aside.base else {
            let what = format!(
                "group {} is set aside, and there is no state of it to be written",
                aside.group
            );
            return Err(StoreError::rejected(what));
        };
        let mut snapshot = generation.begin_snapshot(Stream::Group(aside.group), aside.position());
        state::write_group(base, |frame| snapshot.write_frame(frame))?;
        aside.frames()?.iter().try_for_each(|frame| snapshot.write_frame(frame))?;
        snapshot.finish()?;
    }
    // Last, so that it knows every block of ids that a group written above may have used.
    let directory = published.directory();
    write_directory(
        generation.begin_snapshot(Stream::Directory, directory_position(&directory)),
        &directory,
    )?;
    drop(generation.publish()?);
    Ok(())
}
