//! The month of the agenda: for each day the number of its appointments, and the first three.
//! Reference 15.3.

use crate::domain::records::vevent::VeventKind;
use crate::domain::recurrence::WEEK;
use crate::domain::state::agenda_window::{Agenda, AgendaEvent};
use crate::domain::time::CivilDay;
use crate::notify::language::weekday_name;
use crate::web::format;
use crate::web::practice::agenda::address::AgendaView;
use crate::web::practice::agenda::entry::{EntryWriter, clock, title_of};

/// Number of appointments of a day that are named.
const NAMED_MAX: usize = 3;

/// A month of days.
pub(crate) struct AgendaMonth {
    /// The days of the week: abbreviation and name.
    pub(crate) weekdays: Vec<(String, &'static str)>,
    pub(crate) weeks: Vec<Vec<MonthDay>>,
}

/// A day of the month.
#[derive(Default)]
pub(crate) struct MonthDay {
    pub(crate) number: u32,
    /// The day in words.
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) is_in_month: bool,
    pub(crate) is_today: bool,
    /// The number of appointments.
    pub(crate) count: usize,
    /// The word after that number.
    pub(crate) unit: &'static str,
    /// The first of them.
    pub(crate) named: Vec<NamedAppointment>,
    /// Texts of plages of the whole day and of notes.
    pub(crate) banners: Vec<String>,
}

/// An appointment in a day of the month.
pub(crate) struct NamedAppointment {
    pub(crate) time: String,
    pub(crate) client: String,
}

/// Returns the month of an agenda.
pub(crate) fn make_month(writer: &EntryWriter<'_>, agenda: &Agenda) -> AgendaMonth {
    let (first, count) = writer.address.days();
    let visit = writer.visit;
    let language = visit.language();
    let today = visit.today();
    let month = writer.address.day.ymd().1;
    let mut days: Vec<MonthDay> = Vec::new();
    for nth in 0..count {
        let day = first.plus_days(nth);
        let (_, of_month, number) = day.ymd();
        days.push(MonthDay {
            number,
            name: format::day(language, day),
            url: writer.address.on(day).seen_as(AgendaView::Day).url(visit),
            is_in_month: of_month == month,
            is_today: day == today,
            ..MonthDay::default()
        });
    }
    for event in &agenda.events {
        add_event(writer, event, first, &mut days);
    }
    for day in &mut days {
        let is_one = day.count == 1;
        day.unit = if is_one { writer.text.one_appointment } else { writer.text.many_appointments };
    }
    let mut weeks: Vec<Vec<MonthDay>> = Vec::new();
    let mut days = days.into_iter().peekable();
    while days.peek().is_some() {
        weeks.push(days.by_ref().take(7).collect());
    }
    let weekdays = WEEK.map(|day| {
        let name = weekday_name(language, day);
        (name.chars().take(2).collect(), name)
    });
    AgendaMonth { weekdays: weekdays.to_vec(), weeks }
}

fn add_event(
    writer: &EntryWriter<'_>,
    event: &AgendaEvent,
    first: CivilDay,
    days: &mut [MonthDay],
) {
    let zone = writer.visit.zone();
    let row = &writer.visit.state.rows[&event.id];
    let starts = zone.civil_of(event.interval.start).day();
    let place = |day: CivilDay| usize::try_from(i64::from(day.0) - i64::from(first.0)).ok();
    if matches!(row.kind, VeventKind::Appointment(_)) {
        let Some(at) = place(starts).filter(|at| *at < days.len()) else { return };
        days[at].count += 1;
        if days[at].named.len() < NAMED_MAX {
            let client = row.fiche_id().and_then(|id| writer.visit.state.fiches.get(&id));
            days[at].named.push(NamedAppointment {
                time: clock(zone, event.interval.start, writer.text),
                client: title_of(row, client.map(|fiche| fiche.names()), writer.text),
            });
        }
        return;
    }
    if !event.is_all_day {
        return;
    }
    let last = zone.civil_of(event.interval.end.plus_seconds(-1)).day();
    let mut day = starts.max(first);
    while day <= last {
        let Some(shown) = place(day).and_then(|at| days.get_mut(at)) else { return };
        if shown.banners.len() < NAMED_MAX {
            shown.banners.push(title_of(row, None, writer.text));
        }
        day = day.plus_days(1);
    }
}
