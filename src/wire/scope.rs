//! Context of parsing and rendering: the caller's audience, the group's state and its time zone.

use crate::domain::directory::roles::{ProRole, Roles};
use crate::domain::records::ids::ProId;
use crate::domain::state::command::Caller;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::domain::time::zone::Zone;

/// Readers and writers of fields. Each audience sees everything that the previous ones see.
/// Reference 3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Audience {
    /// An application, identified by its key alone.
    Application,
    /// A client of the group, logged in.
    Account,
    /// A professional of the group.
    Pro,
    /// Export and import, which read and write every field.
    Store,
}

impl Audience {
    /// Returns the audience of a caller; it is never [`Audience::Store`].
    pub const fn for_caller(caller: &Caller) -> Self {
        match caller {
            Caller::Application => Self::Application,
            Caller::Account(_) => Self::Account,
            Caller::Pro(_) => Self::Pro,
        }
    }
}

/// Group state and time zone in which objects are parsed and rendered.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The group's state, in which references are resolved.
    pub state: &'a GroupState,
    /// The zone in which local times are parsed and rendered.
    pub zone: Zone,
    /// Time of the request, from which ages are computed; `None` if no age is needed.
    pub now: Option<Instant>,
    /// The roles of professionals; `None` if no professional is shown.
    pub roles: Option<&'a Roles>,
}

impl<'a> Scope<'a> {
    /// Returns the scope of a group in its own time zone, without a time of request.
    pub fn for_group(state: &'a GroupState) -> Self {
        Self { state, zone: state.catalogue.zone(), now: None, roles: None }
    }

    /// Returns the same scope with a time of request.
    #[must_use]
    pub fn at_moment(self, now: Instant) -> Self {
        Self { now: Some(now), ..self }
    }

    /// Returns the same scope with the roles of professionals.
    #[must_use]
    pub fn with_roles(self, roles: &'a Roles) -> Self {
        Self { roles: Some(roles), ..self }
    }

    /// Returns the role of a professional in the group, as far as the scope has roles.
    pub(crate) fn role_of(&self, pro: ProId) -> &'a ProRole {
        match self.roles {
            Some(roles) => roles.role_of(self.state.catalogue.group.id, pro),
            None => &ProRole::Administrator,
        }
    }

    /// Returns the same scope with local times read as UTC.
    #[must_use]
    pub(crate) fn in_utc(self) -> Self {
        Self { zone: Zone::from_iana("Etc/UTC").expect("the zone database has UTC"), ..self }
    }
}
