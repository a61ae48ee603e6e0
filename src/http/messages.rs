//! The ledger of messages. Contract 7.

use std::sync::Arc;

use super::call::{GroupCall, Outcome, ok};
use crate::domain::outbox::Progress;
use crate::wire::field::Scope;
use crate::wire::list::Query;
use crate::wire::message::{Entry, MESSAGE, entries};

/// GET /api/v1/groups/:group_id/messages: what will go out within a week, what went, and why something did not. What
/// nobody carries is to be read here.
pub(super) async fn list(call: GroupCall) -> Outcome {
    let query = Query::parse(&call.params, &MESSAGE, &call.scope(), call.audience())?;
    let (root, now, audience) = (Arc::clone(&call.root), call.now, call.audience());
    let carriers = Arc::clone(&call.server.carriers);
    let envelope = call.server.computing.run(move || {
        let scope = Scope::of(&root);
        let entries = entries(&root, now);
        let page = query.page(entries.iter().collect(), &scope);
        query.envelope_of(&page, |entry: &Entry| {
            let mut object = MESSAGE.render(entry, &scope, audience);
            let kept = entry.message.as_ref().filter(|message| matches!(message.progress, Progress::Kept { .. }));
            let reading = kept.and_then(|message| carriers.reading(&root, message));
            let (subject, text) = reading.map(|reading| (reading.subject, reading.text)).unzip();
            object.insert("subject".into(), subject.into());
            object.insert("text".into(), text.into());
            object
        })
    });
    Ok(ok(&envelope.await?))
}
