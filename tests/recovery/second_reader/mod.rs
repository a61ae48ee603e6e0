//! A second reader of the data directory, written from chapter 8 of the reference alone. It shares
//! no code with the program, and has to find the same as `slotbook check`.

pub(crate) mod edit;
mod files;
mod grammar;
mod state;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use super::golden::{restored, stores};
use super::rounds;
use super::server::{Served, booking, complaint, half_hour, practice, run, store_of};
use super::witness::{CALENDARS, Witness};
use grammar::Grammar;
use state::Findings;

/// Half hours that no other client of a test books.
const FAR: u64 = 40_000;

/// Reads a data directory.
fn read(data: &Path) -> Result<Findings, String> {
    let grammar = Grammar::of_chapter();
    state::examine(&files::read(&grammar, data)?)
}

/// What `slotbook check` prints, without the hashes of states and the verdict, and whether it is
/// content.
fn checked(data: &Path) -> (String, bool) {
    let done = run(&["check"], data);
    let said = String::from_utf8(done.stdout).expect("text");
    let mut lines = String::new();
    for line in said.lines().filter(|line| *line != "all is well") {
        if let Some((counts, state)) = line.split_once(", state ") {
            let (_, after) = state.split_once(" after ").expect("a number");
            lines.push_str(&format!("{counts}, after {after}\n"));
        } else {
            lines.push_str(&format!("{line}\n"));
        }
    }
    (lines, done.status.success())
}

/// Compares both readers on a sound store.
pub(crate) fn compare(data: &Path, what: &str) -> Findings {
    let (lines, is_sound) = checked(data);
    let found = read(data).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(is_sound, "{what}: {lines}");
    assert_eq!(found.lines, lines, "{what}");
    assert_eq!(found.broken, Vec::<String>::new(), "{what}");
    found
}

/// Makes records that the load of a witness does not make: holds, changes of clients and more.
async fn vary(base: &str, life: u64) {
    let http = reqwest::Client::new();
    let url = format!("{base}/api/v1/groups/1");
    let send = async |request: reqwest::RequestBuilder, expected: u16| -> Value {
        let request = request.query(&[("apikey", "test-key")]);
        let answer = request.send().await.expect("an answer");
        let status = answer.status();
        let text = answer.text().await.expect("text");
        assert_eq!(status, expected, "{text}");
        serde_json::from_str(&text).unwrap_or_default()
    };
    let by_pro =
        |request: reqwest::RequestBuilder| request.basic_auth("pro@example.org", Some("secret"));
    let far = FAR + life * 100;
    let hold = |at: u64, calendar: u64| {
        let wish = json!({"date": half_hour(far + at), "calendar_id": calendar,
            "intervention_ids": [1]});
        http.post(format!("{url}/holds")).json(&json!({"hold": wish}))
    };
    let kept = send(hold(0, 1), 201).await;
    let given_back = send(hold(2, 2), 201).await;
    let token = given_back["token"].as_str().expect("a token");
    send(http.delete(format!("{url}/holds")).query(&[("token", token)]), 200).await;
    let mut wish = booking(&format!("held{life}"), &half_hour(far), 1, &[1]);
    wish["appointment"]["hold"] = kept["token"].clone();
    send(http.post(format!("{url}/appointments")).json(&wish), 201).await;
    // A professional writes an appointment over the time of another hold.
    send(hold(4, 1), 201).await;
    let mut clients = Vec::new();
    for name in ["One", "Two", "Three"] {
        let fiche =
            json!({"fiche": {"lastname": name, "email": format!("{name}{life}@example.org")}});
        let made = send(by_pro(http.post(format!("{url}/fiches")).json(&fiche)), 201).await;
        clients.push(made["id"].as_u64().expect("an id"));
    }
    let over = json!({"vevent": {"calendar_id": 1, "fiche_id": clients[1], "intervention_id": 1,
        "start": half_hour(far + 4), "end": half_hour(far + 5)}});
    send(by_pro(http.post(format!("{url}/vevents")).json(&over)), 201).await;
    let merge = http.post(format!("{url}/fiches/{}/merge", clients[0]));
    send(by_pro(merge.json(&json!({"fiche_id": clients[1]}))), 200).await;
    let erase = http.post(format!("{url}/fiches/{}/erase", clients[2])).json(&json!({}));
    send(by_pro(erase), 200).await;
    let batch = json!({"requests": [
        {"method": "PUT", "path": format!("/api/v1/groups/1/fiches?externid={life}"),
            "body": {"fiche": {"lastname": "Curie", "email": "curie@example.org"}}},
        {"method": "POST", "path": "/api/v1/groups/1/calendars",
            "body": {"calendar": {"name": format!("More {life}")}}},
    ]});
    send(by_pro(http.post(format!("{url}/batch")).json(&batch)), 200).await;
    send(hold(6, 1), 201).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_reader_agrees_after_kills_compactions_and_a_merge() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(CALENDARS);
    // The holds of one source are few, but behind the key of a server they are many clients'.
    document["apikeys"][0]["server"] = json!(true);
    let data = store_of(folder.path(), &document);
    compare(&data, "a new store");
    let witness = Arc::new(Witness::brief());
    let mut chance = StdRng::seed_from_u64(23);
    let mut generations = BTreeSet::new();
    let mut most_holds = 0;
    let lives = rounds(6, 60);
    for life in 0..lives {
        // Half of the lives make new generations all the time.
        let more: &[&str] = if life % 2 == 0 { &["--journal-mib", "0"] } else { &[] };
        let server = Served::on(&data, more);
        vary(&server.base, life).await;
        let lasting = if life % 4 == 2 { 300..500 } else { 1..100 };
        let load = witness.load(&server.base, chance.random_range(lasting)).await;
        server.end("KILL");
        load.join_all().await;
        let found = compare(&data, &format!("after kill {life}"));
        most_holds = most_holds.max(found.holds);
        generations.insert(fs::read_to_string(data.join("CURRENT")).expect("it stands"));
    }
    assert!(generations.len() > 1, "{generations:?}");
    assert!(most_holds > 2, "{most_holds}");
    let added = run(&["group", "add", "more", "--timezone", "Paris"], &data);
    assert!(added.status.success(), "{}", complaint(&added));
    compare(&data, "a group was founded");

    let backup = folder.path().join("backup");
    let done = run(&["backup", backup.to_str().expect("a plain path")], &data);
    assert!(done.status.success(), "{}", complaint(&done));
    compare(&backup, "a backup");
    let mut other = practice(CALENDARS + 1);
    other["groups"][0]["name"] = json!("merged");
    let document = folder.path().join("merge.json");
    fs::write(&document, other.to_string()).expect("written");
    let done = run(&["import", "--merge", document.to_str().expect("a plain path")], &data);
    assert!(done.status.success(), "{}", complaint(&done));
    assert_eq!(compare(&data, "a merge").appointments, 0, "the group was replaced");
    let server = Served::on(&data, &[]);
    vary(&server.base, lives + 1).await;
    assert_eq!(server.terminate(), Some(0));
    let found = compare(&data, "after the merge");
    assert_eq!((found.appointments, found.holds), (2, 3));
    println!("{lives} kills, {} generations: both readers agree", generations.len());
}

#[test]
fn second_reader_agrees_on_the_golden_stores() {
    let mut read = 0;
    for store in fs::read_dir(stores()).expect("stores") {
        let store = store.expect("an entry").path();
        let folder = tempfile::tempdir().expect("a folder");
        let data = restored(&store, folder.path());
        let found = compare(&data, &store.display().to_string());
        assert!(found.appointments > 0, "{}", store.display());
        read += 1;
    }
    assert!(read >= 7, "{read}");
}

/// Books two times of a calendar, and ends in peace. Returns the journal, and the batches of both.
async fn two_bookings(data: &Path) -> (String, [u64; 2]) {
    let server = Served::on(data, &[]);
    let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", server.base);
    for nth in 0..2 {
        let wish = booking(&format!("c{nth}"), &half_hour(nth * 10), 1, &[1]);
        let made = reqwest::Client::new().post(&url).json(&wish).send().await.expect("an answer");
        assert_eq!(made.status(), 201);
    }
    assert_eq!(server.terminate(), Some(0));
    let entries = fs::read_dir(data).expect("a folder").map(|entry| entry.expect("one"));
    let names = entries.map(|entry| entry.file_name().into_string().expect("plain"));
    let journal = names.filter(|name| name.starts_with("journal-")).max().expect("a journal");
    let batches = [0, 10].map(|at| edit::first_with(data, &journal, &encoded(at)));
    (journal, batches)
}

/// Bytes of an instant of 2030 in a record: twice the number, in four bytes.
fn encoded(half_hour: u32) -> [u8; 5] {
    // 2030-01-01 00:00:00 UTC.
    let folded = (1_893_456_000 + half_hour * 1_800) * 2;
    let mut bytes = [252; 5];
    bytes[1..].copy_from_slice(&folded.to_le_bytes());
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_readers_see_an_overlap_behind_right_checksums() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let (journal, [_, second]) = two_bookings(&data).await;
    compare(&data, "two bookings");
    edit::rewrite(&data, &journal, second, true, |body| {
        let (from, to) = (encoded(10), encoded(0));
        while let Some(at) = body.windows(5).position(|bytes| bytes == from) {
            body[at..at + 5].copy_from_slice(&to);
        }
    });
    let found = read(&data).expect("every checksum is right");
    assert_eq!(found.appointments, 2);
    assert!(found.broken.iter().any(|what| what.contains("overlap")), "{:?}", found.broken);
    let (lines, is_sound) = checked(&data);
    assert!(!is_sound);
    assert_eq!(found.lines, lines);
    assert!(complaint(&run(&["check"], &data)).contains("overlap"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_readers_refuse_a_batch_with_another_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let (journal, [first, _]) = two_bookings(&data).await;
    edit::rewrite(&data, &journal, first, false, |body| body[40] ^= 1);
    let refused = read(&data).expect_err("the checksum is wrong");
    assert!(refused.contains(&format!("batch {first}: its checksum is wrong")), "{refused}");
    let done = run(&["check"], &data);
    assert_eq!(done.status.code(), Some(1));
    assert!(complaint(&done).contains(&format!("batch {first}")), "{}", complaint(&done));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_readers_judge_flipped_bytes_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let (journal, _) = two_bookings(&data).await;
    let mut chance = StdRng::seed_from_u64(5);
    let (mut refused, mut passed) = (0, 0);
    for name in ["CURRENT", "mark", &format!("{journal}/db"), "snapshots-000001/db"] {
        let path = data.join(name);
        let whole = fs::read(&path).expect("it stands");
        let used: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] != 0).collect();
        for _ in 0..rounds(6, 200) {
            let mut bytes = whole.clone();
            bytes[used[chance.random_range(0..used.len())]] ^= 1 << chance.random_range(0..8);
            fs::write(&path, &bytes).expect("written");
            let (lines, is_sound) = checked(&data);
            match read(&data) {
                Ok(found) => {
                    assert!(is_sound && found.lines == lines, "{name}: {found:?}, {lines}");
                    passed += 1;
                }
                Err(what) => {
                    assert!(!is_sound, "{name}: {what}, but check is content: {lines}");
                    refused += 1;
                }
            }
        }
        fs::write(&path, &whole).expect("written");
    }
    println!("{refused} flipped bytes refused by both, {passed} that neither notices");
    assert!(refused > 5, "{refused}");
    compare(&data, "each byte is back");
}
