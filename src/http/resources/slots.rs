//! The endpoint of free slots. Reference 4.7, 4.8.

use std::future::ready;
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::http::StatusCode;

use crate::domain::availability::bookable::bookable;
use crate::domain::availability::merged_starts::SearchExtent;
use crate::domain::availability::obstacle::Obstacle;
use crate::domain::availability::slot_request::SlotRequest;
use crate::domain::records::ids::CalendarId;
use crate::domain::state::command::Caller;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{DAY, Instant};
use crate::http::endpoint::{
    Answer, Endpoint, EndpointPath, GroupHandler, Handler, HandlerFuture, KeyedHandler, QueryKind,
    QueryParameter, Shape, handler,
};
use crate::http::error::ApiError;
use crate::http::permissions::{Resource, SHOWN_OR_ALLOWED, Verb};
use crate::http::request::GroupRequest;
use crate::http::response::{HandlerResult, json_response, ok_response};
use crate::planted_faults::PlantedFault;
use crate::wire::field::Scope;
use crate::wire::schema::schema_of;
use crate::wire::slots::{Explanation, SearchGoal, SlotSearch, parse_from_web};
use crate::wire::slots_answer::{SlotsAnswer, slots_schema};

/// Maximum cost of a search on a thread that serves connections: well under a millisecond.
pub(crate) const INLINE_COST_MAX: i64 = 50_000;
/// Maximum number of calendars of an explanation on a thread that serves connections.
const INLINE_CALENDARS_MAX: usize = 20;
/// Length in seconds of the part of a search for the first start that is searched on the
/// connection's thread: its first three steps.
const FIRST_INLINE_SECONDS: i64 = 7 * DAY;

const CALENDARS_MIN: QueryKind = QueryKind::Integer { min: 1, max: 1_000 };

const CHAIN: QueryParameter = QueryKind::RequiredIds
    .named("intervention_ids[]", "the interventions, in order, each right after the one before");
const CALENDAR: QueryParameter =
    QueryKind::IdOrZero.named("calendar_id", "only this calendar; 0 for any calendar");
const CALENDARS: QueryParameter = QueryKind::Ids.named("calendar_ids[]", "only these calendars");
const SETS: QueryParameter =
    QueryKind::Ids.named("calendarset_ids[]", "only calendars of these calendarsets");
const FROM_WEB: QueryParameter =
    QueryKind::Flag.named("from_web", "false, for professionals: ignore the rules of the module");

const HOLD: QueryParameter =
    QueryKind::Text.named("hold", "the token of the caller's hold, whose time counts as free");
const MOVED: QueryParameter = QueryKind::Id.named(
    "appointment_id",
    "the appointment to move: only its calendar and its length, and its time counts as free",
);
const SECRET: QueryParameter =
    QueryKind::Text.named("key", "the secret of that appointment, for callers that do not own it");

const SLOTS: Answer =
    Answer::json(200, "the free slots, ascending", Shape::Named("Slots", slots_schema));
const EXPLANATION: Answer = Answer::json(
    200,
    "the obstacles of the start on each calendar",
    Shape::Named("Explanation", schema_of::<Explanation>),
);

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::get(
        &[EndpointPath::current("/api/v1/groups/{group_id}/availabletimeslots")],
        Handler::Keyed(KeyedHandler::InGroup(GroupHandler::Answer(search))),
    )
    .named("SearchSlots", "Find free slots")
    .right(Resource::Slot, Verb::List, SHOWN_OR_ALLOWED)
    .tagged("availabletimeslots")
    .query(&[
        CHAIN,
        CALENDAR,
        CALENDARS,
        SETS,
        FROM_WEB,
        HOLD,
        MOVED,
        SECRET,
        QueryKind::DateTime.named("start", "the start of the search; by default now"),
        QueryKind::DateTime.named(
            "end",
            "the end of the search, at most 366 days after its start; excludes nDays",
        ),
        QueryKind::Integer { min: 1, max: 366 }.named(
            "nDays",
            "the number of local days to search; by default 7, unless end is given",
        ),
        CALENDARS_MIN.named("cal_qty", "the minimum number of free calendars of a slot"),
        CALENDARS_MIN.named("min_capacity", "the same as cal_qty"),
        QueryKind::Flag.named("first", "only the first free slot, searched up to maxrdv_period"),
        QueryKind::Flag.named(
            "instants",
            "true: also the end of each slot, and both as instants, RFC 3339 in UTC",
        ),
        QueryKind::OneOf(&["day"]).named(
            "by",
            "day: only the first free slot of each day, with the number of the day's; excludes \
             first",
        ),
    ])
    .answers(&[SLOTS]),
    Endpoint::get(
        &[EndpointPath::current("/api/v1/groups/{group_id}/availabletimeslots/explanation")],
        handler!(InGroup, explain_start),
    )
    .named("ExplainStart", "List the rules that refuse a start")
    .right(Resource::Slot, Verb::List, SHOWN_OR_ALLOWED)
    .tagged("availabletimeslots")
    .query(&[
        CHAIN,
        CALENDAR,
        CALENDARS,
        SETS,
        FROM_WEB,
        HOLD,
        MOVED,
        SECRET,
        QueryKind::RequiredDateTime.named("start", "the start to explain"),
    ])
    .answers(&[EXPLANATION]),
];

/// GET /api/v1/groups/{group_id}/availabletimeslots.
///
/// Most searches end here. Their future has no room for the others, which every search would fill.
fn search(mut request: GroupRequest) -> HandlerFuture<'static> {
    let group = request.state.catalogue.group.id;
    if PlantedFault::SearchOneBehind.is_active()
        && let Some(former) = request.server.engine.published().former_state(group)
    {
        request.state = former;
    }
    let search = match parse_search(&request) {
        Ok(search) => search,
        Err(error) => return Box::pin(ready(Err(error))),
    };
    match search.goal {
        SearchGoal::All | SearchGoal::Days | SearchGoal::First => find(request, search),
        SearchGoal::Explanation(start) => Box::pin(explain(request, search, start)),
    }
}

fn parse_search(request: &GroupRequest) -> Result<SlotSearch, ApiError> {
    check_search_right(request)?;
    let GroupRequest { params, state, now, .. } = request;
    Ok(SlotSearch::parse(params, state, request.caller(), &request.sight(), *now)?)
}

/// GET /api/v1/groups/{group_id}/availabletimeslots/explanation. The parameter `explain` of the
/// search is the older form.
async fn explain_start(request: GroupRequest) -> HandlerResult {
    check_search_right(&request)?;
    let (search, start) = SlotSearch::parse_explained(
        &request.params,
        &request.state,
        request.caller(),
        &request.sight(),
        request.now,
    )?;
    explain(request, search, start).await
}

/// Checks that the caller may search. A key alone may search only if the group allows it, an
/// account always. Only professionals may ignore the rules of the module.
fn check_search_right(request: &GroupRequest) -> Result<(), ApiError> {
    let from_web = parse_from_web(&request.params);
    match request.caller() {
        Caller::Pro(_) => {}
        Caller::Application if !request.state.catalogue.group.open_data => {
            return Err(ApiError::unauthorized(
                "this group shows its free slots to accounts only: log in",
            ));
        }
        Caller::Application | Caller::Account(_) => {
            if from_web == Ok(false) {
                return Err(ApiError::unauthorized("from_web=0 is for professionals of the group"));
            }
        }
    }
    from_web?;
    Ok(())
}

fn find(request: GroupRequest, search: SlotSearch) -> HandlerFuture<'static> {
    let now = request.now;
    let whole = search.window;
    let cost = search.estimate_cost(&request.state, whole, now);
    let inline =
        if cost <= INLINE_COST_MAX { whole } else { inline_part(&search, &request.state, now) };
    let catalogue = &request.state.catalogue;
    let mut answer = SlotsAnswer::new(&search, catalogue.group.id, catalogue.zone());
    let is_complete = append_slots(&mut answer, &search, inline, &request.state, now);
    if is_complete || inline == whole {
        let answer = json_response(StatusCode::OK, answer.finish());
        return Box::pin(ready(request.server.body_limits.hold_answer(answer, request.from)));
    }
    let state = Arc::clone(&request.state);
    let rest = Interval { start: inline.end, end: whole.end };
    let compute = move || {
        append_slots(&mut answer, &search, rest, &state, now);
        answer.finish()
    };
    Box::pin(async move {
        let bytes = request.server.blocking_pool.run_weighed(cost, compute).await?;
        let answer = json_response(StatusCode::OK, bytes);
        request.server.body_limits.hold_answer(answer, request.from)
    })
}

/// Returns the beginning of a long search's window that is searched on the connection's thread.
/// Most searches for the first start end there. It is empty for a search of all starts.
fn inline_part(search: &SlotSearch, state: &GroupState, now: Instant) -> Interval {
    let start = search.window.start;
    let nothing = Interval { start, end: start };
    match search.goal {
        SearchGoal::All | SearchGoal::Days | SearchGoal::Explanation(_) => nothing,
        SearchGoal::First => {
            let end = start.plus_seconds(FIRST_INLINE_SECONDS).min(search.window.end);
            let part = Interval { start, end };
            let cost = search.estimate_cost(state, part, now);
            if cost <= INLINE_COST_MAX { part } else { nothing }
        }
    }
}

/// Explains the calendars that the caller reads.
async fn explain(request: GroupRequest, mut search: SlotSearch, start: Instant) -> HandlerResult {
    let sight = request.sight();
    search.calendars.retain(|calendar| sight.shows_calendar(*calendar));
    let now = request.now;
    let audience = request.audience();
    let is_pro = matches!(request.caller(), Caller::Pro(_));
    let cost = estimate_explanation_cost(&search, &request.state, start);
    let value = if search.calendars.len() <= INLINE_CALENDARS_MAX && cost <= INLINE_COST_MAX {
        let verdicts = judge_calendars(&search, &request.state, start, now, is_pro);
        Explanation::new(start, &verdicts, &request.scope(), audience)
    } else {
        let state = Arc::clone(&request.state);
        let compute = move || {
            let verdicts = judge_calendars(&search, &state, start, now, is_pro);
            Explanation::new(start, &verdicts, &Scope::for_group(&state), audience)
        };
        Box::pin(request.server.blocking_pool.run_weighed(cost, compute)).await?
    };
    Ok(ok_response(&value))
}

/// Returns an upper bound on the occurrences that an explanation of a start looks at.
fn estimate_explanation_cost(search: &SlotSearch, state: &GroupState, start: Instant) -> i64 {
    let span = Interval { start, end: start.plus_seconds(search.chain.length_seconds()) };
    let mut cost: i64 = 0;
    for id in &search.calendars {
        let view = state.calendars.get(id).expect("each calendar has a view");
        let occurrences = view.rules().count_looked_at(state.catalogue.zone(), span);
        cost = cost.saturating_add(occurrences);
    }
    cost
}

/// Appends the starts of all calendars within `window`, merged and ascending. Returns whether the
/// answer is complete before the end of the window: it has the first start, and no other is wanted.
fn append_slots(
    answer: &mut SlotsAnswer,
    search: &SlotSearch,
    window: Interval,
    state: &GroupState,
    now: Instant,
) -> bool {
    let starts = search.start_search(state, now);
    match search.goal {
        SearchGoal::First | SearchGoal::Explanation(_) => {
            let found = starts.each_start(window, SearchExtent::Nearest, |start, free| {
                answer.append_slots(std::iter::once(start), free);
                ControlFlow::Break(())
            });
            found.is_break()
        }
        SearchGoal::All => {
            let found = starts.each_step(window, SearchExtent::Whole, |step| {
                answer.reserve(step.count_max());
                step.each_run(|starts, free| {
                    answer.append_slots(starts, free);
                    ControlFlow::Continue(())
                })
            });
            found.is_break()
        }
        SearchGoal::Days => {
            for day in starts.count_by_day(window) {
                answer.append_day(&day);
            }
            false
        }
    }
}

/// Returns for each calendar of a search whether it takes a start, or the obstacles. Callers other
/// than professionals do not see hidden calendars, unless the search names calendars.
fn judge_calendars(
    search: &SlotSearch,
    state: &GroupState,
    start: Instant,
    now: Instant,
    is_pro: bool,
) -> Vec<(CalendarId, Result<(), Vec<Obstacle>>)> {
    let catalogue = &state.catalogue;
    let shows_hidden = is_pro || search.names_calendars();
    let mut verdicts = Vec::new();
    for id in &search.calendars {
        if !shows_hidden && catalogue.calendar_hidden(*id).is_some() {
            continue;
        }
        let view = state.calendars.get(id).expect("each calendar has a view");
        let request =
            SlotRequest { chain: search.chain.clone(), start, mode: search.mode, own: search.own };
        verdicts.push((*id, bookable(catalogue, view, &request, now)));
    }
    verdicts
}
