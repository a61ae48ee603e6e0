//! Weekly opening hours in requests and answers. Reference 6.17, 13.2.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::availability::weekly_hours::{
    DayTimes, Rhythm, WeeklyRange, WeeklyRule, read_ranges, sort_ranges,
};
use crate::domain::records::fault::Fault;
use crate::domain::records::ids::{CalendarId, InterventionId, VeventId};
use crate::domain::records::text::InvalidValue;
use crate::domain::records::vevent::{Permits, Vevent, VeventKind};
use crate::domain::recurrence::{WEEK, weekday_letters};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{CivilDay, DAY, MINUTE, Weekday};
use crate::wire::datetime::{self, format_civil};
use crate::wire::field::Scope;
use crate::wire::object_reader::ObjectReader;
use crate::wire::schema::{Count, of_type, one_of, pattern, schema_names, whole};
use crate::wire::value;

/// Maximum number of ranges of a request.
pub const RANGES_MAX: usize = 500;
/// Maximum number of faults that an answer lists.
const FAULTS_MAX: usize = 50;
/// Maximum number of availabilities that an answer lists beside the rows.
const OTHERS_MAX: usize = 200;

/// Characters of a date.
const DATE_CHARS: usize = 10;
const DATE: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$";
const TIME_OF_DAY: &str = "^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$";

/// The weekly opening hours to set.
#[derive(ToSchema)]
#[expect(dead_code, reason = "its members are read one by one")]
pub struct HoursBody {
    /// All hours of the calendar that rows express. Together they have at most 500 ranges.
    rows: Vec<GivenHoursRow>,
}

/// Opening hours of one day of the week.
#[derive(ToSchema)]
#[expect(dead_code, reason = "its members are read one by one")]
struct GivenHoursRow {
    /// The day of the week.
    #[schema(value_type = WeekdayName)]
    weekday: Weekday,
    /// The times of the day. None of the same interventions overlap.
    ranges: Vec<RangeJson>,
    /// The interventions that it is open for; without it or empty for all.
    #[schema(value_type = Option<Vec<InterventionId>>)]
    intervention_ids: Option<Vec<InterventionId>>,
    /// 1: every week, the default. 2: every other week, from the first day on.
    #[schema(value_type = Option<Weeks>)]
    weeks: Option<u8>,
    /// The day from which it holds; by default today.
    #[schema(value_type = Option<GivenDate>)]
    valid_from: Option<CivilDay>,
    /// The last day on which it holds; by default it has no end.
    #[schema(value_type = Option<GivenDate>)]
    valid_until: Option<CivilDay>,
}

/// The weekly opening hours of a calendar.
#[derive(Serialize, ToSchema)]
pub struct HoursAnswer {
    /// The calendar.
    calendar_id: CalendarId,
    /// The hours that rows express, sorted by day of the week and first day.
    rows: Vec<HoursRow>,
    /// Availabilities that rows do not express, the latest by start. A change of the hours leaves
    /// them alone.
    others: Vec<OtherOpening>,
    /// The number of all such availabilities; at most 200 are listed.
    #[schema(value_type = Count)]
    others_total: usize,
}

/// Opening hours of one day of the week.
#[derive(Serialize, ToSchema)]
struct HoursRow {
    /// The day of the week.
    #[schema(value_type = WeekdayName)]
    weekday: &'static str,
    /// The times of the day, ascending.
    ranges: Vec<RangeJson>,
    /// The interventions that it is open for; empty for all.
    intervention_ids: Vec<InterventionId>,
    /// 1: every week. 2: every other week, from the first day on.
    #[schema(value_type = Weeks)]
    weeks: u8,
    /// The first day on which it is open.
    #[schema(value_type = ShownDate)]
    valid_from: String,
    /// The last day on which it is open; null without an end.
    #[schema(value_type = ShownDateOrNull)]
    valid_until: Option<String>,
}

/// A part of a day on the clocks of the group.
#[derive(Serialize, ToSchema)]
struct RangeJson {
    /// The start, HH:MM.
    #[schema(value_type = TimeOfDay)]
    from: String,
    /// The end, HH:MM; 24:00 for the end of the day.
    #[schema(value_type = TimeOfDay)]
    to: String,
}

/// An availability that rows do not express.
#[derive(Serialize, ToSchema)]
struct OtherOpening {
    /// Its id, as a vevent.
    id: VeventId,
    /// The start of its first occurrence, on the clocks of the group.
    #[schema(value_type = ShownTime)]
    start: String,
    /// The end of its first occurrence.
    #[schema(value_type = ShownTime)]
    end: String,
    /// Its rule; empty if it does not repeat.
    #[schema(value_type = ShownText)]
    rrule: String,
    /// The dates on which it does not take place.
    #[schema(value_type = ShownText)]
    repeat_exceptions: String,
    /// The interventions that it is open for; empty for all.
    intervention_ids: Vec<InterventionId>,
}

schema_names! {
    /// The letters of a day of the week, as in a rule.
    WeekdayName => one_of(WEEK.map(weekday_letters));
    /// A number of weeks.
    Weeks => whole(1, 2);
    /// A date.
    GivenDate => pattern(DATE);
    /// A date in an answer.
    ShownDate => pattern(DATE);
    /// A date in an answer, or nothing.
    ShownDateOrNull => pattern(DATE).schema_type(
        utoipa::openapi::schema::SchemaType::from_iter([
            utoipa::openapi::Type::String,
            utoipa::openapi::Type::Null,
        ]),
    );
    /// A time of the day in whole minutes.
    TimeOfDay => pattern(TIME_OF_DAY);
    /// A time on the clocks of the group.
    ShownTime => of_type(utoipa::openapi::Type::String);
    /// A text.
    ShownText => of_type(utoipa::openapi::Type::String);
}

/// Returns the opening hours of a calendar as JSON; `None` if there is no such calendar.
pub fn render_hours(state: &GroupState, id: CalendarId) -> Option<Vec<u8>> {
    let view = state.calendars.get(&id)?;
    let zone = state.catalogue.zone();
    let mut ranges = Vec::new();
    let mut others: Vec<&Vevent> = Vec::new();
    for row in view.rules().availabilities() {
        match read_ranges(row, zone) {
            Some(opened) => ranges.extend(opened),
            None => others.push(row),
        }
    }
    sort_ranges(&mut ranges);
    others.sort_by_key(|row| (row.series().map(|series| series.start()), row.id));
    let others_total = others.len();
    let latest = &others[others_total.saturating_sub(OTHERS_MAX)..];
    let answer = HoursAnswer {
        calendar_id: id,
        rows: ranges.chunk_by(|a, b| a.row_key() == b.row_key()).map(HoursRow::new).collect(),
        others: latest.iter().filter_map(|row| OtherOpening::new(row)).collect(),
        others_total,
    };
    Some(serde_json::to_vec(&answer).expect("an answer holds texts and numbers"))
}

impl HoursRow {
    /// The row of some ranges that differ in their times only.
    fn new(ranges: &[WeeklyRange]) -> Self {
        let any = &ranges[0];
        Self {
            weekday: weekday_letters(any.weekday()),
            ranges: ranges.iter().map(|range| RangeJson::new(range.times())).collect(),
            intervention_ids: list_ids(any.permits()),
            weeks: any.rhythm().weeks(),
            valid_from: format_date(any.first()),
            valid_until: any.last().map(format_date),
        }
    }
}

impl RangeJson {
    fn new(times: DayTimes) -> Self {
        let from = format_minute(times.start_minute());
        Self { from, to: format_minute(times.end_minute()) }
    }
}

impl OtherOpening {
    fn new(row: &Vevent) -> Option<Self> {
        let VeventKind::Availability(availability) = &row.kind else { return None };
        let series = &availability.series;
        Some(Self {
            id: row.id,
            start: format_civil(series.start()),
            end: format_civil(series.end()),
            rrule: series.rule().map(ToString::to_string).unwrap_or_default(),
            repeat_exceptions: series.exceptions().to_string(),
            intervention_ids: list_ids(&availability.permits),
        })
    }
}

fn list_ids(permits: &Permits) -> Vec<InterventionId> {
    match permits {
        Permits::All => Vec::new(),
        Permits::Only(ids) => ids.to_vec(),
    }
}

fn format_minute(minute: u16) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

fn format_date(day: CivilDay) -> String {
    let mut text = format_civil(day.midnight());
    text.truncate(DATE_CHARS);
    text
}

/// Parses the body of a change of the opening hours. Rows without a first day hold from `today`.
///
/// # Errors
/// A fault for each wrong member, 50 at most.
pub fn parse_hours(
    body: &Map<String, Value>,
    scope: &Scope<'_>,
    today: CivilDay,
) -> Result<Vec<WeeklyRange>, Vec<Fault>> {
    let Some(Value::Array(rows)) = body.get("rows") else {
        return Err(vec![Fault::new("rows", "must be a list of rows; an empty one closes")]);
    };
    let mut reader = HoursReader { scope: *scope, today, ranges: Vec::new(), faults: Vec::new() };
    for (index, row) in rows.iter().enumerate() {
        let place = format!("rows[{index}]");
        match row {
            Value::Object(row) => reader.read_row(&place, row),
            _ => reader.add_fault(place, "must be an object with weekday and ranges"),
        }
        if reader.faults.len() >= FAULTS_MAX {
            break;
        }
        if reader.ranges.len() > RANGES_MAX {
            let rule = format!("must have at most {RANGES_MAX} ranges together");
            return Err(vec![Fault::new("rows", rule)]);
        }
    }
    reader.find_overlaps();
    let HoursReader { ranges, mut faults, .. } = reader;
    if !faults.is_empty() {
        faults.truncate(FAULTS_MAX);
        return Err(faults);
    }
    let mut ranges: Vec<WeeklyRange> = ranges.into_iter().map(|given| given.range).collect();
    sort_ranges(&mut ranges);
    Ok(ranges)
}

/// Reads row by row and collects the faults.
struct HoursReader<'a> {
    scope: Scope<'a>,
    today: CivilDay,
    ranges: Vec<GivenRange>,
    faults: Vec<Fault>,
}

/// A range with its place in the body.
struct GivenRange {
    place: String,
    range: WeeklyRange,
}

impl HoursReader<'_> {
    fn add_fault(&mut self, place: impl Into<String>, rule: impl Into<String>) {
        self.faults.push(Fault::new(place, rule));
    }

    fn read_row(&mut self, place: &str, row: &Map<String, Value>) {
        let known = &self.scope.state.catalogue.interventions;
        let mut members = ObjectReader::new(row);
        let rule = "is required: MO, TU, WE, TH, FR, SA or SU";
        let weekday = members.require("weekday", rule, parse_weekday);
        let rhythm = members.read("weeks", parse_weeks).unwrap_or(Rhythm::Weekly);
        let ids = members.read("intervention_ids", |given| {
            let find = |number| InterventionId::new(number).filter(|id| known.contains_key(id));
            let found: Option<Vec<_>> = value::parse_ids(given)?.into_iter().map(find).collect();
            match found {
                Some(ids) => Ok(Some(ids)),
                None => Err(InvalidValue("must be ids of the group's interventions".into())),
            }
        });
        let from = members.read("valid_from", parse_date);
        let until = members.read("valid_until", parse_date);
        let faults = std::mem::take(&mut members.faults);
        let is_right = faults.is_empty();
        for fault in faults {
            self.add_fault(format!("{place}.{}", fault.field), fault.rule);
        }
        let permits = Permits::only(ids.unwrap_or_default());
        let times = self.read_times(place, row.get("ranges"));
        let Some(weekday) = weekday.filter(|_| is_right) else { return };
        let from = from.unwrap_or(self.today);
        let rule = WeeklyRule { weekday, rhythm, permits, from, until };
        if !self.has_legal_days(place, &rule) {
            return;
        }
        for (index, times) in times {
            let place = format!("{place}.ranges[{index}]");
            let range = rule.with_times(times).expect("it has a first day");
            self.ranges.push(GivenRange { place, range });
        }
    }

    /// Reads the times of a row, each with its index.
    fn read_times(&mut self, place: &str, given: Option<&Value>) -> Vec<(usize, DayTimes)> {
        let Some(Value::Array(ranges)) = given else {
            let rule = "must be a list of times, each an object with from and to";
            self.add_fault(format!("{place}.ranges"), rule);
            return Vec::new();
        };
        let mut times = Vec::new();
        for (index, range) in ranges.iter().enumerate().take(RANGES_MAX + 1) {
            if self.faults.len() >= FAULTS_MAX {
                break;
            }
            let place = format!("{place}.ranges[{index}]");
            let Value::Object(range) = range else {
                self.add_fault(place, "must be an object with from and to");
                continue;
            };
            let mut members = ObjectReader::new(range);
            let rule = "is required: a time HH:MM";
            let from = members.require("from", rule, parse_minute);
            let to = members.require("to", rule, parse_minute);
            for fault in std::mem::take(&mut members.faults) {
                self.add_fault(format!("{place}.{}", fault.field), fault.rule);
            }
            if let (Some(from), Some(to)) = (from, to) {
                match DayTimes::new(from, to) {
                    Some(both) => times.push((index, both)),
                    None => self.add_fault(format!("{place}.to"), "must be after from"),
                }
            }
        }
        times
    }

    /// Checks that a row is open on some day, and in the years that instants have.
    fn has_legal_days(&mut self, place: &str, rule: &WeeklyRule) -> bool {
        let Some((first, _)) = rule.first_and_last() else {
            let first = WeeklyRule { until: None, ..rule.clone() }.first_and_last();
            let first = first.map(|(first, _)| format_date(first)).unwrap_or_default();
            let text = format!("must not be before the first day of the row, {first}");
            self.add_fault(format!("{place}.valid_until"), text);
            return false;
        };
        for moment in [first.midnight(), first.midnight().plus_seconds(DAY)] {
            if let Err(InvalidValue(text)) = datetime::to_instant(self.scope.zone, moment) {
                self.add_fault(format!("{place}.valid_from"), text);
                return false;
            }
        }
        true
    }

    /// Adds a fault for each range that overlaps an earlier one of the same interventions.
    fn find_overlaps(&mut self) {
        let ranges = std::mem::take(&mut self.ranges);
        for (index, later) in ranges.iter().enumerate() {
            let earlier = ranges[..index].iter().find(|other| other.range.overlaps(&later.range));
            let Some(earlier) = earlier else { continue };
            let mut rule = format!("must not overlap {}", earlier.place);
            let times = RangeJson::new(earlier.range.times());
            write!(rule, ", {} to {}", times.from, times.to).expect("a String takes all");
            self.add_fault(later.place.clone(), rule);
        }
        self.ranges = ranges;
    }
}

fn parse_weekday(given: &Value) -> Result<Option<Weekday>, InvalidValue> {
    if value::is_empty(given) {
        return Ok(None);
    }
    let text = value::parse_text(given)?;
    let letters = text.trim();
    let day = WEEK.into_iter().find(|day| weekday_letters(*day).eq_ignore_ascii_case(letters));
    match day {
        Some(day) => Ok(Some(day)),
        None => Err(InvalidValue("must be MO, TU, WE, TH, FR, SA or SU".into())),
    }
}

fn parse_weeks(given: &Value) -> Result<Option<Rhythm>, InvalidValue> {
    match value::parse_integer(given) {
        Ok(None) => Ok(None),
        Ok(Some(1)) => Ok(Some(Rhythm::Weekly)),
        Ok(Some(2)) => Ok(Some(Rhythm::Fortnightly)),
        Ok(Some(_)) | Err(_) => Err(InvalidValue("must be 1 or 2".into())),
    }
}

fn parse_date(given: &Value) -> Result<Option<CivilDay>, InvalidValue> {
    let Some(civil) = value::parse_civil(given)? else { return Ok(None) };
    if civil.second_of_day() == 0 {
        Ok(Some(civil.day()))
    } else {
        Err(InvalidValue("must be a date YYYY-MM-DD".into()))
    }
}

/// Parses `HH:MM`, at most `24:00`, into minutes from midnight.
fn parse_minute(given: &Value) -> Result<Option<u16>, InvalidValue> {
    if value::is_empty(given) {
        return Ok(None);
    }
    let wrong = || InvalidValue("must be a time HH:MM, from 00:00 to 24:00".into());
    let Value::String(text) = given else { return Err(wrong()) };
    let [h1, h2, b':', m1, m2] = text.trim().as_bytes() else { return Err(wrong()) };
    let digit = |byte: &u8| char::from(*byte).to_digit(10).ok_or_else(wrong);
    let hours = digit(h1)? * 10 + digit(h2)?;
    let minutes = digit(m1)? * 10 + digit(m2)?;
    let minute = hours * 60 + minutes;
    if minutes > 59 || i64::from(minute) * MINUTE > DAY {
        return Err(wrong());
    }
    Ok(Some(u16::try_from(minute).expect("a day has 1,440 minutes")))
}
