//! What each operation of the table is asked with and answers, in words and schemas.

use utoipa::openapi::path::Parameter;

use crate::http::openapi::parameters as given;
use crate::http::openapi::resources::Resource;
use crate::http::route_table::{AtLarge, InGroup, Keyed, Operation};

/// An operation as the document tells it.
pub(crate) struct Told {
    /// The resource that it stands under.
    pub(crate) tag: &'static str,
    pub(crate) summary: String,
    /// Those of the query.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Body>,
    pub(crate) answer: Answer,
}

/// What a body holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// A new object, wrapped in its name.
    New(Resource),
    /// The fields to change, wrapped in its name.
    Fields(Resource),
    /// A booking.
    Booking,
    /// Whose session is to begin, which the query may say too.
    Login,
    /// The address that is to have an account.
    Address,
    /// The token of a link, and a password.
    Token,
}

/// What an answer holds when all is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// 200 with the object.
    Shown(Resource),
    /// 201 with the object.
    Made(Resource),
    /// 200 with a page of them.
    List(Resource),
    /// 201 with a record for each appointment made.
    Booked,
    /// 200 with free starts, or with what stands in the way of one.
    Slots,
    /// 200 with what the server says of itself.
    Status,
    /// 200 with who has logged in, and the cookie of the session.
    LoggedIn,
    /// 200 once a session has ended.
    LoggedOut,
    /// 201 with the address, whoever has it.
    LinkAsked,
    /// 200 with the account.
    LinkFollowed,
    /// 200 with this document.
    Document,
    /// 200 with a page for people.
    Page,
}

/// Every operation of the table.
pub(crate) fn told(operation: Operation) -> Told {
    match operation {
        Operation::Alive => of_server("whether the process is alive", Answer::Status),
        Operation::Ready => of_server("whether it serves", Answer::Status),
        Operation::Document => {
            of_server("this document, also under the name openapi.json", Answer::Document)
        }
        Operation::Docs => of_server("a page to try the API", Answer::Page),
        Operation::Keyed(keyed) => of_keyed(keyed),
    }
}

fn of_keyed(operation: Keyed) -> Told {
    match operation {
        Keyed::LogIn => Told {
            parameters: given::of_login(),
            body: Some(Body::Login),
            ..of_session(
                "begins a session of a professional or of a client's account",
                Answer::LoggedIn,
            )
        },
        Keyed::LogOut => of_session("ends the session of the cookie", Answer::LoggedOut),
        Keyed::AtLarge(AtLarge::ListGroups) => {
            listed(Resource::Group, "the caller's groups", Vec::new())
        }
        Keyed::AtLarge(AtLarge::AskLink) => Told {
            body: Some(Body::Address),
            ..of_account(
                "mails a link by which a client gets an account or another password",
                Answer::LinkAsked,
            )
        },
        Keyed::AtLarge(AtLarge::FollowLink) => Told {
            body: Some(Body::Token),
            ..of_account(
                "does what a mailed link is for; the only place that sets a password",
                Answer::LinkFollowed,
            )
        },
        Keyed::InGroup(operation) => in_group(operation),
        Keyed::Older(operation, _) => {
            let mut told = in_group(operation);
            told.summary = format!("{} (older path)", told.summary);
            told
        }
    }
}

fn in_group(operation: InGroup) -> Told {
    use Resource::{
        Appointment, Calendar, Calendarset, Customfield, Fiche, Group, Intervention,
        Interventionset, Message, Pro, Vevent,
    };
    match operation {
        InGroup::ShowGroup => shown(Group),
        InGroup::ChangeGroup => changed(Group),
        InGroup::ListCalendars => listed(Calendar, "the group's calendars", given::of_calendars()),
        InGroup::ListCalendarsOfIntervention => {
            listed(Calendar, "the calendars that offer an intervention", given::of_calendars())
        }
        InGroup::ShowCalendar => shown(Calendar),
        InGroup::MakeCalendar => made(Calendar),
        InGroup::ChangeCalendar => changed(Calendar),
        InGroup::DeleteCalendar => deleted(Calendar, "marks a calendar as deleted"),
        InGroup::ListCalendarsets => {
            listed(Calendarset, "the group's categories of calendars", Vec::new())
        }
        InGroup::ShowCalendarset => shown(Calendarset),
        InGroup::MakeCalendarset => made(Calendarset),
        InGroup::ChangeCalendarset => changed(Calendarset),
        InGroup::RemoveCalendarset => {
            deleted(Calendarset, "removes a category; its calendars stay")
        }
        InGroup::ListInterventionsOfSet => {
            listed(Intervention, "what the calendars of a category offer", Vec::new())
                .under("calendarsets")
        }
        InGroup::ListInterventionsetsOfSet => {
            let summary = "the categories of what the calendars of a category offer";
            listed(Interventionset, summary, Vec::new()).under("calendarsets")
        }
        InGroup::ListInterventions => {
            listed(Intervention, "the group's services", given::of_interventions())
        }
        InGroup::ShowIntervention => shown(Intervention),
        InGroup::MakeIntervention => made(Intervention),
        InGroup::ChangeIntervention => changed(Intervention),
        InGroup::DeleteIntervention => deleted(Intervention, "marks a service as deleted"),
        InGroup::ListInterventionsets => {
            listed(Interventionset, "the group's categories of services", Vec::new())
        }
        InGroup::ShowInterventionset => shown(Interventionset),
        InGroup::MakeInterventionset => made(Interventionset),
        InGroup::ChangeInterventionset => changed(Interventionset),
        InGroup::RemoveInterventionset => {
            deleted(Interventionset, "removes a category; its services stay")
        }
        InGroup::ListCustomfields => {
            listed(Customfield, "the definitions of customised attributes", Vec::new())
        }
        InGroup::ShowCustomfield => shown(Customfield),
        InGroup::MakeCustomfield => made(Customfield),
        InGroup::ChangeCustomfield => changed(Customfield),
        InGroup::DeleteCustomfield => deleted(Customfield, "marks a definition as deleted"),
        InGroup::ListFiches => listed(Fiche, "the group's clients, deleted ones too", Vec::new()),
        InGroup::ShowFiche => shown(Fiche),
        InGroup::MakeFiche => made(Fiche),
        InGroup::ChangeFiche => changed(Fiche),
        InGroup::ListMessages => {
            listed(Message, "messages planned, sent, and not sent with the reason", vec![])
        }
        InGroup::ShowMessage => shown(Message),
        InGroup::ListPros => listed(Pro, "the group's professionals", Vec::new()),
        InGroup::ShowPro => shown(Pro),
        InGroup::ListVevents => {
            listed(Vevent, "the group's events, deleted ones too", given::of_vevents())
        }
        InGroup::ShowVevent => shown(Vevent),
        InGroup::MakeVevent => made(Vevent),
        InGroup::ChangeVevent => changed(Vevent),
        InGroup::DeleteVevent => deleted(Vevent, "marks an event as deleted"),
        InGroup::SearchSlots => searched(),
        InGroup::BookAppointment => Told {
            tag: tag(Appointment),
            summary: "books".into(),
            parameters: Vec::new(),
            body: Some(Body::Booking),
            answer: Answer::Booked,
        },
        InGroup::ListAppointments => {
            listed(Appointment, "upcoming appointments", given::of_appointments())
        }
        InGroup::ShowAppointment => with_secret(shown(Appointment)),
        InGroup::CancelAppointment => with_secret(deleted(Appointment, "cancels an appointment")),
    }
}

impl Told {
    fn under(self, tag: &'static str) -> Self {
        Self { tag, ..self }
    }
}

/// The path segment that a resource stands under.
fn tag(resource: Resource) -> &'static str {
    match resource {
        Resource::Group => "groups",
        Resource::Calendar => "calendars",
        Resource::Calendarset => "calendarsets",
        Resource::Intervention => "interventions",
        Resource::Interventionset => "interventionsets",
        Resource::Customfield => "customfields",
        Resource::Fiche => "fiches",
        Resource::Vevent => "vevents",
        Resource::Appointment => "appointments",
        Resource::Pro => "pros",
        Resource::Message => "messages",
    }
}

fn of_server(summary: &str, answer: Answer) -> Told {
    Told { tag: "server", summary: summary.into(), parameters: Vec::new(), body: None, answer }
}

fn of_session(summary: &str, answer: Answer) -> Told {
    Told { tag: "sessions", ..of_server(summary, answer) }
}

fn of_account(summary: &str, answer: Answer) -> Told {
    Told { tag: "accounts", ..of_server(summary, answer) }
}

fn of(resource: Resource, summary: String, body: Option<Body>, answer: Answer) -> Told {
    Told { tag: tag(resource), summary, parameters: Vec::new(), body, answer }
}

fn searched() -> Told {
    Told {
        tag: "availabletimeslots",
        parameters: given::of_slots(),
        ..of_server("free starts for what is to be done", Answer::Slots)
    }
}

fn listed(resource: Resource, summary: &str, more: Vec<Parameter>) -> Told {
    let parameters = more.into_iter().chain(given::of_list(resource)).collect();
    Told { parameters, ..of(resource, summary.into(), None, Answer::List(resource)) }
}

fn shown(resource: Resource) -> Told {
    of(resource, format!("one {}", word(resource)), None, Answer::Shown(resource))
}

fn made(resource: Resource) -> Told {
    of(
        resource,
        format!("a new {}", word(resource)),
        Some(Body::New(resource)),
        Answer::Made(resource),
    )
}

fn changed(resource: Resource) -> Told {
    let summary = format!("changes a {}; what is not given stays", word(resource));
    of(resource, summary, Some(Body::Fields(resource)), Answer::Shown(resource))
}

fn deleted(resource: Resource, summary: &str) -> Told {
    of(resource, summary.into(), None, Answer::Shown(resource))
}

fn with_secret(told: Told) -> Told {
    Told { parameters: vec![given::secret()], ..told }
}

fn word(resource: Resource) -> String {
    resource.name().to_lowercase()
}
