//! Legal values for some fields of a record, before the record is known. Reference 12.

use std::fmt;
use std::sync::Arc;

use crate::domain::state::editable_record::EditableRecord;

/// Legal values for some fields of a record. They are applied to the record as it is when the
/// command is decided.
#[derive(Clone)]
pub struct Patch<R>(Vec<Setter<R>>);

/// Sets one field of a record to a legal value.
type Setter<R> = Arc<dyn Fn(&mut R) + Send + Sync>;

/// The legal values given for a record.
#[derive(Clone, Debug)]
pub struct Put<R: EditableRecord> {
    /// The record; `None` makes a new one.
    pub id: Option<R::Id>,
    /// The fields given.
    pub fields: Patch<R>,
}

impl<R> Patch<R> {
    /// Adds a field with its new value.
    pub fn push(&mut self, set: impl Fn(&mut R) + Send + Sync + 'static) {
        self.0.push(Arc::new(set));
    }

    /// Whether it has no field.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets all fields of a record, in the order given.
    pub fn apply_to(&self, record: &mut R) {
        for set in &self.0 {
            set(record);
        }
    }
}

impl<R> Default for Patch<R> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<R> fmt::Debug for Patch<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Patch({} fields)", self.0.len())
    }
}
