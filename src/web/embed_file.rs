//! The script by which a site shows the booking page of a shop. Reference 14.8.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;

use crate::http::answer::entity_tag::{NamedTags, with_tag};
use crate::web::pages::Pages;

/// The path of the script. Sites name it, so that it has no hash of its content.
pub(crate) const PATH: &str = "/embed.js";

/// GET /embed.js.
pub(crate) async fn show(State(pages): State<Arc<Pages>>, headers: HeaderMap) -> Response {
    let content = &pages.assets.embed;
    let known = NamedTags::read(&headers, IF_NONE_MATCH);
    let mut response = with_tag(content.respond(&headers), &content.tag, &known);
    let headers = response.headers_mut();
    // An hour, after which the tag is asked for.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Sites that load nothing without the consent of its server may load it too.
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
    response
}
