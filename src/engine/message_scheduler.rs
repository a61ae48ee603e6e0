//! The timer: knows what is due when, wakes for the next of it, and has it sent. Reference 7.
//!
//! It owns no state that matters. What is due follows from the published group_states: those of the next four days stand in its
//! queue, made again each hour and kept right by every commit. A restart begins with the same group_states, so with the same queue:
//! that of the server, and that of the timer alone, should a bug end it.
//! It reads the clock at every waking, and wakes now and then for nothing, since the clock of a machine may be set.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use imbl::ordmap::DiffItem;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::domain::messaging::channel::Channel;
use crate::domain::messaging::delivery::DueItem;
use crate::domain::messaging::message::{Message as OutgoingMessage, Progress};
use crate::domain::messaging::planning::{self, PlannedReminder};
use crate::domain::records::ids::GroupId;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{DAY, HOUR, INSTANT_MIN, Instant};
use crate::engine::Engine;
use crate::engine::fair_queue::FairQueue;
use crate::engine::mailbox::{Mailbox, Transport};
use crate::engine::message_sender::{MessageSender, attempt};
use crate::engine::queue::{Matter, Queue};

/// How far ahead the queue reaches, in seconds.
const HORIZON_SECONDS: i64 = 4 * DAY;
/// How often the queue is made again.
const REFILL: Duration = Duration::from_secs(3_600);
/// An attempt that could not even be claimed is tried again after so many seconds.
const AGAIN_SECONDS: i64 = 2;
/// How long a timer that ended by a bug rests before the next takes its place: doubled with each that did not live long.
const REST: Duration = Duration::from_millis(100);
const REST_MAX: Duration = Duration::from_secs(60);

/// What reaches the timer.
#[derive(Debug)]
pub(super) enum Message {
    /// A group stands differently, durably.
    Committed { before: Arc<GroupState>, after: Arc<GroupState> },
    /// Something may be due.
    Wake,
    /// Time to look at everything anew.
    Refill,
    /// What a group has to be sent, by one of its states, up to a moment.
    Looked { group_state: Arc<GroupState>, until: Instant, found: Vec<PlannedReminder> },
    /// An attempt has ended, whatever came of it.
    Ended(GroupId, DueItem, Channel),
    /// Begin nothing more; answer when nothing is under way.
    Stop(oneshot::Sender<()>),
}

/// What the timer starts from.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) engine: Engine,
    pub(super) sender: Arc<MessageSender>,
    pub(super) transport: Transport,
    /// How long it sleeps at most before it reads the clock again.
    pub(super) doze: Duration,
    /// Attempts of one channel under way at most.
    pub(super) lane: usize,
    /// Nothing begins any more.
    pub(super) stopped: Arc<AtomicBool>,
}

/// Held by a timer and by every attempt that it has begun: the next begins when all of them are gone.
type Alive = mpsc::Sender<Infallible>;

struct Timer;

/// What the actor owns.
struct State {
    parts: Parts,
    alive: Alive,
    myself: Mailbox<Message>,
    /// What is due before the horizon. Holds none that is ready or under way.
    queue: Queue,
    /// What is due and waits for its lane, with what is in it.
    lanes: BTreeMap<Channel, FairQueue>,
    /// What waits in a lane or is under way.
    taken: BTreeSet<Matter>,
    /// Up to when the queue knows what is due, and when that was looked up.
    horizon: Instant,
    looked_at: Instant,
    /// The sleep until the next waking, and for what it was set.
    alarm: Option<(JoinHandle<()>, Option<Instant>)>,
    /// Who waits for the end of what is under way.
    stopping: Option<oneshot::Sender<()>>,
}

impl Actor for Timer {
    type Msg = Message;
    type State = State;
    type Arguments = (Parts, Alive);

    async fn pre_start(
        &self,
        me: ActorRef<Message>,
        (parts, alive): (Parts, Alive),
    ) -> Result<State, ActorProcessingErr> {
        let myself = parts.transport.link(me.clone());
        me.send_interval(REFILL, || Message::Refill);
        let now = parts.engine.clock().now();
        let mut state = State {
            parts,
            alive,
            myself,
            queue: Queue::default(),
            lanes: Channel::ALL.map(|channel| (channel, FairQueue::default())).into(),
            taken: BTreeSet::new(),
            horizon: now,
            looked_at: now,
            alarm: None,
            stopping: None,
        };
        state.refill();
        Ok(state)
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Committed { before, after } => state.follow(&before, &after),
            Message::Wake => {
                // Whoever woke us sleeps no more, even where it has not ended yet.
                state.alarm = None;
                state.wake();
            }
            Message::Refill => state.refill(),
            Message::Looked { group_state, until, found } => {
                state.take_over(&group_state, until, &found)
            }
            Message::Ended(group, item, channel) => state.ended((group, item), channel),
            Message::Stop(answer) => {
                state.parts.stopped.store(true, Ordering::Relaxed);
                state.stopping = Some(answer);
            }
        }
        state.begin();
        state.set_alarm();
        Ok(())
    }
}

/// A timer until it ends, and what it leaves.
struct Running {
    joining: JoinHandle<()>,
    /// Closed once the timer and all that it has begun have ended.
    gone: mpsc::Receiver<Infallible>,
}

/// Starts the timer, and another in its place whenever a bug ends it.
pub(super) async fn start(parts: Parts) {
    let running = spawn(&parts).await;
    tokio::spawn(keep(parts, running));
}

/// A timer that is told of every change from now on; `None` where a bug ended it before it began.
async fn spawn(parts: &Parts) -> Option<Running> {
    let (alive, gone) = mpsc::channel(1);
    let (actor, joining) = Actor::spawn(None, Timer, (parts.clone(), alive)).await.ok()?;
    let timer = parts.transport.link(actor);
    parts.engine.published().tell(timer.clone());
    // What was committed before anybody was told is found by looking anew.
    timer.send(Message::Refill);
    Some(Running { joining, gone })
}

/// Waits for the end of a timer, which comes by a bug alone, and starts another: bookings go on, and so does the sender.
async fn keep(parts: Parts, mut running: Option<Running>) {
    let mut rest = REST;
    loop {
        let begun = tokio::time::Instant::now();
        let gone = match running {
            None => None,
            Some(Running { joining, gone }) => {
                drop(joining.await);
                Some(gone)
            }
        };
        tracing::error!("a bug: the timer of messages has ended, and is started anew");
        parts.sender.meters.timer_ended();
        if let Some(mut gone) = gone {
            // What it has begun goes on: nobody is to attempt the same beside it.
            while gone.recv().await.is_some() {}
        }
        if begun.elapsed() > REST_MAX {
            rest = REST;
        }
        tokio::time::sleep(rest).await;
        rest = (rest * 2).min(REST_MAX);
        running = spawn(&parts).await;
    }
}

impl State {
    /// Looks at every group anew, one after another, beside the actor.
    fn refill(&mut self) {
        let now = self.parts.engine.clock().now();
        self.looked_at = now;
        self.horizon = now.plus_seconds(HORIZON_SECONDS);
        let groups: Vec<GroupId> = self.parts.engine.published().groups().collect();
        self.look_at(groups, now);
    }

    fn look_at(&self, groups: Vec<GroupId>, now: Instant) {
        let (engine, myself, until) =
            (self.parts.engine.clone(), self.myself.clone(), self.horizon);
        tokio::spawn(async move {
            for group_state in
                groups.into_iter().filter_map(|group| engine.published().group_state(group))
            {
                match due_in(&group_state, now, until).await {
                    Some(found) => myself.send(Message::Looked { group_state, until, found }),
                    None => {
                        tracing::error!(group = %group_state.catalogue.group.id, "reminders cannot be planned")
                    }
                }
            }
        });
    }

    /// Puts what was found in a state in place of what the queue held of its group, then follows what has changed since.
    fn take_over(
        &mut self,
        group_state: &Arc<GroupState>,
        until: Instant,
        found: &[PlannedReminder],
    ) {
        let group = group_state.catalogue.group.id;
        if until < self.horizon {
            return;
        }
        let reminders =
            found.iter().map(|it| (DueItem::Reminder(it.appointment, it.channel), it.due));
        let messages = group_state.outbox.open().filter_map(|message| {
            Some((DueItem::Message(message.id), self.due_of(group, message, INSTANT_MIN)?))
        });
        let wanted = |(item, due): &(DueItem, Instant)| {
            *due < self.horizon && !self.taken.contains(&(group, *item))
        };
        let matters = reminders.chain(messages).filter(wanted).collect();
        self.queue.replace(group, matters);
        let newest = self.parts.engine.published().group_state(group);
        if let Some(newest) = newest.filter(|newest| !Arc::ptr_eq(newest, group_state)) {
            self.follow(group_state, &newest);
        }
    }

    /// Follows a group from one state to a later one.
    fn follow(&mut self, before: &GroupState, after: &Arc<GroupState>) {
        let (was, is) = (&before.catalogue.group, &after.catalogue.group);
        let rescheduled = was.mail_since != is.mail_since || was.sms_since != is.sms_since;
        if rescheduled {
            // Every due time has moved: too much for a turn of this actor.
            self.look_at(vec![is.id], self.parts.engine.clock().now());
        }
        let zone = after.catalogue.zone();
        let rows = before.rows.diff(&after.rows).filter_map(changed_key).copied();
        let fiches = before.fiches.diff(&after.fiches).filter_map(changed_key).copied();
        let theirs =
            fiches.flat_map(|client| after.appointments_of(client).iter().map(|taken| taken.id));
        let touched: BTreeSet<_> = rows.chain(theirs).collect();
        for row in touched.iter().filter_map(|id| after.rows.get(id)) {
            for channel in [Channel::Mail, Channel::Sms] {
                let due = planning::unclaimed_due_time(after, zone, row, channel);
                self.plan((is.id, DueItem::Reminder(row.id, channel)), due);
            }
        }
        for message in after.outbox.changed_since(&before.outbox) {
            if let Some((channel, standing)) = message.reminder() {
                let row = after.rows.get(&standing.id);
                let due =
                    row.and_then(|row| planning::unclaimed_due_time(after, zone, row, channel));
                self.plan((is.id, DueItem::Reminder(standing.id, channel)), due);
            }
            // A claim that is news is that of an attempt under way.
            if !matches!(message.progress, Progress::Claimed { .. }) {
                self.plan_message(is.id, message, INSTANT_MIN);
            }
        }
    }

    /// Whether an attempt at a message is under way: as the message, or as the reminder that it was before.
    fn is_under_way(&self, group: GroupId, message: &OutgoingMessage) -> bool {
        let reminder =
            message.reminder().map(|(channel, standing)| DueItem::Reminder(standing.id, channel));
        let items = [Some(DueItem::Message(message.id)), reminder];
        items.into_iter().flatten().any(|item| self.taken.contains(&(group, item)))
    }

    /// When a message is due, but not before `earliest`. What is claimed and not under way was left so by a server that
    /// ended; a time more than a day ahead was set by a clock that was ahead.
    fn due_of(
        &self,
        group: GroupId,
        message: &OutgoingMessage,
        earliest: Instant,
    ) -> Option<Instant> {
        let far = self.parts.engine.clock().now().plus_seconds(DAY);
        match &message.progress {
            Progress::Waiting { not_before, .. } if *not_before > far => Some(earliest),
            Progress::Waiting { not_before, .. } => Some(earliest.max(*not_before)),
            Progress::Claimed { .. } => (!self.is_under_way(group, message)).then_some(earliest),
            Progress::Sent { .. }
            | Progress::Kept { .. }
            | Progress::Failed { .. }
            | Progress::Missed { .. }
            | Progress::Suppressed { .. } => None,
        }
    }

    /// Puts a message where it is due.
    fn plan_message(&mut self, group: GroupId, message: &OutgoingMessage, earliest: Instant) {
        let due = self.due_of(group, message, earliest);
        self.plan((group, DueItem::Message(message.id)), due);
    }

    /// Puts a matter where it is due, or nowhere.
    fn plan(&mut self, matter: Matter, due: Option<Instant>) {
        let due = due.filter(|due| *due < self.horizon && !self.taken.contains(&matter));
        self.queue.plan(matter, due);
    }

    /// Takes what is due out of the queue. A clock that has been set far makes the queue anew.
    fn wake(&mut self) {
        let now = self.parts.engine.clock().now();
        if now.plus_seconds(HOUR) < self.looked_at
            || self.horizon < now.plus_seconds(HORIZON_SECONDS / 2)
        {
            self.refill();
        }
        while let Some((due, matter)) = self.queue.take(now) {
            let Some((channel, is_reminder)) = self.sort(matter) else { continue };
            self.taken.insert(matter);
            self.lanes.entry(channel).or_default().push(matter, due, is_reminder);
        }
    }

    /// By what a matter goes, and whether it is a reminder; `None` where it is no more.
    fn sort(&self, (group, item): Matter) -> Option<(Channel, bool)> {
        match item {
            DueItem::Reminder(_, channel) => Some((channel, true)),
            DueItem::Message(id) => {
                let group_state = self.parts.engine.published().group_state(group)?;
                let message = group_state.outbox.message(id)?;
                Some((message.channel(), message.reminder().is_some()))
            }
        }
    }

    /// Begins as many attempts as the lanes have room for.
    fn begin(&mut self) {
        let stopped = self.parts.stopped.load(Ordering::Relaxed);
        for (channel, lane) in &mut self.lanes {
            while !stopped && lane.under_way < self.parts.lane {
                let Some(((group, item), due)) = lane.begin() else { break };
                let (engine, sender) = (self.parts.engine.clone(), Arc::clone(&self.parts.sender));
                sender.meters.begins(*channel, lateness(&engine, due));
                let (myself, alive, channel) = (self.myself.clone(), self.alive.clone(), *channel);
                let ending = Ending {
                    myself,
                    sender: Arc::clone(&sender),
                    _alive: alive,
                    group,
                    item,
                    channel,
                };
                tokio::spawn(async move {
                    attempt(&engine, &sender, group, item, channel).await;
                    drop(ending);
                });
            }
        }
        if self.lanes.values().all(|lane| lane.under_way == 0)
            && let Some(waiting) = self.stopping.take()
        {
            // Whoever asked may have lost patience.
            let _ = waiting.send(());
        }
    }

    fn ended(&mut self, matter: Matter, channel: Channel) {
        self.taken.remove(&matter);
        if let Some(lane) = self.lanes.get_mut(&channel) {
            lane.end();
        }
        let (group, item) = matter;
        let Some(group_state) = self.parts.engine.published().group_state(group) else { return };
        let soon = self.parts.engine.clock().now().plus_seconds(AGAIN_SECONDS);
        match item {
            DueItem::Message(id) => {
                if let Some(message) = group_state.outbox.message(id) {
                    // What is still due could not be claimed, or its result not be kept: not at once again.
                    self.plan_message(group, message, soon);
                }
            }
            DueItem::Reminder(id, channel) => {
                let zone = group_state.catalogue.zone();
                let due = group_state
                    .rows
                    .get(&id)
                    .and_then(|row| planning::unclaimed_due_time(&group_state, zone, row, channel));
                self.plan(matter, due.map(|due| due.max(soon)));
                if let Some(message) = group_state.outbox.open_reminder(id, channel) {
                    // What is still due could not be claimed, or its result not be kept: not at once again.
                    self.plan_message(group, message, soon);
                }
            }
        }
    }

    /// Sleeps until the next is due, or for a doze.
    fn set_alarm(&mut self) {
        let next = self.queue.next();
        match self.alarm.take() {
            Some((alarm, set_for)) if set_for == next && !alarm.is_finished() => {
                self.alarm = Some((alarm, set_for));
                return;
            }
            Some((alarm, _)) => alarm.abort(),
            None => {}
        }
        let clock = self.parts.engine.clock();
        let until = next.map(|due| due.seconds_since(clock.now()));
        let sleep = match until.map(u64::try_from) {
            None => self.parts.doze,
            Some(Err(_)) => Duration::ZERO,
            Some(Ok(seconds)) => Duration::from_secs(seconds)
                .saturating_sub(clock.second_gone())
                .min(self.parts.doze),
        };
        let myself = self.myself.clone();
        let alarm = tokio::spawn(async move {
            tokio::time::sleep(sleep).await;
            myself.send(Message::Wake);
        });
        self.alarm = Some((alarm, next));
    }
}

/// What is due in a group, calendar by calendar, so that nobody waits long for this thread; `None` after a bug, which is
/// not to silence other groups.
async fn due_in(
    group_state: &Arc<GroupState>,
    now: Instant,
    until: Instant,
) -> Option<Vec<PlannedReminder>> {
    let mut found = Vec::new();
    for view in group_state.calendars.values() {
        let look = AssertUnwindSafe(|| {
            found.extend(planning::calendar_reminders_due_before(group_state, view, now, until))
        });
        std::panic::catch_unwind(look).ok()?;
        tokio::task::yield_now().await;
    }
    Some(found)
}

/// How long ago something was due; `None` of what was due at once.
fn lateness(engine: &Engine, due: Instant) -> Option<Duration> {
    let clock = engine.clock();
    let seconds = (due > INSTANT_MIN).then(|| clock.now().seconds_since(due))?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)) + clock.second_gone())
}

/// The key of what a map has that another had not, or had differently.
fn changed_key<'a, K, V>(change: DiffItem<'a, 'a, K, V>) -> Option<&'a K> {
    match change {
        DiffItem::Add(key, _) | DiffItem::Update { new: (key, _), .. } => Some(key),
        DiffItem::Remove(..) => None,
    }
}

/// Tells the timer that an attempt has ended, even where it panicked.
struct Ending {
    myself: Mailbox<Message>,
    sender: Arc<MessageSender>,
    _alive: Alive,
    group: GroupId,
    item: DueItem,
    channel: Channel,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.sender.meters.ends(self.channel);
        self.myself.send(Message::Ended(self.group, self.item, self.channel));
    }
}
