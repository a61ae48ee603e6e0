//! The client's record. Spec 2.6.

use serde::{Deserialize, Serialize};

use super::customfield::Customs;
use super::ids::FicheId;
use super::text::{Email, LongText, Name, Text};
use super::time::{Civil, Instant};

/// A client of the group. Spec 2.6.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the specification, section 2.6, and bear its names")]
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
        }
    }

    /// Last name as it is shown: a deleted fiche's begins with `$`. Spec 2.6.
    #[must_use]
    pub fn shown_lastname(&self) -> String {
        if self.deleted { format!("${}", self.lastname.as_str()) } else { self.lastname.as_str().to_owned() }
    }

    /// The names that an appointment's text holds. Spec 2.7.
    #[must_use]
    pub fn names(&self) -> String {
        let lastname = self.shown_lastname();
        match (lastname.is_empty(), self.firstname.as_str()) {
            (_, "") => lastname,
            (true, firstname) => firstname.to_owned(),
            (false, firstname) => format!("{lastname} {firstname}"),
        }
    }
}
