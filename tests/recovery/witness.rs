//! What clients were told, and whether the store still agrees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::server::{appointments, booking, half_hour, text};

pub(crate) const CALENDARS: u64 = 4;

/// What was answered, over all lives of a server.
pub(crate) struct Witness {
    /// Starts nobody has asked for yet.
    next: AtomicU64,
    /// Stands in every booking.
    comments: String,
    told: Mutex<Told>,
}

/// Appointment ids by what is known of them.
#[derive(Default)]
struct Told {
    /// IdempotencyRecord with 201: id, client and start.
    booked: BTreeMap<u64, (String, String)>,
    /// A cancel was sent; whether it was answered.
    cancelled: BTreeMap<u64, bool>,
    /// A move was sent: where to, and whether it was answered.
    moved: BTreeMap<u64, (String, bool)>,
}

impl Told {
    fn answers(&self) -> usize {
        let cancels = self.cancelled.values().filter(|answered| **answered).count();
        self.booked.len() + cancels + self.moved.values().filter(|(_, answered)| *answered).count()
    }
}

impl Witness {
    /// Whose bookings are small.
    pub(crate) fn brief() -> Self {
        Self { next: AtomicU64::new(0), comments: String::new(), told: Mutex::default() }
    }

    /// Whose bookings are so long that the journal's file has to grow: what lies in blocks it already has survives a
    /// power cut without a sync, and would prove nothing.
    pub(crate) fn verbose() -> Self {
        Self { comments: "so long a comment ".repeat(100), ..Self::brief() }
    }

    /// Books, cancels and moves from 16 clients; returns once so many answers have come, while the load goes on until
    /// the server is gone or says 503.
    pub(crate) async fn load(self: &Arc<Self>, base: &str, answers: usize) -> JoinSet<()> {
        let http = reqwest::Client::new();
        let (answered, mut answer) = mpsc::unbounded_channel();
        let mut clients = JoinSet::new();
        for _ in 0..16 {
            clients.spawn(Arc::clone(self).client(http.clone(), base.to_owned(), answered.clone()));
        }
        drop(answered);
        for _ in 0..answers {
            if answer.recv().await.is_none() {
                break;
            }
        }
        clients
    }

    /// One client, until the server is gone.
    async fn client(
        self: Arc<Self>,
        http: reqwest::Client,
        base: String,
        answered: mpsc::UnboundedSender<()>,
    ) {
        while self.one(&http, &base, &answered).await.is_some() {}
    }

    /// One booking, one in three of two legs in a row. Every fourth is cancelled, every fifth of the others moved by a
    /// professional. `None` where the server went away or refuses.
    async fn one(
        &self,
        http: &reqwest::Client,
        base: &str,
        answered: &mpsc::UnboundedSender<()>,
    ) -> Option<()> {
        let nth = self.next.fetch_add(1, Ordering::SeqCst);
        let client = format!("c{nth}");
        let legs: &[u64] = if nth.is_multiple_of(3) { &[1, 2] } else { &[2] };
        // Four half hours for each, so that nobody is in another's way.
        let first = nth / CALENDARS * 4;
        let mut wish = booking(&client, &half_hour(first), nth % CALENDARS + 1, legs);
        wish["appointment"]["comments"] = self.comments.as_str().into();
        let url = format!("{base}/api/v1/groups/1");
        let request =
            http.post(format!("{url}/appointments")).query(&[("apikey", "test-key")]).json(&wish);
        let answer = answer_to(request, 201).await?;
        let records = answer["records"].as_array().expect("a list").clone();
        assert_eq!(records.len(), legs.len());
        for record in &records {
            let known = (client.clone(), text(record, "start").to_owned());
            self.with(|told| told.booked.insert(record["id"].as_u64().expect("an id"), known));
        }
        answered.send(()).ok();
        let (id, key) =
            (records[0]["id"].as_u64().expect("an id"), text(&records[0], "key").to_owned());
        if nth.is_multiple_of(4) {
            self.with(|told| told.cancelled.insert(id, false));
            let request = http.delete(format!("{url}/appointments/{id}"));
            answer_to(request.query(&[("apikey", "test-key"), ("key", &key)]), 200).await?;
            self.with(|told| told.cancelled.insert(id, true));
            answered.send(()).ok();
        } else if nth.is_multiple_of(5) {
            let to = half_hour(first + if legs.len() == 2 { 3 } else { 1 });
            self.with(|told| told.moved.insert(id, (to.clone(), false)));
            let request = http.put(format!("{url}/vevents/{id}")).query(&[("apikey", "test-key")]);
            let request = request.basic_auth("pro@example.org", Some("secret"));
            answer_to(request.json(&json!({"vevent": {"start": to}})), 200).await?;
            self.with(|told| told.moved.insert(id, (to, true)));
            answered.send(()).ok();
        }
        Some(())
    }

    fn with<T>(&self, note: impl FnOnce(&mut Told) -> T) -> T {
        note(&mut self.told.lock().expect("no note panics"))
    }

    /// Appointments that have been answered for.
    pub(crate) fn booked(&self) -> Vec<u64> {
        self.with(|told| told.booked.keys().copied().collect())
    }

    /// How many writes have been answered for.
    pub(crate) fn answered(&self) -> u64 {
        self.with(|told| u64::try_from(told.answers()).expect("a count"))
    }

    /// Checks a store's content: everything answered is there, nothing is there by half, no hour is given away twice.
    pub(crate) fn examine(&self, document: &Value) {
        let fiches = document["groups"][0]["fiches"].as_array().expect("a list");
        let names: BTreeMap<u64, &str> = fiches
            .iter()
            .map(|fiche| (fiche["id"].as_u64().expect("an id"), text(fiche, "lastname")))
            .collect();
        let mut legs: BTreeMap<&str, usize> = BTreeMap::new();
        let mut live: BTreeSet<(u64, &str, &str)> = BTreeSet::new();
        let mut found: BTreeMap<u64, (bool, &str)> = BTreeMap::new();
        for row in appointments(document) {
            let client = names
                .get(&row["fiche_id"].as_u64().expect("an id"))
                .expect("no appointment without its client");
            *legs.entry(client).or_default() += 1;
            let deleted = row["deleted"] == true;
            found.insert(row["id"].as_u64().expect("an id"), (deleted, text(row, "start")));
            if !deleted {
                live.insert((
                    row["calendar_id"].as_u64().expect("an id"),
                    text(row, "start"),
                    text(row, "end"),
                ));
            }
        }
        self.with(|told| told.agrees(&found));
        for (client, count) in &legs {
            let number: u64 = client.trim_start_matches('c').parse().expect("our own names");
            assert_eq!(
                *count,
                if number.is_multiple_of(3) { 2 } else { 1 },
                "half a booking of {client}"
            );
        }
        assert_eq!(names.len(), legs.len(), "a client without an appointment");
        let live: Vec<_> = live.into_iter().collect();
        assert!(
            live.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[0].2 <= pair[1].1),
            "an hour given away twice"
        );
    }
}

impl Told {
    /// Checks what was answered against the appointments found: whether each is deleted, and its start.
    fn agrees(&self, found: &BTreeMap<u64, (bool, &str)>) {
        for (id, (client, booked)) in &self.booked {
            let (deleted, start) = *found
                .get(id)
                .unwrap_or_else(|| panic!("appointment {id} of {client} was answered and is lost"));
            match self.cancelled.get(id) {
                Some(true) => assert!(deleted, "the cancel of {id} was answered and is lost"),
                Some(false) => {}
                None => assert!(!deleted, "{id} was never cancelled"),
            }
            match self.moved.get(id) {
                Some((to, true)) => {
                    assert_eq!(start, to, "the move of {id} was answered and is lost")
                }
                Some((to, false)) => {
                    assert!(start == to || start == booked, "{id} stands at {start}")
                }
                None => assert_eq!(start, booked, "{id} was never moved"),
            }
        }
    }
}

/// The JSON of an answer, or `None` where the server went away or takes no writes.
async fn answer_to(request: reqwest::RequestBuilder, expected: u16) -> Option<Value> {
    let answer = request.send().await.ok()?;
    let status = answer.status().as_u16();
    let json: Value = answer.json().await.ok()?;
    if status == 503 {
        return None;
    }
    assert_eq!(status, expected, "{json}");
    Some(json)
}
