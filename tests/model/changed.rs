//! What an event changes, as those who follow a group learn it: records, calendars, stamps.

use slotbook::domain::records::group::Group;
use slotbook::domain::records::ids::{FicheId, MessageId, VeventId};
use slotbook::domain::records::vevent::Permits;
use slotbook::domain::state::changed_records::ChangedRecords;
use slotbook::domain::state::command::{CancelRight, Command, Patch, RecordChange, RemoveDeleted};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::HOUR;
use slotbook::domain::time::zone_names::ZoneName;

use super::shop::{Shop, booking_of, event_of};

/// The numbers of the calendars that the last event of a shop can change, on the state before it.
fn calendars_of(before: &GroupState, shop: &Shop) -> Option<Vec<u64>> {
    let event = shop.events.last().expect("something happened");
    let changed = before.calendars_changed_by(event)?;
    Some(changed.iter().map(|id| id.number()).collect())
}

fn shop() -> Shop {
    let from = "2026-03-03 09:00";
    let mut shop = Shop::open_on_tuesday().opened(2, from, "2026-03-03 12:00", "", Permits::All);
    shop.announces = true;
    shop.with_group(|group| group.sendmail = true)
}

#[test]
fn the_records_that_differ_between_two_states_are_those_of_the_events_between() {
    let mut shop = shop();
    let first = shop.group_state.clone();
    let booked = shop.book(&booking_of("Ada", "2026-03-03 09:00")).expect("free");
    let state = &shop.group_state;
    let ada = state.fiche_of_email("ada@example.org").expect("she is known").id;
    let mails: Vec<MessageId> = state.outbox.messages().map(|message| message.id).collect();
    assert_eq!(mails.len(), 1, "the booking is confirmed");
    let expected =
        ChangedRecords { vevents: booked.clone(), fiches: vec![ada], messages: mails.clone() };
    assert_eq!(ChangedRecords::between(&first, state), expected);
    assert_eq!(ChangedRecords::by_event(shop.events.last().expect("it was booked")), expected);
    assert_eq!(ChangedRecords::between(state, state), ChangedRecords::default());
    // Of a cancellation the client stays as it was.
    let before = shop.group_state.clone();
    shop.cancel(booked[0], CancelRight::Pro).expect("a professional may");
    let changed = ChangedRecords::between(&before, &shop.group_state);
    assert_eq!((changed.vevents, changed.fiches), (booked.clone(), Vec::new()));
    // What is removed for good has no record any more.
    let before = shop.group_state.clone();
    let later = shop.now.plus_seconds(HOUR);
    let command = Command::RemoveDeleted(RemoveDeleted { ids: booked, before: later });
    let event = event_of(&before, &command, later).expect("it is deleted");
    let removed = ChangedRecords::between(&before, &before.apply(&event));
    assert!(removed.is_empty(), "{removed:?}");
}

#[test]
fn nothing_changed_only_without_events_clients_and_messages() {
    let vevents = vec![VeventId::new(1).expect("an id")];
    let fiches = vec![FicheId::new(1).expect("an id")];
    let messages = vec![MessageId::new(1).expect("an id")];
    let none = ChangedRecords::default();
    assert!(none.is_empty());
    for changed in [
        ChangedRecords { vevents, ..none.clone() },
        ChangedRecords { fiches, ..none.clone() },
        ChangedRecords { messages, ..none },
    ] {
        assert!(!changed.is_empty(), "{changed:?}");
    }
}

#[test]
fn an_event_names_the_calendars_whose_time_it_changes() {
    let mut shop = shop();
    let before = shop.group_state.clone();
    let booked = shop.book(&booking_of("Ada", "2026-03-03 09:00")).expect("free");
    assert_eq!(calendars_of(&before, &shop), Some(vec![1]));
    let before = shop.group_state.clone();
    shop.moves(booked[0], 2, "2026-03-03 10:00").expect("free");
    assert_eq!(calendars_of(&before, &shop), Some(vec![1, 2]));
    let before = shop.group_state.clone();
    let mut fields = Patch::default();
    let london = ZoneName::from_name("London").expect("a zone");
    fields.push(move |group: &mut Group| group.timezone = london);
    shop.changes(&RecordChange::Group(fields)).expect("legal");
    assert_eq!(calendars_of(&before, &shop), None, "another zone moves all of them");
}

#[test]
fn the_latest_stamp_of_a_group_is_that_of_its_last_event() {
    let mut shop = shop();
    for (client, minutes) in [("Ada", 60), ("Bob", -30), ("Cid", 45)] {
        shop.now = shop.now.plus_minutes(minutes);
        let latest = shop.now.max(shop.group_state.last_stamp);
        let half_hour = shop.events.len() % 2 * 30;
        let date = format!("2026-03-03 {:02}:{half_hour:02}", 9 + shop.events.len() / 2);
        let booked = shop.book(&booking_of(client, &date)).expect("free");
        assert_eq!(shop.events.last().map(Event::at), Some(latest));
        assert_eq!(shop.group_state.last_stamp, latest, "it does not go back with the clock");
        assert_eq!(shop.group_state.rows[&booked[0]].updated_at, latest);
    }
}
