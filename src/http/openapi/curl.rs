//! The example of each operation as a command for the demonstration.

use form_urlencoded::Serializer;
use serde_json::Value;

use crate::http::auth::apikey::API_KEY;
use crate::http::endpoint::Route;
use crate::http::openapi::texts::{ExampleCaller, operation_text};

/// Address, key and credentials of the demonstration.
const SERVER: &str = "http://127.0.0.1:8080";
pub(crate) const KEY: &str = "demo-key-town-practice";
/// The demonstration has no key of the operator: `slotbook key add --operator` prints one.
const OPERATOR_KEY: &str = "KEY";
const PROFESSIONAL: &str = "anna@example.org:demo-password";
const ACCOUNT: &str = "louise.thomas@example.org:demo-password";

/// Returns the curl command of a route's example.
pub(crate) fn curl_command(route: &Route) -> String {
    let endpoint = route.endpoint;
    let example = &operation_text(endpoint.operation_id).example;
    let mut path = route.path().to_owned();
    for (name, value) in &example.path {
        path = path.replace(&format!("{{{name}}}"), &plain(value));
    }
    let mut query = Serializer::new(String::new());
    for (name, value) in &example.query {
        match value {
            Value::Array(items) => {
                for item in items {
                    query.append_pair(name, &plain(item));
                }
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => {
                query.append_pair(name, &plain(value));
            }
        }
    }
    let query = query.finish();
    let separator = if query.is_empty() { "" } else { "?" };
    let mut command = format!("curl -X {} '{SERVER}{path}{separator}{query}'", route.method());
    let key = match example.by {
        ExampleCaller::Anyone => None,
        ExampleCaller::Operator => Some(OPERATOR_KEY),
        ExampleCaller::Application | ExampleCaller::Account | ExampleCaller::Professional => {
            Some(KEY)
        }
    };
    if let Some(key) = key {
        command += &format!(" \\\n  -H '{API_KEY}: {key}'");
    }
    match example.by {
        ExampleCaller::Anyone | ExampleCaller::Application | ExampleCaller::Operator => {}
        ExampleCaller::Account => command += &format!(" \\\n  -u {ACCOUNT}"),
        ExampleCaller::Professional => command += &format!(" \\\n  -u {PROFESSIONAL}"),
    }
    if let Some(body) = &example.body
        && endpoint.body.is_some()
    {
        let body = Value::Object(body.clone()).to_string().replace('\'', "'\\''");
        command += &format!(" \\\n  -H 'Content-Type: application/json' \\\n  -d '{body}'");
    }
    if let Some(file) = &example.file {
        command += &format!(" \\\n  -H 'Content-Type: image/png' \\\n  --data-binary @{file}");
    }
    command
}

/// The text of a value in a path or a query.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}
