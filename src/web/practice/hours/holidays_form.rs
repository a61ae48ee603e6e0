//! The public holidays of a country and a year, of which the practice chooses closures.
//! Reference 15.8.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use strum::IntoEnumIterator as _;

use crate::domain::records::ids::CalendarId;
use crate::domain::records::text::LongText;
use crate::domain::state::put_vevent::ROWS_MAX;
use crate::domain::time::CivilDay;
use crate::domain::time::public_holidays::{HolidayCountry, PublicHoliday};
use crate::http::ApiError;
use crate::web::format::{iso_day, parse_day};
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::hours::exceptions::{Closure, add_closures, find_closed_days};
use crate::web::practice::hours::form_parts::{CalendarsField, HoursChoice};
use crate::web::practice::hours::holiday_words::{
    country_name, country_of_address, holiday_name, regions,
};
use crate::web::practice::hours::saving::{AboveFields, save_exceptions};
use crate::web::practice::hours::words::long_date;
use crate::web::practice::message;
use crate::web::practice::texts::hours::HoursTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::params::Params;

/// Years that the form offers, this one among them.
const YEARS: i32 = 6;
/// The field of the chosen days.
const DAYS: &str = "day";

/// The holidays that are listed.
struct HolidayList {
    country: HolidayCountry,
    /// The code of a region; empty for the whole country only.
    region: &'static str,
    year: i32,
    holidays: Vec<PublicHoliday>,
}

/// The form of holidays, as it was filled in.
struct HolidaysForm {
    list: HolidayList,
    days: Vec<HolidayRow>,
    /// The listed days on which each calendar is closed already.
    closed: BTreeMap<CalendarId, BTreeSet<CivilDay>>,
    days_fault: &'static str,
    calendars: CalendarsField,
    above: AboveFields,
}

/// A holiday in the form.
struct HolidayRow {
    value: String,
    name: String,
    when: String,
    is_chosen: bool,
    /// Whether all calendars are closed already.
    is_closed: bool,
}

#[derive(Template)]
#[template(path = "web/practice/hours_holidays.html")]
struct HolidaysScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static HoursTexts,
    back: String,
    action: String,
    /// The pair of the address that names the language, if it does.
    lang: Option<&'static str>,
    countries: Vec<HoursChoice>,
    regions: Vec<HoursChoice>,
    years: Vec<HoursChoice>,
    form: HolidaysForm,
    has_faults: bool,
}

impl HolidayList {
    /// The list that an address or a form names. What it does not name is the group's own country,
    /// and this year.
    fn given(visit: &ProVisit, given: &Params) -> Self {
        let group = visit.group();
        let own = country_of_address(group.country_code.as_str(), group.country.as_str());
        let named = given.value("country").and_then(HolidayCountry::from_code);
        let country = named.or(own).unwrap_or(HolidayCountry::France);
        let wanted = given.value("region").unwrap_or_default();
        let region = regions(country).into_iter().find(|region| region.code == wanted);
        let region = region.map_or("", |region| region.code);
        let today = visit.today();
        let this_year = today.ymd().0;
        let year = given.value("year").and_then(|year| year.parse().ok());
        let year = year.filter(|year| (this_year..this_year + YEARS).contains(year));
        let year = year.unwrap_or(this_year);
        let mut holidays = country.holidays(year);
        holidays.retain(|holiday| {
            let is_there = holiday.regions.is_empty() || holiday.regions.contains(&region);
            is_there && today <= holiday.day
        });
        Self { country, region, year, holidays }
    }
}

impl HolidaysForm {
    /// The form as an address or a form gives it.
    ///
    /// # Errors
    /// 503 if too many computations wait.
    async fn given(visit: &ProVisit, given: &Params) -> Result<Self, ApiError> {
        let list = HolidayList::given(visit, given);
        let days = list.holidays.iter().map(|holiday| holiday.day).collect();
        let closed = find_closed_days(visit, days).await?;
        let chosen = given.list(DAYS);
        let row = |holiday: &PublicHoliday| {
            let value = iso_day(holiday.day);
            let is_closed = |days: &BTreeSet<CivilDay>| days.contains(&holiday.day);
            HolidayRow {
                is_chosen: chosen.contains(&value.as_str()),
                value,
                name: holiday_name(visit.language(), list.country, holiday),
                when: long_date(visit.language(), holiday.day),
                is_closed: !closed.is_empty() && closed.values().all(is_closed),
            }
        };
        Ok(Self {
            days: list.holidays.iter().map(row).collect(),
            closed,
            list,
            days_fault: "",
            calendars: CalendarsField::given(visit, given),
            above: AboveFields::default(),
        })
    }

    /// Reads the closures that are not there yet; `None` if some value is wrong, which then has its
    /// fault.
    fn read(&mut self, visit: &ProVisit, given: &Params) -> Option<Vec<Closure>> {
        let text = HoursTexts::in_language(visit.language());
        let calendars = self.calendars.read(text);
        let mut chosen: BTreeMap<CivilDay, PublicHoliday> = BTreeMap::new();
        for value in given.list(DAYS) {
            let day = parse_day(value);
            let holiday = self.list.holidays.iter().find(|holiday| Some(holiday.day) == day);
            match holiday {
                Some(holiday) => drop(chosen.insert(holiday.day, *holiday)),
                None => self.days_fault = text.bad_holiday,
            }
        }
        if chosen.is_empty() && self.days_fault.is_empty() {
            self.days_fault = text.choose_day;
        }
        if chosen.len().saturating_mul(calendars.len()) > ROWS_MAX {
            self.above.faults.push(fill(text.too_many_closures, "max", &ROWS_MAX.to_string()));
        }
        let is_right = self.days_fault.is_empty() && self.above.faults.is_empty();
        if calendars.is_empty() || !is_right {
            return None;
        }
        let mut closures = Vec::new();
        for calendar_id in calendars {
            let closed = self.closed.get(&calendar_id);
            for (day, holiday) in &chosen {
                if closed.is_some_and(|closed| closed.contains(day)) {
                    continue;
                }
                let name = holiday_name(visit.language(), self.list.country, holiday);
                let text = LongText::new(&name).expect("names of holidays are short texts");
                closures.push(Closure { calendar_id, first: *day, last: *day, text });
            }
        }
        Some(closures)
    }
}

/// GET /p/{urlname}/hours/holidays.
pub(crate) async fn show(visit: ProVisit) -> Response {
    match HolidaysForm::given(&visit, &visit.request.params).await {
        Ok(form) => respond_with_form(&visit, StatusCode::OK, form),
        Err(error) => message::failed(&visit.request, &error),
    }
}

/// POST /p/{urlname}/hours/holidays: the chosen days become closures, in one write.
pub(crate) async fn act(form: ProForm) -> Response {
    let ProForm { mut visit, given } = form;
    let mut form = match HolidaysForm::given(&visit, &given).await {
        Ok(form) => form,
        Err(error) => return message::failed(&visit.request, &error),
    };
    let Some(closures) = form.read(&visit, &given) else {
        return respond_with_form(&visit, StatusCode::BAD_REQUEST, form);
    };
    if closures.is_empty() {
        return redirect(&visit.url(Section::Hours.path(), &[("saved", "1")]));
    }
    let command = add_closures(closures, &visit.creator());
    match save_exceptions(&mut visit, command, &given).await {
        Ok(response) => response,
        Err(unsaved) => {
            form.above = unsaved.above;
            respond_with_form(&visit, unsaved.status, form)
        }
    }
}

fn respond_with_form(visit: &ProVisit, status: StatusCode, form: HolidaysForm) -> Response {
    let text = HoursTexts::in_language(visit.language());
    let HolidayList { country, region, year, .. } = &form.list;
    let countries = HolidayCountry::iter().map(|other| HoursChoice {
        value: other.code().to_owned(),
        label: country_name(visit.language(), other).to_owned(),
        is_chosen: other == *country,
    });
    let regions = regions(*country).into_iter().map(|other| HoursChoice {
        value: other.code.to_owned(),
        label: other.name.to_owned(),
        is_chosen: other.code == *region,
    });
    let this_year = visit.today().ymd().0;
    let years = (this_year..this_year + YEARS).map(|other| HoursChoice {
        value: other.to_string(),
        label: other.to_string(),
        is_chosen: other == *year,
    });
    let screen = HolidaysScreen {
        frame: visit.frame(text.add_holidays, Section::Hours),
        text,
        back: visit.url(Section::Hours.path(), &[]),
        action: visit.url("/hours/holidays", &[]),
        lang: visit.request.params.value("lang").map(|_| visit.frame("", Section::Hours).lang),
        countries: countries.collect(),
        regions: regions.collect(),
        years: years.collect(),
        form,
        has_faults: status == StatusCode::BAD_REQUEST,
    };
    respond(status, Privacy::Client, render(&screen))
}
