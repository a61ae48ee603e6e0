//! The groups that have an account of an address. Logins that name no group look here. Reference
//! 3.5.

use std::sync::Arc;

use arc_swap::ArcSwap;
use imbl::OrdSet;
use imbl::ordmap::DiffItem;

use crate::domain::records::ids::GroupId;
use crate::domain::state::group_state::GroupState;

/// The folded address of each account, with its group. It follows the published states, and may
/// differ from one that is being replaced: a reader checks the state.
#[derive(Debug)]
pub(crate) struct AccountIndex(ArcSwap<OrdSet<(Box<str>, GroupId)>>);

impl AccountIndex {
    /// Creates the index of some accounts: their folded addresses and their groups.
    pub(crate) fn new(accounts: impl IntoIterator<Item = (Box<str>, GroupId)>) -> Self {
        Self(ArcSwap::from_pointee(accounts.into_iter().collect()))
    }

    /// Returns the first group, from `from` on, that has an account of a folded address.
    pub(crate) fn next_group(&self, folded: &str, from: GroupId) -> Option<GroupId> {
        let entries = self.0.load();
        let (email, group) = entries.range((Box::from(folded), from)..).next()?;
        if **email == *folded { Some(*group) } else { None }
    }

    /// Follows a group from one state to the next. The cost is that of the accounts that changed.
    /// One thread alone may call this.
    pub(crate) fn follow(&self, before: &GroupState, after: &GroupState) {
        if before.accounts.ptr_eq(&after.accounts) {
            return;
        }
        let group = after.catalogue.group.id;
        let mut entries = OrdSet::clone(&self.0.load());
        for change in before.accounts.diff(&after.accounts) {
            match change {
                DiffItem::Add(folded, _) => drop(entries.insert((folded.clone(), group))),
                DiffItem::Remove(folded, _) => drop(entries.remove(&(folded.clone(), group))),
                DiffItem::Update { .. } => {}
            }
        }
        self.0.store(Arc::new(entries));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::domain::availability::catalogue::Catalogue;
    use crate::domain::records::account::Account;
    use crate::domain::records::group::Group;
    use crate::domain::records::ids::FicheId;
    use crate::domain::records::text::{Email, Text};
    use crate::domain::time::Instant;
    use crate::domain::time::zone_names::ZoneName;

    fn group(id: u64) -> GroupId {
        GroupId::new(id).expect("an id")
    }

    fn state(id: u64, emails: &[&str]) -> GroupState {
        let zone = ZoneName::from_name("Paris").expect("a zone");
        let mut state = GroupState::new(Catalogue::new(Group::new(group(id), zone, Instant(0))));
        add(&mut state, emails);
        state
    }

    fn add(state: &mut GroupState, emails: &[&str]) {
        for email in emails {
            let email = Email::new(email).expect("an address");
            let fiche_id = FicheId::new(1).expect("an id");
            let account = Account {
                fiche_id,
                password_hash: Text::default(),
                former: Vec::new(),
                last_login: None,
                email,
            };
            state.accounts.insert(account.email.folded(), account.into());
        }
    }

    fn groups_of(index: &AccountIndex, folded: &str) -> Vec<u64> {
        let mut found = Vec::new();
        let mut from = 1;
        while let Some(next) = index.next_group(folded, group(from)) {
            found.push(next.number());
            from = next.number() + 1;
        }
        found
    }

    #[test]
    fn the_groups_of_an_address_follow_the_states() {
        let states =
            [state(1, &["ann@x.org"]), state(2, &["ann@x.org", "bob@x.org"]), state(3, &[])];
        let accounts = states.iter().flat_map(|state| {
            let group = state.catalogue.group.id;
            state.accounts.keys().map(move |folded| (folded.clone(), group))
        });
        let index = AccountIndex::new(accounts);
        assert_eq!(groups_of(&index, "ann@x.org"), [1, 2]);
        assert_eq!(groups_of(&index, "bob@x.org"), [2]);
        assert_eq!(groups_of(&index, "ann@x.or"), [0; 0]);
        let mut after = states[2].clone();
        add(&mut after, &["ANN@x.org", "cid@x.org"]);
        index.follow(&states[2], &after);
        assert_eq!(groups_of(&index, "ann@x.org"), [1, 2, 3]);
        let mut after = states[0].clone();
        after.accounts.remove("ann@x.org");
        add(&mut after, &["bob@x.org"]);
        index.follow(&states[0], &after);
        assert_eq!(
            (groups_of(&index, "ann@x.org"), groups_of(&index, "bob@x.org")),
            (vec![2, 3], vec![1, 2])
        );
    }
}
