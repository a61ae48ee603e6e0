//! Entity tags: of answers that change seldom, so that a client that has one asks again for a few
//! bytes, and of single objects, so that a change is based on their present form.
//! Reference 1.5, 1.7.

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use data_encoding::HEXLOWER;
use futures_util::stream::{self, StreamExt as _};
use http_body_util::BodyExt as _;
use sha2::{Digest as _, Sha256};

use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::{Precondition, ShownObject};
use crate::http::answer::compression::COMPRESSED_BYTES_MIN;
use crate::http::error::ApiError;

/// Bytes of a hash in a tag.
const TAG_BYTES: usize = 16;
/// Size up to which a body that is made part by part is kept in memory for its tag. A longer one
/// has none.
const TAGGED_BYTES_MAX: usize = 256 * 1_024;

/// Tags that a header of a request names.
#[derive(Clone, Default)]
pub(crate) struct NamedTags(Vec<HeaderValue>);

impl NamedTags {
    /// Reads If-Match or If-None-Match, which may be repeated.
    pub(crate) fn read(headers: &HeaderMap, name: HeaderName) -> Self {
        Self(headers.get_all(name).iter().cloned().collect())
    }

    /// The tag in the field of a form. A text that is no tag names none.
    pub(crate) fn in_form(text: &str) -> Self {
        Self(HeaderValue::from_str(text).into_iter().collect())
    }

    /// Returns the precondition that an object has one of these tags. `show` returns the object in
    /// a state; `None` if it is gone.
    pub(crate) fn precondition(
        &self,
        show: impl Fn(&GroupState) -> Option<ShownObject> + Send + Sync + 'static,
    ) -> Precondition {
        let wanted = self.clone();
        Precondition::new(move |state| match show(state) {
            Some(shown) if wanted.contain(&shown.tag) => Ok(()),
            present => Err(present),
        })
    }

    /// Whether the request lacks the header.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a tag is named. Tags are compared weakly, since proxies that compress weaken them.
    pub(crate) fn contain(&self, tag: &str) -> bool {
        self.0.iter().any(|named| names_tag(named, tag))
    }
}

/// Returns an object whose tag is made of all its members.
pub(crate) fn tagged(json: Vec<u8>) -> ShownObject {
    let tag = object_tag(&json);
    ShownObject { json, tag }
}

/// Adds the tag of a 200 response, unless it has one or its body is very long. If `known` names the
/// tag, the response becomes 304 without a body.
pub(crate) async fn tag_response(response: Response, known: &NamedTags) -> Response {
    if response.status() != StatusCode::OK || response.headers().contains_key(ETAG) {
        return response;
    }
    let (parts, mut body) = response.into_parts();
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
    let is_compressible = bytes.len() >= COMPRESSED_BYTES_MIN;
    let mut response = with_tag(Response::from_parts(parts, Body::from(bytes)), &tag, known);
    // Of a 304 the layer that compresses cannot say so.
    if is_compressible && response.status() == StatusCode::NOT_MODIFIED {
        response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
    }
    response
}

/// Adds a tag to a 200 response. If `known` names it, the response becomes 304 without a body.
pub(crate) fn with_tag(mut response: Response, tag: &str, known: &NamedTags) -> Response {
    let headers = response.headers_mut();
    headers.insert(ETAG, HeaderValue::from_str(tag).expect("a tag is ASCII"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if known.contain(tag) {
        for described in [CONTENT_TYPE, CONTENT_LENGTH, CONTENT_ENCODING] {
            headers.remove(described);
        }
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
    }
    response
}

/// Returns the tag of a body. It is weak, since an answer may be compressed or not.
pub(crate) fn make_tag(bytes: &[u8]) -> String {
    format!("W/{}", object_tag(bytes))
}

/// Returns the tag of a body with this SHA-256, as [`make_tag`].
pub(crate) fn make_tag_of_hash(hash: &[u8; 32]) -> String {
    format!("W/{}", hash_tag(hash))
}

/// Returns the tag of an object whose own fields are these bytes of JSON.
pub(crate) fn object_tag(fields: &[u8]) -> String {
    hash_tag(&Sha256::digest(fields).into())
}

fn hash_tag(hash: &[u8; 32]) -> String {
    quoted_tag(&HEXLOWER.encode(&hash[..TAG_BYTES]))
}

/// Returns the strong tag of a text of digits and letters.
pub(crate) fn quoted_tag(text: &str) -> String {
    format!("\"{text}\"")
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
