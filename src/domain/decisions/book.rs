//! Decision of a booking: the client's rules first, then a calendar that can take it. Reference
//! 2.3, 6.
//!
//! [`prepare_booking`] checks everything that needs no calendar. The [`PendingBooking`] then asks
//! one candidate calendar at a time: its caller brings each verdict to
//! [`PendingBooking::on_reply`].

use std::sync::Arc;

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::availability::obstacle::Obstacle;
use crate::domain::availability::slot_request::{BookingMode, CalendarSlotRequest, SlotRequest};
use crate::domain::decisions::candidates::{
    CandidateStep, Candidates, WantedSlot, find_offering, parse_slot,
};
use crate::domain::decisions::client_record::{BookingClient, prepare_client, with_customs};
use crate::domain::decisions::client_rules::check_client_rules;
use crate::domain::decisions::hold::draw_up_hold;
use crate::domain::decisions::unconfirmed::{draft_unconfirmed, find_code_channel};
use crate::domain::records::customfield::{Customs, Model};
use crate::domain::records::group::VerifyBookings;
use crate::domain::records::hold::{HoldState, UnconfirmedBooking};
use crate::domain::records::ids::{FicheId, VeventId};
use crate::domain::records::text::LongText;
use crate::domain::records::vevent::{
    Appointment, AppointmentKey, BookingComments, OptionalFields, Reminders, State, Vevent,
    VeventKind,
};
use crate::domain::records::web_origin::WebOrigin;
use crate::domain::state::command::{BookAppointment, BookingDraws, BookingPermission, Caller};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::domain::time::Instant;

/// A booking that only the calendars can still refuse. They are asked one at a time.
#[derive(Clone, Debug)]
pub struct PendingBooking {
    /// Calendars that are asked for the slot.
    candidates: Candidates,
    /// Result of the booking once a calendar has agreed.
    result: BookingResult,
    /// Random values of this booking.
    draws: BookingDraws,
}

/// Result of a booking once a calendar has agreed.
#[derive(Clone, Debug)]
enum BookingResult {
    /// Appointments of this client.
    Booked(BookingClient),
    /// A hold, until the client gives the code. Reference 6.15.
    Held(Box<UnconfirmedBooking>),
}

/// Next step of a booking after a calendar has replied.
#[derive(Clone, Debug)]
pub enum BookingStep {
    /// The next candidate must be asked.
    Ask(Box<PendingBooking>),
    /// The calendar agreed: the booking is made, or waits for its code, by this event.
    Booked(Event),
    /// No candidate is left.
    Refused(Refusals),
}

/// Returns the mode of a booking or a search by this caller. Reference 6.1.
#[must_use]
pub const fn booking_mode(caller: &Caller, from_web: bool) -> BookingMode {
    match (caller, from_web) {
        (Caller::Pro(_), false) => BookingMode::BackOffice,
        (Caller::Pro(_), true) => BookingMode::ModuleByPro,
        (Caller::Application, _) => BookingMode::Module,
        (Caller::Account(_), _) => BookingMode::ModuleByAccount,
    }
}

/// Checks everything that the calendars do not decide: rights, parameters, client rules, lead
/// times.
///
/// # Errors
/// The refusals of Reference 2.3 in its order. NotAvailable only if no calendar offers the chain.
pub fn prepare_booking(
    state: &GroupState,
    command: &BookAppointment,
    draws: BookingDraws,
    now: Instant,
) -> Result<Box<PendingBooking>, Refusals> {
    let catalogue = &state.catalogue;
    let mode = booking_mode(&command.caller, command.from_web);
    let is_checked = match &command.permission {
        Some(permission) => permission.holds_on(catalogue),
        None => false,
    };
    if !is_checked {
        let names_fiche = command.client.id.is_some();
        let checked = if command.is_by_page {
            check_page_permission(catalogue)
        } else {
            check_booking_permission(catalogue, &command.caller, command.from_web, names_fiche)
        };
        checked.map_err(|refusal| vec![refusal])?;
    }
    let wanted = WantedSlot {
        date: command.date,
        intervention_ids: &command.intervention_ids,
        calendar_id: command.calendar_id,
        mode,
        hold: command.hold,
    };
    let request = parse_slot(catalogue, wanted)?;
    let result = match find_code_channel(catalogue, &command.caller, command.is_by_page) {
        Some(channel) => {
            BookingResult::Held(draft_unconfirmed(state, command, channel, &draws, now)?)
        }
        None => BookingResult::Booked(prepare_client(state, command, &draws, now)?),
    };
    let offering = find_offering(state, &request, command.calendar_id, now)?;
    if let BookingResult::Booked(client) = &result {
        check_client_rules(state, client.fiche_id, &request, now)?;
    }
    let is_named = command.calendar_id.is_some();
    let candidates = Candidates::new(state, request, offering, is_named, draws.order)?;
    Ok(Box::new(PendingBooking { candidates, result, draws }))
}

impl PendingBooking {
    /// Returns the slot and the calendar to ask for it now.
    #[must_use]
    pub fn query(&self) -> &CalendarSlotRequest {
        self.candidates.query()
    }

    /// Returns the ids of the appointments to be made, one per leg, in order; none if the booking
    /// waits for a code first.
    #[must_use]
    pub fn vevent_ids(&self) -> Vec<VeventId> {
        match &self.result {
            BookingResult::Booked(_) => self.draws.legs.iter().map(|(id, _)| *id).collect(),
            BookingResult::Held(_) => Vec::new(),
        }
    }

    /// Takes the verdict of the asked calendar and returns the next step.
    ///
    /// `state`, `command` and `now` are those that the booking was prepared with.
    #[must_use]
    pub fn on_reply(
        self: Box<Self>,
        verdict: Result<(), Vec<Obstacle>>,
        state: &GroupState,
        command: &BookAppointment,
        now: Instant,
    ) -> BookingStep {
        let Self { candidates, result, draws } = *self;
        match candidates.on_reply(verdict) {
            CandidateStep::Ask(candidates) => {
                BookingStep::Ask(Box::new(Self { candidates, result, draws }))
            }
            CandidateStep::Refused(refusals) => BookingStep::Refused(refusals),
            CandidateStep::Agreed(slot) => BookingStep::Booked(match result {
                BookingResult::Booked(client) => {
                    book_slot(state, command, client, &slot, &draws, now)
                }
                BookingResult::Held(unconfirmed) => {
                    let use_of_it = HoldState::Unconfirmed(unconfirmed);
                    draw_up_hold(state, &slot, draws.token, None, use_of_it, now)
                }
            }),
        }
    }
}

/// Returns the event of a booking on the calendar that agreed. Reference 6.5.
fn book_slot(
    state: &GroupState,
    command: &BookAppointment,
    client: BookingClient,
    slot: &CalendarSlotRequest,
    draws: &BookingDraws,
    now: Instant,
) -> Event {
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
    let content = AppointmentContent {
        fiche_id: client.fiche_id,
        smsreminder: command.smsreminder.unwrap_or(sms_default),
        from_web: command.from_web,
        rare,
        web_origin: command.web_origin.clone(),
    };
    let legs = draw_up_legs(state, slot, &draws.legs, &content, now);
    Event::AppointmentsBooked { at: state.stamp_for(now), fiche: client.written, legs }
}

/// The fields that all appointments of one booking share.
pub(crate) struct AppointmentContent {
    pub(crate) fiche_id: FicheId,
    pub(crate) smsreminder: bool,
    pub(crate) from_web: bool,
    pub(crate) rare: OptionalFields,
    pub(crate) web_origin: Option<Box<WebOrigin>>,
}

/// Returns the appointments of a chain on its calendar, one per leg, with the drawn ids and keys.
pub(crate) fn draw_up_legs(
    state: &GroupState,
    slot: &CalendarSlotRequest,
    drawn: &[(VeventId, AppointmentKey)],
    content: &AppointmentContent,
    now: Instant,
) -> Vec<Vevent> {
    let at = state.stamp_for(now);
    let zone = state.catalogue.zone();
    let SlotRequest { chain, start, .. } = &slot.request;
    let mut legs = Vec::with_capacity(chain.legs().len());
    for ((leg, interval), (id, key)) in chain.legs_from(*start).zip(drawn) {
        let appointment = Appointment {
            civil_start: zone.civil_of(interval.start),
            start: interval.start,
            length_seconds: u32::try_from(leg.length_seconds)
                .expect("an intervention is at most a day long"),
            intervention_id: leg.intervention_id,
            fiche_id: content.fiche_id,
            key: *key,
            state: State::default(),
            smsreminder: content.smsreminder,
            from_web: content.from_web,
            reminders: Reminders::since(now),
            web_origin: content.web_origin.clone(),
        };
        legs.push(Vevent {
            id: *id,
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
