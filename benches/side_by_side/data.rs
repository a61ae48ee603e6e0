//! Content of the stores and the places of bookings, the same for every contender.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::SystemTime;

use chrono::{DateTime, Datelike, NaiveDateTime, Timelike};

use crate::parameters::Shape;

/// Key of the public in every store.
pub(crate) const APIKEY: &str = "side-by-side";
/// The password of each administrator.
pub(crate) const PASSWORD: &str = "a-long-secret";
/// Length of the intervention and distance of starts, in minutes.
pub(crate) const STEP: u64 = 15;
/// Starts of a day with 480 open minutes.
pub(crate) const STARTS_A_DAY: u64 = 32;
/// Starts of a day of which appointments take the first ones: a quarter of it.
const STARTS_A_QUARTER: u64 = STARTS_A_DAY / 4;
/// Appointments of a booked day, of three starts in eight.
pub(crate) const APPOINTMENTS_A_DAY: u64 = 12;
/// Appointments of a day that is half full.
pub(crate) const APPOINTMENTS_A_HALF_FULL_DAY: u64 = 16;
/// Clients of each group that has appointments.
const CLIENTS: u64 = 100;
const DAY_MINUTES: u64 = 1_440;

/// One start on one calendar. Ids are unique in the whole store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Booking {
    pub(crate) group: u64,
    pub(crate) calendar: u64,
    /// Minutes since 1970-01-01 00:00 UTC.
    pub(crate) start: u64,
    /// Number of the client, which makes its e-mail address.
    pub(crate) client: u64,
}

/// Returns the first day that is bookable whatever the hour: the day after tomorrow.
pub(crate) fn first_day() -> u64 {
    let now = SystemTime::UNIX_EPOCH.elapsed().expect("the clock is past 1970");
    now.as_secs() / 86_400 + 2
}

impl Shape {
    pub(crate) fn calendars_total(&self) -> u64 {
        self.groups * self.calendars
    }

    /// Appointments of each quarter of a day, which take its first starts.
    fn appointments_a_quarter(&self) -> u64 {
        self.appointments_a_day / 4
    }

    /// Days with appointments, rounded down.
    pub(crate) fn booked_days(&self) -> u64 {
        self.appointments / self.appointments_a_day
    }

    /// Minute of the day at which calendars open.
    pub(crate) fn opens(&self) -> u64 {
        if self.open_minutes == DAY_MINUTES { 0 } else { 540 }
    }

    /// Returns the minute at which a slot of a day starts, since 1970. `day` counts from
    /// `first_day`.
    fn slot_start(&self, day: u64, slot: u64) -> u64 {
        (self.first_day + day) * DAY_MINUTES + self.opens() + slot * STEP
    }

    /// Returns a start that no appointment of the store and no other number takes.
    pub(crate) fn booking(&self, number: u64) -> Booking {
        let calendar = number % self.calendars_total();
        let position = number / self.calendars_total();
        let (day, slot) = if self.appointments == 0 {
            let slots = self.open_minutes / STEP;
            (position / slots, position % slots)
        } else {
            let free = STARTS_A_DAY - self.appointments_a_day;
            let index = position % free;
            let taken = self.appointments_a_quarter();
            let free_of_quarter = STARTS_A_QUARTER - taken;
            let quarter = index / free_of_quarter;
            (position / free, quarter * STARTS_A_QUARTER + taken + index % free_of_quarter)
        };
        self.booking_at(calendar, self.slot_start(day, slot), number)
    }

    /// Returns a start of a calendar-day. Calendar-days count through the calendars, then the days.
    pub(crate) fn booking_on_day(&self, calendar_day: u64, slot: u64, client: u64) -> Booking {
        let calendar = calendar_day % self.calendars_total();
        let start = self.slot_start(calendar_day / self.calendars_total(), slot);
        self.booking_at(calendar, start, client)
    }

    fn booking_at(&self, calendar: u64, start: u64, client: u64) -> Booking {
        Booking { group: calendar / self.calendars + 1, calendar: calendar + 1, start, client }
    }

    /// Number of a calendar's appointment -> its start.
    fn appointment_start(&self, number: u64) -> u64 {
        let day = number / self.appointments_a_day;
        let index = number % self.appointments_a_day;
        let taken = self.appointments_a_quarter();
        self.slot_start(day, index / taken * STARTS_A_QUARTER + index % taken)
    }
}

/// The login of an administrator, by number from 1.
pub(crate) fn administrator_email(number: u64) -> String {
    format!("pro{number}@example.org")
}

fn civil(minute: u64) -> NaiveDateTime {
    let second = i64::try_from(minute * 60).expect("a year below 10000");
    DateTime::from_timestamp(second, 0).expect("a year below 10000").naive_utc()
}

/// Writes `YYYY-MM-DD HH:MM:00`.
pub(crate) fn write_civil(out: &mut impl Write, minute: u64) -> io::Result<()> {
    let civil = civil(minute);
    let (year, month, day) = (civil.year(), civil.month(), civil.day());
    write!(out, "{year:04}-{month:02}-{day:02} {:02}:{:02}:00", civil.hour(), civil.minute())
}

pub(crate) fn civil_text(minute: u64) -> String {
    let mut text = Vec::with_capacity(19);
    write_civil(&mut text, minute).expect("memory can be written");
    String::from_utf8(text).expect("digits are text")
}

/// Returns the minute since 1970 of a text that `write_civil` wrote.
pub(crate) fn parse_civil(text: &str) -> Option<u64> {
    let civil = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").ok()?;
    u64::try_from(civil.and_utc().timestamp()).ok().map(|second| second / 60)
}

/// Writes the import document of slotbook. Its first group has so many administrators.
pub(crate) fn write_document(shape: &Shape, administrators: u64, path: &Path) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    write!(out, r#"{{"apikeys":[{{"key":"{APIKEY}","label":"benchmark"}}],"groups":["#)?;
    for group in 1..=shape.groups {
        if group > 1 {
            write!(out, ",")?;
        }
        write_group(shape, group, if group == 1 { administrators } else { 0 }, &mut out)?;
    }
    write!(out, "]}}")?;
    out.flush()
}

fn write_group(
    shape: &Shape,
    group: u64,
    administrators: u64,
    out: &mut impl Write,
) -> io::Result<()> {
    // No contender sends messages.
    write!(out, r#"{{"id":{group},"name":"Group {group}","timezone":"UTC","open":true,"#)?;
    write!(out, r#""validateEmail":false,"sendmail":false,"check_sms_from_web":false,"#)?;
    write!(
        out,
        r#""interventions":[{{"id":{group},"name":"i","publicname":"i","length":{STEP}}}]"#
    )?;
    write!(out, r#","pros":["#)?;
    for number in 1..=administrators {
        let comma = if number > 1 { "," } else { "" };
        write!(out, r#"{comma}{{"id":{number},"lastname":"Pro","main":true,"#)?;
        write!(out, r#""email":"{}","password":"{PASSWORD}"}}"#, administrator_email(number))?;
    }
    write!(out, r#"],"calendars":["#)?;
    let calendars = (group - 1) * shape.calendars + 1..=group * shape.calendars;
    for calendar in calendars.clone() {
        let comma = if calendar > *calendars.start() { "," } else { "" };
        write!(out, r#"{comma}{{"id":{calendar},"name":"c","publicname":"c","#)?;
        write!(out, r#""generate_interval":{STEP},"maxrdv_period":5256000}}"#)?;
    }
    write!(out, r#"],"fiches":["#)?;
    if shape.appointments > 0 {
        for client in (group - 1) * CLIENTS + 1..=group * CLIENTS {
            let comma = if client > (group - 1) * CLIENTS + 1 { "," } else { "" };
            write!(out, r#"{comma}{{"id":{client},"lastname":"Client","#)?;
            write!(out, r#""email":"known{client}@example.org"}}"#)?;
        }
    }
    write!(out, r#"],"vevents":["#)?;
    let (opens, closes) = availability(shape);
    for calendar in calendars.clone() {
        let comma = if calendar > *calendars.start() { "," } else { "" };
        write!(out, r#"{comma}{{"calendar_id":{calendar},"type":"VfreebusyEvent","#)?;
        write!(out, r#""rrule":"FREQ=DAILY","start":"{opens}","end":"{closes}"}}"#)?;
        for number in 0..shape.appointments {
            let start = shape.appointment_start(number);
            let client = client_of(group, calendar, number);
            write!(out, r#",{{"calendar_id":{calendar},"fiche_id":{client},"#)?;
            write!(out, r#""intervention_id":{group},"start":""#)?;
            write_civil(out, start)?;
            write!(out, r#"","end":""#)?;
            write_civil(out, start + STEP)?;
            write!(out, r#""}}"#)?;
        }
    }
    write!(out, "]}}")
}

/// Start and end of the first occurrence of every availability.
fn availability(shape: &Shape) -> (String, String) {
    let first = parse_civil("2020-01-01 00:00:00").expect("a date") + shape.opens();
    (civil_text(first), civil_text(first + shape.open_minutes))
}

fn client_of(group: u64, calendar: u64, number: u64) -> u64 {
    (group - 1) * CLIENTS + 1 + (calendar + number) % CLIENTS
}

/// Writes the same content as files for COPY, one for each table of `TABLES`.
pub(crate) fn write_copy_files(shape: &Shape, folder: &Path) -> io::Result<()> {
    let create = |table: &str| File::create(folder.join(table)).map(BufWriter::new);
    let mut interventions = create("interventions")?;
    let mut calendars = create("calendars")?;
    let mut availabilities = create("availabilities")?;
    let mut clients = create("clients")?;
    let mut appointments = create("appointments")?;
    for group in 1..=shape.groups {
        writeln!(interventions, "{group}\t{group}\t{STEP}")?;
        if shape.appointments > 0 {
            for client in (group - 1) * CLIENTS + 1..=group * CLIENTS {
                writeln!(clients, "{client}\t{group}\tknown{client}@example.org\tClient")?;
            }
        }
        for calendar in (group - 1) * shape.calendars + 1..=group * shape.calendars {
            writeln!(calendars, "{calendar}\t{group}\t{STEP}")?;
            let (opens, closes) = (shape.opens(), shape.opens() + shape.open_minutes);
            writeln!(availabilities, "{calendar}\t{opens}\t{closes}")?;
            for number in 0..shape.appointments {
                let start = shape.appointment_start(number);
                let client = client_of(group, calendar, number);
                write!(appointments, "{calendar}\t{client}\t{group}\t[\"")?;
                write_civil(&mut appointments, start)?;
                write!(appointments, "\",\"")?;
                write_civil(&mut appointments, start + STEP)?;
                writeln!(appointments, "\")\tsecret")?;
            }
        }
    }
    for mut file in [interventions, calendars, availabilities, clients, appointments] {
        file.flush()?;
    }
    Ok(())
}
