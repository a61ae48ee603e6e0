//! The Origin header of a request: whether a browser sends it for a page of another site.
//! Reference 3.3.

use std::net::IpAddr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The header in which a browser says how the page stands to the server.
pub(crate) static SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

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

/// Returns whether a browser sends the form of another page than this server's. Where the server
/// has a public site that is the only one, so that a foreign name that leads to this server (DNS
/// rebinding) books for no visitor. Without one, Host is believed.
pub(crate) fn is_foreign_form(headers: &HeaderMap, behind_tls: bool, public_url: &str) -> bool {
    // No browser sends two.
    if headers.get_all(&SEC_FETCH_SITE).iter().any(|site| site != "same-origin") {
        return true;
    }
    if has_public_name(public_url) {
        return is_from_other_page(headers, public_url);
    }
    !headers.contains_key(&SEC_FETCH_SITE) && is_foreign(headers, behind_tls, public_url)
}

/// Returns whether a browser shows that a page of this server sends a request. Programs that send
/// neither header show nothing.
pub(crate) fn is_shown_as_own(headers: &HeaderMap, behind_tls: bool, public_url: &str) -> bool {
    let shows = headers.contains_key(ORIGIN) || headers.contains_key(&SEC_FETCH_SITE);
    shows && !is_foreign_form(headers, behind_tls, public_url)
}

/// Whether the Host of a request is a name or an address at which a browser reaches its own machine
/// alone.
pub(crate) fn is_at_loopback(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let Some(host) = hosts.next().and_then(|host| host.to_str().ok()) else { return false };
    let host = host_of(host);
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    hosts.next().is_none()
        && (host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback()))
}

/// Returns the host of an authority, without its port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Whether a URL names a host that others than this machine reach.
fn has_public_name(public_url: &str) -> bool {
    let Some((_, rest)) = public_url.split_once("://") else { return false };
    let host = host_of(rest.split('/').next().unwrap_or(rest));
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    !host.eq_ignore_ascii_case("localhost")
        && !address.is_ok_and(|it| it.is_loopback() || it.is_unspecified())
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
    let mut sites = headers.get_all(&SEC_FETCH_SITE).iter();
    sites.any(|site| site != "same-origin" && site != "none")
}

fn is_public_site(scheme: &str, authority: &str, public_url: &str) -> bool {
    let Some((public_scheme, rest)) = public_url.split_once("://") else { return false };
    let public_authority = rest.split('/').next().unwrap_or(rest);
    let default_port = if scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
    let [public, given] = [public_authority, authority]
        .map(|authority| authority.strip_suffix(default_port).unwrap_or(authority));
    public_scheme.eq_ignore_ascii_case(scheme) && public.eq_ignore_ascii_case(given)
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
    fn a_form_is_foreign_unless_it_is_of_the_public_site_where_there_is_one() {
        let own = [("https://rdv.example.org", "same-origin"), ("https://rdv.example.org", "")];
        let rebound = [("http://evil.example", "same-origin"), ("http://evil.example", "")];
        for (public_url, [of_own, of_rebound]) in [
            ("https://rdv.example.org", [false, true]),
            ("https://rdv.example.org:443/agenda", [false, true]),
            ("http://localhost:8080", [false, false]),
            ("http://[::1]:8080", [false, false]),
            ("", [false, false]),
        ] {
            for (origins, is_foreign, host) in
                [(own, of_own, "rdv.example.org"), (rebound, of_rebound, "evil.example")]
            {
                for (origin, site) in origins {
                    let mut headers = headers(host, &[origin]);
                    if !site.is_empty() {
                        headers.append(&SEC_FETCH_SITE, site.parse().expect("a header"));
                    }
                    let found = is_foreign_form(&headers, false, public_url);
                    assert_eq!(found, is_foreign, "{public_url} {origin} {site}");
                }
            }
        }
        for site in ["none", "same-site", "cross-site"] {
            let mut headers = headers("shop.example", &[]);
            headers.append(&SEC_FETCH_SITE, site.parse().expect("a header"));
            assert!(is_foreign_form(&headers, false, ""), "{site}");
        }
    }

    #[test]
    fn only_loopback_names_and_addresses_lead_to_the_machine_of_the_browser() {
        for (host, is_loopback) in [
            ("localhost:8080", true),
            ("LocalHost", true),
            ("127.0.0.1:8080", true),
            ("127.9.9.9", true),
            ("[::1]:8080", true),
            ("[::1]", true),
            ("localhost.example.org", false),
            ("127.0.0.1.example.org:8080", false),
            ("0.0.0.0:8080", false),
            ("192.168.1.2:8080", false),
            ("rdv.example.org", false),
            ("", false),
        ] {
            assert_eq!(is_at_loopback(&headers(host, &[])), is_loopback, "{host}");
        }
        let mut two = headers("localhost", &[]);
        two.append(HOST, "rdv.example.org".parse().expect("a header"));
        assert!(!is_at_loopback(&two) && !is_at_loopback(&HeaderMap::new()));
    }

    #[test]
    fn a_request_is_shown_as_own_by_a_browser_alone() {
        for (origins, sites, shown) in [
            (&[][..], &[][..], false),
            (&["http://shop.example"], &[], true),
            (&[], &["same-origin"], true),
            (&["http://shop.example"], &["same-origin"], true),
            (&["http://evil.example"], &[], false),
            (&["http://shop.example"], &["same-site"], false),
            (&[], &["same-origin", "cross-site"], false),
            (&[], &["none"], false),
        ] {
            let mut headers = headers("shop.example", origins);
            for site in sites {
                headers.append(&SEC_FETCH_SITE, site.parse().expect("a header"));
            }
            assert_eq!(is_shown_as_own(&headers, false, ""), shown, "{origins:?} {sites:?}");
        }
    }

    #[test]
    fn the_default_port_of_the_public_site_does_not_matter() {
        for (public_url, origin, is_other) in [
            ("http://rdv.example.org:80", "http://rdv.example.org", false),
            ("https://rdv.example.org", "https://rdv.example.org:443", false),
            ("https://rdv.example.org", "https://rdv.example.org:80", true),
            ("http://rdv.example.org:443", "http://rdv.example.org", true),
        ] {
            let headers = headers("rdv.example.org", &[origin]);
            assert_eq!(is_from_other_page(&headers, public_url), is_other, "{origin}");
        }
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
                headers.append(&SEC_FETCH_SITE, site.parse().expect("a header"));
            }
            assert_eq!(is_from_other_page(&headers, public_url), is_other, "{origins:?} {sites:?}");
        }
        let own = headers("shop.example", &["http://shop.example"]);
        assert!(is_from_other_page(&own, ""), "without a public site none is its own");
    }
}
