//! Files of images, put together from their parts, for tests and benchmarks.

use std::io::Cursor;

use image::{DynamicImage, GenericImageView as _, ImageFormat, Rgba, RgbaImage};

const PNG_HEAD: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The flag of a WebP file that is an animation.
pub(crate) const ANIMATION: u8 = 2;
/// The flag of a WebP file with metadata.
pub(crate) const METADATA: u8 = 8;
/// The flag of a WebP file that is transparent.
pub(crate) const TRANSPARENT: u8 = 16;

/// A file of an image as the library writes it.
pub(crate) fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).expect("memory takes all");
    bytes.into_inner()
}

/// A chunk of a PNG.
pub(crate) fn chunk(name: &[u8], content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("short").to_be_bytes();
    let crc = crc32fast::hash(&[name, content].concat()).to_be_bytes();
    [&length, name, content, &crc].concat()
}

/// A PNG of one line after another, each with its filter, as they are packed.
pub(crate) fn png(head: &[u8], before: &[Vec<u8>], lines: &[u8]) -> Vec<u8> {
    let begin = [PNG_HEAD.to_vec(), chunk(b"IHDR", head), before.concat()].concat();
    [begin, chunk(b"IDAT", &packed(lines)), chunk(b"IEND", b"")].concat()
}

/// Metadata that turns an image a quarter to the right.
pub(crate) const TURNED: &[u8] = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";

/// An image of one colour.
pub(crate) fn plain(width: u32, height: u32, colour: [u8; 4]) -> DynamicImage {
    DynamicImage::ImageRgba8(RgbaImage::from_pixel(width, height, Rgba(colour)))
}

/// Bytes as PNG packs them.
pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut packed, bytes).expect("memory takes all");
    packed.finish().expect("memory takes all")
}

/// A PNG with Adam7 passes.
pub(crate) fn interlaced(image: &DynamicImage) -> Vec<u8> {
    let (width, height) = image.dimensions();
    let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 6, 0, 0, 1]].concat();
    let mut lines = Vec::new();
    // First column and line of each pass, and the steps from one to the next.
    for (x, y, dx, dy) in [
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    ] {
        for row in (y..height).step_by(dy) {
            lines.push(0);
            for column in (x..width).step_by(dx) {
                lines.extend(image.get_pixel(column, row).0);
            }
        }
    }
    png(&head, &[], &lines)
}

/// A chunk of a WebP file.
pub(crate) fn part(name: &[u8], content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("short").to_le_bytes();
    let padding: &[u8] = if content.len() % 2 == 1 { b"\0" } else { b"" };
    [name, &length, content, padding].concat()
}

fn three_bytes(number: u32) -> [u8; 3] {
    let [low, middle, high, _] = number.to_le_bytes();
    [low, middle, high]
}

/// A WebP file of chunks, with the canvas that its head declares. Flags: 2 is an animation, 8 has
/// metadata, 16 is transparent.
pub(crate) fn webp(flags: u8, (width, height): (u32, u32), parts: &[Vec<u8>]) -> Vec<u8> {
    let canvas = [&[flags, 0, 0, 0][..], &three_bytes(width - 1), &three_bytes(height - 1)];
    let content = [b"WEBP".to_vec(), part(b"VP8X", &canvas.concat()), parts.concat()].concat();
    part(b"RIFF", &content)
}

/// The pixels of an image as a chunk of a WebP file, without loss.
pub(crate) fn lossless(image: &DynamicImage) -> Vec<u8> {
    encoded(image, ImageFormat::WebP)[12..].to_vec()
}

/// A lossy frame of these dimensions, with as many bytes for its pixels.
pub(crate) fn lossy(width: u16, height: u16, bytes: usize) -> Vec<u8> {
    let first = u32::try_from(bytes / 2).expect("short");
    let content = [
        // A key frame, and the length of its first part.
        &three_bytes(first << 5 | 1 << 4)[..],
        b"\x9d\x01\x2a",
        &width.to_le_bytes(),
        &height.to_le_bytes(),
        &vec![0; bytes],
    ];
    part(b"VP8 ", &content.concat())
}

/// A frame of an animation in the corner of its canvas.
pub(crate) fn frame((width, height): (u32, u32), parts: &[Vec<u8>]) -> Vec<u8> {
    let head = [&[0; 6][..], &three_bytes(width - 1), &three_bytes(height - 1), &[100, 0, 0, 2]];
    part(b"ANMF", &[head.concat(), parts.concat()].concat())
}

/// A segment of a JPEG.
fn segment(mark: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len() + 2).expect("short").to_be_bytes();
    [&[0xff, mark][..], &length, content].concat()
}

/// A table of codes of a JPEG, of which the first has one bit, and the second two.
fn codes(table: u8, values: &[u8]) -> Vec<u8> {
    let mut counts = [0; 16];
    counts[..values.len()].fill(1);
    segment(0xc4, &[&[table][..], &counts, values].concat())
}

/// A progressive JPEG of three colours whose every pixel each scan passes over, and gives 63
/// numbers of ten bits to each block as far as its bytes go.
pub(crate) fn scans((width, height): (u16, u16), count: usize, bytes: usize) -> Vec<u8> {
    let colours = [[1, 0x11, 0], [2, 0x11, 0], [3, 0x11, 0]].concat();
    let frame = [&[8][..], &height.to_be_bytes(), &width.to_be_bytes(), &[3], &colours].concat();
    let steps = [&[0][..], &[1; 64]].concat();
    let first = segment(0xda, &[3, 1, 0, 2, 0, 3, 0, 0, 0, 1]);
    let mut file = [
        vec![0xff, 0xd8],
        segment(0xdb, &steps),
        segment(0xc2, &frame),
        codes(0, &[0]),
        codes(0x10, &[10, 0]),
        first,
    ]
    .concat();
    for colour in [1, 2, 3].into_iter().cycle().take(count - 1) {
        file.extend(segment(0xda, &[1, colour, 0, 1, 63, 1]));
        file.extend(vec![0; bytes]);
    }
    file.extend([0xff, 0xd9]);
    file
}

/// A PNG of two colours, one of them half transparent, in no order.
pub(crate) fn noise(width: u32, height: u32) -> Vec<u8> {
    let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[1, 3, 0, 0, 0]].concat();
    let colours = [chunk(b"PLTE", &[0, 0, 0, 97, 194, 40]), chunk(b"tRNS", &[128, 255])];
    let mut number = 7_u64;
    let mut byte = || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        number.to_be_bytes()[0]
    };
    let line_bytes = usize::try_from(width.div_ceil(8)).expect("short");
    let mut lines = Vec::new();
    for _ in 0..height {
        // A line begins with its filter.
        lines.extend(std::iter::once(0).chain(std::iter::repeat_with(&mut byte).take(line_bytes)));
    }
    png(&head, &colours, &lines)
}
