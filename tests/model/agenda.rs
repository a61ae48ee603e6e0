//! Changes by hand of a professional: moves, restores, plages over everything. Reference 6.

use slotbook::domain::availability::obstacle::Obstacle;
use slotbook::domain::availability::slot_request::BookingMode;
use slotbook::domain::records::customfield::{CustomName, Customfield, Model};
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::Group;
use slotbook::domain::records::ids::{CustomfieldId, FicheId};
use slotbook::domain::records::vevent::{Permits, Vevent, VeventKind};
use slotbook::domain::state::command::{CancelRight, Patch, PutVevent, RecordChange};
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::Instant;
use slotbook::domain::time::zone_names::ZoneName;

use super::shop::{Shop, booking_of, by_pro, calendar, civil, redrawn};

fn two_bookings() -> (Shop, Vevent, Vevent) {
    let mut shop =
        Shop::open_on_tuesday().opened(2, "2026-03-03 09:00", "2026-03-03 12:00", "", Permits::All);
    let mut row = |name, start| {
        let id = shop.book(&booking_of(name, start)).expect("free")[0];
        Vevent::clone(shop.group_state.rows.get(&id).expect("made"))
    };
    let (ada, bob) = (row("Ada", "2026-03-03 09:00"), row("Bob", "2026-03-03 10:00"));
    (shop, ada, bob)
}

#[test]
fn a_move_gives_the_old_time_back_and_takes_the_new_on_either_calendar() {
    let (mut shop, ada, _) = two_bookings();
    let starts = |shop: &Shop, on| {
        shop.offers(on, &[1], BookingMode::Module, "2026-03-03 00:00", "2026-03-04 00:00").len()
    };
    assert_eq!((starts(&shop, 1), starts(&shop, 2)), (4, 6));
    assert_eq!(shop.moves(ada.id, 2, "2026-03-03 09:30"), Ok(true));
    assert_eq!((starts(&shop, 1), starts(&shop, 2)), (5, 5));
    assert_eq!(shop.moves(ada.id, 2, "2026-03-03 09:30"), Ok(false), "where it stands already");
    assert_eq!(shop.moves(ada.id, 1, "2026-03-03 20:15"), Ok(true), "no grid, no opening hours");
    assert_eq!(shop.moves(ada.id, 1, "2026-03-03 20:20"), Ok(true), "its own time is no obstacle");
}

#[test]
fn a_move_to_another_calendar_takes_only_free_time_there() {
    let mut shop =
        Shop::open_on_tuesday().opened(2, "2026-03-03 09:00", "2026-03-03 12:00", "", Permits::All);
    let [ada, bob] = [("Ada", 1), ("Bob", 2)].map(|(client, on)| {
        let mut command = booking_of(client, "2026-03-03 09:00");
        command.calendar_id = Some(calendar(on));
        shop.book(&command).expect("free")[0]
    });
    let refused = shop.moves(ada, 2, "2026-03-03 09:00").expect_err("Bob is there");
    let Refusal::NotAvailable { obstacles } = &refused[0] else { panic!("{refused:?}") };
    assert!(matches!(obstacles[..], [Obstacle::Taken { id, .. }] if id == bob));
    assert_eq!(shop.moves(bob, 2, "2026-03-03 09:30"), Ok(true));
    assert_eq!(shop.moves(ada, 2, "2026-03-03 09:00"), Ok(true));
}

#[test]
fn only_a_live_appointment_stands_in_the_way() {
    let (mut shop, ada, bob) = two_bookings();
    let refused = shop.moves(ada.id, 1, "2026-03-03 09:45").expect_err("Bob begins at ten");
    let Refusal::NotAvailable { obstacles } = &refused[0] else { panic!("{refused:?}") };
    assert!(matches!(obstacles[..], [Obstacle::Taken { id, .. }] if id == bob.id));
    let mut shop = shop.closed(1, "2026-03-03 09:00", "2026-03-03 12:00");
    assert_eq!(
        shop.moves(ada.id, 1, "2026-03-03 09:30"),
        Ok(true),
        "up to the moment Bob begins, in a plage"
    );
    assert_eq!(shop.cancel(bob.id, CancelRight::Pro), Ok(true));
    assert_eq!(shop.moves(ada.id, 1, "2026-03-03 09:45"), Ok(true));
    assert!(matches!(
        shop.restores(bob.id).expect_err("Ada is there")[..],
        [Refusal::NotAvailable { .. }]
    ));
    assert_eq!(shop.moves(bob.id, 1, "2026-03-03 09:50"), Ok(true), "a deleted one takes no time");
    assert_eq!(shop.moves(ada.id, 1, "2026-03-03 10:20"), Ok(true));
    assert_eq!(shop.restores(bob.id), Ok(true));
}

#[test]
fn a_time_zone_in_which_two_appointments_meet_is_refused() {
    let zone = |name: &str| {
        let zone = ZoneName::from_name(name).expect("a zone");
        let mut fields = Patch::default();
        fields.push(move |group: &mut Group| group.timezone = zone);
        RecordChange::Group(fields)
    };
    let mut shop = Shop::in_zone("UTC", "2026-03-02 08:00");
    // In Paris 02:30 lies in the spring gap of this day, and means the instant of 03:30.
    let wishes = [("Ada", "2026-03-29 02:30"), ("Bob", "2026-03-29 03:30")];
    let [ada, bob] = wishes.map(|(client, date)| {
        let mut command = by_pro(booking_of(client, date), false);
        command.calendar_id = Some(calendar(1));
        shop.book(&command).expect("free")[0]
    });
    let refused = shop.changes(&zone("Paris")).expect_err("they meet in Paris");
    assert_eq!(refused, [Refusal::ClocksOverlap { first: ada, second: bob }]);
    assert_eq!(shop.changes(&zone("London")), Ok(true), "the gap of London is an hour earlier");
}

#[test]
fn an_appointment_that_meets_another_one_is_changed_where_it_stands() {
    let (mut shop, ada, bob) = two_bookings();
    // Both are at ten, as other rules of the zones may have it.
    let mut row = Vevent::clone(&shop.group_state.rows[&ada.id]);
    if let (VeventKind::Appointment(at), Some(of_bob)) = (&mut row.kind, bob.appointment()) {
        (at.civil_start, at.start) = (of_bob.civil_start, of_bob.start);
    }
    shop.group_state.put_vevent(row.into());
    let confirm = redrawn(|_, row| {
        if let VeventKind::Appointment(appointment) = &mut row.kind {
            appointment.smsreminder = !appointment.smsreminder;
        }
    });
    assert_eq!(shop.by_hand(&PutVevent::Change(ada.id, confirm)), Ok(true));
    let refused = shop.moves(ada.id, 1, "2026-03-03 10:10").expect_err("Bob is there");
    assert!(matches!(refused[..], [Refusal::NotAvailable { .. }]), "{refused:?}");
}

#[test]
fn a_deleted_event_keeps_its_place_and_is_deleted_once() {
    let (mut shop, ada, _) = two_bookings();
    let shop_time = shop.now;
    shop.now = shop.now.plus_seconds(60);
    assert_eq!(shop.by_hand(&PutVevent::Delete(ada.id)), Ok(true));
    assert_eq!(shop.by_hand(&PutVevent::Delete(ada.id)), Ok(false));
    let row = shop.group_state.rows.get(&ada.id).expect("kept");
    assert!(row.deleted && row.created_at == shop_time && row.updated_at == shop.now);
    let nobody = slotbook::domain::records::ids::VeventId::new(999).expect("an id");
    let draft = redrawn(|_, _| {});
    assert_eq!(shop.by_hand(&PutVevent::Change(nobody, draft)), Err(vec![Refusal::NoResult]));
}

#[test]
fn no_event_is_given_to_a_client_whose_record_is_closed() {
    let (mut shop, ada, _) = two_bookings();
    let eve = shop.knows("Eve", "eve@example.org");
    let given_to = |client: FicheId| {
        let draft = redrawn(move |_, row| {
            if let VeventKind::Appointment(appointment) = &mut row.kind {
                appointment.fiche_id = client;
            }
        });
        PutVevent::Change(ada.id, draft)
    };
    let close = |shop: &mut Shop, id: FicheId| {
        let mut fiche = Fiche::clone(&shop.group_state.fiches[&id]);
        fiche.deleted = true;
        shop.group_state.put_fiche(fiche.into());
    };
    close(&mut shop, eve);
    let refused = shop.by_hand(&given_to(eve)).expect_err("her record is deleted");
    let [Refusal::InvalidParameter(fault)] = &refused[..] else { panic!("{refused:?}") };
    assert_eq!(fault.field, "fiche_id");
    // One that she has stays with her, and may be moved.
    close(&mut shop, ada.fiche_id().expect("an appointment"));
    assert_eq!(shop.moves(ada.id, 1, "2026-03-03 11:00"), Ok(true));
}

#[test]
fn an_appointment_made_by_hand_has_the_attributes_that_professionals_must_give() {
    let name = CustomName::new("str0").expect("a name");
    let (mut shop, ada, _) = two_bookings();
    shop = shop.with(|catalogue| {
        let id = CustomfieldId::new(1).expect("an id");
        let mut field = Customfield::new(id, Model::Vevent, name, Instant(0));
        (field.pro_required, field.user_visible) = (true, true);
        catalogue.customfields.insert(id, field.into());
    });
    let kind = ada.kind.clone();
    let VeventKind::Appointment(appointment) = &kind else { panic!("{kind:?}") };
    let mut later = appointment.clone();
    later.start = later.start.plus_minutes(120);
    later.civil_start = later.civil_start.plus_seconds(7_200);
    let refused = shop.puts(None, 1, VeventKind::Appointment(later), false);
    let refused = refused.expect_err("the attribute lacks");
    let [Refusal::InvalidParameter(fault)] = &refused[..] else { panic!("{refused:?}") };
    assert_eq!(fault.field, "str0");
    // One of before goes on without it.
    assert_eq!(shop.moves(ada.id, 1, "2026-03-03 11:00"), Ok(true));
}

#[test]
fn a_time_zone_that_moves_an_appointment_out_of_the_years_1970_to_9999_is_refused() {
    for (start, second, zone, is_allowed) in [
        ("1970-01-01 01:00", 0, "Paris", true),
        ("1970-01-01 00:59", 59, "Paris", false),
        // The last second that there is.
        ("9999-12-31 18:29", 59, "America/New_York", true),
        ("9999-12-31 18:30", 0, "America/New_York", false),
    ] {
        let start = civil(start).plus_seconds(second);
        let (_, ada, _) = two_bookings();
        let VeventKind::Appointment(mut appointment) = ada.kind else { panic!("an appointment") };
        let mut shop = Shop::in_zone("UTC", "2026-03-01 00:00");
        appointment.fiche_id = shop.knows("Ada", "ada@example.org");
        appointment.civil_start = start;
        appointment.start = shop.group_state.catalogue.zone().instant_of(start);
        shop.put(1, VeventKind::Appointment(appointment));
        let zone = ZoneName::from_name(zone).expect("a zone");
        let mut fields = Patch::default();
        fields.push(move |group: &mut Group| group.timezone = zone);
        let changed = shop.changes(&RecordChange::Group(fields));
        assert_eq!(changed.is_ok(), is_allowed, "{start:?}: {changed:?}");
    }
}
