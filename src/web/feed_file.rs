//! The file of a calendar feed, for calendar programs that hold its secret. Reference 19.3.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::{
    CONTENT_DISPOSITION, CONTENT_TYPE, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};

use crate::domain::records::calendarfeed::FeedDetails;
use crate::domain::records::ids::CalendarId;
use crate::domain::state::agenda_window::{Agenda, TooManyOccurrences};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::http::answer::entity_tag::{NamedTags, make_tag_of_hash, with_tag};
use crate::http::resources::pagination::{ListBody, ListFrame};
use crate::http::{ApiError, ClientAddress, Server};
use crate::notify::feed_file::{FILE_END, FeedFile, feed_window};
use crate::notify::feed_link;
use crate::web::pages::Pages;
use crate::wire::agenda::too_many_occurrences;

/// Cost of an event in the units of [`crate::http::limits::blocking_pool`]: it is written twice.
const EVENT_COST: i64 = 200;
/// Maximum cost of a file that is made on a thread that serves connections.
const INLINE_COST_MAX: i64 = 4_000;
/// Size up to which a file is kept in memory from the making of its tag on. A longer one is written
/// anew, part by part, while the client reads.
const KEPT_BYTES_MAX: usize = 256 * 1_024;
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// A feed as its link shows it at this moment.
struct ShownFeed {
    state: Arc<GroupState>,
    /// Live calendars, at least one.
    calendars: Vec<CalendarId>,
    details: FeedDetails,
    secret_hash: [u8; 32],
}

/// A file with its tag.
struct TaggedFile {
    file: FeedFile,
    tag: String,
    /// The whole file, unless it is long.
    bytes: Option<Vec<u8>>,
}

/// GET /ics/{secret}.ics. It needs no key. The answer to a link that was revoked is that to one
/// which never was.
pub(crate) async fn show(
    State(pages): State<Arc<Pages>>,
    Extension(ClientAddress(from)): Extension<ClientAddress>,
    name: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Response {
    let server = &pages.server;
    let now = server.engine.clock().now();
    let secret = match &name {
        Ok(Path(name)) => name.strip_suffix(".ics").unwrap_or_default(),
        Err(_) => "",
    };
    let Some(feed) = find_feed(server, secret) else {
        let wrong = server.feed_limit.count_wrong(from, now).err();
        return wrong.unwrap_or_else(ApiError::no_result).into_response();
    };
    if let Err(error) = server.feed_limit.count_read(&feed.secret_hash, now) {
        return error.into_response();
    }
    match make_file(server, feed, now).await {
        Ok(made) => respond(server, made, &headers, from).into_response(),
        Err(error) => error.into_response(),
    }
}

/// Finds the feed of a secret, which names its group.
fn find_feed(server: &Server, secret: &str) -> Option<ShownFeed> {
    let secret_hash = feed_link::hash_of(secret);
    let group = feed_link::group_of(secret)?;
    let published = server.engine.published();
    let state = published.group_state(group)?;
    let feed = state.calendarfeeds.with_secret(&secret_hash)?;
    let calendars = state.shown_calendars_of(feed, &published.directory())?;
    let details = feed.details;
    Some(ShownFeed { state, calendars, details, secret_hash })
}

/// Finds the events of a feed, and makes the tag of its file.
///
/// # Errors
/// A window that holds too much; 503 if too many long computations are waiting.
async fn make_file(server: &Server, feed: ShownFeed, now: Instant) -> Result<TaggedFile, ApiError> {
    let ShownFeed { state, calendars, details, secret_hash: _ } = feed;
    let window = feed_window(&calendars, now);
    let cost = Agenda::count_looked_at(&state, &window).saturating_mul(EVENT_COST);
    let compute = move || FeedFile::find(state, &calendars, details, now).map(add_tag);
    let made = if cost <= INLINE_COST_MAX {
        compute()
    } else {
        server.blocking_pool.run_weighed(cost, compute).await?
    };
    made.map_err(|TooManyOccurrences| too_many_occurrences().into())
}

/// Writes a file once for its tag, and keeps it if it is short.
fn add_tag(file: FeedFile) -> TaggedFile {
    let mut hash = Sha256::new();
    let mut kept = Some(Vec::new());
    let mut add = |part: &[u8]| {
        hash.update(part);
        if kept.as_ref().is_some_and(|kept| kept.len() + part.len() > KEPT_BYTES_MAX) {
            kept = None;
        }
        if let Some(kept) = &mut kept {
            kept.extend_from_slice(part);
        }
    };
    add(&file.head());
    let mut part = Vec::new();
    for place in 0..file.len() {
        part.clear();
        file.write_event(place, &mut part);
        add(&part);
    }
    add(FILE_END);
    TaggedFile { file, tag: make_tag_of_hash(&hash.finalize().into()), bytes: kept }
}

/// Returns the response with a file, or 304 without it.
///
/// # Errors
/// 503 if the long answers under way leave no memory for it.
fn respond(
    server: &Arc<Server>,
    made: TaggedFile,
    headers: &HeaderMap,
    from: IpAddr,
) -> Result<Response, ApiError> {
    let TaggedFile { file, tag, bytes } = made;
    let memory_bytes = if bytes.is_some() { 0 } else { file.memory_bytes() };
    let body = match bytes {
        Some(bytes) => Body::from(bytes),
        None => long_body(server, file),
    };
    let mut response = Response::new(body);
    let content_type = HeaderValue::from_static("text/calendar; charset=utf-8");
    let own = response.headers_mut();
    own.insert(CONTENT_TYPE, content_type);
    own.insert(CONTENT_DISPOSITION, HeaderValue::from_static("inline; filename=\"calendar.ics\""));
    own.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    own.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    own.insert(ROBOTS, HeaderValue::from_static("noindex"));
    let mut response = with_tag(response, &tag, &NamedTags::read(headers, IF_NONE_MATCH));
    // Of a 304 the layer that compresses cannot say so.
    if response.status() == StatusCode::NOT_MODIFIED {
        response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
        return Ok(response);
    }
    server.body_limits.hold_bytes(response, memory_bytes, from)
}

/// Returns a body that is written part by part.
fn long_body(server: &Arc<Server>, file: FeedFile) -> Body {
    let places: Vec<u64> = (0..file.len() as u64).collect();
    let head = file.head();
    let write = move |place: u64, bytes: &mut Vec<u8>| {
        file.write_event(usize::try_from(place).expect("a place fits"), bytes);
        0
    };
    let frame = ListFrame { separator: b"", end: FILE_END };
    ListBody::framed(head, places, write, frame).into_body(server)
}
