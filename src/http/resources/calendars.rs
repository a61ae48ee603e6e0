//! Endpoints of calendars. Reference 13.2.

use crate::domain::records::calendar::Calendar;
use crate::domain::records::ids::{CalendarsetId, InterventionId};
use crate::domain::records::intervention::Intervention;
use crate::domain::state::command::{Put, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::http::endpoint::{
    Endpoint, EndpointPath, QueryKind, QueryParameter, handler, write_handler,
};
use crate::http::legacy_paths::LegacyRecord;
use crate::http::permissions::{ADMINISTRATORS, PUBLIC, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::resources::crud::{self, CrudRecord, DeletableRecord, Deletion};
use crate::http::response::HandlerResult;
use crate::wire::calendar::CALENDAR;
use crate::wire::field::{Audience, Table};
use crate::wire::query::{FaultCollector, parse_ids};

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/calendars");
const ALL_LEGACY: EndpointPath = EndpointPath::legacy("/api/v1/calendars", LegacyRecord::Calendar);
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/calendars/{id}");
const ONE_LEGACY: EndpointPath =
    EndpointPath::legacy("/api/v1/calendars/{id}", LegacyRecord::Calendar);

const LIST_PARAMETERS: &[QueryParameter] = &[
    QueryKind::Ids.named("intervention_ids[]", "only calendars that offer all these interventions"),
    QueryKind::Ids.named("calendarset_ids[]", "only calendars of these calendarsets"),
];

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::tagged_list(&[ALL, ALL_LEGACY], handler!(InGroup, list))
        .named("ListCalendars", "List calendars")
        .right(Resource::Calendar, Verb::List, PUBLIC)
        .query(LIST_PARAMETERS),
    Endpoint::tagged_list(
        &[EndpointPath::legacy("/api/v1/interventions/{id}/calendars", LegacyRecord::Intervention)],
        handler!(InGroup, list_for_intervention),
    )
    .named("ListCalendarsOfIntervention", "List the calendars that offer an intervention")
    .right(Resource::Calendar, Verb::List, PUBLIC)
    .query(LIST_PARAMETERS),
    Endpoint::get(&[ONE, ONE_LEGACY], handler!(InGroup, crud::show::<Calendar>))
        .named("ShowCalendar", "Get a calendar")
        .right(Resource::Calendar, Verb::Show, PUBLIC),
    Endpoint::post(&[ALL, ALL_LEGACY], write_handler!(crud::create::<Calendar>))
        .named("MakeCalendar", "Create a calendar")
        .right(Resource::Calendar, Verb::Make, ADMINISTRATORS),
    Endpoint::put(&[ONE, ONE_LEGACY], write_handler!(crud::change::<Calendar>))
        .named("ChangeCalendar", "Update a calendar")
        .right(Resource::Calendar, Verb::Change, ADMINISTRATORS)
        .query(&[QueryParameter::EXPECTED]),
    Endpoint::delete(&[ONE, ONE_LEGACY], write_handler!(crud::delete::<Calendar>))
        .named("DeleteCalendar", "Mark a calendar as deleted")
        .right(Resource::Calendar, Verb::Delete, ADMINISTRATORS)
        .query(&[QueryParameter::EXPECTED]),
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

impl DeletableRecord for Calendar {
    const DELETION: Deletion<Self> = Deletion::Marks(|calendar| calendar.deleted = true);
}

/// GET /api/v1/groups/{group_id}/calendars: the calendars that offer all `intervention_ids[]` and
/// belong to any of `calendarset_ids[]`.
async fn list(request: GroupRequest) -> HandlerResult {
    let audience = request.audience();
    let now = request.now;
    let catalogue = &request.state.catalogue;
    let params = &request.params;
    let mut faults = FaultCollector::default();
    let exists = |id: InterventionId| catalogue.interventions.contains_key(&id);
    let interventions = parse_ids(params, "intervention_ids", InterventionId::new, exists);
    let interventions = faults.keep_fault(interventions);
    let exists = |id: CalendarsetId| catalogue.calendarsets.contains_key(&id);
    let sets = faults.keep_fault(parse_ids(params, "calendarset_ids", CalendarsetId::new, exists));
    let query = faults.finish(crud::parse_query(&request))?;
    let rows = catalogue.calendars.len() * (1 + interventions.len());
    let wanted = move |calendar: &Calendar, state: &GroupState| {
        if !calendar.is_in_sets(&sets) {
            return false;
        }
        interventions.iter().all(|id| {
            let is_visible = audience >= Audience::Pro
                || (!state.catalogue.group.inactive
                    && state.catalogue.intervention_hidden(*id).is_none());
            let view = state.calendars.get(&calendar.id).expect("each calendar has a view");
            is_visible && view.rules().offers(state.catalogue.zone(), *id, now)
        })
    };
    crud::list_wanted(&request, query, rows, wanted).await
}

/// GET /api/v1/interventions/{id}/calendars: the calendars that offer the intervention.
async fn list_for_intervention(mut request: GroupRequest) -> HandlerResult {
    let id = crud::find_visible::<Intervention>(&request)?.id;
    request.params.push("intervention_ids", &id.to_string());
    list(request).await
}
