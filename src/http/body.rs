//! Reading a request's body, with limits on its size, depth and time. Reference 1.1.

use std::borrow::Cow;
use std::net::IpAddr;
use std::pin::pin;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method};
use http_body_util::BodyExt as _;
use serde_json::{Map, Value};
use tokio::time::{Instant as Stopwatch, sleep_until};

use crate::http::error::ApiError;
use crate::http::limits::body_limits::{BodyBytes, SMALL_BYTES};
use crate::http::server::Server;
use crate::wire::errors::Problem;
use crate::wire::file_form::read_file_form;
use crate::wire::image::SENT_BYTES_MAX;
use crate::wire::json_text::{nesting_depth, unescaped_length};
use crate::wire::params::Params;

/// Maximum size of a body, in bytes. In JSON an escaped character counts as itself.
pub(crate) const BYTES_MAX: usize = 256 * 1_024;
/// Maximum size of a JSON body with its escapes, in bytes. Other oversized bodies are read and
/// dropped up to this size. Beyond it the connection is closed.
const RAW_BYTES_MAX: usize = 1_024 * 1_024;
/// Maximum size of a page's form, in bytes: more than the longest texts of a booking take.
pub(crate) const PAGE_FORM_BYTES_MAX: usize = 32 * 1_024;
/// Maximum size of a form that a professional sends, in bytes: long texts with each sign escaped.
pub(crate) const PRO_FORM_BYTES_MAX: usize = 1_024 * 1_024;
/// Maximum size of what a form with a file has beside the file, in bytes.
const FORM_PARTS_BYTES_MAX: usize = 4 * 1_024;
/// Maximum nesting depth of a JSON body.
const DEPTH_MAX: usize = 32;
/// Maximum time in which a body must arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for which a body may stall. Each byte that has come adds to it.
const STALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Least number of bytes a second of a body after that time.
const BYTES_A_SECOND_MIN: usize = 500;
/// Size of a body up to which it is parsed on a thread that serves connections: well under a
/// millisecond.
const INLINE_BYTES_MAX: usize = 16 * 1_024;

/// The body of a request. It is read when the pipeline needs it.
///
/// Its share of the memory for bodies is free again when this is dropped.
pub(crate) struct Incoming<'r> {
    server: &'r Server,
    headers: &'r HeaderMap,
    /// The client address.
    from: IpAddr,
    state: State,
    memory: BodyBytes,
    /// Number of bytes that were read.
    length: usize,
}

enum State {
    Unread(Body),
    Read(Result<Map<String, Value>, ApiError>),
}

impl<'r> Incoming<'r> {
    /// An unread body.
    pub(crate) fn new(
        server: &'r Server,
        headers: &'r HeaderMap,
        from: IpAddr,
        body: Body,
    ) -> Self {
        let state = State::Unread(body);
        let memory = BodyBytes::default();
        Self { server, headers, from, state, memory, length: 0 }
    }

    /// Returns whether work on what was read belongs on a thread that serves no connection.
    pub(crate) fn is_long(&self) -> bool {
        self.length > INLINE_BYTES_MAX
    }

    /// Returns the JSON object before the caller is known; `None` if it is malformed. That error is
    /// kept and returned when the body is due. Unless the key of the request is known already
    /// (`is_identified`), only a few larger bodies are read so at once.
    ///
    /// # Errors
    /// 503 without memory for the body, and other errors that end the connection.
    pub(crate) async fn peek(
        &mut self,
        is_identified: bool,
    ) -> Result<Option<&Map<String, Value>>, ApiError> {
        if matches!(self.state, State::Unread(_)) {
            match self.read_object_now(is_identified).await {
                Err(error) if error.is_closing() => return Err(error),
                read => self.state = State::Read(read),
            }
        }
        match &self.state {
            State::Read(read) => Ok(read.as_ref().ok()),
            State::Unread(_) => Ok(None),
        }
    }

    /// Returns the JSON object.
    ///
    /// # Errors
    /// 413 over the limit, 415 for a declared type other than JSON, 400 for a malformed object; 503
    /// if the bodies under way leave no memory for it.
    pub(crate) async fn read_object(&mut self) -> Result<Map<String, Value>, ApiError> {
        match self.take_read() {
            Some(read) => read,
            None => self.read_object_now(true).await,
        }
    }

    /// Returns the optional JSON object of a DELETE; an empty one for a body that is empty, null or
    /// not JSON. Bodies of other methods are not read.
    ///
    /// # Errors
    /// As [`Incoming::read_object`], if the body is not empty.
    pub(crate) async fn read_optional_object(
        &mut self,
        method: &Method,
    ) -> Result<Map<String, Value>, ApiError> {
        if method != Method::DELETE {
            return Ok(Map::new());
        }
        match self.take_read() {
            // The body was read early, on an older path. A malformed one counts as empty.
            Some(read) => Ok(read.unwrap_or_default()),
            None => {
                let bytes = self.read_bytes(true).await?;
                // Some generated programs write null for the object that they leave out.
                if matches!(bytes.trim_ascii(), b"" | b"null") || !is_declared_json(self.headers) {
                    return Ok(Map::new());
                }
                parse(self.server, bytes).await
            }
        }
    }

    /// Reads and drops an unread body in a task of its own, so that the connection can be reused.
    /// A body that is too large or too slow ends the connection.
    pub(crate) fn discard(&mut self) {
        if let State::Unread(body) = self.take_state()
            && !body.is_end_stream()
        {
            tokio::spawn(drain(body, BYTES_MAX, |_| Ok(())));
        }
    }

    /// Returns the parameters of a form or of a JSON object; none for an empty body. The body may
    /// have `bytes_max` bytes. Up to [`SMALL_BYTES`] it takes no share of the memory for bodies.
    ///
    /// # Errors
    /// 413 over the limit, 415 for another declared type, 400 for a malformed object and for too
    /// many parameters.
    pub(crate) async fn read_form(&mut self, bytes_max: usize) -> Result<Form, ApiError> {
        let bytes = if bytes_max > SMALL_BYTES {
            self.read_bytes(true).await?
        } else {
            self.read_small().await?
        };
        if bytes.len() > bytes_max {
            let rule = format!("the body has more than {bytes_max} bytes");
            return Err(ApiError::new(Problem::ContentTooLarge, rule));
        }
        if declared_type(self.headers).as_deref() == Some("application/x-www-form-urlencoded") {
            if let Err(rule) = Params::check_number(&bytes) {
                return Err(ApiError::new(Problem::InvalidParameter, format!("the body {rule}")));
            }
            let decode = move || Params::from_query(&String::from_utf8_lossy(&bytes));
            let params = if self.is_long() {
                self.server.blocking_pool.run(decode).await?
            } else {
                decode()
            };
            return Ok(Form { params, ..Form::default() });
        }
        if !is_declared_json(self.headers) {
            return Err(ApiError::new(
                Problem::UnsupportedMediaType,
                "the body must be a form or JSON: declare it with the header Content-Type: application/x-www-form-urlencoded",
            ));
        }
        let object = if bytes.trim_ascii().is_empty() {
            Map::new()
        } else {
            parse(self.server, bytes).await?
        };
        let mut wrong_types = Vec::new();
        let params = Params::from_json_object(&object, |name| wrong_types.push(name));
        Ok(Form { params, is_json: true, wrong_types })
    }

    /// Returns the bytes of a body of at most 8 KiB that arrives in time.
    ///
    /// # Errors
    /// 413 for a larger one, 400 for a slow one. Both close the connection.
    pub(crate) async fn read_small(&mut self) -> Result<Vec<u8>, ApiError> {
        let State::Unread(body) = self.take_state() else { return Ok(Vec::new()) };
        let mut bytes = Vec::new();
        drain(body, BYTES_MAX, |data| {
            if bytes.len() + data.len() > SMALL_BYTES {
                let rule = format!("the body has more than {SMALL_BYTES} bytes");
                return Err(ApiError::new(Problem::ContentTooLarge, rule).closing());
            }
            bytes.extend_from_slice(data);
            Ok(())
        })
        .await?;
        Ok(bytes)
    }

    /// Returns the bytes of the file of an image, whatever its declared type: those of the body, or
    /// of the part `file` of a form.
    ///
    /// # Errors
    /// 413 over [`SENT_BYTES_MAX`]; 503 if the bodies under way leave no memory for it.
    pub(crate) async fn read_image(&mut self, headers: &HeaderMap) -> Result<Vec<u8>, ApiError> {
        if declared_type(headers).as_deref() == Some("multipart/form-data") {
            let declared = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
            let mut parts = read_file_form(declared, self.read_upload().await?).await;
            return Ok(parts.remove("file").unwrap_or_default());
        }
        match self.read_bytes_up_to(SENT_BYTES_MAX, true).await? {
            Some(bytes) => Ok(bytes),
            None => {
                let rule =
                    format!("the image has more than {SENT_BYTES_MAX} bytes: make it smaller");
                Err(ApiError::new(Problem::ContentTooLarge, rule))
            }
        }
    }

    /// Returns the bytes of a form with one file of at most [`SENT_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// As [`Incoming::read_image`].
    pub(crate) async fn read_upload(&mut self) -> Result<Vec<u8>, ApiError> {
        let read = self.read_bytes_up_to(SENT_BYTES_MAX + FORM_PARTS_BYTES_MAX, true).await?;
        let rule = "the form has more bytes than one image may have: send a smaller one";
        read.ok_or_else(|| ApiError::new(Problem::ContentTooLarge, rule))
    }

    /// Returns the object of a body that was read early; `None` if the body is unread.
    fn take_read(&mut self) -> Option<Result<Map<String, Value>, ApiError>> {
        match self.take_state() {
            State::Read(read) => Some(read),
            unread @ State::Unread(_) => {
                self.state = unread;
                None
            }
        }
    }

    /// Takes the state of the body. An empty unread body stays.
    fn take_state(&mut self) -> State {
        std::mem::replace(&mut self.state, State::Unread(Body::empty()))
    }

    async fn read_object_now(
        &mut self,
        is_identified: bool,
    ) -> Result<Map<String, Value>, ApiError> {
        let bytes = self.read_bytes(is_identified).await?;
        if is_declared_json(self.headers) {
            parse(self.server, bytes).await
        } else {
            Err(not_json_error())
        }
    }

    /// Returns all bytes of a body that arrives in time.
    async fn read_bytes(&mut self, is_identified: bool) -> Result<Vec<u8>, ApiError> {
        let bytes_max = if is_declared_json(self.headers) { RAW_BYTES_MAX } else { BYTES_MAX };
        self.read_bytes_up_to(bytes_max, is_identified).await?.ok_or_else(too_large)
    }

    /// Returns all bytes of a body that arrives in time; `None` if there are more than `bytes_max`.
    async fn read_bytes_up_to(
        &mut self,
        bytes_max: usize,
        is_identified: bool,
    ) -> Result<Option<Vec<u8>>, ApiError> {
        let State::Unread(body) = self.take_state() else { return Ok(Some(Vec::new())) };
        let memory = &mut self.memory;
        let limits = &self.server.body_limits;
        let from = self.from;
        let seen = drain(body, bytes_max, |data| {
            if memory.append(data, limits, from, is_identified) {
                Ok(())
            } else {
                Err(ApiError::overloaded().closing())
            }
        })
        .await?;
        self.length = seen;
        Ok(if seen > bytes_max { None } else { Some(self.memory.finish()) })
    }
}

/// Parses a JSON object; a large one on a thread that serves no connection.
async fn parse(server: &Server, bytes: Vec<u8>) -> Result<Map<String, Value>, ApiError> {
    if bytes.len() <= INLINE_BYTES_MAX {
        return parse_object(&bytes);
    }
    server.blocking_pool.run(move || parse_object(&bytes)).await?
}

/// Reads a whole body, passes on the bytes of one of at most `bytes_max`, and returns its size.
///
/// # Errors
/// 400 if the connection breaks or the body is too slow; 413 far beyond the limit; the error of
/// `pass_on`. They close the connection.
async fn drain(
    mut body: Body,
    bytes_max: usize,
    mut pass_on: impl FnMut(&[u8]) -> Result<(), ApiError>,
) -> Result<usize, ApiError> {
    let mut seen = 0;
    let began = Stopwatch::now();
    // One timer for all: it is set again only when it has run out.
    let mut check = pin!(sleep_until(began + time_for(0)));
    loop {
        let frame = tokio::select! {
            biased;
            frame = body.frame() => frame,
            () = &mut check => {
                let deadline = began + time_for(seen);
                if check.deadline() >= deadline {
                    return Err(too_slow());
                }
                check.as_mut().reset(deadline);
                continue;
            }
        };
        let Some(frame) = frame else { return Ok(seen) };
        let Ok(frame) = frame else {
            return Err(malformed("the connection broke before its end").closing());
        };
        let Ok(data) = frame.into_data() else { continue };
        seen += data.len();
        if seen <= bytes_max {
            pass_on(&data)?;
        } else if seen > RAW_BYTES_MAX {
            return Err(too_large().closing());
        }
    }
}

/// Returns the time from the beginning of a body, of which these bytes have come, to the next ones.
fn time_for(seen: usize) -> Duration {
    let millis = seen * 1_000 / BYTES_A_SECOND_MIN;
    let earned = Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX));
    BODY_TIMEOUT.min(STALL_TIMEOUT + earned)
}

/// The parameters of a login's body.
#[derive(Default)]
pub(crate) struct Form {
    /// The parameters, in the form of a query.
    pub(crate) params: Params,
    /// Whether the body was JSON.
    pub(crate) is_json: bool,
    /// Names in a JSON body whose values are neither texts nor numbers.
    pub(crate) wrong_types: Vec<String>,
}

/// Whether the declared type is JSON. No declared type counts as JSON.
fn is_declared_json(headers: &HeaderMap) -> bool {
    match declared_type(headers).as_deref() {
        None | Some("application/json" | "text/json") => true,
        Some(other) => other.ends_with("+json"),
    }
}

/// Returns the declared media type, without its parameters, in lower case.
fn declared_type(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let declared = headers.get(CONTENT_TYPE)?.as_bytes();
    let essence = declared.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let mut essence = String::from_utf8_lossy(essence);
    if essence.bytes().any(|byte| byte.is_ascii_uppercase()) {
        essence.to_mut().make_ascii_lowercase();
    }
    if essence.is_empty() { None } else { Some(essence) }
}

fn not_json_error() -> ApiError {
    ApiError::new(
        Problem::UnsupportedMediaType,
        "the body must be JSON: declare it with the header Content-Type: application/json",
    )
}

fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, ApiError> {
    if bytes.len() > BYTES_MAX && unescaped_length(bytes) > BYTES_MAX {
        return Err(too_large());
    }
    if nesting_depth(bytes) > DEPTH_MAX {
        return Err(malformed(&format!("its nesting depth is over {DEPTH_MAX}")));
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(malformed("it must be an object such as {\"appointment\":{…}}")),
        Err(error) => Err(malformed(&format!(
            "it is not JSON at line {} column {}",
            error.line(),
            error.column()
        ))),
    }
}

fn malformed(reason: &str) -> ApiError {
    ApiError::new(Problem::InvalidParameter, format!("the body is malformed: {reason}"))
}

fn too_slow() -> ApiError {
    let rule = format!(
        "after {} seconds it must arrive at {BYTES_A_SECOND_MIN} bytes a second at least, and all \
         of it within {} seconds",
        STALL_TIMEOUT.as_secs(),
        BODY_TIMEOUT.as_secs()
    );
    malformed(&rule).closing()
}

fn too_large() -> ApiError {
    let rule = format!(
        "the body has more than {BYTES_MAX} bytes; in JSON, escapes count as what they stand for, \
         and all of it has at most {RAW_BYTES_MAX} bytes"
    );
    ApiError::new(Problem::ContentTooLarge, rule)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};

    use hyper::body::Frame;

    use super::*;

    #[test]
    fn a_body_may_be_longer_by_its_escapes() {
        let escaped = format!("{{\"a\":\"{}\"}}", "\\u00e9".repeat(131_000));
        assert!(escaped.len() > 2 * BYTES_MAX && parse_object(escaped.as_bytes()).is_ok());
        let escaped = format!("{{\"a\":\"{}\"}}", "\\u00e9".repeat(131_100));
        assert!(parse_object(escaped.as_bytes()).is_err());
    }

    #[test]
    fn a_body_is_read_up_to_a_depth_of_32() {
        let nested = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n - 1), "]".repeat(n - 1));
        assert!(parse_object(nested(32).as_bytes()).is_ok());
        assert!(parse_object(nested(33).as_bytes()).is_err());
        assert!(parse_object("[".repeat(200_000).as_bytes()).is_err());
    }

    /// A body of `left` bytes, of which some come each second.
    struct SlowBody {
        left: usize,
        bytes_a_second: usize,
        next: Pin<Box<tokio::time::Sleep>>,
    }

    impl HttpBody for SlowBody {
        type Data = axum::body::Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Self::Data>, Infallible>>> {
            if self.left == 0 {
                return Poll::Ready(None);
            }
            ready!(self.next.as_mut().poll(context));
            self.next = Box::pin(tokio::time::sleep(Duration::from_secs(1)));
            let sent = self.left.min(self.bytes_a_second);
            self.left -= sent;
            Poll::Ready(Some(Ok(Frame::data(vec![b' '; sent].into()))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_arrives_at_500_bytes_a_second_after_5_seconds() {
        for (length, bytes_a_second, seconds, arrives) in [
            (10, 0, 5, false),
            (10_000, 1, 5, false),
            (10_000, 250, 10, false),
            (10_000, 490, 20, true),
            (14_000, 500, 27, true),
            (256 * 1_024, 500, 30, false),
            (256 * 1_024, 9_000, 29, true),
        ] {
            let began = Stopwatch::now();
            let next = Box::pin(tokio::time::sleep(Duration::ZERO));
            let body = Body::new(SlowBody { left: length, bytes_a_second, next });
            let read = drain(body, BYTES_MAX, |_| Ok(())).await;
            assert_eq!(read.is_ok(), arrives, "{length} bytes, {bytes_a_second} a second");
            let waited = began.elapsed();
            assert_eq!(waited.as_secs(), seconds, "{length} bytes, {bytes_a_second} a second");
        }
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
            declares("application/json; charset=utf-8")
                && declares("application/vnd.api+json")
                && declares(" Application/JSON ;q=1")
                && declares(";charset=utf-8")
        );
        assert!(!declares("text/plain") && !declares("application/x-www-form-urlencoded"));
    }
}
