//! The first step says why it offers nothing, and a limit says from when on and whom to call.

use std::sync::Arc;

use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::records::group::VerifyBookings;
use slotbook::domain::records::ids::InterventionId;
use slotbook::domain::records::vevent::{Permits, VeventKind};
use slotbook::http::BookingLimits;

use crate::codes::{code, limited_shop, token_of};
use crate::server::TestServer;
use crate::shop::{self, CALENDAR, COLOUR, CUT, OTHER_CALENDAR};
use crate::visitor::{Visitor, live_appointments, set, shop_with};

/// A change of the shop that closes its page, and the reason in both languages.
type Closing = (fn(&mut Catalogue), [&'static str; 2]);

#[tokio::test]
async fn the_first_step_says_why_it_offers_nothing_and_whom_to_call() {
    let closings: [Closing; 6] = [
        (
            |catalogue| catalogue.group.inactive = true,
            ["takes no online bookings at the moment", "ne prend pas de rendez-vous en ligne"],
        ),
        (
            |catalogue| catalogue.group.open_data = false,
            ["for clients who have an account", "réservés aux clients qui ont un compte"],
        ),
        (
            |catalogue| catalogue.group.verify_bookings = VerifyBookings::Mail,
            ["no e-mail can be sent from here", "aucun e-mail ne peut être envoyé d’ici"],
        ),
        (
            |catalogue| catalogue.group.verify_bookings = VerifyBookings::Sms,
            ["a code sent by text message", "aucun SMS ne peut être envoyé d’ici"],
        ),
        (
            |catalogue| {
                for calendar in catalogue.calendars.values_mut() {
                    Arc::make_mut(calendar).deleted = true;
                }
            },
            ["No calendar is open for online booking", "Aucun agenda n’est ouvert"],
        ),
        (
            |catalogue| catalogue.interventions.clear(),
            ["No service is offered online", "Aucune prestation n’est proposée"],
        ),
    ];
    for (change, sentences) in closings {
        let server = shop_with(change).await;
        for (language, sentence) in ["en", "fr"].into_iter().zip(sentences) {
            let visitor = Visitor::of(&server).speaking(language);
            for path in ["/b/cut-co".to_owned(), format!("/b/cut-co/time?s={CUT}")] {
                let page = visitor.open(&path).await;
                page.shows(sentence);
                page.shows("href=\"tel:0199001230\"");
            }
        }
    }
}

#[tokio::test]
async fn a_group_for_known_clients_says_so_before_the_form_and_whom_others_call() {
    let server = shop_with(|catalogue| catalogue.group.open = false).await;
    for (language, sentence) in [
        (
            "en",
            "Only clients whom the practice knows can book here, with their e-mail address. Call 01 99 00 12 30.",
        ),
        (
            "fr",
            "Seuls les clients que l’établissement connaît peuvent réserver ici, avec leur adresse e-mail. Appelez le 01 99 00 12 30.",
        ),
    ] {
        let page = Visitor::of(&server).speaking(language).open("/b/cut-co").await;
        page.shows(sentence);
        page.shows(&format!("/b/cut-co/time?s={CUT}"));
    }
    let open = shop_with(|_| {}).await;
    Visitor::of(&open).open("/b/cut-co").await.hides("whom the practice knows");
}

/// The shop whose calendars offer cuts alone, and whose second one offers nothing if so wanted.
pub(crate) async fn shop_of_cuts(has_empty_calendar: bool) -> TestServer {
    let mut four = shop::group_four(|catalogue| {
        catalogue.group.phone =
            slotbook::domain::records::text::Text::new("01 99 00 12 30").expect("a phone");
    });
    let cut = InterventionId::new(CUT).expect("an id");
    let rows: Vec<_> = four.rows.values().cloned().collect();
    for row in rows {
        let mut row = slotbook::domain::records::vevent::Vevent::clone(&row);
        if let VeventKind::Availability(availability) = &mut row.kind {
            availability.permits = Permits::only(vec![cut]);
        }
        if has_empty_calendar && row.calendar_id.number() == OTHER_CALENDAR {
            row.deleted = true;
        }
        four.put_vevent(Arc::new(row));
    }
    TestServer::serving(vec![four, shop::group_five()], |server| server).await
}

#[tokio::test]
async fn a_service_without_a_calendar_leads_to_the_first_step_with_the_reason() {
    let server = shop_of_cuts(false).await;
    for (language, sentence) in [
        ("en", "No calendar offers this service at the moment. Call 01 99 00 12 30."),
        (
            "fr",
            "Aucun agenda ne propose cette prestation pour le moment. Appelez le 01 99 00 12 30.",
        ),
    ] {
        let visitor = Visitor::of(&server).speaking(language);
        for path in [
            format!("/b/cut-co/time?s={COLOUR}"),
            format!("/b/cut-co/you?s={COLOUR}&t=2025-06-02T10:00"),
        ] {
            let page = visitor.open(&path).await;
            page.shows(sentence);
            page.shows("role=\"alert\"");
            page.shows(&format!("href=\"/b/cut-co/time?s={CUT}\""));
            page.hides(&format!("href=\"/b/cut-co/time?s={COLOUR}\""));
        }
    }
    // Bob offers cuts, and no colours.
    let other = format!("/b/cut-co/time?s={COLOUR}&c={OTHER_CALENDAR}");
    let page = Visitor::of(&server).open(&other).await;
    page.shows("This appointment is not offered with Bob at the moment. Call 01 99 00 12 30.");
    page.shows(&format!("href=\"/b/cut-co/time?s={CUT}"));
    let server = shop_of_cuts(true).await;
    let visitor = Visitor::of(&server);
    let page = visitor.open(&format!("/b/cut-co/time?s={CUT}&c={OTHER_CALENDAR}")).await;
    page.shows("This appointment is not offered with Bob at the moment.");
    page.shows("Call 01 99 00 12 30.");
    page.shows("href=\"/b/cut-co\"");
    visitor.open(&format!("/b/cut-co/time?s={CUT}&c={CALENDAR}")).await.shows("name=\"t\"");
}

/// A shop that could send codes and asks for none by itself, with the limits as they come.
pub(crate) async fn shop_with_limits() -> TestServer {
    limited_shop(BookingLimits::DEFAULT, |catalogue| {
        catalogue.group.verify_bookings = VerifyBookings::Off;
        catalogue.group.validate_email = false;
    })
    .await
}

/// A full or half hour of the mornings of June, by its number.
pub(crate) fn start(number: usize) -> String {
    let (day, half) = (2 + number / 6, number % 6);
    format!("2025-06-{day:02}T{:02}:{}0", 9 + half / 2, half % 2 * 3)
}

#[tokio::test]
async fn beyond_a_limit_the_form_leads_to_the_code_and_keeps_what_was_typed() {
    let server = shop_with_limits().await;
    let visitor = Visitor::of(&server);
    for number in 0..10 {
        let mut form = visitor.form_of(CUT, &start(number)).await;
        set(&mut form, "fiche.email", &format!("guest{number}@example.org"));
        visitor.post("/b/cut-co/you", &form).await.location();
    }
    for (language, asked) in [
        ("en", "Enter an e-mail address: a code is sent there to confirm this appointment."),
        ("fr", "Indiquez une adresse e-mail : un code y est envoyé pour confirmer ce rendez-vous."),
    ] {
        let visitor = Visitor::of(&server).speaking(language);
        let mut form = visitor.form_of(CUT, &start(10)).await;
        set(&mut form, "fiche.email", "");
        set(&mut form, "fiche.firstphone", "06 39 98 00 01");
        let page = visitor.post("/b/cut-co/you", &form).await;
        assert_eq!(page.status, 400);
        page.shows(&format!("id=\"fiche-email-fault\">{asked}"));
        page.shows("value=\"06 39 98 00 01\"");
    }
    let mut form = visitor.form_of(CUT, &start(10)).await;
    set(&mut form, "fiche.email", "guest10@example.org");
    set(&mut form, "fiche.firstphone", "06 39 98 00 01");
    let page = visitor.post("/b/cut-co/you", &form).await;
    assert_eq!(page.status, 200, "{}", page.html);
    page.shows("Enter your code");
    assert_eq!(page.values("fiche.firstphone"), ["06 39 98 00 01"]);
    assert_eq!(live_appointments(&server.engine), 10);
    let mut given = page.hidden();
    set(&mut given, "code", &code(&token_of(&page)));
    visitor.post("/b/cut-co/you", &given).await.location();
    assert_eq!(live_appointments(&server.engine), 11);
}

#[tokio::test]
async fn where_no_code_can_leave_the_form_says_from_when_on_and_whom_to_call() {
    let server = shop_with_limits().await;
    for (number, (language, from, call, still_good)) in [
        (
            "en",
            "Try again from Tuesday 3 June 2025 at 8:00\u{a0}am on.",
            "Call 01 99 00 12 30.",
            "The last code that you got is still good.",
        ),
        (
            "fr",
            "Réessayez à partir du mardi 3 juin 2025 à 08:00.",
            "Appelez le 01 99 00 12 30.",
            "Le dernier code reçu reste valable.",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let visitor = Visitor::of(&server).speaking(language);
        // Five bookings for the address, then five codes to it, of this network.
        let email = format!("often{number}@example.org");
        let mut tokens = 0;
        let mut last = None;
        for start in (0..10).map(|one| start(number * 12 + one)) {
            let mut form = visitor.form_of(CUT, &start).await;
            set(&mut form, "fiche.email", &email);
            let page = visitor.post("/b/cut-co/you", &form).await;
            if page.status == 200 {
                page.shows("id=\"code\"");
                tokens += 1;
                last = Some(page);
            }
        }
        assert_eq!(tokens, 5);
        let last = last.expect("codes were asked for");
        let mut form = visitor.form_of(CUT, &start(number * 12 + 10)).await;
        set(&mut form, "fiche.email", &email);
        set(&mut form, "comments", "Second floor");
        let limited = visitor.post("/b/cut-co/you", &form).await;
        assert_eq!(limited.status, 429);
        assert!(limited.headers.contains_key("retry-after"));
        for text in [from, call, "Second floor", &format!("value=\"{email}\"")] {
            limited.shows(text);
        }
        // Another code cannot leave either, and the last one is still good.
        let mut again = last.hidden();
        set(&mut again, "again", &last.values("again")[0]);
        let refused = visitor.post("/b/cut-co/you", &again).await;
        assert_eq!(refused.status, 429);
        for text in [from, call, still_good] {
            refused.shows(text);
        }
        let mut given = refused.hidden();
        set(&mut given, "code", &code(&token_of(&last)));
        visitor.post("/b/cut-co/you", &given).await.location();
    }
}

#[tokio::test]
async fn without_a_mail_server_a_limit_gives_the_form_back_with_the_hour() {
    let groups = vec![shop::group_four(|_| {}), shop::group_five()];
    let server =
        TestServer::serving(groups, |server| server.limit_bookings(BookingLimits::DEFAULT)).await;
    let visitor = Visitor::of(&server);
    for number in 0..11 {
        let mut form = visitor.form_of(CUT, &start(number)).await;
        set(&mut form, "fiche.email", &format!("guest{number}@example.org"));
        let page = visitor.post("/b/cut-co/you", &form).await;
        if number < 10 {
            page.location();
            continue;
        }
        assert_eq!(page.status, 429);
        page.shows("Try again from Monday 2 June 2025 at 9:00\u{a0}am on.");
        page.shows("value=\"guest10@example.org\"");
        page.hides("Call ");
    }
    assert_eq!(live_appointments(&server.engine), 10);
}
