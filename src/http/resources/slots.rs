//! GET availabletimeslots. Reference 4.

use std::sync::Arc;

use axum::http::StatusCode;

use crate::domain::booking::bookable::{bookable, lead_times};
use crate::domain::booking::slot_request::SlotRequest;
use crate::domain::booking::slots::free_starts;
use crate::domain::records::ids::CalendarId;
use crate::domain::state::command::Caller;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{DAY, Instant, MINUTE};
use crate::http::error::ApiError;
use crate::http::pipeline::{GroupCall, Outcome, json, ok};
use crate::wire::field::Scope;
use crate::wire::slots::{SearchGoal, SlotSearch, SlotsAnswer, parse_from_web, render_explanation};

/// Grid points up to which a search is answered where it stands: well under a millisecond.
const POINTS_AT_ONCE: i64 = 20_000;
/// Calendars up to which a start is explained where it stands.
const EXPLAINED_AT_ONCE: usize = 20;
/// Seconds that are searched in one go, so that what is found is bounded.
const STRETCH: i64 = 31 * DAY;

/// GET /api/v1/groups/:group_id/availabletimeslots.
pub(crate) async fn search(call: GroupCall) -> Outcome {
    may_search(&call)?;
    let search = SlotSearch::parse(&call.params, &call.state, call.caller(), call.now)?;
    let GroupCall { server, state, now, .. } = &call;
    match search.goal {
        SearchGoal::All | SearchGoal::First => {
            let bytes = if points(&search, state, *now) <= POINTS_AT_ONCE {
                find(&search, state, *now)
            } else {
                let (state, now) = (Arc::clone(state), *now);
                server.computing.run(move || find(&search, &state, now)).await?
            };
            Ok(json(StatusCode::OK, bytes))
        }
        SearchGoal::Explanation(start) => {
            let audience = call.audience();
            let to_web = !matches!(call.caller(), Caller::Pro(_));
            let value = if search.calendars.len() <= EXPLAINED_AT_ONCE {
                let verdicts = verdicts(&search, state, start, *now, to_web);
                render_explanation(start, &verdicts, &call.scope(), audience)
            } else {
                let (state, now) = (Arc::clone(state), *now);
                let explain = move || {
                    let verdicts = verdicts(&search, &state, start, now, to_web);
                    render_explanation(start, &verdicts, &Scope::for_group(&state), audience)
                };
                server.computing.run(explain).await?
            };
            Ok(ok(&value))
        }
    }
}

/// A key alone sees slots only where the group shows them to everybody, an account always; only professionals look past
/// the module.
fn may_search(call: &GroupCall) -> Result<(), ApiError> {
    match call.caller() {
        Caller::Pro(_) => drop(parse_from_web(&call.params)?),
        Caller::Application if !call.state.catalogue.group.open_data => {
            return Err(ApiError::unauthorized(
                "this group shows its free times to logged-in clients only",
            ));
        }
        Caller::Application | Caller::Account(_) if parse_from_web(&call.params) == Ok(false) => {
            return Err(ApiError::unauthorized("from_web=0 is for professionals of the group"));
        }
        Caller::Application | Caller::Account(_) => drop(parse_from_web(&call.params)?),
    }
    Ok(())
}

/// At most how many points of grids a search looks at.
fn points(search: &SlotSearch, state: &GroupState, now: Instant) -> i64 {
    let of = |id: &CalendarId| {
        let calendar = state.catalogue.calendars.get(id)?;
        let (_, latest) = lead_times(&state.catalogue, *id, now)?;
        let end = if search.mode.follows_module_rules() {
            search.window.end.min(latest)
        } else {
            search.window.end
        };
        Some(
            end.seconds_since(search.window.start).max(0)
                / (calendar.generate_interval.number() * MINUTE),
        )
    };
    search.calendars.iter().filter_map(of).sum()
}

/// The answer of a search: the starts of all calendars merged, stretch by stretch.
fn find(search: &SlotSearch, state: &GroupState, now: Instant) -> Vec<u8> {
    let catalogue = &state.catalogue;
    let mut answer = SlotsAnswer::new(search, catalogue.group.id, catalogue.zone());
    let mut starts: Vec<Instant> = Vec::new();
    let mut found: Vec<(Instant, usize)> = Vec::new();
    let mut from = search.window.start;
    while from < search.window.end {
        let stretch =
            Interval { start: from, end: from.plus_seconds(STRETCH).min(search.window.end) };
        from = stretch.end;
        found.clear();
        for (place, id) in search.calendars.iter().enumerate() {
            let view = state.calendars.get(id).expect("every calendar has a view");
            starts.clear();
            free_starts(catalogue, view, &search.chain, stretch, now, search.mode, &mut starts);
            found.extend(starts.iter().map(|start| (*start, place)));
        }
        // Each calendar's starts ascend already: the sort finds the runs and merges them.
        found.sort();
        for slot in found.chunk_by(|a, b| a.0 == b.0).filter(|slot| slot.len() >= search.at_least) {
            answer.append_slot(slot[0].0, slot.iter().map(|(_, place)| *place));
            if search.goal == SearchGoal::First {
                return answer.finish();
            }
        }
    }
    answer.finish()
}

/// What each calendar of a search says to one start. Callers of the module are not told of calendars that the module does not
/// show, unless it named them.
fn verdicts(
    search: &SlotSearch,
    state: &GroupState,
    start: Instant,
    now: Instant,
    to_web: bool,
) -> Vec<(CalendarId, Result<(), Vec<crate::domain::booking::obstacle::Obstacle>>)> {
    let catalogue = &state.catalogue;
    let hidden = |id: &&CalendarId| {
        to_web && !search.names_calendars() && catalogue.calendar_hidden(**id).is_some()
    };
    let request = SlotRequest { chain: search.chain.clone(), start, mode: search.mode };
    let verdict = |id: &CalendarId| {
        let view = state.calendars.get(id).expect("every calendar has a view");
        (*id, bookable(catalogue, view, &request, now))
    };
    search.calendars.iter().filter(|id| !hidden(id)).map(verdict).collect()
}
