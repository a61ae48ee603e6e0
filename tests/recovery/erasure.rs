//! A client who was erased is on no byte of the disk any more. Reference 17.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use data_encoding::{BASE64, BASE64URL};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use slotbook::clock::{Clock as _, SystemClock};
use slotbook::domain::time::{Civil, DAY};
use slotbook::engine::recovery;
use slotbook::wire::datetime;

use super::released::expect_released;
use super::server::{Served, complaint, exported, half_hour, practice, run, signal, store_of};

/// A mail server that takes nothing, so that messages wait.
const MAIL: [&str; 6] = ["--smtp-host", "127.0.0.1", "--smtp-port", "9", "--smtp-tls", "none"];
const PRO: (&str, &str) = ("pro@example.org", "secret");
const CLIENT: (&str, &str) = ("zq7-account@canary.example", "secret of the client");

/// The texts of the client, each another one, in every field that takes a text.
const CANARIES: [&str; 21] = [
    "Zq7Lastname",
    "Zq7Firstname",
    "0677000001",
    "0677000002",
    CLIENT.0,
    "Zq7Comments",
    "Zq7Custom",
    "Zq7VeventComments",
    "Zq7Internal",
    "Zq7Taker",
    "Zq7Source",
    "Zq7VeventCustom",
    "Zq7WebComments",
    "Zq7WebSource",
    "Zq7HeldLast",
    "Zq7HeldComments",
    "Zq7HeldSource",
    "Zq7HeldCustom",
    "zq7-asked@canary.example",
    "Zq7Pending",
    "Zq7Text",
];

/// A practice with a client, an account and attributes; 1 is erased and 2 stays.
fn shop() -> Value {
    let mut document = practice(1);
    let group = &mut document["groups"][0];
    group["verify_bookings"] = json!("off");
    group["customfields"] = json!([
        {"id": 1, "model": "Fiche", "name": "str0", "user_visible": true},
        {"id": 2, "model": "Vevent", "name": "str0", "user_visible": true},
    ]);
    group["fiches"] = json!([
        {"id": 1, "lastname": "Zq7Lastname", "firstname": "Zq7Firstname", "firstphone": "0677000001",
         "secondphone": "0677000002", "email": CLIENT.0, "comments": "Zq7Comments",
         "str0": "Zq7Custom", "created_at": "2025-01-02 03:04:05"},
        {"id": 2, "lastname": "Stays", "email": "stays@example.org"},
    ]);
    group["accounts"] = json!([{"email": CLIENT.0, "password": CLIENT.1, "fiche_id": 1}]);
    document
}

struct Shop {
    served: Served,
}

impl Shop {
    fn by_pro(&self, method: Method, path: &str) -> RequestBuilder {
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}apikey=test-key");
        let url = format!("{}/api/v1/groups/1{path}", self.served.base);
        reqwest::Client::new().request(method, url).basic_auth(PRO.0, Some(PRO.1))
    }

    fn by_key(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/api/v1/groups/1{path}?apikey=test-key", self.served.base);
        reqwest::Client::new().request(method, url)
    }

    /// Puts a text of the client into everything that the server keeps.
    async fn fill(&self) {
        let made = json!({"vevent": {"calendar_id": 1, "intervention_id": 1, "fiche_id": 1,
            "start": "2026-01-05 09:00:00", "end": "2026-01-05 09:30:00",
            "comments": "Zq7VeventComments", "internal_comments": "Zq7Internal",
            "taker": "Zq7Taker", "websource": "Zq7Source", "str0": "Zq7VeventCustom"}});
        let made =
            self.by_pro(Method::POST, "/vevents").header("Idempotency-Key", "one").json(&made);
        done(made, 201).await;
        let half = json!({"vevent": {"calendar_id": 1, "fiche_id": 1, "text": "Zq7Text",
            "start": "2026-01-06 09:00:00", "end": "2026-01-06 09:30:00"}});
        done(self.by_pro(Method::POST, "/vevents").json(&half), 201).await;
        let web = json!({"appointment": {"date": half_hour(3), "calendar_id": 1,
            "intervention_ids": [1], "comments": "Zq7WebComments", "websource": "Zq7WebSource"}});
        let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", self.served.base);
        let web = reqwest::Client::new().post(url).basic_auth(CLIENT.0, Some(CLIENT.1)).json(&web);
        done(web.header("Idempotency-Key", "an-account-books"), 201).await;
        let body = json!({"fiche": {"email": "zq7-asked@canary.example",
            "current_password": CLIENT.1}});
        let url = format!("{}/api/v1/groups/1/fiches/1?apikey=test-key", self.served.base);
        let asked = reqwest::Client::new().put(url).basic_auth(CLIENT.0, Some(CLIENT.1));
        done(asked.json(&body), 200).await;
        self.ask_for_link().await;
        self.hold().await;
    }

    /// Asks for a link to another password, with an appointment to come back to.
    async fn ask_for_link(&self) {
        let link = json!({"account": {"email": CLIENT.0, "group_id": 1,
            "pendingRdv": {"note": "Zq7Pending"}}});
        let url = format!("{}/api/v1/accounts?apikey=test-key", self.served.base);
        done(reqwest::Client::new().post(url).json(&link), 201).await;
    }

    /// Holds a time for a booking that waits for a code.
    async fn hold(&self) {
        let verify = json!({"group": {"verify_bookings": "mail"}});
        done(self.by_pro(Method::PUT, "").json(&verify), 200).await;
        let held = json!({"appointment": {"date": half_hour(9), "calendar_id": 1,
            "intervention_ids": [1], "comments": "Zq7HeldComments", "websource": "Zq7HeldSource",
            "str0": "Zq7HeldCustom", "fiche": {"lastname": "Zq7HeldLast", "email": CLIENT.0}}});
        done(self.by_key(Method::POST, "/appointments").json(&held), 202).await;
    }

    async fn erase(&self) {
        let refused = self.by_pro(Method::POST, "/fiches/1/erase");
        done(refused, 409).await;
        done(self.by_pro(Method::POST, "/fiches/1/erase?cancel=1"), 200).await;
    }

    /// Everything that the API shows a professional.
    async fn shown(&self) -> String {
        let mut all = String::new();
        for path in [
            "/fiches?results=500",
            "/vevents?results=500",
            "/appointments?results=500&include_past=1",
            "/messages?results=500",
            "/history?results=200",
            "/fiches/1",
        ] {
            all.push_str(&done(self.by_pro(Method::GET, path), 200).await);
        }
        all
    }
}

/// Sends a request that must have this status, and returns the body.
async fn done(request: RequestBuilder, status: u16) -> String {
    let answer = request.send().await.expect("an answer");
    let seen = answer.status().as_u16();
    let body = answer.text().await.expect("text");
    assert_eq!(seen, status, "{body}");
    body
}

/// A text as it may stand in bytes: itself in small letters, and in base64 at each alignment.
fn forms_of(text: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![text.to_ascii_lowercase().into_bytes()];
    for spelling in [text.to_owned(), text.to_ascii_lowercase()] {
        for offset in 0..3 {
            let padded = ["\0".repeat(offset), spelling.clone()].concat();
            // The first and the last digits depend on the bytes around.
            let first = [0, 2, 3][offset];
            let end = padded.len() * 8 / 6;
            for encoding in [BASE64, BASE64URL] {
                let digits = encoding.encode(padded.as_bytes());
                forms.push(digits.as_bytes()[first..end].to_ascii_lowercase());
            }
        }
    }
    forms
}

/// The texts of the client that stand in some bytes.
fn found_in(bytes: &[u8]) -> Vec<&'static str> {
    let small = bytes.to_ascii_lowercase();
    let holds = |form: &Vec<u8>| memchr::memmem::find(&small, form).is_some();
    CANARIES.into_iter().filter(|text| forms_of(text).iter().any(holds)).collect()
}

/// The bytes of all files below a directory, from which a server may remove some meanwhile.
fn bytes_below(directory: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut waiting: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten();
            waiting.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
        } else if path.is_file() {
            bytes.extend(std::fs::read(&path).unwrap_or_default());
        }
    }
    bytes
}

fn current(data: &Path) -> String {
    std::fs::read_to_string(data.join("CURRENT")).expect("a generation is named")
}

/// Waits until another generation is the current one.
#[expect(clippy::disallowed_methods, reason = "another process writes the file, and tells nobody")]
fn await_generation(data: &Path, before: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while current(data) == before {
        assert!(Instant::now() < deadline, "no generation was made");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
fn succeeds(arguments: &[&str], data: &Path) -> String {
    let output = run(arguments, data);
    assert!(output.status.success(), "{}", complaint(&output));
    String::from_utf8(output.stdout).expect("text")
}

#[tokio::test]
async fn an_erased_client_is_nowhere_on_the_disk_after_two_compactions() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &shop());
    let shop = Shop { served: Served::heard(&data, &MAIL) };
    shop.fill().await;
    let found = found_in(&bytes_below(&data));
    assert_eq!(found, CANARIES, "each stands on the disk before");
    let before = current(&data);
    shop.erase().await;
    assert_eq!(found_in(shop.shown().await.as_bytes()), [""; 0], "the API shows none at once");
    let list = std::fs::read_to_string(data.join("forgotten")).expect("the list");
    assert_eq!(list, "1 1 2025-01-02T03:04:05Z\n");

    // Killed between the two generations that follow by themselves.
    await_generation(&data, &before);
    let (_, said) = shop.served.end("KILL");
    assert_eq!(found_in(said.as_bytes()), [""; 0], "the log has none: {said}");
    let shop = Shop { served: Served::heard(&data, &MAIL) };
    assert_eq!(found_in(shop.shown().await.as_bytes()), [""; 0]);
    succeeds(&["compact", "--now"], &data);
    assert_eq!(found_in(&bytes_below(&data)), [""; 0], "no file of the store has any");
    let (code, said) = shop.served.end("TERM");
    assert_eq!((code, found_in(said.as_bytes())), (Some(0), vec![]), "{said}");
    let document = exported(&data);
    assert_eq!(found_in(document.to_string().as_bytes()), [""; 0]);
    assert_eq!(document["groups"][0]["fiches"][1]["lastname"], "Stays");
    assert_eq!(document["groups"][0]["vevents"].as_array().map(Vec::len), Some(4));
    assert!(succeeds(&["check"], &data).contains("all is well"));
}

#[tokio::test]
async fn a_pair_of_compactions_follows_an_erasure_by_itself_and_is_remembered_over_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &shop());
    let shop = Shop { served: Served::on(&data, &MAIL) };
    shop.fill().await;
    shop.erase().await;
    signal(shop.served.pid(), "KILL");
    drop(shop);
    assert_ne!(found_in(&bytes_below(&data)), [""; 0], "the journal holds it");
    let first = current(&data);
    let served = Served::on(&data, &MAIL);
    await_generation(&data, &first);
    let second = current(&data);
    await_generation(&data, &second);
    let third = current(&data);
    // The files of the oldest generation are removed right after the name has changed.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !found_in(&bytes_below(&data)).is_empty() || !data.join("cleaned").exists() {
        assert!(Instant::now() < deadline, "{:?}", found_in(&bytes_below(&data)));
    }
    drop(served);
    // Nothing is due any more, also after a restart. A command makes two more at once.
    let served = Served::on(&data, &MAIL);
    assert_eq!(current(&data), third);
    drop(served);
    succeeds(&["compact", "--now"], &data);
    assert_ne!(current(&data), third, "without a server it is done in the store");
    assert!(succeeds(&["check"], &data).contains("all is well"));
}

#[tokio::test]
async fn a_list_that_cannot_be_written_erases_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &shop());
    std::fs::create_dir(data.join("forgotten")).expect("it is in the way");
    let shop = Shop { served: Served::on(&data, &[]) };
    let refused = shop.by_pro(Method::POST, "/fiches/1/erase");
    let refused = done(refused, 503).await;
    assert!(refused.contains("nothing was erased"), "{refused}");
    assert!(shop.shown().await.contains("Zq7Lastname"));
    std::fs::remove_dir(data.join("forgotten")).expect("it is empty");
    done(shop.by_pro(Method::POST, "/fiches/1/erase"), 200).await;
    assert!(!shop.shown().await.contains("Zq7Lastname"));
}

#[tokio::test]
async fn erasures_are_repeated_on_a_restored_store_and_by_an_import() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &shop());
    let backup = folder.path().join("backup");
    succeeds(&["backup", backup.to_str().expect("a plain path")], &data);
    let old = folder.path().join("old.json");
    succeeds(&["export", old.to_str().expect("a plain path")], &data);
    assert!(succeeds(&["forget", "--group", "1", "--fiche", "1"], &data).contains("erased"));
    let refused = run(&["forget", "--group", "1", "--fiche", "9"], &data);
    assert!(!refused.status.success());
    let list = data.join("forgotten");
    let known = std::fs::read_to_string(&list).expect("the list");
    let more = "1 2 2001-01-01T00:00:00Z\n1 77 2001-01-01T00:00:00Z\n8 1 2001-01-01T00:00:00Z\n";
    let list = folder.path().join("list");
    std::fs::write(&list, known.clone() + more).expect("it is written");

    let from = ["forget", "--from", list.to_str().expect("a plain path")];
    let said = succeeds(&from, &backup);
    for line in [
        "1 2 2001-01-01T00:00:00Z: left alone: the fiche was made at another time\n",
        "1 77 2001-01-01T00:00:00Z: not there: the fiche does not exist\n",
        "8 1 2001-01-01T00:00:00Z: not there: the group does not exist\n",
        "1 erased\n",
    ] {
        assert!(said.contains(line), "{line} in {said}");
    }
    let restored = exported(&backup);
    assert_eq!(found_in(restored.to_string().as_bytes()), [""; 0]);
    assert_eq!(restored["groups"][0]["fiches"][1]["lastname"], "Stays");
    assert!(succeeds(&from, &backup).contains("1 erased before\n"));
    std::fs::write(&list, "1 2 yesterday\n").expect("it is written");
    assert!(complaint(&run(&from, &backup)).contains("line 1"));

    let said = succeeds(&["import", "--merge", old.to_str().expect("a plain path")], &data);
    assert!(said.contains("1 clients were erased again"), "{said}");
    assert_eq!(found_in(exported(&data).to_string().as_bytes()), [""; 0]);
    // A line of a client who lives is of no import of another group.
    let of_living = known.replacen("1 1 ", "1 2 ", 1);
    std::fs::write(data.join("forgotten"), known + &of_living).expect("it is written");
    let other = folder.path().join("other.json");
    let group = json!({"id": 9, "name": "Other", "timezone": "Paris",
        "pros": [{"email": "eve@example.org", "password": "three plain words"}]});
    std::fs::write(&other, json!({"groups": [group]}).to_string()).expect("it is written");
    let said = succeeds(&["import", "--merge", other.to_str().expect("a plain path")], &data);
    assert!(!said.contains("erased again"), "{said}");
    assert_eq!(exported(&data)["groups"][0]["fiches"][1]["lastname"], "Stays");
    let copied = folder.path().join("copied");
    succeeds(&["backup", copied.to_str().expect("a plain path")], &data);
    assert!(copied.join("forgotten").exists(), "a backup has a copy of the list");
}

#[tokio::test]
async fn emptied_appointments_are_nowhere_on_the_disk_after_two_compactions() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = shop();
    let group = &mut document["groups"][0];
    group["retention_appointments_months"] = json!(1);
    let appointment = json!({"id": 50, "calendar_id": 1, "intervention_id": 1, "fiche_id": 1,
        "start": "2024-01-05 09:00:00", "end": "2024-01-05 09:30:00",
        "comments": "Zq7VeventComments", "internal_comments": "Zq7Internal", "taker": "Zq7Taker",
        "websource": "Zq7Source", "str0": "Zq7VeventCustom"});
    group["vevents"].as_array_mut().expect("a list").push(appointment);
    let data = store_of(folder.path(), &document);
    let of_appointments =
        ["Zq7VeventComments", "Zq7Internal", "Zq7Taker", "Zq7Source", "Zq7VeventCustom"];
    let found = |bytes: &[u8]| -> Vec<&str> {
        found_in(bytes).into_iter().filter(|text| of_appointments.contains(text)).collect()
    };
    assert_eq!(found(&bytes_below(&data)), of_appointments);
    // Upkeep begins with the server.
    let shop = Shop { served: Served::on(&data, &[]) };
    let deadline = Instant::now() + Duration::from_secs(60);
    while !found(shop.shown().await.as_bytes()).is_empty() {
        assert!(Instant::now() < deadline, "nothing is emptied");
    }
    let row: Value =
        serde_json::from_str(&done(shop.by_pro(Method::GET, "/vevents/50"), 200).await)
            .expect("JSON");
    assert_ne!(row["fiche_id"], 1, "{row}");
    succeeds(&["compact", "--now"], &data);
    assert_eq!(found(&bytes_below(&data)), [""; 0]);
    assert!(found_in(&bytes_below(&data)).contains(&"Zq7Lastname"), "the client stays");
    assert_eq!(shop.served.terminate(), Some(0));
    assert!(succeeds(&["check"], &data).contains("all is well"));
}

/// The address of an account that its client does not have. The account is unused, and the client
/// stays.
const UNUSED: &str = "zq7-unused@canary.example";

/// The shop long after all that it knows of client 1, with a text in every field. Client 2 is new.
fn idle_shop() -> Value {
    let mut document = shop();
    let group = &mut document["groups"][0];
    let old = "2025-01-02 03:04:05";
    let fiche = &mut group["fiches"][0];
    fiche["updated_at"] = json!(old);
    group["accounts"]
        .as_array_mut()
        .expect("a list")
        .push(json!({"email": UNUSED, "password": "secret of the other", "fiche_id": 2}));
    let rows = [
        json!({"id": 50, "intervention_id": 1, "start": "2025-01-05 09:00:00",
            "end": "2025-01-05 09:30:00", "comments": "Zq7VeventComments",
            "internal_comments": "Zq7Internal", "taker": "Zq7Taker", "websource": "Zq7Source",
            "str0": "Zq7VeventCustom"}),
        json!({"id": 51, "intervention_id": 1, "start": "2025-01-06 09:00:00",
            "end": "2025-01-06 09:30:00", "comments": "Zq7WebComments",
            "websource": "Zq7WebSource", "from_web": true}),
        json!({"id": 52, "start": "2025-01-07 09:00:00", "end": "2025-01-07 09:30:00",
            "text": "Zq7Text"}),
    ];
    for mut row in rows {
        for (name, value) in [("calendar_id", json!(1)), ("fiche_id", json!(1))] {
            row[name] = value;
        }
        for name in ["created_at", "updated_at"] {
            row[name] = json!(old);
        }
        group["vevents"].as_array_mut().expect("a list").push(row);
    }
    // A mail to an address that the client had before. Messages end after 90 days by themselves.
    let yesterday = datetime::format_rfc_3339(SystemClock.now().plus_seconds(-DAY));
    let yesterday = yesterday[..19].replace('T', " ");
    group["messages"] = json!([{"id": 1, "kind": "confirmation",
        "recipient": "zq7-asked@canary.example", "created_at_utc": yesterday, "state": "sent",
        "settled_at_utc": yesterday, "attempts": 1,
        "appointments": [{"id": 50, "start_utc": "2025-01-05 09:00:00"}]}]);
    document
}

/// Lets the count of idle time have begun long ago, as in a store that was upgraded then.
fn count_since_2025(data: &Path) {
    let mut loaded = recovery::load(data).expect("it is read");
    let began = Civil::from_ymd_hms(2025, 1, 1, 0, 0, 0).expect("a time");
    let began = datetime::instant_from_utc(began).expect("in range");
    for state in &mut loaded.group_states {
        Arc::make_mut(state).privacy.counts_from = Some(began);
    }
    let replaced = recovery::replace(loaded.store, &loaded.directory, &loaded.group_states);
    drop(replaced.expect("it is written"));
    expect_released(data);
}

#[tokio::test]
async fn an_idle_client_and_an_unused_account_are_nowhere_on_the_disk_after_two_compactions() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &idle_shop());
    count_since_2025(&data);
    let found = |bytes: &[u8]| {
        let mut found = found_in(bytes);
        let small = bytes.to_ascii_lowercase();
        let holds = |form: &Vec<u8>| memchr::memmem::find(&small, form).is_some();
        if forms_of(UNUSED).iter().any(holds) {
            found.push(UNUSED);
        }
        found
    };
    let shop = Shop { served: Served::heard(&data, &MAIL) };
    // None of these is a use of the account, or a change of the client.
    shop.ask_for_link().await;
    shop.hold().await;
    assert_eq!(found(&bytes_below(&data)), [&CANARIES[..], &[UNUSED]].concat(), "before");
    let months = json!({"group": {"retention_clients_months": 1, "retention_accounts_months": 1}});
    done(shop.by_pro(Method::PUT, "").json(&months), 200).await;
    assert_eq!(shop.served.terminate(), Some(0));

    // Upkeep begins with the server.
    let shop = Shop { served: Served::heard(&data, &MAIL) };
    let deadline = Instant::now() + Duration::from_secs(60);
    let rows = loop {
        let rows = done(shop.by_pro(Method::GET, "/history?author=server"), 200).await;
        let rows: Value = serde_json::from_str(&rows).expect("JSON");
        let told = |object: &str, verb: &str| {
            let rows = rows["rows"].as_array().expect("a list");
            rows.iter().any(|row| row["object"] == object && row["verb"] == verb)
        };
        if told("fiche:1", "erased") && told("account:2", "removed") {
            break rows;
        }
        assert!(Instant::now() < deadline, "nothing is erased: {rows}");
    };
    assert_eq!(found(rows.to_string().as_bytes()), [""; 0]);
    assert_eq!(found(shop.shown().await.as_bytes()), [""; 0], "the API shows none at once");
    succeeds(&["compact", "--now"], &data);
    assert_eq!(found(&bytes_below(&data)), [""; 0], "no file of the store has any");
    for arguments in [&["history", "--group", "1"][..], &["history", "--group", "1", "--access"]] {
        assert_eq!(found(succeeds(arguments, &data).as_bytes()), [""; 0], "{arguments:?}");
    }
    let (code, said) = shop.served.end("TERM");
    assert_eq!((code, found(said.as_bytes())), (Some(0), vec![]), "{said}");
    let document = exported(&data);
    assert_eq!(found(document.to_string().as_bytes()), [""; 0]);
    assert_eq!(document["groups"][0]["fiches"][1]["lastname"], "Stays");
    assert_eq!(document["groups"][0]["accounts"], json!([]));
    let list = std::fs::read_to_string(data.join("forgotten")).expect("the list");
    assert_eq!(list, "1 1 2025-01-02T03:04:05Z\n");
    assert!(succeeds(&["check"], &data).contains("all is well"));
}
