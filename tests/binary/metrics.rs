//! The figures for Prometheus, on an address of their own, and the end of a server that connections hold on to.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use slotbook::clock::{Clock as _, SystemClock};
use slotbook::domain::time::zone;
use slotbook::wire::datetime;

use super::server::{Served, booking, half_hour, practice, store_of};

/// A port that nobody uses now.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").to_string()
}

/// The value of one figure.
fn figure(text: &str, name: &str) -> f64 {
    let of = |line: &'_ str| {
        line.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')).map(str::to_owned)
    };
    let line = text.lines().find_map(of).unwrap_or_else(|| panic!("{name} in {text}"));
    line.trim().parse().unwrap_or_else(|_| panic!("{name}: {line}"))
}

#[tokio::test]
async fn figures_tell_what_was_asked_refused_and_written_and_nobody_else_reads_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let address = free_address();
    let served = Served::on(&data, &["--metrics-listen", &address]);
    let http = reqwest::Client::new();
    let book = async |number: u64| {
        let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", served.base);
        let wish = booking(&format!("c{number}"), &half_hour(number.min(2)), 1, &[1]);
        http.post(url).json(&wish).send().await.expect("an answer").status().as_u16()
    };
    for number in 0..5 {
        assert_eq!(book(number).await, if number < 3 { 201 } else { 400 });
    }
    let figures = http.get(format!("http://{address}/metrics")).send().await.expect("an answer");
    assert!(
        figures.headers()["content-type"]
            .to_str()
            .expect("text")
            .starts_with("text/plain; version=0.0.4")
    );
    let mut text = figures.text().await.expect("text");
    // The last answer may be on its way a moment before its write is counted as done.
    for _ in 0..1_000 {
        if figure(&text, "slotbook_writes_under_way") < 0.5 {
            break;
        }
        let figures =
            http.get(format!("http://{address}/metrics")).send().await.expect("an answer");
        text = figures.text().await.expect("text");
    }
    for (name, value) in [
        ("slotbook_requests_total{method=\"POST\",status=\"201\"}", 3.0),
        ("slotbook_requests_total{method=\"POST\",status=\"400\"}", 2.0),
        ("slotbook_refusals_total{code=\"14\"}", 2.0),
        ("slotbook_write_seconds_count{kind=\"booking\"}", 3.0),
        ("slotbook_write_decide_seconds_count{kind=\"booking\"}", 3.0),
        ("slotbook_write_queue_seconds_count{kind=\"booking\"}", 5.0),
        ("slotbook_request_seconds_count", 5.0),
        ("slotbook_accepting", 1.0),
        ("slotbook_groups", 1.0),
        ("slotbook_writes_under_way", 0.0),
        ("slotbook_connections", 1.0),
        ("slotbook_groups_set_aside", 0.0),
        ("slotbook_timers_ended_total", 0.0),
    ] {
        assert!(
            (figure(&text, name) - value).abs() < 0.5,
            "{name} is {} in {text}",
            figure(&text, name)
        );
    }
    for name in [
        "slotbook_fsync_seconds_count",
        "slotbook_batch_entries_count",
        "slotbook_recovery_seconds",
        "slotbook_resident_bytes",
        "slotbook_store_bytes{part=\"snapshots\"}",
        "slotbook_store_bytes{part=\"journals\"}",
    ] {
        assert!(figure(&text, name) > 0.0, "{name} in {text}");
    }
    for (place, path) in [
        (&format!("http://{address}"), "/api/v1/groups?apikey=test-key"),
        (&served.base, "/metrics"),
    ] {
        assert_eq!(
            http.get(format!("{place}{path}")).send().await.expect("an answer").status(),
            404
        );
    }
    assert_eq!(served.terminate(), Some(0));
}

/// The counters, by name and labels.
fn all_counters(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let samples = lines.filter_map(|line| line.rsplit_once(' '));
    let counts = samples.filter(|(name, _)| name.contains("_total") || name.contains("_count"));
    counts.map(|(name, value)| (name.to_owned(), value.parse().expect("a number"))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_counter_falls_while_256_connections_book_or_after_they_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let address = free_address();
    let served = Served::on(&data, &["--log", "warn", "--metrics-listen", &address]);
    let base = served.base.clone();
    let mut load = tokio::spawn(async move {
        let book_four = async |base: String, client: u64| {
            // A client of its own has a connection of its own.
            let http = reqwest::Client::new();
            let url = format!("{base}/api/v1/groups/1/appointments?apikey=test-key");
            for nth in 0..4 {
                let start = half_hour(client * 4 + nth);
                let wish = booking(&format!("c{client}n{nth}"), &start, 1, &[1]);
                let answer = http.post(&url).json(&wish).send().await.expect("an answer");
                assert_eq!(answer.status(), 201, "{start}");
            }
        };
        futures_util::future::join_all((0..256).map(|client| book_four(base.clone(), client)))
            .await;
    });
    let http = reqwest::Client::new();
    let mut before = BTreeMap::new();
    let mut reads_after = 0;
    while reads_after < 3 {
        let answer = http.get(format!("http://{address}/metrics")).send().await.expect("figures");
        assert_eq!(answer.status(), 200);
        let counters = all_counters(&answer.text().await.expect("text"));
        for (name, value) in &before {
            let now = counters.get(name).unwrap_or_else(|| panic!("{name} is gone"));
            assert!(now >= value, "{name} was {value} and is {now}");
        }
        before = counters;
        if load.is_finished() {
            reads_after += 1;
        } else {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    (&mut load).await.expect("each is booked");
    let booked = before["slotbook_requests_total{method=\"POST\",status=\"201\"}"];
    assert!((booked - 1_024.0).abs() < 0.5, "{booked}");
    assert_eq!(served.terminate(), Some(0));
}

#[tokio::test]
async fn held_time_and_refused_holds_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    document["apikeys"][0]["server"] = json!(false);
    let data = store_of(folder.path(), &document);
    let address = free_address();
    let served = Served::on(&data, &["--metrics-listen", &address]);
    let http = reqwest::Client::new();
    let url = format!("{}/api/v1/groups/1/holds?apikey=test-key", served.base);
    // Of different days, so that the share of a day is not the matter.
    for day in 0..4 {
        let date = half_hour(48 * day + 20);
        let hold = json!({"hold": {"date": date, "calendar_id": 1, "intervention_ids": [2]}});
        let status = http.post(&url).json(&hold).send().await.expect("an answer").status();
        assert_eq!(status.as_u16(), if day < 3 { 201 } else { 429 });
    }
    let text = http.get(format!("http://{address}/metrics")).send().await.expect("an answer");
    let text = text.text().await.expect("text");
    for (name, value) in [
        ("slotbook_holds{state=\"chosen\"}", 3.0),
        ("slotbook_held_seconds{state=\"chosen\"}", 10_800.0),
        ("slotbook_holds{state=\"unconfirmed\"}", 0.0),
        ("slotbook_limited_bookings_total{limit=\"holds_source\"}", 1.0),
    ] {
        assert!((figure(&text, name) - value).abs() < 0.5, "{name} in {text}");
    }
    assert_eq!(served.terminate(), Some(0));
}

/// The counters of one name: labels and value.
fn counters<'t>(text: &'t str, name: &str) -> Vec<(&'t str, f64)> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some(rest) = line.strip_prefix(name) else { continue };
        let (labels, value) = rest.rsplit_once(' ').expect("a name and a value");
        found.push((labels, value.parse().expect("a number")));
    }
    found
}

#[tokio::test]
async fn every_answer_is_counted_by_its_status() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    document["groups"][0]["verify_bookings"] = json!("mail");
    document["apikeys"][0]["origins"] = json!(["https://shop.example"]);
    let older = json!({"key": "older", "any_origin": true});
    document["apikeys"].as_array_mut().expect("a list").push(older);
    let data = store_of(folder.path(), &document);
    let address = free_address();
    // Nothing listens there, so that the code of a booking waits.
    let mail = ["--smtp-host", "127.0.0.1", "--smtp-port", "9", "--smtp-tls", "none"];
    let served = Served::on(&data, &[&["--metrics-listen", &address][..], &mail].concat());
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let http = http.build().expect("a client");
    let group = format!("{}/api/v1/groups/1", served.base);
    let list = format!("{group}/calendars?apikey=test-key");
    let tag = http.get(&list).send().await.expect("an answer").headers()["etag"].clone();
    let waiting = booking("newcomer", &half_hour(0), 1, &[1]);
    let requests = [
        (202, http.post(format!("{group}/appointments?apikey=test-key")).json(&waiting)),
        (204, http.request(reqwest::Method::OPTIONS, &list)),
        (303, http.get(&served.base)),
        (304, http.get(&list).header("If-None-Match", tag)),
        (404, http.get(format!("{}/nothing", served.base))),
        (405, http.patch(&list)),
        (406, http.get(format!("{group}/calendars.xml?apikey=test-key"))),
    ];
    let number = requests.len() + 1;
    for (status, request) in requests {
        let request = request.header("Origin", "https://shop.example");
        let request = request.header("Access-Control-Request-Method", "GET");
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), status);
    }
    let text = http.get(format!("http://{address}/metrics")).send().await.expect("an answer");
    let text = text.text().await.expect("text");
    assert_eq!(counters(&text, "slotbook_keys_of_any_origin"), [("", 1.0)]);
    let counted = counters(&text, "slotbook_requests_total");
    let sum: f64 = counted.iter().map(|(_, value)| value).sum();
    assert!((sum - number as f64).abs() < 0.5, "{number} requests, {counted:?}");
    for status in ["200", "202", "204", "303", "304", "404", "405", "406"] {
        let label = format!("status=\"{status}\"");
        assert!(counted.iter().any(|(labels, _)| labels.contains(&label)), "{status}: {counted:?}");
    }
    let refused: f64 = counters(&text, "slotbook_refusals_total").iter().map(|(_, n)| n).sum();
    assert!(refused > 2.5, "the entries of three errors: {text}");
    assert_eq!(served.terminate(), Some(0));
}

/// The practice, whose clients are reminded an hour before: of one appointment in some seconds, of one in two days.
fn reminding(in_seconds: i64) -> serde_json::Value {
    let mut document = practice(1);
    let now = SystemClock.now();
    let group = &mut document["groups"][0];
    group["mailreminder"] = 60.into();
    group["fiches"] = json!([{"id": 1, "lastname": "Client", "email": "client@example.org"}]);
    let rows = group["vevents"].as_array_mut().expect("a list");
    for (id, start) in
        [(11, now.plus_minutes(60).plus_seconds(in_seconds)), (12, now.plus_minutes(2 * 1_440))]
    {
        let [start, end] =
            [start, start.plus_minutes(10)].map(|at| datetime::format_civil(zone::utc_of(at)));
        let row = json!({"id": id, "calendar_id": 1, "fiche_id": 1, "intervention_id": 1, "start_utc": start, "end_utc": end});
        rows.push(row);
    }
    document
}

/// A server of that practice whose first reminder is still ahead; where the machine was too slow for that, another.
fn served_in_time(folder: &Path, options: &[&str]) -> Served {
    for in_seconds in [5, 10, 20, 40, 80] {
        let due = SystemClock.now().plus_seconds(in_seconds);
        let folder = folder.join(in_seconds.to_string());
        std::fs::create_dir_all(&folder).expect("a folder");
        let served = Served::on(&store_of(&folder, &reminding(in_seconds)), options);
        if SystemClock.now() < due {
            return served;
        }
        served.end("KILL");
    }
    panic!("this machine is too slow to fill a store in time");
}

#[tokio::test]
async fn figures_tell_what_is_to_be_sent_and_what_became_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let http = reqwest::Client::new();
    let closed = free_address();
    let port = closed.rsplit(':').next().expect("a port");
    // With nobody to carry mails they are kept; with a server that is away they wait.
    let nobody: &[&str] = &[];
    let away = ["--smtp-host", "127.0.0.1", "--smtp-port", port, "--smtp-tls", "none"];
    let kept = |kind| {
        format!("slotbook_messages_total{{channel=\"mail\",kind=\"{kind}\",state=\"kept\"}}")
    };
    let planned = |kind| format!("slotbook_messages_planned{{channel=\"mail\",kind=\"{kind}\"}}");
    let late = "slotbook_message_lateness_seconds_count{channel=\"mail\"}".to_owned();
    let oldest = "slotbook_message_oldest_seconds{channel=\"mail\"}".to_owned();
    let stories = [
        (
            nobody,
            [
                (kept("confirmation"), 1.0),
                (kept("mail_reminder"), 1.0),
                (planned("mail_reminder"), 1.0),
                (late.clone(), 1.0),
            ],
        ),
        (
            &away,
            [
                (planned("confirmation"), 1.0),
                (planned("mail_reminder"), 2.0),
                (oldest, 1.0),
                (late, 1.0),
            ],
        ),
    ];
    for (number, (options, figures)) in stories.into_iter().enumerate() {
        let address = free_address();
        let options = [options, &["--log", "error", "--metrics-listen", &address]].concat();
        let served = served_in_time(&folder.path().join(number.to_string()), &options);
        let url = format!("{}/api/v1/groups/1/appointments?apikey=test-key", served.base);
        let booked = http
            .post(url)
            .json(&booking("c1", &half_hour(0), 1, &[1]))
            .send()
            .await
            .expect("an answer");
        assert_eq!(booked.status(), 201);
        for (name, value) in figures {
            let mut found = 0.0;
            for _ in 0..6_000 {
                let text =
                    http.get(format!("http://{address}/metrics")).send().await.expect("an answer");
                found = figure(&text.text().await.expect("text"), &name);
                if found >= value {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            // How long something waits grows while we look.
            assert!(
                found >= value && (found <= value || name.contains("_seconds")),
                "{name} is {found}, not {value}"
            );
        }
        let metrics = http.get(format!("http://{address}/metrics")).send().await;
        let text = metrics.expect("an answer").text().await.expect("text");
        assert!(figure(&text, "slotbook_messages_under_way{channel=\"sms\"}").abs() < 0.5);
        assert_eq!(served.terminate(), Some(0));
    }
}

#[test]
fn no_connection_keeps_the_server_from_ending() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(1));
    let served = Served::on(&data, &[]);
    let address = served.base.strip_prefix("http://").expect("a base").to_owned();
    let open = |text: &str| {
        let mut stream = TcpStream::connect(&address).expect("there is a place");
        stream.write_all(text.as_bytes()).expect("it is sent");
        stream
    };
    let mut idle = open("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(idle.read(&mut [0; 1_000]).expect("an answer") > 0);
    let half_a_head = open("GET /healthz HTTP/1.1\r\nHo");
    let half_a_body = open(
        "POST /api/v1/groups/1/appointments?apikey=test-key HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{",
    );
    let began = std::time::Instant::now();
    assert_eq!(served.terminate(), Some(0));
    let seconds = began.elapsed().as_secs_f64();
    println!("ended within {seconds:.1} s of being told, with three connections open");
    assert!(seconds < 10.0, "{seconds}");
    drop((half_a_head, half_a_body));
}
