//! Each event in the journal of a group names its author, by whatever way the change came.

use std::path::Path;

use reqwest::header::LOCATION;
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use slotbook::domain::records::author::{Author, KeyId};
use slotbook::domain::records::ids::{FicheId, ProId};
use slotbook::domain::state::event::Event;
use slotbook::domain::state::group_record::GroupRecord;
use slotbook::store::codec;
use slotbook::store::{
    BatchNumber, Frames, JournalRecord, Position, RecoveryVisitor, Store, StoreError, Stream,
};

use super::released::expect_released;
use super::server::{Served, booking, complaint, half_hour, practice, run, store_of};

/// Collects the records of groups.
#[derive(Default)]
struct Records(Vec<GroupRecord>);

impl RecoveryVisitor for Records {
    fn snapshot(
        &mut self,
        _: Stream,
        _: Position,
        frames: &mut dyn Frames,
    ) -> Result<(), StoreError> {
        while frames.next()?.is_some() {}
        Ok(())
    }

    fn record(&mut self, _: BatchNumber, record: JournalRecord) -> Result<(), StoreError> {
        if let Stream::Group(_) = record.stream {
            self.0.push(codec::decode_format(&record.bytes, record.format)?);
        }
        Ok(())
    }
}

/// The records that the journals of a store hold.
fn records(data: &Path) -> Vec<GroupRecord> {
    let mut records = Records::default();
    drop(Store::open(data).expect("a store").recover(&mut records).expect("it is read"));
    expect_released(data);
    records.0
}

/// A running server, and a client of it.
struct Shop {
    served: Served,
    http: Client,
}

impl Shop {
    fn on(data: &Path) -> Self {
        let http = Client::builder().redirect(reqwest::redirect::Policy::none()).build();
        Self { served: Served::on(data, &[]), http: http.expect("a client") }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.served.base))
    }

    fn by_key(&self, method: Method, path: &str) -> RequestBuilder {
        self.request(method, &format!("/api/v1/groups/1{path}")).header("X-Api-Key", "test-key")
    }

    fn by_pro(&self, method: Method, path: &str) -> RequestBuilder {
        self.by_key(method, path).basic_auth("pro@example.org", Some("secret"))
    }

    /// Posts the form of a page of this server.
    async fn post_form(&self, path: &str, pairs: &[(String, String)]) -> Response {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(pairs);
        let form = self.request(Method::POST, path).header("origin", &self.served.base);
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        form.body(body.finish()).send().await.expect("an answer")
    }
}

async fn ok(request: RequestBuilder) -> Value {
    let answer = request.send().await.expect("an answer");
    let status = answer.status();
    let text = answer.text().await.expect("text");
    assert!(status.is_success(), "{status} {text}");
    serde_json::from_str(&text).expect("JSON")
}

/// The hidden fields of a form.
fn hidden(html: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for rest in html.split("<input type=\"hidden\" name=\"").skip(1) {
        let (name, rest) = rest.split_once("\" value=\"").expect("a value");
        pairs.push((name.to_owned(), rest.split('"').next().expect("a value").to_owned()));
    }
    pairs
}

/// Books on the page for visitors, and cancels by the link of the booking.
async fn visit(shop: &Shop) {
    let form = shop.request(Method::GET, "/b/practice/you?s=1&t=2030-01-20T09:00");
    let html = form.send().await.expect("an answer").text().await.expect("text");
    let mut pairs = hidden(&html);
    for (name, value) in [("lastname", "Durand"), ("firstname", "Zoé"), ("email", "z@example.org")]
    {
        pairs.push((format!("fiche.{name}"), value.to_owned()));
    }
    let booked = shop.post_form("/b/practice/you", &pairs).await;
    assert_eq!(booked.status(), 303, "{}", booked.text().await.expect("text"));
    let done = booked.headers()[LOCATION].to_str().expect("ASCII").to_owned();
    let done = shop.request(Method::GET, &done).send().await.expect("an answer");
    let done = done.text().await.expect("text");
    let link = done.split("href=\"").find(|rest| rest.starts_with("/m/c.")).expect("a link");
    let link = link.split('"').next().expect("a URL").trim_end_matches("/move");
    assert_eq!(shop.post_form(link, &[]).await.status(), 200);
}

/// Changes of which each has another author, in an order. Returns their authors.
async fn change(shop: &Shop, key: KeyId) -> Vec<Author> {
    let book = |nth: u64| booking(&format!("c{nth}"), &half_hour(nth * 2), 1, &[1]);
    let put = |nth: u64| json!({"vevent": {"start": half_hour(nth), "end": half_hour(nth + 1)}});
    let pro = Author::Professional { id: ProId::new(1).expect("an id"), key: Some(key) };
    let client = FicheId::new(70).expect("an id");
    let account = Author::Account { client, key: Some(key) };
    let mut authors = Vec::new();

    visit(shop).await;
    authors.extend([Author::Visitor; 2]);

    let made = ok(shop.by_key(Method::POST, "/appointments").json(&book(1))).await;
    let id = &made["records"][0]["id"];
    let secret = made["records"][0]["key"].as_str().expect("a secret").to_owned();
    ok(shop.by_pro(Method::PUT, &format!("/vevents/{id}")).json(&put(4))).await;
    let cancel = format!("/appointments/{id}?key={secret}");
    ok(shop.by_key(Method::DELETE, &cancel)).await;
    authors.extend([Author::Application(key), pro, Author::Application(key)]);

    // A batch is one event, and the same key again is none.
    let row = json!({"method": "PUT", "path": "/api/v1/groups/1/fiches?externid=7",
        "body": {"fiche": {"lastname": "Curie"}}});
    for _ in 0..2 {
        let batch = shop.by_pro(Method::POST, "/batch").header("Idempotency-Key", "a-batch");
        ok(batch.json(&json!({"requests": [row, row]}))).await;
    }
    authors.push(pro);

    let own = shop.by_key(Method::POST, "/appointments").json(&book(9));
    let own = ok(own.basic_auth("cleo@example.org", Some("secret"))).await;
    let moved = shop.by_key(Method::PUT, &format!("/appointments/{}", own["records"][0]["id"]));
    let moved = moved.json(&json!({"appointment": {"date": half_hour(30)}}));
    ok(moved.basic_auth("cleo@example.org", Some("secret"))).await;
    authors.extend([account; 2]);
    authors
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_event_names_its_author_whatever_way_it_came() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = practice(1);
    let group = &mut document["groups"][0];
    group["fiches"] = json!([{"id": 70, "lastname": "Cleo", "email": "cleo@example.org"}]);
    group["accounts"] =
        json!([{"email": "cleo@example.org", "fiche_id": 70, "password": "secret"}]);
    let data = store_of(folder.path(), &document);
    let listed = String::from_utf8(run(&["key", "list"], &data).stdout).expect("text");
    let key = KeyId::of_hash(&Sha256::digest("test-key").into());
    assert!(listed.starts_with(&key.to_string()), "{listed}");
    let before = records(&data).len();

    let shop = Shop::on(&data);
    let mut authors = change(&shop, key).await;
    let run = |arguments: &[&str]| {
        let done = run(arguments, &data);
        assert!(done.status.success(), "{}", complaint(&done));
        String::from_utf8(done.stdout).expect("text")
    };
    let operator = run(&["key", "add", "--operator"]).trim().to_owned();
    let found = shop.request(Method::POST, "/api/v1/groups").header("X-Api-Key", &operator);
    ok(found.json(&json!({"group": {"name": "Other", "timezone": "UTC"}}))).await;
    authors.push(Author::Application(KeyId::of_hash(&Sha256::digest(&operator).into())));
    run(&["group", "add", "By the socket", "--timezone", "UTC"]);
    assert_eq!(shop.served.end("TERM").0, Some(0));
    run(&["group", "add", "By a command", "--timezone", "UTC"]);
    authors.extend([Author::Operator; 2]);

    let mut caused = Vec::new();
    let mut deliveries = 0;
    for record in records(&data).split_off(before) {
        let author = record.author.expect("each record names its author");
        match record.event {
            Event::MessagePut { .. } => {
                assert_eq!(author, Author::Server, "{:?}", record.event);
                deliveries += 1;
            }
            // What the server records by itself comes at any time.
            Event::RetentionCountBegan { .. } | Event::AccountUsed { .. } => {
                assert_eq!(author, Author::Server, "{:?}", record.event);
            }
            _ => caused.push(author),
        }
    }
    assert_eq!(caused, authors);
    assert!(deliveries > 0, "mails are kept without a mail server");
}
