//! Images of requests and documents: decoded within limits, scaled, and written anew, so that
//! nothing but pixels is kept. Reference 12.10.

use std::io::Cursor;
use std::panic;

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
/// [`IMAGE_BYTES_MAX`] bytes. It takes tens of milliseconds, and at most about a second of a
/// processor for a file that is made to take long (`benches/images.rs`).
///
/// # Errors
/// The rule that the bytes break.
pub fn make_image(slot: ImageSlot, bytes: &[u8]) -> Result<Image, ImageFault> {
    // The decoders are written by others, and a file may be made to trip one of them.
    let decoded = panic::catch_unwind(|| decode(bytes)).unwrap_or(Err(ImageFault::Broken))?;
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
    if format == ::image::ImageFormat::WebP {
        check_webp(bytes)?;
    }
    let broken = |_| ImageFault::Broken;
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODER_BYTES_MAX);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    if is_too_large(width, height) {
        return Err(ImageFault::Pixels(width, height));
    }
    if width == 0 || height == 0 || decoder.total_bytes() > DECODED_BYTES_MAX {
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

fn is_too_large(width: u32, height: u32) -> bool {
    let pixels = u64::from(width) * u64::from(height);
    width > SIDE_MAX || height > SIDE_MAX || pixels > PIXELS_MAX
}

/// Checks what the decoder of WebP does not: it gives lossy frames and metadata the memory that
/// they ask for, and compares them with the head and the file only then.
///
/// # Errors
/// Pixels for a lossy frame that is too large, Broken for metadata that is longer than the file.
fn check_webp(bytes: &[u8]) -> Result<(), ImageFault> {
    // After the name of the chunk: its length, three bytes, the begin of a key frame, both sides of
    // 14 bits. Frames of animations lie within other chunks.
    const KEY_FRAME: &[u8] = b"\x9d\x01\x2a";
    for at in memchr::memmem::find_iter(bytes, b"VP8 ") {
        let Some(&[w0, w1, h0, h1]) = bytes.get(at + 14..at + 18) else { continue };
        let side = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3fff);
        let (width, height) = (side(w0, w1), side(h0, h1));
        if bytes.get(at + 11..at + 14) == Some(KEY_FRAME) && is_too_large(width, height) {
            return Err(ImageFault::Pixels(width, height));
        }
    }
    let mut at = 12;
    while let Some((name, length)) = bytes.get(at..at + 8).and_then(|it| it.split_at_checked(4)) {
        let length = length.first_chunk().map_or(0, |it| u32::from_le_bytes(*it));
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if matches!(name, b"EXIF" | b"ICCP" | b"XMP ") && length > bytes.len() {
            return Err(ImageFault::Broken);
        }
        at = at.saturating_add(8).saturating_add(length).saturating_add(length % 2);
        if at > bytes.len() {
            break;
        }
    }
    Ok(())
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
        let bytes_tried = match encode_within(&whole, is_transparent, is_lossless) {
            Ok((format, bytes)) => {
                let digest = ImageDigest(Sha256::digest(&bytes).into());
                return Image { digest, format, width, height, bytes: bytes.into() };
            }
            Err(bytes_tried) => bytes_tried,
        };
        // One pixel always fits.
        let [width, height] = [width, height].map(|side| shorten(side, bytes_tried));
        pixels = ::image::imageops::resize(&pixels, width, height, FilterType::CatmullRom);
    }
}

/// Returns the side of pixels that take fewer than `bytes_tried`: a step shorter, or many steps if
/// they took many times what they may. Smaller pixels are smoother, hence a third more than the
/// ratio says.
fn shorten(side: u32, bytes_tried: usize) -> u32 {
    let [bytes_max, bytes_tried] = [IMAGE_BYTES_MAX, bytes_tried.max(1)]
        .map(|bytes| u64::try_from(bytes).expect("a usize has at most 64 bits"));
    let area = u64::from(side).pow(2) * bytes_max * 4 / (bytes_tried * 3);
    let by_ratio = u32::try_from(area.isqrt()).unwrap_or(side);
    by_ratio.min(side * 4 / 5).max(1)
}

/// Encodes pixels.
///
/// # Errors
/// The bytes of the smallest form that was tried, if none of these dimensions is small enough.
fn encode_within(
    pixels: &DynamicImage,
    is_transparent: bool,
    is_lossless: bool,
) -> Result<(ImageFormat, Vec<u8>), usize> {
    let mut bytes_tried = usize::MAX;
    if is_transparent || is_lossless {
        let mut bytes = Vec::new();
        let encoder =
            PngEncoder::new_with_quality(&mut bytes, CompressionType::Best, PngFilter::Adaptive);
        write(pixels, encoder);
        if bytes.len() <= IMAGE_BYTES_MAX {
            return Ok((ImageFormat::Png, bytes));
        }
        bytes_tried = bytes.len();
    }
    if is_transparent {
        return Err(bytes_tried);
    }
    for quality in QUALITIES {
        let mut bytes = Vec::new();
        write(pixels, JpegEncoder::new_with_quality(&mut bytes, quality));
        if bytes.len() <= IMAGE_BYTES_MAX {
            return Ok((ImageFormat::Jpeg, bytes));
        }
        bytes_tried = bytes_tried.min(bytes.len());
    }
    Err(bytes_tried)
}

fn write(pixels: &DynamicImage, encoder: impl ::image::ImageEncoder) {
    let (width, height) = (pixels.width(), pixels.height());
    let written = encoder.write_image(pixels.as_bytes(), width, height, pixels.color().into());
    written.expect("both formats take pixels of 8 bits, and a vector takes all bytes");
}
