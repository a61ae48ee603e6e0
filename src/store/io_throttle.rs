//! Throttle for bulk I/O: work in small chunks with a pause after each, so that other work waits
//! for one chunk at most.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant as Stopwatch};

use crate::store::error::StoreError;
use crate::store::files::list_paths;

/// Bytes between two pauses.
pub(crate) const THROTTLED_BYTES: usize = 256 << 10;

/// Progress since the last pause.
pub(crate) struct IoThrottle {
    /// Start of the current chunk of work.
    began: Stopwatch,
    /// Bytes processed since then.
    bytes: usize,
}

impl IoThrottle {
    /// Begins a chunk of work.
    pub(crate) fn new() -> Self {
        Self { began: Stopwatch::now(), bytes: 0 }
    }

    /// Adds processed bytes, and pauses after [`THROTTLED_BYTES`].
    pub(crate) fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.bytes >= THROTTLED_BYTES {
            self.pause();
        }
    }

    /// Pauses for as long as the current chunk of work took.
    pub(crate) fn pause(&mut self) {
        park_for(self.began.elapsed());
        *self = Self::new();
    }
}

fn park_for(length: Duration) {
    let until = Stopwatch::now() + length;
    loop {
        let rest = until.saturating_duration_since(Stopwatch::now());
        if rest.is_zero() {
            return;
        }
        // It may wake early, so the rest is computed again.
        std::thread::park_timeout(rest);
    }
}

/// Reads the files in `directory` into the page cache, throttled. A full read right after it then
/// takes little disk time.
///
/// # Errors
///
/// When a file cannot be read.
pub(crate) fn read_ahead(directory: &Path, throttle: &mut IoThrottle) -> Result<(), StoreError> {
    let mut buffer = vec![0; THROTTLED_BYTES];
    for path in list_paths(directory)? {
        if !path.is_file() {
            continue;
        }
        let mut file = File::open(&path).map_err(StoreError::io("open", &path))?;
        loop {
            match file.read(&mut buffer).map_err(StoreError::io("read", &path))? {
                0 => break,
                read => throttle.add_bytes(read),
            }
        }
    }
    Ok(())
}
