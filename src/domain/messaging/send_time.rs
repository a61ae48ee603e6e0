//! Sending hours, deadlines and retry delays of messages. Reference 7.2.

use crate::domain::messaging::planning::REMINDER_MARGIN_SECONDS;
use crate::domain::messaging::reminder::{SMS_DAY_BEGINS, is_sms_hour};
use crate::domain::records::channel::Channel;
use crate::domain::records::message::{Message, MessageContent, MessageKind};
use crate::domain::time::zone::Zone;
use crate::domain::time::{DAY, HOUR, Instant};

/// Seconds after its cause at which a message other than a reminder or a link is given up.
const GIVEN_UP_SECONDS: i64 = 3 * DAY;
/// Seconds before the second attempt; doubled before each further one.
const BACKOFF_SECONDS: i64 = 30;
/// Maximum seconds between two attempts.
const BACKOFF_SECONDS_MAX: i64 = HOUR;

/// Returns the first moment from `from` on at which a message may be sent: at once for mails and
/// for codes, which a client waits for, between 09:00 and 19:00 local time for text messages.
pub fn earliest_send_time(zone: Zone, message: &Message, from: Instant) -> Instant {
    let local = zone.civil_of(from);
    match message.channel() {
        Channel::Mail => from,
        Channel::Sms if message.kind() == MessageKind::SmsCode => from,
        Channel::Sms if is_sms_hour(local) => from,
        Channel::Sms => {
            let days = if local.second_of_day() < SMS_DAY_BEGINS { 0 } else { 1 };
            zone.instant_of(local.day().plus_days(days).midnight().plus_seconds(SMS_DAY_BEGINS))
        }
    }
}

/// Returns the moment from which an attempt is too late. A reminder is sent up to 15 minutes before
/// its appointment. If a text message is held back by the night at that time, it is sent at 09:00,
/// provided that the appointment has not started.
pub fn send_deadline(zone: Zone, message: &Message) -> Instant {
    let given_up = message.created_at.plus_seconds(GIVEN_UP_SECONDS);
    match &message.content {
        MessageContent::AccountLink { expires, .. }
        | MessageContent::BookingCode { expires, .. } => *expires,
        MessageContent::AccountNotice(_) | MessageContent::ShopWarning(_) => given_up,
        MessageContent::Confirmation(_)
        | MessageContent::Change { .. }
        | MessageContent::Cancellation(_)
        | MessageContent::Restoration(_)
        | MessageContent::Withdrawal(_) => {
            let last_start = message.appointments().iter().map(|it| it.start).max();
            last_start.unwrap_or(given_up).min(given_up)
        }
        MessageContent::Reminder(Channel::Mail, appointment) => {
            appointment.start.plus_seconds(-REMINDER_MARGIN_SECONDS)
        }
        MessageContent::Reminder(Channel::Sms, appointment) => {
            let deadline = appointment.start.plus_seconds(-REMINDER_MARGIN_SECONDS);
            let local = zone.civil_of(deadline);
            // At exactly 09:00 the messages that the night held back are about to be sent.
            if is_sms_hour(local) && local.second_of_day() > SMS_DAY_BEGINS {
                deadline
            } else {
                appointment.start
            }
        }
    }
}

/// Returns the seconds between a failed attempt and the next. The delay doubles with each attempt,
/// up to an hour. `draw` is a random number that shortens it by up to half, so that messages that
/// failed together are not all retried together.
pub fn backoff_seconds(attempt: u32, draw: u64) -> i64 {
    let doubled = BACKOFF_SECONDS.saturating_mul(1 << attempt.saturating_sub(1).min(16));
    let whole = doubled.min(BACKOFF_SECONDS_MAX);
    let half = whole / 2;
    let jitter = draw % u64::try_from(half).expect("a backoff is positive");
    whole - half + i64::try_from(jitter).expect("less than an hour")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_an_hour_and_are_shortened_by_up_to_half() {
        for (attempt, least) in
            [(0, 15), (1, 15), (2, 30), (3, 60), (7, 960), (8, 1_800), (99, 1_800)]
        {
            assert_eq!(backoff_seconds(attempt, 0), least);
            let half = u64::try_from(least).expect("positive");
            assert_eq!(backoff_seconds(attempt, half - 1), 2 * least - 1);
            assert_eq!(backoff_seconds(attempt, half), least);
        }
    }
}
