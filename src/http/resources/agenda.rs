//! The endpoint of the agenda, which screens draw. Reference 4.10.

use std::sync::Arc;

use crate::domain::state::agenda_window::{Agenda, AgendaWindow, TooManyOccurrences};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::space::vevent_bytes;
use crate::http::endpoint::{Answer, Endpoint, EndpointPath, QueryKind, Shape, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{OWN_CALENDARS, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::resources::pagination::ListBody;
use crate::http::response::{HandlerResult, to_json};
use crate::http::server::Server;
use crate::wire::agenda::{
    AgendaEventAnswer, AgendaHead, agenda_schema, parse_window, too_many_occurrences,
};

/// Maximum number of occurrences of an agenda that is found on a thread that serves connections:
/// some hundred microseconds.
const INLINE_OCCURRENCES_MAX: i64 = 500;
/// Size of an event in bytes from which the reading of its texts counts.
const LONG_EVENT_BYTES: u64 = 1_024;

const AGENDA: Answer = Answer::json(
    200,
    "the calendars with their open time, and the events of the window",
    Shape::Named("Agenda", agenda_schema),
);

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[Endpoint::get(
    &[EndpointPath::current("/api/v1/groups/{group_id}/agenda")],
    handler!(InGroup, show),
)
.named("ShowAgenda", "Get all that takes place in a window")
.right(Resource::Agenda, Verb::Show, OWN_CALENDARS)
.tagged("agenda")
.query(&[
    QueryKind::RequiredDateTime.named("from", "the start of the window"),
    QueryKind::RequiredDateTime
        .named("to", "the end of the window, at most 42 local days after its start"),
    QueryKind::Ids
        .named("calendar_ids[]", "only these calendars, at most 100; by default all live ones"),
])
.answers(&[AGENDA])];

/// GET /api/v1/groups/{group_id}/agenda: the appointments, and the occurrences of plages and notes,
/// that overlap the window, and the open time of each calendar. Deleted events are left out.
async fn show(request: GroupRequest) -> HandlerResult {
    let window = parse_window(&request.params, &request.state, &request.sight())?;
    let cost = Agenda::count_looked_at(&request.state, &window);
    let state = Arc::clone(&request.state);
    let compute = move || render(state, window);
    let found = if cost <= INLINE_OCCURRENCES_MAX {
        compute()
    } else {
        request.server.blocking_pool.run_weighed(cost, compute).await?
    };
    match found {
        Ok(body) => Ok(body.into_response(&request.server)),
        Err(TooManyOccurrences) => Err(too_many_occurrences().into()),
    }
}

/// Finds an agenda for a page.
///
/// # Errors
/// A window that holds too much; 503 if too many long computations are waiting.
pub(crate) async fn find_agenda(
    server: &Server,
    state: &Arc<GroupState>,
    window: &AgendaWindow,
) -> Result<Agenda, ApiError> {
    let cost = Agenda::count_looked_at(state, window);
    let found = if cost <= INLINE_OCCURRENCES_MAX {
        Agenda::find(state, window)
    } else {
        let state = Arc::clone(state);
        let window = window.clone();
        let compute = move || Agenda::find(&state, &window);
        server.blocking_pool.run_weighed(cost, compute).await?
    };
    found.map_err(|TooManyOccurrences| too_many_occurrences().into())
}

/// Finds an agenda, and renders its beginning.
fn render(
    state: Arc<GroupState>,
    window: AgendaWindow,
) -> Result<ListBody<impl Fn(u64, &mut Vec<u8>) -> usize + Send + 'static>, TooManyOccurrences> {
    let agenda = Agenda::find(&state, &window)?;
    let mut head = to_json(&AgendaHead::new(&state, &window, &agenda));
    // The list of events is the last member.
    head.pop();
    head.extend_from_slice(br#","events":["#);
    let events = agenda.events;
    let places: Vec<u64> = (0..events.len() as u64).collect();
    let write = move |place: u64, bytes: &mut Vec<u8>| {
        let event = usize::try_from(place).ok().and_then(|place| events.get(place));
        let event = event.expect("a place is below the number of events");
        let answer = AgendaEventAnswer::new(&state, event);
        serde_json::to_writer(bytes, &answer).expect("writing to memory cannot fail");
        // The revision is a hash of all texts of the event.
        let read_bytes = vevent_bytes(&state.rows[&event.id]);
        if read_bytes < LONG_EVENT_BYTES {
            0
        } else {
            usize::try_from(read_bytes).unwrap_or(usize::MAX)
        }
    };
    Ok(ListBody::new(head, places, write))
}
