//! The last use of each application key, to the day. A key causes one write a day at most.
//! Reference 3.1.

use crate::domain::directory::Directory;
use crate::domain::directory::access::ChangeAccess;
use crate::domain::directory::group_keys::{ChangeGroupKeys, begin_of_day};
use crate::domain::time::Instant;
use crate::engine::Engine;
use crate::http::auth::gathering::{Gathering, NotedThisHour};

/// Maximum number of keys whose use waits to be written.
const WAITING_MAX: usize = 10_000;

/// The keys whose use of today is not written yet. One that is lost is found by the first use of
/// the next hour.
pub(crate) struct KeyUses {
    noted: NotedThisHour<[u8; 32]>,
    waiting: Gathering<[u8; 32]>,
}

impl KeyUses {
    pub(crate) fn new() -> Self {
        Self { noted: NotedThisHour::new(), waiting: Gathering::new(WAITING_MAX) }
    }

    /// Records that a known key is used. Once its use of today is written, it takes no lock.
    pub(crate) fn record(
        &self,
        hash: [u8; 32],
        directory: &Directory,
        engine: &Engine,
        now: Instant,
    ) {
        if directory.keys_used.get(&hash) == Some(&begin_of_day(now)) {
            return;
        }
        let mut noted = self.noted.at(now);
        if noted.contains(&hash) {
            return;
        }
        let engine = engine.clone();
        let is_taken = self.waiting.add(hash, async move |used| {
            let change = ChangeAccess::ChangeGroupKeys(ChangeGroupKeys::RecordUses(used));
            if let Err(error) = engine.change_access(None, change).await {
                tracing::debug!(?error, "uses of keys are not recorded");
            }
        });
        if is_taken {
            noted.insert(hash);
        }
    }
}
