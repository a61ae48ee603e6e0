//! The other side: an SMTP server and an SMS gateway on the loopback, in whatever mood a test puts them.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;
use slotbook::clock::{Clock as _, ManualClock};
use slotbook::domain::time::Instant;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// How a server meets the next connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Takes what comes.
    Takes,
    /// Is busy: 451, or 503.
    Busy,
    /// Never takes it: 550, or 422.
    Refuses,
    /// Says nothing until the other side gives up.
    Hangs,
    /// Goes away in the middle.
    Drops,
}

/// Something that was taken.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    /// A mail's bytes, or a text message's body.
    pub(crate) text: String,
    /// The recipient.
    pub(crate) to: String,
    /// A Message-ID or an idempotency key.
    pub(crate) identity: String,
    /// By the clock of the test.
    pub(crate) at: Instant,
}

/// What both servers share.
struct Desk {
    mood: Mutex<Box<dyn FnMut() -> Mood + Send>>,
    taken: Mutex<Vec<Taken>>,
    clock: Arc<ManualClock>,
}

/// Both servers, running until dropped.
pub(crate) struct Post {
    pub(crate) smtp: SocketAddr,
    pub(crate) gateway: SocketAddr,
    desk: Arc<Desk>,
    _runtime: Runtime,
}

impl Post {
    pub(crate) fn open(clock: &Arc<ManualClock>) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let desk = Arc::new(Desk {
            mood: Mutex::new(Box::new(|| Mood::Takes)),
            taken: Mutex::default(),
            clock: Arc::clone(clock),
        });
        let bind = || runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let (mails, texts) = (bind(), bind());
        let (smtp, gateway) = (mails.local_addr().expect("bound"), texts.local_addr().expect("bound"));
        let (for_mails, for_texts) = (Arc::clone(&desk), Arc::clone(&desk));
        runtime.spawn(async move {
            while let Ok((stream, _)) = mails.accept().await {
                let desk = Arc::clone(&for_mails);
                tokio::spawn(async move { converse(stream, &desk).await.unwrap_or_default() });
            }
        });
        runtime.spawn(async move {
            while let Ok((stream, _)) = texts.accept().await {
                let desk = Arc::clone(&for_texts);
                tokio::spawn(async move { receive(stream, &desk).await.unwrap_or_default() });
            }
        });
        Self { smtp, gateway, desk, _runtime: runtime }
    }

    /// From now on each connection meets this mood.
    pub(crate) fn is(&self, mood: Mood) {
        *self.desk.mood.lock().expect("nobody panicked") = Box::new(move || mood);
    }

    /// From now on every other connection meets something bad, drawn by a seed.
    pub(crate) fn is_moody(&self, seed: u64) {
        let mut draws = StdRng::seed_from_u64(seed);
        *self.desk.mood.lock().expect("nobody panicked") = Box::new(move || match draws.random_range(0..20_u32) {
            0..4 => Mood::Busy,
            4 => Mood::Refuses,
            5 => Mood::Hangs,
            6..10 => Mood::Drops,
            _ => Mood::Takes,
        });
    }

    pub(crate) fn taken(&self) -> Vec<Taken> {
        self.desk.taken.lock().expect("nobody panicked").clone()
    }
}

impl Desk {
    fn mood(&self) -> Mood {
        (self.mood.lock().expect("nobody panicked"))()
    }

    fn take(&self, text: String, to: String, identity: String) {
        let at = self.clock.now();
        self.taken.lock().expect("nobody panicked").push(Taken { text, to, identity, at });
    }
}

async fn never() {
    std::future::pending::<()>().await;
}

/// One SMTP session, as RFC 5321 has it.
async fn converse(stream: TcpStream, desk: &Desk) -> std::io::Result<()> {
    let mood = desk.mood();
    let mut stream = BufReader::new(stream);
    if mood == Mood::Hangs {
        never().await;
    }
    stream.write_all(b"220 test\r\n").await?;
    let (mut line, mut to) = (String::new(), String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let verb = line.get(..4).unwrap_or_default().to_ascii_uppercase();
        let answer: &[u8] = match verb.as_str() {
            "EHLO" => b"250-test\r\n250-SMTPUTF8\r\n250 8BITMIME\r\n",
            "RCPT" if mood == Mood::Refuses => b"550 nobody of that name\r\n",
            "RCPT" if mood == Mood::Busy => b"451 come again\r\n",
            "RCPT" => {
                to = line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
                b"250 ok\r\n"
            }
            "DATA" if mood == Mood::Drops => return Ok(()),
            "DATA" => {
                stream.write_all(b"354 go on\r\n").await?;
                let mut text = String::new();
                loop {
                    line.clear();
                    if stream.read_line(&mut line).await? == 0 {
                        return Ok(());
                    }
                    if line == ".\r\n" {
                        break;
                    }
                    text.push_str(line.strip_prefix('.').unwrap_or(&line));
                }
                let identity = text.lines().find_map(|line| line.strip_prefix("Message-ID: ")).unwrap_or_default();
                let identity = identity.to_owned();
                desk.take(text, to.clone(), identity);
                b"250 taken\r\n"
            }
            "QUIT" => {
                stream.write_all(b"221 bye\r\n").await?;
                return Ok(());
            }
            _ => b"250 ok\r\n",
        };
        stream.write_all(answer).await?;
    }
}

/// One POST, as RFC 9112 has it.
async fn receive(stream: TcpStream, desk: &Desk) -> std::io::Result<()> {
    let mood = desk.mood();
    let mut stream = BufReader::new(stream);
    let (mut length, mut identity, mut bearer) = (0, String::new(), String::new());
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let (name, value) = line.trim().split_once(": ").unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().expect("a number"),
            "idempotency-key" => identity = value.to_owned(),
            "authorization" => bearer = value.to_owned(),
            _ => {}
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let text = String::from_utf8(body).expect("JSON is UTF-8");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(bearer, "Bearer the-token");
    let status = match mood {
        Mood::Hangs => {
            never().await;
            return Ok(());
        }
        Mood::Drops => return Ok(()),
        Mood::Busy => "503 Busy",
        Mood::Refuses => "422 No",
        Mood::Takes => {
            desk.take(text, json["to"].as_str().expect("a number").to_owned(), identity);
            "200 OK"
        }
    };
    stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").as_bytes()).await
}
