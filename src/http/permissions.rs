//! Who may do what: the one table from which requests are judged and documents are made. Reference 3.
//!
//! `data/rights.md` is this table in print, with who reads and writes which field.

use axum::http::Method;

use crate::domain::state::command::Caller;
use crate::http::route_table::{AtLarge, InGroup, Keyed, Operation, TABLE};

/// Who asks, as far as rights go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// An application by its key alone.
    Application,
    /// A client of the group, logged in.
    Account,
    /// A professional of the group.
    Pro,
}

/// How far somebody may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Not at all: 403, whatever is asked about.
    Nothing,
    /// What is shown to everybody: what the module shows, the groups named on the key, one's own account or session.
    Shown,
    /// The same, where the group allows it.
    Allowed,
    /// One whose secret is given.
    BySecret,
    /// What is one's own, and one whose secret is given.
    Own,
    /// All there is in one's groups.
    All,
}

/// What is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the resources of the specification")]
pub enum Resource {
    Group,
    Calendar,
    Calendarset,
    Intervention,
    Interventionset,
    Customfield,
    Fiche,
    Vevent,
    Slot,
    Appointment,
    Message,
    Pro,
    Account,
    Session,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is what it says")]
pub enum Verb {
    List,
    Show,
    Make,
    Change,
    Delete,
}

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Right {
    /// What is asked about.
    pub resource: Resource,
    /// What is to be done.
    pub verb: Verb,
    /// How far an application may go by its key alone.
    pub application: Extent,
    /// How far a client's account may go.
    pub account: Extent,
    /// How far a professional may go.
    pub pro: Extent,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Application, Self::Account, Self::Pro];

    const fn of(caller: &Caller) -> Self {
        match caller {
            Caller::Application => Self::Application,
            Caller::Account(_) => Self::Account,
            Caller::Pro(_) => Self::Pro,
        }
    }
}

impl Right {
    /// How far a role may go.
    #[must_use]
    pub const fn of(&self, role: Role) -> Extent {
        match role {
            Role::Application => self.application,
            Role::Account => self.account,
            Role::Pro => self.pro,
        }
    }

    /// Whether a caller may do it, where it has given the `secret` of what it asks about.
    ///
    /// # Errors
    /// What would be needed.
    pub(crate) fn judge(&self, caller: &Caller, secret: bool) -> Result<(), &'static str> {
        match (self.of(Role::of(caller)), self.account) {
            (Extent::Shown | Extent::Allowed | Extent::Own | Extent::All, _) => Ok(()),
            (Extent::BySecret, _) if secret => Ok(()),
            (Extent::BySecret, _) => Err(
                "this is for those whose appointment it is, or for whoever gives its secret as the parameter key",
            ),
            (Extent::Nothing, Extent::Nothing) => {
                Err("this is for professionals of the group: send their credentials")
            }
            (
                Extent::Nothing,
                Extent::Shown | Extent::Allowed | Extent::BySecret | Extent::Own | Extent::All,
            ) => Err("this is for professionals and for clients' accounts: send credentials"),
        }
    }
}

const fn right(resource: Resource, verb: Verb, extents: [Extent; 3]) -> Right {
    let [application, account, pro] = extents;
    Right { resource, verb, application, account, pro }
}

const EVERYBODY: [Extent; 3] = [Extent::Shown, Extent::Shown, Extent::All];
const PROS: [Extent; 3] = [Extent::Nothing, Extent::Nothing, Extent::All];
const OWNERS: [Extent; 3] = [Extent::Nothing, Extent::Own, Extent::All];
const HOLDERS: [Extent; 3] = [Extent::BySecret, Extent::Own, Extent::All];
const WHERE_ALLOWED: [Extent; 3] = [Extent::Allowed, Extent::Own, Extent::All];
const ANYBODY: [Extent; 3] = [Extent::Shown, Extent::Shown, Extent::Shown];

/// The table: application, account, professional.
static RIGHTS: &[Right] = &[
    right(Resource::Group, Verb::List, EVERYBODY),
    right(Resource::Group, Verb::Show, EVERYBODY),
    right(Resource::Group, Verb::Change, PROS),
    right(Resource::Calendar, Verb::List, EVERYBODY),
    right(Resource::Calendar, Verb::Show, EVERYBODY),
    right(Resource::Calendar, Verb::Make, PROS),
    right(Resource::Calendar, Verb::Change, PROS),
    right(Resource::Calendar, Verb::Delete, PROS),
    right(Resource::Calendarset, Verb::List, EVERYBODY),
    right(Resource::Calendarset, Verb::Show, EVERYBODY),
    right(Resource::Calendarset, Verb::Make, PROS),
    right(Resource::Calendarset, Verb::Change, PROS),
    right(Resource::Calendarset, Verb::Delete, PROS),
    right(Resource::Intervention, Verb::List, EVERYBODY),
    right(Resource::Intervention, Verb::Show, EVERYBODY),
    right(Resource::Intervention, Verb::Make, PROS),
    right(Resource::Intervention, Verb::Change, PROS),
    right(Resource::Intervention, Verb::Delete, PROS),
    right(Resource::Interventionset, Verb::List, EVERYBODY),
    right(Resource::Interventionset, Verb::Show, EVERYBODY),
    right(Resource::Interventionset, Verb::Make, PROS),
    right(Resource::Interventionset, Verb::Change, PROS),
    right(Resource::Interventionset, Verb::Delete, PROS),
    right(Resource::Customfield, Verb::List, PROS),
    right(Resource::Customfield, Verb::Show, PROS),
    right(Resource::Customfield, Verb::Make, PROS),
    right(Resource::Customfield, Verb::Change, PROS),
    right(Resource::Customfield, Verb::Delete, PROS),
    right(Resource::Fiche, Verb::List, OWNERS),
    right(Resource::Fiche, Verb::Show, OWNERS),
    right(Resource::Fiche, Verb::Make, PROS),
    right(Resource::Fiche, Verb::Change, OWNERS),
    right(Resource::Vevent, Verb::List, PROS),
    right(Resource::Vevent, Verb::Show, PROS),
    right(Resource::Vevent, Verb::Make, PROS),
    right(Resource::Vevent, Verb::Change, PROS),
    right(Resource::Vevent, Verb::Delete, PROS),
    right(Resource::Slot, Verb::List, [Extent::Allowed, Extent::Shown, Extent::All]),
    right(Resource::Appointment, Verb::List, OWNERS),
    right(Resource::Appointment, Verb::Show, HOLDERS),
    right(Resource::Appointment, Verb::Make, WHERE_ALLOWED),
    right(Resource::Appointment, Verb::Delete, HOLDERS),
    right(Resource::Message, Verb::List, PROS),
    right(Resource::Message, Verb::Show, PROS),
    right(Resource::Pro, Verb::List, PROS),
    right(Resource::Pro, Verb::Show, PROS),
    right(Resource::Account, Verb::Make, ANYBODY),
    right(Resource::Account, Verb::Change, ANYBODY),
    right(Resource::Session, Verb::Make, ANYBODY),
    right(Resource::Session, Verb::Delete, ANYBODY),
];

/// What an operation does to what; `None` for what needs no apikey.
fn meaning(operation: Operation) -> Option<(Resource, Verb)> {
    match operation {
        Operation::Alive | Operation::Ready | Operation::Document | Operation::Docs => None,
        Operation::Keyed(keyed) => Some(match keyed {
            Keyed::LogIn => (Resource::Session, Verb::Make),
            Keyed::LogOut => (Resource::Session, Verb::Delete),
            Keyed::AtLarge(AtLarge::ListGroups) => (Resource::Group, Verb::List),
            Keyed::AtLarge(AtLarge::AskLink) => (Resource::Account, Verb::Make),
            Keyed::AtLarge(AtLarge::FollowLink) => (Resource::Account, Verb::Change),
            Keyed::InGroup(operation) | Keyed::Older(operation, _) => in_group(operation),
        }),
    }
}

fn in_group(operation: InGroup) -> (Resource, Verb) {
    match operation {
        InGroup::ShowGroup => (Resource::Group, Verb::Show),
        InGroup::ChangeGroup => (Resource::Group, Verb::Change),
        InGroup::ListCalendars | InGroup::ListCalendarsOfIntervention => {
            (Resource::Calendar, Verb::List)
        }
        InGroup::ShowCalendar => (Resource::Calendar, Verb::Show),
        InGroup::MakeCalendar => (Resource::Calendar, Verb::Make),
        InGroup::ChangeCalendar => (Resource::Calendar, Verb::Change),
        InGroup::DeleteCalendar => (Resource::Calendar, Verb::Delete),
        InGroup::ListCalendarsets => (Resource::Calendarset, Verb::List),
        InGroup::ShowCalendarset => (Resource::Calendarset, Verb::Show),
        InGroup::MakeCalendarset => (Resource::Calendarset, Verb::Make),
        InGroup::ChangeCalendarset => (Resource::Calendarset, Verb::Change),
        InGroup::RemoveCalendarset => (Resource::Calendarset, Verb::Delete),
        InGroup::ListInterventions | InGroup::ListInterventionsOfSet => {
            (Resource::Intervention, Verb::List)
        }
        InGroup::ShowIntervention => (Resource::Intervention, Verb::Show),
        InGroup::MakeIntervention => (Resource::Intervention, Verb::Make),
        InGroup::ChangeIntervention => (Resource::Intervention, Verb::Change),
        InGroup::DeleteIntervention => (Resource::Intervention, Verb::Delete),
        InGroup::ListInterventionsets | InGroup::ListInterventionsetsOfSet => {
            (Resource::Interventionset, Verb::List)
        }
        InGroup::ShowInterventionset => (Resource::Interventionset, Verb::Show),
        InGroup::MakeInterventionset => (Resource::Interventionset, Verb::Make),
        InGroup::ChangeInterventionset => (Resource::Interventionset, Verb::Change),
        InGroup::RemoveInterventionset => (Resource::Interventionset, Verb::Delete),
        InGroup::ListCustomfields => (Resource::Customfield, Verb::List),
        InGroup::ShowCustomfield => (Resource::Customfield, Verb::Show),
        InGroup::MakeCustomfield => (Resource::Customfield, Verb::Make),
        InGroup::ChangeCustomfield => (Resource::Customfield, Verb::Change),
        InGroup::DeleteCustomfield => (Resource::Customfield, Verb::Delete),
        InGroup::ListFiches => (Resource::Fiche, Verb::List),
        InGroup::ShowFiche => (Resource::Fiche, Verb::Show),
        InGroup::MakeFiche => (Resource::Fiche, Verb::Make),
        InGroup::ChangeFiche => (Resource::Fiche, Verb::Change),
        InGroup::ListVevents => (Resource::Vevent, Verb::List),
        InGroup::ShowVevent => (Resource::Vevent, Verb::Show),
        InGroup::MakeVevent => (Resource::Vevent, Verb::Make),
        InGroup::ChangeVevent => (Resource::Vevent, Verb::Change),
        InGroup::DeleteVevent => (Resource::Vevent, Verb::Delete),
        InGroup::SearchSlots => (Resource::Slot, Verb::List),
        InGroup::BookAppointment => (Resource::Appointment, Verb::Make),
        InGroup::ListAppointments => (Resource::Appointment, Verb::List),
        InGroup::ShowAppointment => (Resource::Appointment, Verb::Show),
        InGroup::CancelAppointment => (Resource::Appointment, Verb::Delete),
        InGroup::ListMessages => (Resource::Message, Verb::List),
        InGroup::ShowMessage => (Resource::Message, Verb::Show),
        InGroup::ListPros => (Resource::Pro, Verb::List),
        InGroup::ShowPro => (Resource::Pro, Verb::Show),
    }
}

/// The line of the table that an operation falls under; `None` for what needs no apikey.
pub(crate) fn of(operation: Operation) -> Option<&'static Right> {
    let (resource, verb) = meaning(operation)?;
    let line = RIGHTS.iter().find(|right| right.resource == resource && right.verb == verb);
    Some(line.expect("a test finds a line for every route"))
}

/// A path that is served.
#[derive(Clone, Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path; `{group_id}` and `{id}` stand for ids.
    pub path: &'static str,
    /// Who may; `None` for everybody, without an apikey.
    pub right: Option<Right>,
}

/// Every path that is served.
pub fn routes() -> impl Iterator<Item = Route> {
    TABLE.iter().map(|row| Route {
        method: row.http_method(),
        path: row.path,
        right: of(row.operation).copied(),
    })
}

#[cfg(test)]
mod tests;
