//! A server that decides hands over to another one of its cluster, without an error for any client.
//! Reference 11.1.

use std::time::Duration;

use crate::cli::joined_cluster::ServedCluster;
use crate::engine::Lease;
use crate::store::BEAT_INTERVAL;

/// Time for which a server that has handed over forwards requests: balancers notice meanwhile that
/// it does not decide.
pub(crate) const FORWARDING_TIME: Duration = Duration::from_secs(10);
/// Interval at which a server looks whether it is to hand over.
const ASKED_INTERVAL: Duration = Duration::from_millis(100);
/// Time from the request to hand over until it is done. Meanwhile its successor learns of it, and
/// looks often.
const NOTICE_TIME: Duration = BEAT_INTERVAL.saturating_mul(2);

/// Returns once this server is asked to hand over, and its successor knows that; never without a
/// cluster.
pub(crate) async fn asked(cluster: Option<&ServedCluster>) {
    let Some(cluster) = cluster else { return std::future::pending().await };
    let lease = cluster.joined.lease();
    while !is_asked(&lease) {
        tokio::time::sleep(ASKED_INTERVAL).await;
    }
    tracing::info!("handing over to another server of the cluster");
    tokio::time::sleep(NOTICE_TIME).await;
}

/// Whether a server is to hand over, and can: without its lease it is not known to decide.
fn is_asked(lease: &Lease) -> bool {
    lease.is_to_hand_over() && lease.is_held()
}
