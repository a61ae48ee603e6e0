//! Everything that chance decides, from one seeded source.

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

use sha2::{Digest, Sha256};

use crate::domain::records::ids::GroupId;
use crate::domain::records::text::Text;
use crate::domain::records::vevent::AppointmentKey;
use crate::domain::state::command::LinkDraws;

/// A source of draws.
#[derive(Debug)]
pub struct Randomness(StdRng);

impl Randomness {
    /// The source of a seed: the same seed, the same draws.
    #[must_use]
    pub fn seeded(seed: [u8; 32]) -> Self {
        Self(StdRng::from_seed(seed))
    }

    /// A source nobody can guess.
    #[must_use]
    pub fn from_os() -> Self {
        Self(StdRng::try_from_rng(&mut rand::rngs::SysRng).expect("the OS has randomness"))
    }

    /// A source for somebody else, independent of what is drawn here later.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::seeded(self.bytes())
    }

    /// 32 random bytes.
    pub fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    /// The token of a link of a group: the group's id, and 256 random bits as hexadecimal digits.
    pub fn link(&mut self, group: GroupId) -> LinkDraws {
        let secret: String = self.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let token = Text::new(&format!("{group}-{secret}"))
            .expect("at most 20 digits and 65 characters more");
        LinkDraws { hash: Sha256::digest(token.as_str()).into(), token }
    }

    /// A random number, any as likely as any other.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// The secret of an appointment: 20 letters and digits, each as likely as any other.
    pub fn key(&mut self) -> AppointmentKey {
        const ALPHABET: &[u8; 62] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let text: String = (0..AppointmentKey::LENGTH)
            .map(|_| char::from(ALPHABET[self.0.random_range(0..ALPHABET.len())]))
            .collect();
        AppointmentKey::new(&text).expect("20 letters and digits are a key")
    }
}
