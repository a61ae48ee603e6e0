//! Many at once, and a server that is killed among them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use slotbook::domain::records::message::Progress;
use slotbook::domain::records::text::ReminderLead;
use slotbook::domain::records::vevent::ReminderOutcome;

use super::fake_gateways::Mood;
use super::fixture::{House, progress, settled, until, until_later};

/// How many reminders are due within a minute.
fn how_many() -> u64 {
    if std::env::var_os("SLOTBOOK_LONG").is_some() { 10_000 } else { 300 }
}

#[test]
fn every_reminder_is_delivered_or_final_and_at_most_once_more_for_each_kill() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.mailreminder = ReminderLead::new(1_440).expect("a lead");
    });
    let many = how_many();
    for id in 1..=many {
        house.knows(id, |_| {});
        let start =
            house.local("2026-03-04 10:00").plus_seconds(i64::try_from(id % 60).expect("small"));
        // Those of one calendar come after one another.
        let later = start.plus_seconds(i64::try_from(id / 40).expect("small"));
        house.holds(id, id, later, 1);
    }
    // Too short for the hours they take, so they may not meet: only their times matter here.
    house.post.is_moody(42);
    let every = many / 6;
    let kills = 5_u64;
    for life in 0..=kills {
        let goal = if life == kills { many } else { every * (life + 1) };
        house.at("2026-03-03 10:10");
        house.live(async |engine| {
            let clock = Arc::clone(&house.clock);
            // What is deferred comes again as the clock goes on.
            let tick = tokio::spawn(async move {
                loop {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    let now = slotbook::clock::Clock::now(&*clock);
                    clock.set(now.plus_seconds(10));
                }
            });
            until(engine, "so many are settled", |group_state| settled(group_state) as u64 >= goal)
                .await;
            tick.abort();
        });
    }
    let group_state = house.group_state();
    let mut arrived: BTreeMap<String, usize> = BTreeMap::new();
    for taken in house.post.taken() {
        *arrived.entry(taken.identity).or_default() += 1;
    }
    let identity = |id: u64, at: i64| format!("<slotbook-1-{id}-{at}@shop.example>");
    let mut told = [0_usize; 2];
    for message in group_state.outbox.messages() {
        let copies =
            arrived.get(&identity(message.id.number(), message.created_at.0)).copied().unwrap_or(0);
        match &message.progress {
            Progress::Sent { attempts, .. } => {
                assert!(copies >= 1, "{message:?} was not taken by anybody");
                assert!(
                    copies as u64 <= 1 + kills && copies <= *attempts as usize,
                    "{copies} of {message:?}"
                );
                told[0] += 1;
            }
            Progress::Failed { reason, .. } => {
                assert!(!reason.is_blank(), "{message:?} does not say why");
                told[1] += 1;
            }
            other @ (Progress::Waiting { .. }
            | Progress::Claimed { .. }
            | Progress::Kept { .. }
            | Progress::Missed { .. }
            | Progress::Suppressed { .. }) => panic!("{other:?}"),
        }
    }
    assert_eq!(told[0] + told[1], usize::try_from(many).expect("small"), "each is told of once");
    assert!(told[0] > told[1] && told[1] > 0, "{told:?}");
    let marked = group_state.rows.values().filter_map(|row| row.appointment()).filter(
        |appointment| matches!(appointment.reminders.mail.settled(), ReminderOutcome::Sent(start) if start == appointment.start),
    );
    assert_eq!(marked.count(), told[0]);
    let copies: usize = arrived.values().sum();
    let most = usize::try_from(kills).expect("small") * 32;
    assert!(copies - arrived.len() <= most, "{copies} copies of {} mails", arrived.len());
}

#[test]
fn a_timer_that_a_bug_has_ended_is_started_anew() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.mailreminder = ReminderLead::new(60).expect("a lead");
    });
    for (id, start) in [(1, "2026-03-03 12:00"), (2, "2026-03-03 13:00")] {
        house.knows(id, |_| {});
        let start = house.local(start);
        house.holds(id, id, start, 30);
    }
    house.live(async |engine| {
        house.at("2026-03-03 11:00");
        until(engine, "the first is sent", |group_state| settled(group_state) == 1).await;
        // The timer, and the two that are started after it.
        house.breaks_the_timer(3).await;
        house.at("2026-03-03 12:00");
        until(engine, "the second is sent", |group_state| settled(group_state) == 2).await;
        // It hears of what is booked since.
        super::fixture::cancel(engine, 2).await;
        until(engine, "the cancellation is told", |group_state| settled(group_state) == 3).await;
    });
    assert_eq!(house.post.taken().len(), 3);
}

#[test]
fn what_a_timer_has_begun_is_not_begun_again_beside_it() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.mailreminder = ReminderLead::new(60).expect("a lead");
    });
    house.knows(1, |_| {});
    let start = house.local("2026-03-03 12:00");
    house.holds(1, 1, start, 30);
    house.post.goes_by(|_| VecDeque::from([Mood::Hangs, Mood::Takes]));
    // The timer is to be the next that reads the clock, long before the attempt has ended.
    house.decision_timeout = Duration::from_secs(3);
    house.live(async |engine| {
        house.at("2026-03-03 11:00");
        // The attempt itself reads no clock any more.
        until(engine, "it is being sent", |_| house.post.met().len() == 1).await;
        house.breaks_the_timer(1).await;
        until(engine, "the attempt has ended", |group_state| {
            let ended = |it: &Progress| matches!(it, Progress::Waiting { attempts: 1, .. });
            group_state.outbox.messages().any(|message| ended(&message.progress))
        })
        .await;
        until_later(&house, engine, "it is sent", |group_state| settled(group_state) == 1).await;
    });
    assert_eq!(house.post.taken().len(), 1);
}

#[test]
fn what_was_sent_is_kept_even_where_the_store_takes_no_writes_for_a_while() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.mailreminder = ReminderLead::new(60).expect("a lead");
    });
    house.knows(1, |_| {});
    let start = house.local("2026-03-03 12:00");
    house.holds(1, 1, start, 30);
    house.live(async |engine| {
        let health = Arc::clone(engine.health());
        // The disk runs out of room while the mail is being handed over.
        house.post.goes_by(move |_| {
            health.set_disk_has_room(false);
            VecDeque::from([Mood::Takes])
        });
        house.at("2026-03-03 11:00");
        until(engine, "it is taken", |_| house.post.count() == 1).await;
        // Time for the timer to wake again and again.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let group_state =
            engine.published().group_state(super::fixture::group()).expect("the group");
        assert!(
            matches!(progress(&group_state, 1), Progress::Claimed { attempt: 1, .. }),
            "its result could not be kept yet"
        );
        engine.health().set_disk_has_room(true);
        until(engine, "its result is kept", |group_state| settled(group_state) == 1).await;
    });
    assert!(matches!(progress(&house.group_state(), 1), Progress::Sent { attempts: 1, .. }));
    assert_eq!(house.post.taken().len(), 1, "and nobody has sent it again");
}
