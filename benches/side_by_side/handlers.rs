//! The other servers: one that only answers, and the smallest one in front of PostgreSQL.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use serde_json::Value;
use tokio_postgres::NoTls;

use crate::data::{Booking, STEP, civil_text, parse_civil};
use crate::parameters::BareParameters;
use crate::postgres_client::Statements;
use crate::search::SearchPlace;

const BOOKING_PATH: &str = "/api/v1/groups/{group}/appointments";
const SEARCH_PATH: &str = "/api/v1/groups/{group}/availabletimeslots";
/// Connections between the handler and PostgreSQL.
const POOL_SIZE: usize = 32;

fn json(status: StatusCode, body: impl IntoResponse) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// Serves until the process is killed.
fn serve(make_router: impl Future<Output = Router>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime starts").block_on(async {
        let router = make_router.await.route("/healthz", get(async || "ok"));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("the listener is bound");
        writeln!(std::io::stdout(), "listening on http://{address}").expect("stdout is open");
        let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
            stream.set_nodelay(true).expect("a TCP socket has this option");
        });
        axum::serve(listener, router).await.expect("it serves until it is killed");
    });
}

/// Serves the same bodies again and again.
pub(crate) fn serve_bare(parameters: &str) {
    let parameters: BareParameters = serde_json::from_str(parameters).expect("parameters as JSON");
    let read = |path: &str| Bytes::from(std::fs::read(path).expect("the body was written"));
    let booking_status = StatusCode::from_u16(parameters.booking_status).expect("a status");
    let (booking_body, search_body) =
        (read(&parameters.booking_body), read(&parameters.search_body));
    let book = async move |_: Bytes| json(booking_status, booking_body.clone());
    let search = async move || json(StatusCode::OK, search_body.clone());
    serve(async { Router::new().route(BOOKING_PATH, post(book)).route(SEARCH_PATH, get(search)) });
}

/// Serves bookings and searches from the PostgreSQL at a connection string.
pub(crate) fn serve_postgres(address: &str) {
    let config: tokio_postgres::Config = address.parse().expect("a connection string");
    serve(async move {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config, NoTls, recycling);
        let pool = Pool::builder(manager).max_size(POOL_SIZE).build().expect("a pool");
        Router::new()
            .route(BOOKING_PATH, post(book))
            .route(SEARCH_PATH, get(search))
            .with_state(Arc::new(pool))
    });
}

async fn book(State(pool): State<Arc<Pool>>, Path(group): Path<u64>, body: Bytes) -> Response {
    let Some((booking, email, lastname)) = read_booking(group, &body) else {
        return json(StatusCode::BAD_REQUEST, r#"{"errors":[{"name":"InvalidParameter"}]}"#);
    };
    let client = pool.get().await.expect("PostgreSQL accepts connections");
    let statements = Statements::prepare_cached(&client).await;
    let Some((id, secret)) = statements.book(&client, &booking).await else {
        let body =
            r#"{"errors":[{"code":14,"name":"NotAvailable","message":"taken","field":"date"}]}"#;
        return json(StatusCode::BAD_REQUEST, body);
    };
    let (start, end) = (civil_text(booking.start), civil_text(booking.start + STEP));
    let calendar = booking.calendar;
    let mut text =
        format!(r#"{{"records":[{{"id":{id},"key":"{secret}","start":"{start}","end":"{end}","#);
    let in_memory = "memory can be written";
    write!(text, r#""created_since":0,"state":0,"group_id":{group},"calendar_id":{calendar},"#)
        .expect(in_memory);
    write!(text, r#""intervention_id":{group},"from_web":true,"deleted":false,"capacity":1,"#)
        .expect(in_memory);
    write!(text, r#""fiche":{{"lastname":"{lastname}","email":"{email}"}}}}]}}"#).expect(in_memory);
    json(StatusCode::CREATED, text)
}

/// Returns the booking of a body, with the e-mail address and the name of the client.
fn read_booking(group: u64, body: &[u8]) -> Option<(Booking, String, String)> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let appointment = &body["appointment"];
    let email = appointment["fiche"]["email"].as_str()?;
    let lastname = appointment["fiche"]["lastname"].as_str()?;
    // Addresses of the load are `cNUMBER@example.org`; the statement builds the same text from the
    // number.
    let client = email.strip_prefix('c')?.strip_suffix("@example.org")?.parse().ok()?;
    let booking = Booking {
        group,
        calendar: appointment["calendar_id"].as_u64()?,
        start: parse_civil(appointment["date"].as_str()?)?,
        client,
    };
    Some((booking, email.to_owned(), lastname.to_owned()))
}

async fn search(
    State(pool): State<Arc<Pool>>,
    Path(group): Path<u64>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(place) = SearchPlace::from_query(group, &query.unwrap_or_default()) else {
        return json(StatusCode::BAD_REQUEST, r#"{"errors":[{"name":"InvalidParameter"}]}"#);
    };
    let client = pool.get().await.expect("PostgreSQL accepts connections");
    let statements = Statements::prepare_cached(&client).await;
    let found = statements.search(&client, &place).await;
    let mut text = String::with_capacity(64 + found.len() * 128);
    let in_memory = "memory can be written";
    write!(text, r#"{{"group_id":{group},"availabletimeslots":["#).expect(in_memory);
    for (index, (start, calendars)) in found.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let (start, capacity) = (civil_text(*start), calendars.len());
        write!(text, r#"{comma}{{"start":"{start}","capacity":{capacity},"calendar_ids":["#)
            .expect(in_memory);
        for (index, calendar) in calendars.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(text, "{comma}{calendar}").expect(in_memory);
        }
        text.push_str("]}");
    }
    text.push_str("]}");
    json(StatusCode::OK, text)
}
