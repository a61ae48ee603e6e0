//! Ten times the load that the store can take.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::clients;
use super::server::Loaded;
use super::{resident_mib, so_many, told};

/// Writes that are let in at once, and so the most that a batch holds: fewer in a short run, whose program is not optimised
/// and would have no time left to refuse.
fn bound() -> usize {
    usize::try_from(so_many(16, 64)).expect("small")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_much_is_refused_and_what_was_answered_is_there() {
    let bound = bound();
    let server = Loaded::start(Duration::from_millis(10), bound, 0).await;
    let next = Arc::new(AtomicU64::new(0));
    let seconds = so_many(2, 30);
    let half = clients::book(server.address, bound / 2, &next, seconds).await;
    println!("half of what it takes: {}", told(half.booked_seconds));
    assert!(half.refused_seconds.is_empty(), "whoever it can take is taken");
    let before = resident_mib();
    let much = clients::book(server.address, 10 * bound, &next, seconds).await;
    let grown = resident_mib().saturating_sub(before);
    println!("ten times what it takes, booked: {}", told(much.booked_seconds));
    println!("ten times what it takes, refused: {}", told(much.refused_seconds.clone()));
    println!("memory grew by {grown} MiB");
    assert!(!much.refused_seconds.is_empty() && !much.booked.is_empty());
    assert!(grown < 256, "{grown} MiB");
    let answered: Vec<_> = half.booked.iter().chain(&much.booked).collect();
    for (place, group_state) in [("shown", &*server.published()), ("on disk", &server.recovered())]
    {
        let kept = answered
            .iter()
            .filter(|id| group_state.rows.get(id).is_some_and(|row| row.appointment().is_some()));
        assert_eq!(kept.count(), answered.len(), "all that was answered is {place}");
        let appointments =
            group_state.rows.values().filter(|row| row.appointment().is_some()).count();
        assert_eq!(
            appointments,
            answered.len(),
            "and nothing else: a 503 has done nothing, {place}"
        );
    }
}
