//! The way from one server to three, as docs/operations.md has it: its blocks are run in their order.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::postgres::{Pair, free_port};
use crate::server::{
    Served, appointments, booking, complaint, half_hour, practice, run, slotbook, store_of,
};

const OPERATIONS: &str = include_str!("../../../docs/operations.md");
const SECTION: &str = "\n## From one server to three\n";
/// Password of both roles.
const PASSWORD: &str = "correct horse battery staple";
const STOP: &str = "systemctl disable --now slotbook\n";
/// Longest time until something is seen to happen.
const WAITING_MAX: Duration = Duration::from_secs(30);

/// A fenced block of the section, without its indent.
struct Block {
    language: &'static str,
    text: String,
}

fn blocks() -> Vec<Block> {
    let (_, section) = OPERATIONS.split_once(SECTION).expect("the document has the section");
    let section = section.split("\n## ").next().expect("a text has a first part");
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    for line in section.lines() {
        let line = line.strip_prefix("   ").unwrap_or(line);
        if let Some(language) = line.strip_prefix("```") {
            is_open = !is_open;
            if is_open {
                blocks.push(Block { language, text: String::new() });
            }
        } else if is_open {
            let block = blocks.last_mut().expect("it was opened");
            block.text.push_str(line);
            block.text.push('\n');
        }
    }
    blocks
}

/// The machines of the document, on this one.
struct Machines {
    pair: Pair,
    folder: TempDir,
    /// The data directory of the one server.
    store: PathBuf,
    /// Lines of the shell that hold for all later ones.
    exported: String,
    servers: Vec<Child>,
    ports: [u16; 3],
}

impl Machines {
    /// Returns a text with the hosts, paths and passwords of this machine, for the server `index`.
    fn adapted(&self, text: &str, index: usize) -> String {
        let [first, second] = self.pair.ports;
        let port = self.ports[index];
        text.replace('…', PASSWORD)
            .replace("@db1,db2/", &format!("@127.0.0.1:{first},127.0.0.1:{second}/"))
            .replace("sslmode=verify-full", "sslmode=disable")
            .replace("/var/lib/slotbook-cluster", &self.data(index).display().to_string())
            .replace("/var/lib/slotbook", &self.store.display().to_string())
            .replace("0.0.0.0:8080", &format!("127.0.0.1:{port}"))
            .replace("10.0.0.2:8080", &format!("127.0.0.1:{port}"))
            .replace("hostssl", "host")
            .replace("10.0.0.0/24", "127.0.0.1/32")
    }

    fn data(&self, index: usize) -> PathBuf {
        self.folder.path().join(format!("server{index}"))
    }

    /// A shell with the program in its path, and no settings but those of the document.
    fn shell(&self, script: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        command.args(["-euc", &format!("{}{script}", self.exported)]);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SLOTBOOK_") {
                command.env_remove(name);
            }
        }
        command.env("PATH", format!("{}:{path}", self.folder.path().join("bin").display()));
        command
    }

    /// Runs a block to its good end.
    fn run(&self, text: &str) -> Output {
        let script = self.adapted(text, 0);
        let output = self.shell(&script).output().expect("bash is there");
        assert!(output.status.success(), "{script}: {}", complaint(&output));
        output
    }

    /// Starts the server of a block on each machine.
    fn serve(&mut self, text: &str) {
        for index in 0..self.ports.len() {
            // The shell becomes the server, so that it ends with its child.
            let script = self.adapted(text, index).replace("slotbook serve", "exec slotbook serve");
            let mut command = self.shell(&script);
            let server = command.stdout(Stdio::null()).spawn().expect("bash is there");
            self.servers.push(server);
        }
    }

    /// Looks at the cluster until all are in it and one decides. Returns the one that does.
    fn status(&self, text: &str) -> usize {
        let began = Instant::now();
        loop {
            let output = self.run(text);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let place = |role: &str| {
                self.ports.map(|port| said.contains(&format!("http://127.0.0.1:{port} {role}")))
            };
            let following = place("follows");
            if let Some(index) = place("decides").iter().position(|decides| *decides)
                && following.iter().filter(|follows| **follows).count() == 2
            {
                let rows = said.lines().filter(|line| line.starts_with("http://"));
                assert_eq!(rows.count(), 3, "{said}");
                return index;
            }
            assert!(began.elapsed() < WAITING_MAX, "{said}");
            std::thread::park_timeout(Duration::from_millis(200));
        }
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for server in &mut self.servers {
            drop(server.kill());
            drop(server.wait());
        }
    }
}

fn machines() -> Result<Machines, &'static str> {
    let pair = Pair::start_bare()?;
    let folder = tempfile::tempdir().expect("a folder");
    let programs = folder.path().join("bin");
    std::fs::create_dir(&programs).expect("there is room");
    let program = Path::new(slotbook().get_program()).canonicalize().expect("it was built");
    symlink(program, programs.join("slotbook")).expect("there is room");
    let store = store_of(folder.path(), &practice(1));
    let ports = [free_port(), free_port(), free_port()];
    Ok(Machines { pair, folder, store, exported: String::new(), servers: Vec::new(), ports })
}

/// Books at a server, once it answers.
pub(super) async fn book(base: &str, nth: u64) {
    let wish = booking(&format!("c{nth}"), &half_hour(2 * nth), 1, &[2]);
    let began = Instant::now();
    loop {
        let url = format!("{base}/api/v1/groups/1/appointments?apikey=test-key");
        let answer = reqwest::Client::new().post(url).json(&wish).send().await;
        let answer = answer.expect("it is answered");
        if answer.status() == 201 {
            return;
        }
        // A server that has just joined may not know yet which one decides.
        assert_eq!(answer.status(), 503, "{:?}", answer.text().await);
        assert!(began.elapsed() < WAITING_MAX, "{base} cannot book");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_way_from_one_server_to_three_is_as_the_document_has_it() {
    let mut machines = match machines() {
        Ok(machines) => machines,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut single = Some(Served::on(&machines.store, &[]));
    book(&single.as_ref().expect("it was started").base, 1).await;
    let mut steps = Vec::new();
    let mut deciding = None;
    for Block { language, text } in blocks() {
        let first = text.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let primary = machines.pair.primary;
        let sql = machines.adapted(&text, 0);
        match (language, first.as_str()) {
            ("sql", "CREATE ROLE") => machines.pair.run_script(primary, &sql),
            ("sql", "ALTER SYSTEM") => machines.pair.run_script(1 - primary, &sql),
            ("text", "hostssl slots") => machines.pair.allow(&sql),
            ("console", "SLOTBOOK_SHARED_PASSWORD='…' slotbook") => drop(machines.run(&text)),
            ("console", line) if line.starts_with("export ") => machines.exported.push_str(&sql),
            ("console", "systemctl disable") => {
                let import = text.strip_prefix(STOP).expect("the server is stopped first");
                let single = single.take().expect("it is stopped once");
                assert_eq!(single.terminate(), Some(0));
                drop(machines.run(import));
            }
            ("console", "slotbook serve") => machines.serve(&text),
            ("console", "slotbook cluster") => deciding = Some(machines.status(&text)),
            _ => panic!("this test does not know how to run the block {language}: {text}"),
        }
        steps.push(first);
    }
    assert_eq!(steps.len(), 8, "{steps:?}");
    let deciding = deciding.expect("the last step looks at the cluster");
    for (nth, port) in (2..).zip(machines.ports) {
        book(&format!("http://127.0.0.1:{port}"), nth).await;
    }
    let file = machines.folder.path().join("export.json");
    let exported = run(&["export", file.to_str().expect("a plain path")], &machines.data(deciding));
    assert!(exported.status.success(), "{}", complaint(&exported));
    let document = std::fs::read(&file).expect("it was written");
    let document = serde_json::from_slice(&document).expect("JSON");
    assert_eq!(appointments(&document).count(), 4, "one from before, and one through each server");
}
