//! Interventions and interventionsets. Reference 12.4, 12.5.

use serde::{Deserialize, Serialize};

use crate::domain::records::calendar::SortOrder;
use crate::domain::records::ids::{InterventionId, InterventionsetId};
use crate::domain::records::text::{Bounded, Colour, LongText, Name, Text};
use crate::domain::time::Instant;

/// A service that clients book. Reference 12.4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are documented in Reference 12.4 under these names")]
pub struct Intervention {
    pub id: InterventionId,
    pub interventionset_id: Option<InterventionsetId>,
    pub name: Name<255>,
    pub abbr: Text<255>,
    /// Minutes of elapsed time.
    pub length: Bounded<1, 1_440>,
    pub colorref: Colour,
    pub sort: SortOrder,
    /// Cents.
    pub price: Option<Bounded<0, 1_000_000_000>>,
    pub deleted: bool,
    pub publicname: Name<255>,
    pub description: LongText,
    pub created_at: Instant,
    pub updated_at: Instant,
    /// The things that clients bring to it, for the booking pages.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_7")]
    pub bring_text: Text<1_000>,
}

impl Intervention {
    /// Makes an intervention with the defaults of Reference 12.4 and no name.
    pub fn new(id: InterventionId, now: Instant) -> Self {
        Self {
            id,
            interventionset_id: None,
            name: Name::default(),
            abbr: Text::default(),
            length: const { Bounded::known(15) },
            colorref: Colour::DEFAULT,
            sort: const { Bounded::known(0) },
            price: None,
            deleted: false,
            publicname: Name::default(),
            description: LongText::default(),
            created_at: now,
            updated_at: now,
            bring_text: Text::default(),
        }
    }
}

/// A set of interventions. Reference 12.5.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are documented in Reference 12.5 under these names")]
pub struct Interventionset {
    pub id: InterventionsetId,
    pub name: Name<255>,
    pub sort: SortOrder,
    pub publicname: Name<255>,
    pub description: LongText,
    pub created_at: Instant,
    pub updated_at: Instant,
}

impl Interventionset {
    /// Makes a set without a name.
    pub fn new(id: InterventionsetId, now: Instant) -> Self {
        Self {
            id,
            name: Name::default(),
            sort: const { Bounded::known(0) },
            publicname: Name::default(),
            description: LongText::default(),
            created_at: now,
            updated_at: now,
        }
    }
}
