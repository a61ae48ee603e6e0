//! Bodies and answers that no table of fields describes: errors, free starts, bookings.

use serde_json::Value;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::{
    AllOfBuilder, ComponentsBuilder, Object, ObjectBuilder, SchemaType, Type,
};
use utoipa::openapi::{Content, Ref, RefOr, Required, Response, Schema};

use crate::http::openapi::operations::{Answer, Body};
use crate::http::openapi::parameters::LOGIN;
use crate::http::openapi::resources::{Resource, flag};
use crate::http::openapi::schema::{
    any_of, filled_list, given, givens, id, list, named, nothing, object, one_of, pattern, shown,
    text, whole,
};
use crate::wire::errors::Problem;
use crate::wire::field::FieldType;

/// Every status of an answer that says no: the component that stands for it, and when it comes.
const REFUSALS: [(u16, &str, &str); 11] = [
    (
        400,
        "InvalidParameter",
        "a parameter is wrong, or a rule refuses: each entry says which and why",
    ),
    (
        401,
        "LoginFailed",
        "the credentials are wrong; there is no challenge, so that browsers do not ask",
    ),
    (403, "Unauthorized", "no apikey, an unknown one, or a role that may not"),
    (404, "NoResult", "what does not exist, and what is not the caller's: the same answer"),
    (406, "NotAcceptable", "another format than JSON was asked for"),
    (409, "Conflict", "the idempotency key was used with another body"),
    (413, "ContentTooLarge", "a body of more than 256 KiB"),
    (415, "UnsupportedMediaType", "a body declared as another type than JSON"),
    (
        429,
        "TooManyRequests",
        "too many failures, or too many refusals: Retry-After says when to come back",
    ),
    (500, "ServerError", "an error of the server"),
    (503, "ServiceUnavailable", "too much is under way; nothing was done"),
];

/// Every problem that an entry of an error body may name.
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

/// The answer of that status that says no.
pub(crate) fn refusal(status: u16) -> Ref {
    let (_, name, _) = REFUSALS
        .iter()
        .find(|(other, ..)| *other == status)
        .expect("every status of a refusal is listed");
    Ref::from_response_name(*name)
}

/// What answers and bodies refer to.
pub(crate) fn components(components: ComponentsBuilder) -> ComponentsBuilder {
    let components =
        givens().into_iter().fold(components, |components, (name, of)| components.schema(name, of));
    let components = components
        .schema("Errors", errors())
        .schema("Slots", slots())
        .schema("Explanation", explanation())
        .schema("Booking", booking())
        .schema("Booked", of_properties([("records", filled_list(named("Appointment")).into())]))
        .schema("Status", status())
        .schema("LoggedIn", logged_in())
        .schema("LoginFailed", login_failed())
        .schema("LinkAsked", {
            let account = of_properties([("email", text().into()), ("group_id", id().into())]);
            of_properties([("account", account.into())])
        })
        .schema("LinkFollowed", link_followed())
        .schema("LoggedOut", of_properties([("error", null())]));
    REFUSALS.into_iter().fold(components, |components, (status, name, description)| {
        let mut response = ResponseBuilder::new()
            .description(description)
            .content("application/json", Content::new(Some(named("Errors"))));
        if matches!(status, 429 | 503) {
            let seconds = HeaderBuilder::new().schema(Some(whole(0, i64::from(u32::MAX)).build()));
            response = response.header("Retry-After", seconds.description(Some("seconds")).build());
        }
        components.response(name, response.build())
    })
}

/// The answer of a server that takes no writes for now.
pub(crate) fn not_ready() -> Response {
    let content = Content::new(Some(named("Status")));
    ResponseBuilder::new()
        .description("it takes no writes for now")
        .content("application/json", content)
        .build()
}

/// What may come with the end of an event. Reference 7.
pub(crate) fn quiet() -> RequestBody {
    let body = Content::new(Some(object().property("sendmail", sendmail()).build()));
    RequestBodyBuilder::new()
        .required(Some(Required::False))
        .content("application/json", body)
        .build()
}

/// Whether anybody is written to about what a professional does.
pub(crate) fn sendmail() -> Object {
    let says = "0: the client is not written to about this change";
    ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(says)).build()
}

/// The answer to a login that fails.
pub(crate) fn refused_login() -> Response {
    let content = Content::new(Some(named("LoginFailed")));
    ResponseBuilder::new()
        .description("the credentials are wrong; there is no challenge")
        .content("application/json", content)
        .build()
}

/// The status and the content of an answer when all is well.
pub(crate) fn success(answer: Answer) -> (u16, Response) {
    let (status, description, schema) = match answer {
        Answer::Shown(resource) => (200, "the object", named(&resource.name())),
        Answer::Made(resource) => (201, "the object as it was made", named(&resource.name())),
        Answer::List(resource) => {
            (200, "a page of the list", named(&format!("{}List", resource.name())))
        }
        Answer::Booked => (201, "one record for each appointment made", named("Booked")),
        Answer::Slots => {
            (200, "free starts, ascending", any_of([named("Slots"), named("Explanation")]))
        }
        Answer::Status => (200, "what the server says of itself", named("Status")),
        Answer::LoggedIn => {
            let cookie =
                HeaderBuilder::new().schema(Some(text().build())).description(Some("_session_id"));
            let response = ResponseBuilder::new()
                .description("who has logged in")
                .header("Set-Cookie", cookie.build());
            return (
                200,
                response.content("application/json", Content::new(Some(named("LoggedIn")))).build(),
            );
        }
        Answer::LoggedOut => (200, "the session is over", named("LoggedOut")),
        Answer::LinkAsked => (201, "the address, whether or not it is known", named("LinkAsked")),
        Answer::LinkFollowed => (200, "the account as it is now", named("LinkFollowed")),
        Answer::Document => (200, "an OpenAPI document", object().build().into()),
        Answer::Page => {
            let page = Content::new(Some(text().build()));
            return (
                200,
                ResponseBuilder::new().description("HTML").content("text/html", page).build(),
            );
        }
    };
    let content = Content::new(Some(schema));
    (
        status,
        ResponseBuilder::new()
            .description(description)
            .content("application/json", content)
            .build(),
    )
}

/// The body of a request; on older paths the key and the group may stand beside the object.
pub(crate) fn body(body: Body, older: bool) -> RequestBody {
    let (name, schema) = match body {
        Body::Login => return login(),
        Body::Address => ("account".to_owned(), address().into()),
        Body::Token => return of_json(token().into()),
        Body::New(resource) => (wrapper(resource), named(&format!("New{}", resource.name()))),
        Body::Fields(resource) => (wrapper(resource), named(&format!("{}Fields", resource.name()))),
        Body::Booking => (wrapper(Resource::Appointment), named("Booking")),
    };
    let mut wrapped = object().property(&name, schema.clone()).required(&name);
    if older {
        let beside = |says: &str| {
            ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(says))
        };
        wrapped =
            wrapped.property("apikey", beside("the key, a text; counts where the query has none"));
        wrapped = wrapped.property(
            "group_id",
            beside("the group of a new object; counts where the query has none"),
        );
    }
    let schema = match body {
        // An event may come without its wrapper.
        Body::New(Resource::Vevent) | Body::Fields(Resource::Vevent) => {
            any_of([wrapped.into(), schema])
        }
        Body::New(_)
        | Body::Fields(_)
        | Body::Booking
        | Body::Login
        | Body::Address
        | Body::Token => wrapped.into(),
    };
    of_json(schema)
}

fn of_json(schema: RefOr<Schema>) -> RequestBody {
    RequestBodyBuilder::new()
        .required(Some(Required::True))
        .content("application/json", Content::new(Some(schema)))
        .build()
}

/// Who is to have an account. Reference 3.
fn address() -> Object {
    let pending = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
    let pending = pending.description(Some(
        "what was about to be booked; given back once the link has been followed",
    ));
    let group = any_of([named("IdGiven"), null()]);
    let account = object().property("email", given(FieldType::Email)).property("group_id", group);
    account.property("pendingRdv", pending).required("email").build()
}

/// What follows a link. Reference 3.
fn token() -> Object {
    let password = text().description(Some("plain, or its SHA-1 as 40 hexadecimal digits"));
    object().property("token", text()).property("password", password).required("token").build()
}

fn link_followed() -> Object {
    let pending = || ObjectBuilder::new().schema_type(SchemaType::AnyValue);
    let account = of_properties([
        ("email", text().into()),
        ("group_id", id().into()),
        ("fiche_id", id().into()),
        ("pendingRdv", pending().into()),
    ]);
    of_properties([("account", account.into()), ("pendingRdv", pending().into())])
}

/// The name under which a body wraps a resource.
fn wrapper(resource: Resource) -> String {
    resource.name().to_lowercase()
}

fn of_properties<const N: usize>(properties: [(&str, RefOr<Schema>); N]) -> Object {
    properties
        .into_iter()
        .fold(object(), |object, (name, of)| object.property(name, of).required(name))
        .build()
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
        .property("message", text().description(Some("what was wrong, and what would be right")))
        .property("field", text().description(Some("the field to blame, where one is")))
        .required("code")
        .required("name")
        .required("message");
    of_properties([("errors", filled_list(entry.build()).into())])
}

fn datetime() -> RefOr<Schema> {
    shown(FieldType::Moment, false).into()
}

fn ids() -> RefOr<Schema> {
    list(id().build()).into()
}

fn slots() -> Object {
    let slot = of_properties([
        ("start", datetime()),
        ("capacity", whole(1, i64::MAX).into()),
        ("calendar_ids", filled_list(id().build()).into()),
    ]);
    of_properties([
        ("group_id", id().into()),
        ("firstSlot", shown(FieldType::Moment, true).into()),
        ("intervention_ids", ids()),
        ("calendar_id", shown(FieldType::Reference, true).into()),
        ("calendar_ids", ids()),
        ("availabletimeslots", list(slot).into()),
    ])
}

fn explanation() -> Object {
    let rules = [
        "outside_availability",
        "off_grid",
        "taken",
        "not_offered",
        "repeated_hour",
        "MintimeRdv",
        "MaxRdvPeriod",
    ];
    let reason = of_properties([("rule", one_of(rules).into()), ("message", text().into())]);
    let calendar = of_properties([
        ("calendar_id", id().into()),
        ("offered", flag().into()),
        ("reasons", list(reason).into()),
    ]);
    of_properties([("start", datetime()), ("calendars", list(calendar).into())])
}

/// What a booking is asked with. Reference 6.
fn booking() -> RefOr<Schema> {
    let or_nothing = |schema: RefOr<Schema>| any_of([schema, nothing().into()]);
    let client = AllOfBuilder::new()
        .item(named("FicheFields"))
        .item(object().property("id", named("IdGiven")).build());
    let client =
        client.description(Some("the client: an id, for professionals and accounts, or who it is"));
    let interventions = any_of([
        filled_list(any_of([id().into(), pattern("^[0-9]+$").into()])).into(),
        pattern("^[0-9, ]*[0-9][0-9, ]*$").into(),
        id().into(),
    ]);
    let own = object()
        .property("date", pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2})?$"))
        .property("intervention_ids", interventions)
        .property("calendar_id", named("IdGiven"))
        .property("fiche", any_of([client.into(), null()]))
        .property("comments", given(FieldType::Text { max: 65_535 }))
        .property("websource", given(FieldType::Text { max: 255 }))
        .property("from_web", or_nothing(named("BooleanGiven")))
        .property("smsreminder", or_nothing(named("BooleanGiven")))
        .property("group_id", named("GroupGiven"))
        .required("date")
        .required("intervention_ids");
    AllOfBuilder::new().item(own.build()).item(named("CustomsGiven")).into()
}

/// A login's body: a form, or the same as JSON, flat or nested.
fn login() -> RequestBody {
    let flat = || LOGIN.into_iter().fold(object(), |object, name| object.property(name, text()));
    let form =
        flat().property("apikey", text().description(Some("counts where the query has none")));
    let who = || object().property("email", text()).property("password", text());
    let group = any_of([id().into(), text().into()]);
    let json = flat().property("pro", who()).property("account", who().property("group_id", group));
    RequestBodyBuilder::new()
        .description(Some("what the query does not say"))
        .required(Some(Required::False))
        .content("application/x-www-form-urlencoded", Content::new(Some(form.build())))
        .content("application/json", Content::new(Some(json.build())))
        .build()
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
        of_properties([("pro", pro.into()), ("error", null())]).into(),
        of_properties([("account", account.into()), ("error", null())]).into(),
    ])
}

fn login_failed() -> RefOr<Schema> {
    let entry =
        || of_properties([("code", whole(5, 5).into()), ("name", one_of(["LoginFailed"]).into())]);
    any_of([
        of_properties([("pro", null()), ("error", entry().into())]).into(),
        of_properties([("account", null()), ("error", entry().into())]).into(),
        named("Errors"),
    ])
}

fn null() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Null).into()
}
