//! The opening hours: weekly hours of each calendar, exceptional openings, closures, public
//! holidays. Reference 15.8.

mod calendar_form;
mod calendar_hours;
mod calendar_screen;
mod closure_form;
mod day_ranges;
mod exceptions;
mod form_parts;
mod holiday_words;
mod holidays_form;
mod index;
mod opening_form;
mod removal;
mod saving;
mod timetable_address;
mod words;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use crate::web::pages::Pages;

/// The routes of the opening hours.
pub(crate) fn routes() -> Router<Arc<Pages>> {
    Router::new()
        .route("/p/{urlname}/hours", get(index::show))
        .route("/p/{urlname}/hours/closure", get(closure_form::show).post(closure_form::act))
        .route("/p/{urlname}/hours/opening", get(opening_form::show).post(opening_form::act))
        .route("/p/{urlname}/hours/holidays", get(holidays_form::show).post(holidays_form::act))
        .route("/p/{urlname}/hours/delete", get(removal::show).post(removal::delete))
        .route("/p/{urlname}/hours/{id}", get(calendar_form::show).post(calendar_form::act))
}
