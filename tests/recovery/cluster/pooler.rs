//! A pooler of connections before the primary: pgbouncer.

use std::fs;
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::postgres::{Pair, free_port};
use super::postgres_programs::find_in_path;
use super::required::skip_or_fail;

/// Longest time until it listens.
const START_MAX: Duration = Duration::from_secs(10);

/// A running pgbouncer.
pub(crate) struct Pooler {
    pub(crate) port: u16,
    child: Child,
}

impl Pooler {
    /// Starts one that pools by `mode`, with that many sessions of the primary; the reason where it is not installed.
    pub(crate) fn start(pair: &Pair, mode: &str, sessions: u32) -> Result<Self, &'static str> {
        let Some(program) = find_in_path("pgbouncer") else {
            return Err(skip_or_fail("pgbouncer is not installed"));
        };
        let port = free_port();
        let primary = pair.ports[pair.primary];
        let settings = format!(
            "[databases]\n\
             slots = host=127.0.0.1 port={primary} dbname=slots user=slotbook_server\n\
             [pgbouncer]\n\
             listen_addr = 127.0.0.1\n\
             listen_port = {port}\n\
             unix_socket_dir =\n\
             auth_type = any\n\
             pool_mode = {mode}\n\
             default_pool_size = {sessions}\n"
        );
        let path = pair.folder.path().join(format!("pgbouncer{port}.ini"));
        fs::write(&path, settings).expect("there is room");
        let mut command = Command::new(program);
        command.arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((user, group)) = pair.account {
            command.uid(user).gid(group);
        }
        let child = command.current_dir("/").spawn().expect("it starts");
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < START_MAX, "it does not listen");
            std::thread::park_timeout(Duration::from_millis(20));
        }
        Ok(Self { port, child })
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
