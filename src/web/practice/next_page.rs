//! The page that was asked for before a login, and the way there. Reference 15.1.

use axum::http::header::SET_COOKIE;
use axum::response::Response;

use crate::http::LoginCookies;
use crate::web::page::redirect;
use crate::web::practice::screen_request::ScreenRequest;

/// The page of the second step of a login.
pub(crate) const CODE_PATH: &str = "/login/code";
/// The page after a login that asked for none.
const START: &str = "/p";
/// Maximum length of its address in bytes.
const BYTES_MAX: usize = 2_000;

/// Returns the address of a page of this host; `None` for one that could lead elsewhere.
///
/// Browsers take `\` for `/`, and drop tabs and line breaks within an address.
pub(crate) fn own_page(given: &str) -> Option<&str> {
    let rest = given.strip_prefix('/')?;
    let leads_elsewhere = rest.starts_with('/') || given.contains('\\');
    let is_plain = given.bytes().all(|byte| byte.is_ascii_graphic());
    if leads_elsewhere || !is_plain || given.len() > BYTES_MAX { None } else { Some(given) }
}

/// Returns the answer that leads on, with the cookies of a login.
pub(crate) fn logged_in(request: &ScreenRequest, cookies: LoginCookies) -> Response {
    let mut response = lead_on(request);
    for cookie in cookies.0 {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Returns the answer that leads to the page that was asked for.
pub(crate) fn lead_on(request: &ScreenRequest) -> Response {
    match next_page(request) {
        Some(next) => redirect(next),
        None => redirect(&request.url(START, &[])),
    }
}

/// Returns the address of a step of the login, which keeps the page that was asked for.
pub(crate) fn step_url(request: &ScreenRequest, path: &str) -> String {
    match next_page(request) {
        Some(next) => request.url(path, &[("next", next)]),
        None => request.url(path, &[]),
    }
}

/// Returns the page that was asked for, if it is one of this host.
fn next_page(request: &ScreenRequest) -> Option<&str> {
    request.params.value("next").and_then(own_page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_this_host_is_a_path_and_nothing_else() {
        for own in ["/", "/p/cut-co/agenda?d=2025-06-02#x", "/p//a", "/%5C%5Cevil.example"] {
            assert_eq!(own_page(own), Some(own), "{own}");
        }
        for other in [
            "",
            "p",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\/evil.example",
            "/p\\..\\..\\evil",
            "https://evil.example/",
            "javascript:alert(1)",
            " /p",
            "/\t/evil.example",
            "/\n/evil.example",
            "/p\r\nSet-Cookie: a=b",
            "/p\u{0}",
            "/caf\u{e9}",
            &format!("/{}", "a".repeat(2_000)),
        ] {
            assert_eq!(own_page(other), None, "{other:?}");
        }
    }
}
