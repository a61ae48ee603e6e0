//! Layout of a data directory, and the atomic step that makes a new generation the current one.
//! Reference 8.
//!
//! ```text
//! lock               locked while a process uses the directory
//! CURRENT            the current generation, the previous one, and their crc32
//! mark               durable watermark: the last batch known to be on disk
//! snapshots-000001/  sled: one snapshot per stream
//! journal-000001/    sled: the batches since
//! forgotten          the records of erased clients, part of no generation
//! cleaned            the erasures that no generation holds any more
//! cluster            the id of the cluster that a server without a store of its own belongs to
//! ```
//!
//! Generation numbers only grow. A journal is made under the name `….new` and renamed when it is
//! complete. Snapshots count from the moment that `CURRENT` names them. So whatever a crash leaves
//! is either complete or a leftover that the next start removes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::store::cleaned::CLEANED;
use crate::store::cluster_id::CLUSTER;
use crate::store::error::{DamageLocation, StoreError};
use crate::store::files::{list_paths, remove_directory, replace_file};
use crate::store::forgotten::FORGOTTEN;

/// Name of the subdirectory for a copy that a check reads.
pub(crate) const COPY: &str = ".slotbook-copy-to-read";

/// Names of files beside the generations, which are no reason to refuse a directory.
const KNOWN_FILES: [&str; 10] = [
    "lock",
    "mark",
    "CURRENT.new",
    "lost+found",
    FORGOTTEN,
    CLEANED,
    CLUSTER,
    "cluster.new",
    // The socket for the operator's commands, and the directory that it is made in.
    "operator.sock",
    "operator.new",
];

/// Number of a generation, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Generation(pub(crate) u64);

/// The generation that a creation makes.
pub(crate) const FIRST: Generation = Generation(1);

/// Content of the file `CURRENT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CurrentGeneration {
    /// The current generation.
    pub(crate) generation: Generation,
    /// The previous generation. Its snapshots and the journals since replace damaged snapshots.
    /// `None` after an import replaced the content: the older records are another history.
    pub(crate) previous: Option<Generation>,
}

/// Names found in a data directory.
#[derive(Debug)]
pub(crate) struct DirectoryLayout {
    /// The data directory.
    directory: PathBuf,
    /// Generations that have a directory of snapshots, complete or not, ascending.
    snapshots: Vec<Generation>,
    /// Generations that have a journal, ascending.
    journals: Vec<Generation>,
    /// Journals that were never renamed, and copies that were not removed.
    unfinished: Vec<PathBuf>,
    /// The first name that no store writes. It is never touched.
    foreign: Option<PathBuf>,
}

/// Returns the directory of a generation's snapshots.
pub(crate) fn snapshots_path(directory: &Path, generation: Generation) -> PathBuf {
    directory.join(format!("snapshots-{:06}", generation.0))
}

/// Returns the directory of a generation's journal.
pub(crate) fn journal_path(directory: &Path, generation: Generation) -> PathBuf {
    directory.join(format!("journal-{:06}", generation.0))
}

/// Reads `CURRENT`; `None` in a directory without a store.
///
/// # Errors
///
/// [`StoreError::Damaged`] when the content does not match its crc32.
pub(crate) fn read_current(directory: &Path) -> Result<Option<CurrentGeneration>, StoreError> {
    let path = directory.join("CURRENT");
    if !path.try_exists().map_err(StoreError::io("find", &path))? {
        return Ok(None);
    }
    let bytes = fs::read(&path).map_err(StoreError::io("read", &path))?;
    let line = String::from_utf8_lossy(&bytes);
    match parse_current(&line) {
        // The line is rendered again, so its crc32 and its spelling are compared at once.
        Some(current) if render_current(current) == line => Ok(Some(current)),
        _ => {
            Err(StoreError::damaged(&path, DamageLocation::Whole, "it does not name a generation"))
        }
    }
}

/// Parses the two numbers of a line of `CURRENT`; the crc32 is not checked.
fn parse_current(line: &str) -> Option<CurrentGeneration> {
    let mut numbers = line.split(' ');
    let generation = Generation(numbers.next()?.parse().ok()?);
    let previous: u64 = numbers.next()?.parse().ok()?;
    let previous = if previous == 0 { None } else { Some(Generation(previous)) };
    Some(CurrentGeneration { generation, previous })
}

fn render_current(current: CurrentGeneration) -> String {
    let previous = current.previous.map_or(0, |previous| previous.0);
    let numbers = format!("{:06} {previous:06}", current.generation.0);
    format!("{numbers} {:08x}\n", crc32fast::hash(numbers.as_bytes()))
}

/// Makes a generation the current one, in one durable step.
pub(crate) fn set_current(directory: &Path, current: CurrentGeneration) -> Result<(), StoreError> {
    replace_file(directory, "CURRENT", render_current(current).as_bytes())
}

/// Parses the generation of a name that the store writes. `snapshots-2024` is foreign.
fn parse_numbered_name(name: &str, prefix: &str) -> Option<Generation> {
    let number: u64 = name.strip_prefix(prefix)?.parse().ok()?;
    if number == 0 || name != format!("{prefix}{number:06}") {
        return None;
    }
    Some(Generation(number))
}

/// Whether `name` is that of a journal under construction, or of a copy for a check.
fn is_unfinished(name: &str) -> bool {
    match name.strip_suffix(".new") {
        Some(journal) => parse_numbered_name(journal, "journal-").is_some(),
        None => name == COPY,
    }
}

impl DirectoryLayout {
    /// Reads the names in `directory`.
    pub(crate) fn read(directory: &Path) -> Result<Self, StoreError> {
        Ok(Self::of_paths(directory, list_paths(directory)?))
    }

    /// Sorts the paths in `directory` by what they name.
    pub(crate) fn of_paths(directory: &Path, paths: Vec<PathBuf>) -> Self {
        let mut layout = Self {
            directory: directory.to_owned(),
            snapshots: Vec::new(),
            journals: Vec::new(),
            unfinished: Vec::new(),
            foreign: None,
        };
        for path in paths {
            // The store writes no names that are not UTF-8.
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let Some(generation) = parse_numbered_name(name, "snapshots-") {
                layout.snapshots.push(generation);
            } else if let Some(generation) = parse_numbered_name(name, "journal-") {
                layout.journals.push(generation);
            } else if is_unfinished(name) {
                layout.unfinished.push(path);
            } else if !KNOWN_FILES.contains(&name) {
                layout.foreign.get_or_insert(path);
            }
        }
        layout.snapshots.sort_unstable();
        layout.journals.sort_unstable();
        layout
    }

    /// Returns the journals to replay onto the snapshots of `generation`, in order.
    pub(crate) fn journals_from(&self, generation: Generation) -> Vec<Generation> {
        self.journals.iter().copied().filter(|journal| *journal >= generation).collect()
    }

    /// Whether the directory has snapshots or a journal of any generation.
    pub(crate) fn holds_a_generation(&self) -> bool {
        !self.snapshots.is_empty() || !self.journals.is_empty()
    }

    /// Refuses a directory with files that no interrupted creation of a first generation leaves.
    ///
    /// # Errors
    ///
    /// [`StoreError::Foreign`] with the first of them.
    pub(crate) fn expect_leftovers_only(&self) -> Result<(), StoreError> {
        match self.find_non_leftover() {
            None => Ok(()),
            Some(found) => Err(StoreError::Foreign { directory: self.directory.clone(), found }),
        }
    }

    /// Finds a name that no interrupted creation of a first generation leaves.
    fn find_non_leftover(&self) -> Option<PathBuf> {
        if self.foreign.is_some() {
            return self.foreign.clone();
        }
        for generation in &self.snapshots {
            if *generation > FIRST {
                return Some(snapshots_path(&self.directory, *generation));
            }
        }
        for generation in &self.journals {
            if *generation > FIRST {
                return Some(journal_path(&self.directory, *generation));
            }
        }
        let first_journal = format!("journal-{:06}.new", FIRST.0);
        for path in &self.unfinished {
            if !path.ends_with(COPY) && !path.ends_with(&first_journal) {
                return Some(path.clone());
            }
        }
        None
    }

    /// Returns the paths of all databases: snapshots and journals.
    pub(crate) fn databases(&self) -> impl Iterator<Item = PathBuf> {
        let snapshots = self.snapshots.iter().map(|it| snapshots_path(&self.directory, *it));
        snapshots.chain(self.journals.iter().map(|it| journal_path(&self.directory, *it)))
    }

    /// Returns a number above all that were ever used here.
    pub(crate) fn unused_generation(&self) -> Generation {
        let newest = self.snapshots.iter().chain(&self.journals).max();
        Generation(newest.map_or(0, |generation| generation.0) + 1)
    }

    /// Removes what belongs neither to the current generation, nor to the previous one, nor to a
    /// journal after them. Without a current generation it removes all: an interrupted creation.
    /// Returns what it has removed.
    pub(crate) fn remove_leftovers(
        &self,
        current: Option<CurrentGeneration>,
    ) -> Result<Vec<PathBuf>, StoreError> {
        let leftovers = self.leftovers(current);
        for leftover in &leftovers {
            remove_directory(leftover)?;
        }
        Ok(leftovers)
    }

    /// Returns what [`DirectoryLayout::remove_leftovers`] removes.
    pub(crate) fn leftovers(&self, current: Option<CurrentGeneration>) -> Vec<PathBuf> {
        let (snapshots, journals_from) = self.needed_generations(current);
        let mut leftovers = Vec::new();
        for generation in &self.snapshots {
            if !snapshots.contains(generation) {
                leftovers.push(snapshots_path(&self.directory, *generation));
            }
        }
        for generation in &self.journals {
            let needed = match journals_from {
                Some(from) => *generation >= from,
                None => false,
            };
            if !needed {
                leftovers.push(journal_path(&self.directory, *generation));
            }
        }
        leftovers.extend_from_slice(&self.unfinished);
        leftovers
    }

    /// Returns the generations whose snapshots stay, and the first whose journal stays.
    fn needed_generations(
        &self,
        current: Option<CurrentGeneration>,
    ) -> (Vec<Generation>, Option<Generation>) {
        let Some(CurrentGeneration { generation, previous }) = current else {
            return (Vec::new(), None);
        };
        let mut needed = vec![generation];
        // After an import `CURRENT` names no previous generation. The newest older one stays.
        let older = self.snapshots.iter().copied().filter(|older| *older < generation).max();
        needed.extend(previous.or(older));
        (needed.clone(), needed.last().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let names = list_paths(directory).unwrap();
        names.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn current_names_a_generation_or_is_damaged() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read_current(directory.path()).unwrap(), None);
        for previous in [None, Some(Generation(10))] {
            let named = CurrentGeneration { generation: Generation(12), previous };
            set_current(directory.path(), named).unwrap();
            assert_eq!(read_current(directory.path()).unwrap(), Some(named));
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
                matches!(read_current(directory.path()), Err(StoreError::Damaged { .. })),
                "{damaged:?}"
            );
        }
    }

    #[test]
    fn the_current_and_previous_generation_and_later_journals_stay() {
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
        let layout = DirectoryLayout::read(directory.path()).unwrap();
        assert_eq!(layout.unused_generation(), Generation(7));
        assert_eq!(layout.journals_from(Generation(5)), [Generation(5), Generation(6)]);
        layout
            .remove_leftovers(Some(CurrentGeneration {
                generation: Generation(5),
                previous: Some(Generation(3)),
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
        remove_without_current(directory.path());
    }

    fn remove_without_current(directory: &Path) {
        DirectoryLayout::read(directory).unwrap().remove_leftovers(None).unwrap();
        assert_eq!(names(directory), Vec::<String>::new());
    }

    fn layout(names: &[&str]) -> DirectoryLayout {
        let directory = Path::new("data");
        let paths = names.iter().map(|name| directory.join(name)).collect();
        DirectoryLayout::of_paths(directory, paths)
    }

    #[test]
    fn a_later_generation_is_never_what_an_interrupted_creation_left() {
        let left = ["mark", "snapshots-000001", "journal-000001", "journal-000001.new", COPY];
        layout(&left).expect_leftovers_only().unwrap();
        for name in ["snapshots-000002", "journal-000002", "journal-000002.new", "notes"] {
            let refused = layout(&[name]).expect_leftovers_only().expect_err(name);
            let is_named =
                matches!(&refused, StoreError::Foreign { found, .. } if found.ends_with(name));
            assert!(is_named, "{refused}");
        }
    }

    #[test]
    fn snapshots_alone_or_a_journal_alone_are_a_generation() {
        assert!(!layout(&["mark", "journal-000001.new"]).holds_a_generation());
        assert!(layout(&["snapshots-000004"]).holds_a_generation());
        assert!(layout(&["journal-000004"]).holds_a_generation());
    }

    #[test]
    fn after_an_import_the_newest_older_generation_stays() {
        let names = [
            "journal-000002",
            "journal-000003",
            "journal-000005",
            "snapshots-000002",
            "snapshots-000003",
            "snapshots-000005",
            "snapshots-000006",
        ];
        let current = CurrentGeneration { generation: Generation(5), previous: None };
        let leftovers = ["snapshots-000002", "snapshots-000006", "journal-000002"];
        let leftovers = leftovers.map(|name| Path::new("data").join(name));
        assert_eq!(layout(&names).leftovers(Some(current)), leftovers);
    }
}
