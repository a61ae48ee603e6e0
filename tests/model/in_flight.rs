//! Decisions beside bookings that are not durable yet: each command is decided on the newest state,
//! and each calendar has its newest view. Invariants 1 and 2.

use std::sync::Arc;
use std::time::Duration;

use slotbook::domain::records::author::Author;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::ids::VeventId;
use slotbook::domain::records::text::{Bounded, LongText};
use slotbook::domain::state::command::{
    BookAppointment, CancelAppointment, CancelRight, Client, Command, Patch, PutVevent,
};
use slotbook::domain::state::group_record::GroupRecord;
use slotbook::domain::state::refusal::Refusal;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::{Engine, EngineParts, Rejection, WriteResult};
use slotbook::store::{SimulatedDisk, Stream, codec, state};

use super::engine::{group, imported, parts, simulated};
use super::shop::{Shop, booking_of, by_pro, calendar};

/// Time that each batch takes to become durable.
const BATCH_TIME: Duration = Duration::from_secs(1);
/// Time between two commands: longer than a decision takes, shorter than a batch.
const PAUSE: Duration = Duration::from_millis(100);

/// Sends bookings one after another, all before the first is durable; returns their answers.
fn book_in_flight(shop: &Shop, commands: [BookAppointment; 2]) -> Vec<WriteResult> {
    simulated(async {
        let (log, _) = SimulatedDisk::new().recover(|_, _| Ok(())).expect("an empty disk");
        let parts = parts(shop, imported(shop), shop.group_state.clone(), 1);
        let (engine, journal) = Engine::start(parts, log).await;
        tokio::spawn(journal.run_simulated(|| BATCH_TIME));
        let mut clients = Vec::new();
        for command in commands {
            let engine = engine.clone();
            clients.push(tokio::spawn(async move {
                engine
                    .write(group(), Author::Visitor, Command::BookAppointment(Box::new(command)))
                    .await
            }));
            tokio::time::sleep(PAUSE).await;
        }
        let mut answers = Vec::new();
        for client in clients {
            answers.push(client.await.expect("no client panics"));
        }
        answers
    })
}

#[test]
fn client_rules_count_a_booking_that_is_not_durable_yet() {
    let shop = Shop::open_on_tuesday().with_group(|group| group.maxrdv_number = Bounded::known(1));
    let wishes = ["2026-03-03 09:00", "2026-03-03 11:00"].map(|date| booking_of("Ada", date));
    let answers = book_in_flight(&shop, wishes);
    assert!(answers[0].is_ok(), "{answers:?}");
    let Err(Rejection::Refused(refusals)) = &answers[1] else { panic!("{answers:?}") };
    assert_eq!(*refusals, [Refusal::MaxRdvNumber { most: 1 }]);
}

#[test]
fn a_start_that_was_taken_a_moment_ago_is_refused_before_that_is_durable() {
    let shop = Shop::open_on_tuesday();
    let wishes = ["Ada", "Bob"].map(|client| {
        let mut command = booking_of(client, "2026-03-03 09:30");
        command.calendar_id = Some(calendar(1));
        command
    });
    let answers = book_in_flight(&shop, wishes);
    assert!(answers[0].is_ok(), "{answers:?}");
    let Err(Rejection::Refused(refusals)) = &answers[1] else { panic!("{answers:?}") };
    assert!(matches!(refusals[..], [Refusal::NotAvailable { .. }]), "{refusals:?}");
}

/// Sends commands one right after another to an engine without delays, so that the group decides
/// them in one turn; returns their answers. `commands` gets the id of the next appointment.
fn write_in_one_turn(
    shop: &Shop,
    commands: impl FnOnce(VeventId) -> Vec<Command>,
) -> Vec<WriteResult> {
    simulated(async {
        let disk = SimulatedDisk::new();
        let (log, _) = disk.recover(|_, _| Ok(())).expect("an empty disk");
        let direct = parts(shop, imported(shop), shop.group_state.clone(), 1);
        let direct = EngineParts { transport: Transport::direct(), ..direct };
        let (engine, journal) = Engine::start(direct, log).await;
        tokio::spawn(journal.run_simulated(|| BATCH_TIME));
        // The group has its ids and its actor.
        let first = Command::BookAppointment(Box::new(booking_of("First", "2026-03-03 09:00")));
        let first = engine.write(group(), Author::Visitor, first).await.expect("it is free");
        let next = VeventId::new(first.object + 1).expect("an id");
        let clients = commands(next).into_iter().map(|command| {
            let engine = engine.clone();
            tokio::spawn(async move { engine.write(group(), Author::Visitor, command).await })
        });
        let mut answers = Vec::new();
        for client in clients.collect::<Vec<_>>() {
            answers.push(client.await.expect("no client panics"));
        }
        engine.clone().shut_down().await;
        let mut replayed = shop.group_state.clone();
        let replay = disk.recover(|_, record| {
            if let Stream::Group(_) = record.stream {
                let GroupRecord { author, event } = codec::decode(&record.bytes)?;
                replayed.apply_in_place(author, &event);
            }
            Ok(())
        });
        assert!(replay.is_ok(), "what was written is read");
        let published = engine.published().group_state(group()).expect("the group");
        assert_eq!(state::hash(&replayed), state::hash(&published));
        answers
    })
}

fn book(client: &str, date: &str) -> Command {
    Command::BookAppointment(Box::new(booking_of(client, date)))
}

#[test]
fn bookings_of_one_turn_share_a_state_that_shows_each_as_it_was_made() {
    let shop = Shop::open_on_tuesday();
    let commands = ["Ada", "Bob", "Eve"].into_iter().zip(["10:00", "10:30", "11:00"]);
    let commands = commands.map(|(client, time)| book(client, &format!("2026-03-03 {time}")));
    let answers = write_in_one_turn(&shop, |_| commands.collect());
    let done: Vec<_> = answers.iter().map(|answer| answer.as_ref().expect("it is free")).collect();
    assert!(Arc::ptr_eq(&done[0].group_state, &done[2].group_state), "one turn");
    for done in done {
        let id = done.appointments[0];
        assert!(done.before.rows.get(&id).is_none());
        assert!(done.group_state.rows.get(&id).is_some_and(|row| !row.deleted));
    }
}

#[test]
fn an_answer_shows_its_client_as_it_was_before_a_later_booking_of_the_same_turn() {
    let mut shop = Shop::open_on_tuesday();
    let ada = shop.knows("Ada", "ada@example.org");
    let booking = |date: &str, comments: Option<&str>| {
        let mut command = by_pro(booking_of("Ada", date), false);
        command.client = Client { id: Some(ada), fields: Patch::default(), ..command.client };
        if let Some(comments) = comments {
            let comments = LongText::new(comments).expect("a text");
            command.client.fields.push(move |fiche: &mut Fiche| fiche.comments = comments.clone());
        }
        Command::BookAppointment(Box::new(command))
    };
    let bookings = vec![
        booking("2026-03-03 10:00", None),
        booking("2026-03-03 10:30", Some("needs a ramp")),
        booking("2026-03-03 11:00", None),
    ];
    let answers = write_in_one_turn(&shop, |_| bookings);
    let shown = answers.iter().map(|answer| {
        let state = &answer.as_ref().expect("it is free").group_state;
        state.fiches[&ada].comments.as_str().to_owned()
    });
    assert_eq!(shown.collect::<Vec<_>>(), ["", "needs a ramp", "needs a ramp"]);
}

#[test]
fn a_booking_that_is_cancelled_in_the_same_turn_is_answered_as_booked() {
    let shop = Shop::open_on_tuesday();
    let answers = write_in_one_turn(&shop, |id| {
        let cancel = CancelAppointment { id, right: CancelRight::Pro };
        vec![book("Ada", "2026-03-03 10:00"), Command::CancelAppointment(cancel)]
    });
    let deleted = answers.iter().map(|answer| {
        let done = answer.as_ref().expect("both are carried out");
        done.group_state.rows[&done.appointments[0]].deleted
    });
    assert_eq!(deleted.collect::<Vec<_>>(), [false, true]);
}

#[test]
fn hours_that_end_in_the_same_turn_take_no_booking() {
    let shop = Shop::open_on_tuesday();
    let hours = *shop.group_state.rows.keys().next().expect("it is open");
    let answers = write_in_one_turn(&shop, |_| {
        let end = Command::PutVevent(PutVevent::Delete(hours));
        vec![end, book("Ada", "2026-03-03 10:00")]
    });
    assert!(answers[0].is_ok(), "{answers:?}");
    let Err(Rejection::Refused(refusals)) = &answers[1] else { panic!("{answers:?}") };
    assert!(matches!(refusals[..], [Refusal::NotAvailable { .. }]), "{refusals:?}");
}
