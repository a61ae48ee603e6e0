//! Search of all free starts of a window, by a walk over sorted intervals. Reference 4, 4.7.
//!
//! The rules are those of [`crate::domain::availability::bookable::bookable`], applied to a window
//! instead of one start. A property test checks that both agree.

use crate::domain::availability::bookable::lead_times;
use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::open_time::{CalendarView, OpenTime, PermittedTime};
use crate::domain::availability::slot_request::{Chain, ChainSearch};
use crate::domain::availability::taken_time::TakenTime;
use crate::domain::availability::unverified_share::UnverifiedRoom;
use crate::domain::records::ids::VeventId;
use crate::domain::time::interval_set::{Gaps, Interval, IntervalSet};
use crate::domain::time::{Instant, MINUTE};

/// Appends to `starts` every start within `window` at which the chain is bookable on the calendar,
/// ascending. A chain that ends exactly when the next event begins fits. Lead times count from
/// `now`, so a start can disappear between two calls. Reference 4.7.
pub fn free_starts(
    catalogue: &Catalogue,
    view: &CalendarView,
    search: ChainSearch<'_>,
    window: Interval,
    now: Instant,
    starts: &mut Vec<Instant>,
) {
    let ChainSearch { chain, mode, .. } = search;
    if catalogue.not_offered(view.id, chain, mode).next().is_some() {
        return;
    }
    let window = match lead_times(catalogue, view.id, now) {
        Some((earliest, latest)) if mode.follows_module_rules() => Interval {
            start: window.start.max(earliest),
            end: window.end.min(latest.plus_seconds(1)),
        },
        _ => window,
    };
    if window.is_empty() {
        return;
    }
    let blocked = BlockedTime::new(view, search, searched_span(chain, window), now);
    append_starts(catalogue, view, search, &blocked, window, now, starts);
}

/// Returns the time that chains with a start within the window may take.
fn searched_span(chain: &Chain, window: Interval) -> Interval {
    Interval { start: window.start, end: window.end.plus_seconds(chain.length_seconds()) }
}

/// Appends the starts within `window` that remain beside `blocked`, ascending, whether the module
/// shows the calendar or not, and whatever its lead times are.
pub(crate) fn append_starts(
    catalogue: &Catalogue,
    view: &CalendarView,
    search: ChainSearch<'_>,
    blocked: &BlockedTime<'_>,
    window: Interval,
    now: Instant,
    starts: &mut Vec<Instant>,
) {
    let ChainSearch { chain, mode, own } = search;
    let Some(calendar) = catalogue.calendars.get(&view.id) else { return };
    let zone = catalogue.zone();
    let whole = searched_span(chain, window);
    let open = view.open_time(zone, whole, now);
    let step_seconds = calendar.generate_interval.number() * MINUTE;
    let first_new = starts.len();
    if mode.follows_module_rules() {
        let anchors = open.permitted_time(chain.legs()[0].intervention_id);
        let merged: Vec<Interval>;
        let (occurrences, longest_seconds) = if anchors.overlapping {
            merged = merge_grids(&anchors.occurrences, step_seconds);
            let lengths = merged.iter().map(|grid| grid.end.seconds_since(grid.start));
            (&merged, Some(lengths.max().unwrap_or_default()))
        } else {
            (&anchors.occurrences, None)
        };
        let mut grid = Grid::new(occurrences, longest_seconds, step_seconds, starts);
        if have_same_open_time(&open, chain) {
            // Legs with the same open time are searched as one long leg.
            free_time(anchors, blocked, whole, |gap| {
                grid.offer(fitting(gap, chain.length_seconds(), window))
            });
        } else {
            for range in starts_of_legs(&open, blocked, chain, whole).as_slice() {
                grid.offer(clip(*range, window));
            }
        }
        grid.finish(first_new);
    } else {
        let days = civil_days(catalogue, window);
        let mut grid = Grid::new(&days, None, step_seconds, starts);
        let free = IntervalSet::from_intervals(vec![whole]).difference(open.plages());
        walk_gaps(free.as_slice(), blocked, whole, |gap| {
            grid.offer(fitting(gap, chain.length_seconds(), window))
        });
        grid.finish(first_new);
    }
    for second_pass in zone.second_passes(window) {
        let mut found = starts.split_off(first_new);
        found.retain(|start| *start < second_pass.start || second_pass.end <= *start);
        starts.append(&mut found);
    }
    if let Some(mut room) = UnverifiedRoom::new(catalogue, view, mode, own, whole, now) {
        let mut found = starts.split_off(first_new);
        found.retain(|start| room.fits(chain.interval_from(*start)));
        starts.append(&mut found);
    }
}

/// Returns whether all legs have the same open time.
fn have_same_open_time(open: &OpenTime, chain: &Chain) -> bool {
    let first = open.permitted_time_index(chain.legs()[0].intervention_id);
    chain.legs().iter().all(|leg| open.permitted_time_index(leg.intervention_id) == first)
}

/// Time of a calendar that appointments and holds take, as one caller finds it.
#[derive(Debug)]
pub struct BlockedTime<'a> {
    /// Time of the calendar's appointments.
    appointments: &'a TakenTime,
    /// The appointment whose time counts as free.
    own_appointment: Option<VeventId>,
    /// Time of live holds that block the caller. Mostly empty.
    held: IntervalSet,
}

impl<'a> BlockedTime<'a> {
    /// Returns the time that is blocked for a search within `span`. Outside it, holds do not count.
    pub fn new(
        view: &'a CalendarView,
        search: ChainSearch<'_>,
        span: Interval,
        now: Instant,
    ) -> Self {
        let mut held = Vec::new();
        if search.mode.respects_holds() {
            held.extend(view.live_holds(span, search.own, now).map(|hold| hold.interval));
        }
        let own_appointment = search.own.appointment;
        Self {
            own_appointment,
            held: IntervalSet::from_intervals(held),
            ..Self::without_holds(view)
        }
    }

    /// Returns the time that the appointments of all callers block.
    pub(crate) fn without_holds(view: &'a CalendarView) -> Self {
        Self { appointments: view.taken(), own_appointment: None, held: IntervalSet::default() }
    }
}

/// Calls `found` with each open stretch that is not blocked, ascending, of the open time that
/// overlaps `span`. Outside `span`, a stretch may include blocked time.
pub fn free_time(
    permitted: &PermittedTime,
    blocked: &BlockedTime<'_>,
    span: Interval,
    found: impl FnMut(Interval),
) {
    let open = permitted.open.as_slice();
    let first = open.partition_point(|i| i.end <= span.start);
    let last = first + open[first..].partition_point(|i| i.start < span.end);
    walk_gaps(&open[first..last], blocked, span, found);
}

/// Calls `found` with each part of `open` that is not blocked within `span`, ascending.
fn walk_gaps(
    open: &[Interval],
    blocked: &BlockedTime<'_>,
    span: Interval,
    found: impl FnMut(Interval),
) {
    let not_held;
    let open = if blocked.held.is_empty() {
        open
    } else {
        not_held = IntervalSet::from_intervals(open.to_vec()).difference(&blocked.held);
        not_held.as_slice()
    };
    let Some(mut gaps) = Gaps::new(open, found) else { return };
    for day in blocked.appointments.days(span) {
        for taken in day {
            if blocked.own_appointment == Some(taken.id) {
                continue;
            }
            if gaps.skip_taken(taken.interval).is_none() {
                return;
            }
        }
    }
    gaps.finish();
}

/// Returns the starts at which each leg lies in its own free time.
fn starts_of_legs(
    open: &OpenTime,
    blocked: &BlockedTime<'_>,
    chain: &Chain,
    whole: Interval,
) -> IntervalSet {
    let mut starts: Option<IntervalSet> = None;
    let mut offset = 0;
    for leg in chain.legs() {
        let mut free = Vec::new();
        free_time(open.permitted_time(leg.intervention_id), blocked, whole, |gap| free.push(gap));
        let fits =
            IntervalSet::from_intervals(free).starts_that_fit(leg.length_seconds).shifted(-offset);
        starts = Some(match starts {
            None => fits,
            Some(before) => before.intersection(&fits),
        });
        offset += leg.length_seconds;
    }
    starts.unwrap_or_default()
}

/// Returns the starts within `window` at which `length_seconds` fit into `gap`.
fn fitting(gap: Interval, length_seconds: i64, window: Interval) -> Interval {
    clip(Interval { start: gap.start, end: gap.end.plus_seconds(1 - length_seconds) }, window)
}

/// Returns the part of a range within the window. It may be empty.
fn clip(range: Interval, window: Interval) -> Interval {
    Interval { start: range.start.max(window.start), end: range.end.min(window.end) }
}

/// Returns the civil days that overlap a window. The back office's grid counts from midnight.
/// Reference 4.7.
fn civil_days(catalogue: &Catalogue, window: Interval) -> Vec<Interval> {
    let zone = catalogue.zone();
    let first = zone.civil_of(window.start).day().plus_days(-1);
    let last = zone.civil_of(window.end).day().plus_days(1);
    let mut days = Vec::new();
    let mut day = first;
    while day <= last {
        let next = day.plus_days(1);
        let interval = Interval {
            start: zone.instant_of(day.midnight()),
            end: zone.instant_of(next.midnight()),
        };
        // A zone may skip a whole day.
        if !interval.is_empty() {
            days.push(interval);
        }
        day = next;
    }
    days
}

/// Joins overlapping anchors whose grids have the same points, so that each point is found once for
/// each grid, and not for each anchor. The result ascends by start. Reference 4.2.
fn merge_grids(anchors: &[Interval], step_seconds: i64) -> Vec<Interval> {
    let mut by_grid: Vec<(i64, Interval)> = Vec::with_capacity(anchors.len());
    for anchor in anchors {
        by_grid.push((anchor.start.0.rem_euclid(step_seconds), *anchor));
    }
    by_grid.sort_unstable();
    let mut merged: Vec<(i64, Interval)> = Vec::new();
    for (grid, anchor) in by_grid {
        match merged.last_mut() {
            Some((same, last)) if *same == grid && anchor.start <= last.end => {
                last.end = last.end.max(anchor.end);
            }
            _ => merged.push((grid, anchor)),
        }
    }
    let mut merged: Vec<Interval> = merged.into_iter().map(|(_, anchor)| anchor).collect();
    merged.sort_unstable();
    merged
}

/// Collects the grid points that lie in the offered ranges. Reference 4.2.
struct Grid<'a> {
    /// Ascending by start. A grid begins at the start of its anchor and ends with it.
    anchors: &'a [Interval],
    /// Place of the first anchor that may reach the next range.
    at: usize,
    /// Length of the longest anchor if anchors overlap. The points are then sorted at the end.
    longest_seconds: Option<i64>,
    /// Seconds between two points.
    step_seconds: i64,
    /// Points found so far.
    starts: &'a mut Vec<Instant>,
}

impl<'a> Grid<'a> {
    fn new(
        anchors: &'a [Interval],
        longest_seconds: Option<i64>,
        step_seconds: i64,
        starts: &'a mut Vec<Instant>,
    ) -> Self {
        Self { anchors, at: 0, longest_seconds, step_seconds, starts }
    }

    /// Adds the points that lie in `range`. Ranges must ascend and be disjoint.
    fn offer(&mut self, range: Interval) {
        if range.is_empty() {
            return;
        }
        let out_of_reach = |anchor: &Interval| match self.longest_seconds {
            Some(longest_seconds) => anchor.start.plus_seconds(longest_seconds) <= range.start,
            None => anchor.end <= range.start,
        };
        if self.at == 0 {
            self.at = self.anchors.partition_point(out_of_reach);
        } else {
            self.at += self.anchors[self.at..].iter().take_while(|a| out_of_reach(a)).count();
        }
        for anchor in self.anchors[self.at..].iter().take_while(|a| a.start < range.end) {
            let last = range.end.min(anchor.end);
            let behind = range.start.seconds_since(anchor.start).max(0);
            let first = anchor.start.plus_seconds(
                (behind + self.step_seconds - 1) / self.step_seconds * self.step_seconds,
            );
            // A whole range at once is written without a look at the room for each point.
            let points = (last.seconds_since(first) + self.step_seconds - 1) / self.step_seconds;
            let points = 0..points.max(0);
            self.starts.extend(points.map(|nth| first.plus_seconds(nth * self.step_seconds)));
        }
    }

    /// Sorts the new points if grids mixed.
    fn finish(self, first_new: usize) {
        if self.longest_seconds.is_some() {
            let mut new = self.starts.split_off(first_new);
            new.sort_unstable();
            new.dedup();
            self.starts.append(&mut new);
        }
    }
}
