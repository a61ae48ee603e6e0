//! Endpoints of the weekly opening hours of a calendar. Reference 6.17, 13.2.

use std::sync::Arc;

use crate::domain::directory::roles::GroupRight;
use crate::domain::records::ids::CalendarId;
use crate::domain::state::command::{Command, PutVevents};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::ShownObject;
use crate::domain::state::put_vevent::PutHours;
use crate::http::answer::entity_tag::tagged;
use crate::http::endpoint::{
    Answer, Body, Endpoint, EndpointPath, QueryParameter, Shape, handler, write_handler,
};
use crate::http::error::ApiError;
use crate::http::permissions::{OWN_CALENDARS, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::response::{HandlerResult, object_response};
use crate::http::writes::prepared_write::PreparedWrite;
use crate::wire::hours::{HoursAnswer, HoursBody, parse_hours, render_hours};
use crate::wire::schema::schema_of;

/// Number of availabilities of a calendar up to which its hours are read on a thread that serves
/// connections: well under a millisecond.
const INLINE_ROWS_MAX: usize = 500;

const HOURS: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/calendars/{id}/hours");

const SHOWN: Answer = Answer {
    has_object_tag: true,
    ..Answer::json(
        200,
        "the opening hours of the calendar",
        Shape::Named("Hours", schema_of::<HoursAnswer>),
    )
};

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::get(&[HOURS], handler!(InGroup, show))
        .named("ShowHours", "Get the weekly opening hours of a calendar")
        .tagged("calendars")
        .right(Resource::Hours, Verb::Show, OWN_CALENDARS)
        .answers(&[SHOWN]),
    Endpoint::put(&[HOURS], write_handler!(replace))
        .named("ReplaceHours", "Replace the weekly opening hours of a calendar")
        .tagged("calendars")
        .right(Resource::Hours, Verb::Change, OWN_CALENDARS)
        .query(&[QueryParameter::EXPECTED])
        .body(Body::plain(schema_of::<HoursBody>))
        .answers(&[SHOWN]),
];

/// Returns the calendar of the path.
///
/// # Errors
/// 404 if the caller reads no calendar with that id.
fn find_calendar(request: &GroupRequest) -> Result<CalendarId, ApiError> {
    let id = request.id(CalendarId::new)?;
    let is_shown = request.state.calendars.contains_key(&id) && request.sight().shows_calendar(id);
    if is_shown { Ok(id) } else { Err(ApiError::no_result()) }
}

/// GET /api/v1/groups/{group_id}/calendars/{id}/hours.
async fn show(request: GroupRequest) -> HandlerResult {
    let id = find_calendar(&request)?;
    let rows = request.state.calendars[&id].rules().availabilities().len();
    let shown = if rows <= INLINE_ROWS_MAX {
        show_hours(&request.state, id)
    } else {
        let state = Arc::clone(&request.state);
        request.server.blocking_pool.run(move || show_hours(&state, id)).await?
    };
    Ok(object_response(shown.ok_or_else(ApiError::no_result)?))
}

/// Shows the weekly opening hours of a calendar in a state; `None` if there is no such calendar.
pub(crate) fn show_hours(state: &GroupState, id: CalendarId) -> Option<ShownObject> {
    Some(tagged(render_hours(state, id)?))
}

/// PUT /api/v1/groups/{group_id}/calendars/{id}/hours.
fn replace(request: &GroupRequest) -> Result<PreparedWrite, ApiError> {
    let id = find_calendar(request)?;
    if !request.role().writes_on(id) {
        return Err(ApiError::unauthorized(GroupRight::Agenda.needed()));
    }
    let today = request.zone().civil_of(request.now).day();
    let ranges = parse_hours(&request.body, &request.scope(), today)?;
    let taker = request.identity.pro_names().unwrap_or_default();
    let put = PutHours { calendar_id: id, ranges, taker };
    let command = Command::PutVevents(Box::new(PutVevents::Hours(put)));
    Ok(request.prepare_change(command, request.audience(), move |state| show_hours(state, id)))
}
