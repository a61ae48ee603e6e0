//! Dates and times as text: `YYYY-MM-DD HH:MM:SS`, on the clocks of the group. Reference 1.

use crate::domain::records::text::InvalidValue;
use crate::domain::time::zone::{self, Zone};
use crate::domain::time::{
    CIVIL_MAX, CIVIL_MIN, Civil, CivilDay, INSTANT_MAX, INSTANT_MIN, Instant,
};

/// Bytes of a datetime.
pub const LENGTH: usize = 19;

/// The civil time of `YYYY-MM-DD HH:MM:SS`, or midnight of `YYYY-MM-DD`. Years 1800 to 9999.
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
/// Another form, a date or time that does not exist, a year out of bounds.
pub fn parse(text: &str) -> Result<Civil, InvalidValue> {
    let form = || InvalidValue("must be written YYYY-MM-DD HH:MM:SS or YYYY-MM-DD".into());
    let bytes = text.as_bytes();
    let (date, time) = match bytes.len() {
        10 => (bytes, None),
        LENGTH if bytes[10] == b' ' => (&bytes[..10], Some(&bytes[11..])),
        _ => return Err(form()),
    };
    let [year, month, day] = three(date, b'-', 4).ok_or_else(form)?;
    let [hour, minute, second] =
        time.map_or(Some([0; 3]), |time| three(time, b':', 2)).ok_or_else(form)?;
    let year = i32::try_from(year).map_err(|_| form())?;
    let civil = Civil::from_ymd_hms(year, month, day, hour, minute, second).ok_or_else(|| {
        InvalidValue("must be a date and a time that exist, hours 00 to 23".into())
    })?;
    if CIVIL_MIN <= civil && civil <= CIVIL_MAX {
        Ok(civil)
    } else {
        Err(InvalidValue("must lie in 1800 to 9999".into()))
    }
}

/// Three numbers with separators between: the first of `first` digits, the others of two.
fn three(bytes: &[u8], separator: u8, first: usize) -> Option<[u32; 3]> {
    if bytes.len() != first + 6 || bytes[first] != separator || bytes[first + 3] != separator {
        return None;
    }
    let number = |digits: &[u8]| {
        digits
            .iter()
            .try_fold(0, |n, byte| byte.is_ascii_digit().then(|| n * 10 + u32::from(byte - b'0')))
    };
    Some([
        number(&bytes[..first])?,
        number(&bytes[first + 1..first + 3])?,
        number(&bytes[first + 4..])?,
    ])
}

/// The instant that a civil time names on the zone's clocks.
///
/// # Errors
/// An instant outside 1970 to 9999.
pub fn instant(zone: Zone, civil: Civil) -> Result<Instant, InvalidValue> {
    within_years(zone.instant_of(civil))
}

/// The instant of a civil time in UTC, as `start_utc` and its like carry it.
///
/// # Errors
/// An instant outside 1970 to 9999.
pub fn instant_of_utc(civil: Civil) -> Result<Instant, InvalidValue> {
    within_years(zone::instant_of_utc(civil))
}

fn within_years(instant: Instant) -> Result<Instant, InvalidValue> {
    let accepted = INSTANT_MIN <= instant && instant <= INSTANT_MAX;
    if accepted { Ok(instant) } else { Err(InvalidValue("must lie in 1970 to 9999".into())) }
}

/// What the zone's clocks show at an instant. The last hours of 9999 in UTC, already 10000 in the east, are shown as the
/// last second of 9999.
#[must_use]
pub fn local(zone: Zone, instant: Instant) -> Civil {
    zone.civil_of(instant).clamp(CIVIL_MIN, CIVIL_MAX)
}

/// A civil time as text. Times outside 1800 to 9999 are shown as the nearest bound.
#[must_use]
pub fn text(civil: Civil) -> String {
    let mut text = String::with_capacity(LENGTH);
    push(civil, &mut text);
    text
}

/// Appends a civil time to a text; see [`text`].
pub fn push(civil: Civil, out: &mut String) {
    let bytes = Shown::new(civil).0;
    out.push_str(std::str::from_utf8(&bytes).expect("digits and separators are ASCII"));
}

/// An instant shown on the zone's clocks, as text.
#[must_use]
pub fn local_text(zone: Zone, instant: Instant) -> String {
    text(local(zone, instant))
}

/// Appends many instants of one zone, fastest when they ascend: while they stay within a day, only the time of day is
/// written anew.
///
/// ```
/// use slotbook::{domain::{time::Instant, zone::Zone}, wire::datetime::LocalTimes};
/// let mut out = Vec::new();
/// LocalTimes::new(Zone::from_iana("Europe/Paris").unwrap()).write(Instant(0), &mut out);
/// assert_eq!(out, b"1970-01-01 01:00:00");
/// ```
#[derive(Clone, Debug)]
pub struct LocalTimes {
    zone: Zone,
    /// The day that `shown` shows.
    day: CivilDay,
    shown: Shown,
}

impl LocalTimes {
    /// Nothing written yet.
    #[must_use]
    pub fn new(zone: Zone) -> Self {
        Self { zone, day: Civil(0).day(), shown: Shown::new(Civil(0)) }
    }

    /// Appends what the zone's clocks show at an instant.
    #[inline]
    pub fn write(&mut self, instant: Instant, out: &mut Vec<u8>) {
        let civil = local(self.zone, instant);
        if civil.day() == self.day {
            self.shown.set_time(civil.second_of_day());
        } else {
            self.day = civil.day();
            self.shown = Shown::new(civil);
        }
        out.extend_from_slice(&self.shown.0);
    }
}

/// The bytes of a datetime.
#[derive(Clone, Copy, Debug)]
struct Shown([u8; LENGTH]);

impl Shown {
    fn new(civil: Civil) -> Self {
        let civil = civil.clamp(CIVIL_MIN, CIVIL_MAX);
        let (year, month, day) = civil.day().ymd();
        let mut shown = Self(*b"0000-00-00 00:00:00");
        shown.put(0, i64::from(year) / 100);
        shown.put(2, i64::from(year) % 100);
        shown.put(5, i64::from(month));
        shown.put(8, i64::from(day));
        shown.set_time(civil.second_of_day());
        shown
    }

    #[inline]
    fn set_time(&mut self, second_of_day: i64) {
        self.put(11, second_of_day / 3_600);
        self.put(14, second_of_day / 60 % 60);
        self.put(17, second_of_day % 60);
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "two decimal digits"
    )]
    fn put(&mut self, at: usize, number: i64) {
        debug_assert!((0..100).contains(&number), "two digits hold 0 to 99");
        self.0[at] = b'0' + (number / 10) as u8;
        self.0[at + 1] = b'0' + (number % 10) as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn paris() -> Zone {
        Zone::from_iana("Europe/Paris").expect("a zone")
    }

    #[test]
    fn other_forms_and_dates_that_do_not_exist_are_refused() {
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
    fn a_time_in_the_spring_gap_is_shown_an_hour_later() {
        let instant =
            instant(paris(), parse("2025-03-30 02:30:00").expect("a time")).expect("in bounds");
        assert_eq!(local_text(paris(), instant), "2025-03-30 03:30:00");
    }

    #[test]
    fn instants_lie_in_1970_to_9999() {
        assert!(instant(paris(), parse("1970-01-01 01:00:00").expect("a time")).is_ok());
        assert!(instant(paris(), parse("1970-01-01 00:59:59").expect("a time")).is_err());
        assert_eq!(local_text(paris(), INSTANT_MAX), "9999-12-31 23:59:59");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(seconds in CIVIL_MIN.0..=CIVIL_MAX.0) {
            prop_assert_eq!(parse(&text(Civil(seconds))), Ok(Civil(seconds)));
        }

        #[test]
        fn many_times_are_written_as_one_by_one(instants in prop::collection::vec(0..4_000_000_i64, 1..50)) {
            let mut times = LocalTimes::new(paris());
            for instant in instants {
                let mut out = Vec::new();
                times.write(Instant(instant), &mut out);
                prop_assert_eq!(out, local_text(paris(), Instant(instant)).into_bytes());
            }
        }
    }
}
