//! The erasing of a client on the screens of the practice. Reference 15.5, 17.1.

use serde_json::json;

use crate::browser::{Browser, Look, PHONE};
use crate::clients::{add, as_str, form_to, state};
use crate::login::Professional;
use crate::practice_grid::shop;
use crate::practice_looks::log_in;
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, CUT};

/// An appointment of a client on 3 June 2025, which is to come.
async fn appoint(server: &TestServer, fiche: u64) {
    let body = json!({"vevent": {"calendar_id": CALENDAR, "intervention_id": CUT,
        "fiche_id": fiche, "start": "2025-06-03 10:00:00", "end": "2025-06-03 10:30:00"}});
    answer(server.by_pro(reqwest::Method::POST, "/groups/4/vevents").json(&body)).await.is(201);
}

#[tokio::test]
async fn a_client_is_erased_after_a_question_that_names_what_is_cancelled() {
    let server = shop().await;
    let id = add(&server, json!({"lastname": "Canary", "email": "canary@example.org"})).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let path = format!("/p/cut-co/clients/{id}/erase");
    ann.open(&format!("/p/cut-co/clients/{id}")).await.shows(&format!("href=\"{path}\""));
    let question = ann.open(&path).await;
    question.shows("Erase Canary");
    question.hides("These upcoming appointments");
    let old_form = form_to(&question, "/erase");
    appoint(&server, id).await;
    let overtaken = ann.post(&path, &as_str(&old_form)).await;
    assert_eq!(overtaken.status, 412, "{}", overtaken.html);
    overtaken.shows("Nothing was erased");
    overtaken.shows("3 June 2025");
    assert!(state(&server).fiches.values().any(|fiche| fiche.lastname.as_str() == "Canary"));
    let done = ann.post(&path, &as_str(&form_to(&overtaken, "/erase"))).await;
    assert_eq!(done.status, 303, "{}", done.html);
    let left = ann.open(&format!("/p/cut-co/clients/{id}")).await;
    left.shows("This client was erased.");
    left.hides("Canary");
    left.hides("id=\"edit\"");
    ann.open("/p/cut-co/clients?search=canary&deleted=1").await.hides(&format!("clients/{id}\""));
    assert_eq!(ann.post(&path, &[]).await.status, 303, "once more changes nothing");
    assert_eq!(ann.get("/p/cut-co/clients/9999/erase").await.status, 404);
    assert_eq!(ann.get(&format!("/p/other-shop/clients/{id}/erase")).await.status, 404);
}

#[tokio::test]
async fn the_question_and_what_is_left_are_accessible() {
    let server = shop().await;
    let id = add(&server, json!({"lastname": "Durand"})).await;
    appoint(&server, id).await;
    let gone = add(&server, json!({"lastname": "Gone"})).await;
    let erase = format!("/groups/4/fiches/{gone}/erase");
    answer(server.by_pro(reqwest::Method::POST, &erase)).await.is(200);
    for language in ["en", "fr"] {
        let look = Look { language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        log_in(&browser).await;
        for (name, path) in [
            ("erase", format!("/p/cut-co/clients/{id}/erase")),
            ("erased", format!("/p/cut-co/clients/{gone}")),
        ] {
            browser.goto(&path).await;
            browser.assert_screen(look, name).await;
        }
    }
}
