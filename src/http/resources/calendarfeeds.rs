//! Endpoints of calendar feeds: links by which calendar programs read an agenda. Reference 19,
//! 13.25.

use axum::http::StatusCode;
use axum::response::Response;
use utoipa::ToSchema;

use crate::domain::directory::feed_access::may_manage_feed;
use crate::domain::directory::roles::ProRole;
use crate::domain::records::calendarfeed::{Calendarfeed, FeedTarget};
use crate::domain::records::ids::{CalendarfeedId, ProId};
use crate::domain::state::command::{CalendarfeedChange, CalendarfeedStep, Caller, Command};
use crate::domain::state::group_state::GroupState;
use crate::engine::randomness::Randomness;
use crate::http::endpoint::{Answer, Body, Endpoint, EndpointPath, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{OWN_CALENDARS, Resource, Verb};
use crate::http::request::{GroupRequest, wrapped_object};
use crate::http::response::{HandlerResult, json_response, ok_response, to_json};
use crate::notify::feed_link::FeedSecret;
use crate::wire::calendarfeed::{
    CALENDARFEED, CalendarfeedAnswer, CalendarfeedsAnswer, FeedMaker, LinkedCalendarfeed,
};
use crate::wire::schema::{GivenId, one_of, schema_names, schema_of};

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/calendarfeeds");
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/calendarfeeds/{id}");
const RENEW: EndpointPath =
    EndpointPath::current("/api/v1/groups/{group_id}/calendarfeeds/{id}/renew");

const FEED: Shape = Shape::Named("Calendarfeed", schema_of::<CalendarfeedAnswer>);
const LINKED: Shape = Shape::Named("LinkedCalendarfeed", schema_of::<LinkedCalendarfeed>);

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::post(&[ALL], handler!(InGroup, make))
        .named("MakeCalendarfeed", "Make a link by which calendar programs read an agenda")
        .right(Resource::Calendarfeed, Verb::Make, OWN_CALENDARS)
        .idempotency_key(false)
        .body(Body::wrapped(Shape::Inline(schema_of::<CalendarfeedBody>)))
        .answers(&[Answer::json(201, "the feed with its link", LINKED)]),
    Endpoint::get(&[ALL], handler!(InGroup, list))
        .named("ListCalendarfeeds", "List the calendar feeds, without their links")
        .right(Resource::Calendarfeed, Verb::List, OWN_CALENDARS)
        .answers(&[Answer::json(
            200,
            "the calendar feeds",
            Shape::Named("Calendarfeeds", schema_of::<CalendarfeedsAnswer>),
        )]),
    Endpoint::post(&[RENEW], handler!(InGroup, renew))
        .named("RenewCalendarfeed", "Give a calendar feed another link, which ends the one before")
        .right(Resource::Calendarfeed, Verb::Change, OWN_CALENDARS)
        .idempotency_key(false)
        .without_body()
        .answers(&[Answer::json(200, "the feed with its new link", LINKED)]),
    Endpoint::delete(&[ONE], handler!(InGroup, revoke))
        .named("RevokeCalendarfeed", "Revoke a calendar feed")
        .right(Resource::Calendarfeed, Verb::Delete, OWN_CALENDARS)
        .answers(&[Answer::json(200, "the feed as it was", FEED)]),
];

schema_names! {
    /// The details of a feed.
    GivenDetails => one_of(["busy", "initials", "full", ""]);
}

/// The feed to make, of one calendar or of a professional's own.
#[derive(ToSchema)]
#[expect(dead_code, reason = "its members are read one by one")]
struct CalendarfeedBody {
    /// The calendar.
    #[schema(value_type = Option<GivenId>)]
    calendar_id: Option<u64>,
    /// The professional.
    #[schema(value_type = Option<GivenId>)]
    pro_id: Option<u64>,
    /// The details of each event: busy (by default), initials or full.
    #[schema(value_type = Option<GivenDetails>)]
    details: Option<String>,
}

/// POST /api/v1/groups/{group_id}/calendarfeeds. The link is answered this once. No answer is kept
/// for an Idempotency-Key, since it would hold the secret.
async fn make(request: GroupRequest) -> HandlerResult {
    let object = wrapped_object(&request.body, CALENDARFEED)?;
    let maker = FeedMaker {
        state: &request.state,
        directory: request.identity.directory(),
        sight: request.sight(),
        only: only_oneself(&request),
    };
    let (target, details) = maker.parse(object)?;
    let secret = draw_secret(&request.state);
    let secret_hash = secret.hash();
    let step = CalendarfeedStep::Make { target, details, secret_hash };
    write_link(&request, step, &secret, StatusCode::CREATED).await
}

/// GET /api/v1/groups/{group_id}/calendarfeeds: those that the caller may change.
async fn list(request: GroupRequest) -> HandlerResult {
    let feeds = request.state.calendarfeeds.iter().filter(|feed| manages(&request, feed.target));
    let directory = request.identity.directory();
    let records = feeds.map(|feed| CalendarfeedAnswer::new(feed, &request.state, directory));
    Ok(ok_response(&CalendarfeedsAnswer { records: records.collect() }))
}

/// POST /api/v1/groups/{group_id}/calendarfeeds/{id}/renew. The feed is that of its renewer then.
async fn renew(request: GroupRequest) -> HandlerResult {
    let id = find(&request)?.id;
    let secret = draw_secret(&request.state);
    let step = CalendarfeedStep::Renew { id, secret_hash: secret.hash() };
    write_link(&request, step, &secret, StatusCode::OK).await
}

/// DELETE /api/v1/groups/{group_id}/calendarfeeds/{id}.
async fn revoke(request: GroupRequest) -> HandlerResult {
    let feed = find(&request)?;
    let directory = request.identity.directory();
    let answer = CalendarfeedAnswer::new(feed, &request.state, directory);
    request.write(command(&request, CalendarfeedStep::Revoke { id: feed.id })).await?;
    Ok(ok_response(&answer))
}

/// Draws the secret of a new link.
pub(crate) fn draw_secret(state: &GroupState) -> FeedSecret {
    FeedSecret::new(state.catalogue.group.id, Randomness::from_os().bytes())
}

/// Changes a feed, and answers it with its link.
async fn write_link(
    request: &GroupRequest,
    step: CalendarfeedStep,
    secret: &FeedSecret,
    status: StatusCode,
) -> Result<Response, ApiError> {
    let done = request.write(command(request, step)).await?;
    let state = &done.group_state;
    let feed = CalendarfeedId::new(done.object).and_then(|id| state.calendarfeeds.get(id));
    let feed = feed.ok_or_else(ApiError::no_result)?;
    let answer = LinkedCalendarfeed {
        calendarfeed: CalendarfeedAnswer::new(feed, state, request.identity.directory()),
        url: secret.url(&request.server.gateways.public_url),
    };
    Ok(json_response(status, to_json(&answer)))
}

fn command(request: &GroupRequest, step: CalendarfeedStep) -> Command {
    let author = request.identity.author();
    Command::ChangeCalendarfeed(CalendarfeedChange { author, step })
}

/// Finds the feed of the path.
///
/// # Errors
/// 404 for one that there is not, or that the caller may not change.
fn find(request: &GroupRequest) -> Result<&Calendarfeed, ApiError> {
    let id = request.id(CalendarfeedId::new)?;
    let feed = request.state.calendarfeeds.get(id).filter(|feed| manages(request, feed.target));
    Ok(feed.ok_or_else(ApiError::no_result)?)
}

/// Whether the caller may change the feeds of a target.
fn manages(request: &GroupRequest, target: FeedTarget) -> bool {
    match request.caller() {
        Caller::Pro(id) => may_manage_feed(request.role(), *id, target),
        // The operator. Others have no right to the endpoints.
        Caller::Application | Caller::Account(_) => true,
    }
}

/// The caller, if it sees no other professional of the group.
fn only_oneself(request: &GroupRequest) -> Option<ProId> {
    match (request.caller(), request.role()) {
        (Caller::Pro(id), ProRole::Reception | ProRole::Professional(_)) => Some(*id),
        (Caller::Pro(_) | Caller::Application | Caller::Account(_), _) => None,
    }
}
