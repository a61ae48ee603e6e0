//! The addresses of the weeks and months of a page with times.

use crate::domain::time::CivilDay;
use crate::web::format::iso_day;
use crate::web::shop::Visit;

/// A link to another week.
pub(crate) struct WeekLink {
    pub(crate) label: String,
    pub(crate) url: String,
}

/// The address of a page with times: its path, and the part of its query that all weeks share.
pub(crate) struct TimesAddress {
    pub(crate) path: String,
    pub(crate) pairs: Vec<(&'static str, String)>,
}

impl TimesAddress {
    /// Returns the URL of the page with one more parameter.
    fn url(&self, visit: &Visit, name: &'static str, value: String) -> String {
        let mut pairs = self.pairs.clone();
        pairs.push((name, value));
        visit.url_of(&self.path, &pairs)
    }

    /// Returns the URL of the week of a day. The page begins there, beside the month.
    pub(crate) fn week_url(&self, visit: &Visit, day: CivilDay) -> String {
        format!("{}#week", self.url(visit, "d", iso_day(day)))
    }

    /// Returns the URL of the month of a day.
    pub(crate) fn month_url(&self, visit: &Visit, day: CivilDay) -> String {
        self.url(visit, "m", iso_day(day)[..7].to_owned())
    }
}
