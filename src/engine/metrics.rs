//! What the engine measures for whoever operates it: how long writes wait and take, and what a batch holds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder, Unit};
use tokio::time::Instant as Stopwatch;

use crate::domain::messaging::channel::Channel;
use crate::domain::messaging::message::{Message, MessageKind, Progress};
use crate::domain::state::command::Command;

/// Where figures go; nowhere by default.
#[derive(Clone, Debug)]
pub struct Meters {
    /// Of bookings.
    bookings: Write,
    /// Of every other write.
    others: Write,
    /// Entries of a batch of the journal: events, and answers that only wait for what they saw.
    batch_entries: Histogram,
    /// Seconds from a batch's first byte to the end of its sync.
    batch_seconds: Histogram,
    /// Of messages.
    pub(super) post: MessageMetrics,
}

/// What is measured of messages.
#[derive(Clone, Debug)]
pub(super) struct MessageMetrics {
    /// Messages by what they are and what became of them.
    settled: BTreeMap<(MessageKind, &'static str), Counter>,
    lanes: BTreeMap<Channel, Lane>,
    /// Timers that a bug has ended.
    timers_ended: Counter,
}

/// Of one channel.
#[derive(Clone, Debug)]
struct Lane {
    /// Attempts under way.
    under_way: Gauge,
    /// From when something is due to the beginning of its attempt.
    lateness: Histogram,
}

/// Seconds of the parts of a write.
#[derive(Clone, Debug)]
struct Write {
    /// From its permit to its turn.
    queue: Histogram,
    /// From its turn to its event, questions to calendars included.
    decide: Histogram,
    /// From its permit to its answer, when it is durable and visible.
    whole: Histogram,
}

impl Default for Meters {
    fn default() -> Self {
        let noop = Histogram::noop;
        let write = || Write { queue: noop(), decide: noop(), whole: noop() };
        let post = MessageMetrics {
            settled: BTreeMap::new(),
            lanes: BTreeMap::new(),
            timers_ended: Counter::noop(),
        };
        Self {
            bookings: write(),
            others: write(),
            batch_entries: noop(),
            batch_seconds: noop(),
            post,
        }
    }
}

impl Meters {
    /// Figures that a recorder keeps.
    #[must_use]
    pub fn of(recorder: &dyn Recorder) -> Self {
        let histogram = |name: &'static str, about: &'static str, labels: Vec<Label>| {
            recorder.describe_histogram(KeyName::from(name), Some(Unit::Seconds), about.into());
            recorder.register_histogram(
                &Key::from_parts(name, labels),
                &Metadata::new(module_path!(), Level::INFO, Some(module_path!())),
            )
        };
        let write = |kind: &'static str| {
            let kind = || vec![Label::new("kind", kind)];
            Write {
                queue: histogram(
                    "slotbook_write_queue_seconds",
                    "From a write's permit to its turn.",
                    kind(),
                ),
                decide: histogram(
                    "slotbook_write_decide_seconds",
                    "From a write's turn to its event.",
                    kind(),
                ),
                whole: histogram(
                    "slotbook_write_seconds",
                    "From a write's permit to its durable answer.",
                    kind(),
                ),
            }
        };
        Self {
            bookings: write("booking"),
            others: write("other"),
            batch_entries: histogram(
                "slotbook_batch_entries",
                "Entries of a batch of the journal.",
                Vec::new(),
            ),
            batch_seconds: histogram(
                "slotbook_fsync_seconds",
                "Writing and syncing a batch of the journal.",
                Vec::new(),
            ),
            post: MessageMetrics::of(recorder),
        }
    }

    fn write(&self, is_booking: bool) -> &Write {
        if is_booking { &self.bookings } else { &self.others }
    }

    /// Notes a batch that is durable.
    pub(super) fn batch(&self, entries: usize, since: Stopwatch) {
        self.batch_entries.record(f64::from(u32::try_from(entries).unwrap_or(u32::MAX)));
        self.batch_seconds.record(since.elapsed());
    }
}

/// What can become of a message.
const ENDS: [&str; 5] = ["sent", "kept", "failed", "missed", "suppressed"];

impl MessageMetrics {
    fn of(recorder: &dyn Recorder) -> Self {
        const UNDER_WAY: &str = "slotbook_messages_under_way";
        const LATENESS: &str = "slotbook_message_lateness_seconds";
        const ENDED: &str = "slotbook_timers_ended_total";
        const SETTLED: &str = "slotbook_messages_total";
        let here = Metadata::new(module_path!(), Level::INFO, Some(module_path!()));
        recorder.describe_gauge(
            UNDER_WAY.into(),
            None,
            "Attempts to send a message under way.".into(),
        );
        let late = "From when a message is due to the beginning of its attempt.";
        recorder.describe_histogram(LATENESS.into(), Some(Unit::Seconds), late.into());
        recorder.describe_counter(
            ENDED.into(),
            None,
            "Timers of messages that a bug has ended.".into(),
        );
        recorder.describe_counter(
            SETTLED.into(),
            None,
            "Messages that nothing more is to be done about.".into(),
        );
        let lane = |channel: Channel| {
            let labels = || vec![Label::new("channel", channel.name())];
            let under_way = recorder.register_gauge(&Key::from_parts(UNDER_WAY, labels()), &here);
            let lateness = recorder.register_histogram(&Key::from_parts(LATENESS, labels()), &here);
            (channel, Lane { under_way, lateness })
        };
        let settled = |kind: MessageKind, state: &'static str| {
            let channel = kind.channel().name();
            let labels = [("channel", channel), ("kind", kind.name()), ("state", state)];
            let labels = labels.map(|(name, value)| Label::new(name, value)).to_vec();
            ((kind, state), recorder.register_counter(&Key::from_parts(SETTLED, labels), &here))
        };
        Self {
            settled: MessageKind::ALL
                .into_iter()
                .flat_map(|kind| ENDS.map(|state| settled(kind, state)))
                .collect(),
            lanes: Channel::ALL.map(lane).into(),
            timers_ended: recorder.register_counter(&Key::from_name(ENDED), &here),
        }
    }

    /// Notes an attempt that begins, and how late, where it had its time.
    pub(super) fn begins(&self, channel: Channel, lateness: Option<Duration>) {
        let Some(lane) = self.lanes.get(&channel) else { return };
        lane.under_way.increment(1.0);
        if let Some(lateness) = lateness {
            lane.lateness.record(lateness);
        }
    }

    /// Notes the end of an attempt.
    pub(super) fn ends(&self, channel: Channel) {
        if let Some(lane) = self.lanes.get(&channel) {
            lane.under_way.decrement(1.0);
        }
    }

    /// Notes what became of a message; nothing where it is still open.
    pub(super) fn settled(&self, message: &Message) {
        let state = match &message.progress {
            Progress::Waiting { .. } | Progress::Claimed { .. } => return,
            Progress::Sent { .. } => "sent",
            Progress::Kept { .. } => "kept",
            Progress::Failed { .. } => "failed",
            Progress::Missed { .. } => "missed",
            Progress::Suppressed { .. } => "suppressed",
        };
        if let Some(counter) = self.settled.get(&(message.kind(), state)) {
            counter.increment(1);
        }
    }

    /// Notes a timer that a bug has ended.
    pub(super) fn timer_ended(&self) {
        self.timers_ended.increment(1);
    }
}

/// What is measured of one write on its way.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    meters: Arc<Meters>,
    is_booking: bool,
    /// When it got its permit.
    sent: Stopwatch,
    /// When its turn came.
    begun: Stopwatch,
}

impl Timing {
    /// Of a write that has got its permit now.
    pub(super) fn new(meters: &Arc<Meters>, command: &Command) -> Self {
        let sent = Stopwatch::now();
        let is_booking = matches!(command, Command::BookAppointment(_));
        Self { meters: Arc::clone(meters), is_booking, sent, begun: sent }
    }

    /// Its turn has come.
    pub(super) fn begins(&mut self) {
        self.begun = Stopwatch::now();
        self.meters.write(self.is_booking).queue.record(self.begun.duration_since(self.sent));
    }

    /// Its event is made.
    pub(super) fn is_decided(&self) {
        self.meters.write(self.is_booking).decide.record(self.begun.elapsed());
    }

    /// It is answered.
    pub(super) fn is_answered(&self) {
        self.meters.write(self.is_booking).whole.record(self.sent.elapsed());
    }
}
