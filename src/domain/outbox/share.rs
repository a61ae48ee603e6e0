//! Which messages count together among those that one recipient gets within a day.

use super::{Content, Message};

/// Whose messages to a recipient are counted together: what anybody with the public key can cause in anybody's name never
/// takes the place of what a shop has to say to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Share {
    ByKey,
    Own,
}

impl Message {
    /// The same, caused by an application's key alone: whoever has the key can cause as many as they like, to anybody.
    /// Nothing else that is about appointments can be caused so.
    #[must_use]
    pub fn caused_by_key(mut self) -> Self {
        self.content = match self.content {
            Content::Confirmation(appointments) => Content::ConfirmationByKey(appointments),
            Content::Cancellation(appointment) => Content::CancellationByKey(appointment),
            content @ (Content::AccountLink { .. }
            | Content::Change { .. }
            | Content::Reminder(..)
            | Content::Withdrawal(_)
            | Content::ConfirmationByKey(_)
            | Content::CancellationByKey(_)
            | Content::Restoration(_)) => content,
        };
        self
    }

    /// Whether an application's key alone caused it.
    #[must_use]
    pub const fn is_by_key(&self) -> bool {
        matches!(&self.content, Content::ConfirmationByKey(_) | Content::CancellationByKey(_))
    }

    /// Whether it leaves however many have gone to its recipient: a link to an account, which is limited where it is asked
    /// for.
    #[must_use]
    pub const fn always_goes(&self) -> bool {
        self.share().is_none()
    }

    /// As what it counts among a recipient's messages of 24 hours. Links to accounts always go, and count as nothing.
    pub(super) const fn share(&self) -> Option<Share> {
        match &self.content {
            Content::AccountLink { .. } => None,
            Content::ConfirmationByKey(_) | Content::CancellationByKey(_) => Some(Share::ByKey),
            Content::Confirmation(_)
            | Content::Change { .. }
            | Content::Cancellation(_)
            | Content::Reminder(..)
            | Content::Withdrawal(_)
            | Content::Restoration(_) => Some(Share::Own),
        }
    }
}
