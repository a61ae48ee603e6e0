use super::*;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId};
use crate::domain::records::message::{
    AppointmentTime, LinkPurpose, SuppressionReason, WithdrawnAppointment,
};
use crate::domain::records::vevent::AppointmentKey;

fn link(outbox: &Outbox, at: i64) -> Message {
    let token = Text::new("abc").expect("a text");
    let content = MessageContent::AccountLink {
        purpose: LinkPurpose::Confirm,
        token,
        expires: Instant(at + DAY),
    };
    outbox.draft(0, Instant(at), content, "a@example.org")
}

const fn quota(recipient_daily_max: usize, by_key_daily_max: usize) -> MessageQuota {
    MessageQuota { recipient_daily_max, by_key_daily_max }
}

#[test]
fn a_settled_message_is_removed_after_90_days_and_its_id_is_not_used_again() {
    let mut outbox = Outbox::default();
    let first = link(&outbox, 0);
    outbox.put(first.clone().into(), Instant(0));
    let sent = Progress::Sent { at: Instant(5), attempts: 1 };
    outbox.put(
        Message { progress: sent, first_claimed_at: Some(Instant(4)), ..first }.into(),
        Instant(5),
    );
    assert_eq!((outbox.open().count(), outbox.messages().len()), (0, 1));
    let late = 5 + 90 * DAY;
    let second = link(&outbox, late - 1);
    outbox.put(second.into(), Instant(late - 1));
    assert_eq!(outbox.messages().len(), 2, "not a second too early");
    let third = link(&outbox, late);
    outbox.put(third.into(), Instant(late));
    assert_eq!(outbox.messages().map(|message| message.id.number()).collect::<Vec<_>>(), [2, 3]);
    let next =
        outbox.draft(0, Instant(late), MessageContent::Confirmation(Vec::new()), "a@example.org");
    assert!(outbox.has_room_for(&next, quota(1, 0), Instant(0)), "its attempt is removed with it");
}

#[test]
fn links_to_new_accounts_stop_at_half_of_the_maximum_and_those_for_a_password_do_not() {
    let mut outbox = Outbox::default();
    for at in [10, 20] {
        let draft = link(&outbox, at);
        outbox.put(Message { first_claimed_at: Some(Instant(at)), ..draft }.into(), Instant(at));
    }
    let new_account = link(&outbox, 30);
    let has_room = |message: &Message, most: usize, since: i64| {
        outbox.has_room_for(message, quota(0, most), Instant(since))
    };
    assert!(!has_room(&new_account, 4, 0) && has_room(&new_account, 5, 0), "half, rounded up");
    assert!(has_room(&new_account, 4, 11), "the first is older");
    let mut new_password = new_account;
    if let MessageContent::AccountLink { purpose, .. } = &mut new_password.content {
        *purpose = LinkPurpose::NewPassword;
    }
    assert!(has_room(&new_password, 2, 0));
    let content = MessageContent::Confirmation(Vec::new());
    let booking = outbox.draft(0, Instant(30), content, "b@example.org").caused_by_key();
    assert!(!outbox.has_room_for(&booking, quota(9, 1), Instant(0)), "links count with the others");
    assert!(outbox.has_room_for(&booking, quota(9, 2), Instant(0)), "up to half of the maximum");
}

#[test]
fn no_more_links_to_new_accounts_wait_than_may_leave_within_a_day() {
    let mut outbox = Outbox::default();
    let now = Instant(2 * DAY);
    let attempted = link(&outbox, now.0);
    let claimed = now.plus_seconds(1 - DAY);
    outbox.put(Message { first_claimed_at: Some(claimed), ..attempted }.into(), now);
    outbox.put(link(&outbox, now.0).into(), now);
    let room = |most: usize, now| outbox.has_room_for_new_link(most, now);
    assert!(!room(4, now) && room(5, now), "half of them, rounded up");
    assert!(room(0, now), "0 is no limit");
    assert!(room(4, now.plus_seconds(1)), "the attempt is a day old");
}

#[test]
fn a_link_that_was_given_up_is_forgotten_after_a_day_and_counts_until_then() {
    let mut outbox = Outbox::default();
    let waiting = link(&outbox, 0);
    outbox.put(waiting.clone().into(), Instant(0));
    let bytes = outbox.link_bytes();
    assert_eq!(bytes, message_bytes(&waiting));
    let why = SuppressionReason::Expired;
    let given_up = Progress::Suppressed { at: Instant(DAY), why };
    let given_up = Message { progress: given_up, ..waiting };
    outbox.put(given_up.clone().into(), Instant(DAY));
    let other = |outbox: &Outbox| {
        outbox.draft(0, Instant(0), MessageContent::Confirmation(Vec::new()), "b@example.org")
    };
    outbox.put(other(&outbox).into(), Instant(2 * DAY - 1));
    assert_eq!((outbox.link_bytes(), outbox.message(given_up.id)), (bytes, Some(&given_up.into())));
    let before = outbox.space_bytes();
    let another = other(&outbox);
    let added = message_bytes(&another);
    outbox.put(another.into(), Instant(2 * DAY));
    assert_eq!((outbox.link_bytes(), outbox.space_bytes()), (0, before + added - 3));
    let rebuilt = Outbox::from_messages(outbox.messages().cloned().collect(), outbox.last_id());
    assert_eq!((rebuilt.link_bytes(), rebuilt.space_bytes()), (0, outbox.space_bytes()));
}

#[test]
fn a_recipient_has_room_for_the_daily_maximum_and_for_half_of_it_from_the_public() {
    let mut outbox = Outbox::default();
    let by_key = |draft: Message| draft.caused_by_key();
    let trusted = |draft: Message| draft;
    let trusted_at = [25, 40];
    for at in [10, 20, 25, 30, 40] {
        let caused = if trusted_at.contains(&at) { trusted } else { by_key };
        let content = MessageContent::Confirmation(Vec::new());
        let draft = caused(outbox.draft(0, Instant(at), content, "a@example.org"));
        outbox.put(Message { first_claimed_at: Some(Instant(at)), ..draft }.into(), Instant(at));
    }
    let claimed = Message { first_claimed_at: Some(Instant(50)), ..link(&outbox, 50) };
    outbox.put(claimed.clone().into(), Instant(50));
    // The smallest daily maximum that leaves room.
    let least = |caused: fn(Message) -> Message, to: &str, since: i64| {
        let content = MessageContent::Confirmation(Vec::new());
        let message = caused(outbox.draft(0, Instant(60), content, to));
        (0..20)
            .find(|most| outbox.has_room_for(&message, quota(*most, 0), Instant(since)))
            .expect("20 are enough")
    };
    assert_eq!(
        [10, 11, 25, 26, 51].map(|since| least(trusted, "a@example.org", since)),
        [7, 6, 5, 4, 1]
    );
    assert_eq!(
        [10, 11, 26, 31, 51].map(|since| least(by_key, "a@example.org", since)),
        [9, 7, 5, 3, 1]
    );
    assert_eq!(least(trusted, "A@Example.org", 10), 7, "another spelling is the same mailbox");
    assert_eq!(least(trusted, "b@example.org", 0), 1);
    assert!(claimed.ignores_quota() && outbox.has_room_for(&claimed, quota(0, 0), Instant(0)));
}

#[test]
fn a_group_has_room_for_the_daily_maximum_of_messages_caused_with_a_key_alone() {
    let mut outbox = Outbox::default();
    let draft = |outbox: &Outbox, to: &str| {
        outbox.draft(0, Instant(0), MessageContent::Confirmation(Vec::new()), to)
    };
    for number in 0..5 {
        let message = draft(&outbox, &format!("c{number}@example.org")).caused_by_key();
        assert!(outbox.has_room_for(&message, quota(9, 5), Instant(0)));
        let claimed = Message { first_claimed_at: Some(Instant(number)), ..message };
        outbox.put(claimed.into(), Instant(number));
    }
    let sixth = draft(&outbox, "other@example.org").caused_by_key();
    assert!(!outbox.has_room_for(&sixth, quota(9, 5), Instant(0)));
    assert!(outbox.has_room_for(&sixth, quota(9, 5), Instant(1)), "the first is a day old");
    assert!(outbox.has_room_for(&sixth, quota(9, 0), Instant(0)), "0 is no limit");
    let trusted = draft(&outbox, "other@example.org");
    assert!(outbox.has_room_for(&trusted, quota(9, 5), Instant(0)));
}

#[test]
fn a_booking_is_known_to_its_client_once_a_confirmation_has_left() {
    let id = VeventId::new(9).expect("an id");
    let standing = AppointmentTime { id, start: Instant(500) };
    let confirmed = |progress: Option<Progress>, now: i64| {
        let mut outbox = Outbox::default();
        if let Some(progress) = progress {
            let content = MessageContent::Confirmation(vec![standing]);
            let draft = outbox.draft(0, Instant(0), content, "a@example.org").caused_by_key();
            outbox.put(Message { progress, ..draft }.into(), Instant(0));
        }
        outbox.is_confirmed(id, Instant(0), Instant(now))
    };
    let at = Instant(1);
    assert!(confirmed(Some(Progress::Sent { at, attempts: 1 }), 10));
    assert!(confirmed(Some(Progress::Claimed { at, attempt: 1 }), 10), "it may have arrived");
    let why = SuppressionReason::TooMany;
    assert!(!confirmed(Some(Progress::Suppressed { at, why }), 10));
    assert!(!confirmed(None, 90 * DAY - 1));
    assert!(confirmed(None, 90 * DAY), "a message that old has been removed");
}

#[test]
fn a_message_from_before_a_withdrawal_is_recognised_until_the_withdrawal_is_removed() {
    let mut outbox = Outbox::default();
    let id = VeventId::new(9).expect("an id");
    let before = link(&outbox, 0);
    outbox.put(before.clone().into(), Instant(0));
    let withdrawn = WithdrawnAppointment {
        appointment: AppointmentTime { id, start: Instant(900) },
        length_seconds: 1_800,
        client: FicheId::new(1).expect("an id"),
        calendar: CalendarId::new(1).expect("an id"),
        intervention: InterventionId::new(1).expect("an id"),
        key: AppointmentKey::new("abcdefghijklmnopqrst").expect("a key"),
    };
    let withdrawal = outbox.draft(
        0,
        Instant(1),
        MessageContent::Withdrawal(Box::new(withdrawn)),
        "a@example.org",
    );
    outbox.put(withdrawal.clone().into(), Instant(1));
    for state in [
        outbox.clone(),
        Outbox::from_messages(outbox.messages().cloned().collect(), outbox.last_id()),
    ] {
        assert!(
            state.is_withdrawn_since(id, before.id) && !state.is_withdrawn_since(id, withdrawal.id)
        );
    }
    let sent = Message { progress: Progress::Sent { at: Instant(5), attempts: 1 }, ..withdrawal };
    outbox.put(sent.into(), Instant(5));
    assert!(outbox.is_withdrawn_since(id, before.id), "a settled one still counts");
}

#[test]
fn an_outbox_built_from_its_messages_has_the_same_indexes() {
    let mut outbox = Outbox::default();
    let id = VeventId::new(9).expect("an id");
    let appointment = AppointmentTime { id, start: Instant(900) };
    let reminder = outbox.draft(
        0,
        Instant(1),
        MessageContent::Reminder(Channel::Sms, appointment),
        "+33600000000",
    );
    outbox.put(reminder.into(), Instant(1));
    let again = Outbox::from_messages(outbox.messages().cloned().collect(), outbox.last_id());
    assert_eq!(again.open_reminder(id, Channel::Sms), outbox.open_reminder(id, Channel::Sms));
    assert!(
        again.open_reminder(id, Channel::Sms).is_some()
            && again.open_reminder(id, Channel::Mail).is_none()
    );
    assert_eq!(link(&again, 2).id, link(&outbox, 2).id);
}

#[test]
fn a_change_takes_the_place_of_one_that_has_not_left() {
    let id = VeventId::new(9).expect("an id");
    let change = |outbox: &Outbox, at: i64, start: i64, was: i64| {
        let appointment = AppointmentTime { id, start: Instant(start) };
        let content = MessageContent::Change { appointment, was: Instant(was) };
        outbox.draft(0, Instant(at), content, "a@example.org").caused_by_key()
    };
    let at = Instant(20);
    let why = SuppressionReason::TooMany;
    let waiting =
        |attempts| Progress::Waiting { attempts, not_before: INSTANT_MIN, reason: Text::default() };
    for (progress, later, is_replaced) in [
        (waiting(0), 30, true),
        (waiting(0), 10 + DAY, false),
        (waiting(1), 30, false),
        (Progress::Kept { at }, 30, true),
        (Progress::Suppressed { at, why }, 30, true),
        (Progress::Claimed { attempt: 1, at }, 30, false),
        (Progress::Sent { at, attempts: 1 }, 30, false),
        (Progress::Failed { at, reason: Text::default() }, 30, false),
    ] {
        let mut outbox = Outbox::default();
        let first = Message { progress: progress.clone(), ..change(&outbox, 10, 500, 400) };
        outbox.put(first.into(), Instant(10));
        let second = outbox.replace_unsent_change(change(&outbox, later, 600, 500));
        assert!(second.is_by_key());
        let MessageContent::Change { appointment, was } = second.content else {
            panic!("{second:?}")
        };
        let expected = if is_replaced { (1, 10, 400) } else { (2, later, 500) };
        let found = (second.id.number(), second.created_at.0, was.0);
        assert_eq!((found, appointment.start), (expected, Instant(600)), "{progress:?}");
        let of_account = MessageContent::Change { appointment, was };
        let trusted = outbox.draft(0, Instant(30), of_account, "a@example.org");
        assert_eq!(outbox.replace_unsent_change(trusted).id.number(), 2, "of another cause");
    }
}

/// An outbox with messages about an appointment, each with its progress.
fn outbox_about(id: VeventId, messages: &[(MessageContent, Progress, bool)]) -> Outbox {
    let mut outbox = Outbox::default();
    for (content, progress, by_key) in messages {
        let draft = outbox.draft(0, Instant(10), content.clone(), "a@example.org");
        let draft = if *by_key { draft.caused_by_key() } else { draft };
        outbox.put(Message { progress: progress.clone(), ..draft }.into(), Instant(10));
        assert_eq!(outbox.messages_about(id).count(), outbox.messages().len());
    }
    outbox
}

#[test]
fn a_mail_has_left_unless_the_server_keeps_it_and_is_withheld_by_a_quota_only() {
    let id = VeventId::new(9).expect("an id");
    let standing = AppointmentTime { id, start: Instant(500) };
    let confirmation = MessageContent::Confirmation(vec![standing]);
    let cancellation = MessageContent::Cancellation(standing);
    let at = Instant(20);
    let sent = Progress::Sent { at, attempts: 1 };
    let many = Progress::Suppressed { at, why: SuppressionReason::TooMany };
    let expired = Progress::Suppressed { at, why: SuppressionReason::Expired };
    for (messages, is_mailed_about, is_withheld) in [
        (vec![], false, false),
        (vec![(confirmation.clone(), sent.clone(), true)], true, false),
        (vec![(confirmation.clone(), Progress::Claimed { attempt: 1, at }, true)], true, false),
        (vec![(confirmation.clone(), Progress::Kept { at }, true)], false, false),
        (vec![(confirmation.clone(), many.clone(), true)], false, true),
        (vec![(confirmation.clone(), many.clone(), false)], false, false),
        (vec![(confirmation.clone(), expired, true)], false, false),
        (vec![(cancellation, sent.clone(), true)], false, false),
        // Sent at last, or before: the client knows.
        (
            vec![(confirmation.clone(), many.clone(), true), (confirmation.clone(), sent, true)],
            true,
            false,
        ),
        (
            vec![(confirmation.clone(), many.clone(), true), (confirmation, many, false)],
            false,
            true,
        ),
    ] {
        let outbox = outbox_about(id, &messages);
        let is_mailed = |now| outbox.is_mailed_about(id, Instant(0), Instant(now));
        assert_eq!(is_mailed(90 * DAY - 1), is_mailed_about, "{messages:?}");
        assert!(is_mailed(90 * DAY), "an older booking counts as mailed about");
        assert_eq!(outbox.is_withheld(id), is_withheld, "{messages:?}");
    }
}

#[test]
fn a_change_tells_of_the_start_that_the_client_knew_last() {
    let id = VeventId::new(9).expect("an id");
    let standing = |start| AppointmentTime { id, start: Instant(start) };
    let confirmation = |start| MessageContent::Confirmation(vec![standing(start)]);
    let change =
        |start, was| MessageContent::Change { appointment: standing(start), was: Instant(was) };
    let withdrawn = MessageContent::Withdrawal(Box::new(WithdrawnAppointment {
        appointment: standing(100),
        length_seconds: 1_800,
        client: FicheId::new(1).expect("an id"),
        calendar: CalendarId::new(1).expect("an id"),
        intervention: InterventionId::new(1).expect("an id"),
        key: AppointmentKey::new("abcdefghijklmnopqrst").expect("a key"),
    }));
    let at = Instant(20);
    let sent = || Progress::Sent { at, attempts: 1 };
    let failed = || Progress::Failed { at, reason: Text::default() };
    // The messages before, of a change from 400; and the start that was notified last.
    for (messages, start) in [
        (vec![], 400),
        (vec![(confirmation(300), sent(), false)], 300),
        (vec![(confirmation(300), Progress::Kept { at }, false)], 300),
        (vec![(confirmation(300), failed(), false)], 400),
        (vec![(confirmation(100), sent(), false), (change(200, 100), failed(), false)], 100),
        (vec![(change(200, 100), failed(), false), (change(300, 200), failed(), false)], 100),
        (vec![(confirmation(100), sent(), false), (change(200, 100), sent(), false)], 200),
        // What another client heard does not count.
        (vec![(confirmation(100), sent(), false), (withdrawn, sent(), false)], 400),
    ] {
        let outbox = outbox_about(id, &messages);
        let next = outbox.draft(0, at, change(500, 400), "a@example.org").id;
        let known = outbox.last_notified_start(next, id, Instant(400));
        assert_eq!(known, Instant(start), "{messages:?}");
        let first = MessageId::new(1).expect("an id");
        assert_eq!(outbox.last_notified_start(first, id, Instant(400)), Instant(400));
    }
}

#[test]
fn the_last_warning_of_each_kind_is_known() {
    let mut outbox = Outbox::default();
    for (at, warning) in [
        (5, ShopWarning::CodesHalfUsed),
        (10, ShopWarning::CodesAsked),
        (20, ShopWarning::CodesAsked),
    ] {
        let content = MessageContent::ShopWarning(warning);
        let message = outbox.draft(0, Instant(at), content, "a@example.org");
        outbox.put(message.into(), Instant(at));
    }
    assert_eq!(outbox.last_warning(ShopWarning::CodesHalfUsed), Some(Instant(5)));
    assert_eq!(outbox.last_warning(ShopWarning::CodesAsked), Some(Instant(20)));
    assert_eq!(outbox.last_warning(ShopWarning::CodesNoLongerAsked), None);
}

#[test]
fn two_links_for_a_password_are_mailed_to_a_professional_within_an_hour() {
    use crate::domain::records::account_link::LinkToken;
    use crate::domain::records::text::Email;
    use crate::domain::state::login_notice::LoginNotice;
    let now = Instant(100_000);
    let expires = Instant(200_000);
    let token = || LinkToken::new("abc").expect("a token");
    let room = |outbox: &Outbox, email: &str| {
        let notice = LoginNotice::NewPassword { token: token(), expires };
        let email = Email::new(email).expect("an address");
        outbox.has_room_for_login(&NotifyOfLogin { email, notice }, now)
    };
    // The age in seconds of each mail, its purpose and its recipient; then whether there is room.
    let password = LinkPurpose::ProPassword;
    let login = LinkPurpose::Login;
    for (mails, has_room) in [
        (vec![], true),
        (vec![(0, password, "a@example.org")], true),
        (vec![(3_599, password, "a@example.org"), (0, password, "A@Example.org")], false),
        (vec![(3_600, password, "a@example.org"), (0, password, "a@example.org")], true),
        (vec![(0, login, "a@example.org"), (0, password, "a@example.org")], true),
        (vec![(0, password, "b@example.org"), (0, password, "a@example.org")], true),
        // The stamps of the group may be ahead of the clock.
        (vec![(-50, password, "a@example.org"), (-50, password, "a@example.org")], false),
    ] {
        let mut outbox = Outbox::default();
        for (age, purpose, recipient) in &mails {
            let purpose = *purpose;
            let token = Text::new("abc").expect("a text");
            let content = MessageContent::AccountLink { purpose, token, expires };
            let at = now.plus_seconds(-i64::from(*age));
            let message = outbox.draft(0, at, content, recipient);
            outbox.put(message.into(), at);
        }
        assert_eq!(room(&outbox, "a@example.org"), has_room, "{mails:?}");
    }
}
