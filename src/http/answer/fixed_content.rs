//! Contents that do not change while the server runs, compressed once. Reference 1.5.

use std::io::Write as _;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::http::answer::compression::accepts_gzip;
use crate::http::answer::entity_tag::make_tag;

/// A content, plain and compressed. Its copies share both.
#[derive(Clone, Debug, Default)]
pub(crate) struct FixedContent {
    media_type: &'static str,
    /// Its weak entity tag, as that of an answer with this body.
    pub(crate) tag: String,
    plain: Bytes,
    pub(crate) gzip: Bytes,
}

impl FixedContent {
    /// Compresses a content, as well as gzip can.
    pub(crate) fn new(media_type: &'static str, plain: impl Into<Bytes>) -> Self {
        let plain = plain.into();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&plain).expect("writing to a Vec does not fail");
        let gzip = encoder.finish().expect("writing to a Vec does not fail");
        Self { media_type, tag: make_tag(&plain), plain, gzip: gzip.into() }
    }

    /// Returns the 200 response to a request with these headers. Its body is not copied.
    pub(crate) fn respond(&self, headers: &HeaderMap) -> Response {
        let is_gzip = accepts_gzip(headers);
        let content = if is_gzip { &self.gzip } else { &self.plain };
        let mut response = Response::new(Body::from(content.clone()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        if is_gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header::ACCEPT_ENCODING;
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn every_answer_is_the_content_that_was_compressed_once() {
        let content = FixedContent::new("text/plain", vec![b'x'; 100_000]);
        let mut headers = HeaderMap::new();
        for kept in [&content.plain, &content.gzip] {
            for _ in 0..2 {
                let sent = content.clone().respond(&headers).into_body().collect().await;
                let sent = sent.expect("it is whole").to_bytes();
                assert_eq!((sent.as_ptr(), sent.len()), (kept.as_ptr(), kept.len()));
            }
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        assert!(content.gzip.len() < 1_000);
    }
}
