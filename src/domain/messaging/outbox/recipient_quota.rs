//! Which messages count together among those that one recipient gets within a day.

use crate::domain::messaging::outbox::{FIRST, Message, MessageContent, Outbox};
use crate::domain::records::text::folded;
use crate::domain::time::Instant;

/// Who caused a message: of those that a recipient gets within a day, at most half are such as anybody can cause in
/// anybody's name, so that nobody silences a shop towards its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Share {
    /// Anybody who has the public key, or who has asked for a link to somebody's account.
    Anybody,
    /// The shop, or the client, or time.
    Own,
}

impl Message {
    /// The same, caused by an application's key alone: whoever has the key can cause as many as they like, to anybody.
    /// Nothing else that is about appointments can be caused so.
    #[must_use]
    pub fn caused_by_key(mut self) -> Self {
        self.content = match self.content {
            MessageContent::Confirmation(appointments) => {
                MessageContent::ConfirmationByKey(appointments)
            }
            MessageContent::Cancellation(appointment) => {
                MessageContent::CancellationByKey(appointment)
            }
            content @ (MessageContent::AccountLink { .. }
            | MessageContent::Change { .. }
            | MessageContent::Reminder(..)
            | MessageContent::Withdrawal(_)
            | MessageContent::ConfirmationByKey(_)
            | MessageContent::CancellationByKey(_)
            | MessageContent::Restoration(_)) => content,
        };
        self
    }

    /// Whether an application's key alone caused it.
    #[must_use]
    pub const fn is_by_key(&self) -> bool {
        matches!(
            &self.content,
            MessageContent::ConfirmationByKey(_) | MessageContent::CancellationByKey(_)
        )
    }

    /// Whether it leaves however many have gone to its recipient: a link to an account, which is limited where it is asked
    /// for, and counts all the same.
    #[must_use]
    pub const fn always_goes(&self) -> bool {
        matches!(&self.content, MessageContent::AccountLink { .. })
    }

    /// As whose it counts among a recipient's messages of 24 hours.
    pub(crate) const fn share(&self) -> Share {
        match &self.content {
            MessageContent::AccountLink { .. }
            | MessageContent::ConfirmationByKey(_)
            | MessageContent::CancellationByKey(_) => Share::Anybody,
            MessageContent::Confirmation(_)
            | MessageContent::Change { .. }
            | MessageContent::Cancellation(_)
            | MessageContent::Reminder(..)
            | MessageContent::Withdrawal(_)
            | MessageContent::Restoration(_) => Share::Own,
        }
    }
}

impl Outbox {
    /// Whether one more message may go to a recipient to whom at most `most` go from a moment on: less than that many
    /// have first been attempted since, and of what anybody can cause less than half, rounded up. A link to an account
    /// always goes.
    #[must_use]
    pub fn has_room_for(&self, message: &Message, most: usize, since: Instant) -> bool {
        let recipient = folded(message.recipient.as_str());
        let theirs = self.attempts.range((recipient.clone(), since, FIRST, Share::Anybody)..);
        let theirs = theirs.take_while(|(to, ..)| *to == recipient);
        let (mut all, mut anybodys) = (0, 0);
        for (.., share) in theirs {
            all += 1;
            anybodys += usize::from(*share == Share::Anybody);
        }
        message.always_goes()
            || all < most && (message.share() == Share::Own || anybodys < most.div_ceil(2))
    }
}
