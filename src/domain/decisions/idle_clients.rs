//! The clients who were idle for long. Reference 17.5.

use std::collections::BTreeMap;

use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;

/// Finds the clients who were idle since a moment: nothing about them was made or changed, and no
/// appointment of theirs has ended since. Each comes with the number of rows about it. The cost is
/// that of all records.
pub(crate) fn find_idle(state: &GroupState, before: Instant) -> Vec<(FicheId, usize)> {
    let Some(counts_from) = state.privacy.counts_from else { return Vec::new() };
    if counts_from >= before {
        return Vec::new();
    }
    let mut last: BTreeMap<FicheId, (Instant, usize)> = BTreeMap::new();
    let mut note = |client: FicheId, at: Instant| {
        let entry = last.entry(state.kept_client(client)).or_insert((at, 0));
        entry.0 = entry.0.max(at);
        entry.1 += 1;
    };
    for fiche in state.fiches.values() {
        note(fiche.id, last_change(fiche));
    }
    for row in state.rows.values() {
        let Some(client) = row.fiche_id() else { continue };
        let end = row.appointment().map(|it| it.interval().end);
        note(client, end.unwrap_or(row.updated_at).max(row.updated_at));
    }
    for account in state.accounts.values() {
        if let Some(day) = account.last_login {
            let used = state.catalogue.zone().instant_of(day.plus_days(1).midnight());
            account.own().for_each(|own| note(own, used));
        }
    }
    let is_kept = |id: &FicheId| {
        state.fiches.get(id).is_some_and(|it| it.erased_at.is_none() && it.merged_into.is_none())
    };
    let idle = last.into_iter().filter(|(id, (at, _))| *at < before && is_kept(id));
    idle.map(|(id, (_, rows))| (id, rows)).collect()
}

fn last_change(fiche: &Fiche) -> Instant {
    fiche.updated_at.max(fiche.created_at)
}
