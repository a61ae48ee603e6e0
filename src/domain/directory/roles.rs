//! The roles of professionals in their groups, and what each may read and write. Reference 3.9.

use std::sync::Arc;

use imbl::OrdMap;
use serde::{Deserialize, Serialize};

use crate::domain::records::ids::{CalendarId, GroupId, ProId};
use crate::domain::records::vevent::Vevent;

/// Maximum number of calendars of a professional's own.
pub const OWN_CALENDARS_MAX: usize = 100;

/// The role of a professional in one group. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProRole {
    /// Reads and writes all.
    Administrator,
    /// Reads and writes the agenda and the clients.
    Reception,
    /// Reads the agenda and the clients, and writes those of its own calendars.
    Professional(OwnCalendars),
}

/// The calendars of a professional's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnCalendars {
    /// The calendars, ascending, each once, and at most [`OWN_CALENDARS_MAX`].
    pub calendars: Arc<[CalendarId]>,
    /// Whether the professional reads those of others too, and all clients.
    pub reads_all: bool,
}

/// A right that some roles have and others lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupRight {
    /// To write on all calendars.
    Agenda,
    /// To write the records of all clients.
    Clients,
    /// To write the group, its calendars, services and attributes.
    Settings,
    /// To see and change the professionals of the group.
    Team,
    /// To see and change the keys of the group and the accounts of its clients.
    Keys,
    /// To export the group.
    Export,
    /// To read the history.
    History,
}

/// The part of a group's agenda and clients that a caller reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// All of it.
    All,
    /// These calendars, ascending, and the clients with an appointment there.
    Own(Arc<[CalendarId]>),
}

/// The roles of professionals, by group and professional. One without a role here is an
/// administrator, as all were before there were roles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roles {
    lowered: OrdMap<(GroupId, ProId), ProRole>,
}

impl OwnCalendars {
    /// Whether a calendar is one of them.
    pub fn contains(&self, calendar: CalendarId) -> bool {
        self.calendars.binary_search(&calendar).is_ok()
    }
}

impl ProRole {
    /// The names of the roles in requests and answers.
    pub const NAMES: [&str; 3] = ["administrator", "reception", "professional"];

    /// The name in requests and answers.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Administrator => Self::NAMES[0],
            Self::Reception => Self::NAMES[1],
            Self::Professional(_) => Self::NAMES[2],
        }
    }

    /// The part of the group that the role reads.
    pub fn sight(&self) -> Sight {
        match self {
            Self::Professional(own) if !own.reads_all => Sight::Own(Arc::clone(&own.calendars)),
            Self::Administrator | Self::Reception | Self::Professional(_) => Sight::All,
        }
    }

    /// Whether the role has a right in the whole group.
    pub const fn has(&self, right: GroupRight) -> bool {
        match self {
            Self::Administrator => true,
            Self::Reception => matches!(right, GroupRight::Agenda | GroupRight::Clients),
            Self::Professional(_) => false,
        }
    }

    /// Whether the role writes on a calendar.
    pub fn writes_on(&self, calendar: CalendarId) -> bool {
        match self {
            Self::Administrator | Self::Reception => true,
            Self::Professional(own) => own.contains(calendar),
        }
    }
}

impl GroupRight {
    /// The rule that a role without the right does not meet. It names the right.
    pub const fn needed(self) -> &'static str {
        match self {
            Self::Agenda => {
                "the right \"agenda\" is needed for calendars that are not your own: ask an administrator of the group"
            }
            Self::Clients => {
                "the right \"clients\" is needed for clients without an appointment on your own calendars: ask an administrator of the group"
            }
            Self::Settings => "the right \"settings\" is needed: ask an administrator of the group",
            Self::Team => "the right \"team\" is needed: ask an administrator of the group",
            Self::Keys => "the right \"keys\" is needed: ask an administrator of the group",
            Self::Export => "the right \"export\" is needed: ask an administrator of the group",
            Self::History => "the right \"history\" is needed: ask an administrator of the group",
        }
    }
}

impl Sight {
    /// Whether the caller reads a calendar's events.
    pub fn shows_calendar(&self, calendar: CalendarId) -> bool {
        match self {
            Self::All => true,
            Self::Own(calendars) => calendars.binary_search(&calendar).is_ok(),
        }
    }

    /// Whether the caller reads an event.
    pub fn shows_vevent(&self, row: &Vevent) -> bool {
        self.shows_calendar(row.calendar_id)
    }
}

impl Roles {
    /// Returns the role of a professional in a group.
    pub fn role_of(&self, group: GroupId, pro: ProId) -> &ProRole {
        self.lowered.get(&(group, pro)).unwrap_or(&ProRole::Administrator)
    }

    /// Sets the role of a professional in a group.
    pub fn set(&mut self, group: GroupId, pro: ProId, role: ProRole) {
        match role {
            ProRole::Administrator => self.remove(group, pro),
            ProRole::Reception | ProRole::Professional(_) => {
                self.lowered.insert((group, pro), role);
            }
        }
    }

    /// Removes the role of a professional who leaves a group.
    pub(crate) fn remove(&mut self, group: GroupId, pro: ProId) {
        self.lowered.remove(&(group, pro));
    }

    /// The roles below administrator, ascending by group and professional.
    pub fn iter(&self) -> impl Iterator<Item = ((GroupId, ProId), &ProRole)> {
        self.lowered.iter().map(|(place, role)| (*place, role))
    }
}

impl Extend<((GroupId, ProId), ProRole)> for Roles {
    fn extend<I: IntoIterator<Item = ((GroupId, ProId), ProRole)>>(&mut self, roles: I) {
        for ((group, pro), role) in roles {
            self.set(group, pro, role);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::searched::hours;

    fn own(number: u64) -> OwnCalendars {
        let calendar = CalendarId::new(number).expect("an id");
        OwnCalendars { calendars: [calendar].into(), reads_all: false }
    }

    #[test]
    fn a_caller_who_reads_its_own_calendars_reads_their_events_alone() {
        let sight = ProRole::Professional(own(1)).sight();
        for (number, is_shown) in [(1, true), (2, false)] {
            let row = hours(number, 540);
            assert_eq!(sight.shows_vevent(&row), is_shown);
            assert!(Sight::All.shows_vevent(&row));
        }
    }

    #[test]
    fn roles_are_restored_from_their_rows() {
        let group = |number| GroupId::new(number).expect("an id");
        let pro = |number| ProId::new(number).expect("an id");
        let mut roles = Roles::default();
        roles.set(group(1), pro(1), ProRole::Reception);
        roles.set(group(1), pro(2), ProRole::Professional(own(4)));
        roles.set(group(2), pro(1), ProRole::Administrator);
        let mut restored = Roles::default();
        restored.extend(roles.iter().map(|(place, role)| (place, role.clone())));
        assert_eq!(restored, roles);
        assert_eq!(restored.role_of(group(1), pro(1)), &ProRole::Reception);
        assert_eq!(restored.role_of(group(2), pro(1)), &ProRole::Administrator);
        assert_eq!(restored.iter().count(), 2);
    }
}
