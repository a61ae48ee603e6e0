//! The endpoint of a group's history. Reference 16.

use crate::http::endpoint::{Answer, Endpoint, EndpointPath, QueryKind, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{ADMINISTRATORS, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::response::{HandlerResult, ok_response};
use crate::wire::access_history::{AccessHistoryAnswer, parse_access_query};
use crate::wire::history::{HistoryAnswer, PAGE_MAX, is_known, parse_query};
use crate::wire::schema::schema_of;

const HISTORY: Answer =
    Answer::json(200, "rows of the history", Shape::Named("History", schema_of::<HistoryAnswer>));

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[ACCESS, Endpoint::get(
    &[EndpointPath::current("/api/v1/groups/{group_id}/history")],
    handler!(InGroup, list),
)
.named("ListHistory", "List who changed what, latest first")
.right(Resource::History, Verb::List, ADMINISTRATORS)
.tagged("history")
.query(&[
    QueryKind::Text.named("object", "only rows about this object, such as vevent:12"),
    QueryKind::Text.named(
        "author",
        "only rows of this author, such as professional:7, account:3, server, operator, visitor \
         or unknown",
    ),
    QueryKind::DateTime.named("from", "only rows from this moment on"),
    QueryKind::DateTime.named("to", "only rows before this moment"),
    QueryKind::Integer { min: 1, max: i64::MAX }
        .named("below", "only rows with a lower number: the `next` of the page before"),
    QueryKind::Integer { min: 1, max: PAGE_MAX }.named("results", "number of rows, by default 50"),
])
.answers(&[HISTORY])];

/// The history of access.
const ACCESS: Endpoint = Endpoint::get(
    &[EndpointPath::current("/api/v1/groups/{group_id}/history/access")],
    handler!(InGroup, list_access),
)
.named("ListAccess", "List logins, exports, and changes of keys and professionals, latest first")
.right(Resource::History, Verb::List, ADMINISTRATORS)
.tagged("history")
.query(&[
    QueryKind::DateTime.named("from", "only rows from this moment on"),
    QueryKind::DateTime.named("to", "only rows before this moment"),
    QueryKind::Integer { min: 1, max: i64::MAX }
        .named("below", "only rows with a lower number: the `next` of the page before"),
    QueryKind::Integer { min: 1, max: PAGE_MAX }.named("results", "number of rows, by default 50"),
])
.answers(&[Answer::json(
    200,
    "rows of the history of access",
    Shape::Named("AccessHistory", schema_of::<AccessHistoryAnswer>),
)]);

/// GET /api/v1/groups/{group_id}/history/access. A page looks at 5,000 rows at most.
async fn list_access(request: GroupRequest) -> HandlerResult {
    let state = &request.state;
    let query = parse_access_query(&request.params, state, request.now)?;
    let directory = request.identity.directory();
    let page = directory.access_history.page(&query);
    Ok(ok_response(&AccessHistoryAnswer::new(page, state, directory)))
}

/// GET /api/v1/groups/{group_id}/history: the changes of the group's objects with their authors. A
/// page looks at 5,000 rows at most.
async fn list(request: GroupRequest) -> HandlerResult {
    let state = &request.state;
    let query = parse_query(&request.params, state, request.now)?;
    if query.object.is_some_and(|object| !is_known(object, state)) {
        return Err(ApiError::no_result());
    }
    let answer =
        HistoryAnswer::new(state.history.page(&query), state, request.identity.directory());
    Ok(ok_response(&answer))
}
