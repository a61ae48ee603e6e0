//! Stores written by earlier releases, under data/stores, one for each version of the format: they open for ever.
//!
//! The present version's is made anew by `SLOTBOOK_GOLDEN=write cargo test --test recovery golden`, which nobody runs once
//! the version has been released: a new version of the format is a new directory. It is written once its format is settled.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use slotbook::domain::directory::access::ID_DIGITS;

use super::server::{
    Served, appointments, booking, complaint, exported, half_hour, practice, run, store_of,
};

/// The version that this release writes.
pub(crate) const PRESENT: &str = "7";
/// A key, the professionals and the account of the stores from format 5 on.
const SECOND_KEY: &str = "second-key";
const PROS: [(&str, &str); 2] = [("pro@example.org", "secret"), ("second@example.org", "secret")];
const ACCOUNT: (&str, &str) = ("ada@example.org", "secret of the client");
/// The site that the keys of the stores from format 3 on name.
const SITE: &str = "https://shop.example";

pub(crate) fn stores() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/stores")
}

/// What has to come back: counts, the number of events, and each appointment's start.
pub(crate) fn content(data: &Path) -> Value {
    let checked = run(&["check"], data);
    assert_eq!(checked.status.code(), Some(0), "{}", complaint(&checked));
    let said = String::from_utf8(checked.stdout).expect("text");
    let group = said.lines().find(|line| line.starts_with("group 1:")).expect("its group");
    // The hash is that of a format; what is counted is not.
    let (counts, state) = group.split_once(", state ").expect("a state");
    let events = state.split_once(" after event ").expect("a number").1;
    let document = exported(data);
    let rows: Vec<Value> = appointments(&document)
        .map(|row| json!([row["id"], row["start"], row["end"], row["deleted"]]))
        .collect();
    json!({"counts": counts, "events": events, "appointments": rows})
}

/// Copies files, without the zeros that sled's end in, or with them again.
fn copy(from: &Path, to: &Path, convert: &dyn Fn(&Path, Vec<u8>) -> Vec<u8>) {
    std::fs::create_dir_all(to).expect("made");
    for entry in
        std::fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry").path())
    {
        let target = to.join(entry.file_name().expect("a name"));
        if entry.is_dir() {
            copy(&entry, &target, convert);
        } else if entry.is_file() && !entry.ends_with("lock") {
            std::fs::write(target, convert(&entry, std::fs::read(&entry).expect("a file")))
                .expect("written");
        }
    }
}

fn trimmed(path: &Path, mut bytes: Vec<u8>) -> Vec<u8> {
    if path.ends_with("db") {
        let length = u64::try_from(bytes.len()).expect("small");
        bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1));
        bytes.extend_from_slice(&length.to_be_bytes());
    }
    bytes
}

fn padded(path: &Path, mut bytes: Vec<u8>) -> Vec<u8> {
    if path.ends_with("db") {
        let length = bytes.split_off(bytes.len() - 8).try_into().expect("eight bytes");
        bytes.resize(usize::try_from(u64::from_be_bytes(length)).expect("small"), 0);
    }
    bytes
}

/// Makes the data directory of a golden store in `folder`.
pub(crate) fn restored(store: &Path, folder: &Path) -> PathBuf {
    let data = folder.join("data");
    copy(&store.join("data"), &data, &padded);
    // An image of a directory holds no empty folders; sled looks for these.
    for database in
        std::fs::read_dir(&data).expect("a folder").map(|entry| entry.expect("an entry").path())
    {
        if database.is_dir() {
            std::fs::create_dir_all(database.join("blobs")).expect("made");
        }
    }
    data
}

/// A practice with two keys, two professionals, an account, and a series of meetings.
fn shop() -> Value {
    let mut document = practice(2);
    let second = json!({"key": SECOND_KEY, "label": "second", "groups": [1]});
    document["apikeys"].as_array_mut().expect("a list").push(second);
    let group = &mut document["groups"][0];
    let second = json!({"id": 2, "email": PROS[1].0, "password": PROS[1].1, "lastname": "Second"});
    group["pros"].as_array_mut().expect("a list").push(second);
    group["fiches"] = json!([{"id": 1, "lastname": "Lovelace", "email": ACCOUNT.0}]);
    group["accounts"] = json!([{"email": ACCOUNT.0, "password": ACCOUNT.1, "fiche_id": 1}]);
    let series = json!({"calendar_id": 2, "text": "Meeting", "rrule": "FREQ=WEEKLY",
        "start": "2030-01-02 12:00:00", "end": "2030-01-02 13:00:00"});
    group["vevents"].as_array_mut().expect("a list").push(series);
    document
}

/// The JSON objects that a command prints, one a line.
fn lines(arguments: &[&str], data: &Path) -> Vec<Value> {
    let listed = run(arguments, data);
    assert!(listed.status.success(), "{}", complaint(&listed));
    let lines = String::from_utf8(listed.stdout).expect("text");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The rows of the history of the group, latest first.
fn history(data: &Path) -> Vec<Value> {
    lines(&["history", "--group", "1"], data)
}

/// The messages of the group: number, kind and state.
fn messages(data: &Path) -> Vec<Value> {
    let messages = lines(&["messages"], data).into_iter().filter(|row| !row["id"].is_null());
    messages.map(|row| json!([row["id"], row["kind"], row["state"]])).collect()
}

/// Sends a request about a calendar feed.
async fn send(url: &str, method: reqwest::Method, feed: &Value) {
    let request = reqwest::Client::new().request(method, url).query(&[("apikey", "test-key")]);
    let request = request.basic_auth("pro@example.org", Some("secret"));
    let done = request.json(&json!({ "calendarfeed": feed })).send().await.expect("an answer");
    assert!(done.status().is_success(), "{done:?}");
}

/// Books, moves, cancels and more, and waits meanwhile for a second generation.
async fn book_and_change(base: &str, data: &Path) {
    let http = reqwest::Client::new();
    let url = format!("{}/api/v1/groups/1", base);
    let pro = |request: reqwest::RequestBuilder| {
        request
            .query(&[("apikey", "test-key")])
            .basic_auth("pro@example.org", Some("secret"))
            .send()
    };
    // Notices of the changes below wait in the store.
    let waiting = json!({"group": {"notice_delay_seconds": 600}});
    assert_eq!(pro(http.put(&url).json(&waiting)).await.expect("an answer").status(), 200);
    for target in [json!({"calendar_id": 1, "details": "full"}), json!({"calendar_id": 2})] {
        send(&format!("{url}/calendarfeeds"), reqwest::Method::POST, &target).await;
    }
    for nth in 0..12_u64 {
        let wish = booking(&format!("c{nth}"), &half_hour(nth * 4), 1 + nth % 2, &[1, 2]);
        let request = http
            .post(format!("{url}/appointments"))
            .header("Idempotency-Key", format!("key-{nth}"));
        let made: Value = request
            .query(&[("apikey", "test-key")])
            .json(&wish)
            .send()
            .await
            .expect("an answer")
            .json()
            .await
            .expect("JSON");
        let id = &made["records"][0]["id"];
        if nth % 4 == 1 {
            let moved = json!({"vevent": {"start": half_hour(nth * 4 + 3)}});
            assert_eq!(
                pro(http.put(format!("{url}/vevents/{id}")).json(&moved))
                    .await
                    .expect("an answer")
                    .status(),
                200
            );
            let half = json!({"vevent": {"calendar_id": 1, "intervention_id": 1, "text": "New",
                "start": half_hour(nth * 4 + 1), "end": half_hour(nth * 4 + 2)}});
            let made = pro(http.post(format!("{url}/vevents")).json(&half)).await;
            assert_eq!(made.expect("an answer").status(), 201);
        } else if nth % 4 == 2 {
            assert_eq!(
                pro(http.delete(format!("{url}/vevents/{id}"))).await.expect("an answer").status(),
                200
            );
        } else if nth % 4 == 3 {
            let batch = json!({"requests": [
                {"method": "PUT", "path": format!("/api/v1/groups/1/fiches?externid={nth}"),
                    "body": {"fiche": {"lastname": "Curie", "email": "curie@example.org"}}},
                {"method": "DELETE", "path": format!("/api/v1/groups/1/vevents/{id}")},
            ]});
            let done = pro(http.post(format!("{url}/batch")).json(&batch)).await;
            assert_eq!(done.expect("an answer").status(), 200);
        }
        if nth == 9 {
            // One has a new link, and the other ends.
            let one = |path: &str| format!("{url}/calendarfeeds/{path}");
            send(&one("1/renew"), reqwest::Method::POST, &Value::Null).await;
            send(&one("2"), reqwest::Method::DELETE, &Value::Null).await;
        }
        let mut patience = 1_500;
        while nth == 8 && !data.join("snapshots-000002").exists() && patience > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            patience -= 1;
        }
    }
}

/// Writes a store with something of everything: two generations, and a journal that goes on.
async fn write(to: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &shop());
    let server = Served::on(&data, &["--journal-mib", "0"]);
    let named = run(&["key", "set", "tests", "--origin", SITE], &data);
    assert!(named.status.success(), "{}", complaint(&named));
    book_and_change(&server.base, &data).await;
    assert_eq!(server.end("TERM").0, Some(0));
    assert!(data.join("snapshots-000002").exists(), "two generations");
    let _ = std::fs::remove_dir_all(to);
    copy(&data, &to.join("data"), &trimmed);
    let mut content = content(&data);
    content["history"] = history(&data).into();
    content["messages"] = messages(&data).into();
    std::fs::write(to.join("content.json"), content.to_string()).expect("written");
}

async fn status(request: reqwest::RequestBuilder, key: &str) -> u16 {
    request.query(&[("apikey", key)]).send().await.expect("an answer").status().as_u16()
}

/// Checks that people and keys of a store do what they did, and that its history goes on. `told` are
/// the rows that the store has.
async fn assert_goes_on(data: &Path, told: Option<&Vec<Value>>) {
    let served = Served::on(data, &[]);
    let http = reqwest::Client::new();
    let group = format!("{}/api/v1/groups/1", served.base);
    // Stores before format 5 have one professional, one key and no account.
    let (pros, keys) = if told.is_some() {
        (&PROS[..], &["test-key", SECOND_KEY][..])
    } else {
        (&PROS[..1], &["test-key"][..])
    };
    for (email, password) in pros {
        for key in keys {
            let read = http.get(format!("{group}/history")).basic_auth(email, Some(password));
            assert_eq!(status(read, key).await, 200, "{email} is an administrator");
        }
    }
    if told.is_some() {
        let fiches = || http.get(format!("{group}/fiches"));
        let (email, password) = ACCOUNT;
        assert_eq!(status(fiches().basic_auth(email, Some(password)), SECOND_KEY).await, 200);
        assert_eq!(status(fiches().basic_auth(email, Some("wrong")), SECOND_KEY).await, 401);
    }
    let (email, password) = PROS[0];
    let renamed = http.put(&group).basic_auth(email, Some(password));
    let renamed = renamed.json(&json!({"group": {"name": "Renamed"}}));
    assert_eq!(status(renamed, "test-key").await, 200);
    served.end("KILL");
    let rows = history(data);
    let outline = [&rows[0]["object"], &rows[0]["verb"], &rows[0]["author"]];
    assert_eq!(outline, [&json!("group:1"), &json!("changed"), &json!("professional:1")]);
    if let Some(told) = told {
        // A later release may tell more of a row.
        assert_eq!(rows.len(), told.len() + 1);
        for (row, told) in rows[1..].iter().zip(told) {
            for (name, value) in told.as_object().expect("an object") {
                assert_eq!(&row[name], value, "{name} of {told}");
            }
        }
    }
    let begun = rows.iter().filter(|row| row["verb"] == "begun").count();
    assert_eq!((begun, &rows[rows.len() - 1]["verb"]), (1, &json!("begun")), "{rows:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn golden_stores_of_every_version_open() {
    if std::env::var_os("SLOTBOOK_GOLDEN").is_some_and(|value| value == "write") {
        write(&stores().join(PRESENT)).await;
    }
    let mut opened = 0;
    for store in
        std::fs::read_dir(stores()).expect("stores").map(|entry| entry.expect("an entry").path())
    {
        let folder = tempfile::tempdir().expect("a folder");
        let data = restored(&store, folder.path());
        let expected = std::fs::read_to_string(store.join("content.json")).expect("what it holds");
        let mut expected: Value = serde_json::from_str(&expected).expect("JSON");
        let members = expected.as_object_mut().expect("an object");
        let told = members.shift_remove("history");
        if let Some(sent) = members.shift_remove("messages") {
            assert_eq!(json!(messages(&data)), sent, "{}", store.display());
        }
        assert_eq!(content(&data), expected, "{}", store.display());
        let (code, said) = Served::heard(&data, &[]).end("TERM");
        assert_eq!(code, Some(0), "it serves");
        // Format 1 did not hold who has a key.
        let is_first = store.ends_with("1");
        assert_eq!(said.contains("slotbook key set KEY --no-server"), is_first, "{said}");
        let keys = String::from_utf8(run(&["key", "list"], &data).stdout).expect("text");
        assert_eq!(keys.contains("server, as assumed"), is_first, "{keys}");
        // Keys of before groups had `contact_needed` are not bound by it.
        let keys_row = exported(&data)["apikeys"][0]["needs_contact"].clone();
        assert_eq!(keys_row, json!(store.ends_with(PRESENT)), "{}", store.display());
        // Nor did the formats up to 2 hold of which sites a key is.
        if is_first || store.ends_with("2") {
            assert!(said.contains("pages of any site") && said.contains("count=1"), "{said}");
            assert!(said.contains(&keys[..ID_DIGITS]), "{said}");
            assert!(keys.ends_with("\torigins any\n"), "{keys}");
        } else {
            assert!(!said.contains("pages of any site"), "{said}");
            assert!(keys.contains(&format!("\torigins {SITE}\n")), "{keys}");
        }
        assert!(
            run(&["key", "set", &keys[..ID_DIGITS], "--origin", "none"], &data).status.success()
        );
        let (_, said) = Served::heard(&data, &[]).end("TERM");
        assert!(!said.contains("pages of any site"), "{said}");
        assert_goes_on(&data, told.as_ref().and_then(Value::as_array)).await;
        opened += 1;
    }
    println!("{opened} stores of earlier releases and this one open");
    assert!(opened >= 5, "{opened}");
}
