//! The calendar feeds that a professional may make, and the calendars of each. Reference 19.2.

use std::sync::Arc;

use crate::domain::directory::Directory;
use crate::domain::directory::roles::ProRole;
use crate::domain::records::author::Author;
use crate::domain::records::calendarfeed::{Calendarfeed, FeedTarget};
use crate::domain::records::ids::{CalendarId, GroupId, ProId};
use crate::planted_faults::PlantedFault;

/// Whether a professional with a role may make, renew, revoke and list feeds of a target: an
/// administrator of any, the reception of calendars, others of their own calendars.
pub fn may_manage_feed(role: &ProRole, pro: ProId, target: FeedTarget) -> bool {
    match (role, target) {
        (ProRole::Administrator, _) | (ProRole::Reception, FeedTarget::Calendar(_)) => true,
        (ProRole::Professional(own), FeedTarget::Calendar(calendar)) => own.contains(calendar),
        (ProRole::Reception | ProRole::Professional(_), FeedTarget::Pro(target)) => target == pro,
    }
}

impl Directory {
    /// Returns the calendars of a feed of a group, deleted ones included; `None` if the link does
    /// not work at present: its author may no longer make it, or its professional has left the
    /// group or has no calendars of its own.
    pub fn calendars_of_feed(
        &self,
        group: GroupId,
        feed: &Calendarfeed,
    ) -> Option<Arc<[CalendarId]>> {
        if !self.still_may_make(group, feed) && !PlantedFault::FeedOutlivesRights.is_active() {
            return None;
        }
        match feed.target {
            FeedTarget::Calendar(calendar) => Some([calendar].into()),
            FeedTarget::Pro(pro) => self.own_calendars(group, pro),
        }
    }

    /// Returns the calendars of the own of a professional of a group; `None` for a role that has
    /// none, and for one who does not work for the group.
    pub fn own_calendars(&self, group: GroupId, pro: ProId) -> Option<Arc<[CalendarId]>> {
        self.pros.get(&pro).filter(|pro| pro.works_for(group))?;
        match self.roles.role_of(group, pro) {
            ProRole::Professional(own) => Some(Arc::clone(&own.calendars)),
            ProRole::Administrator | ProRole::Reception => None,
        }
    }

    fn still_may_make(&self, group: GroupId, feed: &Calendarfeed) -> bool {
        match feed.author {
            Author::Professional { id, .. } => {
                self.pros.get(&id).is_some_and(|pro| pro.works_for(group))
                    && may_manage_feed(self.roles.role_of(group, id), id, feed.target)
            }
            Author::Operator
            | Author::Server
            | Author::Visitor
            | Author::Application(_)
            | Author::Account { .. } => true,
        }
    }
}
