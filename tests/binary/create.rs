//! A start in a directory without a store, whose volume may not be mounted. Reference 11.1.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::server::{Served, complaint, run};

async fn readiness(served: &Served) -> (u16, Value) {
    let answer = reqwest::get(format!("{}/readyz", served.base)).await.expect("an answer");
    (answer.status().as_u16(), answer.json().await.expect("JSON"))
}

/// Names in a directory, ascending.
fn names(data: &Path) -> Vec<String> {
    let entries = fs::read_dir(data).expect("a directory").map(|entry| entry.expect("one"));
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_directory_without_a_store_is_refused_with_the_remedy_and_nothing_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing");
    for data in [missing.as_path(), folder.path()] {
        let refused = run(&["serve", "--listen", "127.0.0.1:0"], data);
        assert_eq!(refused.status.code(), Some(1), "{}", complaint(&refused));
        let said = complaint(&refused);
        assert!(said.contains("mount its volume") && said.contains("--create"), "{said}");
    }
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[tokio::test]
async fn with_create_the_store_is_made_with_its_first_group_and_not_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    for end in ["KILL", "TERM"] {
        let served = Served::heard(&data, &["--create"]);
        let (status, state) = readiness(&served).await;
        assert_eq!(status, 503);
        assert!(state["reason"].as_str().is_some_and(|it| it.contains("no group")), "{state}");
        let link = run(&["first-run"], &data);
        assert!(String::from_utf8_lossy(&link.stdout).contains("/first-run/"), "{link:?}");
        let second = run(&["serve", "--create", "--listen", "127.0.0.1:0"], &data);
        assert!(complaint(&second).contains("in use"), "{}", complaint(&second));
        let (_, said) = served.end(end);
        assert!(said.contains("there is no store yet"), "{said}");
        // A volume that is mounted over this directory hides no store.
        assert!(names(&data).iter().all(|name| name == "lock" || name == "operator.sock"));
        let refused = run(&["serve", "--listen", "127.0.0.1:0"], &data);
        assert_eq!(refused.status.code(), Some(1), "{}", complaint(&refused));
    }

    let served = Served::heard(&data, &["--create", "--journal-mib", "0"]);
    let added = run(&["group", "add", "Practice", "--timezone", "Paris"], &data);
    assert!(added.status.success(), "{}", complaint(&added));
    assert_eq!(readiness(&served).await.0, 200);
    assert!(data.join("CURRENT").is_file() && data.join("snapshots-000001").is_dir());
    // It is watched and compacted like any other.
    let current = || fs::read(data.join("CURRENT")).expect("it stands");
    let first = current();
    let key = run(&["key", "add", "--group", "1"], &data);
    assert!(key.status.success(), "{}", complaint(&key));
    while current() == first {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    served.end("KILL");
    assert_eq!(run(&["check"], &data).status.code(), Some(0));

    let served = Served::heard(&data, &["--log", "warn"]);
    assert_eq!(readiness(&served).await.0, 200);
    let listed = run(&["group", "list"], &data);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("Practice"), "{listed:?}");
    fs::rename(data.join("CURRENT"), data.with_extension("away")).expect("it is moved");
    let (code, said) = served.left();
    assert_eq!(code, Some(70), "{said}");
}

#[tokio::test]
async fn what_cannot_be_made_ends_the_process_and_leaves_no_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let served = Served::heard(&data, &["--create", "--log", "error"]);
    // Something foreign has come into the directory meanwhile.
    fs::write(data.join("notes.txt"), "mine").expect("it is written");
    let added = run(&["group", "add", "Practice", "--timezone", "Paris"], &data);
    assert!(!added.status.success());
    let (code, said) = served.left();
    assert_eq!(code, Some(70), "{said}");
    assert!(said.contains("notes.txt"), "{said}");
    assert!(!data.join("CURRENT").exists() && data.join("notes.txt").is_file());
}
