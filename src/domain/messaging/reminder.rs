//! Due times of reminders, from the start of an appointment and the group's settings.
//! Reference 7.1.

use crate::domain::time::zone::Zone;
use crate::domain::time::{Civil, HOUR, Instant, MINUTE};

/// First second of the local day at which text messages are sent: 09:00.
pub const SMS_DAY_BEGINS: i64 = 9 * HOUR;
/// Second of the local day from which text messages are not sent: 19:00.
pub const SMS_DAY_ENDS: i64 = 19 * HOUR;
/// Second of the local day before the appointment to which a text message due at night moves:
/// 18:30.
const SMS_EVE: i64 = 18 * HOUR + 30 * MINUTE;

/// Returns the due time of the e-mail reminder of an appointment that starts at `start`. It is
/// `mailreminder_minutes` of elapsed time earlier. `None` for 0 minutes, which asks for no
/// reminder. Reference 7.1.
///
/// ```
/// use slotbook::domain::messaging::reminder::mail_time;
/// use slotbook::domain::time::Instant;
/// assert_eq!(mail_time(Instant(7_200), 60), Some(Instant(3_600)));
/// assert_eq!(mail_time(Instant(7_200), 0), None);
/// ```
pub fn mail_time(start: Instant, mailreminder_minutes: u32) -> Option<Instant> {
    if mailreminder_minutes == 0 {
        return None;
    }
    Some(start.plus_minutes(-i64::from(mailreminder_minutes)))
}

/// Returns the due time of the text message of an appointment that starts at `start`. It is
/// `smsreminder_minutes` of elapsed time earlier, if clocks then show 09:00 to 18:59:59. Otherwise
/// it is 18:30 on the day before the appointment's local day. `None` for 0 minutes. Reference 7.1.
///
/// ```
/// use slotbook::domain::messaging::reminder::sms_time;
/// use slotbook::domain::time::Civil;
/// use slotbook::domain::time::zone::Zone;
/// let paris = Zone::from_iana("Europe/Paris").unwrap();
/// let at = |day, hour, minute| {
///     paris.instant_of(Civil::from_ymd_hms(2025, 6, day, hour, minute, 0).unwrap())
/// };
/// assert_eq!(sms_time(paris, at(12, 10, 0), 60), Some(at(12, 9, 0)));
/// assert_eq!(sms_time(paris, at(12, 9, 45), 60), Some(at(11, 18, 30)));
/// ```
pub fn sms_time(zone: Zone, start: Instant, smsreminder_minutes: u32) -> Option<Instant> {
    if smsreminder_minutes == 0 {
        return None;
    }
    let due = start.plus_minutes(-i64::from(smsreminder_minutes));
    if is_sms_hour(zone.civil_of(due)) {
        return Some(due);
    }
    let eve = zone.civil_of(start).day().plus_days(-1);
    Some(zone.instant_of(eve.midnight().plus_seconds(SMS_EVE)))
}

/// Whether text messages may be sent at a local time: from 09:00 up to, but not including, 19:00.
/// Reference 7.1.
pub fn is_sms_hour(local: Civil) -> bool {
    let second = local.second_of_day();
    SMS_DAY_BEGINS <= second && second < SMS_DAY_ENDS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paris() -> Zone {
        Zone::from_iana("Europe/Paris").expect("a zone")
    }

    fn at(month: u32, day: u32, hour: u32, minute: u32) -> Instant {
        paris().instant_of(Civil::from_ymd_hms(2025, month, day, hour, minute, 0).expect("a time"))
    }

    #[test]
    fn a_text_message_due_at_nine_is_sent_then_and_one_due_at_nineteen_moves_to_the_eve() {
        assert_eq!(sms_time(paris(), at(6, 12, 10, 0), 60), Some(at(6, 12, 9, 0)));
        assert_eq!(sms_time(paris(), at(6, 12, 9, 59), 60), Some(at(6, 11, 18, 30)));
        assert_eq!(sms_time(paris(), at(6, 12, 19, 59), 60), Some(at(6, 12, 18, 59)));
        assert_eq!(sms_time(paris(), at(6, 12, 20, 0), 60), Some(at(6, 11, 18, 30)));
    }

    #[test]
    fn the_eve_is_the_day_before_the_appointment_for_any_lead() {
        assert_eq!(sms_time(paris(), at(6, 12, 8, 0), 3 * 1_440), Some(at(6, 11, 18, 30)));
    }

    #[test]
    fn minutes_are_elapsed_across_a_clock_change() {
        assert_eq!(mail_time(at(3, 30, 10, 0), 1_440), Some(at(3, 29, 9, 0)));
        assert_eq!(sms_time(paris(), at(3, 30, 10, 0), 1_441), Some(at(3, 29, 18, 30)));
    }

    #[test]
    fn a_setting_of_zero_minutes_gives_no_reminder() {
        assert_eq!(mail_time(at(6, 12, 10, 0), 0), None);
        assert_eq!(sms_time(paris(), at(6, 12, 10, 0), 0), None);
    }
}
