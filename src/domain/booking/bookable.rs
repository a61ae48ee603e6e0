//! May this start be given away? The one place that knows. Reference 4.

use crate::domain::booking::obstacle::{Obstacle, TakenBy};
use crate::domain::booking::open_time::{CalendarView, OpenTime};
use crate::domain::booking::slot_request::{BookingMode, Chain, SlotRequest};
use crate::domain::booking::taken_time::TakenInterval;
use crate::domain::records::catalogue::Catalogue;
use crate::domain::records::ids::CalendarId;
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;

/// Whether `start` may be given away for a chain on a calendar. Every rule of Reference 4 but the search window, none of
/// the client's own. `now` is the moment from which lead times count.
///
/// # Errors
/// All that stands in the way, in the order of the rules: whether it is offered at all, lead times, the grid,
/// availabilities, what takes the time, the repeated hour. Never empty. Of what the module does not show, anybody is
/// told just that, and of taken time just that it is taken, not by how many.
pub fn bookable(
    catalogue: &Catalogue,
    view: &CalendarView,
    request: &SlotRequest,
    now: Instant,
) -> Result<(), Vec<Obstacle>> {
    let SlotRequest { chain, start, mode } = request;
    let (start, mode) = (*start, *mode);
    let mut obstacles: Vec<Obstacle> =
        catalogue.not_offered(view.id, chain, mode).map(Obstacle::NotOffered).collect();
    if mode == BookingMode::Module && !obstacles.is_empty() {
        return Err(obstacles);
    }
    let interval = request.interval();
    if mode.follows_module_rules() {
        obstacles.extend(check_lead_times(catalogue, view.id, start, now));
        let open = view.open_time(catalogue.zone(), interval, now);
        obstacles.extend(off_grid(catalogue, view.id, &open, chain, start));
        obstacles.extend(outside_availability(&open, chain, start));
    }
    match mode {
        BookingMode::Agenda(own) => obstacles.extend(
            view.taken
                .overlapping(interval)
                .filter(|other| other.id != own)
                .map(appointment_obstacle),
        ),
        BookingMode::Module | BookingMode::ModuleByPro | BookingMode::BackOffice => {
            obstacles.extend(find_taken(catalogue, view, interval, now));
            if !catalogue.zone().is_first_pass(start) {
                obstacles.push(Obstacle::RepeatedHour);
            }
        }
    }
    if mode == BookingMode::Module {
        obstacles
            .dedup_by(|a, b| matches!((a, b), (Obstacle::Taken { .. }, Obstacle::Taken { .. })));
    }
    if obstacles.is_empty() { Ok(()) } else { Err(obstacles) }
}

/// First and last start that a calendar's lead times allow. Reference 4.1.
#[must_use]
pub fn lead_times(
    catalogue: &Catalogue,
    calendar: CalendarId,
    now: Instant,
) -> Option<(Instant, Instant)> {
    let calendar = catalogue.calendars.get(&calendar)?;
    Some((
        now.plus_minutes(calendar.mintime_rdv.number()),
        now.plus_minutes(calendar.maxrdv_period.number()),
    ))
}

/// What lead times say against a start. Reference 4.1.
#[must_use]
pub fn check_lead_times(
    catalogue: &Catalogue,
    calendar: CalendarId,
    start: Instant,
    now: Instant,
) -> Option<Obstacle> {
    let (earliest, latest) = lead_times(catalogue, calendar, now)?;
    if start < earliest {
        Some(Obstacle::MintimeRdv { earliest })
    } else if start > latest {
        Some(Obstacle::MaxRdvPeriod { latest })
    } else {
        None
    }
}

fn off_grid(
    catalogue: &Catalogue,
    calendar: CalendarId,
    open: &OpenTime,
    chain: &Chain,
    start: Instant,
) -> Option<Obstacle> {
    let generate_interval = catalogue.calendars.get(&calendar)?.generate_interval.number();
    let mut holding =
        open.permitted_time(chain.legs()[0].intervention_id).holding(start).peekable();
    // Where no availability holds the start there is no grid to miss: it lies outside.
    holding.peek()?;
    let on_grid = |o: Interval| start.seconds_since(o.start) % (generate_interval * 60) == 0;
    if holding.any(on_grid) { None } else { Some(Obstacle::OffGrid { generate_interval }) }
}

fn outside_availability(
    open: &OpenTime,
    chain: &Chain,
    start: Instant,
) -> impl Iterator<Item = Obstacle> {
    chain
        .legs_from(start)
        .filter(|(leg, interval)| {
            !open.permitted_time(leg.intervention_id).permitted.covers(*interval)
        })
        .map(|(leg, interval)| Obstacle::OutsideAvailability {
            intervention_id: leg.intervention_id,
            interval,
        })
}

fn appointment_obstacle(taken: TakenInterval) -> Obstacle {
    Obstacle::Taken { id: taken.id, interval: taken.interval, by: TakenBy::Appointment }
}

/// Everything live that takes some moment of `interval`: appointments, then plages. Reference 4.4.
fn find_taken(
    catalogue: &Catalogue,
    view: &CalendarView,
    interval: Interval,
    now: Instant,
) -> Vec<Obstacle> {
    let mut found: Vec<Obstacle> =
        view.taken.overlapping(interval).map(appointment_obstacle).collect();
    // The expanded plages answer the common case; only where one is in the way does it matter which.
    if view.open_time(catalogue.zone(), interval, now).plages().overlaps(interval) {
        found.extend(
            view.rules
                .plages_overlapping(catalogue.zone(), interval)
                .map(|(id, interval)| Obstacle::Taken { id, interval, by: TakenBy::Plage }),
        );
    }
    found
}
