//! Paths and query strings of the API, by a professional.

use std::fmt::Write as _;

use crate::harness::{AllocationBound, CaughtPanics, Target};
use crate::server::{KEY, PROFESSIONAL, Shop};

/// The longest answers are lists of all records.
const BOUND: AllocationBound = AllocationBound { bytes: 8 << 20, per_input_byte: 4 << 10 };

pub(crate) fn target() -> Target {
    let mut shop = Shop::new();
    Target::new(BOUND, CaughtPanics::Never, move |input| {
        let answers = shop.exchange(request(input).as_bytes());
        assert_eq!(answers.len(), 1, "one request has one answer");
    })
}

pub(crate) fn request(input: &[u8]) -> String {
    let target = escape_target(input);
    let separator = if target.contains('?') { '&' } else { '?' };
    format!(
        "GET /api/v1/{target}{separator}apikey={KEY} HTTP/1.1\r\nHost: a\r\n\
         Authorization: Basic {PROFESSIONAL}\r\n\r\n"
    )
}

/// Escapes the bytes that would end a target.
pub(crate) fn escape_target(bytes: &[u8]) -> String {
    let mut target = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_graphic() && *byte != b'#' {
            target.push(char::from(*byte));
        } else {
            write!(target, "%{byte:02X}").expect("memory takes it");
        }
    }
    target
}
