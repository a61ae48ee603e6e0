//! The Origin header of a request: whether a browser sends it for a page of another site.
//! Reference 3.3.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};

/// Returns whether the Origin header names another site than this server.
///
/// Browsers send Origin with every request that changes something; other clients send none. The
/// server's own sites are the one of the Host header and the one of `public_url`, because a proxy
/// may have replaced Host. `behind_tls` requires https for the first.
pub(crate) fn is_foreign(headers: &HeaderMap, behind_tls: bool, public_url: &str) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    let Some(origin) = origins.next() else { return false };
    // No browser sends two.
    if origins.next().is_some() {
        return true;
    }
    let Some((scheme, authority)) = split_origin(origin) else { return true };
    if let Some((public_scheme, rest)) = public_url.split_once("://") {
        let public_authority = rest.split('/').next().unwrap_or(rest);
        if public_scheme.eq_ignore_ascii_case(scheme)
            && public_authority.eq_ignore_ascii_case(authority)
        {
            return false;
        }
    }
    if behind_tls && !scheme.eq_ignore_ascii_case("https") {
        return true;
    }
    let Some(host) = headers.get(HOST) else { return true };
    let Ok(host) = host.to_str() else { return true };
    !without_default_port(authority).eq_ignore_ascii_case(without_default_port(host))
}

/// Returns the value of the only Origin header.
pub(crate) fn only_origin(headers: &HeaderMap) -> Option<&str> {
    let mut origins = headers.get_all(ORIGIN).iter();
    let origin = origins.next()?;
    if origins.next().is_some() { None } else { origin.to_str().ok() }
}

/// Returns the scheme and the authority; `None` for an opaque origin such as `null`.
fn split_origin(origin: &HeaderValue) -> Option<(&str, &str)> {
    origin.to_str().ok()?.split_once("://")
}

fn without_default_port(authority: &str) -> &str {
    for port in [":80", ":443"] {
        if let Some(host) = authority.strip_suffix(port) {
            return host;
        }
    }
    authority
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str, origins: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().expect("a header"));
        for origin in origins {
            headers.append(ORIGIN, origin.parse().expect("a header"));
        }
        headers
    }

    #[test]
    fn an_origin_is_foreign_unless_it_is_the_host_or_the_public_site() {
        let public_url = "https://rdv.example.org/agenda/";
        for (origins, behind_tls, foreign) in [
            (&[][..], true, false),
            (&["http://shop.example:8080"], false, false),
            (&["HTTP://Shop.Example:8080"], false, false),
            (&["http://shop.example"], false, true),
            (&["http://shop.example:8080"], true, true),
            (&["https://shop.example:8080"], true, false),
            (&["https://rdv.example.org"], true, false),
            (&["http://rdv.example.org"], false, true),
            (&["https://evil.example"], false, true),
            (&["null"], false, true),
            (&["http://shop.example:8080", "http://shop.example:8080"], false, true),
        ] {
            let headers = headers("shop.example:8080", origins);
            assert_eq!(is_foreign(&headers, behind_tls, public_url), foreign, "{origins:?}");
        }
        assert!(!is_foreign(&headers("shop.example", &["https://shop.example:443"]), true, ""));
        assert!(!is_foreign(&headers("shop.example:80", &["http://shop.example"]), false, ""));
    }
}
