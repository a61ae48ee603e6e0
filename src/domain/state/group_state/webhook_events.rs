//! Events of webhooks: their effect on the state, and the changes that they are for the history.
//! Reference 18.4.

use std::sync::Arc;

use crate::domain::records::ids::WebhookId;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::group_state::observed::{FieldChanges, verb_of};
use crate::domain::state::history::ObservedChange;
use crate::domain::state::history::row::{HistoryField, HistoryObject, HistoryVerb, ObjectKind};
use crate::domain::state::webhooks::webhook::{OffReason, Webhook, WebhookOff, WebhookProgress};
use crate::domain::time::Instant;

impl GroupState {
    /// Applies an event of a webhook. Other events change nothing.
    pub(super) fn change_webhooks(&mut self, event: &Event) {
        if let Event::WebhookPut { webhook, .. } = event {
            self.webhooks.put(Arc::new(Webhook::clone(webhook)));
        }
        if let Event::WebhookRemoved { id, .. } = event {
            self.webhooks.remove(*id);
        }
        if let Event::WebhookSettled { at, id, progress, begins_round, off } = event {
            self.settle_webhook(*at, *id, progress, *begins_round, *off);
        }
    }

    fn settle_webhook(
        &mut self,
        at: Instant,
        id: WebhookId,
        progress: &WebhookProgress,
        begins_round: bool,
        off: Option<OffReason>,
    ) {
        let webhook = self.webhooks.get(id).expect("a webhook that is settled exists");
        let mut webhook = Webhook::clone(webhook);
        if begins_round {
            webhook.go_on_after(progress.after, progress.reset);
        }
        webhook.settle(progress);
        if let Some(reason) = off {
            webhook.off = Some(WebhookOff { reason, since: at });
        }
        self.webhooks.put(Arc::new(webhook));
    }

    /// Returns the changes of an event of a webhook. What it has delivered is none.
    pub(super) fn observe_webhooks(&self, event: &Event) -> Vec<ObservedChange> {
        if let Event::WebhookPut { webhook, .. } = event {
            return self.observe_webhook(webhook).into_iter().collect();
        }
        if let Event::WebhookRemoved { id, .. } = event {
            return vec![of_webhook(*id, HistoryVerb::Removed, FieldChanges::default())];
        }
        if let Event::WebhookSettled { id, off: Some(_), .. } = event {
            let fields = FieldChanges::default().named(HistoryField::Active, true);
            return vec![of_webhook(*id, HistoryVerb::Changed, fields)];
        }
        Vec::new()
    }

    /// Returns the change of a webhook, by the names of its fields alone. Its address may hold a
    /// secret of its receiver.
    fn observe_webhook(&self, after: &Webhook) -> Option<ObservedChange> {
        let before = self.webhooks.get(after.id);
        let differs = |is_other: fn(&Webhook, &Webhook) -> bool| {
            before.is_none_or(|before| is_other(before, after))
        };
        let fields = FieldChanges::default()
            .named(HistoryField::Url, differs(|old, new| old.url != new.url))
            .named(HistoryField::Objects, differs(|old, new| old.objects != new.objects))
            .named(
                HistoryField::Secret,
                differs(|old, new| old.secret != new.secret || old.former != new.former),
            )
            .named(HistoryField::Active, differs(|old, new| old.is_on() != new.is_on()))
            .named(HistoryField::Since, differs(|old, new| old.round != new.round));
        let verb = verb_of(before.map(|_| false), false);
        (!fields.0.is_empty()).then(|| of_webhook(after.id, verb, fields))
    }
}

fn of_webhook(id: WebhookId, verb: HistoryVerb, fields: FieldChanges) -> ObservedChange {
    let object = HistoryObject { kind: ObjectKind::Webhook, id: id.number() };
    ObservedChange { object, verb, fields: fields.0, settings: None }
}
