//! What readers see: nothing that is not durable, and everything that has been answered. Invariants 4 and 5.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};

use crate::domain::identity::directory::Directory;
use crate::domain::records::ids::GroupId;
use crate::domain::state::group_state::GroupState;
use crate::engine::mailbox::Mailbox;
use crate::engine::message_scheduler;
use crate::engine::quarantine::QuarantinedGroup;

/// The published states. A reader takes one and keeps it to the end of its request.
#[derive(Debug)]
pub struct Published {
    /// Keys, professionals, blocks of ids.
    directory: ArcSwap<Directory>,
    /// Every group of the store that has a state.
    groups: BTreeMap<GroupId, ArcSwap<GroupState>>,
    /// Who is told of every change, once a timer runs.
    timer: ArcSwapOption<Mailbox<message_scheduler::SchedulerMessage>>,
    /// Groups that nobody is let into.
    aside: BTreeMap<GroupId, QuarantinedGroup>,
}

impl Published {
    /// Publishes what was recovered.
    #[must_use]
    pub fn new(
        directory: Directory,
        group_states: impl IntoIterator<Item = GroupState>,
        aside: impl IntoIterator<Item = QuarantinedGroup>,
    ) -> Self {
        let slot = |group_state: GroupState| {
            (group_state.catalogue.group.id, ArcSwap::from_pointee(group_state))
        };
        Self {
            directory: ArcSwap::from_pointee(directory),
            groups: group_states.into_iter().map(slot).collect(),
            timer: ArcSwapOption::empty(),
            aside: aside.into_iter().map(|aside| (aside.group, aside)).collect(),
        }
    }

    /// The directory as of now.
    #[must_use]
    pub fn directory(&self) -> Arc<Directory> {
        self.directory.load_full()
    }

    /// A group's state as of now, or `None` where there is no such group.
    #[must_use]
    pub fn group_state(&self, group: GroupId) -> Option<Arc<GroupState>> {
        self.groups.get(&group).map(ArcSwap::load_full)
    }

    /// Groups that nobody is let into, by id.
    #[must_use]
    pub fn aside(&self) -> &BTreeMap<GroupId, QuarantinedGroup> {
        &self.aside
    }

    /// The id of every group that has a state, ascending.
    pub fn groups(&self) -> impl Iterator<Item = GroupId> + '_ {
        self.groups.keys().copied()
    }

    pub(super) fn show(&self, group: GroupId, group_state: Arc<GroupState>) {
        if let Some(slot) = self.groups.get(&group) {
            let before = slot.swap(Arc::clone(&group_state));
            if let Some(timer) = self.timer.load().as_ref() {
                timer.send(message_scheduler::SchedulerMessage::Committed {
                    before,
                    after: group_state,
                });
            }
        }
    }

    /// Has a timer told of every change from now on, and no other any more.
    pub(super) fn tell(&self, timer: Mailbox<message_scheduler::SchedulerMessage>) {
        self.timer.store(Some(Arc::new(timer)));
    }

    /// The timer that runs.
    pub(super) fn timer(&self) -> Option<Arc<Mailbox<message_scheduler::SchedulerMessage>>> {
        self.timer.load_full()
    }

    pub(super) fn show_directory(&self, directory: Arc<Directory>) {
        self.directory.store(directory);
    }
}
