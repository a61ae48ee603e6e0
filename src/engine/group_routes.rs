//! Routes to the actors of groups, so that a write reaches its group without passing the
//! supervisor.

use parking_lot::Mutex;

use crate::domain::records::ids::GroupId;
use crate::engine::group_map::GroupMap;
use crate::engine::mailbox::Mailbox;
use crate::engine::messages::GroupMessage;
use crate::engine::write::Envelope;

/// The routes of all groups. The supervisor alone opens and closes them.
#[derive(Debug)]
pub(crate) struct GroupRoutes {
    /// One entry for each served group; `None` for a group without an actor.
    groups: GroupMap<Mutex<Option<Route>>>,
}

/// The route to one running actor.
#[derive(Debug)]
struct Route {
    mailbox: Mailbox<GroupMessage>,
    /// Number of commands sent to the actor.
    sent: u64,
}

impl GroupRoutes {
    /// Creates the closed routes of these groups.
    pub(crate) fn new(groups: impl Iterator<Item = GroupId>) -> Self {
        Self { groups: GroupMap::new(groups.map(|group| (group, Mutex::new(None)))) }
    }

    /// Adds the closed route of a new group.
    pub(crate) fn add_group(&self, group: GroupId) {
        self.groups.add(group, Mutex::new(None));
    }

    /// Sends a command to its group. Returns it if the group has no actor.
    pub(crate) fn send(&self, group: GroupId, envelope: Envelope) -> Option<Envelope> {
        let mut unsent = Some(envelope);
        self.groups.with(group, |slot| {
            let mut route = slot.lock();
            if let Some(route) = route.as_mut()
                && let Some(envelope) = unsent.take()
            {
                route.sent += 1;
                // Sent under the lock: a route is not closed between the count and the message.
                route.mailbox.send(GroupMessage::Command(envelope));
            }
        });
        unsent
    }

    /// Opens the route to an actor that just started.
    pub(crate) fn open(&self, group: GroupId, mailbox: Mailbox<GroupMessage>) {
        self.groups.with(group, |slot| *slot.lock() = Some(Route { mailbox, sent: 0 }));
    }

    /// Closes the route to an actor that ends.
    pub(crate) fn close(&self, group: GroupId) {
        self.groups.with(group, |slot| *slot.lock() = None);
    }

    /// Closes the route if the actor was sent this number of commands. Returns whether it is
    /// closed: no command is on its way to the actor then.
    pub(crate) fn close_if_sent(&self, group: GroupId, sent: u64) -> bool {
        let close = |slot: &Mutex<Option<Route>>| {
            let mut route = slot.lock();
            if route.as_ref().is_some_and(|route| route.sent != sent) {
                return false;
            }
            *route = None;
            true
        };
        self.groups.with(group, close).unwrap_or(true)
    }

    /// Returns the number of commands sent to the group's actor; `None` without an actor.
    pub(crate) fn count_sent(&self, group: GroupId) -> Option<u64> {
        self.groups.with(group, |slot| slot.lock().as_ref().map(|route| route.sent))?
    }
}
