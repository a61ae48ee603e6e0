//! Dates and times of the wire, and names of zones. An input is the name of a zone, and in the next
//! line a time.

use slotbook::domain::time::zone::Zone;
use slotbook::domain::time::zone_names::ZoneName;
use slotbook::wire::datetime::{self, GivenTime, WrittenTime};

use crate::bodies::split_line;
use crate::harness::{AllocationBound, CaughtPanics, Target};

const BOUND: AllocationBound = AllocationBound { bytes: 64 << 10, per_input_byte: 64 };

pub(crate) fn target() -> Target {
    Target::new(BOUND, CaughtPanics::Never, |input| {
        let (zone, text) = split_line(input);
        let zone = zone_of(zone);
        let text = String::from_utf8_lossy(text);
        if let Ok(written) = WrittenTime::parse(&text) {
            let in_query = WrittenTime::parse_in_query(&text);
            assert_eq!(in_query, Ok(written), "a query takes at least as much");
        }
        if let Ok(civil) = datetime::parse(&text) {
            assert_eq!(datetime::parse(&datetime::format_civil(civil)), Ok(civil));
        }
        let in_query = WrittenTime::parse_in_query(&text).and_then(WrittenTime::to_given_time);
        for given in [GivenTime::parse(&text), in_query].into_iter().flatten() {
            check_time(zone, given);
        }
    })
}

/// Returns the zone of a name, and Paris without one.
pub(crate) fn zone_of(name: &[u8]) -> Zone {
    let name = String::from_utf8_lossy(name);
    match ZoneName::from_name(&name) {
        Some(known) => {
            assert_eq!(ZoneName::from_name(known.name()), Some(known));
            known.zone()
        }
        None => Zone::from_iana("Europe/Paris").expect("it is known"),
    }
}

fn check_time(zone: Zone, given: GivenTime) {
    let civil = given.to_civil(zone);
    let Ok(instant) = given.to_instant(zone) else { return };
    let text = datetime::format_rfc_3339(instant);
    assert_eq!(GivenTime::parse(&text), Ok(GivenTime::Exact(instant)), "{text}");
    let shown = zone.civil_of(instant);
    if given == GivenTime::Local(civil) && !zone.leaves_out(civil) {
        assert_eq!(shown, civil, "a time that the clocks show is shown");
    }
    // The second pass of an hour is written as the first one.
    let written = zone.instant_of(shown);
    assert!(written <= instant, "{written:?} {instant:?}");
    assert_eq!(written == instant, zone.is_first_pass(instant), "{instant:?}");
}
