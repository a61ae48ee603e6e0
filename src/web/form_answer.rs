//! The recorded answer to a form that books, and the client whom it is for. Reference 14.3.

use crate::domain::records::fiche::Fiche;
use crate::domain::records::hold::{HoldState, HoldToken};
use crate::domain::records::ids::VeventId;
use crate::domain::records::text::Email;
use crate::domain::state::group_state::GroupState;
use crate::engine::Committed;
use crate::web::appointment_view::{held_appointments, holder_query};
use crate::wire::params::Params;

/// The recorded answer to a form.
pub(crate) enum FormAnswer {
    /// The query that proves to hold the booked appointments.
    Booked(String),
    /// The booking waits for its code.
    Waits(HoldToken),
}

impl FormAnswer {
    /// The name before the token of a booking that waits.
    const TOKEN: &str = "h=";

    /// Returns what is recorded of a booking.
    pub(crate) fn record(done: &Committed) -> Vec<u8> {
        match done.hold.and_then(|id| done.group_state.holds().get(id)) {
            Some(hold) => format!("{}{}", Self::TOKEN, hold.token.as_str()).into_bytes(),
            None => holder_query(&done.group_state, &done.appointments).into_bytes(),
        }
    }

    pub(crate) fn parse(recorded: &[u8]) -> Self {
        let text = String::from_utf8_lossy(recorded);
        match text.strip_prefix(Self::TOKEN).and_then(HoldToken::new) {
            Some(token) => Self::Waits(token),
            None => Self::Booked(text.into_owned()),
        }
    }

    /// Whether a form with other details may be answered with this booking, which leads to its
    /// secret: they must have an e-mail address or a telephone number in common. A booking that
    /// waits for its code leads to none.
    pub(crate) fn is_open_to(&self, state: &GroupState, given: &Params) -> bool {
        match self {
            Self::Booked(query) => {
                let params = Params::from_query(query);
                let mut held = held_appointments(state, &params).into_iter();
                held.any(|row| is_client_of(state, row.id, given))
            }
            Self::Waits(token) => match state.holds().get(token.id()).map(|hold| &hold.state) {
                Some(HoldState::Confirmed { appointments, .. }) => {
                    appointments.iter().any(|id| is_client_of(state, *id, given))
                }
                Some(
                    HoldState::Unconfirmed(_)
                    | HoldState::Chosen
                    | HoldState::Overwritten
                    | HoldState::Guessed,
                )
                | None => true,
            },
        }
    }
}

/// Whether an appointment is that of a form's client.
fn is_client_of(state: &GroupState, appointment: VeventId, given: &Params) -> bool {
    let row = state.rows.get(&appointment);
    let Some(appointment) = row.and_then(|row| row.appointment()) else { return false };
    state.fiches.get(&appointment.fiche_id).is_some_and(|client| is_same_client(client, given))
}

fn is_same_client(client: &Fiche, given: &Params) -> bool {
    let email = given.value("fiche.email").and_then(|text| Email::new(text).ok());
    if let (Some(email), Some(known)) = (&email, &client.email)
        && email.folded() == known.folded()
    {
        return true;
    }
    let phone = given.value("fiche.firstphone").map(phone_digits).unwrap_or_default();
    let known = [&client.firstphone, &client.secondphone];
    !phone.is_empty() && known.iter().any(|known| phone_digits(known.as_str()) == phone)
}

/// Returns the digits of a telephone number.
fn phone_digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}
