//! The parts of the settings.

use crate::web::practice::settings::fields::field_text::FieldText;
use crate::web::practice::settings::fields::group;
use crate::web::practice::texts::settings::SettingsTexts;

/// A part of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Shop,
    Booking,
    Messages,
    Texts,
    Images,
    Privacy,
    Calendars,
    Calendarsets,
    Interventions,
    Interventionsets,
    Customfields,
    Links,
    Keys,
    Accounts,
    Webhooks,
}

impl Part {
    /// All parts, in the order of the first screen.
    pub(crate) const ALL: [Self; 15] = [
        Self::Shop,
        Self::Calendars,
        Self::Interventions,
        Self::Booking,
        Self::Messages,
        Self::Texts,
        Self::Links,
        Self::Images,
        Self::Privacy,
        Self::Calendarsets,
        Self::Interventionsets,
        Self::Customfields,
        Self::Keys,
        Self::Webhooks,
        Self::Accounts,
    ];

    /// Its name in paths.
    pub(crate) const fn slug(self) -> &'static str {
        match self {
            Self::Shop => "shop",
            Self::Booking => "booking",
            Self::Messages => "messages",
            Self::Texts => "texts",
            Self::Images => "images",
            Self::Privacy => "privacy",
            Self::Calendars => "calendars",
            Self::Calendarsets => "calendarsets",
            Self::Interventions => "interventions",
            Self::Interventionsets => "interventionsets",
            Self::Customfields => "customfields",
            Self::Links => "links",
            Self::Keys => "keys",
            Self::Accounts => "accounts",
            Self::Webhooks => "webhooks",
        }
    }

    /// The path of its first screen below `/p/<urlname>`.
    pub(crate) fn path(self) -> String {
        format!("/settings/{}", self.slug())
    }

    /// The part of the group's own fields with a name in paths.
    pub(crate) fn of_group(slug: &str) -> Option<(Self, &'static [FieldText])> {
        let part = Self::ALL.into_iter().find(|part| part.slug() == slug)?;
        let words = match part {
            Self::Shop => group::SHOP,
            Self::Booking => group::BOOKING,
            Self::Messages => group::MESSAGES,
            Self::Texts => group::TEXTS,
            Self::Privacy => group::PRIVACY,
            Self::Images
            | Self::Calendars
            | Self::Calendarsets
            | Self::Interventions
            | Self::Interventionsets
            | Self::Customfields
            | Self::Links
            | Self::Keys
            | Self::Webhooks
            | Self::Accounts => return None,
        };
        Some((part, words))
    }

    pub(crate) const fn title(self, text: &SettingsTexts) -> &'static str {
        match self {
            Self::Shop => text.shop,
            Self::Booking => text.booking,
            Self::Messages => text.messages,
            Self::Texts => text.texts,
            Self::Images => text.images,
            Self::Privacy => text.privacy,
            Self::Calendars => text.calendars,
            Self::Calendarsets => text.calendarsets,
            Self::Interventions => text.interventions,
            Self::Interventionsets => text.interventionsets,
            Self::Customfields => text.customfields,
            Self::Links => text.links,
            Self::Keys => text.keys,
            Self::Accounts => text.accounts,
            Self::Webhooks => text.webhooks,
        }
    }

    /// The sentence below its title.
    pub(crate) const fn about(self, text: &SettingsTexts) -> &'static str {
        match self {
            Self::Shop => text.shop_about,
            Self::Booking => text.booking_about,
            Self::Messages => text.messages_about,
            Self::Texts => text.texts_about,
            Self::Images => text.images_about,
            Self::Privacy => text.privacy_about,
            Self::Calendars => text.calendars_about,
            Self::Calendarsets => text.calendarsets_about,
            Self::Interventions => text.interventions_about,
            Self::Interventionsets => text.interventionsets_about,
            Self::Customfields => text.customfields_about,
            Self::Links => text.links_about,
            Self::Keys => text.keys_about,
            Self::Accounts => text.accounts_about,
            Self::Webhooks => text.webhooks_about,
        }
    }
}
