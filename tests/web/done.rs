//! The confirmation and the page of an appointment: what they say, and where their links lead.

use std::sync::Arc;

use serde_json::json;
use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::records::ids::InterventionId;
use slotbook::domain::records::text::{Bounded, Text};

use crate::accessible::{annulation_minutes, check_present};
use crate::browser::{Browser, Look, PHONE};
use crate::manage::link_of;
use crate::server::TestServer;
use crate::shop::{CALENDAR, CUT, clock};
use crate::visitor::{Page, Visitor, set, shop_with};

/// A shop with an address, prices and something to bring, which takes changes until an hour before.
async fn full_shop(change: impl FnOnce(&mut Catalogue)) -> TestServer {
    shop_with(|catalogue| {
        annulation_minutes(catalogue, 60);
        let group = &mut catalogue.group;
        group.display_intervention_price = true;
        group.address = Text::new("1 rue de l’Été").expect("a text");
        group.zipcode = Text::new("33000").expect("a text");
        group.city = Text::new("Bordeaux").expect("a text");
        group.bring_text = Text::new("Votre carte de fidélité").expect("a text");
        let id = InterventionId::new(CUT).expect("an id");
        let cut = catalogue.interventions.get_mut(&id).expect("it is there");
        let cut = Arc::make_mut(cut);
        cut.price = Some(Bounded::new(2_550).expect("a price"));
        cut.bring_text = Text::new("Une photo").expect("a text");
        change(catalogue);
    })
    .await
}

/// Books at ten with a calendar, and returns the path of the confirmation and its page.
async fn booked(server: &TestServer, language: &'static str) -> (String, Page) {
    let visitor = Visitor::of(server).speaking(language);
    let mut form = visitor.form_of(CUT, "2025-06-02T10:00").await;
    set(&mut form, "c", &CALENDAR.to_string());
    set(&mut form, "fiche.email", &format!("{language}@example.org"));
    let done = visitor.post("/b/cut-co/you", &form).await.location().to_owned();
    let page = visitor.open(&done).await;
    (done, page)
}

/// The addresses of a page's links to another server.
fn foreign_links(page: &Page) -> Vec<String> {
    let links = page.html.split("href=\"https://").skip(1);
    links.map(|rest| rest.split('"').next().expect("a URL").replace("&#38;", "&")).collect()
}

#[tokio::test]
async fn the_confirmation_says_all_that_a_client_needs() {
    let server = full_shop(|_| {}).await;
    let (_, page) = booked(&server, "en").await;
    // Beside the foot of the page, which has some of it too.
    let (_, card) = page.html.split_once("<section class=\"card\">").expect("an appointment");
    let (card, _) = card.split_once("</section>").expect("its end");
    for sentence in [
        "Monday 2 June 2025 at 10:00\u{a0}am",
        "10:30\u{a0}am (30 min)",
        "€25.50",
        "1 rue de l’Été</bdi><br><bdi>33000 Bordeaux",
        "<bdi lang=\"fr\">Une photo</bdi>",
        "<bdi lang=\"fr\">Votre carte de fidélité</bdi>",
        "You can move or cancel it online until Monday 2 June 2025 at 9:00\u{a0}am.",
    ] {
        assert!(card.contains(sentence), "{sentence}: {card}");
    }
    let links = foreign_links(&page);
    let [map, google, outlook, footer] = &links[..] else { panic!("{links:?}") };
    assert_eq!(
        map,
        "www.openstreetmap.org/search?query=1+rue+de+l%E2%80%99%C3%89t%C3%A9%2C+33000+Bordeaux"
    );
    assert_eq!(footer, map, "the address of the shop");
    assert!(google.contains("dates=20250602T080000Z%2F20250602T083000Z"), "{google}");
    assert!(outlook.contains("startdt=2025-06-02T08%3A00%3A00Z"), "{outlook}");
    let token = link_of(&page);
    let secret = token.rsplit('.').next().expect("a secret");
    for link in &links {
        assert!(!link.contains(secret) && !link.contains("en%40example"), "{link}");
    }
    assert!(!page.html.contains("src=\"https"), "nothing of others is loaded");
}

#[tokio::test]
async fn too_late_for_a_change_the_confirmation_says_to_call() {
    let server = full_shop(|catalogue| annulation_minutes(catalogue, 600)).await;
    let (_, page) = booked(&server, "en").await;
    page.shows("To move or cancel it, call.");
    page.hides("/move\"");
    link_of(&page);
    let hidden = full_shop(|catalogue| {
        catalogue.group.display_intervention_price = false;
        catalogue.group.address = Text::new("").expect("a text");
        catalogue.group.zipcode = Text::new("").expect("a text");
        catalogue.group.city = Text::new("").expect("a text");
    })
    .await;
    let (_, page) = booked(&hidden, "en").await;
    page.hides("25.50");
    page.hides("openstreetmap");
}

#[tokio::test]
async fn the_page_of_an_appointment_offers_move_cancel_and_calendars_at_one_width() {
    let server = full_shop(|_| {}).await;
    for language in ["en", "fr"] {
        let (done, page) = booked(&server, language).await;
        let link = link_of(&page);
        for look in [Look { language, ..PHONE }, Look { language, width: 1_280, ..PHONE }] {
            let Some(browser) = Browser::open(server.address(), look).await else { return };
            browser.goto(&link).await;
            let acts = "return [...document.querySelectorAll('.column a, .column summary')]
                .map((one) => { const box = one.getBoundingClientRect();
                    return [one.href ? new URL(one.href).host + new URL(one.href).pathname.split('/').at(-1) : 'cancel',
                        Math.round(box.width), box.top]; })";
            let acts = browser.run(acts).await;
            let acts = acts.as_array().expect("a list");
            let names: Vec<&str> = acts.iter().filter_map(|act| act[0].as_str()).collect();
            let host = server.address();
            let expected = [
                format!("{host}move"),
                "cancel".to_owned(),
                format!("{host}appointment.ics"),
                "calendar.google.comrender".to_owned(),
                "outlook.live.comcompose".to_owned(),
            ];
            assert_eq!(names, expected);
            let widths: Vec<f64> = acts.iter().filter_map(|act| act[1].as_f64()).collect();
            assert!(widths.iter().all(|width| (width - widths[0]).abs() <= 2.0), "{widths:?}");
            for (name, path) in [("manage-full", &link), ("done-full", &done)] {
                browser.emulate(look).await;
                browser.goto(path).await;
                check_present(&browser, look, name).await;
            }
        }
        Visitor::of(&server).post(&link, &[]).await;
    }
}

#[tokio::test]
async fn a_cancelled_appointment_says_what_it_was_and_offers_it_again() {
    let server = full_shop(|catalogue| catalogue.group.calendar_choice = 2).await;
    let (done, page) = booked(&server, "en").await;
    let link = link_of(&page);
    let visitor = Visitor::of(&server);
    let cancelled = visitor.post(&link, &[]).await;
    for page in [cancelled, visitor.open(&link).await] {
        page.shows("Your appointment is cancelled.");
        page.shows("Monday 2 June 2025 at 10:00\u{a0}am");
        page.shows(">Coupe</bdi>");
        page.shows(&format!(
            "href=\"/b/cut-co/time?s={CUT}&#38;c={CALENDAR}\">Book this appointment again"
        ));
        page.hides("calendar.google");
    }
    // The page after the booking says the same, by the same secret, and tells the site nothing.
    let confirmation = visitor.open(&done).await;
    for text in [
        "<title>Appointment cancelled",
        "Your appointment is cancelled.",
        "Monday 2 June 2025 at 10:00\u{a0}am",
        ">Coupe</bdi>",
        &format!("href=\"/b/cut-co/time?s={CUT}&#38;c={CALENDAR}\">Book this appointment again"),
    ] {
        confirmation.shows(text);
    }
    for text in ["calendar.google", "confirmed", "/m/c.", "appointment.ics", "data-booked"] {
        confirmation.hides(text);
    }
    assert_eq!(confirmation.headers["referrer-policy"], "no-referrer");
    assert_eq!(confirmation.headers["cache-control"], "no-store");
    let (id, _) = done.rsplit_once('.').expect("a secret");
    let wrong = visitor.get(&format!("{id}.abcdefghijklmnopqrst")).await;
    assert_eq!(wrong.status, 404);
    wrong.hides("Coupe");
    server.at(clock(11, 0));
    visitor.open(&link).await.shows("Book this appointment again");
    let hidden = full_shop(|catalogue| catalogue.group.web_page = true).await;
    let (_, page) = booked(&hidden, "en").await;
    let link = link_of(&page);
    let body = json!({"intervention": {"deleted": true}});
    let path = format!("/groups/4/interventions/{CUT}");
    crate::server::answer(hidden.by_pro(reqwest::Method::PUT, &path).json(&body)).await.is(200);
    let visitor = Visitor::of(&hidden);
    visitor.post(&link, &[]).await.shows("href=\"/b/cut-co\">Book this appointment again");
}

#[tokio::test]
async fn a_booking_of_several_services_is_shown_until_the_last_one_is_cancelled() {
    let server = full_shop(|catalogue| {
        catalogue.group.max_multirdvs = Bounded::new(2).expect("a number");
    })
    .await;
    let visitor = Visitor::of(&server);
    let chosen = format!("{CUT}&s={CUT}");
    let page = visitor.open(&format!("/b/cut-co/you?s={chosen}&t=2025-06-02T10:00")).await;
    let mut form = page.hidden();
    for (name, value) in [("fiche.lastname", "Durand"), ("fiche.email", "zoe@example.org")] {
        set(&mut form, name, value);
    }
    let done = visitor.post("/b/cut-co/you", &form).await.location().to_owned();
    let both = visitor.open(&done).await;
    let links = both.html.split("href=\"").filter(|rest| rest.starts_with("/m/c."));
    let mut links: Vec<&str> = links.map(|rest| rest.split('"').next().expect("a URL")).collect();
    links.retain(|link| !link.ends_with("/move"));
    let [first, second] = links[..] else { panic!("{links:?}") };
    visitor.post(first, &[]).await.shows("Your appointment is cancelled.");
    let one = visitor.open(&done).await;
    one.shows("Appointment confirmed");
    one.shows(second);
    one.hides(first);
    visitor.post(second, &[]).await.shows("Your appointment is cancelled.");
    let none = visitor.open(&done).await;
    none.shows("Your appointments are cancelled.");
    assert_eq!(none.html.matches("Book this appointment again").count(), 2);
}
