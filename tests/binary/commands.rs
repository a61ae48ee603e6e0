//! The operator's commands: what they print, what they keep, how they end.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::server::{Served, complaint, exported, practice, run, store_of, without_access};

async fn get(served: &Served, path: &str) -> Value {
    let response = reqwest::get(format!("{}{path}", served.base)).await.expect("an answer");
    response.json().await.expect("JSON")
}

#[tokio::test]
async fn the_demonstration_books_outlives_a_kill_and_is_not_filled_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let served = Served::heard(&data, &["--demo"]);
    let slots = "/api/v1/groups/1/availabletimeslots?apikey=demo-key-town-practice&intervention_ids[]=1&first=1";
    let date = get(&served, slots).await["firstSlot"].clone();
    let booking = json!({"appointment": {"date": date, "intervention_ids": [1], "fiche": {"lastname": "Durand"}}});
    let url = format!("{}/api/v1/groups/1/appointments?apikey=demo-key-town-practice", served.base);
    let made = reqwest::Client::new().post(&url).json(&booking).send().await.expect("an answer");
    assert_eq!(made.status(), 201);
    let record = made.json::<Value>().await.expect("JSON")["records"][0].clone();
    let (code, said) = served.end("KILL");
    assert_eq!(code, None);
    assert!(said.contains("demo-key-town-practice") && said.contains("anna@example.org"), "{said}");

    let served = Served::heard(&data, &["--demo"]);
    let (id, key) = (&record["id"], record["key"].as_str().expect("a secret"));
    let path =
        format!("/api/v1/groups/1/appointments/{id}?apikey=demo-key-town-practice&key={key}");
    assert_eq!(get(&served, &path).await["start"], date);
    let (code, said) = served.end("TERM");
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("demo-key-town-practice"), "it is not filled twice: {said}");
    assert!(!said.contains(key) && !said.contains("apikey="), "logs hold no secrets: {said}");
}

#[test]
fn a_second_server_is_refused_and_the_first_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::heard(folder.path(), &["--create"]);
    let second = run(&["serve", "--create", "--listen", "127.0.0.1:0"], folder.path());
    assert_eq!(second.status.code(), Some(1));
    assert!(complaint(&second).contains("in use by another slotbook"), "{}", complaint(&second));
    let (code, said) = served.end("INT");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("slotbook import"), "an empty store says what to do next: {said}");
}

#[test]
fn bad_usage_is_2_and_a_refusal_is_1() {
    let folder = tempfile::tempdir().expect("a folder");
    for arguments in [
        &["serve", "--listen", "here"][..],
        &["nonsense"],
        &["import"],
        &["config", "--config", "/none"],
    ] {
        assert_eq!(run(arguments, folder.path()).status.code(), Some(2), "{arguments:?}");
    }
    assert_eq!(run(&["export", "out.json"], folder.path()).status.code(), Some(1), "no store");
    assert_eq!(run(&["import", "/nonexistent.json"], folder.path()).status.code(), Some(1));
}

#[test]
fn a_broken_document_is_refused_by_path_and_rule_and_leaves_no_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, data) = (folder.path().join("broken.json"), folder.path().join("data"));
    let mut settings = practice(1);
    settings["groups"][0]["calendars"][0]["generate_interval"] = json!(0);
    settings["groups"][0]["interventions"][1]["length"] = json!(0);
    let mut events = practice(2);
    events["groups"][0]["vevents"][0]["end"] = json!("2019-12-31 00:00:00");
    events["groups"][0]["vevents"][1]["calendar_id"] = json!(9);
    let breakages = [
        (
            settings.to_string(),
            ["groups[0].calendars[0].generate_interval: ", "groups[0].interventions[1].length: "],
        ),
        (events.to_string(), ["groups[0].vevents[0].end: ", "groups[0].vevents[1].calendar_id: "]),
        (r#"{"groups":[{"name":"x","timezone":"Mars"}]}"#.into(), ["groups[0].timezone: ", ""]),
        ("{".into(), ["line 1", "JSON"]),
    ];
    for (text, named) in breakages {
        std::fs::write(&file, text).expect("it is written");
        let done = run(&["import", file.to_str().expect("a plain path")], &data);
        assert_eq!(done.status.code(), Some(1));
        for name in named {
            assert!(complaint(&done).contains(name), "{name} in {}", complaint(&done));
        }
        assert!(!data.exists(), "the store is untouched");
    }
}

#[test]
fn what_export_writes_import_restores() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| path(name).to_str().expect("a plain path").to_owned();
    drop(Served::heard(&path("one"), &["--demo"]).end("TERM"));
    for (arguments, data) in [
        (["export", &text("a.json")], "one"),
        (["import", &text("a.json")], "two"),
        (["export", &text("b.json")], "two"),
    ] {
        let done = run(&arguments, &path(data));
        assert_eq!(done.status.code(), Some(0), "{}", complaint(&done));
    }
    let written = |name: &str| {
        let bytes = std::fs::read(path(name)).expect("written");
        without_access(serde_json::from_slice(&bytes).expect("JSON")).to_string()
    };
    assert_eq!(written("a.json"), written("b.json"));
}

#[tokio::test]
async fn an_export_of_one_group_is_the_answer_of_the_api() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    document["apikeys"] = json!([
        {"key": "test-key", "label": "of all"},
        {"key": "own-key", "label": "own", "groups": [1]},
        {"key": "other-key", "label": "other", "groups": [2]},
    ]);
    let other = json!({"id": 2, "name": "Zq7Other", "timezone": "UTC",
        "pros": [{"email": "other@example.org", "password": "secret", "lastname": "Zq7Pro"}],
        "fiches": [{"lastname": "Zq7Client"}]});
    document["groups"].as_array_mut().expect("a list").push(other);
    let data = store_of(folder.path(), &document);
    let export = |id: &str, file: &str| run(&["export", "--group", id, file], &data);
    let parse = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("JSON");
    let offline = parse(&export("1", "-").stdout);
    let served = Served::on(&data, &[]);
    let online = export("1", "-");
    assert_eq!(online.status.code(), Some(0), "{}", complaint(&online));
    let url = format!("{}/api/v1/groups/1/export?apikey=test-key", served.base);
    let answer = reqwest::Client::new().get(url).basic_auth("pro@example.org", Some("secret"));
    let answer = answer.send().await.expect("an answer").json::<Value>().await.expect("JSON");
    // Each export is a row of access, which the next one shows.
    let split = |mut document: Value| {
        let group = document["groups"][0].as_object_mut().expect("an object");
        let rows = group.shift_remove("access_history").expect("its rows");
        (document, rows.as_array().expect("a list").len())
    };
    let (answer, rows) = split(answer);
    assert_eq!(rows, 2);
    assert_eq!(split(offline), (answer.clone(), 0), "as the store says");
    assert_eq!(split(parse(&online.stdout)), (answer.clone(), 1), "as the server says");
    assert!(!answer.to_string().contains("Zq7"), "nothing of the other group: {answer}");
    let keys = answer["apikeys"].as_array().expect("a list");
    assert_eq!((keys.len(), &keys[0]["label"]), (1, &json!("own")));
    assert_eq!(served.terminate(), Some(0));

    let file = folder.path().join("one.json");
    let file_name = file.to_str().expect("a plain path");
    assert_eq!(export("3", file_name).status.code(), Some(1), "no such group");
    assert!(!file.exists());
    assert_eq!(export("x", file_name).status.code(), Some(2));
    assert_eq!(export("1", file_name).status.code(), Some(0));
    let again = folder.path().join("again");
    let imported = run(&["import", file_name], &again);
    assert_eq!(imported.status.code(), Some(0), "{}", complaint(&imported));
    let again = exported(&again);
    assert_eq!((&again["groups"][0]["id"], &again["groups"][1]), (&json!(1), &Value::Null));
}

#[test]
fn a_store_that_holds_something_takes_a_document_only_to_merge_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let file = folder.path().join("next.json");
    std::fs::write(&file, practice(2).to_string()).expect("it is written");
    let file = file.to_str().expect("a plain path");
    let refused = run(&["import", file], &data);
    assert_eq!(refused.status.code(), Some(1));
    assert!(complaint(&refused).contains("--merge"), "{}", complaint(&refused));
    for _ in 0..2 {
        let merged = run(&["import", "--merge", file], &data);
        assert_eq!(merged.status.code(), Some(0), "{}", complaint(&merged));
        assert_eq!(
            exported(&data)["groups"][0]["calendars"].as_array().map(Vec::len),
            Some(2),
            "replaced whole"
        );
    }
}

#[test]
fn the_options_are_listed_as_a_file_and_come_from_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let listing = run(&["config", "--listen", "127.0.0.1:1"], folder.path());
    let file = folder.path().join("slotbook.toml");
    std::fs::write(&file, &listing.stdout).expect("it is written");
    let again = run(&["config", "--config", file.to_str().expect("a plain path")], folder.path());
    assert_eq!(String::from_utf8(again.stdout), String::from_utf8(listing.stdout));
}

#[test]
fn the_command_line_precedes_the_environment_and_that_the_file_and_that_the_default() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("slotbook.toml");
    let text = "data = 'by file'\nlisten = '127.0.0.1:1'\nsmtp_port = 25\njournal_mib = 1\n";
    std::fs::write(&file, text).expect("it is written");
    let file = file.to_str().expect("a plain path");
    // The data directory is given by the environment too.
    let arguments = ["config", "--config", file, "--listen", "127.0.0.1:2"];
    let listing = run(&arguments, Path::new("by environment"));
    let listing = String::from_utf8(listing.stdout).expect("text");
    for line in [
        "listen = \"127.0.0.1:2\"",
        "data = \"by environment\"",
        "smtp_port = 25",
        "journal_mib = 1",
        "connections_max = 10000",
    ] {
        assert!(listing.lines().any(|listed| listed == line), "{line} in {listing}");
    }
}

#[test]
fn a_file_with_options_of_other_commands_serves_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let file = folder.path().join("slotbook.toml");
    std::fs::write(&file, "smtp_host = 'mail.example.org'\ndemo = true\n").expect("it is written");
    let file = file.to_str().expect("a plain path");
    let checked = run(&["check", "--config", file], &data);
    assert_eq!(checked.status.code(), Some(0), "{}", complaint(&checked));
    std::fs::write(file, "lissen = 'here'\n").expect("it is written");
    let refused = run(&["check", "--config", file], &data);
    assert_eq!(refused.status.code(), Some(2));
    assert!(complaint(&refused).contains("lissen"), "{}", complaint(&refused));
    assert_eq!(run(&["check", "--listen", "127.0.0.1:1"], &data).status.code(), Some(2));
}

#[test]
fn memory_above_1_mib_comes_from_the_system_and_goes_back_to_it() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotbook"));
    let output = command.arg("--version").env("MIMALLOC_VERBOSE", "1").output().expect("it runs");
    let options = complaint(&output);
    let expected = "'arena_max_object_size': 1024 KiB";
    assert!(options.contains(expected), "built without .cargo/config.toml: {options}");
}
