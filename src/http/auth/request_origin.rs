//! The Origin header of a request: whether a browser sends it for a page of another site.
//! Reference 3.3.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};

/// The header in which a browser says how the page stands to the server.
pub(crate) const SEC_FETCH_SITE: &str = "sec-fetch-site";

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
    if is_public_site(scheme, authority, public_url) {
        return false;
    }
    if behind_tls && !scheme.eq_ignore_ascii_case("https") {
        return true;
    }
    let Some(host) = headers.get(HOST) else { return true };
    let Ok(host) = host.to_str() else { return true };
    !without_default_port(authority).eq_ignore_ascii_case(without_default_port(host))
}

/// Returns whether a browser sends a request for a page that does not stand under `public_url`. It
/// says so in Origin, or else in Sec-Fetch-Site; other clients send neither.
///
/// Unlike [`is_foreign`] this does not believe Host, because an attacker's name may lead to this
/// server (DNS rebinding). No cookie would come with such a request, but a key would.
pub(crate) fn is_from_other_page(headers: &HeaderMap, public_url: &str) -> bool {
    if headers.contains_key(ORIGIN) {
        let Some(origin) = only_origin(headers) else { return true };
        let Some((scheme, authority)) = origin.split_once("://") else { return true };
        return !is_public_site(scheme, authority, public_url);
    }
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    sites.any(|site| site != "same-origin" && site != "none")
}

fn is_public_site(scheme: &str, authority: &str, public_url: &str) -> bool {
    let Some((public_scheme, rest)) = public_url.split_once("://") else { return false };
    let public_authority = rest.split('/').next().unwrap_or(rest);
    public_scheme.eq_ignore_ascii_case(scheme) && public_authority.eq_ignore_ascii_case(authority)
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

    #[test]
    fn a_page_is_another_one_unless_it_is_the_public_site() {
        let public_url = "https://rdv.example.org/agenda/";
        for (origins, sites, is_other) in [
            (&[][..], &[][..], false),
            (&[], &["none"], false),
            (&[], &["same-origin"], false),
            (&[], &["same-site"], true),
            (&[], &["cross-site"], true),
            (&[], &["none", "cross-site"], true),
            (&["https://RDV.example.org"], &["same-origin"], false),
            (&["https://rdv.example.org"], &["cross-site"], false),
            (&["http://shop.example"], &["same-origin"], true),
            (&["null"], &[], true),
            (&[""], &[], true),
            (&["https://rdv.example.org", "https://rdv.example.org"], &[], true),
        ] {
            let mut headers = headers("shop.example", origins);
            for site in sites {
                headers.append(SEC_FETCH_SITE, site.parse().expect("a header"));
            }
            assert_eq!(is_from_other_page(&headers, public_url), is_other, "{origins:?} {sites:?}");
        }
        let own = headers("shop.example", &["http://shop.example"]);
        assert!(is_from_other_page(&own, ""), "without a public site none is its own");
    }
}
