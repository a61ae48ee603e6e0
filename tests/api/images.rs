//! The images of a group. Reference 12.10.

use image::{DynamicImage, GenericImageView as _, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use reqwest::Method;
use serde_json::{Value, json};

use crate::image_parts::{chunk, encoded, png};
use crate::server::{Answer, TestServer, answer};
use crate::shop::{CALENDAR, HIDDEN_CALENDAR, PAUL, PIA, RITA};

/// A photo: smooth, with a little noise, so that no format keeps it in few bytes.
pub(crate) fn photo(width: u32, height: u32) -> DynamicImage {
    let noise =
        |x: u32, y: u32| u8::try_from((x * 7_919 + y * 104_729 + x * y) % 32).expect("small");
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |x, y| {
        let red = u8::try_from(x * 200 / width).expect("a byte");
        let green = u8::try_from(y * 200 / height).expect("a byte");
        Rgb([red + noise(x, y), green + noise(y, x), 90])
    }))
}

/// A logo: a disc of one colour on a transparent ground.
pub(crate) fn disc(side: u32) -> DynamicImage {
    DynamicImage::ImageRgba8(RgbaImage::from_fn(side, side, |x, y| {
        let (dx, dy) = (x.abs_diff(side / 2), y.abs_diff(side / 2));
        let is_inside = dx * dx + dy * dy < side * side / 5;
        Rgba(if is_inside { [20, 90, 160, 255] } else { [0, 0, 0, 0] })
    }))
}

/// A PNG whose head declares these dimensions, with pixels for a few of its lines.
fn bomb(width: u32, height: u32) -> Vec<u8> {
    let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 6, 0, 0, 0]].concat();
    png(&head, &[], &vec![0; 20_000_000])
}

pub(crate) async fn put(
    server: &TestServer,
    slot: &str,
    media_type: &str,
    bytes: Vec<u8>,
) -> Answer {
    let path = format!("/groups/4/images/{slot}");
    let request = server.by_pro(Method::PUT, &path).header("content-type", media_type);
    answer(request.body(bytes)).await
}

/// The bytes that the address of an image gives, with its headers.
pub(crate) async fn shown(server: &TestServer, url: &str) -> (reqwest::header::HeaderMap, Vec<u8>) {
    let response = server.bare(Method::GET, url).send().await.expect("an answer");
    assert_eq!(response.status(), 200, "{url}");
    let headers = response.headers().clone();
    (headers, response.bytes().await.expect("bytes").to_vec())
}

async fn slots(server: &TestServer, by_pro: bool) -> Vec<String> {
    let path = "/groups/4/images";
    let list = if by_pro { server.pro_get(path).await } else { server.get(path).await };
    let images = list.is(200)["images"].as_array().expect("a list").clone();
    images.iter().map(|it| it["slot"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn an_image_is_scaled_written_anew_and_served_under_its_digest() {
    let server = TestServer::start().await;
    let calendar = format!("calendar-{CALENDAR}");
    for (slot, sent, format, media_type, box_of) in [
        ("logo", disc(900), ImageFormat::Png, "image/png", (480, 240)),
        ("cover", photo(1_600, 500), ImageFormat::Jpeg, "image/jpeg", (1_280, 640)),
        (calendar.as_str(), photo(300, 400), ImageFormat::WebP, "image/jpeg", (320, 320)),
    ] {
        // The content decides, and neither the name nor the declared type.
        let made = put(&server, slot, "application/json", encoded(&sent, format)).await.is(200);
        assert_eq!(made["slot"], slot);
        assert_eq!(made["media_type"], media_type, "{slot}");
        let (headers, bytes) = shown(&server, made["url"].as_str().expect("a path")).await;
        assert!(bytes.len() <= 60 * 1_024, "{slot}: {} bytes", bytes.len());
        assert_eq!(made["bytes"], bytes.len());
        assert_eq!(headers["content-type"], media_type);
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable");
        assert_eq!(made["digest"], data_encoding::HEXLOWER.encode(&sha2(&bytes)));
        let kept = image::load_from_memory(&bytes).expect("an image");
        assert_eq!(json!([made["width"], made["height"]]), json!([kept.width(), kept.height()]));
        assert!(kept.width() <= box_of.0 && kept.height() <= box_of.1, "{slot}");
        let ratio = |it: &DynamicImage| f64::from(it.width()) / f64::from(it.height());
        assert!((ratio(&kept) / ratio(&sent) - 1.0).abs() < 0.02, "{slot}");
    }
    assert_eq!(slots(&server, true).await, ["logo", "cover", &calendar]);
    let (_, logo) = shown(&server, &first_url(&server).await).await;
    let logo = image::load_from_memory(&logo).expect("an image");
    assert_eq!(logo.get_pixel(0, 0).0[3], 0, "it stays transparent");
    assert_eq!(logo.get_pixel(120, 120).0, [20, 90, 160, 255]);
    let url = first_url(&server).await;
    let deleted = answer(server.by_pro(Method::DELETE, "/groups/4/images/logo")).await.is(200);
    assert_eq!(deleted["url"], url);
    assert_eq!(answer(server.bare(Method::GET, &url)).await.status, 404);
    answer(server.by_pro(Method::DELETE, "/groups/4/images/logo")).await.refused(404, 3, None);
}

fn sha2(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).into()
}

async fn first_url(server: &TestServer) -> String {
    let list = server.pro_get("/groups/4/images").await.is(200);
    list["images"][0]["url"].as_str().expect("a path").to_owned()
}

#[tokio::test]
async fn what_is_no_whole_image_is_refused_by_its_content_and_changes_nothing() {
    let server = TestServer::start().await;
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>".to_vec();
    let jpeg = encoded(&photo(200, 200), ImageFormat::Jpeg);
    let png = encoded(&disc(64), ImageFormat::Png);
    // Each scan is a segment of its own; the decoder would pass over all pixels for each.
    let scans = b"\xff\xd8\xff\xe0\0\x04ab".iter().copied();
    let scans = scans.chain(b"\xff\xda\0\x02\x12\x34".repeat(25)).collect();
    for (name, bytes, rule) in [
        ("an SVG", svg.clone(), "SVG"),
        ("an SVG after a mark", [b"\xef\xbb\xbf \n".to_vec(), svg].concat(), "SVG"),
        ("nothing", Vec::new(), "empty"),
        ("a GIF", b"GIF89a\x01\0\x01\0".to_vec(), "must be a PNG, JPEG or WebP file"),
        ("a JPEG cut short", jpeg[..200].to_vec(), "does not decode"),
        ("a PNG cut short", png[..png.len() / 2].to_vec(), "does not decode"),
        ("a broken WebP", b"RIFF\x10\0\0\0WEBPVP8 \x04\0\0\0abcd".to_vec(), "does not decode"),
        ("a bomb", bomb(30_000, 30_000), "30000 x 30000 pixels"),
        ("a long bomb", bomb(1, 2_000_000), "1 x 2000000 pixels"),
        ("a wide bomb", bomb(8_000, 8_000), "8000 x 8000 pixels"),
        ("many scans", scans, "24 scans"),
    ] {
        let refused = put(&server, "logo", "image/png", bytes).await;
        refused.refused(400, 2, Some("image"));
        assert!(refused.text.contains(rule), "{name}: {}", refused.text);
    }
    let large = put(&server, "logo", "image/png", vec![0x89; 512 * 1_024 + 1]).await;
    assert_eq!(large.status, 413, "{}", large.text);
    assert!(large.text.contains("524288"), "{}", large.text);
    let wrong = put(&server, "banner", "image/png", png.clone()).await;
    wrong.refused(400, 2, Some("slot"));
    assert_eq!(put(&server, "calendar-999", "image/png", png).await.status, 404);
    assert_eq!(slots(&server, true).await, [""; 0]);
}

#[tokio::test]
async fn nothing_but_pixels_is_kept_of_a_polyglot() {
    let server = TestServer::start().await;
    let secret = b"<script>alert('48.8566 N')</script>";
    let trailer = [&b"PK\x03\x04"[..], secret].concat();
    let png = encoded(&disc(64), ImageFormat::Png);
    let (head, rest) = png.split_at(33);
    let text = chunk(b"tEXt", &[&b"Comment\0"[..], secret].concat());
    let png = [head, &text, rest, &trailer].concat();
    let jpeg = encoded(&photo(64, 64), ImageFormat::Jpeg);
    let length = u16::try_from(secret.len() + 2).expect("short").to_be_bytes();
    let comment = [&b"\xff\xfe"[..], &length, secret].concat();
    let jpeg = [&jpeg[..2], &comment, &jpeg[2..], &trailer].concat();
    let webp = [encoded(&photo(64, 64), ImageFormat::WebP), trailer].concat();
    for bytes in [png, jpeg, webp] {
        assert!(contains(&bytes, secret));
        let made = put(&server, "logo", "image/png", bytes).await.is(200);
        let (_, kept) = shown(&server, made["url"].as_str().expect("a path")).await;
        for hidden in [&secret[..], b"PK\x03\x04", b"Comment", b"script"] {
            assert!(!contains(&kept, hidden), "{made}");
        }
        let again = image::load_from_memory(&kept).expect("an image");
        assert_eq!(again.dimensions(), (64, 64));
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[tokio::test]
async fn an_image_that_turns_by_its_metadata_is_turned() {
    let server = TestServer::start().await;
    let jpeg = encoded(&photo(200, 100), ImageFormat::Jpeg);
    // Orientation 6: a quarter to the right.
    let exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let length = u16::try_from(exif.len() + 2).expect("short").to_be_bytes();
    let turned = [&jpeg[..2], b"\xff\xe1", &length, exif, &jpeg[2..]].concat();
    let made = put(&server, "logo", "image/jpeg", turned).await.is(200);
    assert_eq!(json!([made["width"], made["height"]]), json!([100, 200]));
}

#[tokio::test]
async fn administrators_alone_change_images_and_the_public_sees_what_is_offered() {
    let server = TestServer::with_team(|_| {}).await;
    let png = encoded(&disc(64), ImageFormat::Png);
    let hidden = format!("calendar-{HIDDEN_CALENDAR}");
    for slot in ["cover", &hidden] {
        put(&server, slot, "image/png", png.clone()).await.is(200);
    }
    let path = "/groups/4/images/cover";
    for method in [Method::PUT, Method::DELETE] {
        let body = if method == Method::PUT { png.clone() } else { Vec::new() };
        for person in [RITA, PAUL, PIA] {
            let by_other = server.by(person, method.clone(), path).body(body.clone());
            answer(by_other).await.refused(403, 1, None);
        }
        answer(server.by_key(method, path).body(body)).await.refused(403, 1, None);
    }
    assert_eq!(slots(&server, true).await, ["cover", &hidden]);
    assert_eq!(slots(&server, false).await, ["cover"]);
}

#[tokio::test]
async fn an_image_is_changed_as_it_was_seen_and_the_history_names_it() {
    let server = TestServer::start().await;
    let first = put(&server, "cover", "image/png", encoded(&disc(64), ImageFormat::Png)).await;
    let tag = first.headers["etag"].clone();
    let other = encoded(&disc(80), ImageFormat::Png);
    let change = || server.by_pro(Method::PUT, "/groups/4/images/cover").body(other.clone());
    answer(change().header("if-match", &tag)).await.is(200);
    assert_eq!(answer(change().header("if-match", &tag)).await.status, 412);
    let history = server.pro_get("/groups/4/history").await.is(200);
    let rows: Vec<&Value> = history["rows"].as_array().expect("rows").iter().collect();
    for row in &rows[..2] {
        assert_eq!(row["object"], "group:4");
        assert_eq!(row["fields"], json!([{"field": "cover"}]));
    }
    let space = |server: &TestServer| {
        let group = slotbook::domain::records::ids::GroupId::new(4).expect("an id");
        server.engine.published().group_state(group).expect("a group").records_bytes()
    };
    let before = space(&server);
    answer(server.by_pro(Method::DELETE, "/groups/4/images/cover")).await.is(200);
    assert!(space(&server) < before, "images count in the space of the group");
}

#[tokio::test]
async fn an_image_comes_in_a_form_too_as_generated_clients_send_it() {
    let server = TestServer::start().await;
    let send = |name: &str, bytes: Vec<u8>| {
        let head = format!(
            "--b\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"a\"\r\n\r\n"
        );
        let body = [head.as_bytes(), &bytes, b"\r\n--b--\r\n"].concat();
        let request = server.by_pro(Method::PUT, "/groups/4/images/logo").body(body);
        answer(request.header("content-type", "multipart/form-data; boundary=b"))
    };
    let png = encoded(&disc(64), ImageFormat::Png);
    let made = send("file", png.clone()).await.is(200);
    assert_eq!(made["media_type"], "image/png");
    send("other", png.clone()).await.refused(400, 2, Some("image"));
    send("file", b"<svg/>".to_vec()).await.refused(400, 2, Some("image"));
    assert_eq!(send("file", vec![0x89; 600 * 1_024]).await.status, 413);
    assert_eq!(slots(&server, true).await, ["logo"]);
}
