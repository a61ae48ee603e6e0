//! Listing, showing, creating, changing and deleting records, the same for each record type.
//! Reference 13.

use axum::response::Response;
use serde_json::{Map, Value};

use crate::domain::decisions::record_change::deletion;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::RecordId as _;
use crate::domain::state::command::{Command, Patch, Put, RecordChange};
use crate::domain::state::editable_record::EditableRecord;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::ShownObject;
use crate::engine::Committed;
use crate::http::answer::entity_tag::tagged;
use crate::http::error::ApiError;
use crate::http::limits::guarded_write::GuardedWrite;
use crate::http::request::{GroupRequest, wrapped_object};
use crate::http::resources::pagination::{ListedRecord, list_response};
use crate::http::response::{HandlerResult, object_response};
use crate::http::writes::prepared_write::{PreparedWrite, Written};
use crate::wire::field::{Audience, Scope, Table};
use crate::wire::list::Query;
use crate::wire::value;

/// A record type of the API.
pub(crate) trait CrudRecord: EditableRecord + ListedRecord {
    /// The fields.
    fn table() -> &'static Table<Self>;

    /// The fields that an audience sees.
    fn table_for(_audience: Audience) -> &'static Table<Self> {
        Self::table()
    }

    /// The change that writes a record.
    fn change(put: Put<Self>) -> RecordChange;

    /// Whether an audience sees the record. An application sees what the module shows.
    fn is_visible(_record: &Self, _state: &GroupState, _audience: Audience) -> bool {
        true
    }

    /// Whether lists leave the record out, unless a condition names the field `deleted`.
    fn is_left_out(_record: &Self) -> bool {
        false
    }

    /// The object that an audience sees, as JSON.
    fn to_json(record: &Self, scope: &Scope<'_>, audience: Audience) -> Vec<u8> {
        Self::table_for(audience).to_json(record, scope, audience)
    }
}

/// A record type of the API with DELETE.
pub(crate) trait DeletableRecord: CrudRecord {
    /// The effect of DELETE.
    const DELETION: Deletion<Self>;
}

/// The effect of DELETE on a record.
pub(crate) enum Deletion<R: EditableRecord> {
    /// It remains, marked as deleted.
    Marks(fn(&mut R)),
    /// It does not remain.
    Removes(fn(R::Id) -> RecordChange),
}

/// Returns the record of the path, with its id.
///
/// # Errors
/// 404 if the group has no record with that id.
fn find_record<R: CrudRecord>(request: &GroupRequest) -> Result<(R::Id, &R), ApiError> {
    let id = request.id(R::Id::from_number)?;
    match R::find(&request.state, id) {
        Some(record) => Ok((id, record)),
        None => Err(ApiError::no_result()),
    }
}

/// Returns the record with an id of the path.
///
/// # Errors
/// 404 if the caller sees no record with that id.
pub(crate) fn find_visible<R: CrudRecord>(request: &GroupRequest) -> Result<&R, ApiError> {
    let (_, record) = find_record::<R>(request)?;
    if R::is_visible(record, &request.state, request.audience()) {
        Ok(record)
    } else {
        Err(ApiError::no_result())
    }
}

/// GET of one record.
pub(crate) async fn show<R: CrudRecord>(request: GroupRequest) -> HandlerResult {
    let record = find_visible::<R>(&request)?;
    Ok(record_response(record, &request.state, request.audience()))
}

/// GET of the visible records.
pub(crate) async fn list<R: CrudRecord>(request: GroupRequest) -> HandlerResult {
    let query = parse_query::<R>(&request)?;
    list_wanted(&request, query, R::all(&request.state).len(), |_, _| true).await
}

/// Parses the parameters of a list.
///
/// # Errors
/// As [`Query::parse`].
pub(crate) fn parse_query<R: CrudRecord>(
    request: &GroupRequest,
) -> Result<Query<'static, R>, Vec<Fault>> {
    let audience = request.audience();
    Query::parse(&request.params, R::table_for(audience), &request.scope(), audience)
}

/// GET of the visible records that `wanted` accepts. `rows` is the number of records that the
/// search looks at.
pub(crate) async fn list_wanted<R: CrudRecord>(
    request: &GroupRequest,
    query: Query<'static, R>,
    rows: usize,
    wanted: impl Fn(&R, &GroupState) -> bool + Send + 'static,
) -> HandlerResult {
    list_of(request, query, rows, |state| R::all(state).collect(), wanted).await
}

/// GET of the visible records among `all` that `wanted` accepts.
pub(crate) async fn list_of<R: CrudRecord>(
    request: &GroupRequest,
    query: Query<'static, R>,
    rows: usize,
    all: impl for<'r> Fn(&'r GroupState) -> Vec<&'r R> + Send + 'static,
    wanted: impl Fn(&R, &GroupState) -> bool + Send + 'static,
) -> HandlerResult {
    let audience = request.audience();
    let with_deleted = query.filters_by_field("deleted");
    let wanted = move |record: &R, state: &GroupState| {
        R::is_visible(record, state, audience)
            && (with_deleted || !R::is_left_out(record))
            && wanted(record, state)
    };
    let write = move |record: &R, scope: &Scope<'_>, bytes: &mut Vec<u8>| {
        R::table_for(audience).append(record, scope, audience, bytes);
    };
    list_response(request, rows, query, all, wanted, write).await
}

/// POST of a new record.
pub(crate) fn create<R: CrudRecord>(request: &GroupRequest) -> Result<PreparedWrite, ApiError> {
    let object = wrapped_object(&request.body, R::table().resource)?;
    let audience = request.audience();
    let command = creation_command::<R>(object, &request.scope(), audience)?;
    let render = move |done: &Committed| {
        let id =
            R::Id::from_number(done.object).expect("the engine returns the id of the new record");
        let record = R::find(&done.group_state, id).expect("the new record exists");
        R::to_json(record, &Scope::for_group(&done.group_state), audience)
    };
    let write = GuardedWrite::unlimited(request.state.catalogue.group.id, command);
    Ok(request.prepare_creation(write, render))
}

/// Returns the command that makes a record with the fields of an object.
///
/// # Errors
/// Every fault of the fields.
pub(crate) fn creation_command<R: CrudRecord>(
    object: &Map<String, Value>,
    scope: &Scope<'_>,
    audience: Audience,
) -> Result<Command, Vec<Fault>> {
    let mut object = object.clone();
    // An empty `sort` counts as absent: the record then comes after the last.
    object.retain(|name, value| name != "sort" || !value::is_empty(value));
    let fields = R::table().parse_new(&object, scope, audience)?;
    Ok(Command::ChangeRecord(R::change(Put { id: None, fields })))
}

/// Returns the command that sets the fields of an object on a record.
///
/// # Errors
/// Every fault of the fields.
pub(crate) fn change_command<R: CrudRecord>(
    id: R::Id,
    object: &Map<String, Value>,
    scope: &Scope<'_>,
    audience: Audience,
) -> Result<Command, Vec<Fault>> {
    let fields = R::table().parse(object, scope, audience)?;
    Ok(put_command::<R>(id, fields))
}

/// Returns the command that deletes a record.
pub(crate) fn deletion_command<R: DeletableRecord>(id: R::Id) -> Command {
    match R::DELETION {
        Deletion::Marks(mark) => put_command::<R>(id, deletion(mark)),
        Deletion::Removes(removal) => Command::ChangeRecord(removal(id)),
    }
}

fn put_command<R: CrudRecord>(id: R::Id, fields: Patch<R>) -> Command {
    Command::ChangeRecord(R::change(Put { id: Some(id), fields }))
}

/// PUT of a record. Fields that are not given stay.
pub(crate) fn change<R: CrudRecord>(request: &GroupRequest) -> Result<PreparedWrite, ApiError> {
    let (id, _) = find_record::<R>(request)?;
    let object = wrapped_object(&request.body, R::table().resource)?;
    let audience = request.audience();
    let command = change_command::<R>(id, object, &request.scope(), audience)?;
    Ok(request.prepare_change(command, audience, show_record::<R>(id, audience)))
}

/// DELETE of a record. The response shows one that does not remain as it was.
pub(crate) fn delete<R: DeletableRecord>(
    request: &GroupRequest,
) -> Result<PreparedWrite, ApiError> {
    let (id, _) = find_record::<R>(request)?;
    let audience = request.audience();
    let command = deletion_command::<R>(id);
    let show = show_record::<R>(id, audience);
    if matches!(R::DELETION, Deletion::Marks(_)) {
        return Ok(request.prepare_change(command, audience, show));
    }
    let command = command.only_if(request.precondition(show.clone()));
    let write = GuardedWrite::unlimited(request.state.catalogue.group.id, command);
    let show = move |done: &Committed| show(&done.before).map(Written::Changed);
    Ok(PreparedWrite::new(write, audience, show))
}

/// Returns a function that shows a record as an audience sees it in a state.
pub(crate) fn show_record<R: CrudRecord>(
    id: R::Id,
    audience: Audience,
) -> impl Fn(&GroupState) -> Option<ShownObject> + Clone + Send + Sync + 'static {
    move |state| {
        let record = R::find(state, id)?;
        Some(tagged(R::to_json(record, &Scope::for_group(state), audience)))
    }
}

/// Returns a 200 response with the record that an audience sees.
pub(crate) fn record_response<R: CrudRecord>(
    record: &R,
    state: &GroupState,
    audience: Audience,
) -> Response {
    object_response(tagged(R::to_json(record, &Scope::for_group(state), audience)))
}
