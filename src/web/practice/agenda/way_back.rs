//! The way back from the record of an event to its place in the agenda. Reference 15.3.

use crate::domain::records::vevent::{Vevent, VeventKind};
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{Civil, CivilDay, DAY};
use crate::web::format;
use crate::web::practice::agenda::address::{AgendaAddress, AgendaView};
use crate::web::practice::visit::ProVisit;

/// Returns the URL of an event in the view of the agenda that the parameters of its record name.
/// Without them it is the day of the event. The parameter `o` names an occurrence of an event that
/// repeats.
pub(crate) fn way_back(visit: &ProVisit, row: &Vevent) -> String {
    // A wrong parameter of the way back counts as absent.
    let (address, _) = AgendaAddress::read(visit);
    let (interval, day) = time_of(visit, row);
    let has_view = visit.request.params.value("d").is_some();
    let address = if has_view { address } else { address.on(day) };
    // An event of several days stands in the view of any of them.
    let shown = if has_view && interval.is_none_or(|it| covers_day(visit, it, address.day)) {
        address.day
    } else {
        day
    };
    format!("{}#e{}-{}", address.url(visit), row.id, shown.0)
}

/// Returns the URL of a screen that leads back to the view which this address names.
pub(crate) fn keeping_view(visit: &ProVisit, step: &str) -> String {
    AgendaAddress::read(visit).0.url_of(visit, step, &[])
}

/// Returns the URL of an appointment in the view that this address names, on its own day. A view of
/// one calendar becomes that of the appointment.
pub(crate) fn place_in_view(visit: &ProVisit, row: &Vevent) -> String {
    let (address, _) = AgendaAddress::read(visit);
    let (_, day) = time_of(visit, row);
    let mut address = address.on(day);
    if address.calendar.is_some() || address.view == AgendaView::Week {
        address = address.of_calendar(row.calendar_id);
    }
    format!("{}#e{}-{}", address.url(visit), row.id, day.0)
}

/// Returns the time of an event, and its day on the clocks of the group. Of an event that repeats
/// it is that of the occurrence that is asked for, or of the first. A note has a day only.
fn time_of(visit: &ProVisit, row: &Vevent) -> (Option<Interval>, CivilDay) {
    let zone = visit.zone();
    if let Some(appointment) = row.appointment() {
        return (Some(appointment.interval()), zone.civil_of(appointment.start).day());
    }
    let series = row.series().expect("an event without appointment is a series");
    let asked = visit.request.params.value("o").and_then(format::parse_day);
    let start = asked
        .map_or(series.start(), |day| Civil(day.midnight().0 + series.start().second_of_day()));
    if matches!(row.kind, VeventKind::Note(_)) {
        return (None, start.day());
    }
    let end = start.plus_seconds(series.end().seconds_since(series.start()));
    (Some(Interval { start: zone.instant_of(start), end: zone.instant_of(end) }), start.day())
}

fn covers_day(visit: &ProVisit, interval: Interval, day: CivilDay) -> bool {
    let zone = visit.zone();
    let start = zone.instant_of(day.midnight());
    let end = zone.instant_of(day.midnight().plus_seconds(DAY));
    interval.overlaps(Interval { start, end })
}
