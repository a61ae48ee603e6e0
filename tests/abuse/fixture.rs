//! The demonstration on a server in this process, and strangers from several addresses.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use slotbook::clock::{Clock, ManualClock};
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::Instant;
use slotbook::domain::time::zone::Zone;
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::{Engine, EngineParts};
use slotbook::http::{ForwardingHeader, Server, serve};
use slotbook::password;
use slotbook::store::SimulatedDisk;
use slotbook::transfer::demo;
use slotbook::transfer::import::read_document;
use slotbook::web;

/// The public key of the demonstration.
pub(crate) const KEY: &str = "demo-key-town-practice";
/// The professional of the demonstration, with the password.
pub(crate) const ANNA: (&str, &str) = ("anna@example.org", "demo-password");
/// The only proxy whose X-Forwarded-For is believed.
pub(crate) const PROXY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 100));

/// A practice whose clock stands still at eight in the morning of the demonstration's Monday.
pub(crate) struct Practice {
    address: SocketAddr,
    clock: Arc<ManualClock>,
    pub(crate) engine: Engine,
}

/// A caller with a source address of its own.
pub(crate) struct Visitor {
    base: String,
    client: reqwest::Client,
    /// The address that the proxy names.
    forwarded_for: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Practice {
    /// The demonstration as it comes, with the limits as they come.
    pub(crate) async fn open() -> Self {
        Self::with(|_| {}, |server| server).await
    }

    /// The same with another document, or with other options.
    pub(crate) async fn with(
        change: impl FnOnce(&mut Value),
        configure: impl FnOnce(Server) -> Server,
    ) -> Self {
        Self::started(change, |_| {}, configure, 1_000).await
    }

    /// The demonstration with a maximum of connections at once.
    pub(crate) async fn of_connections(connections_max: usize) -> Self {
        Self::started(|_| {}, |_| {}, |server| server, connections_max).await
    }

    /// The demonstration with another state of its group.
    pub(crate) async fn with_state(change: impl FnOnce(&GroupState) -> GroupState) -> Self {
        let change = |state: &mut GroupState| *state = change(state);
        Self::started(|_| {}, change, |server| server, 1_000).await
    }

    async fn started(
        change: impl FnOnce(&mut Value),
        change_state: impl FnOnce(&mut GroupState),
        configure: impl FnOnce(Server) -> Server,
        connections_max: usize,
    ) -> Self {
        let mut document: Value = serde_json::from_slice(demo::DOCUMENT).expect("JSON");
        let clock = Arc::new(ManualClock::at(opening(&document)));
        change(&mut document);
        let bytes = serde_json::to_vec(&document).expect("JSON");
        let hash = |sha1: &str| password::hash_password(sha1);
        let mut content = read_document(&bytes, clock.now(), &hash).expect("a legal document");
        if let Some(state) = content.group_states.first_mut() {
            change_state(state);
        }
        let parts = EngineParts {
            directory: content.directory,
            group_states: content.group_states.into_iter().map(Arc::new).collect(),
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            randomness: Randomness::seeded([7; 32]),
            transport: Transport::direct(),
            admission_limits: AdmissionLimits::default(),
            decision_timeout: Duration::from_secs(10),
        };
        let (log, _) = SimulatedDisk::new().recover(|_, _| Ok(())).expect("an empty disk recovers");
        let (engine, journal) = Engine::start(parts, log).await;
        std::thread::spawn(move || journal.run());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let server =
            Server::new(engine.clone(), 2).behind(vec![PROXY.into()], ForwardingHeader::default());
        let routes = web::service(configure(server));
        tokio::spawn(serve(listener, routes, connections_max, std::future::pending()));
        Self { address, clock, engine }
    }

    /// The published state of the group.
    pub(crate) fn state(&self) -> Arc<GroupState> {
        let group = GroupId::new(1).expect("an id");
        self.engine.published().group_state(group).expect("the group of the demonstration")
    }

    /// The address that it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Moves the clock ahead.
    pub(crate) fn pass(&self, seconds: i64) {
        self.clock.set(self.clock.now().plus_seconds(seconds));
    }

    /// A visitor whose connections come from an address of the loopback network, as 127.0.0.7.
    pub(crate) fn visitor(&self, address: &str) -> Visitor {
        self.connecting_from(address.parse().expect("an address"), None)
    }

    /// A visitor whom the trusted proxy forwards, of any address.
    pub(crate) fn forwarded(&self, address: &str) -> Visitor {
        self.connecting_from(PROXY, Some(address.to_owned()))
    }

    fn connecting_from(&self, address: IpAddr, forwarded_for: Option<String>) -> Visitor {
        let client = reqwest::Client::builder()
            .local_address(address)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("a client");
        Visitor { base: format!("http://{}/api/v1", self.address), client, forwarded_for }
    }

    /// Three sources of each of six /56s of one /48, each with the number of its /56.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = (usize, Visitor)> {
        (0..18).map(|n| {
            let source = n / 3 * 256 + n % 3;
            (n / 3, self.forwarded(&format!("2001:db8:0:{source:x}::1")))
        })
    }

    /// Free starts of the 20 minutes of intervention 1, each with a calendar, the earliest first.
    pub(crate) async fn free_starts(&self) -> VecDeque<(String, u64)> {
        let path = "/groups/1/availabletimeslots?intervention_ids[]=1&nDays=30";
        let found = self.visitor("127.0.0.1").get(path).await.is(200);
        let mut starts = VecDeque::new();
        for slot in found["availabletimeslots"].as_array().expect("a list") {
            let start = slot["start"].as_str().expect("a time");
            let calendar = slot["calendar_ids"][0].as_u64().expect("an id");
            starts.push_back((start.to_owned(), calendar));
        }
        starts
    }
}

impl Practice {
    /// Free starts at full hours, one for each hour, so that bookings of several do not overlap.
    pub(crate) async fn hourly_starts(&self) -> VecDeque<(String, u64)> {
        let mut starts = self.free_starts().await;
        starts.retain(|(start, _)| start.ends_with(":00:00"));
        starts
    }
}

impl Visitor {
    /// A request with the public key.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let separator = if path.contains('?') { '&' } else { '?' };
        let url = format!("{}{path}{separator}apikey={KEY}", self.base);
        let request = self.client.request(method, url);
        match &self.forwarded_for {
            Some(address) => request.header("x-forwarded-for", address),
            None => request,
        }
    }

    /// A request without a key.
    pub(crate) fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }

    /// A request for a path below the root, as it is.
    pub(crate) fn at_root(&self, method: Method, path: &str) -> RequestBuilder {
        let root = self.base.strip_suffix("/api/v1").expect("the API stands below the root");
        self.client.request(method, format!("{root}{path}"))
    }

    /// A form that a page sends.
    pub(crate) fn form(&self, path: &str, pairs: &[(&str, &str)]) -> RequestBuilder {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let request = self.at_root(Method::POST, path);
        let request =
            request.header("content-type", "application/x-www-form-urlencoded").body(body);
        match &self.forwarded_for {
            Some(address) => request.header("x-forwarded-for", address),
            None => request,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path)).await
    }

    /// A booking at a free start for an e-mail address.
    pub(crate) fn booking(&self, (date, calendar): &(String, u64), email: &str) -> RequestBuilder {
        self.request(Method::POST, "/groups/1/appointments").json(&json!({"appointment": {
            "date": date, "intervention_ids": [1], "calendar_id": calendar,
            "fiche": {
                "lastname": "Durand", "firstname": "Ada", "firstphone": "0639980001", "email": email,
            },
        }}))
    }

    pub(crate) async fn book(&self, start: &(String, u64), email: &str) -> Answer {
        answer(self.booking(start, email)).await
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("JSON: {}", self.text))
    }

    /// Asserts a status and returns the JSON.
    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }

    /// Asserts a status and the code of the first error.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: i64) {
        assert_eq!(self.is(status)["errors"][0]["code"], json!(code), "{}", self.text);
    }
}

/// Sends a request.
pub(crate) async fn answer(request: RequestBuilder) -> Answer {
    let response = request.send().await.expect("the server answers");
    let (status, headers) = (response.status(), response.headers().clone());
    Answer { status, headers, text: response.text().await.expect("a text") }
}

/// Eight in the morning of the Monday around which the document's dates lie.
fn opening(document: &Value) -> Instant {
    let anchor = document["anchor"].as_str().expect("a date");
    let monday = slotbook::wire::datetime::parse(anchor).expect("a date");
    let paris = Zone::from_iana("Europe/Paris").expect("the zone database has Paris");
    paris.instant_of(monday.plus_seconds(8 * 3_600))
}
