//! Note of the erasures that no file of the store holds any more: a file of the data directory. If
//! it is lost or damaged, two generations are made once more than needed. Reference 17.3.
//!
//! The first line is the time of the last pair of generations, in seconds since 1970. Each other
//! one is a group and its last erasure: `1 5234 1795510800`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::domain::records::ids::GroupId;
use crate::domain::state::erasure::ErasureMark;
use crate::domain::time::Instant;
use crate::store::error::StoreError;
use crate::store::files::replace_file;

/// Name of the file in the data directory.
pub(crate) const CLEANED: &str = "cleaned";

/// The last erasure of each group that has one.
pub type ErasureMarks = BTreeMap<GroupId, ErasureMark>;

/// Note of the erasures that no file of the store holds any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanedMarks {
    /// The start of the last pair of generations that was made for erasures.
    pub began_at: Option<Instant>,
    /// Erasures that are in neither generation.
    pub marks: ErasureMarks,
}

impl CleanedMarks {
    /// Reads the note of a data directory; an empty one if it is not there or cannot be read.
    pub fn read(directory: &Path) -> Self {
        let text = fs::read_to_string(directory.join(CLEANED)).unwrap_or_default();
        Self::parse(&text).unwrap_or_default()
    }

    /// Writes the note, durably.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn write(&self, directory: &Path) -> Result<(), StoreError> {
        let mut text = format!("{}\n", self.began_at.map_or(0, |at| at.0));
        for (group, mark) in &self.marks {
            writeln!(text, "{group} {} {}", mark.sequence, mark.at.0).expect("a string takes all");
        }
        replace_file(directory, CLEANED, text.as_bytes())
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let began: i64 = lines.next()?.parse().ok()?;
        let began_at = if began == 0 { None } else { Some(Instant(began)) };
        let mut marks = ErasureMarks::new();
        for line in lines {
            let mut numbers = line.split(' ');
            let group = numbers.next()?.parse().ok().and_then(GroupId::new)?;
            let sequence = numbers.next()?.parse().ok()?;
            let at = Instant(numbers.next()?.parse().ok()?);
            marks.insert(group, ErasureMark { sequence, at });
        }
        Some(Self { began_at, marks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written_and_a_damaged_one_counts_for_nothing() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(CleanedMarks::read(directory.path()), CleanedMarks::default());
        let group = GroupId::new(7).unwrap();
        let mark = ErasureMark { sequence: 12, at: Instant(1_800_000_000) };
        let note = CleanedMarks { began_at: Some(Instant(5)), marks: [(group, mark)].into() };
        note.write(directory.path()).unwrap();
        assert_eq!(CleanedMarks::read(directory.path()), note);
        for damaged in ["", "x\n", "5\n7 12\n", "5\n0 1 2\n"] {
            fs::write(directory.path().join(CLEANED), damaged).unwrap();
            assert_eq!(CleanedMarks::read(directory.path()), CleanedMarks::default());
        }
    }
}
