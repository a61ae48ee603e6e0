//! Compaction: new generations of the store while bookings go on. The log begins a journal, and the
//! published states are written into new snapshots. No actor takes part.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant as Stopwatch};

use crate::clock::Clock;
use crate::domain::state::group_state::GroupState;
use crate::engine::compaction_requests::{CompactionRequests, PairOutcome};
use crate::engine::erasure_cleanup::{ErasureCleanup, marks_of};
use crate::engine::journal::WeakJournalHandle;
use crate::engine::published::Published;
use crate::engine::quarantine::QuarantinedGroup;
use crate::engine::recovery::{directory_position, group_position, write_directory, write_group};
use crate::planted_faults::PlantedFault;
use crate::store::state;
use crate::store::{
    Compaction, ErasureMarks, Generations, SnapshotWriter as _, StoreError, Stream,
};

/// Interval of the checks whether a new generation is due.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of journals since the current generation. Each start begins one, so more of them
/// would make starts slow.
const JOURNALS_MAX: usize = 16;
/// Delay before the next check after a generation was abandoned.
const RETRY_DELAY: Duration = Duration::from_secs(600);

/// Limits of compaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompactionLimits {
    /// Journals of at most this size cause no compaction, however small the snapshots are.
    pub(crate) journal_bytes: u64,
    /// Bytes of the disk that a compaction leaves free.
    pub(crate) reserve_bytes: u64,
}

/// The parts of the engine that a compactor uses.
pub(crate) struct CompactorParts {
    /// Durable states. After a checkpoint they hold everything before it.
    pub(crate) published: Arc<Published>,
    pub(crate) journal: WeakJournalHandle,
    pub(crate) clock: Arc<dyn Clock>,
    /// Requests for generations at once.
    pub(crate) requests: CompactionRequests,
}

/// Makes new generations. It runs on a thread of its own.
pub struct Compactor {
    generations: Generations,
    parts: CompactorParts,
    limits: CompactionLimits,
    /// The erasures that the generations are after.
    erasures: ErasureCleanup,
    /// Whether snapshots of unchanged groups are copied as bytes. `false` after damage, until the
    /// next generation is complete.
    copy_unchanged: bool,
}

/// Number of streams that a compaction wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionStats {
    /// Streams copied as bytes.
    pub copied: u64,
    /// Streams written from their states.
    pub written: u64,
}

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionCheck {
    /// The journals are short.
    NotDue,
    /// A new generation is current.
    Completed(CompactionStats),
    /// The snapshots to copy are damaged. The next check copies none.
    SourceDamaged,
    /// The sizes cannot be read, the disk has no room, or the compaction failed. It is retried
    /// after a delay.
    Postponed,
    /// The journal has ended, and no more generations will be made.
    JournalEnded,
}

/// Result of one compaction; `None` if the journal has ended.
type CompactionResult = Result<Option<CompactionStats>, StoreError>;

impl Compactor {
    pub(crate) fn new(
        generations: Generations,
        parts: CompactorParts,
        limits: CompactionLimits,
    ) -> Self {
        let erasures = ErasureCleanup::read(generations.directory());
        Self { generations, parts, limits, erasures, copy_unchanged: true }
    }

    /// Checks at once and then every second whether a new generation is due, until `stop` is
    /// dropped or the journal has ended.
    ///
    /// # Errors
    /// The first failed write. Then the process has to end, as after a failed append.
    pub fn run(mut self, stop: &Receiver<()>) -> Result<(), StoreError> {
        let mut next_check = Stopwatch::now();
        loop {
            self.answer_requests()?;
            if Stopwatch::now() >= next_check {
                match self.compact_if_due()? {
                    CompactionCheck::NotDue
                    | CompactionCheck::Completed(_)
                    | CompactionCheck::SourceDamaged => {}
                    CompactionCheck::Postponed => next_check = Stopwatch::now() + RETRY_DELAY,
                    CompactionCheck::JournalEnded => return Ok(()),
                }
            }
            if stop.recv_timeout(CHECK_INTERVAL) != Err(RecvTimeoutError::Timeout) {
                return Ok(());
            }
        }
    }

    /// Makes two generations, if that was asked for, and answers all who have asked.
    fn answer_requests(&mut self) -> Result<(), StoreError> {
        let requests = self.parts.requests.take();
        if requests.is_empty() {
            return Ok(());
        }
        let outcome = self.compact_twice()?;
        for request in requests {
            // Who has asked may have left.
            let _ = request.send(outcome);
        }
        Ok(())
    }

    /// Makes two generations now, so that no file of the store holds any more what was erased
    /// before. Reference 17.3.
    ///
    /// # Errors
    /// As [`Compactor::run`].
    pub fn compact_twice(&mut self) -> Result<PairOutcome, StoreError> {
        let mut made = 0;
        // One more attempt after a damaged snapshot, which is then not copied.
        for _ in 0..3 {
            match self.make_generation()? {
                CompactionCheck::Completed(_) => made += 1,
                CompactionCheck::SourceDamaged => {}
                CompactionCheck::NotDue
                | CompactionCheck::Postponed
                | CompactionCheck::JournalEnded => return Ok(PairOutcome::Failed),
            }
            if made == 2 {
                return Ok(PairOutcome::Made);
            }
        }
        Ok(PairOutcome::Failed)
    }

    /// Checks once, and makes a new generation if one is due. A problem that leaves the current
    /// generation intact is logged.
    ///
    /// # Errors
    /// As [`Compactor::run`].
    pub fn compact_if_due(&mut self) -> Result<CompactionCheck, StoreError> {
        // A failed check has changed nothing. It may succeed later, once files or memory are free.
        match self.is_due() {
            Ok(false) => return Ok(CompactionCheck::NotDue),
            Ok(true) => {}
            Err(error) => return Ok(postpone_after(&error)),
        }
        self.make_generation()
    }

    /// Makes a generation if the disk has room for it. A problem that leaves the current generation
    /// intact is logged.
    fn make_generation(&mut self) -> Result<CompactionCheck, StoreError> {
        match self.has_room() {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!(
                    "a new generation of the store is due, but the disk has no room for it"
                );
                return Ok(CompactionCheck::Postponed);
            }
            Err(error) => return Ok(postpone_after(&error)),
        }
        let began = Stopwatch::now();
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| self.compact()));
        self.conclude(result, began.elapsed())
    }

    /// Logs the result of a compaction, and cleans up after a panic.
    fn conclude(
        &mut self,
        result: std::thread::Result<CompactionResult>,
        took: Duration,
    ) -> Result<CompactionCheck, StoreError> {
        match result {
            Ok(Ok(Some(stats))) => {
                let seconds = took.as_secs();
                let CompactionStats { copied, written } = stats;
                tracing::info!(
                    copied,
                    written,
                    seconds,
                    "a new generation of the store is current"
                );
                Ok(CompactionCheck::Completed(stats))
            }
            Ok(Ok(None)) => Ok(CompactionCheck::JournalEnded),
            Ok(Err(error @ StoreError::NoRoom { .. })) => {
                tracing::warn!(%error, "compaction abandoned; the current generation stays and its journal grows");
                Ok(CompactionCheck::Postponed)
            }
            Ok(Err(error)) if is_damage(&error) => {
                tracing::error!(%error, "compaction abandoned; the current generation stays and its journal grows");
                // The next attempt copies nothing from the damaged generation.
                if std::mem::take(&mut self.copy_unchanged) {
                    return Ok(CompactionCheck::SourceDamaged);
                }
                Ok(CompactionCheck::Postponed)
            }
            Ok(Err(error)) => Err(error),
            Err(_) => {
                tracing::error!(
                    "compaction abandoned after a panic; the current generation stays and its journal grows"
                );
                self.generations.remove_unfinished()?;
                Ok(CompactionCheck::Postponed)
            }
        }
    }

    /// Returns whether the journals exceed half of the snapshots, and the minimum size; or whether
    /// a file holds what was erased, and no pair of generations was made for a day.
    ///
    /// # Errors
    /// A directory that cannot be read.
    pub fn is_due(&self) -> Result<bool, StoreError> {
        let sizes = self.generations.sizes()?;
        let are_long =
            sizes.journals > self.limits.journal_bytes && sizes.journals > sizes.snapshots / 2;
        let are_many =
            sizes.journal_count > JOURNALS_MAX && !PlantedFault::ManyJournalsKept.is_active();
        let now = self.parts.clock.now();
        let holds_erased = || self.erasures.is_due(&self.parts.published, now);
        Ok(are_long || are_many || holds_erased())
    }

    /// Returns whether a generation as large as the current one leaves the reserve free.
    fn has_room(&self) -> Result<bool, StoreError> {
        let sizes = self.generations.sizes()?;
        // The new snapshots and, while they are verified, a copy of them.
        let needed = self.limits.reserve_bytes.saturating_add(sizes.sum().saturating_mul(2));
        Ok(self.generations.free_bytes()? > needed)
    }

    /// Makes a new generation now; `None` if the journal has ended.
    ///
    /// # Errors
    /// Damage of a snapshot to copy, a failed write, or a failed verification of what was written.
    /// The current generation then stays.
    pub fn compact(&mut self) -> CompactionResult {
        let marks = self.begin()?;
        let Some(checkpoint) = self.parts.journal.checkpoint() else { return Ok(None) };
        let written = write_generation(
            self.generations.begin_compaction(checkpoint)?,
            &self.parts.published,
            self.copy_unchanged,
            self.limits.reserve_bytes,
        );
        let (compaction, stats) = written?;
        compaction.publish()?;
        self.end(marks);
        Ok(Some(stats))
    }

    /// Does as [`Compactor::compact`] in a task. Between its steps, it lets the simulated time
    /// `pause` pass.
    ///
    /// # Errors
    /// As [`Compactor::compact`].
    pub async fn compact_simulated(
        &mut self,
        mut pause: impl FnMut() -> Duration,
    ) -> CompactionResult {
        let marks = self.begin()?;
        tokio::time::sleep(pause()).await;
        let older = if PlantedFault::SnapshotsBeforeRotation.is_active() {
            Some(self.parts.published.copy_states())
        } else {
            None
        };
        tokio::time::sleep(pause()).await;
        let Some(reached) = self.parts.journal.begin_checkpoint() else { return Ok(None) };
        let Ok(checkpoint) = reached.await else { return Ok(None) };
        tokio::time::sleep(pause()).await;
        let written = write_generation(
            self.generations.begin_compaction(checkpoint)?,
            older.as_ref().unwrap_or(&self.parts.published),
            self.copy_unchanged,
            self.limits.reserve_bytes,
        );
        let (compaction, stats) = written?;
        tokio::time::sleep(pause()).await;
        compaction.publish()?;
        self.end(marks);
        Ok(Some(stats))
    }

    /// Makes the next journal, and reads the erasures that the generation is after. They are read
    /// before the log's checkpoint, so that the new snapshots are after all of them.
    fn begin(&self) -> Result<ErasureMarks, StoreError> {
        let marks = marks_of(&self.parts.published);
        self.generations.offer_journal()?;
        Ok(marks)
    }

    /// Notes that a generation after these erasures is the current one.
    fn end(&mut self, marks: ErasureMarks) {
        self.copy_unchanged = true;
        let directory = self.generations.directory();
        self.erasures.advance(marks, self.parts.clock.now(), directory);
    }
}

/// Logs that it is unknown whether a generation is due.
fn postpone_after(error: &StoreError) -> CompactionCheck {
    tracing::warn!(%error, "cannot check whether a new generation is due; retrying later");
    CompactionCheck::Postponed
}

/// Writes every stream by its published state. After an error the generation is discarded.
fn write_generation<'a>(
    mut compaction: Compaction<'a>,
    published: &Published,
    copy_unchanged: bool,
    reserve_bytes: u64,
) -> Result<(Compaction<'a>, CompactionStats), StoreError> {
    match write_streams(&mut compaction, published, copy_unchanged, reserve_bytes) {
        Ok(stats) => Ok((compaction, stats)),
        Err(error) => {
            compaction.discard()?;
            Err(error)
        }
    }
}

/// Writes every stream by its published state, the directory first. Checks the reserve before each
/// group.
fn write_streams(
    compaction: &mut Compaction<'_>,
    published: &Published,
    copy_unchanged: bool,
    reserve_bytes: u64,
) -> Result<CompactionStats, StoreError> {
    let mut stats = CompactionStats::default();
    let directory = published.directory();
    let epoch = compaction.epoch();
    let position = directory_position(epoch, &directory);
    write_directory(compaction.begin_snapshot(Stream::Directory, position), &directory)?;
    stats.written += 1;
    for group in published.groups() {
        compaction.expect_room(reserve_bytes)?;
        let mut group_state =
            published.group_state(group).expect("a published group stays published");
        if PlantedFault::CompactionDropsLastEvent.is_active() {
            group_state = without_newest_vevent(&group_state);
        }
        let stream = Stream::Group(group);
        if copy_unchanged && compaction.copy_snapshot(stream, group_state.sequence)? {
            stats.copied += 1;
        } else {
            let position = group_position(epoch, &group_state);
            write_group(compaction.begin_snapshot(stream, position), &group_state)?;
            stats.written += 1;
        }
    }
    for group in published.quarantined().values() {
        write_quarantined(compaction, group, copy_unchanged)?;
        stats.copied += 1;
    }
    Ok(stats)
}

/// Returns a state without the newest event of its agenda: a planted fault.
fn without_newest_vevent(group_state: &GroupState) -> Arc<GroupState> {
    let mut older = group_state.clone();
    let newest = older.rows.keys().next_back().copied();
    if let Some(newest) = newest {
        older.rows.remove(&newest);
    }
    Arc::new(older)
}

/// Writes a quarantined group: its last state, or its snapshot unchanged, and all later events.
/// Without a state, its snapshot is copied even if `copy_unchanged` is false.
fn write_quarantined(
    compaction: &mut Compaction<'_>,
    group: &QuarantinedGroup,
    copy_unchanged: bool,
) -> Result<(), StoreError> {
    let stream = Stream::Group(group.group);
    let position = group.position();
    let may_copy = copy_unchanged || group.last_state.is_none();
    if may_copy && compaction.copy_snapshot(stream, position.sequence)? {
        return Ok(());
    }
    let frames = group.pending_frames()?;
    let Some(last_state) = &group.last_state else {
        return compaction.extend_snapshot(stream, position, &frames);
    };
    let mut snapshot = compaction.begin_snapshot(stream, position);
    state::write_group(last_state, |frame| snapshot.write_frame(frame))?;
    for frame in &frames {
        snapshot.write_frame(frame)?;
    }
    snapshot.finish()
}

/// Returns whether an error is about the data read, as opposed to a failed write.
fn is_damage(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Damaged { .. } | StoreError::Database { doing: "open" | "read", .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::directory::Directory;
    use crate::engine::group_states::GroupStates;
    use crate::engine::health::Health;
    use crate::engine::journal::Journal;
    use crate::engine::metrics::EngineMetrics;
    use crate::engine::recovery;

    #[test]
    fn a_compaction_that_panics_is_abandoned_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        drop(recovery::create::<GroupState>(folder.path(), &Directory::default(), &[]).unwrap());
        let log = recovery::load(folder.path()).unwrap().store.into_log().unwrap();
        let generations = log.generations().unwrap();
        let published = Arc::new(Published::new(Directory::default(), GroupStates::default(), []));
        let (journal, handle) = Journal::new(
            log,
            Arc::clone(&published),
            Arc::new(Health::default()),
            Arc::new(EngineMetrics::default()),
        );
        let journal = std::thread::spawn(move || journal.run());
        let limits = CompactionLimits { journal_bytes: 0, reserve_bytes: 0 };
        let parts = CompactorParts {
            published,
            journal: handle.downgrade(),
            clock: Arc::new(crate::clock::SystemClock),
            requests: CompactionRequests::default(),
        };
        let mut compactor = Compactor::new(generations, parts, limits);
        let unfinished = folder.path().join("snapshots-000007");
        std::fs::create_dir(&unfinished).unwrap();
        let bug = std::panic::catch_unwind(|| -> CompactionResult { panic!("a bug") });
        assert_eq!(compactor.conclude(bug, Duration::ZERO).unwrap(), CompactionCheck::Postponed);
        assert!(!unfinished.exists());
        let made = CompactionStats { copied: 0, written: 1 };
        assert_eq!(compactor.compact().unwrap(), Some(made), "the next one succeeds");
        drop(handle);
        journal.join().unwrap().unwrap();
        assert_eq!(compactor.compact().unwrap(), None);
    }
}
