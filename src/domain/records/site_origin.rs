//! Origins of web pages, as browsers send them. Reference 3.3.

use serde::{Deserialize, Serialize};

use crate::domain::records::text::InvalidValue;

/// Maximum length of an origin, in characters.
const CHARACTERS_MAX: usize = 255;

/// Scheme, host and port of a web page: `https://rdv.example.org` or `http://localhost:3000`. It is
/// in lower case, and the default port of its scheme is left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct SiteOrigin(Box<str>);

impl SiteOrigin {
    /// Parses an origin.
    ///
    /// # Errors
    /// The rule that the text breaks.
    ///
    /// ```
    /// use slotbook::domain::records::site_origin::SiteOrigin;
    /// let origin = SiteOrigin::new("HTTPS://Rdv.Example.org:443").unwrap();
    /// assert_eq!(origin.as_str(), "https://rdv.example.org");
    /// assert!(SiteOrigin::new("https://rdv.example.org/").is_err());
    /// ```
    pub fn new(text: &str) -> Result<Self, InvalidValue> {
        let rule = || {
            InvalidValue(
                "must be an origin such as https://rdv.example.org: scheme, host and port, \
                 without a path"
                    .into(),
            )
        };
        let lower = text.trim().to_ascii_lowercase();
        let (scheme, authority) = lower.split_once("://").ok_or_else(rule)?;
        let default_port = match scheme {
            "http" => ":80",
            "https" => ":443",
            _ => return Err(rule()),
        };
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        if authority.is_empty() || !authority.bytes().all(is_allowed) {
            return Err(rule());
        }
        let authority = authority.strip_suffix(default_port).unwrap_or(authority);
        let origin = format!("{scheme}://{authority}");
        if origin.len() > CHARACTERS_MAX {
            return Err(InvalidValue(format!("must have at most {CHARACTERS_MAX} characters")));
        }
        Ok(Self(origin.into()))
    }

    /// The origin as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SiteOrigin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text).map_err(|InvalidValue(rule)| rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_a_scheme_of_the_web_and_no_path() {
        for (text, kept) in [
            ("https://rdv.example.org", Some("https://rdv.example.org")),
            (" HTTP://LocalHost:3000 ", Some("http://localhost:3000")),
            ("http://a:80", Some("http://a")),
            ("http://a:443", Some("http://a:443")),
            ("http://[::1]:8080", Some("http://[::1]:8080")),
            ("https://", None),
            ("rdv.example.org", None),
            ("null", None),
            ("*", None),
            ("ftp://a", None),
            ("https://a/", None),
            ("https://a?b", None),
            ("https://u@a", None),
            ("https://a b", None),
        ] {
            let parsed = SiteOrigin::new(text).ok();
            assert_eq!(parsed.as_ref().map(SiteOrigin::as_str), kept, "{text}");
        }
        assert!(SiteOrigin::new(&format!("https://{}", "a".repeat(248))).is_err());
    }
}
