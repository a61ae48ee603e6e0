//! A server in this process, on a port of its own, whose clock stands still.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;
use slotbook::clock::ManualClock;
use slotbook::domain::availability::catalogue::Catalogue;
use slotbook::domain::directory::Directory;
use slotbook::domain::state::group_state::GroupState;
use slotbook::domain::time::Instant;
use slotbook::engine::admission::AdmissionLimits;
use slotbook::engine::mailbox::Transport;
use slotbook::engine::randomness::Randomness;
use slotbook::engine::{Engine, EngineParts};
use slotbook::http::BookingLimits;
use slotbook::http::{ServedStore, Server, serve};
use slotbook::notify::Gateways;
use slotbook::notify::smtp::{SmtpClient, SmtpServer, TlsMode};
use slotbook::password::hash_password;
use slotbook::store::{
    BatchNumber, Checkpoint, JournalRecord, Log, SimulatedDisk, SimulatedLog, StoreError,
};
use slotbook::transfer::demo::demo_content;
use slotbook::transfer::export;
use slotbook::web;
use tokio::sync::Mutex;

use crate::shop;

/// Gateways with a mail server that nothing is carried to, so that mails wait and can be read.
pub(crate) fn gateways(public_url: &str) -> Gateways {
    let mail = SmtpClient::new(&SmtpServer {
        host: "127.0.0.1".to_owned(),
        port: 9,
        tls_mode: TlsMode::None,
        root_certificates: None,
        login: None,
        from: "slotbook@localhost".to_owned(),
        timeout: Duration::from_secs(1),
    });
    Gateways { mail: Some(mail.expect("legal options")), ..Gateways::unconfigured(public_url) }
}

/// A running server.
pub(crate) struct TestServer {
    base: String,
    client: reqwest::Client,
    clock: Arc<ManualClock>,
    pub(crate) engine: Engine,
    /// The data directory, which holds the list of erased clients alone.
    pub(crate) data: tempfile::TempDir,
    /// While somebody holds it, nothing reaches the disk, and no write is answered.
    pub(crate) disk: Arc<Mutex<()>>,
}

/// A log on a disk that may be held.
struct Held {
    log: SimulatedLog,
    disk: Arc<Mutex<()>>,
}

impl Log for Held {
    fn append(&mut self, records: &[JournalRecord]) -> Result<BatchNumber, StoreError> {
        let _free = self.disk.blocking_lock();
        self.log.append(records)
    }

    fn sync_watermark(&mut self) -> Result<(), StoreError> {
        self.log.sync_watermark()
    }

    fn checkpoint(&mut self) -> Result<Checkpoint, StoreError> {
        self.log.checkpoint()
    }

    fn close(self) -> Result<(), StoreError> {
        self.log.close()
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("JSON: {}", self.text))
    }

    /// The text with a sign for each number, which in an error is the id that was asked for.
    pub(crate) fn text_without_numbers(&self) -> String {
        let mut text = self.text.replace(|sign: char| sign.is_ascii_digit(), "#");
        while text.contains("##") {
            text = text.replace("##", "#");
        }
        text
    }

    /// Code and field of each entry of an error body.
    pub(crate) fn errors(&self) -> Vec<(i64, Option<String>)> {
        let json = self.json();
        let entries = json["errors"].as_array().unwrap_or_else(|| panic!("errors: {}", self.text));
        let field = |entry: &Value| {
            entry.get("field").map(|field| field.as_str().expect("a text").to_owned())
        };
        entries
            .iter()
            .map(|entry| (entry["code"].as_i64().expect("a code"), field(entry)))
            .collect()
    }

    /// Asserts a status and the code and field of the only entry.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: i64, field: Option<&str>) {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.errors(), [(code, field.map(str::to_owned))], "{}", self.text);
    }

    /// Asserts a status and returns the JSON.
    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }
}

impl TestServer {
    /// The shop at eight in the morning of a Monday.
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// The same with other settings of group 4.
    pub(crate) async fn with(change: impl FnOnce(&mut Catalogue)) -> Self {
        Self::serving(vec![shop::group_four(change), shop::group_five()], |server| server).await
    }

    /// The same, where Cleo has an account in group 4.
    pub(crate) async fn with_account(change: impl FnOnce(&mut Catalogue)) -> Self {
        let mut four = shop::group_four(change);
        shop::open_account(&mut four, shop::OWN_FICHE, shop::CLEO.0);
        Self::serving(vec![four, shop::group_five()], |server| server).await
    }

    /// The same with a team.
    pub(crate) async fn with_team(change: impl FnOnce(&mut Catalogue)) -> Self {
        let mut four = shop::group_four(change);
        shop::open_account(&mut four, shop::OWN_FICHE, shop::CLEO.0);
        let mut directory = shop::directory();
        shop::add_team(&mut directory);
        let limits = AdmissionLimits::default();
        Self::begin(limits, directory, vec![four, shop::group_five()], |server| server).await
    }

    /// The shop of these groups.
    pub(crate) async fn serving(
        group_states: Vec<GroupState>,
        configure: impl FnOnce(Server) -> Server,
    ) -> Self {
        Self::within(AdmissionLimits::default(), group_states, configure).await
    }

    /// The same, with so many writes under way at most.
    pub(crate) async fn within(
        admission_limits: AdmissionLimits,
        group_states: Vec<GroupState>,
        configure: impl FnOnce(Server) -> Server,
    ) -> Self {
        Self::begin(admission_limits, shop::directory(), group_states, configure).await
    }

    /// The demonstration, with a key of the operator.
    pub(crate) async fn demonstration() -> Self {
        let mut content =
            demo_content(shop::clock(8, 0), &|sha1| hash_password(sha1)).expect("legal");
        shop::add_operator_key(&mut content.directory);
        let limits = AdmissionLimits::default();
        Self::begin(limits, content.directory, content.group_states, |server| server).await
    }

    /// The same with these keys and professionals.
    pub(crate) async fn begin(
        admission_limits: AdmissionLimits,
        directory: Directory,
        group_states: Vec<GroupState>,
        configure: impl FnOnce(Server) -> Server,
    ) -> Self {
        let clock = Arc::new(ManualClock::at(shop::clock(8, 0)));
        let (log, _) = SimulatedDisk::new().recover(|_, _| Ok(())).expect("an empty disk recovers");
        let parts = EngineParts {
            directory,
            group_states: group_states.into_iter().map(Arc::new).collect(),
            clock: Arc::clone(&clock) as Arc<dyn slotbook::clock::Clock>,
            randomness: Randomness::seeded([7; 32]),
            transport: Transport::direct(),
            admission_limits,
            decision_timeout: Duration::from_secs(10),
        };
        let disk = Arc::new(Mutex::new(()));
        let (engine, journal) = Engine::start(parts, Held { log, disk: Arc::clone(&disk) }).await;
        std::thread::spawn(move || journal.run());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("it is bound"));
        let data = tempfile::tempdir().expect("a directory");
        let write_document =
            |directory: &Directory, states: &[Arc<GroupState>], out: &mut dyn Write| {
                export::write_document(directory, states, out)
            };
        let store = ServedStore {
            data: data.path().to_owned(),
            shared: None,
            reserve_mib: 0,
            write_document,
        };
        let routes = web::service(configure(
            Server::new(engine.clone(), 2)
                .limit_bookings(BookingLimits::NONE)
                .with_store(store)
                .with_gateways(Arc::new(gateways(""))),
        ));
        tokio::spawn(serve(listener, routes, 100, std::future::pending()));
        Self { base, client: reqwest::Client::new(), clock, engine, data, disk }
    }

    /// Moves the clock.
    pub(crate) fn at(&self, moment: Instant) {
        self.clock.set(moment);
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    /// A request without anything.
    pub(crate) fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }

    /// A request by the key of group 4 alone; the path may have a query.
    pub(crate) fn by_key(&self, method: Method, path: &str) -> RequestBuilder {
        let separator = if path.contains('?') { '&' } else { '?' };
        self.bare(method, &format!("/api/v1{path}{separator}apikey={}", shop::KEY))
    }

    /// A request by the professional of group 4.
    pub(crate) fn by_pro(&self, method: Method, path: &str) -> RequestBuilder {
        self.by_key(method, path).basic_auth(shop::ANN.0, Some(shop::ANN.1))
    }

    /// A request by somebody of group 4.
    pub(crate) fn by(&self, person: (&str, &str), method: Method, path: &str) -> RequestBuilder {
        self.by_key(method, path).basic_auth(person.0, Some(person.1))
    }

    /// A request by the client of group 4 with an account.
    pub(crate) fn by_account(&self, method: Method, path: &str) -> RequestBuilder {
        self.by_key(method, path).basic_auth(shop::CLEO.0, Some(shop::CLEO.1))
    }

    pub(crate) async fn account_get(&self, path: &str) -> Answer {
        answer(self.by_account(Method::GET, path)).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        answer(self.by_key(Method::GET, path)).await
    }

    pub(crate) async fn pro_get(&self, path: &str) -> Answer {
        answer(self.by_pro(Method::GET, path)).await
    }
}

/// Sends a request.
pub(crate) async fn answer(request: RequestBuilder) -> Answer {
    let response = request.send().await.expect("the server answers");
    let (status, headers) = (response.status(), response.headers().clone());
    if headers.get("content-type").is_some_and(|it| it == "text/event-stream") {
        // It goes on until the client leaves.
        return Answer { status, headers, text: String::new() };
    }
    Answer { status, headers, text: response.text().await.expect("a text") }
}
