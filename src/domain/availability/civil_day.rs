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
