//! The deletion of closures and exceptional openings. Reference 15.8.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::ids::VeventId;
use crate::domain::state::command::{Batch, Command, PutVevent};
use crate::domain::state::precondition::Precondition;
use crate::domain::state::put_vevent::ROWS_MAX;
use crate::domain::time::DAY;
use crate::web::format;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::hours::exceptions::{ExceptionTime, exception_tag, read_exception};
use crate::web::practice::hours::saving::{NotSaved, SaveQuestion, save_as_expected};
use crate::web::practice::hours::words::{long_date, services_in_words};
use crate::web::practice::message;
use crate::web::practice::revision::REVISION;
use crate::web::practice::texts::hours::HoursTexts;
use crate::web::practice::visit::ProVisit;

#[derive(Template)]
#[template(path = "web/practice/hours_delete.html")]
struct DeleteScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static HoursTexts,
    action: String,
    keep_url: String,
    ids: String,
    revision: String,
    when: String,
    what: String,
    question: SaveQuestion,
}

/// GET /p/{urlname}/hours/delete: the list, to which the switch of languages leads.
pub(crate) async fn show(visit: ProVisit) -> Response {
    redirect(&visit.url(Section::Hours.path(), &[]))
}

/// POST /p/{urlname}/hours/delete.
pub(crate) async fn delete(form: ProForm) -> Response {
    let ProForm { mut visit, given } = form;
    let mut ids = Vec::new();
    for text in given.list("ids") {
        let id = text.parse().ok().and_then(VeventId::new);
        // An appointment is cancelled by a form of its own.
        let rows = &visit.state.rows;
        let role = visit.role();
        let known = id.filter(|id| {
            let row = rows.get(id).filter(|row| row.series().is_some());
            row.is_some_and(|row| role.writes_on(row.calendar_id))
        });
        let Some(id) = known.filter(|_| ids.len() < ROWS_MAX) else {
            return message::not_found(&visit.request);
        };
        ids.push(id);
    }
    let Some(row) = ids.first().and_then(|id| visit.state.rows.get(id)) else {
        return message::not_found(&visit.request);
    };
    let time = read_exception(row);
    let based_on = given.value(REVISION).unwrap_or_default().to_owned();
    let deletions: Vec<Command> =
        ids.iter().map(|id| Command::PutVevent(PutVevent::Delete(*id))).collect();
    let batch = Command::Batch(Batch { commands: deletions.into(), is_atomic: true });
    let same = based_on.clone();
    let listed = ids.clone();
    let command = batch.only_if(Some(Precondition::new(move |state| {
        let is_exception =
            |id: &VeventId| state.rows.get(id).is_some_and(|row| read_exception(row).is_some());
        let is_same = listed.iter().all(is_exception) && exception_tag(state, &listed) == same;
        if is_same { Ok(()) } else { Err(None) }
    })));
    let text = HoursTexts::in_language(visit.language());
    match save_as_expected(&mut visit, command, &given).await {
        Ok(()) => redirect(&visit.url(Section::Hours.path(), &[("saved", "1")])),
        Err(NotSaved::Asked(question)) => {
            let (when, what) = time.map(|time| time_in_words(&visit, &time)).unwrap_or_default();
            let screen = DeleteScreen {
                frame: visit.frame(text.delete_title, Section::Hours),
                text,
                action: visit.url("/hours/delete", &[]),
                keep_url: visit.url(Section::Hours.path(), &[]),
                ids: given.value("ids").unwrap_or_default().to_owned(),
                revision: based_on,
                when,
                what,
                question,
            };
            let status = screen.question.status();
            respond(status, Privacy::Client, render(&screen))
        }
        Err(NotSaved::Refused(_) | NotSaved::Overtaken) => {
            let status = StatusCode::PRECONDITION_FAILED;
            message::with_line(&visit.request, status, text.delete_title, text.delete_gone)
        }
        Err(NotSaved::Failed(error)) => message::failed(&visit.request, &error),
    }
}

/// Returns the time of an exception in words, and its kind with its text or services.
pub(crate) fn time_in_words(visit: &ProVisit, time: &ExceptionTime) -> (String, String) {
    let text = HoursTexts::in_language(visit.language());
    let language = visit.language();
    let first = long_date(language, time.start.day());
    let Some(permits) = &time.opening else {
        let last = time.end.plus_seconds(-DAY).day();
        let when = if last == time.start.day() {
            first
        } else {
            format!("{first} – {}", long_date(language, last))
        };
        let name = time.text.trim();
        let what = if name.is_empty() { text.closure } else { name };
        return (when, what.to_owned());
    };
    let start = format::time(time.start);
    let end = if time.end.day() == time.start.day() {
        format::time(time.end)
    } else if time.end == time.start.day().midnight().plus_seconds(DAY) {
        "24:00".to_owned()
    } else {
        format!("{}, {}", long_date(language, time.end.day()), format::time(time.end))
    };
    let services = services_in_words(&visit.state, language, permits);
    let what = if services.is_empty() {
        text.opening.to_owned()
    } else {
        format!("{}, {services}", text.opening)
    };
    (format!("{first}, {start}–{end}"), what)
}
