//! The response with an image of a group. Reference 14.9.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use data_encoding::HEXLOWER;

use crate::domain::records::image::{Image, ImageDigest};
use crate::web::assets::IMMUTABLE;
use crate::web::pages::Pages;

/// The path of all images.
pub(crate) const PATH: &str = "/b/{urlname}/image/{file}";

/// GET /b/{urlname}/image/{digest}.{extension}. Groups without booking pages have it too, since
/// mails show the logo.
pub(crate) async fn show(
    State(pages): State<Arc<Pages>>,
    Path((urlname, file)): Path<(String, String)>,
) -> Response {
    let Some(image) = find_image(&pages, &urlname, &file) else {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let mut response = Response::new(Body::from(image.bytes.to_vec()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(image.format.media_type()));
    headers.insert(CACHE_CONTROL, IMMUTABLE);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    response
}

/// Finds the image with the digest and the extension of a file name.
fn find_image(pages: &Pages, urlname: &str, file: &str) -> Option<Arc<Image>> {
    let (digits, _) = file.split_once('.')?;
    let digest: [u8; 32] = HEXLOWER.decode(digits.as_bytes()).ok()?.try_into().ok()?;
    let published = pages.server.engine.published();
    let state = published.group_state(published.group_of_urlname(urlname)?)?;
    let image = state.images.with_digest(ImageDigest(digest))?;
    if image.file_name() == file { Some(Arc::clone(image)) } else { None }
}
