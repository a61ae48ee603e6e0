//! The source of randomness: secrets, the order of candidates, delays of retries.

use data_encoding::HEXLOWER;
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use sha2::{Digest, Sha256};

use crate::domain::decisions::decision::LinkDraws;
use crate::domain::records::hold::HoldToken;
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::Text;
use crate::domain::records::vevent::AppointmentKey;

/// A seeded cryptographic random number generator.
#[derive(Debug)]
pub struct Randomness(StdRng);

impl Randomness {
    /// Creates a generator; the same seed gives the same values.
    pub fn seeded(seed: [u8; 32]) -> Self {
        Self(StdRng::from_seed(seed))
    }

    /// Creates a generator with a seed from the operating system.
    ///
    /// # Panics
    /// If the operating system provides no randomness.
    pub fn from_os() -> Self {
        Self(StdRng::try_from_rng(&mut rand::rngs::SysRng).expect("the OS has randomness"))
    }

    /// Creates a generator whose values are independent of those drawn here later.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::seeded(self.bytes())
    }

    /// Returns 32 random bytes.
    pub fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    /// Returns a new token for an account link, with its hash: the group's id, and 256 random bits
    /// as hexadecimal digits. Reference 7.4.
    pub fn link(&mut self, group: GroupId) -> LinkDraws {
        let token = format!("{group}-{}", HEXLOWER.encode(&self.bytes()));
        let token = Text::new(&token).expect("at most 20 digits and 65 characters more");
        LinkDraws { hash: Sha256::digest(token.as_str()).into(), token }
    }

    /// Returns a random number, uniform over all values.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a new key of an appointment: 20 letters and digits, each uniform. Reference 6.5.
    pub fn key(&mut self) -> AppointmentKey {
        let text = self.letters_and_digits(AppointmentKey::LENGTH);
        AppointmentKey::new(&text).expect("20 letters and digits are a key")
    }

    /// Returns a new token of a hold: 32 letters and digits, each uniform. Reference 6.7.
    pub fn hold_token(&mut self) -> HoldToken {
        let text = self.letters_and_digits(HoldToken::LENGTH);
        HoldToken::new(&text).expect("32 letters and digits are a token")
    }

    fn letters_and_digits(&mut self, length: usize) -> String {
        const ALPHABET: &[u8; 62] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let mut text = String::with_capacity(length);
        for _ in 0..length {
            text.push(char::from(ALPHABET[self.0.random_range(0..ALPHABET.len())]));
        }
        text
    }
}
