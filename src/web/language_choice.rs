//! The language of a page: the parameter `lang`, then Accept-Language, then the group's country.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_LANGUAGE;

use crate::notify::language::Language;

/// The language of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LanguageChoice {
    pub(crate) language: Language,
    /// Whether the URL names it, so that the links of the page have to name it too.
    pub(crate) is_in_url: bool,
}

impl LanguageChoice {
    /// Returns the language of a request to a group in this country.
    pub(crate) fn new(parameter: Option<&str>, headers: &HeaderMap, country: &str) -> Self {
        if let Some(language) = parameter.and_then(find_language) {
            return Self { language, is_in_url: true };
        }
        let language = accepted_language(headers).unwrap_or_else(|| Language::of_country(country));
        Self { language, is_in_url: false }
    }
}

/// The tag of a language in URLs and in HTML.
pub(crate) const fn tag(language: Language) -> &'static str {
    match language {
        Language::French => "fr",
        Language::English => "en",
    }
}

/// Returns the HTML attribute for the shop's own texts on a page, in the language of the shop's
/// country; empty where the page has that language.
pub(crate) fn shop_attribute(page: Language, country: &str) -> &'static str {
    match (Language::of_country(country), page) {
        (Language::French, Language::English) => " lang=\"fr\"",
        (Language::English, Language::French) => " lang=\"en\"",
        (Language::French, Language::French) | (Language::English, Language::English) => "",
    }
}

/// Finds the language of a tag such as `fr-CH`.
fn find_language(tag: &str) -> Option<Language> {
    let primary = tag.split('-').next().unwrap_or(tag);
    if primary.eq_ignore_ascii_case("fr") {
        Some(Language::French)
    } else if primary.eq_ignore_ascii_case("en") {
        Some(Language::English)
    } else {
        None
    }
}

/// Returns the accepted language of the greatest weight; of equal ones the first.
fn accepted_language(headers: &HeaderMap) -> Option<Language> {
    let mut best: Option<(f32, Language)> = None;
    for value in headers.get_all(ACCEPT_LANGUAGE) {
        let Ok(value) = value.to_str() else { continue };
        for range in value.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let Some(language) = parts.next().and_then(find_language) else { continue };
            let weight = match parts.next().and_then(|part| part.strip_prefix("q=")) {
                Some(weight) => weight.parse::<f32>().unwrap_or(0.0),
                None => 1.0,
            };
            if weight > best.map_or(0.0, |(weight, _)| weight) {
                best = Some((weight, language));
            }
        }
    }
    best.map(|(_, language)| language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_counts_before_the_header_and_the_header_before_the_country() {
        for (parameter, accepted, country, language) in [
            (Some("en"), "fr", "France", Language::English),
            (Some("fr-CA"), "en", "Canada", Language::French),
            (Some("de"), "en", "France", Language::English),
            (None, "de, en;q=0.3, fr;q=0.2", "France", Language::English),
            (None, "en;q=0.2, fr-BE;q=0.8", "Canada", Language::French),
            (None, "en;q=0, de", "France", Language::French),
            (None, "de", "Canada", Language::English),
            (None, "", "", Language::French),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_LANGUAGE, accepted.parse().expect("a header"));
            let choice = LanguageChoice::new(parameter, &headers, country);
            assert_eq!(choice.language, language, "{parameter:?} {accepted} {country}");
        }
    }
}
