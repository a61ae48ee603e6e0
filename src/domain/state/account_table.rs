//! The accounts of a group, by their address and by the client that they book for. Reference 3.5.

use std::ops::{Bound, Index};
use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;

use crate::domain::records::account::{Account, AccountMark};
use crate::domain::records::ids::FicheId;

/// The accounts of a group. Several may book for one client, as after a merge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccountTable {
    /// The accounts by their folded address.
    by_address: OrdMap<Box<str>, Arc<Account>>,
    /// The same, ascending by the client that they book for. A page of a list and the accounts of
    /// one client cost what they hold, however many others there are.
    by_client: OrdMap<AccountMark, Arc<Account>>,
}

impl AccountTable {
    /// Returns the account of a folded address.
    pub fn get(&self, folded: &str) -> Option<&Arc<Account>> {
        self.by_address.get(folded)
    }

    /// Whether a folded address has an account.
    pub fn contains_key(&self, folded: &str) -> bool {
        self.by_address.contains_key(folded)
    }

    /// Number of accounts.
    pub fn len(&self) -> usize {
        self.by_address.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }

    /// The folded addresses, ascending.
    pub fn keys(&self) -> impl Iterator<Item = &Box<str>> {
        self.by_address.keys()
    }

    /// The accounts, ascending by their folded address.
    pub fn values(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.by_address.values()
    }

    /// The accounts with their folded addresses, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (&Box<str>, &Arc<Account>)> {
        self.by_address.iter()
    }

    /// The accounts, ascending by the client that they book for.
    pub fn by_client(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.by_client.values()
    }

    /// The same, from the client of an id on.
    pub fn from_client(&self, first: FicheId) -> impl Iterator<Item = &Arc<Account>> {
        let first = AccountMark { client: first, address_hash: [0; 32] };
        self.by_client.range((Bound::Included(first), Bound::Unbounded)).map(|(_, found)| found)
    }

    /// The accounts by the client that they book for, before one of that id; descending.
    pub fn before_client(&self, end: FicheId) -> impl Iterator<Item = &Arc<Account>> {
        let end = AccountMark { client: end, address_hash: [0; 32] };
        self.by_client.range(..end).rev().map(|(_, found)| found)
    }

    /// The accounts that book for a client.
    pub fn of_client(&self, client: FicheId) -> impl Iterator<Item = &Arc<Account>> {
        self.from_client(client).take_while(move |account| account.fiche_id == client)
    }

    /// Returns the account that a mark stands for.
    pub fn of_mark(&self, mark: &AccountMark) -> Option<&Arc<Account>> {
        self.by_client.get(mark)
    }

    /// Adds the account of a folded address, in place of the one that has it.
    pub fn insert(&mut self, folded: Box<str>, account: Arc<Account>) -> Option<Arc<Account>> {
        let before = self.by_address.insert(folded, Arc::clone(&account));
        if let Some(before) = &before {
            self.by_client.remove(&before.mark());
        }
        self.by_client.insert(account.mark(), account);
        before
    }

    /// Removes the account of a folded address.
    pub fn remove(&mut self, folded: &str) -> Option<Arc<Account>> {
        let removed = self.by_address.remove(folded)?;
        self.by_client.remove(&removed.mark());
        Some(removed)
    }

    /// Whether both are the same for sure, since neither has changed since it was cloned.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.by_address.ptr_eq(&other.by_address)
    }

    /// The accounts, by their folded address, in which `after` differs. The cost is about theirs.
    pub fn diff<'d>(
        &'d self,
        after: &'d Self,
    ) -> impl Iterator<Item = DiffItem<'d, 'd, Box<str>, Arc<Account>>> {
        self.by_address.diff(&after.by_address)
    }
}

/// The account of a folded address.
///
/// # Panics
/// If there is none.
impl Index<&str> for AccountTable {
    type Output = Arc<Account>;

    fn index(&self, folded: &str) -> &Arc<Account> {
        self.get(folded).expect("the address has an account")
    }
}

impl FromIterator<Arc<Account>> for AccountTable {
    fn from_iter<I: IntoIterator<Item = Arc<Account>>>(accounts: I) -> Self {
        let mut table = Self::default();
        for account in accounts {
            table.insert(account.email.folded(), account);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::domain::records::text::{Email, Text};

    fn account(address: u64, client: u64) -> Arc<Account> {
        let email = Email::new(&format!("{address}@example.org")).expect("an address");
        let fiche_id = FicheId::new(client).expect("an id");
        let password_hash = Text::default();
        Account { email, fiche_id, password_hash, former: Vec::new(), last_login: None }.into()
    }

    proptest! {
        /// Both orders agree with a list of the accounts, whatever is added, moved and removed.
        #[test]
        fn both_orders_hold_the_same_accounts(
            steps in proptest::collection::vec((1..6_u64, proptest::option::of(1..5_u64)), 0..40),
        ) {
            let mut table = AccountTable::default();
            let mut model: BTreeMap<Box<str>, Arc<Account>> = BTreeMap::new();
            for (address, client) in steps {
                let folded = account(address, 1).email.folded();
                match client {
                    Some(client) => {
                        let account = account(address, client);
                        let before = table.insert(folded.clone(), Arc::clone(&account));
                        prop_assert_eq!(before, model.insert(folded, account));
                    }
                    None => prop_assert_eq!(table.remove(&folded), model.remove(&folded)),
                }
                prop_assert!(table.values().eq(model.values()));
                prop_assert!(table.iter().eq(model.iter()));
                prop_assert_eq!((table.len(), table.is_empty()), (model.len(), model.is_empty()));
                let mut by_client: Vec<&Arc<Account>> = model.values().collect();
                by_client.sort_by_key(|account| account.mark());
                prop_assert!(table.by_client().eq(by_client.iter().copied()));
                for client in 1..5 {
                    let client = FicheId::new(client).expect("an id");
                    let own = by_client.iter().filter(|account| account.fiche_id == client);
                    prop_assert!(table.of_client(client).eq(own.copied()));
                    let later = by_client.iter().filter(|account| account.fiche_id >= client);
                    prop_assert!(table.from_client(client).eq(later.copied()));
                    let earlier = by_client.iter().rev().filter(|it| it.fiche_id < client);
                    prop_assert!(table.before_client(client).eq(earlier.copied()));
                }
            }
        }
    }

    #[test]
    fn a_copy_is_the_same_for_sure_until_either_changes() {
        let mut table: AccountTable = [account(1, 1), account(2, 1)].into_iter().collect();
        let copy = table.clone();
        assert!(table.ptr_eq(&copy));
        table.remove("2@example.org");
        assert!(!table.ptr_eq(&copy));
    }
}
