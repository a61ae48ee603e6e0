//! The log of a served store. Where there is none yet, the store is made with the first record, so
//! that a start on a missing volume makes nothing. Reference 8, 11.1.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::domain::directory::Directory;
use crate::engine::recovery;
use crate::store::{
    BatchNumber, Checkpoint, EmptyDirectory, Generations, JournalRecord, Log, Presence,
    RecordFormat, SharedLog, SledLog, StoreError,
};

/// The parts of a store that threads beside its journal use.
pub(crate) struct StoreParts {
    pub(crate) generations: Generations,
    pub(crate) presence: Arc<Presence>,
}

impl StoreParts {
    pub(crate) fn of_log(log: &SledLog) -> Result<Self, StoreError> {
        Ok(Self { generations: log.generations()?, presence: log.presence() })
    }
}

/// A store that is made with its first record.
pub(crate) struct AwaitedStore {
    pub(crate) directory: EmptyDirectory,
    /// Its content before the first record: no group, key or professional.
    pub(crate) content: Directory,
    /// Gets the parts of the store once it is made.
    pub(crate) made: Sender<StoreParts>,
}

impl AwaitedStore {
    fn make(self) -> Result<SledLog, StoreError> {
        let log = recovery::create_within(self.directory, &self.content)?.into_log()?;
        // Without a receiver the process is about to end.
        let _ = self.made.send(StoreParts::of_log(&log)?);
        tracing::info!("the store is made, with its first record");
        Ok(log)
    }
}

/// The log of a served store.
pub(crate) enum ServedLog {
    Store(Box<SledLog>),
    /// `None` after its making has failed.
    Awaited(Option<Box<AwaitedStore>>),
    /// In the store that the servers of a cluster share.
    Shared(Box<SharedLog>),
}

impl ServedLog {
    /// The log, whose store is made if need be.
    fn made(&mut self) -> Result<&mut dyn Log, StoreError> {
        if let Self::Awaited(awaited) = self {
            let awaited = awaited.take().expect("the first failure ends the journal");
            *self = Self::Store(Box::new(awaited.make()?));
        }
        match self {
            Self::Store(log) => Ok(&mut **log),
            Self::Shared(log) => Ok(&mut **log),
            Self::Awaited(_) => unreachable!("it was made"),
        }
    }
}

impl Log for ServedLog {
    fn append(&mut self, records: &[JournalRecord]) -> Result<BatchNumber, StoreError> {
        self.made()?.append(records)
    }

    fn sync_watermark(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Store(log) => log.sync_watermark(),
            Self::Shared(log) => log.sync_watermark(),
            Self::Awaited(_) => Ok(()),
        }
    }

    fn checkpoint(&mut self) -> Result<Checkpoint, StoreError> {
        self.made()?.checkpoint()
    }

    fn record_format(&self) -> Arc<RecordFormat> {
        match self {
            Self::Store(log) => log.record_format(),
            Self::Shared(log) => log.record_format(),
            Self::Awaited(_) => Arc::default(),
        }
    }

    fn close(self) -> Result<(), StoreError> {
        match self {
            Self::Store(log) => log.close(),
            Self::Shared(log) => log.close(),
            Self::Awaited(_) => Ok(()),
        }
    }
}
