//! Cancellations: who may cancel what, and until when. Reference 13.8, 6.

use slotbook::domain::records::ids::VeventId;
use slotbook::domain::state::command::CancelRight;
use slotbook::domain::state::refusal::Refusal;

use super::shop::{SECRET, Shop, booking_of};

fn secret() -> CancelRight {
    CancelRight::Secret(SECRET.into())
}

#[test]
fn a_cancelled_start_can_be_booked_again() {
    let mut shop = Shop::open_on_tuesday();
    let made = shop.book(&booking_of("Ada", "2026-03-03 09:30")).expect("free");
    assert_eq!(shop.cancel(made[0], secret()), Ok(true));
    assert_eq!(shop.cancel(made[0], secret()), Ok(false), "once more changes nothing");
    shop.book(&booking_of("Bob", "2026-03-03 09:30")).expect("free again");
    shop.book(&booking_of("Ada", "2026-03-03 10:30"))
        .expect("Ada is not held to what she cancelled");
}

#[test]
fn a_client_cancels_up_to_the_calendars_last_moment() {
    let mut shop = Shop::open_on_tuesday();
    let made = shop.book(&booking_of("Ada", "2026-03-03 09:30")).expect("free");
    let mut late = shop.clone().at("2026-03-03 07:31");
    assert!(matches!(late.cancel(made[0], secret()), Err(Refusal::MintimeAnnulation { .. })));
    assert_eq!(late.cancel(made[0], CancelRight::Pro), Ok(true), "professionals are not bound");
    assert_eq!(
        shop.at("2026-03-03 07:30").cancel(made[0], secret()),
        Ok(true),
        "exactly two hours before"
    );
}

#[test]
fn a_wrong_secret_and_no_appointment_look_the_same() {
    let mut shop = Shop::open_on_tuesday();
    let made = shop.book(&booking_of("Ada", "2026-03-03 09:30")).expect("free");
    let wrong = CancelRight::Secret("abcdefghijklmnopqrsT".into());
    assert_eq!(shop.cancel(made[0], wrong), Err(Refusal::NoResult));
    assert_eq!(shop.cancel(VeventId::new(999).expect("an id"), secret()), Err(Refusal::NoResult));
    let availability = VeventId::new(1).expect("an id");
    assert_eq!(
        shop.cancel(availability, CancelRight::Pro),
        Err(Refusal::NoResult),
        "not an appointment"
    );
}
