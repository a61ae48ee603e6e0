//! The generations that are due after erasures: two in a row, since the first leaves the one before
//! it on the disk. Reference 17.3.

use std::path::Path;

use crate::domain::time::{HOUR, Instant};
use crate::engine::published::Published;
use crate::store::{CleanedMarks, ErasureMarks};

/// Seconds from one pair of generations to the next one. With the time that the second takes they
/// are a day.
const PAIR_SECONDS: i64 = 23 * HOUR;

/// The erasures that the generations of the store are after.
#[derive(Debug)]
pub(crate) struct ErasureCleanup {
    /// Those that neither generation holds, as they are noted in the data directory.
    both: CleanedMarks,
    /// Those that the current generation does not hold. At the start those of both.
    current: ErasureMarks,
    /// The start of a pair of generations of which one is made. A restart begins the pair anew.
    pair: Option<Instant>,
}

impl ErasureCleanup {
    /// Reads the note of a data directory.
    pub(crate) fn read(directory: &Path) -> Self {
        let both = CleanedMarks::read(directory);
        Self { current: both.marks.clone(), both, pair: None }
    }

    /// Whether a generation is to be made now: the first of a pair, a day after the one before, or
    /// the second.
    pub(crate) fn is_due(&self, published: &Published, now: Instant) -> bool {
        self.pair.is_some() || self.begins_pair(&marks_of(published), now)
    }

    /// Whether a generation after these erasures is the first of a pair.
    fn begins_pair(&self, marks: &ErasureMarks, now: Instant) -> bool {
        let is_day_ago = self.both.began_at.is_none_or(|at| is_day_ago(at, now));
        self.pair.is_none() && is_day_ago && !covers(&self.both.marks, marks)
    }

    /// Records a new generation, which is after these erasures. The generation before it is the
    /// older one from now on.
    pub(crate) fn advance(&mut self, marks: ErasureMarks, now: Instant, directory: &Path) {
        let begun = if self.begins_pair(&marks, now) { Some(now) } else { None };
        let began_at = self.pair.take().or(self.both.began_at);
        let before = std::mem::replace(&mut self.current, marks);
        self.pair = begun;
        let both = CleanedMarks { began_at, marks: before };
        if both == self.both {
            return;
        }
        self.both = both;
        if let Err(error) = self.both.write(directory) {
            tracing::warn!(%error, "the note of erasures was not written; generations are made again");
        }
    }
}

/// The last erasure of each group.
pub(crate) fn marks_of(published: &Published) -> ErasureMarks {
    let states = published.groups().filter_map(|group| published.group_state(group));
    states.filter_map(|it| Some((it.catalogue.group.id, it.privacy.last_erasure?))).collect()
}

/// Whether all of some erasures are among others.
fn covers(known: &ErasureMarks, marks: &ErasureMarks) -> bool {
    marks.iter().all(|(group, mark)| known.get(group) == Some(mark))
}

/// Whether a pair began long enough ago. One that began later than now was noted by a clock that
/// was ahead.
fn is_day_ago(began_at: Instant, now: Instant) -> bool {
    now < began_at || now >= began_at.plus_seconds(PAIR_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::ids::GroupId;
    use crate::domain::state::erasure::ErasureMark;

    const NOW: Instant = Instant(1_800_000_000);

    fn marks(sequence: u64) -> ErasureMarks {
        let group = GroupId::new(1).expect("an id");
        [(group, ErasureMark { sequence, at: NOW })].into()
    }

    #[test]
    fn an_erasure_makes_two_generations_due_and_the_next_one_waits_for_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let mut cleanup = ErasureCleanup::read(folder.path());
        assert!(cleanup.begins_pair(&marks(5), NOW));
        cleanup.advance(marks(5), NOW, folder.path());
        assert!(cleanup.pair.is_some(), "the second is due");
        let restarted = ErasureCleanup::read(folder.path());
        assert!(restarted.begins_pair(&marks(5), NOW), "a restart begins anew");
        // Another erasure between the two does not hold up the second.
        cleanup.advance(marks(6), NOW.plus_seconds(9), folder.path());
        assert!(cleanup.pair.is_none() && covers(&cleanup.both.marks, &marks(5)));
        assert!(!cleanup.begins_pair(&marks(6), NOW.plus_seconds(PAIR_SECONDS - 1)));
        assert!(cleanup.begins_pair(&marks(6), NOW.plus_seconds(PAIR_SECONDS)));
        assert!(cleanup.begins_pair(&marks(6), NOW.plus_seconds(-1)), "the clock was set back");
        let restarted = ErasureCleanup::read(folder.path());
        assert!(!restarted.begins_pair(&marks(6), NOW.plus_seconds(60)), "it is remembered");
        assert!(!restarted.begins_pair(&marks(5), NOW.plus_seconds(PAIR_SECONDS)), "it is clean");
    }

    #[test]
    fn generations_for_other_reasons_count_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut cleanup = ErasureCleanup::read(folder.path());
        cleanup.advance(ErasureMarks::new(), NOW, folder.path());
        assert!(!folder.path().join("cleaned").exists(), "nothing was erased");
        cleanup.advance(marks(5), NOW, folder.path());
        cleanup.advance(marks(5), NOW, folder.path());
        cleanup.advance(marks(7), NOW, folder.path());
        cleanup.advance(marks(7), NOW, folder.path());
        assert!(covers(&cleanup.both.marks, &marks(7)));
    }
}
