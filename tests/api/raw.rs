//! Request lines as clients write them, over a connection of our own: a good client would encode them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::server::TestServer;
use crate::shop::{ANN, CALENDAR, KEY};

/// A connection by the professional of group 4.
pub(crate) struct Connection(TcpStream);

impl Connection {
    pub(crate) async fn to(server: &TestServer) -> Self {
        Self(TcpStream::connect(server.address()).await.expect("the server listens"))
    }

    /// Sends a request line and what follows the common headers.
    pub(crate) async fn send(&mut self, line: &[u8], rest: &str) {
        let credentials = BASE64_STANDARD.encode(format!("{}:{}", ANN.0, ANN.1));
        let head = format!(
            " HTTP/1.1\r\nHost: shop.example\r\nAuthorization: Basic {credentials}\r\n{rest}"
        );
        self.0.write_all(&[line, head.as_bytes()].concat()).await.expect("it is taken");
    }

    /// Sends what comes next, as far as it is taken.
    pub(crate) async fn go_on(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write_all(bytes).await
    }

    /// Whether the server ends the connection, all else of it read.
    pub(crate) async fn ends(mut self) -> bool {
        let mut rest = Vec::new();
        // Cut off is an end too.
        drop(self.0.read_to_end(&mut rest).await);
        rest.is_empty()
    }

    /// Status and body of the next answer.
    pub(crate) async fn answer(&mut self) -> (u16, String) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.expect("the head goes on"));
        }
        let head = String::from_utf8(head).expect("a text").to_lowercase();
        let status =
            head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
        self.0.read_exact(&mut body).await.expect("the body goes on");
        (status, String::from_utf8(body).expect("a text"))
    }

    pub(crate) async fn get(&mut self, target: &[u8]) -> (u16, String) {
        self.send(&[b"GET ", target].concat(), "\r\n").await;
        self.answer().await
    }

    pub(crate) async fn post(&mut self, target: &str, body: &Value) -> (u16, String) {
        let body = body.to_string();
        let rest = format!(
            "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.send(format!("POST {target}").as_bytes(), &rest).await;
        self.answer().await
    }
}

fn json(answer: &(u16, String)) -> Value {
    serde_json::from_str(&answer.1).unwrap_or_else(|_| panic!("JSON: {answer:?}"))
}

fn note(text: &str) -> Value {
    json!({"calendar_id": CALENDAR, "start": "2025-06-02", "end": "2025-06-02", "note": 1, "text": text})
}

#[tokio::test]
async fn conditions_are_taken_as_they_are_written_and_bodies_as_they_came() {
    let server = TestServer::start().await;
    let mut connection = Connection::to(&server).await;
    let vevents = format!("/api/v1/groups/4/vevents?apikey={KEY}");
    let from = |op: &str, day: &str| {
        let condition = "conditions[0][field]=start&conditions[0][op]=";
        format!("{vevents}&{condition}{op}&conditions[0][value]={day}").into_bytes()
    };
    let written = connection.get(&from(">=", "2025-06-01")).await;
    assert_eq!(written.0, 200, "{written:?}");
    assert_eq!(connection.get(&from("%3E%3D", "2025-06-01")).await, written, "the same as encoded");
    let total = json(&written)["totalRecords"].as_u64().expect("a number");
    let text = "1 > 0 \"<é>\" ` \n\nGET /?a=> HTTP/1.1\n\n";
    let made = connection.post(&vevents, &note(text)).await;
    assert_eq!((made.0, &json(&made)["text"]), (201, &json!(text)), "{made:?}");
    let again = connection.get(&from(">=", "2025-06-01")).await;
    assert_eq!((again.0, &json(&again)["totalRecords"]), (200, &json!(total + 1)));
    let before = connection.get(&from("<", "2025-06-01")).await;
    assert_eq!((before.0, &json(&before)["totalRecords"]), (200, &json!(0)), "{before:?}");
}

#[tokio::test]
async fn a_client_that_appends_format_and_key_to_every_address_gets_the_lists_it_means() {
    let server = TestServer::start().await;
    let mut connection = Connection::to(&server).await;
    let headers = "User-Agent: PhpRestClient\r\nAccept: application/json\r\n\
        Content-Type: application/json\r\n\r\n";
    let mut listed = async |query: &str| {
        let target = format!("GET /api/v1/groups/4/calendars{query}?format=json&apikey={KEY}");
        connection.send(target.as_bytes(), headers).await;
        let answer = connection.answer().await;
        assert_eq!(answer.0, 200, "{query}: {answer:?}");
        let list = json(&answer);
        let records = list["records"].as_array().expect("a list").clone();
        let ids: Vec<Value> = records.iter().map(|record| record["id"].clone()).collect();
        assert_eq!(list["totalRecords"], ids.len(), "{query}");
        ids
    };
    let all = listed("").await;
    assert!(all.len() > 1, "{all:?}");
    assert_eq!(listed("?results=all").await, all);
    assert_eq!(listed("?search=Ann").await, [CALENDAR]);
    let backwards: Vec<Value> = all.iter().rev().cloned().collect();
    assert_eq!(listed("?dir=desc&sort=id").await, backwards);
    let condition = "?conditions[0][field]=id&conditions[0][op]=>&conditions[0][value]";
    assert_eq!(listed(&format!("{condition}={CALENDAR}")).await, all[1..]);
    for (query, status, total) in [
        ("search=Ann%3Fformat=json", 200, json!(0)),
        ("search=Ann?format=xml", 406, Value::Null),
        ("results=all?apikey=another", 400, Value::Null),
    ] {
        let target = format!("/api/v1/groups/4/calendars?apikey={KEY}&{query}");
        let answer = connection.get(target.as_bytes()).await;
        assert_eq!((answer.0, &json(&answer)["totalRecords"]), (status, &total), "{query}");
    }
}

#[tokio::test]
async fn letters_and_quotes_are_found_as_they_are_written() {
    let server = TestServer::start().await;
    let mut connection = Connection::to(&server).await;
    let vevents = format!("/api/v1/groups/4/vevents?apikey={KEY}");
    assert_eq!(connection.post(&vevents, &note("\"Zoé\" <new>")).await.0, 201);
    for (written, found) in [("\"Zoé\"", 1), ("<new>", 1), ("`Zoé`", 0)] {
        let listed = connection.get(format!("{vevents}&search={written}").as_bytes()).await;
        assert_eq!((listed.0, &json(&listed)["totalRecords"]), (200, &json!(found)), "{written}");
    }
    let torn = connection.get(&[vevents.as_bytes(), b"&search=Zo\xE9"].concat()).await;
    assert_eq!(
        (torn.0, &json(&torn)["totalRecords"]),
        (200, &json!(0)),
        "no text, so no text is like it"
    );
}

#[tokio::test]
async fn requests_sent_all_at_once_are_answered_in_turn() {
    let server = TestServer::start().await;
    let mut connection = Connection::to(&server).await;
    for op in [">", "<", ">="] {
        let query = format!(
            "apikey={KEY}&conditions[0][field]=id&conditions[0][op]={op}&conditions[0][value]=0"
        );
        connection.send(format!("GET /api/v1/groups/4/calendars?{query}").as_bytes(), "\r\n").await;
    }
    for some in [true, false, true] {
        let listed = connection.answer().await;
        assert_eq!((listed.0, json(&listed)["totalRecords"] != 0), (200, some), "{listed:?}");
    }
}

#[tokio::test]
async fn what_is_no_request_is_refused_and_ends_the_connection() {
    let server = TestServer::start().await;
    for target in ["/healthz?\0", "/healthz?a b", "/healthz?>\t", "/healthz?\r>"] {
        let mut connection = Connection::to(&server).await;
        assert_eq!(connection.get(target.as_bytes()).await, (400, String::new()), "{target:?}");
        assert_eq!(
            connection.0.read(&mut [0]).await.expect("it is closed in good order"),
            0,
            "{target:?}"
        );
    }
}
