//! The states that readers use: only durable ones, and every one that has been answered.
//! Invariants 4 and 5.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, ArcSwapOption};
use imbl::OrdMap;
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::domain::directory::Directory;
use crate::domain::records::ids::GroupId;
use crate::domain::state::changed_records::ChangedRecords;
use crate::domain::state::group_state::GroupState;
use crate::engine::account_index::AccountIndex;
use crate::engine::change_wakeups::{ChangeWakeups, ChangeWatch};
use crate::engine::group_map::GroupMap;
use crate::engine::group_states::GroupStates;
use crate::engine::mailbox::Mailbox;
use crate::engine::messages::{GroupChange, SchedulerMessage};
use crate::engine::quarantine::QuarantinedGroup;
use crate::engine::webhooks::wakeups::WebhookWakeups;
use crate::planted_faults::PlantedFault;

/// The published states. A reader takes one and keeps it to the end of its request.
#[derive(Debug)]
pub struct Published {
    /// Keys, professionals and blocks of ids.
    directory: ArcSwap<Directory>,
    /// Every group that is served.
    groups: GroupMap<ArcSwap<GroupState>>,
    /// The served groups by their `urlname`, which never changes; empty until it is needed. It may
    /// lack a group that was added a moment ago.
    urlnames: OnceLock<ArcSwap<OrdMap<Box<str>, GroupId>>>,
    /// The groups of each account's address.
    accounts: AccountIndex,
    /// The message scheduler, which is notified of every change; empty until it runs.
    scheduler: ArcSwapOption<Mailbox<SchedulerMessage>>,
    /// Readers of changes, who are woken by every change of their group.
    wakeups: Arc<ChangeWakeups>,
    /// The groups with webhooks that were published.
    webhook_wakeups: WebhookWakeups,
    /// Groups that are not served.
    quarantined: BTreeMap<GroupId, QuarantinedGroup>,
    /// The state of each group before its newest one. Empty unless a planted fault needs it.
    former: Mutex<BTreeMap<GroupId, Arc<GroupState>>>,
}

impl Published {
    /// Publishes the recovered states.
    pub fn new(
        directory: Directory,
        group_states: GroupStates,
        quarantined: impl IntoIterator<Item = QuarantinedGroup>,
    ) -> Self {
        let accounts = AccountIndex::new(group_states.accounts());
        let sorted = group_states.into_sorted().into_iter();
        let groups = sorted.map(|(group, group_state)| (group, ArcSwap::new(group_state)));
        let mut quarantined_by_id = BTreeMap::new();
        for group in quarantined {
            quarantined_by_id.insert(group.group, group);
        }
        Self {
            directory: ArcSwap::from_pointee(directory),
            groups: GroupMap::new(groups),
            urlnames: OnceLock::new(),
            accounts,
            scheduler: ArcSwapOption::empty(),
            wakeups: Arc::default(),
            webhook_wakeups: WebhookWakeups::default(),
            quarantined: quarantined_by_id,
            former: Mutex::default(),
        }
    }

    /// Returns the states of this moment, which later changes do not reach.
    pub(crate) fn copy_states(&self) -> Self {
        let states = self.groups().filter_map(|group| self.group_state(group));
        Self::new(Directory::clone(&self.directory()), states.collect(), [])
    }

    /// Returns the current directory.
    pub fn directory(&self) -> Arc<Directory> {
        self.directory.load_full()
    }

    /// Returns a group's current state. `None` for a group that is unknown or quarantined.
    pub fn group_state(&self, group: GroupId) -> Option<Arc<GroupState>> {
        self.groups.with(group, ArcSwap::load_full)
    }

    /// Returns the state of a group before its current one, for a planted fault; `None` without it.
    pub(crate) fn former_state(&self, group: GroupId) -> Option<Arc<GroupState>> {
        self.former.lock().get(&group).cloned()
    }

    /// Returns the id of the served group with a `urlname`.
    pub fn group_of_urlname(&self, urlname: &str) -> Option<GroupId> {
        self.index_urlnames().load().get(urlname).copied()
    }

    /// Returns the served groups by their `urlname`. The first call makes the index, which takes
    /// long with many groups: a server does so once clients are answered.
    pub(crate) fn index_urlnames(&self) -> &ArcSwap<OrdMap<Box<str>, GroupId>> {
        self.urlnames.get_or_init(|| {
            let mut urlnames = OrdMap::new();
            self.groups.each(|group_state| {
                let group_state = group_state.load();
                let group = &group_state.catalogue.group;
                urlnames.insert(group.urlname.as_str().into(), group.id);
            });
            ArcSwap::from_pointee(urlnames)
        })
    }

    /// Returns the first group, from `from` on, that has an account of a folded address.
    pub fn next_group_of_account(&self, folded: &str, from: GroupId) -> Option<GroupId> {
        self.accounts.next_group(folded, from)
    }

    /// Returns the groups that are not served, by id.
    pub fn quarantined(&self) -> &BTreeMap<GroupId, QuarantinedGroup> {
        &self.quarantined
    }

    /// Returns the ids of all served groups, ascending.
    pub fn groups(&self) -> impl Iterator<Item = GroupId> + use<> {
        self.groups.groups()
    }

    /// Returns the number of served groups.
    pub fn count_groups(&self) -> usize {
        self.groups.len()
    }

    /// Publishes a group that is new.
    pub(crate) fn publish_new_group(&self, group_state: Arc<GroupState>) {
        let group = &group_state.catalogue.group;
        let id = group.id;
        let urlname = Box::<str>::from(group.urlname.as_str());
        self.groups.add(id, ArcSwap::new(group_state));
        // After the group was added: an index that is made meanwhile may lack it.
        self.index_urlnames().rcu(|urlnames| urlnames.update(urlname.clone(), id));
    }

    /// Publishes the next states of groups, each with the records that changed since the state
    /// before, and notifies the scheduler and the readers of changes.
    pub(crate) fn publish_groups(
        &self,
        next_states: BTreeMap<GroupId, (Arc<GroupState>, ChangedRecords)>,
    ) {
        let groups: SmallVec<[GroupId; 8]> = next_states.keys().copied().collect();
        let mut changes = Vec::with_capacity(next_states.len());
        for (group, (group_state, changed)) in next_states {
            let swapped = self.groups.with(group, |state| state.swap(Arc::clone(&group_state)));
            let Some(before) = swapped else { continue };
            if PlantedFault::SearchOneBehind.is_active() {
                self.former.lock().insert(group, Arc::clone(&before));
            }
            self.accounts.follow(&before, &group_state);
            if !group_state.webhooks.is_empty() || !before.webhooks.is_empty() {
                self.webhook_wakeups.add(group);
            }
            changes.extend(GroupChange::new(&before, group_state, changed));
        }
        self.wakeups.wake(groups.into_iter());
        if !changes.is_empty()
            && let Some(scheduler) = self.scheduler.load().as_ref()
        {
            scheduler.send(SchedulerMessage::GroupsChanged(changes));
        }
    }

    /// Watches the changes of a group from now on.
    pub fn watch_changes(&self, group: GroupId) -> ChangeWatch {
        self.wakeups.watch(group)
    }

    /// The wake-ups of the delivery to webhooks.
    pub(crate) const fn webhook_wakeups(&self) -> &WebhookWakeups {
        &self.webhook_wakeups
    }

    /// Publishes the directory's next state.
    pub(crate) fn publish_directory(&self, directory: Arc<Directory>) {
        self.directory.store(directory);
    }

    /// Notifies this scheduler of every change from now on, instead of the one before.
    pub(crate) fn set_scheduler(&self, scheduler: Mailbox<SchedulerMessage>) {
        self.scheduler.store(Some(Arc::new(scheduler)));
    }

    /// Returns the current scheduler; `None` before the first one runs.
    pub(crate) fn scheduler(&self) -> Option<Arc<Mailbox<SchedulerMessage>>> {
        self.scheduler.load_full()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::catalogue::Catalogue;
    use crate::domain::records::group::Group;
    use crate::domain::records::text::Text;
    use crate::domain::time::Instant;
    use crate::domain::time::zone_names::ZoneName;

    fn state(id: u64) -> Arc<GroupState> {
        let zone = ZoneName::from_name("Paris").expect("a zone");
        let mut group = Group::new(GroupId::new(id).expect("an id"), zone, Instant(0));
        group.urlname = Text::new(&format!("shop-{id}")).expect("short");
        Arc::new(GroupState::new(Catalogue::new(group)))
    }

    #[test]
    fn a_group_is_found_by_its_urlname_whether_it_came_before_the_index_or_after_it() {
        let [first, second, third] = [1, 2, 3].map(state);
        let names = [&first, &second, &third].map(|state| {
            let group = &state.catalogue.group;
            (group.urlname.as_str().to_owned(), group.id)
        });
        let published = Published::new(Directory::default(), GroupStates::from_iter([first]), []);
        published.publish_new_group(second);
        for (urlname, group) in &names[..2] {
            assert_eq!(published.group_of_urlname(urlname), Some(*group));
        }
        assert_eq!(published.group_of_urlname(&names[2].0), None);
        published.publish_new_group(third);
        assert_eq!(published.group_of_urlname(&names[2].0), Some(names[2].1));
    }
}
