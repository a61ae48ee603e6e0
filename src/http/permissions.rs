//! Roles, extents and rights: how far each caller may go with each resource. Reference 3.2.
//!
//! Each endpoint states its right. `data/rights.md` is the printed table of all rights and of field
//! access.

use crate::domain::directory::roles::{GroupRight, ProRole};

/// The role of a caller, for rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// An application with its key alone.
    Application,
    /// A client of the group, logged in.
    Account,
    /// A professional of the group with calendars of its own.
    Professional,
    /// A professional of the group at its reception.
    Reception,
    /// A professional of the group who administers it.
    Administrator,
}

/// The extent to which a role may use a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Nothing: 403 in every case.
    Nothing,
    /// Public data only: what the module shows, the groups named on the key, the caller's own
    /// account or session.
    Shown,
    /// The same, if the group allows it.
    Allowed,
    /// One object, if the request gives its secret.
    BySecret,
    /// The caller's own objects, and one object whose secret is given. A professional's own are the
    /// events of its own calendars and the clients with an appointment there; it reads the others
    /// too if its role says so.
    Own,
    /// Everything, with a key of the operator only.
    Operator,
    /// Everything in the caller's groups.
    All,
}

/// A kind of record or service that the API offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the resources of the reference")]
pub enum Resource {
    Group,
    Calendar,
    Calendarset,
    Intervention,
    Interventionset,
    Customfield,
    Image,
    Fiche,
    Vevent,
    Agenda,
    Calendarfeed,
    Slot,
    Hold,
    Appointment,
    Message,
    Pro,
    Invitation,
    Account,
    Session,
    Module,
    Batch,
    Hours,
    DryRun,
    History,
    Export,
    Retention,
    Webhook,
    Change,
}

/// An action on a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each action is named by its variant")]
pub enum Verb {
    List,
    Show,
    Make,
    Change,
    Delete,
    DeleteMany,
}

/// The extent of each role for one action on one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Right {
    /// The resource.
    pub resource: Resource,
    /// The action.
    pub verb: Verb,
    /// The extent of an application with its key alone.
    pub application: Extent,
    /// The extent of a client's account.
    pub account: Extent,
    /// The extent of a professional with calendars of its own.
    pub professional: Extent,
    /// The extent of the reception.
    pub reception: Extent,
    /// The extent of an administrator.
    pub administrator: Extent,
}

/// Extents of the roles in their order: public data for all, everything for professionals.
pub(crate) const PUBLIC: [Extent; 5] =
    [Extent::Shown, Extent::Shown, Extent::All, Extent::All, Extent::All];
/// Professionals, each for its own calendars and clients at least.
pub(crate) const OWN_CALENDARS: [Extent; 5] =
    [Extent::Nothing, Extent::Nothing, Extent::Own, Extent::All, Extent::All];
/// Reception and administrators: what concerns the whole agenda or all clients.
pub(crate) const RECEPTION: [Extent; 5] =
    [Extent::Nothing, Extent::Nothing, Extent::Nothing, Extent::All, Extent::All];
/// Administrators only.
pub(crate) const ADMINISTRATORS: [Extent; 5] =
    [Extent::Nothing, Extent::Nothing, Extent::Nothing, Extent::Nothing, Extent::All];
/// Administrators, and every professional for itself.
pub(crate) const SELF_OR_ADMINISTRATORS: [Extent; 5] =
    [Extent::Nothing, Extent::Nothing, Extent::Own, Extent::Own, Extent::All];
/// Accounts for their own objects, and professionals.
pub(crate) const OWN_ACCOUNT: [Extent; 5] =
    [Extent::Nothing, Extent::Own, Extent::Own, Extent::All, Extent::All];
/// Accounts and professionals, for what is their own.
pub(crate) const OWN_ONLY: [Extent; 5] =
    [Extent::Nothing, Extent::Own, Extent::Own, Extent::Own, Extent::Own];
/// Accounts for their own objects, professionals, and every caller that gives the object's secret.
pub(crate) const OWN_OR_SECRET: [Extent; 5] =
    [Extent::BySecret, Extent::Own, Extent::Own, Extent::All, Extent::All];
/// Accounts for themselves, professionals, and every key of a group that allows it.
pub(crate) const OWN_OR_ALLOWED: [Extent; 5] =
    [Extent::Allowed, Extent::Own, Extent::Own, Extent::All, Extent::All];
/// Public data for accounts, and for every key of a group that allows it; everything for
/// professionals.
pub(crate) const SHOWN_OR_ALLOWED: [Extent; 5] =
    [Extent::Allowed, Extent::Shown, Extent::All, Extent::All, Extent::All];
/// Every caller with a key of the operator.
pub(crate) const OPERATOR: [Extent; 5] = [Extent::Operator; 5];
/// Every caller with a key.
pub(crate) const ANY_KEY: [Extent; 5] = [Extent::Shown; 5];

impl Role {
    /// All roles, by ascending rights.
    pub const ALL: [Self; 5] = [
        Self::Application,
        Self::Account,
        Self::Professional,
        Self::Reception,
        Self::Administrator,
    ];

    /// The role of a professional.
    pub(crate) const fn of_pro(role: &ProRole) -> Self {
        match role {
            ProRole::Administrator => Self::Administrator,
            ProRole::Reception => Self::Reception,
            ProRole::Professional(_) => Self::Professional,
        }
    }
}

impl Resource {
    /// The name of its OpenAPI component, such as `Calendar`.
    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    /// The right that a professional needs for more of it than its role allows.
    const fn right(self) -> GroupRight {
        match self {
            Self::Group
            | Self::Calendar
            | Self::Calendarset
            | Self::Intervention
            | Self::Interventionset
            | Self::Customfield
            | Self::Image
            | Self::Retention
            | Self::Webhook
            | Self::Module => GroupRight::Settings,
            Self::Fiche => GroupRight::Clients,
            Self::Vevent
            | Self::Agenda
            | Self::Calendarfeed
            | Self::Slot
            | Self::Hold
            | Self::Appointment
            | Self::Message
            | Self::Batch
            | Self::Hours
            | Self::DryRun
            | Self::Change => GroupRight::Agenda,
            Self::Pro | Self::Invitation => GroupRight::Team,
            Self::Account | Self::Session => GroupRight::Keys,
            Self::History => GroupRight::History,
            Self::Export => GroupRight::Export,
        }
    }
}

impl Right {
    /// A right with the extents of the roles in their order.
    pub(crate) const fn new(resource: Resource, verb: Verb, extents: [Extent; 5]) -> Self {
        let [application, account, professional, reception, administrator] = extents;
        Self { resource, verb, application, account, professional, reception, administrator }
    }

    /// The extent of a role.
    pub const fn extent(&self, role: Role) -> Extent {
        match role {
            Role::Application => self.application,
            Role::Account => self.account,
            Role::Professional => self.professional,
            Role::Reception => self.reception,
            Role::Administrator => self.administrator,
        }
    }

    /// Checks that a role may do this at all. `has_secret` says whether the request gives an
    /// object's secret, `is_operator` whether its key is one of the operator.
    ///
    /// # Errors
    /// The rule that the caller's role does not meet.
    pub(crate) fn check(
        &self,
        role: Role,
        has_secret: bool,
        is_operator: bool,
    ) -> Result<(), &'static str> {
        match (self.extent(role), self.account) {
            (Extent::Operator, _) if is_operator => Ok(()),
            (Extent::Operator, _) => Err(
                "only a key of the operator may do this: make one by `slotbook key add --operator`",
            ),
            (Extent::Shown | Extent::Allowed | Extent::Own | Extent::All, _) => Ok(()),
            (Extent::BySecret, _) if has_secret => Ok(()),
            (Extent::BySecret, _) => Err(
                "only the appointment's client may do this, or a request with its secret in the parameter key",
            ),
            (Extent::Nothing, _) if role >= Role::Professional => {
                Err(self.resource.right().needed())
            }
            (Extent::Nothing, Extent::Nothing) => {
                Err("only professionals of the group may do this: send their credentials")
            }
            (
                Extent::Nothing,
                Extent::Shown
                | Extent::Allowed
                | Extent::BySecret
                | Extent::Own
                | Extent::Operator
                | Extent::All,
            ) => Err("only professionals and clients' accounts may do this: send credentials"),
        }
    }
}

#[cfg(test)]
mod tests;
