//! A batch as chunks: the bytes of its records, packed into values small enough for sled to keep in its log.
//!
//! Chunk 0 begins with the count of chunks and the crc32 of number, count and body. The body is the count of records,
//! then each record: format, stream, epoch, sequence, length, bytes. All numbers are big-endian.

use crate::store::record::{BatchNumber, JournalRecord, Stream};

/// Largest value we give to sled. Far larger ones go to files of their own, which sled never syncs.
pub(super) const CHUNK_BYTES: usize = 4096;

const HEAD_BYTES: usize = 8;

/// A batch ready to be written.
#[derive(Clone, Debug)]
pub(super) struct EncodedBatch {
    /// What stands in the mark beside the number.
    pub(super) crc: u32,
    /// Chunks in order, none longer than [`CHUNK_BYTES`].
    pub(super) chunks: Vec<Vec<u8>>,
}

/// Why chunks are not a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BatchFault {
    /// Chunks are missing, as after a write that was cut short.
    Torn {
        /// How many chunks are there.
        found: usize,
    },
    /// All chunks are there, and something in them is wrong.
    Wrong(String),
}

/// The key of a chunk: keys sort as batches and their chunks do.
pub(super) fn chunk_key(number: BatchNumber, index: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&number.0.to_be_bytes());
    key[8..].copy_from_slice(&index.to_be_bytes());
    key
}

/// The batch and chunk that a key names.
pub(super) fn chunk_of_key(key: &[u8]) -> Option<(BatchNumber, u32)> {
    let (number, index) = key.split_first_chunk::<8>()?;
    Some((BatchNumber(u64::from_be_bytes(*number)), u32::from_be_bytes(index.try_into().ok()?)))
}

/// Packs `records` as batch `number`.
pub(super) fn encode(number: BatchNumber, records: &[JournalRecord]) -> EncodedBatch {
    let mut body = Vec::with_capacity(
        HEAD_BYTES + 4 + records.iter().map(|r| 26 + r.bytes.len()).sum::<usize>(),
    );
    body.extend_from_slice(&[0; HEAD_BYTES]);
    body.extend_from_slice(&length(records.len()).to_be_bytes());
    for record in records {
        body.extend_from_slice(&record.format.to_be_bytes());
        body.extend_from_slice(&record.stream.number().to_be_bytes());
        body.extend_from_slice(&record.epoch.to_be_bytes());
        body.extend_from_slice(&record.sequence.to_be_bytes());
        body.extend_from_slice(&length(record.bytes.len()).to_be_bytes());
        body.extend_from_slice(&record.bytes);
    }
    let count = length(body.len().div_ceil(CHUNK_BYTES));
    let crc = checksum(number, count, &body[HEAD_BYTES..]);
    body[..4].copy_from_slice(&count.to_be_bytes());
    body[4..HEAD_BYTES].copy_from_slice(&crc.to_be_bytes());
    EncodedBatch { crc, chunks: body.chunks(CHUNK_BYTES).map(<[u8]>::to_vec).collect() }
}

/// The crc32 and records of batch `number`, from the chunks found under it, in key order.
///
/// # Errors
///
/// [`BatchFault`], which tells a batch cut short from one that was changed.
pub(super) fn decode(
    number: BatchNumber,
    chunks: &[(u32, Vec<u8>)],
) -> Result<(u32, Vec<JournalRecord>), BatchFault> {
    let torn = BatchFault::Torn { found: chunks.len() };
    let Some((0, first)) = chunks.first() else { return Err(torn) };
    let mut head = Fields(first);
    let (Some(count), Some(crc)) = (head.u32(), head.u32()) else {
        return Err(BatchFault::Wrong(format!("chunk 0 has {} bytes only", first.len())));
    };
    let found = length(chunks.len());
    if found < count {
        return Err(torn);
    }
    if found > count || chunks.iter().zip(0..).any(|((index, _), expected)| *index != expected) {
        return Err(BatchFault::Wrong(format!("{found} chunks stand where {count} belong")));
    }
    let mut body = head.0.to_vec();
    for (_, chunk) in &chunks[1..] {
        body.extend_from_slice(chunk);
    }
    let found = checksum(number, count, &body);
    if found != crc {
        return Err(BatchFault::Wrong(format!(
            "its checksum is {found:08x}, where {crc:08x} was written"
        )));
    }
    let records =
        records(&body).ok_or_else(|| BatchFault::Wrong("its records do not fill it".to_owned()))?;
    Ok((crc, records))
}

fn records(body: &[u8]) -> Option<Vec<JournalRecord>> {
    let mut fields = Fields(body);
    let mut records = Vec::new();
    for _ in 0..fields.u32()? {
        let format = fields.u16()?;
        let stream = Stream::from_number(fields.u64()?)?;
        let epoch = fields.u32()?;
        let sequence = fields.u64()?;
        let bytes = usize::try_from(fields.u32()?).ok()?;
        records.push(JournalRecord {
            format,
            stream,
            epoch,
            sequence,
            bytes: fields.take(bytes)?.to_vec(),
        });
    }
    fields.0.is_empty().then_some(records)
}

fn checksum(number: BatchNumber, count: u32, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.0.to_be_bytes());
    hasher.update(&count.to_be_bytes());
    hasher.update(body);
    hasher.finalize()
}

fn length(length: usize) -> u32 {
    u32::try_from(length).expect("a batch stays far below 4 GiB: admission bounds what waits")
}

/// Bytes still to be read, as big-endian fields.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch() -> (EncodedBatch, Vec<JournalRecord>) {
        let records: Vec<JournalRecord> = (1..=100)
            .map(|sequence| {
                JournalRecord::new(
                    Stream::Directory,
                    3,
                    sequence,
                    vec![7; usize::try_from(sequence).unwrap()],
                )
            })
            .collect();
        (encode(BatchNumber(5), &records), records)
    }

    fn indexed(chunks: Vec<Vec<u8>>) -> Vec<(u32, Vec<u8>)> {
        (0..).zip(chunks).collect()
    }

    #[test]
    fn chunks_give_the_records_back() {
        let (encoded, records) = batch();
        assert_eq!(encoded.chunks.len(), 2);
        assert!(encoded.chunks.iter().all(|chunk| chunk.len() <= CHUNK_BYTES));
        assert_eq!(decode(BatchNumber(5), &indexed(encoded.chunks)), Ok((encoded.crc, records)));
    }

    #[test]
    fn a_missing_chunk_is_a_tear_whichever_it_is() {
        for missing in 0..2 {
            let mut chunks = indexed(batch().0.chunks);
            chunks.remove(missing);
            assert_eq!(decode(BatchNumber(5), &chunks), Err(BatchFault::Torn { found: 1 }));
        }
    }

    #[test]
    fn any_flipped_byte_or_other_number_is_damage() {
        let (encoded, _) = batch();
        for (chunk, byte) in [(0, 5), (0, 8), (0, 40), (1, 0), (1, 900)] {
            let mut chunks = indexed(encoded.chunks.clone());
            chunks[chunk].1[byte] ^= 1;
            assert!(
                matches!(decode(BatchNumber(5), &chunks), Err(BatchFault::Wrong(_))),
                "{chunk} {byte}"
            );
        }
        assert!(matches!(
            decode(BatchNumber(6), &indexed(encoded.chunks)),
            Err(BatchFault::Wrong(_))
        ));
    }

    #[test]
    fn keys_sort_as_batches_do() {
        assert!(chunk_key(BatchNumber(255), 300) < chunk_key(BatchNumber(256), 0));
        assert_eq!(
            chunk_of_key(&chunk_key(BatchNumber(1 << 40), 9)),
            Some((BatchNumber(1 << 40), 9))
        );
        assert_eq!(chunk_of_key(b"short"), None);
    }
}
