//! A group whose history cannot be carried out: nobody is let in, nothing is lost, the others live on.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use slotbook::domain::event::Event;
use slotbook::domain::ids::{GroupId, VeventId};
use slotbook::domain::time::Instant;
use slotbook::engine::aside::Aside;
use slotbook::engine::recovery;
use slotbook::store::{Log as _, Record, Stream, codec};

use super::server::{Served, booking, complaint, half_hour, practice, run, store_of};

/// Puts events into the journal that no state can follow.
fn write_nonsense(data: &Path, group: u64, count: u64) {
    let loaded = recovery::load(data).expect("a store");
    let mut log = loaded.store.into_log().expect("it opens");
    let group = GroupId::new(group).expect("an id");
    let id = VeventId::new(77_777).expect("an id");
    let bytes = codec::encode(&Event::AppointmentCancelled { at: Instant(4_000_000_000), id });
    for sequence in 1..=count {
        log.append(&[Record::new(Stream::Group(group), 0, sequence, bytes.clone())]).expect("it is written");
    }
    log.close().expect("it closes");
}

fn aside(data: &Path) -> Aside {
    let mut loaded = recovery::load(data).expect("a store");
    assert_eq!(loaded.aside.len(), 1);
    loaded.aside.remove(0)
}

fn generation(data: &Path) -> u64 {
    let current = std::fs::read_to_string(data.join("CURRENT")).expect("it stands");
    current.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_set_aside_is_named_and_carried_on_while_the_others_live() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    let other = json!({"id": 2, "name": "Other", "timezone": "UTC"});
    document["groups"].as_array_mut().expect("a list").push(other);
    let data = store_of(folder.path(), &document);
    write_nonsense(&data, 2, 3);
    let before = aside(&data);
    assert_eq!((before.waiting.len(), before.base.as_ref().map(|root| root.sequence)), (3, Some(0)));

    let server = Served::heard(&data, &["--journal-mib", "0"]);
    let get = |path: &str| reqwest::get(format!("{}{path}", server.base));
    let ready = get("/readyz").await.expect("an answer");
    assert_eq!(ready.status(), 200);
    assert_eq!(ready.json::<Value>().await.expect("JSON")["groups_set_aside"], json!([2]));
    assert_eq!(get("/api/v1/groups/2?apikey=test-key").await.expect("an answer").status(), 503);
    assert_eq!(get("/api/v1/groups/3?apikey=test-key").await.expect("an answer").status(), 404);
    let http = reqwest::Client::new();
    let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", server.base);
    let mut nth = 0;
    while generation(&data) < 3 && nth < 3_000 {
        let wish = booking(&format!("c{nth}"), &half_hour(nth * 2), 1, &[1]);
        assert_eq!(http.post(&url).json(&wish).send().await.expect("an answer").status(), 201);
        nth += 1;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(generation(&data) >= 3, "two compactions carried it on");
    let (code, said) = server.end("TERM");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("set aside"), "{said}");

    assert_eq!(aside(&data).waiting, before.waiting, "nothing of it is lost");
    write_more_nonsense(&data);
    assert_eq!(aside(&data).waiting.len(), 4);
    let text = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let checked = run(&["check"], &data);
    assert_eq!(checked.status.code(), Some(1));
    assert!(complaint(&checked).contains("group 2 is set aside"), "{}", complaint(&checked));
    let exported = run(&["export", &text(&folder.path().join("all.json"))], &data);
    assert_eq!(exported.status.code(), Some(1), "an export would lose it");
    let copy = folder.path().join("backup");
    assert!(run(&["backup", &text(&copy)], &data).status.success());
    assert_eq!(aside(&copy).waiting.len(), 4);
}

fn write_more_nonsense(data: &Path) {
    let loaded = recovery::load(data).expect("a store");
    let last = loaded.aside[0].waiting.last().expect("three wait").clone();
    let mut log = loaded.store.into_log().expect("it opens");
    let stream = Stream::Group(loaded.aside[0].group);
    log.append(&[Record::new(stream, 0, last.sequence + 1, last.bytes)]).expect("it is written");
    log.close().expect("it closes");
}
