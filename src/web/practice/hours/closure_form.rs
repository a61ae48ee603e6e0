//! The form of a closure: calendars, days, and a text. Reference 15.8.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::text::LongText;
use crate::domain::state::put_vevent::ROWS_MAX;
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::hours::exceptions::{Closure, add_closures};
use crate::web::practice::hours::form_parts::{CalendarsField, DayField};
use crate::web::practice::hours::saving::{AboveFields, save_exceptions};
use crate::web::practice::texts::hours::HoursTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::params::Params;

/// The form of a closure, as it was filled in.
struct ClosureForm {
    calendars: CalendarsField,
    first: DayField,
    last: DayField,
    reason: String,
    reason_fault: &'static str,
    above: AboveFields,
}

#[derive(Template)]
#[template(path = "web/practice/hours_closure.html")]
struct ClosureScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static HoursTexts,
    back: String,
    action: String,
    form: ClosureForm,
    has_faults: bool,
}

impl ClosureForm {
    fn given(visit: &ProVisit, given: &Params) -> Self {
        Self {
            calendars: CalendarsField::given(visit, given),
            first: DayField::new(given.value("first").unwrap_or_default()),
            last: DayField::new(given.value("last").unwrap_or_default()),
            reason: given.value("text").unwrap_or_default().to_owned(),
            reason_fault: "",
            above: AboveFields::default(),
        }
    }

    /// Reads the closures; `None` if some value is wrong, which then has its fault.
    fn read(&mut self, text: &HoursTexts) -> Option<Vec<Closure>> {
        let calendars = self.calendars.read(text);
        let first = self.first.read(text);
        if self.last.value.is_empty() {
            self.last.value.clone_from(&self.first.value);
        }
        let last = self.last.read(text);
        let reason = LongText::new(&self.reason).ok();
        if reason.is_none() {
            self.reason_fault = text.bad_text;
        }
        let reason = reason?;
        let first = first?;
        let last = last?;
        if last < first {
            self.last.fault = text.last_before_first;
            return None;
        }
        if calendars.len() > ROWS_MAX {
            self.above.faults.push(fill(text.too_many_closures, "max", &ROWS_MAX.to_string()));
        }
        if calendars.is_empty() || !self.above.faults.is_empty() {
            return None;
        }
        let closure = |calendar_id| Closure { calendar_id, first, last, text: reason.clone() };
        Some(calendars.into_iter().map(closure).collect())
    }
}

/// GET /p/{urlname}/hours/closure.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let form = ClosureForm::given(&visit, &visit.request.params);
    respond_with_form(&visit, StatusCode::OK, form)
}

/// POST /p/{urlname}/hours/closure.
pub(crate) async fn act(form: ProForm) -> Response {
    let ProForm { mut visit, given } = form;
    let text = HoursTexts::in_language(visit.language());
    let mut form = ClosureForm::given(&visit, &given);
    let Some(closures) = form.read(text) else {
        return respond_with_form(&visit, StatusCode::BAD_REQUEST, form);
    };
    let command = add_closures(closures, &visit.creator());
    match save_exceptions(&mut visit, command, &given).await {
        Ok(response) => response,
        Err(unsaved) => {
            form.above = unsaved.above;
            respond_with_form(&visit, unsaved.status, form)
        }
    }
}

fn respond_with_form(visit: &ProVisit, status: StatusCode, form: ClosureForm) -> Response {
    let text = HoursTexts::in_language(visit.language());
    let screen = ClosureScreen {
        frame: visit.frame(text.add_closure, Section::Hours),
        text,
        back: visit.url(Section::Hours.path(), &[]),
        action: visit.url("/hours/closure", &[]),
        form,
        has_faults: status == StatusCode::BAD_REQUEST,
    };
    respond(status, Privacy::Client, render(&screen))
}
