//! The rule of a series in words. Reference 15.6.

use std::num::NonZeroU32;

use crate::domain::recurrence::{Repetition, Rule, RuleEnd};
use crate::domain::time::zone::Zone;
use crate::notify::language::{Language, weekday_name};
use crate::web::format;
use crate::web::practice::texts::rules::RuleTexts;
use crate::web::text::fill;

/// Returns a rule in words: its days, its interval and its end. The days of the end are those of
/// the group's clocks.
pub(crate) fn rule_in_words(language: Language, zone: Zone, rule: &Rule) -> String {
    let text = RuleTexts::in_language(language);
    let (each, several) = match rule.repetition() {
        Repetition::Daily => (text.daily, text.days),
        Repetition::Weekly(_) => (text.weekly, text.weeks),
        Repetition::Monthly(_) => (text.monthly, text.months),
        Repetition::Yearly => (text.yearly, text.years),
    };
    let mut words = match rule.interval() {
        NonZeroU32::MIN => each.to_owned(),
        interval => fill(several, "number", &interval.to_string()),
    };
    match rule.repetition() {
        Repetition::Weekly(Some(days)) => {
            let names: Vec<&str> = days.days().map(|day| weekday_name(language, day)).collect();
            words.push_str(&fill(text.on_days, "days", &names.join(", ")));
        }
        Repetition::Monthly(Some(nth)) => {
            let sentence = if nth.nth() < 0 { text.nth_from_end } else { text.nth };
            let number = nth.nth().unsigned_abs().to_string();
            let sentence = fill(sentence, "number", &number);
            words.push_str(&fill(&sentence, "day", weekday_name(language, nth.weekday())));
        }
        Repetition::Daily
        | Repetition::Weekly(None)
        | Repetition::Monthly(None)
        | Repetition::Yearly => {}
    }
    match rule.end() {
        RuleEnd::Never => {}
        RuleEnd::Count(count) => words.push_str(&fill(text.count, "number", &count.to_string())),
        RuleEnd::Until(until) => {
            let day = format::date(language, zone.civil_of(until).day());
            words.push_str(&fill(text.until, "day", &day));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::zone_names::ZoneName;

    #[test]
    fn a_rule_is_said_in_both_languages() {
        let zone = ZoneName::from_name("Paris").expect("a listed name").zone();
        for (rule, french, english) in [
            ("FREQ=DAILY", "chaque jour", "every day"),
            ("FREQ=DAILY;INTERVAL=2;COUNT=3", "tous les 2 jours, 3 fois", "every 2 days, 3 times"),
            (
                "FREQ=WEEKLY;BYDAY=MO,WE;UNTIL=20250703T215959Z",
                "chaque semaine, le lundi, mercredi, jusqu’au 3 juillet 2025",
                "every week, on Monday, Wednesday, until 3 July 2025",
            ),
            ("FREQ=WEEKLY;INTERVAL=2", "toutes les 2 semaines", "every 2 weeks"),
            (
                "FREQ=MONTHLY;BYDAY=2TU",
                "chaque mois, le mardi nº 2 du mois",
                "every month, on Tuesday no. 2 of the month",
            ),
            (
                "FREQ=MONTHLY;INTERVAL=3;BYDAY=-1FR",
                "tous les 3 mois, le vendredi nº 1 en partant de la fin du mois",
                "every 3 months, on Friday no. 1 from the end of the month",
            ),
            ("FREQ=YEARLY;INTERVAL=4", "tous les 4 ans", "every 4 years"),
        ] {
            let rule: Rule = rule.parse().expect("a rule");
            assert_eq!(rule_in_words(Language::French, zone, &rule), french);
            assert_eq!(rule_in_words(Language::English, zone, &rule), english);
        }
    }
}
