//! The texts of the document: `data/openapi/fields.json` describes the properties of records, and
//! `data/openapi/operations.json` the operations, with an example of each.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

type FieldTexts = BTreeMap<String, BTreeMap<String, String>>;

static FIELDS: LazyLock<FieldTexts> = LazyLock::new(|| {
    let text = include_str!("../../../data/openapi/fields.json");
    serde_json::from_str(text).expect("the file holds texts by component and property")
});

static OPERATIONS: LazyLock<BTreeMap<String, OperationText>> = LazyLock::new(|| {
    let text = include_str!("../../../data/openapi/operations.json");
    serde_json::from_str(text).expect("the file holds a description and an example for each key")
});

/// The description of an operation, and an example that runs against the demonstration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperationText {
    /// The result of the operation, its rules and its limits.
    pub(crate) description: String,
    /// A request that the demonstration answers with the example's status.
    pub(crate) example: OperationExample,
}

/// A request to the demonstration. The file also has the status of its response, for a test.
#[derive(Debug, Deserialize)]
pub(crate) struct OperationExample {
    /// The caller.
    pub(crate) by: ExampleCaller,
    /// The values of the path's parameters, by name.
    #[serde(default)]
    pub(crate) path: BTreeMap<String, Value>,
    /// The values of query parameters, by name, without the apikey.
    #[serde(default)]
    pub(crate) query: BTreeMap<String, Value>,
    /// The JSON body.
    #[serde(default)]
    pub(crate) body: Option<Map<String, Value>>,
    /// The name of the file that is the body, for commands. The file of the test is in
    /// `data/openapi/`.
    #[serde(default)]
    pub(crate) file: Option<String>,
}

/// The caller of an example.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExampleCaller {
    /// Without an apikey.
    Anyone,
    /// By the key alone.
    Application,
    /// By a key of the operator.
    Operator,
    /// By the key, with the credentials of a client's account.
    Account,
    /// By the key, with the credentials of a professional.
    Professional,
}

/// Returns the description and the example of an operation.
///
/// # Panics
/// For an operation without an entry in `data/openapi/operations.json`.
pub(crate) fn operation_text(operation_id: &str) -> &'static OperationText {
    match OPERATIONS.get(operation_id) {
        Some(text) => text,
        None => panic!("describe the operation {operation_id} in data/openapi/operations.json"),
    }
}

/// Returns the description of a property of a component's record.
///
/// # Panics
/// For a property without an entry in `data/openapi/fields.json`.
pub(crate) fn field_text(component: &str, property: &str) -> &'static str {
    for section in [component, "Common"] {
        if let Some(text) = FIELDS.get(section).and_then(|texts| texts.get(property)) {
            return text;
        }
    }
    panic!("describe the property {property} of {component} in data/openapi/fields.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::openapi::document_bytes;
    use crate::http::route_table::endpoints;

    #[test]
    fn each_entry_of_the_operations_belongs_to_an_operation() {
        let mut known: Vec<&str> = endpoints().map(|endpoint| endpoint.operation_id).collect();
        known.extend(["ShowLink", "FollowMailedLink", "ShowLinkTimes", "MoveByLink"]);
        for operation_id in OPERATIONS.keys() {
            assert!(known.contains(&operation_id.as_str()), "{operation_id}");
        }
    }

    #[test]
    fn each_entry_of_the_fields_describes_a_property() {
        let document: Value = serde_json::from_slice(&document_bytes()).expect("JSON");
        let text = document.to_string();
        for (component, properties) in FIELDS.iter() {
            for (property, description) in properties {
                let quoted = Value::from(description.as_str()).to_string();
                let shown = text.contains(quoted.trim_matches('"'));
                assert!(shown, "{component}.{property} is described but not in the document");
            }
        }
    }
}
