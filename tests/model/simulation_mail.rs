//! The mail server of a simulation, and the check of what it got against the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rand::RngExt as _;
use rand::rngs::StdRng;
use slotbook::clock::Clock;
use slotbook::domain::messaging::planning;
use slotbook::domain::records::ids::{MessageId, VeventId};
use slotbook::domain::records::message::{AppointmentTime, Message, MessageContent, Progress};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::recipient_quota::MessageQuota;
use slotbook::domain::time::Instant;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::{Engine, MessagingHandle, MessagingOptions};
use slotbook::notify::Gateways;
use slotbook::notify::simulated::{MailReply, SimulatedMailServer};
use slotbook::notify::smtp::SmtpClient;
use tokio::time::{Instant as Moment, sleep};

use super::simulation_history::{Agenda, History};
use super::simulation_recovery::{Recovered, group};

/// Longest time that the server waits for an answer.
const TIMEOUT: Duration = Duration::from_millis(1_500);

/// A clock that goes with the time of the runtime, and can be set ahead.
#[derive(Debug)]
pub(crate) struct SimulatedClock {
    base: Instant,
    began: Moment,
    skipped: AtomicI64,
}

impl SimulatedClock {
    /// A clock that shows `base` now. The runtime has to run.
    pub(crate) fn at(base: Instant) -> Self {
        Self { base, began: Moment::now(), skipped: AtomicI64::new(0) }
    }

    pub(crate) fn skip(&self, seconds: i64) {
        self.skipped.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Instant {
        let elapsed = i64::try_from(self.began.elapsed().as_secs()).expect("a short life");
        self.base.plus_seconds(elapsed + self.skipped.load(Ordering::Relaxed))
    }

    fn monotonic(&self) -> Moment {
        let skipped = u64::try_from(self.skipped.load(Ordering::Relaxed)).expect("set ahead");
        Moment::now() + Duration::from_secs(skipped)
    }

    fn subsecond(&self) -> Duration {
        Duration::from_nanos(self.began.elapsed().subsec_nanos().into())
    }
}

/// A mail that has reached the mail server.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    message: MessageId,
    to: String,
    /// Number of the life of the server in which it came.
    life: usize,
    /// The last event that was visible then.
    pub(crate) published: u64,
    reply: MailReply,
    /// Whether the reply has come back.
    pub(crate) is_answered: bool,
}

/// The mail server: it accepts, refuses, defers, delays, and loses answers.
pub(crate) struct MailServer {
    random: Mutex<StdRng>,
    /// Whether it accepts everything at once.
    is_calm: bool,
    engine: OnceLock<Engine>,
    history: Arc<History>,
    life: usize,
}

impl MailServer {
    pub(crate) fn new(random: StdRng, is_calm: bool, history: &Arc<History>, life: usize) -> Self {
        let (random, engine) = (Mutex::new(random), OnceLock::new());
        Self { random, is_calm, engine, history: Arc::clone(history), life }
    }

    /// Has an engine send its mails here.
    pub(crate) async fn serve(
        self: Arc<Self>,
        engine: &Engine,
        transport: Transport,
        seed: [u8; 32],
    ) -> MessagingHandle {
        self.engine.set(engine.clone()).map_err(drop).expect("it serves one life");
        let gateways = Gateways {
            mail: Some(SmtpClient::simulated(self, TIMEOUT)),
            ..Gateways::unconfigured("https://rdv.example.org")
        };
        let options = MessagingOptions {
            gateways: Arc::new(gateways),
            quota: MessageQuota { recipient_daily_max: 1_000, by_key_daily_max: 1_000 },
            randomness: Randomness::seeded(seed),
            transport,
            poll_interval_max: Duration::from_secs(1),
            concurrent_attempts_max: 4,
        };
        engine.send_messages(options).await
    }

    fn choose_reply(&self) -> (MailReply, Duration) {
        if self.is_calm {
            return (MailReply::Accepted, Duration::from_millis(10));
        }
        let mut random = self.random.lock().expect("it never panics");
        let delay = Duration::from_millis(random.random_range(0..400));
        match random.random_range(0..10) {
            0..6 => (MailReply::Accepted, delay),
            6 => (MailReply::Accepted, TIMEOUT * 2),
            7 => (MailReply::Deferred, delay),
            8 => (MailReply::Deferred, TIMEOUT * 2),
            _ => (MailReply::Refused, delay),
        }
    }
}

impl SimulatedMailServer for MailServer {
    fn receive(
        self: Arc<Self>,
        to: String,
        message_id: String,
    ) -> Pin<Box<dyn Future<Output = MailReply> + Send>> {
        Box::pin(async move {
            let (reply, delay) = self.choose_reply();
            let engine = self.engine.get().expect("it serves");
            let published = engine.published().group_state(group()).expect("the group").sequence;
            // <slotbook-GROUP-MESSAGE-STAMP@domain>
            let number = message_id.split('-').nth(2).and_then(|number| number.parse().ok());
            let message = number.and_then(MessageId::new).expect("the id of a message");
            let life = self.life;
            let attempt = Attempt { message, to, life, published, reply, is_answered: false };
            let place = self.history.record_attempt(attempt);
            sleep(delay).await;
            if let Some(place) = place {
                self.history.answer_attempt(place);
            }
            reply
        })
    }
}

/// Compares every mail that the server got with the states of the journal.
pub(crate) fn check_mail(attempts: &[Attempt], recovered: &Recovered) -> Result<(), String> {
    let mut claims = BTreeSet::new();
    let mut last: BTreeMap<MessageId, &Attempt> = BTreeMap::new();
    for attempt in attempts {
        let claim = check_attempt(attempt, &recovered.states)
            .map_err(|violation| format!("{violation}: {attempt:?}"))?;
        if !claims.insert((attempt.message, claim)) {
            return Err(format!("two mails left under one claim: {attempt:?}"));
        }
        if let Some(before) = last.insert(attempt.message, attempt)
            && before.is_answered
            && before.reply != MailReply::Deferred
            && before.life == attempt.life
        {
            return Err(format!("{before:?} was settled, and there is {attempt:?}"));
        }
    }
    for (pair, sequence) in recovered.states.windows(2).zip(1..) {
        for message in pair[1].outbox.changed_since(&pair[0].outbox) {
            let before = pair[0].outbox.message(message.id);
            check_progress(before.map(|before| &before.progress), message, attempts, sequence)?;
        }
    }
    Ok(())
}

/// Checks an attempt against the state that was visible then. Returns the number of its claim.
fn check_attempt(attempt: &Attempt, states: &[GroupState]) -> Result<u32, String> {
    let place = usize::try_from(attempt.published).expect("small");
    let Some(state) = states.get(place) else {
        return Err("a mail left for a state that is lost".to_owned());
    };
    let Some(message) = state.outbox.message(attempt.message) else {
        return Err("a mail left that the state does not have".to_owned());
    };
    let Progress::Claimed { attempt: claim, .. } = message.progress else {
        return Err(format!("a mail left without a durable claim: {message:?}"));
    };
    for AppointmentTime { id, .. } in appointments_of(message) {
        let row = state.rows.get(&id).ok_or("a mail left about no appointment")?;
        let client = row.appointment().ok_or("a mail left about no appointment")?.fiche_id;
        let address = state.fiches[&client].email.as_ref().map(|email| email.as_str().to_owned());
        if address.as_deref() != Some(attempt.to.as_str()) {
            return Err(format!("a mail left for another address than {address:?}"));
        }
        if row.deleted != matches!(message.content, MessageContent::Cancellation(_)) {
            return Err(format!("a mail left that is not wanted: {message:?}"));
        }
    }
    Ok(claim)
}

fn appointments_of(message: &Message) -> Vec<AppointmentTime> {
    match &message.content {
        MessageContent::Confirmation(appointments) => appointments.clone(),
        MessageContent::Change { appointment, .. }
        | MessageContent::Cancellation(appointment)
        | MessageContent::Reminder(_, appointment) => vec![*appointment],
        MessageContent::AccountLink { .. }
        | MessageContent::Withdrawal(_)
        | MessageContent::Restoration(_)
        | MessageContent::BookingCode { .. }
        | MessageContent::AccountNotice(_)
        | MessageContent::ShopWarning(_) => panic!("no operation causes {message:?}"),
    }
}

/// Checks that a message leaves before it counts as sent, and then never again.
fn check_progress(
    before: Option<&Progress>,
    message: &Message,
    attempts: &[Attempt],
    sequence: u64,
) -> Result<(), String> {
    let is_sent = matches!(message.progress, Progress::Sent { .. });
    if matches!(before, Some(Progress::Sent { .. })) && !is_sent {
        return Err(format!("event {sequence}: a sent message is to be sent again: {message:?}"));
    }
    let has_left = |attempt: &Attempt| {
        let is_accepted = attempt.reply == MailReply::Accepted && attempt.is_answered;
        attempt.message == message.id && is_accepted && attempt.published < sequence
    };
    if is_sent && !attempts.iter().any(has_left) {
        return Err(format!("event {sequence}: it counts as sent, and never left: {message:?}"));
    }
    Ok(())
}

/// Checks the last state, after a time without cuts: everything that was wanted has an end, and what
/// stands unchanged was confirmed and recalled.
pub(crate) fn check_settled(
    attempts: &[Attempt],
    recovered: &Recovered,
    now: Instant,
) -> Result<(), String> {
    let state = recovered.states.last().expect("the first one is there");
    if let Some(open) = state.outbox.messages().find(|message| message.is_open()) {
        return Err(format!("a message has no end: {open:?}"));
    }
    if let Some(due) = planning::reminders_due_before(state, now, now).next() {
        return Err(format!("a reminder about {} is due since {:?}", due.appointment, due.due));
    }
    let agenda = recovered.agendas.last().expect("the first one is there");
    for (id, entry) in agenda.iter() {
        if entry.is_cancelled {
            continue;
        }
        let changed_at = changed_at(*id, recovered);
        let messages = || state.outbox.messages().filter(|it| appointments_of(it)[0].id == *id);
        let (was_moved, start) = (changed_at.len() > 1, start_of(state, *id));
        let confirmed = messages().any(|it| is_confirmation(it) && has_ended_well(it, attempts));
        if !was_moved && !confirmed {
            let all: Vec<_> = messages().collect();
            return Err(format!("{id} was never confirmed: {all:?}"));
        }
        // A reminder that was due when the appointment came to its start is not sent.
        let is_wanted = *changed_at.last().expect("it was made") < start.plus_seconds(-86_400);
        let recalled =
            messages().any(|it| reminds_of(it) == Some(start) && has_ended_well(it, attempts));
        if is_wanted && !recalled {
            let all: Vec<_> = messages().collect();
            return Err(format!("{id} was never recalled: {all:?}"));
        }
    }
    Ok(())
}

const fn is_confirmation(message: &Message) -> bool {
    matches!(message.content, MessageContent::Confirmation(_))
}

/// Returns the start of which a reminder tells; `None` for other messages.
fn reminds_of(message: &Message) -> Option<Instant> {
    let (_, standing) = message.reminder()?;
    Some(standing.start)
}

fn start_of(state: &GroupState, id: VeventId) -> Instant {
    state.rows.get(&id).and_then(|row| row.appointment()).expect("it is in the agenda").start
}

/// Returns the stamps of the events that put an appointment to its place, in order.
fn changed_at(id: VeventId, recovered: &Recovered) -> Vec<Instant> {
    let mut changed_at = Vec::new();
    for (pair, state) in recovered.agendas.windows(2).zip(&recovered.states[1..]) {
        let slot = |agenda: &Agenda| agenda.get(&id).map(|it| it.slot);
        if slot(&pair[0]) != slot(&pair[1]) {
            changed_at.push(state.last_stamp);
        }
    }
    changed_at
}

/// Whether a message was sent, or the mail server has refused it.
fn has_ended_well(message: &Message, attempts: &[Attempt]) -> bool {
    let is_refused = |it: &Attempt| it.message == message.id && it.reply == MailReply::Refused;
    match message.progress {
        Progress::Sent { .. } => true,
        Progress::Failed { .. } => attempts.iter().any(is_refused),
        Progress::Waiting { .. }
        | Progress::Claimed { .. }
        | Progress::Kept { .. }
        | Progress::Missed { .. }
        | Progress::Suppressed { .. } => false,
    }
}
