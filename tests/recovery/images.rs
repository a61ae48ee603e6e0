//! Images of a group: they survive a kill, a compaction, a backup, an export and a merge.

use serde_json::{Value, json};

use super::server::{Served, complaint, exported, practice, run, store_of};

const LOGO: &[u8] = include_bytes!("../../data/openapi/logo.png");

/// The images of the only group of a document.
fn images(document: &Value) -> &Value {
    &document["groups"][0]["images"]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn images_survive_kills_compactions_backups_exports_and_merges() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    let logo = data_encoding::BASE64.encode(LOGO);
    document["groups"][0]["images"] = json!([{"slot": "logo", "image": logo}]);
    let data = store_of(folder.path(), &document);
    let first = images(&exported(&data)).clone();
    assert_eq!(first[0]["slot"], "logo");
    // Each life makes new generations.
    for slot in ["cover", "calendar-1"] {
        let server = Served::on(&data, &["--journal-mib", "0"]);
        let url = format!("{}/api/v1/groups/1/images/{slot}", server.base);
        let sent = reqwest::Client::new().put(&url).header("x-api-key", "test-key");
        let sent = sent.basic_auth("pro@example.org", Some("secret")).body(LOGO).send().await;
        let sent = sent.expect("an answer");
        assert_eq!(sent.status(), 200, "{}", sent.text().await.unwrap_or_default());
        server.end("KILL");
    }
    let kept = exported(&data);
    let slots: Vec<&Value> = images(&kept).as_array().expect("rows").iter().collect();
    assert_eq!(slots.len(), 3);
    assert_eq!(*slots[0], first[0]);
    assert_eq!(slots[1]["image"], first[0]["image"], "a PNG is written the same each time");
    let backup = folder.path().join("backup");
    let done = run(&["backup", backup.to_str().expect("a path")], &data);
    assert_eq!(done.status.code(), Some(0), "{}", complaint(&done));
    assert_eq!(images(&exported(&backup)), images(&kept));
    let file = folder.path().join("document.json");
    std::fs::write(&file, kept.to_string()).expect("it is written");
    let file = file.to_str().expect("a path");
    let done = run(&["import", "--merge", file], &data);
    assert_eq!(done.status.code(), Some(0), "{}", complaint(&done));
    assert_eq!(images(&exported(&data)), images(&kept));
}
