//! The screen that makes links to the booking page. Reference 15.17.

use slotbook::domain::records::embed_origins::EmbedOrigins;

use crate::browser::{Browser, Look, PHONE};
use crate::login::Professional;
use crate::practice_looks::log_in;
use crate::server::TestServer;
use crate::shop::{ANN, CALENDAR, COLOUR, CUT, PAUL, RITA};
use crate::visitor::{Page, Visitor, shop_with};

const LINKS: &str = "/p/cut-co/settings/links";

/// The text of the first element that is to be copied, decoded.
fn copied(page: &Page, at: usize) -> String {
    let rest = page.html.split("class=\"copied\">").nth(at + 1).expect("a text to copy");
    let text = rest.trim_start_matches("<code>").split("</code>").next().expect("its end");
    text.replace("&#60;", "<").replace("&#62;", ">").replace("&#34;", "\"").replace("&#38;", "&")
}

#[tokio::test]
async fn a_link_made_here_does_what_was_chosen() {
    let server = shop_with(|catalogue| {
        catalogue.group.embed_origins =
            EmbedOrigins::new("https://shop.example.org").expect("an origin");
    })
    .await;
    let ann = Professional::logged_in(&server, ANN).await;
    let plain = ann.open(LINKS).await;
    assert!(copied(&plain, 0).ends_with("/b/cut-co"), "{}", copied(&plain, 0));
    plain.shows("<svg class=\"qr\"");
    plain.hides("First add the address of your site");
    let chosen = format!(
        "{LINKS}?intervention_ids%5B%5D={CUT}&calendar_id={CALENDAR}&freeze=1&nofooter=1\
         &websource=gare+%26+%22caf%C3%A9%22&intervention_ids[]=99&lang=fr"
    );
    let page = ann.open(&chosen).await;
    let link = copied(&page, 0);
    let path = &link[link.find("/b/").expect("a booking page")..];
    assert!(!path.contains("99") && !path.contains("nologo"), "{path}");
    let snippet = copied(&page, 1);
    assert!(snippet.contains("<script src=\"") && snippet.contains("data-shop=\"cut-co\" async>"));
    assert!(snippet.contains(&format!("<a href=\"{}\">", link.replace('&', "&amp;"))), "{snippet}");
    assert!(copied(&page, 2).contains("data-mode=\"button\""));
    // The link that the screen shows is followed as it is.
    let visitor = Visitor::of(&server);
    let led = visitor.get(path).await;
    assert!(led.location().starts_with("/b/cut-co/time?s=21&c=11&p="), "{}", led.location());
    let time = visitor.open(led.location()).await;
    time.hides("<footer>");
    time.hides("edit=1");
    // A page of the other choices is not frozen.
    let other = format!("{LINKS}?intervention_ids%5B%5D={COLOUR}");
    let link = copied(&ann.open(&other).await, 0);
    assert!(link.ends_with(&format!("/b/cut-co?intervention_ids%5B%5D={COLOUR}")), "{link}");
}

#[tokio::test]
async fn the_screen_says_what_is_missing_and_is_for_settings() {
    let server = TestServer::with_team(|catalogue| catalogue.group.web_page = false).await;
    let ann = Professional::logged_in(&server, ANN).await;
    let page = ann.open(LINKS).await;
    page.shows("The shop has no booking page.");
    page.shows("First add the address of your site");
    for person in [RITA, PAUL] {
        let person = Professional::logged_in(&server, person).await;
        assert_eq!(person.get(LINKS).await.status, 403);
    }
}

#[tokio::test]
async fn the_screen_is_accessible() {
    let server = shop_with(|_| {}).await;
    for language in ["en", "fr"] {
        let look = Look { width: 320, language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        log_in(&browser).await;
        browser.goto(&format!("{LINKS}?intervention_ids[]={CUT}&freeze=1")).await;
        browser.assert_screen(look, "links").await;
    }
}
