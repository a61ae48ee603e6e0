//! Changes of a store whose checksums are right: a journal as a program with a bug would write it.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use super::files::crc32;

/// Bytes before the body of a batch: the number of parts and the checksum.
const HEADER: usize = 8;
const PART: usize = 4_096;

/// Opens a database. A thread of sled may hold its file for a moment after it was closed.
fn opened(path: &Path) -> sled::Db {
    let config = sled::Config::new().path(path).flush_every_ms(None);
    for _ in 0..500 {
        match config.open() {
            Err(sled::Error::Io(error)) if error.to_string().contains("acquire lock") => {
                std::thread::park_timeout(Duration::from_millis(10));
            }
            opened => return opened.expect("it opens"),
        }
    }
    panic!("{} stays locked", path.display())
}

/// The first batch of a journal that holds some bytes.
pub(crate) fn first_with(data: &Path, journal: &str, needle: &[u8]) -> u64 {
    let database = opened(&data.join(journal));
    let mut entries = database.iter().map(|entry| entry.expect("read"));
    let holds = |value: &[u8]| value.windows(needle.len()).any(|bytes| bytes == needle);
    let (key, _) = entries.find(|(_, value)| holds(value)).expect("a batch holds it");
    u64::from_be_bytes(key[..8].try_into().expect("eight bytes"))
}

/// Changes the bytes of a batch in a journal, which keep their number, and sets its checksum where
/// `repairs`; that of the watermark too, if it names this batch.
pub(crate) fn rewrite(
    data: &Path,
    journal: &str,
    batch: u64,
    repairs: bool,
    change: impl FnOnce(&mut [u8]),
) {
    let database = opened(&data.join(journal));
    let found: Vec<_> =
        database.scan_prefix(batch.to_be_bytes()).map(|e| e.expect("read")).collect();
    let mut bytes: Vec<u8> = found.iter().flat_map(|(_, part)| part.to_vec()).collect();
    let before = bytes.clone();
    change(&mut bytes[HEADER..]);
    assert_ne!(bytes, before, "the batch changes");
    if repairs {
        let hashed = [&batch.to_be_bytes()[..], &bytes[..4], &bytes[HEADER..]].concat();
        let crc = crc32(&hashed).to_be_bytes();
        bytes[4..HEADER].copy_from_slice(&crc);
        mark(data, batch, crc);
    }
    for ((key, _), part) in found.iter().zip(bytes.chunks(PART)) {
        database.insert(key, part).expect("written");
    }
    database.flush().expect("written");
}

/// Raises the format of a value that begins with it and ends in its checksum.
pub(crate) fn raise_header(data: &Path, database: &str, key: &[u8]) {
    let database = opened(&data.join(database));
    let mut value = database.get(key).expect("read").expect("it stands").to_vec();
    // Below 251 a number is one byte.
    value[0] += 1;
    let length = value.len() - 4;
    let crc = crc32(&value[..length]).to_be_bytes();
    value[length..].copy_from_slice(&crc);
    database.insert(key, value).expect("written");
    database.flush().expect("written");
}

/// Raises the format of the first record in a batch.
pub(crate) fn raise_record(data: &Path, journal: &str, batch: u64) {
    // The count of records in four bytes, then the format in two.
    rewrite(data, journal, batch, true, |body| body[5] += 1);
}

/// Raises the format of both slots of the watermark.
pub(crate) fn raise_mark(data: &Path) {
    let path = data.join("mark");
    let mut bytes = fs::read(&path).expect("it stands");
    for start in [0, 4_096] {
        bytes[start + 1] += 1;
        let crc = crc32(&bytes[start..start + 23]).to_be_bytes();
        bytes[start + 23..start + 27].copy_from_slice(&crc);
    }
    fs::write(&path, bytes).expect("written");
}

/// The last batch of a journal.
pub(crate) fn last_batch(data: &Path, journal: &str) -> u64 {
    let database = opened(&data.join(journal));
    let (key, _) = database.last().expect("read").expect("it has a header");
    u64::from_be_bytes(key[..8].try_into().expect("eight bytes"))
}

/// Sets the checksum of a batch in the slots of the watermark that name it.
fn mark(data: &Path, batch: u64, crc: [u8; 4]) {
    let path = data.join("mark");
    let bytes = fs::read(&path).expect("it stands");
    let file = fs::OpenOptions::new().write(true).open(&path).expect("ours");
    for start in [0, 4_096] {
        let mut slot = bytes[start..start + 27].to_vec();
        if slot[10..18] == batch.to_be_bytes() {
            slot[18..22].copy_from_slice(&crc);
            let sum = crc32(&slot[..23]).to_be_bytes();
            slot[23..].copy_from_slice(&sum);
            file.write_all_at(&slot, start as u64).expect("written");
        }
    }
}
