//! Events of the agenda in words.

use crate::domain::records::ids::CalendarId;
use crate::domain::records::vevent::{State, Vevent, VeventKind};
use crate::domain::state::agenda_window::AgendaEvent;
use crate::domain::time::zone::Zone;
use crate::domain::time::{CivilDay, Instant};
use crate::notify::language::Language;
use crate::web::format;
use crate::web::practice::agenda::address::{AgendaAddress, AgendaView};
use crate::web::practice::event_move::target::EventPlace;
use crate::web::practice::texts::agenda::AgendaTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::vevent::revision_text;

/// Maximum number of characters of the text of a plage or a note.
const TITLE_CHARACTERS_MAX: usize = 80;

/// An event on a day of the agenda.
pub(crate) struct AgendaEntry {
    /// The id of its element, by which a screen comes back to it.
    pub(crate) anchor: String,
    /// Its record.
    pub(crate) url: String,
    /// The day of the list or column that it stands in.
    pub(crate) day: String,
    pub(crate) time: String,
    /// The client; of a plage or a note its text, or else its kind.
    pub(crate) title: String,
    /// The intervention; empty without one.
    pub(crate) service: String,
    pub(crate) calendar: String,
    /// A telephone number of the client; may be empty.
    pub(crate) phone: String,
    /// The state, the origin and more.
    pub(crate) words: String,
    /// The class of its kind and state.
    pub(crate) class: &'static str,
    /// The fields with which the script moves it; `None` for an event that the grid does not move.
    pub(crate) grip: Option<EntryGrip>,
    /// Whether it is an occurrence of a series.
    pub(crate) repeats: bool,
}

/// The present fields of the form that moves an event.
pub(crate) struct EntryGrip {
    /// The start on the clocks of the group.
    pub(crate) time: String,
    /// Whether that is the second pass of a repeated hour.
    pub(crate) is_second: bool,
    pub(crate) minutes: i64,
    pub(crate) revision: String,
}

/// The words of the events of a view.
pub(crate) struct EntryWriter<'v> {
    pub(crate) visit: &'v ProVisit,
    pub(crate) text: &'static AgendaTexts,
    pub(crate) address: AgendaAddress,
}

impl EntryWriter<'_> {
    /// Describes an event on a day.
    pub(crate) fn write(&self, event: &AgendaEvent, day: CivilDay) -> AgendaEntry {
        let state = &self.visit.state;
        let row = &state.rows[&event.id];
        let fiche = row.fiche_id().and_then(|id| state.fiches.get(&id));
        let service = row.intervention_id().and_then(|id| state.catalogue.interventions.get(&id));
        let occurrence = event.occurrence.map(format::iso_day);
        let mut pairs = Vec::new();
        if let Some(occurrence) = &occurrence {
            pairs.push(("o", occurrence.as_str()));
        }
        let url = self.address.url_of(self.visit, &format!("/events/{}", event.id), &pairs);
        let title = title_of(row, fiche.map(|fiche| fiche.names()), self.text);
        let mut words = words_of(row, self.text);
        // An event without a text has its kind as its title.
        words.retain(|word| *word != title);
        AgendaEntry {
            anchor: anchor_of(event, day),
            url,
            day: format::day(self.visit.language(), day),
            time: self.time(event, day),
            title,
            service: service.map_or("", |service| service.name.as_str()).to_owned(),
            calendar: calendar_name(self.visit, event.calendar_id).to_owned(),
            phone: fiche.map_or("", |fiche| fiche.any_phone()).to_owned(),
            words: words.join(", "),
            class: class_of(row),
            grip: self.grip(event, row, day),
            repeats: event.occurrence.is_some(),
        }
    }

    /// The grip of an event of a grid that the professional can move, on the day on which it
    /// begins. An absence has one if that day has all of it, at a time.
    fn grip(&self, event: &AgendaEvent, row: &Vevent, day: CivilDay) -> Option<EntryGrip> {
        let zone = self.visit.zone();
        let place = EventPlace::find(row, zone)?;
        let last = place.civil.plus_seconds(place.length_seconds - 1).day();
        let is_grid = match self.address.view {
            AgendaView::Day | AgendaView::Week => true,
            AgendaView::Month | AgendaView::List => false,
        };
        let is_writable = self.visit.role().writes_on(row.calendar_id);
        if !is_grid || !is_writable || place.civil.day() != day {
            return None;
        }
        if place.is_absence && (event.is_all_day || last != day) {
            return None;
        }
        Some(EntryGrip {
            time: format::time(place.civil),
            is_second: place.is_second(zone),
            minutes: place.minutes(),
            revision: revision_text(row),
        })
    }

    /// The time of an event as a day shows it. An event of several days says them.
    fn time(&self, event: &AgendaEvent, day: CivilDay) -> String {
        let zone = self.visit.zone();
        let language = self.visit.language();
        let interval = event.interval;
        let [starts, ends] = [interval.start, interval.end].map(|at| zone.civil_of(at));
        // The last moment of an event is before its end.
        let last = zone.civil_of(interval.end.plus_seconds(-1)).day();
        if event.is_all_day {
            if starts.day() == last {
                return self.text.all_day.to_owned();
            }
            let from = fill(self.text.days, "from", &format::day(language, starts.day()));
            return fill(&from, "to", &format::day(language, last));
        }
        let [from, to] = [interval.start, interval.end].map(|at| clock(zone, at, self.text));
        if starts.day() == last && last == day || ends.day() == day && starts.day() == day {
            return format!("{from}–{to}");
        }
        let from = format!("{} {from}", format::day(language, starts.day()));
        let to = format!("{} {to}", format::day(language, ends.day()));
        fill(&fill(self.text.days, "from", &from), "to", &to)
    }
}

/// The time on the clocks of the group. Of an hour that occurs twice, it names the second pass.
pub(crate) fn clock(zone: Zone, at: Instant, text: &AgendaTexts) -> String {
    let time = format::time(zone.civil_of(at));
    if zone.is_first_pass(at) { time } else { format!("{time} {}", text.second_pass) }
}

/// The id of the element of an event on a day. A view shows an event once on each of its days.
pub(crate) fn anchor_of(event: &AgendaEvent, day: CivilDay) -> String {
    format!("e{}-{}", event.id, day.0)
}

/// The client of an appointment; of another event its text, or else its kind.
pub(crate) fn title_of(row: &Vevent, client: Option<String>, text: &AgendaTexts) -> String {
    let own = row.rare.as_deref().map_or("", |rare| rare.text.as_str()).trim();
    let named = match (&row.kind, client) {
        (VeventKind::Appointment(_), client) => client.unwrap_or_default(),
        (_, _) => own.chars().take(TITLE_CHARACTERS_MAX).collect(),
    };
    if named.is_empty() { kind_of(row, text).to_owned() } else { named }
}

/// The word for the kind of an event.
pub(crate) fn kind_of(row: &Vevent, text: &AgendaTexts) -> &'static str {
    match row.kind {
        VeventKind::Appointment(_) => text.appointment,
        VeventKind::Plage(_) => text.plage,
        VeventKind::Note(_) => text.note,
        VeventKind::Availability(_) => text.availability,
    }
}

/// The word for a state.
pub(crate) fn state_of(state: State, text: &AgendaTexts) -> &'static str {
    match state {
        State::InProgress => text.planned,
        State::Attended => text.attended,
        State::NoShow => text.no_show,
        State::Pending => text.pending,
    }
}

/// The words about an event beside its client and service.
fn words_of(row: &Vevent, text: &AgendaTexts) -> Vec<&'static str> {
    let mut words = Vec::new();
    match row.appointment() {
        Some(appointment) => {
            words.push(state_of(appointment.state, text));
            if appointment.from_web {
                words.push(text.from_web);
            }
        }
        None => words.push(kind_of(row, text)),
    }
    let comments = row.rare.as_deref().map(|rare| &rare.internal_comments);
    if comments.is_some_and(|comments| !comments.is_blank()) {
        words.push(text.commented);
    }
    words
}

fn class_of(row: &Vevent) -> &'static str {
    match &row.kind {
        VeventKind::Appointment(appointment) => match appointment.state {
            State::InProgress => "planned",
            State::Attended => "attended",
            State::NoShow => "no-show",
            State::Pending => "pending",
        },
        VeventKind::Plage(_) | VeventKind::Availability(_) => "plage",
        VeventKind::Note(_) => "note",
    }
}

/// The name of a calendar.
pub(crate) fn calendar_name(visit: &ProVisit, id: CalendarId) -> &str {
    visit.state.catalogue.calendars.get(&id).map_or("", |calendar| calendar.name.as_str())
}

/// A day with its year: `Tuesday 3 March 2026`.
pub(crate) fn long_day(language: Language, day: CivilDay) -> String {
    format!("{} {}", format::day(language, day), day.ymd().0)
}
