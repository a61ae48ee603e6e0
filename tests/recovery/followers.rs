//! Followers of a group's changes by the feed, by its stream, and by a webhook, and what they must have in the end.
//! Reference 18.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::receivers::{Receiver, Reply};

/// Pause of a follower while the server is away.
const AWAY: Duration = Duration::from_millis(20);
/// Longest time for a follower to have all that was answered. A receiver that fails gets some hundred changes a second.
const PATIENCE: Duration = Duration::from_secs(900);

/// The ways to the servers of the moment, of which one that is away is left for the next.
#[derive(Clone, Default)]
pub(crate) struct Way {
    http: reqwest::Client,
    bases: Arc<Mutex<Vec<String>>>,
    /// The one that is taken now, counted on and on.
    turn: Arc<AtomicUsize>,
}

impl Way {
    pub(crate) fn to(bases: Vec<String>) -> Self {
        Self { bases: Arc::new(Mutex::new(bases)), ..Self::default() }
    }

    pub(crate) fn leads_to(&self, base: &str) {
        *self.bases.lock().unwrap_or_else(PoisonError::into_inner) = vec![base.to_owned()];
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let bases = self.bases.lock().unwrap_or_else(PoisonError::into_inner);
        let base = &bases[self.turn.load(Ordering::Relaxed) % bases.len()];
        let request = self.http.request(method, format!("{base}/api/v1/groups/1/{path}"));
        request.query(&[("apikey", "test-key")]).basic_auth("pro@example.org", Some("secret"))
    }

    /// Leaves the server for the next one.
    async fn turns(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(AWAY).await;
    }

    /// An answer of 200; `None` while the server is away.
    pub(crate) async fn find(&self, path: &str) -> Option<Value> {
        let answer = self.get(path).send().await.ok()?;
        let status = answer.status().as_u16();
        let json = answer.json().await.ok()?;
        assert!(status == 200 || status == 503, "{path}: {status} {json}");
        (status == 200).then_some(json)
    }

    /// The place behind all changes.
    pub(crate) async fn end(&self) -> String {
        let page = self.find("changes?since=now").await.expect("the server is there");
        page["next"].as_str().expect("a cursor").to_owned()
    }

    /// Pages of the feed behind a cursor, up to the last one.
    async fn read(&self, since: &mut String, heard: &Heard) -> Option<()> {
        loop {
            let page = self.find(&format!("changes?limit=200&since={since}")).await?;
            for change in page["changes"].as_array().expect("a list") {
                heard.add(change);
            }
            page["next"].as_str().expect("a cursor").clone_into(since);
            if page["more"] == false {
                return Some(());
            }
        }
    }
}

/// What a follower was given: the cursors in their order, and each event as it last came.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Follower>>);

#[derive(Default)]
struct Follower {
    cursors: Vec<String>,
    events: BTreeMap<String, Value>,
    resets: u64,
}

impl Heard {
    fn with<T>(&self, note: impl FnOnce(&mut Follower) -> T) -> T {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, change: &Value) {
        let text = |name: &str| change[name].as_str().expect("a text").to_owned();
        self.with(|heard| {
            heard.cursors.push(text("cursor"));
            if text("object").starts_with("vevent:") {
                heard.events.insert(text("object"), change["record"].clone());
            }
        });
    }

    fn last(&self) -> Option<String> {
        self.with(|heard| heard.cursors.last().cloned())
    }
}

/// The number of a cursor's row.
fn number(cursor: &str) -> u64 {
    cursor.split('-').nth(1).and_then(|number| number.parse().ok()).expect("a cursor")
}

/// Asks for the feed again and again.
async fn ask(way: Way, mut since: String, heard: Heard) {
    loop {
        match way.read(&mut since, &heard).await {
            Some(()) => tokio::time::sleep(AWAY).await,
            None => way.turns().await,
        }
    }
}

/// Follows the stream, and connects again as a browser does. What a reset stands for is asked for.
async fn follow(way: Way, begin: String, heard: Heard) {
    loop {
        let last = heard.last().unwrap_or_else(|| begin.clone());
        let request = way.get("events").header("last-event-id", &last);
        if let Ok(mut response) = request.send().await {
            assert!(matches!(response.status().as_u16(), 200 | 503), "{response:?}");
            let mut read = String::new();
            while let Ok(Some(chunk)) = response.chunk().await {
                read.push_str(std::str::from_utf8(&chunk).expect("a text"));
                while let Some((frame, rest)) = read.split_once("\n\n") {
                    take_frame(&way, frame, &begin, &heard).await;
                    read = rest.to_owned();
                }
            }
        }
        way.turns().await;
    }
}

async fn take_frame(way: &Way, frame: &str, begin: &str, heard: &Heard) {
    let field = |name: &str| frame.lines().find_map(|it| it.strip_prefix(name));
    let Some(data) = field("data: ") else { return };
    let last = heard.last().unwrap_or_else(|| begin.to_owned());
    match field("event: ") {
        None => {
            let change: Value = serde_json::from_str(data).expect("JSON");
            let cursor = change["cursor"].as_str().expect("a text").to_owned();
            // What a reset stood for may have been read beyond its place.
            let is_known = number(&cursor) <= number(&last);
            assert!(!is_known || heard.with(|it| it.resets) > 0, "{cursor} comes again");
            if !is_known {
                heard.add(&change);
            }
        }
        Some("reset") => {
            heard.with(|it| it.resets += 1);
            let mut since = last;
            while way.read(&mut since, heard).await.is_none() {
                way.turns().await;
            }
        }
        Some(name) => assert_eq!(name, "begin"),
    }
}

/// The changes that a receiver has taken, each delivery once.
fn delivered(receiver: &Receiver) -> Vec<String> {
    let taken = receiver.taken();
    taken.iter().flat_map(|it| it.changes()).map(|(cursor, _)| cursor).collect()
}

async fn await_all(what: &str, all: &[String], mut has: impl FnMut() -> Vec<String>) {
    let arrived = tokio::time::timeout(PATIENCE, async {
        while has().len() < all.len() {
            tokio::time::sleep(AWAY).await;
        }
    });
    assert!(arrived.await.is_ok(), "{what} has {} of {} changes", has().len(), all.len());
    assert_eq!(has(), all, "{what}");
}

/// A receiver that fails a third of the time.
pub(crate) fn failing_receiver() -> Receiver {
    Receiver::open(|number, _| match number % 6 {
        1 => Reply::Status(500),
        4 => Reply::Drop,
        _ => Reply::Status(200),
    })
}

/// Three followers of the group from now on: by asking, by the stream, and by a webhook.
pub(crate) struct Followers<'r> {
    begin: String,
    asking: Heard,
    streaming: Heard,
    tasks: [JoinHandle<()>; 2],
    receiver: &'r Receiver,
}

impl<'r> Followers<'r> {
    pub(crate) async fn begin(asking_way: Way, streaming_way: Way, receiver: &'r Receiver) -> Self {
        let begin = asking_way.end().await;
        let webhook = json!({"url": receiver.url(), "objects": []});
        let made = asking_way.request(Method::POST, "webhooks").json(&webhook).send().await;
        let made = made.expect("an answer");
        assert_eq!(made.status(), 201, "{:?}", made.text().await);
        let (asking, streaming) = (Heard::default(), Heard::default());
        let tasks = [
            tokio::spawn(ask(asking_way, begin.clone(), asking.clone())),
            tokio::spawn(follow(streaming_way, begin.clone(), streaming.clone())),
        ];
        Self { begin, asking, streaming, tasks, receiver }
    }

    /// Waits until each has all changes, each once, as one that reads the whole feed now has them.
    pub(crate) async fn agree(self, way: &Way) -> Agreement {
        let whole = Heard::default();
        way.read(&mut self.begin.clone(), &whole).await.expect("the server is there");
        let (all, agenda) = whole.with(|heard| (heard.cursors.clone(), heard.events.clone()));
        assert!(all.windows(2).all(|pair| number(&pair[0]) < number(&pair[1])), "each comes once");
        let cursors = |heard: &Heard| heard.with(|it| it.cursors.clone());
        await_all("the asking follower", &all, || cursors(&self.asking)).await;
        await_all("the stream", &all, || cursors(&self.streaming)).await;
        await_all("the receiver", &all, || delivered(self.receiver)).await;
        assert!(self.asking.with(|heard| heard.events == agenda), "it has the agenda");
        for follower in self.tasks {
            assert!(!follower.is_finished());
            follower.abort();
        }
        let resets = self.streaming.with(|heard| heard.resets);
        Agreement { changes: all.len(), resets, agenda }
    }
}

/// What all followers have in the end.
pub(crate) struct Agreement {
    pub(crate) changes: usize,
    /// How many changes the stream has left out at once, to be read by the feed.
    pub(crate) resets: u64,
    /// Each event as the feed last had it.
    agenda: BTreeMap<String, Value>,
}

impl Agreement {
    /// Holds the agenda that the feed tells of against what the store has.
    pub(crate) fn examine(&self, document: &Value) {
        let rows = document["groups"][0]["vevents"].as_array().expect("a list");
        let rows: Vec<&Value> = rows.iter().filter(|row| row["fiche_id"].is_u64()).collect();
        for row in &rows {
            let told = &self.agenda[&format!("vevent:{}", row["id"])];
            for field in ["start", "calendar_id", "fiche_id"] {
                assert_eq!(told[field], row[field], "{field} of {}", row["id"]);
            }
            // A document leaves out what is not so.
            assert_eq!(told["deleted"], row["deleted"] == true, "{}", row["id"]);
        }
        assert_eq!(self.agenda.len(), rows.len(), "none is told of that is not there");
    }
}
