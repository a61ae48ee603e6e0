//! `slotbook check` and `slotbook backup`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use slotbook::domain::records::ids::VeventId;
use slotbook::domain::records::vevent::{Vevent, VeventKind};
use slotbook::engine::recovery::{self, Loaded};
use slotbook::store::state;

use super::released::expect_released;
use super::server::{
    Served, appointments, booking, complaint, exported, half_hour, practice, run, store_of,
    without_access,
};
use super::witness::{CALENDARS, Witness};

#[test]
fn check_counts_what_is_there_and_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(3));
    let names = || {
        let mut names: Vec<_> = fs::read_dir(&data)
            .expect("it is there")
            .map(|e| e.expect("one").file_name())
            .collect();
        names.sort();
        names
    };
    let before = (names(), fs::read(data.join("mark")).expect("it stands"));
    let done = run(&["check"], &data);
    assert_eq!(done.status.code(), Some(0), "{}", complaint(&done));
    let said = String::from_utf8(done.stdout).expect("text");
    assert!(
        said.contains("group 1: 3 calendars, 0 clients, 3 events, 0 live appointments"),
        "{said}"
    );
    assert!(said.ends_with("all is well\n"), "{said}");
    assert_eq!((names(), fs::read(data.join("mark")).expect("it stands")), before);
    assert_eq!(run(&["check"], &folder.path().join("none")).status.code(), Some(1));
}

#[test]
fn check_says_what_is_wrong_and_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(3));
    let path = data.join("snapshots-000001").join("db");
    let mut bytes = fs::read(&path).expect("it is there");
    // Some byte of a frame: the text of a calendar's name.
    let at = bytes
        .windows(10)
        .position(|window| window == b"Calendar 2")
        .expect("it is written plainly");
    bytes[at + 9] = b'8';
    fs::write(&path, &bytes).expect("it is written");
    let done = run(&["check"], &data);
    assert_eq!(done.status.code(), Some(1));
    assert!(complaint(&done).contains("snapshots-000001"), "{}", complaint(&done));
    assert_eq!(fs::read(&path).expect("it is there"), bytes, "the damage is left as it is");
}

#[test]
fn check_names_the_store_itself_and_what_is_to_be_done_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let mark = data.join("mark");
    fs::write(&mark, &fs::read(&mark).expect("it stands")[..100]).expect("it is cut");
    let done = run(&["check"], &data);
    let said = complaint(&done);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(
        said.contains(&format!("{} is damaged at its content: it is cut short", mark.display())),
        "{said}"
    );
    assert!(
        said.contains("restore the newest backup") && !said.contains("slotbook check"),
        "{said}"
    );
    assert!(!said.contains("copy-to-read"), "{said}");
    fs::remove_file(&mark).expect("ours");
    let done = run(&["check"], &data);
    assert_eq!(done.status.code(), Some(1));
    assert!(complaint(&done).contains("it is missing"), "{}", complaint(&done));
}

#[test]
fn check_finds_each_appointment_under_a_long_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    let group = &mut document["groups"][0];
    group["fiches"] = json!([{"id": 1, "lastname": "Durand"}]);
    let rows = group["vevents"].as_array_mut().expect("a list");
    for (id, start, end) in [(11, "09:00", "09:30"), (12, "10:00", "10:30"), (13, "11:00", "11:30")]
    {
        rows.push(json!({
            "id": id, "calendar_id": 1, "fiche_id": 1, "intervention_id": 1,
            "start": format!("2030-01-01 {start}:00"), "end": format!("2030-01-01 {end}:00"),
        }));
    }
    let data = store_of(folder.path(), &document);
    let Loaded { directory, mut group_states, .. } = recovery::load(&data).expect("a store");
    // The first one lasts over both others, which do not meet each other.
    let first = VeventId::new(11).expect("an id");
    let mut long = Vevent::clone(&group_states[0].rows[&first]);
    let VeventKind::Appointment(appointment) = &mut long.kind else { panic!("{long:?}") };
    appointment.length_seconds = 4 * 3_600;
    Arc::make_mut(&mut group_states[0]).put_vevent(long.into());
    let broken = folder.path().join("broken");
    drop(recovery::create(&broken, &directory, &group_states).expect("a new store"));
    let done = run(&["check"], &broken);
    assert_eq!(done.status.code(), Some(1));
    let said = complaint(&done);
    for other in [12, 13] {
        let overlap = format!("appointments 11 and {other} of calendar 1 overlap");
        assert!(said.contains(&overlap), "{said}");
    }
}

#[test]
fn a_backup_serves_and_each_group_has_the_hash_it_had() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(3));
    let copy = folder.path().join("elsewhere");
    let to = copy.to_str().expect("a plain path");
    let done = run(&["backup", to], &data);
    assert!(done.status.success(), "{}", complaint(&done));
    assert_eq!(without_access(exported(&copy)), without_access(exported(&data)));
    let hashes = |data| {
        let loaded = recovery::load(data).expect("a store");
        let hashes: Vec<_> = loaded.group_states.iter().map(|it| state::hash(it)).collect();
        drop(loaded);
        expect_released(data);
        hashes
    };
    assert_eq!(hashes(&copy), hashes(&data));
    let again = run(&["backup", to], &data);
    assert_eq!(again.status.code(), Some(1), "nothing is written over");
    let within = run(&["backup", data.join("more/backup").to_str().expect("a plain path")], &data);
    assert_eq!(within.status.code(), Some(1));
    assert!(complaint(&within).contains("lies in the data directory"), "{}", complaint(&within));
    assert!(!data.join("more").exists());
}

#[test]
fn a_backup_is_its_owners_alone_or_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let backup = |name: &str| {
        let to = folder.path().join(name);
        let done = run(&["backup", to.to_str().expect("a plain path")], &data);
        assert!(done.status.success(), "{}", complaint(&done));
        (complaint(&done), fs::metadata(to).expect("it is there").permissions().mode() & 0o777)
    };
    assert_eq!(backup("new"), (String::new(), 0o700));
    fs::create_dir(folder.path().join("shared")).expect("it is made");
    fs::set_permissions(folder.path().join("shared"), fs::Permissions::from_mode(0o755))
        .expect("it is ours");
    let (said, mode) = backup("shared");
    assert!(said.contains("shared: chmod 700") && mode == 0o755, "{mode:o} {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_a_running_server_holds_all_that_was_answered_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(CALENDARS));
    let witness = Arc::new(Witness::brief());
    let server = Served::on(&data, &[]);
    let load = witness.load(&server.base, 300).await;
    let before = witness.booked();
    let copy = folder.path().join("elsewhere");
    let done = run(&["backup", copy.to_str().expect("a plain path")], &data);
    assert!(done.status.success(), "{}", complaint(&done));
    server.end("KILL");
    load.join_all().await;
    let checked = run(&["check"], &copy);
    assert_eq!(checked.status.code(), Some(0), "{}", complaint(&checked));
    let document = exported(&copy);
    let found: BTreeSet<u64> =
        appointments(&document).map(|row| row["id"].as_u64().expect("an id")).collect();
    assert!(before.len() > 200 && before.iter().all(|id| found.contains(id)));
    let server = Served::on(&copy, &[]);
    assert_eq!(
        reqwest::get(format!("{}/readyz", server.base)).await.expect("an answer").status(),
        200
    );
}

/// Books a half hour of calendar 1 for a client on a server of its own. Returns the event.
async fn book_once(data: &Path, client: &str, nth: u64) -> u64 {
    let server = Served::on(data, &[]);
    let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", server.base);
    let booked = reqwest::Client::new().post(url).json(&booking(client, &half_hour(nth), 1, &[1]));
    let answer = booked.send().await.expect("an answer");
    assert_eq!(answer.status(), 201);
    let answer: Value = answer.json().await.expect("JSON");
    assert_eq!(server.terminate(), Some(0));
    answer["records"][0]["id"].as_u64().expect("an id")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_holds_the_messages_of_each_group() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    book_once(&data, "ada", 0).await;
    let copy = folder.path().join("elsewhere");
    let done = run(&["backup", copy.to_str().expect("a plain path")], &data);
    assert!(done.status.success(), "{}", complaint(&done));
    let messages = |data: &Path| exported(data)["groups"][0]["messages"].clone();
    let found = messages(&copy);
    assert_eq!(found[0]["recipient"], "ada@example.org", "{found}");
    assert_eq!(found, messages(&data));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_gives_no_id_of_the_replaced_group_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    document["groups"][0]["vevents"][0]["id"] = json!(1);
    let data = store_of(folder.path(), &document);
    let before = book_once(&data, "ada", 0).await;
    let document = folder.path().join("document.json");
    let path = document.to_str().expect("a plain path");
    let done = run(&["import", "--merge", path], &data);
    assert!(done.status.success(), "{}", complaint(&done));
    let after = book_once(&data, "bob", 0).await;
    assert!(after > before, "the same half hour is event {after}, and was {before}");
}
