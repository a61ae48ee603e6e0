//! Opening hours in words.

use crate::domain::availability::timetable::{DayHours, OpenWeeks, TimetableKey};
use crate::domain::availability::weekly_hours::DayTimes;
use crate::domain::records::ids::InterventionId;
use crate::domain::records::vevent::{Availability, Permits};
use crate::domain::recurrence::WEEK;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::{Civil, CivilDay};
use crate::notify::language::{Language, weekday_name};
use crate::web::format;
use crate::web::practice::texts::hours::HoursTexts;
use crate::web::text::fill;

/// Returns a time of the day, from minutes: `09:00`, `24:00`.
pub(crate) fn minute_in_words(minute: u16) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

/// Returns some times of a day: `09:00–12:00, 14:00–18:00`.
pub(crate) fn times_in_words(times: &[DayTimes]) -> String {
    let words: Vec<String> = times
        .iter()
        .map(|it| {
            let start = minute_in_words(it.start_minute());
            format!("{start}–{}", minute_in_words(it.end_minute()))
        })
        .collect();
    words.join(", ")
}

/// Returns the hours of a week in words, with days in a row that have the same hours as one:
/// `Monday to Friday 09:00–12:00; Saturday 09:00–11:00`.
pub(crate) fn week_in_words(language: Language, hours: &[DayHours]) -> String {
    let text = HoursTexts::in_language(language);
    let mut rows: Vec<WeekPart> = Vec::new();
    for (index, weekday) in WEEK.into_iter().enumerate() {
        let of_day = hours.iter().filter(|hours| hours.weekday == weekday);
        let times: Vec<DayTimes> = of_day.map(|hours| hours.times).collect();
        if times.is_empty() {
            continue;
        }
        match rows.last_mut() {
            Some(part) if part.last + 1 == index && part.times == times => part.last = index,
            _ => rows.push(WeekPart { first: index, last: index, times }),
        }
    }
    if rows.is_empty() {
        return text.closed.to_owned();
    }
    let name = |index: usize| weekday_name(language, WEEK[index]);
    let mut words = Vec::new();
    for WeekPart { first, last, times } in rows {
        let times = times_in_words(&times);
        words.push(match last - first {
            0 => format!("{} {times}", name(first)),
            1 => format!("{}, {} {times}", name(first), name(last)),
            _ => {
                let days = fill(text.days_from_to, "first", name(first));
                format!("{} {times}", fill(&days, "last", name(last)))
            }
        });
    }
    words.join(" ; ")
}

/// Days of the week in a row with the same hours.
struct WeekPart {
    /// The first one, counted from Monday.
    first: usize,
    /// The last one.
    last: usize,
    times: Vec<DayTimes>,
}

/// Returns the services of some hours in words; empty for all.
pub(crate) fn services_in_words(
    state: &GroupState,
    language: Language,
    permits: &Permits,
) -> String {
    let text = HoursTexts::in_language(language);
    let Permits::Only(ids) = permits else { return String::new() };
    let names: Vec<String> = ids.iter().map(|id| service_name(state, *id, text)).collect();
    fill(text.only_for, "services", &names.join(", "))
}

/// Returns the name of a service that hours may name.
pub(crate) fn service_name(state: &GroupState, id: InterventionId, text: &HoursTexts) -> String {
    let service = state.catalogue.interventions.get(&id);
    let name = service.map(|service| service.name.as_str().trim()).unwrap_or_default();
    if name.is_empty() { text.unnamed.to_owned() } else { name.to_owned() }
}

/// Returns the weeks of a timetable in words, as the next of them from a day on.
pub(crate) fn weeks_in_words(language: Language, weeks: OpenWeeks, today: CivilDay) -> String {
    let text = HoursTexts::in_language(language);
    if weeks == OpenWeeks::Every {
        return text.every_week.to_owned();
    }
    let monday = today.plus_days(-i32::from(today.weekday().days_since_monday()));
    let this_week = OpenWeeks::with_day(weeks.rhythm(), monday);
    let next = if this_week == weeks { monday } else { monday.plus_days(7) };
    fill(text.every_other_week, "day", &format::date(language, next))
}

/// Returns what sets a timetable apart from that of every week and all services; empty for it.
pub(crate) fn timetable_in_words(
    state: &GroupState,
    language: Language,
    key: &TimetableKey,
    today: CivilDay,
) -> String {
    let mut parts = Vec::new();
    if key.weeks != OpenWeeks::Every {
        parts.push(weeks_in_words(language, key.weeks, today));
    }
    if key.permits != Permits::All {
        parts.push(services_in_words(state, language, &key.permits));
    }
    parts.join(", ")
}

/// Returns a day with its weekday and year: `Tuesday 3 March 2026`.
pub(crate) fn long_date(language: Language, day: CivilDay) -> String {
    format!("{} {}", format::day(language, day), day.ymd().0)
}

/// Returns an opening that rows do not express, with its rule as it is stored.
pub(crate) fn opening_in_words(
    state: &GroupState,
    language: Language,
    opening: &Availability,
) -> String {
    let text = HoursTexts::in_language(language);
    let series = &opening.series;
    let moment = |at: Civil| format!("{}, {}", long_date(language, at.day()), format::time(at));
    let span = if series.start().day() == series.end().day() {
        format!("{}–{}", moment(series.start()), format::time(series.end()))
    } else {
        format!("{} – {}", moment(series.start()), moment(series.end()))
    };
    let mut parts = vec![span];
    if let Some(rule) = series.rule() {
        parts.push(fill(text.repeats, "rule", &rule.to_string()));
    }
    let exceptions = series.exceptions().to_string();
    if !exceptions.is_empty() {
        parts.push(fill(text.but_not, "days", &exceptions));
    }
    let services = services_in_words(state, language, &opening.permits);
    if !services.is_empty() {
        parts.push(services);
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_with_the_same_hours_are_named_as_one() {
        let times = |from: u16, to: u16| DayTimes::new(from * 60, to * 60).expect("times");
        let mut hours = Vec::new();
        for weekday in &WEEK[..5] {
            hours.push(DayHours { weekday: *weekday, times: times(9, 12) });
            hours.push(DayHours { weekday: *weekday, times: times(14, 18) });
        }
        hours.push(DayHours { weekday: WEEK[6], times: times(20, 24) });
        let english = "Monday to Friday 09:00–12:00, 14:00–18:00 ; Sunday 20:00–24:00";
        assert_eq!(week_in_words(Language::English, &hours), english);
        let french = "lundi à vendredi 09:00–12:00, 14:00–18:00 ; dimanche 20:00–24:00";
        assert_eq!(week_in_words(Language::French, &hours), french);
        assert_eq!(week_in_words(Language::English, &[]), "closed");
        let two = &hours[8..];
        assert_eq!(
            week_in_words(Language::English, two),
            "Friday 09:00–12:00, 14:00–18:00 ; Sunday 20:00–24:00"
        );
    }
}
