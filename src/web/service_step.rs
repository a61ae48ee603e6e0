//! Step 1: the choice of services, and of the calendar where it comes first.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::availability::module_offer::{shown_calendars, shown_interventions};
use crate::domain::records::ids::{CalendarId, InterventionsetId};
use crate::domain::records::image::ImageSlot;
use crate::domain::records::intervention::Intervention;
use crate::web::choice::{Choice, has_calendar_choice};
use crate::web::closed::{find_closed, known_only_notice, nothing_offered};
use crate::web::deep_link;
use crate::web::face::{ImageView, find_image};
use crate::web::format::service_facts;
use crate::web::list_filter::{ListFilter, PEOPLE_MAX, SERVICES_MAX};
use crate::web::page::{Frame, Privacy, render, respond};
use crate::web::shop::Visit;
use crate::web::text::fill;

/// The path of the next step, below that of the group.
pub(crate) const TIME_STEP: &str = "/time";

/// A choice of calendars, for a page.
pub(crate) struct CalendarOption {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) is_chosen: bool,
    /// Whether it is a calendar, and not "no preference".
    pub(crate) is_person: bool,
    /// The photo of the calendar, if it has one.
    pub(crate) photo: Option<ImageView>,
    /// The line about the calendar; empty without one.
    pub(crate) tagline: String,
}

/// A set of services on the page.
struct SetView<'v> {
    /// Its public name; empty for services without a set on a page without sets.
    name: &'v str,
    /// The attribute `lang` of its name.
    lang: &'static str,
    description: &'v str,
    services: Vec<ServiceView<'v>>,
}

struct ServiceView<'v> {
    id: u64,
    name: &'v str,
    description: &'v str,
    /// Length and price as far as the settings show them.
    facts: String,
    /// The page with the times of this service.
    url: String,
    is_chosen: bool,
}

impl SetView<'_> {
    /// Whether the set is shown open on a page whose sets fold.
    fn is_open(&self, filter: &ListFilter) -> bool {
        filter.is_active() || self.services.iter().any(|service| service.is_chosen)
    }
}

#[derive(Template)]
#[template(path = "web/service.html")]
struct ServicePage<'v> {
    frame: Frame<'v>,
    title: &'static str,
    sets: Vec<SetView<'v>>,
    /// Maximum number of services; with 1, each service is a link.
    services_max: i64,
    up_to: String,
    /// The name of the calendar that was chosen first; empty without one.
    calendar_name: &'v str,
    /// Empty if the link froze the calendar.
    change_calendar_url: String,
    /// The page with the services of all sets; empty if it shows them.
    all_services_url: String,
    time_url: String,
    /// Names and values to keep with the chosen services.
    kept: Vec<(&'static str, String)>,
    /// The fault of the choice before; empty without one.
    fault: String,
    /// The sentence about who may book here; empty if everyone may.
    notice: String,
    /// The filter of many services.
    filter: Option<ListFilter>,
    /// Whether the sets fold, because there are many services.
    folds: bool,
}

#[derive(Template)]
#[template(path = "web/calendar.html")]
struct CalendarPage<'v> {
    frame: Frame<'v>,
    title: &'static str,
    /// The fault of the choice before; empty without one.
    fault: String,
    calendars: Vec<CalendarOption>,
    /// The filter of many people.
    filter: Option<ListFilter>,
}

/// GET /b/{urlname}.
pub(crate) async fn show(visit: Visit) -> Response {
    let next = deep_link::lead_on(&visit);
    next.unwrap_or_else(|| respond_with_services(&visit, StatusCode::OK, gone_notice(&visit)))
}

/// Returns the sentence about a link whose choice is not offered; empty for others.
pub(crate) fn gone_notice(visit: &Visit) -> &'static str {
    if visit.params.value(deep_link::GONE).is_some() { visit.text.link_gone } else { "" }
}

/// Returns the page of this step, with the fault of the choice before.
pub(crate) fn respond_with_services(visit: &Visit, status: StatusCode, fault: &str) -> Response {
    if let Some(closed) = find_closed(visit) {
        return closed;
    }
    let choice = visit.choice(&visit.params);
    if choice.lacks_calendar(visit.group()) {
        let step = if choice.services.is_empty() { "" } else { TIME_STEP };
        let (calendars, filter) = filtered_calendars(visit, &choice, step, "");
        let title = visit.text.choose_calendar;
        let fault = fault.to_owned();
        let frame = if fault.is_empty() { visit.frame(title) } else { visit.fault_frame(title) };
        let page = CalendarPage { frame, title, fault, calendars, filter };
        return respond(status, Privacy::Public, render(&page));
    }
    let mut sets = shown_sets(visit, &choice);
    if sets.is_empty() {
        return nothing_offered(visit, &choice);
    }
    let services_max = visit.group().max_multirdvs.number();
    let title =
        if services_max > 1 { visit.text.choose_services } else { visit.text.choose_service };
    let calendar = choice.calendar.and_then(|id| visit.state.catalogue.calendars.get(&id));
    let calendar_choice = Choice { services: Vec::new(), ..choice.clone() };
    let mut kept = calendar_choice.pairs();
    kept.extend(visit.carried_pairs());
    let services: usize = sets.iter().map(|set| set.services.len()).sum();
    let is_long = services > SERVICES_MAX;
    let folds = is_long && sets.len() > 1;
    let filter = is_long.then(|| filter_sets(visit, &mut sets, kept.clone()));
    let page = ServicePage {
        frame: if fault.is_empty() { visit.frame(title) } else { visit.fault_frame(title) },
        title,
        sets,
        services_max,
        up_to: fill(visit.text.up_to, "most", &services_max.to_string()),
        calendar_name: calendar.map_or("", |calendar| calendar.publicname.as_str()),
        change_calendar_url: change_calendar_url(visit, &choice),
        all_services_url: all_services_url(visit, &choice),
        time_url: visit.url("/time", &[]),
        kept,
        fault: fault.to_owned(),
        notice: known_only_notice(visit),
        filter,
        folds,
    };
    respond(status, Privacy::Public, render(&page))
}

fn change_calendar_url(visit: &Visit, choice: &Choice) -> String {
    if visit.frozen().calendar.is_some() {
        return String::new();
    }
    let sets = Choice { calendar: None, services: Vec::new(), ..choice.clone() };
    visit.url("", &sets.pairs())
}

fn all_services_url(visit: &Visit, choice: &Choice) -> String {
    if choice.sets.is_empty() || !visit.frozen().sets.is_empty() {
        return String::new();
    }
    let all = Choice { sets: Vec::new(), services: Vec::new(), ..choice.clone() };
    visit.url("", &all.pairs())
}

/// Returns the calendars to choose from at a step, each with its link. Empty if the group leaves
/// no choice.
pub(crate) fn calendar_options(visit: &Visit, choice: &Choice, step: &str) -> Vec<CalendarOption> {
    let group = visit.group();
    if visit.frozen().calendar.is_some() {
        return Vec::new();
    }
    if !has_calendar_choice(group) {
        return Vec::new();
    }
    let mut options = Vec::new();
    let option = |name: &str, option: Choice| CalendarOption {
        photo: option.calendar.and_then(|id| find_image(&visit.state, ImageSlot::Calendar(id))),
        tagline: tagline_of(visit, option.calendar),
        name: name.to_owned(),
        url: visit.url(step, &option.pairs()),
        is_chosen: option.calendar == choice.calendar,
        is_person: option.calendar.is_some(),
    };
    if group.any_calendar {
        let any = Choice { calendar: None, has_no_preference: true, ..choice.clone() };
        options.push(option(visit.text.no_preference, any));
    }
    let catalogue = &visit.state.catalogue;
    for calendar in shown_calendars(catalogue) {
        let is_in_sets = choice.has_calendar(catalogue, calendar.id);
        if is_in_sets && visit.offers_all(calendar.id, &choice.services) {
            let one = Choice { calendar: Some(calendar.id), ..choice.clone() };
            options.push(option(calendar.publicname.as_str(), one));
        }
    }
    options
}

/// Returns the calendars to choose from, each with a link to a step, and the filter of many on the
/// page of another. A search shows those that it finds, "no preference", and the chosen one.
pub(crate) fn filtered_calendars(
    visit: &Visit,
    choice: &Choice,
    step: &str,
    page: &str,
) -> (Vec<CalendarOption>, Option<ListFilter>) {
    let mut options = calendar_options(visit, choice, step);
    let people = |options: &[CalendarOption]| options.iter().filter(|it| it.is_person).count();
    if people(&options) <= PEOPLE_MAX {
        return (options, None);
    }
    let mut kept = Choice { calendar: None, has_no_preference: false, ..choice.clone() }.pairs();
    if page == TIME_STEP {
        kept = choice.pairs();
    }
    kept.extend(visit.carried_pairs());
    let mut filter = ListFilter::of_people(visit, visit.path_of(page), kept);
    filter.say_found(options.iter().filter(|it| it.is_person && filter.shows(&it.name)).count());
    options.retain(|option| !option.is_person || option.is_chosen || filter.shows(&option.name));
    (options, Some(filter))
}

/// Filters the services of a page by the words of the visitor. Chosen ones stay.
fn filter_sets(
    visit: &Visit,
    sets: &mut Vec<SetView<'_>>,
    kept: Vec<(&'static str, String)>,
) -> ListFilter {
    let mut filter = ListFilter::of_services(visit, visit.path_of(""), kept);
    let mut found = 0;
    for set in &mut *sets {
        set.services.retain(|service| {
            let is_found = filter.shows(&format!("{} {}", service.name, service.description));
            found += usize::from(is_found);
            is_found || service.is_chosen
        });
    }
    sets.retain(|set| !set.services.is_empty());
    filter.say_found(found);
    filter
}

/// Returns the line about a calendar; empty without one.
fn tagline_of(visit: &Visit, calendar: Option<CalendarId>) -> String {
    let calendar = calendar.and_then(|id| visit.state.catalogue.calendars.get(&id));
    calendar.map_or("", |calendar| calendar.tagline.as_str().trim()).to_owned()
}

/// Returns the sets of services that can be chosen, in the order of the group.
fn shown_sets<'v>(visit: &'v Visit, choice: &Choice) -> Vec<SetView<'v>> {
    let catalogue = &visit.state.catalogue;
    let mut sets: Vec<(Option<InterventionsetId>, SetView<'v>)> = Vec::new();
    let mut ordered: Vec<_> = catalogue.interventionsets.values().collect();
    ordered.sort_by_key(|set| (set.sort.number(), set.id));
    for set in ordered {
        let name = set.publicname.as_str();
        let (lang, description) = (visit.shop_lang(), set.description.as_str());
        sets.push((Some(set.id), SetView { name, lang, description, services: Vec::new() }));
    }
    sets.push((None, SetView { name: "", lang: "", description: "", services: Vec::new() }));
    for intervention in shown_interventions(catalogue) {
        let is_in_sets = choice.has_service(catalogue, intervention.id);
        if !is_in_sets || !is_offered(visit, choice, intervention) {
            continue;
        }
        let place = sets.iter_mut().find(|(id, _)| *id == intervention.interventionset_id);
        let (_, set) = place.expect("the set of an intervention exists");
        set.services.push(view_service(visit, choice, intervention));
    }
    let mut shown: Vec<SetView<'v>> = sets.into_iter().map(|(_, set)| set).collect();
    shown.retain(|set| !set.services.is_empty());
    if shown.len() > 1
        && let Some(last) = shown.last_mut()
        && last.name.is_empty()
    {
        last.name = visit.text.other_services;
    }
    shown
}

/// Whether the chosen calendar offers a service, or any calendar without a choice.
fn is_offered(visit: &Visit, choice: &Choice, intervention: &Intervention) -> bool {
    let catalogue = &visit.state.catalogue;
    let offers = |calendar| {
        choice.has_calendar(catalogue, calendar) && visit.offers_all(calendar, &[intervention.id])
    };
    match choice.calendar {
        Some(calendar) => offers(calendar),
        None => shown_calendars(catalogue).iter().any(|calendar| offers(calendar.id)),
    }
}

fn view_service<'v>(
    visit: &'v Visit,
    choice: &Choice,
    intervention: &'v Intervention,
) -> ServiceView<'v> {
    let group = visit.group();
    let currency = if group.display_intervention_price { Some(group.currency_code) } else { None };
    let alone = Choice { services: vec![intervention.id], ..choice.clone() };
    ServiceView {
        id: intervention.id.number(),
        name: intervention.publicname.as_str(),
        description: intervention.description.as_str(),
        facts: service_facts(
            visit.language(),
            intervention,
            group.display_intervention_length,
            currency,
        ),
        url: visit.url("/time", &alone.pairs()),
        is_chosen: choice.services.contains(&intervention.id),
    }
}
