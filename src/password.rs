//! Passwords: the form in which clients send them, and the form in which they are kept. Reference 3.

use argon2::password_hash::generate_salt;
use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use sha1::{Digest, Sha1};

use crate::domain::records::text::Text;

/// A hash of no known password: verifying against it costs what verifying against a professional's does.
pub const DUMMY_HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5IGlzIGhlcmUu$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Blocks of a KiB that a password of ours is worked on in.
const BLOCKS: usize = 19_456;

/// Argon2Memory to work on passwords in, one after the other: nothing at first, 19 MiB from the first password on. Where it is
/// used again, the allocator neither gives nor keeps any more of it, whichever thread asks.
#[derive(Default)]
pub struct Argon2Memory(Vec<Block>);

impl Argon2Memory {
    /// What argon2 makes of a password; `None` for parameters that it does not take.
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
        // What a hash made elsewhere needs beyond ours is not kept.
        self.0.truncate(BLOCKS);
        self.0.shrink_to(BLOCKS);
        hashed.ok()?;
        Output::new(bytes).ok()
    }
}

/// The wire form of a plain password: its SHA-1 as lower-case hexadecimal digits.
///
/// ```
/// assert_eq!(slotbook::password::sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
/// ```
#[must_use]
pub fn sha1_hex(plain: &str) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    Sha1::digest(plain.as_bytes())
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// The form at rest: argon2id with a fresh salt over the wire form, as a PHC string. The wire form counts in lower case.
/// Takes some tens of milliseconds and 19 MiB, which it does not keep.
///
/// # Panics
/// Where the machine has no randomness.
#[must_use]
pub fn hash_password(sha1_hex: &str) -> Text<255> {
    hash_password_in(&mut Argon2Memory::default(), sha1_hex)
}

/// The same in memory that is there.
///
/// # Panics
/// Where the machine has no randomness.
#[must_use]
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

/// Whether a text is the form at rest of some password.
///
/// ```
/// assert!(!slotbook::password::is_hash("$argon2id$ somehow"));
/// ```
#[must_use]
pub fn is_hash(kept: &str) -> bool {
    PasswordHash::new(kept).is_ok_and(|hash| {
        hash.algorithm.as_str() == "argon2id" && hash.salt.is_some() && hash.hash.is_some()
    })
}

/// Whether the wire form is that of the password kept, in a time that does not depend on where they differ. Takes as
/// long as [`hash_password`] for a hash of ours; one made elsewhere takes what it says.
#[must_use]
pub fn verify_password(memory: &mut Argon2Memory, kept: &str, sha1_hex: &str) -> bool {
    let mut right = || {
        let kept = PasswordHash::new(kept).ok()?;
        let algorithm = Algorithm::try_from(kept.algorithm.as_str()).ok()?;
        let version = kept.version.map_or(Ok(Version::default()), Version::try_from).ok()?;
        let argon2 = Argon2::new(algorithm, version, Params::try_from(&kept).ok()?);
        let output = memory.output(
            &argon2,
            sha1_hex.to_ascii_lowercase().as_bytes(),
            kept.salt.as_ref()?,
        )?;
        // Compared in constant time, as the type has it.
        Some(output == kept.hash?)
    };
    right().unwrap_or(false)
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
    fn nobody_costs_what_everybody_costs_and_lets_no_one_in() {
        let cost = |phc: &str| phc.split('$').take(4).map(str::to_owned).collect::<Vec<_>>();
        assert!(is_hash(DUMMY_HASH));
        assert_eq!(cost(DUMMY_HASH), cost(hash_password(&sha1_hex("secret")).as_str()));
        assert!(!verify_password(&mut Argon2Memory::default(), DUMMY_HASH, &sha1_hex("")));
    }

    #[test]
    fn hashes_of_other_parameters_match_in_the_same_memory_which_never_keeps_more_than_ours_need() {
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
            assert!(memory.0.capacity() <= BLOCKS);
        }
        assert_eq!(memory.0.len(), BLOCKS);
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
