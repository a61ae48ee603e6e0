//! The proof that a booking is permitted. Reference 6.1.

use std::fmt;
use std::sync::Arc;

use crate::domain::availability::catalogue::Catalogue;

/// The proof that a booking is permitted on one catalogue. Reference 6.1.
///
/// Only the check itself makes one. On a later catalogue the proof does not hold, and the decision
/// repeats the check.
#[derive(Clone)]
pub struct BookingPermission(Arc<Catalogue>);

impl BookingPermission {
    pub(in crate::domain) const fn new(catalogue: Arc<Catalogue>) -> Self {
        Self(catalogue)
    }

    /// Whether the booking was checked on this very catalogue.
    pub(in crate::domain) fn holds_on(&self, catalogue: &Arc<Catalogue>) -> bool {
        Arc::ptr_eq(&self.0, catalogue)
    }
}

impl fmt::Debug for BookingPermission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BookingPermission").finish_non_exhaustive()
    }
}
