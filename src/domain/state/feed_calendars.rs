//! The calendars that a calendar feed shows at present. Reference 19.2.

use crate::domain::directory::Directory;
use crate::domain::records::calendarfeed::Calendarfeed;
use crate::domain::records::ids::CalendarId;
use crate::domain::state::group_state::GroupState;

impl GroupState {
    /// Returns the live calendars of a feed, at least one; `None` if its link does not work at
    /// present. Reference 19.2.
    pub fn shown_calendars_of(
        &self,
        feed: &Calendarfeed,
        directory: &Directory,
    ) -> Option<Vec<CalendarId>> {
        let known = &self.catalogue.calendars;
        let calendars = directory.calendars_of_feed(self.catalogue.group.id, feed)?;
        let mut live = Vec::with_capacity(calendars.len());
        for id in calendars.iter() {
            if known.get(id).is_some_and(|calendar| !calendar.deleted) {
                live.push(*id);
            }
        }
        if live.is_empty() { None } else { Some(live) }
    }
}
