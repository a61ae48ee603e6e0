//! Logging in and out, and what a session stands for.

use std::sync::Arc;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use slotbook::domain::directory::access::ChangeAccess;
use slotbook::domain::directory::apikeys::ApikeyName;
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::time::DAY;
use slotbook::notify::Gateways;
use slotbook::password::sha1_hex;

use crate::server::{Answer, TestServer, answer};
use crate::shop::{self, ANN, CLEO, EVE, KEY, KEY_OF_ALL, OWN_FICHE, clock};

const LOGIN: &str = "/api/v1/sessions/login";

fn login(
    server: &TestServer,
    key: &str,
    role: &str,
    (email, password): (&str, &str),
) -> RequestBuilder {
    let params = [
        ("apikey", key.to_owned()),
        (&*format!("{role}[email]"), email.to_owned()),
        (&*format!("{role}[password]"), sha1_hex(password)),
    ];
    server.bare(Method::POST, LOGIN).query(&params)
}

/// A login by form.
fn by_form(server: &TestServer, path: &str, pairs: &[(&str, &str)]) -> RequestBuilder {
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    server
        .bare(Method::POST, path)
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(form)
}

/// The cookie that an answer sets, and its attributes.
fn cookie(answer: &Answer) -> (String, String) {
    let set = answer.headers["set-cookie"].to_str().expect("text");
    let (cookie, attributes) = set.split_once("; ").expect("attributes");
    (cookie.to_owned(), attributes.to_owned())
}

async fn cookie_of_ann(server: &TestServer) -> String {
    let logged_in = answer(login(server, KEY, "pro", ANN)).await;
    logged_in.is(200);
    cookie(&logged_in).0
}

fn with(server: &TestServer, method: Method, path: &str, cookie: &str) -> RequestBuilder {
    server.bare(method, &format!("/api/v1{path}")).header("Cookie", cookie)
}

const PROS_ONLY: &str = "/groups/4/vevents";

#[tokio::test]
async fn a_professional_logs_in_and_needs_no_key_any_more() {
    let server = TestServer::start().await;
    let logged_in = answer(login(&server, KEY, "pro", ("Ann@Example.org", "secret"))).await;
    let body = logged_in.is(200);
    let pro = &body["pro"];
    assert_eq!(
        (&body["error"], &pro["id"], &pro["group_id"]),
        (&Value::Null, &json!(1), &json!(4))
    );
    assert_eq!(
        (&pro["email"], &pro["cellphone"], &pro["synched_at"]),
        (&json!(ANN.0), &json!(""), &Value::Null)
    );
    assert_eq!((&pro["lastname"], &pro["firstname"]), (&json!("Pro"), &json!("A")));
    assert_eq!(
        (&pro["created_at"], &pro["updated_at"]),
        (&json!("2025-06-02 06:00:00"), &json!("2025-06-02 06:00:00"))
    );
    assert!(!logged_in.text.contains("argon2"));
    assert!(!logged_in.headers.contains_key("access-control-allow-origin"));
    let (cookie, attributes) = cookie(&logged_in);
    assert_eq!(attributes, "path=/; HttpOnly; SameSite=Lax");
    let token = cookie.strip_prefix("_session_id=").expect("the name");
    assert!(
        token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "256 bits: {token}"
    );
    answer(with(&server, Method::GET, PROS_ONLY, &cookie)).await.is(200);
    answer(with(&server, Method::GET, PROS_ONLY, &format!("a=b; {cookie}"))).await.is(200);
    answer(with(&server, Method::GET, &format!("{PROS_ONLY}?apikey={KEY}"), &cookie)).await.is(200);
    assert_ne!(cookie, cookie_of_ann(&server).await, "new at each login");
}

#[tokio::test]
async fn the_parameters_stand_in_the_query_a_form_or_json() {
    let server = TestServer::start().await;
    let hash = sha1_hex("secret");
    let upper = hash.to_uppercase();
    let form = [("pro[email]", ANN.0), ("pro[password]", &*upper)];
    let path = format!("{LOGIN}?apikey={KEY}");
    answer(by_form(&server, &path, &form)).await.is(200);
    let with_key = [("apikey", KEY), form[0], form[1]];
    answer(by_form(&server, LOGIN, &with_key)).await.is(200);
    let object = json!({"pro": {"email": ANN.0, "password": hash}});
    answer(server.bare(Method::POST, &path).json(&object)).await.is(200);
    let with_key = json!({"apikey": KEY, "pro": {"email": ANN.0, "password": hash}});
    answer(server.bare(Method::POST, LOGIN).json(&with_key)).await.refused(403, 1, None);
    answer(by_form(&server, LOGIN, &form)).await.refused(403, 1, None);
    answer(server.bare(Method::POST, &path).body("<pro/>").header("Content-Type", "text/xml"))
        .await
        .refused(415, 2, None);
    answer(server.bare(Method::POST, &path).body("{")).await.refused(400, 2, None);
    answer(server.bare(Method::POST, &path)).await.refused(403, 1, None);
}

#[tokio::test]
async fn a_login_of_the_wrong_types_names_the_fields_and_opens_no_session() {
    let server = TestServer::start().await;
    let right = json!({"email": ANN.0, "password": sha1_hex(ANN.1)});
    for (wrong, field) in [
        (json!({"pro": right, "account": {"group_id": [4]}}), "account[group_id]"),
        (json!({"pro": right, "pro[password]": false}), "pro[password]"),
        (json!({"pro": right, "account": "ann"}), "account"),
        (json!({"pro": [right]}), "pro"),
    ] {
        let request = server.bare(Method::POST, LOGIN).query(&[("apikey", KEY)]).json(&wrong);
        let refused = answer(request).await;
        refused.refused(400, 2, Some(field));
        assert!(!refused.headers.contains_key("set-cookie"), "{wrong}");
    }
    let spare = json!({"pro": right, "remember": true, "account": {"group_id": null}});
    let request = server.bare(Method::POST, LOGIN).query(&[("apikey", KEY)]).json(&spare);
    answer(request).await.is(200);
}

#[tokio::test]
async fn a_failed_login_is_told_in_the_shape_of_a_login() {
    let server = TestServer::with_account(|_| {}).await;
    for (role, whom) in [
        ("pro", (ANN.0, "wrong")),
        ("pro", ("nobody@example.org", "secret")),
        ("pro", (ANN.0, "")),
        ("pro", CLEO),
        ("account", ANN),
        ("account", (CLEO.0, "wrong")),
        ("account", ("nobody@example.org", "secret")),
    ] {
        let failed = answer(login(&server, KEY, role, whom)).await;
        let body = failed.is(401);
        assert_eq!(body[role], Value::Null);
        assert_eq!(body.as_object().map(serde_json::Map::len), Some(2), "{body}");
        assert_eq!(
            (&body["error"]["code"], &body["error"]["name"]),
            (&json!(5), &json!("LoginFailed"))
        );
        assert!(
            !failed.headers.contains_key("set-cookie")
                && !failed.headers.contains_key("www-authenticate")
        );
    }
    let plain = [("apikey", KEY), ("pro[email]", ANN.0), ("pro[password]", "secret")];
    answer(server.bare(Method::POST, LOGIN).query(&plain)).await.is(401);
    answer(login(&server, "wrong", "pro", ANN)).await.refused(403, 1, None);
}

#[tokio::test]
async fn ten_failed_logins_make_a_source_wait_and_sessions_go_on() {
    let server = TestServer::start().await;
    let cookie = cookie_of_ann(&server).await;
    server.at(clock(8, 2));
    for _ in 0..10 {
        answer(login(&server, KEY, "pro", (ANN.0, "wrong"))).await.is(401);
    }
    let refused = answer(login(&server, KEY, "pro", ANN)).await;
    refused.refused(429, 4, None);
    assert_eq!(refused.headers["retry-after"], "600");
    answer(server.by_pro(Method::GET, PROS_ONLY)).await.refused(429, 4, None);
    answer(with(&server, Method::GET, PROS_ONLY, &cookie)).await.is(200);
    answer(login(&server, KEY_OF_ALL, "pro", EVE)).await.is(200);
    server.at(clock(8, 12));
    answer(login(&server, KEY, "pro", ANN)).await.is(200);
}

#[tokio::test]
async fn a_session_ends_after_an_hour_without_use() {
    let server = TestServer::start().await;
    let cookie = cookie_of_ann(&server).await;
    for (hour, minute) in [(8, 59), (9, 58), (10, 57)] {
        server.at(clock(hour, minute));
        answer(with(&server, Method::GET, PROS_ONLY, &cookie)).await.is(200);
    }
    server.at(clock(11, 57));
    answer(with(&server, Method::GET, PROS_ONLY, &cookie)).await.refused(403, 1, None);
    let path = format!("/groups/4?apikey={KEY}");
    answer(with(&server, Method::GET, &path, &cookie)).await.is(200);
    let path = format!("{PROS_ONLY}?apikey={KEY}");
    answer(with(&server, Method::GET, &path, &cookie)).await.refused(403, 1, None);
}

#[tokio::test]
async fn a_session_in_constant_use_ends_after_twelve_hours() {
    let server = TestServer::start().await;
    let cookie = cookie_of_ann(&server).await;
    for half_hour in 0..24 {
        server.at(clock(8 + half_hour / 2, 30 * (half_hour % 2)));
        answer(with(&server, Method::GET, PROS_ONLY, &cookie)).await.is(200);
    }
    server.at(clock(19, 59));
    answer(with(&server, Method::GET, PROS_ONLY, &cookie)).await.is(200);
    server.at(clock(20, 0));
    answer(with(&server, Method::GET, PROS_ONLY, &cookie)).await.refused(403, 1, None);
}

#[tokio::test]
async fn a_person_who_stays_signed_in_does_so_for_thirty_days() {
    let server = TestServer::start().await;
    for wrong in ["2", "yes"] {
        let request = login(&server, KEY, "pro", ANN).query(&[("stay_signed_in", wrong)]);
        answer(request).await.refused(400, 2, Some("stay_signed_in"));
    }
    let request = login(&server, KEY, "pro", ANN).query(&[("stay_signed_in", "1")]);
    let (cookie, attributes) = cookie(&answer(request).await);
    assert_eq!(attributes, "path=/; Max-Age=2592000; HttpOnly; SameSite=Lax");
    let login = clock(8, 0);
    for day in [1, 15, 29] {
        server.at(login.plus_seconds(day * DAY));
        answer(with(&server, Method::GET, PROS_ONLY, &cookie)).await.is(200);
    }
    server.at(login.plus_seconds(30 * DAY));
    answer(with(&server, Method::GET, PROS_ONLY, &cookie)).await.refused(403, 1, None);
}

#[tokio::test]
async fn a_person_sees_and_ends_the_sessions_that_are_theirs() {
    let server = TestServer::start().await;
    let browser = |name| login(&server, KEY, "pro", ANN).header("User-Agent", name);
    let (home, _) = cookie(&answer(browser("Firefox")).await);
    server.at(clock(8, 5));
    let (stolen, _) = cookie(&answer(browser("curl")).await);
    server.at(clock(8, 10));
    let (other, _) = cookie(&answer(browser("Safari")).await);
    let (of_eve, _) = cookie(&answer(login(&server, KEY_OF_ALL, "pro", EVE)).await);
    let list = async |cookie: &str| {
        let listed = answer(with(&server, Method::GET, "/sessions", cookie)).await.is(200);
        listed["sessions"].as_array().expect("a list").clone()
    };
    server.at(clock(8, 15));
    let own = list(&home).await;
    let devices: Vec<&Value> = own.iter().map(|session| &session["device"]).collect();
    assert_eq!(devices, ["Firefox", "Safari", "curl"], "the last used one is the first");
    assert_eq!(
        own[0],
        json!({
            "id": own[0]["id"], "created_at_utc": "2025-06-02T06:00:00Z",
            "last_used_at_utc": "2025-06-02T06:15:00Z", "expires_at_utc": "2025-06-02T07:15:00Z",
            "source": "127.0.0.1", "device": "Firefox", "stay_signed_in": false,
            "is_current": true,
        })
    );
    assert!(own[1..].iter().all(|session| session["is_current"] == json!(false)));
    let eves = list(&of_eve).await;
    assert_eq!(eves.len(), 1);

    let end = |cookie: &str, id: &Value| {
        answer(with(&server, Method::DELETE, &format!("/sessions/{id}"), cookie))
    };
    // Neither another person's, nor the one at hand, which a logout ends.
    end(&home, &eves[0]["id"]).await.refused(404, 3, None);
    end(&home, &own[0]["id"]).await.refused(404, 3, None);
    assert_eq!(list(&of_eve).await.len(), 1);
    assert_eq!(end(&home, &own[2]["id"]).await.is(200), json!({"ended": 1}));
    answer(with(&server, Method::GET, PROS_ONLY, &stolen)).await.refused(403, 1, None);
    answer(with(&server, Method::GET, PROS_ONLY, &other)).await.is(200);

    let page = with(&server, Method::DELETE, "/sessions", &home);
    answer(page.header("Origin", "https://evil.example")).await.refused(403, 1, None);
    let others = answer(with(&server, Method::DELETE, "/sessions", &home)).await;
    assert_eq!(others.is(200), json!({"ended": 1}));
    answer(with(&server, Method::GET, PROS_ONLY, &other)).await.refused(403, 1, None);
    answer(with(&server, Method::GET, PROS_ONLY, &home)).await.is(200);
    assert_eq!(list(&of_eve).await.len(), 1);
    // By the password, all of them: a thief may hold the last one.
    let by_password = answer(server.by_pro(Method::DELETE, "/sessions")).await;
    assert_eq!(by_password.is(200), json!({"ended": 1}));
    answer(with(&server, Method::GET, PROS_ONLY, &home)).await.refused(403, 1, None);
    answer(server.by_key(Method::GET, "/sessions")).await.refused(403, 1, None);
}

#[tokio::test]
async fn logging_out_ends_it_and_logging_in_again_too() {
    let server = TestServer::start().await;
    let first = cookie_of_ann(&server).await;
    let again = answer(login(&server, KEY, "pro", ANN).header("Cookie", &first)).await;
    again.is(200);
    answer(with(&server, Method::GET, PROS_ONLY, &first)).await.refused(403, 1, None);
    let second = cookie(&again).0;
    let out = answer(with(&server, Method::POST, "/sessions/logout", &second)).await;
    assert_eq!(out.is(200), json!({"error": null}));
    assert_eq!(
        out.headers["set-cookie"],
        "_session_id=; path=/; Max-Age=0; HttpOnly; SameSite=Lax"
    );
    answer(with(&server, Method::GET, PROS_ONLY, &second)).await.refused(403, 1, None);
    answer(server.by_key(Method::POST, "/sessions/logout")).await.is(200);
    answer(server.bare(Method::POST, "/api/v1/sessions/logout")).await.refused(403, 1, None);
}

#[tokio::test]
async fn a_session_counts_for_nothing_under_another_key() {
    let server = TestServer::start().await;
    let cookie = cookie_of_ann(&server).await;
    let under = |path: &str, key: &str| {
        answer(with(&server, Method::GET, &format!("{path}?apikey={key}"), &cookie))
    };
    under(PROS_ONLY, KEY_OF_ALL).await.refused(403, 1, None);
    under("/groups/4/calendars", KEY_OF_ALL).await.is(200);
    under("/groups/4/calendars", "wrong").await.refused(403, 1, None);
    under(PROS_ONLY, KEY).await.is(200);
}

#[tokio::test]
async fn a_session_stands_for_its_key_and_no_more() {
    let server = TestServer::start().await;
    let eve = answer(login(&server, KEY, "pro", EVE)).await;
    eve.is(200);
    let eve = cookie(&eve).0;
    answer(with(&server, Method::GET, "/groups/5", &eve)).await.refused(404, 3, None);
    answer(with(&server, Method::GET, "/groups/4", &eve)).await.refused(404, 3, None);
    let of_all = answer(login(&server, KEY_OF_ALL, "pro", EVE)).await;
    let of_all = cookie(&of_all).0;
    assert_eq!(answer(with(&server, Method::GET, "/groups/5", &of_all)).await.is(200)["id"], 5);
    let groups = answer(with(&server, Method::GET, "/groups", &of_all)).await.is(200);
    assert_eq!((&groups["totalRecords"], &groups["records"][0]["id"]), (&json!(1), &json!(5)));
}

#[tokio::test]
async fn a_session_ends_with_the_key_that_opened_it() {
    let server = TestServer::start().await;
    let cookie = cookie_of_ann(&server).await;
    answer(with(&server, Method::GET, PROS_ONLY, &cookie)).await.is(200);
    let name = ApikeyName { hash: Sha256::digest(KEY).into(), text: KEY.to_owned() };
    let revoked = server.engine.change_access(None, ChangeAccess::RevokeApikey(name)).await;
    revoked.expect("writes are taken and the key is known");
    answer(with(&server, Method::GET, PROS_ONLY, &cookie)).await.refused(403, 1, None);
}

#[tokio::test]
async fn basic_counts_more_than_a_session() {
    let server = TestServer::start().await;
    let cookie = cookie_of_ann(&server).await;
    let wrong = with(&server, Method::GET, PROS_ONLY, &cookie).basic_auth(ANN.0, Some("wrong"));
    answer(wrong).await.refused(401, 5, None);
    let eve = with(&server, Method::GET, PROS_ONLY, &cookie).basic_auth(EVE.0, Some(EVE.1));
    answer(eve).await.refused(404, 3, None);
}

#[tokio::test]
async fn a_foreign_page_changes_nothing_by_cookie() {
    let server = TestServer::start().await;
    let cookie = cookie_of_ann(&server).await;
    let put = |origin: &str, query: &str| {
        let path = format!("/groups/4/fiches/41{query}");
        with(&server, Method::PUT, &path, &cookie)
            .header("Origin", origin)
            .json(&json!({"fiche": {"firstname": "X"}}))
    };
    let own = put("http://x", "").build().expect("a request").url().to_string();
    let own = own.split("/api/").next().expect("a first part").to_owned();
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1", "", &format!("{own}0")] {
        answer(put(origin, "")).await.refused(403, 1, None);
        answer(put(origin, &format!("?apikey={KEY}"))).await.refused(403, 1, None);
        answer(with(&server, Method::GET, PROS_ONLY, &cookie).header("Origin", origin))
            .await
            .is(200);
        let logout =
            with(&server, Method::POST, "/sessions/logout", &cookie).header("Origin", origin);
        answer(logout).await.refused(403, 1, None);
    }
    answer(put(&own, "")).await.is(200);
    answer(put(&own.to_uppercase().replace("HTTP", "http"), "")).await.is(200);
    let basic =
        put("https://evil.example", &format!("?apikey={KEY}")).basic_auth(ANN.0, Some(ANN.1));
    answer(basic).await.is(200);
}

#[tokio::test]
async fn a_foreign_page_neither_ends_nor_replaces_a_session_by_a_key_of_its_own() {
    let server = TestServer::with_account(|_| {}).await;
    let cookie = cookie_of_ann(&server).await;
    let evil = |request: RequestBuilder| {
        answer(request.header("Cookie", &cookie).header("Origin", "http://evil.org"))
    };
    let logout =
        |key: &str| server.bare(Method::POST, &format!("/api/v1/sessions/logout?apikey={key}"));
    for key in [KEY, KEY_OF_ALL] {
        let refused = evil(login(&server, key, "account", CLEO)).await;
        refused.refused(403, 1, None);
        assert!(!refused.headers.contains_key("set-cookie"));
        for request in [logout(key), logout(key).basic_auth(ANN.0, Some(ANN.1))] {
            let refused = evil(request).await;
            refused.refused(403, 1, None);
            assert!(!refused.headers.contains_key("set-cookie"));
        }
    }
    let form = [("apikey", KEY), ("pro[email]", ANN.0), ("pro[password]", &*sha1_hex(ANN.1))];
    evil(by_form(&server, LOGIN, &form)).await.refused(403, 1, None);
    answer(with(&server, Method::GET, PROS_ONLY, &cookie)).await.is(200);
    // Nor does it log anyone in, unless the key names its origin.
    let none = |key: &str| login(&server, key, "account", CLEO);
    for origin in ["http://evil.org", "http://app.example", "https://app.example.evil.org", "null"]
    {
        for key in [KEY, KEY_OF_ALL] {
            answer(none(key).header("Origin", origin)).await.refused(403, 1, None);
        }
    }
    answer(none(KEY).header("Origin", "https://app.example")).await.refused(403, 1, None);
    answer(none(KEY_OF_ALL).header("Origin", "https://App.example:443")).await.is(200);
    answer(login(&server, KEY, "account", CLEO).header("Cookie", &cookie)).await.is(200);
    answer(with(&server, Method::GET, PROS_ONLY, &cookie)).await.refused(403, 1, None);
}

#[tokio::test]
async fn an_address_or_a_password_longer_than_anybodys_fails_like_any_other() {
    let server = TestServer::start().await;
    let (long, digits) =
        (format!("{}@example.org", "a".repeat(100_000)), sha1_hex("secret").repeat(1_000));
    let path = format!("{LOGIN}?apikey={KEY}");
    let known = answer(login(&server, KEY, "pro", (ANN.0, "wrong"))).await;
    for pair in [[&long, &sha1_hex("secret")], [&ANN.0.to_owned(), &digits]] {
        let form = [("pro[email]", &**pair[0]), ("pro[password]", &**pair[1])];
        assert_eq!(answer(by_form(&server, &path, &form)).await.text, known.text);
    }
    for _ in 1..10 {
        answer(by_form(&server, &path, &[("pro[email]", &long)])).await.is(401);
    }
    answer(by_form(&server, &path, &[("pro[email]", &long)])).await.refused(429, 4, None);
    answer(by_form(&server, &path, &[("pro[email]", &format!("{long}a"))])).await.is(401);
}

#[tokio::test]
async fn behind_tls_the_cookie_is_for_tls_alone_and_so_are_pages() {
    let group_states = vec![shop::group_four(|_| {}), shop::group_five()];
    let server = TestServer::serving(group_states, |server| server.behind_tls(true)).await;
    let logged_in = answer(login(&server, KEY, "pro", ANN)).await;
    let (cookie, attributes) = cookie(&logged_in);
    assert_eq!(attributes, "path=/; HttpOnly; SameSite=Lax; Secure");
    let page = answer(server.bare(Method::GET, "/b/nothing")).await;
    for answered in [&logged_in, &page] {
        assert_eq!(answered.headers["strict-transport-security"], "max-age=31536000");
    }
    let without = TestServer::start().await;
    let plain = answer(without.bare(Method::GET, "/b/nothing")).await;
    assert!(!plain.headers.contains_key("strict-transport-security"));
    let logout = |origin: &str| {
        with(&server, Method::POST, "/sessions/logout", &cookie)
            .header("Host", "shop.example")
            .header("Origin", origin)
    };
    answer(logout("http://shop.example")).await.refused(403, 1, None);
    answer(logout("https://shop.example:443")).await.is(200);
}

#[tokio::test]
async fn a_page_of_the_public_address_is_ours_whatever_a_proxy_calls_us() {
    let group_states = vec![shop::group_four(|_| {}), shop::group_five()];
    let gateways = Arc::new(Gateways::unconfigured("https://rdv.example.org/agenda/"));
    let server =
        TestServer::serving(group_states, |server| server.behind_tls(true).with_gateways(gateways))
            .await;
    let (cookie, _) = cookie(&answer(login(&server, KEY, "pro", ANN)).await);
    let logout = |origin: &str| {
        with(&server, Method::POST, "/sessions/logout", &cookie).header("Origin", origin)
    };
    for foreign in
        ["http://rdv.example.org", "https://example.org", "https://rdv.example.org.evil.example"]
    {
        answer(logout(foreign)).await.refused(403, 1, None);
    }
    answer(logout("https://RDV.example.org")).await.is(200);
}

#[tokio::test]
async fn an_account_logs_in_to_its_group() {
    let server = TestServer::with_account(|_| {}).await;
    for key in [KEY, KEY_OF_ALL] {
        let body = answer(login(&server, key, "account", CLEO)).await.is(200);
        let account = &body["account"];
        assert_eq!((&body["error"], &account["email"]), (&Value::Null, &json!(CLEO.0)));
        assert_eq!((&account["group_id"], &account["fiche_id"]), (&json!(4), &json!(OWN_FICHE)));
        assert!(account.get("comments").is_none());
    }
    let at = |group: &str| {
        login(&server, KEY_OF_ALL, "account", CLEO).query(&[("account[group_id]", group)])
    };
    let logged_in = answer(at("4")).await;
    logged_in.is(200);
    for wrong in ["5", "99", "x"] {
        answer(at(wrong)).await.is(401);
    }
    let cookie = cookie(&logged_in).0;
    let own = answer(with(&server, Method::GET, "/groups/4/fiches", &cookie)).await.is(200);
    assert_eq!((&own["totalRecords"], &own["records"][0]["id"]), (&json!(1), &json!(OWN_FICHE)));
    answer(with(&server, Method::GET, "/groups/5", &cookie)).await.refused(404, 3, None);
    let groups = answer(with(&server, Method::GET, "/groups", &cookie)).await.is(200);
    assert_eq!((&groups["totalRecords"], &groups["records"][0]["id"]), (&json!(1), &json!(4)));
}

#[tokio::test]
async fn an_address_with_accounts_in_two_groups_must_say_which() {
    let (mut four, mut five) = (shop::group_four(|_| {}), shop::group_five());
    shop::open_account(&mut four, OWN_FICHE, CLEO.0);
    shop::open_account(&mut five, 43, CLEO.0);
    let server = TestServer::serving(vec![four, five], |server| server).await;
    answer(login(&server, KEY_OF_ALL, "account", CLEO)).await.is(401);
    assert_eq!(
        answer(login(&server, KEY, "account", CLEO)).await.is(200)["account"]["group_id"],
        4
    );
    let at = login(&server, KEY_OF_ALL, "account", CLEO).query(&[("account[group_id]", "5")]);
    let body = answer(at).await.is(200);
    assert_eq!(
        (&body["account"]["group_id"], &body["account"]["fiche_id"]),
        (&json!(5), &json!(43))
    );
    assert!(server.engine.published().group_state(GroupId::new(5).expect("an id")).is_some());
}
