//! The list of the records of a kind: their order, and the ones that can be restored.

use std::sync::Arc;

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Map;

use crate::domain::records::ids::RecordId as _;
use crate::domain::state::command::{Batch, Command};
use crate::http::resources::crud::change_command;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::settings::listed_record::{SettingsRecord, in_order};
use crate::web::practice::settings::record_form::{find_record, record_path, shown_name};
use crate::web::practice::settings::saving::{Unsaved, save};
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::field::{Audience, ColumnValue, Scope};

/// Maximum number of changes that are sent as one.
const CHANGES_MAX: usize = 100;

#[derive(Template)]
#[template(path = "web/practice/settings_list.html")]
struct ListScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static SettingsTexts,
    about: &'static str,
    back_url: String,
    add_url: String,
    is_saved: bool,
    rows: Vec<ListRow>,
    deleted: Vec<ListRow>,
}

/// A record of the list.
struct ListRow {
    name: String,
    url: String,
    /// The form that moves or restores it; empty without one.
    act_url: String,
    /// The labels of its buttons; empty without one.
    up: String,
    down: String,
    restore: String,
}

/// GET /p/{urlname}/settings/{list}.
pub(crate) async fn show<R: SettingsRecord>(visit: ProVisit) -> Response {
    let text = SettingsTexts::in_language(visit.language());
    let (live, deleted) = in_order::<R>(&visit.state);
    let last = live.len().saturating_sub(1);
    let rows = live.iter().enumerate().map(|(index, record)| {
        let name = shown_name(*record, text);
        let label = |text: &str, is_shown: bool| {
            if is_shown && R::is_sorted() { fill(text, "name", &name) } else { String::new() }
        };
        ListRow {
            url: visit.url(&record_path(*record), &[]),
            act_url: visit.url(&format!("{}/move", record_path(*record)), &[]),
            up: label(text.up, index > 0),
            down: label(text.down, index < last),
            restore: String::new(),
            name,
        }
    });
    let deleted = deleted.iter().map(|record| {
        let name = shown_name(*record, text);
        ListRow {
            url: visit.url(&record_path(*record), &[]),
            act_url: visit.url(&format!("{}/restore", record_path(*record)), &[]),
            up: String::new(),
            down: String::new(),
            restore: fill(text.restore, "name", &name),
            name,
        }
    });
    let screen = ListScreen {
        frame: visit.frame(R::PART.title(text), Section::Settings),
        text,
        about: R::PART.about(text),
        back_url: visit.url(Section::Settings.path(), &[]),
        add_url: visit.url(&format!("{}/new", R::PART.path()), &[]),
        is_saved: visit.request.params.value("saved").is_some(),
        rows: rows.collect(),
        deleted: deleted.collect(),
    };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}

/// POST /p/{urlname}/settings/{list}/{id}/move: one place up, or with `way=down` one down.
pub(crate) async fn change_place<R: SettingsRecord>(
    Path(path): Path<RecordPath>,
    form: ProForm,
) -> Response {
    let ProForm { visit, given } = form;
    let Some((_, record)) = find_record::<R>(&visit, &path) else {
        return message::not_found(&visit.request);
    };
    let (mut order, _) = in_order::<R>(&visit.state);
    let place = order.iter().position(|other| other.number() == record.number());
    let Some(place) = place.filter(|_| R::is_sorted()) else {
        return message::not_found(&visit.request);
    };
    let other = match given.value("way") {
        Some("down") => place + 1,
        _ => place.wrapping_sub(1),
    };
    if other < order.len() {
        order.swap(place, other);
    }
    let scope = Scope::for_group(&visit.state).at_moment(visit.request.now);
    let commands = renumber(&order, &scope);
    for part in commands.chunks(CHANGES_MAX) {
        let batch = Batch { commands: Arc::from(part), is_atomic: true };
        match save(&visit, Command::Batch(batch)).await {
            Ok(done) if done.steps.iter().all(Result::is_ok) => {}
            Err(Unsaved::Failed(error)) => return message::failed(&visit.request, &error),
            Ok(_) | Err(Unsaved::Refused { .. } | Unsaved::Overtaken) => {
                return respond_impossible::<R>(&visit);
            }
        }
    }
    redirect(&visit.url(&R::PART.path(), &[("saved", "1")]))
}

/// Returns the changes that give records the places of their order. A record that has its place
/// keeps its number.
fn renumber<R: SettingsRecord>(order: &[&R], scope: &Scope<'_>) -> Vec<Command> {
    let mut commands = Vec::new();
    for (place, record) in (1_i64..).zip(order) {
        let field = R::table().field("sort").expect("a list with an order");
        if field.read_value(record, scope) == ColumnValue::Integer(place) {
            continue;
        }
        let mut object = Map::new();
        object.insert("sort".to_owned(), place.into());
        let id = R::Id::from_number(record.number()).expect("a record has an id");
        let command = change_command::<R>(id, &object, scope, Audience::Pro);
        commands.push(command.expect("a place is a legal number"));
    }
    commands
}

/// POST /p/{urlname}/settings/{list}/{id}/restore.
pub(crate) async fn restore<R: SettingsRecord>(
    Path(path): Path<RecordPath>,
    form: ProForm,
) -> Response {
    let visit = form.visit;
    let found = find_record::<R>(&visit, &path).filter(|_| R::can_be_restored());
    let Some((id, _)) = found else { return message::not_found(&visit.request) };
    let scope = Scope::for_group(&visit.state).at_moment(visit.request.now);
    let mut object = Map::new();
    object.insert("deleted".to_owned(), false.into());
    let command = change_command::<R>(id, &object, &scope, Audience::Pro);
    match save(&visit, command.expect("a legal value")).await {
        Ok(_) => redirect(&visit.url(&R::PART.path(), &[("saved", "1")])),
        Err(Unsaved::Failed(error)) => message::failed(&visit.request, &error),
        Err(Unsaved::Refused { .. } | Unsaved::Overtaken) => respond_impossible::<R>(&visit),
    }
}

/// Returns the page of a change that a rule of the group refuses, such as a second live definition
/// of a customised attribute.
fn respond_impossible<R: SettingsRecord>(visit: &ProVisit) -> Response {
    let text = SettingsTexts::in_language(visit.language());
    let title = R::PART.title(text);
    message::with_line(&visit.request, StatusCode::BAD_REQUEST, title, text.not_possible)
}
