//! Bytes of the stored types: the only file that names bincode.
//!
//! What is stored has one shape per format number, for ever. A new shape takes a new number here, a reader for every
//! number ever released, and a writer for the newest alone.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Format of the bytes inside a record of the journal. Each record carries its own.
pub const RECORD_FORMAT: u16 = 1;
/// Format of the frames inside a snapshot. Each snapshot's head carries its own.
pub const SNAPSHOT_FORMAT: u16 = 1;
/// Format of the databases, batches, mark and names around them.
pub const STORE_FORMAT: u16 = 1;

/// Largest allocation that bytes may ask for while they are decoded, so that damage cannot exhaust the memory.
const DECODED_BYTES_MAX: usize = 1 << 30;

/// Bytes that are not the type they were read as.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes break off, or hold a value the type has not.
    #[error("bytes do not decode: {0}")]
    Malformed(String),
    /// The type ended before the bytes did.
    #[error("{0} bytes are left over after decoding")]
    LeftOver(usize),
    /// The checksum after the bytes is not theirs.
    #[error("the checksum does not hold")]
    Checksum,
}

const fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_limit::<DECODED_BYTES_MAX>()
}

/// The bytes of `value`: the same for equal values, on every machine.
///
/// # Panics
///
/// When `value` has a sequence or map that cannot tell its length, or a `Serialize` of its own that fails: a mistake in
/// the type, found by its first test.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    bincode::serde::encode_to_vec(value, config())
        .expect("stored types know their lengths and never refuse")
}

/// The value that [`encode`] made `bytes` of.
///
/// # Errors
///
/// When the bytes are not a `T`, or not only a `T`.
///
/// ```
/// use slotbook::store::codec::{decode, encode};
/// let bytes = encode(&(7_u32, "Paris"));
/// assert_eq!(decode::<(u32, String)>(&bytes).expect("just encoded"), (7, "Paris".to_owned()));
/// assert!(decode::<u32>(&bytes).is_err(), "the name is left over");
/// ```
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let (value, used) = bincode::serde::decode_from_slice(bytes, config())
        .map_err(|error| DecodeError::Malformed(error.to_string()))?;
    if used < bytes.len() {
        return Err(DecodeError::LeftOver(bytes.len() - used));
    }
    Ok(value)
}

/// [`encode`], with a crc32 behind.
pub(super) fn encode_sealed<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = encode(value);
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_be_bytes());
    bytes
}

/// The value that [`encode_sealed`] made `bytes` of.
pub(super) fn decode_sealed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    match bytes.split_last_chunk::<4>() {
        Some((bytes, crc)) if crc32fast::hash(bytes) == u32::from_be_bytes(*crc) => decode(bytes),
        Some(_) | None => Err(DecodeError::Checksum),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_cut_short_or_too_long_are_refused() {
        let bytes = encode(&vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(decode::<Vec<String>>(&bytes).unwrap(), ["a", "b"]);
        assert!(matches!(
            decode::<Vec<String>>(&bytes[..bytes.len() - 1]),
            Err(DecodeError::Malformed(_))
        ));
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(matches!(decode::<Vec<String>>(&longer), Err(DecodeError::LeftOver(1))));
    }

    #[test]
    fn a_length_that_lies_does_not_exhaust_the_memory() {
        let bytes = encode(&u64::MAX);
        assert!(decode::<String>(&bytes).is_err());
        assert!(decode::<Vec<u8>>(&bytes).is_err());
    }
}
