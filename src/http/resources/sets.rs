//! Categories of calendars and of interventions, and what a category of calendars offers. Reference 13.3, 13.5, 3, 4.

use crate::domain::records::calendar::Calendarset;
use crate::domain::records::ids::CalendarsetId;
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::state::command::{Put, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::http::error::ApiError;
use crate::http::pipeline::{GroupCall, Outcome};
use crate::http::resources::crud::{self, Resource};
use crate::http::resources::interventions::all_interventions;
use crate::wire::calendar::{CALENDARSET, SHOWN_CALENDARSET};
use crate::wire::field::{Audience, Table};
use crate::wire::intervention::INTERVENTIONSET;

impl Resource for Calendarset {
    fn table() -> &'static Table<Self> {
        &CALENDARSET
    }

    fn table_for(audience: Audience) -> &'static Table<Self> {
        if audience >= Audience::Pro { &CALENDARSET } else { &SHOWN_CALENDARSET }
    }

    fn change(put: Put<Self>) -> RecordChange {
        RecordChange::Calendarset(put)
    }

    fn shown(set: &Self, _: &GroupState, audience: Audience) -> bool {
        audience >= Audience::Pro || !set.hidden
    }
}

impl Resource for Interventionset {
    fn table() -> &'static Table<Self> {
        &INTERVENTIONSET
    }

    fn change(put: Put<Self>) -> RecordChange {
        RecordChange::Interventionset(put)
    }

    fn shown(set: &Self, _: &GroupState, audience: Audience) -> bool {
        audience >= Audience::Pro || !set.publicname.is_blank()
    }
}

/// GET /api/v1/groups/:group_id/calendarsets.
pub(crate) async fn list_of_calendars(call: GroupCall) -> Outcome {
    crud::list(&call, call.state.catalogue.calendarsets.len(), all_of_calendars, |_, _| true).await
}

/// GET /api/v1/groups/:group_id/interventionsets.
pub(crate) async fn list_of_interventions(call: GroupCall) -> Outcome {
    crud::list(&call, call.state.catalogue.interventionsets.len(), all_of_interventions, |_, _| {
        true
    })
    .await
}

/// GET /api/v1/groups/:group_id/calendarsets/:id/interventions: those offered on any live calendar of the set.
pub(crate) async fn interventions(call: GroupCall) -> Outcome {
    let (set, now, audience) = (shown_set(&call)?, call.now, call.audience());
    let wanted = move |intervention: &Intervention, state: &GroupState| {
        offers(state, set, intervention, now, audience)
    };
    crud::list(&call, looked_at(&call), all_interventions, wanted).await
}

/// GET /api/v1/groups/:group_id/calendarsets/:id/interventionsets: those of which some intervention is offered on any
/// live calendar of the set.
pub(crate) async fn interventionsets(call: GroupCall) -> Outcome {
    let (set, now, audience) = (shown_set(&call)?, call.now, call.audience());
    let wanted = move |category: &Interventionset, state: &GroupState| {
        let mut members = state.catalogue.interventions.values();
        members.any(|row| {
            row.interventionset_id == Some(category.id) && offers(state, set, row, now, audience)
        })
    };
    crud::list(&call, looked_at(&call), all_of_interventions, wanted).await
}

fn all_of_calendars(state: &GroupState) -> Vec<&Calendarset> {
    state.catalogue.calendarsets.values().map(AsRef::as_ref).collect()
}

fn all_of_interventions(state: &GroupState) -> Vec<&Interventionset> {
    state.catalogue.interventionsets.values().map(AsRef::as_ref).collect()
}

/// The category of the path, if the caller sees it.
fn shown_set(call: &GroupCall) -> Result<CalendarsetId, ApiError> {
    let id = call.id(CalendarsetId::new)?;
    let set = call.state.catalogue.calendarsets.get(&id).ok_or_else(ApiError::no_result)?;
    if Calendarset::shown(set, &call.state, call.audience()) {
        Ok(id)
    } else {
        Err(ApiError::no_result())
    }
}

/// How many pairs of an intervention and a calendar there are at most.
fn looked_at(call: &GroupCall) -> usize {
    call.state.catalogue.interventions.len() * (1 + call.state.catalogue.calendars.len())
}

/// Whether an intervention is offered on some live calendar of a set, as far as the audience sees both.
fn offers(
    state: &GroupState,
    set: CalendarsetId,
    row: &Intervention,
    now: Instant,
    audience: Audience,
) -> bool {
    let catalogue = &state.catalogue;
    let mut members = catalogue.calendars.values().filter(|calendar| {
        let seen = audience >= Audience::Pro || catalogue.calendar_hidden(calendar.id).is_none();
        calendar.calendarset_id == Some(set) && !calendar.deleted && seen
    });
    !row.deleted
        && (audience >= Audience::Pro || !catalogue.group.inactive)
        && Intervention::shown(row, state, audience)
        && members.any(|calendar| {
            let view = state.calendars.get(&calendar.id).expect("every calendar has a view");
            view.rules.offers(catalogue.zone(), row.id, now)
        })
}
