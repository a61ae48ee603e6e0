//! The civil day of a moment, as a span of instants. Reference 4.9.

use crate::domain::time::Instant;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::Zone;

/// Returns the civil day of a moment, from one midnight to the next. Where the clocks are set back
/// over midnight, the first one counts. Thus each moment has one day.
pub(crate) fn civil_day_of(zone: Zone, moment: Instant) -> Interval {
    let mut day = zone.civil_of(moment).day();
    let mut start = zone.instant_of(day.midnight());
    while moment < start {
        day = day.plus_days(-1);
        start = zone.instant_of(day.midnight());
    }
    loop {
        day = day.plus_days(1);
        let end = zone.instant_of(day.midnight());
        if moment < end {
            return Interval { start, end };
        }
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::{Civil, MINUTE};

    #[test]
    fn each_moment_has_one_day_however_the_clocks_change() {
        let moment_of = |year| {
            let civil = Civil::from_ymd_hms(year, 1, 1, 0, 0, 0).expect("a time");
            Zone::from_iana("UTC").expect("a zone").instant_of(civil)
        };
        let from = moment_of(1970);
        let to = moment_of(2040);
        for name in Zone::iana_names() {
            let zone = Zone::from_iana(name).expect("a listed name");
            let mut change = zone.same_offset_span(from).end;
            while change < to {
                for minutes in (-26 * 60..26 * 60).step_by(30) {
                    for seconds in [-1, 0, 10 * MINUTE] {
                        check_day(name, zone, change.plus_minutes(minutes).plus_seconds(seconds));
                    }
                }
                change = zone.same_offset_span(change).end;
            }
        }
    }

    /// The days of a zone do not overlap, and leave nothing out.
    fn check_day(name: &str, zone: Zone, moment: Instant) {
        let day = civil_day_of(zone, moment);
        assert!(day.start <= moment && moment < day.end, "{name} at {moment:?}: {day:?}");
        assert_eq!(civil_day_of(zone, day.start), day, "{name} at {moment:?}");
        assert_eq!(civil_day_of(zone, day.end).start, day.end, "{name} at {moment:?}");
        let midnight = zone.civil_of(day.start).day().midnight();
        assert_eq!(zone.instant_of(midnight), day.start, "{name} at {moment:?}");
    }
}
