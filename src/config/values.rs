//! Types of option values that are more than a number or a text. Reference 11.3.

use std::fmt;
use std::net::{AddrParseError, IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::Uri;
use ipnet::IpNet;
use thiserror::Error;

/// Encryption of the connection to an SMTP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SmtpTls {
    /// STARTTLS, which the server must offer.
    Starttls,
    /// TLS from the first byte.
    Tls,
    /// No encryption, for a server on the same machine.
    None,
}

/// An address to listen on, or none, written as the empty text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OptionalAddress(pub Option<SocketAddr>);

impl FromStr for OptionalAddress {
    type Err = AddrParseError;

    fn from_str(text: &str) -> Result<Self, AddrParseError> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        Ok(Self(Some(text.parse()?)))
    }
}

/// IP networks, written with commas between them. A single address is a network of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(pub Vec<IpNet>);

/// A text that is not a network.
#[derive(Debug, Error)]
#[error("{0:?} is neither an IP address nor a network such as 10.0.0.0/8")]
pub struct InvalidNetwork(String);

impl FromStr for Networks {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let mut networks = Vec::new();
        for entry in text.split(',') {
            let entry = entry.trim();
            if entry.is_empty() {
                continue;
            }
            if let Ok(network) = entry.parse::<IpNet>() {
                networks.push(network);
            } else if let Ok(address) = entry.parse::<IpAddr>() {
                networks.push(IpNet::from(address.to_canonical()));
            } else {
                return Err(InvalidNetwork(entry.to_owned()));
            }
        }
        Ok(Self(networks))
    }
}

/// The URL of a web site, to which a path can be appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteUrl(String);

/// A text that is not the URL of a web site.
#[derive(Clone, Debug, Error)]
#[error("an address such as https://rdv.example.org is needed, with a host and without ?, # or @")]
pub struct InvalidSiteUrl;

impl SiteUrl {
    /// The URL as it was given, without surrounding white space.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the host is a loopback name or address, which no other machine can reach.
    pub fn is_loopback(&self) -> bool {
        let Ok(uri) = self.0.parse::<Uri>() else { return false };
        let host = uri.host().unwrap_or_default().to_ascii_lowercase();
        host == "localhost" || host == "[::1]" || host.starts_with("127.")
    }
}

impl FromStr for SiteUrl {
    type Err = InvalidSiteUrl;

    fn from_str(text: &str) -> Result<Self, InvalidSiteUrl> {
        let text = text.trim();
        let Ok(uri) = text.parse::<Uri>() else { return Err(InvalidSiteUrl) };
        let has_web_scheme = matches!(uri.scheme_str(), Some("http" | "https"));
        let has_host = !uri.host().unwrap_or_default().is_empty();
        if has_web_scheme && has_host && !text.contains(['?', '#', '@']) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidSiteUrl)
        }
    }
}

impl fmt::Display for SiteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_has_a_scheme_of_the_web_and_a_host() {
        for bad in [
            "rdv",
            "javascript:x",
            "https://a b",
            "https://",
            "ftp://a",
            "/m",
            "",
            "https://a/?b",
            "http://a@b",
        ] {
            assert!(bad.parse::<SiteUrl>().is_err(), "{bad}");
        }
        for (good, is_loopback) in [
            ("https://rdv.example.org", false),
            (" http://10.0.0.1:8080/agenda/ ", false),
            ("http://127.0.0.1:8080", true),
            ("http://LOCALHOST", true),
            ("http://[::1]:80", true),
        ] {
            let site: SiteUrl = good.parse().unwrap();
            assert_eq!((site.as_str(), site.is_loopback()), (good.trim(), is_loopback));
        }
    }

    #[test]
    fn networks_are_addresses_or_prefixes() {
        let networks: Networks =
            " 10.0.0.0/8, 127.0.0.1 ,,2001:db8::/32,::ffff:192.0.2.1".parse().unwrap();
        let written: Vec<String> = networks.0.iter().map(ToString::to_string).collect();
        assert_eq!(written, ["10.0.0.0/8", "127.0.0.1/32", "2001:db8::/32", "192.0.2.1/32"]);
        for bad in ["10.0.0.0/33", "proxy.example.org", "10.0.0", "10.0.0.1:80"] {
            let error = bad.parse::<Networks>().unwrap_err().to_string();
            assert!(error.contains(bad), "{error}");
        }
    }
}
