//! The OpenAPI document, made from the endpoints and the field tables. Reference 11.4.

mod answers;
mod bodies;
pub(crate) mod curl;
mod import_document;
pub(crate) mod known_names;
mod operations;
mod pages;
mod parameters;
pub(crate) mod records;
mod texts;

use std::sync::{Arc, LazyLock};

use axum::body::Bytes;
use utoipa::openapi::path::{HttpMethod, PathItem};
use utoipa::openapi::schema::ComponentsBuilder;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{
    ContactBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, PathsBuilder,
    ServerBuilder,
};

use crate::http::answer::fixed_content::FixedContent;
use crate::http::auth::apikey::API_KEY;
use crate::http::endpoint::{EndpointMethod, Shape};
pub use crate::http::openapi::import_document::import_schema;
use crate::http::openapi::known_names::KnownNames;
use crate::http::route_table::{endpoints, routes};

/// The rules that hold for all endpoints.
const DESCRIPTION: &str = "\
Shared agendas, online booking and availability search.

Datetimes are `YYYY-MM-DD HH:MM:SS` in the time zone of the group; requests may also have the form of RFC 3339. Bodies are JSON, and the object is wrapped in its \
name. Numbers may be texts, booleans may be 1 and 0; `\"\"`, `[]` and null unset a value, and an empty parameter counts as \
absent. Unknown fields and parameters are ignored; `Prefer: handling=strict` refuses them. Paths may end with `.json`. An error names the wrong field and the rule; the request has then changed nothing.

Web pages of the origins that the key names may use the API with the key alone. To pages of other origins every change is \
403; a key of an earlier release allows all pages until it names origins. Each \
path answers a browser's `OPTIONS` with `Access-Control-Request-Method` with its methods and the headers \
`Content-Type`, `Idempotency-Key` and `X-Api-Key`. Pages of other addresses may not use sessions. They may use HTTP Basic with \
a key that names their origin.

Lists of calendars, services and their sets, and this document, carry an `ETag`; a request with `If-None-Match` is answered \
with 304 if nothing changed. A page of a list carries `Link` with the addresses of the other pages. A 429, and a booking with a \
public key, carry `RateLimit` with the places left (`r`) and the seconds until all are free (`t`).";

/// The licence, by its SPDX expression.
const LICENSE: &str = env!("CARGO_PKG_LICENSE");

/// The tags, which group operations, with their descriptions, in the order of use.
const TAGS: [(&str, &str); 28] = [
    ("groups", "Companies, shops or offices, with their settings."),
    ("modules", "What a page for booking shows of a group."),
    ("interventions", "Services that can be booked, with their lengths and prices."),
    ("interventionsets", "Groups of interventions."),
    ("calendars", "Agendas, each of which takes one appointment at a time."),
    ("calendarsets", "Groups of calendars, for example of one place."),
    ("calendarfeeds", "Links by which calendar programs read an agenda."),
    ("images", "Logo, cover and photos of calendars, which pages and mails show."),
    ("availabletimeslots", "Free starts, and the reasons why a start is not free."),
    ("holds", "Time that is kept for a client for some minutes."),
    ("appointments", "Booking, reading and cancelling."),
    ("accounts", "Clients that log in: links to open an account and to set a password."),
    ("sessions", "Logins of professionals and of clients' accounts."),
    ("fiches", "Clients, with their addresses and telephone numbers."),
    ("customfields", "Definitions of customised attributes of fiches and vevents."),
    ("agenda", "All that takes place on calendars in a window, as screens draw it."),
    ("vevents", "Everything in an agenda: appointments, plages, availabilities and notes."),
    ("dry-runs", "The appointments that a change would displace, before it is made."),
    ("batch", "Several writes in one request."),
    ("messages", "Mails and text messages: planned, sent and unsent."),
    ("pros", "Professionals who work in a group."),
    ("history", "Who changed what."),
    ("changes", "What has changed since a cursor, in order, for programs that follow a group."),
    ("webhooks", "Receivers of changes: addresses to which the server posts them."),
    ("retention", "What is due to be emptied, erased or closed."),
    ("exports", "Everything about a group or a client."),
    ("server", "State and description of the server."),
    (pages::TAG, "Pages that links in mails open."),
];

/// Returns the serialised document. It is made once in each process.
pub(crate) fn document_bytes() -> Bytes {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
        let json = document().to_json().expect("the document holds texts and numbers only");
        json.into()
    });
    DOCUMENT.clone()
}

/// Makes what the other functions return.
pub(crate) fn prepare_document() {
    fixed_document();
    known_names();
}

/// Returns the document as it is served. It is compressed once in each process.
pub(crate) fn fixed_document() -> FixedContent {
    static DOCUMENT: LazyLock<FixedContent> =
        LazyLock::new(|| FixedContent::new("application/json", document_bytes()));
    DOCUMENT.clone()
}

/// Returns the names that the operations of the document take. They are read once in each process.
pub(crate) fn known_names() -> Arc<KnownNames> {
    static NAMES: LazyLock<Arc<KnownNames>> = LazyLock::new(|| {
        let document = serde_json::from_slice(&document_bytes()).expect("the document is JSON");
        Arc::new(KnownNames::of_document(&document))
    });
    Arc::clone(&NAMES)
}

fn document() -> OpenApi {
    let components = answers::add_components(records::add_components(ComponentsBuilder::new()));
    let components = parameters::add_components(add_named_shapes(components))
        .parameter("format", parameters::format())
        .security_scheme(
            "apikey",
            SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::with_description(
                API_KEY,
                "The key, which identifies the application.",
            ))),
        )
        .security_scheme(
            "apikeyInQuery",
            SecurityScheme::ApiKey(ApiKey::Query(ApiKeyValue::with_description(
                "apikey",
                "The key in the query, where logs and histories may keep it.",
            ))),
        )
        .security_scheme("bearer", bearer_scheme())
        .security_scheme("basic", basic_scheme())
        .security_scheme(
            "session",
            SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::with_description(
                "_session_id",
                "set by a login; it replaces the apikey and the credentials of that login",
            ))),
        )
        .security_scheme(
            "screenLogin",
            SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::with_description(
                "_practice",
                "set by a login at the screens of the practice, for scripts of pages of this server \
                 only; it replaces the apikey and the credentials of a professional. With \
                 `--behind-tls` its name is `__Host-_practice`",
            ))),
        );
    let contact = ContactBuilder::new().name(Some("slotbook"));
    let contact = contact.url(Some(env!("CARGO_PKG_REPOSITORY")));
    let license = LicenseBuilder::new().name(LICENSE).identifier(Some(LICENSE));
    let info = InfoBuilder::new()
        .title("slotbook")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .contact(Some(contact.build()))
        .license(Some(license.build()));
    let mut paths = PathsBuilder::new();
    for route in routes() {
        let method = http_method(route.endpoint.method);
        paths = paths.path(route.path(), PathItem::new(method, operations::operation(&route)));
    }
    OpenApiBuilder::new()
        .info(info.build())
        .servers(Some([ServerBuilder::new().url("/").build()]))
        .tags(Some(TAGS.map(|(name, text)| tag(name, text))))
        .paths(pages::add_pages(paths).build())
        .components(Some(components.build()))
        .build()
}

/// Adds the schemas that endpoints name in bodies and answers.
fn add_named_shapes(mut components: ComponentsBuilder) -> ComponentsBuilder {
    for endpoint in endpoints() {
        let bodies = endpoint.body.iter().map(|body| &body.json);
        for shape in bodies.chain(endpoint.answers.iter().map(|answer| &answer.shape)) {
            if let Shape::Named(name, make) = shape {
                components = components.schema(*name, make());
            }
        }
    }
    components
}

fn tag(name: &str, text: &str) -> Tag {
    TagBuilder::new().name(name).description(Some(text)).build()
}

fn bearer_scheme() -> SecurityScheme {
    let description = "The key as a bearer token, for callers without other credentials.";
    let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(description));
    SecurityScheme::Http(scheme.build())
}

fn basic_scheme() -> SecurityScheme {
    let description = "e-mail address and plain password of a professional or a client's account";
    let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Basic).description(Some(description));
    SecurityScheme::Http(scheme.build())
}

const fn http_method(method: EndpointMethod) -> HttpMethod {
    match method {
        EndpointMethod::Get => HttpMethod::Get,
        EndpointMethod::Post => HttpMethod::Post,
        EndpointMethod::Put => HttpMethod::Put,
        EndpointMethod::Delete => HttpMethod::Delete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::links;
    use serde_json::Value;

    fn parsed_document() -> Value {
        serde_json::from_slice(&document_bytes()).expect("the document is JSON")
    }

    #[test]
    fn the_document_has_all_routes_and_no_others() {
        let document = parsed_document();
        let mut documented: Vec<(String, String)> = Vec::new();
        for (path, item) in document["paths"].as_object().expect("paths") {
            for (method, _) in item.as_object().expect("operations") {
                documented.push((path.clone(), method.to_uppercase()));
            }
        }
        let mut routed: Vec<(String, String)> = Vec::new();
        for route in routes() {
            routed.push((route.path().to_owned(), route.method().to_string()));
        }
        for method in ["GET", "POST"] {
            for path in [links::PATH, links::MOVE_PATH] {
                routed.push((path.to_owned(), method.to_owned()));
            }
        }
        documented.sort();
        routed.sort();
        assert_eq!(documented, routed);
    }

    #[test]
    fn each_operation_describes_its_parameters_its_body_and_its_responses() {
        let document = parsed_document();
        for route in routes() {
            let path = route.path();
            let method = route.method().as_str().to_lowercase();
            let operation = &document["paths"][path][method];
            let statuses: Vec<&String> =
                operation["responses"].as_object().expect("responses").keys().collect();
            let successes = statuses.iter().filter(|status| status.starts_with('2')).count();
            let described = route.endpoint.answers.iter().filter(|answer| answer.status < 300);
            assert_eq!(successes, described.count(), "{path} {statuses:?}");
            assert!(successes > 0, "{path}");
            assert!(statuses.iter().any(|status| *status == "500"), "{path} {statuses:?}");
            let reads_body = route.endpoint.body.is_some();
            assert_eq!(operation["requestBody"].is_object(), reads_body, "{path}");
            if route.endpoint.method == EndpointMethod::Post && !reads_body {
                let bare = ["/logout", "/erase", "/renew", "/secret", "/test"];
                assert!(bare.iter().any(|end| path.ends_with(end)), "{path}");
            }
            let in_path = operation["parameters"]
                .as_array()
                .expect("parameters")
                .iter()
                .filter(|parameter| parameter["in"] == "path" && parameter["name"].is_string())
                .count();
            assert_eq!(in_path, path.matches('{').count(), "{path}");
            assert!(operation["operationId"].is_string() && operation["security"].is_array());
        }
    }

    #[test]
    fn summaries_are_imperative_and_start_with_a_capital() {
        for endpoint in endpoints() {
            let first = endpoint.summary.chars().next().expect("a summary");
            assert!(first.is_uppercase(), "{}", endpoint.summary);
            assert!(!endpoint.summary.ends_with('.'), "{}", endpoint.summary);
        }
    }

    #[test]
    fn each_property_has_a_description_and_no_schema_is_an_unmarked_union() {
        let document = parsed_document();
        let mut open = vec![(String::new(), &document)];
        while let Some((place, value)) = open.pop() {
            match value {
                Value::Object(object) => {
                    for union in ["anyOf", "oneOf", "allOf"] {
                        assert!(!object.contains_key(union), "{union} at {place}");
                    }
                    if let Some(Value::Object(properties)) = object.get("properties") {
                        for (name, property) in properties {
                            let text = property["description"].as_str().unwrap_or_default();
                            assert!(!text.is_empty(), "{place}.{name}");
                        }
                    }
                    for (name, value) in object {
                        open.push((format!("{place}.{name}"), value));
                    }
                }
                Value::Array(list) => open.extend(list.iter().map(|value| (place.clone(), value))),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
    }

    #[test]
    fn defaults_stand_only_where_an_object_is_created() {
        let document = parsed_document();
        assert!(!document["components"].to_string().contains("\"default\":"));
        for route in routes() {
            let method = route.method().as_str().to_lowercase();
            let operation = document["paths"][route.path()][method].to_string();
            let has_default = operation.contains("\"default\":");
            let body = route.endpoint.body.map(|body| body.json);
            let creates = matches!(body, Some(Shape::NewRecord));
            assert_eq!(has_default, creates, "{}", route.path());
        }
    }

    #[test]
    fn each_tag_is_described() {
        for endpoint in endpoints() {
            assert!(TAGS.iter().any(|(name, _)| *name == endpoint.tag()), "{}", endpoint.tag());
        }
    }

    #[test]
    fn no_schema_requires_a_field_twice() {
        let document = parsed_document();
        let schemas = document["components"]["schemas"].as_object().expect("schemas");
        for (name, schema) in schemas {
            let mut required: Vec<&Value> =
                schema["required"].as_array().into_iter().flatten().collect();
            let count = required.len();
            required.sort_by_key(|field| field.to_string());
            required.dedup();
            assert_eq!(required.len(), count, "{name}");
        }
    }

    #[test]
    fn operation_ids_are_unique_and_references_resolve() {
        let document = parsed_document();
        let mut names: Vec<&str> = document["paths"]
            .as_object()
            .expect("paths")
            .values()
            .flat_map(|item| item.as_object().expect("operations").values())
            .filter_map(|operation| operation["operationId"].as_str())
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let mut open = vec![&document];
        while let Some(value) = open.pop() {
            match value {
                Value::Object(object) => {
                    if let Some(Value::String(reference)) = object.get("$ref") {
                        let pointer =
                            reference.strip_prefix('#').expect("references stay in the document");
                        assert!(document.pointer(pointer).is_some(), "{reference}");
                    }
                    open.extend(object.values());
                }
                Value::Array(list) => open.extend(list),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
    }
}
