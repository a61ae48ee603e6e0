//! The webhooks of a group. Reference 18.4.

pub mod delivery;
pub mod settlement;
pub mod url;
pub mod webhook;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::records::ids::WebhookId;
use crate::domain::state::webhooks::webhook::Webhook;

/// Maximum number of webhooks of a group.
pub const WEBHOOKS_MAX: usize = 10;

/// The webhooks of a group, at most [`WEBHOOKS_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Webhooks {
    rows: Arc<BTreeMap<WebhookId, Arc<Webhook>>>,
    /// The highest number that one ever had; 0 before the first.
    last: u64,
}

impl Webhooks {
    /// Makes the webhooks of stored rows; `last` is the highest number ever used.
    pub fn from_stored(rows: Vec<Arc<Webhook>>, last: u64) -> Self {
        let rows: BTreeMap<_, _> = rows.into_iter().map(|row| (row.id, row)).collect();
        Self { rows: Arc::new(rows), last }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of webhooks.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Finds a webhook.
    pub fn get(&self, id: WebhookId) -> Option<&Arc<Webhook>> {
        self.rows.get(&id)
    }

    /// The webhooks, ascending by number.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Webhook>> {
        self.rows.values()
    }

    /// The highest number that a webhook ever had; 0 before the first.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// Whether both are the same, without a look at each webhook.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.rows, &other.rows)
    }

    /// Inserts a webhook, or replaces the one with its number.
    pub fn put(&mut self, webhook: Arc<Webhook>) {
        self.last = self.last.max(webhook.id.number());
        Arc::make_mut(&mut self.rows).insert(webhook.id, webhook);
    }

    /// Removes a webhook.
    pub fn remove(&mut self, id: WebhookId) {
        Arc::make_mut(&mut self.rows).remove(&id);
    }
}
