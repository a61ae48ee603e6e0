//! Notifications: messages are rendered from the newest state, and handed to an SMTP server or an
//! SMS gateway. Reference 7.

mod calendar;
pub(crate) mod contrast;
pub(crate) mod feed_file;
pub(crate) mod feed_link;
mod gsm;
pub(crate) mod language;
pub mod links;
pub(crate) mod mail_appointment;
mod mail_kind;
mod outcome;
mod outgoing_message;
mod render;
mod sender_text;
pub mod simulated;
pub mod sms;
pub mod smtp;
pub mod webhook;

use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::records::channel::Channel;
use crate::domain::records::message::Message;
use crate::domain::state::delivery_step::DeliveryOutcome;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::notify::outcome::{deferred, refused};
use crate::notify::outgoing_message::OutgoingMessage;
use crate::notify::render::MailSettings;

/// The configured gateways, and the settings that every mail uses.
pub struct Gateways {
    /// The SMTP server; `None` if none is configured.
    pub mail: Option<smtp::SmtpClient>,
    /// The SMS gateway; `None` if none is configured.
    pub sms: Option<sms::SmsGateway>,
    /// Public URL of the server, without a final `/`. Every link in a message begins with it.
    pub public_url: String,
    /// Secret that authenticates the unsubscribe links; without it no mail has such a link.
    pub link_secret: Option<LinkSecret>,
}

/// A message as its recipient reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagePreview {
    /// The subject of a mail; empty for a text message.
    pub subject: String,
    /// The plain text.
    pub text: String,
}

impl Gateways {
    /// Creates a configuration without gateways: messages are kept, not sent.
    pub fn unconfigured(public_url: &str) -> Self {
        Self {
            mail: None,
            sms: None,
            public_url: public_url.trim_end_matches('/').to_owned(),
            link_secret: None,
        }
    }

    fn mail_settings(&self) -> MailSettings<'_> {
        let from_address = match &self.mail {
            Some(smtp) => smtp.from_address(),
            None => "slotbook@localhost",
        };
        MailSettings {
            public_url: &self.public_url,
            from_address,
            link_secret: self.link_secret.as_ref(),
            shows_codes: true,
        }
    }

    /// Returns whether a channel has a gateway.
    pub fn is_configured(&self, channel: Channel) -> bool {
        match channel {
            Channel::Mail => self.mail.is_some(),
            Channel::Sms => self.sms.is_some(),
        }
    }

    /// Whether the code of a booking can leave by a channel. It needs the secret of its token too.
    pub fn can_send_code(&self, channel: Channel) -> bool {
        self.is_configured(channel) && self.link_secret.is_some()
    }

    /// Sends a test message: a mail if `to` contains `@`, else a text message.
    pub async fn send_test_message(&self, to: &str, now: Instant) -> DeliveryOutcome {
        const TEXT: &str = "This is a test message of slotbook.";
        let message_id = format!("slotbook-test-{}", now.0);
        if to.contains('@') {
            let Some(smtp) = &self.mail else {
                return refused("no SMTP server is configured: give --smtp-host");
            };
            return smtp.send(&OutgoingMessage::plain(to, TEXT), &message_id, now).await;
        }
        let Some(gateway) = &self.sms else {
            return refused("no SMS gateway is configured: give --sms-url");
        };
        gateway.send(to, "", TEXT, &message_id).await
    }

    /// Makes one attempt at a claimed message. It ends within the gateway's timeout.
    pub async fn send_message(
        &self,
        state: &GroupState,
        message: &Message,
        now: Instant,
    ) -> DeliveryOutcome {
        let id = message_id(state, message);
        match (message.channel(), &self.mail, &self.sms) {
            (Channel::Mail, Some(smtp), _) => {
                let Some(mail) = render::render_mail(state, message, self.mail_settings()) else {
                    return object_removed();
                };
                smtp.send(&mail, &id, now).await
            }
            (Channel::Sms, _, Some(gateway)) => {
                let Some(text) = render::render_sms(state, message, self.mail_settings()) else {
                    return object_removed();
                };
                let sender = state.catalogue.group.sms_sender_name.as_str().trim();
                gateway.send(message.recipient.as_str(), sender, &text, &id).await
            }
            (Channel::Mail, None, _) | (Channel::Sms, _, None) => {
                let group = state.catalogue.group.id;
                tracing::error!(%group, message = %message.id, "a message was claimed for a channel without a gateway");
                deferred("no gateway is configured for this channel")
            }
        }
    }

    /// Renders a message from a state as [`Self::preview`] does, with every link cut before its
    /// token, and without a code. Both act for the client, which no other reader may.
    pub fn preview_without_tokens(
        &self,
        state: &GroupState,
        message: &Message,
    ) -> Option<MessagePreview> {
        let settings = MailSettings { shows_codes: false, ..self.mail_settings() };
        let preview = render_preview(state, message, settings)?;
        let text = links::hide_tokens(&self.public_url, &preview.text);
        Some(MessagePreview { text, ..preview })
    }

    /// Renders a message from a state, as its recipient would read it. `None` if the object that
    /// it is about has been removed.
    pub fn preview(&self, state: &GroupState, message: &Message) -> Option<MessagePreview> {
        render_preview(state, message, self.mail_settings())
    }
}

fn render_preview(
    state: &GroupState,
    message: &Message,
    settings: MailSettings<'_>,
) -> Option<MessagePreview> {
    match message.channel() {
        Channel::Sms => {
            let text = render::render_sms(state, message, settings)?;
            Some(MessagePreview { subject: String::new(), text })
        }
        Channel::Mail => {
            let mail = render::render_mail(state, message, settings)?;
            Some(MessagePreview { subject: mail.subject, text: mail.text })
        }
    }
}

/// Returns an id that is the same for all attempts at a message: the left side of its Message-ID,
/// and its idempotency key. Reference 7.2.
fn message_id(state: &GroupState, message: &Message) -> String {
    format!("slotbook-{}-{}-{}", state.catalogue.group.id, message.id, message.created_at.0)
}

/// The outcome for a message about an object that was removed.
fn object_removed() -> DeliveryOutcome {
    refused("the message's object has been removed")
}
