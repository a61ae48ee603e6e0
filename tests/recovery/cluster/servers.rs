//! The servers of a cluster, as processes, each with its own ways to PostgreSQL.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::postgres::{Pair, database_url, free_port};
use super::proxy::Way;
use crate::power_cut::stop;
use crate::server::{complaint, run, signal, slotbook, unlimited};

/// Longest time until one server decides.
const DECIDING_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time until a server has read a large cluster, with all that the machine does beside it.
const READING_TIMEOUT: Duration = Duration::from_secs(60);
/// The metric of how far a server that follows is behind.
pub(super) const LAG_SECONDS: &str = "slotbook_cluster_lag_seconds";

/// The servers of one cluster.
pub(crate) struct Servers {
    folder: TempDir,
    pub(crate) members: Vec<Member>,
    http: reqwest::Client,
}

/// One of them.
pub(crate) struct Member {
    port: u16,
    metrics_port: u16,
    pub(super) ways: Vec<Way>,
    child: Child,
    pub(super) data: PathBuf,
    log: PathBuf,
    options: ServerOptions,
}

/// The options of `serve` that not every test has.
#[derive(Clone, Default)]
pub(crate) struct ServerOptions {
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(&'static str, PathBuf)>,
}

impl Servers {
    /// Makes a cluster with the content of a document, and starts its servers.
    pub(crate) async fn start(pair: &Pair, document: &Value, count: usize) -> Self {
        Self::start_with(&pair.ports, document, &vec![ServerOptions::default(); count]).await
    }

    /// The same on PostgreSQL at these ports, with more options for each server.
    pub(crate) async fn start_with(
        ports: &[u16],
        document: &Value,
        options: &[ServerOptions],
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        crate::server::store_of(folder.path(), document);
        Self::start_on(folder, ports, options).await
    }

    /// The same with the content of a store, the directory `data` of a folder.
    pub(super) async fn start_on(
        folder: TempDir,
        ports: &[u16],
        options: &[ServerOptions],
    ) -> Self {
        let data = folder.path().join("data");
        let owner = database_url("postgres", ports);
        let url = database_url("slotbook_server", ports);
        let nowhere = folder.path().join("none");
        let init = ["cluster", "init", "--role", "slotbook_server", "--shared"];
        let made = run(&[init.as_slice(), &[&owner]].concat(), &nowhere);
        assert!(made.status.success(), "{}", complaint(&made));
        let filled = run(&["cluster", "import", "--shared", &url], &data);
        assert!(filled.status.success(), "{}", complaint(&filled));
        let mut members = Vec::new();
        for (index, options) in options.iter().enumerate() {
            let mut ways = Vec::new();
            for port in ports {
                ways.push(Way::to(*port).await);
            }
            members.push(Member::start(folder.path(), index, ways, options.clone()));
        }
        let http = reqwest::Client::builder().timeout(Duration::from_millis(500)).build();
        Self { folder, members, http: http.expect("a client") }
    }

    /// Waits until one server decides, and returns it.
    pub(crate) async fn deciding(&mut self) -> usize {
        let began = Instant::now();
        while began.elapsed() < DECIDING_TIMEOUT {
            for index in 0..self.members.len() {
                let url = format!("{}/readyz", self.members[index].base());
                if let Ok(answer) = self.http.get(url).send().await
                    && answer.status() == 200
                {
                    return index;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let logs: Vec<String> = self.members.iter().map(Member::said).collect();
        panic!("no server decides: {}", logs.join("\n---\n"));
    }

    /// The data directory that the cluster was filled from.
    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The whole content, from the server that decides.
    pub(crate) fn exported(&self, index: usize) -> Value {
        let file = self.folder.path().join("export.json");
        let path = file.to_str().expect("a plain path");
        let done = run(&["export", path], &self.members[index].data);
        assert!(done.status.success(), "{}", complaint(&done));
        serde_json::from_slice(&std::fs::read(&file).expect("it was written")).expect("JSON")
    }

    /// Waits until a server over which another has taken has ended, and starts it again.
    pub(crate) async fn expect_fenced(&mut self, index: usize) {
        let member = &mut self.members[index];
        let began = Instant::now();
        let code = loop {
            if let Some(status) = member.child.try_wait().expect("it is our child") {
                break status.code();
            }
            assert!(began.elapsed() < DECIDING_TIMEOUT, "it goes on: {}", member.said());
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert_eq!(code, Some(71), "{}", member.said());
        member.restart();
    }

    /// Starts the servers again over which another has taken meanwhile, if any.
    pub(crate) fn restart_fenced(&mut self) {
        for member in &mut self.members {
            if let Some(status) = member.child.try_wait().expect("it is our child") {
                assert_eq!(status.code(), Some(71), "{}", member.said());
                member.restart();
            }
        }
    }

    /// Waits until each server has read all that the cluster holds.
    pub(crate) async fn expect_followed(&self) {
        let began = Instant::now();
        for member in &self.members {
            while member.metric(LAG_SECONDS).await.is_none_or(|lag| lag > 1.0) {
                assert!(began.elapsed() < READING_TIMEOUT, "{}", member.said());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Waits until a server that was started answers.
    pub(crate) async fn expect_answering(&self, index: usize) {
        let url = format!("{}/healthz", self.members[index].base());
        let began = Instant::now();
        while self.http.get(&url).send().await.is_err() {
            assert!(began.elapsed() < DECIDING_TIMEOUT, "{}", self.members[index].said());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Member {
    fn start(folder: &Path, index: usize, ways: Vec<Way>, options: ServerOptions) -> Self {
        let data = folder.join(format!("server{index}"));
        let log = folder.join(format!("server{index}.log"));
        let port = free_port();
        let metrics_port = free_port();
        let child = spawn(port, metrics_port, &ways, &data, &log, &options);
        Self { port, metrics_port, ways, child, data, log, options }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns a metric of the server, if it has it.
    pub(crate) async fn metric(&self, name: &str) -> Option<f64> {
        let url = format!("http://127.0.0.1:{}/metrics", self.metrics_port);
        let text = reqwest::get(url).await.expect("it is served").text().await.expect("text");
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map(|value| value.parse().expect("a number"))
    }

    /// Starts the process once more, after its end.
    pub(crate) fn restart(&mut self) {
        let Self { port, metrics_port, ways, data, log, options, .. } = self;
        self.child = spawn(*port, *metrics_port, ways, data, log, options);
    }

    /// Ends the process at once, and starts it again.
    pub(crate) fn kill(&mut self) {
        self.signal("KILL");
        drop(self.child.wait());
        self.restart();
    }

    /// Stops the process until it gets SIGCONT.
    pub(crate) fn pause(&self) {
        stop(self.child.id());
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Waits for the end of the process.
    pub(crate) fn left(&mut self) -> Option<i32> {
        self.child.wait().expect("it is our child").code()
    }

    /// Cuts its ways to PostgreSQL, or mends them.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.ways.iter().for_each(|way| way.cut(is_cut));
    }

    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn spawn(
    port: u16,
    metrics_port: u16,
    ways: &[Way],
    data: &Path,
    log: &Path,
    options: &ServerOptions,
) -> Child {
    let log = File::options().create(true).append(true).open(log).expect("there is room");
    let ports: Vec<u16> = ways.iter().map(|way| way.port).collect();
    let url = database_url("slotbook_server", &ports);
    let mut command: Command = slotbook();
    unlimited(&mut command)
        .env("SLOTBOOK_DATA", data)
        .env("SLOTBOOK_SHARED", url)
        .env("SLOTBOOK_METRICS_LISTEN", format!("127.0.0.1:{metrics_port}"))
        .env("SLOTBOOK_ADVERTISE", format!("http://127.0.0.1:{port}"))
        .args(["serve", "--listen", &format!("127.0.0.1:{port}")])
        .args(&options.arguments)
        .envs(options.environment.iter().map(|(name, value)| (name, value)))
        .stdout(Stdio::null())
        .stderr(Stdio::from(log))
        .spawn()
        .expect("the program starts")
}
