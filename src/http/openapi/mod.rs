//! The OpenAPI document of all that is served, made from the table of routes and the tables of fields. Reference 11.

mod answers;
mod operations;
mod pages;
mod parameters;
mod resources;
mod schema;

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::Method;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::ComponentsBuilder;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    Deprecated, InfoBuilder, OpenApi, OpenApiBuilder, PathsBuilder, Ref, ServerBuilder,
};

use self::operations::{Answer, Told, told};
use crate::http::permissions::{self, Extent, Right};
use crate::http::route_table::{AtLarge, Keyed, Operation, Row, TABLE};

/// What a reader must know of every path.
const DESCRIPTION: &str = "\
Shared agendas, online booking and availability search.

Datetimes are `YYYY-MM-DD HH:MM:SS` on the clocks of the group. Bodies are JSON, the object wrapped in its name. Numbers \
may come as texts, booleans as 1 and 0; `\"\"` and null unset. Unknown fields and parameters are ignored. Paths may end \
with `.json`. An error names the field to blame and the rule, and changes nothing.

Pages of any address may use the API by the key alone: such answers carry `Access-Control-Allow-Origin: *`, and to a \
browser's `OPTIONS` with `Access-Control-Request-Method` every path answers which methods it takes, with the headers \
`Content-Type` and `Idempotency-Key`. Credentials and sessions are not for pages of other addresses.";

/// The document, as it is served.
pub(crate) fn bytes() -> Bytes {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
        document().to_json().expect("the document is of texts and numbers").into()
    });
    DOCUMENT.clone()
}

fn document() -> OpenApi {
    let components = answers::components(resources::all(ComponentsBuilder::new()));
    let components = components
        .parameter("format", parameters::format())
        .security_scheme(
            "apikey",
            SecurityScheme::ApiKey(ApiKey::Query(ApiKeyValue::with_description(
                "apikey",
                "identifies the application",
            ))),
        )
        .security_scheme("basic", {
            let description =
                "e-mail address and plain password of a professional or of a client's account";
            SecurityScheme::Http(
                HttpBuilder::new()
                    .scheme(HttpAuthScheme::Basic)
                    .description(Some(description))
                    .build(),
            )
        });
    let session = "opened by a login; it stands for the key and the credentials that opened it";
    let components = components.security_scheme(
        "session",
        SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::with_description(
            "_session_id",
            session,
        ))),
    );
    let info = InfoBuilder::new()
        .title("slotbook")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION));
    let license = utoipa::openapi::License::new(env!("CARGO_PKG_LICENSE"));
    let paths = TABLE.iter().fold(PathsBuilder::new(), |paths, row| {
        paths.path(row.path, PathItem::new(http_method(row), operation(row)))
    });
    let paths = pages::all(paths);
    let mut tags: Vec<&str> = TABLE.iter().map(|row| told(row.operation).tag).collect();
    tags.push(pages::TAG);
    tags.sort_unstable();
    tags.dedup();
    OpenApiBuilder::new()
        .info(info.license(Some(license)).build())
        .servers(Some([ServerBuilder::new().url("/").build()]))
        .tags(Some(tags.into_iter().map(|tag| TagBuilder::new().name(tag).build())))
        .paths(paths.build())
        .components(Some(components.build()))
        .build()
}

fn http_method(row: &Row) -> HttpMethod {
    match row.http_method() {
        Method::POST => HttpMethod::Post,
        Method::PUT => HttpMethod::Put,
        Method::DELETE => HttpMethod::Delete,
        _ => HttpMethod::Get,
    }
}

fn operation(row: &Row) -> OperationBuilder {
    let (name, older) = match row.operation {
        Operation::Keyed(Keyed::InGroup(operation)) => (format!("{operation:?}"), false),
        Operation::Keyed(Keyed::Older(operation, _)) => (format!("{operation:?}OnOlderPath"), true),
        Operation::Keyed(Keyed::AtLarge(operation)) => (format!("{operation:?}"), false),
        Operation::Keyed(other @ (Keyed::LogIn | Keyed::LogOut)) => (format!("{other:?}"), false),
        other @ (Operation::Alive | Operation::Ready | Operation::Document | Operation::Docs) => {
            (format!("{other:?}"), false)
        }
    };
    let told = told(row.operation);
    let (status, success) = answers::success(told.answer);
    let (roles, securities) = who(permissions::of(row.operation));
    let mut operation = OperationBuilder::new()
        .operation_id(Some(name))
        .tag(told.tag)
        .summary(Some(told.summary.clone()))
        .description(Some(roles))
        .securities(Some(securities))
        .response(status.to_string(), success);
    for name in row.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        operation = operation.parameter(parameters::of_path(name));
    }
    if older && !row.is_of_one() {
        operation = operation.parameter(parameters::group());
    }
    if makes_once(row) {
        operation = operation.parameter(parameters::once());
    }
    if let Operation::Ready = row.operation {
        operation = operation.response("503", answers::not_ready());
    }
    for status in refusals(row, &told) {
        if status == 401 && told.answer == Answer::LoggedIn {
            operation = operation.response("401", answers::refused_login());
            continue;
        }
        operation = operation.response(status.to_string(), answers::refusal(status));
    }
    operation = operation.request_body(told.body.map(|body| answers::body(body, older)));
    if row.http_method() == Method::DELETE && matches!(told.tag, "vevents" | "appointments") {
        operation = operation.request_body(Some(answers::quiet()));
    }
    operation = told.parameters.into_iter().fold(operation, OperationBuilder::parameter);
    if older {
        operation = operation.deprecated(Some(Deprecated::True));
    }
    operation.parameter_ref(Ref::new("#/components/parameters/format"))
}

/// Whether it makes something in a group, which an Idempotency-Key keeps from being made twice.
fn makes_once(row: &Row) -> bool {
    row.makes()
        && matches!(
            row.operation,
            Operation::Keyed(
                Keyed::InGroup(_) | Keyed::Older(..) | Keyed::AtLarge(AtLarge::AskLink)
            )
        )
}

/// The statuses with which an operation may say no.
fn refusals(row: &Row, told: &Told) -> Vec<u16> {
    let mut statuses = vec![406, 500];
    if permissions::of(row.operation).is_some() {
        statuses.extend([401, 403, 429, 503]);
    }
    if row.path.contains('{') || matches!(row.operation, Operation::Keyed(Keyed::Older(..))) {
        statuses.push(404);
    }
    let writes = row.http_method() != Method::GET;
    let asks = told.parameters.iter().any(|parameter| parameter.parameter_in == ParameterIn::Query);
    if writes || asks || matches!(told.answer, Answer::List(_)) {
        statuses.push(400);
    }
    if makes_once(row) {
        statuses.push(409);
    }
    if row.http_method() == Method::DELETE {
        statuses.push(413);
    }
    if told.body.is_some() {
        statuses.extend([413, 415]);
    }
    statuses.sort_unstable();
    statuses
}

/// Who may, in words, and with which credentials. Reference 3.
fn who(right: Option<&Right>) -> (String, Vec<SecurityRequirement>) {
    let needs = |scheme: &str| SecurityRequirement::new::<_, [&str; 0], &str>(scheme, []);
    let Some(right) = right else {
        return ("For everybody, without an apikey.".to_owned(), vec![for_everybody()]);
    };
    let mut words = String::from("For professionals of the group");
    words += match right.account {
        Extent::Nothing => "",
        Extent::Shown | Extent::Allowed | Extent::All => ", and for clients' accounts",
        Extent::Own | Extent::BySecret => ", and for clients' accounts: of what is their own",
    };
    words += match right.application {
        Extent::Nothing => ".",
        Extent::BySecret => "; by the key alone for whoever gives the secret of the appointment.",
        Extent::Allowed => "; by the key alone where the group allows it.",
        Extent::Shown | Extent::Own | Extent::All => "; by the key alone too.",
    };
    let mut securities =
        vec![needs("apikey").add::<_, [&str; 0], &str>("basic", []), needs("session")];
    if right.application != Extent::Nothing {
        securities.push(needs("apikey"));
    }
    (words, securities)
}

fn for_everybody() -> SecurityRequirement {
    SecurityRequirement::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn shown() -> Value {
        serde_json::from_slice(&bytes()).expect("the document is JSON")
    }

    #[test]
    fn every_route_is_in_the_document_and_the_reverse() {
        let document = shown();
        let mut told: Vec<(String, String)> = Vec::new();
        for (path, item) in document["paths"].as_object().expect("paths") {
            for (method, _) in item.as_object().expect("operations") {
                told.push((path.clone(), method.to_uppercase()));
            }
        }
        let mut routed: Vec<(String, String)> =
            TABLE.iter().map(|row| (row.path.to_owned(), row.http_method().to_string())).collect();
        // Pages for people stand beside the table.
        routed.extend(["GET", "POST"].map(|method| (pages::PATH.to_owned(), method.to_owned())));
        told.sort();
        routed.sort();
        assert_eq!(told, routed);
    }

    #[test]
    fn every_operation_tells_its_parameters_its_body_and_its_answers() {
        let document = shown();
        for row in TABLE {
            let operation = &document["paths"][row.path][row.http_method().as_str().to_lowercase()];
            let statuses: Vec<&String> =
                operation["responses"].as_object().expect("answers").keys().collect();
            let well = statuses.iter().filter(|status| status.starts_with('2')).count();
            assert!(
                well == 1 && statuses.iter().any(|status| *status == "500"),
                "{} {statuses:?}",
                row.path
            );
            let quiet = row.http_method() == Method::DELETE
                && matches!(told(row.operation).tag, "vevents" | "appointments");
            let reads = quiet
                || row.takes_body() && !matches!(row.operation, Operation::Keyed(Keyed::LogOut));
            assert_eq!(operation["requestBody"].is_object(), reads, "{}", row.path);
            let named: Vec<&str> = operation["parameters"]
                .as_array()
                .expect("parameters")
                .iter()
                .filter(|parameter| parameter["in"] == "path")
                .filter_map(|parameter| parameter["name"].as_str())
                .collect();
            let written = row.path.matches('{').count();
            assert_eq!(named.len(), written, "{}", row.path);
            assert!(operation["operationId"].is_string() && operation["security"].is_array());
        }
    }

    #[test]
    fn no_schema_demands_a_field_twice() {
        let document = shown();
        let schemas = document["components"]["schemas"].as_object().expect("schemas");
        for (name, schema) in schemas {
            let mut required: Vec<&Value> =
                schema["required"].as_array().into_iter().flatten().collect();
            let many = required.len();
            required.sort_by_key(|field| field.to_string());
            required.dedup();
            assert_eq!(required.len(), many, "{name}");
        }
    }

    #[test]
    fn names_of_operations_differ_and_every_reference_leads_somewhere() {
        let document = shown();
        let mut names: Vec<&str> = document["paths"]
            .as_object()
            .expect("paths")
            .values()
            .flat_map(|item| item.as_object().expect("operations").values())
            .filter_map(|operation| operation["operationId"].as_str())
            .collect();
        let many = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), many);
        let mut open = vec![&document];
        while let Some(value) = open.pop() {
            match value {
                Value::Object(object) => {
                    if let Some(Value::String(reference)) = object.get("$ref") {
                        let pointer =
                            reference.strip_prefix('#').expect("it stays in the document");
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
