//! The ranges of time of a day in a form: several pairs of a start and an end.

use crate::domain::availability::weekly_hours::DayTimes;
use crate::web::practice::hours::words::{minute_in_words, times_in_words};
use crate::web::practice::texts::hours::HoursTexts;
use crate::web::text::fill;
use crate::wire::hours::RANGES_MAX;
use crate::wire::params::Params;

/// Pairs of inputs that a day has at least.
const PAIRS_MIN: usize = 3;
/// Minutes of an hour.
const HOUR_MINUTES: u16 = 60;

/// The ranges of a day in a form.
pub(crate) struct DayRanges {
    /// The beginning of the names of its inputs.
    pub(crate) prefix: String,
    /// The name of the day.
    pub(crate) label: String,
    pub(crate) pairs: Vec<RangePair>,
    pub(crate) faults: Vec<String>,
}

/// A range in a form.
#[derive(Default)]
pub(crate) struct RangePair {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) is_wrong: bool,
}

impl DayRanges {
    /// A day with its ranges.
    pub(crate) fn filled_in(prefix: String, label: String, times: &[DayTimes]) -> Self {
        let pair = |times: &DayTimes| RangePair {
            from: minute_in_words(times.start_minute()),
            to: minute_in_words(times.end_minute()),
            is_wrong: false,
        };
        Self { prefix, label, pairs: times.iter().map(pair).collect(), faults: Vec::new() }.padded()
    }

    /// A day as a form gives it.
    pub(crate) fn given(prefix: String, label: String, given: &Params) -> Self {
        let mut pairs: Vec<RangePair> = Vec::new();
        for (name, value) in given.iter() {
            let place = name.strip_prefix(prefix.as_str()).and_then(|rest| rest.strip_prefix('.'));
            let Some((index, end)) = place.and_then(|place| place.split_once('.')) else {
                continue;
            };
            let index: Option<usize> = index.parse().ok();
            let Some(index) = index.filter(|index| *index < RANGES_MAX) else { continue };
            while pairs.len() <= index {
                pairs.push(RangePair::default());
            }
            match end {
                "from" => value.trim().clone_into(&mut pairs[index].from),
                "to" => value.trim().clone_into(&mut pairs[index].to),
                _ => {}
            }
        }
        Self { prefix, label, pairs, faults: Vec::new() }.padded()
    }

    fn padded(mut self) -> Self {
        while self.pairs.len() < PAIRS_MIN {
            self.pairs.push(RangePair::default());
        }
        self
    }

    /// Adds a pair of inputs.
    pub(crate) fn add_pair(&mut self) {
        self.pairs.push(RangePair::default());
    }

    /// Reads the ranges. Each wrong one gets a fault.
    pub(crate) fn read(&mut self, text: &HoursTexts) -> Vec<DayTimes> {
        let mut read: Vec<DayTimes> = Vec::new();
        for pair in &mut self.pairs {
            if pair.from.is_empty() && pair.to.is_empty() {
                continue;
            }
            let fault = match read_pair(pair, text) {
                Ok(times) => match read.iter().find(|other| overlap(**other, times)) {
                    None => {
                        read.push(times);
                        continue;
                    }
                    Some(other) => fill(text.overlaps, "times", &times_in_words(&[*other])),
                },
                Err(fault) => fault.to_owned(),
            };
            pair.is_wrong = true;
            self.faults.push(format!("{} – {} : {fault}", pair.from, pair.to));
        }
        read.sort_unstable();
        read
    }

    /// Adds a fault to the range of these times.
    pub(crate) fn add_fault(&mut self, times: DayTimes, fault: String) {
        for pair in &mut self.pairs {
            let given = parse_minute(&pair.from).zip(parse_minute(&pair.to));
            if given == Some((times.start_minute(), times.end_minute())) {
                pair.is_wrong = true;
            }
        }
        self.faults.push(fault);
    }

    /// Returns the name of an input, made of a text for the range of a number from 1 on.
    pub(crate) fn label_of(&self, text: &str, number: impl std::fmt::Display) -> String {
        fill(&fill(text, "number", &number.to_string()), "day", &self.label)
    }

    /// The ranges as they were typed, in a row.
    pub(crate) fn as_typed(&self) -> String {
        let filled = self.pairs.iter().filter(|pair| !pair.from.is_empty() || !pair.to.is_empty());
        let pairs: Vec<String> = filled.map(|pair| format!("{}–{}", pair.from, pair.to)).collect();
        pairs.join(", ")
    }
}

const fn overlap(one: DayTimes, other: DayTimes) -> bool {
    one.start_minute() < other.end_minute() && other.start_minute() < one.end_minute()
}

fn read_pair(pair: &RangePair, text: &HoursTexts) -> Result<DayTimes, &'static str> {
    if pair.from.is_empty() || pair.to.is_empty() {
        return Err(text.half_range);
    }
    let from = parse_minute(&pair.from).ok_or(text.no_time)?;
    let to = parse_minute(&pair.to).ok_or(text.no_time)?;
    DayTimes::new(from, to).ok_or(text.ends_too_early)
}

/// Parses a time of the day as people type it: `9`, `9:30`, `9h30`, `0930`, `24:00`. Returns the
/// minutes from midnight.
fn parse_minute(text: &str) -> Option<u16> {
    let is_number = |text: &str| text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let (hours, minutes) = match text.split_once([':', 'h', 'H', '.']) {
        Some((hours, "")) => (hours, "00"),
        Some((hours, minutes)) => (hours, minutes),
        None if text.is_ascii() && text.len() > 2 => text.split_at(text.len() - 2),
        None => (text, "00"),
    };
    if !is_number(hours) || !is_number(minutes) || hours.is_empty() || minutes.len() != 2 {
        return None;
    }
    let hours: u16 = hours.parse().ok()?;
    let minutes: u16 = minutes.parse().ok()?;
    let is_in_day = hours < 24 || (hours == 24 && minutes == 0);
    if minutes < HOUR_MINUTES && is_in_day { Some(hours * HOUR_MINUTES + minutes) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_type_them() {
        for (text, minute) in [
            ("9", 540),
            ("09", 540),
            ("9:30", 570),
            ("9h", 540),
            ("9H05", 545),
            ("930", 570),
            ("0930", 570),
            ("9.15", 555),
            ("0", 0),
            ("24:00", 1_440),
            ("24", 1_440),
        ] {
            assert_eq!(parse_minute(text), Some(minute), "{text}");
        }
        for wrong in [
            "", "x", "25", "24:01", "9:60", "9:5", "-9", "+9", "9:+5", "09300", "9::30", "é30",
            "9:30:00", ":30", "９", "1e3",
        ] {
            assert_eq!(parse_minute(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn inputs_with_an_index_beyond_all_ranges_take_no_memory() {
        let mut given = Params::default();
        for (name, value) in [("d0.99999999999.from", "9"), ("d0.x.from", "9"), ("d0.3.to", "10")] {
            given.push(name, value);
        }
        let day = DayRanges::given("d0".to_owned(), String::new(), &given);
        assert_eq!(day.pairs.len(), 4);
        assert_eq!(day.as_typed(), "–10");
    }
}
