//! Dates, lengths and prices as the pages show them.

use crate::domain::records::group::Currency;
use crate::domain::records::intervention::Intervention;
use crate::domain::time::{Civil, CivilDay};
use crate::notify::language::{Language, month_name, weekday_name};

/// Formats a time: `09:05`.
pub(crate) fn time(at: Civil) -> String {
    let (hour, minute, _) = at.hour_minute_second();
    format!("{hour:02}:{minute:02}")
}

/// Formats a time for a visitor: `9:05 am` in English, `09:05` in French. No break parts it.
pub(crate) fn clock(language: Language, at: Civil) -> String {
    let (hour, minute, _) = at.hour_minute_second();
    match language {
        Language::French => time(at),
        Language::English => {
            let half = if hour < 12 { "am" } else { "pm" };
            let hour = if hour % 12 == 0 { 12 } else { hour % 12 };
            format!("{hour}:{minute:02}\u{a0}{half}")
        }
    }
}

/// Formats a day and a time for a visitor: `mardi 3 mars 2026 à 11:00`,
/// `Tuesday 3 March 2026 at 11:00 am`.
pub(crate) fn moment(language: Language, at: Civil) -> String {
    let weekday = weekday_name(language, at.day().weekday());
    let preposition = match language {
        Language::French => "à",
        Language::English => "at",
    };
    format!("{weekday} {} {preposition} {}", date(language, at.day()), clock(language, at))
}

/// Formats a day without its year: `mardi 3 mars`, `Tuesday 3 March`.
pub(crate) fn day(language: Language, day: CivilDay) -> String {
    let (_, month, number) = day.ymd();
    let weekday = weekday_name(language, day.weekday());
    format!("{weekday} {number} {}", month_name(language, month))
}

/// Formats a day with its year and without its weekday: `3 mars 2026`, `3 March 2026`.
pub(crate) fn date(language: Language, day: CivilDay) -> String {
    let (year, month, number) = day.ymd();
    format!("{number} {} {year}", month_name(language, month))
}

/// Formats a month: `mars 2026`, `March 2026`.
pub(crate) fn month(language: Language, day: CivilDay) -> String {
    let (year, month, _) = day.ymd();
    format!("{} {year}", month_name(language, month))
}

/// Formats a day as in URLs: `2026-03-03`.
pub(crate) fn iso_day(day: CivilDay) -> String {
    let (year, month, number) = day.ymd();
    format!("{year:04}-{month:02}-{number:02}")
}

/// Formats a start as in URLs: `2026-03-03T09:05`, with seconds only if there are any.
pub(crate) fn iso_time(at: Civil) -> String {
    let seconds = at.second_of_day() % 60;
    let minute = format!("{}T{}", iso_day(at.day()), time(at));
    if seconds == 0 { minute } else { format!("{minute}:{seconds:02}") }
}

/// Formats a length: `45 min`, `1 h 30`, `2 days`.
pub(crate) fn length(language: Language, minutes: i64) -> String {
    const DAY_MINUTES: i64 = 24 * 60;
    if minutes >= DAY_MINUTES && minutes % DAY_MINUTES == 0 {
        let days = minutes / DAY_MINUTES;
        return match (language, days) {
            (Language::French, 1) => "1 jour".to_owned(),
            (Language::French, _) => format!("{days} jours"),
            (Language::English, 1) => "1 day".to_owned(),
            (Language::English, _) => format!("{days} days"),
        };
    }
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes:02}"),
    }
}

/// Formats a price in cents: `30,00 €`, `€30.00`.
pub(crate) fn price(language: Language, cents: i64, currency: Currency) -> String {
    let sign = match currency {
        Currency::Eur => "€",
        Currency::Gbp => "£",
        Currency::Usd => "$",
        Currency::Cad => "CAD",
        Currency::Xpf => "XPF",
        Currency::Xaf => "XAF",
        Currency::Chf => "CHF",
    };
    let whole = cents / 100;
    let part = cents % 100;
    match language {
        Language::French => format!("{whole},{part:02}\u{a0}{sign}"),
        Language::English if sign.len() > 2 && sign.is_ascii() => {
            format!("{sign}\u{a0}{whole}.{part:02}")
        }
        Language::English => format!("{sign}{whole}.{part:02}"),
    }
}

/// Formats what the settings show of a service beside its name: length and price, or nothing.
pub(crate) fn service_facts(
    language: Language,
    intervention: &Intervention,
    shows_length: bool,
    price_currency: Option<Currency>,
) -> String {
    let mut facts = Vec::new();
    if shows_length {
        facts.push(length(language, intervention.length.number()));
    }
    if let (Some(cents), Some(currency)) = (intervention.price, price_currency) {
        facts.push(price(language, cents.number(), currency));
    }
    facts.join(" · ")
}

/// Parses a day as in URLs.
pub(crate) fn parse_day(text: &str) -> Option<CivilDay> {
    if text.len() != 10 {
        return None;
    }
    Some(crate::wire::datetime::parse(text).ok()?.day())
}

/// Parses a start as in URLs.
pub(crate) fn parse_start(text: &str) -> Option<Civil> {
    let text = text.replacen('T', " ", 1);
    let with_seconds = if text.len() == 16 { format!("{text}:00") } else { text };
    if with_seconds.len() != 19 {
        return None;
    }
    crate::wire::datetime::parse(&with_seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_lengths_and_prices_are_formatted_in_both_languages() {
        let tuesday = CivilDay::from_ymd(2026, 3, 3).expect("a day");
        assert_eq!(day(Language::French, tuesday), "mardi 3 mars");
        assert_eq!(day(Language::English, tuesday), "Tuesday 3 March");
        assert_eq!(date(Language::English, tuesday), "3 March 2026");
        assert_eq!(month(Language::French, tuesday), "mars 2026");
        for (minutes, expected) in [(45, "45 min"), (90, "1 h 30"), (120, "2 h"), (2_880, "2 days")]
        {
            assert_eq!(length(Language::English, minutes), expected);
        }
        assert_eq!(price(Language::French, 3_050, Currency::Eur), "30,50\u{a0}€");
        assert_eq!(price(Language::English, 3_050, Currency::Eur), "€30.50");
        assert_eq!(price(Language::English, 5, Currency::Chf), "CHF\u{a0}0.05");
    }

    #[test]
    fn times_follow_the_language_of_the_visitor() {
        for (hour, minute, english, french) in [
            (0, 5, "12:05\u{a0}am", "00:05"),
            (9, 0, "9:00\u{a0}am", "09:00"),
            (12, 0, "12:00\u{a0}pm", "12:00"),
            (23, 59, "11:59\u{a0}pm", "23:59"),
        ] {
            let at = Civil::from_ymd_hms(2026, 3, 3, hour, minute, 0).expect("a time");
            assert_eq!(clock(Language::English, at), english);
            assert_eq!(clock(Language::French, at), french);
        }
        let at = Civil::from_ymd_hms(2026, 3, 3, 11, 0, 0).expect("a time");
        assert_eq!(moment(Language::French, at), "mardi 3 mars 2026 à 11:00");
        assert_eq!(moment(Language::English, at), "Tuesday 3 March 2026 at 11:00\u{a0}am");
    }

    #[test]
    fn starts_in_urls_are_read_as_they_are_written() {
        for text in ["2026-03-03T09:05", "2026-03-03T09:05:30"] {
            assert_eq!(parse_start(text).map(iso_time).as_deref(), Some(text));
        }
        for bad in ["", "2026-03-03", "2026-02-30T09:05", "2026-03-03T24:05", "2026-03-03T9:05"] {
            assert_eq!(parse_start(bad), None, "{bad}");
        }
    }
}
