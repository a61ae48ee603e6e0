//! The networks around a source: one holder often has all sources of a network. Reference 3.6.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::http::limits::sliding_window::source;

/// The networks around a source.
///
/// A line of a home usually has a /56 of IPv6, so 256 sources, and a rented server a /48, so
/// 65,536. Of IPv4, an address is a source by itself, and the addresses of a /24 often have one
/// holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceNetworks {
    /// The source itself: an IPv4 address or a /64.
    pub(crate) own: IpNet,
    /// The /56; `None` for IPv4.
    pub(crate) site: Option<IpNet>,
    /// The /48 or the /24.
    pub(crate) widest: IpNet,
}

impl SourceNetworks {
    /// Returns the networks around the source of an address.
    pub(crate) fn around(from: IpAddr) -> Self {
        let source = source(from);
        let of_length = |length| {
            let network = IpNet::new(source, length).expect("a length of this kind of address");
            network.trunc()
        };
        match source {
            IpAddr::V4(_) => Self { own: of_length(32), site: None, widest: of_length(24) },
            IpAddr::V6(_) => {
                Self { own: of_length(64), site: Some(of_length(56)), widest: of_length(48) }
            }
        }
    }

    /// All of them, the widest first.
    pub(crate) fn widest_first(self) -> impl Iterator<Item = IpNet> {
        [Some(self.widest), self.site, Some(self.own)].into_iter().flatten()
    }

    /// Whether the source is an IPv4 address, which many clients may share.
    pub(crate) fn is_ipv4(self) -> bool {
        self.site.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_networks_of_a_source_are_a_64_a_56_and_a_48_or_an_address_and_a_24() {
        let of_ipv6 = "2001:db8:1::/48 2001:db8:1:2300::/56 2001:db8:1:2345::/64";
        for (address, networks, is_ipv4) in [
            ("2001:db8:1:2345::7", of_ipv6, false),
            ("203.0.113.7", "203.0.113.0/24 203.0.113.7/32", true),
            ("2002:cb00:7107::1", "203.0.113.0/24 203.0.113.7/32", true),
        ] {
            let around = SourceNetworks::around(address.parse().expect("an address"));
            let all: Vec<_> = around.widest_first().map(|network| network.to_string()).collect();
            assert_eq!(all.join(" "), networks);
            assert_eq!(around.is_ipv4(), is_ipv4, "{address}");
        }
    }
}
