//! The holds of a state, and the time that they keep on their calendars. Reference 6.7.

use std::sync::Arc;

use crate::domain::availability::taken_time::{TakenInterval, TimeHolder};
use crate::domain::records::hold::{Hold, HoldId, HoldState};
use crate::domain::records::ids::CalendarId;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::holds::Holds;
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;

impl GroupState {
    /// The holds of the group.
    #[must_use]
    pub const fn holds(&self) -> &Holds {
        &self.holds
    }

    /// Inserts a hold, or replaces the one with its id, and updates the time of its calendar.
    ///
    /// # Panics
    /// If its calendar does not exist.
    pub fn put_hold(&mut self, hold: Arc<Hold>) {
        assert!(self.calendars.contains_key(&hold.calendar_id), "a hold's calendar exists");
        let before = self.holds.put(Arc::clone(&hold));
        if let Some(before) = before {
            self.release_time(&before);
        }
        if hold.keeps_time() {
            self.view(hold.calendar_id).held.add(held_interval(&hold));
        }
    }

    /// Removes a hold, if it exists.
    pub(super) fn remove_hold(&mut self, id: HoldId) {
        if let Some(hold) = self.holds.remove(id) {
            self.release_time(&hold);
        }
    }

    /// Removes the holds that an event with this stamp removes.
    pub(super) fn remove_old_holds(&mut self, stamp: Instant) {
        let old: Vec<HoldId> = self.holds.removed_at(stamp).map(|hold| hold.id()).collect();
        for id in old {
            self.remove_hold(id);
        }
    }

    /// Moves the end of a hold, if it exists.
    pub(super) fn extend_hold(&mut self, id: HoldId, expires_at: Instant) {
        let Some(hold) = self.holds.get(id) else { return };
        self.put_hold(Arc::new(Hold { expires_at, is_extended: true, ..Hold::clone(hold) }));
    }

    /// Changes the state of a hold, if it exists.
    pub(super) fn change_hold(&mut self, id: HoldId, change: impl FnOnce(&mut HoldState)) {
        let Some(hold) = self.holds.get(id) else { return };
        let mut hold = Hold::clone(hold);
        change(&mut hold.state);
        self.put_hold(Arc::new(hold));
    }

    /// Ends the holds of the time that a live appointment takes.
    pub(super) fn overwrite_holds(&mut self, calendar: CalendarId, interval: Interval) {
        let Some(view) = self.calendars.get(&calendar) else { return };
        let met: Vec<HoldId> = view.held.overlapping(interval).map(|held| held.id.id).collect();
        for id in met {
            self.overwrite_hold(id);
        }
    }

    /// Ends a hold, if it exists, because its time is taken.
    pub(super) fn overwrite_hold(&mut self, id: HoldId) {
        self.change_hold(id, |state| *state = HoldState::Overwritten);
    }

    fn release_time(&mut self, hold: &Hold) {
        if hold.keeps_time() {
            self.view(hold.calendar_id).held.remove(held_interval(hold));
        }
    }
}

/// The entry of a hold in the time of its calendar.
pub(crate) fn held_interval(hold: &Hold) -> TakenInterval<TimeHolder> {
    let id = TimeHolder { expires_at: hold.expires_at, id: hold.id() };
    TakenInterval { interval: hold.interval(), id }
}
