//! `slotbook import`: its counts, and the faults of all parts of a document at once.

use std::fs;

use serde_json::json;

use super::server::{Served, complaint, practice, run};

#[test]
fn an_import_says_how_much_it_has_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("document.json");
    let path = file.to_str().expect("a plain path");
    let data = folder.path().join("data");
    let mut document = practice(2);
    document["groups"][0]["fiches"] = json!([{"id": 1, "lastname": "Durand"}]);
    fs::write(&file, document.to_string()).expect("written");
    let counts = "imported 1 group, 1 key, 1 professional, 2 calendars, 2 interventions, \
                  1 fiche, 2 vevents\n";
    for arguments in [&["import", path][..], &["import", "--merge", path]] {
        let done = run(arguments, &data);
        assert!(done.status.success(), "{}", complaint(&done));
        assert_eq!(String::from_utf8_lossy(&done.stdout), counts, "{arguments:?}");
    }
}

#[test]
fn the_faults_of_all_parts_of_a_document_are_reported_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("document.json");
    let path = file.to_str().expect("a plain path");
    let data = folder.path().join("data");
    let mut document = practice(2);
    let group = &mut document["groups"][0];
    group["calendars"][1]["generate_interval"] = json!("often");
    group["fiches"] = json!([{"id": 1, "lastname": "Durand", "email": "nowhere"}, {"id": 2}]);
    group["vevents"][0]["end"] = json!("never");
    group["accounts"] = json!([{"email": "ada@example.org", "fiche_id": 1}]);
    group["pros"][0]["email"] = json!("pro");
    document["apikeys"][0]["origins"] = json!("here");
    fs::write(&file, document.to_string()).expect("written");
    let refused = run(&["import", path], &data);
    assert_eq!(refused.status.code(), Some(1), "{}", complaint(&refused));
    let said = complaint(&refused);
    for fault in [
        "groups[0].calendars[1].generate_interval: ",
        "groups[0].fiches[0].email: ",
        "groups[0].vevents[0].end: ",
        "groups[0].accounts[0].password: ",
        "groups[0].pros[0].email: ",
        "apikeys[0].origins: ",
    ] {
        assert_eq!(said.matches(fault).count(), 1, "{fault} {said}");
    }
    // What refers to a row with a fault has none of its own.
    for follower in ["calendar_id", "fiche_id"] {
        assert!(!said.contains(follower), "{said}");
    }
    assert!(refused.stdout.is_empty() && !data.join("CURRENT").exists(), "nothing was done");
    // A wrong reference in a document that is right up to it is reported.
    let mut document = practice(1);
    document["groups"][0]["vevents"][0]["calendar_id"] = json!(9);
    fs::write(&file, document.to_string()).expect("written");
    let refused = complaint(&run(&["import", path], &data));
    assert!(refused.contains("groups[0].vevents[0].calendar_id: "), "{refused}");
}

#[tokio::test]
async fn a_demonstration_ends_its_start_with_the_address_to_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::heard(&folder.path().join("data"), &["--demo", "--log", "warn"]);
    let page = format!("{}/b/cabinet-de-sante-des-tilleuls", served.base);
    let answer = reqwest::get(&page).await.expect("an answer");
    assert_eq!(answer.status(), 200);
    let (code, said) = served.end("TERM");
    assert_eq!(code, Some(0));
    assert_eq!(
        said.lines().last(),
        Some(format!("slotbook: demonstration: open {page}").as_str()),
        "{said}"
    );
}
