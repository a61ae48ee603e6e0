//! Timetables in addresses and forms.

use crate::domain::availability::timetable::{OpenWeeks, TimetableKey};
use crate::domain::records::ids::InterventionId;
use crate::domain::records::vevent::Permits;

/// The parameter and field that names a timetable.
pub(crate) const TIMETABLE: &str = "timetable";
/// The value of a timetable that is not there yet.
pub(crate) const NEW: &str = "new";
/// The field of the day from which hours hold, and its parameter.
pub(crate) const FROM: &str = "from";

/// A timetable in an address or a form: its weeks, then its services.
pub(crate) fn timetable_slug(key: &TimetableKey) -> String {
    let mut slug = weeks_slug(key.weeks).to_owned();
    if let Permits::Only(ids) = &key.permits {
        for id in ids {
            slug.push('.');
            slug.push_str(&id.to_string());
        }
    }
    slug
}

/// The weeks of a timetable in an address or a form.
pub(crate) const fn weeks_slug(weeks: OpenWeeks) -> &'static str {
    match weeks {
        OpenWeeks::Every => "every",
        OpenWeeks::Even => "even",
        OpenWeeks::Odd => "odd",
    }
}

/// Reads the weeks of a timetable in an address or a form.
pub(crate) fn parse_weeks(slug: &str) -> Option<OpenWeeks> {
    let all = [OpenWeeks::Every, OpenWeeks::Even, OpenWeeks::Odd];
    all.into_iter().find(|weeks| weeks_slug(*weeks) == slug)
}

/// Reads a timetable in an address or a form. Its services need not exist.
pub(crate) fn parse_timetable(slug: &str) -> Option<TimetableKey> {
    let mut parts = slug.split('.');
    let weeks = parse_weeks(parts.next()?)?;
    let mut ids = Vec::new();
    for part in parts {
        ids.push(part.parse().ok().and_then(InterventionId::new)?);
    }
    Some(TimetableKey { weeks, permits: Permits::only(ids) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timetable_is_read_as_it_is_written() {
        for slug in ["every", "even", "odd.7", "every.7.21"] {
            let key = parse_timetable(slug).expect("a timetable");
            assert_eq!(timetable_slug(&key), slug);
        }
        for wrong in ["", "new", "every.", "every.0", "every.x", "7", "odd.-1"] {
            assert_eq!(parse_timetable(wrong), None, "{wrong}");
        }
    }
}
