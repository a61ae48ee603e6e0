//! PostgreSQL under Patroni: which of three servers is the primary is agreed on in etcd, and commits
//! wait for a standby, whatever fails.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::faults::stop;
use super::postgres::{free_port, query};
use super::postgres_programs::{Account, find_account, find_in_path, find_programs};
use super::servers::{ServerOptions, Servers};
use crate::rounds;
use crate::server::{practice, signal};
use crate::witness::{CALENDARS, Witness};

const NODES: usize = 3;
/// Time after which etcd forgets a primary that it does not hear: the least that Patroni takes.
const TTL: Duration = Duration::from_secs(20);
/// Longest time from a death of the primary to the next bookings.
const BOOKING_MAX: Duration = Duration::from_secs(60);
/// Longest time until the servers of PostgreSQL have become what they are to be.
const SETTLING_MAX: Duration = Duration::from_secs(180);
/// Bookings after each fault.
const BOOKINGS: u64 = 20;

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The machine of the primary dies.
    Death,
    /// It stands still for longer than Patroni waits.
    Pause,
    /// No one can agree on anything for a while: there is no primary then.
    NoAgreement,
}

/// etcd, with servers of PostgreSQL under Patroni.
struct Patroni {
    folder: TempDir,
    account: Account,
    program: PathBuf,
    etcd: Child,
    nodes: Vec<Node>,
    http: reqwest::Client,
}

struct Node {
    port: u16,
    /// Where Patroni says what it is.
    rest_port: u16,
    child: Child,
}

impl Patroni {
    /// Starts all; the reason where something is not installed.
    async fn start() -> Result<Self, &'static str> {
        let (Some(program), Some(etcd)) = (find_in_path("patroni"), find_in_path("etcd")) else {
            return Err("Patroni or etcd is not installed");
        };
        let programs = find_programs().ok_or("PostgreSQL is not installed")?;
        let account = find_account().expect("id is there, and so is the account");
        let folder = tempfile::tempdir().expect("a folder");
        let (etcd_port, peer_port) = (free_port(), free_port());
        let etcd = start_etcd(&etcd, folder.path(), etcd_port, peer_port);
        let mut nodes = Vec::new();
        for index in 0..NODES {
            let (port, rest_port) = (free_port(), free_port());
            let home = folder.path().join(index.to_string());
            fs::create_dir(&home).expect("a folder");
            let configuration = configuration(index, port, rest_port, etcd_port, &programs, &home);
            fs::write(home.join("patroni.yml"), configuration).expect("there is room");
            if let Some((user, group)) = account {
                for path in [folder.path(), &home] {
                    chown(path, Some(user), Some(group)).expect("root may");
                }
            }
            let child = start_patroni(&program, &home, account);
            nodes.push(Node { port, rest_port, child });
        }
        let http = reqwest::Client::builder().timeout(Duration::from_secs(1)).build();
        let http = http.expect("a client");
        let patroni = Self { folder, account, program, etcd, nodes, http };
        patroni.expect_replicas().await;
        let primary = patroni.find("primary").await;
        for statement in ["CREATE ROLE slotbook_server LOGIN", "CREATE DATABASE slots"] {
            query(&programs, account, patroni.nodes[primary].port, statement);
        }
        Ok(patroni)
    }

    fn ports(&self) -> Vec<u16> {
        self.nodes.iter().map(|node| node.port).collect()
    }

    fn home(&self, index: usize) -> PathBuf {
        self.folder.path().join(index.to_string())
    }

    /// Whether a server is what Patroni calls so.
    async fn is(&self, index: usize, role: &str) -> bool {
        let url = format!("http://127.0.0.1:{}/{role}", self.nodes[index].rest_port);
        self.http.get(url).send().await.is_ok_and(|answer| answer.status() == 200)
    }

    /// Waits until a server is that, and returns it.
    async fn find(&self, role: &str) -> usize {
        let began = Instant::now();
        loop {
            for index in 0..NODES {
                if self.is(index, role).await {
                    return index;
                }
            }
            assert!(began.elapsed() < SETTLING_MAX, "none is {role}: {}", self.said());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until all servers but the primary follow it, and commits wait for one of them. One that
    /// Patroni calls a replica may have another history still, which it gives up by a copy of the
    /// primary's.
    async fn expect_replicas(&self) {
        let began = Instant::now();
        while self.streaming().await != NODES - 1 {
            assert!(began.elapsed() < SETTLING_MAX, "not all follow: {}", self.said());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.find("synchronous").await;
    }

    /// Number of the servers that say that they follow.
    async fn streaming(&self) -> usize {
        let primary = self.find("primary").await;
        let url = format!("http://127.0.0.1:{}/cluster", self.nodes[primary].rest_port);
        let Ok(answer) = self.http.get(url).send().await else { return 0 };
        let cluster: Value = answer.json().await.unwrap_or_default();
        let members = cluster["members"].as_array().map_or(&[][..], Vec::as_slice);
        members.iter().filter(|member| member["state"] == "streaming").count()
    }

    /// Signals Patroni, PostgreSQL and its processes, as if it were their machine.
    fn signal_machine(&self, index: usize, name: &str) {
        let file = self.home(index).join("data/postmaster.pid");
        let text = fs::read_to_string(file).expect("PostgreSQL runs");
        let postmaster = text.lines().next().and_then(|line| line.parse().ok());
        let postmaster: u32 = postmaster.expect("its number");
        let mut processes = vec![self.nodes[index].child.id(), postmaster];
        processes.extend(children_of(postmaster));
        let mut kill = Command::new("kill");
        kill.arg(format!("-{name}")).args(processes.iter().map(ToString::to_string));
        // Some may have ended meanwhile.
        let _ = kill.stderr(Stdio::null()).status().expect("kill is there");
    }

    /// Starts Patroni once more on a machine that has died.
    fn restart(&mut self, index: usize) {
        drop(self.nodes[index].child.wait());
        let home = self.home(index);
        self.nodes[index].child = start_patroni(&self.program, &home, self.account);
    }

    fn said(&self) -> String {
        let ends = (0..NODES).map(|index| {
            let text = fs::read_to_string(self.home(index).join("patroni.log")).unwrap_or_default();
            let lines: Vec<&str> = text.lines().rev().take(20).collect();
            lines.into_iter().rev().collect::<Vec<_>>().join("\n")
        });
        ends.collect::<Vec<_>>().join("\n---\n")
    }
}

impl Drop for Patroni {
    fn drop(&mut self) {
        for index in 0..NODES {
            if self.home(index).join("data/postmaster.pid").exists() {
                self.signal_machine(index, "CONT");
                self.signal_machine(index, "KILL");
            }
            drop(self.nodes[index].child.kill());
            drop(self.nodes[index].child.wait());
        }
        drop(self.etcd.kill());
        drop(self.etcd.wait());
    }
}

fn start_etcd(program: &Path, folder: &Path, port: u16, peer_port: u16) -> Child {
    let [client, peer] = [port, peer_port].map(|port| format!("http://127.0.0.1:{port}"));
    let log = fs::File::create(folder.join("etcd.log")).expect("there is room");
    Command::new(program)
        .arg("--data-dir")
        .arg(folder.join("etcd"))
        .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("default={peer}")])
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("it is installed")
}

fn start_patroni(program: &Path, home: &Path, account: Account) -> Child {
    let log = fs::File::options().create(true).append(true).open(home.join("patroni.log"));
    let mut command = Command::new(program);
    command.arg(home.join("patroni.yml")).current_dir(home).stdout(Stdio::null());
    command.stderr(log.expect("there is room"));
    if let Some((user, group)) = account {
        command.uid(user).gid(group);
    }
    command.spawn().expect("it is installed")
}

/// What Patroni reads, as YAML.
fn configuration(
    index: usize,
    port: u16,
    rest_port: u16,
    etcd_port: u16,
    programs: &Path,
    home: &Path,
) -> String {
    let (ttl, home, programs) = (TTL.as_secs(), home.display(), programs.display());
    format!(
        "scope: slots\n\
         name: n{index}\n\
         restapi: {{listen: '127.0.0.1:{rest_port}', connect_address: '127.0.0.1:{rest_port}'}}\n\
         etcd3: {{host: '127.0.0.1:{etcd_port}'}}\n\
         bootstrap:\n\
         \x20 dcs:\n\
         \x20   ttl: {ttl}\n\
         \x20   loop_wait: 2\n\
         \x20   retry_timeout: 5\n\
         \x20   synchronous_mode: true\n\
         \x20   synchronous_mode_strict: true\n\
         \x20   postgresql: {{use_pg_rewind: true, use_slots: true}}\n\
         \x20 initdb: [{{encoding: UTF8}}, {{auth: trust}}]\n\
         postgresql:\n\
         \x20 listen: 127.0.0.1:{port}\n\
         \x20 connect_address: 127.0.0.1:{port}\n\
         \x20 data_dir: {home}/data\n\
         \x20 bin_dir: {programs}\n\
         \x20 pgpass: {home}/pgpass\n\
         \x20 remove_data_directory_on_rewind_failure: true\n\
         \x20 remove_data_directory_on_diverged_timelines: true\n\
         \x20 authentication:\n\
         \x20   superuser: {{username: postgres}}\n\
         \x20   replication: {{username: postgres}}\n\
         \x20 pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust']\n\
         \x20 parameters: {{unix_socket_directories: '{home}', shared_buffers: 32MB}}\n"
    )
}

/// The processes that another has started.
fn children_of(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("it is Linux").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |number: &u32| {
        let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
        status.lines().any(|line| line.strip_prefix("PPid:\t") == Some(&parent.to_string()))
    };
    numbers.filter(is_child).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_under_patroni_loses_nothing_and_doubles_nothing() {
    let mut patroni = match Patroni::start().await {
        Ok(patroni) => patroni,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start_with(
        &patroni.ports(),
        &practice(CALENDARS),
        &vec![ServerOptions::default(); 3],
    )
    .await;
    let witness = Arc::new(Witness::brief());
    let count = rounds(1, 30);
    for round in 0..count {
        for fault in [Fault::Death, Fault::Pause, Fault::NoAgreement] {
            let deciding = servers.deciding().await;
            let load = witness.load(&servers.members[deciding].base(), 60).await;
            let primary = patroni.find("primary").await;
            let mut began = Instant::now();
            match fault {
                Fault::Death => patroni.signal_machine(primary, "KILL"),
                Fault::Pause => patroni.signal_machine(primary, "STOP"),
                Fault::NoAgreement => {
                    signal(patroni.etcd.id(), "STOP");
                    tokio::time::sleep(TTL).await;
                    signal(patroni.etcd.id(), "CONT");
                    began = Instant::now();
                }
            }
            patroni.find("primary").await;
            let agreed = began.elapsed();
            let answered = witness.answered();
            for member in servers.members.iter().cycle() {
                if witness.answered() >= answered + BOOKINGS {
                    break;
                }
                assert!(began.elapsed() < BOOKING_MAX, "{fault:?}: {}", patroni.said());
                stop(witness.load(&member.base(), 20).await).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let booked = began.elapsed();
            stop(load).await;
            match fault {
                Fault::Death => patroni.restart(primary),
                Fault::Pause => patroni.signal_machine(primary, "CONT"),
                Fault::NoAgreement => {}
            }
            servers.restart_fenced();
            patroni.expect_replicas().await;
            let deciding = servers.deciding().await;
            witness.examine(&servers.exported(deciding));
            println!(
                "{round} {fault:?}: {} answered, a primary after {agreed:?}, booked after {booked:?}",
                witness.answered()
            );
        }
    }
}
