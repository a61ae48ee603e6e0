//! Moving an appointment by its link: on both sides of the limit, over its own time, and refused.

use reqwest::Method;
use slotbook::domain::records::text::Bounded;

use crate::manage::{booked, link_of};
use crate::server::answer;
use crate::shop::{CALENDAR, COLOUR, CUT, clock};
use crate::visitor::{Visitor, first_calendar, live_appointments, set, shop_with};

/// The form of a page, which moves to its time.
async fn send(visitor: &Visitor, link: &str, time: &str) -> crate::visitor::Page {
    visitor.post(&format!("{link}/move"), &[("t".to_owned(), time.to_owned())]).await
}

#[tokio::test]
async fn an_appointment_is_moved_by_links_and_forms_alone() {
    let (server, visitor, link) = booked().await;
    visitor.open(&link).await.shows(&format!("href=\"{link}/move\""));
    let times = visitor.open(&format!("{link}/move")).await;
    times.shows("Choose another time");
    times.shows("Week of 2 June 2025");
    times.shows("\">10:00\u{a0}am<span class=\"sr\"> (your present time)");
    let offered = times.offered();
    assert!(offered.contains(&"2025-06-02T10:15".to_owned()), "over its own time: {offered:?}");
    assert!(!offered.contains(&"2025-06-02T10:00".to_owned()), "{offered:?}");
    let question = visitor.open(&format!("{link}/move?t=2025-06-02T10:15")).await;
    question.shows("Move your appointment?");
    question.shows("Monday 2 June 2025 at 10:15\u{a0}am");
    let moved = visitor.post(&format!("{link}/move"), &question.hidden()).await;
    let page = visitor.open(moved.location()).await;
    page.shows("Appointment moved");
    page.shows("Monday 2 June 2025 at 10:15\u{a0}am");
    assert_eq!(live_appointments(&server.engine), 1);
    // The answer was lost, and the form is sent again.
    let again = send(&visitor, &link, "2025-06-02T10:15").await;
    assert_eq!(again.location(), moved.location());
    let mails = server.pro_get("/groups/4/messages").await.is(200);
    let kinds: Vec<&str> = mails["records"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|mail| mail["kind"].as_str())
        .collect();
    assert!(kinds.len() <= 2, "one mail for the booking and one for the move: {kinds:?}");
}

#[tokio::test]
async fn an_appointment_is_moved_up_to_the_limit_and_not_after_it() {
    let (server, visitor, link) = booked().await;
    server.at(clock(9, 1));
    let late = send(&visitor, &link, "2025-06-03T09:00").await;
    assert_eq!(late.status, 400);
    late.shows(
        "It could be moved or cancelled online until Monday 2 June 2025 at 9:00\u{a0}am only.",
    );
    late.shows("href=\"tel:0199001230\"");
    let choice = visitor.get(&format!("{link}/move")).await;
    assert_eq!(choice.status, 400);
    choice.hides("name=\"t\"");
    visitor.open(&link).await.hides("/move\"");
    let french = Visitor::of(&server).speaking("fr").get(&link).await;
    french.shows("Il ne pouvait être déplacé ou annulé en ligne que jusqu’au lundi 2 juin 2025");
    server.at(clock(9, 0));
    let moved = send(&visitor, &link, "2025-06-03T09:00").await;
    visitor.open(moved.location()).await.shows("Tuesday 3 June 2025 at 9:00\u{a0}am");
}

#[tokio::test]
async fn a_time_taken_meanwhile_leaves_the_appointment_and_offers_the_nearest() {
    let (server, visitor, link) = booked().await;
    let state = visitor.open(&link).await;
    let whom = if state.html.contains("<bdi>Ann</bdi>") { CALENDAR } else { 12 };
    let mut other = visitor.form_of(CUT, "2025-06-03T09:00").await;
    set(&mut other, "c", &whom.to_string());
    set(&mut other, "fiche.email", "other@example.org");
    visitor.post("/b/cut-co/you", &other).await.location();
    for (language, sentence) in [
        ("en", "Your appointment stays as it is."),
        ("fr", "Votre rendez-vous reste comme il est."),
    ] {
        let speaker = Visitor::of(&server).speaking(language);
        let asked = speaker.get(&format!("{link}/move?t=2025-06-03T09:00")).await;
        let taken = send(&speaker, &link, "2025-06-03T09:00").await;
        for page in [asked, taken] {
            assert_eq!(page.status, 400);
            page.shows(sentence);
            page.shows("role=\"alert\"");
            assert_eq!(page.values("other")[0], "2025-06-03T09:30");
        }
    }
    visitor.open(&link).await.shows("Monday 2 June 2025 at 10:00\u{a0}am");
    let pair = ("other".to_owned(), "2025-06-03T09:30".to_owned());
    let moved = visitor.post(&format!("{link}/move"), &[pair]).await;
    visitor.open(moved.location()).await.shows("Tuesday 3 June 2025 at 9:30\u{a0}am");
}

#[tokio::test]
async fn the_rules_of_a_booking_hold_for_a_move_and_are_named() {
    let server = shop_with(|catalogue| {
        catalogue.group.mintime_between = Bounded::new(90).expect("a gap");
        catalogue.group.maxrdv_number = Bounded::new(2).expect("a limit");
        first_calendar(catalogue).deleted = true;
        for calendar in catalogue.calendars.values_mut() {
            let calendar = std::sync::Arc::make_mut(calendar);
            calendar.mintime_annulation = Bounded::new(0).expect("a lead");
            calendar.mintime_rdv = Bounded::new(60).expect("a lead");
            calendar.maxrdv_period = Bounded::new(7_200).expect("a lead");
        }
    })
    .await;
    let visitor = Visitor::of(&server);
    let first = visitor.form_of(CUT, "2025-06-02T11:00").await;
    let done = visitor.post("/b/cut-co/you", &first).await;
    let link = link_of(&visitor.open(done.location()).await);
    let second = visitor.form_of(CUT, "2025-06-03T11:00").await;
    visitor.post("/b/cut-co/you", &second).await.location();
    for (time, english, french) in [
        ("2025-06-03T10:00", "at least 1 h 30 apart", "espacés d’au moins 1 h 30"),
        ("2025-06-03T11:00", "You already have an appointment", "Vous avez déjà un rendez-vous"),
        ("2025-06-02T08:30", "The earliest time is", "Le premier horaire possible"),
        ("2025-06-20T09:00", "Booking is open until", "La réservation est ouverte jusqu’au"),
    ] {
        for (language, sentence) in [("en", english), ("fr", french)] {
            let speaker = Visitor::of(&server).speaking(language);
            let refused = send(&speaker, &link, time).await;
            assert_eq!(refused.status, 400, "{time}");
            refused.shows(sentence);
        }
    }
    visitor.open(&link).await.shows("Monday 2 June 2025 at 11:00\u{a0}am");
}

#[tokio::test]
async fn one_leg_of_a_chain_moves_alone() {
    let server = shop_with(|catalogue| {
        catalogue.group.max_multirdvs = Bounded::new(2).expect("a number");
        for calendar in catalogue.calendars.values_mut() {
            let lead = Bounded::new(0).expect("a lead");
            std::sync::Arc::make_mut(calendar).mintime_annulation = lead;
        }
    })
    .await;
    let visitor = Visitor::of(&server);
    let page = visitor.open(&format!("/b/cut-co/you?s={CUT}&s={COLOUR}&t=2025-06-02T09:00")).await;
    let mut form = page.hidden();
    set(&mut form, "fiche.lastname", "Durand");
    let done = visitor.post("/b/cut-co/you", &form).await.location().to_owned();
    let page = visitor.open(&done).await;
    let second = page.html.split("href=\"").filter(|rest| rest.starts_with("/m/c.")).nth(2);
    let link = second.and_then(|rest| rest.split('"').next()).expect("a link");
    let link = link.trim_end_matches("/move");
    let moved = send(&visitor, link, "2025-06-02T11:00").await;
    visitor.open(moved.location()).await.shows("Monday 2 June 2025 at 11:00\u{a0}am");
    let page = visitor.open(&done).await;
    page.shows("Monday 2 June 2025 at 9:00\u{a0}am");
    page.shows("Monday 2 June 2025 at 11:00\u{a0}am");
}

#[tokio::test]
async fn the_pages_of_a_move_are_no_way_round_the_limits_on_the_public() {
    let (server, visitor, link) = booked().await;
    let (stem, _) = link.rsplit_once('.').expect("dots");
    let wrong = format!("{stem}.abcdefghijklmnopqrst");
    assert_eq!(visitor.get(&format!("{wrong}/move")).await.status, 404);
    assert_eq!(send(&visitor, &wrong, "2025-06-03T09:00").await.status, 404);
    for other in ["/m/nothing/move", "/m/u.4.41.00/move"] {
        assert_eq!(visitor.get(other).await.status, 404, "{other}");
    }
    let settings = serde_json::json!({"group": {"openData": false}});
    answer(server.by_pro(Method::PUT, "/groups/4").json(&settings)).await.is(200);
    let closed = visitor.open(&format!("{link}/move")).await;
    closed.hides("name=\"t\"");
    closed.shows("Call to move this appointment.");
    closed.shows("href=\"tel:0199001230\"");
    visitor.open(&link).await.hides("/move\"");
    send(&visitor, &link, "2025-06-03T09:00").await.shows("Call to move this appointment.");
    let open = serde_json::json!({"group": {"openData": true}});
    answer(server.by_pro(Method::PUT, "/groups/4").json(&open)).await.is(200);
    visitor.post(&link, &[]).await.shows("Your appointment is cancelled.");
    send(&visitor, &link, "2025-06-03T09:00").await.shows("Your appointment is cancelled.");
    assert_eq!(live_appointments(&server.engine), 0);
}
