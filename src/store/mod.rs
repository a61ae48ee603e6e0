//! Bytes that survive: a journal of records, snapshots of streams, and the recovery of both.
//!
//! The store knows streams (the directory, each group), their records by number, and nothing of what they say. It is
//! read once, by [`Store::open`] and [`Store::recover`], then only written, through [`Log`]:
//!
//! ```
//! use slotbook::store::{BatchNumber, Frames, Log, NewGeneration, Position, Record, Store, StoreError, Stream, RecoveryVisitor};
//!
//! #[derive(Default)]
//! struct CollectingVisitor(Vec<Record>);
//!
//! impl RecoveryVisitor for CollectingVisitor {
//!     fn snapshot(&mut self, _: Stream, _: Position, frames: &mut Frames<'_, '_>) -> Result<(), StoreError> {
//!         while frames.next()?.is_some() {}
//!         Ok(())
//!     }
//!     fn record(&mut self, _: BatchNumber, record: Record) -> Result<(), StoreError> {
//!         self.0.push(record);
//!         Ok(())
//!     }
//! }
//!
//! let directory = tempfile::tempdir()?;
//! let store = NewGeneration::create(directory.path())?.publish()?;
//! let mut log = store.recover(&mut CollectingVisitor::default())?.into_log()?;
//! let record = Record::new(Stream::Directory, 0, 1, b"a key was added".to_vec());
//! assert_eq!(log.append(std::slice::from_ref(&record))?, BatchNumber(1));
//! log.close()?;
//!
//! let mut seen = CollectingVisitor::default();
//! let recovered = Store::open(directory.path())?.recover(&mut seen)?;
//! assert!(recovered.report().clean);
//! assert_eq!(seen.0, [record]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
pub mod codec;
mod compaction;
mod copy;
mod creation;
mod database;
mod durable_watermark;
mod error;
mod files;
mod generation;
mod io_throttle;
mod journal;
mod record;
mod recovery;
mod replay;
mod simulated;
mod snapshot;
pub mod state;
#[cfg(test)]
mod tests;

pub use compaction::{
    Compaction, Generations, JournalRotation, NextJournal, StoreSizes, store_sizes,
};
pub use copy::{StoreCopy, copy_store};
pub use creation::NewGeneration;
pub use error::{DamageLocation, StoreError};
pub use files::free_bytes;
pub use journal::{Log, SledLog};
pub use record::{BatchNumber, JournalRecord, Position, Stream};
pub use recovery::{RecoveredStore, RecoveryReport, RecoveryVisitor, Store};
pub use replay::TornBatch;
pub use simulated::{InjectedFault, SimulatedDisk, SimulatedLog, Tail};
pub use snapshot::{Frames, SnapshotWriter};
