//! The history of a simulation, and its check against the agenda after each event of the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use slotbook::domain::records::author::{Author, KeyId};
use slotbook::domain::records::ids::{FicheId, ProId, VeventId};
use slotbook::engine::health::LOOK_INTERVAL;
use slotbook::store::{SimulatedDisk, Tail};
use tokio::sync::Notify;
use tokio::time::Instant as Moment;

use super::simulation_mail::Attempt;

/// Half hours that are open on each calendar.
pub(crate) const HALF_HOURS: i64 = 6;
/// The calendars of the shop.
const CALENDARS: [u64; 2] = [1, 2];

/// A half hour of the day and a calendar.
pub(crate) type Slot = (i64, u64);
/// All appointments of one state.
pub(crate) type Agenda = BTreeMap<VeventId, Entry>;

/// An appointment in an agenda.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) slot: Slot,
    pub(crate) is_cancelled: bool,
    /// Number of the booking that made it.
    pub(crate) client: u64,
    /// Number of the operation that gave its client the present address; 0 for the first one.
    pub(crate) address: u64,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A client's operation.
    Operation,
    /// A step of the sending of a message.
    Delivery,
}

/// Returns the author of the operation at a place of the history: of each kind, most of them once.
pub(crate) fn author_of(place: usize) -> Author {
    let number = place as u64 + 1;
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&number.to_le_bytes());
    let key = KeyId::of_hash(&hash);
    let client = FicheId::new(number).expect("an id");
    let id = ProId::new(number).expect("an id");
    match place % 8 {
        0 => Author::Visitor,
        1 => Author::Operator,
        2 => Author::Server,
        3 => Author::Account { client, key: None },
        4 => Author::Account { client, key: Some(key) },
        5 => Author::Professional { id, key: None },
        6 => Author::Professional { id, key: Some(key) },
        _ => Author::Application(key),
    }
}

/// An operation of one client.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// A booking of a client of its own, on one calendar or on any.
    Book {
        client: u64,
        half_hour: i64,
        on: Option<u64>,
    },
    /// A cancellation of the `nth` appointment, counted round; a read if there is none.
    Cancel {
        nth: usize,
        id: Option<VeventId>,
    },
    /// A move of the `nth` appointment, counted round; a read if there is none.
    Move {
        nth: usize,
        id: Option<VeventId>,
        to: Slot,
    },
    /// Another address of the client of the `nth` appointment; a read if there is none.
    Readdress {
        nth: usize,
        id: Option<VeventId>,
        address: u64,
    },
    Read,
}

impl Operation {
    /// Returns the operation with its appointment, out of those that the client sees.
    pub(crate) fn with_id(self, seen: &Agenda) -> Self {
        let find = |nth: usize| seen.keys().nth(nth % seen.len().max(1)).copied();
        match self {
            Self::Cancel { nth, .. } => Self::Cancel { nth, id: find(nth) },
            Self::Move { nth, to, .. } => Self::Move { nth, id: find(nth), to },
            Self::Readdress { nth, address, .. } => Self::Readdress { nth, id: find(nth), address },
            Self::Book { .. } | Self::Read => self,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// The appointment, and the sequence of the state with it.
    Booked { id: VeventId, sequence: u64 },
    /// The sequence of the state in which it is done.
    Done(u64),
    /// The appointments named as obstacles; none if no calendar was named.
    NotAvailable(BTreeSet<VeventId>),
    /// The disk is full, and nothing was decided. Whether it was full or has just been.
    DiskFull { is_explained: bool },
    /// Any other refusal, which is an error here.
    Refused(String),
    /// The state that a reader saw.
    Seen(u64, Agenda),
}

/// An operation and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    operation: Operation,
    /// The last event that any answer or mail before had shown.
    observed: u64,
    /// Time for which the disk had been full; `None` if it was not.
    full_for: Option<Duration>,
    /// The answer, and the last event that was visible then.
    answer: Option<(Answer, u64)>,
}

impl Asked {
    /// Returns the kind of the answer.
    pub(crate) fn kind(&self) -> &'static str {
        match (&self.answer, &self.operation) {
            (None, _) => "unanswered",
            (Some((Answer::Booked { .. }, _)), _) => "booked",
            (Some((Answer::Done(_), _)), Operation::Cancel { .. }) => "cancelled",
            (Some((Answer::Done(_), _)), Operation::Readdress { .. }) => "readdressed",
            (Some((Answer::Done(_), _)), _) => "moved",
            (Some((Answer::DiskFull { .. }, _)), _) => "disk full",
            (Some((Answer::NotAvailable(_), _)), _) => "not available",
            (Some((Answer::Refused(_), _)), _) => "refused",
            (Some((Answer::Seen(..), _)), _) => "seen",
        }
    }

    /// Returns whether the operation may have made event `sequence`: it was asked before the event,
    /// and its answer names the event if there is one.
    fn may_have_made(&self, sequence: u64) -> bool {
        match &self.answer {
            None => self.observed < sequence,
            Some((Answer::Booked { sequence: made, .. } | Answer::Done(made), _)) => {
                self.observed < sequence && *made == sequence
            }
            Some((
                Answer::NotAvailable(_)
                | Answer::DiskFull { .. }
                | Answer::Refused(_)
                | Answer::Seen(..),
                _,
            )) => false,
        }
    }

    /// Returns whether the operation is a read.
    fn is_read(&self) -> bool {
        match &self.operation {
            Operation::Cancel { id, .. }
            | Operation::Move { id, .. }
            | Operation::Readdress { id, .. } => id.is_none(),
            Operation::Book { .. } => false,
            Operation::Read => true,
        }
    }
}

/// The end of a life that is no shutdown: a power cut or a killed process.
#[derive(Debug)]
pub(crate) struct PowerCut {
    /// Number of the answer right after which it comes, from 1; `None` if no answer brings it.
    pub(crate) at_answer: Option<usize>,
    /// Remainder of an unsynced batch; `None` if only the process is killed.
    pub(crate) tail: Option<Tail>,
    pub(crate) disk: SimulatedDisk,
}

#[derive(Debug, Default)]
struct Life {
    power_cut: Option<PowerCut>,
    /// Moment of the first operation.
    began: Option<Moment>,
    /// Time from the first operation to the end of the life. Later answers do not count.
    ended_after: Option<Duration>,
    answers: usize,
    /// Moment from which the disk is full; `None` while it is not.
    full_since: Option<Moment>,
    /// Moment at which the disk had space again.
    freed_at: Option<Moment>,
    /// Time of each answer, with the last event that was visible then.
    published: Vec<(Duration, u64)>,
}

#[derive(Debug, Default)]
struct Recording {
    asked: Vec<Asked>,
    /// The mails that the mail server got.
    attempts: Vec<Attempt>,
    violation: Option<String>,
    /// The last event that any answer or mail has shown.
    observed: u64,
    life: Life,
}

/// All operations and answers of a seed, in their order.
#[derive(Debug, Default)]
pub(crate) struct History {
    recording: Mutex<Recording>,
    power: Notify,
}

impl History {
    fn lock(&self) -> MutexGuard<'_, Recording> {
        self.recording.lock().expect("no client panics here")
    }

    pub(crate) fn begin_life(&self, power_cut: PowerCut) {
        self.lock().life = Life { power_cut: Some(power_cut), ..Life::default() };
    }

    /// Records an operation; returns its place.
    pub(crate) fn ask(&self, operation: Operation) -> usize {
        let mut recording = self.lock();
        recording.life.began.get_or_insert_with(Moment::now);
        let observed = recording.observed;
        let full_for = recording.life.full_since.map(|since| since.elapsed());
        recording.asked.push(Asked { operation, observed, full_for, answer: None });
        recording.asked.len() - 1
    }

    /// Records an answer, with the last event visible now. Nothing is answered without power.
    pub(crate) fn answer(&self, place: usize, answer: Answer, published: u64) {
        let mut recording = self.lock();
        let recording = &mut *recording;
        let life = &mut recording.life;
        if life.ended_after.is_some() {
            return;
        }
        let answer = match answer {
            Answer::DiskFull { .. } => Answer::DiskFull { is_explained: life.explains_full_disk() },
            other => other,
        };
        recording.asked[place].answer = Some((answer, published));
        recording.observed = recording.observed.max(published);
        let elapsed = life.began.expect("an operation was asked").elapsed();
        life.published.push((elapsed, published));
        life.answers += 1;
        if life.power_cut.as_ref().is_some_and(|cut| cut.at_answer == Some(life.answers)) {
            life.cut_power();
            self.power.notify_one();
        }
    }

    /// Ends the life now, unless it has ended.
    pub(crate) fn cut_power(&self) {
        self.lock().life.cut_power();
    }

    /// Ends the life as a failed write does, unless it has ended.
    pub(crate) fn end_process(&self) {
        let mut recording = self.lock();
        if recording.life.ended_after.is_none() {
            recording.life.cut_power();
            self.power.notify_one();
        }
    }

    /// Notes that the disk is full, or that it has space again.
    pub(crate) fn note_disk(&self, is_full: bool) {
        let life = &mut self.lock().life;
        if is_full {
            life.full_since = Some(Moment::now());
        } else {
            life.full_since = None;
            life.freed_at = Some(Moment::now());
        }
    }

    /// Records a mail that has left; returns its place. Nothing leaves without power.
    pub(crate) fn record_attempt(&self, attempt: Attempt) -> Option<usize> {
        let mut recording = self.lock();
        if recording.life.ended_after.is_some() {
            return None;
        }
        recording.observed = recording.observed.max(attempt.published);
        recording.attempts.push(attempt);
        Some(recording.attempts.len() - 1)
    }

    /// Records that the reply of the mail server has come back.
    pub(crate) fn answer_attempt(&self, place: usize) {
        let mut recording = self.lock();
        if recording.life.ended_after.is_none() {
            recording.attempts[place].is_answered = true;
        }
    }

    /// Notes a promise that was broken outside of every answer.
    pub(crate) fn note_violation(&self, violation: String) {
        self.lock().violation.get_or_insert(violation);
    }

    pub(crate) fn violation(&self) -> Option<String> {
        self.lock().violation.clone()
    }

    pub(crate) fn attempts(&self) -> Vec<Attempt> {
        self.lock().attempts.clone()
    }

    pub(crate) async fn power_was_cut(&self) {
        self.power.notified().await;
    }

    /// Ends a life that was shut down.
    pub(crate) fn end_life(&self) {
        let life = &mut self.lock().life;
        life.ended_after.get_or_insert(Duration::MAX);
    }

    /// Returns the last event that was visible `margin` before the end of the life.
    pub(crate) fn published_before_end(&self, margin: Duration) -> u64 {
        let recording = self.lock();
        let ended_after = recording.life.ended_after.expect("the life has ended");
        let mut last = 0;
        for (elapsed, published) in &recording.life.published {
            if *elapsed + margin <= ended_after {
                last = last.max(*published);
            }
        }
        last
    }

    /// Returns the last event that any answer or mail has shown.
    pub(crate) fn last_observed(&self) -> u64 {
        self.lock().observed
    }

    pub(crate) fn all(&self) -> Vec<Asked> {
        self.lock().asked.clone()
    }
}

impl Life {
    /// Whether a write may be refused for the full disk, as far as a monitor can know it.
    fn explains_full_disk(&self) -> bool {
        let was_just_full = self.freed_at.is_some_and(|at| at.elapsed() <= LOOK_INTERVAL);
        self.full_since.is_some() || was_just_full
    }

    fn cut_power(&mut self) {
        if self.ended_after.is_some() {
            return;
        }
        self.ended_after = Some(self.began.map_or(Duration::ZERO, |began| began.elapsed()));
        if let Some(PowerCut { tail: Some(tail), disk, .. }) = &self.power_cut {
            disk.crash(*tail);
        }
    }
}

/// Compares every answer with the agendas after each event of the journal, the empty one first, and
/// with the author and the kind of each event.
pub(crate) fn check(
    all: &[Asked],
    agendas: &[Arc<Agenda>],
    events: &[(Author, EventKind)],
) -> Result<(), String> {
    let last = agendas.len() as u64 - 1;
    for asked in all {
        let Some((answer, published)) = &asked.answer else { continue };
        if *published > last {
            return Err(format!(
                "event {published} was visible, and the journal ends at event {last}: {asked:?}"
            ));
        }
        check_answer(asked, answer, *published, agendas)
            .map_err(|violation| format!("{violation}: {asked:?}"))?;
    }
    for (index, pair) in agendas.windows(2).enumerate() {
        let sequence = index as u64 + 1;
        check_event(all, sequence, events[index], &pair[0], &pair[1])
            .map_err(|violation| format!("event {sequence}: {violation}"))?;
    }
    Ok(())
}

/// Checks that an answer fits the states between the operation's beginning and the answer.
fn check_answer(
    asked: &Asked,
    answer: &Answer,
    published: u64,
    agendas: &[Arc<Agenda>],
) -> Result<(), String> {
    let was_full = asked.full_for.is_some_and(|time| time > LOOK_INTERVAL);
    if was_full && !asked.is_read() && !matches!(answer, Answer::DiskFull { .. }) {
        return Err("it was decided on a full disk".to_owned());
    }
    let window = asked.observed..=published;
    let agenda_at = |sequence: u64| {
        if window.contains(&sequence) {
            Ok(&agendas[usize::try_from(sequence).expect("small")])
        } else {
            Err(format!("state {sequence} is not one of the states {window:?} of its time"))
        }
    };
    match (&asked.operation, answer) {
        (Operation::Book { client, half_hour, on }, Answer::Booked { id, sequence }) => {
            let Some(entry) = agenda_at(*sequence)?.get(id) else {
                return Err("the appointment is lost".to_owned());
            };
            let at = Entry {
                slot: (*half_hour, on.unwrap_or(entry.slot.1)),
                is_cancelled: false,
                client: *client,
                address: 0,
            };
            if *entry != at {
                return Err(format!("the journal holds {entry:?}"));
            }
            if agendas[usize::try_from(*sequence - 1).expect("small")].contains_key(id) {
                return Err("the appointment was there before".to_owned());
            }
        }
        (Operation::Cancel { id: Some(id), .. }, Answer::Done(sequence)) => {
            if !agenda_at(*sequence)?.get(id).is_some_and(|entry| entry.is_cancelled) {
                return Err("the cancellation is lost".to_owned());
            }
        }
        (Operation::Move { id: Some(id), to, .. }, Answer::Done(sequence)) => {
            if agenda_at(*sequence)?.get(id).is_none_or(|entry| entry.slot != *to) {
                return Err("the move is lost".to_owned());
            }
        }
        (_, Answer::NotAvailable(named)) => {
            let mut is_explained = false;
            for sequence in window.clone() {
                is_explained |= explains_refusal(&asked.operation, named, agenda_at(sequence)?);
            }
            if !is_explained {
                return Err(format!("no state of {window:?} explains the refusal"));
            }
        }
        (_, Answer::Seen(sequence, seen)) => {
            if **agenda_at(*sequence)? != *seen {
                return Err("a reader saw another state".to_owned());
            }
        }
        (Operation::Readdress { id: Some(id), address, .. }, Answer::Done(sequence)) => {
            if agenda_at(*sequence)?.get(id).is_none_or(|entry| entry.address != *address) {
                return Err("the address is lost".to_owned());
            }
        }
        (_, Answer::DiskFull { is_explained: true }) => {}
        (_, Answer::DiskFull { is_explained: false }) => {
            return Err("it was refused for a disk that is not full".to_owned());
        }
        (_, Answer::Refused(reason)) => return Err(format!("refused for {reason}")),
        (_, Answer::Booked { .. } | Answer::Done(_)) => {
            return Err("no answer to this operation".to_owned());
        }
    }
    Ok(())
}

/// Returns whether a state has the time taken, by the appointments that the refusal names.
fn explains_refusal(operation: &Operation, named: &BTreeSet<VeventId>, agenda: &Agenda) -> bool {
    match operation {
        Operation::Book { half_hour, on: Some(on), .. } => {
            taking(agenda, (*half_hour, *on), None) == *named && !named.is_empty()
        }
        Operation::Book { half_hour, on: None, .. } => {
            let mut is_free = false;
            for on in CALENDARS {
                is_free |= taking(agenda, (*half_hour, on), None).is_empty();
            }
            named.is_empty() && !is_free
        }
        Operation::Move { id: Some(id), to, .. } => {
            let is_live = agenda.get(id).is_some_and(|entry| !entry.is_cancelled);
            is_live && taking(agenda, *to, Some(*id)) == *named && !named.is_empty()
        }
        Operation::Move { id: None, .. }
        | Operation::Cancel { .. }
        | Operation::Readdress { .. }
        | Operation::Read => false,
    }
}

/// Returns the live appointments at a slot, without the one that moves there.
fn taking(agenda: &Agenda, slot: Slot, moving: Option<VeventId>) -> BTreeSet<VeventId> {
    let mut taking = BTreeSet::new();
    for (id, entry) in agenda {
        if entry.slot == slot && !entry.is_cancelled && Some(*id) != moving {
            taking.insert(*id);
        }
    }
    taking
}

/// Checks that an event changes one appointment, as one operation of its author asked, and takes no
/// taken time. A step of the sending changes none, and the server is its author.
fn check_event(
    all: &[Asked],
    sequence: u64,
    (author, kind): (Author, EventKind),
    before: &Arc<Agenda>,
    after: &Arc<Agenda>,
) -> Result<(), String> {
    if kind == EventKind::Delivery {
        let is_same = Arc::ptr_eq(before, after) || before == after;
        return if is_same && author == Author::Server {
            Ok(())
        } else {
            Err(format!("a step of the sending by {author:?} changes the agenda"))
        };
    }
    let mut changed = Vec::new();
    for (id, entry) in after.iter() {
        if before.get(id) != Some(entry) {
            changed.push((*id, entry));
        }
    }
    let lost = before.keys().find(|id| !after.contains_key(id));
    let ([(changed_id, now)], None) = (&changed[..], lost) else {
        return Err(format!("it changes {changed:?} and removes {lost:?}"));
    };
    if !now.is_cancelled && taking(after, now.slot, None).len() > 1 {
        return Err(format!("two appointments at one time: {:?}", taking(after, now.slot, None)));
    }
    for (place, asked) in all.iter().enumerate() {
        if !asked.may_have_made(sequence) || author_of(place) != author {
            continue;
        }
        let expected = match (&asked.operation, before.get(changed_id)) {
            (Operation::Book { client, half_hour, on }, None) => Entry {
                slot: (*half_hour, on.unwrap_or(now.slot.1)),
                is_cancelled: false,
                client: *client,
                address: 0,
            },
            (Operation::Cancel { id, .. }, Some(entry)) if *id == Some(*changed_id) => {
                Entry { is_cancelled: true, ..entry.clone() }
            }
            (Operation::Move { id, to, .. }, Some(entry)) if *id == Some(*changed_id) => {
                Entry { slot: *to, ..entry.clone() }
            }
            (Operation::Readdress { id, address, .. }, Some(entry)) if *id == Some(*changed_id) => {
                Entry { address: *address, ..entry.clone() }
            }
            _ => continue,
        };
        if expected == **now {
            return Ok(());
        }
    }
    Err(format!("no operation of {author:?} asked for {now:?} of {changed_id}"))
}
