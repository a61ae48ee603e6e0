//! The OpenAPI document, and the page to try the API, which loads nothing from anywhere else. Reference 11.

use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::http::openapi;
use crate::http::pipeline::json;

const STYLE: &str = include_str!("../../data/docs/style.css");
const SCRIPT: &str = include_str!("../../data/docs/script.js");

/// The page, and the policy under which a browser runs its script and no other.
static PAGE: LazyLock<(Bytes, HeaderValue)> = LazyLock::new(|| {
    let page = include_str!("../../data/docs/page.html")
        .replace("{style}", STYLE)
        .replace("{script}", SCRIPT);
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash(SCRIPT),
        hash(STYLE),
    );
    (page.into(), HeaderValue::from_str(&policy).expect("a policy is of visible characters"))
});

/// GET /api/v1/openapi.json.
pub(crate) fn document() -> Response {
    let mut response = json(StatusCode::OK, Vec::new());
    *response.body_mut() = Body::from(openapi::bytes());
    response
}

/// GET /docs.
pub(crate) fn page() -> Response {
    let (page, policy) = &*PAGE;
    let mut response = Response::new(Body::from(page.clone()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
