//! The screens on the demonstration, as a practice would see them: axe with hundreds of events, and
//! the pictures of README.md.

use crate::browser::{Browser, Look, PHONE};
use crate::server::TestServer;

const PRACTICE: &str = "/p/cabinet-de-sante-des-tilleuls";
const DESK: Look = Look { width: 1_280, height: 800, ..PHONE };

#[tokio::test]
async fn the_screens_of_the_demonstration_are_accessible() {
    let server = TestServer::demonstration().await;
    let Some(browser) = Browser::open(server.address(), DESK).await else { return };
    browser.goto("/login").await;
    browser.type_into("#email", "anna@example.org").await;
    browser.type_into("#password", "demo-password").await;
    browser.click("main button").await;
    browser.arrive_at(&format!("{PRACTICE}/agenda")).await;
    for (name, step) in [
        ("day", "/agenda?d=2025-06-03"),
        ("week", "/agenda?v=week&d=2025-06-03"),
        ("list", "/agenda?v=list&d=2025-06-03"),
        ("month", "/agenda?v=month&d=2025-06-03"),
        ("hours", "/hours"),
        ("hours-week", "/hours/1"),
        ("new", "/events/new?c=1&d=2025-06-03&t=09:40&s=1"),
        ("absence", "/absences/new?c=1&d=2025-06-03"),
        ("settings", "/settings/shop"),
    ] {
        browser.goto(&format!("{PRACTICE}{step}")).await;
        browser.await_element("h1").await;
        for look in [DESK, PHONE] {
            browser.emulate(look).await;
            let what = format!("demo-{name}-{}", look.width);
            browser.assert_accessible(&what).await;
            browser.assert_fits(&what).await;
            browser.picture(&what).await;
        }
    }
    let logs = browser.console().await;
    assert!(!logs.contains("Content Security Policy"), "{logs}");
}
