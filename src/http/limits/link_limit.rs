//! Limits on account links: by the source that requests them, and by the address that gets them.
//! Reference 3.6.

use std::net::IpAddr;

use sha2::{Digest as _, Sha256};

use crate::domain::records::ids::GroupId;
use crate::domain::records::text::Email;
use crate::domain::time::{HOUR, Instant};
use crate::http::error::ApiError;
use crate::http::limits::sliding_window::{SlidingWindow, source};

/// Maximum number of links that one source may request within [`SOURCE_SECONDS`].
pub(crate) const LINKS_PER_SOURCE_MAX: usize = 200;
/// Seconds for which a link counts for its source.
const SOURCE_SECONDS: i64 = HOUR;
/// Maximum number of password links to one address in a group within [`EMAIL_SECONDS`].
pub(crate) const LINKS_PER_EMAIL_MAX: usize = 5;
/// Seconds for which a link counts for its address.
pub(crate) const EMAIL_SECONDS: i64 = 6 * HOUR;

/// The account links of late.
#[derive(Debug)]
pub(crate) struct LinkLimit {
    requested: SlidingWindow<IpAddr>,
    /// By group and e-mail address, as the SHA-256 of both.
    mailed: SlidingWindow<[u8; 32]>,
}

impl Default for LinkLimit {
    fn default() -> Self {
        Self {
            requested: SlidingWindow::new(LINKS_PER_SOURCE_MAX, SOURCE_SECONDS),
            mailed: SlidingWindow::new(LINKS_PER_EMAIL_MAX, EMAIL_SECONDS),
        }
    }
}

impl LinkLimit {
    /// Counts a link that a source requests.
    ///
    /// # Errors
    /// 429 if the source has requested the maximum.
    pub(crate) fn count_requested(&self, from: IpAddr, now: Instant) -> Result<(), ApiError> {
        match self.requested.try_add(&source(from), 1, now) {
            Ok(()) => Ok(()),
            Err(seconds) => {
                Err(ApiError::too_many("links were requested from this address", seconds))
            }
        }
    }

    /// Counts a password link to an address. Returns whether it may be mailed.
    pub(crate) fn count_mailed(&self, group: GroupId, email: &Email, now: Instant) -> bool {
        let address = Sha256::new_with_prefix(group.number().to_be_bytes());
        let address = address.chain_update(email.folded().as_bytes()).finalize().into();
        self.mailed.try_add(&address, 1, now).is_ok()
    }
}
