//! The durable watermark: the last batch known to be on disk. Damage can make sled open cleanly
//! with a shorter log; the watermark reveals that. Reference 8.
//!
//! The file `mark` has two slots, 4 KiB apart, written in turn. Each carries a counter and its own
//! crc32. An interrupted write damages one slot, and the other is at most one write older.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::planted_faults::PlantedFault;
use crate::store::batch::Fields;
use crate::store::codec::STORE_FORMAT;
use crate::store::error::{DamageLocation, StoreError};
use crate::store::files::sync_directory;
use crate::store::record::BatchNumber;

const SLOT_STRIDE: u64 = 4096;
const SLOT_BYTES: usize = 27;

/// Content of the watermark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Watermark {
    /// The last batch known to be on disk; 0 before the first.
    pub(crate) batch: BatchNumber,
    /// The checksum of that batch; 0 before the first.
    pub(crate) crc: u32,
    /// Whether the writer closed the store, so that the disk holds all that was written.
    pub(crate) clean: bool,
}

/// The file `mark` of a data directory.
#[derive(Debug)]
pub(crate) struct DurableWatermark {
    path: PathBuf,
    /// Preallocated, so that a write changes no metadata.
    file: File,
    /// Content of the newest slot.
    watermark: Watermark,
    /// Number of writes over the life of the file. Its parity chooses the slot; the slot with the
    /// higher counter is newer.
    counter: u64,
    /// Whether slots were written since the last sync.
    unsynced: bool,
}

impl DurableWatermark {
    /// Creates the watermark of a store without batches, durable with its name. It replaces that of
    /// an interrupted creation.
    pub(crate) fn create(directory: &Path, watermark: Watermark) -> Result<Self, StoreError> {
        let path = directory.join("mark");
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).read(true).write(true);
        let file = options.open(&path).map_err(StoreError::io("create", &path))?;
        let size = usize::try_from(2 * SLOT_STRIDE).expect("8 KiB");
        file.write_all_at(&vec![0; size], 0).map_err(StoreError::io("write", &path))?;
        let mut created = Self { path, file, watermark, counter: 0, unsynced: false };
        created.write(watermark)?;
        created.file.sync_all().map_err(StoreError::io("sync", &created.path))?;
        sync_directory(directory)?;
        created.unsynced = false;
        Ok(created)
    }

    /// Reads the newest undamaged slot.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] when there is none. Without a watermark it is unknown whether the
    /// journal is complete.
    pub(crate) fn open(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join("mark");
        let broken = |what| StoreError::damaged(&path, DamageLocation::Whole, what);
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(broken("it is missing"));
            }
            opened => opened.map_err(StoreError::io("open", &path))?,
        };
        let mut newest: Option<(u64, Watermark)> = None;
        for slot in 0..2 {
            let mut bytes = [0; SLOT_BYTES];
            match file.read_exact_at(&mut bytes, slot * SLOT_STRIDE) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Err(broken("it is cut short"));
                }
                Err(error) => return Err(StoreError::io("read", &path)(error)),
            }
            let Some((format, counter, watermark)) = decode_slot(&bytes) else { continue };
            if format > STORE_FORMAT {
                return Err(StoreError::Newer { path, format, known: STORE_FORMAT });
            }
            match newest {
                Some((other, _)) if other >= counter => {}
                _ => newest = Some((counter, watermark)),
            }
        }
        let Some((counter, watermark)) = newest else {
            return Err(broken("both of its slots are damaged"));
        };
        Ok(Self { path, file, watermark, counter, unsynced: false })
    }

    /// The last value written or read.
    pub(crate) const fn current(&self) -> Watermark {
        self.watermark
    }

    /// Whether the creation of the store was completed: it writes the watermark first, and again at
    /// the end.
    pub(crate) const fn was_completed(&self) -> bool {
        self.counter > 1
    }

    /// Moves the watermark, in one write. It survives a killed process at once, and a power cut
    /// after the next [`DurableWatermark::sync`].
    pub(crate) fn write(&mut self, watermark: Watermark) -> Result<(), StoreError> {
        let counter = self.counter + 1;
        self.unsynced = true;
        self.file
            .write_all_at(&encode_slot(counter, watermark), (counter % 2) * SLOT_STRIDE)
            .map_err(StoreError::io("write", &self.path))?;
        self.counter = counter;
        self.watermark = watermark;
        Ok(())
    }

    /// Makes the watermark survive a power cut. It does nothing without a write since the last
    /// sync.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        if self.unsynced && !PlantedFault::WatermarkNeverSynced.is_active() {
            self.file.sync_data().map_err(StoreError::io("sync", &self.path))?;
            self.unsynced = false;
        }
        Ok(())
    }
}

fn encode_slot(counter: u64, watermark: Watermark) -> [u8; SLOT_BYTES] {
    let mut bytes = [0; SLOT_BYTES];
    bytes[..2].copy_from_slice(&STORE_FORMAT.to_be_bytes());
    bytes[2..10].copy_from_slice(&counter.to_be_bytes());
    bytes[10..18].copy_from_slice(&watermark.batch.0.to_be_bytes());
    bytes[18..22].copy_from_slice(&watermark.crc.to_be_bytes());
    bytes[22] = u8::from(watermark.clean);
    let crc = crc32fast::hash(&bytes[..23]);
    bytes[23..].copy_from_slice(&crc.to_be_bytes());
    bytes
}

fn decode_slot(bytes: &[u8; SLOT_BYTES]) -> Option<(u16, u64, Watermark)> {
    let mut fields = Fields(bytes);
    let format = fields.u16()?;
    let counter = fields.u64()?;
    let batch = BatchNumber(fields.u64()?);
    let crc = fields.u32()?;
    let clean = fields.u8()? != 0;
    if fields.u32()? != crc32fast::hash(&bytes[..23]) || counter == 0 {
        return None;
    }
    Some((format, counter, Watermark { batch, crc, clean }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn at(batch: u64) -> Watermark {
        Watermark { batch: BatchNumber(batch), crc: 77, clean: false }
    }

    fn damage_slot(directory: &Path, slot: u64) {
        let file = OpenOptions::new().write(true).open(directory.join("mark")).unwrap();
        file.write_all_at(&[0xff; 9], slot * SLOT_STRIDE + 12).unwrap();
    }

    #[test]
    fn a_watermark_is_read_back_with_its_flag() {
        let directory = tempfile::tempdir().unwrap();
        let mut watermark = DurableWatermark::create(
            directory.path(),
            Watermark { clean: true, ..Watermark::default() },
        )
        .unwrap();
        assert!(!watermark.was_completed());
        for batch in 1..=3 {
            watermark.write(at(batch)).unwrap();
            assert_eq!(DurableWatermark::open(directory.path()).unwrap().current(), at(batch));
        }
        watermark.write(Watermark { clean: true, ..at(3) }).unwrap();
        watermark.sync().unwrap();
        let watermark = DurableWatermark::open(directory.path()).unwrap();
        assert!(watermark.current().clean && watermark.was_completed());
    }

    #[test]
    fn a_damaged_slot_leaves_the_other() {
        let directory = tempfile::tempdir().unwrap();
        let mut watermark =
            DurableWatermark::create(directory.path(), Watermark::default()).unwrap();
        watermark.write(at(1)).unwrap();
        watermark.write(at(2)).unwrap();
        damage_slot(directory.path(), watermark.counter % 2);
        let mut reopened = DurableWatermark::open(directory.path()).unwrap();
        assert_eq!(reopened.current(), at(1));
        reopened.write(at(3)).unwrap();
        assert_eq!(
            DurableWatermark::open(directory.path()).unwrap().current(),
            at(3),
            "the damaged slot is the next one written"
        );
        damage_slot(directory.path(), 0);
        damage_slot(directory.path(), 1);
        assert!(matches!(
            DurableWatermark::open(directory.path()),
            Err(StoreError::Damaged { .. })
        ));
    }

    #[test]
    fn a_watermark_that_is_lost_is_damaged_and_one_that_is_refused_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mark");
        let refusal = || DurableWatermark::open(directory.path()).unwrap_err();
        let error = refusal();
        assert!(matches!(error, StoreError::Damaged { .. }), "it is missing: {error}");
        fs::write(&path, [0; 4_100]).unwrap();
        let error = refusal();
        assert!(matches!(error, StoreError::Damaged { .. }), "it is cut short: {error}");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = refusal();
        assert!(matches!(error, StoreError::Io { doing: "open", .. }), "{error}");
        fs::remove_dir(&path).unwrap();
        // The first page of a process is no memory, and cannot be read.
        symlink("/proc/self/mem", &path).unwrap();
        let error = refusal();
        assert!(matches!(error, StoreError::Io { doing: "read", .. }), "{error}");
    }

    #[test]
    fn only_a_written_watermark_is_synced_and_a_failed_sync_fails_again() {
        let directory = tempfile::tempdir().unwrap();
        let mut watermark =
            DurableWatermark::create(directory.path(), Watermark::default()).unwrap();
        // This device takes bytes and cannot be synced.
        watermark.file = OpenOptions::new().write(true).open("/dev/null").unwrap();
        watermark.sync().unwrap();
        watermark.write(at(1)).unwrap();
        assert!(watermark.sync().is_err());
        assert!(watermark.sync().is_err());
    }

    #[test]
    fn both_slots_have_their_place_from_the_start() {
        let directory = tempfile::tempdir().unwrap();
        DurableWatermark::create(directory.path(), Watermark::default()).unwrap();
        let length = fs::metadata(directory.path().join("mark")).unwrap().len();
        assert_eq!(length, 2 * SLOT_STRIDE);
    }
}
