//! Keys that `contact_needed` of a group binds: those made from now on, by import and command.

use std::fs;

use data_encoding::HEXLOWER;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::server::{Served, complaint, exported, half_hour, practice, run};

#[tokio::test]
async fn the_needed_contact_binds_keys_made_from_now_on_and_survives_export_and_import() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    document["groups"][0]["contact_needed"] = json!("either");
    let hash = |key: &str| HEXLOWER.encode(&Sha256::digest(key));
    document["apikeys"] = json!([
        {"key": "new-key"},
        {"key": "unbound-key", "needs_contact": false},
        {"key_sha256": hash("old-key")},
        {"key_sha256": hash("bound-key"), "needs_contact": 1},
    ]);
    let wrong = json!([{"key": "new-key", "needs_contact": "perhaps"}]);
    let file = folder.path().join("document.json");
    let path = file.to_str().expect("a plain path");
    let data = folder.path().join("data");
    fs::write(&file, json!({"apikeys": wrong, "groups": []}).to_string()).expect("written");
    let refused = run(&["import", path], &data);
    assert!(complaint(&refused).contains("apikeys[0].needs_contact"), "{}", complaint(&refused));
    fs::write(&file, document.to_string()).expect("written");
    let done = run(&["import", path], &data);
    assert!(done.status.success(), "{}", complaint(&done));
    let added = run(&["key", "add", "--group", "1"], &data);
    let added = String::from_utf8(added.stdout).expect("a key").trim().to_owned();
    let first = exported(&data);
    let again = folder.path().join("again");
    fs::write(&file, first.to_string()).expect("written");
    let done = run(&["import", path], &again);
    assert!(done.status.success(), "{}", complaint(&done));
    for (store, data) in [&data, &again].into_iter().enumerate() {
        let served = Served::on(data, &[]);
        let bookings = format!("{}/api/v1/groups/1/appointments", served.base);
        for (nth, (key, status)) in [
            ("new-key", 400),
            ("unbound-key", 201),
            ("old-key", 201),
            ("bound-key", 400),
            (added.as_str(), 400),
        ]
        .into_iter()
        .enumerate()
        {
            let date = half_hour(u64::try_from(nth).expect("small") * 2);
            let body = json!({"appointment": {
                "date": date, "intervention_ids": [1], "fiche": {"lastname": "Durand"},
            }});
            let request = reqwest::Client::new().post(&bookings).query(&[("apikey", key)]);
            let answer = request.json(&body).send().await.expect("an answer");
            let got = answer.status().as_u16();
            let said = answer.text().await.expect("a text");
            assert_eq!(got, status, "{key} in store {store}: {said}");
            assert_eq!(said.contains("contact_needed"), status == 400, "{said}");
        }
        assert_eq!(served.terminate(), Some(0));
    }
}
