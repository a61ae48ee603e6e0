//! Faults in the fields of a request. Reference 2.2.

/// A fault in one field of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The path of the field in the request: `date`, `fiche.email`.
    pub field: String,
    /// The rule that the field breaks, such as "must not be blank".
    pub rule: String,
}

impl Fault {
    /// Makes a fault of a field.
    pub fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { field: field.into(), rule: rule.into() }
    }

    /// Prefixes the path with the object that holds the field.
    #[must_use]
    pub fn within(self, object: &str) -> Self {
        Self { field: format!("{object}.{}", self.field), rule: self.rule }
    }
}
