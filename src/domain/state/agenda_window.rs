//! The agenda of a window: all that takes place on some calendars from one moment to another.
//! Reference 4.10.
//!
//! The cost is that of what the window holds, whatever the calendars held before.

use crate::domain::records::ids::{CalendarId, VeventId};
use crate::domain::records::vevent::{Vevent, VeventKind};
use crate::domain::recurrence::{Occurrence, Series};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::{Interval, IntervalSet};
use crate::domain::time::zone::Zone;
use crate::domain::time::{Civil, CivilDay, DAY};

/// Maximum length of a window in days on the clocks of the group.
pub const AGENDA_DAYS_MAX: i64 = 42;
/// Maximum number of calendars of an agenda.
pub const AGENDA_CALENDARS_MAX: usize = 100;
/// Maximum number of occurrences in a window, those of availabilities included.
pub const AGENDA_OCCURRENCES_MAX: usize = 200_000;

/// A window, and the calendars that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgendaWindow {
    /// The time. It is not empty. Requests give at most [`AGENDA_DAYS_MAX`]; that of a calendar
    /// feed is longer.
    pub interval: Interval,
    /// The calendars, each once and at most [`AGENDA_CALENDARS_MAX`].
    pub calendars: Vec<CalendarId>,
}

/// All that takes place in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agenda {
    /// The open time of each calendar, in the order of the calendars of the window.
    pub open: Vec<Vec<OpenStretch>>,
    /// Appointments, and occurrences of plages and notes, ascending by start, end and id.
    pub events: Vec<AgendaEvent>,
}

/// Time of one day that some availability opens and no plage takes. Reference 4.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenStretch {
    /// The day on the clocks of the group, from its first midnight to the next.
    pub day: CivilDay,
    /// The time, within the window.
    pub interval: Interval,
}

/// One event, or one occurrence of it, that overlaps a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgendaEvent {
    /// Its whole time. A note takes its day.
    pub interval: Interval,
    /// The event.
    pub id: VeventId,
    /// Its calendar.
    pub calendar_id: CalendarId,
    /// The day by which exceptions name the occurrence; `None` for an event that does not repeat.
    pub occurrence: Option<CivilDay>,
    /// Whether it begins and ends at midnight of the group's clocks. False for appointments.
    pub is_all_day: bool,
}

/// The window holds more than [`AGENDA_OCCURRENCES_MAX`] occurrences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyOccurrences;

impl Agenda {
    /// Finds all that takes place in a window. Deleted events are left out.
    ///
    /// # Errors
    /// There are too many occurrences.
    ///
    /// # Panics
    /// If the group has no such calendar.
    pub fn find(state: &GroupState, window: &AgendaWindow) -> Result<Self, TooManyOccurrences> {
        let mut search = AgendaSearch {
            zone: state.catalogue.zone(),
            window: window.interval,
            finds_open: true,
            found: 0,
            agenda: Self::default(),
        };
        for id in &window.calendars {
            search.add_calendar(state, *id)?;
        }
        let mut agenda = search.agenda;
        agenda.events.sort_unstable();
        Ok(agenda)
    }

    /// Finds the events of a window alone, without open time: availabilities cost a look each. They
    /// ascend as in [`Agenda::events`].
    ///
    /// # Errors
    /// There are too many occurrences.
    ///
    /// # Panics
    /// If the group has no such calendar.
    pub fn find_events(
        state: &GroupState,
        window: &AgendaWindow,
    ) -> Result<Vec<AgendaEvent>, TooManyOccurrences> {
        let mut search = AgendaSearch {
            zone: state.catalogue.zone(),
            window: window.interval,
            finds_open: false,
            found: 0,
            agenda: Self::default(),
        };
        for id in &window.calendars {
            search.add_calendar(state, *id)?;
        }
        let mut events = search.agenda.events;
        events.sort_unstable();
        Ok(events)
    }

    /// Returns an upper bound on the occurrences that [`Agenda::find`] looks at.
    pub fn count_looked_at(state: &GroupState, window: &AgendaWindow) -> i64 {
        let zone = state.catalogue.zone();
        let Interval { start, end } = window.interval;
        let mut count: i64 = 0;
        for id in &window.calendars {
            let view = &state.calendars[id];
            for day in view.taken().days(window.interval) {
                count = count.saturating_add_unsigned(day.len() as u64);
            }
            let [from, to] = wall_clock_bounds(zone, window.interval);
            for event in view.rules().by_time().near(from, to) {
                let series = state.rows[&event].series().expect("an indexed event is a series");
                count = count.saturating_add(series.count_looked_at(zone, start, end));
            }
        }
        count
    }
}

/// The search of an agenda.
struct AgendaSearch {
    zone: Zone,
    window: Interval,
    /// Whether the open time is asked for.
    finds_open: bool,
    /// Occurrences so far.
    found: usize,
    agenda: Agenda,
}

impl AgendaSearch {
    fn add_calendar(
        &mut self,
        state: &GroupState,
        id: CalendarId,
    ) -> Result<(), TooManyOccurrences> {
        let view = &state.calendars[&id];
        for taken in view.taken().overlapping(self.window) {
            let event = AgendaEvent {
                interval: taken.interval,
                id: taken.id,
                calendar_id: id,
                occurrence: None,
                is_all_day: false,
            };
            self.add_event(event)?;
        }
        let mut opened = Vec::new();
        let mut plages = Vec::new();
        let [from, to] = wall_clock_bounds(self.zone, self.window);
        for event in view.rules().by_time().near(from, to) {
            let row = &state.rows[&event];
            match &row.kind {
                VeventKind::Availability(_) if !self.finds_open => {}
                VeventKind::Availability(availability) => {
                    for time in availability.series.intervals_overlapping(self.zone, self.window) {
                        self.count_one()?;
                        opened.push(time);
                    }
                }
                VeventKind::Plage(series) => self.add_plage(row, series, &mut plages)?,
                VeventKind::Note(series) => self.add_note(row, series)?,
                VeventKind::Appointment(_) => {}
            }
        }
        if !self.finds_open {
            return Ok(());
        }
        let open = IntervalSet::from_intervals(opened);
        let open = open.difference(&IntervalSet::from_intervals(plages));
        let mut stretches = Vec::new();
        for stretch in open.as_slice() {
            self.split_by_day(*stretch, &mut stretches);
        }
        self.agenda.open.push(stretches);
        Ok(())
    }

    fn add_plage(
        &mut self,
        row: &Vevent,
        series: &Series,
        plages: &mut Vec<Interval>,
    ) -> Result<(), TooManyOccurrences> {
        let Interval { start, end } = self.window;
        for occurrence in series.occurrences_overlapping(self.zone, start, end) {
            let interval = Interval { start: occurrence.start, end: occurrence.end };
            let [begins, ends] = [occurrence.start_civil, occurrence.end_civil];
            let is_all_day = begins.second_of_day() == 0 && ends.second_of_day() == 0;
            plages.push(interval);
            self.add_event(occurrence_event(row, series, &occurrence, interval, is_all_day))?;
        }
        Ok(())
    }

    fn add_note(&mut self, row: &Vevent, series: &Series) -> Result<(), TooManyOccurrences> {
        let [from, to] = wall_clock_bounds(self.zone, self.window);
        for occurrence in series.occurrences(self.zone, from.plus_seconds(-DAY), to) {
            let end = self.zone.instant_of(occurrence.start_civil.plus_seconds(DAY));
            let day = Interval { start: occurrence.start, end };
            if day.overlaps(self.window) {
                self.add_event(occurrence_event(row, series, &occurrence, day, true))?;
            }
        }
        Ok(())
    }

    fn add_event(&mut self, event: AgendaEvent) -> Result<(), TooManyOccurrences> {
        self.count_one()?;
        self.agenda.events.push(event);
        Ok(())
    }

    fn count_one(&mut self) -> Result<(), TooManyOccurrences> {
        if self.found == AGENDA_OCCURRENCES_MAX {
            return Err(TooManyOccurrences);
        }
        self.found += 1;
        Ok(())
    }

    /// Appends the parts of a time within the window, one for each day.
    fn split_by_day(&self, time: Interval, stretches: &mut Vec<OpenStretch>) {
        let mut start = time.start.max(self.window.start);
        let end = time.end.min(self.window.end);
        while start < end {
            let mut day = self.zone.civil_of(start).day();
            let midnight_after = |day: CivilDay| self.zone.instant_of(day.plus_days(1).midnight());
            // A clock that goes back over midnight shows the end of a day once more, after the
            // beginning of the next one.
            if midnight_after(day) <= start {
                day = day.plus_days(1);
            }
            let next = midnight_after(day);
            let interval = Interval { start, end: next.min(end) };
            stretches.push(OpenStretch { day, interval });
            start = next;
        }
    }
}

/// Returns the wall-clock times between which all lies that takes place in a window.
fn wall_clock_bounds(zone: Zone, window: Interval) -> [Civil; 2] {
    let disorder = zone.disorder_seconds();
    let from = zone.civil_of(window.start).plus_seconds(-disorder);
    [from, zone.civil_of(window.end).plus_seconds(disorder)]
}

fn occurrence_event(
    row: &Vevent,
    series: &Series,
    occurrence: &Occurrence,
    interval: Interval,
    is_all_day: bool,
) -> AgendaEvent {
    let day = occurrence.start_civil.day();
    AgendaEvent {
        interval,
        id: row.id,
        calendar_id: row.calendar_id,
        occurrence: if series.rule().is_some() { Some(day) } else { None },
        is_all_day,
    }
}
