//! Interventions. Reference 13.4, 3, 4.

use crate::domain::records::ids::{CalendarId, InterventionsetId};
use crate::domain::records::intervention::Intervention;
use crate::domain::state::command::{Put, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::http::pipeline::{GroupCall, Outcome};
use crate::http::resources::calendars::all;
use crate::http::resources::crud::Resource;
use crate::http::resources::pagination::page;
use crate::wire::field::{Audience, Scope, Table};
use crate::wire::intervention::INTERVENTION;
use crate::wire::list::Query;
use crate::wire::query::{parse_id, parse_ids};

impl Resource for Intervention {
    fn table() -> &'static Table<Self> {
        &INTERVENTION
    }

    fn change(put: Put<Self>) -> RecordChange {
        RecordChange::Intervention(put)
    }

    fn left_out(intervention: &Self) -> bool {
        intervention.deleted
    }

    fn shown(intervention: &Self, state: &GroupState, audience: Audience) -> bool {
        audience >= Audience::Pro || state.catalogue.intervention_hidden(intervention.id).is_none()
    }
}

/// GET /api/v1/groups/:group_id/interventions: those of the set `interventionset_id`, offered on any of
/// `calendar_ids[]`.
pub(crate) async fn list(call: GroupCall) -> Outcome {
    let (audience, now) = (call.audience(), call.now);
    let catalogue = &call.state.catalogue;
    let known = |id: InterventionsetId| catalogue.interventionsets.contains_key(&id);
    let set = parse_id(&call.params, "interventionset_id", InterventionsetId::new, known);
    let known = |id: CalendarId| catalogue.calendars.contains_key(&id);
    let calendars = parse_ids(&call.params, "calendar_ids", CalendarId::new, known);
    let query = Query::parse(&call.params, &INTERVENTION, &call.scope(), audience);
    let (set, calendars, query) = all(set, calendars, query)?;
    let rows = catalogue.interventions.len() * (1 + calendars.len());
    let deleted_too = query.filters_by_field("deleted");
    let wanted = move |intervention: &Intervention, state: &GroupState| {
        let offered_on = |id: &CalendarId| {
            let seen = audience >= Audience::Pro
                || (!state.catalogue.group.inactive
                    && state.catalogue.calendar_hidden(*id).is_none());
            let view = state.calendars.get(id).expect("every calendar has a view");
            seen && view.rules.offers(state.catalogue.zone(), intervention.id, now)
        };
        Intervention::shown(intervention, state, audience)
            && (deleted_too || !Intervention::left_out(intervention))
            && set.is_none_or(|set| intervention.interventionset_id == Some(set))
            && (calendars.is_empty() || calendars.iter().any(offered_on))
    };
    let render = move |intervention: &Intervention, scope: &Scope<'_>| {
        INTERVENTION.render(intervention, scope, audience)
    };
    page(&call, rows, query, all_interventions, wanted, render).await
}

pub(crate) fn all_interventions(state: &GroupState) -> Vec<&Intervention> {
    state.catalogue.interventions.values().map(AsRef::as_ref).collect()
}
