//! The groups with webhooks whose states are new.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::domain::records::ids::GroupId;

/// The groups that were published since the delivery last looked, each once.
#[derive(Debug, Default)]
pub(crate) struct WebhookWakeups {
    groups: Mutex<BTreeSet<GroupId>>,
    notify: Notify,
}

impl WebhookWakeups {
    /// Adds a group, and wakes the delivery.
    pub(crate) fn add(&self, group: GroupId) {
        self.groups.lock().insert(group);
        self.notify.notify_one();
    }

    /// Returns once a group was added.
    pub(crate) async fn wait(&self) {
        self.notify.notified().await;
    }

    /// Takes out the groups.
    pub(crate) fn take(&self) -> BTreeSet<GroupId> {
        std::mem::take(&mut *self.groups.lock())
    }
}
