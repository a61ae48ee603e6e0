//! Moving an event by fields: day, time, calendar, length. Reference 15.6.

mod absence;
mod appointment;
mod form;
pub(crate) mod target;

use std::sync::Arc;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::ids::VeventId;
use crate::web::practice::event_move::form::{MoveForm, respond_with_form};
use crate::web::practice::event_move::target::EventPlace;
use crate::web::practice::form::ProForm;
use crate::web::practice::message;
use crate::web::practice::record_path::RecordPath;
use crate::web::practice::visit::ProVisit;

/// GET /p/{urlname}/events/{id}/move. `day`, `time`, `pass`, `calendar` and `length`
/// may be given.
pub(crate) async fn show(Path(path): Path<RecordPath>, visit: ProVisit) -> Response {
    let row = path.id(VeventId::new).and_then(|id| visit.state.rows.get(&id));
    let Some(row) = row else { return message::not_found(&visit.request) };
    let Some(present) = EventPlace::find(row, visit.zone()) else {
        return message::not_found(&visit.request);
    };
    let form = MoveForm::open(&visit, row, present);
    respond_with_form(&visit, StatusCode::OK, row, form)
}

/// POST /p/{urlname}/events/{id}/move.
pub(crate) async fn act(Path(path): Path<RecordPath>, form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let row = path.id(VeventId::new).and_then(|id| visit.state.rows.get(&id)).map(Arc::clone);
    let Some(row) = row else { return message::not_found(&visit.request) };
    let Some(present) = EventPlace::find(&row, visit.zone()) else {
        return message::not_found(&visit.request);
    };
    let mut form = MoveForm::fill_in(&visit, present, &given);
    let Some(target) = form.target.read(&visit, present, &given) else {
        return respond_with_form(&visit, StatusCode::BAD_REQUEST, &row, form);
    };
    if present.is_absence {
        absence::carry_out(visit, &row, form, target, &given).await
    } else {
        appointment::carry_out(visit, &row, form, target, &given).await
    }
}
