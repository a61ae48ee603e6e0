//! Query, path and header parameters. Reference 1.1, 1.4.

use serde_json::Value;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn, ParameterStyle};
use utoipa::openapi::{RefOr, Required, Schema};

use crate::http::endpoint::{QueryKind, QueryParameter};
use crate::http::error::IDEMPOTENCY_KEY;
use crate::http::openapi::schema::{
    any_of, at_least, filled_list, id, list, one_of, pattern, text, whole,
};

/// The operators of conditions.
const OPERATORS: [&str; 10] = ["=", "!=", ">", ">=", "<", "<=", "like", "not like", "in", "not in"];
/// A date with or without a time, or nothing.
const DATETIME: &str = "^ *([0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2})?)? *$";

fn optional(name: &str, schema: impl Into<RefOr<Schema>>, description: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

/// A schema to which the empty text is added, which counts as absent.
fn or_empty(schema: impl Into<RefOr<Schema>>) -> RefOr<Schema> {
    any_of([schema.into(), one_of([""]).into()])
}

/// A parameter of an endpoint.
pub(crate) fn query_parameter(parameter: &QueryParameter) -> Parameter {
    let QueryParameter { name, kind, description } = parameter;
    match *kind {
        QueryKind::Flag => {
            optional(name, or_empty(one_of(["1", "0", "true", "false"])), description)
        }
        QueryKind::Id => optional(name, or_empty(id()), description),
        QueryKind::IdOrZero => {
            optional(name, any_of([id().into(), one_of(["0", ""]).into()]), description)
        }
        QueryKind::Ids => {
            let ids = optional(name, list(or_empty(id())), description);
            let ids = ParameterBuilder::from(ids).style(Some(ParameterStyle::Form));
            ids.explode(Some(true)).build()
        }
        QueryKind::RequiredIds => {
            let ids = optional(name, filled_list(id()), description);
            let ids = ParameterBuilder::from(ids).required(Required::True);
            ids.explode(Some(true)).build()
        }
        QueryKind::DateTime => optional(name, pattern(DATETIME), description),
        QueryKind::Integer { min, max } => optional(name, or_empty(whole(min, max)), description),
        QueryKind::Text => optional(name, text(), description),
    }
}

/// An id in the path.
pub(crate) fn path_parameter(name: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .schema(Some(id()))
        .build()
}

/// The format of the response, which every path takes.
pub(crate) fn format() -> Parameter {
    let json = pattern("^\\s*([Jj][Ss][Oo][Nn])?\\s*$");
    optional("format", json, "responses are JSON only; the suffix `.json` of the path is the same")
}

/// The group of a list on an older path.
pub(crate) fn legacy_group() -> Parameter {
    optional(
        "group_id",
        or_empty(id()),
        "the group; by default the professional's main group, else the only group of the key",
    )
}

/// The header Idempotency-Key.
pub(crate) fn idempotency_key() -> Parameter {
    let key = text().min_length(Some(1)).max_length(Some(255)).pattern(Some("^[ -~]+$"));
    ParameterBuilder::new()
        .name(IDEMPOTENCY_KEY)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "for 24 hours, the same key and body return the first response; another body is 409",
        ))
        .schema(Some(key))
        .build()
}

/// The parameters of each list; `columns` are the fields to sort and filter by.
pub(crate) fn list_parameters(columns: &[&'static str]) -> Vec<Parameter> {
    let column = || {
        let mut names: Vec<Value> = columns.iter().map(|name| Value::from(*name)).collect();
        names.push("".into());
        any_of([
            one_of(names).into(),
            pattern("^(bool[0-9]|dt[01]|num[0-3]|str([0-9]|1[0-4])|txt[0-2])$").into(),
        ])
    };
    let page = any_of([at_least(1).into(), one_of(["all", ""]).into()]);
    let direction = pattern("^([Aa][Ss][Cc]|[Dd][Ee][Ss][Cc])?$");
    vec![
        optional("results", page, "the number of records on a page, or all; by default 25"),
        optional(
            "startIndex",
            or_empty(at_least(0)),
            "the number of records before the page; by default 0",
        ),
        optional("sort", column(), "the field to sort by; records with equal values go by id"),
        optional("dir", direction, "asc or desc"),
        optional(
            "search",
            text().max_length(Some(255)),
            "words in names; for persons also in e-mail addresses and telephone numbers",
        ),
        optional(
            "conditions[0][field]",
            column(),
            "the field of a condition; further conditions are conditions[1] and so on",
        ),
        optional(
            "conditions[0][op]",
            one_of(OPERATORS),
            "the operator; `like` takes `%` as a wildcard, `in` takes values between commas",
        ),
        optional("conditions[0][value]", text(), "the value that the field is compared with"),
    ]
}
