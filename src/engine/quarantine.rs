//! Groups set aside: their history holds what this release cannot carry out. Nobody is let in, and nothing of them is
//! lost: every new generation carries them on. Invariant 9.

use crate::domain::records::ids::GroupId;
use crate::domain::state::group_state::GroupState;
use crate::store::state::{self, QuarantinedEvent};
use crate::store::{JournalRecord, Position, StoreError};

/// A group that nobody is let into.
#[derive(Clone, Debug)]
pub struct QuarantinedGroup {
    /// Which.
    pub group: GroupId,
    /// What could not be carried out.
    pub why: String,
    /// The last state that could be made; `None` where the snapshot itself makes none.
    pub base: Option<GroupState>,
    /// Where the group's snapshot stands, as the store has it.
    pub snapshot: Position,
    /// The events after `base`, or after the snapshot where there is no base.
    pub waiting: Vec<QuarantinedEvent>,
}

impl QuarantinedGroup {
    /// Puts an event behind those that wait.
    pub(super) fn push(&mut self, record: JournalRecord) {
        let JournalRecord { sequence, format, bytes, .. } = record;
        self.waiting.push(QuarantinedEvent { sequence, format, bytes });
    }

    /// Where the group's history ends.
    pub(super) fn position(&self) -> Position {
        let sequence = self.waiting.last().map_or(self.snapshot.sequence, |last| last.sequence);
        Position { sequence, ..self.snapshot }
    }

    /// The frames to stand behind those of the state before them.
    pub(super) fn frames(&self) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut frames = Vec::new();
        state::write_quarantined(&self.waiting, |frame| {
            frames.push(frame.to_vec());
            Ok::<_, StoreError>(())
        })?;
        Ok(frames)
    }
}
