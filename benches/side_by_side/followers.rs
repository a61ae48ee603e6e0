//! What it costs a booking that programs follow the changes of its group: by streams, one of which
//! may not be read, and by a webhook whose receiver does not answer. Reference 18.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

use crate::contenders::{Contender, Context, Load, Slotbook, median, median_result};
use crate::data::{APIKEY, APPOINTMENTS_A_DAY, PASSWORD, administrator_email, first_day};
use crate::parameters::{FollowParameters, LoadResult, Shape, Work};
use crate::processes::{Process, role_command};
use crate::report::{Row, Table, grouped};

/// Connections of the bookings.
const CONNECTIONS: u64 = 64;
/// Streams of one login, of which the server has a limit.
const STREAMS_A_LOGIN: u64 = 16;
/// Bytes that wait for a reader that reads nothing, in its own socket.
const STUCK_BUFFER: u32 = 4_096;
/// Part of the rate with no followers at which bookings come in the open loop.
const OPEN_LOOP_PART: f64 = 0.5;

/// What follows the group.
#[derive(Clone, Copy)]
enum Followers {
    Streams(u64),
    /// A stream whose reader reads its beginning alone.
    StuckReader,
    /// A webhook whose receiver takes connections and never answers.
    StuckReceiver,
}

/// Followers under way, which go at [`Following::end`].
enum Following {
    Streams(Process),
    Webhook { receiver: TcpListener, address: String, path: String },
}

impl Followers {
    fn name(self) -> String {
        match self {
            Self::Streams(1) => "1 stream".to_owned(),
            Self::Streams(count) => format!("{} streams", grouped(count)),
            Self::StuckReader => "a stream that is not read".to_owned(),
            Self::StuckReceiver => "a webhook without an answer".to_owned(),
        }
    }

    /// Has them follow the first group.
    fn begin(self, address: &str) -> Following {
        let address = address.to_owned();
        let (streams, reads) = match self {
            Self::Streams(streams) => (streams, true),
            Self::StuckReader => (1, false),
            Self::StuckReceiver => {
                let receiver = TcpListener::bind("127.0.0.1:0").expect("a free port");
                let own = receiver.local_addr().expect("it is bound");
                let body = format!(r#"{{"url":"http://{own}/"}}"#);
                let made = ask(&address, "POST", "webhooks", &body);
                let id: u64 = made
                    .split_once(r#""id":"#)
                    .and_then(|(_, rest)| rest.split_once(',')?.0.parse().ok())
                    .unwrap_or_else(|| panic!("a webhook is made: {made}"));
                return Following::Webhook { receiver, address, path: format!("webhooks/{id}") };
            }
        };
        let parameters = FollowParameters { address, streams, reads };
        let text = serde_json::to_string(&parameters).expect("parameters are plain");
        let (process, line) = Process::start(&mut role_command("role=follow", &text));
        assert_eq!(line, "following\n");
        Following::Streams(process)
    }
}

impl Following {
    /// Ends it.
    fn end(self) {
        match self {
            Self::Streams(process) => drop(process),
            Self::Webhook { receiver, address, path } => {
                ask(&address, "DELETE", &path, "");
                drop(receiver);
            }
        }
    }
}

/// Bookings in turn without and with each kind of followers, in pairs.
pub(crate) fn followers(context: &Context, table: &mut Table) {
    let options = &context.options;
    let kinds = [
        Followers::Streams(1),
        Followers::Streams(options.choose(32, 1_024)),
        Followers::StuckReader,
        Followers::StuckReceiver,
    ];
    let shape = Shape {
        groups: 1,
        calendars: options.choose(100, 1_000),
        open_minutes: 1_440,
        appointments: 0,
        appointments_a_day: APPOINTMENTS_A_DAY,
        first_day: first_day(),
    };
    let folder = tempfile::tempdir_in(context.folder.path()).expect("the folder can be written");
    let administrators = options.choose(2, 64);
    let data = Slotbook::import_with(folder.path(), "followers", &shape, administrators);
    // All rounds book in one group, which has room for them.
    let options_of_server = ["--webhook-allow", "127.0.0.0/8", "--group-mib", "0"];
    let server = Slotbook::serve_with(&data, &options_of_server);
    let address = server.address.clone();
    let mut contender = Contender::from_slotbook(server, folder);
    let load = Load { work: Work::Bookings, connections: CONNECTIONS, requests_max: u64::MAX };
    for kind in kinds {
        let mut rate = None;
        for way in ["as fast as they are answered", "at half of that rate"] {
            let (mut without, mut with) = (Vec::new(), Vec::new());
            for round in 0..options.rounds {
                without.push(contender.run_load(options, shape, &load, rate, round));
                let following = kind.begin(&address);
                with.push(contender.run_load(options, shape, &load, rate, round));
                following.end();
            }
            let workload = format!("followers, {}, bookings {way}", kind.name());
            add_rows(table, &workload, &without, &with);
            rate = Some(median_result(&without).rate * OPEN_LOOP_PART);
        }
    }
}

fn add_rows(table: &mut Table, workload: &str, without: &[LoadResult], with: &[LoadResult]) {
    let pairs = |figure: &dyn Fn(&LoadResult) -> f64| {
        median(
            with.iter()
                .zip(without)
                .map(|(with, without)| figure(with) / figure(without))
                .collect(),
        )
    };
    let processor = pairs(&|result| result.processor_us);
    let p99 = pairs(&|result| result.bookings.p99);
    let compared =
        format!("pairs, medians: processor time {processor:.2}×, 99th percentile {p99:.2}×");
    for (contender, rounds, comparison) in
        [("slotbook alone", without, String::new()), ("slotbook, followed", with, compared)]
    {
        let result = median_result(rounds);
        table.add(Row {
            workload: workload.to_owned(),
            contender: contender.to_owned(),
            rate: Some(result.rate),
            latencies: Some(result.bookings),
            processor_us: Some(result.processor_us),
            comparison,
            resident: None,
            bytes_each: None,
        });
    }
}

/// The head of a request of an administrator about the first group.
fn head(method: &str, path: &str, number: u64, length: usize) -> String {
    let login = STANDARD.encode(format!("{}:{PASSWORD}", administrator_email(number)));
    format!(
        "{method} /api/v1/groups/1/{path}?apikey={APIKEY} HTTP/1.1\r\nHost: bench\r\n\
         Authorization: Basic {login}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n"
    )
}

/// Sends a request of the first administrator; returns the answer.
fn ask(address: &str, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let head = head(method, path, 1, body.len());
    write!(stream, "{head}Connection: close\r\n\r\n{body}").expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer is text");
    assert!(answer.starts_with("HTTP/1.1 20"), "{method} {path}: {answer}");
    answer
}

/// Follows by streams until the process is ended, in a process of its own with one thread.
pub(crate) fn run(parameters: &str) {
    let parameters: FollowParameters = serde_json::from_str(parameters).expect("JSON");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(async {
        // One after the other: many passwords at once are too many for the server.
        let mut streams = Vec::new();
        for number in 0..parameters.streams {
            streams.push(open_stream(&parameters.address, number, parameters.reads).await);
        }
        writeln!(std::io::stdout(), "following").expect("stdout is open");
        for mut stream in streams {
            tokio::spawn(async move {
                let mut read = vec![0; 65_536];
                while parameters.reads && stream.read(&mut read).await.is_ok_and(|bytes| bytes > 0)
                {
                }
                // One that is not read stays open.
                tokio::time::sleep(Duration::MAX).await;
            });
        }
        std::future::pending::<()>().await;
    });
}

/// Opens a stream, and reads its first event.
async fn open_stream(address: &str, number: u64, reads: bool) -> tokio::net::TcpStream {
    let socket = TcpSocket::new_v4().expect("the process may open a socket");
    if !reads {
        socket.set_recv_buffer_size(STUCK_BUFFER).expect("a size");
    }
    let [.., high, low] = number.to_be_bytes();
    let own = SocketAddr::from(([127, 2, high, low], 0));
    socket.bind(own).expect("all of 127.0.0.0/8 is this machine");
    let server = address.parse().expect("an address and a port");
    let mut stream = socket.connect(server).await.expect("the server listens");
    let head = head("GET", "events", number / STREAMS_A_LOGIN + 1, 0);
    stream.write_all(format!("{head}\r\n").as_bytes()).await.expect("the server reads");
    let mut read = Vec::new();
    while !read.windows(12).any(|part| part == b"event: begin") {
        let bytes = stream.read_buf(&mut read).await.expect("the server answers");
        assert!(bytes > 0, "a stream: {}", String::from_utf8_lossy(&read));
    }
    stream
}
