//! The record of a history: calls as they begin and end, by the ticks of one clock.

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
        });
        number
    }

    /// Records that a call is sent again.
    pub(crate) fn repeat(&self, number: usize) {
        self.lock().calls[number].sent += 1;
    }

    /// Records an answer, after it was read.
    pub(crate) fn end(&self, number: usize, answer: Answer) {
        let mut record = self.lock();
        let ended = record.tick();
        let call = &mut record.calls[number];
        // The first of several sendings may have been carried out, if a later one was refused room.
        if answer == Answer::Nothing && call.sent > 1 {
            return;
        }
        call.answer = answer;
        call.ended = ended;
    }

    /// Returns whether a call was answered.
    pub(crate) fn is_answered(&self, number: usize) -> bool {
        self.lock().calls[number].answer != Answer::Lost
    }

    /// Records the end of a process: no open call has an effect later, except those that are sent
    /// again.
    pub(crate) fn end_process(&self, sent_again: &[usize]) {
        let mut record = self.lock();
        let ended = record.tick();
        for call in &mut record.calls {
            if call.ended == OPEN && !sent_again.contains(&call.number) {
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
