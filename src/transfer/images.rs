//! The images of a group in a document: each a row with its slot and its file in base64. Reference
//! 11.2.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::records::image::{GROUP_IMAGES_BYTES_MAX, Image, ImageSlot};
use crate::domain::state::group_images::GroupImages;
use crate::transfer::faults::ImportFaults;
use crate::transfer::rows::{collect_objects, given_text};
use crate::wire::image::{IMAGE, make_image};

/// The section of the images of a group.
pub(crate) const IMAGES: &str = "images";
/// The member with the name of the slot.
const SLOT: &str = "slot";

/// Returns the row of an image.
pub(crate) fn render_image(slot: ImageSlot, image: &Image) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert(SLOT.into(), slot.to_string().into());
    row.insert(IMAGE.into(), STANDARD.encode(&image.bytes).into());
    row
}

/// Reads the images of a group. Each is made anew, as one that is sent to the API.
pub(crate) fn read_images(
    fields: &Map<String, Value>,
    path: &str,
    catalogue: &Catalogue,
    faults: &mut ImportFaults,
) -> GroupImages {
    let mut images = GroupImages::default();
    let section_path = format!("{path}.{IMAGES}");
    for (path, row) in collect_objects(fields.get(IMAGES), &section_path, faults) {
        let slot = given_text(row, SLOT).and_then(ImageSlot::from_name);
        let Some(slot) = slot else {
            faults.add(format!("{path}.{SLOT}"), format!("must be {}", ImageSlot::NAMES));
            continue;
        };
        if let ImageSlot::Calendar(id) = slot
            && !catalogue.calendars.contains_key(&id)
        {
            faults.add(format!("{path}.{SLOT}"), format!("{id} is no calendar of the group"));
            continue;
        }
        if images.in_slot(slot).is_some() {
            faults.add(format!("{path}.{SLOT}"), format!("{slot} appears twice"));
            continue;
        }
        let file = STANDARD.decode(given_text(row, IMAGE).unwrap_or_default());
        let Ok(file) = file else {
            faults.add(format!("{path}.{IMAGE}"), "must be a file in base64");
            continue;
        };
        match make_image(slot, &file) {
            Ok(image) => images.put(slot, Arc::new(image)),
            Err(fault) => faults.add(format!("{path}.{IMAGE}"), fault.to_string()),
        }
    }
    check_bytes(&images, section_path, faults);
    images
}

/// Reports images that together take more than a group may have.
pub(crate) fn check_bytes(images: &GroupImages, section_path: String, faults: &mut ImportFaults) {
    if images.bytes() > GROUP_IMAGES_BYTES_MAX {
        let rule = format!("take {} bytes, more than {GROUP_IMAGES_BYTES_MAX}", images.bytes());
        faults.add(section_path, rule);
    }
}
