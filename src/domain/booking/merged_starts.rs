//! Free starts of several calendars, merged. Reference 4.7.

use std::ops::ControlFlow;

use crate::domain::booking::bookable::lead_times;
use crate::domain::booking::slot_request::{BookingMode, Chain, ChainSearch};
use crate::domain::booking::slots::free_starts;
use crate::domain::records::ids::CalendarId;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{DAY, Instant, MINUTE};

/// Length in seconds of one step of a search. It bounds the memory of a search.
const STEP_SECONDS: i64 = 31 * DAY;

/// Calendars that are searched together for starts of one chain.
#[derive(Clone, Copy, Debug)]
pub struct StartSearch<'s> {
    /// The state that is searched.
    pub state: &'s GroupState,
    /// The interventions to book, in order.
    pub chain: &'s Chain,
    /// The rules that hold.
    pub mode: BookingMode,
    /// The calendars, each of the group.
    pub calendars: &'s [CalendarId],
    /// The moment of the request, from which lead times count.
    pub now: Instant,
}

impl StartSearch<'_> {
    /// Calls `found` with each free start of a window, ascending, and the places of its free
    /// calendars in the list of searched calendars. Ends early when `found` breaks.
    pub fn each_start(
        &self,
        window: Interval,
        mut found: impl FnMut(Instant, &mut dyn ExactSizeIterator<Item = usize>) -> ControlFlow<()>,
    ) {
        let catalogue = &self.state.catalogue;
        let mut starts: Vec<Instant> = Vec::new();
        let mut merged: Vec<(Instant, usize)> = Vec::new();
        let mut from = window.start;
        while from < window.end {
            let step_end = from.plus_seconds(STEP_SECONDS).min(window.end);
            let step = Interval { start: from, end: step_end };
            from = step_end;
            merged.clear();
            for (place, id) in self.calendars.iter().enumerate() {
                let view = self.state.calendars.get(id).expect("each calendar has a view");
                starts.clear();
                let search = ChainSearch::new(self.chain, self.mode);
                free_starts(catalogue, view, search, step, self.now, &mut starts);
                for start in &starts {
                    merged.push((*start, place));
                }
            }
            // The starts of each calendar already ascend, so this sort only merges sorted runs.
            merged.sort();
            for slot in merged.chunk_by(|a, b| a.0 == b.0) {
                let mut places = slot.iter().map(|(_, place)| *place);
                if found(slot[0].0, &mut places).is_break() {
                    return;
                }
            }
        }
    }

    /// Returns an upper bound on the grid points and occurrences of a search of a window.
    #[must_use]
    pub fn estimate_cost(&self, window: Interval) -> i64 {
        let catalogue = &self.state.catalogue;
        let mut cost: i64 = 0;
        for id in self.calendars {
            let Some(calendar) = catalogue.calendars.get(id) else { continue };
            let Some((_, latest)) = lead_times(catalogue, *id, self.now) else { continue };
            let mut end = window.end;
            if self.mode.follows_module_rules() {
                end = end.min(latest);
            }
            let seconds = end.seconds_since(window.start);
            if seconds <= 0 {
                continue;
            }
            let points = seconds / (calendar.generate_interval.number() * MINUTE);
            let view = self.state.calendars.get(id).expect("each calendar has a view");
            // The last step looks back at least as far as any other.
            let last_step = Interval { start: end.plus_seconds(-STEP_SECONDS), end };
            let occurrences = view.rules.count_looked_at(catalogue.zone(), last_step);
            let steps = seconds / STEP_SECONDS + 1;
            cost = cost.saturating_add(points).saturating_add(occurrences.saturating_mul(steps));
        }
        cost
    }
}
