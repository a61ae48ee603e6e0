//! What is wrong with a document, each by its place.

use std::fmt;

use crate::domain::state::refusal::Fault;

/// Most faults that an import names before it gives up.
pub(super) const FAULTS_MAX: usize = 20;

/// One thing that is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportFault {
    /// Where: `groups[0].vevents[17].end`.
    pub path: String,
    /// What was wrong and what would be right.
    pub rule: String,
}

impl fmt::Display for ImportFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.rule)
    }
}

/// The first faults of a document.
#[derive(Debug, Default)]
pub(super) struct ImportFaults(Vec<ImportFault>);

impl ImportFaults {
    pub(super) fn add(&mut self, path: impl Into<String>, rule: impl Into<String>) {
        if !self.full() {
            self.0.push(ImportFault { path: path.into(), rule: rule.into() });
        }
    }

    /// Adds what is wrong with the fields of the object at `path`.
    pub(super) fn extend(&mut self, path: &str, faults: Vec<Fault>) {
        for fault in faults {
            self.add(format!("{path}.{}", fault.field), fault.rule);
        }
    }

    /// Whether there is no point in looking further.
    pub(super) fn full(&self) -> bool {
        self.0.len() >= FAULTS_MAX
    }

    /// The value, where nothing is wrong.
    pub(super) fn none_or<T>(&mut self, value: T) -> Result<T, Vec<ImportFault>> {
        if self.0.is_empty() { Ok(value) } else { Err(std::mem::take(&mut self.0)) }
    }
}
