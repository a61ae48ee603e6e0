//! The limits on messages within 24 hours: to one recipient, and of those caused with a key alone.
//! Reference 7.6.

use imbl::OrdSet;

use crate::domain::records::ids::MessageId;
use crate::domain::records::message::{LinkPurpose, Message, MessageContent, MessageKind};
use crate::domain::records::text::folded;
use crate::domain::time::Instant;

const FIRST: MessageId = MessageId::new(1).expect("1 is an id");

/// The class in which a message counts. At most half of a recipient's daily messages may be
/// [`QuotaClass::Public`], so the public cannot use up the quota that the shop needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum QuotaClass {
    /// The public can cause it: with the public key, or by asking for a link to an account.
    Public,
    /// The shop, the logged-in client or the passage of time caused it.
    Trusted,
}

/// The first attempts of messages, by recipient and time.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecipientQuota {
    /// One entry per message that was attempted. The recipient is folded, because an address has
    /// many spellings and one mailbox.
    attempts: OrdSet<(Box<str>, Instant, MessageId, QuotaClass)>,
    /// Those of links to accounts that a key alone caused, by time.
    links_by_key: OrdSet<(Instant, MessageId)>,
    /// Those of other messages that a key alone caused, by time.
    others_by_key: OrdSet<(Instant, MessageId)>,
}

/// Maximum numbers of messages of one group within 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageQuota {
    /// To one recipient; 0 allows none. At most half of them may be messages that the public can
    /// cause.
    pub recipient_daily_max: usize,
    /// Caused with a key alone, to all recipients; 0 for no limit. Links to accounts take at most
    /// half of it, rounded up, so that bookings can still be confirmed.
    pub by_key_daily_max: usize,
}

impl MessageQuota {
    /// The numbers without any option.
    pub const DEFAULT: Self = Self { recipient_daily_max: 20, by_key_daily_max: 500 };
}

impl Message {
    /// Whether it is sent regardless of the quota of its recipient. True for codes and account
    /// links, whose number is limited where they are asked for, and for notices of what has
    /// followed from a link. All but codes and notices of unknown logins count all the same.
    pub const fn ignores_quota(&self) -> bool {
        let is_notice = matches!(&self.content, MessageContent::AccountNotice(_));
        self.is_account_link() || is_notice || self.is_code()
    }

    const fn is_code(&self) -> bool {
        matches!(&self.content, MessageContent::BookingCode { .. })
    }

    const fn is_account_link(&self) -> bool {
        matches!(&self.content, MessageContent::AccountLink { .. })
    }

    /// Whether a key alone is enough to cause it.
    const fn is_caused_by_key(&self) -> bool {
        match &self.content {
            MessageContent::AccountLink { purpose, .. } => match purpose {
                LinkPurpose::Confirm
                | LinkPurpose::NewPassword
                | LinkPurpose::Login
                | LinkPurpose::ProPassword => true,
                // Only the owner of the account requests it, or an administrator of the group.
                LinkPurpose::NewEmail | LinkPurpose::Invitation => false,
            },
            // The number of codes is limited where they are asked for.
            MessageContent::BookingCode { .. } => false,
            MessageContent::AccountNotice(_)
            | MessageContent::Confirmation(_)
            | MessageContent::Change { .. }
            | MessageContent::Cancellation(_)
            | MessageContent::Reminder(..)
            | MessageContent::Withdrawal(_)
            | MessageContent::ShopWarning(_)
            | MessageContent::Restoration(_) => self.is_by_key(),
        }
    }

    /// Whether the daily maximum of messages caused by a key alone stops it. A link for another
    /// password goes to a person who has one, and a link to log in to a professional. The public
    /// must not lock these out.
    const fn is_stopped_by_key_quota(&self) -> bool {
        let lets_in = matches!(
            &self.content,
            MessageContent::AccountLink {
                purpose: LinkPurpose::NewPassword | LinkPurpose::Login | LinkPurpose::ProPassword,
                ..
            }
        );
        self.is_caused_by_key() && !lets_in
    }

    const fn quota_class(&self) -> QuotaClass {
        if self.is_by_key() || self.is_account_link() {
            QuotaClass::Public
        } else {
            QuotaClass::Trusted
        }
    }
}

impl RecipientQuota {
    /// Whether one more message may go to its recipient. Fewer than the maximum must have been
    /// first attempted since `since`. Of messages that the public can cause, fewer than half of
    /// that, rounded up; and of those caused with a key alone, fewer than the maximum of the group.
    /// An account link and a notice always have room at their recipient.
    pub(crate) fn has_room_for(
        &self,
        message: &Message,
        quota: MessageQuota,
        since: Instant,
    ) -> bool {
        let MessageQuota { recipient_daily_max: daily_max, by_key_daily_max } = quota;
        if message.is_stopped_by_key_quota() && by_key_daily_max > 0 {
            let (links, all) = self.left_by_key(by_key_daily_max, since);
            if all == 0 || (message.is_account_link() && links == 0) {
                return false;
            }
        }
        if message.ignores_quota() {
            return true;
        }
        let recipient = folded(message.recipient.as_str());
        let from = (recipient.clone(), since, FIRST, QuotaClass::Public);
        let mut all = 0;
        let mut public = 0;
        for (to, _, _, class) in self.attempts.range(from..) {
            if *to != recipient {
                break;
            }
            all += 1;
            if *class == QuotaClass::Public {
                public += 1;
            }
        }
        match message.quota_class() {
            QuotaClass::Trusted => all < daily_max,
            QuotaClass::Public => all < daily_max && public < daily_max.div_ceil(2),
        }
    }

    /// Number of further links to new accounts that a key alone may cause.
    pub(crate) fn links_left(&self, by_key_daily_max: usize, since: Instant) -> usize {
        let (links, all) = self.left_by_key(by_key_daily_max, since);
        links.min(all)
    }

    /// Numbers of further links and of further messages that a key alone may cause.
    fn left_by_key(&self, by_key_daily_max: usize, since: Instant) -> (usize, usize) {
        // No more are counted than matter.
        let links_max = by_key_daily_max.div_ceil(2);
        let links = self.links_by_key.range((since, FIRST)..).take(links_max).count();
        let rest = by_key_daily_max - links;
        let others = self.others_by_key.range((since, FIRST)..).take(rest).count();
        (links_max - links, rest - others)
    }

    /// Counts a message, if it was attempted.
    pub(crate) fn insert(&mut self, message: &Message) {
        if let Some(entry) = quota_entry(message) {
            if message.is_caused_by_key() {
                let is_link = message.is_account_link();
                let by_key = if is_link { &mut self.links_by_key } else { &mut self.others_by_key };
                by_key.insert((entry.1, entry.2));
            }
            self.attempts.insert(entry);
        }
    }

    /// Stops counting a message.
    pub(crate) fn remove(&mut self, message: &Message) {
        if let Some(entry) = quota_entry(message) {
            self.attempts.remove(&entry);
            self.links_by_key.remove(&(entry.1, entry.2));
            self.others_by_key.remove(&(entry.1, entry.2));
        }
    }
}

/// The entry of a message that counts.
fn quota_entry(message: &Message) -> Option<(Box<str>, Instant, MessageId, QuotaClass)> {
    // Strangers cause these in the name of any address, and must not use up its quota.
    if message.is_code() || message.kind() == MessageKind::UnknownLogin {
        return None;
    }
    let at = message.first_claimed_at?;
    Some((folded(message.recipient.as_str()), at, message.id, message.quota_class()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::channel::Channel;
    use crate::domain::records::hold::HoldToken;
    use crate::domain::records::message::{AccountChange, Progress, ShopWarning};
    use crate::domain::records::text::Text;

    const NOW: Instant = Instant(1_000_000);

    fn message(id: u64, content: MessageContent) -> Message {
        Message {
            id: MessageId::new(id).expect("an id"),
            created_at: NOW,
            content,
            by_key: false,
            recipient: Text::new("ada@example.org").expect("a text"),
            first_claimed_at: Some(NOW),
            progress: Progress::Sent { at: NOW, attempts: 1 },
            known: None,
        }
    }

    #[test]
    fn mails_about_an_unknown_login_leave_the_quota_of_their_recipient() {
        let quota = MessageQuota::DEFAULT;
        let next = message(999, MessageContent::ShopWarning(ShopWarning::CodesAsked));
        for (change, has_room) in
            [(AccountChange::UnknownLogin, true), (AccountChange::Device, false)]
        {
            let mut sent = RecipientQuota::default();
            for id in 1..=48 {
                sent.insert(&message(id, MessageContent::AccountNotice(change)));
            }
            assert_eq!(sent.has_room_for(&next, quota, NOW), has_room, "{change:?}");
        }
    }

    #[test]
    fn codes_leave_the_quota_of_their_recipient_and_are_sent_without_any() {
        let quota = MessageQuota { recipient_daily_max: 1, by_key_daily_max: 1 };
        let hold = HoldToken::new(&"0".repeat(32)).expect("a token").id();
        let content = MessageContent::BookingCode { channel: Channel::Mail, hold, expires: NOW };
        let code = message(1, content).caused_by_key();
        let warning = message(2, MessageContent::ShopWarning(ShopWarning::CodesAsked));
        let mut sent = RecipientQuota::default();
        sent.insert(&code);
        assert!(sent.has_room_for(&warning, quota, NOW));
        sent.insert(&warning);
        assert!(!sent.has_room_for(&message(3, warning.content), quota, NOW));
        assert!(sent.has_room_for(&code, quota, NOW));
    }

    #[test]
    fn messages_of_the_shop_take_the_room_of_those_that_the_public_causes() {
        let warning = |id| message(id, MessageContent::ShopWarning(ShopWarning::CodesAsked));
        let public = message(9, MessageContent::Confirmation(Vec::new())).caused_by_key();
        let quota = |recipient_daily_max| MessageQuota { recipient_daily_max, by_key_daily_max: 0 };
        let mut sent = RecipientQuota::default();
        [1, 2, 3].iter().for_each(|id| sent.insert(&warning(*id)));
        assert!(sent.has_room_for(&public, quota(4), NOW));
        assert!(!sent.has_room_for(&public, quota(3), NOW));
    }
}
