//! The operation of each route, made from its endpoint.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{Operation, OperationBuilder, Parameter, ParameterBuilder};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Deprecated, Ref};

use crate::http::endpoint::{EndpointMethod, Route};
use crate::http::openapi::curl::curl_command;
use crate::http::openapi::texts::operation_text;
use crate::http::openapi::{answers, bodies, parameters};
use crate::http::permissions::{Extent, Resource, Right};
use crate::http::streams::reader::is_stream;
use crate::wire::changes::SINCE;

/// The operation of a route.
pub(crate) fn operation(route: &Route) -> Operation {
    let endpoint = route.endpoint;
    let is_legacy = route.path.legacy.is_some();
    let (callers, securities) = describe_callers(endpoint.right.as_ref());
    let example = &operation_text(endpoint.operation_id).example;
    let mut operation = OperationBuilder::new()
        .tag(endpoint.tag())
        .description(Some(describe_operation(endpoint.operation_id, &callers)))
        .securities(Some(securities));
    operation = if is_legacy {
        operation
            .operation_id(Some(format!("{}OnOlderPath", endpoint.operation_id)))
            .summary(Some(format!("{} (older path)", endpoint.summary)))
            .deprecated(Some(Deprecated::True))
    } else {
        operation.operation_id(Some(endpoint.operation_id)).summary(Some(endpoint.summary))
    };
    for segment in route.path().split('/') {
        if let Some(name) = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            operation =
                operation.parameter(with_example(parameters::path_parameter(name), &example.path));
        }
    }
    if is_legacy && !route.path.has_id() {
        operation = operation.parameter(parameters::legacy_group());
    }
    if endpoint.takes_idempotency_key {
        operation = operation.parameter(parameters::idempotency_key());
    }
    if endpoint.takes_if_match {
        operation = operation.parameter(parameters::if_match());
    }
    if endpoint.has_entity_tag() {
        operation = operation.response("304", answers::not_modified());
    }
    for status in error_statuses(route) {
        operation = operation.response(status.to_string(), answers::error(status));
    }
    // An answer of its own replaces the common error of the same status.
    for answer in endpoint.answers {
        operation =
            operation.response(answer.status.to_string(), answers::response(endpoint, answer));
    }
    if let Some(body) = &endpoint.body {
        operation = operation.request_body(Some(bodies::request_body(endpoint, body, is_legacy)));
    }
    for parameter in endpoint.query {
        operation = operation
            .parameter(with_example(parameters::query_parameter(parameter), &example.query));
    }
    if endpoint.is_list()
        && let Some(right) = &endpoint.right
    {
        for parameter in parameters::list_parameters(right.resource) {
            operation = operation.parameter(with_example(parameter, &example.query));
        }
    }
    if !is_legacy {
        operation = operation.extensions(Some(code_sample(route)));
    }
    operation.parameter_ref(Ref::new("#/components/parameters/format")).build()
}

/// Returns the description of an operation: its text, and its callers in words.
pub(crate) fn describe_operation(operation_id: &str, callers: &str) -> String {
    format!("{} {callers}", operation_text(operation_id).description)
}

/// Adds the value that the operation's example gives a parameter.
fn with_example(parameter: Parameter, values: &BTreeMap<String, Value>) -> Parameter {
    match values.get(&parameter.name) {
        Some(value) => ParameterBuilder::from(parameter).example(Some(value.clone())).build(),
        None => parameter,
    }
}

/// The example of an operation as a command for the demonstration. Viewers show it.
fn code_sample(route: &Route) -> Extensions {
    let command = curl_command(route);
    let sample = json!([{ "lang": "Shell", "label": "curl", "source": command }]);
    Extensions::from_iter([("x-codeSamples", sample)])
}

/// Returns the statuses of the errors that a route may return.
fn error_statuses(route: &Route) -> BTreeSet<u16> {
    let endpoint = route.endpoint;
    let mut statuses = BTreeSet::from([400, 406, 500]);
    if endpoint.right.is_some() {
        statuses.extend([401, 403, 429, 503]);
    }
    if route.path().contains('{') || route.path.legacy.is_some() {
        statuses.insert(404);
    }
    if endpoint.takes_idempotency_key || endpoint.may_conflict || endpoint.takes_expected() {
        statuses.insert(409);
    }
    let takes_since = endpoint.query.iter().any(|it| it.name == SINCE) && !is_stream(endpoint);
    let is_of_webhook = endpoint.right.is_some_and(|it| it.resource == Resource::Webhook);
    if takes_since || (is_of_webhook && endpoint.body.is_some()) {
        statuses.insert(410);
    }
    if endpoint.takes_if_match {
        statuses.insert(412);
    }
    if endpoint.method == EndpointMethod::Delete {
        statuses.insert(413);
    }
    // A body that may be left out counts as empty if it is not JSON.
    if endpoint.body.is_some_and(|body| body.is_required) {
        statuses.extend([413, 415]);
    }
    statuses
}

/// Returns the callers of a route in words, and their credentials. Reference 3.2.
fn describe_callers(right: Option<&Right>) -> (String, Vec<SecurityRequirement>) {
    let needs = |scheme: &str| SecurityRequirement::new::<_, [&str; 0], &str>(scheme, []);
    let Some(right) = right else {
        let words = "For every caller. No apikey is needed.".to_owned();
        return (words, vec![SecurityRequirement::default()]);
    };
    if right.application == Extent::Operator {
        let securities = ["apikey", "bearer", "apikeyInQuery"].map(needs).to_vec();
        return ("For keys of the operator.".to_owned(), securities);
    }
    let mut words = String::from("For professionals of the group");
    words += match right.account {
        Extent::Nothing => "",
        Extent::Shown | Extent::Allowed | Extent::Operator | Extent::All => {
            ", and for clients' accounts"
        }
        Extent::Own | Extent::BySecret => ", and for clients' accounts about their own objects",
    };
    words += match right.application {
        Extent::Nothing => ".",
        Extent::BySecret => "; with the key alone if the secret of the appointment is given.",
        Extent::Allowed => "; with the key alone if the group allows it.",
        Extent::Shown | Extent::Own | Extent::Operator | Extent::All => {
            "; also with the key alone."
        }
    };
    let with_basic = |scheme: &str| needs(scheme).add::<_, [&str; 0], &str>("basic", []);
    let mut securities = vec![
        with_basic("apikey"),
        with_basic("apikeyInQuery"),
        needs("session"),
        needs("screenLogin"),
    ];
    if right.application != Extent::Nothing {
        securities.extend(["apikey", "bearer", "apikeyInQuery"].map(needs));
    }
    (words, securities)
}
