//! What a client has last been told of an appointment.

use std::sync::Arc;

use crate::domain::messaging::outbox::{
    Content, FIRST, Message, MessageId, Outbox, Progress, Standing,
};
use crate::domain::records::ids::{ID_MAX, VeventId};
use crate::domain::time::Instant;

const LAST: MessageId = MessageId::new(ID_MAX).expect("the largest is an id");

/// The appointments that a message is about, as it tells of them.
pub(crate) fn standings(message: &Message) -> &[Standing] {
    match &message.content {
        Content::AccountLink { .. } => &[],
        Content::Confirmation(appointments) | Content::ConfirmationByKey(appointments) => {
            appointments
        }
        Content::Change { appointment, .. }
        | Content::Cancellation(appointment)
        | Content::CancellationByKey(appointment)
        | Content::Restoration(appointment)
        | Content::Reminder(_, appointment) => std::slice::from_ref(appointment),
        Content::Withdrawal(withdrawn) => std::slice::from_ref(&withdrawn.appointment),
    }
}

impl Outbox {
    /// The messages that are about an appointment and wait or are being attempted, ascending by id.
    pub fn open_about(&self, appointment: VeventId) -> impl Iterator<Item = &Arc<Message>> {
        let of_it = (appointment, FIRST)..=(appointment, LAST);
        self.about
            .range(of_it)
            .filter_map(|(_, id)| self.messages.get(id))
            .filter(|message| message.is_open())
    }

    /// When an appointment began by the last that its client was told before a message; where that is not known, when it
    /// began before the first of the changes since that never left; `was` where there are none.
    #[must_use]
    pub fn told_before(
        &self,
        message: MessageId,
        appointment: VeventId,
        mut was: Instant,
    ) -> Instant {
        let earlier = self.about.range((appointment, FIRST)..(appointment, message)).rev();
        for message in earlier.filter_map(|(_, id)| self.messages.get(id)) {
            if matches!(message.content, Content::Withdrawal(_)) {
                // What stands before it was told to another client.
                break;
            }
            if matches!(message.progress, Progress::Sent { .. } | Progress::Kept { .. }) {
                let told = standings(message).iter().find(|standing| standing.id == appointment);
                return told.map_or(was, |standing| standing.start);
            }
            if let Content::Change { was: before, .. } = &message.content {
                was = *before;
            }
        }
        was
    }
}
