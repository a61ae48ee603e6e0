//! The notices about a professional's change of an appointment. They wait for further changes, and
//! become one mail, or none. Reference 7.3.

use crate::domain::messaging::client_knowledge::{
    find_knowledge, has_open_cancellation, has_open_confirmation, is_up_to_date, present_details,
    surest_expectation,
};
use crate::domain::messaging::recipient::email_address;
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::records::known_appointment::{AppointmentDetails, KnownAppointment};
use crate::domain::records::message::{
    AppointmentTime, Message, MessageContent, Progress, SuppressionReason, WithdrawnAppointment,
};
use crate::domain::records::text::Text;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::{CancelRight, Command};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{INSTANT_MIN, Instant, MINUTE};

/// Seconds before an appointment from which on a notice about it does not wait.
const URGENT_SECONDS: i64 = 15 * MINUTE;
/// Maximum seconds from the first change to its notice, however many changes follow.
const WAIT_SECONDS_MAX: i64 = 10 * MINUTE;

/// A change of an appointment by a professional.
pub(crate) struct ProfessionalChange<'a> {
    /// The state before it.
    state: &'a GroupState,
    /// The state after it.
    next: &'a GroupState,
    before: &'a Vevent,
    after: &'a Vevent,
    /// The stamp of its event.
    at: Instant,
    now: Instant,
}

impl<'a> ProfessionalChange<'a> {
    /// Finds the change of an appointment that an event makes, if notices about it wait. `None` if
    /// no professional makes it, or if its notices leave at once.
    pub(crate) fn find(
        state: &'a GroupState,
        next: &'a GroupState,
        command: &Command,
        event: &Event,
        now: Instant,
    ) -> Option<Self> {
        let id = changed_vevent(event)?;
        let before = state.rows.get(&id)?;
        let after = next.rows.get(&id)?;
        if !is_by_professional(command) || before.appointment().is_none() {
            return None;
        }
        let waits = next.catalogue.group.notice_delay_seconds.number() > 0
            || state.outbox.open_about(id).any(|message| message.known.is_some());
        if waits { Some(Self { state, next, before, after, at: event.at(), now }) } else { None }
    }

    /// Makes the notices to its clients, at most one to each, and ends those that they replace.
    /// There are none if the group sends no mails.
    pub(crate) fn draft_notices(&self) -> Vec<Message> {
        let mut messages = Vec::new();
        if !self.next.catalogue.group.sendmail || !is_noticeable(self.before, self.after) {
            return messages;
        }
        let mut clients: Vec<FicheId> = Vec::with_capacity(2);
        clients.extend([self.before, self.after].iter().filter_map(|row| row.fiche_id()));
        clients.dedup();
        // Ids ascend without gaps; a notice that takes the place of the last one has that one's.
        let mut position = 0;
        for client in clients {
            let Some(notice) = self.draft_notice(client, position) else { continue };
            position += u64::from(notice.id.number() > self.state.outbox.last_id());
            for waiting in self.state.outbox.waiting_notices(self.before.id, client) {
                if waiting.id != notice.id {
                    let why = SuppressionReason::Replaced;
                    let progress = Progress::Suppressed { at: self.now, why };
                    messages.push(Message { progress, ..Message::clone(waiting) });
                }
            }
            messages.push(notice);
        }
        messages
    }

    /// The notice to one client; `None` if there is nothing to say.
    fn draft_notice(&self, client: FicheId, position: u64) -> Option<Message> {
        let recipient = email_address(self.next, client)?;
        let waiting = self.state.outbox.waiting_notices(self.before.id, client).last();
        let mut known = find_knowledge(self.state, self.before, client);
        let is_left =
            self.before.fiche_id() == Some(client) && self.after.fiche_id() != Some(client);
        if is_left && known.news.is_none() && has_open_cancellation(self.state, self.before.id) {
            // It would go to the new client, so the former one gets another message in its place.
            known.in_doubt = true;
        }
        if waiting.is_none() && is_up_to_date(self.next, self.before.id, &known) {
            return None;
        }
        let content = self.announce(client, &known, waiting.is_some())?;
        let mut notice = self.state.outbox.draft(position, self.at, content, &recipient);
        let mut since = self.at;
        if let Some(waiting) = waiting {
            since = waiting.created_at;
            if self.is_last(waiting)
                && keeps_client(&waiting.content)
                && keeps_client(&notice.content)
            {
                notice.id = waiting.id;
                notice.created_at = waiting.created_at;
            }
        }
        let not_before = self.find_time(client, &known, since);
        notice.progress = Progress::Waiting { attempts: 0, not_before, reason: Text::default() };
        notice.known = Some(Box::new(known));
        Some(notice)
    }

    /// Whether no other message about the appointment is newer, but for reminders. The knowledge of
    /// clients follows the order of ids.
    fn is_last(&self, waiting: &Message) -> bool {
        let mut newest_first = self.state.outbox.messages_about(self.before.id).rev();
        newest_first
            .find(|message| message.reminder().is_none())
            .is_some_and(|last| last.id == waiting.id)
    }

    /// The content that leads a client from its knowledge to the state after the change; `None` if
    /// it is about the past, or if another message announces it.
    fn announce(
        &self,
        client: FicheId,
        known: &KnownAppointment,
        is_waiting: bool,
    ) -> Option<MessageContent> {
        let surest = surest_expectation(&self.state.outbox, known);
        let id = self.after.id;
        let was = surest.details.start;
        let is_ahead = |start: Instant| is_waiting || self.now < start;
        let present = present_details(self.next, id, client);
        match (surest.is_expected, present) {
            // A confirmation that is still to be sent announces the new state by itself.
            (_, Some(_)) if has_open_confirmation(self.next, id, client) => None,
            (true, Some(present)) => {
                let appointment = AppointmentTime { id, start: present.start };
                let is_ahead = is_ahead(present.start) || is_ahead(was);
                is_ahead.then_some(MessageContent::Change { appointment, was })
            }
            // A message that made the client expect it may have arrived.
            (_, None) if is_ahead(was) => Some(self.announce_end(client, &surest.details)),
            (false, Some(present)) if is_ahead(present.start) => {
                let appointment = AppointmentTime { id, start: present.start };
                if self.before.fiche_id() == Some(client) {
                    Some(MessageContent::Restoration(appointment))
                } else {
                    Some(MessageContent::Confirmation(vec![appointment]))
                }
            }
            _ => None,
        }
    }

    /// The end of an appointment in the eyes of a client.
    fn announce_end(&self, client: FicheId, expected: &AppointmentDetails) -> MessageContent {
        let appointment = AppointmentTime { id: self.before.id, start: expected.start };
        let before = self.before.appointment().expect("the event was an appointment");
        if self.after.fiche_id() == Some(client) {
            return MessageContent::Cancellation(appointment);
        }
        MessageContent::Withdrawal(Box::new(WithdrawnAppointment {
            appointment,
            length_seconds: expected.length_seconds,
            client,
            calendar: expected.calendar,
            intervention: expected.intervention,
            key: before.key,
        }))
    }

    /// The earliest time of a notice whose first cause was at `since`: at once if the appointment
    /// begins soon, or began soon, by any of its starts.
    fn find_time(&self, client: FicheId, known: &KnownAppointment, since: Instant) -> Instant {
        let delay = self.next.catalogue.group.notice_delay_seconds.number();
        let mut until = self.now.plus_seconds(delay);
        until = until.min(since.plus_seconds(WAIT_SECONDS_MAX));
        let known = surest_expectation(&self.state.outbox, known);
        let starts = [
            known.is_expected.then_some(known.details.start),
            self.before.appointment().map(|appointment| appointment.start),
            present_details(self.next, self.after.id, client).map(|present| present.start),
        ];
        for start in starts.into_iter().flatten() {
            until = until.min(start.plus_seconds(-URGENT_SECONDS));
        }
        // The earliest instant, because the clock may be set back.
        if until <= self.now { INSTANT_MIN } else { until }
    }
}

/// The vevent that an event of a professional's command changes, if any.
fn changed_vevent(event: &Event) -> Option<VeventId> {
    if let Event::AppointmentCancelled { id, .. } = event {
        return Some(*id);
    }
    if let Event::VeventPut { row, .. } = event {
        return Some(row.id);
    }
    None
}

/// Whether a professional changes, moves or cancels a vevent by a command.
fn is_by_professional(command: &Command) -> bool {
    match command {
        Command::CancelAppointment(command) => matches!(command.right, CancelRight::Pro),
        Command::MoveAppointment(command) => matches!(command.right, CancelRight::Pro),
        Command::PutVevent(_) => true,
        Command::Conditional(conditional) => is_by_professional(&conditional.command),
        Command::Expecting(expecting) => is_by_professional(&expecting.command),
        Command::Quietly(command) => is_by_professional(command),
        Command::Within(within) => is_by_professional(&within.command),
        // These make events, or change series.
        Command::PutVevents(_)
        | Command::BookAppointment(_)
        | Command::ChangeRecord(_)
        | Command::Deliver(_)
        | Command::RequestLink(_)
        | Command::FollowLink(_)
        | Command::RemoveDeleted(_)
        | Command::EndHistory(_)
        | Command::NoteReads(_)
        | Command::Webhook(_)
        | Command::EraseClients(_)
        | Command::CloseAccounts(_)
        | Command::Retain(_)
        | Command::EmptyCancelled(_)
        | Command::ConfirmBooking(_)
        | Command::HoldTime(_)
        | Command::ReleaseHold(_)
        | Command::ExtendHold(_)
        | Command::WarnShop(_)
        | Command::NotifyOfLogin(_)
        | Command::ChangeCalendarfeed(_)
        | Command::Batch(_) => false,
    }
}

/// Whether a client would notice a change.
fn is_noticeable(before: &Vevent, after: &Vevent) -> bool {
    AppointmentDetails::from_vevent(before) != AppointmentDetails::from_vevent(after)
        || before.fiche_id() != after.fiche_id()
        || before.deleted != after.deleted
}

/// Whether a notice is about an appointment that stays with its client.
const fn keeps_client(content: &MessageContent) -> bool {
    matches!(
        content,
        MessageContent::Change { .. }
            | MessageContent::Cancellation(_)
            | MessageContent::Restoration(_)
    )
}
