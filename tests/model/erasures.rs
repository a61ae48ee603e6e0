//! What tells of a client, and goes with it: accounts, kept answers, records. Reference 17.

use slotbook::domain::decisions::erasure::{erase_again, find_person};
use slotbook::domain::records::account::Account;
use slotbook::domain::records::account_link::{AccountLink, AccountLinks, LinkAction};
use slotbook::domain::records::booking_origin::{BookingOrigin, ClientProof};
use slotbook::domain::records::customfield::{CustomName, CustomValue};
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::VerifyBookings;
use slotbook::domain::records::hold::HoldId;
use slotbook::domain::records::ids::{FicheId, MessageId, VeventId};
use slotbook::domain::records::message::{
    AccountChange, AppointmentTime, LinkPurpose, MessageContent, ShopWarning, WithdrawnAppointment,
};
use slotbook::domain::records::text::{Email, LongText, Text};
use slotbook::domain::records::vevent::{Vevent, VeventKind};
use slotbook::domain::state::command::{
    BookAppointment, CancelRight, Client, Command, EraseClients, LinkRequest, MergeFiches, Patch,
    RecordChange, RequestLink,
};
use slotbook::domain::state::erasure::{Erasure, ErasureMark};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::Instant;

use super::shop::{Draws, Shop, booking_of, by_pro, civil, says};

fn account(email: &str, fiche_id: FicheId, former: &[FicheId]) -> Account {
    Account {
        email: Email::new(email).expect("an address"),
        fiche_id,
        password_hash: Text::default(),
        former: former.to_vec(),
        last_login: None,
    }
}

fn erasing(ids: &[FicheId], records: &[FicheId]) -> Command {
    let ids = ids.to_vec();
    let records = records.to_vec();
    Command::EraseClients(EraseClients { ids, records, cancels_upcoming: false, idle_since: None })
}

fn erase(shop: &mut Shop, command: Command) -> Result<(), Refusal> {
    let draws = Draws::none(shop.now);
    shop.does(command, draws).map(|_| ()).map_err(|mut refusals| refusals.remove(0))
}

#[test]
fn an_account_outlives_a_client_if_it_is_another_ones_too() {
    let mut shop = Shop::open_on_tuesday();
    let ada = shop.knows("Ada", "ada@example.org");
    let bob = shop.knows("Bob", "bob@example.org");
    let cid = shop.knows("Cid", "cid@example.org");
    // The accounts before, and the client that each books for afterwards; `None` for one that goes.
    for (email, books_for, former, after) in [
        ("ada@example.org", ada, &[][..], None),
        ("other@example.org", ada, &[], None),
        // The address is that of the client who is left.
        ("bob@example.org", ada, &[bob], Some((bob, &[][..]))),
        ("bob@example.org", ada, &[cid, bob], Some((bob, &[cid]))),
        // It is the erased client's own address, or no one's.
        ("ada@example.org", ada, &[bob], None),
        ("other@example.org", ada, &[bob], None),
        ("ada@example.org", bob, &[ada], None),
        // It books for another client.
        ("other@example.org", bob, &[ada], Some((bob, &[]))),
        ("bob@example.org", bob, &[ada, cid], Some((bob, &[cid]))),
        ("cid@example.org", bob, &[ada, cid], Some((bob, &[cid]))),
    ] {
        let before = account(email, books_for, former);
        let expected = after.map(|(fiche_id, former)| account(email, fiche_id, former));
        let left = shop.group_state.account_without(&before, &[ada]);
        assert_eq!(left, expected, "{before:?}");
    }
}

#[test]
fn an_answer_that_has_an_id_or_a_text_of_the_client_is_repeated_no_more() {
    let mut shop = Shop::open_on_tuesday();
    for _ in 0..5 {
        shop.id();
    }
    let ada = shop.knows("Lovelace", "ada@example.org");
    let bob = shop.knows("Boole", "bob@example.org");
    assert_eq!((ada.number(), bob.number()), (7, 8));
    let mut booking = by_pro(booking_of("Lovelace", "2026-03-03 09:30"), false);
    let email = None;
    let fields = Patch::default();
    let customs = Vec::new();
    booking.client = Client { id: Some(ada), email, fields, customs };
    let booked: VeventId = shop.book(&booking).expect("free")[0];
    let of_booking = format!("[{{\"vevent_id\":{booked}}}]");
    let answers = [
        // By a number, which stands alone.
        (r#"{"fiche_id":7,"start":"x"}"#, true),
        (r#"[1,2,7]"#, true),
        (r#"[7"#, true),
        (&*of_booking, true),
        (r#"{"fiche_id":8,"more":[70,17,177,77]}"#, false),
        // By a text, which is whole.
        (r#"{"lastname":"Lovelace"}"#, true),
        (r#"{"lastname":"Love\u006cace"}"#, true),
        (r#"{"comments":"she said \"no\" 5","lastname":"Lovelace"}"#, true),
        (r#"{"path":"C:\\","lastname":"Lovelace"}"#, true),
        (r#"{"path":"\\\"","lastname":"Lovelace"}"#, true),
        (r#"{"lastname":"Boole","of":"Lovelace's friend","id":"7"}"#, false),
        (r#"{"comments":"\"Lovelace\""}"#, false),
        (r#"{"comments":"\\\\","lastname":"Boole"}"#, false),
        // By an address in any spelling.
        (r#"{"email":"ADA@Example.org"}"#, true),
        (r#"{"email":"bob@example.org"}"#, false),
        ("", false),
    ];
    for (number, (answer, _)) in (0..).zip(&answers) {
        shop.keeps_answer(number, answer);
    }
    let command = EraseClients {
        ids: vec![ada],
        records: vec![ada],
        cancels_upcoming: true,
        idle_since: None,
    };
    erase(&mut shop, Command::EraseClients(command)).expect("she is known");
    for (number, (answer, goes)) in (0..).zip(&answers) {
        let kept = shop.group_state.idempotency_records.find(&[number; 32], shop.now);
        assert_eq!(kept.is_none(), *goes, "{answer}");
    }
}

#[test]
fn a_person_is_erased_with_all_records_once_and_not_over_what_is_to_come() {
    let mut shop = Shop::open_on_tuesday();
    let ada = shop.knows("Ada", "ada@example.org");
    let former = shop.knows("Byron", "byron@example.org");
    let bob = shop.knows("Bob", "bob@example.org");
    let merge = MergeFiches { kept: ada, merged: former, fields: Patch::default() };
    shop.changes(&RecordChange::MergeFiches(merge)).expect("both are known");
    let mut booking = by_pro(booking_of("Ada", "2026-03-03 09:30"), false);
    booking.client.id = Some(ada);
    let booked = shop.book(&booking).expect("free");
    for id in [ada, former] {
        let found = find_person(&shop.group_state, id);
        assert_eq!((found.fiches, found.vevents), (vec![ada, former], booked.clone()), "{id}");
    }
    assert_eq!(find_person(&shop.group_state, bob).fiches, [bob]);
    let unknown = FicheId::new(999).expect("an id");
    let refused = erase(&mut shop, erasing(&[unknown], &[unknown]));
    assert_eq!(refused, Err(Refusal::NoResult));
    // Without the record that was merged, the caller does not know all that goes.
    let refused = erase(&mut shop, erasing(&[ada], &[ada]));
    assert_eq!(refused, Err(Refusal::PreconditionFailed(None)));
    let whole = erasing(&[former], &[ada, former]);
    let refused = erase(&mut shop, whole.clone());
    assert_eq!(refused, Err(Refusal::UpcomingAppointments { ids: booked.clone() }));
    // An import brings the person back as it was, and erases it without a question.
    let again = erase_again(&shop.group_state, &[former], shop.now).expect("she is there");
    let erased = shop.group_state.apply(&again);
    for id in [ada, former] {
        let fiche = &erased.fiches[&id];
        assert!(fiche.erased_at.is_some() && fiche.email.is_none(), "{fiche:?}");
    }
    assert!(erased.rows.get(&booked[0]).expect("its time is told").deleted);
    assert!(erase_again(&erased, &[ada], shop.now).is_none(), "she is erased");
    assert!(erased.fiches[&bob].erased_at.is_none());
    // After the appointment nothing is in the way.
    let mut shop = shop.at("2026-03-03 10:00");
    erase(&mut shop, whole.clone()).expect("all is over");
    let events = shop.events.len();
    erase(&mut shop, erasing(&[former], &[])).expect("nothing is left to erase");
    assert_eq!(shop.events.len(), events);
}

/// A booking that waits for a code, by a client of this name and number.
fn waits(shop: &mut Shop, name: &str, phone: &'static str, date: &str) -> HoldId {
    let mut booking = booking_of(name, date);
    let phone = Text::new(phone).expect("a number");
    booking.client.fields.push(move |fiche: &mut Fiche| fiche.firstphone = phone.clone());
    shop.book_until_code(&booking).expect("it is free")
}

#[test]
fn a_person_is_found_by_the_bookings_and_links_that_wait() {
    let mut shop = Shop::open_on_tuesday().with_group(|group| {
        group.verify_bookings = VerifyBookings::Mail;
        group.country_code = Text::new("33").expect("a code");
    });
    shop.announces = true;
    let ada = shop.knows("Lovelace", "ada@example.org");
    let bob = shop.knows("Boole", "bob@example.org");
    let mut fiche = Fiche::clone(&shop.group_state.fiches[&ada]);
    fiche.firstphone = Text::new("+33 6 12 34 56 78").expect("a number");
    shop.group_state.put_fiche(fiche.into());
    let others = waits(&mut shop, "Zoe", "", "2026-03-03 09:00");
    let by_address = waits(&mut shop, "Ada", "", "2026-03-03 09:30");
    let by_phone = waits(&mut shop, "Yve", "06 12 34 56 78", "2026-03-03 10:00");
    let by_name = waits(&mut shop, "Lovelace", "", "2026-03-03 10:30");
    let found = find_person(&shop.group_state, ada);
    let mut expected = [by_address, by_phone, by_name];
    expected.sort_unstable();
    let mut holds = found.holds.clone();
    holds.sort_unstable();
    assert_eq!(holds, expected);
    // Each was mailed a code; those to other addresses are hers by their bookings.
    let codes = shop.group_state.outbox.messages().filter(|message| match &message.content {
        MessageContent::BookingCode { hold, .. } => expected.contains(hold),
        _ => false,
    });
    assert_eq!(found.messages, codes.map(|message| message.id).collect::<Vec<_>>());
    assert_eq!(found.messages.len(), 3);
    assert_eq!(find_person(&shop.group_state, bob).holds, []);
    // A confirmed booking is hers by its appointment, though its number is not.
    let made = shop.confirms(by_address, true).expect("the code is right");
    let found = find_person(&shop.group_state, ada);
    assert_eq!(found.vevents, made);
    assert!(found.holds.contains(&by_address));
    shop.confirms(others, true).expect("the code is right");
    assert!(!find_person(&shop.group_state, ada).holds.contains(&others));
    // A link about the account is found by its address.
    let email = Email::new("ADA@example.org").expect("an address");
    let request = LinkRequest::Account { pending_rdv: None, secret: None };
    let asked = shop.asks_link(&RequestLink { email, request });
    let links: Vec<_> = shop.group_state.links.iter().map(|link| link.hash).collect();
    assert!(asked.is_ok());
    assert_eq!(find_person(&shop.group_state, ada).links, links);
    assert!(find_person(&shop.group_state, bob).links.is_empty());
}

#[test]
fn an_answer_with_a_customised_text_of_the_client_is_repeated_no_more() {
    let name = CustomName::new("str0").expect("a name");
    let long = CustomName::new("txt0").expect("a name");
    let mut shop = Shop::open_on_tuesday();
    let ada = shop.knows("Ada", "ada@example.org");
    let mut fiche = Fiche::clone(&shop.group_state.fiches[&ada]);
    fiche.customs.set(name, Some(CustomValue::String(Text::new("violet").expect("a text"))));
    fiche.customs.set(long, Some(CustomValue::Text(Text::new("a long tale").expect("a text"))));
    shop.group_state.put_fiche(fiche.into());
    let answers =
        [(r#"["violet"]"#, true), (r#"["a long tale"]"#, true), (r#"["green",""]"#, false)];
    for (number, (answer, _)) in (100..).zip(&answers) {
        shop.keeps_answer(number, answer);
    }
    // One who is to be idle, and is not known to be, stays.
    let mut idle = EraseClients {
        ids: vec![ada],
        records: vec![ada],
        cancels_upcoming: false,
        idle_since: Some(shop.now),
    };
    let refused = erase(&mut shop, Command::EraseClients(idle.clone()));
    assert_eq!(refused, Err(Refusal::PreconditionFailed(None)));
    idle.idle_since = None;
    erase(&mut shop, Command::EraseClients(idle)).expect("she is known");
    for (number, (answer, goes)) in (100..).zip(&answers) {
        let kept = shop.group_state.idempotency_records.find(&[number; 32], shop.now);
        assert_eq!(kept.is_none(), *goes, "{answer}");
    }
}

/// The parts that go with some clients.
fn parts_of(shop: &Shop, ids: &[FicheId]) -> Erasure {
    match erase_again(&shop.group_state, ids, shop.now) {
        Some(Event::ClientsErased { erasure, .. }) => *erasure,
        other => panic!("{other:?}"),
    }
}

fn has_account(shop: &mut Shop, email: &str, fiche_id: FicheId, former: &[FicheId]) {
    let account = account(email, fiche_id, former);
    shop.group_state.accounts.insert(account.email.folded(), account.into());
}

fn is_mailed(shop: &mut Shop, content: MessageContent, to: &str) -> MessageId {
    let message = shop.group_state.outbox.draft(0, shop.now, content, to);
    shop.group_state.enqueue(&message);
    message.id
}

#[test]
fn mails_to_an_address_go_with_the_last_client_who_has_it() {
    const NOTICE: MessageContent = MessageContent::AccountNotice(AccountChange::Device);
    // The accounts, and whether mails to ada@example.org and to other@example.org go with Ada.
    type Accounts = fn(&mut Shop, FicheId, FicheId);
    let cases: [(&str, Accounts, [bool; 2]); 5] = [
        ("no account", |_, _, _| {}, [true, false]),
        ("her own", |shop, ada, _| has_account(shop, "ada@example.org", ada, &[]), [true, false]),
        (
            "another address of hers",
            |shop, ada, _| has_account(shop, "other@example.org", ada, &[]),
            [true, true],
        ),
        (
            "one that books for Bob by now",
            |shop, ada, bob| has_account(shop, "other@example.org", bob, &[ada]),
            [true, false],
        ),
        (
            "her address is Bob's account",
            |shop, _, bob| has_account(shop, "ada@example.org", bob, &[]),
            [false, false],
        ),
    ];
    for (name, accounts, goes) in cases {
        let mut shop = Shop::open_on_tuesday();
        let ada = shop.knows("Ada", "ada@example.org");
        let bob = shop.knows("Bob", "bob@example.org");
        accounts(&mut shop, ada, bob);
        let mails = ["ada@example.org", "other@example.org"];
        let mails = mails.map(|to| is_mailed(&mut shop, NOTICE, to));
        let gone = parts_of(&shop, &[ada]).messages;
        assert_eq!(mails.map(|id| gone.contains(&id)), goes, "{name}");
    }
}

#[test]
fn mails_to_a_professional_stay_when_a_client_of_that_address_goes() {
    let link = |purpose| MessageContent::AccountLink {
        purpose,
        token: Text::default(),
        expires: Instant(0),
    };
    for (content, goes) in [
        (MessageContent::ShopWarning(ShopWarning::CodesAsked), false),
        (link(LinkPurpose::Login), false),
        (link(LinkPurpose::ProPassword), false),
        (link(LinkPurpose::Invitation), false),
        (link(LinkPurpose::Confirm), true),
        (link(LinkPurpose::NewPassword), true),
        (link(LinkPurpose::NewEmail), true),
        (MessageContent::AccountNotice(AccountChange::Password), true),
    ] {
        let mut shop = Shop::open_on_tuesday();
        let ada = shop.knows("Ada", "ada@example.org");
        let id = is_mailed(&mut shop, content.clone(), "ada@example.org");
        assert_eq!(parts_of(&shop, &[ada]).messages.contains(&id), goes, "{content:?}");
    }
}

#[test]
fn a_link_goes_with_the_client_or_the_account_that_asked_for_it_and_with_its_address() {
    let mut shop = Shop::open_on_tuesday();
    let ada = shop.knows("Ada", "ada@example.org");
    let bob = shop.knows("Bob", "bob@example.org");
    let change = |account: &str, fiche_id| LinkAction::Email { account: account.into(), fiche_id };
    let of_account = || LinkAction::Account { pending_rdv: None };
    let links = [
        ("first@example.org", change("ada@example.org", ada), true),
        ("second@example.org", change("ada@example.org", bob), true),
        ("third@example.org", change("family@example.org", ada), true),
        ("ada@example.org", of_account(), true),
        ("fourth@example.org", change("bob@example.org", bob), false),
        ("bob@example.org", of_account(), false),
    ];
    let kept = (0..).zip(&links).map(|(number, (email, action, _))| AccountLink {
        hash: [number; 32],
        email: Email::new(email).expect("an address"),
        action: action.clone(),
        requested_at: shop.now,
        expires: shop.now.plus_seconds(60),
    });
    shop.group_state.links = AccountLinks::from_links(kept.map(Into::into).collect());
    let theirs = (0..).zip(&links).filter(|(_, (.., goes))| *goes);
    let theirs: Vec<[u8; 32]> = theirs.map(|(number, _)| [number; 32]).collect();
    let content = MessageContent::AccountNotice(AccountChange::Email);
    let asked = is_mailed(&mut shop, content, "first@example.org");
    let parts = parts_of(&shop, &[ada]);
    assert_eq!((parts.links, parts.messages), (theirs.clone(), vec![asked]));
    assert_eq!(find_person(&shop.group_state, ada).links, theirs);
}

#[test]
fn only_events_with_texts_or_an_origin_lose_them() {
    let mut shop = Shop::open_on_tuesday();
    let ada = shop.knows("Ada", "ada@example.org");
    let mut plain = by_pro(booking_of("Ada", "2026-03-03 09:30"), false);
    plain.client = Client { id: Some(ada), fields: Patch::default(), ..plain.client };
    let mut commented = BookAppointment { date: civil("2026-03-03 10:00"), ..plain.clone() };
    commented.comments = LongText::new("a window seat").expect("a text");
    let mut by_web = BookAppointment { date: civil("2026-03-03 10:30"), ..plain.clone() };
    let (source, apikey) = ([1; 16], [2; 16]);
    let origin = BookingOrigin { source, apikey, proof: ClientProof::KeyAlone };
    by_web.booking_origin = Some(Box::new(origin));
    let [_, commented, by_web] =
        [plain, commented, by_web].map(|command| shop.book(&command).expect("free")[0]);
    assert_eq!(parts_of(&shop, &[ada]).vevents, [commented, by_web]);
}

#[test]
fn mails_about_an_appointment_go_with_the_client_whom_they_were_for() {
    let mut shop = Shop::open_on_tuesday();
    let ada = shop.knows("Ada", "ada@example.org");
    let bob = shop.knows("Bob", "bob@example.org");
    let mut booking = by_pro(booking_of("Ada", "2026-03-03 09:30"), false);
    booking.client = Client { id: Some(ada), fields: Patch::default(), ..booking.client };
    let id = shop.book(&booking).expect("free")[0];
    let mut row = Vevent::clone(&shop.group_state.rows[&id]);
    let appointment = AppointmentTime::from_vevent(&row).expect("an appointment");
    let confirmation = || MessageContent::Confirmation(vec![appointment]);
    // Ada had another address then.
    let former = is_mailed(&mut shop, confirmation(), "byron@example.org");
    assert_eq!(parts_of(&shop, &[ada]).messages, [former]);
    // It is given to Bob.
    let was = row.appointment().expect("an appointment").clone();
    let withdrawal = MessageContent::Withdrawal(Box::new(WithdrawnAppointment {
        appointment,
        length_seconds: was.length_seconds,
        client: ada,
        calendar: row.calendar_id,
        intervention: was.intervention_id,
        key: was.key,
    }));
    let withdrawn = is_mailed(&mut shop, withdrawal, "byron@example.org");
    let confirmed = is_mailed(&mut shop, confirmation(), "boole@example.org");
    if let VeventKind::Appointment(appointment) = &mut row.kind {
        appointment.fiche_id = bob;
    }
    shop.group_state.put_vevent(row.into());
    assert_eq!(parts_of(&shop, &[bob]).messages, [confirmed]);
    assert_eq!(parts_of(&shop, &[ada]).messages, [former, withdrawn], "both went to her address");
}

#[test]
fn an_erasure_is_marked_and_stamps_what_it_changes_but_for_deleted_events() {
    let mut shop = Shop::open_on_tuesday();
    let ada = shop.knows("Ada", "ada@example.org");
    let mut book = |time: &str| {
        let mut booking = booking_of("Ada", time);
        says(&mut booking);
        shop.book(&booking).expect("free")[0]
    };
    let [past, cancelled] = ["2026-03-03 09:00", "2026-03-03 10:00"].map(&mut book);
    shop.cancel(cancelled, CancelRight::Pro).expect("it is live");
    assert_eq!(shop.group_state.privacy.last_erasure, None);
    let before = shop.now;
    let mut shop = shop.at("2026-03-03 12:00");
    erase(&mut shop, erasing(&[ada], &[ada])).expect("all is over");
    let state = &shop.group_state;
    let mark = ErasureMark { sequence: state.sequence, at: shop.now };
    assert_eq!(state.privacy.last_erasure, Some(mark));
    let stamp = |id: VeventId| state.rows[&id].updated_at;
    assert_eq!((stamp(past), stamp(cancelled)), (shop.now, before));
}
