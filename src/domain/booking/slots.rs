//! Every start that may be given away, found by walking sorted intervals. Reference 4.
//!
//! The same rules as [`crate::domain::booking::bookable::bookable`], read over a window instead of
//! at one point; a property test holds the two together.

use crate::domain::booking::bookable::lead_times;
use crate::domain::booking::open_time::{CalendarView, OpenTime, PermittedTime};
use crate::domain::booking::slot_request::{BookingMode, Chain};
use crate::domain::booking::taken_time::TakenTime;
use crate::domain::records::catalogue::Catalogue;
use crate::domain::time::interval_set::{Gaps, Interval, IntervalSet};
use crate::domain::time::{DAY, Instant, MINUTE};

/// Appends to `starts` every start within `window` at which the chain is bookable on the calendar,
/// ascending. Ending exactly when the next event begins is a fit. Lead times are measured from
/// `now`, so a start can vanish between two calls. Reference 12.2, 12.7; Reference 4.
pub fn free_starts(
    catalogue: &Catalogue,
    view: &CalendarView,
    chain: &Chain,
    window: Interval,
    now: Instant,
    mode: BookingMode,
    starts: &mut Vec<Instant>,
) {
    let Some(calendar) = catalogue.calendars.get(&view.id) else { return };
    if catalogue.not_offered(view.id, chain, mode).next().is_some() {
        return;
    }
    let window = match lead_times(catalogue, view.id, now) {
        Some((earliest, latest)) if mode.follows_module_rules() => Interval {
            start: window.start.max(earliest),
            end: window.end.min(latest.plus_seconds(1)),
        },
        Some(_) | None => window,
    };
    if window.is_empty() {
        return;
    }
    let zone = catalogue.zone();
    let whole =
        Interval { start: window.start, end: window.end.plus_seconds(chain.length_seconds()) };
    let open = view.open_time(zone, whole, now);
    let step = calendar.generate_interval.number() * MINUTE;
    let first_new = starts.len();
    if mode.follows_module_rules() {
        let anchors = open.permitted_time(chain.legs()[0].intervention_id);
        let mut grid =
            Grid::new(&anchors.occurrences, anchors.longest, anchors.overlapping, step, starts);
        let permitted_times =
            chain.legs().iter().map(|leg| open.permitted_time_index(leg.intervention_id));
        if permitted_times
            .clone()
            .eq(permitted_times.map(|_| open.permitted_time_index(chain.legs()[0].intervention_id)))
        {
            // Legs with the same open time are one long leg.
            free_time(anchors, &view.taken, whole, |gap| {
                grid.offer(fitting(gap, chain.length_seconds(), window))
            });
        } else {
            starts_of_legs(&open, &view.taken, chain, whole)
                .as_slice()
                .iter()
                .for_each(|range| grid.offer(clip(*range, window)));
        }
        grid.finish(first_new);
    } else {
        let days = civil_days(catalogue, window);
        let mut grid = Grid::new(&days, 2 * DAY, false, step, starts);
        let free = IntervalSet::from_intervals(vec![whole]).difference(open.plages());
        walk(free.as_slice(), &view.taken, whole, |gap| {
            grid.offer(fitting(gap, chain.length_seconds(), window))
        });
        grid.finish(first_new);
    }
    for second_pass in zone.second_passes(window) {
        let kept = |at: &Instant| !(second_pass.start <= *at && *at < second_pass.end);
        let new = starts.split_off(first_new);
        starts.extend(new.into_iter().filter(kept));
    }
}

/// Calls `found` with each stretch that is open and that no appointment takes, ascending, of the
/// open time that meets `span`. What a stretch says of moments before and after `span` is not to be
/// relied on.
pub fn free_time(
    permitted: &PermittedTime,
    taken: &TakenTime,
    span: Interval,
    found: impl FnMut(Interval),
) {
    let open = permitted.open.as_slice();
    let first = open.partition_point(|i| i.end <= span.start);
    let last = first + open[first..].partition_point(|i| i.start < span.end);
    walk(&open[first..last], taken, span, found);
}

fn walk(open: &[Interval], taken: &TakenTime, span: Interval, found: impl FnMut(Interval)) {
    let Some(mut gaps) = Gaps::new(open, found) else { return };
    for day in taken.days(span) {
        for taken in day {
            if gaps.skip_taken(taken.interval).is_none() {
                return;
            }
        }
    }
    gaps.finish();
}

/// The starts at which each leg lies in its own free time, one right after another.
fn starts_of_legs(
    open: &OpenTime,
    taken: &TakenTime,
    chain: &Chain,
    whole: Interval,
) -> IntervalSet {
    let mut starts: Option<IntervalSet> = None;
    let mut offset = 0;
    for leg in chain.legs() {
        let mut free = Vec::new();
        free_time(open.permitted_time(leg.intervention_id), taken, whole, |gap| free.push(gap));
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

/// The starts within `window` at which `length_seconds` fit into `gap`.
fn fitting(gap: Interval, length_seconds: i64, window: Interval) -> Interval {
    clip(Interval { start: gap.start, end: gap.end.plus_seconds(1 - length_seconds) }, window)
}

fn clip(range: Interval, window: Interval) -> Interval {
    Interval { start: range.start.max(window.start), end: range.end.min(window.end) }
}

/// The civil days that meet a window, as instants: the back office counts its grid from midnight.
fn civil_days(catalogue: &Catalogue, window: Interval) -> Vec<Interval> {
    let zone = catalogue.zone();
    let first = zone.civil_of(window.start).day().plus_days(-1);
    let last = zone.civil_of(window.end).day().plus_days(1);
    (first.0..=last.0)
        .map(crate::domain::time::CivilDay)
        .map(|day| Interval {
            start: zone.instant_of(day.midnight()),
            end: zone.instant_of(day.plus_days(1).midnight()),
        })
        .filter(|day| !day.is_empty())
        .collect()
}

/// Writes down the points of the grids that lie in the ranges offered to it.
struct Grid<'a> {
    /// Ascending by start; each is an anchor and the reach of its grid.
    anchors: &'a [Interval],
    /// First anchor that may still matter.
    at: usize,
    /// Seconds of the longest anchor.
    longest: i64,
    /// Whether grids may mix, so that what is found must be sorted.
    overlapping: bool,
    /// Seconds between two points.
    step: i64,
    /// What has been found.
    starts: &'a mut Vec<Instant>,
}

impl<'a> Grid<'a> {
    fn new(
        anchors: &'a [Interval],
        longest: i64,
        overlapping: bool,
        step: i64,
        starts: &'a mut Vec<Instant>,
    ) -> Self {
        Self { anchors, at: 0, longest, overlapping, step, starts }
    }

    /// Takes the points that lie in `range`. Ranges come ascending and disjoint.
    fn offer(&mut self, range: Interval) {
        if range.is_empty() {
            return;
        }
        let out_of_reach = |anchor: &Interval| {
            if self.overlapping {
                anchor.start.plus_seconds(self.longest) <= range.start
            } else {
                anchor.end <= range.start
            }
        };
        if self.at == 0 {
            self.at = self.anchors.partition_point(out_of_reach);
        } else {
            self.at += self.anchors[self.at..].iter().take_while(|a| out_of_reach(a)).count();
        }
        for anchor in self.anchors[self.at..].iter().take_while(|a| a.start < range.end) {
            let last = range.end.min(anchor.end);
            let behind = range.start.seconds_since(anchor.start).max(0);
            let mut point =
                anchor.start.plus_seconds((behind + self.step - 1) / self.step * self.step);
            while point < last {
                self.starts.push(point);
                point = point.plus_seconds(self.step);
            }
        }
    }

    fn finish(self, first_new: usize) {
        if self.overlapping {
            let mut new = self.starts.split_off(first_new);
            new.sort_unstable();
            new.dedup();
            self.starts.append(&mut new);
        }
    }
}
