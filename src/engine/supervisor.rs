//! The supervisor: it routes writes to group actors, starts and stops them, and is the only writer
//! of the directory.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use smallvec::{SmallVec, smallvec};
use strum::IntoEnumIterator as _;
use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::domain::decisions::founding::{self, FoundGroup, FoundShop, ShopRefusal};
use crate::domain::directory::access::{self, AccessRefusal, ChangeAccess};
use crate::domain::directory::id_blocks::{BLOCK, IdKind};
use crate::domain::directory::store_groups::StoreGroups;
use crate::domain::directory::{Directory, DirectoryEvent};
use crate::domain::records::author::Author;
use crate::domain::records::ids::{GroupId, ID_MAX};
use crate::domain::state::event::Event;
use crate::domain::state::group_record::GroupRecord;
use crate::domain::state::group_state::GroupState;
use crate::engine::admission::Admission;
use crate::engine::group::environment::GroupEnvironment;
use crate::engine::group::{self, GroupParts};
use crate::engine::group_routes::GroupRoutes;
use crate::engine::health::Health;
use crate::engine::journal::{EntryEffect, JournalEntry, JournalHandle, PendingReply};
use crate::engine::mailbox::{Mailbox, Transport};
use crate::engine::messages::{GroupMessage, SupervisorMessage};
use crate::engine::published::Published;
use crate::engine::randomness::Randomness;
use crate::engine::steady_clock::SteadyClock;
use crate::engine::write::{Envelope, Rejection, ShopAnswer};
use crate::store::Stream;

/// Interval of the search for idle groups. An idle group stops after one to two intervals.
const IDLE_SWEEP_INTERVAL: Duration = Duration::from_secs(600);

const SECOND: Duration = Duration::from_secs(1);

/// The resources that the supervisor starts from.
pub(crate) struct SupervisorParts {
    pub(crate) published: Arc<Published>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) routes: Arc<GroupRoutes>,
    /// The newest directory, durable or not.
    pub(crate) directory: Arc<Directory>,
    pub(crate) journal: JournalHandle,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) steady_clock: Arc<SteadyClock>,
    pub(crate) randomness: Randomness,
    pub(crate) transport: Transport,
    pub(crate) health: Arc<Health>,
}

/// The events of the first group of a store, and the states after them.
struct FoundedShop {
    /// The events of the group, in order.
    group_events: [Event; 2],
    /// The state of the group after them.
    state: GroupState,
    /// The events of the directory, in order.
    directory_events: Vec<DirectoryEvent>,
    /// The directory after them.
    directory: Directory,
}

struct Supervisor;

/// State of the supervisor.
struct SupervisorState {
    parts: SupervisorParts,
    /// Status of every group that has an actor or whose actor died. A group without an entry is
    /// idle, and its published state is its newest.
    groups: BTreeMap<GroupId, GroupStatus>,
    /// The newest groups, as far as the journal may not have published them yet.
    founded: Vec<Arc<GroupState>>,
    /// Highest id of a group.
    last_group: u64,
    /// Mailbox given to groups and tasks.
    own_mailbox: Mailbox<SupervisorMessage>,
    own_ref: ActorRef<SupervisorMessage>,
}

/// Status of a group that is not idle.
enum GroupStatus {
    /// The group has an actor.
    Running {
        actor: ActorRef<GroupMessage>,
        mailbox: Mailbox<GroupMessage>,
        /// Number of commands sent to the actor before the last sweep.
        sent_at_sweep: u64,
    },
    /// The actor died. Writes are rejected until the journal has processed all its entries.
    Draining,
}

impl Actor for Supervisor {
    type Msg = SupervisorMessage;
    type State = SupervisorState;
    type Arguments = SupervisorParts;

    async fn pre_start(
        &self,
        own_ref: ActorRef<SupervisorMessage>,
        parts: SupervisorParts,
    ) -> Result<SupervisorState, ActorProcessingErr> {
        let own_mailbox = parts.transport.link(own_ref.clone());
        own_ref.send_interval(IDLE_SWEEP_INTERVAL, || SupervisorMessage::SweepIdleGroups);
        own_ref.send_interval(SECOND, || SupervisorMessage::SecondElapsed);
        let published = &parts.published;
        let quarantined = published.quarantined().keys().copied();
        let last_group = published.groups().chain(quarantined).map(GroupId::number).max();
        Ok(SupervisorState {
            parts,
            groups: BTreeMap::new(),
            founded: Vec::new(),
            last_group: last_group.unwrap_or(0),
            own_mailbox,
            own_ref,
        })
    }

    async fn handle(
        &self,
        _: ActorRef<SupervisorMessage>,
        message: SupervisorMessage,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SupervisorMessage::Write { group, envelope } => state.route_write(group, envelope),
            SupervisorMessage::RequestIds { group, kind } => state.grant_ids(group, kind),
            SupervisorMessage::GroupIsIdle { group, received } => {
                state.stop_idle_group(group, received);
            }
            SupervisorMessage::GroupDrained(group) => state.allow_restart(group),
            SupervisorMessage::SecondElapsed => state.sync_watermark(),
            SupervisorMessage::ChangeAccess { author, change, reply } => {
                state.change_access(author, &change, reply);
            }
            SupervisorMessage::FoundGroup { author, command, reply } => {
                state.found_group(author, &command, reply);
            }
            SupervisorMessage::FoundShop { author, shop, reply } => {
                state.found_shop(author, &shop, reply);
            }
            SupervisorMessage::SweepIdleGroups => state.sweep_idle_groups(),
            SupervisorMessage::ShutDown => state.shut_down(),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<SupervisorMessage>,
        event: SupervisionEvent,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(actor, _)
            | SupervisionEvent::ActorTerminated(actor, _, _) => state.on_group_died(&actor),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

/// Starts the supervisor.
pub(crate) async fn start(parts: SupervisorParts) -> Mailbox<SupervisorMessage> {
    let transport = parts.transport.clone();
    let health = Arc::clone(&parts.health);
    let (actor, joining) = Actor::spawn(None, Supervisor, parts)
        .await
        .expect("an actor without a name is always started");
    tokio::spawn(async move {
        // Health knows whether a shutdown was requested, so the way it ended does not matter.
        drop(joining.await);
        health.supervisor_ended();
    });
    transport.link(actor)
}

impl SupervisorState {
    /// Hands a write to its group's actor, which is started if the group is idle.
    fn route_write(&mut self, group: GroupId, envelope: Envelope) {
        if !self.groups.contains_key(&group) {
            let Some(status) = self.start_group(group) else {
                return envelope.send_answer(Err(Rejection::GroupNotFound));
            };
            self.groups.insert(group, status);
        }
        // The route of a running group is open; that of a draining one is not.
        if let Some(envelope) = self.parts.routes.send(group, envelope) {
            envelope.send_answer(Err(Rejection::Overloaded));
        }
    }

    /// Starts a group's actor. The published state is the newest, since only the actor writes the
    /// group and none is running.
    fn start_group(&mut self, group: GroupId) -> Option<GroupStatus> {
        let parts = &mut self.parts;
        let group_state = parts.published.group_state(group)?;
        let mut ids = BTreeMap::new();
        for kind in IdKind::iter() {
            let unused =
                parts.directory.blocks.unused_ids(kind, group, group_state.highest_id(kind));
            ids.insert(kind, unused.collect::<VecDeque<_>>());
        }
        let (actor, mailbox) = group::start(
            GroupParts {
                group_state,
                ids,
                published: Arc::clone(&parts.published),
                journal: parts.journal.clone(),
                clock: Arc::clone(&parts.clock),
                steady_clock: Arc::clone(&parts.steady_clock),
                randomness: parts.randomness.fork(),
                transport: parts.transport.clone(),
                supervisor: self.own_mailbox.clone(),
            },
            self.own_ref.get_cell(),
        );
        // A link of its own: commands do not delay the messages of the supervisor.
        parts.routes.open(group, parts.transport.link(actor.clone()));
        Some(GroupStatus::Running { actor, mailbox, sent_at_sweep: 0 })
    }

    /// Grants a block of ids. The group may use it at once, since its events come later in the same
    /// journal.
    fn grant_ids(&mut self, group: GroupId, kind: IdKind) {
        let block = self.parts.directory.blocks.next_number(kind);
        let event = self.parts.directory.grant_block(kind, group);
        let next = self.parts.directory.apply(&event);
        self.commit_directory(&event, next, None);
        if let Some(GroupStatus::Running { mailbox, .. }) = self.groups.get(&group) {
            // 0 is no id.
            let ids = (block * BLOCK).max(1)..(block + 1) * BLOCK;
            mailbox.send(GroupMessage::IdsGranted(kind, ids));
        }
    }

    /// Decides the operator's change, and answers when the outcome is durable. After a panic, which
    /// is a bug, the reply port is dropped.
    fn change_access(
        &mut self,
        author: Option<Author>,
        change: &ChangeAccess,
        reply: oneshot::Sender<Result<(), AccessRefusal>>,
    ) {
        let published = &self.parts.published;
        let directory = Arc::clone(&self.parts.directory);
        let now = self.parts.clock.now();
        let decided = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let exists = |group| published.group_state(group).is_some();
            let groups = StoreGroups::new(exists, published.groups());
            let event = access::decide_by(author, &directory, &groups, change, now)?;
            let next = directory.apply(&event);
            Ok::<_, AccessRefusal>((event, next))
        }));
        match decided {
            Err(_) => {}
            Ok(Ok((event, next))) => {
                // A wrong code changes the directory and is refused all the same.
                let answer = match access::recorded_refusal(&event) {
                    Some(refusal) => Err(refusal),
                    None => Ok(()),
                };
                let reply = PendingReply::Operator(reply, answer);
                self.commit_directory(&event, next, Some(reply));
            }
            Ok(Err(refusal)) => {
                // The refusal may depend on a change that is not durable yet.
                let reply = PendingReply::Operator(reply, Err(refusal));
                self.parts.journal.append(JournalEntry::reply(reply));
            }
        }
    }

    /// Founds a group, and answers when it is durable and published. The group's actor writes all
    /// of its later events: it starts from the published state. After a panic, which is a bug, the
    /// reply port is dropped.
    fn found_group(
        &mut self,
        author: Author,
        command: &FoundGroup,
        reply: oneshot::Sender<Arc<GroupState>>,
    ) {
        let published = Arc::clone(&self.parts.published);
        let is_published =
            |state: &Arc<GroupState>| published.group_state(state.catalogue.group.id).is_some();
        self.founded.retain(|state| !is_published(state));
        let Some(id) = GroupId::new((self.last_group + 1).min(ID_MAX)) else { return };
        let now = self.parts.clock.now();
        let decided = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let event = founding::decide(command, id, |urlname| self.has_urlname(urlname), now);
            let founded = GroupState::founded_by(Some(author), &event)?;
            Some((event, founded))
        }));
        if let Ok(Some((event, founded))) = decided {
            self.last_group = id.number();
            let record = GroupRecord::new(author, event);
            self.commit_founding(&record, Arc::new(founded), reply);
        }
    }

    /// Founds the first group of the store with its records and its professional: all of it is one
    /// entry of the journal, so that a crash leaves all or nothing. After a panic, which is a bug,
    /// the reply port is dropped.
    fn found_shop(&mut self, author: Author, shop: &FoundShop, reply: oneshot::Sender<ShopAnswer>) {
        let decided = std::panic::catch_unwind(AssertUnwindSafe(|| self.decide_shop(author, shop)));
        match decided {
            Err(_) => {}
            Ok(Ok(founded)) => self.commit_shop(author, founded, reply),
            Ok(Err(refusal)) => {
                // The refusal may depend on a group that is not durable yet.
                let reply = PendingReply::Shop(reply, Err(refusal));
                self.parts.journal.append(JournalEntry::reply(reply));
            }
        }
    }

    /// Decides what the first group of the store begins with.
    fn decide_shop(
        &mut self,
        author: Author,
        shop: &FoundShop,
    ) -> Result<FoundedShop, ShopRefusal> {
        // A group that was ever founded counts, durable or not, and one in quarantine too.
        if self.last_group > 0 {
            return Err(ShopRefusal::HasGroups);
        }
        let now = self.parts.clock.now();
        let id = GroupId::new(1).expect("1 is an id");
        let mut directory = Directory::clone(&self.parts.directory);
        let mut directory_events = Vec::new();
        let mut ids = BTreeMap::new();
        for kind in founding::SHOP_KINDS {
            let block = directory.grant_block(kind, id);
            directory.apply_in_place(&block);
            directory_events.push(block);
            let unused = directory.blocks.unused_ids(kind, id, 0);
            ids.insert(kind, unused.collect::<VecDeque<_>>());
        }
        let groups = StoreGroups::new(|group| group == id, [id]);
        let owner = ChangeAccess::AddPro(shop.owner_of(id));
        let owner = access::decide_by(Some(author), &directory, &groups, &owner, now)?;
        directory.apply_in_place(&owner);
        directory_events.push(owner);
        let mut environment = GroupEnvironment {
            ids: &ids,
            randomness: &mut self.parts.randomness,
            steady_clock: &self.parts.steady_clock,
        };
        let (founding, content, state) =
            founding::decide_shop(shop, id, author, &mut environment, now)?;
        Ok(FoundedShop { group_events: [founding, content], state, directory_events, directory })
    }

    /// Hands everything that the first group of the store begins with to the journal, as one entry.
    fn commit_shop(
        &mut self,
        author: Author,
        founded: FoundedShop,
        reply: oneshot::Sender<ShopAnswer>,
    ) {
        let FoundedShop { group_events, state, directory_events, directory } = founded;
        let group = state.catalogue.group.id;
        let mut records = SmallVec::new();
        for (event, sequence) in group_events.into_iter().zip(1..) {
            let record = GroupRecord::new(author, event);
            records.push(self.parts.journal.encode(Stream::Group(group), sequence, &record));
        }
        for (event, sequence) in directory_events.iter().zip(self.parts.directory.sequence + 1..) {
            records.push(self.parts.journal.encode(Stream::Directory, sequence, event));
        }
        let state = Arc::new(state);
        let directory = Arc::new(directory);
        self.last_group = group.number();
        self.parts.directory = Arc::clone(&directory);
        self.parts.admission.add_group(group);
        self.parts.routes.add_group(group);
        self.founded.push(Arc::clone(&state));
        self.parts.journal.append(JournalEntry {
            records,
            effect: EntryEffect::PublishShop(Arc::clone(&state), directory),
            replies: smallvec![PendingReply::Shop(reply, Ok(state))],
        });
    }

    /// Hands the first event of a group to the journal.
    fn commit_founding(
        &mut self,
        record: &GroupRecord,
        founded: Arc<GroupState>,
        reply: oneshot::Sender<Arc<GroupState>>,
    ) {
        let group = founded.catalogue.group.id;
        self.parts.admission.add_group(group);
        self.parts.routes.add_group(group);
        self.founded.push(Arc::clone(&founded));
        let record = self.parts.journal.encode(Stream::Group(group), founded.sequence, record);
        self.parts.journal.append(JournalEntry {
            records: smallvec![record],
            effect: EntryEffect::PublishNewGroup(Arc::clone(&founded)),
            replies: smallvec![PendingReply::Founded(reply, founded)],
        });
    }

    /// Returns whether a group has this `urlname`, published or not.
    fn has_urlname(&self, urlname: &str) -> bool {
        let has_it = |state: &GroupState| state.catalogue.group.urlname.as_str() == urlname;
        let mut quarantined = self.parts.published.quarantined().values();
        self.parts.published.group_of_urlname(urlname).is_some()
            || self.founded.iter().any(|state| has_it(state))
            || quarantined.any(|group| group.last_state.as_ref().is_some_and(has_it))
    }

    /// Makes an event's outcome the newest directory, and hands the event to the journal.
    fn commit_directory(
        &mut self,
        event: &DirectoryEvent,
        next: Directory,
        reply: Option<PendingReply>,
    ) {
        let next = Arc::new(next);
        self.parts.directory = Arc::clone(&next);
        let record = self.parts.journal.encode(Stream::Directory, next.sequence, event);
        self.parts.journal.append(JournalEntry {
            records: smallvec![record],
            effect: EntryEffect::PublishDirectory(next),
            replies: reply.into_iter().collect(),
        });
    }

    fn sync_watermark(&self) {
        self.parts.journal.append(JournalEntry::effect(EntryEffect::SyncWatermark));
    }

    /// Asks every group without a command since the last sweep whether it is idle.
    fn sweep_idle_groups(&mut self) {
        for (group, status) in &mut self.groups {
            let GroupStatus::Running { mailbox, sent_at_sweep, .. } = status else { continue };
            let Some(sent) = self.parts.routes.count_sent(*group) else { continue };
            if sent == *sent_at_sweep {
                mailbox.send(GroupMessage::CheckIdle(sent));
            }
            *sent_at_sweep = sent;
        }
    }

    /// Stops an idle group, unless a command is on its way to it.
    fn stop_idle_group(&mut self, group: GroupId, received: u64) {
        if let Some(GroupStatus::Running { actor, .. }) = self.groups.get(&group)
            && self.parts.routes.close_if_sent(group, received)
        {
            actor.stop(None);
            self.groups.remove(&group);
        }
    }

    fn on_group_died(&mut self, dead: &ActorCell) {
        let Some(group) = self.find_group(dead) else { return };
        tracing::error!(%group, "a group's actor died; it restarts when its entries are durable");
        self.parts.routes.close(group);
        self.groups.insert(group, GroupStatus::Draining);
        let (barrier, drained) = oneshot::channel();
        self.parts.journal.append(JournalEntry::reply(PendingReply::Barrier(barrier)));
        let own_mailbox = self.own_mailbox.clone();
        tokio::spawn(async move {
            if drained.await.is_ok() {
                own_mailbox.send(SupervisorMessage::GroupDrained(group));
            }
        });
    }

    fn find_group(&self, cell: &ActorCell) -> Option<GroupId> {
        for (group, status) in &self.groups {
            if let GroupStatus::Running { actor, .. } = status
                && actor.get_id() == cell.get_id()
            {
                return Some(*group);
            }
        }
        None
    }

    /// Lets the next write start the actor of a drained group.
    fn allow_restart(&mut self, group: GroupId) {
        if let Some(GroupStatus::Draining) = self.groups.get(&group) {
            self.groups.remove(&group);
        }
    }

    /// Ends the journal, then stops the groups and itself. The journal does not wait for the
    /// groups, of which there may be many: no write is under way in them.
    fn shut_down(&mut self) {
        self.parts.journal.append(JournalEntry::effect(EntryEffect::End));
        for status in std::mem::take(&mut self.groups).into_values() {
            if let GroupStatus::Running { actor, .. } = status {
                actor.stop(None);
            }
        }
        self.own_ref.stop(None);
    }
}
