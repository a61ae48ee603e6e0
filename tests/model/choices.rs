//! The calendar that a booking without one gets, and what a refusal for the lead time tells. Reference 6.2.

use slotbook::domain::records::booking_origin::{BookingOrigin, ClientProof};
use slotbook::domain::records::calendar::Calendarset;
use slotbook::domain::records::ids::CalendarsetId;
use slotbook::domain::records::text::Bounded;
use slotbook::domain::records::vevent::Permits;
use slotbook::domain::state::command::{BookAppointment, HoldTime};
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::Instant;

use super::shop::{Shop, booking_of, calendar, intervention};

/// Both calendars are open on Tuesday from nine to twelve.
fn two_calendars() -> Shop {
    let from = "2026-03-03 09:00";
    Shop::open_on_tuesday().opened(2, from, "2026-03-03 12:00", "", Permits::All)
}

/// A booking on any calendar.
fn anywhere(name: &str, date: &str) -> BookAppointment {
    BookAppointment { calendar_id: None, ..booking_of(name, date) }
}

/// The number of the calendar that a booking gets.
fn calendar_of(shop: &mut Shop, booking: &BookAppointment) -> Result<u64, Vec<Refusal>> {
    let booked = shop.book(booking)?;
    Ok(shop.group_state.rows[&booked[0]].calendar_id.number())
}

#[test]
fn a_booking_gets_the_calendar_of_its_hold() {
    for on in [1, 2] {
        for date in ["2026-03-03 09:00", "2026-03-03 10:00", "2026-03-03 11:00"] {
            let mut shop = two_calendars();
            let booking = anywhere("Ada", date);
            let held = shop.holds(&HoldTime {
                date: booking.date,
                intervention_ids: vec![intervention(1)],
                calendar_id: Some(calendar(on)),
                hold: None,
                source: None,
                is_by_key: true,
            });
            let booking = BookAppointment { hold: Some(held.expect("free")), ..booking };
            assert_eq!(calendar_of(&mut shop, &booking), Ok(on), "{date}");
        }
    }
}

#[test]
fn a_booking_gets_a_calendar_of_the_sets_that_it_names_or_none() {
    let set = |number| CalendarsetId::new(number).expect("an id");
    let mut shop = two_calendars()
        .with(|catalogue| {
            for number in [1, 2] {
                let row = Calendarset::new(set(number), Instant(0));
                catalogue.calendarsets.insert(row.id, row.into());
            }
        })
        .with_calendar(1, |calendar| calendar.calendarset_id = Some(set(1)))
        .with_calendar(2, |calendar| calendar.calendarset_id = Some(set(2)));
    for (name, number) in [("Ada", Some(2)), ("Bob", Some(1)), ("Cid", None)] {
        let calendarset_ids = vec![if name == "Bob" { set(1) } else { set(2) }];
        let booking = BookAppointment { calendarset_ids, ..anywhere(name, "2026-03-03 09:00") };
        match calendar_of(&mut shop, &booking) {
            Ok(found) => assert_eq!(Some(found), number, "{name}"),
            Err(refusals) => {
                assert_eq!(number, None, "{name}: {refusals:?}");
                assert!(matches!(refusals[..], [Refusal::NotAvailable { .. }]), "{refusals:?}");
            }
        }
    }
}

#[test]
fn a_refusal_for_the_lead_time_tells_the_first_start_unless_the_search_is_long() {
    let shop = two_calendars()
        .with_group(|group| group.open_data = true)
        .with_calendar(1, |calendar| calendar.mintime_rdv = Bounded::known(26 * 60))
        .with_calendar(2, |calendar| calendar.deleted = true);
    let first_of = |mut shop: Shop| {
        let zone = shop.group_state.catalogue.zone();
        match shop.refusal_of(&booking_of("Ada", "2026-03-03 09:00")) {
            Refusal::MintimeRdv { first, .. } => first.map(|first| zone.civil_of(first)),
            other => panic!("{other:?}"),
        }
    };
    let ten = super::shop::civil("2026-03-03 10:00");
    assert_eq!(first_of(shop.clone()), Some(ten));
    // With hundreds of daily openings the search looks at thousands of them.
    let mut busy = shop;
    for _ in 0..400 {
        let [from, to] = ["2026-01-01 10:00", "2026-01-01 11:00"];
        busy = busy.opened(1, from, to, "FREQ=DAILY", Permits::All);
    }
    assert_eq!(first_of(busy), None);
}

#[test]
fn a_booking_with_a_key_alone_counts_for_its_client_at_its_own_source_only() {
    let mut shop = two_calendars().with_group(|group| group.maxrdv_number = Bounded::known(1));
    let booking = |date: &str, source: u8, proof: ClientProof| {
        let origin = BookingOrigin { source: [source; 16], apikey: [1; 16], proof };
        let booking_origin = Some(Box::new(origin));
        BookAppointment { booking_origin, ..booking_of("Ada", date) }
    };
    let by_key = ClientProof::KeyAlone;
    shop.book(&booking("2026-03-03 09:00", 1, by_key)).expect("free");
    shop.book(&booking("2026-03-03 10:00", 2, by_key)).expect("a stranger may have booked before");
    for source in [1, 2] {
        let refused = shop.refusal_of(&booking("2026-03-03 11:00", source, by_key));
        assert_eq!(refused, Refusal::MaxRdvNumber { most: 1 });
    }
    // One that a code has proved counts for all.
    let mut shop = two_calendars().with_group(|group| group.maxrdv_number = Bounded::known(1));
    shop.book(&booking("2026-03-03 09:00", 1, ClientProof::MailedCode)).expect("free");
    let refused = shop.refusal_of(&booking("2026-03-03 11:00", 2, by_key));
    assert_eq!(refused, Refusal::MaxRdvNumber { most: 1 });
}
