//! The live holds of all groups, for metrics. Reference 11.4.

use crate::domain::records::hold::HoldState;
use crate::engine::handle::Engine;

/// The live holds of all groups.
#[derive(Clone, Copy, Debug, Default)]
pub struct HoldStats {
    /// Those that wait for their booking.
    pub chosen: LiveHolds,
    /// The bookings that wait for their code.
    pub unconfirmed: LiveHolds,
}

/// Live holds of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveHolds {
    /// Their number.
    pub count: u64,
    /// The seconds that they keep together.
    pub seconds: u64,
}

impl Engine {
    /// Counts the live holds. It scans those of every group.
    pub fn hold_stats(&self) -> HoldStats {
        let now = self.clock().now();
        let mut stats = HoldStats::default();
        for group in self.published().groups() {
            let Some(state) = self.published().group_state(group) else { continue };
            for hold in state.holds().iter().filter(|hold| hold.is_live(now)) {
                let is_chosen = matches!(hold.state, HoldState::Chosen);
                let live = if is_chosen { &mut stats.chosen } else { &mut stats.unconfirmed };
                let interval = hold.interval();
                live.count += 1;
                live.seconds += interval.end.seconds_since(interval.start).unsigned_abs();
            }
        }
        stats
    }
}
