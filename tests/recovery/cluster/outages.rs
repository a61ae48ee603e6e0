//! A server that decides without PostgreSQL, and one without its lease: what it answers, and what not.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

use super::postgres::{Pair, query};
use super::servers::{ServerOptions, Servers};
use crate::receivers::{Receiver, Reply};
use crate::server::{appointments, booking, complaint, half_hour, practice, run};

/// Longest time until something is seen to happen.
const WAITING_MAX: Duration = Duration::from_secs(30);
/// An outage that is longer than a disk may take for a write.
const LONG_OUTAGE: Duration = Duration::from_secs(65);

/// Requests to the server that decides.
struct Requests {
    http: Client,
    group: String,
}

impl Requests {
    fn to(servers: &Servers, index: usize) -> Self {
        let group = format!("{}/api/v1/groups/1", servers.members[index].base());
        Self { http: Client::new(), group }
    }

    fn booking(&self, nth: u64) -> RequestBuilder {
        self.booking_with(nth, &format!("outage-{nth}"))
    }

    fn booking_with(&self, nth: u64, key: &str) -> RequestBuilder {
        let wish = booking(&format!("o{nth}"), &half_hour(2 * nth), 1, &[2]);
        let request = self.http.post(format!("{}/appointments", self.group)).json(&wish);
        request.query(&[("apikey", "test-key")]).header("Idempotency-Key", key)
    }

    fn read(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}{path}", self.group)).query(&[("apikey", "test-key")])
    }

    fn by_pro(&self, path: &str, body: &Value) -> RequestBuilder {
        let request = self.http.post(format!("{}{path}", self.group)).json(body);
        request.query(&[("apikey", "test-key")]).basic_auth("pro@example.org", Some("secret"))
    }

    fn search(&self) -> RequestBuilder {
        self.read("/availabletimeslots?intervention_ids[]=1&start=2035-01-01%2000:00:00&nDays=1")
    }
}

async fn answer(request: RequestBuilder) -> Response {
    request.timeout(WAITING_MAX).send().await.expect("it is answered")
}

async fn expect_status(request: RequestBuilder, status: u16) -> Response {
    let answer = answer(request).await;
    if answer.status() != status {
        panic!("{} {}", answer.status(), answer.text().await.expect("text"));
    }
    answer
}

/// Waits until reads are refused, for want of a lease.
async fn expect_unleased(requests: &Requests) {
    let began = Instant::now();
    while answer(requests.read("/calendars")).await.status() != 503 {
        assert!(began.elapsed() < WAITING_MAX, "it answers on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_waits_for_the_end_of_an_outage_and_no_process_ends() {
    let pair = match Pair::start() {
        Ok(pair) => pair,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let mut servers = Servers::start(&pair, &practice(1), 2).await;
    let deciding = servers.deciding().await;
    let requests = Requests::to(&servers, deciding);
    expect_status(requests.booking(1), 201).await;
    pair.set_standby_names("nobody");
    let began = Instant::now();
    // Sent before anyone knows of the outage.
    let waiting = expect_status(requests.booking(2), 503).await;
    assert!(began.elapsed() < WAITING_MAX, "{:?}", began.elapsed());
    assert_eq!(waiting.headers()["retry-after"], "5");
    let text = waiting.text().await.expect("text");
    assert!(text.contains("whether something was done is not known"), "{text}");
    let refused = expect_status(requests.booking(3), 503).await;
    let text = refused.text().await.expect("text");
    assert!(text.contains("the store of the cluster does not answer; nothing was done"), "{text}");
    let found = expect_status(requests.search(), 200).await;
    assert!(found.headers().contains_key("age"), "it says how old it is");
    let ready = Client::new().get(format!("{}/readyz", servers.members[deciding].base()));
    expect_status(ready, 503).await;
    tokio::time::sleep(LONG_OUTAGE.saturating_sub(began.elapsed())).await;
    expect_status(requests.search(), 503).await;
    // PostgreSQL itself ends no such wait.
    let said = servers.members[deciding].said();
    assert!(
        said.contains("no answer within 10 s: a commit waits for a synchronous standby"),
        "{said}"
    );
    pair.set_standby_names("*");
    // Neither has ended, and one decides on.
    let deciding = servers.deciding().await;
    let requests = Requests::to(&servers, deciding);
    for nth in [2, 3] {
        expect_status(requests.booking(nth), 201).await;
    }
    assert_eq!(appointments(&servers.exported(deciding)).count(), 3, "each is there once");
}

/// Has another session lock the row of the server that decides, so that no beat arrives, until counts of part 7
/// are there.
fn lock_holder(pair: &Pair) -> JoinHandle<String> {
    let (programs, account, port) = (pair.programs.clone(), pair.account, pair.ports[pair.primary]);
    let lock = "DO $$ BEGIN PERFORM FROM slotbook.holder FOR UPDATE; \
                FOR i IN 1..600 LOOP EXIT WHEN EXISTS (SELECT FROM slotbook.counts WHERE part = 7); \
                PERFORM pg_sleep(0.1); END LOOP; END $$";
    std::thread::spawn(move || query(&programs, account, port, lock))
}

#[test]
fn without_a_lease_only_what_is_durable_is_answered() {
    let receiver = Receiver::open(|_, _| Reply::Status(200));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    if let Err(reason) = runtime.block_on(answer_without_lease(&receiver)) {
        println!("skipped: {reason}");
    }
}

async fn answer_without_lease(receiver: &Receiver) -> Result<(), &'static str> {
    let pair = Pair::start()?;
    let arguments = ["--webhook-allow", "127.0.0.0/8"].map(str::to_owned).to_vec();
    let options = ServerOptions { arguments, ..ServerOptions::default() };
    let mut servers = Servers::start_with(&pair.ports, &practice(1), &[options]).await;
    let only = servers.deciding().await;
    let requests = Requests::to(&servers, only);
    let webhook = json!({"url": receiver.url(), "objects": []});
    expect_status(requests.by_pro("/webhooks", &webhook), 201).await;
    for nth in 1..=3 {
        expect_status(requests.booking(nth), 201).await;
    }
    let page = || Client::new().get(format!("{}/b/practice", servers.members[only].base()));
    expect_status(page(), 200).await;
    let stream = requests.read("/events").basic_auth("pro@example.org", Some("secret"));
    let stream = expect_status(stream.header("accept", "text/event-stream"), 200).await;
    let ended = tokio::spawn(async move { stream.bytes().await });
    let lock = lock_holder(&pair);
    expect_unleased(&requests).await;
    let delivered = receiver.arrived().len();
    // Appends need no lease: they are in the history that all servers share.
    expect_status(requests.booking(4), 201).await;
    // All else does: a refusal, a replay, a page, and what the operator is answered.
    for request in [requests.booking_with(4, "another"), requests.booking(4), page()] {
        let text = expect_status(request, 503).await.text().await.expect("text");
        assert!(text.contains("another server may have taken over"), "{text}");
    }
    let operator = run(&["key", "list"], &servers.members[only].data);
    assert!(!operator.status.success());
    assert!(complaint(&operator).contains("another server may have taken over"));
    // Tasks of their own write these.
    let since = json!({"since": "2020-01-01 00:00:00", "count": 4, "sendmail": 0});
    let cancelled = expect_status(requests.by_pro("/appointments/cancel_alike", &since), 200).await;
    let cancelled: Value = cancelled.json().await.expect("JSON");
    assert_eq!(cancelled["cancelled"], 4, "{cancelled}");
    expect_status(requests.by_pro("/fiches/1/erase", &json!({})), 200).await;
    let told = tokio::time::timeout(WAITING_MAX, ended).await.expect("the stream has ended");
    drop(told.expect("no panic"));
    // Deliveries of these wait as well.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(receiver.arrived().len(), delivered);
    pair.query("INSERT INTO slotbook.counts VALUES (7, '', 0, '')");
    lock.join().expect("it was locked");
    assert_eq!(servers.deciding().await, only);
    let began = Instant::now();
    while answer(requests.booking(5)).await.status() != 201 {
        assert!(began.elapsed() < WAITING_MAX, "{}", servers.members[only].said());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let document = servers.exported(only);
    let live = appointments(&document).filter(|row| row["deleted"] != true).count();
    assert_eq!(live, 1, "{document}");
    while receiver.arrived().len() == delivered {
        assert!(began.elapsed() < WAITING_MAX, "{}", servers.members[only].said());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
