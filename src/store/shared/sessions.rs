//! Sessions of the API, which the server that decides saves and the one that takes over reads. A
//! begin or a use may be lost; an end that was answered is not.

use std::sync::Arc;

use crate::store::error::StoreError;
use crate::store::shared::PART;
use crate::store::shared::connection::{Parameter, SharedConnection};
use crate::store::shared::membership::Membership;

/// The sessions in a shared store. It blocks its thread: never use it in a task.
pub(crate) struct SharedSessions {
    connection: SharedConnection,
    membership: Arc<Membership>,
    /// Whether those of servers before are there and were not read: they might have ended since.
    are_unread: bool,
}

/// A session as it is saved.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SavedSession {
    /// SHA-256 of its token.
    pub(crate) token_hash: [u8; 32],
    /// At most 4 KiB; `None` once it has ended.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl SharedSessions {
    pub(crate) fn new(connection: SharedConnection, membership: Arc<Membership>) -> Self {
        Self { connection, membership, are_unread: true }
    }

    /// Returns the sessions that were saved and have not ended. If they cannot be read, the first
    /// save removes them.
    ///
    /// # Errors
    /// PostgreSQL refuses, or does not answer in time.
    pub(crate) fn read(&mut self) -> Result<Vec<SavedSession>, StoreError> {
        let rows =
            self.connection.call("SELECT token, bytes FROM slotbook.read_sessions($1)", &[&PART]);
        let rows = rows.map_err(|error| error.into_store_error("read the sessions of"))?;
        self.are_unread = false;
        let saved = rows.iter().filter_map(|row| {
            let token_hash = row.get::<_, &[u8]>(0).try_into().ok()?;
            Some(SavedSession { token_hash, bytes: Some(row.get(1)) })
        });
        Ok(saved.collect())
    }

    /// Whether the next save has to remove those of servers before.
    pub(crate) const fn are_unread(&self) -> bool {
        self.are_unread
    }

    /// Saves sessions. Ends are on a standby too once it returns.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] if this server does not decide: the sessions of another one stay. Or
    /// PostgreSQL refuses.
    pub(crate) fn save(&mut self, sessions: &[SavedSession]) -> Result<(), StoreError> {
        const SAVE: &str = "SELECT slotbook.save_sessions($1, $2, $3, $4, $5, $6)";
        let Self { connection, membership, are_unread } = self;
        let Membership { node, incarnation, .. } = &**membership;
        let tokens: Vec<&[u8]> = sessions.iter().map(|saved| &saved.token_hash[..]).collect();
        let contents: Vec<Option<&[u8]>> =
            sessions.iter().map(|saved| saved.bytes.as_deref()).collect();
        let parameters: [Parameter<'_>; 6] =
            [&PART, node, incarnation, &tokens, &contents, are_unread];
        let saved = if *are_unread || contents.contains(&None) {
            connection.commit(SAVE, &parameters)
        } else {
            connection.call(SAVE, &parameters)
        };
        saved.map_err(|error| error.into_store_error("save sessions in"))?;
        *are_unread = false;
        Ok(())
    }
}
