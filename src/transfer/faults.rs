//! Faults of a document, each with its path. Reference 11.2.

use std::fmt;

use crate::domain::records::customfield::CustomName;
use crate::domain::records::fault::Fault;
use crate::domain::records::text::InvalidValue;

/// Maximum number of faults that an import reports.
pub(crate) const FAULTS_MAX: usize = 20;

/// One fault of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportFault {
    /// Path of the value: `groups[0].vevents[17].end`.
    pub path: String,
    /// The rule that the value breaks.
    pub rule: String,
}

impl fmt::Display for ImportFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.rule)
    }
}

/// The first faults of a document, at most [`FAULTS_MAX`].
#[derive(Debug, Default)]
pub(crate) struct ImportFaults {
    faults: Vec<ImportFault>,
    /// Whether faults of references are left out, since they may follow from earlier faults.
    leaves_out_references: bool,
}

impl ImportFaults {
    pub(crate) fn add(&mut self, path: impl Into<String>, rule: impl Into<String>) {
        let path = path.into();
        let is_left_out = self.leaves_out_references && is_reference(&path);
        if !self.is_full() && !is_left_out {
            self.faults.push(ImportFault { path, rule: rule.into() });
        }
    }

    /// Begins a part of the document that refers to those before. If they have faults, those of its
    /// references are left out: what they name may be a row with a fault.
    pub(crate) fn begin_dependent_part(&mut self) {
        self.leaves_out_references = !self.faults.is_empty();
    }

    /// Whether no fault was found so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Adds the faults of fields of the object at `path`.
    pub(crate) fn extend(&mut self, path: &str, faults: Vec<Fault>) {
        for fault in faults {
            self.add(format!("{path}.{}", fault.field), fault.rule);
        }
    }

    /// Returns what was parsed of the object at `path`; `None` after adding its faults.
    pub(crate) fn keep<T>(&mut self, path: &str, parsed: Result<T, Vec<Fault>>) -> Option<T> {
        match parsed {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.extend(path, wrong);
                None
            }
        }
    }

    /// Returns what was parsed of a field of the object at `path`; `None` after adding its fault.
    pub(crate) fn keep_field<T>(
        &mut self,
        path: &str,
        name: &str,
        parsed: Result<T, InvalidValue>,
    ) -> Option<T> {
        self.keep(path, parsed.map_err(|InvalidValue(rule)| vec![Fault::new(name, rule)]))
    }

    /// Whether further faults would not be reported.
    pub(crate) fn is_full(&self) -> bool {
        self.faults.len() >= FAULTS_MAX
    }

    /// Returns the faults as an error, if there are any.
    ///
    /// # Errors
    ///
    /// The faults added so far.
    pub(crate) fn check_none(&mut self) -> Result<(), Vec<ImportFault>> {
        if self.is_empty() { Ok(()) } else { Err(std::mem::take(&mut self.faults)) }
    }
}

/// Whether a path leads to the ids of other rows, such as `groups[0].vevents[17].calendar_id`, or
/// to a customised attribute, which has a definition.
fn is_reference(path: &str) -> bool {
    let field = path.rsplit('.').next().unwrap_or_default();
    let name = field.split('[').next().unwrap_or_default();
    let is_named = ["merged_into", "calendars", "groups"].contains(&name);
    let is_custom = CustomName::new(name).is_some();
    is_named
        || is_custom
        || name.ends_with("_id")
        || name.ends_with("_ids")
        || path.contains(".appointments[")
}
