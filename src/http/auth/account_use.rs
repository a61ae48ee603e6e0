//! The last use of accounts, to the day. Reference 17.5.

use crate::domain::records::account::Account;
use crate::domain::records::ids::{FicheId, GroupId};
use crate::domain::time::Instant;
use crate::engine::Engine;
use crate::http::auth::gathering::NotedThisHour;

/// Maximum number of accounts whose use is noted in an hour. Beyond it uses are lost.
const ACCOUNTS_MAX: usize = 100_000;

/// The accounts whose use of today is not written yet. One that is lost is found by the first use
/// of the next hour.
pub(crate) struct AccountUses(NotedThisHour<(GroupId, FicheId)>);

impl AccountUses {
    pub(crate) const fn new() -> Self {
        Self(NotedThisHour::new())
    }

    /// Records that an account of a group is used, unless its use of this day is known. The request
    /// does not wait for it.
    pub(crate) fn record(&self, engine: &Engine, group: GroupId, account: &Account, now: Instant) {
        let Some(state) = engine.published().group_state(group) else { return };
        let day = state.catalogue.zone().civil_of(now).day();
        if account.last_login.is_some_and(|last| last >= day) {
            return;
        }
        let client = account.fiche_id;
        let mut noted = self.0.at(now);
        if noted.len() >= ACCOUNTS_MAX || !noted.insert((group, client)) {
            return;
        }
        drop(noted);
        let engine = engine.clone();
        tokio::spawn(async move { engine.record_account_use(group, client).await });
    }
}
