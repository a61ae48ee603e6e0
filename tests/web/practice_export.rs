//! The export of a client on its screen. Reference 15.5, 17.4.

use serde_json::{Value, json};

use crate::login::Professional;
use crate::server::TestServer;
use crate::shop::{ANN, KNOWN_FICHE, PIA, RITA};

#[tokio::test]
async fn an_administrator_downloads_everything_about_a_client() {
    let server = TestServer::with_team(|_| {}).await;
    let screen = format!("/p/cut-co/clients/{KNOWN_FICHE}");
    let path = format!("{screen}/export");
    let ann = Professional::logged_in(&server, ANN).await;
    let file = ann.open(&path).await;
    let header = |name: &str| file.headers[name].to_str().expect("a text").to_owned();
    assert_eq!(header("content-type"), "application/json");
    let name = format!("attachment; filename=\"client-{KNOWN_FICHE}.json\"");
    assert_eq!(header("content-disposition"), name);
    assert_eq!(header("cache-control"), "no-store");
    let saved: Value = serde_json::from_str(&file.html).expect("JSON");
    assert_eq!(saved["fiche"]["email"], "known@example.org");
    let api = format!("/groups/4/fiches/{KNOWN_FICHE}/export");
    assert_eq!(saved, server.pro_get(&api).await.is(200), "the answer of the API");

    // Both stand in the history of access. The screen has no key.
    let rows = server.pro_get("/groups/4/history/access?results=2").await.is(200);
    let object = json!(format!("fiche:{KNOWN_FICHE}"));
    for row in rows["rows"].as_array().expect("a list") {
        let seen = [&row["verb"], &row["object"], &row["author"]];
        assert_eq!(seen, [&json!("exported"), &object, &json!("professional:1")], "{row}");
    }
    assert!(rows["rows"][0]["key"].is_string() && rows["rows"][1]["key"].is_null(), "{rows}");

    for (lang, label) in [
        ("en", "Download everything about this client (JSON)"),
        ("fr", "Télécharger toutes les données de ce client (JSON)"),
    ] {
        let page = ann.open(&format!("{screen}?lang={lang}")).await;
        page.shows(&format!("<a class=\"plain\" href=\"{path}?lang={lang}\">{label}</a>"));
    }
    assert_eq!(ann.get("/p/cut-co/clients/9999/export").await.status, 404);
    assert_eq!(ann.get("/p/cut-co/clients/x/export").await.status, 404);
    let other = format!("/p/other-shop/clients/{KNOWN_FICHE}/export");
    assert_eq!(ann.get(&other).await.status, 404);
    let login = Professional::stranger(&server).get(&path).await;
    assert!(login.location().starts_with("/login?next="), "{}", login.location());
}

#[tokio::test]
async fn other_roles_have_no_link_to_the_export_and_are_refused() {
    let server = TestServer::with_team(|_| {}).await;
    let screen = format!("/p/cut-co/clients/{KNOWN_FICHE}");
    for person in [RITA, PIA] {
        let browser = Professional::logged_in(&server, person).await;
        browser.open(&screen).await.hides("/export");
        let refused = browser.get(&format!("{screen}/export")).await;
        assert_eq!(refused.status, 403, "{}", person.0);
        refused.shows("This screen is for the administrators of the practice.");
        refused.hides("known@example.org");
    }
    let rows = server.pro_get("/groups/4/history/access").await.is(200);
    let rows = rows["rows"].as_array().expect("a list");
    assert!(rows.iter().all(|row| row["verb"] != "exported"), "{rows:?}");
}
