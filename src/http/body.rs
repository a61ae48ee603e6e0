//! Reading a request's body: bounded in size, depth and time. Reference 1, 2, 10.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method};
use serde_json::{Map, Value};

use crate::http::error::ApiError;
use crate::wire::errors::Problem;
use crate::wire::params::Params;

/// Bytes of a body at most.
const BYTES_MAX: usize = 256 * 1_024;
/// Bytes that are read and dropped before a body over the limit is refused.
const DROPPED_MAX: usize = 1_024 * 1_024;
/// Brackets inside brackets at most.
const DEPTH_MAX: usize = 32;
/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// The body of a request, read when its turn comes, or before.
pub(crate) struct Incoming<'h> {
    headers: &'h HeaderMap,
    state: State,
}

enum State {
    Unread(Body),
    Read(Result<Map<String, Value>, ApiError>),
}

impl<'h> Incoming<'h> {
    /// A body that has not been read.
    pub(crate) fn new(headers: &'h HeaderMap, body: Body) -> Self {
        Self { headers, state: State::Unread(body) }
    }

    /// A look at the JSON object before its turn; `None` where it cannot be used, which is told when its turn comes.
    pub(crate) async fn peek(&mut self) -> Option<&Map<String, Value>> {
        if let State::Unread(body) = &mut self.state {
            let body = std::mem::take(body);
            self.state = State::Read(object(self.headers, body).await);
        }
        match &self.state {
            State::Read(read) => read.as_ref().ok(),
            State::Unread(_) => None,
        }
    }

    /// The JSON object.
    ///
    /// # Errors
    /// 413 over the limit, 415 for a declared type that is not JSON, 400 for what is no JSON object.
    pub(crate) async fn object(self) -> Result<Map<String, Value>, ApiError> {
        match self.state {
            State::Unread(body) => object(self.headers, body).await,
            State::Read(read) => read,
        }
    }

    /// The JSON object of a DELETE, which seldom has one; none of any other method is read.
    ///
    /// # Errors
    /// As [`Incoming::object`], where there is something to be read.
    pub(crate) async fn read_of_delete(
        self,
        method: &Method,
    ) -> Result<Map<String, Value>, ApiError> {
        if method != Method::DELETE {
            return Ok(Map::new());
        }
        match self.state {
            State::Unread(body) => {
                let bytes = in_time(body).await?;
                if bytes.trim_ascii().is_empty() || !declared_json(self.headers) {
                    return Ok(Map::new());
                }
                parse(&bytes)
            }
            // It was looked at on an older path, where none is as good as an empty one.
            State::Read(read) => Ok(read.unwrap_or_default()),
        }
    }

    /// Leaves the body to itself: what comes of it is dropped, whether the answer is on its way or there, so that the next
    /// request on the connection is found behind it. Where it is much, or takes long, that is the end of the connection.
    pub(crate) fn leave(self) {
        if let State::Unread(body) = self.state
            && !body.is_end_stream()
        {
            tokio::spawn(tokio::time::timeout(PATIENCE, take(body, |_| {})));
        }
    }

    /// What a body that nobody has looked at says in a form or in a JSON object; nothing where it is empty.
    ///
    /// # Errors
    /// 413 over the limit, 415 for a declared type that is neither, 400 for what is no JSON object.
    pub(crate) async fn form(self) -> Result<Form, ApiError> {
        match self.state {
            State::Unread(body) => form(self.headers, body).await,
            State::Read(read) => {
                Ok(Form { params: Params::from_json_object(&read?), is_json: true })
            }
        }
    }
}

/// All bytes of a body are taken from it, and those up to the limit handed on; how many there were.
async fn take(mut body: Body, mut hand_on: impl FnMut(&[u8])) -> Result<usize, ApiError> {
    let mut seen = 0;
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|_| malformed("it broke off").closing())?;
        let Ok(data) = frame.into_data() else { continue };
        seen += data.len();
        if seen <= BYTES_MAX {
            hand_on(&data);
        } else if seen > DROPPED_MAX {
            return Err(too_large().closing());
        }
    }
    Ok(seen)
}

async fn object(headers: &HeaderMap, body: Body) -> Result<Map<String, Value>, ApiError> {
    let bytes = in_time(body).await?;
    if declared_json(headers) { parse(&bytes) } else { Err(not_json()) }
}

/// The parameters of a login's body.
#[derive(Default)]
pub(crate) struct Form {
    /// Names and values, as those of a query.
    pub(crate) params: Params,
    /// Whether they came as JSON.
    pub(crate) is_json: bool,
}

async fn form(headers: &HeaderMap, body: Body) -> Result<Form, ApiError> {
    let bytes = in_time(body).await?;
    if declared(headers).as_deref() == Some("application/x-www-form-urlencoded") {
        return Ok(Form {
            params: Params::from_query(&String::from_utf8_lossy(&bytes)),
            is_json: false,
        });
    }
    if !declared_json(headers) {
        return Err(ApiError::new(
            Problem::UnsupportedMediaType,
            "the body must be a form or JSON: declare it with the header Content-Type: application/x-www-form-urlencoded",
        ));
    }
    let object = if bytes.trim_ascii().is_empty() { Map::new() } else { parse(&bytes)? };
    Ok(Form { params: Params::from_json_object(&object), is_json: true })
}

/// All bytes of a body.
async fn in_time(body: Body) -> Result<Vec<u8>, ApiError> {
    match tokio::time::timeout(PATIENCE, bytes(body)).await {
        Ok(read) => read,
        Err(_) => {
            let seconds = PATIENCE.as_secs();
            Err(malformed(&format!("it must arrive within {seconds} seconds")).closing())
        }
    }
}

async fn bytes(body: Body) -> Result<Vec<u8>, ApiError> {
    let mut kept = Vec::new();
    let seen = take(body, |data| kept.extend_from_slice(data)).await?;
    if seen > BYTES_MAX { Err(too_large()) } else { Ok(kept) }
}

/// Whether the type declared is JSON; none declared counts as JSON.
fn declared_json(headers: &HeaderMap) -> bool {
    declared(headers).is_none_or(|essence| {
        essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
    })
}

/// The type declared, without its parameters; `None` where none is.
fn declared(headers: &HeaderMap) -> Option<String> {
    let declared = String::from_utf8_lossy(headers.get(CONTENT_TYPE)?.as_bytes());
    let essence = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    (!essence.is_empty()).then_some(essence)
}

fn not_json() -> ApiError {
    ApiError::new(
        Problem::UnsupportedMediaType,
        "the body must be JSON: declare it with the header Content-Type: application/json",
    )
}

fn parse(bytes: &[u8]) -> Result<Map<String, Value>, ApiError> {
    if depth(bytes) > DEPTH_MAX {
        return Err(malformed(&format!("it may be nested {DEPTH_MAX} deep at most")));
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_),
        ) => Err(malformed("it must be an object such as {\"appointment\":{…}}")),
        Err(error) => {
            Err(malformed(&format!("line {} column {} is no JSON", error.line(), error.column())))
        }
    }
}

/// The most brackets open at once, those inside strings not counted.
fn depth(bytes: &[u8]) -> usize {
    let (mut open, mut most, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                open += 1;
                most = most.max(open);
            }
            b'}' | b']' if !in_string => open = open.saturating_sub(1),
            _ => {}
        }
    }
    most
}

fn malformed(why: &str) -> ApiError {
    ApiError::new(Problem::InvalidParameter, format!("the body cannot be used: {why}"))
}

fn too_large() -> ApiError {
    ApiError::new(Problem::ContentTooLarge, format!("the body may have at most {BYTES_MAX} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_inside_strings_do_not_count() {
        assert_eq!(depth(br#"{"a":"[[[[","b":[1]}"#), 2);
        assert_eq!(depth(br#"{"a":"\"[[","b":"\\"}"#), 1);
        assert_eq!(depth(b"]]]["), 1);
    }

    #[test]
    fn thirty_two_levels_are_read_and_one_more_is_not() {
        let nested = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n - 1), "]".repeat(n - 1));
        assert!(parse(nested(32).as_bytes()).is_ok());
        assert!(parse(nested(33).as_bytes()).is_err());
        assert!(parse("[".repeat(200_000).as_bytes()).is_err());
    }

    #[test]
    fn only_objects_are_bodies() {
        for bad in ["", "1", "[]", "null", "{\"a\":}", "{} {}", "\u{feff}{}"] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(parse(b" {} ").is_ok());
    }

    #[test]
    fn a_type_that_is_not_json_is_told_from_none() {
        let declares = |value: &'static str| {
            declared_json(&HeaderMap::from_iter([(
                CONTENT_TYPE,
                axum::http::HeaderValue::from_static(value),
            )]))
        };
        assert!(declared_json(&HeaderMap::new()));
        assert!(
            declares("application/json; charset=utf-8") && declares("application/vnd.api+json")
        );
        assert!(!declares("text/plain") && !declares("application/x-www-form-urlencoded"));
    }
}
