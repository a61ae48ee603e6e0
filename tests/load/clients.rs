//! Clients that cost next to nothing, on a thread of their own: what is measured is the server, not who asks it.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use slotbook::domain::records::ids::VeventId;
use slotbook::domain::time::{Civil, CivilDay};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::server::CALENDARS;

/// What clients were told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) booked: Vec<VeventId>,
    pub(crate) booked_seconds: Vec<f64>,
    pub(crate) refused_seconds: Vec<f64>,
}

/// So many clients, who book again and again for so many seconds; what they were told.
pub(crate) async fn book(
    address: SocketAddr,
    clients: usize,
    next: &Arc<AtomicU64>,
    seconds: u64,
) -> Told {
    let (next, time) = (Arc::clone(next), Duration::from_secs(seconds));
    let asking = tokio::task::spawn_blocking(move || {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(crowd(address, clients, next, time))
    });
    asking.await.expect("no client panics")
}

async fn crowd(address: SocketAddr, clients: usize, next: Arc<AtomicU64>, time: Duration) -> Told {
    let mut connections = Vec::new();
    for _ in 0..clients {
        // One after another, each served once: a crowd at the door is another test's.
        let mut connection = Connection::to(address).await;
        assert_eq!(connection.ask(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await.status, 200);
        connections.push(connection);
    }
    let until = Instant::now() + time;
    let asking = connections
        .into_iter()
        .map(|connection| tokio::spawn(wish(connection, Arc::clone(&next), until)));
    let mut all = Told::default();
    for client in asking.collect::<Vec<_>>() {
        let told = client.await.expect("no panic");
        all.booked.extend(told.booked);
        all.booked_seconds.extend(told.booked_seconds);
        all.refused_seconds.extend(told.refused_seconds);
    }
    all
}

/// Books until the time has come, a moment's rest after each refusal: far less than the server asks for.
async fn wish(mut connection: Connection, next: Arc<AtomicU64>, until: Instant) -> Told {
    let mut chance = StdRng::seed_from_u64(next.fetch_add(1, Ordering::Relaxed));
    let mut told = Told::default();
    while Instant::now() < until {
        let request = request(next.fetch_add(1, Ordering::Relaxed));
        let began = Instant::now();
        let answer = connection.ask(&request).await;
        let seconds = began.elapsed().as_secs_f64();
        match answer.status {
            201 => {
                told.booked.push(answer.id());
                told.booked_seconds.push(seconds);
            }
            503 => {
                assert!(answer.retry_after, "a refusal says when to come again");
                assert!(answer.body.starts_with(br#"{"errors":[{"code":4,"#), "{answer:?}");
                told.refused_seconds.push(seconds);
                tokio::time::sleep(Duration::from_millis(chance.random_range(25..75))).await;
            }
            _ => panic!("{answer:?}"),
        }
    }
    told
}

/// A wish that no other meets.
fn request(number: u64) -> Vec<u8> {
    let midnight = CivilDay::from_ymd(2028, 1, 1).expect("a day").midnight();
    let at: Civil =
        midnight.plus_seconds(i64::try_from(number / CALENDARS).expect("small") * 1_800);
    let ((year, month, day), second) = (at.day().ymd(), at.second_of_day());
    let (hour, minute, calendar) = (second / 3_600, second / 60 % 60, number % CALENDARS + 1);
    let body = format!(
        r#"{{"appointment":{{"date":"{year}-{month:02}-{day:02} {hour:02}:{minute:02}:00","calendar_id":{calendar},"#
    ) + &format!(
        r#""intervention_ids":[1],"fiche":{{"lastname":"Client","email":"c{number}@example.org"}}}}}}"#
    );
    let mut request = Vec::with_capacity(512);
    write!(
        request,
        "POST /api/v1/groups/1/appointments?apikey=test-key HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("there is room in memory");
    request
}

/// A connection that is kept.
struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

/// As much of an answer as matters.
#[derive(Debug)]
struct Answer<'r> {
    status: u16,
    retry_after: bool,
    body: &'r [u8],
}

impl Connection {
    async fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("there is a place");
        stream.set_nodelay(true).expect("a socket");
        Self { stream, read: Vec::with_capacity(4_096) }
    }

    /// Sends a request and reads its answer to the end.
    async fn ask(&mut self, request: &[u8]) -> Answer<'_> {
        self.stream.write_all(request).await.expect("it is taken");
        self.read.clear();
        let (head, length) = loop {
            let bytes =
                self.stream.read_buf(&mut self.read).await.expect("an answer, whatever it is");
            assert!(bytes > 0, "the connection stays");
            let Some(end) = self.read.windows(4).position(|end| end == b"\r\n\r\n") else {
                continue;
            };
            let length = header(&self.read[..end], "content-length: ").expect("a length");
            let length: usize = length.parse().expect("a number");
            if self.read.len() >= end + 4 + length {
                break (end + 4, length);
            }
        };
        assert_eq!(self.read.len(), head + length, "nothing is told that was not asked");
        let text = str::from_utf8(&self.read[..head]).expect("a text");
        let status =
            text.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let retry_after = header(text.as_bytes(), "retry-after: ").is_some();
        Answer { status, retry_after, body: &self.read[head..] }
    }
}

/// The value of a header, whose name the server writes in small letters.
fn header<'h>(head: &'h [u8], name: &str) -> Option<&'h str> {
    str::from_utf8(head).ok()?.lines().find_map(|line| line.strip_prefix(name))
}

impl Answer<'_> {
    /// The id of the appointment that was made.
    fn id(&self) -> VeventId {
        let text = str::from_utf8(self.body).expect("a text");
        let digits =
            text.strip_prefix(r#"{"records":[{"id":"#).expect("a record begins with its id");
        let id = digits.split(',').next().and_then(|id| id.parse().ok()).and_then(VeventId::new);
        id.expect("an id")
    }
}
