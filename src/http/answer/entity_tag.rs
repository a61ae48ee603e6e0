//! Entity tags of answers that change seldom, so that a client that has one asks again for a few
//! bytes. Reference 1.5.

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, VARY};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use data_encoding::HEXLOWER;
use futures_util::stream::{self, StreamExt as _};
use http_body_util::BodyExt as _;
use sha2::{Digest as _, Sha256};

use crate::http::answer::compression::COMPRESSED_BYTES_MIN;
use crate::http::error::ApiError;

/// Bytes of a hash in a tag.
const TAG_BYTES: usize = 16;
/// Size up to which a body that is made part by part is kept in memory for its tag. A longer one
/// has none.
const TAGGED_BYTES_MAX: usize = 256 * 1_024;

/// Adds the tag of a 200 response, unless its body is very long. If `known` names the tag, the
/// response becomes 304 without a body.
pub(crate) async fn tag_response(response: Response, known: Option<HeaderValue>) -> Response {
    if response.status() != StatusCode::OK {
        return response;
    }
    let (mut parts, mut body) = response.into_parts();
    let is_whole = body.size_hint().exact().is_some();
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return ApiError::internal().into_response() };
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > TAGGED_BYTES_MAX && !is_whole {
            let read = stream::iter([Ok(Bytes::from(bytes))]);
            let body = Body::from_stream(read.chain(body.into_data_stream()));
            return Response::from_parts(parts, body);
        }
    }
    let tag = make_tag(&bytes);
    let is_known = known.is_some_and(|known| names_tag(&known, &tag));
    let tag = HeaderValue::from_str(&tag).expect("a tag is ASCII");
    parts.headers.insert(ETAG, tag);
    parts.headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if !is_known {
        return Response::from_parts(parts, Body::from(bytes));
    }
    parts.status = StatusCode::NOT_MODIFIED;
    if bytes.len() >= COMPRESSED_BYTES_MIN {
        parts.headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    }
    parts.headers.remove(CONTENT_TYPE);
    parts.headers.remove(CONTENT_LENGTH);
    Response::from_parts(parts, Body::empty())
}

/// Returns the tag of a body. It is weak, since an answer may be compressed or not.
fn make_tag(bytes: &[u8]) -> String {
    let hash: [u8; 32] = Sha256::digest(bytes).into();
    let digits = HEXLOWER.encode(&hash[..TAG_BYTES]);
    format!("W/\"{digits}\"")
}

/// Returns whether a header If-None-Match names a tag.
fn names_tag(known: &HeaderValue, tag: &str) -> bool {
    let Ok(known) = known.to_str() else { return false };
    let strong = tag.trim_start_matches("W/");
    let names = |one: &str| one.trim().trim_start_matches("W/") == strong;
    known.trim() == "*" || known.split(',').any(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_tags_weakly_compared() {
        let tag = make_tag(b"[]");
        let strong = tag.trim_start_matches("W/").to_owned();
        for (known, names) in [
            (tag.clone(), true),
            (strong.clone(), true),
            (format!("\"other\", {tag}"), true),
            ("*".to_owned(), true),
            ("\"other\"".to_owned(), false),
            (String::new(), false),
        ] {
            let header = HeaderValue::from_str(&known).expect("a header");
            assert_eq!(names_tag(&header, &tag), names, "{known}");
        }
        assert_ne!(make_tag(b"[]"), make_tag(b"{}"));
    }
}
