//! Endpoints of calendars. Reference 13.2.

use crate::domain::records::calendar::Calendar;
use crate::domain::records::ids::{CalendarsetId, InterventionId};
use crate::domain::records::intervention::Intervention;
use crate::domain::state::command::{Put, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::http::endpoint::{
    AnswerSchema, BodySchema, Endpoint, EndpointMethod, EndpointPath, QueryKind, QueryParameter,
    handler,
};
use crate::http::error::ApiError;
use crate::http::legacy_paths::LegacyRecord;
use crate::http::permissions::{PROS_ONLY, PUBLIC, Resource, Right, Verb};
use crate::http::request::GroupRequest;
use crate::http::resources::crud::{self, CrudRecord};
use crate::http::resources::pagination::{all_or_faults, list_response};
use crate::http::response::HandlerResult;
use crate::wire::calendar::CALENDAR;
use crate::wire::field::{Audience, Scope, Table};
use crate::wire::list::Query;
use crate::wire::query::parse_ids;

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/calendars");
const ALL_LEGACY: EndpointPath = EndpointPath::legacy("/api/v1/calendars", LegacyRecord::Calendar);
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/calendars/{id}");
const ONE_LEGACY: EndpointPath =
    EndpointPath::legacy("/api/v1/calendars/{id}", LegacyRecord::Calendar);

const LIST_PARAMETERS: &[QueryParameter] = &[
    QueryParameter::new(
        "intervention_ids[]",
        QueryKind::Ids,
        "only calendars that offer all these interventions",
    ),
    QueryParameter::new(
        "calendarset_ids[]",
        QueryKind::Ids,
        "only calendars of these calendarsets",
    ),
];

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        operation_id: "ListCalendars",
        summary: "List calendars",
        tag: "calendars",
        method: EndpointMethod::Get,
        paths: &[ALL, ALL_LEGACY],
        right: Some(Right::new(Resource::Calendar, Verb::List, PUBLIC)),
        query: LIST_PARAMETERS,
        body: BodySchema::None,
        answer: AnswerSchema::List,
        handler: handler!(InGroup, list),
    },
    Endpoint {
        operation_id: "ListCalendarsOfIntervention",
        summary: "List the calendars that offer an intervention",
        tag: "calendars",
        method: EndpointMethod::Get,
        paths: &[EndpointPath::legacy(
            "/api/v1/interventions/{id}/calendars",
            LegacyRecord::Intervention,
        )],
        right: Some(Right::new(Resource::Calendar, Verb::List, PUBLIC)),
        query: LIST_PARAMETERS,
        body: BodySchema::None,
        answer: AnswerSchema::List,
        handler: handler!(InGroup, list_for_intervention),
    },
    Endpoint {
        operation_id: "ShowCalendar",
        summary: "Get a calendar",
        tag: "calendars",
        method: EndpointMethod::Get,
        paths: &[ONE, ONE_LEGACY],
        right: Some(Right::new(Resource::Calendar, Verb::Show, PUBLIC)),
        query: &[],
        body: BodySchema::None,
        answer: AnswerSchema::Record,
        handler: handler!(InGroup, crud::show::<Calendar>),
    },
    Endpoint {
        operation_id: "MakeCalendar",
        summary: "Create a calendar",
        tag: "calendars",
        method: EndpointMethod::Post,
        paths: &[ALL, ALL_LEGACY],
        right: Some(Right::new(Resource::Calendar, Verb::Make, PROS_ONLY)),
        query: &[],
        body: BodySchema::NewRecord,
        answer: AnswerSchema::NewRecord,
        handler: handler!(InGroup, crud::create::<Calendar>),
    },
    Endpoint {
        operation_id: "ChangeCalendar",
        summary: "Update a calendar",
        tag: "calendars",
        method: EndpointMethod::Put,
        paths: &[ONE, ONE_LEGACY],
        right: Some(Right::new(Resource::Calendar, Verb::Change, PROS_ONLY)),
        query: &[],
        body: BodySchema::ChangedFields,
        answer: AnswerSchema::Record,
        handler: handler!(InGroup, crud::change::<Calendar>),
    },
    Endpoint {
        operation_id: "DeleteCalendar",
        summary: "Mark a calendar as deleted",
        tag: "calendars",
        method: EndpointMethod::Delete,
        paths: &[ONE, ONE_LEGACY],
        right: Some(Right::new(Resource::Calendar, Verb::Delete, PROS_ONLY)),
        query: &[],
        body: BodySchema::None,
        answer: AnswerSchema::Record,
        handler: handler!(InGroup, delete),
    },
];

impl CrudRecord for Calendar {
    fn table() -> &'static Table<Self> {
        &CALENDAR
    }

    fn change(put: Put<Self>) -> RecordChange {
        RecordChange::Calendar(put)
    }

    fn is_visible(calendar: &Self, state: &GroupState, audience: Audience) -> bool {
        audience >= Audience::Pro || state.catalogue.calendar_hidden(calendar.id).is_none()
    }

    fn is_left_out(calendar: &Self) -> bool {
        calendar.deleted
    }
}

/// GET /api/v1/groups/{group_id}/calendars: the calendars that offer all `intervention_ids[]` and
/// belong to any of `calendarset_ids[]`.
async fn list(request: GroupRequest) -> HandlerResult {
    let (audience, now) = (request.audience(), request.now);
    let catalogue = &request.state.catalogue;
    let exists = |id: InterventionId| catalogue.interventions.contains_key(&id);
    let interventions = parse_ids(&request.params, "intervention_ids", InterventionId::new, exists);
    let exists = |id: CalendarsetId| catalogue.calendarsets.contains_key(&id);
    let sets = parse_ids(&request.params, "calendarset_ids", CalendarsetId::new, exists);
    let query = Query::parse(&request.params, &CALENDAR, &request.scope(), audience);
    let (interventions, sets, query) = all_or_faults(interventions, sets, query)?;
    let rows = catalogue.calendars.len() * (1 + interventions.len());
    let with_deleted = query.filters_by_field("deleted");
    let wanted = move |calendar: &Calendar, state: &GroupState| {
        if !Calendar::is_visible(calendar, state, audience) || (calendar.deleted && !with_deleted) {
            return false;
        }
        if !sets.is_empty() {
            let Some(set) = &calendar.calendarset_id else { return false };
            if !sets.contains(set) {
                return false;
            }
        }
        for id in &interventions {
            let is_visible = audience >= Audience::Pro
                || (!state.catalogue.group.inactive
                    && state.catalogue.intervention_hidden(*id).is_none());
            let view = state.calendars.get(&calendar.id).expect("each calendar has a view");
            if !is_visible || !view.rules.offers(state.catalogue.zone(), *id, now) {
                return false;
            }
        }
        true
    };
    let write = move |calendar: &Calendar, scope: &Scope<'_>, bytes: &mut Vec<u8>| {
        CALENDAR.append(calendar, scope, audience, bytes);
    };
    list_response(&request, rows, query, all_calendars, wanted, write).await
}

/// GET /api/v1/interventions/{id}/calendars: the calendars that offer the intervention.
async fn list_for_intervention(mut request: GroupRequest) -> HandlerResult {
    let id = request.id(InterventionId::new)?;
    let state = &request.state;
    let intervention = state.catalogue.interventions.get(&id).ok_or_else(ApiError::no_result)?;
    if !Intervention::is_visible(intervention, state, request.audience()) {
        return Err(ApiError::no_result());
    }
    request.params.push("intervention_ids", &id.to_string());
    list(request).await
}

/// DELETE /api/v1/groups/{group_id}/calendars/{id}.
async fn delete(request: GroupRequest) -> HandlerResult {
    crud::mark_deleted::<Calendar>(request, |calendar| calendar.deleted = true).await
}

fn all_calendars(state: &GroupState) -> Vec<&Calendar> {
    state.catalogue.calendars.values().map(AsRef::as_ref).collect()
}
