//! Wake-ups for readers of a group's changes, sent when its states are published. Reference 18.3.
//!
//! A wake-up says only that there is something new: readers take it from the published state. So a
//! commit costs the same whatever they do, and one that falls behind keeps nothing in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::domain::records::ids::GroupId;

/// The groups whose changes are read as they come.
#[derive(Debug, Default)]
pub struct ChangeWakeups {
    /// Number of entries of `groups`. Without any, publishing takes no lock.
    watched: AtomicUsize,
    groups: Mutex<BTreeMap<GroupId, watch::Sender<()>>>,
}

/// The wake-ups of one group, until it is dropped.
#[derive(Debug)]
pub struct ChangeWatch {
    wakeups: Arc<ChangeWakeups>,
    group: GroupId,
    changed: watch::Receiver<()>,
}

impl ChangeWakeups {
    /// Watches a group from now on.
    pub fn watch(self: &Arc<Self>, group: GroupId) -> ChangeWatch {
        let mut groups = self.groups.lock();
        let sender = groups.entry(group).or_insert_with(|| watch::Sender::new(()));
        let changed = sender.subscribe();
        self.watched.store(groups.len(), Ordering::SeqCst);
        drop(groups);
        ChangeWatch { wakeups: Arc::clone(self), group, changed }
    }

    /// Wakes the readers of groups whose states were published.
    pub(crate) fn wake(&self, groups: impl Iterator<Item = GroupId>) {
        if self.watched.load(Ordering::SeqCst) == 0 {
            return;
        }
        let watched = self.groups.lock();
        for group in groups {
            if let Some(sender) = watched.get(&group) {
                sender.send_replace(());
            }
        }
    }
}

impl ChangeWatch {
    /// Waits until a state of the group was published since the last call, or since the watch
    /// began.
    pub async fn changed(&mut self) {
        self.changed.changed().await.expect("the sender stays while there is a receiver");
    }
}

impl Drop for ChangeWatch {
    fn drop(&mut self) {
        let mut groups = self.wakeups.groups.lock();
        // This one is still counted.
        if groups.get(&self.group).is_some_and(|sender| sender.receiver_count() == 1) {
            groups.remove(&self.group);
        }
        self.wakeups.watched.store(groups.len(), Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn group(number: u64) -> GroupId {
        GroupId::new(number).expect("an id")
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_is_woken_for_its_group_alone_and_once_for_many_changes() {
        let wakeups = Arc::new(ChangeWakeups::default());
        let mut first = wakeups.watch(group(1));
        let mut second = wakeups.watch(group(1));
        wakeups.wake([group(2), group(1), group(1)].into_iter());
        for watch in [&mut first, &mut second] {
            watch.changed().await;
            let again = tokio::time::timeout(Duration::from_secs(1), watch.changed()).await;
            assert!(again.is_err(), "nothing was published since");
        }
    }

    #[test]
    fn a_group_without_readers_leaves_nothing() {
        let wakeups = Arc::new(ChangeWakeups::default());
        let watches = [wakeups.watch(group(1)), wakeups.watch(group(1)), wakeups.watch(group(2))];
        assert_eq!(wakeups.watched.load(Ordering::SeqCst), 2);
        for watch in watches {
            drop(watch);
        }
        assert_eq!(wakeups.watched.load(Ordering::SeqCst), 0);
        assert!(wakeups.groups.lock().is_empty());
    }
}
