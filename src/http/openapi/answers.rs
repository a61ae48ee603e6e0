//! Responses: errors, and the successes that no field table describes. Reference 1.5, 2.

use serde_json::Value;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::{ComponentsBuilder, ObjectBuilder};
use utoipa::openapi::{Content, Ref, RefOr, Response, Schema};

use crate::http::endpoint::{Answer, Endpoint};
use crate::http::openapi::bodies::{HOLD_TOKEN, schema};
use crate::http::openapi::records::logged_in_pro;
use crate::http::openapi::schema::{
    all_required, anything, at_least, described, filled_list, flag, id, instant, list, named, null,
    object, one_of, pattern, shown, text, whole,
};
use crate::wire::column_value::FieldType;
use crate::wire::errors::Problem;

/// The statuses of errors, with the name and the description of their response component.
const ERRORS: [(u16, &str, &str); 11] = [
    (
        400,
        "InvalidParameter",
        "a parameter is wrong, or a rule refuses; each entry names the field and the rule",
    ),
    (
        401,
        "LoginFailed",
        "the credentials are wrong; there is no challenge, so that browsers do not ask",
    ),
    (403, "Unauthorized", "no apikey, an unknown apikey, or a role without the right"),
    (404, "NoResult", "the object does not exist, or the caller may not see it"),
    (406, "NotAcceptable", "a format other than JSON was requested"),
    (409, "Conflict", "the idempotency key was used with another body, or a number has changed"),
    (
        413,
        "ContentTooLarge",
        "the body has more than 256 KiB, in which JSON escapes count as what they stand for",
    ),
    (415, "UnsupportedMediaType", "the body is declared as another type than JSON"),
    (
        429,
        "TooManyRequests",
        "too many failures or refusals: try again after the seconds in Retry-After",
    ),
    (500, "ServerError", "an error of the server"),
    (503, "ServiceUnavailable", "the server is overloaded; nothing was done"),
];

/// All problems that an entry of an error body may name.
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

/// A reference to the component of an error status.
pub(crate) fn error(status: u16) -> Ref {
    let (_, name, _) = ERRORS
        .iter()
        .find(|(other, ..)| *other == status)
        .expect("the table lists all statuses of errors");
    Ref::from_response_name(*name)
}

/// Adds the components of errors.
pub(crate) fn add_components(components: ComponentsBuilder) -> ComponentsBuilder {
    let mut components = components.schema("Errors", errors());
    for (status, name, description) in ERRORS {
        let mut response = json_response(description, named("Errors"));
        if matches!(status, 429 | 503) {
            let seconds = HeaderBuilder::new()
                .schema(Some(whole(0, i64::from(u32::MAX)).build()))
                .description(Some("seconds"));
            response = response.header("Retry-After", seconds.build());
        }
        components = components.response(name, response.build());
    }
    components
}

fn json_response(description: &str, schema: RefOr<Schema>) -> ResponseBuilder {
    let content = Content::new(Some(schema));
    ResponseBuilder::new().description(description).content("application/json", content)
}

/// The response to a request whose header If-None-Match names the present entity tag.
pub(crate) fn not_modified() -> Response {
    let description = "the answer is the one whose entity tag If-None-Match names";
    ResponseBuilder::new().description(description).build()
}

/// An answer of an endpoint.
pub(crate) fn response(endpoint: &Endpoint, answer: &Answer) -> Response {
    let content = Content::new(Some(schema(&answer.shape, endpoint)));
    let response = ResponseBuilder::new().description(answer.description);
    let response = response.content(answer.media_type, content);
    let Some((name, description)) = answer.header else { return response.build() };
    let header = HeaderBuilder::new().schema(Some(text().build()));
    response.header(name, header.description(Some(description)).build()).build()
}

pub(crate) fn booked() -> RefOr<Schema> {
    let records = filled_list(named("Appointment"));
    all_required([("records", records.into(), "One record for each intervention, in order.")])
        .into()
}

pub(crate) fn alike() -> RefOr<Schema> {
    let number = || whole(0, i64::from(u32::MAX));
    all_required([
        ("count", number().into(), "Number of upcoming bookings of the same origin."),
        ("cancelled", number().into(), "Number of those that this request has cancelled."),
    ])
    .into()
}

pub(crate) fn link_asked() -> RefOr<Schema> {
    let account = all_required([
        ("email", text().into(), "The e-mail address."),
        ("group_id", id().into(), "Id of the group."),
    ]);
    all_required([("account", account.into(), "The account that the link is for.")]).into()
}

const PENDING: &str = "The pendingRdv of the request for the link; null if there was none.";

pub(crate) fn link_followed() -> RefOr<Schema> {
    let account = all_required([
        ("email", text().into(), "The e-mail address."),
        ("group_id", id().into(), "Id of the group."),
        ("fiche_id", id().into(), "Id of the client's fiche."),
        ("pendingRdv", anything().into(), PENDING),
    ]);
    all_required([
        ("account", account.into(), "The account."),
        ("pendingRdv", anything().into(), PENDING),
    ])
    .into()
}

pub(crate) fn status() -> RefOr<Schema> {
    all_required([("status", text().into(), "State in one word.")])
        .property("reason", described(text(), "Reason why the server accepts no writes."))
        .into()
}

fn errors() -> ObjectBuilder {
    let (mut codes, names): (Vec<Value>, Vec<&str>) = PROBLEMS
        .into_iter()
        .map(Problem::code_name_status)
        .map(|(code, name, _)| (Value::from(code), name))
        .unzip();
    // Two problems share a code.
    codes.dedup();
    let code = whole(1, 14).enum_values(Some(codes));
    let entry = all_required([
        ("code", code.into(), "Number of the problem."),
        ("name", one_of(names).into(), "Name of the problem."),
        ("message", text().into(), "The wrong value, and the rule."),
    ])
    .property("field", described(text(), "The wrong field, if there is one."));
    all_required([("errors", filled_list(entry.build()).into(), "All problems of the request.")])
}

fn datetime() -> RefOr<Schema> {
    shown(FieldType::Moment, false).into()
}

fn ids() -> RefOr<Schema> {
    list(id().build()).into()
}

const SLOT_START: &str = "Start, YYYY-MM-DD HH:MM:SS on the clocks of the group.";

pub(crate) fn slots() -> RefOr<Schema> {
    let slot = all_required([
        ("start", datetime(), SLOT_START),
        ("capacity", whole(1, i64::from(i32::MAX)).into(), "Number of calendars that are free."),
        ("calendar_ids", filled_list(id().build()).into(), "Ids of the calendars that are free."),
    ])
    .property("start_utc", described(instant(false), "The start as an instant, with instants."))
    .property("count", described(at_least(1), "Number of free slots of the day, with by=day."));
    all_required([
        ("group_id", id().into(), "Id of the group."),
        (
            "firstSlot",
            shown(FieldType::Moment, true).into(),
            "First start, YYYY-MM-DD HH:MM:SS on the clocks of the group; null if there is none.",
        ),
        ("intervention_ids", ids(), "Ids of the interventions of the search, in order."),
        (
            "calendar_id",
            shown(FieldType::Reference, true).into(),
            "The calendar of the search; null if it named none.",
        ),
        ("calendar_ids", ids(), "The calendars of the search; empty if it named none."),
        ("availabletimeslots", list(slot).into(), "The free slots, ascending by start."),
    ])
    .property("firstSlot_utc", described(instant(true), "firstSlot as an instant, with instants."))
    .into()
}

pub(crate) fn module() -> RefOr<Schema> {
    let position = FieldType::Integer { min: i64::from(i32::MIN), max: i64::from(i32::MAX) };
    let attribute = all_required([
        ("id", id().into(), "Id of the customfield."),
        ("model", text().into(), "Fiche for a client, Vevent for an appointment."),
        ("name", text().into(), "Name of the attribute in a booking, such as str0."),
        ("user_label", text().into(), "Label for clients."),
        ("user_inputex", text().into(), "Description of the input for clients, as JSON."),
        ("user_position", shown(position, true).into(), "Position in a form; null if none is set."),
        ("user_required", flag().into(), "Whether a booking must give a value."),
    ]);
    let records = |name: &str| list(named(name)).into();
    all_required([
        ("group", named("Group"), "The settings of the group."),
        ("calendarsets", records("Calendarset"), "The sets of calendars that are shown."),
        (
            "calendars",
            records("Calendar"),
            "The calendars that are shown; each also has intervention_ids, which it offers.",
        ),
        ("interventionsets", records("Interventionset"), "The sets that are shown."),
        ("interventions", records("Intervention"), "The interventions that are shown."),
        ("customfields", list(attribute).into(), "The attributes that clients see."),
    ])
    .into()
}

pub(crate) fn explanation() -> RefOr<Schema> {
    let rules = [
        "outside_availability",
        "off_grid",
        "taken",
        "held",
        "not_offered",
        "repeated_hour",
        "unverified_share",
        "MintimeRdv",
        "MaxRdvPeriod",
    ];
    let reason = all_required([
        ("rule", one_of(rules).into(), "Name of the rule that refuses the start."),
        ("message", text().into(), "The rule in words, with its values."),
    ]);
    let calendar = all_required([
        ("calendar_id", id().into(), "Id of the calendar."),
        ("offered", flag().into(), "Whether the calendar offers the start."),
        ("reasons", list(reason).into(), "All rules that refuse the start; empty if none does."),
    ]);
    all_required([
        ("start", datetime(), SLOT_START),
        ("start_utc", instant(false).into(), "The start as an instant: RFC 3339 in UTC."),
        ("calendars", list(calendar).into(), "The calendars of the search, ascending by id."),
    ])
    .into()
}

const EXPIRES_AT: &str = "End, YYYY-MM-DD HH:MM:SS on the clocks of the group.";

pub(crate) fn receipt() -> RefOr<Schema> {
    let token = pattern(HOLD_TOKEN);
    all_required([
        ("token", token.into(), "The token to confirm the booking with."),
        ("expires_at", datetime(), EXPIRES_AT),
    ])
    .into()
}

pub(crate) fn hold() -> RefOr<Schema> {
    all_required([
        ("token", pattern(HOLD_TOKEN).into(), "The token that names the hold."),
        ("expires_at", datetime(), EXPIRES_AT),
        ("calendar_id", id().into(), "Id of the calendar."),
        ("start", datetime(), SLOT_START),
        ("end", datetime(), "End of the last intervention."),
        ("intervention_ids", filled_list(id().build()).into(), "The interventions, in order."),
    ])
    .into()
}

/// The response to a login. It has the member of the role that has logged in.
pub(crate) fn logged_in() -> RefOr<Schema> {
    let account = all_required([
        ("email", text().into(), "The e-mail address."),
        ("group_id", id().into(), "Id of the group."),
        ("fiche_id", id().into(), "Id of the client's fiche."),
    ]);
    all_required([("error", null().into(), "Always null.")])
        .property("pro", described(logged_in_pro(), "The professional who has logged in."))
        .property("account", described(account, "The client's account that has logged in."))
        .into()
}

/// The response to a failed login: the member of the role is null. If the request is wrong in
/// another way, it has the member `errors` alone.
pub(crate) fn login_failed() -> RefOr<Schema> {
    let entry = all_required([
        ("code", whole(5, 5).into(), "Number of the problem."),
        ("name", one_of(["LoginFailed"]).into(), "Name of the problem."),
    ]);
    object()
        .property("pro", described(null(), "Null, after the login of a professional."))
        .property("account", described(null(), "Null, after the login of a client's account."))
        .property("error", described(entry, "The problem."))
        .property("errors", described(list(anything().build()), "Problems of the request."))
        .into()
}

pub(crate) fn logged_out() -> RefOr<Schema> {
    all_required([("error", null().into(), "Always null.")]).into()
}
