use std::net::IpAddr;

use axum::Router;
use axum::http::Uri;
use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::*;
use crate::clock::ManualClock;
use crate::domain::directory::Directory;
use crate::domain::time::Instant;
use crate::engine::admission::AdmissionLimits;
use crate::engine::mailbox::Transport;
use crate::engine::randomness::Randomness;
use crate::engine::{Engine, EngineParts, GroupStates};
use crate::http::connection::departure::Departure;
use crate::http::connection::listener::serve;
use crate::http::request::{AtOperatorSocket, ClientAddress};
use crate::http::server::Server;
use crate::http::service::HttpService;
use crate::store::{Lease, SimulatedDisk, uptime};

/// Longest wait, after which a test has failed: less than that of a server for the next head, which
/// would end a connection too.
const PATIENCE: Duration = Duration::from_secs(15);
const SECRET: ClusterSecret = ClusterSecret::new([7; 32]);
const GET: &str = "GET /whose HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const POST: &str =
    "POST /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\n123";

async fn bind() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    (listener, address)
}

/// A server that follows.
struct Follower {
    address: SocketAddr,
    holder: watch::Sender<Option<String>>,
    take_over: oneshot::Sender<()>,
    served: JoinHandle<FollowingConnections>,
}

impl Follower {
    async fn start(holder: Option<SocketAddr>) -> Self {
        let (listener, address) = bind().await;
        Self::serve(listener, address, holder, format!("http://{address}"))
    }

    /// Starts one that is reached at `own`, once it decides.
    async fn succeeding_to(own: SocketAddr) -> Self {
        let (listener, address) = bind().await;
        Self::serve(listener, address, None, format!("http://{own}"))
    }

    fn serve(
        listener: TcpListener,
        address: SocketAddr,
        holder: Option<SocketAddr>,
        own_url: String,
    ) -> Self {
        let holder = watch::Sender::new(holder.map(|address| format!("http://{address}")));
        let forwarder = Forwarder::new(&SECRET, 100, holder.subscribe());
        let network = "127.0.0.1/32".parse().expect("a network");
        let forwarder =
            forwarder.reached_at(own_url).behind(vec![network], ForwardingHeader::XForwardedFor);
        let forwarder = forwarder.behind_tls(true);
        let (take_over, following) = oneshot::channel();
        let served = tokio::spawn(async move {
            serve_following(following, &listener, &Arc::new(forwarder)).await.1
        });
        Self { address, holder, take_over, served }
    }
}

async fn connect(address: SocketAddr, sent: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(sent.as_bytes()).await.expect("it reads");
    stream
}

/// Reads a stream until a text has come. Returns all that has.
async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut read = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&read).contains(end) {
            let bytes = stream.read_buf(&mut read).await.expect("it sends");
            assert_ne!(bytes, 0, "{} ends before {end:?}", String::from_utf8_lossy(&read));
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("it comes");
    String::from_utf8(read).expect("it is UTF-8")
}

async fn read_all(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let reading = stream.read_to_end(&mut read);
    tokio::time::timeout(PATIENCE, reading).await.expect("it ends").expect("it is not reset");
    String::from_utf8(read).expect("it is UTF-8")
}

/// Returns the answer to a request that closes its connection.
async fn ask(address: SocketAddr, request: &str) -> String {
    read_all(&mut connect(address, request).await).await
}

/// Takes the next connection of a server that answers by hand, and its first request.
async fn accept(listener: &TcpListener, end: &str) -> (TcpStream, String) {
    let accepted = tokio::time::timeout(PATIENCE, listener.accept()).await;
    let (mut stream, _) = accepted.expect("it is asked").expect("it listens");
    let request = read_until(&mut stream, end).await;
    (stream, request)
}

/// Returns the value of a header that a head has once.
fn header<'h>(head: &'h str, name: &str) -> &'h str {
    let mut values = head.lines().filter_map(|line| line.split_once(": "));
    let found = values.find(|(found, _)| found.eq_ignore_ascii_case(name));
    assert!(!values.any(|(other, _)| other.eq_ignore_ascii_case(name)), "{name} twice: {head}");
    found.unwrap_or_else(|| panic!("{name}: {head}")).1
}

fn assert_unavailable(answer: &str, is_undone: bool) {
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert_eq!(header(answer, "retry-after"), "1");
    assert_eq!(answer.contains("nothing was done"), is_undone, "{answer}");
}

/// The URL of the one server that decides all the time.
fn decided_at(holder: SocketAddr) -> watch::Receiver<Option<String>> {
    watch::channel(Some(format!("http://{holder}"))).1
}

/// Starts a server that decides, whose page says the origin of its request. One source may have one
/// connection.
async fn start_holder(in_cluster: bool) -> SocketAddr {
    let forwarder = Forwarder::new(&SECRET, 100, watch::channel(None).1);
    let departure = Arc::new(Departure::new(Arc::new(forwarder)));
    start_server(in_cluster.then_some(departure), 1).await
}

/// The same until it hands over. One source may have many connections.
async fn start_departing(departure: &Arc<Departure>) -> SocketAddr {
    start_server(Some(Arc::clone(departure)), 0).await
}

async fn start_server(departure: Option<Arc<Departure>>, connections_max: usize) -> SocketAddr {
    let parts = EngineParts {
        directory: Directory::default(),
        group_states: GroupStates::default(),
        clock: Arc::new(ManualClock::at(Instant(1_000_000))),
        randomness: Randomness::seeded([1; 32]),
        transport: Transport::direct(),
        admission_limits: AdmissionLimits::default(),
        decision_timeout: Duration::from_secs(10),
    };
    let (log, _) = SimulatedDisk::new().recover(|_, _| Ok(())).expect("a new disk");
    let (engine, _) = Engine::start(parts, log).await;
    let mut server = Server::new(engine.clone(), 1).limited_per_source(connections_max);
    if let Some(departure) = departure {
        let lease = Arc::new(Lease::default());
        lease.note_takeover(uptime() + Duration::from_secs(3_600));
        engine.need_lease(lease);
        server = server.in_cluster(&SECRET, departure, StartProof::new([1; 32]));
    }
    let tell = async |request: Request<Body>| {
        let extensions = request.extensions();
        let ClientAddress(client) = extensions.get().expect("each request has it");
        let is_operator = extensions.get::<AtOperatorSocket>().is_some();
        let has_header = request.headers().contains_key(X_SLOTBOOK_FORWARDED);
        format!("client {client}, operator {is_operator}, header {has_header}")
    };
    let service = HttpService::new(server, |_| Router::new().route("/whose", get(tell)));
    let (listener, address) = bind().await;
    tokio::spawn(serve(listener, service, 100, std::future::pending()));
    address
}

/// Returns a GET that names its origin, sealed some seconds from now.
fn sealed_get(from: ForwardedFrom, seconds: i64) -> String {
    let now = SystemClock.now().plus_seconds(seconds);
    let uri = Uri::from_static("/whose");
    let seal = ForwardingSeal::new(&SECRET).seal(from, &Method::GET, &uri, now);
    let seal = seal.to_str().expect("it is ASCII");
    GET.replace("Host", &format!("X-Slotbook-Forwarded: {seal}\r\nHost"))
}

fn client() -> ForwardedFrom {
    ForwardedFrom::Client(IpAddr::from([203, 0, 113, 7]))
}

#[tokio::test]
async fn a_request_is_forwarded_without_the_headers_of_its_connection() {
    let (holder, address) = bind().await;
    let follower = Follower::start(Some(address)).await;
    let sent =
        GET.replace("Connection: close", "X-Forwarded-For: 198.51.100.1\r\nX-Request-Id: r-7");
    let sent = sent.replace("GET /whose", "GET /a\"?b=[c]").replace(
        "Host: a",
        "Connection: X-Hop, Keep-Alive, Host, close\r\nKeep-Alive: timeout=5\r\nTE: trailers\r\n\
         X-Hop: 1\r\nX-Kept: 2\r\nHost: shop.example",
    );
    let mut stream = connect(follower.address, &sent).await;
    let (mut answering, request) = accept(&holder, "\r\n\r\n").await;
    assert!(request.starts_with("GET /a%22?b=[c] HTTP/1.1\r\n"), "{request}");
    assert_eq!(header(&request, "host"), "shop.example");
    assert_eq!(header(&request, "x-kept"), "2");
    assert_eq!(header(&request, "x-request-id"), "r-7");
    for gone in ["\r\nconnection:", "\r\nkeep-alive:", "\r\nte:", "\r\nx-hop:"] {
        assert!(!request.to_lowercase().contains(gone), "{gone} {request}");
    }
    let mut read = Request::builder().uri("/a%22?b=[c]").body(()).expect("a request");
    let seal = header(&request, "x-slotbook-forwarded").parse().expect("a value");
    read.headers_mut().insert(X_SLOTBOOK_FORWARDED, seal);
    let from = ForwardingSeal::new(&SECRET).take(&mut read, SystemClock.now());
    assert_eq!(from, Ok(Some(ForwardedFrom::Client(IpAddr::from([198, 51, 100, 1])))));
    let answer = "HTTP/1.1 404 Not Found\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: a\r\n\
                  X-Kept: 2\r\nContent-Length: 4\r\n\r\nnone";
    answering.write_all(answer.as_bytes()).await.expect("it reads");
    let answer = read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 404 ") && answer.ends_with("\r\n\r\nnone"), "{answer}");
    assert_eq!(header(&answer, "x-kept"), "2");
    for gone in ["\r\nkeep-alive:", "\r\nx-hop:"] {
        assert!(!answer.to_lowercase().contains(gone), "{gone} {answer}");
    }
}

#[tokio::test]
async fn bodies_pass_in_both_directions_while_they_are_sent() {
    let (holder, address) = bind().await;
    let follower = Follower::start(Some(address)).await;
    let head =
        "POST /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut stream = connect(follower.address, &format!("{head}5\r\nfirst\r\n")).await;
    // The server that decides reads the first piece, and answers with its first, before the second.
    let (mut answering, _) = accept(&holder, "first").await;
    let begun = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n";
    answering.write_all(begun.as_bytes()).await.expect("it reads");
    read_until(&mut stream, "one").await;
    stream.write_all(b"6\r\nsecond\r\n0\r\n\r\n").await.expect("it reads");
    let rest = read_until(&mut answering, "0\r\n\r\n").await;
    assert!(rest.contains("second"), "{rest}");
    answering.write_all(b"3\r\ntwo\r\n0\r\n\r\n").await.expect("it reads");
    let rest = read_all(&mut stream).await;
    assert!(rest.contains("two") && rest.ends_with("0\r\n\r\n"), "{rest}");
}

#[tokio::test]
async fn the_client_that_the_follower_names_is_counted() {
    let holder = start_holder(true).await;
    let follower = Follower::start(Some(holder)).await;
    let by_proxy = GET.replace("Host", "X-Forwarded-For: 203.0.113.7\r\nHost");
    let answer = ask(follower.address, &by_proxy).await;
    assert!(answer.contains("client 203.0.113.7, operator false, header false"), "{answer}");
    let answer = ask(holder, &sealed_get(ForwardedFrom::OperatorSocket, 0)).await;
    assert!(answer.contains("operator true, header false"), "{answer}");
}

#[tokio::test]
async fn forged_and_expired_seals_are_refused_and_those_of_no_cluster_ignored() {
    let holder = start_holder(true).await;
    let fresh = sealed_get(client(), 0);
    let answer = ask(holder, &fresh).await;
    assert!(answer.contains("client 203.0.113.7, operator false, header false"), "{answer}");
    let forged = fresh.replace("203.0.113.7", "203.0.113.8");
    let expired = sealed_get(client(), -31);
    for sent in [&forged, &expired] {
        assert_unavailable(&ask(holder, sent).await, true);
    }
    let answer = ask(start_holder(false).await, &fresh).await;
    assert!(answer.contains("client 127.0.0.1, operator false, header true"), "{answer}");
}

#[tokio::test]
async fn connections_of_a_server_that_forwards_are_not_counted_as_one_source() {
    let holder = start_holder(true).await;
    let kept = |request: String| request.replace("Connection: close", "Connection: keep-alive");
    let mut forwarding = connect(holder, &kept(sealed_get(client(), 0))).await;
    read_until(&mut forwarding, "header false").await;
    let mut stranger = connect(holder, &kept(GET.to_owned())).await;
    read_until(&mut stranger, "header false").await;
    // That of a stranger is: the source has one, which is all that it may have.
    let mut refused = connect(holder, "").await;
    assert_eq!(read_all(&mut refused).await, "");
}

#[tokio::test]
async fn a_request_is_forwarded_once() {
    let (holder, address) = bind().await;
    let follower = Follower::start(Some(address)).await;
    assert_unavailable(&ask(follower.address, &sealed_get(client(), 0)).await, true);
    // One with a wrong clock neither: two of them would pass it on for ever.
    assert_unavailable(&ask(follower.address, &sealed_get(client(), -31)).await, true);
    let (answer, ()) = tokio::join!(ask(follower.address, GET), async {
        let (mut answering, _) = accept(&holder, "\r\n\r\n").await;
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        answering.write_all(answer).await.expect("it reads");
    });
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn without_a_server_that_decides_nothing_is_done() {
    let follower = Follower::start(None).await;
    assert_unavailable(&ask(follower.address, POST).await, true);
    for path in ["/readyz", "/readyz.json"] {
        let ready = ask(follower.address, &GET.replace("/whose", path)).await;
        assert!(ready.starts_with("HTTP/1.1 503 ") && ready.contains("none is known"), "{ready}");
    }
    let alive = ask(follower.address, &GET.replace("/whose", "/healthz")).await;
    assert!(alive.starts_with("HTTP/1.1 200 "), "{alive}");
    let (closed, address) = bind().await;
    drop(closed);
    let url = format!("http://{address}");
    follower.holder.send_replace(Some(url.clone()));
    assert_unavailable(&ask(follower.address, POST).await, true);
    let ready = ask(follower.address, &GET.replace("/whose", "/readyz")).await;
    assert!(ready.starts_with("HTTP/1.1 503 ") && ready.contains(&url), "{ready}");
    follower.holder.send_replace(Some("not a URL".to_owned()));
    assert_unavailable(&ask(follower.address, POST).await, true);
}

#[tokio::test]
async fn an_answer_of_its_own_has_an_id_and_pages_may_read_it() {
    let follower = Follower::start(None).await;
    for (sent, id) in [("X-Request-Id: r-7\r\n", Some("r-7")), ("", None)] {
        let sent = GET.replace("Host", &format!("Origin: https://a.example\r\n{sent}Host"));
        let answer = ask(follower.address, &sent).await;
        assert_unavailable(&answer, true);
        let found = header(&answer, "x-request-id");
        assert!(id.is_none_or(|id| id == found) && !found.is_empty(), "{found}");
        assert_eq!(header(&answer, "access-control-allow-origin"), "*");
        assert!(header(&answer, "access-control-expose-headers").contains("x-request-id"));
    }
}

#[tokio::test]
async fn a_request_waits_for_a_server_that_decides_and_is_sent_once() {
    let follower = Follower::start(None).await;
    let mut stream = connect(follower.address, POST).await;
    let (closed, gone) = bind().await;
    drop(closed);
    // First none is known, then one that cannot be reached, then one that answers.
    tokio::time::sleep(FIRST_PAUSE * 2).await;
    follower.holder.send_replace(Some(format!("http://{gone}")));
    tokio::time::sleep(LONGEST_PAUSE * 2).await;
    let (holder, address) = bind().await;
    follower.holder.send_replace(Some(format!("http://{address}")));
    let (mut answering, request) = accept(&holder, "123").await;
    assert!(request.starts_with("POST /a HTTP/1.1\r\n"), "{request}");
    let answer = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
    answering.write_all(answer).await.expect("it reads");
    let answer = read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    assert!(holder.accept().now_or_never().is_none(), "once");
}

#[tokio::test]
async fn a_follower_asks_for_tls_in_its_own_answers_and_in_those_of_others() {
    let follower = Follower::start(Some(start_holder(true).await)).await;
    for request in
        [GET, &GET.replace("/whose", "/readyz"), &GET.replace("GET /whose", "CONNECT a:1")]
    {
        let answer = ask(follower.address, request).await;
        assert_eq!(header(&answer, "strict-transport-security"), "max-age=31536000", "{request}");
    }
}

#[tokio::test]
async fn a_cluster_without_a_server_that_decides_refuses_at_once_after_a_while() {
    let follower = Follower::start(None).await;
    let began = tokio::time::Instant::now();
    assert_unavailable(&ask(follower.address, GET).await, true);
    assert!(began.elapsed() >= HOLDING_TIME, "it waits");
    let began = tokio::time::Instant::now();
    assert_unavailable(&ask(follower.address, GET).await, true);
    assert!(began.elapsed() < HOLDING_TIME, "it waits no longer");
}

#[tokio::test(start_paused = true)]
async fn requests_wait_again_where_none_has_failed_for_long() {
    let forwarder = Forwarder::new(&SECRET, 10, watch::channel(None).1);
    let is_refused = || forwarder.has_waited(tokio::time::Instant::now(), Answering::Any);
    for _ in 0..6 {
        assert!(!is_refused());
        tokio::time::advance(HOLDING_TIME / 6).await;
    }
    assert!(is_refused(), "requests have waited all the time");
    tokio::time::advance(HOLDING_TIME).await;
    assert!(!is_refused(), "what has failed before may be over");
}

#[tokio::test]
async fn a_request_of_another_server_waits_until_this_one_decides() {
    let own = start_holder(true).await;
    let (silent, address) = bind().await;
    let follower = Follower::succeeding_to(own).await;
    let mut stream = connect(follower.address, &sealed_get(client(), 0)).await;
    tokio::time::sleep(FIRST_PAUSE * 2).await;
    follower.holder.send_replace(Some(format!("http://{address}")));
    tokio::time::sleep(LONGEST_PAUSE * 2).await;
    follower.holder.send_replace(Some(format!("http://{own}")));
    let answer = read_all(&mut stream).await;
    assert!(answer.contains("client 203.0.113.7, operator false, header false"), "{answer}");
    let asked = silent.accept().now_or_never();
    assert!(asked.is_none(), "it forwards none to other servers than itself");
}

#[tokio::test]
async fn a_request_of_another_server_is_refused_soon_if_a_third_one_decides() {
    let (own, third) = (start_holder(true).await, start_holder(true).await);
    let follower = Follower::succeeding_to(own).await;
    let began = tokio::time::Instant::now();
    let mut stream = connect(follower.address, &sealed_get(client(), 0)).await;
    tokio::time::sleep(FIRST_PAUSE * 2).await;
    follower.holder.send_replace(Some(format!("http://{third}")));
    assert_unavailable(&read_all(&mut stream).await, true);
    assert!(began.elapsed() < HOLDING_TIME, "it waits no longer");
}

#[tokio::test]
async fn a_server_that_has_handed_over_passes_requests_on() {
    let successor = start_holder(true).await;
    let forwarder = Forwarder::new(&SECRET, 100, decided_at(successor));
    let departure = Arc::new(Departure::new(Arc::new(forwarder)));
    let former = start_departing(&departure).await;
    let answer = ask(former, GET).await;
    assert!(answer.contains("header false"), "{answer}");
    let mut waiting = None;
    let pass = async { waiting = Some(connect(former, &sealed_get(client(), 0)).await) };
    departure.hand_over(pass).await;
    let answer = read_all(&mut waiting.expect("it was passed")).await;
    assert!(answer.contains("client 203.0.113.7, operator false, header false"), "{answer}");
    let answer = ask(former, GET).await;
    assert!(answer.contains("client 127.0.0.1, operator false, header false"), "{answer}");
    let ready = ask(former, &GET.replace("/whose", "/readyz")).await;
    assert!(ready.starts_with("HTTP/1.1 503 ") && ready.contains("decides"), "{ready}");
    let alive = ask(former, &GET.replace("/whose", "/healthz")).await;
    assert!(alive.starts_with("HTTP/1.1 200 "), "{alive}");
}

#[tokio::test]
async fn a_request_that_was_sent_is_not_called_undone_and_not_sent_again() {
    let (holder, address) = bind().await;
    let follower = Follower::start(Some(address)).await;
    for (request, end, is_read) in [(POST, "123", false), (GET, "\r\n\r\n", true)] {
        let mut stream = connect(follower.address, request).await;
        drop(accept(&holder, end).await);
        let answer = read_all(&mut stream).await;
        assert_unavailable(&answer, is_read);
        assert_eq!(!answer.contains("is not known"), is_read, "{answer}");
    }
    let again = holder.accept().now_or_never();
    assert!(again.is_none(), "it is not asked again");
}

#[tokio::test]
async fn a_server_that_no_longer_decides_is_not_waited_for() {
    let (holder, address) = bind().await;
    let follower = Follower::start(Some(address)).await;
    let mut stream = connect(follower.address, POST).await;
    let (_silent, _) = accept(&holder, "123").await;
    follower.holder.send_replace(Some("http://127.0.0.1:9".to_owned()));
    assert_unavailable(&read_all(&mut stream).await, false);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_not_completed() {
    let (holder, address) = bind().await;
    let follower = Follower::start(Some(address)).await;
    for length in
        ["Content-Length: 9\r\n\r\nfirst", "Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"]
    {
        let mut stream = connect(follower.address, GET).await;
        let (mut answering, _) = accept(&holder, "\r\n\r\n").await;
        let begun = format!("HTTP/1.1 200 OK\r\n{length}");
        answering.write_all(begun.as_bytes()).await.expect("it reads");
        let head = read_until(&mut stream, "first").await;
        drop(answering);
        let mut rest = Vec::new();
        // A reset is as good as an end that comes too early.
        let _ =
            tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("it ends");
        let answer = head + &String::from_utf8_lossy(&rest);
        assert!(answer.trim_end().ends_with("first"), "{answer}");
        let is_chunked = answer.to_lowercase().contains("transfer-encoding: chunked");
        assert!(is_chunked || header(&answer, "content-length") == "9", "{answer}");
    }
}

#[tokio::test]
async fn commands_of_the_operator_are_forwarded_except_backups() {
    let holder = start_holder(true).await;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let forwarder = Arc::new(Forwarder::new(&SECRET, 100, decided_at(holder)));
    tokio::spawn(async move { serve_operator_following(&listener, &forwarder).await });
    let backup = POST.replace("/a", BACKUPS);
    for (request, expected) in
        [(GET, "client 0.0.0.0, operator true, header false"), (&backup, "run the command there")]
    {
        let mut stream = UnixStream::connect(&path).await.expect("it listens");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        let reading = stream.read_to_string(&mut answer);
        tokio::time::timeout(PATIENCE, reading).await.expect("it ends").expect("it answers");
        assert!(answer.contains(expected), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn kept_connections_end_after_an_answer_when_the_server_takes_over() {
    let follower = Follower::start(None).await;
    let kept = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut asking = connect(follower.address, kept).await;
    let mut idle = connect(follower.address, kept).await;
    for stream in [&mut asking, &mut idle] {
        read_until(stream, "alive\"}").await;
    }
    follower.take_over.send(()).expect("it follows");
    let connections = follower.served.await.expect("no panic");
    let finishing = tokio::spawn(connections.finish_slowly());
    tokio::task::yield_now().await;
    asking.write_all(kept.as_bytes()).await.expect("it is kept");
    let answer = read_all(&mut asking).await;
    assert!(answer.ends_with("alive\"}") && header(&answer, "connection") == "close", "{answer}");
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).await.expect("it ends by itself");
    finishing.await.expect("no panic");
}
