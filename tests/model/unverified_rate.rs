//! Bookings with a key alone, counted by the hour in which they were made. Reference 6.8.

use slotbook::domain::records::booking_origin::{BookingOrigin, ClientProof};
use slotbook::domain::records::ids::VeventId;
use slotbook::domain::state::command::{CancelRight, Command, RemoveDeleted};
use slotbook::domain::state::unverified_rate::UnverifiedRate;
use slotbook::domain::time::HOUR;

use super::shop::{Shop, booking_of, by_pro, event_of};

/// Books and cancels again some times; the appointments.
fn books(shop: &mut Shop, times: usize, by_key: bool) -> Vec<VeventId> {
    let mut booked = Vec::new();
    for _ in 0..times {
        let mut booking = booking_of("Ada", "2026-03-03 09:00");
        if by_key {
            let (source, apikey) = ([1; 16], [1; 16]);
            let origin = BookingOrigin { source, apikey, proof: ClientProof::KeyAlone };
            booking.booking_origin = Some(Box::new(origin));
        } else {
            booking = by_pro(booking, false);
        }
        let id = shop.book(&booking).expect("free")[0];
        shop.cancel(id, CancelRight::Pro).expect("it is live");
        booked.push(id);
    }
    booked
}

/// Removes deleted appointments for good.
fn remove(shop: &mut Shop, ids: &[VeventId]) {
    let before = shop.now.plus_seconds(1);
    let command = Command::RemoveDeleted(RemoveDeleted { ids: ids.to_vec(), before });
    let event = event_of(&shop.group_state, &command, shop.now).expect("they are deleted");
    shop.carry_out(event);
}

fn is_unusual(shop: &Shop) -> bool {
    shop.group_state.unverified_rate.is_unusual(0, shop.now)
}

#[test]
fn bookings_with_a_key_alone_count_until_they_are_removed_for_good() {
    let mut shop = Shop::open_on_tuesday();
    let by_pro = books(&mut shop, 25, false);
    assert_eq!(shop.group_state.unverified_rate, UnverifiedRate::default());
    let by_key = books(&mut shop, 20, true);
    assert!(!is_unusual(&shop));
    let more = books(&mut shop, 2, true);
    assert!(is_unusual(&shop));
    remove(&mut shop, &by_pro);
    remove(&mut shop, &more[..1]);
    assert!(is_unusual(&shop), "21 are left");
    remove(&mut shop, &more[1..]);
    assert!(!is_unusual(&shop));
    remove(&mut shop, &by_key);
    assert_eq!(shop.group_state.unverified_rate, UnverifiedRate::default());
}

#[test]
fn bookings_of_two_hours_do_not_add_up() {
    let mut shop = Shop::open_on_tuesday();
    books(&mut shop, 15, true);
    shop.now = shop.now.plus_seconds(HOUR);
    books(&mut shop, 15, true);
    assert!(!is_unusual(&shop));
    books(&mut shop, 6, true);
    assert!(is_unusual(&shop));
}
