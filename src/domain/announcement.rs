//! Which messages an event causes: those to the client whose appointment it makes, changes or cancels. Contract 7.

use super::delivery::recipient_of;
use super::event::Event;
use super::ids::VeventId;
use super::outbox::{Channel, Content, Message, Standing};
use super::planning::standing;
use super::root::Root;
use super::time::Instant;
use super::vevent::Vevent;

/// The messages that an event causes where the group sends mails: a confirmation of a booking, and of what becomes an
/// appointment by change; a change of what a client would notice; a cancellation. Nobody is written to about what has begun,
/// nor about an appointment that a professional makes by hand. `next` is the state after the event.
#[must_use]
pub fn messages(root: &Root, next: &Root, event: &Event, now: Instant) -> Vec<Message> {
    if !next.catalogue.group.sendmail {
        return Vec::new();
    }
    let (at, told) = match event {
        Event::AppointmentsBooked { at, legs, .. } => (*at, confirmation(next, legs, now)),
        Event::AppointmentCancelled { at, id } => (*at, changed(root, next, *id, now)),
        Event::VeventPut { at, row } => (*at, changed(root, next, row.id, now)),
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
    told.map(|(content, recipient)| root.outbox.draft(0, at, content, &recipient)).into_iter().collect()
}

/// What is to be told, and to whom.
type Told = Option<(Content, String)>;

fn confirmation(next: &Root, legs: &[Vevent], now: Instant) -> Told {
    let first = legs.first()?;
    let upcoming: Vec<Standing> = legs.iter().filter_map(standing).filter(|leg| leg.start > now).collect();
    if upcoming.is_empty() {
        return None;
    }
    Some((Content::Confirmation(upcoming), recipient_of(next, first, Channel::Mail)?))
}

/// What a change of an event by hand, or its cancellation, tells its client.
fn changed(root: &Root, next: &Root, id: VeventId, now: Instant) -> Told {
    let before = root.rows.get(&id)?;
    let after = next.rows.get(&id)?;
    let standing = standing(after)?;
    let recipient = recipient_of(next, after, Channel::Mail)?;
    let Some(was) = before.appointment() else {
        let upcoming = !after.deleted && standing.start > now;
        return upcoming.then(|| (Content::Confirmation(vec![standing]), recipient));
    };
    let other_client = after.appointment().is_some_and(|it| it.fiche_id != was.fiche_id);
    match (before.deleted, after.deleted) {
        (_, false) if other_client => {
            (standing.start > now).then_some((Content::Confirmation(vec![standing]), recipient))
        }
        (true, true) => None,
        (false, true) => (was.start > now).then_some((Content::Cancellation(standing), recipient)),
        (true, false) | (false, false) => {
            let noticed = before.deleted || is_noticed(before, after);
            let upcoming = standing.start > now;
            (noticed && upcoming).then_some((Content::Change { appointment: standing, was: was.start }, recipient))
        }
    }
}

/// Whether a client would notice the change: of time, place or what for.
fn is_noticed(before: &Vevent, after: &Vevent) -> bool {
    let (Some(was), Some(is)) = (before.appointment(), after.appointment()) else { return false };
    was.interval() != is.interval()
        || before.calendar_id != after.calendar_id
        || was.intervention_id != is.intervention_id
}
