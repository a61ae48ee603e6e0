//! What it costs to make an image of a file: of a usual photo, and of files that are made to take long within the limits.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use slotbook::domain::records::image::ImageSlot;
use slotbook::wire::image::make_image;

#[expect(dead_code, reason = "the API's tests use more of it")]
#[path = "../tests/api/image_parts.rs"]
mod parts;

/// A photo of a telephone that was made smaller before it was sent.
fn photo() -> Vec<u8> {
    let byte = |number: u32| u8::try_from(number % 256).expect("a byte");
    let pixels =
        RgbImage::from_fn(1_600, 1_200, |x, y| Rgb([byte(x / 7), byte(y / 5), byte((x + y) / 11)]));
    parts::encoded(&DynamicImage::ImageRgb8(pixels), ImageFormat::Jpeg)
}

/// Makes a cover and checks its dimensions.
fn cover(c: &mut Criterion, name: &str, file: &[u8], dimensions: (u32, u32)) {
    assert!(file.len() <= 512 * 1_024, "{name}: {} bytes", file.len());
    let mut group = c.benchmark_group("images");
    group.sample_size(10);
    group.bench_function(name, |b| {
        b.iter(|| {
            let made = make_image(ImageSlot::Cover, black_box(file)).expect("an image");
            assert_eq!((made.width, made.height), dimensions);
            assert!(made.bytes.len() <= 60 * 1_024);
        });
    });
    group.finish();
}

fn covers(c: &mut Criterion) {
    cover(c, "photo_2_megapixels", &photo(), (853, 640));
    cover(
        c,
        "jpeg_of_24_scans_8_megapixels",
        &parts::scans((2_896, 2_896), 24, 22_000),
        (640, 640),
    );
    cover(c, "png_of_noise_3_megapixels", &parts::noise(2_560, 1_280), (221, 110));
    cover(c, "webp_of_a_lossy_frame_8_megapixels", &webp(), (640, 640));
}

/// A lossy WebP of as many pixels and bytes as are allowed.
fn webp() -> Vec<u8> {
    let content = [b"WEBP".to_vec(), parts::lossy(2_896, 2_896, 520_000)].concat();
    parts::part(b"RIFF", &content)
}

criterion_group!(benches, covers);
criterion_main!(benches);
