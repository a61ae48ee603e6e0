//! A day and a time as forms of screens have them. Reference 15.6.

use crate::domain::time::{Civil, CivilDay};
use crate::web::format::{self, parse_start};
use crate::web::practice::texts::event::EventTexts;
use crate::web::practice::visit::ProVisit;
use crate::wire::datetime::to_instant;

/// A moment on the clocks of the group, or what is wrong with its fields.
pub(crate) struct TypedStart {
    /// `None` if a field is wrong.
    pub(crate) at: Option<Civil>,
    /// The sentence of a wrong day; empty without a fault.
    pub(crate) day_fault: &'static str,
    /// The same of a wrong time.
    pub(crate) time_fault: &'static str,
}

/// Reads a day and a time. A time that a clock change leaves out is wrong, and so is a year without
/// instants.
pub(crate) fn read_start(visit: &ProVisit, day: &str, time: &str) -> TypedStart {
    let text = EventTexts::in_language(visit.language());
    let mut read = TypedStart { at: None, day_fault: "", time_fault: "" };
    let parsed_day = format::parse_day(day);
    if parsed_day.is_none() {
        read.day_fault = text.bad_day;
    }
    // The time of a day that exists, so that a wrong day is no fault of the time.
    if parse_start(&format!("2000-01-01T{time}")).is_none() {
        read.time_fault = text.bad_time;
    }
    let Some(at) = parse_start(&format!("{day}T{time}")) else { return read };
    let zone = visit.zone();
    match to_instant(zone, at) {
        // In spring the clocks leave out an hour.
        Ok(_) if zone.leaves_out(at) => read.time_fault = text.time_left_out,
        Ok(_) => read.at = Some(at),
        Err(_) => read.day_fault = text.bad_day,
    }
    read
}

/// Parses a day of the years whose days have instants in all zones, with days around them.
pub(crate) fn parse_legal_day(text: &str) -> Option<CivilDay> {
    format::parse_day(text).filter(|day| (1971..=9998).contains(&day.ymd().0))
}
