//! The endpoint of a group's changes, in their order. Reference 18.

use std::sync::Arc;

use axum::http::HeaderName;

use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::Customfield;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::changes::{Change, ChangePage, ObjectPresence};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::cursor::{GoneCursor, NoCursor};
use crate::domain::state::history::row::{HistoryObject, ObjectKind};
use crate::http::endpoint::{Answer, Endpoint, EndpointPath, QueryKind, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{OWN_CALENDARS, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::resources::crud::CrudRecord;
use crate::http::resources::pagination::{ListBody, ListedRecord as _};
use crate::http::response::HandlerResult;
use crate::http::streams::EVENT_STREAM;
use crate::http::streams::reader::{StreamBegin, StreamRequest, open_stream, view_of};
use crate::wire::account::ACCOUNT;
use crate::wire::changes::{
    LIMIT_DEFAULT, LIMIT_MAX, SINCE, Since, append_change, event_schema, page_head, page_schema,
};
use crate::wire::errors::Problem;
use crate::wire::field::{Audience, Scope};
use crate::wire::group::GROUP;
use crate::wire::query::{FaultCollector, parse_flag, parse_number};
use crate::wire::vevent::VEVENT;

/// Number of rows that are looked at on a thread that serves connections: some hundred
/// microseconds.
const INLINE_ROWS_MAX: u64 = 500;
/// Name of the parameter that leaves the objects out.
const RECORDS: &str = "records";
/// The header with which browsers connect again, with the place of the last frame.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

const CHANGES: Answer = Answer::json(
    200,
    "the changes behind the cursor, in their order",
    Shape::Named("Changes", page_schema),
);

const STREAM: Answer = Answer {
    media_type: EVENT_STREAM,
    ..Answer::json(
        200,
        "a stream that goes on until the client leaves",
        Shape::Named("ChangeEvent", event_schema),
    )
};

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::get(
        &[EndpointPath::current("/api/v1/groups/{group_id}/changes")],
        handler!(InGroup, list),
    )
    .named("ListChanges", "List what has changed since a cursor, in order")
    .right(Resource::Change, Verb::List, OWN_CALENDARS)
    .query(&[
        QueryKind::Text.named(
            SINCE,
            "only changes behind this cursor; now for none, and the cursor of this moment; by \
             default all that the feed has",
        ),
        QueryKind::Integer { min: 1, max: LIMIT_MAX }
            .named("limit", "number of changes, by default 500"),
        QueryKind::Flag.named(RECORDS, "whether each has its object as it is now; by default 1"),
    ])
    .answers(&[CHANGES]),
    Endpoint::get(
        &[EndpointPath::current("/api/v1/groups/{group_id}/events")],
        handler!(InGroup, stream),
    )
    .named("StreamChanges", "Follow what changes as it happens, by server-sent events")
    .right(Resource::Change, Verb::Show, OWN_CALENDARS)
    .query(&[QueryKind::Text.named(
        SINCE,
        "begin behind this cursor; by default with the next change. The header Last-Event-ID, which \
         browsers send when they connect again, comes first",
    )])
    .answers(&[STREAM]),
];

/// GET /api/v1/groups/{group_id}/changes. A page looks at 5,000 rows at most.
async fn list(request: GroupRequest) -> HandlerResult {
    let mut faults = FaultCollector::default();
    let since = Since::parse(&request.params);
    let limit = faults.keep_fault(parse_number(&request.params, "limit", 1..=LIMIT_MAX));
    let has_records = faults.keep_fault(parse_flag(&request.params, RECORDS, true));
    let since = faults.finish(since.map_err(|fault| vec![fault]))?;
    let limit = usize::try_from(limit.unwrap_or(LIMIT_DEFAULT)).expect("a small number");
    let after = find_place(&request.state, since).map_err(|GoneCursor| gone_cursor())?;
    let state = Arc::clone(&request.state);
    let view = view_of(&request.identity, request.state.catalogue.group.id);
    let find = move || state.changes_after(after, &view, limit);
    let rows = request.state.history.last() - after;
    let page = if rows <= INLINE_ROWS_MAX {
        find()
    } else {
        request.server.blocking_pool.run(find).await?
    };
    if has_records {
        note_clients(&request, &page);
    }
    Ok(render(&request, page, has_records).into_response(&request.server))
}

/// Returns the number of the row behind which changes are asked for.
///
/// # Errors
/// A place that the feed no longer has.
fn find_place(state: &GroupState, since: Since) -> Result<u64, GoneCursor> {
    match since {
        Since::Begin => Ok(state.history.feed_begin()),
        Since::Now => Ok(state.history.last()),
        Since::Place(cursor) => state.history.find_place(cursor),
    }
}

/// The error about a cursor whose place is gone.
pub(crate) fn gone_cursor() -> ApiError {
    let message = "since: the feed no longer has this place: take a cursor with since=now, then \
                   read everything anew";
    ApiError::new(Problem::Gone, message)
}

/// GET /api/v1/groups/{group_id}/events.
async fn stream(request: GroupRequest) -> HandlerResult {
    let GroupRequest { server, identity, headers, params, state, .. } = request;
    let headers = headers.expect("a request for a stream has its headers");
    let begin = match (headers.get(LAST_EVENT_ID), params.value(SINCE)) {
        // What a browser sends by itself is no fault of its user.
        (Some(id), _) => match id.to_str().map(str::parse) {
            Ok(Ok(cursor)) => StreamBegin::Place(cursor),
            Ok(Err(NoCursor)) | Err(_) => StreamBegin::Unknown,
        },
        (None, Some(since)) => match Since::from_text(since)? {
            Since::Place(cursor) => StreamBegin::Place(cursor),
            Since::Now | Since::Begin => StreamBegin::Now,
        },
        (None, None) => StreamBegin::Now,
    };
    let group = state.catalogue.group.id;
    open_stream(StreamRequest { server, identity, group, headers: *headers, begin })
}

/// Notes in the history that a professional reads the clients of a page, if it has any.
fn note_clients(request: &GroupRequest, page: &ChangePage) {
    let is_read = |change: &&Change| {
        change.placed.row.object.kind == ObjectKind::Fiche
            && change.presence != ObjectPresence::Gone
    };
    let count = page.changes.iter().filter(is_read).count();
    if count > 0 {
        let (group, author) = (request.state.catalogue.group.id, request.identity.author());
        request.server.read_log.note_list(group, author, count, false, request.now);
    }
}

fn render(
    request: &GroupRequest,
    page: ChangePage,
    has_records: bool,
) -> ListBody<impl Fn(u64, &mut Vec<u8>) -> usize + Send + 'static> {
    let ChangePage { changes, next, has_more } = page;
    let state = Arc::clone(&request.state);
    let audience = request.audience();
    let now = request.now;
    let places: Vec<u64> = (0..changes.len() as u64).collect();
    ListBody::new(page_head(next, has_more), places, move |place, bytes| {
        let change = usize::try_from(place).ok().and_then(|place| changes.get(place));
        let change = change.expect("a place is below the number of changes");
        let scope = Scope::for_group(&state).at_moment(now);
        let object = change.placed.row.object;
        let append = |bytes: &mut Vec<u8>| append_record(object, &state, &scope, audience, bytes);
        append_change(change, state.catalogue.zone(), has_records.then_some(append), bytes);
        0
    })
}

/// Appends an object as it is, which the caller reads.
fn append_record(
    object: HistoryObject,
    state: &GroupState,
    scope: &Scope<'_>,
    audience: Audience,
    bytes: &mut Vec<u8>,
) {
    let HistoryObject { kind, id } = object;
    match kind {
        ObjectKind::Group => GROUP.append(&state.catalogue.group, scope, audience, bytes),
        ObjectKind::Calendar => append::<Calendar>(id, state, scope, audience, bytes),
        ObjectKind::Calendarset => append::<Calendarset>(id, state, scope, audience, bytes),
        ObjectKind::Intervention => append::<Intervention>(id, state, scope, audience, bytes),
        ObjectKind::Interventionset => append::<Interventionset>(id, state, scope, audience, bytes),
        ObjectKind::Customfield => append::<Customfield>(id, state, scope, audience, bytes),
        ObjectKind::Fiche => append::<Fiche>(id, state, scope, audience, bytes),
        ObjectKind::Vevent => {
            let vevent = Vevent::find_by_number(state, id).expect("the caller reads it");
            VEVENT.append(vevent, scope, audience, bytes);
        }
        ObjectKind::Account => {
            let client = FicheId::new(id).expect("an account has a client");
            let account = state.accounts.of_client(client).next().expect("the caller reads it");
            ACCOUNT.append(account, scope, audience, bytes);
        }
        ObjectKind::Fiches | ObjectKind::Calendarfeed | ObjectKind::Webhook => {
            unreachable!("no change of the feed is about them")
        }
    }
}

fn append<R: CrudRecord>(
    id: u64,
    state: &GroupState,
    scope: &Scope<'_>,
    audience: Audience,
    bytes: &mut Vec<u8>,
) {
    let record = R::find_by_number(state, id).expect("the caller reads it");
    R::table_for(audience).append(record, scope, audience, bytes);
}
