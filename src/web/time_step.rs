//! Step 2: the choice of a free start, by week and by month.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::availability::module_offer::shown_calendars;
use crate::domain::availability::slot_request::{BookingMode, Chain, OwnTime};
use crate::domain::records::ids::CalendarId;
use crate::domain::records::intervention::Intervention;
use crate::domain::time::CivilDay;
use crate::web::choice::{Choice, has_calendar_choice};
use crate::web::closed::{find_closed, find_unoffered};
use crate::web::deep_link::EDIT;
use crate::web::format::{self, service_facts};
use crate::web::free_times::{FoundTimes, TimeSearch};
use crate::web::list_filter::ListFilter;
use crate::web::message_page;
use crate::web::month::{parse_shown_day, read_month};
use crate::web::page::{Frame, Privacy, render, respond};
use crate::web::service_step::{
    CalendarOption, TIME_STEP, filtered_calendars, gone_notice, respond_with_services,
};
use crate::web::shop::Visit;
use crate::web::text::fill;
use crate::web::times_address::TimesAddress;
use crate::web::times_view::{TimesView, view_times};
use crate::wire::params::Params;

/// Number of entries up to which the list of calendars does not fold. More would push the first
/// free time off the first screen of a telephone.
const OPEN_CALENDARS_MAX: usize = 3;

/// A chosen service, for the summary of later steps.
pub(crate) struct ServiceLine {
    pub(crate) name: String,
    pub(crate) facts: String,
    /// Things to bring to it; empty if there is nothing.
    pub(crate) bring: String,
}

#[derive(Template)]
#[template(path = "web/time.html")]
struct TimePage<'v> {
    frame: Frame<'v>,
    services: Vec<ServiceLine>,
    /// The sentence about a link whose choice is not offered; empty for others.
    notice: &'static str,
    /// The calendar that the link froze; empty without one.
    frozen_calendar: &'v str,
    /// Empty if the link froze the services.
    change_url: String,
    calendars: Vec<CalendarOption>,
    /// Whether the list of calendars folds, because it is long.
    folds_calendars: bool,
    /// The name of the chosen entry of the list; empty without one.
    chosen_calendar: String,
    /// The filter of many people.
    filter: Option<ListFilter>,
    /// Names and values of the form around the starts.
    kept: Vec<(&'static str, String)>,
    you_url: String,
    times: TimesView,
}

/// GET /b/{urlname}/time.
pub(crate) async fn show(visit: Visit) -> Response {
    if let Some(closed) = find_closed(&visit) {
        return closed;
    }
    let (choice, chain) = match read_choice(&visit, &visit.params) {
        Ok(read) => read,
        Err(response) => return *response,
    };
    if let Some(reason) = find_unoffered(&visit, &choice) {
        return respond_with_services(&visit, StatusCode::OK, &reason);
    }
    let calendars = searched_calendars(&visit, &choice);
    let search = TimeSearch::new(&visit, chain, calendars, OwnTime::default());
    let (week_day, month_day) = read_days(&visit);
    match search.find_times(&visit, week_day, month_day).await {
        Ok(Some(found)) => respond_with_times(&visit, &choice, &search, &found),
        Ok(None) => nothing_free(&visit, &search),
        Err(_) => message_page::busy(&visit),
    }
}

/// Reads the day whose week is shown, and the first day of the shown month.
pub(crate) fn read_days(visit: &Visit) -> (Option<CivilDay>, Option<CivilDay>) {
    (visit.params.value("d").and_then(parse_shown_day), read_month(visit))
}

/// Reads the choice of services, and makes their chain.
///
/// # Errors
/// The page of step 1 with the fault.
pub(crate) fn read_choice(visit: &Visit, given: &Params) -> Result<(Choice, Chain), Box<Response>> {
    let choice = visit.choice(given);
    let text = visit.text;
    let fault = if choice.names_unknown_service {
        text.unknown_service.to_owned()
    } else if choice.services.is_empty() {
        text.none_chosen.to_owned()
    } else {
        match visit.state.catalogue.chain(&choice.services, BookingMode::Module) {
            Ok(chain) => return Ok((with_default_calendar(visit, choice), chain)),
            Err(_) => {
                let most = visit.group().max_multirdvs.number().to_string();
                fill(text.too_many_chosen, "most", &most)
            }
        }
    };
    Err(Box::new(respond_with_services(visit, StatusCode::BAD_REQUEST, &fault)))
}

/// Returns a choice with the first calendar that offers its services, if it names none and the
/// group offers no "no preference".
fn with_default_calendar(visit: &Visit, choice: Choice) -> Choice {
    let group = visit.group();
    if choice.calendar.is_some() || group.any_calendar || !has_calendar_choice(group) {
        return choice;
    }
    let calendar = offering_calendars(visit, &choice).first().copied();
    Choice { calendar, has_no_preference: false, ..choice }
}

/// Returns the calendars of the chosen sets that the module shows and that offer the services.
fn offering_calendars(visit: &Visit, choice: &Choice) -> Vec<CalendarId> {
    let catalogue = &visit.state.catalogue;
    let shown = shown_calendars(catalogue).into_iter().map(|calendar| calendar.id);
    let offers = |id| choice.has_calendar(catalogue, id) && visit.offers_all(id, &choice.services);
    shown.filter(|id| offers(*id)).collect()
}

/// Returns the calendars to search: the chosen one, or all of the chosen sets.
pub(crate) fn searched_calendars(visit: &Visit, choice: &Choice) -> Vec<CalendarId> {
    if let Some(chosen) = choice.calendar {
        return vec![chosen];
    }
    let mut offering = offering_calendars(visit, choice);
    // The places of a search ascend by id.
    offering.sort_unstable();
    offering
}

fn respond_with_times(
    visit: &Visit,
    choice: &Choice,
    search: &TimeSearch,
    found: &FoundTimes,
) -> Response {
    let text = visit.text;
    let address = TimesAddress { path: visit.path_of("/time"), pairs: choice.pairs() };
    let mut kept = choice.pairs();
    kept.push(("k", visit.pages.new_form_key()));
    kept.extend(visit.carried_pairs());
    let (calendars, filter) = filtered_calendars(visit, choice, TIME_STEP, TIME_STEP);
    let (week_day, _) = read_days(visit);
    let chosen = calendars.iter().find(|option| option.is_chosen);
    let page = TimePage {
        frame: visit.frame(text.choose_time),
        services: service_lines(visit, choice),
        notice: gone_notice(visit),
        frozen_calendar: frozen_calendar_name(visit),
        change_url: change_services_url(visit, choice),
        folds_calendars: filter.is_some() || calendars.len() > OPEN_CALENDARS_MAX,
        chosen_calendar: chosen.map(|option| option.name.clone()).unwrap_or_default(),
        filter,
        calendars,
        kept,
        you_url: visit.url("/you", &[]),
        times: view_times(visit, &address, search, found, week_day),
    };
    respond(StatusCode::OK, Privacy::Public, render(&page))
}

fn frozen_calendar_name(visit: &Visit) -> &str {
    let calendar = visit.frozen().calendar;
    let calendar = calendar.and_then(|id| visit.state.catalogue.calendars.get(&id));
    calendar.map_or("", |calendar| calendar.publicname.as_str())
}

/// Returns the URL of step 1 with the present choice; empty if the link froze the services.
fn change_services_url(visit: &Visit, choice: &Choice) -> String {
    if !visit.frozen().services.is_empty() {
        return String::new();
    }
    let mut pairs = choice.pairs();
    pairs.push((EDIT, "1".to_owned()));
    visit.url("", &pairs)
}

/// Returns the chosen services for a summary.
pub(crate) fn service_lines(visit: &Visit, choice: &Choice) -> Vec<ServiceLine> {
    let group = visit.group();
    let currency = if group.display_intervention_price { Some(group.currency_code) } else { None };
    let shows_length = group.display_intervention_length;
    let services = &visit.state.catalogue.interventions;
    let chosen = choice.services.iter().filter_map(|id| services.get(id));
    let line = |service: &Arc<Intervention>| ServiceLine {
        name: service.publicname.as_str().to_owned(),
        facts: service_facts(visit.language(), service, shows_length, currency),
        bring: service.bring_text.as_str().trim().to_owned(),
    };
    chosen.map(line).collect()
}

/// Returns the page of a choice without any free start.
pub(crate) fn nothing_free(visit: &Visit, search: &TimeSearch) -> Response {
    let until = format::date(visit.language(), search.last_day());
    let line = fill(visit.text.nothing_until, "until", &until);
    message_page::with_call(visit, visit.text.nothing_free, line, true)
}
