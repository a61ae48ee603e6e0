//! Checkpoints: places between two batches, at which new snapshots begin. A log on disk continues
//! there in the journal that was made ready for it.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::store::database::Database;
use crate::store::generation::Generation;
use crate::store::record::BatchNumber;

/// A place between two batches of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last batch before it, which is durable; 0 before the first.
    pub last: BatchNumber,
    /// Epoch of the log: no record before it has a higher one.
    pub epoch: u32,
}

/// An empty journal that appends can continue in.
#[derive(Debug)]
pub(crate) struct NextJournal {
    pub(crate) generation: Generation,
    /// Its database; `None` on a simulated disk.
    pub(crate) database: Option<Database>,
}

/// The change of a log to its next journal.
#[derive(Debug)]
pub(crate) struct JournalRotation {
    /// Generation of the new journal.
    pub(crate) generation: Generation,
    /// The journal that ended, still open: closing it takes a while. `None` where nothing was
    /// appended since the start.
    pub(crate) ended: Option<Database>,
}

/// The place where a compactor leaves the next journal for the log, and the log the journal that
/// has ended. Clones are the same place.
#[derive(Clone, Debug, Default)]
pub(crate) struct JournalHandover(Arc<Mutex<Handover>>);

#[derive(Debug, Default)]
enum Handover {
    #[default]
    Nothing,
    /// The log continues in it at its next checkpoint.
    Offered(NextJournal),
    Rotated(JournalRotation),
}

impl JournalHandover {
    /// Offers a journal, in place of one that was offered before.
    pub(crate) fn offer(&self, next: NextJournal) {
        *self.0.lock() = Handover::Offered(next);
    }

    /// Takes the journal that was offered, if there is one.
    pub(crate) fn take_offered(&self) -> Option<NextJournal> {
        let mut handover = self.0.lock();
        match std::mem::take(&mut *handover) {
            Handover::Offered(next) => Some(next),
            other => {
                *handover = other;
                None
            }
        }
    }

    /// Leaves the change of the log to the journal that was offered.
    pub(crate) fn set_rotated(&self, rotation: JournalRotation) {
        *self.0.lock() = Handover::Rotated(rotation);
    }

    /// Takes the change of the log, if it has made one since the last call.
    pub(crate) fn take_rotation(&self) -> Option<JournalRotation> {
        let mut handover = self.0.lock();
        match std::mem::take(&mut *handover) {
            Handover::Rotated(rotation) => Some(rotation),
            other => {
                *handover = other;
                None
            }
        }
    }
}
