//! What all records have in common: one is shown, made and changed the same way, whatever it is. Reference 1.

use serde_json::{Map, Value};

use crate::domain::records::editable_record::EditableRecord;
use crate::domain::records::record_change::deletion;
use crate::domain::state::command::{Command, Patch, Put, RecordChange};
use crate::domain::state::group_state::GroupState;
use crate::engine::Committed;
use crate::http::error::ApiError;
use crate::http::pipeline::{GroupCall, Outcome, ok, wrapped};
use crate::http::resources::pagination::{Listed, page};
use crate::wire::field::{Audience, Scope, Table};
use crate::wire::list::Query;
use crate::wire::value;

/// A record as a resource of the API.
pub(crate) trait Resource: EditableRecord + Listed {
    /// Its fields.
    fn table() -> &'static Table<Self>;

    /// Its fields as an audience is shown them.
    fn table_for(_audience: Audience) -> &'static Table<Self> {
        Self::table()
    }

    /// The command that puts one.
    fn change(put: Put<Self>) -> RecordChange;

    /// Whether one exists for an audience: to an application, what the module shows.
    fn shown(_row: &Self, _root: &GroupState, _audience: Audience) -> bool {
        true
    }

    /// Whether lists leave it out, unless a condition names `deleted`: clients that ask about deletion are told of it, all
    /// others see what there is to work with.
    fn left_out(_row: &Self) -> bool {
        false
    }

    /// The object as an audience is shown it.
    fn render(row: &Self, scope: &Scope<'_>, audience: Audience) -> Map<String, Value> {
        Self::table_for(audience).render(row, scope, audience)
    }
}

/// The row of the path.
///
/// # Errors
/// 404 where the group has none of that id.
fn row<R: Resource>(call: &GroupCall) -> Result<(R::Id, &R), ApiError> {
    let id = call.id(R::id)?;
    Ok((id, R::find(&call.state, id).ok_or_else(ApiError::no_result)?))
}

/// GET of one.
pub(crate) fn show<R: Resource>(call: &GroupCall) -> Outcome {
    let (_, row) = row::<R>(call)?;
    if !R::shown(row, &call.state, call.audience()) {
        return Err(ApiError::no_result());
    }
    Ok(answer(row, &call.state, call.audience()))
}

/// GET of all that are `wanted` and shown to the caller, found among so many `rows`.
pub(crate) async fn list<R: Resource>(
    call: &GroupCall,
    rows: usize,
    all: impl for<'r> Fn(&'r GroupState) -> Vec<&'r R> + Send + 'static,
    wanted: impl Fn(&R, &GroupState) -> bool + Send + 'static,
) -> Outcome {
    let audience = call.audience();
    let query = Query::parse(&call.params, R::table_for(audience), &call.scope(), audience)?;
    let deleted_too = query.filters_by_field("deleted");
    let wanted = move |row: &R, state: &GroupState| {
        R::shown(row, state, audience) && (deleted_too || !R::left_out(row)) && wanted(row, state)
    };
    let render = move |row: &R, scope: &Scope<'_>| R::render(row, scope, audience);
    page(call, rows, query, all, wanted, render).await
}

/// POST of one.
pub(crate) async fn make<R: Resource>(call: GroupCall) -> Outcome {
    let mut object = wrapped(&call.body, R::table().resource)?.clone();
    // An order that is given as nothing is the one after the last.
    object.retain(|name, value| name != "sort" || !value::is_empty(value));
    let fields = R::table().parse_new(&object, &call.scope(), call.audience())?;
    let audience = call.audience();
    let made = move |done: &Committed| {
        let row = R::id(done.object).and_then(|id| R::find(&done.group_state, id));
        R::render(
            row.expect("what was made is there"),
            &Scope::for_group(&done.group_state),
            audience,
        )
    };
    call.make(Command::ChangeRecord(R::change(Put { id: None, fields })), made).await
}

/// PUT of one: what is not given stays.
pub(crate) async fn change<R: Resource>(call: GroupCall) -> Outcome {
    let (id, _) = row::<R>(&call)?;
    let object = wrapped(&call.body, R::table().resource)?;
    let fields = R::table().parse(object, &call.scope(), call.audience())?;
    put::<R>(&call, id, fields).await
}

/// DELETE of one that stays, deleted.
pub(crate) async fn delete<R: Resource>(call: GroupCall, mark: fn(&mut R)) -> Outcome {
    let (id, _) = row::<R>(&call)?;
    put::<R>(&call, id, deletion(mark)).await
}

/// DELETE of one that is no more; answered as it was.
pub(crate) async fn remove<R: Resource>(
    call: GroupCall,
    change: fn(R::Id) -> RecordChange,
) -> Outcome {
    let (id, _) = row::<R>(&call)?;
    let done = call.write(Command::ChangeRecord(change(id))).await?;
    let row = R::find(&done.before, id).ok_or_else(ApiError::no_result)?;
    Ok(answer(row, &done.before, call.audience()))
}

async fn put<R: Resource>(call: &GroupCall, id: R::Id, fields: Patch<R>) -> Outcome {
    let done = call.write(Command::ChangeRecord(R::change(Put { id: Some(id), fields }))).await?;
    let row = R::id(done.object)
        .and_then(|id| R::find(&done.group_state, id))
        .ok_or_else(ApiError::no_result)?;
    Ok(answer(row, &done.group_state, call.audience()))
}

/// The bare object.
pub(crate) fn answer<R: Resource>(
    row: &R,
    state: &GroupState,
    audience: Audience,
) -> axum::response::Response {
    ok(&R::render(row, &Scope::for_group(state), audience).into())
}
