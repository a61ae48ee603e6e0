//! What no program finds by itself: languages of parts, time limits, titles of faults, dates.

use serde_json::json;
use slotbook::domain::records::text::{LongText, Name, Text};
use slotbook::domain::time::Instant;

use crate::browser::{Browser, Look, PHONE};
use crate::codes::{code, token_of, verifying_shop};
use crate::shop::{CUT, clock};
use crate::visitor::{Page, Visitor, live_appointments, set, shop_with};

#[tokio::test]
async fn texts_of_the_shop_have_its_language_where_the_page_has_another() {
    for (country, language, expected) in [
        ("France", "en", "<bdi lang=\"fr\">"),
        ("France", "fr", "<bdi>"),
        ("Canada", "fr", "<bdi lang=\"en\">"),
        ("Canada", "en", "<bdi>"),
    ] {
        let server = shop_with(|catalogue| {
            catalogue.group.country = Text::new(country).expect("a country");
            catalogue.group.privacy_text = LongText::new("Un an.").expect("a text");
            let id = slotbook::domain::records::ids::CustomfieldId::new(63).expect("an id");
            let field = catalogue.customfields.get_mut(&id).expect("it is there");
            let label = Text::new("Pointure").expect("a label");
            std::sync::Arc::make_mut(field).user_label = label;
            for service in catalogue.interventions.values_mut() {
                let service = std::sync::Arc::make_mut(service);
                service.publicname = Name::new("Coupe").expect("a name");
            }
        })
        .await;
        let visitor = Visitor::of(&server).speaking(language);
        visitor.open("/b/cut-co").await.shows(&format!("{expected}Coupe</bdi>"));
        visitor
            .open(&format!("/b/cut-co/time?s={CUT}"))
            .await
            .shows(&format!("{expected}Coupe</bdi>"));
        let you = visitor.open(&format!("/b/cut-co/you?s={CUT}&t=2025-06-02T09:00")).await;
        for text in ["Coupe", "Pointure", "Un an."] {
            you.shows(&format!("{expected}{text}</bdi>"));
        }
        let own = if language == "fr" { "Nom" } else { "Last name" };
        you.shows(&format!("<bdi>{own}</bdi>"));
    }
}

#[tokio::test]
async fn the_title_of_a_page_with_faults_says_so_first() {
    for (language, word) in [("en", "Error: "), ("fr", "Erreur : ")] {
        let server = shop_with(|_| {}).await;
        let visitor = Visitor::of(&server).speaking(language);
        let title = format!("<title>{word}");
        visitor.get("/b/cut-co/time").await.shows(&title);
        let form = visitor.form_of(CUT, "2025-06-02T09:00").await;
        let mut faulty = form.clone();
        set(&mut faulty, "fiche.lastname", "");
        visitor.post("/b/cut-co/you", &faulty).await.shows(&title);
        let taken = format!("/b/cut-co/you?s={CUT}&t=2025-06-02T13:00");
        visitor.get(&taken).await.shows(&title);
        visitor.open("/b/cut-co").await.hides(&title);
        visitor.open(&format!("/b/cut-co/you?s={CUT}&t=2025-06-02T09:00")).await.hides(&title);
        let asking = verifying_shop(|_| {}).await;
        let visitor = Visitor::of(&asking).speaking(language);
        let form = visitor.form_of(CUT, "2025-06-02T09:00").await;
        let page = visitor.post("/b/cut-co/you", &form).await;
        page.hides(&title);
        let mut wrong = page.hidden();
        set(&mut wrong, "code", "12");
        visitor.post("/b/cut-co/you", &wrong).await.shows(&title);
    }
}

/// The birth date of the only client that a page made.
async fn stored_birthdate(server: &crate::server::TestServer) -> serde_json::Value {
    let rows = server.pro_get("/groups/4/fiches").await.is(200);
    let rows = rows["records"].as_array().expect("a list").clone();
    let made = rows.into_iter().find(|row| row["lastname"] == "Durand").expect("the client");
    made["birthdate"].clone()
}

#[tokio::test]
async fn a_birth_date_is_three_fields_and_one_value_of_the_wire() {
    let server = shop_with(|_| {}).await;
    let visitor = Visitor::of(&server);
    let mut form = visitor.form_of(CUT, "2025-06-02T09:00").await;
    for (part, value) in [("day", "31"), ("month", "2"), ("year", "1980")] {
        set(&mut form, &format!("fiche.birthdate.{part}"), value);
    }
    let refused = visitor.post("/b/cut-co/you", &form).await;
    refused.shows("href=\"#fiche-birthdate\"");
    refused.shows("Enter a date that exists.");
    for shown in [
        "name=\"fiche.birthdate.day\" value=\"31\"",
        "name=\"fiche.birthdate.month\" value=\"2\"",
        "name=\"fiche.birthdate.year\" value=\"1980\"",
        "autocomplete=\"bday-day\"",
        "autocomplete=\"bday-month\"",
        "autocomplete=\"bday-year\"",
    ] {
        refused.shows(shown);
    }
    set(&mut form, "fiche.birthdate.day", "");
    visitor.post("/b/cut-co/you", &form).await.shows("Enter a date that exists.");
    set(&mut form, "fiche.birthdate.day", "5");
    visitor.post("/b/cut-co/you", &form).await.location();
    assert_eq!(stored_birthdate(&server).await, json!("1980-02-05 00:00:00"));
}

#[tokio::test]
async fn a_birth_date_passes_the_code_and_comes_back_into_its_fields() {
    let server = verifying_shop(|_| {}).await;
    let visitor = Visitor::of(&server);
    let mut form = visitor.form_of(CUT, "2025-06-02T09:00").await;
    for (part, value) in [("day", "05"), ("month", "11"), ("year", "1980")] {
        set(&mut form, &format!("fiche.birthdate.{part}"), value);
    }
    let asked = visitor.post("/b/cut-co/you", &form).await;
    assert_eq!(asked.values("fiche.birthdate"), ["1980-11-05"]);
    let mut edit = asked.hidden();
    set(&mut edit, "edit", "1");
    let edited = visitor.post("/b/cut-co/you", &edit).await;
    assert_eq!(edited.values("fiche.birthdate.day"), ["5"]);
    assert_eq!(edited.values("fiche.birthdate.month"), ["11"]);
    let mut right = asked.hidden();
    set(&mut right, "code", &code(&token_of(&asked)));
    visitor.post("/b/cut-co/you", &right).await.location();
    assert_eq!(stored_birthdate(&server).await, json!("1980-11-05 00:00:00"));
}

/// Sends the form of a page that asks for a code, with one more field.
async fn send(visitor: &Visitor, page: &Page, name: &str, value: &str) -> Page {
    let mut form = page.hidden();
    set(&mut form, name, value);
    visitor.post("/b/cut-co/you", &form).await
}

#[tokio::test]
async fn held_time_is_kept_longer_once_and_the_same_code_books_it() {
    let server = verifying_shop(|_| {}).await;
    let visitor = Visitor::of(&server);
    let form = visitor.form_of(CUT, "2025-06-02T10:00").await;
    let asked = visitor.post("/b/cut-co/you", &form).await;
    asked.shows("until 8:15\u{a0}am");
    server.at(clock(8, 14));
    let longer = send(&visitor, &asked, "longer", "1").await;
    assert_eq!(longer.status, 200);
    longer.shows("until 8:29\u{a0}am");
    longer.hides("name=\"longer\"");
    assert_eq!(token_of(&longer), token_of(&asked));
    server.at(clock(8, 28));
    let again = send(&visitor, &longer, "longer", "1").await;
    again.shows("until 8:29\u{a0}am");
    let others = visitor.open(&format!("/b/cut-co/time?s={CUT}&d=2025-06-02")).await;
    assert!(!others.offered().contains(&"2025-06-02T10:00".to_owned()), "the time is held");
    send(&visitor, &longer, "code", &code(&token_of(&asked))).await.location();
    assert_eq!(live_appointments(&server.engine), 1);
}

#[tokio::test]
async fn held_time_that_has_ended_is_not_kept_longer() {
    let server = verifying_shop(|_| {}).await;
    let visitor = Visitor::of(&server);
    let form = visitor.form_of(CUT, "2025-06-02T10:00").await;
    let asked = visitor.post("/b/cut-co/you", &form).await;
    server.at(clock(8, 15));
    send(&visitor, &asked, "longer", "1").await.shows("The code has expired");
    let others = visitor.open(&format!("/b/cut-co/time?s={CUT}&d=2025-06-02")).await;
    assert!(others.offered().contains(&"2025-06-02T10:00".to_owned()), "the time is free");
    let mut unknown = asked.clone();
    unknown.html = unknown.html.replace(&token_of(&asked), &"x".repeat(32));
    send(&visitor, &unknown, "longer", "1").await.shows("The code has expired");
}

#[tokio::test]
async fn two_minutes_before_held_time_ends_the_page_says_so() {
    for (language, sentence) in [("en", "two more minutes"), ("fr", "deux minutes au plus")] {
        let server = verifying_shop(|_| {}).await;
        let look = Look { language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        browser.goto(&format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00")).await;
        browser.type_into("#fiche-lastname", "Durand").await;
        browser.type_into("#fiche-email", &format!("{language}@example.org")).await;
        browser.click(".send button").await;
        browser.await_element("#code").await;
        let shown = "return document.querySelector('#ending').textContent";
        assert_eq!(browser.run(shown).await, json!(""), "fifteen minutes are left");
        server.at(Instant(clock(8, 13).0 + 1));
        // The same page again, with less than two minutes left.
        browser.type_into("#code", "12\u{e007}").await;
        browser.await_element("#code-fault").await;
        browser.await_element("#ending:not([hidden])").await;
        let text = browser.run(shown).await;
        assert!(text.as_str().expect("a text").contains(sentence), "{text}");
        crate::accessible::check_present(&browser, look, "hold-ends").await;
        browser.emulate(look).await;
        browser.click("button[name=longer]").await;
        browser.await_element("#ending[hidden]").await;
        browser.await_element("form:not(:has(button[name=longer]))").await;
        let right = "return document.querySelector('[name=h]').value";
        let token = browser.run(right).await;
        browser
            .type_into("#code", &format!("{}\u{e007}", code(token.as_str().expect("a token"))))
            .await;
        browser.arrive_at("/b/cut-co/done").await;
        assert_eq!(live_appointments(&server.engine), 1);
    }
}
