//! The tables of the model of PostgreSQL, and what its functions do to them.

use uuid::Uuid;

use crate::store::shared::connection::CallError;
use crate::store::shared::lease::TakeoverCondition;
use crate::store::shared::rows::OwnedRow;

/// A row of the model's journal.
pub(super) type Row = (OwnedRow, Vec<u8>);

/// The tables that commits change.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    pub(super) journal: Vec<Row>,
    /// The server that decides, and its start.
    pub(super) holder: Option<(usize, u64)>,
    /// The server to which it is to hand over.
    pub(super) successor: Option<usize>,
    /// Whether it has left.
    pub(super) released: bool,
    pub(super) beat: i64,
}

impl Tables {
    pub(super) fn last(&self) -> OwnedRow {
        self.journal.last().expect("it has a first row").0
    }

    pub(super) fn append(&mut self, row: OwnedRow, bytes: &[u8]) -> Result<(), CallError> {
        if self.journal.iter().any(|(there, _)| there.number == row.number) {
            return Err(CallError::KeyTaken);
        }
        let follows = self.journal.iter().any(|(before, _)| before.next() == row);
        if !follows {
            return Err(CallError::Fenced);
        }
        self.journal.push((row, bytes.to_vec()));
        Ok(())
    }

    pub(super) fn take(&mut self, owner: Uuid) -> OwnedRow {
        let last = self.last();
        let row = OwnedRow { number: last.number.next(), epoch: last.epoch + 1, owner };
        self.journal.push((row, Vec::new()));
        row
    }

    /// Has a start of a server take over, if the condition is met.
    pub(super) fn take_over(
        &mut self,
        server: (usize, u64),
        owner: Uuid,
        condition: TakeoverCondition,
    ) -> Option<OwnedRow> {
        let is_met = match condition {
            TakeoverCondition::NoBeatSince(seen) => self.beat == seen,
            TakeoverCondition::LeftToThis => self.released && self.successor == Some(server.0),
        };
        if !is_met {
            return None;
        }
        self.beat += 1;
        self.holder = Some(server);
        (self.successor, self.released) = (None, false);
        Some(self.take(owner))
    }
}
