//! Endpoints of messages: planned, sent, and unsent ones. Reference 7.2.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::records::ids::MessageId;
use crate::domain::records::message::{Message, Progress};
use crate::domain::state::group_state::GroupState;
use crate::http::answer::entity_tag::tagged;
use crate::http::endpoint::{Endpoint, EndpointPath, handler};
use crate::http::error::ApiError;
use crate::http::permissions::{OWN_CALENDARS, Resource, Verb};
use crate::http::request::GroupRequest;
use crate::http::resources::pagination::{PageAnswer, write_object};
use crate::http::response::{HandlerResult, object_response, to_json};
use crate::notify::MessagePreview;
use crate::wire::field::{Audience, Scope};
use crate::wire::list::Query;
use crate::wire::message::{Ledger, LedgerEntry, MESSAGE};

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/messages");
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/messages/{id}");

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::list(&[ALL], handler!(InGroup, list))
        .named("ListMessages", "List planned, sent and unsent messages")
        .right(Resource::Message, Verb::List, OWN_CALENDARS),
    Endpoint::get(&[ONE], handler!(InGroup, show)).named("ShowMessage", "Get a message").right(
        Resource::Message,
        Verb::Show,
        OWN_CALENDARS,
    ),
];

/// GET /api/v1/groups/{group_id}/messages: messages due within a week, sent messages, and unsent
/// messages with the reason. Messages without a carrier can be read here.
async fn list(request: GroupRequest) -> HandlerResult {
    let audience = request.audience();
    let query = Query::parse(&request.params, &MESSAGE, &request.scope(), audience)?;
    let state = Arc::clone(&request.state);
    let now = request.now;
    let gateways = Arc::clone(&request.server.gateways);
    let role = request.role().clone();
    let compute = move || {
        let ledger = Ledger::new(state, now);
        let mut entries = ledger.entries();
        entries.retain(|entry| entry.is_shown(&role, ledger.group_state()));
        let page =
            query.select_page(entries.iter().collect(), &Scope::for_group(ledger.group_state()));
        let places: Vec<u64> = page.records.iter().map(|entry| query.record_id(entry)).collect();
        let head = query.envelope_head(places.len(), page.total);
        PageAnswer::new(head, places, move |place, bytes| {
            let entry = ledger.entry(place).expect("the page is from this ledger");
            let preview =
                |message: &Message| gateways.preview_without_tokens(ledger.group_state(), message);
            let object = render_entry(&entry, ledger.group_state(), audience, preview);
            write_object(&object, bytes);
            0
        })
    };
    Ok(request.server.blocking_pool.run(compute).await?.into_response(&request.server))
}

/// GET /api/v1/groups/{group_id}/messages/{id}. A planned reminder has no id yet.
async fn show(request: GroupRequest) -> HandlerResult {
    let id = request.id(MessageId::new)?;
    let message = request.state.outbox.message(id).ok_or_else(ApiError::no_result)?;
    let entry = LedgerEntry::from_message(message);
    if !entry.is_shown(request.role(), &request.state) {
        return Err(ApiError::no_result());
    }
    let gateways = &request.server.gateways;
    let preview = |message: &Message| gateways.preview_without_tokens(&request.state, message);
    let object = render_entry(&entry, &request.state, request.audience(), preview);
    Ok(object_response(tagged(to_json(&Value::Object(object)))))
}

/// Renders an entry of a group's message list. If no carrier sends the message, the entry includes
/// its subject and text, which `preview` returns.
pub(crate) fn render_entry(
    entry: &LedgerEntry,
    state: &GroupState,
    audience: Audience,
    preview: impl FnOnce(&Message) -> Option<MessagePreview>,
) -> Map<String, Value> {
    let mut object = MESSAGE.render(entry, &Scope::for_group(state), audience);
    let mut subject = Value::Null;
    let mut text = Value::Null;
    if let Some(message) = entry.message()
        && matches!(message.progress, Progress::Kept { .. })
        && let Some(reading) = preview(message)
    {
        subject = reading.subject.into();
        text = reading.text.into();
    }
    object.insert("subject".into(), subject);
    object.insert("text".into(), text);
    object
}
