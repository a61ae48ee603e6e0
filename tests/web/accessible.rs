//! Every screen and state, for people who see or move badly: axe, the width of a small phone, and
//! targets that a thumb hits. In both languages, both schemes of colours, on phone and desktop.

use std::sync::Arc;

use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::records::group::VerifyBookings;
use slotbook::domain::records::ids::{FicheId, GroupId};
use slotbook::domain::records::message::MessageContent;
use slotbook::domain::records::text::{Bounded, LongText, Text};
use slotbook::engine::admission::AdmissionLimits;
use slotbook::http::{BookingLimits, Server};
use slotbook::notify::links::unsubscribe_url;

use crate::browser::{Browser, Look, PHONE};
use crate::codes::{secret, verifying_shop};
use crate::login::{Professional, await_tokens, forget, mailed_tokens};
use crate::manage::link_of;
use crate::reasons::{shop_of_cuts, shop_with_limits, start};
use crate::server::{TestServer, answer};
use crate::shop::{self, ANN, COLOUR, CUT, KNOWN_FICHE, OTHER_CALENDAR, clock};
use crate::visitor::{Visitor, set, shop_with};

/// A screen, and the way to it.
struct Screen {
    name: &'static str,
    path: String,
    acts: Vec<Act>,
}

/// Something that a visitor does on a page.
enum Act {
    Click(&'static str),
    Type(&'static str, &'static str),
    /// Waits for an element that a script or the server makes.
    Await(&'static str),
}

fn screen(name: &'static str, path: &str) -> Screen {
    Screen { name, path: path.to_owned(), acts: Vec::new() }
}

fn after(name: &'static str, path: &str, acts: Vec<Act>) -> Screen {
    Screen { name, path: path.to_owned(), acts }
}

/// Checks screens in a language. Skips them without a browser.
async fn check(server: &TestServer, language: &'static str, screens: Vec<Screen>) {
    let look = Look { language, ..PHONE };
    let Some(browser) = Browser::open(server.address(), look).await else { return };
    for Screen { name, path, acts } in screens {
        browser.emulate(look).await;
        browser.goto(&path).await;
        for act in acts {
            match act {
                Act::Click(selector) => browser.click(selector).await,
                Act::Type(selector, text) => browser.type_into(selector, text).await,
                Act::Await(selector) => drop(browser.await_element(selector).await),
            }
        }
        check_present(&browser, look, name).await;
    }
}

/// Checks the present page of a browser in both schemes, on telephone and desk.
pub(crate) async fn check_present(browser: &Browser, look: Look, name: &str) {
    let language = look.language;
    for (width, is_dark) in [(360, false), (360, true), (1_280, false), (1_280, true)] {
        let height = if width == 360 { 740 } else { 900 };
        browser.emulate(Look { width, height, is_dark, ..look }).await;
        browser.assert_accessible(&format!("{name} {language} {width} dark={is_dark}")).await;
        let scheme = if is_dark { "dark" } else { "light" };
        browser.picture(&format!("{name}-{language}-{width}-{scheme}")).await;
    }
    browser.emulate(Look { width: 320, ..look }).await;
    browser.assert_fits(&format!("{name} {language}")).await;
    browser.assert_targets(&format!("{name} {language}")).await;
    browser.assert_words_whole(&format!("{name} {language}")).await;
    let logs = browser.console().await;
    assert!(!logs.contains("Content Security Policy"), "{name}: {logs}");
}

pub(crate) fn annulation_minutes(catalogue: &mut Catalogue, minutes: i64) {
    for calendar in catalogue.calendars.values_mut() {
        let lead = Bounded::new(minutes).expect("a lead");
        Arc::make_mut(calendar).mintime_annulation = lead;
    }
}

/// Books at a time, and returns the paths of the last step and of the appointment.
async fn book(server: &TestServer, email: &str, time: &str) -> (String, String) {
    let visitor = Visitor::of(server);
    let mut form = visitor.form_of(CUT, time).await;
    set(&mut form, "fiche.email", email);
    let done = visitor.post("/b/cut-co/you", &form).await.location().to_owned();
    let link = link_of(&visitor.open(&done).await);
    (done, link)
}

#[tokio::test]
async fn the_steps_are_accessible() {
    let server = shop_with(|catalogue| {
        catalogue.group.display_intervention_length = true;
        catalogue.group.privacy_text = LongText::new("Kept for a year.").expect("a text");
        annulation_minutes(catalogue, 60);
    })
    .await;
    let (done, _) = book(&server, "zoe@example.org", "2025-06-02T09:00").await;
    let you = format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00");
    for language in ["en", "fr"] {
        let screens = vec![
            screen("service", "/b/cut-co"),
            screen("nothing-chosen", "/b/cut-co/time"),
            screen("time", &format!("/b/cut-co/time?s={CUT}")),
            screen("month", &format!("/b/cut-co/time?s={CUT}&m=2025-07")),
            screen("empty-week", &format!("/b/cut-co/time?s={CUT}&d=2025-12-01")),
            screen("you", &you),
            after("faults", &you, vec![Act::Click(".send button"), Act::Await(".alert")]),
            after(
                "details",
                &you,
                vec![Act::Click(".relative summary"), Act::Click(".privacy summary")],
            ),
            screen("taken", &format!("/b/cut-co/you?s={CUT}&t=2025-06-02T13:00")),
            screen("done", &done),
            screen("done-before", &format!("{done}&used=1")),
            screen("not-found", "/b/nowhere"),
            screen("gone", "/m/nothing"),
        ];
        check(&server, language, screens).await;
    }
}

#[tokio::test]
async fn the_pages_of_an_appointment_are_accessible() {
    let server = shop_with(|catalogue| annulation_minutes(catalogue, 60)).await;
    let (_, link) = book(&server, "zoe@example.org", "2025-06-02T11:00").await;
    let (done_cancelled, cancelled) = book(&server, "a@example.org", "2025-06-02T11:30").await;
    Visitor::of(&server).post(&cancelled, &[]).await;
    let (_, late) = book(&server, "b@example.org", "2025-06-02T10:00").await;
    let (_, past) = book(&server, "c@example.org", "2025-06-02T09:00").await;
    server.at(clock(9, 30));
    for language in ["en", "fr"] {
        let screens = vec![
            screen("manage", &link),
            after("cancel", &link, vec![Act::Click("details.danger summary")]),
            screen("move", &format!("{link}/move")),
            screen("move-month", &format!("{link}/move?m=2025-07")),
            screen("move-question", &format!("{link}/move?t=2025-06-03T09:00")),
            screen("move-taken", &format!("{link}/move?t=2025-06-02T13:00")),
            screen("moved", &format!("{link}?moved=1")),
            screen("cancelled", &cancelled),
            after("done-cancelled", &done_cancelled, vec![Act::Await(".card + p .button")]),
            screen("late", &late),
            screen("past", &past),
        ];
        check(&server, language, screens).await;
    }
}

#[tokio::test]
async fn the_pages_for_codes_and_of_other_links_are_accessible() {
    let server = verifying_shop(|_| {}).await;
    let account = serde_json::json!({"account": {"email": "new@example.org", "group_id": 4}});
    answer(server.by_key(reqwest::Method::POST, "/accounts").json(&account)).await.is(201);
    let four = GroupId::new(4).expect("an id");
    let state = server.engine.published().group_state(four).expect("group 4");
    let mut token = String::new();
    for message in state.outbox.messages() {
        if let MessageContent::AccountLink { token: mailed, .. } = &message.content {
            mailed.as_str().clone_into(&mut token);
        }
    }
    let known = &state.fiches[&FicheId::new(KNOWN_FICHE).expect("an id")];
    let unsubscribe = unsubscribe_url("", &secret(), four, known);
    for (language, time) in [("en", "10:00"), ("fr", "11:00")] {
        let you = format!("/b/cut-co/you?s={CUT}&t=2025-06-02T{time}");
        // One address gets five codes.
        let code = |email| {
            vec![
                Act::Type("#fiche-lastname", "Durand"),
                Act::Type("#fiche-email", email),
                Act::Click(".send button"),
                Act::Await("#code"),
            ]
        };
        let mut wrong = code("wrong@example.org");
        wrong.extend([Act::Click(".send button"), Act::Await("#code-fault")]);
        let mut edited = code("edited@example.org");
        edited.extend([Act::Click("button[name=edit]"), Act::Await("#fiche-email")]);
        let later = you.replace("06-02", "06-03");
        let screens = vec![
            screen("you-for-a-code", &you),
            after("code", &you, code("zoe@example.org")),
            after("code-missing", &later, wrong),
            after("code-edit", &you.replace("06-02", "06-04"), edited),
            screen("unsubscribe", &unsubscribe),
            screen("password", &format!("/m/{token}")),
        ];
        check(&server, language, screens).await;
    }
}

#[tokio::test]
async fn the_pages_of_other_settings_are_accessible() {
    let several = shop_with(|catalogue| {
        catalogue.group.max_multirdvs = Bounded::new(3).expect("a number");
        catalogue.group.calendar_choice = 2;
        let colours = r##"{"content_links":"#ffff00","main_bg":"#000000"}"##;
        let colours = slotbook::domain::records::group::Usercolors::new(colours);
        catalogue.group.usercolors = Some(colours.expect("colours"));
    })
    .await;
    let first = shop_with(|catalogue| catalogue.group.calendar_choice = 1).await;
    let closed = shop_with(|catalogue| catalogue.group.inactive = true).await;
    let own_clients = shop_with(|catalogue| catalogue.group.open_data = false).await;
    let known = shop_with(|catalogue| catalogue.group.open = false).await;
    let mailless = shop_with(|catalogue| {
        catalogue.group.verify_bookings = VerifyBookings::Mail;
    })
    .await;
    let no_service = shop_with(|catalogue| catalogue.interventions.clear()).await;
    let cuts = shop_of_cuts(true).await;
    let full = shop_with(|catalogue| {
        for calendar in catalogue.calendars.values_mut() {
            let calendar = Arc::make_mut(calendar);
            calendar.maxrdv_period = Bounded::new(1).expect("a lead");
        }
    })
    .await;
    let groups = vec![shop::group_four(|_| {}), shop::group_five()];
    let listed = TestServer::serving(groups, |server| server.listing_groups(true)).await;
    for language in ["en", "fr"] {
        let times = format!("/b/cut-co/time?s={CUT}");
        let chosen = vec![screen("services", "/b/cut-co"), screen("with-whom", &times)];
        check(&several, language, chosen).await;
        check(&first, language, vec![screen("calendar-first", "/b/cut-co")]).await;
        check(&closed, language, vec![screen("closed", "/b/cut-co")]).await;
        check(&own_clients, language, vec![screen("closed-to-guests", "/b/cut-co")]).await;
        check(&known, language, vec![screen("known-clients", "/b/cut-co")]).await;
        check(&mailless, language, vec![screen("no-mail-server", "/b/cut-co")]).await;
        check(&no_service, language, vec![screen("no-service", "/b/cut-co")]).await;
        let none = vec![
            screen("no-calendar", &format!("/b/cut-co/time?s={COLOUR}")),
            screen("not-with-whom", &format!("{times}&c={OTHER_CALENDAR}")),
        ];
        check(&cuts, language, none).await;
        check(&full, language, vec![screen("nothing-free", &times)]).await;
        check(&listed, language, vec![screen("list", "/")]).await;
    }
}

/// Fills the form of a time in, and sends it.
fn sent(email: &'static str, shown: &'static str) -> Vec<Act> {
    let mut acts = vec![Act::Type("#fiche-lastname", "Durand"), Act::Type("#fiche-email", email)];
    acts.extend([Act::Click(".send button"), Act::Await(shown)]);
    acts
}

#[tokio::test]
async fn the_pages_beyond_a_limit_are_accessible() {
    let groups = vec![shop::group_four(|_| {}), shop::group_five()];
    let limit = |server: Server| server.limit_bookings(BookingLimits::DEFAULT);
    let mailless = TestServer::serving(groups, limit).await;
    let asking = shop_with_limits().await;
    // The browser's source has no booking left.
    for server in [&mailless, &asking] {
        let visitor = Visitor::of(server);
        for number in 0..10 {
            let mut form = visitor.form_of(CUT, &start(number)).await;
            set(&mut form, "fiche.email", &format!("guest{number}@example.org"));
            visitor.post("/b/cut-co/you", &form).await.location();
        }
    }
    for (number, language, email) in [(11, "en", "en@example.org"), (18, "fr", "fr@example.org")] {
        let you = |number| format!("/b/cut-co/you?s={CUT}&t={}", start(number));
        let back = after("limit", &you(number), sent(email, ".alert"));
        check(&mailless, language, vec![back]).await;
        let screens = vec![
            after("limit-code", &you(number), sent(email, "#code")),
            after("limit-address", &you(number + 1), sent("", "#fiche-email-fault")),
        ];
        check(&asking, language, screens).await;
        // The fifth code for the address is the last one, and still good.
        let visitor = Visitor::of(&asking);
        for number in number + 2..number + 5 {
            let mut form = visitor.form_of(CUT, &start(number)).await;
            set(&mut form, "fiche.email", email);
            assert_eq!(visitor.post("/b/cut-co/you", &form).await.status, 200);
        }
        let mut again = sent(email, "#code");
        again.extend([Act::Click("button[name=again]"), Act::Await("#code-fault")]);
        let screens = vec![
            after("limit-code-again", &you(number + 5), again),
            after("limit-no-code", &you(number + 6), sent(email, ".alert")),
        ];
        check(&asking, language, screens).await;
    }
}

#[tokio::test]
async fn the_page_to_try_the_api_is_accessible() {
    let server = TestServer::start().await;
    let opened = |selector| vec![Act::Await("main section"), Act::Click(selector)];
    let screens = vec![
        after("docs", "/docs", vec![Act::Await("main section")]),
        after("docs-search", "/docs", opened("#availabletimeslots summary")),
        after("docs-book", "/docs", opened("#appointments summary")),
        after("docs-older", "/docs", opened("#appointments .older > summary")),
    ];
    check(&server, "en", screens).await;
}

#[tokio::test]
async fn the_login_and_the_frame_of_the_screens_are_accessible() {
    let mut directory = shop::directory();
    let mut ann = directory.pros.values().next().expect("Ann").clone();
    ann.groups.push(GroupId::new(5).expect("an id"));
    directory.pros.insert(ann.id, ann);
    let mut five = shop::group_five();
    let mut catalogue = five.catalogue.as_ref().clone();
    catalogue.group.urlname = Text::new("elsewhere").expect("a text");
    catalogue.group.city = Text::new("Saint-Aubin").expect("a text");
    five.catalogue = Arc::new(catalogue);
    let groups = vec![shop::group_four(|_| {}), five];
    let server = TestServer::begin(AdmissionLimits::default(), directory, groups, |it| it).await;
    book(&server, "zoe@example.org", "2025-06-02T09:00").await;
    let other = Professional::logged_in(&server, ANN).await;
    other.open("/p/cut-co/agenda").await;
    for language in ["en", "fr"] {
        forget(&server, ANN.0).await;
        let token = mailed_tokens(&server).pop();
        let token = match token {
            Some(token) => token,
            None => await_tokens(&server, 1).await[0].clone(),
        };
        let log_in = |password: &'static str| {
            vec![
                Act::Type("#email", ANN.0),
                Act::Type("#password", password),
                Act::Click("main button"),
            ]
        };
        let mut wrong = log_in("a wrong one");
        wrong.push(Act::Await("#wrong"));
        let mut right = log_in(ANN.1);
        right.push(Act::Await(".rows"));
        let sent = |selector, text, shown| {
            vec![Act::Type(selector, text), Act::Click("main button"), Act::Await(shown)]
        };
        let link = format!("/m/{token}");
        let screens = vec![
            screen("login", "/login"),
            after("login-wrong", "/login", wrong),
            screen("forgotten", "/login/forgotten"),
            after("forgotten-mailed", "/login/forgotten", sent("#email", ANN.0, "h1 + p")),
            screen("new-password", &link),
            after("new-password-bad", &link, sent("#password", "password2026", ".fault")),
            screen("link-gone", "/m/p.4.1.5-00"),
            after("choose", "/login", right),
            screen("agenda", "/p/cut-co/agenda"),
            screen("agenda-empty", "/p/elsewhere/agenda"),
            screen("logins", "/p/cut-co/logins"),
            screen("logins-changed", "/p/cut-co/logins?changed=1"),
            screen("own-password", "/p/cut-co/password"),
            after(
                "own-password-bad",
                "/p/cut-co/password",
                vec![Act::Click("form.narrow button"), Act::Await(".fault")],
            ),
            screen("screen-not-found", "/p/nowhere/agenda"),
            screen("logout", "/logout"),
        ];
        check(&server, language, screens).await;
    }
}
