//! May this start be given away? The one place that knows. Reference 4.

use crate::domain::booking::open_time::{CalendarView, OpenTime};
use crate::domain::booking::taken_time::Taken;
use crate::domain::records::catalogue::Catalogue;
use crate::domain::records::ids::{CalendarId, InterventionId, VeventId};
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;

/// By which door a booking or a search comes in: it decides which rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookingMode {
    /// The appointment module, used by anybody.
    Module,
    /// The appointment module's rules, asked for by a professional: the module need not be active.
    ModuleByPro,
    /// The professional's own agenda (`from_web=0`): only time that is really taken stands in the way.
    BackOffice,
    /// A professional puts this very event somewhere by hand: only another live appointment stands in the way.
    Agenda(VeventId),
}

impl BookingMode {
    /// Whether lead times, the grid, availabilities and public names count.
    #[must_use]
    pub const fn follows_module_rules(self) -> bool {
        matches!(self, Self::Module | Self::ModuleByPro)
    }
}

/// One intervention of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// What is done.
    pub intervention_id: InterventionId,
    /// For how long, in elapsed seconds.
    pub length_seconds: i64,
}

/// Interventions one right after another on one calendar; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    legs: Vec<Leg>,
    length_seconds: i64,
}

impl Chain {
    /// A chain of at least one leg.
    #[must_use]
    pub fn new(legs: Vec<Leg>) -> Option<Self> {
        let length_seconds = legs.iter().map(|leg| leg.length_seconds).sum();
        (!legs.is_empty()).then_some(Self { legs, length_seconds })
    }

    /// Its legs in order.
    #[must_use]
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// Elapsed seconds of all legs together.
    #[must_use]
    pub const fn length_seconds(&self) -> i64 {
        self.length_seconds
    }

    /// The time the whole chain takes.
    #[must_use]
    pub fn interval_from(&self, start: Instant) -> Interval {
        Interval { start, end: start.plus_seconds(self.length_seconds) }
    }

    /// Each leg with the time it takes.
    pub fn legs_from(&self, start: Instant) -> impl Iterator<Item = (Leg, Interval)> + '_ {
        self.legs.iter().scan(start, |start, leg| {
            let interval = Interval { start: *start, end: start.plus_seconds(leg.length_seconds) };
            *start = interval.end;
            Some((*leg, interval))
        })
    }
}

/// Something that stands in the way of a start, with its fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The module does not offer this at all.
    NotOffered(NotOffered),
    /// Too soon: not before `earliest`.
    MintimeRdv {
        /// First start that is late enough.
        earliest: Instant,
    },
    /// Too far ahead: not after `latest`.
    MaxRdvPeriod {
        /// Last start that is near enough.
        latest: Instant,
    },
    /// Some availability holds the start, none has it on its grid.
    OffGrid {
        /// Minutes between two starts of a grid.
        generate_interval: i64,
    },
    /// Some moment of a leg lies in no availability for it.
    OutsideAvailability {
        /// The intervention that is not offered then.
        intervention_id: InterventionId,
        /// The time it would have taken.
        interval: Interval,
    },
    /// The time is somebody's already.
    Taken {
        /// The event that has it.
        id: VeventId,
        /// When that event is.
        interval: Interval,
        /// Whether it is a client's appointment or a plage.
        by: TakenBy,
    },
    /// The wall clock shows this time twice, and this is the second pass.
    RepeatedHour,
}

/// What kind of event takes a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the two kinds that take time")]
pub enum TakenBy {
    Appointment,
    Plage,
}

/// Why something is not offered, whatever the time. Reference 4.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each says what it is")]
pub enum NotOffered {
    ModuleInactive,
    CalendarDeleted(CalendarId),
    CalendarHidden(CalendarId),
    InterventionDeleted(InterventionId),
    InterventionHidden(InterventionId),
    InterventionsetHidden(InterventionId),
}

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
    chain: &Chain,
    start: Instant,
    now: Instant,
    channel: BookingMode,
) -> Result<(), Vec<Obstacle>> {
    let mut obstacles: Vec<Obstacle> =
        catalogue.not_offered(view.id, chain, channel).map(Obstacle::NotOffered).collect();
    if channel == BookingMode::Module && !obstacles.is_empty() {
        return Err(obstacles);
    }
    let interval = chain.interval_from(start);
    if channel.follows_module_rules() {
        obstacles.extend(too_soon_or_far(catalogue, view.id, start, now));
        let open = view.open_time(catalogue.zone(), interval, now);
        obstacles.extend(off_grid(catalogue, view.id, &open, chain, start));
        obstacles.extend(outside_availability(&open, chain, start));
    }
    match channel {
        BookingMode::Agenda(own) => obstacles
            .extend(view.taken.meeting(interval).filter(|other| other.id != own).map(by_client)),
        BookingMode::Module | BookingMode::ModuleByPro | BookingMode::BackOffice => {
            obstacles.extend(taken(catalogue, view, interval, now));
            if !catalogue.zone().names_itself(start) {
                obstacles.push(Obstacle::RepeatedHour);
            }
        }
    }
    if channel == BookingMode::Module {
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
pub fn too_soon_or_far(
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
    let mut holding = open.lane(chain.legs()[0].intervention_id).holding(start).peekable();
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
        .filter(|(leg, interval)| !open.lane(leg.intervention_id).permitted.covers(*interval))
        .map(|(leg, interval)| Obstacle::OutsideAvailability {
            intervention_id: leg.intervention_id,
            interval,
        })
}

fn by_client(taken: Taken) -> Obstacle {
    Obstacle::Taken { id: taken.id, interval: taken.interval, by: TakenBy::Appointment }
}

/// Everything live that takes some moment of `interval`: appointments, then plages. Reference 4.4.
fn taken(
    catalogue: &Catalogue,
    view: &CalendarView,
    interval: Interval,
    now: Instant,
) -> Vec<Obstacle> {
    let mut found: Vec<Obstacle> = view.taken.meeting(interval).map(by_client).collect();
    // The expanded plages answer the common case; only where one is in the way does it matter which.
    if view.open_time(catalogue.zone(), interval, now).plages().meets(interval) {
        found.extend(
            view.rules
                .plages_meeting(catalogue.zone(), interval)
                .map(|(id, interval)| Obstacle::Taken { id, interval, by: TakenBy::Plage }),
        );
    }
    found
}
