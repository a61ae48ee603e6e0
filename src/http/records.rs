//! What all records have in common: one is shown, made and changed the same way, whatever it is. Contract 1.

use axum::http::StatusCode;
use serde_json::Value;

use super::call::{GroupCall, Outcome, json, wrapped};
use super::failure::Failure;
use crate::domain::command::{Command, Patch, Put, RecordChange};
use crate::domain::record::Record;
use crate::domain::root::Root;
use crate::wire::field::{Audience, Scope, Table};

/// A record as a resource of the API.
pub(super) trait Resource: Record {
    /// Its fields.
    fn table() -> &'static Table<Self>;

    /// The command that puts one.
    fn change(put: Put<Self>) -> RecordChange;
}

/// The row of the path.
///
/// # Errors
/// 404 where the group has none of that id.
fn row<R: Resource>(call: &GroupCall) -> Result<(R::Id, &R), Failure> {
    let id = call.id(R::id)?;
    Ok((id, R::find(&call.root, id).ok_or_else(Failure::no_result)?))
}

/// GET of one, of those that are `shown` to the caller.
pub(super) fn show<R: Resource>(call: &GroupCall, shown: fn(&Root, &R, Audience) -> bool) -> Outcome {
    let (_, row) = row::<R>(call)?;
    if !shown(&call.root, row, call.audience()) {
        return Err(Failure::no_result());
    }
    Ok(answer(StatusCode::OK, row, &call.root, call.audience()))
}

/// POST of one.
pub(super) async fn make<R: Resource>(call: GroupCall) -> Outcome {
    let mut object = wrapped(&call.body, R::table().resource)?.clone();
    // An order that is given as nothing is the one after the last.
    object.retain(|name, value| name != "sort" || !crate::wire::value::is_empty(value));
    let fields = R::table().parse_new(&object, &call.scope(), call.audience())?;
    put::<R>(&call, StatusCode::CREATED, None, fields).await
}

/// PUT of one: what is not given stays.
pub(super) async fn change<R: Resource>(call: GroupCall) -> Outcome {
    let (id, _) = row::<R>(&call)?;
    let object = wrapped(&call.body, R::table().resource)?;
    let fields = R::table().parse(object, &call.scope(), call.audience())?;
    put::<R>(&call, StatusCode::OK, Some(id), fields).await
}

async fn put<R: Resource>(call: &GroupCall, status: StatusCode, id: Option<R::Id>, fields: Patch<R>) -> Outcome {
    let done = call.write(Command::ChangeRecord(R::change(Put { id, fields }))).await?;
    let row = R::id(done.object).and_then(|id| R::find(&done.root, id)).ok_or_else(Failure::no_result)?;
    Ok(answer(status, row, &done.root, call.audience()))
}

/// The bare object.
pub(super) fn answer<R: Resource>(
    status: StatusCode,
    row: &R,
    root: &Root,
    audience: Audience,
) -> axum::response::Response {
    let object = R::table().render(row, &Scope::of(root), audience);
    json(status, Value::Object(object).to_string().into_bytes())
}
