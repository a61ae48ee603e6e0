//! What happens to a group though nobody asks: other rules of the zones, the end of what was deleted, broken promises.

use slotbook::domain::records::ids::VeventId;
use slotbook::domain::records::vevent::{Permits, Vevent, VeventKind};
use slotbook::domain::state::command::CancelRight;
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::invariants::{self, BrokenInvariant};
use slotbook::domain::state::upkeep;
use slotbook::domain::time::{DAY, HOUR};
use slotbook::store::codec;
use slotbook::store::state;

use super::shop::{SECRET, Shop, booking_of, by_pro, civil};

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
        shop.carry_out(Event::VeventPut { at, row: Box::new(row) });
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
    let clash = next.apply(&Event::VeventPut { at: next.last_stamp, row: Box::new(row) });
    let broken = invariants::find_broken(&clash);
    assert!(matches!(broken[..], [BrokenInvariant::Overlap { .. }]), "{broken:?}");
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
    assert_eq!(
        upkeep::remove_deleted(&shop.group_state, &[kept], later, later),
        None,
        "what lives is never removed"
    );
    let next = shop.group_state.apply(
        &upkeep::remove_deleted(&shop.group_state, &[gone, kept], later, later)
            .expect("one is deleted"),
    );
    assert!(next.rows.contains_key(&kept) && !next.rows.contains_key(&gone));
    assert_eq!(next.highest_ids.vevent, shop.group_state.highest_ids.vevent);
    assert_eq!(invariants::find_broken(&next), []);
}
