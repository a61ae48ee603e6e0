//! Decisions about one message: whether it may be sent now, and the result of an attempt.
//! Reference 7.2.
//!
//! Every attempt is claimed first, on the group's newest state, and its result is an event as well.
//! A message that is not wanted any more is never claimed. If the server stops during an attempt,
//! the message is claimed again after the restart.

use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::messaging::client_knowledge::{
    is_known_already, is_overtaken, spread_news, update_notice,
};
use crate::domain::messaging::planning;
use crate::domain::messaging::recipient::{appointment_recipient, current_recipient};
use crate::domain::messaging::send_time::{backoff_seconds, earliest_send_time, send_deadline};
use crate::domain::messaging::suppression::{find_suppression_reason, with_current_start};
use crate::domain::records::ids::MessageId;
use crate::domain::records::message::{
    AppointmentTime, Message, MessageContent, Progress, SuppressionReason,
};
use crate::domain::records::text::Text;
use crate::domain::state::delivery_step::{DeliveryOutcome, DeliveryStep, DueItem, LatePolicy};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::recipient_quota::MessageQuota;
use crate::domain::state::refusal::Refusals;
use crate::domain::time::{DAY, Instant};
use crate::planted_faults::PlantedFault;

/// Decides a step. Nothing changes if it is too early, if the message is settled, or if it is too
/// late and has to wait.
///
/// # Errors
/// None: it is never refused.
pub fn decide(context: &mut Context<'_>, step: &DeliveryStep) -> Result<Decision, Refusals> {
    let Context { state, now, .. } = *context;
    let late = context.environment.late_policy();
    let message = match step {
        DeliveryStep::Claim { item, quota, has_gateway } => {
            // While the clock is in doubt, no message is given up as too late.
            claim_attempt(state, *item, *quota, *has_gateway, now)
                .filter(|message| late != LatePolicy::Wait || !is_given_up(message))
        }
        DeliveryStep::Settle { id, attempt, outcome } => {
            settle_attempt(state, *id, *attempt, outcome, late, now)
        }
    };
    let at = context.stamp();
    let event = message.map(|message| {
        let informed =
            if is_claimed_or_kept(&message) { spread_news(state, &message) } else { Vec::new() };
        Event::MessagePut { at, message: Box::new(message) }.announced_by(informed)
    });
    Ok(Decision::new(event, Outcome::default()))
}

/// Whether a message begins to leave, or can be read in the list from now on.
const fn is_claimed_or_kept(message: &Message) -> bool {
    matches!(message.progress, Progress::Claimed { .. } | Progress::Kept { .. })
}

/// Whether a claim has ended in giving the message up.
fn is_given_up(message: &Message) -> bool {
    message.given_up_at().is_some() || matches!(message.progress, Progress::Failed { .. })
}

/// Finds the message of an item. `None` for a reminder that was never claimed.
pub fn find_message(state: &GroupState, item: DueItem) -> Option<&Message> {
    let message = match item {
        DueItem::Message(id) => state.outbox.message(id)?,
        DueItem::Reminder(appointment, channel) => {
            state.outbox.open_reminder(appointment, channel)?
        }
    };
    Some(message)
}

fn claim_attempt(
    state: &GroupState,
    item: DueItem,
    quota: MessageQuota,
    has_gateway: bool,
    now: Instant,
) -> Option<Message> {
    let mut message = match find_message(state, item) {
        Some(message) => message.clone(),
        None => due_reminder_message(state, item, now)?,
    };
    if !message.is_open() {
        // A reopened reminder is claimed by its appointment, which says when it is due.
        let is_by_id = matches!(item, DueItem::Message(_));
        if !message.is_reopened(now) || (is_by_id && message.reminder().is_some()) {
            return None;
        }
        // The attempts before the clock was set back do not count towards the quota of today.
        message.first_claimed_at = message.first_claimed_at.filter(|at| *at <= now);
    }
    update_confirmation(state, &mut message);
    // An attempt may have arrived, so later ones say the same under the same Message-ID.
    if message.is_unattempted() {
        update_notice(state, &mut message);
    }
    // An unwanted message is settled even before its time, so that it does not hold up others.
    if let Some(why) = find_suppression_reason(state, &message, now)
        && !PlantedFault::UnwantedMessageClaimed.is_active()
    {
        message.progress = Progress::Suppressed { at: now, why };
        message.forget_spent_token();
        return Some(message);
    }
    let attempts = match message.progress {
        Progress::Waiting { attempts, not_before, .. } => {
            // A clock that was ahead may have set a time more than a day off. It does not bind.
            let binds = not_before <= now.plus_seconds(DAY);
            if now < not_before && binds {
                return None;
            }
            attempts
        }
        Progress::Claimed { attempt, .. } => attempt,
        // It is reopened.
        Progress::Failed { .. } | Progress::Missed { .. } | Progress::Suppressed { .. } => 0,
        Progress::Sent { .. } | Progress::Kept { .. } => return None,
    };
    if attempts == 0 && is_known_already(state, &message) {
        message.progress = Progress::Suppressed { at: now, why: SuppressionReason::Unchanged };
        return Some(message);
    }
    message.progress = progress_after_claim(state, &mut message, attempts, quota, has_gateway, now);
    message.forget_spent_token();
    Some(message)
}

/// Sets the starts in an unsent confirmation to the current ones, because no other message will
/// announce them.
fn update_confirmation(state: &GroupState, message: &mut Message) {
    if let MessageContent::Confirmation(appointments) = &mut message.content {
        for appointment in appointments {
            *appointment = with_current_start(state, *appointment);
        }
    }
}

/// The message of a reminder whose time has come: the one that is reopened, or else a new one.
fn due_reminder_message(state: &GroupState, item: DueItem, now: Instant) -> Option<Message> {
    let DueItem::Reminder(appointment, channel) = item else { return None };
    let row = state.rows.get(&appointment)?;
    let due = planning::pending_due_time(state, state.catalogue.zone(), row, channel, now)?;
    if now < due {
        return None;
    }
    if let Some(reopened) = planning::find_reopened_message(state, row, channel, now) {
        return Some(reopened.clone());
    }
    let recipient = appointment_recipient(state, row, channel).unwrap_or_default();
    let content = MessageContent::Reminder(channel, AppointmentTime::from_vevent(row)?);
    let message = state.outbox.draft(0, state.stamp_for(now), content, &recipient);
    // The first message about a booking with a key alone is caused by that key.
    if row.is_booked_by_key() && !state.outbox.is_mailed_about(row.id, row.created_at, now) {
        return Some(message.caused_by_key());
    }
    Some(message)
}

/// The progress of a wanted message whose time has come. Updates its recipient.
fn progress_after_claim(
    state: &GroupState,
    message: &mut Message,
    attempts: u32,
    quota: MessageQuota,
    has_gateway: bool,
    now: Instant,
) -> Progress {
    let zone = state.catalogue.zone();
    let reason = match &message.progress {
        Progress::Waiting { reason, .. } => reason.clone(),
        Progress::Claimed { .. } => {
            Text::new("the server ended during the attempt").unwrap_or_default()
        }
        Progress::Sent { .. }
        | Progress::Kept { .. }
        | Progress::Failed { .. }
        | Progress::Missed { .. }
        | Progress::Suppressed { .. } => Text::default(),
    };
    let earliest = earliest_send_time(zone, message, now);
    if earliest >= send_deadline(zone, message) {
        if attempts == 0 {
            return Progress::Missed { at: now };
        }
        return Progress::Failed { at: now, reason };
    }
    if earliest > now {
        return Progress::Waiting { attempts, not_before: earliest, reason };
    }
    let recipient = current_recipient(state, message);
    if recipient != message.recipient {
        // The new recipient has a quota of its own.
        message.recipient = recipient;
        message.first_claimed_at = None;
    }
    if !has_gateway {
        return Progress::Kept { at: now };
    }
    // Only the first attempt counts towards the quota.
    if message.first_claimed_at.is_none() {
        if !state.outbox.has_room_for(message, quota, now.plus_seconds(1 - DAY)) {
            return Progress::Suppressed { at: now, why: SuppressionReason::TooMany };
        }
        message.first_claimed_at = Some(now);
    }
    Progress::Claimed { attempt: attempts + 1, at: now }
}

fn settle_attempt(
    state: &GroupState,
    id: MessageId,
    attempt: u32,
    outcome: &DeliveryOutcome,
    late: LatePolicy,
    now: Instant,
) -> Option<Message> {
    let mut message = Message::clone(state.outbox.message(id)?);
    if !matches!(message.progress, Progress::Claimed { attempt: claimed, .. } if claimed == attempt)
    {
        return None;
    }
    message.progress = match outcome {
        DeliveryOutcome::Taken => Progress::Sent { at: now, attempts: attempt },
        DeliveryOutcome::Refused(reason) => Progress::Failed { at: now, reason: reason.clone() },
        DeliveryOutcome::Unwanted(SuppressionReason::Begun | SuppressionReason::Expired)
            if late == LatePolicy::Wait =>
        {
            let not_before = now.plus_seconds(backoff_seconds(attempt, 0));
            Progress::Waiting { attempts: attempt, not_before, reason: Text::default() }
        }
        DeliveryOutcome::Unwanted(why) => Progress::Suppressed { at: now, why: *why },
        DeliveryOutcome::Deferred { reason, draw } => {
            update_confirmation(state, &mut message);
            let zone = state.catalogue.zone();
            let retry_at = now.plus_seconds(backoff_seconds(attempt, *draw));
            let not_before = earliest_send_time(zone, &message, retry_at);
            if not_before < send_deadline(zone, &message) || late == LatePolicy::Wait {
                Progress::Waiting { attempts: attempt, not_before, reason: reason.clone() }
            } else {
                Progress::Failed { at: now, reason: reason.clone() }
            }
        }
    };
    message.forget_spent_token();
    Some(message)
}

/// Looks at a claimed message again, right before it is sent, on a newer state than that of the
/// claim. Returns the outcome of the attempt if it is not to be sent now.
pub fn look_again(
    claimed: &GroupState,
    newest: &GroupState,
    message: &Message,
    now: Instant,
) -> Option<DeliveryOutcome> {
    let is_first = matches!(message.progress, Progress::Claimed { attempt: 1, .. });
    if is_first && is_known_already(newest, message) {
        return Some(DeliveryOutcome::Unwanted(SuppressionReason::Unchanged));
    }
    if let Some(why) = find_suppression_reason(newest, message, now) {
        return Some(DeliveryOutcome::Unwanted(why));
    }
    let reason = find_reclaim_reason(claimed, newest, message, now)?;
    Some(DeliveryOutcome::Deferred { reason, draw: 0 })
}

/// Returns the reason why a message, claimed in an earlier state, must be claimed again before it
/// is sent; `None` if the claim still holds. A claim ends with the sending hours, with a change of
/// the recipient, for a confirmation with a move of one of its appointments, and with a change by a
/// professional whose notice waits.
pub fn find_reclaim_reason(
    claimed: &GroupState,
    state: &GroupState,
    message: &Message,
    now: Instant,
) -> Option<Text<255>> {
    let reason = if earliest_send_time(state.catalogue.zone(), message, now) > now {
        "text messages are sent from 09:00 to 19:00"
    } else if current_recipient(state, message) != message.recipient
        && !PlantedFault::FormerAddressMailed.is_active()
    {
        "the address has changed"
    } else if has_moved_appointment(state, message) || is_overtaken(claimed, state, message) {
        "an appointment has moved"
    } else {
        return None;
    };
    Text::new(reason).ok()
}

/// Whether a confirmation announces an appointment that its client still has at another start.
fn has_moved_appointment(state: &GroupState, message: &Message) -> bool {
    let MessageContent::Confirmation(appointments) = &message.content else { return false };
    for appointment in state.outbox.still_held(message.id, appointments) {
        if with_current_start(state, *appointment) != *appointment {
            return true;
        }
    }
    false
}
