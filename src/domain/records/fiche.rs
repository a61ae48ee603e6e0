//! The client's record. Reference 12.6.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::domain::messaging::channel::Channel;
use crate::domain::records::customfield::Customs;
use crate::domain::records::ids::FicheId;
use crate::domain::records::text::{Email, LongText, Name, Text};
use crate::domain::time::{Civil, Instant};

/// A client of the group. Reference 12.6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "the fields are those of the specification, section 2.6, and bear its names"
)]
pub struct Fiche {
    pub id: FicheId,
    pub lastname: Name<64>,
    pub firstname: Name<64>,
    pub firstphone: Text<25>,
    pub secondphone: Text<25>,
    pub email: Option<Email>,
    /// Tied to no zone, 1800 to 9999.
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
    /// Since when mails reach the client: what was due before is not sent.
    pub mail_since: Instant,
    /// Since when text messages do.
    pub sms_since: Instant,
}

impl Fiche {
    /// A fiche with the specification's defaults and no name.
    #[must_use]
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
        }
    }

    /// Whether reminders reach the client by a channel: it accepts them, is not deleted, and has an address or a number.
    /// Reference 7.
    #[must_use]
    pub fn can_be_reached(&self, channel: Channel) -> bool {
        !self.deleted
            && match channel {
                Channel::Mail => self.rappel_email && self.email.is_some(),
                Channel::Sms => self.rappel_sms && self.has_phone(),
            }
    }

    /// Whether either number has a digit: people write "none" there too.
    fn has_phone(&self) -> bool {
        let phones = [self.firstphone.as_str(), self.secondphone.as_str()];
        phones.iter().any(|phone| phone.bytes().any(|byte| byte.is_ascii_digit()))
    }

    /// Notes since when the client can be reached, if it could not as it stood `before`.
    pub fn note_reached(&mut self, before: Option<&Self>, now: Instant) {
        let newly = |channel| {
            self.can_be_reached(channel) && !before.is_some_and(|it| it.can_be_reached(channel))
        };
        let (mail, sms) = (newly(Channel::Mail), newly(Channel::Sms));
        if mail {
            self.mail_since = now;
        }
        if sms {
            self.sms_since = now;
        }
    }

    /// Last name as it is shown: a deleted fiche's begins with `$`. Reference 12.6.
    #[must_use]
    pub fn shown_lastname(&self) -> Cow<'_, str> {
        let lastname = self.lastname.as_str();
        if self.deleted { format!("${lastname}").into() } else { lastname.into() }
    }

    /// The names that an appointment's text holds. Reference 12.7.
    #[must_use]
    pub fn names(&self) -> String {
        let lastname = self.shown_lastname();
        match (lastname.is_empty(), self.firstname.as_str()) {
            (_, "") => lastname.into_owned(),
            (true, firstname) => firstname.to_owned(),
            (false, firstname) => format!("{lastname} {firstname}"),
        }
    }
}
