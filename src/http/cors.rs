//! Answers that pages of other sites may read, and preflight requests of browsers. Reference 3.3.
//!
//! The layer of tower-http answers every OPTIONS itself, by one list of methods for all paths. Here
//! a path names its own methods, and `*`, one origin and no origin stand side by side.

use std::sync::Arc;

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW,
    COOKIE, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};

use crate::domain::directory::Directory;
use crate::domain::directory::apikeys::Apikey;
use crate::http::auth::apikey;
use crate::http::auth::login_cookie::has_login_cookie;
use crate::http::auth::request_origin::{SEC_FETCH_SITE, only_origin};
use crate::http::auth::session::session_tokens;
use crate::wire::params::Params;

/// Headers of a request that pages of any site may send.
const REQUEST_HEADERS: &str =
    "content-type, idempotency-key, if-match, prefer, x-api-key, x-request-id";
/// The same for pages that may log people in.
const LOGIN_HEADERS: &str =
    "authorization, content-type, idempotency-key, if-match, prefer, x-api-key, x-request-id";
/// Headers of an answer that pages may read.
const ANSWER_HEADERS: &str =
    "deprecation, etag, link, location, preference-applied, ratelimit, retry-after, x-request-id";
/// Path of logins and logouts. Their answers are for the person, so no foreign page may read them.
const SESSIONS: &str = "/api/v1/sessions/";

/// The pages of other sites that may read an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AllowedPages {
    None,
    /// Any page: the answer is what an application gets with its key alone.
    All,
    /// Pages of one origin, if the key of the request names it.
    Origin(Option<HeaderValue>),
}

impl AllowedPages {
    /// Finds the pages that may read the answer to a request. The directory is read only for
    /// requests of a browser.
    pub(crate) fn find(
        method: &Method,
        headers: &HeaderMap,
        uri: &Uri,
        directory: impl FnOnce() -> Arc<Directory>,
    ) -> Self {
        if has_personal_cookie(headers) || uri.path().starts_with(SESSIONS) {
            return Self::None;
        }
        let has_credentials = apikey::credentials(headers).is_some();
        // No page may change anything without being named, so the answer to a change is for the
        // page or says why it was refused. A preflight request says nothing of the key.
        let is_read = method == Method::GET || method == Method::HEAD;
        let is_from_browser = headers.contains_key(ORIGIN) || headers.contains_key(&SEC_FETCH_SITE);
        if !has_credentials && (!is_read || !is_from_browser) {
            return Self::All;
        }
        if !is_from_browser {
            return Self::None;
        }
        let directory = directory();
        let apikey = find_apikey(headers, uri, &directory);
        if !has_credentials && apikey.is_none_or(|apikey| apikey.allows_any_origin) {
            return Self::All;
        }
        let Some(origin) = only_origin(headers) else { return Self::Origin(None) };
        let is_named = apikey.is_some_and(|apikey| apikey.names_origin(origin));
        Self::Origin(if is_named { headers.get(ORIGIN).cloned() } else { None })
    }

    /// Marks an answer as readable by these pages. `is_from_page` says whether a page asked.
    pub(crate) fn mark(&self, response: &mut Response, is_from_page: bool) {
        let headers = response.headers_mut();
        match self {
            Self::None => return,
            Self::All => {
                headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            }
            Self::Origin(origin) => {
                headers.append(VARY, HeaderValue::from_static("origin"));
                let Some(origin) = origin else { return };
                headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            }
        }
        if is_from_page {
            let exposed = HeaderValue::from_static(ANSWER_HEADERS);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
    }
}

/// Returns whether a request has the cookie of a session or of a login, whose answers are for the
/// person.
fn has_personal_cookie(headers: &HeaderMap) -> bool {
    headers.contains_key(COOKIE)
        && (session_tokens(headers).next().is_some() || has_login_cookie(headers))
}

/// Returns the key of a request, from its headers or its query.
fn find_apikey<'d>(headers: &HeaderMap, uri: &Uri, directory: &'d Directory) -> Option<&'d Apikey> {
    let mut params = Params::from_request(uri.query().unwrap_or_default());
    apikey::take_key(headers, &mut params).ok()?;
    let hash: [u8; 32] = Sha256::digest(params.value("apikey")?.as_bytes()).into();
    directory.apikeys.get(&hash)
}

/// Returns the answer to a browser's preflight request, from the 405 that names the path's methods.
pub(crate) fn preflight_response(refused: &Response, may_log_in: bool) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    if let Some(methods) = refused.headers().get(ALLOW) {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods.clone());
    }
    let allowed = if may_log_in { LOGIN_HEADERS } else { REQUEST_HEADERS };
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    headers.append(VARY, HeaderValue::from_static("origin"));
    response
}

/// Returns whether a page that announces credentials may send them. A preflight request has no
/// headers of the page, so a key in a header is unknown: then some key must name the origin. The
/// request itself is answered for the page only if its own key does.
pub(crate) fn may_send_credentials(
    headers: &HeaderMap,
    uri: &Uri,
    directory: impl FnOnce() -> Arc<Directory>,
) -> bool {
    let Some(announced) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) else { return false };
    let announced = announced.to_str().unwrap_or_default();
    let has_credentials =
        announced.split(',').any(|name| name.trim().eq_ignore_ascii_case("authorization"));
    let Some(origin) = only_origin(headers) else { return false };
    if !has_credentials || uri.path().starts_with(SESSIONS) {
        return false;
    }
    let directory = directory();
    match find_apikey(headers, uri, &directory) {
        Some(apikey) => apikey.names_origin(origin),
        None => directory.apikeys.name_origin(origin),
    }
}
