//! Mails to an SMTP server; each mail uses a connection of its own. Reference 7.5.

use std::sync::Arc;
use std::time::Duration;

use lettre::address::AddressError;
use lettre::message::header::{ContentType, ContentTypeErr, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, AsyncSmtpTransport, Tokio1Executor};

use crate::clock;
use crate::domain::records::mail_domain::with_ascii_domain;
use crate::domain::state::delivery_step::DeliveryOutcome;
use crate::domain::time::Instant;
use crate::notify::calendar::ItipMethod;
use crate::notify::language::short_line;
use crate::notify::outcome::{deferred, error_chain, refused};
use crate::notify::outgoing_message::OutgoingMessage;
use crate::notify::simulated::{MailResult, MailTransport, SimulatedMailServer};

/// Maximum number of characters of the sender's display name.
const FROM_NAME_CHARS_MAX: usize = 64;

/// The reason why a mail is refused whose address has letters outside ASCII before the `@`.
const NO_UTF8: &str = "the SMTP server takes only ASCII letters before the @ of an address: it does not offer SMTPUTF8";

/// Encryption of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsMode {
    /// No encryption.
    None,
    /// TLS after STARTTLS, which the server must offer.
    Starttls,
    /// TLS from the first byte.
    Tls,
}

/// Options of an SMTP server.
#[derive(Clone, Debug)]
pub struct SmtpServer {
    /// Name or address of the host.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Encryption of the connection.
    pub tls_mode: TlsMode,
    /// Root certificates in PEM that are trusted besides those of the machine.
    pub root_certificates: Option<Vec<u8>>,
    /// User and password, if the server requires a login.
    pub login: Option<(String, String)>,
    /// Mail address of the sender.
    pub from: String,
    /// Maximum time for one mail.
    pub timeout: Duration,
}

/// Reason why the options of an SMTP server cannot work.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSmtpOptions {
    /// The sender's address is invalid.
    #[error("the sender's mail address is invalid: {0}; give another --mail-from")]
    From(AddressError),
    /// The root certificates are not in PEM.
    #[error("the file of root certificates for the SMTP server holds no certificate in PEM")]
    RootCertificates,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up for the SMTP server: {0}")]
    Tls(lettre::transport::smtp::Error),
}

/// Client of an SMTP server.
pub struct SmtpClient {
    transport: MailTransport,
    from: Address,
    /// Maximum time for one mail.
    timeout: Duration,
}

impl SmtpClient {
    /// Creates a client. It connects with the first mail.
    ///
    /// # Errors
    /// Options that cannot work.
    pub fn new(server: &SmtpServer) -> Result<Self, InvalidSmtpOptions> {
        let from = parse_address(&server.from).map_err(InvalidSmtpOptions::From)?;
        let tls = match server.tls_mode {
            TlsMode::None => Tls::None,
            TlsMode::Starttls => Tls::Required(build_tls_parameters(server)?),
            TlsMode::Tls => Tls::Wrapper(build_tls_parameters(server)?),
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
        let transport = MailTransport::Smtp(builder.build());
        Ok(Self { transport, from, timeout: server.timeout })
    }

    /// Creates the client of a simulated mail server.
    ///
    /// # Panics
    /// Never: the sender's address is valid.
    pub fn simulated(server: Arc<dyn SimulatedMailServer>, timeout: Duration) -> Self {
        let from = parse_address("shop@example.org").expect("a valid address");
        Self { transport: MailTransport::Simulated(server), from, timeout }
    }

    /// Returns the sender's mail address.
    pub fn from_address(&self) -> &str {
        self.from.as_ref()
    }

    /// Makes one attempt at a mail.
    pub(crate) async fn send(
        &self,
        mail: &OutgoingMessage,
        message_id: &str,
        now: Instant,
    ) -> DeliveryOutcome {
        let built = match self.build_message(mail, message_id, now) {
            Ok(built) => built,
            Err(reason) => return refused(&reason),
        };
        match tokio::time::timeout(self.timeout, self.transport.send(built)).await {
            Err(_) => deferred("the SMTP server did not answer in time"),
            Ok(MailResult::Simulated(outcome)) => outcome,
            Ok(MailResult::Smtp(Ok(_))) => DeliveryOutcome::Taken,
            Ok(MailResult::Smtp(Err(error))) if error.is_permanent() => {
                refused(&error_chain(&error))
            }
            // A retry changes neither the server nor the address. Other extensions that the server
            // lacks, as TLS or a login, it may offer at the next attempt.
            Ok(MailResult::Smtp(Err(error))) if lacks_utf8(&error) => refused(NO_UTF8),
            Ok(MailResult::Smtp(Err(error))) => deferred(&error_chain(&error)),
        }
    }

    /// Builds a mail. The library encodes names in headers.
    fn build_message(
        &self,
        mail: &OutgoingMessage,
        message_id: &str,
        now: Instant,
    ) -> Result<lettre::Message, String> {
        let to = match parse_address(&mail.to) {
            Ok(to) => to,
            Err(error) => return Err(format!("mail cannot be sent to that address: {error}")),
        };
        let from_name = short_line(&mail.from_name, FROM_NAME_CHARS_MAX);
        let from_name = if from_name.is_empty() { None } else { Some(from_name) };
        let mut builder = lettre::Message::builder()
            .from(Mailbox::new(from_name, self.from.clone()))
            .to(Mailbox::new(None, to))
            .subject(mail.subject.clone())
            .date(clock::system_time(now))
            .message_id(Some(format!("<{message_id}@{}>", self.from.domain())))
            .raw_header(header("Auto-Submitted", "auto-generated"));
        if let Some(url) = &mail.unsubscribe_url {
            builder = builder
                .raw_header(header("List-Unsubscribe", &format!("<{url}>")))
                .raw_header(header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"));
        }
        let body = build_body(mail).map_err(|error| error.to_string())?;
        builder.multipart(body).map_err(|error| error.to_string())
    }
}

/// Whether a mail can be addressed to an address.
pub(crate) fn is_mail_address(address: &str) -> bool {
    parse_address(address).is_ok()
}

/// Parses a mail address. Its domain becomes ASCII, which every mail server takes.
fn parse_address(address: &str) -> Result<Address, AddressError> {
    match with_ascii_domain(address) {
        Some(address) => address.parse(),
        None => Err(AddressError::InvalidDomain),
    }
}

/// Whether a mail failed because the server takes no letters outside ASCII in addresses. Texts of
/// mails are always encoded in ASCII.
fn lacks_utf8(error: &lettre::transport::smtp::Error) -> bool {
    error.is_client() && error_chain(error).contains("non-ascii chars")
}

/// Builds the body: text and HTML as alternatives, and the iCalendar objects as attachments. A
/// single object is also an alternative, which mail programs show as an invitation.
fn build_body(mail: &OutgoingMessage) -> Result<MultiPart, ContentTypeErr> {
    let mut alternatives = MultiPart::alternative()
        .singlepart(SinglePart::plain(mail.text.clone()))
        .singlepart(SinglePart::html(mail.html.clone()));
    let Some(method) = mail.method else { return Ok(alternatives) };
    if let [only] = &mail.calendars[..] {
        let part = SinglePart::builder().header(calendar_type(method)?).body(only.clone());
        alternatives = alternatives.singlepart(part);
    }
    let mut body = MultiPart::mixed().multipart(alternatives);
    for calendar in &mail.calendars {
        let file = Attachment::new("invite.ics".to_owned());
        body = body.singlepart(file.body(calendar.clone(), calendar_type(method)?));
    }
    Ok(body)
}

fn calendar_type(method: ItipMethod) -> Result<ContentType, ContentTypeErr> {
    ContentType::parse(&format!("text/calendar; charset=utf-8; method={}", method.name()))
}

fn build_tls_parameters(server: &SmtpServer) -> Result<TlsParameters, InvalidSmtpOptions> {
    const PEM_HEADER: &[u8] = b"-----BEGIN CERTIFICATE-----";
    let mut builder = TlsParameters::builder(server.host.clone());
    if let Some(pem) = &server.root_certificates {
        // The library accepts a file without any certificate.
        if !pem.windows(PEM_HEADER.len()).any(|window| window == PEM_HEADER) {
            return Err(InvalidSmtpOptions::RootCertificates);
        }
        let certificate = Certificate::from_pem(pem).map_err(InvalidSmtpOptions::Tls)?;
        builder = builder.add_root_certificate(certificate);
    }
    builder.build().map_err(InvalidSmtpOptions::Tls)
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}
