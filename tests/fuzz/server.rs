//! The demonstration behind a connection in memory, with a disk that forgets.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use slotbook::clock::ManualClock;
use slotbook::domain::directory::Directory;
use slotbook::domain::directory::apikeys::{Apikey, ApikeyHolder};
use slotbook::domain::records::text::Text;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::Instant;
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::{Engine, EngineParts};
use slotbook::http::{BookingLimits, HttpService, ServedStore, Server, serve_stream};
use slotbook::notify::Gateways;
use slotbook::notify::smtp::{SmtpClient, SmtpServer, TlsMode};
use slotbook::password::hash_password;
use slotbook::store::{BatchNumber, Checkpoint, JournalRecord, Log, StoreError};
use slotbook::transfer::demo::demo_content;
use slotbook::transfer::{StoreContent, export};
use slotbook::web;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex, split};
use tokio::runtime::Runtime;

/// Covers group 1.
pub(crate) const KEY: &str = "demo-key-town-practice";
/// A key of the operator.
pub(crate) const OPERATOR_KEY: &str = "key-of-the-operator";
/// The professional `anna@example.org` with her password.
pub(crate) const PROFESSIONAL: &str = "YW5uYUBleGFtcGxlLm9yZzpkZW1vLXBhc3N3b3Jk";
/// The account `louise.thomas@example.org` with its password.
pub(crate) const ACCOUNT: &str = "bG91aXNlLnRob21hc0BleGFtcGxlLm9yZzpkZW1vLXBhc3N3b3Jk";
/// Requests after which a new server begins, so that what they wrote does not pile up.
const REQUESTS_MAX: u32 = 500;
/// Bytes on the way in each direction.
const STREAM_BYTES: usize = 1 << 16;

/// Monday 1 December 2025, 8:00 in UTC.
const NOW: Instant = Instant(1_764_576_000);

/// A server that begins anew after some requests.
pub(crate) struct Shop {
    content: StoreContent,
    /// The data directory, which holds the list of erased clients alone.
    data: tempfile::TempDir,
    served: Option<Served>,
    /// Exchanges so far.
    requests: u32,
}

struct Served {
    runtime: Runtime,
    service: HttpService,
    /// The cookie of a professional who is logged in.
    login: String,
    /// The sealed part of a link of a site to the booking pages.
    preset: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
}

/// A log that keeps nothing.
struct Forgotten(BatchNumber);

impl Log for Forgotten {
    fn append(&mut self, _: &[JournalRecord]) -> Result<BatchNumber, StoreError> {
        self.0 = self.0.next();
        Ok(self.0)
    }

    fn sync_watermark(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<Checkpoint, StoreError> {
        Ok(Checkpoint { last: self.0, epoch: 0 })
    }

    fn close(self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Shop {
    pub(crate) fn new() -> Self {
        let mut content = demo_content(NOW, &|sha1| hash_password(sha1)).expect("it is legal");
        let apikey = Apikey {
            label: Text::default(),
            groups: None,
            holder: ApikeyHolder::Operator,
            origins: Vec::new(),
            allows_any_origin: true,
            needs_contact: false,
        };
        content.directory.apikeys.insert(Sha256::digest(OPERATOR_KEY).into(), apikey);
        let data = tempfile::tempdir().expect("a directory");
        Self { content, data, served: None, requests: 0 }
    }

    /// Returns the server, whose start counts for no input.
    fn served(&mut self) -> &Served {
        allocation_counter::opt_out(|| {
            if self.served.is_none() {
                self.served = Some(Served::start(&self.content, self.data.path()));
            }
        });
        self.served.as_ref().expect("it was started")
    }

    /// Sends bytes over one connection and asserts that no answer is a fault of the server.
    pub(crate) fn exchange(&mut self, sent: &[u8]) -> Vec<Answer> {
        self.requests += 1;
        if self.requests.is_multiple_of(REQUESTS_MAX) {
            self.served = None;
        }
        // No limit of a source is met: each request has its own.
        let peer = SocketAddr::new(IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + self.requests)), 1);
        let received = self.served().exchange(peer, sent);
        let answers = answers_in(&received);
        for answer in &answers {
            assert!(answer.status < 500, "a fault of the server: {}", answer.head);
        }
        // Later inputs need the login, too.
        if answers.iter().any(|answer| answer.head.contains("_practice=; Max-Age=0")) {
            self.served = None;
        }
        answers
    }

    /// Replaces the marks of what no corpus can hold by those of this server.
    pub(crate) fn fill_in(&mut self, text: &[u8]) -> Vec<u8> {
        let served = self.served();
        let text = replace(text, b"{login}", served.login.as_bytes());
        replace(&text, b"{preset}", served.preset.as_bytes())
    }
}

fn replace(text: &[u8], mark: &[u8], by: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.windows(mark.len()).position(|window| window == mark) {
        out.extend_from_slice(&rest[..place]);
        out.extend_from_slice(by);
        rest = &rest[place + mark.len()..];
    }
    out.extend_from_slice(rest);
    out
}

fn gateways() -> Gateways {
    let mail = SmtpClient::new(&SmtpServer {
        host: "127.0.0.1".to_owned(),
        port: 9,
        tls_mode: TlsMode::None,
        root_certificates: None,
        login: None,
        from: "slotbook@localhost".to_owned(),
        timeout: Duration::from_secs(1),
    });
    Gateways { mail: Some(mail.expect("legal options")), ..Gateways::unconfigured("") }
}

impl Served {
    fn start(content: &StoreContent, data: &std::path::Path) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("threads and descriptors");
        let parts = EngineParts {
            directory: content.directory.clone(),
            group_states: content.group_states.iter().cloned().map(Arc::new).collect(),
            clock: Arc::new(ManualClock::at(NOW)),
            randomness: Randomness::seeded([7; 32]),
            transport: Transport::direct(),
            admission_limits: AdmissionLimits::default(),
            decision_timeout: Duration::from_secs(10),
        };
        let (engine, journal) = runtime.block_on(Engine::start(parts, Forgotten(BatchNumber(0))));
        std::thread::spawn(move || journal.run());
        let write_document =
            |directory: &Directory, states: &[Arc<GroupState>], out: &mut dyn Write| {
                export::write_document(directory, states, out)
            };
        let store =
            ServedStore { data: data.to_owned(), shared: None, reserve_mib: 0, write_document };
        let server = Server::new(engine, 2)
            .limit_bookings(BookingLimits::NONE)
            .with_store(store)
            .with_gateways(Arc::new(gateways()));
        let service = runtime.block_on(async { web::service(server) });
        let mut served = Self { runtime, service, login: String::new(), preset: String::new() };
        served.log_in();
        served
    }

    /// Logs the professional in, and follows a link of a site.
    fn log_in(&mut self) {
        let peer = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
        let form = "email=anna%40example.org&password=demo-password";
        let login = format!(
            "POST /login HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\nContent-Length: {}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\n\r\n{form}",
            form.len()
        );
        let answer = answers_in(&self.exchange(peer, login.as_bytes())).pop().expect("an answer");
        let cookie = header(&answer, "set-cookie").expect("a login");
        self.login = cookie.split(';').next().expect("a pair").to_owned();
        let link = "GET /b/cabinet-de-sante-des-tilleuls?intervention_ids[]=1&fiche[email]=a@b.fr\
             &websource=a&freeze=1 HTTP/1.1\r\nHost: a\r\n\r\n";
        let answer = answers_in(&self.exchange(peer, link.as_bytes())).pop().expect("an answer");
        let location = header(&answer, "location").expect("a link of a site leads on");
        let (_, preset) = location.split_once("p=").expect("its details are sealed");
        self.preset = preset.split('&').next().expect("a part").to_owned();
    }

    /// Sends bytes over a connection, ends the sending, and returns all that comes. A stream of events is left after its
    /// first one, as if it had ended there.
    fn exchange(&self, peer: SocketAddr, sent: &[u8]) -> Vec<u8> {
        let (theirs, client) = duplex(STREAM_BYTES);
        let service = self.service.clone();
        self.runtime.block_on(async {
            let serving = tokio::spawn(serve_stream(theirs, peer, service));
            let (mut read, mut write) = split(client);
            let send = async {
                // The server may close before it has read all.
                drop(write.write_all(sent).await);
                drop(write.shutdown().await);
            };
            let mut received = Vec::new();
            let receive = async {
                while read.read_buf(&mut received).await.expect("a stream in memory does not fail")
                    > 0
                {
                    if is_stream(&received) {
                        received.extend_from_slice(b"0\r\n\r\n");
                        return false;
                    }
                }
                true
            };
            let ((), has_ended) = tokio::join!(send, receive);
            if has_ended {
                serving.await.expect("a connection does not panic");
            } else {
                serving.abort();
            }
            received
        })
    }
}

/// Whether a connection has the first event of a stream last.
fn is_stream(received: &[u8]) -> bool {
    let has = |part: &[u8]| received.windows(part.len()).any(|window| window == part);
    received.ends_with(b"\n\n\r\n") && has(b"\nid: ") && has(b"content-type: text/event-stream")
}

/// Returns the value of a header.
pub(crate) fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.head.lines().find_map(|line| {
        let (found, value) = line.split_once(": ")?;
        found.eq_ignore_ascii_case(name).then_some(value)
    })
}

/// Splits what a server sent into answers.
///
/// # Panics
/// Panics if it is not made of answers.
fn answers_in(mut rest: &[u8]) -> Vec<Answer> {
    let mut answers = Vec::new();
    while !rest.is_empty() {
        let end = rest.windows(4).position(|window| window == b"\r\n\r\n").expect("a whole head");
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 4..];
        let status = head.strip_prefix("HTTP/1.1 ").or_else(|| head.strip_prefix("HTTP/1.0 "));
        let status = status.and_then(|line| line.get(..3)?.parse().ok()).expect("a status");
        let answer = Answer { status, head };
        let is_end = rest.is_empty() || rest.starts_with(b"HTTP/1.");
        if header(&answer, "transfer-encoding").is_some_and(|coding| coding == "chunked") {
            if !is_end {
                rest = after_chunks(rest);
            }
        } else if let Some(length) = header(&answer, "content-length") {
            let length: usize = length.parse().expect("a length");
            // The answer to HEAD has no body.
            if !is_end {
                rest = &rest[length.min(rest.len())..];
            }
        } else if !is_end && !(100..200).contains(&status) {
            // The body ends with the connection.
            rest = &[];
        }
        answers.push(answer);
    }
    answers
}

/// Returns the bytes after a chunked body.
fn after_chunks(mut rest: &[u8]) -> &[u8] {
    loop {
        let Some(end) = rest.windows(2).position(|window| window == b"\r\n") else { return &[] };
        let digits = std::str::from_utf8(&rest[..end]).expect("a size");
        let size = usize::from_str_radix(digits.trim(), 16).expect("a size");
        rest = rest.get(end + 2 + size + 2..).unwrap_or_default();
        if size == 0 {
            return rest;
        }
    }
}
