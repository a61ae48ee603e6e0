//! The grid of the agenda: a column for each calendar of a day, or for each day of a week.
//! Reference 15.3.

use std::collections::BTreeMap;

use crate::domain::records::ids::CalendarId;
use crate::domain::state::agenda_window::{Agenda, AgendaEvent, OpenStretch};
use crate::domain::time::interval_set::Interval;
use crate::domain::time::{CivilDay, DAY, Instant, MINUTE};
use crate::web::format;
use crate::web::grid_style::DAY_ROWS;
use crate::web::practice::agenda::address::{AgendaAddress, AgendaView};
use crate::web::practice::agenda::entry::{AgendaEntry, EntryWriter, calendar_name};
use crate::web::practice::agenda::lanes::{RowSpan, assign_lanes};

/// Minutes of a row.
const ROW_MINUTES: i64 = 5;
/// Rows of an hour.
const HOUR_ROWS: u32 = 12;
/// Minimum number of rows of an event, so that it can be read and pressed.
const EVENT_ROWS_MIN: u32 = 3;
/// Hours that are shown if nothing takes place outside.
const USUAL_ROWS: RowSpan = RowSpan { first: 8 * HOUR_ROWS, end: 18 * HOUR_ROWS };

/// The grid of a day or a week.
pub(crate) struct AgendaGrid {
    pub(crate) columns: Vec<AgendaColumn>,
    pub(crate) hours: Vec<GridHour>,
    /// The class that spans all rows.
    pub(crate) all_rows: String,
    /// The first row that is shown, and the number of rows.
    pub(crate) first_row: u32,
    pub(crate) row_count: u32,
    /// The screen of a new appointment.
    pub(crate) new_url: String,
    /// The column before and after the one that a phone shows.
    pub(crate) previous: Option<ColumnLink>,
    pub(crate) next: Option<ColumnLink>,
    /// Whether it has no event.
    pub(crate) is_empty: bool,
}

/// A calendar on a day.
pub(crate) struct AgendaColumn {
    pub(crate) title: String,
    pub(crate) calendar: CalendarId,
    pub(crate) day: String,
    /// Minutes to which the script snaps a start.
    pub(crate) step: i64,
    /// Whether a phone shows it.
    pub(crate) is_shown: bool,
    /// Whether it is the column of today in a week.
    pub(crate) is_today: bool,
    /// Events of whole days or of several days, and notes.
    pub(crate) banners: Vec<AgendaEntry>,
    /// The classes of the rows of its open time.
    pub(crate) open: Vec<String>,
    pub(crate) events: Vec<PlacedEntry>,
}

/// An event in a column.
pub(crate) struct PlacedEntry {
    pub(crate) entry: AgendaEntry,
    /// The classes of its rows and of its lane.
    pub(crate) place: String,
    /// Its first row, by which the arrows of the keyboard find the nearest in another column.
    pub(crate) row: u32,
}

/// A label beside the rows of an hour.
pub(crate) struct GridHour {
    pub(crate) label: String,
    pub(crate) place: String,
}

/// A link to another column on a phone.
pub(crate) struct ColumnLink {
    pub(crate) label: String,
    pub(crate) url: String,
}

/// A calendar and a day.
struct ColumnPlace {
    calendar: CalendarId,
    day: CivilDay,
}

/// Returns the grid of an agenda. `calendars` are those of its window, in order.
pub(crate) fn make_grid(
    writer: &EntryWriter<'_>,
    calendars: &[CalendarId],
    agenda: &Agenda,
) -> AgendaGrid {
    let mut by_calendar: BTreeMap<CalendarId, Vec<&AgendaEvent>> = BTreeMap::new();
    for event in &agenda.events {
        by_calendar.entry(event.calendar_id).or_default().push(event);
    }
    let open_times: BTreeMap<CalendarId, &[OpenStretch]> =
        calendars.iter().copied().zip(agenda.open.iter().map(Vec::as_slice)).collect();
    let places = column_places(writer.address, calendars);
    let shown = shown_place(writer.address, &places);
    let mut columns = Vec::with_capacity(places.len());
    for place in &places {
        let events = by_calendar.get(&place.calendar).map_or(&[][..], Vec::as_slice);
        let open = open_times.get(&place.calendar).copied().unwrap_or_default();
        columns.push(gather_column(writer, place, events, open));
    }
    let shown_rows = shown_rows(&columns);
    let columns: Vec<AgendaColumn> = columns
        .into_iter()
        .zip(&places)
        .enumerate()
        .map(|(at, (gathered, place))| {
            write_column(writer, gathered, place, shown_rows, at == shown)
        })
        .collect();
    AgendaGrid {
        hours: grid_hours(shown_rows),
        all_rows: place_class(shown_rows, shown_rows),
        first_row: shown_rows.first,
        row_count: shown_rows.end - shown_rows.first,
        new_url: writer.visit.url("/events/new", &[]),
        previous: shown.checked_sub(1).map(|at| column_link(writer, &places[at])),
        next: places.get(shown + 1).map(|place| column_link(writer, place)),
        is_empty: columns.iter().all(|it| it.events.is_empty() && it.banners.is_empty()),
        columns,
    }
}

fn column_places(address: AgendaAddress, calendars: &[CalendarId]) -> Vec<ColumnPlace> {
    let (first, days) = address.days();
    let mut places = Vec::new();
    for nth in 0..days {
        let day = first.plus_days(nth);
        places.extend(calendars.iter().map(|calendar| ColumnPlace { calendar: *calendar, day }));
    }
    places
}

/// Returns the column that a phone shows: that of the address, or the first.
fn shown_place(address: AgendaAddress, places: &[ColumnPlace]) -> usize {
    let is_named = |place: &ColumnPlace| {
        place.day == address.day && address.calendar.is_none_or(|named| named == place.calendar)
    };
    places.iter().position(is_named).unwrap_or(0)
}

/// The content of a column, before the rows that are shown are known.
struct GatheredColumn<'e> {
    banners: Vec<&'e AgendaEvent>,
    events: Vec<(&'e AgendaEvent, RowSpan)>,
    open: Vec<RowSpan>,
}

fn gather_column<'e>(
    writer: &EntryWriter<'_>,
    place: &ColumnPlace,
    events: &[&'e AgendaEvent],
    open: &[OpenStretch],
) -> GatheredColumn<'e> {
    let zone = writer.visit.zone();
    let midnight = place.day.midnight();
    let day = Interval {
        start: zone.instant_of(midnight),
        end: zone.instant_of(midnight.plus_seconds(DAY)),
    };
    let row_of = |at: Instant| {
        if at <= day.start {
            return 0;
        }
        if at >= day.end {
            return DAY_ROWS;
        }
        let civil = zone.civil_of(at);
        // Clocks that went back over midnight show the end of the day before once more.
        let minute = if civil.day() < place.day { 0 } else { civil.second_of_day() / MINUTE };
        u32::try_from(minute / ROW_MINUTES).expect("a day has few rows")
    };
    let rows_of = |interval: Interval| {
        // An end within a row takes it. In a repeated hour it may show before its start.
        let end = row_of(interval.end.plus_seconds(ROW_MINUTES * MINUTE - 1).min(day.end));
        let end = if interval.end >= day.end { DAY_ROWS } else { end };
        RowSpan { first: row_of(interval.start), end }
    };
    let mut gathered = GatheredColumn { banners: Vec::new(), events: Vec::new(), open: Vec::new() };
    for event in events.iter().filter(|event| event.interval.overlaps(day)) {
        if event.is_all_day || event.interval.covers(day) {
            gathered.banners.push(event);
        } else {
            let rows = rows_of(event.interval);
            let first = rows.first.min(DAY_ROWS - EVENT_ROWS_MIN);
            let end = rows.end.max(first + EVENT_ROWS_MIN);
            gathered.events.push((event, RowSpan { first, end }));
        }
    }
    gathered.events.sort_by_key(|(event, rows)| (rows.first, event.interval, event.id));
    let open = open.iter().filter(|stretch| stretch.day == place.day);
    gathered.open.extend(open.map(|stretch| rows_of(stretch.interval)));
    gathered
}

/// Returns the rows that a grid shows: whole hours around all that it holds.
fn shown_rows(columns: &[GatheredColumn<'_>]) -> RowSpan {
    let mut rows: Option<RowSpan> = None;
    for column in columns {
        let spans = column.events.iter().map(|(_, span)| span).chain(&column.open);
        for span in spans {
            let known = rows.unwrap_or(*span);
            let first = known.first.min(span.first);
            rows = Some(RowSpan { first, end: known.end.max(span.end) });
        }
    }
    let rows = rows.unwrap_or(USUAL_ROWS);
    let first = rows.first / HOUR_ROWS * HOUR_ROWS;
    RowSpan { first, end: rows.end.div_ceil(HOUR_ROWS) * HOUR_ROWS }
}

fn write_column(
    writer: &EntryWriter<'_>,
    gathered: GatheredColumn<'_>,
    place: &ColumnPlace,
    shown_rows: RowSpan,
    is_shown: bool,
) -> AgendaColumn {
    let GatheredColumn { banners, events, open } = gathered;
    let today = writer.visit.today();
    // All columns of a day have the same.
    let is_of_week = writer.address.view == AgendaView::Week;
    let spans: Vec<RowSpan> = events.iter().map(|(_, span)| *span).collect();
    let mut placed = Vec::with_capacity(events.len());
    for ((event, span), lane) in events.iter().zip(assign_lanes(&spans)) {
        let mut place_classes = place_class(*span, shown_rows);
        if lane.count > 1 {
            place_classes.push_str(&format!(" l{}-{}", lane.index, lane.count));
        }
        placed.push(PlacedEntry {
            entry: writer.write(event, place.day),
            place: place_classes,
            row: span.first,
        });
    }
    AgendaColumn {
        title: column_title(writer, place),
        calendar: place.calendar,
        day: format::iso_day(place.day),
        step: step_of(writer, place.calendar),
        is_shown,
        is_today: is_of_week && place.day == today,
        banners: banners.iter().map(|event| writer.write(event, place.day)).collect(),
        open: open.iter().map(|span| place_class(*span, shown_rows)).collect(),
        events: placed,
    }
}

/// The minutes between the starts that a calendar offers, if rows show them all; or else a row.
fn step_of(writer: &EntryWriter<'_>, calendar: CalendarId) -> i64 {
    let Some(calendar) = writer.visit.state.catalogue.calendars.get(&calendar) else {
        return ROW_MINUTES;
    };
    let step = calendar.generate_interval.number();
    let is_shown = step % ROW_MINUTES == 0 && 60 % step == 0;
    if is_shown { step } else { ROW_MINUTES }
}

fn column_title(writer: &EntryWriter<'_>, place: &ColumnPlace) -> String {
    match writer.address.view {
        AgendaView::Week => format::day(writer.visit.language(), place.day),
        AgendaView::Day | AgendaView::Month | AgendaView::List => {
            calendar_name(writer.visit, place.calendar).to_owned()
        }
    }
}

fn column_link(writer: &EntryWriter<'_>, place: &ColumnPlace) -> ColumnLink {
    let address = writer.address.on(place.day).of_calendar(place.calendar);
    ColumnLink { label: column_title(writer, place), url: address.url(writer.visit) }
}

/// Returns the classes of some rows of a grid.
fn place_class(span: RowSpan, shown_rows: RowSpan) -> String {
    format!("r{} n{}", span.first - shown_rows.first, span.end.saturating_sub(span.first).max(1))
}

fn grid_hours(shown_rows: RowSpan) -> Vec<GridHour> {
    let mut hours = Vec::new();
    let mut row = shown_rows.first;
    while row < shown_rows.end {
        let span = RowSpan { first: row, end: row + HOUR_ROWS };
        let label = format!("{:02}:00", row / HOUR_ROWS);
        hours.push(GridHour { label, place: place_class(span, shown_rows) });
        row += HOUR_ROWS;
    }
    hours
}
