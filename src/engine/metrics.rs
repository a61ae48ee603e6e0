//! Metrics of the engine: latency of writes, batches of the journal, messages. Reference 11.4.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, NoopRecorder, Recorder, Unit,
};
use strum::IntoEnumIterator as _;
use tokio::time::Instant as Stopwatch;

use crate::domain::records::channel::Channel;
use crate::domain::records::message::{Message, MessageKind, Progress};
use crate::domain::state::command::Command;
use crate::domain::state::webhooks::webhook::AttemptResult;

/// Metrics of one engine. The default discards every value.
#[derive(Clone, Debug)]
pub struct EngineMetrics {
    /// Latency of bookings.
    bookings: WriteMetrics,
    /// Latency of every other write.
    others: WriteMetrics,
    /// Number of entries of a batch: records, and replies that only wait for earlier entries.
    batch_entries: Histogram,
    /// Seconds from a batch's first byte to the end of its sync.
    batch_seconds: Histogram,
    /// Metrics of messages.
    pub(crate) messages: MessageMetrics,
    /// Metrics of webhooks.
    pub(crate) webhooks: WebhookMetrics,
}

/// Attempts at deliveries to webhooks, by their results.
#[derive(Clone, Debug)]
pub(crate) struct WebhookMetrics {
    attempts: BTreeMap<&'static str, Counter>,
}

impl WebhookMetrics {
    fn from_recorder(recorder: &dyn Recorder) -> Self {
        const ATTEMPTS: &str = "slotbook_webhook_attempts_total";
        let help = "Attempts at deliveries to webhooks, by their results.";
        recorder.describe_counter(ATTEMPTS.into(), None, help.into());
        let register = |result: &'static str| {
            let key = Key::from_parts(ATTEMPTS, vec![Label::new("result", result)]);
            (result, recorder.register_counter(&key, &metadata()))
        };
        Self { attempts: ATTEMPT_RESULTS.into_iter().map(register).collect() }
    }

    /// Counts an attempt.
    pub(crate) fn record_attempt(&self, result: AttemptResult) {
        let name = if result.is_success() { TAKEN } else { result.name() };
        if let Some(counter) = self.attempts.get(name) {
            counter.increment(1);
        }
    }
}

/// Label of an attempt whose delivery was taken.
const TAKEN: &str = "taken";
/// Results of attempts, as labels of a metric.
const ATTEMPT_RESULTS: [&str; 8] = [
    TAKEN,
    AttemptResult::Status(0).name(),
    AttemptResult::Unresolved.name(),
    AttemptResult::AddressRefused.name(),
    AttemptResult::Unreachable.name(),
    AttemptResult::Tls.name(),
    AttemptResult::TimedOut.name(),
    AttemptResult::Broken.name(),
];

/// Metrics of messages.
#[derive(Clone, Debug)]
pub(crate) struct MessageMetrics {
    /// Messages by kind and final state.
    settled: BTreeMap<(MessageKind, &'static str), Counter>,
    channels: BTreeMap<Channel, ChannelMetrics>,
    /// Number of message schedulers that a bug has ended.
    scheduler_failures: Counter,
}

/// Metrics of one channel.
#[derive(Clone, Debug)]
struct ChannelMetrics {
    /// Attempts in flight.
    in_flight: Gauge,
    /// Seconds from the due time of a message to the start of its attempt.
    lateness: Histogram,
}

/// Latency of the phases of a write, in seconds.
#[derive(Clone, Debug)]
struct WriteMetrics {
    /// From the permit to the start of the decision.
    queue: Histogram,
    /// From the start of the decision to the event, queries to calendars included.
    decide: Histogram,
    /// From the permit to the durable and visible answer.
    total: Histogram,
}

impl WriteMetrics {
    fn from_recorder(recorder: &dyn Recorder, kind: &'static str) -> Self {
        let histogram = |name: &'static str, help: &'static str| {
            register_seconds(recorder, name, help, vec![Label::new("kind", kind)])
        };
        Self {
            queue: histogram(
                "slotbook_write_queue_seconds",
                "From a write's permit to the start of its decision.",
            ),
            decide: histogram(
                "slotbook_write_decide_seconds",
                "From the start of a write's decision to its event.",
            ),
            total: histogram(
                "slotbook_write_seconds",
                "From a write's permit to its durable answer.",
            ),
        }
    }
}

impl Default for EngineMetrics {
    fn default() -> Self {
        Self::from_recorder(&NoopRecorder)
    }
}

impl EngineMetrics {
    /// Creates metrics that a recorder keeps.
    pub fn from_recorder(recorder: &dyn Recorder) -> Self {
        Self {
            bookings: WriteMetrics::from_recorder(recorder, "booking"),
            others: WriteMetrics::from_recorder(recorder, "other"),
            batch_entries: register_seconds(
                recorder,
                "slotbook_batch_entries",
                "Entries of a batch of the journal.",
                Vec::new(),
            ),
            batch_seconds: register_seconds(
                recorder,
                "slotbook_fsync_seconds",
                "Writing and syncing a batch of the journal.",
                Vec::new(),
            ),
            messages: MessageMetrics::from_recorder(recorder),
            webhooks: WebhookMetrics::from_recorder(recorder),
        }
    }

    fn write(&self, is_booking: bool) -> &WriteMetrics {
        if is_booking { &self.bookings } else { &self.others }
    }

    /// Records a batch that is durable.
    pub(crate) fn record_batch(&self, entries: usize, began: Stopwatch) {
        self.batch_entries.record(f64::from(u32::try_from(entries).unwrap_or(u32::MAX)));
        self.batch_seconds.record(began.elapsed());
    }
}

fn metadata() -> Metadata<'static> {
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()))
}

fn register_seconds(
    recorder: &dyn Recorder,
    name: &'static str,
    help: &'static str,
    labels: Vec<Label>,
) -> Histogram {
    recorder.describe_histogram(KeyName::from(name), Some(Unit::Seconds), help.into());
    recorder.register_histogram(&Key::from_parts(name, labels), &metadata())
}

/// Final states of a message, as metric labels.
const FINAL_STATES: [&str; 5] = ["sent", "kept", "failed", "missed", "suppressed"];

impl MessageMetrics {
    fn from_recorder(recorder: &dyn Recorder) -> Self {
        const IN_FLIGHT: &str = "slotbook_messages_under_way";
        const LATENESS: &str = "slotbook_message_lateness_seconds";
        const FAILURES: &str = "slotbook_timers_ended_total";
        const SETTLED: &str = "slotbook_messages_total";
        let in_flight_help = "Attempts to send a message in flight.";
        recorder.describe_gauge(IN_FLIGHT.into(), None, in_flight_help.into());
        let failures_help = "Message schedulers that a bug has ended.";
        recorder.describe_counter(FAILURES.into(), None, failures_help.into());
        let settled_help = "Messages that have reached a final state.";
        recorder.describe_counter(SETTLED.into(), None, settled_help.into());
        let mut channels = BTreeMap::new();
        for channel in Channel::ALL {
            let labels = vec![Label::new("channel", channel.name())];
            let lateness_help = "From when a message is due to the start of its attempt.";
            let channel_metrics = ChannelMetrics {
                in_flight: recorder
                    .register_gauge(&Key::from_parts(IN_FLIGHT, labels.clone()), &metadata()),
                lateness: register_seconds(recorder, LATENESS, lateness_help, labels),
            };
            channels.insert(channel, channel_metrics);
        }
        let mut settled = BTreeMap::new();
        for kind in MessageKind::iter() {
            for state in FINAL_STATES {
                let labels = vec![
                    Label::new("channel", kind.channel().name()),
                    Label::new("kind", kind.name()),
                    Label::new("state", state),
                ];
                let key = Key::from_parts(SETTLED, labels);
                settled.insert((kind, state), recorder.register_counter(&key, &metadata()));
            }
        }
        Self {
            settled,
            channels,
            scheduler_failures: recorder.register_counter(&Key::from_name(FAILURES), &metadata()),
        }
    }

    /// Records the start of an attempt, and its lateness if the message had a due time.
    pub(crate) fn record_attempt_start(&self, channel: Channel, lateness: Option<Duration>) {
        let Some(channel_metrics) = self.channels.get(&channel) else { return };
        channel_metrics.in_flight.increment(1.0);
        if let Some(lateness) = lateness {
            channel_metrics.lateness.record(lateness);
        }
    }

    /// Records the end of an attempt.
    pub(crate) fn record_attempt_end(&self, channel: Channel) {
        if let Some(channel_metrics) = self.channels.get(&channel) {
            channel_metrics.in_flight.decrement(1.0);
        }
    }

    /// Counts a message by its final state; does nothing while it is open.
    pub(crate) fn record_settled(&self, message: &Message) {
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

    /// Counts a scheduler that a bug has ended.
    pub(crate) fn record_scheduler_failure(&self) {
        self.scheduler_failures.increment(1);
    }
}

/// Measures the phases of one write.
#[derive(Clone, Debug)]
pub(crate) struct WriteTiming {
    metrics: Arc<EngineMetrics>,
    is_booking: bool,
    /// Time of the permit.
    admitted: Stopwatch,
    /// Start of the decision; `admitted` until then.
    decision_began: Stopwatch,
}

impl WriteTiming {
    /// Starts to measure a write that gets its permit now.
    pub(crate) fn new(metrics: &Arc<EngineMetrics>, command: &Command) -> Self {
        let admitted = Stopwatch::now();
        let is_booking = matches!(command, Command::BookAppointment(_));
        Self { metrics: Arc::clone(metrics), is_booking, admitted, decision_began: admitted }
    }

    /// Records that the decision begins.
    pub(crate) fn record_decision_start(&mut self) {
        self.decision_began = Stopwatch::now();
        let queued = self.decision_began.duration_since(self.admitted);
        self.metrics.write(self.is_booking).queue.record(queued);
    }

    /// Records that the event is decided.
    pub(crate) fn record_decision(&self) {
        self.metrics.write(self.is_booking).decide.record(self.decision_began.elapsed());
    }

    /// Records that the write is answered.
    pub(crate) fn record_answer(&self) {
        self.metrics.write(self.is_booking).total.record(self.admitted.elapsed());
    }
}
