//! Endpoints of interventions. Reference 13.4.

use crate::domain::records::ids::{CalendarId, InterventionsetId};
use crate::domain::records::intervention::Intervention;
use crate::domain::state::command::{Put, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::http::endpoint::{
    Endpoint, EndpointPath, QueryKind, QueryParameter, handler, write_handler,
};
use crate::http::permissions::{ADMINISTRATORS, PUBLIC, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::resources::crud::{self, CrudRecord, DeletableRecord, Deletion};
use crate::http::response::HandlerResult;
use crate::wire::field::{Audience, Table};
use crate::wire::intervention::INTERVENTION;
use crate::wire::query::{FaultCollector, parse_id, parse_ids};

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/interventions");
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/interventions/{id}");

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::tagged_list(&[ALL], handler!(InGroup, list))
        .named("ListInterventions", "List interventions")
        .right(Resource::Intervention, Verb::List, PUBLIC)
        .query(&[
            QueryKind::Id.named("interventionset_id", "only interventions of this interventionset"),
            QueryKind::Ids
                .named("calendar_ids[]", "only interventions that any of these calendars offers"),
        ]),
    Endpoint::get(&[ONE], handler!(InGroup, crud::show::<Intervention>))
        .named("ShowIntervention", "Get an intervention")
        .right(Resource::Intervention, Verb::Show, PUBLIC),
    Endpoint::post(&[ALL], write_handler!(crud::create::<Intervention>))
        .named("MakeIntervention", "Create an intervention")
        .right(Resource::Intervention, Verb::Make, ADMINISTRATORS),
    Endpoint::put(&[ONE], write_handler!(crud::change::<Intervention>))
        .named("ChangeIntervention", "Update an intervention")
        .right(Resource::Intervention, Verb::Change, ADMINISTRATORS)
        .query(&[QueryParameter::EXPECTED]),
    Endpoint::delete(&[ONE], write_handler!(crud::delete::<Intervention>))
        .named("DeleteIntervention", "Mark an intervention as deleted")
        .right(Resource::Intervention, Verb::Delete, ADMINISTRATORS)
        .query(&[QueryParameter::EXPECTED]),
];

impl CrudRecord for Intervention {
    fn table() -> &'static Table<Self> {
        &INTERVENTION
    }

    fn change(put: Put<Self>) -> RecordChange {
        RecordChange::Intervention(put)
    }

    fn is_visible(intervention: &Self, state: &GroupState, audience: Audience) -> bool {
        audience >= Audience::Pro || state.catalogue.intervention_hidden(intervention.id).is_none()
    }

    fn is_left_out(intervention: &Self) -> bool {
        intervention.deleted
    }
}

impl DeletableRecord for Intervention {
    const DELETION: Deletion<Self> = Deletion::Marks(|intervention| intervention.deleted = true);
}

/// GET /api/v1/groups/{group_id}/interventions: the interventions of the set `interventionset_id`
/// that any of `calendar_ids[]` offers.
async fn list(request: GroupRequest) -> HandlerResult {
    let audience = request.audience();
    let now = request.now;
    let catalogue = &request.state.catalogue;
    let params = &request.params;
    let mut faults = FaultCollector::default();
    let exists = |id: InterventionsetId| catalogue.interventionsets.contains_key(&id);
    let set = parse_id(params, "interventionset_id", InterventionsetId::new, exists);
    let set = faults.keep_fault(set);
    let exists = |id: CalendarId| catalogue.calendars.contains_key(&id);
    let calendars = faults.keep_fault(parse_ids(params, "calendar_ids", CalendarId::new, exists));
    let query = faults.finish(crud::parse_query(&request))?;
    let rows = catalogue.interventions.len() * (1 + calendars.len());
    let wanted = move |intervention: &Intervention, state: &GroupState| {
        if set.is_some() && intervention.interventionset_id != set {
            return false;
        }
        calendars.is_empty()
            || calendars.iter().any(|id| {
                let is_visible = audience >= Audience::Pro
                    || (!state.catalogue.group.inactive
                        && state.catalogue.calendar_hidden(*id).is_none());
                let view = state.calendars.get(id).expect("each calendar has a view");
                is_visible && view.rules().offers(state.catalogue.zone(), intervention.id, now)
            })
    };
    crud::list_wanted(&request, query, rows, wanted).await
}
