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
/// Number of bytes of its date.
pub(crate) const DATE_LENGTH: usize = 10;

/// Rule of a datetime in another format.
const FORMAT: &str = "must be written YYYY-MM-DD HH:MM:SS or YYYY-MM-DD, or as in RFC 3339 \
    YYYY-MM-DDTHH:MM:SS";

/// A date and a time as they are written, in a zone or at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenTime {
    civil: Civil,
    /// Seconds of the offset east of UTC, if one is written.
    seconds_east: Option<i64>,
}

impl WrittenTime {
    /// Parses `YYYY-MM-DD HH:MM:SS`, or midnight of `YYYY-MM-DD`, or a time of RFC 3339 with an
    /// offset or without, in whole seconds. Years 1800 to 9999.
    ///
    /// # Errors
    /// Another format, a date, time or offset that does not exist, or a year outside 1800 to 9999.
    pub fn parse(text: &str) -> Result<Self, InvalidValue> {
        let (civil, rest) = split_civil(text)?;
        // Programs write whole seconds with a fraction of zeros.
        let (fraction, rest) = split_fraction(rest)?;
        if fraction.bytes().any(|digit| digit != b'0') {
            return Err(InvalidValue("must be in whole seconds".into()));
        }
        Ok(Self { civil, seconds_east: parse_offset(rest)? })
    }

    /// Does the same with a time in a query: fractions of a second are dropped, and the plus sign
    /// of an offset may be a space, which it is if it was not escaped.
    ///
    /// # Errors
    /// As [`WrittenTime::parse`].
    pub fn parse_in_query(text: &str) -> Result<Self, InvalidValue> {
        let (civil, rest) = split_civil(text)?;
        let (_, rest) = split_fraction(rest)?;
        let seconds_east = match rest.strip_prefix(' ') {
            Some(unsigned) => parse_offset(&format!("+{unsigned}"))?,
            None => parse_offset(rest)?,
        };
        Ok(Self { civil, seconds_east })
    }

    /// Returns the time of a field that belongs to no zone.
    ///
    /// # Errors
    /// A time with an offset.
    pub fn without_offset(self) -> Result<Civil, InvalidValue> {
        match self.seconds_east {
            None => Ok(self.civil),
            Some(_) => {
                let rule = "must have no offset, as RFC 3339 allows: it belongs to no time zone";
                Err(InvalidValue(rule.into()))
            }
        }
    }

    /// Returns the time on the clocks of the group, or the instant of a time with an offset.
    ///
    /// # Errors
    /// An instant outside the years 1970 to 9999.
    pub fn to_given_time(self) -> Result<GivenTime, InvalidValue> {
        match self.seconds_east {
            None => Ok(GivenTime::Local(self.civil)),
            Some(east) => Ok(GivenTime::Exact(instant_from_utc(self.civil.plus_seconds(-east))?)),
        }
    }
}

/// Parses a civil time as [`WrittenTime::parse`] does, without an offset.
///
/// ```
/// use slotbook::domain::time::Civil;
/// use slotbook::wire::datetime::parse;
/// assert_eq!(parse("1970-01-02 00:00:01"), Ok(Civil(86_401)));
/// assert_eq!(parse("1970-01-02T00:00:01"), Ok(Civil(86_401)));
/// assert_eq!(parse("1970-01-02"), Ok(Civil(86_400)));
/// assert!(parse("1970-01-02T00:00:01Z").is_err());
/// ```
///
/// # Errors
/// Another format, a date or time that does not exist, a year outside 1800 to 9999, or an offset.
pub fn parse(text: &str) -> Result<Civil, InvalidValue> {
    WrittenTime::parse(text)?.without_offset()
}

/// Splits a text into its date and time, and the rest after the seconds.
fn split_civil(text: &str) -> Result<(Civil, &str), InvalidValue> {
    let malformed = || InvalidValue(FORMAT.into());
    let (written, rest) = match text.split_at_checked(LENGTH) {
        Some(split) => split,
        None if text.len() == DATE_LENGTH => (text, ""),
        None => return Err(malformed()),
    };
    let bytes = written.as_bytes();
    let time = match bytes.get(DATE_LENGTH..) {
        Some([b' ' | b'T' | b't', time @ ..]) => parse_triple(time, b':', 2),
        Some([]) | None => Some([0; 3]),
        Some([_, ..]) => None,
    };
    let (Some([year, month, day]), Some([hour, minute, second])) =
        (parse_triple(&bytes[..DATE_LENGTH], b'-', 4), time)
    else {
        return Err(malformed());
    };
    let year = i32::try_from(year).expect("four digits are below 10000");
    let Some(civil) = Civil::from_ymd_hms(year, month, day, hour, minute, second) else {
        return Err(InvalidValue("must be a date and a time that exist, hours 00 to 23".into()));
    };
    if civil < CIVIL_MIN || CIVIL_MAX < civil {
        return Err(InvalidValue("must be in the years 1800 to 9999".into()));
    }
    Ok((civil, rest))
}

/// Splits the text after the seconds into the digits of their fraction, if any, and the rest.
fn split_fraction(text: &str) -> Result<(&str, &str), InvalidValue> {
    let Some(fraction) = text.strip_prefix('.') else { return Ok(("", text)) };
    let rest = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let digits = &fraction[..fraction.len() - rest.len()];
    if digits.is_empty() { Err(InvalidValue(FORMAT.into())) } else { Ok((digits, rest)) }
}

/// Parses an offset from UTC into seconds east of it; `None` for the empty text.
fn parse_offset(text: &str) -> Result<Option<i64>, InvalidValue> {
    let malformed = || InvalidValue(FORMAT.into());
    match text.as_bytes() {
        b"" => Ok(None),
        b"Z" | b"z" => Ok(Some(0)),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let hours = parse_digits(&[*h1, *h2]).ok_or_else(malformed)?;
            let minutes = parse_digits(&[*m1, *m2]).ok_or_else(malformed)?;
            if hours > 23 || minutes > 59 {
                return Err(malformed());
            }
            let seconds = i64::from(hours) * HOUR + i64::from(minutes) * MINUTE;
            Ok(Some(if *sign == b'-' { -seconds } else { seconds }))
        }
        _ => Err(malformed()),
    }
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
    /// Parses a time as [`WrittenTime::parse`] does: one with an offset is an instant.
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
    /// Those of [`WrittenTime::parse`], and an instant outside the years 1970 to 9999.
    pub fn parse(text: &str) -> Result<Self, InvalidValue> {
        WrittenTime::parse(text)?.to_given_time()
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

/// Writes the time of day of an instant over that of the instant at the beginning of `text`. Both
/// must have the same date in UTC.
pub(crate) fn overwrite_utc_time(instant: Instant, text: &mut [u8]) {
    set_time(instant.0.rem_euclid(DAY), text);
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
            "2025-01-01_00:00:00",
            "2025-01-01T00:00:00.",
            "2025-01-01 00:00",
            "2025-01-01 0:00:00",
            "é025-01-0",
        ] {
            let rule = parse(form).expect_err(form).0;
            assert!(rule.starts_with("must be written"), "{form}: {rule}");
            assert!(rule.contains("RFC 3339") && !rule.contains("  "), "{rule}");
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
        let local = Ok(GivenTime::Local(Civil(1_748_847_600)));
        for text in ["2025-06-02T07:00:00", "2025-06-02t07:00:00.00", "2025-06-02 07:00:00"] {
            assert_eq!(GivenTime::parse(text), local, "{text}");
        }
        for wrong in [
            "2025-06-02T07:00:00.5",
            "2025-06-02T07:00:00 02:00",
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
    fn a_time_in_a_query_drops_fractions_and_may_have_a_space_for_its_plus_sign() {
        for text in [
            "2025-06-02T07:00:00.999999Z",
            "2025-06-02T09:00:00.5+02:00",
            "2025-06-02T09:00:00 02:00",
            "2025-06-02 09:00:00.000 02:00",
        ] {
            let given = WrittenTime::parse_in_query(text).and_then(WrittenTime::to_given_time);
            assert_eq!(given, Ok(GivenTime::Exact(Instant(1_748_847_600))), "{text}");
        }
        let born = WrittenTime::parse_in_query("1950-06-02T07:00:00.5").expect("a time");
        assert_eq!(born.without_offset(), parse("1950-06-02 07:00:00"));
        let exact = WrittenTime::parse_in_query("1950-06-02T07:00:00Z").expect("a time");
        assert!(exact.without_offset().expect_err("an offset").0.contains("RFC 3339"));
        assert!(exact.to_given_time().expect_err("too early").0.contains("1970"));
        for wrong in ["2025-06-02T07:00:00.Z", "2025-06-02T07:00:00  02:00", "2025-06-02T07:00"] {
            assert!(WrittenTime::parse_in_query(wrong).is_err(), "{wrong}");
        }
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
