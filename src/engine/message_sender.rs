//! One attempt at one message: claimed, looked at once more, made, and its result put into the history. Reference 7.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::domain::messaging::channel::Channel;
use crate::domain::messaging::delivery::{self, DeliveryOutcome, DeliveryStep, DueItem};
use crate::domain::messaging::message::{Message, Progress};
use crate::domain::messaging::suppression;
use crate::domain::records::ids::GroupId;
use crate::domain::state::command::Command;
use crate::engine::metrics;
use crate::engine::randomness::Randomness;
use crate::engine::{Done, Engine, Rejection};
use crate::notify::Carriers;

/// Between two tries to put a result into the history.
const BREATH: Duration = Duration::from_millis(200);
/// How often that is tried: two minutes, in which an overloaded server has answered somebody.
const TRIES_MAX: usize = 600;

/// What attempts are made with.
pub(super) struct MessageSender {
    /// Who carries messages.
    pub(super) carriers: Arc<Carriers>,
    /// Most messages to one recipient within 24 hours.
    pub(super) daily_max: usize,
    /// Chance, for when to try again.
    pub(super) draws: Mutex<Randomness>,
    pub(super) meters: metrics::MessageMetrics,
}

impl MessageSender {
    /// Counts what a step has settled, and says what it settled without an attempt.
    fn notes(&self, group: GroupId, done: &Done, attempted: bool) {
        let settled = done
            .group_state
            .outbox
            .changed_since(&done.before.outbox)
            .filter(|message| !message.is_open());
        for message in settled {
            self.meters.settled(message);
            if !attempted {
                tracing::info!(%group, message = %message.id, came_to = ?message.progress, "a message is not sent");
            }
        }
    }
}

/// Makes an attempt, if the newest state still wants one. What cannot be claimed now is left to the next waking.
pub(super) async fn attempt(
    engine: &Engine,
    sender: &MessageSender,
    group: GroupId,
    item: DueItem,
    channel: Channel,
) {
    let has_gateway = sender.carriers.carry_by(channel);
    let claim = DeliveryStep::Claim { item, daily_max: sender.daily_max, has_gateway };
    let Ok(done) = engine.write(group, Command::Deliver(claim)).await else { return };
    sender.notes(group, &done, false);
    let Some(message) = delivery::find_message(&done.group_state, item) else { return };
    let Progress::Claimed { attempt, .. } = message.progress else { return };
    let outcome = make(engine, sender, group, message).await;
    if !matches!(outcome, DeliveryOutcome::Taken) {
        tracing::warn!(%group, message = %message.id, ?outcome, "a message has not been sent");
    }
    let settle = DeliveryStep::Settle { id: message.id, attempt, outcome };
    let mut tries = 0;
    while tries < TRIES_MAX {
        match engine.write(group, Command::Deliver(settle.clone())).await {
            // As long as no write is taken at all, nobody could attempt it again either.
            Err(Rejection::Closed(_)) => tokio::time::sleep(BREATH).await,
            Err(Rejection::Overloaded | Rejection::Expired) => {
                tries += 1;
                tokio::time::sleep(BREATH).await;
            }
            Ok(done) => return sender.notes(group, &done, true),
            Err(
                Rejection::Refused(_)
                | Rejection::Conflict
                | Rejection::NoGroup
                | Rejection::Failed,
            ) => return,
        }
    }
}

/// Looks at the newest state, which may have changed while the claim became durable, and hands the message over.
async fn make(
    engine: &Engine,
    sender: &MessageSender,
    group: GroupId,
    message: &Message,
) -> DeliveryOutcome {
    let now = engine.clock().now();
    let group_state = engine
        .published()
        .group_state(group)
        .expect("a group that has decided a claim is published");
    if let Some(why) = suppression::find_suppression_reason(&group_state, message, now) {
        return DeliveryOutcome::Unwanted(why);
    }
    if let Some(reason) = delivery::find_reclaim_reason(&group_state, message, now) {
        return DeliveryOutcome::Deferred { reason, draw: 0 };
    }
    match sender.carriers.carry(&group_state, message, now).await {
        DeliveryOutcome::Deferred { reason, .. } => {
            let draw = sender.draws.lock().unwrap_or_else(PoisonError::into_inner).number();
            DeliveryOutcome::Deferred { reason, draw }
        }
        outcome @ (DeliveryOutcome::Taken
        | DeliveryOutcome::Refused(_)
        | DeliveryOutcome::Unwanted(_)) => outcome,
    }
}
