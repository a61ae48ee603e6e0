//! The face of a group: its images and texts on the pages, and the screen that sends them.
//! Reference 14.9, 15.18.

use std::io::Cursor;
use std::sync::Arc;

use image::{DynamicImage, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use reqwest::Method;
use serde_json::Value;
use slotbook::domain::records::text::{Name, Text};

use crate::browser::{Browser, Look, PHONE};
use crate::login::Professional;
use crate::practice_looks::log_in;
use crate::server::{TestServer, answer, gateways};
use crate::shop::{self, ANN, CALENDAR, CUT, OTHER_CALENDAR};
use crate::visitor::{Page, Visitor, first_calendar, shop_with};

const IMAGES: &str = "/p/cut-co/settings/images";

fn encoded(image: &DynamicImage) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png).expect("memory takes all");
    bytes.into_inner()
}

/// A transparent square with a disc.
fn disc(side: u32) -> Vec<u8> {
    encoded(&DynamicImage::ImageRgba8(RgbaImage::from_fn(side, side, |x, y| {
        let (dx, dy) = (x.abs_diff(side / 2), y.abs_diff(side / 2));
        let is_inside = dx * dx + dy * dy < side * side / 5;
        Rgba(if is_inside { [28, 105, 73, 255] } else { [0, 0, 0, 0] })
    })))
}

/// Hills under a sky.
fn view(width: u32, height: u32) -> Vec<u8> {
    encoded(&DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |x, y| {
        let hill = height / 2 + (x.abs_diff(width / 3) / 4) % (height / 3);
        Rgb(if y > hill { [70, 120, 80] } else { [150, 190, 220] })
    })))
}

/// A shop with all images and texts. The calendar is chosen as `calendar_choice` says.
async fn dressed_shop(calendar_choice: i64) -> TestServer {
    let server = shop_with(|catalogue| {
        catalogue.group.calendar_choice = calendar_choice;
        catalogue.group.address = Text::new("2 rue des Lilas").expect("a text");
        catalogue.group.city = Text::new("Lyon").expect("a text");
        catalogue.group.access_text = Text::new("Bus 4, stop Lilas.\nRing twice.").expect("a text");
        catalogue.group.bring_text = Text::new("Your card.").expect("a text");
        first_calendar(catalogue).tagline = Name::new("Colours & cuts").expect("a name");
        for service in catalogue.interventions.values_mut() {
            Arc::make_mut(service).bring_text = Text::new("A picture you like.").expect("a text");
        }
    })
    .await;
    for (slot, bytes) in [
        ("logo".to_owned(), disc(300)),
        ("cover".to_owned(), view(1_280, 420)),
        (format!("calendar-{CALENDAR}"), view(320, 320)),
        (format!("calendar-{OTHER_CALENDAR}"), disc(320)),
    ] {
        let path = format!("/groups/4/images/{slot}");
        answer(server.by_pro(Method::PUT, &path).body(bytes)).await.is(200);
    }
    server
}

async fn images(server: &TestServer) -> Vec<Value> {
    let list = server.pro_get("/groups/4/images").await.is(200);
    list["images"].as_array().expect("a list").clone()
}

/// The tag of an image, with its address and its dimensions.
fn tag(image: &Value, class: &str) -> String {
    let (width, height) = (&image["width"], &image["height"]);
    let url = image["url"].as_str().expect("a path");
    let lazy = if class == "photo" { " loading=\"lazy\"" } else { "" };
    format!("<img class=\"{class}\"{lazy} src=\"{url}\" width=\"{width}\" height=\"{height}\"")
}

#[tokio::test]
async fn pages_show_logo_cover_photos_lines_and_practical_information() {
    let server = dressed_shop(1).await;
    let visitor = Visitor::of(&server);
    let images = images(&server).await;
    let [logo, cover, photo, _] = &images[..] else { panic!("{images:?}") };
    let first = visitor.open("/b/cut-co").await;
    first.shows(&tag(logo, "logo"));
    first.shows(&format!("{} alt=\"View of Cut &#38; Co\"", tag(cover, "cover")));
    first.shows(&tag(photo, "photo"));
    first.shows("<bdi lang=\"fr\">Colours &#38; cuts</bdi>");
    let map = "https://www.openstreetmap.org/search?query=2+rue+des+Lilas%2C+";
    first.shows(&format!("href=\"{map}"));
    first.shows("<bdi lang=\"fr\">Bus 4, stop Lilas.\nRing twice.</bdi>");
    first.shows("<bdi lang=\"fr\">Your card.</bdi>");
    let times = visitor.open(&format!("/b/cut-co/time?s={CUT}&c={CALENDAR}")).await;
    times.hides("class=\"cover\"");
    times.shows(&tag(photo, "photo"));
    let you = visitor.open(&format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00")).await;
    you.shows("<bdi lang=\"fr\">A picture you like.</bdi>");
    // Nothing of a third party is loaded, and each step is small.
    for page in [&first, &times, &you] {
        assert!(page.html.len() <= 20 * 1_024, "{}", page.html.len());
        assert_eq!(loaded(page, "://"), Vec::<&str>::new());
    }
    let french = visitor.speaking("fr").open("/b/cut-co").await;
    french.shows("alt=\"Vue de Cut &#38; Co\"");
    french.shows("Informations pratiques");
}

/// The sources that a page loads and that have a part in their address.
fn loaded<'p>(page: &'p Page, part: &str) -> Vec<&'p str> {
    let sources = page.html.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
    sources.filter(|source| source.contains(part)).collect()
}

#[tokio::test]
async fn a_shop_without_images_and_texts_has_the_pages_of_before() {
    let server = shop_with(|_| {}).await;
    let page = Visitor::of(&server).open("/b/cut-co").await;
    for part in ["<img", "practical", "og:image"] {
        page.hides(part);
    }
    page.shows("<link rel=\"icon\" href=\"data:,\">");
}

#[tokio::test]
async fn previews_of_links_are_absolute_and_stand_on_public_pages_alone() {
    let groups = vec![shop::group_four(|_| {})];
    let server = TestServer::serving(groups, |server| {
        server.with_gateways(Arc::new(gateways("https://book.example")))
    })
    .await;
    let path = "/groups/4/images/cover";
    answer(server.by_pro(Method::PUT, path).body(view(640, 320))).await.is(200);
    let visitor = Visitor::of(&server);
    let page = visitor.open("/b/cut-co").await;
    let cover = images(&server).await[0]["url"].as_str().expect("a path").to_owned();
    page.shows(&format!("<meta property=\"og:image\" content=\"https://book.example{cover}\">"));
    page.shows("<meta property=\"og:url\" content=\"https://book.example/b/cut-co\">");
    page.shows("<meta property=\"og:title\" content=\"Cut &#38; Co\">");
    page.shows("<meta name=\"description\" content=\"Book an appointment online: Cut &#38; Co");
    let you = visitor.open(&format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00")).await;
    you.hides("og:");
    let robots = visitor.open("/robots.txt").await;
    assert_eq!(
        robots.html,
        "User-agent: *\nDisallow: /p\nDisallow: /m\nDisallow: /api\nDisallow: /ics\n"
    );
    assert_eq!(robots.headers["content-type"], "text/plain; charset=utf-8");
}

/// Sends a form with a file, as a browser without script does.
async fn upload(
    server: &TestServer,
    ann: &Professional,
    origin: &str,
    slot: &str,
    file: Option<&[u8]>,
) -> Page {
    let mut body = Vec::new();
    let mut part = |head: &str, content: &[u8]| {
        body.extend_from_slice(b"--edge\r\nContent-Disposition: form-data; ");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    };
    part("name=\"slot\"", slot.as_bytes());
    match file {
        Some(bytes) => part("name=\"file\"; filename=\"a.png\"\r\nContent-Type: image/png", bytes),
        None => part("name=\"remove\"", b"1"),
    }
    body.extend_from_slice(b"--edge--\r\n");
    let visitor = Visitor::of(server);
    let request = visitor.request(Method::POST, IMAGES).header("origin", origin);
    let request = request.header("cookie", &ann.cookies);
    let request = request.header("content-type", "multipart/form-data; boundary=edge").body(body);
    visitor.send(request).await
}

#[tokio::test]
async fn an_administrator_sends_and_removes_an_image_without_a_script() {
    let server = shop_with(|_| {}).await;
    let ann = Professional::logged_in(&server, ANN).await;
    let base = format!("http://{}", server.address());
    ann.open(IMAGES).await.shows("enctype=\"multipart/form-data\"");
    let sent = upload(&server, &ann, &base, "logo", Some(&disc(300))).await;
    assert_eq!(sent.location(), format!("{IMAGES}?saved=1"));
    let url = images(&server).await[0]["url"].as_str().expect("a path").to_owned();
    ann.open(&format!("{IMAGES}?saved=1")).await.shows(&format!("src=\"{url}\""));
    let svg =
        upload(&server, &ann, &base, "logo", Some(b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>"))
            .await;
    assert_eq!(svg.status, 400);
    svg.shows("SVG images are not taken.");
    svg.shows("aria-invalid=\"true\"");
    let none = upload(&server, &ann, &base, "cover", Some(b"")).await;
    assert_eq!(none.status, 400);
    none.shows("Choose a file.");
    let foreign = upload(&server, &ann, "https://other.example", "logo", None).await;
    assert_eq!(foreign.status, 403, "a form of another site");
    assert_eq!(upload(&server, &ann, &base, "nowhere", None).await.status, 404);
    assert_eq!(images(&server).await.len(), 1, "refused forms change nothing");
    let removed = upload(&server, &ann, &base, "logo", None).await;
    assert_eq!(removed.location(), format!("{IMAGES}?saved=1"));
    assert_eq!(images(&server).await, Vec::<Value>::new());
}

#[tokio::test]
async fn pages_with_images_are_accessible() {
    let after = dressed_shop(2).await;
    let first = dressed_shop(1).await;
    for language in ["en", "fr"] {
        let look = Look { language, ..PHONE };
        for (name, server, path) in [
            ("face-calendars", &first, "/b/cut-co".to_owned()),
            ("face-services", &after, "/b/cut-co".to_owned()),
            ("face-times", &after, format!("/b/cut-co/time?s={CUT}")),
            ("face-you", &after, format!("/b/cut-co/you?s={CUT}&t=2025-06-02T10:00")),
        ] {
            let Some(browser) = Browser::open(server.address(), look).await else { return };
            browser.goto(&path).await;
            if name == "face-services" {
                browser.click(".practical summary").await;
            }
            for (width, is_dark) in [(360, false), (360, true), (1_280, false), (320, true)] {
                browser.emulate(Look { width, is_dark, ..look }).await;
                let what = format!("{name}-{language}-{width}-{is_dark}");
                browser.assert_accessible(&what).await;
                browser.picture(&what).await;
            }
            browser.assert_fits(name).await;
            browser.assert_targets(name).await;
            let broken = "return [...document.images].filter(i => i.loading != 'lazy' && !i.naturalWidth).length";
            assert_eq!(browser.run(broken).await, 0, "{name}");
            let logs = browser.console().await;
            assert!(!logs.contains("Content Security Policy"), "{name}: {logs}");
        }
    }
}

#[tokio::test]
async fn the_screen_of_images_is_accessible() {
    let server = dressed_shop(2).await;
    for language in ["en", "fr"] {
        let look = Look { language, ..PHONE };
        let Some(browser) = Browser::open(server.address(), look).await else { return };
        log_in(&browser).await;
        browser.goto(IMAGES).await;
        // A form without a file is answered with its fault.
        browser.click("section form.narrow button").await;
        browser.await_element(".fault").await;
        for (width, is_dark) in [(360, false), (1_280, true), (320, false)] {
            browser.emulate(Look { width, is_dark, ..look }).await;
            let what = format!("practice-images-{language}-{width}-{is_dark}");
            browser.assert_accessible(&what).await;
            browser.picture(&what).await;
        }
        browser.assert_fits("practice-images").await;
        browser.assert_targets("practice-images").await;
    }
}
