//! The words of every field that a professional sets, in French and English.
//!
//! The forms are made from the tables of `wire`, which know type, limits and default of a field.
//! Here stand its label and the sentence that says its effect.

pub(crate) mod calendar;
pub(crate) mod customfield;
pub(crate) mod field_text;
pub(crate) mod group;
pub(crate) mod intervention;

use crate::domain::state::history::settings::SettingsChange;
use crate::notify::language::Language;
use crate::web::practice::settings::fields::field_text::{FieldText, in_language};

/// Returns the label of a field of the record that a change is about, or its name without one.
pub(crate) fn label_in_change<'n>(
    change: &SettingsChange,
    name: &'n str,
    language: Language,
) -> &'n str {
    let parts: &[&[FieldText]] = match change {
        SettingsChange::Group(_) => {
            &[group::SHOP, group::BOOKING, group::MESSAGES, group::TEXTS, group::PRIVACY]
        }
        SettingsChange::Calendar(_) => &[calendar::CALENDAR],
        SettingsChange::Calendarset(_) => &[calendar::CALENDARSET],
        SettingsChange::Intervention(_) => &[intervention::INTERVENTION],
        SettingsChange::Interventionset(_) => &[intervention::INTERVENTIONSET],
        SettingsChange::Customfield(_) => &[customfield::CUSTOMFIELD],
    };
    let text = parts.iter().copied().flatten().find(|text| text.name == name);
    text.map_or(name, |text| in_language(text.label, language))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::practice::settings::fields::field_text::{BothTexts, FieldText, FieldWidget};
    use crate::web::text_table::assert_same_places;
    use crate::wire::calendar::{CALENDAR, CALENDARSET};
    use crate::wire::customfield::CUSTOMFIELD;
    use crate::wire::field::{Audience, Table};
    use crate::wire::group::GROUP;
    use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};

    /// Fields that professionals set elsewhere, each with the place.
    const LEFT_OUT: &[(&str, &str, &str)] = &[
        ("calendar", "deleted", "the screens of the list delete and restore"),
        ("intervention", "deleted", "the screens of the list delete and restore"),
        ("customfield", "deleted", "the screens of the list delete and restore"),
    ];

    /// Asserts that each field that a professional sets has its words, or is left out.
    fn assert_worded<R: 'static>(table: &Table<R>, parts: &[&[FieldText]]) {
        let mut worded: Vec<&str> = parts.iter().copied().flatten().map(|text| text.name).collect();
        for (resource, name, reason) in LEFT_OUT {
            assert!(!reason.is_empty());
            if *resource == table.resource {
                worded.push(name);
            }
        }
        let is_set =
            |writers: Option<Audience>| writers.is_some_and(|least| least <= Audience::Pro);
        let fields = table.fields.iter().filter(|field| is_set(field.writers));
        let mut settable: Vec<&str> = fields.map(|field| field.name).collect();
        worded.sort_unstable();
        settable.sort_unstable();
        assert_eq!(settable, worded, "{}: src/web/practice/settings/fields", table.resource);
    }

    #[test]
    fn each_field_that_a_professional_sets_has_its_words_or_a_reason_for_none() {
        let parts = [group::SHOP, group::BOOKING, group::MESSAGES, group::TEXTS, group::PRIVACY];
        assert_worded(&GROUP, &parts);
        assert_worded(&CALENDAR, &[calendar::CALENDAR]);
        assert_worded(&CALENDARSET, &[calendar::CALENDARSET]);
        assert_worded(&INTERVENTION, &[intervention::INTERVENTION]);
        assert_worded(&INTERVENTIONSET, &[intervention::INTERVENTIONSET]);
        assert_worded(&CUSTOMFIELD, &[customfield::CUSTOMFIELD]);
    }

    #[test]
    fn the_words_stand_in_both_languages() {
        let tables = [
            group::SHOP,
            group::BOOKING,
            group::MESSAGES,
            group::TEXTS,
            group::PRIVACY,
            calendar::CALENDAR,
            calendar::CALENDARSET,
            intervention::INTERVENTION,
            intervention::INTERVENTIONSET,
            customfield::CUSTOMFIELD,
        ];
        for text in tables.into_iter().flatten() {
            let mut texts: Vec<BothTexts> = vec![text.label, text.effect];
            texts.extend(text.rule);
            if let FieldWidget::Choice(choices) = text.widget {
                texts.extend(choices.iter().map(|choice| choice.label));
            }
            for [french, english] in texts {
                assert_same_places(&[(french, english)]);
            }
            for sentence in text.effect {
                assert!(sentence.ends_with('.'), "{sentence}");
            }
        }
    }
}
