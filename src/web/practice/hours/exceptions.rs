//! Coming closures and exceptional openings: single events that concern whole days or open some
//! time. Reference 15.8.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::directory::roles::Sight;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarId, VeventId};
use crate::domain::records::text::{LongText, Text};
use crate::domain::records::vevent::{Availability, OptionalFields, Permits, Vevent, VeventKind};
use crate::domain::recurrence::{Exceptions, Series};
use crate::domain::state::command::{Command, PutVevents, VeventDraft};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{Civil, CivilDay, DAY, Instant};
use crate::http::ApiError;
use crate::web::assets::short_hash;
use crate::web::practice::hours::calendar_hours::INLINE_ROWS_MAX;
use crate::web::practice::visit::ProVisit;
use crate::wire::vevent::revision_text;

/// Closures or exceptional openings of the same time on some calendars.
pub(crate) struct ComingException {
    pub(crate) time: ExceptionTime,
    /// The events, one of each calendar, ascending by calendar.
    pub(crate) ids: Vec<VeventId>,
    pub(crate) calendars: Vec<CalendarId>,
    /// A tag of the events as they are.
    pub(crate) tag: String,
}

/// The coming exceptions of a group.
pub(crate) struct ComingExceptions {
    /// The first of them, ascending by time.
    pub(crate) first: Vec<ComingException>,
    /// The number of all.
    pub(crate) number: usize,
}

/// The time of an exception, and what else its events have in common. They are ascending by time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ExceptionTime {
    pub(crate) start: Civil,
    pub(crate) end: Civil,
    /// The services of an opening; `None` for a closure.
    pub(crate) opening: Option<Permits>,
    pub(crate) text: String,
}

/// Lists the exceptions of live calendars that end after the request. Those of a large group are
/// found on a thread that serves no connection.
///
/// # Errors
/// 503 if too many computations wait.
pub(crate) async fn list_coming(
    visit: &ProVisit,
    listed_max: usize,
) -> Result<ComingExceptions, ApiError> {
    let state = Arc::clone(&visit.state);
    let now = visit.request.now;
    let sight = visit.sight();
    run_by_size(visit, move || find_coming(&state, &sight, now, listed_max)).await
}

/// Returns the days among some on which each live calendar is closed already.
///
/// # Errors
/// As [`list_coming`].
pub(crate) async fn find_closed_days(
    visit: &ProVisit,
    days: Vec<CivilDay>,
) -> Result<BTreeMap<CalendarId, BTreeSet<CivilDay>>, ApiError> {
    let state = Arc::clone(&visit.state);
    let find = move || {
        let live = state.catalogue.live_calendars();
        live.map(|calendar| (calendar.id, closed_days(&state, calendar.id, &days))).collect()
    };
    run_by_size(visit, find).await
}

/// Runs a computation over all rules of open time of the group; here, if there are few.
async fn run_by_size<T: Send + 'static>(
    visit: &ProVisit,
    compute: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let mut rows = 0;
    for view in visit.state.calendars.values() {
        rows += view.rules().availabilities().len() + view.rules().plages().len();
    }
    if rows <= INLINE_ROWS_MAX {
        return Ok(compute());
    }
    visit.request.pages.server.blocking_pool.run(compute).await
}

fn find_coming(
    state: &GroupState,
    sight: &Sight,
    now: Instant,
    listed_max: usize,
) -> ComingExceptions {
    let zone = state.catalogue.zone();
    let mut found: BTreeMap<ExceptionTime, ComingException> = BTreeMap::new();
    let live = state.catalogue.live_calendars();
    for calendar in live.filter(|calendar| sight.shows_calendar(calendar.id)) {
        let Some(view) = state.calendars.get(&calendar.id) else { continue };
        let rows = view.rules().availabilities().iter().chain(view.rules().plages());
        for row in rows {
            let Some(time) = read_exception(row) else { continue };
            if zone.instant_of(time.end) <= now {
                continue;
            }
            let coming = found.entry(time.clone()).or_insert_with(|| ComingException {
                time,
                ids: Vec::new(),
                calendars: Vec::new(),
                tag: String::new(),
            });
            coming.ids.push(row.id);
            coming.calendars.push(calendar.id);
        }
    }
    let number = found.len();
    let mut first: Vec<ComingException> = found.into_values().take(listed_max).collect();
    for coming in &mut first {
        coming.tag = exception_tag(state, &coming.ids);
    }
    ComingExceptions { first, number }
}

/// Returns a tag of some exceptions as they are. It changes with each of them, and when one is no
/// exception any more.
pub(crate) fn exception_tag(state: &GroupState, ids: &[VeventId]) -> String {
    let mut revisions = String::new();
    for id in ids {
        let row = state.rows.get(id).filter(|row| read_exception(row).is_some());
        let revision = row.map(|row| revision_text(row)).unwrap_or_default();
        revisions.push_str(&format!("{id} {revision}\n"));
    }
    short_hash(revisions.as_bytes())
}

/// Returns the time of a closure of whole days, or of an opening, that takes place once; `None` for
/// any other event, and for a deleted one.
pub(crate) fn read_exception(row: &Vevent) -> Option<ExceptionTime> {
    let series = row.series().filter(|series| !row.deleted && series.rule().is_none())?;
    let opening = match &row.kind {
        VeventKind::Availability(opening) => Some(opening.permits.clone()),
        VeventKind::Plage(_) if is_of_whole_days(series) => None,
        VeventKind::Plage(_) | VeventKind::Note(_) | VeventKind::Appointment(_) => return None,
    };
    let rare = row.rare.as_deref();
    let text = rare.map_or("", |rare| rare.text.as_str()).to_owned();
    Some(ExceptionTime { start: series.start(), end: series.end(), opening, text })
}

fn is_of_whole_days(series: &Series) -> bool {
    series.start().second_of_day() == 0 && series.end().second_of_day() == 0
}

/// The closure of a calendar.
#[derive(Clone, Debug)]
pub(crate) struct Closure {
    pub(crate) calendar_id: CalendarId,
    pub(crate) first: CivilDay,
    pub(crate) last: CivilDay,
    pub(crate) text: LongText,
}

/// An exceptional opening of a calendar.
#[derive(Clone, Debug)]
pub(crate) struct ExceptionalOpening {
    pub(crate) calendar_id: CalendarId,
    pub(crate) start: Civil,
    pub(crate) end: Civil,
    pub(crate) permits: Permits,
}

/// Makes the command that adds closures, all or none.
pub(crate) fn add_closures(closures: Vec<Closure>, taker: &Text<255>) -> Command {
    let mut drafts = Vec::with_capacity(closures.len());
    for closure in closures {
        let Closure { calendar_id, first, last, text } = closure;
        let rare = OptionalFields { taker: taker.clone(), text, ..OptionalFields::default() };
        let end = last.midnight().plus_seconds(DAY);
        drafts.push(draft(calendar_id, first.midnight(), end, rare, |series| {
            VeventKind::Plage(Box::new(series))
        }));
    }
    Command::PutVevents(Box::new(PutVevents::Make(drafts)))
}

/// Makes the command that adds exceptional openings, all or none.
pub(crate) fn add_openings(openings: Vec<ExceptionalOpening>, taker: &Text<255>) -> Command {
    let mut drafts = Vec::with_capacity(openings.len());
    for opening in openings {
        let ExceptionalOpening { calendar_id, start, end, permits } = opening;
        let rare = OptionalFields { taker: taker.clone(), ..OptionalFields::default() };
        drafts.push(draft(calendar_id, start, end, rare, move |series| {
            let permits = permits.clone();
            VeventKind::Availability(Box::new(Availability { series, permits }))
        }));
    }
    Command::PutVevents(Box::new(PutVevents::Make(drafts)))
}

/// Drafts an event that takes place once, on the clocks of the group when it is decided.
fn draft(
    calendar_id: CalendarId,
    start: Civil,
    end: Civil,
    rare: OptionalFields,
    kind: impl Fn(Series) -> VeventKind + Send + Sync + 'static,
) -> VeventDraft {
    VeventDraft::new(move |state, _, draws, at| {
        let zone = state.catalogue.zone();
        let series = Series::new(zone, start, end, None, Exceptions::default());
        let series = series.map_err(|error| vec![Fault::new("end", error.to_string())])?;
        Ok(Vevent {
            id: draws.id,
            calendar_id,
            kind: kind(series),
            deleted: false,
            created_at: at,
            updated_at: at,
            rare: rare.clone().boxed(),
        })
    })
}

/// Returns the days among some that a closure of a calendar covers, with any text.
fn closed_days(state: &GroupState, id: CalendarId, days: &[CivilDay]) -> BTreeSet<CivilDay> {
    let mut closed = BTreeSet::new();
    let Some(view) = state.calendars.get(&id) else { return closed };
    for row in view.rules().plages() {
        let Some(ExceptionTime { start, end, .. }) = read_exception(row) else { continue };
        let is_covered = |day: &&CivilDay| start <= day.midnight() && day.midnight() < end;
        closed.extend(days.iter().filter(is_covered));
    }
    closed
}
