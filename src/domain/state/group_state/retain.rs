//! Retention in the state of a group. Reference 17.5.

use std::sync::Arc;

use crate::domain::directory::password_link::PasswordLink;
use crate::domain::records::account::{Account, AccountMark};
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::closed_addresses::ClosedAddress;
use crate::domain::state::erasure::Erasure;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::group_state::erase::removal_of;
use crate::domain::state::group_state::observed::{FieldChanges, of_vevent};
use crate::domain::state::history::ObservedChange;
use crate::domain::state::history::row::{HistoryField, HistoryVerb};
use crate::domain::time::{CivilDay, Instant};

impl GroupState {
    /// Records that idle time counts from now on.
    pub(super) fn begin_retention_count(&mut self, at: Instant) {
        self.privacy.counts_from = Some(at);
    }

    /// Records the last use of the accounts that book for a client.
    pub(super) fn record_account_use(&mut self, client: FicheId, day: CivilDay) {
        let used = self.accounts.of_client(client);
        let used: Vec<Account> = used.map(|account| Account::clone(account)).collect();
        for mut account in used {
            account.last_login = account.last_login.max(Some(day));
            self.accounts.insert(account.email.folded(), Arc::new(account));
        }
    }

    /// Gives appointments without their texts to the record of no person, which is made at first.
    pub(super) fn empty_appointments(&mut self, at: Instant, to: FicheId, parts: &Erasure) {
        if !self.fiches.contains_key(&to) {
            self.put_fiche(Arc::new(Fiche::new(to, at).erased(at)));
        }
        self.privacy.placeholder = Some(to);
        for id in &parts.vevents {
            let row = self.rows.get(id).expect("an emptied event exists");
            let mut row = Vevent::clone(row);
            row.set_client(to);
            self.put_vevent(Arc::new(row));
        }
        self.erase(at, parts);
    }

    /// Removes accounts and the links about them.
    pub(super) fn close_accounts(&mut self, at: Instant, accounts: &[AccountMark]) {
        for mark in accounts {
            let Some(account) = self.accounts.of_mark(mark) else { continue };
            let folded = account.email.folded();
            let closed = ClosedAddress { address_hash: mark.address_hash, client: mark.client, at };
            self.closed_addresses.add(closed);
            self.links.remove_passwords(&folded);
            self.links.remove_changes(&folded);
            self.accounts.remove(&folded);
        }
        self.mark_erasure(at);
    }

    /// Whether a link that sets the password of an address can be followed: it has not expired by
    /// the steady time, the account of its address is as it was, and none was closed since.
    pub fn takes_link(&self, link: &PasswordLink, steady_now: Instant) -> bool {
        let account = self.accounts.get(&link.email.folded()).map(AsRef::as_ref);
        link.is_valid(account, steady_now) && !self.closed_addresses.end(link)
    }

    /// Returns the changes of a closing of accounts.
    pub(super) fn observe_closing(&self, accounts: &[AccountMark]) -> Vec<ObservedChange> {
        let known = accounts.iter().filter_map(|mark| self.accounts.of_mark(mark));
        known.map(|account| removal_of(account)).collect()
    }

    /// Returns the changes of appointments that lose their person. The rows have the client after
    /// it alone.
    pub(super) fn observe_emptying(
        &self,
        placeholder: FicheId,
        parts: &Erasure,
    ) -> Vec<ObservedChange> {
        let to = i64::try_from(placeholder.number()).ok();
        let emptied = |id: &VeventId| {
            let fields = FieldChanges::default().with(HistoryField::FicheId, None, to);
            of_vevent(*id, HistoryVerb::Emptied, fields)
        };
        let known = parts.vevents.iter().filter(|id| self.rows.contains_key(id));
        known.map(emptied).collect()
    }
}
