//! The ids a group has in hand: they stay there until an event has used them, so that a refusal costs none.

use crate::domain::identity::directory::IdKind;
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::records::record_change;
use crate::domain::state::command::{BookingDraws, Command, VeventDraws};
use crate::engine::group::State;
use crate::engine::supervisor;

/// Below this many ids in hand, more are asked for.
const IDS_LOW: u64 = 256;
/// No command uses more ids of one kind than this.
const IDS_PER_COMMAND: usize = 100;

/// The kinds of ids that a command may use.
pub(super) fn needed(command: &Command) -> &'static [IdKind] {
    match command {
        Command::BookAppointment(_) => &[IdKind::Fiche, IdKind::Vevent],
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
        | Command::RequestLink(_)
        | Command::Deliver(_)
        | Command::RemoveDeleted { .. } => &[],
        Command::Quietly(inner) => needed(inner),
    }
}

/// Ids and other draws.
impl State {
    fn left(&self, kind: IdKind) -> u64 {
        self.ids
            .get(&kind)
            .map_or(0, |ranges| ranges.iter().map(|range| range.end - range.start).sum())
    }

    /// Whether a command could be given ids of these kinds. Asks for more in good time.
    pub(super) fn has_ids(&mut self, kinds: &[IdKind]) -> bool {
        let mut enough = true;
        for &kind in kinds {
            let left = self.left(kind);
            if left < IDS_LOW && !self.asked.contains(&kind) {
                self.asked.push(kind);
                self.supervisor.send(supervisor::Message::NeedIds { group: self.id, kind });
            }
            enough &= left >= IDS_PER_COMMAND as u64;
        }
        enough
    }

    /// Takes granted ids in hand, but for any that are used: where all are, more are asked for.
    pub(super) fn stock(&mut self, kind: IdKind, range: std::ops::Range<u64>) {
        self.asked.retain(|asked| *asked != kind);
        let unused = range.start.max(self.group_state.highest_id(kind) + 1)..range.end;
        if !unused.is_empty() {
            self.ids.entry(kind).or_default().push_back(unused);
        }
        self.advance();
    }

    /// The ids that would be used next. They stay in hand until an event has used them, so a refusal costs none.
    fn ids_ahead(&self, kind: IdKind) -> impl Iterator<Item = u64> + '_ {
        self.ids.get(&kind).into_iter().flatten().cloned().flatten()
    }

    pub(super) fn next_id(&self, kind: IdKind) -> u64 {
        self.ids_ahead(kind).next().expect("no command is decided without ids in hand")
    }

    /// What chance decides for an event by hand.
    pub(super) fn draw_vevent(&mut self) -> VeventDraws {
        let id = VeventId::new(self.next_id(IdKind::Vevent)).expect("granted ids are ids");
        VeventDraws { id, key: self.draws.key() }
    }

    /// At most 100 legs: a longer chain is refused before it would need ids.
    pub(super) fn draw_booking(&mut self, legs: usize) -> BookingDraws {
        let fiche = self.next_id(IdKind::Fiche);
        let vevents: Vec<u64> =
            self.ids_ahead(IdKind::Vevent).take(legs.min(IDS_PER_COMMAND)).collect();
        let leg = |id: u64| (VeventId::new(id).expect("granted ids are ids"), self.draws.key());
        BookingDraws {
            fiche_id: FicheId::new(fiche).expect("granted ids are ids"),
            legs: vevents.into_iter().map(leg).collect(),
            order: self.draws.number(),
        }
    }

    /// Lets go of every id that has been used.
    pub(super) fn spend(&mut self) {
        for (kind, ranges) in &mut self.ids {
            let spent = self.group_state.highest_id(*kind);
            ranges.iter_mut().for_each(|range| range.start = range.start.max(spent + 1));
            ranges.retain(|range| !range.is_empty());
        }
    }
}
