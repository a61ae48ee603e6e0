//! Booking pages in a frame of another site: headers, links and messages, over HTTP.

use reqwest::Method;
use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::records::embed_origins::EmbedOrigins;

use crate::codes::{code, token_of, verifying_shop};
use crate::login::Professional;
use crate::manage::link_of;
use crate::server::TestServer;
use crate::shop::{ANN, CUT};
use crate::visitor::{Page, Visitor, live_appointments, set, shop_with};

const SITE: &str = "https://shop.example.org";
const NO_ANCESTORS: &str = "frame-ancestors 'none'";

/// Lists sites in the settings of a group.
pub(crate) fn list_sites(catalogue: &mut Catalogue, origins: &str) {
    catalogue.group.embed_origins = EmbedOrigins::new(origins).expect("a list");
}

/// The shop with these sites.
async fn embedded_shop(origins: &str) -> TestServer {
    shop_with(|catalogue| list_sites(catalogue, origins)).await
}

fn policy(page: &Page) -> &str {
    page.headers["content-security-policy"].to_str().expect("ASCII")
}

#[track_caller]
fn assert_refuses_frames(page: &Page, what: &str) {
    assert!(policy(page).ends_with(NO_ANCESTORS), "{what}: {}", policy(page));
    assert_eq!(page.headers["x-frame-options"], "DENY", "{what}");
}

/// A query with the site of the frame.
fn with_site(path: &str, origin: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("o", origin).finish();
    let separator = if path.contains('?') { '&' } else { '?' };
    format!("{path}{separator}{query}")
}

/// The pages of a booking with a code, in their order, as a frame of a site shows them, and the
/// address of the last one.
async fn steps_in_frame(server: &TestServer, origin: &str) -> (Vec<(&'static str, Page)>, String) {
    let visitor = Visitor::of(server);
    let service = visitor.open(&with_site("/b/cut-co", origin)).await;
    let time = visitor.open(&with_site(&format!("/b/cut-co/time?s={CUT}"), origin)).await;
    let you = format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00");
    let you = visitor.open(&with_site(&you, origin)).await;
    let mut form = you.hidden();
    let faults = visitor.post(&action_of(&you), &form).await;
    set(&mut form, "fiche.lastname", "Durand");
    set(&mut form, "fiche.email", "zoe@example.org");
    let asked = visitor.post(&action_of(&you), &form).await;
    let mut form = asked.hidden();
    set(&mut form, "code", &code(&token_of(&asked)));
    let booked = visitor.post(&action_of(&asked), &form).await.location().to_owned();
    let done = visitor.open(&booked).await;
    let gone = visitor.get(&with_site("/b/cut-co/done?a=1.x", origin)).await;
    let steps = [
        ("service", service),
        ("time", time),
        ("you", you),
        ("faults", faults),
        ("code", asked),
        ("done", done),
        ("gone", gone),
    ];
    (steps.into(), booked)
}

/// The URL that the form of a page is sent to.
fn action_of(page: &Page) -> String {
    let rest = page.html.split("<form action=\"").nth(1).expect("a form");
    rest.split('"').next().expect("a URL").replace("&#38;", "&")
}

#[tokio::test]
async fn booking_pages_name_the_listed_sites_and_all_others_refuse_frames() {
    let listed = "https://shop.example.org,https://*.example.net:8443,http://localhost:3000";
    let server = verifying_shop(|catalogue| list_sites(catalogue, listed)).await;
    let (steps, _) = steps_in_frame(&server, SITE).await;
    for (name, page) in &steps {
        let ancestors = format!("; frame-ancestors {}", listed.replace(',', " "));
        assert!(policy(page).ends_with(&ancestors), "{name}: {}", policy(page));
        assert!(policy(page).starts_with("default-src 'none'; script-src 'self'"), "{name}");
        assert!(!page.headers.contains_key("x-frame-options"), "{name}");
        assert!(!page.headers.contains_key("set-cookie"), "{name}");
    }
    let (_, done) = &steps[5];
    let link = link_of(done);
    let visitor = Visitor::of(&server);
    for path in [
        link.as_str(),
        &format!("{link}/move"),
        &with_site(&link, SITE),
        "/m/nothing",
        "/login",
        "/login/forgotten",
        "/b/nowhere",
    ] {
        let page = visitor.get(path).await;
        assert_refuses_frames(&page, path);
        page.hides("data-embedder");
    }
    let professional = Professional::logged_in(&server, ANN).await;
    for screen in ["agenda", "clients", "hours", "settings", "history", "logins"] {
        let path = with_site(&format!("/p/cut-co/{screen}"), SITE);
        assert_refuses_frames(&professional.get(&path).await, &path);
    }
}

#[tokio::test]
async fn pages_of_a_group_without_sites_refuse_frames() {
    let server = verifying_shop(|_| {}).await;
    let (steps, _) = steps_in_frame(&server, SITE).await;
    for (name, page) in &steps {
        assert_refuses_frames(page, name);
        page.hides("data-embedder");
        page.hides("shop.example.org");
    }
}

#[tokio::test]
async fn each_step_carries_a_listed_site_and_forgets_another() {
    let sites = "https://shop.example.org,https://*.example.net";
    for origin in [SITE, "https://a.b.example.net"] {
        let server = verifying_shop(|catalogue| list_sites(catalogue, sites)).await;
        let (steps, booked) = steps_in_frame(&server, origin).await;
        for (name, page) in &steps {
            page.shows(&format!("<html lang=\"en\" data-embedder=\"{origin}\">"));
            for url in own_urls(page) {
                assert!(url.contains("o=https%3A%2F%2F"), "{name}: {url}");
            }
        }
        let (_, time) = &steps[1];
        assert!(time.hidden().contains(&("o".to_owned(), origin.to_owned())), "a GET form");
        assert!(booked.contains("o=https%3A%2F%2F"), "{booked}");
    }
    let server = embedded_shop(sites).await;
    for other in [
        "https://evil.example",
        "https://example.net",
        "http://shop.example.org",
        "https://shop.example.org.evil.example",
        "https://shop.example.org/",
        "https://*.example.net",
        "null",
        "*",
        "\"><script>",
    ] {
        let page =
            Visitor::of(&server).open(&with_site(&format!("/b/cut-co/time?s={CUT}"), other)).await;
        page.hides("data-embedder");
        for url in own_urls(&page) {
            assert!(!url.contains("?o=") && !url.contains(";o="), "{other}: {url}");
        }
    }
}

/// The URLs of links and forms to other pages of a booking, in the language of this one.
fn own_urls(page: &Page) -> Vec<String> {
    let mut urls = Vec::new();
    for mark in ["href=\"", "<form action=\""] {
        for rest in page.html.split(mark).skip(1) {
            let url = rest.split('"').next().expect("a value");
            // A form that is sent by GET has the site among its fields instead.
            let has_fields = rest.contains("method=\"get\"") && mark.starts_with("<form");
            if url.starts_with("/b/") && !url.contains("colours.css") && !has_fields {
                urls.push(url.to_owned());
            }
        }
    }
    urls
}

#[tokio::test]
async fn no_link_leads_from_the_frame_to_a_page_that_refuses_it() {
    let server = verifying_shop(|catalogue| list_sites(catalogue, SITE)).await;
    let (steps, _) = steps_in_frame(&server, SITE).await;
    let mut at_the_top = 0;
    for (name, page) in &steps {
        for rest in page.html.split("<a ").skip(1) {
            let tag = rest.split('>').next().expect("a tag");
            let url = tag.split("href=\"").nth(1).expect("a link");
            let stays = ["/b/", "#", "tel:"].iter().any(|start| url.starts_with(start));
            let leaves = ["_top", "_blank"].iter().any(|to| tag.contains(&format!("\"{to}\"")));
            assert!(stays || leaves, "{name}: {tag}");
            at_the_top += usize::from(url.starts_with("/m/") && tag.contains("target=\"_top\""));
        }
    }
    assert_eq!(at_the_top, 1, "to the appointment, which is too near to be changed");
}

#[tokio::test]
async fn a_form_of_the_site_around_the_frame_is_refused() {
    let server = embedded_shop(SITE).await;
    let visitor = Visitor::of(&server);
    let form = visitor.form_of(CUT, "2025-06-02T10:00").await;
    let path = with_site("/b/cut-co/you", SITE);
    for site in ["cross-site", "same-site", "none"] {
        let request = visitor.form(&path, &form).header("sec-fetch-site", site);
        assert_eq!(visitor.send(request).await.status, 403, "{site}");
    }
    let mut request = visitor.form(&path, &form).build().expect("a request");
    request.headers_mut().insert("origin", SITE.parse().expect("a header"));
    assert_eq!(visitor.execute(request).await.status, 403);
    assert_eq!(live_appointments(&server.engine), 0);
}

#[tokio::test]
async fn the_message_of_a_booking_names_ids_and_no_person() {
    let server = embedded_shop(SITE).await;
    let visitor = Visitor::of(&server);
    let mut form = visitor.form_of(CUT, "2025-06-02T10:00").await;
    let done = visitor.post(&with_site("/b/cut-co/you", SITE), &form).await.location().to_owned();
    let page = visitor.open(&done).await;
    let message = page.html.split("data-booked=\"").nth(1).expect("a message");
    let message = message.split('"').next().expect("a value").replace("&#34;", "\"");
    let message: serde_json::Value = serde_json::from_str(&message).expect("JSON");
    let calendar = &message["calendar_ids"][0];
    let expected = serde_json::json!({
        "type": "booked", "intervention_ids": [CUT], "calendar_ids": [calendar], "websource": "web",
    });
    assert_eq!(message, expected);
    // A form that had booked before is no second booking.
    set(&mut form, "fiche.firstname", "Ada");
    let again = visitor.post(&with_site("/b/cut-co/you", SITE), &form).await.location().to_owned();
    visitor.open(&again).await.hides("data-booked");
    // Without a site there is no message.
    let (_, holder) = done.split_once("a=").expect("a secret");
    visitor.open(&format!("/b/cut-co/done?a={holder}")).await.hides("data-booked");
}

#[tokio::test]
async fn the_script_of_sites_is_kept_for_an_hour_and_then_asked_for() {
    let server = shop_with(|_| {}).await;
    let visitor = Visitor::of(&server);
    let script = visitor.open("/embed.js").await;
    assert_eq!(script.headers["content-type"], "text/javascript; charset=utf-8");
    assert_eq!(script.headers["cache-control"], "public, max-age=3600");
    assert_eq!(script.headers["cross-origin-resource-policy"], "cross-origin");
    assert_eq!(script.headers["x-content-type-options"], "nosniff");
    let page = visitor.open("/b/cut-co").await;
    let own = page.html.split("src=\"").nth(1).and_then(|rest| rest.split('"').next());
    visitor.open(own.expect("a script")).await.hides("\"message\"");
    let tag = script.headers["etag"].clone();
    let known = visitor.request(Method::GET, "/embed.js").header("if-none-match", tag);
    assert_eq!(visitor.send(known).await.status, 304);
}
