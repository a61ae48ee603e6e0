//! Mails to an SMTP server, one connection a mail. Reference 7.

use std::time::Duration;

use lettre::address::AddressError;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};

use crate::clock;
use crate::domain::messaging::delivery::DeliveryOutcome;
use crate::domain::time::Instant;
use crate::notify::outgoing_message::OutgoingMessage;
use crate::notify::{deferred, refused, whole};

/// Octets of a header line that servers take in any case.
const NAME_MAX: usize = 64;

/// How the connection is kept secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    /// Not at all.
    None,
    /// The server must offer STARTTLS.
    Starttls,
    /// From the first byte.
    Tls,
}

/// Where mails go.
#[derive(Clone, Debug)]
pub struct Server {
    /// The name or address of the host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How the connection is kept secret.
    pub secrecy: Secrecy,
    /// Authorities that are trusted with its certificate beside the machine's own, as PEM.
    pub authorities: Option<Vec<u8>>,
    /// User and password, where it demands them.
    pub login: Option<(String, String)>,
    /// The address that mails come from.
    pub from: String,
    /// How long one mail may take.
    pub timeout: Duration,
}

/// Why mails could not be sent that way at all.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The address that mails come from is none.
    #[error("the address that mails come from is none: {0}")]
    From(AddressError),
    /// The authorities to trust are none.
    #[error("the file of authorities that vouch for the SMTP server holds no certificate in PEM")]
    Authorities,
    /// There is no TLS for that host.
    #[error("no secret connection can be made to the SMTP host: {0}")]
    Tls(lettre::transport::smtp::Error),
}

/// The way to an SMTP server.
pub struct Smtp {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Address,
    /// How long one mail may take.
    timeout: Duration,
}

impl Smtp {
    /// The way to a server. Nothing is connected yet.
    ///
    /// # Errors
    /// Settings that cannot work.
    pub fn new(server: &Server) -> Result<Self, Unusable> {
        let from: Address = server.from.parse().map_err(Unusable::From)?;
        let parameters = || parameters(server);
        let tls = match server.secrecy {
            Secrecy::None => Tls::None,
            Secrecy::Starttls => Tls::Required(parameters()?),
            Secrecy::Tls => Tls::Wrapper(parameters()?),
        };
        let mut builder =
            AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(server.host.clone())
                .port(server.port)
                .tls(tls)
                .hello_name(ClientId::Domain(from.domain().to_owned()))
                .timeout(Some(server.timeout));
        if let Some((user, password)) = server.login.clone() {
            builder = builder.credentials(Credentials::new(user, password));
        }
        Ok(Self { transport: builder.build(), from, timeout: server.timeout })
    }

    /// The address that mails come from.
    #[must_use]
    pub fn address(&self) -> &str {
        self.from.as_ref()
    }

    /// Makes one attempt at a mail.
    pub(super) async fn send(
        &self,
        letter: &OutgoingMessage,
        identity: &str,
        now: Instant,
    ) -> DeliveryOutcome {
        let mail = match self.mail(letter, identity, now) {
            Ok(mail) => mail,
            Err(reason) => return refused(&reason),
        };
        match tokio::time::timeout(self.timeout, self.transport.send(mail)).await {
            Err(_) => deferred("the SMTP server did not answer in time"),
            Ok(Ok(_)) => DeliveryOutcome::Taken,
            Ok(Err(error)) if error.is_permanent() => refused(&whole(&error)),
            // An address that this server cannot take will not become another. All else that our own side misses, such as
            // encryption or a way to log in, the server may offer again.
            Ok(Err(error)) if error.is_client() && !letter.to.is_ascii() => refused(&whole(&error)),
            Ok(Err(error)) => deferred(&whole(&error)),
        }
    }

    /// The mail, complete. Names in its headers are encoded, never copied.
    fn mail(
        &self,
        letter: &OutgoingMessage,
        identity: &str,
        now: Instant,
    ) -> Result<lettre::Message, String> {
        let to: Address = letter
            .to
            .parse()
            .map_err(|error| format!("mail cannot be sent to that address: {error}"))?;
        let name = crate::notify::words::short_line(&letter.from_name, NAME_MAX);
        let from = Mailbox::new((!name.is_empty()).then_some(name), self.from.clone());
        let mut builder = lettre::Message::builder()
            .from(from)
            .to(Mailbox::new(None, to))
            .subject(letter.subject.clone())
            .date(clock::system_time(now))
            .message_id(Some(format!("<{identity}@{}>", self.from.domain())))
            .raw_header(header("Auto-Submitted", "auto-generated"));
        if let Some(unsubscribe) = &letter.unsubscribe {
            builder = builder
                .raw_header(header("List-Unsubscribe", &format!("<{unsubscribe}>")))
                .raw_header(header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"));
        }
        let mut bodies = MultiPart::alternative()
            .singlepart(SinglePart::plain(letter.text.clone()))
            .singlepart(SinglePart::html(letter.html.clone()));
        if let Some(method) = letter.method {
            let kind = |method: &str| {
                ContentType::parse(&format!("text/calendar; charset=utf-8; method={method}"))
                    .map_err(|error| error.to_string())
            };
            if let [only] = &letter.calendars[..] {
                bodies = bodies.singlepart(
                    SinglePart::builder().header(kind(method.name())?).body(only.clone()),
                );
            }
            let mut whole = MultiPart::mixed().multipart(bodies);
            for calendar in &letter.calendars {
                let file = Attachment::new("invite.ics".to_owned());
                whole = whole.singlepart(file.body(calendar.clone(), kind(method.name())?));
            }
            return builder.multipart(whole).map_err(|error| error.to_string());
        }
        builder.multipart(bodies).map_err(|error| error.to_string())
    }
}

/// How the connection to a server is kept secret, and who vouches for it.
fn parameters(server: &Server) -> Result<TlsParameters, Unusable> {
    const FIRST: &[u8] = b"-----BEGIN CERTIFICATE-----";
    let mut builder = TlsParameters::builder(server.host.clone());
    if let Some(pem) = &server.authorities {
        if !pem.windows(FIRST.len()).any(|window| window == FIRST) {
            return Err(Unusable::Authorities);
        }
        builder = builder.add_root_certificate(Certificate::from_pem(pem).map_err(Unusable::Tls)?);
    }
    builder.build().map_err(Unusable::Tls)
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}
