//! The records that an event changes, as far as due times of messages follow from them.

use imbl::ordmap::DiffItem;

use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{FicheId, MessageId, VeventId};
use crate::domain::records::message::Message;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;

/// Ids of changed records. An id may be there twice, and its record may be removed since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedRecords {
    /// Events of calendars.
    pub vevents: Vec<VeventId>,
    /// Clients.
    pub fiches: Vec<FicheId>,
    /// Messages.
    pub messages: Vec<MessageId>,
}

impl ChangedRecords {
    /// Returns the records that an event changes. The cost is that of the event.
    pub fn by_event(event: &Event) -> Self {
        let mut changed = Self::default();
        changed.add_event(event);
        changed
    }

    /// Returns the records that are new or changed between two states of a group. The cost is that
    /// of the parts that the states do not share.
    pub fn between(before: &GroupState, after: &GroupState) -> Self {
        let vevents = after.rows.changed_since(&before.rows);
        let mut changed = Self { vevents, ..Self::default() };
        for change in before.fiches.diff(&after.fiches) {
            changed.fiches.extend(changed_key(change));
        }
        for message in after.outbox.changed_since(&before.outbox) {
            changed.add_message(message);
        }
        changed
    }

    /// Adds the records that a later event changed.
    pub fn extend(&mut self, later: Self) {
        self.vevents.extend(later.vevents);
        self.fiches.extend(later.fiches);
        self.messages.extend(later.messages);
    }

    /// Returns whether no record changed.
    pub fn is_empty(&self) -> bool {
        self.vevents.is_empty() && self.fiches.is_empty() && self.messages.is_empty()
    }

    fn add_event(&mut self, event: &Event) {
        for carried in event.carried() {
            self.add_event(carried);
        }
        match event {
            Event::AppointmentsBooked { fiche, legs, .. }
            | Event::BookingConfirmed { fiche, legs, .. } => {
                self.add_fiche(fiche.as_deref());
                self.vevents.extend(legs.iter().map(|leg| leg.id));
            }
            Event::AppointmentCancelled { id, .. } => self.vevents.push(*id),
            Event::VeventPut { row, .. } => self.vevents.push(row.id),
            Event::FichePut { fiche, .. } => self.add_fiche(Some(fiche)),
            Event::AccountPut { fiche, .. } => self.add_fiche(fiche.as_deref()),
            Event::GroupChanged { resolved, .. } | Event::InstantsResolved { resolved, .. } => {
                self.vevents.extend(resolved.iter().map(|(id, _)| *id));
            }
            Event::VeventsRemoved { ids, .. } => self.vevents.extend(ids),
            Event::CancelledEmptied { vevents, fiches, .. } => {
                self.vevents.extend(vevents);
                self.fiches.extend(fiches);
            }
            Event::FichesMerged { kept, merged, merged_before, vevents, .. } => {
                self.fiches.extend([kept.id, *merged]);
                self.fiches.extend(merged_before);
                self.vevents.extend(vevents);
            }
            Event::AppointmentsEmptied { placeholder, parts, .. } => {
                self.fiches.push(*placeholder);
                self.vevents.extend(&parts.vevents);
                self.messages.extend(&parts.messages);
            }
            Event::ClientsErased { erasure, .. } => {
                self.fiches.extend(&erasure.fiches);
                self.vevents.extend(&erasure.cancelled);
                self.vevents.extend(&erasure.vevents);
                self.messages.extend(&erasure.messages);
            }
            Event::Announced { messages, .. } => {
                messages.iter().for_each(|it| self.add_message(it))
            }
            Event::MessagePut { message, .. } => self.add_message(message),
            Event::AccountLinkRequested { message, .. } => self.add_message(message),
            Event::DoneOnce { .. }
            | Event::CalendarPut { .. }
            | Event::CalendarsetPut { .. }
            | Event::InterventionPut { .. }
            | Event::InterventionsetPut { .. }
            | Event::CustomfieldPut { .. }
            | Event::CalendarsetRemoved { .. }
            | Event::InterventionsetRemoved { .. }
            | Event::HoldMade { .. }
            | Event::HoldReleased { .. }
            | Event::HoldExtended { .. }
            | Event::CodeRefused { .. }
            | Event::GroupFounded { .. }
            | Event::BatchDone { .. }
            | Event::RetentionCountBegan { .. }
            | Event::AccountUsed { .. }
            | Event::AccountsClosed { .. }
            | Event::ImageSet { .. }
            | Event::ImageRemoved { .. }
            | Event::CalendarfeedPut { .. }
            | Event::CalendarfeedRevoked { .. }
            | Event::HistoryEnded { .. }
            | Event::ReadsNoted { .. }
            | Event::WebhookPut { .. }
            | Event::WebhookRemoved { .. }
            | Event::WebhookSettled { .. } => {}
        }
    }

    fn add_fiche(&mut self, fiche: Option<&Fiche>) {
        self.fiches.extend(fiche.map(|fiche| fiche.id));
    }

    /// Adds a message. The outcome of a reminder is recorded with its appointment.
    fn add_message(&mut self, message: &Message) {
        self.messages.push(message.id);
        if let Some((_, appointment)) = message.reminder() {
            self.vevents.push(appointment.id);
        }
    }
}

/// Returns the key of an entry that was added or changed.
fn changed_key<'a, K: Copy, V>(change: DiffItem<'a, 'a, K, V>) -> Option<K> {
    match change {
        DiffItem::Add(key, _) | DiffItem::Update { new: (key, _), .. } => Some(*key),
        DiffItem::Remove(..) => None,
    }
}
