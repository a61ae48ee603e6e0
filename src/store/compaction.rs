//! A new generation of a store that is being written: the journal turns first, then the states it leads up to are
//! written beside it. Nobody who appends waits for any of it.
//!
//! 1. [`Generations::next_journal`]: an empty journal, on disk with its name.
//! 2. [`crate::store::Log::rotate`]: appends go there.
//! 3. [`Generations::begin_compaction`]: the snapshots, of states that hold at least all that was appended before the turn.
//! 4. [`Compaction::publish`]: they are read back from the disk, `CURRENT` is renamed, and what is neither current nor
//!    the generation before is removed.
//!
//! After a crash between any two of these the store is whole: an empty journal, or one that nobody's snapshots stand
//! before, is replayed after the others.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::database::Database;
use crate::store::error::StoreError;
use crate::store::files::{DirectoryLock, directory_bytes, remove_directory};
use crate::store::generation::{
    self, Current, Generation, Layout, journal_path, set_current, snapshots_path,
};
use crate::store::io_throttle::{IoThrottle, read_ahead};
use crate::store::journal;
use crate::store::record::{BatchNumber, Position, Stream};
use crate::store::snapshot::{SnapshotWriter, Snapshots, SnapshotsWriter};

/// The generations of a store that is being written. One thread has it.
#[derive(Debug)]
pub struct Generations {
    /// The data directory.
    directory: PathBuf,
    /// Keeps every other process out for as long as we may write.
    _lock: Arc<DirectoryLock>,
    current: Current,
}

/// An empty journal that appends can turn to.
#[derive(Debug)]
pub struct NextJournal {
    generation: Generation,
    database: Database,
}

/// What a turn left behind.
#[derive(Debug)]
pub struct JournalRotation {
    generation: Generation,
    /// The first batch of the new journal.
    first_batch: BatchNumber,
    /// The journal that ended, still open: closing it takes a while.
    ended: Database,
}

/// A generation being written beside the one in use. Dropped before [`Compaction::publish`], it is nobody's.
pub struct Compaction<'a> {
    generations: &'a mut Generations,
    generation: Generation,
    first_batch: BatchNumber,
    writer: SnapshotsWriter,
    /// The snapshots of the current generation; opened when the first is to be copied.
    current: Option<Snapshots>,
}

/// How much room a store takes, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreSizes {
    /// Snapshots of the current generation.
    pub snapshots: u64,
    /// Journals since.
    pub journals: u64,
}

impl StoreSizes {
    /// Bytes of both.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.snapshots.saturating_add(self.journals)
    }

    fn of(directory: &Path, current: Current) -> Result<Self, StoreError> {
        let mut journals = 0;
        for journal in Layout::read(directory)?.journals_from(current.generation) {
            journals += directory_bytes(&journal_path(directory, journal))?;
        }
        Ok(Self {
            snapshots: directory_bytes(&snapshots_path(directory, current.generation))?,
            journals,
        })
    }
}

/// How much room the store in `directory` takes, whoever uses it.
///
/// # Errors
///
/// [`StoreError::Empty`] without a store; a directory that cannot be read.
pub fn store_sizes(directory: &Path) -> Result<StoreSizes, StoreError> {
    let current = || {
        generation::current(directory)?
            .ok_or_else(|| StoreError::Empty { directory: directory.to_owned() })
    };
    loop {
        let named = current()?;
        match StoreSizes::of(directory, named) {
            // A generation that has come since has taken its place while it was looked at.
            Err(_) if current()? != named => {}
            found => return found,
        }
    }
}

impl NextJournal {
    pub(super) fn into_parts(self) -> (Generation, Database) {
        (self.generation, self.database)
    }
}

impl JournalRotation {
    pub(super) const fn new(
        generation: Generation,
        first_batch: BatchNumber,
        ended: Database,
    ) -> Self {
        Self { generation, first_batch, ended }
    }
}

impl Generations {
    pub(super) fn of(directory: &Path, lock: Arc<DirectoryLock>) -> Result<Self, StoreError> {
        let Some(current) = generation::current(directory)? else {
            return Err(StoreError::Empty { directory: directory.to_owned() });
        };
        Ok(Self { directory: directory.to_owned(), _lock: lock, current })
    }

    /// The data directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// How much room the current generation takes.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn sizes(&self) -> Result<StoreSizes, StoreError> {
        StoreSizes::of(&self.directory, self.current)
    }

    /// Removes what a compaction that was dropped has left.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn remove_unfinished(&self) -> Result<(), StoreError> {
        Layout::read(&self.directory)?.remove_leftovers(Some(self.current))
    }

    /// Makes the journal of the next generation: empty, and on disk with its name.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn next_journal(&self) -> Result<NextJournal, StoreError> {
        let generation = Layout::read(&self.directory)?.unused();
        let path = journal_path(&self.directory, generation);
        journal::create(&path, generation.0, None)?;
        Ok(NextJournal { generation, database: Database::open(&path)? })
    }

    /// Begins the snapshots that the journal rotation to goes on from. Each stream's must hold at least all that was
    /// appended before the turn. They are written in the disk's pauses.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn begin_compaction(
        &mut self,
        rotation: JournalRotation,
    ) -> Result<Compaction<'_>, StoreError> {
        let JournalRotation { generation, first_batch, ended } = rotation;
        ended.close()?;
        let path = snapshots_path(&self.directory, generation);
        let writer = SnapshotsWriter::paced(Database::create(&path)?);
        Ok(Compaction { generations: self, generation, first_batch, writer, current: None })
    }
}

impl Compaction<'_> {
    /// Copies the snapshot of `stream` as it is, bytes unread, where the current generation has one of this very
    /// position; else says `false` and does nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] where the bytes are not what was written; or a disk that refuses. The generation is then
    /// to be given up.
    pub fn copy_snapshot(
        &mut self,
        stream: Stream,
        position: Position,
    ) -> Result<bool, StoreError> {
        if self.current()?.position(stream)? != Some(position) {
            return Ok(false);
        }
        let current = self.current.as_ref().expect("it was opened to be asked");
        current.copy_to(stream, &mut self.writer)?;
        Ok(true)
    }

    /// Copies the snapshot that `stream` has in the current generation, frame by frame, and puts `more` behind: it then
    /// stands at `position`.
    ///
    /// # Errors
    ///
    /// As for [`Compaction::copy_snapshot`].
    pub fn extend_snapshot(
        &mut self,
        stream: Stream,
        position: Position,
        more: &[Vec<u8>],
    ) -> Result<(), StoreError> {
        self.current()?;
        let current = self.current.as_ref().expect("it was opened just now");
        let mut writer = self.writer.stream(stream, position);
        current.frames_of(stream, |frame| writer.write_frame(frame))?;
        more.iter().try_for_each(|frame| writer.write_frame(frame))?;
        writer.finish()
    }

    /// Begins the snapshot of `stream` as it stands at `position`. See [`crate::store::NewGeneration::begin_snapshot`].
    ///
    /// # Panics
    ///
    /// When the one before was not finished.
    pub fn begin_snapshot(&mut self, stream: Stream, position: Position) -> SnapshotWriter<'_> {
        self.writer.stream(stream, position)
    }

    /// Reads everything back from the disk, makes it the current generation in one step, and removes what is no longer
    /// needed.
    ///
    /// # Errors
    ///
    /// When the disk refuses, or gives back something else than was written: the current generation stands.
    pub fn publish(self) -> Result<(), StoreError> {
        let Self { generations, generation, first_batch, writer, current } = self;
        drop(current);
        writer.seal(generation.0, first_batch)?;
        let current = Current { generation, before: Some(generations.current.generation) };
        set_current(&generations.directory, current)?;
        generations.current = current;
        Layout::read(&generations.directory)?.remove_leftovers(Some(current))
    }

    /// Gives the generation up and removes what was written of it. The journal has rotation, and stays so.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn discard(self) -> Result<(), StoreError> {
        let Self { generations, generation, writer, current, .. } = self;
        drop((writer, current));
        remove_directory(&snapshots_path(&generations.directory, generation))
    }

    fn current(&mut self) -> Result<&Snapshots, StoreError> {
        let snapshots = match self.current.take() {
            Some(snapshots) => snapshots,
            None => {
                let current = self.generations.current.generation;
                let path = snapshots_path(&self.generations.directory, current);
                read_ahead(&path, &mut IoThrottle::new())?;
                Snapshots::open(Database::open(&path)?, current.0)?
            }
        };
        Ok(self.current.insert(snapshots))
    }
}
