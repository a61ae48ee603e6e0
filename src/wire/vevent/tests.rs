use crate::domain::availability::catalogue::Catalogue;
use crate::domain::records::calendar::Calendar;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::Group;
use crate::domain::records::ids::VeventId;
use crate::domain::records::ids::{CalendarId, FicheId, GroupId, InterventionId};
use crate::domain::records::intervention::Intervention;
use crate::domain::records::text::{Email, Name, ReminderLead};
use crate::domain::records::vevent::AppointmentKey;
use crate::domain::records::vevent::ReminderOutcome;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::domain::time::zone_names::ZoneName;
use crate::wire::field::{Audience, Scope};
use crate::wire::vevent::{VEVENT, parse, revise};
use serde_json::{Map, Value, json};

fn state() -> GroupState {
    let paris = ZoneName::from_name("Paris").expect("a zone");
    let mut group = Group::new(GroupId::new(4).expect("an id"), paris, Instant(0));
    group.mailreminder = ReminderLead::new(60).expect("a lead");
    let mut catalogue = Catalogue::new(group);
    let id = CalendarId::new(2).expect("an id");
    catalogue.calendars.insert(id, Calendar::new(id, Instant(0)).into());
    for id in [11, 13] {
        let id = InterventionId::new(id).expect("an id");
        catalogue.interventions.insert(id, Intervention::new(id, Instant(0)).into());
    }
    let mut fiche = Fiche::new(FicheId::new(7).expect("an id"), Instant(0));
    fiche.lastname = Name::new("Durand").expect("a name");
    fiche.email = Some(Email::new("a@example.org").expect("an address"));
    GroupState::from_records(catalogue, vec![fiche.into()], Vec::new(), Vec::new())
}

fn read(given: Value, audience: Audience) -> Result<Map<String, Value>, Vec<String>> {
    let state = state();
    let mut object: Map<String, Value> = serde_json::from_value(given).expect("an object");
    for (name, value) in
        [("calendar_id", "2"), ("start", "2025-06-12 10:00:00"), ("end", "2025-06-12 11:00:00")]
    {
        object.entry(name).or_insert(value.into());
    }
    let input = parse(&object, &Scope::for_group(&state), audience);
    let input =
        input.map_err(|faults| faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>())?;
    let key = AppointmentKey::new("abcdefghijklmnopqrst").expect("a key");
    let row = input.into_vevent(VeventId::new(9).expect("an id"), key, Instant(0), Instant(0));
    Ok(VEVENT.render(&row, &Scope::for_group(&state), Audience::Pro))
}

fn shown(given: Value) -> Map<String, Value> {
    read(given, Audience::Pro).expect("legal")
}

fn faults(given: Value) -> Vec<String> {
    read(given, Audience::Pro).expect_err("illegal")
}

#[test]
fn the_fields_select_one_of_four_kinds() {
    let row = shown(
        json!({"fiche_id": 7, "intervention_id": "11", "state": 2, "text": "ignored", "smsreminder": 1}),
    );
    assert_eq!(
        (&row["fiche_id"], &row["type"], &row["note"]),
        (&json!(7), &json!(""), &json!(false))
    );
    assert_eq!((&row["text"], &row["state"]), (&json!("Durand"), &json!(2)));
    assert_eq!((&row["mailtime"], &row["smstime"]), (&json!("2025-06-12 09:00:00"), &Value::Null));
    let row = shown(json!({"fiche_id": 7, "intervention_id": 0, "text": "Lunch"}));
    assert_eq!(
        (&row["fiche_id"], &row["intervention_id"], &row["text"]),
        (&json!(7), &json!(0), &json!("Lunch"))
    );
    let row = shown(json!({"type": "VfreebusyEvent", "availableInterventions": [13, 11]}));
    assert_eq!(
        (&row["type"], &row["availableInterventions"]),
        (&json!("VfreebusyEvent"), &json!(",11,13,"))
    );
    let row = shown(json!({"note": true, "start": "2025-06-12", "end": "2025-06-12 00:00:00"}));
    assert_eq!((&row["note"], &row["end"]), (&json!(true), &json!("2025-06-12 00:00:00")));
}

#[test]
fn a_field_that_contradicts_the_kind_is_reported() {
    let appointment = |name: &str, value: Value| {
        let mut given = json!({"fiche_id": 7, "intervention_id": 11});
        given[name] = value;
        faults(given)
    };
    assert_eq!(appointment("rrule", "FREQ=DAILY".into()), ["rrule"]);
    assert_eq!(appointment("type", "VfreebusyEvent".into()), ["type"]);
    assert_eq!(appointment("note", 1.into()), ["note"]);
    assert_eq!(appointment("end", "2025-06-12 10:00:00".into()), ["end"]);
    assert_eq!(appointment("state", 4.into()), ["state"]);
    let plage = json!({"start": "2025-06-12 10:00:00", "end": "2025-06-12 11:00:00", "state": 4});
    assert_eq!(faults(plage), ["state"]);
    assert_eq!(faults(json!({"note": 1})), ["start"]);
    assert_eq!(faults(json!({"type": "Other"})), ["type"]);
    assert_eq!(faults(json!({"end": "2025-06-12 09:00:00"})), ["end"]);
}

#[test]
fn all_faults_are_reported() {
    let given = json!({"calendar_id": 3, "start": "", "end": "12:00", "colorref": "red", "group_id": 5, "str0": "x",
        "rrule": "FREQ=HOURLY", "fiche_id": 8});
    let named =
        ["start", "group_id", "calendar_id", "fiche_id", "end", "rrule", "colorref", "str0"];
    assert_eq!(faults(given), named);
}

#[test]
fn the_obsolete_fields_become_a_rule_unless_there_is_one() {
    let old = json!({"repeat_freq": "Weekly", "repeat_byday": "62", "repeat_until": "2025-07-01 18:00:00"});
    let row = shown(old);
    assert_eq!(row["rrule"], "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;UNTIL=20250701T160000Z");
    assert_eq!(row["repeat_until"], "2025-07-01 18:00:00");
    assert_eq!(
        shown(json!({"repeat_freq": "hourly", "rrule": "freq=daily"}))["rrule"],
        "FREQ=DAILY"
    );
    assert_eq!(shown(json!({"repeat_until": "2025-07-01"}))["rrule"], "");
    assert_eq!(faults(json!({"repeat_freq": "hourly"})), ["repeat_freq"]);
    assert_eq!(faults(json!({"rrule": "FREQ=DAILY;UNTIL=20250101T000000Z"})), ["rrule"]);
}

#[test]
fn a_series_keeps_its_wall_clock_in_a_gap_and_an_appointment_does_not() {
    let row = shown(json!({"start": "2025-03-30 02:30:00", "end": "2025-03-30 04:00:00"}));
    assert_eq!(row["start"], "2025-03-30 02:30:00");
    let times = json!({"fiche_id": 7, "intervention_id": 11, "start": "2025-03-30 02:30:00", "end": "2025-03-30 04:00:00"});
    assert_eq!(shown(times)["start"], "2025-03-30 03:30:00");
}

#[test]
fn instants_and_keys_are_read_only_from_an_import() {
    let given = json!({"fiche_id": 7, "intervention_id": 11, "start_utc": "2025-06-12 07:00:00", "key": "A0000000000000000000"});
    assert_eq!(shown(given.clone())["start"], "2025-06-12 10:00:00");
    let row = read(given, Audience::Store).expect("legal");
    assert_eq!(
        (&row["start"], &row["key"]),
        (&json!("2025-06-12 09:00:00"), &json!("A0000000000000000000"))
    );
}

#[test]
fn an_appointment_sent_back_as_rendered_keeps_its_instants_in_a_repeated_hour() {
    let state = state();
    let scope = Scope::for_group(&state);
    // It spans both occurrences of the hour: its local end is before its local start.
    let object = json!({"calendar_id": 2, "fiche_id": 7, "intervention_id": 11, "mail_sent": true,
        "start_utc": "2025-10-26 00:50:00", "end_utc": "2025-10-26 01:20:00"});
    let input =
        parse(object.as_object().expect("an object"), &scope, Audience::Store).expect("legal");
    let key = AppointmentKey::new("abcdefghijklmnopqrst").expect("a key");
    let row = input.into_vevent(VeventId::new(9).expect("an id"), key, Instant(0), Instant(0));
    let other = AppointmentKey::new("tsrqponmlkjihgfedcba").expect("a key");
    let revised = |given: &Map<String, Value>| {
        revise(&row, given, &scope)
            .map(|input| input.into_vevent(row.id, other, row.created_at, row.updated_at))
    };
    let shown = VEVENT.render(&row, &scope, Audience::Pro);
    assert_eq!(
        (&shown["start"], &shown["end"]),
        (&json!("2025-10-26 02:50:00"), &json!("2025-10-26 02:20:00"))
    );
    assert_eq!(revised(&shown).expect("legal"), row);
    let moved = json!({"start": "2025-10-26 04:00:00", "start_utc": "2025-01-01 00:00:00"});
    let moved = revised(moved.as_object().expect("an object")).expect("legal");
    let appointment = moved.appointment().expect("one");
    assert_eq!(
        (appointment.length_seconds, appointment.reminders.mail.settled(), appointment.key),
        (1_800, ReminderOutcome::No, key)
    );
    let faults = revised(
        json!({"end": "2025-10-26 01:00:00", "state": 9, "group_id": 5}).as_object().expect("one"),
    );
    let faults: Vec<String> =
        faults.expect_err("three are wrong").into_iter().map(|fault| fault.field).collect();
    assert_eq!(faults, ["group_id", "state", "end"]);
}

#[test]
fn a_change_that_is_impossible_is_reported_with_its_field() {
    let state = state();
    let scope = Scope::for_group(&state);
    let key = AppointmentKey::new("abcdefghijklmnopqrst").expect("a key");
    let row = |given: Value| {
        let input =
            parse(given.as_object().expect("an object"), &scope, Audience::Pro).expect("legal");
        input.into_vevent(VeventId::new(9).expect("an id"), key, Instant(0), Instant(0))
    };
    let plage =
        json!({"calendar_id": 2, "start": "2025-06-12 10:00:00", "end": "2025-06-12 11:00:00"});
    let mut appointment = plage.clone();
    (appointment["fiche_id"], appointment["intervention_id"]) = (json!(7), json!(11));
    let note = json!({"calendar_id": 2, "start": "2025-06-12", "end": "2025-06-12", "note": true});
    let plage = row(plage);
    let appointment = row(appointment);
    let note = row(note);
    let cases = [
        (&note, json!({"note": 0}), vec!["note"]),
        (&plage, json!({"note": 1}), vec!["note"]),
        (&appointment, json!({"note": true, "start": ""}), vec!["note", "start"]),
        (&plage, json!({"deleted": null}), vec!["deleted"]),
        (&plage, json!({"start": "", "end": "2025-06-12 12:00:00"}), vec!["start"]),
        (&appointment, json!({"end": null}), vec!["end"]),
        (&appointment, json!({"start": "2025-06-12 12:00:00", "end": ""}), vec![]),
        (&plage, json!({"start": "2025-06-12 12:00:00", "end": "", "note": ""}), vec![]),
    ];
    for (row, given, wrong) in cases {
        let revised = revise(row, given.as_object().expect("an object"), &scope);
        let faults: Vec<String> =
            revised.err().into_iter().flatten().map(|fault| fault.field).collect();
        assert_eq!(faults, wrong, "{given}");
    }
}

#[test]
fn an_end_that_is_not_after_start_because_of_a_clock_change_is_explained() {
    let state = state();
    let scope = Scope::for_group(&state);
    let rule = |given: Value| {
        let faults = parse(given.as_object().expect("an object"), &scope, Audience::Store)
            .expect_err("it is wrong");
        faults.into_iter().map(|fault| (fault.field, fault.rule)).collect::<Vec<_>>()
    };
    let with = |start: &str, start_utc: Option<&str>, end: &str| json!({"calendar_id": 2, "fiche_id": 7, "intervention_id": 11, "start": start, "start_utc": start_utc, "end": end});
    let forward = rule(with("2025-03-30 02:30:00", None, "2025-03-30 03:00:00"));
    assert!(forward[0].1.contains("clocks are put forward"), "{forward:?}");
    let back =
        rule(with("2025-10-26 02:15:00", Some("2025-10-26 01:15:00"), "2025-10-26 02:45:00"));
    assert!(back[0].1.contains("occurs twice"), "{back:?}");
    let plain = rule(with("2025-10-26 12:15:00", None, "2025-10-26 12:15:00"));
    assert_eq!(plain, [("end".to_owned(), "must be after start".to_owned())]);
}
