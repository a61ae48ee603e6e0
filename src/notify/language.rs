//! Language of messages: dates and phrases in French and English, and texts cleaned to one line.
//! Reference 7.5.

use crate::domain::time::{Civil, Weekday};

/// Language of a group's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    French,
    English,
}

impl Language {
    /// Returns French for a French-speaking country and for an empty one, else English.
    pub(crate) fn of_country(country: &str) -> Self {
        const FRENCH: [&str; 7] =
            ["", "france", "fr", "belgique", "suisse", "luxembourg", "monaco"];
        if FRENCH.contains(&country.trim().to_lowercase().as_str()) {
            Self::French
        } else {
            Self::English
        }
    }
}

/// Returns a group's name after a preposition: `chez Cut & Co`, `à la Mairie`. A group's own
/// preposition replaces the default; no space follows an apostrophe. Reference 12.1.
pub(crate) fn name_with_preposition(language: Language, preposition: &str, name: &str) -> String {
    let own = short_line(preposition, PREPOSITION_CHARS_MAX);
    match (own.as_str(), language) {
        ("", Language::French) => format!("chez {name}"),
        ("", Language::English) => format!("at {name}"),
        (own, _) if own.ends_with(['\'', '’']) => format!("{own}{name}"),
        (own, _) => format!("{own} {name}"),
    }
}

/// Maximum number of characters of a preposition.
const PREPOSITION_CHARS_MAX: usize = 40;

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

/// Returns the name of a day of the week.
pub(crate) fn weekday_name(language: Language, day: Weekday) -> &'static str {
    match language {
        Language::French => JOURS[usize::from(day.days_since_monday())],
        Language::English => DAYS[usize::from(day.days_since_monday())],
    }
}

/// Returns the name of a month, 1 to 12.
pub(crate) fn month_name(language: Language, month: u32) -> &'static str {
    let index = usize::try_from(month).expect("1 to 12") - 1;
    match language {
        Language::French => MOIS[index],
        Language::English => MONTHS[index],
    }
}

/// Formats a civil time in words: `mardi 3 mars 2026 à 11:00`, `Tuesday 3 March 2026 at 11:00`.
pub(crate) fn long_date(language: Language, at: Civil) -> String {
    let (year, month, day) = at.day().ymd();
    let (hour, minute, _) = at.hour_minute_second();
    let weekday = weekday_name(language, at.day().weekday());
    let month = month_name(language, month);
    match language {
        Language::French => format!("{weekday} {day} {month} {year} à {hour:02}:{minute:02}"),
        Language::English => format!("{weekday} {day} {month} {year} at {hour:02}:{minute:02}"),
    }
}

/// Formats a civil time in few characters: `03/03 11:00`, `3 Mar 11:00`.
pub(crate) fn short_date(language: Language, at: Civil) -> String {
    let (_, month, day) = at.day().ymd();
    let (hour, minute, _) = at.hour_minute_second();
    match language {
        Language::French => format!("{day:02}/{month:02} {hour:02}:{minute:02}"),
        Language::English => {
            let month = &month_name(language, month)[..3];
            format!("{day} {month} {hour:02}:{minute:02}")
        }
    }
}

/// Returns a text in one line. Control characters and breaks become spaces, runs of spaces become
/// one. Invisible characters and direction marks are removed.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut space_is_due = false;
    for c in text.chars() {
        if is_invisible(c) {
            continue;
        }
        if c.is_whitespace() || c.is_control() {
            space_is_due = !line.is_empty();
            continue;
        }
        if space_is_due {
            line.push(' ');
            space_is_due = false;
        }
        line.push(c);
    }
    line
}

/// Returns a text in one line of at most `chars_max` characters; a cut line ends with `…`.
pub(crate) fn short_line(text: &str, chars_max: usize) -> String {
    let line = one_line(text);
    if line.chars().count() <= chars_max {
        return line;
    }
    let cut: String = line.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

/// Returns whether a character is invisible or changes the direction of the text.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_french_in_french_speaking_countries() {
        for country in ["", " ", "France", "fr", "BELGIQUE", "Suisse", "luxembourg", "Monaco"] {
            assert_eq!(Language::of_country(country), Language::French, "{country}");
        }
        for country in ["Belgium", "Canada", "GB", "francia"] {
            assert_eq!(Language::of_country(country), Language::English, "{country}");
        }
    }

    #[test]
    fn a_date_is_formatted_in_both_languages() {
        let at = Civil::from_ymd_hms(2026, 3, 3, 9, 5, 0).expect("a time");
        assert_eq!(long_date(Language::French, at), "mardi 3 mars 2026 à 09:05");
        assert_eq!(long_date(Language::English, at), "Tuesday 3 March 2026 at 09:05");
        assert_eq!(short_date(Language::French, at), "03/03 09:05");
        assert_eq!(short_date(Language::English, at), "3 Mar 09:05");
    }

    #[test]
    fn a_groups_own_preposition_stands_before_its_name() {
        assert_eq!(name_with_preposition(Language::French, " ", "Cut"), "chez Cut");
        assert_eq!(name_with_preposition(Language::English, "", "Cut"), "at Cut");
        assert_eq!(
            name_with_preposition(Language::French, "à la ", "Mairie de Lyon"),
            "à la Mairie de Lyon"
        );
        assert_eq!(name_with_preposition(Language::French, "à l’", "Hôtel"), "à l’Hôtel");
    }

    #[test]
    fn line_breaks_and_direction_marks_are_removed() {
        assert_eq!(one_line("a\r\nBcc: b\u{0}\u{202e}c\u{2028}d"), "a Bcc: b c d");
        assert_eq!(short_line("abcdef", 4), "abc…");
        assert_eq!(short_line("abcd", 4), "abcd");
    }
}
