//! Error bodies: the table of codes, names and statuses, and the message of each refusal.
//! Reference 2.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::availability::obstacle::{NotOffered, Obstacle, TakenBy};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::state::refusal::{HoldBound, Refusal};
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::wire::datetime::format_local;
use crate::wire::field::Audience;
use crate::wire::schema::{one_of, schema_names, whole};

/// The header that names the form of an object that a change is based on. Reference 1.7.
const IF_MATCH: &str = "If-Match";
/// Maximum number of characters of a field's name that an answer repeats.
const ECHO_MAX: usize = 100;
/// Maximum number of upcoming appointments that a refusal names.
const UPCOMING_MAX: usize = 100;

/// Reasons for which a request is refused. Reference 2.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the reference's names, then those of HTTP")]
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
    Gone,
    PreconditionFailed,
    ContentTooLarge,
    UnsupportedMediaType,
    TooManyRequests,
    ServiceUnavailable,
}

impl Problem {
    /// Returns the numeric code, the name and the HTTP status. Reference 2.2.
    pub const fn code_name_status(self) -> (u8, &'static str, u16) {
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
            Self::Gone => (2, "InvalidParameter", 410),
            Self::PreconditionFailed => (2, "InvalidParameter", 412),
            Self::ContentTooLarge => (2, "InvalidParameter", 413),
            Self::UnsupportedMediaType => (2, "InvalidParameter", 415),
            Self::TooManyRequests => (4, "TooManyRequests", 429),
            Self::ServiceUnavailable => (4, "ServerError", 503),
        }
    }

    /// Returns the HTTP status.
    pub const fn status(self) -> u16 {
        self.code_name_status().2
    }
}

/// One entry of an error body. Reference 2.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorEntry {
    /// The reason, which determines code, name and status.
    pub problem: Problem,
    /// The broken rule with its limit, and a remedy if there is one.
    pub message: String,
    /// The field that breaks the rule, if a single one does.
    pub field: Option<String>,
}

impl ErrorEntry {
    /// Creates an entry without a field.
    pub fn new(problem: Problem, message: impl Into<String>) -> Self {
        Self { problem, message: message.into(), field: None }
    }

    fn with_field(self, field: &str) -> Self {
        Self { field: Some(field.to_owned()), ..self }
    }

    /// Renders the entry as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self.to_serializable()).expect("a number and texts are JSON")
    }

    fn to_serializable(&self) -> ErrorEntryJson<'_> {
        let (code, name, _) = self.problem.code_name_status();
        ErrorEntryJson { code, name, message: &self.message, field: self.field.as_deref() }
    }
}

/// A problem of a request.
#[derive(Debug, Serialize, ToSchema)]
struct ErrorEntryJson<'e> {
    /// Number of the problem.
    #[schema(value_type = ProblemCode)]
    code: u8,
    /// Name of the problem.
    #[schema(value_type = ProblemName)]
    name: &'static str,
    /// The wrong value, and the rule.
    message: &'e str,
    /// The wrong field, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    field: Option<&'e str>,
}

/// All problems that the document names. Two share a code, and stand side by side.
const PROBLEMS: [Problem; 15] = [
    Problem::Unauthorized,
    Problem::InvalidParameter,
    Problem::NoResult,
    Problem::ServerError,
    Problem::TooManyRequests,
    Problem::LoginFailed,
    Problem::MaxRdvNumber,
    Problem::MintimeBetween,
    Problem::MaxRdvPeriod,
    Problem::MintimeRdv,
    Problem::MintimeAnnulation,
    Problem::EmailAlreadyExists,
    Problem::SameTimeRdv,
    Problem::EmailNotFound,
    Problem::NotAvailable,
];

schema_names! {
    /// The code of a problem.
    ProblemCode => {
        let mut codes: Vec<u8> = PROBLEMS.map(|problem| problem.code_name_status().0).to_vec();
        codes.dedup();
        whole(1, 14).enum_values(Some(codes))
    };
    /// The name of a problem.
    ProblemName => one_of(PROBLEMS.map(|problem| problem.code_name_status().1));
}

/// The body of an error answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBodyJson<'e> {
    /// All problems of the request.
    #[schema(min_items = 1)]
    errors: Vec<ErrorEntryJson<'e>>,
    /// The object as it is, if If-Match names another form of it. The appointments that a change
    /// displaces, if `expected` is of another list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    current: Option<&'e Map<String, Value>>,
}

impl From<Fault> for ErrorEntry {
    fn from(fault: Fault) -> Self {
        let field: String = fault.field.chars().take(ECHO_MAX).collect();
        let message = format!("{field}: {}", fault.rule);
        Self::new(Problem::InvalidParameter, message).with_field(&field)
    }
}

/// Renders the body of an error answer, with the object as it is if that differs from the one that
/// the caller knows. Reference 2.1.
///
/// ```
/// use slotbook::wire::errors::{ErrorEntry, Problem, render_body};
/// let entry = ErrorEntry::new(Problem::NoResult, "not found");
/// assert_eq!(
///     String::from_utf8_lossy(&render_body(&[entry], None)),
///     r#"{"errors":[{"code":3,"name":"NoResult","message":"not found"}]}"#,
/// );
/// ```
pub fn render_body(entries: &[ErrorEntry], current: Option<&Map<String, Value>>) -> Vec<u8> {
    let errors = entries.iter().map(ErrorEntry::to_serializable).collect();
    let body = ErrorBodyJson { errors, current };
    serde_json::to_vec(&body).expect("numbers and texts are JSON")
}

/// Describes a refusal to an audience, with times in the group's zone.
///
/// Applications never learn the times of other appointments, and only professionals learn whose
/// they are.
pub fn describe_refusal(refusal: &Refusal, zone: Zone, audience: Audience) -> ErrorEntry {
    match refusal {
        Refusal::Unauthorized { needed } => ErrorEntry::new(Problem::Unauthorized, *needed),
        Refusal::InvalidParameter(fault) => fault.clone().into(),
        Refusal::NoResult => not_found_entry(),
        Refusal::MaxRdvNumber { most } => ErrorEntry::new(
            Problem::MaxRdvNumber,
            format!("a client may have at most {most} upcoming appointments: cancel one first"),
        ),
        Refusal::MintimeBetween { minutes } => ErrorEntry::new(
            Problem::MintimeBetween,
            format!(
                "a client's appointments must be at least {minutes} minutes apart: choose another \
                 time"
            ),
        )
        .with_field("date"),
        Refusal::MaxRdvPeriod { latest } => {
            ErrorEntry::new(Problem::MaxRdvPeriod, too_late_to_book(zone, *latest))
                .with_field("date")
        }
        Refusal::MintimeRdv { earliest, first } => {
            let message = match first {
                Some(first) => {
                    let first = format_local(zone, *first);
                    format!("too soon: the first start that can be booked now is {first}")
                }
                None => too_soon_to_book(zone, *earliest),
            };
            ErrorEntry::new(Problem::MintimeRdv, message).with_field("date")
        }
        Refusal::MintimeAnnulation { until } => ErrorEntry::new(
            Problem::MintimeAnnulation,
            format!(
                "too late to cancel online, which was possible until {}: call instead",
                format_local(zone, *until)
            ),
        ),
        Refusal::EmailAlreadyExists => ErrorEntry::new(
            Problem::EmailAlreadyExists,
            "this e-mail address belongs to a registered client: log in to book",
        )
        .with_field("fiche.email"),
        Refusal::SameTimeRdv { other } => describe_same_time(*other, zone, audience),
        Refusal::EmailNotFound => email_unknown(),
        Refusal::ClocksOverlap { first, second } => ErrorEntry::new(
            Problem::NotAvailable,
            format!(
                "appointments {first} and {second} would overlap in this time zone: move one of \
                 them first"
            ),
        )
        .with_field("timezone"),
        Refusal::PreconditionFailed(present) => describe_overtaken(present.is_some()),
        Refusal::OtherEffect(_) => ErrorEntry::new(
            Problem::Conflict,
            "expected: other appointments are concerned than in the list that it is of; nothing was \
             done: look at the present list",
        )
        .with_field("expected"),
        Refusal::ExternidHeldTwice { first, second } => describe_held_twice(*first, *second),
        Refusal::UpcomingAppointments { ids } => describe_upcoming(ids),
        Refusal::TooManyHolds { bound, retry_seconds: _ } => {
            ErrorEntry::new(Problem::TooManyRequests, too_many_holds(*bound))
        }
        Refusal::NotAvailable { obstacles } => describe_not_available(obstacles, zone, audience),
    }
}

fn email_unknown() -> ErrorEntry {
    let rule = "only registered clients may book here, and this e-mail address is unknown: call to \
                be registered";
    ErrorEntry::new(Problem::EmailNotFound, rule).with_field("fiche.email")
}

fn too_many_holds(bound: HoldBound) -> String {
    let rule = match bound {
        HoldBound::Source => {
            "at most 3 times, and 3 hours together, can be held at once: book or release one first"
        }
        HoldBound::Network => "too much time is held from this network: try again later",
        HoldBound::Day => "too much time of this day is held: try again later",
    };
    format!("{rule}; a booking needs no hold")
}

fn describe_overtaken(exists: bool) -> ErrorEntry {
    let rule = if exists {
        "the object has changed since: repeat the change on the present one"
    } else {
        "there is no such object yet: leave the header out to make it"
    };
    let message = format!("{IF_MATCH}: {rule}");
    ErrorEntry::new(Problem::PreconditionFailed, message).with_field(IF_MATCH)
}

fn describe_held_twice(first: FicheId, second: FicheId) -> ErrorEntry {
    let message =
        format!("externid: fiches {first} and {second} both have it: change or delete one");
    ErrorEntry::new(Problem::Conflict, message).with_field("externid")
}

/// Names the appointments, the first 100 of them.
fn describe_upcoming(ids: &[VeventId]) -> ErrorEntry {
    let named: Vec<String> = ids.iter().take(UPCOMING_MAX).map(VeventId::to_string).collect();
    let more = if ids.len() > UPCOMING_MAX { " and more" } else { "" };
    let message = format!(
        "the client has upcoming appointments: {}{more}; cancel them first, or give cancel=1",
        named.join(", ")
    );
    ErrorEntry::new(Problem::Conflict, message).with_field("cancel")
}

fn describe_same_time(other: Interval, zone: Zone, audience: Audience) -> ErrorEntry {
    let when = match audience {
        // An account may read its own appointments. It is an application where it acts for another
        // client, by the secret of an appointment or the token of a booking.
        Audience::Account | Audience::Pro | Audience::Store => format_interval(zone, other),
        Audience::Application => "at that time".to_owned(),
    };
    let message = format!("the client already has an appointment {when}: choose another time");
    ErrorEntry::new(Problem::SameTimeRdv, message).with_field("date")
}

fn describe_not_available(obstacles: &[Obstacle], zone: Zone, audience: Audience) -> ErrorEntry {
    let described = obstacles.iter().map(|obstacle| describe_obstacle(obstacle, zone, audience).1);
    let mut reasons: Vec<String> = described.collect();
    if reasons.is_empty() {
        reasons.push("no calendar is free at that time".to_owned());
    }
    let message = format!("{}: choose another time", reasons.join("; "));
    ErrorEntry::new(Problem::NotAvailable, message).with_field("date")
}

/// Creates the entry for objects that do not exist and for those that the caller may not see.
///
/// Both get the same message, so that it does not reveal which ids exist.
pub fn not_found_entry() -> ErrorEntry {
    ErrorEntry::new(Problem::NoResult, "not found")
}

/// Returns the rule that an obstacle comes from, and its description. Reference 4.8.
pub fn describe_obstacle(
    obstacle: &Obstacle,
    zone: Zone,
    audience: Audience,
) -> (&'static str, String) {
    match obstacle {
        Obstacle::NotOffered(why) => ("not_offered", describe_not_offered(*why)),
        Obstacle::MintimeRdv { earliest } => ("MintimeRdv", too_soon_to_book(zone, *earliest)),
        Obstacle::MaxRdvPeriod { latest } => ("MaxRdvPeriod", too_late_to_book(zone, *latest)),
        Obstacle::OffGrid { generate_interval } => (
            "off_grid",
            format!(
                "starts are {generate_interval} minutes apart, counted from the opening time \
                 of the calendar"
            ),
        ),
        Obstacle::OutsideAvailability { intervention_id, interval } => (
            "outside_availability",
            format!(
                "the calendar is not open for intervention {intervention_id} {}",
                format_interval(zone, *interval)
            ),
        ),
        Obstacle::Taken { id, interval, by } => {
            ("taken", describe_taken(id.number(), *interval, *by, zone, audience))
        }
        Obstacle::Held { until } => ("held", describe_held(*until, zone, audience)),
        Obstacle::RepeatedHour => (
            "repeated_hour",
            "this time occurs twice on that day, and only its first occurrence can be booked"
                .to_owned(),
        ),
        Obstacle::UnverifiedShare { percent } => (
            "unverified_share",
            format!(
                "bookings without a login may hold {percent} % of the open time of this day, and no \
                 more is left: log in to book it"
            ),
        ),
    }
}

fn too_soon_to_book(zone: Zone, earliest: Instant) -> String {
    let earliest = format_local(zone, earliest);
    format!("too soon: no start before {earliest} can be booked now")
}

fn too_late_to_book(zone: Zone, latest: Instant) -> String {
    let latest = format_local(zone, latest);
    format!("too far in the future: no start after {latest} can be booked now")
}

fn describe_taken(
    id: u64,
    interval: Interval,
    by: TakenBy,
    zone: Zone,
    audience: Audience,
) -> String {
    let what = match by {
        TakenBy::Appointment => "appointment",
        TakenBy::Plage => "plage",
    };
    match audience {
        Audience::Application | Audience::Account => "taken".to_owned(),
        Audience::Pro | Audience::Store => {
            format!("taken by {what} {id} {}", format_interval(zone, interval))
        }
    }
}

fn describe_held(until: Instant, zone: Zone, audience: Audience) -> String {
    match audience {
        Audience::Application | Audience::Account => "held for another booking".to_owned(),
        Audience::Pro | Audience::Store => {
            format!("held for another booking until {}", format_local(zone, until))
        }
    }
}

fn describe_not_offered(why: NotOffered) -> String {
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

fn format_interval(zone: Zone, interval: Interval) -> String {
    format!("from {} to {}", format_local(zone, interval.start), format_local(zone, interval.end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::ids::VeventId;

    fn paris() -> Zone {
        Zone::from_iana("Europe/Paris").expect("a zone")
    }

    #[test]
    fn times_are_formatted_in_the_zone_of_the_group() {
        let described = describe_refusal(
            &Refusal::MintimeRdv { earliest: Instant(0), first: None },
            paris(),
            Audience::Application,
        );
        assert!(described.message.contains("1970-01-01 01:00:00"), "{}", described.message);
        assert_eq!(
            (described.problem.code_name_status(), described.field.as_deref()),
            ((9, "MintimeRdv", 400), Some("date"))
        );
    }

    #[test]
    fn only_professionals_see_which_appointment_takes_the_time() {
        let interval = Interval { start: Instant(0), end: Instant(900) };
        let id = VeventId::new(77).expect("an id");
        let obstacles = vec![Obstacle::Taken { id, interval, by: TakenBy::Appointment }];
        let refusal = Refusal::NotAvailable { obstacles };
        let described = |audience| describe_refusal(&refusal, paris(), audience).message;
        assert!(described(Audience::Pro).contains("appointment 77 from 1970-01-01 01:00:00"));
        assert!(
            !described(Audience::Application).contains("77")
                && !described(Audience::Application).contains("1970")
        );
        let other = Refusal::SameTimeRdv { other: interval };
        assert!(!describe_refusal(&other, paris(), Audience::Application).message.contains("1970"));
    }

    #[test]
    fn at_most_100_characters_of_a_field_name_are_repeated() {
        let described = ErrorEntry::from(Fault::new("é".repeat(300), "is not known"));
        assert_eq!(described.field.map(|field| field.chars().count()), Some(100));
        assert!(described.message.chars().count() < 120);
    }
}
