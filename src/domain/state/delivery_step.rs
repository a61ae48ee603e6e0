//! Steps in the delivery of one message, and their outcomes. Reference 7.2.

use crate::domain::records::channel::Channel;
use crate::domain::records::ids::{MessageId, VeventId};
use crate::domain::records::message::SuppressionReason;
use crate::domain::records::text::Text;
use crate::domain::state::recipient_quota::MessageQuota;

/// Something that may be due to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DueItem {
    /// A message of the outbox.
    Message(MessageId),
    /// The reminder of an appointment that is not a message yet.
    Reminder(VeventId, Channel),
}

impl DueItem {
    /// The smallest item.
    pub const FIRST: Self = Self::Message(MessageId::new(1).expect("1 is an id"));
}

/// One step in the delivery of a message.
#[derive(Clone, Debug)]
pub enum DeliveryStep {
    /// Claims an attempt.
    Claim {
        /// The message or reminder to attempt.
        item: DueItem,
        /// Maximum numbers of messages within 24 hours.
        quota: MessageQuota,
        /// Whether a gateway is configured for the channel.
        has_gateway: bool,
    },
    /// Records the end of an attempt.
    Settle {
        /// The message.
        id: MessageId,
        /// The number of the attempt.
        attempt: u32,
        /// Its outcome.
        outcome: DeliveryOutcome,
    },
}

/// The outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The gateway accepted the message.
    Taken,
    /// The gateway rejected the message for good, with this reason.
    Refused(Text<255>),
    /// The gateway may accept the message later.
    Deferred {
        /// The gateway's reason.
        reason: Text<255>,
        /// A random number for the delay before the next attempt.
        draw: u64,
    },
    /// The message ceased to be wanted between the claim and the attempt.
    Unwanted(SuppressionReason),
}

/// The treatment of a message that is too late by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatePolicy {
    /// It is given up.
    GiveUp,
    /// It stays open, because the clock may be wrong.
    Wait,
}
