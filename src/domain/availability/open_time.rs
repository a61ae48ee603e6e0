//! Open time of a calendar by intervention: occurrences of availabilities without those of plages.
//! Reference 4.2, 4.3, 4.4.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use crate::domain::availability::free_days::FreeDays;
use crate::domain::availability::series_index::SeriesIndex;
use crate::domain::availability::slot_request::OwnTime;
use crate::domain::availability::taken_time::{TakenInterval, TakenTime, TimeHolder};
use crate::domain::records::ids::{CalendarId, InterventionId, VeventId};
use crate::domain::records::vevent::{Permits, Vevent, VeventKind};
use crate::domain::time::interval_set::{Interval, IntervalSet};
use crate::domain::time::zone::Zone;
use crate::domain::time::{DAY, Instant};

/// Number of days, from yesterday on, that are kept expanded.
const EXPANDED_DAYS: i64 = 101;

/// Live availabilities and plages of a calendar, each list ascending by id, and an index of them
/// and of the notes.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Events that open time.
    availabilities: Vec<Arc<Vevent>>,
    /// Events that take time without a client.
    plages: Vec<Arc<Vevent>>,
    /// Both, and live notes, by their time.
    by_time: SeriesIndex,
}

impl Rules {
    /// Adds a live availability, plage or note whose id is not among them. Any other event changes
    /// nothing.
    pub fn add(&mut self, row: &Arc<Vevent>) {
        self.by_time.add(row);
        let list = match &row.kind {
            VeventKind::Availability(_) if !row.deleted => &mut self.availabilities,
            VeventKind::Plage(_) if !row.deleted => &mut self.plages,
            VeventKind::Availability(_)
            | VeventKind::Plage(_)
            | VeventKind::Note(_)
            | VeventKind::Appointment(_) => return,
        };
        let at = list.partition_point(|r| r.id < row.id);
        list.insert(at, Arc::clone(row));
    }

    /// Removes an event that was added.
    ///
    /// # Panics
    /// If it was not added in exactly this form.
    pub fn remove(&mut self, row: &Vevent) {
        self.by_time.remove(row);
        for list in [&mut self.availabilities, &mut self.plages] {
            if let Ok(at) = list.binary_search_by_key(&row.id, |r| r.id) {
                list.remove(at);
            }
        }
    }

    /// The availabilities, plages and notes by their time.
    pub fn by_time(&self) -> &SeriesIndex {
        &self.by_time
    }

    /// Returns the live availabilities, ascending by id.
    pub fn availabilities(&self) -> &[Arc<Vevent>] {
        &self.availabilities
    }

    /// The live plages, ascending by id.
    pub fn plages(&self) -> &[Arc<Vevent>] {
        &self.plages
    }

    /// Returns each occurrence of a plage that overlaps `interval`, with the id of the plage.
    pub fn plages_overlapping(
        &self,
        zone: Zone,
        interval: Interval,
    ) -> impl Iterator<Item = (VeventId, Interval)> + '_ {
        self.plages.iter().flat_map(move |row| {
            let series = row.series().expect("a plage is a series");
            let occurrences = series.intervals_overlapping(zone, interval);
            occurrences.map(|occurrence| (row.id, occurrence))
        })
    }

    /// Returns an upper bound on the occurrences that an expansion over `span` looks at.
    pub fn count_looked_at(&self, zone: Zone, span: Interval) -> i64 {
        let from = zone.civil_of(span.start).day();
        let to = zone.civil_of(span.end).day();
        let mut count: i64 = 0;
        for row in self.availabilities.iter().chain(&self.plages) {
            let series = row.series().expect("a rule is a series");
            count = count.saturating_add(series.count_looked_at_between(from, to));
        }
        count
    }

    /// Returns whether the calendar offers an intervention: some live availability permits it and
    /// has an occurrence that ends after `now`. Reference 4.
    pub fn offers(&self, zone: Zone, intervention: InterventionId, now: Instant) -> bool {
        for row in &self.availabilities {
            if let VeventKind::Availability(availability) = &row.kind
                && availability.permits.permits(intervention)
                && availability.series.has_occurrence_ending_after(zone, now)
            {
                return true;
            }
        }
        false
    }
}

/// Permitted time of the interventions that the same availabilities permit.
#[derive(Clone, Debug, Default)]
pub struct PermittedTime {
    /// Occurrences of these availabilities, ascending by start. Each has a grid of its own.
    pub occurrences: Vec<Interval>,
    /// Length of the longest of them.
    pub longest_seconds: i64,
    /// Whether some of them overlap. Their grids then mix.
    pub overlapping: bool,
    /// Their moments without those of plages.
    pub open: IntervalSet,
    /// Their moments. Reference 4.3.
    pub permitted: IntervalSet,
}

impl PermittedTime {
    fn new(mut occurrences: Vec<Interval>, plages: &IntervalSet) -> Self {
        occurrences.sort_unstable();
        occurrences.dedup();
        let permitted = IntervalSet::from_intervals(occurrences.clone());
        let mut longest_seconds = 0;
        for occurrence in &occurrences {
            longest_seconds = longest_seconds.max(occurrence.end.seconds_since(occurrence.start));
        }
        Self {
            longest_seconds,
            overlapping: occurrences.windows(2).any(|pair| pair[1].start < pair[0].end),
            open: permitted.difference(plages),
            permitted,
            occurrences,
        }
    }

    /// Returns the occurrences that contain `moment`, latest start first.
    pub fn holding(&self, moment: Instant) -> impl Iterator<Item = Interval> + '_ {
        let after = self.occurrences.partition_point(|o| o.start <= moment);
        let earliest = moment.plus_seconds(-self.longest_seconds);
        let candidates = self.occurrences[..after].iter().rev().copied();
        candidates.take_while(move |o| o.start > earliest).filter(move |o| moment < o.end)
    }
}

/// Open time of a calendar within a span.
#[derive(Clone, Debug)]
pub struct OpenTime {
    /// All occurrences that overlap this span are included, and none is clipped.
    span: Interval,
    /// Place 0 is for every intervention that no availability names.
    permitted_times: Vec<PermittedTime>,
    /// Named interventions, ascending, with their places in `permitted_times`.
    named: Vec<(InterventionId, usize)>,
    /// Moments that plages take.
    plages: IntervalSet,
}

impl OpenTime {
    /// Expands the availabilities and plages over a span.
    pub fn expand(span: Interval, rules: &Rules, zone: Zone) -> Self {
        let plages =
            rules.plages_overlapping(zone, span).map(|(_, occurrence)| occurrence).collect();
        let plages = IntervalSet::from_intervals(plages);
        let mut named: Vec<InterventionId> = Vec::new();
        let mut opening: Vec<(&Permits, Vec<Interval>)> = Vec::new();
        let mut open_for_all: Vec<Interval> = Vec::new();
        for row in &rules.availabilities {
            let VeventKind::Availability(availability) = &row.kind else { continue };
            let occurrences: Vec<Interval> =
                availability.series.intervals_overlapping(zone, span).collect();
            match &availability.permits {
                Permits::All => open_for_all.extend(&occurrences),
                Permits::Only(ids) => named.extend(ids),
            }
            opening.push((&availability.permits, occurrences));
        }
        named.sort_unstable();
        named.dedup();
        let mut permitted_times = vec![PermittedTime::new(open_for_all, &plages)];
        // The availabilities of each permitted time but the first. Interventions with the same
        // availabilities share one permitted time.
        let mut permitting_lists: Vec<Vec<usize>> = Vec::new();
        let mut places = Vec::with_capacity(named.len());
        for id in named {
            let mut permitting = Vec::new();
            for (at, (permits, _)) in opening.iter().enumerate() {
                if permits.permits(id) {
                    permitting.push(at);
                }
            }
            if let Some(known) = permitting_lists.iter().position(|list| *list == permitting) {
                places.push((id, known + 1));
                continue;
            }
            let mut occurrences = Vec::new();
            for at in &permitting {
                occurrences.extend(&opening[*at].1);
            }
            places.push((id, permitted_times.len()));
            permitted_times.push(PermittedTime::new(occurrences, &plages));
            permitting_lists.push(permitting);
        }
        Self { span, permitted_times, named: places, plages }
    }

    /// Returns the place of an intervention's permitted time. Interventions with the same place
    /// have the same open time.
    pub fn permitted_time_index(&self, intervention: InterventionId) -> usize {
        match self.named.binary_search_by_key(&intervention, |(id, _)| *id) {
            Ok(at) => self.named[at].1,
            Err(_) => 0,
        }
    }

    /// Returns the permitted time of an intervention.
    #[must_use]
    pub fn permitted_time(&self, intervention: InterventionId) -> &PermittedTime {
        &self.permitted_times[self.permitted_time_index(intervention)]
    }

    /// Returns the seconds of a span that some availability opens and no plage takes.
    pub fn open_seconds(&self, span: Interval) -> i64 {
        let mut opened = Vec::new();
        for permitted in &self.permitted_times {
            let open = permitted.open.as_slice();
            let first = open.partition_point(|stretch| stretch.end <= span.start);
            opened.extend(open[first..].iter().take_while(|stretch| stretch.start < span.end));
        }
        let union = IntervalSet::from_intervals(opened);
        union.as_slice().iter().map(|stretch| stretch.seconds_within(span)).sum()
    }

    /// Returns the moments that plages take.
    pub fn plages(&self) -> &IntervalSet {
        &self.plages
    }
}

/// A calendar's time: the taken time and the open time.
#[derive(Clone, Debug)]
pub struct CalendarView {
    /// The calendar.
    pub id: CalendarId,
    /// Time that live appointments take.
    taken: TakenTime,
    /// Time that live appointments take which were booked with a key alone; a part of `taken`.
    unverified: TakenTime,
    /// Time that holds keep, expired ones included.
    pub held: TakenTime<TimeHolder>,
    /// Availabilities and plages.
    rules: Arc<Rules>,
    /// Cache of `rules` expanded around the now of the last reader. It is computed from the rules
    /// alone and shared by all views with the same rules.
    expanded: Arc<ArcSwapOption<OpenTime>>,
    /// Cache of the free starts by day. It is computed from the rules and the taken time alone, and
    /// shared by all views with the same ones.
    free_days: FreeDays,
}

impl CalendarView {
    /// Returns a calendar without any event.
    pub fn new(id: CalendarId) -> Self {
        Self {
            id,
            taken: TakenTime::default(),
            unverified: TakenTime::default(),
            held: TakenTime::default(),
            rules: Arc::default(),
            expanded: Arc::default(),
            free_days: FreeDays::default(),
        }
    }

    /// Time that live appointments take.
    pub fn taken(&self) -> &TakenTime {
        &self.taken
    }

    /// Time that live appointments take which were booked with a key alone; a part of
    /// [`CalendarView::taken`].
    pub fn unverified(&self) -> &TakenTime {
        &self.unverified
    }

    /// Availabilities and plages.
    pub fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// Free starts by day, as far as they were asked for.
    pub(crate) fn free_days(&self) -> &FreeDays {
        &self.free_days
    }

    /// Returns the calendar with other rules and other taken time, and the same holds.
    #[must_use]
    pub(crate) fn with(&self, rules: Rules, taken: TakenTime, unverified: TakenTime) -> Self {
        let rules = Arc::new(rules);
        Self { taken, unverified, rules, held: self.held.clone(), ..Self::new(self.id) }
    }

    /// Adds a live appointment, `by_key` if it was booked with a key alone.
    pub(crate) fn add_taken(&mut self, taken: TakenInterval, by_key: bool) {
        self.taken.add(taken);
        if by_key {
            self.unverified.add(taken);
        }
        self.free_days.forget(taken.interval);
    }

    /// Removes an appointment that was added in the same way.
    pub(crate) fn remove_taken(&mut self, taken: TakenInterval, by_key: bool) {
        self.taken.remove(taken);
        if by_key {
            self.unverified.remove(taken);
        }
        self.free_days.forget(taken.interval);
    }

    /// Changes the rules. Also to be called if they must be read in another zone.
    pub fn change_rules(&mut self, change: impl FnOnce(&mut Rules)) {
        change(Arc::make_mut(&mut self.rules));
        self.expanded = Arc::default();
        self.free_days = FreeDays::default();
    }

    /// Returns the holds of other callers that take a moment of `interval`, ascending by start.
    pub(crate) fn live_holds(
        &self,
        interval: Interval,
        own: OwnTime,
        now: Instant,
    ) -> impl Iterator<Item = TakenInterval<TimeHolder>> + '_ {
        self.held
            .overlapping(interval)
            .filter(move |held| now < held.id.expires_at && own.hold != Some(held.id.id))
    }

    /// Returns the open time of at least `span`. Up to about 100 days after `now` it is cached;
    /// beyond that it is expanded for this call alone.
    pub fn open_time(&self, zone: Zone, span: Interval, now: Instant) -> Arc<OpenTime> {
        if let Some(expanded) = self.expanded.load_full()
            && expanded.span.covers(span)
        {
            return expanded;
        }
        let usual = usual_span(now);
        if !usual.covers(span) {
            return Arc::new(OpenTime::expand(span, &self.rules, zone));
        }
        let fresh = Arc::new(OpenTime::expand(usual, &self.rules, zone));
        self.expanded.store(Some(Arc::clone(&fresh)));
        fresh
    }

    /// Whether the open time around `now` is in the cache.
    pub fn is_prepared(&self, now: Instant) -> bool {
        let expanded = self.expanded.load();
        expanded.as_ref().is_some_and(|expanded| expanded.span.covers(usual_span(now)))
    }

    /// Expands the open time around `now`, so that the first reader finds it in the cache.
    pub fn prepare_open_time(&self, zone: Zone, now: Instant) {
        drop(self.open_time(zone, usual_span(now), now));
    }
}

/// Returns the span that is cached: `EXPANDED_DAYS` from the UTC midnight of yesterday.
fn usual_span(now: Instant) -> Interval {
    let start = Instant((now.0.div_euclid(DAY) - 1) * DAY);
    Interval { start, end: start.plus_seconds(EXPANDED_DAYS * DAY) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::availability::searched::{Searched, at, days, hours, zone};
    use crate::domain::availability::taken_time::TimeHolder;
    use crate::domain::records::hold::HoldId;
    use crate::domain::records::ids::VeventId;

    #[test]
    fn open_time_is_prepared_from_yesterday_on_for_a_hundred_days() {
        let view = &Searched::new().views[0];
        let noon = at(0, 12 * 60);
        assert!(!view.is_prepared(noon));
        view.prepare_open_time(zone(), noon);
        assert!(view.is_prepared(noon));
        let open = view.open_time(zone(), days(-1, 100), noon);
        assert_eq!(open.open_seconds(days(-1, 100)), 101 * 3 * 3_600);
        for other in [days(-1, 0), days(99, 100)] {
            assert!(Arc::ptr_eq(&view.open_time(zone(), other, noon), &open), "{other:?}");
        }
        for other in [Interval { start: at(-2, 1_439), end: at(0, 0) }, days(100, 101)] {
            assert!(!Arc::ptr_eq(&view.open_time(zone(), other, noon), &open), "{other:?}");
        }
        assert!(view.is_prepared(at(0, 1_439)));
        assert!(!view.is_prepared(at(1, 0)), "the span moves with the day");
    }

    #[test]
    fn other_rules_leave_the_holds_and_the_public_bookings() {
        let mut view = Searched::new().views[0].clone();
        let interval = Interval { start: at(0, 600), end: at(0, 615) };
        let id = VeventId::new(5).expect("an id");
        let holder = TimeHolder { expires_at: at(0, 30), id: HoldId([1; 32]) };
        view.held.add(TakenInterval { interval, id: holder });
        let mut taken = TakenTime::default();
        taken.add(TakenInterval { interval, id });
        let other = view.with(Rules::default(), taken.clone(), taken);
        assert!(other.rules().availabilities().is_empty());
        assert_eq!(other.taken().iter().count(), 1);
        assert_eq!(other.unverified().iter().count(), 1);
        assert_eq!(other.held.iter().count(), 1);
    }

    #[test]
    fn a_moment_lies_in_the_occurrences_that_have_begun_and_not_ended() {
        let interval = |start, end| Interval { start: Instant(start), end: Instant(end) };
        let occurrences = vec![interval(0, 10), interval(5, 20), interval(20, 22)];
        let permitted = PermittedTime::new(occurrences, &IntervalSet::default());
        let holding = |moment| {
            let starts = permitted.holding(Instant(moment)).map(|occurrence| occurrence.start.0);
            starts.collect::<Vec<i64>>()
        };
        assert!(holding(-1).is_empty());
        assert_eq!(holding(0), [0]);
        assert_eq!(holding(5), [5, 0]);
        assert_eq!(holding(10), [5]);
        assert_eq!(holding(19), [5]);
        assert_eq!(holding(20), [20]);
        assert!(holding(22).is_empty());
    }

    #[test]
    fn an_event_stands_among_those_of_its_kind() {
        let opened = hours(1, 9 * 60);
        let series = opened.series().expect("it repeats").clone();
        let id = VeventId::new(2).expect("an id");
        let plage = Vevent { id, kind: VeventKind::Plage(Box::new(series)), ..(*opened).clone() };
        let plage = Arc::new(plage);
        let mut rules = Rules::default();
        rules.add(&opened);
        rules.add(&plage);
        assert_eq!(rules.availabilities(), [Arc::clone(&opened)]);
        assert_eq!(rules.plages(), [Arc::clone(&plage)]);
        rules.remove(&plage);
        assert_eq!((rules.availabilities().len(), rules.plages().len()), (1, 0));
    }
}
