//! Reading a request's body, with limits on its size, depth and time. Reference 1.1.

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

/// Maximum size of a body, in bytes.
const BYTES_MAX: usize = 256 * 1_024;
/// Size up to which an oversized body is read and dropped. Beyond it the connection is closed.
const DROPPED_BYTES_MAX: usize = 1_024 * 1_024;
/// Maximum nesting depth of a JSON body.
const DEPTH_MAX: usize = 32;
/// Maximum time in which a body must arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The body of a request. It is read when the pipeline needs it.
pub(crate) struct Incoming<'h> {
    headers: &'h HeaderMap,
    state: State,
}

enum State {
    Unread(Body),
    Read(Result<Map<String, Value>, ApiError>),
}

impl<'h> Incoming<'h> {
    /// An unread body.
    pub(crate) fn new(headers: &'h HeaderMap, body: Body) -> Self {
        Self { headers, state: State::Unread(body) }
    }

    /// Returns the JSON object before the body is due; `None` if it is malformed. The error is kept
    /// and returned when the body is due.
    pub(crate) async fn peek(&mut self) -> Option<&Map<String, Value>> {
        if let State::Unread(body) = &mut self.state {
            let body = std::mem::take(body);
            self.state = State::Read(read_object(self.headers, body).await);
        }
        match &self.state {
            State::Read(read) => read.as_ref().ok(),
            State::Unread(_) => None,
        }
    }

    /// Returns the JSON object.
    ///
    /// # Errors
    /// 413 over the limit, 415 for a declared type other than JSON, 400 for a malformed object.
    pub(crate) async fn read_object(self) -> Result<Map<String, Value>, ApiError> {
        match self.state {
            State::Unread(body) => read_object(self.headers, body).await,
            State::Read(read) => read,
        }
    }

    /// Returns the optional JSON object of a DELETE; an empty one for a body that is empty or not
    /// JSON. Bodies of other methods are not read.
    ///
    /// # Errors
    /// As [`Incoming::read_object`], if the body is not empty.
    pub(crate) async fn read_optional_object(
        self,
        method: &Method,
    ) -> Result<Map<String, Value>, ApiError> {
        if method != Method::DELETE {
            return Ok(Map::new());
        }
        match self.state {
            State::Unread(body) => {
                let bytes = read_in_time(body).await?;
                if bytes.trim_ascii().is_empty() || !is_declared_json(self.headers) {
                    return Ok(Map::new());
                }
                parse_object(&bytes)
            }
            // The body was read early, on an older path. A malformed one counts as empty.
            State::Read(read) => Ok(read.unwrap_or_default()),
        }
    }

    /// Reads and drops an unread body in a task of its own, so that the connection can be reused.
    /// A body that is too large or too slow ends the connection.
    pub(crate) fn discard(self) {
        if let State::Unread(body) = self.state
            && !body.is_end_stream()
        {
            tokio::spawn(tokio::time::timeout(BODY_TIMEOUT, drain(body, |_| {})));
        }
    }

    /// Returns the parameters of a form or of a JSON object; none for an empty body.
    ///
    /// # Errors
    /// 413 over the limit, 415 for another declared type, 400 for a malformed object.
    pub(crate) async fn read_form(self) -> Result<Form, ApiError> {
        match self.state {
            State::Unread(body) => read_form(self.headers, body).await,
            State::Read(read) => {
                Ok(Form { params: Params::from_json_object(&read?), is_json: true })
            }
        }
    }
}

/// Reads a whole body, passes on the bytes up to the limit, and returns the size of the body.
///
/// # Errors
/// 400 if the connection breaks; 413 far beyond the limit. Both close the connection.
async fn drain(mut body: Body, mut pass_on: impl FnMut(&[u8])) -> Result<usize, ApiError> {
    let mut seen = 0;
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(frame) = frame else {
            return Err(malformed("the connection broke before its end").closing());
        };
        let Ok(data) = frame.into_data() else { continue };
        seen += data.len();
        if seen <= BYTES_MAX {
            pass_on(&data);
        } else if seen > DROPPED_BYTES_MAX {
            return Err(too_large().closing());
        }
    }
    Ok(seen)
}

async fn read_object(headers: &HeaderMap, body: Body) -> Result<Map<String, Value>, ApiError> {
    let bytes = read_in_time(body).await?;
    if is_declared_json(headers) { parse_object(&bytes) } else { Err(not_json_error()) }
}

/// The parameters of a login's body.
#[derive(Default)]
pub(crate) struct Form {
    /// The parameters, in the form of a query.
    pub(crate) params: Params,
    /// Whether the body was JSON.
    pub(crate) is_json: bool,
}

async fn read_form(headers: &HeaderMap, body: Body) -> Result<Form, ApiError> {
    let bytes = read_in_time(body).await?;
    if declared_type(headers).as_deref() == Some("application/x-www-form-urlencoded") {
        return Ok(Form {
            params: Params::from_query(&String::from_utf8_lossy(&bytes)),
            is_json: false,
        });
    }
    if !is_declared_json(headers) {
        return Err(ApiError::new(
            Problem::UnsupportedMediaType,
            "the body must be a form or JSON: declare it with the header Content-Type: application/x-www-form-urlencoded",
        ));
    }
    let object = if bytes.trim_ascii().is_empty() { Map::new() } else { parse_object(&bytes)? };
    Ok(Form { params: Params::from_json_object(&object), is_json: true })
}

/// Returns all bytes of a body that arrives in time.
async fn read_in_time(body: Body) -> Result<Vec<u8>, ApiError> {
    match tokio::time::timeout(BODY_TIMEOUT, read_bytes(body)).await {
        Ok(read) => read,
        Err(_) => {
            let seconds = BODY_TIMEOUT.as_secs();
            Err(malformed(&format!("it must arrive within {seconds} seconds")).closing())
        }
    }
}

async fn read_bytes(body: Body) -> Result<Vec<u8>, ApiError> {
    let mut kept = Vec::new();
    let seen = drain(body, |data| kept.extend_from_slice(data)).await?;
    if seen > BYTES_MAX { Err(too_large()) } else { Ok(kept) }
}

/// Whether the declared type is JSON. No declared type counts as JSON.
fn is_declared_json(headers: &HeaderMap) -> bool {
    match declared_type(headers).as_deref() {
        None | Some("application/json" | "text/json") => true,
        Some(other) => other.ends_with("+json"),
    }
}

/// Returns the declared media type, without its parameters, in lower case.
fn declared_type(headers: &HeaderMap) -> Option<String> {
    let declared = String::from_utf8_lossy(headers.get(CONTENT_TYPE)?.as_bytes());
    let essence = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence.is_empty() { None } else { Some(essence) }
}

fn not_json_error() -> ApiError {
    ApiError::new(
        Problem::UnsupportedMediaType,
        "the body must be JSON: declare it with the header Content-Type: application/json",
    )
}

fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, ApiError> {
    if nesting_depth(bytes) > DEPTH_MAX {
        return Err(malformed(&format!("its nesting depth is over {DEPTH_MAX}")));
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_),
        ) => Err(malformed("it must be an object such as {\"appointment\":{…}}")),
        Err(error) => Err(malformed(&format!(
            "it is not JSON at line {} column {}",
            error.line(),
            error.column()
        ))),
    }
}

/// Returns the maximum nesting depth of brackets outside strings.
fn nesting_depth(bytes: &[u8]) -> usize {
    let (mut open, mut open_max, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                open += 1;
                open_max = open_max.max(open);
            }
            b'}' | b']' if !in_string => open = open.saturating_sub(1),
            _ => {}
        }
    }
    open_max
}

fn malformed(reason: &str) -> ApiError {
    ApiError::new(Problem::InvalidParameter, format!("the body is malformed: {reason}"))
}

fn too_large() -> ApiError {
    ApiError::new(Problem::ContentTooLarge, format!("the body has more than {BYTES_MAX} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_inside_strings_do_not_count() {
        assert_eq!(nesting_depth(br#"{"a":"[[[[","b":[1]}"#), 2);
        assert_eq!(nesting_depth(br#"{"a":"\"[[","b":"\\"}"#), 1);
        assert_eq!(nesting_depth(b"]]]["), 1);
    }

    #[test]
    fn a_body_is_read_up_to_a_depth_of_32() {
        let nested = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n - 1), "]".repeat(n - 1));
        assert!(parse_object(nested(32).as_bytes()).is_ok());
        assert!(parse_object(nested(33).as_bytes()).is_err());
        assert!(parse_object("[".repeat(200_000).as_bytes()).is_err());
    }

    #[test]
    fn only_json_objects_are_accepted() {
        for bad in ["", "1", "[]", "null", "{\"a\":}", "{} {}", "\u{feff}{}"] {
            assert!(parse_object(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(parse_object(b" {} ").is_ok());
    }

    #[test]
    fn a_declared_type_must_be_json() {
        let declares = |value: &'static str| {
            is_declared_json(&HeaderMap::from_iter([(
                CONTENT_TYPE,
                axum::http::HeaderValue::from_static(value),
            )]))
        };
        assert!(is_declared_json(&HeaderMap::new()));
        assert!(
            declares("application/json; charset=utf-8") && declares("application/vnd.api+json")
        );
        assert!(!declares("text/plain") && !declares("application/x-www-form-urlencoded"));
    }
}
