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
