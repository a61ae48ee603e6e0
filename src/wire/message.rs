//! Ledger of messages: sent, waiting and failed messages, and the reminders of the next 7 days.
//! Reference 7.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use strum::IntoEnumIterator as _;

use crate::domain::directory::roles::{ProRole, Sight};
use crate::domain::messaging::planning::{self, PlannedReminder};
use crate::domain::records::channel::Channel;
use crate::domain::records::ids::{MessageId, VeventId};
use crate::domain::records::message::MessageKind;
use crate::domain::records::message::{Message, Progress, SuppressionReason};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{DAY, Instant};
use crate::wire::field::{Audience, ColumnValue, Field, FieldType, Scope, Table};

/// Maximum seconds from now at which a planned reminder is due and listed.
pub const PLANNED_SECONDS: i64 = 7 * DAY;

/// One line of the ledger.
#[derive(Clone, Debug)]
pub struct LedgerEntry {
    /// Unique number in the list. It is the id of a message; planned reminders follow the last id.
    place: u64,
    source: EntrySource,
}

/// Origin of a line's values.
#[derive(Clone, Debug)]
enum EntrySource {
    Message(Arc<Message>),
    /// A reminder that is not due yet and has no message.
    PlannedReminder(PlannedReminder),
    /// Default values of every field.
    Blank,
}

/// Every field of a line except the message's subject and text.
pub static MESSAGE: LazyLock<Table<LedgerEntry>> = LazyLock::new(|| Table {
    resource: "message",
    fields: vec![
        ledger_field("id", FieldType::Reference, |entry, _| {
            ColumnValue::Reference(entry.message().map(|message| message.id.number()))
        }),
        ledger_field("group_id", FieldType::Reference, |_, scope| {
            ColumnValue::Reference(Some(scope.state.catalogue.group.id.number()))
        }),
        ledger_field("kind", FieldType::Choice(kind_names), |entry, _| {
            text_value(entry.kind().name())
        }),
        ledger_field("channel", FieldType::Choice(channel_names), |entry, _| {
            text_value(entry.kind().channel().name())
        }),
        ledger_field("state", FieldType::Choice(state_names), |entry, _| text_value(entry.state())),
        ledger_field("appointment_id", FieldType::Reference, |entry, _| {
            ColumnValue::Reference(entry.appointment())
        }),
        ledger_field("recipient", FieldType::Text { max: 255 }, |entry, scope| {
            ColumnValue::Text(entry.recipient(scope.state))
        }),
        ledger_field("planned_at", FieldType::Moment, |entry, _| {
            ColumnValue::Moment(entry.planned_at())
        }),
        ledger_field("created_at", FieldType::Moment, |entry, _| {
            ColumnValue::Moment(entry.message().map(|message| message.created_at))
        }),
        ledger_field("settled_at", FieldType::Moment, |entry, _| {
            ColumnValue::Moment(entry.message().and_then(Message::settled_at))
        }),
        ledger_field(
            "attempts",
            FieldType::Integer { min: 0, max: u32::MAX as i64 },
            |entry, _| match entry.attempts() {
                Some(attempts) => ColumnValue::Integer(attempts.into()),
                None => ColumnValue::Null,
            },
        ),
        ledger_field("reason", FieldType::Text { max: 255 }, |entry, _| text_value(entry.reason())),
    ],
    required: &[],
    customs: None,
    id: |entry| entry.place,
    order: |a, b, _| a.place.cmp(&b.place),
    blank: LedgerEntry { place: 0, source: EntrySource::Blank },
});

const STATES: [&str; 7] = ["planned", "sending", "sent", "kept", "failed", "missed", "suppressed"];

fn kind_names() -> Vec<&'static str> {
    MessageKind::iter().map(MessageKind::name).collect()
}

fn state_names() -> Vec<&'static str> {
    STATES.to_vec()
}

fn channel_names() -> Vec<&'static str> {
    Channel::ALL.map(Channel::name).to_vec()
}

fn ledger_field(
    name: &'static str,
    field_type: FieldType,
    read: for<'a> fn(&'a LedgerEntry, &Scope<'a>) -> ColumnValue<'a>,
) -> Field<LedgerEntry> {
    Field::derived(name, field_type, Audience::Pro, read)
}

fn text_value(text: &str) -> ColumnValue<'_> {
    ColumnValue::Text(Cow::Borrowed(text))
}

/// Ledger of a group: its messages by id, then the planned reminders by due time.
pub struct Ledger {
    /// The group's state, which holds the messages.
    state: Arc<GroupState>,
    /// Reminders due within [`PLANNED_SECONDS`], ascending by due time.
    planned: Vec<PlannedReminder>,
}

impl Ledger {
    /// Returns the ledger of a state at a moment.
    pub fn new(state: Arc<GroupState>, now: Instant) -> Self {
        let until = now.plus_seconds(PLANNED_SECONDS);
        let mut planned: Vec<PlannedReminder> =
            planning::reminders_due_before(&state, now, until).collect();
        planned.sort_unstable();
        Self { state, planned }
    }

    /// Returns the state of the ledger.
    pub fn group_state(&self) -> &Arc<GroupState> {
        &self.state
    }

    /// Returns all lines, ascending by place.
    pub fn entries(&self) -> Vec<LedgerEntry> {
        let messages = self.state.outbox.messages().map(LedgerEntry::from_message);
        let planned = (self.first_planned_place()..).zip(&self.planned);
        let planned = planned.map(|(place, reminder)| LedgerEntry {
            place,
            source: EntrySource::PlannedReminder(*reminder),
        });
        messages.chain(planned).collect()
    }

    /// Returns the line at a place.
    pub fn entry(&self, place: u64) -> Option<LedgerEntry> {
        let Some(index) = place.checked_sub(self.first_planned_place()) else {
            let message = self.state.outbox.message(MessageId::new(place)?)?;
            return Some(LedgerEntry::from_message(message));
        };
        let planned = self.planned.get(usize::try_from(index).ok()?)?;
        Some(LedgerEntry { place, source: EntrySource::PlannedReminder(*planned) })
    }

    fn first_planned_place(&self) -> u64 {
        self.state.outbox.last_id() + 1
    }
}

impl LedgerEntry {
    /// Returns the line of a message.
    pub fn from_message(message: &Arc<Message>) -> Self {
        Self { place: message.id.number(), source: EntrySource::Message(Arc::clone(message)) }
    }

    /// Returns the message; `None` for a planned reminder.
    pub fn message(&self) -> Option<&Message> {
        match &self.source {
            EntrySource::Message(message) => Some(message),
            EntrySource::PlannedReminder(_) | EntrySource::Blank => None,
        }
    }

    fn kind(&self) -> MessageKind {
        match &self.source {
            EntrySource::Message(message) => message.kind(),
            EntrySource::PlannedReminder(planned) => MessageKind::of_reminder(planned.channel),
            EntrySource::Blank => MessageKind::Confirmation,
        }
    }

    fn state(&self) -> &'static str {
        let Some(message) = self.message() else { return "planned" };
        match &message.progress {
            Progress::Waiting { .. } => "planned",
            Progress::Claimed { .. } => "sending",
            Progress::Sent { .. } => "sent",
            Progress::Kept { .. } => "kept",
            Progress::Failed { .. } => "failed",
            Progress::Missed { .. } => "missed",
            Progress::Suppressed { .. } => "suppressed",
        }
    }

    fn appointment(&self) -> Option<u64> {
        match &self.source {
            EntrySource::Message(message) => Some(message.appointment()?.number()),
            EntrySource::PlannedReminder(planned) => Some(planned.appointment.number()),
            EntrySource::Blank => None,
        }
    }

    /// Whether a role reads it: all, or what is about an appointment on a calendar that it reads.
    /// Links of professionals are for administrators. A mail to an address without a login is shown
    /// to none.
    pub(crate) fn is_shown(&self, role: &ProRole, state: &GroupState) -> bool {
        // Its address has nothing to do with the group.
        if self.kind() == MessageKind::UnknownLogin {
            return false;
        }
        let is_of_team = matches!(
            self.kind(),
            MessageKind::LoginLink | MessageKind::ProPassword | MessageKind::Invitation
        );
        if is_of_team && *role != ProRole::Administrator {
            return false;
        }
        let sight = role.sight();
        if sight == Sight::All {
            return true;
        }
        let row = self.appointment().and_then(VeventId::new).and_then(|id| state.rows.get(&id));
        row.is_some_and(|row| sight.shows_vevent(row))
    }

    fn recipient<'a>(&'a self, state: &'a GroupState) -> Cow<'a, str> {
        match &self.source {
            EntrySource::Message(message) => message.recipient.as_str().into(),
            EntrySource::PlannedReminder(planned) => {
                let Some(row) = state.rows.get(&planned.appointment) else { return "".into() };
                crate::domain::messaging::recipient::appointment_recipient(
                    state,
                    row,
                    planned.channel,
                )
                .unwrap_or_default()
                .into()
            }
            EntrySource::Blank => "".into(),
        }
    }

    /// Returns the time of the next attempt, or the start of the attempt in progress.
    fn planned_at(&self) -> Option<Instant> {
        match &self.source {
            EntrySource::Message(message) => match &message.progress {
                Progress::Waiting { not_before, .. } => Some(message.created_at.max(*not_before)),
                Progress::Claimed { at, .. } => Some(*at),
                Progress::Sent { .. }
                | Progress::Kept { .. }
                | Progress::Failed { .. }
                | Progress::Missed { .. }
                | Progress::Suppressed { .. } => None,
            },
            EntrySource::PlannedReminder(planned) => Some(planned.due),
            EntrySource::Blank => None,
        }
    }

    /// Returns the number of attempts. Failed and suppressed messages do not store it.
    fn attempts(&self) -> Option<u32> {
        match &self.source {
            EntrySource::Message(message) => match &message.progress {
                Progress::Waiting { attempts, .. } | Progress::Sent { attempts, .. } => {
                    Some(*attempts)
                }
                Progress::Claimed { attempt, .. } => Some(*attempt),
                Progress::Kept { .. } | Progress::Missed { .. } => Some(0),
                Progress::Failed { .. } | Progress::Suppressed { .. } => None,
            },
            EntrySource::PlannedReminder(_) => Some(0),
            EntrySource::Blank => None,
        }
    }

    fn reason(&self) -> &str {
        match self.message().map(|message| &message.progress) {
            Some(Progress::Waiting { reason, .. } | Progress::Failed { reason, .. }) => {
                reason.as_str()
            }
            Some(Progress::Kept { .. }) => "the server is not configured to send on this channel",
            Some(Progress::Missed { .. }) => "it could not be sent in time",
            Some(Progress::Suppressed { why, .. }) => describe_suppression(*why),
            Some(Progress::Claimed { .. } | Progress::Sent { .. }) | None => "",
        }
    }
}

/// Describes the reason for which a message was not sent any more.
fn describe_suppression(why: SuppressionReason) -> &'static str {
    match why {
        SuppressionReason::Cancelled => "the appointment was cancelled",
        SuppressionReason::Moved => "the appointment, or the time of its reminder, was moved",
        SuppressionReason::Restored => "the appointment was restored",
        SuppressionReason::Unwanted => "the client or the group has switched such messages off",
        SuppressionReason::NoRecipient => "the client has no address or number, or is deleted",
        SuppressionReason::Begun => "the appointment had already begun",
        SuppressionReason::Expired => "the link had expired",
        SuppressionReason::TooMany => {
            "the recipient's limit of messages within 24 hours was reached"
        }
        SuppressionReason::GivenAway => "the appointment was given to another client",
        SuppressionReason::Unconfirmed => "the appointment was never confirmed by mail",
        SuppressionReason::Unchanged => "the appointment is as the client knows it",
        SuppressionReason::Replaced => "a later change is announced in its place",
    }
}
