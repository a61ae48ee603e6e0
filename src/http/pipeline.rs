//! The way of a request to its handler: each check of Reference 2 in its place, none twice.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawPathParams, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::Customfield;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::GroupId;
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::state::command::{Caller, Command, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Fault;
use crate::domain::time::Instant;
use crate::domain::time::zone::Zone;
use crate::engine::published::Published;
use crate::engine::{Committed, IdempotentRequest};
use crate::http::auth::{AuthRequest, Identity};
use crate::http::body::Incoming;
use crate::http::docs;
use crate::http::error::ApiError;
use crate::http::health;
use crate::http::idempotency::Key;
use crate::http::legacy_paths;
use crate::http::permissions;
use crate::http::resources::accounts;
use crate::http::resources::appointments;
use crate::http::resources::calendars;
use crate::http::resources::crud;
use crate::http::resources::customfields;
use crate::http::resources::fiches;
use crate::http::resources::groups;
use crate::http::resources::interventions;
use crate::http::resources::messages;
use crate::http::resources::pros;
use crate::http::resources::sessions;
use crate::http::resources::sets;
use crate::http::resources::slots;
use crate::http::resources::vevents;
use crate::http::route_table::{AtLarge, InGroup, Keyed, Operation, Row, Server, Source, XmlAsked};
use crate::http::write_capacity;
use crate::wire::errors::Problem;
use crate::wire::field::{Audience, Scope, foreign_group};
use crate::wire::params::Params;
use crate::wire::value;

/// What a handler answers with.
pub(crate) type Outcome = Result<Response, ApiError>;

/// A request of somebody known, about no group in particular.
pub(crate) struct Call {
    pub(crate) server: Arc<Server>,
    pub(crate) identity: Identity,
    pub(crate) params: Params,
    /// Where it comes from.
    pub(crate) from: IpAddr,
    /// The moment of the request: no clock is read again.
    pub(crate) now: Instant,
    /// The line of the table that took it.
    row: &'static Row,
    headers: HeaderMap,
    /// The object of the body; empty where none is read.
    pub(crate) body: Map<String, Value>,
}

impl Call {
    /// The key under which a POST about a group is carried out once, if it has one.
    ///
    /// # Errors
    /// A key that is no key.
    pub(crate) fn once(&self, state: &GroupState) -> Result<Option<Key>, Fault> {
        Key::of(&self.headers, self.row.path, &self.identity, state, &self.body)
    }
}

/// A request about one group that the caller sees.
pub(crate) struct GroupCall {
    pub(crate) server: Arc<Server>,
    pub(crate) identity: Identity,
    pub(crate) params: Params,
    /// Where the request comes from.
    pub(crate) from: IpAddr,
    /// The moment of the request: no clock is read again.
    pub(crate) now: Instant,
    /// The one state of the group that the answer is made from.
    pub(crate) state: Arc<GroupState>,
    /// The id that the path ends with, where it ends with one and it could be one.
    id: Option<u64>,
    /// The object of the body; empty where none is read.
    pub(crate) body: Map<String, Value>,
    /// The key under which a POST is carried out once, or why it is none: what the caller may not do is told before.
    once: Result<Option<Key>, Fault>,
}

impl GroupCall {
    /// The id of the path.
    ///
    /// # Errors
    /// 404 for what is no id.
    pub(crate) fn id<T>(&self, of: impl FnOnce(u64) -> Option<T>) -> Result<T, ApiError> {
        self.id.and_then(of).ok_or_else(ApiError::no_result)
    }

    /// Who asks.
    pub(crate) fn caller(&self) -> &Caller {
        &self.identity.caller
    }

    /// How much the caller is told.
    pub(crate) fn audience(&self) -> Audience {
        self.identity.audience()
    }

    /// Has the group decide a command, and waits until its outcome is durable.
    ///
    /// # Errors
    /// What refuses it, in words for the caller.
    pub(crate) async fn write(&self, command: Command) -> Result<Committed, ApiError> {
        let answer = self.server.engine.write(self.state.catalogue.group.id, command).await;
        answer.map_err(|rejection| ApiError::of_rejection(rejection, self.zone(), self.audience()))
    }

    /// Has the group carry out a POST: 201 with what `render` makes of it, once for every Idempotency-Key.
    ///
    /// # Errors
    /// A key that is no key; what refuses it, in words for the caller.
    pub(crate) async fn make(
        &self,
        command: Command,
        render: impl Fn(&Committed) -> Map<String, Value> + Send + Sync + 'static,
    ) -> Outcome {
        let render = move |done: &Committed| Value::Object(render(done)).to_string().into_bytes();
        make(&self.server, &self.state, command, self.once.clone()?, self.audience(), render).await
    }

    /// A professional's command, about which nobody is written to where `sendmail` stands in the body as false, beside the
    /// object of that name or in it. Reference 7.
    pub(crate) fn unless_quiet(&self, command: Command, resource: &str) -> Command {
        let within = self
            .body
            .get(resource)
            .and_then(Value::as_object)
            .and_then(|object| object.get("sendmail"));
        let given = self.body.get("sendmail").or(within);
        let quiet = given.is_some_and(|given| value::parse_boolean(given) == Ok(false));
        if quiet && matches!(self.caller(), Caller::Pro(_)) {
            Command::Quietly(Box::new(command))
        } else {
            command
        }
    }

    /// The zone of the group's clocks.
    pub(crate) fn zone(&self) -> Zone {
        self.state.catalogue.zone()
    }

    /// What fields are read and shown in.
    pub(crate) fn scope(&self) -> Scope<'_> {
        Scope::for_group(&self.state).at_moment(self.now)
    }
}

/// Has a group carry out a POST: 201 with what `render` makes of it, once for every key.
///
/// # Errors
/// What refuses it, in words for the audience.
pub(crate) async fn make(
    server: &Server,
    state: &GroupState,
    command: Command,
    key: Option<Key>,
    audience: Audience,
    render: impl Fn(&Committed) -> Vec<u8> + Send + Sync + 'static,
) -> Outcome {
    let render = Arc::new(render);
    let once = key.map(|Key { scope, body }| IdempotentRequest {
        scope,
        body,
        render: Arc::clone(&render) as _,
    });
    let answer = server.engine.write_idempotent(state.catalogue.group.id, command, once).await;
    let done = answer
        .map_err(|rejection| ApiError::of_rejection(rejection, state.catalogue.zone(), audience))?;
    let bytes = done.answer.as_ref().map_or_else(|| render(&done), |kept| kept.to_vec());
    Ok(json(StatusCode::CREATED, bytes))
}

/// IdempotencyRecords a request that a line of the table takes.
pub(crate) async fn answer(
    server: Arc<Server>,
    row: &'static Row,
    ids: Option<RawPathParams>,
    request: Request,
) -> Response {
    match checked(server, row, ids, request).await {
        Ok(response) => response,
        Err(failure) => failure.into_response(),
    }
}

/// The checks in the order of Reference 2: format, apikey, credentials, group, body, rights; parameters are the
/// handler's. Whether there is room for a write is asked before its body is read.
async fn checked(
    server: Arc<Server>,
    row: &'static Row,
    ids: Option<RawPathParams>,
    request: Request,
) -> Outcome {
    let (parts, body) = request.into_parts();
    let mut params = Params::from_query(parts.uri.query().unwrap_or_default());
    let mut body = Incoming::new(&parts.headers, body);
    let json = params.value("format").is_none_or(|format| format.eq_ignore_ascii_case("json"));
    if !json || parts.extensions.get::<XmlAsked>().is_some() {
        return Err(ApiError::new(
            Problem::NotAcceptable,
            "answers are JSON only: ask for .json or for no format at all",
        ));
    }
    let keyed = match row.operation {
        Operation::Alive => return Ok(health::alive()),
        Operation::Document => return Ok(docs::document()),
        Operation::Docs => return Ok(docs::page()),
        Operation::Ready => return Ok(health::ready(&server.engine)),
        Operation::Keyed(keyed) => keyed,
    };
    let id = id_in_path(ids.as_ref(), "id");
    let (meant, says_which) =
        meant(keyed, row, id, (&mut params, &mut body), server.engine.published()).await;
    let now = server.engine.clock().now();
    let from = parts.extensions.get::<Source>().expect("every request is given its source").0;
    let group = id_in_path(ids.as_ref(), "group_id").and_then(GroupId::new);
    let (published, method) = (server.engine.published(), &parts.method);
    let asked = AuthRequest {
        published,
        directory: &published.directory(),
        method,
        headers: &parts.headers,
        params: &params,
        group,
        meant,
        says_which,
        from,
        now,
    };
    let (operation, sort) = match keyed {
        Keyed::LogIn => return sessions::login(&server, asked, body).await,
        Keyed::LogOut => return sessions::logout(&server, asked).await,
        Keyed::AtLarge(operation) => {
            let identity = server.authenticator.identify(&asked).await?;
            let body = if row.takes_body() { body.object().await? } else { Map::new() };
            may(row, &identity, &params)?;
            let call =
                Call { server, identity, params, from, now, row, headers: parts.headers, body };
            return at_large(operation, call).await;
        }
        Keyed::InGroup(operation) => (operation, None),
        Keyed::Older(operation, sort) => (operation, Some(sort)),
    };
    let identity = server.authenticator.identify(&asked).await?;
    let state = match sort {
        Some(sort) if row.is_of_one() => Ok(legacy_paths::root_of(sort, id, &identity, published)?),
        Some(sort) => {
            legacy_paths::root_named(sort, &params, &mut body, &identity, published).await?
        }
        None => Ok(visible(group, &identity, published)?),
    };
    let body = write_capacity::let_in(
        body,
        &server.engine,
        row,
        (&identity, state.as_deref().ok()),
        &asked,
    )?;
    let body = if row.takes_body() {
        body.object().await?
    } else {
        body.read_of_delete(&parts.method).await?
    };
    may(row, &identity, &params)?;
    let state = state?;
    if let Some(fault) = foreign_group(&body, &Scope::for_group(&state)) {
        return Err(fault.into());
    }
    let once = if row.makes() {
        Key::of(&parts.headers, row.path, &identity, &state, &body)
    } else {
        Ok(None)
    };
    if let Ok(Some(key)) = once
        && let Some(answer) = key.answered_before(&state, now)
    {
        return answer;
    }
    dispatch(operation, GroupCall { server, identity, params, from, now, state, id, body, once })
        .await
}

/// The group that an older path means, whoever asks, and whether it says which; its apikey is taken from the body, where
/// the query has none.
async fn meant(
    keyed: Keyed,
    row: &Row,
    id: Option<u64>,
    (params, body): (&mut Params, &mut Incoming<'_>),
    published: &Published,
) -> (Option<GroupId>, bool) {
    let Keyed::Older(_, sort) = keyed else { return (None, false) };
    legacy_paths::take_key(params, body).await;
    if row.is_of_one() {
        return (legacy_paths::owner(sort, id, published), true);
    }
    let named = legacy_paths::named(sort, params, body).await;
    (named, named.is_some())
}

/// The state of a group that the caller sees.
///
/// # Errors
/// 404 for any other, 503 for one that is set aside.
pub(crate) fn visible(
    group: Option<GroupId>,
    identity: &Identity,
    published: &Published,
) -> Result<Arc<GroupState>, ApiError> {
    let group = group.filter(|group| identity.sees(*group));
    let aside = group.is_some_and(|group| published.quarantined().contains_key(&group));
    group
        .and_then(|group| published.group_state(group))
        .ok_or_else(|| if aside { ApiError::set_aside() } else { ApiError::no_result() })
}

fn id_in_path(ids: Option<&RawPathParams>, name: &str) -> Option<u64> {
    let text = ids?.iter().find(|(key, _)| *key == name).map(|(_, value)| value)?;
    // A sign is no part of an id.
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Whether the caller's role may use a line of the table. Reference 3.
pub(crate) fn may(row: &Row, identity: &Identity, params: &Params) -> Result<(), ApiError> {
    let Some(right) = permissions::of(row.operation) else { return Ok(()) };
    right.judge(&identity.caller, params.value("key").is_some()).map_err(ApiError::unauthorized)
}

async fn at_large(operation: AtLarge, call: Call) -> Outcome {
    match operation {
        AtLarge::ListGroups => groups::list(call).await,
        AtLarge::AskLink => accounts::ask(call).await,
        AtLarge::FollowLink => accounts::confirm(call).await,
    }
}

async fn dispatch(operation: InGroup, call: GroupCall) -> Outcome {
    match operation {
        InGroup::ShowGroup => groups::show(&call),
        InGroup::ChangeGroup => groups::change(call).await,
        InGroup::ListCalendars => calendars::list(call).await,
        InGroup::ListCalendarsOfIntervention => calendars::list_of_intervention(call).await,
        InGroup::ShowCalendar => crud::show::<Calendar>(&call),
        InGroup::MakeCalendar => crud::make::<Calendar>(call).await,
        InGroup::ChangeCalendar => crud::change::<Calendar>(call).await,
        InGroup::DeleteCalendar => crud::delete::<Calendar>(call, |row| row.deleted = true).await,
        InGroup::ListCalendarsets => sets::list_of_calendars(call).await,
        InGroup::ShowCalendarset => crud::show::<Calendarset>(&call),
        InGroup::MakeCalendarset => crud::make::<Calendarset>(call).await,
        InGroup::ChangeCalendarset => crud::change::<Calendarset>(call).await,
        InGroup::RemoveCalendarset => {
            crud::remove::<Calendarset>(call, RecordChange::RemoveCalendarset).await
        }
        InGroup::ListInterventionsOfSet => sets::interventions(call).await,
        InGroup::ListInterventionsetsOfSet => sets::interventionsets(call).await,
        InGroup::ListInterventions => interventions::list(call).await,
        InGroup::ShowIntervention => crud::show::<Intervention>(&call),
        InGroup::MakeIntervention => crud::make::<Intervention>(call).await,
        InGroup::ChangeIntervention => crud::change::<Intervention>(call).await,
        InGroup::DeleteIntervention => {
            crud::delete::<Intervention>(call, |row| row.deleted = true).await
        }
        InGroup::ListInterventionsets => sets::list_of_interventions(call).await,
        InGroup::ShowInterventionset => crud::show::<Interventionset>(&call),
        InGroup::MakeInterventionset => crud::make::<Interventionset>(call).await,
        InGroup::ChangeInterventionset => crud::change::<Interventionset>(call).await,
        InGroup::RemoveInterventionset => {
            crud::remove::<Interventionset>(call, RecordChange::RemoveInterventionset).await
        }
        InGroup::ListCustomfields => customfields::list(call).await,
        InGroup::ShowCustomfield => crud::show::<Customfield>(&call),
        InGroup::MakeCustomfield => crud::make::<Customfield>(call).await,
        InGroup::ChangeCustomfield => crud::change::<Customfield>(call).await,
        InGroup::DeleteCustomfield => {
            crud::delete::<Customfield>(call, |row| row.deleted = true).await
        }
        InGroup::ListFiches => fiches::list(call).await,
        InGroup::ShowFiche => fiches::show(&call),
        InGroup::MakeFiche => crud::make::<Fiche>(call).await,
        InGroup::ChangeFiche => fiches::change(call).await,
        InGroup::ListMessages => messages::list(call).await,
        InGroup::ShowMessage => messages::show(&call),
        InGroup::ListPros => pros::list(call).await,
        InGroup::ShowPro => pros::show(&call),
        InGroup::ListVevents => vevents::list(call).await,
        InGroup::ShowVevent => vevents::show(&call),
        InGroup::MakeVevent => vevents::make(call).await,
        InGroup::ChangeVevent => vevents::change(call).await,
        InGroup::DeleteVevent => vevents::delete(call).await,
        InGroup::SearchSlots => slots::search(call).await,
        InGroup::BookAppointment => appointments::book(call).await,
        InGroup::ListAppointments => appointments::list(call).await,
        InGroup::ShowAppointment => appointments::show(&call),
        InGroup::CancelAppointment => appointments::cancel(call).await,
    }
}

/// An answer of ready JSON.
pub(crate) fn json(status: StatusCode, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// 200 with a JSON value.
pub(crate) fn ok(value: &Value) -> Response {
    json(StatusCode::OK, value.to_string().into_bytes())
}

/// The object that a body wraps under a resource's name.
///
/// # Errors
/// A body without it.
pub(crate) fn wrapped<'b>(
    body: &'b Map<String, Value>,
    resource: &str,
) -> Result<&'b Map<String, Value>, ApiError> {
    let rule = || {
        Fault::new(
            resource,
            format!("the body must hold the fields in an object: {{\"{resource}\":{{…}}}}"),
        )
    };
    body.get(resource).and_then(Value::as_object).ok_or_else(|| rule().into())
}
