//! Deciding a booking: the client's rules first, then which calendar can take it. Reference 2 (order), 6.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::domain::booking::bookable::{BookingMode, Chain, Obstacle, bookable, too_soon_or_far};
use crate::domain::records::catalogue::Catalogue;
use crate::domain::records::customfield::{Customs, Model};
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{CalendarId, FicheId};
use crate::domain::records::record_change::Record as _;
use crate::domain::records::vevent::{Appointment, Kind, Rare, Reminders, State, Vevent};
use crate::domain::state::command::{
    BookAppointment, BookingDraws, BookingPermission, Caller, GivenCustoms,
};
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::{Fault, Refusal, Refusals};
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{Civil, INSTANT_MAX, INSTANT_MIN, Instant, MINUTE};

/// A booking that nothing but the calendars can still refuse.
#[derive(Clone, Debug)]
pub struct Opening {
    /// When it would start.
    pub start: Instant,
    /// What would be done.
    pub chain: Chain,
    /// Which rules hold.
    pub channel: BookingMode,
    /// Calendars still to be asked, in the drawn order.
    candidates: VecDeque<CalendarId>,
    /// Whether the caller named the calendar.
    named: bool,
    /// The client, and the record to write where the booking makes or changes it.
    fiche: (FicheId, Option<Box<Fiche>>),
}

/// By which door a booking or a search of this caller comes in.
#[must_use]
pub const fn channel(caller: &Caller, from_web: bool) -> BookingMode {
    match (caller, from_web) {
        (Caller::Pro(_), false) => BookingMode::BackOffice,
        (Caller::Pro(_), true) => BookingMode::ModuleByPro,
        (Caller::Application | Caller::Account(_), _) => BookingMode::Module,
    }
}

/// Decides a booking on a state whose calendars answer at once.
///
/// # Errors
/// Every refusal of Reference 2, in the order of Reference 2.
pub fn decide(
    state: &GroupState,
    command: &BookAppointment,
    draws: &BookingDraws,
    now: Instant,
) -> Result<Event, Refusals> {
    let mut opening = open(state, command, draws, now)?;
    let mut obstacles = Vec::new();
    while let Some(calendar) = opening.next_candidate() {
        let view = state.calendars.get(&calendar).expect("every calendar has a view");
        match bookable(&state.catalogue, view, &opening.chain, opening.start, now, opening.channel)
        {
            Ok(()) => return Ok(opening.booked_on(calendar, state, command, draws, now)),
            Err(found) => obstacles = found,
        }
    }
    Err(opening.not_available(obstacles))
}

/// Everything but the calendars' own word: rights, parameters, the client's rules, lead times.
///
/// # Errors
/// As [`decide`], save NotAvailable where only a calendar can tell.
pub fn open(
    state: &GroupState,
    command: &BookAppointment,
    draws: &BookingDraws,
    now: Instant,
) -> Result<Opening, Refusals> {
    let catalogue = &state.catalogue;
    let channel = channel(&command.caller, command.from_web);
    let is_checked = match &command.permission {
        Some(permission) => permission.holds_on(catalogue),
        None => false,
    };
    if !is_checked {
        may_book(catalogue, &command.caller, command.from_web, command.client.id.is_some())
            .map_err(|refusal| vec![refusal])?;
    }
    let chain = catalogue.chain(&command.intervention_ids, channel).map_err(invalid)?;
    let start = start_of(catalogue, command.date, &chain).map_err(invalid)?;
    if let Some(id) = command.calendar_id
        && !catalogue.calendars.contains_key(&id)
    {
        return Err(invalid(Fault::new(
            "calendar_id",
            "must be the id of one of the group's calendars",
        )));
    }
    let fiche = fiche_for(state, command, draws, now)?;
    let offering = offering(state, command.calendar_id, &chain, channel, now);
    // What is not offered at all is not too soon or too far, and its lead times are nobody's business.
    let offered = |id: &CalendarId| catalogue.not_offered(*id, &chain, channel).next().is_none();
    if channel.follows_module_rules() && offering.iter().all(offered) {
        lead_times_allow(catalogue, &offering, start, now).map_err(|refusal| vec![refusal])?;
    }
    client_rules(state, fiche.0, chain.interval_from(start), chain.legs().len(), channel, now)?;
    let mut candidates = offering;
    candidates.sort_by_key(|id| scrambled(draws.order ^ id.number()));
    let named = command.calendar_id.is_some();
    Ok(Opening { start, chain, channel, candidates: candidates.into(), named, fiche })
}

impl Opening {
    /// The next calendar to ask.
    pub fn next_candidate(&mut self) -> Option<CalendarId> {
        self.candidates.pop_front()
    }

    /// The refusal when no calendar can take it; with the obstacles where the caller named the calendar.
    #[must_use]
    pub fn not_available(&self, obstacles: Vec<Obstacle>) -> Refusals {
        vec![Refusal::NotAvailable { obstacles: if self.named { obstacles } else { Vec::new() } }]
    }

    /// What has happened once a calendar has agreed.
    #[must_use]
    pub fn booked_on(
        self,
        calendar_id: CalendarId,
        state: &GroupState,
        command: &BookAppointment,
        draws: &BookingDraws,
        now: Instant,
    ) -> Event {
        let at = state.stamp_for(now);
        let group = &state.catalogue.group;
        let by_default = if command.from_web { group.check_sms_from_web } else { group.check_sms };
        let rare = Rare {
            comments: command.comments.clone(),
            websource: command.websource.clone(),
            customs: with_customs(
                state,
                Model::Vevent,
                Customs::default(),
                &command.customs,
                &command.caller,
            ),
            ..Rare::default()
        };
        let zone = state.catalogue.zone();
        let leg = |((leg, interval), (id, key)): (
            (crate::domain::booking::bookable::Leg, Interval),
            &(_, _),
        )| {
            Vevent {
                id: *id,
                calendar_id,
                kind: Kind::Appointment(Appointment {
                    civil_start: zone.civil_of(interval.start),
                    start: interval.start,
                    length_seconds: u32::try_from(leg.length_seconds)
                        .expect("an intervention is at most a day long"),
                    intervention_id: leg.intervention_id,
                    fiche_id: self.fiche.0,
                    key: *key,
                    state: State::default(),
                    smsreminder: command.smsreminder.unwrap_or(by_default),
                    from_web: command.from_web,
                    reminders: Reminders::since(now),
                }),
                deleted: false,
                created_at: at,
                updated_at: at,
                rare: rare.clone().boxed(),
            }
        };
        let legs = self.chain.legs_from(self.start).zip(&draws.legs).map(leg).collect();
        Event::AppointmentsBooked { at, fiche: self.fiche.1, legs }
    }
}

fn invalid(fault: Fault) -> Refusals {
    vec![Refusal::InvalidParameter(fault)]
}

/// Whether a caller may book at all, with the module's rules or without, naming a fiche or not. Reference 6.
///
/// # Errors
/// Unauthorized: what a client's account or a key alone may not do.
pub fn may_book(
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
/// catalogue then does not repeat the check.
///
/// # Errors
/// As [`may_book`].
pub fn permit_booking(
    catalogue: &Arc<Catalogue>,
    caller: &Caller,
    from_web: bool,
    names_fiche: bool,
) -> Result<BookingPermission, Refusal> {
    may_book(catalogue, caller, from_web, names_fiche)?;
    Ok(BookingPermission::new(Arc::clone(catalogue)))
}

fn start_of(catalogue: &Catalogue, date: Civil, chain: &Chain) -> Result<Instant, Fault> {
    let start = catalogue.zone().instant_of(date);
    if start < INSTANT_MIN || chain.interval_from(start).end > INSTANT_MAX {
        return Err(Fault::new("date", "must lie in the years 1970 to 9999"));
    }
    Ok(start)
}

/// For whom the booking is: a fiche that is there, changed where a professional says so, or a new one. Reference 6.
fn fiche_for(
    state: &GroupState,
    command: &BookAppointment,
    draws: &BookingDraws,
    now: Instant,
) -> Result<(FicheId, Option<Box<Fiche>>), Refusals> {
    let client = &command.client;
    let mut faults = custom_faults(state, Model::Vevent, &command.customs, command, true);
    let at = state.stamp_for(now);
    if let Some((id, fiche)) = named_fiche(state, command)? {
        if fiche.deleted {
            return Err(invalid(Fault::new(
                "fiche.id",
                format!("fiche {id} is deleted, and must be restored first"),
            )));
        }
        // An account that names no fiche books for its own, and changes nothing in it.
        if client.id.is_none() {
            refuse_faults(faults)?;
            return Ok((id, None));
        }
        faults.extend(custom_faults(state, Model::Fiche, &client.customs, command, false));
        refuse_faults(faults)?;
        if client.fields.is_empty() && client.customs.is_empty() {
            return Ok((id, None));
        }
        let mut changed = Fiche::clone(fiche);
        client.fields.apply_to(&mut changed);
        changed.customs =
            with_customs(state, Model::Fiche, changed.customs, &client.customs, &command.caller);
        let is_nameless = |fiche: &Fiche| fiche.lastname.is_blank() && fiche.firstname.is_blank();
        if is_nameless(&changed) && !is_nameless(fiche) {
            return Err(invalid(Fault::new(
                "fiche.lastname",
                "a client keeps a last or a first name",
            )));
        }
        changed.touch(Some(fiche), at, now);
        return Ok((id, Some(Box::new(changed))));
    }
    let known = client
        .email
        .as_ref()
        .filter(|_| command.from_web)
        .map(crate::domain::records::text::Email::folded);
    let known = known.and_then(|folded| state.fiche_of_email(&folded).map(|fiche| (folded, fiche)));
    match (&known, &command.caller) {
        (None, Caller::Application) if !state.catalogue.group.open => {
            refuse_faults(faults)?;
            return Err(vec![Refusal::EmailNotFound]);
        }
        (Some((folded, _)), Caller::Application) if state.accounts.contains_key(folded) => {
            refuse_faults(faults)?;
            return Err(vec![Refusal::EmailAlreadyExists]);
        }
        (Some((_, fiche)), _) => {
            refuse_faults(faults)?;
            return Ok((fiche.id, None));
        }
        (None, _) => {}
    }
    let mut made = Fiche::new(draws.fiche_id, at);
    (made.mail_since, made.sms_since) = (now, now);
    client.fields.apply_to(&mut made);
    made.from_web = command.from_web;
    made.deleted = false;
    made.customs =
        with_customs(state, Model::Fiche, made.customs, &client.customs, &command.caller);
    if made.lastname.is_blank() && made.firstname.is_blank() {
        faults.push(Refusal::InvalidParameter(nameless()));
    }
    faults.extend(custom_faults(state, Model::Fiche, &client.customs, command, true));
    refuse_faults(faults)?;
    Ok((made.id, Some(Box::new(made))))
}

/// The fiche that is booked for because the caller says so or is an account; what another account calls its own is as
/// absent to an account as what is not there. Reference 2, 6.
fn named_fiche<'r>(
    state: &'r GroupState,
    command: &BookAppointment,
) -> Result<Option<(FicheId, &'r Arc<Fiche>)>, Refusals> {
    let (id, owned) = match (&command.caller, command.client.id) {
        (Caller::Account(account), id) => {
            let id = id.unwrap_or(account.fiche_id);
            (id, account.owns(id))
        }
        (Caller::Application | Caller::Pro(_), Some(id)) => (id, true),
        (Caller::Application | Caller::Pro(_), None) => return Ok(None),
    };
    match state.fiches.get(&id).filter(|_| owned) {
        Some(fiche) => Ok(Some((id, fiche))),
        None => Err(invalid(Fault::new("fiche.id", not_bookable_for(&command.caller)))),
    }
}

/// What a caller is told who names a fiche that it cannot book for. Reference 2.
#[must_use]
pub const fn not_bookable_for(caller: &Caller) -> &'static str {
    match caller {
        Caller::Account(_) => "must be the id of one of your own fiches",
        Caller::Application | Caller::Pro(_) => "must be the id of one of the group's fiches",
    }
}

/// What a booking is told that would make a client without any name. Reference 1.
#[must_use]
pub fn nameless() -> Fault {
    Fault::new("fiche.lastname", "a new client needs a last or first name")
}

fn refuse_faults(faults: Refusals) -> Result<(), Refusals> {
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// What is wrong with given customised attributes: unknown names, and required ones that are missing where the object
/// is made. Reference 9.
fn custom_faults(
    state: &GroupState,
    model: Model,
    given: &GivenCustoms,
    command: &BookAppointment,
    made: bool,
) -> Vec<Refusal> {
    let prefix = match model {
        Model::Fiche => "fiche.",
        Model::Vevent => "",
    };
    let fault = |name: String, rule: &str| {
        Refusal::InvalidParameter(Fault::new(format!("{prefix}{name}"), rule))
    };
    let unknown = given
        .iter()
        .filter(|(name, value)| {
            value.is_some() && state.catalogue.customfield(model, *name).is_none()
        })
        .map(|(name, _)| fault(name.to_string(), "the group has not defined this attribute"));
    let pro = matches!(command.caller, Caller::Pro(_));
    let missing = state
        .catalogue
        .demanded(model, pro)
        .filter(|demanded| {
            made && !given.iter().any(|(name, value)| name == demanded && value.is_some())
        })
        .map(|name| fault(name.to_string(), "this attribute is required"));
    unknown.chain(missing).collect()
}

/// Customised attributes with the given values set, where the caller may set them. Reference 9.
fn with_customs(
    state: &GroupState,
    model: Model,
    mut customs: Customs,
    given: &GivenCustoms,
    caller: &Caller,
) -> Customs {
    for (name, value) in given {
        let settable =
            state.catalogue.customfield(model, *name).is_some_and(|field| match caller {
                Caller::Pro(_) => true,
                Caller::Application | Caller::Account(_) => field.user_visible,
            });
        if settable {
            customs.set(*name, value.clone());
        }
    }
    customs
}

/// The calendars that offer the chain: the named one whatever it offers, else every one that shows it and has an
/// availability ahead for each leg. Reference 2, 4.
fn offering(
    state: &GroupState,
    named: Option<CalendarId>,
    chain: &Chain,
    channel: BookingMode,
    now: Instant,
) -> Vec<CalendarId> {
    if let Some(id) = named {
        return vec![id];
    }
    let zone = state.catalogue.zone();
    let offers = |id: &CalendarId| {
        let view = state.calendars.get(id).expect("every calendar has a view");
        state.catalogue.not_offered(*id, chain, channel).next().is_none()
            && (!channel.follows_module_rules()
                || chain.legs().iter().all(|leg| view.rules.offers(zone, leg.intervention_id, now)))
    };
    state.catalogue.calendars.keys().copied().filter(offers).collect()
}

/// Too soon or too far only where that holds on every calendar in question. Reference 2.
fn lead_times_allow(
    catalogue: &Catalogue,
    offering: &[CalendarId],
    start: Instant,
    now: Instant,
) -> Result<(), Refusal> {
    let mut earliest_of_all = None;
    let mut latest_of_all = None;
    for id in offering {
        match too_soon_or_far(catalogue, *id, start, now) {
            Some(Obstacle::MintimeRdv { earliest }) => {
                earliest_of_all =
                    Some(earliest_of_all.map_or(earliest, |e: Instant| e.min(earliest)));
            }
            Some(Obstacle::MaxRdvPeriod { latest }) => {
                latest_of_all = Some(latest_of_all.map_or(latest, |l: Instant| l.max(latest)));
            }
            Some(_) | None => return Ok(()),
        }
    }
    match (earliest_of_all, latest_of_all) {
        (Some(earliest), None) => Err(Refusal::MintimeRdv { earliest }),
        (None, Some(latest)) => Err(Refusal::MaxRdvPeriod { latest }),
        (None, None) | (Some(_), Some(_)) => Ok(()),
    }
}

/// SameTimeRdv, MintimeBetween, MaxRdvNumber: all that fail, together. The legs of one chain are not held against one
/// another, and count one each. Reference 2, 6.
fn client_rules(
    state: &GroupState,
    client: FicheId,
    interval: Interval,
    legs: usize,
    channel: BookingMode,
    now: Instant,
) -> Result<(), Refusals> {
    let group = &state.catalogue.group;
    let upcoming =
        || state.appointments_of(client).iter().map(|t| t.interval).filter(|other| other.end > now);
    let mut refusals: Refusals = Vec::new();
    if let Some(other) = upcoming().find(|other| other.meets(interval)) {
        refusals.push(Refusal::SameTimeRdv { other });
    }
    if channel.follows_module_rules() {
        let minutes = group.mintime_between.number();
        let apart = |other: &Interval| {
            let gap = interval
                .start
                .seconds_since(other.end)
                .max(other.start.seconds_since(interval.end));
            (0..minutes * MINUTE).contains(&gap)
        };
        if upcoming().any(|other| apart(&other)) {
            refusals.push(Refusal::MintimeBetween { minutes });
        }
        let most = group.maxrdv_number.number();
        let would_have = upcoming().count() + legs;
        if most > 0 && i64::try_from(would_have).is_ok_and(|n| n > most) {
            refusals.push(Refusal::MaxRdvNumber { most });
        }
    }
    refuse_faults(refusals)
}

/// A number that has nothing to do with `seed` but is always the same for it (the finaliser of splitmix64).
const fn scrambled(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
