//! `availabletimeslots`: parameters of a search and its explanation. Reference 4.7, 4.8.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::availability::merged_starts::{SearchExtent, StartSearch};
use crate::domain::availability::obstacle::Obstacle;
use crate::domain::availability::slot_request::{BookingMode, Chain, ChainSearch, OwnTime};
use crate::domain::decisions::appointment_move::{move_mode_by_secret, moved_chain};
use crate::domain::decisions::book::booking_mode;
use crate::domain::directory::roles::Sight;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarId, CalendarsetId, InterventionId, VeventId};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::Caller;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::{DAY, INSTANT_MAX, Instant};
use crate::wire::column_value::ColumnValue;
use crate::wire::datetime::{LocalTime, format_local, format_rfc_3339};
use crate::wire::errors;
use crate::wire::field::{Audience, Scope};
use crate::wire::hold::parse_hold_parameter;
use crate::wire::params::Params;
use crate::wire::query::{
    FaultCollector, parse_flag, parse_id, parse_id_or_zero, parse_ids, parse_moment, parse_number,
};
use crate::wire::schema::{UtcTime, one_of, schema_names};
use crate::wire::vevent::VEVENT;

/// Local days of a search without `end` and `nDays`.
const DAYS_DEFAULT: i32 = 7;
/// Maximum number of local days of a search.
const DAYS_MAX: i32 = 366;

/// Search for free starts, with legal parameters.
#[derive(Clone, Debug)]
pub struct SlotSearch {
    /// The interventions to book, in order.
    pub chain: Chain,
    /// The rules that apply to the caller.
    pub mode: BookingMode,
    /// The calendars to search, ascending by id.
    pub calendars: Vec<CalendarId>,
    /// The window in which starts are searched.
    pub window: Interval,
    /// Minimum number of calendars that must be free at a start.
    pub at_least: usize,
    /// The kind of answer that the caller wants.
    pub goal: SearchGoal,
    /// Time that counts as free.
    pub own: OwnTime,
    /// The parameter `calendar_id`, repeated in the answer.
    pub(in crate::wire) calendar_id: Option<CalendarId>,
    /// The parameter `calendar_ids`, repeated in the answer in the same order.
    pub(in crate::wire) calendar_ids: Vec<CalendarId>,
    /// Whether the answer also shows the end of each slot, and both as instants: by default the
    /// parameter `instants`.
    pub instants: bool,
}

/// Kind of answer that a search gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchGoal {
    /// Every free start.
    All,
    /// The first free start of each local day, and the number of the day's free starts.
    Days,
    /// The first free start only.
    First,
    /// The obstacles of one start, on each calendar.
    Explanation(Instant),
}

/// Parses `from_web`: whether the rules for bookings from the web apply. It is true by default.
///
/// # Errors
/// A value that is no boolean.
pub fn parse_from_web(params: &Params) -> Result<bool, Fault> {
    parse_flag(params, "from_web", true)
}

impl SlotSearch {
    /// Parses the search of a caller, who reads `sight` of the group. It starts at `now` unless
    /// `start` is given.
    ///
    /// # Errors
    /// A fault for each parameter that is wrong.
    pub fn parse(
        params: &Params,
        state: &GroupState,
        caller: &Caller,
        sight: &Sight,
        now: Instant,
    ) -> Result<Self, Vec<Fault>> {
        let mut faults = FaultCollector::default();
        // A wrong from_web is refused before: it decides whether the caller may search at all.
        let mut mode = booking_mode(caller, parse_from_web(params).unwrap_or(true));
        let catalogue = &state.catalogue;
        let chain = parse_ids(params, "intervention_ids", InterventionId::new, |_| true)
            .and_then(|ids| catalogue.chain(&ids, mode));
        let mut chain = faults.keep_fault(chain.map(Some));
        let known = |id: CalendarId| catalogue.calendars.contains_key(&id);
        let calendar_id =
            faults.keep_fault(parse_id_or_zero(params, "calendar_id", CalendarId::new, known));
        let calendar_ids =
            faults.keep_fault(parse_ids(params, "calendar_ids", CalendarId::new, known));
        let known = |id: CalendarsetId| catalogue.calendarsets.contains_key(&id);
        let sets =
            faults.keep_fault(parse_ids(params, "calendarset_ids", CalendarsetId::new, known));
        let explained = faults.keep_fault(parse_moment(params, "explain", catalogue.zone()));
        let first = faults.keep_fault(parse_flag(params, "first", false));
        let by_day = faults.keep_fault(parse_by_day(params, first));
        let instants = faults.keep_fault(parse_flag(params, "instants", false));
        let hold = faults.keep_fault(parse_hold_parameter(params, "hold"));
        let moved = faults.keep_fault(find_moved(params, state, caller, sight));
        let quantity = faults.keep_fault(parse_number(params, "cal_qty", 1..=1_000)).unwrap_or(1);
        let capacity =
            faults.keep_fault(parse_number(params, "min_capacity", 1..=1_000)).unwrap_or(1);
        let mut calendars = select_calendars(state, calendar_id, &calendar_ids, &sets);
        if let Some(row) = moved
            && let Some(appointment) = row.appointment()
        {
            // A move keeps calendar, intervention and length.
            calendars = vec![row.calendar_id];
            chain = Some(moved_chain(appointment));
            match caller {
                Caller::Account(account) if account.owns(appointment.fiche_id) => {}
                Caller::Application | Caller::Account(_) => mode = move_mode_by_secret(row),
                Caller::Pro(_) => {}
            }
        }
        let horizon = if first { Some(search_horizon(state, mode, &calendars, now)) } else { None };
        let window = parse_window(params, catalogue.zone(), now, horizon);
        let window = faults.keep_faults(window.map(Some));
        let (Some(chain), Some(window), true) = (chain, window, faults.0.is_empty()) else {
            return Err(faults.0);
        };
        let goal = match (explained, first, by_day) {
            (Some(start), _, _) => SearchGoal::Explanation(start),
            (None, true, _) => SearchGoal::First,
            (None, false, true) => SearchGoal::Days,
            (None, false, false) => SearchGoal::All,
        };
        // A chain must end before the last instant.
        let last = INSTANT_MAX.plus_seconds(1 - chain.length_seconds());
        Ok(Self {
            window: Interval { start: window.start, end: window.end.min(last) },
            at_least: usize::try_from(quantity.max(capacity)).expect("at most 1,000"),
            goal,
            own: OwnTime { hold, appointment: moved.map(|row| row.id) },
            chain,
            mode,
            calendars,
            calendar_id,
            calendar_ids,
            instants,
        })
    }

    /// Parses a request that explains the start in the parameter `start`.
    ///
    /// # Errors
    /// A fault for each parameter that is wrong.
    pub fn parse_explained(
        params: &Params,
        state: &GroupState,
        caller: &Caller,
        sight: &Sight,
        now: Instant,
    ) -> Result<(Self, Instant), Vec<Fault>> {
        let start = match parse_moment(params, "start", state.catalogue.zone()) {
            Ok(Some(start)) => Ok(start),
            Ok(None) => Err(Fault::new("start", "is required: give the start to explain")),
            Err(fault) => Err(fault),
        };
        match (Self::parse(params, state, caller, sight, now), start) {
            (Ok(search), Ok(start)) => Ok((search, start)),
            (Ok(_), Err(fault)) => Err(vec![fault]),
            (Err(mut faults), start) => {
                if let Err(fault) = start
                    && !faults.iter().any(|other| other.field == fault.field)
                {
                    faults.push(fault);
                }
                Err(faults)
            }
        }
    }

    /// Returns the search of its calendars in a state.
    pub fn start_search<'s>(&'s self, state: &'s GroupState, now: Instant) -> StartSearch<'s> {
        StartSearch {
            catalogue: &state.catalogue,
            views: &state.calendars,
            search: ChainSearch { chain: &self.chain, mode: self.mode, own: self.own },
            calendars: &self.calendars,
            at_least: self.at_least,
            now,
        }
    }

    /// Returns an upper bound on what a search of a window looks at.
    pub fn estimate_cost(&self, state: &GroupState, window: Interval, now: Instant) -> i64 {
        let extent = match self.goal {
            SearchGoal::First => SearchExtent::Nearest,
            SearchGoal::All | SearchGoal::Days | SearchGoal::Explanation(_) => SearchExtent::Whole,
        };
        self.start_search(state, now).estimate_cost(window, extent)
    }

    /// Returns whether the caller named calendars.
    pub fn names_calendars(&self) -> bool {
        self.calendar_id.is_some() || !self.calendar_ids.is_empty()
    }
}

/// Parses `by`: whether only the first start of each day is wanted.
///
/// # Errors
/// Another value than `day`, or a search for the first start alone.
fn parse_by_day(params: &Params, first: bool) -> Result<bool, Fault> {
    match params.value("by") {
        None | Some("") => Ok(false),
        Some("day") if first => Err(Fault::new("by", "must not be given together with first")),
        Some("day") => Ok(true),
        Some(_) => Err(Fault::new("by", "must be day")),
    }
}

/// Returns the appointment of `appointment_id`, which the caller wants to move.
///
/// # Errors
/// No live appointment that the caller owns, or whose secret the parameter `key` gives.
fn find_moved<'r>(
    params: &Params,
    state: &'r GroupState,
    caller: &Caller,
    sight: &Sight,
) -> Result<Option<&'r Vevent>, Fault> {
    const NAME: &str = "appointment_id";
    let Some(id) = parse_id(params, NAME, VeventId::new, |_| true)? else { return Ok(None) };
    let unknown = || Fault::new(NAME, "must be your appointment, or one whose secret `key` gives");
    let row = state.rows.get(&id).ok_or_else(unknown)?;
    let appointment = row.appointment().ok_or_else(unknown)?;
    let is_own = match caller {
        Caller::Pro(_) => sight.shows_vevent(row),
        Caller::Account(account) => account.owns(appointment.fiche_id),
        Caller::Application => false,
    };
    let has_secret = params.value("key").is_some_and(|secret| appointment.key.matches(secret));
    if row.deleted || !(is_own || has_secret) {
        return Err(unknown());
    }
    Ok(Some(row))
}

/// Returns the calendars that the parameters select, ascending by id; empty lists select all. The
/// cost is that of the named calendars, not of all that the group has.
fn select_calendars(
    state: &GroupState,
    calendar_id: Option<CalendarId>,
    calendar_ids: &[CalendarId],
    sets: &[CalendarsetId],
) -> Vec<CalendarId> {
    let all = &state.catalogue.calendars;
    let mut selected: Vec<CalendarId> = match calendar_id {
        Some(id) if calendar_ids.is_empty() || calendar_ids.contains(&id) => vec![id],
        Some(_) => Vec::new(),
        None if calendar_ids.is_empty() => all.keys().copied().collect(),
        None => calendar_ids.to_vec(),
    };
    selected.sort_unstable();
    selected.dedup();
    selected.retain(|id| {
        let Some(calendar) = all.get(id) else { return false };
        calendar.is_in_sets(sets)
    });
    selected
}

/// Limit of the search for the first free start.
enum SearchHorizon {
    /// The last start that the rules for bookings from the web permit.
    LastStart(Instant),
    /// The longest window of a search, since no rule limits the start.
    DaysMax,
}

/// Returns the limit of the search for the first free start on these calendars.
fn search_horizon(
    state: &GroupState,
    mode: BookingMode,
    calendars: &[CalendarId],
    now: Instant,
) -> SearchHorizon {
    match mode {
        BookingMode::Module | BookingMode::ModuleByAccount | BookingMode::ModuleByPro => {
            let calendars = calendars.iter().filter_map(|id| state.catalogue.calendars.get(id));
            let minutes = calendars.map(|row| row.maxrdv_period.number()).fold(0, i64::max);
            SearchHorizon::LastStart(now.plus_minutes(minutes))
        }
        BookingMode::BackOffice | BookingMode::Agenda(_) => SearchHorizon::DaysMax,
    }
}

/// Parses the window of a search: `start`, and `end` or `nDays`.
///
/// Without `end` and `nDays` the window reaches to the horizon, or for 7 local days.
fn parse_window(
    params: &Params,
    zone: Zone,
    now: Instant,
    horizon: Option<SearchHorizon>,
) -> Result<Interval, Vec<Fault>> {
    let mut faults = FaultCollector::default();
    let start = faults.keep_fault(parse_moment(params, "start", zone)).unwrap_or(now);
    let end = faults.keep_fault(parse_moment(params, "end", zone));
    let days = faults.keep_fault(parse_number(params, "nDays", 1..=i64::from(DAYS_MAX)));
    let today = zone.civil_of(start);
    let after_days = |days: i32| zone.instant_of(today.day().plus_days(days).midnight());
    let end = match (end, days, horizon) {
        (Some(_), Some(_), _) => {
            faults.0.push(Fault::new("nDays", "must not be given together with end"));
            start
        }
        (Some(end), None, _) => {
            if end <= start {
                let rule = format!("must be after the start, {}", format_local(zone, start));
                faults.0.push(Fault::new("end", rule));
            } else if zone.civil_of(end).seconds_since(today) > i64::from(DAYS_MAX) * DAY {
                let rule = format!("must be at most {DAYS_MAX} days after the start");
                faults.0.push(Fault::new("end", rule));
            }
            end
        }
        (None, Some(days), _) => after_days(i32::try_from(days).expect("at most 366")),
        (None, None, Some(SearchHorizon::LastStart(last))) => last.plus_seconds(1),
        (None, None, Some(SearchHorizon::DaysMax)) => after_days(DAYS_MAX),
        (None, None, None) => after_days(DAYS_DEFAULT),
    };
    if faults.0.is_empty() { Ok(Interval { start, end }) } else { Err(faults.0) }
}

/// The obstacles of one start.
#[derive(Debug, Serialize, ToSchema)]
pub struct Explanation {
    /// Start, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    start: LocalTime,
    /// The start as an instant: RFC 3339 in UTC.
    #[schema(value_type = UtcTime)]
    start_utc: String,
    /// The calendars of the search, ascending by id.
    calendars: Vec<CalendarExplanation>,
}

/// The obstacles of a start on one calendar.
#[derive(Debug, Serialize, ToSchema)]
struct CalendarExplanation {
    /// Id of the calendar.
    calendar_id: CalendarId,
    /// Whether the calendar offers the start.
    offered: bool,
    /// All rules that refuse the start; empty if none does.
    reasons: Vec<ObstacleReason>,
}

/// An obstacle in words.
#[derive(Debug, Serialize, ToSchema)]
struct ObstacleReason {
    /// Name of the rule that refuses the start.
    #[schema(value_type = ObstacleRule)]
    rule: &'static str,
    /// The rule in words, with its values.
    message: String,
}

schema_names! {
    /// The names that [`errors::describe_obstacle`] gives.
    ObstacleRule => one_of([
        "outside_availability", "off_grid", "taken", "held", "not_offered", "repeated_hour",
        "unverified_share", "MintimeRdv", "MaxRdvPeriod",
    ]);
}

impl Explanation {
    /// The answer with what each calendar says to a start.
    pub fn new(
        start: Instant,
        verdicts: &[(CalendarId, Result<(), Vec<Obstacle>>)],
        scope: &Scope<'_>,
        audience: Audience,
    ) -> Self {
        let mut calendars = Vec::new();
        for (id, verdict) in verdicts {
            let obstacles = verdict.as_ref().err().into_iter().flatten();
            let reasons =
                obstacles.map(|obstacle| render_reason(obstacle, scope, audience)).collect();
            let offered = verdict.is_ok();
            calendars.push(CalendarExplanation { calendar_id: *id, offered, reasons });
        }
        let local = LocalTime::new(scope.zone, start);
        Self { start: local, start_utc: format_rfc_3339(start), calendars }
    }
}

fn render_reason(obstacle: &Obstacle, scope: &Scope<'_>, audience: Audience) -> ObstacleReason {
    let (rule, mut message) = errors::describe_obstacle(obstacle, scope.zone, audience);
    // Professionals also read the text of the event that takes the time.
    if let (Obstacle::Taken { id, .. }, Audience::Pro | Audience::Store) = (obstacle, audience)
        && let Some(row) = scope.state.rows.get(id)
        && let Some(field) = VEVENT.field("text")
        && let ColumnValue::Text(text) = field.read_value(row, scope)
        && !text.is_empty()
    {
        message = format!("{message}: {text}");
    }
    ObstacleReason { rule, message }
}
