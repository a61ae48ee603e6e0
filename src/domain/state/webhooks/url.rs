//! Addresses of receivers of webhooks. Reference 18.4.

use core::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use crate::domain::records::text::InvalidValue;

/// Maximum length of the address of a receiver, in characters.
pub const URL_CHARACTERS_MAX: usize = 1_024;

/// The address of a receiver: `https://host[:port]/path?query`, or `http://` for one on this
/// machine. Scheme and host are in lower case. It has no user, no password and no fragment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct WebhookUrl(Box<str>);

/// The host of a receiver.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReceiverHost {
    /// A name, which is resolved for each attempt.
    Name(Box<str>),
    /// A literal address.
    Address(core::net::IpAddr),
}

impl WebhookUrl {
    /// Parses an address.
    ///
    /// # Errors
    /// The rule that the text breaks.
    ///
    /// ```
    /// use slotbook::domain::state::webhooks::url::WebhookUrl;
    /// let url = WebhookUrl::new("HTTPS://Hooks.Example.org/a?b=C").unwrap();
    /// assert_eq!(url.as_str(), "https://hooks.example.org/a?b=C");
    /// assert_eq!((url.port(), url.target()), (443, "/a?b=C"));
    /// assert!(WebhookUrl::new("https://user@hooks.example.org/").is_err());
    /// ```
    pub fn new(text: &str) -> Result<Self, InvalidValue> {
        let text = text.trim();
        if text.len() > URL_CHARACTERS_MAX {
            let rule = format!("must have at most {URL_CHARACTERS_MAX} characters");
            return Err(InvalidValue(rule));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) || text.contains(['"', '<', '>', '\\'])
        {
            return Err(InvalidValue(
                "must be an address in ASCII without spaces: write others as %XX, and names of \
                 hosts as xn--"
                    .to_owned(),
            ));
        }
        if text.contains('#') {
            return Err(InvalidValue("must have no fragment: leave out # and what follows".into()));
        }
        let rule = || InvalidValue("must be an address such as https://example.org/hook".into());
        let (scheme, rest) = text.split_once("://").ok_or_else(rule)?;
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "https" && scheme != "http" {
            return Err(InvalidValue("must begin with https://".into()));
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.contains('@') {
            return Err(InvalidValue("must have no user and no password".into()));
        }
        let authority = authority.to_ascii_lowercase();
        parse_authority(&authority)?;
        let slash = if target.starts_with('/') { "" } else { "/" };
        Ok(Self(format!("{scheme}://{authority}{slash}{target}").into()))
    }

    /// The address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether its scheme is https.
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// Host and port as they stand in it, for the header `Host`.
    pub fn authority(&self) -> &str {
        let (_, rest) = self.0.split_once("://").expect("it has a scheme");
        &rest[..rest.find('/').expect("it has a path")]
    }

    /// The path with the query.
    pub fn target(&self) -> &str {
        let (_, rest) = self.0.split_once("://").expect("it has a scheme");
        &rest[rest.find('/').expect("it has a path")..]
    }

    /// The host.
    pub fn host(&self) -> ReceiverHost {
        parse_authority(self.authority()).expect("it was parsed").0
    }

    /// The port: 443 or 80 if none is given.
    pub fn port(&self) -> u16 {
        let given = parse_authority(self.authority()).expect("it was parsed").1;
        given.unwrap_or(if self.is_https() { 443 } else { 80 })
    }
}

impl TryFrom<String> for WebhookUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text).map_err(|InvalidValue(rule)| rule)
    }
}

/// Parses `host` or `host:port`, in lower case.
fn parse_authority(text: &str) -> Result<(ReceiverHost, Option<u16>), InvalidValue> {
    let no_host = || InvalidValue("must have a host: a name or an IP address".into());
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, rest) = rest.split_once(']').ok_or_else(no_host)?;
            let address: Ipv6Addr = address.parse().map_err(|_| no_host())?;
            let port = match rest {
                "" => None,
                port => Some(port.strip_prefix(':').ok_or_else(no_host)?),
            };
            (ReceiverHost::Address(address.into()), port)
        }
        None => {
            let (host, port) = match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            };
            (parse_host(host)?, port)
        }
    };
    let port = match port {
        None => None,
        Some(port) => {
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            let number = port.parse::<u16>().ok().filter(|port| *port > 0 && digits);
            let rule = || InvalidValue(format!("must have a port of 1 to 65535, not {port:?}"));
            Some(number.ok_or_else(rule)?)
        }
    };
    Ok((host, port))
}

/// Parses a name or an IPv4 address. Other forms of one, such as `127.1` or `0x7f000001`, which
/// resolvers understand, are none.
fn parse_host(host: &str) -> Result<ReceiverHost, InvalidValue> {
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return Ok(ReceiverHost::Address(address.into()));
    }
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    let ends_in_number = last.starts_with(|first: char| first.is_ascii_digit());
    if host.len() > 253 || !host.split('.').all(is_label) || ends_in_number {
        let rule = "must have a host: a name such as example.org, or an IP address";
        return Err(InvalidValue(rule.into()));
    }
    Ok(ReceiverHost::Name(host.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_neither_user_nor_fragment() {
        for (text, kept) in [
            ("https://example.org", Some("https://example.org/")),
            (" HTTPS://Example.ORG:8443/A?b=C ", Some("https://example.org:8443/A?b=C")),
            ("https://example.org?x=1", Some("https://example.org/?x=1")),
            ("https://example.org/@x", Some("https://example.org/@x")),
            ("http://127.0.0.1:9/x", Some("http://127.0.0.1:9/x")),
            ("https://[2001:DB8::1]:444/", Some("https://[2001:db8::1]:444/")),
            ("https://example.org/a#b", None),
            ("https://u:p@example.org/", None),
            ("https://u@example.org/", None),
            ("ftp://example.org/", None),
            ("example.org/hook", None),
            ("https:///hook", None),
            ("https://", None),
            ("https://exa mple.org/", None),
            ("https://example.org:0/", None),
            ("https://example.org:65536/", None),
            ("https://example.org:+80/", None),
            ("https://example.org:/", None),
            ("https://[::1/", None),
            ("https://[::1]x/", None),
            ("https://bücher.example/", None),
            ("https://127.1/", None),
            ("https://2130706433/", None),
            ("https://0x7f.0.0.1.0x1/", None),
            ("https://example.org./", None),
            ("https://-a.example/", None),
            ("https://a..b/", None),
            ("https://example.org/\"x", None),
        ] {
            let parsed = WebhookUrl::new(text).ok();
            assert_eq!(parsed.as_ref().map(WebhookUrl::as_str), kept, "{text}");
        }
        let long = |length: usize| format!("https://example.org/{}", "a".repeat(length - 20));
        assert!(WebhookUrl::new(&long(URL_CHARACTERS_MAX)).is_ok());
        assert!(WebhookUrl::new(&long(URL_CHARACTERS_MAX + 1)).is_err());
    }

    #[test]
    fn the_parts_of_an_address_are_those_of_its_text() {
        let url = WebhookUrl::new("https://example.org:8443/a?b").expect("an address");
        assert_eq!((url.authority(), url.target()), ("example.org:8443", "/a?b"));
        assert_eq!(url.host(), ReceiverHost::Name("example.org".into()));
        assert_eq!((url.port(), url.is_https()), (8443, true));
        let url = WebhookUrl::new("http://[::1]/").expect("an address");
        let loopback = Ipv6Addr::LOCALHOST.into();
        assert_eq!((url.host(), url.port()), (ReceiverHost::Address(loopback), 80));
    }
}
