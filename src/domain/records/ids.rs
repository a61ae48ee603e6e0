//! Identifiers: one type per kind of record, so that a calendar's id cannot be used for an
//! intervention.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Largest identifier. Every JSON reader represents it exactly.
pub const ID_MAX: u64 = 9_007_199_254_740_991;

/// An identifier of any kind of record.
pub trait RecordId: Copy + fmt::Debug + Send + Sync + 'static {
    /// Returns the identifier of a number; `None` outside 1 to [`ID_MAX`].
    fn from_number(number: u64) -> Option<Self>;

    /// Its number.
    fn to_number(self) -> u64;
}

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            /// Returns the identifier of a number; `None` outside 1 to [`ID_MAX`].
            pub const fn new(number: u64) -> Option<Self> {
                if number == 0 || number > ID_MAX { None } else { Some(Self(number)) }
            }

            /// Its number, 1 to [`ID_MAX`].
            pub const fn number(self) -> u64 {
                self.0
            }
        }

        impl RecordId for $name {
            fn from_number(number: u64) -> Option<Self> {
                Self::new(number)
            }

            fn to_number(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

id! {
    /// A group: a company, shop or office. Reference 12.1.
    GroupId,
    /// A calendar of a group. Reference 12.2.
    CalendarId,
    /// A set of calendars. Reference 12.3.
    CalendarsetId,
    /// A service that clients book. Reference 12.4.
    InterventionId,
    /// A set of interventions. Reference 12.5.
    InterventionsetId,
    /// A client record. Reference 12.6.
    FicheId,
    /// An event of a calendar. An appointment has the id of its vevent. Reference 12.7.
    VeventId,
    /// A definition of a customised attribute. Reference 12.9.
    CustomfieldId,
    /// A professional, who logs in to manage groups. Reference 3.3.
    ProId,
    /// A message of a group; ascending in the order of their creation. Reference 7.2.
    MessageId,
    /// A calendar feed of a group; ascending in the order of their creation. Reference 19.1.
    CalendarfeedId,
    /// A webhook of a group. Reference 18.
    WebhookId,
}
