//! One webhook: its form, its secret, a test, and the last answers of its receiver.
//! Reference 15.20.

use std::sync::Arc;

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::ids::WebhookId;
use crate::domain::state::webhooks::settlement::{WebhookCommand, WebhookFields, WebhookStart};
use crate::domain::state::webhooks::webhook::{AttemptResult, Webhook, WebhookAnswer};
use crate::engine::Rejection;
use crate::engine::webhooks::TestOutcome;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::history_lines::when;
use crate::web::practice::message;
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::settings::part::Part;
use crate::web::practice::settings::webhooks_screen::{
    KindBox, failed, find_made, is_named, kind_boxes, path_of, read_fields, show_secret,
    standing_in_words, write,
};
use crate::web::practice::texts::webhooks::WebhooksTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::params::Params;

#[derive(Template)]
#[template(path = "web/practice/webhook.html")]
struct WebhookScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static WebhooksTexts,
    back_url: String,
    action: String,
    is_saved: bool,
    tested: Option<TestResult>,
    standing: String,
    is_on: bool,
    url: String,
    kinds: Vec<KindBox>,
    fault: &'static str,
    /// The sentence about the secret before; empty without one.
    former: String,
    answers: Vec<AnswerRow>,
}

/// The result of a test in words.
struct TestResult {
    is_taken: bool,
    words: String,
}

/// The end of an attempt in words.
struct AnswerRow {
    when: String,
    answer: String,
    duration: String,
}

/// Effect of a form, for the screen after it.
#[derive(Clone, Copy, Default)]
struct Shown<'s> {
    given: Option<&'s Params>,
    fault: &'static str,
    tested: Option<TestOutcome>,
}

/// GET /p/{urlname}/settings/webhooks/{id}.
pub(crate) async fn show(Path(path): Path<RecordPath>, visit: ProVisit) -> Response {
    match find(&visit, &path) {
        Some(webhook) => respond_with_webhook(&visit, &webhook, StatusCode::OK, Shown::default()),
        None => message::not_found(&visit.request),
    }
}

/// POST /p/{urlname}/settings/webhooks/{id}: the button that was pressed says what is done.
pub(crate) async fn change(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let Some(webhook) = find(&visit, &path) else { return message::not_found(&visit.request) };
    let id = webhook.id;
    let fields = match given.value("do").unwrap_or_default() {
        "test" => return test(&visit, &webhook).await,
        "rotate" => return rotate(&visit, id).await,
        "remove" => return remove(&visit, id).await,
        "end_former" => return settle(&visit, WebhookCommand::EndFormerSecret(id)).await,
        "on" => WebhookFields { active: Some(true), ..WebhookFields::default() },
        "off" => WebhookFields { active: Some(false), ..WebhookFields::default() },
        "again" => {
            let begin = WebhookStart::After(visit.state.history.feed_begin());
            WebhookFields { since: Some(begin), ..WebhookFields::default() }
        }
        _ => match read_fields(&visit, &given) {
            Some(fields) => fields,
            None => {
                let fault = WebhooksTexts::in_language(visit.language()).wrong_url;
                let shown = Shown { given: Some(&given), fault, tested: None };
                return respond_with_webhook(&visit, &webhook, StatusCode::BAD_REQUEST, shown);
            }
        },
    };
    settle(&visit, WebhookCommand::Put { id: Some(id), fields }).await
}

fn find(visit: &ProVisit, path: &RecordPath) -> Option<Arc<Webhook>> {
    visit.state.webhooks.get(path.id(WebhookId::new)?).cloned()
}

/// Sends a command, and leads back to the screen of its webhook.
async fn settle(visit: &ProVisit, command: WebhookCommand) -> Response {
    match write(visit, command).await {
        Ok(done) => match WebhookId::new(done.object) {
            Some(id) => redirect(&visit.url(&path_of(id), &[("saved", "1")])),
            None => redirect(&visit.url(&Part::Webhooks.path(), &[])),
        },
        Err(rejection) => failed(visit, rejection),
    }
}

async fn rotate(visit: &ProVisit, id: WebhookId) -> Response {
    match write(visit, WebhookCommand::RotateSecret(id)).await {
        Ok(done) => match find_made(&done) {
            Some(webhook) => show_secret(visit, webhook),
            None => message::not_found(&visit.request),
        },
        Err(rejection) => failed(visit, rejection),
    }
}

async fn remove(visit: &ProVisit, id: WebhookId) -> Response {
    match write(visit, WebhookCommand::Remove(id)).await {
        // A refusal says that it is removed already.
        Ok(_) | Err(Rejection::Refused(_)) => {
            redirect(&visit.url(&Part::Webhooks.path(), &[("removed", "1")]))
        }
        Err(rejection) => failed(visit, rejection),
    }
}

async fn test(visit: &ProVisit, webhook: &Webhook) -> Response {
    let server = &visit.request.pages.server;
    let sender = server.webhook_sender();
    let tested = sender.send_test(&server.engine, visit.group().id, webhook).await;
    let shown = Shown { tested: Some(tested), ..Shown::default() };
    respond_with_webhook(visit, webhook, StatusCode::OK, shown)
}

fn respond_with_webhook(
    visit: &ProVisit,
    webhook: &Webhook,
    status: StatusCode,
    shown: Shown<'_>,
) -> Response {
    let text = WebhooksTexts::in_language(visit.language());
    let title = fill(text.title, "id", &webhook.id.to_string());
    let Shown { given, fault, tested } = shown;
    let chosen = given.map(|given| given.list("objects"));
    let typed = given.and_then(|given| given.value("url"));
    let steady_now = visit.request.pages.server.engine.steady_now();
    let former = webhook.former.as_ref().filter(|former| steady_now < former.ends_at);
    let row = |answer: &WebhookAnswer| AnswerRow {
        when: when(visit, answer.at),
        answer: result_in_words(text, answer.result),
        duration: fill(text.milliseconds, "count", &answer.milliseconds.to_string()),
    };
    let screen = WebhookScreen {
        frame: visit.frame(&title, Section::Settings),
        text,
        back_url: visit.url(&Part::Webhooks.path(), &[]),
        action: visit.url(&path_of(webhook.id), &[]),
        is_saved: visit.request.params.value("saved").is_some(),
        tested: tested.map(|tested| test_in_words(text, tested)),
        standing: standing_in_words(visit, webhook),
        is_on: webhook.is_on(),
        url: typed.unwrap_or(webhook.url.as_str()).to_owned(),
        kinds: kind_boxes(visit, |kind| match &chosen {
            Some(chosen) => chosen.contains(&kind.name()),
            None => is_named(&webhook.objects, kind),
        }),
        fault,
        former: former.map_or_else(String::new, |former| {
            fill(text.former, "when", &when(visit, former.ends_at))
        }),
        answers: webhook.progress.answers.iter().rev().map(row).collect(),
    };
    respond(status, Privacy::Client, render(&screen))
}

fn test_in_words(text: &WebhooksTexts, tested: TestOutcome) -> TestResult {
    let TestOutcome::Answered(answer) = tested else {
        return TestResult { is_taken: false, words: text.busy.to_owned() };
    };
    let words = result_in_words(text, answer.result);
    let is_taken = answer.result.is_success();
    let words = match answer.result {
        AttemptResult::Status(_) if is_taken => fill(text.test_taken, "status", &words),
        AttemptResult::Status(_) => fill(text.test_refused, "status", &words),
        AttemptResult::Unresolved
        | AttemptResult::AddressRefused
        | AttemptResult::Unreachable
        | AttemptResult::Tls
        | AttemptResult::TimedOut
        | AttemptResult::Broken => fill(text.test_failed, "why", &words),
    };
    TestResult { is_taken, words }
}

fn result_in_words(text: &WebhooksTexts, result: AttemptResult) -> String {
    let words = match result {
        AttemptResult::Status(status) => return status.to_string(),
        AttemptResult::Unresolved => text.unresolved,
        AttemptResult::AddressRefused => text.address_refused,
        AttemptResult::Unreachable => text.unreachable,
        AttemptResult::Tls => text.tls,
        AttemptResult::TimedOut => text.timed_out,
        AttemptResult::Broken => text.broken,
    };
    words.to_owned()
}
