//! The metrics of the HTTP API, and the listener that serves them. Reference 11.4.

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, NoopRecorder, Recorder, Unit,
};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Names of the metrics.
const REQUESTS: &str = "slotbook_requests_total";
const REFUSALS: &str = "slotbook_refusals_total";
const LIMITED: &str = "slotbook_limited_bookings_total";
const PUSHED_OUT: &str = "slotbook_holds_pushed_out_total";
const SECONDS: &str = "slotbook_request_seconds";
const CONNECTIONS: &str = "slotbook_connections";
const CODES: &str = "slotbook_codes_not_given";
const STREAMS: &str = "slotbook_change_streams";
/// The origin of the metrics, which recorders may filter by.
const METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));
/// The methods that are counted apart.
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "other"];
/// The lowest status, and the number of those that the type of a status can hold.
const STATUS_MIN: usize = 100;
const STATUSES: usize = 900;
/// Maximum number of concurrent readers of the metrics.
const READERS_MAX: usize = 16;
/// Maximum time for the head of a reader's request. The whole exchange may take twice as long.
const READER_TIMEOUT: Duration = Duration::from_secs(10);

/// The metrics of the HTTP API. By default nothing is recorded.
#[derive(Debug)]
pub struct HttpMetrics {
    recorder: CounterRecorder,
    /// Requests answered: the place of the method times `STATUSES`, and the status.
    requests: CounterTable,
    /// Entries of error bodies, by code.
    refusals: CounterTable,
    /// Seconds from the head of a request to the head of its response.
    seconds: Histogram,
    /// Open connections.
    pub(crate) connections: Gauge,
    /// Codes for bookings that were asked for within 24 hours and not given.
    pub(crate) codes: Gauge,
    /// Open streams of changes.
    pub(crate) streams: Gauge,
}

/// Counters of one name by a small number. Each is registered at its first use, so that every value
/// is counted, and later uses cost no look-up.
#[derive(Debug)]
struct CounterTable(Box<[OnceLock<Counter>]>);

/// The recorder that counters are registered with.
struct CounterRecorder(Arc<dyn Recorder + Send + Sync>);

/// The error codes of a response, as a response extension.
#[derive(Clone, Debug)]
pub(crate) struct Codes(pub(crate) Vec<u8>);

impl CounterRecorder {
    fn counter(&self, name: &'static str, labels: Vec<Label>) -> Counter {
        self.0.register_counter(&Key::from_parts(name, labels), &METADATA)
    }
}

impl CounterTable {
    fn new(length: usize) -> Self {
        Self((0..length).map(|_| OnceLock::new()).collect())
    }

    /// Adds one to a counter, which `register` makes at its first use.
    fn increment(&self, place: usize, register: impl FnOnce() -> Counter) {
        self.0[place].get_or_init(register).increment(1);
    }
}

impl fmt::Debug for CounterRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CounterRecorder(…)")
    }
}

impl Default for HttpMetrics {
    fn default() -> Self {
        Self::from_recorder(Arc::new(NoopRecorder))
    }
}

impl HttpMetrics {
    /// Registers the metrics with a recorder.
    pub fn from_recorder(recorder: Arc<dyn Recorder + Send + Sync>) -> Self {
        for (name, about) in [
            (REQUESTS, "Answered requests, by method and status."),
            (REFUSALS, "Entries of error bodies, by code."),
            (LIMITED, "Bookings, holds and moves refused by a limit."),
            (PUSHED_OUT, "Holds that ended for a hold of another network."),
        ] {
            recorder.describe_counter(KeyName::from(name), Some(Unit::Count), about.into());
        }
        let about = "Seconds from the head of a request to the head of its response.";
        recorder.describe_histogram(KeyName::from(SECONDS), Some(Unit::Seconds), about.into());
        for (name, about) in [
            (CONNECTIONS, "Open connections."),
            (CODES, "Codes for bookings that were asked for within 24 hours and not given."),
            (STREAMS, "Open streams of changes."),
        ] {
            recorder.describe_gauge(KeyName::from(name), Some(Unit::Count), about.into());
        }
        let seconds = recorder.register_histogram(&Key::from_static_name(SECONDS), &METADATA);
        let connections = recorder.register_gauge(&Key::from_static_name(CONNECTIONS), &METADATA);
        let codes = recorder.register_gauge(&Key::from_static_name(CODES), &METADATA);
        let streams = recorder.register_gauge(&Key::from_static_name(STREAMS), &METADATA);
        Self {
            recorder: CounterRecorder(recorder),
            requests: CounterTable::new(METHODS.len() * STATUSES),
            refusals: CounterTable::new(usize::from(u8::MAX) + 1),
            seconds,
            connections,
            codes,
            streams,
        }
    }

    /// Records a booking that a limit refused.
    pub(crate) fn record_limit(&self, limit: &'static str) {
        self.recorder.counter(LIMITED, vec![Label::new("limit", limit)]).increment(1);
    }

    /// Records holds that ended for one of another network.
    pub(crate) fn record_pushed_out(&self, number: usize) {
        if number > 0 {
            self.recorder.counter(PUSHED_OUT, Vec::new()).increment(number as u64);
        }
    }

    /// Records a response.
    pub(crate) fn record_response(&self, method: &Method, response: &Response, elapsed: Duration) {
        self.count_request(method, response.status());
        self.seconds.record(elapsed);
        let Some(Codes(codes)) = response.extensions().get() else { return };
        for code in codes {
            self.refusals.increment(usize::from(*code), || {
                self.recorder.counter(REFUSALS, vec![Label::new("code", code.to_string())])
            });
        }
    }

    fn count_request(&self, method: &Method, status: StatusCode) {
        let known = METHODS.into_iter().position(|known| known == method.as_str());
        let method = known.unwrap_or(METHODS.len() - 1);
        let place = method * STATUSES + usize::from(status.as_u16()) - STATUS_MIN;
        self.requests.increment(place, || {
            let method = Label::new("method", METHODS[method]);
            let status = Label::new("status", status.as_u16().to_string());
            self.recorder.counter(REQUESTS, vec![method, status])
        });
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
