//! The place of an event that can be moved, and the fields of a form that name another one.
//! Reference 15.6.

use crate::domain::records::ids::CalendarId;
use crate::domain::records::vevent::{Vevent, VeventKind};
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;
use crate::domain::time::{Civil, DAY, Instant, MINUTE};
use crate::web::format::{self, iso_day, parse_start};
use crate::web::practice::listed_calendar::ListedCalendar;
use crate::web::practice::texts::event::EventTexts;
use crate::web::practice::typed_start::{TypedStart, read_start};
use crate::web::practice::visit::ProVisit;
use crate::wire::datetime::{format_civil, to_instant};
use crate::wire::params::Params;

/// Maximum length in minutes that the form gives an event: a day.
const LENGTH_MINUTES_MAX: i64 = 1_440;

/// The time and the calendar of an event that can be moved: as it is, or as a form wants it.
#[derive(Clone, Copy)]
pub(crate) struct EventPlace {
    pub(crate) calendar: CalendarId,
    /// The start on the clocks of the group.
    pub(crate) civil: Civil,
    pub(crate) interval: Interval,
    /// That of an appointment elapses; that of an absence is shown by the clocks of the group.
    pub(crate) length_seconds: i64,
    /// Whether it is that of an absence. The clocks alone say its time, so that it knows no second
    /// pass of an hour.
    pub(crate) is_absence: bool,
}

impl EventPlace {
    /// Returns the place of an appointment, or of an absence that does not repeat; `None` of other
    /// events, which cannot be moved.
    pub(crate) fn find(row: &Vevent, zone: Zone) -> Option<Self> {
        match &row.kind {
            VeventKind::Appointment(appointment) => {
                let length_seconds = i64::from(appointment.length_seconds);
                Some(Self::elapsed(zone, row.calendar_id, appointment.start, length_seconds))
            }
            VeventKind::Plage(series) if series.rule().is_none() => {
                let length_seconds = series.end().seconds_since(series.start());
                // The clocks may skip so much that the end shows an earlier time than the start.
                let place = Self::on_clocks(zone, row.calendar_id, series.start(), length_seconds);
                (length_seconds > 0).then_some(place)
            }
            VeventKind::Plage(_) | VeventKind::Note(_) | VeventKind::Availability(_) => None,
        }
    }

    /// The place of an appointment.
    fn elapsed(zone: Zone, calendar: CalendarId, start: Instant, length_seconds: i64) -> Self {
        let interval = Interval { start, end: start.plus_seconds(length_seconds) };
        let civil = zone.civil_of(start);
        Self { calendar, civil, interval, length_seconds, is_absence: false }
    }

    /// The place of an absence.
    fn on_clocks(zone: Zone, calendar: CalendarId, civil: Civil, length_seconds: i64) -> Self {
        let end = zone.instant_of(civil.plus_seconds(length_seconds));
        let interval = Interval { start: zone.instant_of(civil), end };
        Self { calendar, civil, interval, length_seconds, is_absence: true }
    }

    /// The end on the clocks of the group, of an absence.
    pub(crate) fn civil_end(self) -> Civil {
        self.civil.plus_seconds(self.length_seconds)
    }

    /// The length in minutes, rounded up.
    pub(crate) const fn minutes(self) -> i64 {
        (self.length_seconds + MINUTE - 1) / MINUTE
    }

    /// Whether it begins in the second pass of an hour that the clocks show twice.
    pub(crate) fn is_second(self, zone: Zone) -> bool {
        !zone.is_first_pass(self.interval.start)
    }

    /// The place as the second press of a form names it. The script of the agenda makes the same.
    pub(crate) fn mark(self, zone: Zone) -> String {
        let pass = if self.is_second(zone) { " 2" } else { "" };
        format!("{} {} {}{pass}", format_civil(self.civil), self.calendar, self.minutes())
    }
}

/// The fields of the target, as they were typed.
#[derive(Default)]
pub(crate) struct TargetView {
    pub(crate) day: String,
    pub(crate) time: String,
    /// Whether the clocks show this time twice on this day.
    pub(crate) is_repeated: bool,
    /// Whether the second of both is meant.
    pub(crate) is_second: bool,
    /// Minutes.
    pub(crate) length: String,
    pub(crate) calendars: Vec<ListedCalendar>,
    pub(crate) day_fault: &'static str,
    pub(crate) time_fault: &'static str,
    pub(crate) calendar_fault: &'static str,
    pub(crate) length_fault: &'static str,
    /// Sentences about the whole form.
    pub(crate) others: Vec<String>,
}

impl TargetView {
    /// Returns the fields of the target as a form gives them, or else as the event is now.
    pub(crate) fn fill_in(visit: &ProVisit, present: EventPlace, given: &Params) -> Self {
        let zone = visit.zone();
        let is_given = |name: &str| given.iter().any(|(given, _)| given == name);
        let given_or = |name: &str, present: String| {
            if is_given(name) { given.value(name).unwrap_or_default().to_owned() } else { present }
        };
        let calendar = given_or("calendar", present.calendar.to_string());
        let calendars = visit.state.catalogue.calendars.values();
        let mut calendars: Vec<_> =
            calendars.filter(|it| !it.deleted || it.id == present.calendar).collect();
        calendars.retain(|it| visit.role().writes_on(it.id));
        calendars.sort_by_key(|it| (it.sort, it.id));
        let option = |id: CalendarId, name: &str| ListedCalendar {
            id,
            name: name.to_owned(),
            is_chosen: id.to_string() == calendar,
        };
        let day = given_or("day", iso_day(present.civil.day()));
        let time = given_or("time", format::time(present.civil));
        let typed = parse_start(&format!("{day}T{time}"));
        // A box that is not ticked is not sent.
        let is_second = if is_given("time") { is_given("pass") } else { present.is_second(zone) };
        Self {
            day,
            time,
            is_repeated: !present.is_absence
                && typed.is_some_and(|civil| second_pass(zone, civil).is_some()),
            is_second,
            length: given_or("length", present.minutes().to_string()),
            calendars: calendars.iter().map(|it| option(it.id, it.name.as_str())).collect(),
            ..Self::default()
        }
    }

    /// Reads the target of a form. `None` if a field is wrong, which then has its fault.
    pub(crate) fn read(
        &mut self,
        visit: &ProVisit,
        present: EventPlace,
        given: &Params,
    ) -> Option<EventPlace> {
        let text = EventTexts::in_language(visit.language());
        let TypedStart { at, day_fault, time_fault } = read_start(visit, &self.day, &self.time);
        self.day_fault = day_fault;
        self.time_fault = time_fault;
        let calendar = given.value("calendar").and_then(|text| text.parse().ok());
        let calendar = calendar.and_then(CalendarId::new);
        let calendar = calendar.filter(|id| self.calendars.iter().any(|it| it.id == *id));
        if calendar.is_none() {
            self.calendar_fault = text.bad_calendar;
        }
        let length_seconds = read_length(present, &self.length);
        if length_seconds.is_none() {
            self.length_fault = text.bad_length;
        }
        let civil = at?;
        let calendar = calendar?;
        let length_seconds = length_seconds?;
        let zone = visit.zone();
        if present.is_absence {
            let place = EventPlace::on_clocks(zone, calendar, civil, length_seconds);
            self.length_fault = find_end_fault(zone, place.civil_end(), text);
            return self.length_fault.is_empty().then_some(place);
        }
        let second = second_pass(zone, civil).filter(|_| self.is_second);
        let start = second.unwrap_or_else(|| zone.instant_of(civil));
        Some(EventPlace::elapsed(zone, calendar, start, length_seconds))
    }
}

/// The second moment at which the clocks show a time, if they show it twice.
fn second_pass(zone: Zone, civil: Civil) -> Option<Instant> {
    let first = zone.instant_of(civil);
    let day = Interval { start: first, end: first.plus_seconds(DAY) };
    let mut passes = zone.second_passes(day).into_iter();
    passes.find_map(|pass| {
        let second = pass.start.plus_seconds(civil.seconds_since(zone.civil_of(pass.start)));
        let is_inside = pass.start <= second && second < pass.end;
        is_inside.then_some(second)
    })
}

/// Returns the fault of the length with which an absence ends at this time; empty without one.
fn find_end_fault(zone: Zone, end: Civil, text: &EventTexts) -> &'static str {
    match to_instant(zone, end) {
        Ok(_) if zone.leaves_out(end) => text.end_left_out,
        Ok(_) => "",
        Err(_) => text.bad_length,
    }
}

/// Reads a length in minutes, as seconds. That of the event is kept to the second.
fn read_length(present: EventPlace, text: &str) -> Option<i64> {
    let minutes: i64 = text.trim().parse().ok()?;
    if minutes == present.minutes() {
        return Some(present.length_seconds);
    }
    (1..=LENGTH_MINUTES_MAX).contains(&minutes).then_some(minutes * MINUTE)
}
