//! A group whose history cannot be carried out: nobody is let in, nothing is lost, the others live on.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use slotbook::domain::directory::DirectoryEvent;
use slotbook::domain::records::author::Author;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::ids::{CalendarId, FicheId, GroupId, InterventionId, VeventId};
use slotbook::domain::records::text::LongText;
use slotbook::domain::records::vevent::{
    Appointment, AppointmentKey, Reminders, State, Vevent, VeventKind,
};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_record::GroupRecord;
use slotbook::domain::time::{Civil, HOUR, Instant};
use slotbook::engine::quarantine::QuarantinedGroup;
use slotbook::engine::recovery;
use slotbook::store::codec;
use slotbook::store::state;
use slotbook::store::{DamageLocation, JournalRecord, Log, StoreError, Stream};

use super::released::expect_released;
use super::server::{Served, booking, complaint, half_hour, practice, run, store_of};

/// Later than all that the document holds.
const NOON: Instant = Instant(4_000_000_000);

/// Puts events into the journal that no state can follow.
fn write_nonsense(data: &Path, group: u64, count: u64) {
    let loaded = recovery::load(data).expect("a store");
    let mut log = loaded.store.into_log().expect("it opens");
    let group = GroupId::new(group).expect("an id");
    let id = VeventId::new(77_777).expect("an id");
    let event = Event::AppointmentCancelled { at: NOON, id };
    let bytes = codec::encode(&GroupRecord::new(Author::Server, event));
    for sequence in 1..=count {
        log.append(&[JournalRecord::new(Stream::Group(group), sequence, bytes.clone())])
            .expect("it is written");
    }
    close(log, data);
}

/// Closes a journal and waits until its data directory is free.
fn close(log: impl Log, data: &Path) {
    log.close().expect("it closes");
    expect_released(data);
}

fn aside(data: &Path) -> QuarantinedGroup {
    let mut loaded = recovery::load(data).expect("a store");
    assert_eq!(loaded.quarantined.len(), 1);
    let aside = loaded.quarantined.remove(0);
    drop(loaded);
    expect_released(data);
    aside
}

fn generation(data: &Path) -> u64 {
    let current = std::fs::read_to_string(data.join("CURRENT")).expect("it stands");
    current.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_set_aside_is_named_and_carried_on_while_the_others_live() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    let other = json!({"id": 2, "name": "Other", "timezone": "UTC"});
    document["groups"].as_array_mut().expect("a list").push(other);
    let data = store_of(folder.path(), &document);
    write_nonsense(&data, 2, 3);
    let before = aside(&data);
    assert_eq!(
        (
            before.pending_events.len(),
            before.last_state.as_ref().map(|group_state| group_state.sequence)
        ),
        (3, Some(0))
    );

    let server = Served::heard(&data, &["--journal-mib", "0"]);
    let get = |path: &str| reqwest::get(format!("{}{path}", server.base));
    let ready = get("/readyz").await.expect("an answer");
    assert_eq!(ready.status(), 200);
    assert_eq!(ready.json::<Value>().await.expect("JSON")["groups_set_aside"], json!([2]));
    assert_eq!(get("/api/v1/groups/2?apikey=test-key").await.expect("an answer").status(), 503);
    assert_eq!(get("/api/v1/groups/3?apikey=test-key").await.expect("an answer").status(), 404);
    let http = reqwest::Client::new();
    let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", server.base);
    let mut nth = 0;
    while generation(&data) < 3 && nth < 3_000 {
        let wish = booking(&format!("c{nth}"), &half_hour(nth * 2), 1, &[1]);
        assert_eq!(http.post(&url).json(&wish).send().await.expect("an answer").status(), 201);
        nth += 1;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(generation(&data) >= 3, "two compactions carried it on");
    let (code, said) = server.end("TERM");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("set aside"), "{said}");

    assert_eq!(aside(&data).pending_events, before.pending_events, "nothing of it is lost");
    write_more_nonsense(&data);
    assert_eq!(aside(&data).pending_events.len(), 4);
    let text = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let checked = run(&["check"], &data);
    assert_eq!(checked.status.code(), Some(1));
    assert!(complaint(&checked).contains("group 2 is set aside"), "{}", complaint(&checked));
    let exported = run(&["export", &text(&folder.path().join("all.json"))], &data);
    assert_eq!(exported.status.code(), Some(1), "an export would lose it");
    let copy = folder.path().join("backup");
    assert!(run(&["backup", &text(&copy)], &data).status.success());
    assert_eq!(aside(&copy).pending_events.len(), 4);
}

/// A client with much to be read about it.
fn client(number: u64) -> Fiche {
    let mut fiche = Fiche::new(FicheId::new(number).expect("an id"), NOON);
    fiche.comments = LongText::new(&"x".repeat(65_000)).expect("a text");
    fiche
}

/// A booking of a new client, an hour after the one before; on calendar 9 there is none.
fn booked(number: u64, calendar: u64) -> Event {
    let fiche = client(number);
    let start = NOON.plus_seconds(i64::try_from(number).expect("small") * HOUR);
    let appointment = Appointment {
        civil_start: Civil(start.0),
        start,
        length_seconds: 1_800,
        intervention_id: InterventionId::new(1).expect("an id"),
        fiche_id: fiche.id,
        key: AppointmentKey::new("abcdefghijklmnopqrst").expect("20 letters"),
        state: State::default(),
        smsreminder: false,
        from_web: true,
        reminders: Reminders::since(NOON),
        booking_origin: None,
    };
    let leg = Vevent {
        id: VeventId::new(10_000 + number).expect("an id"),
        calendar_id: CalendarId::new(calendar).expect("an id"),
        kind: VeventKind::Appointment(appointment),
        deleted: false,
        created_at: NOON,
        updated_at: NOON,
        rare: None,
    };
    Event::AppointmentsBooked { at: NOON, fiche: Some(Box::new(fiche)), legs: vec![leg] }
}

#[test]
fn a_group_set_aside_stands_as_it_did_before_the_event_that_half_changed_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    let other = json!({"id": 2, "name": "Other", "timezone": "UTC"});
    document["groups"].as_array_mut().expect("a list").push(other);
    let data = store_of(folder.path(), &document);
    let loaded = recovery::load(&data).expect("a store");
    let mut states = loaded.group_states.into_iter().map(Arc::unwrap_or_clone);
    let mut first = states.next().expect("two groups");
    let mut second = states.next().expect("two groups");
    let mut log = loaded.store.into_log().expect("it opens");
    let mut write = |group: u64, sequence: u64, event: &Event| {
        let stream = Stream::Group(GroupId::new(group).expect("an id"));
        let bytes = codec::encode(&GroupRecord::new(Author::Server, event.clone()));
        log.append(&[JournalRecord::new(stream, sequence, bytes)]).expect("it is written");
    };
    // More than recovery holds on to at a time, of two groups in turn.
    for number in 1..=150 {
        let (one, two) =
            (booked(number, 1), Event::FichePut { at: NOON, fiche: Box::new(client(number)) });
        first = first.apply_by(Some(Author::Server), &one);
        second = second.apply_by(Some(Author::Server), &two);
        write(1, first.sequence, &one);
        write(2, second.sequence, &two);
    }
    // The client is put before it turns out that there is no such calendar.
    write(1, first.sequence + 1, &booked(151, 9));
    write(1, first.sequence + 2, &booked(152, 1));
    let more = Event::FichePut { at: NOON, fiche: Box::new(client(151)) };
    second = second.apply_by(Some(Author::Server), &more);
    write(2, second.sequence, &more);
    close(log, &data);

    let loaded = recovery::load(&data).expect("a store");
    let [aside] = &loaded.quarantined[..] else { panic!("one is set aside") };
    assert!(
        aside.reason.starts_with("its event 151 cannot be carried out: an event's calendar exists"),
        "{}",
        aside.reason
    );
    assert_eq!(
        aside.pending_events.iter().map(|event| event.sequence).collect::<Vec<_>>(),
        [151, 152]
    );
    let base = aside.last_state.as_ref().expect("it stood well before");
    assert_eq!((base.sequence, state::hash(base)), (150, state::hash(&first)));
    assert_eq!(base.appointments_of(FicheId::new(150).expect("an id")).len(), 1);
    assert_eq!(
        loaded.group_states.iter().map(|it| state::hash(it)).collect::<Vec<_>>(),
        [state::hash(&second)]
    );
}

#[test]
fn an_event_of_the_directory_that_cannot_be_carried_out_refuses_the_start_with_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let loaded = recovery::load(&data).expect("a store");
    let sequence = loaded.directory.sequence + 1;
    let mut log = loaded.store.into_log().expect("it opens");
    let bytes = codec::encode(&DirectoryEvent::ApikeyRevoked { hash: [7; 32] });
    let batch = log
        .append(&[JournalRecord::new(Stream::Directory, sequence, bytes)])
        .expect("it is written");
    close(log, &data);
    let refusal = recovery::load(&data).expect_err("nobody knows that key");
    let place = DamageLocation::Record { batch, stream: Stream::Directory, sequence };
    assert!(
        matches!(refusal, StoreError::Damaged { place: found, .. } if found == place),
        "{refusal}"
    );
    let checked = run(&["check"], &data);
    assert_eq!(checked.status.code(), Some(1));
    let said = complaint(&checked);
    let told = ["journal-000001", "the directory, record", "only a known key is revoked"];
    assert!(told.iter().all(|part| said.contains(part)), "{said}");
}

fn write_more_nonsense(data: &Path) {
    let loaded = recovery::load(data).expect("a store");
    let last = loaded.quarantined[0].pending_events.last().expect("three wait").clone();
    let mut log = loaded.store.into_log().expect("it opens");
    let stream = Stream::Group(loaded.quarantined[0].group);
    log.append(&[JournalRecord::new(stream, last.sequence + 1, last.bytes)])
        .expect("it is written");
    close(log, data);
}
