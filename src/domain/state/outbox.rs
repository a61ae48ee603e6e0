//! The messages of a group with their indexes. Reference 7.2.
//!
//! A message is part of the event that causes it, so a crash loses both or neither. The code that
//! decides such an event makes the messages with [`Outbox::draft`]. It then wraps the event with
//! `event.announced_by(messages)`, or carries the message in a variant of its own. The `apply` of
//! that variant calls
//! [`GroupState::enqueue`](crate::domain::state::group_state::GroupState::enqueue):
//!
//! ```text
//! decide:  let message = state.outbox.draft(0, at, content, email.as_str());
//!          Event::AccountLinkRequested { at, …, message: Box::new(message) }
//! apply:   self.enqueue(message)
//! ```
//!
//! The message sender finds open messages in the newest published state, also after a restart. A
//! reminder becomes a message when it is first claimed, because its time follows from the
//! appointment.
//!
//! The outbox is part of the state and of its hash. An export holds it, except for the tokens of
//! account links. Open messages are sent by the server that opens the imported store.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use crate::domain::records::channel::Channel;
use crate::domain::records::ids::{FicheId, ID_MAX, MessageId, VeventId};
use crate::domain::records::message::{
    AppointmentTime, Message, MessageContent, MessageKind, Progress, ShopWarning, SuppressionReason,
};
use crate::domain::records::text::{Text, folded};
use crate::domain::state::login_notice::NotifyOfLogin;
use crate::domain::state::recipient_quota::{MessageQuota, RecipientQuota};
use crate::domain::state::space::message_bytes;
use crate::domain::time::{DAY, INSTANT_MIN, Instant};

/// Seconds for which a settled message is kept.
const RETENTION_SECONDS: i64 = 90 * DAY;
/// Maximum number of settled messages that one event removes. It bounds the cost of the first event
/// after a long pause.
const REMOVED_PER_EVENT_MAX: usize = 16;
const FIRST: MessageId = MessageId::new(1).expect("1 is an id");
const LAST: MessageId = MessageId::new(ID_MAX).expect("the largest is an id");

/// The messages of a group: all open ones, and those settled within the last 90 days.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    /// The kept messages by id. Every index below refers to these only.
    messages: OrdMap<MessageId, Arc<Message>>,
    /// The bytes of all kept messages. Derived from them.
    bytes: u64,
    /// Highest id ever used; 0 if none was. Never decreases, so that ids are not used again.
    last_id: u64,
    /// Ids of the messages that wait or are claimed.
    open: OrdSet<MessageId>,
    /// The bytes of the links that have not left. Derived from them.
    link_bytes: u64,
    /// Number of links to new accounts that were not attempted yet.
    new_links: usize,
    /// The links that were given up and still hold a token, ascending by the time of that.
    given_up_links: OrdSet<(Instant, MessageId)>,
    /// The messages that were given up, ascending by the time of that.
    given_up: OrdSet<(Instant, MessageId)>,
    /// The open reminder message of an appointment and channel.
    reminders: OrdMap<(VeventId, Channel), MessageId>,
    /// The first attempts by recipient, for the daily quota.
    quota: RecipientQuota,
    /// Ids of messages by the appointments they are about.
    by_appointment: OrdSet<(VeventId, MessageId)>,
    /// The warnings to the shop, each by its kind and the stamp of its cause.
    warnings: OrdSet<(ShopWarning, Instant, MessageId)>,
    /// The messages about logins, each by its kind, its folded recipient and the stamp of its
    /// cause.
    login_messages: OrdSet<(MessageKind, Box<str>, Instant, MessageId)>,
    /// The last withdrawal message of each appointment that was given to another client.
    withdrawals: OrdMap<VeventId, MessageId>,
}

impl Outbox {
    /// Builds an outbox from its messages. `last_id` is the highest id ever used.
    pub fn from_messages(messages: Vec<Arc<Message>>, last_id: u64) -> Self {
        let mut outbox = Self { last_id, ..Self::default() };
        for message in messages {
            outbox.index(&message);
            outbox.last_id = outbox.last_id.max(message.id.number());
            outbox.messages.insert(message.id, message);
        }
        outbox
    }

    /// Makes a new message that may be attempted at once. `position` is its index among the
    /// messages of one event, from 0. `at` is the stamp of that event. The message is in the outbox
    /// once the event has been applied.
    ///
    /// # Panics
    /// If the recipient is longer than 255 characters or holds control characters. No valid address
    /// or number does.
    pub fn draft(
        &self,
        position: u64,
        at: Instant,
        content: MessageContent,
        recipient: &str,
    ) -> Message {
        let number = self.last_id + 1 + position;
        Message {
            id: MessageId::new(number).expect("a group never has 2^53 messages"),
            created_at: at,
            content,
            by_key: false,
            recipient: Text::new(recipient).expect("an address is a short text"),
            first_claimed_at: None,
            // The earliest instant, because the group's stamps may be ahead of the clock.
            progress: Progress::Waiting {
                attempts: 0,
                not_before: INSTANT_MIN,
                reason: Text::default(),
            },
            known: None,
        }
    }

    /// Finds a kept message.
    pub fn message(&self, id: MessageId) -> Option<&Arc<Message>> {
        self.messages.get(&id)
    }

    /// All kept messages, ascending by id.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = &Arc<Message>> {
        self.messages.values()
    }

    /// The messages that wait or are claimed, ascending by id.
    pub fn open(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.open.iter().filter_map(|id| self.messages.get(id))
    }

    /// The messages to be sent other than reminders that are reopened, which are planned by their
    /// appointments: all open ones, and those given up after `now`.
    pub fn unsent(&self, now: Instant) -> impl Iterator<Item = &Arc<Message>> {
        let reopened = self.given_up.range((now.plus_seconds(1), FIRST)..);
        let reopened = reopened.filter_map(|(_, id)| self.messages.get(id));
        self.open().chain(reopened.filter(|message| message.reminder().is_none()))
    }

    /// The messages about an appointment that wait or are claimed, ascending by id.
    pub fn open_about(&self, appointment: VeventId) -> impl Iterator<Item = &Arc<Message>> {
        self.messages_about(appointment).filter(|message| message.is_open())
    }

    /// Lets a change take the place of the last one of its appointment that has not left, so that
    /// however often an appointment is moved, a day leaves few rows. It then announces the
    /// difference to the start before both. The time of the first cause stays, since messages are
    /// removed in the order of their ids.
    pub fn replace_unsent_change(&self, message: Message) -> Message {
        let MessageContent::Change { appointment, .. } = message.content else { return message };
        let at = message.created_at;
        let unsent = self.unsent_change(appointment.id, message.by_key, at);
        let Some((unsent, was)) = unsent else { return message };
        let content = MessageContent::Change { appointment, was };
        Message { id: unsent.id, created_at: unsent.created_at, content, ..message }
    }

    /// The newest change of an appointment that has not left and that was caused within 24 hours
    /// before `at`, by a key alone or otherwise, with the start before it. Newer messages about the
    /// appointment are such changes too.
    fn unsent_change(
        &self,
        appointment: VeventId,
        by_key: bool,
        at: Instant,
    ) -> Option<(&Message, Instant)> {
        for message in self.messages_about(appointment).rev() {
            let has_stayed = match &message.progress {
                Progress::Waiting { attempts: 0, .. } | Progress::Kept { .. } => true,
                Progress::Suppressed { .. } => message.first_claimed_at.is_none(),
                // An attempt may have arrived.
                Progress::Waiting { .. }
                | Progress::Claimed { .. }
                | Progress::Sent { .. }
                | Progress::Failed { .. }
                | Progress::Missed { .. } => false,
            };
            let MessageContent::Change { was, .. } = message.content else { return None };
            if !has_stayed || message.created_at.plus_seconds(DAY) <= at {
                return None;
            }
            if message.by_key == by_key {
                return Some((message, was));
            }
        }
        None
    }

    /// The open reminder message of an appointment by a channel.
    pub fn open_reminder(&self, appointment: VeventId, channel: Channel) -> Option<&Arc<Message>> {
        self.messages.get(self.reminders.get(&(appointment, channel))?)
    }

    /// The newest reminder message of an appointment by a channel, open or settled.
    pub fn newest_reminder(
        &self,
        appointment: VeventId,
        channel: Channel,
    ) -> Option<&Arc<Message>> {
        let mut newest_first = self.messages_about(appointment).rev();
        newest_first.find(|message| message.reminder().is_some_and(|(by, _)| by == channel))
    }

    /// The stamp of the last warning of a kind within 90 days.
    pub fn last_warning(&self, warning: ShopWarning) -> Option<Instant> {
        let of_kind = (warning, INSTANT_MIN, FIRST)..=(warning, Instant(i64::MAX), LAST);
        self.warnings.range(of_kind).next_back().map(|(_, at, _)| *at)
    }

    /// Whether a person may be mailed once more about logins: few mails of the kind were caused
    /// lately.
    pub fn has_room_for_login(&self, command: &NotifyOfLogin, now: Instant) -> bool {
        let NotifyOfLogin { email, notice } = command;
        let limit = notice.limit();
        let first = (notice.kind(), email.folded(), now.plus_seconds(1 - limit.seconds), FIRST);
        let last = (notice.kind(), email.folded(), Instant(i64::MAX), LAST);
        self.login_messages.range(first..=last).count() < limit.most
    }

    /// The messages that are new or changed since an earlier state of this outbox.
    pub fn changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a Arc<Message>> {
        use imbl::ordmap::DiffItem;
        before.messages.diff(&self.messages).filter_map(|change| match change {
            DiffItem::Add(_, message) | DiffItem::Update { new: (_, message), .. } => Some(message),
            DiffItem::Remove(..) => None,
        })
    }

    /// Whether an appointment was given to another client after a message was caused. If so, the
    /// message was for the former client.
    pub fn is_withdrawn_since(&self, appointment: VeventId, message: MessageId) -> bool {
        self.withdrawals.get(&appointment).is_some_and(|last| *last > message)
    }

    /// The appointments of a message that its client still has.
    pub fn still_held<'a>(
        &'a self,
        message: MessageId,
        appointments: &'a [AppointmentTime],
    ) -> impl Iterator<Item = &'a AppointmentTime> {
        appointments.iter().filter(move |it| !self.is_withdrawn_since(it.id, message))
    }

    /// Returns the start of an appointment that its client was last notified of before `message`.
    /// If no earlier notification is known, it is the start before the first unsent change, and
    /// `previous_start` if there is none.
    pub fn last_notified_start(
        &self,
        message: MessageId,
        appointment: VeventId,
        previous_start: Instant,
    ) -> Instant {
        let mut start = previous_start;
        let earlier = self.by_appointment.range((appointment, FIRST)..(appointment, message));
        for (_, id) in earlier.rev() {
            let Some(message) = self.messages.get(id) else { continue };
            if matches!(message.content, MessageContent::Withdrawal(_)) {
                // Earlier messages went to another client.
                break;
            }
            if matches!(message.progress, Progress::Sent { .. } | Progress::Kept { .. }) {
                let notified = message.appointments().iter().find(|it| it.id == appointment);
                return notified.map_or(start, |it| it.start);
            }
            if let MessageContent::Change { was, .. } = message.content {
                start = was;
            }
        }
        start
    }

    /// Whether one more message may go to its recipient, by the first attempts since `since`.
    /// Reference 7.6.
    pub fn has_room_for(&self, message: &Message, quota: MessageQuota, since: Instant) -> bool {
        self.quota.has_room_for(message, quota, since)
    }

    /// Whether the booking of an appointment is known to its client, as far as messages tell: a
    /// confirmation or a later mail was sent or is being sent. Messages are kept for 90 days, so an
    /// older booking counts as known.
    pub fn is_confirmed(&self, appointment: VeventId, made_at: Instant, now: Instant) -> bool {
        let is_announced = self.messages_about(appointment).any(|one| has_announced_booking(one));
        is_announced || is_older_than_messages(made_at, now)
    }

    /// Whether a mail about an appointment has left, or is leaving. One that no gateway took has
    /// not. Messages are kept for 90 days, so an older booking counts as mailed about.
    pub fn is_mailed_about(&self, appointment: VeventId, made_at: Instant, now: Instant) -> bool {
        let has_left = |message: &Arc<Message>| {
            let is_kept = matches!(message.progress, Progress::Kept { .. });
            has_announced_booking(message) && !is_kept
        };
        self.messages_about(appointment).any(has_left) || is_older_than_messages(made_at, now)
    }

    /// Whether the client of an appointment was to be mailed about it by a message that a key alone
    /// caused, which exceeded a quota, and has got no mail since. Reference 7.6.
    pub fn is_withheld(&self, appointment: VeventId) -> bool {
        let mut is_withheld = false;
        for message in self.messages_about(appointment) {
            if has_announced_booking(message) {
                return false;
            }
            let exceeds_quota = matches!(
                message.progress,
                Progress::Suppressed { why: SuppressionReason::TooMany, .. }
            );
            is_withheld |= message.is_by_key() && exceeds_quota;
        }
        is_withheld
    }

    /// The notices to a client about an appointment that wait and were not attempted, ascending by
    /// id.
    pub fn waiting_notices(
        &self,
        appointment: VeventId,
        client: FicheId,
    ) -> impl Iterator<Item = &Arc<Message>> {
        self.messages_about(appointment).filter(move |message| {
            message.is_unattempted()
                && message.known.as_ref().is_some_and(|known| known.client == client)
        })
    }

    /// The kept messages about an appointment, ascending by id.
    pub fn messages_about(
        &self,
        appointment: VeventId,
    ) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        let entries = self.by_appointment.range((appointment, FIRST)..=(appointment, LAST));
        entries.filter_map(|(_, id)| self.messages.get(id))
    }

    /// Whether a link to a new account could leave within a day, after those that wait, by the
    /// maximum of messages that a key alone causes; 0 for no limit.
    pub(crate) fn has_room_for_new_link(&self, by_key_daily_max: usize, now: Instant) -> bool {
        let since = now.plus_seconds(1 - DAY);
        by_key_daily_max == 0 || self.new_links < self.quota.links_left(by_key_daily_max, since)
    }

    /// The bytes of the links that have not left: those that wait, and those that were given up
    /// within a day.
    pub(crate) const fn link_bytes(&self) -> u64 {
        self.link_bytes
    }

    /// The bytes of all kept messages.
    pub(crate) const fn space_bytes(&self) -> u64 {
        self.bytes
    }

    /// Highest id ever used; 0 if none was.
    pub const fn last_id(&self) -> u64 {
        self.last_id
    }

    /// Inserts a message or replaces the one with its id. Then removes messages that were settled
    /// at least 90 days before `now`, and tokens of links that were given up a day before it.
    ///
    /// # Panics
    /// If a new message's id is not the next one.
    pub(crate) fn put(&mut self, message: Arc<Message>, now: Instant) {
        match self.messages.get(&message.id).cloned() {
            Some(old) => self.unindex(&old),
            None => {
                assert_eq!(
                    message.id.number(),
                    self.last_id + 1,
                    "messages are numbered without gaps"
                );
                self.last_id += 1;
            }
        }
        self.index(&message);
        self.messages.insert(message.id, message);
        self.remove_expired(now);
        self.forget_given_up_links(now);
    }

    /// Within a day the clock may turn out to have been ahead, and the links are sent after all.
    fn forget_given_up_links(&mut self, now: Instant) {
        for _ in 0..REMOVED_PER_EVENT_MAX {
            let Some((at, id)) = self.given_up_links.get_min().copied() else { return };
            if now < at.plus_seconds(DAY) {
                return;
            }
            let mut message = Message::clone(&self.messages[&id]);
            self.unindex(&message);
            message.forget_token();
            self.index(&message);
            self.messages.insert(id, Arc::new(message));
        }
    }

    fn remove_expired(&mut self, now: Instant) {
        for _ in 0..REMOVED_PER_EVENT_MAX {
            let Some((_, oldest)) = self.messages.get_min() else { return };
            let Some(settled_at) = oldest.settled_at() else { return };
            if now < settled_at.plus_seconds(RETENTION_SECONDS) {
                return;
            }
            let oldest = Arc::clone(oldest);
            self.unindex(&oldest);
            self.messages.remove(&oldest.id);
        }
    }

    /// Removes a message, if it exists.
    pub(crate) fn remove(&mut self, id: MessageId) {
        if let Some(message) = self.messages.remove(&id) {
            self.unindex(&message);
        }
    }

    fn index(&mut self, message: &Message) {
        self.bytes += message_bytes(message);
        if message.is_unsent_link() {
            self.link_bytes += message_bytes(message);
            self.new_links += usize::from(is_new_link(message));
            if let Some(at) = message.given_up_at() {
                self.given_up_links.insert((at, message.id));
            }
        }
        for appointment in message.appointments() {
            self.by_appointment.insert((appointment.id, message.id));
        }
        if message.is_open() {
            self.open.insert(message.id);
            if let Some((channel, appointment)) = message.reminder() {
                self.reminders.insert((appointment.id, channel), message.id);
            }
        }
        if let Some(at) = message.given_up_at() {
            self.given_up.insert((at, message.id));
        }
        if let MessageContent::ShopWarning(warning) = message.content {
            self.warnings.insert((warning, message.created_at, message.id));
        }
        if let Some(entry) = login_entry(message) {
            self.login_messages.insert(entry);
        }
        self.quota.insert(message);
        if let MessageContent::Withdrawal(withdrawn) = &message.content {
            let last = self.withdrawals.entry(withdrawn.appointment.id).or_insert(message.id);
            *last = message.id.max(*last);
        }
    }

    fn unindex(&mut self, message: &Message) {
        self.bytes = self.bytes.saturating_sub(message_bytes(message));
        if message.is_unsent_link() {
            self.link_bytes = self.link_bytes.saturating_sub(message_bytes(message));
            self.new_links = self.new_links.saturating_sub(usize::from(is_new_link(message)));
            if let Some(at) = message.given_up_at() {
                self.given_up_links.remove(&(at, message.id));
            }
        }
        for appointment in message.appointments() {
            self.by_appointment.remove(&(appointment.id, message.id));
        }
        self.open.remove(&message.id);
        if let Some(at) = message.given_up_at() {
            self.given_up.remove(&(at, message.id));
        }
        if let Some((channel, appointment)) = message.reminder()
            && self.reminders.get(&(appointment.id, channel)) == Some(&message.id)
        {
            self.reminders.remove(&(appointment.id, channel));
        }
        if let MessageContent::ShopWarning(warning) = message.content {
            self.warnings.remove(&(warning, message.created_at, message.id));
        }
        if let Some(entry) = login_entry(message) {
            self.login_messages.remove(&entry);
        }
        self.quota.remove(message);
        if let MessageContent::Withdrawal(withdrawn) = &message.content
            && self.withdrawals.get(&withdrawn.appointment.id) == Some(&message.id)
        {
            self.withdrawals.remove(&withdrawn.appointment.id);
        }
    }
}

/// Whether a message is a link to a new account that was not attempted yet.
fn is_new_link(message: &Message) -> bool {
    message.is_open()
        && message.first_claimed_at.is_none()
        && message.kind() == MessageKind::AccountConfirmation
}

/// The entry of a message about logins in their index.
fn login_entry(message: &Message) -> Option<(MessageKind, Box<str>, Instant, MessageId)> {
    let kind = message.kind();
    let is_of_login = matches!(
        kind,
        MessageKind::NewDevice
            | MessageKind::LoginLink
            | MessageKind::ProPassword
            | MessageKind::Invitation
            | MessageKind::UnknownLogin
    );
    if !is_of_login {
        return None;
    }
    Some((kind, folded(message.recipient.as_str()), message.created_at, message.id))
}

/// Whether the first messages about a booking have been removed.
fn is_older_than_messages(made_at: Instant, now: Instant) -> bool {
    made_at.plus_seconds(RETENTION_SECONDS) <= now
}

/// Whether a message has announced an appointment to its client by mail.
fn has_announced_booking(message: &Message) -> bool {
    let announces_booking = matches!(
        message.content,
        MessageContent::Confirmation(_)
            | MessageContent::Change { .. }
            | MessageContent::Restoration(_)
            | MessageContent::Reminder(Channel::Mail, _)
    );
    let has_left = matches!(
        message.progress,
        Progress::Sent { .. } | Progress::Kept { .. } | Progress::Claimed { .. }
    );
    announces_booking && has_left
}

#[cfg(test)]
mod tests;
