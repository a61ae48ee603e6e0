//! The public holidays of a country and a year, of which the practice chooses closures.
//! Reference 15.8.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use strum::IntoEnumIterator as _;

use crate::domain::records::ids::CalendarId;
use crate::domain::records::text::LongText;
use crate::domain::state::put_vevent::ROWS_MAX;
use crate::domain::time::public_holidays::{HolidayCountry, PublicHoliday};
use crate::web::format::{iso_day, parse_day};
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::hours::calendar_hours::live_calendars;
use crate::web::practice::hours::exceptions::{Closure, add_closures, closures_of};
use crate::web::practice::hours::form_parts::{CalendarsField, HoursChoice, creator, today};
use crate::web::practice::hours::holiday_words::{
    country_name, country_of_address, holiday_name, regions,
};
use crate::web::practice::hours::saving::{NotSaved, Question, save_as_expected};
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
    days_fault: &'static str,
    calendars: CalendarsField,
    /// Sentences about the whole form.
    faults: Vec<String>,
    question: Option<Question>,
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
        let today = today(visit);
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
    fn given(visit: &ProVisit, given: &Params) -> Self {
        let list = HolidayList::given(visit, given);
        let country = list.country;
        let chosen = given.list(DAYS);
        let state = &visit.state;
        let closures: Vec<_> = live_calendars(state)
            .iter()
            .map(|calendar| (calendar.id, closures_of(state, calendar.id)))
            .collect();
        let row = |holiday: &PublicHoliday| {
            let value = iso_day(holiday.day);
            let is_closed = |id: CalendarId, standing: &[_]| {
                closure_of(visit, country, holiday, id).is_among(standing)
            };
            HolidayRow {
                is_chosen: chosen.contains(&value.as_str()),
                value,
                name: holiday_name(visit.language(), country, holiday),
                when: long_date(visit.language(), holiday.day),
                is_closed: !closures.is_empty()
                    && closures.iter().all(|(id, standing)| is_closed(*id, standing)),
            }
        };
        let days = list.holidays.iter().map(row).collect();
        Self {
            days,
            list,
            days_fault: "",
            calendars: CalendarsField::given(state, given),
            faults: Vec::new(),
            question: None,
        }
    }

    /// Reads the closures that are not there yet; `None` if some value is wrong, which then has its
    /// fault.
    fn read(&mut self, visit: &ProVisit, given: &Params) -> Option<Vec<Closure>> {
        let text = HoursTexts::in_language(visit.language());
        let calendars = self.calendars.read(text);
        let mut chosen = Vec::new();
        for value in given.list(DAYS) {
            let day = parse_day(value);
            let holiday = self.list.holidays.iter().find(|holiday| Some(holiday.day) == day);
            match holiday {
                Some(holiday) => chosen.push(*holiday),
                None => self.days_fault = text.bad_holiday,
            }
        }
        if chosen.is_empty() && self.days_fault.is_empty() {
            self.days_fault = text.choose_day;
        }
        if chosen.len().saturating_mul(calendars.len()) > ROWS_MAX {
            self.faults.push(fill(text.too_many_closures, "max", &ROWS_MAX.to_string()));
        }
        let is_right = self.days_fault.is_empty() && self.faults.is_empty();
        if calendars.is_empty() || !is_right {
            return None;
        }
        let mut closures: Vec<Closure> = Vec::new();
        for calendar_id in calendars {
            let standing = closures_of(&visit.state, calendar_id);
            for holiday in &chosen {
                let closure = closure_of(visit, self.list.country, holiday, calendar_id);
                let is_doubled = closures
                    .iter()
                    .any(|other| other.calendar_id == calendar_id && other.first == closure.first);
                if !is_doubled && !closure.is_among(&standing) {
                    closures.push(closure);
                }
            }
        }
        Some(closures)
    }
}

/// Returns the closure of a calendar on a holiday.
fn closure_of(
    visit: &ProVisit,
    country: HolidayCountry,
    holiday: &PublicHoliday,
    calendar_id: CalendarId,
) -> Closure {
    let name = holiday_name(visit.language(), country, holiday);
    let text = LongText::new(&name).expect("names of holidays are short texts");
    Closure { calendar_id, first: holiday.day, last: holiday.day, text }
}

/// GET /p/{urlname}/hours/holidays.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let form = HolidaysForm::given(&visit, &visit.request.params);
    respond_with_form(&visit, StatusCode::OK, form)
}

/// POST /p/{urlname}/hours/holidays: the chosen days become closures, in one write.
pub(crate) async fn act(form: ProForm) -> Response {
    let ProForm { mut visit, given } = form;
    let mut form = HolidaysForm::given(&visit, &given);
    let Some(closures) = form.read(&visit, &given) else {
        return respond_with_form(&visit, StatusCode::BAD_REQUEST, form);
    };
    let saved = visit.url(Section::Hours.path(), &[("saved", "1")]);
    if closures.is_empty() {
        return redirect(&saved);
    }
    let command = add_closures(closures, &creator(&visit));
    let status = match save_as_expected(&mut visit, command, &given).await {
        Ok(()) => return redirect(&saved),
        Err(NotSaved::Asked(question)) => {
            let status = question.status();
            form.question = Some(question);
            status
        }
        Err(NotSaved::Refused(faults)) => {
            form.faults = faults.into_iter().map(|fault| fault.rule).collect();
            StatusCode::BAD_REQUEST
        }
        Err(NotSaved::Overtaken) => return message::not_found(&visit.request),
        Err(NotSaved::Failed(error)) => return message::failed(&visit.request, &error),
    };
    respond_with_form(&visit, status, form)
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
    let this_year = today(visit).ymd().0;
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
