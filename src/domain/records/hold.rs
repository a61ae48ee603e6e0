//! Holds: time of a calendar that is kept for one web caller for some minutes. Reference 6.7.
//!
//! A hold is part of the group's history and no vevent. It blocks web callers only.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::domain::records::booking_origin::BookingOrigin;
use crate::domain::records::channel::Channel;
use crate::domain::records::customfield::Customs;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{CalendarId, InterventionId, VeventId};
use crate::domain::records::secret_text::parse_alphanumeric;
use crate::domain::records::text::{LongText, Text};
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;

/// Number of wrong codes that end a booking that waits for its code.
pub const WRONG_CODES_MAX: u8 = 5;

/// The secret that names a hold: 32 random letters and digits.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldToken([u8; Self::LENGTH]);

impl HoldToken {
    /// Characters of a token.
    pub const LENGTH: usize = 32;

    /// Parses a token; `None` if the text is not 32 ASCII letters and digits.
    pub fn new(text: &str) -> Option<Self> {
        parse_alphanumeric(text).map(Self)
    }

    /// The 32 characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a token is ASCII")
    }

    /// The id of its hold.
    pub fn id(&self) -> HoldId {
        HoldId(Sha256::digest(self.0).into())
    }
}

impl std::fmt::Debug for HoldToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HoldToken(…)")
    }
}

/// The id of a hold: the SHA-256 of its token. The duration of a look-up by it tells nothing about
/// the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HoldId(pub [u8; 32]);

impl HoldId {
    /// The id of no hold. An imported message about a code has it.
    pub const NONE: Self = Self([0; 32]);
}

/// Time of a calendar that is kept for one web caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    /// The secret that names it.
    pub token: HoldToken,
    /// The calendar.
    pub calendar_id: CalendarId,
    /// The start of the first leg.
    pub start: Instant,
    /// The legs in order, each right after the one before; at least one.
    pub legs: Vec<HeldLeg>,
    /// The stamp of the event that made it.
    pub made_at: Instant,
    /// The moment from which it blocks no caller, by the clock of that event.
    pub expires_at: Instant,
    /// The keyed hash of the source that made it; `None` if holds of the source are not limited.
    pub source: Option<[u8; 16]>,
    /// The use that is made of it.
    pub state: HoldState,
    /// Whether it was made with a key alone.
    pub is_by_key: bool,
    /// Whether its client has asked for more minutes, which is granted once.
    #[serde(deserialize_with = "crate::domain::records::added::in_format_7")]
    pub is_extended: bool,
}

/// One leg of a held chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLeg {
    /// The intervention.
    pub intervention_id: InterventionId,
    /// Its length in elapsed seconds when the time was decided; at least 1.
    pub length_seconds: u32,
}

/// The use that is made of a hold. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum HoldState {
    /// It waits for the booking that names it.
    Chosen,
    /// A booking waits for its code.
    Unconfirmed(Box<UnconfirmedBooking>),
    /// The booking was confirmed.
    Confirmed {
        /// The appointments made, in order.
        appointments: Vec<VeventId>,
        /// Number of wrong codes given, before and since.
        wrong_codes: u8,
    },
    /// An appointment or a plage took the time.
    Overwritten,
    /// Too many wrong codes were given.
    Guessed,
}

/// A booking that its client has not confirmed yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnconfirmedBooking {
    /// The client as given. Its id and its stamps count for nothing.
    pub client: Fiche,
    /// The channel of the code.
    pub channel: Channel,
    /// The address or number that the code is sent to.
    pub recipient: Text<255>,
    /// The comment on the appointments.
    pub comments: LongText,
    /// The label for the origin of the booking.
    pub websource: Text<255>,
    /// Whether the client wants a text message as a reminder.
    pub smsreminder: bool,
    /// The customised attributes of the appointments.
    pub customs: Customs,
    /// Number of wrong codes given.
    pub wrong_codes: u8,
    /// The origin of the booking.
    pub booking_origin: Option<Box<BookingOrigin>>,
}

impl Hold {
    /// The id, by which it is kept.
    pub fn id(&self) -> HoldId {
        self.token.id()
    }

    /// The time from the start of the first leg to the end of the last.
    pub fn interval(&self) -> Interval {
        let mut end = self.start;
        for leg in &self.legs {
            end = end.plus_seconds(i64::from(leg.length_seconds));
        }
        Interval { start: self.start, end }
    }

    /// Whether its time is kept until it expires.
    pub const fn keeps_time(&self) -> bool {
        matches!(self.state, HoldState::Chosen | HoldState::Unconfirmed(_))
    }

    /// The source by which it is limited; `None` once it does not wait for its booking, or behind
    /// the key of a server.
    pub const fn limited_source(&self) -> Option<[u8; 16]> {
        if matches!(self.state, HoldState::Chosen) { self.source } else { None }
    }

    /// Whether it keeps its time now.
    pub fn is_live(&self, now: Instant) -> bool {
        self.keeps_time() && now < self.expires_at
    }
}
