//! The code that a booking with a key alone needs: when it is asked for, where it goes, and whom it proves.
//! Reference 6.8.

use slotbook::domain::decisions::book::{check_page_permission, permit_page_booking};
use slotbook::domain::records::booking_origin::{BookingOrigin, ClientProof};
use slotbook::domain::records::channel::Channel;
use slotbook::domain::records::customfield::{CustomName, CustomValue, Customfield, Model};
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::VerifyBookings;
use slotbook::domain::records::hold::HoldState;
use slotbook::domain::records::ids::{CustomfieldId, FicheId};
use slotbook::domain::records::sms_countries::SmsCountries;
use slotbook::domain::records::text::{Bounded, Text};
use slotbook::domain::state::command::BookAppointment;
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::Instant;

use super::shop::{Shop, booking_of, by_pro, says};

fn text<const MAX: usize>(text: &str) -> Text<MAX> {
    Text::new(text).expect("a text")
}

fn with_phone(mut booking: BookAppointment, phone: &'static str) -> BookAppointment {
    booking.client.fields.push(move |fiche: &mut Fiche| fiche.firstphone = text(phone));
    booking
}

/// The channel and the recipient of the code that the last booking waits for.
fn code_of(shop: &Shop) -> Option<(Channel, String)> {
    let waiting = shop.group_state.holds().iter().find_map(|hold| match &hold.state {
        HoldState::Unconfirmed(booking) => Some(booking.clone()),
        HoldState::Chosen
        | HoldState::Confirmed { .. }
        | HoldState::Overwritten
        | HoldState::Guessed => None,
    });
    waiting.map(|booking| (booking.channel, booking.recipient.as_str().to_owned()))
}

#[test]
fn a_code_is_asked_for_as_the_group_chose_and_where_a_page_or_a_limit_needs_a_proof() {
    let mail = || Some((Channel::Mail, "ada@example.org".to_owned()));
    let sms = || Some((Channel::Sms, "+33612345678".to_owned()));
    // What the group chose; whether it asks for a proof, a page books, and a limit is used up.
    for (chosen, validates, is_by_page, is_demanded, code) in [
        (VerifyBookings::Off, false, false, false, None),
        (VerifyBookings::Off, false, true, false, None),
        (VerifyBookings::Off, true, true, false, mail()),
        (VerifyBookings::Off, false, true, true, mail()),
        (VerifyBookings::Off, false, false, true, mail()),
        (VerifyBookings::Mail, false, false, false, mail()),
        (VerifyBookings::Mail, true, true, false, mail()),
        (VerifyBookings::Sms, false, false, false, sms()),
        (VerifyBookings::Sms, true, true, false, sms()),
        (VerifyBookings::Sms, false, false, true, sms()),
    ] {
        let mut shop = Shop::open_on_tuesday().with_group(|group| {
            group.verify_bookings = chosen;
            group.validate_email = validates;
            group.country_code = text("33");
        });
        let mut booking = with_phone(booking_of("Ada", "2026-03-03 09:30"), "06 12 34 56 78");
        booking.is_by_page = is_by_page;
        if is_by_page {
            booking.permission = permit_page_booking(&shop.group_state.catalogue).ok();
        }
        booking.is_code_demanded = is_demanded;
        shop.book(&booking).expect("it is free");
        let case = (chosen, validates, is_by_page, is_demanded);
        assert_eq!(code_of(&shop), code, "{case:?}");
        let booked = shop.group_state.rows.values().filter(|row| row.appointment().is_some());
        assert_eq!(booked.count(), usize::from(code.is_none()), "{case:?}");
        // No code is asked of those whose login proves them.
        let mut shop = shop.with_group(|group| group.validate_email = false);
        shop.book(&by_pro(booking_of("Bob", "2026-03-03 10:30"), true)).expect("it is free");
    }
}

#[test]
fn a_page_books_for_the_public_unless_the_group_is_for_accounts() {
    for (open_data, validates, chosen, is_permitted) in [
        (true, true, VerifyBookings::Off, true),
        (true, false, VerifyBookings::Off, true),
        (false, false, VerifyBookings::Mail, false),
        (false, true, VerifyBookings::Off, false),
    ] {
        let shop = Shop::open_on_tuesday().with_group(|group| {
            group.open_data = open_data;
            group.validate_email = validates;
            group.verify_bookings = chosen;
        });
        let permission = check_page_permission(&shop.group_state.catalogue);
        assert_eq!(permission.is_ok(), is_permitted, "{open_data} {validates} {chosen:?}");
    }
}

#[test]
fn a_texted_code_goes_to_a_number_of_the_countries_of_the_group() {
    let shop = || {
        Shop::open_on_tuesday().with_group(|group| {
            group.verify_bookings = VerifyBookings::Sms;
            group.country_code = text("33");
        })
    };
    let field = |mut shop: Shop, booking: &BookAppointment| match shop.refusal_of(booking) {
        Refusal::InvalidParameter(fault) => fault.field,
        other => panic!("{other:?}"),
    };
    let ada = || booking_of("Ada", "2026-03-03 09:30");
    assert_eq!(field(shop(), &ada()), "fiche.firstphone", "no number is given");
    let abroad = with_phone(ada(), "+49 171 1234567");
    assert_eq!(field(shop(), &abroad), "fiche.firstphone", "it is of another country");
    let allow = SmsCountries::new("country_code, +49").expect("a list");
    let mut wide = shop().with_group(|group| group.sms_countries = allow);
    wide.book(&abroad).expect("its country is allowed");
    assert_eq!(code_of(&wide), Some((Channel::Sms, "+491711234567".to_owned())));
}

#[test]
fn a_texted_code_proves_the_known_client_who_has_the_number() {
    for (known_phones, is_same) in [
        (["06 12 34 56 78", ""], true),
        (["", "+33 6 12 34 56 78"], true),
        (["06 99 99 99 99", ""], false),
        (["", ""], false),
    ] {
        let mut shop = Shop::open_on_tuesday().with_group(|group| {
            group.verify_bookings = VerifyBookings::Sms;
            group.country_code = text("33");
        });
        let ada = shop.knows("Ada", "ada@example.org");
        let mut fiche = Fiche::clone(&shop.group_state.fiches[&ada]);
        fiche.firstphone = text(known_phones[0]);
        fiche.secondphone = text(known_phones[1]);
        shop.group_state.put_fiche(fiche.into());
        let booking = with_phone(booking_of("Ada", "2026-03-03 09:30"), "0612345678");
        let hold = shop.book_until_code(&booking).expect("it is free");
        let booked = shop.confirms(hold, true).expect("the code is right");
        let client: Option<FicheId> =
            shop.group_state.rows.get(&booked[0]).expect("it is there").fiche_id();
        assert_eq!(client == Some(ada), is_same, "{known_phones:?}");
        assert_eq!(shop.group_state.fiches.len(), if is_same { 1 } else { 2 });
    }
}

#[test]
fn a_group_that_mails_nothing_mails_codes() {
    for (chosen, messages) in [(VerifyBookings::Off, 0), (VerifyBookings::Mail, 1)] {
        let mut shop = Shop::open_on_tuesday().with_group(|group| {
            group.sendmail = false;
            group.verify_bookings = chosen;
        });
        shop.announces = true;
        shop.book(&booking_of("Ada", "2026-03-03 09:30")).expect("it is free");
        assert_eq!(shop.group_state.outbox.messages().len(), messages, "{chosen:?}");
        let mut mailing = shop.with_group(|group| group.sendmail = true);
        mailing.book(&by_pro(booking_of("Bob", "2026-03-03 10:30"), true)).expect("it is free");
        assert_eq!(mailing.group_state.outbox.messages().len(), messages + 1, "{chosen:?}");
    }
}

#[test]
fn a_confirmed_booking_keeps_what_was_said_about_it() {
    let mut shop =
        Shop::open_on_tuesday().with_group(|group| group.verify_bookings = VerifyBookings::Mail);
    let mut booking = booking_of("Ada", "2026-03-03 09:30");
    says(&mut booking);
    let hold = shop.book_until_code(&booking).expect("it is free");
    let made = shop.confirms(hold, true).expect("the code is right");
    shop.assert_said(made[0]);
}

#[test]
fn a_confirmed_booking_keeps_its_customised_attributes() {
    let name = CustomName::new("str0").expect("a name");
    let mut shop = Shop::open_on_tuesday().with(|catalogue| {
        catalogue.group.verify_bookings = VerifyBookings::Mail;
        let id = CustomfieldId::new(1).expect("an id");
        let mut field = Customfield::new(id, Model::Vevent, name, Instant(0));
        field.user_visible = true;
        catalogue.customfields.insert(id, field.into());
    });
    let value = CustomValue::String(text("blue"));
    let mut booking = booking_of("Ada", "2026-03-03 09:30");
    booking.customs.push((name, Some(value.clone())));
    let hold = shop.book_until_code(&booking).expect("it is free");
    let made = shop.confirms(hold, true).expect("the code is right");
    let rare = shop.group_state.rows[&made[0]].rare.as_ref().expect("there are some");
    assert_eq!(rare.customs.value(name), Some(&value));
}

#[test]
fn a_code_that_is_given_in_time_proves_the_address_of_the_booking() {
    let mut shop =
        Shop::open_on_tuesday().with_group(|group| group.verify_bookings = VerifyBookings::Mail);
    let mut booking = booking_of("Ada", "2026-03-03 09:30");
    let (source, apikey) = ([1; 16], [2; 16]);
    let origin = BookingOrigin { source, apikey, proof: ClientProof::KeyAlone };
    booking.booking_origin = Some(Box::new(origin));
    let hold = shop.book_until_code(&booking).expect("it is free");
    let expires = shop.group_state.holds().get(hold).expect("it waits").expires_at;
    let mut late = shop.clone();
    late.now = expires;
    assert!(late.confirms(hold, true).is_err(), "it has expired");
    shop.now = expires.plus_seconds(-1);
    let made = shop.confirms(hold, true).expect("the code is right");
    let proof = shop.group_state.rows[&made[0]].client_proof();
    assert_eq!(proof, Some(ClientProof::MailedCode));
}

#[test]
fn a_code_may_be_given_within_the_lead_time_of_the_calendar() {
    let mut shop = Shop::open_on_tuesday()
        .with_group(|group| group.verify_bookings = VerifyBookings::Mail)
        .with_calendar(1, |calendar| calendar.mintime_rdv = Bounded::known(20))
        .at("2026-03-03 09:09");
    let hold = shop.book_until_code(&booking_of("Ada", "2026-03-03 09:30")).expect("in time");
    let mut shop = shop.at("2026-03-03 09:11");
    shop.confirms(hold, true).expect("it was asked for in time");
}
