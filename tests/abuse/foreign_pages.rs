//! A page of a stranger that books through the browsers of its visitors, with a key that it read.

use std::sync::Arc;

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use slotbook::domain::directory::access::ChangeAccess;
use slotbook::domain::directory::apikeys::ApikeyName;
use slotbook::domain::records::site_origin::SiteOrigin;
use slotbook::http::routes;
use slotbook::notify::Gateways;

use crate::fixture::{ANNA, KEY, Practice, answer};

const SHOP: &str = "https://shop.example";
const APP: &str = "http://localhost:3000";
const EVIL: &str = "https://evil.example";

/// Lets the key of the practice name these origins.
async fn name_origins(practice: &Practice, origins: &[&str]) {
    let mut named = Vec::new();
    for origin in origins {
        named.push(SiteOrigin::new(origin).expect("an origin"));
    }
    let name = ApikeyName { hash: Sha256::digest(KEY).into(), text: KEY.to_owned() };
    let change = ChangeAccess::SetApikey { name, holder: None, origins: Some(named) };
    practice.engine.change_access(None, change).await.expect("the key is known");
}

/// Adds headers, some of which may stand twice.
fn with(request: RequestBuilder, headers: &[(&str, &str)]) -> RequestBuilder {
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
}

fn varies_by_origin(headers: &HeaderMap) -> bool {
    headers.get_all("vary").iter().any(|name| name == "origin")
}

#[tokio::test]
async fn a_page_that_the_key_does_not_name_changes_nothing() {
    let practice = Practice::open().await;
    let own = format!("http://{}", practice.address());
    let visitor = practice.visitor("127.0.0.2");
    let start = practice.free_starts().await.pop_front().expect("a free start");
    let before = practice.state();
    for named in [&[][..], &[SHOP, APP]] {
        name_origins(&practice, named).await;
        for headers in [
            &[("origin", EVIL)][..],
            &[("origin", EVIL), ("sec-fetch-site", "same-origin")],
            &[("origin", "null")],
            &[("origin", "")],
            &[("origin", "file://")],
            &[("origin", "http://shop.example")],
            &[("origin", "https://shop.example:8443")],
            &[("origin", "https://shop.example.evil.example")],
            &[("origin", "https://evil.shop.example")],
            &[("origin", "http://localhost")],
            &[("origin", SHOP), ("origin", SHOP)],
            &[("origin", SHOP), ("origin", EVIL)],
            // The name of a stranger's page may lead to this server, and Host then has it too.
            &[("origin", &own), ("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")],
        ] {
            let booking = visitor.booking(&start, "ada@example.org");
            answer(with(booking, headers)).await.refused(403, 1);
            // A form needs no preflight, and the key may stand in the query.
            let plain =
                visitor.booking(&start, "ada@example.org").header("content-type", "text/plain");
            answer(with(plain, headers)).await.refused(403, 1);
        }
    }
    let refused =
        visitor.booking(&start, "ada@example.org").header("origin", "https://Evil.example:443");
    let refused = answer(refused).await;
    refused.refused(403, 1);
    let add = format!("slotbook key set KEY --origin {SHOP} --origin {APP} --origin {EVIL}");
    assert!(refused.text.contains(&format!("{SHOP}, {APP}")), "{}", refused.text);
    assert!(refused.text.contains(&add), "{}", refused.text);
    // So that whoever writes a page reads why it may not book.
    assert_eq!(refused.headers["access-control-allow-origin"], "*");
    assert_eq!(practice.state().sequence, before.sequence, "nothing changed");
    assert!(visitor.book(&start, "ada@example.org").await.status.is_success());
}

#[tokio::test]
async fn no_write_of_the_api_is_open_to_a_page_that_the_key_does_not_name() {
    let practice = Practice::open().await;
    let visitor = practice.visitor("127.0.0.2");
    let before = practice.state();
    let mut asked = 0;
    for route in routes() {
        let method = route.method();
        if method == Method::GET {
            continue;
        }
        let path = route.path().strip_prefix("/api/v1").expect("of the API");
        let path = path.replace("{group_id}", "1").replace("{id}", "1");
        for has_person in [false, true] {
            let mut request = visitor.request(method.clone(), &path).header("origin", EVIL);
            if has_person {
                request = request.basic_auth(ANNA.0, Some(ANNA.1));
            }
            let refused = answer(request.json(&json!({}))).await;
            refused.refused(403, 1);
            assert!(refused.text.contains("pages of this origin"), "{path}: {}", refused.text);
            asked += 1;
        }
    }
    assert!(asked > 80, "{asked}");
    assert_eq!(practice.state().sequence, before.sequence, "nothing changed");
}

#[tokio::test]
async fn named_pages_and_clients_that_are_no_browsers_book() {
    let practice = Practice::open().await;
    name_origins(&practice, &["HTTPS://Shop.example:443", APP]).await;
    let mut starts = practice.hourly_starts().await;
    for (nth, headers) in [
        &[][..],
        &[("sec-fetch-site", "none")],
        &[("sec-fetch-site", "same-origin")],
        &[("origin", SHOP)],
        &[("origin", "https://SHOP.example:443")],
        &[("origin", SHOP), ("sec-fetch-site", "cross-site")],
        &[("origin", APP), ("sec-fetch-site", "same-site")],
    ]
    .into_iter()
    .enumerate()
    {
        let start = starts.pop_front().expect("a free start");
        let visitor = practice.visitor(&format!("127.0.1.{nth}"));
        let booking = visitor.booking(&start, &format!("ada{nth}@example.org"));
        answer(with(booking, headers)).await.is(201);
    }
}

#[tokio::test]
async fn pages_of_the_public_site_book_without_being_named() {
    let gateways = Arc::new(Gateways::unconfigured("https://rdv.example.org/agenda"));
    let practice = Practice::with(|_| {}, |server| server.with_gateways(gateways)).await;
    let start = practice.free_starts().await.pop_front().expect("a free start");
    let booking = practice.visitor("127.0.0.2").booking(&start, "ada@example.org");
    answer(booking.header("origin", "https://rdv.example.org")).await.is(201);
}

#[tokio::test]
async fn keys_of_earlier_releases_go_on_until_they_name_origins() {
    let older =
        |document: &mut serde_json::Value| document["apikeys"][0]["any_origin"] = true.into();
    let practice = Practice::with(older, |server| server).await;
    let mut starts = practice.hourly_starts().await;
    for (nth, origin) in [EVIL, "null"].into_iter().enumerate() {
        let visitor = practice.visitor(&format!("127.0.0.{}", 2 + nth));
        let start = starts.pop_front().expect("a free start");
        let booking = visitor.booking(&start, &format!("ada{nth}@example.org"));
        let booked = answer(booking.header("origin", origin)).await;
        booked.is(201);
        assert_eq!(booked.headers["access-control-allow-origin"], "*");
        let read = answer(visitor.request(Method::GET, "/groups/1").header("origin", origin)).await;
        assert_eq!(read.headers["access-control-allow-origin"], "*");
        assert!(!varies_by_origin(&read.headers));
    }
    name_origins(&practice, &[SHOP]).await;
    let start = starts.pop_front().expect("a free start");
    let booking = practice.visitor("127.0.0.4").booking(&start, "ada@example.org");
    answer(booking.header("origin", EVIL)).await.refused(403, 1);
}

#[tokio::test]
async fn only_named_pages_read_answers() {
    let practice = Practice::open().await;
    name_origins(&practice, &[SHOP, APP]).await;
    let visitor = practice.visitor("127.0.0.2");
    for (headers, allowed, varies) in [
        (&[][..], Some("*"), false),
        (&[("origin", SHOP)], Some(SHOP), true),
        (&[("origin", APP), ("sec-fetch-site", "cross-site")], Some(APP), true),
        (&[("origin", EVIL)], None, true),
        (&[("origin", "null")], None, true),
        (&[("origin", SHOP), ("origin", SHOP)], None, true),
        // A picture of a foreign page: its answer may be kept, and be asked for again by a script.
        (&[("sec-fetch-site", "cross-site")], None, true),
    ] {
        let key = [("x-api-key", KEY)];
        let path = "/groups/1/calendars";
        let by_query = visitor.request(Method::GET, path);
        let by_header = with(visitor.bare(Method::GET, path), &key);
        for request in [by_query, by_header] {
            let read = answer(with(request, headers)).await;
            read.is(200);
            let found = read.headers.get("access-control-allow-origin");
            let found = found.map(|value| value.to_str().expect("a text"));
            assert_eq!(found, allowed, "{headers:?}");
            assert_eq!(varies_by_origin(&read.headers), varies, "{headers:?}");
        }
        // A preflight request has no key in its headers: the request itself is refused, and says
        // why.
        let asked = [("access-control-request-method", "POST")];
        for request in [
            visitor.bare(Method::OPTIONS, "/groups/1/appointments"),
            visitor.request(Method::OPTIONS, "/groups/1/appointments"),
        ] {
            let preflight = answer(with(with(request, headers), &asked)).await;
            assert_eq!(preflight.status, 204);
            assert_eq!(preflight.headers["access-control-allow-origin"], "*");
        }
    }
}

#[tokio::test]
async fn a_foreign_name_that_leads_to_the_server_books_by_no_form() {
    let gateways = Arc::new(Gateways::unconfigured("https://rdv.example.org"));
    let practice = Practice::with(|_| {}, |server| server.with_gateways(gateways)).await;
    let visitor = practice.visitor("127.0.0.2");
    for (host, origin, is_foreign) in [
        ("evil.example", "http://evil.example", true),
        ("rdv.example.org", "https://rdv.example.org", false),
    ] {
        for site in [&[("sec-fetch-site", "same-origin")][..], &[]] {
            let form = visitor.form("/b/cabinet-de-sante-des-tilleuls/you", &[("s", "1")]);
            let form = with(form.header("host", host).header("origin", origin), site);
            let status = form.send().await.expect("an answer").status();
            // A form of the own page without a start is led to the choice of one.
            assert_eq!(status == 403, is_foreign, "{host} {site:?} {status}");
        }
    }
}
