//! The images of a group, each kept once by its digest. Reference 12.10.

use std::sync::Arc;

use imbl::OrdMap;

use crate::domain::records::image::{Image, ImageDigest, ImageSlot};
use crate::domain::state::space::image_bytes;

/// The images of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupImages {
    /// The digest of the image in each slot. Each is a key of `rows`.
    slots: OrdMap<ImageSlot, ImageDigest>,
    /// The images, each in at least one slot.
    rows: OrdMap<ImageDigest, Arc<Image>>,
}

impl GroupImages {
    /// Makes the images of stored rows and slots. Rows in no slot, and slots without a row, are
    /// left out.
    pub fn from_stored(rows: Vec<Arc<Image>>, slots: Vec<(ImageSlot, ImageDigest)>) -> Self {
        let mut images = Self::default();
        for (slot, digest) in slots {
            if let Some(row) = rows.iter().find(|row| row.digest == digest) {
                images.put(slot, Arc::clone(row));
            }
        }
        images
    }

    /// Finds the image in a slot.
    pub fn in_slot(&self, slot: ImageSlot) -> Option<&Arc<Image>> {
        self.rows.get(self.slots.get(&slot)?)
    }

    /// Finds the image with a digest.
    pub fn with_digest(&self, digest: ImageDigest) -> Option<&Arc<Image>> {
        self.rows.get(&digest)
    }

    /// The slots with their images: logo, cover, then calendars ascending by id.
    pub fn iter(&self) -> impl Iterator<Item = (ImageSlot, &Arc<Image>)> {
        self.slots.iter().map(|(slot, digest)| {
            (*slot, self.rows.get(digest).expect("each slot has the digest of a row"))
        })
    }

    /// The images, ascending by digest.
    pub fn rows(&self) -> impl Iterator<Item = &Arc<Image>> {
        self.rows.values()
    }

    /// The slots, in their order, with the digests of their images.
    pub fn slots(&self) -> impl Iterator<Item = (ImageSlot, ImageDigest)> {
        self.slots.iter().map(|(slot, digest)| (*slot, *digest))
    }

    /// Puts an image into a slot, in place of the one there.
    pub fn put(&mut self, slot: ImageSlot, image: Arc<Image>) {
        let digest = image.digest;
        let before = self.slots.insert(slot, digest);
        self.rows.entry(digest).or_insert(image);
        self.drop_unused(before);
    }

    /// Empties a slot.
    pub fn remove(&mut self, slot: ImageSlot) {
        let before = self.slots.remove(&slot);
        self.drop_unused(before);
    }

    /// Drops an image that stands in no slot any more.
    fn drop_unused(&mut self, digest: Option<ImageDigest>) {
        if let Some(digest) = digest
            && !self.slots.values().any(|used| *used == digest)
        {
            self.rows.remove(&digest);
        }
    }

    /// The size of all images in bytes.
    pub fn bytes(&self) -> u64 {
        self.rows.values().map(|row| row.bytes.len() as u64).sum()
    }

    /// The bytes that the images take of the space of the group. Reference 3.8.
    pub fn space_bytes(&self) -> u64 {
        self.rows.values().map(|row| image_bytes(row)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::ids::CalendarId;
    use crate::domain::records::image::ImageFormat;

    fn image(seed: u8) -> Arc<Image> {
        let bytes = vec![seed; 100].into();
        let digest = ImageDigest([seed; 32]);
        Arc::new(Image { digest, format: ImageFormat::Png, width: 1, height: 1, bytes })
    }

    #[test]
    fn an_image_in_two_slots_is_kept_once_and_until_both_are_empty() {
        let calendar = ImageSlot::Calendar(CalendarId::new(7).expect("an id"));
        let mut images = GroupImages::default();
        images.put(calendar, image(1));
        images.put(ImageSlot::Logo, image(1));
        assert_eq!((images.bytes(), images.rows().count()), (100, 1));
        images.put(ImageSlot::Logo, image(2));
        assert_eq!((images.bytes(), images.rows().count()), (200, 2));
        let slots: Vec<ImageSlot> = images.iter().map(|(slot, _)| slot).collect();
        assert_eq!(slots, [ImageSlot::Logo, calendar]);
        images.remove(calendar);
        assert_eq!(images.with_digest(ImageDigest([1; 32])), None);
        images.remove(calendar);
        images.put(ImageSlot::Logo, image(2));
        assert_eq!(images.bytes(), 100);
        images.remove(ImageSlot::Logo);
        assert_eq!(images, GroupImages::default());
    }

    #[test]
    fn an_image_counts_its_file_and_256_bytes_once_however_many_slots_it_has() {
        let mut images = GroupImages::default();
        assert_eq!(images.space_bytes(), 0);
        for (slot, seed, bytes) in
            [(ImageSlot::Logo, 1, 356), (ImageSlot::Cover, 1, 356), (ImageSlot::Logo, 2, 712)]
        {
            images.put(slot, image(seed));
            assert_eq!(images.space_bytes(), bytes);
        }
    }
}
