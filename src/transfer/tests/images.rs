//! The images of a group through an export and an import.

use std::io::Cursor;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{Rgba, RgbaImage};
use serde_json::{Value, json};

use super::{assert_same, exported, hash, import, now, shop};
use crate::domain::records::ids::CalendarId;
use crate::domain::records::image::{
    GROUP_IMAGES_BYTES_MAX, IMAGE_BYTES_MAX, Image, ImageDigest, ImageFormat, ImageSlot,
};
use crate::domain::state::group_images::GroupImages;
use crate::transfer::faults::ImportFaults;
use crate::transfer::images::check_bytes;
use crate::transfer::import::read_document;

/// A small PNG file of one colour, in base64.
fn file(red: u8) -> String {
    let mut bytes = Cursor::new(Vec::new());
    RgbaImage::from_pixel(3, 2, Rgba([red, 0, 9, 120]))
        .write_to(&mut bytes, image::ImageFormat::Png)
        .expect("memory takes all");
    STANDARD.encode(bytes.into_inner())
}

fn shop_with_images(images: Value) -> Value {
    let mut document = shop();
    document["groups"][0]["images"] = images;
    document
}

fn calendar(id: u64) -> ImageSlot {
    ImageSlot::Calendar(CalendarId::new(id).expect("an id"))
}

#[test]
fn images_survive_an_export() {
    let document = shop_with_images(json!([
        {"slot": "calendar-1", "image": file(1)},
        {"slot": "logo", "image": file(2)},
        {"slot": "cover", "image": file(1)},
    ]));
    let content = import(&document).expect("a legal document");
    let images = &content.group_states[0].images;
    let slots: Vec<ImageSlot> = images.slots().map(|(slot, _)| slot).collect();
    assert_eq!(slots, [ImageSlot::Logo, ImageSlot::Cover, calendar(1)]);
    assert_eq!(images.in_slot(calendar(1)), images.in_slot(ImageSlot::Cover));
    assert_ne!(images.in_slot(ImageSlot::Logo), images.in_slot(ImageSlot::Cover));
    let logo = images.in_slot(ImageSlot::Logo).expect("it is there");
    assert_eq!((logo.width, logo.height), (3, 2));
    let again = read_document(exported(&content).as_bytes(), now(), &hash);
    assert_same(&content, &again.expect("an export is legal"));
}

#[test]
fn a_wrong_image_is_reported_by_path() {
    for (row, field) in [
        (json!({"slot": "banner", "image": file(1)}), "slot"),
        (json!({"slot": "calendar-99", "image": file(1)}), "slot"),
        (json!({"slot": "logo", "image": file(1)}), "slot"),
        (json!({"slot": "cover", "image": "no base64"}), "image"),
        (json!({"slot": "cover", "image": STANDARD.encode("no image")}), "image"),
    ] {
        let document = shop_with_images(json!([{"slot": "logo", "image": file(2)}, row]));
        let faults = import(&document).expect_err("a wrong image");
        let paths: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
        assert_eq!(paths, [format!("groups[0].images[1].{field}")], "{row}");
    }
}

#[test]
fn the_images_of_a_group_may_fill_its_room_and_no_byte_more() {
    let image = |number: u64, size: usize| Image {
        digest: ImageDigest([u8::try_from(number).expect("few images"); 32]),
        format: ImageFormat::Png,
        width: 1,
        height: 1,
        bytes: vec![0; size].into(),
    };
    for (excess, faults_expected) in [(0, 0), (1, 1)] {
        let mut images = GroupImages::default();
        let mut left = usize::try_from(GROUP_IMAGES_BYTES_MAX).expect("8 MiB") + excess;
        let mut number = 0;
        while left > 0 {
            number += 1;
            let size = left.min(IMAGE_BYTES_MAX);
            images.put(calendar(number), Arc::new(image(number, size)));
            left -= size;
        }
        let mut faults = ImportFaults::default();
        check_bytes(&images, "groups[0].images".into(), &mut faults);
        let faults = faults.check_none().err().unwrap_or_default();
        assert_eq!(faults.len(), faults_expected, "{faults:?}");
    }
}
