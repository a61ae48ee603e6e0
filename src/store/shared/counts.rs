//! Counts of limits, which the server that decides saves and the one that takes over reads. They
//! are no history: the newest of them may be lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::store::error::StoreError;
use crate::store::shared::PART;
use crate::store::shared::connection::SharedConnection;
use crate::store::shared::membership::Membership;

/// Longest time of a call: a takeover waits for one, and a server that stops too.
pub(crate) const COUNTS_DEADLINE: Duration = Duration::from_secs(2);

/// The counts in a shared store. It blocks its thread: never use it in a task.
pub(crate) struct SharedCounts {
    connection: SharedConnection,
    membership: Arc<Membership>,
}

impl SharedCounts {
    pub(crate) fn new(connection: SharedConnection, membership: Arc<Membership>) -> Self {
        Self { connection, membership }
    }

    /// Returns the counts that were saved last, by name.
    ///
    /// # Errors
    /// PostgreSQL refuses, or does not answer within [`COUNTS_DEADLINE`].
    pub(crate) fn read(&mut self) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
        let rows =
            self.connection.call("SELECT name, bytes FROM slotbook.read_counts($1)", &[&PART]);
        let rows = rows.map_err(|error| error.into_store_error("read the counts of"))?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Saves the counts of a name, at most 4 MiB. It waits for no standby and no disk.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] if this server does not decide: those of another one stay. Or
    /// PostgreSQL refuses.
    pub(crate) fn save(&mut self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let Membership { node, incarnation, .. } = &*self.membership;
        let saved = self.connection.call(
            "SELECT slotbook.save_counts($1, $2, $3, $4, $5)",
            &[&PART, node, incarnation, &name, &bytes],
        );
        saved.map(drop).map_err(|error| error.into_store_error("save counts in"))
    }
}
