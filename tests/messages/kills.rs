//! Reminders due within a minute, sent by a process that is killed again and again while the other side does what it likes:
//! each is delivered or final with its reason, at most once more for each kill, and none after its cancel was answered.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant as Stopwatch};

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use slotbook::clock::{Clock as _, ManualClock, SystemClock};
use slotbook::domain::time::zone;
use slotbook::domain::time::zone_names::ZoneName;
use slotbook::domain::time::{HOUR, Instant};
use slotbook::wire::datetime;

use super::fake_gateways::{Met, Mood, Post};
use super::server::{Served, store_of};

/// Before its appointment a reminder leaves so early.
const LEAD_MINUTES: i64 = 60;
/// Most attempts of one channel that are under way at once.
const LANE: usize = 16;

/// How much is done.
#[derive(Clone, Copy)]
struct Extent {
    reminders: u64,
    /// Within how many seconds they are due.
    within_seconds: u64,
    /// Deliveries between two kills.
    kill_every: usize,
    kills_least: u64,
    cancels: u64,
    /// Faults that one recipient's attempts meet at most.
    faults_most: u32,
    /// From the import to the first that is due.
    ahead_seconds: i64,
}

const SHORT: Extent = Extent {
    reminders: 300,
    within_seconds: 15,
    kill_every: 55,
    kills_least: 3,
    cancels: 20,
    faults_most: 1,
    ahead_seconds: 10,
};
const LONG: Extent = Extent {
    reminders: 10_000,
    within_seconds: 60,
    kill_every: 500,
    kills_least: 15,
    cancels: 300,
    faults_most: 2,
    ahead_seconds: 60,
};

/// A zone in which it is day for hours yet, so that text messages may leave.
fn by_day(now: Instant) -> &'static str {
    let zones = ["UTC", "Karachi", "Tokyo", "Fiji", "Hawaii", "Central America", "Brasilia"];
    let hour = |name: &&str| {
        let zone = ZoneName::from_name(name).expect("a zone").zone();
        zone.civil_of(now).second_of_day() / HOUR
    };
    zones.into_iter().find(|name| (10..=15).contains(&hour(name))).expect("it is day somewhere")
}

/// The recipient of a reminder: every other by mail.
fn recipient(id: u64) -> String {
    if id.is_multiple_of(2) { format!("c{id}@example.org") } else { format!("+336{id:08}") }
}

fn utc(moment: Instant) -> String {
    datetime::format_civil(zone::utc_of(moment))
}

/// A practice whose reminders are due from a moment on.
fn practice(extent: Extent, due: Instant) -> Value {
    let calendars = extent.reminders.div_ceil(extent.within_seconds);
    let rows = |count: u64, row: &dyn Fn(u64) -> Value| (1..=count).map(row).collect::<Vec<_>>();
    json!({
        "apikeys": [{"key": "test-key", "label": "tests"}],
        "groups": [{
            "id": 1, "name": "Practice", "timezone": by_day(due), "sendmail": false,
            "mailreminder": LEAD_MINUTES, "smsreminder": LEAD_MINUTES,
            "pros": [{"id": 1, "email": "pro@example.org", "password": "secret", "lastname": "Pro", "main": true}],
            "calendars": rows(calendars, &|id| json!({"id": id, "name": "c", "publicname": "c"})),
            "interventions": [{"id": 1, "name": "i", "publicname": "i", "length": 1}],
            "fiches": rows(extent.reminders, &|id| {
                let field = if id.is_multiple_of(2) { "email" } else { "firstphone" };
                json!({"id": id, "lastname": "Client", field: recipient(id)})
            }),
            "vevents": rows(extent.reminders, &|id| {
                // Those of one calendar follow one another, a second each.
                let after = i64::try_from((id - 1) / calendars).expect("small");
                let start = due.plus_seconds(after).plus_minutes(LEAD_MINUTES);
                json!({
                    "id": id, "calendar_id": (id - 1) % calendars + 1, "fiche_id": id, "intervention_id": 1,
                    "start_utc": utc(start), "end_utc": utc(start.plus_seconds(1)), "smsreminder": true,
                })
            }),
        }]
    })
}

/// What the attempts at a reminder meet: faults, each as likely as any other but that few hang, then an end.
fn plan(to: &str, faults_most: u32) -> VecDeque<Mood> {
    let seed =
        to.bytes().fold(42, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    let mut draws = StdRng::seed_from_u64(seed);
    let mut moods = VecDeque::new();
    while moods.len() < faults_most as usize && draws.random_ratio(2, 5) {
        moods.push_back(match draws.random_range(0..20_u32) {
            0..9 => Mood::Busy,
            9..18 => Mood::Drops,
            _ => Mood::Hangs,
        });
    }
    moods.push_back(if draws.random_ratio(1, 20) { Mood::Refuses } else { Mood::Takes });
    moods
}

/// A store whose first reminder is still ahead when the server serves it; where the machine was too slow for that, another
/// is made with more time.
fn served(
    extent: Extent,
    post: &Post,
    folder: &Path,
    options: &[&str],
) -> (Served, std::path::PathBuf) {
    let mut ahead_seconds = extent.ahead_seconds;
    for attempt in 0..6 {
        let due = SystemClock.now().plus_seconds(ahead_seconds);
        let folder = folder.join(attempt.to_string());
        std::fs::create_dir(&folder).expect("a folder");
        let data = store_of(&folder, &practice(extent, due));
        let server = Served::on(&data, options);
        if SystemClock.now() < due {
            return (server, data);
        }
        server.end("KILL");
        post.forgets();
        ahead_seconds *= 2;
    }
    panic!("this machine is too slow to fill a store in time");
}

/// A cancel that has been answered.
#[derive(Debug)]
struct Cancelled {
    answered: Stopwatch,
    /// In which life of the server.
    life: u64,
    /// When its line of the ledger was asked for, and whether it said that an attempt was under way.
    read: Stopwatch,
    sending: bool,
}

/// Who asks the server over HTTP, wherever it is at the moment.
struct Pro {
    http: reqwest::Client,
    /// Where it serves, and in which life.
    place: Mutex<(String, u64)>,
}

impl Pro {
    fn place(&self) -> (String, u64) {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn moved(&self, base: &str) -> u64 {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        *place = (base.to_owned(), place.1 + 1);
        place.1
    }

    /// An answer with 200, however often the server dies meanwhile, and in which life it was given.
    async fn asks(&self, method: reqwest::Method, path: &str) -> (Value, u64) {
        loop {
            let (base, life) = self.place();
            let url = format!("{base}/api/v1/groups/1/{path}");
            let request = self.http.request(method.clone(), url).query(&[("apikey", "test-key")]);
            let answer = request.basic_auth("pro@example.org", Some("secret")).send().await;
            let Ok(answer) = answer else {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            let status = answer.status().as_u16();
            let Ok(json) = answer.json::<Value>().await else { continue };
            if status == 200 {
                return (json, life);
            }
            assert_eq!(status, 503, "{json}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Lines of the ledger of which a field is one of some values.
    async fn lines(&self, field: &str, values: &str, results: &str) -> Value {
        let conditions = format!(
            "conditions[0][field]={field}&conditions[0][op]=in&conditions[0][value]={values}"
        );
        self.asks(reqwest::Method::GET, &format!("messages?{conditions}&results={results}")).await.0
    }

    async fn cancels(&self, id: u64) -> Cancelled {
        let (row, life) = self.asks(reqwest::Method::DELETE, &format!("vevents/{id}")).await;
        assert_eq!(row["deleted"], true);
        let answered = Stopwatch::now();
        let read = Stopwatch::now();
        let lines = self.lines("appointment_id", &id.to_string(), "all").await;
        let sending = lines["records"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|line| line["state"] == "sending");
        Cancelled { answered, life, read, sending }
    }
}

/// Cancels some before they are due, and some while others are sent: any, or such as wait for another attempt.
async fn cancel_some(pro: Arc<Pro>, post: Arc<Post>, extent: Extent) -> BTreeMap<u64, Cancelled> {
    let mut draws = StdRng::seed_from_u64(7);
    let mut cancelled = BTreeMap::new();
    for nth in 0..extent.cancels {
        let begun =
            nth.saturating_sub(extent.cancels / 4) * extent.reminders / extent.cancels * 3 / 4;
        while (post.count() as u64) < begun {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let any = draws.random_range(1..=extent.reminders);
        let id = if nth % 2 == 0 { any } else { waiting(&post, &cancelled).unwrap_or(any) };
        if let Entry::Vacant(entry) = cancelled.entry(id) {
            entry.insert(pro.cancels(id).await);
        }
    }
    cancelled
}

/// The last that was neither taken nor refused.
fn waiting(post: &Post, but: &BTreeMap<u64, Cancelled>) -> Option<u64> {
    let met = post.met();
    let ended: BTreeSet<&str> = met
        .iter()
        .filter(|it| matches!(it.mood, Mood::Takes | Mood::Refuses))
        .map(|it| it.to.as_str())
        .collect();
    let number = |to: &str| {
        to.trim_start_matches("+336").trim_start_matches('c').split('@').next()?.parse().ok()
    };
    met.iter()
        .rev()
        .filter(|it| !ended.contains(it.to.as_str()))
        .find_map(|it| number(&it.to).filter(|id| !but.contains_key(id)))
}

#[test]
fn what_a_killed_process_sends_is_delivered_or_final_and_at_most_once_more_for_each_kill() {
    let long = std::env::var_os("SLOTBOOK_LONG").is_some_and(|value| value == "1");
    let extent = if long { LONG } else { SHORT };
    let post = Arc::new(Post::open(&Arc::new(ManualClock::default())));
    post.goes_by(move |to| plan(to, extent.faults_most));
    let (smtp, gateway) = (post.smtp.port().to_string(), format!("http://{}/send", post.gateway));
    let options = [
        ["--log", "error"],
        ["--smtp-host", "127.0.0.1"],
        ["--smtp-port", &smtp],
        ["--smtp-tls", "none"],
        ["--mail-from", "rdv@shop.example"],
        ["--sms-url", &gateway],
        ["--sms-token", "the-token"],
        ["--message-seconds-max", "2"],
    ]
    .concat();
    let folder = tempfile::tempdir().expect("a folder");
    let (server, data) = served(extent, &post, folder.path(), &options);
    let pro =
        Arc::new(Pro { http: reqwest::Client::new(), place: Mutex::new((server.base.clone(), 0)) });
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let cancelling = runtime.spawn(cancel_some(Arc::clone(&pro), Arc::clone(&post), extent));
    let (server, kills) =
        runtime.block_on(kill_until_settled(server, &data, &options, (&pro, &post), extent));
    let (cancelled, ledger) = runtime.block_on(async {
        let cancelled = cancelling.await.expect("nobody panicked");
        let ledger = pro.asks(reqwest::Method::GET, "messages?results=all").await.0;
        (cancelled, ledger["records"].as_array().expect("a list").clone())
    });
    assert_eq!(server.terminate(), Some(0));
    println!("{}", examine(extent, kills, &post, &cancelled, &ledger));
}

/// Kills the server whenever so many more were delivered, until nothing is left to send: the last server, and how often.
async fn kill_until_settled(
    mut server: Served,
    data: &Path,
    options: &[&str],
    (pro, post): (&Pro, &Post),
    extent: Extent,
) -> (Served, u64) {
    let mut kills = 0;
    loop {
        let goal = (usize::try_from(kills).expect("small") + 1) * extent.kill_every;
        let mut looks = 0_u32;
        while post.count() < goal {
            tokio::time::sleep(Duration::from_millis(5)).await;
            looks += 1;
            if looks.is_multiple_of(100)
                && pro.lines("state", "planned,sending", "1").await["totalRecords"] == 0
            {
                return (server, kills);
            }
        }
        server.end("KILL");
        post.begins_another_life();
        kills += 1;
        server = Served::on(data, options);
        assert_eq!(pro.moved(&server.base), kills);
    }
}

/// Holds what arrived against what the ledger says of it, and counts.
fn examine(
    extent: Extent,
    kills: u64,
    post: &Post,
    cancelled: &BTreeMap<u64, Cancelled>,
    ledger: &[Value],
) -> String {
    let (taken, met) = (post.taken(), post.met());
    let mut arrived: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
    taken.iter().for_each(|it| arrived.entry(&it.to).or_default().push((&it.identity, it.life)));
    for (to, copies) in &arrived {
        assert!(
            copies.iter().all(|(identity, _)| *identity == copies[0].0),
            "two identities of one message: {copies:?}"
        );
        let lives: BTreeSet<u64> = copies.iter().map(|(_, life)| *life).collect();
        assert_eq!(lives.len(), copies.len(), "{to} got it twice, and no kill between: {copies:?}");
    }
    let copies = taken.len() - arrived.len();
    assert!(copies as u64 <= kills * 2 * LANE as u64, "{copies} copies, {kills} kills");
    let mut states: BTreeMap<&str, u64> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for line in ledger {
        let id = line["appointment_id"].as_u64().expect("an id");
        assert!(seen.insert(id), "told of twice: {line}");
        assert_eq!(line["recipient"].as_str(), Some(recipient(id).as_str()));
        let state = line["state"].as_str().expect("a state");
        *states.entry(state).or_default() += 1;
        let has_arrived = arrived.contains_key(recipient(id).as_str());
        let reason = line["reason"].as_str().expect("a text");
        match state {
            "sent" => assert!(has_arrived, "nobody took {line}"),
            "failed" => assert!(reason.contains("550") || reason.contains("422"), "{line}"),
            "suppressed" => {
                assert!(cancelled.contains_key(&id) && reason.contains("cancelled"), "{line}");
            }
            _ => panic!("{line} is not final, or was missed"),
        }
    }
    let untold: Vec<u64> = (1..=extent.reminders).filter(|id| !seen.contains(id)).collect();
    assert!(untold.iter().all(|id| cancelled.contains_key(id)), "nothing is known of {untold:?}");
    cancelled.iter().for_each(|(id, cancel)| none_after(&met, *id, cancel));
    let of = |mood: Mood| {
        [false, true].map(|sms| {
            met.iter().filter(|it| it.mood == mood && it.to.starts_with('+') == sms).count()
        })
    };
    let faults = [Mood::Busy, Mood::Refuses, Mood::Hangs, Mood::Drops].map(of);
    assert!(kills >= extent.kills_least, "only {kills} kills");
    assert!(faults.iter().all(|[mail, sms]| mail + sms > 0), "not every fault was met: {faults:?}");
    assert!(
        [0, 1].iter().all(|channel| faults.iter().any(|of| of[*channel] > 0)),
        "one channel met no fault: {faults:?}"
    );
    format!(
        "{} reminders, {kills} kills, {} cancels ({} of them before any attempt); {} attempts, {} arrivals, {copies} copies; \
         ledger: {states:?}; faults by mail and sms: busy, refuses, hangs, drops: {faults:?}",
        extent.reminders,
        cancelled.len(),
        untold.len(),
        met.len(),
        taken.len(),
    )
}

/// After the answer to a cancel at most the attempt goes on that was claimed before it: then the ledger said so, or it had
/// ended before the ledger was read.
fn none_after(met: &[Met], id: u64, cancel: &Cancelled) {
    let to = recipient(id);
    let later: Vec<&Met> =
        met.iter().filter(|it| it.to == to && it.begun > cancel.answered).collect();
    assert!(later.len() <= 1, "{to} was written to after {cancel:?}: {later:?}");
    for attempt in later {
        assert_eq!(attempt.life, cancel.life, "{to} was written to after a restart: {cancel:?}");
        assert!(
            attempt.begun < cancel.read || cancel.sending,
            "{to} was written to after {cancel:?}: {attempt:?}"
        );
    }
}
