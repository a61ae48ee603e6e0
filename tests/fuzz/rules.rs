//! Series: `rrule` and `repeat_exceptions`. An input is five lines: zone, start, end, rule and
//! exceptions.

use slotbook::domain::recurrence::{Exceptions, Rule, Series};
use slotbook::domain::time::zone::Zone;
use slotbook::domain::time::{Civil, DAY, INSTANT_MAX, Instant};
use slotbook::wire::datetime;

use crate::dates::zone_of;
use crate::harness::{AllocationBound, CaughtPanics, Target};

const BOUND: AllocationBound = AllocationBound { bytes: 256 << 10, per_input_byte: 256 };
/// The longest search of slots, and more.
const WINDOW_DAYS: i64 = 400;

pub(crate) fn target() -> Target {
    Target::new(BOUND, CaughtPanics::Never, |input| {
        let mut lines = input.split(|byte| *byte == b'\n');
        let mut next = || lines.next().unwrap_or_default();
        let zone = zone_of(next());
        let civil = |line: &[u8]| datetime::parse(&String::from_utf8_lossy(line)).ok();
        let start = civil(next()).unwrap_or(Civil(1_748_847_600));
        let end = civil(next()).unwrap_or(start.plus_seconds(3_600));
        let rule = parse_rule(&String::from_utf8_lossy(next()));
        let exceptions = parse_exceptions(&String::from_utf8_lossy(next()));
        if let Ok(series) = Series::new(zone, start, end, rule, exceptions) {
            let begin = zone.instant_of(start);
            for from in [begin, begin.plus_seconds(1_000 * DAY), last_window()] {
                check_window(&series, zone, from);
            }
        }
    })
}

fn last_window() -> Instant {
    INSTANT_MAX.plus_seconds(-WINDOW_DAYS * DAY)
}

fn parse_rule(text: &str) -> Option<Rule> {
    let rule: Rule = text.parse().ok()?;
    assert_eq!(rule.to_string().parse(), Ok(rule), "{rule}");
    Some(rule)
}

fn parse_exceptions(text: &str) -> Exceptions {
    let Ok(exceptions) = text.parse::<Exceptions>() else { return Exceptions::default() };
    assert_eq!(exceptions.to_string().parse().as_ref(), Ok(&exceptions));
    exceptions
}

/// Checks the occurrences of a window: their number is known beforehand, they ascend, and each takes
/// place.
fn check_window(series: &Series, zone: Zone, from: Instant) {
    let to = from.plus_seconds(WINDOW_DAYS * DAY);
    let looked_at_max = series.count_looked_at(zone, from, to);
    let mut last = None;
    let mut number = 0;
    for occurrence in series.occurrences_overlapping(zone, from, to) {
        number += 1;
        assert!(number <= looked_at_max, "more than {looked_at_max} occurrences");
        assert!(last < Some(occurrence.start_civil), "they ascend");
        last = Some(occurrence.start_civil);
        assert!(series.takes_place_on(zone, occurrence.start_civil.day()));
        assert!(occurrence.start < to && from < occurrence.end);
    }
    if number > 0 {
        assert!(series.has_occurrence_ending_after(zone, from));
    }
}
