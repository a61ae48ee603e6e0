//! The names of parameters and fields that each operation of the document takes, by which requests
//! with `Prefer: handling=strict` are checked. Reference 1.8.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::domain::records::fault::Fault;
use crate::domain::records::nearest::nearest;
use crate::wire::params::Params;

/// The names that the operations of a document take.
#[derive(Debug, Default)]
pub(crate) struct KnownNames {
    /// By method in lower case and path.
    operations: BTreeMap<(String, String), OperationNames>,
}

/// The names that one operation takes.
#[derive(Debug, Default)]
struct OperationNames {
    /// Names of parameters in the query, without brackets.
    parameters: Vec<String>,
    /// Fields of the JSON object of the body.
    fields: FieldNames,
}

/// Names of the fields of an object, with those of the objects in them. An object without any takes
/// all names.
#[derive(Debug, Default)]
struct FieldNames(BTreeMap<String, FieldNames>);

/// Maximum number of unknown names that a refusal lists.
const FAULTS_MAX: usize = 50;

/// Names of the query that every path takes.
const COMMON: [&str; 2] = ["format", "apikey"];

impl KnownNames {
    /// Reads the operations of an OpenAPI document.
    pub(crate) fn of_document(document: &Value) -> Self {
        let mut operations = BTreeMap::new();
        let paths = document["paths"].as_object().into_iter().flatten();
        for (path, methods) in paths {
            for (method, operation) in methods.as_object().into_iter().flatten() {
                let names = OperationNames::of_operation(document, operation);
                operations.insert((method.clone(), path.clone()), names);
            }
        }
        Self { operations }
    }

    /// Checks that an operation takes each parameter of a query and each field of a body.
    ///
    /// # Errors
    /// A fault for each name that it does not take, for 50 of them at most.
    pub(crate) fn check(
        &self,
        method: &str,
        path: &str,
        params: &Params,
        body: &Map<String, Value>,
    ) -> Result<(), Vec<Fault>> {
        let key = (method.to_ascii_lowercase(), path.to_owned());
        let known = self.operations.get(&key).expect("the document has every route");
        let mut faults = Vec::new();
        for name in params.iter().map(|(name, _)| name) {
            if faults.len() == FAULTS_MAX {
                break;
            }
            let base = base_name(name);
            if !known.parameters.iter().any(|known| known == base) {
                let names = known.parameters.iter().map(String::as_str);
                faults.push(unknown(name, "parameter", nearest(base, names)));
            }
        }
        known.fields.check("", body, &mut faults);
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

impl OperationNames {
    fn of_operation(document: &Value, operation: &Value) -> Self {
        let mut parameters: Vec<String> = COMMON.map(str::to_owned).to_vec();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let parameter = resolve(document, parameter);
            if parameter["in"] == "query"
                && let Some(name) = parameter["name"].as_str()
            {
                let base = base_name(name).to_owned();
                if !parameters.contains(&base) {
                    parameters.push(base);
                }
            }
        }
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let mut fields = FieldNames::of_schema(document, schema);
        // A record may be sent back as it was read, though some of its fields are only read.
        for status in ["200", "201"] {
            let answer = resolve(document, &operation["responses"][status]);
            let shown = &answer["content"]["application/json"]["schema"];
            let FieldNames(shown) = FieldNames::of_schema(document, shown);
            if shown.contains_key("id") {
                for FieldNames(wrapped) in fields.0.values_mut().filter(|inner| !inner.0.is_empty())
                {
                    for name in shown.keys() {
                        wrapped.entry(name.clone()).or_default();
                    }
                }
            }
        }
        Self { parameters, fields }
    }
}

impl FieldNames {
    fn of_schema(document: &Value, schema: &Value) -> Self {
        let schema = resolve(document, schema);
        let properties = schema["properties"].as_object().into_iter().flatten();
        let fields = properties.map(|(name, member)| {
            let member = resolve(document, member);
            let member = if member["type"] == "array" { &member["items"] } else { member };
            (name.clone(), Self::of_schema(document, member))
        });
        Self(fields.collect())
    }

    /// Adds a fault for each unknown field of an object, which stands at a place in the body.
    fn check(&self, place: &str, object: &Map<String, Value>, faults: &mut Vec<Fault>) {
        if self.0.is_empty() {
            return;
        }
        for (name, value) in object {
            if faults.len() == FAULTS_MAX {
                return;
            }
            let path = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
            let Some(fields) = self.0.get(name) else {
                let names = self.0.keys().map(String::as_str);
                faults.push(unknown(&path, "field", nearest(name, names)));
                continue;
            };
            match value {
                Value::Object(inner) => fields.check(&path, inner, faults),
                Value::Array(values) => {
                    for inner in values.iter().filter_map(Value::as_object) {
                        fields.check(&path, inner, faults);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The fault of an unknown name.
fn unknown(name: &str, kind: &str, meant: Option<&str>) -> Fault {
    let rule = match meant {
        Some(meant) => format!("is no {kind} of this operation: did you mean {meant}?"),
        None => format!("is no {kind} of this operation: leave it out"),
    };
    Fault::new(name, rule)
}

/// Returns the name of a list, or of a list of objects, without its index.
fn base_name(name: &str) -> &str {
    name.split_once('[').map_or(name, |(base, _)| base)
}

/// Follows a reference of a document.
fn resolve<'d>(document: &'d Value, part: &'d Value) -> &'d Value {
    let Some(reference) = part["$ref"].as_str() else { return part };
    let pointer = reference.strip_prefix('#').expect("references stay in the document");
    document.pointer(pointer).expect("the document has what it refers to")
}
