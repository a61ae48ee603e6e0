//! The OpenAPI document, and the page /docs to try the API. Reference 11.4.
//!
//! The page loads nothing from other addresses.

use std::sync::LazyLock;

use axum::http::header::{
    CONTENT_SECURITY_POLICY, IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::http::answer::entity_tag::{NamedTags, with_tag};
use crate::http::answer::fixed_content::FixedContent;
use crate::http::endpoint::{Answer, Endpoint, EndpointPath, Handler, Shape};
use crate::http::openapi::curl::KEY;
use crate::http::server::Server;
use crate::wire::error_catalogue::print_page;
use crate::wire::schema::{object, text};

const DOCUMENT: Answer = Answer {
    has_entity_tag: true,
    ..Answer::json(200, "an OpenAPI document", Shape::Inline(|| object().into()))
};
const PAGE_ANSWER: Answer = Answer {
    media_type: "text/html",
    ..Answer::json(200, "HTML", Shape::Inline(|| text().into()))
};

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::get(&[EndpointPath::current("/api/v1/openapi")], Handler::Open(document))
        .named("Document", "Get this OpenAPI document")
        .answers(&[DOCUMENT]),
    Endpoint::get(&[EndpointPath::current("/docs")], Handler::Open(page))
        .named("Docs", "Get a page to try the API")
        .answers(&[PAGE_ANSWER]),
    Endpoint::get(
        &[EndpointPath::current("/docs/errors")],
        Handler::Open(|_, headers| errors(headers)),
    )
    .named("ErrorCatalogue", "Get a page with the cause and the cure of each error")
    .answers(&[PAGE_ANSWER]),
];

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = include_str!("../../../data/docs/style.css");
const SCRIPT: &str = include_str!("../../../data/docs/script.js");

/// The page, and its Content-Security-Policy, which allows only the page's own script and style.
type PolicedPage = (FixedContent, HeaderValue);

/// The page of a server that has the key of the demonstration, which is filled in, and of others.
static DEMONSTRATION_PAGE: LazyLock<PolicedPage> = LazyLock::new(|| make_page(KEY));
static PAGE: LazyLock<PolicedPage> = LazyLock::new(|| make_page(""));

fn make_page(key: &str) -> PolicedPage {
    let page = include_str!("../../../data/docs/page.html")
        .replace("{key}", key)
        .replace("{style}", STYLE)
        .replace("{script}", SCRIPT);
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash(SCRIPT),
        hash(STYLE),
    );
    let policy = HeaderValue::from_str(&policy).expect("a policy has visible characters only");
    (FixedContent::new(HTML, page), policy)
}

/// GET /api/v1/openapi.json.
fn document(server: &Server, headers: &HeaderMap) -> Response {
    let document = (server.openapi_document)();
    with_tag(document.respond(headers), &document.tag, &NamedTags::read(headers, IF_NONE_MATCH))
}

/// GET /docs/errors, to which each error links.
fn errors(headers: &HeaderMap) -> Response {
    static ERRORS: LazyLock<FixedContent> = LazyLock::new(|| FixedContent::new(HTML, print_page()));
    let policy = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    html(ERRORS.respond(headers), policy)
}

/// GET /docs.
fn page(server: &Server, headers: &HeaderMap) -> Response {
    let hash: [u8; 32] = Sha256::digest(KEY).into();
    let has_key = server.engine.published().directory().apikeys.contains_key(&hash);
    let (page, policy) = if has_key { &*DEMONSTRATION_PAGE } else { &*PAGE };
    html(page.respond(headers), policy.clone())
}

fn html(mut response: Response, policy: HeaderValue) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
