//! No attempt begins after the answer to a cancel.

use slotbook::domain::records::message::{Progress, SuppressionReason};
use slotbook::domain::records::text::ReminderLead;

use super::fake_gateways::Mood;
use super::fixture::{House, cancel, group, until};

#[test]
fn nothing_leaves_for_an_appointment_after_its_cancel_was_answered() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.mailreminder = ReminderLead::new(60).expect("a lead");
        group.sendmail = false;
    });
    for id in 1..=60 {
        house.knows(id, |_| {});
        let start = house.local("2026-03-03 12:00");
        house.holds(id, id, start, 30);
    }
    house.at("2026-03-03 11:00");
    let before = house.live(async |engine| {
        let mut before = Vec::new();
        for id in (1..=60).step_by(3) {
            cancel(engine, id).await;
            // What has begun before the answer may still arrive.
            let group_state = engine.published().group_state(group()).expect("the group");
            let begun = group_state.outbox.messages().any(|message| {
                message.reminder().is_some_and(|(_, standing)| standing.id.number() == id)
                    && message.first_claimed_at.is_some()
            });
            before.push((id, begun));
        }
        until(engine, "all are settled", |group_state| {
            group_state.outbox.open().count() == 0 && group_state.outbox.messages().len() >= 40
        })
        .await;
        before
    });
    let taken = house.post.taken();
    for (id, begun) in before {
        let arrived = taken.iter().any(|it| it.to == format!("client{id}@example.org"));
        assert!(begun || !arrived, "{id} was cancelled before anything began");
    }
    assert!(taken.len() >= 40);
}

#[test]
fn a_message_that_waits_for_another_attempt_is_not_sent_after_a_cancel() {
    let mut house = House::new("Paris", "2026-03-02 08:00", |group| {
        group.mailreminder = ReminderLead::new(60).expect("a lead");
        group.sendmail = false;
    });
    house.knows(1, |_| {});
    let start = house.local("2026-03-03 12:00");
    house.holds(1, 1, start, 30);
    house.at("2026-03-03 11:00");
    house.post.is(Mood::Busy);
    house.live(async |engine| {
        until(engine, "it was tried", |group_state| {
            group_state.outbox.messages().any(|it| matches!(it.progress, Progress::Waiting { attempts: 1, .. }))
        })
        .await;
        cancel(engine, 1).await;
        house.post.is(Mood::Takes);
        house.at("2026-03-03 11:05");
        until(engine, "it is suppressed", |group_state| {
            let cancelled =
                |it: &Progress| matches!(it, Progress::Suppressed { why, .. } if matches!(why, SuppressionReason::Cancelled));
            group_state.outbox.messages().any(|it| cancelled(&it.progress))
        })
        .await;
    });
    assert!(house.post.taken().is_empty());
}
