//! Events of calendars. Reference 13.7, 1.

use serde_json::{Map, Value};

use crate::domain::records::ids::{CalendarId, FicheId, VeventId};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::{Command, PutVevent, VeventDraft};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Fault;
use crate::engine::Committed;
use crate::http::error::ApiError;
use crate::http::pipeline::{GroupCall, Outcome, ok, wrapped};
use crate::http::resources::pagination::page;
use crate::wire::field::{Audience, Scope};
use crate::wire::list::Query;
use crate::wire::query::{parse_id, parse_moment};
use crate::wire::vevent::{VEVENT, first_start, parse, revise};

/// GET /api/v1/groups/:group_id/vevents: those of `calendar_id`, of `fiche_id`, starting from `start_from` on and before
/// `start_to`; deleted ones included.
pub(crate) async fn list(call: GroupCall) -> Outcome {
    let (audience, zone) = (call.audience(), call.zone());
    let mut faults = Vec::new();
    let mut keep = |fault: Fault| faults.push(fault);
    let known = |id: CalendarId| call.state.catalogue.calendars.contains_key(&id);
    let calendar = parse_id(&call.params, "calendar_id", CalendarId::new, known)
        .map_err(&mut keep)
        .unwrap_or_default();
    let known = |id: FicheId| call.state.fiches.contains_key(&id);
    let fiche = parse_id(&call.params, "fiche_id", FicheId::new, known)
        .map_err(&mut keep)
        .unwrap_or_default();
    let from =
        parse_moment(&call.params, "start_from", zone).map_err(&mut keep).unwrap_or_default();
    let to = parse_moment(&call.params, "start_to", zone).map_err(&mut keep).unwrap_or_default();
    let query = Query::parse(&call.params, &VEVENT, &call.scope(), audience);
    let query = match (query, faults.is_empty()) {
        (Ok(query), true) => query,
        (query, _) => {
            faults.extend(query.err().into_iter().flatten());
            return Err(faults.into());
        }
    };
    let wanted = move |row: &Vevent, _: &GroupState| {
        calendar.is_none_or(|id| row.calendar_id == id)
            && fiche.is_none_or(|id| {
                row.appointment().is_some_and(|appointment| appointment.fiche_id == id)
            })
            && from.is_none_or(|from| from <= first_start(row, zone))
            && to.is_none_or(|to| first_start(row, zone) < to)
    };
    let render = move |row: &Vevent, scope: &Scope<'_>| VEVENT.render(row, scope, audience);
    page(&call, call.state.rows.len(), query, all_rows, wanted, render).await
}

fn all_rows(state: &GroupState) -> Vec<&Vevent> {
    state.rows.values().map(AsRef::as_ref).collect()
}

/// GET /api/v1/groups/:group_id/vevents/:id.
pub(crate) fn show(call: &GroupCall) -> Outcome {
    let id = call.id(VeventId::new)?;
    let row = call.state.rows.get(&id).ok_or_else(ApiError::no_result)?;
    Ok(ok(&Value::Object(VEVENT.render(row, &call.scope(), call.audience()))))
}

/// POST /api/v1/groups/:group_id/vevents: an event of any kind.
pub(crate) async fn make(call: GroupCall) -> Outcome {
    let object = fields(&call)?.clone();
    let draft = VeventDraft::new(move |state, _, draws, at| {
        parse(&object, &Scope::for_group(state), Audience::Pro)
            .map(|input| input.into_vevent(draws.id, draws.key, at, at))
    });
    let audience = call.audience();
    let made = move |done: &Committed| {
        let row = VeventId::new(done.object).and_then(|id| done.group_state.rows.get(&id));
        VEVENT.render(
            row.expect("what was made is there"),
            &Scope::for_group(&done.group_state),
            audience,
        )
    };
    let answer = call.make(Command::PutVevent(PutVevent::Make(draft)), made).await;
    answer.map_err(|failure| failure.calling("date", "start"))
}

/// PUT /api/v1/groups/:group_id/vevents/:id: what is not given stays.
pub(crate) async fn change(call: GroupCall) -> Outcome {
    let id = call.id(VeventId::new)?;
    let object = fields(&call)?.clone();
    let draft = VeventDraft::new(move |state, before, draws, _| {
        let before = before.expect("a change is of an event that is there");
        let input = revise(before, &object, &Scope::for_group(state))?;
        Ok(input.into_vevent(before.id, draws.key, before.created_at, before.updated_at))
    });
    put(&call, PutVevent::Change(id, draft)).await
}

/// DELETE /api/v1/groups/:group_id/vevents/:id: it stays in the list, deleted.
pub(crate) async fn delete(call: GroupCall) -> Outcome {
    let id = call.id(VeventId::new)?;
    put(&call, PutVevent::Delete(id)).await
}

async fn put(call: &GroupCall, command: PutVevent) -> Outcome {
    let command = call.unless_quiet(Command::PutVevent(command), VEVENT.resource);
    let done = call.write(command).await.map_err(|failure| failure.calling("date", "start"))?;
    let row = VeventId::new(done.object)
        .and_then(|id| done.group_state.rows.get(&id))
        .ok_or_else(ApiError::no_result)?;
    Ok(ok(&VEVENT.render(row, &Scope::for_group(&done.group_state), call.audience()).into()))
}

/// The fields of an event, wrapped or bare. Reference 6.
fn fields(call: &GroupCall) -> Result<&Map<String, Value>, ApiError> {
    if call.body.contains_key(VEVENT.resource) {
        wrapped(&call.body, VEVENT.resource)
    } else {
        Ok(&call.body)
    }
}
