//! Images of a group: its logo, its cover and a photo of each calendar. Reference 12.10.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::records::ids::CalendarId;

/// Maximum size of an image as it is kept, in bytes.
pub const IMAGE_BYTES_MAX: usize = 60 * 1_024;
/// Maximum size of all images of a group, in bytes. One that stands in several places counts once.
pub const GROUP_IMAGES_BYTES_MAX: u64 = 8 * 1_024 * 1_024;

/// The place of an image. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ImageSlot {
    /// The sign of the group, on its pages and in its mails.
    Logo,
    /// The wide image above the first page.
    Cover,
    /// The photo of a calendar.
    Calendar(CalendarId),
}

impl ImageSlot {
    /// The names of slots in paths and documents, for error messages.
    pub const NAMES: &'static str = "logo, cover, or calendar- with the id of a calendar";

    /// Returns the slot of a name: `logo`, `cover` or `calendar-<id>`; `None` for another text.
    ///
    /// ```
    /// use slotbook::domain::records::image::ImageSlot;
    /// let slot = ImageSlot::from_name("calendar-12").expect("a slot");
    /// assert_eq!(slot.to_string(), "calendar-12");
    /// assert_eq!(ImageSlot::from_name("calendar-+12"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "logo" => Some(Self::Logo),
            "cover" => Some(Self::Cover),
            _ => {
                let digits = name.strip_prefix("calendar-")?;
                let id = CalendarId::new(digits.parse().ok()?)?;
                // `parse` accepts signs and zeros in front, which no name has.
                if id.to_string() == digits { Some(Self::Calendar(id)) } else { None }
            }
        }
    }
}

impl fmt::Display for ImageSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Logo => f.write_str("logo"),
            Self::Cover => f.write_str("cover"),
            Self::Calendar(id) => write!(f, "calendar-{id}"),
        }
    }
}

/// The format of an image as it is kept. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageFormat {
    /// Without transparency.
    Jpeg,
    /// With transparency, or with few colours.
    Png,
}

impl ImageFormat {
    /// The media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
        }
    }

    /// The extension of file names.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
        }
    }
}

/// The SHA-256 of the bytes of an image.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ImageDigest(pub [u8; 32]);

impl fmt::Debug for ImageDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ImageDigest({self})")
    }
}

impl fmt::Display for ImageDigest {
    /// The digest in 64 hexadecimal digits of lower case.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// An image as it is kept: pixels that this server has encoded, and nothing else.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The digest of `bytes`.
    pub digest: ImageDigest,
    /// The format of `bytes`.
    pub format: ImageFormat,
    /// Width in pixels, at least 1.
    pub width: u32,
    /// Height in pixels, at least 1.
    pub height: u32,
    /// The encoded pixels, at most [`IMAGE_BYTES_MAX`] bytes.
    pub bytes: Arc<[u8]>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { digest, format, width, height, bytes } = self;
        let bytes = bytes.len();
        write!(f, "Image({digest}, {format:?}, {width} x {height}, {bytes} bytes)")
    }
}

impl Image {
    /// The name of its file: the digest, with the extension of its format.
    pub fn file_name(&self) -> String {
        format!("{}.{}", self.digest, self.format.extension())
    }
}
