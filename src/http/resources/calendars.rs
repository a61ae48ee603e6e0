//! Calendars. Reference 13.2, 3, 4.

use crate::domain::records::calendar::Calendar;
use crate::domain::records::ids::{CalendarsetId, InterventionId};
use crate::domain::records::intervention::Intervention;
use crate::domain::state::command::{Put, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Fault;
use crate::http::error::ApiError;
use crate::http::pipeline::{GroupCall, Outcome};
use crate::http::resources::crud::Resource;
use crate::http::resources::pagination::page;
use crate::wire::calendar::CALENDAR;
use crate::wire::field::{Audience, Scope, Table};
use crate::wire::list::Query;
use crate::wire::query::parse_ids;

impl Resource for Calendar {
    fn table() -> &'static Table<Self> {
        &CALENDAR
    }

    fn change(put: Put<Self>) -> RecordChange {
        RecordChange::Calendar(put)
    }

    fn left_out(calendar: &Self) -> bool {
        calendar.deleted
    }

    fn shown(calendar: &Self, state: &GroupState, audience: Audience) -> bool {
        audience >= Audience::Pro || state.catalogue.calendar_hidden(calendar.id).is_none()
    }
}

/// GET /api/v1/groups/:group_id/calendars: those that offer all of `intervention_ids[]`, of the sets
/// `calendarset_ids[]`.
pub(crate) async fn list(call: GroupCall) -> Outcome {
    let (audience, now) = (call.audience(), call.now);
    let catalogue = &call.state.catalogue;
    let known = |id: InterventionId| catalogue.interventions.contains_key(&id);
    let interventions = parse_ids(&call.params, "intervention_ids", InterventionId::new, known);
    let known = |id: CalendarsetId| catalogue.calendarsets.contains_key(&id);
    let sets = parse_ids(&call.params, "calendarset_ids", CalendarsetId::new, known);
    let query = Query::parse(&call.params, &CALENDAR, &call.scope(), audience);
    let (interventions, sets, query) = all(interventions, sets, query)?;
    let rows = catalogue.calendars.len() * (1 + interventions.len());
    let deleted_too = query.filters_by_field("deleted");
    let wanted = move |calendar: &Calendar, state: &GroupState| {
        Calendar::shown(calendar, state, audience)
            && (deleted_too || !Calendar::left_out(calendar))
            && (sets.is_empty() || calendar.calendarset_id.is_some_and(|set| sets.contains(&set)))
            && interventions.iter().all(|id| {
                let seen = audience >= Audience::Pro
                    || (!state.catalogue.group.inactive
                        && state.catalogue.intervention_hidden(*id).is_none());
                let view = state.calendars.get(&calendar.id).expect("every calendar has a view");
                seen && view.rules.offers(state.catalogue.zone(), *id, now)
            })
    };
    let render =
        move |calendar: &Calendar, scope: &Scope<'_>| CALENDAR.render(calendar, scope, audience);
    page(&call, rows, query, all_calendars, wanted, render).await
}

/// GET /api/v1/interventions/:id/calendars: those that offer the intervention of the path.
pub(crate) async fn list_of_intervention(mut call: GroupCall) -> Outcome {
    let id = call.id(InterventionId::new)?;
    let row = call.state.catalogue.interventions.get(&id).ok_or_else(ApiError::no_result)?;
    if !Intervention::shown(row, &call.state, call.audience()) {
        return Err(ApiError::no_result());
    }
    call.params.push("intervention_ids", id.to_string());
    list(call).await
}

fn all_calendars(state: &GroupState) -> Vec<&Calendar> {
    state.catalogue.calendars.values().map(AsRef::as_ref).collect()
}

/// All three, or everything that is wrong with any.
pub(crate) fn all<A, B, C>(
    a: Result<A, Fault>,
    b: Result<B, Fault>,
    c: Result<C, Vec<Fault>>,
) -> Result<(A, B, C), Vec<Fault>> {
    match (a, b, c) {
        (Ok(a), Ok(b), Ok(c)) => Ok((a, b, c)),
        (a, b, c) => {
            Err(a.err().into_iter().chain(b.err()).chain(c.err().into_iter().flatten()).collect())
        }
    }
}
