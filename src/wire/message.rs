//! The ledger of messages: what will go out, what went, and why something did not. Reference 7.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use crate::domain::messaging::channel::Channel;
use crate::domain::messaging::message::{Message, MessageKind, Progress, SuppressionReason};
use crate::domain::messaging::planning::{self, PlannedReminder};
use crate::domain::messaging::recipient;
use crate::domain::records::ids::MessageId;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{DAY, Instant};
use crate::wire::field::{Audience, ColumnValue, Field, Kind, Scope, Table};

/// Reminders that are due later than this, in seconds, are not listed.
pub const PLANNED_SECONDS: i64 = 7 * DAY;

/// A line of the ledger. What its fields say is read from the message, or from the state that the ledger is of.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its place among all lines of the same list: its number where it is a message.
    place: u64,
    what: What,
}

/// What stands in a line.
#[derive(Clone, Debug)]
enum What {
    Message(Arc<Message>),
    /// A reminder that will be a message.
    Planned(PlannedReminder),
    /// Nothing: every field as it is where it says nothing.
    Blank,
}

/// Every field of a line but what the message says.
pub static MESSAGE: LazyLock<Table<Entry>> = LazyLock::new(|| Table {
    resource: "message",
    fields: vec![
        shown("id", Kind::Reference, |entry, _| {
            ColumnValue::Reference(entry.message().map(|message| message.id.number()))
        }),
        shown("group_id", Kind::Reference, |_, scope| {
            ColumnValue::Reference(Some(scope.state.catalogue.group.id.number()))
        }),
        shown("kind", Kind::Choice(kinds), |entry, _| text(entry.kind().name())),
        shown("channel", Kind::Choice(channels), |entry, _| text(entry.kind().channel().name())),
        shown("state", Kind::Choice(states), |entry, _| text(entry.state())),
        shown("appointment_id", Kind::Reference, |entry, _| {
            ColumnValue::Reference(entry.appointment())
        }),
        shown("recipient", Kind::Text { max: 255 }, |entry, scope| {
            ColumnValue::Text(entry.recipient(scope.state))
        }),
        shown("planned_at", Kind::Moment, |entry, _| ColumnValue::Moment(entry.planned_at())),
        shown("created_at", Kind::Moment, |entry, _| {
            ColumnValue::Moment(entry.message().map(|message| message.created_at))
        }),
        shown("settled_at", Kind::Moment, |entry, _| {
            ColumnValue::Moment(entry.message().and_then(Message::settled_at))
        }),
        shown("attempts", Kind::Integer { min: 0, max: u32::MAX as i64 }, |entry, _| {
            entry
                .attempts()
                .map_or(ColumnValue::Null, |attempts| ColumnValue::Integer(attempts.into()))
        }),
        shown("reason", Kind::Text { max: 255 }, |entry, _| text(entry.reason())),
    ],
    required: &[],
    customs: None,
    id: |entry| entry.place,
    order: |a, b, _| a.place.cmp(&b.place),
    blank: Entry { place: 0, what: What::Blank },
});

const STATES: [&str; 7] = ["planned", "sending", "sent", "kept", "failed", "missed", "suppressed"];

fn kinds() -> Vec<&'static str> {
    MessageKind::ALL.map(MessageKind::name).to_vec()
}

fn states() -> Vec<&'static str> {
    STATES.to_vec()
}

fn channels() -> Vec<&'static str> {
    Channel::ALL.map(Channel::name).to_vec()
}

fn shown(
    name: &'static str,
    kind: Kind,
    read: for<'a> fn(&'a Entry, &Scope<'a>) -> ColumnValue<'a>,
) -> Field<Entry> {
    Field::derived(name, kind, Audience::Pro, read)
}

fn text(text: &str) -> ColumnValue<'_> {
    ColumnValue::Text(Cow::Borrowed(text))
}

/// A group's ledger: messages in the order they came to be, then the reminders due within a week.
pub struct Ledger {
    /// The group's state.
    state: Arc<GroupState>,
    /// What will be messages, in the order they are due.
    planned: Vec<PlannedReminder>,
}

impl Ledger {
    /// The ledger of a state at a moment.
    #[must_use]
    pub fn of(state: Arc<GroupState>, now: Instant) -> Self {
        let mut planned: Vec<_> =
            planning::reminders_due_before(&state, now, now.plus_seconds(PLANNED_SECONDS))
                .collect();
        planned.sort_unstable();
        Self { state, planned }
    }

    /// The state that it is of.
    #[must_use]
    pub fn group_state(&self) -> &Arc<GroupState> {
        &self.state
    }

    /// Every line, by its place.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let messages = self.state.outbox.messages();
        let mut entries = Vec::with_capacity(messages.len() + self.planned.len());
        entries.extend(messages.map(Entry::of));
        let planned = (self.state.outbox.last_id() + 1..).zip(&self.planned);
        entries
            .extend(planned.map(|(place, planned)| Entry { place, what: What::Planned(*planned) }));
        entries
    }

    /// The line at a place.
    #[must_use]
    pub fn entry(&self, place: u64) -> Option<Entry> {
        let Some(planned) = place.checked_sub(self.state.outbox.last_id() + 1) else {
            return self.state.outbox.message(MessageId::new(place)?).map(Entry::of);
        };
        let planned = self.planned.get(usize::try_from(planned).ok()?)?;
        Some(Entry { place, what: What::Planned(*planned) })
    }
}

impl Entry {
    /// The line of a message.
    #[must_use]
    pub fn of(message: &Arc<Message>) -> Self {
        Self { place: message.id.number(), what: What::Message(Arc::clone(message)) }
    }

    /// The message, once there is one.
    #[must_use]
    pub fn message(&self) -> Option<&Message> {
        match &self.what {
            What::Message(message) => Some(message),
            What::Planned(_) | What::Blank => None,
        }
    }

    fn kind(&self) -> MessageKind {
        match &self.what {
            What::Message(message) => message.kind(),
            What::Planned(planned) => MessageKind::of_reminder(planned.channel),
            What::Blank => MessageKind::Confirmation,
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
        match &self.what {
            What::Message(message) => message.appointment().map(|id| id.number()),
            What::Planned(planned) => Some(planned.appointment.number()),
            What::Blank => None,
        }
    }

    fn recipient<'a>(&'a self, state: &'a GroupState) -> Cow<'a, str> {
        match &self.what {
            What::Message(message) => message.recipient.as_str().into(),
            What::Planned(planned) => {
                let row = state.rows.get(&planned.appointment);
                row.and_then(|row| recipient::appointment_recipient(state, row, planned.channel))
                    .unwrap_or_default()
                    .into()
            }
            What::Blank => "".into(),
        }
    }

    /// When it is to be attempted, or was last begun.
    fn planned_at(&self) -> Option<Instant> {
        match &self.what {
            What::Message(message) => match &message.progress {
                Progress::Waiting { not_before, .. } => Some(message.created_at.max(*not_before)),
                Progress::Claimed { at, .. } => Some(*at),
                Progress::Sent { .. }
                | Progress::Kept { .. }
                | Progress::Failed { .. }
                | Progress::Missed { .. }
                | Progress::Suppressed { .. } => None,
            },
            What::Planned(planned) => Some(planned.due),
            What::Blank => None,
        }
    }

    /// How many there were; `None` of what failed or ceased to be wanted, of which that is not remembered.
    fn attempts(&self) -> Option<u32> {
        match &self.what {
            What::Message(message) => match &message.progress {
                Progress::Waiting { attempts, .. } | Progress::Sent { attempts, .. } => {
                    Some(*attempts)
                }
                Progress::Claimed { attempt, .. } => Some(*attempt),
                Progress::Kept { .. } | Progress::Missed { .. } => Some(0),
                Progress::Failed { .. } | Progress::Suppressed { .. } => None,
            },
            What::Planned(_) => Some(0),
            What::Blank => None,
        }
    }

    fn reason(&self) -> &str {
        match self.message().map(|message| &message.progress) {
            Some(Progress::Waiting { reason, .. } | Progress::Failed { reason, .. }) => {
                reason.as_str()
            }
            Some(Progress::Kept { .. }) => "nobody is configured to carry it",
            Some(Progress::Missed { .. }) => "it was too late when it could have been sent",
            Some(Progress::Suppressed { why, .. }) => said(*why),
            Some(Progress::Claimed { .. } | Progress::Sent { .. }) | None => "",
        }
    }
}

/// Why a message was not wanted any more, in words.
fn said(why: SuppressionReason) -> &'static str {
    match why {
        SuppressionReason::Cancelled => "the appointment was cancelled",
        SuppressionReason::Moved => "the appointment, or the time of its reminder, was moved",
        SuppressionReason::Restored => "the appointment was restored",
        SuppressionReason::Unwanted => "the client or the group wants no such message",
        SuppressionReason::NoRecipient => "the client has no address or number, or is deleted",
        SuppressionReason::Begun => "the appointment had begun",
        SuppressionReason::Expired => "the link was too old",
        SuppressionReason::TooMany => {
            "as many messages as the server allows had gone to the recipient within 24 hours"
        }
        SuppressionReason::GivenAway => "the appointment was given to another client",
    }
}
