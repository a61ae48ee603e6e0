//! What clients were told, and whether the store still agrees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::server::{booking, half_hour};

pub(crate) const CALENDARS: u64 = 4;

/// What was answered, over all lives of a server.
#[derive(Default)]
pub(crate) struct Witness {
    /// Starts nobody has asked for yet.
    next: AtomicU64,
    told: Mutex<Told>,
}

/// Appointment ids by what is known of them.
#[derive(Default)]
struct Told {
    /// Answered with 201: id and client.
    booked: BTreeMap<u64, String>,
    /// A cancel was sent; whether it was answered.
    cancelled: BTreeMap<u64, bool>,
}

/// Rows of the document that are appointments.
pub(crate) fn appointments(document: &Value) -> impl Iterator<Item = &Value> {
    let rows = document["groups"][0]["vevents"].as_array().expect("a list").iter();
    rows.filter(|row| row["fiche_id"].as_u64().is_some_and(|id| id > 0))
}

pub(crate) fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_else(|| panic!("{field} of {row}"))
}

impl Witness {
    /// Books and cancels from 16 clients; returns once so many answers have come, while the load goes on until the
    /// server is gone.
    pub(crate) async fn load(self: &Arc<Self>, base: &str, answers: usize) -> JoinSet<()> {
        let http = reqwest::Client::new();
        let (answered, mut answer) = mpsc::unbounded_channel();
        let mut clients = JoinSet::new();
        for _ in 0..16 {
            clients.spawn(Arc::clone(self).client(http.clone(), base.to_owned(), answered.clone()));
        }
        for _ in 0..answers {
            answer.recv().await.expect("the load goes on");
        }
        clients
    }

    /// One client: books, one in three times two legs in a row, and cancels every fourth; until the server is gone.
    async fn client(self: Arc<Self>, http: reqwest::Client, base: String, answered: mpsc::UnboundedSender<()>) {
        loop {
            let nth = self.next.fetch_add(1, Ordering::SeqCst);
            let client = format!("c{nth}");
            let legs: &[u64] = if nth.is_multiple_of(3) { &[1, 2] } else { &[2] };
            // Four half hours for each, so that nobody is in another's way.
            let mut wish = booking(&client, &half_hour(nth / CALENDARS * 4), nth % CALENDARS + 1, legs);
            // Long enough that the journal's file has to grow: what lies in blocks it already has survives a power cut
            // without a sync, and would prove nothing.
            wish["appointment"]["comments"] = "so long a comment ".repeat(200).into();
            let url = format!("{base}/api/v1/groups/1/appointments");
            let request = http.post(&url).query(&[("apikey", "test-key")]).json(&wish);
            let Some((status, answer)) = answer_to(request).await else { return };
            assert_eq!(status, 201, "{answer}");
            let records = answer["records"].as_array().expect("a list").clone();
            assert_eq!(records.len(), legs.len());
            for record in &records {
                self.with(|told| told.booked.insert(record["id"].as_u64().expect("an id"), client.clone()));
            }
            answered.send(()).ok();
            if nth.is_multiple_of(4) {
                let (id, key) = (records[0]["id"].as_u64().expect("an id"), text(&records[0], "key").to_owned());
                self.with(|told| told.cancelled.insert(id, false));
                let request = http.delete(format!("{url}/{id}")).query(&[("apikey", "test-key"), ("key", &key)]);
                let Some((status, answer)) = answer_to(request).await else { return };
                assert_eq!(status, 200, "{answer}");
                self.with(|told| told.cancelled.insert(id, true));
                answered.send(()).ok();
            }
        }
    }

    fn with<T>(&self, note: impl FnOnce(&mut Told) -> T) -> T {
        note(&mut self.told.lock().expect("no note panics"))
    }

    /// How many appointments have been answered for.
    pub(crate) fn booked(&self) -> usize {
        self.with(|told| told.booked.len())
    }

    /// Checks a store's content: everything answered is there, nothing is there by half, no hour is given away twice.
    pub(crate) fn examine(&self, document: &Value) {
        let fiches = document["groups"][0]["fiches"].as_array().expect("a list");
        let names: BTreeMap<u64, &str> =
            fiches.iter().map(|fiche| (fiche["id"].as_u64().expect("an id"), text(fiche, "lastname"))).collect();
        let mut legs: BTreeMap<&str, usize> = BTreeMap::new();
        let mut live: BTreeSet<(u64, &str, &str)> = BTreeSet::new();
        let mut found: BTreeMap<u64, bool> = BTreeMap::new();
        for row in appointments(document) {
            let client =
                names.get(&row["fiche_id"].as_u64().expect("an id")).expect("no appointment without its client");
            *legs.entry(client).or_default() += 1;
            let deleted = row["deleted"] == true;
            found.insert(row["id"].as_u64().expect("an id"), deleted);
            if !deleted {
                live.insert((row["calendar_id"].as_u64().expect("an id"), text(row, "start"), text(row, "end")));
            }
        }
        self.with(|told| {
            for (id, client) in &told.booked {
                let deleted =
                    *found.get(id).unwrap_or_else(|| panic!("appointment {id} of {client} was answered and is lost"));
                match told.cancelled.get(id) {
                    Some(true) => assert!(deleted, "the cancel of {id} was answered and is lost"),
                    Some(false) => {}
                    None => assert!(!deleted, "{id} was never cancelled"),
                }
            }
        });
        for (client, count) in &legs {
            let number: u64 = client.trim_start_matches('c').parse().expect("our own names");
            assert_eq!(*count, if number.is_multiple_of(3) { 2 } else { 1 }, "half a booking of {client}");
        }
        assert_eq!(names.len(), legs.len(), "a client without an appointment");
        let live: Vec<_> = live.into_iter().collect();
        assert!(
            live.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[0].2 <= pair[1].1),
            "an hour given away twice"
        );
    }
}

/// Status and JSON, or `None` where the server went away.
async fn answer_to(request: reqwest::RequestBuilder) -> Option<(u16, Value)> {
    let answer = request.send().await.ok()?;
    let status = answer.status().as_u16();
    Some((status, answer.json().await.ok()?))
}
