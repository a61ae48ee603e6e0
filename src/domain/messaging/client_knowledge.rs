//! The knowledge that a client has of an appointment, and the notice that leads from it to the
//! present state. Reference 7.3.
//!
//! A notice about a professional's change waits. When it is due, it tells the difference between
//! the client's knowledge and the newest state, and is not sent if there is none. Another message
//! that begins to leave meanwhile changes the client's knowledge.

use std::sync::Arc;

use crate::domain::messaging::recipient::email_address;
use crate::domain::records::channel::Channel;
use crate::domain::records::ids::{FicheId, MessageId, VeventId};
use crate::domain::records::known_appointment::{
    AppointmentDetails, Expectation, KnownAppointment, News,
};
use crate::domain::records::message::{
    AppointmentTime, Message, MessageContent, Progress, SuppressionReason, WithdrawnAppointment,
};
use crate::domain::records::text::folded;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::outbox::Outbox;

/// The fate of a message that had begun to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It has arrived, or can be read in the list.
    Arrived,
    /// It is being attempted, or will be again.
    Open,
    /// No attempt has reached the client.
    NeverLeft,
    /// It was given up. An attempt may have arrived.
    Unknown,
}

fn fate_of(message: &Message) -> Fate {
    match &message.progress {
        Progress::Sent { .. } | Progress::Kept { .. } => Fate::Arrived,
        Progress::Claimed { .. } => Fate::Open,
        Progress::Waiting { .. } if message.is_unattempted() => Fate::NeverLeft,
        Progress::Waiting { .. } => Fate::Open,
        Progress::Suppressed { why: SuppressionReason::Unchanged, .. } => Fate::NeverLeft,
        Progress::Failed { .. } | Progress::Missed { .. } | Progress::Suppressed { .. } => {
            if message.first_claimed_at.is_none() {
                Fate::NeverLeft
            } else {
                Fate::Unknown
            }
        }
    }
}

/// The fate of the message with some news. One that has been removed since was sent 90 days ago.
fn fate_of_news(outbox: &Outbox, news: &News) -> Fate {
    outbox.message(news.by).map_or(Fate::Arrived, |message| fate_of(message))
}

/// Returns a client's true expectation of an event; `None` if the event has been removed.
fn present_expectation(state: &GroupState, id: VeventId, client: FicheId) -> Option<Expectation> {
    Expectation::of_row(state.rows.get(&id)?, client)
}

/// Returns the appointment that a client really has; `None` if it is cancelled or another's.
pub fn present_details(
    state: &GroupState,
    id: VeventId,
    client: FicheId,
) -> Option<AppointmentDetails> {
    let present = present_expectation(state, id, client)?;
    if present.is_expected { Some(present.details) } else { None }
}

/// Returns the surest expectation of a client: the newest that is certain to have arrived.
pub fn surest_expectation(outbox: &Outbox, known: &KnownAppointment) -> Expectation {
    match &known.news {
        Some(news) if fate_of_news(outbox, news) == Fate::Arrived => news.expectation,
        _ => known.sure,
    }
}

/// Whether the client of a notice that was not attempted knows what it would say.
pub fn is_known_already(state: &GroupState, message: &Message) -> bool {
    match (&message.known, message.appointment()) {
        (Some(known), Some(id)) => is_up_to_date(state, id, known),
        _ => false,
    }
}

/// Whether a client knows the present state of an event for sure, or by a message that is on its
/// way and will be repeated until it arrives.
pub fn is_up_to_date(state: &GroupState, id: VeventId, known: &KnownAppointment) -> bool {
    let is_present = |expectation: &Expectation| match present_expectation(state, id, known.client)
    {
        Some(present) => present.is_same(expectation),
        None => !expectation.is_expected,
    };
    let knows_surely = !known.in_doubt && is_present(&known.sure);
    match &known.news {
        None => knows_surely,
        Some(news) => match fate_of_news(&state.outbox, news) {
            Fate::Arrived => is_present(&news.expectation),
            Fate::Open => is_present(&news.expectation) && is_still_true(state, id, known, news),
            Fate::NeverLeft => knows_surely,
            Fate::Unknown => false,
        },
    }
}

/// Whether the message with some news will be attempted until it arrives: what it says is true.
fn is_still_true(state: &GroupState, id: VeventId, known: &KnownAppointment, news: &News) -> bool {
    let (Some(message), Some(row)) = (state.outbox.message(news.by), state.rows.get(&id)) else {
        return false;
    };
    let is_own = row.fiche_id() == Some(known.client);
    match &message.content {
        MessageContent::Cancellation(_) => is_own && row.deleted,
        MessageContent::Withdrawal(_) => !is_own || row.deleted,
        MessageContent::Confirmation(_)
        | MessageContent::Change { .. }
        | MessageContent::Restoration(_)
        | MessageContent::Reminder(..) => {
            let standing = AppointmentTime::from_vevent(row);
            is_own && !row.deleted && message.appointments().iter().any(|it| Some(*it) == standing)
        }
        MessageContent::AccountLink { .. }
        | MessageContent::BookingCode { .. }
        | MessageContent::AccountNotice(_)
        | MessageContent::ShopWarning(_) => false,
    }
}

/// Returns the knowledge that a client has of an appointment right before an event about it.
/// `before` is its row then.
///
/// The client knows what the last notice said. It knows its own changes, those that were made
/// quietly, and the booking itself.
///
/// # Panics
/// If the row is no appointment.
pub fn find_knowledge(state: &GroupState, before: &Vevent, client: FicheId) -> KnownAppointment {
    let sure = Expectation::of_row(before, client).expect("a notice is about an appointment");
    let as_before = KnownAppointment { client, sure, news: None, in_doubt: false };
    let address = email_address(state, client);
    let mut to_others = Vec::new();
    for message in state.outbox.messages_about(before.id).rev() {
        if message.reminder().is_some() {
            continue;
        }
        let Some(known) = &message.known else {
            // It is about the booking, or about a change by the client who had the appointment.
            if went_to(message, client, address.as_deref()) {
                // What is under way may arrive after the client's own change.
                let about = state.outbox.messages_about(before.id);
                let earlier = about.take_while(|earlier| earlier.id < message.id);
                let in_doubt = is_any_under_way(earlier, client, address.as_deref());
                return KnownAppointment { in_doubt, ..as_before };
            }
            to_others.push(folded(message.recipient.as_str()));
            continue;
        };
        if known.client != client {
            continue;
        }
        // The client has another address by now, and one of the later messages went to this one.
        if to_others.contains(&folded(message.recipient.as_str())) {
            return as_before;
        }
        return match fate_of(message) {
            Fate::Arrived => as_before,
            Fate::NeverLeft if is_settled_as_unchanged(message) => match &known.news {
                // Another message said the same, which may not have arrived.
                Some(News { by, .. }) => {
                    with_news(&state.outbox, known, News { by: *by, expectation: sure })
                }
                None => as_before,
            },
            Fate::NeverLeft => KnownAppointment::clone(known),
            Fate::Open | Fate::Unknown => {
                with_news(&state.outbox, known, News { by: message.id, expectation: sure })
            }
        };
    }
    as_before
}

/// Whether a message without knowledge went to a client. Only a withdrawal names its client. Any
/// other went to the client who had the appointment then, and its address tells who that was. The
/// row may be another's by now, and a gift that its former client need not hear of has no notice.
fn went_to(message: &Message, client: FicheId, address: Option<&str>) -> bool {
    if let MessageContent::Withdrawal(withdrawn) = &message.content {
        return withdrawn.client == client;
    }
    address.is_some_and(|address| folded(address) == folded(message.recipient.as_str()))
}

/// Whether one of these messages is being attempted, and goes to a client.
fn is_any_under_way<'a>(
    messages: impl Iterator<Item = &'a Arc<Message>>,
    client: FicheId,
    address: Option<&str>,
) -> bool {
    for message in messages {
        let is_own = match &message.known {
            Some(known) => known.client == client,
            None => went_to(message, client, address),
        };
        if is_own && matches!(message.progress, Progress::Claimed { .. }) {
            return true;
        }
    }
    false
}

fn is_settled_as_unchanged(message: &Message) -> bool {
    matches!(message.progress, Progress::Suppressed { why: SuppressionReason::Unchanged, .. })
}

/// Returns the knowledge with later news, which may not have arrived.
fn with_news(outbox: &Outbox, known: &KnownAppointment, news: News) -> KnownAppointment {
    let mut in_doubt = known.in_doubt;
    if let Some(earlier) = &known.news
        && earlier.by != news.by
    {
        match fate_of_news(outbox, earlier) {
            Fate::Arrived => in_doubt = false,
            Fate::NeverLeft => {}
            Fate::Open | Fate::Unknown => in_doubt = true,
        }
    }
    let sure = surest_expectation(outbox, known);
    KnownAppointment { client: known.client, sure, news: Some(news), in_doubt }
}

/// Returns the waiting notices whose clients learn of the present state by a message that begins to
/// leave now.
pub fn spread_news(state: &GroupState, message: &Message) -> Vec<Message> {
    let mut informed = Vec::new();
    for appointment in message.appointments() {
        let Some(client) = find_addressee(state, message, appointment.id) else { continue };
        for notice in state.outbox.waiting_notices(appointment.id, client) {
            if notice.id != message.id
                && let Some(known) = &notice.known
                && let Some(known) = after_message(state, message, appointment.id, known)
            {
                let known = Some(Box::new(known));
                informed.push(Message { known, ..Message::clone(notice) });
            }
        }
    }
    informed
}

/// Returns the client that a message about an appointment goes to.
fn find_addressee(state: &GroupState, message: &Message, id: VeventId) -> Option<FicheId> {
    if let Some(known) = &message.known {
        return Some(known.client);
    }
    if let MessageContent::Withdrawal(withdrawn) = &message.content {
        return Some(withdrawn.client);
    }
    Some(state.rows.get(&id)?.appointment()?.fiche_id)
}

/// Returns a client's knowledge once another message has arrived; `None` if it tells nothing new.
fn after_message(
    state: &GroupState,
    message: &Message,
    id: VeventId,
    known: &KnownAppointment,
) -> Option<KnownAppointment> {
    let present = present_expectation(state, id, known.client)?;
    let learnt = match &message.content {
        // A reminder has no calendar part, from which a client would see another end.
        MessageContent::Reminder(Channel::Mail, _) => AppointmentDetails {
            length_seconds: known.sure.details.length_seconds,
            ..present.details
        },
        MessageContent::Reminder(Channel::Sms, _) => {
            AppointmentDetails { start: present.details.start, ..known.sure.details }
        }
        MessageContent::Confirmation(_)
        | MessageContent::Change { .. }
        | MessageContent::Cancellation(_)
        | MessageContent::Withdrawal(_)
        | MessageContent::Restoration(_)
        | MessageContent::AccountLink { .. }
        | MessageContent::BookingCode { .. }
        | MessageContent::AccountNotice(_)
        | MessageContent::ShopWarning(_) => present.details,
    };
    let expectation = Expectation { details: learnt, ..present };
    if known.news.is_none() && !known.in_doubt && known.sure.is_same(&expectation) {
        return None;
    }
    Some(with_news(&state.outbox, known, News { by: message.id, expectation }))
}

/// Sets the content of a notice to what leads its client from its knowledge to the present state.
/// Other messages stay as they are.
pub fn update_notice(state: &GroupState, message: &mut Message) {
    let (Some(known), Some(id)) = (&message.known, message.appointment()) else { return };
    let surest = surest_expectation(&state.outbox, known);
    let updated = match present_details(state, id, known.client) {
        Some(present) => {
            let appointment = AppointmentTime { id, start: present.start };
            announce_present(&message.content, &surest, appointment)
        }
        None if surest.is_expected => announce_end(&message.content, &surest.details),
        None => None,
    };
    if let Some(content) = updated {
        message.content = content;
    }
}

/// The announcement of an appointment that its client has; `None` if another message announces it.
fn announce_present(
    content: &MessageContent,
    surest: &Expectation,
    appointment: AppointmentTime,
) -> Option<MessageContent> {
    if surest.is_expected {
        return Some(MessageContent::Change { appointment, was: surest.details.start });
    }
    match content {
        MessageContent::Confirmation(_) => Some(MessageContent::Confirmation(vec![appointment])),
        MessageContent::Change { .. } | MessageContent::Restoration(_) => {
            Some(MessageContent::Restoration(appointment))
        }
        MessageContent::Cancellation(_)
        | MessageContent::Withdrawal(_)
        | MessageContent::Reminder(..)
        | MessageContent::AccountLink { .. }
        | MessageContent::BookingCode { .. }
        | MessageContent::AccountNotice(_)
        | MessageContent::ShopWarning(_) => None,
    }
}

/// The announcement of an end, with the appointment as the client expects it; `None` if another
/// message announces the end, or it was made quietly.
fn announce_end(content: &MessageContent, expected: &AppointmentDetails) -> Option<MessageContent> {
    match content {
        MessageContent::Cancellation(appointment) => {
            let start = expected.start;
            Some(MessageContent::Cancellation(AppointmentTime { start, ..*appointment }))
        }
        MessageContent::Withdrawal(withdrawn) => {
            Some(MessageContent::Withdrawal(Box::new(WithdrawnAppointment {
                appointment: AppointmentTime { start: expected.start, ..withdrawn.appointment },
                length_seconds: expected.length_seconds,
                calendar: expected.calendar,
                intervention: expected.intervention,
                ..WithdrawnAppointment::clone(withdrawn)
            })))
        }
        MessageContent::Confirmation(_)
        | MessageContent::Change { .. }
        | MessageContent::Restoration(_)
        | MessageContent::Reminder(..)
        | MessageContent::AccountLink { .. }
        | MessageContent::BookingCode { .. }
        | MessageContent::AccountNotice(_)
        | MessageContent::ShopWarning(_) => None,
    }
}

/// Whether a cancellation of an appointment is still to be sent.
pub fn has_open_cancellation(state: &GroupState, id: VeventId) -> bool {
    let mut open = state.outbox.open_about(id);
    open.any(|message| matches!(message.content, MessageContent::Cancellation(_)))
}

/// Whether a confirmation of an appointment is certain to be sent with its current start.
pub fn has_open_confirmation(next: &GroupState, id: VeventId, client: FicheId) -> bool {
    for message in next.outbox.open_about(id) {
        if message.known.as_ref().is_some_and(|known| known.client != client) {
            continue;
        }
        // Its client knows by a reminder, so it would not be sent.
        if is_known_already(next, message) {
            continue;
        }
        // Its client has heard of another change since. A new notice takes its place.
        if message.known.is_some() && has_heard_since(next, id, client, message.id) {
            continue;
        }
        let MessageContent::Confirmation(appointments) = &message.content else { continue };
        let Progress::Waiting { attempts, .. } = message.progress else { continue };
        // Before its first attempt, the quota may still suppress a message caused by a key alone.
        if attempts == 0 && message.is_by_key() {
            continue;
        }
        if next.outbox.still_held(message.id, appointments).any(|it| it.id == id) {
            return true;
        }
    }
    false
}

/// Whether a message without knowledge went to a client after another one: about a change by the
/// client itself, nearly always.
fn has_heard_since(state: &GroupState, id: VeventId, client: FicheId, after: MessageId) -> bool {
    let address = email_address(state, client);
    let mut later = state.outbox.messages_about(id).rev().take_while(|later| later.id > after);
    later.any(|later| {
        later.known.is_none()
            && later.reminder().is_none()
            && went_to(later, client, address.as_deref())
    })
}

/// Whether a message tells of an appointment that has changed between two states, and a notice
/// about the change waits. Then what the message tells is not what a later notice takes it for.
pub fn is_overtaken(claimed: &GroupState, newest: &GroupState, message: &Message) -> bool {
    message.appointments().iter().any(|appointment| {
        let id = appointment.id;
        let (Some(was), Some(is)) = (claimed.rows.get(&id), newest.rows.get(&id)) else {
            return false;
        };
        let is_same = Arc::ptr_eq(was, is)
            || (AppointmentDetails::from_vevent(was) == AppointmentDetails::from_vevent(is)
                && was.deleted == is.deleted);
        let mut notices = newest.outbox.messages_about(id);
        !is_same && notices.any(|notice| notice.is_unattempted() && notice.known.is_some())
    })
}
