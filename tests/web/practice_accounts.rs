//! The accounts of clients on a screen of the practice. Reference 15.16.

use reqwest::Method;
use serde_json::json;
use slotbook::password::sha1_hex;

use crate::browser::{Browser, Look, PHONE};
use crate::clients::{add, as_str, form_to, state};
use crate::login::Professional;
use crate::practice_looks::log_in;
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CLEO, KNOWN_FICHE, OWN_FICHE, RITA};

const ACCOUNTS: &str = "/p/cut-co/settings/accounts";

/// Logs the client in. Returns the cookie.
async fn session_of_cleo(server: &TestServer) -> String {
    let login = json!({"account": {"email": CLEO.0, "password": sha1_hex(CLEO.1)}});
    let logged_in = answer(server.by_key(Method::POST, "/sessions/login").json(&login)).await;
    let cookie = logged_in.headers["set-cookie"].to_str().expect("text");
    cookie.split(';').next().expect("a cookie").to_owned()
}

async fn reads_with(server: &TestServer, cookie: &str) -> u16 {
    let path = "/api/v1/groups/4/fiches";
    answer(server.bare(Method::GET, path).header("Cookie", cookie)).await.status.as_u16()
}

#[tokio::test]
async fn an_account_is_logged_out_and_closed_after_a_question() {
    let server = TestServer::with_account(|_| {}).await;
    let cookie = session_of_cleo(&server).await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let question = format!("{ACCOUNTS}/{OWN_FICHE}");
    ann.open("/p/cut-co/settings").await.shows(&format!("href=\"{ACCOUNTS}\""));
    ann.open(&format!("/p/cut-co/clients/{OWN_FICHE}")).await.shows(&format!("\"{question}\""));
    ann.open(&format!("/p/cut-co/clients/{KNOWN_FICHE}")).await.hides("settings/accounts");
    let list = ann.open(ACCOUNTS).await;
    list.shows(CLEO.0);
    list.shows("Accounts: 1");
    list.shows(&format!("href=\"{question}\""));

    let ended = ann.post(ACCOUNTS, &[("log_out", &OWN_FICHE.to_string())]).await;
    assert_eq!(ended.location(), format!("{ACCOUNTS}?ended=1"));
    ann.open(&format!("{ACCOUNTS}?ended=1")).await.shows("Sessions that were ended: 1");
    assert_eq!(reads_with(&server, &cookie).await, 403);
    server.account_get("/groups/4/fiches").await.is(200);

    let asked = ann.open(&question).await;
    asked.shows("Close the account of Client?");
    asked.shows(CLEO.0);
    let form = form_to(&asked, &format!("/accounts/{OWN_FICHE}"));
    let closed = ann.post(&question, &as_str(&form)).await;
    assert_eq!(closed.location(), format!("{ACCOUNTS}?closed=1"));
    let list = ann.open(&format!("{ACCOUNTS}?closed=1")).await;
    list.shows("The account is closed.");
    list.shows("No account yet.");
    list.hides(CLEO.0);
    server.account_get("/groups/4/fiches").await.refused(401, 5, None);
    let again = ann.post(&question, &as_str(&form)).await;
    assert_eq!(again.location(), format!("{ACCOUNTS}?closed=0"));
    assert_eq!(ann.get(&question).await.location(), format!("{ACCOUNTS}?closed=0"));
    ann.open(&format!("{ACCOUNTS}?closed=0")).await.shows("This client has no account.");
    ann.open("/p/cut-co/history").await.shows("Account of a client");
    ann.open("/p/cut-co/history/access").await.shows("logged out everywhere");
    for path in [format!("{ACCOUNTS}/9999"), format!("{ACCOUNTS}/x")] {
        assert_eq!(ann.get(&path).await.status, 404, "{path}");
        assert_eq!(ann.post(&path, &[]).await.status, 404, "{path}");
    }
    for wrong in ["9999", "x"] {
        assert_eq!(ann.post(ACCOUNTS, &[("log_out", wrong)]).await.status, 404);
    }
}

#[tokio::test]
async fn a_form_of_one_who_is_no_administrator_any_more_does_nothing() {
    let server = TestServer::with_team(|_| {}).await;
    let raise = async |role: &str| {
        let role = json!({"pro": {"role": role}});
        answer(server.by_pro(Method::PUT, "/groups/4/pros/3").json(&role)).await.is(200);
    };
    raise("administrator").await;
    let mut rita = Professional::logged_in(&server, RITA).await;
    let question = format!("{ACCOUNTS}/{OWN_FICHE}");
    let form = form_to(&rita.open(&question).await, &format!("/accounts/{OWN_FICHE}"));
    raise("reception").await;
    assert_eq!(rita.post(&question, &as_str(&form)).await.status, 403);
    assert_eq!(rita.post(ACCOUNTS, &[("log_out", &OWN_FICHE.to_string())]).await.status, 403);
    assert_eq!(rita.get(ACCOUNTS).await.status, 403);
    rita.open(&format!("/p/cut-co/clients/{OWN_FICHE}")).await.hides("settings/accounts");
    assert_eq!(state(&server).accounts.len(), 1);
}

#[tokio::test]
async fn the_accounts_are_accessible() {
    let server = TestServer::with_account(|_| {}).await;
    add(&server, json!({"lastname": "Durand", "email": "durand@example.org"})).await;
    for language in ["en", "fr"] {
        let look = Look { language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        log_in(&browser).await;
        for (name, path) in [
            ("accounts", ACCOUNTS.to_owned()),
            ("account-ended", format!("{ACCOUNTS}?ended=2")),
            ("account-close", format!("{ACCOUNTS}/{OWN_FICHE}")),
            ("client-account", format!("/p/cut-co/clients/{OWN_FICHE}")),
        ] {
            browser.goto(&path).await;
            browser.assert_screen(look, name).await;
        }
    }
}
