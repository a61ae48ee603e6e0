//! The explanation of a start: all that keeps clients from booking it online. Reference 15.9.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::time::MINUTE;
use crate::web::language_choice;
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::explained::{ExplainedObstacle, ExplainedSlot};
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::obstacle_words::interval_in_words;
use crate::web::practice::start_fields::StartFields;
use crate::web::practice::texts::form::FormTexts;
use crate::web::practice::texts::new_event::NewEventTexts;
use crate::web::practice::visit::ProVisit;

#[derive(Template)]
#[template(path = "web/practice/why.html")]
struct WhyScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static NewEventTexts,
    form: &'static FormTexts,
    action: String,
    /// The language, if the address names it.
    lang: &'static str,
    start: StartFields,
    /// The explained start; `None` while the address names none.
    answer: Option<WhyAnswer>,
}

/// The explanation of a start.
struct WhyAnswer {
    /// The calendar and the service.
    what: String,
    /// The time in words.
    when: String,
    obstacles: Vec<ExplainedObstacle>,
    /// The form of an appointment at this time.
    book: String,
}

/// GET /p/{urlname}/events/why: `c` the calendar, `s` the service, `d` and `t` the start.
pub(crate) async fn show(visit: ProVisit) -> Response {
    let start = StartFields::read(&visit, &visit.request.params);
    let answer = match find_slot(&visit, &start).filter(|_| !start.has_faults()) {
        Some(slot) => match slot.explain(&visit).await {
            Ok(obstacles) => Some(make_answer(&visit, &start, slot, obstacles)),
            Err(error) => return message::failed(&visit.request, &error),
        },
        None => None,
    };
    let status = if start.has_faults() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let text = NewEventTexts::in_language(visit.language());
    let lang = &visit.request.lang;
    let screen = WhyScreen {
        frame: visit.frame(text.why, Section::Agenda),
        text,
        form: FormTexts::in_language(visit.language()),
        action: visit.path("/events/why"),
        lang: if lang.is_in_url { language_choice::tag(lang.language) } else { "" },
        start,
        answer,
    };
    respond(status, Privacy::Client, render(&screen))
}

/// The slot that fields name; `None` as long as one of them is missing.
pub(crate) fn find_slot(visit: &ProVisit, start: &StartFields) -> Option<ExplainedSlot> {
    let service = start.intervention(&visit.state.catalogue)?;
    Some(ExplainedSlot {
        calendar: start.calendar_id()?,
        service: service.id,
        start: visit.zone().instant_of(start.at?),
        length_seconds: service.length.number() * MINUTE,
    })
}

fn make_answer(
    visit: &ProVisit,
    start: &StartFields,
    slot: ExplainedSlot,
    obstacles: Vec<ExplainedObstacle>,
) -> WhyAnswer {
    let ids = [slot.calendar.to_string(), slot.service.to_string()];
    let pairs = [
        ("c", ids[0].as_str()),
        ("d", start.day.value.as_str()),
        ("t", start.time.value.as_str()),
        ("s", ids[1].as_str()),
    ];
    let catalogue = &visit.state.catalogue;
    let calendar = catalogue.calendars.get(&slot.calendar).map_or("", |it| it.name.as_str());
    let service = start.intervention(catalogue).map_or("", |it| it.name.as_str());
    WhyAnswer {
        what: format!("{calendar} · {service}"),
        when: interval_in_words(visit, slot.interval()),
        obstacles,
        book: visit.url("/events/new", &pairs),
    }
}
