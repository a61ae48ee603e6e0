//! Calendars and calendarsets. Reference 12.2, 12.3.

use serde::{Deserialize, Serialize};

use crate::domain::records::ids::{CalendarId, CalendarsetId};
use crate::domain::records::text::{Bounded, Name, Text};
use crate::domain::time::Instant;

/// A display order. Rows of equal order are sorted by id.
pub type SortOrder = Bounded<-2_147_483_648, 2_147_483_647>;

/// Minutes of lead time, at most ten years. Reference 10.
pub type LeadMinutes = Bounded<0, 5_256_000>;

/// A calendar. Two live appointments of one calendar never overlap (Invariant 4). Reference 12.2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are documented in Reference 12.2 under these names")]
pub struct Calendar {
    pub id: CalendarId,
    pub calendarset_id: Option<CalendarsetId>,
    pub name: Name<255>,
    pub address: Text<255>,
    pub zipcode: Text<16>,
    pub city: Text<64>,
    pub sort: SortOrder,
    pub deleted: bool,
    pub publicname: Name<255>,
    /// Minutes between two starts that the module offers.
    pub generate_interval: Bounded<1, 1_440>,
    /// Minutes from now before which no start is offered. Reference 4.1.
    pub mintime_rdv: LeadMinutes,
    /// Minutes from now after which no start is offered. Reference 4.1.
    pub maxrdv_period: LeadMinutes,
    /// Minutes before its start up to which a client may cancel an appointment. Reference 6.10.
    pub mintime_annulation: LeadMinutes,
    pub created_at: Instant,
    pub updated_at: Instant,
    /// A line about it for clients.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_7")]
    pub tagline: Name<255>,
}

impl Calendar {
    /// Whether it lies in one of some sets; without any set, all calendars do.
    pub fn is_in_sets(&self, sets: &[CalendarsetId]) -> bool {
        sets.is_empty() || self.calendarset_id.is_some_and(|set| sets.contains(&set))
    }

    /// Makes a calendar with the defaults of Reference 12.2 and no name.
    pub fn new(id: CalendarId, now: Instant) -> Self {
        Self {
            id,
            calendarset_id: None,
            name: Name::default(),
            address: Text::default(),
            zipcode: Text::default(),
            city: Text::default(),
            sort: const { Bounded::known(0) },
            deleted: false,
            publicname: Name::default(),
            generate_interval: const { Bounded::known(15) },
            mintime_rdv: const { Bounded::known(0) },
            maxrdv_period: const { Bounded::known(131_400) },
            mintime_annulation: const { Bounded::known(2_880) },
            created_at: now,
            updated_at: now,
            tagline: Name::default(),
        }
    }
}

/// A set of calendars. Reference 12.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are documented in Reference 12.3 under these names")]
pub struct Calendarset {
    pub id: CalendarsetId,
    pub name: Name<255>,
    pub preposition: Text<255>,
    pub address: Text<255>,
    pub zipcode: Text<16>,
    pub city: Text<64>,
    pub sort: SortOrder,
    pub externid: Text<32>,
    pub hidden: bool,
    pub publicname: Name<255>,
    pub created_at: Instant,
    pub updated_at: Instant,
}

impl Calendarset {
    /// Makes a set without a name.
    pub fn new(id: CalendarsetId, now: Instant) -> Self {
        Self {
            id,
            name: Name::default(),
            preposition: Text::default(),
            address: Text::default(),
            zipcode: Text::default(),
            city: Text::default(),
            sort: const { Bounded::known(0) },
            externid: Text::default(),
            hidden: false,
            publicname: Name::default(),
            created_at: now,
            updated_at: now,
        }
    }

    /// The name that the module shows: the public name, or the name if that is blank.
    pub fn shown_name(&self) -> &str {
        if self.publicname.is_blank() { self.name.as_str() } else { self.publicname.as_str() }
    }
}
