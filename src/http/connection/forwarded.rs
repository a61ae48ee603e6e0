//! Where a request comes from, as far as those who passed it on can be believed.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;
use axum::http::header::{FORWARDED, HeaderName, HeaderValue};
use ipnet::IpNet;

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The proxies that are believed; nobody where there are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrustedProxies(pub(crate) Vec<IpNet>);

impl TrustedProxies {
    /// The address that a request counts under: its peer's, or that of the last stranger before a row of proxies that are
    /// believed. Whatever a stranger says of others counts for nothing. What cannot be read leaves the peer, and so do two
    /// headers that say different things: a proxy that sets one passes on whatever it is given of the other.
    pub(crate) fn source(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.believe(peer) {
            return peer;
        }
        let told = |name: &HeaderName, hop: fn(&str) -> Option<IpAddr>| {
            headers
                .contains_key(name)
                .then(|| self.first_stranger(headers.get_all(name).iter().rev(), hop))
        };
        let source = match (told(&X_FORWARDED_FOR, address), told(&FORWARDED, of_pairs)) {
            (Some(one), Some(other)) => one.filter(|_| one == other),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => None,
        };
        source.unwrap_or(peer)
    }

    fn believe(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The first address of a header, read from its end, that is no proxy's; its beginning where all are believed; `None`
    /// where something stands before it that is no address.
    fn first_stranger<'h>(
        &self,
        values: impl Iterator<Item = &'h HeaderValue>,
        hop: fn(&str) -> Option<IpAddr>,
    ) -> Option<IpAddr> {
        let mut last = None;
        for value in values {
            // A comma within quotes leaves two halves that are no address.
            for text in value.to_str().ok()?.rsplit(',') {
                let address = hop(text)?;
                last = Some(address);
                if !self.believe(address) {
                    return last;
                }
            }
        }
        last
    }
}

/// The address of `203.0.113.7`, `203.0.113.7:4711`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:4711`.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address =
        bare.parse().ok().or_else(|| text.parse().ok().map(|address: SocketAddr| address.ip()))?;
    Some(address.to_canonical())
}

/// The address after `for=` among the pairs that a proxy adds to Forwarded, RFC 7239.
fn of_pairs(text: &str) -> Option<IpAddr> {
    let mut named = text.split(';').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then_some(value.trim())
    });
    let value = named.next()?;
    let bare = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    if named.next().is_some() { None } else { address(bare) }
}

#[cfg(test)]
mod tests {
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
    fn a_stranger_speaks_for_nobody() {
        assert_eq!(by_list("203.0.113.7", "198.51.100.1"), "203.0.113.7");
        assert_eq!(source("203.0.113.7", &[("forwarded", "for=198.51.100.1")]), "203.0.113.7");
        assert_eq!(by_list("11.0.0.1", "10.0.0.1"), "11.0.0.1");
        let nobody = TrustedProxies::default()
            .source("10.0.0.1".parse().expect("an address"), &HeaderMap::new());
        assert_eq!(nobody.to_string(), "10.0.0.1");
    }

    #[test]
    fn a_proxy_says_whom_it_serves_and_no_further_back_is_read() {
        assert_eq!(by_list("10.0.0.1", "203.0.113.7"), "203.0.113.7");
        assert_eq!(by_list("10.0.0.1", "198.51.100.1, 203.0.113.7"), "203.0.113.7");
        assert_eq!(by_list("10.0.0.1", "nonsense,\t203.0.113.7"), "203.0.113.7");
        assert_eq!(by_list("::ffff:10.0.0.1", "::ffff:203.0.113.7"), "203.0.113.7");
        assert_eq!(by_list("10.0.0.1", ""), "10.0.0.1");
        assert_eq!(source("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn proxies_in_a_row_are_passed_over() {
        assert_eq!(
            by_list("10.0.0.1", "198.51.100.1, 203.0.113.7, 10.9.9.9, 10.0.0.2"),
            "203.0.113.7"
        );
        let lines =
            [("x-forwarded-for", "198.51.100.1, 203.0.113.7"), ("x-forwarded-for", "10.0.0.2")];
        assert_eq!(source("10.0.0.1", &lines), "203.0.113.7");
        assert_eq!(by_list("10.0.0.1", "10.0.0.3, 10.0.0.2"), "10.0.0.3", "it is their own");
        assert_eq!(by_list("10.0.0.1", "203.0.113.7, nonsense, 10.0.0.2"), "10.0.0.1");
    }

    #[test]
    fn addresses_come_with_ports_and_brackets() {
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
    fn forwarded_is_read_as_its_standard_says() {
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
    fn two_headers_that_contradict_one_another_say_nothing() {
        let both = |list: &str, pairs: &str| {
            source("10.0.0.1", &[("x-forwarded-for", list), ("forwarded", pairs)])
        };
        assert_eq!(both("203.0.113.7", "for=203.0.113.7"), "203.0.113.7");
        assert_eq!(both("203.0.113.7", "for=198.51.100.1"), "10.0.0.1");
        assert_eq!(both("203.0.113.7", "nonsense"), "10.0.0.1");
        assert_eq!(both("", "for=198.51.100.1"), "10.0.0.1");
    }
}
