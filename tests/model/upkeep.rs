//! What happens to a group though nobody asks: other rules of the zones, the end of what was deleted, broken promises.

use std::sync::Arc;

use slotbook::domain::decisions::upkeep;
use slotbook::domain::records::ids::VeventId;
use slotbook::domain::records::text::LongText;
use slotbook::domain::records::vevent::{
    Appointment, AppointmentHalf, OptionalFields, Permits, Vevent, VeventKind,
};
use slotbook::domain::state::command::{CancelRight, Command, EmptyCancelled, RemoveDeleted};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::invariants::{self, BrokenInvariant};
use slotbook::domain::time::{DAY, HOUR, INSTANT_MAX, Instant};
use slotbook::store::codec;
use slotbook::store::state;

use super::shop::{SECRET, Shop, booking_of, by_pro, civil, event_of, put_event};

fn start(group_state: &GroupState, id: VeventId) -> i64 {
    group_state.rows.get(&id).expect("it is there").appointment().expect("it is one").start.0
}

/// A shop whose appointments were made by a zone database that had its clocks an hour behind.
fn shop_of_another_release() -> (Shop, Vec<VeventId>) {
    let mut shop =
        Shop::open_on_tuesday().opened(2, "2026-03-03 09:00", "2026-03-03 14:00", "", Permits::All);
    let mut ids = Vec::new();
    for time in ["2026-03-03 09:00", "2026-03-03 10:00", "2026-03-03 12:00"] {
        let mut wish = by_pro(booking_of("client", time), false);
        wish.calendar_id = Some(super::shop::calendar(1));
        ids.extend(shop.book(&wish).expect("free"));
    }
    for id in &ids[1..] {
        let mut row = Vevent::clone(shop.group_state.rows.get(id).expect("booked"));
        if let VeventKind::Appointment(appointment) = &mut row.kind {
            appointment.start = appointment.start.plus_seconds(HOUR);
        }
        let at = shop.group_state.last_stamp;
        shop.carry_out(put_event(at, row));
    }
    shop.group_state.tzdata = "1999a".into();
    (shop, ids)
}

#[test]
fn appointments_to_come_follow_another_zone_database_and_replay_does_the_same() {
    let (shop, ids) = shop_of_another_release();
    let event = upkeep::resolve_instants(&shop.group_state, shop.now).expect("another release");
    let next = shop.group_state.apply(&event);
    let zone = next.catalogue.zone();
    for (id, time) in ids.iter().zip(["2026-03-03 09:00", "2026-03-03 10:00", "2026-03-03 12:00"]) {
        assert_eq!(start(&next, *id), zone.instant_of(civil(time)).0, "{time}");
    }
    assert_eq!(invariants::find_broken(&next), []);
    assert_eq!(upkeep::resolve_instants(&next, shop.now), None, "once is enough");
    let again: Event = codec::decode(&codec::encode(&event)).expect("it was just encoded");
    assert_eq!(state::hash(&shop.group_state.apply(&again)), state::hash(&next));
    assert_ne!(state::hash(&next), state::hash(&shop.group_state));
}

#[test]
fn what_is_over_stays_where_it_was_and_overlaps_are_told() {
    let (shop, ids) = shop_of_another_release();
    let noon = shop.group_state.catalogue.zone().instant_of(civil("2026-03-03 12:30"));
    let next = shop
        .group_state
        .apply(&upkeep::resolve_instants(&shop.group_state, noon).expect("another release"));
    assert_eq!(
        start(&next, ids[1]),
        start(&shop.group_state, ids[1]),
        "it was at eleven, and that is over"
    );
    assert_ne!(start(&next, ids[2]), start(&shop.group_state, ids[2]));
    // The one that was at nine by the old rules now stands where the other one is.
    let mut row = Vevent::clone(next.rows.get(&ids[2]).expect("there"));
    if let VeventKind::Appointment(appointment) = &mut row.kind {
        appointment.start = appointment.start.plus_seconds(-HOUR);
    }
    let clash = next.apply(&put_event(next.last_stamp, row));
    let broken = invariants::find_broken(&clash);
    assert!(matches!(broken[..], [BrokenInvariant::Overlap { .. }]), "{broken:?}");
}

/// The appointments that another zone database moves.
fn resolved(state: &GroupState, now: Instant) -> Vec<VeventId> {
    match upkeep::resolve_instants(state, now) {
        Some(Event::InstantsResolved { resolved, .. }) => {
            resolved.into_iter().map(|(id, _)| id).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_appointment_that_begins_at_this_moment_still_follows_another_zone_database() {
    let (shop, ids) = shop_of_another_release();
    let begins = Instant(start(&shop.group_state, ids[1]));
    assert_eq!(resolved(&shop.group_state, begins), ids[1..]);
    assert_eq!(resolved(&shop.group_state, begins.plus_seconds(1)), ids[2..]);
}

#[test]
fn an_appointment_that_would_not_move_or_would_leave_the_years_stays() {
    // Half past two is in the gap of Paris; eleven of the last evening is in the year 10000 in UTC.
    for (zone, date, stored) in [
        ("Paris", "2026-03-29 02:30", None),
        ("Newfoundland", "9999-12-31 23:00", Some(INSTANT_MAX.plus_seconds(-DAY))),
    ] {
        let mut shop = Shop::open_on_tuesday();
        let booked = shop.book(&booking_of("Ada", "2026-03-03 09:00")).expect("free")[0];
        let appointment = shop.group_state.rows[&booked].appointment().expect("one").clone();
        let mut shop = Shop::in_zone(zone, "2026-03-02 08:00");
        let client = shop.knows("Ada", "ada@example.org");
        let civil_start = civil(date);
        let start =
            stored.unwrap_or_else(|| shop.group_state.catalogue.zone().instant_of(civil_start));
        let moved = Appointment { civil_start, start, fiche_id: client, ..appointment };
        shop.put(1, VeventKind::Appointment(moved));
        shop.group_state.tzdata = "1999a".into();
        assert_eq!(resolved(&shop.group_state, shop.now), [], "{date}");
    }
}

#[test]
fn what_was_deleted_long_ago_is_removed_and_its_id_is_not_given_again() {
    let mut shop = Shop::open_on_tuesday();
    let kept = shop.book(&booking_of("kept", "2026-03-03 09:00")).expect("free")[0];
    let gone = shop.book(&booking_of("gone", "2026-03-03 09:30")).expect("free")[0];
    shop.cancel(gone, CancelRight::Secret(SECRET.into())).expect("in time");
    let later = shop.now.plus_seconds(10 * DAY);
    assert_eq!(upkeep::find_deleted_before(&shop.group_state, shop.now), [], "not yet");
    let ids = upkeep::find_deleted_before(&shop.group_state, later);
    assert_eq!(ids, [gone]);
    let removed = |ids: Vec<VeventId>| {
        let command = Command::RemoveDeleted(RemoveDeleted { ids, before: later });
        event_of(&shop.group_state, &command, later)
    };
    assert_eq!(removed(vec![kept]), None, "what lives is never removed");
    let next = shop.group_state.apply(&removed(vec![gone, kept]).expect("one is deleted"));
    assert!(next.rows.contains_key(&kept) && !next.rows.contains_key(&gone));
    assert_eq!(next.highest_ids.vevent, shop.group_state.highest_ids.vevent);
    assert_eq!(invariants::find_broken(&next), []);
}

/// The names of clients that still have one, with their e-mail, and the ids of rows with texts.
fn told(group_state: &GroupState) -> (Vec<&str>, Vec<VeventId>) {
    let named = group_state.fiches.values().filter(|fiche| fiche.email.is_some());
    let rows = group_state.rows.values().filter(|row| row.rare.is_some());
    (named.map(|fiche| fiche.lastname.as_str()).collect(), rows.map(|row| row.id).collect())
}

/// Books with a comment.
fn book(shop: &mut Shop, name: &str, time: &str) -> VeventId {
    let mut wish = booking_of(name, &format!("2026-03-03 {time}"));
    wish.comments = LongText::new("a remark").expect("a text");
    shop.book(&wish).expect("free")[0]
}

fn empty(shop: &mut Shop, days_ago: i64) -> bool {
    let before = shop.now.plus_seconds(-days_ago * DAY);
    let command = Command::EmptyCancelled(EmptyCancelled { before });
    let event = event_of(&shop.group_state, &command, shop.now);
    let is_due = event.is_some();
    event.into_iter().for_each(|event| shop.carry_out(event));
    is_due
}

#[test]
fn what_was_cancelled_30_days_ago_is_emptied_with_clients_that_never_had_more() {
    let mut shop = Shop::open_on_tuesday();
    let regular = shop.knows("regular", "regular@example.org");
    let pro = |shop: &mut Shop, id| shop.cancel(id, CancelRight::Pro).expect("a professional may");
    let gone = book(&mut shop, "gone", "09:00");
    pro(&mut shop, gone);
    let again = book(&mut shop, "again", "09:00");
    pro(&mut shop, again);
    let kept = book(&mut shop, "again", "09:30");
    let of_regular = book(&mut shop, "regular", "10:00");
    pro(&mut shop, of_regular);
    let by_hand =
        shop.book(&by_pro(booking_of("byhand", "2026-03-03 10:30"), false)).expect("free");
    pro(&mut shop, by_hand[0]);
    let before = shop.group_state.clone();
    assert!(!empty(&mut shop, 30), "nothing is old enough");
    shop.now = shop.now.plus_seconds(30 * DAY + 1);
    assert!(empty(&mut shop, 30) && !empty(&mut shop, 30));
    let (named, rows) = told(&shop.group_state);
    assert_eq!((named, rows), (vec!["regular", "again", "byhand"], vec![kept]));
    let row = |group_state: &GroupState| group_state.rows.get(&gone).expect("it stays").clone();
    let (was, is) = (row(&before), row(&shop.group_state));
    assert_eq!(*is, Vevent { rare: None, ..Vevent::clone(&was) }, "its stamps stay");
    assert!(shop.group_state.fiches.contains_key(&regular));
    assert!(shop.group_state.records_bytes() < before.records_bytes());
    // Once the other appointment is cancelled too, its client is one that came never.
    pro(&mut shop, kept);
    shop.now = shop.now.plus_seconds(30 * DAY + 1);
    assert!(empty(&mut shop, 30));
    assert_eq!(told(&shop.group_state), (vec!["regular", "byhand"], Vec::new()));
}

#[test]
fn a_client_with_a_younger_cancellation_is_emptied_after_that() {
    let mut shop = Shop::open_on_tuesday();
    let first = book(&mut shop, "gone", "09:00");
    shop.cancel(first, CancelRight::Pro).expect("a professional may");
    shop.now = shop.now.plus_seconds(HOUR);
    let second = book(&mut shop, "gone", "09:00");
    shop.cancel(second, CancelRight::Pro).expect("a professional may");
    shop.now = shop.now.plus_seconds(30 * DAY);
    assert!(empty(&mut shop, 30));
    assert_eq!(told(&shop.group_state), (vec!["gone"], vec![second]));
    shop.now = shop.now.plus_seconds(1);
    assert!(empty(&mut shop, 30));
    assert_eq!(told(&shop.group_state), (Vec::new(), Vec::new()));
}

#[test]
fn a_client_that_another_event_names_is_not_emptied() {
    for deleted in [false, true] {
        let mut shop = Shop::open_on_tuesday().closed(1, "2026-03-03 11:00", "2026-03-03 12:00");
        let gone = book(&mut shop, "named", "09:00");
        let booked = shop.group_state.rows.get(&gone).expect("it was booked");
        let client = booked.fiche_id().expect("it has a client");
        let is_plage = |row: &&Arc<Vevent>| matches!(row.kind, VeventKind::Plage(_));
        let plage = shop.group_state.rows.values().rfind(is_plage).expect("one");
        let (id, half) = (plage.id, AppointmentHalf::Client(client));
        let naming = OptionalFields { half, ..OptionalFields::default() };
        let named = Vevent { rare: naming.boxed(), deleted, ..Vevent::clone(plage) };
        shop.group_state.put_vevent(named.into());
        shop.cancel(gone, CancelRight::Pro).expect("a professional may");
        shop.now = shop.now.plus_seconds(30 * DAY + 1);
        assert!(empty(&mut shop, 30));
        assert_eq!(told(&shop.group_state), (vec!["named"], vec![id]));
        assert_eq!(invariants::find_broken(&shop.group_state), []);
    }
}

#[test]
fn a_client_whom_no_other_event_names_any_more_is_emptied() {
    let mut shop = Shop::open_on_tuesday().closed(1, "2026-03-03 11:00", "2026-03-03 12:00");
    let gone = book(&mut shop, "named", "09:00");
    let client = shop.group_state.rows[&gone].fiche_id().expect("it has a client");
    let is_plage = |row: &&Arc<Vevent>| matches!(row.kind, VeventKind::Plage(_));
    let plage = Vevent::clone(shop.group_state.rows.values().rfind(is_plage).expect("one"));
    let half = AppointmentHalf::Client(client);
    let naming = OptionalFields { half, ..OptionalFields::default() };
    shop.group_state.put_vevent(Vevent { rare: naming.boxed(), ..plage.clone() }.into());
    shop.group_state.put_vevent(plage.into());
    shop.cancel(gone, CancelRight::Pro).expect("a professional may");
    shop.now = shop.now.plus_seconds(30 * DAY + 1);
    assert!(empty(&mut shop, 30));
    assert_eq!(told(&shop.group_state), (Vec::new(), Vec::new()));
}

#[test]
fn what_was_emptied_is_not_due_again_after_a_restart() {
    let mut shop = Shop::open_on_tuesday();
    let gone = book(&mut shop, "gone", "09:00");
    shop.cancel(gone, CancelRight::Pro).expect("a professional may");
    shop.now = shop.now.plus_seconds(30 * DAY + 1);
    let due = |state: &GroupState| {
        let mut reader = state::GroupReader::default();
        let add = |frame: &[u8]| reader.add_frame(frame, codec::SNAPSHOT_FORMAT);
        state::write_group(state, add).expect("what was written is read");
        let again = reader.group_state(state.sequence).expect("it has a head");
        upkeep::count_cancelled_before(&again, shop.now)
    };
    assert_eq!(due(&shop.group_state), 1);
    let mut after = shop.clone();
    assert!(empty(&mut after, 30));
    assert_eq!(due(&after.group_state), 0);
}

#[test]
fn a_step_of_emptying_is_bounded() {
    let mut shop = Shop::open_on_tuesday();
    for _ in 0..=upkeep::EMPTIED_PER_STEP_MAX {
        let id = book(&mut shop, "gone", "09:00");
        shop.cancel(id, CancelRight::Pro).expect("a professional may");
    }
    shop.now = shop.now.plus_seconds(DAY);
    let due = |shop: &Shop| upkeep::count_cancelled_before(&shop.group_state, shop.now);
    assert_eq!(due(&shop), upkeep::EMPTIED_PER_STEP_MAX);
    assert!(empty(&mut shop, 0));
    assert_eq!((due(&shop), told(&shop.group_state).0), (1, vec!["gone"]));
    assert!(empty(&mut shop, 0) && !empty(&mut shop, 0));
    assert_eq!(told(&shop.group_state), (Vec::new(), Vec::new()));
}
