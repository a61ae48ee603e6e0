//! Tasks that keep a running server's store and memory small: emptying, removal, the return of
//! freed memory, and the watch over the space of each group. Reference 6.15, 6.16, 3.8.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::cli::freed_memory;
use crate::config::options::ServeOptions;
use crate::domain::records::ids::GroupId;
use crate::engine::{Engine, Retained};

/// Interval at which deleted events are emptied and removed, and the history ends.
const RETENTION_INTERVAL: Duration = Duration::from_hours(1);
/// Interval at which the space of each group is compared with the quota.
const SPACE_INTERVAL: Duration = Duration::from_secs(60);

/// Starts the tasks; the watch over the space only if there is a quota.
pub(crate) fn start(engine: &Engine, options: &ServeOptions) {
    let retention = Retention {
        empty_days: options.empty_cancelled_days,
        remove_days: options.keep_deleted_days,
    };
    tokio::spawn(retention.keep(engine.clone()));
    freed_memory::start_returning();
    if let Some(bytes_max) = group_bytes_max(options) {
        tokio::spawn(watch_space(engine.clone(), bytes_max));
    }
}

/// Returns the bytes that the records of a group may take; `None` if there is no quota.
pub(crate) fn group_bytes_max(options: &ServeOptions) -> Option<u64> {
    if options.group_mib == 0 { None } else { Some(options.group_mib << 20) }
}

/// Days for which deleted events are kept; 0 for ever.
#[derive(Clone, Copy)]
struct Retention {
    /// With their texts.
    empty_days: u32,
    /// At all.
    remove_days: u32,
}

impl Retention {
    /// Empties and removes deleted events, ends old rows of the history, and carries the retention
    /// of groups out, now and every hour.
    async fn keep(self, engine: Engine) {
        let mut interval = tokio::time::interval(RETENTION_INTERVAL);
        loop {
            interval.tick().await;
            if let Some(days) = self.days_before_emptying() {
                let emptied = engine.empty_cancelled(days).await;
                if emptied > 0 {
                    tracing::info!(emptied, days, "cancelled web bookings were emptied");
                }
            }
            if self.remove_days > 0 {
                let removed = engine.remove_deleted(self.remove_days).await;
                if removed > 0 {
                    let keep_days = self.remove_days;
                    tracing::info!(removed, keep_days, "deleted events were removed for good");
                }
            }
            engine.end_access_history().await;
            let steps = engine.end_history().await;
            if steps > 0 {
                tracing::info!(steps, "old rows of the history were ended");
            }
            let retained = engine.retain().await;
            if retained != Retained::default() {
                let Retained { appointments, clients, accounts } = retained;
                tracing::info!(appointments, clients, accounts, "the retention was carried out");
            }
        }
    }

    /// A client is emptied because of its cancelled bookings, so that comes before their removal.
    const fn days_before_emptying(self) -> Option<u32> {
        match (self.empty_days, self.remove_days) {
            (0, _) => None,
            (days, 0) => Some(days),
            (days, remove_days) if days < remove_days => Some(days),
            (_, remove_days) => Some(remove_days),
        }
    }
}

/// Warns of each group that has nearly used up its quota, once until it has space again.
async fn watch_space(engine: Engine, bytes_max: u64) {
    let mut interval = tokio::time::interval(SPACE_INTERVAL);
    let mut warned: BTreeSet<GroupId> = BTreeSet::new();
    loop {
        interval.tick().await;
        let nearly_full = engine.find_nearly_full(bytes_max).await;
        for (group, bytes) in &nearly_full {
            if !warned.contains(group) {
                tracing::warn!(
                    %group,
                    bytes,
                    bytes_max,
                    "a group has used 80 % of its space: applications write no more, and at 90 % \
                     neither do accounts; remove what is not needed or raise --group-mib"
                );
            }
        }
        warned = nearly_full.into_iter().map(|(group, _)| group).collect();
    }
}
