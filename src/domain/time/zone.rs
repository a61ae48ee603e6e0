//! Time zones: the only place that converts civil times to instants and back. Reference 1.3.
//!
//! The offset changes of a zone are read from the zone database once. After that, a conversion is a
//! table look-up of a few nanoseconds. The results equal those of the database for 1970 to 9999,
//! including gaps and repeated hours. The database has no clock change after 2099: later years keep
//! the last offset of that year.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};

use crate::domain::time::interval_set::Interval;
use crate::domain::time::{Civil, DAY, Instant};
use crate::planted_faults::PlantedFault;

/// A time zone. Copies are free. Two are equal if their IANA names are equal.
#[derive(Clone, Copy)]
pub struct Zone(&'static OffsetTable);

/// Converter of many civil times of one zone. It is fastest if they ascend.
///
/// Between two clock changes, a conversion is one comparison and one subtraction. In any order, the
/// results equal those of [`Zone::instant_of`].
#[derive(Clone, Debug)]
pub struct Offsets {
    zone: Zone,
    /// First civil time that `offset_seconds` converts.
    holds_from: i64,
    /// First civil time after those that `offset_seconds` converts.
    holds_until: i64,
    /// Offset of the last conversion.
    offset_seconds: i64,
}

impl Zone {
    /// Returns the zone of an IANA name such as `Europe/Paris`, or `None` if the zone database
    /// lacks the name. Links such as `Asia/Katmandu` are names too.
    pub fn from_iana(name: &str) -> Option<Self> {
        // Cache of constants of the zone database: to build a table takes half a millisecond.
        static TABLES: [OnceLock<OffsetTable>; TZ_VARIANTS.len()] =
            [const { OnceLock::new() }; TZ_VARIANTS.len()];
        let tz: Tz = name.parse().ok()?;
        let place = TABLES.get(tz as usize).expect("one place for each zone of the database");
        Some(Self(place.get_or_init(|| OffsetTable::probe_database(tz))))
    }

    /// Returns every name that [`Zone::from_iana`] takes, in the order of the database.
    pub(crate) fn iana_names() -> impl ExactSizeIterator<Item = &'static str> {
        TZ_VARIANTS.iter().map(|tz| tz.name())
    }

    /// Returns the zone's name in the IANA database.
    pub fn iana_name(self) -> &'static str {
        self.0.tz.name()
    }

    /// Returns the instant at which the zone's clocks show `civil`. Reference 1.3.
    ///
    /// A time inside a spring gap means the instant that the offset before the gap gives: 02:30 in
    /// a gap from 02:00 to 03:00 is the instant shown as 03:30. A time that occurs twice in autumn
    /// means its first pass. Times outside 1970 to 9999 take the nearest known offset.
    ///
    /// ```
    /// use slotbook::domain::time::Civil;
    /// use slotbook::domain::time::zone::Zone;
    /// let paris = Zone::from_iana("Europe/Paris").unwrap();
    /// let in_gap = paris.instant_of(Civil::from_ymd_hms(2025, 3, 30, 2, 30, 0).unwrap());
    /// assert_eq!(paris.civil_of(in_gap), Civil::from_ymd_hms(2025, 3, 30, 3, 30, 0).unwrap());
    /// ```
    #[inline]
    pub fn instant_of(self, civil: Civil) -> Instant {
        let (span, _) = self.0.span_for_civil(civil.0);
        Instant(civil.0.saturating_sub(span.offset_seconds))
    }

    /// Returns the civil time that the zone's clocks show at `instant`.
    #[inline]
    pub fn civil_of(self, instant: Instant) -> Civil {
        Civil(instant.0.saturating_add(self.0.span_at_instant(instant.0).offset_seconds))
    }

    /// Returns whether the zone's clocks leave out a civil time in spring.
    #[inline]
    pub fn leaves_out(self, civil: Civil) -> bool {
        self.civil_of(self.instant_of(civil)) != civil
    }

    /// Returns the longest span of instants around `instant` at which the zone's clocks have one
    /// offset from UTC.
    pub fn same_offset_span(self, instant: Instant) -> Interval {
        let (span, until) = self.0.span_and_end(instant.0);
        Interval { start: Instant(span.instant_from), end: Instant(until) }
    }

    /// Returns whether [`Zone::instant_of`] converts the civil time shown at `instant` back to
    /// `instant`. This is false only in the second pass of a repeated hour. Reference 4.5.
    #[inline]
    pub fn is_first_pass(self, instant: Instant) -> bool {
        let span = self.0.span_at_instant(instant.0);
        instant.0.saturating_add(span.offset_seconds) >= span.civil_from
    }

    /// Returns the second passes of repeated hours that overlap `window`, ascending. Reference 4.5.
    pub fn second_passes(self, window: Interval) -> Vec<Interval> {
        let spans = &self.0.spans;
        let first = spans.partition_point(|span| span.instant_from <= window.start.0);
        let mut passes = Vec::new();
        // The window may begin inside a second pass. Its span is then compared with the one before.
        for pair in spans[first.saturating_sub(2)..].windows(2) {
            let before = &pair[0];
            let span = &pair[1];
            if span.instant_from >= window.end.0 {
                break;
            }
            // Clocks that go forward repeat nothing.
            if span.offset_seconds >= before.offset_seconds {
                continue;
            }
            let pass = Interval {
                start: Instant(span.instant_from),
                end: Instant(span.civil_from - span.offset_seconds),
            };
            if pass.overlaps(window) {
                passes.push(pass);
            }
        }
        passes
    }

    /// Returns the seconds by which the zone's clocks are ahead of UTC at `instant`; negative west
    /// of Greenwich.
    #[inline]
    pub fn offset_at(self, instant: Instant) -> i64 {
        self.0.span_at_instant(instant.0).offset_seconds
    }

    /// Returns a converter for many civil times.
    pub fn offsets(self) -> Offsets {
        Offsets { zone: self, holds_from: 0, holds_until: 0, offset_seconds: 0 }
    }

    /// Maximum seconds by which the order of civil times and of their instants can differ around a
    /// clock change: twice the largest change of this zone, or 0 without changes.
    pub(crate) fn disorder_seconds(self) -> i64 {
        self.0.disorder_seconds
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.0.tz == other.0.tz
    }
}

impl Eq for Zone {}

impl Hash for Zone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.iana_name().hash(state);
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.iana_name())
    }
}

impl Offsets {
    /// Returns the zone.
    pub fn zone(&self) -> Zone {
        self.zone
    }

    /// Returns the instant at which the zone's clocks show `civil`; see [`Zone::instant_of`].
    #[must_use]
    #[inline]
    pub fn instant_of(&mut self, civil: Civil) -> Instant {
        if civil.0 < self.holds_from || civil.0 >= self.holds_until {
            self.load_span(civil);
        }
        Instant(civil.0.saturating_sub(self.offset_seconds))
    }

    /// Loads the span of `civil`.
    fn load_span(&mut self, civil: Civil) {
        let (span, holds_until) = self.zone.0.span_for_civil(civil.0);
        self.holds_from = span.civil_from;
        self.holds_until = holds_until;
        self.offset_seconds = span.offset_seconds;
    }
}

/// Returns the release of the zone database that conversions follow, such as `2025b`.
pub fn tzdata_version() -> &'static str {
    chrono_tz::IANA_TZDB_VERSION
}

/// Converts a civil time of the UTC zone to its instant.
pub const fn instant_of_utc(civil: Civil) -> Instant {
    Instant(civil.0)
}

/// Converts an instant to the civil time of the UTC zone.
pub const fn utc_of(instant: Instant) -> Civil {
    Civil(instant.0)
}

/// Formats an instant as iCalendar does, like `20260303T100000Z`.
pub fn format_ical(instant: Instant) -> String {
    let utc = utc_of(instant);
    let (year, month, day) = utc.day().ymd();
    let (hour, minute, second) = utc.hour_minute_second();
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Number of names in the zone database.
pub(in crate::domain::time) const IANA_NAMES: usize = TZ_VARIANTS.len();

/// First probed second: 1970 as an instant is still 1969 as a civil time in some zones.
const PROBED_FROM: i64 = -8 * DAY;
/// End of probing: the database has no change after 2099.
const PROBED_UNTIL: i64 = 4_134_000_000;
/// Seconds between two probes. Any two changes of one zone are further apart, so that a step never
/// contains two. The closest are a week apart.
const PROBE_STEP: i64 = 4 * DAY;
/// Binary logarithm of the seconds of a bucket: about 48 days. Few buckets contain two changes.
const BUCKET_BITS: u32 = 22;
/// Number of buckets of an index.
const BUCKETS: usize = ((PROBED_UNTIL - PROBED_FROM) >> BUCKET_BITS) as usize + 2;

/// A time in which the offset stays the same.
#[derive(Clone, Copy, Debug)]
struct OffsetSpan {
    /// First instant of the span.
    instant_from: i64,
    /// First civil time that this span's offset converts. After a gap it is the end of the gap,
    /// after a repeated hour the end of its second pass. Earlier civil times belong to the span
    /// before.
    civil_from: i64,
    /// Seconds ahead of UTC.
    offset_seconds: i64,
}

/// All spans of one zone, with an index by time that makes a look-up constant.
struct OffsetTable {
    tz: Tz,
    /// Ascending in both times. The first begins at `i64::MIN`. A sentinel at `i64::MAX` ends the
    /// list.
    spans: Box<[OffsetSpan]>,
    /// For each bucket of instants, the span of its first second.
    by_instant: Box<[u16]>,
    /// For each bucket of civil times, the span of its first second.
    by_civil: Box<[u16]>,
    /// See [`Zone::disorder_seconds`].
    disorder_seconds: i64,
}

impl OffsetTable {
    /// Reads the offset changes of a zone from the database: in steps, then by bisection.
    fn probe_database(tz: Tz) -> Self {
        let offset_at = |instant: i64| {
            let utc = DateTime::from_timestamp(instant, 0)
                .expect("probes lie within chrono's years")
                .naive_utc();
            i64::from(tz.offset_from_utc_datetime(&utc).fix().local_minus_utc())
        };
        let mut offset = offset_at(PROBED_FROM);
        let mut spans = vec![OffsetSpan {
            instant_from: i64::MIN,
            civil_from: i64::MIN,
            offset_seconds: offset,
        }];
        let mut disorder_seconds = 0;
        let mut probe = PROBED_FROM;
        while probe < PROBED_UNTIL {
            let mut before = probe;
            let mut after = probe + PROBE_STEP;
            probe = after;
            let next = offset_at(after);
            if next == offset {
                continue;
            }
            while after - before > 1 {
                let middle = before + (after - before) / 2;
                if offset_at(middle) == offset { before = middle } else { after = middle }
            }
            let first_with_next = if PlantedFault::GapWithLaterOffset.is_active() {
                offset
            } else {
                offset.max(next)
            };
            spans.push(OffsetSpan {
                instant_from: after,
                civil_from: after + first_with_next,
                offset_seconds: next,
            });
            disorder_seconds = disorder_seconds.max(2 * (next - offset).abs());
            offset = next;
        }
        spans.push(OffsetSpan {
            instant_from: i64::MAX,
            civil_from: i64::MAX,
            offset_seconds: offset,
        });
        let by_instant = build_index(&spans, |span| span.instant_from);
        let by_civil = build_index(&spans, |span| span.civil_from);
        Self { tz, spans: spans.into(), by_instant, by_civil, disorder_seconds }
    }

    /// Returns the span in which `instant` lies.
    #[inline]
    fn span_at_instant(&self, instant: i64) -> &OffsetSpan {
        self.span_and_end(instant).0
    }

    /// Returns the span in which `instant` lies, and the first instant of the next span.
    #[inline]
    fn span_and_end(&self, instant: i64) -> (&OffsetSpan, i64) {
        let mut place = usize::from(self.by_instant[bucket_of(instant)]);
        while self.spans[place + 1].instant_from <= instant.min(i64::MAX - 1) {
            place += 1;
        }
        (&self.spans[place], self.spans[place + 1].instant_from)
    }

    /// Returns the span whose offset converts `civil`, and the first civil time of the next span.
    #[inline]
    fn span_for_civil(&self, civil: i64) -> (&OffsetSpan, i64) {
        let mut place = usize::from(self.by_civil[bucket_of(civil)]);
        while self.spans[place + 1].civil_from <= civil.min(i64::MAX - 1) {
            place += 1;
        }
        (&self.spans[place], self.spans[place + 1].civil_from)
    }
}

/// Returns for each bucket the last span that begins at or before the bucket's first second.
fn build_index(spans: &[OffsetSpan], from: impl Fn(&OffsetSpan) -> i64) -> Box<[u16]> {
    let mut places = Vec::with_capacity(BUCKETS);
    for bucket in 0..BUCKETS {
        // The first bucket also covers all times before the probed ones.
        let first_second =
            if bucket == 0 { i64::MIN } else { PROBED_FROM + ((bucket as i64) << BUCKET_BITS) };
        let begun = spans.partition_point(|span| from(span) <= first_second);
        places.push(u16::try_from(begun - 1).expect("a zone has a few hundred spans"));
    }
    places.into()
}

/// Returns the bucket of a time. Times outside the probed years are in the first or last bucket.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the number of buckets first"
)]
fn bucket_of(seconds: i64) -> usize {
    (seconds.saturating_sub(PROBED_FROM) >> BUCKET_BITS).clamp(0, BUCKETS as i64 - 1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::zone_names::ZoneName;
    use crate::domain::time::{CIVIL_MAX, INSTANT_MAX};
    use chrono::{MappedLocalTime, NaiveDateTime, TimeDelta};
    use proptest::prelude::*;

    fn naive(seconds: i64) -> NaiveDateTime {
        DateTime::from_timestamp(seconds, 0).expect("within chrono's years").naive_utc()
    }

    /// The same as [`Zone::instant_of`], computed by the zone database.
    fn instant_by_chrono(tz: Tz, civil: i64) -> i64 {
        let mut asked = naive(civil);
        loop {
            match tz.offset_from_local_datetime(&asked) {
                MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(offset, _) => {
                    return civil - i64::from(offset.fix().local_minus_utc());
                }
                // The time lies in a gap: take the offset before it.
                MappedLocalTime::None => asked -= TimeDelta::minutes(5),
            }
        }
    }

    fn offset_by_chrono(tz: Tz, instant: i64) -> i64 {
        i64::from(tz.offset_from_utc_datetime(&naive(instant)).fix().local_minus_utc())
    }

    fn assert_same_as_chrono(tz: Tz, instant: i64) {
        let zone = Zone::from_iana(tz.name()).expect("a zone");
        let offset = offset_by_chrono(tz, instant);
        assert_eq!(zone.offset_at(Instant(instant)), offset, "{tz} at {instant}");
        assert_eq!(zone.civil_of(Instant(instant)), Civil(instant + offset));
        let named = instant_by_chrono(tz, instant + offset);
        assert_eq!(zone.is_first_pass(Instant(instant)), named == instant, "{tz} at {instant}");
        assert_eq!(
            zone.instant_of(Civil(instant)),
            Instant(instant_by_chrono(tz, instant)),
            "{tz} at civil {instant}"
        );
        let is_left_out = tz.offset_from_local_datetime(&naive(instant)) == MappedLocalTime::None;
        assert_eq!(zone.leaves_out(Civil(instant)), is_left_out, "{tz} at civil {instant}");
    }

    #[test]
    fn a_window_that_begins_inside_a_second_pass_contains_it() {
        let paris = Zone::from_iana("Europe/Paris").expect("a zone");
        let pass = Interval { start: Instant(1_792_890_000), end: Instant(1_792_893_600) };
        for start in [pass.start.0 - 60, pass.start.0, pass.start.0 + 60] {
            let window = Interval { start: Instant(start), end: Instant(start + 300) };
            assert_eq!(paris.second_passes(window), [pass]);
        }
    }

    #[test]
    fn every_zone_has_the_offset_of_the_database_on_every_day() {
        for tz in TZ_VARIANTS {
            let zone = Zone::from_iana(tz.name()).expect("a zone");
            for day in 0..PROBED_UNTIL / DAY + 400 {
                let instant = day * DAY;
                assert_eq!(
                    zone.offset_at(Instant(instant)),
                    offset_by_chrono(tz, instant),
                    "{tz} at {instant}"
                );
            }
        }
    }

    #[test]
    fn no_zone_changes_its_offset_twice_within_a_probe_step() {
        for tz in TZ_VARIANTS {
            let zone = Zone::from_iana(tz.name()).expect("a zone");
            for pair in zone.0.spans[1..zone.0.spans.len() - 1].windows(2) {
                assert!(pair[1].instant_from - pair[0].instant_from > PROBE_STEP, "{tz}: {pair:?}");
                assert!(pair[1].civil_from > pair[0].civil_from);
            }
        }
    }

    #[test]
    fn conversions_around_every_change_equal_those_of_the_database() {
        for name in ZoneName::all() {
            let tz = name.zone().0.tz;
            let spans = &name.zone().0.spans;
            for span in &spans[1..spans.len() - 1] {
                for seconds in
                    [-1, 0, 1, 1_799, 1_800, 3_599, 3_600, 3_601, -3_600, -3_601, 7_200, -7_200]
                {
                    assert_same_as_chrono(tz, span.instant_from + seconds);
                    assert_same_as_chrono(tz, span.civil_from + seconds);
                }
            }
        }
    }

    #[test]
    fn a_skipped_day_takes_the_offset_before_it() {
        // Samoa went from 29 to 31 December 2011.
        let apia = Zone::from_iana("Pacific/Apia").expect("a zone");
        let at = |day| Civil::from_ymd_hms(2011, 12, day, 10, 0, 0).expect("a time");
        assert_eq!(apia.civil_of(apia.instant_of(at(30))), at(31));
        assert_eq!(apia.instant_of(at(30)), apia.instant_of(at(31)));
    }

    #[test]
    fn only_the_second_pass_of_a_repeated_hour_is_not_a_first_pass() {
        let lord_howe = Zone::from_iana("Australia/Lord_Howe").expect("a zone");
        // Clocks go back by half an hour at 02:00 on 6 April 2025.
        let back = lord_howe
            .instant_of(Civil::from_ymd_hms(2025, 4, 6, 1, 59, 59).expect("a time"))
            .plus_seconds(1);
        for (seconds, is_first_pass) in [(-1, true), (0, false), (1_799, false), (1_800, true)] {
            assert_eq!(lord_howe.is_first_pass(back.plus_seconds(seconds)), is_first_pass);
        }
    }

    #[test]
    fn times_beyond_all_years_do_not_overflow() {
        for name in ZoneName::all() {
            for extreme in [i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX] {
                let _ = (
                    name.zone().instant_of(Civil(extreme)),
                    name.zone().civil_of(Instant(extreme)),
                );
                let _ = name.zone().is_first_pass(Instant(extreme));
            }
        }
    }

    #[test]
    fn unknown_zones_are_not_found() {
        assert_eq!(Zone::from_iana("Europe/Lyon"), None);
        assert_eq!(Zone::from_iana(""), None);
        assert_ne!(Zone::from_iana("Asia/Katmandu"), Zone::from_iana("Asia/Kathmandu"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn conversions_of_any_year_equal_those_of_the_database(place in 0..TZ_VARIANTS.len(), near in 0..PROBED_UNTIL, far in 0..INSTANT_MAX.0) {
            assert_same_as_chrono(TZ_VARIANTS[place], near);
            assert_same_as_chrono(TZ_VARIANTS[place], far);
        }

        #[test]
        fn a_converter_of_many_times_equals_the_zone_in_any_order(place in 0..TZ_VARIANTS.len(), civils in prop::collection::vec(0..CIVIL_MAX.0 / 40, 1..40)) {
            let zone = Zone::from_iana(TZ_VARIANTS[place].name()).expect("a zone");
            let mut offsets = zone.offsets();
            for civil in civils {
                prop_assert_eq!(offsets.instant_of(Civil(civil)), zone.instant_of(Civil(civil)));
            }
        }
    }

    #[test]
    fn a_converter_of_many_times_equals_the_zone_when_they_descend() {
        let paris = Zone::from_iana("Europe/Paris").expect("a zone");
        let mut offsets = paris.offsets();
        for month in (1..=12).rev() {
            let noon = Civil::from_ymd_hms(2026, month, 1, 12, 0, 0).expect("a time");
            assert_eq!(offsets.instant_of(noon), paris.instant_of(noon), "month {month}");
        }
    }

    #[test]
    fn an_offset_holds_from_one_clock_change_to_the_next() {
        let paris = Zone::from_iana("Europe/Paris").expect("a zone");
        let at = |month, day, hour| {
            instant_of_utc(Civil::from_ymd_hms(2026, month, day, hour, 0, 0).expect("a time"))
        };
        // Both changes are at one o'clock UTC.
        let summer = Interval { start: at(3, 29, 1), end: at(10, 25, 1) };
        for instant in [summer.start, at(7, 1, 0), summer.end.plus_seconds(-1)] {
            assert_eq!(paris.same_offset_span(instant), summer);
        }
        assert_eq!(paris.same_offset_span(summer.end).start, summer.end);
    }

    #[test]
    fn clock_changes_disorder_times_by_twice_the_largest_of_them() {
        for (name, seconds) in [
            ("Europe/Paris", 7_200),
            ("America/Anchorage", 7_200),
            ("UTC", 0),
            // From one side of the date line to the other.
            ("Pacific/Apia", 2 * DAY),
        ] {
            let zone = Zone::from_iana(name).expect("a zone");
            assert_eq!(zone.disorder_seconds(), seconds, "{name}");
        }
    }

    #[test]
    fn the_release_of_the_zone_database_is_a_year_and_a_letter() {
        let [year @ .., letter] = tzdata_version().as_bytes() else { panic!("it has a name") };
        assert!(letter.is_ascii_lowercase(), "{letter}");
        let year = str::from_utf8(year).ok().and_then(|year| year.parse::<u32>().ok());
        assert!(year.is_some_and(|year| (2025..2100).contains(&year)), "{year:?}");
    }
}
