//! The appointments of a mail: as text, and as iCalendar objects. Reference 7.3.

use crate::domain::availability::postal_address::PostalAddress;
use crate::domain::messaging::client_knowledge::surest_expectation;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId};
use crate::domain::records::mail_domain::with_ascii_domain;
use crate::domain::records::message::{AppointmentTime, Message, WithdrawnAppointment};
use crate::domain::records::vevent::{AppointmentKey, Vevent};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::notify::calendar::{
    CalendarEvent, InvitationAddresses, ItipMethod, appointment_uid, render_ics,
};
use crate::notify::language::{Language, long_date, one_line, short_line};
use crate::notify::links;
use crate::notify::mail_kind::MailKind;

/// An appointment as its message announces it.
pub(crate) struct MailAppointment {
    standing: AppointmentTime,
    length_seconds: u32,
    pub(crate) client: FicheId,
    calendar: CalendarId,
    pub(crate) intervention: InterventionId,
    key: AppointmentKey,
    /// Creation time; `None` if the vevent has been removed.
    created_at: Option<Instant>,
}

/// The text of an appointment, for the templates.
pub(crate) struct AppointmentLine {
    pub(crate) when: String,
    /// Public name of the intervention; empty if it has none.
    pub(crate) what: String,
    /// Public name of the calendar; empty if it has been removed.
    pub(crate) calendar: String,
    /// Address, line by line; empty if it is the group's.
    pub(crate) place: Vec<String>,
    /// URL that cancels it; empty if it cannot be cancelled online, or no longer.
    pub(crate) cancel: String,
}

impl MailAppointment {
    /// Finds an appointment in the newest state, with the start that the message announces.
    pub(crate) fn find(state: &GroupState, standing: AppointmentTime) -> Option<Self> {
        let vevent = state.rows.get(&standing.id)?;
        let appointment = vevent.appointment()?;
        Some(Self {
            standing,
            length_seconds: appointment.length_seconds,
            client: appointment.fiche_id,
            calendar: vevent.calendar_id,
            intervention: appointment.intervention_id,
            key: appointment.key,
            created_at: Some(vevent.created_at),
        })
    }

    /// Returns an appointment that was taken from its client, as it was before.
    pub(crate) fn from_withdrawn(state: &GroupState, withdrawn: &WithdrawnAppointment) -> Self {
        let standing = withdrawn.appointment;
        Self {
            standing,
            length_seconds: withdrawn.length_seconds,
            client: withdrawn.client,
            calendar: withdrawn.calendar,
            intervention: withdrawn.intervention,
            key: withdrawn.key,
            created_at: state.rows.get(&standing.id).map(|vevent| vevent.created_at),
        }
    }

    /// Returns the appointment as the client of a notice knows it, if the message is one.
    pub(crate) fn with_known_details(self, state: &GroupState, message: &Message) -> Self {
        let Some(known) = &message.known else { return self };
        let known = surest_expectation(&state.outbox, known).details;
        Self {
            length_seconds: known.length_seconds,
            calendar: known.calendar,
            intervention: known.intervention,
            ..self
        }
    }

    /// Returns the public name of the intervention; empty if it has none.
    fn intervention_name(&self, state: &GroupState) -> String {
        match state.catalogue.interventions.get(&self.intervention) {
            Some(intervention) => one_line(intervention.publicname.as_str()),
            None => String::new(),
        }
    }

    /// Returns the title of its event in a calendar.
    fn summary(&self, state: &GroupState) -> String {
        let intervention = self.intervention_name(state);
        if intervention.is_empty() {
            group_name(state)
        } else {
            format!("{intervention} – {}", group_name(state))
        }
    }

    /// Returns its address in one line; empty if its calendar has been removed.
    fn location(&self, state: &GroupState) -> String {
        match self.place(state) {
            Some(place) => address_lines(place).join(", "),
            None => String::new(),
        }
    }

    /// Returns the seconds from its creation to a moment, at least 0.
    fn age_seconds(&self, at: Instant) -> u64 {
        match self.created_at {
            Some(created_at) => at.seconds_since(created_at).max(0).unsigned_abs(),
            None => 0,
        }
    }

    /// Returns its event in a calendar, as it was at `stamp`, without an invitation.
    fn calendar_event<'a>(
        &self,
        state: &'a GroupState,
        stamp: Instant,
        summary: &'a str,
        location: &'a str,
    ) -> CalendarEvent<'a> {
        let AppointmentTime { id, start } = self.standing;
        CalendarEvent {
            uid: appointment_uid(state.catalogue.group.id, id, &self.key),
            sequence: self.age_seconds(stamp),
            stamp,
            start,
            end: start.plus_seconds(i64::from(self.length_seconds)),
            summary,
            location,
            description: one_line(state.catalogue.group.phone.as_str()),
            invitation: None,
        }
    }

    /// Returns the address of the appointment; `None` if its calendar has been removed.
    fn place<'a>(&self, state: &'a GroupState) -> Option<PostalAddress<'a>> {
        let calendar = state.catalogue.calendars.get(&self.calendar)?;
        Some(PostalAddress::of_calendar(&state.catalogue, calendar))
    }
}

/// Maximum number of characters of a name in a subject.
pub(crate) const SUBJECT_NAME_CHARS_MAX: usize = 80;

/// Returns the group's name in one line.
pub(crate) fn group_name(state: &GroupState) -> String {
    short_line(state.catalogue.group.name.as_str(), SUBJECT_NAME_CHARS_MAX)
}

/// Renders an appointment as text, for a message sent at `sent_at`.
pub(crate) fn render_line(
    state: &GroupState,
    appointment: &MailAppointment,
    language: Language,
    kind: MailKind,
    public_url: &str,
    sent_at: Instant,
) -> AppointmentLine {
    let catalogue = &state.catalogue;
    let MailAppointment { standing, key, .. } = appointment;
    let mut calendar_name = String::new();
    let mut cancel = String::new();
    if let Some(calendar) = catalogue.calendars.get(&appointment.calendar) {
        calendar_name = one_line(calendar.publicname.as_str());
        let deadline = standing.start.plus_minutes(-calendar.mintime_annulation.number());
        // After the deadline the link would only lead to a page that says so.
        if kind.has_live_appointments() && sent_at <= deadline {
            cancel = links::cancel_url(public_url, catalogue.group.id, standing.id, key);
        }
    }
    let place = match appointment.place(state) {
        Some(place) if place != PostalAddress::of_group(catalogue) => address_lines(place),
        _ => Vec::new(),
    };
    AppointmentLine {
        when: long_date(language, catalogue.zone().civil_of(standing.start)),
        what: appointment.intervention_name(state),
        calendar: calendar_name,
        place,
        cancel,
    }
}

/// Returns an address as its lines on a letter.
pub(crate) fn address_lines(place: PostalAddress<'_>) -> Vec<String> {
    let mut lines: Vec<String> = place.address.lines().map(one_line).collect();
    lines.push(one_line(&place.town_line()));
    lines.retain(|line| !line.is_empty());
    lines
}

/// Renders the iCalendar object of an appointment.
pub(crate) fn render_invitation(
    state: &GroupState,
    message: &Message,
    appointment: &MailAppointment,
    method: ItipMethod,
    from_address: &str,
) -> String {
    let location = appointment.location(state);
    let summary = appointment.summary(state);
    let recipient = message.recipient.as_str();
    // The same spelling as in the header of the mail, by which mail programs find the attendee.
    let attendee = with_ascii_domain(recipient).unwrap_or(recipient.into());
    let invitation = InvitationAddresses { organizer: from_address, attendee: &attendee };
    // A notice that waited may follow messages that were caused after it.
    let stamp = match &message.known {
        Some(_) => message.created_at.max(message.first_claimed_at.unwrap_or(message.created_at)),
        None => message.created_at,
    };
    let event = CalendarEvent {
        // It grows with every message about the appointment, also after an import: an export
        // keeps the creation times and the message ids.
        sequence: appointment.age_seconds(stamp) + message.id.number(),
        invitation: Some(invitation),
        ..appointment.calendar_event(state, stamp, &summary, &location)
    };
    render_ics(method, &[event])
}

/// Renders live appointments of one client as a calendar file, made at `now`. The events have the
/// UIDs of the mails, so that a calendar that has both shows each once.
pub(crate) fn render_calendar_file(
    state: &GroupState,
    appointments: &[&Vevent],
    now: Instant,
) -> String {
    let mut texts = Vec::new();
    for vevent in appointments {
        let Some(standing) = vevent.appointment() else { continue };
        let standing = AppointmentTime { id: vevent.id, start: standing.start };
        if let Some(found) = MailAppointment::find(state, standing) {
            let summary = found.summary(state);
            let location = found.location(state);
            texts.push((found, summary, location));
        }
    }
    let mut events = Vec::new();
    for (found, summary, location) in &texts {
        events.push(found.calendar_event(state, now, summary, location));
    }
    render_ics(ItipMethod::Publish, &events)
}
