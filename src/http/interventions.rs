//! Interventions. Spec 4.4, contract 3, 4.

use serde_json::Value;

use super::calendars::all;
use super::call::{GroupCall, Outcome, ok};
use super::failure::Failure;
use super::listing::page;
use crate::domain::ids::{CalendarId, InterventionId, InterventionsetId};
use crate::domain::intervention::Intervention;
use crate::domain::root::Root;
use crate::wire::field::{Audience, Scope};
use crate::wire::intervention::INTERVENTION;
use crate::wire::list::Query;
use crate::wire::query::{id, ids};

/// GET /api/v1/groups/:group_id/interventions: those of the set `interventionset_id`, offered on any of
/// `calendar_ids[]`.
pub(super) async fn list(call: GroupCall) -> Outcome {
    let (audience, now) = (call.audience(), call.now);
    let catalogue = &call.root.catalogue;
    let known = |id: InterventionsetId| catalogue.interventionsets.contains_key(&id);
    let set = id(&call.params, "interventionset_id", InterventionsetId::new, known);
    let known = |id: CalendarId| catalogue.calendars.contains_key(&id);
    let calendars = ids(&call.params, "calendar_ids", CalendarId::new, known);
    let query = Query::parse(&call.params, &INTERVENTION, &call.scope(), audience);
    let (set, calendars, query) = all(set, calendars, query)?;
    let rows = catalogue.interventions.len() * (1 + calendars.len());
    // Clients that ask about deletion are told of it; all others see what there is to work with.
    let deleted_too = query.names("deleted");
    let wanted = move |intervention: &Intervention, root: &Root| {
        let offered_on = |id: &CalendarId| {
            let seen = audience > Audience::Application
                || (!root.catalogue.group.inactive && root.catalogue.calendar_hidden(*id).is_none());
            let view = root.calendars.get(id).expect("every calendar has a view");
            seen && view.rules.offers(root.catalogue.zone(), intervention.id, now)
        };
        shown(root, intervention, audience)
            && (deleted_too || !intervention.deleted)
            && set.is_none_or(|set| intervention.interventionset_id == Some(set))
            && (calendars.is_empty() || calendars.iter().any(offered_on))
    };
    let render =
        move |intervention: &Intervention, scope: &Scope<'_>| INTERVENTION.render(intervention, scope, audience);
    page(&call, rows, query, all_interventions, wanted, render).await
}

/// GET /api/v1/groups/:group_id/interventions/:id.
pub(super) fn show(call: &GroupCall) -> Outcome {
    let id = call.id(InterventionId::new)?;
    let intervention = call.root.catalogue.interventions.get(&id).ok_or_else(Failure::no_result)?;
    if !shown(&call.root, intervention, call.audience()) {
        return Err(Failure::no_result());
    }
    Ok(ok(&Value::Object(INTERVENTION.render(intervention, &call.scope(), call.audience()))))
}

fn all_interventions(root: &Root) -> Vec<&Intervention> {
    root.catalogue.interventions.values().map(AsRef::as_ref).collect()
}

/// Whether an intervention exists for an audience: to an application, what the module shows.
fn shown(root: &Root, intervention: &Intervention, audience: Audience) -> bool {
    match audience {
        Audience::Application => root.catalogue.intervention_hidden(intervention.id).is_none(),
        Audience::Pro | Audience::Store => true,
    }
}
