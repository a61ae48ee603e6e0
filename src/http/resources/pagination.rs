//! Lists of records. Long searches run off the threads that serve connections, and long responses
//! are rendered part by part while the client reads. Reference 1.4.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::stream::{self, Stream};
use serde_json::{Map, Value};

use crate::domain::records::ids::{RecordId as _, VeventId};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::editable_record::EditableRecord;
use crate::domain::state::group_state::GroupState;
use crate::http::limits::blocking_pool::BlockingPermit;
use crate::http::request::GroupRequest;
use crate::http::response::{HandlerResult, json_response};
use crate::http::server::Server;
use crate::wire::field::Scope;
use crate::wire::list::{EnvelopeHead, PagePlace, Query};

/// Maximum cost of a search on a thread that serves connections: some hundred microseconds.
pub(crate) const INLINE_COST_MAX: usize = 1_000;
/// Maximum number of records in a response that is rendered at once, unless their texts are long.
const INLINE_RECORDS_MAX: usize = 50;
/// Size in bytes, of those that are read for it too, at which a part of a longer response ends:
/// about a millisecond of work.
const PART_BYTES: usize = 64 * 1_024;
/// Delay before a part retries to get a permit of a full pool.
const RETRY_DELAY: Duration = Duration::from_millis(10);

/// A record type that a group's state holds by id.
pub(crate) trait ListedRecord: Sized + Sync + 'static {
    /// Returns the record with that id.
    fn find_by_number(state: &GroupState, number: u64) -> Option<&Self>;
}

impl<R: EditableRecord> ListedRecord for R {
    fn find_by_number(state: &GroupState, number: u64) -> Option<&Self> {
        Self::find(state, R::Id::from_number(number)?)
    }
}

impl ListedRecord for Vevent {
    fn find_by_number(state: &GroupState, number: u64) -> Option<&Self> {
        state.rows.get(&VeventId::new(number)?).map(AsRef::as_ref)
    }
}

/// Returns the page of a list that a query asks for, of the records that `wanted` accepts. `rows`
/// is the number of records that the search looks at.
///
/// # Errors
/// 503 if too many long lists are waiting.
pub(crate) async fn list_response<R: ListedRecord>(
    request: &GroupRequest,
    rows: usize,
    query: Query<'static, R>,
    all: impl for<'r> Fn(&'r GroupState) -> Vec<&'r R> + Send + 'static,
    wanted: impl Fn(&R, &GroupState) -> bool + Send + 'static,
    write: impl Fn(&R, &Scope<'_>, &mut Vec<u8>) + Send + 'static,
) -> HandlerResult {
    let state = Arc::clone(&request.state);
    let now = request.now;
    compute_page(&request.server, rows.saturating_mul(query.cost_per_record()), move || {
        let mut records = all(&state);
        records.retain(|record| wanted(record, &state));
        let page = query.select_page(records, &Scope::for_group(&state).at_moment(now));
        let numbers: Vec<u64> = page.records.iter().map(|record| query.record_id(record)).collect();
        let head = query.envelope_head(numbers.len(), page.total);
        PageAnswer::new(head, numbers, move |number, bytes| {
            let record = R::find_by_number(&state, number).expect("the page is from this state");
            write(record, &Scope::for_group(&state).at_moment(now), bytes);
            0
        })
    })
    .await
}

/// Returns the page that `compute` finds. `cost` is about the number of records it looks at.
///
/// # Errors
/// 503 if too many long lists are waiting.
pub(crate) async fn compute_page<W: Fn(u64, &mut Vec<u8>) -> usize + Send + 'static>(
    server: &Arc<Server>,
    cost: usize,
    compute: impl FnOnce() -> PageAnswer<W> + Send + 'static,
) -> HandlerResult {
    let page =
        if cost <= INLINE_COST_MAX { compute() } else { server.blocking_pool.run(compute).await? };
    Ok(page.into_response(server))
}

/// Appends an object to the bytes of a response.
pub(crate) fn write_object(object: &Map<String, Value>, bytes: &mut Vec<u8>) {
    serde_json::to_writer(bytes, object).expect("writing to memory cannot fail");
}

/// A page of a list, and its place there.
pub(crate) struct PageAnswer<W> {
    place: PagePlace,
    body: ListBody<W>,
}

impl<W: Fn(u64, &mut Vec<u8>) -> usize + Send + 'static> PageAnswer<W> {
    /// A page whose body begins with `head`, followed by the records with these numbers, which
    /// `write` appends as [`ListBody::new`] says.
    pub(crate) fn new(head: EnvelopeHead, numbers: Vec<u64>, write: W) -> Self {
        let EnvelopeHead { bytes: pending, place } = head;
        Self { place, body: ListBody::new(pending, numbers, write) }
    }

    /// Returns the response, whose body may be rendered part by part. Its place is an extension of
    /// it, for the header Link.
    pub(crate) fn into_response(self, server: &Arc<Server>) -> Response {
        let mut response = self.body.into_response(server);
        response.extensions_mut().insert(self.place);
        response
    }
}

/// The bytes around the records of a list.
#[derive(Clone, Copy)]
pub(crate) struct ListFrame {
    /// Between two records.
    pub(crate) separator: &'static [u8],
    /// After the last one.
    pub(crate) end: &'static [u8],
}

impl ListFrame {
    /// The frame of a list in a JSON object that ends with it.
    const JSON: Self = Self { separator: b",", end: b"]}" };
}

/// A list, rendered or still to be rendered: a JSON object that ends with one, or another.
pub(crate) enum ListBody<W> {
    /// The whole body.
    Short(Vec<u8>),
    /// The records still to be rendered.
    Long(UnrenderedPage<W>),
}

impl<W: Fn(u64, &mut Vec<u8>) -> usize + Send + 'static> ListBody<W> {
    /// A body that begins with `head`, up to the bracket that opens the list, followed by the
    /// records with these numbers. `write` appends one of them, and returns how many bytes it has
    /// read beside those that it wrote, if these may be many. It owns the one state that the whole
    /// body is made from, for as long as the client reads.
    pub(crate) fn new(head: Vec<u8>, numbers: Vec<u64>, write: W) -> Self {
        Self::framed(head, numbers, write, ListFrame::JSON)
    }

    /// The same with another frame than that of JSON.
    pub(crate) fn framed(head: Vec<u8>, numbers: Vec<u64>, write: W, frame: ListFrame) -> Self {
        let is_short = numbers.len() <= INLINE_RECORDS_MAX;
        let numbers = numbers.into_iter();
        let page = UnrenderedPage { numbers, write, pending: head, is_first: true, frame };
        if !is_short {
            return Self::Long(page);
        }
        match page.render_part() {
            (bytes, None) => Self::Short(bytes),
            // Few records with long texts.
            (bytes, Some(rest)) => Self::Long(UnrenderedPage { pending: bytes, ..rest }),
        }
    }

    /// Returns the response, whose body may be rendered part by part.
    pub(crate) fn into_response(self, server: &Arc<Server>) -> Response {
        json_response(StatusCode::OK, self.into_body(server))
    }

    /// Returns the body, which may be rendered part by part.
    pub(crate) fn into_body(self, server: &Arc<Server>) -> Body {
        match self {
            Self::Short(bytes) => bytes.into(),
            Self::Long(rest) => Body::from_stream(render_parts(rest, Arc::clone(server))),
        }
    }
}

/// The part of a page that is not rendered yet.
pub(crate) struct UnrenderedPage<W> {
    /// The numbers of the remaining records, in order.
    numbers: std::vec::IntoIter<u64>,
    write: W,
    /// Rendered bytes before the next record that are not sent yet.
    pending: Vec<u8>,
    /// Whether no record has been rendered yet.
    is_first: bool,
    frame: ListFrame,
}

impl<W: Fn(u64, &mut Vec<u8>) -> usize> UnrenderedPage<W> {
    /// Renders the next part of the body, and returns it with the rest; `None` after the last part.
    fn render_part(mut self) -> (Vec<u8>, Option<Self>) {
        let mut bytes = std::mem::take(&mut self.pending);
        let mut read_bytes = 0;
        while bytes.len() + read_bytes < PART_BYTES {
            let Some(number) = self.numbers.next() else {
                bytes.extend_from_slice(self.frame.end);
                return (bytes, None);
            };
            if !std::mem::take(&mut self.is_first) {
                bytes.extend_from_slice(self.frame.separator);
            }
            read_bytes += (self.write)(number, &mut bytes);
        }
        (bytes, Some(self))
    }
}

/// Renders a page part by part, each after the client has taken the one before.
fn render_parts<W: Fn(u64, &mut Vec<u8>) -> usize + Send + 'static>(
    page: UnrenderedPage<W>,
    server: Arc<Server>,
) -> impl Stream<Item = io::Result<Vec<u8>>> {
    stream::try_unfold(Some(page), move |rest| {
        let server = Arc::clone(&server);
        async move {
            let Some(rest) = rest else { return Ok(None) };
            let permit = acquire_patiently(&server).await;
            match permit.run(move || rest.render_part()).await {
                Ok(part) => Ok(Some(part)),
                // It breaks the connection, so that no client takes half a list for the whole.
                Err(_) => Err(io::Error::other("a part could not be rendered")),
            }
        }
    })
}

/// Waits for a permit. A response that has begun waits even if the pool rejects new requests.
async fn acquire_patiently(server: &Server) -> BlockingPermit {
    loop {
        if let Ok(permit) = server.blocking_pool.acquire().await {
            return permit;
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}
