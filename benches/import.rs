//! Imports of clients by their `externid` into the server over HTTP: one request for each, and batches of 100. Each is
//! sent a second time, which must double nothing. Then the same beside many clients.
//!
//! `cargo bench --bench import` prints; `-- --test` does the same in small.

#[path = "practice/trial.rs"]
mod trial;

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::{Client, Response};
use serde_json::{Value, json};

/// Rows of a batch.
const ROWS: u64 = 100;
const KEY: &str = "demo-key-town-practice";

/// The demonstration, served by the program over a store on the disk.
struct Server {
    child: Child,
    url: String,
    client: Client,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Server {
    fn start(data: &std::path::Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_slotbook"))
            .args(["serve", "--demo", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let url = lines.map_while(Result::ok).find_map(|line| {
            line.strip_prefix("listening on ").map(|url| format!("{url}/api/v1/groups/1"))
        });
        Self { child, url: url.expect("it listens"), client: Client::new() }
    }

    async fn send(&self, method: reqwest::Method, path: &str, body: &Value) -> Response {
        let request = self.client.request(method, format!("{}{path}", self.url)).json(body);
        let request = request.basic_auth("anna@example.org", Some("demo-password"));
        request.header("X-Api-Key", KEY).send().await.expect("the server answers")
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

    async fn count(&self) -> u64 {
        let request = self.client.get(format!("{}/fiches?results=1", self.url));
        let request = request.basic_auth("anna@example.org", Some("demo-password"));
        let answer = request.header("X-Api-Key", KEY).send().await.expect("the server answers");
        let list: Value = answer.json().await.expect("JSON");
        list["totalRecords"].as_u64().expect("a number")
    }

    /// Sends clients one by one; each must be answered by this status.
    async fn put_each(&self, externids: std::ops::Range<u64>, status: u16) {
        for externid in externids {
            let path = format!("/fiches?externid={externid}");
            let answer = self.send(reqwest::Method::PUT, &path, &fiche(externid)).await;
            assert_eq!(answer.status(), status);
            answer.bytes().await.expect("the answer arrives");
        }
    }

    /// Sends clients by batches.
    async fn put_batches(&self, externids: std::ops::Range<u64>, status: u16) {
        let rows = usize::try_from(ROWS).expect("few");
        for first in externids.clone().step_by(rows) {
            let rows = first..(first + ROWS).min(externids.end);
            let requests: Vec<Value> = rows.map(row).collect();
            let body = json!({ "requests": requests });
            let answer = self.send(reqwest::Method::POST, "/batch", &body).await;
            assert_eq!(answer.status(), 200);
            let answer: Value = answer.json().await.expect("JSON");
            let answers = answer["responses"].as_array().expect("a list");
            assert_eq!(answers.len(), requests.len());
            assert!(answers.iter().all(|answer| answer["status"] == status), "{answer}");
        }
    }
}

fn fiche(externid: u64) -> Value {
    json!({"fiche": {
        "lastname": format!("Client {externid}"), "firstname": "Marie",
        "email": format!("client.{externid}@example.org"), "firstphone": "06 39 98 11 22",
    }})
}

fn row(externid: u64) -> Value {
    let path = format!("/api/v1/groups/1/fiches?externid={externid}");
    json!({"method": "PUT", "path": path, "body": fiche(externid)})
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (clients, many) = if trial::is_a_trial() { (20, 200) } else { (1_000, 100_000) };
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(&folder.path().join("store"));
    let mut unused = 1_000_000;
    for beside in [server.count().await, many] {
        let missing = beside.saturating_sub(server.count().await);
        server.put_batches(unused..unused + missing, 201).await;
        unused += missing;
        let before = server.count().await;
        for (name, by_batch) in [("one by one", false), ("by batches", true)] {
            let sent = unused..unused + clients;
            unused = sent.end;
            for status in [201, 200] {
                let (began, spent) = (Instant::now(), server.processor_time());
                if by_batch {
                    server.put_batches(sent.clone(), status).await;
                } else {
                    server.put_each(sent.clone(), status).await;
                }
                let (took, spent) = (began.elapsed(), server.processor_time() - spent);
                let what = if status == 201 { "new" } else { "repeated" };
                let each = spent.as_secs_f64() * 1e6 / clients as f64;
                let line = format!(
                    "{clients} {what} clients {name}, beside {beside}: {took:.2?}, {each:.0} µs of processor time each"
                );
                writeln!(std::io::stdout().lock(), "{line}").expect("somebody reads");
            }
        }
        assert_eq!(server.count().await, before + 2 * clients, "nothing is doubled");
    }
}
