//! The header Idempotency-Key: a repeated request is carried out once. Reference 6.6.

use std::net::IpAddr;

use axum::http::HeaderMap;
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use crate::domain::records::fault::Fault;
use crate::domain::state::command::Caller;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::idempotency::IdempotencyShare;
use crate::domain::time::Instant;
use crate::http::answer::condensed_answer::RequestTexts;
use crate::http::auth::{AuthRequest, Identity};
use crate::http::error::{ApiError, IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_HEADER};
use crate::http::limits::sliding_window::source;
use crate::http::response::CreatedAnswer;
use crate::planted_faults::PlantedFault;

/// Maximum length of a key, in characters.
const KEY_CHARS_MAX: usize = 255;
/// Largest magnitude up to which every whole number is a distinct double.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Number of characters from which a key is taken to be random. A shorter one could be another
/// caller's with the same public apikey.
const RANDOM_KEY_CHARS_MIN: usize = 16;

/// The hashes under which a request with a key is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdempotencyKey {
    /// SHA-256 of group, apikey, caller and key; of a short public key also of the source.
    pub(crate) scope: [u8; 32],
    /// SHA-256 of resource and body.
    pub(crate) body: [u8; 32],
    /// The share that the record counts in.
    pub(crate) share: IdempotencyShare,
    /// The texts of the body, which the record leaves out.
    pub(crate) texts: RequestTexts,
}

/// The parts of a request's body that its key needs.
#[derive(Clone, Debug)]
pub(crate) struct BodyDigest {
    /// SHA-256 of resource and body.
    hash: [u8; 32],
    /// The texts of the body.
    texts: RequestTexts,
}

impl BodyDigest {
    /// Digests the body of a request on a path of the route table.
    pub(crate) fn new(path: &str, body: &Map<String, Value>) -> Self {
        // The older path of a resource ends with the same segment as the path in the group.
        let resource = path.rsplit('/').next().unwrap_or_default();
        let mut hash = Sha256::new();
        add_text(&mut hash, resource);
        add_object(&mut hash, body);
        Self { hash: hash.finalize().into(), texts: RequestTexts::collect(body) }
    }
}

impl IdempotencyKey {
    /// Returns the key of a request, if the request has one and its body was digested.
    ///
    /// # Errors
    /// A malformed key.
    pub(crate) fn from_request(
        headers: &HeaderMap,
        identity: &Identity,
        from: IpAddr,
        state: &GroupState,
        digest: Option<BodyDigest>,
    ) -> Result<Option<Self>, Fault> {
        let Some(scope) = hash_scope(headers, identity, from, state)? else { return Ok(None) };
        let Some(BodyDigest { hash, texts }) = digest else { return Ok(None) };
        Ok(Some(Self { scope, body: hash, share: share_of(&identity.caller), texts }))
    }

    /// Returns the recorded answer of an earlier request, or 409 if its body was another one.
    /// `None` if the published state has no such request.
    pub(crate) fn find_answer(
        &self,
        state: &GroupState,
        now: Instant,
    ) -> Option<Result<CreatedAnswer, ApiError>> {
        let known = state.idempotency_records.find(&self.scope, now)?;
        if known.body == self.body || PlantedFault::OtherBodyAccepted.is_active() {
            let bytes = self.texts.expand(&known.answer);
            Some(Ok(CreatedAnswer {
                bytes,
                appointment: None,
                awaits_code: known.awaits_code,
                limit: None,
            }))
        } else {
            Some(Err(ApiError::conflict()))
        }
    }
}

/// Whether the published state has an answer under the request's key, for whatever body.
pub(crate) fn is_answered_before(
    auth: &AuthRequest<'_>,
    identity: &Identity,
    state: &GroupState,
    now: Instant,
) -> bool {
    match hash_scope(&auth.parts.headers, identity, auth.from, state) {
        Ok(Some(scope)) => state.idempotency_records.find(&scope, now).is_some(),
        Ok(None) | Err(_) => false,
    }
}

/// Returns the scope hash of a request's key, if the request has one.
fn hash_scope(
    headers: &HeaderMap,
    identity: &Identity,
    from: IpAddr,
    state: &GroupState,
) -> Result<Option<[u8; 32]>, Fault> {
    let Some(key) = read_header(headers)? else { return Ok(None) };
    let (role, person) = match &identity.caller {
        Caller::Application => (0_u8, 0),
        Caller::Pro(_) if PlantedFault::IdempotencyKeyOfAnyPerson.is_active() => (1, 0),
        Caller::Account(_) if PlantedFault::IdempotencyKeyOfAnyPerson.is_active() => (2, 0),
        Caller::Pro(id) => (1, id.number()),
        Caller::Account(account) => (2, account.fiche_id.number()),
    };
    let mut scope = Sha256::new_with_prefix(state.catalogue.group.id.number().to_be_bytes())
        .chain_update(identity.apikey)
        .chain_update([role])
        .chain_update(person.to_be_bytes())
        .chain_update(key);
    let is_public = matches!(identity.caller, Caller::Application) && !identity.is_server();
    if is_public && key.len() < RANDOM_KEY_CHARS_MIN {
        // No key holds the separator, so no longer key has the same scope.
        scope.update(b"\n");
        scope.update(source(from).to_string());
    }
    Ok(Some(scope.finalize().into()))
}

/// Returns the share that a caller's records count in.
const fn share_of(caller: &Caller) -> IdempotencyShare {
    match caller {
        Caller::Application => IdempotencyShare::Application,
        Caller::Account(_) => IdempotencyShare::Account,
        Caller::Pro(_) => IdempotencyShare::Pro,
    }
}

/// Returns the value of the header, if it is given.
///
/// # Errors
/// A header that is given twice, or whose value is no key.
fn read_header(headers: &HeaderMap) -> Result<Option<&[u8]>, Fault> {
    let mut values = headers.get_all(&IDEMPOTENCY_KEY_HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let key = value.as_bytes();
    let is_printable = key.iter().all(|byte| (b' '..=b'~').contains(byte));
    if values.next().is_some() || key.is_empty() || key.len() > KEY_CHARS_MAX || !is_printable {
        let rule = format!(
            "the header must be given once, with 1 to {KEY_CHARS_MAX} printable ASCII characters"
        );
        return Err(Fault::new(IDEMPOTENCY_KEY, rule));
    }
    Ok(Some(key))
}

fn add_text(hash: &mut Sha256, text: &str) {
    hash.update(text.len().to_be_bytes());
    hash.update(text);
}

/// Adds an object. The order of its keys does not change the hash.
fn add_object(hash: &mut Sha256, object: &Map<String, Value>) {
    let mut members: Vec<_> = object.iter().collect();
    members.sort_unstable_by_key(|(name, _)| name.as_str());
    hash.update(b"{");
    hash.update(members.len().to_be_bytes());
    for (name, value) in members {
        add_text(hash, name);
        add_value(hash, value);
    }
}

/// Adds a value, with a tag byte for its kind. The recursion is bounded, since a body's depth is.
fn add_value(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Null => hash.update(b"n"),
        Value::Bool(value) => hash.update(if *value { b"t" } else { b"f" }),
        Value::Number(number) => {
            hash.update(b"0");
            add_text(hash, &canonical_number(number));
        }
        Value::String(text) => {
            hash.update(b"\"");
            add_text(hash, text);
        }
        Value::Array(values) => {
            hash.update(b"[");
            hash.update(values.len().to_be_bytes());
            for value in values {
                add_value(hash, value);
            }
        }
        Value::Object(object) => add_object(hash, object),
    }
}

/// Returns the canonical text of a number: 1, 1.0 and 1e0 have the same.
fn canonical_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT_MAX => {
            // Adding 0.0 turns -0.0 into 0.0.
            format!("{:.0}", float + 0.0)
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> [u8; 32] {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let mut hash = Sha256::new();
        add_value(&mut hash, &value);
        hash.finalize().into()
    }

    #[test]
    fn equal_bodies_in_another_notation_have_the_same_hash() {
        for (one, other) in [
            (r#"{"a":1,"b":[true,null]}"#, r#" { "b" : [true, null], "a" : 1 } "#),
            (r#"{"a":{"x":1,"y":2}}"#, r#"{"a":{"y":2,"x":1}}"#),
            ("[1, 100, -0.0, 2.50]", "[1.0, 1e2, 0, 25e-1]"),
            (r#""\u00e9\n""#, "\"é\\n\""),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
        ] {
            assert_eq!(hash(one), hash(other), "{one} {other}");
        }
    }

    #[test]
    fn different_bodies_have_different_hashes() {
        let different = [
            "1",
            "\"1\"",
            "1.5",
            "true",
            "null",
            "\"\"",
            "[]",
            "{}",
            "[[]]",
            "[1,2]",
            "[2,1]",
            "[\"1,2\"]",
            "{\"a\":null}",
            "{\"a\":{}}",
            "{\"b\":1,\"a\":2}",
            "{\"a\":1,\"b\":2}",
            "9007199254740993",
            "9007199254740992",
            "-1",
        ];
        for (at, one) in different.iter().enumerate() {
            for other in &different[at + 1..] {
                assert_ne!(hash(one), hash(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn a_key_is_one_header_of_printable_characters() {
        let read = |values: &[&[u8]]| {
            let value =
                |bytes: &&[u8]| axum::http::HeaderValue::from_bytes(bytes).expect("a header");
            let headers: HeaderMap = values
                .iter()
                .map(|bytes| (axum::http::HeaderName::from_static("idempotency-key"), value(bytes)))
                .collect();
            read_header(&headers).map(|key| key.map(<[u8]>::to_vec))
        };
        assert!(matches!(read(&[]), Ok(None)));
        assert_eq!(read(&[b"a b~"]).expect("a key"), Some(b"a b~".to_vec()));
        assert!(read(&[&[b'x'; KEY_CHARS_MAX]]).is_ok());
        for bad in [
            &[&[b'x'; KEY_CHARS_MAX + 1][..]][..],
            &[b""],
            &[b"a\tb"],
            &["é".as_bytes()],
            &[b"a", b"a"],
        ] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
