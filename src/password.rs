//! Passwords: the form in which clients send them, and the form in which they are kept. Contract 3.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use sha1::{Digest, Sha1};

use crate::domain::text::Text;

/// A hash of no known password: verifying against it costs what verifying against a professional's does.
pub const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5IGlzIGhlcmUu$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The wire form of a plain password: its SHA-1 as lower-case hexadecimal digits.
///
/// ```
/// assert_eq!(slotbook::password::sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
/// ```
#[must_use]
pub fn sha1_hex(plain: &str) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    Sha1::digest(plain.as_bytes()).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The form at rest: argon2id with a fresh salt over the wire form, as a PHC string. The wire form counts in lower case.
/// Takes some tens of milliseconds and 19 MiB.
///
/// # Panics
/// Where the machine has no randomness.
#[must_use]
pub fn hash_password(sha1_hex: &str) -> Text<255> {
    let hash: PasswordHash = Argon2::default()
        .hash_password(sha1_hex.to_ascii_lowercase().as_bytes())
        .expect("40 digits are no illegal password, and the machine has randomness");
    Text::new(&hash.to_string()).expect("a PHC string is about 100 characters")
}

/// Whether a text is the form at rest of some password.
///
/// ```
/// assert!(!slotbook::password::is_hash("$argon2id$ somehow"));
/// ```
#[must_use]
pub fn is_hash(kept: &str) -> bool {
    PasswordHash::new(kept)
        .is_ok_and(|hash| hash.algorithm.as_str() == "argon2id" && hash.salt.is_some() && hash.hash.is_some())
}

/// Whether the wire form is that of the password kept, in a time that does not depend on where they differ. Takes as
/// long as [`hash_password`].
#[must_use]
pub fn matches(kept: &str, sha1_hex: &str) -> bool {
    PasswordHash::new(kept)
        .is_ok_and(|kept| Argon2::default().verify_password(sha1_hex.to_ascii_lowercase().as_bytes(), &kept).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_matches_its_own_hash_in_either_letter_case() {
        let kept = hash_password(&sha1_hex("secret"));
        assert!(matches(kept.as_str(), &sha1_hex("secret")));
        assert!(matches(kept.as_str(), &sha1_hex("secret").to_uppercase()));
        assert!(!matches(kept.as_str(), &sha1_hex("Secret")));
        assert_ne!(kept, hash_password(&sha1_hex("secret")));
    }

    #[test]
    fn nobody_costs_what_everybody_costs_and_lets_no_one_in() {
        let cost = |phc: &str| phc.split('$').take(4).map(str::to_owned).collect::<Vec<_>>();
        assert!(is_hash(NOBODY));
        assert_eq!(cost(NOBODY), cost(hash_password(&sha1_hex("secret")).as_str()));
        assert!(!matches(NOBODY, &sha1_hex("")));
    }
}
