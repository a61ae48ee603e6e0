//! The pages of the first run.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::recurrence::{WEEK, weekday_letters};
use crate::domain::time::zone_names::ZoneName;
use crate::notify::language::weekday_name;
use crate::web::page::{Privacy, render, respond};
use crate::web::practice::first_run::given::{Given, GivenFault};
use crate::web::practice::first_run::step::{
    FirstRunStep, RANGES, SERVICES_MAX, range_name, service_minutes, service_name,
};
use crate::web::practice::frame::ScreenFrame;
use crate::web::practice::screen_request::ScreenRequest;
use crate::web::practice::texts::first_run::FirstRunTexts;
use crate::web::text::fill;

#[derive(Template)]
#[template(path = "web/practice/first_run.html")]
struct StepScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static FirstRunTexts,
    step: FirstRunStep,
    /// The sentence with the number of the step.
    place: String,
    /// The form's own address.
    action: String,
    given: &'v Given,
    faults: &'v [GivenFault],
    /// The faults with the labels of their fields.
    listed: Vec<ListedFault>,
    zones: Vec<ZoneOption>,
    days: Vec<DayRow>,
    services: Vec<ServiceRow>,
    /// Whether more lines for services may be added.
    has_more: bool,
    /// Fields of the other steps.
    carried: Vec<[String; 2]>,
}

/// A fault in the list above the form.
struct ListedFault {
    field: String,
    label: String,
    sentence: &'static str,
}

/// A zone to choose.
struct ZoneOption {
    name: &'static str,
    /// Its IANA name, by which a script finds the zone of the browser.
    iana: &'static str,
    is_chosen: bool,
}

/// A day of the week.
struct DayRow {
    label: String,
    ranges: Vec<RangeRow>,
}

/// A range of a day.
struct RangeRow {
    /// The name of the field, before `.from` and `.to`.
    name: String,
    from_label: String,
    to_label: String,
    from: String,
    to: String,
    /// The sentence of its fault; empty without one.
    fault: &'static str,
}

/// A line for a service.
struct ServiceRow {
    name: String,
    name_label: String,
    minutes: String,
    minutes_label: String,
}

impl StepScreen<'_> {
    /// The sentence of the fault of a field; empty without one.
    fn fault(&self, field: &str) -> &'static str {
        find_fault(self.faults, field)
    }
}

fn find_fault(faults: &[GivenFault], field: &str) -> &'static str {
    faults.iter().find(|fault| fault.field == field).map_or("", |fault| fault.sentence)
}

/// Returns the page of a step.
pub(crate) fn respond_with_step(
    request: &ScreenRequest,
    action: &str,
    step: FirstRunStep,
    given: &Given,
    faults: &[GivenFault],
) -> Response {
    let text = FirstRunTexts::in_language(request.language());
    let title = match step {
        FirstRunStep::Shop => text.shop_title,
        FirstRunStep::Hours => text.hours_title,
        FirstRunStep::Services => text.services_title,
        FirstRunStep::Owner => text.owner_title,
    };
    let mut frame = request.frame(title);
    // The page in the other language begins again, so only the first one leads to it.
    if step != FirstRunStep::Shop || !faults.is_empty() {
        frame.other_url.clear();
    }
    let screen = StepScreen {
        frame,
        text,
        step,
        place: fill(text.step, "number", &step.number().to_string()),
        action: request.url(action, &[]),
        given,
        faults,
        listed: list_faults(request, faults),
        zones: if step == FirstRunStep::Shop { zones(given) } else { Vec::new() },
        days: if step == FirstRunStep::Hours { days(request, given, faults) } else { Vec::new() },
        services: if step == FirstRunStep::Services { services(text, given) } else { Vec::new() },
        has_more: given.services < SERVICES_MAX,
        carried: given.carried(step),
    };
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    respond(status, Privacy::Client, render(&screen))
}

fn list_faults(request: &ScreenRequest, faults: &[GivenFault]) -> Vec<ListedFault> {
    let text = FirstRunTexts::in_language(request.language());
    let label = |field: &str| match field {
        "name" => text.name.to_owned(),
        "timezone" => text.timezone.to_owned(),
        "country" => text.country.to_owned(),
        "phone" => text.phone.to_owned(),
        "firstname" => text.firstname.to_owned(),
        "lastname" => text.lastname.to_owned(),
        "email" => text.email.to_owned(),
        "password" => text.password.to_owned(),
        _ => {
            let day = WEEK.into_iter().find(|day| field.starts_with(weekday_letters(*day)));
            let numbered = match (day, field.strip_prefix("minutes")) {
                (Some(day), _) => fill(text.range, "day", weekday_name(request.language(), day)),
                (None, Some(_)) => text.service_minutes.to_owned(),
                (None, None) => text.service_name.to_owned(),
            };
            let digits: String = field.chars().filter(char::is_ascii_digit).collect();
            fill(&numbered, "number", &digits)
        }
    };
    let list = faults.iter().map(|fault| ListedFault {
        field: fault.field.clone(),
        label: label(&fault.field),
        sentence: fault.sentence,
    });
    list.collect()
}

fn zones(given: &Given) -> Vec<ZoneOption> {
    let chosen = ZoneName::from_name(given.value("timezone"));
    let option = |name: &'static str| {
        let zone = ZoneName::from_name(name).expect("the names are of zones");
        ZoneOption { name, iana: zone.zone().iana_name(), is_chosen: chosen == Some(zone) }
    };
    ZoneName::texts().map(option).collect()
}

fn days(request: &ScreenRequest, given: &Given, faults: &[GivenFault]) -> Vec<DayRow> {
    let text = FirstRunTexts::in_language(request.language());
    let mut rows = Vec::new();
    for weekday in WEEK {
        let label = weekday_name(request.language(), weekday).to_owned();
        let range = |nth: usize| {
            let name = range_name(weekday_letters(weekday), nth);
            let labelled =
                |words: &str| fill(&fill(words, "day", &label), "number", &nth.to_string());
            let from = format!("{name}.from");
            RangeRow {
                from_label: labelled(text.range_from),
                to_label: labelled(text.range_to),
                from: given.value(&from).to_owned(),
                to: given.value(&format!("{name}.to")).to_owned(),
                fault: find_fault(faults, &from),
                name,
            }
        };
        let ranges = (1..=RANGES).map(range).collect();
        rows.push(DayRow { label, ranges });
    }
    rows
}

fn services(text: &FirstRunTexts, given: &Given) -> Vec<ServiceRow> {
    let row = |nth: usize| ServiceRow {
        name: service_name(nth),
        name_label: fill(text.service_name, "number", &nth.to_string()),
        minutes: service_minutes(nth),
        minutes_label: fill(text.service_minutes, "number", &nth.to_string()),
    };
    (1..=given.services).map(row).collect()
}

#[derive(Template)]
#[template(path = "web/practice/first_run_open.html")]
struct OpenWayScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static FirstRunTexts,
}

/// Returns the page of a link that was opened where others can read what is sent.
pub(crate) fn respond_open_way(request: &ScreenRequest) -> Response {
    let text = FirstRunTexts::in_language(request.language());
    let mut frame = request.frame(text.open_title);
    // The link has ended, so this address leads nowhere in the other language.
    frame.other_url.clear();
    let screen = OpenWayScreen { frame, text };
    respond(StatusCode::FORBIDDEN, Privacy::Client, render(&screen))
}
