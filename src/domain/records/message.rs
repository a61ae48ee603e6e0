//! A message to one client: its content, its kind and its progress. Reference 7.
//!
//! The text of a message is not stored. It is rendered from the newest state at each attempt.

use serde::{Deserialize, Serialize};
use strum::{EnumIter, EnumString, IntoStaticStr};

use crate::domain::records::account_link::LinkToken;
use crate::domain::records::channel::Channel;
use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, MessageId, VeventId};
use crate::domain::records::known_appointment::KnownAppointment;
use crate::domain::records::text::Text;
use crate::domain::records::vevent::{AppointmentKey, ReminderOutcome, Vevent};
use crate::domain::time::Instant;

pub use crate::domain::records::shop_warning::ShopWarning;

/// A message to one client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredMessage", into = "StoredMessage")]
pub struct Message {
    /// Its number in the group, ascending.
    pub id: MessageId,
    /// The group's stamp of the event that caused it; for a reminder, of its first attempt; for a
    /// change that took the place of earlier ones, of the first.
    pub created_at: Instant,
    /// The subject of the message.
    pub content: MessageContent,
    /// Whether an application's key alone caused the confirmation, the change, the cancellation or
    /// the reminder. The key's holder can book in any client's name.
    pub by_key: bool,
    /// The address or number of the last attempt; before the first one, that of its cause.
    pub recipient: Text<255>,
    /// The time of the first attempt to this recipient.
    pub first_claimed_at: Option<Instant>,
    /// The state of its delivery.
    pub progress: Progress,
    /// The appointment as its client knows it, of a notice about a professional's change that waits
    /// for further ones. `None` for every other message.
    pub known: Option<Box<KnownAppointment>>,
}

/// The subject of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageContent {
    /// A link that proves the ownership of an address. It is sent whatever the group's settings
    /// are. Reference 3.5, 7.4.
    AccountLink {
        /// The effect of following it.
        purpose: LinkPurpose,
        /// The path segment after `/m/`: letters, digits, `-` and `_`.
        token: LinkToken,
        /// The end of its validity. From then on it is not sent any more.
        expires: Instant,
    },
    /// A booking was made. Holds its appointments, in order.
    Confirmation(Vec<AppointmentTime>),
    /// An appointment changed.
    Change {
        /// The appointment with its new start.
        appointment: AppointmentTime,
        /// Its previous start.
        was: Instant,
    },
    /// An appointment was cancelled.
    Cancellation(AppointmentTime),
    /// An upcoming appointment.
    Reminder(Channel, AppointmentTime),
    /// An appointment was given to another client. This message goes to the former one.
    Withdrawal(Box<WithdrawnAppointment>),
    /// A cancelled appointment was restored.
    Restoration(AppointmentTime),
    /// The code that confirms a booking by an application's key alone. It is sent whatever the
    /// group's settings are. The server's secret and the hold determine it. Reference 6.8.
    BookingCode {
        /// The channel.
        channel: Channel,
        /// The hold of the booking.
        hold: HoldId,
        /// The end of its validity. From then on it is not sent any more.
        expires: Instant,
    },
    /// Something has happened to a person's login. It goes to the address before it, whatever the
    /// group's settings are.
    AccountNotice(AccountChange),
    /// Something that the shop has to know. It goes to its professionals.
    ShopWarning(ShopWarning),
}

/// A message as it is stored. The order of the members is the format on disk.
#[derive(Clone, Serialize, Deserialize)]
struct StoredMessage {
    id: MessageId,
    created_at: Instant,
    content: StoredContent,
    recipient: Text<255>,
    first_claimed_at: Option<Instant>,
    progress: Progress,
    #[serde(deserialize_with = "crate::domain::records::added::in_format_4")]
    known: Option<Box<KnownAppointment>>,
}

/// The content and the cause of a message. The order of the variants is the format on disk.
#[derive(Clone, Serialize, Deserialize)]
enum StoredContent {
    AccountLink { purpose: LinkPurpose, token: LinkToken, expires: Instant },
    Confirmation(Vec<AppointmentTime>),
    Change { appointment: AppointmentTime, was: Instant },
    Cancellation(AppointmentTime),
    Reminder(Channel, AppointmentTime),
    Withdrawal(Box<WithdrawnAppointment>),
    ConfirmationByKey(Vec<AppointmentTime>),
    CancellationByKey(AppointmentTime),
    Restoration(AppointmentTime),
    BookingCode { channel: Channel, hold: HoldId, expires: Instant },
    ChangeByKey { appointment: AppointmentTime, was: Instant },
    AccountNotice(AccountChange),
    ReminderByKey(Channel, AppointmentTime),
    ShopWarning(ShopWarning),
}

impl From<StoredMessage> for Message {
    fn from(stored: StoredMessage) -> Self {
        use MessageContent as Content;
        use StoredContent as Stored;
        let StoredMessage { id, created_at, content, recipient, first_claimed_at, progress, known } =
            stored;
        let (content, by_key) = match content {
            Stored::AccountLink { purpose, token, expires } => {
                (Content::AccountLink { purpose, token, expires }, false)
            }
            Stored::Confirmation(all) => (Content::Confirmation(all), false),
            Stored::ConfirmationByKey(all) => (Content::Confirmation(all), true),
            Stored::Change { appointment, was } => (Content::Change { appointment, was }, false),
            Stored::ChangeByKey { appointment, was } => {
                (Content::Change { appointment, was }, true)
            }
            Stored::Cancellation(one) => (Content::Cancellation(one), false),
            Stored::CancellationByKey(one) => (Content::Cancellation(one), true),
            Stored::Reminder(channel, one) => (Content::Reminder(channel, one), false),
            Stored::ReminderByKey(channel, one) => (Content::Reminder(channel, one), true),
            Stored::Withdrawal(withdrawn) => (Content::Withdrawal(withdrawn), false),
            Stored::Restoration(one) => (Content::Restoration(one), false),
            Stored::BookingCode { channel, hold, expires } => {
                (Content::BookingCode { channel, hold, expires }, false)
            }
            Stored::AccountNotice(change) => (Content::AccountNotice(change), false),
            Stored::ShopWarning(warning) => (Content::ShopWarning(warning), false),
        };
        Self { id, created_at, content, by_key, recipient, first_claimed_at, progress, known }
    }
}

impl From<Message> for StoredMessage {
    fn from(message: Message) -> Self {
        use MessageContent as Content;
        use StoredContent as Stored;
        let Message {
            id,
            created_at,
            content,
            by_key,
            recipient,
            first_claimed_at,
            progress,
            known,
        } = message;
        let content = match content {
            Content::AccountLink { purpose, token, expires } => {
                Stored::AccountLink { purpose, token, expires }
            }
            Content::Confirmation(all) if by_key => Stored::ConfirmationByKey(all),
            Content::Confirmation(all) => Stored::Confirmation(all),
            Content::Change { appointment, was } if by_key => {
                Stored::ChangeByKey { appointment, was }
            }
            Content::Change { appointment, was } => Stored::Change { appointment, was },
            Content::Cancellation(one) if by_key => Stored::CancellationByKey(one),
            Content::Cancellation(one) => Stored::Cancellation(one),
            Content::Reminder(channel, one) if by_key => Stored::ReminderByKey(channel, one),
            Content::Reminder(channel, one) => Stored::Reminder(channel, one),
            Content::Withdrawal(withdrawn) => Stored::Withdrawal(withdrawn),
            Content::Restoration(one) => Stored::Restoration(one),
            Content::BookingCode { channel, hold, expires } => {
                Stored::BookingCode { channel, hold, expires }
            }
            Content::AccountNotice(change) => Stored::AccountNotice(change),
            Content::ShopWarning(warning) => Stored::ShopWarning(warning),
        };
        Self { id, created_at, content, recipient, first_claimed_at, progress, known }
    }
}

/// A change of a login that its person learns of. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccountChange {
    /// Another password.
    Password,
    /// Another address.
    Email,
    /// A login with a device that is not known.
    Device,
    /// Another password was asked for, but no professional has the address.
    UnknownLogin,
}

/// An appointment as its former client knew it. The current appointment no longer holds these
/// values, because it belongs to another client under another secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithdrawnAppointment {
    /// The appointment and its start.
    pub appointment: AppointmentTime,
    /// Its length in seconds.
    pub length_seconds: u32,
    /// The former client.
    pub client: FicheId,
    /// Its calendar.
    pub calendar: CalendarId,
    /// Its intervention.
    pub intervention: InterventionId,
    /// Its former secret, which opens nothing any more. The client's calendar program identifies
    /// the event by it.
    pub key: AppointmentKey,
}

/// An appointment and its start at the time of the message. If it starts at another time by now,
/// another message announces that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppointmentTime {
    /// The appointment.
    pub id: VeventId,
    /// Its start.
    pub start: Instant,
}

impl AppointmentTime {
    /// Returns the appointment with its start; `None` for an event of another kind.
    pub fn from_vevent(row: &Vevent) -> Option<Self> {
        Some(Self { id: row.id, start: row.appointment()?.start })
    }
}

/// The effect of following an account link. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkPurpose {
    /// Confirms a new account, with a password.
    Confirm,
    /// Gives an account another password.
    NewPassword,
    /// Gives an account another address.
    NewEmail,
    /// Lets a professional log in while strangers guess.
    Login,
    /// Gives a professional another password.
    ProPassword,
    /// Invites a professional to a group.
    Invitation,
}

/// The state of a message's delivery. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Progress {
    /// Waits for its first or next attempt.
    Waiting {
        /// Number of attempts so far.
        attempts: u32,
        /// Earliest time of the next attempt.
        not_before: Instant,
        /// The error of the last attempt; empty before the first.
        reason: Text<255>,
    },
    /// An attempt is under way, or the server stopped during it. The message may have arrived.
    Claimed {
        /// Number of the attempt, from 1.
        attempt: u32,
        /// Its start.
        at: Instant,
    },
    /// The gateway accepted it.
    Sent {
        /// The time of acceptance.
        at: Instant,
        /// Number of attempts.
        attempts: u32,
    },
    /// No gateway is configured for its channel. It can be read in the list of messages.
    Kept {
        /// The time of that finding.
        at: Instant,
    },
    /// The gateway rejected it, or deferred it until it was too late.
    Failed {
        /// The time at which it was given up.
        at: Instant,
        /// The gateway's reason.
        reason: Text<255>,
    },
    /// Its deadline passed before the first attempt.
    Missed {
        /// The time of that finding.
        at: Instant,
    },
    /// It is not wanted any more.
    Suppressed {
        /// The time of that finding.
        at: Instant,
        /// The reason.
        why: SuppressionReason,
    },
}

/// The reason why a message is not wanted. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[derive(EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SuppressionReason {
    /// The appointment is cancelled.
    Cancelled,
    /// The appointment starts at another time, which another message announces.
    Moved,
    /// The appointment is not cancelled any more.
    Restored,
    /// The client or the group wants no such message.
    Unwanted,
    /// There is no address or number, or the client is deleted.
    NoRecipient,
    /// The appointment has started.
    Begun,
    /// The link has expired.
    Expired,
    /// The recipient's daily quota is used up. Reference 7.6.
    TooMany,
    /// The appointment belongs to another client.
    GivenAway,
    /// The cancellation was made with a key alone, and no confirmation was sent.
    Unconfirmed,
    /// The appointment is as its client knows it.
    Unchanged,
    /// A later notice takes its place.
    Replaced,
}

/// The kind of a message, as lists and metrics name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each kind is named by its subject")]
pub enum MessageKind {
    Confirmation,
    Change,
    Cancellation,
    MailReminder,
    SmsReminder,
    AccountConfirmation,
    NewPassword,
    NewEmail,
    MailCode,
    SmsCode,
    PasswordChanged,
    EmailChanged,
    NewDevice,
    LoginLink,
    CodesHalfUsed,
    CodesAsked,
    CodesNoLongerAsked,
    ProPassword,
    Invitation,
    UnknownLogin,
    WebhookOff,
}

impl MessageKind {
    /// Returns the kind of a reminder by a channel.
    pub const fn of_reminder(channel: Channel) -> Self {
        match channel {
            Channel::Mail => Self::MailReminder,
            Channel::Sms => Self::SmsReminder,
        }
    }

    /// The kind's name in lists and metrics.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The channel of messages of this kind.
    pub const fn channel(self) -> Channel {
        if matches!(self, Self::SmsReminder | Self::SmsCode) { Channel::Sms } else { Channel::Mail }
    }
}

impl Message {
    /// Whether it is still to be sent: waiting or claimed.
    pub const fn is_open(&self) -> bool {
        self.settled_at().is_none()
    }

    /// The time at which its delivery ended; `None` while it is open.
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

    /// The time at which it was given up as too late by the clock. `None` if it is open, was sent,
    /// is not wanted, or was rejected: a rejection is final, whatever the clock said.
    pub const fn given_up_at(&self) -> Option<Instant> {
        if let Progress::Missed { at }
        | Progress::Suppressed {
            at,
            why: SuppressionReason::Begun | SuppressionReason::Expired,
        } = &self.progress
        {
            return Some(*at);
        }
        None
    }

    /// Whether it will neither be sent again nor read. A kept message is read in the list, and one
    /// that was given up as too late is open again if the clock was ahead.
    const fn is_spent(&self) -> bool {
        let has_ended = matches!(
            self.progress,
            Progress::Sent { .. } | Progress::Failed { .. } | Progress::Suppressed { .. }
        );
        has_ended && self.given_up_at().is_none()
    }

    /// Removes the token of a link that is spent: it can be long, and a sent mail has it.
    pub(crate) fn forget_spent_token(&mut self) {
        if self.is_spent() {
            self.forget_token();
        }
    }

    /// Removes the token of a link.
    pub(crate) fn forget_token(&mut self) {
        if let MessageContent::AccountLink { token, .. } = &mut self.content {
            *token = LinkToken::default();
        }
    }

    /// Whether it is a link that is to be sent, or that would be if the clock was ahead when it
    /// was given up.
    pub(crate) fn is_unsent_link(&self) -> bool {
        let has_token = matches!(
            &self.content,
            MessageContent::AccountLink { token, .. } if !token.is_blank()
        );
        has_token && (self.is_open() || self.given_up_at().is_some())
    }

    /// Whether it waits, and no attempt has begun.
    pub const fn is_unattempted(&self) -> bool {
        matches!(self.progress, Progress::Waiting { attempts: 0, .. })
            && self.first_claimed_at.is_none()
    }

    /// Whether it was given up at a time that has not come yet. The clock was ahead then, so the
    /// message counts as open again.
    pub fn is_reopened(&self, now: Instant) -> bool {
        match self.given_up_at() {
            Some(at) => now < at,
            None => false,
        }
    }

    /// The time of its last attempt or of its end. While it waits, the time of its cause.
    pub const fn last_progress_at(&self) -> Instant {
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

    /// The outcome that its appointment stores for a reminder. `None` for other messages, for an
    /// open one, and for one suppressed by a later change: another reminder may follow that.
    pub fn settled_reminder(&self) -> Option<ReminderOutcome> {
        let (_, AppointmentTime { start, .. }) = self.reminder()?;
        match &self.progress {
            Progress::Sent { .. } | Progress::Kept { .. } => Some(ReminderOutcome::Sent(start)),
            Progress::Failed { .. }
            | Progress::Missed { .. }
            | Progress::Suppressed {
                why: SuppressionReason::TooMany | SuppressionReason::Begun,
                ..
            } => Some(ReminderOutcome::GivenUp(start)),
            Progress::Waiting { .. } | Progress::Claimed { .. } | Progress::Suppressed { .. } => {
                None
            }
        }
    }

    /// Its kind. A withdrawal is a cancellation to the former client.
    pub const fn kind(&self) -> MessageKind {
        match &self.content {
            MessageContent::AccountLink { purpose, .. } => match purpose {
                LinkPurpose::Confirm => MessageKind::AccountConfirmation,
                LinkPurpose::NewPassword => MessageKind::NewPassword,
                LinkPurpose::NewEmail => MessageKind::NewEmail,
                LinkPurpose::Login => MessageKind::LoginLink,
                LinkPurpose::ProPassword => MessageKind::ProPassword,
                LinkPurpose::Invitation => MessageKind::Invitation,
            },
            MessageContent::Confirmation(_) => MessageKind::Confirmation,
            MessageContent::Change { .. } | MessageContent::Restoration(_) => MessageKind::Change,
            MessageContent::Cancellation(_) | MessageContent::Withdrawal(_) => {
                MessageKind::Cancellation
            }
            MessageContent::Reminder(channel, _) => MessageKind::of_reminder(*channel),
            MessageContent::BookingCode { channel: Channel::Mail, .. } => MessageKind::MailCode,
            MessageContent::BookingCode { channel: Channel::Sms, .. } => MessageKind::SmsCode,
            MessageContent::AccountNotice(AccountChange::Password) => MessageKind::PasswordChanged,
            MessageContent::AccountNotice(AccountChange::Email) => MessageKind::EmailChanged,
            MessageContent::AccountNotice(AccountChange::Device) => MessageKind::NewDevice,
            MessageContent::AccountNotice(AccountChange::UnknownLogin) => MessageKind::UnknownLogin,
            MessageContent::ShopWarning(ShopWarning::CodesHalfUsed) => MessageKind::CodesHalfUsed,
            MessageContent::ShopWarning(ShopWarning::CodesAsked) => MessageKind::CodesAsked,
            MessageContent::ShopWarning(ShopWarning::CodesNoLongerAsked) => {
                MessageKind::CodesNoLongerAsked
            }
            MessageContent::ShopWarning(ShopWarning::WebhookOff(_)) => MessageKind::WebhookOff,
        }
    }

    /// Its channel.
    pub const fn channel(&self) -> Channel {
        self.kind().channel()
    }

    /// The appointments it is about, with the starts it announces; empty for a message about an
    /// account or a code.
    pub fn appointments(&self) -> &[AppointmentTime] {
        match &self.content {
            MessageContent::AccountLink { .. }
            | MessageContent::AccountNotice(_)
            | MessageContent::ShopWarning(_)
            | MessageContent::BookingCode { .. } => &[],
            MessageContent::Confirmation(appointments) => appointments,
            MessageContent::Change { appointment, .. }
            | MessageContent::Cancellation(appointment)
            | MessageContent::Restoration(appointment)
            | MessageContent::Reminder(_, appointment) => std::slice::from_ref(appointment),
            MessageContent::Withdrawal(withdrawn) => std::slice::from_ref(&withdrawn.appointment),
        }
    }

    /// The appointment it is about; the first of several.
    pub fn appointment(&self) -> Option<VeventId> {
        self.appointments().first().map(|appointment| appointment.id)
    }

    /// The channel and appointment of a reminder; `None` for other messages.
    pub const fn reminder(&self) -> Option<(Channel, AppointmentTime)> {
        if let MessageContent::Reminder(channel, appointment) = &self.content {
            return Some((*channel, *appointment));
        }
        None
    }

    /// Marks it as caused by an application's key alone, which can cause any number of messages to
    /// any client. Only confirmations, moves, cancellations and reminders can be caused so; others
    /// stay as they are.
    #[must_use]
    pub fn caused_by_key(mut self) -> Self {
        self.by_key = matches!(
            self.content,
            MessageContent::Confirmation(_)
                | MessageContent::Change { .. }
                | MessageContent::Cancellation(_)
                | MessageContent::Reminder(..)
        );
        self
    }

    /// Whether an application's key alone caused it. Nothing else causes a code.
    pub const fn is_by_key(&self) -> bool {
        self.by_key || matches!(self.content, MessageContent::BookingCode { .. })
    }
}

#[cfg(test)]
mod tests;
