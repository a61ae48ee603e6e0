//! A clock that is ahead for a while. Everything it would end too early stays, or is open again.

use std::sync::Arc;
use std::time::Duration;

use slotbook::clock::ManualClock;
use slotbook::domain::directory::password_link::PasswordLink;
use slotbook::domain::messaging::planning;
use slotbook::domain::records::author::Author;
use slotbook::domain::records::channel::Channel;
use slotbook::domain::records::message::{
    AppointmentTime, LinkPurpose, MessageContent, Progress, SuppressionReason,
};
use slotbook::domain::records::text::{Email, Text};
use slotbook::domain::records::vevent::Permits;
use slotbook::domain::state::command::{
    CancelRight, Command, FollowLink, LinkRequest, RequestLink,
};
use slotbook::domain::state::delivery_step::{DeliveryOutcome, DeliveryStep, DueItem, LatePolicy};
use slotbook::domain::state::idempotency::IdempotencyShare;
use slotbook::domain::state::recipient_quota::MessageQuota;
use slotbook::domain::time::{DAY, HOUR, Instant};
use slotbook::engine::{Engine, IdempotentRequest, Rejection, WriteResult};
use slotbook::store::SimulatedDisk;

use super::engine::{group, parts, recovered, simulated};
use super::reminders::{booked, claim, reminding, settle, times, waits};
use super::shop::{Draws, SECRET, Shop, booking_of, decide_at_once, link_secret};

/// Starts an engine on a disk, with a clock of its own.
async fn start(shop: &Shop, disk: &SimulatedDisk, now: Instant) -> (Engine, Arc<ManualClock>) {
    let (directory, group_state) = recovered(shop, disk);
    let (log, _) = disk.recover(|_, _| Ok(())).expect("it was read before");
    let clock = Arc::new(ManualClock::at(now));
    let seed = u8::try_from(now.0 / HOUR % 250).expect("small");
    let mut parts = parts(shop, directory, group_state, seed);
    parts.clock = Arc::clone(&clock) as _;
    let (engine, journal) = Engine::start(parts, log).await;
    tokio::spawn(journal.run_simulated(|| Duration::from_millis(1)));
    (engine, clock)
}

/// Books a start under an idempotency key.
async fn book_once(engine: &Engine, key: u8, name: &str, date: &str) -> WriteResult {
    let render = Arc::new(|done: &slotbook::engine::Committed| done.object.to_be_bytes().to_vec());
    let request = IdempotentRequest {
        scope: [key; 32],
        body: [key; 32],
        share: IdempotencyShare::Pro,
        render,
    };
    let command = Command::BookAppointment(Box::new(booking_of(name, date)));
    engine.write_idempotent(group(), Author::Visitor, command, Some(request), None).await
}

#[test]
fn a_reminder_that_a_clock_ahead_gave_up_is_sent_at_its_time() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let reminder = DueItem::Reminder(id, Channel::Mail);
    let mut wrong = shop.at("2026-03-09 12:00");
    let missed = claim(&mut wrong, reminder).expect("overdue");
    assert_eq!(missed.progress, Progress::Missed { at: wrong.now });
    assert_eq!(times(&wrong, id).0, None);
    let mut right = wrong.at("2026-02-27 13:00");
    assert_eq!(times(&right, id).0.as_deref(), Some("2026-03-02 11:00"));
    assert_eq!(claim(&mut right, reminder), None, "not yet");
    let until = right.now.plus_seconds(4 * DAY);
    let planned = planning::reminders_due_before(&right.group_state, right.now, until);
    let mails = planned.filter(|planned| planned.channel == Channel::Mail).count();
    assert_eq!((mails, right.group_state.outbox.unsent(right.now).count()), (1, 0));
    let mut due = right.at("2026-03-02 11:00");
    assert_eq!(claim(&mut due, DueItem::Message(missed.id)), None, "it is no second message");
    let again = claim(&mut due, reminder).expect("due");
    assert_eq!(
        (again.id, &again.progress),
        (missed.id, &Progress::Claimed { attempt: 1, at: due.now })
    );
    assert_eq!(times(&due, id).0.as_deref(), Some("2026-03-02 11:00"), "it is under way");
    settle(&mut due, &again, DeliveryOutcome::Taken).expect("claimed");
    assert_eq!(claim(&mut due, reminder), None, "it is sent once");
}

#[test]
fn a_reopened_reminder_that_is_rejected_is_given_up() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let reminder = DueItem::Reminder(id, Channel::Mail);
    let mut wrong = shop.at("2026-03-09 12:00");
    claim(&mut wrong, reminder).expect("overdue");
    let mut due = wrong.at("2026-03-02 11:00");
    let again = claim(&mut due, reminder).expect("due");
    let reason = Text::new("no such mailbox").expect("short");
    settle(&mut due, &again, DeliveryOutcome::Refused(reason)).expect("claimed");
    assert_eq!((claim(&mut due, reminder), times(&due, id).0), (None, None));
}

#[test]
fn messages_that_a_clock_ahead_gave_up_are_open_again() {
    let mut shop = reminding().opened(1, "2026-03-24 09:00", "2026-03-24 12:00", "", Permits::All);
    let near = booked(&mut shop);
    let far = shop.book(&booking_of("Bob", "2026-03-24 09:00")).expect("free")[0];
    let mut ids = Vec::new();
    for (id, to) in [(near, "ada@example.org"), (far, "bob@example.org")] {
        let row = &shop.group_state.rows[&id];
        let content = MessageContent::Confirmation(vec![
            AppointmentTime::from_vevent(row).expect("an appointment"),
        ]);
        let message = shop.group_state.outbox.draft(0, shop.now, content, to);
        waits(&mut shop, &message);
        ids.push(message.id);
    }
    let content = MessageContent::AccountLink {
        purpose: LinkPurpose::Confirm,
        token: Text::new("abc").expect("a text"),
        expires: shop.now.plus_seconds(DAY),
    };
    let link = shop.group_state.outbox.draft(0, shop.now, content, "cy@example.org");
    waits(&mut shop, &link);
    ids.push(link.id);
    let mut wrong = shop.at("2026-03-09 12:00");
    let at = wrong.now;
    let given_up = [
        Progress::Suppressed { at, why: SuppressionReason::Begun },
        Progress::Missed { at },
        Progress::Suppressed { at, why: SuppressionReason::Expired },
    ];
    for (id, expected) in ids.iter().zip(given_up) {
        assert_eq!(claim(&mut wrong, DueItem::Message(*id)).expect("open").progress, expected);
    }
    assert_eq!(wrong.group_state.outbox.unsent(at).count(), 0, "the clock has come to it");
    let mut right = wrong.at("2026-02-27 13:00");
    assert_eq!(right.group_state.outbox.unsent(right.now).count(), 3);
    for id in ids {
        let message = claim(&mut right, DueItem::Message(id)).expect("open again");
        assert!(matches!(message.progress, Progress::Claimed { attempt: 1, .. }), "{message:?}");
        settle(&mut right, &message, DeliveryOutcome::Taken).expect("claimed");
    }
    assert_eq!(right.group_state.outbox.unsent(right.now).count(), 0);
}

#[test]
fn a_late_message_waits_while_the_clock_is_in_doubt() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let item = DueItem::Reminder(id, Channel::Mail);
    let mut due = shop.at("2026-03-02 11:00");
    let claimed = claim(&mut due, item).expect("due");
    let late = due.at("2026-03-09 12:00");
    let again = DeliveryStep::Claim {
        item,
        quota: MessageQuota { recipient_daily_max: 10, by_key_daily_max: 0 },
        has_gateway: true,
    };
    let waiting = |step| {
        let mut draws = Draws { late: LatePolicy::Wait, ..Draws::none(late.now) };
        let command = Command::Deliver(step);
        let decided = decide_at_once(&late.group_state, &command, &mut draws, late.now);
        decided.expect("never refused").0
    };
    assert_eq!(waiting(again), None);
    let outcome = DeliveryOutcome::Deferred { reason: Text::new("busy").expect("short"), draw: 0 };
    let deferred = DeliveryStep::Settle { id: claimed.id, attempt: 1, outcome };
    let next = late.group_state.apply(&waiting(deferred).expect("the attempt has ended"));
    let message = next.outbox.message(claimed.id).expect("kept");
    assert!(matches!(message.progress, Progress::Waiting { attempts: 1, .. }), "{message:?}");
}

#[test]
fn irreversible_upkeep_waits_for_an_hour_while_the_clock_is_a_day_ahead_of_the_store() {
    simulated(async {
        let mut shop = reminding().at("2026-03-02 08:00");
        let id = booked(&mut shop);
        let gone = shop.book(&booking_of("gone", "2026-03-03 09:30")).expect("free")[0];
        shop.cancel(gone, CancelRight::Secret(SECRET.into())).expect("in time");
        // The disk is empty: its first event is the first of the group.
        shop.group_state.sequence = 0;
        let claim = |engine: &Engine| {
            let item = DueItem::Reminder(id, Channel::Mail);
            let step = DeliveryStep::Claim {
                item,
                quota: MessageQuota { recipient_daily_max: 10, by_key_daily_max: 0 },
                has_gateway: true,
            };
            let engine = engine.clone();
            async move {
                engine
                    .write(group(), Author::Server, Command::Deliver(step))
                    .await
                    .expect("decided")
            }
        };
        let disk = SimulatedDisk::new();
        let wrong = shop.now.plus_seconds(10 * DAY);
        let (engine, clock) = start(&shop, &disk, wrong).await;
        assert_eq!(engine.clock_doubt_seconds(), Some(10 * DAY));
        assert_eq!(engine.remove_deleted(1).await, 0);
        let counts_from = || {
            let group = shop.group_state.catalogue.group.id;
            engine.published().group_state(group).expect("a group").privacy.counts_from
        };
        engine.retain().await;
        assert_eq!(counts_from(), None, "no retention while the clock is in doubt");
        assert_eq!(claim(&engine).await.group_state.outbox.messages().len(), 0);
        clock.set(wrong.plus_seconds(HOUR - 1));
        assert_eq!(engine.remove_deleted(1).await, 0);
        clock.set(wrong.plus_seconds(HOUR));
        assert_eq!(engine.clock_doubt_seconds(), None);
        assert_eq!(engine.remove_deleted(1).await, 1);
        engine.retain().await;
        assert!(counts_from().is_some());
        let missed = claim(&engine).await;
        let message = missed.group_state.outbox.messages().next().expect("it is settled");
        assert!(matches!(message.progress, Progress::Missed { .. }), "{message:?}");
        engine.shut_down().await;
        // A store that was written to within a day is no reason for doubt.
        let last = recovered(&shop, &disk).1.last_stamp;
        let (engine, clock) = start(&shop, &disk, last.plus_seconds(DAY)).await;
        assert_eq!(engine.clock_doubt_seconds(), None);
        clock.step(last.plus_seconds(3 * DAY));
        assert_eq!(engine.clock_doubt_seconds(), Some(2 * DAY), "it was set while the server ran");
    });
}

#[test]
fn an_answer_is_repeated_for_a_day_whatever_the_clock_does() {
    simulated(async {
        let (shop, disk) = (Shop::open_on_tuesday(), SimulatedDisk::new());
        let (engine, _) = start(&shop, &disk, shop.now).await;
        let first = book_once(&engine, 1, "Ada", "2026-03-03 09:00").await.expect("free");
        engine.shut_down().await;
        let repeated = async |engine: &Engine| {
            let again = book_once(engine, 1, "Ada", "2026-03-03 09:00").await.expect("repeated");
            assert_eq!(again.answer, first.answer);
            assert!(Arc::ptr_eq(&again.before, &again.group_state), "nothing was done");
        };
        // The server runs with a clock that is ahead, and records other answers.
        let (engine, _) = start(&shop, &disk, shop.now.plus_seconds(10 * DAY)).await;
        repeated(&engine).await;
        let late = book_once(&engine, 2, "Bob", "2026-03-03 10:00").await;
        assert!(matches!(late, Err(Rejection::Refused(_))), "the day is over by that clock");
        let render = Arc::new(|_: &slotbook::engine::Committed| vec![7]);
        let request = IdempotentRequest {
            scope: [3; 32],
            body: [3; 32],
            share: IdempotencyShare::Pro,
            render,
        };
        let gone =
            Command::CancelAppointment(slotbook::domain::state::command::CancelAppointment {
                id: first.appointments[0],
                right: CancelRight::Pro,
            });
        engine
            .write_idempotent(group(), Author::Visitor, gone, Some(request), None)
            .await
            .expect("live");
        repeated(&engine).await;
        engine.shut_down().await;
        // It is set right, and stepped while the server runs.
        let (engine, clock) = start(&shop, &disk, shop.now.plus_seconds(HOUR)).await;
        repeated(&engine).await;
        clock.step(shop.now.plus_seconds(30 * DAY));
        repeated(&engine).await;
        clock.set(shop.now.plus_seconds(30 * DAY + 22 * HOUR));
        repeated(&engine).await;
        clock.set(shop.now.plus_seconds(31 * DAY));
        let again = book_once(&engine, 1, "Ada", "2026-03-03 09:00").await;
        assert!(matches!(again, Err(Rejection::Refused(_))), "the key is a new one: {again:?}");
    });
}

#[test]
fn an_account_link_works_for_a_day_whatever_the_clock_does() {
    simulated(async {
        let mut shop = Shop::open_on_tuesday();
        shop.knows("Ada", "ada@example.org");
        let disk = SimulatedDisk::new();
        let request = |email: &str| {
            let email = Email::new(email).expect("an address");
            let secret = Some(link_secret());
            let request = LinkRequest::Account { pending_rdv: None, secret };
            Command::RequestLink(Box::new(RequestLink { email, request }))
        };
        let (engine, _) = start(&shop, &disk, shop.now).await;
        let asked = engine
            .write(group(), Author::Visitor, request("ada@example.org"))
            .await
            .expect("known");
        let mailed = asked.group_state.outbox.messages().last().expect("it is mailed");
        let MessageContent::AccountLink { token, .. } = &mailed.content else {
            panic!("a link: {mailed:?}");
        };
        let link = PasswordLink::open(token.as_str(), group(), &link_secret()).expect("a token");
        engine.shut_down().await;
        let password_hash = Some(Text::new("a hash").expect("a text"));
        let follow = || {
            let password_hash = password_hash.clone();
            let signed = Some(link.clone());
            Command::FollowLink(Box::new(FollowLink { hash: [0; 32], signed, password_hash }))
        };
        // Another request, stamped ten days later, removes nothing.
        let (engine, _) = start(&shop, &disk, shop.now.plus_seconds(10 * DAY)).await;
        engine.write(group(), Author::Visitor, request("ada@example.org")).await.expect("known");
        engine.shut_down().await;
        for (now, works) in [(HOUR, true), (DAY - 1, true), (DAY, false)] {
            let (engine, _) = start(&shop, &disk, shop.now.plus_seconds(now)).await;
            let found = engine.published().group_state(group()).expect("the group");
            let account = found.accounts.get("ada@example.org").map(AsRef::as_ref);
            assert_eq!(link.is_valid(account, engine.steady_now()), works, "{now}");
        }
        let (engine, _) = start(&shop, &disk, shop.now.plus_seconds(HOUR)).await;
        engine.write(group(), Author::Visitor, follow()).await.expect("it is valid");
    });
}

#[test]
fn cancelled_bookings_are_emptied_by_the_steady_time() {
    simulated(async {
        let mut shop = Shop::open_on_tuesday();
        let gone = shop.book(&booking_of("gone", "2026-03-03 09:30")).expect("free")[0];
        shop.cancel(gone, CancelRight::Secret(SECRET.into())).expect("in time");
        shop.group_state.sequence = 0;
        let disk = SimulatedDisk::new();
        let wrong = shop.now.plus_seconds(40 * DAY);
        let (engine, clock) = start(&shop, &disk, wrong).await;
        for seconds in [0, HOUR, DAY - 1] {
            clock.set(wrong.plus_seconds(seconds));
            assert_eq!(engine.empty_cancelled(30).await, 0, "after {seconds} s");
        }
        clock.set(wrong.plus_seconds(DAY));
        assert_eq!(engine.empty_cancelled(30).await, 1);
        assert_eq!(engine.empty_cancelled(30).await, 0);
        engine.shut_down().await;
        let state = recovered(&shop, &disk).1;
        assert!(state.fiches.values().all(|fiche| fiche.lastname.is_blank()));
    });
}
