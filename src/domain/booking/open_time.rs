//! When a calendar is open, and for what: its availabilities expanded, its plages taken out. Reference 4.2 to 4.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use crate::domain::booking::taken_time::TakenTime;
use crate::domain::records::ids::{CalendarId, InterventionId, VeventId};
use crate::domain::records::vevent::{Permits, Vevent, VeventKind};
use crate::domain::recurrence::Series;
use crate::domain::time::interval_set::{Interval, IntervalSet};
use crate::domain::time::zone::Zone;
use crate::domain::time::{DAY, Instant};

/// How many days from yesterday on are kept expanded.
const READY_DAYS: i64 = 101;

/// The live availabilities and plages of a calendar, by id.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Rows that open time.
    availabilities: Vec<Arc<Vevent>>,
    /// Rows that take time without a client.
    plages: Vec<Arc<Vevent>>,
}

impl Rules {
    /// Puts a row in the place its kind and its deletion give it, in place of what stood under its id.
    pub fn put(&mut self, row: &Arc<Vevent>) {
        for list in [&mut self.availabilities, &mut self.plages] {
            if let Ok(at) = list.binary_search_by_key(&row.id, |r| r.id) {
                list.remove(at);
            }
        }
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

    /// Takes out the row of that id.
    pub fn remove(&mut self, id: VeventId) {
        self.availabilities.retain(|r| r.id != id);
        self.plages.retain(|r| r.id != id);
    }

    /// The plages of which an occurrence meets `interval`, each with that occurrence.
    pub fn plages_meeting(
        &self,
        zone: Zone,
        interval: Interval,
    ) -> impl Iterator<Item = (VeventId, Interval)> + '_ {
        self.plages.iter().flat_map(move |row| {
            let series = row.series().expect("a plage is a series");
            occurrences_meeting(series, zone, interval).map(|occurrence| (row.id, occurrence))
        })
    }

    /// Whether some live availability permits an intervention and has an occurrence ending after `now`: then the
    /// intervention is offered on the calendar. Reference 4.
    #[must_use]
    pub fn offers(&self, zone: Zone, intervention: InterventionId, now: Instant) -> bool {
        self.availabilities.iter().any(|row| match &row.kind {
            VeventKind::Availability(a) => {
                a.permits.permits(intervention) && a.series.has_occurrence_ending_after(zone, now)
            }
            VeventKind::Appointment(_) | VeventKind::Plage(_) | VeventKind::Note(_) => false,
        })
    }
}

/// The time each occurrence takes that meets a span.
fn occurrences_meeting(
    series: &Series,
    zone: Zone,
    span: Interval,
) -> impl Iterator<Item = Interval> + '_ {
    series.intervals_meeting(zone, span.start, span.end).map(|(start, end)| Interval { start, end })
}

/// Open time for the interventions that the same availabilities permit.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// The permitting occurrences, ascending by start: each anchors a grid.
    pub occurrences: Vec<Interval>,
    /// Length in seconds of the longest of them.
    pub longest: i64,
    /// Whether some of them overlap, so that their grids mix.
    pub overlapping: bool,
    /// Their moments joined, plages taken out.
    pub open: IntervalSet,
    /// Their moments joined, plages left in: where rule 3 holds.
    pub permitted: IntervalSet,
}

impl Lane {
    fn new(mut occurrences: Vec<Interval>, plages: &IntervalSet) -> Self {
        occurrences.sort_unstable();
        occurrences.dedup();
        let permitted = IntervalSet::union_of(occurrences.clone());
        Self {
            longest: occurrences.iter().map(|o| o.end.seconds_since(o.start)).max().unwrap_or(0),
            overlapping: occurrences.windows(2).any(|pair| pair[1].start < pair[0].end),
            open: permitted.minus(plages),
            permitted,
            occurrences,
        }
    }

    /// The occurrences that hold `moment`.
    pub fn holding(&self, moment: Instant) -> impl Iterator<Item = Interval> + '_ {
        let after = self.occurrences.partition_point(|o| o.start <= moment);
        let earliest = moment.plus_seconds(-self.longest);
        let candidates = self.occurrences[..after].iter().rev().copied();
        candidates.take_while(move |o| o.start > earliest).filter(move |o| moment < o.end)
    }
}

/// Open time within a span.
#[derive(Clone, Debug)]
pub struct OpenTime {
    /// Every occurrence that meets this span is in it, none has been cut.
    span: Interval,
    /// Lane 0 serves every intervention that no availability names.
    lanes: Vec<Lane>,
    /// The named interventions and their lanes, ascending.
    named: Vec<(InterventionId, usize)>,
    /// Moments that a plage takes.
    plages: IntervalSet,
}

impl OpenTime {
    /// Expands the rules over a span.
    #[must_use]
    pub fn within(span: Interval, rules: &Rules, zone: Zone) -> Self {
        let plages = rules.plages_meeting(zone, span).map(|(_, occurrence)| occurrence).collect();
        let plages = IntervalSet::union_of(plages);
        let mut named: Vec<InterventionId> = Vec::new();
        let mut opening: Vec<(&Permits, Vec<Interval>)> = Vec::new();
        for row in &rules.availabilities {
            let VeventKind::Availability(availability) = &row.kind else { continue };
            if let Permits::Only(ids) = &availability.permits {
                named.extend(ids);
            }
            opening.push((
                &availability.permits,
                occurrences_meeting(&availability.series, zone, span).collect(),
            ));
        }
        named.sort_unstable();
        named.dedup();
        let for_all = |(permits, _): &&(&Permits, Vec<Interval>)| **permits == Permits::All;
        let join = |chosen: Vec<&(&Permits, Vec<Interval>)>| {
            Lane::new(
                chosen.into_iter().flat_map(|(_, intervals)| intervals).copied().collect(),
                &plages,
            )
        };
        let mut masks: Vec<Vec<usize>> = vec![Vec::new()];
        let mut lanes = vec![join(opening.iter().filter(for_all).collect())];
        let mut of = Vec::with_capacity(named.len());
        for id in named {
            let mask: Vec<usize> =
                (0..opening.len()).filter(|&at| opening[at].0.permits(id)).collect();
            let lane =
                masks.iter().skip(1).position(|m| *m == mask).map_or(lanes.len(), |at| at + 1);
            if lane == lanes.len() {
                lanes.push(join(mask.iter().map(|&at| &opening[at]).collect()));
                masks.push(mask);
            }
            of.push((id, lane));
        }
        Self { span, lanes, named: of, plages }
    }

    /// The number of an intervention's lane; interventions of one lane have the same open time.
    #[must_use]
    pub fn lane_number(&self, intervention: InterventionId) -> usize {
        self.named
            .binary_search_by_key(&intervention, |(id, _)| *id)
            .map_or(0, |at| self.named[at].1)
    }

    /// The open time of an intervention.
    #[must_use]
    pub fn lane(&self, intervention: InterventionId) -> &Lane {
        &self.lanes[self.lane_number(intervention)]
    }

    /// Moments that a plage takes, whoever else does.
    #[must_use]
    pub fn plages(&self) -> &IntervalSet {
        &self.plages
    }
}

/// What a calendar says about its time: who has which hour, and when it is open.
#[derive(Clone, Debug)]
pub struct CalendarView {
    /// Whose time it is.
    pub id: CalendarId,
    /// What live appointments take.
    pub taken: TakenTime,
    /// What opens and closes it.
    pub rules: Arc<Rules>,
    /// A memo of `rules` expanded around the last reader's now: never state, made again from the rules at will, and
    /// shared by all views between which the rules did not change.
    ready: Arc<ArcSwapOption<OpenTime>>,
}

impl CalendarView {
    /// A calendar without any event.
    #[must_use]
    pub fn new(id: CalendarId) -> Self {
        Self { id, taken: TakenTime::default(), rules: Arc::default(), ready: Arc::default() }
    }

    /// The same with other rules, or with the same rules read in another zone.
    pub fn change_rules(&mut self, change: impl FnOnce(&mut Rules)) {
        change(Arc::make_mut(&mut self.rules));
        self.ready = Arc::default();
    }

    /// The open time of at least `span`. Within about 100 days of `now` it is kept ready; beyond, it is expanded for
    /// this call alone.
    #[must_use]
    pub fn open_time(&self, zone: Zone, span: Interval, now: Instant) -> Arc<OpenTime> {
        if let Some(ready) = self.ready.load_full()
            && ready.span.covers(span)
        {
            return ready;
        }
        let usual = usual_span(now);
        if !usual.covers(span) {
            return Arc::new(OpenTime::within(span, &self.rules, zone));
        }
        let fresh = Arc::new(OpenTime::within(usual, &self.rules, zone));
        self.ready.store(Some(Arc::clone(&fresh)));
        fresh
    }

    /// Makes the open time ready before anybody asks for it.
    pub fn prepare(&self, zone: Zone, now: Instant) {
        drop(self.open_time(zone, usual_span(now), now));
    }
}

/// From yesterday's UTC midnight, `READY_DAYS` long.
fn usual_span(now: Instant) -> Interval {
    let start = Instant((now.0.div_euclid(DAY) - 1) * DAY);
    Interval { start, end: start.plus_seconds(READY_DAYS * DAY) }
}
