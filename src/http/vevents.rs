//! Events of calendars. Spec 4.7, contract 1.

use serde_json::Value;

use super::call::{GroupCall, Outcome, ok};
use super::failure::Failure;
use super::listing::{all_rows, page};
use crate::domain::ids::{CalendarId, FicheId, VeventId};
use crate::domain::refusal::Fault;
use crate::domain::root::Root;
use crate::domain::vevent::Vevent;
use crate::wire::field::Scope;
use crate::wire::list::Query;
use crate::wire::query::{id, moment};
use crate::wire::vevent::{VEVENT, start};

/// GET /api/v1/groups/:group_id/vevents: those of `calendar_id`, of `fiche_id`, starting from `start_from` on and before
/// `start_to`; deleted ones included.
pub(super) async fn list(call: GroupCall) -> Outcome {
    let (audience, zone) = (call.audience(), call.zone());
    let mut faults = Vec::new();
    let mut keep = |fault: Fault| faults.push(fault);
    let known = |id: CalendarId| call.root.catalogue.calendars.contains_key(&id);
    let calendar = id(&call.params, "calendar_id", CalendarId::new, known).map_err(&mut keep).unwrap_or_default();
    let known = |id: FicheId| call.root.fiches.contains_key(&id);
    let fiche = id(&call.params, "fiche_id", FicheId::new, known).map_err(&mut keep).unwrap_or_default();
    let from = moment(&call.params, "start_from", zone).map_err(&mut keep).unwrap_or_default();
    let to = moment(&call.params, "start_to", zone).map_err(&mut keep).unwrap_or_default();
    let query = Query::parse(&call.params, &VEVENT, &call.scope(), audience);
    let query = match (query, faults.is_empty()) {
        (Ok(query), true) => query,
        (query, _) => {
            faults.extend(query.err().into_iter().flatten());
            return Err(faults.into());
        }
    };
    let wanted = move |row: &Vevent, _: &Root| {
        calendar.is_none_or(|id| row.calendar_id == id)
            && fiche.is_none_or(|id| row.appointment().is_some_and(|appointment| appointment.fiche_id == id))
            && from.is_none_or(|from| from <= start(row, zone))
            && to.is_none_or(|to| start(row, zone) < to)
    };
    let render = move |row: &Vevent, scope: &Scope<'_>| VEVENT.render(row, scope, audience);
    page(&call, call.root.rows.len(), query, all_rows, wanted, render).await
}

/// GET /api/v1/groups/:group_id/vevents/:id.
pub(super) fn show(call: &GroupCall) -> Outcome {
    let id = call.id(VeventId::new)?;
    let row = call.root.rows.get(&id).ok_or_else(Failure::no_result)?;
    Ok(ok(&Value::Object(VEVENT.render(row, &call.scope(), call.audience()))))
}
