//! Values of cookies, and the cookie of a login at the practice's own screens. Reference 15.1.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};

use crate::domain::directory::pro_logins::STAY_SECONDS;

/// Name of the cookie without TLS.
const NAME: &str = "_practice";
/// Name of the cookie behind TLS. Browsers take one of this name only from this very host, so no
/// other host of its domain can set it.
const NAME_OVER_TLS: &str = "__Host-_practice";
/// Maximum number of tokens that are looked up for one request.
const TOKENS_MAX: usize = 4;

/// Returns the values of the cookies of a name, in order. The other cookies may hold any bytes.
pub(crate) fn cookie_values<'h>(
    headers: &'h HeaderMap,
    name: &str,
) -> impl Iterator<Item = &'h [u8]> {
    let pairs = headers
        .get_all(COOKIE)
        .iter()
        .flat_map(|header| header.as_bytes().split(|byte| *byte == b';'));
    pairs.filter_map(move |pair| {
        let value = pair.trim_ascii().strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        if value.is_empty() { None } else { Some(value) }
    })
}

/// Returns whether a request has the cookie of a login, which may have ended.
pub(crate) fn has_login_cookie(headers: &HeaderMap) -> bool {
    [NAME, NAME_OVER_TLS].iter().any(|name| cookie_values(headers, name).next().is_some())
}

/// Returns the tokens among the cookies of a request.
pub(crate) fn login_tokens(headers: &HeaderMap, behind_tls: bool) -> impl Iterator<Item = &[u8]> {
    cookie_values(headers, name(behind_tls)).take(TOKENS_MAX)
}

/// Returns the cookie that carries a token.
pub(crate) fn login_cookie(token: &str, stays: bool, behind_tls: bool) -> HeaderValue {
    let max_age = if stays { format!("; Max-Age={STAY_SECONDS}") } else { String::new() };
    cookie(&format!("{token}{max_age}"), behind_tls)
}

/// Returns the cookie that removes the token from the browser.
pub(crate) fn ended_login_cookie(behind_tls: bool) -> HeaderValue {
    cookie("; Max-Age=0", behind_tls)
}

fn cookie(rest: &str, behind_tls: bool) -> HeaderValue {
    let secure = if behind_tls { "; Secure" } else { "" };
    let cookie = format!("{}={rest}; Path=/; HttpOnly; SameSite=Lax{secure}", name(behind_tls));
    cookie.try_into().expect("hexadecimal digits and words make a header")
}

const fn name(behind_tls: bool) -> &'static str {
    if behind_tls { NAME_OVER_TLS } else { NAME }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_of_this_host_alone_and_its_token_is_found_among_others() {
        for (behind_tls, expected) in [
            (false, "_practice=ab; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax"),
            (true, "__Host-_practice=ab; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax; Secure"),
        ] {
            assert_eq!(login_cookie("ab", true, behind_tls), expected);
            let mut headers = HeaderMap::new();
            for pair in ["_session_id=x; __Host-_practice=ab;_practice=", "_practice=ab; n=\u{e9}"]
            {
                headers.append(COOKIE, HeaderValue::from_bytes(pair.as_bytes()).expect("a header"));
            }
            let found: Vec<&[u8]> = login_tokens(&headers, behind_tls).collect();
            assert_eq!(found, [b"ab"]);
            assert!(has_login_cookie(&headers));
        }
        assert!(!has_login_cookie(&HeaderMap::new()));
    }
}
