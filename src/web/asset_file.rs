//! The response with an asset.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
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
    let mut response = asset.content.respond(&headers);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, IMMUTABLE);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
