//! Decision of one slot: is this start free on this calendar? The only place that decides it.
//! Reference 4.

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::obstacle::{Obstacle, TakenBy, Verdict};
use crate::domain::availability::open_time::{CalendarView, OpenTime};
use crate::domain::availability::slot_request::{BookingMode, SlotRequest};
use crate::domain::availability::taken_time::TakenInterval;
use crate::domain::availability::unverified_share::UnverifiedRoom;
use crate::domain::records::ids::CalendarId;
use crate::domain::time::{Instant, MINUTE};
use crate::planted_faults::PlantedFault;

/// Decides whether a slot is free on a calendar, by all rules of Reference 4 except the search
/// window. Client rules do not belong to it. Lead times count from `now`.
///
/// # Errors
/// All obstacles in the order of Reference 4.8, never empty. For web callers, a slot that is not
/// offered has no other obstacle, a past one only that of the lead times, and taken time is
/// reported once.
pub fn bookable(
    catalogue: &Catalogue,
    view: &CalendarView,
    request: &SlotRequest,
    now: Instant,
) -> Verdict {
    let mut obstacles = Vec::new();
    for reason in catalogue.not_offered(view.id, &request.chain, request.mode) {
        obstacles.push(Obstacle::NotOffered(reason));
    }
    // The public learns nothing else about a slot that the module does not show.
    if request.mode.is_for_web_callers() && !obstacles.is_empty() {
        return Err(obstacles);
    }
    // The past is too soon by the lead times. The public learns nothing else about past agendas.
    if request.mode.is_for_web_callers() && request.start < now {
        obstacles.extend(check_lead_times(catalogue, view.id, request.start, now));
        return Err(obstacles);
    }
    let interval = request.interval();
    if request.mode.follows_module_rules() {
        obstacles.extend(check_lead_times(catalogue, view.id, request.start, now));
        let open = view.open_time(catalogue.zone(), interval, now);
        obstacles.extend(check_grid(catalogue, view.id, &open, request));
        add_outside_availability(&mut obstacles, &open, request);
    }
    match request.mode {
        // A professional may put an appointment over a plage, a hold or closed time, not over
        // another client.
        BookingMode::Agenda(own) => {
            for other in view.taken().overlapping(interval) {
                if other.id != own {
                    obstacles.push(appointment_obstacle(other));
                }
            }
        }
        BookingMode::Module
        | BookingMode::ModuleByAccount
        | BookingMode::ModuleByPro
        | BookingMode::BackOffice => {
            add_taken(&mut obstacles, catalogue, view, request, now);
            if request.mode.respects_holds() {
                add_held(&mut obstacles, view, request, now);
            }
            // A wall clock shows this start twice, and a booking means the first.
            if !catalogue.zone().is_first_pass(request.start)
                && !PlantedFault::SecondPassAccepted.is_active()
            {
                obstacles.push(Obstacle::RepeatedHour);
            }
        }
    }
    let room = UnverifiedRoom::new(catalogue, view, request.mode, request.own, interval, now);
    if let Some(mut room) = room
        && !room.fits(interval)
    {
        obstacles.push(Obstacle::UnverifiedShare { percent: room.percent() });
    }
    // The public learns that the time is taken, not by how many events.
    if request.mode.is_for_web_callers() {
        obstacles.dedup_by(|a, b| {
            matches!(
                (a, b),
                (Obstacle::Taken { .. }, Obstacle::Taken { .. })
                    | (Obstacle::Held { .. }, Obstacle::Held { .. })
            )
        });
    }
    if obstacles.is_empty() { Ok(()) } else { Err(obstacles) }
}

/// Returns the first and the last start that the calendar's lead times allow. `None` if there is no
/// such calendar. Reference 4.1.
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

/// Returns the obstacle of a start that is too soon or too far. Reference 4.1.
fn check_lead_times(
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

/// Returns the obstacle of a start that no grid has. Reference 4.2.
fn check_grid(
    catalogue: &Catalogue,
    calendar: CalendarId,
    open: &OpenTime,
    request: &SlotRequest,
) -> Option<Obstacle> {
    if PlantedFault::OffGridAccepted.is_active() {
        return None;
    }
    let generate_interval = catalogue.calendars.get(&calendar)?.generate_interval.number();
    let first_leg = request.chain.legs()[0];
    let mut is_held = false;
    for occurrence in open.permitted_time(first_leg.intervention_id).holding(request.start) {
        let since_start = request.start.seconds_since(occurrence.start);
        if since_start % (generate_interval * MINUTE) == 0 {
            return None;
        }
        is_held = true;
    }
    // A start that no availability holds has no grid to miss: it lies outside.
    if is_held { Some(Obstacle::OffGrid { generate_interval }) } else { None }
}

/// Adds an obstacle for each leg that does not lie in permitted time. Reference 4.3.
fn add_outside_availability(obstacles: &mut Vec<Obstacle>, open: &OpenTime, request: &SlotRequest) {
    let checked = if PlantedFault::OnlyFirstLegChecked.is_active() { 1 } else { usize::MAX };
    for (leg, interval) in request.chain.legs_from(request.start).take(checked) {
        let intervention_id = leg.intervention_id;
        if !open.permitted_time(intervention_id).permitted.covers(interval) {
            obstacles.push(Obstacle::OutsideAvailability { intervention_id, interval });
        }
    }
}

/// Adds an obstacle for each live event that takes a moment of `interval`: appointments, then
/// plages. Reference 4.4.
fn add_taken(
    obstacles: &mut Vec<Obstacle>,
    catalogue: &Catalogue,
    view: &CalendarView,
    request: &SlotRequest,
    now: Instant,
) {
    let interval = request.interval();
    for taken in view.taken().overlapping(interval) {
        if request.own.appointment != Some(taken.id) {
            obstacles.push(appointment_obstacle(taken));
        }
    }
    let zone = catalogue.zone();
    // The expanded plages do not tell which plage takes the time. Only a taken time asks for it.
    if view.open_time(zone, interval, now).plages().overlaps(interval) {
        for (id, interval) in view.rules().plages_overlapping(zone, interval) {
            obstacles.push(Obstacle::Taken { id, interval, by: TakenBy::Plage });
        }
    }
}

/// Adds an obstacle for each live hold of another caller that takes a moment of the chain.
/// Reference 6.7.
fn add_held(
    obstacles: &mut Vec<Obstacle>,
    view: &CalendarView,
    request: &SlotRequest,
    now: Instant,
) {
    for held in view.live_holds(request.interval(), request.own, now) {
        obstacles.push(Obstacle::Held { until: held.id.expires_at });
    }
}

fn appointment_obstacle(taken: TakenInterval) -> Obstacle {
    Obstacle::Taken { id: taken.id, interval: taken.interval, by: TakenBy::Appointment }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::searched::{Searched, at, chain_of};

    fn ask(searched: &Searched, start: Instant, mode: BookingMode) -> Verdict {
        let request = SlotRequest::new(chain_of(15), start, mode);
        bookable(&searched.catalogue, &searched.views[0], &request, searched.now)
    }

    #[test]
    fn a_slot_that_begins_now_can_be_booked() {
        let mut searched = Searched::new();
        searched.now = at(0, 9 * 60);
        for mode in [BookingMode::Module, BookingMode::ModuleByAccount, BookingMode::ModuleByPro] {
            assert_eq!(ask(&searched, searched.now, mode), Ok(()), "{mode:?}");
        }
    }

    #[test]
    fn the_public_learns_of_a_past_slot_only_that_it_is_too_soon() {
        let mut searched = Searched::new();
        searched.now = at(1, 12 * 60);
        let too_soon = Obstacle::MintimeRdv { earliest: searched.now };
        // The calendar is closed at 6.
        for start in [at(1, 6 * 60), at(1, 9 * 60)] {
            for mode in [BookingMode::Module, BookingMode::ModuleByAccount] {
                assert_eq!(ask(&searched, start, mode), Err(vec![too_soon.clone()]), "{mode:?}");
            }
        }
        let learned = ask(&searched, at(1, 6 * 60), BookingMode::ModuleByPro);
        assert_eq!(learned.expect_err("it is closed").len(), 2, "a professional learns all");
    }
}
