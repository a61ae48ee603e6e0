//! Administrators list the accounts of clients, close them, and log them out everywhere. Reference 3.12.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::records::message::MessageContent;
use slotbook::domain::state::group_state::GroupState;
use slotbook::password::sha1_hex;

use crate::server::{Answer, TestServer, answer};
use crate::shop::{
    self, ANN, CALENDAR, CLEO, CUT, EVE, KEY_OF_ALL, KNOWN_FICHE, OWN_FICHE, PAUL, PIA, RITA, clock,
};

const ACCOUNTS: &str = "/groups/4/accounts";
const FICHES: &str = "/groups/4/fiches";

fn closing(client: u64) -> String {
    format!("{ACCOUNTS}/{client}")
}

fn sessions_of(client: u64) -> String {
    format!("{ACCOUNTS}/{client}/sessions")
}

fn state(server: &TestServer) -> Arc<GroupState> {
    let group = GroupId::new(4).expect("an id");
    server.engine.published().group_state(group).expect("group 4")
}

async fn delete(server: &TestServer, path: &str) -> Answer {
    answer(server.by_pro(Method::DELETE, path)).await
}

/// Logs Cleo in. Returns the cookie.
async fn log_in(server: &TestServer) -> String {
    let login = json!({"account": {"email": CLEO.0, "password": sha1_hex(CLEO.1)}});
    let logged_in = answer(server.by_key(Method::POST, "/sessions/login").json(&login)).await;
    logged_in.is(200);
    let cookie = logged_in.headers["set-cookie"].to_str().expect("text");
    cookie.split(';').next().expect("a cookie").to_owned()
}

async fn with_cookie(server: &TestServer, cookie: &str) -> u16 {
    let path = format!("/api/v1{FICHES}");
    answer(server.bare(Method::GET, &path).header("Cookie", cookie)).await.status.as_u16()
}

/// Asks for a link that sets the password of an address. Returns its token.
async fn asked_link(server: &TestServer, email: &str) -> String {
    let asked = json!({"account": {"email": email, "group_id": 4}});
    answer(server.by_key(Method::POST, "/accounts").json(&asked)).await.is(201);
    newest_token(server)
}

/// The token of the newest link that was mailed.
fn newest_token(server: &TestServer) -> String {
    let state = state(server);
    let mut newest = None;
    for message in state.outbox.messages() {
        if let MessageContent::AccountLink { token, .. } = &message.content {
            newest = Some(token.as_str().to_owned());
        }
    }
    newest.expect("a link was mailed")
}

async fn follow(server: &TestServer, token: &str) -> Answer {
    let body = json!({"token": token, "password": "a chosen word"});
    answer(server.by_key(Method::POST, "/accounts/confirm").json(&body)).await
}

#[tokio::test]
async fn administrators_alone_list_close_and_log_out() {
    let server = TestServer::with_team(|_| {}).await;
    let before = state(&server);
    let own = (closing(OWN_FICHE), sessions_of(OWN_FICHE));
    let endpoints = [(Method::GET, ACCOUNTS), (Method::DELETE, &own.0), (Method::DELETE, &own.1)];
    let cookie = log_in(&server).await;
    for (method, path) in &endpoints {
        for person in [RITA, PAUL, PIA] {
            let refused = answer(server.by(person, method.clone(), path)).await;
            refused.refused(403, 1, None);
            assert!(refused.text.contains("the right \\\"keys\\\" is needed"), "{}", refused.text);
        }
        answer(server.by_account(method.clone(), path)).await.refused(403, 1, None);
        answer(server.by_key(method.clone(), path)).await.refused(403, 1, None);
        let session = server.bare(method.clone(), &format!("/api/v1{path}"));
        answer(session.header("Cookie", &cookie)).await.refused(403, 1, None);
    }
    assert_eq!(with_cookie(&server, &cookie).await, 200, "nothing has ended");
    assert_eq!(state(&server).accounts.len(), before.accounts.len());
    for (method, path) in endpoints {
        answer(server.by(ANN, method, path)).await.is(200);
    }
}

#[tokio::test]
async fn an_administrator_who_is_lowered_closes_nothing_more() {
    let server = TestServer::with_team(|_| {}).await;
    let raised = json!({"pro": {"role": "administrator"}});
    answer(server.by_pro(Method::PUT, "/groups/4/pros/3").json(&raised)).await.is(200);
    answer(server.by(RITA, Method::GET, ACCOUNTS)).await.is(200);
    let lowered = json!({"pro": {"role": "reception"}});
    answer(server.by_pro(Method::PUT, "/groups/4/pros/3").json(&lowered)).await.is(200);
    for path in [closing(OWN_FICHE), sessions_of(OWN_FICHE)] {
        answer(server.by(RITA, Method::DELETE, &path)).await.refused(403, 1, None);
    }
    assert_eq!(state(&server).accounts.len(), 1);
}

#[tokio::test]
async fn unknown_and_foreign_clients_are_404_and_one_without_account_is_200() {
    let mut four = shop::group_four(|_| {});
    shop::open_account(&mut four, OWN_FICHE, CLEO.0);
    let mut five = shop::group_five();
    shop::open_account(&mut five, 77, CLEO.0);
    let server = TestServer::serving(vec![four, five], |server| server).await;
    for client in [77, 9_999] {
        for path in [closing(client), sessions_of(client)] {
            delete(&server, &path).await.refused(404, 3, None);
        }
    }
    for path in ["/groups/4/accounts/0", "/groups/4/accounts/x", "/groups/4/accounts/0/sessions"] {
        assert_eq!(delete(&server, path).await.status, 404, "{path}");
    }
    // Another group is absent for her, and its account stays.
    let foreign = format!("/api/v1/groups/5/accounts/77?apikey={KEY_OF_ALL}");
    for path in [&foreign, &foreign.replace("?", "/sessions?")] {
        let by_ann = server.bare(Method::DELETE, path).basic_auth(ANN.0, Some(ANN.1));
        answer(by_ann).await.refused(404, 3, None);
    }
    let list = format!("/api/v1/groups/5/accounts?apikey={KEY_OF_ALL}");
    let by_eve = server.bare(Method::GET, &list).basic_auth(EVE.0, Some(EVE.1));
    assert_eq!(answer(by_eve).await.is(200)["records"][0]["fiche_id"], 77);
    let sequence = state(&server).sequence;
    assert_eq!(delete(&server, &closing(KNOWN_FICHE)).await.is(200), json!({"closed": 0}));
    assert_eq!(delete(&server, &sessions_of(KNOWN_FICHE)).await.is(200), json!({"ended": 0}));
    assert_eq!(state(&server).sequence, sequence, "nothing is written");
    assert_eq!(state(&server).accounts.len(), 1);
}

#[tokio::test]
async fn a_closed_account_has_no_logins_and_links_and_its_appointments_stay() {
    let server = TestServer::with_account(|_| {}).await;
    let booking = json!({"appointment": {"date": "2025-06-02 09:00:00", "calendar_id": CALENDAR,
        "intervention_ids": [CUT]}});
    let booked = answer(server.by_account(Method::POST, "/groups/4/appointments").json(&booking));
    let id = booked.await.is(201)["records"][0]["id"].clone();
    let cookie = log_in(&server).await;
    let password_link = asked_link(&server, CLEO.0).await;
    let moved = json!({"fiche": {"email": "new@example.org"}});
    let own = format!("{FICHES}/{OWN_FICHE}");
    answer(server.by_account(Method::PUT, &own).json(&moved)).await.is(200);
    let address_link = newest_token(&server);
    assert_ne!(password_link, address_link);

    assert_eq!(delete(&server, &closing(OWN_FICHE)).await.is(200), json!({"closed": 1}));
    assert_eq!(with_cookie(&server, &cookie).await, 403, "the session and its key");
    server.account_get(FICHES).await.refused(401, 5, None);
    let login = json!({"account": {"email": CLEO.0, "password": sha1_hex(CLEO.1)}});
    let refused = answer(server.by_key(Method::POST, "/sessions/login").json(&login)).await;
    assert_eq!(refused.status, 401);
    for link in [&password_link, &address_link] {
        follow(&server, link).await.refused(400, 2, Some("token"));
    }
    assert_eq!(server.pro_get(ACCOUNTS).await.is(200)["totalRecords"], 0);
    let fiche = server.pro_get(&own).await.is(200);
    assert_eq!((&fiche["email"], &fiche["deleted"]), (&json!(CLEO.0), &json!(false)));
    let kept = server.pro_get(&format!("/groups/4/appointments/{id}")).await.is(200);
    assert_eq!(kept["fiche_id"], OWN_FICHE);

    let sequence = state(&server).sequence;
    assert_eq!(delete(&server, &closing(OWN_FICHE)).await.is(200), json!({"closed": 0}));
    assert_eq!(state(&server).sequence, sequence, "once more changes nothing");
    let object = format!("/groups/4/history?object=account:{OWN_FICHE}");
    let rows = server.pro_get(&object).await.is(200)["rows"].clone();
    assert_eq!(rows.as_array().map(Vec::len), Some(1), "{rows}");
    assert_eq!(
        (&rows[0]["verb"], &rows[0]["author"]),
        (&json!("removed"), &json!("professional:1"))
    );

    // A new link makes a new account of the same client.
    let link = asked_link(&server, CLEO.0).await;
    assert_eq!(follow(&server, &link).await.is(200)["account"]["fiche_id"], OWN_FICHE);
    assert_eq!(with_cookie(&server, &cookie).await, 403, "an old cookie stays dead");
    follow(&server, &address_link).await.refused(400, 2, Some("token"));
}

#[tokio::test]
async fn logging_out_everywhere_ends_the_sessions_and_keeps_the_account() {
    let server = TestServer::with_account(|_| {}).await;
    let cookies = [log_in(&server).await, log_in(&server).await];
    for cookie in &cookies {
        assert_eq!(with_cookie(&server, cookie).await, 200);
    }
    assert_eq!(delete(&server, &sessions_of(OWN_FICHE)).await.is(200), json!({"ended": 2}));
    for cookie in &cookies {
        assert_eq!(with_cookie(&server, cookie).await, 403);
    }
    assert_eq!(delete(&server, &sessions_of(OWN_FICHE)).await.is(200), json!({"ended": 0}));
    server.account_get(FICHES).await.is(200);
    let rows = server.pro_get("/groups/4/history/access").await.is(200)["rows"].clone();
    let rows = rows.as_array().expect("rows").clone();
    let acts: Vec<&Value> = rows.iter().filter(|row| row["verb"] == "logged_out").collect();
    assert_eq!(acts.len(), 1, "{rows:?}");
    assert_eq!(
        (&acts[0]["object"], &acts[0]["author"]),
        (&json!(format!("account:{OWN_FICHE}")), &json!("professional:1"))
    );
    // A session that has ended by itself does not count.
    log_in(&server).await;
    server.at(clock(9, 1));
    assert_eq!(delete(&server, &sessions_of(OWN_FICHE)).await.is(200), json!({"ended": 0}));
}

#[tokio::test]
async fn sessions_of_before_a_merge_end_under_either_id() {
    for asked in [KNOWN_FICHE, OWN_FICHE] {
        let server = TestServer::with_account(|_| {}).await;
        let cookie = log_in(&server).await;
        let merge = format!("{FICHES}/{KNOWN_FICHE}/merge");
        let merged = server.by_pro(Method::POST, &merge).json(&json!({"fiche_id": OWN_FICHE}));
        answer(merged).await.is(200);
        assert_eq!(delete(&server, &sessions_of(asked)).await.is(200), json!({"ended": 1}));
        assert_eq!(with_cookie(&server, &cookie).await, 403);
        let list = server.pro_get(ACCOUNTS).await.is(200);
        assert_eq!(list["records"][0]["fiche_id"], KNOWN_FICHE);
        assert_eq!(delete(&server, &closing(asked)).await.is(200), json!({"closed": 1}));
        server.account_get(FICHES).await.refused(401, 5, None);
    }
}

#[tokio::test]
async fn the_list_is_paged_sorted_and_searched_as_others() {
    let mut four = shop::group_four(|_| {});
    for (fiche, email) in [(52, "b@example.org"), (42, "c@example.org"), (47, "a@example.org")] {
        shop::open_account(&mut four, fiche, email);
    }
    let server = TestServer::serving(vec![four, shop::group_five()], |server| server).await;
    let list = async |query: &str| {
        let page = server.pro_get(&format!("{ACCOUNTS}{query}")).await.is(200);
        let records = page["records"].as_array().expect("a list").clone();
        let ids: Vec<u64> = records.iter().filter_map(|it| it["fiche_id"].as_u64()).collect();
        (ids, page["totalRecords"].as_u64().expect("a number"))
    };
    assert_eq!(list("").await, (vec![42, 47, 52], 3));
    assert_eq!(list("?results=2").await, (vec![42, 47], 3));
    assert_eq!(list("?results=2&startIndex=2").await, (vec![52], 3));
    assert_eq!(list("?startIndex=9").await, (vec![], 3));
    assert_eq!(list("?results=all&startIndex=1").await, (vec![47, 52], 3));
    assert_eq!(list("?sort=email&dir=desc").await, (vec![42, 52, 47], 3));
    assert_eq!(list("?dir=desc").await, (vec![52, 47, 42], 3));
    assert_eq!(list("?search=B@example").await, (vec![52], 1));
    let condition = "?conditions[0][field]=fiche_id&conditions[0][op]==&conditions[0][value]=47";
    assert_eq!(list(condition).await, (vec![47], 1));
    server.pro_get(&format!("{ACCOUNTS}?sort=password_hash")).await.refused(400, 2, Some("sort"));
    let page = server.pro_get(&format!("{ACCOUNTS}?results=1")).await.is(200);
    assert_eq!(
        page["records"],
        json!([{"fiche_id": 42, "email": "c@example.org", "last_login": null}])
    );
}

#[tokio::test]
async fn the_day_of_the_last_login_is_shown() {
    let server = TestServer::with_account(|_| {}).await;
    log_in(&server).await;
    let mut day = Value::Null;
    // The use is written after the answer.
    for _ in 0..400 {
        day = server.pro_get(ACCOUNTS).await.is(200)["records"][0]["last_login"].clone();
        if !day.is_null() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(day, "2025-06-02");
}

#[tokio::test]
async fn a_link_to_the_new_account_that_was_not_followed_makes_no_other_one() {
    let server = TestServer::with(|catalogue| catalogue.group.open = true).await;
    let first = asked_link(&server, "new@example.org").await;
    server.at(clock(8, 1));
    let links = [first, asked_link(&server, "new@example.org").await];
    assert_ne!(links[0], links[1]);
    let other = asked_link(&server, "other@example.org").await;
    let made = follow(&server, &links[0]).await.is(200);
    let client = made["account"]["fiche_id"].as_u64().expect("an id");
    server.at(clock(8, 30));
    assert_eq!(delete(&server, &closing(client)).await.is(200), json!({"closed": 1}));
    for link in &links {
        follow(&server, link).await.refused(400, 2, Some("token"));
    }
    assert_eq!(state(&server).accounts.len(), 0);
    // It ends no link of others, and none that is asked for later.
    follow(&server, &other).await.is(200);
    let later = asked_link(&server, "new@example.org").await;
    assert_eq!(follow(&server, &later).await.is(200)["account"]["fiche_id"], client);
}
