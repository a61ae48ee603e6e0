//! The response with the colours of a group.

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::Response;

use crate::web::assets::{IMMUTABLE, short_hash};
use crate::web::colours::stylesheet;
use crate::web::shop::Visit;

/// GET /b/{urlname}/colours.css.
pub(crate) async fn show(visit: Visit) -> Response {
    let style = match visit.colours() {
        colours if colours.is_empty() => String::new(),
        colours => stylesheet(&colours),
    };
    let is_current = visit.params.value("v") == Some(&short_hash(style.as_bytes()));
    let mut response = Response::new(Body::from(style));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let caching = if is_current { IMMUTABLE } else { HeaderValue::from_static("no-store") };
    headers.insert(CACHE_CONTROL, caching);
    response
}
