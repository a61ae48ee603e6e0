//! The number of a record in the path of a screen.

/// The path of a screen of one record, beside other placeholders.
#[derive(serde::Deserialize)]
pub(crate) struct RecordPath {
    id: String,
}

impl RecordPath {
    /// Returns the id in the path; `None` if it is no id.
    pub(crate) fn id<T>(&self, parse: impl FnOnce(u64) -> Option<T>) -> Option<T> {
        self.id.parse().ok().and_then(parse)
    }
}
