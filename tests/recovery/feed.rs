//! Followers of a group's changes while 64 clients write, the server is killed again and again, and new generations are
//! made: each change comes once, and each follower has the same agenda. Reference 18.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use reqwest::RequestBuilder;
use serde_json::Value;

use super::receivers::{Receiver, Reply};
use super::rounds;
use super::server::{Served, exported, practice, store_of};
use super::witness::{CALENDARS, Witness};

/// Pause of a follower while the server is away.
const AWAY: Duration = Duration::from_millis(20);
/// Longest time for a follower to have all that was answered. A receiver that fails gets some hundred changes a second.
const PATIENCE: Duration = Duration::from_secs(900);

/// The way to the server of the moment.
#[derive(Clone)]
struct Way {
    http: reqwest::Client,
    base: Arc<Mutex<String>>,
}

impl Way {
    fn new() -> Self {
        Self { http: reqwest::Client::new(), base: Arc::default() }
    }

    fn leads_to(&self, base: &str) {
        base.clone_into(&mut self.base.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn get(&self, path: &str) -> RequestBuilder {
        let base = self.base.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let request = self.http.get(format!("{base}/api/v1/groups/1/{path}"));
        request.query(&[("apikey", "test-key")]).basic_auth("pro@example.org", Some("secret"))
    }

    /// An answer of 200; `None` while the server is away.
    async fn find(&self, path: &str) -> Option<Value> {
        let answer = self.get(path).send().await.ok()?;
        let status = answer.status().as_u16();
        let json = answer.json().await.ok()?;
        assert!(status == 200 || status == 503, "{path}: {status} {json}");
        (status == 200).then_some(json)
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
        way.read(&mut since, &heard).await;
        tokio::time::sleep(AWAY).await;
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
        tokio::time::sleep(AWAY).await;
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
                tokio::time::sleep(AWAY).await;
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

/// Loads a server with 64 clients until some hundred answers have come.
async fn load(witness: &Arc<Witness>, base: &str, answers: usize) -> tokio::task::JoinSet<()> {
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let mut clients = witness.load(base, 0).await;
        all.spawn(async move { while clients.join_next().await.is_some() {} });
    }
    let mut clients = witness.load(base, answers).await;
    all.spawn(async move { while clients.join_next().await.is_some() {} });
    all
}

async fn make_webhook(way: &Way, receiver: &Receiver) {
    let base = way.base.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let made = way
        .http
        .post(format!("{base}/api/v1/groups/1/webhooks"))
        .query(&[("apikey", "test-key")])
        .basic_auth("pro@example.org", Some("secret"))
        .json(&serde_json::json!({"url": receiver.url(), "objects": []}))
        .send()
        .await
        .expect("an answer");
    assert_eq!(made.status(), 201, "{:?}", made.text().await);
}

fn serve(data: &Path) -> Served {
    // A new generation is looked for each second.
    Served::on(data, &["--journal-mib", "0", "--webhook-allow", "127.0.0.0/8"])
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

#[test]
fn each_follower_gets_each_change_once_through_kills_and_compactions() {
    let receiver = Receiver::open(|number, _| match number % 6 {
        1 => Reply::Status(500),
        4 => Reply::Drop,
        _ => Reply::Status(200),
    });
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let figures = runtime.block_on(follow_through_kills(&receiver));
    println!("{figures}: each follower has each change once");
}

/// Returns the figures of the run.
async fn follow_through_kills(receiver: &Receiver) -> String {
    let kills = rounds(4, 50);
    let mut chance = StdRng::seed_from_u64(33);
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(CALENDARS));
    let witness = Arc::new(Witness::brief());
    let way = Way::new();
    let [asking, streaming] = [Heard::default(), Heard::default()];
    let mut server = serve(&data);
    way.leads_to(&server.base);
    let page = way.find("changes?since=now").await.expect("the server is there");
    let begin = page["next"].as_str().expect("a cursor").to_owned();
    make_webhook(&way, receiver).await;
    let followers = [
        tokio::spawn(ask(way.clone(), begin.clone(), asking.clone())),
        tokio::spawn(follow(way.clone(), begin.clone(), streaming.clone())),
    ];
    for life in 0..kills {
        let lasting = if life % 4 == 3 { 1_000..1_500 } else { 50..200 };
        let clients = load(&witness, &server.base, chance.random_range(lasting)).await;
        server.end("KILL");
        clients.join_all().await;
        server = serve(&data);
        way.leads_to(&server.base);
    }
    // The whole feed, as one that has seen nothing reads it.
    let whole = Heard::default();
    way.read(&mut begin.clone(), &whole).await.expect("the server is there");
    let (all, agenda) = whole.with(|heard| (heard.cursors.clone(), heard.events.clone()));
    assert!(all.windows(2).all(|pair| number(&pair[0]) < number(&pair[1])), "each comes once");
    let cursors = |heard: &Heard| heard.with(|it| it.cursors.clone());
    await_all("the asking follower", &all, || cursors(&asking)).await;
    await_all("the stream", &all, || cursors(&streaming)).await;
    await_all("the receiver", &all, || delivered(receiver)).await;
    assert!(asking.with(|heard| heard.events == agenda), "the asking follower has the agenda");
    for follower in followers {
        assert!(!follower.is_finished());
        follower.abort();
    }
    let resets = streaming.with(|heard| heard.resets);
    assert_eq!(server.terminate(), Some(0));
    let document = exported(&data);
    witness.examine(&document);
    examine_agenda(&agenda, &document);
    let current = std::fs::read_to_string(data.join("CURRENT")).expect("it is there");
    let generations: u64 = current.split(' ').next().and_then(|n| n.parse().ok()).expect("one");
    let (changes, answered) = (all.len(), witness.answered());
    assert!(generations > 2, "two compactions at least");
    format!(
        "{kills} kills, {answered} answered writes, {changes} changes, {resets} resets, \
         generation {generations}"
    )
}

/// Holds the agenda that the feed tells of against what the store has.
fn examine_agenda(agenda: &BTreeMap<String, Value>, document: &Value) {
    let rows = document["groups"][0]["vevents"].as_array().expect("a list");
    let appointments: Vec<&Value> = rows.iter().filter(|row| row["fiche_id"].is_u64()).collect();
    for row in &appointments {
        let told = &agenda[&format!("vevent:{}", row["id"])];
        for field in ["start", "calendar_id", "fiche_id"] {
            assert_eq!(told[field], row[field], "{field} of {}", row["id"]);
        }
        // A document leaves out what is not so.
        assert_eq!(told["deleted"], row["deleted"] == true, "{}", row["id"]);
    }
    assert_eq!(agenda.len(), appointments.len(), "none is told of that is not there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_of_a_later_day_is_gone_in_a_restored_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = store_of(folder.path(), &practice(CALENDARS));
    let witness = Arc::new(Witness::brief());
    let write = async |answers| {
        let server = serve(&data);
        let clients = witness.load(&server.base, answers).await;
        server.end("KILL");
        clients.join_all().await;
    };
    let way = Way::new();
    let end = async || {
        let server = serve(&data);
        way.leads_to(&server.base);
        let page = way.find("changes?since=now").await.expect("the server is there");
        page["next"].as_str().expect("a cursor").to_owned()
    };
    write(50).await;
    let earlier = end().await;
    let backup = super::reads::copy_of(&data, &folder.path().join("backup"));
    write(50).await;
    let later = end().await;
    std::fs::remove_dir_all(&data).expect("it was there");
    std::fs::rename(backup, &data).expect("it takes its place");
    // Before and after as many other changes were made.
    for answers in [0, 100] {
        if answers > 0 {
            write(answers).await;
        }
        let server = serve(&data);
        way.leads_to(&server.base);
        let status = async |cursor: &str| {
            let answer = way.get(&format!("changes?since={cursor}")).send().await;
            answer.expect("an answer").status().as_u16()
        };
        assert_eq!((status(&earlier).await, status(&later).await), (200, 410));
    }
}
