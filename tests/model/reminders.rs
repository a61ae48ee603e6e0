//! Which reminders leave, when, and which do not any more. Reference 12.7, 7.

use slotbook::domain::decisions::announcement;
use slotbook::domain::decisions::delivery;
use slotbook::domain::messaging::planning;
use slotbook::domain::messaging::suppression;
use slotbook::domain::records::channel::Channel;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::Group;
use slotbook::domain::records::ids::{FicheId, VeventId};
use slotbook::domain::records::message::{
    AppointmentTime, LinkPurpose, Message, MessageContent, Progress, SuppressionReason,
};
use slotbook::domain::records::text::{ReminderLead, Text};
use slotbook::domain::records::vevent::{AppointmentKey, Vevent, VeventKind};
use slotbook::domain::state::command::{Command, Patch, Put, RecordChange};
use slotbook::domain::state::delivery_step::{DeliveryOutcome, DeliveryStep, DueItem};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::state::recipient_quota::MessageQuota;

use super::shop::{Draws, Shop, booking_of, civil, event_of, put_event, redrawn};
use slotbook::domain::state::command::{CancelRight, PutVevent};

/// Open on Tuesday; mails leave a day before, text messages an hour before.
pub(super) fn reminding() -> Shop {
    Shop::open_on_tuesday().at("2026-02-27 12:00").with_group(|group| {
        group.mailreminder = ReminderLead::new(1_440).expect("a lead");
        group.smsreminder = ReminderLead::new(60).expect("a lead");
        (group.mail_since, group.sms_since) = (group.created_at, group.created_at);
        (group.mail_since.0, group.sms_since.0) = (0, 0);
    })
}

/// Ada, with an address and a number, on Tuesday at 11.
pub(super) fn booked(shop: &mut Shop) -> VeventId {
    let mut command = booking_of("Ada", "2026-03-03 11:00");
    command
        .client
        .fields
        .push(|fiche| fiche.firstphone = Text::new("06 12 34 56 78").expect("a number"));
    shop.book(&command).expect("free")[0]
}

pub(super) fn times(shop: &Shop, id: VeventId) -> (Option<String>, Option<String>) {
    let zone = shop.group_state.catalogue.zone();
    let row = shop.group_state.rows.get(&id).expect("there");
    let text = |channel| {
        let local =
            zone.civil_of(planning::shown_time(&shop.group_state, zone, row, channel, shop.now)?);
        Some(slotbook::wire::datetime::format_civil(local)[..16].to_owned())
    };
    (text(Channel::Mail), text(Channel::Sms))
}

fn both(mail: &str, sms: &str) -> (Option<String>, Option<String>) {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    (some(mail), some(sms))
}

fn change_group(shop: &mut Shop, set: impl Fn(&mut Group) + Send + Sync + 'static) {
    let mut fields = Patch::default();
    fields.push(set);
    shop.changes(&RecordChange::Group(fields)).expect("legal");
}

fn change_client(shop: &mut Shop, id: VeventId, set: impl Fn(&mut Fiche) + Send + Sync + 'static) {
    let client: FicheId =
        shop.group_state.rows[&id].appointment().expect("an appointment").fiche_id;
    let mut fields = Patch::default();
    fields.push(set);
    shop.changes(&RecordChange::Fiche(Put { id: Some(client), fields })).expect("legal");
}

/// Claims a reminder; the message as it then is, if anything happened.
pub(super) fn claim(shop: &mut Shop, item: DueItem) -> Option<Message> {
    step(
        shop,
        &DeliveryStep::Claim {
            item,
            quota: MessageQuota { recipient_daily_max: 10, by_key_daily_max: 0 },
            has_gateway: true,
        },
    )
}

fn step(shop: &mut Shop, step: &DeliveryStep) -> Option<Message> {
    let event = event_of(&shop.group_state, &Command::Deliver(step.clone()), shop.now)?;
    let put = event.carried().first().unwrap_or(&event);
    let Event::MessagePut { message, .. } = put else { panic!("{event:?}") };
    let last = Message::clone(message);
    shop.carry_out(event);
    Some(last)
}

pub(super) fn settle(
    shop: &mut Shop,
    message: &Message,
    outcome: DeliveryOutcome,
) -> Option<Message> {
    let Progress::Claimed { attempt, .. } = message.progress else { panic!("{message:?}") };
    step(shop, &DeliveryStep::Settle { id: message.id, attempt, outcome })
}

fn deferred() -> DeliveryOutcome {
    DeliveryOutcome::Deferred { reason: Text::new("busy").expect("short"), draw: 0 }
}

#[test]
fn a_reminder_follows_its_appointment() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    assert_eq!(times(&shop, id), both("2026-03-02 11:00", "2026-03-03 10:00"));
    shop.moves(id, 1, "2026-03-03 09:00").expect("free");
    assert_eq!(
        times(&shop, id),
        both("2026-03-02 09:00", "2026-03-02 18:30"),
        "08:00 is night for text messages"
    );
    shop.cancel(id, CancelRight::Pro).expect("live");
    assert_eq!(times(&shop, id), both("", ""));
    let mut shop = shop.at("2026-03-02 10:00");
    shop.restores(id).expect("free");
    assert_eq!(
        times(&shop, id),
        both("", "2026-03-02 18:30"),
        "the mail's time passed while it was cancelled"
    );
}

#[test]
fn what_was_due_before_it_was_wanted_is_not_sent() {
    let mut shop = reminding();
    change_group(&mut shop, |group| group.mailreminder = ReminderLead::default());
    let id = booked(&mut shop);
    assert_eq!(times(&shop, id), both("", "2026-03-03 10:00"));
    let mut shop = shop.at("2026-03-02 12:00");
    change_group(&mut shop, |group| group.mailreminder = ReminderLead::new(1_440).expect("a lead"));
    assert_eq!(times(&shop, id), both("", "2026-03-03 10:00"), "a day before was an hour ago");
    change_group(&mut shop, |group| group.mailreminder = ReminderLead::new(720).expect("a lead"));
    assert_eq!(times(&shop, id), both("2026-03-02 23:00", "2026-03-03 10:00"));
    let mut shop = shop.at("2026-03-03 10:30");
    change_client(&mut shop, id, |fiche| fiche.rappel_sms = false);
    change_client(&mut shop, id, |fiche| fiche.rappel_sms = true);
    assert_eq!(times(&shop, id).1, None, "it was due before the client could be reached again");
}

#[test]
fn other_changes_of_an_appointment_move_no_reminder() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let mut shop = shop.at("2026-03-02 12:00");
    let state = |row: &mut slotbook::domain::records::vevent::Vevent| {
        if let VeventKind::Appointment(appointment) = &mut row.kind {
            appointment.state = slotbook::domain::records::vevent::State::Pending;
        }
    };
    shop.by_hand(&PutVevent::Change(id, redrawn(move |_, row| state(row)))).expect("legal");
    assert_eq!(times(&shop, id), both("2026-03-02 11:00", "2026-03-03 10:00"));
    let message = claim(&mut shop, DueItem::Reminder(id, Channel::Mail))
        .expect("an hour late is not too late");
    assert!(matches!(message.progress, Progress::Claimed { attempt: 1, .. }), "{message:?}");
}

#[test]
fn a_reminder_is_sent_once_and_a_move_asks_for_another() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    assert_eq!(claim(&mut shop, DueItem::Reminder(id, Channel::Mail)), None, "not yet");
    let mut shop = shop.at("2026-03-02 11:00");
    let message = claim(&mut shop, DueItem::Reminder(id, Channel::Mail)).expect("due");
    assert_eq!(message.recipient.as_str(), "ada@example.org");
    settle(&mut shop, &message, DeliveryOutcome::Taken).expect("claimed");
    assert_eq!(settle(&mut shop, &message, DeliveryOutcome::Taken), None, "settled once");
    assert_eq!(claim(&mut shop, DueItem::Reminder(id, Channel::Mail)), None);
    assert_eq!(times(&shop, id).0.as_deref(), Some("2026-03-02 11:00"), "it shows when it left");
    // A clock that was an hour ahead is mended.
    let mut shop = shop.at("2026-03-02 10:00");
    assert_eq!(
        claim(&mut shop, DueItem::Reminder(id, Channel::Mail)),
        None,
        "a start once sent is not sent again"
    );
    shop.moves(id, 1, "2026-03-03 11:30").expect("free");
    let mut shop = shop.at("2026-03-02 11:30");
    assert!(
        claim(&mut shop, DueItem::Reminder(id, Channel::Mail)).is_some(),
        "another start, another reminder"
    );
}

#[test]
fn a_claim_looks_at_the_newest_state() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let mut shop = shop.at("2026-03-02 11:00");
    let message = claim(&mut shop, DueItem::Reminder(id, Channel::Mail)).expect("due");
    let waiting = settle(&mut shop, &message, deferred()).expect("claimed");
    let Progress::Waiting { attempts: 1, not_before, .. } = waiting.progress else {
        panic!("{waiting:?}")
    };
    assert_eq!(not_before.seconds_since(shop.now), 15, "half of thirty seconds at least");
    assert_eq!(claim(&mut shop, DueItem::Message(message.id)), None, "not yet");
    shop.now = not_before;
    type Change = fn(&mut Shop, VeventId);
    let outcomes: [(Change, Option<SuppressionReason>); 6] = [
        (
            |shop, id| assert_eq!(shop.cancel(id, CancelRight::Pro), Ok(true)),
            Some(SuppressionReason::Cancelled),
        ),
        (
            |shop, id| assert_eq!(shop.moves(id, 1, "2026-03-03 09:00"), Ok(true)),
            Some(SuppressionReason::Moved),
        ),
        (
            |shop, id| change_client(shop, id, |fiche| fiche.email = None),
            Some(SuppressionReason::NoRecipient),
        ),
        (
            |shop, id| change_client(shop, id, |fiche| fiche.deleted = true),
            Some(SuppressionReason::NoRecipient),
        ),
        (
            |shop, id| change_client(shop, id, |fiche| fiche.rappel_email = false),
            Some(SuppressionReason::Unwanted),
        ),
        (|_, _| {}, None),
    ];
    for (change, why) in outcomes {
        let mut shop = shop.clone();
        change(&mut shop, id);
        let after =
            claim(&mut shop, DueItem::Message(message.id)).expect("its time has come").progress;
        match why {
            Some(why) => assert_eq!(after, Progress::Suppressed { at: shop.now, why }),
            None => assert_eq!(after, Progress::Claimed { attempt: 2, at: shop.now }),
        }
    }
}

#[test]
fn a_reminder_leaves_while_the_appointment_is_more_than_15_minutes_ahead() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let progress = |shop: &Shop, at: &str| {
        claim(&mut shop.clone().at(at), DueItem::Reminder(id, Channel::Mail))
            .expect("overdue")
            .progress
    };
    assert!(matches!(progress(&shop, "2026-03-03 10:44"), Progress::Claimed { .. }));
    assert!(matches!(progress(&shop, "2026-03-03 10:45"), Progress::Missed { .. }));
    let mut late = shop.clone().at("2026-03-03 10:45");
    claim(&mut late, DueItem::Reminder(id, Channel::Mail)).expect("overdue");
    assert_eq!(times(&late, id).0, None, "nothing will be sent");
    assert_eq!(
        claim(&mut late, DueItem::Reminder(id, Channel::Mail)),
        None,
        "and nothing is said twice"
    );
    // Attempted in time and deferred until it is too late, it failed with what the other side said.
    let mut shop = shop.at("2026-03-03 10:44");
    let message = claim(&mut shop, DueItem::Reminder(id, Channel::Mail)).expect("overdue");
    let mut shop = shop.at("2026-03-03 10:45");
    let failed = settle(&mut shop, &message, deferred()).expect("claimed").progress;
    assert!(
        matches!(&failed, Progress::Failed { reason, .. } if reason.as_str() == "busy"),
        "{failed:?}"
    );
}

#[test]
fn a_text_message_waits_for_the_morning_or_is_dropped() {
    for zone in ["Paris", "Eastern Time (US & Canada)", "Sydney", "Kathmandu"] {
        let mut shop = Shop::in_zone(zone, "2026-03-01 12:00")
            .opened(
                1,
                "2026-03-03 06:00",
                "2026-03-03 12:00",
                "",
                slotbook::domain::records::vevent::Permits::All,
            )
            .with_group(|group| {
                group.smsreminder = ReminderLead::new(60).expect("a lead");
                (group.mail_since.0, group.sms_since.0) = (0, 0);
            });
        let mut book = |start: &str, name: &str| {
            let mut command = booking_of(name, start);
            command
                .client
                .fields
                .push(|fiche| fiche.firstphone = Text::new("0612").expect("a number"));
            shop.book(&command).expect("free")[0]
        };
        let (nine, late) = (book("2026-03-03 09:00", "Ada"), book("2026-03-03 09:30", "Bob"));
        let quarter = book("2026-03-03 11:00", "Cy");
        shop.moves(quarter, 2, "2026-03-03 09:15").expect("free");
        let mut shop = shop.at("2026-03-02 20:00");
        let local = |shop: &Shop, text| shop.group_state.catalogue.zone().instant_of(civil(text));
        let waiting =
            claim(&mut shop, DueItem::Reminder(late, Channel::Sms)).expect("due at 18:30").progress;
        assert!(
            matches!(waiting, Progress::Waiting { not_before, .. } if not_before == local(&shop, "2026-03-03 09:00"))
        );
        let dropped =
            claim(&mut shop, DueItem::Reminder(nine, Channel::Sms)).expect("due at 18:30").progress;
        assert!(
            matches!(dropped, Progress::Missed { .. }),
            "at 09:00 it is not ahead any more: {dropped:?}"
        );
        let mut shop = shop.at("2026-03-03 09:00");
        let claimed = claim(&mut shop, DueItem::Reminder(late, Channel::Sms))
            .expect("it is morning")
            .progress;
        assert!(matches!(claimed, Progress::Claimed { .. }), "{zone}: {claimed:?}");
        let claimed =
            claim(&mut shop, DueItem::Reminder(quarter, Channel::Sms)).expect("overdue").progress;
        assert!(
            matches!(claimed, Progress::Claimed { .. }),
            "{zone}: 09:15 is still ahead: {claimed:?}"
        );
    }
}

#[test]
fn a_claim_without_a_result_is_claimed_again_under_its_own_number() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let mut shop = shop.at("2026-03-02 11:00");
    let first = claim(&mut shop, DueItem::Reminder(id, Channel::Mail)).expect("due");
    let again = claim(&mut shop, DueItem::Message(first.id)).expect("the server ended meanwhile");
    assert_eq!((again.id, again.first_claimed_at), (first.id, first.first_claimed_at));
    assert!(matches!(again.progress, Progress::Claimed { attempt: 2, .. }));
    assert_eq!(
        settle(&mut shop, &first, DeliveryOutcome::Taken),
        None,
        "the first attempt is nobody's any more"
    );
}

#[test]
fn a_confirmation_that_waits_tells_where_its_appointment_was_moved_to() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let standing =
        AppointmentTime::from_vevent(&shop.group_state.rows[&id]).expect("an appointment");
    let message = shop.group_state.outbox.draft(
        0,
        shop.now,
        MessageContent::Confirmation(vec![standing]),
        "ada@example.org",
    );
    waits(&mut shop, &message);
    let first = claim(&mut shop, DueItem::Message(message.id)).expect("it waits");
    let before = shop.group_state.clone();
    shop.moves(id, 1, "2026-03-03 09:30").expect("free");
    let moved = AppointmentTime::from_vevent(&shop.group_state.rows[&id]).expect("an appointment");
    assert_eq!(told(&before, &shop, id).len(), 1, "it may be arriving as it was");
    assert_eq!(suppression::find_suppression_reason(&shop.group_state, &first, shop.now), None);
    assert!(
        delivery::find_reclaim_reason(&before, &shop.group_state, &first, shop.now).is_some(),
        "it would say the old time"
    );
    settle(&mut shop, &first, deferred()).expect("claimed");
    let before = shop.group_state.clone();
    let mut shop = shop.at("2026-02-27 12:05");
    shop.moves(id, 1, "2026-03-03 09:00").expect("free");
    assert!(told(&before, &shop, id).is_empty(), "one mail is enough");
    let again = claim(&mut shop, DueItem::Message(message.id)).expect("it waits");
    let moved = AppointmentTime { start: moved.start.plus_seconds(-1_800), ..moved };
    assert!(matches!(again.progress, Progress::Claimed { attempt: 2, .. }), "{again:?}");
    assert_eq!(again.content, MessageContent::Confirmation(vec![moved]));
    assert_eq!(
        delivery::find_reclaim_reason(&shop.group_state, &shop.group_state, &again, shop.now),
        None
    );
    settle(&mut shop, &again, deferred()).expect("claimed");
    shop.cancel(id, CancelRight::Pro).expect("live");
    let told = claim(&mut shop, DueItem::Message(message.id)).expect("it waits").progress;
    assert_eq!(told, Progress::Suppressed { at: shop.now, why: SuppressionReason::Cancelled });
}

/// A booking by key alone is to be confirmed to somebody.
fn by_key(shop: &mut Shop, id: VeventId, to: &str) -> DueItem {
    let standing =
        AppointmentTime::from_vevent(&shop.group_state.rows[&id]).expect("an appointment");
    let message = shop
        .group_state
        .outbox
        .draft(0, shop.now, MessageContent::Confirmation(vec![standing]), to)
        .caused_by_key();
    waits(shop, &message);
    DueItem::Message(message.id)
}

#[test]
fn what_a_key_alone_causes_takes_half_a_day_at_most_and_links_to_accounts_always_go() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let mut shop = shop.at("2026-03-02 11:00");
    let claim_of = |shop: &mut Shop, daily_max, item| {
        step(
            shop,
            &DeliveryStep::Claim {
                item,
                quota: MessageQuota { recipient_daily_max: daily_max, by_key_daily_max: 0 },
                has_gateway: true,
            },
        )
        .expect("due")
        .progress
    };
    let standing =
        AppointmentTime::from_vevent(&shop.group_state.rows[&id]).expect("an appointment");
    let waiting = |shop: &mut Shop, content| {
        let message = shop.group_state.outbox.draft(0, shop.now, content, "ada@example.org");
        waits(shop, &message);
        DueItem::Message(message.id)
    };
    let too_many = Progress::Suppressed { at: shop.now, why: SuppressionReason::TooMany };
    let leaves = |progress: &Progress| matches!(progress, Progress::Claimed { .. });
    for expected in [true, true, false] {
        let stranger = by_key(&mut shop, id, "ada@example.org");
        let told = claim_of(&mut shop, 4, stranger);
        assert_eq!(leaves(&told), expected, "half of four, and no more: {told:?}");
    }
    let was = shop.now;
    let change = waiting(&mut shop, MessageContent::Change { appointment: standing, was });
    let told = claim_of(&mut shop, 4, change);
    assert!(leaves(&told), "{told:?}");
    let link = || MessageContent::AccountLink {
        purpose: LinkPurpose::Confirm,
        token: Text::new("abc").expect("a text"),
        expires: was.plus_seconds(86_400),
    };
    let first = waiting(&mut shop, link());
    let told = claim_of(&mut shop, 4, first);
    assert!(leaves(&told), "{told:?}");
    assert_eq!(
        claim_of(&mut shop, 4, DueItem::Reminder(id, Channel::Mail)),
        too_many,
        "the link was the fourth"
    );
    assert_eq!(
        claim(&mut shop, DueItem::Reminder(id, Channel::Mail)),
        None,
        "it is not tried again"
    );
    let second = waiting(&mut shop, link());
    let told = claim_of(&mut shop, 4, second);
    assert!(leaves(&told), "links always go: {told:?}");
    let third = waiting(&mut shop, link());
    let told = claim_of(&mut shop, 0, third);
    assert!(leaves(&told), "even where nothing else does: {told:?}");
    let none = waiting(&mut shop, MessageContent::Confirmation(vec![standing]));
    assert_eq!(claim_of(&mut shop, 0, none), too_many);
}

#[test]
fn a_link_that_is_sent_or_refused_leaves_no_token() {
    let mut shop = reminding();
    let mut token_after = |outcome| {
        let content = MessageContent::AccountLink {
            purpose: LinkPurpose::Confirm,
            token: Text::new("abc").expect("a text"),
            expires: shop.now.plus_seconds(86_400),
        };
        let draft = shop.group_state.outbox.draft(0, shop.now, content, "ada@example.org");
        waits(&mut shop, &draft);
        let claimed = claim(&mut shop, DueItem::Message(draft.id)).expect("it waits");
        let settled = settle(&mut shop, &claimed, outcome).expect("claimed");
        let MessageContent::AccountLink { token, .. } = settled.content else {
            panic!("{settled:?}")
        };
        token.as_str().to_owned()
    };
    let refused = DeliveryOutcome::Refused(Text::new("no such mailbox").expect("a text"));
    let expired = DeliveryOutcome::Unwanted(SuppressionReason::Expired);
    let unwanted = DeliveryOutcome::Unwanted(SuppressionReason::NoRecipient);
    for (outcome, kept) in [
        (DeliveryOutcome::Taken, ""),
        (refused, ""),
        (unwanted, ""),
        (deferred(), "abc"),
        // It is open again if the clock was ahead.
        (expired, "abc"),
    ] {
        assert_eq!(token_after(outcome.clone()), kept, "{outcome:?}");
    }
}

#[test]
fn the_day_of_a_recipient_is_any_24_hours_however_the_address_is_spelled() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let claim_of_four = |shop: &mut Shop, item| {
        step(
            shop,
            &DeliveryStep::Claim {
                item,
                quota: MessageQuota { recipient_daily_max: 4, by_key_daily_max: 0 },
                has_gateway: true,
            },
        )
    };
    let spelled = |shop: &mut Shop, email: &'static str| {
        change_client(shop, id, move |fiche| {
            fiche.email =
                Some(slotbook::domain::records::text::Email::new(email).expect("an address"));
        });
        by_key(shop, id, email)
    };
    let mut shop = shop.at("2026-03-01 11:00");
    let first = spelled(&mut shop, "Ada@Example.org");
    let first = claim_of_four(&mut shop, first).expect("it waits");
    settle(&mut shop, &first, DeliveryOutcome::Taken).expect("claimed");
    let mut shop = shop.at("2026-03-02 10:59");
    let second = spelled(&mut shop, "ADA@example.org");
    let second = claim_of_four(&mut shop, second).expect("it waits");
    settle(&mut shop, &second, deferred()).expect("claimed");
    let third = spelled(&mut shop, "ADA@example.org");
    let told = claim_of_four(&mut shop, third).expect("it waits").progress;
    assert_eq!(told, Progress::Suppressed { at: shop.now, why: SuppressionReason::TooMany });
    let mut shop = shop.at("2026-03-02 11:00");
    let again =
        claim_of_four(&mut shop, DueItem::Message(second.id)).expect("its time has come").progress;
    assert!(
        matches!(again, Progress::Claimed { attempt: 2, .. }),
        "another attempt is no other message: {again:?}"
    );
    let fourth = spelled(&mut shop, "ADA@example.org");
    let fourth = claim_of_four(&mut shop, fourth).expect("it waits").progress;
    assert!(matches!(fourth, Progress::Claimed { .. }), "the first was a day ago: {fourth:?}");
}

#[test]
fn a_phone_without_a_digit_is_none_and_the_second_counts() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    change_client(&mut shop, id, |fiche| fiche.firstphone = Text::new("inconnu").expect("a text"));
    assert_eq!(times(&shop, id).1, None, "nothing will be sent");
    change_client(&mut shop, id, |fiche| {
        fiche.secondphone = Text::new("06 98 76 54 32").expect("a number")
    });
    let mut shop = shop.at("2026-03-03 10:00");
    let message = claim(&mut shop, DueItem::Reminder(id, Channel::Sms)).expect("due");
    assert!(message.recipient.as_str().ends_with("698765432"), "{message:?}");
}

#[test]
fn a_text_message_goes_to_a_mobile_where_one_is_known() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    change_group(&mut shop, |group| group.country_code = Text::new("33").expect("a prefix"));
    change_client(&mut shop, id, |fiche| {
        fiche.firstphone = Text::new("04 78 12 34 56").expect("a number");
        fiche.secondphone = Text::new("06.12.34.56.78/0711223344").expect("numbers");
    });
    let mut shop = shop.at("2026-03-03 10:00");
    let message = claim(&mut shop, DueItem::Reminder(id, Channel::Sms)).expect("due");
    assert_eq!(message.recipient.as_str(), "+33612345678");
}

#[test]
fn a_reminder_that_waits_for_another_try_does_not_hold_up_that_of_the_new_start() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let mut shop = shop.at("2026-03-02 11:00");
    let first = claim(&mut shop, DueItem::Reminder(id, Channel::Mail)).expect("due");
    settle(&mut shop, &first, deferred()).expect("claimed");
    shop.moves(id, 1, "2026-03-03 11:30").expect("free");
    let mut shop = shop.at("2026-03-02 11:30");
    // As though the other side had been away for an hour.
    let mut waiting = Message::clone(shop.group_state.outbox.message(first.id).expect("kept"));
    waiting.progress = Progress::Waiting {
        attempts: 3,
        not_before: shop.now.plus_seconds(3_000),
        reason: Text::default(),
    };
    shop.carry_out(Event::MessagePut { at: shop.now, message: Box::new(waiting) });
    let old = claim(&mut shop, DueItem::Reminder(id, Channel::Mail)).expect("it is in the way");
    assert_eq!(
        (old.id, old.progress),
        (first.id, Progress::Suppressed { at: shop.now, why: SuppressionReason::Moved })
    );
    let new = claim(&mut shop, DueItem::Reminder(id, Channel::Mail)).expect("due");
    assert!(matches!(new.progress, Progress::Claimed { attempt: 1, .. }), "{new:?}");
}

/// Messages to the client about a change of an appointment by hand.
fn told(before: &GroupState, shop: &Shop, id: VeventId) -> Vec<Message> {
    let row = Box::new(Vevent::clone(&shop.group_state.rows[&id]));
    announcement::draft_messages(
        before,
        &shop.group_state,
        &put_event(shop.group_state.last_stamp, *row),
        shop.now,
    )
}

#[test]
fn what_is_to_be_said_at_once_does_not_wait_for_a_stamp_that_is_ahead() {
    let mut shop = reminding();
    shop.group_state.last_stamp = shop.now.plus_seconds(7_200);
    let id = booked(&mut shop);
    let row = Box::new(Vevent::clone(&shop.group_state.rows[&id]));
    let moved = shop.group_state.clone();
    shop.cancel(id, CancelRight::Pro).expect("live");
    let messages = told(&moved, &shop, id);
    assert!(messages[0].created_at > shop.now, "stamps never go back");
    let event = put_event(shop.group_state.last_stamp, Vevent { deleted: true, ..*row });
    shop.carry_out(event.announced_by(messages.clone()));
    let message = claim(&mut shop, DueItem::Message(messages[0].id)).expect("due at once");
    assert!(matches!(message.progress, Progress::Claimed { attempt: 1, .. }), "{message:?}");
}

/// A message comes to wait.
pub(super) fn waits(shop: &mut Shop, message: &Message) {
    let at = shop.group_state.stamp_for(shop.now);
    shop.carry_out(Event::MessagePut { at, message: Box::new(message.clone()) });
}

/// Messages when an appointment is given to Bob by hand.
fn given_to_bob(shop: &mut Shop, id: VeventId) -> Vec<Message> {
    let bob = shop.knows("Bob", "bob@example.org");
    let before = shop.group_state.clone();
    let given = redrawn(move |_, row| {
        if let VeventKind::Appointment(appointment) = &mut row.kind {
            appointment.fiche_id = bob;
        }
    });
    let key = AppointmentKey::new("anothersecretof20abc").expect("a key");
    let draws = Draws { key, ..Draws::none(shop.now) };
    shop.does(Command::PutVevent(PutVevent::Change(id, given)), draws).expect("legal");
    told(&before, shop, id)
}

#[test]
fn a_client_who_takes_over_an_appointment_is_told_of_it_and_of_nothing_that_is_past() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let mut shop = shop.at("2026-03-02 12:00");
    let messages = given_to_bob(&mut shop, id);
    assert!(matches!(messages[1].content, MessageContent::Confirmation(_)), "{messages:?}");
    assert_eq!((messages[1].recipient.as_str(), times(&shop, id).0), ("bob@example.org", None));
}

#[test]
fn a_client_whose_appointment_is_given_to_another_is_told_and_has_no_key_to_it_any_more() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let was = shop.group_state.rows[&id].appointment().expect("an appointment").clone();
    let messages = given_to_bob(&mut shop, id);
    let [told, _] = &messages[..] else { panic!("{messages:?}") };
    let MessageContent::Withdrawal(withdrawn) = &told.content else { panic!("{told:?}") };
    assert_eq!((told.recipient.as_str(), told.kind().name()), ("ada@example.org", "cancellation"));
    assert_eq!(
        (withdrawn.client, withdrawn.key, withdrawn.appointment.start),
        (was.fiche_id, was.key, was.start)
    );
    let is = shop.group_state.rows[&id].appointment().expect("an appointment").clone();
    assert_ne!(is.key, was.key);
    let with = |key: AppointmentKey| CancelRight::Secret(key.as_str().to_owned());
    assert!(shop.clone().cancel(id, with(was.key)).is_err(), "the old secret opens nothing");
    assert_eq!(shop.clone().cancel(id, with(is.key)), Ok(true));
    // A change that leaves the client alone leaves the secret alone.
    shop.moves(id, 1, "2026-03-03 11:30").expect("free");
    assert_eq!(shop.group_state.rows[&id].appointment().expect("an appointment").key, is.key);
}

#[test]
fn what_a_former_client_has_not_heard_yet_is_told_to_nobody_else() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let standing =
        AppointmentTime::from_vevent(&shop.group_state.rows[&id]).expect("an appointment");
    let pending = shop.group_state.outbox.draft(
        0,
        shop.now,
        MessageContent::Confirmation(vec![standing]),
        "ada@example.org",
    );
    waits(&mut shop, &pending);
    let mut due = shop.at("2026-03-02 11:00");
    let reminder = claim(&mut due, DueItem::Reminder(id, Channel::Mail)).expect("due");
    settle(&mut due, &reminder, deferred()).expect("claimed");
    let ada = due.group_state.rows[&id].appointment().expect("an appointment").fiche_id;
    let messages = given_to_bob(&mut due, id);
    messages.iter().for_each(|message| waits(&mut due, message));
    let mut shop = due.at("2026-03-02 11:05");
    for id in [pending.id, reminder.id] {
        let told = claim(&mut shop, DueItem::Message(id)).expect("it waits").progress;
        assert_eq!(told, Progress::Suppressed { at: shop.now, why: SuppressionReason::GivenAway });
    }
    let to = |shop: &mut Shop, id| claim(shop, DueItem::Message(id)).expect("it waits").recipient;
    let mut heard = shop.clone();
    assert_eq!(to(&mut heard, messages[0].id).as_str(), "ada@example.org");
    assert_eq!(to(&mut heard, messages[1].id).as_str(), "bob@example.org");
    // Given back before Ada has heard anything, it is hers as it was.
    let back = redrawn(move |_, row| {
        if let VeventKind::Appointment(appointment) = &mut row.kind {
            appointment.fiche_id = ada;
        }
    });
    shop.by_hand(&PutVevent::Change(id, back)).expect("legal");
    let told = claim(&mut shop, DueItem::Message(messages[0].id)).expect("it waits").progress;
    assert_eq!(told, Progress::Suppressed { at: shop.now, why: SuppressionReason::Restored });
}

#[test]
fn who_was_told_of_a_cancellation_is_not_told_again_when_another_gets_the_appointment() {
    let mut shop = reminding();
    let id = booked(&mut shop);
    let bob = shop.knows("Bob", "bob@example.org");
    let given = move |deleted| {
        redrawn(move |_, row: &mut Vevent| {
            row.deleted = deleted;
            if let VeventKind::Appointment(appointment) = &mut row.kind {
                appointment.fiche_id = bob;
            }
        })
    };
    let kinds = |shop: &Shop, before: &GroupState| {
        told(before, shop, id)
            .iter()
            .map(|it| (it.recipient.as_str().to_owned(), it.kind().name()))
            .collect::<Vec<_>>()
    };
    let ada = || ("ada@example.org".to_owned(), "cancellation");
    // Cancelled and given away at once: Bob never had it.
    let mut both = shop.clone();
    both.by_hand(&PutVevent::Change(id, given(true))).expect("legal");
    assert_eq!(kinds(&both, &shop.group_state), [ada()]);
    // Cancelled before, and Ada has heard of it or has nothing to hear: Bob's alone.
    shop.cancel(id, CancelRight::Pro).expect("live");
    let mut after = shop.clone();
    after.by_hand(&PutVevent::Change(id, given(false))).expect("free");
    assert_eq!(kinds(&after, &shop.group_state), [("bob@example.org".to_owned(), "confirmation")]);
    // Cancelled before, and Ada has not heard of it yet: what was to tell her is overtaken.
    let standing =
        AppointmentTime::from_vevent(&shop.group_state.rows[&id]).expect("an appointment");
    let unheard = shop.group_state.outbox.draft(
        0,
        shop.now,
        MessageContent::Cancellation(standing),
        "ada@example.org",
    );
    waits(&mut shop, &unheard);
    let mut after = shop.clone();
    after.by_hand(&PutVevent::Change(id, given(false))).expect("free");
    assert_eq!(
        kinds(&after, &shop.group_state),
        [ada(), ("bob@example.org".to_owned(), "confirmation")]
    );
}
