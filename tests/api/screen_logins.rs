//! The login of the practice's own screens in place of a key.

use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder};
use serde_json::json;

use crate::server::{Answer, TestServer, answer};
use crate::shop::{ANN, EVE, KEY, KEY_OF_ALL};

/// A client that keeps the answer of a login as it is.
fn client() -> reqwest::Client {
    reqwest::Client::builder().redirect(Policy::none()).build().expect("a client")
}

/// Logs a professional in at the screens, and returns the cookie.
pub(crate) async fn log_in(server: &TestServer, (email, password): (&str, &str)) -> String {
    let pairs = [("email", email), ("password", password)];
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let request = client().post(format!("http://{}/login", server.address()));
    let request = request.header("content-type", "application/x-www-form-urlencoded").body(body);
    let made = answer(request).await;
    assert_eq!(made.status, 303, "{}", made.text);
    let cookie = made.headers["set-cookie"].to_str().expect("a text");
    cookie.split(';').next().expect("a pair").to_owned()
}

/// A request as a script of the screens sends it.
fn by_script(server: &TestServer, method: Method, path: &str, cookie: &str) -> RequestBuilder {
    let request = server.bare(method, &format!("/api/v1{path}"));
    request.header("cookie", cookie).header("sec-fetch-site", "same-origin")
}

fn ids(answer: &Answer) -> Vec<u64> {
    let rows = answer.is(200)["sessions"].as_array().expect("a list").clone();
    rows.iter().map(|row| row["id"].as_u64().expect("a number")).collect()
}

#[tokio::test]
async fn a_login_has_the_rights_of_its_professional_in_the_own_groups_alone() {
    let server = TestServer::start().await;
    let cookie = log_in(&server, ANN).await;
    let by_ann = |method, path: &str| by_script(&server, method, path, &cookie);
    let listed = answer(by_ann(Method::GET, "/groups/4/fiches")).await;
    listed.is(200);
    assert!(!listed.headers.contains_key("access-control-allow-origin"));
    let fiche = json!({"fiche": {"lastname": "Durand"}});
    answer(by_ann(Method::POST, "/groups/4/fiches").json(&fiche)).await.is(201);
    for (method, path) in [
        (Method::GET, "/groups/5"),
        (Method::GET, "/groups/5/fiches"),
        (Method::POST, "/groups/5/fiches"),
    ] {
        answer(by_ann(method, path).json(&fiche)).await.refused(404, 3, None);
    }
    let groups = answer(by_ann(Method::GET, "/groups")).await.is(200);
    let groups = groups["records"].as_array().expect("a list").clone();
    assert_eq!((groups.len(), &groups[0]["id"]), (1, &json!(4)));
    // The older paths mean the main group.
    answer(by_ann(Method::GET, "/calendars")).await.is(200);
    answer(by_ann(Method::POST, "/groups").json(&json!({"group": {"name": "Another"}})))
        .await
        .refused(403, 1, None);
    let password = json!({"pro": {"password": "three plain words"}});
    answer(by_ann(Method::PUT, "/groups/4/pros/1").json(&password)).await.refused(403, 1, None);
}

#[tokio::test]
async fn a_key_in_the_request_counts_and_the_login_then_does_not() {
    let server = TestServer::start().await;
    let cookie = log_in(&server, ANN).await;
    let with = |path: &str| by_script(&server, Method::GET, path, &cookie);
    answer(with(&format!("/groups/4/fiches?apikey={KEY}"))).await.refused(403, 1, None);
    answer(with("/groups/4/fiches").header("x-api-key", KEY)).await.refused(403, 1, None);
    answer(with("/groups/4/fiches").bearer_auth(KEY)).await.refused(403, 1, None);
    answer(with("/groups/4/fiches").header("x-api-key", "unknown")).await.refused(403, 1, None);
    // HTTP Basic needs a key, as without a login.
    answer(with("/groups/5/fiches").basic_auth(EVE.0, Some(EVE.1))).await.refused(403, 1, None);
    let by_eve = with("/groups/5/fiches").header("x-api-key", KEY_OF_ALL);
    answer(by_eve.basic_auth(EVE.0, Some(EVE.1))).await.is(200);
}

#[tokio::test]
async fn an_idempotency_key_of_a_login_is_of_its_professional() {
    let server = TestServer::start().await;
    let cookie = log_in(&server, ANN).await;
    let create = |lastname: &str| {
        by_script(&server, Method::POST, "/groups/4/fiches", &cookie)
            .header("idempotency-key", "the-same-key-twice")
            .json(&json!({"fiche": {"lastname": lastname}}))
    };
    let first = answer(create("Durand")).await.is(201);
    assert_eq!(answer(create("Durand")).await.is(201), first);
    answer(create("Petit")).await.refused(409, 2, Some("Idempotency-Key"));
    let by_basic = server
        .by_pro(Method::POST, "/groups/4/fiches")
        .header("idempotency-key", "the-same-key-twice")
        .json(&json!({"fiche": {"lastname": "Petit"}}));
    answer(by_basic).await.is(201);
}

#[tokio::test]
async fn logins_stand_in_the_list_of_sessions_and_end_there() {
    let server = TestServer::start().await;
    let cookie = log_in(&server, ANN).await;
    let other = log_in(&server, ANN).await;
    let eves = log_in(&server, EVE).await;
    let login = json!({"pro": {"email": ANN.0, "password": slotbook::password::sha1_hex(ANN.1)}});
    let session = answer(
        server.bare(Method::POST, &format!("/api/v1/sessions/login?apikey={KEY}")).json(&login),
    )
    .await;
    session.is(200);
    let list = answer(by_script(&server, Method::GET, "/sessions", &cookie)).await;
    let rows = list.is(200)["sessions"].as_array().expect("a list").clone();
    assert_eq!(rows.len(), 3);
    let current: Vec<bool> =
        rows.iter().map(|row| row["is_current"].as_bool().expect("a flag")).collect();
    assert_eq!(current.iter().filter(|is_current| **is_current).count(), 1);
    let current = rows.iter().find(|row| row["is_current"] == true).expect("one");
    assert_eq!(current["created_at_utc"], "2025-06-02T06:00:00Z");
    assert_eq!(current["expires_at_utc"], "2025-06-02T18:00:00Z");
    assert_eq!(
        (&current["source"], &current["stay_signed_in"]),
        (&json!("127.0.0.1"), &json!(false))
    );
    let own = current["id"].as_u64().expect("a number");
    let end = |path: String| by_script(&server, Method::DELETE, &path, &cookie);
    answer(end(format!("/sessions/{own}"))).await.refused(404, 3, None);
    let of_eve = ids(&answer(by_script(&server, Method::GET, "/sessions", &eves)).await)[0];
    answer(end(format!("/sessions/{of_eve}"))).await.refused(404, 3, None);
    let of_other = answer(by_script(&server, Method::GET, "/sessions", &other)).await.is(200);
    let of_other = of_other["sessions"].as_array().expect("a list").clone();
    let of_other = of_other.iter().find(|row| row["is_current"] == true).expect("one");
    let of_other = of_other["id"].as_u64().expect("a number");
    assert_eq!(answer(end(format!("/sessions/{of_other}"))).await.is(200), json!({"ended": 1}));
    answer(by_script(&server, Method::GET, "/sessions", &other)).await.refused(403, 1, None);
    assert_eq!(answer(end("/sessions".to_owned())).await.is(200), json!({"ended": 1}));
    assert_eq!(ids(&answer(by_script(&server, Method::GET, "/sessions", &cookie)).await), [own]);
    // With the password all end.
    let by_basic = server.bare(Method::DELETE, "/api/v1/sessions").header("x-api-key", KEY);
    let by_basic = by_basic.basic_auth(ANN.0, Some(ANN.1));
    assert_eq!(answer(by_basic).await.is(200), json!({"ended": 1}));
    answer(by_script(&server, Method::GET, "/sessions", &cookie)).await.refused(403, 1, None);
    answer(by_script(&server, Method::GET, "/sessions", &eves)).await.is(200);
}

#[tokio::test]
async fn a_logout_of_the_api_ends_the_login_that_stands_for_the_key() {
    let server = TestServer::start().await;
    let cookie = log_in(&server, ANN).await;
    let out = answer(by_script(&server, Method::POST, "/sessions/logout", &cookie)).await;
    out.is(200);
    let cookies = out.headers.get_all("set-cookie").iter();
    assert!(cookies.into_iter().any(|set| {
        set.to_str().expect("a text") == "_practice=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax"
    }));
    answer(by_script(&server, Method::GET, "/groups/4", &cookie)).await.refused(403, 1, None);
}
