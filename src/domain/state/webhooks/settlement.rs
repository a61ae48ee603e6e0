//! Commands about the webhooks of a group. Reference 18.4.

use crate::domain::records::ids::WebhookId;
use crate::domain::records::text::Email;
use crate::domain::state::webhooks::url::WebhookUrl;
use crate::domain::state::webhooks::webhook::{OffReason, WatchedKinds, WebhookProgress};

/// A command about the webhooks of a group.
#[derive(Clone, Debug)]
pub enum WebhookCommand {
    /// Makes one, or changes the one with a number.
    Put {
        /// The webhook; `None` makes one.
        id: Option<WebhookId>,
        /// The fields given.
        fields: WebhookFields,
    },
    /// Makes another secret. The one before stays valid for a day.
    RotateSecret(WebhookId),
    /// Ends the secret before at once.
    EndFormerSecret(WebhookId),
    /// Removes one.
    Remove(WebhookId),
    /// Records what a webhook has delivered.
    Settle(WebhookSettlement),
}

/// The fields given for a webhook.
#[derive(Clone, Debug, Default)]
pub struct WebhookFields {
    /// The address of the receiver. A new webhook has one.
    pub url: Option<WebhookUrl>,
    /// The kinds of objects.
    pub objects: Option<WatchedKinds>,
    /// Whether it is on. A new one is, unless it says otherwise.
    pub active: Option<bool>,
    /// The place from which it goes on. A new one begins with the next change.
    pub since: Option<WebhookStart>,
}

/// The place from which a webhook goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookStart {
    /// The next change.
    Now,
    /// The change after the row of this number.
    After(u64),
}

/// Progress of a webhook since its progress was last recorded.
#[derive(Clone, Debug)]
pub struct WebhookSettlement {
    /// The webhook.
    pub id: WebhookId,
    /// The round that it is about. In another one it counts for nothing.
    pub round: u32,
    /// The progress, with the new answers alone.
    pub progress: WebhookProgress,
    /// Whether the rows after the position are no longer kept, so that another round begins.
    pub begins_round: bool,
    /// The reason why it delivers no more, if so.
    pub off: Option<OffReason>,
    /// The addresses of the administrators, who get a mail if it delivers no more; each once.
    pub recipients: Vec<Email>,
}
