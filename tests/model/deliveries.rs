//! Steps of one message: claims, results, the reasons against it. Reference 7.1, 7.2.

use slotbook::domain::decisions::delivery::{find_reclaim_reason, look_again};
use slotbook::domain::messaging::planning::{
    NoReminder, ReminderPlan, explain_reminder, reminders_due_before,
};
use slotbook::domain::messaging::send_time::earliest_send_time;
use slotbook::domain::messaging::suppression::find_suppression_reason;
use slotbook::domain::records::booking_origin::{BookingOrigin, ClientProof};
use slotbook::domain::records::channel::Channel;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::VerifyBookings;
use slotbook::domain::records::hold::HoldId;
use slotbook::domain::records::ids::VeventId;
use slotbook::domain::records::message::{
    AppointmentTime, Message, MessageContent, Progress, SuppressionReason,
};
use slotbook::domain::records::text::{ReminderLead, Text};
use slotbook::domain::state::command::Command;
use slotbook::domain::state::delivery_step::{DeliveryOutcome, DeliveryStep, DueItem, LatePolicy};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::outbox::Outbox;
use slotbook::domain::state::recipient_quota::MessageQuota;
use slotbook::domain::time::{HOUR, INSTANT_MIN, Instant};

use super::notices::{End, Post};
use super::reminders::{booked, claim, reminding, settle, waits};
use super::shop::{Draws, Shop, booking_of, civil, decide_at_once};

fn local(shop: &Shop, text: &str) -> Instant {
    shop.group_state.catalogue.zone().instant_of(civil(text))
}

fn standing(shop: &Shop, id: VeventId) -> AppointmentTime {
    AppointmentTime::from_vevent(&shop.group_state.rows[&id]).expect("an appointment")
}

/// Settles an attempt under a policy for messages that are too late.
fn settle_late(
    shop: &Shop,
    message: &Message,
    outcome: DeliveryOutcome,
    late: LatePolicy,
) -> Progress {
    let Progress::Claimed { attempt, .. } = message.progress else { panic!("{message:?}") };
    let command = Command::Deliver(DeliveryStep::Settle { id: message.id, attempt, outcome });
    let mut draws = Draws { late, ..Draws::none(shop.now) };
    let decided = decide_at_once(&shop.group_state, &command, &mut draws, shop.now);
    match decided.expect("never refused").0 {
        Some(Event::MessagePut { message, .. }) => message.progress,
        other => panic!("{other:?}"),
    }
}

fn deferred() -> DeliveryOutcome {
    DeliveryOutcome::Deferred { reason: Text::new("busy").expect("short"), draw: 0 }
}

#[test]
fn a_message_that_is_found_too_late_waits_while_the_clock_is_in_doubt() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let mut shop = shop.at("2026-03-02 11:00");
    let message = claim(&mut shop, DueItem::Reminder(id, Channel::Mail)).expect("due");
    for (why, is_of_clock) in [
        (SuppressionReason::Begun, true),
        (SuppressionReason::Expired, true),
        (SuppressionReason::Cancelled, false),
    ] {
        let unwanted = || DeliveryOutcome::Unwanted(why);
        let given_up = Progress::Suppressed { at: shop.now, why };
        assert_eq!(settle_late(&shop, &message, unwanted(), LatePolicy::GiveUp), given_up);
        let settled = settle_late(&shop, &message, unwanted(), LatePolicy::Wait);
        if is_of_clock {
            assert!(matches!(settled, Progress::Waiting { attempts: 1, .. }), "{settled:?}");
        } else {
            assert_eq!(settled, given_up);
        }
    }
}

#[test]
fn a_message_whose_next_attempt_would_be_at_its_deadline_is_given_up() {
    for (early, is_given_up) in [(0, true), (1, false)] {
        let mut shop = reminding();
        let id = booked(&mut shop);
        shop.now = local(&shop, "2026-03-03 10:45").plus_seconds(-15 - early);
        let message = claim(&mut shop, DueItem::Reminder(id, Channel::Mail)).expect("due");
        let settled = settle(&mut shop, &message, deferred()).expect("claimed").progress;
        assert_eq!(matches!(settled, Progress::Failed { .. }), is_given_up, "{settled:?}");
    }
}

#[test]
fn a_message_in_time_is_attempted_while_the_clock_is_in_doubt() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let shop = shop.at("2026-03-02 11:00");
    let command = Command::Deliver(DeliveryStep::Claim {
        item: DueItem::Reminder(id, Channel::Mail),
        quota: MessageQuota { recipient_daily_max: 10, by_key_daily_max: 0 },
        has_gateway: true,
    });
    let mut draws = Draws { late: LatePolicy::Wait, ..Draws::none(shop.now) };
    let decided = decide_at_once(&shop.group_state, &command, &mut draws, shop.now);
    let event = decided.expect("never refused").0.expect("it is due");
    let claimed = shop.group_state.apply(&event).outbox.open_reminder(id, Channel::Mail).cloned();
    let claimed = claimed.expect("it is open").progress.clone();
    assert_eq!(claimed, Progress::Claimed { attempt: 1, at: shop.now });
}

#[test]
fn a_text_message_by_day_leaves_up_to_15_minutes_before_the_appointment() {
    for (now, is_missed) in [("2026-03-03 10:44", false), ("2026-03-03 10:45", true)] {
        let mut shop = reminding();
        let id = booked(&mut shop);
        let mut shop = shop.at(now);
        let message = claim(&mut shop, DueItem::Reminder(id, Channel::Sms)).expect("due");
        let missed = matches!(message.progress, Progress::Missed { .. });
        assert_eq!(missed, is_missed, "{message:?}");
    }
}

#[test]
fn a_claim_of_a_text_message_ends_with_the_sending_hours() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let shop = &mut shop.at("2026-03-03 10:00");
    let message = claim(shop, DueItem::Reminder(id, Channel::Sms)).expect("due");
    let evening = local(shop, "2026-03-02 19:00");
    for (now, ends) in [
        (evening, true),
        (evening.plus_seconds(-1), false),
        (local(shop, "2026-03-03 08:59"), true),
        (local(shop, "2026-03-03 09:00"), false),
    ] {
        let reason = find_reclaim_reason(&shop.group_state, &shop.group_state, &message, now);
        assert_eq!(reason.is_some(), ends, "{reason:?}");
    }
    let again = look_again(&shop.group_state, &shop.group_state, &message, shop.now);
    assert_eq!(again, None);
}

#[test]
fn text_messages_leave_from_nine_to_seven_and_codes_at_once() {
    let shop = Shop::open_on_tuesday();
    let appointment = AppointmentTime { id: VeventId::new(1).expect("an id"), start: shop.now };
    let reminder = |channel| MessageContent::Reminder(channel, appointment);
    let code =
        |channel| MessageContent::BookingCode { channel, hold: HoldId([0; 32]), expires: shop.now };
    let zone = shop.group_state.catalogue.zone();
    let leaves = |content: MessageContent, from: Instant| {
        let message = Outbox::default().draft(0, shop.now, content, "0612345678");
        earliest_send_time(zone, &message, from)
    };
    for (from, until) in [
        ("2026-03-02 00:00", "2026-03-02 09:00"),
        ("2026-03-02 02:00", "2026-03-02 09:00"),
        ("2026-03-02 08:59", "2026-03-02 09:00"),
        ("2026-03-02 09:00", "2026-03-02 09:00"),
        ("2026-03-02 18:59", "2026-03-02 18:59"),
        ("2026-03-02 19:00", "2026-03-03 09:00"),
        ("2026-03-02 23:59", "2026-03-03 09:00"),
    ] {
        let now = local(&shop, from);
        assert_eq!(leaves(reminder(Channel::Sms), now), local(&shop, until), "{from}");
        assert_eq!(leaves(code(Channel::Sms), now), now, "a client waits for it");
        assert_eq!(leaves(code(Channel::Mail), now), now);
        assert_eq!(leaves(reminder(Channel::Mail), now), now);
    }
}

#[test]
fn a_notice_learns_from_a_reminder_that_leaves_and_from_none_that_does_not() {
    for (daily_max, learns) in [(10, true), (0, false)] {
        let mut post = Post::new(600);
        post.shop.now = post.local("2026-03-02 10:29").plus_seconds(30);
        post.moves(1, "10:30");
        post.waits(30);
        let item = DueItem::Reminder(post.id, Channel::Mail);
        let quota = MessageQuota { recipient_daily_max: daily_max, by_key_daily_max: 0 };
        assert!(post.shop.delivers(&DeliveryStep::Claim { item, quota, has_gateway: true }));
        let state = &post.shop.group_state;
        let notice = state.outbox.waiting_notices(post.id, post.ada).next().expect("it waits");
        let known = notice.known.as_ref().expect("it is a notice");
        assert_eq!(known.news.is_some(), learns, "{daily_max}");
    }
}

#[test]
fn what_is_undone_is_not_attempted() {
    let mut post = Post::new(60);
    post.moves(1, "09:00");
    post.moves(1, "11:00");
    post.waits(60);
    post.claim();
    assert_eq!(post.under_way.len(), 0);
    let notice = post.shop.group_state.outbox.messages_about(post.id).last().expect("it is kept");
    let unchanged = Progress::Suppressed { at: post.shop.now, why: SuppressionReason::Unchanged };
    assert_eq!(notice.progress, unchanged);
    // A change that stays is.
    post.moves(1, "09:00");
    post.waits(60);
    post.claim();
    post.send(End::Taken);
    assert_eq!(post.said().len(), 1);
}

#[test]
fn an_attempt_of_a_message_that_is_open_again_counts_unless_the_clock_was_ahead_then() {
    for (ahead, is_kept) in [(-HOUR, true), (0, true), (1, false), (HOUR, false)] {
        let mut shop = reminding();
        let id = booked(&mut shop);
        let content = MessageContent::Confirmation(vec![standing(&shop, id)]);
        let draft = shop.group_state.outbox.draft(0, shop.now, content, "ada@example.org");
        let first = shop.now.plus_seconds(ahead);
        let at = shop.now.plus_seconds(2 * HOUR);
        let progress = Progress::Suppressed { at, why: SuppressionReason::Begun };
        let given_up = Message { progress, first_claimed_at: Some(first), ..draft };
        waits(&mut shop, &given_up);
        let again = claim(&mut shop, DueItem::Message(given_up.id)).expect("it is open again");
        assert!(matches!(again.progress, Progress::Claimed { attempt: 1, .. }), "{again:?}");
        let expected = if is_kept { first } else { shop.now };
        assert_eq!(again.first_claimed_at, Some(expected), "{ahead}");
    }
}

/// Ada's booking on Tuesday at 11:00, with a proof and a number.
fn booked_with(shop: &mut Shop, proof: Option<ClientProof>, phone: &'static str) -> VeventId {
    let mut command = booking_of("Ada", "2026-03-03 11:00");
    command.booking_origin =
        proof.map(|proof| Box::new(BookingOrigin { source: [1; 16], apikey: [2; 16], proof }));
    command.client.fields.push(move |fiche: &mut Fiche| {
        fiche.firstphone = Text::new(phone).expect("a number");
    });
    shop.book(&command).expect("free")[0]
}

#[test]
fn a_reminder_is_caused_by_a_key_if_it_is_the_first_mail_about_a_booking_with_a_key_alone() {
    let key = Some(ClientProof::KeyAlone);
    for (proof, is_confirmed, by_key) in [
        (key, false, true),
        (key, true, false),
        (None, false, false),
        (None, true, false),
        (Some(ClientProof::Account), false, false),
    ] {
        let mut shop = reminding();
        let id = booked_with(&mut shop, proof, "");
        if is_confirmed {
            let content = MessageContent::Confirmation(vec![standing(&shop, id)]);
            let draft = shop.group_state.outbox.draft(0, shop.now, content, "ada@example.org");
            let progress = Progress::Sent { at: shop.now, attempts: 1 };
            let first_claimed_at = Some(shop.now);
            waits(&mut shop, &Message { progress, first_claimed_at, ..draft });
        }
        let mut shop = shop.at("2026-03-02 11:00");
        let reminder = claim(&mut shop, DueItem::Reminder(id, Channel::Mail)).expect("due");
        assert_eq!(reminder.is_by_key(), by_key, "{proof:?} {is_confirmed}");
    }
}

fn explain(shop: &Shop, id: VeventId, channel: Channel) -> ReminderPlan {
    let zone = shop.group_state.catalogue.zone();
    explain_reminder(&shop.group_state, zone, &shop.group_state.rows[&id], channel, shop.now)
}

#[test]
fn the_reason_why_no_reminder_comes_is_that_of_the_client() {
    type Change = fn(&mut Fiche);
    let cases: [(Change, NoReminder); 3] = [
        (|fiche| fiche.rappel_email = false, NoReminder::Declined),
        (|fiche| fiche.email = None, NoReminder::NoAddress),
        (|fiche| fiche.deleted = true, NoReminder::ClientDeleted),
    ];
    for (change, reason) in cases {
        let mut shop = reminding();
        let id = booked(&mut shop);
        let due = local(&shop, "2026-03-02 11:00");
        assert_eq!(explain(&shop, id, Channel::Mail), ReminderPlan::Due(due));
        let client = shop.group_state.rows[&id].fiche_id().expect("an appointment");
        let mut fiche = Fiche::clone(&shop.group_state.fiches[&client]);
        change(&mut fiche);
        shop.group_state.put_fiche(fiche.into());
        assert_eq!(explain(&shop, id, Channel::Mail), ReminderPlan::Unplanned(reason));
    }
}

#[test]
fn a_reminder_that_was_due_before_its_appointment_was_made_is_not_planned() {
    for (late, plan) in [(0, None), (1, Some(ReminderPlan::Unplanned(NoReminder::DueBefore)))] {
        let mut shop = reminding();
        let due = local(&shop, "2026-03-02 11:00");
        shop.now = due.plus_seconds(late);
        let id = booked(&mut shop);
        let expected = plan.unwrap_or(ReminderPlan::Due(due));
        assert_eq!(explain(&shop, id, Channel::Mail), expected, "{late}");
    }
}

#[test]
fn a_reminder_is_due_before_a_time_after_its_own() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let due = local(&shop, "2026-03-02 11:00");
    for (until, planned) in [(due, 0), (due.plus_seconds(1), 1)] {
        let found = reminders_due_before(&shop.group_state, shop.now, until);
        let mails = found.filter(|it| (it.appointment, it.channel) == (id, Channel::Mail));
        assert_eq!(mails.count(), planned);
    }
}

#[test]
fn a_booking_with_a_key_has_text_messages_to_the_countries_of_the_group_only() {
    let foreign = ReminderPlan::Unplanned(NoReminder::ForeignCountry);
    for (proof, phone, is_texted) in [
        (Some(ClientProof::KeyAlone), "06 12 34 56 78", true),
        (Some(ClientProof::KeyAlone), "+49 171 1234567", false),
        (Some(ClientProof::TextedCode), "+49 171 1234567", false),
        (Some(ClientProof::Account), "+49 171 1234567", true),
        (None, "+49 171 1234567", true),
    ] {
        let mut shop =
            reminding().with_group(|group| group.country_code = Text::new("33").expect("a prefix"));
        let id = booked_with(&mut shop, proof, phone);
        let due = ReminderPlan::Due(local(&shop, "2026-03-03 10:00"));
        let expected = if is_texted { due } else { foreign };
        assert_eq!(explain(&shop, id, Channel::Sms), expected, "{proof:?} {phone}");
    }
}

#[test]
fn a_code_is_wanted_while_its_booking_waits_for_it() {
    let mut shop =
        Shop::open_on_tuesday().with_group(|group| group.verify_bookings = VerifyBookings::Mail);
    shop.announces = true;
    let hold = shop.book_until_code(&booking_of("Ada", "2026-03-03 09:30")).expect("it is free");
    let message = Message::clone(shop.group_state.outbox.messages().next().expect("its code"));
    let MessageContent::BookingCode { expires, .. } = message.content else {
        panic!("{message:?}")
    };
    let expired = Some(SuppressionReason::Expired);
    let reason = |shop: &Shop, now| find_suppression_reason(&shop.group_state, &message, now);
    assert_eq!(reason(&shop, shop.now), None);
    assert_eq!(reason(&shop, expires.plus_seconds(-1)), None);
    assert_eq!(reason(&shop, expires), expired);
    assert_eq!(reason(&shop, expires.plus_seconds(1)), expired);
    let mut released = shop.clone();
    assert!(released.releases(hold));
    assert_eq!(reason(&released, shop.now), expired);
    shop.confirms(hold, true).expect("the code is right");
    assert_eq!(reason(&shop, shop.now), expired);
}

#[test]
fn a_notice_about_an_appointment_that_is_another_s_by_now_is_not_sent() {
    let mut post = Post::new(60);
    post.moves(1, "09:00");
    let state = &post.shop.group_state;
    let notice = state.outbox.waiting_notices(post.id, post.ada).next().expect("it waits").clone();
    let now = post.shop.now;
    let reason = |post: &Post| find_suppression_reason(&post.shop.group_state, &notice, now);
    assert_eq!(reason(&post), None);
    post.gives_to(post.bob);
    assert_eq!(reason(&post), Some(SuppressionReason::GivenAway));
}

#[test]
fn a_reminder_that_is_not_due_any_more_is_not_sent() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let mut shop = shop.at("2026-03-02 11:00");
    let message = claim(&mut shop, DueItem::Reminder(id, Channel::Mail)).expect("due");
    let reason = |shop: &Shop| find_suppression_reason(&shop.group_state, &message, shop.now);
    assert_eq!(reason(&shop), None);
    for (minutes, why) in [(1_439, Some(SuppressionReason::Moved)), (1_440, None), (1_441, None)] {
        let lead = ReminderLead::new(minutes).expect("a lead");
        let changed = shop.clone().with_group(|group| group.mailreminder = lead);
        assert_eq!(reason(&changed), why, "{minutes}");
    }
}

#[test]
fn a_message_that_waits_by_a_clock_far_ahead_is_attempted_now() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let content = MessageContent::Confirmation(vec![standing(&shop, id)]);
    for (ahead, is_attempted) in [(0, true), (1, false), (86_400, false), (86_401, true)] {
        let mut shop = shop.clone();
        let draft = shop.group_state.outbox.draft(0, shop.now, content.clone(), "ada@example.org");
        let not_before = if ahead == 0 { INSTANT_MIN } else { shop.now.plus_seconds(ahead) };
        let reason = Text::default();
        let progress = Progress::Waiting { attempts: 1, not_before, reason };
        waits(&mut shop, &Message { progress, ..draft.clone() });
        let claimed = claim(&mut shop, DueItem::Message(draft.id));
        assert_eq!(claimed.is_some(), is_attempted, "{ahead}");
    }
}
