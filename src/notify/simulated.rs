//! A mail server within a simulation, which takes the place of the connection to a real one.

use std::pin::Pin;
use std::sync::Arc;

use lettre::message::header::{Header as _, MessageId};
use lettre::transport::smtp::Error;
use lettre::transport::smtp::response::Response;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

use crate::domain::state::delivery_step::DeliveryOutcome;
use crate::notify::outcome::{deferred, refused};

/// A mail server of a simulation.
pub trait SimulatedMailServer: Send + Sync + 'static {
    /// Receives a mail, by the address of its recipient and its Message-ID. The answer may come
    /// after the timeout of the client, and is then lost.
    fn receive(
        self: Arc<Self>,
        to: String,
        message_id: String,
    ) -> Pin<Box<dyn Future<Output = MailReply> + Send>>;
}

/// The answer of a simulated mail server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailReply {
    /// The mail is delivered.
    Accepted,
    /// The mail is not delivered, and is not to be tried again.
    Refused,
    /// The mail is not delivered now.
    Deferred,
}

/// The way of a mail to its server.
pub(crate) enum MailTransport {
    Smtp(AsyncSmtpTransport<Tokio1Executor>),
    Simulated(Arc<dyn SimulatedMailServer>),
}

/// A result of a mail server.
pub(crate) enum MailResult {
    Smtp(Result<Response, Error>),
    Simulated(DeliveryOutcome),
}

impl MailTransport {
    /// Hands a mail to the server and waits for its answer.
    pub(crate) async fn send(&self, mail: Message) -> MailResult {
        match self {
            Self::Smtp(transport) => MailResult::Smtp(transport.send(mail).await),
            Self::Simulated(server) => {
                let to = mail.envelope().to().first().map(ToString::to_string);
                let message_id = mail.headers().get_raw(&MessageId::name()).unwrap_or_default();
                let message_id = message_id.to_owned();
                let received = Arc::clone(server).receive(to.unwrap_or_default(), message_id);
                MailResult::Simulated(match received.await {
                    MailReply::Accepted => DeliveryOutcome::Taken,
                    MailReply::Refused => refused("550 refused"),
                    MailReply::Deferred => deferred("451 later"),
                })
            }
        }
    }
}
