//! Dates and times as text: `YYYY-MM-DD HH:MM:SS`, in the group's time zone. Reference 1.2, 1.3.

use serde::Serialize;

use crate::domain::records::text::InvalidValue;
use crate::domain::time::interval_set::Interval;
use crate::domain::time::zone::{self, Zone};
use crate::domain::time::{
    CIVIL_MAX, CIVIL_MIN, Civil, DAY, HOUR, INSTANT_MAX, INSTANT_MIN, Instant, MINUTE,
};

/// Number of bytes of a datetime.
pub const LENGTH: usize = 19;

/// Parses the civil time `YYYY-MM-DD HH:MM:SS`, or midnight of `YYYY-MM-DD`. Years 1800 to 9999.
///
/// ```
/// use slotbook::domain::time::Civil;
/// use slotbook::wire::datetime::parse;
/// assert_eq!(parse("1970-01-02 00:00:01"), Ok(Civil(86_401)));
/// assert_eq!(parse("1970-01-02"), Ok(Civil(86_400)));
/// assert!(parse("1970-01-02T00:00:01Z").is_err());
/// ```
///
/// # Errors
/// Another format, a date or time that does not exist, or a year outside 1800 to 9999.
pub fn parse(text: &str) -> Result<Civil, InvalidValue> {
    const FORMAT: &str = "must be written YYYY-MM-DD HH:MM:SS or YYYY-MM-DD";
    let bytes = text.as_bytes();
    let (date, time) = match bytes.len() {
        10 => (bytes, None),
        LENGTH if bytes[10] == b' ' => (&bytes[..10], Some(&bytes[11..])),
        _ => return Err(InvalidValue(FORMAT.into())),
    };
    let time = match time {
        Some(time) => parse_triple(time, b':', 2),
        None => Some([0; 3]),
    };
    let (Some([year, month, day]), Some([hour, minute, second])) =
        (parse_triple(date, b'-', 4), time)
    else {
        return Err(InvalidValue(FORMAT.into()));
    };
    let year = i32::try_from(year).expect("four digits are below 10000");
    let Some(civil) = Civil::from_ymd_hms(year, month, day, hour, minute, second) else {
        return Err(InvalidValue("must be a date and a time that exist, hours 00 to 23".into()));
    };
    if civil < CIVIL_MIN || CIVIL_MAX < civil {
        return Err(InvalidValue("must be in the years 1800 to 9999".into()));
    }
    Ok(civil)
}

/// A time in a request: on the clocks of the group, or an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenTime {
    /// A wall-clock time.
    Local(Civil),
    /// An instant, given with an offset from UTC.
    Exact(Instant),
}

impl GivenTime {
    /// Parses a civil time as [`parse`] does, or an instant of RFC 3339 such as
    /// `2026-11-23T09:00:00+01:00` and `2026-11-23T08:00:00Z`, in whole seconds.
    ///
    /// ```
    /// use slotbook::domain::time::{Civil, Instant};
    /// use slotbook::wire::datetime::GivenTime;
    /// assert_eq!(GivenTime::parse("1970-01-02"), Ok(GivenTime::Local(Civil(86_400))));
    /// assert_eq!(
    ///     GivenTime::parse("1970-01-01T01:00:01+01:00"),
    ///     Ok(GivenTime::Exact(Instant(1)))
    /// );
    /// ```
    ///
    /// # Errors
    /// Another format, a date, time or offset that does not exist, or a year outside 1800 to 9999.
    pub fn parse(text: &str) -> Result<Self, InvalidValue> {
        match split_rfc_3339(text) {
            Some((local, seconds_east)) => {
                let civil = parse(&local)?;
                Ok(Self::Exact(instant_from_utc(civil.plus_seconds(-seconds_east))?))
            }
            None => Ok(Self::Local(parse(text)?)),
        }
    }

    /// Converts to an instant. A wall-clock time is one of the zone.
    ///
    /// # Errors
    /// An instant outside the years 1970 to 9999.
    pub fn to_instant(self, zone: Zone) -> Result<Instant, InvalidValue> {
        match self {
            Self::Local(civil) => to_instant(zone, civil),
            Self::Exact(instant) => Ok(instant),
        }
    }

    /// Converts to the wall-clock time of the zone.
    pub fn to_civil(self, zone: Zone) -> Civil {
        match self {
            Self::Local(civil) => civil,
            Self::Exact(instant) => to_local(zone, instant),
        }
    }
}

/// Splits an instant of RFC 3339 into `YYYY-MM-DD HH:MM:SS` and the seconds of its offset east of
/// UTC. `None` for another format.
fn split_rfc_3339(text: &str) -> Option<(String, i64)> {
    let (local, rest) = text.split_at_checked(LENGTH)?;
    if !matches!(local.as_bytes()[10], b'T' | b't' | b' ') {
        return None;
    }
    // Programs write whole seconds with a fraction of zeros.
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zeros = fraction.len() - fraction.trim_start_matches('0').len();
            if zeros == 0 {
                return None;
            }
            &fraction[zeros..]
        }
        None => rest,
    };
    let seconds_east = match rest.as_bytes() {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let hours = parse_digits(&[*h1, *h2])?;
            let minutes = parse_digits(&[*m1, *m2])?;
            if hours > 23 || minutes > 59 {
                return None;
            }
            let seconds = i64::from(hours) * HOUR + i64::from(minutes) * MINUTE;
            if *sign == b'-' { -seconds } else { seconds }
        }
        _ => return None,
    };
    Some((format!("{} {}", &local[..10], &local[11..]), seconds_east))
}

/// Formats an instant in UTC as RFC 3339 has it: `2026-11-23T08:00:00Z`.
pub fn format_rfc_3339(instant: Instant) -> String {
    let mut text = Vec::with_capacity(LENGTH + 1);
    append_rfc_3339(instant, &mut text);
    String::from_utf8(text).expect("digits and separators are ASCII")
}

/// Appends an instant in the format of [`format_rfc_3339`].
pub fn append_rfc_3339(instant: Instant, out: &mut Vec<u8>) {
    let mut bytes = DatetimeBytes::new(zone::utc_of(instant)).0;
    bytes[10] = b'T';
    out.extend_from_slice(&bytes);
    out.push(b'Z');
}

/// Parses three numbers with separators: the first of `first` digits, the others of two.
fn parse_triple(bytes: &[u8], separator: u8, first: usize) -> Option<[u32; 3]> {
    if bytes.len() != first + 6 || bytes[first] != separator || bytes[first + 3] != separator {
        return None;
    }
    Some([
        parse_digits(&bytes[..first])?,
        parse_digits(&bytes[first + 1..first + 3])?,
        parse_digits(&bytes[first + 4..])?,
    ])
}

fn parse_digits(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, byte| Some(number * 10 + char::from(*byte).to_digit(10)?))
}

/// Converts a civil time of the zone to its instant.
///
/// # Errors
/// An instant outside the years 1970 to 9999.
pub fn to_instant(zone: Zone, civil: Civil) -> Result<Instant, InvalidValue> {
    check_years(zone.instant_of(civil))
}

/// Converts a civil time in UTC, such as `start_utc`, to its instant.
///
/// # Errors
/// An instant outside the years 1970 to 9999.
pub fn instant_from_utc(civil: Civil) -> Result<Instant, InvalidValue> {
    check_years(zone::instant_of_utc(civil))
}

fn check_years(instant: Instant) -> Result<Instant, InvalidValue> {
    let accepted = INSTANT_MIN <= instant && instant <= INSTANT_MAX;
    if accepted {
        Ok(instant)
    } else {
        Err(InvalidValue("must be in the years 1970 to 9999".into()))
    }
}

/// Converts an instant to the local time of the zone, at most 9999-12-31 23:59:59.
///
/// East of UTC the last hours of 9999 in UTC are already in 10000, which has five digits.
pub fn to_local(zone: Zone, instant: Instant) -> Civil {
    zone.civil_of(instant).clamp(CIVIL_MIN, CIVIL_MAX)
}

/// Formats a civil time. Times outside 1800 to 9999 become the nearest bound.
pub fn format_civil(civil: Civil) -> String {
    let mut text = String::with_capacity(LENGTH);
    append_civil(civil, &mut text);
    text
}

/// Appends a civil time to a text, in the format of [`format_civil`].
pub fn append_civil(civil: Civil, out: &mut String) {
    let bytes = DatetimeBytes::new(civil).0;
    out.push_str(std::str::from_utf8(&bytes).expect("digits and separators are ASCII"));
}

/// Appends a civil time to bytes, in the format of [`format_civil`].
pub fn append_civil_bytes(civil: Civil, out: &mut Vec<u8>) {
    out.extend_from_slice(&DatetimeBytes::new(civil).0);
}

/// Formats an instant as local time of the zone.
pub fn format_local(zone: Zone, instant: Instant) -> String {
    format_civil(to_local(zone, instant))
}

/// Local time of a zone, as JSON shows it.
#[derive(Debug, Serialize)]
pub struct LocalTime(String);

impl LocalTime {
    /// The local time of an instant.
    pub fn new(zone: Zone, instant: Instant) -> Self {
        Self(format_local(zone, instant))
    }
}

/// Formats many instants of one zone.
///
/// It is fastest for ascending instants: within one local day, no instant is converted and only the
/// time of day is formatted again.
///
/// ```
/// use slotbook::domain::time::{Instant, zone::Zone};
/// use slotbook::wire::datetime::LocalTimes;
/// let mut out = Vec::new();
/// LocalTimes::new(Zone::from_iana("Europe/Paris").unwrap()).append_local(Instant(0), &mut out);
/// assert_eq!(out, b"1970-01-01 01:00:00");
/// ```
#[derive(Clone, Debug)]
pub struct LocalTimes {
    zone: Zone,
    /// Instants of one local day that have the same offset from UTC.
    day: Interval,
    /// The instant from which the time of that day counts. It may lie before `day`.
    midnight: Instant,
    /// A local time whose date is that of `day`. Its time is the last one that was appended.
    last: DatetimeBytes,
}

impl LocalTimes {
    /// Creates a formatter for one zone.
    pub fn new(zone: Zone) -> Self {
        let nothing = Interval { start: Instant(0), end: Instant(0) };
        Self { zone, day: nothing, midnight: Instant(0), last: DatetimeBytes::new(Civil(0)) }
    }

    /// Appends the local time of an instant, without quotes.
    #[inline]
    pub fn append_local(&mut self, instant: Instant, out: &mut Vec<u8>) {
        if !self.has_date(instant) {
            self.load_day(instant);
        }
        set_time(instant.seconds_since(self.midnight), &mut self.last.0);
        out.extend_from_slice(&self.last.0);
    }

    /// Returns whether the local time of an instant has the date that was appended last, at the
    /// same offset from UTC.
    #[inline]
    pub fn has_date(&self, instant: Instant) -> bool {
        self.day.start <= instant && instant < self.day.end
    }

    /// Writes the time of day of an instant over that of the local time at the beginning of `text`.
    /// Both must have the date that was appended last.
    #[inline]
    pub fn overwrite_time(&self, instant: Instant, text: &mut [u8]) {
        debug_assert!(self.has_date(instant), "the date is not written");
        set_time(instant.seconds_since(self.midnight), text);
    }

    /// Makes the local day of an instant the one that is reused.
    fn load_day(&mut self, instant: Instant) {
        let civil = self.zone.civil_of(instant);
        let shown = to_local(self.zone, instant);
        self.last = DatetimeBytes::new(shown);
        self.midnight = instant.plus_seconds(-shown.second_of_day());
        let same_offset = self.zone.same_offset_span(instant);
        self.day = Interval {
            start: self.midnight.max(same_offset.start),
            end: self.midnight.plus_seconds(DAY).min(same_offset.end),
        };
        // An instant outside the years of local times is shown as their bound, and only itself.
        if shown != civil {
            self.day = Interval { start: instant, end: instant.plus_seconds(1) };
        }
    }
}

/// Formatted datetime.
#[derive(Clone, Copy, Debug)]
struct DatetimeBytes([u8; LENGTH]);

impl DatetimeBytes {
    fn new(civil: Civil) -> Self {
        let civil = civil.clamp(CIVIL_MIN, CIVIL_MAX);
        let (year, month, day) = civil.day().ymd();
        let mut bytes = *b"0000-00-00 00:00:00";
        let year = u32::try_from(year).expect("a clamped year has four digits");
        put_two_digits(&mut bytes, 0, year / 100);
        put_two_digits(&mut bytes, 2, year % 100);
        put_two_digits(&mut bytes, 5, month);
        put_two_digits(&mut bytes, 8, day);
        set_time(civil.second_of_day(), &mut bytes);
        Self(bytes)
    }
}

/// Writes the time of day into the datetime at the beginning of `text`.
#[inline]
fn set_time(second_of_day: i64, text: &mut [u8]) {
    let second = u32::try_from(second_of_day).expect("a day has 86,400 seconds");
    let minute = second / 60;
    let text = &mut text[..LENGTH];
    put_two_digits(text, 11, minute / 60);
    put_two_digits(text, 14, minute % 60);
    put_two_digits(text, 17, second % 60);
}

#[inline]
fn put_two_digits(text: &mut [u8], at: usize, number: u32) {
    text[at..at + 2].copy_from_slice(&TWO_DIGITS[number as usize]);
}

/// The numbers 0 to 99 as two digits. A look-up is faster than two divisions.
static TWO_DIGITS: [[u8; 2]; 100] = {
    let digits = b"0123456789";
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [digits[number / 10], digits[number % 10]];
        number += 1;
    }
    pairs
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn paris() -> Zone {
        Zone::from_iana("Europe/Paris").expect("a zone")
    }

    #[test]
    fn other_formats_and_dates_that_do_not_exist_are_refused() {
        for form in [
            "",
            "2025",
            "2025-1-1",
            "2025-01-01T00:00:00",
            "2025-01-01 00:00",
            "2025-01-01 0:00:00",
            "é025-01-0",
        ] {
            let rule = parse(form).expect_err(form).0;
            assert!(rule.starts_with("must be written"), "{form}: {rule}");
        }
        for absent in ["2025-02-29", "2025-01-01 24:00:00", "2025-13-01"] {
            assert!(parse(absent).expect_err(absent).0.contains("exist"));
        }
        assert!(parse("1799-12-31").is_err() && parse("1800-01-01").is_ok());
    }

    #[test]
    fn an_instant_is_given_with_z_or_an_offset() {
        let exact = |seconds| Ok(GivenTime::Exact(Instant(seconds)));
        for (text, expected) in [
            ("2025-06-02T07:00:00Z", exact(1_748_847_600)),
            ("2025-06-02t07:00:00.000z", exact(1_748_847_600)),
            ("2025-06-02 09:00:00+02:00", exact(1_748_847_600)),
            ("2025-06-01T23:30:00-07:30", exact(1_748_847_600)),
        ] {
            assert_eq!(GivenTime::parse(text), expected, "{text}");
        }
        for wrong in [
            "2025-06-02T07:00:00",
            "2025-06-02T07:00:00.5Z",
            "2025-06-02T07:00:00.Z",
            "2025-06-02T07:00:00+2:00",
            "2025-06-02T07:00:00+24:00",
            "2025-06-02T07:00:60Z",
            "2025-02-30T07:00:00Z",
            "2025-06-02Z",
            "1969-12-31T23:59:59Z",
            "2025-06-02T07:00:0éZ",
        ] {
            assert!(GivenTime::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(format_rfc_3339(Instant(1_748_847_600)), "2025-06-02T07:00:00Z");
        assert!(parse("2025-06-02T07:00:00Z").is_err(), "a wall-clock time has no offset");
    }

    #[test]
    fn a_time_in_the_spring_gap_is_formatted_an_hour_later() {
        let instant =
            to_instant(paris(), parse("2025-03-30 02:30:00").expect("a time")).expect("in bounds");
        assert_eq!(format_local(paris(), instant), "2025-03-30 03:30:00");
    }

    #[test]
    fn instants_are_in_1970_to_9999() {
        assert!(to_instant(paris(), parse("1970-01-01 01:00:00").expect("a time")).is_ok());
        assert!(to_instant(paris(), parse("1970-01-01 00:59:59").expect("a time")).is_err());
        assert_eq!(format_local(paris(), INSTANT_MAX), "9999-12-31 23:59:59");
    }

    proptest! {
        #[test]
        fn a_formatted_time_is_parsed_to_itself(seconds in CIVIL_MIN.0..=CIVIL_MAX.0) {
            prop_assert_eq!(parse(&format_civil(Civil(seconds))), Ok(Civil(seconds)));
        }

        #[test]
        fn many_times_are_formatted_like_single_ones(
            instants in prop::collection::vec(
                // Days, the clock changes of 2025 and the end of the last year.
                prop_oneof![
                    0..4_000_000_i64,
                    1_743_292_800..1_743_300_000_i64,
                    1_761_436_800..1_761_450_000_i64,
                    INSTANT_MAX.0 - 10_000..=INSTANT_MAX.0,
                ],
                1..50,
            ),
        ) {
            let mut times = LocalTimes::new(paris());
            let mut last: Option<Vec<u8>> = None;
            for instant in instants.into_iter().map(Instant) {
                let expected = format_local(paris(), instant).into_bytes();
                if let Some(mut text) = last
                    && times.has_date(instant)
                {
                    times.overwrite_time(instant, &mut text);
                    prop_assert_eq!(&text, &expected);
                }
                let mut out = Vec::new();
                times.append_local(instant, &mut out);
                prop_assert_eq!(&out, &expected);
                last = Some(out);
            }
        }
    }
}
