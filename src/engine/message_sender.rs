//! One attempt to send a message: claim it, check it against the newest state, send it, and record
//! the outcome in the history. Reference 7.2.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::domain::decisions::delivery;
use crate::domain::records::author::Author;
use crate::domain::records::channel::Channel;
use crate::domain::records::ids::GroupId;
use crate::domain::records::message::{Message, Progress};
use crate::domain::records::text::Text;
use crate::domain::state::command::Command;
use crate::domain::state::delivery_step::{DeliveryOutcome, DeliveryStep, DueItem};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::recipient_quota::MessageQuota;
use crate::engine::handle::Engine;
use crate::engine::metrics::MessageMetrics;
use crate::engine::randomness::Randomness;
use crate::engine::write::{Committed, Rejection};
use crate::notify::Gateways;
use crate::planted_faults::PlantedFault;

/// Delay between two tries to record an outcome.
const RECORD_RETRY_DELAY: Duration = Duration::from_millis(200);
/// Maximum number of tries to record an outcome on an overloaded server: two minutes of retries.
const RECORD_TRIES_MAX: usize = 600;

/// Number of digits from which a word of a reason may be a telephone number.
const NUMBER_DIGITS_MIN: usize = 7;

/// The resources of attempts.
pub(crate) struct MessageSender {
    pub(crate) gateways: Arc<Gateways>,
    /// Maximum number of messages to one recipient within 24 hours.
    pub(crate) quota: MessageQuota,
    /// Source of randomness for the delay of retries.
    pub(crate) randomness: Mutex<Randomness>,
    pub(crate) metrics: MessageMetrics,
}

impl MessageSender {
    /// Counts the messages that a step settled, and logs those settled without an attempt.
    fn record_settled(&self, group: GroupId, committed: &Committed, attempted: bool) {
        for message in committed.group_state.outbox.changed_since(&committed.before.outbox) {
            let before = committed.before.outbox.message(message.id);
            let has_moved = before.is_none_or(|before| before.progress != message.progress);
            if message.is_open() || !has_moved {
                continue;
            }
            self.metrics.record_settled(message);
            if !attempted {
                let state = without_addresses(&format!("{:?}", message.progress));
                tracing::info!(%group, message = %message.id, state, "a message is not sent");
            }
        }
    }
}

/// Makes one attempt if the newest state still wants one. An item that cannot be claimed now is
/// left to the scheduler.
pub(crate) async fn attempt_delivery(
    engine: &Engine,
    sender: &MessageSender,
    group: GroupId,
    item: DueItem,
    channel: Channel,
) {
    let has_gateway = sender.gateways.is_configured(channel);
    let claim = DeliveryStep::Claim { item, quota: sender.quota, has_gateway };
    let claim = Command::Deliver(claim);
    let Ok(claimed) = engine.write(group, Author::Server, claim).await else { return };
    sender.record_settled(group, &claimed, false);
    if Arc::ptr_eq(&claimed.before, &claimed.group_state) {
        // It could not be claimed. A claim that an earlier server left is still that server's.
        return;
    }
    let Some(message) = delivery::find_message(&claimed.group_state, item) else { return };
    let Progress::Claimed { attempt, .. } = message.progress else { return };
    let outcome = send_claimed(engine, sender, group, &claimed.group_state, message).await;
    if !matches!(outcome, DeliveryOutcome::Taken) {
        let outcome = without_addresses(&format!("{outcome:?}"));
        tracing::warn!(%group, message = %message.id, outcome, "a message has not been sent");
    }
    if PlantedFault::ResultNotRecorded.is_active() {
        return;
    }
    let settle = DeliveryStep::Settle { id: message.id, attempt, outcome };
    record_outcome(engine, sender, group, &settle).await;
}

/// Returns a text for the log without addresses and telephone numbers, which gateways repeat in
/// their reasons. What was logged cannot be erased. Reference 17.3.
fn without_addresses(text: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || "@.+-_%!#$&*/?^`{|}~".contains(c);
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len()).max(first.len_utf8());
        let (word, after) = rest.split_at(length);
        let digits = word.chars().filter(char::is_ascii_digit).count();
        shown.push_str(if word.contains('@') || digits >= NUMBER_DIGITS_MIN {
            "…"
        } else {
            word
        });
        rest = after;
    }
    shown
}

/// Records an outcome, with retries while the server is overloaded or its disk takes no writes.
async fn record_outcome(
    engine: &Engine,
    sender: &MessageSender,
    group: GroupId,
    settle: &DeliveryStep,
) {
    let mut tries = 0;
    while tries < RECORD_TRIES_MAX {
        match engine.write(group, Author::Server, Command::Deliver(settle.clone())).await {
            // No limit of tries: while no write is taken, no other attempt can be claimed either.
            Err(Rejection::WritesUnavailable(_)) => tokio::time::sleep(RECORD_RETRY_DELAY).await,
            Err(Rejection::Overloaded | Rejection::DecisionTimeout) => {
                tries += 1;
                tokio::time::sleep(RECORD_RETRY_DELAY).await;
            }
            Ok(committed) => return sender.record_settled(group, &committed, true),
            Err(
                Rejection::Refused(_)
                | Rejection::IdempotencyConflict
                | Rejection::GroupNotFound
                | Rejection::InternalError,
            ) => return,
        }
    }
}

/// Checks a claimed message against the newest state, and hands it to its gateway. The state may
/// have changed since that of the claim, while the claim became durable.
async fn send_claimed(
    engine: &Engine,
    sender: &MessageSender,
    group: GroupId,
    claimed: &GroupState,
    message: &Message,
) -> DeliveryOutcome {
    let now = engine.clock().now();
    let group_state = engine
        .published()
        .group_state(group)
        .expect("a group that has decided a claim is published");
    if !PlantedFault::SecondLookSkipped.is_active()
        && let Some(outcome) = delivery::look_again(claimed, &group_state, message, now)
    {
        return outcome;
    }
    // Another server may have taken over since the claim. It then sends the message.
    if !engine.may_answer() && !PlantedFault::SharedMessageUnchecked.is_active() {
        return DeliveryOutcome::Deferred {
            reason: Text::new("this server no longer decides in its cluster")
                .expect("a short text"),
            draw: sender.randomness.lock().number(),
        };
    }
    match sender.gateways.send_message(&group_state, message, now).await {
        DeliveryOutcome::Deferred { reason, .. } => {
            let draw = sender.randomness.lock().number();
            DeliveryOutcome::Deferred { reason, draw }
        }
        outcome @ (DeliveryOutcome::Taken
        | DeliveryOutcome::Refused(_)
        | DeliveryOutcome::Unwanted(_)) => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::domain::availability::catalogue::Catalogue;
    use crate::domain::directory::Directory;
    use crate::domain::records::group::Group;
    use crate::domain::records::message::{LinkPurpose, MessageContent, SuppressionReason};
    use crate::domain::records::text::Text;
    use crate::domain::time::Instant;
    use crate::domain::time::zone_names::ZoneName;
    use crate::engine::EngineParts;
    use crate::engine::admission::AdmissionLimits;
    use crate::engine::mailbox::Transport;
    use crate::store::SimulatedDisk;

    #[test]
    fn a_claimed_message_that_is_not_wanted_any_more_is_not_sent() {
        let now = Instant(1_000_000);
        let id = GroupId::new(1).unwrap();
        let group = Group::new(id, ZoneName::from_name("Paris").unwrap(), now);
        let group_state = GroupState::new(Catalogue::new(group));
        // The link was good when the attempt was claimed, and has expired since.
        let purpose = LinkPurpose::Confirm;
        let token = Text::new("abc").unwrap();
        let content = MessageContent::AccountLink { purpose, token, expires: now };
        let draft = group_state.outbox.draft(0, now.plus_seconds(-60), content, "a@example.org");
        let progress = Progress::Claimed { attempt: 1, at: now.plus_seconds(-1) };
        let message = Message { progress, ..draft };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = runtime.block_on(async {
            let parts = engine_parts(now, group_state);
            let (log, _) = SimulatedDisk::new().recover(|_, _| Ok(())).unwrap();
            let (engine, _journal) = Engine::start(parts, log).await;
            let sender = sender_of(&engine);
            let claimed = engine.published().group_state(id).unwrap();
            send_claimed(&engine, &sender, id, &claimed, &message).await
        });
        assert_eq!(outcome, DeliveryOutcome::Unwanted(SuppressionReason::Expired));
    }

    #[test]
    fn a_server_without_its_lease_hands_no_message_over() {
        let now = Instant(1_000_000);
        let id = GroupId::new(1).unwrap();
        let group = Group::new(id, ZoneName::from_name("Paris").unwrap(), now);
        let group_state = GroupState::new(Catalogue::new(group));
        let purpose = LinkPurpose::Confirm;
        let token = Text::new("abc").unwrap();
        let expires = now.plus_seconds(3_600);
        let content = MessageContent::AccountLink { purpose, token, expires };
        let draft = group_state.outbox.draft(0, now.plus_seconds(-60), content, "a@example.org");
        let progress = Progress::Claimed { attempt: 1, at: now.plus_seconds(-1) };
        let message = Message { progress, ..draft };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = runtime.block_on(async {
            let parts = engine_parts(now, group_state);
            let (log, _) = SimulatedDisk::new().recover(|_, _| Ok(())).unwrap();
            let (engine, _journal) = Engine::start(parts, log).await;
            // It has never held it.
            engine.need_lease(Arc::default());
            let sender = sender_of(&engine);
            let claimed = engine.published().group_state(id).unwrap();
            send_claimed(&engine, &sender, id, &claimed, &message).await
        });
        let DeliveryOutcome::Deferred { reason, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(reason.as_str(), "this server no longer decides in its cluster");
    }

    fn engine_parts(now: Instant, group_state: GroupState) -> EngineParts {
        EngineParts {
            directory: Directory::default(),
            group_states: [group_state].into(),
            clock: Arc::new(ManualClock::at(now)),
            randomness: Randomness::seeded([1; 32]),
            transport: Transport::direct(),
            admission_limits: AdmissionLimits::default(),
            decision_timeout: Duration::from_secs(10),
        }
    }

    fn sender_of(engine: &Engine) -> MessageSender {
        MessageSender {
            gateways: Arc::new(Gateways::unconfigured("https://rdv.example.org/")),
            quota: MessageQuota { recipient_daily_max: 10, by_key_daily_max: 0 },
            randomness: Mutex::new(Randomness::seeded([2; 32])),
            metrics: engine.message_metrics(),
        }
    }

    #[test]
    fn a_reason_is_logged_without_addresses_and_numbers() {
        for (reason, logged) in [
            ("Refused(\"550 <ada@example.org>: no user\")", "Refused(\"550 <…>: no user\")"),
            ("to +33612345678, code 451 4.7.1 é", "to …, code 451 4.7.1 é"),
            ("ada+x@example.org", "…"),
            ("", ""),
        ] {
            assert_eq!(without_addresses(reason), logged);
        }
    }
}
