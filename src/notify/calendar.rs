//! The calendar part of a mail, and calendar files: events with stable UIDs, whose SEQUENCE grows
//! with every message. Reference 7.3; RFC 5545 and 5546.

use data_encoding::HEXLOWER;
use icalendar::{Calendar, Component as _, Event, EventLike as _, EventStatus, Property};
use sha2::{Digest as _, Sha256};

use crate::domain::records::ids::{GroupId, VeventId};
use crate::domain::records::vevent::AppointmentKey;
use crate::domain::time::Instant;
use crate::domain::time::zone;

/// The iTIP method: the action of the receiving calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub(crate) enum ItipMethod {
    /// Adds or updates the event.
    Request,
    /// Removes the event.
    Cancel,
    /// Adds or updates the event, without an invitation: a file that the client fetched.
    Publish,
}

impl ItipMethod {
    /// Returns the method's name in iCalendar.
    pub(crate) fn name(self) -> &'static str {
        self.into()
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
    pub(crate) description: String,
    /// The mail addresses of the invitation; `None` in a file.
    pub(crate) invitation: Option<InvitationAddresses<'a>>,
}

/// The mail addresses of an invitation.
pub(crate) struct InvitationAddresses<'a> {
    /// That of the group.
    pub(crate) organizer: &'a str,
    pub(crate) attendee: &'a str,
}

/// Returns the UID of an appointment: the same in mails, files and feeds, and one that only those
/// who know the secret of the appointment can make.
pub(crate) fn appointment_uid(group: GroupId, id: VeventId, key: &AppointmentKey) -> String {
    let digits = HEXLOWER.encode(&Sha256::digest(key.as_str())[..8]);
    format!("{group}-{id}-{digits}@slotbook")
}

/// Renders events as an iCalendar object.
pub(crate) fn render_ics(method: ItipMethod, events: &[CalendarEvent<'_>]) -> String {
    let mut calendar = Calendar::empty();
    calendar.append_property(("VERSION", "2.0"));
    calendar.append_property(("PRODID", "-//slotbook//slotbook//EN"));
    calendar.append_property(("CALSCALE", "GREGORIAN"));
    calendar.append_property(("METHOD", method.name()));
    for event in events {
        calendar.push(to_ical(method, event));
    }
    calendar.to_string()
}

fn to_ical(method: ItipMethod, calendar_event: &CalendarEvent<'_>) -> Event {
    let mut event = Event::with_uid(&calendar_event.uid);
    event.add_property("SEQUENCE", calendar_event.sequence.to_string());
    event.add_property("DTSTAMP", zone::format_ical(calendar_event.stamp));
    event.add_property("DTSTART", zone::format_ical(calendar_event.start));
    event.add_property("DTEND", zone::format_ical(calendar_event.end));
    event.summary(calendar_event.summary);
    if !calendar_event.location.is_empty() {
        event.location(calendar_event.location);
    }
    if !calendar_event.description.is_empty() {
        event.description(&calendar_event.description);
    }
    if let Some(invitation) = &calendar_event.invitation {
        let organizer = format!("mailto:{}", invitation.organizer);
        event.append_property(Property::new("ORGANIZER", organizer));
        let mut attendee = Property::new("ATTENDEE", format!("mailto:{}", invitation.attendee));
        attendee
            .add_parameter("ROLE", "REQ-PARTICIPANT")
            .add_parameter("PARTSTAT", "ACCEPTED")
            .add_parameter("RSVP", "FALSE");
        event.append_property(attendee);
    }
    event.status(match method {
        ItipMethod::Request | ItipMethod::Publish => EventStatus::Confirmed,
        ItipMethod::Cancel => EventStatus::Cancelled,
    });
    event.done()
}
