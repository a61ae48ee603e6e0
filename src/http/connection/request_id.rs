//! Ids of requests, in the answer and in each line of the log about it. Reference 1.5.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::engine::randomness::Randomness;
use crate::wire::column_value::append_value;

/// The header with the id of a request.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id of a caller that is kept.
const LENGTH_MAX: usize = 128;
/// The beginning of the ids that this process gives.
static PROCESS: LazyLock<String> =
    LazyLock::new(|| format!("{:016x}-", Randomness::from_os().number()));

/// The id of a request: letters, digits, hyphens, dots and underscores.
#[derive(Clone, Debug)]
pub(crate) enum RequestId {
    /// That of the caller.
    Given(HeaderValue),
    /// The number of a request of this process, which has no text before it is shown.
    Own(u64),
}

tokio::task_local! {
    /// The id of the request that the task answers.
    pub(crate) static CURRENT: RequestId;
}

impl RequestId {
    /// Returns the id that the caller gives, or a new one if the caller gives none that is legal.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        match headers.get(X_REQUEST_ID) {
            Some(given) if is_legal(given.as_bytes()) => Self::Given(given.clone()),
            _ => Self::unused(),
        }
    }

    /// Returns an id that no other request of this process has, nor most likely of any other.
    fn unused() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        Self::Own(NUMBER.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns it as the value of a header.
    pub(crate) fn into_header(self) -> HeaderValue {
        let number = match self {
            Self::Given(given) => return given,
            Self::Own(number) => number,
        };
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        // Room for the text alone becomes the header without another copy.
        let mut id = Vec::with_capacity(PROCESS.len() + digits);
        id.extend_from_slice(PROCESS.as_bytes());
        append_value(&number, &mut id);
        HeaderValue::try_from(id).expect("digits and a hyphen are visible")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(given) => f.write_str(given.to_str().expect("a legal id is ASCII")),
            Self::Own(number) => write!(f, "{}{number}", *PROCESS),
        }
    }
}

/// Writes ` request=` and the id of the request that the task answers; nothing elsewhere.
///
/// # Errors
/// Those of the writer.
pub(crate) fn write_current(out: &mut dyn fmt::Write) -> fmt::Result {
    CURRENT.try_with(|id| write!(out, " request={id}")).unwrap_or(Ok(()))
}

/// Whether an id of a caller may stand in an answer and in the log.
fn is_legal(id: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
    !id.is_empty() && id.len() <= LENGTH_MAX && id.iter().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_could_forge_a_line_of_the_log_is_replaced() {
        for (given, kept) in [
            ("3f2b-1.a_Z", true),
            ("", false),
            ("a b", false),
            ("a\"b", false),
            ("a=b", false),
            (&"x".repeat(LENGTH_MAX), true),
            (&"x".repeat(LENGTH_MAX + 1), false),
        ] {
            let value = HeaderValue::from_str(given).expect("a header");
            let headers = HeaderMap::from_iter([(X_REQUEST_ID, value)]);
            assert_eq!(RequestId::from_headers(&headers).to_string() == given, kept, "{given}");
        }
        let of_none = || RequestId::from_headers(&HeaderMap::new()).to_string();
        assert_ne!(of_none(), of_none());
    }
}
