//! The forms that make and change a record of a list.

use axum::extract::Path;
use axum::response::Response;

use crate::domain::records::ids::RecordId as _;
use crate::domain::state::history::row::{HistoryObject, ObjectKind};
use crate::http::answer::entity_tag::NamedTags;
use crate::http::resources::crud::{change_command, creation_command, show_record};
use crate::web::page::redirect;
use crate::web::practice::form::ProForm;
use crate::web::practice::message;
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::settings::control::Sheet;
use crate::web::practice::settings::form_screen::{Attempt, FormPlace, respond_with_form};
use crate::web::practice::settings::given::to_object;
use crate::web::practice::settings::listed_record::SettingsRecord;
use crate::web::practice::settings::saving::{Unsaved, refreshed, save};
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::practice::visit::ProVisit;
use crate::wire::field::{Audience, Scope};
use crate::wire::params::Params;

/// Returns the record of a path; `None` if the group of the visit has none.
pub(crate) fn find_record<'v, R: SettingsRecord>(
    visit: &'v ProVisit,
    path: &RecordPath,
) -> Option<(R::Id, &'v R)> {
    let id = path.id(R::Id::from_number)?;
    Some((id, R::find(&visit.state, id)?))
}

/// Returns the path of a record below `/p/<urlname>`.
pub(crate) fn record_path<R: SettingsRecord>(record: &R) -> String {
    format!("{}/{}", R::PART.path(), record.number())
}

/// Returns the name of a record on the screens of the practice.
pub(crate) fn shown_name<R: SettingsRecord>(record: &R, text: &SettingsTexts) -> String {
    let name = record.own_name();
    if name.trim().is_empty() { text.unnamed.to_owned() } else { name }
}

/// GET /p/{urlname}/settings/{list}/new.
pub(crate) async fn show_blank<R: SettingsRecord>(visit: ProVisit) -> Response {
    respond_with_record::<R>(&visit, None, &Attempt::default())
}

/// POST /p/{urlname}/settings/{list}/new: the same as POST of the record.
pub(crate) async fn create<R: SettingsRecord>(form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let scope = Scope::for_group(&visit.state).at_moment(visit.request.now);
    let object = to_object(R::words(), &given, true);
    let saved = match creation_command::<R>(&object, &scope, Audience::Pro) {
        Ok(command) => save(&visit, command).await.map(drop),
        Err(faults) => Err(faults.into()),
    };
    answer::<R>(visit, None, &given, saved)
}

/// GET /p/{urlname}/settings/{list}/{id}.
pub(crate) async fn show<R: SettingsRecord>(
    visit: ProVisit,
    Path(path): Path<RecordPath>,
) -> Response {
    match find_record::<R>(&visit, &path) {
        Some((id, _)) => respond_with_record::<R>(&visit, Some(id), &Attempt::default()),
        None => message::not_found(&visit.request),
    }
}

/// POST /p/{urlname}/settings/{list}/{id}: the fields of the form, as by PUT of the record.
pub(crate) async fn change<R: SettingsRecord>(
    Path(path): Path<RecordPath>,
    form: ProForm,
) -> Response {
    let ProForm { visit, given } = form;
    let Some((id, _)) = find_record::<R>(&visit, &path) else {
        return message::not_found(&visit.request);
    };
    let saved = save_fields::<R>(&visit, id, &given).await;
    answer::<R>(visit, Some(id), &given, saved)
}

async fn save_fields<R: SettingsRecord>(
    visit: &ProVisit,
    id: R::Id,
    given: &Params,
) -> Result<(), Unsaved> {
    let scope = Scope::for_group(&visit.state).at_moment(visit.request.now);
    let object = to_object(R::words(), given, false);
    let command = change_command::<R>(id, &object, &scope, Audience::Pro)?;
    let tags = NamedTags::in_form(given.value("revision").unwrap_or_default());
    let precondition = tags.precondition(show_record::<R>(id, Audience::Pro));
    save(visit, command.only_if(Some(precondition))).await?;
    Ok(())
}

/// Answers a form: with the list, or with the form and the reason why it was not saved.
fn answer<R: SettingsRecord>(
    visit: ProVisit,
    id: Option<R::Id>,
    given: &Params,
    saved: Result<(), Unsaved>,
) -> Response {
    let attempt = Attempt { given: Some(given), ..Attempt::default() };
    match saved {
        Ok(()) => redirect(&visit.url(&R::PART.path(), &[("saved", "1")])),
        Err(Unsaved::Refused { faults, sentence }) => {
            respond_with_record::<R>(&visit, id, &Attempt { faults, sentence, ..attempt })
        }
        Err(Unsaved::Overtaken) => {
            let attempt = Attempt { is_overtaken: true, ..attempt };
            respond_with_record::<R>(&refreshed(visit), id, &attempt)
        }
        Err(Unsaved::Failed(error)) => message::failed(&visit.request, &error),
    }
}

fn respond_with_record<R: SettingsRecord>(
    visit: &ProVisit,
    id: Option<R::Id>,
    attempt: &Attempt<'_>,
) -> Response {
    let text = SettingsTexts::in_language(visit.language());
    let record = match id.map(|id| R::find(&visit.state, id)) {
        Some(Some(record)) => Some(record),
        Some(None) => return message::not_found(&visit.request),
        None => None,
    };
    let tag = |id: R::Id| show_record::<R>(id, Audience::Pro)(&visit.state).map(|shown| shown.tag);
    let sheet = Sheet {
        table: R::table(),
        words: R::words(),
        record: record.unwrap_or(&R::table().blank),
        is_new: record.is_none(),
        scope: Scope::for_group(&visit.state).at_moment(visit.request.now),
        language: visit.language(),
        given: attempt.given,
        faults: &attempt.faults,
        is_overtaken: attempt.is_overtaken,
    };
    let is_live = record.is_some_and(|record| !R::is_left_out(record));
    let place = FormPlace {
        part: R::PART,
        title: match record {
            Some(record) => shown_name(record, text),
            None => R::new_title(text).to_owned(),
        },
        path: match record {
            Some(record) => record_path(record),
            None => format!("{}/new", R::PART.path()),
        },
        revision: id.and_then(tag).unwrap_or_default(),
        is_in_list: true,
        can_be_deleted: is_live,
        hours_path: id.filter(|_| is_live).and_then(R::hours_path),
        preview: Vec::new(),
        object: record.and_then(|record| {
            let kind = ObjectKind::from_name(R::table().resource)?;
            Some(HistoryObject { kind, id: record.number() })
        }),
    };
    respond_with_form(visit, &place, sheet.controls(), attempt)
}
