//! Bookings that wait for a code: the proof that a group asks for, and the client as given.
//! Reference 6.8.

use crate::domain::decisions::client_record::{
    BookingClient, custom_faults, prepare_new_client, with_customs,
};
use crate::domain::records::channel::Channel;
use crate::domain::records::customfield::{Customs, Model};
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::group::{Group, VerifyBookings};
use crate::domain::records::hold::UnconfirmedBooking;
use crate::domain::records::ids::FicheId;
use crate::domain::records::phone::{text_message_number, to_international};
use crate::domain::records::text::{Email, Text};
use crate::domain::state::command::{BookAppointment, Caller};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::Instant;

/// The rule of a booking without an address to mail its code to.
pub(crate) const EMAIL_FOR_CODE: &str = "is required: a code is mailed to it";

/// Returns the channel of the code that a booking needs; `None` if it needs none.
pub(crate) fn find_code_channel(group: &Group, command: &BookAppointment) -> Option<Channel> {
    match &command.caller {
        Caller::Application if command.is_by_page && !command.is_code_demanded => {
            find_page_code_channel(group)
        }
        Caller::Application => choose_channel(group, command.is_code_demanded),
        Caller::Account(_) | Caller::Pro(_) => None,
    }
}

/// Returns the channel of the code that a page of the server asks for. It also asks for one where
/// `validateEmail` wants a proof.
pub(crate) const fn find_page_code_channel(group: &Group) -> Option<Channel> {
    choose_channel(group, group.validate_email)
}

/// Returns the channel that the group chose; if it chose none, mail for a code that is asked for.
const fn choose_channel(group: &Group, is_asked: bool) -> Option<Channel> {
    match group.verify_bookings {
        VerifyBookings::Off if is_asked => Some(Channel::Mail),
        VerifyBookings::Off => None,
        VerifyBookings::Mail => Some(Channel::Mail),
        VerifyBookings::Sms => Some(Channel::Sms),
    }
}

/// Returns the number that the code of a booking is sent to, if it gives one.
pub(crate) fn find_given_number(group: &Group, command: &BookAppointment) -> Option<String> {
    let id = FicheId::new(1).expect("1 is an id");
    let mut client = Fiche::new(id, Instant::default());
    command.client.fields.apply_to(&mut client);
    find_number(group, &client)
}

/// Drafts a booking that waits for its code. The client needs all that a new client needs, so that
/// the outcome does not tell whether the client is known.
///
/// # Errors
/// InvalidParameter for each wrong field, and for an address or number that the code needs.
pub(crate) fn draft_unconfirmed(
    state: &GroupState,
    command: &BookAppointment,
    channel: Channel,
    new_fiche: FicheId,
    now: Instant,
) -> Result<Box<UnconfirmedBooking>, Refusals> {
    let faults = custom_faults(state, Model::Vevent, &command.customs, command, true);
    let client = prepare_new_client(state, command, new_fiche, faults, now)?;
    let client = *client.written.expect("a new client has a fiche to write");
    let recipient = match channel {
        Channel::Mail => find_mailbox(state, &client),
        Channel::Sms => find_number(&state.catalogue.group, &client),
    };
    let group = &state.catalogue.group;
    if let (Channel::Sms, Some(number)) = (channel, &recipient)
        && !group.sms_countries.allow(number, group.country_code.as_str())
    {
        let rule = "must be a number of a country that the shop sends text messages to";
        return Err(Fault::new("fiche.firstphone", rule).into());
    }
    let Some(recipient) = recipient.and_then(|recipient| Text::new(&recipient).ok()) else {
        let (field, rule) = match channel {
            Channel::Mail => ("fiche.email", EMAIL_FOR_CODE),
            Channel::Sms => ("fiche.firstphone", "must be a number: a code is sent to it"),
        };
        return Err(Fault::new(field, rule).into());
    };
    let customs = Customs::default();
    let customs = with_customs(state, Model::Vevent, customs, &command.customs, &command.caller);
    let smsreminder = command.smsreminder.unwrap_or(group.check_sms_from_web);
    Ok(Box::new(UnconfirmedBooking {
        client,
        channel,
        recipient,
        comments: command.comments.clone(),
        websource: command.websource.clone(),
        smsreminder,
        customs,
        wrong_codes: 0,
        booking_origin: command.booking_origin.clone(),
    }))
}

/// Returns the address that the code is mailed to. The stored spelling of a known address is known
/// to reach the client's mailbox. The given one may reach another mailbox.
fn find_mailbox(state: &GroupState, client: &Fiche) -> Option<String> {
    let given = client.email.as_ref()?;
    let known = state.fiche_of_email(&given.folded()).and_then(|fiche| fiche.email.as_ref());
    Some(known.unwrap_or(given).as_str().to_owned())
}

fn find_number(group: &Group, client: &Fiche) -> Option<String> {
    let phones = [client.firstphone.as_str(), client.secondphone.as_str()];
    text_message_number(phones, group.country_code.as_str())
}

/// Returns the client of a booking whose code was given: the known one of the address, else a new
/// one. By text message, a known client is joined only if it has the number of the code.
///
/// # Errors
/// EmailAlreadyExists or EmailNotFound.
pub(crate) fn find_confirmed_client(
    state: &GroupState,
    booking: &UnconfirmedBooking,
    new_id: FicheId,
    now: Instant,
) -> Result<BookingClient, Refusal> {
    let folded = booking.client.email.as_ref().map(Email::folded);
    if let Some(folded) = &folded
        && let Some(known) = state.fiche_of_email(folded)
        && is_proven(state, booking, known)
    {
        if state.accounts.contains_key(folded) {
            return Err(Refusal::EmailAlreadyExists);
        }
        return Ok(BookingClient { fiche_id: known.id, written: None });
    }
    if !state.catalogue.group.open {
        return Err(Refusal::EmailNotFound);
    }
    let at = state.stamp_for(now);
    let mut fiche = booking.client.clone();
    fiche.id = new_id;
    fiche.created_at = at;
    fiche.updated_at = at;
    fiche.mail_since = now;
    fiche.sms_since = now;
    Ok(BookingClient { fiche_id: new_id, written: Some(Box::new(fiche)) })
}

/// Whether the code has proved that the caller is this client.
fn is_proven(state: &GroupState, booking: &UnconfirmedBooking, known: &Fiche) -> bool {
    match booking.channel {
        Channel::Mail => true,
        Channel::Sms => {
            let country_code = state.catalogue.group.country_code.as_str();
            let phones = [known.firstphone.as_str(), known.secondphone.as_str()];
            phones.into_iter().any(|phone| {
                to_international(phone, country_code).as_deref() == Some(booking.recipient.as_str())
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::records::ids::GroupId;
    use crate::domain::records::text::LongText;
    use crate::domain::state::command::{Client, Patch};
    use crate::domain::time::Civil;
    use crate::domain::time::zone_names::ZoneName;

    fn booking(phones: [&'static str; 2]) -> BookAppointment {
        let mut fields = Patch::default();
        fields.push(move |fiche: &mut Fiche| {
            let [first, second] = phones.map(|phone| Text::new(phone).expect("a text"));
            (fiche.firstphone, fiche.secondphone) = (first, second);
        });
        BookAppointment {
            permission: None,
            calendarset_ids: Vec::new(),
            is_by_page: false,
            is_code_demanded: false,
            needs_contact: false,
            booking_origin: None,
            hold: None,
            caller: Caller::Application,
            from_web: true,
            date: Civil::from_ymd_hms(2026, 3, 3, 9, 0, 0).expect("a time"),
            intervention_ids: Vec::new(),
            calendar_id: None,
            client: Client { id: None, email: None, fields, customs: Vec::new() },
            comments: LongText::default(),
            internal_comments: Text::default(),
            taker: Text::default(),
            websource: Text::default(),
            smsreminder: None,
            customs: Vec::new(),
        }
    }

    #[test]
    fn a_texted_code_goes_to_the_first_number_of_the_booking_that_takes_it() {
        let zone = ZoneName::from_name("Paris").expect("a zone");
        let mut group = Group::new(GroupId::new(1).expect("an id"), zone, Instant(0));
        group.country_code = Text::new("33").expect("a prefix");
        for (phones, number) in [
            (["06 12 34 56 78", ""], Some("+33612345678")),
            (["04 78 12 34 56", "06 12 34 56 78"], Some("+33612345678")),
            (["none", ""], None),
        ] {
            let found = find_given_number(&group, &booking(phones));
            assert_eq!(found.as_deref(), number, "{phones:?}");
        }
    }
}
