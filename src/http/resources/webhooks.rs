//! Endpoints of the webhooks of a group, for administrators. Reference 18.4, 13.25.

use std::sync::Arc;

use crate::domain::records::ids::WebhookId;
use crate::domain::state::command::Command;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::cursor::GoneCursor;
use crate::domain::state::webhooks::settlement::{WebhookCommand, WebhookFields, WebhookStart};
use crate::domain::state::webhooks::webhook::Webhook;
use crate::engine::webhooks::TestOutcome;
use crate::http::endpoint::{Answer, Body, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{ADMINISTRATORS, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::resources::changes::gone_cursor;
use crate::http::response::{HandlerResult, json_response, ok_response, to_json};
use crate::wire::changes::Since;
use crate::wire::schema::schema_of;
use crate::wire::webhook::{
    AnswerView, WebhookBody, WebhookView, WebhooksAnswer, details_schema, parse_webhook,
    secret_schema, with_answers, with_secret,
};

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/webhooks");
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/webhooks/{id}");
const SECRET: EndpointPath =
    EndpointPath::current("/api/v1/groups/{group_id}/webhooks/{id}/secret");
const TEST: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/webhooks/{id}/test");

const BODY: Body = Body::plain(schema_of::<WebhookBody>);
const WEBHOOK: Shape = Shape::Named("Webhook", schema_of::<WebhookView>);
const WITH_SECRET: Shape = Shape::Named("WebhookWithSecret", secret_schema);

/// The endpoints of this file. A secret is in no recorded answer, so no Idempotency-Key is taken.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::post(&[ALL], handler!(InGroup, make))
        .named("MakeWebhook", "Make a webhook, and show its secret once")
        .right(Resource::Webhook, Verb::Make, ADMINISTRATORS)
        .idempotency_key(false)
        .body(BODY)
        .answers(&[Answer::json(201, "the webhook with its secret", WITH_SECRET)]),
    Endpoint::get(&[ALL], handler!(InGroup, list))
        .named("ListWebhooks", "List the webhooks of a group")
        .right(Resource::Webhook, Verb::List, ADMINISTRATORS)
        .answers(&[Answer::json(
            200,
            "the webhooks",
            Shape::Named("Webhooks", schema_of::<WebhooksAnswer>),
        )]),
    Endpoint::get(&[ONE], handler!(InGroup, show))
        .named("ShowWebhook", "Show a webhook with its last answers")
        .right(Resource::Webhook, Verb::Show, ADMINISTRATORS)
        .answers(&[Answer::json(
            200,
            "the webhook",
            Shape::Named("WebhookDetails", details_schema),
        )]),
    Endpoint::put(&[ONE], handler!(InGroup, change))
        .named("ChangeWebhook", "Change a webhook, turn it on or off, or set its place")
        .right(Resource::Webhook, Verb::Change, ADMINISTRATORS)
        .without_if_match()
        .body(BODY)
        .answers(&[Answer::json(200, "the webhook", WEBHOOK)]),
    Endpoint::delete(&[ONE], handler!(InGroup, delete))
        .named("DeleteWebhook", "Remove a webhook")
        .right(Resource::Webhook, Verb::Delete, ADMINISTRATORS)
        .without_body()
        .without_if_match()
        .answers(&[Answer::json(200, "the webhook as it was", WEBHOOK)]),
    Endpoint::post(&[SECRET], handler!(InGroup, rotate_secret))
        .named("RotateWebhookSecret", "Make another secret, and show it once")
        .right(Resource::Webhook, Verb::Change, ADMINISTRATORS)
        .idempotency_key(false)
        .without_body()
        .answers(&[Answer::json(200, "the webhook with its new secret", WITH_SECRET)]),
    Endpoint::delete(&[SECRET], handler!(InGroup, end_former_secret))
        .named("EndWebhookSecret", "End the secret before at once")
        .right(Resource::Webhook, Verb::Change, ADMINISTRATORS)
        .without_body()
        .without_if_match()
        .answers(&[Answer::json(200, "the webhook", WEBHOOK)]),
    Endpoint::post(&[TEST], handler!(InGroup, test))
        .named("TestWebhook", "Send a test to the receiver and show what came back")
        .right(Resource::Webhook, Verb::Change, ADMINISTRATORS)
        .idempotency_key(false)
        .without_body()
        .answers(&[Answer::json(
            200,
            "the answer of the receiver",
            Shape::Named("WebhookTest", schema_of::<AnswerView>),
        )]),
];

/// Finds the webhook of the path.
///
/// # Errors
/// 404 if the group has none of this number.
fn find(request: &GroupRequest) -> Result<&Arc<Webhook>, ApiError> {
    let id = request.id(WebhookId::new)?;
    request.state.webhooks.get(id).ok_or_else(ApiError::no_result)
}

/// Reads the fields of the body.
///
/// # Errors
/// A fault for each wrong field; 410 for a place that the feed no longer has.
fn parse(request: &GroupRequest, is_new: bool) -> Result<WebhookFields, ApiError> {
    let allowed = request.server.webhooks.allowed();
    let given = parse_webhook(&request.body, is_new, |url| allowed.check(url))?;
    let since = match given.since {
        None => None,
        Some(since) => Some(find_start(&request.state, since)?),
    };
    Ok(WebhookFields { since, ..given.fields })
}

/// Returns the place from which a webhook is to go on.
///
/// # Errors
/// 410 for a place that the feed no longer has.
pub(crate) fn find_start(state: &GroupState, since: Since) -> Result<WebhookStart, ApiError> {
    match since {
        Since::Begin => Ok(WebhookStart::After(state.history.feed_begin())),
        Since::Now => Ok(WebhookStart::Now),
        Since::Place(cursor) => {
            let place = state.history.find_place(cursor);
            place.map(WebhookStart::After).map_err(|GoneCursor| gone_cursor())
        }
    }
}

/// Sends a command to the group, and returns the webhook after it with its state.
async fn write(
    request: &GroupRequest,
    command: WebhookCommand,
) -> Result<(Arc<Webhook>, Arc<GroupState>), ApiError> {
    let done = request.write(Command::Webhook(Box::new(command))).await?;
    let id = WebhookId::new(done.object).ok_or_else(ApiError::no_result)?;
    let webhook = done.group_state.webhooks.get(id).ok_or_else(ApiError::no_result)?;
    Ok((Arc::clone(webhook), done.group_state))
}

fn view(request: &GroupRequest, webhook: &Webhook, state: &GroupState) -> WebhookView {
    WebhookView::new(webhook, state, request.server.engine.steady_now())
}

/// POST /api/v1/groups/{group_id}/webhooks.
async fn make(request: GroupRequest) -> HandlerResult {
    let fields = parse(&request, true)?;
    let (webhook, state) = write(&request, WebhookCommand::Put { id: None, fields }).await?;
    let steady_now = request.server.engine.steady_now();
    let answer = with_secret(&webhook, &state, steady_now);
    Ok(json_response(axum::http::StatusCode::CREATED, to_json(&answer)))
}

/// GET /api/v1/groups/{group_id}/webhooks.
async fn list(request: GroupRequest) -> HandlerResult {
    let state = &request.state;
    let records = state.webhooks.iter().map(|webhook| view(&request, webhook, state)).collect();
    Ok(ok_response(&WebhooksAnswer { records }))
}

/// GET /api/v1/groups/{group_id}/webhooks/{id}.
async fn show(request: GroupRequest) -> HandlerResult {
    let webhook = find(&request)?;
    let steady_now = request.server.engine.steady_now();
    Ok(ok_response(&with_answers(webhook, &request.state, steady_now)))
}

/// PUT /api/v1/groups/{group_id}/webhooks/{id}. What it does not name stays.
async fn change(request: GroupRequest) -> HandlerResult {
    let id = find(&request)?.id;
    let fields = parse(&request, false)?;
    let (webhook, state) = write(&request, WebhookCommand::Put { id: Some(id), fields }).await?;
    Ok(ok_response(&view(&request, &webhook, &state)))
}

/// DELETE /api/v1/groups/{group_id}/webhooks/{id}. An attempt under way may still arrive.
async fn delete(request: GroupRequest) -> HandlerResult {
    let id = find(&request)?.id;
    let command = Command::Webhook(Box::new(WebhookCommand::Remove(id)));
    let done = request.write(command).await?;
    let webhook = done.before.webhooks.get(id).ok_or_else(ApiError::no_result)?;
    Ok(ok_response(&view(&request, webhook, &done.before)))
}

/// POST /api/v1/groups/{group_id}/webhooks/{id}/secret. The secret before signs for a day more.
async fn rotate_secret(request: GroupRequest) -> HandlerResult {
    let id = find(&request)?.id;
    let (webhook, state) = write(&request, WebhookCommand::RotateSecret(id)).await?;
    let steady_now = request.server.engine.steady_now();
    Ok(ok_response(&with_secret(&webhook, &state, steady_now)))
}

/// DELETE /api/v1/groups/{group_id}/webhooks/{id}/secret.
async fn end_former_secret(request: GroupRequest) -> HandlerResult {
    let id = find(&request)?.id;
    let (webhook, state) = write(&request, WebhookCommand::EndFormerSecret(id)).await?;
    Ok(ok_response(&view(&request, &webhook, &state)))
}

/// POST /api/v1/groups/{group_id}/webhooks/{id}/test. It takes 10 seconds at most once it has its
/// turn, and changes nothing.
async fn test(request: GroupRequest) -> HandlerResult {
    let webhook = Arc::clone(find(&request)?);
    let server = &request.server;
    let group = request.state.catalogue.group.id;
    match server.webhooks.send_test(&server.engine, group, &webhook).await {
        TestOutcome::Answered(answer) => Ok(ok_response(&AnswerView::new(&answer))),
        TestOutcome::Busy | TestOutcome::NotDeciding => Err(ApiError::overloaded()),
    }
}
