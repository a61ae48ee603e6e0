//! The program itself: what it prints, what it keeps, and how it ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

fn slotbook(arguments: &[&str], data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotbook"));
    command.args(arguments).env("SLOTBOOK_DATA", data).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str], data: &Path) -> Output {
    slotbook(arguments, data).output().expect("the program runs")
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A served data directory.
struct Served {
    child: Child,
    base: String,
}

impl Served {
    fn start(data: &Path, more: &[&str]) -> Self {
        let arguments: Vec<&str> =
            ["serve", "--listen", "127.0.0.1:0"].into_iter().chain(more.iter().copied()).collect();
        let mut command = slotbook(&arguments, data);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("it is piped")).read_line(&mut line).expect("a line");
        let base = line.trim_end().strip_prefix("listening on ").expect("where it listens").to_owned();
        Self { child, base }
    }

    /// Ends it by a signal; its exit code and what it said on stderr.
    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        kill_process(Pid::from_raw(id).expect("a process id"), signal).expect("it is there");
        let mut said = String::new();
        self.child.stderr.take().expect("it is piped").read_to_string(&mut said).expect("text");
        (self.child.wait().expect("it ends").code(), said)
    }

    async fn get(&self, path: &str) -> Value {
        let response = reqwest::get(format!("{}{path}", self.base)).await.expect("an answer");
        response.json().await.expect("JSON")
    }
}

#[tokio::test]
async fn what_was_answered_outlives_a_kill_and_a_demonstration_changes_nothing_that_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let served = Served::start(&data, &["--demo"]);
    let first = "/api/v1/groups/1/availabletimeslots?apikey=demo-key-town-practice&intervention_ids[]=1&first=1";
    let date = served.get(first).await["firstSlot"].clone();
    let booking = json!({"appointment": {"date": date, "intervention_ids": [1], "fiche": {"lastname": "Durand"}}});
    let path = format!("{}/api/v1/groups/1/appointments?apikey=demo-key-town-practice", served.base);
    let made = reqwest::Client::new().post(&path).json(&booking).send().await.unwrap();
    assert_eq!(made.status(), 201);
    let record = made.json::<Value>().await.unwrap()["records"][0].clone();
    let (code, said) = served.end(Signal::KILL);
    assert_eq!(code, None);
    assert!(said.contains("demo-key-town-practice") && said.contains("anna@example.org"), "{said}");

    let served = Served::start(&data, &["--demo"]);
    let (id, key) = (&record["id"], record["key"].as_str().unwrap());
    let path = format!("/api/v1/groups/1/appointments/{id}?apikey=demo-key-town-practice&key={key}");
    assert_eq!(served.get(&path).await["start"], date);
    let (code, said) = served.end(Signal::TERM);
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("demonstration"), "{said}");
    assert!(!said.contains(key) && !said.contains("apikey="), "logs hold no secrets: {said}");
}

#[test]
fn a_second_server_is_refused_and_the_first_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let served = Served::start(directory.path(), &[]);
    let second = run(&["serve", "--listen", "127.0.0.1:0"], directory.path());
    assert_eq!(second.status.code(), Some(1));
    assert!(complaint(&second).contains("in use by another slotbook"), "{}", complaint(&second));
    let (code, said) = served.end(Signal::INT);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("slotbook import"), "an empty store says what to do next: {said}");
}

#[test]
fn bad_usage_is_2_and_a_refusal_is_1() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [&["serve", "--listen", "here"][..], &["nonsense"], &["import"], &["config", "--config", "/none"]]
    {
        assert_eq!(run(arguments, directory.path()).status.code(), Some(2), "{arguments:?}");
    }
    assert_eq!(run(&["export", "out.json"], directory.path()).status.code(), Some(1), "no store");
    assert_eq!(run(&["import", "/nonexistent.json"], directory.path()).status.code(), Some(1));
}

#[test]
fn a_wrong_document_is_named_by_its_place_and_leaves_no_store() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("wrong.json");
    std::fs::write(&file, r#"{"groups":[{"name":"x","timezone":"Mars"}]}"#).unwrap();
    let data = directory.path().join("data");
    let refused = run(&["import", file.to_str().unwrap()], &data);
    assert_eq!(refused.status.code(), Some(1));
    assert!(complaint(&refused).contains("groups[0].timezone"), "{}", complaint(&refused));
    assert!(!data.exists());
}

#[test]
fn what_export_writes_import_restores() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let text = |name: &str| path(name).to_str().unwrap().to_owned();
    drop(Served::start(&path("one"), &["--demo"]).end(Signal::TERM));
    for (arguments, data) in [
        (["export", &text("a.json")], "one"),
        (["import", &text("a.json")], "two"),
        (["export", &text("b.json")], "two"),
    ] {
        let done = run(&arguments, &path(data));
        assert_eq!(done.status.code(), Some(0), "{}", complaint(&done));
    }
    assert_eq!(std::fs::read(path("a.json")).unwrap(), std::fs::read(path("b.json")).unwrap());
    let again = run(&["import", &text("a.json")], &path("two"));
    assert_eq!(again.status.code(), Some(1));
    assert!(complaint(&again).contains("--merge"), "{}", complaint(&again));
}

#[test]
fn the_options_are_listed_as_a_file_and_come_from_one() {
    let directory = tempfile::tempdir().unwrap();
    let listing = run(&["config", "--listen", "127.0.0.1:1"], directory.path());
    let file = directory.path().join("slotbook.toml");
    std::fs::write(&file, &listing.stdout).unwrap();
    let again = run(&["config", "--config", file.to_str().unwrap()], directory.path());
    assert_eq!(String::from_utf8(again.stdout).unwrap(), String::from_utf8(listing.stdout).unwrap());
}
