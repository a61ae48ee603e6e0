//! Images of requests and documents: decoded within limits, scaled, and written anew, so that
//! nothing but pixels is kept. Reference 12.10.

use std::io::Cursor;

use ::image::codecs::jpeg::JpegEncoder;
use ::image::codecs::png::{CompressionType, FilterType as PngFilter, PngEncoder};
use ::image::imageops::FilterType;
use ::image::{DynamicImage, ImageDecoder, ImageReader, Limits};
use sha2::{Digest as _, Sha256};

use crate::domain::records::fault::Fault;
use crate::domain::records::image::{IMAGE_BYTES_MAX, Image, ImageDigest, ImageFormat, ImageSlot};

/// The name of an image in faults.
pub const IMAGE: &str = "image";
/// Maximum size of an image that is sent, in bytes.
pub const SENT_BYTES_MAX: usize = 512 * 1_024;
/// Maximum width and height of an image that is sent, in pixels.
pub const SIDE_MAX: u32 = 8_192;
/// Maximum number of pixels of an image that is sent.
pub const PIXELS_MAX: u64 = 8 * 1_024 * 1_024;
/// Maximum size of the pixels of an image that is sent, in bytes: 8 for each pixel, as PNG has them
/// with 16 bits a channel.
const DECODED_BYTES_MAX: u64 = PIXELS_MAX * 8;
/// Maximum memory that a decoder takes beside the pixels, in bytes: profiles and other metadata.
const DECODER_BYTES_MAX: u64 = DECODED_BYTES_MAX + 4 * 1_024 * 1_024;
/// Maximum number of scans of a JPEG. Each costs a pass over all pixels; programs write about ten.
const SCANS_MAX: usize = 24;

/// Qualities of JPEG that are tried before the image is made smaller.
const QUALITIES: [u8; 4] = [85, 75, 65, 50];

/// A rule that an image breaks. Nothing is kept of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageFault {
    /// There is nothing.
    #[error("must be a PNG, JPEG or WebP file, and it is empty")]
    Empty,
    /// It has more than [`SENT_BYTES_MAX`] bytes.
    #[error("has {0} bytes, more than {SENT_BYTES_MAX}: make it smaller")]
    Bytes(usize),
    /// It is SVG, HTML or the like.
    #[error("must be a PNG, JPEG or WebP file, and it is a text such as SVG or HTML")]
    Text,
    /// Its first bytes are those of another format.
    #[error("must be a PNG, JPEG or WebP file, and its first bytes are those of none")]
    Format,
    /// It has more than [`SIDE_MAX`] pixels a side, or more than [`PIXELS_MAX`] in all.
    #[error("has {0} x {1} pixels, more than {SIDE_MAX} a side or {PIXELS_MAX} in all")]
    Pixels(u32, u32),
    /// It is a JPEG of too many scans.
    #[error("has more than {SCANS_MAX} scans: save it as a plain JPEG")]
    Scans,
    /// It is not whole, or does not decode within the memory that is given.
    #[error("does not decode: must be a PNG, JPEG or WebP file that is whole")]
    Broken,
}

impl From<ImageFault> for Fault {
    fn from(fault: ImageFault) -> Self {
        Self::new(IMAGE, fault.to_string())
    }
}

/// Makes the image to keep in a slot of the bytes of a PNG, JPEG or WebP file. The first bytes say
/// which it is, never a name or a declared type. An image that turns by its metadata is turned. Of
/// an animation the first frame is kept. The result fits the slot, and has at most
/// [`IMAGE_BYTES_MAX`] bytes. It takes tens of milliseconds.
///
/// # Errors
/// The rule that the bytes break.
pub fn make_image(slot: ImageSlot, bytes: &[u8]) -> Result<Image, ImageFault> {
    let decoded = decode(bytes)?;
    let (width_max, height_max) = bounds_of(slot);
    let is_larger = decoded.width() > width_max || decoded.height() > height_max;
    let scaled = if is_larger {
        decoded.resize(width_max, height_max, FilterType::CatmullRom)
    } else {
        decoded
    };
    Ok(encode_small(scaled, is_lossless(bytes)))
}

/// Returns the maximum width and height of an image in a slot, in pixels: twice those on a page,
/// for dense screens.
const fn bounds_of(slot: ImageSlot) -> (u32, u32) {
    match slot {
        ImageSlot::Logo => (480, 240),
        ImageSlot::Cover => (1_280, 640),
        ImageSlot::Calendar(_) => (320, 320),
    }
}

/// Returns the format of a file by its first bytes.
fn format_of(bytes: &[u8]) -> Result<::image::ImageFormat, ImageFault> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Ok(::image::ImageFormat::Png);
    }
    if bytes.starts_with(b"\xff\xd8\xff") {
        return Ok(::image::ImageFormat::Jpeg);
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Ok(::image::ImageFormat::WebP);
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    Err(match text.trim_ascii_start().first() {
        None => ImageFault::Empty,
        Some(b'<') => ImageFault::Text,
        Some(_) => ImageFault::Format,
    })
}

/// Whether a file keeps flat colours exactly, as logos have them.
fn is_lossless(bytes: &[u8]) -> bool {
    !bytes.starts_with(b"\xff\xd8")
}

/// Decodes a file. Everything that its head declares is checked before the pixels get memory.
fn decode(bytes: &[u8]) -> Result<DynamicImage, ImageFault> {
    if bytes.len() > SENT_BYTES_MAX {
        return Err(ImageFault::Bytes(bytes.len()));
    }
    let format = format_of(bytes)?;
    if format == ::image::ImageFormat::Jpeg && count_scans(bytes) > SCANS_MAX {
        return Err(ImageFault::Scans);
    }
    let broken = |_| ImageFault::Broken;
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODER_BYTES_MAX);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if width > SIDE_MAX || height > SIDE_MAX || pixels > PIXELS_MAX {
        return Err(ImageFault::Pixels(width, height));
    }
    if pixels == 0 || decoder.total_bytes() > DECODED_BYTES_MAX {
        return Err(ImageFault::Broken);
    }
    let orientation = decoder.orientation().map_err(broken)?;
    limits.max_image_width = Some(SIDE_MAX);
    limits.max_image_height = Some(SIDE_MAX);
    decoder.set_limits(limits).map_err(broken)?;
    let mut decoded = DynamicImage::from_decoder(decoder).map_err(broken)?;
    decoded.apply_orientation(orientation);
    Ok(decoded)
}

/// Counts the scans of a JPEG: the markers SOS outside of segments.
fn count_scans(bytes: &[u8]) -> usize {
    const SCAN: u8 = 0xda;
    let mut scans = 0;
    let mut at = 2;
    while let Some(found) = memchr::memchr(0xff, bytes.get(at..).unwrap_or_default()) {
        at += found + 1;
        let Some(marker) = bytes.get(at) else { break };
        match marker {
            // Fill bytes and stuffed bytes, marks within a scan, and the begin: without a length.
            0xff => continue,
            0x00 | 0x01 | 0xd0..=0xd8 => {}
            0xd9 => break,
            _ => {
                scans += usize::from(*marker == SCAN);
                let length = bytes.get(at + 1..at + 3).unwrap_or_default();
                at += length.first_chunk().map_or(0, |it| usize::from(u16::from_be_bytes(*it)));
            }
        }
        at += 1;
    }
    scans
}

/// Encodes pixels in at most [`IMAGE_BYTES_MAX`] bytes, as large as that allows. Transparent ones
/// become a PNG; others too, if they were kept exactly before and it is small enough.
fn encode_small(pixels: DynamicImage, is_lossless: bool) -> Image {
    let mut pixels = pixels.into_rgba8();
    let is_transparent = pixels.pixels().any(|pixel| pixel.0[3] < u8::MAX);
    loop {
        let (width, height) = pixels.dimensions();
        let whole = if is_transparent {
            DynamicImage::ImageRgba8(pixels.clone())
        } else {
            DynamicImage::ImageRgb8(DynamicImage::ImageRgba8(pixels.clone()).into_rgb8())
        };
        let encoded = encode_within(&whole, is_transparent, is_lossless);
        if let Some((format, bytes)) = encoded {
            let digest = ImageDigest(Sha256::digest(&bytes).into());
            return Image { digest, format, width, height, bytes: bytes.into() };
        }
        // One pixel always fits.
        let smaller = |side: u32| (side * 4 / 5).max(1);
        let (width, height) = (smaller(width), smaller(height));
        pixels = ::image::imageops::resize(&pixels, width, height, FilterType::CatmullRom);
    }
}

/// Encodes pixels; `None` if no form of these dimensions is small enough.
fn encode_within(
    pixels: &DynamicImage,
    is_transparent: bool,
    is_lossless: bool,
) -> Option<(ImageFormat, Vec<u8>)> {
    if is_transparent || is_lossless {
        let mut bytes = Vec::new();
        let encoder =
            PngEncoder::new_with_quality(&mut bytes, CompressionType::Best, PngFilter::Adaptive);
        write(pixels, encoder);
        if bytes.len() <= IMAGE_BYTES_MAX {
            return Some((ImageFormat::Png, bytes));
        }
    }
    if is_transparent {
        return None;
    }
    for quality in QUALITIES {
        let mut bytes = Vec::new();
        write(pixels, JpegEncoder::new_with_quality(&mut bytes, quality));
        if bytes.len() <= IMAGE_BYTES_MAX {
            return Some((ImageFormat::Jpeg, bytes));
        }
    }
    None
}

fn write(pixels: &DynamicImage, encoder: impl ::image::ImageEncoder) {
    let (width, height) = (pixels.width(), pixels.height());
    let written = encoder.write_image(pixels.as_bytes(), width, height, pixels.color().into());
    written.expect("both formats take pixels of 8 bits, and a vector takes all bytes");
}
