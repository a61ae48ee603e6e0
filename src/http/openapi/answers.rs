//! Responses: errors, and the successes that no field table describes. Reference 1.5, 2.

use serde_json::Value;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::{AllOfBuilder, ComponentsBuilder, Object, ObjectBuilder, SchemaType};
use utoipa::openapi::{Content, Ref, RefOr, Response, Schema};

use crate::http::endpoint::{AnswerSchema, Endpoint};
use crate::http::openapi::bodies::booking;
use crate::http::openapi::schema::{
    any_of, filled_list, flag, givens, id, list, named, null, object, one_of, shown, text, whole,
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
    (409, "Conflict", "the idempotency key was used with another body"),
    (413, "ContentTooLarge", "the body has more than 256 KiB"),
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
const PROBLEMS: [Problem; 14] = [
    Problem::Unauthorized,
    Problem::InvalidParameter,
    Problem::NoResult,
    Problem::ServerError,
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

/// Adds the components that responses and bodies refer to.
pub(crate) fn add_components(mut components: ComponentsBuilder) -> ComponentsBuilder {
    for (name, schema) in givens() {
        components = components.schema(name, schema);
    }
    components = components
        .schema("Errors", errors())
        .schema("Slots", slots())
        .schema("Explanation", render_explanation())
        .schema("Booking", booking())
        .schema("Booked", all_required([("records", filled_list(named("Appointment")).into())]))
        .schema("Status", status())
        .schema("LoggedIn", logged_in())
        .schema("LoginFailed", login_failed())
        .schema("LinkAsked", {
            let account = all_required([("email", text().into()), ("group_id", id().into())]);
            all_required([("account", account.into())])
        })
        .schema("LinkFollowed", link_followed())
        .schema("LoggedOut", all_required([("error", null())]));
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

/// The response of a server that accepts no writes now.
pub(crate) fn not_ready() -> Response {
    json_response("the server accepts no writes now", named("Status")).build()
}

/// The response to a login with wrong credentials.
pub(crate) fn refused_login() -> Response {
    let description = "the credentials are wrong; there is no challenge";
    json_response(description, named("LoginFailed")).build()
}

/// The status and the response of an endpoint in case of success.
pub(crate) fn success(endpoint: &Endpoint) -> (u16, Response) {
    let component = |suffix: &str| match &endpoint.right {
        Some(right) => named(&format!("{}{suffix}", right.resource.name())),
        None => object().build().into(),
    };
    let (status, description, schema) = match endpoint.answer {
        AnswerSchema::Record => (200, "the object", component("")),
        AnswerSchema::NewRecord => (201, "the new object", component("")),
        AnswerSchema::List => (200, "a page of the list", component("List")),
        AnswerSchema::Booked => (201, "one record for each appointment", named("Booked")),
        AnswerSchema::Slots => {
            (200, "the free slots, ascending", any_of([named("Slots"), named("Explanation")]))
        }
        AnswerSchema::Status | AnswerSchema::Readiness => {
            (200, "the status of the server", named("Status"))
        }
        AnswerSchema::LoggedIn => {
            let cookie = HeaderBuilder::new().schema(Some(text().build()));
            let cookie = cookie.description(Some("_session_id")).build();
            let response = json_response("the person who has logged in", named("LoggedIn"));
            return (200, response.header("Set-Cookie", cookie).build());
        }
        AnswerSchema::LoggedOut => (200, "the session has ended", named("LoggedOut")),
        AnswerSchema::LinkAsked => {
            (201, "the address, whether or not it has an account", named("LinkAsked"))
        }
        AnswerSchema::LinkFollowed => (200, "the account as it is now", named("LinkFollowed")),
        AnswerSchema::Document => (200, "an OpenAPI document", object().build().into()),
        AnswerSchema::Page => {
            let page = Content::new(Some(text().build()));
            let response = ResponseBuilder::new().description("HTML").content("text/html", page);
            return (200, response.build());
        }
    };
    (status, json_response(description, schema).build())
}

/// An object whose properties are all required.
fn all_required<const N: usize>(properties: [(&str, RefOr<Schema>); N]) -> Object {
    let mut all = object();
    for (name, schema) in properties {
        all = all.property(name, schema).required(name);
    }
    all.build()
}

fn link_followed() -> Object {
    let pending = || ObjectBuilder::new().schema_type(SchemaType::AnyValue);
    let account = all_required([
        ("email", text().into()),
        ("group_id", id().into()),
        ("fiche_id", id().into()),
        ("pendingRdv", pending().into()),
    ]);
    all_required([("account", account.into()), ("pendingRdv", pending().into())])
}

fn status() -> Object {
    object().property("status", text()).required("status").property("reason", text()).build()
}

fn errors() -> Object {
    let (codes, names): (Vec<Value>, Vec<&str>) = PROBLEMS
        .into_iter()
        .map(Problem::code_name_status)
        .map(|(code, name, _)| (Value::from(code), name))
        .unzip();
    let entry = object()
        .property("code", whole(1, 14).enum_values(Some(codes)))
        .property("name", one_of(names))
        .property("message", text().description(Some("the wrong value, and the rule")))
        .property("field", text().description(Some("the wrong field, if there is one")))
        .required("code")
        .required("name")
        .required("message");
    all_required([("errors", filled_list(entry.build()).into())])
}

fn datetime() -> RefOr<Schema> {
    shown(FieldType::Moment, false).into()
}

fn ids() -> RefOr<Schema> {
    list(id().build()).into()
}

fn slots() -> Object {
    let slot = all_required([
        ("start", datetime()),
        ("capacity", whole(1, i64::MAX).into()),
        ("calendar_ids", filled_list(id().build()).into()),
    ]);
    all_required([
        ("group_id", id().into()),
        ("firstSlot", shown(FieldType::Moment, true).into()),
        ("intervention_ids", ids()),
        ("calendar_id", shown(FieldType::Reference, true).into()),
        ("calendar_ids", ids()),
        ("availabletimeslots", list(slot).into()),
    ])
}

fn render_explanation() -> Object {
    let rules = [
        "outside_availability",
        "off_grid",
        "taken",
        "not_offered",
        "repeated_hour",
        "MintimeRdv",
        "MaxRdvPeriod",
    ];
    let reason = all_required([("rule", one_of(rules).into()), ("message", text().into())]);
    let calendar = all_required([
        ("calendar_id", id().into()),
        ("offered", flag().into()),
        ("reasons", list(reason).into()),
    ]);
    all_required([("start", datetime()), ("calendars", list(calendar).into())])
}

fn logged_in() -> RefOr<Schema> {
    let main = || object().property("group_id", id()).required("group_id").build();
    let pro = AllOfBuilder::new().item(named("Pro")).item(main());
    let account = object()
        .property("email", text())
        .property("group_id", id())
        .property("fiche_id", id())
        .required("email")
        .required("group_id")
        .required("fiche_id");
    any_of([
        all_required([("pro", pro.into()), ("error", null())]).into(),
        all_required([("account", account.into()), ("error", null())]).into(),
    ])
}

fn login_failed() -> RefOr<Schema> {
    let entry =
        || all_required([("code", whole(5, 5).into()), ("name", one_of(["LoginFailed"]).into())]);
    any_of([
        all_required([("pro", null()), ("error", entry().into())]).into(),
        all_required([("account", null()), ("error", entry().into())]).into(),
        named("Errors"),
    ])
}
