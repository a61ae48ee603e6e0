//! The test vectors of `data/vectors` (or of the folder `SLOTBOOK_VECTORS_DIR`), each line through the real functions.
//!
//! All lines of a file are run; those that fail are shown, the first ones in full, and counted.

use std::fmt::{Display, Write};
use std::path::PathBuf;

use serde::Deserialize;
use slotbook::domain::recurrence::Series;
use slotbook::domain::reminder::{mail_time, sms_time};
use slotbook::domain::time::{Civil, Instant};
use slotbook::domain::zone::{self, Zone};

/// Failures beyond these are only counted.
const SHOWN_MAX: usize = 20;

/// Runs `check` on every line of a vector file. `check` returns what is different, or an error in the line itself.
fn run_lines<L: for<'l> Deserialize<'l>>(file: &str, check: impl Fn(&L) -> Result<(), String>) {
    let folder = std::env::var_os("SLOTBOOK_VECTORS_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/vectors"), PathBuf::from);
    let path = folder.join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut report = String::new();
    let (mut lines, mut failures) = (0, 0);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        lines += 1;
        let outcome =
            serde_json::from_str(line).map_err(|error| format!("unreadable: {error}")).and_then(|line| check(&line));
        if let Err(difference) = outcome {
            failures += 1;
            if failures <= SHOWN_MAX {
                writeln!(report, "{file} line {}:\n{difference}", number + 1).expect("strings take all");
            }
        }
    }
    assert!(lines > 0, "{} holds no lines", path.display());
    assert_eq!(failures, 0, "{failures} of {lines} lines of {} failed\n{report}", path.display());
}

/// `Ok` when both lists are the same, else the places where they differ: `-` what the vector says, `+` what came out.
fn compare<T: PartialEq + Display>(what: &str, expected: &[T], found: &[T]) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let same = expected.iter().zip(found).take_while(|(left, right)| left == right).count();
    let mut difference =
        format!("  {what}: {} expected, {} found, the first {same} alike\n", expected.len(), found.len());
    for (sign, list) in [('-', expected), ('+', found)] {
        for item in list.iter().skip(same).take(3) {
            writeln!(difference, "  {sign} {item}").expect("strings take all");
        }
    }
    Err(difference)
}

fn zone(name: &str) -> Result<Zone, String> {
    Zone::from_iana(name).ok_or_else(|| format!("unknown zone {name}"))
}

/// `YYYY-MM-DD HH:MM:SS`.
fn civil(text: &str) -> Result<Civil, String> {
    let wrong = || format!("not a datetime: {text}");
    let numbers: Result<Vec<u32>, _> = text.split(['-', ' ', ':']).map(str::parse).collect();
    let [year, month, day, hour, minute, second] = numbers.map_err(|_| wrong())?[..] else { return Err(wrong()) };
    let year = i32::try_from(year).map_err(|_| wrong())?;
    Civil::from_ymd_hms(year, month, day, hour, minute, second).ok_or_else(wrong)
}

fn written(civil: Civil) -> String {
    let (year, month, day) = civil.day().ymd();
    let second = civil.second_of_day();
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

/// `YYYY-MM-DDTHH:MM:SSZ`.
fn written_utc(instant: Instant) -> String {
    written(zone::utc_of(instant)).replace(' ', "T") + "Z"
}

#[derive(Deserialize)]
struct RecurrenceLine {
    timezone: String,
    event: Event,
    from: String,
    to: String,
    occurrences: Vec<(String, String)>,
    starts_utc: Vec<String>,
}

#[derive(Deserialize)]
struct Event {
    start: String,
    end: String,
    rrule: String,
    repeat_exceptions: String,
}

#[test]
fn recurrence_is_as_the_vectors_say() {
    run_lines("recurrence.jsonl", |line: &RecurrenceLine| {
        let zone = zone(&line.timezone)?;
        let event = &line.event;
        let rule = if event.rrule.is_empty() { None } else { Some(event.rrule.parse().map_err(|e| format!("{e}"))?) };
        let exceptions = event.repeat_exceptions.parse().map_err(|e| format!("{e}"))?;
        let series = Series::new(zone, civil(&event.start)?, civil(&event.end)?, rule, exceptions);
        let series = series.map_err(|error| error.to_string())?;
        let found: Vec<_> = series.occurrences(zone, civil(&line.from)?, civil(&line.to)?).collect();

        let expected: Vec<_> = line.occurrences.iter().map(|(start, end)| format!("{start} to {end}")).collect();
        let shown = found.iter().map(|o| format!("{} to {}", written(o.start_civil), written(o.end_civil)));
        compare("occurrences", &expected, &shown.collect::<Vec<_>>())?;
        let starts: Vec<_> = found.iter().map(|occurrence| written_utc(occurrence.start)).collect();
        compare("starts_utc", &line.starts_utc, &starts)
    });
}

#[derive(Deserialize)]
struct ReminderLine {
    timezone: String,
    start: String,
    mailreminder: u32,
    smsreminder: u32,
    mailtime: Option<String>,
    smstime: Option<String>,
}

#[test]
fn reminders_are_as_the_vectors_say() {
    run_lines("reminders.jsonl", |line: &ReminderLine| {
        let zone = zone(&line.timezone)?;
        let start = zone.instant_of(civil(&line.start)?);
        let shown = |due: Option<Instant>| due.map_or("none".to_owned(), |due| written(zone.civil_of(due)));
        let expected = |text: &Option<String>| text.clone().unwrap_or("none".to_owned());
        compare("mailtime", &[expected(&line.mailtime)], &[shown(mail_time(start, line.mailreminder))])?;
        compare("smstime", &[expected(&line.smstime)], &[shown(sms_time(zone, start, line.smsreminder))])
    });
}
