//! Processor time of the server for each GET that a stranger may send, on the demonstration, by
//! gzip. Each takes at most a millisecond.

#[path = "../tests/abuse/fixture.rs"]
#[expect(dead_code, reason = "tests use the rest")]
mod fixture;
#[path = "../tests/abuse/public_paths.rs"]
mod public_paths;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use fixture::Practice;
use public_paths::public_paths;
use rustix::time::{ClockId, clock_gettime};

/// Most that an answer may cost.
const COST_MAX: Duration = Duration::from_millis(1);
/// Answers over which the cost is the mean.
const TURNS: u32 = 500;

fn main() {
    // Tests of the benchmarks ask once, without a judgement.
    let turns = if std::env::args().any(|argument| argument == "--bench") { TURNS } else { 1 };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().expect("a runtime");
    let practice = runtime.block_on(Practice::open());
    let paths = runtime.block_on(public_paths(&practice));
    let mut client = Client::to(practice.address());
    let mut too_costly = Vec::new();
    for path in paths {
        let bytes = client.get(&path);
        let began = spent_by_server();
        for _ in 0..turns {
            // Forms of pages have a random token, so that the length may vary.
            client.get(&path);
        }
        let cost = spent_by_server().saturating_sub(began) / turns;
        eprintln!("public_reads: {:>8.1} µs, {bytes:>6} bytes: {path}", cost.as_secs_f64() * 1e6);
        if turns == TURNS && cost > COST_MAX {
            too_costly.push(path);
        }
    }
    assert!(too_costly.is_empty(), "above {COST_MAX:?}: {too_costly:?}");
}

/// The processor time of all threads but this one, which is the client. It may go back by the
/// moment between the readings of both clocks.
fn spent_by_server() -> Duration {
    let spent = |clock: ClockId| {
        let spent = clock_gettime(clock);
        let nanoseconds = u32::try_from(spent.tv_nsec).expect("under a second");
        Duration::new(spent.tv_sec.unsigned_abs(), nanoseconds)
    };
    spent(ClockId::ProcessCPUTime).saturating_sub(spent(ClockId::ThreadCPUTime))
}

/// One connection.
struct Client(BufReader<TcpStream>);

impl Client {
    fn to(address: SocketAddr) -> Self {
        Self(BufReader::new(TcpStream::connect(address).expect("the server listens")))
    }

    /// The length of the body of an answer that is no error, compressed by gzip if it is.
    fn get(&mut self, path: &str) -> u64 {
        let head = format!("GET {path} HTTP/1.1\r\nHost: bench\r\nAccept-Encoding: gzip\r\n\r\n");
        self.0.get_mut().write_all(head.as_bytes()).expect("the server reads");
        let status = self.line();
        let is_answered = ["http/1.1 200", "http/1.1 303"].iter().any(|ok| status.starts_with(ok));
        assert!(is_answered, "{path}: {status}");
        let mut length = None;
        loop {
            let line = self.line();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = Some(value.parse().expect("a number"));
            }
        }
        match length {
            Some(bytes) => self.skip(bytes),
            None => self.skip_chunks(),
        }
    }

    fn skip_chunks(&mut self) -> u64 {
        let mut total = 0;
        loop {
            let bytes = u64::from_str_radix(&self.line(), 16).expect("a length");
            total += self.skip(bytes);
            self.line();
            if bytes == 0 {
                return total;
            }
        }
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        std::io::copy(&mut (&mut self.0).take(bytes), &mut std::io::sink()).expect("all of it")
    }

    /// The next line in lower case, without its end.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("the server answers");
        line.trim_end().to_ascii_lowercase()
    }
}
