//! The booking in a frame of another site, in a real browser that blocks cookies of third parties.

use serde_json::json;

use crate::browser::{Browser, Look, PHONE};
use crate::codes::verifying_shop;
use crate::embedding::list_sites;
use crate::framed_site::{
    BUTTON, ENTER, ESCAPE, FRAME, FramedShop, SCHEMES, Scheme, TAB, assert_height, await_step,
    code_in_frame, content_of_frame, enter_frame, leave_frame, messages, press, tab_in_frame,
    tls_args, write,
};
use crate::manage::link_of;
use crate::server::TestServer;
use crate::shop::CUT;
use crate::site::{Site, page_with, snippet};
use crate::visitor::{Visitor, live_appointments, shop_with};

/// A phone at the width of a desk at 400 %.
const NARROW: Look = Look { width: 320, ..PHONE };

#[tokio::test]
async fn a_visitor_of_a_listed_site_books_with_a_code_by_the_keyboard() {
    for scheme in SCHEMES {
        for number in [FRAME, BUTTON] {
            let Some(shop) = FramedShop::open(scheme, number, NARROW).await else { return };
            if number == BUTTON {
                open_dialog(&shop.browser).await;
            }
            let what = format!("{scheme:?}-{number}");
            book_by_the_keyboard(&shop.browser, &what).await;
            assert_eq!(live_appointments(&shop.server.engine), 1, "{what}");
            shop.browser.await_truth("return events.some((one) => one.type === 'booked')").await;
            assert_told(&shop).await;
            assert_refuses_mailed(&shop, &what).await;
        }
    }
}

/// Opens the dialog by its button, by the keyboard.
async fn open_dialog(browser: &Browser) {
    browser.await_element("button[aria-haspopup=dialog]").await;
    assert_eq!(browser.run("return document.querySelector('iframe').src").await, json!(""));
    browser.tab_to("main > button").await;
    press(browser, ENTER).await;
}

/// Books in the frame with a code. Each step is as high as its document, and fits.
async fn book_by_the_keyboard(browser: &Browser, what: &str) {
    for step in ["service", "time", "you", "code", "done"] {
        await_step(browser, step, 1).await;
        let what = format!("{what}-{step}");
        assert_height(browser, &what).await;
        browser.assert_fits(&format!("the site at {what}")).await;
        browser.picture(&format!("embedded-{what}-320")).await;
        enter_frame(browser).await;
        browser.assert_fits(&what).await;
        leave_frame(browser).await;
        match step {
            "service" => {
                tab_in_frame(browser, "a.service").await;
                press(browser, ENTER).await;
            }
            "time" => {
                tab_in_frame(browser, "button[name=t]").await;
                press(browser, ENTER).await;
            }
            "you" => {
                tab_in_frame(browser, "#fiche-lastname").await;
                write(browser, "Durand").await;
                tab_in_frame(browser, "#fiche-email").await;
                write(browser, "zoe@example.org\u{e007}").await;
            }
            "code" => {
                let code = code_in_frame(browser).await;
                tab_in_frame(browser, "#code").await;
                write(browser, &format!("{code}\u{e007}")).await;
            }
            _ => {}
        }
    }
}

/// Asserts that the site learned of ids and steps, and that the frame kept nothing.
async fn assert_told(shop: &FramedShop) {
    let browser = &shop.browser;
    let booked = messages(browser, "booked").await;
    let calendar = &booked[0]["calendar_ids"][0];
    let expected = json!([{"type": "booked", "intervention_ids": [CUT],
        "calendar_ids": [calendar], "websource": "web"}]);
    assert_eq!(json!(booked), expected);
    let all = browser.run("return JSON.stringify(messages)").await.to_string();
    for personal in ["Durand", "zoe", "2025", "10:00", "key", "a="] {
        assert!(!all.contains(personal), "{personal}: {all}");
    }
    let origins = "return messages.every(([origin]) => origin === arguments[0])";
    let from_server = browser.client.execute(origins, vec![json!(shop.base)]).await;
    assert_eq!(from_server.expect("it runs"), json!(true));
    enter_frame(browser).await;
    // Loaded again, the page is no second booking.
    browser.run("window.isOld = true; location.reload()").await;
    browser.await_truth("return !window.isOld && document.readyState === 'complete'").await;
    let cookie = "document.cookie = 'probe=1; SameSite=None; Secure'; return document.cookie";
    assert_eq!(browser.run(cookie).await, json!(""), "cookies of third parties are blocked");
    leave_frame(browser).await;
    await_step(browser, "done", 2).await;
    assert_eq!(messages(browser, "booked").await.len(), 1);
    let logs = browser.console().await;
    assert!(!logs.contains("Content Security Policy"), "{logs}");
}

/// Asserts that the page of the appointment opens instead of the site, and is not shown in the
/// frame.
async fn assert_refuses_mailed(shop: &FramedShop, what: &str) {
    let browser = &shop.browser;
    enter_frame(browser).await;
    let link = ".acts a:not([href$='/move'])";
    let url = browser.run(&format!("return document.querySelector(\"{link}\").href")).await;
    leave_frame(browser).await;
    let own = "const one = document.createElement('iframe');
        one.onload = () => { one.title = 'loaded'; }; one.src = arguments[0];
        document.querySelector('main').prepend(one)";
    browser.client.execute(own, vec![url.clone()]).await.expect("it runs");
    browser.await_element("iframe[title=loaded]").await;
    let (address, has_page) = content_of_frame(browser).await;
    assert!(!has_page && address.starts_with("chrome-error:"), "{what}: {address}");
    browser.run("document.querySelector('iframe[title=loaded]').remove()").await;
    enter_frame(browser).await;
    browser.click(link).await;
    browser.await_truth("return parent === window && location.pathname.startsWith('/m/')").await;
    let opened = browser.run("return location.href").await;
    assert_eq!(opened, url, "{what}");
}

#[tokio::test]
async fn the_frame_stands_in_the_order_of_its_site_and_believes_its_own_server() {
    let Some(shop) = FramedShop::open(Scheme::Http, FRAME, NARROW).await else { return };
    let browser = &shop.browser;
    browser.await_truth("return messages.length > 1").await;
    let link = "return getComputedStyle(document.querySelector('main > a')).display";
    assert_eq!(browser.run(link).await, json!("none"), "the page has appeared");
    let title = "return document.querySelector('iframe').title";
    assert_eq!(browser.run(title).await, json!("Book an appointment"));
    assert_order(browser).await;
    assert_deaf(browser).await;
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

#[tokio::test]
async fn the_dialog_of_a_site_keeps_the_focus_and_what_was_typed() {
    let desktop = Look { width: 1_280, height: 900, ..PHONE };
    let Some(shop) = FramedShop::open(Scheme::Http, BUTTON, desktop).await else { return };
    let browser = &shop.browser;
    open_dialog(browser).await;
    await_step(browser, "service", 1).await;
    let button = "return document.activeElement.matches('main > button')";
    let dialog = "const one = document.querySelector('dialog');
        return one.open && one.getAttribute('aria-label') === 'Book an appointment'
            && one.contains(document.activeElement)";
    assert_eq!(browser.run(dialog).await, json!(true));
    browser.picture("embedded-dialog-1280").await;
    tab_in_frame(browser, "a.service").await;
    press(browser, ENTER).await;
    await_step(browser, "time", 1).await;
    // The key is pressed in the frame, and the focus returns.
    tab_in_frame(browser, "button[name=t]").await;
    press(browser, ESCAPE).await;
    browser.await_truth("return !document.querySelector('dialog').open").await;
    assert_eq!(browser.run(button).await, json!(true));
    // The choice stays for the next time.
    press(browser, ENTER).await;
    browser.await_truth("return document.querySelector('dialog').open").await;
    tab_in_frame(browser, "button[name=t]").await;
    press(browser, ENTER).await;
    await_step(browser, "you", 1).await;
    tab_in_frame(browser, "#fiche-lastname").await;
    write(browser, "Durand").await;
    tab_in_frame(browser, "#fiche-email").await;
    write(browser, "zoe@example.org\u{e007}").await;
    await_step(browser, "code", 1).await;
    enter_frame(browser).await;
    let focused = "return document.hasFocus() && document.activeElement.id";
    assert_eq!(browser.run(focused).await, json!("code"), "the code can be typed at once");
    leave_frame(browser).await;
    let code = code_in_frame(browser).await;
    write(browser, &format!("{code}\u{e007}")).await;
    await_step(browser, "done", 1).await;
    assert_eq!(live_appointments(&shop.server.engine), 1);
    browser.await_truth("return events.some((one) => one.type === 'booked')").await;
    // Closed outside of the frame, by its button; the next time begins anew.
    browser.click("dialog > button").await;
    assert_eq!(browser.run(button).await, json!(true));
    press(browser, ENTER).await;
    await_step(browser, "service", 2).await;
}

/// Opens a server to two sites, of which the first alone is listed, with a page for the origin of
/// the server and a browser.
async fn open_two_sites(
    scheme: Scheme,
    page: impl Fn(&str) -> String,
) -> Option<(TestServer, Browser, [String; 2])> {
    let (listed, other, front) = (Site::bind().await, Site::bind().await, Site::bind().await);
    let hosts = ["www.example.org", "evil.example"];
    let origins = match scheme {
        Scheme::Http => [listed.origin(), other.origin()],
        Scheme::Https => hosts.map(|host| format!("https://{host}")),
    };
    let server = verifying_shop(|catalogue| list_sites(catalogue, &origins[0])).await;
    let mut args = Vec::new();
    match scheme {
        Scheme::Http => {
            let page = page(&format!("http://{}", server.address()));
            listed.show(page.clone());
            other.show(page);
        }
        Scheme::Https => {
            let name = "rdv.example.net";
            args = tls_args(&[(hosts[0], listed.port), (hosts[1], other.port), (name, front.port)]);
            let page = page(&format!("https://{name}"));
            front.stand_before(name, server.address());
            listed.show_secretly(hosts[0], page.clone());
            other.show_secretly(hosts[1], page);
        }
    }
    let browser = Browser::open_whole(server.address(), PHONE, &args).await?;
    Some((server, browser, origins))
}

#[tokio::test]
async fn the_frame_of_an_unlisted_site_stays_empty() {
    for scheme in SCHEMES {
        for number in [FRAME, BUTTON] {
            let page = |base: &str| page_with(&snippet(base, number));
            let Some((_server, browser, origins)) = open_two_sites(scheme, page).await else {
                return;
            };
            for (origin, is_shown) in origins.iter().zip([true, false]) {
                browser.client.goto(origin).await.expect("the site opens");
                if number == BUTTON {
                    open_dialog(&browser).await;
                }
                browser.await_element("iframe").await;
                let (address, has_page) = content_of_frame(&browser).await;
                assert_eq!(has_page, is_shown, "{origin}: {address}");
                if is_shown {
                    browser.await_truth("return messages.length > 1").await;
                    continue;
                }
                assert!(address.starts_with("chrome-error:"), "{address}");
                assert_eq!(browser.run("return messages").await, json!([]), "{origin}");
                let link = "const one = document.querySelector('main a[href*=\"/b/\"]');
                    return one.offsetParent !== null";
                assert_eq!(browser.run(link).await, json!(true), "the link stays");
            }
            let logs = browser.console().await;
            assert!(logs.contains("frame-ancestors"), "{logs}");
        }
    }
}

/// A page that lays an invisible booking over a button of its own.
fn trap(base: &str) -> String {
    page_with(&format!(
        "<p style=\"position:relative\"><button>Win</button><iframe title=\"Win\" \
         style=\"position:absolute;left:0;top:0;width:300px;height:600px;opacity:0.01\" \
         src=\"{base}/b/cut-co/you?s={CUT}&amp;t=2025-06-02T10:00\"></iframe></p>"
    ))
}

#[tokio::test]
async fn a_page_that_steals_clicks_gets_no_form_under_its_button() {
    for scheme in SCHEMES {
        let Some((server, browser, origins)) = open_two_sites(scheme, trap).await else { return };
        // A page of a listed site gets the form, so that the emptiness of the other is its own.
        for (origin, is_shown) in origins.iter().zip([true, false]) {
            browser.client.goto(origin).await.expect("the site opens");
            browser.await_element("iframe").await;
            let (address, has_page) = content_of_frame(&browser).await;
            assert_eq!(has_page, is_shown, "{origin}: {address}");
            enter_frame(&browser).await;
            let forms = browser.run("return document.forms.length").await;
            assert_eq!(forms.as_u64() > Some(0), is_shown, "{origin}: {forms}");
            leave_frame(&browser).await;
        }
        assert_eq!(live_appointments(&server.engine), 0);
    }
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
async fn the_script_makes_a_link_and_asks_for_a_language() {
    let page = |base: &str| {
        page_with(&format!(
            "<script src=\"{base}/embed.js\" data-shop=\"cut-co\" data-lang=\"fr\" async>\
             </script>"
        ))
    };
    let Some(shop) = FramedShop::open_with(Scheme::Https, PHONE, page, |_| {}).await else {
        return;
    };
    let browser = &shop.browser;
    await_step(browser, "service", 1).await;
    let title = "return document.querySelector('iframe').title";
    assert_eq!(browser.run(title).await, json!("Prendre rendez-vous"));
    let link = "return document.querySelector('main > a').href";
    assert_eq!(browser.run(link).await, json!(format!("{}/b/cut-co", shop.base)));
    enter_frame(browser).await;
    assert_eq!(browser.run("return document.documentElement.lang").await, json!("fr"));
}
