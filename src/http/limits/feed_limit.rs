//! Limits on reading calendar feeds: by the secret of the link, and by the source of wrong ones.
//! Reference 19.4.

use std::net::IpAddr;

use crate::domain::time::{HOUR, Instant};
use crate::http::error::ApiError;
use crate::http::limits::saved_counts::NamedCounts;
use crate::http::limits::sliding_window::{SlidingWindow, source};

/// Maximum number of times that one link is read within [`READ_SECONDS`].
pub(crate) const READS_PER_LINK_MAX: usize = 60;
/// Seconds for which a read of a link counts.
const READ_SECONDS: i64 = HOUR;
/// Number of wrong links of one source within [`WRONG_SECONDS`] after which further ones get 429.
pub(crate) const WRONG_PER_SOURCE_MAX: usize = 30;
/// Seconds for which a wrong link counts.
const WRONG_SECONDS: i64 = 600;

/// The reads of calendar feeds of late.
#[derive(Debug)]
pub(crate) struct FeedLimit {
    /// By the SHA-256 of the secret. Only secrets that exist are counted, so that strangers push
    /// out none.
    reads: SlidingWindow<[u8; 32]>,
    wrong: SlidingWindow<IpAddr>,
}

impl Default for FeedLimit {
    fn default() -> Self {
        Self {
            reads: SlidingWindow::new(READS_PER_LINK_MAX, READ_SECONDS),
            wrong: SlidingWindow::new(WRONG_PER_SOURCE_MAX, WRONG_SECONDS),
        }
    }
}

impl FeedLimit {
    /// The counts, for other servers of a cluster.
    pub(crate) fn counts(&self) -> [NamedCounts<'_>; 2] {
        [
            NamedCounts::new("calendarfeeds.reads", &self.reads),
            NamedCounts::new("calendarfeeds.wrong", &self.wrong),
        ]
    }

    /// Counts a read of the link whose secret has a SHA-256.
    ///
    /// # Errors
    /// 429 if the link has been read too often.
    pub(crate) fn count_read(&self, secret_hash: &[u8; 32], now: Instant) -> Result<(), ApiError> {
        let counted = self.reads.try_add(secret_hash, 1, now);
        counted.map_err(|seconds| ApiError::too_many("requests for this link", seconds))
    }

    /// Counts a wrong link of a source. The right one is never locked out: no number of tries
    /// guesses 256 bits, and many people may have one address.
    ///
    /// # Errors
    /// 429 after too many.
    pub(crate) fn count_wrong(&self, from: IpAddr, now: Instant) -> Result<(), ApiError> {
        let counted = self.wrong.try_add(&source(from), 1, now);
        counted.map_err(|seconds| ApiError::too_many("wrong links came from this address", seconds))
    }
}
