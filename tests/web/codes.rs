//! Bookings that need a code: right, wrong, late, sent again, and with other details.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::directory::confirmation_code::ConfirmationCode;
use slotbook::domain::directory::link_secret::LinkSecret;
use slotbook::domain::records::group::VerifyBookings;
use slotbook::domain::records::hold::HoldToken;
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::records::text::Text;
use slotbook::http::{BookingLimits, Server};
use slotbook::notify::Gateways;
use slotbook::notify::sms::SmsGateway;
use slotbook::notify::smtp::{SmtpClient, SmtpServer, TlsMode};

use crate::server::{TestServer, answer};
use crate::shop::{self, CUT, clock};
use crate::visitor::{Page, Visitor, first_calendar, live_appointments, set};

pub(crate) fn secret() -> LinkSecret {
    LinkSecret::new([3; 32])
}

/// Gateways of a server that could send messages. Nothing in these tests sends any.
fn gateways() -> Gateways {
    let mail = SmtpClient::new(&SmtpServer {
        host: "127.0.0.1".to_owned(),
        port: 9,
        tls_mode: TlsMode::None,
        root_certificates: None,
        login: None,
        from: "rdv@practice.example".to_owned(),
        timeout: Duration::from_secs(1),
    });
    let sms = SmsGateway::new("http://127.0.0.1:9/", "the-token", Duration::from_secs(1));
    Gateways {
        mail: Some(mail.expect("legal options")),
        sms: Some(sms.expect("a legal URL")),
        link_secret: Some(secret()),
        ..Gateways::unconfigured("")
    }
}

/// The shop with one calendar, an account of Cleo, and gateways.
pub(crate) async fn verifying_shop(change: impl FnOnce(&mut Catalogue)) -> TestServer {
    limited_shop(BookingLimits::NONE, change).await
}

/// The same with limits on bookings.
pub(crate) async fn limited_shop(
    limits: BookingLimits,
    change: impl FnOnce(&mut Catalogue),
) -> TestServer {
    let mut four = shop::group_four(|catalogue| {
        catalogue.group.verify_bookings = VerifyBookings::Mail;
        catalogue.group.validate_email = true;
        catalogue.group.phone = Text::new("01 99 00 12 30").expect("a phone");
        catalogue.group.country_code = Text::new("33").expect("a prefix");
        first_calendar(catalogue).deleted = true;
        change(catalogue);
    });
    shop::open_account(&mut four, shop::OWN_FICHE, shop::CLEO.0);
    let groups = vec![four, shop::group_five()];
    let configure =
        |server: Server| server.with_gateways(Arc::new(gateways())).limit_bookings(limits);
    TestServer::serving(groups, configure).await
}

/// The token of a page that asks for a code.
#[track_caller]
pub(crate) fn token_of(page: &Page) -> String {
    let tokens = page.values("h");
    assert_eq!(tokens.len(), 1, "{}", page.html);
    tokens[0].clone()
}

/// The code that was sent for a token.
pub(crate) fn code(token: &str) -> String {
    let id = HoldToken::new(token).expect("a token").id();
    let group = GroupId::new(4).expect("an id");
    ConfirmationCode::derive(&secret(), group, id).as_str().to_owned()
}

fn wrong(token: &str) -> String {
    if code(token) == "000000" { "000001" } else { "000000" }.to_owned()
}

/// Sends the form of a page that asks for a code, with one more field.
async fn send(visitor: &Visitor, page: &Page, name: &str, value: &str) -> Page {
    let mut form = page.hidden();
    set(&mut form, name, value);
    visitor.post("/b/cut-co/you", &form).await
}

/// Sends the form of step 3 for ten o'clock. The page asks for a code.
async fn asked(visitor: &Visitor) -> Page {
    let form = visitor.form_of(CUT, "2025-06-02T10:00").await;
    let page = visitor.post("/b/cut-co/you", &form).await;
    assert_eq!(page.status, 200, "{}", page.html);
    page
}

#[tokio::test]
async fn a_booking_is_made_by_the_code_that_was_sent() {
    let server = verifying_shop(|_| {}).await;
    let visitor = Visitor::of(&server);
    let empty = visitor.open(&format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00")).await;
    empty.shows("Send me a code");
    let form = visitor.form_of(CUT, "2025-06-02T10:00").await;
    let page = visitor.post("/b/cut-co/you", &form).await;
    page.shows("Enter your code");
    page.shows("A code of six digits was sent to zoe@example.org.");
    page.shows("The time is held for you until 8:15\u{a0}am.");
    assert_eq!(live_appointments(&server.engine), 0);
    let other = visitor.open(&format!("/b/cut-co/time?s={CUT}&d=2025-06-02")).await;
    assert!(!other.offered().contains(&"2025-06-02T10:00".to_owned()), "the time is held");
    let lost = visitor.post("/b/cut-co/you", &form).await;
    assert_eq!(token_of(&lost), token_of(&page), "a lost answer, or a double click");
    let right = code(&token_of(&page));
    let spaced = format!(" {} {} ", &right[..3], &right[3..]);
    let booked = send(&visitor, &page, "code", &spaced).await;
    let done = visitor.open(booked.location()).await;
    done.shows("Monday 2 June 2025 at 10:00\u{a0}am");
    assert_eq!(live_appointments(&server.engine), 1);
    let again = send(&visitor, &page, "code", &right).await;
    assert_eq!(again.location(), booked.location(), "the code again");
    let back = visitor.post("/b/cut-co/you", &form).await;
    assert_eq!(back.location(), booked.location(), "the form again");
    let mut edited = form.clone();
    set(&mut edited, "fiche.lastname", "Martin");
    let back = visitor.post("/b/cut-co/you", &edited).await;
    visitor.open(back.location()).await.shows("it booked nothing more");
    assert_eq!(live_appointments(&server.engine), 1);
}

#[tokio::test]
async fn wrong_codes_are_counted_and_the_fifth_asks_for_the_form_again() {
    let server = verifying_shop(|_| {}).await;
    for (language, wrong_code, used, missing) in [
        (
            "en",
            "This code is wrong. Tries left: 4.",
            "Five wrong codes were given",
            "Enter the six digits",
        ),
        (
            "fr",
            "Ce code est faux. Essais restants : 4.",
            "Cinq codes faux ont été donnés",
            "Indiquez les six chiffres",
        ),
    ] {
        let visitor = Visitor::of(&server).speaking(language);
        let page = asked(&visitor).await;
        let token = token_of(&page);
        for malformed in ["", "12345", "abcdef"] {
            let page = send(&visitor, &page, "code", malformed).await;
            assert_eq!(page.status, 400);
            page.shows(missing);
        }
        let refused = send(&visitor, &page, "code", &wrong(&token)).await;
        assert_eq!(refused.status, 400);
        refused.shows(wrong_code);
        refused.shows("aria-invalid=\"true\"");
        assert_eq!(refused.values("fiche.email"), ["zoe@example.org"], "what was typed is kept");
        for _ in 0..3 {
            assert_eq!(token_of(&send(&visitor, &refused, "code", &wrong(&token)).await), token);
        }
        let over = send(&visitor, &page, "code", &wrong(&token)).await;
        assert_eq!(over.status, 400);
        over.shows(used);
        over.shows("value=\"zoe@example.org\"");
        over.shows("value=\"Durand\"");
        let late = send(&visitor, &page, "code", &code(&token)).await;
        late.shows(used);
        assert_eq!(live_appointments(&server.engine), 0);
        let mut form = over.hidden();
        set(&mut form, "fiche.lastname", "Durand");
        set(&mut form, "fiche.email", "zoe@example.org");
        let page = visitor.post("/b/cut-co/you", &form).await;
        assert_ne!(token_of(&page), token);
        // The time is free again for the next language.
        for _ in 0..5 {
            send(&visitor, &page, "code", &wrong(&token_of(&page))).await;
        }
    }
}

#[tokio::test]
async fn a_code_that_comes_too_late_asks_for_the_form_again_and_keeps_what_was_typed() {
    let server = verifying_shop(|_| {}).await;
    let visitor = Visitor::of(&server);
    let page = asked(&visitor).await;
    server.at(clock(8, 15));
    let right = code(&token_of(&page));
    let late = send(&visitor, &page, "code", &right).await;
    assert_eq!(late.status, 400);
    late.shows("The code has expired");
    late.shows("value=\"zoe@example.org\"");
    let french = send(&Visitor::of(&server).speaking("fr"), &page, "code", &right).await;
    french.shows("Le code a expiré");
    let mut form = late.hidden();
    for (name, value) in [("fiche.lastname", "Durand"), ("fiche.email", "zoe@example.org")] {
        set(&mut form, name, value);
    }
    let page = visitor.post("/b/cut-co/you", &form).await;
    let booked = send(&visitor, &page, "code", &code(&token_of(&page))).await;
    visitor.open(booked.location()).await.shows("Monday 2 June 2025 at 10:00\u{a0}am");
}

#[tokio::test]
async fn another_code_and_other_details_take_over_the_time() {
    let server = verifying_shop(|_| {}).await;
    let visitor = Visitor::of(&server);
    let first = asked(&visitor).await;
    let key = first.values("again");
    // The key of the button stands after its name and value.
    let second = send(&visitor, &first, "again", &key[0]).await;
    second.shows("Enter your code");
    assert_ne!(token_of(&second), token_of(&first));
    let twice = send(&visitor, &first, "again", &key[0]).await;
    assert_eq!(token_of(&twice), token_of(&second), "a double click");
    send(&visitor, &first, "code", &code(&token_of(&first))).await.shows("The code has expired");
    let edit = send(&visitor, &second, "edit", "1").await;
    assert_eq!(edit.status, 200);
    edit.shows("value=\"zoe@example.org\"");
    let mut form = edit.hidden();
    set(&mut form, "fiche.lastname", "Durand");
    set(&mut form, "fiche.email", "other@example.org");
    let third = visitor.post("/b/cut-co/you", &form).await;
    third.shows("sent to other@example.org");
    assert_ne!(token_of(&third), token_of(&second));
    let repeated = visitor.post("/b/cut-co/you", &form).await;
    assert_eq!(token_of(&repeated), token_of(&third));
    send(&visitor, &third, "code", &code(&token_of(&third))).await.location();
    assert_eq!(live_appointments(&server.engine), 1);
}

#[tokio::test]
async fn a_code_books_nothing_where_a_professional_has_taken_the_time() {
    let server = verifying_shop(|_| {}).await;
    let visitor = Visitor::of(&server);
    let page = asked(&visitor).await;
    let body = json!({"appointment": {
        "date": "2025-06-02 10:00:00", "intervention_ids": [CUT], "calendar_id": 12,
        "from_web": false, "fiche": {"lastname": "Walk-in"},
    }});
    answer(server.by_pro(Method::POST, "/groups/4/appointments").json(&body)).await.is(201);
    let taken = send(&visitor, &page, "code", &code(&token_of(&page))).await;
    assert_eq!(taken.status, 400);
    taken.shows("This time is no longer free");
    taken.shows("value=\"zoe@example.org\"");
    let others = taken.values("other");
    assert_eq!(others.len(), 3);
    let mut form = taken.hidden();
    for (name, value) in
        [("fiche.lastname", "Durand"), ("fiche.email", "zoe@example.org"), ("other", &others[0])]
    {
        set(&mut form, name, value);
    }
    let page = visitor.post("/b/cut-co/you", &form).await;
    let booked = send(&visitor, &page, "code", &code(&token_of(&page))).await;
    booked.location();
    assert_eq!(live_appointments(&server.engine), 2);
}

#[tokio::test]
async fn an_address_with_an_account_is_named_only_after_its_code() {
    let server = verifying_shop(|_| {}).await;
    let visitor = Visitor::of(&server);
    let mut form = visitor.form_of(CUT, "2025-06-02T10:00").await;
    set(&mut form, "fiche.email", shop::CLEO.0);
    let page = visitor.post("/b/cut-co/you", &form).await;
    assert_eq!(page.status, 200);
    let refused = send(&visitor, &page, "code", &code(&token_of(&page))).await;
    assert_eq!(refused.status, 400);
    refused.shows("id=\"fiche-email-fault\">This address belongs to a client who has an account.");
}

#[tokio::test]
async fn a_text_message_carries_the_code_where_the_group_says_so() {
    let server =
        verifying_shop(|catalogue| catalogue.group.verify_bookings = VerifyBookings::Sms).await;
    let visitor = Visitor::of(&server);
    let mut form = visitor.form_of(CUT, "2025-06-02T10:00").await;
    let missing = visitor.post("/b/cut-co/you", &form).await;
    missing.shows("id=\"fiche-firstphone-fault\">This field is required.");
    set(&mut form, "fiche.firstphone", "no number");
    let wrong = visitor.post("/b/cut-co/you", &form).await;
    wrong.shows("Enter a number that receives text messages.");
    set(&mut form, "fiche.firstphone", "06 11 22 33 44");
    let page = visitor.post("/b/cut-co/you", &form).await;
    page.shows("sent by text message to 06 11 22 33 44.");
    send(&visitor, &page, "code", &code(&token_of(&page))).await.location();
    assert_eq!(live_appointments(&server.engine), 1);
}

#[tokio::test]
async fn where_the_group_validates_addresses_a_code_proves_that_of_the_form() {
    let server =
        verifying_shop(|catalogue| catalogue.group.verify_bookings = VerifyBookings::Off).await;
    let visitor = Visitor::of(&server);
    let page = asked(&visitor).await;
    send(&visitor, &page, "code", &code(&token_of(&page))).await.location();
    assert_eq!(live_appointments(&server.engine), 1);
    // The API still asks for an account, since its callers may not ask for codes.
    let body = json!({"appointment": {
        "date": "2025-06-02 11:00:00", "intervention_ids": [CUT],
        "fiche": {"lastname": "Durand", "email": "zoe@example.org"},
    }});
    let refused = answer(server.by_key(Method::POST, "/groups/4/appointments").json(&body)).await;
    refused.refused(403, 1, None);
    let closed = verifying_shop(|catalogue| catalogue.group.open_data = false).await;
    Visitor::of(&closed).open("/b/cut-co").await.shows("for clients who have an account");
}

#[tokio::test]
async fn codes_count_as_bookings_for_the_limits_on_the_public() {
    let server = limited_shop(BookingLimits::DEFAULT, |_| {}).await;
    let visitor = Visitor::of(&server);
    let mut page = asked(&visitor).await;
    for _ in 0..4 {
        let key = page.values("again");
        page = send(&visitor, &page, "again", &key[0]).await;
        page.shows("Enter your code");
    }
    let key = page.values("again");
    let limited = send(&visitor, &page, "again", &key[0]).await;
    assert_eq!(limited.status, 429, "five codes to one address from one network");
    limited.shows("No code can be sent at the moment");
    limited.shows("Call 01 99 00 12 30.");
}
