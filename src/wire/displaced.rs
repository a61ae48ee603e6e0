//! The appointments that a change would displace, in answers, and the digest of their list.
//! Reference 6.19.

use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

use crate::domain::decisions::displaced::{DisplacedAppointment, Displacement};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, VeventId};
use crate::domain::state::group_state::GroupState;
use crate::wire::datetime::{LocalTime, format_rfc_3339};
use crate::wire::params::Params;
use crate::wire::schema::{Count, UtcTime, of_type, one_of, pattern, schema_names};

/// Maximum number of appointments that an answer lists.
pub const LISTED_MAX: usize = 100;
/// The parameter, and the member of a batch, that names a list.
pub const EXPECTED: &str = "expected";
/// Bytes of a digest.
const DIGEST_BYTES: usize = 16;
const DIGEST: &str = "^[0-9a-f]{32}$";

/// The digest of a list of displaced appointments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListDigest([u8; DIGEST_BYTES]);

/// The appointments that a change would displace.
#[derive(Serialize, ToSchema)]
pub struct DisplacedAnswer {
    /// Number of all of them.
    #[schema(value_type = Count)]
    count: usize,
    /// Digest of the whole list, for the parameter `expected` of the change.
    #[schema(value_type = ShownDigest)]
    digest: String,
    /// The first 100, ascending by start.
    appointments: Vec<DisplacedRow>,
}

/// An appointment that a change would displace.
#[derive(Serialize, ToSchema)]
struct DisplacedRow {
    /// Its id.
    id: VeventId,
    /// Its calendar after the change.
    calendar_id: CalendarId,
    /// The name of the calendar.
    #[schema(value_type = ShownName)]
    calendar: String,
    /// Its start after the change, on the clocks of the group.
    start: LocalTime,
    /// The same as an instant.
    #[schema(value_type = UtcTime)]
    start_utc: String,
    /// Its client.
    fiche_id: FicheId,
    /// Last and first name of the client.
    #[schema(value_type = ShownName)]
    client: String,
    /// Its intervention.
    intervention_id: InterventionId,
    /// The name of the intervention.
    #[schema(value_type = ShownName)]
    intervention: String,
    /// The reasons that the change brings about.
    #[schema(value_type = Vec<Reason>)]
    reasons: Vec<&'static str>,
}

schema_names! {
    /// The digest of a list.
    pub ShownDigest => pattern(DIGEST);
    /// The digest of a list, as a request gives it.
    pub GivenDigest => pattern(DIGEST);
    /// A name.
    ShownName => of_type(utoipa::openapi::Type::String);
    /// A reason why an appointment is displaced.
    Reason => one_of(Displacement::ALL.map(reason_name));
}

const fn reason_name(condition: Displacement) -> &'static str {
    match condition {
        Displacement::CalendarDeleted => "calendar_deleted",
        Displacement::InterventionDeleted => "intervention_deleted",
        Displacement::OutsideAvailability => "outside_availability",
        Displacement::UnderPlage => "under_plage",
    }
}

impl ListDigest {
    /// Digests a list: each appointment with its start, its calendar and the reasons. Names do not
    /// count.
    pub fn new(list: &[DisplacedAppointment]) -> Self {
        let mut hash = Sha256::new();
        for one in list {
            let numbers = [one.id.number(), one.calendar_id.number()];
            for number in numbers {
                hash.update(number.to_be_bytes());
            }
            hash.update(one.start.0.to_be_bytes());
            for condition in &one.conditions {
                hash.update(reason_name(*condition));
            }
            hash.update(b"\n");
        }
        let hash: [u8; 32] = hash.finalize().into();
        let (digest, _) = hash.split_first_chunk().expect("32 bytes hold 16");
        Self(*digest)
    }

    /// Parses the parameter of a change; `None` if it is absent or empty.
    ///
    /// # Errors
    /// A text that is no digest.
    pub fn from_params(params: &Params) -> Result<Option<Self>, Fault> {
        params.value(EXPECTED).map(Self::parse).transpose()
    }

    /// Parses a digest.
    ///
    /// # Errors
    /// A text that is none.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let bytes = HEXLOWER.decode(text.as_bytes()).ok();
        match bytes.and_then(|bytes| bytes.try_into().ok()) {
            Some(digest) => Ok(Self(digest)),
            None => Err(Fault::new(EXPECTED, "must be the digest of a dry run: 32 hex digits")),
        }
    }

    /// The digest as text.
    pub fn to_text(self) -> String {
        HEXLOWER.encode(&self.0)
    }
}

/// Returns a list of displaced appointments as JSON. `after` is the state after the change.
pub fn render_displaced(list: &[DisplacedAppointment], after: &GroupState) -> Vec<u8> {
    let answer = DisplacedAnswer {
        count: list.len(),
        digest: ListDigest::new(list).to_text(),
        appointments: list.iter().take(LISTED_MAX).map(|one| row(one, after)).collect(),
    };
    serde_json::to_vec(&answer).expect("an answer holds texts and numbers")
}

fn row(one: &DisplacedAppointment, after: &GroupState) -> DisplacedRow {
    let catalogue = &after.catalogue;
    let vevent = &after.rows[&one.id];
    let appointment = vevent.appointment().expect("only appointments are displaced");
    let fiche = after.fiches.get(&appointment.fiche_id);
    let calendar = catalogue.calendars.get(&one.calendar_id);
    let intervention = catalogue.interventions.get(&appointment.intervention_id);
    DisplacedRow {
        id: one.id,
        calendar_id: one.calendar_id,
        calendar: calendar.map(|it| it.name.as_str().to_owned()).unwrap_or_default(),
        start: LocalTime::new(catalogue.zone(), one.start),
        start_utc: format_rfc_3339(one.start),
        fiche_id: appointment.fiche_id,
        client: fiche.map(|fiche| fiche.names()).unwrap_or_default(),
        intervention_id: appointment.intervention_id,
        intervention: intervention.map(|it| it.name.as_str().to_owned()).unwrap_or_default(),
        reasons: one.conditions.iter().map(|condition| reason_name(*condition)).collect(),
    }
}
