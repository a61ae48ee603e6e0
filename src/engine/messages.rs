//! Messages to actors that more than one file sends.

use std::ops::Range;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::domain::availability::obstacle::Verdict;
use crate::domain::decisions::founding::{FoundGroup, FoundShop};
use crate::domain::directory::access::{AccessRefusal, ChangeAccess};
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::messaging::planning::PlannedReminder;
use crate::domain::records::author::Author;
use crate::domain::records::channel::Channel;
use crate::domain::records::ids::GroupId;
use crate::domain::state::changed_records::ChangedRecords;
use crate::domain::state::delivery_step::DueItem;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::engine::write::{Envelope, ShopAnswer};

/// Messages to a group's actor.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all messages are commands")]
pub(crate) enum GroupMessage {
    /// A command; the group decides one at a time, in order.
    Command(Envelope),
    /// The group asks itself to decide the commands that wait.
    Decide,
    /// A calendar's reply to the open query.
    SlotReply(SlotReply),
    /// A range of granted ids.
    IdsGranted(IdKind, Range<u64>),
    /// The supervisor asks whether the group is idle; it has sent this many commands.
    CheckIdle(u64),
}

/// The verdict on a query for one start; `Err` if the check panicked, which is a bug.
pub(crate) type Checked = Result<Verdict, ()>;

/// A calendar's reply to a query for one start.
#[derive(Debug)]
pub(crate) struct SlotReply {
    /// Number of the query that it answers.
    pub(crate) number: u64,
    pub(crate) verdict: Checked,
}

/// Messages to the supervisor.
#[derive(Debug)]
pub(crate) enum SupervisorMessage {
    /// A write, to be routed to its group.
    Write { group: GroupId, envelope: Envelope },
    /// A group runs low on ids.
    RequestIds { group: GroupId, kind: IdKind },
    /// A group is idle, after this many received commands.
    GroupIsIdle { group: GroupId, received: u64 },
    /// The journal has processed all entries of a group's dead actor.
    GroupDrained(GroupId),
    /// One second has passed.
    SecondElapsed,
    /// The operator changes keys or professionals.
    ChangeAccess {
        author: Option<Author>,
        change: ChangeAccess,
        reply: oneshot::Sender<Result<(), AccessRefusal>>,
    },
    /// An operator founds a group.
    FoundGroup { author: Author, command: FoundGroup, reply: oneshot::Sender<Arc<GroupState>> },
    /// The first group of the store is founded.
    FoundShop { author: Author, shop: Box<FoundShop>, reply: oneshot::Sender<ShopAnswer> },
    /// Time to look for idle groups.
    SweepIdleGroups,
    /// All writes are answered: stop.
    ShutDown,
}

/// A group's change from one published state to the next.
#[derive(Debug)]
pub(crate) struct GroupChange {
    /// The next state.
    pub(crate) group_state: Arc<GroupState>,
    /// The records that differ from those of the state before.
    pub(crate) changed: ChangedRecords,
    /// Whether the due times of all reminders of the group may have moved.
    pub(crate) moves_reminders: bool,
}

impl GroupChange {
    /// Describes a change. `None` if no due time can follow from it.
    pub(crate) fn new(
        before: &GroupState,
        group_state: Arc<GroupState>,
        changed: ChangedRecords,
    ) -> Option<Self> {
        let old = &before.catalogue.group;
        let new = &group_state.catalogue.group;
        let moves_reminders = old.mail_since != new.mail_since || old.sms_since != new.sms_since;
        if !moves_reminders && changed.is_empty() {
            return None;
        }
        Some(Self { group_state, changed, moves_reminders })
    }
}

/// The reminders of a group, by one of its states.
#[derive(Debug)]
pub(crate) struct ScannedGroup {
    pub(crate) group_state: Arc<GroupState>,
    pub(crate) found: Vec<PlannedReminder>,
}

/// Messages to the message scheduler.
#[derive(Debug)]
pub(crate) enum SchedulerMessage {
    /// Groups have new durable states.
    GroupsChanged(Vec<GroupChange>),
    /// The alarm went off: something may be due.
    Wake,
    /// Time to rebuild the queue.
    Rebuild,
    /// Some groups were scanned for the reminders that are due before `until`.
    GroupsScanned { until: Instant, groups: Vec<ScannedGroup> },
    /// An attempt has ended, with any outcome.
    AttemptEnded(GroupId, DueItem, Channel),
    /// Start no more attempts; reply when none is in flight.
    Stop(oneshot::Sender<()>),
}
