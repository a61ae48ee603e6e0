//! The address or phone number that a message goes to. Reference 7.5.

use crate::domain::records::channel::Channel;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::records::message::{Message, MessageContent};
use crate::domain::records::phone;
use crate::domain::records::text::Text;
use crate::domain::records::vevent::Vevent;
use crate::domain::state::group_state::GroupState;
use crate::planted_faults::PlantedFault;

/// Returns the e-mail address of a client. `None` for a deleted client or one without an address.
pub fn email_address(state: &GroupState, client: FicheId) -> Option<String> {
    let email = live_client(state, client)?.email.as_ref()?;
    Some(email.as_str().to_owned())
}

/// Returns the address or number of an appointment's client. `None` if the event is no appointment,
/// the client is deleted, or the channel does not reach the client.
pub fn appointment_recipient(state: &GroupState, row: &Vevent, channel: Channel) -> Option<String> {
    let client = row.appointment()?.fiche_id;
    match channel {
        Channel::Mail => email_address(state, client),
        Channel::Sms => {
            let client = live_client(state, client)?;
            let phones = [client.firstphone.as_str(), client.secondphone.as_str()];
            phone::text_message_number(phones, state.catalogue.group.country_code.as_str())
        }
    }
}

/// Returns the recipient of a message by the newest state. If that has none, the recipient that the
/// message holds.
pub fn current_recipient(state: &GroupState, message: &Message) -> Text<255> {
    if let Some(recipient) = newest_recipient(state, message)
        && let Ok(recipient) = Text::new(&recipient)
    {
        return recipient;
    }
    message.recipient.clone()
}

fn newest_recipient(state: &GroupState, message: &Message) -> Option<String> {
    if let Some(known) = &message.known {
        return email_address(state, known.client);
    }
    let appointment: VeventId = match &message.content {
        MessageContent::AccountLink { .. }
        | MessageContent::AccountNotice(_)
        | MessageContent::ShopWarning(_)
        | MessageContent::BookingCode { .. } => return None,
        MessageContent::Withdrawal(withdrawn) => return email_address(state, withdrawn.client),
        MessageContent::Confirmation(appointments) => {
            state.outbox.still_held(message.id, appointments).next()?.id
        }
        MessageContent::Change { appointment, .. }
        | MessageContent::Cancellation(appointment)
        | MessageContent::Restoration(appointment)
        | MessageContent::Reminder(_, appointment) => appointment.id,
    };
    appointment_recipient(state, state.rows.get(&appointment)?, message.channel())
}

fn live_client(state: &GroupState, id: FicheId) -> Option<&Fiche> {
    let fiche = state.fiches.get(&state.kept_client(id))?;
    if fiche.deleted && !PlantedFault::DeletedClientMailed.is_active() { None } else { Some(fiche) }
}
