//! The form while it is sent: a status, and the button again after the browser's Stop or 8 seconds.

use serde_json::json;

use crate::browser::{Browser, Look, PHONE};
use crate::shop::CUT;
use crate::visitor::{live_appointments, shop_with};

/// Keeps the timer that a form starts, in place of waiting for it.
const KEEP_TIMER: &str = "window.later = window.setTimeout;
    window.setTimeout = (act, after) => { window.kept = { act, after }; };";

/// Presses the button of the form, and calls back with the status and whether it may be sent again.
const PRESS: &str = "
    const done = arguments[arguments.length - 1];
    const form = document.querySelector('form.once');
    const status = form.querySelector('[role=status]');
    const look = () => [status.textContent, 'sent' in form.dataset];
    form.querySelector('.send button').click();
    const seen = [look()];";

#[tokio::test]
async fn a_form_under_way_says_so_and_can_be_sent_again_and_books_once() {
    for (language, sending) in [("en", "Sending…"), ("fr", "Envoi…")] {
        let server = shop_with(|_| {}).await;
        let look = Look { language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        browser.goto(&format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00")).await;
        browser.type_into("#fiche-lastname", "Durand").await;
        browser.type_into("#fiche-email", "zoe@example.org").await;
        browser.run(KEEP_TIMER).await;
        // While it is held, no booking is answered.
        let held = server.disk.lock().await;
        let script = format!(
            "{PRESS}
            await_frames(2).then(() => {{
                window.stop();
                return await_frames(2);
            }}).then(() => {{
                seen.push(look());
                form.querySelector('.send button').click();
                seen.push(look());
                return await_frames(2);
            }}).then(() => {{
                window.kept.act();
                seen.push(look(), window.kept.after);
                window.stop();
                done(seen);
            }});
            async function await_frames(count) {{
                for (let at = 0; at < count; at += 1)
                    await new Promise((next) => requestAnimationFrame(next));
            }}"
        );
        let seen = browser.client.execute_async(&script, Vec::new()).await.expect("it runs");
        assert_eq!(
            seen,
            json!([[sending, true], ["", false], [sending, true], ["", false], 8_000]),
            "{language}"
        );
        browser.run("window.setTimeout = window.later;").await;
        browser.assert_accessible("the form after a Stop").await;
        drop(held);
        browser.click("form.once .send button").await;
        browser.arrive_at("/b/cut-co/done").await;
        assert_eq!(live_appointments(&server.engine), 1);
        let logs = browser.console().await;
        assert!(!logs.contains("Uncaught"), "{logs}");
    }
}
