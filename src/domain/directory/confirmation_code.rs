//! The code that confirms a booking. Reference 6.8.
//!
//! It is not stored. The server's secret and the hold of the booking determine it, so that the
//! mail can be rendered at each attempt and the answer checked.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::GroupId;
use crate::domain::records::secret_text::is_secret;

/// Number of different codes.
const CODES: u64 = 1_000_000;

/// A code of six digits.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfirmationCode([u8; Self::LENGTH]);

impl ConfirmationCode {
    /// Digits of a code.
    pub const LENGTH: usize = 6;

    /// Derives the code of a booking.
    pub fn derive(secret: &LinkSecret, group: GroupId, hold: HoldId) -> Self {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(secret.bits()).expect("any length makes a key");
        mac.update(format!("confirmation.{group}.").as_bytes());
        mac.update(&hold.0);
        let mut first = [0; 8];
        first.copy_from_slice(&mac.finalize().into_bytes()[..8]);
        // The remainder favours no code by more than 1 in 10^13.
        let mut rest = u64::from_be_bytes(first) % CODES;
        let mut digits = [b'0'; Self::LENGTH];
        for digit in digits.iter_mut().rev() {
            *digit += u8::try_from(rest % 10).expect("a digit is small");
            rest /= 10;
        }
        Self(digits)
    }

    /// The six digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits are ASCII")
    }

    /// Whether `guess` is this code. The time does not depend on the position of a difference.
    pub fn matches(&self, guess: &str) -> bool {
        is_secret(&self.0, guess)
    }
}

impl std::fmt::Debug for ConfirmationCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ConfirmationCode(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(secret: u8, group: u64, hold: u8) -> ConfirmationCode {
        let group = GroupId::new(group).expect("an id");
        ConfirmationCode::derive(&LinkSecret::new([secret; 32]), group, HoldId([hold; 32]))
    }

    #[test]
    fn a_code_depends_on_secret_group_and_hold() {
        assert_eq!(code(1, 1, 1), code(1, 1, 1));
        for other in [code(2, 1, 1), code(1, 2, 1), code(1, 1, 2)] {
            assert_ne!(code(1, 1, 1), other);
        }
    }

    #[test]
    fn a_code_is_the_last_six_digits_of_the_hash() {
        // By another implementation of HMAC: the first 8 bytes as a number, without all but six
        // decimal digits.
        for (hold, expected) in [(1, "240505"), (2, "412563"), (3, "170176")] {
            assert_eq!(code(1, 1, hold).as_str(), expected);
        }
    }

    #[test]
    fn only_the_six_digits_match() {
        let right = code(1, 1, 1);
        assert!(right.as_str().len() == 6 && right.as_str().bytes().all(|b| b.is_ascii_digit()));
        assert!(right.matches(right.as_str()));
        let mut longer = right.as_str().to_owned();
        longer.push('0');
        for wrong in ["", "12345", "abcdef", &longer, code(1, 1, 2).as_str()] {
            assert!(!right.matches(wrong), "{wrong}");
        }
    }
}
