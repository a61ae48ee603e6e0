//! Addresses to which webhooks may be delivered. Reference 18.6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::domain::state::webhooks::url::{ReceiverHost, WebhookUrl};

/// Networks of IPv4 that are not on the internet, or have another purpose than servers.
const REFUSED_IPV4: [(Ipv4Addr, u8); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The networks inside which receivers may be, beside the internet.
#[derive(Clone, Debug, Default)]
pub struct AllowedNetworks(Vec<IpNet>);

impl AllowedNetworks {
    /// Allows these networks.
    pub const fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    /// Whether a receiver with this address may be connected to. Without TLS it must be on this
    /// machine.
    pub fn lets_connect(&self, is_https: bool, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_allowed = self.0.iter().any(|network| network.contains(&address));
        if is_https {
            is_allowed || is_public(address)
        } else {
            is_allowed && address.is_loopback()
        }
    }

    /// Checks the address of a receiver, as far as it says where the receiver is. The addresses of
    /// a name are checked by each attempt.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check(&self, url: &WebhookUrl) -> Result<(), &'static str> {
        let lets = |address| self.lets_connect(url.is_https(), address);
        let is_let = match url.host() {
            ReceiverHost::Address(address) => lets(address),
            ReceiverHost::Name(name) if *name == *"localhost" || name.ends_with(".localhost") => {
                lets(Ipv4Addr::LOCALHOST.into()) || lets(Ipv6Addr::LOCALHOST.into())
            }
            ReceiverHost::Name(_) => url.is_https(),
        };
        match (is_let, url.is_https()) {
            (true, _) => Ok(()),
            (false, false) => Err("must begin with https://"),
            (false, true) => {
                Err("must have a host on the internet: addresses of this machine and \
                                  of inner networks need --webhook-allow")
            }
        }
    }
}

/// Whether an address belongs to the internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_ipv4(address),
        IpAddr::V6(address) => is_public_ipv6(address),
    }
}

fn is_public_ipv4(address: Ipv4Addr) -> bool {
    let is_in = |(network, bits): (Ipv4Addr, u8)| {
        let mask = u32::MAX << (32 - u32::from(bits));
        u32::from(address) & mask == u32::from(network)
    };
    !REFUSED_IPV4.into_iter().any(is_in)
}

/// Of IPv6 only global unicast addresses are public. Those that stand for one of IPv4 count as it
/// by NAT64, and are refused by 6to4 and Teredo, which lead to another network.
fn is_public_ipv6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    if segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        let [.., high, low] = segments;
        return is_public_ipv4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    }
    let is_global = segments[0] & 0xe000 == 0x2000;
    // 2001::/23 with Teredo, 2001:db8::/32, 2002::/16 of 6to4, 3fff::/20.
    let is_special = matches!(segments[..2], [0x2001, 0..=0x1ff | 0xdb8])
        || segments[0] == 0x2002
        || (segments[0] == 0x3fff && segments[1] < 0x1000);
    is_global && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// Addresses inside, and those that stand for one.
    const INNER: &str = "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 \
        127.255.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 \
        192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1 \
        239.1.1.1 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 \
        ::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe \
        64:ff9b:1::1 fc00::1 fd12::1 fe80::1 fec0::1 ff02::1 2001:db8::1 2001::1 \
        2002:7f00:1:: 2002:808:808:: 3fff::1 100::1 5f00::1 4000::1";
    /// Addresses of the internet.
    const PUBLIC: &str = "1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.0.1.1 \
        198.17.0.1 198.20.0.1 223.255.255.255 ::ffff:8.8.8.8 64:ff9b::808:808 \
        2606:4700::1111 2a00:1450::1 2001:200::1 3fff:1000::1";

    #[test]
    fn only_addresses_of_the_internet_are_connected_to() {
        let nothing = AllowedNetworks::default();
        for text in INNER.split_whitespace() {
            assert!(!nothing.lets_connect(true, address(text)), "{text}");
            assert!(!nothing.lets_connect(false, address(text)), "{text}");
        }
        for text in PUBLIC.split_whitespace() {
            assert!(nothing.lets_connect(true, address(text)), "{text}");
            assert!(!nothing.lets_connect(false, address(text)), "{text} without TLS");
        }
    }

    #[test]
    fn the_operator_allows_networks_and_plain_http_stays_on_the_machine() {
        let networks = ["127.0.0.0/8", "10.1.0.0/16", "fd00::/8"];
        let networks = networks.map(|network| network.parse().expect("a network")).to_vec();
        let allowed = AllowedNetworks::new(networks);
        for (text, https, http) in [
            ("127.0.0.1", true, true),
            ("::ffff:127.0.0.1", true, true),
            ("::1", false, false),
            ("10.1.2.3", true, false),
            ("10.2.0.1", false, false),
            ("fd00::1", true, false),
        ] {
            assert_eq!(allowed.lets_connect(true, address(text)), https, "{text}");
            assert_eq!(allowed.lets_connect(false, address(text)), http, "{text}");
        }
    }

    #[test]
    fn an_address_that_says_where_its_receiver_is_is_checked_at_once() {
        let url = |text: &str| WebhookUrl::new(text).expect("an address");
        let nothing = AllowedNetworks::default();
        for text in [
            "http://example.org/",
            "http://127.0.0.1/",
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://localhost/",
            "https://a.localhost/",
            "https://169.254.169.254/latest",
            "http://8.8.8.8/",
        ] {
            assert!(nothing.check(&url(text)).is_err(), "{text}");
        }
        assert_eq!(nothing.check(&url("https://example.org/")), Ok(()));
        let loopback = AllowedNetworks::new(vec!["127.0.0.0/8".parse().expect("a network")]);
        for text in ["http://127.0.0.1:8000/", "http://localhost/", "https://localhost/"] {
            assert_eq!(loopback.check(&url(text)), Ok(()), "{text}");
        }
        assert!(loopback.check(&url("http://example.org/")).is_err());
    }
}
