//! What the API measures for whoever operates it, and where that is read.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder, Unit};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Codes of refusals, 1 to this.
const CODES: u8 = 14;
/// Statuses that are answered.
const STATUSES: [u16; 16] =
    [200, 201, 204, 301, 400, 401, 403, 404, 405, 406, 409, 413, 415, 429, 500, 503];
/// Methods that are told apart.
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "other"];
/// Readers of the figures at once at most.
const READERS_MAX: usize = 16;
/// How long a reader may take to ask, and to be told.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where figures go; nowhere by default.
#[derive(Debug)]
pub struct HttpMetrics {
    /// Requests answered, by method and status.
    requests: BTreeMap<(&'static str, u16), Counter>,
    /// Entries of error bodies, by code.
    refusals: BTreeMap<u8, Counter>,
    /// Seconds from a request's head to its answer's head.
    seconds: Histogram,
    /// Connections open.
    pub(crate) connections: Gauge,
}

/// The codes of an answer that says no.
#[derive(Clone, Debug)]
pub(crate) struct Codes(pub(crate) Vec<u8>);

impl Default for HttpMetrics {
    fn default() -> Self {
        let (requests, refusals) = (BTreeMap::new(), BTreeMap::new());
        Self { requests, refusals, seconds: Histogram::noop(), connections: Gauge::noop() }
    }
}

impl HttpMetrics {
    /// Figures that a recorder keeps.
    #[must_use]
    pub fn from_recorder(recorder: &dyn Recorder) -> Self {
        let metadata = Metadata::new(module_path!(), Level::INFO, Some(module_path!()));
        let counter = |name: &'static str, labels| {
            recorder.register_counter(&Key::from_parts(name, labels), &metadata)
        };
        let describe = |name: &'static str, about: &'static str| {
            recorder.describe_counter(KeyName::from(name), Some(Unit::Count), about.into());
        };
        describe("slotbook_requests_total", "Requests answered, by method and status.");
        describe("slotbook_refusals_total", "Entries of error bodies, by code.");
        let requests =
            METHODS.into_iter().flat_map(|method| STATUSES.map(|status| (method, status)));
        let requests = requests.map(|(method, status)| {
            let labels =
                vec![Label::new("method", method), Label::new("status", status.to_string())];
            ((method, status), counter("slotbook_requests_total", labels))
        });
        let refusals = (1..=CODES).map(|code| {
            (code, counter("slotbook_refusals_total", vec![Label::new("code", code.to_string())]))
        });
        let seconds = Key::from_static_name("slotbook_request_seconds");
        let about = "From a request's head to its answer's head.";
        recorder.describe_histogram(
            KeyName::from("slotbook_request_seconds"),
            Some(Unit::Seconds),
            about.into(),
        );
        let connections = Key::from_static_name("slotbook_connections");
        recorder.describe_gauge(
            KeyName::from("slotbook_connections"),
            Some(Unit::Count),
            "Connections open.".into(),
        );
        Self {
            requests: requests.collect(),
            refusals: refusals.collect(),
            seconds: recorder.register_histogram(&seconds, &metadata),
            connections: recorder.register_gauge(&connections, &metadata),
        }
    }

    /// Notes an answer.
    pub(crate) fn record_response(&self, method: &Method, response: &Response, elapsed: Duration) {
        let method = METHODS.into_iter().find(|known| *known == method.as_str()).unwrap_or("other");
        if let Some(counter) = self.requests.get(&(method, response.status().as_u16())) {
            counter.increment(1);
        }
        self.seconds.record(elapsed);
        for code in response.extensions().get::<Codes>().iter().flat_map(|codes| &codes.0) {
            if let Some(counter) = self.refusals.get(code) {
                counter.increment(1);
            }
        }
    }
}

/// Serves `GET /metrics` with what `render` makes, on a listener of its own, and nothing else.
pub async fn serve_metrics(listener: TcpListener, render: Arc<dyn Fn() -> String + Send + Sync>) {
    let places = Arc::new(Semaphore::new(READERS_MAX));
    loop {
        let place =
            Arc::clone(&places).acquire_owned().await.expect("the semaphore is never closed");
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let render = Arc::clone(&render);
        let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let render = Arc::clone(&render);
            async move {
                let asked = request.method() == Method::GET && request.uri().path() == "/metrics";
                Ok::<_, Infallible>(if asked { figures(render).await } else { nothing() })
            }
        });
        tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // Whoever went away, or took too long, asks again.
            drop(tokio::time::timeout(PATIENCE * 2, connection).await);
            drop(place);
        });
    }
}

/// The figures, made on a thread that may wait for the disk.
async fn figures(render: Arc<dyn Fn() -> String + Send + Sync>) -> Response {
    let text = tokio::task::spawn_blocking(move || render()).await;
    let Ok(text) = text else { return status(StatusCode::INTERNAL_SERVER_ERROR) };
    let mut response = Response::new(Body::from(text));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"));
    response
}

fn nothing() -> Response {
    status(StatusCode::NOT_FOUND)
}

fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
