//! The page behind the link in a mail: view and cancel, on both sides of the limit.

use slotbook::domain::records::text::Bounded;

use crate::server::TestServer;
use crate::shop::{CUT, clock};
use crate::visitor::{Page, Visitor, live_appointments, shop_with};

/// A shop that takes cancellations until an hour before, with one appointment at ten. Returns the
/// address of its page.
pub(crate) async fn booked() -> (TestServer, Visitor, String) {
    let server = shop_with(|catalogue| {
        for calendar in catalogue.calendars.values_mut() {
            let lead = Bounded::new(60).expect("a lead");
            std::sync::Arc::make_mut(calendar).mintime_annulation = lead;
        }
    })
    .await;
    let visitor = Visitor::of(&server);
    let form = visitor.form_of(CUT, "2025-06-02T10:00").await;
    let done = visitor.post("/b/cut-co/you", &form).await;
    let link = link_of(&visitor.open(done.location()).await);
    (server, visitor, link)
}

/// The address of the first appointment's page.
pub(crate) fn link_of(done: &Page) -> String {
    let link = done.html.split("href=\"").find(|rest| rest.starts_with("/m/c.")).expect("a link");
    let link = link.split('"').next().expect("a URL");
    link.trim_end_matches("/move").to_owned()
}

#[tokio::test]
async fn an_appointment_is_cancelled_up_to_the_limit_and_not_after_it() {
    let (server, visitor, link) = booked().await;
    server.at(clock(9, 0));
    let page = visitor.open(&link).await;
    page.shows("Monday 2 June 2025 at 10:00\u{a0}am");
    page.shows("Possible online until Monday 2 June 2025 at 9:00\u{a0}am.");
    assert_eq!(page.headers["referrer-policy"], "no-referrer");
    server.at(clock(9, 1));
    let late = visitor.open(&link).await;
    late.shows(
        "It could be moved or cancelled online until Monday 2 June 2025 at 9:00\u{a0}am only.",
    );
    late.shows("href=\"tel:0199001230\"");
    late.hides("method=\"post\"");
    assert_eq!(visitor.post(&link, &[]).await.status, 400);
    assert_eq!(live_appointments(&server.engine), 1);
    server.at(clock(9, 0));
    visitor.post(&link, &[]).await.shows("Your appointment is cancelled.");
    assert_eq!(live_appointments(&server.engine), 0);
    let old = visitor.open(&link).await;
    old.shows("Your appointment is cancelled.");
    old.hides("method=\"post\"");
    visitor.post(&link, &[]).await.shows("Your appointment is cancelled.");
}

#[tokio::test]
async fn an_outdated_link_shows_the_appointment_as_it_is_now() {
    let (server, visitor, link) = booked().await;
    let id = link.split('.').nth(2).expect("an id");
    let body = serde_json::json!({"vevent": {"start": "2025-06-03 11:00:00", "end": "2025-06-03 11:30:00"}});
    let path = format!("/groups/4/vevents/{id}");
    crate::server::answer(server.by_pro(reqwest::Method::PUT, &path).json(&body)).await.is(200);
    visitor.open(&link).await.shows("Tuesday 3 June 2025 at 11:00\u{a0}am");
    server.at(slotbook::domain::time::Instant(clock(12, 0).0 + 86_400));
    visitor.open(&link).await.shows("This appointment is in the past.");
}

#[tokio::test]
async fn a_wrong_secret_shows_nothing() {
    let (_server, visitor, link) = booked().await;
    let (stem, _) = link.rsplit_once('.').expect("dots");
    for token in [format!("{stem}.abcdefghijklmnopqrst"), format!("{stem}.")] {
        let page = visitor.get(&token).await;
        assert_eq!(page.status, 404);
        page.hides("Coupe");
        assert_eq!(visitor.post(&token, &[]).await.status, 404);
    }
    let id = stem.rsplit('.').next().expect("an id");
    let of_another = format!("?a={id}.abcdefghijklmnopqrst");
    for query in ["", &*of_another, "?a=1.abcdefghijklmnopqrst", "?a=x", "?a=."] {
        assert_eq!(visitor.get(&format!("/b/cut-co/done{query}")).await.status, 404);
        assert_eq!(visitor.get(&format!("/b/cut-co/appointment.ics{query}")).await.status, 404);
    }
}
