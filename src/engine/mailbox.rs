//! Mailboxes of actors. Messages arrive at once, or in simulation after a seeded delay that keeps
//! each sender's order.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ractor::{ActorRef, Message};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::mpsc;

/// The sending side of one actor's mailbox. A message to an actor that has ended is dropped, and
/// its reply port with it.
#[derive(Debug)]
pub struct Mailbox<M>(Delivery<M>);

#[derive(Debug)]
enum Delivery<M> {
    Direct(ActorRef<M>),
    Delayed(mpsc::UnboundedSender<M>),
}

impl<M> Clone for Mailbox<M> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Delivery::Direct(actor) => Delivery::Direct(actor.clone()),
            Delivery::Delayed(sender) => Delivery::Delayed(sender.clone()),
        })
    }
}

impl<M: Message> Mailbox<M> {
    /// Whether messages arrive at once.
    pub(crate) const fn is_direct(&self) -> bool {
        matches!(self.0, Delivery::Direct(_))
    }

    /// Puts a message into the actor's mailbox; never waits.
    pub fn send(&self, message: M) {
        match &self.0 {
            Delivery::Direct(actor) => drop(actor.send_message(message)),
            Delivery::Delayed(sender) => drop(sender.send(message)),
        }
    }
}

/// Creates mailboxes, all with the same delivery.
#[derive(Clone, Debug, Default)]
pub struct Transport {
    /// The source of delays and their maximum in microseconds; `None` if messages arrive at once.
    delays: Option<(Arc<Mutex<StdRng>>, u64)>,
}

impl Transport {
    /// Creates a transport that delivers at once.
    pub fn direct() -> Self {
        Self::default()
    }

    /// Creates a transport that delays each message by at most `max` of the runtime's time; zero is
    /// no delay. The same seed gives the same delays.
    pub fn delayed(seed: u64, max: Duration) -> Self {
        if max.is_zero() {
            return Self::direct();
        }
        let max_microseconds = u64::try_from(max.as_micros()).unwrap_or(u64::MAX);
        let delays = Arc::new(Mutex::new(StdRng::seed_from_u64(seed)));
        Self { delays: Some((delays, max_microseconds)) }
    }

    /// Creates a sender's mailbox of an actor. Messages sent to it and its clones keep their order.
    pub fn link<M: Message>(&self, actor: ActorRef<M>) -> Mailbox<M> {
        let Some((delays, max_microseconds)) = self.delays.clone() else {
            return Mailbox(Delivery::Direct(actor));
        };
        let (sender, mut receiver) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(message) = receiver.recv().await {
                let microseconds = delays.lock().random_range(0..=max_microseconds);
                tokio::time::sleep(Duration::from_micros(microseconds)).await;
                drop(actor.send_message(message));
            }
        });
        Mailbox(Delivery::Delayed(sender))
    }
}
