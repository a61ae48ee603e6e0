//! Notes whether a write of a task has become durable. Such an answer may leave a server of a
//! cluster whatever became of its lease: the write is in the history that all servers share.

use std::cell::Cell;
use std::future::Future;

tokio::task_local! {
    /// Whether a write of the task was durable and changed something.
    static CONFIRMED: Cell<bool>;
}

/// Runs `answering`. Returns its output, and whether a write of its own was confirmed meanwhile.
pub(crate) async fn noting<T>(answering: impl Future<Output = T>) -> (T, bool) {
    CONFIRMED
        .scope(Cell::new(false), async {
            let answer = answering.await;
            (answer, CONFIRMED.with(Cell::get))
        })
        .await
}

/// Notes a durable write of the task, where that is asked for.
pub(crate) fn note() {
    // It is not asked for elsewhere.
    let _ = CONFIRMED.try_with(|confirmed| confirmed.set(true));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_confirmed_write_is_noted_in_its_own_task_only() {
        note();
        assert_eq!(noting(async { 1 }).await, (1, false));
        let other = tokio::spawn(async { note() });
        let both = noting(async {
            other.await.expect("it ends");
            2
        });
        assert_eq!(both.await, (2, false));
        assert_eq!(noting(async { note() }).await, ((), true));
    }
}
