//! The application key of a request: in the header X-Api-Key, as a bearer token, or in the query.
//! Reference 3.1.

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::domain::records::fault::Fault;
use crate::http::error::ApiError;
use crate::wire::params::Params;

/// The header that holds the key, as documents write it.
pub(crate) const API_KEY: &str = "X-Api-Key";
/// The same, as it is looked up.
static API_KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");
/// The query parameter that holds the key.
const PARAMETER: &str = "apikey";

/// Copies the key of the headers to the parameters, where every later check looks for it.
///
/// # Errors
/// 400 if the request has two different keys, or one that is no text.
pub(crate) fn take_key(headers: &HeaderMap, params: &mut Params) -> Result<(), ApiError> {
    let mut in_headers: Vec<&str> = Vec::new();
    for header in headers.get_all(&API_KEY_HEADER) {
        in_headers.extend(key_text(header.as_bytes())?);
    }
    for header in headers.get_all(AUTHORIZATION) {
        if let Some(token) = bearer_token(header) {
            in_headers.extend(key_text(token)?);
        }
    }
    let differ = {
        let in_query = params.iter().filter(|(name, _)| *name == PARAMETER);
        let in_query = in_query.map(|(_, value)| value.trim()).filter(|value| !value.is_empty());
        let mut given = in_headers.iter().copied().chain(in_query);
        let first = given.next();
        given.any(|other| Some(other) != first)
    };
    if differ {
        let rule = "the request has two different keys: send one, in the header X-Api-Key";
        return Err(Fault::new(PARAMETER, rule).into());
    }
    if let Some(key) = in_headers.first() {
        params.push(PARAMETER, key);
    }
    Ok(())
}

/// Returns the Authorization header that holds credentials, not a key.
pub(crate) fn credentials(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get_all(AUTHORIZATION).iter().find(|header| bearer_token(header).is_none())
}

/// Returns the token of an Authorization header; `None` if its scheme is not Bearer.
fn bearer_token(header: &HeaderValue) -> Option<&[u8]> {
    let header = header.as_bytes();
    let space = header.iter().position(|byte| *byte == b' ')?;
    let (scheme, token) = header.split_at(space);
    if scheme.eq_ignore_ascii_case(b"bearer") { Some(token) } else { None }
}

/// Returns a key without its surrounding spaces; `None` if it is empty, which counts as absent.
fn key_text(bytes: &[u8]) -> Result<Option<&str>, ApiError> {
    let Ok(text) = str::from_utf8(bytes.trim_ascii()) else {
        return Err(Fault::new(PARAMETER, "the key in the header must be a text").into());
    };
    if text.is_empty() { Ok(None) } else { Ok(Some(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(headers: &[(&'static str, &str)], query: &str) -> Result<Option<String>, ()> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().expect("a header"));
        }
        let mut params = Params::from_query(query);
        match take_key(&map, &mut params) {
            Ok(()) => Ok(params.value(PARAMETER).map(str::to_owned)),
            Err(_) => Err(()),
        }
    }

    #[test]
    fn a_request_has_one_key_wherever_it_stands() {
        let some = |key: &str| Ok(Some(key.to_owned()));
        for (headers, query, expected) in [
            (&[][..], "", Ok(None)),
            (&[], "apikey=a", some("a")),
            (&[("x-api-key", "a")], "", some("a")),
            (&[("x-api-key", " a ")], "apikey=+a", some("a")),
            (&[("x-api-key", "")], "apikey=a", some("a")),
            (&[("authorization", "bearer  a")], "", some("a")),
            (&[("authorization", "Basic YTpi"), ("x-api-key", "a")], "", some("a")),
            (&[("authorization", "Bearer a"), ("x-api-key", "a")], "apikey=a", some("a")),
            (&[("x-api-key", "a")], "apikey=b", Err(())),
            (&[("x-api-key", "a"), ("x-api-key", "b")], "", Err(())),
            (&[("authorization", "Bearer b"), ("x-api-key", "a")], "", Err(())),
            (&[("authorization", "Bearer b")], "apikey=a", Err(())),
            (&[], "apikey=a&apikey=b", Err(())),
        ] {
            assert_eq!(taken(headers, query), expected, "{headers:?} {query}");
        }
    }

    #[test]
    fn a_bearer_token_is_no_credential() {
        let mut headers = HeaderMap::new();
        headers.append("authorization", HeaderValue::from_static("Bearer a"));
        assert_eq!(credentials(&headers), None);
        headers.append("authorization", HeaderValue::from_static("Basic YTpi"));
        assert_eq!(credentials(&headers), Some(&HeaderValue::from_static("Basic YTpi")));
    }
}
