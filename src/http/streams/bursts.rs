//! Bursts, which the readers of one group share: the changes that were published since the last
//! one, as the frames of those who see all. Reference 18.3.

use std::sync::Arc;

use axum::body::Bytes;

use crate::domain::directory::roles::Sight;
use crate::domain::state::changes::{ChangePage, FeedView};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::history::cursor::ChangeCursor;
use crate::wire::changes::ChangeNotice;

/// Maximum number of changes that wait for a reader. One with more is to read them by itself.
const WAITING_MAX: usize = 256;
/// Maximum number of rows that are looked at for them.
const ROWS_MAX: u64 = 8 * WAITING_MAX as u64;

/// The changes of a group that were published since the burst before.
pub(super) struct Burst {
    /// The newest state.
    pub(super) state: Arc<GroupState>,
    /// The number of the row behind which the burst begins.
    after: u64,
    /// Its frames for readers who see all.
    following: Following,
}

/// The frames that follow a place.
#[derive(Clone)]
pub(super) enum Following {
    /// The changes, each a frame, one behind the other; empty without any.
    Changes(Bytes),
    /// Too many, or the place is gone: the reader is to read them by itself. The stream goes on
    /// from this place.
    Reset(ChangeCursor),
}

impl Burst {
    /// The beginning, before which no change is sent.
    pub(super) fn none(state: Arc<GroupState>) -> Self {
        let following = Following::Changes(Bytes::new());
        Self { after: state.history.last(), following, state }
    }

    /// The changes of a state behind the row with a number.
    pub(super) fn new(after: u64, state: Arc<GroupState>) -> Self {
        let all = FeedView { sight: Sight::All, sees_accounts: true };
        let following = frames_after(&state, after, &all);
        Self { state, after, following }
    }

    /// The number of the last row.
    pub(super) fn end(&self) -> u64 {
        self.state.history.last()
    }

    /// Returns what follows the row with a number for a reader. `sees_all` says whether the reader
    /// sees what administrators see.
    pub(super) fn follow(&self, after: u64, view: &FeedView, sees_all: bool) -> Following {
        if after == self.after && sees_all {
            return self.following.clone();
        }
        frames_after(&self.state, after, view)
    }
}

/// Returns the frames behind the row with a number.
pub(super) fn frames_after(state: &GroupState, after: u64, view: &FeedView) -> Following {
    let history = &state.history;
    let end = || history.end(state.sequence);
    // Under a load that no reader follows, the rows are not even looked at.
    if !history.goes_on_behind(after) || history.last().saturating_sub(after) > ROWS_MAX {
        return Following::Reset(end());
    }
    let rows = history.rows_after(after).filter(|placed| placed.row.is_in_feed());
    if view.sight == Sight::All && rows.take(WAITING_MAX + 1).count() > WAITING_MAX {
        return Following::Reset(end());
    }
    let ChangePage { changes, has_more, .. } = state.changes_after(after, view, WAITING_MAX);
    if has_more {
        return Following::Reset(end());
    }
    let mut frames = Vec::new();
    for change in &changes {
        let notice = ChangeNotice::new(change);
        frames.extend_from_slice(b"id: ");
        frames.extend_from_slice(notice.cursor().as_bytes());
        frames.extend_from_slice(b"\ndata: ");
        serde_json::to_writer(&mut frames, &notice).expect("writing to memory cannot fail");
        frames.extend_from_slice(b"\n\n");
    }
    Following::Changes(frames.into())
}

/// A frame that has a place and no change.
pub(super) fn named_frame(name: &str, place: ChangeCursor) -> Bytes {
    format!("event: {name}\nid: {place}\ndata: {{\"cursor\":\"{place}\"}}\n\n").into()
}
