//! Recorded answers without the texts that the request holds itself. Reference 6.6.
//!
//! A repetition of a request has the same body, so its texts can be put back. The record then holds
//! little more than what the server has made.

use serde_json::{Map, Value};

/// Maximum number of texts that are looked for in an answer: the longest ones.
const TEXTS_MAX: usize = 64;
/// Begins a reference to a text of the request. JSON text holds no control characters.
const REFERENCE: u8 = 1;
/// Added to each of the two digits of a reference, which are control characters too.
const DIGIT_BASE: u8 = 2;
/// Bytes of a reference.
const REFERENCE_BYTES: usize = 3;
/// Minimum length of a text that is replaced, as JSON in bytes.
const TEXT_BYTES_MIN: usize = 3 * REFERENCE_BYTES;

/// The longer texts of a request as JSON, the longest first. The order depends on the values only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestTexts(Vec<Box<[u8]>>);

impl RequestTexts {
    /// Collects the texts of a body.
    pub(crate) fn collect(body: &Map<String, Value>) -> Self {
        let mut texts = Vec::new();
        for value in body.values() {
            collect_texts(value, &mut texts);
        }
        texts.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        texts.dedup();
        texts.truncate(TEXTS_MAX);
        Self(texts)
    }

    /// Replaces the texts in an answer by references.
    pub(crate) fn condense(&self, answer: &[u8]) -> Vec<u8> {
        debug_assert!(!answer.contains(&REFERENCE), "JSON has no control characters");
        let mut condensed = answer.to_vec();
        for (number, text) in (0..).zip(&self.0) {
            if memchr::memmem::find(&condensed, text).is_some() {
                condensed = replace_all(&condensed, text, &reference(number));
            }
        }
        condensed
    }

    /// Returns the answer that was condensed with the texts of an equal body. An answer without
    /// references stays as it is.
    pub(crate) fn expand(&self, condensed: &[u8]) -> Vec<u8> {
        let mut answer = Vec::with_capacity(condensed.len());
        let mut rest = condensed;
        while let Some(at) = memchr::memchr(REFERENCE, rest) {
            answer.extend_from_slice(&rest[..at]);
            let Some((reference, after)) = rest[at..].split_first_chunk() else { break };
            if let Some(text) = self.0.get(usize::from(referred_number(*reference))) {
                answer.extend_from_slice(text);
            }
            rest = after;
        }
        answer.extend_from_slice(rest);
        answer
    }
}

/// Adds the longer texts of a value. The recursion is bounded, since a body's depth is.
fn collect_texts(value: &Value, texts: &mut Vec<Box<[u8]>>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(_) => {
            let json = value.to_string().into_bytes();
            if json.len() >= TEXT_BYTES_MIN {
                texts.push(json.into());
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(object) => object.values().for_each(|value| collect_texts(value, texts)),
    }
}

fn reference(number: u8) -> [u8; REFERENCE_BYTES] {
    [REFERENCE, (number >> 4) + DIGIT_BASE, (number & 15) + DIGIT_BASE]
}

fn referred_number(reference: [u8; REFERENCE_BYTES]) -> u8 {
    let [_, high, low] = reference.map(|digit| digit.wrapping_sub(DIGIT_BASE) & 15);
    high << 4 | low
}

fn replace_all(bytes: &[u8], text: &[u8], replacement: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for at in memchr::memmem::find_iter(bytes, text) {
        replaced.extend_from_slice(&bytes[copied..at]);
        replaced.extend_from_slice(replacement);
        copied = at + text.len();
    }
    replaced.extend_from_slice(&bytes[copied..]);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn a_record_holds_no_long_text_of_its_request() {
        let long = "x\"é\n".repeat(500);
        let body =
            object(&json!({"appointment": {"comments": long, "fiche": {"lastname": "Durand"}}}));
        let texts = RequestTexts::collect(&body);
        let answer =
            json!({"records": [{"comments": long, "id": 7}, {"comments": long}]}).to_string();
        let condensed = texts.condense(answer.as_bytes());
        assert!(condensed.len() < 80, "{} bytes", condensed.len());
        assert_eq!(texts.expand(&condensed), answer.as_bytes());
        let other_order =
            object(&json!({"appointment": {"fiche": {"lastname": "Durand"}, "comments": long}}));
        assert_eq!(RequestTexts::collect(&other_order).expand(&condensed), answer.as_bytes());
    }

    #[test]
    fn an_answer_without_references_stays_as_it_is() {
        let texts = RequestTexts::collect(&object(&json!({"comments": "a longer text"})));
        assert_eq!(texts.expand(b"{\"id\":7}"), b"{\"id\":7}");
        assert_eq!(texts.condense(b"{\"id\":7}"), b"{\"id\":7}");
    }

    proptest! {
        #[test]
        fn every_answer_comes_back(
            sent in prop::collection::vec("[\"\\\\ab,:{}]{6,12}", 0..40),
            answered in prop::collection::vec("[\"\\\\ab,:{}]{6,12}", 0..8),
        ) {
            let body = object(&json!({"sent": sent}));
            let texts = RequestTexts::collect(&body);
            let answer = json!({"records": [sent, answered]}).to_string();
            let condensed = texts.condense(answer.as_bytes());
            prop_assert_eq!(texts.expand(&condensed), answer.as_bytes());
        }
    }
}
