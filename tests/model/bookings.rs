//! Bookings: their effects, and every way they are refused. Reference 2, 6.

use std::sync::Arc;

use slotbook::domain::availability::obstacle::{NotOffered, Obstacle};
use slotbook::domain::decisions::appointment_move::find_new_slot;
use slotbook::domain::decisions::book::permit_booking;
use slotbook::domain::records::account::Account;
use slotbook::domain::records::booking_origin::{BookingOrigin, ClientProof};
use slotbook::domain::records::customfield::{CustomName, CustomValue, Customfield, Model};
use slotbook::domain::records::group::ContactNeeded;
use slotbook::domain::records::ids::{CustomfieldId, FicheId};
use slotbook::domain::records::text::{Bounded, Email, LongText, Name, Text};
use slotbook::domain::records::vevent::Permits;
use slotbook::domain::state::command::{Caller, CancelRight, MoveAppointment};
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::{Civil, INSTANT_MAX, INSTANT_MIN};

use super::shop::{Shop, booking_of, by_pro, calendar, civil, intervention, says, somebody};

#[test]
fn a_booked_start_is_gone_and_the_client_is_known() {
    let mut shop = Shop::open_on_tuesday();
    let made = shop.book(&booking_of("Ada", "2026-03-03 09:30")).expect("free");
    let row = shop.group_state.rows.get(&made[0]).expect("it is there");
    let appointment = row.appointment().expect("an appointment");
    assert_eq!(appointment.civil_start, civil("2026-03-03 09:30"));
    assert_eq!(appointment.length_seconds, 1_800);
    assert!(appointment.from_web && appointment.smsreminder, "check_sms_from_web is on by default");
    let fiche = shop.group_state.fiche_of_email("ada@example.org").expect("a new fiche");
    assert!(fiche.from_web && fiche.id == appointment.fiche_id);
    assert!(matches!(
        shop.refusal_of(&booking_of("Bob", "2026-03-03 09:30")),
        Refusal::NotAvailable { obstacles } if matches!(obstacles[..], [Obstacle::Taken { .. }])
    ));
    shop.book(&booking_of("Bob", "2026-03-03 10:00")).expect("touching is not meeting");
}

#[test]
fn a_failed_booking_leaves_no_fiche_behind() {
    let mut shop = Shop::open_on_tuesday();
    shop.book(&booking_of("Ada", "2026-03-03 13:00")).expect_err("closed");
    assert!(shop.group_state.fiches.is_empty() && shop.events.is_empty());
}

#[test]
fn a_known_address_books_for_its_fiche_and_changes_nothing_in_it() {
    let mut shop = Shop::open_on_tuesday();
    let known = shop.knows("Lovelace", "ADA@example.org");
    shop.knows("Later", "ada@example.org");
    let made = shop.book(&booking_of("Ada", "2026-03-03 09:30")).expect("free");
    let row = shop.group_state.rows.get(&made[0]).expect("it is there");
    assert_eq!(row.appointment().expect("one").fiche_id, known);
    assert_eq!(shop.group_state.fiches.get(&known).expect("there").lastname.as_str(), "Lovelace");
    assert_eq!(shop.group_state.fiches.len(), 2);
}

#[test]
fn a_chain_is_booked_whole_or_not_at_all() {
    let mut shop = Shop::open_on_tuesday();
    let mut chain = booking_of("Ada", "2026-03-03 10:30");
    chain.intervention_ids = vec![intervention(1), intervention(2)];
    let made = shop.book(&chain).expect("10:30 to 12:00 fits exactly");
    assert_eq!(made.len(), 2);
    let starts: Vec<_> = shop
        .group_state
        .rows
        .values()
        .filter_map(|row| row.appointment())
        .map(|a| a.civil_start)
        .collect();
    assert_eq!(starts, [civil("2026-03-03 10:30"), civil("2026-03-03 11:00")]);
    chain.client = somebody("Bob");
    chain.date = civil("2026-03-03 09:30");
    shop.refusal_of(&chain);
    assert_eq!(shop.group_state.rows.len(), 3, "the availability and Ada's two");
}

#[test]
fn a_chain_longer_than_the_group_allows_is_a_wrong_parameter() {
    let mut shop = Shop::open_on_tuesday();
    let mut chain = booking_of("Ada", "2026-03-03 09:00");
    chain.intervention_ids = vec![intervention(3); 4];
    assert!(
        matches!(shop.refusal_of(&chain), Refusal::InvalidParameter(f) if f.field == "intervention_ids")
    );
    chain.intervention_ids = vec![];
    assert!(
        matches!(shop.refusal_of(&chain), Refusal::InvalidParameter(f) if f.field == "intervention_ids")
    );
    chain.intervention_ids = vec![intervention(9)];
    assert!(
        matches!(shop.refusal_of(&chain), Refusal::InvalidParameter(f) if f.field == "intervention_ids")
    );
}

#[test]
fn lead_times_are_named_before_anything_else_that_is_wrong() {
    let early = |c: &mut slotbook::domain::records::calendar::Calendar| {
        c.mintime_rdv = Bounded::known(26 * 60)
    };
    let mut shop = Shop::open_on_tuesday().with_calendar(1, early);
    assert!(matches!(
        shop.refusal_of(&booking_of("Ada", "2026-03-03 09:30")),
        Refusal::MintimeRdv { .. }
    ));
    shop.book(&booking_of("Ada", "2026-03-03 10:00")).expect("exactly 26 hours ahead is in time");
    let late = |c: &mut slotbook::domain::records::calendar::Calendar| {
        c.maxrdv_period = Bounded::known(25 * 60)
    };
    let mut shop = Shop::open_on_tuesday().with_calendar(1, late);
    assert!(matches!(
        shop.refusal_of(&booking_of("Ada", "2026-03-03 09:30")),
        Refusal::MaxRdvPeriod { .. }
    ));
    shop.book(&booking_of("Ada", "2026-03-03 09:00"))
        .expect("exactly 25 hours ahead is near enough");
}

#[test]
fn without_a_calendar_lead_times_refuse_only_where_they_hold_on_every_calendar() {
    let early = |c: &mut slotbook::domain::records::calendar::Calendar| {
        c.mintime_rdv = Bounded::known(26 * 60)
    };
    let shop = Shop::open_on_tuesday().with_calendar(1, early);
    let mut command = booking_of("Ada", "2026-03-03 09:30");
    command.calendar_id = None;
    assert!(
        matches!(shop.clone().refusal_of(&command), Refusal::MintimeRdv { .. }),
        "calendar 2 offers nothing"
    );
    let mut both = shop.opened(2, "2026-03-03 14:00", "2026-03-03 16:00", "", Permits::All);
    assert_eq!(both.refusal_of(&command), Refusal::NotAvailable { obstacles: vec![] });
    command.date = civil("2026-03-03 14:00");
    let made = both.book(&command).expect("calendar 2 is free");
    assert_eq!(both.group_state.rows.get(&made[0]).expect("there").calendar_id, calendar(2));
}

#[test]
fn no_preference_takes_any_free_calendar_and_each_is_as_likely() {
    let mut counts = [0; 2];
    let shop =
        Shop::open_on_tuesday().opened(2, "2026-03-03 09:00", "2026-03-03 12:00", "", Permits::All);
    let mut command = booking_of("Ada", "2026-03-03 09:30");
    command.calendar_id = None;
    let mut drawn = shop.clone();
    for _ in 0..400 {
        let mut story = drawn.clone();
        let made = story.book(&command).expect("both are free");
        counts[usize::from(
            story.group_state.rows.get(&made[0]).expect("there").calendar_id == calendar(2),
        )] += 1;
        drawn.knows("another draw", "draw@example.org");
    }
    assert!(counts.iter().all(|count| (140..=260).contains(count)), "{counts:?}");
}

#[test]
fn a_client_cannot_be_in_two_places_at_once() {
    let mut shop =
        Shop::open_on_tuesday().opened(2, "2026-03-03 09:00", "2026-03-03 12:00", "", Permits::All);
    shop.book(&booking_of("Ada", "2026-03-03 09:30")).expect("free");
    let mut second = booking_of("Ada", "2026-03-03 09:30");
    second.calendar_id = Some(calendar(2));
    assert!(matches!(shop.refusal_of(&second), Refusal::SameTimeRdv { .. }));
    assert!(matches!(shop.refusal_of(&by_pro_for_ada(&shop, second)), Refusal::SameTimeRdv { .. }));
}

fn by_pro_for_ada(
    shop: &Shop,
    command: slotbook::domain::state::command::BookAppointment,
) -> slotbook::domain::state::command::BookAppointment {
    let mut command = by_pro(command, false);
    command.client.id = Some(shop.group_state.fiche_of_email("ada@example.org").expect("known").id);
    command
}

#[test]
fn the_clients_rules_are_named_together() {
    let mut shop = Shop::open_on_tuesday().with_group(|group| {
        group.mintime_between = Bounded::known(60);
        group.maxrdv_number = Bounded::known(2);
    });
    shop.book(&booking_of("Ada", "2026-03-03 09:00")).expect("the first");
    assert_eq!(
        shop.refusal_of(&booking_of("Ada", "2026-03-03 10:00")),
        Refusal::MintimeBetween { minutes: 60 },
        "30 minutes apart"
    );
    shop.book(&booking_of("Ada", "2026-03-03 11:30")).expect("two hours apart");
    let refusals = shop.book(&booking_of("Ada", "2026-03-03 11:30")).expect_err("all of them");
    assert!(
        matches!(refusals[..], [Refusal::SameTimeRdv { .. }, Refusal::MaxRdvNumber { most: 2 }]),
        "{refusals:?}"
    );
    let mut shop = shop.at("2026-03-03 09:30");
    shop.book(&booking_of("Ada", "2026-03-03 10:00"))
        .expect("the first is over, the other an hour away");
}

#[test]
fn appointments_of_a_client_that_touch_are_too_close() {
    let mut shop = Shop::open_on_tuesday().with_group(|group| {
        group.mintime_between = Bounded::known(30);
    });
    shop.book(&booking_of("Ada", "2026-03-03 10:00")).expect("the first");
    for touching in ["2026-03-03 09:30", "2026-03-03 10:30"] {
        assert_eq!(
            shop.refusal_of(&booking_of("Ada", touching)),
            Refusal::MintimeBetween { minutes: 30 },
            "{touching}"
        );
    }
    for apart in ["2026-03-03 09:00", "2026-03-03 11:00"] {
        shop.book(&booking_of("Ada", apart)).expect("30 minutes apart");
    }
}

/// A booking with a key alone by a stranger, whose origin it keeps.
fn by_stranger(name: &str, date: &str) -> slotbook::domain::state::command::BookAppointment {
    let mut command = booking_of(name, date);
    let proof = ClientProof::KeyAlone;
    let origin = BookingOrigin { source: [1; 16], apikey: [2; 16], proof };
    command.booking_origin = Some(Box::new(origin));
    command
}

#[test]
fn bookings_by_a_key_alone_use_up_nothing_of_the_client_and_of_professionals() {
    let mut shop = Shop::open_on_tuesday()
        .opened(2, "2026-03-03 09:00", "2026-03-03 12:00", "", Permits::All)
        .with_group(|group| {
            group.mintime_between = Bounded::known(60);
            group.maxrdv_number = Bounded::known(2);
        });
    let fiche_id = shop.knows("Ada", "ada@example.org");
    for date in ["2026-03-03 09:00", "2026-03-03 11:00"] {
        shop.book(&by_stranger("Ada", date)).expect("free");
    }
    let refusals = shop.book(&by_stranger("Ada", "2026-03-03 11:00")).expect_err("used up");
    assert!(
        matches!(refusals[..], [Refusal::SameTimeRdv { .. }, Refusal::MaxRdvNumber { most: 2 }]),
        "{refusals:?}"
    );
    let account = Arc::new(Account {
        email: Email::new("ada@example.org").expect("an address"),
        fiche_id,
        password_hash: Text::default(),
        former: Vec::new(),
        last_login: None,
    });
    let by_account = |date: &str| {
        let mut command = booking_of("Ada", date);
        (command.caller, command.calendar_id) =
            (Caller::Account(Arc::clone(&account)), Some(calendar(2)));
        command
    };
    shop.book(&by_account("2026-03-03 09:00")).expect("a stranger's booking is none of the client");
    let refusals = shop.book(&by_stranger("Ada", "2026-03-03 09:00")).expect_err("all count");
    assert!(
        matches!(refusals[..], [Refusal::SameTimeRdv { .. }, Refusal::MaxRdvNumber { most: 2 }]),
        "{refusals:?}"
    );
    let mut by_hand = by_pro_for_ada(&shop, booking_of("Ada", "2026-03-03 09:00"));
    by_hand.calendar_id = Some(calendar(1));
    assert!(matches!(shop.refusal_of(&by_hand), Refusal::SameTimeRdv { .. }), "her own booking");
    let by_pro = by_pro(booking_of("Ada", "2026-03-03 11:30"), true);
    shop.book(&by_pro).expect("nor does it bind the shop");
    let refusals = shop.book(&by_account("2026-03-03 10:00")).expect_err("the client's own count");
    assert!(
        matches!(
            refusals[..],
            [Refusal::MintimeBetween { minutes: 60 }, Refusal::MaxRdvNumber { most: 2 }]
        ),
        "{refusals:?}"
    );
}

#[test]
fn a_group_that_is_not_open_serves_known_clients_only() {
    let mut shop = Shop::open_on_tuesday().with_group(|group| group.open = false);
    assert_eq!(shop.refusal_of(&booking_of("Ada", "2026-03-03 09:30")), Refusal::EmailNotFound);
    shop.knows("Ada", "ada@example.org");
    shop.book(&booking_of("Ada", "2026-03-03 09:30")).expect("known now");
    let stranger = by_pro(booking_of("Bob", "2026-03-03 10:00"), true);
    shop.book(&stranger).expect("professionals are not bound");
}

#[test]
fn an_address_with_an_account_must_log_in() {
    let mut shop = Shop::open_on_tuesday();
    let fiche_id = shop.knows("Ada", "ada@example.org");
    let email = Email::new("Ada@example.org").expect("an address");
    let account = Account {
        email: email.clone(),
        fiche_id,
        password_hash: Text::default(),
        former: Vec::new(),
        last_login: None,
    };
    shop.group_state.accounts.insert(email.folded(), account.into());
    assert_eq!(
        shop.refusal_of(&booking_of("Ada", "2026-03-03 09:30")),
        Refusal::EmailAlreadyExists
    );
    shop.book(&by_pro(booking_of("Ada", "2026-03-03 09:30"), true)).expect("a professional may");
}

#[test]
fn an_account_books_for_no_fiche_but_its_own() {
    let mut shop = Shop::open_on_tuesday();
    let own = shop.knows("Ada", "ada@example.org");
    let foreign = shop.knows("Bob", "bob@example.org");
    let email = Email::new("ada@example.org").expect("an address");
    let password_hash = Text::default();
    let account =
        Account { email, fiche_id: own, password_hash, former: Vec::new(), last_login: None };
    let mut command = booking_of("Ada", "2026-03-03 09:30");
    command.caller = Caller::Account(account.into());
    command.client.id = Some(foreign);
    let refusal = shop.refusal_of(&command);
    let Refusal::InvalidParameter(fault) = &refusal else { panic!("{refusal:?}") };
    assert_eq!(fault.field, "fiche.id");
    assert_eq!(fault.rule, "must be the id of one of your own fiches");
    command.client.id = Some(own);
    let made = shop.book(&command).expect("its own fiche");
    let row = shop.group_state.rows.get(&made[0]).expect("it is there");
    assert_eq!(row.appointment().expect("one").fiche_id, own);
}

#[test]
fn what_a_key_alone_may_not_do_is_forbidden_before_parameters_are_read() {
    let mut shop = Shop::open_on_tuesday();
    let mut command = booking_of("Ada", "2026-03-03 09:30");
    command.intervention_ids.clear();
    let mut back_office = command.clone();
    back_office.from_web = false;
    assert!(matches!(shop.refusal_of(&back_office), Refusal::Unauthorized { .. }));
    let mut known = command.clone();
    known.client.id = FicheId::new(1);
    assert!(matches!(shop.refusal_of(&known), Refusal::Unauthorized { .. }));
    let mut shop = shop.with_group(|group| group.validate_email = true);
    assert!(matches!(shop.refusal_of(&command), Refusal::Unauthorized { .. }));
    let mut shop =
        shop.with_group(|group| (group.validate_email, group.open_data) = (false, false));
    assert!(matches!(shop.refusal_of(&command), Refusal::Unauthorized { .. }));
}

#[test]
fn a_permission_is_checked_again_once_the_group_has_changed() {
    let mut shop = Shop::open_on_tuesday();
    let mut command = booking_of("Ada", "2026-03-03 09:30");
    let catalogue = &shop.group_state.catalogue;
    let permission = permit_booking(catalogue, &command.caller, true, false);
    command.permission = Some(permission.expect("the group takes bookings by the key alone"));
    let mut closed = shop.clone().with_group(|group| group.validate_email = true);
    assert!(matches!(closed.refusal_of(&command), Refusal::Unauthorized { .. }));
    shop.book(&command).expect("the permission holds on the same catalogue");
}

#[test]
fn the_back_office_books_over_anything_but_taken_time() {
    let mut shop = Shop::open_on_tuesday()
        .closed(1, "2026-03-03 15:00", "2026-03-03 16:00")
        .with_group(|group| group.inactive = true)
        .with_calendar(1, |c| c.publicname = Name::default());
    let pro = |name: &str, date: &str| by_pro(booking_of(name, date), false);
    shop.book(&pro("Ada", "2026-03-01 03:07"))
        .expect("in the past, off the grid, closed, hidden, inactive");
    shop.book(&pro("Bob", "2026-03-03 15:30")).expect_err("a plage takes it");
    shop.book(&pro("Bob", "2026-03-03 14:30")).expect("touching the plage");
    shop.book(&pro("Cleo", "2026-03-03 14:45")).expect_err("Bob is there");
    assert!(matches!(
        shop.refusal_of(&booking_of("Cleo", "2026-03-03 09:30")),
        Refusal::NotAvailable { obstacles }
            if obstacles == [
                Obstacle::NotOffered(NotOffered::ModuleInactive),
                Obstacle::NotOffered(NotOffered::CalendarHidden(calendar(1))),
            ]
    ));
}

#[test]
fn a_professionals_fields_go_into_the_fiche_and_a_deleted_one_is_refused() {
    let mut shop = Shop::open_on_tuesday();
    let known = shop.knows("Lovelace", "ada@example.org");
    let mut command = by_pro(booking_of("Byron", "2026-03-03 09:30"), true);
    command.client.id = Some(known);
    shop.book(&command).expect("free");
    assert_eq!(shop.group_state.fiches.get(&known).expect("there").lastname.as_str(), "Byron");
    assert!(
        shop.group_state.fiche_of_email("ada@example.org").is_none(),
        "the address changed too"
    );
    let mut fiche = slotbook::domain::records::fiche::Fiche::clone(
        shop.group_state.fiches.get(&known).expect("there"),
    );
    fiche.deleted = true;
    shop.group_state.put_fiche(fiche.into());
    command.date = civil("2026-03-03 10:30");
    assert!(
        matches!(shop.refusal_of(&command), Refusal::InvalidParameter(f) if f.field == "fiche.id")
    );
    command.client.id = FicheId::new(999);
    assert!(
        matches!(shop.refusal_of(&command), Refusal::InvalidParameter(f) if f.field == "fiche.id")
    );
}

#[test]
fn a_professional_who_gives_no_field_leaves_the_fiche_as_it_is() {
    let mut shop = Shop::open_on_tuesday();
    let known = shop.knows("Lovelace", "ada@example.org");
    let before = shop.group_state.fiches[&known].clone();
    shop.now = shop.now.plus_minutes(5);
    let mut command = by_pro(booking_of("Ada", "2026-03-03 09:30"), false);
    command.client.id = Some(known);
    command.client.fields = slotbook::domain::state::command::Patch::default();
    let made = shop.book(&command).expect("free");
    assert_eq!(shop.group_state.rows[&made[0]].fiche_id(), Some(known));
    assert_eq!(shop.group_state.fiches[&known], before);
}

#[test]
fn a_new_client_needs_a_name() {
    let mut shop = Shop::open_on_tuesday();
    let mut command = booking_of("Ada", "2026-03-03 09:30");
    command.client.fields = slotbook::domain::state::command::Patch::default();
    assert!(
        matches!(shop.refusal_of(&command), Refusal::InvalidParameter(f) if f.field == "fiche.lastname")
    );
}

#[test]
fn customised_attributes_must_be_defined_and_required_ones_given() {
    let name = CustomName::new("str0").expect("a name");
    let value = CustomValue::String(Text::new("blue").expect("a text"));
    let mut shop = Shop::open_on_tuesday();
    let mut command = booking_of("Ada", "2026-03-03 09:30");
    command.customs.push((name, Some(value.clone())));
    assert!(matches!(shop.refusal_of(&command), Refusal::InvalidParameter(f) if f.field == "str0"));
    command.customs[0].1 = None;
    let mut shop = shop.with(|catalogue| {
        for (id, model) in [(1, Model::Vevent), (2, Model::Fiche)] {
            let id = CustomfieldId::new(id).expect("an id");
            let mut field = Customfield::new(id, model, name, slotbook::domain::time::Instant(0));
            (field.user_required, field.user_visible) = (true, true);
            catalogue.customfields.insert(id, field.into());
        }
    });
    let mut unseen = shop.clone().with(|catalogue| {
        for field in catalogue.customfields.values_mut() {
            std::sync::Arc::make_mut(field).user_visible = false;
        }
    });
    let mut ignored = command.clone();
    ignored.client.customs.push((name, Some(value.clone())));
    unseen.book(&ignored).expect("nobody is asked for what they are not shown");
    let fiche = unseen.group_state.fiche_of_email("ada@example.org").expect("made");
    assert_eq!(fiche.customs.value(name), None, "a web caller does not set what it may not see");
    let fields: Vec<String> =
        shop.book(&command).expect_err("both are missing").iter().map(field_of).collect();
    assert_eq!(fields, ["str0", "fiche.str0"]);
    command.customs[0].1 = Some(value.clone());
    command.client.customs.push((name, Some(value.clone())));
    let made = shop.book(&command).expect("both are given");
    let row = shop.group_state.rows.get(&made[0]).expect("there");
    assert_eq!(row.rare.as_ref().expect("customs are rare").customs.value(name), Some(&value));
    let fiche = shop.group_state.fiche_of_email("ada@example.org").expect("made");
    assert_eq!(fiche.customs.value(name), Some(&value));
}

fn field_of(refusal: &Refusal) -> String {
    let Refusal::InvalidParameter(fault) = refusal else { panic!("{refusal:?}") };
    fault.field.clone()
}

#[test]
fn an_appointment_booked_in_the_spring_gap_is_shown_an_hour_later() {
    let mut shop = Shop::in_zone("Paris", "2026-03-28 08:00");
    let made = shop.book(&by_pro(booking_of("Ada", "2026-03-29 02:30"), false)).expect("free");
    let row = shop.group_state.rows.get(&made[0]).expect("there");
    assert_eq!(row.appointment().expect("one").civil_start, civil("2026-03-29 03:30"));
}

#[test]
fn of_a_hidden_calendar_a_key_alone_learns_only_that_it_is_not_offered() {
    let mut shop = Shop::open_on_tuesday().with_calendar(1, |calendar| {
        calendar.publicname = Name::default();
        calendar.mintime_rdv = Bounded::known(5_000);
    });
    for date in ["2026-03-03 09:30", "2026-03-03 09:31", "2026-03-03 20:00"] {
        assert_eq!(
            shop.refusal_of(&booking_of("Ada", date)),
            Refusal::NotAvailable {
                obstacles: vec![Obstacle::NotOffered(NotOffered::CalendarHidden(calendar(1)))]
            }
        );
    }
}

#[test]
fn a_client_keeps_a_name_whatever_a_professional_sends() {
    let mut shop = Shop::open_on_tuesday();
    let known = shop.knows("Lovelace", "ada@example.org");
    let mut command = by_pro(booking_of("Ada", "2026-03-03 09:30"), true);
    command.client.id = Some(known);
    command.client.fields.push(|fiche| fiche.lastname = Name::default());
    assert!(
        matches!(shop.refusal_of(&command), Refusal::InvalidParameter(f) if f.field == "fiche.lastname")
    );
}

#[test]
fn a_booking_keeps_what_was_said_about_it() {
    let mut shop = Shop::open_on_tuesday();
    let mut command = booking_of("Ada", "2026-03-03 09:30");
    says(&mut command);
    let made = shop.book(&command).expect("free");
    let mut cancelled = shop.clone();
    cancelled.now = cancelled.now.plus_minutes(1);
    cancelled.cancel(made[0], CancelRight::Pro).expect("it is live");
    assert_eq!(cancelled.group_state.rows[&made[0]].booking_comments(), "by the back door");
    shop.assert_said(made[0]);
    let mut command = by_pro(booking_of("Bob", "2026-03-03 10:30"), false);
    command.comments = LongText::new("brings a dog").expect("a text");
    command.internal_comments = LongText::new("pays late").expect("a text");
    command.taker = Text::new("Eve").expect("a text");
    let made = shop.book(&command).expect("free");
    let row = &shop.group_state.rows[&made[0]];
    let rare = row.rare.as_ref().expect("there are some");
    assert_eq!(rare.comments.as_str(), "brings a dog");
    assert_eq!(row.booking_comments(), "", "they are not the client's");
    assert_eq!(rare.internal_comments.as_str(), "pays late");
    assert_eq!(rare.taker.as_str(), "Eve");
}

#[test]
fn a_professional_names_fiches_of_the_group_only() {
    let mut shop = Shop::open_on_tuesday();
    let mut command = by_pro(booking_of("Ada", "2026-03-03 09:30"), true);
    command.client.id = FicheId::new(999);
    let refusal = shop.refusal_of(&command);
    let Refusal::InvalidParameter(fault) = &refusal else { panic!("{refusal:?}") };
    assert_eq!(fault.field, "fiche.id");
    assert_eq!(fault.rule, "must be the id of one of the group's fiches");
}

#[test]
fn an_appointment_moves_within_the_years_1970_to_9999() {
    let mut shop = Shop::in_zone("UTC", "2026-03-01 00:00");
    let made = shop.book(&by_pro(booking_of("Ada", "2026-03-03 09:30"), false)).expect("free");
    let is_in_range = |date: Civil| {
        let right = CancelRight::Pro;
        let command = MoveAppointment { id: made[0], right, date, hold: None };
        find_new_slot(&shop.group_state, &command, shop.now).is_ok()
    };
    // It takes half an hour.
    for (second, expected) in [
        (INSTANT_MIN.0 - 1, false),
        (INSTANT_MIN.0, true),
        (INSTANT_MAX.0 - 1_800, true),
        (INSTANT_MAX.0 - 1_799, false),
    ] {
        assert_eq!(is_in_range(Civil(second)), expected, "{second}");
    }
}

#[test]
fn a_contact_is_needed_of_the_public_by_a_key_since_that_setting() {
    for (by_pro_hand, needs_contact, is_refused) in
        [(false, true, true), (false, false, false), (true, true, false), (true, false, false)]
    {
        let mut shop =
            Shop::open_on_tuesday().with_group(|group| group.contact_needed = ContactNeeded::Email);
        let mut command = booking_of("Ada", "2026-03-03 09:30");
        command.client.email = None;
        command.client.fields.push(|fiche| fiche.email = None);
        command.needs_contact = needs_contact;
        if by_pro_hand {
            command = by_pro(command, false);
        }
        let booked = shop.book(&command);
        assert_eq!(booked.is_err(), is_refused, "{by_pro_hand} {needs_contact}: {booked:?}");
    }
}
