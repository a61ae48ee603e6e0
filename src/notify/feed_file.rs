//! The file of a calendar feed, as calendar programs read it. Reference 19.3; RFC 5545.
//!
//! It depends on the records alone, and on the window: two answers about the same events are the
//! same bytes, whenever they were made.

use std::fmt::Write as _;
use std::sync::Arc;

use icalendar::{Calendar, Component as _, Event, EventLike as _, EventStatus, Property};

use crate::domain::availability::postal_address::PostalAddress;
use crate::domain::records::calendarfeed::FeedDetails;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::CalendarId;
use crate::domain::records::vevent::{Appointment, Vevent, VeventKind};
use crate::domain::state::agenda_window::{Agenda, AgendaEvent, AgendaWindow, TooManyOccurrences};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::format_ical;
use crate::domain::time::{CivilDay, DAY, Instant};
use crate::notify::calendar::appointment_uid;
use crate::notify::language::{Language, one_line, short_line};
use crate::notify::mail_appointment::{address_lines, group_name};

/// Days before the moment of the request from which on a feed shows events.
const DAYS_BACK: i64 = 30;
/// Days after that moment up to which it shows them.
const DAYS_AHEAD: i64 = 365;
/// Days for which it shows an appointment that was cancelled.
const CANCELLED_DAYS: i64 = 30;
/// Maximum number of characters of a title.
const TITLE_CHARS_MAX: usize = 200;
/// The end of a file.
pub(crate) const FILE_END: &[u8] = b"END:VCALENDAR\r\n";

/// The events of a feed at one moment, to be written one by one.
pub(crate) struct FeedFile {
    state: Arc<GroupState>,
    details: FeedDetails,
    language: Language,
    /// The calendars, of which there is at least one.
    calendars: Vec<CalendarId>,
    /// Live events, then cancelled appointments.
    events: Vec<FeedEvent>,
}

/// An event of a feed.
struct FeedEvent {
    event: AgendaEvent,
    is_cancelled: bool,
}

/// Returns the window of a feed that is read at a moment.
pub(crate) fn feed_window(calendars: &[CalendarId], now: Instant) -> AgendaWindow {
    let interval = Interval {
        start: now.plus_seconds(-DAYS_BACK * DAY),
        end: now.plus_seconds(DAYS_AHEAD * DAY),
    };
    AgendaWindow { interval, calendars: calendars.to_vec() }
}

impl FeedFile {
    /// Finds the events of a feed that is read at a moment. The cost is that of what its window
    /// holds on the calendars, and of their cancellations of late.
    ///
    /// # Errors
    /// There are too many occurrences.
    ///
    /// # Panics
    /// If the group has no such calendar.
    pub(crate) fn find(
        state: Arc<GroupState>,
        calendars: &[CalendarId],
        details: FeedDetails,
        now: Instant,
    ) -> Result<Self, TooManyOccurrences> {
        let window = feed_window(calendars, now);
        let mut events = Vec::new();
        for event in Agenda::find_events(&state, &window)? {
            // A note is a text, and takes no time.
            let is_note = matches!(state.rows[&event.id].kind, VeventKind::Note(_));
            if !is_note || details == FeedDetails::Full {
                events.push(FeedEvent { event, is_cancelled: false });
            }
        }
        let since = now.plus_seconds(-CANCELLED_DAYS * DAY);
        for calendar in &window.calendars {
            for id in state.cancelled_times().since(*calendar, since) {
                let taken = state.rows[&id].appointment().map(Appointment::interval);
                let Some(time) = taken.filter(|time| time.overlaps(window.interval)) else {
                    continue;
                };
                let event = AgendaEvent {
                    interval: time,
                    id,
                    calendar_id: *calendar,
                    occurrence: None,
                    is_all_day: false,
                };
                events.push(FeedEvent { event, is_cancelled: true });
            }
        }
        let language = Language::of_country(state.catalogue.group.country.as_str());
        Ok(Self { state, details, language, calendars: window.calendars, events })
    }

    /// The number of events.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// The bytes of memory that the events take, without the state.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.events.capacity() * size_of::<FeedEvent>()) as u64
    }

    /// Returns the lines before the first event.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut calendar = Calendar::empty();
        calendar.append_property(("VERSION", "2.0"));
        calendar.append_property(("PRODID", "-//slotbook//slotbook//EN"));
        calendar.append_property(("CALSCALE", "GREGORIAN"));
        calendar.append_property(("X-WR-CALNAME", self.name().as_str()));
        let mut interval = Property::new("REFRESH-INTERVAL", "PT1H");
        interval.add_parameter("VALUE", "DURATION");
        calendar.append_property(interval);
        calendar.append_property(("X-PUBLISHED-TTL", "PT1H"));
        let whole = calendar.to_string().into_bytes();
        whole.strip_suffix(FILE_END).expect("a calendar has an end").to_vec()
    }

    /// Appends an event.
    ///
    /// # Panics
    /// If there is none at that place.
    pub(crate) fn write_event(&self, place: usize, bytes: &mut Vec<u8>) {
        let FeedEvent { event, is_cancelled } = &self.events[place];
        let row = &self.state.rows[&event.id];
        let mut ical = Event::with_uid(&self.uid(row, event));
        ical.add_property("SEQUENCE", sequence(row).to_string());
        ical.add_property("DTSTAMP", format_ical(row.updated_at));
        ical.add_property("LAST-MODIFIED", format_ical(row.updated_at));
        ical.add_property("CREATED", format_ical(row.created_at));
        self.add_times(&mut ical, row, event);
        self.add_words(&mut ical, row);
        let takes_time = !is_cancelled && !matches!(row.kind, VeventKind::Note(_));
        ical.add_property("TRANSP", if takes_time { "OPAQUE" } else { "TRANSPARENT" });
        ical.status(if *is_cancelled { EventStatus::Cancelled } else { EventStatus::Confirmed });
        bytes.extend_from_slice(ical.done().to_string().as_bytes());
    }

    /// Returns the name that calendar programs suggest: the group, and the calendar if it is one.
    fn name(&self) -> String {
        let group = group_name(&self.state);
        let [only] = self.calendars.as_slice() else { return group };
        let public = self.state.catalogue.calendars[only].publicname.as_str();
        match one_line(public) {
            name if name.is_empty() => group,
            name => format!("{group} – {name}"),
        }
    }

    /// Returns the UID, that of the mails for an appointment. An occurrence of a series has its
    /// day in it, by which exceptions name it.
    fn uid(&self, row: &Vevent, event: &AgendaEvent) -> String {
        let group = self.state.catalogue.group.id;
        match (row.appointment(), event.occurrence) {
            (Some(appointment), _) => appointment_uid(group, row.id, &appointment.key),
            (None, Some(day)) => format!("{group}-{}-{}@slotbook", row.id, date(day)),
            (None, None) => format!("{group}-{}@slotbook", row.id),
        }
    }

    /// Adds the time: in UTC, and that of a note as its day.
    fn add_times(&self, ical: &mut Event, row: &Vevent, event: &AgendaEvent) {
        if matches!(row.kind, VeventKind::Note(_)) {
            let day = self.state.catalogue.zone().civil_of(event.interval.start).day();
            for (name, day) in [("DTSTART", day), ("DTEND", day.plus_days(1))] {
                let mut property = Property::new(name, date(day));
                property.add_parameter("VALUE", "DATE");
                ical.append_property(property);
            }
            return;
        }
        ical.add_property("DTSTART", format_ical(event.interval.start));
        ical.add_property("DTEND", format_ical(event.interval.end));
    }

    /// Adds what the details of the feed tell.
    fn add_words(&self, ical: &mut Event, row: &Vevent) {
        let busy = match self.language {
            Language::French => "Occupé",
            Language::English => "Busy",
        };
        let client = row.fiche_id().and_then(|id| self.state.fiches.get(&id));
        let title = match (self.details, row.appointment()) {
            (FeedDetails::Busy, _) | (FeedDetails::Initials, None) => String::new(),
            (FeedDetails::Initials, Some(_)) => {
                client.map(|client| initials(client)).unwrap_or_default()
            }
            (FeedDetails::Full, Some(appointment)) => {
                self.full_title(appointment, client.map(AsRef::as_ref))
            }
            (FeedDetails::Full, None) => own_text(row),
        };
        let title = short_line(&title, TITLE_CHARS_MAX);
        ical.summary(if title.is_empty() { busy } else { &title });
        if self.details != FeedDetails::Full {
            return;
        }
        let description = self.description(row, client.map(AsRef::as_ref));
        if !description.is_empty() {
            ical.description(&description);
        }
        let location = self.location(row);
        if row.appointment().is_some() && !location.is_empty() {
            ical.location(&location);
        }
    }

    fn full_title(&self, appointment: &Appointment, client: Option<&Fiche>) -> String {
        let client = client.map(full_name).unwrap_or_default();
        let catalogue = &self.state.catalogue;
        let intervention = match catalogue.interventions.get(&appointment.intervention_id) {
            Some(row) if !row.name.is_blank() => one_line(row.name.as_str()),
            Some(row) => one_line(row.publicname.as_str()),
            None => String::new(),
        };
        let parts = [client, intervention];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(" – ")
    }

    /// Returns the telephone numbers of the client and the comments, line by line.
    fn description(&self, row: &Vevent, client: Option<&Fiche>) -> String {
        let mut texts = Vec::new();
        if let Some(client) = client {
            texts.extend([client.firstphone.as_str(), client.secondphone.as_str()]);
        }
        if let Some(rare) = &row.rare {
            // The text of other events is their title.
            if row.appointment().is_some() {
                texts.push(rare.text.as_str());
            }
            texts.extend([rare.comments.as_str(), rare.internal_comments.as_str()]);
        }
        let mut description = String::new();
        for line in texts.into_iter().flat_map(str::lines).map(one_line) {
            if !line.is_empty() {
                let break_before = if description.is_empty() { "" } else { "\n" };
                write!(description, "{break_before}{line}").expect("a string takes any text");
            }
        }
        description
    }

    fn location(&self, row: &Vevent) -> String {
        let catalogue = &self.state.catalogue;
        let calendar = &catalogue.calendars[&row.calendar_id];
        address_lines(PostalAddress::of_calendar(catalogue, calendar)).join(", ")
    }
}

/// Returns the revision of an event: the seconds from its creation to its last change. It grows by
/// moves, cancellation and restoration, as that of the mails does, and no import lowers it.
fn sequence(row: &Vevent) -> u64 {
    row.updated_at.seconds_since(row.created_at).max(0).unsigned_abs()
}

/// Returns a day as iCalendar writes it.
fn date(day: CivilDay) -> String {
    let (year, month, day) = day.ymd();
    format!("{year:04}{month:02}{day:02}")
}

/// Returns the initials of a client, such as `A. D.`; empty without a name.
fn initials(client: &Fiche) -> String {
    let names = [client.firstname.as_str(), client.lastname.as_str()];
    let mut initials = Vec::new();
    for name in names.map(one_line) {
        if let Some(first) = name.chars().find(|letter| letter.is_alphanumeric()) {
            initials.push(format!("{}.", first.to_uppercase()));
        }
    }
    initials.join(" ")
}

fn full_name(client: &Fiche) -> String {
    one_line(&format!("{} {}", client.firstname.as_str(), client.lastname.as_str()))
}

fn own_text(row: &Vevent) -> String {
    match &row.rare {
        Some(rare) => one_line(rare.text.as_str()),
        None => String::new(),
    }
}
