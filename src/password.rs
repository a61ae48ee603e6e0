//! Passwords: the SHA-1 form that clients send, and the argon2id hashes that are stored.
//! Reference 3.4.

pub mod strength;

use argon2::password_hash::generate_salt;
use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use data_encoding::HEXLOWER;
use sha1::{Digest, Sha1};

use crate::domain::records::text::Text;

/// A hash that matches no known password. Verifying it takes as long as verifying a stored hash, so
/// timing does not reveal whether an account exists.
pub const DUMMY_HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5IGlzIGhlcmUu$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Memory of argon2 with the default parameters, in blocks of one KiB.
const DEFAULT_BLOCKS: usize = 19_456;

/// Working memory of argon2, for one password at a time. It is empty at first, and holds 19 MiB
/// from the first password on. Reuse keeps the allocator from holding one copy per thread.
#[derive(Default)]
pub struct Argon2Memory(Vec<Block>);

impl Argon2Memory {
    /// Whether it holds no memory.
    #[cfg(test)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the argon2 output for a password; `None` if the parameters are illegal or there is
    /// no memory.
    fn output(&mut self, argon2: &Argon2<'_>, password: &[u8], salt: &[u8]) -> Option<Output> {
        let blocks = argon2.params().block_count();
        self.0.try_reserve_exact(blocks.saturating_sub(self.0.len())).ok()?;
        if self.0.len() < blocks {
            self.0.resize(blocks, Block::new());
        }
        let mut bytes = [0; Output::MAX_LENGTH];
        let bytes =
            bytes.get_mut(..argon2.params().output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN))?;
        let hashed = argon2.hash_password_into_with_memory(password, salt, bytes, &mut *self.0);
        // An imported hash may need more memory than the default parameters; free it.
        self.0.truncate(DEFAULT_BLOCKS);
        self.0.shrink_to(DEFAULT_BLOCKS);
        hashed.ok()?;
        Output::new(bytes).ok()
    }
}

/// Returns the wire form of a plain password: its SHA-1 as lower-case hexadecimal digits.
///
/// ```
/// assert_eq!(slotbook::password::sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
/// ```
pub fn sha1_hex(plain: &str) -> String {
    HEXLOWER.encode(&Sha1::digest(plain.as_bytes()))
}

/// Hashes the wire form of a password by argon2id with a new salt, and returns the PHC string. The
/// case of the hexadecimal digits does not matter. It takes tens of milliseconds and 19 MiB.
///
/// # Panics
/// If the machine provides no randomness, or no memory.
pub fn hash_password(sha1_hex: &str) -> Text<255> {
    hash_password_in(&mut Argon2Memory::default(), sha1_hex)
}

/// Hashes as [`hash_password`] does, in the given working memory.
///
/// # Panics
/// If the machine provides no randomness, or no memory.
pub fn hash_password_in(memory: &mut Argon2Memory, sha1_hex: &str) -> Text<255> {
    let salt = generate_salt();
    let password = sha1_hex.to_ascii_lowercase();
    let output = memory.output(&Argon2::default(), password.as_bytes(), &salt);
    let hash = PasswordHash {
        algorithm: Algorithm::default().ident(),
        version: Some(Version::default().into()),
        params: ParamsString::try_from(&Params::default()).expect("three numbers are short"),
        salt: Some(Salt::new(&salt).expect("16 bytes are a salt")),
        hash: Some(output.expect("40 digits are no illegal password, and there is memory")),
    };
    Text::new(&hash.to_string()).expect("a PHC string is about 100 characters")
}

/// Returns whether a text is a password hash that can be verified.
///
/// ```
/// assert!(!slotbook::password::is_hash("$argon2id$ somehow"));
/// ```
pub fn is_hash(text: &str) -> bool {
    PasswordHash::new(text).is_ok_and(|hash| {
        hash.algorithm.as_str() == "argon2id" && hash.salt.is_some() && hash.hash.is_some()
    })
}

/// Returns whether the wire form matches a stored hash. The time does not depend on where they
/// differ. It equals that of [`hash_password`], except for imported hashes with other parameters.
#[must_use]
pub fn verify_password(memory: &mut Argon2Memory, stored: &str, sha1_hex: &str) -> bool {
    let Some(stored) = StoredHash::parse(stored) else { return false };
    let password = sha1_hex.to_ascii_lowercase();
    match memory.output(&stored.argon2, password.as_bytes(), &stored.salt) {
        // The type compares in constant time.
        Some(output) => output == stored.output,
        None => false,
    }
}

/// The parts of a stored hash that verification needs.
struct StoredHash {
    argon2: Argon2<'static>,
    salt: Salt,
    output: Output,
}

impl StoredHash {
    fn parse(stored: &str) -> Option<Self> {
        let hash = PasswordHash::new(stored).ok()?;
        let algorithm = Algorithm::try_from(hash.algorithm.as_str()).ok()?;
        let version = match hash.version {
            Some(version) => Version::try_from(version).ok()?,
            None => Version::default(),
        };
        let argon2 = Argon2::new(algorithm, version, Params::try_from(&hash).ok()?);
        Some(Self { argon2, salt: hash.salt?, output: hash.hash? })
    }
}

#[cfg(test)]
mod tests {
    use argon2::PasswordHasher as _;

    use super::*;

    #[test]
    fn a_password_matches_its_own_hash_in_either_letter_case() {
        let memory = &mut Argon2Memory::default();
        let kept = hash_password(&sha1_hex("secret"));
        assert!(kept.as_str().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept:?}");
        assert!(verify_password(memory, kept.as_str(), &sha1_hex("secret")));
        assert!(verify_password(memory, kept.as_str(), &sha1_hex("secret").to_uppercase()));
        assert!(!verify_password(memory, kept.as_str(), &sha1_hex("Secret")));
        assert_ne!(kept, hash_password_in(memory, &sha1_hex("secret")));
    }

    #[test]
    fn the_dummy_hash_costs_as_much_as_a_real_one_and_matches_nothing() {
        let cost = |phc: &str| phc.split('$').take(4).map(str::to_owned).collect::<Vec<_>>();
        assert!(is_hash(DUMMY_HASH));
        assert_eq!(cost(DUMMY_HASH), cost(hash_password(&sha1_hex("secret")).as_str()));
        assert!(!verify_password(&mut Argon2Memory::default(), DUMMY_HASH, &sha1_hex("")));
    }

    #[test]
    fn hashes_with_other_parameters_match_and_the_memory_shrinks_back() {
        let others = [(64, 1, 1, 16), (32_768, 1, 2, 32), (19_456, 2, 1, 32)].map(
            |(blocks, passes, lanes, length)| {
                let params =
                    Params::new(blocks, passes, lanes, Some(length)).expect("legal parameters");
                let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
                argon2.hash_password(sha1_hex("secret").as_bytes()).expect("a password").to_string()
            },
        );
        let memory = &mut Argon2Memory::default();
        for kept in others.iter().chain(others.iter().rev()) {
            assert!(verify_password(memory, kept, &sha1_hex("secret")), "{kept}");
            assert!(!verify_password(memory, kept, &sha1_hex("other")), "{kept}");
            assert!(memory.0.capacity() <= DEFAULT_BLOCKS);
        }
        assert_eq!(memory.0.len(), DEFAULT_BLOCKS);
        for broken in [
            "",
            "$argon2id$v=19$m=64,t=1,p=1",
            "$argon2id$v=19$m=64,t=1,p=1$bm9ib2R5IGlz",
            "$scrypt$x",
        ] {
            assert!(!verify_password(memory, broken, &sha1_hex("secret")), "{broken}");
        }
    }
}
