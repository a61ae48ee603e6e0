//! New generations of the store while bookings go on: the journal turns, and the published states are written beside it.
//! No actor takes part.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant as Stopwatch};

use crate::engine::journal::WeakJournalHandle;
use crate::engine::published::Published;
use crate::engine::quarantine::QuarantinedGroup;
use crate::engine::recovery::{directory_position, position, write_directory, write_group};
use crate::store::state;
use crate::store::{Compaction, Generations, StoreError, Stream, free_bytes};

/// How often the sizes are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long nothing is tried after a generation had to be given up.
const REST: Duration = Duration::from_secs(600);

/// Makes new generations. It runs on a thread of its own.
#[derive(Debug)]
pub struct Compactor {
    generations: Generations,
    /// States that are durable; at a turn they hold all that the ended journals do.
    published: Arc<Published>,
    journal: WeakJournalHandle,
    /// Journals below this size are left alone, however small the snapshots.
    journal_bytes: u64,
    /// Bytes of the disk that are left free.
    reserve_bytes: u64,
    /// Whether snapshots of unchanged groups may be copied: not from a generation that turned out damaged.
    copying: bool,
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactionStats {
    /// Streams copied as bytes.
    pub copied: u64,
    /// Streams written from their states.
    pub written: u64,
}

/// What a look came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionCheck {
    /// The journals are short.
    NotDue,
    /// A new generation is current.
    Completed(CompactionStats),
    /// What was to be copied is damaged: the next look copies nothing.
    SourceDamaged,
    /// It cannot be seen, there is no room, or it failed: after a rest it may be otherwise.
    Postponed,
    /// The journal has ended, and no more generation will be made.
    JournalEnded,
}

type Attempt = Result<Option<CompactionStats>, StoreError>;

impl Compactor {
    pub(super) fn new(
        generations: Generations,
        published: Arc<Published>,
        journal: WeakJournalHandle,
        (journal_bytes, reserve_bytes): (u64, u64),
    ) -> Self {
        Self { generations, published, journal, journal_bytes, reserve_bytes, copying: true }
    }

    /// Looks every second whether a new generation is due, until `stop` is dropped or the journal has ended.
    ///
    /// # Errors
    /// The first write that fails: then the process has to end, as after a failed append.
    pub fn run(mut self, stop: &Receiver<()>) -> Result<(), StoreError> {
        let mut wait = LOOK;
        while stop.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            wait = match self.compact_if_due()? {
                CompactionCheck::NotDue
                | CompactionCheck::Completed(_)
                | CompactionCheck::SourceDamaged => LOOK,
                CompactionCheck::Postponed => REST,
                CompactionCheck::JournalEnded => return Ok(()),
            };
        }
        Ok(())
    }

    /// Looks once, and makes a new generation where one is due. What keeps it from being made is logged, and harms nobody:
    /// the generation before stands.
    ///
    /// # Errors
    /// As [`Compactor::run`].
    pub fn compact_if_due(&mut self) -> Result<CompactionCheck, StoreError> {
        // A look that fails has harmed nothing: a machine short of files or memory may have some later.
        match self.is_due().and_then(|due| Ok((due, due && self.has_room()?))) {
            Ok((false, _)) => return Ok(CompactionCheck::NotDue),
            Ok((true, true)) => {}
            Ok((true, false)) => {
                tracing::warn!(
                    "the journal is long, but the disk has no room for a new generation of the store"
                );
                return Ok(CompactionCheck::Postponed);
            }
            Err(error) => {
                tracing::warn!(%error, "whether a new generation is due cannot be seen; it is looked at later");
                return Ok(CompactionCheck::Postponed);
            }
        }
        let began = Stopwatch::now();
        let made = std::panic::catch_unwind(AssertUnwindSafe(|| self.compact()));
        self.judge(made, began.elapsed())
    }

    /// What a compaction that has ended came to.
    fn judge(
        &mut self,
        made: std::thread::Result<Attempt>,
        took: Duration,
    ) -> Result<CompactionCheck, StoreError> {
        match made {
            Ok(Ok(Some(done))) => {
                let seconds = took.as_secs();
                tracing::info!(
                    done.copied,
                    done.written,
                    seconds,
                    "a new generation of the store is current"
                );
                Ok(CompactionCheck::Completed(done))
            }
            Ok(Ok(None)) => Ok(CompactionCheck::JournalEnded),
            Ok(Err(error @ StoreError::NoRoom { .. })) => {
                tracing::warn!(%error, "a generation was given up; the one before stands, and the journal grows");
                Ok(CompactionCheck::Postponed)
            }
            Ok(Err(error)) if is_damage(&error) => {
                tracing::error!(%error, "a generation was given up; the one before stands, and the journal grows");
                // Nothing of the damaged generation goes into the next.
                Ok(if std::mem::take(&mut self.copying) {
                    CompactionCheck::SourceDamaged
                } else {
                    CompactionCheck::Postponed
                })
            }
            Ok(Err(error)) => Err(error),
            Err(_) => {
                tracing::error!(
                    "a generation was given up, by a bug; the one before stands, and the journal grows"
                );
                self.generations.remove_unfinished()?;
                Ok(CompactionCheck::Postponed)
            }
        }
    }

    /// Whether the journals have outgrown half of the snapshots, and the bound.
    ///
    /// # Errors
    /// A directory that cannot be read.
    pub fn is_due(&self) -> Result<bool, StoreError> {
        let sizes = self.generations.sizes()?;
        Ok(sizes.journals > self.journal_bytes && sizes.journals > sizes.snapshots / 2)
    }

    /// Whether a generation of all that the current one holds leaves the reserve free.
    fn has_room(&self) -> Result<bool, StoreError> {
        let sizes = self.generations.sizes()?;
        let needed = self.reserve_bytes.saturating_add(sizes.sum());
        Ok(free_bytes(self.generations.directory())? > needed)
    }

    /// Makes a new generation now; `None` where the journal has ended.
    ///
    /// # Errors
    /// Damage of what would be copied, or a disk that refuses or gives back something else than was written; the
    /// generation before then stands.
    pub fn compact(&mut self) -> Result<Option<CompactionStats>, StoreError> {
        let next = self.generations.next_journal()?;
        let Some(turned) = self.journal.turn(next) else { return Ok(None) };
        let (data, reserve) = (self.generations.directory().to_owned(), self.reserve_bytes);
        let room = || match free_bytes(&data) {
            Ok(free) if free < reserve => Err(StoreError::NoRoom { directory: data.clone() }),
            // Where it cannot be seen, the writes themselves say so.
            Ok(_) | Err(_) => Ok(()),
        };
        let mut compaction = self.generations.begin(turned)?;
        let written = write(&mut compaction, &self.published, self.copying, &room);
        let done = match written {
            Ok(done) => done,
            Err(error) => {
                compaction.give_up()?;
                return Err(error);
            }
        };
        compaction.publish()?;
        self.copying = true;
        Ok(Some(done))
    }
}

/// Writes every stream, the directory first, as of now; asks before each group whether there is `room`.
fn write(
    compaction: &mut Compaction<'_>,
    published: &Published,
    copying: bool,
    room: &dyn Fn() -> Result<(), StoreError>,
) -> Result<CompactionStats, StoreError> {
    let mut done = CompactionStats::default();
    let directory = published.directory();
    write_directory(
        compaction.snapshot(Stream::Directory, directory_position(&directory)),
        &directory,
    )?;
    done.written += 1;
    for group in published.groups() {
        room()?;
        let group_state = published.group_state(group).expect("a published group stays published");
        let (stream, at) = (Stream::Group(group), position(&group_state));
        if copying && compaction.copy(stream, at)? {
            done.copied += 1;
        } else {
            write_group(compaction.snapshot(stream, at), &group_state)?;
            done.written += 1;
        }
    }
    for aside in published.aside().values() {
        carry(compaction, aside, copying)?;
        done.copied += 1;
    }
    Ok(done)
}

/// Carries a group that nobody is let into on: its last state, or its snapshot as it is, and every event since.
/// Where nothing is to be copied, only that of which there is no state is.
fn carry(
    compaction: &mut Compaction<'_>,
    aside: &QuarantinedGroup,
    copying: bool,
) -> Result<(), StoreError> {
    let (stream, at) = (Stream::Group(aside.group), aside.position());
    if (copying || aside.base.is_none()) && compaction.copy(stream, at)? {
        return Ok(());
    }
    let frames = aside.frames()?;
    let Some(base) = &aside.base else { return compaction.extend(stream, at, &frames) };
    let mut snapshot = compaction.snapshot(stream, at);
    state::write_group(base, |frame| snapshot.frame(frame))?;
    frames.iter().try_for_each(|frame| snapshot.frame(frame))?;
    snapshot.finish()
}

/// Whether what was read is wrong, and not the writing.
fn is_damage(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Damaged { .. } | StoreError::Database { doing: "open" | "read", .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::identity::directory::Directory;
    use crate::engine::health::Health;
    use crate::engine::journal::Journal;
    use crate::engine::metrics::EngineMetrics;
    use crate::engine::recovery;

    #[test]
    fn a_compaction_that_panics_is_given_up_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        drop(recovery::create(folder.path(), &Directory::default(), &[]).unwrap());
        let log = recovery::load(folder.path()).unwrap().store.into_log().unwrap();
        let generations = log.generations().unwrap();
        let published = Arc::new(Published::new(Directory::default(), [], []));
        let (journal, handle) = Journal::new(
            log,
            Arc::clone(&published),
            Arc::new(Health::default()),
            Arc::new(EngineMetrics::default()),
        );
        let journal = std::thread::spawn(move || journal.run());
        let mut compactor = Compactor::new(generations, published, handle.downgrade(), (0, 0));
        let unfinished = folder.path().join("snapshots-000007");
        std::fs::create_dir(&unfinished).unwrap();
        let bug = std::panic::catch_unwind(|| -> Attempt { panic!("a bug") });
        assert_eq!(compactor.judge(bug, Duration::ZERO).unwrap(), CompactionCheck::Postponed);
        assert!(!unfinished.exists());
        let made = CompactionStats { copied: 0, written: 1 };
        assert_eq!(compactor.compact().unwrap(), Some(made), "the next one is made");
        drop(handle);
        journal.join().unwrap().unwrap();
        assert_eq!(compactor.compact().unwrap(), None);
    }
}
