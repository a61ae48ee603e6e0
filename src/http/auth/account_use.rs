//! The last use of accounts, to the day. Reference 17.5.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::domain::records::account::Account;
use crate::domain::records::ids::{FicheId, GroupId};
use crate::domain::time::Instant;
use crate::engine::Engine;

/// Records the first use of an account on each day. Of an account one write is under way at most,
/// whatever number of requests come meanwhile.
#[derive(Clone, Default)]
pub(crate) struct AccountUses(Arc<Mutex<BTreeSet<(GroupId, FicheId)>>>);

impl AccountUses {
    /// Records that an account of a group is used, unless its use of this day is known. The request
    /// does not wait for it.
    pub(crate) fn record(&self, engine: &Engine, group: GroupId, account: &Account, now: Instant) {
        let Some(state) = engine.published().group_state(group) else { return };
        let day = state.catalogue.zone().civil_of(now).day();
        if account.last_login.is_some_and(|last| last >= day) {
            return;
        }
        let place = (group, account.fiche_id);
        if !self.0.lock().insert(place) {
            return;
        }
        let (under_way, engine) = (Arc::clone(&self.0), engine.clone());
        tokio::spawn(async move {
            engine.record_account_use(group, place.1).await;
            under_way.lock().remove(&place);
        });
    }
}
