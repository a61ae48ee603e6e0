//! The last use of each application key, to the day. A key causes one write a day at most.
//! Reference 3.1.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::domain::directory::Directory;
use crate::domain::directory::access::ChangeAccess;
use crate::domain::directory::group_keys::{ChangeGroupKeys, begin_of_day};
use crate::domain::time::Instant;
use crate::engine::Engine;

/// Time for which uses are gathered before they are written together.
const GATHERING: Duration = Duration::from_secs(1);

/// The keys whose use of today is not written yet. They are lost in a crash, and the next use of
/// each finds that.
#[derive(Default)]
pub(crate) struct KeyUses(Arc<Mutex<BTreeSet<[u8; 32]>>>);

impl KeyUses {
    /// Records that a known key is used. Only the first use of a day takes the lock.
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
        let mut gathered = self.0.lock();
        let is_first = gathered.is_empty();
        gathered.insert(hash);
        drop(gathered);
        if !is_first {
            return;
        }
        let (gathered, engine) = (Arc::clone(&self.0), engine.clone());
        tokio::spawn(async move {
            tokio::time::sleep(GATHERING).await;
            let used = std::mem::take(&mut *gathered.lock()).into_iter().collect();
            let change = ChangeAccess::ChangeGroupKeys(ChangeGroupKeys::RecordUses(used));
            if let Err(error) = engine.change_access(None, change).await {
                tracing::debug!(?error, "uses of keys are not recorded");
            }
        });
    }
}
