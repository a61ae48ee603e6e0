//! Export, backup, and the messages and histories of groups, for the operator. Reference 7.2, 11.1,
//! 16.

use std::path::PathBuf;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use serde_json::{Value, json};

use crate::domain::directory::access_history::AccessAct;
use crate::domain::records::author::Author;
use crate::domain::records::ids::GroupId;
use crate::domain::records::message::Message;
use crate::domain::state::group_state::GroupState;
use crate::engine::published::Published;
use crate::engine::quarantine::IncompleteDocument;
use crate::engine::{PairOutcome, backup};
use crate::http::answer::streamed::{json_lines, streamed};
use crate::http::endpoint::{EndpointMethod, OperatorEndpoint};
use crate::http::error::ApiError;
use crate::http::request::ApiRequest;
use crate::http::resources::messages::render_entry;
use crate::http::resources::operator::access_change::text;
use crate::http::response::HandlerResult;
use crate::http::server::ServedStore;
use crate::wire::access_history::{AccessRowAnswer, parse_access_query};
use crate::wire::errors::{ErrorEntry, Problem};
use crate::wire::field::Audience;
use crate::wire::history::{HistoryRowAnswer, is_known, parse_query};
use crate::wire::message::Ledger;

const EXPORT: &str = "/api/v1/operator/export";
/// The path of backups, which are written on the machine of the server that answers.
pub(crate) const BACKUPS: &str = "/api/v1/operator/backups";
const COMPACTIONS: &str = "/api/v1/operator/compactions";
const MESSAGES: &str = "/api/v1/operator/messages";
const HISTORY: &str = "/api/v1/operator/history";

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[OperatorEndpoint] = &[
    OperatorEndpoint::new(EndpointMethod::Get, EXPORT, |request| Box::pin(export(request))),
    OperatorEndpoint::new(EndpointMethod::Post, BACKUPS, |request| Box::pin(back_up(request))),
    OperatorEndpoint::new(EndpointMethod::Post, COMPACTIONS, |request| Box::pin(compact(request))),
    OperatorEndpoint::new(EndpointMethod::Get, MESSAGES, |request| Box::pin(messages(request))),
    OperatorEndpoint::new(EndpointMethod::Get, HISTORY, |request| Box::pin(history(request))),
];

/// Seconds between two progress lines of a backup.
const PROGRESS_SECONDS: i64 = 5;

/// GET: the whole content as the document of Reference 11.2. 409 if a group is quarantined.
async fn export(request: ApiRequest) -> HandlerResult {
    let store = served_store(&request)?;
    let published = request.server.engine.published();
    if let Err(incomplete) = IncompleteDocument::refuse(published.quarantined().values()) {
        return Err(ApiError::new(Problem::Conflict, incomplete.to_string()));
    }
    let log = &request.server.authenticator.access_log;
    // A store that takes no writes is exported all the same.
    if let Err(rejection) =
        log.note_act(None, Author::Operator, AccessAct::Exported, request.now).await
    {
        tracing::warn!(?rejection, "an export is not noted in the history");
    }
    let directory = published.directory();
    let group_states = group_states(published);
    Ok(streamed("application/json", move |out| {
        (store.write_document)(&directory, &group_states, out)
    }))
}

/// POST `{"path"}`: writes all that is durable into a new store there. The lines of the answer tell
/// the progress, `{"written","groups"}`, and at last the `path`, or in `errors` why there is none.
async fn back_up(request: ApiRequest) -> HandlerResult {
    let store = served_store(&request)?;
    let to = text(&request.body, "path", |path| Ok(PathBuf::from(path)))?;
    if let Err(error) =
        backup::check_room(&store.data, store.shared.as_deref(), &to, store.reserve_mib)
    {
        return Err(ApiError::new(Problem::Conflict, error.to_string()));
    }
    let engine = request.server.engine.clone();
    Ok(json_lines(move |out| {
        let mut last_line = engine.clock().now();
        let mut progress = |written: usize, groups: usize| {
            let now = engine.clock().now();
            if now >= last_line.plus_seconds(PROGRESS_SECONDS) {
                last_line = now;
                // The operator may have left; the backup goes on.
                if writeln!(out, "{}", json!({"written": written, "groups": groups})).is_ok() {
                    drop(out.flush());
                }
            }
        };
        let last = match engine.back_up(&to, &mut progress) {
            Ok(()) => json!({"path": to.canonicalize()?.display().to_string()}),
            Err(error) => {
                let entry = ErrorEntry::new(Problem::InvalidParameter, error.to_string());
                json!({"errors": [entry.to_json()]})
            }
        };
        writeln!(out, "{last}")
    }))
}

/// POST: makes two generations of the store, one after the other, and answers 204 when no file
/// holds any more what was erased before. 409 if they cannot be made.
async fn compact(request: ApiRequest) -> HandlerResult {
    match request.server.engine.compact_twice().await {
        PairOutcome::Made => Ok(StatusCode::NO_CONTENT.into_response()),
        PairOutcome::Failed => {
            let rule = "the generations were not made: the log says why";
            Err(ApiError::new(Problem::Conflict, rule))
        }
    }
}

/// GET, with the optional parameter `group_ids[]`: the messages of these groups as GET
/// G/messages lists them, but with whole links.
async fn messages(request: ApiRequest) -> HandlerResult {
    let published = request.server.engine.published();
    let mut wanted = Vec::new();
    for id in request.params.list("group_ids") {
        wanted.push(find_group(published, id)?);
    }
    if wanted.is_empty() {
        wanted = group_states(published);
    }
    wanted.sort_by_key(|group_state| group_state.catalogue.group.id);
    wanted.dedup_by_key(|group_state| group_state.catalogue.group.id);
    Ok(json_lines(move |out| {
        for group_state in wanted {
            let ledger = Ledger::new(group_state, request.now);
            let state = ledger.group_state();
            for entry in ledger.entries() {
                let preview = |message: &Message| request.server.gateways.preview(state, message);
                let row = render_entry(&entry, state, Audience::Pro, preview);
                writeln!(out, "{}", Value::Object(row))?;
            }
        }
        Ok(())
    }))
}

/// GET, with the parameter `group_id` and those of GET G/history but `results`: all these rows,
/// latest first.
async fn history(request: ApiRequest) -> HandlerResult {
    let published = request.server.engine.published();
    let group_state = find_group(published, request.params.value("group_id").unwrap_or(""))?;
    if request.params.value("of") == Some("access") {
        return access_history(&request, &group_state);
    }
    let mut query = parse_query(&request.params, &group_state, request.now)?;
    if let Some(object) = query.object.filter(|object| !is_known(*object, &group_state)) {
        let rule = format!("the group has no {} {}", object.kind.name(), object.id);
        return Err(ApiError::new(Problem::InvalidParameter, rule));
    }
    let directory = published.directory();
    Ok(json_lines(move |out| {
        loop {
            let page = group_state.history.page(&query);
            for row in &page.rows {
                let answer = HistoryRowAnswer::new(row, &group_state, &directory);
                writeln!(out, "{}", serde_json::to_string(&answer)?)?;
            }
            match page.next {
                Some(next) => query.below = next,
                None => return Ok(()),
            }
        }
    }))
}

/// The same with `of=access`: the rows of the history of access.
fn access_history(request: &ApiRequest, group_state: &Arc<GroupState>) -> HandlerResult {
    let mut query = parse_access_query(&request.params, group_state, request.now)?;
    let directory = request.server.engine.published().directory();
    let group_state = Arc::clone(group_state);
    Ok(json_lines(move |out| {
        loop {
            let page = directory.access_history.page(&query);
            for (number, row) in &page.rows {
                let answer = AccessRowAnswer::new(*number, row, &group_state, &directory);
                writeln!(out, "{}", serde_json::to_string(&answer)?)?;
            }
            match page.next {
                Some(next) => query.below = next,
                None => return Ok(()),
            }
        }
    }))
}

/// Finds the group that a parameter names.
///
/// # Errors
/// 400 for a group that does not exist.
fn find_group(published: &Published, id: &str) -> Result<Arc<GroupState>, ApiError> {
    let group = id.parse().ok().and_then(GroupId::new);
    group.and_then(|group| published.group_state(group)).ok_or_else(|| {
        ApiError::new(Problem::InvalidParameter, format!("group {id} does not exist"))
    })
}

/// Returns the store of the server.
///
/// # Errors
/// 404 if the server has none.
fn served_store(request: &ApiRequest) -> Result<ServedStore, ApiError> {
    request.server.store.clone().ok_or_else(ApiError::no_result)
}

/// Returns the state of each group that is served, ascending.
fn group_states(published: &Published) -> Vec<Arc<GroupState>> {
    published.groups().filter_map(|group| published.group_state(group)).collect()
}
