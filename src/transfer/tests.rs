use std::sync::Arc;

use serde_json::{Value, json};

mod faults;
mod images;
mod merges;
mod messages;
mod people;
mod rows;

use super::import::{Import, UsedIds, read_document};
use super::merge::merge_content;
use super::{ImportFault, StoreContent, demo, export};
use crate::domain::directory::Directory;
use crate::domain::directory::invitations::Invitation;
use crate::domain::directory::pro_logins::ProLogin;
use crate::domain::directory::roles::ProRole;
use crate::domain::directory::second_factor::{SecondFactor, TotpSecret};
use crate::domain::messaging::planning;
use crate::domain::records::channel::Channel;
use crate::domain::records::ids::{FicheId, GroupId, InterventionId, ProId, VeventId};
use crate::domain::records::text::{Email, Name, Text};
use crate::domain::records::vevent::{ReminderOutcome, Vevent, VeventKind};
use crate::domain::time::{Civil, Instant};
use crate::engine::randomness::Randomness;
use crate::wire::datetime;

/// Thursday, 12 June 2025, 12:00 in Paris.
fn now() -> Instant {
    Instant(1_749_722_400)
}

fn hash(sha1: &str) -> Text<255> {
    // Hexadecimal digits are base64 too.
    Text::new(&format!("$argon2id$v=19$m=19456,t=2,p=1$c2FsdCBvZiB0ZXN0cw${sha1}")).expect("short")
}

fn import(document: &Value) -> Result<StoreContent, Vec<ImportFault>> {
    read_document(&serde_json::to_vec(document).expect("JSON"), now(), &hash)
}

fn exported(content: &StoreContent) -> String {
    let mut out = Vec::new();
    export::write_document(&content.directory, &content.group_states, &mut out)
        .expect("memory takes all");
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Compares two contents, except for the numbers of the events that made them.
fn assert_same(a: &StoreContent, b: &StoreContent) {
    assert_eq!(a.directory, b.directory);
    assert_eq!(a.group_states.len(), b.group_states.len());
    for (a, b) in a.group_states.iter().zip(&b.group_states) {
        assert_eq!(a.catalogue, b.catalogue);
        assert_eq!(a.fiches, b.fiches);
        assert_eq!(a.accounts, b.accounts);
        assert_eq!(a.images, b.images);
        assert_eq!(a.rows, b.rows);
        assert_eq!((a.highest_ids, a.last_stamp), (b.highest_ids, b.last_stamp));
        assert_eq!(a.outbox.last_id(), b.outbox.last_id());
    }
}

/// The same content once every reminder is past.
fn passed_over(mut content: StoreContent) -> StoreContent {
    for state in &mut content.group_states {
        let rows: Vec<_> = state.rows.values().cloned().collect();
        for mut row in rows {
            if let VeventKind::Appointment(appointment) = &mut Arc::make_mut(&mut row).kind {
                appointment.reminders.mail.set_since(now());
                appointment.reminders.sms.set_since(now());
            }
            state.rows.insert(row);
        }
    }
    content
}

/// A group with one record of each kind, and times in skipped and repeated hours.
fn shop() -> Value {
    json!({
        "apikeys": [{"key": "secret", "label": "site", "groups": [4]}, {"key": "all", "server": true, "origins": ["https://Shop.example:443"]}],
        "groups": [{
            "id": 4, "name": "Cabinet médical", "timezone": "Paris", "mailreminder": 60, "check_sms": 0, "sort": 9,
            "messages_made": 41,
            "pros": [{"id": 3, "email": "Anna@example.org", "password": "demo", "lastname": "Rousseau"}],
            "accounts": [{"email": "c@example.org", "password_sha1": "AB".repeat(20), "fiche_id": 7}],
            "calendarsets": [{"id": 1, "name": "Médecins"}],
            "calendars": [
                {"id": 1, "name": "Anna", "publicname": "Anna", "calendarset_id": "1", "generate_interval": ""},
                {"name": "Old", "deleted": true},
            ],
            "interventionsets": [{"name": "Set", "id": 5}],
            "interventions": [
                {"id": 11, "name": "Consultation", "interventionset_id": 5, "price": 0, "sort": 7},
                {"id": 12, "name": "Other", "created_at": "2024-10-27 02:30:00", "updated_at_utc": "2024-10-27 01:30:00"},
            ],
            "customfields": [
                {"model": "Fiche", "name": "str0", "pro_label": "Mutuelle", "user_position": 0},
                {"model": "Fiche", "name": "num1", "deleted": true},
                {"model": "Vevent", "name": "dt0"},
            ],
            "fiches": [
                {"id": 7, "lastname": "Durand", "email": "c@example.org", "str0": "MGEN", "num1": 2.5},
                {"lastname": "$Gone", "deleted": 1, "birthdate": "1850-02-28", "externid": "12", "rappel_sms": false},
                {"firstname": "Éloïse", "created_at_utc": "2024-10-27 01:15:00"},
            ],
            "vevents": [
                {"calendar_id": 1, "start": "2025-06-12 10:00:00", "end": "2025-06-12 10:15:00", "fiche_id": 7,
                 "intervention_id": 11, "state": 1, "dt0": "2025-01-01 00:00:00", "comments": "x", "smsreminder": 1},
                {"calendar_id": 1, "start": "2025-06-12 10:00:00", "end": "2025-06-12 10:15:00", "fiche_id": 7,
                 "intervention_id": 11, "deleted": true},
                {"id": 90, "calendar_id": 1, "start_utc": "2024-10-27 01:30:00", "end_utc": "2024-10-27 01:45:00",
                 "fiche_id": 7, "intervention_id": 12, "key": "abcdefghijklmnopqrst", "mail_sent": true, "sms_sent": false},
                {"calendar_id": 1, "start": "2025-03-30 02:30:00", "end": "2025-03-30 04:00:00", "text": "In the gap"},
                {"calendar_id": 1, "start": "1970-01-01 02:00:00", "end": "1970-01-02 02:00:00", "fiche_id": 7},
                {"calendar_id": 1, "start": "2025-06-02 09:00:00", "end": "2025-06-02 12:00:00", "type": "VfreebusyEvent",
                 "availableInterventions": ",12,11,", "rrule": "FREQ=WEEKLY;BYDAY=MO,TU", "repeat_exceptions": "2025-06-09",
                 "colorref": "#AAbbcc"},
                {"calendar_id": 2, "start": "2025-06-02", "end": "2025-06-02", "note": true, "text": "A note\nof two lines"},
                {"calendar_id": 1, "start": "2025-03-30 02:30:00", "end": "2025-03-30 03:15:00", "text": "Swallowed by the gap"},
            ],
        }, {
            "name": "Cabinet médical", "timezone": "Europe/Zurich",
            "pros": [{"email": "anna@example.org", "main": true}],
        }],
    })
}

fn changed(edit: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut document = shop();
    edit(&mut document);
    import(&document).expect_err("refused").iter().map(|fault| fault.path.clone()).collect()
}

#[test]
fn an_import_restores_an_export_exactly() {
    for content in
        [import(&shop()).expect("legal"), demo::demo_content(now(), &hash).expect("legal")]
    {
        let document = exported(&content);
        let again = read_document(document.as_bytes(), now(), &hash).expect("an export is legal");
        assert_same(&content, &again);
        // Much later: what was sent and when things were made does not depend on the day of the
        // import. Only what has become past meanwhile is passed over.
        let later = read_document(document.as_bytes(), now().plus_seconds(1 << 24), &hash)
            .expect("an export is legal");
        assert_same(&passed_over(content), &passed_over(later.clone()));
        assert_eq!(exported(&later), document);
    }
}

#[test]
fn message_numbers_continue_after_an_import() {
    let content = import(&shop()).expect("legal");
    assert_eq!(
        content.group_states.iter().map(|state| state.outbox.last_id()).collect::<Vec<_>>(),
        [41, 0]
    );
    for wrong in [json!(-1), json!(1.5), json!("x"), json!(9_007_199_254_740_991_u64)] {
        let path = changed(|document| document["groups"][1]["messages_made"] = wrong.clone());
        assert_eq!(path, ["groups[1].messages_made"], "{wrong}");
    }
    // Merged from an older export, the group continues after its own last number.
    let mut older = shop();
    older["groups"].as_array_mut().expect("a list").truncate(1);
    older["groups"][0]["messages_made"] = 7.into();
    let older = import(&older).expect("legal");
    let merged = merge_content(content, older, b"").expect("nothing clashes");
    assert_eq!(merged.group_states[0].outbox.last_id(), 41);
}

#[test]
fn times_in_a_repeated_hour_keep_their_instant() {
    let content = import(&shop()).expect("legal");
    let row = &content.group_states[0].rows[&VeventId::new(90).expect("an id")];
    let appointment = row.appointment().expect("an appointment");
    let second_pass =
        datetime::instant_from_utc(datetime::parse("2024-10-27 01:30:00").expect("a time"));
    assert_eq!(Ok(appointment.start), second_pass);
    assert_eq!(appointment.reminders.mail.settled(), ReminderOutcome::Sent(appointment.start));
    assert_eq!(appointment.reminders.sms.settled(), ReminderOutcome::No);
    let document = exported(&content);
    assert!(document.contains("\"created_at_utc\":\"2024-10-27 01:15:00\""));
}

#[test]
fn missing_fields_take_their_default() {
    let content = import(&shop()).expect("legal");
    let first = &content.group_states[0];
    let second = &content.group_states[1];
    assert_eq!(first.catalogue.group.urlname.as_str(), "cabinet-medical");
    assert_eq!(second.catalogue.group.urlname.as_str(), "cabinet-medical-2");
    assert_eq!(second.catalogue.group.id.number(), 5);
    let sorts: Vec<i64> =
        first.catalogue.interventions.values().map(|row| row.sort.number()).collect();
    assert_eq!(sorts, [7, 8]);
    assert_eq!(
        first.rows.keys().map(|id| id.number()).collect::<Vec<_>>(),
        [90, 91, 92, 93, 94, 95, 96, 97]
    );
    let anna = content.directory.pros.values().next().expect("one person");
    assert_eq!((anna.groups.len(), anna.main, anna.id.number()), (2, second.catalogue.group.id, 3));
    assert_eq!(anna.password_hash, hash("89e495e7941cf9e40e6980d14a16bf023ccd4c91"));
    let deleted = &first.fiches[&FicheId::new(8).expect("an id")];
    assert_eq!(
        (deleted.lastname.as_str(), deleted.birthdate),
        ("Gone", datetime::parse("1850-02-28").ok())
    );
    let keys: Vec<_> =
        content.directory.apikeys.iter().map(|(_, key)| key.groups.clone()).collect();
    assert!(keys.contains(&None) && keys.contains(&Some(vec![GroupId::new(4).expect("an id")])));
    for (_, apikey) in content.directory.apikeys.iter() {
        assert_eq!(apikey.is_server(), apikey.groups.is_none());
    }
}

#[test]
fn a_past_reminder_was_not_sent_and_will_not_be_sent() {
    let content = import(&shop()).expect("legal");
    let state = &content.group_states[0];
    let row = state
        .rows
        .values()
        .find(|row| row.appointment().is_some_and(|a| a.smsreminder))
        .expect("the first");
    let reminders = row.appointment().expect("an appointment").reminders;
    assert_eq!(
        (reminders.mail.settled(), reminders.sms.settled()),
        (ReminderOutcome::No, ReminderOutcome::No)
    );
    let zone = state.catalogue.zone();
    let wanted = planning::due_time(state, zone, row, Channel::Mail);
    assert!(wanted.is_some_and(|due| due < now()), "it would have been due before the import");
    assert_eq!(planning::shown_time(state, zone, row, Channel::Mail, now()), None);
    assert_eq!(planning::pending_due_time(state, zone, row, Channel::Mail, now()), None);
}

#[test]
fn faults_are_reported_by_path() {
    let put = |path: &str, value: Value| {
        changed(|document| {
            let (parent, name) = path.rsplit_once('/').expect("a path");
            document["groups"][0].pointer_mut(parent).expect("a place")[name] = value;
        })
    };
    assert_eq!(put("/vevents/0/end", json!("2025-06-12 10:00:00")), ["groups[0].vevents[0].end"]);
    assert_eq!(
        put("/vevents/0/id", json!(crate::domain::records::ids::ID_MAX))[0],
        "groups[0].vevents[0].id"
    );
    assert_eq!(
        put("/fiches/0/updated_at", json!("9990-01-01 00:00:00")),
        ["groups[0].fiches[0].updated_at"]
    );
    assert_eq!(
        put("/vevents/0/created_at", json!("9990-01-01 00:00:00")),
        ["groups[0].vevents[0].created_at"]
    );
    assert_eq!(
        put("/calendars/0/updated_at", json!("2025-06-14 12:00:01")),
        ["groups[0].calendars[0].updated_at"]
    );
    assert_eq!(put("/created_at", json!("2025-06-14 12:00:01")), ["groups[0].created_at"]);
    assert_eq!(
        put("/vevents/5/rrule", json!("FREQ=DAILY;COUNT=1")),
        ["groups[0].vevents[5].rrule"]
    );
    assert_eq!(put("/vevents/0/fiche_id", json!(99)), ["groups[0].vevents[0].fiche_id"]);
    assert_eq!(put("/vevents/0/dt0", json!("soon")), ["groups[0].vevents[0].dt0"]);
    assert_eq!(put("/vevents/0/id", json!(90)), ["groups[0].vevents[2].id"]);
    assert_eq!(put("/fiches/0/str0", json!("x".repeat(256))), ["groups[0].fiches[0].str0"]);
    assert_eq!(put("/fiches/0/lastname", json!("")), ["groups[0].fiches[0].lastname"]);
    assert_eq!(
        put("/calendars/0/calendarset_id", json!(2)),
        ["groups[0].calendars[0].calendarset_id"]
    );
    assert_eq!(put("/customfields/2/model", json!("Group")), ["groups[0].customfields[2].model"]);
    assert_eq!(put("/accounts/0/fiche_id", json!(99)), ["groups[0].accounts[0].fiche_id"]);
    let passwords = ["groups[0].pros[0].password", "groups[1].pros[0].password"];
    assert_eq!(put("/pros/0/password", Value::Null), passwords);
    assert_eq!(
        changed(|document| document["groups"][1]["timezone"] = "Europe/Lyon".into()),
        ["groups[1].timezone"]
    );
    let person =
        |document: &mut Value| document["groups"][1]["pros"][0]["password"] = "other".into();
    assert_eq!(changed(person), ["groups[1].pros[0].password"]);
    assert_eq!(changed(|document| document["groups"][1]["id"] = 4.into()), ["groups[1].id"]);
    assert_eq!(
        changed(|document| document["apikeys"][0]["groups"] = json!([6])),
        ["apikeys[0].groups"]
    );
    assert_eq!(
        changed(|document| document["apikeys"][0]["origins"] = json!(["https://a/b"])),
        ["apikeys[0].origins"]
    );
    for mark in ["server", "any_origin"] {
        assert_eq!(
            changed(|document| document["apikeys"][0][mark] = json!("perhaps")),
            [format!("apikeys[0].{mark}")]
        );
    }
    assert_eq!(
        read_document(b"{\"groups\":[\n7]}", now(), &hash).expect_err("no group")[0].path,
        "line 2, column 1"
    );
}

#[test]
fn a_key_of_an_earlier_export_allows_pages_of_any_origin() {
    let digits = "ab".repeat(32);
    for (key, allows_any) in [
        (json!({"key": "secret"}), false),
        (json!({"key": "secret", "any_origin": true}), true),
        (json!({"key_sha256": digits}), true),
        (json!({"key": null, "key_sha256": digits}), true),
        (json!({"key_sha256": digits, "origins": ["https://shop.example"]}), true),
        (json!({"key_sha256": digits, "any_origin": false}), false),
    ] {
        let content = import(&json!({"apikeys": [key], "groups": []})).expect("legal");
        let (_, apikey) = content.directory.apikeys.iter().next().expect("a key");
        assert_eq!(apikey.allows_any_origin, allows_any, "{key}");
    }
}

#[test]
fn a_null_section_is_empty() {
    let document = json!({"groups": [{"name": "G", "timezone": "Paris", "fiches": null, "vevents": null,
        "calendars": null, "accounts": null}]});
    assert_eq!(import(&document).expect("legal").group_states[0].rows.len(), 0);
}

#[test]
fn a_malformed_password_hash_is_refused() {
    let faults = changed(|document| {
        let account = &mut document["groups"][0]["accounts"][0];
        account.as_object_mut().expect("an object").remove("password_sha1");
        account["password_hash"] = "$argon2id$".into();
    });
    assert_eq!(faults.len(), 1);
    assert!(faults[0].starts_with("groups[0].accounts[0].password_hash"), "{}", faults[0]);
}

#[test]
fn at_most_twenty_faults_are_reported() {
    let faults = changed(|document| {
        let rows = document["groups"][0]["vevents"].as_array_mut().expect("a list");
        rows.extend(std::iter::repeat_n(json!({}), 30));
    });
    assert_eq!(faults.len(), 20);
}

#[test]
fn overlapping_appointments_are_both_reported() {
    let mut document = shop();
    document["groups"][0]["vevents"][1]["deleted"] = false.into();
    let faults = import(&document).expect_err("they overlap");
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].path, "groups[0].vevents[1].start");
    assert!(faults[0].rule.contains("appointments 91 and 92 overlap"), "{}", faults[0]);
    assert!(faults[0].rule.contains("groups[0].vevents[0]"), "{}", faults[0]);
}

#[test]
fn a_merge_replaces_groups_and_refuses_ids_of_staying_groups() {
    let existing = || import(&shop()).expect("legal");
    let arriving = |id: u64, calendar: u64| {
        let document = json!({"groups": [{"id": id, "name": "New", "timezone": "Paris",
            "pros": [{"email": "anna@example.org", "password": "x"}],
            "calendars": [{"id": calendar, "name": "C"}]}]});
        merged(existing(), &document)
    };
    let merged = arriving(4, 1).expect("its own id");
    assert_eq!(merged.group_states.len(), 2);
    assert_eq!(merged.group_states[0].catalogue.calendars.len(), 1);
    assert_eq!(merged.directory.pros.len(), 1);
    let anna = merged.directory.pros.values().next().expect("one person");
    assert_eq!((anna.id.number(), anna.groups.len(), anna.main.number()), (3, 2, 5));
    let faults = arriving(9, 1).expect_err("group 4 has calendar 1");
    assert_eq!(faults[0].path, "groups[0].calendars[0].id");
    assert_eq!(arriving(9, 77).expect("free ids").group_states.len(), 3);
}

#[test]
fn logins_and_second_factors_stay_with_their_person_over_a_merge() {
    let anna = ProId::new(3).expect("an id");
    let existing = || {
        let mut content = import(&shop()).expect("legal");
        let directory = &mut content.directory;
        let (source, device) = (Name::default(), Name::default());
        let login = ProLogin { pro: anna, begun: now(), stays: true, source, device };
        directory.pro_logins.extend([([1; 32], login)]);
        let factor = SecondFactor::new(TotpSecret::new([7; 20]), 1, Vec::new(), now());
        directory.second_factors.insert(anna, factor);
        let invitation = Invitation {
            email: Email::new("new@example.org").expect("an address"),
            role: ProRole::Reception,
            by: Some(anna),
            expires: now().plus_seconds(60),
        };
        for group in [4, 5] {
            let place = (GroupId::new(group).expect("an id"), 9);
            directory.invitations.extend([(place, invitation.clone())]);
        }
        content
    };
    let replacing = |groups: &[u64], pro: Value| {
        let arriving = |id| json!({"id": id, "name": "New", "timezone": "Paris", "pros": [pro]});
        let groups: Vec<Value> = groups.iter().map(arriving).collect();
        merged(existing(), &json!({"groups": groups})).expect("legal").directory
    };
    let kept = |directory: &Directory| {
        let logins = directory.pro_logins.active(anna, now()).count();
        (logins, directory.second_factors.contains_key(&anna), directory.invitations.iter().count())
    };
    let known = existing().directory.pros.get(&anna).expect("she is there").password_hash.clone();
    let same = json!({"id": 3, "email": "ANNA@example.org", "password_hash": known.as_str()});
    let other_password = json!({"email": "anna@example.org", "password": "other"});
    let other_person = json!({"id": 3, "email": "bob@example.org", "password": "other"});
    assert_eq!(kept(&replacing(&[4], same)), (1, true, 1));
    assert_eq!(kept(&replacing(&[4], other_password)), (0, true, 1));
    assert_eq!(kept(&replacing(&[4, 5], other_person)), (0, false, 0));
    let elsewhere = merged(existing(), &json!({"groups": []})).expect("legal").directory;
    assert_eq!(kept(&elsewhere), (1, true, 2));
}

/// Merges a document into a content.
fn merged(existing: StoreContent, document: &Value) -> Result<StoreContent, Vec<ImportFault>> {
    let document = serde_json::to_vec(document).expect("JSON");
    let used_ids = UsedIds::from_content(&existing);
    let draws = Randomness::seeded([0; 32]);
    let import =
        Import { now: now(), hash_password: &hash, draws, used_ids, progress: &mut |_, _| {} };
    merge_content(existing, import.read_document(&document)?, &document)
}

#[test]
fn every_row_of_a_merge_with_a_used_id_is_reported() {
    let plage = |id| json!({"id": id, "calendar_id": 901, "start": "2025-06-12 10:00:00", "end": "2025-06-12 11:00:00"});
    let document = json!({"groups": [
        {"id": 900, "name": "First", "timezone": "Paris"},
        {"id": 901, "name": "Second", "timezone": "Paris",
            "pros": [{"id": 902, "email": "bob@example.org", "password": "x"},
                {"id": 3, "email": "carl@example.org", "password": "x"}],
            "calendars": [{"id": 901, "name": "C"}],
            "interventions": [{"id": 905, "name": "I"}, {"id": "12", "name": "J"}, {"id": 11, "name": "K"}],
            "fiches": [{"lastname": "A"}, {"lastname": "B"}, {"id": 7, "lastname": "C"}],
            "vevents": [plage(906), plage(90)]},
    ]});
    let faults =
        merged(import(&shop()).expect("legal"), &document).expect_err("five ids are taken");
    let paths: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "groups[1].pros[1].id",
            "groups[1].interventions[1].id",
            "groups[1].interventions[2].id",
            "groups[1].fiches[2].id",
            "groups[1].vevents[1].id",
        ]
    );
    assert_eq!(faults[4].rule, "the id 90 belongs to group 4, which stays");
}

#[test]
fn unknown_sections_are_refused_by_name() {
    assert_eq!(
        import(&json!({"group": shop()["groups"]})).expect_err("no groups")[0].path,
        "group"
    );
    assert_eq!(changed(|document| document["apikey"] = json!([])), ["apikey"]);
    assert_eq!(
        changed(|document| document["groups"][1]["calendar"] = json!([{"name": "C"}])),
        ["groups[1].calendar"]
    );
    assert_eq!(
        changed(|document| document["groups"][0]["Fiches"] = json!({})),
        ["groups[0].Fiches"]
    );
    let mut harmless = shop();
    harmless["groups"][0]["comment"] = "an unknown field is ignored".into();
    harmless["version"] = 1.into();
    assert!(import(&harmless).is_ok());
}

#[test]
fn a_duplicate_attribute_is_reported_at_its_second_definition() {
    let again = |model: &str| {
        changed(|document| {
            let row = json!({"model": model, "name": "str0"});
            let rows = document["groups"][0]["customfields"].as_array_mut().expect("a list");
            rows.extend([json!({"model": "Vevent", "name": "str0"}), row]);
        })
    };
    assert_eq!(again("Fiche"), ["groups[0].customfields[4].name"]);
    assert_eq!(again("Vevent"), ["groups[0].customfields[4].name"]);
}

#[test]
fn the_demonstration_lies_around_the_current_week() {
    for days in [0, 3, 4, 11, 200] {
        let now = now().plus_seconds(days * 86_400);
        let content = demo::demo_content(now, &hash).expect("legal");
        let state = &content.group_states[0];
        let zone = state.catalogue.zone();
        let ahead = state
            .rows
            .values()
            .filter_map(|row| row.appointment())
            .filter(|a| a.start > now)
            .count();
        assert!(ahead > 100, "{ahead}");
        assert!(state.last_stamp <= now, "nothing was made in the future");
        let week = |at: Instant| Civil::day(zone.civil_of(at)).0 + 3;
        let starts = state
            .rows
            .values()
            .filter_map(|row| row.appointment())
            .map(|a| week(a.start).div_euclid(7));
        let (first, last) =
            starts.fold((i32::MAX, i32::MIN), |(first, last), w| (first.min(w), last.max(w)));
        assert_eq!((first, last), (week(now).div_euclid(7) - 1, week(now).div_euclid(7) + 1));
    }
}

#[test]
fn a_client_or_a_service_without_the_other_survives_an_export() {
    let mut document = shop();
    document["groups"][0]["vevents"][3]["intervention_id"] = json!(12);
    let content = import(&document).expect("a legal document");
    let again = serde_json::from_str(&exported(&content)).expect("JSON");
    let again = import(&again).expect("what was exported is legal");
    let halves = |content: &StoreContent| {
        let rows = content.group_states[0].rows.values().filter(|row| row.appointment().is_none());
        let named = rows.map(|row| {
            let ids = (row.fiche_id().map(FicheId::number), row.intervention_id());
            (ids.0, ids.1.map(InterventionId::number))
        });
        named.filter(|ids| *ids != (None, None)).collect::<Vec<_>>()
    };
    assert_eq!(halves(&content), [(None, Some(12)), (Some(7), None)]);
    assert_eq!(halves(&again), halves(&content));
}

#[test]
fn an_emptied_client_and_the_comments_of_a_booking_survive_an_export() {
    let mut document = shop();
    let group = &mut document["groups"][0];
    let emptied = json!({"id": 9, "lastname": "", "firstname": "", "firstphone": "",
        "secondphone": "", "email": "", "from_web": true});
    group["fiches"].as_array_mut().expect("a list").push(emptied);
    group["vevents"][0]["internal_comments"] = json!("for ourselves");
    group["vevents"][0]["booking_comments"] = json!("");
    let content = import(&document).expect("a legal document");
    let again = serde_json::from_str(&exported(&content)).expect("JSON");
    let again = import(&again).expect("what was exported is legal");
    let state = &again.group_states[0];
    assert_eq!(content.group_states[0].fiches, state.fiches);
    let has_comments = |row: &Vevent| {
        row.rare.as_ref().is_some_and(|rare| rare.internal_comments.as_str() == "for ourselves")
    };
    let row = state.rows.values().find(|row| has_comments(row)).expect("it has its comments");
    let rare = row.rare.as_ref().expect("it has comments");
    assert_eq!((row.booking_comments(), rare.comments.as_str()), ("", "x"));
    // A client of another origin needs a name.
    let fiches = document["groups"][0]["fiches"].as_array_mut().expect("a list");
    fiches.last_mut().expect("it was pushed")["from_web"] = json!(false);
    assert!(import(&document).is_err());
}

#[test]
fn a_merged_client_survives_an_export_and_leads_to_one_that_is_kept() {
    let mut document = shop();
    let merged = json!({"id": 9, "lastname": "$", "deleted": true, "merged_into": 7});
    document["groups"][0]["fiches"].as_array_mut().expect("a list").push(merged);
    let content = import(&document).expect("a legal document");
    let again: Value = serde_json::from_str(&exported(&content)).expect("JSON");
    assert_same(&content, &import(&again).expect("what was exported is legal"));
    let id = |number| FicheId::new(number).expect("an id");
    assert_eq!(content.group_states[0].kept_client(id(9)), id(7));
    for (field, value) in [
        ("merged_into", json!(99)),
        ("merged_into", json!(9)),
        ("merged_into", json!("x")),
        ("deleted", json!(false)),
    ] {
        let mut wrong = document.clone();
        let fiches = wrong["groups"][0]["fiches"].as_array_mut().expect("a list");
        fiches.last_mut().expect("it was pushed")[field] = value;
        assert!(import(&wrong).is_err(), "{field}");
    }
}
