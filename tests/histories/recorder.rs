//! The record of a history: calls as they begin and end, by the ticks of one clock.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use super::call::{Answer, Call, Request};

/// The calls of a history. A tick is drawn under the same lock as its call is written, so ticks are
/// in the order of real time.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    ticks: u64,
    calls: Vec<Call>,
    /// Calls that are sent again, by number: the newest sending.
    repeated: BTreeMap<usize, Repeated>,
    /// Ends of the process that had every sending of a call, for calls that are sent again.
    process_ends: BTreeMap<usize, u64>,
}

/// A call that was sent again.
#[derive(Debug)]
struct Repeated {
    /// Begin of the newest sending.
    began: u64,
    /// End of the process that had all the earlier ones; `OPEN` if it still runs.
    earlier_ended: u64,
}

/// End of a call that has not ended.
const OPEN: u64 = u64::MAX;

impl Recorder {
    fn lock(&self) -> MutexGuard<'_, Record> {
        self.record.lock().expect("no client panics here")
    }

    /// Records the begin of a call, before it is sent. Returns its number.
    pub(crate) fn begin(&self, thread: u64, group: u64, request: Request) -> usize {
        let mut record = self.lock();
        let (number, began) = (record.calls.len(), record.tick());
        let answer = Answer::Lost;
        record.calls.push(Call {
            number,
            thread,
            group,
            request,
            answer,
            began,
            ended: OPEN,
            sent: 1,
            repeats: None,
        });
        number
    }

    /// Records that a call is sent again, before it is.
    pub(crate) fn repeat(&self, number: usize) {
        let mut record = self.lock();
        let began = record.tick();
        record.calls[number].sent += 1;
        let earlier_ended = record.process_ends.remove(&number).unwrap_or(OPEN);
        record.repeated.insert(number, Repeated { began, earlier_ended });
    }

    /// Records an answer, after it was read.
    ///
    /// A request that was sent before may still be on its way when a repetition is refused, and be
    /// carried out later. So the refusal is a call of its own, and the first one stays lost. A
    /// repetition that was carried out has the answer of both: the key is done once.
    pub(crate) fn end(&self, number: usize, answer: Answer) {
        let mut record = self.lock();
        let ended = record.tick();
        let is_done = matches!(answer, Answer::Booked { .. } | Answer::Done);
        match record.repeated.remove(&number) {
            Some(Repeated { began, earlier_ended }) if !is_done => {
                record.calls[number].ended = earlier_ended;
                let refused = Call {
                    number: record.calls.len(),
                    answer,
                    began,
                    ended,
                    sent: 1,
                    repeats: Some(number),
                    ..record.calls[number].clone()
                };
                record.calls.push(refused);
            }
            _ => {
                record.calls[number].answer = answer;
                record.calls[number].ended = ended;
            }
        }
    }

    /// Records the end of a process: no open call has an effect later, except those that are sent
    /// again.
    pub(crate) fn end_process(&self, sent_again: &[usize]) {
        let mut record = self.lock();
        let ended = record.tick();
        let Record { calls, process_ends, .. } = &mut *record;
        for call in calls {
            if call.ended == OPEN && sent_again.contains(&call.number) {
                process_ends.insert(call.number, ended);
            } else if call.ended == OPEN {
                call.ended = ended;
            }
        }
    }

    /// Records the end of a process that had all open calls of some threads.
    pub(crate) fn end_threads(&self, threads: &Range<u64>) {
        let mut record = self.lock();
        let ended = record.tick();
        for call in &mut record.calls {
            if call.ended == OPEN && threads.contains(&call.thread) {
                call.ended = ended;
            }
        }
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }
}

impl Record {
    fn tick(&mut self) -> u64 {
        self.ticks += 1;
        self.ticks
    }
}
