//! The options of the delivery to webhooks, and the state that its tasks share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::domain::records::ids::{GroupId, WebhookId};
use crate::engine::handle::Engine;
use crate::engine::webhooks::sender::WebhookSender;

/// A webhook of one of the groups.
pub(crate) type WebhookPlace = (GroupId, WebhookId);

/// Options of the delivery to webhooks.
pub struct WebhookOptions {
    /// Makes the attempts.
    pub sender: Arc<WebhookSender>,
    /// Maximum time between two readings of the clock, by which a pause ends.
    pub poll_interval_max: Duration,
    /// Shortest time between two records of the place of one webhook.
    pub record_interval: Duration,
    /// Whether a mail can leave, to say that a webhook is off.
    pub sends_mail: bool,
}

/// State that the tasks of all webhooks share.
pub(crate) struct Dispatch {
    pub(crate) engine: Engine,
    pub(crate) options: WebhookOptions,
    /// The webhooks that have a task, each with what wakes it.
    pub(super) running: Mutex<BTreeMap<WebhookPlace, Arc<Notify>>>,
    /// Whether no more attempts begin.
    pub(crate) stopped: watch::Receiver<bool>,
}

impl Dispatch {
    /// Creates the state of a delivery without tasks.
    pub(super) fn new(
        engine: Engine,
        options: WebhookOptions,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        Self { engine, options, running: Mutex::default(), stopped }
    }
}
