//! Limits on account links: by the source that requests them, by the address that gets them, and by
//! the space that they take until they have left. Reference 3.6.

use std::net::IpAddr;

use ipnet::IpNet;
use sha2::{Digest as _, Sha256};

use crate::domain::records::account_link::LINK_SECONDS;
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::Email;
use crate::domain::time::{HOUR, Instant};
use crate::http::error::ApiError;
use crate::http::limits::saved_counts::NamedCounts;
use crate::http::limits::sliding_window::{SlidingWindow, source};
use crate::http::limits::source_networks::SourceNetworks;

/// Maximum number of links that one source may request within [`SOURCE_SECONDS`].
pub(crate) const LINKS_PER_SOURCE_MAX: usize = 200;
/// Seconds for which a link counts for its source.
const SOURCE_SECONDS: i64 = HOUR;
/// Maximum number of password links to one address in a group within [`EMAIL_SECONDS`].
pub(crate) const LINKS_PER_EMAIL_MAX: usize = 5;
/// Seconds for which a link counts for its address.
pub(crate) const EMAIL_SECONDS: i64 = 6 * HOUR;
/// Bytes that links of one group may take until they have left.
pub(crate) const LINK_BYTES_MAX: u64 = 8 << 20;
/// The part of a group's quota of space that they may take, if that is less.
pub(crate) const LINK_QUOTA_PART: u64 = 16;
/// The parts of these bytes that one network may ask for while a link is valid: a source, a /56,
/// and a /48 or a /24.
pub(crate) const NETWORK_PARTS: [u64; 3] = [8, 4, 2];

/// The account links of late.
#[derive(Debug)]
pub(crate) struct LinkLimit {
    requested: SlidingWindow<IpAddr>,
    /// By group and e-mail address, as the SHA-256 of both.
    mailed: SlidingWindow<[u8; 32]>,
    /// Bytes that links of one group may take until they have left.
    bytes_max: u64,
    /// Bytes of the links that a network has asked for in a group, each network by its length.
    asked_bytes: [SlidingWindow<(GroupId, IpNet)>; NETWORK_PARTS.len()],
}

impl LinkLimit {
    /// Returns the limits without any link, for groups with a quota of space.
    pub(crate) fn new(group_bytes_max: Option<u64>) -> Self {
        let of_quota = |quota: u64| LINK_BYTES_MAX.min(quota / LINK_QUOTA_PART);
        let bytes_max = group_bytes_max.map_or(LINK_BYTES_MAX, of_quota);
        let of_network = |part| {
            let limit = usize::try_from(bytes_max / part).unwrap_or(usize::MAX).max(1);
            // Full hours are counted, so the first one counts for an hour longer.
            SlidingWindow::new(limit, LINK_SECONDS + HOUR)
        };
        Self {
            requested: SlidingWindow::new(LINKS_PER_SOURCE_MAX, SOURCE_SECONDS),
            mailed: SlidingWindow::new(LINKS_PER_EMAIL_MAX, EMAIL_SECONDS),
            bytes_max,
            asked_bytes: NETWORK_PARTS.map(of_network),
        }
    }

    /// The counts, for other servers of a cluster.
    pub(crate) fn counts(&self) -> [NamedCounts<'_>; 5] {
        let [own, site, widest] = &self.asked_bytes;
        [
            NamedCounts::new("links.sources", &self.requested),
            NamedCounts::new("links.emails", &self.mailed),
            NamedCounts::new("links.bytes_own", own),
            NamedCounts::new("links.bytes_site", site),
            NamedCounts::new("links.bytes_widest", widest),
        ]
    }

    /// Bytes that links of one group may take until they have left.
    pub(crate) const fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Counts the bytes of a link that a source requests, for each network around it.
    ///
    /// # Errors
    /// 429 if a network has requested its part. Nothing is counted then.
    pub(crate) fn count_bytes(
        &self,
        group: GroupId,
        from: IpAddr,
        bytes: u64,
        now: Instant,
    ) -> Result<(), ApiError> {
        let SourceNetworks { own, site, widest } = SourceNetworks::around(from);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        // So a network has few moments.
        let hour = Instant(now.0 - now.0.rem_euclid(HOUR));
        let mut counted = Vec::new();
        for (window, network) in self.asked_bytes.iter().zip([Some(own), site, Some(widest)]) {
            let Some(network) = network else { continue };
            if let Err(seconds) = window.try_add(&(group, network), bytes, hour) {
                for (window, network) in counted {
                    SlidingWindow::take_back(window, &(group, network), bytes, hour);
                }
                return Err(ApiError::too_many("links were requested from this network", seconds));
            }
            counted.push((window, network));
        }
        Ok(())
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_link_count_for_its_network_from_the_full_hour() {
        let limit = LinkLimit::new(None);
        let group = GroupId::new(1).expect("an id");
        let count = |bytes, now| limit.count_bytes(group, [10, 0, 0, 1].into(), bytes, now).is_ok();
        let full_hour = Instant(10 * HOUR);
        assert!(count(LINK_BYTES_MAX / NETWORK_PARTS[0], full_hour.plus_seconds(HOUR / 2)));
        assert!(!count(1, full_hour.plus_seconds(HOUR / 2)), "it has asked for its part");
        assert!(!count(1, full_hour.plus_seconds(LINK_SECONDS + HOUR - 1)));
        assert!(count(1, full_hour.plus_seconds(LINK_SECONDS + HOUR)));
    }
}
