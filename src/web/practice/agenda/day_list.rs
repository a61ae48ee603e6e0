//! The list of the agenda: day by day, to be read and printed. Reference 15.3.

use crate::domain::state::agenda_window::{Agenda, AgendaEvent};
use crate::domain::time::CivilDay;
use crate::domain::time::DAY;
use crate::domain::time::interval_set::Interval;
use crate::web::practice::agenda::entry::{AgendaEntry, EntryWriter, long_day};

/// A day of the list.
pub(crate) struct ListDay {
    pub(crate) title: String,
    pub(crate) is_today: bool,
    pub(crate) entries: Vec<AgendaEntry>,
}

/// Returns the days of an agenda. An event of several days stands in each of them.
pub(crate) fn make_list(writer: &EntryWriter<'_>, agenda: &Agenda) -> Vec<ListDay> {
    let (first, count) = writer.address.days();
    let visit = writer.visit;
    let today = visit.today();
    let mut days = Vec::new();
    for nth in 0..count {
        let day = first.plus_days(nth);
        let events = events_on(writer, day, &agenda.events);
        days.push(ListDay {
            title: long_day(visit.language(), day),
            is_today: day == today,
            entries: events.map(|event| writer.write(event, day)).collect(),
        });
    }
    days
}

/// Returns the events that overlap a day, those of the whole day first.
fn events_on<'e>(
    writer: &EntryWriter<'_>,
    day: CivilDay,
    events: &'e [AgendaEvent],
) -> impl Iterator<Item = &'e AgendaEvent> {
    let zone = writer.visit.zone();
    let midnight = day.midnight();
    let day = Interval {
        start: zone.instant_of(midnight),
        end: zone.instant_of(midnight.plus_seconds(DAY)),
    };
    let mut found: Vec<&AgendaEvent> =
        events.iter().filter(|event| event.interval.overlaps(day)).collect();
    found.sort_by_key(|event| !event.is_all_day);
    found.into_iter()
}
