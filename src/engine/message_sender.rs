//! One attempt at one message: claimed, looked at once more, made, and its result put into the history. Reference 7.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::domain::messaging::delivery::{self, Deliver, Item, Outcome};
use crate::domain::messaging::outbox::{Channel, Message, Progress};
use crate::domain::records::ids::GroupId;
use crate::domain::state::command::Command;
use crate::engine::metrics;
use crate::engine::randomness::Randomness;
use crate::engine::{Committed, Engine, Rejection};
use crate::notify::Gateways;

/// Between two tries to put a result into the history.
const BREATH: Duration = Duration::from_millis(200);
/// How often that is tried: two minutes, in which an overloaded server has answered somebody.
const TRIES_MAX: usize = 600;

/// What attempts are made with.
pub(super) struct MessageSender {
    /// Who carries messages.
    pub(super) gateways: Arc<Gateways>,
    /// Most messages to one recipient within 24 hours.
    pub(super) daily_max: usize,
    /// Chance, for when to try again.
    pub(super) draws: Mutex<Randomness>,
    pub(super) metrics: metrics::MessageMetrics,
}

impl MessageSender {
    /// Counts what a step has settled, and says what it settled without an attempt.
    fn notes(&self, group: GroupId, done: &Committed, attempted: bool) {
        let settled = done
            .group_state
            .outbox
            .changed_since(&done.before.outbox)
            .filter(|message| !message.is_open());
        for message in settled {
            self.metrics.settled(message);
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
    item: Item,
    channel: Channel,
) {
    let carried = sender.gateways.is_configured(channel);
    let claim = Deliver::LoginAttempt { item, daily_max: sender.daily_max, carried };
    let Ok(done) = engine.write(group, Command::Deliver(claim)).await else { return };
    sender.notes(group, &done, false);
    let Some(message) = delivery::subject(&done.group_state, item) else { return };
    let Progress::Claimed { attempt, .. } = message.progress else { return };
    let outcome = make(engine, sender, group, message).await;
    if !matches!(outcome, Outcome::Taken) {
        tracing::warn!(%group, message = %message.id, ?outcome, "a message has not been sent");
    }
    let settle = Deliver::Settle { id: message.id, attempt, outcome };
    let mut tries = 0;
    while tries < TRIES_MAX {
        match engine.write(group, Command::Deliver(settle.clone())).await {
            // As long as no write is taken at all, nobody could attempt it again either.
            Err(Rejection::WritesUnavailable(_)) => tokio::time::sleep(BREATH).await,
            Err(Rejection::Overloaded | Rejection::DecisionTimeout) => {
                tries += 1;
                tokio::time::sleep(BREATH).await;
            }
            Ok(done) => return sender.notes(group, &done, true),
            Err(
                Rejection::Refused(_)
                | Rejection::IdempotencyConflict
                | Rejection::GroupNotFound
                | Rejection::InternalError,
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
) -> Outcome {
    let now = engine.clock().now();
    let group_state = engine
        .published()
        .group_state(group)
        .expect("a group that has decided a claim is published");
    if let Some(why) = delivery::unwanted(&group_state, message, now) {
        return Outcome::Unwanted(why);
    }
    if let Some(reason) = delivery::postponed(&group_state, message, now) {
        return Outcome::Deferred { reason, draw: 0 };
    }
    match sender.gateways.send_message(&group_state, message, now).await {
        Outcome::Deferred { reason, .. } => {
            let draw = sender.draws.lock().unwrap_or_else(PoisonError::into_inner).number();
            Outcome::Deferred { reason, draw }
        }
        outcome @ (Outcome::Taken | Outcome::Refused(_) | Outcome::Unwanted(_)) => outcome,
    }
}
