//! Rare forms of files of images, and files whose parts contradict one another. Reference 12.10.

use image::{DynamicImage, GenericImageView as _, ImageFormat};
use serde_json::json;

use crate::image_parts::{
    ANIMATION, METADATA, TRANSPARENT, TURNED, chunk, encoded, frame, interlaced, lossless, lossy,
    packed, part, plain, webp,
};
use crate::images::{disc, put, shown};
use crate::server::TestServer;

#[tokio::test]
async fn interlaced_animated_turned_and_deep_files_are_taken() {
    let server = TestServer::start().await;
    let (red, blue) = ([200, 0, 0, 255], [0, 0, 200, 255]);
    let size = (30, 20);
    let shown_first =
        [plain(30, 20, red), plain(30, 20, blue)].map(|image| frame(size, &[lossless(&image)]));
    let animated = [&[part(b"ANIM", &[0; 6])][..], &shown_first].concat();
    let deep = DynamicImage::ImageRgba16(plain(30, 20, red).into_rgba16());
    let png = encoded(&plain(30, 20, red), ImageFormat::Png);
    let (head, rest) = png.split_at(33);
    let turned = [head, &chunk(b"eXIf", TURNED), rest].concat();
    let exif = [lossless(&plain(30, 20, red)), part(b"EXIF", TURNED)];
    for (name, bytes, expected) in [
        ("animated", webp(ANIMATION | TRANSPARENT, size, &animated), (30, 20)),
        ("16 bits", encoded(&deep, ImageFormat::Png), (30, 20)),
        ("a PNG that turns", turned, (20, 30)),
        ("a WebP that turns", webp(METADATA | TRANSPARENT, size, &exif), (20, 30)),
    ] {
        let made = put(&server, "logo", "image/png", bytes).await.is(200);
        assert_eq!(
            json!([made["width"], made["height"]]),
            json!([expected.0, expected.1]),
            "{name}"
        );
        let (_, kept) = shown(&server, made["url"].as_str().expect("a path")).await;
        let kept = image::load_from_memory(&kept).expect("an image");
        assert_eq!(kept.get_pixel(10, 10).0, red, "{name}");
    }
    let made = put(&server, "logo", "image/png", interlaced(&disc(61))).await.is(200);
    let (_, kept) = shown(&server, made["url"].as_str().expect("a path")).await;
    let kept = image::load_from_memory(&kept).expect("an image");
    assert_eq!(kept.to_rgba8(), disc(61).to_rgba8());
}

#[tokio::test]
async fn metadata_of_any_size_leave_the_pixels_and_are_gone() {
    let server = TestServer::start().await;
    let png = encoded(&disc(64), ImageFormat::Png);
    let (head, rest) = png.split_at(33);
    let zeros = packed(&vec![0; 200 << 20]);
    let text = chunk(b"zTXt", &[b"Comment\0\0", &zeros[..]].concat());
    let profile = chunk(b"iCCP", &[b"Profile\0\0", &zeros[..]].concat());
    for metadata in [text, profile] {
        let sent = [head, &metadata, rest].concat();
        assert!(sent.len() > 150 * 1_024, "{} bytes", sent.len());
        let made = put(&server, "logo", "image/png", sent).await.is(200);
        let (_, kept) = shown(&server, made["url"].as_str().expect("a path")).await;
        assert!(kept.len() < png.len() * 2, "{} bytes", kept.len());
        let kept = image::load_from_memory(&kept).expect("an image");
        assert_eq!(kept.to_rgba8(), disc(64).to_rgba8());
    }
}

#[tokio::test]
async fn files_whose_parts_contradict_one_another_are_refused() {
    let server = TestServer::start().await;
    let animation = |size, parts: Vec<Vec<u8>>| {
        let parts = [part(b"ANIM", &[0; 6]), frame(size, &parts)];
        webp(ANIMATION | TRANSPARENT, (16, 16), &parts)
    };
    let alpha = part(b"ALPH", &[0; 65]);
    let colours = lossless(&plain(64, 64, [9, 9, 9, 255]));
    // The length that it declares is not there.
    let long = [b"EXIF", &0xffff_fff0_u32.to_le_bytes()[..], TURNED].concat();
    let long = webp(METADATA, (16, 16), &[lossless(&plain(16, 16, [9, 9, 9, 255])), long]);
    let too_large = "16383 x 16383 pixels";
    let broken = "does not decode";
    for (name, bytes, rule) in [
        ("a canvas", webp(0, (16_384, 16_384), std::slice::from_ref(&colours)), "16384 x 16384"),
        ("a large frame", webp(0, (16, 16), &[lossy(16_383, 16_383, 4_000)]), too_large),
        (
            "a large frame of an animation",
            animation((16, 16), vec![lossy(16_383, 16_383, 4_000)]),
            too_large,
        ),
        ("another frame", webp(0, (16, 16), &[lossy(32, 32, 4_000)]), broken),
        ("other pixels", webp(0, (16, 16), std::slice::from_ref(&colours)), broken),
        ("a frame beyond the canvas", animation((64, 64), vec![colours]), broken),
        (
            "a frame unlike its transparency",
            animation((8, 8), vec![alpha, lossy(16, 16, 4_000)]),
            broken,
        ),
        ("metadata beyond the file", long, broken),
    ] {
        let refused = put(&server, "logo", "image/webp", bytes).await;
        refused.refused(400, 2, Some("image"));
        assert!(refused.text.contains(rule), "{name}: {}", refused.text);
    }
    let list = server.pro_get("/groups/4/images").await.is(200);
    assert_eq!(list["images"], json!([]));
}
