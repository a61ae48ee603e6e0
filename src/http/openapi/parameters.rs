//! Query, path and header parameters. Reference 1.1, 1.4.

use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn, ParameterStyle};
use utoipa::openapi::schema::Type;
use utoipa::openapi::{RefOr, Required, Schema};

use crate::http::endpoint::{QueryKind, QueryParameter};
use crate::http::error::IDEMPOTENCY_KEY;
use crate::wire::schema::{
    at_least, filled_list, id, list, moment_in_query, of_types, one_of, pattern, text, whole,
};

/// The operators of conditions.
const OPERATORS: [&str; 10] = ["=", "!=", ">", ">=", "<", "<=", "like", "not like", "in", "not in"];

fn optional(name: &str, schema: impl Into<RefOr<Schema>>, description: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

/// A parameter of an endpoint. The empty text, which counts as absent, is left out of the schemas:
/// it would only complicate the types of generated programs.
pub(crate) fn query_parameter(parameter: &QueryParameter) -> Parameter {
    let QueryParameter { name, kind, description } = parameter;
    match *kind {
        QueryKind::Flag => {
            let flag = of_types([Type::Boolean, Type::Integer]);
            optional(name, flag.minimum(Some(0)).maximum(Some(1)), description)
        }
        QueryKind::Id => optional(name, id(), description),
        QueryKind::IdOrZero => optional(name, id().minimum(Some(0)), description),
        QueryKind::Ids => {
            let ids = optional(name, list(id()), description);
            let ids = ParameterBuilder::from(ids).style(Some(ParameterStyle::Form));
            ids.explode(Some(true)).build()
        }
        QueryKind::RequiredIds => {
            let ids = optional(name, filled_list(id()), description);
            let ids = ParameterBuilder::from(ids).required(Required::True);
            ids.style(Some(ParameterStyle::Form)).explode(Some(true)).build()
        }
        QueryKind::DateTime => optional(name, moment_in_query(true), description),
        QueryKind::RequiredDateTime => {
            let start = optional(name, moment_in_query(false), description);
            ParameterBuilder::from(start).required(Required::True).build()
        }
        QueryKind::Integer { min, max } => optional(name, whole(min, max), description),
        QueryKind::Text => optional(name, text(), description),
        QueryKind::OneOf(values) => optional(name, one_of(values.iter().copied()), description),
    }
}

/// A placeholder of the path: an id, or the name of a group in URLs.
pub(crate) fn path_parameter(name: &str) -> Parameter {
    let (description, schema) = match name {
        "group_id" => ("Id of the group.", id()),
        "urlname" => ("Name of the group in URLs.", text().min_length(Some(1))),
        _ => ("Id of the object.", id()),
    };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(description))
        .schema(Some(schema))
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
        id(),
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

/// The header If-Match.
pub(crate) fn if_match() -> Parameter {
    ParameterBuilder::new()
        .name("If-Match")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some("the entity tag that the object must still have; otherwise 412"))
        .schema(Some(text()))
        .build()
}

/// The parameters of each list; `columns` are the fields to sort and filter by.
pub(crate) fn list_parameters(columns: &[String]) -> Vec<Parameter> {
    let column = || one_of(columns.iter().map(String::as_str));
    // A number of records, or the word all.
    let page = of_types([Type::Integer, Type::String]).minimum(Some(1)).pattern(Some("^(all)?$"));
    let direction = pattern("^([Aa][Ss][Cc]|[Dd][Ee][Ss][Cc])?$");
    vec![
        optional("results", page, "the number of records on a page, or all; by default 25"),
        optional("startIndex", at_least(0), "the number of records before the page; by default 0"),
        optional("sort", column(), "the field to sort by; records with equal values go by id"),
        optional("dir", direction, "asc or desc"),
        optional(
            "search",
            // The limit holds without the spaces around the words, which no schema says.
            text(),
            "words in names, 255 characters at most; for persons also in e-mail addresses and \
             telephone numbers",
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
