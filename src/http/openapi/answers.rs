//! Responses: errors, and the successes that no field table describes. Reference 1.5, 2.

use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::ComponentsBuilder;
use utoipa::openapi::{Content, Ref, RefOr, Response, Schema};

use crate::http::endpoint::{Answer, Endpoint};
use crate::http::openapi::bodies::schema;
use crate::wire::errors::ErrorBodyJson;
use crate::wire::schema::{named, schema_of, text, whole};

/// The statuses of errors, with the name and the description of their response component.
const ERRORS: [(u16, &str, &str); 13] = [
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
    (
        409,
        "Conflict",
        "the idempotency key was used with another body, a number or a list has changed, or two clients have the externid",
    ),
    (
        410,
        "Gone",
        "the feed of changes no longer has the place of the cursor: read everything anew",
    ),
    (412, "PreconditionFailed", "the object has another tag than If-Match names; it comes along"),
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
    let mut components = components.schema("Errors", schema_of::<ErrorBodyJson<'_>>());
    for (status, name, description) in ERRORS {
        let mut response = json_response(description, named("Errors"));
        if status == 412 {
            response = response.header("ETag", object_tag());
        }
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

/// The header with the entity tag of an object.
fn object_tag() -> Header {
    let header = HeaderBuilder::new().schema(Some(text().build()));
    header.description(Some("the entity tag of the object, for If-Match")).build()
}

/// An answer of an endpoint.
pub(crate) fn response(endpoint: &Endpoint, answer: &Answer) -> Response {
    let content = Content::new(Some(schema(&answer.shape, endpoint)));
    let response = ResponseBuilder::new().description(answer.description);
    let mut response = response.content(answer.media_type, content);
    if answer.has_object_tag {
        response = response.header("ETag", object_tag());
    }
    let Some((name, description)) = answer.header else { return response.build() };
    let header = HeaderBuilder::new().schema(Some(text().build()));
    response.header(name, header.description(Some(description)).build()).build()
}
