//! The retention among the settings of the practice. Reference 15, 17.5.

use crate::browser::{Browser, Look, PHONE};
use crate::clients::{add, as_str, form_to, state};
use crate::login::Professional;
use crate::practice_grid::shop;
use crate::practice_looks::log_in;
use crate::shop::{ANN, clock};

const PRIVACY: &str = "/p/cut-co/settings/privacy";

#[tokio::test]
async fn what_would_go_is_counted_before_it_is_saved() {
    let server = shop().await;
    add(&server, serde_json::json!({"lastname": "Idle"})).await;
    server.engine.retain().await;
    server.at(clock(8, 0).plus_seconds(100 * 86_400));
    let mut ann = Professional::logged_in(&server, ANN).await;
    let page = ann.open(PRIVACY).await;
    page.shows("Clients that are erased: 0");
    let months = "?retention_clients_months=3&retention_appointments_months=0&preview=1";
    let counted = ann.open(&format!("{PRIVACY}{months}")).await;
    counted.hides("Clients that are erased: 0");
    counted.shows("Clients that are erased: ");
    let saved = || state(&server).catalogue.group.retention_clients_months.number();
    assert_eq!(saved(), 0, "nothing is saved");
    let mut form = form_to(&page, "/settings/privacy");
    for (name, value) in &mut form {
        *value = value.replace("&#34;", "\"");
        if name == "retention_clients_months" {
            "3".clone_into(value);
        }
    }
    assert_eq!(ann.post(PRIVACY, &as_str(&form)).await.status, 303);
    assert_eq!(saved(), 3);
    for (_, value) in form.iter_mut().filter(|(name, _)| name == "retention_clients_months") {
        "601".clone_into(value);
    }
    let wrong = ann.post(PRIVACY, &as_str(&form)).await;
    assert!(wrong.status == 400 || wrong.status == 412, "{}", wrong.html);
}

#[tokio::test]
async fn the_part_of_the_settings_is_accessible() {
    let server = shop().await;
    for language in ["en", "fr"] {
        let look = Look { language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        log_in(&browser).await;
        browser.goto(PRIVACY).await;
        browser.assert_screen(look, "retention").await;
    }
}
