//! Endpoints of vevents, the events of calendars. Reference 13.7.

use serde_json::{Map, Value};

use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarId, FicheId, VeventId};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::{Command, PutVevent, PutVevents, VeventDraft, VeventDraws};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::ShownObject;
use crate::domain::state::put_vevent::{ChangePart, SeriesPart};
use crate::domain::time::Instant;
use crate::engine::Committed;
use crate::http::answer::entity_tag::quoted_tag;
use crate::http::endpoint::{
    Body, Endpoint, EndpointPath, QueryKind, QueryParameter, handler, write_handler,
};
use crate::http::error::ApiError;
use crate::http::legacy_paths::LegacyRecord;
use crate::http::limits::guarded_write::GuardedWrite;
use crate::http::permissions::{OWN_CALENDARS, Resource, Verb};
use crate::http::request::{GroupRequest, wrapped_object};
use crate::http::resources::pagination::list_response;
use crate::http::response::{HandlerResult, object_response};
use crate::http::writes::prepared_write::{PreparedWrite, Written};
use crate::wire::field::{Audience, Scope, is_filled};
use crate::wire::list::Query;
use crate::wire::query::{FaultCollector, parse_id, parse_moment};
use crate::wire::vevent::{
    SCOPES, VEVENT, first_start, parse, parse_part, revise, revise_part, revision_text,
};

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/vevents");
const ALL_LEGACY: EndpointPath = EndpointPath::legacy("/api/v1/vevents", LegacyRecord::Vevent);
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/vevents/{id}");
const ONE_LEGACY: EndpointPath = EndpointPath::legacy("/api/v1/vevents/{id}", LegacyRecord::Vevent);

const PART: &[QueryParameter] = &[
    QueryKind::OneOf(&SCOPES).named(
        "scope",
        "of a series: this occurrence, this one and those after it, or all; by default all",
    ),
    QueryKind::DateTime
        .named("occurrence", "the date on which the occurrence begins, for one and following"),
    QueryParameter::EXPECTED,
];

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::list(&[ALL, ALL_LEGACY], handler!(InGroup, list))
        .named("ListVevents", "List vevents, with deleted ones")
        .right(Resource::Vevent, Verb::List, OWN_CALENDARS)
        .query(&[
            QueryKind::Id.named("calendar_id", "only vevents of this calendar"),
            QueryKind::Id.named("fiche_id", "only appointments of this fiche"),
            QueryKind::DateTime
                .named("start_from", "only vevents that start at or after this time"),
            QueryKind::DateTime.named("start_to", "only vevents that start before this time"),
        ]),
    Endpoint::get(&[ONE, ONE_LEGACY], handler!(InGroup, show))
        .named("ShowVevent", "Get a vevent")
        .right(Resource::Vevent, Verb::Show, OWN_CALENDARS),
    Endpoint::post(&[ALL, ALL_LEGACY], write_handler!(create))
        .named("MakeVevent", "Create a vevent")
        .right(Resource::Vevent, Verb::Make, OWN_CALENDARS)
        .query(&[QueryParameter::EXPECTED]),
    Endpoint::put(&[ONE, ONE_LEGACY], write_handler!(change))
        .named("ChangeVevent", "Update a vevent, or a part of a series")
        .right(Resource::Vevent, Verb::Change, OWN_CALENDARS)
        .query(PART),
    Endpoint::delete(&[ONE, ONE_LEGACY], write_handler!(delete))
        .named("DeleteVevent", "Mark a vevent as deleted, or end a part of a series")
        .right(Resource::Vevent, Verb::Delete, OWN_CALENDARS)
        .query(PART)
        .body(Body::SENDMAIL),
];

/// GET /api/v1/groups/{group_id}/vevents: the vevents of `calendar_id` and the appointments of
/// `fiche_id` that start at or after `start_from` and before `start_to`. Deleted ones are included.
async fn list(request: GroupRequest) -> HandlerResult {
    let audience = request.audience();
    let zone = request.zone();
    let params = &request.params;
    let state = &request.state;
    let mut faults = FaultCollector::default();
    let sight = request.sight();
    let exists =
        |id: CalendarId| state.catalogue.calendars.contains_key(&id) && sight.shows_calendar(id);
    let calendar = faults.keep_fault(parse_id(params, "calendar_id", CalendarId::new, exists));
    let exists = |id: FicheId| state.fiches.contains_key(&id) && state.shows_client(&sight, id);
    let fiche = faults.keep_fault(parse_id(params, "fiche_id", FicheId::new, exists));
    let from = faults.keep_fault(parse_moment(params, "start_from", zone));
    let to = faults.keep_fault(parse_moment(params, "start_to", zone));
    let query = faults.finish(Query::parse(params, &VEVENT, &request.scope(), audience))?;
    let wanted = move |vevent: &Vevent, _: &GroupState| {
        sight.shows_vevent(vevent)
            && calendar.is_none_or(|calendar| vevent.calendar_id == calendar)
            && fiche.is_none_or(|fiche| vevent.appointment().is_some_and(|it| it.fiche_id == fiche))
            && from.is_none_or(|from| from <= first_start(vevent, zone))
            && to.is_none_or(|to| first_start(vevent, zone) < to)
    };
    let write = move |vevent: &Vevent, scope: &Scope<'_>, bytes: &mut Vec<u8>| {
        VEVENT.append(vevent, scope, audience, bytes);
    };
    list_response(&request, state.rows.len(), query, all_vevents, wanted, write).await
}

fn all_vevents(state: &GroupState) -> Vec<&Vevent> {
    state.rows.values().map(AsRef::as_ref).collect()
}

/// GET /api/v1/groups/{group_id}/vevents/{id}.
async fn show(request: GroupRequest) -> HandlerResult {
    let id = request.id(VeventId::new)?;
    let vevent = request.find_vevent(id)?;
    Ok(object_response(show_vevent(vevent, &request.scope(), request.audience())))
}

/// POST /api/v1/groups/{group_id}/vevents: a vevent of any type.
fn create(request: &GroupRequest) -> Result<PreparedWrite, ApiError> {
    let mut object = read_object(request)?.clone();
    if !is_filled(&object, "taker")
        && let Some(names) = request.identity.pro_names()
    {
        object.insert("taker".to_owned(), names.as_str().into());
    }
    let draft = VeventDraft::new(move |state, _, draws, at| draw_up_new(&object, state, draws, at));
    let audience = request.audience();
    let render = move |done: &Committed| {
        let id = VeventId::new(done.object).expect("the engine returns the id of the new vevent");
        let vevent = done.group_state.rows.get(&id).expect("the new vevent exists");
        VEVENT.to_json(vevent, &Scope::for_group(&done.group_state), audience)
    };
    let command = Command::PutVevent(PutVevent::Make(draft));
    let write = GuardedWrite::unlimited(request.state.catalogue.group.id, command);
    Ok(request.prepare_creation(write, render).renaming_field("date", "start"))
}

/// Draws up a new vevent with these fields.
///
/// # Errors
/// All faults, each with its field.
pub(crate) fn draw_up_new(
    object: &Map<String, Value>,
    state: &GroupState,
    draws: &VeventDraws,
    at: Instant,
) -> Result<Vevent, Vec<Fault>> {
    let input = parse(object, &Scope::for_group(state), Audience::Pro)?;
    Ok(input.into_vevent(draws.id, draws.key, at, at))
}

/// PUT /api/v1/groups/{group_id}/vevents/{id}. Fields that are not given stay. With a scope, the
/// fields are those of the part of the series.
fn change(request: &GroupRequest) -> Result<PreparedWrite, ApiError> {
    let id = request.id(VeventId::new)?;
    request.check_writes_vevent(id)?;
    let object = read_object(request)?.clone();
    if let Some(part) = parse_part(&request.params)? {
        return Ok(write_part(request, ChangePart { id, part, draft: Some(draft_part(object)) }));
    }
    Ok(write_vevent(request, id, make_change(id, object)))
}

/// Makes the new form of a part of a series that gets these fields. Those that are not given stay.
fn draft_part(object: Map<String, Value>) -> VeventDraft {
    VeventDraft::new(move |state, before, draws, _| {
        let before = before.expect("the part of the series is there");
        let series = &state.rows[&before.id];
        let input = revise_part(series, before, &object, &Scope::for_group(state))?;
        Ok(input.into_vevent(before.id, draws.key, before.created_at, before.updated_at))
    })
}

/// Makes the command that gives a part of a series these fields, or deletes it without any.
pub(crate) fn make_part_change(
    id: VeventId,
    part: SeriesPart,
    object: Option<Map<String, Value>>,
) -> Command {
    let change = ChangePart { id, part, draft: object.map(draft_part) };
    Command::PutVevents(Box::new(PutVevents::Part(change)))
}

/// Makes the command that gives a vevent these fields. Those that are not given stay.
pub(crate) fn make_change(id: VeventId, object: Map<String, Value>) -> PutVevent {
    let draft = VeventDraft::new(move |state, before, draws, _| {
        let before = before.expect("the engine finds the vevent of a change first");
        let input = revise(before, &object, &Scope::for_group(state))?;
        Ok(input.into_vevent(before.id, draws.key, before.created_at, before.updated_at))
    });
    PutVevent::Change(id, draft)
}

/// DELETE /api/v1/groups/{group_id}/vevents/{id}. The vevent remains, marked as deleted. With a
/// scope, the series loses a part.
fn delete(request: &GroupRequest) -> Result<PreparedWrite, ApiError> {
    let id = request.id(VeventId::new)?;
    request.check_writes_vevent(id)?;
    if let Some(part) = parse_part(&request.params)? {
        return Ok(write_part(request, ChangePart { id, part, draft: None }));
    }
    Ok(write_vevent(request, id, PutVevent::Delete(id)))
}

/// Prepares a change of a part of a series. The answer is the part, or the series that has lost it.
fn write_part(request: &GroupRequest, command: ChangePart) -> PreparedWrite {
    let audience = request.audience();
    let show = move |state: &GroupState, id: VeventId| {
        let vevent = state.rows.get(&id)?;
        Some(show_vevent(vevent, &Scope::for_group(state), audience))
    };
    let id = command.id;
    let command = Command::PutVevents(Box::new(PutVevents::Part(command)));
    let command = command.only_if(request.precondition(move |state| show(state, id)));
    let write = GuardedWrite::unlimited(request.state.catalogue.group.id, command);
    PreparedWrite::new(write, audience, move |done: &Committed| {
        let id = VeventId::new(done.object)?;
        show(&done.group_state, id).map(Written::Changed)
    })
}

fn write_vevent(request: &GroupRequest, id: VeventId, command: PutVevent) -> PreparedWrite {
    let command = request.quiet_if_requested(Command::PutVevent(command), VEVENT.resource);
    let audience = request.audience();
    request
        .prepare_change(command, audience, show_vevent_later(id, audience))
        .renaming_field("date", "start")
}

/// Returns a function that shows a vevent as an audience sees it in a state.
pub(crate) fn show_vevent_later(
    id: VeventId,
    audience: Audience,
) -> impl Fn(&GroupState) -> Option<ShownObject> + Clone + Send + Sync + 'static {
    move |state: &GroupState| {
        let vevent = state.rows.get(&id)?;
        Some(show_vevent(vevent, &Scope::for_group(state), audience))
    }
}

/// Shows an event. Its tag is its revision, which leaves out what follows from other records and
/// from the time of the request.
fn show_vevent(vevent: &Vevent, scope: &Scope<'_>, audience: Audience) -> ShownObject {
    let json = VEVENT.to_json(vevent, scope, audience);
    ShownObject { json, tag: quoted_tag(&revision_text(vevent)) }
}

/// Returns the object of a vevent, which may be wrapped or be the body itself. Reference 12.7.
fn read_object(request: &GroupRequest) -> Result<&Map<String, Value>, ApiError> {
    if request.body.contains_key(VEVENT.resource) {
        wrapped_object(&request.body, VEVENT.resource)
    } else {
        Ok(&request.body)
    }
}
