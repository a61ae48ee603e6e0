//! The keys of a group: public ones of this group alone are made and revoked here. Reference 15.15.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::domain::directory::access::{AccessRefusal, ChangeAccess};
use crate::domain::directory::apikeys::Apikey;
use crate::domain::directory::group_keys::{ChangeGroupKeys, GROUP_KEY_ORIGINS_MAX, is_own_key};
use crate::domain::records::author::KeyId;
use crate::domain::records::site_origin::SiteOrigin;
use crate::domain::records::text::Text;
use crate::domain::time::zone::utc_of;
use crate::engine::AccessError;
use crate::engine::randomness::Randomness;
use crate::web::format;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::settings::part::Part;
use crate::web::practice::texts::keys::KeysTexts;
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::params::Params;

#[derive(Template)]
#[template(path = "web/practice/keys.html")]
struct KeysScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static KeysTexts,
    settings: &'static SettingsTexts,
    back_url: String,
    action: String,
    rows: Vec<KeyRow>,
    is_revoked: bool,
    label: &'v str,
    origins: &'v str,
    faults: Faults,
}

/// The sentences of what is wrong; empty without a fault.
#[derive(Clone, Copy, Default)]
struct Faults {
    label: &'static str,
    origins: &'static str,
    form: &'static str,
}

struct KeyRow {
    /// The SHA-256 in hexadecimal digits; empty for a key of the operator.
    hash: String,
    id: String,
    label: String,
    id_words: String,
    used: String,
    origins: Vec<String>,
}

#[derive(Template)]
#[template(path = "web/practice/key_made.html")]
struct KeyMadeScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static KeysTexts,
    key: String,
    next: String,
}

/// GET /p/{urlname}/settings/keys.
pub(crate) async fn show(visit: ProVisit) -> Response {
    respond_with_list(&visit, StatusCode::OK, None, Faults::default())
}

/// POST /p/{urlname}/settings/keys: makes a key, or revokes the one that `revoke` names.
pub(crate) async fn change(form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    match given.value("revoke") {
        Some(hash) => revoke(&visit, hash).await,
        None => make(&visit, &given).await,
    }
}

async fn revoke(visit: &ProVisit, hash: &str) -> Response {
    let bytes = HEXLOWER.decode(hash.as_bytes()).unwrap_or_default();
    let Ok(hash) = bytes.try_into() else { return message::not_found(&visit.request) };
    let change = ChangeGroupKeys::Revoke { group: visit.group().id, hash };
    match send(visit, change).await {
        Ok(()) => redirect(&visit.url(&Part::Keys.path(), &[("revoked", "1")])),
        // It is revoked already, or the operator's.
        Err(AccessError::Refused(AccessRefusal::GroupKey(_))) => {
            redirect(&visit.url(&Part::Keys.path(), &[]))
        }
        Err(error) => message::not_changed(&visit.request, error),
    }
}

async fn make(visit: &ProVisit, given: &Params) -> Response {
    let text = KeysTexts::in_language(visit.language());
    let label = given.value("label").unwrap_or_default().trim();
    let label = Text::new(label).ok().filter(|label| !label.is_blank());
    let origins = read_origins(given.value("origins").unwrap_or_default());
    let (Some(label), Some(origins)) = (&label, &origins) else {
        let faults = Faults {
            label: if label.is_none() { text.wrong_label } else { "" },
            origins: if origins.is_none() { text.wrong_origins } else { "" },
            form: "",
        };
        return respond_with_list(visit, StatusCode::BAD_REQUEST, Some(given), faults);
    };
    let mut draws = Randomness::from_os();
    let key = format!("{}{}", draws.key().as_str(), draws.key().as_str());
    let change = ChangeGroupKeys::Add {
        group: visit.group().id,
        hash: Sha256::digest(&key).into(),
        label: label.clone(),
        origins: origins.clone(),
    };
    match send(visit, change).await {
        Ok(()) => {
            let screen = KeyMadeScreen {
                frame: visit.frame(text.made_title, Section::Settings),
                text,
                key,
                next: visit.url(&Part::Keys.path(), &[]),
            };
            respond(StatusCode::OK, Privacy::Client, render(&screen))
        }
        Err(AccessError::Refused(AccessRefusal::GroupKey(_))) => {
            let faults = Faults { form: text.too_many, ..Faults::default() };
            respond_with_list(visit, StatusCode::CONFLICT, Some(given), faults)
        }
        Err(error) => message::not_changed(&visit.request, error),
    }
}

async fn send(visit: &ProVisit, change: ChangeGroupKeys) -> Result<(), AccessError> {
    let engine = &visit.request.pages.server.engine;
    engine.change_access(Some(visit.author()), ChangeAccess::ChangeGroupKeys(change)).await
}

/// Returns the origins of a text, one a line; `None` if one is wrong or there are too many.
fn read_origins(text: &str) -> Option<Vec<SiteOrigin>> {
    let mut origins = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if origins.len() == GROUP_KEY_ORIGINS_MAX {
            return None;
        }
        origins.push(SiteOrigin::new(line).ok()?);
    }
    Some(origins)
}

fn respond_with_list(
    visit: &ProVisit,
    status: StatusCode,
    given: Option<&Params>,
    faults: Faults,
) -> Response {
    let typed = |name: &str| given.and_then(|given| given.value(name)).unwrap_or_default();
    let text = KeysTexts::in_language(visit.language());
    let settings = SettingsTexts::in_language(visit.language());
    let mut rows = Vec::new();
    for (hash, apikey) in visit.request.directory.apikeys.iter() {
        if apikey.covers(visit.group().id) {
            rows.push(make_row(visit, text, hash, apikey));
        }
    }
    let screen = KeysScreen {
        frame: visit.frame(settings.keys, Section::Settings),
        text,
        settings,
        back_url: visit.url(Section::Settings.path(), &[]),
        action: visit.url(&Part::Keys.path(), &[]),
        rows,
        is_revoked: visit.request.params.value("revoked").is_some(),
        label: typed("label"),
        origins: typed("origins"),
        faults,
    };
    respond(status, Privacy::Client, render(&screen))
}

/// Returns a key in words. The day of its last use is one of UTC.
fn make_row(visit: &ProVisit, text: &KeysTexts, hash: &[u8; 32], apikey: &Apikey) -> KeyRow {
    let is_own = is_own_key(apikey, visit.group().id);
    let label = apikey.label.as_str();
    let id = KeyId::of_hash(hash).to_string();
    let used = match visit.request.directory.keys_used.get(hash) {
        Some(day) => {
            let day = format::date(visit.language(), utc_of(*day).day());
            fill(text.used, "day", &day)
        }
        None => text.unused.to_owned(),
    };
    KeyRow {
        hash: if is_own { HEXLOWER.encode(hash) } else { String::new() },
        id_words: fill(text.id, "id", &id),
        id,
        label: if apikey.label.is_blank() { text.unnamed.to_owned() } else { label.to_owned() },
        used,
        origins: apikey.origins.iter().map(|origin| origin.as_str().to_owned()).collect(),
    }
}
