//! The other side: an SMTP server and an SMS gateway on the loopback, in whatever mood a test puts them.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant as Stopwatch;

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
    /// Of the connection it came by.
    pub(crate) life: u64,
}

/// An attempt, whatever it met.
#[derive(Clone, Debug)]
pub(crate) struct Met {
    pub(crate) to: String,
    pub(crate) mood: Mood,
    /// When its connection was accepted.
    pub(crate) begun: Stopwatch,
    /// In which life of the sender.
    pub(crate) life: u64,
}

/// A connection.
#[derive(Clone, Copy)]
struct Caller {
    begun: Stopwatch,
    life: u64,
}

type Planning = dyn Fn(&str) -> VecDeque<Mood> + Send;

/// The moods that the attempts to reach each recipient meet, one after another; the last stays.
struct Plan {
    of: Box<Planning>,
    /// What is left for those who have been tried.
    left: BTreeMap<String, VecDeque<Mood>>,
}

/// What both servers share.
struct Desk {
    mood: Mutex<Box<dyn FnMut() -> Mood + Send>>,
    /// Where there is a plan, it decides once the recipient is known, in place of the mood.
    plan: Mutex<Option<Plan>>,
    taken: Mutex<Vec<Taken>>,
    met: Mutex<Vec<Met>>,
    drops: AtomicU64,
    life: AtomicU64,
    /// Whether addresses outside ASCII are taken.
    offers_utf8: AtomicBool,
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
            plan: Mutex::default(),
            taken: Mutex::default(),
            met: Mutex::default(),
            drops: AtomicU64::new(0),
            life: AtomicU64::new(0),
            offers_utf8: AtomicBool::new(true),
            clock: Arc::clone(clock),
        });
        let bind = || runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let (mails, texts) = (bind(), bind());
        let (smtp, gateway) =
            (mails.local_addr().expect("bound"), texts.local_addr().expect("bound"));
        let (for_mails, for_texts) = (Arc::clone(&desk), Arc::clone(&desk));
        runtime.spawn(async move {
            while let Ok((stream, _)) = mails.accept().await {
                let (desk, caller) = (Arc::clone(&for_mails), for_mails.caller());
                tokio::spawn(
                    async move { converse(stream, &desk, caller).await.unwrap_or_default() },
                );
            }
        });
        runtime.spawn(async move {
            while let Ok((stream, _)) = texts.accept().await {
                let (desk, caller) = (Arc::clone(&for_texts), for_texts.caller());
                tokio::spawn(
                    async move { receive(stream, &desk, caller).await.unwrap_or_default() },
                );
            }
        });
        Self { smtp, gateway, desk, _runtime: runtime }
    }

    /// From now on each connection meets this mood.
    pub(crate) fn is(&self, mood: Mood) {
        *self.desk.mood.lock().expect("nobody panicked") = Box::new(move || mood);
    }

    /// From now on the SMTP server offers no SMTPUTF8.
    pub(crate) fn takes_only_ascii(&self) {
        self.desk.offers_utf8.store(false, Ordering::SeqCst);
    }

    /// From now on every other connection meets something bad, drawn by a seed.
    pub(crate) fn is_moody(&self, seed: u64) {
        let mut draws = StdRng::seed_from_u64(seed);
        *self.desk.mood.lock().expect("nobody panicked") =
            Box::new(move || match draws.random_range(0..20_u32) {
                0..4 => Mood::Busy,
                4 => Mood::Refuses,
                5 => Mood::Hangs,
                6..10 => Mood::Drops,
                _ => Mood::Takes,
            });
    }

    /// From now on each recipient's attempts meet what is planned for that recipient.
    pub(crate) fn goes_by(&self, plan: impl Fn(&str) -> VecDeque<Mood> + Send + 'static) {
        *self.desk.plan.lock().expect("nobody panicked") =
            Some(Plan { of: Box::new(plan), left: BTreeMap::new() });
    }

    /// A sender has died, and another begins: every connection of the first has been accepted before this returns.
    pub(crate) fn begins_another_life(&self) {
        self.accepts_all();
        self.desk.life.fetch_add(1, Ordering::SeqCst);
    }

    /// A sender has died, and nothing of what it sent is to count.
    pub(crate) fn forgets(&self) {
        self.accepts_all();
        self.desk.taken.lock().expect("nobody panicked").clear();
        self.desk.met.lock().expect("nobody panicked").clear();
        if let Some(plan) = self.desk.plan.lock().expect("nobody panicked").as_mut() {
            plan.left.clear();
        }
    }

    fn accepts_all(&self) {
        for (address, word) in [(self.smtp, "QUIT\r\n"), (self.gateway, "\r\n")] {
            let mut probe = std::net::TcpStream::connect(address).expect("it is there");
            probe.write_all(word.as_bytes()).expect("it is sent");
            let mut answer = Vec::new();
            // Whatever is said or not: connections are accepted in the order they came.
            drop(probe.read_to_end(&mut answer));
        }
    }

    pub(crate) fn taken(&self) -> Vec<Taken> {
        self.desk.taken.lock().expect("nobody panicked").clone()
    }

    /// How many were taken.
    pub(crate) fn count(&self) -> usize {
        self.desk.taken.lock().expect("nobody panicked").len()
    }

    /// Every attempt that came as far as to name its recipient.
    pub(crate) fn met(&self) -> Vec<Met> {
        self.desk.met.lock().expect("nobody panicked").clone()
    }
}

impl Desk {
    fn mood(&self) -> Mood {
        (self.mood.lock().expect("nobody panicked"))()
    }

    fn caller(&self) -> Caller {
        Caller { begun: Stopwatch::now(), life: self.life.load(Ordering::SeqCst) }
    }

    /// What an attempt to reach a recipient meets, where that is planned; otherwise what the connection met.
    fn meets(&self, to: &str, mood: Mood, caller: Caller) -> Mood {
        let mut plan = self.plan.lock().expect("nobody panicked");
        let mood = match plan.as_mut() {
            None => mood,
            Some(Plan { of, left }) => {
                let left = left.entry(to.to_owned()).or_insert_with(|| of(to));
                if left.len() > 1 { left.pop_front() } else { left.front().copied() }
                    .expect("a plan ends with a mood")
            }
        };
        let Caller { begun, life } = caller;
        self.met.lock().expect("nobody panicked").push(Met {
            to: to.to_owned(),
            mood,
            begun,
            life,
        });
        mood
    }

    fn take(&self, text: String, to: String, identity: String, caller: Caller) {
        let (at, life) = (self.clock.now(), caller.life);
        self.taken.lock().expect("nobody panicked").push(Taken { text, to, identity, at, life });
    }
}

/// Says nothing until the other side has gone.
async fn never(stream: &mut BufReader<TcpStream>) -> std::io::Result<()> {
    while stream.read(&mut [0; 64]).await? > 0 {}
    Ok(())
}

/// One SMTP session, as RFC 5321 has it.
async fn converse(stream: TcpStream, desk: &Desk, caller: Caller) -> std::io::Result<()> {
    let mut mood = desk.mood();
    let mut stream = BufReader::new(stream);
    if mood == Mood::Hangs {
        return never(&mut stream).await;
    }
    // A connection is dropped at the recipient, at the beginning of the mail, or within it.
    let mut place = 1;
    stream.write_all(b"220 test\r\n").await?;
    let (mut line, mut to) = (String::new(), String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let verb = line.get(..4).unwrap_or_default().to_ascii_uppercase();
        if verb == "RCPT" {
            to = line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
            let met = desk.meets(&to, mood, caller);
            if met != mood {
                place = desk.drops.fetch_add(1, Ordering::SeqCst) % 3;
            }
            mood = met;
        }
        let answer: &[u8] = match verb.as_str() {
            "EHLO" if !desk.offers_utf8.load(Ordering::SeqCst) => b"250-test\r\n250 8BITMIME\r\n",
            "EHLO" => b"250-test\r\n250-SMTPUTF8\r\n250 8BITMIME\r\n",
            "RCPT" if mood == Mood::Refuses => b"550 nobody of that name\r\n",
            "RCPT" if mood == Mood::Busy => b"451 come again\r\n",
            "RCPT" if mood == Mood::Hangs => return never(&mut stream).await,
            "RCPT" if mood == Mood::Drops && place == 0 => return Ok(()),
            "RCPT" => b"250 ok\r\n",
            "DATA" if mood == Mood::Drops && place == 1 => return Ok(()),
            "DATA" => {
                stream.write_all(b"354 go on\r\n").await?;
                let mut text = String::new();
                loop {
                    line.clear();
                    if stream.read_line(&mut line).await? == 0 || mood == Mood::Drops {
                        return Ok(());
                    }
                    if line == ".\r\n" {
                        break;
                    }
                    text.push_str(line.strip_prefix('.').unwrap_or(&line));
                }
                let identity = text
                    .lines()
                    .find_map(|line| line.strip_prefix("Message-ID: "))
                    .unwrap_or_default();
                let identity = identity.to_owned();
                desk.take(text, to.clone(), identity, caller);
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
async fn receive(stream: TcpStream, desk: &Desk, caller: Caller) -> std::io::Result<()> {
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
    if length == 0 {
        return Ok(());
    }
    let text = String::from_utf8(body).expect("JSON is UTF-8");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(bearer, "Bearer the-token");
    let to = json["to"].as_str().expect("a number").to_owned();
    let status = match desk.meets(&to, desk.mood(), caller) {
        Mood::Hangs => return never(&mut stream).await,
        Mood::Drops => return Ok(()),
        Mood::Busy => "503 Busy",
        Mood::Refuses => "422 No",
        Mood::Takes => {
            desk.take(text, to, identity, caller);
            "200 OK"
        }
    };
    stream
        .write_all(
            format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        )
        .await
}
