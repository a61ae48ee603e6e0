//! Each refusal has a sentence of its own in both languages, with the date or rule it is about.

use slotbook::domain::records::text::Bounded;

use crate::server::TestServer;
use crate::shop::{CLEO, CUT};
use crate::visitor::{Page, Visitor, first_calendar, set, shop_with};

/// Sends the form for a time in both languages, and asserts the sentences.
async fn assert_refused(
    server: &TestServer,
    time: &str,
    fields: &[(&str, &str)],
    english: &str,
    french: &str,
) {
    for (language, sentence) in [("en", english), ("fr", french)] {
        let page = send(server, language, time, fields).await;
        assert_eq!(page.status, 400, "{sentence}: {}", page.html);
        page.shows(sentence);
        page.shows("role=\"alert\"");
        page.shows("value=\"Durand\"");
    }
}

async fn send(
    server: &TestServer,
    language: &'static str,
    time: &str,
    fields: &[(&str, &str)],
) -> Page {
    let visitor = Visitor::of(server).speaking(language);
    let page = visitor.get(&format!("/b/cut-co/you?s={CUT}&t={time}")).await;
    let mut form = page.hidden();
    set(&mut form, "fiche.lastname", "Durand");
    for (name, value) in fields {
        set(&mut form, name, value);
    }
    visitor.post("/b/cut-co/you", &form).await
}

const EMAIL: (&str, &str) = ("fiche.email", "zoe@example.org");

#[tokio::test]
async fn a_time_that_is_too_soon_or_too_far_is_refused_with_the_limit() {
    let server = shop_with(|catalogue| {
        for id in [11, 12] {
            let id = slotbook::domain::records::ids::CalendarId::new(id).expect("an id");
            let calendar = catalogue.calendars.get_mut(&id).expect("it is there");
            let calendar = std::sync::Arc::make_mut(calendar);
            calendar.mintime_rdv = Bounded::new(120).expect("a lead");
            calendar.maxrdv_period = Bounded::new(4_320).expect("a lead");
        }
    })
    .await;
    assert_refused(
        &server,
        "2025-06-02T09:00",
        &[EMAIL],
        "The earliest time is Monday 2 June 2025 at 10:00\u{a0}am.",
        "Le premier horaire possible est le lundi 2 juin 2025 à 10:00.",
    )
    .await;
    assert_refused(
        &server,
        "2025-06-06T09:00",
        &[EMAIL],
        "Booking is open until Thursday 5 June 2025 at 8:00\u{a0}am.",
        "La réservation est ouverte jusqu’au jeudi 5 juin 2025 à 08:00.",
    )
    .await;
}

#[tokio::test]
async fn the_rules_about_a_clients_own_appointments_are_named() {
    let server = shop_with(|catalogue| {
        catalogue.group.mintime_between = Bounded::new(90).expect("a gap");
        catalogue.group.maxrdv_number = Bounded::new(1).expect("a limit");
    })
    .await;
    send(&server, "en", "2025-06-02T09:00", &[EMAIL]).await.location();
    assert_refused(
        &server,
        "2025-06-02T09:00",
        &[EMAIL],
        "You already have an appointment at that time.",
        "Vous avez déjà un rendez-vous à ce moment-là.",
    )
    .await;
    assert_refused(
        &server,
        "2025-06-02T10:00",
        &[EMAIL],
        "at least 1 h 30 apart",
        "espacés d’au moins 1 h 30",
    )
    .await;
    assert_refused(
        &server,
        "2025-06-03T10:00",
        &[EMAIL],
        "You can have at most 1 upcoming appointments.",
        "Vous pouvez avoir au plus 1 rendez-vous à venir.",
    )
    .await;
}

#[tokio::test]
async fn an_address_that_may_not_book_is_refused_beside_its_field() {
    let server = shop_with(|catalogue| catalogue.group.open = false).await;
    assert_refused(
        &server,
        "2025-06-02T09:00",
        &[EMAIL],
        "Only known clients can book here",
        "Seuls les clients déjà connus peuvent réserver ici",
    )
    .await;
    let server = TestServer::with_account(|_| {}).await;
    assert_refused(
        &server,
        "2025-06-02T09:00",
        &[("fiche.email", CLEO.0)],
        "This address belongs to a client who has an account.",
        "Cette adresse est celle d’un client qui a un compte.",
    )
    .await;
}

#[tokio::test]
async fn a_taken_time_is_refused_in_both_languages() {
    let server = shop_with(|catalogue| {
        first_calendar(catalogue).generate_interval = Bounded::new(30).expect("an interval");
    })
    .await;
    assert_refused(
        &server,
        "2025-06-02T13:00",
        &[EMAIL],
        "The time on Monday 2 June 2025 at 1:00\u{a0}pm has just been taken or is no longer offered.",
        "L’horaire du lundi 2 juin 2025 à 13:00 vient d’être pris ou n’est plus proposé.",
    )
    .await;
}

#[tokio::test]
async fn what_is_no_refusal_of_a_booking_has_its_sentence_too() {
    let server = shop_with(|catalogue| catalogue.group.open = false).await;
    let visitor = Visitor::of(&server);
    let form = visitor.form_of(CUT, "2025-06-02T09:00").await;
    for _ in 0..10 {
        assert_eq!(visitor.post("/b/cut-co/you", &form).await.status, 400);
    }
    for (language, limited, foreign, gone, nowhere) in [
        (
            "en",
            "Try again from Monday 2 June 2025 at 9:00\u{a0}am on.",
            "This form comes from another site.",
            "This link leads nowhere any more",
            "There is no booking page at this address.",
        ),
        (
            "fr",
            "Réessayez à partir du lundi 2 juin 2025 à 09:00.",
            "Ce formulaire vient d’un autre site.",
            "Ce lien ne mène plus nulle part",
            "Cette adresse ne mène à aucune page de réservation.",
        ),
    ] {
        let visitor = Visitor::of(&server).speaking(language);
        let page = visitor.post("/b/cut-co/you", &form).await;
        assert_eq!(page.status, 429);
        page.shows(limited);
        let request = visitor.form("/b/cut-co/you", &form).header("sec-fetch-site", "cross-site");
        let page = visitor.send(request).await;
        assert_eq!(page.status, 403);
        page.shows(foreign);
        visitor.get("/m/nothing").await.shows(gone);
        visitor.get("/m/nothing/move").await.shows(gone);
        visitor.get("/b/nowhere/time").await.shows(nowhere);
    }
}

#[tokio::test]
async fn faults_are_listed_with_links_to_their_fields() {
    let server = shop_with(|catalogue| {
        let id = slotbook::domain::records::ids::CustomfieldId::new(63).expect("an id");
        let field = catalogue.customfields.get_mut(&id).expect("it is there");
        let field = std::sync::Arc::make_mut(field);
        field.user_required = true;
        field.user_label = slotbook::domain::records::text::Text::new("Size").expect("a text");
    })
    .await;
    let fields = [
        ("fiche.lastname", ""),
        ("fiche.email", "nowhere"),
        ("fiche.birthdate", "2025-02-30"),
        ("fiche.firstphone", "0123456789012345678901234567"),
    ];
    for (language, title, sentences) in [
        (
            "en",
            "5 fields need your attention",
            [
                ("fiche-lastname", "Enter your name."),
                ("fiche-email", "Enter a complete e-mail address"),
                ("fiche-birthdate", "Enter a date that exists."),
                ("fiche-firstphone", "This text is too long"),
                ("num0", "This field is required."),
            ],
        ),
        (
            "fr",
            "5 champs sont à corriger",
            [
                ("fiche-lastname", "Indiquez votre nom."),
                ("fiche-email", "Indiquez une adresse e-mail complète"),
                ("fiche-birthdate", "Indiquez une date qui existe."),
                ("fiche-firstphone", "Ce texte est trop long"),
                ("num0", "Ce champ est obligatoire."),
            ],
        ),
    ] {
        let page = send(&server, language, "2025-06-02T09:00", &fields).await;
        page.shows(title);
        for (id, sentence) in sentences {
            page.shows(&format!("href=\"#{id}\""));
            page.shows(&format!("id=\"{id}-fault\">{sentence}"));
        }
    }
}
