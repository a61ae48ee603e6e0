//! The question before a client is erased, with the upcoming appointments that it cancels.
//! Reference 15.5, 17.1.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::decisions::erasure::{find_upcoming, records_of};
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{FicheId, VeventId};
use crate::http::ApiError;
use crate::web::assets::short_hash;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::settings::saving::name_appointment;
use crate::web::practice::texts::client::ClientTexts;
use crate::web::practice::texts::erasure::ErasureTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::field::Audience;

/// Maximum number of appointments that the question names.
const NAMED_MAX: usize = 50;

#[derive(Template)]
#[template(path = "web/practice/client_erase.html")]
struct EraseScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static ErasureTexts,
    is_overtaken: bool,
    action: String,
    keep_url: String,
    upcoming: Vec<String>,
    more: String,
    /// The digest of the appointments.
    expected: String,
}

/// GET /p/{urlname}/clients/{id}/erase.
pub(crate) async fn ask(Path(path): Path<RecordPath>, visit: ProVisit) -> Response {
    match find_client(&visit, &path) {
        Some(fiche) => respond_with_question(&visit, fiche, StatusCode::OK),
        None => message::not_found(&visit.request),
    }
}

/// POST /p/{urlname}/clients/{id}/erase, if the upcoming appointments are those of the question.
pub(crate) async fn erase(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let Some(fiche) = find_client(&visit, &path) else {
        return message::not_found(&visit.request);
    };
    let screen = visit.url(&format!("/clients/{}", fiche.id), &[]);
    if fiche.erased_at.is_some() {
        return redirect(&screen);
    }
    let upcoming = upcoming_of(&visit, fiche);
    if given.value("expected") != Some(digest(&upcoming).as_str()) {
        return respond_with_question(&visit, fiche, StatusCode::PRECONDITION_FAILED);
    }
    let engine = &visit.request.pages.server.engine;
    let group = visit.group().id;
    let cancels = !upcoming.is_empty();
    match engine.erase_clients(group, visit.author(), vec![fiche.id], cancels).await {
        Ok(_) => redirect(&screen),
        Err(error) => {
            let error = ApiError::from_erasure(error, visit.zone(), Audience::Pro);
            message::failed(&visit.request, &error)
        }
    }
}

/// Returns the client of a path, erased or not: of a merged record the kept one.
fn find_client<'v>(visit: &'v ProVisit, path: &RecordPath) -> Option<&'v Fiche> {
    let id = visit.state.kept_client(path.id(FicheId::new)?);
    visit.state.fiches.get(&id).map(AsRef::as_ref)
}

fn upcoming_of(visit: &ProVisit, fiche: &Fiche) -> Vec<VeventId> {
    let records = records_of(&visit.state, &[fiche.id]);
    find_upcoming(&visit.state, &records, visit.request.now)
}

fn digest(upcoming: &[VeventId]) -> String {
    let numbers: Vec<String> = upcoming.iter().map(VeventId::to_string).collect();
    short_hash(numbers.join(",").as_bytes())
}

fn respond_with_question(visit: &ProVisit, fiche: &Fiche, status: StatusCode) -> Response {
    let text = ErasureTexts::in_language(visit.language());
    let upcoming = upcoming_of(visit, fiche);
    let name = match fiche.names() {
        blank if blank.trim().is_empty() => {
            ClientTexts::in_language(visit.language()).no_name.to_owned()
        }
        name => name,
    };
    let here = format!("/clients/{}", fiche.id);
    let title = fill(text.title, "name", &name);
    let screen = EraseScreen {
        frame: visit.frame(&title, Section::Clients),
        text,
        is_overtaken: status == StatusCode::PRECONDITION_FAILED,
        action: visit.url(&format!("{here}/erase"), &[]),
        keep_url: visit.url(&here, &[]),
        expected: digest(&upcoming),
        more: match upcoming.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => fill(text.more, "count", &more.to_string()),
        },
        upcoming: upcoming.iter().take(NAMED_MAX).map(|id| name_appointment(visit, *id)).collect(),
    };
    respond(status, Privacy::Client, render(&screen))
}
