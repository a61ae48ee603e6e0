//! Links that put an appointment into a calendar on the web: Google and Outlook. They hold the
//! service, the shop, its address and the time, and no secret. Reference 14.5.

use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::format_ical;

/// An appointment, as a calendar on the web takes it.
pub(crate) struct CalendarEntry {
    pub(crate) summary: String,
    /// The address in one line; may be empty.
    pub(crate) location: String,
    pub(crate) interval: Interval,
}

impl CalendarEntry {
    /// Returns the URL of a new event in Google's calendar.
    pub(crate) fn google_url(&self) -> String {
        let Interval { start, end } = self.interval;
        let dates = format!("{}/{}", format_ical(start), format_ical(end));
        let pairs = [
            ("action", "TEMPLATE"),
            ("text", self.summary.as_str()),
            ("dates", dates.as_str()),
            ("location", self.location.as_str()),
        ];
        format!("https://calendar.google.com/calendar/render?{}", query(&pairs))
    }

    /// Returns the URL of a new event in Outlook's calendar.
    pub(crate) fn outlook_url(&self) -> String {
        let (start, end) = (
            extended(&format_ical(self.interval.start)),
            extended(&format_ical(self.interval.end)),
        );
        let pairs = [
            ("path", "/calendar/action/compose"),
            ("rru", "addevent"),
            ("subject", self.summary.as_str()),
            ("startdt", start.as_str()),
            ("enddt", end.as_str()),
            ("location", self.location.as_str()),
        ];
        format!("https://outlook.live.com/calendar/0/deeplink/compose?{}", query(&pairs))
    }
}

/// Returns a query without the pairs whose value is empty.
fn query(pairs: &[(&str, &str)]) -> String {
    let given = pairs.iter().filter(|(_, value)| !value.is_empty());
    form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish()
}

/// Returns a moment of iCalendar in the extended form: `2025-06-02T07:00:00Z`.
fn extended(basic: &str) -> String {
    let (day, time) = basic.split_once('T').unwrap_or((basic, ""));
    let mut out = String::with_capacity(20);
    for (at, digit) in day.chars().enumerate() {
        if at == 4 || at == 6 {
            out.push('-');
        }
        out.push(digit);
    }
    out.push('T');
    for (at, digit) in time.chars().enumerate() {
        if at == 2 || at == 4 {
            out.push(':');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Instant;

    #[test]
    fn both_calendars_get_the_same_appointment_in_utc() {
        let start = Instant(1_748_847_600);
        let entry = CalendarEntry {
            summary: "Coupe – Cut & Co".to_owned(),
            location: String::new(),
            interval: Interval { start, end: start.plus_minutes(30) },
        };
        let summary = "Coupe+%E2%80%93+Cut+%26+Co";
        let google = format!(
            "https://calendar.google.com/calendar/render?action=TEMPLATE&text={summary}\
             &dates=20250602T070000Z%2F20250602T073000Z"
        );
        assert_eq!(entry.google_url(), google);
        let outlook = format!(
            "https://outlook.live.com/calendar/0/deeplink/compose?path=%2Fcalendar%2Faction%2Fcompose\
             &rru=addevent&subject={summary}&startdt=2025-06-02T07%3A00%3A00Z\
             &enddt=2025-06-02T07%3A30%3A00Z"
        );
        assert_eq!(entry.outlook_url(), outlook);
    }
}
