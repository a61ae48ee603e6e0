//! A site that shows the booking of a shop in a frame, and a browser on it: over HTTP and over
//! TLS, in the page and in a dialog.

use fantoccini::actions::{InputSource as _, KeyAction, KeyActions};
use serde_json::{Value, json};
use slotbook::domain::availability::catalogue::Catalogue;

use crate::browser::{Browser, Look};
use crate::codes::{code, verifying_shop};
use crate::embedding::list_sites;
use crate::server::TestServer;
use crate::site::{Site, page_with, snippet};

pub(crate) const TAB: char = '\u{e004}';
pub(crate) const ENTER: char = '\u{e007}';
pub(crate) const ESCAPE: char = '\u{e00c}';
/// The snippets of docs/embedding.md.
pub(crate) const FRAME: usize = 1;
pub(crate) const BUTTON: usize = 2;
/// The hosts of a site and of a server that speak TLS.
const SITE: &str = "www.example.org";
const SERVER: &str = "rdv.example.net";

/// The protocol of a site and of the server whose pages it shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

pub(crate) const SCHEMES: [Scheme; 2] = [Scheme::Http, Scheme::Https];

/// A shop that asks for codes, a site that shows its pages, and a browser on that site.
pub(crate) struct FramedShop {
    pub(crate) server: TestServer,
    pub(crate) browser: Browser,
    /// The origin of the server, as the browser sees it.
    pub(crate) base: String,
}

impl FramedShop {
    /// Opens a listed site with a snippet.
    pub(crate) async fn open(scheme: Scheme, number: usize, look: Look) -> Option<Self> {
        Self::open_with(scheme, look, |base| page_with(&snippet(base, number)), |_| {}).await
    }

    /// Opens a listed site whose page is made for the origin of the server, with more settings of
    /// the shop. `None` without a browser.
    pub(crate) async fn open_with(
        scheme: Scheme,
        look: Look,
        page: impl FnOnce(&str) -> String,
        change: impl FnOnce(&mut Catalogue),
    ) -> Option<Self> {
        let (site, front) = (Site::bind().await, Site::bind().await);
        let (origin, listed) = match scheme {
            Scheme::Http => (site.origin(), site.origin()),
            Scheme::Https => (format!("https://{SITE}"), "https://*.example.org".to_owned()),
        };
        let server = verifying_shop(|catalogue| {
            list_sites(catalogue, &listed);
            change(catalogue);
        })
        .await;
        let (base, args) = match scheme {
            Scheme::Http => (format!("http://{}", server.address()), Vec::new()),
            Scheme::Https => {
                let args = tls_args(&[(SITE, site.port), (SERVER, front.port)]);
                (format!("https://{SERVER}"), args)
            }
        };
        match scheme {
            Scheme::Http => site.show(page(&base)),
            Scheme::Https => {
                front.stand_before(SERVER, server.address());
                site.show_secretly(SITE, page(&base));
            }
        }
        let browser = Browser::open_whole(server.address(), look, &args).await?;
        browser.client.goto(&origin).await.expect("the site opens");
        Some(Self { server, browser, base })
    }
}

/// The arguments of a browser that finds hosts on ports of this machine, and believes their
/// certificates.
pub(crate) fn tls_args(hosts: &[(&str, u16)]) -> Vec<String> {
    let rules: Vec<_> =
        hosts.iter().map(|(host, port)| format!("MAP {host}:443 127.0.0.1:{port}")).collect();
    vec![
        "--ignore-certificate-errors".to_owned(),
        format!("--host-resolver-rules={}", rules.join(",")),
    ]
}

pub(crate) async fn enter_frame(browser: &Browser) {
    browser.client.enter_frame(0).await.expect("the frame");
}

pub(crate) async fn leave_frame(browser: &Browser) {
    browser.client.enter_parent_frame().await.expect("the site");
}

/// The code for the hold of the page in the frame, which has to ask for one.
pub(crate) async fn code_in_frame(browser: &Browser) -> String {
    enter_frame(browser).await;
    browser.await_element("#code").await;
    let token = browser.run("return document.querySelector('[name=h]').value").await;
    leave_frame(browser).await;
    code(token.as_str().expect("a token"))
}

/// Asserts that the frame is as high as its document, and neither scrolls by itself.
pub(crate) async fn assert_height(browser: &Browser, step: &str) {
    let own = "return Math.ceil(document.documentElement.getBoundingClientRect().height)";
    enter_frame(browser).await;
    let own = browser.run(own).await;
    leave_frame(browser).await;
    let followed = format!("return document.querySelector('iframe').clientHeight === {own}");
    browser.await_truth(&followed).await;
    assert!(own.as_u64() > Some(200), "{step}: {own}");
}

/// The messages of a type that arrived at the site.
pub(crate) async fn messages(browser: &Browser, kind: &str) -> Vec<Value> {
    let script = format!("return messages.filter(([, one]) => one.type === '{kind}')");
    let found = browser.run(&script).await;
    found.as_array().expect("a list").iter().map(|one| one[1].clone()).collect()
}

/// Waits until the page in the frame says its step for the nth time.
pub(crate) async fn await_step(browser: &Browser, step: &str, count: usize) {
    let script =
        format!("return messages.filter(([, one]) => one.step === '{step}').length === {count}");
    browser.await_truth(&script).await;
}

/// Presses a key where the focus of the window is, in the frame too.
pub(crate) async fn press(browser: &Browser, key: char) {
    let stroke = KeyActions::new("keys".to_owned())
        .then(KeyAction::Down { value: key })
        .then(KeyAction::Up { value: key });
    browser.client.perform_actions(stroke).await.expect("a stroke");
}

/// Presses Tab until the focus is on an element of the page in the frame.
pub(crate) async fn tab_in_frame(browser: &Browser, selector: &str) {
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

pub(crate) async fn write(browser: &Browser, text: &str) {
    for sign in text.chars() {
        press(browser, sign).await;
    }
}

/// Waits for the page in the frame, or for the browser's refusal to show one: its address, and
/// whether it is a page of the server.
pub(crate) async fn content_of_frame(browser: &Browser) -> (String, bool) {
    enter_frame(browser).await;
    browser
        .await_truth("return document.readyState === 'complete' && location.href !== 'about:blank'")
        .await;
    let address = browser.run("return location.href").await;
    let has_page = browser.run("return document.querySelector('main#main') !== null").await;
    leave_frame(browser).await;
    (address.as_str().unwrap_or_default().to_owned(), has_page == json!(true))
}
