//! Attempts at deliveries: at most 256 under way, and at most 16 of them to one receiver.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::domain::records::ids::{GroupId, WebhookId};
use crate::domain::state::webhooks::delivery::{Delivery, test_delivery};
use crate::domain::state::webhooks::url::{ReceiverHost, WebhookUrl};
use crate::domain::state::webhooks::webhook::{Webhook, WebhookAnswer};
use crate::domain::time::Instant;
use crate::engine::handle::Engine;
use crate::engine::randomness::Randomness;
use crate::notify::webhook::addresses::AllowedNetworks;
use crate::notify::webhook::client::{SignedRequest, WebhookClient};
use crate::notify::webhook::signature::sign;
use crate::planted_faults::PlantedFault;

/// Maximum number of attempts under way.
const ATTEMPTS_MAX: usize = 256;
/// Maximum number of attempts under way to one host and port, so that a stuck receiver of many
/// groups leaves the others their places.
const RECEIVER_ATTEMPTS_MAX: usize = 16;
/// Maximum number of tests by hand under way.
const TESTS_MAX: usize = 16;

/// Writes the body of a delivery of a group's webhook. The moment is that of the attempt.
pub type RenderBody = fn(&Delivery, GroupId, WebhookId, Instant) -> Vec<u8>;

/// Makes attempts at deliveries.
pub struct WebhookSender {
    client: WebhookClient,
    render: RenderBody,
    attempts: Arc<Semaphore>,
    /// The places of each host and port.
    receivers: Mutex<BTreeMap<(ReceiverHost, u16), Arc<Semaphore>>>,
    tests: Semaphore,
    randomness: Mutex<Randomness>,
}

/// The right to make one attempt. It is given back when dropped.
pub(crate) struct AttemptPlace {
    _receiver: OwnedSemaphorePermit,
    _attempt: OwnedSemaphorePermit,
}

/// The outcome of a test by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestOutcome {
    /// The attempt was made.
    Answered(WebhookAnswer),
    /// Too many tests are under way.
    Busy,
    /// Another server of the cluster decides by now.
    NotDeciding,
}

impl WebhookSender {
    /// Creates a sender.
    pub fn new(client: WebhookClient, render: RenderBody, randomness: Randomness) -> Self {
        Self {
            client,
            render,
            attempts: Arc::new(Semaphore::new(ATTEMPTS_MAX)),
            receivers: Mutex::default(),
            tests: Semaphore::new(TESTS_MAX),
            randomness: Mutex::new(randomness),
        }
    }

    /// The networks inside which receivers may be.
    pub const fn allowed(&self) -> &AllowedNetworks {
        self.client.allowed()
    }

    /// Returns a random number for the pause before another try.
    pub(crate) fn draw(&self) -> u64 {
        self.randomness.lock().number()
    }

    /// Waits for a place, in the order of arrival at each receiver.
    pub(crate) async fn take_place(&self, url: &WebhookUrl) -> AttemptPlace {
        let receiver = {
            let mut receivers = self.receivers.lock();
            receivers.retain(|_, places| Arc::strong_count(places) > 1);
            let made = || Arc::new(Semaphore::new(RECEIVER_ATTEMPTS_MAX));
            Arc::clone(receivers.entry((url.host(), url.port())).or_insert_with(made))
        };
        let receiver = receiver.acquire_owned().await.expect("it is never closed");
        let attempt = Arc::clone(&self.attempts).acquire_owned().await;
        let attempt = attempt.expect("it is never closed");
        AttemptPlace { _receiver: receiver, _attempt: attempt }
    }

    /// Makes one attempt in its place; `None` if another server decides by now, which delivers.
    pub(crate) async fn attempt(
        &self,
        engine: &Engine,
        group: GroupId,
        webhook: &Webhook,
        delivery: &Delivery,
        _place: &AttemptPlace,
    ) -> Option<WebhookAnswer> {
        let now = engine.clock().now();
        let body = (self.render)(delivery, group, webhook.id, now);
        let secrets = webhook.secrets(engine.steady_now());
        let signature = sign(secrets, &delivery.id, now.0, &body);
        let id = delivery.id.clone();
        let request = SignedRequest { id, timestamp: now.0, signature, body };
        if !engine.may_answer() && !PlantedFault::SharedMessageUnchecked.is_active() {
            return None;
        }
        let began = engine.clock().monotonic();
        let result = self.client.attempt(&webhook.url, request).await;
        let metrics = engine.webhook_metrics();
        metrics.record_attempt(result);
        Some(WebhookAnswer {
            at: engine.clock().now(),
            result,
            milliseconds: milliseconds(engine.clock().monotonic().duration_since(began)),
        })
    }

    /// Sends a delivery without changes at once, whether the webhook is on or off.
    pub async fn send_test(
        &self,
        engine: &Engine,
        group: GroupId,
        webhook: &Webhook,
    ) -> TestOutcome {
        let Ok(_test) = self.tests.try_acquire() else { return TestOutcome::Busy };
        let delivery = test_delivery(group, webhook, self.draw());
        let place = self.take_place(&webhook.url).await;
        match self.attempt(engine, group, webhook, &delivery, &place).await {
            Some(answer) => TestOutcome::Answered(answer),
            None => TestOutcome::NotDeciding,
        }
    }
}

fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::notify::webhook::resolver::SystemResolver;

    fn sender() -> WebhookSender {
        let resolver = Arc::new(SystemResolver::default());
        let client = WebhookClient::new(AllowedNetworks::default(), resolver);
        WebhookSender::new(client, |_, _, _, _| Vec::new(), Randomness::seeded([7; 32]))
    }

    fn url(host: usize) -> WebhookUrl {
        WebhookUrl::new(&format!("https://host{host}.example.org/{host}")).expect("an address")
    }

    #[test]
    fn a_receiver_has_sixteen_places_and_leaves_others_theirs() {
        let sender = sender();
        let take = |host| sender.take_place(&url(host)).now_or_never();
        let mut held: Vec<_> = (0..RECEIVER_ATTEMPTS_MAX).map(|_| take(0)).collect();
        assert!(held.iter().all(Option::is_some));
        assert!(take(0).is_none());
        assert!(take(1).is_some());
        // Another path is the same receiver; another port is another one.
        let same = WebhookUrl::new("https://host0.example.org:443/else").expect("an address");
        assert!(sender.take_place(&same).now_or_never().is_none());
        held.pop();
        assert!(take(0).is_some());
    }

    #[test]
    fn all_receivers_together_have_256_places() {
        let sender = sender();
        let take = |host| sender.take_place(&url(host)).now_or_never();
        let mut held: Vec<_> = (0..ATTEMPTS_MAX).map(|number| take(number / 8)).collect();
        assert!(held.iter().all(Option::is_some));
        assert!(take(ATTEMPTS_MAX).is_none());
        held.pop();
        assert!(take(ATTEMPTS_MAX).is_some());
        // Receivers without attempts are forgotten.
        drop(held);
        assert!(take(0).is_some());
        assert_eq!(sender.receivers.lock().len(), 1);
    }
}
