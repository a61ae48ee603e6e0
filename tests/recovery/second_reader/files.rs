//! The files of a data directory: `CURRENT`, `mark`, snapshots and journals. Reference 8.2 to 8.6.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::grammar::{Grammar, Value};

/// The newest format of records and frames that the chapter describes.
pub(super) const FORMAT_MAX: u16 = 7;
/// The format of the files around them.
const STORE_FORMAT: u16 = 1;

/// An entry of a database.
type Entry = (Vec<u8>, Vec<u8>);

/// The snapshot of a stream.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) epoch: u32,
    pub(super) sequence: u64,
    pub(super) frames: Vec<Value>,
}

/// A record of a stream that its snapshot does not include.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) stream: u64,
    pub(super) sequence: u64,
    pub(super) content: Value,
}

/// Content of a data directory.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) generation: u64,
    pub(super) snapshots: BTreeMap<u64, Snapshot>,
    pub(super) batches: u64,
    pub(super) records: Vec<Record>,
}

/// The watermark.
#[derive(Clone, Copy, Debug)]
struct Mark {
    batch: u64,
    crc: u32,
    clean: bool,
}

/// Bytes that are not read yet.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let Some((taken, rest)) = self.0.split_at_checked(count) else {
            return Err(format!("{count} bytes are asked for, {} are left", self.0.len()));
        };
        self.0 = rest;
        Ok(taken)
    }

    fn big(&mut self, width: usize) -> Result<u64, String> {
        Ok(self.take(width)?.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    fn length(&mut self) -> Result<usize, String> {
        self.big(4).map(|length| usize::try_from(length).expect("four bytes"))
    }
}

/// Remainders of each byte.
const REMAINDERS: [u32; 256] = {
    let mut remainders = [0; 256];
    let mut byte = 0;
    while byte < 256_u32 {
        let mut rest = byte;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { (rest >> 1) ^ 0xEDB8_8320 } else { rest >> 1 };
            bit += 1;
        }
        remainders[byte as usize] = rest;
        byte += 1;
    }
    remainders
};

pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        let [low, ..] = crc.to_le_bytes();
        crc = (crc >> 8) ^ REMAINDERS[usize::from(low ^ byte)];
    }
    !crc
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// The current generation.
fn read_current(data: &Path) -> Result<u64, String> {
    let line = fs::read_to_string(data.join("CURRENT")).map_err(|error| error.to_string())?;
    let text = line.strip_suffix('\n').ok_or("CURRENT has no line feed")?;
    let (numbers, crc) = text.rsplit_once(' ').ok_or("CURRENT has no checksum")?;
    let found = format!("{:08x}", crc32(numbers.as_bytes()));
    ensure(found == crc, || "the checksum of CURRENT is wrong".to_owned())?;
    let (generation, _previous) = numbers.split_once(' ').ok_or("CURRENT has one number")?;
    generation.parse().map_err(|_| format!("{generation} is no generation"))
}

fn read_mark(data: &Path) -> Result<Mark, String> {
    let bytes = fs::read(data.join("mark")).map_err(|error| error.to_string())?;
    let mut newest: Option<(u64, Mark)> = None;
    for start in [0, 4_096] {
        let slot = bytes.get(start..start + 27).ok_or("mark is cut short")?;
        let mut fields = Fields(slot);
        let format = fields.big(2)?;
        let counter = fields.big(8)?;
        let batch = fields.big(8)?;
        let crc = u32::try_from(fields.big(4)?).expect("four bytes");
        let clean = fields.big(1)? != 0;
        if fields.big(4)? != u64::from(crc32(&slot[..23])) || counter == 0 {
            continue;
        }
        ensure(format <= u64::from(STORE_FORMAT), || format!("mark has format {format}"))?;
        if newest.is_none_or(|(other, _)| other < counter) {
            newest = Some((counter, Mark { batch, crc, clean }));
        }
    }
    newest.map(|(_, mark)| mark).ok_or_else(|| "both slots of mark are damaged".to_owned())
}

/// Copies a folder without what lies below its folders.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to.join("blobs")).map_err(|error| error.to_string())?;
    for entry in fs::read_dir(from).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_file() {
            let target = to.join(path.file_name().expect("an entry has a name"));
            fs::copy(&path, target).map_err(|error| error.to_string())?;
        }
    }
    for name in ["conf", "db"] {
        ensure(to.join(name).is_file(), || format!("{} lacks {name}", from.display()))?;
    }
    Ok(())
}

/// The entries of a database, which is opened as a copy.
fn entries(database: &Path) -> Result<Vec<Entry>, String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = scratch.path().join("copy");
    copy(database, &path)?;
    // Damage makes sled refuse, panic, or end its log early.
    let opened = std::panic::catch_unwind(|| {
        let config = sled::Config::new().path(&path).flush_every_ms(None);
        let database = config.open().map_err(|error| error.to_string())?;
        let mut entries = Vec::new();
        for entry in database.iter() {
            let (key, value) = entry.map_err(|error| error.to_string())?;
            entries.push((key.to_vec(), value.to_vec()));
        }
        Ok(entries)
    });
    opened.unwrap_or_else(|_| Err(format!("sled panics on {}", database.display())))
}

fn concat(parts: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (_, part) in parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// The number and the part of a key.
fn parse_key(key: &[u8]) -> Result<(u64, u64), String> {
    ensure(key.len() == 12, || format!("{key:02x?} is no key"))?;
    let mut fields = Fields(key);
    Ok((fields.big(8)?, fields.big(4)?))
}

/// Decodes one of the types without a format of their own, which a checksum follows.
fn checked(grammar: &Grammar, name: &str, bytes: &[u8]) -> Result<Value, String> {
    let (content, crc) = bytes.split_last_chunk::<4>().ok_or("a header is cut short")?;
    ensure(crc32(content) == u32::from_be_bytes(*crc), || {
        format!("the checksum of a {name} is wrong")
    })?;
    grammar.decode(name, STORE_FORMAT, content)
}

fn format_of(header: &Value, newest: u16) -> Result<u16, String> {
    let format = header.at("format").id();
    let known = u16::try_from(format).ok().filter(|format| *format <= newest);
    known.ok_or_else(|| format!("format {format} is newer than {newest}"))
}

/// The snapshots of a generation, and the first batch after them.
fn read_snapshots(
    grammar: &Grammar,
    data: &Path,
    generation: u64,
) -> Result<(BTreeMap<u64, Snapshot>, u64), String> {
    let entries = entries(&data.join(format!("snapshots-{generation:06}")))?;
    let mut entries = entries.into_iter();
    let manifest = match entries.next() {
        Some((key, value)) if key == [0] => checked(grammar, "SnapshotManifest", &value)?,
        _ => return Err("the snapshots have no manifest".to_owned()),
    };
    format_of(&manifest, STORE_FORMAT)?;
    let named = manifest.at("generation").id();
    ensure(named == generation, || format!("the manifest names generation {named}"))?;
    let mut values: BTreeMap<u64, Vec<(u64, Vec<u8>)>> = BTreeMap::new();
    for (key, value) in entries {
        let (stream, part) = parse_key(&key)?;
        values.entry(stream).or_default().push((part, value));
    }
    let mut snapshots = BTreeMap::new();
    for (stream, values) in values {
        let snapshot = read_snapshot(grammar, stream, &values)
            .map_err(|what| format!("snapshot of stream {stream}: {what}"))?;
        snapshots.insert(stream, snapshot);
    }
    let (found, written) = (snapshots.len() as u64, manifest.at("streams").id());
    ensure(found == written, || format!("{found} snapshots of {written}"))?;
    Ok((snapshots, manifest.at("first_batch").id()))
}

fn read_snapshot(
    grammar: &Grammar,
    stream: u64,
    values: &[(u64, Vec<u8>)],
) -> Result<Snapshot, String> {
    let contiguous = values.iter().zip(0..).all(|((part, _), expected)| *part == expected);
    ensure(contiguous, || "a part is missing".to_owned())?;
    let header = checked(grammar, "SnapshotHeader", &values[0].1)?;
    let format = format_of(&header, FORMAT_MAX)?;
    let bytes: Vec<u8> = concat(&values[1..]);
    let parts = values.len() as u64 - 1;
    ensure(parts == header.at("values").id(), || format!("it has {parts} parts"))?;
    let crc = u64::from(crc32(&bytes));
    ensure(crc == header.at("crc").id(), || "the checksum of its parts is wrong".to_owned())?;
    let mut frames = Vec::new();
    let mut fields = Fields(&bytes);
    while !fields.0.is_empty() {
        let length = fields.length()?;
        let crc = fields.big(4)?;
        let frame = fields.take(length)?;
        ensure(u64::from(crc32(frame)) == crc, || "the checksum of a frame is wrong".to_owned())?;
        let kind = if stream == 0 { "DirectoryFrame" } else { "GroupFrame" };
        frames.push(grammar.decode(kind, format, frame)?);
    }
    let found = frames.len() as u64;
    ensure(found == header.at("frames").id(), || format!("it has {found} frames"))?;
    let epoch = u32::try_from(header.at("epoch").id()).expect("a u32");
    Ok(Snapshot { epoch, sequence: header.at("sequence").id(), frames })
}

/// The reading of the journals, from the first batch after the snapshots on.
struct Journals<'a> {
    grammar: &'a Grammar,
    mark: Mark,
    snapshots: &'a BTreeMap<u64, Snapshot>,
    /// The last whole batch.
    last: u64,
    batches: u64,
    /// Epoch and sequence of the last record of each stream.
    positions: BTreeMap<u64, (u64, u64)>,
    records: Vec<Record>,
    /// A batch that lacks parts at the end of a journal.
    torn: Option<u64>,
}

impl Journals<'_> {
    fn read(&mut self, path: &Path, generation: u64) -> Result<(), String> {
        let entries = entries(path)?;
        let Some((key, value)) = entries.first() else { return Ok(()) };
        ensure(parse_key(key)? == (0, 0), || "it has no header".to_owned())?;
        let header = checked(self.grammar, "JournalHeader", value)?;
        format_of(&header, STORE_FORMAT)?;
        let (named, first) = (header.at("generation").id(), header.at("first_batch").id());
        ensure(named == generation, || format!("its header names generation {named}"))?;
        ensure(first == 0 || first == self.last + 1, || format!("it begins with batch {first}"))?;
        if first != 0 && self.torn == Some(first) {
            self.torn = None;
        }
        let mut batches: BTreeMap<u64, Vec<(u64, Vec<u8>)>> = BTreeMap::new();
        for (key, value) in entries.into_iter().skip(1) {
            let (batch, part) = parse_key(&key)?;
            batches.entry(batch).or_default().push((part, value));
        }
        let newest = batches.keys().last().copied();
        for (number, parts) in batches {
            ensure(number == self.last + 1, || format!("batch {} is missing", self.last + 1))?;
            ensure(self.torn.is_none(), || format!("a batch before {number} lacks parts"))?;
            self.read_batch(number, &parts, newest == Some(number))
                .map_err(|what| format!("batch {number}: {what}"))?;
        }
        Ok(())
    }

    fn read_batch(
        &mut self,
        number: u64,
        parts: &[(u64, Vec<u8>)],
        is_newest: bool,
    ) -> Result<(), String> {
        let bytes: Vec<u8> = concat(parts);
        let mut fields = Fields(&bytes);
        let has_first = parts[0].0 == 0;
        let count = if has_first { fields.big(4)? } else { u64::MAX };
        let found = parts.len() as u64;
        if found < count && is_newest {
            self.torn = Some(number);
            return Ok(());
        }
        let contiguous = parts.iter().zip(0..).all(|((part, _), expected)| *part == expected);
        ensure(found == count && contiguous, || format!("it has {found} of {count} parts"))?;
        let crc = u32::try_from(fields.big(4)?).expect("four bytes");
        let hashed = [&number.to_be_bytes()[..], &bytes[..4], fields.0].concat();
        ensure(crc32(&hashed) == crc, || "its checksum is wrong".to_owned())?;
        ensure(number != self.mark.batch || crc == self.mark.crc, || "mark has another".into())?;
        for _ in 0..fields.big(4)? {
            self.read_record(&mut fields)?;
        }
        ensure(fields.0.is_empty(), || "bytes follow its records".to_owned())?;
        self.last = number;
        self.batches += 1;
        Ok(())
    }

    fn read_record(&mut self, fields: &mut Fields<'_>) -> Result<(), String> {
        let format = u16::try_from(fields.big(2)?).expect("two bytes");
        let (stream, epoch, sequence) = (fields.big(8)?, fields.big(4)?, fields.big(8)?);
        let length = fields.length()?;
        let bytes = fields.take(length)?;
        ensure(format <= FORMAT_MAX, || format!("a record has format {format}"))?;
        let snapshot = self.snapshots.get(&stream);
        let included = snapshot.map_or(0, |snapshot| snapshot.sequence);
        let follows = match self.positions.get(&stream) {
            Some((before, last)) => sequence == last + 1 && epoch >= *before,
            None => (1..=included + 1).contains(&sequence),
        };
        ensure(follows, || format!("record {sequence} of stream {stream} does not follow"))?;
        self.positions.insert(stream, (epoch, sequence));
        if sequence > included {
            let least = snapshot.map_or(0, |snapshot| u64::from(snapshot.epoch));
            ensure(epoch >= least, || format!("stream {stream} falls back to epoch {epoch}"))?;
            let kind = if stream == 0 { "DirectoryEvent" } else { "GroupRecord" };
            let content = self.grammar.decode(kind, format, bytes)?;
            self.records.push(Record { stream, sequence, content });
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), String> {
        if let Some(torn) = self.torn {
            let may_be_torn = torn > self.mark.batch && !self.mark.clean;
            ensure(may_be_torn, || format!("batch {torn} lacks parts"))?;
        }
        let mark = self.mark.batch;
        ensure(self.last >= mark, || format!("the journals end before batch {mark}"))?;
        for (stream, (_, last)) in &self.positions {
            let included = self.snapshots.get(stream).map_or(0, |snapshot| snapshot.sequence);
            ensure(*last >= included, || format!("stream {stream} ends before its snapshot"))?;
        }
        Ok(())
    }
}

/// Reads a data directory that no process uses.
pub(super) fn read(grammar: &Grammar, data: &Path) -> Result<Files, String> {
    let generation = read_current(data)?;
    let mark = read_mark(data)?;
    let (snapshots, first) = read_snapshots(grammar, data, generation)?;
    let mut journals = BTreeMap::new();
    for entry in fs::read_dir(data).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_prefix("journal-").and_then(|number| number.parse::<u64>().ok());
        if let Some(number) = number.filter(|number| *number >= generation) {
            journals.insert(number, path);
        }
    }
    ensure(journals.contains_key(&generation), || "the journal is missing".to_owned())?;
    let mut reading = Journals {
        grammar,
        mark,
        snapshots: &snapshots,
        last: first - 1,
        batches: 0,
        positions: BTreeMap::new(),
        records: Vec::new(),
        torn: None,
    };
    for (number, path) in journals {
        reading.read(&path, number).map_err(|what| format!("{}: {what}", path.display()))?;
    }
    reading.finish()?;
    let Journals { batches, records, .. } = reading;
    Ok(Files { generation, snapshots, batches, records })
}
