//! The metrics of the HTTP API, and the listener that serves them. Reference 11.4.

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

/// The highest error code; codes begin at 1.
const CODE_MAX: u8 = 14;
/// The statuses that are counted.
const STATUSES: [u16; 16] =
    [200, 201, 204, 301, 400, 401, 403, 404, 405, 406, 409, 413, 415, 429, 500, 503];
/// The methods that are counted apart.
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "other"];
/// Names of the limits on bookings whose refusals are counted.
const BOOKING_LIMITS: [&str; 4] = ["source_hourly", "source_daily", "client_hourly", "key_hourly"];
/// Maximum number of concurrent readers of the metrics.
const READERS_MAX: usize = 16;
/// Maximum time for the head of a reader's request. The whole exchange may take twice as long.
const READER_TIMEOUT: Duration = Duration::from_secs(10);

/// The metrics of the HTTP API. By default nothing is recorded.
#[derive(Debug)]
pub struct HttpMetrics {
    /// Requests answered, by method and status.
    requests: BTreeMap<(&'static str, u16), Counter>,
    /// Entries of error bodies, by code.
    refusals: BTreeMap<u8, Counter>,
    /// Bookings refused by a limit, by the limit.
    limited: BTreeMap<&'static str, Counter>,
    /// Seconds from the head of a request to the head of its response.
    seconds: Histogram,
    /// Open connections.
    pub(crate) connections: Gauge,
}

/// The error codes of a response, as a response extension.
#[derive(Clone, Debug)]
pub(crate) struct Codes(pub(crate) Vec<u8>);

impl Default for HttpMetrics {
    fn default() -> Self {
        let (requests, refusals, limited) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { requests, refusals, limited, seconds: Histogram::noop(), connections: Gauge::noop() }
    }
}

impl HttpMetrics {
    /// Registers the metrics with a recorder.
    #[must_use]
    pub fn from_recorder(recorder: &dyn Recorder) -> Self {
        let metadata = Metadata::new(module_path!(), Level::INFO, Some(module_path!()));
        let counter = |name: &'static str, labels| {
            recorder.register_counter(&Key::from_parts(name, labels), &metadata)
        };
        let describe = |name: &'static str, about: &'static str| {
            recorder.describe_counter(KeyName::from(name), Some(Unit::Count), about.into());
        };
        describe("slotbook_requests_total", "Answered requests, by method and status.");
        describe("slotbook_refusals_total", "Entries of error bodies, by code.");
        let mut requests = BTreeMap::new();
        for method in METHODS {
            for status in STATUSES {
                let labels =
                    vec![Label::new("method", method), Label::new("status", status.to_string())];
                requests.insert((method, status), counter("slotbook_requests_total", labels));
            }
        }
        let mut refusals = BTreeMap::new();
        for code in 1..=CODE_MAX {
            let labels = vec![Label::new("code", code.to_string())];
            refusals.insert(code, counter("slotbook_refusals_total", labels));
        }
        describe(
            "slotbook_limited_bookings_total",
            "Bookings, holds and moves refused by a limit.",
        );
        let limited = BOOKING_LIMITS.into_iter().map(|limit| {
            let labels = vec![Label::new("limit", limit)];
            (limit, counter("slotbook_limited_bookings_total", labels))
        });
        let limited = limited.collect();
        let seconds = Key::from_static_name("slotbook_request_seconds");
        let about = "Seconds from the head of a request to the head of its response.";
        recorder.describe_histogram(
            KeyName::from("slotbook_request_seconds"),
            Some(Unit::Seconds),
            about.into(),
        );
        let connections = Key::from_static_name("slotbook_connections");
        recorder.describe_gauge(
            KeyName::from("slotbook_connections"),
            Some(Unit::Count),
            "Open connections.".into(),
        );
        Self {
            requests,
            refusals,
            limited,
            seconds: recorder.register_histogram(&seconds, &metadata),
            connections: recorder.register_gauge(&connections, &metadata),
        }
    }

    /// Records a booking that a limit refused.
    pub(crate) fn record_limit(&self, limit: &'static str) {
        if let Some(counter) = self.limited.get(limit) {
            counter.increment(1);
        }
    }

    /// Records a response.
    pub(crate) fn record_response(&self, method: &Method, response: &Response, elapsed: Duration) {
        let method = METHODS.into_iter().find(|known| *known == method.as_str()).unwrap_or("other");
        if let Some(counter) = self.requests.get(&(method, response.status().as_u16())) {
            counter.increment(1);
        }
        self.seconds.record(elapsed);
        let Some(Codes(codes)) = response.extensions().get() else { return };
        for code in codes {
            if let Some(counter) = self.refusals.get(code) {
                counter.increment(1);
            }
        }
    }
}

/// Serves `GET /metrics` with the text that `render` makes, on a listener of its own.
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
                let is_metrics =
                    request.method() == Method::GET && request.uri().path() == "/metrics";
                Ok::<_, Infallible>(if is_metrics {
                    metrics_response(render).await
                } else {
                    empty_response(StatusCode::NOT_FOUND)
                })
            }
        });
        tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(READER_TIMEOUT)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // A reader that went away or took too long may try again, so the error is dropped.
            drop(tokio::time::timeout(READER_TIMEOUT * 2, connection).await);
            drop(place);
        });
    }
}

/// Returns the metrics, rendered on a thread that may wait for the disk.
async fn metrics_response(render: Arc<dyn Fn() -> String + Send + Sync>) -> Response {
    let text = tokio::task::spawn_blocking(move || render()).await;
    let Ok(text) = text else { return empty_response(StatusCode::INTERNAL_SERVER_ERROR) };
    let mut response = Response::new(Body::from(text));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"));
    response
}

fn empty_response(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
