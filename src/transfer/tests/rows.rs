//! Appointments, reminders, stamps and counters of a document, and the progress of its import.

use serde_json::{Value, json};

use super::{changed, exported, hash, import, now, shop};
use crate::domain::messaging::planning;
use crate::domain::records::channel::Channel;
use crate::domain::records::ids::VeventId;
use crate::domain::time::{HOUR, Instant};
use crate::engine::randomness::Randomness;
use crate::transfer::import::{Import, UsedIds};

#[test]
fn an_appointment_may_begin_as_another_ends() {
    let mut document = shop();
    let second = &mut document["groups"][0]["vevents"][1];
    second["deleted"] = false.into();
    second["start"] = "2025-06-12 10:15:00".into();
    second["end"] = "2025-06-12 10:30:00".into();
    assert!(import(&document).is_ok());
    let overlapping = |document: &mut Value| {
        let second = &mut document["groups"][0]["vevents"][1];
        second["deleted"] = false.into();
        second["start"] = "2025-06-12 10:14:59".into();
        second["end"] = "2025-06-12 10:30:00".into();
    };
    assert_eq!(changed(overlapping), ["groups[0].vevents[1].start"]);
}

#[test]
fn a_reminder_whose_time_is_past_is_passed_over_and_a_later_one_is_sent() {
    // The shop reminds by mail an hour before. It is 12:00.
    let pending = |start: &str, end: &str| {
        let mut document = shop();
        let row = &mut document["groups"][0]["vevents"][0];
        (row["start"], row["end"]) = (start.into(), end.into());
        (row["created_at"], row["updated_at"]) =
            ("2025-06-01 09:00:00".into(), "2025-06-01 09:00:00".into());
        let content = import(&document).expect("legal");
        let state = &content.group_states[0];
        let row = &state.rows[&VeventId::new(91).expect("an id")];
        planning::pending_due_time(state, state.catalogue.zone(), row, Channel::Mail, now())
    };
    assert_eq!(pending("2025-06-12 12:30:00", "2025-06-12 12:45:00"), None);
    assert_eq!(pending("2025-06-12 13:00:00", "2025-06-12 13:15:00"), None);
    assert_eq!(
        pending("2025-06-12 14:00:00", "2025-06-12 14:15:00"),
        Some(now().plus_seconds(HOUR))
    );
}

#[test]
fn the_last_stamp_of_a_group_is_the_latest_of_all_its_rows() {
    let early = json!("2025-05-01 08:00:00");
    let last_stamp = |edit: &dyn Fn(&mut Value)| {
        let row = |id: u64| json!({"id": id, "name": "N", "created_at_utc": early, "updated_at_utc": early});
        let mut fiche = row(1);
        fiche["lastname"] = "L".into();
        let mut customfield = row(1);
        (customfield["model"], customfield["name"]) = ("Fiche".into(), "str0".into());
        let mut group = json!({"id": 4, "name": "G", "timezone": "UTC", "created_at": early,
            "updated_at": early, "calendarsets": [row(1)], "calendars": [row(1)],
            "interventionsets": [row(1)], "interventions": [row(1)], "fiches": [fiche],
            "customfields": [customfield]});
        edit(&mut group);
        import(&json!({"groups": [group]})).expect("legal").group_states[0].last_stamp
    };
    let early_stamp = last_stamp(&|_| {});
    assert_eq!(early_stamp, Instant(1_746_086_400));
    let late = json!("2025-05-01 08:00:07");
    for section in
        ["calendarsets", "calendars", "interventionsets", "interventions", "customfields", "fiches"]
    {
        let stamp = last_stamp(&|group| group[section][0]["updated_at_utc"] = late.clone());
        assert_eq!(stamp, early_stamp.plus_seconds(7), "{section}");
    }
    let stamp = last_stamp(&|group| group["updated_at"] = late.clone());
    assert_eq!(stamp, early_stamp.plus_seconds(7));
}

#[test]
fn an_export_names_no_counter_that_was_never_used() {
    let content = import(&shop()).expect("legal");
    let document: Value = serde_json::from_str(&exported(&content)).expect("JSON");
    let [first, second] = [&document["groups"][0], &document["groups"][1]];
    assert_eq!(first["messages_made"], 41);
    assert_eq!(second.get("messages_made"), None);
    assert_eq!(second["highest_ids"], json!({}));
    assert_eq!(first["highest_ids"]["vevents"], 97);
}

#[test]
fn the_progress_of_an_import_ends_with_the_number_of_all_long_rows() {
    let mut document = shop();
    document["groups"][0]["messages"] = json!([{"id": 5, "kind": "password_changed",
        "state": "kept", "recipient": "c@example.org", "created_at_utc": "2025-06-12 09:00:00",
        "settled_at_utc": "2025-06-12 09:00:00"}]);
    let document = serde_json::to_vec(&document).expect("JSON");
    let mut reports = Vec::new();
    let import = Import {
        now: now(),
        hash_password: &hash,
        draws: Randomness::seeded([0; 32]),
        used_ids: UsedIds::default(),
        progress: &mut |done, total| reports.push((done, total)),
    };
    import.read_document(&document).expect("legal");
    assert_eq!(reports, [(12, 12)], "3 fiches, 8 vevents and a message");
}
