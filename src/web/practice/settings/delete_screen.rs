//! The question before a record is deleted, with the appointments that are booked with it.

use std::sync::Arc;

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::ids::VeventId;
use crate::domain::state::precondition::Precondition;
use crate::domain::time::Instant;
use crate::http::ApiError;
use crate::http::answer::entity_tag::NamedTags;
use crate::http::resources::crud::{deletion_command, show_record};
use crate::web::assets::short_hash;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::settings::listed_record::SettingsRecord;
use crate::web::practice::settings::record_form::{find_record, record_path, shown_name};
use crate::web::practice::settings::saving::{Unsaved, name_appointment, refreshed, save};
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::field::Audience;
use crate::wire::params::Params;

/// Maximum number of appointments that the question names.
const NAMED_MAX: usize = 50;

#[derive(Template)]
#[template(path = "web/practice/settings_delete.html")]
struct DeleteScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static SettingsTexts,
    about: &'static str,
    is_overtaken: bool,
    action: String,
    keep_url: String,
    revision: String,
    /// The digest of the appointments that the screen names.
    expected: String,
    /// The sentence about their number.
    booked: String,
    names: Vec<String>,
    more: String,
}

/// GET /p/{urlname}/settings/{list}/{id}/delete.
pub(crate) async fn ask<R: SettingsRecord>(
    visit: ProVisit,
    Path(path): Path<RecordPath>,
) -> Response {
    respond_with_question::<R>(&visit, &path, false).await
}

/// POST /p/{urlname}/settings/{list}/{id}/delete: the same as DELETE of the record, if it and the
/// appointments with it are those of the question.
pub(crate) async fn delete<R: SettingsRecord>(
    Path(path): Path<RecordPath>,
    form: ProForm,
) -> Response {
    let ProForm { visit, given } = form;
    let Some((id, _)) = find_record::<R>(&visit, &path) else {
        return message::not_found(&visit.request);
    };
    let precondition = as_asked::<R>(id, &given, visit.request.now);
    let command = deletion_command::<R>(id).only_if(Some(precondition));
    match save(&visit, command).await {
        Ok(_) => redirect(&visit.url(&R::PART.path(), &[("saved", "1")])),
        Err(Unsaved::Failed(error)) => message::failed(&visit.request, &error),
        Err(Unsaved::Refused { .. } | Unsaved::Overtaken) => {
            respond_with_question::<R>(&refreshed(visit), &path, true).await
        }
    }
}

/// Returns the precondition that the record and its appointments are those of the question.
fn as_asked<R: SettingsRecord>(id: R::Id, given: &Params, now: Instant) -> Precondition {
    let show = show_record::<R>(id, Audience::Pro);
    let tags = NamedTags::in_form(given.value("revision").unwrap_or_default());
    let is_same = tags.precondition(show.clone());
    let expected = given.value("expected").unwrap_or_default().to_owned();
    Precondition::new(move |state| {
        is_same.check(state)?;
        if digest(&R::booked(state, id, now)) == expected { Ok(()) } else { Err(show(state)) }
    })
}

/// Returns a digest of some appointments.
fn digest(booked: &[VeventId]) -> String {
    let numbers: Vec<String> = booked.iter().map(VeventId::to_string).collect();
    short_hash(numbers.join(",").as_bytes())
}

/// Finds the appointments on a thread that serves no connection, since a service may have a great
/// number.
async fn find_booked<R: SettingsRecord>(
    visit: &ProVisit,
    id: R::Id,
) -> Result<Vec<VeventId>, ApiError> {
    let state = Arc::clone(&visit.state);
    let now = visit.request.now;
    let find = move || R::booked(&state, id, now);
    visit.request.pages.server.blocking_pool.run(find).await
}

async fn respond_with_question<R: SettingsRecord>(
    visit: &ProVisit,
    path: &RecordPath,
    is_overtaken: bool,
) -> Response {
    let Some((id, record)) =
        find_record::<R>(visit, path).filter(|(_, record)| !R::is_left_out(record))
    else {
        return message::not_found(&visit.request);
    };
    let booked = match find_booked::<R>(visit, id).await {
        Ok(booked) => booked,
        Err(error) => return message::failed(&visit.request, &error),
    };
    let text = SettingsTexts::in_language(visit.language());
    let title = fill(text.delete_title, "name", &shown_name(record, text));
    let count = booked.len().to_string();
    let names = booked.iter().take(NAMED_MAX).map(|id| name_appointment(visit, *id));
    let more = booked.len().saturating_sub(NAMED_MAX);
    let shown = show_record::<R>(id, Audience::Pro)(&visit.state);
    let screen = DeleteScreen {
        frame: visit.frame(&title, Section::Settings),
        text,
        about: if R::can_be_restored() { text.deletes_row } else { text.deletes_set },
        is_overtaken,
        action: visit.url(&format!("{}/delete", record_path(record)), &[]),
        keep_url: visit.url(&record_path(record), &[]),
        revision: shown.map(|shown| shown.tag).unwrap_or_default(),
        expected: digest(&booked),
        booked: match booked.len() {
            0 => text.booked_none.to_owned(),
            _ => fill(text.booked, "count", &count),
        },
        names: names.collect(),
        more: match more {
            0 => String::new(),
            more => fill(text.booked_more, "count", &more.to_string()),
        },
    };
    let status = if is_overtaken { StatusCode::PRECONDITION_FAILED } else { StatusCode::OK };
    respond(status, Privacy::Client, render(&screen))
}
