//! Compression of responses by gzip. Reference 1.5.

use axum::body::HttpBody;
use axum::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, SET_COOKIE, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Response};
use tower_http::CompressionLevel;
use tower_http::compression::Predicate;

/// Size of a response from which it is compressed, in bytes.
pub(crate) const COMPRESSED_BYTES_MIN: usize = 1_024;

/// Level of gzip. Levels 5 and 6 make a search of 366 days at most 2 % shorter, and cost 1.2 and
/// twice as much processor time.
pub(crate) const COMPRESSION: CompressionLevel = CompressionLevel::Precise(4);
/// Level of gzip for long responses: a third of the processor time, 1.5 to 2 times the bytes.
pub(crate) const LONG_COMPRESSION: CompressionLevel = CompressionLevel::Fastest;
/// Size from which a response is long, in bytes: one of this size costs about 0.3 ms.
const LONG_BYTES_MIN: u64 = 64 * 1_024;

/// Tells caches that a plain response would be compressed for other requests. The library does so
/// in those that it compresses.
pub(crate) fn mark_compressible(response: &mut axum::response::Response) {
    let headers = response.headers();
    let is_marked = headers.get_all(VARY).iter().any(|name| name == ACCEPT_ENCODING.as_str());
    let is_coded = headers.contains_key(CONTENT_ENCODING);
    if !is_marked && !is_coded && WorthCompressing.should_compress(response) {
        response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
    }
}

/// Returns whether a request accepts gzip, by name or by `*`. A weight of zero refuses it.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let mut accepts_any = false;
    for value in headers.get_all(ACCEPT_ENCODING) {
        let Ok(value) = value.to_str() else { continue };
        for coding in value.split(',') {
            let mut parts = coding.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let weight =
                parts.next().and_then(|part| part.strip_prefix(['q', 'Q'])?.strip_prefix('='));
            let is_accepted = !weight.is_some_and(|weight| weight.parse() == Ok(0.0_f32));
            if name.eq_ignore_ascii_case("gzip") {
                return is_accepted;
            }
            accepts_any |= name == "*" && is_accepted;
        }
    }
    accepts_any
}

/// The responses that are compressed: text and JSON, if it is long enough to gain by it. A response
/// that opens a session holds a secret beside what the caller has sent. Its size must not depend on
/// both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorthCompressing;

impl Predicate for WorthCompressing {
    fn should_compress<B: HttpBody>(&self, response: &Response<B>) -> bool {
        let headers = response.headers();
        let Some(Ok(media_type)) = headers.get(CONTENT_TYPE).map(HeaderValue::to_str) else {
            return false;
        };
        let is_text = media_type.starts_with("text/") || media_type.starts_with("application/json");
        // The frames of a stream leave one by one.
        let is_stream = media_type.starts_with("text/event-stream");
        is_text && !is_stream && !is_short(response) && !headers.contains_key(SET_COOKIE)
    }
}

/// Of the responses that are compressed, those that are not known to be long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorthCompressingWell;

impl Predicate for WorthCompressingWell {
    fn should_compress<B: HttpBody>(&self, response: &Response<B>) -> bool {
        let is_long =
            response.body().size_hint().exact().is_some_and(|bytes| bytes >= LONG_BYTES_MIN);
        !is_long && WorthCompressing.should_compress(response)
    }
}

/// Returns whether the body of a response is short. That of a HEAD request is gone already, and has
/// left its length in the headers if it was known. A body that is made part by part is not short.
fn is_short<B: HttpBody>(response: &Response<B>) -> bool {
    let bytes_min = COMPRESSED_BYTES_MIN as u64;
    match response.headers().get(CONTENT_LENGTH) {
        Some(length) => {
            length.to_str().is_ok_and(|text| text.parse().is_ok_and(|bytes: u64| bytes < bytes_min))
        }
        None => {
            let known = response.body().size_hint().exact();
            known.is_some_and(|bytes| 0 < bytes && bytes < bytes_min)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    #[test]
    fn gzip_is_sent_only_to_those_who_accept_it() {
        for (given, accepted) in [
            ("gzip, br", true),
            ("br, GZIP;q=0.5", true),
            ("*", true),
            ("gzip;q=0", false),
            ("gzip;Q=0", false),
            ("gzip; q=0.0, br", false),
            ("*, gzip;q=0", false),
            ("*;q=0", false),
            ("br", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, given.parse().expect("a header"));
            assert_eq!(accepts_gzip(&headers), accepted, "{given}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn text_from_a_kibibyte_on_is_compressed_unless_it_opens_a_session() {
        let judged = |fields: &[(&str, &str)], bytes: usize| {
            let mut response = Response::builder();
            for (name, value) in fields {
                response = response.header(*name, *value);
            }
            let body = Body::from(vec![b'x'; bytes]);
            WorthCompressing.should_compress(&response.body(body).expect("a response"))
        };
        let json = ("content-type", "application/json");
        assert!(judged(&[json], 1_024) && !judged(&[json], 1_023));
        assert!(judged(&[json, ("content-length", "1024")], 0), "the answer to HEAD");
        assert!(!judged(&[json, ("content-length", "1023")], 0));
        assert!(judged(&[json], 0), "the answer to HEAD in place of one made part by part");
        assert!(judged(&[("content-type", "text/html; charset=utf-8")], 1_024));
        assert!(!judged(&[json, ("set-cookie", "_session_id=x")], 1_024));
        assert!(!judged(&[("content-type", "font/woff2")], 1_024) && !judged(&[], 1_024));
    }

    #[test]
    fn a_long_response_is_compressed_by_another_level() {
        for (bytes, well) in [(1_023, false), (1_024, true), (65_535, true), (65_536, false)] {
            let response = Response::builder().header("content-type", "application/json");
            let response = response.body(Body::from(vec![b'x'; bytes])).expect("a response");
            assert_eq!(WorthCompressingWell.should_compress(&response), well, "{bytes}");
        }
    }
}
