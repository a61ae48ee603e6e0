//! A state that breaks a promise is found, with the records that it is about. Reference 8.

use std::sync::Arc;

use slotbook::domain::records::calendar::{Calendar, Calendarset};
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::ids::{CalendarsetId, FicheId, InterventionsetId};
use slotbook::domain::records::vevent::{Permits, Vevent, VeventKind};
use slotbook::domain::state::command::HoldTime;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::invariants::{BrokenInvariant, find_broken};
use slotbook::domain::time::Instant;

use super::shop::{Shop, booking_of, by_pro, calendar, civil, intervention};

/// A shop with two appointments that touch, an opening for one service, and a hold.
fn shop() -> Shop {
    let only = Permits::only(vec![intervention(3)]);
    let (from, to) = ("2026-03-04 09:00", "2026-03-04 12:00");
    let mut shop = Shop::open_on_tuesday().opened(2, from, to, "", only);
    for (client, date) in [("Ada", "2026-03-03 09:00"), ("Bob", "2026-03-03 09:30")] {
        shop.book(&booking_of(client, date)).expect("free");
    }
    let held = HoldTime {
        date: civil("2026-03-03 11:00"),
        intervention_ids: vec![intervention(2)],
        calendar_id: Some(calendar(1)),
        hold: None,
        source: None,
        is_by_key: true,
    };
    shop.holds(&held).expect("free");
    shop
}

fn told(state: &GroupState) -> Vec<String> {
    find_broken(state).iter().map(ToString::to_string).collect()
}

#[test]
fn a_record_that_another_one_names_exists() {
    let whole = shop().group_state;
    assert_eq!(told(&whole), [""; 0]);
    type Break = fn(&mut GroupState);
    let cases: [(&str, Break); 8] = [
        ("calendar 1 refers to calendarset 9, which does not exist", |state| {
            let catalogue = Arc::make_mut(&mut state.catalogue);
            let row = catalogue.calendars.get_mut(&calendar(1)).expect("there");
            Arc::make_mut(row).calendarset_id = CalendarsetId::new(9);
        }),
        ("calendar 9 refers to its own time, which does not exist", |state| {
            let row = Calendar::new(calendar(9), Instant(0));
            Arc::make_mut(&mut state.catalogue).calendars.insert(row.id, row.into());
        }),
        ("intervention 1 refers to interventionset 9, which does not exist", |state| {
            let catalogue = Arc::make_mut(&mut state.catalogue);
            let row = catalogue.interventions.get_mut(&intervention(1)).expect("there");
            Arc::make_mut(row).interventionset_id = InterventionsetId::new(9);
        }),
        ("a hold refers to intervention 2, which does not exist", |state| {
            Arc::make_mut(&mut state.catalogue).interventions.remove(&intervention(2));
        }),
        ("event 2 refers to intervention 3, which does not exist", |state| {
            Arc::make_mut(&mut state.catalogue).interventions.remove(&intervention(3));
        }),
        ("event 2 refers to calendar 2, which does not exist", |state| {
            Arc::make_mut(&mut state.catalogue).calendars.remove(&calendar(2));
        }),
        ("event 4 refers to fiche 3, which does not exist", |state| {
            state.fiches.remove(&FicheId::new(3).expect("an id"));
        }),
        ("fiche 3 refers to fiche 99, as one that is kept, which does not exist", |state| {
            let id = FicheId::new(3).expect("an id");
            let mut fiche = Fiche::clone(&state.fiches[&id]);
            fiche.merged_into = FicheId::new(99);
            state.fiches.insert(id, fiche.into());
        }),
    ];
    for (expected, breaks) in cases {
        let mut state = whole.clone();
        breaks(&mut state);
        assert_eq!(told(&state), [expected]);
    }
    // Those in sets that there are, and a client merged into a kept one, are whole.
    let mut state = whole;
    let catalogue = Arc::make_mut(&mut state.catalogue);
    let set = CalendarsetId::new(9).expect("an id");
    let row = Calendarset::new(set, Instant(0));
    catalogue.calendarsets.insert(set, row.into());
    let row = catalogue.calendars.get_mut(&calendar(1)).expect("there");
    Arc::make_mut(row).calendarset_id = Some(set);
    assert_eq!(told(&state), [""; 0]);
}

#[test]
fn no_time_is_held_and_taken() {
    let shop = shop();
    let hold = shop.group_state.holds().iter().next().expect("one").clone();
    let mut booked = shop.clone();
    let wish = by_pro(booking_of("Cid", "2026-03-03 11:30"), false);
    let id = booked.book(&wish).expect("no hold binds the shop")[0];
    assert_eq!(told(&booked.group_state), [""; 0], "the hold has ended");
    booked.group_state.put_hold(hold.clone());
    let expected = BrokenInvariant::HeldAndTaken {
        calendar: calendar(1),
        appointment: id,
        interval: hold.interval(),
    };
    assert_eq!(find_broken(&booked.group_state), [expected]);
    let [told] = &told(&booked.group_state)[..] else { panic!("one is broken") };
    assert!(
        told.starts_with(&format!("appointment {id} of calendar 1 takes the time (")),
        "{told}"
    );
}

#[test]
fn an_overlap_is_told_of_the_earliest_appointment_that_lasts_so_long() {
    let mut shop = Shop::open_on_tuesday();
    let mut booked = Vec::new();
    for client in ["Ada", "Bob", "Cid"] {
        booked.push(shop.book(&booking_of(client, "2026-03-03 09:00")).expect("free")[0]);
        let row = Vevent::clone(&shop.group_state.rows[&booked[booked.len() - 1]]);
        shop.group_state.put_vevent(Vevent { deleted: true, ..row }.into());
    }
    // Ada from 9:00 to 10:00, Bob from 9:15 to 10:00, Cid from 9:30 to 10:30.
    for (id, start, minutes) in
        [(booked[0], "09:00", 60_u32), (booked[1], "09:15", 45), (booked[2], "09:30", 60)]
    {
        let zone = shop.group_state.catalogue.zone();
        let mut row = Vevent::clone(&shop.group_state.rows[&id]);
        row.deleted = false;
        if let VeventKind::Appointment(appointment) = &mut row.kind {
            appointment.civil_start = civil(&format!("2026-03-03 {start}"));
            appointment.start = zone.instant_of(appointment.civil_start);
            appointment.length_seconds = minutes * 60;
        }
        shop.group_state.put_vevent(row.into());
    }
    let pairs: Vec<_> = find_broken(&shop.group_state)
        .into_iter()
        .map(|broken| match broken {
            BrokenInvariant::Overlap { first, second, .. } => (first, second),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(pairs, [(booked[0], booked[1]), (booked[0], booked[2])]);
    let told = told(&shop.group_state);
    let expected = format!("appointments {} and {} of calendar 1 overlap", booked[0], booked[1]);
    assert!(told[0].starts_with(&expected), "{told:?}");
}
