//! The ids and other values that the decisions of a group take from outside. An id stays available
//! until an event has used it, so a refusal uses none.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::domain::decisions::decision::{Environment, LinkDraws};
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::hold::HoldToken;
use crate::domain::records::ids::GroupId;
use crate::domain::records::vevent::AppointmentKey;
use crate::domain::state::command::IDS_MAX;
use crate::domain::state::delivery_step::LatePolicy;
use crate::domain::time::Instant;
use crate::engine::group::GroupActorState;
use crate::engine::messages::SupervisorMessage;
use crate::engine::randomness::Randomness;
use crate::engine::steady_clock::SteadyClock;

/// Number of available ids of a kind below which the group requests more.
const IDS_LOW: u64 = 256;

impl GroupActorState {
    fn count_available(&self, kind: IdKind) -> u64 {
        let mut available = 0;
        for range in self.ids.get(&kind).into_iter().flatten() {
            available += range.end - range.start;
        }
        available
    }

    /// Returns whether enough ids of these kinds are available for a command that uses at most
    /// `needed` of each. Requests more before they run out.
    pub(crate) fn has_ids(&mut self, kinds: &[IdKind], needed: u64) -> bool {
        let needed = needed.max(IDS_MAX);
        let mut has_enough = true;
        for &kind in kinds {
            let available = self.count_available(kind);
            if available < needed.max(IDS_LOW) && !self.requested_kinds.contains(&kind) {
                self.requested_kinds.push(kind);
                self.supervisor.send(SupervisorMessage::RequestIds { group: self.id, kind });
            }
            has_enough &= available >= needed;
        }
        has_enough
    }

    /// Adds granted ids, except those already used, and goes on with the waiting commands.
    pub(crate) fn add_ids(&mut self, kind: IdKind, range: Range<u64>) {
        self.requested_kinds.retain(|requested| *requested != kind);
        let unused = range.start.max(self.group_state.highest_id(kind) + 1)..range.end;
        if !unused.is_empty() {
            self.ids.entry(kind).or_default().push_back(unused);
        }
        self.advance();
    }

    /// Removes every id that the newest state has used.
    pub(crate) fn remove_used_ids(&mut self) {
        for (kind, ranges) in &mut self.ids {
            let spent = self.group_state.highest_id(*kind);
            for range in ranges.iter_mut() {
                range.start = range.start.max(spent + 1);
            }
            ranges.retain(|range| !range.is_empty());
        }
    }
}

/// The environment of one decision.
pub(crate) struct GroupEnvironment<'a> {
    /// Granted ids that the newest state has not used, ascending.
    pub(crate) ids: &'a BTreeMap<IdKind, VecDeque<Range<u64>>>,
    pub(crate) randomness: &'a mut Randomness,
    pub(crate) steady_clock: &'a SteadyClock,
}

impl Environment for GroupEnvironment<'_> {
    fn id(&self, kind: IdKind, used: u64, position: usize) -> u64 {
        let ranges = self.ids.get(&kind).into_iter().flatten();
        let mut available = ranges.flat_map(|range| range.start.max(used + 1)..range.end);
        available.nth(position).expect("a command is decided only while ids are available")
    }

    fn number(&mut self) -> u64 {
        self.randomness.number()
    }

    fn key(&mut self) -> AppointmentKey {
        self.randomness.key()
    }

    fn hold_token(&mut self) -> HoldToken {
        self.randomness.hold_token()
    }

    fn link(&mut self, group: GroupId) -> LinkDraws {
        self.randomness.link(group)
    }

    fn steady_now(&self) -> Instant {
        self.steady_clock.now()
    }

    fn late_policy(&self) -> LatePolicy {
        self.steady_clock.late_policy()
    }
}
