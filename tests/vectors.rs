//! The test vectors of `data/vectors` (or of the folder `SLOTBOOK_VECTORS_DIR`), each line through the real functions.
//!
//! All lines of a file are run; those that fail are shown, the first ones in full, and counted.

use std::fmt::{Display, Write};
use std::path::PathBuf;

use serde::Deserialize;
use slotbook::domain::availability::bookable::bookable;
use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::availability::slot_request::{
    BookingMode, Chain, ChainSearch, Leg, SlotRequest,
};
use slotbook::domain::availability::slots::free_starts;
use slotbook::domain::messaging::reminder::{mail_time, sms_time};
use slotbook::domain::records::calendar::Calendar;
use slotbook::domain::records::fiche::Fiche;
use slotbook::domain::records::group::Group;
use slotbook::domain::records::ids::{CalendarId, FicheId, GroupId, InterventionId, VeventId};
use slotbook::domain::records::intervention::Intervention;
use slotbook::domain::records::text::{Bounded, Name};
use slotbook::domain::records::vevent::{
    Appointment, AppointmentKey, Availability, Permits, Reminders, State, Vevent, VeventKind,
};
use slotbook::domain::recurrence::Series;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::interval_set::Interval;
use slotbook::domain::time::zone::{self, Zone};
use slotbook::domain::time::zone_names::ZoneName;
use slotbook::domain::time::{Civil, Instant};

/// Failures beyond these are only counted.
const SHOWN_MAX: usize = 20;

/// Runs `check` on every line of a vector file. `check` returns what is different, or an error in the line itself.
fn run_lines<L: for<'l> Deserialize<'l>>(file: &str, check: impl Fn(&L) -> Result<(), String>) {
    let folder = std::env::var_os("SLOTBOOK_VECTORS_DIR").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/vectors"),
        PathBuf::from,
    );
    let path = folder.join(file);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut report = String::new();
    let (mut lines, mut failures) = (0, 0);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        lines += 1;
        let outcome = serde_json::from_str(line)
            .map_err(|error| format!("unreadable: {error}"))
            .and_then(|line| check(&line));
        if let Err(difference) = outcome {
            failures += 1;
            if failures <= SHOWN_MAX {
                writeln!(report, "{file} line {}:\n{difference}", number + 1)
                    .expect("strings take all");
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
    let mut difference = format!(
        "  {what}: {} expected, {} found, the first {same} alike\n",
        expected.len(),
        found.len()
    );
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
    let [year, month, day, hour, minute, second] = numbers.map_err(|_| wrong())?[..] else {
        return Err(wrong());
    };
    let year = i32::try_from(year).map_err(|_| wrong())?;
    Civil::from_ymd_hms(year, month, day, hour, minute, second).ok_or_else(wrong)
}

fn written(civil: Civil) -> String {
    let (year, month, day) = civil.day().ymd();
    let second = civil.second_of_day();
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}",
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
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
        let rule = if event.rrule.is_empty() {
            None
        } else {
            Some(event.rrule.parse().map_err(|e| format!("{e}"))?)
        };
        let exceptions = event.repeat_exceptions.parse().map_err(|e| format!("{e}"))?;
        let series = Series::new(zone, civil(&event.start)?, civil(&event.end)?, rule, exceptions);
        let series = series.map_err(|error| error.to_string())?;
        let found: Vec<_> =
            series.occurrences(zone, civil(&line.from)?, civil(&line.to)?).collect();

        let expected: Vec<_> =
            line.occurrences.iter().map(|(start, end)| format!("{start} to {end}")).collect();
        let shown =
            found.iter().map(|o| format!("{} to {}", written(o.start_civil), written(o.end_civil)));
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
        let shown =
            |due: Option<Instant>| due.map_or("none".to_owned(), |due| written(zone.civil_of(due)));
        let expected = |text: &Option<String>| text.clone().unwrap_or("none".to_owned());
        compare(
            "mailtime",
            &[expected(&line.mailtime)],
            &[shown(mail_time(start, line.mailreminder))],
        )?;
        compare(
            "smstime",
            &[expected(&line.smstime)],
            &[shown(sms_time(zone, start, line.smsreminder))],
        )
    });
}

#[derive(Deserialize)]
struct SlotsLine {
    timezone: String,
    now_utc: String,
    from_utc: String,
    to_utc: String,
    calendar: CalendarLine,
    chain: Vec<ChainLine>,
    slots: Vec<String>,
}

#[derive(Deserialize)]
struct CalendarLine {
    generate_interval: i64,
    mintime_rdv: i64,
    maxrdv_period: i64,
    vevents: Vec<VeventLine>,
}

#[derive(Deserialize)]
struct ChainLine {
    intervention_id: u64,
    length: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VeventLine {
    #[serde(default)]
    r#type: String,
    start: String,
    end: String,
    #[serde(default)]
    rrule: String,
    #[serde(default, rename = "repeat_exceptions")]
    repeat_exceptions: String,
    #[serde(default)]
    available_interventions: Option<String>,
    #[serde(default, rename = "intervention_id")]
    intervention_id: u64,
    #[serde(default, rename = "fiche_id")]
    fiche_id: u64,
    #[serde(default)]
    note: serde_json::Value,
    #[serde(default)]
    deleted: bool,
}

/// `YYYY-MM-DDTHH:MM:SSZ`.
fn instant(text: &str) -> Result<Instant, String> {
    civil(&text.replace('T', " ").replace('Z', "")).map(zone::instant_of_utc)
}

/// The zone name of 2.1.1 that gives an IANA zone.
fn zone_name(iana: &str) -> Result<ZoneName, String> {
    ZoneName::all()
        .find(|name| name.zone().iana_name() == iana)
        .ok_or_else(|| format!("no name for {iana}"))
}

fn kind(line: &VeventLine, zone: Zone) -> Result<VeventKind, String> {
    let (start, end) = (civil(&line.start)?, civil(&line.end)?);
    if line.intervention_id != 0 && line.fiche_id != 0 {
        let first = zone.instant_of(start);
        return Ok(VeventKind::Appointment(Appointment {
            civil_start: start,
            start: first,
            length_seconds: u32::try_from(zone.instant_of(end).seconds_since(first))
                .map_err(|e| e.to_string())?,
            intervention_id: InterventionId::new(line.intervention_id).ok_or("0 is no id")?,
            fiche_id: FicheId::new(line.fiche_id).ok_or("0 is no id")?,
            key: AppointmentKey::new("abcdefghijklmnopqrst").expect("20 letters"),
            state: State::default(),
            smsreminder: false,
            from_web: false,
            reminders: Reminders::since(Instant(0)),
            booking_origin: None,
        }));
    }
    let rule = if line.rrule.is_empty() {
        None
    } else {
        Some(line.rrule.parse().map_err(|e| format!("{e}"))?)
    };
    let exceptions = line.repeat_exceptions.parse().map_err(|e| format!("{e}"))?;
    if line.note == true || line.note == 1 {
        let note =
            Series::new_note(zone, start.day(), rule, exceptions).map_err(|e| e.to_string())?;
        return Ok(VeventKind::Note(Box::new(note)));
    }
    let series = Series::new(zone, start, end, rule, exceptions).map_err(|e| e.to_string())?;
    if line.r#type.is_empty() {
        return Ok(VeventKind::Plage(Box::new(series)));
    }
    let ids = line
        .available_interventions
        .iter()
        .flat_map(|ids| ids.split(','))
        .filter(|id| !id.is_empty());
    let permits =
        Permits::only(ids.filter_map(|id| InterventionId::new(id.parse().ok()?)).collect());
    Ok(VeventKind::Availability(Box::new(Availability { series, permits })))
}

/// One calendar with the line's events, its interventions public.
fn root_of(line: &SlotsLine) -> Result<GroupState, String> {
    let now = instant(&line.now_utc)?;
    let group = Group::new(GroupId::new(1).expect("an id"), zone_name(&line.timezone)?, Instant(0));
    let public = Name::new("public").expect("a name");
    let mut catalogue = Catalogue::new(group);
    let id = CalendarId::new(1).expect("an id");
    let mut calendar = Calendar::new(id, now);
    calendar.publicname = public.clone();
    calendar.generate_interval =
        Bounded::new(line.calendar.generate_interval).map_err(|e| e.to_string())?;
    calendar.mintime_rdv = Bounded::new(line.calendar.mintime_rdv).map_err(|e| e.to_string())?;
    calendar.maxrdv_period =
        Bounded::new(line.calendar.maxrdv_period).map_err(|e| e.to_string())?;
    catalogue.calendars.insert(id, calendar.into());
    for leg in &line.chain {
        let id = InterventionId::new(leg.intervention_id).ok_or("0 is no id")?;
        let mut intervention = Intervention::new(id, now);
        intervention.publicname = public.clone();
        catalogue.interventions.insert(id, intervention.into());
    }
    let zone = catalogue.zone();
    let mut group_state = GroupState::new(catalogue);
    for (number, event) in (1..).zip(&line.calendar.vevents) {
        if let Some(client) = FicheId::new(event.fiche_id) {
            group_state.put_fiche(Fiche::new(client, now).into());
        }
        let row = Vevent {
            id: VeventId::new(number).expect("an id"),
            calendar_id: id,
            kind: kind(event, zone)?,
            deleted: event.deleted,
            created_at: now,
            updated_at: now,
            rare: None,
        };
        group_state.put_vevent(row.into());
    }
    Ok(group_state)
}

#[test]
fn slots_are_as_the_vectors_say() {
    run_lines("slots.jsonl", |line: &SlotsLine| {
        let group_state = root_of(line)?;
        let leg = |leg: &ChainLine| {
            let id = InterventionId::new(leg.intervention_id).ok_or("0 is no id")?;
            Ok(Leg { intervention_id: id, length_seconds: leg.length * 60 })
        };
        let chain = Chain::new(line.chain.iter().map(leg).collect::<Result<_, String>>()?)
            .ok_or("an empty chain")?;
        let window = Interval { start: instant(&line.from_utc)?, end: instant(&line.to_utc)? };
        let now = instant(&line.now_utc)?;
        let view = group_state.calendars.values().next().expect("one calendar");
        let zone = group_state.catalogue.zone();
        let mut starts = Vec::new();
        free_starts(
            &group_state.catalogue,
            view,
            ChainSearch::new(&chain, BookingMode::Module),
            window,
            now,
            &mut starts,
        );
        let shown: Vec<_> = starts.iter().map(|start| written(zone.civil_of(*start))).collect();
        compare("slots", &line.slots, &shown)?;

        // The same by the rule of one point, minute by minute.
        let minutes = (window.start.0.div_euclid(60)..=window.end.0.div_euclid(60))
            .map(|minute| Instant(minute * 60));
        let within = minutes.filter(|start| window.start <= *start && *start < window.end);
        let bookable: Vec<_> = within
            .filter(|start| {
                let mode = BookingMode::Module;
                let request = SlotRequest::new(chain.clone(), *start, mode);
                bookable(&group_state.catalogue, view, &request, now).is_ok()
            })
            .map(|start| written(zone.civil_of(start)))
            .collect();
        compare("bookable starts", &line.slots, &bookable)
    });
}
