//! The group: the shop and the settings that its calendars share. Reference 12.1.

use serde::{Deserialize, Deserializer, Serialize};

use crate::domain::records::added::{
    in_format_2_or, in_format_4_or, in_format_5_or, in_format_6_or,
};
use crate::domain::records::embed_origins::EmbedOrigins;
use crate::domain::records::ids::GroupId;
use crate::domain::records::sms_countries::SmsCountries;
use crate::domain::records::text::{
    Bounded, Colour, InvalidValue, LongText, Name, ReminderLead, Text,
};
use crate::domain::time::Instant;
use crate::domain::time::zone_names::ZoneName;

/// A company, shop or office. Reference 12.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are documented in Reference 12.1 under these names")]
pub struct Group {
    pub id: GroupId,
    pub name: Name<255>,
    pub preposition: Text<255>,
    pub phone: Text<20>,
    pub fax: Text<20>,
    pub address: Text<255>,
    pub city: Text<64>,
    pub zipcode: Text<16>,
    pub country: Text<255>,
    pub timezone: ZoneName,
    pub sendmail: bool,
    pub mailreminder: ReminderLead<2_880>,
    pub country_code: Text<10>,
    pub smsreminder: ReminderLead<1_440>,
    pub sms_sender_name: Text<11>,
    pub check_sms: bool,
    pub check_sms_from_web: bool,
    pub inactive: bool,
    pub open: bool,
    pub open_data: bool,
    pub calendar_choice: i64,
    pub any_calendar: bool,
    /// Maximum number of interventions in one booking through the module, 1 to 100.
    pub max_multirdvs: Bounded<1, 100>,
    pub usercolors: Option<Usercolors>,
    pub display_intervention_length: bool,
    pub display_intervention_price: bool,
    pub currency_code: Currency,
    pub validate_email: bool,
    /// A slug made from the name, unique in the store.
    pub urlname: Text<255>,
    /// Minimum minutes between two appointments of one client; 0 for no minimum. Reference 6.4.
    pub mintime_between: Bounded<0, 5_256_000>,
    /// Maximum number of upcoming appointments of one client; 0 for no limit. Reference 6.4.
    pub maxrdv_number: Bounded<0, 1_000_000>,
    pub created_at: Instant,
    pub updated_at: Instant,
    /// The moment of the last change of the mail reminder times. A reminder due before is not sent.
    pub mail_since: Instant,
    /// The moment of the last change of the text message times.
    pub sms_since: Instant,
    /// The countries that text messages about bookings with a key may go to. Reference 7.5.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
    pub sms_countries: SmsCountries,
    /// Whether the group has a booking page. Groups of earlier releases have none.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
    pub web_page: bool,
    /// Text about the use of the details of clients, for the booking page.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
    pub privacy_text: LongText,
    /// The proof that a booking by a key alone needs. Reference 6.8.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_2")]
    pub verify_bookings: VerifyBookings,
    /// Percentage of a calendar's open time of a day that unverified bookings with a key alone may
    /// hold. Reference 4.9.
    #[serde(deserialize_with = "all_of_the_day")]
    pub unverified_day_percent: Bounded<1, 100>,
    /// Seconds for which a mail about a professional's change waits for further ones. Reference
    /// 7.3.
    #[serde(deserialize_with = "at_once")]
    pub notice_delay_seconds: Bounded<0, 600>,
    /// Days for which the history is kept, at least 4 whatever it says. Reference 16.
    #[serde(deserialize_with = "a_year")]
    pub history_days: Bounded<0, 3_650>,
    /// Whether its professionals need a second factor. Reference 3.11.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_6")]
    pub second_factor_required: bool,
    /// Months after which past appointments lose their person; 0 keeps them. Reference 17.5.
    #[serde(deserialize_with = "kept")]
    pub retention_appointments_months: Bounded<0, 600>,
    /// Months after which idle clients are erased; 0 keeps them. Reference 17.5.
    #[serde(deserialize_with = "kept")]
    pub retention_clients_months: Bounded<0, 600>,
    /// Months after which unused accounts are closed; 0 keeps them. Reference 17.5.
    #[serde(deserialize_with = "kept")]
    pub retention_accounts_months: Bounded<0, 600>,
    /// The origins of sites that may show the booking pages in a frame. Reference 14.8.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_7")]
    pub embed_origins: EmbedOrigins,
    /// The contact that a booking by the public needs. Reference 6.1.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_7")]
    pub contact_needed: ContactNeeded,
    /// The way to the shop, for the booking pages.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_7")]
    pub access_text: Text<1_000>,
    /// The things that clients bring to every appointment, for the booking pages.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_7")]
    pub bring_text: Text<1_000>,
}

/// Decodes the months of a retention, which format 6 added.
fn kept<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bounded<0, 600>, D::Error> {
    in_format_6_or(deserializer, const { Bounded::known(0) })
}

/// Decodes a percentage that format 2 added: groups of earlier releases have no such limit.
fn all_of_the_day<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bounded<1, 100>, D::Error> {
    in_format_2_or(deserializer, const { Bounded::known(100) })
}

/// Decodes the delay of notices, which format 4 added: groups of earlier releases have none.
fn at_once<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bounded<0, 600>, D::Error> {
    in_format_4_or(deserializer, const { Bounded::known(0) })
}

/// Decodes the days of the history, which format 5 added.
fn a_year<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bounded<0, 3_650>, D::Error> {
    in_format_5_or(deserializer, const { Bounded::known(365) })
}

impl Group {
    /// Makes a group with the defaults of Reference 12.1 and no name.
    pub fn new(id: GroupId, timezone: ZoneName, now: Instant) -> Self {
        Self {
            id,
            name: Name::default(),
            preposition: Text::default(),
            phone: Text::default(),
            fax: Text::default(),
            address: Text::default(),
            city: Text::default(),
            zipcode: Text::default(),
            country: Text::default(),
            timezone,
            sendmail: true,
            mailreminder: ReminderLead::default(),
            country_code: Text::default(),
            smsreminder: ReminderLead::default(),
            sms_sender_name: Text::default(),
            check_sms: true,
            check_sms_from_web: true,
            inactive: false,
            open: true,
            open_data: true,
            calendar_choice: 2,
            any_calendar: true,
            max_multirdvs: const { Bounded::known(1) },
            usercolors: None,
            display_intervention_length: false,
            display_intervention_price: false,
            currency_code: Currency::Eur,
            validate_email: true,
            urlname: Text::default(),
            mintime_between: const { Bounded::known(0) },
            maxrdv_number: const { Bounded::known(0) },
            created_at: now,
            updated_at: now,
            mail_since: now,
            sms_since: now,
            sms_countries: SmsCountries::own(),
            web_page: true,
            privacy_text: LongText::default(),
            verify_bookings: VerifyBookings::Off,
            unverified_day_percent: const { Bounded::known(100) },
            notice_delay_seconds: const { Bounded::known(60) },
            history_days: const { Bounded::known(365) },
            second_factor_required: false,
            retention_appointments_months: const { Bounded::known(0) },
            retention_clients_months: const { Bounded::known(0) },
            retention_accounts_months: const { Bounded::known(0) },
            embed_origins: EmbedOrigins::default(),
            contact_needed: ContactNeeded::None,
            access_text: Text::default(),
            bring_text: Text::default(),
        }
    }

    /// Records that reminders are due at other times than with the settings `before`.
    pub fn record_rescheduling(&mut self, before: &Self, now: Instant) {
        let moved = self.timezone != before.timezone;
        if moved || self.mailreminder != before.mailreminder {
            self.mail_since = now;
        }
        if moved || self.smsreminder != before.smsreminder {
            self.sms_since = now;
        }
    }
}

/// The proof that a booking by a key alone needs. Reference 6.8. The order of the variants is the
/// format on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[derive(strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum VerifyBookings {
    /// None.
    #[default]
    Off,
    /// A code that is mailed to the client.
    Mail,
    /// A code that is sent to the client as a text message.
    Sms,
}

impl VerifyBookings {
    /// All settings.
    pub const ALL: [Self; 3] = [Self::Off, Self::Mail, Self::Sms];

    /// The setting's name in requests and answers.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Parses a setting.
    ///
    /// # Errors
    /// The text names no setting.
    pub fn new(text: &str) -> Result<Self, InvalidValue> {
        text.parse()
            .map_err(|_: strum::ParseError| InvalidValue("must be one of off, mail, sms".into()))
    }
}

/// The contact that a booking by the public needs. Reference 6.1. The order of the
/// variants is the format on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[derive(strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum ContactNeeded {
    /// Not at all.
    #[default]
    None,
    /// By an e-mail address.
    Email,
    /// By a telephone number.
    Phone,
    /// By an e-mail address or a telephone number.
    Either,
}

impl ContactNeeded {
    /// All settings.
    pub const ALL: [Self; 4] = [Self::None, Self::Email, Self::Phone, Self::Either];

    /// The setting's name in requests and answers.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Parses a setting.
    ///
    /// # Errors
    /// The text names no setting.
    pub fn new(text: &str) -> Result<Self, InvalidValue> {
        text.parse().map_err(|_: strum::ParseError| {
            InvalidValue("must be one of none, email, phone, either".into())
        })
    }
}

/// The currency of prices. Reference 12.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[derive(strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
#[expect(missing_docs, reason = "ISO 4217 codes")]
pub enum Currency {
    Cad,
    Eur,
    Xpf,
    Xaf,
    Gbp,
    Chf,
    Usd,
}

impl Currency {
    /// All currencies, in the order of Reference 12.1.
    pub const ALL: [Self; 7] =
        [Self::Cad, Self::Eur, Self::Xpf, Self::Xaf, Self::Gbp, Self::Chf, Self::Usd];

    /// The ISO 4217 code.
    pub fn code(self) -> &'static str {
        self.into()
    }

    /// Parses an ISO 4217 code.
    ///
    /// # Errors
    /// The code is not that of a supported currency.
    pub fn new(code: &str) -> Result<Self, InvalidValue> {
        code.parse().map_err(|_: strum::ParseError| {
            InvalidValue("must be one of CAD, EUR, XPF, XAF, GBP, CHF, USD".into())
        })
    }
}

/// Colours of the module, as the JSON text in which they were given. Reference 12.1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usercolors(Text<255>);

impl Usercolors {
    /// The keys of the object.
    pub const KEYS: [&'static str; 7] = [
        "content_bg",
        "content_text",
        "content_links",
        "main_bg",
        "main_text",
        "page_bg",
        "page_text",
    ];

    /// Parses a JSON object of known keys with `#RRGGBB` values.
    ///
    /// # Errors
    /// The text is not a JSON object, holds an unknown key or a value that is no colour, or is
    /// longer than 255 characters.
    pub fn new(text: &str) -> Result<Self, InvalidValue> {
        let kept = Text::new(text)?;
        let Ok(object) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text)
        else {
            return Err(InvalidValue("must be JSON text holding an object of colours".into()));
        };
        for (key, value) in &object {
            if !Self::KEYS.contains(&key.as_str()) {
                return Err(InvalidValue(format!(
                    "may only hold the keys {}",
                    Self::KEYS.join(", ")
                )));
            }
            let Some(colour) = value.as_str() else {
                return Err(InvalidValue(format!("{key} must be a colour such as #1a2b3c")));
            };
            Colour::new(colour).map_err(|error| InvalidValue(format!("{key} {error}")))?;
        }
        Ok(Self(kept))
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usercolors_take_only_listed_keys_and_colours() {
        assert!(Usercolors::new(r##"{"main_bg":"#ffffff","page_text":"#000000"}"##).is_ok());
        assert!(Usercolors::new("{}").is_ok());
        for bad in [
            "",
            "[]",
            "{",
            r##"{"other":"#ffffff"}"##,
            r#"{"main_bg":"white"}"#,
            r#"{"main_bg":1}"#,
        ] {
            assert!(Usercolors::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn reminders_count_anew_from_a_change_of_their_times() {
        let zone = |name| ZoneName::from_name(name).expect("a zone");
        let before = Group::new(GroupId::new(1).expect("an id"), zone("Paris"), Instant(10));
        let since = |change: &dyn Fn(&mut Group)| {
            let mut group = before.clone();
            change(&mut group);
            group.record_rescheduling(&before, Instant(20));
            (group.mail_since, group.sms_since)
        };
        let old = Instant(10);
        let new = Instant(20);
        assert_eq!(since(&|_| {}), (old, old));
        assert_eq!(since(&|group| group.timezone = zone("UTC")), (new, new));
        let mail = ReminderLead::new(77).expect("minutes");
        assert_eq!(since(&|group| group.mailreminder = mail), (new, old));
        let sms = ReminderLead::new(77).expect("minutes");
        assert_eq!(since(&|group| group.smsreminder = sms), (old, new));
    }
}
