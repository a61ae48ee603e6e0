//! The messages about an appointment in words, planned or not and why. Reference 15.6.

use crate::domain::messaging::planning::{NoReminder, ReminderPlan, explain_reminder};
use crate::domain::records::channel::Channel;
use crate::domain::records::message::{Message, MessageKind, Progress, SuppressionReason};
use crate::domain::records::vevent::Vevent;
use crate::domain::time::Instant;
use crate::web::format;
use crate::web::practice::texts::messages::MessageTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;

/// Maximum number of messages that are shown, the newest.
const SHOWN_MAX: usize = 100;

/// A message in words.
pub(crate) struct MessageLine {
    pub(crate) kind: &'static str,
    pub(crate) recipient: String,
    pub(crate) progress: String,
}

/// Returns the messages about an appointment, oldest first, and a line for each reminder that has
/// none yet.
pub(crate) fn message_lines(visit: &ProVisit, row: &Vevent) -> Vec<MessageLine> {
    let outbox = &visit.state.outbox;
    let mut lines: Vec<MessageLine> = outbox
        .messages_about(row.id)
        .rev()
        .take(SHOWN_MAX)
        .map(|message| message_line(visit, message))
        .collect();
    lines.reverse();
    for channel in Channel::ALL {
        if outbox.open_reminder(row.id, channel).is_none() {
            lines.extend(reminder_line(visit, row, channel));
        }
    }
    lines
}

fn message_line(visit: &ProVisit, message: &Message) -> MessageLine {
    let text = MessageTexts::in_language(visit.language());
    MessageLine {
        kind: kind_in_words(message.kind(), text),
        recipient: message.recipient.as_str().to_owned(),
        progress: progress_in_words(visit, message, text),
    }
}

fn kind_in_words(kind: MessageKind, text: &MessageTexts) -> &'static str {
    match kind {
        MessageKind::Confirmation => text.confirmation,
        MessageKind::Change => text.change,
        MessageKind::Cancellation => text.cancellation,
        MessageKind::MailReminder => text.mail_reminder,
        MessageKind::SmsReminder => text.sms_reminder,
        MessageKind::AccountConfirmation
        | MessageKind::NewPassword
        | MessageKind::NewEmail
        | MessageKind::MailCode
        | MessageKind::SmsCode
        | MessageKind::PasswordChanged
        | MessageKind::EmailChanged
        | MessageKind::NewDevice
        | MessageKind::LoginLink
        | MessageKind::CodesHalfUsed
        | MessageKind::CodesAsked
        | MessageKind::CodesNoLongerAsked
        | MessageKind::ProPassword
        | MessageKind::Invitation
        | MessageKind::UnknownLogin
        | MessageKind::WebhookOff => text.other,
    }
}

fn progress_in_words(visit: &ProVisit, message: &Message, text: &MessageTexts) -> String {
    let at = |sentence: &str, moment: Instant| fill(sentence, "when", &when(visit, moment));
    match &message.progress {
        Progress::Waiting { attempts: 0, not_before, .. } => {
            at(text.planned, message.created_at.max(*not_before))
        }
        Progress::Waiting { not_before, reason, .. } => {
            fill(&at(text.retried, *not_before), "reason", reason.as_str())
        }
        Progress::Claimed { .. } => text.sending.to_owned(),
        Progress::Sent { at: moment, .. } => at(text.sent, *moment),
        Progress::Kept { .. } => text.kept.to_owned(),
        Progress::Failed { reason, .. } => fill(text.failed, "reason", reason.as_str()),
        Progress::Missed { .. } => text.missed.to_owned(),
        Progress::Suppressed { why, .. } => suppression_in_words(*why, text).to_owned(),
    }
}

const fn suppression_in_words(why: SuppressionReason, text: &MessageTexts) -> &'static str {
    match why {
        SuppressionReason::Cancelled => text.is_cancelled,
        SuppressionReason::Moved => text.is_moved,
        SuppressionReason::Restored => text.is_restored,
        SuppressionReason::Unwanted => text.is_unwanted,
        SuppressionReason::NoRecipient => text.has_no_recipient,
        SuppressionReason::Begun => text.has_begun,
        SuppressionReason::Expired => text.has_expired,
        SuppressionReason::TooMany => text.too_many,
        SuppressionReason::GivenAway => text.given_away,
        SuppressionReason::Unconfirmed => text.unconfirmed,
        SuppressionReason::Unchanged => text.is_unchanged,
        SuppressionReason::Replaced => text.is_replaced,
    }
}

/// Returns the line of a reminder without a message of its own. `None` for one that was settled,
/// whose message is listed, or was removed by its age.
fn reminder_line(visit: &ProVisit, row: &Vevent, channel: Channel) -> Option<MessageLine> {
    let text = MessageTexts::in_language(visit.language());
    let now = visit.request.now;
    let has_message = visit.state.outbox.newest_reminder(row.id, channel).is_some();
    let progress = match explain_reminder(&visit.state, visit.zone(), row, channel, now) {
        ReminderPlan::Due(due) => fill(text.planned, "when", &when(visit, due)),
        ReminderPlan::Sent if has_message => return None,
        ReminderPlan::GivenUp if has_message => return None,
        ReminderPlan::Sent => text.was_sent.to_owned(),
        ReminderPlan::GivenUp => text.given_up.to_owned(),
        ReminderPlan::Unplanned(reason) => no_reminder_in_words(reason, channel, text).to_owned(),
    };
    let kind = kind_in_words(MessageKind::of_reminder(channel), text);
    Some(MessageLine { kind, recipient: String::new(), progress })
}

const fn no_reminder_in_words(
    reason: NoReminder,
    channel: Channel,
    text: &MessageTexts,
) -> &'static str {
    match (reason, channel) {
        (NoReminder::NoAppointment, _) => text.none_cancelled,
        (NoReminder::Withheld, _) => text.none_withheld,
        (NoReminder::ClientDeleted, _) => text.none_deleted,
        (NoReminder::Declined, _) => text.none_declined,
        (NoReminder::NoAddress, Channel::Mail) => text.none_no_mail,
        (NoReminder::NoAddress, Channel::Sms) => text.none_no_phone,
        (NoReminder::SwitchedOff, _) => text.none_off,
        (NoReminder::NotAskedFor, _) => text.none_not_asked,
        (NoReminder::ForeignCountry, _) => text.none_country,
        (NoReminder::DueBefore, _) => text.none_before,
    }
}

/// Returns a moment in words: `3 mars 2026, 09:05`.
fn when(visit: &ProVisit, moment: Instant) -> String {
    let at = visit.zone().civil_of(moment);
    format!("{}, {}", format::date(visit.language(), at.day()), format::time(at))
}
