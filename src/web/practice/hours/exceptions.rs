//! Coming closures and exceptional openings: single events that concern whole days or open some
//! time. Reference 15.8.

use std::collections::BTreeMap;

use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarId, VeventId};
use crate::domain::records::text::{LongText, Text};
use crate::domain::records::vevent::{Availability, OptionalFields, Permits, Vevent, VeventKind};
use crate::domain::recurrence::{Exceptions, Series};
use crate::domain::state::command::{Command, PutVevents, VeventDraft};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{Civil, CivilDay, DAY, Instant};

/// Closures or exceptional openings of the same time on some calendars.
pub(crate) struct ComingException {
    pub(crate) time: ExceptionTime,
    /// The events, one of each calendar, ascending by calendar.
    pub(crate) ids: Vec<VeventId>,
    pub(crate) calendars: Vec<CalendarId>,
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

/// Returns the exceptions of live calendars that end after a moment, ascending by time.
pub(crate) fn find_coming(state: &GroupState, now: Instant) -> Vec<ComingException> {
    let zone = state.catalogue.zone();
    let mut found: BTreeMap<ExceptionTime, ComingException> = BTreeMap::new();
    for (id, calendar) in state.catalogue.calendars.iter() {
        let Some(view) = state.calendars.get(id).filter(|_| !calendar.deleted) else { continue };
        let rows = view.rules.availabilities().iter().chain(view.rules.plages());
        for row in rows {
            let Some(time) = read_exception(row) else { continue };
            if zone.instant_of(time.end) <= now {
                continue;
            }
            let coming = found.entry(time.clone()).or_insert_with(|| ComingException {
                time,
                ids: Vec::new(),
                calendars: Vec::new(),
            });
            coming.ids.push(row.id);
            coming.calendars.push(*id);
        }
    }
    found.into_values().collect()
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

/// Returns the closures of a calendar, one for each event.
pub(crate) fn closures_of(state: &GroupState, id: CalendarId) -> Vec<ExceptionTime> {
    let Some(view) = state.calendars.get(&id) else { return Vec::new() };
    let closures = view.rules.plages().iter().filter_map(|row| read_exception(row));
    closures.collect()
}

impl Closure {
    /// Returns whether one of some closures covers it, with any text.
    pub(crate) fn is_among(&self, closures: &[ExceptionTime]) -> bool {
        let start = self.first.midnight();
        let end = self.last.midnight().plus_seconds(DAY);
        closures.iter().any(|closure| closure.start <= start && end <= closure.end)
    }
}
