//! Two servers of PostgreSQL on this machine: a primary, and a standby for which its commits wait.

use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use tempfile::TempDir;

use super::postgres_programs::{Account, find_account, find_programs};
use super::required::skip_or_fail;

/// The first of the ports that servers get, and their number.
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 10_000;
/// Distance between the first ports of two processes.
const PORTS_OF_PROCESS: u32 = 200;

const PRIMARY_SETTINGS: &str = "synchronous_standby_names = ''\nmax_wal_senders = 10\n";
/// They count once a standby is promoted.
const STANDBY_SETTINGS: &str = "synchronous_standby_names = '*'\n";

/// A primary and a standby.
pub(crate) struct Pair {
    pub(super) programs: PathBuf,
    pub(super) account: Account,
    pub(super) folder: TempDir,
    /// Ports of both.
    pub(crate) ports: [u16; 2],
    /// Which of them is the primary.
    pub(crate) primary: usize,
}

impl Pair {
    /// Starts both and makes an empty database; the reason where PostgreSQL is not installed.
    pub(crate) fn start() -> Result<Self, &'static str> {
        let pair = Self::start_bare()?;
        pair.query("CREATE ROLE slotbook_server LOGIN");
        pair.query("CREATE DATABASE slots");
        pair.set_standby_names("*");
        Ok(pair)
    }

    /// Starts both, as they are after their installation: commits wait for no standby.
    pub(crate) fn start_bare() -> Result<Self, &'static str> {
        let Some(programs) = find_programs() else {
            return Err(skip_or_fail("PostgreSQL is not installed"));
        };
        let account = find_account().expect("id is there, and so is the account");
        let unused = unused_data(&programs, account);
        let pair = Self::without_data(programs, account);
        for index in 0..2 {
            copy(&unused.join(data_name(index)), pair.folder.path());
        }
        pair.configure(0, PRIMARY_SETTINGS);
        pair.configure(1, STANDBY_SETTINGS);
        let port = pair.ports[0];
        let primary = format!("primary_conninfo = 'host=127.0.0.1 port={port} user=postgres'\n");
        let settings = Path::new(&pair.data(1)).join("postgresql.auto.conf");
        fs::write(settings, primary).expect("there is room");
        pair.start_server(0);
        pair.start_server(1);
        Ok(pair)
    }

    fn without_data(programs: PathBuf, account: Account) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        if let Some((user, group)) = account {
            chown(folder.path(), Some(user), Some(group)).expect("root may");
        }
        Self { programs, account, folder, ports: [free_port(), free_port()], primary: 0 }
    }

    /// Makes the primary wait for these standbys, or for none.
    pub(crate) fn set_standby_names(&self, names: &str) {
        self.set("synchronous_standby_names", names);
    }

    /// Sets a setting of the primary that needs no restart.
    pub(crate) fn set(&self, setting: &str, value: &str) {
        self.query(&format!("ALTER SYSTEM SET {setting} = '{value}'"));
        self.query("SELECT pg_reload_conf()");
    }

    /// Kills the primary, promotes the standby, and makes a standby of the former primary.
    pub(crate) fn fail_over(&mut self) {
        let old = self.primary;
        self.stop_server(old);
        self.primary = 1 - old;
        self.run("pg_ctl", &["-D", &self.data(self.primary), "-w", "promote"]);
        fs::remove_dir_all(self.data(old)).expect("it is stopped");
        self.add_standby(old);
    }

    /// Ends all connections of the servers of slotbook.
    pub(crate) fn end_connections(&self) {
        self.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE application_name = 'slotbook'",
        );
    }

    /// Runs statements on one of them.
    pub(crate) fn run_script(&self, index: usize, script: &str) {
        let file = self.folder.path().join("script.sql");
        fs::write(&file, script).expect("there is room");
        let port = self.ports[index].to_string();
        let file = file.to_string_lossy();
        let database = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-d", "postgres"];
        let script = ["-X", "-v", "ON_ERROR_STOP=1", "-f", &file];
        self.run("psql", &[database.as_slice(), &script].concat());
    }

    /// Puts a line before those of `pg_hba.conf` on both.
    pub(crate) fn allow(&self, line: &str) {
        for index in 0..2 {
            let path = Path::new(&self.data(index)).join("pg_hba.conf");
            let lines = fs::read_to_string(&path).expect("it was made");
            fs::write(&path, format!("{line}{lines}")).expect("there is room");
            self.run_script(index, "SELECT pg_reload_conf();");
        }
    }

    /// Runs a statement on the primary, and returns what it prints.
    pub(crate) fn query(&self, statement: &str) -> String {
        query(&self.programs, self.account, self.ports[self.primary], statement)
    }

    fn add_standby(&self, index: usize) {
        let port = self.ports[self.primary].to_string();
        let data = self.data(index);
        self.run(
            "pg_basebackup",
            &["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-D", &data, "-R", "-c", "fast"],
        );
        self.configure(index, STANDBY_SETTINGS);
        self.start_server(index);
    }

    /// Appends settings; the last of a name counts.
    fn configure(&self, index: usize, more: &str) {
        let path = Path::new(&self.data(index)).join("postgresql.conf");
        let mut file = fs::OpenOptions::new().append(true).open(path).expect("it was made");
        let port = self.ports[index];
        let folder = self.folder.path().display();
        write!(
            file,
            "\nport = {port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{folder}'\n\
             wal_receiver_status_interval = 1s\nshared_buffers = 32MB\n{more}"
        )
        .expect("there is room");
    }

    fn start_server(&self, index: usize) {
        let log = self.folder.path().join(format!("{index}.log"));
        let log = log.to_str().expect("a plain path");
        self.run("pg_ctl", &["-D", &self.data(index), "-l", log, "-w", "start"]);
    }

    fn stop_server(&self, index: usize) {
        self.run("pg_ctl", &["-D", &self.data(index), "-m", "immediate", "stop"]);
    }

    fn data(&self, index: usize) -> String {
        self.folder.path().join(data_name(index)).to_str().expect("a plain path").to_owned()
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let status = self.command(program).args(arguments).status().expect("it is installed");
        assert!(status.success(), "{program} {arguments:?}: {}", self.log());
    }

    fn command(&self, program: &str) -> Command {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log_path());
        let log = log.expect("there is room");
        let mut command = Command::new(self.programs.join(program));
        command.stdin(Stdio::null()).stdout(Stdio::from(log.try_clone().expect("a descriptor")));
        command.stderr(Stdio::from(log)).current_dir("/");
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        command
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("programs.log")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for index in 0..2 {
            let mut stop = self.command("pg_ctl");
            // One that does not run is stopped already.
            drop(stop.args(["-D", &self.data(index), "-m", "immediate", "stop"]).status());
        }
    }
}

/// Returns a folder with the data directories of a primary and its standby, as after their
/// installation. They are made once for each release: with copies a pair starts two seconds sooner.
/// `cargo clean` removes them.
fn unused_data(programs: &Path, account: Account) -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let output = Command::new(programs.join("initdb")).arg("--version").output();
        let mut release = String::from_utf8(output.expect("it is installed").stdout).expect("text");
        release.retain(|letter| letter.is_ascii_alphanumeric() || letter == '.');
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(release);
        if !place.exists() {
            let pair = Pair::without_data(programs.to_owned(), account);
            let data = pair.data(0);
            pair.run("initdb", &["-U", "postgres", "-A", "trust", "-E", "UTF8", "-D", &data]);
            pair.configure(0, PRIMARY_SETTINGS);
            pair.start_server(0);
            pair.add_standby(1);
            let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
            for index in 0..2 {
                pair.run("pg_ctl", &["-D", &pair.data(index), "-m", "fast", "-w", "stop"]);
                copy(Path::new(&pair.data(index)), folder.path());
            }
            // Another process may have made it meanwhile.
            if fs::rename(folder.path(), &place).is_ok() {
                drop(folder.keep());
            }
        }
        place
    })
}

fn data_name(index: usize) -> String {
    format!("data{index}")
}

/// Copies a folder with its owner and rights into another one.
fn copy(folder: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").args([folder, to]).status().expect("cp runs");
    assert!(status.success(), "{} is not copied", folder.display());
}

/// Runs a statement on the PostgreSQL at a port of this machine, and returns what it prints.
pub(super) fn query(programs: &Path, account: Account, port: u16, statement: &str) -> String {
    let database = if statement.contains("slotbook.") { "slots" } else { "postgres" };
    let mut psql = Command::new(programs.join("psql"));
    psql.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", "postgres", "-d", database]);
    psql.args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement]).current_dir("/");
    if let Some((user, group)) = account {
        psql.uid(user).gid(group);
    }
    let output = psql.output().expect("psql runs");
    assert!(output.status.success(), "{statement}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The URL of the database for a role, at these ports of this machine.
pub(crate) fn database_url(role: &str, ports: &[u16]) -> String {
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    format!("postgres://{role}@{}/slots?sslmode=disable", hosts.join(","))
}

/// A port that is free now, below those that the system gives to the connections of clients: a
/// server that ends and starts again finds it free still. A socket of UDP keeps it for this process
/// until its end. Processes that run at once begin at different ones.
pub(crate) fn free_port() -> u16 {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    static KEPT: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());
    let first = std::process::id().wrapping_mul(PORTS_OF_PROCESS);
    loop {
        let offset = first.wrapping_add(GIVEN.fetch_add(1, Ordering::SeqCst)) % u32::from(PORTS);
        let port = FIRST_PORT + u16::try_from(offset).expect("below PORTS");
        if let Ok(kept) = UdpSocket::bind(("127.0.0.1", port))
            && TcpListener::bind(("127.0.0.1", port)).is_ok()
        {
            KEPT.lock().expect("no panic while it is locked").push(kept);
            return port;
        }
    }
}
