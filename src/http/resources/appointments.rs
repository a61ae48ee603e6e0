//! Endpoints of appointments. Reference 13.8, 6.

use std::sync::Arc;

use utoipa::openapi::{RefOr, Schema};

use crate::domain::availability::open_time::CalendarView;
use crate::domain::availability::taken_time::TakenInterval;
use crate::domain::decisions::book::permit_booking;
use crate::domain::records::customfield::Model;
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, VeventId};
use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::{
    Caller, CancelAppointment, CancelRight, Command, MoveAppointment,
};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::precondition::ShownObject;
use crate::domain::time::{INSTANT_MIN, Instant};
use crate::engine::Committed;
use crate::http::answer::entity_tag::object_tag;
use crate::http::endpoint::{
    Answer, Body, Endpoint, EndpointPath, QueryKind, QueryParameter, Shape, handler, write_handler,
};
use crate::http::error::ApiError;
use crate::http::legacy_paths::LegacyRecord;
use crate::http::limits::booking_limit::LimitSubjects;
use crate::http::limits::guarded_write::GuardedWrite;
use crate::http::limits::limited_move::move_within_limits;
use crate::http::openapi::records::{booked_fiche, customs_given};
use crate::http::permissions::{OWN_ACCOUNT, OWN_OR_ALLOWED, OWN_OR_SECRET, Resource, Verb};
use crate::http::request::{GroupRequest, wrapped_object};
use crate::http::resources::pagination::{INLINE_COST_MAX, list_response};
use crate::http::response::{HandlerResult, object_response, to_json};
use crate::http::writes::prepared_write::PreparedWrite;
use crate::wire::appointment::{self, table_for_audience};
use crate::wire::booking::{BookingBody, BookingClaims, MoveBody, parse, parse_move};
use crate::wire::field::{Audience, Scope};
use crate::wire::hold::BookingReceipt;
use crate::wire::list::Query;
use crate::wire::query::{FaultCollector, parse_flag, parse_id, parse_moment};
use crate::wire::schema::{
    all_required, filled_list, group_given, named, object_of, schema_of, sendmail,
};
use crate::wire::vevent::VEVENT;

const ALL: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/appointments");
const ALL_LEGACY: EndpointPath =
    EndpointPath::legacy("/api/v1/appointments", LegacyRecord::Appointment);
const ONE: EndpointPath = EndpointPath::current("/api/v1/groups/{group_id}/appointments/{id}");
const ONE_LEGACY: EndpointPath =
    EndpointPath::legacy("/api/v1/appointments/{id}", LegacyRecord::Appointment);

const SECRET: QueryParameter = QueryKind::Text.named(
    "key",
    "the secret of the appointment, for callers other than professionals of the group",
);

/// 201 with one record for each appointment.
pub(crate) const BOOKED: Answer =
    Answer::json(201, "one record for each appointment", Shape::Named("Booked", booked));
const AWAITS_CODE: Answer = Answer::json(
    202,
    "the booking waits for the code that was sent to the client",
    Shape::Named("BookingReceipt", schema_of::<BookingReceipt<'_>>),
);

/// The endpoints of this file.
pub(crate) static ENDPOINTS: &[Endpoint] = &[
    Endpoint::post(&[ALL, ALL_LEGACY], write_handler!(book))
        .named("BookAppointment", "Book an appointment")
        .right(Resource::Appointment, Verb::Make, OWN_OR_ALLOWED)
        .body(Body::wrapped(Shape::Named("Booking", booking_schema)))
        .answers(&[BOOKED, AWAITS_CODE]),
    Endpoint::list(&[ALL, ALL_LEGACY], handler!(InGroup, list))
        .named("ListAppointments", "List upcoming appointments")
        .right(Resource::Appointment, Verb::List, OWN_ACCOUNT)
        .query(&[
            QueryKind::Flag.named("include_past", "also list past appointments"),
            QueryKind::Id.named("calendar_id", "only appointments of this calendar"),
            QueryKind::Id.named("fiche_id", "only appointments of this fiche"),
            QueryKind::Id.named("intervention_id", "only appointments of this intervention"),
            QueryKind::DateTime
                .named("start_from", "only appointments that start at or after this time"),
            QueryKind::DateTime.named("start_to", "only appointments that start before this time"),
        ]),
    Endpoint::get(&[ONE, ONE_LEGACY], handler!(InGroup, show))
        .named("ShowAppointment", "Get an appointment")
        .right(Resource::Appointment, Verb::Show, OWN_OR_SECRET)
        .query(&[SECRET]),
    Endpoint::put(&[ONE], write_handler!(move_by_pro, move_by_client))
        .named("MoveAppointment", "Move an appointment to another start")
        .right(Resource::Appointment, Verb::Change, OWN_OR_SECRET)
        .query(&[SECRET])
        .body(Body::wrapped(Shape::Inline(move_schema))),
    Endpoint::delete(&[ONE, ONE_LEGACY], write_handler!(cancel))
        .named("CancelAppointment", "Cancel an appointment")
        .right(Resource::Appointment, Verb::Delete, OWN_OR_SECRET)
        .query(&[SECRET])
        .body(Body::SENDMAIL),
];

/// The body of a booking, with its client and customised attributes.
fn booking_schema() -> RefOr<Schema> {
    let booking = object_of::<BookingBody>().property("group_id", group_given());
    customs_given(booking.property("fiche", booked_fiche()), Model::Vevent).into()
}

/// The body of a move, with the members that are read with the request.
fn move_schema() -> RefOr<Schema> {
    let body = object_of::<MoveBody>().property("group_id", group_given());
    body.property("sendmail", sendmail()).into()
}

/// The appointments of one booking.
fn booked() -> RefOr<Schema> {
    let records = filled_list(named("Appointment"));
    all_required([("records", records.into(), "One record for each intervention, in order.")])
        .into()
}

/// POST /api/v1/groups/{group_id}/appointments.
fn book(request: &GroupRequest) -> Result<PreparedWrite, ApiError> {
    let audience = request.audience();
    let now = request.now;
    let object = wrapped_object(&request.body, "appointment");
    let claims = BookingClaims::read(object.as_ref().ok().copied());
    // Missing rights are reported before wrong parameters.
    let permission = match permit_booking(
        &request.state.catalogue,
        request.caller(),
        claims.from_web(),
        claims.names_fiche,
    ) {
        Ok(permission) => permission,
        Err(refusal) => return Err(ApiError::from_refusals(&[refusal], request.zone(), audience)),
    };
    let mut booking = parse(object?, claims, permission, &request.scope(), request.caller())?;
    if let Some(names) = request.identity.pro_names() {
        booking.command.taker = names;
    }
    booking.command.booking_origin =
        request.server.source_hasher.origin(&request.identity, request.from);
    booking.command.needs_contact = request.identity.needs_contact();
    let sent = booking.sent;
    let zone = request.zone();
    let render_booked = move |done: &Committed| {
        if let Some(hold) = done.hold.and_then(|id| done.group_state.holds().get(id)) {
            return to_json(&BookingReceipt::new(hold, zone));
        }
        let scope = Scope::for_group(&done.group_state);
        let mut bytes = Vec::with_capacity(1_024 * done.appointments.len());
        bytes.extend_from_slice(br#"{"records":["#);
        for (nth, id) in done.appointments.iter().enumerate() {
            if nth > 0 {
                bytes.push(b',');
            }
            let vevent = done.group_state.rows.get(id).expect("a booked appointment exists");
            appointment::append(vevent, &scope, audience, now, &sent, &mut bytes);
        }
        bytes.extend_from_slice(b"]}");
        bytes
    };
    let group = &request.state.catalogue.group;
    let email = booking.command.client.email.as_ref();
    let subjects = LimitSubjects::new(&request.identity, group.id, email, request.from);
    let write = GuardedWrite::booking(group, booking.command, subjects, now);
    Ok(request.prepare_creation(write, render_booked))
}

/// GET /api/v1/groups/{group_id}/appointments: the uncancelled appointments that end in the future,
/// or all uncancelled ones with `include_past`. An account sees only its own. `calendar_id`,
/// `fiche_id`, `intervention_id`, `start_from` and `start_to` choose among them.
async fn list(request: GroupRequest) -> HandlerResult {
    let params = &request.params;
    let audience = request.audience();
    let now = request.now;
    let wanted = Wanted::parse(&request);
    let mut faults = FaultCollector::default();
    let wanted = faults.keep_faults(wanted);
    let table = table_for_audience(audience);
    let query = faults.finish(Query::parse(params, table, &request.scope(), audience))?;
    // The text of an appointment is its client's names, which the client may search.
    let query = query.with_search_table(params, &VEVENT, Audience::Pro)?;
    let include_past = parse_flag(params, "include_past", false)?;
    let after = if include_past { INSTANT_MIN } else { now };
    let sight = request.sight();
    let own = match request.caller() {
        Caller::Account(account) => Some(account.own().collect::<Vec<_>>()),
        Caller::Application | Caller::Pro(_) => None,
    };
    let search = AppointmentSearch { wanted, own, after };
    let rows = search.find(&request.state).take(INLINE_COST_MAX + 1).count();
    let shown = move |vevent: &Vevent, _: &GroupState| {
        sight.shows_vevent(vevent) && wanted.includes(vevent)
    };
    let write = move |vevent: &Vevent, scope: &Scope<'_>, bytes: &mut Vec<u8>| {
        appointment::append(vevent, scope, audience, now, &[], bytes);
    };
    list_response(&request, rows, query, move |state| search.find(state).collect(), shown, write)
        .await
}

/// The appointments that a list is asked for. What is `None` chooses none out.
#[derive(Clone, Copy, Default)]
struct Wanted {
    calendar: Option<CalendarId>,
    fiche: Option<FicheId>,
    intervention: Option<InterventionId>,
    from: Option<Instant>,
    to: Option<Instant>,
}

impl Wanted {
    /// Parses the parameters of a list. An account asks only for fiches of its own.
    ///
    /// # Errors
    /// A fault for each wrong parameter.
    fn parse(request: &GroupRequest) -> Result<Self, Vec<Fault>> {
        let params = &request.params;
        let state = &request.state;
        let catalogue = &state.catalogue;
        let caller = request.caller();
        let sight = request.sight();
        let is_known = |id: FicheId| match caller {
            Caller::Account(account) => account.owns(id),
            Caller::Application | Caller::Pro(_) => {
                state.fiches.contains_key(&id) && state.shows_client(&sight, id)
            }
        };
        let mut faults = FaultCollector::default();
        let exists =
            |id: CalendarId| catalogue.calendars.contains_key(&id) && sight.shows_calendar(id);
        let calendar = faults.keep_fault(parse_id(params, "calendar_id", CalendarId::new, exists));
        let fiche = faults.keep_fault(parse_id(params, "fiche_id", FicheId::new, is_known));
        let exists = |id: InterventionId| catalogue.interventions.contains_key(&id);
        let intervention = parse_id(params, "intervention_id", InterventionId::new, exists);
        let intervention = faults.keep_fault(intervention);
        let from = faults.keep_fault(parse_moment(params, "start_from", request.zone()));
        let to = faults.keep_fault(parse_moment(params, "start_to", request.zone()));
        faults.finish(Ok(Self { calendar, fiche, intervention, from, to }))
    }

    fn includes(&self, vevent: &Vevent) -> bool {
        let Some(appointment) = vevent.appointment() else { return false };
        self.calendar.is_none_or(|calendar| vevent.calendar_id == calendar)
            && self.fiche.is_none_or(|fiche| appointment.fiche_id == fiche)
            && self.intervention.is_none_or(|id| appointment.intervention_id == id)
            && self.from.is_none_or(|from| from <= appointment.start)
            && self.to.is_none_or(|to| appointment.start < to)
    }
}

/// The search of a list for uncancelled appointments. It passes over other clients and calendars,
/// over what ends before the span of starts, and on calendars over what starts after it.
struct AppointmentSearch {
    wanted: Wanted,
    /// The clients that an account owns; `None` for callers who see those of others.
    own: Option<Vec<FicheId>>,
    /// They end after this moment.
    after: Instant,
}

impl AppointmentSearch {
    /// Finds the appointments that may be wanted.
    fn find<'r>(&self, state: &'r GroupState) -> impl Iterator<Item = &'r Vevent> + use<'r> {
        let taken = if let Some(client) = self.wanted.fiche {
            self.find_of(state, vec![client])
        } else if let Some(own) = &self.own {
            self.find_of(state, own.clone())
        } else {
            self.find_on_calendars(state)
        };
        taken.map(|taken| state.rows.get(&taken.id).expect("taken time has a vevent").as_ref())
    }

    /// Finds those of some clients.
    fn find_of<'r>(&self, state: &'r GroupState, clients: Vec<FicheId>) -> TakenTimes<'r> {
        let after = self.after;
        let all = clients.into_iter().flat_map(|client| state.appointments_of(client));
        Box::new(all.copied().filter(move |taken| taken.interval.end > after))
    }

    /// Finds those of the calendar that is asked for, or of all.
    fn find_on_calendars<'r>(&self, state: &'r GroupState) -> TakenTimes<'r> {
        let Wanted { calendar, from, to, .. } = self.wanted;
        let after = from.map_or(self.after, |from| from.max(self.after));
        let find_on = move |view: &'r Arc<CalendarView>| {
            let later = view.taken().ending_after(after);
            later.take_while(move |taken| to.is_none_or(|to| taken.interval.start < to))
        };
        match calendar {
            Some(id) => Box::new(state.calendars.get(&id).into_iter().flat_map(find_on)),
            None => Box::new(state.calendars.values().flat_map(find_on)),
        }
    }
}

/// Taken times of a state.
type TakenTimes<'r> = Box<dyn Iterator<Item = TakenInterval> + 'r>;

/// GET /api/v1/groups/{group_id}/appointments/{id}, by a professional, by the client's account, or
/// with the appointment's secret.
async fn show(request: GroupRequest) -> HandlerResult {
    let id = request.id(VeventId::new)?;
    let vevent = request.find_vevent(id)?;
    let appointment = vevent.appointment().ok_or_else(ApiError::no_result)?;
    let may_see = is_own(request.caller(), vevent)
        || match request.params.value("key") {
            Some(secret) => appointment.key.matches(secret),
            None => false,
        };
    if !may_see {
        return Err(ApiError::no_result());
    }
    let shown = show_appointment(vevent, &request.state, request.caller(), request.now);
    Ok(object_response(shown))
}

/// DELETE /api/v1/groups/{group_id}/appointments/{id}, by a professional, by the client's account,
/// or with the appointment's secret.
fn cancel(request: &GroupRequest) -> Result<PreparedWrite, ApiError> {
    let id = request.id(VeventId::new)?;
    request.check_writes_vevent(id)?;
    let right = claimed_right(request, id);
    let audience = audience_by(&right, request);
    let command = Command::CancelAppointment(CancelAppointment { id, right });
    let command = request.quiet_if_requested(command, "appointment");
    Ok(request.prepare_change(command, audience, show_later(request, id)))
}

/// PUT /api/v1/groups/{group_id}/appointments/{id}: another start, by a professional.
fn move_by_pro(request: &GroupRequest) -> Result<PreparedWrite, ApiError> {
    let (id, command) = read_move(request)?;
    let command = request.quiet_if_requested(Command::MoveAppointment(command), "appointment");
    Ok(request.prepare_change(command, request.audience(), show_later(request, id)))
}

/// The same by the client's account, or with the appointment's secret.
async fn move_by_client(request: GroupRequest) -> HandlerResult {
    let (id, command) = read_move(&request)?;
    let audience = audience_by(&command.right, &request);
    let show = show_later(&request, id);
    let group = request.state.catalogue.group.id;
    let subjects = LimitSubjects::new(&request.identity, group, None, request.from)
        .expect("limits count every caller but professionals");
    let precondition = request.precondition(show.clone());
    let server = &request.server;
    let moved = move_within_limits(
        server,
        request.identity.author(),
        &request.state,
        command,
        precondition,
        subjects,
        request.now,
    );
    let moved = moved.await.map_err(|refused| refused.into_error(request.zone(), audience))?;
    show(&moved).map(object_response).ok_or_else(ApiError::no_result)
}

/// Reads the move that a request asks for.
///
/// # Errors
/// 404 if the path has no id, 400 for each wrong field.
fn read_move(request: &GroupRequest) -> Result<(VeventId, MoveAppointment), ApiError> {
    let id = request.id(VeventId::new)?;
    request.check_writes_vevent(id)?;
    let object = wrapped_object(&request.body, "appointment")?;
    let command = parse_move(object, &request.scope(), id, claimed_right(request, id))?;
    Ok((id, command))
}

/// The audience of refusals to a caller with this right. An account with another client's secret
/// learns no more of that client than an application.
fn audience_by(right: &CancelRight, request: &GroupRequest) -> Audience {
    match right {
        CancelRight::Secret(_) => Audience::Application,
        CancelRight::Account(_) | CancelRight::Pro => request.audience(),
    }
}

/// The right by which a request changes an appointment. An account that does not own it needs the
/// secret.
fn claimed_right(request: &GroupRequest, id: VeventId) -> CancelRight {
    let is_own = match request.state.rows.get(&id) {
        Some(vevent) => is_own(request.caller(), vevent),
        None => false,
    };
    match request.caller() {
        Caller::Pro(_) => CancelRight::Pro,
        Caller::Account(account) if is_own => CancelRight::Account(Arc::clone(account)),
        Caller::Account(_) | Caller::Application => {
            CancelRight::Secret(request.params.value("key").unwrap_or_default().to_owned())
        }
    }
}

/// Whether the caller may see an appointment without its secret.
fn is_own(caller: &Caller, vevent: &Vevent) -> bool {
    match (caller, vevent.appointment()) {
        (Caller::Pro(_), _) => true,
        (Caller::Account(account), Some(appointment)) => account.owns(appointment.fiche_id),
        (Caller::Account(_), None) | (Caller::Application, _) => false,
    }
}

/// Returns a function that shows an appointment in a later state to the caller of a request.
fn show_later(
    request: &GroupRequest,
    id: VeventId,
) -> impl Fn(&GroupState) -> Option<ShownObject> + Clone + Send + Sync + 'static {
    let caller = request.caller().clone();
    let now = request.now;
    move |state| Some(show_appointment(state.rows.get(&id)?, state, &caller, now))
}

/// Shows an appointment. An account that knows only the secret sees what an application sees. The
/// tag is of the appointment's own fields, so that a change of its client is none of it.
fn show_appointment(
    vevent: &Vevent,
    state: &GroupState,
    caller: &Caller,
    now: Instant,
) -> ShownObject {
    let audience =
        if is_own(caller, vevent) { Audience::for_caller(caller) } else { Audience::Application };
    let scope = Scope::for_group(state);
    let fields = table_for_audience(audience).to_json(vevent, &scope, audience);
    let mut json = Vec::with_capacity(1_024);
    appointment::append(vevent, &scope, audience, now, &[], &mut json);
    ShownObject { json, tag: object_tag(&fields) }
}
