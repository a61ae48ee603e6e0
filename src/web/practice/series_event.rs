//! Absences, notes and opening hours as events of their own: text, times, deletion. Reference 15.6.

use std::sync::Arc;

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::{Vevent, VeventKind};
use crate::domain::recurrence::Series;
use crate::domain::state::command::{Command, PutVevent};
use crate::domain::state::put_vevent::SeriesPart;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::CivilDay;
use crate::http::{make_change, make_part_change, show_vevent_later};
use crate::web::contact_fields::{FieldView, Widget};
use crate::web::format::{self, iso_day, iso_time, parse_day, parse_start};
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::agenda::way_back::way_back;
use crate::web::practice::displaced::plan::BookedChange;
use crate::web::practice::displaced::question::Question;
use crate::web::practice::displaced::{Settled, ask_about, settle};
use crate::web::practice::event_move::target::EventPlace;
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::record_fields::{
    VersionRow, changed_object, compare_versions, filled_in, place_faults, vevent_fields,
};
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::revision::{REVISION, faults_among, revision, still_at};
use crate::web::practice::rule_words::rule_in_words;
use crate::web::practice::texts::event::EventTexts;
use crate::web::practice::texts::form::FormTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::datetime::{self, format_civil};
use crate::wire::field::Audience;
use crate::wire::params::Params;

/// Number of characters of a day in a form, `2026-03-03`.
const DAY_CHARS: usize = 10;

#[derive(Template)]
#[template(path = "web/practice/series_event.html")]
struct SeriesScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static EventTexts,
    form: &'static FormTexts,
    /// The way back to the event in the agenda.
    back: String,
    here: String,
    /// The pair of the address that names the language, if it does.
    lang: Option<&'static str>,
    action: String,
    /// The screen of the opening hours of its calendar; empty for other events.
    hours_url: String,
    calendar: String,
    /// The sentence about its repetition; empty without one.
    repetition: String,
    /// The form that moves it; empty for an event that cannot be moved.
    move_url: String,
    /// Whether the professional changes it.
    is_writable: bool,
    is_deleted: bool,
    /// A sentence about what was done; empty without one.
    notice: &'static str,
    /// The occurrence that the form shows, as in URLs; empty for the whole event.
    occurrence: String,
    /// The label of the choice of this occurrence alone.
    this_one: String,
    edit: SeriesForm,
    asked: Asked,
    /// The address of the form about the appointments under an absence.
    booked_action: String,
}

/// The question about displaced appointments, if there is one.
#[derive(Default)]
struct Asked {
    question: Option<Box<Question>>,
    at: AskedAt,
}

/// The form that a question stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AskedAt {
    /// That of the fields.
    #[default]
    Edit,
    /// That of the deletion.
    Delete,
    /// One of its own: the absence stands already.
    Booked,
}

impl Asked {
    /// The question that stands in a form.
    fn at(&self, at: AskedAt) -> Option<&Question> {
        self.question.as_deref().filter(|_| self.at == at)
    }

    fn in_edit(&self) -> Option<&Question> {
        self.at(AskedAt::Edit)
    }

    fn in_delete(&self) -> Option<&Question> {
        self.at(AskedAt::Delete)
    }

    fn alone(&self) -> Option<&Question> {
        self.at(AskedAt::Booked)
    }
}

/// The part of a series that a form changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChosenPart {
    /// This occurrence alone.
    One,
    /// This occurrence and those after it.
    Following,
    /// All occurrences, or an event that does not repeat.
    All,
}

impl ChosenPart {
    /// Reads the choice of a form on an occurrence. Without one it is this occurrence alone.
    fn read(given: &Params) -> Self {
        match given.value("scope") {
            Some("following") => Self::Following,
            Some("all") => Self::All,
            _ => Self::One,
        }
    }
}

/// An occurrence of a series that a form shows.
#[derive(Clone, Copy, Debug)]
struct ShownOccurrence {
    day: CivilDay,
    /// Seconds from the first occurrence.
    shift_seconds: i64,
}

impl ShownOccurrence {
    /// Reads the occurrence that a parameter names. `None` without one, and for an event that does
    /// not repeat.
    ///
    /// # Errors
    /// The text of the parameter if the series does not begin on that day.
    fn read(
        visit: &ProVisit,
        row: &Vevent,
        params: &Params,
        name: &str,
    ) -> Result<Option<Self>, String> {
        let Some(series) = row.series().filter(|series| series.rule().is_some()) else {
            return Ok(None);
        };
        let Some(text) = params.value(name) else { return Ok(None) };
        match parse_day(text).filter(|day| series.takes_place_on(visit.zone(), *day)) {
            Some(day) => {
                let shift_seconds = day.midnight().0 - series.start().day().midnight().0;
                Ok(Some(Self { day, shift_seconds }))
            }
            None => Err(text.to_owned()),
        }
    }
}

/// The form, as it was filled in.
struct SeriesForm {
    fields: Vec<FieldView>,
    revision: String,
    /// Sentences about the whole form.
    others: Vec<String>,
    has_faults: bool,
    /// The fields in which the event differs, if it was changed meanwhile.
    versions: Vec<VersionRow>,
    /// The occurrence whose times the fields show.
    occurrence: Option<ShownOccurrence>,
    /// The day that was asked for and on which there is none; empty otherwise.
    wrong_day: String,
    part: ChosenPart,
}

impl SeriesForm {
    fn is_one(&self) -> bool {
        self.part == ChosenPart::One
    }

    fn is_following(&self) -> bool {
        self.part == ChosenPart::Following
    }

    fn is_all(&self) -> bool {
        self.part == ChosenPart::All
    }
}

/// Returns the screen of an event that is no appointment. The parameter `o` names the occurrence
/// that the form shows.
pub(crate) async fn show(visit: &ProVisit, row: &Vevent) -> Response {
    let (occurrence, wrong_day) =
        match ShownOccurrence::read(visit, row, &visit.request.params, "o") {
            Ok(occurrence) => (occurrence, String::new()),
            Err(wrong_day) => (None, wrong_day),
        };
    let status = if wrong_day.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let form = unchanged_form(visit, row, occurrence, wrong_day);
    let question = match ask_about(visit, row.id).await {
        Ok(question) => question,
        Err(response) => return response,
    };
    respond_with_form(visit, status, row, form, Asked { question, at: AskedAt::Booked })
}

/// Returns the form of an event as it is.
fn unchanged_form(
    visit: &ProVisit,
    row: &Vevent,
    occurrence: Option<ShownOccurrence>,
    wrong_day: String,
) -> SeriesForm {
    SeriesForm {
        fields: form_fields(visit, row, occurrence),
        revision: revision(show_vevent_later(row.id, Audience::Pro)(&visit.state)),
        others: Vec::new(),
        has_faults: false,
        versions: Vec::new(),
        occurrence,
        wrong_day,
        part: ChosenPart::One,
    }
}

/// POST /p/{urlname}/events/{id}/series: text and times of an event that is no appointment, its
/// deletion and its restoration. Of a series it changes an occurrence, that and the following ones,
/// or all.
pub(crate) async fn change(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { mut visit, given } = form;
    let Some(id) = find_event(&visit, &path) else { return message::not_found(&visit.request) };
    let row = Arc::clone(&visit.state.rows[&id]);
    let occurrence = match ShownOccurrence::read(&visit, &row, &given, "occurrence") {
        Ok(occurrence) => occurrence,
        Err(day) => return without_occurrence(&visit, &row, &given, day),
    };
    let before = form_fields(&visit, &row, occurrence);
    let mut form = SeriesForm {
        fields: filled_in(&before, &given),
        revision: given.value(REVISION).unwrap_or_default().to_owned(),
        others: Vec::new(),
        has_faults: true,
        versions: Vec::new(),
        part: if occurrence.is_some() { ChosenPart::read(&given) } else { ChosenPart::All },
        occurrence,
        wrong_day: String::new(),
    };
    let deletes = given.value("deleted");
    let object = read_object(&row, &before, &form);
    if object.is_empty() && deletes.is_none() {
        return redirect(&saved_url(&visit, id.number()));
    }
    if deletes.is_none() && mark_left_out(&visit, &row, &mut form) {
        return respond_with_form(&visit, StatusCode::BAD_REQUEST, &row, form, Asked::default());
    }
    let command = make_command(id, object, deletes, &form)
        .only_if(still_at(&form.revision, show_vevent_later(id, Audience::Pro)));
    match settle(&mut visit, BookedChange::Write(command), &given).await {
        // A part that was changed is an event of its own.
        Ok(Settled::Done(done)) => redirect(&saved_url(&visit, done.id)),
        Ok(Settled::Asks(status, question)) => {
            form.has_faults = false;
            let at = if deletes.is_some() { AskedAt::Delete } else { AskedAt::Edit };
            let asked = Asked { question: Some(question), at };
            respond_with_form(&visit, status, &row, form, asked)
        }
        Ok(Settled::Refused(refusals)) => refuse(visit, &row, form, refusals),
        Err(response) => response,
    }
}

/// Returns the screen of a change that is refused.
fn refuse(mut visit: ProVisit, row: &Vevent, mut form: SeriesForm, refusals: Refusals) -> Response {
    match refusals.first() {
        Some(Refusal::PreconditionFailed(_)) => {
            visit.renew();
            return respond_with_versions(&visit, row.id, form);
        }
        Some(Refusal::NoResult) => return message::not_found(&visit.request),
        _ => {}
    }
    let mut faults = faults_among(refusals);
    for fault in &mut faults {
        if fault.field == "date" {
            fault.field = "start".to_owned();
        }
    }
    let text = FormTexts::in_language(visit.language());
    form.others = place_faults(&mut form.fields, &faults, text);
    say_that_it_ends_too_early(&visit, &mut form.fields);
    respond_with_form(&visit, StatusCode::BAD_REQUEST, row, form, Asked::default())
}

/// Returns the screen of a form on an occurrence that the series does not have, or no longer.
fn without_occurrence(visit: &ProVisit, row: &Vevent, given: &Params, day: String) -> Response {
    let mut form = unchanged_form(visit, row, None, day);
    let is_stale = given.value(REVISION) != Some(&form.revision);
    let mut status = StatusCode::BAD_REQUEST;
    if is_stale {
        status = StatusCode::PRECONDITION_FAILED;
        form.has_faults = true;
        form.others.push(EventTexts::in_language(visit.language()).event_overtaken.to_owned());
    }
    respond_with_form(visit, status, row, form, Asked::default())
}

/// POST /p/{urlname}/events/{id}/booked: what happens to the appointments under an absence.
pub(crate) async fn settle_booked(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { mut visit, given } = form;
    let Some(id) = find_event(&visit, &path) else { return message::not_found(&visit.request) };
    match settle(&mut visit, BookedChange::Stands(id), &given).await {
        Ok(Settled::Done(_)) => redirect(&saved_url(&visit, id.number())),
        Ok(Settled::Asks(status, question)) => {
            let row = &visit.state.rows[&id];
            let form = unchanged_form(&visit, row, None, String::new());
            let asked = Asked { question: Some(question), at: AskedAt::Booked };
            respond_with_form(&visit, status, row, form, asked)
        }
        Ok(Settled::Refused(_)) => message::not_found(&visit.request),
        Err(response) => response,
    }
}

fn saved_url(visit: &ProVisit, id: u64) -> String {
    visit.url(&format!("/events/{id}"), &[("saved", "1")])
}

/// Returns the fields that a form changes, as the API takes them.
fn read_object(row: &Vevent, before: &[FieldView], form: &SeriesForm) -> Map<String, Value> {
    let mut object = changed_object(before, &form.fields);
    // The start and the end of a note are one midnight.
    if let Some(start) = object.get("start").filter(|_| is_note(row)).cloned() {
        object.insert("end".to_owned(), start);
    }
    // Times of all are those of the first occurrence.
    if let Some(ShownOccurrence { shift_seconds, .. }) = form.occurrence
        && form.is_all()
    {
        for name in ["start", "end"] {
            let given = object.get(name).and_then(Value::as_str);
            if let Some(civil) = given.and_then(|text| datetime::parse(text).ok()) {
                let first = civil.plus_seconds(-shift_seconds);
                object.insert(name.to_owned(), format_civil(first).into());
            }
        }
    }
    object
}

/// Makes the command of a form. A button of its own deletes or restores the event, whatever was
/// typed.
fn make_command(
    id: VeventId,
    object: Map<String, Value>,
    deletes: Option<&str>,
    form: &SeriesForm,
) -> Command {
    let part = match (form.occurrence, form.part) {
        (Some(occurrence), ChosenPart::One) => Some(SeriesPart::One(occurrence.day)),
        (Some(occurrence), ChosenPart::Following) => Some(SeriesPart::Following(occurrence.day)),
        (Some(_), ChosenPart::All) | (None, _) => None,
    };
    match (part, deletes) {
        (Some(part), Some("1")) => make_part_change(id, part, None),
        (Some(part), None) => make_part_change(id, part, Some(object)),
        (None, Some("1")) => Command::PutVevent(PutVevent::Delete(id)),
        (_, Some(_)) => {
            let mut restored = Map::new();
            restored.insert("deleted".to_owned(), json!(false));
            Command::PutVevent(make_change(id, restored))
        }
        (None, None) => Command::PutVevent(make_change(id, object)),
    }
}

/// Returns the screen of an event that was changed meanwhile, with both versions.
fn respond_with_versions(visit: &ProVisit, id: VeventId, mine: SeriesForm) -> Response {
    let Some(row) = visit.state.rows.get(&id) else { return message::not_found(&visit.request) };
    let theirs = form_fields(visit, row, mine.occurrence);
    let form = SeriesForm {
        versions: compare_versions(&theirs, &mine.fields, visit.language()),
        revision: revision(show_vevent_later(id, Audience::Pro)(&visit.state)),
        has_faults: false,
        ..mine
    };
    respond_with_form(visit, StatusCode::PRECONDITION_FAILED, row, form, Asked::default())
}

/// Gives the times that a clock change leaves out their faults. Returns whether there are any. A
/// series keeps them, since they open or close nothing on that day.
fn mark_left_out(visit: &ProVisit, row: &Vevent, form: &mut SeriesForm) -> bool {
    let repeats = row.series().and_then(Series::rule).is_some();
    if repeats && !form.is_one() {
        return false;
    }
    let text = EventTexts::in_language(visit.language());
    let mut is_any = false;
    for field in &mut form.fields {
        let Some(civil) = parse_start(&field.value) else { continue };
        if visit.zone().leaves_out(civil) {
            text.time_left_out.clone_into(&mut field.fault);
            is_any = true;
        }
    }
    is_any
}

fn is_note(row: &Vevent) -> bool {
    matches!(row.kind, VeventKind::Note(_))
}

/// Returns the fields of the form: text and times, of a note its day, of opening hours the times.
/// The times are those of an occurrence, if one is shown.
fn form_fields(
    visit: &ProVisit,
    row: &Vevent,
    occurrence: Option<ShownOccurrence>,
) -> Vec<FieldView> {
    let names: &[&'static str] = match row.kind {
        VeventKind::Note(_) => &["text", "start"],
        VeventKind::Availability(_) => &["start", "end"],
        VeventKind::Plage(_) | VeventKind::Appointment(_) => &["text", "start", "end"],
    };
    let mut fields = vevent_fields(&visit.state, row, names, visit.language());
    let shift_seconds = occurrence.map_or(0, |occurrence| occurrence.shift_seconds);
    for field in &mut fields {
        if field.name != "text"
            && let Some(civil) = parse_start(&field.value)
        {
            field.value = iso_time(civil.plus_seconds(shift_seconds));
        }
    }
    if is_note(row)
        && let Some(day) = fields.iter_mut().find(|field| field.name == "start")
    {
        day.widget = Widget::Input("date");
        EventTexts::in_language(visit.language()).day.clone_into(&mut day.label);
        day.value.truncate(DAY_CHARS);
    }
    fields
}

/// Gives the fault of an end that lies not after the start its own sentence.
fn say_that_it_ends_too_early(visit: &ProVisit, fields: &mut [FieldView]) {
    let text = EventTexts::in_language(visit.language());
    let at = |name: &str| {
        let field = fields.iter().find(|field| field.name == name)?;
        parse_start(&field.value)
    };
    let (Some(start), Some(end)) = (at("start"), at("end")) else { return };
    if start < end {
        return;
    }
    if let Some(field) = fields.iter_mut().find(|field| field.name == "end") {
        text.end_before_start.clone_into(&mut field.fault);
    }
}

/// Returns the id of the event of a path that is no appointment, if there is one.
fn find_event(visit: &ProVisit, path: &RecordPath) -> Option<VeventId> {
    let id = path.id(VeventId::new)?;
    match &visit.state.rows.get(&id)?.kind {
        VeventKind::Plage(_) | VeventKind::Note(_) | VeventKind::Availability(_) => Some(id),
        VeventKind::Appointment(_) => None,
    }
}

fn respond_with_form(
    visit: &ProVisit,
    status: StatusCode,
    row: &Vevent,
    edit: SeriesForm,
    asked: Asked,
) -> Response {
    let text = EventTexts::in_language(visit.language());
    let title = match &row.kind {
        VeventKind::Appointment(_) => text.title,
        VeventKind::Plage(_) => text.plage_title,
        VeventKind::Note(_) => text.note_title,
        VeventKind::Availability(_) => text.availability_title,
    };
    let rule = row.series().and_then(Series::rule);
    let calendar = visit.state.catalogue.calendars.get(&row.calendar_id);
    let here = format!("/events/{}", row.id);
    let day = edit.occurrence.map(|occurrence| occurrence.day);
    let shown_day = day.map(|day| format::day(visit.language(), day)).unwrap_or_default();
    let form = FormTexts::in_language(visit.language());
    let is_named = |name: &str| visit.request.params.value(name).is_some();
    let notice = match status {
        StatusCode::OK if is_named("saved") => form.saved,
        StatusCode::OK if is_named("moved") => text.moved,
        _ => "",
    };
    let place = EventPlace::find(row, visit.zone()).filter(|_| !row.deleted);
    let screen = SeriesScreen {
        frame: visit.frame(title, Section::Agenda),
        text,
        form,
        back: way_back(visit, row),
        here: visit.url(&here, &[]),
        move_url: place.map(|_| visit.url(&format!("{here}/move"), &[])).unwrap_or_default(),
        hours_url: match row.kind {
            VeventKind::Availability(_) => visit.url(&format!("/hours/{}", row.calendar_id), &[]),
            VeventKind::Plage(_) | VeventKind::Note(_) | VeventKind::Appointment(_) => {
                String::new()
            }
        },
        lang: visit.request.params.value("lang").map(|_| visit.frame("", Section::Agenda).lang),
        action: visit.url(&format!("{here}/series"), &[]),
        calendar: calendar.map_or("", |calendar| calendar.name.as_str()).to_owned(),
        repetition: rule.map_or(String::new(), |rule| {
            let words = rule_in_words(visit.language(), visit.zone(), rule);
            fill(text.series, "rule", &words)
        }),
        is_writable: visit.role().writes_on(row.calendar_id),
        is_deleted: row.deleted,
        notice,
        occurrence: day.map(iso_day).unwrap_or_default(),
        this_one: fill(text.scope_one, "day", &shown_day),
        edit,
        asked,
        booked_action: visit.url(&format!("{here}/booked"), &[]),
    };
    respond(status, Privacy::Client, render(&screen))
}
