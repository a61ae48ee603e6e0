//! The states of all groups as an engine starts with them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::records::ids::GroupId;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::domain::time::zone::tzdata_version;

/// The states of groups by id, with what a start needs to know of all of them. It is kept as the
/// states change: with many groups, a look at each state takes far longer than all else.
#[derive(Debug, Default)]
pub struct GroupStates {
    /// Ascending by group. A group that was removed has no state.
    in_order: Vec<(GroupId, Option<Arc<GroupState>>)>,
    /// Groups that came after one with a higher id.
    late: BTreeMap<GroupId, Arc<GroupState>>,
    overview: Overview,
}

/// The facts about all states that a start needs.
#[derive(Debug, Default)]
struct Overview {
    /// The newest stamp of all states.
    last_stamp: Option<Instant>,
    /// Groups that have accounts, or have had.
    with_accounts: BTreeSet<GroupId>,
    /// Groups whose instants follow another time zone database than that of this release.
    of_other_zones: BTreeSet<GroupId>,
}

impl Overview {
    fn note(&mut self, group: GroupId, group_state: &GroupState) {
        self.last_stamp = self.last_stamp.max(Some(group_state.last_stamp));
        if !group_state.accounts.is_empty() {
            self.with_accounts.insert(group);
        }
        if *group_state.tzdata == *tzdata_version() {
            self.of_other_zones.remove(&group);
        } else {
            self.of_other_zones.insert(group);
        }
    }
}

impl GroupStates {
    /// Inserts a group, or replaces its state.
    pub fn insert(&mut self, group_state: Arc<GroupState>) {
        let group = group_state.catalogue.group.id;
        self.overview.note(group, &group_state);
        if let Some(place) = self.find_in_order(group) {
            self.in_order[place].1 = Some(group_state);
        } else if self.in_order.last().is_none_or(|(last, _)| *last < group) {
            self.in_order.push((group, Some(group_state)));
        } else {
            self.late.insert(group, group_state);
        }
    }

    /// Removes a group. Its stamps count on: it was changed when they say.
    pub(crate) fn remove(&mut self, group: GroupId) {
        match self.find_in_order(group) {
            Some(place) => self.in_order[place].1 = None,
            None => drop(self.late.remove(&group)),
        }
        self.overview.with_accounts.remove(&group);
        self.overview.of_other_zones.remove(&group);
    }

    /// Changes the state of a group in place, or a copy where it is shared. `None` without one.
    pub(crate) fn change<T>(
        &mut self,
        group: GroupId,
        change: impl FnOnce(&mut GroupState) -> T,
    ) -> Option<T> {
        let group_state = match self.find_in_order(group) {
            Some(place) => self.in_order[place].1.as_mut()?,
            None => self.late.get_mut(&group)?,
        };
        let changed = change(Arc::make_mut(group_state));
        self.overview.note(group, group_state);
        Some(changed)
    }

    /// Returns the state of a group.
    pub fn get(&self, group: GroupId) -> Option<&Arc<GroupState>> {
        match self.find_in_order(group) {
            Some(place) => self.in_order[place].1.as_ref(),
            None => self.late.get(&group),
        }
    }

    /// Returns the states, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<GroupState>> {
        let in_order = self.in_order.iter().filter_map(|(_, group_state)| group_state.as_ref());
        in_order.chain(self.late.values())
    }

    /// Returns the groups, in no order.
    pub(crate) fn groups(&self) -> impl Iterator<Item = GroupId> {
        let in_order = self.in_order.iter().filter(|(_, group_state)| group_state.is_some());
        in_order.map(|(group, _)| *group).chain(self.late.keys().copied())
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.groups().count()
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.groups().next().is_none()
    }

    /// The newest stamp of all groups; `None` if there was none.
    pub(crate) fn last_stamp(&self) -> Option<Instant> {
        self.overview.last_stamp
    }

    /// Returns the groups whose instants follow another time zone database than that of this
    /// release, ascending.
    pub(crate) fn of_other_zones(&self) -> Vec<GroupId> {
        self.overview.of_other_zones.iter().copied().collect()
    }

    /// Returns the folded address of each account, with its group.
    pub(crate) fn accounts(&self) -> impl Iterator<Item = (Box<str>, GroupId)> {
        let groups = self
            .overview
            .with_accounts
            .iter()
            .filter_map(|group| Some((*group, self.get(*group)?)));
        groups.flat_map(|(group, group_state)| {
            group_state.accounts.keys().map(move |folded| (folded.clone(), group))
        })
    }

    /// Returns the states, ascending by group.
    pub(crate) fn into_states(self) -> Vec<Arc<GroupState>> {
        self.into_sorted().into_iter().map(|(_, group_state)| group_state).collect()
    }

    /// Returns the states by group, ascending.
    pub(crate) fn into_sorted(self) -> Vec<(GroupId, Arc<GroupState>)> {
        let Self { in_order, late, .. } = self;
        let present = |(group, group_state): (_, Option<_>)| Some((group, group_state?));
        let mut sorted: Vec<_> = in_order.into_iter().filter_map(present).collect();
        if !late.is_empty() {
            sorted.extend(late);
            sorted.sort_by_key(|(group, _)| *group);
        }
        sorted
    }

    /// The place of a group that came in order.
    fn find_in_order(&self, group: GroupId) -> Option<usize> {
        self.in_order.binary_search_by_key(&group, |(group, _)| *group).ok()
    }
}

impl FromIterator<Arc<GroupState>> for GroupStates {
    /// Of two states of one group the last counts.
    fn from_iter<I: IntoIterator<Item = Arc<GroupState>>>(group_states: I) -> Self {
        let mut collected = Self::default();
        group_states.into_iter().for_each(|group_state| collected.insert(group_state));
        collected
    }
}

impl<const N: usize> From<[GroupState; N]> for GroupStates {
    fn from(group_states: [GroupState; N]) -> Self {
        group_states.into_iter().map(Arc::new).collect()
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
    use crate::domain::time::zone_names::ZoneName;

    fn group(id: u64) -> GroupId {
        GroupId::new(id).expect("an id")
    }

    fn state(id: u64) -> GroupState {
        let zone = ZoneName::from_name("Paris").expect("a zone");
        GroupState::new(Catalogue::new(Group::new(group(id), zone, Instant(0))))
    }

    fn states(ids: &[u64]) -> GroupStates {
        ids.iter().map(|id| Arc::new(state(*id))).collect()
    }

    fn ids(states: GroupStates) -> Vec<u64> {
        states.into_sorted().into_iter().map(|(group, _)| group.number()).collect()
    }

    fn add_account(state: &mut GroupState, address: &str) {
        let email = Email::new(address).expect("an address");
        let account = Account {
            fiche_id: FicheId::new(1).expect("an id"),
            password_hash: Text::default(),
            former: Vec::new(),
            last_login: None,
            email,
        };
        state.accounts.insert(account.email.folded(), account.into());
    }

    #[test]
    fn groups_are_found_in_whatever_order_they_came() {
        let mut states = states(&[5, 7, 2, 9, 3, 9]);
        assert_eq!((states.len(), states.iter().count(), states.groups().count()), (5, 5, 5));
        for removed in [7, 3, 4] {
            states.remove(group(removed));
            assert!(states.get(group(removed)).is_none());
        }
        assert_eq!(states.change(group(7), |_| ()), None);
        states.insert(Arc::new(state(7)));
        for changed in [2, 7] {
            states.change(group(changed), |state| state.sequence = changed).expect("a group");
            assert_eq!(states.get(group(changed)).expect("a group").sequence, changed);
        }
        assert_eq!(ids(states), [2, 5, 7, 9]);
        assert!(GroupStates::default().is_empty());
    }

    #[test]
    fn what_a_start_needs_follows_the_states() {
        let mut states = states(&[1, 2, 3]);
        assert_eq!((states.last_stamp(), states.of_other_zones()), (Some(Instant(0)), vec![]));
        assert_eq!(states.accounts().count(), 0);
        states.change(group(3), |state| {
            state.last_stamp = Instant(40);
            add_account(state, "ann@x.org");
        });
        let made = |id, change: fn(&mut GroupState)| {
            let mut state = state(id);
            change(&mut state);
            Arc::new(state)
        };
        let other = made(2, |state| state.tzdata = "2019a".into());
        states.insert(Arc::clone(&other));
        states.insert(made(1, |state| state.last_stamp = Instant(50)));
        assert_eq!(
            (states.last_stamp(), states.of_other_zones()),
            (Some(Instant(50)), vec![group(2)])
        );
        assert_eq!(states.accounts().collect::<Vec<_>>(), [("ann@x.org".into(), group(3))]);
        states.change(group(2), |state| state.tzdata = tzdata_version().into());
        states.change(group(3), |state| state.accounts.remove("ann@x.org"));
        assert_eq!((states.of_other_zones(), states.accounts().count()), (vec![], 0));
        states.insert(other);
        states.remove(group(2));
        states.remove(group(1));
        let last = states.last_stamp();
        assert_eq!((last, states.of_other_zones()), (Some(Instant(50)), vec![]), "it was known");
    }
}
