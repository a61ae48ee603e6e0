//! A row of a batch: one write, read and prepared as the same request alone would be.
//! Reference 13.18.

use std::sync::{Arc, LazyLock};

use axum::http::header::IF_MATCH;
use axum::http::{HeaderMap, HeaderValue};
use serde_json::{Map, Value};

use crate::domain::records::fault::Fault;
use crate::domain::state::command::Command;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::zone::Zone;
use crate::engine::Committed;
use crate::http::answer::answer_parts::AnswerParts;
use crate::http::answer::entity_tag::NamedTags;
use crate::http::endpoint::{
    Endpoint, EndpointMethod, GroupHandler, Handler, KeyedHandler, Route, WriteHandler,
};
use crate::http::error::ApiError;
use crate::http::pipeline::{name_asked_object, parse_id};
use crate::http::request::GroupRequest;
use crate::http::resources::{
    appointments, calendars, customfields, fiches, hours, interventions, sets, vevents,
};
use crate::http::writes::prepared_write::RowAnswers;
use crate::wire::errors::Problem;
use crate::wire::field::{Scope, foreign_group};
use crate::wire::params::Params;

/// The endpoints among which a batch finds its writes.
pub(crate) static ENDPOINT_LISTS: [&[Endpoint]; 8] = [
    calendars::ENDPOINTS,
    hours::ENDPOINTS,
    sets::ENDPOINTS,
    interventions::ENDPOINTS,
    customfields::ENDPOINTS,
    fiches::ENDPOINTS,
    vevents::ENDPOINTS,
    appointments::ENDPOINTS,
];

/// The writes that a batch takes, by path.
static WRITES: LazyLock<matchit::Router<Vec<WriteRoute>>> = LazyLock::new(|| {
    let mut writes: Vec<(&str, Vec<WriteRoute>)> = Vec::new();
    for endpoint in ENDPOINT_LISTS.into_iter().flatten() {
        for path in endpoint.paths {
            let Some(write) = WriteRoute::new(Route { endpoint, path }) else { continue };
            match writes.iter_mut().find(|(known, _)| *known == path.pattern) {
                Some((_, of_path)) => of_path.push(write),
                None => writes.push((path.pattern, vec![write])),
            }
        }
    }
    let mut router = matchit::Router::new();
    for (path, of_path) in writes {
        router.insert(path, of_path).expect("the paths of the API differ");
    }
    router
});

/// A route whose handler prepares a write.
#[derive(Clone, Copy)]
struct WriteRoute {
    route: Route,
    handler: WriteHandler,
}

impl WriteRoute {
    /// `None` for a route that answers by itself, and for an older path.
    fn new(route: Route) -> Option<Self> {
        match route.endpoint.handler {
            Handler::Keyed(KeyedHandler::InGroup(GroupHandler::Write(handler)))
                if route.path.legacy.is_none() =>
            {
                Some(Self { route, handler })
            }
            Handler::Keyed(_) | Handler::Open(_) => None,
        }
    }
}

/// A row that passed the checks of its handler.
pub(crate) struct PreparedRow {
    pub(crate) command: Command,
    /// Whether a dry run takes it.
    pub(crate) takes_expected: bool,
    /// The path pattern of its route.
    path: &'static str,
    /// The object that its path asks for, in words.
    asked: String,
    answers: RowAnswers,
}

impl PreparedRow {
    /// Returns its answer when it was decided.
    ///
    /// # Errors
    /// Its refusals, in words for the audience; 404 if its object is gone.
    pub(crate) fn answer(
        &self,
        decided: &Result<Committed, Refusals>,
        state: &GroupState,
    ) -> Result<AnswerParts, ApiError> {
        let answer = self.answers.answer(decided, self.path, state);
        answer.map_err(|error| error.naming(&self.asked))
    }

    /// Returns its error when it was refused, with times in the zone of the group.
    pub(crate) fn refuse(&self, refusals: &[Refusal], zone: Zone) -> ApiError {
        self.answers.refuse(refusals, zone).naming(&self.asked)
    }
}

/// Prepares the row of a batch that stands at an index, or returns the error that answers it.
///
/// # Errors
/// The first failed check of the same request alone.
pub(crate) fn prepare_row(request: &GroupRequest, row: &Value) -> Result<PreparedRow, ApiError> {
    let Value::Object(row) = row else {
        let rule = "a write must be an object with method, path and body";
        return Err(ApiError::new(Problem::InvalidParameter, rule));
    };
    let (path, query) = read_path(row)?;
    let matched = WRITES.at(path).map_err(|_| no_such_write())?;
    let number = |name: &str| parse_id(matched.params.get(name)?);
    if number("group_id") != Some(request.state.catalogue.group.id.number()) {
        let group = request.state.catalogue.group.id;
        return Err(Fault::new("path", format!("must be in group {group}, as the batch is")).into());
    }
    let WriteRoute { route, handler } = find_method(row, matched.value)?;
    let mut params = Params::from_request(query);
    let path_id = number("id");
    let asked = name_asked_object(route, path_id);
    let body = read_body(row)?;
    let group = Some(request.state.catalogue.group.id);
    route.endpoint.check_right(&request.identity, group, &params)?;
    if request.is_strict {
        let method = route.endpoint.method.to_http();
        let known_names = (request.server.known_names)();
        known_names.check(method.as_str(), route.path(), &params, &body)?;
        params.push_default("instants", "1");
    }
    if let Some(fault) = foreign_group(&body, &Scope::for_group(&request.state)) {
        return Err(fault.into());
    }
    let alone = GroupRequest {
        server: Arc::clone(&request.server),
        identity: request.identity.clone(),
        params,
        from: request.from,
        now: request.now,
        state: Arc::clone(&request.state),
        path: route.path(),
        path_id,
        body,
        content: Vec::new(),
        idempotency_key: Ok(None),
        if_match: read_tags(row)?,
        headers: None,
        is_strict: request.is_strict,
    };
    let prepared = match (handler.prepare)(&alone) {
        Ok(prepared) => route.endpoint.as_expected(prepared, &alone.params)?,
        Err(error) => return Err(error.naming(&asked)),
    };
    let (command, answers) = prepared.into_row();
    let takes_expected = route.endpoint.takes_expected();
    Ok(PreparedRow { command, takes_expected, path: route.path(), asked, answers })
}

/// Returns the path of a row, without the optional suffix `.json`, and its query.
///
/// # Errors
/// A row without a path, or with more parameters than a request may have.
fn read_path(row: &Map<String, Value>) -> Result<(&str, &str), Fault> {
    let Some(Value::String(target)) = row.get("path") else {
        let rule = "must be the path of the write, such as /api/v1/groups/1/fiches/7";
        return Err(Fault::new("path", rule));
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if let Err(rule) = Params::check_request(query) {
        return Err(Fault::new("path", format!("the query {rule}")));
    }
    Ok((path.strip_suffix(".json").unwrap_or(path), query))
}

/// Returns the write of a path with the method of a row.
///
/// # Errors
/// A row without a method, or with one that the path does not take.
fn find_method(row: &Map<String, Value>, of_path: &[WriteRoute]) -> Result<WriteRoute, Fault> {
    let method = match row.get("method").and_then(Value::as_str) {
        Some("POST") => EndpointMethod::Post,
        Some("PUT") => EndpointMethod::Put,
        Some("DELETE") => EndpointMethod::Delete,
        _ => return Err(Fault::new("method", "must be POST, PUT or DELETE")),
    };
    let write = of_path.iter().find(|write| write.route.endpoint.method == method);
    write.copied().ok_or_else(no_such_write)
}

fn no_such_write() -> Fault {
    let rule = "is no write that a batch takes: give the whole path of a record, vevent or \
                appointment of the group, and a method that it takes";
    Fault::new("path", rule)
}

/// Returns the body of a row; an empty one if it has none.
///
/// # Errors
/// A body that is no object.
fn read_body(row: &Map<String, Value>) -> Result<Map<String, Value>, Fault> {
    match row.get("body") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(body)) => Ok(body.clone()),
        Some(_) => Err(Fault::new("body", "must be an object, as in the same request alone")),
    }
}

/// Returns the tags of which the object of a row must have one.
///
/// # Errors
/// Tags that no header can hold.
fn read_tags(row: &Map<String, Value>) -> Result<NamedTags, Fault> {
    let wrong = || Fault::new("if_match", "must be the ETag of the object, with its quotes");
    let mut headers = HeaderMap::new();
    match row.get("if_match") {
        None | Some(Value::Null) => {}
        Some(Value::String(tags)) => {
            let tags = HeaderValue::from_str(tags).map_err(|_| wrong())?;
            headers.insert(IF_MATCH, tags);
        }
        Some(_) => return Err(wrong()),
    }
    Ok(NamedTags::read(&headers, IF_MATCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::route_table::routes;

    #[test]
    fn a_batch_finds_every_write_that_is_prepared() {
        let mut found = 0;
        for write in routes().filter_map(WriteRoute::new) {
            let path = write.route.path().replace("{group_id}", "4").replace("{id}", "7");
            let matched = WRITES.at(&path).expect("the path is known");
            let method = write.route.endpoint.method;
            let of_path = matched.value.iter();
            assert!(of_path.clone().any(|it| it.route.endpoint.method == method), "{path}");
            found += 1;
        }
        assert!(found > 20, "only {found} writes");
    }
}
