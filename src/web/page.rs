//! The frame of all pages, and their responses.

use askama::Template;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use crate::web::face::Face;
use crate::web::text::Texts;

/// The policy of all pages: nothing inline, nothing from elsewhere, and in no frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; \
     frame-ancestors 'none'";
/// The end of the policy, in whose place the sites may stand that show a page in a frame.
const NO_ANCESTORS: &str = "'none'";

/// The parts of a page around its content.
pub(crate) struct Frame<'v> {
    pub(crate) lang: &'static str,
    pub(crate) text: &'static Texts,
    pub(crate) title: String,
    pub(crate) style_url: String,
    pub(crate) script_url: String,
    /// The stylesheet with the colours of the group; empty if it has none.
    pub(crate) colours_url: String,
    pub(crate) other_lang: &'static str,
    /// This page in the other language.
    pub(crate) other_url: String,
    /// The origin of the page that shows this one in a frame; empty without one.
    pub(crate) embedder: String,
    /// Whether the owner tries a link, so that nothing is booked.
    pub(crate) is_preview: bool,
    /// The attribute `lang` of texts that the shop wrote, with a space before it; empty where they
    /// have the language of the page.
    pub(crate) shop_lang: &'static str,
    /// The group that the page belongs to, if it belongs to one.
    pub(crate) place: Option<Place<'v>>,
}

/// The group in the frame of a page.
pub(crate) struct Place<'v> {
    pub(crate) name: &'v str,
    /// Its images and texts.
    pub(crate) face: Face<'v>,
    /// The first page.
    pub(crate) home: String,
    pub(crate) phone: &'v str,
    /// Empty without a number.
    pub(crate) phone_url: String,
    /// The address, line by line.
    pub(crate) address: Vec<String>,
    /// Whether the page ends with address and telephone.
    pub(crate) has_footer: bool,
    /// The IANA name of the zone.
    pub(crate) zone: &'static str,
    /// The sentence that names the zone, shown where the browser's differs.
    pub(crate) zone_notice: String,
}

/// The privacy of a page, which decides who may keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privacy {
    /// The same for all visitors at that moment.
    Public,
    /// With data of one client, or a form for them. No cache keeps it.
    Client,
    /// The same, and its URL holds a secret, which no referrer repeats.
    Holder,
}

/// Returns the response with a page.
pub(crate) fn respond(status: StatusCode, privacy: Privacy, page: String) -> Response {
    let mut response = Response::new(Body::from(page));
    *response.status_mut() = status;
    let (caching, referrer) = match privacy {
        Privacy::Public => ("no-cache", "same-origin"),
        // A form that sends no referrer sends no origin either, and is then refused as foreign.
        Privacy::Client => ("no-store", "same-origin"),
        Privacy::Holder => ("no-store", "no-referrer"),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static(referrer));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(VARY, HeaderValue::from_static("accept-language"));
    response
}

/// Returns the policy of a page that some sites may show in a frame.
pub(crate) fn policy_with_ancestors(sites: &str) -> HeaderValue {
    let rest = POLICY.strip_suffix(NO_ANCESTORS).expect("the policy ends with the sites");
    HeaderValue::from_str(&format!("{rest}{sites}")).expect("origins are ASCII")
}

/// Lets a screen show pages of this server in a frame.
pub(crate) fn allow_own_frames(response: &mut Response) {
    let policy = HeaderValue::from_str(&format!("{POLICY}; frame-src 'self'"));
    let policy = policy.expect("the policy is ASCII");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
}

/// Renders a page.
pub(crate) fn render(page: &impl Template) -> String {
    page.render().expect("a template of plain texts is always rendered")
}

/// Returns a redirection that a browser follows with GET.
pub(crate) fn redirect(url: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let location = HeaderValue::from_str(url).expect("URLs of pages are ASCII");
    response.headers_mut().insert(axum::http::header::LOCATION, location);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
