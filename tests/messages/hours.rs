//! What leaves when: the hours of text messages, and what was due while the server was down.

use slotbook::clock::Clock as _;
use slotbook::domain::messaging::reminder::is_sms_hour;
use slotbook::domain::records::message::{Progress, SuppressionReason};
use slotbook::domain::records::text::ReminderLead;
use slotbook::domain::time::{HOUR, MINUTE};

use slotbook::domain::state::group_state::GroupState;

use super::fake_gateways::Mood;
use super::fixture::{House, phone, progress, settled, until, until_later};

#[test]
fn text_messages_leave_by_day_only_around_every_change_of_clocks() {
    let changes = [
        ("Paris", ["2026-03-28", "2026-10-24"]),
        ("Eastern Time (US & Canada)", ["2026-03-07", "2026-10-31"]),
        ("Sydney", ["2026-04-04", "2026-10-03"]),
        ("Kathmandu", ["2026-03-28", "2026-10-24"]),
    ];
    for (zone, days) in changes {
        for day in days {
            let mut house = House::new(zone, &format!("{day} 00:00"), |group| {
                group.smsreminder = ReminderLead::new(120).expect("a lead");
            });
            let begin = house.clock.now();
            // One an hour for two days and a half.
            for id in 1..=60 {
                house.knows(id, phone);
                let start =
                    begin.plus_seconds(i64::try_from(id).expect("small") * HOUR + 20 * MINUTE);
                house.holds(id, id, start, 10);
            }
            house.post.is(Mood::Busy);
            house.live(async |engine| {
                let none_under_way = |group_state: &GroupState| {
                    !group_state
                        .outbox
                        .open()
                        .any(|message| matches!(message.progress, Progress::Claimed { .. }))
                };
                for quarter in 0..260 {
                    // No attempt is to be begun in one hour and taken in the next.
                    house.post.is(Mood::Busy);
                    until(engine, "attempts end", none_under_way).await;
                    house.clock.set(begin.plus_seconds(quarter * 15 * MINUTE));
                    until(engine, "attempts end", none_under_way).await;
                    // The gateway works one hour in three.
                    house.post.is(if quarter / 4 % 3 == 0 { Mood::Takes } else { Mood::Busy });
                    tokio::time::sleep(std::time::Duration::from_millis(12)).await;
                }
                until(engine, "nothing is open", |group_state| {
                    group_state.outbox.open().count() == 0
                })
                .await;
            });
            let group_state = house.group_state();
            let zone = group_state.catalogue.zone();
            let taken = house.post.taken();
            assert!(
                taken.len() > 10,
                "{} on {day}: {}",
                group_state.catalogue.group.timezone.name(),
                taken.len()
            );
            for text in taken {
                assert!(
                    is_sms_hour(zone.civil_of(text.at)),
                    "{text:?} left at {:?}",
                    zone.civil_of(text.at)
                );
            }
        }
    }
}

#[test]
fn what_was_due_while_the_server_was_down_is_sent_or_missed_item_by_item() {
    // Less than a day before: else the clock would be in doubt, and nothing missed for an hour.
    let mut house = House::new("Paris", "2026-03-02 12:00", |group| {
        group.mailreminder = ReminderLead::new(60).expect("a lead");
        group.smsreminder = ReminderLead::new(60).expect("a lead");
    });
    let starts = [
        "2026-03-03 10:14",
        "2026-03-03 10:15",
        "2026-03-03 10:16",
        "2026-03-03 12:00",
        "2026-03-03 09:50",
    ];
    for (id, start) in (1..).zip(starts) {
        house.knows(id, phone);
        let start = house.local(start);
        house.holds(id, id, start, 5);
    }
    // Down from nine to ten.
    house.at("2026-03-03 10:00");
    house.live(async |engine| {
        until(engine, "all that was due is settled", |group_state| settled(group_state) == 8).await;
    });
    let group_state = house.group_state();
    let missed = |id| matches!(progress(&group_state, id), Progress::Missed { .. });
    let sent = |id| matches!(progress(&group_state, id), Progress::Sent { .. });
    assert!(missed(1) && missed(2), "15 minutes ahead is too late");
    assert!(sent(3), "16 minutes ahead is not");
    assert!(
        group_state
            .outbox
            .messages()
            .all(|message| message.reminder().is_some_and(|(_, it)| it.id.number() != 4))
    );
    assert!(missed(5), "what has begun is nobody's matter any more");
    assert_eq!(house.post.taken().len(), 2, "one mail, one text message");
}

#[test]
fn a_refusal_is_final_and_a_busy_server_is_asked_again() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.mailreminder = ReminderLead::new(60).expect("a lead");
        group.smsreminder = ReminderLead::new(60).expect("a lead");
    });
    house.knows(1, phone);
    let start = house.local("2026-03-03 12:00");
    house.holds(1, 1, start, 30);
    house.at("2026-03-03 11:00");
    house.post.is(Mood::Busy);
    house.live(async |engine| {
        until(engine, "both were tried", |group_state| {
            let tried = |it: &&std::sync::Arc<slotbook::domain::records::message::Message>| {
                matches!(it.progress, Progress::Waiting { attempts: 1, .. })
            };
            group_state.outbox.messages().filter(tried).count() == 2
        })
        .await;
        house.post.is(Mood::Refuses);
        until_later(&house, engine, "both are settled", |group_state| settled(group_state) == 2)
            .await;
        house.post.is(Mood::Takes);
        house.at("2026-03-03 11:40");
    });
    let group_state = house.group_state();
    for message in group_state.outbox.messages() {
        let Progress::Failed { reason, .. } = &message.progress else { panic!("{message:?}") };
        assert!(reason.as_str().contains("550") || reason.as_str().contains("422"), "{reason:?}");
    }
    assert!(house.post.taken().is_empty());
    let none = |why: &SuppressionReason| matches!(why, SuppressionReason::TooMany);
    assert!(
        !group_state
            .outbox
            .messages()
            .any(|it| matches!(&it.progress, Progress::Suppressed { why, .. } if none(why)))
    );
}

#[test]
fn one_hanging_gateway_does_not_hold_up_the_other_channel() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.mailreminder = ReminderLead::new(60).expect("a lead");
    });
    for id in 1..=40 {
        house.knows(id, |_| {});
        let start = house.local("2026-03-03 12:00");
        house.holds(id, id, start, 30);
    }
    house.post.is(Mood::Hangs);
    house.at("2026-03-03 11:00");
    house.live(async |engine| {
        until(engine, "a lane is full", |group_state| group_state.outbox.open().count() >= 16)
            .await;
        // A booking by hand is decided all the same.
        super::fixture::cancel(engine, 40).await;
        house.post.is(Mood::Takes);
        let all = |group_state: &GroupState| {
            group_state.outbox.open().count() == 0 && settled(group_state) >= 39
        };
        until_later(&house, engine, "all are settled", all).await;
    });
    let to_cancelled =
        house.post.taken().iter().filter(|taken| taken.to == "client40@example.org").count();
    let reminders = house.post.taken().iter().filter(|taken| taken.text.contains("Rappel")).count();
    assert_eq!(reminders, 39, "none to whom it was cancelled");
    assert!(to_cancelled <= 1, "but perhaps the cancellation");
}

#[test]
fn a_clock_that_jumps_sends_nothing_twice_and_forgets_nothing() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.mailreminder = ReminderLead::new(60).expect("a lead");
    });
    for (id, start) in [(1, "2026-03-03 12:00"), (2, "2026-03-03 15:00"), (3, "2026-03-12 12:00")] {
        house.knows(id, |_| {});
        let start = house.local(start);
        house.holds(id, id, start, 30);
    }
    house.live(async |engine| {
        house.at("2026-03-03 11:30");
        until(engine, "the first is sent", |group_state| settled(group_state) == 1).await;
        house.at("2026-03-02 09:00");
        tokio::time::sleep(std::time::Duration::from_millis(40)).await;
        house.at("2026-03-03 14:10");
        until(engine, "the second is sent", |group_state| settled(group_state) == 2).await;
        // Nine days at once: beyond all that the queue knew.
        house.at("2026-03-12 11:00");
        until(engine, "the third is sent", |group_state| settled(group_state) == 3).await;
    });
    let taken: Vec<String> = house.post.taken().into_iter().map(|taken| taken.to).collect();
    assert_eq!(taken, ["client1@example.org", "client2@example.org", "client3@example.org"]);
}
