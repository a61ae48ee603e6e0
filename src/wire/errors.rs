//! What callers are told when something is refused: the one table from refusals to codes, names and statuses. Reference 2,
//! Reference 2.

use serde::Serialize;
use serde_json::Value;

use crate::domain::booking::obstacle::{NotOffered, Obstacle, TakenBy};
use crate::domain::state::refusal::{Fault, Refusal};
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::wire::datetime::local_text;
use crate::wire::field::Audience;

/// Most characters of a caller's input that an answer repeats.
const ECHO_MAX: usize = 100;

/// Everything a request can be refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the specification's names, then HTTP's")]
pub enum Problem {
    Unauthorized,
    InvalidParameter,
    NoResult,
    ServerError,
    LoginFailed,
    MaxRdvNumber,
    MintimeBetween,
    MaxRdvPeriod,
    MintimeRdv,
    MintimeAnnulation,
    EmailAlreadyExists,
    SameTimeRdv,
    EmailNotFound,
    NotAvailable,
    MethodNotAllowed,
    NotAcceptable,
    Conflict,
    ContentTooLarge,
    UnsupportedMediaType,
    TooManyRequests,
    ServiceUnavailable,
}

impl Problem {
    /// Its numeric code, its name and its HTTP status: the one place where they stand.
    #[must_use]
    pub const fn row(self) -> (u8, &'static str, u16) {
        match self {
            Self::Unauthorized => (1, "Unauthorized", 403),
            Self::InvalidParameter => (2, "InvalidParameter", 400),
            Self::NoResult => (3, "NoResult", 404),
            Self::ServerError => (4, "ServerError", 500),
            Self::LoginFailed => (5, "LoginFailed", 401),
            Self::MaxRdvNumber => (6, "MaxRdvNumber", 400),
            Self::MintimeBetween => (7, "MintimeBetween", 400),
            Self::MaxRdvPeriod => (8, "MaxRdvPeriod", 400),
            Self::MintimeRdv => (9, "MintimeRdv", 400),
            Self::MintimeAnnulation => (10, "MintimeAnnulation", 400),
            Self::EmailAlreadyExists => (11, "EmailAlreadyExists", 400),
            Self::SameTimeRdv => (12, "SameTimeRdv", 400),
            Self::EmailNotFound => (13, "EmailNotFound", 400),
            Self::NotAvailable => (14, "NotAvailable", 400),
            Self::MethodNotAllowed => (2, "InvalidParameter", 405),
            Self::NotAcceptable => (2, "InvalidParameter", 406),
            Self::Conflict => (2, "InvalidParameter", 409),
            Self::ContentTooLarge => (2, "InvalidParameter", 413),
            Self::UnsupportedMediaType => (2, "InvalidParameter", 415),
            Self::TooManyRequests => (4, "ServerError", 429),
            Self::ServiceUnavailable => (4, "ServerError", 503),
        }
    }

    /// Its HTTP status.
    #[must_use]
    pub const fn status(self) -> u16 {
        self.row().2
    }
}

/// One entry of an error body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What is refused.
    pub problem: Problem,
    /// What was wrong and what would be right.
    pub message: String,
    /// The field to blame, where one is.
    pub field: Option<String>,
}

impl Entry {
    /// An entry that blames no field.
    #[must_use]
    pub fn new(problem: Problem, message: impl Into<String>) -> Self {
        Self { problem, message: message.into(), field: None }
    }

    fn on(self, field: &str) -> Self {
        Self { field: Some(field.to_owned()), ..self }
    }

    /// Its JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::to_value(self.shown()).expect("a number and texts are JSON")
    }

    fn shown(&self) -> Shown<'_> {
        let (code, name, _) = self.problem.row();
        Shown { code, name, message: &self.message, field: self.field.as_deref() }
    }
}

/// An entry as it is told.
#[derive(Serialize)]
struct Shown<'e> {
    code: u8,
    name: &'static str,
    message: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'e str>,
}

/// An error answer as it is told.
#[derive(Serialize)]
struct Body<'e> {
    errors: Vec<Shown<'e>>,
}

impl From<Fault> for Entry {
    fn from(fault: Fault) -> Self {
        let field: String = fault.field.chars().take(ECHO_MAX).collect();
        Self::new(Problem::InvalidParameter, format!("{field}: {}", fault.rule)).on(&field)
    }
}

/// The body of an error answer.
///
/// ```
/// use slotbook::wire::errors::{Entry, Problem, body};
/// let entry = Entry::new(Problem::NoResult, "there is no such thing");
/// assert_eq!(
///     String::from_utf8_lossy(&body(&[entry])),
///     r#"{"errors":[{"code":3,"name":"NoResult","message":"there is no such thing"}]}"#,
/// );
/// ```
#[must_use]
pub fn body(entries: &[Entry]) -> Vec<u8> {
    let body = Body { errors: entries.iter().map(Entry::shown).collect() };
    serde_json::to_vec(&body).expect("numbers and texts are JSON")
}

/// A refusal in words for those who listen; times on the group's clocks. Only professionals are told of other people's
/// appointments.
#[must_use]
pub fn entry(refusal: &Refusal, zone: Zone, audience: Audience) -> Entry {
    let shown = |at: &Instant| local_text(zone, *at);
    match refusal {
        Refusal::Unauthorized { needed } => Entry::new(Problem::Unauthorized, *needed),
        Refusal::InvalidParameter(fault) => fault.clone().into(),
        Refusal::NoResult => no_result(),
        Refusal::MaxRdvNumber { most } => Entry::new(
            Problem::MaxRdvNumber,
            format!("a client may have at most {most} upcoming appointments: cancel one first"),
        ),
        Refusal::MintimeBetween { minutes } => Entry::new(
            Problem::MintimeBetween,
            format!("the client's appointments must lie at least {minutes} minutes apart: choose another time"),
        )
        .on("date"),
        Refusal::MaxRdvPeriod { latest } => Entry::new(
            Problem::MaxRdvPeriod,
            format!("too far in the future: the last start that can be booked now is {}", shown(latest)),
        )
        .on("date"),
        Refusal::MintimeRdv { earliest } => Entry::new(
            Problem::MintimeRdv,
            format!("too soon: the first start that can be booked now is {}", shown(earliest)),
        )
        .on("date"),
        Refusal::MintimeAnnulation { until } => Entry::new(
            Problem::MintimeAnnulation,
            format!("too late to cancel online: this was possible until {}; call instead", shown(until)),
        ),
        Refusal::EmailAlreadyExists => Entry::new(
            Problem::EmailAlreadyExists,
            "this e-mail address belongs to a registered client, who must log in to book",
        )
        .on("fiche.email"),
        Refusal::SameTimeRdv { other } => {
            let when = match audience {
                // An account books for itself alone.
                Audience::Account | Audience::Pro | Audience::Store => span(zone, *other),
                Audience::Application => "at that time".to_owned(),
            };
            Entry::new(Problem::SameTimeRdv, format!("the client already has an appointment {when}")).on("date")
        }
        Refusal::EmailNotFound => Entry::new(
            Problem::EmailNotFound,
            "only registered clients may book here, and this e-mail address is not known: call to be registered",
        )
        .on("fiche.email"),
        Refusal::ClocksOverlap { first, second } => Entry::new(
            Problem::NotAvailable,
            format!("appointments {first} and {second} would overlap on these clocks: move one of them first"),
        )
        .on("timezone"),
        Refusal::NotAvailable { obstacles } => {
            let why: Vec<String> = obstacles.iter().map(|o| obstacle(o, zone, audience).1).collect();
            let why = if why.is_empty() { "no calendar can take it then".to_owned() } else { why.join("; ") };
            let message = format!("{why}: choose another time");
            Entry::new(Problem::NotAvailable, message).on("date")
        }
    }
}

/// What does not exist and what is not the caller's: the same words.
#[must_use]
pub fn no_result() -> Entry {
    Entry::new(Problem::NoResult, "there is no such thing, or it is not yours to see")
}

/// What stands in the way, as the name of its rule and in words. Reference 4, `explain`.
#[must_use]
pub fn obstacle(obstacle: &Obstacle, zone: Zone, audience: Audience) -> (&'static str, String) {
    let shown = |at: &Instant| local_text(zone, *at);
    match obstacle {
        Obstacle::NotOffered(why) => ("not_offered", not_offered(*why)),
        Obstacle::MintimeRdv { earliest } => (
            "MintimeRdv",
            format!("too soon: the first start that can be booked now is {}", shown(earliest)),
        ),
        Obstacle::MaxRdvPeriod { latest } => (
            "MaxRdvPeriod",
            format!(
                "too far in the future: the last start that can be booked now is {}",
                shown(latest)
            ),
        ),
        Obstacle::OffGrid { generate_interval } => (
            "off_grid",
            format!(
                "starts lie {generate_interval} minutes apart, counted from when the calendar opens"
            ),
        ),
        Obstacle::OutsideAvailability { intervention_id, interval } => (
            "outside_availability",
            format!(
                "the calendar is not open for intervention {intervention_id} {}",
                span(zone, *interval)
            ),
        ),
        Obstacle::Taken { id, interval, by } => {
            ("taken", taken(id.number(), *interval, *by, zone, audience))
        }
        Obstacle::RepeatedHour => (
            "repeated_hour",
            "clocks show this time twice, and only its first pass can be booked".to_owned(),
        ),
    }
}

fn taken(id: u64, interval: Interval, by: TakenBy, zone: Zone, audience: Audience) -> String {
    let what = match by {
        TakenBy::Appointment => "appointment",
        TakenBy::Plage => "plage",
    };
    match audience {
        Audience::Application | Audience::Account => "taken".to_owned(),
        Audience::Pro | Audience::Store => format!("taken by {what} {id} {}", span(zone, interval)),
    }
}

fn not_offered(why: NotOffered) -> String {
    match why {
        NotOffered::ModuleInactive => "the group takes no bookings online".to_owned(),
        NotOffered::CalendarDeleted(id) => format!("calendar {id} is deleted"),
        NotOffered::CalendarHidden(id) => format!("calendar {id} is not offered online"),
        NotOffered::InterventionDeleted(id) => format!("intervention {id} is deleted"),
        NotOffered::InterventionHidden(id) => format!("intervention {id} is not offered online"),
        NotOffered::InterventionsetHidden(id) => {
            format!("the set of intervention {id} is not offered online")
        }
    }
}

fn span(zone: Zone, interval: Interval) -> String {
    format!("from {} to {}", local_text(zone, interval.start), local_text(zone, interval.end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::ids::VeventId;

    fn paris() -> Zone {
        Zone::from_iana("Europe/Paris").expect("a zone")
    }

    #[test]
    fn times_are_told_on_the_clocks_of_the_group() {
        let told =
            entry(&Refusal::MintimeRdv { earliest: Instant(0) }, paris(), Audience::Application);
        assert!(told.message.contains("1970-01-01 01:00:00"), "{}", told.message);
        assert_eq!(
            (told.problem.row(), told.field.as_deref()),
            ((9, "MintimeRdv", 400), Some("date"))
        );
    }

    #[test]
    fn only_professionals_are_told_who_has_the_time() {
        let interval = Interval { start: Instant(0), end: Instant(900) };
        let id = VeventId::new(77).expect("an id");
        let obstacles = vec![Obstacle::Taken { id, interval, by: TakenBy::Appointment }];
        let refusal = Refusal::NotAvailable { obstacles };
        let told = |audience| entry(&refusal, paris(), audience).message;
        assert!(told(Audience::Pro).contains("appointment 77 from 1970-01-01 01:00:00"));
        assert!(
            !told(Audience::Application).contains("77")
                && !told(Audience::Application).contains("1970")
        );
        let other = Refusal::SameTimeRdv { other: interval };
        assert!(!entry(&other, paris(), Audience::Application).message.contains("1970"));
    }

    #[test]
    fn at_most_100_characters_of_a_field_name_are_repeated() {
        let told = Entry::from(Fault::new("é".repeat(300), "is not known"));
        assert_eq!(told.field.map(|field| field.chars().count()), Some(100));
        assert!(told.message.chars().count() < 120);
    }
}
