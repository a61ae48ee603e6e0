//! Values of options that not every number or text is.

use std::fmt;
use std::str::FromStr;

use axum::http::Uri;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A number within bounds, both of which it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Within<const MIN: u64, const MAX: u64>(u64);

/// What is no such number.
#[derive(Clone, Copy, Debug, Error)]
#[error("a whole number from {min} to {max} is needed")]
pub struct OutOfBounds {
    min: u64,
    max: u64,
}

impl<const MIN: u64, const MAX: u64> Within<MIN, MAX> {
    /// A number that is known to be within the bounds.
    ///
    /// # Panics
    /// When it is not.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        assert!(MIN <= number && number <= MAX, "a default is within its bounds");
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl<const MIN: u64, const MAX: u64> TryFrom<u64> for Within<MIN, MAX> {
    type Error = OutOfBounds;

    fn try_from(number: u64) -> Result<Self, OutOfBounds> {
        if (MIN..=MAX).contains(&number) {
            Ok(Self(number))
        } else {
            Err(OutOfBounds { min: MIN, max: MAX })
        }
    }
}

impl<const MIN: u64, const MAX: u64> FromStr for Within<MIN, MAX> {
    type Err = OutOfBounds;

    fn from_str(text: &str) -> Result<Self, OutOfBounds> {
        let number: u64 = text.trim().parse().map_err(|_| OutOfBounds { min: MIN, max: MAX })?;
        number.try_into()
    }
}

impl<const MIN: u64, const MAX: u64> From<Within<MIN, MAX>> for u64 {
    fn from(within: Within<MIN, MAX>) -> Self {
        within.0
    }
}

/// The address of a web site, to which a path can be added.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct SiteUrl(String);

/// What is no such address.
#[derive(Clone, Debug, Error)]
#[error("an address such as https://rdv.example.org is needed, with a host and without ?, # or @")]
pub struct NoSite;

impl SiteUrl {
    /// The address as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it leads nowhere but to the machine that it is followed on.
    #[must_use]
    pub fn is_of_this_machine(&self) -> bool {
        let host = self
            .0
            .parse::<Uri>()
            .ok()
            .and_then(|uri| uri.host().map(str::to_ascii_lowercase))
            .unwrap_or_default();
        host == "localhost" || host == "[::1]" || host.starts_with("127.")
    }
}

impl FromStr for SiteUrl {
    type Err = NoSite;

    fn from_str(text: &str) -> Result<Self, NoSite> {
        let text = text.trim();
        let uri: Uri = text.parse().map_err(|_| NoSite)?;
        let web = matches!(uri.scheme_str(), Some("http" | "https"));
        let host = uri.host().is_some_and(|host| !host.is_empty());
        if web && host && !text.contains(['?', '#', '@']) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NoSite)
        }
    }
}

impl TryFrom<String> for SiteUrl {
    type Error = NoSite;

    fn try_from(text: String) -> Result<Self, NoSite> {
        text.parse()
    }
}

impl From<SiteUrl> for String {
    fn from(site: SiteUrl) -> Self {
        site.0
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
        for (good, here) in [
            ("https://rdv.example.org", false),
            (" http://10.0.0.1:8080/agenda/ ", false),
            ("http://127.0.0.1:8080", true),
            ("http://LOCALHOST", true),
            ("http://[::1]:80", true),
        ] {
            let site: SiteUrl = good.parse().unwrap();
            assert_eq!((site.as_str(), site.is_of_this_machine()), (good.trim(), here));
        }
    }

    #[test]
    fn bounds_may_be_reached_and_not_passed() {
        for (text, number) in
            [("0", None), ("1", Some(1)), ("9", Some(9)), ("10", None), ("-1", None), ("x", None)]
        {
            assert_eq!(text.parse::<Within<1, 9>>().ok().map(Within::number), number, "{text}");
        }
    }
}
