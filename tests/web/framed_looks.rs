//! The booking in a frame, for people who see or move badly: in both languages and schemes of
//! colours, on telephone, desk, and a desk at 400 %.

use serde_json::json;

use crate::browser::{Browser, Look, PHONE};
use crate::framed_site::{
    BUTTON, FRAME, FramedShop, Scheme, assert_height, code_in_frame, enter_frame, leave_frame,
};
use crate::site::{page_with, snippet};

/// Telephone, desk, and a desk of 1,280 by 1,024 pixels at 400 %.
const SIZES: [(u32, u32); 3] = [(360, 740), (1_280, 900), (320, 256)];

/// All looks of a language, with a name of each.
fn looks(language: &'static str) -> Vec<(Look, String)> {
    let mut looks = Vec::new();
    for (width, height) in SIZES {
        for is_dark in [false, true] {
            let scheme = if is_dark { "dark" } else { "light" };
            let look = Look { width, height, is_dark, language, ..PHONE };
            looks.push((look, format!("{language}-{width}-{scheme}")));
        }
    }
    looks
}

/// A site that follows the visitor's scheme of colours, and gives the frame its whole width.
async fn open_site(number: usize, language: &'static str) -> Option<FramedShop> {
    let page = |base: &str| {
        let style = "<style>:root{color-scheme:light dark;background:Canvas}body{margin:0}</style>";
        page_with(&snippet(base, number)).replace("<title>", &format!("{style}<title>"))
    };
    FramedShop::open_with(Scheme::Http, Look { language, ..PHONE }, page, |_| {}).await
}

/// Does what leads from a step in the frame to the next one.
async fn act(browser: &Browser, step: &str) {
    let code = if step == "code-missing" { code_in_frame(browser).await } else { String::new() };
    enter_frame(browser).await;
    match step {
        "service" => browser.click("a.service").await,
        "time" => browser.click("button[name=t]").await,
        "faults" => {
            browser.type_into("#fiche-lastname", "Durand").await;
            browser.type_into("#fiche-email", "zoe@example.org").await;
            browser.click(".send button").await;
        }
        "code-missing" => {
            browser.type_into("#code", &code).await;
            browser.click(".send button").await;
        }
        "done" => {}
        _ => browser.click(".send button").await,
    }
    leave_frame(browser).await;
}

/// The steps of a booking with what each shows that the one before does not.
const STEPS: [(&str, &str); 7] = [
    ("service", "a.service"),
    ("time", "button[name=t]"),
    ("you", "#fiche-lastname"),
    ("faults", ".alert"),
    ("code", "#code"),
    ("code-missing", "#code-fault"),
    ("done", ".ok"),
];

#[tokio::test]
async fn the_steps_in_a_frame_are_accessible() {
    for language in ["en", "fr"] {
        let Some(shop) = open_site(FRAME, language).await else { return };
        let browser = &shop.browser;
        for (step, shown) in STEPS {
            enter_frame(browser).await;
            browser.await_element(shown).await;
            let spoken = browser.run("return document.documentElement.lang").await;
            leave_frame(browser).await;
            assert_eq!(spoken, json!(language), "{step}");
            for (look, name) in looks(language) {
                browser.emulate(look).await;
                check_in_frame(browser, look, &format!("framed-{step}-{name}")).await;
            }
            act(browser, step).await;
        }
        assert_no_violation(browser).await;
    }
}

/// Checks the page in the frame as it is shown now.
async fn check_in_frame(browser: &Browser, look: Look, what: &str) {
    assert_height(browser, what).await;
    browser.picture(what).await;
    enter_frame(browser).await;
    let scheme = "return matchMedia('(prefers-color-scheme: dark)').matches";
    assert_eq!(browser.run(scheme).await, json!(look.is_dark), "{what}");
    browser.assert_accessible(what).await;
    if look.width == 320 {
        browser.assert_fits(what).await;
        browser.assert_targets(what).await;
        browser.assert_words_whole(what).await;
    }
    leave_frame(browser).await;
}

async fn assert_no_violation(browser: &Browser) {
    let logs = browser.console().await;
    assert!(!logs.contains("Content Security Policy"), "{logs}");
}

#[tokio::test]
async fn the_dialog_of_a_site_is_accessible() {
    for language in ["en", "fr"] {
        let Some(shop) = open_site(BUTTON, language).await else { return };
        let browser = &shop.browser;
        browser.click("main > button").await;
        for (step, shown) in STEPS {
            enter_frame(browser).await;
            browser.await_element(shown).await;
            leave_frame(browser).await;
            for (look, name) in looks(language) {
                browser.emulate(look).await;
                check_dialog(browser, &format!("dialog-{step}-{name}")).await;
            }
            act(browser, step).await;
        }
        assert_no_violation(browser).await;
    }
}

/// Checks the page of the site with the dialog open: its end can be reached, and the button that
/// closes it stays in view.
async fn check_dialog(browser: &Browser, what: &str) {
    assert_height(browser, what).await;
    browser.run("document.querySelector('dialog').scrollTop = 0").await;
    browser.picture(what).await;
    browser.assert_accessible(what).await;
    browser.assert_fits(what).await;
    let closes = "const dialog = document.querySelector('dialog');
        dialog.scrollTop = dialog.scrollHeight;
        const button = dialog.querySelector('button').getBoundingClientRect();
        const frame = dialog.querySelector('iframe').getBoundingClientRect();
        return button.width >= 44 && button.height >= 44 && button.top >= 0
            && button.bottom <= innerHeight && frame.bottom <= innerHeight + 1;";
    assert_eq!(browser.run(closes).await, json!(true), "{what}");
}
