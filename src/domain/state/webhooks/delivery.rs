//! The next delivery of a webhook: which changes go in one request. Reference 18.5.
//!
//! A server that ends between a delivery and the record of it repeats the delivery. So what goes
//! together must follow from what was recorded before: it is one change, or a group of the feed's
//! rows between two recorded places.

use crate::domain::directory::roles::Sight;
use crate::domain::records::ids::GroupId;
use crate::domain::state::changes::{Change, FeedView};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::cursor::{ChangeCursor, PlacedRow};
use crate::domain::state::webhooks::webhook::{Webhook, WebhookProgress};
use crate::planted_faults::PlantedFault;

/// Number of rows of the feed in one delivery of a group.
pub const GROUPED_ROWS: usize = 100;
/// Maximum number of rows that are looked at for one delivery.
const LOOKED_AT_MAX: usize = 2_000;

/// Next act of a webhook.
#[derive(Clone, Debug, PartialEq)]
pub enum NextDelivery {
    /// Nothing: all rows are delivered.
    Nothing,
    /// The rows up to this number are none that it gets. More may follow.
    Skip(u64),
    /// Rows after its position are no longer kept: it begins another round after the row of this
    /// number, and its receiver learns that.
    Begin(u64),
    /// A request to its receiver.
    Send(Delivery),
}

/// Request to a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// Its id, which repeated requests have too.
    pub id: String,
    /// Its content.
    pub content: DeliveryContent,
    /// The number of the last row that it covers.
    pub covers_to: u64,
}

/// The content of a request to a receiver.
#[derive(Clone, Debug, PartialEq)]
pub enum DeliveryContent {
    /// Changes in their order, at least one.
    Changes(Vec<Change>),
    /// Changes are missing before the next one.
    Reset,
    /// A request by hand, which tells of no change.
    Test,
}

impl DeliveryContent {
    /// The type in the body of the request.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Changes(_) => "changes",
            Self::Reset => "reset",
            Self::Test => "test",
        }
    }
}

/// Finds what a webhook does next, by its progress so far. `webhook` gives its settings.
pub fn find_next(
    state: &GroupState,
    webhook: &Webhook,
    progress: &WebhookProgress,
) -> NextDelivery {
    let group = state.catalogue.group.id;
    let WebhookProgress { after, grouped_to, reset, .. } = *progress;
    let begin = state.history.feed_begin();
    if after < begin {
        return NextDelivery::Begin(begin);
    }
    if reset {
        let id = format!("{}-reset", id_of_round(group, webhook));
        let content = DeliveryContent::Reset;
        return NextDelivery::Send(Delivery { id, content, covers_to: after });
    }
    let grouped_max = if after < grouped_to { GROUPED_ROWS } else { 1 };
    let is_wanted = |placed: &PlacedRow| {
        let object = placed.row.object.kind;
        placed.row.verb.is_in_feed() && object.is_in_feed() && webhook.objects.has(object)
    };
    let mut covers_to = after;
    let mut ends: Option<(ChangeCursor, ChangeCursor)> = None;
    let mut wanted = Vec::new();
    for (looked_at, placed) in (0..LOOKED_AT_MAX).zip(state.history.rows_after(after)) {
        if grouped_max > 1 && (looked_at == grouped_max || placed.number > grouped_to) {
            break;
        }
        covers_to = placed.number;
        let first = ends.map_or(placed.cursor, |(first, _)| first);
        ends = Some((first, placed.cursor));
        if is_wanted(&placed) {
            if grouped_max == 1 {
                ends = Some((placed.cursor, placed.cursor));
            }
            wanted.push(placed);
        }
        if grouped_max == 1 && !wanted.is_empty() {
            break;
        }
    }
    let Some((first, last)) = ends else { return NextDelivery::Nothing };
    let changes = find_changes(state, wanted);
    if changes.is_empty() {
        return NextDelivery::Skip(covers_to);
    }
    // Ends of the rows that were looked at, wanted or not: other settings leave the id as it is.
    let id = format!("{}-{first}-{last}", id_of_round(group, webhook));
    let content = DeliveryContent::Changes(changes);
    NextDelivery::Send(Delivery { id, content, covers_to })
}

/// Returns the changes of rows as an administrator sees them.
fn find_changes(state: &GroupState, rows: Vec<PlacedRow>) -> Vec<Change> {
    let view = FeedView { sight: Sight::All, sees_accounts: true };
    let mut changes = Vec::with_capacity(rows.len());
    for placed in rows {
        if let Some(presence) = state.find_presence(&placed.row, &view) {
            changes.push(Change { placed, presence });
        }
    }
    if PlantedFault::WebhookOrderReversed.is_active() {
        changes.reverse();
    }
    changes
}

/// The beginning of the ids of deliveries of one round. The signature joins its parts by full
/// stops, so it has none.
fn id_of_round(group: GroupId, webhook: &Webhook) -> String {
    format!("{group}-{}-{}", webhook.id, webhook.round)
}

/// Returns a test delivery. `number` tells it from others.
pub fn test_delivery(group: GroupId, webhook: &Webhook, number: u64) -> Delivery {
    let id = format!("{}-test-{number:016x}", id_of_round(group, webhook));
    Delivery { id, content: DeliveryContent::Test, covers_to: webhook.progress.after }
}

/// Returns the row up to which a group may be planned: the last one, if several wait. `None` if
/// none or one waits.
pub fn find_group_end(state: &GroupState, progress: &WebhookProgress) -> Option<u64> {
    let last = state.history.last();
    (last > progress.after.saturating_add(1)).then_some(last)
}
