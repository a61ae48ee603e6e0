//! The rule beside a wrong value, in the language of the screen.

use crate::domain::records::fault::Fault;
use crate::notify::language::Language;
use crate::web::practice::settings::fields::field_text::{FieldText, in_language};
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::text::fill;
use crate::wire::field::FieldType;

/// Describes the fault of a field. In English the rule is that of the API, unless the field has
/// words for it; in French it is that of the field's type.
pub(crate) fn describe_fault(
    language: Language,
    words: &FieldText,
    field_type: FieldType,
    fault: &Fault,
    value: &str,
) -> String {
    let text = SettingsTexts::in_language(language);
    if value.is_empty() {
        return text.required.to_owned();
    }
    if let Some(rule) = words.rule {
        return in_language(rule, language).to_owned();
    }
    match language {
        Language::English => sentence(&fault.rule),
        Language::French => describe_type(text, field_type),
    }
}

/// Returns a rule as a sentence.
fn sentence(rule: &str) -> String {
    let mut letters = rule.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    let mut sentence = first.unwrap_or_default();
    sentence.push_str(letters.as_str());
    if !sentence.ends_with('.') {
        sentence.push('.');
    }
    sentence
}

/// Formats a whole number in groups of three digits: `5,256,000`.
pub(crate) fn group_digits(language: Language, number: i64) -> String {
    let separator = match language {
        Language::French => '\u{202f}',
        Language::English => ',',
    };
    let digits = number.unsigned_abs().to_string();
    let mut grouped = String::from(if number < 0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(separator);
        }
        grouped.push(digit);
    }
    grouped
}

fn describe_type(text: &SettingsTexts, field_type: FieldType) -> String {
    match field_type {
        FieldType::Text { max } | FieldType::Name { max } => {
            fill(text.rule_text, "max", &max.to_string())
        }
        FieldType::Email => text.rule_email.to_owned(),
        FieldType::Colour => text.rule_colour.to_owned(),
        FieldType::Integer { min: i64::MIN, .. } | FieldType::Number => text.rule_whole.to_owned(),
        FieldType::Integer { min, max } => {
            let range = fill(text.rule_range, "min", &min.to_string());
            fill(&range, "max", &max.to_string())
        }
        FieldType::Reference | FieldType::Choice(_) => text.rule_choice.to_owned(),
        FieldType::Id | FieldType::Boolean | FieldType::Moment | FieldType::CivilMoment => {
            text.rule_other.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        for (number, english) in [(0, "0"), (-999, "-999"), (1_000, "1,000"), (65_535, "65,535")] {
            assert_eq!(group_digits(Language::English, number), english);
        }
        assert_eq!(group_digits(Language::French, 5_256_000), "5\u{202f}256\u{202f}000");
    }
}
