//! The calendar part of a mail: one event under a stable UID, whose SEQUENCE grows with every message. RFC 5545, 5546.

use icalendar::{Calendar, Component as _, Event, EventLike as _, EventStatus, Property};

use crate::domain::time::Instant;
use crate::domain::time::zone;

/// What the receiving calendar is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Hold the time.
    Request,
    /// Let it go.
    Cancel,
}

impl Method {
    /// Its name.
    #[must_use]
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Request => "REQUEST",
            Self::Cancel => "CANCEL",
        }
    }
}

/// An appointment as a calendar holds it.
pub(super) struct Entry<'a> {
    /// The same for all messages about it.
    pub(super) uid: String,
    /// Later messages have higher ones.
    pub(super) sequence: u64,
    /// When the message was caused.
    pub(super) stamp: Instant,
    pub(super) start: Instant,
    pub(super) end: Instant,
    pub(super) summary: &'a str,
    pub(super) location: &'a str,
    pub(super) description: &'a str,
    /// The address that stands for the group.
    pub(super) organizer: &'a str,
    pub(super) attendee: &'a str,
}

/// The bytes of the `.ics`.
pub(super) fn ics(method: Method, entry: &Entry<'_>) -> String {
    let mut event = Event::with_uid(&entry.uid);
    event.add_property("SEQUENCE", entry.sequence.to_string());
    event.add_property("DTSTAMP", utc(entry.stamp));
    event.add_property("DTSTART", utc(entry.start));
    event.add_property("DTEND", utc(entry.end));
    event.summary(entry.summary);
    if !entry.location.is_empty() {
        event.location(entry.location);
    }
    if !entry.description.is_empty() {
        event.description(entry.description);
    }
    event.append_property(Property::new("ORGANIZER", format!("mailto:{}", entry.organizer)));
    let mut attendee = Property::new("ATTENDEE", format!("mailto:{}", entry.attendee));
    attendee
        .add_parameter("ROLE", "REQ-PARTICIPANT")
        .add_parameter("PARTSTAT", "ACCEPTED")
        .add_parameter("RSVP", "FALSE");
    event.append_property(attendee);
    event.status(match method {
        Method::Request => EventStatus::Confirmed,
        Method::Cancel => EventStatus::Cancelled,
    });
    let mut calendar = Calendar::empty();
    calendar.append_property(("VERSION", "2.0"));
    calendar.append_property(("PRODID", "-//slotbook//slotbook//EN"));
    calendar.append_property(("CALSCALE", "GREGORIAN"));
    calendar.append_property(("METHOD", method.name()));
    calendar.push(event.done());
    calendar.to_string()
}

/// `20260303T100000Z`.
fn utc(moment: Instant) -> String {
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
