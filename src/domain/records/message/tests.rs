use super::*;

#[test]
fn a_message_is_stored_with_its_cause() {
    let id = VeventId::new(1).expect("an id");
    let one = AppointmentTime { id, start: Instant(9) };
    let contents = [
        MessageContent::Confirmation(vec![one]),
        MessageContent::Change { appointment: one, was: Instant(8) },
        MessageContent::Cancellation(one),
        MessageContent::Reminder(Channel::Sms, one),
        MessageContent::Restoration(one),
        MessageContent::AccountNotice(AccountChange::Password),
    ];
    for content in contents {
        let by_other = Message {
            id: MessageId::new(1).expect("an id"),
            created_at: Instant(7),
            content,
            by_key: false,
            recipient: Text::new("ada@example.org").expect("a text"),
            first_claimed_at: None,
            progress: Progress::Waiting {
                attempts: 0,
                not_before: Instant(7),
                reason: Text::default(),
            },
            known: None,
        };
        for message in [by_other.clone().caused_by_key(), by_other] {
            assert_eq!(Message::from(StoredMessage::from(message.clone())), message);
            assert!(message.is_unattempted());
            let claimed = Message { first_claimed_at: Some(Instant(8)), ..message.clone() };
            assert!(!claimed.is_unattempted());
            let progress =
                Progress::Waiting { attempts: 1, not_before: Instant(7), reason: Text::default() };
            assert!(!Message { progress, ..message }.is_unattempted());
        }
    }
}
