//! Preferences of a request, and marks of what its answer is. Reference 1.6, 1.8.

use axum::http::header::LINK;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;

/// The header with preferences of a caller (RFC 7240).
static PREFER: HeaderName = HeaderName::from_static("prefer");
/// The header of an answer with the preferences that were followed.
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// The preference that refuses unknown parameters and fields.
const STRICT: &str = "handling=strict";
/// The header of an answer on a path that a later one replaces (RFC 9745).
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
/// 23 November 2026, since when the paths with a group segment do all that the others do.
const DEPRECATED_SINCE: &str = "@1795392000";
/// The page with the present paths.
const PRESENT_PATHS: &str = "</docs>; rel=\"deprecation\"";

/// Whether a request wants unknown parameters and fields to be refused.
pub(crate) fn is_strict(headers: &HeaderMap) -> bool {
    let mut given = headers.get_all(&PREFER).iter().filter_map(|value| value.to_str().ok());
    given.any(|preferences| {
        preferences.split(',').any(|preference| {
            let token = preference.split(';').next().unwrap_or_default();
            let token: String = token.chars().filter(|char| !" \t\"".contains(*char)).collect();
            token.eq_ignore_ascii_case(STRICT)
        })
    })
}

/// Says that the answer is to a request whose names were all checked.
pub(crate) fn mark_strict(response: &mut Response) {
    response.headers_mut().insert(PREFERENCE_APPLIED, HeaderValue::from_static(STRICT));
}

/// Says that the path of the request is an older one.
pub(crate) fn mark_deprecated(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(DEPRECATION, HeaderValue::from_static(DEPRECATED_SINCE));
    headers.append(LINK, HeaderValue::from_static(PRESENT_PATHS));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_preferences_is_found() {
        for (given, strict) in [
            ("handling=strict", true),
            ("Handling = \"Strict\"", true),
            ("return=minimal, handling=strict; x=1", true),
            ("handling=lenient", false),
            ("strict", false),
            ("", false),
        ] {
            let value = HeaderValue::from_str(given).expect("a header");
            assert_eq!(
                is_strict(&HeaderMap::from_iter([(PREFER.clone(), value)])),
                strict,
                "{given}"
            );
        }
    }
}
