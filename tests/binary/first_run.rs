//! The link by which a browser sets up the first shop: who gets it, and when a server is ready.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use super::server::{Served, complaint, run};

/// A server on a terminal of its own, which `script` makes.
struct OnTerminal(Child);

impl OnTerminal {
    fn serve(data: &Path) -> Self {
        let program = env!("CARGO_BIN_EXE_slotbook");
        let line = format!("'{program}' serve --listen 127.0.0.1:0 --data '{}'", data.display());
        let mut command = Command::new("script");
        command.args(["-qefc", &line, "/dev/null"]).env("SLOTBOOK_LOG", "trace");
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped());
        Self(piped.spawn().expect("script of util-linux is there"))
    }

    /// The first line with a mark.
    fn line_with(&mut self, mark: &str) -> String {
        let output = BufReader::new(self.0.stdout.as_mut().expect("piped"));
        let mut lines = output.lines().map(|line| line.expect("text"));
        lines.find(|line| line.contains(mark)).expect("it says the line").trim().to_owned()
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // Its terminal goes with it, and so the server.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The link that a command prints.
#[track_caller]
fn link(data: &Path) -> String {
    let output = run(&["first-run"], data);
    assert!(output.status.success(), "{}", complaint(&output));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

#[track_caller]
fn refused(output: &Output, why: &str) {
    assert_eq!(output.status.code(), Some(1), "{}", complaint(output));
    assert!(complaint(output).contains(why), "{why:?} in {}", complaint(output));
    assert!(output.stdout.is_empty());
}

async fn status(url: &str) -> u16 {
    reqwest::get(url).await.expect("an answer").status().as_u16()
}

#[tokio::test]
async fn a_terminal_gets_the_link_and_a_later_one_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let mut server = OnTerminal::serve(&data);
    let first = server.line_with("/first-run/");
    assert!(first.starts_with("http://localhost:"), "{first}");
    let token = first.rsplit('/').next().expect("a token");
    assert_eq!(token.len(), 43, "256 bits in base64: {token}");
    assert_eq!(status(&first).await, 200);
    let second = link(&data);
    assert_ne!(first, second);
    assert_eq!((status(&first).await, status(&second).await), (404, 200));
}

#[tokio::test]
async fn a_log_never_has_the_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let server = Served::heard(&data, &["--create", "--log", "trace"]);
    let url = link(&data);
    let token = url.rsplit('/').next().expect("a token").to_owned();
    assert_eq!(status(&url).await, 200);
    let remote = reqwest::Client::new().get(&url).header("host", "shop.example");
    assert_eq!(remote.send().await.expect("an answer").status(), 403);
    let (_, log) = server.end("TERM");
    assert!(log.contains("slotbook first-run"), "it names the command: {log}");
    assert!(!log.contains(&token) && !log.contains("/first-run/"), "{log}");
}

#[tokio::test]
async fn a_server_without_groups_is_ready_once_it_has_one_or_a_program_may_found_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    refused(&run(&["first-run"], &data), "no store");
    let server = Served::on(&data, &["--create"]);
    let ready = format!("{}/readyz", server.base);
    let answer = reqwest::get(&ready).await.expect("an answer");
    assert_eq!(answer.status(), 503);
    assert!(answer.text().await.expect("text").contains("slotbook first-run"));
    assert_eq!(status(&format!("{}/healthz", server.base)).await, 200);
    let url = link(&data);

    let key = run(&["key", "add", "--operator"], &data);
    let key = String::from_utf8(key.stdout).expect("text").trim().to_owned();
    assert_eq!(status(&ready).await, 200, "a program of the operator may found groups");
    assert_eq!(status(&url).await, 200, "and a browser too");
    assert!(run(&["key", "revoke", &key], &data).status.success());
    assert_eq!(status(&ready).await, 503);

    assert!(run(&["group", "add", "Shop", "--timezone", "Paris"], &data).status.success());
    assert_eq!(status(&ready).await, 200);
    assert_eq!(status(&url).await, 404, "the command line ends the first run");
    refused(&run(&["first-run"], &data), "has a group already");
    drop(server.end("KILL"));
    refused(&run(&["first-run"], &data), "has a group already");
}

#[test]
fn without_a_server_no_link_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let server = Served::on(&data, &["--create"]);
    assert!(run(&["key", "add", "--operator"], &data).status.success());
    assert_eq!(server.terminate(), Some(0));
    refused(&run(&["first-run"], &data), "no server runs");
}

#[test]
fn behind_tls_the_link_begins_with_the_public_address() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let public = ["--create", "--behind-tls", "--public-url", "https://rdv.example.org"];
    let server = Served::on(&data, &public);
    assert!(link(&data).starts_with("https://rdv.example.org/first-run/"));
    assert_eq!(server.terminate(), Some(0));
    let server = Served::on(&data, &["--create", "--public-url", "http://rdv.example.org"]);
    assert!(link(&data).starts_with("http://localhost:"), "nothing else is private");
    assert_eq!(server.terminate(), Some(0));
}
