//! The origins of sites that may show the booking pages of a group in a frame. Reference 14.8.

use core::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use crate::domain::records::site_origin::SiteOrigin;
use crate::domain::records::text::{InvalidValue, Text};

/// Maximum number of origins.
const ORIGINS_MAX: usize = 20;
/// Stands for every subdomain, however deep, in front of a host.
const ANY_SUBDOMAIN: &str = "*.";

/// At most 20 origins with commas between them; empty for none. Each is `https://shop.example.org`,
/// `https://*.example.org` for the subdomains of a host, or a loopback address, for which `http`
/// serves too. They are in lower case, without default ports and in the order given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EmbedOrigins(Text<4_096>);

impl EmbedOrigins {
    /// Parses a list. Commas and white space separate its elements.
    ///
    /// # Errors
    /// The rule that the list or one of its elements breaks.
    ///
    /// ```
    /// use slotbook::domain::records::embed_origins::EmbedOrigins;
    /// let origins = EmbedOrigins::new("https://Shop.example.org:443 https://*.example.com");
    /// let origins = origins.unwrap();
    /// assert_eq!(origins.as_str(), "https://shop.example.org,https://*.example.com");
    /// assert!(origins.allow("https://a.b.example.com") && !origins.allow("https://example.com"));
    /// assert!(EmbedOrigins::new("https://shop.example.org/page").is_err());
    /// assert!(EmbedOrigins::new("http://shop.example.org").is_err());
    /// ```
    pub fn new(text: &str) -> Result<Self, InvalidValue> {
        let mut origins: Vec<String> = Vec::new();
        let separates = |c: char| c == ',' || c.is_whitespace();
        for element in text.split(separates).filter(|element| !element.is_empty()) {
            let origin = parse_origin(element)?;
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        if origins.len() > ORIGINS_MAX {
            return Err(InvalidValue(format!("must have at most {ORIGINS_MAX} origins")));
        }
        Ok(Self(Text::new(&origins.join(","))?))
    }

    /// The list.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The origins, in the form of a source of a content security policy.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.as_str().split(',').filter(|origin| !origin.is_empty())
    }

    /// Whether a page of an origin, as browsers send it, may show the booking pages.
    pub fn allow(&self, origin: &str) -> bool {
        let Ok(asking) = SiteOrigin::new(origin) else { return false };
        let asking = asking.as_str();
        self.iter().any(|listed| match listed.split_once(ANY_SUBDOMAIN) {
            Some((scheme, host)) => asking
                .strip_prefix(scheme)
                .and_then(|asking| asking.strip_suffix(host))
                .is_some_and(|label| label.len() > 1 && label.ends_with('.')),
            None => listed == asking,
        })
    }
}

fn parse_origin(element: &str) -> Result<String, InvalidValue> {
    let rule = || {
        InvalidValue(format!(
            "must be https origins without a path, such as https://shop.example.org or \
             https://*.example.org, with commas between them: {element} is none"
        ))
    };
    let (scheme, host) = element.split_once("://").ok_or_else(rule)?;
    let (wildcard, named) = match host.strip_prefix(ANY_SUBDOMAIN) {
        // No one owns a whole top-level domain.
        Some(rest) if rest.contains('.') => (ANY_SUBDOMAIN, rest),
        Some(_) => return Err(rule()),
        None => ("", host),
    };
    let origin = SiteOrigin::new(&format!("{scheme}://{named}")).map_err(|_| rule())?;
    let (scheme, authority) = origin.as_str().split_once("://").ok_or_else(rule)?;
    if !is_authority(authority) || (scheme != "https" && !is_loopback(authority)) {
        return Err(rule());
    }
    Ok(format!("{scheme}://{wildcard}{authority}"))
}

/// Returns the host and the port of an authority; an IPv6 address keeps its brackets.
fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        Some(_) | None => (authority, None),
    }
}

fn ipv6_of(host: &str) -> Option<Ipv6Addr> {
    host.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// Whether a text is a host name, an IPv4 address or an IPv6 address in brackets, and then a port
/// if it has one.
fn is_authority(authority: &str) -> bool {
    let (host, port) = host_and_port(authority);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_name =
        |host: &str| host.split('.').all(|label| !label.is_empty() && label.bytes().all(is_plain));
    let is_host = ipv6_of(host).is_some() || is_name(host);
    is_host && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Whether an authority is this machine's own: `localhost`, `127.0.0.0/8` or `[::1]`.
fn is_loopback(authority: &str) -> bool {
    let (host, _) = host_and_port(authority);
    host == "localhost"
        || host.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
        || ipv6_of(host).is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_holds_https_origins_and_loopback_addresses() {
        for (text, kept) in [
            ("", ""),
            (" https://A.example.org ,https://a.example.org:443", "https://a.example.org"),
            ("https://a.org\nhttps://*.B.org:8443", "https://a.org,https://*.b.org:8443"),
            ("http://localhost:3000,http://127.0.0.1,http://[::1]:1,http://[::1]", ""),
            ("https://[2001:db8::1]", "https://[2001:db8::1]"),
        ] {
            let origins = EmbedOrigins::new(text).unwrap_or_else(|rule| panic!("{text}: {rule:?}"));
            let kept = if text.starts_with("http://") { text } else { kept };
            assert_eq!(origins.as_str(), kept, "{text}");
        }
        for bad in [
            "http://a.example.org",
            "https://a.example.org/",
            "https://a.example.org/page",
            "https://a.example.org?x",
            "https://u@a.example.org",
            "https://*",
            "https://*.org",
            "https://a.*.org",
            "https://*.*.example.org",
            "*",
            "null",
            "a.example.org",
            "https://",
            "https://a..org",
            "https://a.org:0",
            "https://a.org:x",
            "https://a.org:70000",
            "https://[::1",
            "https://a;script-src *",
            "http://localhost.example.org",
        ] {
            assert!(EmbedOrigins::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_list_has_at_most_twenty_origins() {
        let list = |count: usize| {
            let origins = (0..count).map(|at| format!("https://s{at}.example.org"));
            EmbedOrigins::new(&origins.collect::<Vec<_>>().join(","))
        };
        assert_eq!(list(20).expect("twenty").iter().count(), 20);
        assert!(list(21).is_err());
    }

    #[test]
    fn an_origin_is_allowed_by_itself_or_as_a_subdomain() {
        let origins = EmbedOrigins::new("https://a.org:444,https://*.b.org").expect("a list");
        for (origin, is_allowed) in [
            ("https://a.org:444", true),
            ("https://a.org", false),
            ("https://www.b.org", true),
            ("https://x.www.b.org", true),
            ("https://b.org", false),
            ("https://www.b.org:444", false),
            ("http://www.b.org", false),
            ("https://evilb.org", false),
            ("https://.b.org", false),
            ("null", false),
            ("*", false),
            ("", false),
        ] {
            assert_eq!(origins.allow(origin), is_allowed, "{origin}");
        }
        assert!(!EmbedOrigins::default().allow("https://a.org"));
    }
}
