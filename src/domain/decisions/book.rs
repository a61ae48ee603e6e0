//! Decision of a booking: the client's rules first, then a calendar that can take it. Reference
//! 2.3, 6.
//!
//! A booking that needs a code holds its time first. The decision on its code makes the
//! appointments.

use std::sync::Arc;

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::slot_request::{BookingMode, CalendarSlotRequest, SlotRequest};
use crate::domain::decisions::candidates::{
    NamedCalendars, WantedSlot, find_offering, order_candidates, parse_slot,
};
use crate::domain::decisions::client_record::{prepare_client, with_customs};
use crate::domain::decisions::client_rules::check_client_rules;
use crate::domain::decisions::decision::{Context, Decision, Outcome};
use crate::domain::decisions::hold::draw_up_hold;
use crate::domain::decisions::unconfirmed::{draft_unconfirmed, find_code_channel};
use crate::domain::records::booking_origin::BookingOrigin;
use crate::domain::records::customfield::{Customs, Model};
use crate::domain::records::group::VerifyBookings;
use crate::domain::records::hold::HoldState;
use crate::domain::records::ids::FicheId;
use crate::domain::records::text::LongText;
use crate::domain::records::vevent::{
    Appointment, BookingComments, OptionalFields, Reminders, State, Vevent, VeventKind,
};
use crate::domain::state::booking_permission::BookingPermission;
use crate::domain::state::command::{BookAppointment, Caller};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};

/// Returns the mode of a booking or a search by this caller. Reference 6.1.
pub const fn booking_mode(caller: &Caller, from_web: bool) -> BookingMode {
    match (caller, from_web) {
        (Caller::Pro(_), false) => BookingMode::BackOffice,
        (Caller::Pro(_), true) => BookingMode::ModuleByPro,
        (Caller::Application, _) => BookingMode::Module,
        (Caller::Account(_), _) => BookingMode::ModuleByAccount,
    }
}

/// Decides a booking: rights, parameters, lead times and client rules, then the calendars.
///
/// # Errors
/// The refusals of Reference 2.3 in its order.
pub fn decide(context: &mut Context<'_>, command: &BookAppointment) -> Result<Decision, Refusals> {
    let Context { state, now, .. } = *context;
    let catalogue = &state.catalogue;
    check_permission(catalogue, command)?;
    let wanted = WantedSlot {
        date: command.date,
        intervention_ids: &command.intervention_ids,
        calendar_id: command.calendar_id,
        mode: booking_mode(&command.caller, command.from_web),
        hold: command.hold,
    };
    let request = parse_slot(catalogue, wanted)?;
    let is_named = command.calendar_id.is_some();
    let named =
        NamedCalendars { calendar: command.calendar_id, calendarsets: &command.calendarset_ids };
    let new_fiche = context.environment.fiche_id();
    if let Some(channel) = find_code_channel(&catalogue.group, command) {
        let booking = draft_unconfirmed(state, command, channel, new_fiche, now)?;
        let offering = find_offering(state, &request, named, now)?;
        let candidates = order_candidates(context, request, offering, is_named)?;
        // The client rules wait for the code, which proves that the caller is the client.
        return Ok(candidates.ask(|context, slot| {
            let event = draw_up_hold(context, slot, None, HoldState::Unconfirmed(booking));
            (event, Outcome::default())
        }));
    }
    let client = prepare_client(state, command, new_fiche, now)?;
    let offering = find_offering(state, &request, named, now)?;
    let source = command.booking_origin.as_deref().map(|origin| origin.source);
    check_client_rules(state, client.fiche_id, &request, source, now)?;
    let content = draw_up_content(state, command, client.fiche_id);
    let candidates = order_candidates(context, request, offering, is_named)?;
    Ok(candidates.ask(move |context, slot| {
        let legs = draw_up_legs(context, slot, &content);
        let outcome = Outcome::booked(&legs);
        let at = context.stamp();
        (Event::AppointmentsBooked { at, fiche: client.written, legs }, outcome)
    }))
}

/// Checks that a booking is permitted, unless this was checked before on the same catalogue.
fn check_permission(catalogue: &Arc<Catalogue>, command: &BookAppointment) -> Result<(), Refusal> {
    if let Some(permission) = &command.permission
        && permission.holds_on(catalogue)
    {
        return Ok(());
    }
    if command.is_by_page {
        return check_page_permission(catalogue);
    }
    let names_fiche = command.client.id.is_some();
    check_booking_permission(catalogue, &command.caller, command.from_web, names_fiche)
}

/// Returns the fields that all appointments of a booking share. Reference 6.5.
fn draw_up_content(
    state: &GroupState,
    command: &BookAppointment,
    fiche_id: FicheId,
) -> AppointmentContent {
    let group = &state.catalogue.group;
    let sms_default = if command.from_web { group.check_sms_from_web } else { group.check_sms };
    let customs = Customs::default();
    let customs = with_customs(state, Model::Vevent, customs, &command.customs, &command.caller);
    // Back-office comments are not the client's.
    let booked = if command.from_web { command.comments.clone() } else { LongText::default() };
    let rare = OptionalFields {
        taker: command.taker.clone(),
        booking_comments: BookingComments::record(booked, &command.comments),
        comments: command.comments.clone(),
        internal_comments: command.internal_comments.clone(),
        websource: command.websource.clone(),
        customs,
        ..OptionalFields::default()
    };
    AppointmentContent {
        fiche_id,
        smsreminder: command.smsreminder.unwrap_or(sms_default),
        from_web: command.from_web,
        rare,
        booking_origin: command.booking_origin.clone(),
    }
}

/// The fields that all appointments of one booking share.
pub(crate) struct AppointmentContent {
    pub(crate) fiche_id: FicheId,
    pub(crate) smsreminder: bool,
    pub(crate) from_web: bool,
    pub(crate) rare: OptionalFields,
    pub(crate) booking_origin: Option<Box<BookingOrigin>>,
}

/// Returns the appointments of a chain on its calendar, one per leg, with new ids and secrets.
pub(crate) fn draw_up_legs(
    context: &mut Context<'_>,
    slot: &CalendarSlotRequest,
    content: &AppointmentContent,
) -> Vec<Vevent> {
    let at = context.stamp();
    let zone = context.state.catalogue.zone();
    let SlotRequest { chain, start, .. } = &slot.request;
    let mut legs = Vec::with_capacity(chain.legs().len());
    for (position, (leg, interval)) in chain.legs_from(*start).enumerate() {
        let appointment = Appointment {
            civil_start: zone.civil_of(interval.start),
            start: interval.start,
            length_seconds: u32::try_from(leg.length_seconds)
                .expect("an intervention is at most a day long"),
            intervention_id: leg.intervention_id,
            fiche_id: content.fiche_id,
            key: context.environment.key(),
            state: State::default(),
            smsreminder: content.smsreminder,
            from_web: content.from_web,
            reminders: Reminders::since(context.now),
            booking_origin: content.booking_origin.clone(),
        };
        legs.push(Vevent {
            id: context.environment.vevent_id(position),
            calendar_id: slot.calendar_id,
            kind: VeventKind::Appointment(appointment),
            deleted: false,
            created_at: at,
            updated_at: at,
            rare: content.rare.clone().boxed(),
        });
    }
    legs
}

/// Checks whether a caller may book with this `from_web`, and name a fiche. Reference 6.1.
///
/// # Errors
/// Unauthorized, with the reason.
pub fn check_booking_permission(
    catalogue: &Catalogue,
    caller: &Caller,
    from_web: bool,
    names_fiche: bool,
) -> Result<(), Refusal> {
    let needed = match caller {
        Caller::Pro(_) => return Ok(()),
        Caller::Application | Caller::Account(_) if !from_web => {
            "from_web=0 is for professionals of the group"
        }
        Caller::Account(_) => return Ok(()),
        Caller::Application if names_fiche => {
            "booking for an existing fiche is for professionals of the group and for the client's own account"
        }
        Caller::Application if asks_for_account(catalogue) => {
            "this group takes bookings from confirmed accounts only: confirm an account first"
        }
        Caller::Application => return Ok(()),
    };
    Err(Refusal::Unauthorized { needed })
}

/// Checks whether a page of the server may book for the public. It asks the client for a code where
/// `validateEmail` wants a proof. Reference 6.1, 14.4.
///
/// # Errors
/// Unauthorized, with the reason.
pub fn check_page_permission(catalogue: &Catalogue) -> Result<(), Refusal> {
    if catalogue.group.open_data {
        return Ok(());
    }
    check_booking_permission(catalogue, &Caller::Application, true, false)
}

/// Whether a group takes bookings from accounts only. A code satisfies `validateEmail`, but not
/// `openData`. Reference 6.1.
fn asks_for_account(catalogue: &Catalogue) -> bool {
    let group = &catalogue.group;
    let needs_proof = group.validate_email && group.verify_bookings == VerifyBookings::Off;
    needs_proof || !group.open_data
}

/// Checks that a caller may book, and returns the proof for the command. A decision on the same
/// catalogue then does not repeat the check. Reference 6.1.
///
/// # Errors
/// As [`check_booking_permission`].
pub fn permit_booking(
    catalogue: &Arc<Catalogue>,
    caller: &Caller,
    from_web: bool,
    names_fiche: bool,
) -> Result<BookingPermission, Refusal> {
    check_booking_permission(catalogue, caller, from_web, names_fiche)?;
    Ok(BookingPermission::new(Arc::clone(catalogue)))
}

/// Does the same for a page of the server.
///
/// # Errors
/// As [`check_page_permission`].
pub fn permit_page_booking(catalogue: &Arc<Catalogue>) -> Result<BookingPermission, Refusal> {
    check_page_permission(catalogue)?;
    Ok(BookingPermission::new(Arc::clone(catalogue)))
}
