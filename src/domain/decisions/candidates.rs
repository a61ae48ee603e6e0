//! Choice of the calendar for a slot: the calendars that can take it, asked one after another.
//! Reference 6.2.

use std::collections::VecDeque;

use crate::domain::availability::bookable::lead_times;
use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::merged_starts::{SearchExtent, StartSearch};
use crate::domain::availability::slot_request::{
    BookingMode, CalendarSlotRequest, Chain, ChainSearch, OwnTime, SlotRequest,
};
use crate::domain::decisions::decision::{Candidates, Context};
use crate::domain::records::fault::Fault;
use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::{CalendarId, CalendarsetId, InterventionId};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{Civil, DAY, INSTANT_MAX, INSTANT_MIN, Instant};

/// Seconds after the lead time in which the first start is searched.
const FIRST_START_SECONDS: i64 = 7 * DAY;
/// Maximum cost of that search, which holds up the group: a fraction of a millisecond.
const FIRST_START_COST_MAX: i64 = 10_000;

/// A slot as a caller asks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedSlot<'a> {
    /// The start in the group's local time.
    pub(crate) date: Civil,
    /// The interventions, in order.
    pub(crate) intervention_ids: &'a [InterventionId],
    /// The calendar; `None` for no preference.
    pub(crate) calendar_id: Option<CalendarId>,
    /// The rules that hold.
    pub(crate) mode: BookingMode,
    /// The hold that the caller names.
    pub(crate) hold: Option<HoldId>,
}

/// The calendars that a caller names for a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedCalendars<'a> {
    /// The calendar; `None` for no preference.
    pub(crate) calendar: Option<CalendarId>,
    /// Without a preference, the sets whose calendars may take the slot; empty for all.
    pub(crate) calendarsets: &'a [CalendarsetId],
}

/// Returns the slot that a caller asks for.
///
/// # Errors
/// InvalidParameter for the interventions, the start or the calendar.
pub(crate) fn parse_slot(
    catalogue: &Catalogue,
    wanted: WantedSlot<'_>,
) -> Result<SlotRequest, Refusals> {
    let chain = catalogue.chain(wanted.intervention_ids, wanted.mode)?;
    let start = start_instant(catalogue, wanted.date, &chain)?;
    if let Some(id) = wanted.calendar_id
        && !catalogue.calendars.contains_key(&id)
    {
        let rule = "must be the id of one of the group's calendars";
        return Err(Fault::new("calendar_id", rule).into());
    }
    let own = OwnTime { hold: wanted.hold, appointment: None };
    Ok(SlotRequest { chain, start, mode: wanted.mode, own })
}

/// Returns the calendars to ask for a slot: the named one, or all of the named sets that offer
/// it, in no order.
///
/// # Errors
/// MintimeRdv or MaxRdvPeriod, if it holds on every candidate.
pub(crate) fn find_offering(
    state: &GroupState,
    request: &SlotRequest,
    named: NamedCalendars<'_>,
    now: Instant,
) -> Result<Vec<CalendarId>, Refusal> {
    let offering = match named.calendar {
        // A calendar that does not offer the chain has no lead times to show. It answers itself.
        Some(named) if !is_offered(&state.catalogue, named, request) => return Ok(vec![named]),
        Some(named) => vec![named],
        None => offering_calendars(state, request, named, now),
    };
    if request.mode.follows_module_rules() {
        check_lead_times(state, &offering, request, now)?;
    }
    Ok(offering)
}

/// Orders the calendars to ask by a random number. The calendar of the caller's hold comes first.
///
/// # Errors
/// NotAvailable without any calendar.
pub(crate) fn order_candidates(
    context: &mut Context<'_>,
    request: SlotRequest,
    mut offering: Vec<CalendarId>,
    is_named: bool,
) -> Result<Candidates, Refusal> {
    let order = context.environment.number();
    let hold = request.own.hold.and_then(|id| context.state.holds().get(id));
    let held = hold.map(|hold| hold.calendar_id);
    offering.sort_by_key(|id| (held != Some(*id), scramble(order ^ id.number())));
    let mut rest = VecDeque::from(offering);
    let Some(calendar_id) = rest.pop_front() else {
        return Err(Refusal::NotAvailable { obstacles: Vec::new() });
    };
    Ok(Candidates { slot: CalendarSlotRequest { calendar_id, request }, rest, is_named })
}

/// Returns the instant of a local start.
///
/// # Errors
/// The chain would not lie within the years 1970 to 9999.
fn start_instant(catalogue: &Catalogue, date: Civil, chain: &Chain) -> Result<Instant, Fault> {
    let start = catalogue.zone().instant_of(date);
    if start < INSTANT_MIN || chain.interval_from(start).end > INSTANT_MAX {
        return Err(Fault::new("date", "must lie in the years 1970 to 9999"));
    }
    Ok(start)
}

/// Returns the calendars of the named sets that offer the chain, ascending by id. By the module's
/// rules, each leg also needs an availability that ends after now. Reference 4, 6.2.
fn offering_calendars(
    state: &GroupState,
    request: &SlotRequest,
    named: NamedCalendars<'_>,
    now: Instant,
) -> Vec<CalendarId> {
    let zone = state.catalogue.zone();
    let mut offering = Vec::new();
    for (id, calendar) in &state.catalogue.calendars {
        let is_in_sets = calendar.is_in_sets(named.calendarsets);
        if !is_in_sets || !is_offered(&state.catalogue, *id, request) {
            continue;
        }
        let view = state.calendars.get(id).expect("every calendar has a view");
        let mut legs = request.chain.legs().iter();
        if request.mode.follows_module_rules()
            && !legs.all(|leg| view.rules().offers(zone, leg.intervention_id, now))
        {
            continue;
        }
        offering.push(*id);
    }
    offering
}

fn is_offered(catalogue: &Catalogue, calendar: CalendarId, request: &SlotRequest) -> bool {
    catalogue.not_offered(calendar, &request.chain, request.mode).next().is_none()
}

/// Checks the lead times of all calendars that can take a start. Reference 2.3.
///
/// # Errors
/// MintimeRdv or MaxRdvPeriod, if it holds on every one of them.
pub(crate) fn check_lead_times(
    state: &GroupState,
    calendars: &[CalendarId],
    request: &SlotRequest,
    now: Instant,
) -> Result<(), Refusal> {
    let start = request.start;
    let mut first_start: Option<Instant> = None;
    let mut last_start: Option<Instant> = None;
    for id in calendars {
        let Some((earliest, latest)) = lead_times(&state.catalogue, *id, now) else {
            return Ok(());
        };
        if start < earliest {
            first_start = Some(first_start.unwrap_or(earliest).min(earliest));
        } else if start > latest {
            last_start = Some(last_start.unwrap_or(latest).max(latest));
        } else {
            return Ok(());
        }
    }
    match (first_start, last_start) {
        (Some(earliest), None) => {
            let first = find_first_start(state, calendars, request, earliest, now);
            Err(Refusal::MintimeRdv { earliest, first })
        }
        (None, Some(latest)) => Err(Refusal::MaxRdvPeriod { latest }),
        // Some calendars find it too soon and others too far: NotAvailable follows.
        (None, None) | (Some(_), Some(_)) => Ok(()),
    }
}

/// Returns the first start within a week of `from` that the caller can book. `None` if there is
/// none, if the caller may not search, or if the search would take long.
fn find_first_start(
    state: &GroupState,
    calendars: &[CalendarId],
    request: &SlotRequest,
    from: Instant,
    now: Instant,
) -> Option<Instant> {
    // A group that does not show its free starts to the public does not show one in a refusal.
    if request.mode == BookingMode::Module && !state.catalogue.group.open_data {
        return None;
    }
    let search = StartSearch {
        catalogue: &state.catalogue,
        views: &state.calendars,
        search: ChainSearch { chain: &request.chain, mode: request.mode, own: request.own },
        calendars,
        at_least: 1,
        now,
    };
    let window = Interval { start: from, end: from.plus_seconds(FIRST_START_SECONDS) };
    if search.estimate_cost(window, SearchExtent::Nearest) > FIRST_START_COST_MAX {
        return None;
    }
    search.first_start(window)
}

/// Returns a pseudo-random number that depends on `seed` only (the finaliser of splitmix64).
const fn scramble(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::searched::{Searched, chain_of};

    #[test]
    fn calendars_are_shuffled_as_by_splitmix64() {
        // The first numbers of the generator with these seeds.
        assert_eq!(scramble(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(scramble(1_234_567), 6_457_827_717_110_365_317);
    }

    #[test]
    fn a_chain_lies_in_the_years_1970_to_9999() {
        let catalogue = Searched::new().catalogue;
        let chain = chain_of(30);
        let start = |second| start_instant(&catalogue, Civil(second), &chain).ok();
        assert_eq!(start(INSTANT_MIN.0 - 1), None);
        assert_eq!(start(INSTANT_MIN.0), Some(INSTANT_MIN));
        let last = INSTANT_MAX.plus_minutes(-30);
        assert_eq!(start(last.0), Some(last));
        assert_eq!(start(last.0 + 1), None);
    }
}
