//! One reader of a stream of changes: its place, its rights, and the frames that it gets. Reference
//! 18.3.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use futures_util::stream;
use tokio::time::Instant as Stopwatch;

use crate::domain::directory::roles::{GroupRight, Sight};
use crate::domain::records::ids::GroupId;
use crate::domain::state::changes::FeedView;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::cursor::ChangeCursor;
use crate::http::auth::Identity;
use crate::http::endpoint::Endpoint;
use crate::http::error::ApiError;
use crate::http::server::Server;
use crate::http::streams::bursts::{Burst, Following, frames_after, named_frame};
use crate::http::streams::{EVENT_STREAM, StreamOwner, StreamShare};
use crate::planted_faults::PlantedFault;
use crate::wire::changes::{BEGIN_EVENT, RESET_EVENT};

/// Time after which a comment is sent if nothing else was.
const COMMENT_TIME: Duration = Duration::from_secs(20);
/// A line that has browsers connect again after two seconds.
const RETRY: &[u8] = b"retry: 2000\n\n";
/// A comment.
const COMMENT: &[u8] = b":\n\n";
/// Tells a proxy of nginx to pass frames on at once.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The request for a stream.
pub(crate) struct StreamRequest {
    pub(crate) server: Arc<Server>,
    pub(crate) identity: Identity,
    pub(crate) group: GroupId,
    /// The headers, by whose cookie a session is found again.
    pub(crate) headers: HeaderMap,
    pub(crate) begin: StreamBegin,
}

/// The place behind which a stream begins.
#[derive(Clone, Copy)]
pub(crate) enum StreamBegin {
    /// All that has changed so far.
    Now,
    /// The place that the reader knows.
    Place(ChangeCursor),
    /// The reader names a place that is none.
    Unknown,
}

/// A reader of a stream.
struct StreamReader {
    request: StreamRequest,
    share: StreamShare,
    view: FeedView,
    /// Whether the reader sees what administrators see.
    sees_all: bool,
    /// The number of the last row that the reader knows of.
    place: u64,
    /// Frames that are not sent yet.
    pending: VecDeque<Bytes>,
    /// The moment from which a comment is due.
    comment_at: Stopwatch,
}

/// Whether the answer of an endpoint goes on until the client leaves.
pub(crate) fn is_stream(endpoint: &Endpoint) -> bool {
    endpoint.answers.iter().any(|answer| answer.media_type == EVENT_STREAM)
}

/// Returns the stream that a caller who may read the feed asks for. It begins with the changes
/// behind the caller's place, if that is known.
///
/// # Errors
/// 503 if there are too many streams.
pub(crate) fn open_stream(request: StreamRequest) -> Result<Response, ApiError> {
    let server = &request.server;
    let open = server.metrics.streams.clone();
    let share = server.streams.take(request.group, owner_of(&request.identity), open)?;
    // The readers of the group may share an older one, and the caller may have read this one.
    let state = server.engine.published().group_state(request.group);
    let state = state.ok_or_else(ApiError::no_result)?;
    let reader = StreamReader::new(request, share, &state);
    // All that is there leaves as one piece, which the readers of the group share.
    let frames = stream::unfold(reader, |mut reader| async move {
        let frames = reader.next().await?;
        Some((Ok::<_, Infallible>(frames), reader))
    });
    let mut response = Response::new(Body::from_stream(frames));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

fn owner_of(identity: &Identity) -> StreamOwner {
    match (identity.login(), identity.pro_id()) {
        (Some(login), _) => StreamOwner::Login(login),
        (None, Some(pro)) => StreamOwner::Pro(pro, identity.apikey),
        (None, None) => StreamOwner::Operator,
    }
}

/// Returns the part of a group's feed that a caller sees.
pub(crate) fn view_of(identity: &Identity, group: GroupId) -> FeedView {
    let role = identity.pro_role(group);
    FeedView { sight: role.sight(), sees_accounts: role.has(GroupRight::Keys) }
}

impl StreamReader {
    fn new(request: StreamRequest, share: StreamShare, state: &GroupState) -> Self {
        let view = view_of(&request.identity, request.group);
        let sees_all = view.sight == Sight::All && view.sees_accounts;
        let end = state.history.end(state.sequence);
        let last = state.history.last();
        let known = match request.begin {
            StreamBegin::Place(cursor) => state.history.find_place(cursor).ok(),
            StreamBegin::Now | StreamBegin::Unknown => None,
        };
        let first = match request.begin {
            StreamBegin::Now => named_frame(BEGIN_EVENT, end),
            StreamBegin::Place(cursor) if known.is_some() => named_frame(BEGIN_EVENT, cursor),
            StreamBegin::Place(_) | StreamBegin::Unknown => named_frame(RESET_EVENT, end),
        };
        let place = known.unwrap_or(last);
        let pending = VecDeque::from([Bytes::from_static(RETRY), first]);
        let following = frames_after(state, place, &view);
        let comment_at = Stopwatch::now() + COMMENT_TIME;
        let mut reader = Self { request, share, view, sees_all, place, pending, comment_at };
        reader.tell(following, last);
        reader
    }

    /// Returns the next frames; `None` at the end of the stream. Whether the reader may still read
    /// is looked at before each, and whenever its turn comes.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if *self.share.ending.borrow() || !self.may_read() {
                return None;
            }
            let now = Stopwatch::now();
            if self.pending.is_empty() && now >= self.comment_at {
                self.pending.push_back(Bytes::from_static(COMMENT));
            }
            if let Some(frames) = self.pending.pop_front() {
                self.comment_at = now + COMMENT_TIME;
                return Some(frames);
            }
            tokio::select! {
                _ = self.share.ending.changed() => {}
                gathered = self.share.bursts.changed() => {
                    gathered.ok()?;
                    let burst = Arc::clone(&self.share.bursts.borrow_and_update());
                    self.follow(&burst);
                }
            }
        }
    }

    /// Adds the frames that follow the reader's place.
    fn follow(&mut self, burst: &Burst) {
        if burst.end() > self.place {
            let following = burst.follow(self.place, &self.view, self.sees_all);
            self.tell(following, burst.end());
        }
    }

    /// Adds frames, after which the reader knows all rows up to one.
    fn tell(&mut self, following: Following, last: u64) {
        match following {
            Following::Changes(frames) if frames.is_empty() => {}
            Following::Changes(frames) => self.pending.push_back(frames),
            Following::Reset(end) => self.pending.push_back(named_frame(RESET_EVENT, end)),
        }
        self.place = last;
    }

    /// Whether the reader still is who it was, with the same role, and this server may answer.
    fn may_read(&mut self) -> bool {
        let StreamRequest { server, identity, group, headers, .. } = &mut self.request;
        let published = server.engine.published();
        let directory = published.directory();
        let now = server.engine.clock().now();
        if !server.engine.may_answer() {
            return false;
        }
        let is_session = identity.is_by_session();
        let sessions = &server.authenticator.sessions;
        if is_session && sessions.find(headers, published, &directory, now).is_none() {
            return false;
        }
        // The directory is the same one as long as no login, key or professional has changed.
        if !Arc::ptr_eq(identity.directory(), &directory) {
            let Some(renewed) = identity.renewed(&directory) else { return false };
            *identity = renewed;
        }
        let is_open = |login| directory.pro_logins.find(&login, now).is_some();
        let is_logged_in =
            identity.login().is_none_or(is_open) || PlantedFault::StreamOutlivesLogin.is_active();
        is_logged_in
            && identity.sees(*group)
            && view_of(identity, *group) == self.view
            && is_admitted(identity, published.group_state(*group).as_deref())
    }
}

/// Whether a group that is served demands no second factor that the reader lacks.
fn is_admitted(identity: &Identity, state: Option<&GroupState>) -> bool {
    state.is_some_and(|state| identity.check_second_factor(&state.catalogue.group).is_ok())
}
