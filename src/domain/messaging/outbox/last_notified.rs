//! What a client has last been told of an appointment.

use std::sync::Arc;

use crate::domain::messaging::outbox::{
    AppointmentTime, FIRST, Message, MessageContent, MessageId, Outbox, Progress,
};
use crate::domain::records::ids::{ID_MAX, VeventId};
use crate::domain::time::Instant;

const LAST: MessageId = MessageId::new(ID_MAX).expect("the largest is an id");

/// The appointments that a message is about, as it tells of them.
pub(crate) fn standings(message: &Message) -> &[AppointmentTime] {
    match &message.content {
        MessageContent::AccountLink { .. } => &[],
        MessageContent::Confirmation(appointments)
        | MessageContent::ConfirmationByKey(appointments) => appointments,
        MessageContent::Change { appointment, .. }
        | MessageContent::Cancellation(appointment)
        | MessageContent::CancellationByKey(appointment)
        | MessageContent::Restoration(appointment)
        | MessageContent::Reminder(_, appointment) => std::slice::from_ref(appointment),
        MessageContent::Withdrawal(withdrawn) => std::slice::from_ref(&withdrawn.appointment),
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
            if matches!(message.content, MessageContent::Withdrawal(_)) {
                // What stands before it was told to another client.
                break;
            }
            if matches!(message.progress, Progress::Sent { .. } | Progress::Kept { .. }) {
                let told = standings(message).iter().find(|standing| standing.id == appointment);
                return told.map_or(was, |standing| standing.start);
            }
            if let MessageContent::Change { was: before, .. } = &message.content {
                was = *before;
            }
        }
        was
    }
}
