//! Notes whether a write of a task has become durable. Such an answer may leave a server of a
//! cluster whatever became of its lease: the write is in the history that all servers share.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

tokio::task_local! {
    /// Whether a write of the task, or of one for it, was durable and changed something.
    static CONFIRMED: Arc<AtomicBool>;
}

/// Runs `answering`. Returns its output, and whether a write of its own was confirmed meanwhile.
pub(crate) async fn noting<T>(answering: impl Future<Output = T>) -> (T, bool) {
    let confirmed = Arc::new(AtomicBool::new(false));
    let answer = CONFIRMED.scope(Arc::clone(&confirmed), answering).await;
    (answer, confirmed.load(Ordering::Relaxed))
}

/// Makes `part` one that another task can run for this one: what it confirms is noted here.
pub(crate) fn noted_here<F: Future>(part: F) -> impl Future<Output = F::Output> {
    let confirmed = CONFIRMED.try_with(Arc::clone).ok();
    async move {
        match confirmed {
            Some(confirmed) => CONFIRMED.scope(confirmed, part).await,
            None => part.await,
        }
    }
}

/// Notes a durable write of the task, where that is asked for.
pub(crate) fn note() {
    // It is not asked for elsewhere.
    let _ = CONFIRMED.try_with(|confirmed| confirmed.store(true, Ordering::Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_confirmed_write_is_noted_in_its_own_task_and_in_those_for_it() {
        note();
        assert_eq!(noting(async { 1 }).await, (1, false));
        let other = tokio::spawn(async { note() });
        let both = noting(async {
            other.await.expect("it ends");
            2
        });
        assert_eq!(both.await, (2, false));
        assert_eq!(noting(async { note() }).await, ((), true));
        let part = async { tokio::spawn(noted_here(async { note() })).await.expect("it ends") };
        assert_eq!(noting(part).await, ((), true));
    }
}
