//! Stores written by earlier releases, under data/stores, one for each version of the format: they open for ever.
//!
//! The present version's is made anew by `SLOTBOOK_GOLDEN=write cargo test --test recovery golden`, which nobody runs once
//! the version has been released: a new version of the format is a new directory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use slotbook::domain::directory::access::ID_DIGITS;

use super::server::{
    Served, appointments, booking, complaint, exported, half_hour, practice, run, store_of,
};

/// The version that this release writes.
const PRESENT: &str = "4";
/// The site that the keys of the stores from format 3 on name.
const SITE: &str = "https://shop.example";

fn stores() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/stores")
}

/// What has to come back: counts, the number of events, and each appointment's start.
fn content(data: &Path) -> Value {
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

/// Writes a store with something of everything: two generations, and a journal that goes on.
async fn write(to: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(2));
    let server = Served::on(&data, &["--journal-mib", "0"]);
    let named = run(&["key", "set", "tests", "--origin", SITE], &data);
    assert!(named.status.success(), "{}", complaint(&named));
    let http = reqwest::Client::new();
    let url = format!("{}/api/v1/groups/1", server.base);
    let pro = |request: reqwest::RequestBuilder| {
        request
            .query(&[("apikey", "test-key")])
            .basic_auth("pro@example.org", Some("secret"))
            .send()
    };
    // Notices of the changes below wait in the store.
    let waiting = json!({"group": {"notice_delay_seconds": 600}});
    assert_eq!(pro(http.put(&url).json(&waiting)).await.expect("an answer").status(), 200);
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
        let mut patience = 1_500;
        while nth == 8 && !data.join("snapshots-000002").exists() && patience > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            patience -= 1;
        }
    }
    assert_eq!(server.end("TERM").0, Some(0));
    assert!(data.join("snapshots-000002").exists(), "two generations");
    let _ = std::fs::remove_dir_all(to);
    copy(&data, &to.join("data"), &trimmed);
    std::fs::write(to.join("content.json"), content(&data).to_string()).expect("written");
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
        let data = folder.path().join("data");
        copy(&store.join("data"), &data, &padded);
        // An image of a directory holds no empty folders; sled looks for these.
        for database in
            std::fs::read_dir(&data).expect("a folder").map(|entry| entry.expect("an entry").path())
        {
            if database.is_dir() {
                std::fs::create_dir_all(database.join("blobs")).expect("made");
            }
        }
        let expected = std::fs::read_to_string(store.join("content.json")).expect("what it holds");
        let expected: Value = serde_json::from_str(&expected).expect("JSON");
        assert_eq!(content(&data), expected, "{}", store.display());
        let (code, said) = Served::heard(&data, &[]).end("TERM");
        assert_eq!(code, Some(0), "it serves");
        // Format 1 did not hold who has a key.
        let is_first = store.ends_with("1");
        assert_eq!(said.contains("slotbook key set KEY --no-server"), is_first, "{said}");
        let keys = String::from_utf8(run(&["key", "list"], &data).stdout).expect("text");
        assert_eq!(keys.contains("server, as assumed"), is_first, "{keys}");
        // Nor did the formats up to 2 hold of which sites a key is.
        if is_first || store.ends_with("2") {
            assert!(said.contains("pages of any site") && said.contains("count=1"), "{said}");
            assert!(said.contains(&keys[..ID_DIGITS]), "{said}");
            assert!(keys.ends_with("\torigins any\n"), "{keys}");
        } else {
            assert!(!said.contains("pages of any site"), "{said}");
            assert!(keys.ends_with(&format!("\torigins {SITE}\n")), "{keys}");
        }
        assert!(
            run(&["key", "set", &keys[..ID_DIGITS], "--origin", "none"], &data).status.success()
        );
        let (_, said) = Served::heard(&data, &[]).end("TERM");
        assert!(!said.contains("pages of any site"), "{said}");
        opened += 1;
    }
    println!("{opened} stores of earlier releases and this one open");
    assert!(stores().join(PRESENT).is_dir() && opened > 0);
}
