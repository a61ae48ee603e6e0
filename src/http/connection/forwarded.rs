//! The source address of a request behind trusted proxies. Reference 3.6.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::HeaderMap;
use axum::http::header::{FORWARDED, HeaderName};
use ipnet::IpNet;

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Networks of the proxies whose headers are believed; none by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrustedProxies(pub(crate) Vec<IpNet>);

impl TrustedProxies {
    /// Returns the address that a request counts under: the peer's or, if the peer is a trusted
    /// proxy, the last address in its header that is not one.
    ///
    /// An unreadable header leaves the peer's address. So do two headers that disagree: a proxy
    /// that sets one of them passes the other on as the client wrote it.
    pub(crate) fn source(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.trusts(peer) {
            return peer;
        }
        let has_list = headers.contains_key(&X_FORWARDED_FOR);
        let has_pairs = headers.contains_key(FORWARDED);
        let by_list = self.last_untrusted(headers, &X_FORWARDED_FOR, parse_address);
        let by_pairs = self.last_untrusted(headers, &FORWARDED, parse_forwarded_element);
        let source = match (has_list, has_pairs) {
            (true, true) if by_list != by_pairs => None,
            (true, _) => by_list,
            (false, true) => by_pairs,
            (false, false) => None,
        };
        source.unwrap_or(peer)
    }

    /// Returns whether an address is a trusted proxy's.
    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Returns the last address of a header that is no trusted proxy's, or its first address if all
    /// are. Returns `None` if an element at or after that address is unreadable.
    fn last_untrusted(
        &self,
        headers: &HeaderMap,
        name: &HeaderName,
        parse_element: fn(&str) -> Option<IpAddr>,
    ) -> Option<IpAddr> {
        let mut last = None;
        for value in headers.get_all(name).iter().rev() {
            // A comma within quotes leaves two parts, neither of which is an address.
            for element in value.to_str().ok()?.rsplit(',') {
                let address = parse_element(element)?;
                last = Some(address);
                if !self.trusts(address) {
                    return last;
                }
            }
        }
        last
    }
}

/// Warns once of forwarding headers that are not believed, and once more if a machine of a local
/// network sends them, which may be a proxy. Otherwise a stranger could use up the only warning.
#[derive(Debug, Default)]
pub(crate) struct UnbelievedHeaders {
    has_warned: AtomicBool,
    has_warned_of_local: AtomicBool,
}

impl UnbelievedHeaders {
    /// Warns of a request whose peer is no trusted proxy, if it has such a header.
    pub(crate) fn warn(&self, peer: IpAddr, headers: &HeaderMap) {
        if !headers.contains_key(&X_FORWARDED_FOR) && !headers.contains_key(FORWARDED) {
            return;
        }
        let peer = peer.to_canonical();
        let is_local = match peer {
            IpAddr::V4(address) => address.is_loopback() || address.is_private(),
            IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
        };
        let has_warned = if is_local { &self.has_warned_of_local } else { &self.has_warned };
        if !has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %peer,
                "X-Forwarded-For or Forwarded of this address is not believed: if it is your \
                 proxy, give --trusted-proxies, since all its clients count as one source until then"
            );
        }
    }
}

/// Parses `203.0.113.7`, `203.0.113.7:4711`, `2001:db8::1`, `[2001:db8::1]` or
/// `[2001:db8::1]:4711`.
fn parse_address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Some(address.ip().to_canonical());
    }
    let bare = strip_both(text, '[', ']').unwrap_or(text);
    let address: IpAddr = bare.parse().ok()?;
    Some(address.to_canonical())
}

/// Parses the address after `for=` in an element of Forwarded (RFC 7239). Two of them are
/// unreadable.
fn parse_forwarded_element(text: &str) -> Option<IpAddr> {
    let mut client = None;
    for pair in text.split(';') {
        let Some((name, value)) = pair.split_once('=') else { continue };
        if !name.trim().eq_ignore_ascii_case("for") {
            continue;
        }
        if client.is_some() {
            return None;
        }
        client = Some(value.trim());
    }
    let value = client?;
    parse_address(strip_both(value, '"', '"').unwrap_or(value))
}

fn strip_both(text: &str, first: char, last: char) -> Option<&str> {
    text.strip_prefix(first)?.strip_suffix(last)
}

#[cfg(test)]
mod tests {
    use axum::http::header::HeaderValue;

    use super::*;

    fn source(peer: &str, headers: &[(&'static str, &str)]) -> String {
        let networks =
            ["10.0.0.0/8", "2001:db8:1::/48"].map(|network| network.parse().expect("a network"));
        let headers = headers.iter().map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_bytes(value.as_bytes()).expect("a header"),
            )
        });
        let headers: HeaderMap = headers.fold(HeaderMap::new(), |mut all, (name, value)| {
            all.append(name, value);
            all
        });
        TrustedProxies(networks.into())
            .source(peer.parse().expect("an address"), &headers)
            .to_string()
    }

    fn by_list(peer: &str, value: &str) -> String {
        source(peer, &[("x-forwarded-for", value)])
    }

    #[test]
    fn the_headers_of_an_untrusted_peer_are_ignored() {
        assert_eq!(by_list("203.0.113.7", "198.51.100.1"), "203.0.113.7");
        assert_eq!(source("203.0.113.7", &[("forwarded", "for=198.51.100.1")]), "203.0.113.7");
        assert_eq!(by_list("11.0.0.1", "10.0.0.1"), "11.0.0.1");
        let default = TrustedProxies::default()
            .source("10.0.0.1".parse().expect("an address"), &HeaderMap::new());
        assert_eq!(default.to_string(), "10.0.0.1");
    }

    #[test]
    fn a_trusted_proxy_names_its_client_and_earlier_addresses_are_ignored() {
        assert_eq!(by_list("10.0.0.1", "203.0.113.7"), "203.0.113.7");
        assert_eq!(by_list("10.0.0.1", "198.51.100.1, 203.0.113.7"), "203.0.113.7");
        assert_eq!(by_list("10.0.0.1", "nonsense,\t203.0.113.7"), "203.0.113.7");
        assert_eq!(by_list("::ffff:10.0.0.1", "::ffff:203.0.113.7"), "203.0.113.7");
        assert_eq!(by_list("10.0.0.1", ""), "10.0.0.1");
        assert_eq!(source("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn trusted_proxies_in_a_row_are_skipped() {
        assert_eq!(
            by_list("10.0.0.1", "198.51.100.1, 203.0.113.7, 10.9.9.9, 10.0.0.2"),
            "203.0.113.7"
        );
        let lines =
            [("x-forwarded-for", "198.51.100.1, 203.0.113.7"), ("x-forwarded-for", "10.0.0.2")];
        assert_eq!(source("10.0.0.1", &lines), "203.0.113.7");
        assert_eq!(
            by_list("10.0.0.1", "10.0.0.3, 10.0.0.2"),
            "10.0.0.3",
            "the request is their own"
        );
        assert_eq!(by_list("10.0.0.1", "203.0.113.7, nonsense, 10.0.0.2"), "10.0.0.1");
    }

    #[test]
    fn addresses_may_have_ports_and_brackets() {
        for (value, found) in [
            ("203.0.113.7:4711", "203.0.113.7"),
            ("[2001:db8:2::1]:4711", "2001:db8:2::1"),
            ("[2001:db8:2::1]", "2001:db8:2::1"),
            ("2001:db8:2::1", "2001:db8:2::1"),
            ("203.0.113.7, 2001:db8:1::5", "203.0.113.7"),
            ("203.0.113.7:", "10.0.0.1"),
            ("unknown", "10.0.0.1"),
            ("é", "10.0.0.1"),
        ] {
            assert_eq!(by_list("10.0.0.1", value), found, "{value}");
        }
        assert_eq!(by_list("2001:db8:1::1", "203.0.113.7"), "203.0.113.7");
    }

    #[test]
    fn forwarded_is_read_as_rfc_7239_says() {
        for (value, found) in [
            ("for=203.0.113.7;proto=https;by=10.0.0.1", "203.0.113.7"),
            ("proto=https; For=\"203.0.113.7:4711\"", "203.0.113.7"),
            ("for=198.51.100.1, for=\"[2001:db8:2::1]:80\", for=10.0.0.2", "2001:db8:2::1"),
            ("for=\"x, for=203.0.113.7", "203.0.113.7"),
            ("for=_hidden", "10.0.0.1"),
            ("for=unknown", "10.0.0.1"),
            ("by=203.0.113.7", "10.0.0.1"),
            ("for=203.0.113.7;for=198.51.100.1", "10.0.0.1"),
            ("for=203.0.113.7;x=\"a,b\"", "10.0.0.1"),
        ] {
            assert_eq!(source("10.0.0.1", &[("forwarded", value)]), found, "{value}");
        }
    }

    #[test]
    fn two_headers_that_disagree_are_ignored() {
        let both = |list: &str, pairs: &str| {
            source("10.0.0.1", &[("x-forwarded-for", list), ("forwarded", pairs)])
        };
        assert_eq!(both("203.0.113.7", "for=203.0.113.7"), "203.0.113.7");
        assert_eq!(both("203.0.113.7", "for=198.51.100.1"), "10.0.0.1");
        assert_eq!(both("203.0.113.7", "nonsense"), "10.0.0.1");
        assert_eq!(both("", "for=198.51.100.1"), "10.0.0.1");
    }
}
