//! The question of a form: which of the displaced appointments are cancelled or moved.
//! Reference 15.11.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::StatusCode;

use crate::domain::decisions::displaced::DisplacedAppointment;
use crate::domain::records::ids::{CalendarId, VeventId};
use crate::web::format;
use crate::web::practice::appointment_lines::long_day;
use crate::web::practice::displaced::plan::{BookedChange, Misfit, Outlook, Plan, Treatment};
use crate::web::practice::listed_calendar::{ListedCalendar, list_calendars};
use crate::web::practice::obstacle_words::obstacles_in_words;
use crate::web::practice::texts::absence::AbsenceTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::displaced::{EXPECTED, ListDigest};
use crate::wire::params::{PARAMETERS_MAX, Params};

/// Maximum number of appointments that a form lists: each is a parameter, beside the others.
pub(crate) const LISTED_MAX: usize = PARAMETERS_MAX - 200;

/// The answer of a form to the question, as far as it has one.
pub(crate) struct GivenAnswer {
    expected: Option<ListDigest>,
    /// The appointments that the form listed.
    listed: BTreeSet<VeventId>,
    chosen: BTreeSet<VeventId>,
    /// The name of the choice; empty without one.
    choice: String,
    /// The calendar to move to, if it is one.
    target: Option<CalendarId>,
}

/// The list with its choices.
pub(crate) struct Question {
    pub(crate) text: &'static AbsenceTexts,
    /// Digest of the list.
    pub(crate) expected: String,
    /// The ids of the list.
    pub(crate) listed: String,
    /// Empty if there are too many for a form.
    pub(crate) lines: Vec<DisplacedLine>,
    /// The sentence about more appointments than a form lists; empty without them.
    pub(crate) too_many: String,
    /// The name of the chosen treatment; empty without one.
    pub(crate) choice: String,
    pub(crate) calendars: Vec<ListedCalendar>,
    pub(crate) choice_fault: &'static str,
    pub(crate) calendar_fault: &'static str,
    /// Whether the list differs from the one that the form was filled in on.
    pub(crate) is_overtaken: bool,
    /// Whether some of them cannot be moved.
    pub(crate) has_misfits: bool,
    /// Whether the group sends mails to clients.
    pub(crate) sends_mails: bool,
}

/// An appointment of the list in words.
pub(crate) struct DisplacedLine {
    pub(crate) id: VeventId,
    pub(crate) day: String,
    pub(crate) time: String,
    pub(crate) client: String,
    pub(crate) service: String,
    pub(crate) calendar: String,
    pub(crate) phone: String,
    /// Whether the client has no address for a mail.
    pub(crate) lacks_mail: bool,
    pub(crate) is_chosen: bool,
    /// Whether the form did not list it before.
    pub(crate) is_new: bool,
    /// The obstacles to its move; empty without any.
    pub(crate) fault: String,
}

impl GivenAnswer {
    /// Reads the answer of a form. A wrong digest counts as that of another list.
    pub(crate) fn read(visit: &ProVisit, given: &Params) -> Self {
        let ids = |name: &str| {
            given.list(name).into_iter().filter_map(|id| id.parse().ok().and_then(VeventId::new))
        };
        let target = given.value("to").and_then(|id| id.parse().ok()).and_then(CalendarId::new);
        let mut calendars = visit.written_calendars();
        Self {
            expected: given
                .value(EXPECTED)
                .map(|text| ListDigest::parse(text).unwrap_or_else(|_| ListDigest::new(&[]))),
            listed: ids("listed").collect(),
            chosen: ids("chosen").collect(),
            choice: given.value("treatment").unwrap_or_default().to_owned(),
            target: target.filter(|id| calendars.any(|it| it.id == *id)),
        }
    }

    /// The treatment that the form names; `None` without one, or without its calendar.
    fn treatment(&self) -> Option<Treatment> {
        match self.choice.as_str() {
            "cancel" => Some(Treatment::CancelWithMail),
            "cancel-quietly" => Some(Treatment::CancelQuietly),
            "move" => self.target.map(Treatment::Move),
            "leave" => Some(Treatment::Leave),
            _ => None,
        }
    }

    /// Makes the plan of a change with this answer.
    pub(crate) fn plan(&self, change: BookedChange) -> Plan {
        let treatment = self.treatment().unwrap_or(Treatment::Leave);
        Plan { change, treatment, chosen: self.chosen.iter().copied().collect() }
    }

    /// Returns the status of a form that has not answered the question on this list; `None` if it
    /// has.
    pub(crate) fn find_open_question(
        &self,
        digest: ListDigest,
        outlook: &Outlook,
    ) -> Option<StatusCode> {
        let treatment = self.treatment();
        let is_too_long = outlook.list.len() > LISTED_MAX && treatment != Some(Treatment::Leave);
        match self.expected {
            None => Some(StatusCode::CONFLICT),
            Some(expected) if expected != digest => Some(StatusCode::PRECONDITION_FAILED),
            Some(_) if treatment.is_none() || is_too_long => Some(StatusCode::BAD_REQUEST),
            Some(_) if !outlook.misfits.is_empty() => Some(StatusCode::CONFLICT),
            Some(_) => None,
        }
    }
}

impl Question {
    /// Asks about a list on the state of a visit. It keeps the answer of the form before.
    pub(crate) fn ask(visit: &ProVisit, answer: &GivenAnswer, outlook: &Outlook) -> Self {
        let text = AbsenceTexts::in_language(visit.language());
        let digest = ListDigest::new(&outlook.list);
        let ids: Vec<String> = outlook.list.iter().map(|one| one.id.to_string()).collect();
        let is_too_long = ids.len() > LISTED_MAX;
        let misfits: BTreeMap<VeventId, &Misfit> =
            outlook.misfits.iter().map(|(id, misfit)| (*id, misfit)).collect();
        let is_overtaken = answer.expected.is_some_and(|expected| expected != digest);
        let is_same = answer.expected.is_some() && !is_overtaken;
        let lacks_calendar = answer.choice == "move" && answer.target.is_none();
        let lacks_choice = answer.treatment().is_none() && !lacks_calendar;
        let line = |one: &DisplacedAppointment| {
            view_line(visit, answer, one, misfits.get(&one.id).copied())
        };
        let too_many = || {
            let sentence = fill(text.too_many, "count", &ids.len().to_string());
            fill(&sentence, "most", &LISTED_MAX.to_string())
        };
        let mut calendars = list_calendars(visit);
        for calendar in &mut calendars {
            calendar.is_chosen = answer.target == Some(calendar.id);
        }
        Self {
            text,
            expected: digest.to_text(),
            listed: if is_too_long { String::new() } else { ids.join(",") },
            lines: if is_too_long { Vec::new() } else { outlook.list.iter().map(line).collect() },
            too_many: if is_too_long { too_many() } else { String::new() },
            choice: answer.choice.clone(),
            calendars,
            choice_fault: if is_same && lacks_choice { text.choose } else { "" },
            calendar_fault: if is_same && lacks_calendar { text.choose_calendar } else { "" },
            is_overtaken,
            has_misfits: !misfits.is_empty(),
            sends_mails: visit.group().sendmail,
        }
    }
}

fn view_line(
    visit: &ProVisit,
    answer: &GivenAnswer,
    one: &DisplacedAppointment,
    misfit: Option<&Misfit>,
) -> DisplacedLine {
    let text = AbsenceTexts::in_language(visit.language());
    let catalogue = &visit.state.catalogue;
    let row = visit.state.rows.get(&one.id);
    let client = row.and_then(|row| visit.state.fiches.get(&row.fiche_id()?));
    let service = row.and_then(|row| catalogue.interventions.get(&row.intervention_id()?));
    let calendar = catalogue.calendars.get(&one.calendar_id);
    let is_new = answer.expected.is_some() && !answer.listed.contains(&one.id);
    let is_asked_first = answer.expected.is_none();
    DisplacedLine {
        id: one.id,
        day: long_day(visit, one.start),
        time: format::time(visit.zone().civil_of(one.start)),
        client: client.map(|client| client.names()).unwrap_or_default(),
        service: service.map_or("", |service| service.name.as_str()).to_owned(),
        calendar: calendar.map_or("", |calendar| calendar.name.as_str()).to_owned(),
        phone: client.map_or("", |client| client.any_phone()).to_owned(),
        lacks_mail: client.is_none_or(|client| client.email.is_none()),
        is_chosen: is_asked_first || is_new || answer.chosen.contains(&one.id),
        is_new,
        fault: match misfit {
            Some(Misfit::Taken(obstacles)) => {
                let words = obstacles_in_words(visit, obstacles).appointments;
                if words.is_empty() { text.refused.to_owned() } else { words.join(" ") }
            }
            Some(Misfit::Closed) => text.closed.to_owned(),
            None => String::new(),
        },
    }
}
