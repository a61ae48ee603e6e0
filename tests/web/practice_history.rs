//! The history on the screens of the practice. Reference 15.13.

use reqwest::Method;
use serde_json::json;

use crate::browser::{Browser, Look, PHONE};
use crate::clients::add;
use crate::login::Professional;
use crate::practice_grid::{book, shop};
use crate::practice_looks::log_in;
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, KNOWN_FICHE, OTHER_CALENDAR};

const HISTORY: &str = "/p/cut-co/history";

/// An appointment that was made, moved and cancelled.
async fn moved_and_cancelled(server: &TestServer) -> u64 {
    let id = book(server, CALENDAR, "2025-06-03 10:00:00", "2025-06-03 10:30:00").await;
    let path = format!("/groups/4/vevents/{id}");
    let moved = json!({"vevent": {"start": "2025-06-03 11:00:00", "end": "2025-06-03 11:30:00",
        "calendar_id": OTHER_CALENDAR}});
    answer(server.by_pro(Method::PUT, &path).json(&moved)).await.is(200);
    answer(server.by_pro(Method::DELETE, &path)).await.is(200);
    id
}

#[tokio::test]
async fn who_changed_what_stands_beside_the_object_and_on_a_screen() {
    let server = shop().await;
    let id = moved_and_cancelled(&server).await;
    let ann = Professional::logged_in(&server, ANN).await;
    let event = ann.open(&format!("/p/cut-co/events/{id}")).await;
    event.shows("<details id=\"history\">");
    event.shows("deleted or cancelled");
    event.shows("Calendar: A → B");
    event.shows("<bdi>Calendar: A</bdi>");
    event.shows("Start: 3 June 2025, 10:00 → 3 June 2025, 11:00");
    event.shows("Pro A, key ");
    let french = ann.open(&format!("/p/cut-co/events/{id}?lang=fr")).await;
    french.shows("Début : 3 juin 2025, 10:00 → 3 juin 2025, 11:00");
    let all = ann.open(HISTORY).await;
    all.shows(&format!("href=\"{HISTORY}?object=vevent%3A{id}\""));
    all.shows("The history begins here");
    let one = ann.open(&format!("{HISTORY}?object=vevent:{id}")).await;
    one.hides("The history begins here");
    one.shows("Whole history");
    one.shows("Only: Appointment or event of 3 June 2025, 11:00");
}

#[tokio::test]
async fn a_value_is_not_taken_for_a_place_of_the_sentence() {
    let server = shop().await;
    for phone in ["{after}", "{before}"] {
        let change = json!({"group": {"phone": phone}});
        answer(server.by_pro(Method::PUT, "/groups/4").json(&change)).await.is(200);
    }
    let ann = Professional::logged_in(&server, ANN).await;
    ann.open(&format!("{HISTORY}?object=group")).await.shows("Telephone: {after} → {before}");
}

#[tokio::test]
async fn a_client_is_named_as_text_and_older_rows_follow() {
    let server = shop().await;
    let hostile = "<script>document.title='owned'</script>";
    for _ in 0..60 {
        add(&server, json!({"lastname": hostile})).await;
    }
    let ann = Professional::logged_in(&server, ANN).await;
    let page = ann.open(HISTORY).await;
    page.hides(hostile);
    page.shows("&#60;script&#62;");
    let older = page.html.split("rel=\"next\" href=\"").nth(1).expect("older rows");
    let older = older.split('"').next().expect("a URL").replace("&#38;", "&");
    ann.open(&older).await.shows("The history begins here");
    for wrong in ["?object=vevent:999999", "?object=nothing", "?from=soon"] {
        assert_eq!(ann.get(&format!("{HISTORY}{wrong}")).await.status, 404, "{wrong}");
    }
    assert_eq!(ann.get("/p/other-shop/history").await.status, 404);
}

#[tokio::test]
async fn the_history_is_accessible() {
    let server = shop().await;
    let id = moved_and_cancelled(&server).await;
    let shown = json!({"group": {"phone": "0123456789"}});
    answer(server.by_pro(Method::PUT, "/groups/4").json(&shown)).await.is(200);
    for language in ["en", "fr"] {
        let look = Look { language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        log_in(&browser).await;
        for (name, path) in [
            ("history", HISTORY.to_owned()),
            ("history-one", format!("{HISTORY}?object=vevent:{id}")),
            ("history-none", format!("{HISTORY}?author=visitor")),
            ("history-event", format!("/p/cut-co/events/{id}")),
            ("history-client", format!("/p/cut-co/clients/{KNOWN_FICHE}")),
        ] {
            browser.goto(&path).await;
            browser.run("document.getElementById('history')?.setAttribute('open', '')").await;
            browser.assert_screen(look, name).await;
        }
    }
}
