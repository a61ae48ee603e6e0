//! A practice with a mail server and an SMS gateway on the loopback, which take everything.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use slotbook::domain::directory::confirmation_code::ConfirmationCode;
use slotbook::domain::directory::link_secret::LinkSecret;
use slotbook::domain::records::hold::HoldToken;
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::state::recipient_quota::MessageQuota;
use slotbook::engine::MessagingOptions;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::http::BookingLimits;
use slotbook::notify::Gateways;
use slotbook::notify::sms::SmsGateway;
use slotbook::notify::smtp::{SmtpClient, SmtpServer, TlsMode};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::fixture::Practice;

/// The secret of codes and links.
pub(crate) fn secret() -> LinkSecret {
    LinkSecret::new([3; 32])
}

/// Returns the code that was sent for the token of a booking.
pub(crate) fn code_of(token: &Value) -> String {
    let token = token.as_str().expect("a token");
    let hold = HoldToken::new(token).expect("a token").id();
    let group = GroupId::new(1).expect("an id");
    ConfirmationCode::derive(&secret(), group, hold).as_str().to_owned()
}

/// A practice with limits that sends text messages, and mails if there is a mail server.
pub(crate) async fn mailing_practice(
    change: impl FnOnce(&mut Value),
    limits: BookingLimits,
    by_key_daily_max: usize,
    mailbox: Option<&Mailbox>,
) -> Practice {
    let mut gateways = Gateways::unconfigured("https://practice.example");
    gateways.mail = mailbox.map(Mailbox::client);
    gateways.sms = Some(open_sms_gateway().await);
    gateways.link_secret = Some(secret());
    let gateways = Arc::new(gateways);
    let practice = Practice::with(change, |server| {
        server.limit_bookings(limits).with_gateways(Arc::clone(&gateways))
    })
    .await;
    let sending = MessagingOptions {
        gateways,
        quota: MessageQuota { recipient_daily_max: 20, by_key_daily_max },
        randomness: Randomness::seeded([9; 32]),
        transport: Transport::direct(),
        poll_interval_max: Duration::from_millis(5),
        concurrent_attempts_max: 4,
    };
    practice.engine.send_messages(sending).await;
    practice
}

/// Opens an SMS gateway that accepts every message.
async fn open_sms_gateway() -> SmsGateway {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that goes away early is none of the test's business.
            tokio::spawn(async move { drop(accept_text(stream).await) });
        }
    });
    SmsGateway::new(&url, "the-token", Duration::from_secs(10)).expect("a legal URL")
}

async fn accept_text(stream: TcpStream) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().expect("a number");
        }
        if line.is_empty() {
            break;
        }
    }
    stream.read_exact(&mut vec![0; length]).await?;
    let answer = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    stream.write_all(answer).await
}

/// A mail that was taken.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    pub(crate) to: String,
    /// Its lines, decoded from quoted-printable as far as soft line ends go.
    pub(crate) text: String,
}

/// The server and its mails.
pub(crate) struct Mailbox {
    address: SocketAddr,
    mails: Arc<Mutex<Vec<Mail>>>,
}

impl Mailbox {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let mails: Arc<Mutex<Vec<Mail>>> = Arc::default();
        let taken = Arc::clone(&mails);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let taken = Arc::clone(&taken);
                // A client that goes away early is none of the test's business.
                tokio::spawn(async move { drop(converse(stream, &taken).await) });
            }
        });
        Self { address, mails }
    }

    /// A client of this server.
    pub(crate) fn client(&self) -> SmtpClient {
        SmtpClient::new(&SmtpServer {
            host: self.address.ip().to_string(),
            port: self.address.port(),
            tls_mode: TlsMode::None,
            root_certificates: None,
            login: None,
            from: "rdv@practice.example".to_owned(),
            timeout: Duration::from_secs(10),
        })
        .expect("legal options")
    }

    /// Gateways of which it is the mail server.
    pub(crate) fn gateways(&self) -> Arc<Gateways> {
        Arc::new(Gateways { mail: Some(self.client()), ..Gateways::unconfigured("") })
    }

    pub(crate) fn mails(&self) -> Vec<Mail> {
        self.mails.lock().expect("no panic").clone()
    }
}

async fn converse(stream: TcpStream, mails: &Mutex<Vec<Mail>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 mailbox\r\n").await?;
    let mut to = String::new();
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let verb = line.trim_end().to_ascii_uppercase();
        if verb.starts_with("RCPT TO:") {
            to = line["RCPT TO:".len()..].trim().trim_matches(['<', '>']).to_owned();
        }
        if verb == "DATA" {
            stream.write_all(b"354 go on\r\n").await?;
            let mut text = String::new();
            loop {
                line.clear();
                stream.read_line(&mut line).await?;
                if line == ".\r\n" {
                    break;
                }
                text.push_str(&line);
            }
            let text = text.replace("=\r\n", "");
            mails.lock().expect("no panic").push(Mail { to: to.clone(), text });
        }
        if verb == "QUIT" {
            return stream.write_all(b"221 bye\r\n").await;
        }
        stream.write_all(b"250 ok\r\n").await?;
    }
}
