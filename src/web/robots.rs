//! The file `/robots.txt`: search engines list the pages of groups, and nothing that belongs to one
//! person. Reference 14.9.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::Response;

/// The paths that are not listed: screens, links of mails, the API and calendar feeds.
const ROBOTS: &str = "User-agent: *\nDisallow: /p\nDisallow: /m\nDisallow: /api\nDisallow: /ics\n";

/// GET /robots.txt.
pub(crate) async fn show() -> Response {
    let mut response = Response::new(Body::from(ROBOTS));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
