//! Snapshots of a shared store while bookings go on: the published states are written after a
//! checkpoint of the log. No actor takes part.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant as Stopwatch};

use crate::clock::Clock;
use crate::engine::compaction_requests::{CompactionRequests, PairOutcome};
use crate::engine::erasure_cleanup::{ErasureCleanup, marks_of};
use crate::engine::journal::WeakJournalHandle;
use crate::engine::published::Published;
use crate::engine::recovery::{directory_position, group_position, write_directory, write_group};
use crate::store::{
    Checkpoint, SharedSnapshotsWriter, SharedStore, SnapshotWriter as _, SoundSnapshot, StoreError,
    Stream,
};
use crate::store::{codec, state};

/// Interval of the checks whether a snapshot is due.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Size of the journal since the last snapshot from which one is due, if it is also half of that.
const TAIL_BYTES: u64 = 4 << 20;
/// Delay before the next check after a snapshot has failed.
const RETRY_DELAY: Duration = Duration::from_secs(60);

/// Sizes of a shared store, in bytes.
#[derive(Debug)]
pub struct SharedSizes {
    snapshot: AtomicU64,
    /// The journal since the newest snapshot.
    tail: Arc<AtomicU64>,
}

impl SharedSizes {
    /// The sizes of a store with this snapshot, and the journal since it.
    pub(crate) fn new(snapshot: SoundSnapshot, tail: Arc<AtomicU64>) -> Self {
        Self { snapshot: AtomicU64::new(snapshot.bytes), tail }
    }

    /// Bytes of both.
    pub(crate) fn sum(&self) -> u64 {
        let snapshot = self.snapshot.load(Ordering::Relaxed);
        snapshot.saturating_add(self.tail.load(Ordering::Relaxed))
    }
}

/// The parts of the engine that a compactor uses.
pub(crate) struct SharedCompactorParts {
    /// Durable states. After a checkpoint they hold everything before it.
    pub(crate) published: Arc<Published>,
    pub(crate) journal: WeakJournalHandle,
    pub(crate) clock: Arc<dyn Clock>,
    /// Requests for snapshots at once.
    pub(crate) requests: CompactionRequests,
}

/// Makes snapshots in a shared store. It runs on a thread of its own.
pub(crate) struct SharedCompactor {
    store: SharedStore,
    parts: SharedCompactorParts,
    sizes: Arc<SharedSizes>,
    /// The newest snapshot that is sound.
    snapshot: SoundSnapshot,
    /// The directory that notes erasures.
    directory: PathBuf,
    erasures: ErasureCleanup,
}

impl SharedCompactor {
    pub(crate) fn new(
        store: SharedStore,
        parts: SharedCompactorParts,
        sizes: Arc<SharedSizes>,
        snapshot: SoundSnapshot,
        directory: &Path,
    ) -> Self {
        let erasures = ErasureCleanup::read(directory);
        let directory = directory.to_owned();
        Self { store, parts, sizes, snapshot, directory, erasures }
    }

    /// Checks each second whether a snapshot is due, until `stop` is dropped or the journal has
    /// ended. A failure leaves the snapshots as they were, and is tried again.
    pub(crate) fn run(mut self, stop: &Receiver<()>) {
        let mut next_check = Stopwatch::now();
        loop {
            self.answer_requests();
            if Stopwatch::now() >= next_check && self.is_due() {
                match self.make_snapshot() {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => {
                        tracing::warn!(%error, "no new snapshot; the journal grows");
                        next_check = Stopwatch::now() + RETRY_DELAY;
                    }
                }
            }
            if stop.recv_timeout(CHECK_INTERVAL) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    fn is_due(&self) -> bool {
        let tail = self.sizes.tail.load(Ordering::Relaxed);
        let is_long = tail > TAIL_BYTES && tail > self.snapshot.bytes / 2;
        is_long || self.erasures.is_due(&self.parts.published, self.parts.clock.now())
    }

    /// Makes two snapshots, if that was asked for, so that none of the two that are kept holds what
    /// was erased before.
    fn answer_requests(&mut self) {
        let requests = self.parts.requests.take();
        if requests.is_empty() {
            return;
        }
        let mut outcome = PairOutcome::Made;
        for _ in 0..2 {
            match self.make_snapshot() {
                Ok(true) => {}
                Ok(false) => outcome = PairOutcome::Failed,
                Err(error) => {
                    tracing::warn!(%error, "no new snapshot was made");
                    outcome = PairOutcome::Failed;
                }
            }
        }
        for request in requests {
            // The caller may have left.
            let _ = request.send(outcome);
        }
    }

    /// Makes a snapshot now. Returns `false` if the journal has ended.
    ///
    /// # Errors
    /// PostgreSQL refuses, or returns other bytes than were written.
    fn make_snapshot(&mut self) -> Result<bool, StoreError> {
        // Read before the checkpoint, so that the snapshot is after all of them.
        let marks = marks_of(&self.parts.published);
        let tail = self.sizes.tail.load(Ordering::Relaxed);
        let Some(checkpoint) = self.parts.journal.checkpoint() else { return Ok(false) };
        let began = Stopwatch::now();
        let published = &self.parts.published;
        let write =
            |writer: &mut SharedSnapshotsWriter<'_>| write_states(writer, published, checkpoint);
        self.snapshot = self.store.write_snapshot(checkpoint.last, self.snapshot.number, write)?;
        self.sizes.snapshot.store(self.snapshot.bytes, Ordering::Relaxed);
        self.sizes.tail.fetch_sub(tail, Ordering::Relaxed);
        self.erasures.advance(marks, self.parts.clock.now(), &self.directory);
        tracing::info!(
            bytes = self.snapshot.bytes,
            seconds = began.elapsed().as_secs(),
            "a new snapshot is in the shared store"
        );
        Ok(true)
    }
}

/// Writes every stream by its published state, the directory first.
fn write_states(
    writer: &mut SharedSnapshotsWriter<'_>,
    published: &Published,
    Checkpoint { epoch, .. }: Checkpoint,
) -> Result<(), StoreError> {
    let directory = published.directory();
    let position = directory_position(epoch, &directory);
    write_directory(writer.begin_stream(Stream::Directory, position)?, &directory)?;
    for group in published.groups() {
        let state = published.group_state(group).expect("a published group stays published");
        let position = group_position(epoch, &state);
        write_group(writer.begin_stream(Stream::Group(group), position)?, &state)?;
    }
    for group in published.quarantined().values() {
        let Some(last_state) = &group.last_state else {
            // Its frames are in the snapshot that there is, and nowhere else.
            let what = format!(
                "group {} is set aside and has no state: start the release that wrote it",
                group.group
            );
            return Err(StoreError::rejected(what));
        };
        let mut snapshot = writer.begin_stream(Stream::Group(group.group), group.position())?;
        let frames = codec::in_format(snapshot.format(), || group.pending_frames())?;
        codec::in_format(snapshot.format(), || {
            state::write_group(last_state, |frame| snapshot.write_frame(frame))
        })?;
        for frame in &frames {
            snapshot.write_frame(frame)?;
        }
        snapshot.finish()?;
    }
    Ok(())
}
