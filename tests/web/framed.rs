//! The booking in a frame of another site, in a real browser that blocks cookies of third parties.

use fantoccini::actions::{InputSource as _, KeyAction, KeyActions};
use serde_json::{Value, json};

use crate::browser::{Browser, Look, PHONE};
use crate::codes::{code, verifying_shop};
use crate::embedding::list_sites;
use crate::manage::link_of;
use crate::server::TestServer;
use crate::shop::CUT;
use crate::site::{Site, page_with, snippet};
use crate::visitor::{Visitor, live_appointments, shop_with};

const TAB: char = '\u{e004}';
const ENTER: char = '\u{e007}';
const ESCAPE: char = '\u{e00c}';
/// The snippets of docs/embedding.md.
const FRAME: usize = 1;
const BUTTON: usize = 2;

/// A shop that asks for codes, a site that shows its pages, and a browser on that site.
async fn open_site(number: usize, look: Look) -> Option<(TestServer, Browser)> {
    let site = Site::bind().await;
    let origin = site.origin();
    let server = verifying_shop(|catalogue| list_sites(catalogue, &origin)).await;
    site.show(page_with(&snippet(&format!("http://{}", server.address()), number)));
    let browser = Browser::open(server.address(), look).await?;
    browser.client.goto(&origin).await.expect("the site opens");
    Some((server, browser))
}

/// Gives a code that the page in the frame asks for.
async fn give_code(browser: &Browser) {
    browser.await_element("#code").await;
    let token = browser.run("return document.querySelector('[name=h]').value").await;
    browser.type_into("#code", &code(token.as_str().expect("a token"))).await;
    browser.click(".send button").await;
}

async fn enter_frame(browser: &Browser) {
    browser.client.enter_frame(0).await.expect("the frame");
}

async fn leave_frame(browser: &Browser) {
    browser.client.enter_parent_frame().await.expect("the site");
}

/// Asserts that the frame is as high as its document, and neither scrolls by itself.
async fn assert_height(browser: &Browser, step: &str) {
    let own = "return Math.ceil(document.documentElement.getBoundingClientRect().height)";
    enter_frame(browser).await;
    let own = browser.run(own).await;
    leave_frame(browser).await;
    let followed = format!("return document.querySelector('iframe').clientHeight === {own}");
    browser.await_truth(&followed).await;
    assert!(own.as_u64() > Some(200), "{step}: {own}");
}

/// The messages of a type that arrived at the site.
async fn messages(browser: &Browser, kind: &str) -> Vec<Value> {
    let script = format!("return messages.filter(([, one]) => one.type === '{kind}')");
    let found = browser.run(&script).await;
    found.as_array().expect("a list").iter().map(|one| one[1].clone()).collect()
}

#[tokio::test]
async fn a_visitor_of_a_listed_site_books_with_a_code_in_its_frame() {
    let narrow = Look { width: 320, ..PHONE };
    let Some((server, browser)) = open_site(FRAME, narrow).await else { return };
    browser.await_truth("return messages.length > 1").await;
    let link = "return getComputedStyle(document.querySelector('main > a')).display";
    assert_eq!(browser.run(link).await, json!("none"), "the page has appeared");
    let title = "return document.querySelector('iframe').title";
    assert_eq!(browser.run(title).await, json!("Book an appointment"));
    assert_order(&browser).await;
    assert_deaf(&browser).await;
    for (step, next) in [
        ("service", "a.service"),
        ("time", "button[name=t]"),
        ("you", ".send button"),
        ("code", ""),
        ("done", ""),
    ] {
        let arrived = format!("return messages.some(([, one]) => one.step === '{step}')");
        browser.await_truth(&arrived).await;
        assert_height(&browser, step).await;
        browser.assert_fits(&format!("the site at {step}")).await;
        browser.picture(&format!("embedded-{step}-320")).await;
        enter_frame(&browser).await;
        browser.assert_fits(step).await;
        browser.assert_accessible(step).await;
        match step {
            "you" => {
                browser.type_into("#fiche-lastname", "Durand").await;
                browser.type_into("#fiche-email", "zoe@example.org").await;
                browser.click(next).await;
            }
            "code" => give_code(&browser).await,
            "done" => {}
            _ => browser.click(next).await,
        }
        leave_frame(&browser).await;
    }
    assert_eq!(live_appointments(&server.engine), 1);
    browser.await_truth("return events.some((one) => one.type === 'booked')").await;
    assert_told(&server, &browser).await;
    // The page of the appointment opens instead of the site, and not in the frame.
    enter_frame(&browser).await;
    browser.click(".acts a:not([href$='/move'])").await;
    browser.await_truth("return parent === window && location.pathname.startsWith('/m/')").await;
}

/// Asserts that the focus goes through the frame in the order of the site.
async fn assert_order(browser: &Browser) {
    browser.run("document.getElementById('before').focus()").await;
    press(browser, TAB).await;
    let focused = "return document.activeElement.tagName + '#' + document.activeElement.id";
    assert_eq!(browser.run(focused).await, json!("IFRAME#"));
    for _ in 0..20 {
        press(browser, TAB).await;
        if browser.run(focused).await != json!("IFRAME#") {
            break;
        }
    }
    assert_eq!(browser.run(focused).await, json!("A#after"));
}

/// Asserts that the script believes its own frame alone, and that it made no global variable.
async fn assert_deaf(browser: &Browser) {
    browser.run("window.postMessage({type: 'height', height: 5}, '*')").await;
    browser.await_truth("return messages.some(([, one]) => one.height === 5)").await;
    let height = browser.run("return document.querySelector('iframe').clientHeight").await;
    assert!(height.as_u64() > Some(200), "{height}");
    browser.run("messages.splice(messages.findIndex(([, one]) => one.height === 5), 1)").await;
    // The numbers are those of frames, and one name is the driver's.
    let made = "return Object.keys(window).filter((one) =>
        !names.includes(one) && isNaN(one) && one !== 'ret_nodes')";
    assert_eq!(browser.run(made).await, json!([]));
}

/// Asserts that the site learned of ids and steps, and that the frame kept nothing.
async fn assert_told(server: &TestServer, browser: &Browser) {
    let booked = messages(browser, "booked").await;
    let calendar = &booked[0]["calendar_ids"][0];
    let expected = json!([{"type": "booked", "intervention_ids": [CUT],
        "calendar_ids": [calendar], "websource": "web"}]);
    assert_eq!(json!(booked), expected);
    let all = browser.run("return JSON.stringify(messages)").await.to_string();
    for personal in ["Durand", "zoe", "2025", "10:00", "key", "a="] {
        assert!(!all.contains(personal), "{personal}: {all}");
    }
    let origins = "return messages.every(([origin]) => origin.endsWith(':' + arguments[0]))";
    let port = server.address().rsplit(':').next().expect("a port").to_owned();
    let from_server = browser.client.execute(origins, vec![json!(port)]).await.expect("it runs");
    assert_eq!(from_server, json!(true));
    enter_frame(browser).await;
    // Loaded again, the page is no second booking.
    browser.run("window.isOld = true; location.reload()").await;
    browser.await_truth("return !window.isOld && document.readyState === 'complete'").await;
    let cookie = "document.cookie = 'probe=1; SameSite=None; Secure'; return document.cookie";
    assert_eq!(browser.run(cookie).await, json!(""), "cookies of third parties are blocked");
    leave_frame(browser).await;
    let steps = "return messages.filter(([, one]) => one.step === 'done').length === 2";
    browser.await_truth(steps).await;
    assert_eq!(messages(browser, "booked").await.len(), 1);
    let logs = browser.console().await;
    assert!(!logs.contains("Content Security Policy"), "{logs}");
}

/// Presses a key where the focus of the window is, in the frame too.
async fn press(browser: &Browser, key: char) {
    let stroke = KeyActions::new("keys".to_owned())
        .then(KeyAction::Down { value: key })
        .then(KeyAction::Up { value: key });
    browser.client.perform_actions(stroke).await.expect("a stroke");
}

/// Presses Tab until the focus is on an element of the page in the frame.
async fn tab_in_frame(browser: &Browser, selector: &str) {
    let script = format!(
        "return document.hasFocus() && document.activeElement.matches({})",
        json!(selector)
    );
    enter_frame(browser).await;
    browser.await_element(selector).await;
    for _ in 0..60 {
        if browser.run(&script).await == json!(true) {
            leave_frame(browser).await;
            return;
        }
        leave_frame(browser).await;
        press(browser, TAB).await;
        enter_frame(browser).await;
    }
    panic!("the key Tab does not reach {selector}");
}

async fn write(browser: &Browser, text: &str) {
    for sign in text.chars() {
        press(browser, sign).await;
    }
}

/// Waits until the page in the frame says its step for the nth time.
async fn await_step(browser: &Browser, step: &str, count: usize) {
    let script =
        format!("return messages.filter(([, one]) => one.step === '{step}').length === {count}");
    browser.await_truth(&script).await;
}

#[tokio::test]
async fn a_visitor_books_in_the_dialog_of_a_site_by_the_keyboard_alone() {
    let desktop = Look { width: 1_280, height: 900, ..PHONE };
    let Some((server, browser)) = open_site(BUTTON, desktop).await else { return };
    browser.await_element("button[aria-haspopup=dialog]").await;
    assert_eq!(browser.run("return document.querySelector('iframe').src").await, json!(""));
    let button = "return document.activeElement.matches('main > button')";
    browser.tab_to("main > button").await;
    press(&browser, ENTER).await;
    await_step(&browser, "service", 1).await;
    let dialog = "const one = document.querySelector('dialog');
        return one.open && one.getAttribute('aria-label') === 'Book an appointment'
            && one.contains(document.activeElement)";
    assert_eq!(browser.run(dialog).await, json!(true));
    browser.assert_accessible("the dialog").await;
    browser.picture("embedded-dialog-1280").await;
    tab_in_frame(&browser, "a.service").await;
    press(&browser, ENTER).await;
    await_step(&browser, "time", 1).await;
    // The key is pressed in the frame, and the focus returns.
    tab_in_frame(&browser, "button[name=t]").await;
    press(&browser, ESCAPE).await;
    browser.await_truth("return !document.querySelector('dialog').open").await;
    assert_eq!(browser.run(button).await, json!(true));
    // The choice stays for the next time.
    press(&browser, ENTER).await;
    browser.await_truth("return document.querySelector('dialog').open").await;
    tab_in_frame(&browser, "button[name=t]").await;
    press(&browser, ENTER).await;
    await_step(&browser, "you", 1).await;
    tab_in_frame(&browser, "#fiche-lastname").await;
    write(&browser, "Durand").await;
    tab_in_frame(&browser, "#fiche-email").await;
    write(&browser, "zoe@example.org\u{e007}").await;
    await_step(&browser, "code", 1).await;
    enter_frame(&browser).await;
    let focused = "return document.hasFocus() && document.activeElement.id";
    assert_eq!(browser.run(focused).await, json!("code"), "the code can be typed at once");
    let token = browser.run("return document.querySelector('[name=h]').value").await;
    leave_frame(&browser).await;
    write(&browser, &format!("{}\u{e007}", code(token.as_str().expect("a token")))).await;
    await_step(&browser, "done", 1).await;
    assert_eq!(live_appointments(&server.engine), 1);
    browser.await_truth("return events.some((one) => one.type === 'booked')").await;
    // Closed outside of the frame, by its button; the next time begins anew.
    browser.click("dialog > button").await;
    assert_eq!(browser.run(button).await, json!(true));
    press(&browser, ENTER).await;
    await_step(&browser, "service", 2).await;
}

/// What the first frame of the present page shows.
async fn content_of_frame(browser: &Browser) -> (String, bool) {
    enter_frame(browser).await;
    browser.await_truth("return document.readyState === 'complete'").await;
    let address = browser.run("return location.href").await;
    let has_page = browser.run("return document.querySelector('main#main') !== null").await;
    leave_frame(browser).await;
    (address.as_str().unwrap_or_default().to_owned(), has_page == json!(true))
}

#[tokio::test]
async fn the_frame_of_an_unlisted_site_stays_empty() {
    let (listed, other) = (Site::bind().await, Site::bind().await);
    let origins = [listed.origin(), other.origin()];
    let server = verifying_shop(|catalogue| list_sites(catalogue, &origins[0])).await;
    let page = page_with(&snippet(&format!("http://{}", server.address()), FRAME));
    listed.show(page.clone());
    other.show(page);
    let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
    for (origin, is_shown) in origins.iter().zip([true, false]) {
        browser.client.goto(origin).await.expect("the site opens");
        browser.await_element("iframe").await;
        let (address, has_page) = content_of_frame(&browser).await;
        assert_eq!(has_page, is_shown, "{origin}: {address}");
        if is_shown {
            browser.await_truth("return messages.length > 1").await;
            continue;
        }
        assert!(address.starts_with("chrome-error:"), "{address}");
        assert_eq!(browser.run("return messages").await, json!([]), "{origin}");
        let link = "return getComputedStyle(document.querySelector('main > a')).display";
        assert_eq!(browser.run(link).await, json!("inline"), "the link stays");
    }
    let logs = browser.console().await;
    assert!(logs.contains("frame-ancestors"), "{logs}");
}

#[tokio::test]
async fn no_site_gets_the_messages_of_another_nor_the_pages_of_mails() {
    let (site, other) = (Site::bind().await, Site::bind().await);
    let (origin, second) = (site.origin(), other.origin());
    let list = format!("{origin},{second}");
    let server = shop_with(|catalogue| list_sites(catalogue, &list)).await;
    let visitor = Visitor::of(&server);
    let form = visitor.form_of(CUT, "2025-06-02T10:00").await;
    let done = visitor.post("/b/cut-co/you", &form).await;
    let link = link_of(&visitor.open(done.location()).await);
    let base = format!("http://{}", server.address());
    // Both sites are listed: this one names the other as its own.
    let named = form_urlencoded::byte_serialize(origin.as_bytes()).collect::<String>();
    let frame = |path: &str| format!("<iframe title=\"Book\" src=\"{base}{path}\"></iframe>");
    other.show(page_with(&frame(&format!("/b/cut-co?o={named}"))));
    site.show(page_with(&frame(&format!("{link}?o={named}"))));
    let Some(browser) = Browser::open(server.address(), PHONE).await else { return };
    browser.client.goto(&second).await.expect("the site opens");
    enter_frame(&browser).await;
    browser.await_element("a.service").await;
    let aimed = "return document.documentElement.dataset.embedder";
    assert_eq!(browser.run(aimed).await, json!(origin));
    browser.await_truth("return document.readyState === 'complete'").await;
    // Sent after those of the page, it arrives after them.
    let last = "requestAnimationFrame(() => requestAnimationFrame(() =>
        setTimeout(() => parent.postMessage('last', '*'))))";
    browser.run(last).await;
    leave_frame(&browser).await;
    browser.await_truth("return messages.some(([, one]) => one === 'last')").await;
    let base = json!(format!("http://{}", server.address()));
    assert_eq!(browser.run("return messages").await, json!([[base, "last"]]));
    browser.client.goto(&origin).await.expect("the site opens");
    browser.await_element("iframe").await;
    let (address, has_page) = content_of_frame(&browser).await;
    assert!(!has_page && address.starts_with("chrome-error:"), "{address}");
}

#[tokio::test]
async fn a_site_shows_the_booking_over_tls() {
    let (site, front) = (Site::bind().await, Site::bind().await);
    let server = verifying_shop(|catalogue| {
        list_sites(catalogue, "https://*.example.org");
        catalogue.group.verify_bookings = slotbook::domain::records::group::VerifyBookings::Off;
        catalogue.group.validate_email = false;
    })
    .await;
    let args = [
        "--ignore-certificate-errors".to_owned(),
        format!(
            "--host-resolver-rules=MAP www.example.org:443 127.0.0.1:{},\
             MAP rdv.example.net:443 127.0.0.1:{}",
            site.port, front.port
        ),
    ];
    front.stand_before("rdv.example.net", server.address());
    let script = "<script src=\"https://rdv.example.net/embed.js\" data-shop=\"cut-co\" \
         data-lang=\"fr\" async></script>";
    site.show_secretly("www.example.org", page_with(script));
    let Some(browser) = Browser::open_with(server.address(), PHONE, &args).await else { return };
    browser.client.goto("https://www.example.org/page").await.expect("the site opens");
    await_step(&browser, "service", 1).await;
    // The script made the link itself.
    let title = "return document.querySelector('iframe').title";
    assert_eq!(browser.run(title).await, json!("Prendre rendez-vous"));
    enter_frame(&browser).await;
    assert_eq!(browser.run("return document.documentElement.lang").await, json!("fr"));
    browser.click("a.service").await;
    browser.click("button[name=t]").await;
    browser.type_into("#fiche-lastname", "Durand").await;
    browser.click(".send button").await;
    browser.await_element(".ok").await;
    leave_frame(&browser).await;
    await_step(&browser, "done", 1).await;
    assert_height(&browser, "done").await;
    browser.await_truth("return events.some((one) => one.type === 'booked')").await;
    assert_eq!(live_appointments(&server.engine), 1);
}
