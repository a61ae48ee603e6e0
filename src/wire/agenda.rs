//! The agenda of a window in requests and answers. Reference 4.10.

use std::collections::BTreeSet;

use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::domain::directory::roles::Sight;
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{CalendarId, FicheId, InterventionId, VeventId};
use crate::domain::records::vevent::{State, Vevent, VeventKind};
use crate::domain::state::agenda_window::{
    AGENDA_CALENDARS_MAX, AGENDA_DAYS_MAX, AGENDA_OCCURRENCES_MAX, Agenda, AgendaEvent,
    AgendaWindow, OpenStretch,
};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::{CivilDay, DAY, Instant};
use crate::wire::column_value::FieldType;
use crate::wire::datetime::{LocalTime, format_rfc_3339};
use crate::wire::params::Params;
use crate::wire::query::{FaultCollector, parse_ids, parse_moment};
use crate::wire::schema::{
    UtcTime, described, list, object_of, one_of, pattern, schema_names, schema_of, shown, whole,
};
use crate::wire::vevent::{REVISION_LENGTH, revision_text};

/// Maximum number of characters of a text of a plage or a note.
const TEXT_CHARACTERS_MAX: usize = 80;

/// Parses the window of an agenda. Without calendars it is that of all live ones, in their order.
///
/// # Errors
/// A missing or malformed bound, an end that is not after the start or is too far from it, an
/// unknown calendar, and too many calendars.
pub fn parse_window(
    params: &Params,
    state: &GroupState,
    sight: &Sight,
) -> Result<AgendaWindow, Vec<Fault>> {
    let zone = state.catalogue.zone();
    let mut faults = FaultCollector::default();
    let from = faults.keep_fault(parse_bound(params, "from", zone));
    let to = faults.keep_fault(parse_bound(params, "to", zone));
    if let (Some(from), Some(to)) = (from, to)
        && let Err(rule) = check_length(from, to, zone)
    {
        faults.0.push(Fault::new("to", rule));
    }
    let calendars = faults.keep_fault(parse_calendars(params, state, sight));
    let start = from.unwrap_or_default();
    let interval = Interval { start, end: to.unwrap_or(start) };
    faults.finish(Ok(AgendaWindow { interval, calendars }))
}

fn parse_bound(params: &Params, name: &str, zone: Zone) -> Result<Option<Instant>, Fault> {
    match parse_moment(params, name, zone)? {
        Some(moment) => Ok(Some(moment)),
        None => Err(Fault::new(name, "is required: a time as YYYY-MM-DD HH:MM:SS, or a date")),
    }
}

fn check_length(from: Instant, to: Instant, zone: Zone) -> Result<(), String> {
    if to <= from {
        return Err("must be after from".into());
    }
    // On the clocks, a window of whole days has the same length over a clock change.
    if zone.civil_of(to).seconds_since(zone.civil_of(from)) > AGENDA_DAYS_MAX * DAY {
        return Err(format!("must be at most {AGENDA_DAYS_MAX} days after from"));
    }
    Ok(())
}

fn parse_calendars(
    params: &Params,
    state: &GroupState,
    sight: &Sight,
) -> Result<Vec<CalendarId>, Fault> {
    const NAME: &str = "calendar_ids";
    let calendars = &state.catalogue.calendars;
    let known = |id: CalendarId| calendars.contains_key(&id) && sight.shows_calendar(id);
    let mut ids = parse_ids(params, NAME, CalendarId::new, known)?;
    let mut seen = BTreeSet::new();
    ids.retain(|id| seen.insert(*id));
    if ids.is_empty() {
        let live = state.catalogue.live_calendars().map(|calendar| calendar.id);
        ids = live.filter(|id| sight.shows_calendar(*id)).collect();
        if ids.len() > AGENDA_CALENDARS_MAX {
            let rule = format!(
                "is required, because the group has {} calendars: name at most \
                 {AGENDA_CALENDARS_MAX}",
                ids.len()
            );
            return Err(Fault::new(NAME, rule));
        }
    }
    if ids.len() > AGENDA_CALENDARS_MAX {
        let count = ids.len();
        let rule = format!("must be at most {AGENDA_CALENDARS_MAX} calendars, not {count}");
        return Err(Fault::new(NAME, rule));
    }
    Ok(ids)
}

/// The fault of a window that holds too much.
pub fn too_many_occurrences() -> Fault {
    let rule = format!(
        "must be nearer to from: the window holds more than {AGENDA_OCCURRENCES_MAX} events; \
         name fewer days or calendars"
    );
    Fault::new("to", rule)
}

schema_names! {
    /// A date of a local day.
    pub ShownDate => pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}$");
    /// The kind of an event.
    pub ShownKind => one_of(["appointment", "plage", "note"]);
    /// A revision.
    pub ShownRevision => pattern("^[A-Za-z0-9_-]{11}$").min_length(Some(REVISION_LENGTH));
    /// The id of a record that an event may name.
    pub ShownReference => shown(FieldType::Reference, false);
    /// The state of an appointment.
    pub ShownState => whole(0, 3);
    /// The colour of a service.
    pub ShownColour => shown(FieldType::Colour, false);
}

/// A date that JSON shows as `YYYY-MM-DD`.
fn format_date(day: CivilDay) -> String {
    let (year, month, day) = day.ymd();
    format!("{year:04}-{month:02}-{day:02}")
}

/// The agenda without its events.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgendaHead<'s> {
    /// Start of the window, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    from: LocalTime,
    /// The same as an instant.
    #[schema(value_type = UtcTime)]
    from_utc: String,
    /// End of the window, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    to: LocalTime,
    /// The same as an instant.
    #[schema(value_type = UtcTime)]
    to_utc: String,
    /// The calendars, in the order of the request; by default in the order of their list.
    calendars: Vec<AgendaCalendar<'s>>,
    /// The interventions that the events name, ascending by id.
    interventions: Vec<AgendaIntervention<'s>>,
}

/// A calendar of an agenda.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgendaCalendar<'s> {
    /// Its id.
    id: CalendarId,
    /// Its name.
    name: &'s str,
    /// Its open time in the window, day by day: some availability opens it, and no plage takes it.
    open: Vec<OpenTimeAnswer>,
}

/// Open time of one day.
#[derive(Debug, Serialize, ToSchema)]
pub struct OpenTimeAnswer {
    /// The day, YYYY-MM-DD on the clocks of the group.
    #[schema(value_type = ShownDate)]
    date: String,
    /// Start, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    start: LocalTime,
    /// The start as an instant.
    #[schema(value_type = UtcTime)]
    start_utc: String,
    /// End, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    end: LocalTime,
    /// The end as an instant.
    #[schema(value_type = UtcTime)]
    end_utc: String,
}

/// An intervention of an agenda.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgendaIntervention<'s> {
    /// Its id.
    id: InterventionId,
    /// Its name.
    name: &'s str,
    /// Its short name; may be empty.
    abbr: &'s str,
    /// Its colour, as #RRGGBB.
    #[schema(value_type = ShownColour)]
    colorref: &'s str,
}

/// An event of an agenda, or one occurrence of an event that repeats. Members that differ from
/// event to event come last, so that the rest compresses well.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgendaEventAnswer<'s> {
    /// Start, YYYY-MM-DD HH:MM:SS on the clocks of the group.
    start: LocalTime,
    /// The start as an instant.
    #[schema(value_type = UtcTime)]
    start_utc: String,
    /// End, YYYY-MM-DD HH:MM:SS on the clocks of the group. A note ends with its day.
    end: LocalTime,
    /// The end as an instant.
    #[schema(value_type = UtcTime)]
    end_utc: String,
    /// The entity tag of the vevent, without its quotes.
    #[schema(value_type = ShownRevision)]
    revision: String,
    /// State of an appointment: 0 in progress, 1 attended, 2 no-show, 3 pending.
    #[schema(value_type = ShownState)]
    state: i64,
    /// Id of the intervention; 0 for none.
    #[schema(value_type = ShownReference)]
    intervention_id: u64,
    /// Id of its calendar.
    calendar_id: CalendarId,
    /// Its kind.
    #[schema(value_type = ShownKind)]
    kind: &'static str,
    /// Whether it has a comment for professionals only.
    has_internal_comments: bool,
    /// Whether a plage or a note takes whole days.
    all_day: bool,
    /// The day by which repeat_exceptions names the occurrence, YYYY-MM-DD; left out for an event
    /// that does not repeat.
    #[schema(value_type = Option<ShownDate>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    occurrence: Option<String>,
    /// Id of the vevent.
    id: VeventId,
    /// Whether the appointment was booked by a client.
    from_web: bool,
    /// Names of the client; of a plage or a note the first 80 characters of its text.
    text: String,
    /// A telephone number of the client; may be empty.
    phone: &'s str,
    /// Id of the client; 0 for none.
    #[schema(value_type = ShownReference)]
    fiche_id: u64,
}

/// The schema of the whole answer, whose last member are the events.
pub fn agenda_schema() -> RefOr<Schema> {
    let events = list(schema_of::<AgendaEventAnswer<'static>>());
    let events = described(events, "The events, ascending by start, end and id.");
    object_of::<AgendaHead<'static>>().property("events", events).required("events").into()
}

impl<'s> AgendaHead<'s> {
    /// The answer to a window, without its events.
    pub fn new(state: &'s GroupState, window: &AgendaWindow, agenda: &Agenda) -> Self {
        let catalogue = &state.catalogue;
        let zone = catalogue.zone();
        let mut calendars = Vec::with_capacity(window.calendars.len());
        for (id, open) in window.calendars.iter().zip(&agenda.open) {
            let name = catalogue.calendars[id].name.as_str();
            let open = open.iter().map(|stretch| OpenTimeAnswer::new(*stretch, zone)).collect();
            calendars.push(AgendaCalendar { id: *id, name, open });
        }
        let named: BTreeSet<InterventionId> = agenda
            .events
            .iter()
            .filter_map(|event| state.rows[&event.id].intervention_id())
            .collect();
        let mut interventions = Vec::with_capacity(named.len());
        for id in named {
            let intervention = &catalogue.interventions[&id];
            interventions.push(AgendaIntervention {
                id,
                name: intervention.name.as_str(),
                abbr: intervention.abbr.as_str(),
                colorref: intervention.colorref.as_str(),
            });
        }
        Self {
            from: LocalTime::new(zone, window.interval.start),
            from_utc: format_rfc_3339(window.interval.start),
            to: LocalTime::new(zone, window.interval.end),
            to_utc: format_rfc_3339(window.interval.end),
            calendars,
            interventions,
        }
    }
}

impl OpenTimeAnswer {
    fn new(stretch: OpenStretch, zone: Zone) -> Self {
        let OpenStretch { day, interval } = stretch;
        Self {
            date: format_date(day),
            start: LocalTime::new(zone, interval.start),
            start_utc: format_rfc_3339(interval.start),
            end: LocalTime::new(zone, interval.end),
            end_utc: format_rfc_3339(interval.end),
        }
    }
}

impl<'s> AgendaEventAnswer<'s> {
    /// The answer about an event of the agenda of a state.
    pub fn new(state: &'s GroupState, event: &AgendaEvent) -> Self {
        let zone = state.catalogue.zone();
        let row = &state.rows[&event.id];
        let fiche = row.fiche_id().and_then(|id| state.fiches.get(&id)).map(AsRef::as_ref);
        let appointment = row.appointment();
        let internal_comments = row.rare.as_deref().map(|rare| &rare.internal_comments);
        Self {
            id: event.id,
            revision: revision_text(row),
            kind: name_of_kind(row),
            calendar_id: event.calendar_id,
            start: LocalTime::new(zone, event.interval.start),
            start_utc: format_rfc_3339(event.interval.start),
            end: LocalTime::new(zone, event.interval.end),
            end_utc: format_rfc_3339(event.interval.end),
            all_day: event.is_all_day,
            occurrence: event.occurrence.map(format_date),
            text: short_text(row, fiche),
            fiche_id: row.fiche_id().map_or(0, FicheId::number),
            phone: fiche.map_or("", Fiche::any_phone),
            intervention_id: row.intervention_id().map_or(0, InterventionId::number),
            state: appointment.map_or(State::default(), |it| it.state).number(),
            from_web: appointment.is_some_and(|it| it.from_web),
            has_internal_comments: internal_comments.is_some_and(|text| !text.is_blank()),
        }
    }
}

/// Returns the name of a kind that an agenda shows.
///
/// # Panics
/// For an availability, which an agenda shows as open time.
fn name_of_kind(row: &Vevent) -> &'static str {
    match row.kind {
        VeventKind::Appointment(_) => "appointment",
        VeventKind::Plage(_) => "plage",
        VeventKind::Note(_) => "note",
        VeventKind::Availability(_) => unreachable!("an agenda shows availabilities as open time"),
    }
}

/// Returns the names of an appointment's client, or the beginning of the text of another event.
fn short_text(row: &Vevent, fiche: Option<&Fiche>) -> String {
    if row.appointment().is_some() {
        return fiche.map(Fiche::names).unwrap_or_default();
    }
    let text = row.rare.as_deref().map_or("", |rare| rare.text.as_str());
    text.chars().take(TEXT_CHARACTERS_MAX).collect()
}
