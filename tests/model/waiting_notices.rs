//! The notices about a professional's change while they wait, in the outbox. Reference 7.3.

use slotbook::domain::records::ids::VeventId;
use slotbook::domain::records::message::{Message, MessageContent, Progress, SuppressionReason};
use slotbook::domain::records::text::LongText;
use slotbook::domain::records::vevent::OptionalFields;

use super::notices::{End, Post, some};
use super::shop::{booking_of, by_pro};

/// The messages about the appointment that are open, and the reasons of those that are not wanted.
fn outbox(post: &Post) -> Vec<(u64, &'static str, Option<SuppressionReason>)> {
    let mut rows = Vec::new();
    for message in post.shop.group_state.outbox.messages_about(post.id) {
        let kind = message.kind().name();
        match message.progress {
            Progress::Waiting { .. } => rows.push((message.id.number(), kind, None)),
            Progress::Suppressed { why, .. } => rows.push((message.id.number(), kind, Some(why))),
            _ => {}
        }
    }
    rows
}

fn comments(post: &mut Post, text: &'static str) {
    post.changes(move |row| {
        let comments = LongText::new(text).expect("a text");
        row.rare = Some(Box::new(OptionalFields { comments, ..OptionalFields::default() }));
    });
}

#[test]
fn a_change_that_a_client_does_not_see_causes_no_notice_and_begins_no_wait_anew() {
    let mut post = Post::new(60);
    comments(&mut post, "a window seat");
    assert_eq!(outbox(&post), []);
    post.moves(2, "09:00");
    post.waits(30);
    comments(&mut post, "no window seat");
    post.waits(30);
    post.carry();
    assert_eq!(post.said(), [some("change", "09:00")], "60 seconds after the move");
}

#[test]
fn a_group_without_mails_has_no_notices_that_wait() {
    let mut post = Post::new(60);
    post.shop = post.shop.clone().with_group(|group| group.sendmail = false);
    post.moves(2, "09:00");
    post.cancels();
    assert_eq!(outbox(&post), []);
}

#[test]
fn a_gift_takes_the_place_of_the_notice_of_a_move() {
    let mut post = Post::new(60);
    post.moves(2, "09:00");
    let first = post.shop.group_state.outbox.last_id();
    post.gives_to(post.bob);
    let replaced = Some(SuppressionReason::Replaced);
    let expected = [
        (first, "change", replaced),
        (first + 1, "cancellation", None),
        (first + 2, "confirmation", None),
    ];
    assert_eq!(outbox(&post), expected);
    post.moves(1, "09:30");
    assert_eq!(outbox(&post), expected, "the confirmation tells of that itself");
}

#[test]
fn one_notice_at_most_waits_for_a_client() {
    let mut post = Post::new(60);
    post.moves(2, "09:00");
    let first = post.shop.group_state.outbox.last_id();
    post.cancels();
    post.restores();
    post.moves(1, "09:30");
    assert_eq!(outbox(&post), [(first, "change", None)]);
}

#[test]
fn a_client_whose_own_cancellation_has_not_left_is_told_before_another_gets_the_appointment() {
    let mut post = Post::new(60);
    assert!(post.cancels_by_secret());
    post.gives_to(post.bob);
    post.comes_to_rest();
    assert_eq!(post.said(), [some("withdrawal", "11:00")], "the cancellation would go to Bob");
    assert_eq!(post.arrived[0].to, "ada@example.org");
}

#[test]
fn no_notice_is_about_an_appointment_that_begins_this_second() {
    for (now, early, notices) in [("11:00", 0, 0), ("11:00", 1, 1), ("11:10", 0, 0)] {
        let mut post = Post::new(60);
        post.shop.now = post.local(&format!("2026-03-03 {now}")).plus_seconds(-early);
        post.cancels();
        assert_eq!(outbox(&post).len(), notices, "{now} {early}");
    }
}

#[test]
fn a_move_is_told_if_the_old_or_the_new_start_is_ahead() {
    for (now, start, notices) in [
        ("2026-03-03 11:10", "11:40", 1),
        ("2026-03-03 10:50", "10:00", 1),
        ("2026-03-03 11:10", "10:00", 0),
    ] {
        let mut post = Post::new(60);
        post.shop.now = post.local(now);
        post.moves(2, start);
        assert_eq!(outbox(&post).len(), notices, "{now} {start}");
    }
}

#[test]
fn a_restoration_to_a_start_in_the_past_is_not_told() {
    for (now, notices) in [("2026-03-03 10:59", 1), ("2026-03-03 11:00", 0)] {
        let mut post = Post::new(60);
        post.cancels();
        post.comes_to_rest();
        assert_eq!(post.said(), [some("cancellation", "11:00")]);
        post.shop.now = post.local(now);
        post.restores();
        let waiting = outbox(&post).into_iter().filter(|(.., why)| why.is_none());
        assert_eq!(waiting.count(), notices, "{now}");
    }
}

/// Books for Eve at 10:00. The confirmation is attempted once, and the server is busy.
fn confirming(post: &mut Post) -> VeventId {
    let id = post.shop.book(&booking_of("Eve", "2026-03-03 10:00")).expect("free")[0];
    post.id = id;
    post.claim();
    post.send(End::Busy);
    id
}

#[test]
fn a_confirmation_that_is_attempted_again_tells_of_the_move_itself() {
    let mut post = Post::new(60);
    post.shop.now = post.local("2026-03-02 08:00");
    let id = confirming(&mut post);
    post.moves(2, "09:30");
    assert_eq!(post.shop.group_state.outbox.messages_about(id).count(), 1);
    post.comes_to_rest();
    assert_eq!(post.said(), [some("confirmation", "09:30")]);
}

#[test]
fn a_second_move_by_the_client_takes_the_place_of_the_first_that_has_not_left() {
    let mut post = Post::new(0);
    post.moves(2, "09:00");
    let first = post.shop.group_state.outbox.last_id();
    post.moves(2, "09:30");
    assert_eq!(outbox(&post), [(first, "change", None)]);
    post.carry();
    let eleven = post.local("2026-03-03 11:00");
    let MessageContent::Change { was, .. } = post.arrived[0].content else { panic!("a change") };
    assert_eq!((post.said(), was), (vec![some("change", "09:30")], eleven));
}

#[test]
fn without_a_delay_no_message_is_about_a_change_that_is_not_seen_or_that_is_past() {
    let mut post = Post::new(0);
    comments(&mut post, "a window seat");
    assert_eq!(outbox(&post), []);
    post.shop.now = post.local("2026-03-03 09:30");
    post.moves(2, "09:30");
    assert_eq!(outbox(&post), [], "it begins this second");
    post.cancels();
    assert_eq!(outbox(&post), []);
    let mut post = Post::new(0);
    post.cancels();
    post.carry();
    post.moves(2, "09:30");
    assert_eq!(outbox(&post), [], "it is cancelled, as its client knows");
}

#[test]
fn a_move_of_a_restored_appointment_is_told_as_a_restoration_until_that_was_sent() {
    for (is_sent, expected) in [(false, "restoration"), (true, "change")] {
        let mut post = Post::new(0);
        post.cancels();
        post.carry();
        post.restores();
        if is_sent {
            post.carry();
        }
        post.moves(2, "09:00");
        post.carry();
        assert_eq!(post.said().last(), Some(&some(expected, "09:00")));
    }
}

#[test]
fn a_booking_for_this_second_is_not_confirmed() {
    for (early, messages) in [(0, 0), (1, 1)] {
        let mut post = Post::new(0);
        post.shop.now = post.local("2026-03-03 10:00").plus_seconds(-early);
        let booking = by_pro(booking_of("Eve", "2026-03-03 10:00"), false);
        let id = post.shop.book(&booking).expect("free")[0];
        let caused: Vec<&Message> =
            post.shop.group_state.outbox.messages_about(id).map(AsRef::as_ref).collect();
        assert_eq!(caused.len(), messages, "{caused:?}");
    }
}
