//! Runs the program on a store of its own.

use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

/// The program: that of this build, or the one that `SLOTBOOK_PROGRAM` names.
pub(crate) fn slotbook() -> Command {
    let named = std::env::var_os("SLOTBOOK_PROGRAM");
    let program = named.unwrap_or_else(|| env!("CARGO_BIN_EXE_slotbook").into());
    let mut command = Command::new(program);
    // Settings of whoever runs the tests are not the tests' own. A planted fault is meant for the program.
    for (name, _) in std::env::vars_os() {
        let is_fault = name == "SLOTBOOK_PLANTED_FAULT";
        if name.to_string_lossy().starts_with("SLOTBOOK_") && !is_fault {
            command.env_remove(name);
        }
    }
    command
}

/// Switches off the limits on bookings: one test books for many clients.
pub(crate) fn unlimited(command: &mut Command) -> &mut Command {
    for limit in ["SOURCE_HOURLY", "SOURCE_DAILY", "CLIENT_HOURLY"] {
        command.env(format!("SLOTBOOK_BOOKINGS_{limit}_MAX"), "0");
    }
    command
}

/// Runs a command on a store to its end.
pub(crate) fn run(arguments: &[&str], data: &Path) -> Output {
    slotbook().args(arguments).env("SLOTBOOK_DATA", data).output().expect("the program runs")
}

/// Runs a command on a store that reads something on stdin.
pub(crate) fn run_with_input(arguments: &[&str], data: &Path, input: &str) -> Output {
    let mut command = slotbook();
    command.args(arguments).env("SLOTBOOK_DATA", data).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // Who refuses before reading may be gone by now.
    drop(child.stdin.take().expect("piped").write_all(input.as_bytes()));
    child.wait_with_output().expect("it ends")
}

/// What a command complained about.
pub(crate) fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A running server. Dropped, it is killed.
pub(crate) struct Served {
    child: Child,
    pub(crate) base: String,
}

impl Served {
    /// Serves the store in `data` on a free port, under load: only what goes wrong is logged.
    pub(crate) fn on(data: &Path, more: &[&str]) -> Self {
        Self::started(
            slotbook()
                .env("SLOTBOOK_LOG", "warn")
                .env("SLOTBOOK_DATA", data)
                .arg("serve")
                .args(more),
        )
    }

    /// The same with more arguments; what it says is kept for [`Served::end`].
    pub(crate) fn heard(data: &Path, more: &[&str]) -> Self {
        Self::started(
            slotbook().env("SLOTBOOK_DATA", data).arg("serve").args(more).stderr(Stdio::piped()),
        )
    }

    /// Starts the command and waits until it can serve.
    fn started(command: &mut Command) -> Self {
        let command = unlimited(command).args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped"))
            .read_line(&mut line)
            .expect("it says a line");
        let base = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("said {line:?}"))
            .to_owned();
        Self { child, base }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// SIGTERM, and its exit code.
    pub(crate) fn terminate(self) -> Option<i32> {
        self.end("TERM").0
    }

    /// Ends it by a signal: its exit code, and what it has said where that was kept.
    pub(crate) fn end(self, name: &str) -> (Option<i32>, String) {
        signal(self.pid(), name);
        self.left()
    }

    /// Waits until it has ended by itself: its exit code, and what it has said where that was kept.
    pub(crate) fn left(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut said).expect("text");
        }
        (self.child.wait().expect("it ends").code(), said)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Sends a signal to a process we started.
pub(crate) fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .status()
        .expect("kill is there");
    assert!(sent.success());
}

/// A practice open day and night, with `calendars` calendars; intervention 1 takes 30 minutes, intervention 2 takes 60.
pub(crate) fn practice(calendars: u64) -> Value {
    let rows = |count: u64, row: &dyn Fn(u64) -> Value| (1..=count).map(row).collect::<Vec<_>>();
    json!({
        "apikeys": [{"key": "test-key", "label": "tests"}],
        "groups": [{
            "id": 1, "name": "Practice", "timezone": "UTC", "validateEmail": false, "max_multirdvs": 2,
            "pros": [{"id": 1, "email": "pro@example.org", "password": "secret", "lastname": "Pro", "main": true}],
            "calendars": rows(calendars, &|id| json!({
                "id": id, "name": format!("Calendar {id}"), "publicname": format!("Calendar {id}"),
                "generate_interval": 30, "maxrdv_period": 5_000_000, "mintime_annulation": 0,
            })),
            "interventions": rows(2, &|id| json!({
                "id": id, "name": format!("{id}"), "publicname": format!("{id}"), "length": id * 30,
            })),
            "vevents": rows(calendars, &|id| json!({
                "calendar_id": id, "type": "VfreebusyEvent", "rrule": "FREQ=DAILY",
                "start": "2020-01-01 00:00:00", "end": "2020-01-02 00:00:00",
            })),
        }]
    })
}

/// A new store in `folder`, filled with a document.
pub(crate) fn store_of(folder: &Path, document: &Value) -> PathBuf {
    let file = folder.join("document.json");
    let data = folder.join("data");
    std::fs::write(&file, document.to_string()).expect("it is written");
    let done = run(&["import", file.to_str().expect("a plain path")], &data);
    assert!(done.status.success(), "{}", complaint(&done));
    data
}

/// The whole content of a store that nobody serves.
pub(crate) fn exported(data: &Path) -> Value {
    let file = data.with_extension("export.json");
    let done = run(&["export", file.to_str().expect("a plain path")], data);
    assert!(done.status.success(), "{}", complaint(&done));
    serde_json::from_slice(&std::fs::read(&file).expect("it was written")).expect("JSON")
}

/// A document without its rows of access: an import reads none, and each export adds one.
pub(crate) fn without_access(mut document: Value) -> Value {
    for group in document["groups"].as_array_mut().expect("a list") {
        let rows = group.as_object_mut().expect("an object").shift_remove("access_history");
        let rows = rows.unwrap_or_default();
        let rows = rows.as_array().expect("a list");
        assert!(rows.iter().any(|row| row["verb"] == "exported"), "the export itself");
    }
    document
}

/// A booking as clients send it.
pub(crate) fn booking(client: &str, date: &str, calendar: u64, interventions: &[u64]) -> Value {
    json!({"appointment": {
        "date": date, "calendar_id": calendar, "intervention_ids": interventions,
        "fiche": {"lastname": client, "email": format!("{client}@example.org")},
    }})
}

/// `YYYY-MM-DD HH:MM:SS`, some half hours after midnight at the beginning of 2030.
pub(crate) fn half_hour(number: u64) -> String {
    use slotbook::domain::time::{Civil, CivilDay, DAY};
    let midnight = CivilDay::from_ymd(2030, 1, 1).expect("a day").midnight();
    let at: Civil = midnight.plus_seconds(i64::try_from(number).expect("small") * 1_800);
    let (year, month, day) = at.day().ymd();
    let second = at.second_of_day() % DAY;
    format!("{year}-{month:02}-{day:02} {:02}:{:02}:00", second / 3_600, second / 60 % 60)
}

/// Rows of the document that are appointments.
pub(crate) fn appointments(document: &Value) -> impl Iterator<Item = &Value> {
    let rows = document["groups"][0]["vevents"].as_array().expect("a list").iter();
    rows.filter(|row| row["fiche_id"].as_u64().is_some_and(|id| id > 0))
}

pub(crate) fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_else(|| panic!("{field} of {row}"))
}
