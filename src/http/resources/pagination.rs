//! Lists of a group's objects. Those that take long to find are sought off the threads that serve connections, and long
//! answers are made part by part while the client reads.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::Frame;
use serde_json::{Map, Value};

use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::Customfield;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, CustomfieldId, FicheId, InterventionId, InterventionsetId, VeventId,
};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::group_state::GroupState;
use crate::http::blocking_pool::Turn;
use crate::http::error::ApiError;
use crate::http::pipeline::{GroupCall, Outcome, json};
use crate::http::route_table::Server;
use crate::wire::field::Scope;
use crate::wire::list::Query;

/// Rows that are looked through where the request stands: some hundred microseconds.
const ROWS_AT_ONCE: usize = 1_000;
/// Records up to which an answer is made in one go, unless their texts are long.
const RECORDS_AT_ONCE: usize = 50;
/// Bytes after which a part of a longer answer ends: about a millisecond's work.
const PART_BYTES: usize = 64 * 1_024;
/// How long a part waits before it asks again for a turn, where too many are waiting for theirs.
const BREATH: Duration = Duration::from_millis(10);

/// What stands in a group's state under an id.
pub(crate) trait Listed: Sized + Sync + 'static {
    /// The object of that number.
    fn of_number(state: &GroupState, number: u64) -> Option<&Self>;
}

macro_rules! listed {
    ($($object:ty, $id:ty, |$state:ident| $map:expr;)*) => {$(
        impl Listed for $object {
            fn of_number($state: &GroupState, number: u64) -> Option<&Self> {
                $map.get(&<$id>::new(number)?).map(AsRef::as_ref)
            }
        }
    )*};
}

listed! {
    Calendar, CalendarId, |state| state.catalogue.calendars;
    Calendarset, CalendarsetId, |state| state.catalogue.calendarsets;
    Intervention, InterventionId, |state| state.catalogue.interventions;
    Interventionset, InterventionsetId, |state| state.catalogue.interventionsets;
    Customfield, CustomfieldId, |state| state.catalogue.customfields;
    Fiche, FicheId, |state| state.fiches;
    Vevent, VeventId, |state| state.rows;
}

/// The page of a list that a query asks for, of the records that are `wanted`, each shown by `render`. Finding all of
/// them costs about as much as looking at so many `rows`.
///
/// # Errors
/// 503 when too many long lists are waiting.
pub(crate) async fn page<R: Listed>(
    call: &GroupCall,
    rows: usize,
    query: Query<'static, R>,
    all: impl for<'r> Fn(&'r GroupState) -> Vec<&'r R> + Send + 'static,
    wanted: impl Fn(&R, &GroupState) -> bool + Send + 'static,
    render: impl Fn(&R, &Scope<'_>) -> Map<String, Value> + Send + 'static,
) -> Outcome {
    let (state, now) = (Arc::clone(&call.state), call.now);
    found_by(&call.server, rows.saturating_mul(query.cost_per_record()), move || {
        let mut records = all(&state);
        records.retain(|record| wanted(record, &state));
        let page = query.select_page(records, &Scope::for_group(&state).at_moment(now));
        let numbers: Vec<u64> = page.records.iter().map(|record| query.record_id(record)).collect();
        let head = query.envelope_head(numbers.len(), page.total);
        Found::of(head, numbers, move |number, bytes| {
            let record = R::of_number(&state, number).expect("the list is of this very state");
            write(&render(record, &Scope::for_group(&state).at_moment(now)), bytes);
        })
    })
    .await
}

/// The answer of a list that `find` finds, which costs about as much as looking at so many rows.
///
/// # Errors
/// 503 when too many long lists are waiting.
pub(crate) async fn found_by<W: Fn(u64, &mut Vec<u8>) + Send + 'static>(
    server: &Arc<Server>,
    cost: usize,
    find: impl FnOnce() -> Found<W> + Send + 'static,
) -> Outcome {
    let found = if cost <= ROWS_AT_ONCE { find() } else { server.computing.run(find).await? };
    Ok(found.answer(server))
}

/// Appends an object to an answer.
pub(crate) fn write(object: &Map<String, Value>, bytes: &mut Vec<u8>) {
    serde_json::to_writer(bytes, object).expect("an object is written to memory");
}

/// A page that was found.
pub(crate) enum Found<W> {
    /// Its whole answer.
    Short(Vec<u8>),
    /// What its answer is made of.
    Long(Rest<W>),
}

impl<W: Fn(u64, &mut Vec<u8>) + Send + 'static> Found<W> {
    /// A page whose answer begins with `head`, of the records of these numbers, each of which `write` appends. `write` holds
    /// the one state that all of the answer is made from, however long the client reads.
    pub(crate) fn of(head: Vec<u8>, numbers: Vec<u64>, write: W) -> Self {
        let short = numbers.len() <= RECORDS_AT_ONCE;
        let rest = Rest { numbers: numbers.into_iter(), write, pending: head, first: true };
        if !short {
            return Self::Long(rest);
        }
        match rest.part() {
            (bytes, None) => Self::Short(bytes),
            // Few records, of long texts.
            (bytes, Some(rest)) => Self::Long(Rest { pending: bytes, ..rest }),
        }
    }

    /// The answer, or what makes it part by part.
    pub(crate) fn answer(self, server: &Arc<Server>) -> Response {
        match self {
            Self::Short(bytes) => json(StatusCode::OK, bytes),
            Self::Long(rest) => {
                let mut response = json(StatusCode::OK, Vec::new());
                *response.body_mut() = Body::new(Parts::of(rest, Arc::clone(server)));
                response
            }
        }
    }
}

/// What is left of an answer to make.
pub(crate) struct Rest<W> {
    /// The records that are left, in order.
    numbers: std::vec::IntoIter<u64>,
    write: W,
    /// What stands before the next record and is not sent yet.
    pending: Vec<u8>,
    /// Whether no record was written yet.
    first: bool,
}

impl<W: Fn(u64, &mut Vec<u8>)> Rest<W> {
    /// The next part of the answer; `None` of what is left after the last.
    fn part(mut self) -> (Vec<u8>, Option<Self>) {
        let mut bytes = std::mem::take(&mut self.pending);
        while bytes.len() < PART_BYTES {
            let Some(number) = self.numbers.next() else {
                bytes.extend_from_slice(b"]}");
                return (bytes, None);
            };
            if !std::mem::take(&mut self.first) {
                bytes.push(b',');
            }
            (self.write)(number, &mut bytes);
        }
        (bytes, Some(self))
    }
}

type Computed<W> = Result<(Vec<u8>, Option<Rest<W>>), ApiError>;
type Computing<W> = Pin<Box<dyn Future<Output = Computed<W>> + Send>>;

/// A body that is made part by part, each once the client has taken the one before.
struct Parts<W> {
    server: Arc<Server>,
    /// The part to come; none after the last.
    next: Option<Computing<W>>,
}

impl<W: Fn(u64, &mut Vec<u8>) + Send + 'static> Parts<W> {
    fn of(rest: Rest<W>, server: Arc<Server>) -> Self {
        Self { next: Some(Box::pin(compute(Arc::clone(&server), rest))), server }
    }
}

async fn compute<W: Fn(u64, &mut Vec<u8>) + Send + 'static>(
    server: Arc<Server>,
    rest: Rest<W>,
) -> Computed<W> {
    turn(&server).await.run(move || rest.part()).await
}

/// A turn to compute. Whoever was promised a list has it: it waits where a new request would be sent away.
async fn turn(server: &Server) -> Turn {
    loop {
        if let Ok(turn) = server.computing.turn().await {
            return turn;
        }
        tokio::time::sleep(BREATH).await;
    }
}

impl<W: Fn(u64, &mut Vec<u8>) + Send + 'static> HttpBody for Parts<W> {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let Some(next) = &mut self.next else { return Poll::Ready(None) };
        let computed = ready!(next.as_mut().poll(context));
        self.next = None;
        // The connection breaks, so that nobody takes half a list for the whole.
        let Ok((bytes, rest)) = computed else {
            return Poll::Ready(Some(Err(std::io::Error::other("a bug of ours"))));
        };
        let server = Arc::clone(&self.server);
        self.next = rest.map(|rest| Box::pin(compute(server, rest)) as _);
        Poll::Ready(Some(Ok(Frame::data(bytes.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.next.is_none()
    }
}
