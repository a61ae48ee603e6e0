//! Query, path and header parameters. Reference 1.1, 1.4.

use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn, ParameterStyle};
use utoipa::openapi::schema::ComponentsBuilder;
use utoipa::openapi::{RefOr, Required, Schema};

use crate::http::endpoint::{QueryKind, QueryParameter};
use crate::http::error::IDEMPOTENCY_KEY;
use crate::http::permissions::Resource;
use crate::wire::schema::{
    at_least, described, filled_list, flag, id, list, moment_in_query, named, one_of, pattern,
    text, whole,
};

/// The operators of conditions.
const OPERATORS: [&str; 10] = ["=", "!=", ">", ">=", "<", "<=", "like", "not like", "in", "not in"];

/// The component of the operators.
const OPERATOR: &str = "ConditionOperator";
/// The number of conditions that the document describes, the first of those that lists take.
const CONDITIONS: usize = 5;

/// Adds the component of the operators of conditions.
pub(crate) fn add_components(components: ComponentsBuilder) -> ComponentsBuilder {
    let text = "An operator of a condition.";
    components.schema(OPERATOR, described(one_of(OPERATORS), text))
}

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
        QueryKind::Flag => optional(name, flag(), description),
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
        QueryKind::RequiredInteger { min, max } => {
            let number = optional(name, whole(min, max), description);
            ParameterBuilder::from(number).required(Required::True).build()
        }
        QueryKind::Text => optional(name, text(), description),
        QueryKind::OneOf(values) => optional(name, one_of(values.iter().copied()), description),
    }
}

/// A placeholder of the path: an id, or the name of a group in URLs.
pub(crate) fn path_parameter(name: &str) -> Parameter {
    let (description, schema) = match name {
        "group_id" => ("Id of the group.", id()),
        "urlname" => ("Name of the group in URLs.", text().min_length(Some(1))),
        "slot" => (
            "Slot of the image: logo, cover, or calendar- with the id of a calendar.",
            pattern("^(logo|cover|calendar-[1-9][0-9]*)$"),
        ),
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

/// The parameters of each list of a resource.
pub(crate) fn list_parameters(resource: Resource) -> Vec<Parameter> {
    let column = || named(&format!("{}Column", resource.name()));
    let direction = pattern("^([Aa][Ss][Cc]|[Dd][Ee][Ss][Cc])?$");
    let page = "the number of records on a page; by default 25. Outside generated programs, `all` \
        stands for all records";
    let mut parameters = vec![
        optional("results", at_least(1), page),
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
    ];
    for n in 0..CONDITIONS {
        let operator =
            "the operator; `like` takes `%` as a wildcard, `in` takes values between commas";
        parameters.extend([
            optional(&format!("conditions[{n}][field]"), column(), "the field of a condition"),
            optional(&format!("conditions[{n}][op]"), named(OPERATOR), operator),
            optional(
                &format!("conditions[{n}][value]"),
                text(),
                "the value that the field is compared with",
            ),
        ]);
    }
    parameters
}
