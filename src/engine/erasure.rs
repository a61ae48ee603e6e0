//! The erasing of clients, each of which is written to the list of the data directory first.
//! Reference 17.1, 17.2.

use std::path::Path;

use crate::domain::decisions::erasure::{find_upcoming, records_of};
use crate::domain::records::author::Author;
use crate::domain::records::ids::{FicheId, GroupId};
use crate::domain::state::command::{Command, EraseClients};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Refusal;
use crate::domain::time::Instant;
use crate::engine::forgotten_list::ErasureError;
use crate::engine::write::{Committed, Rejection};
use crate::engine::{Engine, confirmation};
use crate::store::{ForgottenClient, ForgottenFile};

/// Maximum number of attempts while records of the clients are merged meanwhile.
const ATTEMPTS_MAX: usize = 5;

/// The clients of an erasure.
struct ErasedClients {
    ids: Vec<FicheId>,
    /// Whether their upcoming appointments are cancelled, without a message.
    cancels_upcoming: bool,
    /// The moment since which all of them must have been idle.
    idle_since: Option<Instant>,
}

impl Engine {
    /// Keeps the list of erased clients in a data directory from now on. Without one, nothing is
    /// listed.
    ///
    /// # Panics
    /// While a client is being erased.
    pub fn list_forgotten_in(&self, directory: &Path) {
        let mut list = self.forgotten.0.try_lock().expect("it is set before anything is erased");
        *list = Some(ForgottenFile::new(directory));
    }

    /// Erases clients, and waits until that is on the disk. Before, their records are written to
    /// the list of the data directory. Clients that were erased already stay so, and are not listed
    /// again. Reference 17.1.
    ///
    /// # Errors
    /// NoResult, UpcomingAppointments, another rejection, or a list that cannot be written. With
    /// any of them nothing is erased.
    pub async fn erase_clients(
        &self,
        group: GroupId,
        author: Author,
        ids: Vec<FicheId>,
        cancels_upcoming: bool,
    ) -> Result<Committed, ErasureError> {
        let erased = ErasedClients { ids, cancels_upcoming, idle_since: None };
        self.erase(group, author, erased).await
    }

    /// Erases idle clients, as long as all of them have been idle since a moment. Reference 17.5.
    ///
    /// # Errors
    /// As [`Engine::erase_clients`].
    pub(super) async fn erase_idle(
        &self,
        group: GroupId,
        ids: Vec<FicheId>,
        idle_since: Instant,
    ) -> Result<Committed, ErasureError> {
        let idle_since = Some(idle_since);
        let erased = ErasedClients { ids, cancels_upcoming: false, idle_since };
        self.erase(group, Author::Server, erased).await
    }

    async fn erase(
        &self,
        group: GroupId,
        author: Author,
        erased: ErasedClients,
    ) -> Result<Committed, ErasureError> {
        let engine = self.clone();
        // A task of its own: a caller who leaves would leave the list without its outcome.
        let erasing = async move { engine.erase_listed(group, author, erased).await };
        let erasing = tokio::spawn(confirmation::noted_here(erasing));
        erasing.await.unwrap_or(Err(ErasureError::Rejected(Rejection::InternalError)))
    }

    async fn erase_listed(
        &self,
        group: GroupId,
        author: Author,
        erased: ErasedClients,
    ) -> Result<Committed, ErasureError> {
        let ErasedClients { ids, cancels_upcoming, idle_since } = erased;
        let list = self.forgotten.0.lock().await;
        for _ in 0..ATTEMPTS_MAX {
            let state = self.published().group_state(group).ok_or(Rejection::GroupNotFound)?;
            if ids.iter().any(|id| !state.fiches.contains_key(id)) {
                return Err(Rejection::Refused(Refusal::NoResult.into()).into());
            }
            let records = records_of(&state, &ids);
            let upcoming = find_upcoming(&state, &records, self.clock().now());
            if !cancels_upcoming && !upcoming.is_empty() {
                let refusal = Refusal::UpcomingAppointments { ids: upcoming };
                return Err(Rejection::Refused(refusal.into()).into());
            }
            let before = append(list.as_ref(), list_lines(&state, &records)).await?;
            let ids = ids.clone();
            let command =
                Command::EraseClients(EraseClients { ids, records, cancels_upcoming, idle_since });
            let done = self.write(group, author, command).await;
            if done.is_err()
                && let (Some(file), Some(length)) = (list.as_ref(), before)
                && let Err(error) = file.take_back(length)
            {
                tracing::error!(%error, "the list of erased clients names some that were not erased");
            }
            match done {
                // Records were merged meanwhile. Clients who are idle no more stay so.
                Err(Rejection::Refused(refusals))
                    if idle_since.is_none() && refusals == [Refusal::PreconditionFailed(None)] => {}
                done => return done.map_err(ErasureError::Rejected),
            }
        }
        Err(Rejection::Overloaded.into())
    }
}

/// The lines of some records.
fn list_lines(state: &GroupState, records: &[FicheId]) -> Vec<ForgottenClient> {
    let group = state.catalogue.group.id;
    let mut lines = Vec::with_capacity(records.len());
    for fiche in records.iter().filter_map(|id| state.fiches.get(id)) {
        lines.push(ForgottenClient { group, fiche: fiche.id, created_at: fiche.created_at });
    }
    lines
}

/// Writes lines to the list, if there is one and if there are any. Returns its length before.
async fn append(
    file: Option<&ForgottenFile>,
    lines: Vec<ForgottenClient>,
) -> Result<Option<u64>, ErasureError> {
    let Some(file) = file.cloned() else { return Ok(None) };
    if lines.is_empty() {
        return Ok(None);
    }
    let writing = tokio::task::spawn_blocking(move || file.append(&lines));
    match writing.await {
        Ok(Ok(length)) => Ok(Some(length)),
        Ok(Err(error)) => Err(ErasureError::Unlisted(error)),
        Err(_) => Err(ErasureError::Rejected(Rejection::InternalError)),
    }
}
