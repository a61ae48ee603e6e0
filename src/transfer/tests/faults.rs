//! The words and the places of faults, and the bounds up to which a value is legal.

use serde_json::{Value, json};

use super::{changed, hash, import, now, shop};
use crate::domain::records::ids::ID_MAX;
use crate::transfer::group_draft::MESSAGES_MADE_MAX;
use crate::transfer::ids::GIVEN_MAX;
use crate::transfer::import::read_document;

/// A message of the shop whose number and content leave nothing open.
fn kept_message() -> Value {
    json!({"id": 5, "kind": "password_changed", "state": "kept", "recipient": "c@example.org",
        "created_at_utc": "2025-06-12 09:00:00", "settled_at_utc": "2025-06-12 09:00:00"})
}

/// The paths of the faults of the shop after an edit; none where it is legal.
fn faults_after(edit: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut document = shop();
    edit(&mut document);
    match import(&document) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.into_iter().map(|fault| fault.path).collect(),
    }
}

#[test]
fn a_document_of_another_shape_is_refused_with_the_shape_it_should_have() {
    for (document, rule) in [
        ("[]", "invalid type: sequence, expected a document with groups"),
        (r#"{"groups":{}}"#, "invalid type: map, expected a list of groups"),
        (r#"{"groups":[7]}"#, "invalid type: integer `7`, expected a group"),
        (r#"{"groups":[{"fiches":7}]}"#, "invalid type: integer `7`, expected a list of fiches"),
        (r#"{"groups":[{"messages":{}}]}"#, "invalid type: map, expected a list of messages"),
    ] {
        let faults = read_document(document.as_bytes(), now(), &hash).expect_err(document);
        assert_eq!(faults[0].rule, rule, "{document}");
    }
}

#[test]
fn a_fault_is_shown_as_its_path_and_its_rule() {
    let mut document = shop();
    document["groups"][1]["id"] = 4.into();
    let faults = import(&document).expect_err("the id appears twice");
    assert_eq!(
        faults[0].to_string(),
        "groups[1].id: 4 appears twice among groups: give each row its own id"
    );
}

#[test]
fn after_a_wrong_row_only_references_to_rows_are_not_judged() {
    let paths = changed(|document| {
        let group = &mut document["groups"][0];
        group["fiches"][0]["lastname"] = "".into();
        group["vevents"][3]["end"] = "2025-03-30 02:30:00".into();
    });
    // Four vevents and an account name the client of the wrong row.
    assert_eq!(paths, ["groups[0].fiches[0].lastname", "groups[0].vevents[3].end"]);
}

#[test]
fn a_client_merged_into_a_wrong_row_is_no_fault_of_its_own() {
    let paths = changed(|document| {
        let fiches = document["groups"][0]["fiches"].as_array_mut().expect("a list");
        fiches.push(json!({"id": 9, "lastname": "$", "deleted": true, "merged_into": 7}));
        fiches[0]["lastname"] = "".into();
    });
    assert_eq!(paths, ["groups[0].fiches[0].lastname"]);
}

#[test]
fn a_group_with_a_wrong_id_is_no_other_group() {
    let group = |id: Value| json!({"id": id, "name": "G", "timezone": "Paris", "urlname": "same"});
    let paths = |groups: [Value; 2]| {
        let faults = import(&json!({"groups": groups})).expect_err("a wrong id");
        faults.into_iter().map(|fault| fault.path).collect::<Vec<_>>()
    };
    let wrong = || group(json!("x"));
    let expected = ["groups[0].id", "groups[1].id", "groups[1].urlname"];
    assert_eq!(paths([wrong(), wrong()]), expected);
    assert_eq!(
        paths([wrong(), group(GIVEN_MAX.into())]),
        ["groups[0].id", "groups[1].urlname"],
        "the highest id of a document is no stand-in"
    );
}

#[test]
fn the_highest_id_and_message_number_of_a_document_are_legal() {
    let group = |id: u64| json!({"groups": [{"id": id, "name": "G", "timezone": "Paris"}]});
    assert!(import(&group(GIVEN_MAX)).is_ok());
    assert_eq!(import(&group(GIVEN_MAX + 1)).expect_err("too high")[0].path, "groups[0].id");
    let message = |number: u64| {
        let mut row = kept_message();
        row["id"] = number.into();
        faults_after(|document| document["groups"][0]["messages"] = json!([row]))
    };
    assert!(message(MESSAGES_MADE_MAX).is_empty());
    for too_high in [MESSAGES_MADE_MAX + 1, ID_MAX] {
        assert_eq!(message(too_high), ["groups[0].messages[0].id"]);
    }
}

#[test]
fn a_message_may_be_about_the_last_vevent_of_its_group() {
    let about = |vevent: u64| {
        let mut row = kept_message();
        row["kind"] = "cancellation".into();
        row["appointments"] = json!([{"id": vevent, "start_utc": "2025-06-12 08:00:00"}]);
        faults_after(|document| document["groups"][0]["messages"] = json!([row]))
    };
    assert!(about(97).is_empty(), "the shop has the vevents 90 to 97");
    assert_eq!(about(98), ["groups[0].messages[0].appointments[0].id"]);
}

#[test]
fn a_stamp_may_lie_a_day_ahead_and_no_more() {
    for (time, is_legal) in [("2025-06-13 10:00:00", true), ("2025-06-13 10:00:01", false)] {
        for name in ["created_at", "updated_at"] {
            let field = format!("{name}_utc");
            let wrong = format!("groups[0].calendars[1].{name}");
            let paths = faults_after(|it| it["groups"][0]["calendars"][1][field] = time.into());
            assert_eq!(paths, if is_legal { vec![] } else { vec![wrong] }, "{time}");
        }
        let mut row = kept_message();
        row["created_at_utc"] = time.into();
        let paths = faults_after(|it| it["groups"][0]["messages"] = json!([row]));
        assert_eq!(paths.is_empty(), is_legal, "{time}: {paths:?}");
    }
}
