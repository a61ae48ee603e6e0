//! Which messages an event causes: those to the client whose appointment it makes, changes or cancels. Reference 7.

use std::sync::Arc;

use crate::domain::messaging::delivery::{self, address_of, recipient_of};
use crate::domain::messaging::outbox::{
    AppointmentTime, Channel, Message, MessageContent, Progress, WithdrawnAppointment,
};
use crate::domain::messaging::planning::standing;
use crate::domain::records::ids::VeventId;
use crate::domain::records::vevent::{Appointment, Vevent};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;

/// The messages that an event causes where the group sends mails: a confirmation of a booking, and of what becomes an
/// appointment by change; a change of what a client would notice; a cancellation. An appointment given to another client is
/// confirmed to the new one and cancelled to the old. Nobody is written to about what has begun, nor about an appointment
/// that a professional makes by hand. `next` is the state after the event.
#[must_use]
pub fn messages(
    state: &GroupState,
    next: &GroupState,
    event: &Event,
    now: Instant,
) -> Vec<Message> {
    if !next.catalogue.group.sendmail {
        return Vec::new();
    }
    let (at, told) = match event {
        Event::AppointmentsBooked { at, legs, .. } => {
            (*at, confirmation(next, legs, now).into_iter().collect())
        }
        Event::AppointmentCancelled { at, id } => (*at, changed(state, next, *id, now)),
        Event::VeventPut { at, row } => (*at, changed(state, next, row.id, now)),
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
        | Event::AccountLinkAsked { .. }
        | Event::AccountPut { .. }
        | Event::DoneOnce { .. }
        | Event::InstantsResolved { .. }
        | Event::VeventsRemoved { .. }
        | Event::MessagePut { .. } => return Vec::new(),
    };
    let draft = |(place, (content, recipient)): (u64, Told)| {
        state.outbox.draft(place, at, content, &recipient)
    };
    (0..).zip(told).map(draft).collect()
}

/// What is to be told, and to whom.
type Told = (MessageContent, String);

fn confirmation(next: &GroupState, legs: &[Vevent], now: Instant) -> Option<Told> {
    let first = legs.first()?;
    let upcoming: Vec<AppointmentTime> =
        legs.iter().filter_map(standing).filter(|leg| leg.start > now).collect();
    if upcoming.is_empty() {
        return None;
    }
    Some((MessageContent::Confirmation(upcoming), recipient_of(next, first, Channel::Mail)?))
}

/// What a change of an event by hand, or its cancellation, tells its clients.
fn changed(state: &GroupState, next: &GroupState, id: VeventId, now: Instant) -> Vec<Told> {
    let (Some(before), Some(after)) = (state.rows.get(&id), next.rows.get(&id)) else {
        return Vec::new();
    };
    let Some(is) = after.appointment() else { return Vec::new() };
    match before.appointment() {
        Some(was) if was.fiche_id == is.fiche_id => {
            told_to_same(before, after, next, now).into_iter().collect()
        }
        Some(was) => withdrawal(before, was, next, now)
            .into_iter()
            .chain(told_to_new(after, next, now))
            .collect(),
        None => told_to_new(after, next, now).into_iter().collect(),
    }
}

/// A confirmation to the client who has an appointment now, where it is to come.
fn told_to_new(after: &Vevent, next: &GroupState, now: Instant) -> Option<Told> {
    let standing = standing(after).filter(|it| !after.deleted && it.start > now)?;
    Some((MessageContent::Confirmation(vec![standing]), recipient_of(next, after, Channel::Mail)?))
}

/// A cancellation to the client whose appointment is another's now, where it was to come and nobody has told it otherwise.
fn withdrawal(before: &Vevent, was: &Appointment, next: &GroupState, now: Instant) -> Option<Told> {
    let is_cancellation = |message: &Arc<Message>| {
        matches!(
            message.content,
            MessageContent::Cancellation(_) | MessageContent::CancellationByKey(_)
        )
    };
    let expected = !before.deleted || next.outbox.open_about(before.id).any(is_cancellation);
    let appointment = standing(before).filter(|it| expected && it.start > now)?;
    let withdrawn = WithdrawnAppointment {
        appointment,
        length_seconds: was.length_seconds,
        client: was.fiche_id,
        calendar: before.calendar_id,
        intervention: was.intervention_id,
        key: was.key,
    };
    Some((MessageContent::Withdrawal(Box::new(withdrawn)), address_of(next, was.fiche_id)?))
}

/// What the client is told whose appointment it was and is.
fn told_to_same(before: &Vevent, after: &Vevent, next: &GroupState, now: Instant) -> Option<Told> {
    let (was, is) = (standing(before)?, standing(after)?);
    let recipient = recipient_of(next, after, Channel::Mail)?;
    match (before.deleted, after.deleted) {
        (true, true) => None,
        (false, true) => (was.start > now).then_some((MessageContent::Cancellation(is), recipient)),
        (true, false) | (false, false) => {
            let noticed = before.deleted || is_noticed(before, after);
            let upcoming = is.start > now && !is_to_be_confirmed(next, before.id);
            let content = if before.deleted || is_to_be_restored(next, before.id) {
                MessageContent::Restoration(is)
            } else {
                MessageContent::Change { appointment: is, was: was.start }
            };
            (noticed && upcoming).then_some((content, recipient))
        }
    }
}

/// Whether a confirmation of an appointment has still to leave, and will: it tells how the appointment stands by then.
fn is_to_be_confirmed(next: &GroupState, id: VeventId) -> bool {
    next.outbox.open_about(id).any(|message| {
        let (MessageContent::Confirmation(told) | MessageContent::ConfirmationByKey(told)) =
            &message.content
        else {
            return false;
        };
        let Progress::Waiting { attempts, .. } = message.progress else { return false };
        // Before its first attempt what a key alone caused may turn out to be too much.
        (attempts > 0 || !message.is_by_key())
            && delivery::still_told(next, message, told).any(|it| it.id == id)
    })
}

/// Whether a client has still to be told that an appointment is not cancelled any more.
fn is_to_be_restored(next: &GroupState, id: VeventId) -> bool {
    next.outbox
        .open_about(id)
        .any(|message| matches!(message.content, MessageContent::Restoration(_)))
}

/// Whether a client would notice the change: of time, place or what for.
fn is_noticed(before: &Vevent, after: &Vevent) -> bool {
    let (Some(was), Some(is)) = (before.appointment(), after.appointment()) else { return false };
    was.interval() != is.interval()
        || before.calendar_id != after.calendar_id
        || was.intervention_id != is.intervention_id
}
