//! How actors reach one another: at once, or, in simulation, after a seeded delay that keeps each sender's order.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ractor::{ActorRef, Message};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::mpsc;

/// The way to one actor. What is sent to an actor that is gone is dropped, its reply port with it.
#[derive(Debug)]
pub struct Mailbox<M>(Way<M>);

#[derive(Debug)]
enum Way<M> {
    Direct(ActorRef<M>),
    Delayed(mpsc::UnboundedSender<M>),
}

impl<M> Clone for Mailbox<M> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Way::Direct(actor) => Way::Direct(actor.clone()),
            Way::Delayed(sender) => Way::Delayed(sender.clone()),
        })
    }
}

impl<M: Message> Mailbox<M> {
    /// Puts a message into the actor's mailbox, never waiting.
    pub fn send(&self, message: M) {
        match &self.0 {
            Way::Direct(actor) => drop(actor.send_message(message)),
            Way::Delayed(sender) => drop(sender.send(message)),
        }
    }
}

/// Makes links, all of one sort.
#[derive(Clone, Debug, Default)]
pub struct Transport {
    /// The source of delays; `None` where messages arrive at once.
    delays: Option<Arc<Mutex<StdRng>>>,
}

impl Transport {
    /// Links that deliver at once.
    #[must_use]
    pub fn direct() -> Self {
        Self::default()
    }

    /// Links that delay every message by up to 5 ms of the runtime's time, as the seed says.
    #[must_use]
    pub fn delayed(seed: u64) -> Self {
        Self { delays: Some(Arc::new(Mutex::new(StdRng::seed_from_u64(seed)))) }
    }

    /// A new sender's link to an actor.
    pub fn link<M: Message>(&self, actor: ActorRef<M>) -> Mailbox<M> {
        let Some(delays) = self.delays.clone() else { return Mailbox(Way::Direct(actor)) };
        let (sender, mut receiver) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(message) = receiver.recv().await {
                let micros =
                    delays.lock().unwrap_or_else(PoisonError::into_inner).random_range(0..5_000);
                tokio::time::sleep(Duration::from_micros(micros)).await;
                drop(actor.send_message(message));
            }
        });
        Mailbox(Way::Delayed(sender))
    }
}
