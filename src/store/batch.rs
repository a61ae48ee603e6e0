//! Encoding of a batch as chunks: the bytes of its records, in values that sled keeps in its log.
//!
//! Chunk 0 begins with the count of chunks and the crc32 of number, count and body. The body is the
//! count of records, then each record: format, stream, epoch, sequence, length, bytes. All numbers
//! are big-endian.

use crate::planted_faults::PlantedFault;
use crate::store::record::{BatchNumber, JournalRecord, Stream};

/// Largest value given to sled. sled writes far larger ones to files of their own, without a sync.
pub(crate) const CHUNK_BYTES: usize = 4096;

const HEADER_BYTES: usize = 8;
/// Bytes of a record beside its own: format, stream, epoch, sequence and length.
const RECORD_HEADER_BYTES: usize = 26;

/// A batch ready to be written.
#[derive(Clone, Debug)]
pub(crate) struct EncodedBatch {
    /// Checksum of the batch, which the durable watermark repeats.
    pub(crate) crc: u32,
    /// Chunks in order, none longer than [`CHUNK_BYTES`].
    pub(crate) chunks: Vec<Vec<u8>>,
}

/// Reason why chunks are no batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BatchFault {
    /// Chunks are missing, as after an interrupted write.
    Torn {
        /// Number of chunks found.
        found: usize,
    },
    /// All chunks are there, and their content is wrong.
    Wrong(String),
}

/// Returns the key of a chunk. Keys sort as batches and their chunks do.
pub(crate) fn chunk_key(number: BatchNumber, index: u32) -> Vec<u8> {
    part_key(number.0, index)
}

/// Parses the batch and chunk of a key; `None` for other keys.
pub(crate) fn parse_chunk_key(key: &[u8]) -> Option<(BatchNumber, u32)> {
    let (number, index) = parse_part_key(key)?;
    Some((BatchNumber(number), index))
}

/// Returns the key of one part of something numbered. Keys sort by number, then by index.
pub(crate) fn part_key(number: u64, index: u32) -> Vec<u8> {
    [number.to_be_bytes().as_slice(), &index.to_be_bytes()].concat()
}

/// Parses the number and index of a key; `None` for other keys.
pub(crate) fn parse_part_key(key: &[u8]) -> Option<(u64, u32)> {
    let mut fields = Fields(key);
    let number = fields.u64()?;
    let index = fields.u32()?;
    if fields.0.is_empty() { Some((number, index)) } else { None }
}

/// Encodes `records` as batch `number` of a log with the epoch `epoch`, which each record gets
/// unless its own is higher.
pub(crate) fn encode_batch(
    number: BatchNumber,
    epoch: u32,
    records: &[JournalRecord],
) -> EncodedBatch {
    let mut body_bytes = HEADER_BYTES + 4;
    for record in records {
        body_bytes += RECORD_HEADER_BYTES + record.bytes.len();
    }
    let mut body = Vec::with_capacity(body_bytes);
    body.extend_from_slice(&[0; HEADER_BYTES]);
    body.extend_from_slice(&length_u32(records.len()).to_be_bytes());
    for record in records {
        body.extend_from_slice(&record.format.to_be_bytes());
        body.extend_from_slice(&record.stream.number().to_be_bytes());
        body.extend_from_slice(&record.epoch.max(epoch).to_be_bytes());
        body.extend_from_slice(&record.sequence.to_be_bytes());
        body.extend_from_slice(&length_u32(record.bytes.len()).to_be_bytes());
        body.extend_from_slice(&record.bytes);
    }
    seal(number, body)
}

/// Encodes `records` as the one row of batch `number` in a shared store: its chunks, concatenated.
pub(crate) fn encode_row(number: BatchNumber, epoch: u32, records: &[JournalRecord]) -> Vec<u8> {
    encode_batch(number, epoch, records).chunks.concat()
}

/// Decodes the records of batch `number` from its row.
///
/// # Errors
///
/// The fault of the bytes.
pub(crate) fn decode_row(number: BatchNumber, bytes: &[u8]) -> Result<Vec<JournalRecord>, String> {
    let chunks: Vec<_> = (0..).zip(bytes.chunks(CHUNK_BYTES).map(<[u8]>::to_vec)).collect();
    match decode_batch(number, &chunks) {
        Ok((_, records)) => Ok(records),
        Err(BatchFault::Torn { found }) => Err(format!("it has only {found} of its chunks")),
        Err(BatchFault::Wrong(what)) => Err(what),
    }
}

/// Encodes a body of batch `number`, which need not consist of records.
pub(crate) fn seal_body(number: BatchNumber, body: &[u8]) -> EncodedBatch {
    seal(number, [[0; HEADER_BYTES].as_slice(), body].concat())
}

/// Fills in the header before a body, and cuts both into chunks.
fn seal(number: BatchNumber, mut body: Vec<u8>) -> EncodedBatch {
    let count = length_u32(body.len().div_ceil(CHUNK_BYTES));
    let crc = batch_checksum(number, count, &body[HEADER_BYTES..]);
    body[..4].copy_from_slice(&count.to_be_bytes());
    body[4..HEADER_BYTES].copy_from_slice(&crc.to_be_bytes());
    EncodedBatch { crc, chunks: body.chunks(CHUNK_BYTES).map(<[u8]>::to_vec).collect() }
}

/// Decodes the crc32 and records of batch `number` from the chunks found for it, in key order.
///
/// # Errors
///
/// [`BatchFault`], which tells an interrupted write from changed bytes.
pub(crate) fn decode_batch(
    number: BatchNumber,
    chunks: &[(u32, Vec<u8>)],
) -> Result<(u32, Vec<JournalRecord>), BatchFault> {
    let torn = BatchFault::Torn { found: chunks.len() };
    let Some((0, first)) = chunks.first() else { return Err(torn) };
    let mut header = Fields(first);
    let (Some(count), Some(crc)) = (header.u32(), header.u32()) else {
        return Err(BatchFault::Wrong(format!("chunk 0 has {} bytes only", first.len())));
    };
    let found = length_u32(chunks.len());
    if found < count {
        return Err(torn);
    }
    let contiguous = chunks.iter().zip(0..).all(|((index, _), expected)| *index == expected);
    if found > count || !contiguous {
        return Err(BatchFault::Wrong(format!("it has {found} chunks instead of {count}")));
    }
    let mut body = header.0.to_vec();
    for (_, chunk) in &chunks[1..] {
        body.extend_from_slice(chunk);
    }
    let found = batch_checksum(number, count, &body);
    if found != crc && !PlantedFault::CrcSkipped.is_active() {
        return Err(BatchFault::Wrong(format!("its checksum is {found:08x} instead of {crc:08x}")));
    }
    match decode_records(&body) {
        Some(records) => Ok((crc, records)),
        None => Err(BatchFault::Wrong("its records do not fill it".to_owned())),
    }
}

fn decode_records(body: &[u8]) -> Option<Vec<JournalRecord>> {
    let mut fields = Fields(body);
    let mut records = Vec::new();
    for _ in 0..fields.u32()? {
        let format = fields.u16()?;
        let stream = Stream::from_number(fields.u64()?)?;
        let epoch = fields.u32()?;
        let sequence = fields.u64()?;
        let length = usize::try_from(fields.u32()?).ok()?;
        let bytes = fields.take(length)?.to_vec();
        records.push(JournalRecord { format, stream, epoch, sequence, bytes });
    }
    if fields.0.is_empty() { Some(records) } else { None }
}

fn batch_checksum(number: BatchNumber, count: u32, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.0.to_be_bytes());
    hasher.update(&count.to_be_bytes());
    hasher.update(body);
    hasher.finalize()
}

fn length_u32(length: usize) -> u32 {
    u32::try_from(length).expect("a batch stays far below 4 GiB: admission bounds the queue")
}

/// Unread bytes, read as big-endian fields. Each read returns `None` past the end.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        Some(u8::from_be_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.array()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch() -> (EncodedBatch, Vec<JournalRecord>) {
        let records: Vec<JournalRecord> = (1..=100)
            .map(|sequence| {
                let bytes = vec![7; usize::try_from(sequence).unwrap()];
                JournalRecord { epoch: 3, ..JournalRecord::new(Stream::Directory, sequence, bytes) }
            })
            .collect();
        (encode_batch(BatchNumber(5), 0, &records), records)
    }

    fn indexed(chunks: Vec<Vec<u8>>) -> Vec<(u32, Vec<u8>)> {
        (0..).zip(chunks).collect()
    }

    #[test]
    fn decoded_chunks_are_the_encoded_records() {
        let (encoded, records) = batch();
        assert_eq!(encoded.chunks.len(), 2);
        assert!(encoded.chunks.iter().all(|chunk| chunk.len() <= CHUNK_BYTES));
        assert_eq!(
            decode_batch(BatchNumber(5), &indexed(encoded.chunks)),
            Ok((encoded.crc, records))
        );
    }

    #[test]
    fn any_missing_chunk_is_a_torn_batch() {
        for missing in 0..2 {
            let mut chunks = indexed(batch().0.chunks);
            chunks.remove(missing);
            assert_eq!(decode_batch(BatchNumber(5), &chunks), Err(BatchFault::Torn { found: 1 }));
        }
    }

    #[test]
    fn any_flipped_byte_or_other_number_is_damage() {
        let (encoded, _) = batch();
        for (chunk, byte) in [(0, 5), (0, 8), (0, 40), (1, 0), (1, 900)] {
            let mut chunks = indexed(encoded.chunks.clone());
            chunks[chunk].1[byte] ^= 1;
            assert!(
                matches!(decode_batch(BatchNumber(5), &chunks), Err(BatchFault::Wrong(_))),
                "{chunk} {byte}"
            );
        }
        assert!(matches!(
            decode_batch(BatchNumber(6), &indexed(encoded.chunks)),
            Err(BatchFault::Wrong(_))
        ));
    }

    #[test]
    fn keys_sort_as_batches_do() {
        assert!(chunk_key(BatchNumber(255), 300) < chunk_key(BatchNumber(256), 0));
        assert_eq!(
            parse_chunk_key(&chunk_key(BatchNumber(1 << 40), 9)),
            Some((BatchNumber(1 << 40), 9))
        );
        assert_eq!(parse_chunk_key(b"short"), None);
    }

    #[test]
    fn a_chunk_too_many_or_out_of_place_is_damage() {
        let (encoded, _) = batch();
        let mut chunks = indexed(encoded.chunks);
        chunks.push((2, vec![1]));
        let wrong = BatchFault::Wrong("it has 3 chunks instead of 2".to_owned());
        assert_eq!(decode_batch(BatchNumber(5), &chunks), Err(wrong));
        chunks.remove(2);
        chunks[1].0 = 2;
        let decoded = decode_batch(BatchNumber(5), &chunks);
        assert!(matches!(decoded, Err(BatchFault::Wrong(_))), "{decoded:?}");
    }
}
