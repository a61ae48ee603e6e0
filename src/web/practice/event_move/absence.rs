//! Moving an absence that does not repeat. Reference 15.6.
//!
//! An absence over booked time asks what happens to the appointments, as in 15.11.

use axum::response::Response;
use serde_json::Map;

use crate::domain::records::vevent::Vevent;
use crate::domain::state::command::Command;
use crate::http::{make_change, show_vevent_later};
use crate::web::page::redirect;
use crate::web::practice::displaced::plan::BookedChange;
use crate::web::practice::displaced::{Settled, SettledChange, settle};
use crate::web::practice::event_move::form::{MoveForm, refuse, respond_with_form};
use crate::web::practice::event_move::target::EventPlace;
use crate::web::practice::revision::still_at;
use crate::web::practice::visit::ProVisit;
use crate::wire::datetime::format_civil;
use crate::wire::field::Audience;
use crate::wire::params::Params;
use crate::wire::vevent::revision_text;

/// Moves an absence as a form wants it.
pub(crate) async fn carry_out(
    mut visit: ProVisit,
    row: &Vevent,
    mut form: MoveForm,
    target: EventPlace,
    given: &Params,
) -> Response {
    let command = move_command(row, target, &form.revision);
    match settle(&mut visit, BookedChange::Write(command), given).await {
        Ok(Settled::Done(done)) => redirect(&moved_url(&visit, row, &done)),
        Ok(Settled::Asks(status, question)) => {
            form.question = Some(question);
            respond_with_form(&visit, status, row, form)
        }
        Ok(Settled::Refused(refusals)) => refuse(visit, row.id, form, target, refusals),
        Err(response) => response,
    }
}

fn move_command(row: &Vevent, target: EventPlace, revision: &str) -> Command {
    let mut object = Map::new();
    object.insert("start".to_owned(), format_civil(target.civil).into());
    object.insert("end".to_owned(), format_civil(target.civil_end()).into());
    object.insert("calendar_id".to_owned(), target.calendar.number().into());
    Command::PutVevent(make_change(row.id, object))
        .only_if(still_at(revision, show_vevent_later(row.id, Audience::Pro)))
}

/// Returns the record of an absence after its move. Its address has the revision by which the
/// script takes the move back, unless more was done with it.
fn moved_url(visit: &ProVisit, row: &Vevent, done: &SettledChange) -> String {
    let here = format!("/events/{}", row.id);
    match done.after.rows.get(&row.id) {
        Some(moved) if done.treated == 0 => visit.url(&here, &[("moved", &revision_text(moved))]),
        _ => visit.url(&here, &[("saved", "1")]),
    }
}
