//! Counts of the webhooks whose changes wait. Reference 11.4.

use crate::domain::state::group_state::GroupState;
use crate::domain::state::webhooks::delivery::{DeliveryContent, NextDelivery, find_next};
use crate::domain::state::webhooks::webhook::Webhook;
use crate::domain::time::Instant;
use crate::engine::handle::Engine;

/// Counts of the webhooks of all groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebhookStats {
    /// Number of webhooks that are on.
    pub on: u64,
    /// Number of those with changes that are not recorded as delivered.
    pub waiting: u64,
    /// The time of the oldest such change; `None` without one.
    pub oldest: Option<Instant>,
}

impl Engine {
    /// Counts the webhooks whose changes wait, by the places that are recorded.
    pub fn webhook_stats(&self) -> WebhookStats {
        let mut stats = WebhookStats::default();
        for group in self.published().groups() {
            let Some(state) = self.published().group_state(group) else { continue };
            for webhook in state.webhooks.iter().filter(|webhook| webhook.is_on()) {
                stats.on += 1;
                if let Some(since) = waiting_since(&state, webhook) {
                    stats.waiting += 1;
                    stats.oldest = Some(stats.oldest.map_or(since, |oldest| oldest.min(since)));
                }
            }
        }
        stats
    }
}

/// Returns the time of the first change that waits; `None` if none does.
fn waiting_since(state: &GroupState, webhook: &Webhook) -> Option<Instant> {
    let row_after = |number| state.history.rows_after(number).next().map(|placed| placed.row.at);
    match find_next(state, webhook, &webhook.progress) {
        NextDelivery::Nothing | NextDelivery::Skip(_) => None,
        NextDelivery::Begin(after) => row_after(after),
        NextDelivery::Send(delivery) => match delivery.content {
            DeliveryContent::Changes(changes) => changes.first().map(|it| it.placed.row.at),
            DeliveryContent::Reset | DeliveryContent::Test => row_after(delivery.covers_to),
        },
    }
}
