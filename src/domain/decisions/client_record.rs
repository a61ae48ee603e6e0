//! Client record of a booking: an existing fiche, a changed one or a new one. Reference 6.3.

use std::sync::Arc;

use crate::domain::decisions::contact_rule::{GivenContact, find_contact_fault};
use crate::domain::records::customfield::{Customs, Model};
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::FicheId;
use crate::domain::state::command::{BookAppointment, Caller, GivenCustoms};
use crate::domain::state::editable_record::EditableRecord as _;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::Instant;
use crate::planted_faults::PlantedFault;

/// The client of a booking.
#[derive(Clone, Debug)]
pub(crate) struct BookingClient {
    /// Id of the client's fiche.
    pub(crate) fiche_id: FicheId,
    /// The fiche to write, if the booking creates or changes it.
    pub(crate) written: Option<Box<Fiche>>,
}

/// Finds or creates the client of a booking. Also checks the customised attributes of the
/// appointment, because all wrong fields are reported together. Reference 6.3, 9.
///
/// # Errors
/// InvalidParameter for each wrong field; EmailNotFound or EmailAlreadyExists alone.
pub(crate) fn prepare_client(
    state: &GroupState,
    command: &BookAppointment,
    new_fiche: FicheId,
    now: Instant,
) -> Result<BookingClient, Refusals> {
    let faults = custom_faults(state, Model::Vevent, &command.customs, command, true);
    if let Some((id, fiche)) = named_fiche(state, command)? {
        return prepare_named_client(state, command, id, fiche, faults, now);
    }
    if command.caller == Caller::Application {
        return prepare_unproven_client(state, command, new_fiche, faults, now);
    }
    match fiche_by_email(state, command) {
        Some(known) => {
            refuse_faults(faults)?;
            Ok(BookingClient { fiche_id: known.fiche_id, written: None })
        }
        None => prepare_new_client(state, command, new_fiche, faults, now),
    }
}

/// Returns the client of a booking by a key alone. Reference 3.6.
///
/// All that a new client needs is needed for a known one too, and is checked before an address is
/// looked up. Otherwise a missing name would tell which addresses are known.
fn prepare_unproven_client(
    state: &GroupState,
    command: &BookAppointment,
    new_fiche: FicheId,
    faults: Refusals,
    now: Instant,
) -> Result<BookingClient, Refusals> {
    let new = prepare_new_client(state, command, new_fiche, faults, now)?;
    match fiche_by_email(state, command) {
        None if state.catalogue.group.open => Ok(new),
        None => Err(Refusal::EmailNotFound.into()),
        Some(known) if known.has_account => Err(Refusal::EmailAlreadyExists.into()),
        Some(known) => Ok(BookingClient { fiche_id: known.fiche_id, written: None }),
    }
}

/// Returns the client with the fiche that the caller named or owns. A professional's fields change
/// it.
fn prepare_named_client(
    state: &GroupState,
    command: &BookAppointment,
    id: FicheId,
    fiche: &Fiche,
    mut faults: Refusals,
    now: Instant,
) -> Result<BookingClient, Refusals> {
    let client = &command.client;
    if let Some(rule) = fiche.closed_rule() {
        return Err(Fault::new("fiche.id", rule).into());
    }
    // An account that names no fiche books for its own and changes nothing in it.
    if client.id.is_none() {
        refuse_faults(faults)?;
        return Ok(BookingClient { fiche_id: id, written: None });
    }
    faults.extend(custom_faults(state, Model::Fiche, &client.customs, command, false));
    refuse_faults(faults)?;
    if client.fields.is_empty() && client.customs.is_empty() {
        return Ok(BookingClient { fiche_id: id, written: None });
    }
    let mut changed = fiche.clone();
    client.fields.apply_to(&mut changed);
    changed.customs =
        with_customs(state, Model::Fiche, changed.customs, &client.customs, &command.caller);
    if is_nameless(&changed) && !is_nameless(fiche) {
        let fault = Fault::new("fiche.lastname", "a client keeps a last or a first name");
        return Err(fault.into());
    }
    changed.touch(Some(fiche), state.stamp_for(now), now);
    Ok(BookingClient { fiche_id: id, written: Some(Box::new(changed)) })
}

/// Returns the client with a new fiche.
pub(crate) fn prepare_new_client(
    state: &GroupState,
    command: &BookAppointment,
    new_fiche: FicheId,
    mut faults: Refusals,
    now: Instant,
) -> Result<BookingClient, Refusals> {
    let client = &command.client;
    let mut fiche = Fiche::new(new_fiche, state.stamp_for(now));
    fiche.mail_since = now;
    fiche.sms_since = now;
    client.fields.apply_to(&mut fiche);
    // A booking sets neither of them, whatever the given fields say.
    fiche.from_web = command.from_web;
    fiche.deleted = false;
    fiche.customs =
        with_customs(state, Model::Fiche, fiche.customs, &client.customs, &command.caller);
    if is_nameless(&fiche) {
        faults.push(Refusal::InvalidParameter(missing_name_fault()));
    }
    // A key of before the setting goes on as it was.
    if command.caller == Caller::Application && command.needs_contact {
        let phones = [fiche.firstphone.as_str(), fiche.secondphone.as_str()];
        let given = GivenContact { has_email: fiche.email.is_some(), phones };
        let needed = state.catalogue.group.contact_needed;
        faults.extend(find_contact_fault(needed, given).map(Refusal::InvalidParameter));
    }
    faults.extend(custom_faults(state, Model::Fiche, &client.customs, command, true));
    refuse_faults(faults)?;
    Ok(BookingClient { fiche_id: fiche.id, written: Some(Box::new(fiche)) })
}

/// Returns the fiche that the caller named, or the account's own. `None` if the caller is no
/// account and named none.
///
/// # Errors
/// InvalidParameter if there is no such fiche. To an account, the fiche of another account is one
/// that does not exist. Reference 6.3.
fn named_fiche<'r>(
    state: &'r GroupState,
    command: &BookAppointment,
) -> Result<Option<(FicheId, &'r Arc<Fiche>)>, Fault> {
    let (id, owned) = match (&command.caller, command.client.id) {
        (Caller::Account(account), id) => {
            let id = id.unwrap_or(account.fiche_id);
            (id, account.owns(id) || PlantedFault::ForeignFicheAccepted.is_active())
        }
        (Caller::Application | Caller::Pro(_), Some(id)) => (id, true),
        (Caller::Application | Caller::Pro(_), None) => return Ok(None),
    };
    match state.fiches.get(&id) {
        Some(fiche) if owned => Ok(Some((id, fiche))),
        _ => Err(Fault::new("fiche.id", unknown_fiche_rule(&command.caller))),
    }
}

/// A fiche that was found by its e-mail.
struct KnownClient {
    fiche_id: FicheId,
    /// Whether an account has this e-mail.
    has_account: bool,
}

/// Finds the live fiche of the given e-mail. Only the module looks for it.
fn fiche_by_email(state: &GroupState, command: &BookAppointment) -> Option<KnownClient> {
    if !command.from_web {
        return None;
    }
    let folded = command.client.email.as_ref()?.folded();
    let fiche_id = state.fiche_of_email(&folded)?.id;
    Some(KnownClient { fiche_id, has_account: state.accounts.contains_key(&folded) })
}

/// Returns the rule that a wrong `fiche.id` breaks. Reference 6.3.
pub const fn unknown_fiche_rule(caller: &Caller) -> &'static str {
    match caller {
        Caller::Account(_) => "must be the id of one of your own fiches",
        Caller::Application | Caller::Pro(_) => "must be the id of one of the group's fiches",
    }
}

/// Returns the fault of a booking that would create a fiche without a name. Reference 6.3.
#[must_use]
pub fn missing_name_fault() -> Fault {
    Fault::new("fiche.lastname", "the client needs a last or first name")
}

fn is_nameless(fiche: &Fiche) -> bool {
    fiche.lastname.is_blank() && fiche.firstname.is_blank()
}

fn refuse_faults(faults: Refusals) -> Result<(), Refusals> {
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Returns the faults of given customised attributes: undefined names with a value, then required
/// ones without a value. The latter count only if the record `is_new`. Reference 9.
pub(crate) fn custom_faults(
    state: &GroupState,
    model: Model,
    given: &GivenCustoms,
    command: &BookAppointment,
    is_new: bool,
) -> Refusals {
    let prefix = match model {
        Model::Fiche => "fiche.",
        Model::Vevent => "",
    };
    let mut faults = Vec::new();
    for (name, value) in given {
        if value.is_some() && state.catalogue.customfield(model, *name).is_none() {
            let rule = "the group has not defined this attribute";
            faults.push(Refusal::InvalidParameter(Fault::new(format!("{prefix}{name}"), rule)));
        }
    }
    if !is_new {
        return faults;
    }
    let by_pro = matches!(command.caller, Caller::Pro(_));
    for required in state.catalogue.required_customfields(model, by_pro) {
        if !given.iter().any(|(name, value)| *name == required && value.is_some()) {
            let rule = "this attribute is required";
            faults.push(Refusal::InvalidParameter(Fault::new(format!("{prefix}{required}"), rule)));
        }
    }
    faults
}

/// Returns the customised attributes with the given values set, as far as the caller may set them.
/// Reference 9.
pub(crate) fn with_customs(
    state: &GroupState,
    model: Model,
    mut customs: Customs,
    given: &GivenCustoms,
    caller: &Caller,
) -> Customs {
    for (name, value) in given {
        let Some(field) = state.catalogue.customfield(model, *name) else { continue };
        let settable = match caller {
            Caller::Pro(_) => true,
            Caller::Application | Caller::Account(_) => field.user_visible,
        };
        if settable {
            customs.set(*name, value.clone());
        }
    }
    customs
}
