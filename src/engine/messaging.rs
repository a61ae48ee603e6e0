//! Starting and stopping the sending of messages. Reference 7.2.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::domain::state::recipient_quota::MessageQuota;
use crate::engine::handle::Engine;
use crate::engine::mailbox::Transport;
use crate::engine::message_scheduler::{self, SchedulerParts};
use crate::engine::message_sender::MessageSender;
use crate::engine::messages::SchedulerMessage;
use crate::engine::published::Published;
use crate::engine::randomness::Randomness;
use crate::notify::Gateways;

/// Options of the sending of messages.
pub struct MessagingOptions {
    /// The SMTP server and the SMS gateway.
    pub gateways: Arc<Gateways>,
    /// Maximum numbers of messages of one group within 24 hours. Reference 7.6.
    pub quota: MessageQuota,
    /// Source of randomness for the delay of retries.
    pub randomness: Randomness,
    /// Delivery of messages between actors.
    pub transport: Transport,
    /// Maximum time between two readings of the clock.
    pub poll_interval_max: Duration,
    /// Maximum number of attempts in flight, for mails and for text messages each.
    pub concurrent_attempts_max: usize,
}

/// Handle to the running message scheduler.
pub struct MessagingHandle {
    published: Arc<Published>,
}

impl MessagingHandle {
    /// Starts no more attempts, and waits until those in flight have ended.
    pub async fn stop(self) {
        let (reply, ended) = oneshot::channel();
        if let Some(scheduler) = self.published.scheduler() {
            scheduler.send(SchedulerMessage::Stop(reply));
        }
        // A scheduler that just died does not reply. The next start repeats its attempts.
        drop(ended.await);
    }
}

impl Engine {
    /// Sends messages from now on: those that wait, and those that become due. Call it once.
    pub async fn send_messages(&self, options: MessagingOptions) -> MessagingHandle {
        let sender = Arc::new(MessageSender {
            gateways: options.gateways,
            quota: options.quota,
            randomness: Mutex::new(options.randomness),
            metrics: self.message_metrics(),
        });
        message_scheduler::start(SchedulerParts {
            engine: self.clone(),
            sender,
            transport: options.transport,
            poll_interval_max: options.poll_interval_max,
            concurrent_attempts_max: options.concurrent_attempts_max,
            stopped: Arc::default(),
        })
        .await;
        MessagingHandle { published: self.published_arc() }
    }
}
