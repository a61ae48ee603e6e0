//! Changes as they arrive at receivers of webhooks: in order, signed, through failures and kills. Reference 18.

use std::collections::BTreeSet;
use std::io::BufRead as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant as Stopwatch};

use serde_json::{Value, json};

use super::receivers::{Arrived, Receiver, Reply};
use super::server::{Served, booking, complaint, exported, half_hour, practice, run, store_of};

/// How long a test waits for what has to come.
const PATIENCE: Duration = Duration::from_secs(120);
const ALLOWED: [&str; 2] = ["--webhook-allow", "127.0.0.0/8"];

/// An administrator of group 1.
struct Admin {
    http: reqwest::Client,
    base: String,
}

impl Admin {
    fn at(server: &Served) -> Self {
        Self { http: reqwest::Client::new(), base: server.base.clone() }
    }

    /// The status and the JSON of an answer.
    async fn asks(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
        let url = format!("{}/api/v1/groups/1/{path}", self.base);
        let mut request = self.http.request(method, url).query(&[("apikey", "test-key")]);
        request = request.basic_auth("pro@example.org", Some("secret"));
        if !body.is_null() {
            request = request.json(body);
        }
        let answer = request.send().await.expect("an answer");
        (answer.status().as_u16(), answer.json().await.unwrap_or(Value::Null))
    }

    async fn does(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, json) = self.asks(method, path, body).await;
        assert!((200..300).contains(&status), "{method} {path}: {status} {json}");
        json
    }

    /// A new webhook: its path, and its secret.
    async fn hooks(&self, receiver: &Receiver, objects: &[&str]) -> (String, String) {
        let body = json!({"url": receiver.url(), "objects": objects});
        let made = self.does("POST", "webhooks", &body).await;
        let secret = made["secret"].as_str().expect("a secret").to_owned();
        (format!("webhooks/{}", made["id"]), secret)
    }

    /// Books so many half hours from one on.
    async fn books(&self, from: u64, count: u64) {
        for number in from..from + count {
            let body = booking(&format!("c{number}"), &half_hour(number), 1, &[1]);
            self.does("POST", "appointments", &body).await;
        }
    }

    /// Changes of the feed behind a cursor, as the receivers of webhooks name them.
    async fn feed(&self, since: &str) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let mut since = since.to_owned();
        loop {
            let page = self.does("GET", &format!("changes?since={since}"), &Value::Null).await;
            for change in page["changes"].as_array().expect("a list") {
                let text = |name: &str| change[name].as_str().expect("text").to_owned();
                all.push((text("cursor"), format!("{} {}", text("object"), text("verb"))));
            }
            since = page["next"].as_str().expect("a cursor").to_owned();
            if page["more"] == false {
                return all;
            }
        }
    }

    async fn cursor(&self) -> String {
        let page = self.does("GET", "changes?since=now", &Value::Null).await;
        page["next"].as_str().expect("a cursor").to_owned()
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Stopwatch::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// All changes of deliveries, in the order in which they came.
fn told(deliveries: &[Arrived]) -> Vec<(String, String)> {
    deliveries.iter().flat_map(Arrived::changes).collect()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().expect("a runtime")
}

#[test]
fn a_receiver_that_fails_a_third_of_the_time_gets_each_change_once_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let server = Served::on(&data, &ALLOWED);
    let failing = Receiver::open(|number, _| match number % 6 {
        1 => Reply::Status(500),
        4 => Reply::Drop,
        _ => Reply::Status(200),
    });
    let steady = Receiver::open(|_, _| Reply::Status(204));
    runtime().block_on(async {
        let admin = Admin::at(&server);
        let since = admin.cursor().await;
        let (_, secret) = admin.hooks(&failing, &[]).await;
        admin.hooks(&steady, &["fiche"]).await;
        admin.books(0, 40).await;
        let feed = admin.feed(&since).await;
        assert!(feed.len() >= 80, "a client and an appointment each: {}", feed.len());
        until("all arrives", || told(&failing.taken()).len() >= feed.len()).await;
        assert_eq!(told(&failing.taken()), feed);
        let clients: Vec<_> =
            feed.iter().filter(|(_, it)| it.starts_with("fiche:")).cloned().collect();
        until("its clients arrive", || told(&steady.taken()).len() >= clients.len()).await;
        assert_eq!(told(&steady.taken()), clients);
        for arrived in failing.arrived() {
            assert!(arrived.is_signed_with(&secret), "{arrived:?}");
            let json = arrived.json();
            assert_eq!((&json["type"], &json["data"]["group"]), (&json!("changes"), &json!(1)));
            assert!(!arrived.body.contains("example.org"), "no person: {}", arrived.body);
        }
        // A request that was not taken comes again as it was.
        let all = failing.arrived();
        for failed in all.iter().filter(|it| it.status != 200) {
            let again = all.iter().find(|it| it.id == failed.id && it.status == 200);
            assert_eq!(again.expect("it comes again").changes(), failed.changes());
        }
    });
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_server_that_is_killed_again_and_again_loses_no_change_and_repeats_ids_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(4));
    let receiver =
        Receiver::open(
            |number, _| {
                if number % 3 == 1 { Reply::Status(503) } else { Reply::Status(200) }
            },
        );
    let mut server = Served::on(&data, &ALLOWED);
    let server = runtime().block_on(async {
        let since = Admin::at(&server).cursor().await;
        Admin::at(&server).hooks(&receiver, &[]).await;
        for life in 0..5 {
            let admin = Admin::at(&server);
            // Each waits for the receiver a different number of deliveries before the kill.
            let before = receiver.taken().len();
            admin.books(life * 20, 20).await;
            let goal = before + usize::try_from(life).expect("small") % 4 * 3;
            until("some arrive", || receiver.taken().len() >= goal).await;
            server.end("KILL");
            server = Served::on(&data, &ALLOWED);
        }
        let admin = Admin::at(&server);
        let feed = admin.feed(&since).await;
        until("all arrives", || told(&receiver.taken()).len() >= feed.len()).await;
        let taken = receiver.taken();
        assert_eq!(told(&taken), feed, "none lost, none twice, in order");
        assert!(taken.iter().any(|it| it.changes().len() > 1), "changes that wait go together");
        let ids: BTreeSet<&str> = taken.iter().map(|it| it.id.as_str()).collect();
        for arrived in receiver.arrived() {
            let first = taken.iter().find(|it| it.id == arrived.id);
            assert!(ids.contains(arrived.id.as_str()), "{arrived:?}");
            assert_eq!(first.expect("it was taken").changes(), arrived.changes());
        }
        server
    });
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_receiver_that_never_answers_holds_back_no_other_and_no_stop() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let server = Served::on(&data, &ALLOWED);
    let stuck = Receiver::open(|_, _| Reply::Hang);
    let steady = Receiver::open(|_, _| Reply::Status(200));
    runtime().block_on(async {
        let admin = Admin::at(&server);
        let since = admin.cursor().await;
        for _ in 0..5 {
            admin.hooks(&stuck, &[]).await;
        }
        admin.hooks(&steady, &[]).await;
        admin.books(0, 20).await;
        let feed = admin.feed(&since).await;
        until("the other gets all", || told(&steady.taken()).len() >= feed.len()).await;
        assert_eq!(told(&steady.taken()), feed);
        until("the stuck one is tried", || stuck.arrived().len() >= 5).await;
    });
    let began = Stopwatch::now();
    assert_eq!(server.terminate(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn a_secret_that_is_changed_signs_beside_the_next_until_it_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let server = Served::on(&data, &ALLOWED);
    let receiver = Receiver::open(|_, _| Reply::Status(200));
    runtime().block_on(async {
        let admin = Admin::at(&server);
        let (path, first) = admin.hooks(&receiver, &["vevent"]).await;
        let rotated = admin.does("POST", &format!("{path}/secret"), &Value::Null).await;
        let second = rotated["secret"].as_str().expect("a secret").to_owned();
        assert!(rotated["former_secret_until_utc"].is_string() && first != second);
        admin.books(0, 1).await;
        until("it arrives", || receiver.taken().len() == 1).await;
        let arrived = receiver.taken().remove(0);
        assert_eq!(arrived.signature.split(' ').count(), 2);
        assert!(arrived.is_signed_with(&first) && arrived.is_signed_with(&second));
        let ended = admin.does("DELETE", &format!("{path}/secret"), &Value::Null).await;
        assert_eq!(ended["former_secret_until_utc"], Value::Null);
        let tested = admin.does("POST", &format!("{path}/test"), &Value::Null).await;
        assert_eq!((&tested["status"], &tested["taken"]), (&json!(200), &json!(true)));
        let arrived = receiver.arrived().pop().expect("a test");
        assert_eq!(arrived.json()["type"], "test");
        assert!(!arrived.is_signed_with(&first) && arrived.is_signed_with(&second));
    });
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_receiver_that_is_gone_is_off_at_once_and_goes_on_where_it_was_once_it_is_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let server = Served::on(&data, &ALLOWED);
    let receiver = Receiver::open(|_, _| Reply::Status(410));
    runtime().block_on(async {
        let admin = Admin::at(&server);
        let since = admin.cursor().await;
        let (path, _) = admin.hooks(&receiver, &["vevent"]).await;
        admin.books(0, 3).await;
        let began = Stopwatch::now();
        let off = loop {
            let shown = admin.does("GET", &path, &Value::Null).await;
            if shown["active"] == false {
                break shown;
            }
            assert!(began.elapsed() < PATIENCE, "{shown}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert_eq!((&off["off_reason"], receiver.arrived().len()), (&json!("gone"), 1));
        assert_eq!(off["answers"][0]["status"], 410);
        receiver.changes_mood(|_, _| Reply::Status(200));
        let on = admin.does("PUT", &path, &json!({"active": true})).await;
        assert_eq!((&on["active"], &on["off_reason"]), (&json!(true), &Value::Null));
        let feed: Vec<_> = admin.feed(&since).await;
        let events: Vec<_> =
            feed.iter().filter(|(_, it)| it.starts_with("vevent:")).cloned().collect();
        until("all arrives", || told(&receiver.taken()).len() >= events.len()).await;
        assert_eq!(told(&receiver.taken()), events);
        // Set back on purpose, all comes once more, under other ids.
        let ids: BTreeSet<String> = receiver.arrived().into_iter().map(|it| it.id).collect();
        admin.does("PUT", &path, &json!({"since": since})).await;
        let twice = || told(&receiver.taken()).len() >= 2 * events.len();
        until("it comes again", twice).await;
        let again: Vec<Arrived> =
            receiver.taken().into_iter().filter(|it| !ids.contains(&it.id)).collect();
        assert_eq!(told(&again), events);
        let history = admin.does("GET", "history?object=webhook:1", &Value::Null).await;
        let verbs: Vec<&str> = history["rows"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| row["verb"].as_str().expect("a verb"))
            .collect();
        assert_eq!(verbs, ["changed", "changed", "changed", "made"]);
    });
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn secrets_are_in_no_list_history_export_or_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let server = Served::heard(&data, &["--webhook-allow", "127.0.0.0/8", "--log", "debug"]);
    let receiver = Receiver::open(|number, _| match number {
        0 => Reply::Status(500),
        _ => Reply::Status(200),
    });
    let secrets = runtime().block_on(async {
        let admin = Admin::at(&server);
        let (path, first) = admin.hooks(&receiver, &[]).await;
        let rotated = admin.does("POST", &format!("{path}/secret"), &Value::Null).await;
        let second = rotated["secret"].as_str().expect("a secret").to_owned();
        admin.books(0, 2).await;
        until("it arrives", || !receiver.taken().is_empty()).await;
        for path in ["webhooks", &path, "history", "changes", "messages", "export"] {
            let (_, json) = admin.asks("GET", path, &Value::Null).await;
            let shown = json.to_string();
            assert!(!shown.contains("whsec_"), "{path}: {shown}");
        }
        let (status, gone) = admin.asks("PUT", &path, &json!({"since": "1-1-00000001"})).await;
        assert_eq!(status, 410, "{gone}");
        [first, second].map(|secret| secret.trim_start_matches("whsec_").to_owned())
    });
    let (code, said) = server.end("TERM");
    assert_eq!(code, Some(0));
    let document = exported(&data).to_string();
    for secret in secrets {
        assert!(!said.contains(&secret), "the log");
        assert!(!document.contains(&secret), "the export");
    }
    assert!(!said.contains("/hook?x=1"), "the log has no address of a receiver");
    assert!(!document.contains("webhooks\":"), "webhooks are not exported");
}

#[test]
fn an_import_over_the_group_keeps_its_webhooks_and_tells_their_receivers() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let receiver = Receiver::open(|_, _| Reply::Status(200));
    let server = Served::on(&data, &ALLOWED);
    runtime().block_on(async {
        let admin = Admin::at(&server);
        admin.hooks(&receiver, &[]).await;
        admin.books(0, 1).await;
        until("it arrives", || told(&receiver.taken()).len() == 2).await;
    });
    assert_eq!(server.terminate(), Some(0));
    let document = exported(&data);
    let file = folder.path().join("again.json");
    std::fs::write(&file, document.to_string()).expect("it is written");
    let file = file.to_str().expect("a plain path");
    let imported = run(&["import", file, "--merge"], &data);
    assert!(imported.status.success(), "{}", complaint(&imported));
    let before = receiver.arrived().len();
    let server = Served::on(&data, &ALLOWED);
    runtime().block_on(async {
        until("its receiver learns of it", || receiver.arrived().len() > before).await;
        let reset = receiver.arrived().remove(before);
        assert_eq!(reset.json()["type"], "reset", "{reset:?}");
        Admin::at(&server).books(1, 1).await;
        until("it goes on", || receiver.arrived().len() > before + 1).await;
        assert_eq!(receiver.arrived().remove(before + 1).json()["type"], "changes");
    });
    assert_eq!(server.terminate(), Some(0));
}

/// The receivers of docs/webhooks.md: the language of the block, its interpreter, and the name of the file.
const RECEIVERS: [(&str, &str, &str); 2] =
    [("python", "python3", "receiver.py"), ("javascript", "node", "receiver.cjs")];

/// A receiver of the documentation. Dropped, it is killed.
struct Documented {
    child: Child,
    lines: std::io::Lines<std::io::BufReader<ChildStdout>>,
}

impl Drop for Documented {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn the_receivers_of_the_documentation_take_what_is_signed_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let server = Served::on(&data, &ALLOWED);
    let document = include_str!("../../docs/webhooks.md");
    for (number, (language, interpreter, name)) in (0..).zip(RECEIVERS) {
        let is_there = Command::new(interpreter).arg("--version").output();
        if !is_there.is_ok_and(|output| output.status.success()) {
            println!("{interpreter} is not installed: the receiver in {language} is not run");
            continue;
        }
        let (_, rest) = document.split_once(&format!("\n```{language}\n")).expect("a block");
        let (program, _) = rest.split_once("\n```\n").expect("the block ends");
        let file = folder.path().join(name);
        std::fs::write(&file, program).expect("it is written");
        runtime().block_on(async {
            let admin = Admin::at(&server);
            let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
            let port = free.local_addr().expect("an address").port();
            drop(free);
            let url = format!("http://127.0.0.1:{port}/");
            let made =
                admin.does("POST", "webhooks", &json!({"url": url, "objects": ["fiche"]})).await;
            let path = format!("webhooks/{}", made["id"]);
            let secret = made["secret"].as_str().expect("a secret");
            let mut receiver = document_receiver(interpreter, &file, port, secret);
            until("it listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
            let tested = admin.does("POST", &format!("{path}/test"), &Value::Null).await;
            assert_eq!(tested["status"], 204, "{language}: {tested}");
            admin.books(number, 1).await;
            let mut line = || receiver.lines.next().expect("a line").expect("text");
            assert_eq!([line(), line()], ["test", "changes"].map(str::to_owned), "{language}");
            assert!(line().starts_with("fiche:"), "{language}");
            // Twice other secrets: what is signed has none that the receiver knows.
            admin.does("POST", &format!("{path}/secret"), &Value::Null).await;
            admin.does("DELETE", &format!("{path}/secret"), &Value::Null).await;
            let tested = admin.does("POST", &format!("{path}/test"), &Value::Null).await;
            assert_eq!(tested["status"], 401, "{language}: {tested}");
            admin.does("DELETE", &path, &Value::Null).await;
        });
    }
    assert_eq!(server.terminate(), Some(0));
}

fn document_receiver(interpreter: &str, file: &Path, port: u16, secret: &str) -> Documented {
    let mut child = Command::new(interpreter)
        .arg(file)
        .env("WEBHOOK_SECRET", secret)
        .env("PORT", port.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the interpreter starts");
    let lines = std::io::BufReader::new(child.stdout.take().expect("piped")).lines();
    Documented { child, lines }
}
