//! A mail server on the loopback that takes everything.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use slotbook::notify::Gateways;
use slotbook::notify::smtp::{SmtpClient, SmtpServer, TlsMode};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

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
