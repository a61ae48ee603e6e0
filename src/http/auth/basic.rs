//! Credentials of HTTP Basic and of logins. Reference 3.4.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::domain::records::text;
use crate::password;

/// Maximum number of characters of an e-mail address, as in
/// [`Email`](crate::domain::records::text::Email).
const EMAIL_CHARACTERS_MAX: usize = 255;
/// Number of hexadecimal digits of a SHA-1.
const SHA1_DIGITS: usize = 40;

/// An e-mail address and a password, as HTTP Basic or a login gives them.
///
/// Texts longer than any valid one are not kept. They may be as long as a body, and a wrong
/// credential takes as much work as a right one.
pub(crate) struct Credential {
    /// The address, folded. Empty, which no person has, if it was too long.
    pub(crate) email: Box<str>,
    /// SHA-1 of the password in lower-case hexadecimal digits. Empty, which no person has, if it
    /// was too long.
    pub(crate) password: String,
    /// SHA-256 of the given address, folded, of any length. Failures are counted under it.
    pub(crate) email_hash: [u8; 32],
}

impl Credential {
    /// Returns the credential of an address in any letter case, and of the SHA-1 of a password in
    /// hexadecimal digits of any letter case.
    pub(crate) fn new(email: &str, sha1_hex: &str) -> Self {
        let folded = text::folded(email);
        let email_hash = Sha256::digest(folded.as_bytes()).into();
        let is_too_long = email.chars().nth(EMAIL_CHARACTERS_MAX).is_some();
        let email = if is_too_long { "".into() } else { folded };
        let password = if sha1_hex.len() <= SHA1_DIGITS {
            sha1_hex.to_ascii_lowercase()
        } else {
            String::new()
        };
        Self { email, password, email_hash }
    }

    /// Parses the base64 part of a Basic header: `address:password`, with the plain password.
    /// Returns `None` if it is malformed.
    pub(crate) fn from_basic(encoded: &[u8]) -> Option<Self> {
        let decoded = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
        let (email, password) = decoded.split_once(':')?;
        Some(Self::new(email, &password::sha1_hex(password)))
    }
}

/// Returns the base64 part of an Authorization header, or `None` if its scheme is not Basic.
pub(crate) fn encoded_credential(header: &[u8]) -> Option<&[u8]> {
    let space = header.iter().position(|byte| *byte == b' ')?;
    let (scheme, encoded) = header.split_at(space);
    if scheme.eq_ignore_ascii_case(b"basic") { Some(encoded.trim_ascii()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_carries_the_plain_password_which_may_hold_colons() {
        let parse = |header: &str| Credential::from_basic(encoded_credential(header.as_bytes())?);
        let credential = parse("basic  QW5uQFguT3JnOmE6Yg== ").expect("Ann@X.Org:a:b");
        assert_eq!(&*credential.email, "ann@x.org");
        assert_eq!(credential.password, password::sha1_hex("a:b"));
        for bad in ["Bearer QW5uOmI=", "Basic", "Basic !", "Basic QW5u", ""] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_text_longer_than_any_valid_one_is_counted_and_not_kept() {
        let credential = |letters: usize, digits: usize| {
            Credential::new(&"É".repeat(letters), &"A".repeat(digits))
        };
        let longest = credential(EMAIL_CHARACTERS_MAX, SHA1_DIGITS);
        assert_eq!(
            (&*longest.email, &*longest.password),
            (&*"é".repeat(EMAIL_CHARACTERS_MAX), &*"a".repeat(SHA1_DIGITS))
        );
        let longer = credential(EMAIL_CHARACTERS_MAX + 1, SHA1_DIGITS + 1);
        assert_eq!((&*longer.email, &*longer.password), ("", ""));
        assert_ne!(longer.email_hash, credential(EMAIL_CHARACTERS_MAX + 2, 0).email_hash);
    }
}
