//! The list of erased clients of an engine with a data directory. Reference 17.2.

use std::sync::Arc;

use tokio::sync::Mutex;

use crate::engine::write::Rejection;
use crate::store::{ForgottenFile, StoreError};

/// The list of erased clients of the data directory, if the engine has one. It is locked from the
/// lines of an erasure to its answer.
#[derive(Clone, Default)]
pub(crate) struct ForgottenList(pub(crate) Arc<Mutex<Option<ForgottenFile>>>);

/// Reason why nothing was erased.
#[derive(Debug, thiserror::Error)]
pub enum ErasureError {
    /// The group has rejected it.
    #[error("the group has rejected it")]
    Rejected(Rejection),
    /// The list of erased clients cannot be written.
    #[error(transparent)]
    Unlisted(StoreError),
}

impl From<Rejection> for ErasureError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}
