//! The ledger of messages. Reference 7.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::messaging::message::Progress;
use crate::domain::records::ids::MessageId;
use crate::domain::state::group_state::GroupState;
use crate::http::error::ApiError;
use crate::http::pipeline::{GroupCall, Outcome, ok};
use crate::http::resources::pagination::{Found, write};
use crate::notify::Gateways;
use crate::wire::field::{Audience, Scope};
use crate::wire::list::Query;
use crate::wire::message::{Entry, Ledger, MESSAGE};

/// GET /api/v1/groups/:group_id/messages: what will go out within a week, what went, and why something did not. What
/// nobody carries is to be read here.
pub(crate) async fn list(call: GroupCall) -> Outcome {
    let query = Query::parse(&call.params, &MESSAGE, &call.scope(), call.audience())?;
    let (state, now, audience) = (Arc::clone(&call.state), call.now, call.audience());
    let gateways = Arc::clone(&call.server.gateways);
    let find = move || {
        let ledger = Ledger::of(state, now);
        let entries = ledger.entries();
        let page = query.page(entries.iter().collect(), &Scope::of(ledger.group_state()));
        let places: Vec<u64> = page.records.iter().map(|entry| query.number(entry)).collect();
        Found::of(query.head(places.len(), page.total), places, move |place, bytes| {
            let entry = ledger.entry(place).expect("the list is of this very ledger");
            write(&line(&entry, ledger.group_state(), audience, &gateways), bytes);
        })
    };
    Ok(call.server.computing.run(find).await?.answer(&call.server))
}

/// GET /api/v1/groups/:group_id/messages/:id. A reminder that is planned has no id yet.
pub(crate) fn show(call: &GroupCall) -> Outcome {
    let id = call.id(MessageId::new)?;
    let message = call.state.outbox.message(id).ok_or_else(ApiError::no_result)?;
    Ok(ok(&line(&Entry::of(message), &call.state, call.audience(), &call.server.gateways).into()))
}

/// A line of a group's ledger as it is shown; with what the message says where nobody carries it.
#[must_use]
pub(crate) fn line(
    entry: &Entry,
    state: &GroupState,
    audience: Audience,
    gateways: &Gateways,
) -> Map<String, Value> {
    let mut object = MESSAGE.render(entry, &Scope::of(state), audience);
    let kept = entry.message().filter(|message| matches!(message.progress, Progress::Kept { .. }));
    let reading = kept.and_then(|message| gateways.preview(state, message));
    let (subject, text) = reading.map(|reading| (reading.subject, reading.text)).unzip();
    object.insert("subject".into(), subject.into());
    object.insert("text".into(), text.into());
    object
}
