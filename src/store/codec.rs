//! Encoding of the stored types. No other file names bincode.
//!
//! The stored shape of a released format never changes. A new shape takes a new number here. Every
//! released format can be read. The newest is written, or in a shared store the one in force, down
//! to [`Formats::OLDEST_WRITTEN`](crate::store::Formats). A format is released once a version of
//! CHANGELOG.md names it.
//!
//! | format | released with |
//! | --- | --- |
//! | records 1, snapshots 1, store 1 | before 0.1.0 |
//! | records 2, snapshots 2 | 0.1.0 |
//! | records 3: batches; snapshots 3 | no version |
//! | records 4: authors; with snapshots 4: delayed notices, merged clients | no version |
//! | records 5 and snapshots 5: the history and its days | no version |
//! | records 6 and snapshots 6: roles, second factors, erasures, last uses | no version |
//! | records 7 and snapshots 7: the shop front | the next version |

use bincode::Decode as _;
use bincode::de::read::Reader;
use bincode::de::{Decoder as _, DecoderImpl};
use bincode::enc::write::Writer;
use bincode::serde::Compat;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::records::added;
use crate::planted_faults::PlantedFault;

/// Format of the bytes inside a record of the journal. Each record carries its own.
pub const RECORD_FORMAT: u16 = 7;
/// Format of the frames inside a snapshot. Each snapshot's header carries its own.
pub const SNAPSHOT_FORMAT: u16 = 7;
/// Format of the counts of limits and of the sessions that the servers of a cluster pass on. Those
/// of an earlier or later one are not read: they begin anew.
pub(crate) const PASSED_FORMAT: u16 = 1;
/// Format of the databases, batches, watermark and names around them.
pub const STORE_FORMAT: u16 = 1;

/// Room for an encoded value before its size is known: a record of a booking takes about 500 bytes.
const ENCODED_BYTES: usize = 768;
/// Largest size of what is decoded at once.
const DECODED_BYTES_MAX: usize = 1 << 30;
/// Largest size of what is decoded for each byte that is read, so that a damaged length cannot
/// allocate. The widest number has 16 bytes, and may be written as one.
const DECODED_PER_BYTE: usize = 16;

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

/// Bytes that are nothing that servers of a cluster pass on, as this release has it.
#[derive(Debug, thiserror::Error)]
pub enum PassedError {
    /// They are of another release.
    #[error("format {0}, this release has {PASSED_FORMAT}")]
    Format(u16),
    /// They are damaged.
    #[error(transparent)]
    Damaged(#[from] DecodeError),
    /// They do not fit together.
    #[error("{0}")]
    Malformed(String),
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
    let mut encoded = EncodedBytes(Vec::with_capacity(ENCODED_BYTES));
    bincode::serde::encode_into_writer(value, &mut encoded, config())
        .expect("stored types know their lengths and never refuse");
    encoded.0
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
    let mut decoder = DecoderImpl::new(UnreadBytes(bytes), config(), ());
    let value = match decode_within_size(&mut decoder, bytes.len()) {
        Ok(Compat(value)) => value,
        Err(error) => return Err(DecodeError::Malformed(error.to_string())),
    };
    match decoder.reader().0.len() {
        0 => Ok(value),
        left_over => Err(DecodeError::LeftOver(left_over)),
    }
}

/// Decodes a value from this number of bytes. bincode allocates a text before it looks whether the
/// bytes are there, and its limit is a constant: what they cannot hold is taken off beforehand.
fn decode_within_size<T: DeserializeOwned, C: bincode::config::Config>(
    decoder: &mut DecoderImpl<UnreadBytes<'_>, C, ()>,
    bytes: usize,
) -> Result<Compat<T>, bincode::error::DecodeError> {
    let decoded_max = if PlantedFault::LengthBelieved.is_active() {
        DECODED_BYTES_MAX
    } else {
        bytes.saturating_mul(DECODED_PER_BYTE).min(DECODED_BYTES_MAX)
    };
    decoder.claim_bytes_read(DECODED_BYTES_MAX - decoded_max)?;
    Compat::<T>::decode(decoder)
}

/// The bytes that an encoder has written so far.
struct EncodedBytes(Vec<u8>);

impl Writer for EncodedBytes {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), bincode::error::EncodeError> {
        // Most numbers, and each tag and each absent value, take one byte.
        match bytes {
            [byte] => self.0.push(*byte),
            _ => self.0.extend_from_slice(bytes),
        }
        Ok(())
    }
}

/// The bytes that a decoder has not read yet.
struct UnreadBytes<'b>(&'b [u8]);

impl Reader for UnreadBytes<'_> {
    fn read(&mut self, out: &mut [u8]) -> Result<(), bincode::error::DecodeError> {
        let Some((read, rest)) = self.0.split_at_checked(out.len()) else {
            let additional = out.len() - self.0.len();
            return Err(bincode::error::DecodeError::UnexpectedEnd { additional });
        };
        out.copy_from_slice(read);
        self.0 = rest;
        Ok(())
    }

    fn peek_read(&mut self, count: usize) -> Option<&[u8]> {
        self.0.get(..count)
    }

    fn consume(&mut self, count: usize) {
        self.0 = self.0.get(count..).unwrap_or_default();
    }
}

/// Decodes the bytes of a record or snapshot of format `format`, the present one or an earlier one.
/// Members that a later format added are absent, see [`crate::domain::records::added`].
///
/// # Errors
///
/// As for [`decode`].
pub fn decode_format<T: DeserializeOwned>(bytes: &[u8], format: u16) -> Result<T, DecodeError> {
    added::of_format(format, || decode(bytes))
}

/// Runs an encoder of records or frames in a format that this release writes. A member that a later
/// format added may leave itself out of an earlier one, see [`crate::domain::records::added`].
pub(crate) fn in_format<T>(format: u16, encode: impl FnOnce() -> T) -> T {
    added::of_format(format, encode)
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

/// Encodes what servers of a cluster pass on beside the history, after its format and before a
/// checksum of both.
pub(crate) fn encode_passed<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = PASSED_FORMAT.to_be_bytes().to_vec();
    bytes.extend(encode(value));
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_be_bytes());
    bytes
}

/// Decodes the bytes that [`encode_passed`] made. A damaged length allocates 1 MiB at most.
///
/// # Errors
///
/// They are damaged, or of another format.
pub(crate) fn decode_passed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, PassedError> {
    let Some((bytes, crc)) = bytes.split_last_chunk::<4>() else {
        return Err(DecodeError::Checksum.into());
    };
    if crc32fast::hash(bytes) != u32::from_be_bytes(*crc) {
        return Err(DecodeError::Checksum.into());
    }
    let Some((format, value)) = bytes.split_first_chunk::<2>() else {
        return Err(DecodeError::Checksum.into());
    };
    match u16::from_be_bytes(*format) {
        PASSED_FORMAT => Ok(decode(value)?),
        other => Err(PassedError::Format(other)),
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct BeforeRow {
        id: u64,
        names: Vec<Option<String>>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        id: u64,
        names: Vec<Option<String>>,
        #[serde(deserialize_with = "added::in_format_2")]
        note: Option<String>,
        #[serde(deserialize_with = "percent_before")]
        percent: u8,
    }

    fn percent_before<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
        added::in_format_2_or(deserializer, 100)
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Nested<T> {
        Rows { at: i64, rows: Vec<Box<T>>, pair: (T, char) },
        Boxed(Box<Nested<T>>),
        Nothing,
    }

    fn before(id: u64) -> BeforeRow {
        BeforeRow { id, names: vec![None, Some("a".into())] }
    }

    fn row(id: u64) -> Row {
        Row { id, names: vec![None, Some("a".into())], note: None, percent: 100 }
    }

    #[test]
    fn a_member_added_later_is_absent_wherever_its_struct_stands() {
        let written = Nested::Boxed(Box::new(Nested::Rows {
            at: -7,
            rows: vec![Box::new(before(1)), Box::new(before(300))],
            pair: (before(2), 'é'),
        }));
        let read = Nested::Boxed(Box::new(Nested::Rows {
            at: -7,
            rows: vec![Box::new(row(1)), Box::new(row(300))],
            pair: (row(2), 'é'),
        }));
        let bytes = encode(&written);
        assert_eq!(decode_format::<Nested<Row>>(&bytes, 1).unwrap(), read);
        assert!(decode::<Nested<Row>>(&bytes).is_err(), "the present format holds the members");
        assert_eq!(
            decode_format::<Nested<Row>>(&encode(&Nested::<BeforeRow>::Nothing), 1).unwrap(),
            Nested::Nothing
        );
    }

    #[test]
    fn the_present_format_holds_the_members() {
        let written = Row { note: Some("b".into()), percent: 7, ..row(1) };
        let bytes = encode(&written);
        assert_eq!(decode_format::<Row>(&bytes, 2).unwrap(), written);
        assert!(decode_format::<Row>(&bytes, 1).is_err(), "bytes are left over");
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct WrittenRow {
        id: u64,
        names: Vec<Option<String>>,
        #[serde(deserialize_with = "added::in_format_2", serialize_with = "note_since")]
        note: Option<String>,
    }

    fn note_since<S: Serializer>(note: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
        added::encode_since(2, note, serializer)
    }

    #[test]
    fn an_earlier_format_is_written_without_the_members_of_later_ones() {
        let row = WrittenRow { id: 1, names: vec![None], note: Some("b".into()) };
        let rows = [row];
        let earlier = in_format(1, || encode(&rows));
        assert_eq!(earlier, encode(&[BeforeRow { id: 1, names: vec![None] }]));
        let [row] = decode_format::<[WrittenRow; 1]>(&earlier, 1).unwrap();
        assert_eq!(row.note, None);
        let newest = encode(&rows);
        assert_eq!(in_format(2, || encode(&rows)), newest);
        assert_eq!(decode_format::<[WrittenRow; 1]>(&newest, 2).unwrap(), rows);
    }

    #[test]
    fn bytes_cut_short_or_too_long_are_refused() {
        let bytes = encode(&vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(decode::<Vec<String>>(&bytes).unwrap(), ["a", "b"]);
        assert!(matches!(
            decode::<Vec<String>>(&bytes[..bytes.len() - 1]),
            Err(DecodeError::Malformed(_))
        ));
        let Err(DecodeError::Malformed(what)) = decode::<u64>(&encode(&300_u64)[..2]) else {
            panic!("the last byte is missing")
        };
        assert!(what.contains(" 1 "), "{what} says how many bytes are missing");
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(matches!(decode::<Vec<String>>(&longer), Err(DecodeError::LeftOver(1))));
    }

    #[test]
    fn a_wrong_length_does_not_exhaust_the_memory() {
        for length in [u64::MAX, 1 << 29, 1 << 20] {
            let bytes = encode(&length);
            let used = allocation_counter::measure(|| {
                assert!(decode::<String>(&bytes).is_err());
                assert!(decode::<Option<String>>(&[&[1], bytes.as_slice()].concat()).is_err());
            });
            assert!(used.bytes_total < 4_096, "{length}: {}", used.bytes_total);
            assert!(decode::<Vec<u8>>(&bytes).is_err());
        }
    }

    #[test]
    fn values_of_many_bytes_may_be_written_in_few() {
        let widest = vec![(0_u128, 0_i128); 1_000];
        assert_eq!(decode::<Vec<(u128, i128)>>(&encode(&widest)).unwrap(), widest);
        assert_eq!(decode::<u128>(&encode(&7_u128)).unwrap(), 7);
        assert_eq!(decode::<Vec<[u64; 2]>>(&encode(&vec![[0_u64; 2]; 9])).unwrap().len(), 9);
        assert_eq!(decode::<Option<()>>(&encode(&None::<()>)).unwrap(), None);
    }
}
