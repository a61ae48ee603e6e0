//! Writes beside the requests: what comes within a second is written together, and no answer waits
//! for it.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};

use crate::domain::time::{HOUR, Instant};

/// Time for which items are gathered before they are written.
const GATHERED: Duration = Duration::from_secs(1);

/// Items that wait to be written together. A crash loses them.
pub(crate) struct Gathering<T> {
    waiting: Arc<Mutex<Vec<T>>>,
    /// Maximum number of items that wait. Beyond it they are dropped.
    waiting_max: usize,
}

impl<T: Send + 'static> Gathering<T> {
    pub(crate) fn new(waiting_max: usize) -> Self {
        Self { waiting: Arc::default(), waiting_max }
    }

    /// Adds an item, and returns whether there was room. The `write` of the first one gets all that
    /// come within a second.
    pub(crate) fn add<F: Future<Output = ()> + Send>(
        &self,
        item: T,
        write: impl FnOnce(Vec<T>) -> F + Send + 'static,
    ) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= self.waiting_max {
            return false;
        }
        waiting.push(item);
        if waiting.len() > 1 {
            return true;
        }
        drop(waiting);
        let waiting = Arc::clone(&self.waiting);
        tokio::spawn(async move {
            tokio::time::sleep(GATHERED).await;
            let items = std::mem::take(&mut *waiting.lock());
            write(items).await;
        });
        true
    }
}

/// The items of the present hour, each of which is noted once.
pub(crate) struct NotedThisHour<T>(Mutex<HourlyItems<T>>);

struct HourlyItems<T> {
    /// The hour, in hours since 1970.
    hour: i64,
    items: BTreeSet<T>,
}

impl<T: Ord> NotedThisHour<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(HourlyItems { hour: 0, items: BTreeSet::new() }))
    }

    /// Returns the items of the hour of a moment. Those of another hour are forgotten.
    pub(crate) fn at(&self, now: Instant) -> MappedMutexGuard<'_, BTreeSet<T>> {
        let mut noted = self.0.lock();
        let hour = now.0.div_euclid(HOUR);
        if noted.hour != hour {
            noted.hour = hour;
            noted.items.clear();
        }
        MutexGuard::map(noted, |noted| &mut noted.items)
    }
}
