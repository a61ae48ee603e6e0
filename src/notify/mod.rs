//! Messages on their way out: made from the newest state, handed to an SMTP server or an SMS gateway. Reference 7.

mod calendar;
mod gsm;
pub mod links;
mod outgoing_message;
mod page;
mod render;
pub mod sms;
pub mod smtp;
mod words;

pub use self::page::{Page, page, when};

use crate::domain::identity::link_secret::LinkSecret;
use crate::domain::messaging::channel::Channel;
use crate::domain::messaging::delivery::DeliveryOutcome;
use crate::domain::messaging::message::{Message, MessageContent};
use crate::domain::records::text::Text;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;

/// Who carries messages, and what they say of this server.
pub struct Carriers {
    /// The SMTP server, where one is configured.
    pub mail: Option<smtp::Smtp>,
    /// The SMS gateway, where one is configured.
    pub sms: Option<sms::Gateway>,
    /// What links in messages begin with, without a `/` at the end.
    pub public_url: String,
    /// What proves that a link was mailed; without one no mail offers to end such mails.
    pub seal: Option<LinkSecret>,
}

/// What every mail says of its server.
#[derive(Clone, Copy)]
struct Frame<'a> {
    /// What its links begin with.
    public_url: &'a str,
    /// The address that it comes from.
    from: &'a str,
    /// What proves its links.
    seal: Option<&'a LinkSecret>,
}

/// What a message says, for somebody to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The subject of a mail; empty of a text message.
    pub subject: String,
    /// The plain text.
    pub text: String,
}

impl Carriers {
    /// Nobody: messages are kept to be read.
    #[must_use]
    pub fn nobody(public_url: &str) -> Self {
        Self {
            mail: None,
            sms: None,
            public_url: public_url.trim_end_matches('/').to_owned(),
            seal: None,
        }
    }

    /// What every mail says of this server.
    fn frame(&self) -> Frame<'_> {
        Frame {
            public_url: &self.public_url,
            from: self.mail.as_ref().map_or("nobody@localhost", smtp::Smtp::address),
            seal: self.seal.as_ref(),
        }
    }

    /// Whether anybody carries messages of a channel.
    #[must_use]
    pub fn carry_by(&self, channel: Channel) -> bool {
        match channel {
            Channel::Mail => self.mail.is_some(),
            Channel::Sms => self.sms.is_some(),
        }
    }

    /// Sends a test message to an address, or else to a number.
    pub async fn test(&self, to: &str, now: Instant) -> DeliveryOutcome {
        const TEXT: &str = "This is a test message of slotbook.";
        let identity = format!("slotbook-test-{}", now.0);
        match (to.contains('@'), &self.mail, &self.sms) {
            (true, Some(smtp), _) => {
                smtp.send(&outgoing_message::OutgoingMessage::test(to, TEXT), &identity, now).await
            }
            (false, _, Some(gateway)) => gateway.send(to, "", TEXT, &identity).await,
            (true, None, _) => refused("no SMTP server is configured: give --smtp-host"),
            (false, _, None) => refused("no SMS gateway is configured: give --sms-url"),
        }
    }

    /// Makes one attempt at a message that has been claimed. Ends in bounded time.
    pub async fn carry(
        &self,
        state: &GroupState,
        message: &Message,
        now: Instant,
    ) -> DeliveryOutcome {
        let group = state.catalogue.group.id;
        match (message.channel(), &self.mail, &self.sms) {
            (Channel::Mail, Some(smtp), _) => match render::letter(state, message, self.frame()) {
                Some(letter) => smtp.send(&letter, &identity(state, message), now).await,
                None => gone(),
            },
            (Channel::Sms, _, Some(gateway)) => match render::short(state, message) {
                Some(text) => {
                    let sender = state.catalogue.group.sms_sender_name.as_str().trim();
                    gateway
                        .send(message.recipient.as_str(), sender, &text, &identity(state, message))
                        .await
                }
                None => gone(),
            },
            (Channel::Mail, None, _) | (Channel::Sms, _, None) => {
                tracing::error!(%group, message = %message.id, "a message was claimed that nobody carries");
                deferred("nobody is configured to carry it")
            }
        }
    }

    /// What a message says, as the newest state would have it said; `None` where what it is about is gone.
    #[must_use]
    pub fn reading(&self, state: &GroupState, message: &Message) -> Option<Reading> {
        match &message.content {
            MessageContent::Reminder(Channel::Sms, _) => {
                let text = render::short(state, message)?;
                Some(Reading { subject: String::new(), text })
            }
            MessageContent::Reminder(Channel::Mail, _)
            | MessageContent::AccountLink { .. }
            | MessageContent::Confirmation(_)
            | MessageContent::Change { .. }
            | MessageContent::Cancellation(_)
            | MessageContent::Withdrawal(_)
            | MessageContent::ConfirmationByKey(_)
            | MessageContent::CancellationByKey(_)
            | MessageContent::Restoration(_) => {
                let letter = render::letter(state, message, self.frame())?;
                Some(Reading { subject: letter.subject, text: letter.text })
            }
        }
    }
}

/// What a message is called wherever it arrives, however often it is attempted: the left side of its Message-ID, and its
/// idempotency key.
fn identity(state: &GroupState, message: &Message) -> String {
    format!("slotbook-{}-{}-{}", state.catalogue.group.id, message.id, message.created_at.0)
}

/// What the message was about is not there any more.
fn gone() -> DeliveryOutcome {
    refused("there is nothing left to tell")
}

fn refused(reason: &str) -> DeliveryOutcome {
    DeliveryOutcome::Refused(said(reason))
}

fn deferred(reason: &str) -> DeliveryOutcome {
    DeliveryOutcome::Deferred { reason: said(reason), draw: 0 }
}

/// An error with all that led to it, of which it often says only that something did.
fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    text
}

/// What somebody else's server said, in one line that can be kept.
fn said(reason: &str) -> Text<255> {
    let line: String = words::one_line(reason).chars().take(200).collect();
    Text::new(&line).expect("a short line without control characters")
}
