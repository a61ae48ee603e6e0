//! The calendar part of a mail: one event with a stable UID, whose SEQUENCE grows with every
//! message. Reference 7.3; RFC 5545 and 5546.

use icalendar::{Calendar, Component as _, Event, EventLike as _, EventStatus, Property};

use crate::domain::time::Instant;
use crate::domain::time::zone;

/// The iTIP method: the action of the receiving calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItipMethod {
    /// Adds or updates the event.
    Request,
    /// Removes the event.
    Cancel,
}

impl ItipMethod {
    /// Returns the method's name in iCalendar.
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Request => "REQUEST",
            Self::Cancel => "CANCEL",
        }
    }
}

/// An appointment as an iCalendar event.
pub(crate) struct CalendarEvent<'a> {
    /// Unique id; the same for all messages about the appointment.
    pub(crate) uid: String,
    /// Revision; greater in later messages.
    pub(crate) sequence: u64,
    /// Time at which the message was caused.
    pub(crate) stamp: Instant,
    pub(crate) start: Instant,
    pub(crate) end: Instant,
    pub(crate) summary: &'a str,
    pub(crate) location: &'a str,
    pub(crate) description: &'a str,
    /// Mail address of the group.
    pub(crate) organizer: &'a str,
    pub(crate) attendee: &'a str,
}

/// Renders an event as an iCalendar object.
pub(crate) fn render_ics(method: ItipMethod, calendar_event: &CalendarEvent<'_>) -> String {
    let mut event = Event::with_uid(&calendar_event.uid);
    event.add_property("SEQUENCE", calendar_event.sequence.to_string());
    event.add_property("DTSTAMP", format_utc(calendar_event.stamp));
    event.add_property("DTSTART", format_utc(calendar_event.start));
    event.add_property("DTEND", format_utc(calendar_event.end));
    event.summary(calendar_event.summary);
    if !calendar_event.location.is_empty() {
        event.location(calendar_event.location);
    }
    if !calendar_event.description.is_empty() {
        event.description(calendar_event.description);
    }
    event.append_property(Property::new(
        "ORGANIZER",
        format!("mailto:{}", calendar_event.organizer),
    ));
    let mut attendee = Property::new("ATTENDEE", format!("mailto:{}", calendar_event.attendee));
    attendee
        .add_parameter("ROLE", "REQ-PARTICIPANT")
        .add_parameter("PARTSTAT", "ACCEPTED")
        .add_parameter("RSVP", "FALSE");
    event.append_property(attendee);
    event.status(match method {
        ItipMethod::Request => EventStatus::Confirmed,
        ItipMethod::Cancel => EventStatus::Cancelled,
    });
    let mut calendar = Calendar::empty();
    calendar.append_property(("VERSION", "2.0"));
    calendar.append_property(("PRODID", "-//slotbook//slotbook//EN"));
    calendar.append_property(("CALSCALE", "GREGORIAN"));
    calendar.append_property(("METHOD", method.name()));
    calendar.push(event.done());
    calendar.to_string()
}

/// Formats a UTC time, like `20260303T100000Z`.
fn format_utc(moment: Instant) -> String {
    let civil = zone::utc_of(moment);
    let (year, month, day) = civil.day().ymd();
    let second = civil.second_of_day();
    format!(
        "{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}
