//! The supervisor: routes writes to group actors, starts and stops them, and is the one author of the directory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::domain::identity::access::{self, AccessRefusal, ChangeAccess};
use crate::domain::identity::directory::{BLOCK, Directory, DirectoryEvent, IdKind};
use crate::domain::records::ids::GroupId;
use crate::engine::group;
use crate::engine::health::Health;
use crate::engine::journal::{Entry, Handle, Publish, Release};
use crate::engine::mailbox::{Mailbox, Transport};
use crate::engine::published::Published;
use crate::engine::randomness::Randomness;
use crate::engine::{Envelope, Rejection};
use crate::store::codec;
use crate::store::{Record, Stream};

/// How often groups are asked whether they could stop.
const IDLE_SWEEP: Duration = Duration::from_secs(600);

const SECOND: Duration = Duration::from_secs(1);

/// What reaches the supervisor.
#[derive(Debug)]
pub(super) enum Message {
    /// A write, to be handed to its group.
    Write { group: GroupId, envelope: Envelope },
    /// A group runs low on ids.
    NeedIds { group: GroupId, kind: IdKind },
    /// A group has nothing to do, and had received so many commands when it said so.
    GroupIsIdle { group: GroupId, received: u64 },
    /// The journal has answered all that a dead group's actor had sent it.
    Settled(GroupId),
    /// A second has passed.
    Second,
    /// The operator changes who is let in.
    ChangeAccess { change: ChangeAccess, reply: oneshot::Sender<Result<(), AccessRefusal>> },
    /// Time to look for idle groups.
    Sweep,
    /// All is answered: end.
    ShutDown,
}

/// What the supervisor starts from.
pub(super) struct Parts {
    pub(super) published: Arc<Published>,
    pub(super) directory: Arc<Directory>,
    pub(super) journal: Handle,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) draws: Randomness,
    pub(super) transport: Transport,
    pub(super) health: Arc<Health>,
}

struct Supervisor;

/// What the actor owns.
struct State {
    parts: Parts,
    /// Groups that are not merely at rest.
    seats: BTreeMap<GroupId, Seat>,
    myself: Mailbox<Message>,
    me: ActorRef<Message>,
}

/// What stands behind a group's name.
enum Seat {
    /// An actor, and how many commands it has been sent.
    Running {
        actor: ActorRef<group::Message>,
        link: Mailbox<group::Message>,
        sent: u64,
        sent_at_sweep: u64,
    },
    /// The actor died; nobody is let in until the journal has answered all that it had sent.
    Settling,
}

impl Actor for Supervisor {
    type Msg = Message;
    type State = State;
    type Arguments = Parts;

    async fn pre_start(
        &self,
        me: ActorRef<Message>,
        parts: Parts,
    ) -> Result<State, ActorProcessingErr> {
        let myself = parts.transport.link(me.clone());
        me.send_interval(IDLE_SWEEP, || Message::Sweep);
        me.send_interval(SECOND, || Message::Second);
        Ok(State { parts, seats: BTreeMap::new(), myself, me })
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Write { group, envelope } => state.route(group, envelope),
            Message::NeedIds { group, kind } => state.grant_ids(group, kind),
            Message::GroupIsIdle { group, received } => state.rest(group, received),
            Message::Settled(group) => state.settled(group),
            Message::Second => {
                state.parts.journal.append(Entry {
                    record: None,
                    publish: Publish::Second,
                    release: None,
                });
            }
            Message::ChangeAccess { change, reply } => state.change_access(&change, reply),
            Message::Sweep => state.sweep(),
            Message::ShutDown => state.shut_down(),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Message>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(who, _)
            | SupervisionEvent::ActorTerminated(who, _, _) => {
                state.group_died(&who);
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

/// Starts the supervisor.
pub(super) async fn start(parts: Parts) -> Mailbox<Message> {
    let (transport, health) = (parts.transport.clone(), Arc::clone(&parts.health));
    let (actor, joining) = Actor::spawn(None, Supervisor, parts)
        .await
        .expect("an actor without a name is always started");
    tokio::spawn(async move {
        // However it ends: only whether it was told to matters.
        drop(joining.await);
        health.supervisor_ended();
    });
    transport.link(actor)
}

impl State {
    fn route(&mut self, group: GroupId, envelope: Envelope) {
        if !self.seats.contains_key(&group) {
            let Some(seat) = self.seat(group) else {
                return envelope.answer(Err(Rejection::NoGroup));
            };
            self.seats.insert(group, seat);
        }
        match self.seats.get_mut(&group) {
            Some(Seat::Running { link, sent, .. }) => {
                *sent += 1;
                link.send(group::Message::Command(envelope));
            }
            Some(Seat::Settling) | None => envelope.answer(Err(Rejection::Overloaded)),
        }
    }

    /// Starts a group's actor from the published group_state, which is the newest: nobody else writes the group.
    fn seat(&mut self, group: GroupId) -> Option<Seat> {
        let parts = &mut self.parts;
        let group_state = parts.published.group_state(group)?;
        let unused = |kind| -> VecDeque<_> {
            parts.directory.unused_ids(kind, group, group_state.highest_id(kind)).collect()
        };
        let ids = IdKind::ALL.into_iter().map(|kind| (kind, unused(kind))).collect();
        let (actor, link) = group::start(
            group::Parts {
                group_state,
                ids,
                published: Arc::clone(&parts.published),
                journal: parts.journal.clone(),
                clock: Arc::clone(&parts.clock),
                draws: parts.draws.fork(),
                transport: parts.transport.clone(),
                supervisor: self.myself.clone(),
            },
            self.me.get_cell(),
        );
        Some(Seat::Running { actor, link, sent: 0, sent_at_sweep: 0 })
    }

    /// Grants a block. The group may use it at once: what it writes with it comes later in the same journal.
    fn grant_ids(&mut self, group: GroupId, kind: IdKind) {
        let block = self.parts.directory.next_block(kind);
        let event = self.parts.directory.grant_block(kind, group);
        let next = self.parts.directory.apply(&event);
        self.happen(&event, next, None);
        if let Some(Seat::Running { link, .. }) = self.seats.get(&group) {
            link.send(group::Message::Ids(kind, (block * BLOCK).max(1)..(block + 1) * BLOCK));
        }
    }

    /// Decides what the operator wants, and answers when it is durable. A panic is a bug of ours: whoever waits sees the
    /// reply port close.
    fn change_access(
        &mut self,
        change: &ChangeAccess,
        reply: oneshot::Sender<Result<(), AccessRefusal>>,
    ) {
        let groups = self.parts.published.groups().collect();
        let (directory, now) = (Arc::clone(&self.parts.directory), self.parts.clock.now());
        let decided = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let event = access::decide(&directory, &groups, change, now)?;
            let next = directory.apply(&event);
            Ok::<_, AccessRefusal>((event, next))
        }));
        match decided {
            Err(_) => {}
            Ok(Ok((event, next))) => {
                self.happen(&event, next, Some(Release::Operator(reply, Ok(()))))
            }
            Ok(Err(refusal)) => {
                // What it saw may not be durable yet.
                let release = Some(Release::Operator(reply, Err(refusal)));
                self.parts.journal.append(Entry {
                    record: None,
                    publish: Publish::Nothing,
                    release,
                });
            }
        }
    }

    /// Makes an event of the directory its newest state, and hands it to the journal.
    fn happen(&mut self, event: &DirectoryEvent, next: Directory, release: Option<Release>) {
        let next = Arc::new(next);
        self.parts.directory = Arc::clone(&next);
        let record = Some(Record::new(Stream::Directory, 0, next.sequence, codec::encode(event)));
        self.parts.journal.append(Entry { record, publish: Publish::Directory(next), release });
    }

    fn sweep(&mut self) {
        for seat in self.seats.values_mut() {
            if let Seat::Running { link, sent, sent_at_sweep, .. } = seat {
                if sent == sent_at_sweep {
                    link.send(group::Message::AreYouIdle(*sent));
                }
                *sent_at_sweep = *sent;
            }
        }
    }

    /// Stops a group that has nothing to do, unless a command is on its way to it.
    fn rest(&mut self, group: GroupId, received: u64) {
        if let Some(Seat::Running { actor, sent, .. }) = self.seats.get(&group)
            && *sent == received
        {
            actor.stop(None);
            self.seats.remove(&group);
        }
    }

    fn group_died(&mut self, who: &ActorCell) {
        let is_it = |seat: &Seat| matches!(seat, Seat::Running { actor, .. } if actor.get_id() == who.get_id());
        let dead = self.seats.iter().find(|(_, seat)| is_it(seat)).map(|(id, _)| *id);
        let Some(group) = dead else { return };
        tracing::error!(%group, "a group's actor died; it starts anew once all it had written is durable");
        self.seats.insert(group, Seat::Settling);
        let (answered, settled) = oneshot::channel();
        let release = Some(Release::Fence(answered));
        self.parts.journal.append(Entry { record: None, publish: Publish::Nothing, release });
        let myself = self.myself.clone();
        tokio::spawn(async move {
            if settled.await.is_ok() {
                myself.send(Message::Settled(group));
            }
        });
    }

    fn settled(&mut self, group: GroupId) {
        if let Some(Seat::Settling) = self.seats.get(&group) {
            self.seats.remove(&group);
        }
    }

    /// Ends the groups, then itself; with the last handle the journal ends too.
    fn shut_down(&mut self) {
        for seat in std::mem::take(&mut self.seats).into_values() {
            if let Seat::Running { actor, .. } = seat {
                actor.stop(None);
            }
        }
        self.me.stop(None);
    }
}
