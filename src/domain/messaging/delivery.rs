//! Deciding whether a message may leave now, and what came of it. Reference 7.
//!
//! Every attempt is claimed first, by the newest state of all, and its result is put into the history as well. What is not
//! wanted any more is never claimed. A claim that the end of the server has left without a result is claimed again.

use crate::domain::messaging::outbox::{
    AppointmentTime, Channel, Message, MessageContent, Progress, SuppressionReason,
    WithdrawnAppointment,
};
use crate::domain::messaging::phone;
use crate::domain::messaging::planning::{self, TOO_LATE_SECONDS};
use crate::domain::messaging::reminder::{SMS_DAY_BEGINS, is_sms_hour};
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{FicheId, MessageId, VeventId};
use crate::domain::records::text::Text;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::zone::Zone;
use crate::domain::time::{DAY, HOUR, Instant};

/// Mails that are no reminders are given up so long after what they tell of, in seconds.
const GIVEN_UP_SECONDS: i64 = 3 * DAY;
/// Before the second attempt, in seconds; doubled before each further one.
const BACKOFF_SECONDS: i64 = 30;
/// Between two attempts at most, in seconds.
const BACKOFF_SECONDS_MAX: i64 = HOUR;

/// What may be due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DueItem {
    /// A message of the outbox.
    Message(MessageId),
    /// The reminder of an appointment, which is no message yet.
    Reminder(VeventId, Channel),
}

impl DueItem {
    /// None sorts before it.
    pub const FIRST: Self = Self::Message(MessageId::new(1).expect("1 is an id"));
}

/// One step in the sending of a message.
#[derive(Clone, Debug)]
pub enum DeliveryStep {
    /// An attempt is to begin.
    LoginAttempt {
        /// At what.
        item: DueItem,
        /// Most messages to one recipient within 24 hours, half of them at most such as anybody can cause; 0 lets none
        /// leave. Links to accounts always go, and count.
        daily_max: usize,
        /// Whether anybody is configured to carry it.
        carried: bool,
    },
    /// An attempt has ended.
    Settle {
        /// Of which message.
        id: MessageId,
        /// Which attempt.
        attempt: u32,
        /// How.
        outcome: DeliveryOutcome,
    },
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The other side took it.
    Taken,
    /// The other side will never take it.
    Refused(Text<255>),
    /// The other side may take it later.
    Deferred {
        /// What it said.
        reason: Text<255>,
        /// A number drawn for when to try again.
        draw: u64,
    },
    /// Between the claim and the attempt it ceased to be wanted.
    Unwanted(SuppressionReason),
}

/// Decides a step; `None` where there is nothing to do: not yet, or not any more.
#[must_use]
pub fn decide(state: &GroupState, step: &DeliveryStep, now: Instant) -> Option<Event> {
    let message = match step {
        DeliveryStep::LoginAttempt { item, daily_max, carried } => {
            claim(state, *item, (*daily_max, *carried), now)?
        }
        DeliveryStep::Settle { id, attempt, outcome } => {
            settle(state, *id, *attempt, outcome, now)?
        }
    };
    Some(Event::MessagePut { at: state.stamp_for(now), message: Box::new(message) })
}

/// The message that a step was about, in the state after it.
#[must_use]
pub fn subject(state: &GroupState, item: DueItem) -> Option<&Message> {
    match item {
        DueItem::Message(id) => state.outbox.message(id).map(AsRef::as_ref),
        DueItem::Reminder(appointment, channel) => {
            state.outbox.open_reminder(appointment, channel).map(AsRef::as_ref)
        }
    }
}

fn claim(
    state: &GroupState,
    item: DueItem,
    (daily_max, carried): (usize, bool),
    now: Instant,
) -> Option<Message> {
    let mut message = match subject(state, item) {
        Some(message) => message.clone(),
        None => first_of_reminder(state, item, now)?,
    };
    if message.is_open() {
        bring_up_to_date(state, &mut message);
    }
    let unwanted = if message.is_open() { unwanted(state, &message, now) } else { None };
    let attempts = match message.progress {
        // What is not wanted any more need not be waited for: it stands in the way of what is.
        Progress::Waiting { attempts, .. } if unwanted.is_some() => attempts,
        // A time further off was set by a clock that was ahead.
        Progress::Waiting { not_before, .. }
            if now < not_before && not_before <= now.plus_seconds(DAY) =>
        {
            return None;
        }
        Progress::Waiting { attempts, .. } => attempts,
        Progress::Claimed { attempt, .. } => attempt,
        Progress::Sent { .. }
        | Progress::Kept { .. }
        | Progress::Failed { .. }
        | Progress::Missed { .. }
        | Progress::Suppressed { .. } => return None,
    };
    message.progress = match unwanted {
        Some(why) => Progress::Suppressed { at: now, why },
        None => next_of_wanted(state, &mut message, attempts, (daily_max, carried), now),
    };
    Some(message)
}

/// An appointment as what has not left yet is to tell of it: beginning when it does by now.
#[must_use]
pub fn newest(state: &GroupState, standing: AppointmentTime) -> AppointmentTime {
    state.rows.get(&standing.id).and_then(|row| planning::standing(row)).unwrap_or(standing)
}

/// A confirmation that has not left tells of its appointments as they stand by now: nothing else may ever tell of them.
fn bring_up_to_date(state: &GroupState, message: &mut Message) {
    if let MessageContent::Confirmation(appointments)
    | MessageContent::ConfirmationByKey(appointments) = &mut message.content
    {
        appointments.iter_mut().for_each(|standing| *standing = newest(state, *standing));
    }
}

/// A reminder whose time has come, as a message that nobody has attempted.
fn first_of_reminder(state: &GroupState, item: DueItem, now: Instant) -> Option<Message> {
    let DueItem::Reminder(appointment, channel) = item else { return None };
    let row = state.rows.get(&appointment)?;
    let due = planning::pending(state, state.catalogue.zone(), row, channel)?;
    if now < due {
        return None;
    }
    let recipient = recipient_of(state, row, channel).unwrap_or_default();
    let content = MessageContent::Reminder(channel, planning::standing(row)?);
    Some(state.outbox.draft(0, state.stamp_for(now), content, &recipient)).map(|message| Message {
        progress: Progress::Waiting { attempts: 0, not_before: now, reason: Text::default() },
        ..message
    })
}

/// How a message that is wanted goes on: too late, not at this hour, to nobody, too many, or to be attempted.
fn next_of_wanted(
    state: &GroupState,
    message: &mut Message,
    attempts: u32,
    (daily_max, carried): (usize, bool),
    now: Instant,
) -> Progress {
    let zone = state.catalogue.zone();
    let recipient = recipient(state, message);
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
    let opens = opening(zone, message.channel(), now);
    if opens >= deadline(zone, message) {
        return if attempts == 0 {
            Progress::Missed { at: now }
        } else {
            Progress::Failed { at: now, reason }
        };
    }
    if opens > now {
        return Progress::Waiting { attempts, not_before: opens, reason };
    }
    if recipient != message.recipient {
        // The count of the old recipient's day goes with it.
        message.recipient = recipient;
        message.first_claimed_at = None;
    }
    if !carried {
        return Progress::Kept { at: now };
    }
    if message.first_claimed_at.is_none() {
        if !state.outbox.has_room_for(message, daily_max, now.plus_seconds(1 - DAY)) {
            return Progress::Suppressed { at: now, why: SuppressionReason::TooMany };
        }
        message.first_claimed_at = Some(now);
    }
    Progress::Claimed { attempt: attempts + 1, at: now }
}

fn settle(
    state: &GroupState,
    id: MessageId,
    attempt: u32,
    outcome: &DeliveryOutcome,
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
        DeliveryOutcome::Unwanted(why) => Progress::Suppressed { at: now, why: *why },
        DeliveryOutcome::Deferred { reason, draw } => {
            bring_up_to_date(state, &mut message);
            let zone = state.catalogue.zone();
            let not_before =
                opening(zone, message.channel(), now.plus_seconds(backoff_seconds(attempt, *draw)));
            if not_before < deadline(zone, &message) {
                Progress::Waiting { attempts: attempt, not_before, reason: reason.clone() }
            } else {
                Progress::Failed { at: now, reason: reason.clone() }
            }
        }
    };
    Some(message)
}

/// Seconds between an attempt that failed and the next: doubled with each, up to an hour, and of that at least half, so
/// that what failed together is not tried again together.
fn backoff_seconds(attempt: u32, draw: u64) -> i64 {
    let whole = BACKOFF_SECONDS
        .saturating_mul(1 << attempt.saturating_sub(1).min(16))
        .min(BACKOFF_SECONDS_MAX);
    let half = whole / 2;
    let share = draw % u64::try_from(half).expect("a backoff is positive");
    whole - half + i64::try_from(share).expect("less than an hour")
}

/// The first moment from `from` on at which a channel carries anything.
#[must_use]
pub fn opening(zone: Zone, channel: Channel, from: Instant) -> Instant {
    let local = zone.civil_of(from);
    match channel {
        Channel::Mail => from,
        Channel::Sms if is_sms_hour(local) => from,
        Channel::Sms => {
            let days = if local.second_of_day() < SMS_DAY_BEGINS { 0 } else { 1 };
            zone.instant_of(local.day().plus_days(days).midnight().plus_seconds(SMS_DAY_BEGINS))
        }
    }
}

/// From when on an attempt is too late. A reminder leaves while its appointment is more than 15 minutes ahead; a text
/// message that the night holds back at that time leaves at 09:00 if the appointment is still ahead then.
fn deadline(zone: Zone, message: &Message) -> Instant {
    let given_up = message.created_at.plus_seconds(GIVEN_UP_SECONDS);
    match &message.content {
        MessageContent::AccountLink { expires, .. } => *expires,
        MessageContent::Confirmation(appointments)
        | MessageContent::ConfirmationByKey(appointments) => {
            appointments.iter().map(|it| it.start).max().unwrap_or(given_up).min(given_up)
        }
        MessageContent::Change { appointment, .. }
        | MessageContent::Cancellation(appointment)
        | MessageContent::CancellationByKey(appointment)
        | MessageContent::Restoration(appointment) => appointment.start.min(given_up),
        MessageContent::Withdrawal(withdrawn) => withdrawn.appointment.start.min(given_up),
        MessageContent::Reminder(Channel::Mail, appointment) => {
            appointment.start.plus_seconds(-TOO_LATE_SECONDS)
        }
        MessageContent::Reminder(Channel::Sms, appointment) => {
            let ahead = appointment.start.plus_seconds(-TOO_LATE_SECONDS);
            // At 09:00 itself what the night held back is about to leave.
            let by_day = is_sms_hour(zone.civil_of(ahead))
                && zone.civil_of(ahead).second_of_day() > SMS_DAY_BEGINS;
            if by_day { ahead } else { appointment.start }
        }
    }
}

/// Why a message is not wanted any more, if it is not.
#[must_use]
pub fn unwanted(state: &GroupState, message: &Message, now: Instant) -> Option<SuppressionReason> {
    match &message.content {
        MessageContent::AccountLink { expires, .. } => {
            (*expires <= now).then_some(SuppressionReason::Expired)
        }
        MessageContent::Confirmation(appointments)
        | MessageContent::ConfirmationByKey(appointments) => {
            let mut wrongs = appointments
                .iter()
                .map(|standing| unwanted_live(state, message, newest(state, *standing), now));
            // What still stands is told, even where part of it does not.
            let first = wrongs.next()?;
            if wrongs.all(|wrong| wrong.is_some()) { first } else { None }
        }
        MessageContent::Change { appointment, .. } | MessageContent::Restoration(appointment) => {
            unwanted_live(state, message, *appointment, now)
        }
        MessageContent::Cancellation(standing) | MessageContent::CancellationByKey(standing) => {
            let Some(row) = state.rows.get(&standing.id) else {
                return Some(SuppressionReason::Cancelled);
            };
            if !row.deleted {
                return Some(SuppressionReason::Restored);
            }
            if state.outbox.is_withdrawn_since(standing.id, message.id) {
                return Some(SuppressionReason::GivenAway);
            }
            unwanted_mail(state, recipient_of(state, row, Channel::Mail), *standing, now)
        }
        MessageContent::Withdrawal(withdrawn) => unwanted_withdrawal(state, withdrawn, now),
        MessageContent::Reminder(_, standing) => unwanted_reminder(state, message, *standing, now),
    }
}

/// Why a claimed message is to be claimed anew, if the claim took so long that it is: the hour is over in which it may
/// leave, it goes elsewhere by now, or it would confirm an appointment as it stands no more.
#[must_use]
pub fn postponed(state: &GroupState, message: &Message, now: Instant) -> Option<Text<255>> {
    let reason = if opening(state.catalogue.zone(), message.channel(), now) > now {
        "text messages leave from 09:00 to 19:00"
    } else if recipient(state, message) != message.recipient {
        "the address has changed"
    } else if let MessageContent::Confirmation(appointments)
    | MessageContent::ConfirmationByKey(appointments) = &message.content
        && still_told(state, message, appointments)
            .any(|standing| newest(state, *standing) != *standing)
    {
        "an appointment has moved"
    } else {
        return None;
    };
    Text::new(reason).ok()
}

/// Of the appointments that a message tells of, those that its client still has.
pub fn still_told<'a>(
    state: &'a GroupState,
    message: &Message,
    appointments: &'a [AppointmentTime],
) -> impl Iterator<Item = &'a AppointmentTime> + use<'a> {
    let id = message.id;
    appointments.iter().filter(move |standing| !state.outbox.is_withdrawn_since(standing.id, id))
}

/// Of an appointment that should stand as it did.
fn unwanted_live(
    state: &GroupState,
    message: &Message,
    standing: AppointmentTime,
    now: Instant,
) -> Option<SuppressionReason> {
    // What is removed for good was cancelled before.
    let Some(row) = state.rows.get(&standing.id) else { return Some(SuppressionReason::Cancelled) };
    let start = row.appointment()?.start;
    if row.deleted {
        Some(SuppressionReason::Cancelled)
    } else if state.outbox.is_withdrawn_since(standing.id, message.id) {
        Some(SuppressionReason::GivenAway)
    } else if start != standing.start {
        Some(SuppressionReason::Moved)
    } else {
        unwanted_mail(state, recipient_of(state, row, Channel::Mail), standing, now)
    }
}

/// Of an appointment that its client has no more: unless it has come back.
fn unwanted_withdrawal(
    state: &GroupState,
    withdrawn: &WithdrawnAppointment,
    now: Instant,
) -> Option<SuppressionReason> {
    let row = state.rows.get(&withdrawn.appointment.id).filter(|row| !row.deleted);
    if row
        .and_then(|row| row.appointment())
        .is_some_and(|appointment| appointment.fiche_id == withdrawn.client)
    {
        return Some(SuppressionReason::Restored);
    }
    unwanted_mail(state, address_of(state, withdrawn.client), withdrawn.appointment, now)
}

fn unwanted_mail(
    state: &GroupState,
    recipient: Option<String>,
    standing: AppointmentTime,
    now: Instant,
) -> Option<SuppressionReason> {
    if !state.catalogue.group.sendmail {
        Some(SuppressionReason::Unwanted)
    } else if recipient.is_none() {
        Some(SuppressionReason::NoRecipient)
    } else {
        (standing.start <= now).then_some(SuppressionReason::Begun)
    }
}

fn unwanted_reminder(
    state: &GroupState,
    message: &Message,
    standing: AppointmentTime,
    now: Instant,
) -> Option<SuppressionReason> {
    let channel = message.channel();
    // What is removed for good was cancelled before.
    let Some(row) = state.rows.get(&standing.id) else { return Some(SuppressionReason::Cancelled) };
    let start = row.appointment()?.start;
    if row.deleted {
        return Some(SuppressionReason::Cancelled);
    }
    if state.outbox.is_withdrawn_since(standing.id, message.id) {
        return Some(SuppressionReason::GivenAway);
    }
    if start != standing.start {
        return Some(SuppressionReason::Moved);
    }
    if recipient_of(state, row, channel).is_none() {
        return Some(SuppressionReason::NoRecipient);
    }
    match planning::wanted_at(state, state.catalogue.zone(), row, channel) {
        None => Some(SuppressionReason::Unwanted),
        Some(due) => (now < due).then_some(SuppressionReason::Moved),
    }
}

/// A client who can be written to, and is no deleted one.
fn client(state: &GroupState, id: FicheId) -> Option<&Fiche> {
    state.fiches.get(&id).filter(|fiche| !fiche.deleted).map(AsRef::as_ref)
}

/// Where mails to a client go.
#[must_use]
pub fn address_of(state: &GroupState, id: FicheId) -> Option<String> {
    client(state, id)?.email.as_ref().map(|email| email.as_str().to_owned())
}

/// Where a message about an appointment goes.
#[must_use]
pub fn recipient_of(state: &GroupState, row: &Vevent, channel: Channel) -> Option<String> {
    let id = row.appointment()?.fiche_id;
    match channel {
        Channel::Mail => address_of(state, id),
        Channel::Sms => {
            let client = client(state, id)?;
            let phones = [client.firstphone.as_str(), client.secondphone.as_str()];
            phone::for_texts(phones, state.catalogue.group.country_code.as_str())
        }
    }
}

/// Where a message goes by the newest state; where that has no answer, where it went before.
fn recipient(state: &GroupState, message: &Message) -> Text<255> {
    let of = |id: VeventId| recipient_of(state, state.rows.get(&id)?, message.channel());
    let newest = match &message.content {
        MessageContent::AccountLink { .. } => None,
        MessageContent::Confirmation(appointments)
        | MessageContent::ConfirmationByKey(appointments) => {
            still_told(state, message, appointments).next().and_then(|it| of(it.id))
        }
        MessageContent::Change { appointment, .. }
        | MessageContent::Cancellation(appointment)
        | MessageContent::CancellationByKey(appointment)
        | MessageContent::Restoration(appointment)
        | MessageContent::Reminder(_, appointment) => of(appointment.id),
        MessageContent::Withdrawal(withdrawn) => address_of(state, withdrawn.client),
    };
    newest.and_then(|to| Text::new(&to).ok()).unwrap_or_else(|| message.recipient.clone())
}
