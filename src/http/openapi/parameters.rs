//! The parameters of queries and paths. Reference 1, 4.

use serde_json::Value;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn, ParameterStyle};
use utoipa::openapi::{RefOr, Required, Schema};

use crate::http::error::IDEMPOTENCY_KEY;
use crate::http::openapi::resources::Resource;
use crate::http::openapi::schema::{
    any_of, at_least, filled_list, id, list, one_of, pattern, text, whole,
};

/// The relations that a condition can ask for.
const RELATIONS: [&str; 10] = ["=", "!=", ">", ">=", "<", "<=", "like", "not like", "in", "not in"];

fn query(name: &str, schema: impl Into<RefOr<Schema>>, description: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

/// A parameter whose empty value is as good as none.
fn or_empty(schema: impl Into<RefOr<Schema>>) -> RefOr<Schema> {
    any_of([schema.into(), one_of([""]).into()])
}

fn flag(name: &str, description: &str) -> Parameter {
    query(name, or_empty(one_of(["1", "0", "true", "false"])), description)
}

fn reference(name: &str, description: &str) -> Parameter {
    query(name, or_empty(id()), description)
}

fn datetime(name: &str, description: &str) -> Parameter {
    let form = "^ *([0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2})?)? *$";
    query(name, pattern(form), description)
}

/// Ids, repeated.
fn ids(name: &str, description: &str) -> Parameter {
    let parameter = query(name, list(or_empty(id())), description);
    ParameterBuilder::from(parameter).style(Some(ParameterStyle::Form)).explode(Some(true)).build()
}

/// An id of the path.
pub(crate) fn of_path(name: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .schema(Some(id()))
        .build()
}

/// The format of the answer, which every path can be asked for.
pub(crate) fn format() -> Parameter {
    let forms = pattern("^\\s*([Jj][Ss][Oo][Nn])?\\s*$");
    query("format", forms, "answers are JSON only; `.json` at the end of the path says the same")
}

/// The group of an older path's list.
pub(crate) fn group() -> Parameter {
    reference(
        "group_id",
        "the group; where it is not named, the professional's main group, else the key's only one",
    )
}

/// The header under which a new object is made once, however often it is asked for.
pub(crate) fn once() -> Parameter {
    let key = text().min_length(Some(1)).max_length(Some(255)).pattern(Some("^[ -~]+$"));
    ParameterBuilder::new()
        .name(IDEMPOTENCY_KEY)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "the same key and body get the first answer again for 24 hours; another body is 409",
        ))
        .schema(Some(key))
        .build()
}

/// The secret of an appointment.
pub(crate) fn secret() -> Parameter {
    query("key", text(), "the appointment's secret, for whoever is no professional of the group")
}

/// The names of what a login is asked with.
pub(crate) const LOGIN: [&str; 5] =
    ["pro[email]", "pro[password]", "account[email]", "account[password]", "account[group_id]"];

/// What a login takes, unless the body says it.
pub(crate) fn of_login() -> Vec<Parameter> {
    LOGIN
        .into_iter()
        .map(|name| query(name, text(), "passwords are the SHA-1 of the plain one in hexadecimal"))
        .collect()
}

/// What every list takes.
pub(crate) fn of_list(resource: Resource) -> Vec<Parameter> {
    let columns = || {
        let names = one_of(resource.columns().into_iter().map(Value::from).chain(["".into()]));
        any_of([
            names.into(),
            pattern("^(bool[0-9]|dt[01]|num[0-3]|str([0-9]|1[0-4])|txt[0-2])$").into(),
        ])
    };
    let page = any_of([at_least(1).into(), one_of(["all", ""]).into()]);
    let direction = pattern("^([Aa][Ss][Cc]|[Dd][Ee][Ss][Cc])?$");
    vec![
        query("results", page, "records on a page, or all; 25 where it is not given"),
        query("startIndex", or_empty(at_least(0)), "how many records come before the page"),
        query("sort", columns(), "the field to sort by; ties are broken by id"),
        query("dir", direction, "asc or desc"),
        query(
            "search",
            text().max_length(Some(255)),
            "words of names; of people also of e-mail and telephone",
        ),
        query(
            "conditions[0][field]",
            columns(),
            "the field of a condition; further ones are conditions[1], and so on",
        ),
        query(
            "conditions[0][op]",
            one_of(RELATIONS),
            "its relation; `like` knows `%`, `in` takes values between commas",
        ),
        query("conditions[0][value]", text(), "what the field is held against"),
    ]
}

/// What lists of calendars take besides.
pub(crate) fn of_calendars() -> Vec<Parameter> {
    vec![
        ids("intervention_ids[]", "only calendars that offer all of these"),
        ids("calendarset_ids[]", "only calendars of these sets"),
    ]
}

/// What lists of interventions take besides.
pub(crate) fn of_interventions() -> Vec<Parameter> {
    vec![
        reference("interventionset_id", "only interventions of this set"),
        ids("calendar_ids[]", "only interventions that any of these calendars offers"),
    ]
}

/// What lists of events take besides.
pub(crate) fn of_vevents() -> Vec<Parameter> {
    vec![
        reference("calendar_id", "only events of this calendar"),
        reference("fiche_id", "only appointments of this client"),
        datetime("start_from", "only events that start then or later"),
        datetime("start_to", "only events that start before"),
    ]
}

/// What lists of appointments take besides.
pub(crate) fn of_appointments() -> Vec<Parameter> {
    vec![flag("include_past", "past ones too")]
}

/// What the search for free starts takes.
pub(crate) fn of_slots() -> Vec<Parameter> {
    let several = || whole(1, 1_000);
    let any_calendar = any_of([id().into(), one_of(["0", ""]).into()]);
    let interventions = query(
        "intervention_ids[]",
        filled_list(id()),
        "what is to be done, in order, one right after another",
    );
    vec![
        ParameterBuilder::from(interventions).required(Required::True).explode(Some(true)).build(),
        query("calendar_id", any_calendar, "only this calendar; 0 for any"),
        ids("calendar_ids[]", "only these calendars"),
        ids("calendarset_ids[]", "only calendars of these sets"),
        datetime("start", "where the search starts; now where it is not given"),
        datetime("end", "where it ends, at most 366 days later; not together with nDays"),
        query(
            "nDays",
            or_empty(whole(1, 366)),
            "how many local days it covers; 7 where neither is given",
        ),
        query("cal_qty", or_empty(several()), "how many calendars must be free at least"),
        query("min_capacity", or_empty(several()), "the same"),
        flag("first", "only the first free start, as far as maxrdv_period"),
        flag("from_web", "0, for professionals: without the module's rules"),
        datetime("explain", "instead of slots, every rule that stands in the way of this start"),
    ]
}
