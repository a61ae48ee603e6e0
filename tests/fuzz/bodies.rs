//! JSON bodies of all writing endpoints. The first line of an input is the caller, the method and
//! the path; the rest is the body.

use crate::harness::{AllocationBound, CaughtPanics, Target};
use crate::queries::escape_target;
use crate::server::{ACCOUNT, KEY, OPERATOR_KEY, PROFESSIONAL, Shop};

const BOUND: AllocationBound = AllocationBound { bytes: 8 << 20, per_input_byte: 4 << 10 };

pub(crate) fn target() -> Target {
    let mut shop = Shop::new();
    Target::new(BOUND, CaughtPanics::Never, move |input| {
        let answers = shop.exchange(&request(input));
        assert_eq!(answers.len(), 1, "one request has one answer");
    })
}

pub(crate) fn request(input: &[u8]) -> Vec<u8> {
    let (line, body) = split_line(input);
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let mut next = || words.next().unwrap_or_default();
    let (by, method, path) = (next(), next(), next());
    let (key, person) = match by {
        b"professional" => (KEY, Some(PROFESSIONAL)),
        b"account" => (KEY, Some(ACCOUNT)),
        b"operator" => (OPERATOR_KEY, None),
        _ => (KEY, None),
    };
    let method = match method {
        b"PUT" => "PUT",
        b"PATCH" => "PATCH",
        b"DELETE" => "DELETE",
        _ => "POST",
    };
    let person = person.map_or_else(String::new, |text| format!("Authorization: Basic {text}\r\n"));
    let path = escape_target(path);
    let separator = if path.contains('?') { '&' } else { '?' };
    let head = format!(
        "{method} /api/v1/{path}{separator}apikey={key} HTTP/1.1\r\nHost: a\r\n{person}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Splits an input into its first line and the rest.
pub(crate) fn split_line(input: &[u8]) -> (&[u8], &[u8]) {
    match input.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&input[..end], &input[end + 1..]),
        None => (input, &[]),
    }
}
