//! Bulk work in small pieces, with a rest after each: who needs the disk or a processor waits for one piece at most.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant as Stopwatch};

use crate::store::error::StoreError;
use crate::store::files::list_paths;

/// Bytes of a piece.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// How far a piece has come.
pub(crate) struct IoThrottle {
    /// When it began.
    began: Stopwatch,
    /// Bytes of it that are done.
    bytes: usize,
}

impl IoThrottle {
    /// At the beginning of a piece.
    pub(crate) fn new() -> Self {
        Self { began: Stopwatch::now(), bytes: 0 }
    }

    /// Notes bytes that are done, and rests where they complete the piece.
    pub(crate) fn go(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.bytes >= PIECE_BYTES {
            self.rest();
        }
    }

    /// Ends the piece: leaves disk and processor to others for as long as it took.
    pub(crate) fn rest(&mut self) {
        pause(self.began.elapsed());
        *self = Self::new();
    }
}

fn pause(length: Duration) {
    let until = Stopwatch::now() + length;
    while let Some(rest) =
        until.checked_duration_since(Stopwatch::now()).filter(|rest| !rest.is_zero())
    {
        std::thread::park_timeout(rest);
    }
}

/// Reads the files in `directory` piece by piece into the operating system's memory, so that who reads all of them at
/// once right after takes little of the disk's time.
///
/// # Errors
///
/// When a file cannot be read.
pub(crate) fn read_ahead(directory: &Path, pace: &mut IoThrottle) -> Result<(), StoreError> {
    let mut piece = vec![0; PIECE_BYTES];
    for path in list_paths(directory)?.into_iter().filter(|path| path.is_file()) {
        let mut file = File::open(&path).map_err(StoreError::io("open", &path))?;
        loop {
            match file.read(&mut piece).map_err(StoreError::io("read", &path))? {
                0 => break,
                read => pace.go(read),
            }
        }
    }
    Ok(())
}
