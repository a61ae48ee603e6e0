//! The forms of the group's own fields, part by part.

use std::sync::Arc;

use axum::extract::Path;
use axum::response::Response;

use crate::domain::decisions::retention::RetentionMonths;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::row::HistoryObject;
use crate::http::ApiError;
use crate::http::answer::entity_tag::NamedTags;
use crate::http::resources::groups::{begins_demand, change_command, show_group};
use crate::http::resources::retention::{count_due, parse_months};
use crate::web::page::redirect;
use crate::web::practice::form::ProForm;
use crate::web::practice::message;
use crate::web::practice::settings::control::Sheet;
use crate::web::practice::settings::fields::field_text::FieldText;
use crate::web::practice::settings::form_screen::{Attempt, FormPlace, respond_with_form};
use crate::web::practice::settings::given::to_object;
use crate::web::practice::settings::part::Part;
use crate::web::practice::settings::saving::{Unsaved, refreshed, save};
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::field::{Audience, Scope};
use crate::wire::group::GROUP;
use crate::wire::params::Params;

/// The placeholder of a part in a path.
#[derive(serde::Deserialize)]
pub(crate) struct PartPath {
    part: String,
}

/// GET /p/{urlname}/settings/{part}.
pub(crate) async fn show(visit: ProVisit, Path(path): Path<PartPath>) -> Response {
    let Some((part, words)) = Part::of_group(&path.part) else {
        return message::not_found(&visit.request);
    };
    // A form may be counted before it is saved: its fields are in the address.
    let params = &visit.request.params;
    let is_counted = part == Part::Privacy && params.value("preview").is_some();
    let given = if is_counted { Some(params) } else { None };
    let attempt = Attempt { given, ..Attempt::default() };
    respond_with_part(&visit, part, words, &attempt).await
}

/// POST /p/{urlname}/settings/{part}: the fields of the form, as by PUT of the group.
pub(crate) async fn change(Path(path): Path<PartPath>, form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let Some((part, words)) = Part::of_group(&path.part) else {
        return message::not_found(&visit.request);
    };
    let attempt = Attempt { given: Some(&given), ..Attempt::default() };
    match save_fields(&visit, words, &given).await {
        Ok(()) => redirect(&visit.url(&part.path(), &[("saved", "1")])),
        Err(Unsaved::Refused { faults, sentence }) => {
            let attempt = Attempt { faults, sentence, ..attempt };
            respond_with_part(&visit, part, words, &attempt).await
        }
        Err(Unsaved::Overtaken) => {
            let attempt = Attempt { is_overtaken: true, ..attempt };
            respond_with_part(&refreshed(visit), part, words, &attempt).await
        }
        Err(Unsaved::Failed(error)) => message::failed(&visit.request, &error),
    }
}

async fn save_fields(visit: &ProVisit, words: &[FieldText], given: &Params) -> Result<(), Unsaved> {
    let scope = Scope::for_group(&visit.state).at_moment(visit.request.now);
    let object = to_object(words, given, false);
    let command = change_command(&object, &scope, Audience::Pro)?;
    if !visit.has_second_factor() && begins_demand(&object, &visit.state) {
        let text = SettingsTexts::in_language(visit.language());
        return Err(Unsaved::Refused {
            faults: Vec::new(),
            sentence: text.own_factor_first.to_owned(),
        });
    }
    let tags = NamedTags::in_form(given.value("revision").unwrap_or_default());
    let show = |state: &GroupState| Some(show_group(state, Audience::Pro));
    save(visit, command.only_if(Some(tags.precondition(show)))).await?;
    Ok(())
}

/// Returns the lines that count what the settings of a form would empty, erase and close now.
/// Months that are none count as those of the group.
async fn count_retention(
    visit: &ProVisit,
    given: Option<&Params>,
) -> Result<Vec<String>, ApiError> {
    let none = Params::default();
    let given = given.unwrap_or(&none);
    let own = RetentionMonths::of_group(visit.group());
    let months = parse_months(given, &visit.state).unwrap_or(own);
    let server = &visit.request.pages.server;
    let state = Arc::clone(&visit.state);
    let due = count_due(server, state, months, visit.request.now).await?;
    let text = SettingsTexts::in_language(visit.language());
    Ok(vec![
        fill(text.preview_appointments, "count", &due.appointments.to_string()),
        fill(text.preview_clients, "count", &due.clients.to_string()),
        fill(text.preview_accounts, "count", &due.accounts.to_string()),
    ])
}

async fn respond_with_part(
    visit: &ProVisit,
    part: Part,
    words: &'static [FieldText],
    attempt: &Attempt<'_>,
) -> Response {
    let preview = if part == Part::Privacy {
        match count_retention(visit, attempt.given).await {
            Ok(lines) => lines,
            Err(error) => return message::failed(&visit.request, &error),
        }
    } else {
        Vec::new()
    };
    let sheet = Sheet {
        table: &GROUP,
        words,
        record: visit.group(),
        is_new: false,
        scope: Scope::for_group(&visit.state).at_moment(visit.request.now),
        language: visit.language(),
        given: attempt.given,
        faults: &attempt.faults,
        is_overtaken: attempt.is_overtaken,
    };
    let place = FormPlace {
        part,
        title: part.title(SettingsTexts::in_language(visit.language())).to_owned(),
        path: part.path(),
        revision: show_group(&visit.state, Audience::Pro).tag,
        is_in_list: false,
        can_be_deleted: false,
        hours_path: None,
        object: Some(HistoryObject::of_group(visit.group().id)),
        preview,
    };
    respond_with_form(visit, &place, sheet.controls(), attempt)
}
