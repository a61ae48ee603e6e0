//! Endpoints of calendarsets and interventionsets, and of the interventions that a calendarset
//! offers. Reference 13.3, 13.5.

use crate::domain::records::calendar::Calendarset;
use crate::domain::records::ids::CalendarsetId;
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::state::command::{Put, RecordChange};
use crate::domain::state::editable_record::EditableRecord as _;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::http::endpoint::{Endpoint, EndpointPath, handler, write_handler};
use crate::http::permissions::{ADMINISTRATORS, PUBLIC, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::resources::crud::{self, CrudRecord, DeletableRecord, Deletion};
use crate::http::response::HandlerResult;
use crate::wire::calendar::{CALENDARSET as CALENDARSET_FIELDS, SHOWN_CALENDARSET};
use crate::wire::field::{Audience, Table};
use crate::wire::intervention::INTERVENTIONSET as INTERVENTIONSET_FIELDS;

const CALENDARSETS: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/calendarsets");
const CALENDARSET: EndpointPath =
    EndpointPath::current("/api/v1/groups/{group_id}/calendarsets/{id}");
const INTERVENTIONSETS: EndpointPath =
    EndpointPath::current("/api/v1/groups/{group_id}/interventionsets");
const INTERVENTIONSET: EndpointPath =
    EndpointPath::current("/api/v1/groups/{group_id}/interventionsets/{id}");

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::tagged_list(&[CALENDARSETS], handler!(InGroup, crud::list::<Calendarset>))
        .named("ListCalendarsets", "List calendarsets")
        .right(Resource::Calendarset, Verb::List, PUBLIC),
    Endpoint::post(&[CALENDARSETS], write_handler!(crud::create::<Calendarset>))
        .named("MakeCalendarset", "Create a calendarset")
        .right(Resource::Calendarset, Verb::Make, ADMINISTRATORS),
    Endpoint::get(&[CALENDARSET], handler!(InGroup, crud::show::<Calendarset>))
        .named("ShowCalendarset", "Get a calendarset")
        .right(Resource::Calendarset, Verb::Show, PUBLIC),
    Endpoint::put(&[CALENDARSET], write_handler!(crud::change::<Calendarset>))
        .named("ChangeCalendarset", "Update a calendarset")
        .right(Resource::Calendarset, Verb::Change, ADMINISTRATORS),
    Endpoint::delete(&[CALENDARSET], write_handler!(crud::delete::<Calendarset>))
        .named("RemoveCalendarset", "Remove a calendarset; its calendars remain")
        .right(Resource::Calendarset, Verb::Delete, ADMINISTRATORS),
    Endpoint::tagged_list(
        &[EndpointPath::current("/api/v1/groups/{group_id}/calendarsets/{id}/interventions")],
        handler!(InGroup, list_offered_interventions),
    )
    .named(
        "ListInterventionsOfSet",
        "List the interventions that the calendars of a calendarset offer",
    )
    .right(Resource::Intervention, Verb::List, PUBLIC)
    .tagged("calendarsets"),
    Endpoint::tagged_list(
        &[EndpointPath::current("/api/v1/groups/{group_id}/calendarsets/{id}/interventionsets")],
        handler!(InGroup, list_offered_interventionsets),
    )
    .named(
        "ListInterventionsetsOfSet",
        "List the interventionsets that the calendars of a calendarset offer",
    )
    .right(Resource::Interventionset, Verb::List, PUBLIC)
    .tagged("calendarsets"),
    Endpoint::tagged_list(&[INTERVENTIONSETS], handler!(InGroup, crud::list::<Interventionset>))
        .named("ListInterventionsets", "List interventionsets")
        .right(Resource::Interventionset, Verb::List, PUBLIC),
    Endpoint::post(&[INTERVENTIONSETS], write_handler!(crud::create::<Interventionset>))
        .named("MakeInterventionset", "Create an interventionset")
        .right(Resource::Interventionset, Verb::Make, ADMINISTRATORS),
    Endpoint::get(&[INTERVENTIONSET], handler!(InGroup, crud::show::<Interventionset>))
        .named("ShowInterventionset", "Get an interventionset")
        .right(Resource::Interventionset, Verb::Show, PUBLIC),
    Endpoint::put(&[INTERVENTIONSET], write_handler!(crud::change::<Interventionset>))
        .named("ChangeInterventionset", "Update an interventionset")
        .right(Resource::Interventionset, Verb::Change, ADMINISTRATORS),
    Endpoint::delete(&[INTERVENTIONSET], write_handler!(crud::delete::<Interventionset>))
        .named("RemoveInterventionset", "Remove an interventionset; its interventions remain")
        .right(Resource::Interventionset, Verb::Delete, ADMINISTRATORS),
];

impl CrudRecord for Calendarset {
    fn table() -> &'static Table<Self> {
        &CALENDARSET_FIELDS
    }

    fn table_for(audience: Audience) -> &'static Table<Self> {
        if audience >= Audience::Pro { &CALENDARSET_FIELDS } else { &SHOWN_CALENDARSET }
    }

    fn change(put: Put<Self>) -> RecordChange {
        RecordChange::Calendarset(put)
    }

    fn is_visible(set: &Self, _: &GroupState, audience: Audience) -> bool {
        audience >= Audience::Pro || !set.hidden
    }
}

impl CrudRecord for Interventionset {
    fn table() -> &'static Table<Self> {
        &INTERVENTIONSET_FIELDS
    }

    fn change(put: Put<Self>) -> RecordChange {
        RecordChange::Interventionset(put)
    }

    fn is_visible(set: &Self, _: &GroupState, audience: Audience) -> bool {
        audience >= Audience::Pro || !set.publicname.is_blank()
    }
}

impl DeletableRecord for Calendarset {
    const DELETION: Deletion<Self> = Deletion::Removes(RecordChange::RemoveCalendarset);
}

impl DeletableRecord for Interventionset {
    const DELETION: Deletion<Self> = Deletion::Removes(RecordChange::RemoveInterventionset);
}

/// GET /api/v1/groups/{group_id}/calendarsets/{id}/interventions: the interventions that any
/// undeleted calendar of the set offers.
async fn list_offered_interventions(request: GroupRequest) -> HandlerResult {
    let set = crud::find_visible::<Calendarset>(&request)?.id;
    let now = request.now;
    let audience = request.audience();
    let wanted = move |intervention: &Intervention, state: &GroupState| {
        is_offered(state, set, intervention, now, audience)
    };
    crud::list_wanted(&request, crud::parse_query(&request)?, pairs_max(&request), wanted).await
}

/// GET /api/v1/groups/{group_id}/calendarsets/{id}/interventionsets: the interventionsets with an
/// intervention that any undeleted calendar of the set offers.
async fn list_offered_interventionsets(request: GroupRequest) -> HandlerResult {
    let set = crud::find_visible::<Calendarset>(&request)?.id;
    let now = request.now;
    let audience = request.audience();
    let wanted = move |interventionset: &Interventionset, state: &GroupState| {
        Intervention::all(state).any(|intervention| {
            intervention.interventionset_id == Some(interventionset.id)
                && is_offered(state, set, intervention, now, audience)
        })
    };
    crud::list_wanted(&request, crud::parse_query(&request)?, pairs_max(&request), wanted).await
}

/// Upper bound on the pairs of intervention and calendar that a search for offers looks at.
fn pairs_max(request: &GroupRequest) -> usize {
    let catalogue = &request.state.catalogue;
    catalogue.interventions.len() * (1 + catalogue.calendars.len())
}

/// Whether any undeleted calendar of a set offers an intervention, and the audience sees both.
fn is_offered(
    state: &GroupState,
    set: CalendarsetId,
    intervention: &Intervention,
    now: Instant,
    audience: Audience,
) -> bool {
    let catalogue = &state.catalogue;
    let is_pro = audience >= Audience::Pro;
    if intervention.deleted
        || (catalogue.group.inactive && !is_pro)
        || !Intervention::is_visible(intervention, state, audience)
    {
        return false;
    }
    catalogue.calendars.values().any(|calendar| {
        let view = state.calendars.get(&calendar.id).expect("each calendar has a view");
        calendar.calendarset_id == Some(set)
            && !calendar.deleted
            && (is_pro || catalogue.calendar_hidden(calendar.id).is_none())
            && view.rules().offers(catalogue.zone(), intervention.id, now)
    })
}
