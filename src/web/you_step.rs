//! Step 3: the details of the client, and the same form again after a refusal.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::availability::slot_request::{Chain, OwnTime};
use crate::domain::state::refusal::Refusal;
use crate::domain::time::{Civil, Instant};
use crate::web::choice::Choice;
use crate::web::closed::{find_closed, find_unoffered};
use crate::web::contact_fields::{FieldView, form_fields, relative_fields};
use crate::web::format::{iso_time, parse_start};
use crate::web::free_times::{OtherTime, TimeSearch};
use crate::web::message_page;
use crate::web::page::{Frame, Privacy, render, respond};
use crate::web::refusal_text::{RefusalText, describe};
use crate::web::service_step::respond_with_services;
use crate::web::shop::Visit;
use crate::web::text::fill;
use crate::web::time_step::{ServiceLine, read_choice, searched_calendars, service_lines};
use crate::wire::params::Params;

#[derive(Template)]
#[template(path = "web/you.html")]
struct YouPage<'v> {
    frame: Frame<'v>,
    services: Vec<ServiceLine>,
    /// The start in words, and in seconds since 1970.
    when: String,
    at: i64,
    /// The chosen calendar; empty for no preference.
    calendar_name: &'v str,
    change_url: String,
    /// The URL that the form is sent to.
    action: String,
    /// Names and values that the form keeps.
    kept: Vec<(&'static str, String)>,
    /// The title and the sentences of a refusal; empty without one.
    refusal_title: &'static str,
    refusals: Vec<String>,
    others: Vec<OtherTime>,
    /// The title of the list of faults; empty without one.
    faults_title: String,
    fields: Vec<FieldView>,
    relative: Vec<FieldView>,
    has_relative: bool,
    consent: String,
    privacy: &'v str,
    /// The label of the button.
    send: &'static str,
}

/// The booking that a page of this step is about.
pub(crate) struct Request {
    pub(crate) choice: Choice,
    pub(crate) chain: Chain,
    /// The start in the shop's time.
    pub(crate) start: Civil,
    /// The key that makes the booking happen once.
    pub(crate) form_key: String,
}

impl Request {
    /// Reads the request of a query or a form. The time of a button counts before that of the form.
    ///
    /// # Errors
    /// The page of an earlier step with the fault.
    pub(crate) fn read(visit: &Visit, given: &Params) -> Result<Self, Box<Response>> {
        if let Some(closed) = find_closed(visit) {
            return Err(Box::new(closed));
        }
        let (choice, chain) = read_choice(visit, given)?;
        let start = given.value("other").or_else(|| given.value("t")).and_then(parse_start);
        let Some(start) = start else {
            return Err(Box::new(crate::web::page::redirect(&visit.url("/time", &choice.pairs()))));
        };
        let form_key = match given.value("k") {
            Some(key) if is_form_key(key) => key.to_owned(),
            _ => visit.pages.new_form_key(),
        };
        Ok(Self { choice, chain, start, form_key })
    }

    /// The request with another key, so that its form makes another booking.
    pub(crate) fn renewed(&self, visit: &Visit) -> Self {
        Self {
            choice: self.choice.clone(),
            chain: self.chain.clone(),
            start: self.start,
            form_key: visit.pages.new_form_key(),
        }
    }

    /// Names and values that its form keeps.
    pub(crate) fn kept(&self) -> Vec<(&'static str, String)> {
        let mut kept = self.choice.pairs();
        kept.push(("t", iso_time(self.start)));
        kept.push(("k", self.form_key.clone()));
        kept
    }

    /// The start as an instant.
    pub(crate) fn instant(&self, visit: &Visit) -> Instant {
        visit.zone().instant_of(self.start)
    }

    /// The search for other starts.
    fn search(&self, visit: &Visit) -> TimeSearch {
        let calendars = searched_calendars(visit, &self.choice);
        TimeSearch::new(visit, self.chain.clone(), calendars, OwnTime::default())
    }
}

/// Whether a text can be a form's key: 32 hexadecimal digits.
pub(crate) fn is_form_key(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// GET /b/{urlname}/you.
pub(crate) async fn show(visit: Visit) -> Response {
    let visit = Arc::new(visit);
    let request = match Request::read(&visit, &visit.params) {
        Ok(request) => request,
        Err(response) => return *response,
    };
    if let Some(reason) = find_unoffered(&visit, &request.choice) {
        return respond_with_services(&visit, StatusCode::OK, &reason);
    }
    let refusals = match request.search(&visit).is_free(&visit, request.instant(&visit)).await {
        Ok(true) => Vec::new(),
        Ok(false) => vec![Refusal::NotAvailable { obstacles: Vec::new() }],
        Err(_) => return message_page::busy(&visit),
    };
    respond_with_form(&visit, &request, &wished_values(&visit), &refusals).await
}

/// Returns the values that the link wishes for the form.
fn wished_values(visit: &Visit) -> Params {
    let mut wished = Params::default();
    for (name, value) in visit.preset.iter().flat_map(|preset| &preset.details) {
        wished.push(name, value);
    }
    wished
}

/// Returns the form with the values that were sent, and the refusals of the booking, if any.
pub(crate) async fn respond_with_form(
    visit: &Arc<Visit>,
    request: &Request,
    given: &Params,
    refusals: &[Refusal],
) -> Response {
    let mut fields = form_fields(visit, given);
    let when = visit.when_civil(request.start);
    let mut general: Vec<RefusalText> = Vec::new();
    for refusal in refusals {
        let described = describe(visit, refusal, &fields, &when);
        let name = described.field.as_deref();
        let field = fields.iter_mut().find(|field| Some(field.name.as_str()) == name);
        match field {
            Some(field) => field.fault = described.sentence,
            None if general.contains(&described) => {}
            None => general.push(described),
        }
    }
    let wants_other_time = general.iter().any(|refusal| refusal.wants_other_time);
    let others = if wants_other_time {
        request.search(visit).nearest_times(visit, request.instant(visit)).await
    } else {
        Vec::new()
    };
    let page = view_form(visit, request, given, fields, &general, others);
    let status = if refusals.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    respond(status, Privacy::Client, render(&page))
}

/// Returns the form with the values that were sent, and sentences that ask to send it again.
pub(crate) fn respond_with_notice(
    visit: &Visit,
    request: &Request,
    given: &Params,
    sentences: Vec<String>,
) -> Response {
    let notices: Vec<RefusalText> =
        sentences.iter().map(|sentence| RefusalText::general(sentence)).collect();
    let fields = form_fields(visit, given);
    let page = view_form(visit, request, given, fields, &notices, Vec::new());
    respond(StatusCode::BAD_REQUEST, Privacy::Client, render(&page))
}

fn view_form<'v>(
    visit: &'v Visit,
    request: &Request,
    given: &Params,
    fields: Vec<FieldView>,
    general: &[RefusalText],
    others: Vec<OtherTime>,
) -> YouPage<'v> {
    let text = visit.text;
    let catalogue = &visit.state.catalogue;
    let faults = fields.iter().filter(|field| !field.fault.is_empty()).count();
    let calendar = request.choice.calendar.and_then(|id| catalogue.calendars.get(&id));
    let relative = relative_fields(text, given);
    let group = visit.group();
    let has_faults = faults > 0 || !general.is_empty();
    let title = text.your_details;
    YouPage {
        frame: if has_faults { visit.fault_frame(title) } else { visit.frame(title) },
        services: service_lines(visit, &request.choice),
        when: visit.when_civil(request.start),
        at: request.instant(visit).0,
        calendar_name: calendar.map_or("", |calendar| calendar.publicname.as_str()),
        change_url: visit.url("/time", &request.choice.pairs()),
        action: visit.url("/you", &[]),
        kept: request.kept(),
        refusal_title: match (general.is_empty(), others.is_empty()) {
            (true, _) => "",
            (false, true) => text.refused_title,
            (false, false) => text.taken_title,
        },
        refusals: general.iter().map(|refusal| refusal.sentence.clone()).collect(),
        others,
        faults_title: match faults {
            0 => String::new(),
            1 => text.one_fault.to_owned(),
            many => fill(text.some_faults, "count", &many.to_string()),
        },
        has_relative: relative.iter().any(|field| !field.value.is_empty()),
        fields,
        relative,
        consent: fill(text.consent, "group", group.name.as_str()),
        privacy: group.privacy_text.as_str(),
        send: if visit.code_channel().is_some() { text.send_code } else { text.book },
    }
}
