//! The clients of a simulation, and the others that use its disk.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt as _;
use rand::rngs::StdRng;
use slotbook::domain::availability::obstacle::Obstacle;
use slotbook::domain::records::author::Author;
use slotbook::domain::records::ids::{ProId, VeventId};
use slotbook::domain::records::text::Email;
use slotbook::domain::records::vevent::VeventKind;
use slotbook::domain::state::command::{
    Caller, CancelAppointment, CancelRight, Command, Patch, Put, PutVevent, RecordChange,
};
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::refusal::Refusal;
use slotbook::domain::time::MINUTE;
use slotbook::engine::compaction::Compactor;
use slotbook::engine::health::{LOOK_INTERVAL, WritesUnavailable};
use slotbook::engine::{Committed, Engine, Rejection};
use slotbook::store::{SimulatedDisk, StoreError};
use tokio::time::sleep;

use super::shop::{booking_of, calendar, redrawn};
use super::simulation_history::{Answer, History, Operation, Slot, author_of};
use super::simulation_recovery::{FIRST_START, agenda_of, group};

/// A client, which asks for one operation.
pub(crate) struct Client {
    pub(crate) engine: Engine,
    pub(crate) history: Arc<History>,
}

impl Client {
    fn published(&self) -> Arc<GroupState> {
        self.engine.published().group_state(group()).expect("the group")
    }

    pub(crate) async fn run(self, operation: Operation) {
        let operation = operation.with_id(&agenda_of(&self.published()));
        let place = self.history.ask(operation.clone());
        let author = author_of(place);
        let answer = match operation {
            Operation::Book { client, half_hour, on } => {
                self.book(author, client, half_hour, on).await
            }
            Operation::Cancel { id: Some(id), .. } => {
                let right = CancelRight::Pro;
                let command = Command::CancelAppointment(CancelAppointment { id, right });
                self.change(author, command).await
            }
            Operation::Move { id: Some(id), to, .. } => self.change(author, move_to(id, to)).await,
            Operation::Readdress { id: Some(id), address, .. } => {
                let command = self.readdress(id, address);
                self.change(author, command).await
            }
            Operation::Cancel { id: None, .. }
            | Operation::Move { id: None, .. }
            | Operation::Readdress { id: None, .. }
            | Operation::Read => {
                let state = self.published();
                Ok(Answer::Seen(state.sequence, agenda_of(&state)))
            }
        };
        let answer = answer.unwrap_or_else(|refused| refused);
        self.history.answer(place, answer, self.published().sequence);
    }

    async fn book(
        &self,
        author: Author,
        client: u64,
        half_hour: i64,
        on: Option<u64>,
    ) -> Result<Answer, Answer> {
        let mut command = booking_of(&format!("c{client}"), "2026-03-03 09:00");
        command.caller = Caller::Pro(ProId::new(1).expect("an id"));
        command.date = command.date.plus_seconds(half_hour * 30 * MINUTE);
        command.calendar_id = on.map(calendar);
        let done = self.write(author, Command::BookAppointment(Box::new(command))).await?;
        Ok(Answer::Booked { id: done.appointments[0], sequence: done.sequence })
    }

    async fn change(&self, author: Author, command: Command) -> Result<Answer, Answer> {
        Ok(Answer::Done(self.write(author, command).await?.sequence))
    }

    /// Returns the command that gives the client of an appointment another address.
    fn readdress(&self, id: VeventId, address: u64) -> Command {
        let state = self.published();
        let appointment = state.rows.get(&id).and_then(|row| row.appointment());
        let client = appointment.expect("it was seen").fiche_id;
        let name = state.fiches[&client].lastname.as_str();
        let email = Email::new(&format!("{name}r{address}@example.org")).expect("an address");
        let mut fields = Patch::default();
        fields.push(move |fiche: &mut slotbook::domain::records::fiche::Fiche| {
            fiche.email = Some(email.clone());
        });
        Command::ChangeRecord(RecordChange::Fiche(Put { id: Some(client), fields }))
    }

    async fn write(&self, author: Author, command: Command) -> Result<Committed, Answer> {
        self.engine.write(group(), author, command).await.map_err(|rejection| match &rejection {
            Rejection::Refused(refusals) => match &refusals[..] {
                [Refusal::NotAvailable { obstacles }] => not_available(obstacles),
                _ => Answer::Refused(format!("{rejection:?}")),
            },
            Rejection::WritesUnavailable(WritesUnavailable::LowDiskSpace) => {
                // The history finds out whether the disk explains it.
                Answer::DiskFull { is_explained: false }
            }
            _ => Answer::Refused(format!("{rejection:?}")),
        })
    }
}

/// Returns the command that moves an appointment.
fn move_to(id: VeventId, to: Slot) -> Command {
    let start = FIRST_START.plus_minutes(to.0 * 30);
    let draft = redrawn(move |state, row| {
        row.calendar_id = calendar(to.1);
        if let VeventKind::Appointment(appointment) = &mut row.kind {
            appointment.start = start;
            appointment.civil_start = state.catalogue.zone().civil_of(start);
        }
    });
    Command::PutVevent(PutVevent::Change(id, draft))
}

/// Returns the answer to a refusal for taken time. Any other obstacle is an error here.
fn not_available(obstacles: &[Obstacle]) -> Answer {
    let mut named = BTreeSet::<VeventId>::new();
    for obstacle in obstacles {
        let Obstacle::Taken { id, .. } = obstacle else {
            return Answer::Refused(format!("{obstacles:?}"));
        };
        named.insert(*id);
    }
    Answer::NotAvailable(named)
}

/// A time for which the disk is full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullDisk {
    pub(crate) begins_after: Duration,
    pub(crate) length: Duration,
    /// Chunks that the journal has room for meanwhile.
    pub(crate) room_chunks: usize,
}

impl FullDisk {
    pub(crate) async fn run(self, disk: SimulatedDisk, history: Arc<History>) {
        sleep(self.begins_after).await;
        disk.fill(self.room_chunks);
        history.note_disk(true);
        free_after(self.length, disk, history).await;
    }
}

pub(crate) async fn free_after(time: Duration, disk: SimulatedDisk, history: Arc<History>) {
    sleep(time).await;
    disk.free();
    history.note_disk(false);
}

/// Looks at the free space as the monitor of a server does, for ever.
pub(crate) async fn watch_disk(engine: Engine, disk: SimulatedDisk, history: Arc<History>) {
    loop {
        sleep(LOOK_INTERVAL).await;
        if engine.health().look().is_some() {
            history.end_process();
        }
        engine.health().set_disk_has_room(disk.free_bytes() > 0);
    }
}

/// Makes new generations one after another, each after a time, as the compactor's thread does.
pub(crate) async fn compact(
    mut compactor: Compactor,
    times: Vec<Duration>,
    mut random: StdRng,
    history: Arc<History>,
) {
    for time in times {
        sleep(time).await;
        let pause = || Duration::from_millis(random.random_range(0..120));
        match compactor.compact_simulated(pause).await {
            // Without room it is abandoned, and tried again later.
            Ok(_) | Err(StoreError::NoRoom { .. }) => {}
            Err(error @ StoreError::Damaged { .. }) => {
                history.note_violation(format!("a compaction reads back: {error}"));
            }
            Err(_) => return history.end_process(),
        }
    }
}
