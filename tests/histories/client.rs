//! One request over HTTP, and its answer read into a call's terms.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reqwest::header::AGE;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::call::{Answer, Caller, HalfHour, Request, Row, Shown, Slots, Span};
use super::server::half_hour;
use super::shop::{Group, KEY, PASSWORD, address, parse_half_hour};

/// Secrets that answers gave, by appointment and by the call that made a hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    pub(crate) appointments: BTreeMap<u64, String>,
    pub(crate) holds: BTreeMap<usize, String>,
}

/// An answer with the secrets in it.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) answer: Answer,
    pub(crate) secret: Option<String>,
}

/// The way to a server.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) http: reqwest::Client,
    pub(crate) base: String,
}

impl Connection {
    /// Sends a request and reads the answer. `None` if it is lost.
    pub(crate) async fn ask(&self, request: &Request, built: RequestBuilder) -> Option<Reply> {
        let answer = match built.send().await {
            Ok(answer) => answer,
            Err(error) if error.is_connect() => {
                return Some(Reply { answer: Answer::Nothing, secret: None });
            }
            Err(_) => return None,
        };
        let status = answer.status().as_u16();
        // A search that is old, and says so: a server of a cluster may not decide any more.
        let is_old = answer.headers().contains_key(AGE);
        let body: Value = answer.json().await.ok()?;
        if is_old || (status == 503 && !says_nothing_was_done(&body)) {
            return None;
        }
        Some(read(request, status, &body))
    }

    /// Sends a whole request, waits for a time, and closes the connection without reading.
    pub(crate) async fn ask_and_leave(&self, built: RequestBuilder, waits: Duration) {
        let request = built.build().expect("a legal request");
        let url = request.url();
        let query = url.query().map_or(String::new(), |query| format!("?{query}"));
        let mut head =
            format!("{} {}{query} HTTP/1.1\r\nHost: t\r\n", request.method(), url.path());
        for (name, value) in request.headers() {
            head.push_str(&format!("{name}: {}\r\n", value.to_str().expect("text")));
        }
        let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        let authority = self.base.strip_prefix("http://").expect("a plain address");
        // A server that is gone has not got it: the call is as good as lost.
        let Ok(mut stream) = tokio::net::TcpStream::connect(authority).await else { return };
        drop(stream.write_all(&[head.as_bytes(), body].concat()).await);
        tokio::time::sleep(waits).await;
    }

    /// Returns the HTTP request. `number` marks a booking, and names its Idempotency-Key.
    pub(crate) fn build(
        &self,
        group: &Group,
        number: usize,
        request: &Request,
        secrets: &Secrets,
    ) -> RequestBuilder {
        let path = |rest: String| format!("{}/api/v1/groups/{}/{rest}", self.base, group.id);
        let send = |method: Method, rest: String| {
            self.http.request(method, path(rest)).query(&[("apikey", KEY)])
        };
        let by = |built: RequestBuilder, caller: Caller, id: u64| match caller {
            Caller::Public => built.query(&[("key", &secrets.appointments[&id])]),
            Caller::ProOnModule | Caller::BackOffice => as_pro(built, group),
        };
        match request {
            Request::Book { .. } => {
                let built = send(Method::POST, "appointments".to_owned());
                self.build_booking(built, group, number, request, secrets)
            }
            Request::Cancel { id, caller } => {
                by(send(Method::DELETE, format!("appointments/{id}")), *caller, *id)
            }
            Request::Move { id, start, caller } => {
                let body = json!({"appointment": {"date": half_hour(*start)}});
                by(send(Method::PUT, format!("appointments/{id}")), *caller, *id).json(&body)
            }
            Request::Shift { id, calendar, start } => {
                let body = json!({"vevent": {"calendar_id": calendar, "start": half_hour(*start)}});
                as_pro(send(Method::PUT, format!("vevents/{id}")), group).json(&body)
            }
            Request::Hold(span) => {
                let intervention = group.interventions[usize::from(span.length == 2)];
                let body = json!({"hold": {
                    "date": half_hour(span.start), "intervention_ids": [intervention],
                    "calendar_id": span.calendar,
                }});
                let built = send(Method::POST, "holds".to_owned()).json(&body);
                built.header("Idempotency-Key", format!("the key of call {number}"))
            }
            Request::Release { hold, .. } => {
                send(Method::DELETE, "holds".to_owned()).query(&[("token", &secrets.holds[hold])])
            }
            Request::Search { calendar, open, length, hold } => {
                let intervention = group.interventions[usize::from(*length == 2)];
                let built = send(Method::GET, "availabletimeslots".to_owned()).query(&[
                    ("intervention_ids[]", intervention.to_string()),
                    ("start", half_hour(open.0)),
                    ("end", half_hour(open.1)),
                    ("calendar_id", calendar.unwrap_or(0).to_string()),
                ]);
                match hold {
                    Some(hold) => built.query(&[("hold", &secrets.holds[hold])]),
                    None => built,
                }
            }
            Request::Read { id } => {
                by(send(Method::GET, format!("appointments/{id}")), Caller::Public, *id)
            }
            Request::List => {
                as_pro(send(Method::GET, "vevents".to_owned()), group).query(&[("results", "all")])
            }
        }
    }

    fn build_booking(
        &self,
        built: RequestBuilder,
        group: &Group,
        number: usize,
        request: &Request,
        secrets: &Secrets,
    ) -> RequestBuilder {
        let Request::Book { caller, client, calendar, start, length, hold } = request else {
            unreachable!("only bookings are built here");
        };
        let fiche = group.fiche(*client);
        let mut wish = json!({
            "date": half_hour(*start), "calendar_id": calendar.unwrap_or(0),
            "intervention_ids": [group.interventions[usize::from(*length == 2)]],
            "comments": format!("call {number}"),
        });
        if let Some(hold) = hold {
            wish["hold"] = secrets.holds[hold].as_str().into();
        }
        let built = built.header("Idempotency-Key", format!("the key of call {number}"));
        match caller {
            Caller::Public => {
                wish["fiche"] = json!({"lastname": "C", "email": address(fiche)});
                built.json(&json!({"appointment": wish}))
            }
            Caller::ProOnModule | Caller::BackOffice => {
                wish["fiche"] = json!({"id": fiche});
                wish["from_web"] = (*caller == Caller::ProOnModule).into();
                as_pro(built, group).json(&json!({"appointment": wish}))
            }
        }
    }
}

fn as_pro(built: RequestBuilder, group: &Group) -> RequestBuilder {
    built.basic_auth(group.professional(), Some(PASSWORD))
}

/// Returns whether a refusal says that the request had no effect. Others leave that open.
fn says_nothing_was_done(body: &Value) -> bool {
    let errors = body["errors"].as_array().into_iter().flatten();
    let mut messages = errors.filter_map(|error| error["message"].as_str());
    messages.any(|message| message.contains("nothing was done"))
}

/// Reads an answer. One that no rule allows fails the test.
fn read(request: &Request, status: u16, body: &Value) -> Reply {
    let plain = |answer| Reply { answer, secret: None };
    let unexpected = || -> ! { panic!("{request} was answered with {status}: {body}") };
    match (request, status) {
        // A source with many refusals is kept out for an hour.
        (_, 429 | 503) => plain(Answer::Nothing),
        (_, 400) => {
            let errors = body["errors"].as_array().unwrap_or_else(|| unexpected());
            let codes = errors.iter().map(|error| error["code"].as_u64().expect("a code"));
            plain(Answer::Refused(codes.collect()))
        }
        (Request::Book { .. }, 201) => {
            let record = &body["records"][0];
            let id = record["id"].as_u64().expect("an id");
            let calendar = record["calendar_id"].as_u64().expect("an id");
            let secret = record["key"].as_str().map(str::to_owned);
            Reply { answer: Answer::Booked { id, calendar }, secret }
        }
        (Request::Hold(_), 201) => {
            Reply { answer: Answer::Done, secret: body["token"].as_str().map(str::to_owned) }
        }
        (Request::Release { .. }, 404) => plain(Answer::Gone),
        (Request::Search { .. }, 200) => plain(Answer::Free(read_slots(body))),
        (Request::Read { .. }, 200) => plain(Answer::Seen(read_shown(body))),
        (Request::List, 200) => plain(Answer::Rows(read_rows(body))),
        (
            Request::Cancel { .. }
            | Request::Move { .. }
            | Request::Shift { .. }
            | Request::Release { .. },
            200,
        ) => plain(Answer::Done),
        _ => unexpected(),
    }
}

fn read_slots(body: &Value) -> Slots {
    let mut slots = Slots::new();
    for slot in body["availabletimeslots"].as_array().expect("a list") {
        let mut calendars = BTreeSet::new();
        for id in slot["calendar_ids"].as_array().expect("a list") {
            calendars.insert(id.as_u64().expect("an id"));
        }
        slots.insert(half_hour_of(slot, "start"), calendars);
    }
    slots
}

fn half_hour_of(row: &Value, field: &str) -> HalfHour {
    parse_half_hour(row[field].as_str().unwrap_or_else(|| panic!("{field} of {row}")))
}

fn read_shown(row: &Value) -> Shown {
    let start = half_hour_of(row, "start");
    let span = Span {
        calendar: row["calendar_id"].as_u64().expect("an id"),
        start,
        length: half_hour_of(row, "end") - start,
    };
    Shown { span, is_live: row["deleted"] == false }
}

fn read_rows(body: &Value) -> BTreeMap<u64, Row> {
    let mut rows = BTreeMap::new();
    for row in body["records"].as_array().expect("a list") {
        if row["fiche_id"].as_u64().is_none_or(|fiche| fiche == 0) {
            continue;
        }
        let mark = row["comments"].as_str().and_then(|text| text.strip_prefix("call "));
        let booked_by = mark.and_then(|number| number.parse().ok());
        let booked_by = booked_by.unwrap_or_else(|| panic!("no mark: {row}"));
        rows.insert(row["id"].as_u64().expect("an id"), Row { shown: read_shown(row), booked_by });
    }
    rows
}
