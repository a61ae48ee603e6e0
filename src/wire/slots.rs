//! `availabletimeslots`: what is searched for, and how the answer is written. Reference 4.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::domain::booking::book::booking_mode;
use crate::domain::booking::obstacle::Obstacle;
use crate::domain::booking::slot_request::{BookingMode, Chain};
use crate::domain::records::ids::{CalendarId, CalendarsetId, GroupId, InterventionId};
use crate::domain::state::command::Caller;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Fault;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::{DAY, INSTANT_MAX, Instant};
use crate::wire::column_value::ColumnValue;
use crate::wire::datetime::{LocalTimes, local_text};
use crate::wire::errors;
use crate::wire::field::{Audience, Scope};
use crate::wire::params::Params;
use crate::wire::query::{flag, id_or_zero, ids, moment, number};
use crate::wire::vevent::VEVENT;

/// Local days of a search that names neither an end nor a number of days.
const DAYS_DEFAULT: i32 = 7;
/// Local days of a search at most.
const DAYS_MAX: i32 = 366;

/// A search for free starts, every parameter legal.
#[derive(Clone, Debug)]
pub struct SlotSearch {
    /// What is to be done, in order.
    pub chain: Chain,
    /// By which door the caller comes.
    pub mode: BookingMode,
    /// The calendars that could do, ascending.
    pub calendars: Vec<CalendarId>,
    /// Where starts are looked for.
    pub window: Interval,
    /// How many calendars must be free at a start.
    pub at_least: usize,
    /// What the caller wants to know.
    pub wanted: Wanted,
    /// The calendar asked for, if one was.
    calendar_id: Option<CalendarId>,
    /// The calendars asked for, as they were named.
    calendar_ids: Vec<CalendarId>,
}

/// What a caller wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Every free start.
    All,
    /// The first one.
    First,
    /// Why a start is offered or not.
    Explanation(Instant),
}

/// Whether the module's rules are asked for; they are, unless `from_web=0`.
///
/// # Errors
/// What is no boolean.
pub fn from_web(params: &Params) -> Result<bool, Fault> {
    flag(params, "from_web", true)
}

impl SlotSearch {
    /// The search that a caller's parameters ask for. `now` is where it starts unless they say otherwise.
    ///
    /// # Errors
    /// All parameters that are wrong.
    pub fn parse(
        params: &Params,
        state: &GroupState,
        caller: &Caller,
        now: Instant,
    ) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut keep = |fault: Fault| faults.push(fault);
        let mode = booking_mode(caller, from_web(params).unwrap_or(true));
        let catalogue = &state.catalogue;
        let chain = ids(params, "intervention_ids", InterventionId::new, |_| true)
            .and_then(|ids| catalogue.chain(&ids, mode))
            .map_err(&mut keep);
        let known = |id: CalendarId| catalogue.calendars.contains_key(&id);
        let calendar_id = id_or_zero(params, "calendar_id", CalendarId::new, known)
            .map_err(&mut keep)
            .unwrap_or_default();
        let calendar_ids = ids(params, "calendar_ids", CalendarId::new, known)
            .map_err(&mut keep)
            .unwrap_or_default();
        let known = |id: CalendarsetId| catalogue.calendarsets.contains_key(&id);
        let sets = ids(params, "calendarset_ids", CalendarsetId::new, known)
            .map_err(&mut keep)
            .unwrap_or_default();
        let explained =
            moment(params, "explain", catalogue.zone()).map_err(&mut keep).unwrap_or_default();
        let first = flag(params, "first", false).map_err(&mut keep).unwrap_or_default();
        let quantity =
            number(params, "cal_qty", 1..=1_000).map_err(&mut keep).ok().flatten().unwrap_or(1);
        let capacity = number(params, "min_capacity", 1..=1_000)
            .map_err(&mut keep)
            .ok()
            .flatten()
            .unwrap_or(1);
        let calendars: Vec<CalendarId> = catalogue
            .calendars
            .values()
            .filter(|calendar| calendar_id.is_none_or(|id| id == calendar.id))
            .filter(|calendar| calendar_ids.is_empty() || calendar_ids.contains(&calendar.id))
            .filter(|calendar| {
                sets.is_empty() || calendar.calendarset_id.is_some_and(|set| sets.contains(&set))
            })
            .map(|calendar| calendar.id)
            .collect();
        let reach = |id: &CalendarId| catalogue.calendars.get(id).map(|c| c.maxrdv_period.number());
        let horizon = first.then(|| match mode {
            BookingMode::Module | BookingMode::ModuleByPro => {
                Horizon::At(now.plus_minutes(calendars.iter().filter_map(reach).max().unwrap_or(0)))
            }
            BookingMode::BackOffice | BookingMode::Agenda(_) => Horizon::DaysMax,
        });
        let window = window(params, catalogue.zone(), now, horizon)
            .map_err(|found| found.into_iter().for_each(keep));
        let (Ok(chain), Ok(window), true) = (chain, window, faults.is_empty()) else {
            return Err(faults);
        };
        let last = INSTANT_MAX.plus_seconds(1 - chain.length_seconds());
        Ok(Self {
            window: Interval { start: window.start, end: window.end.min(last) },
            at_least: usize::try_from(quantity.max(capacity))
                .expect("a number of calendars is small"),
            wanted: match (explained, first) {
                (Some(start), _) => Wanted::Explanation(start),
                (None, true) => Wanted::First,
                (None, false) => Wanted::All,
            },
            chain,
            mode,
            calendars,
            calendar_id,
            calendar_ids,
        })
    }

    /// Whether the caller named calendars.
    #[must_use]
    pub fn names_calendars(&self) -> bool {
        self.calendar_id.is_some() || !self.calendar_ids.is_empty()
    }
}

/// How far the first free start is sought.
enum Horizon {
    /// As far as anybody may book by the module's rules.
    At(Instant),
    /// No rule says how far: as far as a search may go.
    DaysMax,
}

/// The window of a search: from its start to its end, given as a moment or as a number of local days; where neither is
/// given, to `horizon`, else for a week of local days.
fn window(
    params: &Params,
    zone: Zone,
    now: Instant,
    horizon: Option<Horizon>,
) -> Result<Interval, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut keep = |fault: Fault| faults.push(fault);
    let start = moment(params, "start", zone).map_err(&mut keep).ok().flatten().unwrap_or(now);
    let end = moment(params, "end", zone).map_err(&mut keep).ok().flatten();
    let days = number(params, "nDays", 1..=i64::from(DAYS_MAX)).map_err(&mut keep).ok().flatten();
    let today = zone.civil_of(start);
    let after_days = |days: i32| zone.instant_of(today.day().plus_days(days).midnight());
    let end = match (end, days, horizon) {
        (Some(_), Some(_), _) => {
            keep(Fault::new("nDays", "must not be given together with end"));
            start
        }
        (Some(end), None, _) => {
            if end <= start {
                keep(Fault::new(
                    "end",
                    format!("must be after the start, {}", local_text(zone, start)),
                ));
            } else if zone.civil_of(end).seconds_since(today) > i64::from(DAYS_MAX) * DAY {
                keep(Fault::new("end", format!("must be at most {DAYS_MAX} days after the start")));
            }
            end
        }
        (None, Some(days), _) => after_days(i32::try_from(days).expect("bounded above")),
        (None, None, Some(Horizon::At(last))) => last.plus_seconds(1),
        (None, None, Some(Horizon::DaysMax)) => after_days(DAYS_MAX),
        (None, None, None) => after_days(DAYS_DEFAULT),
    };
    if faults.is_empty() { Ok(Interval { start, end }) } else { Err(faults) }
}

/// The answer to a search in the making, written as it is found.
#[derive(Debug)]
pub struct SlotsAnswer {
    out: Vec<u8>,
    times: LocalTimes,
    /// What stands before the first slot, once that is known.
    head: String,
    /// What stands between the first slot's time and the list.
    middle: String,
    /// The id of each calendar of the search, in its order, as text.
    calendars: Vec<String>,
    /// Whether no slot has been written.
    empty: bool,
}

impl SlotsAnswer {
    /// An answer without any slot yet.
    #[must_use]
    pub fn new(search: &SlotSearch, group: GroupId, zone: Zone) -> Self {
        let interventions: Vec<u64> =
            search.chain.legs().iter().map(|leg| leg.intervention_id.number()).collect();
        let calendars: Vec<u64> = search.calendar_ids.iter().map(|id| id.number()).collect();
        Self {
            out: Vec::with_capacity(16 * 1_024),
            times: LocalTimes::new(zone),
            head: format!(r#"{{"group_id":{group},"firstSlot":"#),
            middle: format!(
                r#","intervention_ids":{},"calendar_id":{},"calendar_ids":{},"availabletimeslots":["#,
                json!(interventions),
                json!(search.calendar_id.map(CalendarId::number)),
                json!(calendars),
            ),
            calendars: search.calendars.iter().map(ToString::to_string).collect(),
            empty: true,
        }
    }

    /// Adds a start, later than all before, with the calendars free then by their place in the search.
    pub fn slot(&mut self, start: Instant, free: impl ExactSizeIterator<Item = usize>) {
        if self.empty {
            self.empty = false;
            self.out.extend_from_slice(self.head.as_bytes());
            self.out.push(b'"');
            self.times.write(start, &mut self.out);
            self.out.push(b'"');
            self.out.extend_from_slice(self.middle.as_bytes());
        } else {
            self.out.push(b',');
        }
        self.out.extend_from_slice(br#"{"start":""#);
        self.times.write(start, &mut self.out);
        self.out.extend_from_slice(br#"","capacity":"#);
        match free.len() {
            1 => self.out.push(b'1'),
            capacity => write!(self.out, "{capacity}").expect("memory takes all that is written"),
        }
        self.out.extend_from_slice(br#","calendar_ids":["#);
        for (nth, place) in free.enumerate() {
            if nth > 0 {
                self.out.push(b',');
            }
            self.out.extend_from_slice(self.calendars[place].as_bytes());
        }
        self.out.extend_from_slice(b"]}");
    }

    /// The whole answer.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        if self.empty {
            self.out.extend_from_slice(self.head.as_bytes());
            self.out.extend_from_slice(b"null");
            self.out.extend_from_slice(self.middle.as_bytes());
        }
        self.out.extend_from_slice(b"]}");
        self.out
    }
}

/// What stands in the way of a start on each calendar.
#[must_use]
pub fn explanation(
    start: Instant,
    calendars: &[(CalendarId, Result<(), Vec<Obstacle>>)],
    scope: &Scope<'_>,
    audience: Audience,
) -> Value {
    let reason = |found: &Obstacle| {
        let (rule, mut message) = errors::obstacle(found, scope.zone, audience);
        if let (Obstacle::Taken { id, .. }, Audience::Pro | Audience::Store) = (found, audience)
            && let Some(row) = scope.state.rows.get(id)
            && let Some(ColumnValue::Text(text)) =
                VEVENT.field("text").map(|field| field.cell(row, scope))
            && !text.is_empty()
        {
            message = format!("{message}: {text}");
        }
        json!({ "rule": rule, "message": message })
    };
    let calendar = |(id, verdict): &(CalendarId, Result<(), Vec<Obstacle>>)| {
        let reasons: Vec<Value> =
            verdict.as_ref().err().into_iter().flatten().map(reason).collect();
        json!({ "calendar_id": id.number(), "offered": verdict.is_ok(), "reasons": reasons })
    };
    json!({
        "start": local_text(scope.zone, start),
        "calendars": calendars.iter().map(calendar).collect::<Vec<Value>>(),
    })
}
