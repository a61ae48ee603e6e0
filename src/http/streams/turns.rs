//! The readers of a group, who get its bursts turn by turn. Reference 18.3.
//!
//! A burst wakes the readers of one turn at a time: all of them at once would keep the cores from
//! bookings, and each by a timer of its own would interrupt them as often as there are readers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant as Stopwatch;

use crate::domain::records::ids::GroupId;
use crate::engine::Engine;
use crate::engine::change_wakeups::ChangeWatch;
use crate::http::streams::bursts::Burst;

/// Maximum number of readers of a turn.
const READERS_PER_TURN: usize = 25;
/// Time from one turn to the next, and shortest time between two bursts.
const TURN_TIME: Duration = Duration::from_millis(20);
/// Time after which readers without a burst are woken, to see whether they still may read. It is
/// longer than all turns of a full server take.
const CHECK_TIME: Duration = Duration::from_secs(1);

/// The readers of all groups.
pub(super) type GroupTurns = Arc<Mutex<BTreeMap<GroupId, Turns>>>;

/// The readers of one group, by turns. Each turn holds the last burst that it got.
pub(super) struct Turns(Vec<watch::Sender<Arc<Burst>>>);

impl Turns {
    /// The first reader of a group, with its part of the bursts.
    pub(super) fn begin(burst: Arc<Burst>) -> (Self, watch::Receiver<Arc<Burst>>) {
        let (turn, receiver) = watch::channel(burst);
        (Self(vec![turn]), receiver)
    }

    /// Adds a reader to the first turn that has room. Returns its part of the bursts.
    pub(super) fn add(&mut self) -> watch::Receiver<Arc<Burst>> {
        if let Some(turn) = self.0.iter().find(|turn| turn.receiver_count() < READERS_PER_TURN) {
            return turn.subscribe();
        }
        // What the newest turn got was published before this reader came.
        let burst = self.0.last().map(|turn| Arc::clone(&turn.borrow()));
        let (turn, receiver) = watch::channel(burst.expect("turns have a first one"));
        self.0.push(turn);
        receiver
    }

    /// Removes the last turns as far as they have no readers. Returns whether any reader is left.
    fn shorten(&mut self) -> bool {
        while self.0.last().is_some_and(|turn| turn.receiver_count() == 0) {
            self.0.pop();
        }
        !self.0.is_empty()
    }
}

/// Gathers the changes of a group for its readers, until the last one has left.
pub(super) async fn gather(
    engine: Engine,
    group: GroupId,
    mut watched: ChangeWatch,
    first: Arc<Burst>,
    groups: GroupTurns,
) {
    let mut burst = first;
    let mut check_at = Stopwatch::now() + CHECK_TIME;
    loop {
        // Without a change the readers get the same burst again.
        let _ = tokio::time::timeout_at(check_at, watched.changed()).await;
        if let Some(state) = engine.published().group_state(group)
            && state.history.last() != burst.end()
        {
            burst = Arc::new(Burst::new(burst.end(), state));
        }
        check_at = Stopwatch::now() + CHECK_TIME;
        let mut turn = 0;
        while let Some(replaced) = wake(&groups, group, turn, &burst) {
            // It may be the last one that holds a state, which others need not wait for.
            drop(replaced);
            tokio::time::sleep(TURN_TIME).await;
            turn += 1;
        }
        let mut groups = groups.lock();
        // A reader may have come meanwhile: readers begin under this lock.
        if !groups.get_mut(&group).is_some_and(Turns::shorten) {
            groups.remove(&group);
            return;
        }
    }
}

/// Gives a burst to one turn. Returns the one that it had; `None` if there is no such turn.
fn wake(
    groups: &GroupTurns,
    group: GroupId,
    turn: usize,
    burst: &Arc<Burst>,
) -> Option<Arc<Burst>> {
    let groups = groups.lock();
    let turn = groups.get(&group)?.0.get(turn)?;
    Some(turn.send_replace(Arc::clone(burst)))
}
