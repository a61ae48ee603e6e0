//! Absences, notes and opening hours as events of their own: text, times, deletion. Reference 15.6.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::{Vevent, VeventKind};
use crate::domain::recurrence::Series;
use crate::domain::state::command::Command;
use crate::domain::state::refusal::Refusal;
use crate::engine::Rejection;
use crate::http::{GuardedRejection, make_change, show_vevent_later};
use crate::web::contact_fields::{FieldView, Widget};
use crate::web::format::parse_start;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::agenda::way_back::way_back;
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::record_fields::{
    Fact, VersionRow, changed_object, compare_versions, facts, filled_in, place_faults,
    vevent_fields,
};
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::revision::{REVISION, faults_among, revision, still_at, write};
use crate::web::practice::texts::event::EventTexts;
use crate::web::practice::texts::form::FormTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::field::Audience;

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
    action: String,
    /// The screen of the opening hours of its calendar.
    hours_url: String,
    calendar: String,
    /// The sentence about its repetition; empty without one.
    repetition: String,
    is_deleted: bool,
    /// Whether it is opening time, which this screen only shows.
    is_availability: bool,
    is_saved: bool,
    facts: Vec<Fact>,
    edit: SeriesForm,
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
}

/// Returns the screen of an event that is no appointment.
pub(crate) fn show(visit: &ProVisit, row: &Vevent) -> Response {
    let form = SeriesForm {
        fields: form_fields(visit, row),
        revision: revision(show_vevent_later(row.id, Audience::Pro)(&visit.state)),
        others: Vec::new(),
        has_faults: false,
        versions: Vec::new(),
    };
    respond_with_form(visit, StatusCode::OK, row, form)
}

/// POST /p/{urlname}/events/{id}/series: text and times of an absence or a note, its deletion and
/// its restoration.
pub(crate) async fn change(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { mut visit, given } = form;
    let Some(id) = find_event(&visit, &path) else { return message::not_found(&visit.request) };
    let row = &visit.state.rows[&id];
    let before = form_fields(&visit, row);
    let mut fields = filled_in(&before, &given);
    let mut object = changed_object(&before, &fields);
    let based_on = given.value(REVISION).unwrap_or_default().to_owned();
    // The start and the end of a note are one midnight.
    if let Some(start) = object.get("start").filter(|_| is_note(row)).cloned() {
        object.insert("end".to_owned(), start);
    }
    // A button of its own deletes or restores it, whatever was typed.
    if let Some(deleted) = given.value("deleted") {
        object = serde_json::Map::new();
        object.insert("deleted".to_owned(), json!(deleted == "1"));
    }
    let saved = visit.url(&format!("/events/{id}"), &[("saved", "1")]);
    if object.is_empty() {
        return redirect(&saved);
    }
    let left_out = find_left_out(&visit, row, &fields);
    if !left_out.is_empty() && !object.contains_key("deleted") {
        return respond_with_left_out(&visit, row, fields, based_on, &left_out);
    }
    let command = Command::PutVevent(make_change(id, object))
        .only_if(still_at(&based_on, show_vevent_later(id, Audience::Pro)));
    let refusals = match write(&visit, command).await {
        Ok(_) => return redirect(&saved),
        Err(GuardedRejection::Rejected(Rejection::Refused(refusals))) => refusals,
        Err(rejection) => {
            let error = rejection.into_error(visit.zone(), Audience::Pro);
            return message::failed(&visit.request, &error);
        }
    };
    let text = FormTexts::in_language(visit.language());
    if let Some(Refusal::PreconditionFailed(_)) = refusals.first() {
        visit.renew();
        return respond_with_versions(&visit, id, fields);
    }
    if matches!(refusals.first(), Some(Refusal::NoResult)) {
        return message::not_found(&visit.request);
    }
    let mut faults = faults_among(refusals);
    for fault in &mut faults {
        if fault.field == "date" {
            fault.field = "start".to_owned();
        }
    }
    let mut others = place_faults(&mut fields, &faults, text);
    say_that_it_ends_too_early(&visit, &mut fields);
    others.dedup();
    let form =
        SeriesForm { fields, revision: based_on, others, has_faults: true, versions: Vec::new() };
    respond_with_form(&visit, StatusCode::BAD_REQUEST, row, form)
}

/// Returns the screen of an event that was changed meanwhile, with both versions.
fn respond_with_versions(visit: &ProVisit, id: VeventId, mine: Vec<FieldView>) -> Response {
    let Some(row) = visit.state.rows.get(&id) else { return message::not_found(&visit.request) };
    let theirs = form_fields(visit, row);
    let form = SeriesForm {
        versions: compare_versions(&theirs, &mine, visit.language()),
        fields: mine,
        revision: revision(show_vevent_later(id, Audience::Pro)(&visit.state)),
        others: Vec::new(),
        has_faults: false,
    };
    respond_with_form(visit, StatusCode::PRECONDITION_FAILED, row, form)
}

/// Returns the screen of a form with times that the clocks leave out.
fn respond_with_left_out(
    visit: &ProVisit,
    row: &Vevent,
    mut fields: Vec<FieldView>,
    revision: String,
    left_out: &[&'static str],
) -> Response {
    let text = EventTexts::in_language(visit.language());
    for field in &mut fields {
        if left_out.contains(&field.name.as_str()) {
            text.time_left_out.clone_into(&mut field.fault);
        }
    }
    let others = Vec::new();
    let form = SeriesForm { fields, revision, others, has_faults: true, versions: Vec::new() };
    respond_with_form(visit, StatusCode::BAD_REQUEST, row, form)
}

fn is_note(row: &Vevent) -> bool {
    matches!(row.kind, VeventKind::Note(_))
}

/// Returns the fields of the form: text and times, of a note its day.
fn form_fields(visit: &ProVisit, row: &Vevent) -> Vec<FieldView> {
    let names: &[&'static str] =
        if is_note(row) { &["text", "start"] } else { &["text", "start", "end"] };
    let mut fields = vevent_fields(&visit.state, row, names, visit.language());
    if is_note(row)
        && let Some(day) = fields.iter_mut().find(|field| field.name == "start")
    {
        day.widget = Widget::Input("date");
        EventTexts::in_language(visit.language()).day.clone_into(&mut day.label);
        day.value.truncate(DAY_CHARS);
    }
    fields
}

/// Returns the fields of a single event whose hour a clock change leaves out.
fn find_left_out(visit: &ProVisit, row: &Vevent, fields: &[FieldView]) -> Vec<&'static str> {
    if row.series().and_then(Series::rule).is_some() {
        return Vec::new();
    }
    let mut left_out = Vec::new();
    for name in ["start", "end"] {
        let field = fields.iter().find(|field| field.name == name);
        let Some(civil) = field.and_then(|field| parse_start(&field.value)) else { continue };
        if visit.zone().civil_of(visit.zone().instant_of(civil)) != civil {
            left_out.push(name);
        }
    }
    left_out
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

/// Returns the id of the absence or note of a path, if there is one.
fn find_event(visit: &ProVisit, path: &RecordPath) -> Option<VeventId> {
    let id = path.id(VeventId::new)?;
    match &visit.state.rows.get(&id)?.kind {
        VeventKind::Plage(_) | VeventKind::Note(_) => Some(id),
        VeventKind::Appointment(_) | VeventKind::Availability(_) => None,
    }
}

fn respond_with_form(
    visit: &ProVisit,
    status: StatusCode,
    row: &Vevent,
    edit: SeriesForm,
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
    let fields = form_fields(visit, row);
    let is_saved = status == StatusCode::OK && visit.request.params.value("saved").is_some();
    let screen = SeriesScreen {
        frame: visit.frame(title, Section::Agenda),
        text,
        form: FormTexts::in_language(visit.language()),
        back: way_back(visit, row),
        here: visit.url(&here, &[]),
        hours_url: visit.url(&format!("/hours/{}", row.calendar_id), &[]),
        action: visit.url(&format!("{here}/series"), &[]),
        calendar: calendar.map_or("", |calendar| calendar.name.as_str()).to_owned(),
        repetition: rule.map_or(String::new(), |rule| fill(text.series, "rule", &rule.to_string())),
        is_deleted: row.deleted,
        is_availability: matches!(row.kind, VeventKind::Availability(_)),
        is_saved,
        facts: facts(&fields, visit.language()),
        edit,
    };
    respond(status, Privacy::Client, render(&screen))
}
