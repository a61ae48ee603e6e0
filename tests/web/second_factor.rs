//! The second factor of professionals at their screens. Reference 3.11, 15.1.

use data_encoding::BASE32_NOPAD;
use reqwest::Method;
use serde_json::json;
use totp_rs::{Builder, Secret};

use crate::browser::{Browser, Look, PHONE};
use crate::login::Professional;
use crate::practice_looks::log_in;
use crate::program::{Served, complaint, exported, practice, run, store_of};
use crate::server::{TestServer, answer};
use crate::shop::{ANN, KEY};
use crate::visitor::Page;

const FACTOR: &str = "/p/cut-co/second-factor";
const AGENDA: &str = "/p/cut-co/agenda";

/// An authenticator, which knows the secret of a person.
struct Authenticator(String);

impl Authenticator {
    /// The code at a moment, in seconds since 1970.
    fn code(&self, now: i64) -> String {
        let secret = BASE32_NOPAD.decode(self.0.as_bytes()).expect("base 32");
        let secret = Secret::new_stack(secret.try_into().expect("20 bytes"));
        let totp = Builder::new().with_secret(secret).build().expect("legal");
        totp.generate(u64::try_from(now).expect("after 1970")).to_string()
    }
}

/// Returns the text between two marks of a page.
fn between<'p>(page: &'p Page, before: &str, after: &str) -> &'p str {
    let rest = page.html.split(before).nth(1).unwrap_or_else(|| panic!("{before}: {}", page.html));
    rest.split(after).next().expect("a text")
}

fn recovery_codes(page: &Page) -> Vec<String> {
    let codes = page.html.split("<code class=\"recovery\">").skip(1);
    codes.map(|rest| rest[..19].to_owned()).collect()
}

/// Reads the authenticator's secret of the page that shows it.
fn secret_of(page: &Page) -> Authenticator {
    Authenticator(between(page, "<code id=\"secret\">", "</code>").replace(' ', ""))
}

/// Sets up the factor of a professional who is logged in. Returns the authenticator and the
/// recovery codes.
async fn enrol(
    ann: &mut Professional,
    path: &str,
    password: &str,
    now: i64,
) -> (Authenticator, Vec<String>) {
    let scan = ann.post(path, &[("do", "begin"), ("current", password)]).await;
    assert_eq!(scan.status, 200, "{}", scan.html);
    scan.shows("<svg class=\"qr\"");
    let authenticator = secret_of(&scan);
    let ticket = between(&scan, "name=\"ticket\" value=\"", "\"").to_owned();
    let code = authenticator.code(now);
    let done = ann.post(path, &[("do", "confirm"), ("ticket", &ticket), ("code", &code)]).await;
    assert_eq!(done.status, 200, "{}", done.html);
    let codes = recovery_codes(&done);
    assert_eq!(codes.len(), 10);
    (authenticator, codes)
}

/// Gives the right password in another browser, which then awaits the code.
async fn half_way(server: &TestServer) -> Professional {
    let mut ann = Professional::stranger(server);
    let step = ann.log_in("/login?next=%2Fp%2Fcut-co%2Fclients", ANN.0, ANN.1, &[]).await;
    assert_eq!(step.location(), "/login/code?next=%2Fp%2Fcut-co%2Fclients");
    ann
}

fn now(server: &TestServer) -> i64 {
    server.engine.clock().now().0
}

fn advance(server: &TestServer, seconds: i64) {
    server.at(server.engine.clock().now().plus_seconds(seconds));
}

#[tokio::test]
async fn a_code_has_to_follow_the_password_and_works_once() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let (authenticator, _) = enrol(&mut ann, FACTOR, ANN.1, now(&server)).await;
    let mut other = half_way(&server).await;
    assert!(!other.cookies.contains("_practice"), "no login before the second step");
    assert_eq!(other.get(AGENDA).await.status, 303);
    other.open("/login/code").await.shows("autocomplete=\"one-time-code\"");
    // The code of the enrolment was used.
    let used = other.post("/login/code", &[("code", &authenticator.code(now(&server)))]).await;
    assert_eq!(used.status, 401);
    used.shows("was used before");
    advance(&server, 30);
    let code = authenticator.code(now(&server));
    let mut third = half_way(&server).await;
    let path = "/login/code?next=%2Fp%2Fcut-co%2Fclients";
    let right = other.post(path, &[("code", &code)]).await;
    assert_eq!(right.location(), "/p/cut-co/clients");
    other.open(AGENDA).await;
    assert!(!other.cookies.contains("_login_step"), "the proof of the password is of no more use");
    assert_eq!(third.post("/login/code", &[("code", &code)]).await.status, 401);
    assert_eq!(third.get(AGENDA).await.status, 303);
    // A browser without the proof of the password is led to the login.
    let mut stranger = Professional::stranger(&server);
    advance(&server, 30);
    let code = authenticator.code(now(&server));
    let answer = stranger.post("/login/code", &[("code", &code)]).await;
    assert_eq!((answer.status, answer.location()), (303, "/login"));
    assert!(stranger.cookies.is_empty());
    // The proof lasts ten minutes.
    advance(&server, 600);
    let late = third.post("/login/code", &[("code", &authenticator.code(now(&server)))]).await;
    assert_eq!(late.location(), "/login");
}

#[tokio::test]
async fn of_two_logins_with_one_code_at_once_exactly_one_is_opened() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let (authenticator, _) = enrol(&mut ann, FACTOR, ANN.1, now(&server)).await;
    for _ in 0..5 {
        advance(&server, 60);
        let code = authenticator.code(now(&server));
        let (mut one, mut two) = (half_way(&server).await, half_way(&server).await);
        let pairs = [("code", code.as_str())];
        tokio::join!(one.post("/login/code", &pairs), two.post("/login/code", &pairs));
        let opened = [&one, &two].map(|browser| browser.cookies.contains("_practice="));
        assert!(opened[0] != opened[1], "{opened:?}");
    }
}

#[tokio::test]
async fn a_code_of_one_step_before_or_after_counts_and_no_other() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let (authenticator, _) = enrol(&mut ann, FACTOR, ANN.1, now(&server)).await;
    advance(&server, 300);
    for (shift, status) in [(-60, 401), (-30, 303), (30, 303), (60, 401)] {
        let mut browser = half_way(&server).await;
        let code = authenticator.code(now(&server) + shift);
        assert_eq!(browser.post("/login/code", &[("code", &code)]).await.status, status, "{shift}");
    }
}

#[tokio::test]
async fn recovery_codes_work_once_each_until_new_ones_are_made() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let (authenticator, codes) = enrol(&mut ann, FACTOR, ANN.1, now(&server)).await;
    for status in [303, 401] {
        let mut browser = half_way(&server).await;
        let pairs = [("code", ""), ("recovery", &*codes[0])];
        assert_eq!(browser.post("/login/code", &pairs).await.status, status);
    }
    ann.open(FACTOR).await.shows("Recovery codes left: 9");
    advance(&server, 30);
    let code = authenticator.code(now(&server));
    for (current, code, fault) in [
        ("a wrong one", code.as_str(), "This is not your present password."),
        (ANN.1, "000000", "This code is wrong"),
    ] {
        let wrong =
            ann.post(FACTOR, &[("do", "renew"), ("current", current), ("code", code)]).await;
        assert_eq!(wrong.status, 400);
        wrong.shows(fault);
    }
    let renewed = ann.post(FACTOR, &[("do", "renew"), ("current", ANN.1), ("code", &code)]).await;
    let new_codes = recovery_codes(&renewed);
    assert_eq!(new_codes.len(), 10);
    for (code, status) in [(&codes[1], 401), (&new_codes[1], 303)] {
        let mut browser = half_way(&server).await;
        assert_eq!(browser.post("/login/code", &[("recovery", code)]).await.status, status);
    }
    // Removing needs a code too, and a recovery code will do.
    let removal = [("do", "remove"), ("current", ANN.1), ("recovery", new_codes[2].as_str())];
    assert_eq!(ann.post(FACTOR, &removal[..2]).await.status, 400);
    let removed = ann.post(FACTOR, &removal).await;
    assert_eq!(removed.location(), "/p/cut-co/second-factor?removed=1");
    Professional::logged_in(&server, ANN).await.open(AGENDA).await;
}

#[tokio::test]
async fn an_enrolment_needs_the_password_and_the_right_code_and_ends_other_logins() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let other = Professional::logged_in(&server, ANN).await;
    let wrong = ann.post(FACTOR, &[("do", "begin"), ("current", "a wrong one")]).await;
    assert_eq!(wrong.status, 400);
    wrong.hides("<svg");
    let scan = ann.post(FACTOR, &[("do", "begin"), ("current", ANN.1)]).await;
    let authenticator = secret_of(&scan);
    let ticket = between(&scan, "name=\"ticket\" value=\"", "\"").to_owned();
    let again =
        ann.post(FACTOR, &[("do", "confirm"), ("ticket", &ticket), ("code", "000000")]).await;
    assert_eq!(again.status, 400);
    assert_eq!(secret_of(&again).0, authenticator.0, "the same secret is shown again");
    let mut forged = ticket.clone();
    forged.replace_range(..2, if ticket.starts_with("AA") { "BB" } else { "AA" });
    let code = authenticator.code(now(&server));
    for bad in [forged.as_str(), "", "AAAA"] {
        let pairs = [("do", "confirm"), ("ticket", bad), ("code", &*code)];
        assert_eq!(ann.post(FACTOR, &pairs).await.status, 400, "{bad}");
    }
    other.open(AGENDA).await;
    let confirm = [("do", "confirm"), ("ticket", &*ticket), ("code", &*code)];
    assert_eq!(recovery_codes(&ann.post(FACTOR, &confirm).await).len(), 10);
    assert_eq!(other.get(AGENDA).await.status, 303, "it was opened with the password alone");
    ann.open(AGENDA).await;
    // The page is of no more use, and nothing begins anew.
    assert_eq!(ann.post(FACTOR, &confirm).await.status, 400);
    let begun = ann.post(FACTOR, &[("do", "begin"), ("current", ANN.1)]).await;
    assert_eq!(begun.status, 303);
}

#[tokio::test]
async fn five_wrong_codes_count_as_a_wrong_password_and_ask_for_it_again() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let (authenticator, _) = enrol(&mut ann, FACTOR, ANN.1, now(&server)).await;
    advance(&server, 300);
    // A stranger's browser has no cookie by which it is known.
    for failure in 0..10 {
        let mut guesser = half_way(&server).await;
        for nth in 1..=5 {
            let wrong = guesser.post("/login/code", &[("code", "000000")]).await;
            let expected = if nth < 5 { 401 } else { 303 };
            assert_eq!(wrong.status, expected, "{failure} {nth}");
        }
        assert_eq!(guesser.get("/login/code").await.location(), "/login");
    }
    let mut guesser = Professional::stranger(&server);
    let refused = guesser.log_in("/login", ANN.0, ANN.1, &[]).await;
    // The right password is cached, so it is the code that is refused.
    assert_eq!(refused.status, 303);
    let code = authenticator.code(now(&server));
    let limited = guesser.post("/login/code", &[("code", &code)]).await;
    assert_eq!(limited.status, 429);
    advance(&server, 600);
    let mut ann = half_way(&server).await;
    let code = authenticator.code(now(&server));
    assert_eq!(ann.post("/login/code", &[("code", &code)]).await.status, 303);
}

#[tokio::test]
async fn a_group_may_demand_it_and_then_neither_basic_nor_sessions_reach_it() {
    let server = TestServer::start().await;
    let demand = json!({"group": {"second_factor_required": true}});
    let by_basic = |method: Method, path: &str| server.by_pro(method, path);
    let refused = answer(by_basic(Method::PUT, "/groups/4").json(&demand)).await;
    refused.refused(409, 2, None);
    assert!(refused.text.contains("second_factor_required"), "{}", refused.text);
    let mut ann = Professional::logged_in(&server, ANN).await;
    let form = ann.open("/p/cut-co/settings/shop").await;
    form.shows("second_factor_required");
    let session = json!({"pro": {"email": ANN.0, "password": slotbook::password::sha1_hex(ANN.1)}});
    let log_in = || {
        let login = format!("/api/v1/sessions/login?apikey={KEY}");
        server.bare(Method::POST, &login).json(&session)
    };
    let opened = answer(log_in()).await;
    let opened_cookie = opened.headers["set-cookie"].to_str().expect("a text").to_owned();
    let opened_cookie = opened_cookie.split(';').next().expect("a pair").to_owned();
    let by_session = || server.bare(Method::GET, "/api/v1/groups/4/fiches");
    answer(by_session().header("cookie", &opened_cookie)).await.is(200);

    let (authenticator, _) = enrol(&mut ann, FACTOR, ANN.1, now(&server)).await;
    answer(by_basic(Method::PUT, "/groups/4").json(&demand)).await.is(200);
    for request in [
        by_basic(Method::GET, "/groups/4"),
        by_basic(Method::GET, "/groups/4/fiches"),
        by_basic(Method::PUT, "/groups/4").json(&json!({"group": {"phone": "1"}})),
        server
            .bare(Method::GET, &format!("/api/v1/calendars?apikey={KEY}"))
            .basic_auth(ANN.0, Some(ANN.1)),
        by_session().header("cookie", &opened_cookie),
        log_in(),
    ] {
        let answer = answer(request).await;
        answer.refused(403, 1, None);
        assert!(answer.text.contains("second_factor_required"), "{}", answer.text);
    }
    let groups = answer(by_basic(Method::GET, "/groups")).await.is(200);
    assert_eq!(groups["records"], json!([]), "the list does not show it either");
    // The public and the person's login at the screens go on.
    answer(server.by_key(Method::GET, "/groups/4")).await.is(200);
    ann.open(AGENDA).await;
    let login = ann.login_cookie().to_owned();
    let by_script = |path: &str| {
        let request = server.bare(Method::GET, &format!("/api/v1{path}"));
        request.header("cookie", &login).header("sec-fetch-site", "same-origin")
    };
    answer(by_script("/groups/4/fiches")).await.is(200);
    // Without the factor the screens lead to it, and show nothing else of the group.
    advance(&server, 30);
    let code = authenticator.code(now(&server));
    let cookies = ann.cookies.clone();
    let removal = [("do", "remove"), ("current", ANN.1), ("code", &*code)];
    assert_eq!(ann.post(FACTOR, &removal).await.status, 303);
    let lacking = Professional::at(server.address(), &cookies);
    for path in [AGENDA, "/p/cut-co/clients", "/p/cut-co/settings", "/p/cut-co/logins"] {
        assert_eq!(lacking.get(path).await.location(), FACTOR, "{path}");
    }
    lacking.open(FACTOR).await.shows("This practice requires a second factor.");
    answer(by_script("/groups/4/fiches")).await.refused(403, 1, None);
    advance(&server, 30);
    enrol(&mut ann, FACTOR, ANN.1, now(&server)).await;
    ann.open(AGENDA).await;
}

#[tokio::test]
async fn the_form_refuses_the_demand_of_a_person_without_a_factor() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let path = "/p/cut-co/settings/shop";
    let revision = between(&ann.open(path).await, "name=\"revision\" value=\"", "\"").to_owned();
    let revision = revision.replace("&#34;", "\"");
    let pairs = [("revision", &*revision), ("name", "Cut & Co"), ("second_factor_required", "1")];
    let refused = ann.post(path, &pairs).await;
    refused.shows("Set up your own second factor first");
    ann.open(AGENDA).await;
}

#[tokio::test]
async fn another_password_keeps_the_factor_and_a_removed_professional_loses_it() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    enrol(&mut ann, FACTOR, ANN.1, now(&server)).await;
    let new = "three plain words";
    let changed = ann.post("/p/cut-co/password", &[("current", ANN.1), ("password", new)]).await;
    assert_eq!(changed.status, 303, "{}", changed.html);
    ann.open(AGENDA).await;
    let mut other = Professional::stranger(&server);
    let step = other.log_in("/login", ANN.0, new, &[]).await;
    assert_eq!(step.location(), "/login/code");
    let directory = server.engine.published().directory();
    let id = directory.pros.find_by_email(ANN.0).expect("Ann").id;
    assert!(directory.second_factors.contains_key(&id));
    let email = slotbook::domain::records::text::Email::new(ANN.0).expect("an address");
    let removed = slotbook::domain::directory::access::ChangeAccess::RemovePro {
        email,
        groups: std::collections::BTreeSet::new(),
    };
    server.engine.change_access(None, removed).await.expect("it is known");
    assert!(server.engine.published().directory().second_factors.is_empty());
    assert_eq!(other.get("/login/code").await.location(), "/login");
}

#[tokio::test]
async fn a_code_stays_used_over_a_kill_and_the_operator_removes_a_lost_telephone() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    document["groups"][0]["urlname"] = json!("practice");
    let data = store_of(folder.path(), &document);
    let at = |server: &Served| server.base.trim_start_matches("http://").to_owned();
    let (email, factor) = ("pro@example.org", "/p/practice/second-factor");
    let server = Served::on(&data, &[]);
    let mut pro = Professional::at(&at(&server), "");
    assert_eq!(pro.log_in("/login", email, "secret", &[]).await.location(), "/p");
    let now = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs().cast_signed();
    let (authenticator, codes) = enrol(&mut pro, factor, "secret", now).await;
    server.end("KILL");
    let copy = folder.path().join("copy");
    let made = run(&["backup", copy.to_str().expect("a text")], &data);
    assert!(made.status.success(), "{}", complaint(&made));
    // The journal and a snapshot know that the code was used.
    for store in [&data, &copy] {
        let server = Served::on(store, &[]);
        let mut other = Professional::at(&at(&server), "");
        let step = other.log_in("/login", email, "secret", &[]).await;
        assert_eq!(step.location(), "/login/code");
        let again = other.post("/login/code", &[("code", &authenticator.code(now))]).await;
        assert_eq!(again.status, 401);
        let by_recovery = other.post("/login/code", &[("recovery", &codes[0])]).await;
        assert_eq!(by_recovery.location(), "/p");
        server.end("KILL");
    }
    let server = Served::on(&data, &[]);
    let removal = ["pro", "second-factor", "--remove", email];
    let removed = run(&removal, &data);
    assert!(removed.status.success(), "{}", complaint(&removed));
    assert!(complaint(&run(&removal, &data)).contains("has no second factor"));
    let mut other = Professional::at(&at(&server), "");
    assert_eq!(other.log_in("/login", email, "secret", &[]).await.location(), "/p");
    server.end("KILL");
    let text = exported(&data).to_string();
    assert!(!text.contains(&authenticator.0) && !text.contains("second_factors"));
}

#[tokio::test]
async fn the_pages_of_the_factor_are_accessible() {
    for language in ["en", "fr"] {
        let server = TestServer::start().await;
        let look = Look { language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        log_in(&browser).await;
        browser.goto(FACTOR).await;
        check(&browser, look, "factor-none").await;
        browser.type_into("#current", ANN.1).await;
        browser.click("main form button").await;
        browser.await_element("#secret").await;
        check(&browser, look, "factor-scan").await;
        let secret = browser.run("return document.getElementById('secret').textContent").await;
        let authenticator = Authenticator(secret.as_str().expect("a text").replace(' ', ""));
        browser.type_into("#code", &authenticator.code(now(&server))).await;
        browser.click("main form button").await;
        browser.await_element(".recovery").await;
        check(&browser, look, "factor-codes").await;
        browser.goto(FACTOR).await;
        check(&browser, look, "factor-active").await;
        browser.goto("/p/cut-co/logins").await;
        check(&browser, look, "factor-logins").await;
        browser.click(".account form button").await;
        browser.arrive_at("/login").await;
        browser.type_into("#email", ANN.0).await;
        browser.type_into("#password", ANN.1).await;
        browser.click("main button").await;
        browser.arrive_at("/login/code").await;
        check(&browser, look, "factor-code").await;
        browser.type_into("#code", "000000").await;
        browser.click("main button").await;
        browser.await_element("#code-fault").await;
        check(&browser, look, "factor-wrong").await;
        advance(&server, 30);
        browser.type_into("#code", &authenticator.code(now(&server))).await;
        browser.click("main button").await;
        browser.arrive_at(AGENDA).await;
    }
}

async fn check(browser: &Browser, look: Look, name: &str) {
    browser.run("document.querySelectorAll('main details').forEach(d => d.open = true)").await;
    browser.assert_screen(look, name).await;
}
