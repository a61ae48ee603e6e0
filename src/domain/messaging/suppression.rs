//! Reasons why a message is not wanted any more, from the newest state. Reference 7.2.

use crate::domain::messaging::client_knowledge::present_details;
use crate::domain::messaging::planning;
use crate::domain::messaging::recipient::{appointment_recipient, email_address};
use crate::domain::records::channel::Channel;
use crate::domain::records::hold::{HoldId, HoldState};
use crate::domain::records::ids::FicheId;
use crate::domain::records::known_appointment::KnownAppointment;
use crate::domain::records::message::{
    AppointmentTime, Message, MessageContent, SuppressionReason, WithdrawnAppointment,
};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;

/// Returns the reason why a message is not wanted any more; `None` if it is to be sent.
pub fn find_suppression_reason(
    state: &GroupState,
    message: &Message,
    now: Instant,
) -> Option<SuppressionReason> {
    if let Some(known) = &message.known {
        return notice_reason(state, message, known, now);
    }
    match &message.content {
        MessageContent::AccountLink { expires, .. } => {
            if *expires <= now {
                Some(SuppressionReason::Expired)
            } else {
                None
            }
        }
        MessageContent::AccountNotice(_) | MessageContent::ShopWarning(_) => None,
        MessageContent::BookingCode { hold, expires, .. } => {
            code_reason(state, *hold, *expires, now)
        }
        MessageContent::Confirmation(appointments) => {
            let mut first_reason = None;
            for appointment in appointments {
                let current = with_current_start(state, *appointment);
                // The message is sent if any of its appointments still stands.
                let reason = live_appointment_reason(state, message, current, now)?;
                first_reason.get_or_insert(reason);
            }
            first_reason
        }
        MessageContent::Change { appointment, .. } | MessageContent::Restoration(appointment) => {
            live_appointment_reason(state, message, *appointment, now)
        }
        MessageContent::Cancellation(appointment) => {
            cancellation_reason(state, message, *appointment, now)
        }
        MessageContent::Withdrawal(withdrawn) => withdrawal_reason(state, withdrawn, now),
        MessageContent::Reminder(channel, appointment) => {
            reminder_reason(state, message, *channel, *appointment, now)
        }
    }
}

/// The reason for a code: its booking does not wait for it any more.
fn code_reason(
    state: &GroupState,
    hold: HoldId,
    expires: Instant,
    now: Instant,
) -> Option<SuppressionReason> {
    let is_waiting = match state.holds().get(hold) {
        Some(hold) => matches!(hold.state, HoldState::Unconfirmed(_)),
        None => false,
    };
    if is_waiting && now < expires { None } else { Some(SuppressionReason::Expired) }
}

/// Returns an appointment with its start by the newest state. An appointment that was removed for
/// good stays as it is.
#[must_use]
pub fn with_current_start(state: &GroupState, appointment: AppointmentTime) -> AppointmentTime {
    match state.rows.get(&appointment.id) {
        Some(row) => AppointmentTime::from_vevent(row).unwrap_or(appointment),
        None => appointment,
    }
}

/// Returns the row of an appointment that still stands at its start, or the reason why it does not.
fn find_standing_row<'a>(
    state: &'a GroupState,
    message: &Message,
    appointment: AppointmentTime,
) -> Result<&'a Vevent, SuppressionReason> {
    // Only a cancelled appointment is ever removed for good.
    let row = state.rows.get(&appointment.id).ok_or(SuppressionReason::Cancelled)?;
    if row.deleted {
        return Err(SuppressionReason::Cancelled);
    }
    if state.outbox.is_withdrawn_since(appointment.id, message.id) {
        return Err(SuppressionReason::GivenAway);
    }
    if row.appointment().is_some_and(|current| current.start != appointment.start) {
        return Err(SuppressionReason::Moved);
    }
    Ok(row)
}

/// The reason for a message that announces a live appointment at a start.
fn live_appointment_reason(
    state: &GroupState,
    message: &Message,
    appointment: AppointmentTime,
    now: Instant,
) -> Option<SuppressionReason> {
    let row = match find_standing_row(state, message, appointment) {
        Ok(row) => row,
        Err(reason) => return Some(reason),
    };
    let recipient = appointment_recipient(state, row, Channel::Mail);
    mail_reason(state, recipient, appointment, now)
}

fn cancellation_reason(
    state: &GroupState,
    message: &Message,
    appointment: AppointmentTime,
    now: Instant,
) -> Option<SuppressionReason> {
    let Some(row) = state.rows.get(&appointment.id) else {
        return Some(SuppressionReason::Cancelled);
    };
    if !row.deleted {
        return Some(SuppressionReason::Restored);
    }
    if state.outbox.is_withdrawn_since(appointment.id, message.id) {
        return Some(SuppressionReason::GivenAway);
    }
    // The public may have given any address. One that got no mail about the booking may belong to
    // a person who knows nothing of it.
    if message.is_by_key() && !state.outbox.is_confirmed(row.id, row.created_at, now) {
        return Some(SuppressionReason::Unconfirmed);
    }
    let recipient = appointment_recipient(state, row, Channel::Mail);
    mail_reason(state, recipient, appointment, now)
}

/// The reason for a cancellation to a former client: the appointment belongs to that client again.
fn withdrawal_reason(
    state: &GroupState,
    withdrawn: &WithdrawnAppointment,
    now: Instant,
) -> Option<SuppressionReason> {
    if let Some(row) = state.rows.get(&withdrawn.appointment.id)
        && !row.deleted
        && let Some(appointment) = row.appointment()
        && appointment.fiche_id == state.kept_client(withdrawn.client)
    {
        return Some(SuppressionReason::Restored);
    }
    mail_reason(state, email_address(state, withdrawn.client), withdrawn.appointment, now)
}

/// The reason for a notice that has waited, from the knowledge of its client.
fn notice_reason(
    state: &GroupState,
    message: &Message,
    known: &KnownAppointment,
    now: Instant,
) -> Option<SuppressionReason> {
    let appointment = *message.appointments().first()?;
    let announces_end =
        matches!(message.content, MessageContent::Cancellation(_) | MessageContent::Withdrawal(_));
    let present = present_details(state, appointment.id, known.client);
    let is_withdrawal = matches!(message.content, MessageContent::Withdrawal(_));
    if !is_withdrawal && belongs_to_another(state, appointment, known.client) {
        return Some(SuppressionReason::GivenAway);
    }
    // What the client still expects, another message announces, or it was changed quietly.
    if announces_end && present.is_some() {
        return Some(SuppressionReason::Restored);
    }
    if !announces_end {
        let Some(present) = present else { return Some(SuppressionReason::Cancelled) };
        if present.start != appointment.start {
            return Some(SuppressionReason::Moved);
        }
    }
    mail_reason(state, email_address(state, known.client), appointment, now)
}

fn belongs_to_another(state: &GroupState, appointment: AppointmentTime, client: FicheId) -> bool {
    let Some(row) = state.rows.get(&appointment.id) else { return false };
    row.appointment().is_none_or(|appointment| appointment.fiche_id != client)
}

/// The reasons that hold for every mail about an appointment.
fn mail_reason(
    state: &GroupState,
    recipient: Option<String>,
    appointment: AppointmentTime,
    now: Instant,
) -> Option<SuppressionReason> {
    if !state.catalogue.group.sendmail {
        Some(SuppressionReason::Unwanted)
    } else if recipient.is_none() {
        Some(SuppressionReason::NoRecipient)
    } else if appointment.start <= now {
        Some(SuppressionReason::Begun)
    } else {
        None
    }
}

fn reminder_reason(
    state: &GroupState,
    message: &Message,
    channel: Channel,
    appointment: AppointmentTime,
    now: Instant,
) -> Option<SuppressionReason> {
    let row = match find_standing_row(state, message, appointment) {
        Ok(row) => row,
        Err(reason) => return Some(reason),
    };
    if appointment_recipient(state, row, channel).is_none() {
        return Some(SuppressionReason::NoRecipient);
    }
    match planning::due_time(state, state.catalogue.zone(), row, channel) {
        None => Some(SuppressionReason::Unwanted),
        Some(due) if now < due => Some(SuppressionReason::Moved),
        Some(_) => None,
    }
}
