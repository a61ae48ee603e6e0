//! Messages, links and ids of removed sets move to another store by an export and an import.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use slotbook::clock::{Clock as _, SystemClock};
use slotbook::domain::time::zone;
use slotbook::wire::datetime;

use super::server::{Served, booking, complaint, half_hour, practice, run, store_of};

/// An SMTP server on the loopback. It accepts every mail, or says nothing while `is_silent`.
struct MailServer {
    port: String,
    is_silent: Arc<AtomicBool>,
    /// Recipients of the accepted mails, in order.
    accepted: Arc<Mutex<Vec<String>>>,
}

impl MailServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port().to_string();
        let (is_silent, accepted) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let server = Self { port, is_silent, accepted };
        let (is_silent, accepted) = (Arc::clone(&server.is_silent), Arc::clone(&server.accepted));
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming().map_while(Result::ok) {
                if is_silent.load(Ordering::SeqCst) {
                    silent.push(stream);
                } else {
                    let accepted = Arc::clone(&accepted);
                    std::thread::spawn(move || accept_mail(stream, &accepted));
                }
            }
        });
        server
    }

    fn accepted(&self) -> Vec<String> {
        self.accepted.lock().expect("no panic").clone()
    }
}

/// Speaks SMTP on one connection.
fn accept_mail(mut stream: TcpStream, accepted: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().expect("a handle")).lines();
    let mut reply = |text: &str| drop(stream.write_all(text.as_bytes()));
    reply("220 test\r\n");
    let mut recipient = String::new();
    while let Some(Ok(line)) = lines.next() {
        let command = line.to_ascii_uppercase();
        if command.starts_with("RCPT TO:") {
            recipient = line[8..].trim_matches(['<', '>']).to_owned();
            reply("250 ok\r\n");
        } else if command == "DATA" {
            reply("354 go on\r\n");
            while lines.next().is_some_and(|line| line.is_ok_and(|line| line != ".")) {}
            accepted.lock().expect("no panic").push(recipient.clone());
            reply("250 ok\r\n");
        } else {
            reply(if command == "QUIT" { "221 bye\r\n" } else { "250 ok\r\n" });
        }
    }
}

fn serve(data: &Path, mails: &MailServer) -> Served {
    let options = ["--smtp-host", "127.0.0.1", "--smtp-port", &mails.port, "--smtp-tls", "none"];
    // A silent server must hold an attempt until the end of the test.
    let more = ["--public-url", "https://rdv.example.org", "--message-seconds-max", "600"];
    Served::on(data, &[&options[..], &more].concat())
}

/// The lines of `slotbook messages`.
fn messages(data: &Path) -> Vec<Value> {
    let output = run(&["messages"], data);
    assert!(output.status.success(), "{}", complaint(&output));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Waits until the messages are of these kinds, in these states.
#[track_caller]
fn await_messages(data: &Path, wanted: &[(&str, &str)]) {
    let mut found = Vec::new();
    for _ in 0..500 {
        found = messages(data);
        let same = |(line, (kind, state)): (&Value, &(&str, &str))| {
            line["kind"] == *kind && line["state"] == *state
        };
        if found.len() == wanted.len() && found.iter().zip(wanted).all(same) {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(40));
    }
    panic!("not {wanted:?}: {found:?}");
}

/// Sends a request as the professional, and returns the answer.
async fn request_as_pro(request: reqwest::RequestBuilder) -> Value {
    let request = request.query(&[("apikey", "test-key")]);
    let answer = request.basic_auth("pro@example.org", Some("secret")).send().await;
    let answer = answer.expect("an answer");
    assert!(answer.status().is_success(), "{answer:?}");
    answer.json().await.unwrap_or_default()
}

/// Makes a set of calendars, and returns its id.
async fn make_set(base: &str) -> u64 {
    let url = format!("{base}/api/v1/groups/1/calendarsets");
    let body = json!({"calendarset": {"name": "Set"}});
    let made = request_as_pro(reqwest::Client::new().post(url).json(&body)).await;
    made["id"].as_u64().or(made["calendarset"]["id"].as_u64()).unwrap_or_else(|| panic!("{made}"))
}

/// A practice with an appointment of which the client is reminded in a few seconds.
fn practice_with_a_reminder() -> Value {
    let mut document = practice(1);
    let start = SystemClock.now().plus_seconds(3_600 + 6);
    let utc = |seconds| datetime::format_civil(zone::utc_of(start.plus_seconds(seconds)));
    let group = &mut document["groups"][0];
    group["mailreminder"] = 60.into();
    group["fiches"] =
        json!([{"id": 7, "lastname": "R", "email": "reminded@example.org", "rappel_email": true}]);
    group["vevents"].as_array_mut().expect("a list").push(json!({
        "id": 10, "calendar_id": 1, "start_utc": utc(0), "end_utc": utc(1_800),
        "fiche_id": 7, "intervention_id": 1,
    }));
    document
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_imported_store_sends_what_was_queued_and_repeats_nothing_that_was_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let mails = MailServer::start();
    let data = store_of(folder.path(), &practice_with_a_reminder());
    let served = serve(&data, &mails);
    let http = reqwest::Client::new();
    await_messages(&data, &[("mail_reminder", "sent")]);
    mails.is_silent.store(true, Ordering::SeqCst);
    let key = [("apikey", "test-key")];
    let url = format!("{}/api/v1/groups/1/appointments", served.base);
    let wish = booking("queued", &half_hour(20), 1, &[1]);
    let booked = http.post(url).query(&key).json(&wish).send().await.expect("an answer");
    assert_eq!(booked.status(), 201);
    let url = format!("{}/api/v1/accounts", served.base);
    let wish = json!({"account": {"email": "link@example.org", "group_id": 1}});
    let asked = http.post(url).query(&key).json(&wish).send().await.expect("an answer");
    assert_eq!(asked.status(), 201);
    let [reminder, confirmation, link] = ["mail_reminder", "confirmation", "account_confirmation"];
    await_messages(&data, &[(reminder, "sent"), (confirmation, "sending"), (link, "sending")]);
    let removed = make_set(&served.base).await;
    let url = format!("{}/api/v1/groups/1/calendarsets/{removed}", served.base);
    request_as_pro(http.delete(url)).await;
    drop(served.end("KILL"));

    let file = folder.path().join("export.json");
    let file = file.to_str().expect("a plain path");
    let other = folder.path().join("other");
    for (arguments, data) in [(["export", file], &data), (["import", file], &other)] {
        let done = run(&arguments, data);
        assert!(done.status.success(), "{}", complaint(&done));
    }
    let document = std::fs::read_to_string(file).expect("it was written");
    assert!(!document.contains("token\""), "no token leaves the store");
    let (before, after) = (messages(&data), messages(&other));
    assert_eq!(before[..2], after[..2]);
    assert_eq!(
        (&after[2]["kind"], &after[2]["state"], &after[2]["reason"]),
        (&link.into(), &"suppressed".into(), &"the link had expired".into())
    );

    mails.is_silent.store(false, Ordering::SeqCst);
    let served = serve(&other, &mails);
    await_messages(&other, &[(reminder, "sent"), (confirmation, "sent"), (link, "suppressed")]);
    assert_eq!(mails.accepted(), ["reminded@example.org", "queued@example.org"]);
    assert_eq!(messages(&other)[0], before[0], "the reminder is the one of the first server");
    assert!(make_set(&served.base).await > removed, "the id {removed} is not used again");
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn an_export_into_a_pipe_leaves_the_pipe_in_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("it runs");
    assert!(made.success());
    let opened = pipe.clone();
    let reader = std::thread::spawn(move || std::fs::read(opened).expect("it can be read"));
    let exported = run(&["export", pipe.to_str().expect("a plain path")], &data);
    assert!(exported.status.success(), "{}", complaint(&exported));
    let kind = std::fs::symlink_metadata(&pipe).expect("it is there").file_type();
    assert!(std::os::unix::fs::FileTypeExt::is_fifo(&kind), "{kind:?}");
    let document: Value = serde_json::from_slice(&reader.join().expect("it ends")).expect("JSON");
    assert!(document["groups"].is_array(), "{document}");
}

#[tokio::test]
async fn the_example_document_imports_and_offers_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let example = run(&["import", "--example"], &data);
    assert!(example.status.success(), "{}", complaint(&example));
    let file = folder.path().join("practice.json");
    std::fs::write(&file, &example.stdout).expect("it is written");
    let imported = run(&["import", file.to_str().expect("a plain path")], &data);
    assert!(imported.status.success(), "{}", complaint(&imported));
    let served = Served::on(&data, &[]);
    let url = format!(
        "{}/api/v1/groups/1/availabletimeslots?apikey=change-this-key&intervention_ids[]=1&first=1",
        served.base
    );
    let answer = reqwest::get(url).await.expect("an answer");
    let slots: Value = serde_json::from_str(&answer.text().await.expect("a text")).expect("JSON");
    assert!(slots["firstSlot"].as_str().is_some(), "{slots}");
    let unsaid = run(&["import"], &data);
    assert_eq!(unsaid.status.code(), Some(2), "{}", complaint(&unsaid));
}
