use super::*;

fn link(outbox: &Outbox, at: i64) -> Message {
    let token = Text::new("abc").expect("a text");
    let content = MessageContent::AccountLink {
        purpose: LinkPurpose::Confirm,
        token,
        expires: Instant(at + DAY),
    };
    outbox.draft(0, Instant(at), content, "a@example.org")
}

#[test]
fn a_settled_message_is_forgotten_after_90_days_and_its_number_is_not_used_again() {
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
    assert!(outbox.has_room_for(&next, 1, Instant(0)), "its attempt is forgotten with it");
}

#[test]
fn a_recipient_has_room_for_so_many_messages_and_for_half_as_many_that_anybody_can_cause() {
    let mut outbox = Outbox::default();
    let by_key = || MessageContent::ConfirmationByKey(Vec::new());
    let by_hand = || MessageContent::Confirmation(Vec::new());
    for (at, content) in
        [(10, by_key()), (20, by_key()), (25, by_hand()), (30, by_key()), (40, by_hand())]
    {
        let draft = outbox.draft(0, Instant(at), content, "a@example.org");
        outbox.put(Message { first_claimed_at: Some(Instant(at)), ..draft }.into(), Instant(at));
    }
    let claimed = Message { first_claimed_at: Some(Instant(50)), ..link(&outbox, 50) };
    outbox.put(claimed.clone().into(), Instant(50));
    // The least limit that leaves room.
    let least = |content: MessageContent, to: &str, since: i64| {
        let message = outbox.draft(0, Instant(60), content, to);
        (0..20)
            .find(|most| outbox.has_room_for(&message, *most, Instant(since)))
            .expect("20 are enough")
    };
    assert_eq!(
        [10, 11, 25, 26, 51].map(|since| least(by_hand(), "a@example.org", since)),
        [7, 6, 5, 4, 1]
    );
    assert_eq!(
        [10, 11, 26, 31, 51].map(|since| least(by_key(), "a@example.org", since)),
        [9, 7, 5, 3, 1]
    );
    assert_eq!(least(by_hand(), "A@Example.org", 10), 7, "another spelling is the same mailbox");
    assert_eq!(least(by_hand(), "b@example.org", 0), 1);
    assert!(claimed.always_goes() && outbox.has_room_for(&claimed, 0, Instant(0)));
}

#[test]
fn what_was_caused_before_a_withdrawal_is_known_until_the_withdrawal_is_forgotten() {
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
    let told = outbox.draft(
        0,
        Instant(1),
        MessageContent::Withdrawal(Box::new(withdrawn)),
        "a@example.org",
    );
    outbox.put(told.clone().into(), Instant(1));
    for state in
        [outbox.clone(), Outbox::assembled(outbox.messages().cloned().collect(), outbox.last_id())]
    {
        assert!(state.is_withdrawn_since(id, before.id) && !state.is_withdrawn_since(id, told.id));
    }
    let sent = Message { progress: Progress::Sent { at: Instant(5), attempts: 1 }, ..told };
    outbox.put(sent.into(), Instant(5));
    assert!(outbox.is_withdrawn_since(id, before.id), "settled is not forgotten");
}

#[test]
fn an_outbox_put_together_again_is_the_same() {
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
    let again = Outbox::assembled(outbox.messages().cloned().collect(), outbox.last_id());
    assert_eq!(again.open_reminder(id, Channel::Sms), outbox.open_reminder(id, Channel::Sms));
    assert!(
        again.open_reminder(id, Channel::Sms).is_some()
            && again.open_reminder(id, Channel::Mail).is_none()
    );
    assert_eq!(link(&again, 2).id, link(&outbox, 2).id);
}
