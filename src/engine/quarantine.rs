//! Quarantined groups: their history holds an event that this release cannot apply. They are not
//! served, and every new generation keeps their data. Invariant 9.

use crate::domain::records::ids::GroupId;
use crate::domain::state::group_state::GroupState;
use crate::store::state::{self, QuarantinedEvent};
use crate::store::{JournalRecord, Position, StoreError};

/// Refusal of a document that would lack quarantined groups, each with its reason.
#[derive(Debug, thiserror::Error)]
#[error(
    "the document would lack groups of the store, and nothing was changed; \
     use `slotbook backup` instead:{0}"
)]
pub struct IncompleteDocument(String);

impl IncompleteDocument {
    /// Refuses a document if any group is quarantined.
    ///
    /// # Errors
    /// Those groups.
    pub fn refuse<'a>(
        quarantined: impl IntoIterator<Item = &'a QuarantinedGroup>,
    ) -> Result<(), Self> {
        let mut lines = String::new();
        for group in quarantined {
            lines += &format!("\n  group {} is set aside: {}", group.group, group.reason);
        }
        if lines.is_empty() { Ok(()) } else { Err(Self(lines)) }
    }
}

/// A group that is not served.
#[derive(Clone, Debug)]
pub struct QuarantinedGroup {
    /// The group's id.
    pub group: GroupId,
    /// The event or snapshot that failed, with the panic's message.
    pub reason: String,
    /// The last state that could be built; `None` if the snapshot itself gives none.
    pub last_state: Option<GroupState>,
    /// Position of the group's snapshot in the store.
    pub snapshot: Position,
    /// The events after `last_state`, or after the snapshot if there is no state, in order.
    pub pending_events: Vec<QuarantinedEvent>,
}

impl QuarantinedGroup {
    /// Appends an event to the pending ones.
    pub(crate) fn push_event(&mut self, record: JournalRecord) {
        let JournalRecord { sequence, format, bytes, .. } = record;
        self.pending_events.push(QuarantinedEvent { sequence, format, bytes });
    }

    /// Returns the position of the end of the group's history.
    pub(crate) fn position(&self) -> Position {
        match self.pending_events.last() {
            Some(last) => Position { sequence: last.sequence, ..self.snapshot },
            None => self.snapshot,
        }
    }

    /// Returns the pending events as frames, to be written behind those of the state.
    pub(crate) fn pending_frames(&self) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut frames = Vec::new();
        state::write_quarantined(&self.pending_events, |frame| {
            frames.push(frame.to_vec());
            Ok::<_, StoreError>(())
        })?;
        Ok(frames)
    }
}
