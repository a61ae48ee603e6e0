//! Requests for a pair of generations at once, which the compactor takes. Reference 17.3.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Result of a pair of generations that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairOutcome {
    /// Both were made.
    Made,
    /// They were not, and the log says why: the disk has no room, or a snapshot is damaged.
    Failed,
}

/// The requests that wait for the compactor.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompactionRequests(Arc<Mutex<Vec<oneshot::Sender<PairOutcome>>>>);

impl CompactionRequests {
    /// Adds a request. The answer comes when both generations are made.
    pub(crate) fn add(&self) -> oneshot::Receiver<PairOutcome> {
        let (reply, answer) = oneshot::channel();
        self.0.lock().push(reply);
        answer
    }

    /// Takes all requests that wait.
    pub(crate) fn take(&self) -> Vec<oneshot::Sender<PairOutcome>> {
        std::mem::take(&mut self.0.lock())
    }
}
