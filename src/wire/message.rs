//! The ledger of messages: what will go out, what went, and why something did not. Contract 7.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::field::{Audience, Cell, Field, Kind, Scope, Table};
use crate::domain::delivery;
use crate::domain::outbox::{Channel, Content, LinkPurpose, Message, Progress, Why};
use crate::domain::planning;
use crate::domain::root::Root;
use crate::domain::time::{DAY, Instant};

/// Reminders that are due later than this, in seconds, are not listed.
const PLANNED_SECONDS: i64 = 7 * DAY;

/// A line of the ledger: a message, or a reminder that will be one.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its place among all lines of the same list.
    place: u64,
    /// The message, once there is one.
    pub message: Option<Message>,
    kind: &'static str,
    channel: Channel,
    state: &'static str,
    appointment: Option<u64>,
    recipient: String,
    /// When it is to be attempted.
    planned_at: Option<Instant>,
    created_at: Option<Instant>,
    settled_at: Option<Instant>,
    attempts: u32,
    reason: String,
}

/// Every field of a line but what the message says.
pub static MESSAGE: LazyLock<Table<Entry>> = LazyLock::new(|| Table {
    resource: "message",
    fields: vec![
        shown("id", Kind::Reference, |entry, _| {
            Cell::Reference(entry.message.as_ref().map(|message| message.id.number()))
        }),
        shown("group_id", Kind::Reference, |_, scope| Cell::Reference(Some(scope.root.catalogue.group.id.number()))),
        shown("kind", Kind::Choice(kinds), |entry, _| text(entry.kind)),
        shown("channel", Kind::Choice(channels), |entry, _| text(channel(entry.channel))),
        shown("state", Kind::Choice(states), |entry, _| text(entry.state)),
        shown("appointment_id", Kind::Reference, |entry, _| Cell::Reference(entry.appointment)),
        shown("recipient", Kind::Text { max: 255 }, |entry, _| text(&entry.recipient)),
        shown("planned_at", Kind::Moment, |entry, _| Cell::Moment(entry.planned_at)),
        shown("created_at", Kind::Moment, |entry, _| Cell::Moment(entry.created_at)),
        shown("settled_at", Kind::Moment, |entry, _| Cell::Moment(entry.settled_at)),
        shown("attempts", Kind::Integer { min: 0, max: u32::MAX as i64 }, |entry, _| {
            Cell::Integer(entry.attempts.into())
        }),
        shown("reason", Kind::Text { max: 255 }, |entry, _| text(&entry.reason)),
    ],
    required: &[],
    customs: None,
    id: |entry| entry.place,
    order: |_, _, _| std::cmp::Ordering::Equal,
    blank: Entry {
        place: 0,
        message: None,
        kind: KINDS[0],
        channel: Channel::Mail,
        state: STATES[0],
        appointment: None,
        recipient: String::new(),
        planned_at: None,
        created_at: None,
        settled_at: None,
        attempts: 0,
        reason: String::new(),
    },
});

const KINDS: [&str; 8] = [
    "confirmation",
    "change",
    "cancellation",
    "mail_reminder",
    "sms_reminder",
    "account_confirmation",
    "new_password",
    "new_email",
];
const STATES: [&str; 7] = ["planned", "sending", "sent", "kept", "failed", "missed", "suppressed"];

fn kinds() -> Vec<&'static str> {
    KINDS.to_vec()
}

fn states() -> Vec<&'static str> {
    STATES.to_vec()
}

fn channels() -> Vec<&'static str> {
    [Channel::Mail, Channel::Sms].map(channel).to_vec()
}

fn channel(channel: Channel) -> &'static str {
    match channel {
        Channel::Mail => "mail",
        Channel::Sms => "sms",
    }
}

fn shown(name: &'static str, kind: Kind, read: for<'a> fn(&'a Entry, &Scope<'a>) -> Cell<'a>) -> Field<Entry> {
    Field::derived(name, kind, Audience::Pro, read)
}

fn text(text: &str) -> Cell<'_> {
    Cell::Text(Cow::Borrowed(text))
}

/// Every line of a group's ledger: messages in the order they came to be, then the reminders due within a week.
#[must_use]
pub fn entries(root: &Root, now: Instant) -> Vec<Entry> {
    let mut entries: Vec<Entry> = root.outbox.messages().map(|message| of_message(message)).collect();
    let mut planned: Vec<_> = planning::due_before(root, now, now.plus_seconds(PLANNED_SECONDS)).collect();
    planned.sort_unstable();
    for (place, planned) in (root.outbox.last_id() + 1..).zip(planned) {
        let row = root.rows.get(&planned.appointment);
        let recipient = row.and_then(|row| delivery::recipient_of(root, row, planned.channel));
        entries.push(Entry {
            place,
            kind: reminder(planned.channel),
            channel: planned.channel,
            appointment: Some(planned.appointment.number()),
            recipient: recipient.unwrap_or_default(),
            planned_at: Some(planned.due),
            ..MESSAGE.blank.clone()
        });
    }
    entries
}

fn of_message(message: &Message) -> Entry {
    let (kind, appointment) = match &message.content {
        Content::AccountLink { purpose, .. } => (
            match purpose {
                LinkPurpose::Confirm => "account_confirmation",
                LinkPurpose::NewPassword => "new_password",
                LinkPurpose::NewEmail => "new_email",
            },
            None,
        ),
        Content::Confirmation(appointments) => ("confirmation", appointments.first().map(|it| it.id)),
        Content::Change { appointment, .. } => ("change", Some(appointment.id)),
        Content::Cancellation(appointment) => ("cancellation", Some(appointment.id)),
        Content::Reminder(channel, appointment) => (reminder(*channel), Some(appointment.id)),
    };
    let (state, attempts, reason) = match &message.progress {
        Progress::Waiting { attempts, reason, .. } => ("planned", *attempts, reason.as_str().to_owned()),
        Progress::Claimed { attempt, .. } => ("sending", *attempt, String::new()),
        Progress::Sent { attempts, .. } => ("sent", *attempts, String::new()),
        Progress::Kept { .. } => ("kept", 0, "nobody is configured to carry it".to_owned()),
        Progress::Failed { reason, .. } => ("failed", 0, reason.as_str().to_owned()),
        Progress::Missed { .. } => ("missed", 0, "it was too late when it could have been sent".to_owned()),
        Progress::Suppressed { why, .. } => ("suppressed", 0, said(*why).to_owned()),
    };
    let planned_at = match &message.progress {
        Progress::Waiting { not_before, .. } => Some(message.created_at.max(*not_before)),
        Progress::Claimed { at, .. } => Some(*at),
        Progress::Sent { .. }
        | Progress::Kept { .. }
        | Progress::Failed { .. }
        | Progress::Missed { .. }
        | Progress::Suppressed { .. } => None,
    };
    Entry {
        place: message.id.number(),
        kind,
        channel: message.channel(),
        state,
        appointment: appointment.map(|id| id.number()),
        recipient: message.recipient.as_str().to_owned(),
        planned_at,
        created_at: Some(message.created_at),
        settled_at: message.settled_at(),
        attempts,
        reason,
        message: Some(message.clone()),
    }
}

fn reminder(channel: Channel) -> &'static str {
    match channel {
        Channel::Mail => "mail_reminder",
        Channel::Sms => "sms_reminder",
    }
}

/// Why a message was not wanted any more, in words.
fn said(why: Why) -> &'static str {
    match why {
        Why::Cancelled => "the appointment was cancelled",
        Why::Moved => "the appointment, or the time of its reminder, was moved",
        Why::Restored => "the appointment was restored",
        Why::Unwanted => "the client or the group wants no such message",
        Why::NoRecipient => "the client has no address or number, or is deleted",
        Why::Begun => "the appointment had begun",
        Why::Expired => "the link was too old",
        Why::TooMany => "the recipient had as many messages as one may have in a day",
    }
}
