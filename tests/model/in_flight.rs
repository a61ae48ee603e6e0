//! Decisions beside bookings that are not durable yet: each command is decided on the newest state,
//! and each calendar has its newest view. Invariants 1 and 2.

use std::time::Duration;

use slotbook::domain::records::author::Author;
use slotbook::domain::records::text::Bounded;
use slotbook::domain::state::command::{BookAppointment, Command};
use slotbook::domain::state::refusal::Refusal;
use slotbook::engine::{Engine, Rejection, WriteResult};
use slotbook::store::SimulatedDisk;

use super::engine::{group, imported, parts, simulated};
use super::shop::{Shop, booking_of, calendar};

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
