//! The header Idempotency-Key: the same request is carried out once, however often it is sent. Reference 6.

use axum::http::{HeaderMap, StatusCode};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use crate::domain::state::command::Caller;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::refusal::Fault;
use crate::domain::time::Instant;
use crate::http::auth::Identity;
use crate::http::error::{ApiError, IDEMPOTENCY_KEY};
use crate::http::pipeline::{Outcome, json};

/// Characters of a key at most.
const KEY_MAX: usize = 255;
/// Up to here every whole number is a double of its own.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// A key as it is kept: who used it, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// SHA-256 over group, apikey, caller and key.
    pub(crate) scope: [u8; 32],
    /// SHA-256 over the resource and the body.
    pub(crate) body: [u8; 32],
}

impl Key {
    /// The key of a request to a path of the table, if it has one.
    ///
    /// # Errors
    /// A key that is no key.
    pub(crate) fn of(
        headers: &HeaderMap,
        path: &str,
        identity: &Identity,
        state: &GroupState,
        body: &Map<String, Value>,
    ) -> Result<Option<Self>, Fault> {
        let Some(scope) = scope(headers, identity, state)? else { return Ok(None) };
        // The older path of a resource means the same as the group's.
        let resource = path.rsplit('/').next().unwrap_or_default();
        let mut hash = Sha256::new();
        add_text(&mut hash, resource);
        add_object(&mut hash, body);
        Ok(Some(Self { scope, body: hash.finalize().into() }))
    }

    /// The answer of a request that readers see carried out, or its refusal.
    pub(crate) fn answered_before(self, state: &GroupState, now: Instant) -> Option<Outcome> {
        let known = state.idempotency_records.find(&self.scope, now)?;
        let same = known.body == self.body;
        Some(if same {
            Ok(json(StatusCode::CREATED, known.answer.to_vec()))
        } else {
            Err(ApiError::conflict())
        })
    }
}

/// Whether readers see anything carried out under the key of a request, whatever its body is.
pub(crate) fn is_answered_before(
    headers: &HeaderMap,
    identity: &Identity,
    state: &GroupState,
    now: Instant,
) -> bool {
    scope(headers, identity, state).is_ok_and(|scope| {
        scope.is_some_and(|scope| state.idempotency_records.find(&scope, now).is_some())
    })
}

/// What a request's key is kept under, if it has one.
fn scope(
    headers: &HeaderMap,
    identity: &Identity,
    state: &GroupState,
) -> Result<Option<[u8; 32]>, Fault> {
    let Some(key) = text(headers)? else { return Ok(None) };
    let (role, person) = match &identity.caller {
        Caller::Application => (0_u8, 0),
        Caller::Pro(id) => (1, id.number()),
        Caller::Account(account) => (2, account.fiche_id.number()),
    };
    let scope = Sha256::new_with_prefix(state.catalogue.group.id.number().to_be_bytes())
        .chain_update(identity.apikey)
        .chain_update([role])
        .chain_update(person.to_be_bytes())
        .chain_update(key);
    Ok(Some(scope.finalize().into()))
}

fn text(headers: &HeaderMap) -> Result<Option<&[u8]>, Fault> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let key = value.as_bytes();
    let printable = key.iter().all(|byte| (b' '..=b'~').contains(byte));
    if values.next().is_some() || key.is_empty() || key.len() > KEY_MAX || !printable {
        let rule = format!(
            "the header must be given once, with 1 to {KEY_MAX} printable ASCII characters"
        );
        return Err(Fault::new(IDEMPOTENCY_KEY, rule));
    }
    Ok(Some(key))
}

fn add_text(hash: &mut Sha256, text: &str) {
    hash.update(text.len().to_be_bytes());
    hash.update(text);
}

/// Adds an object so that the order of its keys does not matter.
fn add_object(hash: &mut Sha256, object: &Map<String, Value>) {
    let mut members: Vec<_> = object.iter().collect();
    members.sort_unstable_by_key(|(name, _)| name.as_str());
    hash.update(b"{");
    hash.update(members.len().to_be_bytes());
    for (name, value) in members {
        add_text(hash, name);
        add(hash, value);
    }
}

/// Adds a value, each kind by a letter of its own; a body's depth is bounded.
fn add(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Null => hash.update(b"n"),
        Value::Bool(value) => hash.update(if *value { b"t" } else { b"f" }),
        Value::Number(number) => {
            hash.update(b"0");
            add_text(hash, &plain(number));
        }
        Value::String(text) => {
            hash.update(b"\"");
            add_text(hash, text);
        }
        Value::Array(values) => {
            hash.update(b"[");
            hash.update(values.len().to_be_bytes());
            values.iter().for_each(|value| add(hash, value));
        }
        Value::Object(object) => add_object(hash, object),
    }
}

/// One text per number: 1, 1.0 and 1e0 are the same.
fn plain(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT_MAX => {
            // Zero has no sign.
            format!("{:.0}", float + 0.0)
        }
        Some(_) | None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> [u8; 32] {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let mut hash = Sha256::new();
        add(&mut hash, &value);
        hash.finalize().into()
    }

    #[test]
    fn how_a_body_is_written_does_not_matter() {
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
    fn what_a_body_says_does() {
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
        let of = |values: &[&[u8]]| {
            let value =
                |bytes: &&[u8]| axum::http::HeaderValue::from_bytes(bytes).expect("a header");
            let headers: HeaderMap = values
                .iter()
                .map(|bytes| (axum::http::HeaderName::from_static("idempotency-key"), value(bytes)))
                .collect();
            text(&headers).map(|key| key.map(<[u8]>::to_vec))
        };
        assert!(matches!(of(&[]), Ok(None)));
        assert_eq!(of(&[b"a b~"]).expect("a key"), Some(b"a b~".to_vec()));
        assert!(of(&[&[b'x'; KEY_MAX]]).is_ok());
        for bad in
            [&[&[b'x'; KEY_MAX + 1][..]][..], &[b""], &[b"a\tb"], &["é".as_bytes()], &[b"a", b"a"]]
        {
            assert!(of(bad).is_err(), "{bad:?}");
        }
    }
}
