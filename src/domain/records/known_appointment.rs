//! An appointment as its client knows it, for notices that wait. Reference 7.3.

use serde::{Deserialize, Serialize};

use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, MessageId};
use crate::domain::records::vevent::Vevent;
use crate::domain::time::Instant;

/// An appointment as its client knows it: by the last message about it that has left, or else by
/// the booking itself. The order of the members is the format on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownAppointment {
    /// The client.
    pub client: FicheId,
    /// The client's surest knowledge.
    pub sure: Expectation,
    /// The news of a message that had begun to leave.
    pub news: Option<News>,
    /// Whether still another message may have arrived or not.
    pub in_doubt: bool,
}

/// The news of a message that has begun to leave. The order of the members is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct News {
    /// The message.
    pub by: MessageId,
    /// The client's knowledge once it has arrived.
    pub expectation: Expectation,
}

/// A client's expectation of an appointment. The order of the members is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The appointment. If it is not expected: as it was, or as it is for another client.
    pub details: AppointmentDetails,
    /// Whether the client expects it: it has one, and has heard of no cancellation.
    pub is_expected: bool,
}

/// The parts of an appointment whose change a client would notice. The order of the members is the
/// format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppointmentDetails {
    /// Its start.
    pub start: Instant,
    /// Its elapsed length.
    pub length_seconds: u32,
    /// Its calendar.
    pub calendar: CalendarId,
    /// Its intervention.
    pub intervention: InterventionId,
}

impl AppointmentDetails {
    /// Returns the details of an appointment; `None` for an event of another kind.
    pub fn from_vevent(row: &Vevent) -> Option<Self> {
        let appointment = row.appointment()?;
        Some(Self {
            start: appointment.start,
            length_seconds: appointment.length_seconds,
            calendar: row.calendar_id,
            intervention: appointment.intervention_id,
        })
    }
}

impl Expectation {
    /// Returns a client's true expectation of an event: of its own live appointment. `None` if the
    /// event is no appointment.
    pub fn of_row(row: &Vevent, client: FicheId) -> Option<Self> {
        let is_own = row.appointment()?.fiche_id == client;
        let details = AppointmentDetails::from_vevent(row)?;
        Some(Self { details, is_expected: is_own && !row.deleted })
    }

    /// Whether a client cannot tell two expectations apart.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self.is_expected, other.is_expected) {
            (true, true) => self.details == other.details,
            (false, false) => true,
            (true, false) | (false, true) => false,
        }
    }
}
