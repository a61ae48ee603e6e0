//! Bursts, which the readers of one group share: the changes that were published since the last
//! one, as the frames of those who see all. Reference 18.3.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::Event;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::domain::directory::roles::Sight;
use crate::domain::records::ids::GroupId;
use crate::domain::state::changes::{ChangePage, FeedView};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::cursor::ChangeCursor;
use crate::engine::Engine;
use crate::engine::change_wakeups::ChangeWatch;
use crate::wire::changes::ChangeNotice;

/// Maximum number of changes that wait for a reader. One with more is to read them by itself.
const WAITING_MAX: usize = 256;
/// Shortest time between two bursts of a group.
const GAP_MIN: Duration = Duration::from_millis(10);
/// Longest time between two bursts of a group.
const GAP_MAX: Duration = Duration::from_millis(250);
/// Time between two bursts for each reader, so that many readers get fewer, larger bursts.
const GAP_PER_READER: Duration = Duration::from_micros(250);

/// The changes of a group that were published since the burst before.
pub(super) struct Burst {
    /// The newest state.
    pub(super) state: Arc<GroupState>,
    /// The number of the row behind which the burst begins.
    after: u64,
    /// Its changes for readers who see all, each a frame; `None` if there are too many.
    frames: Option<Vec<Event>>,
}

/// The frames that follow a place.
pub(super) enum Following {
    /// The changes, each a frame.
    Changes(Vec<Event>),
    /// Too many, or the place is gone: the reader is to read them by itself. The stream goes on
    /// from this place.
    Reset(ChangeCursor),
}

impl Burst {
    /// The beginning, before which no change is sent.
    pub(super) fn none(state: Arc<GroupState>) -> Self {
        Self { after: state.history.last(), frames: Some(Vec::new()), state }
    }

    /// The changes of a state behind the row with a number.
    fn new(after: u64, state: Arc<GroupState>) -> Self {
        let all = FeedView { sight: Sight::All, sees_accounts: true };
        let frames = match frames_after(&state, after, &all) {
            Following::Changes(frames) => Some(frames),
            Following::Reset(_) => None,
        };
        Self { state, after, frames }
    }

    /// The number of the last row.
    pub(super) fn end(&self) -> u64 {
        self.state.history.last()
    }

    /// Returns what follows the row with a number for a reader. `sees_all` says whether the reader
    /// sees what administrators see.
    pub(super) fn follow(&self, after: u64, view: &FeedView, sees_all: bool) -> Following {
        match &self.frames {
            Some(frames) if after == self.after && sees_all => Following::Changes(frames.clone()),
            _ => frames_after(&self.state, after, view),
        }
    }
}

/// Returns the frames behind the row with a number.
pub(super) fn frames_after(state: &GroupState, after: u64, view: &FeedView) -> Following {
    let end = || state.history.end(state.sequence);
    if !state.history.goes_on_behind(after) {
        return Following::Reset(end());
    }
    let ChangePage { changes, has_more, .. } = state.changes_after(after, view, WAITING_MAX);
    if has_more {
        return Following::Reset(end());
    }
    let frame = |change| {
        let notice = ChangeNotice::new(change);
        let data = serde_json::to_string(&notice).expect("texts and flags are JSON");
        Event::default().id(notice.cursor()).data(data)
    };
    Following::Changes(changes.iter().map(frame).collect())
}

/// A frame that has a place and no change.
pub(super) fn named_frame(name: &str, place: ChangeCursor) -> Event {
    let data = format!(r#"{{"cursor":"{place}"}}"#);
    Event::default().event(name).id(place.to_string()).data(data)
}

/// Gathers the changes of a group for its readers, until the last one has left.
pub(super) async fn gather(
    engine: Engine,
    group: GroupId,
    mut watched: ChangeWatch,
    bursts: watch::Sender<Arc<Burst>>,
    groups: Arc<Mutex<BTreeMap<GroupId, watch::Sender<Arc<Burst>>>>>,
) {
    loop {
        tokio::select! {
            () = bursts.closed() => {
                let mut groups = groups.lock();
                // A reader may have come meanwhile: readers begin under this lock.
                if bursts.receiver_count() == 0 {
                    groups.remove(&group);
                    return;
                }
            }
            () = watched.changed() => {}
        }
        let Some(state) = engine.published().group_state(group) else { continue };
        let after = bursts.borrow().end();
        if state.history.last() != after {
            bursts.send_replace(Arc::new(Burst::new(after, state)));
        }
        let readers = u32::try_from(bursts.receiver_count()).unwrap_or(u32::MAX);
        let gap = GAP_PER_READER.saturating_mul(readers).clamp(GAP_MIN, GAP_MAX);
        tokio::time::sleep(gap).await;
    }
}
