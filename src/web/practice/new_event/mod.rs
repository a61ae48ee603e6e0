//! The form of a new appointment. Reference 15.9.
//!
//! Rules that bind only the web, and absences, are warnings: a second press overrides those that
//! it has shown. A live appointment in the way refuses.

mod client_part;
mod form;
mod sending;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::availability::obstacle::Obstacle;
use crate::domain::availability::slot_request::BookingMode;
use crate::domain::state::refusal::{Refusal, Refusals};
use crate::web::contact_fields::FieldView;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::agenda::way_back::{keeping_view, place_in_view};
use crate::web::practice::event_change::failed;
use crate::web::practice::explained::{ExplainedObstacle, explain_obstacles};
use crate::web::practice::form::ProForm;
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::new_event::client_part::ClientPart;
use crate::web::practice::new_event::form::{EventTarget, FaultLine, Focus, NewEventForm, Press};
use crate::web::practice::new_event::sending::{FormOnce, NotMade, make_appointment};
use crate::web::practice::obstacle_words::is_appointment;
use crate::web::practice::revision::faults_among;
use crate::web::practice::start_fields::StartFields;
use crate::web::practice::target_obstacles::find_obstacles;
use crate::web::practice::texts::client::ClientTexts;
use crate::web::practice::texts::form::FormTexts;
use crate::web::practice::texts::new_event::NewEventTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::practice::why_page::find_slot;

#[derive(Template)]
#[template(path = "web/practice/new_event.html")]
struct NewEventScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static NewEventTexts,
    client_text: &'static ClientTexts,
    form: &'static FormTexts,
    action: String,
    back: String,
    focus: Focus,
    /// The action has the language.
    no_lang: Option<&'static str>,
    form_key: &'v str,
    start: &'v StartFields,
    end: &'v FieldView,
    client: &'v ClientPart,
    details: &'v [FieldView],
    /// The target whose warnings the form shows, for the second press; empty without warnings.
    seen: &'v str,
    warnings: &'v [ExplainedObstacle],
    /// Live appointments in the way.
    taken: &'v [ExplainedObstacle],
    explanation: &'v Option<Vec<ExplainedObstacle>>,
    faults: Vec<FaultLine>,
    /// Sentences about the whole form.
    others: &'v [String],
    /// The appointment that this form has made before; empty without one.
    made_before: &'v str,
}

/// GET /p/{urlname}/events/new: `c` the calendar, `d` and `t` the start, `to` the end without a
/// service, `s` the service, `client` the client. All may be left out.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let form = NewEventForm::of_address(&visit);
    let status = if form.has_faults() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    respond_with_form(&visit, status, &form)
}

/// POST /p/{urlname}/events/new. Its address names the view of the agenda to go back to.
pub(crate) async fn act(form: ProForm) -> Response {
    let ProForm { visit, given } = form;
    let mut form = NewEventForm::sent(&visit, &given);
    match form.press(&given) {
        Press::Save => {
            let once = FormOnce::new(&visit, &form.form_key, &given);
            return save(visit, form, once, given.value(sending::SEEN)).await;
        }
        Press::Search => {
            if let Err(error) = form.client.search(&visit).await {
                return message::failed(&visit.request, &error);
            }
        }
        Press::OtherClient => form.client.chosen = None,
        Press::PickClient => {}
        Press::Explain => {
            form.start.demand_all(&visit);
            if let Some(slot) = find_slot(&visit, &form.start) {
                match slot.explain(&visit).await {
                    Ok(obstacles) => form.explanation = Some(obstacles),
                    Err(error) => return message::failed(&visit.request, &error),
                }
            }
        }
    }
    let status = if form.has_faults() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    respond_with_form(&visit, status, &form)
}

/// Makes the appointment of a form, unless the form has made it before.
async fn save(
    mut visit: ProVisit,
    mut form: NewEventForm,
    once: FormOnce,
    seen: Option<&str>,
) -> Response {
    // Before everything else: its own time is taken by now.
    if let Some(made) = once.find(&visit) {
        visit.renew();
        if let Some(row) = visit.state.rows.get(&made.id)
            && made.is_same
        {
            return redirect(&place_in_view(&visit, row));
        }
        return respond_with_earlier(&visit, form, made.id.number());
    }
    // Both are read, so that the faults of both are shown.
    let target = form.target(&visit);
    let client = form.client.wanted(&visit);
    let Some(target) = target else {
        return respond_with_form(&visit, StatusCode::BAD_REQUEST, &form);
    };
    let Some(client) = client else {
        return respond_with_form(&visit, StatusCode::BAD_REQUEST, &form);
    };
    let slot = target.slot.request(BookingMode::ModuleByPro);
    match find_obstacles(&visit, target.slot.calendar, slot).await {
        Ok(obstacles) => show_obstacles(&visit, &mut form, &target, &obstacles),
        Err(error) => return message::failed(&visit.request, &error),
    }
    let mark = target.mark();
    if !form.taken.is_empty() || !form.warnings.is_empty() && seen != Some(&mark) {
        form.seen = if form.taken.is_empty() { mark } else { String::new() };
        return respond_with_form(&visit, StatusCode::CONFLICT, &form);
    }
    let not_made = match make_appointment(&visit, form.object(&visit, &target), client, &once).await
    {
        Ok(id) => {
            visit.renew();
            let row = &visit.state.rows[&id];
            return redirect(&place_in_view(&visit, row));
        }
        Err(not_made) => not_made,
    };
    visit.renew();
    match not_made {
        NotMade::ClientRefused(refusals) => {
            form.others = form.client.place(&visit, &faults_among(refusals));
            respond_with_form(&visit, StatusCode::BAD_REQUEST, &form)
        }
        NotMade::EventRefused(refusals) => respond_with_refusals(&visit, form, &target, refusals),
        NotMade::OtherForm => match once.find(&visit) {
            Some(made) => respond_with_earlier(&visit, form, made.id.number()),
            None => respond_with_form(&visit, StatusCode::CONFLICT, &form),
        },
        NotMade::Failed(rejection) => failed(&visit, rejection),
    }
}

/// Shows what stands against a target.
fn show_obstacles(
    visit: &ProVisit,
    form: &mut NewEventForm,
    target: &EventTarget,
    obstacles: &[Obstacle],
) {
    let (taken, rules): (Vec<&Obstacle>, Vec<&Obstacle>) =
        obstacles.iter().partition(|obstacle| is_appointment(obstacle));
    form.taken = explain_obstacles(visit, target.slot.calendar, taken);
    form.warnings = explain_obstacles(visit, target.slot.calendar, rules);
}

/// Returns the form whose appointment the group has refused.
fn respond_with_refusals(
    visit: &ProVisit,
    mut form: NewEventForm,
    target: &EventTarget,
    refusals: Refusals,
) -> Response {
    // Another client came first.
    if let Some(Refusal::NotAvailable { obstacles }) = refusals.first() {
        show_obstacles(visit, &mut form, target, obstacles);
        return respond_with_form(visit, StatusCode::CONFLICT, &form);
    }
    form.place(visit, &faults_among(refusals));
    respond_with_form(visit, StatusCode::BAD_REQUEST, &form)
}

/// Returns the form with another key, and says that it has made an appointment already.
fn respond_with_earlier(visit: &ProVisit, mut form: NewEventForm, made: u64) -> Response {
    form.form_key = visit.request.pages.new_form_key();
    form.made_before = visit.url(&format!("/events/{made}"), &[]);
    respond_with_form(visit, StatusCode::CONFLICT, &form)
}

fn respond_with_form(visit: &ProVisit, status: StatusCode, form: &NewEventForm) -> Response {
    let text = NewEventTexts::in_language(visit.language());
    let screen = NewEventScreen {
        frame: visit.frame(text.title, Section::Agenda),
        text,
        client_text: ClientTexts::in_language(visit.language()),
        form: FormTexts::in_language(visit.language()),
        action: keeping_view(visit, "/events/new"),
        back: keeping_view(visit, Section::Agenda.path()),
        focus: if status == StatusCode::OK { form.focus() } else { Focus::Nowhere },
        no_lang: None,
        form_key: &form.form_key,
        start: &form.start,
        end: &form.end,
        client: &form.client,
        details: &form.details,
        seen: &form.seen,
        warnings: &form.warnings,
        taken: &form.taken,
        explanation: &form.explanation,
        faults: form.fault_lines(visit),
        others: &form.others,
        made_before: &form.made_before,
    };
    respond(status, Privacy::Client, render(&screen))
}
