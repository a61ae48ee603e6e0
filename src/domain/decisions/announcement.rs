//! The messages that an event causes to the clients whose appointments it makes, changes or
//! cancels. Reference 7.3.

use crate::domain::decisions::delayed_notice::ProfessionalChange;
use crate::domain::messaging::client_knowledge::{has_open_cancellation, has_open_confirmation};
use crate::domain::messaging::recipient::{appointment_recipient, email_address};
use crate::domain::records::account::Account;
use crate::domain::records::author::Author;
use crate::domain::records::channel::Channel;
use crate::domain::records::hold::{Hold, HoldState};
use crate::domain::records::ids::VeventId;
use crate::domain::records::known_appointment::AppointmentDetails;
use crate::domain::records::message::{
    AccountChange, AppointmentTime, Message, MessageContent, WithdrawnAppointment,
};
use crate::domain::records::vevent::{Appointment, Vevent};
use crate::domain::state::command::Command;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;

/// A content with the address it goes to.
struct Announcement {
    content: MessageContent,
    recipient: String,
}

/// Applies the event of a command by an author, `None` to try it out. Returns it with its messages,
/// and the state after both. A quiet command causes no messages.
pub fn apply_with_messages(
    state: &GroupState,
    author: Option<Author>,
    command: &Command,
    event: Event,
    now: Instant,
) -> (Event, GroupState) {
    let mut next = state.apply_by(author, &event);
    let messages = if command.is_quiet() {
        Vec::new()
    } else if let Some(change) = ProfessionalChange::find(state, &next, command, &event, now) {
        change.draft_notices()
    } else {
        draft_at_once(state, &next, command, &event, now)
    };
    (enqueue_all(&mut next, event, messages), next)
}

/// Applies the event of a booking in place, as [`apply_with_messages`] does. Returns it with its
/// messages: they follow from the state after it alone.
///
/// # Panics
/// As [`GroupState::apply_in_place`].
pub fn book_with_messages(
    state: &mut GroupState,
    author: Option<Author>,
    command: &Command,
    event: Event,
    now: Instant,
) -> Event {
    debug_assert!(matches!(event, Event::AppointmentsBooked { .. }), "{event:?}");
    state.apply_in_place(author, &event);
    if command.is_quiet() {
        return event;
    }
    let messages = draft_at_once(state, state, command, &event, now);
    enqueue_all(state, event, messages)
}

/// Adds the messages of an event to the state after it. Returns the event with them.
fn enqueue_all(next: &mut GroupState, event: Event, messages: Vec<Message>) -> Event {
    for message in &messages {
        next.enqueue(message);
    }
    event.announced_by(messages)
}

/// Makes the messages that an event causes and that need not wait.
fn draft_at_once(
    state: &GroupState,
    next: &GroupState,
    command: &Command,
    event: &Event,
    now: Instant,
) -> Vec<Message> {
    let mut messages = draft_messages(state, next, event, now);
    if command.is_by_key() {
        messages = messages.into_iter().map(Message::caused_by_key).collect();
    }
    // A change comes without another message, so that numbers stay without gaps.
    if messages.len() == 1
        && let Some(message) = messages.pop()
    {
        messages.push(state.outbox.replace_unsent_change(message));
    }
    messages
}

/// Makes the messages that an event causes; only codes and notices about accounts if the group
/// sends no mails.
///
/// * A booking that waits for a code causes the message with it.
/// * Another address or password of an account is announced to its former address.
/// * A booking is confirmed, and so is an event that a change turns into an appointment.
/// * A change of the time, the calendar or the intervention is announced, and a cancellation.
/// * An appointment given to another client is confirmed to that client and cancelled to the former
///   one.
///
/// No message is about a past appointment, or about one that a professional makes by hand. `next`
/// is the state after the event.
pub fn draft_messages(
    state: &GroupState,
    next: &GroupState,
    event: &Event,
    now: Instant,
) -> Vec<Message> {
    let is_about_proof = matches!(event, Event::HoldMade { .. } | Event::AccountPut { .. });
    if !next.catalogue.group.sendmail && !is_about_proof {
        return Vec::new();
    }
    let (at, announcements) = match event {
        Event::HoldMade { at, hold, .. } => (*at, announce_code(hold).into_iter().collect()),
        Event::AccountPut { at, was, account, .. } => {
            (*at, announce_account(state, was.as_deref(), account))
        }
        Event::AppointmentsBooked { at, legs, .. } | Event::BookingConfirmed { at, legs, .. } => {
            (*at, confirm_booking(next, legs, now).into_iter().collect())
        }
        Event::AppointmentCancelled { at, id } => (*at, announce_change(state, next, *id, now)),
        Event::VeventPut { at, row, .. } => (*at, announce_change(state, next, row.id, now)),
        Event::FichePut { .. }
        | Event::CalendarPut { .. }
        | Event::CalendarsetPut { .. }
        | Event::InterventionPut { .. }
        | Event::InterventionsetPut { .. }
        | Event::CustomfieldPut { .. }
        | Event::CalendarsetRemoved { .. }
        | Event::InterventionsetRemoved { .. }
        | Event::GroupChanged { .. }
        | Event::Announced { .. }
        | Event::AccountLinkRequested { .. }
        | Event::DoneOnce { .. }
        | Event::InstantsResolved { .. }
        | Event::VeventsRemoved { .. }
        | Event::CancelledEmptied { .. }
        | Event::HoldReleased { .. }
        | Event::HoldExtended { .. }
        | Event::CodeRefused { .. }
        | Event::GroupFounded { .. }
        | Event::BatchDone { .. }
        | Event::FichesMerged { .. }
        | Event::HistoryEnded { .. }
        | Event::ReadsNoted { .. }
        | Event::WebhookPut { .. }
        | Event::WebhookRemoved { .. }
        | Event::WebhookSettled { .. }
        | Event::ClientsErased { .. }
        | Event::RetentionCountBegan { .. }
        | Event::AccountUsed { .. }
        | Event::AppointmentsEmptied { .. }
        | Event::AccountsClosed { .. }
        | Event::ImageSet { .. }
        | Event::ImageRemoved { .. }
        | Event::CalendarfeedPut { .. }
        | Event::CalendarfeedRevoked { .. }
        | Event::MessagePut { .. } => return Vec::new(),
    };
    let mut messages = Vec::with_capacity(announcements.len());
    for (position, announcement) in (0..).zip(announcements) {
        let Announcement { content, recipient } = announcement;
        messages.push(state.outbox.draft(position, at, content, &recipient));
    }
    messages
}

/// The code of a booking that waits for it.
fn announce_code(hold: &Hold) -> Option<Announcement> {
    let booking = match &hold.state {
        HoldState::Unconfirmed(booking) => booking,
        HoldState::Chosen
        | HoldState::Confirmed { .. }
        | HoldState::Overwritten
        | HoldState::Guessed => return None,
    };
    let content = MessageContent::BookingCode {
        channel: booking.channel,
        hold: hold.id(),
        expires: hold.expires_at,
    };
    Some(Announcement { content, recipient: booking.recipient.as_str().to_owned() })
}

/// The notices to the address of an account before a change of its address or its password.
fn announce_account(state: &GroupState, was: Option<&str>, account: &Account) -> Vec<Announcement> {
    let Some(before) = was.and_then(|was| state.accounts.get(was)) else { return Vec::new() };
    let mut changes = Vec::new();
    if before.password_hash != account.password_hash {
        changes.push(AccountChange::Password);
    }
    if before.email.folded() != account.email.folded() {
        changes.push(AccountChange::Email);
    }
    let mut announcements = Vec::with_capacity(changes.len());
    for change in changes {
        let recipient = before.email.as_str().to_owned();
        announcements
            .push(Announcement { content: MessageContent::AccountNotice(change), recipient });
    }
    announcements
}

fn confirm_booking(next: &GroupState, legs: &[Vevent], now: Instant) -> Option<Announcement> {
    let first = legs.first()?;
    let mut upcoming = Vec::with_capacity(legs.len());
    for leg in legs {
        if let Some(appointment) = AppointmentTime::from_vevent(leg)
            && appointment.start > now
        {
            upcoming.push(appointment);
        }
    }
    if upcoming.is_empty() {
        return None;
    }
    let recipient = appointment_recipient(next, first, Channel::Mail)?;
    Some(Announcement { content: MessageContent::Confirmation(upcoming), recipient })
}

/// The announcements of a changed or cancelled event.
fn announce_change(
    state: &GroupState,
    next: &GroupState,
    id: VeventId,
    now: Instant,
) -> Vec<Announcement> {
    let (Some(before), Some(after)) = (state.rows.get(&id), next.rows.get(&id)) else {
        return Vec::new();
    };
    let Some(appointment) = after.appointment() else { return Vec::new() };
    let mut announcements = Vec::new();
    match before.appointment() {
        Some(was) if was.fiche_id == appointment.fiche_id => {
            announcements.extend(announce_to_same_client(before, after, next, now));
        }
        Some(was) => {
            announcements.extend(announce_to_former_client(before, was, next, now));
            announcements.extend(announce_to_new_client(after, next, now));
        }
        None => announcements.extend(announce_to_new_client(after, next, now)),
    }
    announcements
}

/// A confirmation to the new client of a live, upcoming appointment.
fn announce_to_new_client(after: &Vevent, next: &GroupState, now: Instant) -> Option<Announcement> {
    let appointment = AppointmentTime::from_vevent(after)?;
    if after.deleted || appointment.start <= now {
        return None;
    }
    let recipient = appointment_recipient(next, after, Channel::Mail)?;
    Some(Announcement { content: MessageContent::Confirmation(vec![appointment]), recipient })
}

/// A cancellation to the former client of an upcoming appointment. If it was cancelled before, the
/// client knows that, unless the cancellation is still to be sent.
fn announce_to_former_client(
    before: &Vevent,
    was: &Appointment,
    next: &GroupState,
    now: Instant,
) -> Option<Announcement> {
    let is_expected = !before.deleted || has_open_cancellation(next, before.id);
    let appointment = AppointmentTime::from_vevent(before)?;
    if !is_expected || appointment.start <= now {
        return None;
    }
    let withdrawn = WithdrawnAppointment {
        appointment,
        length_seconds: was.length_seconds,
        client: was.fiche_id,
        calendar: before.calendar_id,
        intervention: was.intervention_id,
        key: was.key,
    };
    let recipient = email_address(next, was.fiche_id)?;
    Some(Announcement { content: MessageContent::Withdrawal(Box::new(withdrawn)), recipient })
}

/// The announcement of a change that leaves the appointment with its client.
fn announce_to_same_client(
    before: &Vevent,
    after: &Vevent,
    next: &GroupState,
    now: Instant,
) -> Option<Announcement> {
    let was = AppointmentTime::from_vevent(before)?;
    let appointment = AppointmentTime::from_vevent(after)?;
    let recipient = appointment_recipient(next, after, Channel::Mail)?;
    let client = after.fiche_id()?;
    if after.deleted {
        if before.deleted || was.start <= now {
            return None;
        }
        return Some(Announcement {
            content: MessageContent::Cancellation(appointment),
            recipient,
        });
    }
    let is_noticeable = before.deleted || is_noticeable_change(before, after);
    if !is_noticeable || appointment.start <= now {
        return None;
    }
    // A confirmation that is still to be sent announces the new state by itself.
    if has_open_confirmation(next, before.id, client) {
        return None;
    }
    // A restoration that is still to be sent must not be replaced by a mere change.
    let content = if before.deleted || has_open_restoration(next, before.id) {
        MessageContent::Restoration(appointment)
    } else {
        MessageContent::Change { appointment, was: was.start }
    };
    Some(Announcement { content, recipient })
}

fn has_open_restoration(next: &GroupState, id: VeventId) -> bool {
    let mut open = next.outbox.open_about(id);
    open.any(|message| matches!(message.content, MessageContent::Restoration(_)))
}

/// Whether a client would notice a change: of the time, the calendar or the intervention.
fn is_noticeable_change(before: &Vevent, after: &Vevent) -> bool {
    AppointmentDetails::from_vevent(before) != AppointmentDetails::from_vevent(after)
}
