//! Words and dates in the two languages that messages speak, and texts of others made fit for a line.

use crate::domain::time::{Civil, Weekday};

/// The language of a group's messages. Reference 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    French,
    English,
}

impl Language {
    /// French where the group's country speaks it or is not given, else English.
    #[must_use]
    pub(super) fn of_country(country: &str) -> Self {
        const FRENCH: [&str; 7] =
            ["", "france", "fr", "belgique", "suisse", "luxembourg", "monaco"];
        if FRENCH.contains(&country.trim().to_lowercase().as_str()) {
            Self::French
        } else {
            Self::English
        }
    }
}

/// A group in a sentence, where the client goes: `chez Cut & Co`, `à la Mairie`. Its own preposition stands before its name
/// where it has one, without a space behind an apostrophe. Reference 12.1.
#[must_use]
pub(super) fn at(language: Language, preposition: &str, name: &str) -> String {
    let own = short_line(preposition, PREPOSITION_MAX);
    match (own.as_str(), language) {
        ("", Language::French) => format!("chez {name}"),
        ("", Language::English) => format!("at {name}"),
        (own, _) if own.ends_with(['\'', '’']) => format!("{own}{name}"),
        (own, _) => format!("{own} {name}"),
    }
}

/// Characters of a preposition at most.
const PREPOSITION_MAX: usize = 40;

const JOURS: [&str; 7] = ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"];
const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MOIS: [&str; 12] = [
    "janvier",
    "février",
    "mars",
    "avril",
    "mai",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A time of the wall as a person says it: `mardi 3 mars 2026 à 11:00`, `Tuesday 3 March 2026 at 11:00`.
#[must_use]
pub(super) fn long_date(language: Language, at: Civil) -> String {
    let (year, month, day) = at.day().ymd();
    let (hour, minute) = clock(at);
    let weekday = weekday(at.day().weekday());
    let month = usize::try_from(month).expect("1 to 12") - 1;
    match language {
        Language::French => {
            format!("{} {day} {} {year} à {hour:02}:{minute:02}", JOURS[weekday], MOIS[month])
        }
        Language::English => {
            format!("{} {day} {} {year} at {hour:02}:{minute:02}", DAYS[weekday], MONTHS[month])
        }
    }
}

/// The same in few characters: `03/03 11:00`, `3 Mar 11:00`.
#[must_use]
pub(super) fn short_date(language: Language, at: Civil) -> String {
    let (_, month, day) = at.day().ymd();
    let (hour, minute) = clock(at);
    match language {
        Language::French => format!("{day:02}/{month:02} {hour:02}:{minute:02}"),
        Language::English => {
            let month = &MONTHS[usize::try_from(month).expect("1 to 12") - 1][..3];
            format!("{day} {month} {hour:02}:{minute:02}")
        }
    }
}

fn clock(at: Civil) -> (i64, i64) {
    (at.second_of_day() / 3_600, at.second_of_day() / 60 % 60)
}

const fn weekday(day: Weekday) -> usize {
    match day {
        Weekday::Monday => 0,
        Weekday::Tuesday => 1,
        Weekday::Wednesday => 2,
        Weekday::Thursday => 3,
        Weekday::Friday => 4,
        Weekday::Saturday => 5,
        Weekday::Sunday => 6,
    }
}

/// A text in one line: what would break the line becomes a space, and what would turn the text around, or cannot be seen, goes.
#[must_use]
pub(super) fn one_line(text: &str) -> String {
    let kept = text
        .chars()
        .filter(|c| !turns(*c))
        .map(|c| if c.is_control() || is_break(c) { ' ' } else { c });
    kept.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The same with at most so many characters.
#[must_use]
pub(super) fn short_line(text: &str, max: usize) -> String {
    let line = one_line(text);
    if line.chars().count() <= max {
        return line;
    }
    let cut: String = line.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

const fn turns(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

const fn is_break(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn french_is_spoken_where_the_contract_says() {
        for country in ["", " ", "France", "fr", "BELGIQUE", "Suisse", "luxembourg", "Monaco"] {
            assert_eq!(Language::of_country(country), Language::French, "{country}");
        }
        for country in ["Belgium", "Canada", "GB", "francia"] {
            assert_eq!(Language::of_country(country), Language::English, "{country}");
        }
    }

    #[test]
    fn a_date_is_said_in_both_languages() {
        let at = Civil::from_ymd_hms(2026, 3, 3, 9, 5, 0).expect("a time");
        assert_eq!(long_date(Language::French, at), "mardi 3 mars 2026 à 09:05");
        assert_eq!(long_date(Language::English, at), "Tuesday 3 March 2026 at 09:05");
        assert_eq!(short_date(Language::French, at), "03/03 09:05");
        assert_eq!(short_date(Language::English, at), "3 Mar 09:05");
    }

    #[test]
    fn a_groups_own_preposition_stands_before_its_name() {
        assert_eq!(at(Language::French, " ", "Cut"), "chez Cut");
        assert_eq!(at(Language::English, "", "Cut"), "at Cut");
        assert_eq!(at(Language::French, "à la ", "Mairie de Lyon"), "à la Mairie de Lyon");
        assert_eq!(at(Language::French, "à l’", "Hôtel"), "à l’Hôtel");
    }

    #[test]
    fn nothing_breaks_or_turns_a_line() {
        assert_eq!(one_line("a\r\nBcc: b\u{0}\u{202e}c\u{2028}d"), "a Bcc: b c d");
        assert_eq!(short_line("abcdef", 4), "abc…");
        assert_eq!(short_line("abcd", 4), "abcd");
    }
}
