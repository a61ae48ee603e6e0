//! The store: a journal of records, snapshots of streams, and the recovery of both. Reference 8.
//!
//! The store knows streams (the directory, each group) and numbered records, but not their content.
//! [`Store::open`] and [`Store::recover`] read it once. Then it is only written, through [`Log`]:
//!
//! ```
//! use slotbook::store::{
//!     BatchNumber, Frames, JournalRecord, Log, NewGeneration, Position, RecoveryVisitor, Store,
//!     StoreError, Stream,
//! };
//!
//! #[derive(Default)]
//! struct CollectRecords(Vec<JournalRecord>);
//!
//! impl RecoveryVisitor for CollectRecords {
//!     fn snapshot(
//!         &mut self,
//!         _: Stream,
//!         _: Position,
//!         frames: &mut dyn Frames,
//!     ) -> Result<(), StoreError> {
//!         while frames.next()?.is_some() {}
//!         Ok(())
//!     }
//!     fn record(&mut self, _: BatchNumber, record: JournalRecord) -> Result<(), StoreError> {
//!         self.0.push(record);
//!         Ok(())
//!     }
//! }
//!
//! let directory = tempfile::tempdir()?;
//! let store = NewGeneration::create(directory.path())?.publish()?;
//! let mut log = store.recover(&mut CollectRecords::default())?.into_log()?;
//! let record = JournalRecord::new(Stream::Directory, 1, b"a key was added".to_vec());
//! assert_eq!(log.append(std::slice::from_ref(&record))?, BatchNumber(1));
//! log.close()?;
//!
//! let mut visitor = CollectRecords::default();
//! let recovered = Store::open(directory.path())?.recover(&mut visitor)?;
//! assert!(recovered.report().clean);
//! assert_eq!(visitor.0, [record]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod checkpoint;
mod cleaned;
mod cluster_id;
pub mod codec;
mod compaction;
mod creation;
mod database;
mod durable_watermark;
mod error;
mod files;
mod forgotten;
mod formats;
mod generation;
mod io_throttle;
mod journal;
mod presence;
mod read_copy;
mod record;
mod recovery;
mod replay;
mod room_ahead;
mod shared;
mod simulated;
mod simulated_contents;
mod simulated_files;
mod snapshot;
pub mod state;
mod store_database;
mod store_files;
#[cfg(test)]
mod tests;

pub use checkpoint::Checkpoint;
pub use cleaned::{CleanedMarks, ErasureMarks};
pub(crate) use cluster_id::refuse_cluster_directory;
pub use compaction::{Compaction, Generations, StoreSizes, store_sizes};
pub use creation::{EmptyDirectory, NewGeneration};
pub(crate) use error::panic_message;
pub use error::{DamageLocation, StoreError};
pub use files::free_bytes;
pub use forgotten::{FORGOTTEN, ForgottenClient, ForgottenFile, LINE_BYTES_MAX, read_forgotten};
pub use formats::{Formats, RecordFormat};
pub use journal::{Log, SledLog};
pub use presence::Presence;
pub use record::{BatchNumber, JournalRecord, Position, Stream};
pub use recovery::{RecoveredStore, RecoveryReport, RecoveryVisitor, Store};
pub use replay::TornBatch;
#[cfg(test)]
pub(crate) use shared::simulation;
pub(crate) use shared::uptime;
pub(crate) use shared::{
    BEAT_INTERVAL, HandOver, LEASE_TIME, Lease, Membership, Release, SavedSession, SharedAddress,
    SharedCounts, SharedLog, SharedSessions, SharedSnapshotsWriter, SharedStore, SoundSnapshot,
    Takeover, init_cluster, plan_raise,
};
pub use simulated::{SimulatedDisk, SimulatedLog};
pub use simulated_contents::{InjectedFault, Tail};
pub use snapshot::{DatabaseSnapshot, Frames, SnapshotWriter};
