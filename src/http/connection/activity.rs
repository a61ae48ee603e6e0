//! The part of an exchange that a connection is in, by which a crowded server finds those that it
//! may close. Reference 1.1.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant as Stopwatch;

/// Longest time for the head of a request while the server is crowded.
const CROWDED_HEAD_TIME: Duration = Duration::from_secs(5);
/// Longest pause between two requests while the server is crowded.
const CROWDED_IDLE_TIME: Duration = Duration::from_secs(2);

/// The activity of one connection. Its own task changes it, and others read it.
#[derive(Debug)]
pub(crate) struct Activity {
    state: Mutex<State>,
    /// Whether the answer goes on until the client leaves.
    is_streaming: AtomicBool,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// The beginning of the phase.
    since: Stopwatch,
    /// Whether the next answer is the last one.
    is_ending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first head is awaited, or a part of a head has come.
    Head,
    /// No byte has come since the last answer.
    Idle,
    /// The server works on a request. The connection must stay.
    Deciding,
    /// The server waits for more of a body. Nothing has been decided.
    Body,
    /// The answer is being sent. The connection must stay.
    Answering,
    /// The client does not take the answer.
    Stalled,
}

impl Activity {
    /// The activity of a new connection.
    pub(crate) fn new() -> Self {
        let since = Stopwatch::now();
        let state = Mutex::new(State { phase: Phase::Head, since, is_ending: false });
        Self { state, is_streaming: AtomicBool::new(false) }
    }

    /// Notes that the server works on a request.
    pub(crate) fn begin_decision(&self) {
        self.is_streaming.store(false, Ordering::Relaxed);
        self.state.lock().phase = Phase::Deciding;
    }

    /// Notes that the answer goes on until the client leaves.
    pub(crate) fn begin_stream(&self) {
        self.is_streaming.store(true, Ordering::Relaxed);
    }

    /// Whether the answer goes on until the client leaves.
    pub(crate) fn is_streaming(&self) -> bool {
        self.is_streaming.load(Ordering::Relaxed)
    }

    /// Notes that the answer is decided. Returns whether it is the last one of the connection.
    pub(crate) fn begin_answer(&self) -> bool {
        let mut state = self.state.lock();
        state.phase = Phase::Answering;
        state.is_ending
    }

    /// Makes the next answer the last one.
    pub(crate) fn end_after_answer(&self) {
        self.state.lock().is_ending = true;
    }

    /// Notes that the client has sent no more bytes.
    pub(crate) fn await_bytes(&self) {
        self.change(|phase| match phase {
            Phase::Deciding => Phase::Body,
            Phase::Answering => Phase::Idle,
            Phase::Head | Phase::Idle | Phase::Body | Phase::Stalled => phase,
        });
    }

    /// Notes that the client has sent bytes.
    pub(crate) fn receive(&self) {
        self.change(|phase| match phase {
            Phase::Idle => Phase::Head,
            Phase::Body => Phase::Deciding,
            Phase::Head | Phase::Deciding | Phase::Answering | Phase::Stalled => phase,
        });
    }

    /// Notes that the client takes no more bytes.
    pub(crate) fn stall(&self) {
        self.change(|phase| match phase {
            Phase::Idle | Phase::Answering => Phase::Stalled,
            Phase::Head | Phase::Deciding | Phase::Body | Phase::Stalled => phase,
        });
    }

    /// Notes that the client has taken bytes.
    pub(crate) fn send(&self) {
        self.change(|phase| match phase {
            Phase::Stalled => Phase::Answering,
            Phase::Head | Phase::Idle | Phase::Deciding | Phase::Body | Phase::Answering => phase,
        });
    }

    /// Returns the moment since when only the client is waited for; `None` if the server has to
    /// decide or to send something.
    pub(crate) fn waiting_since(&self) -> Option<Stopwatch> {
        let state = self.state.lock();
        match state.phase {
            Phase::Head | Phase::Idle | Phase::Body | Phase::Stalled => Some(state.since),
            Phase::Deciding | Phase::Answering => None,
        }
    }

    /// Returns the moment from which a crowded server closes the connection; `None` if bodies and
    /// answers have their own times.
    pub(crate) fn crowded_end(&self) -> Option<Stopwatch> {
        let state = self.state.lock();
        match state.phase {
            Phase::Head => Some(state.since + CROWDED_HEAD_TIME),
            Phase::Idle => Some(state.since + CROWDED_IDLE_TIME),
            Phase::Deciding | Phase::Body | Phase::Answering | Phase::Stalled => None,
        }
    }

    /// Enters the phase after the present one, if that is another.
    fn change(&self, after: impl FnOnce(Phase) -> Phase) {
        let mut state = self.state.lock();
        let phase = after(state.phase);
        if phase != state.phase {
            state.phase = phase;
            state.since = Stopwatch::now();
        }
    }
}
