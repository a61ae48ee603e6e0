//! What the engine measures for whoever operates it: how long writes wait and take, and what a batch holds.

use std::sync::Arc;

use metrics::{Histogram, Key, KeyName, Label, Level, Metadata, Recorder, Unit};
use tokio::time::Instant as Stopwatch;

use crate::domain::command::Command;

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
        Self { bookings: write(), others: write(), batch_entries: noop(), batch_seconds: noop() }
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
                queue: histogram("slotbook_write_queue_seconds", "From a write's permit to its turn.", kind()),
                decide: histogram("slotbook_write_decide_seconds", "From a write's turn to its event.", kind()),
                whole: histogram("slotbook_write_seconds", "From a write's permit to its durable answer.", kind()),
            }
        };
        Self {
            bookings: write("booking"),
            others: write("other"),
            batch_entries: histogram("slotbook_batch_entries", "Entries of a batch of the journal.", Vec::new()),
            batch_seconds: histogram(
                "slotbook_fsync_seconds",
                "Writing and syncing a batch of the journal.",
                Vec::new(),
            ),
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
