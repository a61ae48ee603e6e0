//! Ten times the load that the store can take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use slotbook::domain::ids::VeventId;
use slotbook::domain::time::{Civil, CivilDay};
use tokio::time::Instant;

use super::server::{CALENDARS, Loaded};
use super::{resident_mib, so_many, told};

/// Writes that are let in at once, and so the most that a batch holds: fewer in a short run, whose program is not optimised
/// and would have no time left to refuse.
fn bound() -> usize {
    usize::try_from(so_many(16, 64)).expect("small")
}

/// What one client was told.
#[derive(Default)]
struct Told {
    booked: Vec<VeventId>,
    booked_seconds: Vec<f64>,
    refused_seconds: Vec<f64>,
}

/// A wish that no other meets.
fn wish(number: u64) -> Value {
    let midnight = CivilDay::from_ymd(2028, 1, 1).expect("a day").midnight();
    let at: Civil = midnight.plus_seconds(i64::try_from(number / CALENDARS).expect("small") * 1_800);
    let ((year, month, day), second) = (at.day().ymd(), at.second_of_day());
    json!({"appointment": {
        "date": format!("{year}-{month:02}-{day:02} {:02}:{:02}:00", second / 3_600, second / 60 % 60),
        "calendar_id": number % CALENDARS + 1, "intervention_ids": [1],
        "fiche": {"lastname": "Client", "email": format!("c{number}@example.org")},
    }})
}

/// Books until the time has come, a moment's rest after each refusal: far less than the server asks for.
async fn ask(url: String, next: Arc<AtomicU64>, until: Instant) -> Told {
    let http = reqwest::Client::new();
    let mut chance = StdRng::seed_from_u64(next.fetch_add(1, Ordering::Relaxed));
    let mut told = Told::default();
    while Instant::now() < until {
        let body = wish(next.fetch_add(1, Ordering::Relaxed));
        let began = Instant::now();
        let answer = http.post(&url).json(&body).send().await.expect("an answer, whatever it is");
        let seconds = began.elapsed().as_secs_f64();
        let (status, retry) = (answer.status().as_u16(), answer.headers().contains_key("retry-after"));
        let json: Value = answer.json().await.expect("JSON");
        match status {
            201 => {
                let id = json["records"][0]["id"].as_u64().and_then(VeventId::new);
                told.booked.push(id.expect("an id"));
                told.booked_seconds.push(seconds);
            }
            503 => {
                assert!(retry, "a refusal says when to come again");
                told.refused_seconds.push(seconds);
                tokio::time::sleep(Duration::from_millis(chance.random_range(25..75))).await;
            }
            _ => panic!("{status}: {json}"),
        }
    }
    told
}

/// So many clients at once; what they were told.
async fn load(server: &Loaded, clients: usize, next: &Arc<AtomicU64>, seconds: u64) -> Told {
    let until = Instant::now() + Duration::from_secs(seconds);
    let url = format!("http://{}/api/v1/groups/1/appointments?apikey=test-key", server.address);
    let asking: Vec<_> = (0..clients).map(|_| tokio::spawn(ask(url.clone(), Arc::clone(next), until))).collect();
    let mut all = Told::default();
    for client in asking {
        let told = client.await.expect("no panic");
        all.booked.extend(told.booked);
        all.booked_seconds.extend(told.booked_seconds);
        all.refused_seconds.extend(told.refused_seconds);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_much_is_refused_and_what_was_answered_is_there() {
    let bound = bound();
    let server = Loaded::start(Duration::from_millis(10), bound, 0).await;
    let next = Arc::new(AtomicU64::new(0));
    let seconds = so_many(2, 30);
    let half = load(&server, bound / 2, &next, seconds).await;
    println!("half of what it takes: {}", told(half.booked_seconds));
    assert!(half.refused_seconds.is_empty(), "whoever it can take is taken");
    let before = resident_mib();
    let much = load(&server, 10 * bound, &next, seconds).await;
    let grown = resident_mib().saturating_sub(before);
    println!("ten times what it takes, booked: {}", told(much.booked_seconds));
    println!("ten times what it takes, refused: {}", told(much.refused_seconds.clone()));
    println!("memory grew by {grown} MiB");
    assert!(!much.refused_seconds.is_empty() && !much.booked.is_empty());
    assert!(grown < 256, "{grown} MiB");
    let answered: Vec<_> = half.booked.iter().chain(&much.booked).collect();
    for (place, root) in [("shown", &*server.published()), ("on disk", &server.recovered())] {
        let kept = answered.iter().filter(|id| root.rows.get(**id).is_some_and(|row| row.appointment().is_some()));
        assert_eq!(kept.count(), answered.len(), "all that was answered is {place}");
        let appointments = root.rows.values().filter(|row| row.appointment().is_some()).count();
        assert_eq!(appointments, answered.len(), "and nothing else: a 503 has done nothing, {place}");
    }
}
