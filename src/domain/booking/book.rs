//! Decision of a booking: the client's rules first, then a calendar that can take it. Reference
//! 2.3, 6.
//!
//! [`prepare_booking`] checks everything that needs no calendar. The [`PendingBooking`] then asks
//! one candidate calendar at a time: its caller brings each verdict to
//! [`PendingBooking::on_reply`].

use std::collections::VecDeque;
use std::sync::Arc;

use crate::domain::booking::bookable::check_lead_times;
use crate::domain::booking::client_record::{BookingClient, prepare_client, with_customs};
use crate::domain::booking::client_rules::check_client_rules;
use crate::domain::booking::obstacle::Obstacle;
use crate::domain::booking::slot_request::{BookingMode, CalendarSlotRequest, Chain, SlotRequest};
use crate::domain::records::catalogue::Catalogue;
use crate::domain::records::customfield::{Customs, Model};
use crate::domain::records::ids::{CalendarId, VeventId};
use crate::domain::records::text::LongText;
use crate::domain::records::vevent::{
    Appointment, BookingComments, OptionalFields, Reminders, State, Vevent, VeventKind,
};
use crate::domain::state::command::{BookAppointment, BookingDraws, BookingPermission, Caller};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Fault, Refusal, Refusals};
use crate::domain::time::{Civil, INSTANT_MAX, INSTANT_MIN, Instant};

/// A booking that only the calendars can still refuse. They are asked one at a time.
#[derive(Clone, Debug)]
pub struct PendingBooking {
    /// Slot on the calendar that is asked now.
    query: CalendarSlotRequest,
    /// Calendars to ask after it, in the drawn order.
    candidates: VecDeque<CalendarId>,
    /// Whether the caller named the calendar. If so, it is the only candidate.
    calendar_named: bool,
    /// The client, with the fiche to write.
    client: BookingClient,
    /// Random values of this booking.
    draws: BookingDraws,
}

/// Next step of a booking after a calendar has replied.
#[derive(Clone, Debug)]
pub enum BookingStep {
    /// The next candidate must be asked.
    Ask(Box<PendingBooking>),
    /// The calendar agreed: the booking is made by this event.
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
        (Caller::Application | Caller::Account(_), _) => BookingMode::Module,
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
        check_booking_permission(catalogue, &command.caller, command.from_web, names_fiche)
            .map_err(|refusal| vec![refusal])?;
    }
    let chain = catalogue.chain(&command.intervention_ids, mode).map_err(refuse_fault)?;
    let start = start_instant(catalogue, command.date, &chain).map_err(refuse_fault)?;
    if let Some(id) = command.calendar_id
        && !catalogue.calendars.contains_key(&id)
    {
        let rule = "must be the id of one of the group's calendars";
        return Err(refuse_fault(Fault::new("calendar_id", rule)));
    }
    let client = prepare_client(state, command, &draws, now)?;
    let request = SlotRequest { chain, start, mode };
    let mut candidates = match command.calendar_id {
        Some(named) => vec![named],
        None => offering_calendars(state, &request, now),
    };
    if mode.follows_module_rules() {
        check_lead_times_of_all(catalogue, &candidates, &request, now)
            .map_err(|refusal| vec![refusal])?;
    }
    check_client_rules(state, client.fiche_id, &request, now)?;
    candidates.sort_by_key(|id| scramble(draws.order ^ id.number()));
    let mut candidates = VecDeque::from(candidates);
    let Some(calendar_id) = candidates.pop_front() else {
        return Err(vec![Refusal::NotAvailable { obstacles: Vec::new() }]);
    };
    Ok(Box::new(PendingBooking {
        query: CalendarSlotRequest { calendar_id, request },
        candidates,
        calendar_named: command.calendar_id.is_some(),
        client,
        draws,
    }))
}

impl PendingBooking {
    /// Returns the slot and the calendar to ask for it now.
    #[must_use]
    pub fn query(&self) -> &CalendarSlotRequest {
        &self.query
    }

    /// Returns the ids of the appointments to be made, one per leg, in order.
    #[must_use]
    pub fn vevent_ids(&self) -> Vec<VeventId> {
        self.draws.legs.iter().map(|(id, _)| *id).collect()
    }

    /// Takes the verdict of the asked calendar and returns the next step.
    ///
    /// `state`, `command` and `now` are those that the booking was prepared with.
    #[must_use]
    pub fn on_reply(
        mut self: Box<Self>,
        verdict: Result<(), Vec<Obstacle>>,
        state: &GroupState,
        command: &BookAppointment,
        now: Instant,
    ) -> BookingStep {
        let Err(obstacles) = verdict else {
            return BookingStep::Booked(self.into_event(state, command, now));
        };
        if let Some(next) = self.candidates.pop_front() {
            self.query.calendar_id = next;
            return BookingStep::Ask(self);
        }
        // Without a named calendar, the last candidate's obstacles explain nothing about the
        // others.
        let obstacles = if self.calendar_named { obstacles } else { Vec::new() };
        BookingStep::Refused(vec![Refusal::NotAvailable { obstacles }])
    }

    /// Returns the event of the booking on the calendar that agreed. Reference 6.5.
    fn into_event(self, state: &GroupState, command: &BookAppointment, now: Instant) -> Event {
        let at = state.stamp_for(now);
        let zone = state.catalogue.zone();
        let group = &state.catalogue.group;
        let sms_default = if command.from_web { group.check_sms_from_web } else { group.check_sms };
        let customs = Customs::default();
        let customs =
            with_customs(state, Model::Vevent, customs, &command.customs, &command.caller);
        // Back-office comments are not the client's.
        let booked = if command.from_web { command.comments.clone() } else { LongText::default() };
        let rare = OptionalFields {
            booking_comments: BookingComments::record(booked, &command.comments),
            comments: command.comments.clone(),
            internal_comments: command.internal_comments.clone(),
            websource: command.websource.clone(),
            customs,
            ..OptionalFields::default()
        };
        let SlotRequest { chain, start, .. } = &self.query.request;
        let mut legs = Vec::with_capacity(chain.legs().len());
        for ((leg, interval), (id, key)) in chain.legs_from(*start).zip(&self.draws.legs) {
            let appointment = Appointment {
                civil_start: zone.civil_of(interval.start),
                start: interval.start,
                length_seconds: u32::try_from(leg.length_seconds)
                    .expect("an intervention is at most a day long"),
                intervention_id: leg.intervention_id,
                fiche_id: self.client.fiche_id,
                key: *key,
                state: State::default(),
                smsreminder: command.smsreminder.unwrap_or(sms_default),
                from_web: command.from_web,
                reminders: Reminders::since(now),
                web_origin: command.web_origin.clone(),
            };
            legs.push(Vevent {
                id: *id,
                calendar_id: self.query.calendar_id,
                kind: VeventKind::Appointment(appointment),
                deleted: false,
                created_at: at,
                updated_at: at,
                rare: rare.clone().boxed(),
            });
        }
        Event::AppointmentsBooked { at, fiche: self.client.written, legs }
    }
}

fn refuse_fault(fault: Fault) -> Refusals {
    vec![Refusal::InvalidParameter(fault)]
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
        Caller::Application if catalogue.group.validate_email || !catalogue.group.open_data => {
            "this group takes bookings from confirmed accounts only: confirm an account first"
        }
        Caller::Application => return Ok(()),
    };
    Err(Refusal::Unauthorized { needed })
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

/// Returns the instant of a local start.
///
/// # Errors
/// The chain would not lie within the years 1970 to 9999.
fn start_instant(catalogue: &Catalogue, date: Civil, chain: &Chain) -> Result<Instant, Fault> {
    let start = catalogue.zone().instant_of(date);
    if start < INSTANT_MIN || chain.interval_from(start).end > INSTANT_MAX {
        return Err(Fault::new("date", "must lie in the years 1970 to 9999"));
    }
    Ok(start)
}

/// Returns the calendars that offer the chain, ascending by id. By the module's rules, each leg
/// also needs an availability that ends after now. Reference 4, 6.2.
fn offering_calendars(state: &GroupState, request: &SlotRequest, now: Instant) -> Vec<CalendarId> {
    let zone = state.catalogue.zone();
    let mut offering = Vec::new();
    for id in state.catalogue.calendars.keys() {
        if !is_offered(&state.catalogue, *id, request) {
            continue;
        }
        let view = state.calendars.get(id).expect("every calendar has a view");
        let mut legs = request.chain.legs().iter();
        if request.mode.follows_module_rules()
            && !legs.all(|leg| view.rules.offers(zone, leg.intervention_id, now))
        {
            continue;
        }
        offering.push(*id);
    }
    offering
}

fn is_offered(catalogue: &Catalogue, calendar: CalendarId, request: &SlotRequest) -> bool {
    catalogue.not_offered(calendar, &request.chain, request.mode).next().is_none()
}

/// Checks the lead times of all candidates. Reference 2.3.
///
/// # Errors
/// MintimeRdv or MaxRdvPeriod, if it holds on every candidate.
fn check_lead_times_of_all(
    catalogue: &Catalogue,
    candidates: &[CalendarId],
    request: &SlotRequest,
    now: Instant,
) -> Result<(), Refusal> {
    let mut first_start: Option<Instant> = None;
    let mut last_start: Option<Instant> = None;
    for id in candidates {
        // A calendar that does not offer the chain has no lead times to show: NotAvailable follows.
        if !is_offered(catalogue, *id, request) {
            return Ok(());
        }
        match check_lead_times(catalogue, *id, request.start, now) {
            Some(Obstacle::MintimeRdv { earliest }) => {
                first_start = Some(first_start.unwrap_or(earliest).min(earliest));
            }
            Some(Obstacle::MaxRdvPeriod { latest }) => {
                last_start = Some(last_start.unwrap_or(latest).max(latest));
            }
            Some(_) | None => return Ok(()),
        }
    }
    match (first_start, last_start) {
        (Some(earliest), None) => Err(Refusal::MintimeRdv { earliest }),
        (None, Some(latest)) => Err(Refusal::MaxRdvPeriod { latest }),
        // Some calendars find it too soon and others too far: NotAvailable follows.
        (None, None) | (Some(_), Some(_)) => Ok(()),
    }
}

/// Returns a pseudo-random number that depends on `seed` only (the finaliser of splitmix64).
const fn scramble(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
