//! A new absence or note, of one or several calendars. Reference 15.11.

use std::num::NonZeroU32;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::domain::records::fault::Fault;
use crate::domain::records::ids::CalendarId;
use crate::domain::recurrence::{Repetition, Rule, RuleEnd};
use crate::domain::state::command::{Command, PutVevents, VeventDraft};
use crate::domain::time::{Civil, CivilDay};
use crate::web::contact_fields::{FieldView, Widget};
use crate::web::format::{iso_day, parse_start};
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::agenda::address::AgendaAddress;
use crate::web::practice::displaced::plan::BookedChange;
use crate::web::practice::displaced::question::Question;
use crate::web::practice::displaced::{Settled, settle};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::listed_calendar::{ListedCalendar, list_calendars};
use crate::web::practice::record_fields::place_faults;
use crate::web::practice::revision::faults_among;
use crate::web::practice::texts::absence::AbsenceTexts;
use crate::web::practice::texts::event::EventTexts;
use crate::web::practice::texts::form::FormTexts;
use crate::web::practice::typed_start::parse_legal_day;
use crate::web::practice::visit::ProVisit;
use crate::wire::datetime::format_civil;
use crate::wire::field::{Audience, Scope};
use crate::wire::params::Params;
use crate::wire::vevent::{VeventInput, parse};

/// The path of the screen below `/p/<urlname>`.
pub(crate) const PATH: &str = "/absences/new";

#[derive(Template)]
#[template(path = "web/practice/absence.html")]
struct AbsenceScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static AbsenceTexts,
    form: &'static FormTexts,
    back: String,
    action: String,
    absence: AbsenceForm,
    /// The question about the appointments under it.
    asked: Option<Box<Question>>,
}

/// The form, as it was filled in.
struct AbsenceForm {
    is_note: bool,
    is_for_all: bool,
    calendars: Vec<ListedCalendar>,
    calendar_fault: &'static str,
    /// Whole days, first day and time, last day and time, text, repetition and its end.
    fields: Vec<FieldView>,
    /// Sentences about the whole form.
    others: Vec<String>,
}

/// A moment or a rule that the form gives, or the field and the sentence of its fault.
type Read<T> = Result<T, (&'static str, &'static str)>;

impl AbsenceForm {
    fn has_faults(&self) -> bool {
        let is_wrong = |field: &FieldView| !field.fault.is_empty();
        self.fields.iter().any(is_wrong) || !self.others.is_empty()
    }

    fn value(&self, name: &str) -> &str {
        let field = self.fields.iter().find(|field| field.name == name);
        field.map_or("", |field| field.value.trim())
    }

    fn is_ticked(&self, name: &str) -> bool {
        self.value(name) == "1"
    }

    fn set_fault(&mut self, name: &str, sentence: &str) {
        if let Some(field) = self.fields.iter_mut().find(|field| field.name == name) {
            sentence.clone_into(&mut field.fault);
        }
    }
}

/// GET /p/{urlname}/absences/new. The day `d` and the calendar `c` are those of the agenda.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let (address, _) = AgendaAddress::read(&visit);
    let day = iso_day(address.day);
    let mut absence = AbsenceForm {
        is_note: false,
        is_for_all: false,
        calendars: list_calendars(&visit),
        calendar_fault: "",
        fields: blank_fields(&visit),
        others: Vec::new(),
    };
    for (name, value) in [("whole", "1"), ("from_day", &day), ("to_day", &day)] {
        if let Some(field) = absence.fields.iter_mut().find(|field| field.name == name) {
            value.clone_into(&mut field.value);
        }
    }
    let is_only = absence.calendars.len() == 1;
    for calendar in &mut absence.calendars {
        calendar.is_chosen = is_only || address.calendar == Some(calendar.id);
    }
    respond_with_form(&visit, StatusCode::OK, absence, None)
}

/// POST /p/{urlname}/absences/new.
pub(crate) async fn make(form: ProForm) -> Response {
    let ProForm { mut visit, given } = form;
    let mut absence = filled_in_form(&visit, &given);
    let Some(inputs) = read_inputs(&visit, &mut absence) else {
        return respond_with_form(&visit, StatusCode::BAD_REQUEST, absence, None);
    };
    let draft = |input: VeventInput| {
        VeventDraft::new(move |_, _, draws, at| {
            Ok(input.clone().into_vevent(draws.id, draws.key, at, at))
        })
    };
    let drafts = inputs.into_iter().map(draft).collect();
    let command = Command::PutVevents(Box::new(PutVevents::Make(drafts)));
    match settle(&mut visit, BookedChange::Write(command), &given).await {
        Ok(Settled::Done(_)) => redirect(&agenda_of(&visit, &absence)),
        Ok(Settled::Asks(status, asked)) => respond_with_form(&visit, status, absence, Some(asked)),
        Ok(Settled::Refused(refusals)) => {
            place(&visit, &mut absence, faults_among(refusals));
            respond_with_form(&visit, StatusCode::BAD_REQUEST, absence, None)
        }
        Err(response) => response,
    }
}

/// Returns the URL of the first day in the agenda.
fn agenda_of(visit: &ProVisit, absence: &AbsenceForm) -> String {
    let mut chosen = absence.calendars.iter().filter(|calendar| calendar.is_chosen);
    let only = chosen.next().filter(|_| chosen.next().is_none() && !absence.is_for_all);
    let calendar = only.map(|calendar| calendar.id.to_string());
    let mut pairs = vec![("d", absence.value("from_day"))];
    pairs.extend(calendar.as_deref().map(|id| ("c", id)));
    visit.url(Section::Agenda.path(), &pairs)
}

fn blank_fields(visit: &ProVisit) -> Vec<FieldView> {
    let text = AbsenceTexts::in_language(visit.language());
    let field = |name: &str, label: &str, widget: Widget| FieldView {
        autocomplete: "off",
        ..FieldView::new(name, label, widget)
    };
    vec![
        field("whole", text.whole_days, Widget::Checkbox),
        field("from_day", text.from_day, Widget::Input("date")),
        field("from_time", text.from_time, Widget::Input("time")),
        field("to_day", text.to_day, Widget::Input("date")),
        field("to_time", text.to_time, Widget::Input("time")),
        field("text", text.text, Widget::LongText),
        field("weekly", text.weekly, Widget::Checkbox),
        field("until", text.until, Widget::Input("date")),
    ]
}

fn filled_in_form(visit: &ProVisit, given: &Params) -> AbsenceForm {
    let mut fields = blank_fields(visit);
    for field in &mut fields {
        let value = given.value(&field.name).unwrap_or_default();
        field.value = value.replace("\r\n", "\n");
    }
    let chosen = given.list("calendars");
    let mut calendars = list_calendars(visit);
    for calendar in &mut calendars {
        calendar.is_chosen = chosen.contains(&calendar.id.to_string().as_str());
    }
    AbsenceForm {
        is_note: given.value("kind") == Some("note"),
        is_for_all: given.value("all").is_some(),
        calendars,
        calendar_fault: "",
        fields,
        others: Vec::new(),
    }
}

/// Reads the events of a form, one for each calendar. `None` if a field is wrong, which then has
/// its fault.
fn read_inputs(visit: &ProVisit, absence: &mut AbsenceForm) -> Option<Vec<VeventInput>> {
    let all = absence.calendars.iter();
    let chosen: Vec<CalendarId> = all
        .filter(|calendar| absence.is_for_all || calendar.is_chosen)
        .map(|calendar| calendar.id)
        .collect();
    if chosen.is_empty() {
        absence.calendar_fault = AbsenceTexts::in_language(visit.language()).choose_calendars;
        absence.others.push(absence.calendar_fault.to_owned());
    }
    let object = match read_object(visit, absence) {
        Ok(object) if absence.others.is_empty() => object,
        Ok(_) => return None,
        Err((field, sentence)) => {
            absence.set_fault(field, sentence);
            return None;
        }
    };
    let scope = Scope::for_group(&visit.state);
    let mut inputs = Vec::with_capacity(chosen.len());
    for calendar in chosen {
        let mut object = object.clone();
        object.insert("calendar_id".to_owned(), calendar.number().into());
        match parse(&object, &scope, Audience::Pro) {
            Ok(input) => inputs.push(input),
            Err(faults) => {
                place(visit, absence, faults);
                return None;
            }
        }
    }
    Some(inputs)
}

/// Reads the fields of the events as the API takes them, without the calendar.
fn read_object(visit: &ProVisit, absence: &AbsenceForm) -> Read<Map<String, Value>> {
    let first = read_day(visit, absence, "from_day")?;
    let (start, end) = read_times(visit, absence, first)?;
    let mut object = Map::new();
    object.insert("start".to_owned(), format_civil(start).into());
    object.insert("end".to_owned(), format_civil(end).into());
    object.insert("text".to_owned(), absence.value("text").into());
    object.insert("note".to_owned(), json!(absence.is_note));
    object.insert("taker".to_owned(), visit.creator().as_str().into());
    if absence.is_ticked("weekly") {
        object.insert("rrule".to_owned(), read_rule(visit, absence, first)?.to_string().into());
    }
    Ok(object)
}

fn read_day(visit: &ProVisit, absence: &AbsenceForm, name: &'static str) -> Read<CivilDay> {
    let text = EventTexts::in_language(visit.language());
    parse_legal_day(absence.value(name)).ok_or((name, text.bad_day))
}

/// Reads the start and the end. A note has one day.
fn read_times(visit: &ProVisit, absence: &AbsenceForm, first: CivilDay) -> Read<(Civil, Civil)> {
    let text = EventTexts::in_language(visit.language());
    if absence.is_note {
        return Ok((first.midnight(), first.midnight()));
    }
    let is_open = absence.value("to_day").is_empty();
    let last = if is_open { first } else { read_day(visit, absence, "to_day")? };
    if absence.is_ticked("whole") {
        let end = last.plus_days(1).midnight();
        return if first <= last {
            Ok((first.midnight(), end))
        } else {
            Err(("to_day", text.end_before_start))
        };
    }
    let start = read_time(visit, absence, first, "from_time")?;
    let end = read_time(visit, absence, last, "to_time")?;
    match (start < end, first <= last) {
        (true, _) => Ok((start, end)),
        (false, true) => Err(("to_time", text.end_before_start)),
        (false, false) => Err(("to_day", text.end_before_start)),
    }
}

/// Reads the time of a day. One that a clock change leaves out is a fault, unless the event
/// repeats.
fn read_time(
    visit: &ProVisit,
    absence: &AbsenceForm,
    day: CivilDay,
    name: &'static str,
) -> Read<Civil> {
    let text = EventTexts::in_language(visit.language());
    let at = parse_start(&format!("{}T{}", iso_day(day), absence.value(name)));
    let Some(at) = at else { return Err((name, text.bad_time)) };
    if visit.zone().leaves_out(at) && !absence.is_ticked("weekly") {
        return Err((name, text.time_left_out));
    }
    Ok(at)
}

/// Reads the rule: every week, up to the end of a day.
fn read_rule(visit: &ProVisit, absence: &AbsenceForm, first: CivilDay) -> Read<Rule> {
    let text = AbsenceTexts::in_language(visit.language());
    if absence.value("until").is_empty() {
        return Err(("until", text.until_missing));
    }
    let until = read_day(visit, absence, "until")?;
    if until < first {
        return Err(("until", text.until_too_early));
    }
    let end = visit.zone().instant_of(until.plus_days(1).midnight()).plus_seconds(-1);
    let rule = Rule::new(Repetition::Weekly(None), NonZeroU32::MIN, RuleEnd::Until(end));
    Ok(rule.expect("only a count of 1 is no rule"))
}

/// Places the faults of the event at the fields of the form.
fn place(visit: &ProVisit, absence: &mut AbsenceForm, faults: Vec<Fault>) {
    let mut renamed = Vec::with_capacity(faults.len());
    for Fault { field, rule } in faults {
        // A fault of one of several events names its place before the field.
        let name = field.rsplit('.').next().unwrap_or_default();
        let own = match name {
            "start" => "from_day",
            "end" if absence.is_ticked("whole") => "to_day",
            "end" => "to_time",
            "rrule" => "until",
            other => other,
        };
        renamed.push(Fault::new(own, rule));
    }
    let text = FormTexts::in_language(visit.language());
    absence.others = place_faults(&mut absence.fields, &renamed, text);
}

fn respond_with_form(
    visit: &ProVisit,
    status: StatusCode,
    absence: AbsenceForm,
    asked: Option<Box<Question>>,
) -> Response {
    let text = AbsenceTexts::in_language(visit.language());
    let (address, _) = AgendaAddress::read(visit);
    let screen = AbsenceScreen {
        frame: visit.frame(text.new_title, Section::Agenda),
        text,
        form: FormTexts::in_language(visit.language()),
        back: address.url(visit),
        action: address.url_of(visit, PATH, &[]),
        absence,
        asked,
    };
    respond(status, Privacy::Client, render(&screen))
}
