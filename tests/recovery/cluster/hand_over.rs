//! Hand-overs under load: each request is answered, wherever it arrives, and nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::postgres::{Pair, database_url};
use super::servers::Servers;
use crate::rounds;
use crate::server::{appointments, booking, complaint, half_hour, practice, run};

/// Time for which the load goes on after a hand-over.
const AFTERWARDS: Duration = Duration::from_secs(2);

/// The answers that the clients of all servers have seen.
#[derive(Default)]
struct Seen {
    /// Number of the next booking.
    next: AtomicU64,
    is_over: AtomicBool,
    /// Microseconds of the slowest answer.
    slowest: AtomicU64,
    answers: AtomicU64,
}

impl Seen {
    /// Books and searches at a server, one after the other, until it is over.
    async fn load(self: Arc<Self>, base: String) {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(20)).build();
        let http = http.expect("a client");
        let url = format!("{base}/api/v1/groups/1");
        let search = format!(
            "{url}/availabletimeslots?apikey=test-key&intervention_ids[]=1\
             &start=2035-01-01%2000:00:00&nDays=1&from_web=1"
        );
        while !self.is_over.load(Ordering::SeqCst) {
            let nth = self.next.fetch_add(1, Ordering::SeqCst);
            let wish = booking(&format!("h{nth}"), &half_hour(2 * nth), 1, &[2]);
            let booked = http.post(format!("{url}/appointments")).query(&[("apikey", "test-key")]);
            self.answered(201, booked.json(&wish)).await;
            self.answered(200, http.get(&search)).await;
        }
    }

    async fn answered(&self, status: u16, request: reqwest::RequestBuilder) {
        let began = Instant::now();
        let answer = request.send().await.unwrap_or_else(|error| panic!("no answer: {error:?}"));
        let found = answer.status();
        let text = answer.text().await.expect("a whole answer");
        assert_eq!(found, status, "after {:?}: {text}", began.elapsed());
        let micros = u64::try_from(began.elapsed().as_micros()).expect("short");
        self.slowest.fetch_max(micros, Ordering::SeqCst);
        self.answers.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_over_is_noticed_by_no_client() {
    match hand_over_under_load(&practice(1), rounds(3, 100)).await {
        Ok(figures) => println!("{figures}"),
        Err(reason) => println!("skipped: {reason}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_over_of_many_groups_is_noticed_by_no_client() {
    let document = many_groups(rounds(100, 100_000));
    match hand_over_under_load(&document, rounds(2, 10)).await {
        Ok(figures) => println!("{figures}"),
        Err(reason) => println!("skipped: {reason}"),
    }
}

/// A practice beside so many groups of five calendars.
pub(super) fn many_groups(count: u64) -> Value {
    let mut document = practice(1);
    let groups = document["groups"].as_array_mut().expect("a list");
    for id in 2..2 + count {
        let calendar = |nth| json!({"id": 5 * id + nth, "name": "c", "publicname": "c"});
        let calendars: Vec<_> = (0..5).map(calendar).collect();
        let name = format!("Group {id}");
        groups.push(json!({"id": id, "name": name, "timezone": "UTC", "calendars": calendars}));
    }
    document
}

/// Hands a cluster with this content over under load, again and again; returns the figures of each.
async fn hand_over_under_load(document: &Value, count: u64) -> Result<String, &'static str> {
    let pair = Pair::start()?;
    let mut figures = Vec::new();
    let url = database_url("slotbook_server", &pair.ports);
    let mut servers = Servers::start(&pair, document, 3).await;
    let mut booked = 0;
    for round in 0..count {
        let first = servers.deciding().await;
        // As in a rolling restart: the servers that follow have read all before one hands over.
        servers.expect_followed().await;
        let nowhere = servers.store();
        let to = servers.members[(first + 1) % 3].base();
        let seen = Arc::new(Seen { next: AtomicU64::new(booked), ..Seen::default() });
        let mut loads = JoinSet::new();
        for member in &servers.members {
            loads.spawn(Arc::clone(&seen).load(member.base()));
        }
        let shared = url.clone();
        // The first time, the cluster chooses.
        let named = if round == 0 { String::new() } else { to.clone() };
        let handing = tokio::task::spawn_blocking(move || {
            run(&["cluster", "hand-over", "--shared", &shared, "--to", &named], &nowhere)
        });
        let handed = handing.await.expect("no panic");
        assert!(handed.status.success(), "{}", complaint(&handed));
        tokio::time::sleep(AFTERWARDS).await;
        seen.is_over.store(true, Ordering::SeqCst);
        while let Some(ended) = loads.join_next().await {
            ended.unwrap_or_else(|error| panic!("{error}\n{}", said(&servers)));
        }
        booked = seen.next.load(Ordering::SeqCst);
        let second = servers.deciding().await;
        assert_ne!(second, first);
        assert!(round == 0 || servers.members[second].base() == to, "it was named");
        servers.expect_fenced(first).await;
        servers.expect_answering(first).await;
        let slowest = Duration::from_micros(seen.slowest.load(Ordering::SeqCst));
        figures.push(format!("hand-over {round}: {:?} answers, slowest {slowest:?}", seen.answers));
    }
    let last = servers.deciding().await;
    let document = servers.exported(last);
    assert_eq!(appointments(&document).count(), usize::try_from(booked).expect("small"));
    Ok(figures.join("\n"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_gets_no_new_connection_leaves_by_its_beats() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 2).await;
    let first = servers.deciding().await;
    let second = 1 - first;
    servers.expect_followed().await;
    pair.query("ALTER ROLE slotbook_server NOLOGIN");
    pair.query("SELECT slotbook.ask_hand_over(0, '')");
    while !servers.members[first].said().contains("handed over; requests") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let url = format!("{}/api/v1/groups/1/appointments", servers.members[second].base());
    let wish = booking("h0", &half_hour(0), 1, &[2]);
    let booked = reqwest::Client::new().post(url).query(&[("apikey", "test-key")]).json(&wish);
    let answer = booked.send().await.expect("it is answered");
    assert_eq!(answer.status(), 201, "{}", said(&servers));
    let refused = "the decision is released by the next beat";
    assert!(servers.members[first].said().contains(refused), "{}", said(&servers));
    pair.query("ALTER ROLE slotbook_server LOGIN");
    servers.expect_fenced(first).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_over_without_a_successor_is_refused_and_changes_nothing() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let url = database_url("slotbook_server", &pair.ports);
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let first = servers.deciding().await;
    let hand_over = ["cluster", "hand-over", "--shared", &url];
    let own = servers.members[first].base();
    for (to, named) in [("", String::new()), (own.as_str(), format!(" at {own}"))] {
        let refused = run(&[hand_over.as_slice(), &["--to", to]].concat(), &servers.store());
        assert_eq!(refused.status.code(), Some(1));
        let said = complaint(&refused);
        assert!(said.contains(&format!("no other server{named} follows now")), "{said}");
    }
    assert_eq!(pair.query("SELECT successor IS NULL FROM slotbook.holder"), "t");
    assert_eq!(servers.deciding().await, first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successor_takes_once_the_other_has_left_and_not_before() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 1).await;
    let first = servers.deciding().await;
    // Nothing of it stays.
    let trial = |changed: &str, expected: &str| {
        pair.query(&format!(
            "DO $$ BEGIN
                UPDATE slotbook.holder h SET {changed} FROM slotbook.node o;
                PERFORM FROM slotbook.node o,
                    slotbook.take_over(0, gen_random_uuid(), o.id, o.incarnation, NULL);
                IF {expected} THEN
                    RAISE SQLSTATE 'U0001';
                END IF;
                RAISE 'it is otherwise';
            EXCEPTION WHEN SQLSTATE 'U0001' THEN
                RETURN;
            END $$"
        ));
    };
    trial("successor = o.id", "NOT FOUND");
    trial("released = true", "NOT FOUND");
    trial("released = true, successor = o.id", "FOUND");
    assert_eq!(pair.query("SELECT NOT released AND successor IS NULL FROM slotbook.holder"), "t");
    assert_eq!(servers.deciding().await, first);
}

fn said(servers: &Servers) -> String {
    let logs: Vec<String> = servers.members.iter().map(super::servers::Member::said).collect();
    logs.join("\n---\n")
}
