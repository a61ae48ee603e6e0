//! The record of a client. Reference 12.6.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::domain::records::channel::Channel;
use crate::domain::records::customfield::Customs;
use crate::domain::records::ids::FicheId;
use crate::domain::records::text::{Email, LongText, Name, Text};
use crate::domain::time::{Civil, Instant};

/// A client of the group. Reference 12.6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are documented in Reference 12.6 under these names")]
pub struct Fiche {
    pub id: FicheId,
    pub lastname: Name<64>,
    pub firstname: Name<64>,
    pub firstphone: Text<25>,
    pub secondphone: Text<25>,
    pub email: Option<Email>,
    /// A civil time without a zone, from 1800 to 9999.
    pub birthdate: Option<Civil>,
    pub comments: LongText,
    pub from_web: bool,
    pub rappel_email: bool,
    pub rappel_sms: bool,
    pub externid: Option<i64>,
    pub deleted: bool,
    pub customs: Customs,
    pub created_at: Instant,
    pub updated_at: Instant,
    /// The moment from which mails reach the client. A reminder due before is not sent.
    pub mail_since: Instant,
    /// The moment from which text messages reach the client.
    pub sms_since: Instant,
    /// Whether an unsubscription by a mailed link is its only change since it was made.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
    pub is_only_unsubscribed: bool,
    /// The client that this record of the same person was merged into, which is merged into no
    /// other. A merged record is deleted and empty, and does not change any more.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_4")]
    pub merged_into: Option<FicheId>,
    /// The moment at which the client was erased. An erased record is deleted and empty, and does
    /// not change any more. Reference 17.1.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_6")]
    pub erased_at: Option<Instant>,
}

impl Fiche {
    /// Makes a fiche with the defaults of Reference 12.6 and no name.
    pub fn new(id: FicheId, now: Instant) -> Self {
        Self {
            id,
            lastname: Name::default(),
            firstname: Name::default(),
            firstphone: Text::default(),
            secondphone: Text::default(),
            email: None,
            birthdate: None,
            comments: LongText::default(),
            from_web: false,
            rappel_email: true,
            rappel_sms: true,
            externid: None,
            deleted: false,
            customs: Customs::default(),
            created_at: now,
            updated_at: now,
            mail_since: now,
            sms_since: now,
            is_only_unsubscribed: false,
            merged_into: None,
            erased_at: None,
        }
    }

    /// The fiche without anything that tells of the person. Reference 6.16.
    pub fn emptied(&self, at: Instant) -> Self {
        Self {
            from_web: self.from_web,
            rappel_email: self.rappel_email,
            rappel_sms: self.rappel_sms,
            deleted: self.deleted,
            created_at: self.created_at,
            merged_into: self.merged_into,
            erased_at: self.erased_at,
            ..Self::new(self.id, at)
        }
    }

    /// Returns the rest of the record after its merge into another. A system that knows it by its
    /// identifier still finds it, and learns of the merge. Reference 6.20.
    pub fn merged(&self, kept: FicheId, at: Instant) -> Self {
        Self { deleted: true, externid: self.externid, merged_into: Some(kept), ..self.emptied(at) }
    }

    /// Returns what is left of the record when its client is erased: its id, the moments at which
    /// it was made and erased, and the record that it was merged into. Reference 17.1.
    pub fn erased(&self, at: Instant) -> Self {
        Self {
            deleted: true,
            erased_at: Some(at),
            created_at: self.created_at,
            merged_into: self.merged_into,
            ..Self::new(self.id, at)
        }
    }

    /// The reason why nothing new may name the client; `None` for a live one.
    pub fn closed_rule(&self) -> Option<String> {
        let is_deleted = || format!("fiche {} is deleted: restore it first", self.id);
        self.final_rule().or_else(|| self.deleted.then(is_deleted))
    }

    /// The reason why the record does not change any more; `None` for one that was neither merged
    /// nor erased.
    pub fn final_rule(&self) -> Option<String> {
        if self.erased_at.is_some() {
            return Some(format!("fiche {} was erased: make a new one", self.id));
        }
        let kept = self.merged_into?;
        Some(format!("fiche {} was merged into fiche {kept}: use that one", self.id))
    }

    /// Ends the reminders by mail, as the link in each of them does. Any reader of the mail can
    /// follow it, so that it is no sign that the shop or the client needs the record.
    pub fn unsubscribe(&mut self) {
        self.rappel_email = false;
        self.is_only_unsubscribed = self.is_as_made();
    }

    /// Whether it has not changed since it was made, but for an unsubscription.
    pub fn is_as_made(&self) -> bool {
        self.created_at == self.updated_at || self.is_only_unsubscribed
    }

    /// Records a change of the record as it was `before`, decided at `now` under the stamp `at`.
    pub fn record_change(&mut self, before: Option<&Self>, at: Instant, now: Instant) {
        self.updated_at = at;
        // A change after the unsubscription is another one.
        if before.is_some_and(|before| before.is_only_unsubscribed) {
            self.is_only_unsubscribed = false;
        }
        self.record_reachability(before, now);
    }

    /// Whether reminders reach the client by a channel. The client must accept them, have an
    /// address or a number, and not be deleted. Reference 7.5.
    pub fn can_be_reached(&self, channel: Channel) -> bool {
        if self.deleted {
            return false;
        }
        match channel {
            Channel::Mail => self.rappel_email && self.email.is_some(),
            Channel::Sms => self.rappel_sms && self.has_phone(),
        }
    }

    /// Whether either phone field holds a digit. Some hold a word such as "none".
    fn has_phone(&self) -> bool {
        let is_digit = |c: char| c.is_ascii_digit();
        self.firstphone.as_str().contains(is_digit) || self.secondphone.as_str().contains(is_digit)
    }

    /// The first telephone number, or else the second; empty if neither is given.
    pub fn any_phone(&self) -> &str {
        let first = self.firstphone.as_str();
        if first.is_empty() { self.secondphone.as_str() } else { first }
    }

    /// Records that a channel reaches the client from `now` on, if it did not `before`.
    fn record_reachability(&mut self, before: Option<&Self>, now: Instant) {
        for channel in Channel::ALL {
            let was_reached = before.is_some_and(|before| before.can_be_reached(channel));
            if was_reached || !self.can_be_reached(channel) {
                continue;
            }
            match channel {
                Channel::Mail => self.mail_since = now,
                Channel::Sms => self.sms_since = now,
            }
        }
    }

    /// The last name as it is shown. That of a deleted fiche begins with `$`. Reference 12.6.
    pub fn shown_lastname(&self) -> Cow<'_, str> {
        let lastname = self.lastname.as_str();
        if self.deleted { format!("${lastname}").into() } else { lastname.into() }
    }

    /// The last and first name, as the text of an appointment holds them. Reference 12.7.
    pub fn names(&self) -> String {
        let lastname = self.shown_lastname();
        match (lastname.is_empty(), self.firstname.as_str()) {
            (_, "") => lastname.into_owned(),
            (true, firstname) => firstname.to_owned(),
            (false, firstname) => format!("{lastname} {firstname}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emptied_record_keeps_what_tells_of_no_person() {
        let id = |number| FicheId::new(number).expect("an id");
        let full = Fiche {
            lastname: Name::new("Lovelace").expect("a name"),
            comments: LongText::new("by the back door").expect("a text"),
            from_web: true,
            rappel_email: false,
            rappel_sms: false,
            deleted: true,
            merged_into: Some(id(2)),
            erased_at: Some(Instant(30)),
            ..Fiche::new(id(1), Instant(10))
        };
        let kept = Fiche {
            lastname: Name::default(),
            comments: LongText::default(),
            updated_at: Instant(20),
            mail_since: Instant(20),
            sms_since: Instant(20),
            ..full.clone()
        };
        assert_eq!(full.emptied(Instant(20)), kept);
        let erased = Fiche {
            deleted: true,
            merged_into: Some(id(2)),
            erased_at: Some(Instant(20)),
            created_at: Instant(10),
            ..Fiche::new(id(1), Instant(20))
        };
        assert_eq!(full.erased(Instant(20)), erased);
    }

    #[test]
    fn a_channel_reaches_a_client_since_the_change_after_which_it_first_did() {
        let (made, now) = (Instant(10), Instant(20));
        let id = FicheId::new(1).expect("an id");
        let silent = Fiche { rappel_sms: false, ..Fiche::new(id, made) };
        let email = Some(Email::new("ada@example.org").expect("an address"));
        let reached = Fiche { email, ..silent.clone() };
        for (before, after, mail_since) in [
            (&silent, &reached, now),
            (&reached, &reached, made),
            (&silent, &silent, made),
            (&reached, &silent, made),
        ] {
            let mut changed = after.clone();
            changed.record_change(Some(before), now, now);
            assert_eq!((changed.mail_since, changed.sms_since), (mail_since, made));
        }
        let mut new = reached;
        new.record_change(None, now, now);
        assert_eq!((new.mail_since, new.sms_since), (now, made));
    }
}
