//! The plan of a change over booked time: the write, and what happens to the appointments that it
//! displaces, as one command. Reference 15.11.

use std::collections::BTreeSet;

use serde_json::Map;

use crate::domain::availability::obstacle::Obstacle;
use crate::domain::decisions::displaced::{
    DisplacedAppointment, Displacement, find_displaced, find_under,
};
use crate::domain::decisions::foresee;
use crate::domain::records::ids::{CalendarId, VeventId};
use crate::domain::state::command::{
    Batch, CancelAppointment, CancelRight, Command, ExpectingCommand,
};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::{ExpectedEffect, ShownObject};
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::Instant;
use crate::http::make_change;
use crate::wire::displaced::{ListDigest, render_displaced};

/// A change over booked time.
#[derive(Clone, Debug)]
pub(crate) enum BookedChange {
    /// A write that is not done yet.
    Write(Command),
    /// An absence that stands.
    Stands(VeventId),
}

/// Fate of the appointments that are chosen from the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    CancelWithMail,
    CancelQuietly,
    /// To this calendar, at the same time.
    Move(CalendarId),
    Leave,
}

/// Obstacle to the move of an appointment.
#[derive(Clone, Debug)]
pub(crate) enum Misfit {
    /// The obstacles that refuse the move.
    Taken(Vec<Obstacle>),
    /// The calendar is deleted, is closed then for this service, or has an absence.
    Closed,
}

/// A change with the fate of some of the appointments that it displaces.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) change: BookedChange,
    pub(crate) treatment: Treatment,
    /// The appointments that are treated, in the order of the list.
    pub(crate) chosen: Vec<VeventId>,
}

/// Effect of a plan on a state.
pub(crate) struct Outlook {
    /// The appointments that the change displaces.
    pub(crate) list: Vec<DisplacedAppointment>,
    /// Those that cannot be moved as planned.
    pub(crate) misfits: Vec<(VeventId, Misfit)>,
}

impl BookedChange {
    /// Returns the appointments that it displaces.
    ///
    /// # Errors
    /// The refusals of the write.
    pub(crate) fn find_list(
        &self,
        state: &GroupState,
        now: Instant,
    ) -> Result<Vec<DisplacedAppointment>, Refusals> {
        match self {
            Self::Write(command) => {
                let foreseen = foresee(state, command, now)?;
                Ok(find_displaced(state, &foreseen.state, now))
            }
            Self::Stands(id) => Ok(find_under(state, *id, now)),
        }
    }

    /// Number of commands of its own, before those of the appointments.
    pub(crate) const fn commands(&self) -> usize {
        match self {
            Self::Write(_) => 1,
            Self::Stands(_) => 0,
        }
    }
}

impl Plan {
    fn list_commands(&self) -> Vec<Command> {
        let mut commands = Vec::with_capacity(self.chosen.len() + 1);
        if let BookedChange::Write(command) = &self.change {
            commands.push(command.clone());
        }
        for id in &self.chosen {
            commands.extend(self.treat(*id));
        }
        commands
    }

    /// Number of appointments that it cancels or moves.
    pub(crate) fn count_treated(&self) -> usize {
        match self.treatment {
            Treatment::CancelWithMail | Treatment::CancelQuietly | Treatment::Move(_) => {
                self.chosen.len()
            }
            Treatment::Leave => 0,
        }
    }

    fn treat(&self, id: VeventId) -> Option<Command> {
        let cancel =
            || Command::CancelAppointment(CancelAppointment { id, right: CancelRight::Pro });
        match self.treatment {
            Treatment::CancelWithMail => Some(cancel()),
            Treatment::CancelQuietly => Some(Command::Quietly(Box::new(cancel()))),
            Treatment::Move(calendar) => {
                let mut object = Map::new();
                object.insert("calendar_id".to_owned(), calendar.number().into());
                Some(Command::PutVevent(make_change(id, object)))
            }
            Treatment::Leave => None,
        }
    }

    /// Returns the chosen appointments that cannot be moved as planned.
    pub(crate) fn find_misfits(&self, state: &GroupState, now: Instant) -> Vec<(VeventId, Misfit)> {
        let mut misfits = Vec::new();
        if !matches!(self.treatment, Treatment::Move(_)) {
            return misfits;
        }
        // Each by itself, so that all that do not fit are named.
        let batch = Batch { commands: self.list_commands().into(), is_atomic: false };
        let Ok(foreseen) = foresee(state, &Command::Batch(batch), now) else { return misfits };
        let steps = &foreseen.outcome.steps[self.change.commands()..];
        for (id, step) in self.chosen.iter().zip(steps) {
            if let Err(refusals) = &step.outcome {
                misfits.push((*id, Misfit::Taken(obstacles_among(refusals))));
            }
        }
        let taken: BTreeSet<VeventId> = misfits.iter().map(|(id, _)| *id).collect();
        let closed = self.find_closed(state, &foreseen.state, now);
        let closed = closed.into_iter().filter(|id| !taken.contains(id));
        misfits.extend(closed.map(|id| (id, Misfit::Closed)));
        misfits
    }

    /// Returns the appointments that are moved into time that is not open.
    fn find_closed(&self, before: &GroupState, after: &GroupState, now: Instant) -> Vec<VeventId> {
        if !matches!(self.treatment, Treatment::Move(_)) {
            return Vec::new();
        }
        let moved: BTreeSet<VeventId> = self.chosen.iter().copied().collect();
        let mut closed = Vec::new();
        for one in find_displaced(before, after, now) {
            let is_closed = one.conditions.iter().any(|condition| match condition {
                Displacement::CalendarDeleted
                | Displacement::OutsideAvailability
                | Displacement::UnderPlage => true,
                // It was no other before.
                Displacement::InterventionDeleted => false,
            });
            if is_closed && moved.contains(&one.id) {
                closed.push(one.id);
            }
        }
        closed
    }

    /// Makes the one command of the plan. It is carried out only if the list still has this digest
    /// and every move leads into open time. `None` if there is nothing to do.
    pub(crate) fn into_command(self, expected: ListDigest) -> Option<Command> {
        let mut commands = self.list_commands();
        let command = match commands.len() {
            0 => return None,
            1 if self.change.commands() == 1 => commands.remove(0),
            _ => Command::Batch(Batch { commands: commands.into(), is_atomic: true }),
        };
        let expectation = ExpectedEffect::new(move |before, after, now| {
            // A write that is refused says so itself.
            let list = self.change.find_list(before, now).unwrap_or_default();
            let digest = ListDigest::new(&list);
            if digest == expected && self.find_closed(before, after, now).is_empty() {
                return Ok(());
            }
            let json = render_displaced(&list, before);
            Err(ShownObject { json, tag: format!("\"{}\"", digest.to_text()) })
        });
        Some(Command::Expecting(Box::new(ExpectingCommand { command, expectation })))
    }
}

/// Returns the obstacles that refusals name.
fn obstacles_among(refusals: &[Refusal]) -> Vec<Obstacle> {
    let mut all = Vec::new();
    for refusal in refusals {
        if let Refusal::NotAvailable { obstacles } = refusal {
            all.extend(obstacles.iter().cloned());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::availability::catalogue::Catalogue;
    use crate::domain::records::calendar::Calendar;
    use crate::domain::records::fiche::Fiche;
    use crate::domain::records::group::Group;
    use crate::domain::records::ids::{FicheId, GroupId, InterventionId};
    use crate::domain::records::intervention::Intervention;
    use crate::domain::records::vevent::{
        Appointment, AppointmentKey, Availability, Permits, Reminders, State, Vevent, VeventKind,
    };
    use crate::domain::recurrence::{Exceptions, Series};
    use crate::domain::state::command::{PutVevents, VeventDraft};
    use crate::domain::time::Civil;
    use crate::domain::time::zone::Zone;
    use crate::domain::time::zone_names::ZoneName;

    const NOW: Instant = Instant(0);

    fn zone() -> Zone {
        ZoneName::from_name("UTC").expect("a listed name").zone()
    }

    fn vevent_id(id: u64) -> VeventId {
        VeventId::new(id).expect("an id")
    }

    fn calendar_id(id: u64) -> CalendarId {
        CalendarId::new(id).expect("an id")
    }

    fn row(id: u64, calendar: u64, kind: VeventKind) -> Vevent {
        Vevent {
            id: vevent_id(id),
            calendar_id: calendar_id(calendar),
            kind,
            deleted: false,
            created_at: NOW,
            updated_at: NOW,
            rare: None,
        }
    }

    /// Hours of one day, or with a rule of each day.
    fn series(from: u32, to: u32, rule: Option<&str>) -> Box<Series> {
        let at = |hour| Civil::from_ymd_hms(2030, 1, 2, hour, 0, 0).expect("a time");
        let rule = rule.map(|rule| rule.parse().expect("a rule"));
        let series = Series::new(zone(), at(from), at(to), rule, Exceptions::default());
        Box::new(series.expect("a series"))
    }

    fn appointment(id: u64, calendar: u64, hour: u32) -> Vevent {
        let civil_start = Civil::from_ymd_hms(2030, 1, 2, hour, 0, 0).expect("a time");
        let appointment = Appointment {
            civil_start,
            start: zone().instant_of(civil_start),
            length_seconds: 1_800,
            intervention_id: InterventionId::new(1).expect("an id"),
            fiche_id: FicheId::new(1).expect("an id"),
            key: AppointmentKey::new("abcdefghijklmnopqrst").expect("letters"),
            state: State::InProgress,
            smsreminder: false,
            from_web: false,
            reminders: Reminders::since(NOW),
            booking_origin: None,
        };
        row(id, calendar, VeventKind::Appointment(appointment))
    }

    /// Two calendars, open from 9 to 12. On the first stand 11, 12 and 13 at 9, 10 and 11, on the
    /// second 14 at 10.
    fn shop() -> GroupState {
        let zone = ZoneName::from_name("UTC").expect("a listed name");
        let group = Group::new(GroupId::new(1).expect("an id"), zone, NOW);
        let mut catalogue = Catalogue::new(group);
        for id in [1, 2] {
            let calendar = Calendar::new(calendar_id(id), NOW);
            catalogue.calendars.insert(calendar.id, Arc::new(calendar));
        }
        let service = Intervention::new(InterventionId::new(1).expect("an id"), NOW);
        catalogue.interventions.insert(service.id, Arc::new(service));
        let mut state = GroupState::new(catalogue);
        state.put_fiche(Arc::new(Fiche::new(FicheId::new(1).expect("an id"), NOW)));
        for id in [1, 2] {
            let hours = series(9, 12, Some("FREQ=DAILY"));
            let hours = Availability { series: *hours, permits: Permits::All };
            state.put_vevent(Arc::new(row(id, id, VeventKind::Availability(Box::new(hours)))));
        }
        for (id, calendar, hour) in [(11, 1, 9), (12, 1, 10), (13, 1, 11), (14, 2, 10)] {
            state.put_vevent(Arc::new(appointment(id, calendar, hour)));
        }
        state
    }

    /// An absence of the first calendar from 9 to 20.
    fn absence() -> BookedChange {
        let draft = VeventDraft::new(|_, _, draws, at| {
            let kind = VeventKind::Plage(series(9, 20, None));
            Ok(Vevent { created_at: at, ..row(draws.id.number(), 1, kind) })
        });
        BookedChange::Write(Command::PutVevents(Box::new(PutVevents::Make(vec![draft]))))
    }

    fn plan(treatment: Treatment, chosen: &[u64]) -> Plan {
        let chosen = chosen.iter().copied().map(vevent_id).collect();
        Plan { change: absence(), treatment, chosen }
    }

    fn digest_on(state: &GroupState) -> ListDigest {
        ListDigest::new(&absence().find_list(state, NOW).expect("a list"))
    }

    fn rows_of(state: &GroupState) -> Vec<Vevent> {
        state.rows.values().map(|row| row.as_ref().clone()).collect()
    }

    #[test]
    fn a_plan_writes_its_change_and_the_cancellations() {
        let before = shop();
        let command = plan(Treatment::CancelWithMail, &[11, 13]).into_command(digest_on(&before));
        let after = foresee(&before, &command.expect("a command"), NOW).expect("it is done").state;
        let is_live = |id: u64| !after.rows[&vevent_id(id)].deleted;
        assert_eq!([11, 12, 13, 14].map(is_live), [false, true, false, true]);
        assert_eq!(after.rows.len(), before.rows.len() + 1);
    }

    #[test]
    fn a_move_that_is_refused_in_the_middle_leaves_nothing() {
        let before = shop();
        let plan = plan(Treatment::Move(calendar_id(2)), &[11, 12, 13]);
        let misfits = plan.find_misfits(&before, NOW);
        let [(id, Misfit::Taken(obstacles))] = misfits.as_slice() else { panic!("{misfits:?}") };
        assert_eq!((*id, obstacles.len()), (vevent_id(12), 1));
        let command = plan.into_command(digest_on(&before)).expect("a command");
        let foreseen = foresee(&before, &command, NOW).expect("a batch is not refused as a whole");
        assert!(foreseen.is_refused());
        assert_eq!(rows_of(&foreseen.state), rows_of(&before));
    }

    #[test]
    fn a_move_into_closed_time_and_another_list_are_refused_when_decided() {
        let mut before = shop();
        let digest = digest_on(&before);
        before.put_vevent(Arc::new(appointment(15, 1, 14)));
        let is_refused = |plan: Plan, digest: ListDigest| {
            let command = plan.into_command(digest).expect("a command");
            match foresee(&before, &command, NOW) {
                Ok(_) => false,
                Err(refusals) => matches!(refusals.as_slice(), [Refusal::OtherEffect(_)]),
            }
        };
        let now = digest_on(&before);
        let quietly = || plan(Treatment::CancelQuietly, &[11]);
        assert!(is_refused(quietly(), digest), "the list has another appointment");
        assert!(!is_refused(quietly(), now));
        let moved = |ids: &[u64]| plan(Treatment::Move(calendar_id(2)), ids);
        assert!(is_refused(moved(&[11, 15]), now), "it is closed at 14");
        assert!(!is_refused(moved(&[11]), now));
        assert!(is_refused(plan(Treatment::Move(calendar_id(1)), &[11]), now), "an absence");
        assert!(is_refused(plan(Treatment::Leave, &[]), digest));
    }

    #[test]
    fn an_absence_that_stands_lists_what_is_under_it_and_has_not_ended() {
        let mut state = shop();
        let row = row(20, 1, VeventKind::Plage(series(10, 20, Some("FREQ=WEEKLY"))));
        state.put_vevent(Arc::new(row.clone()));
        let ids = |state: &GroupState, now: Instant| -> Vec<u64> {
            let list = BookedChange::Stands(row.id).find_list(state, now).expect("a list");
            list.iter().map(|one| one.id.number()).collect()
        };
        assert_eq!(ids(&state, NOW), [12, 13]);
        let start = state.rows[&vevent_id(12)].appointment().expect("an appointment").start;
        assert_eq!(ids(&state, start.plus_seconds(1_799)), [12, 13]);
        assert_eq!(ids(&state, start.plus_seconds(1_800)), [13]);
        state.put_vevent(Arc::new(Vevent { deleted: true, ..row.clone() }));
        assert_eq!(ids(&state, NOW), Vec::<u64>::new());
    }
}
