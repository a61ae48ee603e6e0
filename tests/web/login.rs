//! The login of professionals at their own screens.

use std::sync::Arc;

use reqwest::Method;
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::records::message::{Message, MessageContent};
use slotbook::domain::records::text::{Name, Text};
use slotbook::engine::admission::AdmissionLimits;

use crate::browser::{Browser, PHONE};
use crate::program::{Served, complaint, practice, run, store_of};
use crate::server::TestServer;
use crate::shop::{self, ANN, EVE, clock};
use crate::visitor::{Page, Visitor};

/// A professional with a browser that keeps cookies and has no JavaScript.
pub(crate) struct Professional {
    visitor: Visitor,
    /// The cookies of the browser, as it sends them.
    pub(crate) cookies: String,
}

impl Professional {
    /// A browser that is not logged in.
    pub(crate) fn stranger(server: &TestServer) -> Self {
        Self { visitor: Visitor::of(server), cookies: String::new() }
    }

    /// The browser of a professional at a server that was started with the program.
    pub(crate) fn at(address: &str, cookies: &str) -> Self {
        Self { visitor: Visitor::at(address), cookies: cookies.to_owned() }
    }

    /// A professional who is logged in.
    pub(crate) async fn logged_in(server: &TestServer, (email, password): (&str, &str)) -> Self {
        let mut professional = Self::stranger(server);
        let page = professional.log_in("/login", email, password, &[]).await;
        assert_eq!(page.status, 303, "{}", page.html);
        professional
    }

    /// Sends the form of the login, and keeps the cookies of the answer.
    pub(crate) async fn log_in(
        &mut self,
        path: &str,
        email: &str,
        password: &str,
        others: &[(&str, &str)],
    ) -> Page {
        let mut pairs = vec![("email", email), ("password", password)];
        pairs.extend(others);
        self.post(path, &pairs).await
    }

    pub(crate) async fn get(&self, path: &str) -> Page {
        let request = self.visitor.request(Method::GET, path).header("cookie", &self.cookies);
        self.visitor.send(request).await
    }

    /// The same for a browser that has shown the page with a tag.
    pub(crate) async fn get_known(&self, path: &str, tag: &str) -> Page {
        let request = self.visitor.request(Method::GET, path).header("cookie", &self.cookies);
        self.visitor.send(request.header("if-none-match", tag)).await
    }

    /// The page, which must be there.
    pub(crate) async fn open(&self, path: &str) -> Page {
        let page = self.get(path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.html);
        page
    }

    /// Sends a form, and keeps the cookies of the answer.
    pub(crate) async fn post(&mut self, path: &str, pairs: &[(&str, &str)]) -> Page {
        let owned: Vec<(String, String)> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let request = self.visitor.form(path, &owned).header("cookie", &self.cookies);
        let page = self.visitor.send(request).await;
        for cookie in set_cookies(&page) {
            let pair = cookie.split(';').next().expect("a pair");
            let name = pair.split('=').next().expect("a name");
            let mut kept: Vec<&str> = self.cookies.split("; ").collect();
            kept.retain(|other| !other.is_empty() && other.split('=').next() != Some(name));
            if !pair.ends_with('=') {
                kept.push(pair);
            }
            self.cookies = kept.join("; ");
        }
        page
    }

    /// The cookie of the login alone.
    pub(crate) fn login_cookie(&self) -> &str {
        let mut cookies = self.cookies.split("; ");
        cookies.find(|cookie| cookie.starts_with("_practice=")).expect("a login")
    }
}

/// The cookies that an answer sets, with their attributes.
fn set_cookies(page: &Page) -> Vec<&str> {
    let cookies = page.headers.get_all("set-cookie").iter();
    cookies.map(|cookie| cookie.to_str().expect("a text")).collect()
}

#[tokio::test]
async fn a_professional_logs_in_and_out_and_comes_to_the_page_that_was_asked_for() {
    let server = TestServer::start().await;
    let mut ann = Professional::stranger(&server);
    let asked = ann.get("/p/cut-co/agenda?lang=fr").await;
    let login = asked.location().to_owned();
    assert_eq!(login, "/login?next=%2Fp%2Fcut-co%2Fagenda%3Flang%3Dfr&lang=fr");
    ann.open(&login).await.shows("Se connecter");
    let wrong = ann.log_in(&login, ANN.0, "a wrong one", &[]).await;
    assert_eq!(wrong.status, 401);
    wrong.shows("est faux");
    wrong.shows(ANN.0);
    wrong.hides("a wrong one");
    assert!(set_cookies(&wrong).is_empty());
    let right = ann.log_in(&login, ANN.0, ANN.1, &[]).await;
    assert_eq!(right.location(), "/p/cut-co/agenda?lang=fr");
    let agenda = ann.open("/p/cut-co/agenda").await;
    agenda.shows("Cut &#38; Co");
    agenda.shows("A Pro");
    assert_eq!(ann.get(&login).await.location(), "/p/cut-co/agenda?lang=fr");
    assert_eq!(ann.get("/p").await.location(), "/p/cut-co/agenda");
    assert_eq!(ann.get("/p/cut-co").await.location(), "/p/cut-co/agenda");
    let before = ann.cookies.clone();
    assert_eq!(ann.post("/logout", &[]).await.location(), "/login");
    assert!(!ann.cookies.contains("_practice"), "the browser forgets it");
    ann.cookies = before;
    assert_eq!(ann.get("/p").await.location(), "/login?next=%2Fp", "and so does the server");
}

#[tokio::test]
async fn a_form_without_a_login_stays_at_its_address_and_changes_nothing() {
    let server = TestServer::start().await;
    let mut stranger = Professional::stranger(&server);
    let before = server.pro_get("/groups/4/fiches").await.text;
    let fields = [("lastname", "Typed"), ("hostile", "<script>")];
    let page = stranger.post("/p/cut-co/clients/new", &fields).await;
    assert_eq!(page.status, 401);
    page.shows("Your login is over");
    page.shows("href=\"/login\" target=\"_blank\"");
    page.hides("Typed");
    page.hides("<script>");
    assert_eq!(server.pro_get("/groups/4/fiches").await.text, before);
}

#[tokio::test]
async fn a_group_of_another_has_no_screen_for_a_professional() {
    let server = TestServer::start().await;
    let eve = Professional::logged_in(&server, EVE).await;
    for path in ["/p/cut-co/agenda", "/p/cut-co", "/p/nowhere/agenda"] {
        assert_eq!(eve.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_login_lasts_for_12_hours_or_30_days_of_a_person_who_stays() {
    for (others, seconds, max_age) in
        [(&[][..], 12 * 3_600, ""), (&[("stay", "1")], 30 * 86_400, "; Max-Age=2592000")]
    {
        let server = TestServer::start().await;
        let mut ann = Professional::stranger(&server);
        let page = ann.log_in("/login", ANN.0, ANN.1, others).await;
        let set = set_cookies(&page)[0].to_owned();
        let token = ann.login_cookie().strip_prefix("_practice=").expect("the name").to_owned();
        assert!(token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{token}");
        let expected = format!("_practice={token}{max_age}; Path=/; HttpOnly; SameSite=Lax");
        assert_eq!(set, expected);
        server.at(clock(8, 0).plus_seconds(seconds - 1));
        ann.open("/p/cut-co/agenda").await;
        server.at(clock(8, 0).plus_seconds(seconds));
        ann.get("/p/cut-co/agenda").await.location();
    }
}

#[tokio::test]
async fn behind_tls_the_cookie_is_of_this_host_alone() {
    let groups = vec![shop::group_four(|_| {}), shop::group_five()];
    let server = TestServer::serving(groups, |server| server.behind_tls(true)).await;
    let mut ann = Professional::stranger(&server);
    let form = [("email", ANN.0), ("password", ANN.1)].map(|(n, v)| (n.to_owned(), v.to_owned()));
    let origin = format!("https://{}", server.address());
    let request = ann.visitor.form("/login", &form);
    let refused = ann.visitor.send(request).await;
    assert_eq!(refused.status, 403, "the page of this form came without TLS");
    let request = ann.visitor.form("/login", &form);
    let mut request = request.build().expect("a request");
    request.headers_mut().insert("origin", origin.parse().expect("a header"));
    let page = ann.visitor.execute(request).await;
    assert_eq!(page.status, 303);
    let set = set_cookies(&page)[0];
    assert!(set.starts_with("__Host-_practice="), "{set}");
    assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Lax; Secure"), "{set}");
    let pair = set.split(';').next().expect("a pair");
    pair.clone_into(&mut ann.cookies);
    ann.open("/p/cut-co/agenda").await;
    // Another host of the domain can set the plain name.
    ann.cookies = pair.replace("__Host-_practice", "_practice");
    ann.get("/p/cut-co/agenda").await.location();
}

#[tokio::test]
async fn another_login_with_the_browser_ends_the_one_before() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let before = ann.cookies.clone();
    ann.log_in("/login", ANN.0, ANN.1, &[]).await.location();
    ann.open("/p/cut-co/agenda").await;
    ann.cookies = before;
    ann.get("/p/cut-co/agenda").await.location();
}

#[tokio::test]
async fn a_professional_sees_the_logins_and_ends_one_or_all_others() {
    let server = TestServer::start().await;
    let mut here = Professional::logged_in(&server, ANN).await;
    let others = [
        Professional::logged_in(&server, ANN).await,
        Professional::logged_in(&server, ANN).await,
        Professional::logged_in(&server, ANN).await,
    ];
    let eve = Professional::logged_in(&server, EVE).await;
    let list = here.open("/p/cut-co/logins").await;
    let mut ids = list.values("end");
    assert_eq!(ids.pop().as_deref(), Some("others"));
    assert_eq!(ids.len(), 3, "not that of this browser");
    list.shows("this device");
    let end = here.post("/p/cut-co/logins", &[("end", &ids[0])]).await;
    assert_eq!(end.location(), "/p/cut-co/logins");
    let active = async || {
        let mut active = 0;
        for other in &others {
            active += usize::from(other.get("/p/cut-co/agenda").await.status == 200);
        }
        active
    };
    assert_eq!(active().await, 2);
    for nothing in ["", "x", "0", "99999999999999999999"] {
        here.post("/p/cut-co/logins", &[("end", nothing)]).await.location();
    }
    assert_eq!(active().await, 2);
    here.post("/p/cut-co/logins", &[("end", "others")]).await.location();
    assert_eq!(active().await, 0);
    here.open("/p/cut-co/logins").await.hides("value=\"others\"");
    eve.get("/p").await.location();
}

#[tokio::test]
async fn a_professional_changes_the_password_and_all_other_logins_end() {
    const PASSWORD: &str = "/p/cut-co/password";
    const NEW: &str = "three plain words";
    let server = TestServer::start().await;
    let mut here = Professional::logged_in(&server, ANN).await;
    let other = Professional::logged_in(&server, ANN).await;
    here.open("/p/cut-co/logins").await.shows("href=\"/p/cut-co/password\"");
    here.open(PASSWORD).await.shows("Change the password");
    for (current, new, fault) in [
        (ANN.1, "too short", "id=\"password-fault\""),
        (ANN.1, "Password2026", "id=\"password-fault\""),
        (ANN.1, "", "id=\"password-fault\""),
        ("a wrong one", NEW, "id=\"current-fault\""),
        ("", NEW, "id=\"current-fault\""),
    ] {
        let refused = here.post(PASSWORD, &[("current", current), ("password", new)]).await;
        assert_eq!(refused.status, 400, "{current} {new}");
        refused.shows(fault);
        refused.hides("a wrong one");
        refused.hides(NEW);
    }
    other.open("/p/cut-co/agenda").await;
    let before = here.login_cookie().to_owned();
    let form = [("current", ANN.1), ("password", NEW)];
    let changed = here.post(PASSWORD, &form).await;
    assert_eq!(changed.location(), "/p/cut-co/logins?changed=1");
    assert_ne!(here.login_cookie(), before, "a new token");
    let list = here.open(changed.location()).await;
    list.shows("The password is saved.");
    assert_eq!(list.values("end").len(), 0, "this one alone");
    assert!(other.get("/p/cut-co/agenda").await.location().starts_with("/login"));
    let old = Professional { cookies: before, ..Professional::stranger(&server) };
    assert!(old.get("/p/cut-co/agenda").await.location().starts_with("/login"));
    let mut again = Professional::stranger(&server);
    assert_eq!(again.log_in("/login", ANN.0, ANN.1, &[]).await.status, 401);
    assert_eq!(again.log_in("/login", ANN.0, NEW, &[]).await.status, 303);
}

#[tokio::test]
async fn a_changed_password_keeps_the_length_of_the_login() {
    let server = TestServer::start().await;
    for (others, is_long) in [(&[][..], false), (&[("stay", "1")], true)] {
        let mut ann = Professional::stranger(&server);
        let passwords = ["secret", "three plain words"];
        let [current, new] = if is_long { [passwords[1], "four plain words"] } else { passwords };
        ann.log_in("/login", ANN.0, current, others).await.location();
        let form = [("current", current), ("password", new)];
        let changed = ann.post("/p/cut-co/password", &form).await;
        let cookies = set_cookies(&changed);
        let login = cookies.iter().find(|cookie| cookie.starts_with("_practice="));
        assert_eq!(login.expect("a login").contains("Max-Age=2592000"), is_long);
    }
}

#[tokio::test]
async fn wrong_present_passwords_count_as_failed_logins() {
    let server = TestServer::start().await;
    let mut ann = Professional::logged_in(&server, ANN).await;
    let form = |current| [("current", current), ("password", "three plain words")];
    for _ in 0..10 {
        assert_eq!(ann.post("/p/cut-co/password", &form("wrong")).await.status, 400);
    }
    let refused = ann.post("/p/cut-co/password", &form(ANN.1)).await;
    assert_eq!(refused.status, 429);
    assert!(refused.headers.contains_key("retry-after"));
    ann.open("/p/cut-co/agenda").await;
    let mut eve = Professional::logged_in(&server, EVE).await;
    assert_eq!(eve.post("/p/cut-co/password", &form(EVE.1)).await.status, 404);
    let mut stranger = Professional::stranger(&server);
    assert_eq!(stranger.post("/p/cut-co/password", &form(ANN.1)).await.status, 401);
}

#[tokio::test]
async fn a_professional_of_several_groups_chooses_one_and_the_address_names_it() {
    let mut directory = shop::directory();
    let mut ann = directory.pros.values().next().expect("Ann").clone();
    ann.groups.push(GroupId::new(5).expect("an id"));
    directory.pros.insert(ann.id, ann);
    let mut five = shop::group_five();
    let mut catalogue = five.catalogue.as_ref().clone();
    catalogue.group.name = Name::new("Salon d’été").expect("a name");
    catalogue.group.urlname = Text::new("salon d’été/5").expect("a text");
    five.catalogue = Arc::new(catalogue);
    let groups = vec![shop::group_four(|_| {}), five];
    let limits = AdmissionLimits::default();
    let server = TestServer::begin(limits, directory, groups, |server| server).await;
    let ann = Professional::logged_in(&server, ANN).await;
    let choice = ann.open("/p").await;
    let five = "/p/salon%20d%E2%80%99%C3%A9t%C3%A9%2F5/agenda";
    for (url, name) in [("/p/cut-co/agenda", "Cut &#38; Co"), (five, "Salon d’été")] {
        choice.shows(&format!("href=\"{url}\""));
        let agenda = ann.open(url).await;
        agenda.shows(name);
        agenda.shows("Change practice");
    }
    let lead = five.strip_suffix("/agenda").expect("the agenda");
    assert_eq!(ann.get(lead).await.location(), five);
}

/// The tokens of links to set another password, the newest last.
pub(crate) fn mailed_tokens(server: &TestServer) -> Vec<String> {
    let four = GroupId::new(4).expect("an id");
    let state = server.engine.published().group_state(four).expect("group 4");
    let mut tokens = Vec::new();
    for message in state.outbox.messages() {
        if let MessageContent::AccountLink { token, .. } = &message.content {
            assert_eq!(
                (message.kind().name(), message.recipient.as_str()),
                ("pro_password", ANN.0)
            );
            tokens.push(token.as_str().to_owned());
        }
    }
    tokens
}

/// Waits until so many links were mailed.
pub(crate) async fn await_tokens(server: &TestServer, count: usize) -> Vec<String> {
    for _ in 0..1_000 {
        let tokens = mailed_tokens(server);
        if tokens.len() == count {
            return tokens;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("{:?}", mailed_tokens(server));
}

/// Asks for a link, and returns the answer.
pub(crate) async fn forget(server: &TestServer, email: &str) -> Page {
    let mut stranger = Professional::stranger(server);
    stranger.post("/login/forgotten", &[("email", email)]).await
}

#[tokio::test]
async fn a_forgotten_password_is_set_by_a_mailed_link_that_works_once() {
    let server = TestServer::start().await;
    let thief = Professional::logged_in(&server, ANN).await;
    assert_eq!(forget(&server, " Ann@Example.org ").await.status, 200);
    let link = format!("/m/{}", await_tokens(&server, 1).await[0]);
    let mut ann = Professional::stranger(&server);
    let form = ann.open(&link).await;
    form.shows(ANN.0);
    assert_eq!(form.headers["referrer-policy"], "no-referrer");
    for bad in ["", "too short", "password2026"] {
        let refused = ann.post(&link, &[("password", bad)]).await;
        assert_eq!(refused.status, 400, "{bad}");
        refused.shows("common one");
    }
    thief.open("/p/cut-co/agenda").await;
    let new = "three plain words";
    let set = ann.post(&link, &[("password", new)]).await;
    assert_eq!(set.status, 200);
    set.shows("You can log in");
    assert!(set_cookies(&set).is_empty(), "a form of another site could have sent it");
    thief.get("/p/cut-co/agenda").await.location();
    assert_eq!(ann.get(&link).await.status, 404);
    assert_eq!(ann.post(&link, &[("password", "three other words")]).await.status, 404);
    assert_eq!(ann.log_in("/login", ANN.0, ANN.1, &[]).await.status, 401);
    assert_eq!(ann.log_in("/login", ANN.0, new, &[]).await.location(), "/p");
}

#[tokio::test]
async fn a_link_to_set_a_password_is_good_for_one_hour_and_two_are_mailed_in_it() {
    let server = TestServer::start().await;
    for _ in 0..5 {
        assert_eq!(forget(&server, ANN.0).await.status, 200);
    }
    let first = format!("/m/{}", await_tokens(&server, 2).await[0]);
    let visitor = Visitor::of(&server);
    server.at(clock(8, 59));
    visitor.open(&first).await;
    server.at(clock(9, 0));
    assert_eq!(visitor.get(&first).await.status, 404);
    forget(&server, ANN.0).await;
    let tokens = await_tokens(&server, 3).await;
    let forged = tokens[2].replacen("p.4.1.", "p.4.2.", 1);
    let admission = tokens[2].replacen("p.", "l.", 1);
    for wrong in [forged, admission, tokens[2][..tokens[2].len() - 1].to_owned()] {
        assert_eq!(visitor.get(&format!("/m/{wrong}")).await.status, 404, "{wrong}");
    }
    visitor.open(&format!("/m/{}", tokens[2])).await;
}

/// Waits until so many messages to an address are kept, in any group. Returns their kinds.
async fn await_mails_to(server: &TestServer, email: &str, count: usize) -> Vec<&'static str> {
    let published = server.engine.published();
    for _ in 0..1_000 {
        let mut kinds = Vec::new();
        for state in published.groups().filter_map(|group| published.group_state(group)) {
            let to = state.outbox.messages().filter(|message| message.recipient.as_str() == email);
            kinds.extend(to.map(|message| message.kind().name()));
        }
        if kinds.len() >= count {
            return kinds;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("fewer than {count} messages to {email}");
}

#[tokio::test]
async fn a_known_and_an_unknown_address_get_the_same_answer() {
    let server = TestServer::start().await;
    let mut answers = Vec::new();
    for email in [ANN.0, "nobody@example.org"] {
        let mut page = forget(&server, email).await;
        page.headers.remove("date");
        page.headers.remove("x-request-id");
        answers.push((page.status, page.headers, page.html));
    }
    assert_eq!(answers[0], answers[1]);
    // Each costs one write with one mail, whatever group it is of, and at most two an hour.
    let both = [(ANN.0, "pro_password"), ("nobody@example.org", "unknown_login")];
    for (email, kind) in both {
        for _ in 0..4 {
            forget(&server, email).await;
        }
        assert_eq!(await_mails_to(&server, email, 2).await, [kind, kind]);
    }
    // Later ones leave again. Those of before have had their time by then.
    server.at(clock(10, 0));
    for (email, kind) in both {
        forget(&server, email).await;
        assert_eq!(await_mails_to(&server, email, 3).await, [kind; 3]);
    }
    // Some of these are of group 4, whose professionals learn nothing of them.
    for number in 0..6 {
        let email = format!("stranger{number}@example.org");
        forget(&server, &email).await;
        await_mails_to(&server, &email, 1).await;
    }
    let four = GroupId::new(4).expect("an id");
    let state = server.engine.published().group_state(four).expect("group 4");
    let is_strange = |message: &Arc<Message>| message.kind().name() == "unknown_login";
    assert!(state.outbox.messages().any(is_strange));
    let list = server.pro_get("/groups/4/messages").await;
    assert_eq!(list.status, 200, "{}", list.text);
    assert!(list.text.contains("pro_password") && !list.text.contains("unknown_login"));
    let bad = forget(&server, "no address <").await;
    assert_eq!(bad.status, 400);
    bad.shows("no address &#60;");
    bad.shows("complete e-mail address");
}

#[tokio::test]
async fn without_a_mail_server_the_page_names_the_command_of_the_operator() {
    let groups = vec![shop::group_four(|_| {}), shop::group_five()];
    let without = |server: slotbook::http::Server| {
        server.with_gateways(Arc::new(slotbook::notify::Gateways::unconfigured("")))
    };
    let server = TestServer::serving(groups, without).await;
    let ann = Professional::stranger(&server);
    ann.open("/login").await.shows("href=\"/login/forgotten\"");
    ann.open("/login/forgotten").await.shows("slotbook pro password EMAIL");
    let asked = forget(&server, ANN.0).await;
    assert_eq!(asked.status, 503);
    asked.shows("slotbook pro password EMAIL");
}

#[tokio::test]
async fn a_browser_logs_in_stays_and_logs_out_with_and_without_scripts() {
    let server = TestServer::start().await;
    for (has_scripts, stays) in [(true, true), (false, false)] {
        let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
        if !has_scripts {
            browser.without_scripts().await;
        }
        browser.goto("/p/cut-co/agenda").await;
        browser.arrive_at("/login").await;
        browser.type_into("#email", ANN.0).await;
        browser.type_into("#password", "a wrong one\u{e007}").await;
        browser.await_element("#wrong").await;
        browser.type_into("#password", ANN.1).await;
        if stays {
            browser.click("input[name=stay]").await;
        }
        browser.press("\u{e007}").await;
        browser.arrive_at("/p/cut-co/agenda").await;
        let cookies = browser.client.get_all_cookies().await.expect("cookies");
        let login = cookies.iter().find(|cookie| cookie.name() == "_practice").expect("a login");
        assert_eq!(login.http_only(), Some(true));
        assert_eq!(login.expires().is_some_and(|end| end.is_datetime()), stays);
        browser.goto("/p/cut-co/logins").await;
        browser.click("header form button").await;
        browser.arrive_at("/login").await;
        let cookies = browser.client.get_all_cookies().await.expect("cookies");
        assert!(cookies.iter().all(|cookie| cookie.name() != "_practice"));
        browser.goto("/p/cut-co/agenda").await;
        browser.arrive_at("/login").await;
    }
}

#[tokio::test]
async fn a_script_of_the_screens_needs_no_key() {
    let server = TestServer::start().await;
    let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
    browser.goto("/login").await;
    browser.type_into("#email", ANN.0).await;
    browser.type_into("#password", &format!("{}\u{e007}", ANN.1)).await;
    browser.arrive_at("/p/cut-co/agenda").await;
    let script = "const done = arguments[arguments.length - 1];
        const list = await fetch('/api/v1/groups/4/fiches');
        const made = await fetch('/api/v1/groups/4/fiches', {method: 'POST',
            headers: {'content-type': 'application/json'},
            body: JSON.stringify({fiche: {lastname: 'Durand'}})});
        const other = await fetch('/api/v1/groups/5/fiches');
        done([list.status, made.status, other.status]);";
    let script = format!("(async (...arguments) => {{ {script} }})(...arguments);");
    let found = browser.client.execute_async(&script, Vec::new()).await.expect("the script runs");
    assert_eq!(found, serde_json::json!([200, 201, 404]));
}

#[tokio::test]
async fn a_login_survives_a_killed_server_and_its_end_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    document["groups"][0]["urlname"] = serde_json::json!("practice");
    let data = store_of(folder.path(), &document);
    let at = |server: &Served| server.base.trim_start_matches("http://").to_owned();
    let server = Served::on(&data, &[]);
    let mut browsers = Vec::new();
    for _ in 0..2 {
        let visitor = Visitor::at(&at(&server));
        let mut browser = Professional { visitor, cookies: String::new() };
        let page = browser.log_in("/login", "pro@example.org", "secret", &[]).await;
        assert_eq!(page.location(), "/p");
        browsers.push(browser);
    }
    let [mut kept, mut ended] = <[Professional; 2]>::try_from(browsers).ok().expect("two");
    let before = ended.cookies.clone();
    assert_eq!(ended.post("/logout", &[]).await.location(), "/login");
    ended.cookies = before;
    server.end("KILL");
    for _ in 0..2 {
        let server = Served::on(&data, &[]);
        kept.visitor = Visitor::at(&at(&server));
        ended.visitor = Visitor::at(&at(&server));
        kept.open("/p/practice/agenda").await;
        ended.get("/p/practice/agenda").await.location();
        server.end("KILL");
    }
    // A backup holds snapshots, and no journal.
    let copy = folder.path().join("copy");
    let made = run(&["backup", copy.to_str().expect("a text")], &data);
    assert!(made.status.success(), "{}", complaint(&made));
    let server = Served::on(&copy, &[]);
    kept.visitor = Visitor::at(&at(&server));
    ended.visitor = Visitor::at(&at(&server));
    kept.open("/p/practice/agenda").await;
    ended.get("/p/practice/agenda").await.location();
}
