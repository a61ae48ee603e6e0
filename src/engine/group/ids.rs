//! The ids that a group may use. They stay available until an event has used them, so a refusal
//! uses none.

use std::ops::Range;

use crate::domain::decisions::record_change;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::state::command::{BookingDraws, Command, VeventDraws};
use crate::engine::group::GroupActorState;
use crate::engine::messages::SupervisorMessage;

/// Number of available ids of a kind below which the group requests more.
const IDS_LOW: u64 = 256;
/// Maximum number of ids of one kind that a command uses.
const IDS_PER_COMMAND_MAX: usize = 100;

/// Returns the kinds of ids that a command may use.
pub(crate) fn needed_kinds(command: &Command) -> &'static [IdKind] {
    match command {
        Command::BookAppointment(_) | Command::ConfirmBooking(_) => {
            &[IdKind::Fiche, IdKind::Vevent]
        }
        Command::PutVevent(_) => &[IdKind::Vevent],
        Command::ChangeRecord(change) => match record_change::new_id_kind(change) {
            None => &[],
            Some(IdKind::Fiche) => &[IdKind::Fiche],
            Some(IdKind::Vevent) => &[IdKind::Vevent],
            Some(IdKind::Calendar) => &[IdKind::Calendar],
            Some(IdKind::Calendarset) => &[IdKind::Calendarset],
            Some(IdKind::Intervention) => &[IdKind::Intervention],
            Some(IdKind::Interventionset) => &[IdKind::Interventionset],
            Some(IdKind::Customfield) => &[IdKind::Customfield],
        },
        Command::FollowLink(_) => &[IdKind::Fiche],
        Command::CancelAppointment(_)
        | Command::MoveAppointment(_)
        | Command::RequestLink(_)
        | Command::HoldTime(_)
        | Command::ReleaseHold(_)
        | Command::Deliver(_)
        | Command::RemoveDeleted { .. }
        | Command::EmptyCancelled { .. } => &[],
        Command::Quietly(inner) => needed_kinds(inner),
    }
}

/// Ids and other random choices of a command.
impl GroupActorState {
    fn count_available(&self, kind: IdKind) -> u64 {
        let mut available = 0;
        for range in self.ids.get(&kind).into_iter().flatten() {
            available += range.end - range.start;
        }
        available
    }

    /// Returns whether enough ids of these kinds are available for any command. Requests more
    /// before they run out.
    pub(crate) fn has_ids(&mut self, kinds: &[IdKind]) -> bool {
        let mut has_enough = true;
        for &kind in kinds {
            let available = self.count_available(kind);
            if available < IDS_LOW && !self.requested_kinds.contains(&kind) {
                self.requested_kinds.push(kind);
                self.supervisor.send(SupervisorMessage::RequestIds { group: self.id, kind });
            }
            has_enough &= available >= IDS_PER_COMMAND_MAX as u64;
        }
        has_enough
    }

    /// Adds granted ids, except those already used, and goes on with the waiting commands.
    pub(crate) fn add_ids(&mut self, kind: IdKind, range: Range<u64>) {
        self.requested_kinds.retain(|requested| *requested != kind);
        let unused = range.start.max(self.group_state.highest_id(kind) + 1)..range.end;
        if !unused.is_empty() {
            self.ids.entry(kind).or_default().push_back(unused);
        }
        self.advance();
    }

    /// Returns the available ids, ascending, without taking them.
    fn available_ids(&self, kind: IdKind) -> impl Iterator<Item = u64> + '_ {
        self.ids.get(&kind).into_iter().flatten().cloned().flatten()
    }

    /// Returns the next available id, without taking it.
    pub(crate) fn next_id(&self, kind: IdKind) -> u64 {
        self.available_ids(kind).next().expect("a command is decided only while ids are available")
    }

    /// Returns the id and key of a vevent that a professional creates.
    pub(crate) fn draw_vevent(&mut self) -> VeventDraws {
        let id = VeventId::new(self.next_id(IdKind::Vevent)).expect("granted ids are ids");
        VeventDraws { id, key: self.randomness.key() }
    }

    /// Returns the ids, keys and candidate order of a booking, for at most 100 legs: a longer
    /// chain is refused before it needs ids.
    pub(crate) fn draw_booking(&mut self, legs: usize) -> BookingDraws {
        let fiche = self.next_id(IdKind::Fiche);
        let vevents: Vec<u64> =
            self.available_ids(IdKind::Vevent).take(legs.min(IDS_PER_COMMAND_MAX)).collect();
        let mut legs = Vec::with_capacity(vevents.len());
        for id in vevents {
            legs.push((VeventId::new(id).expect("granted ids are ids"), self.randomness.key()));
        }
        BookingDraws {
            fiche_id: FicheId::new(fiche).expect("granted ids are ids"),
            legs,
            order: self.randomness.number(),
            token: self.randomness.hold_token(),
        }
    }

    /// Removes every id that the newest state has used.
    pub(crate) fn remove_used_ids(&mut self) {
        for (kind, ranges) in &mut self.ids {
            let spent = self.group_state.highest_id(*kind);
            for range in ranges.iter_mut() {
                range.start = range.start.max(spent + 1);
            }
            ranges.retain(|range| !range.is_empty());
        }
    }
}
