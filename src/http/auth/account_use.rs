//! The last use of accounts, to the day. Reference 17.5.

use crate::domain::records::account::Account;
use crate::domain::records::ids::GroupId;
use crate::domain::time::Instant;
use crate::engine::Engine;

/// Records that an account of a group is used, unless its use of this day is known. The request
/// does not wait for it.
pub(crate) fn record_use(engine: &Engine, group: GroupId, account: &Account, now: Instant) {
    let Some(state) = engine.published().group_state(group) else { return };
    let day = state.catalogue.zone().civil_of(now).day();
    if account.last_login.is_none_or(|last| last < day) {
        engine.record_account_use(group, account.fiche_id);
    }
}
