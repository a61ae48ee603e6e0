//! Lists of a group's objects, computed where they stand or, when long, off the threads that serve connections.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Map, Value};

use super::call::{GroupCall, Outcome, json};
use crate::domain::root::Root;
use crate::domain::vevent::Vevent;
use crate::wire::field::Scope;
use crate::wire::list::Query;

/// Rows that are looked through where the request stands: some hundred microseconds.
const ROWS_AT_ONCE: usize = 1_000;

/// The page of a list that a query asks for, of the records that are `wanted`, each shown by `render`. Finding all of
/// them costs about as much as looking at so many `rows`.
///
/// # Errors
/// 503 when too many long lists are waiting.
pub(super) async fn page<R: Sync + 'static>(
    call: &GroupCall,
    rows: usize,
    query: Query<'static, R>,
    all: for<'r> fn(&'r Root) -> Vec<&'r R>,
    wanted: impl Fn(&R, &Root) -> bool + Send + 'static,
    render: impl Fn(&R, &Scope<'_>) -> Map<String, Value> + Send + 'static,
) -> Outcome {
    let compute = move |root: &Root| {
        let scope = Scope::of(root);
        let mut records = all(root);
        records.retain(|record| wanted(record, root));
        let page = query.page(records, &scope);
        query.envelope_of(&page, |record| render(record, &scope)).to_string().into_bytes()
    };
    let bytes = if rows <= ROWS_AT_ONCE {
        compute(&call.root)
    } else {
        let root = Arc::clone(&call.root);
        call.server.computing.run(move || compute(&root)).await?
    };
    Ok(json(StatusCode::OK, bytes))
}

/// Every event of a group.
pub(super) fn all_rows(root: &Root) -> Vec<&Vevent> {
    root.rows.values().map(AsRef::as_ref).collect()
}
