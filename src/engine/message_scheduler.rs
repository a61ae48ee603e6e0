//! The message scheduler: it knows which messages are due when, and starts their attempts.
//! Reference 7.1 and 7.2.
//!
//! It owns no data. Its queue holds the due times of the next four days, derived from the
//! published states: rebuilt every hour, and updated by every commit. After a restart of the
//! server, or of the scheduler alone after a bug, the same states give the same queue.
//!
//! The machine's clock may be set at any time. The scheduler therefore wakes at intervals, and
//! reads the clock at every wake-up.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::domain::messaging::planning::PlannedReminder;
use crate::domain::records::channel::Channel;
use crate::domain::records::ids::GroupId;
use crate::domain::records::message::{Message, Progress};
use crate::domain::state::changed_records::ChangedRecords;
use crate::domain::state::delivery_step::DueItem;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{DAY, HOUR, INSTANT_MIN, Instant};
use crate::engine::due_reminders::{Panicked, find_due_reminders, reminder_due, vevents_to_plan};
use crate::engine::fair_queue::FairQueue;
use crate::engine::handle::Engine;
use crate::engine::mailbox::{Mailbox, Transport};
use crate::engine::message_sender::{MessageSender, attempt_delivery};
use crate::engine::messages::{GroupChange, ScannedGroup, SchedulerMessage};
use crate::engine::queue::{Matter, Queue};

/// Time that the queue covers after a rebuild, in seconds.
const HORIZON_SECONDS: i64 = 4 * DAY;
/// Maximum number of groups that one turn of the scheduler takes over from a scan.
const SCANNED_GROUPS_MAX: usize = 64;
/// Number of their reminders from which it takes over no more groups.
const SCANNED_REMINDERS: usize = 256;
/// Interval of the rebuilds of the queue.
const REBUILD_INTERVAL: Duration = Duration::from_hours(1);
/// Delay before an item is retried whose claim or outcome could not be recorded, in seconds.
const UNRECORDED_RETRY_SECONDS: i64 = 2;
/// Delay before an item is retried while the clock is in doubt, in seconds.
const DOUBT_RETRY_SECONDS: i64 = 60;
/// Delay before a scheduler that a bug has ended is replaced. It doubles with each early end.
const RESTART_DELAY: Duration = Duration::from_millis(100);
/// Maximum of the restart delay. A scheduler that has run longer resets the delay.
const RESTART_DELAY_MAX: Duration = Duration::from_secs(60);

/// The resources that the scheduler starts from.
#[derive(Clone)]
pub(crate) struct SchedulerParts {
    pub(crate) engine: Engine,
    pub(crate) sender: Arc<MessageSender>,
    pub(crate) transport: Transport,
    /// Maximum time between two readings of the clock.
    pub(crate) poll_interval_max: Duration,
    /// Maximum number of attempts in flight of each channel.
    pub(crate) concurrent_attempts_max: usize,
    /// Whether no more attempts may start. Shared by a scheduler and its replacements.
    pub(crate) stopped: Arc<AtomicBool>,
}

/// Held by a scheduler and by its attempts. A replacement starts when all copies are dropped.
type LivenessToken = mpsc::Sender<Infallible>;

struct MessageScheduler;

/// State of the scheduler.
struct SchedulerState {
    parts: SchedulerParts,
    liveness: LivenessToken,
    own_mailbox: Mailbox<SchedulerMessage>,
    /// Items due before `horizon`. It holds none that is in `started`.
    queue: Queue,
    /// Due items that wait for a free attempt, by channel.
    channels: BTreeMap<Channel, FairQueue>,
    /// Items that wait in `channels` or have an attempt in flight.
    started: BTreeSet<Matter>,
    /// The queue knows every item that is due before this time.
    horizon: Instant,
    /// Time of the last rebuild.
    rebuilt_at: Instant,
    /// The sleeping task that sends the next `Wake`, with the due time it is set for.
    alarm: Option<(JoinHandle<()>, Option<Instant>)>,
    /// Port of the caller that waits until no attempt is in flight.
    stop_reply: Option<oneshot::Sender<()>>,
}

impl Actor for MessageScheduler {
    type Msg = SchedulerMessage;
    type State = SchedulerState;
    type Arguments = (SchedulerParts, LivenessToken);

    async fn pre_start(
        &self,
        own_ref: ActorRef<SchedulerMessage>,
        (parts, liveness): (SchedulerParts, LivenessToken),
    ) -> Result<SchedulerState, ActorProcessingErr> {
        let own_mailbox = parts.transport.link(own_ref.clone());
        own_ref.send_interval(REBUILD_INTERVAL, || SchedulerMessage::Rebuild);
        let now = parts.engine.clock().now();
        Ok(SchedulerState {
            parts,
            liveness,
            own_mailbox,
            queue: Queue::default(),
            channels: Channel::ALL.map(|channel| (channel, FairQueue::default())).into(),
            started: BTreeSet::new(),
            horizon: now,
            rebuilt_at: now,
            alarm: None,
            stop_reply: None,
        })
    }

    async fn handle(
        &self,
        _: ActorRef<SchedulerMessage>,
        message: SchedulerMessage,
        state: &mut SchedulerState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SchedulerMessage::GroupsChanged(changes) => {
                for change in &changes {
                    state.update_group(change);
                }
            }
            SchedulerMessage::Wake => state.wake(),
            SchedulerMessage::Rebuild => state.rebuild(),
            SchedulerMessage::GroupsScanned { until, groups } => {
                for ScannedGroup { group_state, found } in &groups {
                    state.replace_group(group_state, until, found);
                }
            }
            SchedulerMessage::AttemptEnded(group, item, channel) => {
                state.on_attempt_ended((group, item), channel);
            }
            SchedulerMessage::Stop(reply) => state.stop(reply),
        }
        state.start_attempts();
        state.set_alarm();
        Ok(())
    }
}

/// A running scheduler.
struct RunningScheduler {
    joining: JoinHandle<()>,
    /// Closed when the scheduler and all its attempts have ended.
    liveness: mpsc::Receiver<Infallible>,
}

/// Starts the scheduler, and replaces it whenever a bug ends it.
pub(crate) async fn start(parts: SchedulerParts) {
    let running = spawn_scheduler(&parts).await;
    tokio::spawn(restart_on_failure(parts, running));
}

/// Starts one scheduler and publishes its mailbox; `None` if a bug ends it at its start.
async fn spawn_scheduler(parts: &SchedulerParts) -> Option<RunningScheduler> {
    let (token, liveness) = mpsc::channel(1);
    let spawned = Actor::spawn(None, MessageScheduler, (parts.clone(), token)).await;
    let (actor, joining) = spawned.ok()?;
    let mailbox = parts.transport.link(actor);
    parts.engine.published().set_scheduler(mailbox.clone());
    // It finds all that is due, with the commits before `set_scheduler`, which were not notified.
    mailbox.send(SchedulerMessage::Rebuild);
    Some(RunningScheduler { joining, liveness })
}

/// Waits for the end of a scheduler, which only a bug causes, and starts another. Bookings and
/// attempts in flight go on meanwhile.
async fn restart_on_failure(parts: SchedulerParts, mut running: Option<RunningScheduler>) {
    let mut delay = RESTART_DELAY;
    loop {
        let began = tokio::time::Instant::now();
        let mut liveness = None;
        if let Some(scheduler) = running {
            drop(scheduler.joining.await);
            liveness = Some(scheduler.liveness);
        }
        tracing::error!("the message scheduler ended by a bug and is restarted");
        parts.sender.metrics.record_scheduler_failure();
        // A replacement could attempt the same messages as the attempts still in flight.
        if let Some(mut liveness) = liveness {
            while liveness.recv().await.is_some() {}
        }
        if began.elapsed() > RESTART_DELAY_MAX {
            delay = RESTART_DELAY;
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(RESTART_DELAY_MAX);
        running = spawn_scheduler(&parts).await;
    }
}

/// Building the queue.
impl SchedulerState {
    /// Scans every group anew, in a task of its own.
    fn rebuild(&mut self) {
        let now = self.now();
        self.rebuilt_at = now;
        self.horizon = now.plus_seconds(HORIZON_SECONDS);
        let groups = self.parts.engine.published().groups().collect();
        self.spawn_scan(groups, now);
    }

    /// Scans groups in a task, which sends what it has found of some at a time.
    fn spawn_scan(&self, groups: Vec<GroupId>, now: Instant) {
        let engine = self.parts.engine.clone();
        let own_mailbox = self.own_mailbox.clone();
        let until = self.horizon;
        tokio::spawn(async move {
            let mut scanned = Vec::new();
            let mut reminders = 0;
            for group in groups {
                let Some(group_state) = engine.published().group_state(group) else { continue };
                match find_due_reminders(&group_state, now, until).await {
                    Ok(found) => {
                        reminders += found.len();
                        scanned.push(ScannedGroup { group_state, found });
                    }
                    // A bug in one group must not silence the others.
                    Err(Panicked) => {
                        tracing::error!(%group, "planning the reminders of a group panicked");
                    }
                }
                if scanned.len() >= SCANNED_GROUPS_MAX || reminders >= SCANNED_REMINDERS {
                    let groups = std::mem::take(&mut scanned);
                    own_mailbox.send(SchedulerMessage::GroupsScanned { until, groups });
                    reminders = 0;
                    tokio::task::yield_now().await;
                }
            }
            own_mailbox.send(SchedulerMessage::GroupsScanned { until, groups: scanned });
        });
    }

    /// Replaces a group's items in the queue by those of a scanned state, then applies the changes
    /// since that state.
    fn replace_group(
        &mut self,
        scanned: &Arc<GroupState>,
        until: Instant,
        found: &[PlannedReminder],
    ) {
        if until < self.horizon {
            // A later rebuild scans the group again, up to its own horizon.
            return;
        }
        let group = scanned.catalogue.group.id;
        let mut items = Vec::new();
        for reminder in found {
            items.push((DueItem::Reminder(reminder.appointment, reminder.channel), reminder.due));
        }
        for message in scanned.outbox.unsent(self.now()) {
            if let Some(due) = self.due_time(group, message, INSTANT_MIN) {
                items.push((DueItem::Message(message.id), due));
            }
        }
        items.retain(|(item, due)| self.belongs_in_queue((group, *item), *due));
        self.queue.replace(group, items);
        let Some(newest) = self.parts.engine.published().group_state(group) else { return };
        if Arc::ptr_eq(&newest, scanned) {
            return;
        }
        let changed = ChangedRecords::between(scanned, &newest);
        if let Some(change) = GroupChange::new(scanned, newest, changed) {
            self.update_group(&change);
        }
    }

    /// Updates the queue by a change of a group.
    fn update_group(&mut self, change: &GroupChange) {
        let GroupChange { group_state, changed, moves_reminders } = change;
        let group = group_state.catalogue.group.id;
        let now = self.now();
        if *moves_reminders {
            // Every due time has changed: too much work for one turn of this actor.
            self.spawn_scan(vec![group], now);
        }
        for vevent in vevents_to_plan(group_state, changed) {
            for channel in [Channel::Mail, Channel::Sms] {
                let due = reminder_due(group_state, vevent, channel, now);
                self.plan((group, DueItem::Reminder(vevent, channel)), due);
            }
        }
        for id in &changed.messages {
            // A message may have expired since.
            let Some(message) = group_state.outbox.message(*id) else { continue };
            // A new claim belongs to an attempt in flight.
            if !matches!(message.progress, Progress::Claimed { .. }) {
                self.plan_message(group, message, INSTANT_MIN);
            }
        }
    }

    /// Returns the due time of a message, at least `earliest`; `None` if it is settled or has an
    /// attempt in flight.
    fn due_time(&self, group: GroupId, message: &Message, earliest: Instant) -> Option<Instant> {
        match &message.progress {
            Progress::Waiting { not_before, .. } => {
                // A retry is at most a day away, so a later time came from a clock set ahead.
                let latest = self.now().plus_seconds(DAY);
                if *not_before > latest {
                    return Some(earliest);
                }
                Some(earliest.max(*not_before))
            }
            Progress::Claimed { .. } => {
                // A claim without an attempt in flight was left by a server that ended.
                if self.has_attempt(group, message) {
                    return None;
                }
                Some(earliest)
            }
            Progress::Failed { .. } | Progress::Missed { .. } | Progress::Suppressed { .. } => {
                // A reopened reminder is planned by its appointment.
                if message.reminder().is_some() || !message.is_reopened(self.now()) {
                    return None;
                }
                Some(earliest)
            }
            Progress::Sent { .. } | Progress::Kept { .. } => None,
        }
    }

    /// Returns whether an attempt is in flight for a message: under its own id, or under the
    /// reminder that became the message.
    fn has_attempt(&self, group: GroupId, message: &Message) -> bool {
        if self.started.contains(&(group, DueItem::Message(message.id))) {
            return true;
        }
        match message.reminder() {
            Some((channel, standing)) => {
                self.started.contains(&(group, DueItem::Reminder(standing.id, channel)))
            }
            None => false,
        }
    }

    fn plan_message(&mut self, group: GroupId, message: &Message, earliest: Instant) {
        let due = self.due_time(group, message, earliest);
        self.plan((group, DueItem::Message(message.id)), due);
    }

    /// Puts an item into the queue at its due time, or removes it.
    fn plan(&mut self, matter: Matter, due: Option<Instant>) {
        match due {
            Some(due) if self.belongs_in_queue(matter, due) => self.queue.plan(matter, Some(due)),
            _ => self.queue.plan(matter, None),
        }
    }

    fn belongs_in_queue(&self, matter: Matter, due: Instant) -> bool {
        due < self.horizon && !self.started.contains(&matter)
    }
}

/// Starting and ending attempts.
impl SchedulerState {
    /// Moves due items from the queue to their channels, and rebuilds the queue if the clock was
    /// set far.
    fn wake(&mut self) {
        // The sleeping task that sent this message is done, even if it has not ended yet.
        self.alarm = None;
        let now = self.now();
        let was_set_back = now.plus_seconds(HOUR) < self.rebuilt_at;
        let was_set_ahead = self.horizon < now.plus_seconds(HORIZON_SECONDS / 2);
        if was_set_back || was_set_ahead {
            self.rebuild();
        }
        while let Some((due, matter)) = self.queue.take(now) {
            let Some((channel, is_reminder)) = self.classify(matter) else { continue };
            self.started.insert(matter);
            self.channels.entry(channel).or_default().push(matter, due, is_reminder);
        }
    }

    /// Returns an item's channel, and whether it is a reminder; `None` if it no longer exists.
    fn classify(&self, (group, item): Matter) -> Option<(Channel, bool)> {
        match item {
            DueItem::Reminder(_, channel) => Some((channel, true)),
            DueItem::Message(id) => {
                let group_state = self.parts.engine.published().group_state(group)?;
                let message = group_state.outbox.message(id)?;
                Some((message.channel(), message.reminder().is_some()))
            }
        }
    }

    /// Starts as many attempts as each channel may have in flight.
    fn start_attempts(&mut self) {
        let stopped = self.parts.stopped.load(Ordering::Relaxed);
        let mut in_flight = 0;
        for channel in Channel::ALL {
            while !stopped && let Some((matter, due)) = self.next_attempt(channel) {
                self.spawn_attempt(matter, channel, due);
            }
            in_flight += self.channels.entry(channel).or_default().in_flight;
        }
        if in_flight == 0
            && let Some(reply) = self.stop_reply.take()
        {
            // The caller may have stopped waiting.
            let _ = reply.send(());
        }
    }

    /// Takes a channel's next item; `None` if none waits or the channel is at its limit.
    fn next_attempt(&mut self, channel: Channel) -> Option<(Matter, Instant)> {
        let channel_queue = self.channels.get_mut(&channel)?;
        if channel_queue.in_flight >= self.parts.concurrent_attempts_max {
            return None;
        }
        channel_queue.start_next()
    }

    fn spawn_attempt(&self, (group, item): Matter, channel: Channel, due: Instant) {
        let engine = self.parts.engine.clone();
        let sender = Arc::clone(&self.parts.sender);
        sender.metrics.record_attempt_start(channel, lateness(&engine, due));
        let guard = AttemptGuard {
            scheduler: self.own_mailbox.clone(),
            sender: Arc::clone(&sender),
            _liveness: self.liveness.clone(),
            group,
            item,
            channel,
        };
        tokio::spawn(async move {
            attempt_delivery(&engine, &sender, group, item, channel).await;
            drop(guard);
        });
    }

    /// Frees the attempt, and plans the item again if it is still open.
    fn on_attempt_ended(&mut self, matter: Matter, channel: Channel) {
        self.started.remove(&matter);
        if let Some(channel_queue) = self.channels.get_mut(&channel) {
            channel_queue.attempt_ended();
        }
        let (group, item) = matter;
        let Some(group_state) = self.parts.engine.published().group_state(group) else { return };
        // An item that is still due could not be claimed, or its outcome not be recorded. The delay
        // keeps it from being retried in a busy loop.
        let delay = match self.parts.engine.clock_doubt_seconds() {
            // It may be too late by a wrong clock. The doubt takes up to an hour.
            Some(_) => DOUBT_RETRY_SECONDS,
            None => UNRECORDED_RETRY_SECONDS,
        };
        let earliest = self.now().plus_seconds(delay);
        match item {
            DueItem::Message(id) => {
                if let Some(message) = group_state.outbox.message(id) {
                    self.plan_message(group, message, earliest);
                }
            }
            DueItem::Reminder(id, channel) => {
                let due = reminder_due(&group_state, id, channel, self.now());
                self.plan(matter, due.map(|due| due.max(earliest)));
                if let Some(message) = group_state.outbox.open_reminder(id, channel) {
                    self.plan_message(group, message, earliest);
                }
            }
        }
    }

    fn stop(&mut self, reply: oneshot::Sender<()>) {
        self.parts.stopped.store(true, Ordering::Relaxed);
        self.stop_reply = Some(reply);
    }

    /// Sets the alarm to the first due time, at most one poll interval away.
    fn set_alarm(&mut self) {
        let next_due = self.queue.next();
        match self.alarm.take() {
            Some((alarm, set_for)) if set_for == next_due && !alarm.is_finished() => {
                self.alarm = Some((alarm, set_for));
                return;
            }
            Some((alarm, _)) => alarm.abort(),
            None => {}
        }
        let sleep = self.time_until(next_due);
        let own_mailbox = self.own_mailbox.clone();
        let alarm = tokio::spawn(async move {
            tokio::time::sleep(sleep).await;
            own_mailbox.send(SchedulerMessage::Wake);
        });
        self.alarm = Some((alarm, next_due));
    }

    /// Returns the time until an item is due, at most one poll interval; zero if it is overdue.
    fn time_until(&self, due: Option<Instant>) -> Duration {
        let Some(due) = due else { return self.parts.poll_interval_max };
        let clock = self.parts.engine.clock();
        let Ok(seconds) = u64::try_from(due.seconds_since(clock.now())) else {
            return Duration::ZERO;
        };
        let until_due = Duration::from_secs(seconds).saturating_sub(clock.subsecond());
        until_due.min(self.parts.poll_interval_max)
    }

    fn now(&self) -> Instant {
        self.parts.engine.clock().now()
    }
}

/// Returns the time since an item was due; `None` for one that was due at once.
fn lateness(engine: &Engine, due: Instant) -> Option<Duration> {
    if due <= INSTANT_MIN {
        return None;
    }
    let clock = engine.clock();
    let seconds = u64::try_from(clock.now().seconds_since(due)).unwrap_or(0);
    Some(Duration::from_secs(seconds) + clock.subsecond())
}

/// Reports the end of an attempt to the scheduler when dropped, so also after a panic.
struct AttemptGuard {
    scheduler: Mailbox<SchedulerMessage>,
    sender: Arc<MessageSender>,
    _liveness: LivenessToken,
    group: GroupId,
    item: DueItem,
    channel: Channel,
}

impl Drop for AttemptGuard {
    fn drop(&mut self) {
        self.sender.metrics.record_attempt_end(self.channel);
        self.scheduler.send(SchedulerMessage::AttemptEnded(self.group, self.item, self.channel));
    }
}
