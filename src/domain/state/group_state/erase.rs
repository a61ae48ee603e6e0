//! The erasing of clients from the state of a group. Reference 17.1.

use std::sync::Arc;

use crate::domain::records::account::Account;
use crate::domain::records::ids::{CalendarId, FicheId, VeventId};
use crate::domain::records::vevent::{Vevent, VeventKind};
use crate::domain::state::erasure::{Erasure, ErasureMark};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::group_state::observed::{FieldChanges, of_account, of_fiche, of_vevent};
use crate::domain::state::history::ObservedChange;
use crate::domain::state::history::row::{HistoryField, HistoryObject, HistoryVerb, ObjectKind};
use crate::domain::time::Instant;

impl GroupState {
    /// Returns what is left of an account when clients are erased: itself without them; `None` if
    /// it goes. It goes without another client, and if its address is that of an erased client
    /// alone.
    pub fn account_without(&self, account: &Account, erased: &[FicheId]) -> Option<Account> {
        let folded = account.email.folded();
        let has_address = |id: &FicheId| {
            let email = self.fiches.get(id).and_then(|fiche| fiche.email.as_ref());
            email.is_some_and(|email| email.folded() == folded)
        };
        let left: Vec<FicheId> = account.own().filter(|own| !erased.contains(own)).collect();
        let named = left.iter().copied().find(has_address);
        let is_theirs = erased.contains(&account.fiche_id) || erased.iter().any(has_address);
        let fiche_id = match named {
            None if is_theirs => return None,
            Some(named) if erased.contains(&account.fiche_id) => named,
            Some(_) | None => account.fiche_id,
        };
        let former = left.into_iter().filter(|own| *own != fiche_id).collect();
        Some(Account { fiche_id, former, ..account.clone() })
    }

    /// The accounts that own one of some clients, which ascend. Each comes with what is left of it
    /// without them.
    fn accounts_without(&self, erased: &[FicheId]) -> Vec<(Arc<Account>, Option<Account>)> {
        let mut changed = Vec::new();
        for account in self.accounts.values() {
            if account.own().any(|own| erased.binary_search(&own).is_ok()) {
                changed.push((Arc::clone(account), self.account_without(account, erased)));
            }
        }
        changed
    }

    /// Removes everything that tells of some clients.
    pub(super) fn erase(&mut self, at: Instant, erasure: &Erasure) {
        for (before, after) in self.accounts_without(&erasure.fiches) {
            let folded = before.email.folded();
            match after {
                Some(account) => drop(self.accounts.insert(folded, Arc::new(account))),
                None => drop(self.accounts.remove(&folded)),
            }
        }
        erasure.cancelled.iter().for_each(|id| self.cancel_appointment(*id, at));
        erasure.vevents.iter().for_each(|id| self.erase_texts(*id, at));
        erasure.messages.iter().for_each(|id| self.outbox.remove(*id));
        erasure.holds.iter().for_each(|id| self.remove_hold(*id));
        erasure.links.iter().for_each(|hash| self.links.remove(hash));
        erasure.answers.iter().for_each(|scope| self.idempotency_records.remove(scope));
        for id in &erasure.fiches {
            let fiche = self.fiches.get(id).expect("an erased client exists").erased(at);
            self.put_fiche(Arc::new(fiche));
        }
        self.closed_addresses.remove_of_clients(&erasure.fiches);
        self.mark_erasure(at);
    }

    /// Records that the event that is being applied erases something.
    pub(super) fn mark_erasure(&mut self, at: Instant) {
        self.privacy.last_erasure = Some(ErasureMark { sequence: self.sequence, at });
    }

    /// Removes the texts of an event, its origin, and the client of one that is no appointment. A
    /// deleted event keeps its stamp, since upkeep counts from its deletion.
    fn erase_texts(&mut self, id: VeventId, at: Instant) {
        let mut row = Vevent::clone(self.rows.get(&id).expect("an erased event exists"));
        row.rare = None;
        if let VeventKind::Appointment(appointment) = &mut row.kind {
            appointment.booking_origin = None;
        }
        if !row.deleted {
            row.updated_at = at;
        }
        self.put_vevent(Arc::new(row));
    }

    /// The calendars of the events and holds that go or change.
    pub(super) fn calendars_of_erasure(&self, erasure: &Erasure) -> Vec<CalendarId> {
        let vevents = erasure.cancelled.iter().chain(&erasure.vevents);
        let rows = vevents.filter_map(|id| self.rows.get(id)).map(|row| row.calendar_id);
        let holds = erasure.holds.iter().filter_map(|id| self.holds().get(*id));
        rows.chain(holds.map(|hold| hold.calendar_id)).collect()
    }

    /// Returns the changes of an erasure: of each client, event and account.
    pub(super) fn observe_erasure(&self, erasure: &Erasure) -> Vec<ObservedChange> {
        let mut changes = Vec::new();
        for id in &erasure.fiches {
            changes.push(of_fiche(*id, HistoryVerb::Erased, FieldChanges::default()));
        }
        for id in &erasure.cancelled {
            let fields = FieldChanges::default().with(HistoryField::Deleted, Some(0), Some(1));
            changes.push(of_vevent(*id, HistoryVerb::Deleted, fields));
        }
        for id in &erasure.vevents {
            changes.push(of_vevent(*id, HistoryVerb::Emptied, FieldChanges::default()));
        }
        for (before, after) in self.accounts_without(&erasure.fiches) {
            match after {
                Some(after) => changes.extend(of_account(Some(&before), &after)),
                None => changes.push(removal_of(&before)),
            }
        }
        changes
    }
}

/// The change of an account that goes.
pub(super) fn removal_of(account: &Account) -> ObservedChange {
    let object = HistoryObject { kind: ObjectKind::Account, id: account.fiche_id.number() };
    ObservedChange { object, verb: HistoryVerb::Removed, fields: Vec::new(), settings: None }
}
