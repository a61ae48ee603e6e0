//! The webhooks of a group, and the form of a new one. Reference 15.20.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value};

use crate::domain::records::ids::WebhookId;
use crate::domain::state::command::Command;
use crate::domain::state::history::row::ObjectKind;
use crate::domain::state::refusal::Refusal;
use crate::domain::state::webhooks::settlement::{WebhookCommand, WebhookFields};
use crate::domain::state::webhooks::webhook::{OffReason, WatchedKinds, Webhook};
use crate::engine::{Committed, Rejection};
use crate::http::ApiError;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::history_lines::when;
use crate::web::practice::message;
use crate::web::practice::settings::part::Part;
use crate::web::practice::texts::history::HistoryTexts;
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::practice::texts::webhooks::WebhooksTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::field::Audience;
use crate::wire::params::Params;
use crate::wire::webhook::{parse_webhook, webhook_kinds};

#[derive(Template)]
#[template(path = "web/practice/webhooks.html")]
struct WebhooksScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static WebhooksTexts,
    settings: &'static SettingsTexts,
    back_url: String,
    action: String,
    is_removed: bool,
    rows: Vec<WebhookRow>,
    url: &'v str,
    kinds: Vec<KindBox>,
    fault: &'static str,
    form_fault: &'static str,
}

/// A webhook of the list.
struct WebhookRow {
    id: u64,
    url: String,
    standing: String,
    open_url: String,
}

/// A kind of object to tick.
pub(super) struct KindBox {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) is_chosen: bool,
}

#[derive(Template)]
#[template(path = "web/practice/webhook_secret.html")]
struct SecretScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static WebhooksTexts,
    secret: String,
    next: String,
}

/// GET /p/{urlname}/settings/webhooks.
pub(crate) async fn show(visit: ProVisit) -> Response {
    respond_with_list(&visit, StatusCode::OK, None, "", "")
}

/// POST /p/{urlname}/settings/webhooks: makes a webhook, and shows its secret once.
pub(crate) async fn make(form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let text = WebhooksTexts::in_language(visit.language());
    let Some(fields) = read_fields(&visit, &given) else {
        let status = StatusCode::BAD_REQUEST;
        return respond_with_list(&visit, status, Some(&given), text.wrong_url, "");
    };
    match write(&visit, WebhookCommand::Put { id: None, fields }).await {
        Ok(done) => match find_made(&done) {
            Some(webhook) => show_secret(&visit, webhook),
            None => redirect(&visit.url(&Part::Webhooks.path(), &[])),
        },
        Err(Rejection::Refused(_)) => {
            respond_with_list(&visit, StatusCode::CONFLICT, Some(&given), "", text.too_many)
        }
        Err(rejection) => failed(&visit, rejection),
    }
}

/// Returns the webhook that a command has made or changed.
pub(super) fn find_made(done: &Committed) -> Option<&Webhook> {
    let id = WebhookId::new(done.object)?;
    done.group_state.webhooks.get(id).map(AsRef::as_ref)
}

/// The screen with a secret, which is shown this once.
pub(super) fn show_secret(visit: &ProVisit, webhook: &Webhook) -> Response {
    let text = WebhooksTexts::in_language(visit.language());
    let screen = SecretScreen {
        frame: visit.frame(text.made_title, Section::Settings),
        text,
        secret: webhook.secret.to_text(),
        next: visit.url(&path_of(webhook.id), &[]),
    };
    respond(StatusCode::OK, Privacy::Client, render(&screen))
}

/// The path of the screen of one webhook.
pub(super) fn path_of(id: WebhookId) -> String {
    format!("{}/{id}", Part::Webhooks.path())
}

/// Sends a command about webhooks to the group.
pub(super) async fn write(
    visit: &ProVisit,
    command: WebhookCommand,
) -> Result<Committed, Rejection> {
    let engine = &visit.request.pages.server.engine;
    let command = Command::Webhook(Box::new(command));
    engine.write(visit.group().id, visit.author(), command).await
}

/// The page about a command that was rejected.
pub(super) fn failed(visit: &ProVisit, rejection: Rejection) -> Response {
    match rejection {
        Rejection::Refused(refusals) if matches!(refusals[..], [Refusal::NoResult]) => {
            message::not_found(&visit.request)
        }
        other => {
            let error = ApiError::from_rejection(other, visit.zone(), Audience::Pro);
            message::failed(&visit.request, &error)
        }
    }
}

/// Reads the address and the kinds of a form; `None` if the address is wrong.
pub(super) fn read_fields(visit: &ProVisit, given: &Params) -> Option<WebhookFields> {
    let mut object = Map::new();
    object.insert("url".into(), given.value("url")?.into());
    let objects: Vec<Value> = given.list("objects").into_iter().map(Value::from).collect();
    object.insert("objects".into(), objects.into());
    let allowed = visit.request.pages.server.webhook_sender();
    let parsed = parse_webhook(&object, true, |url| allowed.allowed().check(url));
    Some(parsed.ok()?.fields)
}

/// The kinds of objects to tick.
pub(super) fn kind_boxes(visit: &ProVisit, is_chosen: impl Fn(ObjectKind) -> bool) -> Vec<KindBox> {
    let words = HistoryTexts::in_language(visit.language());
    let label = |kind| match kind {
        ObjectKind::Group => words.group,
        ObjectKind::Calendar => words.calendar,
        ObjectKind::Calendarset => words.calendarset,
        ObjectKind::Intervention => words.intervention,
        ObjectKind::Interventionset => words.interventionset,
        ObjectKind::Customfield => words.customfield,
        ObjectKind::Fiche => words.fiche,
        ObjectKind::Fiches => words.fiches,
        ObjectKind::Vevent => words.vevent,
        ObjectKind::Webhook => words.webhook,
        ObjectKind::Calendarfeed => words.calendarfeed,
        ObjectKind::Account => words.account,
    };
    let boxed = |kind: ObjectKind| KindBox {
        name: kind.name(),
        label: label(kind),
        is_chosen: is_chosen(kind),
    };
    webhook_kinds().map(boxed).collect()
}

/// Whether a kind is named by a webhook. One without kinds gets all, and has none ticked.
pub(super) fn is_named(kinds: &WatchedKinds, kind: ObjectKind) -> bool {
    kinds.kinds().contains(&kind)
}

/// Whether a webhook is on, in words.
pub(super) fn standing_in_words(visit: &ProVisit, webhook: &Webhook) -> String {
    let text = WebhooksTexts::in_language(visit.language());
    let Some(off) = webhook.off else {
        return match webhook.progress.failing {
            Some(failing) => {
                let words = fill(text.failing, "count", &failing.tries.to_string());
                fill(&words, "when", &when(visit, failing.not_before))
            }
            None => text.is_on.to_owned(),
        };
    };
    let words = match off.reason {
        OffReason::ByHand => text.by_hand,
        OffReason::Failed => text.failed,
        OffReason::Gone => text.gone,
    };
    fill(words, "when", &when(visit, off.since))
}

fn respond_with_list(
    visit: &ProVisit,
    status: StatusCode,
    given: Option<&Params>,
    fault: &'static str,
    form_fault: &'static str,
) -> Response {
    let text = WebhooksTexts::in_language(visit.language());
    let settings = SettingsTexts::in_language(visit.language());
    let row = |webhook: &Webhook| WebhookRow {
        id: webhook.id.number(),
        url: webhook.url.as_str().to_owned(),
        standing: standing_in_words(visit, webhook),
        open_url: visit.url(&path_of(webhook.id), &[]),
    };
    let chosen = given.map(|given| given.list("objects")).unwrap_or_default();
    let screen = WebhooksScreen {
        frame: visit.frame(settings.webhooks, Section::Settings),
        text,
        settings,
        back_url: visit.url(Section::Settings.path(), &[]),
        action: visit.url(&Part::Webhooks.path(), &[]),
        is_removed: visit.request.params.value("removed").is_some(),
        rows: visit.state.webhooks.iter().map(|webhook| row(webhook)).collect(),
        url: given.and_then(|given| given.value("url")).unwrap_or_default(),
        kinds: kind_boxes(visit, |kind| chosen.contains(&kind.name())),
        fault,
        form_fault,
    };
    respond(status, Privacy::Client, render(&screen))
}
