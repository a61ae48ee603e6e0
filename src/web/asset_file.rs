//! The response with an asset.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;

use crate::web::assets::IMMUTABLE;
use crate::web::pages::Pages;

/// The path of all assets.
pub(crate) const PATH: &str = "/assets/{name}";

/// GET /assets/{name}.
pub(crate) async fn show(
    State(pages): State<Arc<Pages>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Some(asset) = pages.assets.find(&name) else {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let is_gzip = accepts_gzip(&headers);
    let content = if is_gzip { &asset.gzip } else { &asset.plain };
    let mut response = Response::new(Body::from(content.clone()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
    headers.insert(CACHE_CONTROL, IMMUTABLE);
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if is_gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Returns whether a request accepts gzip. A weight of zero refuses it.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    for value in headers.get_all(ACCEPT_ENCODING) {
        let Ok(value) = value.to_str() else { continue };
        for coding in value.split(',') {
            let mut parts = coding.split(';').map(str::trim);
            if !parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip")) {
                continue;
            }
            let weight = parts.next().and_then(|part| part.strip_prefix("q="));
            return !weight.is_some_and(|weight| weight.parse() == Ok(0.0_f32));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_only_to_those_who_accept_it() {
        for (given, accepted) in [
            ("gzip, br", true),
            ("br, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0, br", false),
            ("br", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, given.parse().expect("a header"));
            assert_eq!(accepts_gzip(&headers), accepted, "{given}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
