//! The settings before and after a change. Reference 16.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::Customfield;
use crate::domain::records::group::Group;
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::text::LongText;
use crate::domain::state::history::row::HistoryField;

/// The record of a setting before and after a change, without its long texts, of which the row has
/// the names alone. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SettingsChange {
    /// The group's own fields.
    Group(Versions<Group>),
    /// A calendar.
    Calendar(Versions<Calendar>),
    /// A set of calendars.
    Calendarset(Versions<Calendarset>),
    /// An intervention.
    Intervention(Versions<Intervention>),
    /// A set of interventions.
    Interventionset(Versions<Interventionset>),
    /// A customised attribute.
    Customfield(Versions<Customfield>),
}

impl SettingsChange {
    /// Whether local times of the group have other instants after it.
    pub(crate) fn changes_time_zone(&self) -> bool {
        match self {
            Self::Group(Versions { before: Some(before), after: Some(after) }) => {
                before.timezone != after.timezone
            }
            Self::Group(_)
            | Self::Calendar(_)
            | Self::Calendarset(_)
            | Self::Intervention(_)
            | Self::Interventionset(_)
            | Self::Customfield(_) => false,
        }
    }
}

/// A record before and after a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Versions<T> {
    /// The record before; `None` for a new one.
    pub before: Option<Arc<T>>,
    /// The record after; `None` for one that was removed.
    pub after: Option<Arc<T>>,
}

/// A record of settings, whose long texts the history leaves out.
pub(crate) trait KeptRecord: Clone {
    /// The field of its long text; `None` if it has none.
    const LONG_TEXT: Option<HistoryField>;

    /// Takes the long text out of it.
    fn take_long_text(&mut self) -> LongText;
}

impl KeptRecord for Group {
    const LONG_TEXT: Option<HistoryField> = Some(HistoryField::PrivacyText);

    fn take_long_text(&mut self) -> LongText {
        std::mem::take(&mut self.privacy_text)
    }
}

impl KeptRecord for Intervention {
    const LONG_TEXT: Option<HistoryField> = Some(HistoryField::Description);

    fn take_long_text(&mut self) -> LongText {
        std::mem::take(&mut self.description)
    }
}

impl KeptRecord for Interventionset {
    const LONG_TEXT: Option<HistoryField> = Some(HistoryField::Description);

    fn take_long_text(&mut self) -> LongText {
        std::mem::take(&mut self.description)
    }
}

macro_rules! without_long_text {
    ($($record:ty),*) => {$(
        impl KeptRecord for $record {
            const LONG_TEXT: Option<HistoryField> = None;

            fn take_long_text(&mut self) -> LongText {
                LongText::default()
            }
        }
    )*};
}

without_long_text!(Calendar, Calendarset, Customfield);
