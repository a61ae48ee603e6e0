//! Appointments that a change would leave outside open time, under an absence, or without their
//! calendar or intervention. Reference 6.19.

use std::sync::Arc;

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::open_time::{CalendarView, OpenTime};
use crate::domain::records::ids::{CalendarId, InterventionId, VeventId};
use crate::domain::records::vevent::{Appointment, Vevent, VeventKind};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::{DAY, Instant};

/// Days of open time that are expanded at once.
const EXPANDED_DAYS: i64 = 35;

/// Condition of an appointment that its client would not expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Displacement {
    /// Its calendar is deleted.
    CalendarDeleted,
    /// Its intervention is deleted.
    InterventionDeleted,
    /// Some moment of it lies in no availability that permits its intervention. Reference 4.3.
    OutsideAvailability,
    /// A plage takes some moment of it.
    UnderPlage,
}

impl Displacement {
    /// All conditions, ascending.
    pub const ALL: [Self; 4] = [
        Self::CalendarDeleted,
        Self::InterventionDeleted,
        Self::OutsideAvailability,
        Self::UnderPlage,
    ];
}

/// An appointment with the conditions that a change brings about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplacedAppointment {
    /// The appointment.
    pub id: VeventId,
    /// Its start after the change.
    pub start: Instant,
    /// Its calendar after the change.
    pub calendar_id: CalendarId,
    /// The conditions that it has after the change and not before, ascending; never empty.
    pub conditions: Vec<Displacement>,
}

/// Returns the appointments that a change displaces, ascending by start, then by id. Those that the
/// change makes, and those that have ended by `now`, are left out.
///
/// The cost is that of the upcoming appointments of the calendars that changed; of all calendars if
/// an intervention was deleted.
pub fn find_displaced(
    before: &GroupState,
    after: &GroupState,
    now: Instant,
) -> Vec<DisplacedAppointment> {
    let mut displaced = Vec::new();
    let deletes_intervention = deletes_intervention(&before.catalogue, &after.catalogue);
    for view in after.calendars.values() {
        let Some(view_before) = before.calendars.get(&view.id) else { continue };
        let is_deleted =
            is_deleted(&before.catalogue, view.id) != is_deleted(&after.catalogue, view.id);
        if !is_deleted && !deletes_intervention && Arc::ptr_eq(view_before, view) {
            continue;
        }
        let mut judge = Judge::new(after, view);
        let mut judge_before = Judge::new(before, view_before);
        let has_same_rules = Arc::ptr_eq(view_before.rules(), view.rules());
        for taken in view.taken().ending_after(now) {
            let Some(was) = before.rows.get(&taken.id) else { continue };
            let row = &after.rows[&taken.id];
            let (Some(appointment), Some(_)) = (row.appointment(), was.appointment()) else {
                continue;
            };
            // The time of others is judged only where the rules of open time have changed.
            let stays = has_same_rules && Arc::ptr_eq(was, row);
            let mut conditions = judge.judge(row, appointment, !stays);
            if conditions.is_empty() {
                continue;
            }
            conditions.retain(|condition| !judge_before.had(was, view.id, *condition, !stays));
            if !conditions.is_empty() {
                displaced.push(DisplacedAppointment {
                    id: taken.id,
                    start: taken.interval.start,
                    calendar_id: view.id,
                    conditions,
                });
            }
        }
    }
    displaced.sort_by_key(|one| (one.start, one.id));
    displaced
}

/// Returns the live appointments of which a live plage takes some moment, ascending by start, then
/// by id. Those that have ended by `now` are left out. None for any other event.
///
/// The cost is that of the upcoming appointments of its calendar.
pub fn find_under(state: &GroupState, plage: VeventId, now: Instant) -> Vec<DisplacedAppointment> {
    let Some(row) = state.rows.get(&plage).filter(|row| !row.deleted) else { return Vec::new() };
    let VeventKind::Plage(series) = &row.kind else { return Vec::new() };
    let zone = state.catalogue.zone();
    let view = state.calendars.get(&row.calendar_id).expect("each calendar has a view");
    let mut under = Vec::new();
    for taken in view.taken().ending_after(now) {
        if series.intervals_overlapping(zone, taken.interval).next().is_some() {
            under.push(DisplacedAppointment {
                id: taken.id,
                start: taken.interval.start,
                calendar_id: row.calendar_id,
                conditions: vec![Displacement::UnderPlage],
            });
        }
    }
    under.sort_by_key(|one| (one.start, one.id));
    under
}

fn is_deleted(catalogue: &Catalogue, id: CalendarId) -> bool {
    catalogue.calendars.get(&id).is_some_and(|calendar| calendar.deleted)
}

/// Returns whether an intervention is deleted after a change and not before.
fn deletes_intervention(before: &Catalogue, after: &Catalogue) -> bool {
    let is_live = |id: &InterventionId| before.interventions.get(id).is_some_and(|it| !it.deleted);
    after.interventions.values().any(|it| it.deleted && is_live(&it.id))
}

/// Judges the appointments of a calendar in one state, ascending by start.
struct Judge<'s> {
    catalogue: &'s Catalogue,
    view: &'s CalendarView,
    zone: Zone,
    /// The open time of the last span that was needed.
    expanded: Option<(Interval, OpenTime)>,
}

impl<'s> Judge<'s> {
    fn new(state: &'s GroupState, view: &'s CalendarView) -> Self {
        let catalogue = &state.catalogue;
        Self { catalogue, view, zone: catalogue.zone(), expanded: None }
    }

    /// Returns the conditions of a live appointment, ascending. With `judges_time` also those of
    /// its time.
    fn judge(
        &mut self,
        row: &Vevent,
        appointment: &Appointment,
        judges_time: bool,
    ) -> Vec<Displacement> {
        let mut conditions = Vec::new();
        if is_deleted(self.catalogue, row.calendar_id) {
            conditions.push(Displacement::CalendarDeleted);
        }
        if self.is_intervention_deleted(appointment.intervention_id) {
            conditions.push(Displacement::InterventionDeleted);
        }
        if !judges_time {
            return conditions;
        }
        let interval = appointment.interval();
        let open = self.open_time(interval);
        if !open.permitted_time(appointment.intervention_id).permitted.covers(interval) {
            conditions.push(Displacement::OutsideAvailability);
        }
        if open.plages().overlaps(interval) {
            conditions.push(Displacement::UnderPlage);
        }
        conditions
    }

    /// Returns whether an appointment of this calendar had a condition. A deleted one had none, and
    /// one of another calendar none of this calendar.
    fn had(
        &mut self,
        was: &Vevent,
        calendar: CalendarId,
        condition: Displacement,
        judges_time: bool,
    ) -> bool {
        if was.deleted || was.calendar_id != calendar {
            return false;
        }
        let Some(appointment) = was.appointment() else { return false };
        self.judge(was, appointment, judges_time).contains(&condition)
    }

    fn is_intervention_deleted(&self, id: InterventionId) -> bool {
        self.catalogue.interventions.get(&id).is_some_and(|intervention| intervention.deleted)
    }

    /// Returns the open time of at least an interval.
    fn open_time(&mut self, interval: Interval) -> &OpenTime {
        let is_expanded = self.expanded.as_ref().is_some_and(|(span, _)| span.covers(interval));
        if !is_expanded {
            let end = interval.start.plus_seconds(EXPANDED_DAYS * DAY).max(interval.end);
            let span = Interval { start: interval.start, end };
            let open = OpenTime::expand(span, self.view.rules(), self.zone);
            self.expanded = Some((span, open));
        }
        let (_, open) = self.expanded.as_ref().expect("it was expanded");
        open
    }
}
