//! The layout of a data directory, and the one step that makes a new generation the current one.
//!
//! ```text
//! lock               held while a process uses the directory
//! CURRENT            the numbers of the current generation and of the one it goes on from, and their crc32
//! mark               how far the journal was once durable
//! snapshots-000001/  sled: one snapshot per stream
//! journal-000001/    sled: the batches since
//! ```
//!
//! Generations only grow. A journal is made under the name `….new` and renamed when it is whole; snapshots count from
//! the moment `CURRENT` names them. So whatever a crash leaves is either complete or nobody's.

use std::fs;
use std::path::{Path, PathBuf};

use crate::store::error::{DamageLocation, StoreError};
use crate::store::files::{entries, remove_directory, replace_file};

/// The directory of a copy that is made to be read.
pub(super) const COPY: &str = ".slotbook-copy-to-read";

/// Number of a generation, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Generation(pub(super) u64);

/// The one that a creation makes.
pub(super) const FIRST: Generation = Generation(1);

/// What `CURRENT` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Current {
    /// The current generation.
    pub(super) generation: Generation,
    /// The one whose journals lead to it, so that its snapshots stand in for damaged ones. `None` where the content was
    /// replaced as a whole: what was before is another history.
    pub(super) before: Option<Generation>,
}

/// What a data directory holds, by name.
#[derive(Debug)]
pub(super) struct Layout {
    /// The data directory.
    directory: PathBuf,
    /// Generations that have a directory of snapshots, whole or not, ascending.
    snapshots: Vec<Generation>,
    /// Generations that have a journal, ascending.
    journals: Vec<Generation>,
    /// Journals that never got their name, and copies that were not removed.
    unborn: Vec<PathBuf>,
    /// The first name that no store writes. It is never touched.
    foreign: Option<PathBuf>,
}

/// The snapshots of a generation.
pub(super) fn snapshots_path(directory: &Path, generation: Generation) -> PathBuf {
    directory.join(format!("snapshots-{:06}", generation.0))
}

/// The journal of a generation.
pub(super) fn journal_path(directory: &Path, generation: Generation) -> PathBuf {
    directory.join(format!("journal-{:06}", generation.0))
}

/// The generation that `CURRENT` names, or `None` in a directory without a store.
///
/// # Errors
///
/// [`StoreError::Damaged`] when the file is not what we wrote.
pub(super) fn current(directory: &Path) -> Result<Option<Current>, StoreError> {
    let path = directory.join("CURRENT");
    if !path.try_exists().map_err(StoreError::io("find", &path))? {
        return Ok(None);
    }
    let bytes = fs::read(&path).map_err(StoreError::io("read", &path))?;
    let line = String::from_utf8_lossy(&bytes);
    let mut numbers = line.split(' ').map_while(|number| number.parse().ok());
    let named = numbers.next().zip(numbers.next()).map(|(generation, before)| Current {
        generation: Generation(generation),
        before: (before != 0).then_some(Generation(before)),
    });
    match named {
        Some(current) if current_line(current) == line => Ok(Some(current)),
        Some(_) | None => {
            Err(StoreError::damaged(&path, DamageLocation::Whole, "it does not name a generation"))
        }
    }
}

/// Makes a generation the current one, in one durable step.
pub(super) fn set_current(directory: &Path, current: Current) -> Result<(), StoreError> {
    replace_file(directory, "CURRENT", current_line(current).as_bytes())
}

fn current_line(current: Current) -> String {
    let before = current.before.map_or(0, |before| before.0);
    let numbers = format!("{:06} {before:06}", current.generation.0);
    format!("{numbers} {:08x}\n", crc32fast::hash(numbers.as_bytes()))
}

/// The generation of a name that is ours to the letter: `snapshots-2024` is somebody else's.
fn numbered(name: &str, prefix: &str) -> Option<Generation> {
    let number = name.strip_prefix(prefix)?.parse().ok()?;
    (number > 0 && name == format!("{prefix}{number:06}")).then_some(Generation(number))
}

impl Layout {
    /// Reads the names in `directory`.
    pub(super) fn read(directory: &Path) -> Result<Self, StoreError> {
        let mut layout = Self {
            directory: directory.to_owned(),
            snapshots: Vec::new(),
            journals: Vec::new(),
            unborn: Vec::new(),
            foreign: None,
        };
        for path in entries(directory)? {
            // A name that is no text is none of ours.
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let Some(generation) = numbered(name, "snapshots-") {
                layout.snapshots.push(generation);
            } else if let Some(generation) = numbered(name, "journal-") {
                layout.journals.push(generation);
            } else if name
                .strip_suffix(".new")
                .is_some_and(|name| numbered(name, "journal-").is_some())
                || name == COPY
            {
                layout.unborn.push(path);
            } else if !["lock", "mark", "CURRENT.new", "lost+found"].contains(&name) {
                layout.foreign.get_or_insert(path);
            }
        }
        layout.snapshots.sort_unstable();
        layout.journals.sort_unstable();
        Ok(layout)
    }

    /// The journals to be replayed onto the snapshots of `generation`, in order.
    pub(super) fn journals_from(&self, generation: Generation) -> Vec<Generation> {
        self.journals.iter().copied().filter(|journal| *journal >= generation).collect()
    }

    /// Whether anything of any generation stands here.
    pub(super) fn holds_a_generation(&self) -> bool {
        !self.snapshots.is_empty() || !self.journals.is_empty()
    }

    /// Refuses a directory that holds what an interrupted creation of the first generation cannot have left.
    ///
    /// # Errors
    ///
    /// [`StoreError::Foreign`] with the name of it.
    pub(super) fn expect_leftovers_only(&self) -> Result<(), StoreError> {
        let later = |generations: &[Generation]| {
            generations.iter().copied().find(|generation| *generation > FIRST)
        };
        let snapshots =
            later(&self.snapshots).map(|generation| snapshots_path(&self.directory, generation));
        let journal =
            || later(&self.journals).map(|generation| journal_path(&self.directory, generation));
        let ours = [COPY.to_owned(), format!("journal-{:06}.new", FIRST.0)];
        let unborn = || {
            self.unborn.iter().find(|path| !ours.iter().any(|name| path.ends_with(name))).cloned()
        };
        match self.foreign.clone().or(snapshots).or_else(journal).or_else(unborn) {
            None => Ok(()),
            Some(found) => Err(StoreError::Foreign { directory: self.directory.clone(), found }),
        }
    }

    /// A number above all that were ever used here.
    pub(super) fn unused(&self) -> Generation {
        let newest = self.snapshots.iter().chain(&self.journals).max();
        Generation(newest.map_or(0, |generation| generation.0) + 1)
    }

    /// Removes what is neither of the current generation, nor of the one before, nor a journal after them. Without a
    /// current generation that is everything: what an interrupted creation left.
    pub(super) fn remove_leftovers(&self, current: Option<Current>) -> Result<(), StoreError> {
        let (current, before) =
            (current.map(|current| current.generation), current.and_then(|current| current.before));
        let older = || {
            self.snapshots.iter().copied().filter(|generation| Some(*generation) < current).max()
        };
        let before = before.or_else(older);
        for generation in &self.snapshots {
            if Some(*generation) != current && Some(*generation) != before {
                remove_directory(&snapshots_path(&self.directory, *generation))?;
            }
        }
        for generation in &self.journals {
            let needed = current.is_some_and(|current| *generation >= before.unwrap_or(current));
            if !needed {
                remove_directory(&journal_path(&self.directory, *generation))?;
            }
        }
        self.unborn.iter().try_for_each(|path| remove_directory(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let names = entries(directory).unwrap();
        names.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn current_names_a_generation_or_is_damaged() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(current(directory.path()).unwrap(), None);
        for before in [None, Some(Generation(10))] {
            let named = Current { generation: Generation(12), before };
            set_current(directory.path(), named).unwrap();
            assert_eq!(current(directory.path()).unwrap(), Some(named));
        }
        let path = directory.path().join("CURRENT");
        let line = fs::read_to_string(&path).unwrap();
        for damaged in [
            line.replace("12", "11"),
            line.replace("10", "11"),
            String::new(),
            line.trim().to_owned(),
            format!("{line}x"),
        ] {
            fs::write(&path, &damaged).unwrap();
            assert!(
                matches!(current(directory.path()), Err(StoreError::Damaged { .. })),
                "{damaged:?}"
            );
        }
    }

    #[test]
    fn the_current_generation_the_one_before_and_later_journals_stay() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "journal-000003",
            "snapshots-000003",
            "journal-000005",
            "snapshots-000005",
            "journal-000006",
        ] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        for name in ["journal-000002", "snapshots-000002", "snapshots-000006", "journal-000007.new"]
        {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let layout = Layout::read(directory.path()).unwrap();
        assert_eq!(layout.unused(), Generation(7));
        assert_eq!(layout.journals_from(Generation(5)), [Generation(5), Generation(6)]);
        layout
            .remove_leftovers(Some(Current {
                generation: Generation(5),
                before: Some(Generation(3)),
            }))
            .unwrap();
        let kept = [
            "journal-000003",
            "journal-000005",
            "journal-000006",
            "snapshots-000003",
            "snapshots-000005",
        ];
        assert_eq!(names(directory.path()), kept);
        layout_without_current(directory.path());
    }

    fn layout_without_current(directory: &Path) {
        Layout::read(directory).unwrap().remove_leftovers(None).unwrap();
        assert_eq!(names(directory), Vec::<String>::new());
    }
}
