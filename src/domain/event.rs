//! What has happened to a group. The journal holds these, and nothing else makes a state.

use serde::{Deserialize, Serialize};

use super::fiche::Fiche;
use super::ids::VeventId;
use super::time::Instant;
use super::vevent::Vevent;

/// A change of one group, decided once and never judged again. The order of the variants is the format on disk: new
/// ones go to the end, none is ever reused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A client has one appointment or several in a row.
    AppointmentsBooked {
        /// The group's stamp of it.
        at: Instant,
        /// The client's record where the booking made or changed it.
        fiche: Option<Box<Fiche>>,
        /// One appointment per intervention, in order; at least one.
        legs: Vec<Vevent>,
    },
    /// An appointment no longer takes its time.
    AppointmentCancelled {
        /// The group's stamp of it.
        at: Instant,
        /// Which.
        id: VeventId,
    },
    /// An event of a calendar is new, or stands differently, or elsewhere.
    VeventPut {
        /// The group's stamp of it.
        at: Instant,
        /// The whole event as it is now.
        row: Box<Vevent>,
    },
    /// A client's record is new, or says something else.
    FichePut {
        /// The group's stamp of it.
        at: Instant,
        /// The whole record as it is now.
        fiche: Box<Fiche>,
    },
}
