//! Throttle for bulk I/O: work in small chunks with a pause after each, so that other work waits
//! for one chunk at most.

use std::time::{Duration, Instant as Stopwatch};

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
