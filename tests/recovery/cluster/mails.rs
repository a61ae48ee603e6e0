//! Mails that are due while one server after another takes over: each arrives, and at most once more
//! for each takeover.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant as Stopwatch};

use serde_json::{Value, json};
use slotbook::clock::{Clock as _, ManualClock, SystemClock};
use slotbook::domain::time::Instant;
use slotbook::domain::time::zone;
use slotbook::wire::datetime;

use super::postgres::Pair;
use super::servers::{ServerOptions, Servers};
use crate::fake_gateways::{Post, Taken};
use crate::rounds;

/// Before its appointment a mail leaves so early.
const LEAD_MINUTES: i64 = 60;
/// Most attempts of one channel that are under way at once.
const ATTEMPTS_MAX: u64 = 16;
/// Times from the making of a cluster to the first mail that is due: the next where one was too short.
const AHEAD_SECONDS: [i64; 3] = [15, 60, 240];
/// Longest time until so many more mails have arrived, and until the last is settled. What was on its
/// way when its server died is tried again after a minute.
const ARRIVAL_MAX: Duration = Duration::from_secs(180);

/// The servers of the cluster.
const SERVERS: usize = 3;

fn recipient(id: u64) -> String {
    format!("c{id}@example.org")
}

/// A practice whose reminders by mail are due from a moment on.
fn practice(mails: u64, due: Instant) -> Value {
    let rows = |row: &dyn Fn(u64) -> Value| (1..=mails).map(row).collect::<Vec<_>>();
    let start = due.plus_minutes(LEAD_MINUTES);
    let civil = |moment: Instant| datetime::format_civil(zone::utc_of(moment));
    json!({
        "apikeys": [{"key": "test-key", "label": "tests"}],
        "groups": [{
            "id": 1, "name": "Practice", "timezone": "UTC", "sendmail": false,
            "mailreminder": LEAD_MINUTES,
            "pros": [{"id": 1, "email": "pro@example.org", "password": "secret", "lastname": "Pro", "main": true}],
            "calendars": rows(&|id| json!({"id": id, "name": "c", "publicname": "c"})),
            "interventions": [{"id": 1, "name": "i", "publicname": "i", "length": 1}],
            "fiches": rows(&|id| json!({"id": id, "lastname": "Client", "email": recipient(id)})),
            "vevents": rows(&|id| json!({
                "id": id, "calendar_id": id, "fiche_id": id, "intervention_id": 1,
                "start_utc": civil(start), "end_utc": civil(start.plus_seconds(60)),
            })),
        }]
    })
}

/// The options of a server whose mails go to `post`.
fn mailing(post: &Post) -> ServerOptions {
    let port = post.smtp.port().to_string();
    let options = [
        ["--smtp-host", "127.0.0.1"],
        ["--smtp-port", &port],
        ["--smtp-tls", "none"],
        ["--mail-from", "rdv@shop.example"],
        ["--message-seconds-max", "2"],
    ];
    let arguments = options.concat().into_iter().map(str::to_owned).collect();
    ServerOptions { arguments, ..ServerOptions::default() }
}

/// A cluster that decides before its first mail is due. Each server has a post of its own.
async fn served(mails: u64, posts: &[Post]) -> Result<(Pair, Servers), &'static str> {
    let options: Vec<_> = posts.iter().map(mailing).collect();
    for ahead in AHEAD_SECONDS {
        let pair = Pair::start()?;
        let due = SystemClock.now().plus_seconds(ahead);
        let document = practice(mails, due);
        let mut servers = Servers::start_with(&pair.ports, &document, &options).await;
        servers.deciding().await;
        if SystemClock.now() < due {
            return Ok((pair, servers));
        }
        drop(servers);
        posts.iter().for_each(Post::forgets);
    }
    panic!("this machine is too slow to fill a store in time");
}

/// The messages in some states, as the server that decides has them.
async fn lines(servers: &mut Servers, states: &str) -> Value {
    loop {
        let deciding = servers.deciding().await;
        let url = format!(
            "{}/api/v1/groups/1/messages?apikey=test-key&results=all&conditions[0][field]=state\
             &conditions[0][op]=in&conditions[0][value]={states}",
            servers.members[deciding].base()
        );
        let request = reqwest::Client::new().get(url).basic_auth("pro@example.org", Some("secret"));
        let answer = request.send().await.expect("it is answered");
        if answer.status() == 200 {
            return answer.json().await.expect("JSON");
        }
        assert_eq!(answer.status(), 503, "{}", answer.text().await.expect("text"));
    }
}

#[test]
fn mails_that_are_due_during_takeovers_arrive_and_at_most_once_more_for_each() {
    let mails = rounds(240, 10_000);
    let takeovers = rounds(4, 100);
    let posts: Vec<_> = (0..SERVERS).map(|_| Post::open(&Arc::<ManualClock>::default())).collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    if let Err(reason) = runtime.block_on(take_over_until_settled(&posts, mails, takeovers)) {
        return println!("skipped: {reason}");
    }
    let repeats = examine(&posts, mails);
    println!("{mails} mails, {takeovers} takeovers: {repeats} repeats");
    assert!(repeats <= takeovers * ATTEMPTS_MAX, "{repeats} repeats");
}

/// Has one server after another take over while mails are sent, until all are settled.
async fn take_over_until_settled(
    posts: &[Post],
    mails: u64,
    takeovers: u64,
) -> Result<(), &'static str> {
    let (_pair, mut servers) = served(mails, posts).await?;
    for nth in 0..takeovers {
        let first = servers.deciding().await;
        let goal = usize::try_from((nth + 1) * mails / (takeovers + 1)).expect("small");
        let began = Stopwatch::now();
        while count(posts) < goal {
            assert!(began.elapsed() < ARRIVAL_MAX, "{} have arrived", count(posts));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // One that dies, and one that comes back in the middle of its attempts.
        if nth.is_multiple_of(2) {
            servers.members[first].kill();
        } else {
            servers.members[first].pause();
            while servers.deciding().await == first {}
            servers.members[first].signal("CONT");
            servers.expect_fenced(first).await;
        }
        posts[first].begins_another_life();
    }
    let began = Stopwatch::now();
    while lines(&mut servers, "planned,sending").await["totalRecords"] != 0 {
        assert!(began.elapsed() < ARRIVAL_MAX, "{} have arrived", count(posts));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(lines(&mut servers, "sent").await["totalRecords"], mails, "each is final");
    Ok(())
}

/// A mail as it has arrived.
#[derive(Debug)]
struct MailCopy {
    /// Its Message-ID.
    identity: String,
    /// The server that has sent it.
    server: usize,
    /// Which of its processes that was.
    life: u64,
}

/// The number of mails that have arrived.
fn count(posts: &[Post]) -> usize {
    posts.iter().map(Post::count).sum()
}

/// Returns the number of repeats, of which no process has sent two of a mail.
fn examine(posts: &[Post], mails: u64) -> u64 {
    let mut arrived: BTreeMap<String, Vec<MailCopy>> = BTreeMap::new();
    for (server, post) in posts.iter().enumerate() {
        for Taken { to, identity, life, .. } in post.taken() {
            arrived.entry(to).or_default().push(MailCopy { identity, server, life });
        }
    }
    let mut repeats = 0;
    for id in 1..=mails {
        let to = recipient(id);
        let copies = arrived.remove(&to).unwrap_or_else(|| panic!("{to} got none"));
        let processes: BTreeSet<_> = copies.iter().map(|copy| (copy.server, copy.life)).collect();
        assert_eq!(processes.len(), copies.len(), "{to} got it twice from one: {copies:?}");
        assert!(copies.iter().all(|copy| copy.identity == copies[0].identity), "{copies:?}");
        repeats += u64::try_from(copies.len()).expect("small") - 1;
    }
    assert!(arrived.is_empty(), "others got mails: {arrived:?}");
    repeats
}
