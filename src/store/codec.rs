//! Encoding of the stored types. No other file names bincode.
//!
//! The stored shape of a released format never changes. A new shape takes a new number here. Every
//! released format can be read, and the newest alone is written. A format is released once a
//! version of CHANGELOG.md names it.
//!
//! | format | released with |
//! | --- | --- |
//! | records 1, snapshots 1, store 1 | before 0.1.0 |
//! | records 2, snapshots 2 | 0.1.0 |

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::store::older_format::Older;

/// Format of the bytes inside a record of the journal. Each record carries its own.
pub const RECORD_FORMAT: u16 = 2;
/// Format of the frames inside a snapshot. Each snapshot's header carries its own.
pub const SNAPSHOT_FORMAT: u16 = 2;
/// Format of the databases, batches, watermark and names around them.
pub const STORE_FORMAT: u16 = 1;

/// Largest allocation that a decoder makes, so that damaged lengths cannot exhaust the memory.
const DECODED_BYTES_MAX: usize = 1 << 30;

/// Bytes that do not decode as the expected type.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end early, or hold a value that the type does not have.
    #[error("bytes do not decode: {0}")]
    Malformed(String),
    /// The type ended before the bytes did.
    #[error("{0} bytes are left over after decoding")]
    LeftOver(usize),
    /// The checksum does not match the bytes before it.
    #[error("the checksum does not match")]
    Checksum,
}

const fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_limit::<DECODED_BYTES_MAX>()
}

/// Encodes `value`: equal values give equal bytes, on every machine.
///
/// # Panics
///
/// Panics when `value` has a sequence or map of unknown length, or a `Serialize` of its own that
/// fails. Both are mistakes in the type, found by its first test.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    bincode::serde::encode_to_vec(value, config())
        .expect("stored types know their lengths and never refuse")
}

/// Decodes the bytes that [`encode`] made.
///
/// # Errors
///
/// Returns an error when the bytes are no `T`, or bytes follow the `T`.
///
/// ```
/// use slotbook::store::codec::{decode, encode};
/// let bytes = encode(&(7_u32, "Paris"));
/// assert_eq!(decode::<(u32, String)>(&bytes).expect("just encoded"), (7, "Paris".to_owned()));
/// assert!(decode::<u32>(&bytes).is_err(), "the name is left over");
/// ```
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let (value, used) = match bincode::serde::decode_from_slice(bytes, config()) {
        Ok(decoded) => decoded,
        Err(error) => return Err(DecodeError::Malformed(error.to_string())),
    };
    if used < bytes.len() {
        return Err(DecodeError::LeftOver(bytes.len() - used));
    }
    Ok(value)
}

/// Decodes the bytes of a record or snapshot of format `format`, the present one or an earlier one.
/// Members that a later format added are absent, see [`crate::domain::records::added`].
///
/// # Errors
///
/// As for [`decode`].
pub fn decode_format<T: DeserializeOwned>(bytes: &[u8], format: u16) -> Result<T, DecodeError> {
    if format == 1 { Ok(decode::<Older<1, T>>(bytes)?.0) } else { decode(bytes) }
}

/// Encodes `value` and appends the crc32 of its bytes.
pub(crate) fn encode_with_checksum<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = encode(value);
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_be_bytes());
    bytes
}

/// Decodes the bytes that [`encode_with_checksum`] made.
pub(crate) fn decode_with_checksum<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    match bytes.split_last_chunk::<4>() {
        Some((bytes, crc)) if crc32fast::hash(bytes) == u32::from_be_bytes(*crc) => decode(bytes),
        _ => Err(DecodeError::Checksum),
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
    fn a_wrong_length_does_not_exhaust_the_memory() {
        let bytes = encode(&u64::MAX);
        assert!(decode::<String>(&bytes).is_err());
        assert!(decode::<Vec<u8>>(&bytes).is_err());
    }
}
