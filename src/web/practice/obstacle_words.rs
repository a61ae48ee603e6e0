//! Obstacles to a time in words: those that a professional overrides, and those that refuse.
//! Reference 15.6.

use crate::domain::availability::obstacle::{NotOffered, Obstacle, TakenBy};
use crate::domain::records::ids::VeventId;
use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;
use crate::web::format;
use crate::web::practice::appointment_lines::long_day;
use crate::web::practice::texts::obstacles::ObstacleTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;

/// Obstacles in words.
#[derive(Default)]
pub(crate) struct ObstacleWords {
    /// Rules for the web alone, and absences. A professional may override them.
    pub(crate) warnings: Vec<String>,
    /// Live appointments in the way: who stands there, from when to when.
    pub(crate) appointments: Vec<String>,
}

/// Returns obstacles in words, without doubles.
pub(crate) fn obstacles_in_words(visit: &ProVisit, obstacles: &[Obstacle]) -> ObstacleWords {
    let mut words = ObstacleWords::default();
    for obstacle in obstacles {
        let list =
            if is_appointment(obstacle) { &mut words.appointments } else { &mut words.warnings };
        push_new(list, obstacle_in_words(visit, obstacle));
    }
    words
}

/// Whether an obstacle is a live appointment, which no second press overrides.
pub(crate) const fn is_appointment(obstacle: &Obstacle) -> bool {
    matches!(obstacle, Obstacle::Taken { by: TakenBy::Appointment, .. })
}

fn push_new(list: &mut Vec<String>, sentence: String) {
    if !list.contains(&sentence) {
        list.push(sentence);
    }
}

/// Returns an obstacle in words.
pub(crate) fn obstacle_in_words(visit: &ProVisit, obstacle: &Obstacle) -> String {
    let text = ObstacleTexts::in_language(visit.language());
    let at = |sentence: &str, moment: Instant| {
        let day = long_day(visit, moment);
        let time = format::time(visit.zone().civil_of(moment));
        fill(sentence, "when", &format!("{day}, {time}"))
    };
    match obstacle {
        Obstacle::NotOffered(reason) => not_offered_in_words(*reason, text).to_owned(),
        Obstacle::MintimeRdv { earliest } => at(text.too_soon, *earliest),
        Obstacle::MaxRdvPeriod { latest } => at(text.too_far, *latest),
        Obstacle::OffGrid { generate_interval } => {
            let length = format::length(visit.language(), *generate_interval);
            fill(text.off_grid, "length", &length)
        }
        Obstacle::OutsideAvailability { interval, .. } => {
            fill(text.closed, "interval", &interval_in_words(visit, *interval))
        }
        Obstacle::Taken { id, interval, by: TakenBy::Plage } => {
            absence_in_words(visit, *id, *interval)
        }
        Obstacle::Taken { id, interval, by: TakenBy::Appointment } => {
            appointment_in_words(visit, *id, *interval)
        }
        Obstacle::Held { until } => at(text.held, *until),
        Obstacle::RepeatedHour => text.repeated_hour.to_owned(),
        Obstacle::UnverifiedShare { percent } => fill(text.share, "percent", &percent.to_string()),
    }
}

const fn not_offered_in_words(reason: NotOffered, text: &ObstacleTexts) -> &'static str {
    match reason {
        NotOffered::ModuleInactive => text.module_inactive,
        NotOffered::CalendarDeleted(_) => text.calendar_deleted,
        NotOffered::CalendarHidden(_) => text.calendar_hidden,
        NotOffered::InterventionDeleted(_) => text.service_deleted,
        NotOffered::InterventionHidden(_) | NotOffered::InterventionsetHidden(_) => {
            text.service_hidden
        }
    }
}

fn absence_in_words(visit: &ProVisit, id: VeventId, interval: Interval) -> String {
    let text = ObstacleTexts::in_language(visit.language());
    let rare = visit.state.rows.get(&id).and_then(|row| row.rare.as_deref());
    let name = rare.map_or("", |rare| rare.text.as_str()).trim();
    let interval = interval_in_words(visit, interval);
    if name.is_empty() {
        return fill(text.absence, "interval", &interval);
    }
    // The name comes last: it may hold what looks like a place.
    fill(&fill(text.absence_named, "interval", &interval), "name", name)
}

fn appointment_in_words(visit: &ProVisit, id: VeventId, interval: Interval) -> String {
    let text = ObstacleTexts::in_language(visit.language());
    let state = &visit.state;
    let row = state.rows.get(&id);
    let client = row.and_then(|row| state.fiches.get(&row.fiche_id()?));
    let calendar = row.and_then(|row| state.catalogue.calendars.get(&row.calendar_id));
    // The names come last: a name may hold what looks like a place.
    let sentence = fill(text.appointment, "interval", &interval_in_words(visit, interval));
    let calendar = calendar.map_or("", |calendar| calendar.name.as_str());
    let name = client.map(|client| client.names()).unwrap_or_default();
    fill_both(&sentence, &name, calendar)
}

/// Fills the places of a client and of a calendar at once.
fn fill_both(sentence: &str, name: &str, calendar: &str) -> String {
    let Some((head, rest)) = sentence.split_once("{name}") else { return sentence.to_owned() };
    format!("{head}{name}{}", fill(rest, "calendar", calendar))
}

/// Returns an interval in words: with its day, or from one day to another.
pub(crate) fn interval_in_words(visit: &ProVisit, interval: Interval) -> String {
    let text = ObstacleTexts::in_language(visit.language());
    let start = visit.zone().civil_of(interval.start);
    let end = visit.zone().civil_of(interval.end);
    if start.day() == end.day() {
        let sentence = fill(text.interval, "day", &long_day(visit, interval.start));
        let sentence = fill(&sentence, "start", &format::time(start));
        return fill(&sentence, "end", &format::time(end));
    }
    let moment = |at: Instant| {
        let civil = visit.zone().civil_of(at);
        format!("{}, {}", long_day(visit, at), format::time(civil))
    };
    let sentence = fill(text.interval_of_days, "start", &moment(interval.start));
    fill(&sentence, "end", &moment(interval.end))
}
