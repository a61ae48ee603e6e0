//! A visitor's connection to the program over HTTP, from the connect to the answer, while others
//! keep half of the places or all of them. Each visitor is a source of its own. The cost must stay
//! flat.
//!
//! `cargo bench --bench connections` prints; `-- --test` does the same in small.

#[path = "practice/trial.rs"]
mod trial;

use std::io::{BufRead, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// Silent connections of each stranger.
const OF_ONE_STRANGER: u32 = 100;

/// The demonstration, served by the program.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Server {
    fn start(data: &std::path::Path, connections_max: u32) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_slotbook"))
            .args(["serve", "--demo", "--listen", "127.0.0.1:0"])
            .args(["--connections-max", &connections_max.to_string(), "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let address = lines.map_while(Result::ok).find_map(|line| {
            line.strip_prefix("listening on http://").and_then(|address| address.parse().ok())
        });
        Self { child, address: address.expect("it listens") }
    }

    /// Connects from an address of the loopback network, each number in a /24 of its own.
    async fn connect(&self, network: u8, number: u32) -> TcpStream {
        let [_, _, high, low] = number.to_be_bytes();
        let from = Ipv4Addr::new(127, network + high, low, 1);
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::new(from.into(), 0)).expect("a loopback address");
        socket.connect(self.address).await.expect("it listens")
    }

    /// Processor time of all its threads so far.
    fn processor_time(&self) -> Duration {
        let mut nanoseconds = 0;
        let tasks = format!("/proc/{}/task", self.child.id());
        for task in std::fs::read_dir(tasks).expect("it runs").flatten() {
            // A thread may end meanwhile.
            let spent = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            let spent = spent.split(' ').next().and_then(|spent| spent.parse::<u64>().ok());
            nanoseconds += spent.unwrap_or(0);
        }
        Duration::from_nanos(nanoseconds)
    }
}

/// Connects and gets the first answer.
async fn visit(server: &Server, number: u32) -> TcpStream {
    let mut stream = server.connect(10, number).await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await.expect("it reads");
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.expect("it answers");
    assert_eq!(first, *b"HTTP/1.1 200");
    stream
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (visits, sizes) =
        if trial::is_a_trial() { (100, &[100][..]) } else { (5_000, &[100, 1_000, 10_000][..]) };
    for &connections_max in sizes {
        for (name, open) in [("half", connections_max / 2), ("all", connections_max)] {
            let folder = tempfile::tempdir().expect("a folder");
            let server = Server::start(&folder.path().join("store"), connections_max);
            let mut silent = Vec::new();
            for number in 0..open {
                silent.push(server.connect(1, number / OF_ONE_STRANGER).await);
            }
            let mut visitors = Vec::new();
            let (began, spent) = (Instant::now(), server.processor_time());
            for number in 0..visits {
                let visitor = visit(&server, number).await;
                // A full server ends another connection for each new one that stays.
                if open == connections_max {
                    visitors.push(visitor);
                }
            }
            let (took, spent) = (began.elapsed(), server.processor_time() - spent);
            let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(visits);
            let line = format!(
                "{name} of {connections_max} places in use: {:.0} µs each, {:.0} µs of processor time",
                each(took),
                each(spent)
            );
            writeln!(std::io::stdout().lock(), "{line}").expect("it is read");
        }
    }
}
