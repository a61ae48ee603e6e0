//! The form of an exceptional opening: calendars, a day, its times and services. Reference 15.8.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::availability::weekly_hours::{DAY_MINUTES, DayTimes};
use crate::domain::records::vevent::Permits;
use crate::domain::state::put_vevent::ROWS_MAX;
use crate::domain::time::{Civil, CivilDay, MINUTE};
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::hours::day_ranges::DayRanges;
use crate::web::practice::hours::exceptions::{ExceptionalOpening, add_openings};
use crate::web::practice::hours::form_parts::{
    CalendarsField, DayField, HoursChoice, read_services, services,
};
use crate::web::practice::hours::saving::{AboveFields, save_exceptions};
use crate::web::practice::texts::hours::HoursTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::params::Params;

/// The form of an exceptional opening, as it was filled in.
struct OpeningForm {
    calendars: CalendarsField,
    day: DayField,
    ranges: DayRanges,
    services: Vec<HoursChoice>,
    above: AboveFields,
}

#[derive(Template)]
#[template(path = "web/practice/hours_opening.html")]
struct OpeningScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static HoursTexts,
    back: String,
    action: String,
    form: OpeningForm,
    has_faults: bool,
}

impl OpeningForm {
    fn given(visit: &ProVisit, given: &Params) -> Self {
        let text = HoursTexts::in_language(visit.language());
        let permits = read_services(&visit.state, given).unwrap_or(Permits::All);
        Self {
            calendars: CalendarsField::given(visit, given),
            day: DayField::new(given.value("day").unwrap_or_default()),
            ranges: DayRanges::given("times".to_owned(), text.times.to_owned(), given),
            services: services(&visit.state, text, &permits),
            above: AboveFields::default(),
        }
    }

    /// Reads the openings; `None` if some value is wrong, which then has its fault.
    fn read(&mut self, visit: &ProVisit, given: &Params) -> Option<Vec<ExceptionalOpening>> {
        let text = HoursTexts::in_language(visit.language());
        let calendars = self.calendars.read(text);
        let times = self.ranges.read(text);
        let day = self.day.read(text);
        if let Some(day) = day {
            for times in &times {
                if is_left_out(visit, day, *times) {
                    self.ranges.add_fault(*times, text.time_left_out.to_owned());
                }
            }
        }
        if times.is_empty() && self.ranges.faults.is_empty() {
            self.ranges.faults.push(text.no_times.to_owned());
        }
        let permits = read_services(&visit.state, given).ok();
        if permits.is_none() {
            self.above.faults.push(text.bad_choice.to_owned());
        }
        if calendars.len() * times.len() > ROWS_MAX {
            self.above.faults.push(fill(text.too_many_closures, "max", &ROWS_MAX.to_string()));
        }
        let is_wrong =
            calendars.is_empty() || !self.ranges.faults.is_empty() || !self.above.faults.is_empty();
        if is_wrong {
            return None;
        }
        let day = day?;
        let permits = permits?;
        let mut openings = Vec::new();
        for calendar_id in calendars {
            for times in &times {
                let start = at(day, times.start_minute());
                let end = at(day, times.end_minute());
                let permits = permits.clone();
                openings.push(ExceptionalOpening { calendar_id, start, end, permits });
            }
        }
        Some(openings)
    }
}

fn at(day: CivilDay, minute: u16) -> Civil {
    day.midnight().plus_seconds(i64::from(minute) * MINUTE)
}

/// Returns whether the clocks skip the start or the end of some times on a day. The end of a day
/// is never missing: it is the moment at which the next one begins.
fn is_left_out(visit: &ProVisit, day: CivilDay, times: DayTimes) -> bool {
    let zone = visit.zone();
    let end = times.end_minute();
    zone.leaves_out(at(day, times.start_minute()))
        || (end < DAY_MINUTES && zone.leaves_out(at(day, end)))
}

/// GET /p/{urlname}/hours/opening.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let form = OpeningForm::given(&visit, &visit.request.params);
    respond_with_form(&visit, StatusCode::OK, form)
}

/// POST /p/{urlname}/hours/opening.
pub(crate) async fn act(form: ProForm) -> Response {
    let ProForm { mut visit, given } = form;
    let mut form = OpeningForm::given(&visit, &given);
    if given.value("more").is_some() {
        form.ranges.add_pair();
        return respond_with_form(&visit, StatusCode::OK, form);
    }
    let Some(openings) = form.read(&visit, &given) else {
        return respond_with_form(&visit, StatusCode::BAD_REQUEST, form);
    };
    let command = add_openings(openings, &visit.creator());
    match save_exceptions(&mut visit, command, &given).await {
        Ok(response) => response,
        Err(unsaved) => {
            form.above = unsaved.above;
            respond_with_form(&visit, unsaved.status, form)
        }
    }
}

fn respond_with_form(visit: &ProVisit, status: StatusCode, form: OpeningForm) -> Response {
    let text = HoursTexts::in_language(visit.language());
    let screen = OpeningScreen {
        frame: visit.frame(text.add_opening, Section::Hours),
        text,
        back: visit.url(Section::Hours.path(), &[]),
        action: visit.url("/hours/opening", &[]),
        form,
        has_faults: status == StatusCode::BAD_REQUEST,
    };
    respond(status, Privacy::Client, render(&screen))
}
