//! The requests that handlers receive, after all checks of the pipeline. Reference 2.3.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use serde_json::{Map, Value};

use crate::domain::directory::roles::{GroupRight, ProRole, Sight};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{GroupId, VeventId};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::{Caller, Command};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::{Precondition, ShownObject};
use crate::domain::time::Instant;
use crate::domain::time::zone::Zone;
use crate::engine::Committed;
use crate::engine::published::Published;
use crate::http::answer::entity_tag::NamedTags;
use crate::http::auth::{AuthRequest, Identity};
use crate::http::body::Incoming;
use crate::http::error::ApiError;
use crate::http::idempotency::{BodyDigest, IdempotencyKey};
use crate::http::limits::guarded_write::GuardedWrite;
use crate::http::response::HandlerResult;
use crate::http::server::Server;
use crate::http::writes::prepared_write::{PreparedWrite, Written};
use crate::wire::field::{Audience, Scope};
use crate::wire::params::Params;
use crate::wire::value;

/// The address that a request counts under, as a request extension.
#[derive(Clone, Copy)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

/// Marks a request that came over the operator's socket, as a request extension. No header of a
/// request sets it.
#[derive(Clone, Copy)]
pub(crate) struct AtOperatorSocket;

/// Marks a request whose path ended with `.xml`, as a request extension.
#[derive(Clone, Copy)]
pub(crate) struct XmlRequested;

/// A login or logout, whose handler checks the key and the credentials itself.
pub(crate) struct SessionRequest<'r> {
    pub(crate) server: &'r Server,
    pub(crate) auth: AuthRequest<'r>,
    pub(crate) body: Incoming<'r>,
}

/// A request of an identified caller, outside any group.
pub(crate) struct ApiRequest {
    pub(crate) server: Arc<Server>,
    pub(crate) identity: Identity,
    pub(crate) params: Params,
    /// The client address.
    pub(crate) from: IpAddr,
    /// The moment of the request. The clock is not read again.
    pub(crate) now: Instant,
    pub(crate) headers: HeaderMap,
    /// The number that stands for `{id}` in the path; `None` without one, or if it is malformed.
    pub(crate) path_id: Option<u64>,
    /// The JSON object of the body; empty if none is read.
    pub(crate) body: Map<String, Value>,
    /// The digest of the body of a request with an idempotency key.
    pub(crate) digest: Option<BodyDigest>,
}

impl ApiRequest {
    /// Returns the idempotency key of a POST about a group, if the request has one.
    ///
    /// # Errors
    /// A malformed key.
    pub(crate) fn idempotency_key(
        &self,
        state: &GroupState,
    ) -> Result<Option<IdempotencyKey>, Fault> {
        let digest = self.digest.clone();
        IdempotencyKey::from_request(&self.headers, &self.identity, self.from, state, digest)
    }
}

/// A request about one group that the caller sees.
pub(crate) struct GroupRequest {
    pub(crate) server: Arc<Server>,
    pub(crate) identity: Identity,
    pub(crate) params: Params,
    /// The client address.
    pub(crate) from: IpAddr,
    /// The moment of the request. The clock is not read again.
    pub(crate) now: Instant,
    /// The state of the group. The whole response is made from this one state.
    pub(crate) state: Arc<GroupState>,
    /// The path pattern of the route.
    pub(crate) path: &'static str,
    /// The number that stands for `{id}` in the path; `None` without one, or if it is malformed.
    pub(crate) path_id: Option<u64>,
    /// The JSON object of the body; empty if none is read.
    pub(crate) body: Map<String, Value>,
    /// The bytes of a body that is the file of an image; empty for other endpoints.
    pub(crate) content: Vec<u8>,
    /// The idempotency key of a POST. A malformed key is reported late, since missing rights are
    /// reported first.
    pub(crate) idempotency_key: Result<Option<IdempotencyKey>, Fault>,
    /// The tags of which the object to change must have one; empty if it may have any.
    pub(crate) if_match: NamedTags,
    /// The headers of a request for a stream; `None` for other endpoints.
    pub(crate) headers: Option<Box<HeaderMap>>,
    /// Whether unknown parameters and fields are refused.
    pub(crate) is_strict: bool,
}

impl GroupRequest {
    /// Returns the id in the path.
    ///
    /// # Errors
    /// 404 if it is no id.
    pub(crate) fn id<T>(&self, parse: impl FnOnce(u64) -> Option<T>) -> Result<T, ApiError> {
        self.path_id.and_then(parse).ok_or_else(ApiError::no_result)
    }

    /// The caller.
    pub(crate) fn caller(&self) -> &Caller {
        &self.identity.caller
    }

    /// The audience of the caller, which decides the fields that responses show.
    pub(crate) fn audience(&self) -> Audience {
        self.identity.audience()
    }

    /// The role of the professional who asks; of others that of an administrator.
    pub(crate) fn role(&self) -> &ProRole {
        self.identity.pro_role(self.state.catalogue.group.id)
    }

    /// The part of the group that the caller reads.
    pub(crate) fn sight(&self) -> Sight {
        self.role().sight()
    }

    /// Returns an event that the caller reads, if it is a professional.
    ///
    /// # Errors
    /// 404 for every other event.
    pub(crate) fn find_vevent(&self, id: VeventId) -> Result<&Vevent, ApiError> {
        let row = self.state.rows.get(&id).filter(|row| self.sight().shows_vevent(row));
        Ok(row.ok_or_else(ApiError::no_result)?)
    }

    /// Checks that the caller writes on the calendar of an event, if there is one. The decision
    /// checks it again on the state of that time.
    ///
    /// # Errors
    /// 404 for an event that it does not read, 403 for want of the right.
    pub(crate) fn check_writes_vevent(&self, id: VeventId) -> Result<(), ApiError> {
        // The decision looks for an event that is not there: in a batch it is about to be made.
        if !self.state.rows.contains_key(&id) {
            return Ok(());
        }
        let calendar = self.find_vevent(id)?.calendar_id;
        if self.role().writes_on(calendar) {
            return Ok(());
        }
        Err(ApiError::unauthorized(GroupRight::Agenda.needed()))
    }

    /// The time zone of the group.
    pub(crate) fn zone(&self) -> Zone {
        self.state.catalogue.zone()
    }

    /// The scope in which fields are read and shown.
    pub(crate) fn scope(&self) -> Scope<'_> {
        Scope::for_group(&self.state).at_moment(self.now)
    }

    /// Returns the precondition of the header If-Match on an object, if the request has one. `show`
    /// returns the object in a state; `None` if it is gone.
    pub(crate) fn precondition(
        &self,
        show: impl Fn(&GroupState) -> Option<ShownObject> + Send + Sync + 'static,
    ) -> Option<Precondition> {
        if self.if_match.is_empty() {
            return None;
        }
        Some(self.if_match.precondition(show))
    }

    /// Prepares a change of one object, under the precondition of the header If-Match. The answer
    /// is 200 with the object after it, or 412 with the object as it is if it has another tag.
    pub(crate) fn prepare_change(
        &self,
        command: Command,
        audience: Audience,
        show: impl Fn(&GroupState) -> Option<ShownObject> + Clone + Send + Sync + 'static,
    ) -> PreparedWrite {
        let command = command.only_if(self.precondition(show.clone()));
        let write = GuardedWrite::unlimited(self.state.catalogue.group.id, command);
        let show = move |done: &Committed| show(&done.group_state).map(Written::Changed);
        PreparedWrite::new(write, audience, show)
    }

    /// Sends a command to the group and waits until its result is durable.
    ///
    /// # Errors
    /// The engine's rejection, in words for the caller.
    pub(crate) async fn write(&self, command: Command) -> Result<Committed, ApiError> {
        self.write_for(command, self.audience()).await
    }

    /// Does the same, with a rejection in words for an audience.
    ///
    /// # Errors
    /// As [`GroupRequest::write`].
    pub(crate) async fn write_for(
        &self,
        command: Command,
        audience: Audience,
    ) -> Result<Committed, ApiError> {
        let author = self.identity.author();
        match self.server.engine.write(self.state.catalogue.group.id, author, command).await {
            Ok(done) => Ok(done),
            Err(rejection) => Err(ApiError::from_rejection(rejection, self.zone(), audience)),
        }
    }

    /// Prepares the write of a POST. The answer is 201 with the JSON that `render` makes, or 202
    /// for a booking that waits for its code.
    pub(crate) fn prepare_creation(
        &self,
        write: GuardedWrite,
        render: impl Fn(&Committed) -> Vec<u8> + Send + Sync + 'static,
    ) -> PreparedWrite {
        PreparedWrite::new(write, self.audience(), move |done| Some(Written::Made(render(done))))
    }

    /// Sends a prepared write to the group, once for each idempotency key.
    ///
    /// # Errors
    /// A malformed key; otherwise as [`PreparedWrite::send`].
    pub(crate) async fn send(&self, prepared: PreparedWrite) -> HandlerResult {
        let key = self.idempotency_key.clone()?;
        let author = self.identity.author();
        prepared.send(&self.server, author, &self.state, self.path, key).await
    }

    /// Wraps a professional's command so that the client gets no message about it, if the body
    /// gives `sendmail` as false. The field may stand beside or in the object of that resource.
    /// Reference 7.3.
    pub(crate) fn quiet_if_requested(&self, command: Command, resource: &str) -> Command {
        let mut sendmail = self.body.get("sendmail");
        if sendmail.is_none()
            && let Some(Value::Object(object)) = self.body.get(resource)
        {
            sendmail = object.get("sendmail");
        }
        let is_quiet = match sendmail {
            Some(given) => value::parse_boolean(given) == Ok(false),
            None => false,
        };
        if is_quiet && matches!(self.caller(), Caller::Pro(_)) {
            Command::Quietly(Box::new(command))
        } else {
            command
        }
    }
}

/// Returns the state of a group that the caller sees.
///
/// # Errors
/// 404 for every other group; 503 for one in quarantine.
pub(crate) fn find_visible_group(
    group: Option<GroupId>,
    identity: &Identity,
    published: &Published,
) -> Result<Arc<GroupState>, ApiError> {
    let Some(group) = group else { return Err(ApiError::no_result()) };
    if !identity.sees(group) {
        return Err(ApiError::no_result());
    }
    let is_quarantined = published.quarantined().contains_key(&group);
    match published.group_state(group) {
        Some(state) => Ok(state),
        None if is_quarantined => Err(ApiError::quarantined()),
        None => Err(ApiError::no_result()),
    }
}

/// Returns a group as the error about it names it.
pub(crate) fn name_group(group: Option<GroupId>) -> String {
    match group {
        Some(group) => format!("group {group}"),
        None => "such group".to_owned(),
    }
}

/// Returns the object that a body holds under a resource's name.
///
/// # Errors
/// A body without it.
pub(crate) fn wrapped_object<'b>(
    body: &'b Map<String, Value>,
    resource: &str,
) -> Result<&'b Map<String, Value>, ApiError> {
    if let Some(Value::Object(object)) = body.get(resource) {
        return Ok(object);
    }
    let rule = format!("the body must hold the fields in an object: {{\"{resource}\":{{…}}}}");
    Err(Fault::new(resource, rule).into())
}
