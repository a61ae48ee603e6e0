//! Group commit: how long a batch of the journal waits for more records.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

use tokio::time::Instant as Stopwatch;

/// Number of records of the last two batches from which the next one is gathered.
const GATHERED_RECORDS_MIN: usize = 8;
/// Share of the last batch's records that the next one waits for.
const GATHERED_PERCENT: usize = 95;
/// Longest time after the end of the last batch for which the next one is gathered, in times that
/// the faster of the last two took.
const GATHER_FACTOR: u32 = 8;
/// Longest such time of all.
const GATHER_TIME_MAX: Duration = Duration::from_millis(8);

/// Sizes and times of the last two batches, by which the next one is gathered.
///
/// A batch costs a sync and the wake-ups of several threads, however many records it has. Under
/// load, the callers of the last batch write again soon after their answers. So the next batch
/// waits until it is nearly as large, but only for a time. Where callers wait for the processor,
/// larger batches shorten their waiting too (docs/benchmarks.md). Entries without a record cost no
/// sync, so they do not count.
///
/// One large batch alone is no load: a slow write lets records pile up, and their callers may not
/// come back soon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupCommit {
    last: BatchCost,
    before: BatchCost,
    ended: Stopwatch,
}

/// Size of a batch, and how long it took to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchCost {
    pub(crate) records: usize,
    pub(crate) took: Duration,
}

impl GroupCommit {
    /// The state before the first batch, which does not wait.
    pub(crate) fn new() -> Self {
        let none = BatchCost { records: 0, took: Duration::ZERO };
        Self { last: none, before: none, ended: Stopwatch::now() }
    }

    /// Takes note of a batch that has just ended.
    pub(crate) fn note(&mut self, batch: BatchCost) {
        *self = Self { last: batch, before: self.last, ended: Stopwatch::now() };
    }

    /// Time since the end of the last batch.
    pub(crate) fn since_end(&self) -> Duration {
        self.ended.elapsed()
    }

    /// Returns how long a batch of this many records is to wait for more, so long after the end of
    /// the last one; `None` if it is not.
    pub(crate) fn wait_time(&self, records: usize, since_end: Duration) -> Option<Duration> {
        let Self { last, before, .. } = self;
        let longest = (last.took.min(before.took) * GATHER_FACTOR).min(GATHER_TIME_MAX);
        let waits = last.records.min(before.records) >= GATHERED_RECORDS_MIN
            && 0 < records
            && records < self.wanted_records()
            && since_end < longest;
        waits.then(|| longest.saturating_sub(since_end))
    }

    /// Returns the number of records at which the next batch is gathered.
    pub(crate) fn wanted_records(&self) -> usize {
        self.last.records * GATHERED_PERCENT / 100
    }
}

/// Count of the appended records. The sender of the last record that a batch waits for wakes the
/// journal's thread.
///
/// The thread sets `wake_at` and then reads `appended`; a sender counts and then reads `wake_at`.
/// In one order for all threads, one of the two sees the other. Each number is reached or passed
/// once.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Records appended since the start.
    pub(crate) appended: AtomicU64,
    /// Number of them at which the thread is woken.
    wake_at: AtomicU64,
    /// The thread that drives the journal.
    thread: OnceLock<Thread>,
}

impl Arrivals {
    /// Counts the records of an entry that was appended.
    pub(crate) fn count(&self, records: u64) {
        let before = self.appended.fetch_add(records, Ordering::SeqCst);
        let wake_at = self.wake_at.load(Ordering::SeqCst);
        if before < wake_at
            && wake_at <= before + records
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Waits until `count` records were appended since the start, or for a time; it may return
    /// earlier.
    pub(crate) fn wait(&self, count: u64, longest: Duration) {
        self.thread.get_or_init(std::thread::current);
        self.wake_at.store(count, Ordering::SeqCst);
        if self.appended.load(Ordering::SeqCst) < count {
            std::thread::park_timeout(longest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_waits_only_under_load_and_only_for_a_time() {
        let micros = Duration::from_micros;
        // Records and times of the two batches before; records now, time since the end; time to
        // wait.
        for (before, last, records, since_end, wait) in [
            ((0, 0), (1, 300), 1, 0, None),
            ((1, 300), (1, 300), 1, 0, None),
            ((7, 300), (7, 300), 1, 0, None),
            ((8, 300), (8, 300), 1, 0, Some(2_400)),
            ((8, 300), (8, 300), 0, 0, None),
            ((8, 300), (8, 300), 6, 2_399, Some(1)),
            ((8, 300), (8, 300), 1, 2_400, None),
            ((8, 300), (8, 300), 7, 0, None),
            ((8, 300), (64, 300), 59, 0, Some(2_400)),
            ((8, 300), (64, 300), 60, 0, None),
            ((64, 9_000), (64, 9_000), 1, 7_999, Some(1)),
            ((64, 9_000), (64, 9_000), 1, 8_000, None),
            // A slow write, by itself or among fast ones.
            ((1, 300), (64, 9_000), 1, 0, None),
            ((64, 300), (64, 9_000), 1, 0, Some(2_400)),
        ] {
            let mut group_commit = GroupCommit::new();
            for (records, took) in [before, last] {
                group_commit.note(BatchCost { records, took: micros(took) });
            }
            let found = group_commit.wait_time(records, micros(since_end));
            let wait = wait.map(micros);
            assert_eq!(found, wait, "{records} after {before:?} and {last:?}, {since_end} µs");
        }
    }

    #[test]
    fn the_last_record_wanted_ends_the_wait() {
        let arrivals = Arrivals::default();
        arrivals.wait(3, Duration::ZERO);
        (0..2).for_each(|_| arrivals.count(1));
        // The third one leaves a wake-up behind, by which the next wait ends at once.
        arrivals.count(2);
        let began = Stopwatch::now();
        let longest = Duration::from_secs(60);
        arrivals.wait(5, longest);
        assert!(began.elapsed() < longest, "it was woken");
        arrivals.wait(4, longest);
        assert!(began.elapsed() < longest, "as many have arrived already");
    }
}
