//! The operator's commands, and what the person at the terminal is told.

use serde_json::{Value, json};

use super::server::{Served, booking, exported, practice, run, slotbook, store_of};

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_broken_document_is_refused_by_path_and_rule_and_leaves_no_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, data) = (folder.path().join("broken.json"), folder.path().join("data"));
    let mut document = practice(1);
    document["groups"][0]["vevents"][0]["end"] = json!("2019-12-31 00:00:00");
    document["groups"][0]["interventions"][1]["length"] = json!(0);
    let breakages = [
        (document.to_string(), ["groups[0].vevents[0].end", "groups[0].interventions[1].length"]),
        ("{".into(), ["JSON", "JSON"]),
    ];
    for (text, named) in breakages {
        std::fs::write(&file, text).expect("it is written");
        let done = slotbook().arg("import").arg("--data").arg(&data).arg(&file).output().expect("it runs");
        assert_eq!(done.status.code(), Some(1));
        for name in named {
            assert!(said(&done.stderr).contains(name), "{name} in {}", said(&done.stderr));
        }
        assert!(!data.join("CURRENT").exists(), "the store is untouched");
    }
}

#[test]
fn what_export_writes_import_restores() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = exported(&store_of(folder.path(), &practice(3)));
    let other = tempfile::tempdir().expect("a folder");
    let second = exported(&store_of(other.path(), &first));
    assert_eq!(first, second);
    assert_eq!(first["groups"][0]["calendars"].as_array().map(Vec::len), Some(3));
}

#[test]
fn import_refuses_a_store_that_holds_something_unless_told_to_merge() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let file = folder.path().join("document.json");
    let import =
        |more: &[&str]| slotbook().arg("import").args(more).arg("--data").arg(&data).arg(&file).output().expect("runs");
    let refused = import(&[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused.stderr).contains("--merge"), "{}", said(&refused.stderr));
    std::fs::write(&file, practice(2).to_string()).expect("it is written");
    let merged = import(&["--merge"]);
    assert!(merged.status.success(), "{}", said(&merged.stderr));
    assert_eq!(exported(&data)["groups"][0]["calendars"].as_array().map(Vec::len), Some(2), "replaced whole");
}

#[tokio::test]
async fn a_second_server_on_the_same_data_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let first = Served::on(&data);
    let second = slotbook().args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data).output().expect("runs");
    assert_eq!(second.status.code(), Some(1));
    assert!(said(&second.stderr).contains(&data.display().to_string()), "{}", said(&second.stderr));
    assert_eq!(first.terminate(), Some(0));
}

#[tokio::test]
async fn what_was_booked_before_sigterm_is_there_after_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let server = Served::on(&data);
    let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", server.base);
    let wish = booking("ada", "2030-01-01 09:00:00", 1, &[1]);
    let answer = reqwest::Client::new().post(url).json(&wish).send().await.expect("an answer");
    assert_eq!(answer.status(), 201);
    assert_eq!(server.terminate(), Some(0));
    let server = Served::on(&data);
    let url = format!("{}/api/v1/groups/1/availabletimeslots", server.base);
    let query = [("apikey", "test-key"), ("intervention_ids[]", "1"), ("start", "2030-01-01 08:30:00"), ("nDays", "1")];
    let slots: Value =
        reqwest::Client::new().get(url).query(&query).send().await.expect("it answers").json().await.expect("JSON");
    let starts: Vec<&str> = slots["availabletimeslots"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|s| s["start"].as_str())
        .take(2)
        .collect();
    assert_eq!(starts, ["2030-01-01 08:30:00", "2030-01-01 09:30:00"]);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn bad_usage_is_exit_code_2_and_config_lists_the_options() {
    assert_eq!(run(&["fly"]).status.code(), Some(2));
    assert_eq!(run(&["serve", "--listen", "nowhere"]).status.code(), Some(2));
    let listed = run(&["config"]);
    assert!(listed.status.success());
    for option in ["listen", "data"] {
        assert!(said(&listed.stdout).contains(option), "{}", said(&listed.stdout));
    }
}
