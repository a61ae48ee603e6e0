//! Messages to clients, as state: what is to be sent, what is under way, what came of it. Reference 7.
//!
//! A message is part of the event that causes it, so that a crash leaves neither without the other. Whoever decides such
//! an event makes the messages with [`Outbox::draft`] and either wraps the event, `event.announced_by(messages)`, or
//! carries them in a variant of its own whose `apply` calls [`GroupState::enqueue`](crate::domain::state::group_state::GroupState::enqueue) for each:
//!
//! ```text
//! decide:  let message = state.outbox.draft(0, at, MessageContent::AccountLink { purpose, token, expires }, email.as_str());
//!          Ok(Event::AccountLinkAsked { at, …, message: Some(Box::new(message)) })
//! apply:   next.stamp(*at); … next.enqueue(message);
//! ```
//!
//! Nothing else has to be done: who sends finds what waits in the newest published state, now and after a restart. A
//! reminder is no message before it is first claimed, since its time follows from the appointment. What is to be said is
//! made from the newest state at each attempt; here stands only what it is about.
//!
//! The outbox is part of the state and of its hash. An export leaves it out: what waits belongs to the server that waits,
//! and the secrets of links belong nowhere else.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use self::recipient_quota::Share;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, MessageId, VeventId};
use crate::domain::records::text::{Text, folded};
use crate::domain::records::vevent::{AppointmentKey, ReminderOutcome};
use crate::domain::time::{DAY, INSTANT_MIN, Instant};

/// How long it is remembered what became of a message, in seconds.
const REMEMBERED_SECONDS: i64 = 90 * DAY;
/// Forgotten messages of one event at most, so that no event pays for a long rest.
const FORGOTTEN_MAX: usize = 16;
const FIRST: MessageId = MessageId::new(1).expect("1 is an id");

/// A message to one client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its number in the group, growing.
    pub id: MessageId,
    /// The group's stamp of the event that caused it; of a reminder, of its first attempt.
    pub created_at: Instant,
    /// What it is about.
    pub content: MessageContent,
    /// The address or phone number it goes to: of the last attempt, or as it was when it was caused.
    pub recipient: Text<255>,
    /// When it was first attempted.
    pub first_claimed_at: Option<Instant>,
    /// How far it has come.
    pub progress: Progress,
}

/// What a message is about. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum MessageContent {
    /// A link by which the owner of an address proves to be it. Goes whatever the group's settings are. Reference 3.
    AccountLink {
        /// What following it does.
        purpose: LinkPurpose,
        /// What stands behind `/m/`: letters, digits, `-` and `_`.
        token: Text<128>,
        /// From then on it does nothing and is not sent any more.
        expires: Instant,
    },
    /// A booking was made: its appointments, in order.
    Confirmation(Vec<AppointmentTime>),
    /// An appointment stands differently.
    Change {
        /// As it stands now.
        appointment: AppointmentTime,
        /// When it began before.
        was: Instant,
    },
    /// An appointment is cancelled.
    Cancellation(AppointmentTime),
    /// An appointment comes near.
    Reminder(Channel, AppointmentTime),
    /// An appointment was taken from its client and given to another: told to the one who had it.
    Withdrawal(Box<WithdrawnAppointment>),
    /// A [`Confirmation`](Self::Confirmation) of what was booked by an application's key alone, in whoever's name.
    ConfirmationByKey(Vec<AppointmentTime>),
    /// A [`Cancellation`](Self::Cancellation) of what was cancelled by an application's key alone, with the appointment's
    /// secret.
    CancellationByKey(AppointmentTime),
    /// An appointment that was cancelled is not cancelled any more.
    Restoration(AppointmentTime),
}

/// An appointment as the client knew it who has it no more. Nothing of it can be read from the appointment itself, which
/// is another client's by now, under another secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithdrawnAppointment {
    /// Which, and when it began.
    pub appointment: AppointmentTime,
    /// How long it took, in seconds.
    pub length_seconds: u32,
    /// Who had it.
    pub client: FicheId,
    /// With whom.
    pub calendar: CalendarId,
    /// For what.
    pub intervention: InterventionId,
    /// The secret it had, which opens nothing any more: the client's calendar knows the event by it.
    pub key: AppointmentKey,
}

/// An appointment, and when it began as the message was caused: where it begins at another time, another message tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppointmentTime {
    /// Which.
    pub id: VeventId,
    /// When it began.
    pub start: Instant,
}

/// What following a link does. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkPurpose {
    /// Confirms a new account, with a password.
    Confirm,
    /// Gives an account another password.
    NewPassword,
    /// Gives an account another address.
    NewEmail,
}

/// By what a message goes. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the two there are")]
pub enum Channel {
    Mail,
    Sms,
}

/// How far a message has come. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Progress {
    /// To be attempted, for the first time or again.
    Waiting {
        /// Attempts so far.
        attempts: u32,
        /// Not before then.
        not_before: Instant,
        /// What the last attempt came to; empty before the first.
        reason: Text<255>,
    },
    /// Being attempted, or was when the server ended: then it may have arrived.
    Claimed {
        /// Which attempt, from 1.
        attempt: u32,
        /// Since when.
        at: Instant,
    },
    /// The other side has taken it.
    Sent {
        /// When.
        at: Instant,
        /// In how many attempts.
        attempts: u32,
    },
    /// There is nobody configured to send it: it is to be read here.
    Kept {
        /// Since when.
        at: Instant,
    },
    /// The other side does not take it, or did not until it was too late.
    Failed {
        /// When it was given up.
        at: Instant,
        /// What the other side said.
        reason: Text<255>,
    },
    /// Its time passed before anybody could attempt it.
    Missed {
        /// When that was found.
        at: Instant,
    },
    /// It is not wanted any more.
    Suppressed {
        /// When that was found.
        at: Instant,
        /// What has changed.
        why: SuppressionReason,
    },
}

/// Why a message is not wanted any more. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SuppressionReason {
    /// The appointment is cancelled.
    Cancelled,
    /// The appointment begins at another time, of which another message tells.
    Moved,
    /// The appointment is not cancelled any more.
    Restored,
    /// The client or the group wants no such message.
    Unwanted,
    /// There is no address or number to send it to, or the client is deleted.
    NoRecipient,
    /// The appointment has begun.
    Begun,
    /// The link is too old to do anything.
    Expired,
    /// As many messages as one recipient may have in a day have gone there.
    TooMany,
    /// The appointment is another client's.
    GivenAway,
}

/// What a message is, as lists and figures name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is named by what it tells")]
pub enum MessageKind {
    Confirmation,
    Change,
    Cancellation,
    MailReminder,
    SmsReminder,
    AccountConfirmation,
    NewPassword,
    NewEmail,
}

impl MessageKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Confirmation,
        Self::Change,
        Self::Cancellation,
        Self::MailReminder,
        Self::SmsReminder,
        Self::AccountConfirmation,
        Self::NewPassword,
        Self::NewEmail,
    ];

    /// That of a reminder.
    #[must_use]
    pub const fn of_reminder(channel: Channel) -> Self {
        match channel {
            Channel::Mail => Self::MailReminder,
            Channel::Sms => Self::SmsReminder,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confirmation => "confirmation",
            Self::Change => "change",
            Self::Cancellation => "cancellation",
            Self::MailReminder => "mail_reminder",
            Self::SmsReminder => "sms_reminder",
            Self::AccountConfirmation => "account_confirmation",
            Self::NewPassword => "new_password",
            Self::NewEmail => "new_email",
        }
    }

    /// By what it goes.
    #[must_use]
    pub const fn channel(self) -> Channel {
        match self {
            Self::SmsReminder => Channel::Sms,
            Self::Confirmation
            | Self::Change
            | Self::Cancellation
            | Self::MailReminder
            | Self::AccountConfirmation
            | Self::NewPassword
            | Self::NewEmail => Channel::Mail,
        }
    }
}

impl Channel {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Mail, Self::Sms];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Sms => "sms",
        }
    }
}

/// The messages of a group.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    /// Those that are remembered, by id.
    messages: OrdMap<MessageId, Arc<Message>>,
    /// Highest id that ever was; 0 where none was.
    last_id: u64,
    /// Those that wait or are being attempted.
    open: OrdSet<MessageId>,
    /// The open message of each appointment's reminder.
    reminders: OrdMap<(VeventId, Channel), MessageId>,
    /// First attempts by their recipient, in small letters, since an address has many spellings and one mailbox; and as
    /// whose they count.
    attempts: OrdSet<(Box<str>, Instant, MessageId, Share)>,
    /// Messages by the appointments that they are about.
    about: OrdSet<(VeventId, MessageId)>,
    /// The last message by which each appointment was taken from a client.
    withdrawals: OrdMap<VeventId, MessageId>,
}

impl Message {
    /// Whether it is still to be sent.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.settled_at().is_none()
    }

    /// When nothing more was to be done about it.
    #[must_use]
    pub const fn settled_at(&self) -> Option<Instant> {
        match &self.progress {
            Progress::Waiting { .. } | Progress::Claimed { .. } => None,
            Progress::Sent { at, .. }
            | Progress::Kept { at }
            | Progress::Failed { at, .. }
            | Progress::Missed { at }
            | Progress::Suppressed { at, .. } => Some(*at),
        }
    }

    /// When it was last attempted or came to its end; before the first attempt, when it was caused.
    #[must_use]
    pub const fn told_at(&self) -> Instant {
        match &self.progress {
            Progress::Waiting { .. } => self.created_at,
            Progress::Claimed { at, .. }
            | Progress::Sent { at, .. }
            | Progress::Kept { at }
            | Progress::Failed { at, .. }
            | Progress::Missed { at }
            | Progress::Suppressed { at, .. } => *at,
        }
    }

    /// What its appointment is to remember of it: nothing while it is open, or where what has changed suppresses it.
    #[must_use]
    pub fn settled_reminder(&self) -> Option<ReminderOutcome> {
        let (_, AppointmentTime { start, .. }) = self.reminder()?;
        match &self.progress {
            Progress::Sent { .. } | Progress::Kept { .. } => Some(ReminderOutcome::Sent(start)),
            Progress::Failed { .. } | Progress::Missed { .. } => {
                Some(ReminderOutcome::GivenUp(start))
            }
            Progress::Suppressed {
                why: SuppressionReason::TooMany | SuppressionReason::Begun,
                ..
            } => Some(ReminderOutcome::GivenUp(start)),
            Progress::Waiting { .. } | Progress::Claimed { .. } | Progress::Suppressed { .. } => {
                None
            }
        }
    }

    /// What it is. Who has an appointment no more is told of a cancellation.
    #[must_use]
    pub const fn kind(&self) -> MessageKind {
        match &self.content {
            MessageContent::AccountLink { purpose: LinkPurpose::Confirm, .. } => {
                MessageKind::AccountConfirmation
            }
            MessageContent::AccountLink { purpose: LinkPurpose::NewPassword, .. } => {
                MessageKind::NewPassword
            }
            MessageContent::AccountLink { purpose: LinkPurpose::NewEmail, .. } => {
                MessageKind::NewEmail
            }
            MessageContent::Confirmation(_) | MessageContent::ConfirmationByKey(_) => {
                MessageKind::Confirmation
            }
            MessageContent::Change { .. } | MessageContent::Restoration(_) => MessageKind::Change,
            MessageContent::Cancellation(_)
            | MessageContent::CancellationByKey(_)
            | MessageContent::Withdrawal(_) => MessageKind::Cancellation,
            MessageContent::Reminder(channel, _) => MessageKind::of_reminder(*channel),
        }
    }

    /// By what it goes.
    #[must_use]
    pub const fn channel(&self) -> Channel {
        self.kind().channel()
    }

    /// The appointment it is about; the first of several.
    #[must_use]
    pub fn appointment(&self) -> Option<VeventId> {
        match &self.content {
            MessageContent::AccountLink { .. } => None,
            MessageContent::Confirmation(appointments)
            | MessageContent::ConfirmationByKey(appointments) => {
                appointments.first().map(|standing| standing.id)
            }
            MessageContent::Change { appointment, .. }
            | MessageContent::Cancellation(appointment)
            | MessageContent::CancellationByKey(appointment)
            | MessageContent::Restoration(appointment)
            | MessageContent::Reminder(_, appointment) => Some(appointment.id),
            MessageContent::Withdrawal(withdrawn) => Some(withdrawn.appointment.id),
        }
    }

    /// The reminder it is, if it is one.
    #[must_use]
    pub const fn reminder(&self) -> Option<(Channel, AppointmentTime)> {
        match &self.content {
            MessageContent::Reminder(channel, appointment) => Some((*channel, *appointment)),
            MessageContent::AccountLink { .. }
            | MessageContent::Confirmation(_)
            | MessageContent::Change { .. }
            | MessageContent::Cancellation(_)
            | MessageContent::Withdrawal(_)
            | MessageContent::ConfirmationByKey(_)
            | MessageContent::CancellationByKey(_)
            | MessageContent::Restoration(_) => None,
        }
    }
}

impl Outbox {
    /// An outbox put together from its messages.
    #[must_use]
    pub fn assembled(messages: Vec<Arc<Message>>, last_id: u64) -> Self {
        let mut outbox = Self { last_id, ..Self::default() };
        for message in messages {
            outbox.index(&message);
            outbox.last_id = outbox.last_id.max(message.id.number());
            outbox.messages.insert(message.id, message);
        }
        outbox
    }

    /// A new message, to be attempted at once: the first (`place` 0) or a later one of the same event, stamped `at`. It is
    /// in the outbox once the event that carries it has been applied.
    ///
    /// # Panics
    /// Where the recipient is longer than 255 characters or holds control characters; no address or number does.
    #[must_use]
    pub fn draft(
        &self,
        place: u64,
        at: Instant,
        content: MessageContent,
        recipient: &str,
    ) -> Message {
        Message {
            id: MessageId::new(self.last_id + 1 + place).expect("a group never has 2^53 messages"),
            created_at: at,
            content,
            recipient: Text::new(recipient).expect("an address is a short text"),
            first_claimed_at: None,
            // At once, even where the group's stamps are ahead of the clock.
            progress: Progress::Waiting {
                attempts: 0,
                not_before: INSTANT_MIN,
                reason: Text::default(),
            },
        }
    }

    /// A message that is remembered.
    #[must_use]
    pub fn message(&self, id: MessageId) -> Option<&Arc<Message>> {
        self.messages.get(&id)
    }

    /// All that are remembered, ascending by id.
    #[must_use]
    pub fn messages(&self) -> impl ExactSizeIterator<Item = &Arc<Message>> {
        self.messages.values()
    }

    /// Those that wait or are being attempted, ascending by id.
    pub fn open(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.open.iter().filter_map(|id| self.messages.get(id))
    }

    /// The open message of an appointment's reminder.
    #[must_use]
    pub fn open_reminder(&self, appointment: VeventId, channel: Channel) -> Option<&Arc<Message>> {
        self.messages.get(self.reminders.get(&(appointment, channel))?)
    }

    /// Those that are new since an earlier state of it, or stand differently.
    pub fn changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a Arc<Message>> {
        use imbl::ordmap::DiffItem;
        before.messages.diff(&self.messages).filter_map(|change| match change {
            DiffItem::Add(_, message) | DiffItem::Update { new: (_, message), .. } => Some(message),
            DiffItem::Remove(..) => None,
        })
    }

    /// Whether an appointment was taken from its client after a message was caused: then that message was for the one who
    /// has it no more.
    #[must_use]
    pub fn is_withdrawn_since(&self, appointment: VeventId, message: MessageId) -> bool {
        self.withdrawals.get(&appointment).is_some_and(|last| *last > message)
    }

    /// Highest id that ever was; 0 where none was.
    #[must_use]
    pub const fn last_id(&self) -> u64 {
        self.last_id
    }

    /// Puts a message in place of what stood under its id, and forgets what was settled 90 days before `now`.
    ///
    /// # Panics
    /// Where a new message's id is not the next.
    pub(crate) fn put(&mut self, message: Arc<Message>, now: Instant) {
        match self.messages.get(&message.id).cloned() {
            Some(old) => self.unindex(&old),
            None => {
                assert_eq!(
                    message.id.number(),
                    self.last_id + 1,
                    "messages are numbered as they come"
                );
                self.last_id += 1;
            }
        }
        self.index(&message);
        self.messages.insert(message.id, message);
        for _ in 0..FORGOTTEN_MAX {
            let Some((_, oldest)) = self.messages.get_min() else { return };
            let settled =
                oldest.settled_at().is_some_and(|at| at.plus_seconds(REMEMBERED_SECONDS) <= now);
            if !settled {
                return;
            }
            let oldest = Arc::clone(oldest);
            self.unindex(&oldest);
            self.messages.remove(&oldest.id);
        }
    }

    fn index(&mut self, message: &Message) {
        for standing in last_notified::standings(message) {
            self.about.insert((standing.id, message.id));
        }
        if message.is_open() {
            self.open.insert(message.id);
            if let Some((channel, appointment)) = message.reminder() {
                self.reminders.insert((appointment.id, channel), message.id);
            }
        }
        if let Some(at) = message.first_claimed_at {
            self.attempts.insert((
                folded(message.recipient.as_str()),
                at,
                message.id,
                message.share(),
            ));
        }
        if let MessageContent::Withdrawal(withdrawn) = &message.content {
            let last = self.withdrawals.entry(withdrawn.appointment.id).or_insert(message.id);
            *last = message.id.max(*last);
        }
    }

    fn unindex(&mut self, message: &Message) {
        for standing in last_notified::standings(message) {
            self.about.remove(&(standing.id, message.id));
        }
        self.open.remove(&message.id);
        if let Some((channel, appointment)) = message.reminder()
            && self.reminders.get(&(appointment.id, channel)) == Some(&message.id)
        {
            self.reminders.remove(&(appointment.id, channel));
        }
        if let Some(at) = message.first_claimed_at {
            self.attempts.remove(&(
                folded(message.recipient.as_str()),
                at,
                message.id,
                message.share(),
            ));
        }
        if let MessageContent::Withdrawal(withdrawn) = &message.content
            && self.withdrawals.get(&withdrawn.appointment.id) == Some(&message.id)
        {
            self.withdrawals.remove(&withdrawn.appointment.id);
        }
    }
}

mod last_notified;
mod recipient_quota;
#[cfg(test)]
mod tests;
