//! The source address of a request behind trusted proxies. Reference 3.6.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::HeaderMap;
use axum::http::header::{FORWARDED, HeaderName};
use ipnet::IpNet;

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The header in which trusted proxies name their clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ForwardingHeader {
    /// A list of addresses, which most proxies send.
    #[default]
    XForwardedFor,
    /// The header of RFC 7239.
    Forwarded,
}

impl ForwardingHeader {
    fn name(self) -> &'static HeaderName {
        match self {
            Self::XForwardedFor => &X_FORWARDED_FOR,
            Self::Forwarded => &FORWARDED,
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::XForwardedFor => Self::Forwarded,
            Self::Forwarded => Self::XForwardedFor,
        }
    }

    fn parse_element(self, text: &str) -> Option<IpAddr> {
        match self {
            Self::XForwardedFor => parse_address(text),
            Self::Forwarded => parse_forwarded_element(text),
        }
    }
}

/// Networks of the proxies that are believed, none by default, and the header that is read of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrustedProxies {
    pub(crate) networks: Vec<IpNet>,
    pub(crate) header: ForwardingHeader,
}

impl TrustedProxies {
    /// Returns the address that a request counts under: the peer's or, if the peer is a trusted
    /// proxy, the last address in its header that is not one. An unreadable header leaves the
    /// peer's address.
    ///
    /// The other header is ignored: the proxy passes it on as the client wrote it.
    pub(crate) fn source(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.trusts(peer) {
            return peer;
        }
        self.last_untrusted(headers).unwrap_or(peer)
    }

    /// Returns whether an address is a trusted proxy's.
    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }

    /// Returns the last address of the header that is no trusted proxy's, or its first address if
    /// all are. Returns `None` if an element at or after that address is unreadable.
    fn last_untrusted(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let mut last = None;
        for value in headers.get_all(self.header.name()).iter().rev() {
            // A comma within quotes leaves two parts, neither of which is an address.
            for element in value.to_str().ok()?.rsplit(',') {
                let address = self.header.parse_element(element)?;
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
/// Warns once of a trusted proxy that sends the other header only.
#[derive(Debug, Default)]
pub(crate) struct UnbelievedHeaders {
    has_warned: AtomicBool,
    has_warned_of_local: AtomicBool,
    has_warned_of_other: AtomicBool,
}

impl UnbelievedHeaders {
    /// Warns of a request whose peer is no trusted proxy, if it has such a header.
    pub(crate) fn warn(&self, peer: IpAddr, headers: &HeaderMap) {
        let header = ForwardingHeader::default();
        if !headers.contains_key(header.name()) && !headers.contains_key(header.other().name()) {
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

    /// Warns of a request of a trusted proxy that lacks the header which is read, but has the other
    /// one. A client cannot cause that behind a proxy that sets the former.
    pub(crate) fn warn_of_other(&self, header: ForwardingHeader, headers: &HeaderMap) {
        let other = header.other();
        if headers.contains_key(header.name()) || !headers.contains_key(other.name()) {
            return;
        }
        if !self.has_warned_of_other.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "a trusted proxy sends no {}, but {}, which is ignored: if the proxy sets it, give \
                 --forwarding-header {1}, since all clients count as one source until then",
                header.name(),
                other.name(),
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
    use axum::http::header::{HeaderName, HeaderValue};

    use super::*;

    fn source(header: ForwardingHeader, peer: &str, headers: &[(&'static str, &str)]) -> String {
        let networks =
            ["10.0.0.0/8", "2001:db8:1::/48"].map(|network| network.parse().expect("a network"));
        let proxies = TrustedProxies { networks: networks.into(), header };
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
        proxies.source(peer.parse().expect("an address"), &headers).to_string()
    }

    fn by_list(peer: &str, value: &str) -> String {
        source(ForwardingHeader::XForwardedFor, peer, &[("x-forwarded-for", value)])
    }

    fn by_pairs(peer: &str, value: &str) -> String {
        source(ForwardingHeader::Forwarded, peer, &[("forwarded", value)])
    }

    #[test]
    fn the_headers_of_an_untrusted_peer_are_ignored() {
        assert_eq!(by_list("203.0.113.7", "198.51.100.1"), "203.0.113.7");
        assert_eq!(by_pairs("203.0.113.7", "for=198.51.100.1"), "203.0.113.7");
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
        assert_eq!(source(ForwardingHeader::XForwardedFor, "10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn trusted_proxies_in_a_row_are_skipped() {
        assert_eq!(
            by_list("10.0.0.1", "198.51.100.1, 203.0.113.7, 10.9.9.9, 10.0.0.2"),
            "203.0.113.7"
        );
        let lines =
            [("x-forwarded-for", "198.51.100.1, 203.0.113.7"), ("x-forwarded-for", "10.0.0.2")];
        assert_eq!(source(ForwardingHeader::XForwardedFor, "10.0.0.1", &lines), "203.0.113.7");
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
            assert_eq!(by_pairs("10.0.0.1", value), found, "{value}");
        }
    }

    #[test]
    fn the_header_that_is_not_named_is_ignored() {
        use ForwardingHeader::{Forwarded, XForwardedFor};
        let both = |header, list: &str, pairs: &str| {
            source(header, "10.0.0.1", &[("x-forwarded-for", list), ("forwarded", pairs)])
        };
        for (list, pairs, by_list, by_pairs) in [
            ("203.0.113.7", "for=203.0.113.7", "203.0.113.7", "203.0.113.7"),
            ("203.0.113.7", "for=198.51.100.1", "203.0.113.7", "198.51.100.1"),
            ("203.0.113.7", "nonsense", "203.0.113.7", "10.0.0.1"),
            ("", "for=198.51.100.1", "10.0.0.1", "198.51.100.1"),
        ] {
            assert_eq!(both(XForwardedFor, list, pairs), by_list, "{pairs}");
            assert_eq!(both(Forwarded, list, pairs), by_pairs, "{list}");
        }
        let alone = source(XForwardedFor, "10.0.0.1", &[("forwarded", "for=198.51.100.1")]);
        assert_eq!(alone, "10.0.0.1");
    }
}
