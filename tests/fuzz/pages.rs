//! Cookies, sealed parameters and forms of the pages. The first line of an input is the method and
//! the target, the second one the cookies; the rest is the form.
//!
//! `{login}` stands for the cookie of a professional who is logged in, and `{preset}` for the sealed
//! parameter `p` of a link of a site: no corpus can hold them.

use crate::bodies::split_line;
use crate::harness::{AllocationBound, CaughtPanics, Target};
use crate::queries::escape_target;
use crate::server::Shop;

const BOUND: AllocationBound = AllocationBound { bytes: 8 << 20, per_input_byte: 4 << 10 };

pub(crate) fn target() -> Target {
    let mut shop = Shop::new();
    Target::new(BOUND, CaughtPanics::Never, move |input| {
        let input = shop.fill_in(input);
        let answers = shop.exchange(&request(&input));
        assert_eq!(answers.len(), 1, "one request has one answer");
    })
}

pub(crate) fn request(input: &[u8]) -> Vec<u8> {
    let (line, rest) = split_line(input);
    let (cookies, form) = split_line(rest);
    let (is_form, target) = match line.strip_prefix(b"POST ") {
        Some(target) => (true, target),
        None => (false, line.strip_prefix(b"GET ").unwrap_or(line)),
    };
    let target = escape_target(target.strip_prefix(b"/").unwrap_or(target));
    // A line break would begin another header.
    let cookies: Vec<u8> = cookies.iter().copied().filter(|byte| is_in_header(*byte)).collect();
    let mut request = Vec::new();
    if is_form {
        request.extend_from_slice(
            format!(
                "POST /{target} HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\nContent-Length: {}\r\n\
                 Content-Type: application/x-www-form-urlencoded\r\nCookie: ",
                form.len()
            )
            .as_bytes(),
        );
    } else {
        request
            .extend_from_slice(format!("GET /{target} HTTP/1.1\r\nHost: a\r\nCookie: ").as_bytes());
    }
    request.extend_from_slice(&cookies);
    request.extend_from_slice(b"\r\n\r\n");
    if is_form {
        request.extend_from_slice(form);
    }
    request
}

fn is_in_header(byte: u8) -> bool {
    byte == b' ' || byte.is_ascii_graphic() || byte >= 0x80
}
