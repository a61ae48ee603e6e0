//! The parts of an answer, for a response of its own or for a row of a batch.

use axum::http::StatusCode;

use crate::domain::state::precondition::ShownObject;

/// An answer that shows an object, or an error.
pub(crate) struct AnswerParts {
    pub(crate) status: StatusCode,
    /// Serialised JSON.
    pub(crate) bytes: Vec<u8>,
    /// The entity tag of a single object.
    pub(crate) tag: Option<String>,
    /// The path of a new object in its group, or of the first of several.
    pub(crate) location: Option<String>,
}

impl AnswerParts {
    /// 200 with an object.
    pub(crate) fn object(shown: ShownObject) -> Self {
        let ShownObject { json, tag } = shown;
        Self { status: StatusCode::OK, bytes: json, tag: Some(tag), location: None }
    }
}
