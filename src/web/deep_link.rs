//! Links of sites to the booking pages, with the names that the older booking module understood.
//! The answer leads to the first step that is not decided yet, with short names. Reference 14.7.

use std::collections::BTreeMap;

use axum::response::Response;

use crate::domain::availability::slot_request::BookingMode;
use crate::domain::records::group::Usercolors;
use crate::domain::records::ids::{CalendarId, CalendarsetId, InterventionId, InterventionsetId};
use crate::domain::records::text::{Colour, Email, LongText, Text};
use crate::web::choice::{Choice, offers_calendars, offers_set, parse_id};
use crate::web::contact_fields::{FieldView, form_fields};
use crate::web::format::{parse_day, parse_start};
use crate::web::list_filter::SERVICE_FILTER;
use crate::web::page::redirect;
use crate::web::preset::{Frozen, Preset};
use crate::web::shop::Visit;
use crate::wire::params::Params;

/// Names that only links of sites have. Those with parts in brackets follow in [`is_of_link`].
const NAMES: [&str; 6] = ["calendar_id", "freeze", "comments", "nologo", "nofooter", "websource"];
/// Names of lists and objects, which have brackets behind them.
const NAMES_WITH_PARTS: [&str; 5] =
    ["intervention_ids", "interventionset_ids", "calendarset_ids", "fiche", "colors"];
/// The parameter of a step that says that something in the link is not offered.
pub(crate) const GONE: &str = "gone";
/// The parameter of the first step with which a client goes back to it.
pub(crate) const EDIT: &str = "edit";

/// Returns the response that leads a visit of the first step to the one that is not decided yet;
/// `None` if it is this one.
pub(crate) fn lead_on(visit: &Visit) -> Option<Response> {
    if visit.params.iter().any(|(name, _)| is_of_link(visit, name)) {
        return Some(follow(visit));
    }
    let choice = visit.choice(&visit.params);
    let frozen = visit.preset.as_ref().is_some_and(|preset| !preset.frozen.services.is_empty());
    let mut names = visit.params.iter().map(|(name, _)| name);
    let stays = names.any(|name| name == EDIT || name == SERVICE_FILTER);
    if (stays && !frozen) || !is_time_next(visit, &choice) {
        return None;
    }
    Some(redirect(&visit.url("/time", &choice.pairs())))
}

/// Whether services and, where it comes first, the calendar are decided.
fn is_time_next(visit: &Visit, choice: &Choice) -> bool {
    let chain = visit.state.catalogue.chain(&choice.services, BookingMode::Module);
    let is_decided = !choice.services.is_empty() && !choice.names_unknown_service && chain.is_ok();
    is_decided && !choice.lacks_calendar(visit.group())
}

/// Whether a name is one of a link of a site.
fn is_of_link(visit: &Visit, name: &str) -> bool {
    let stem = name.split('[').next().unwrap_or(name);
    NAMES.contains(&name)
        || NAMES_WITH_PARTS.contains(&stem)
        || form_fields(visit, &Params::default()).iter().any(|field| field.name == name)
}

/// Returns the response to a link of a site.
fn follow(visit: &Visit) -> Response {
    let link = &visit.params;
    let mut found = FoundChoice::read(visit, link);
    found.drop_calendar_without_services(visit);
    let FoundChoice { choice, gone } = found;
    let frozen = frozen_choices(link, &choice, gone);
    let preset = Preset {
        websource: websource(link),
        colours: colours(link),
        is_preview: visit.is_preview(),
        hides_logo: is_set(link, "nologo"),
        hides_footer: is_set(link, "nofooter"),
        frozen,
        ..Preset::default()
    };
    let preset = preset.fitting(details(visit, link));
    let mut pairs = choice.pairs();
    if gone.is_any() && !preset.frozen.is_gone {
        pairs.push((GONE, "1".to_owned()));
    }
    let step = if is_time_next(visit, &choice) { "/time" } else { "" };
    redirect(&visit.sealing(preset).url(step, &pairs))
}

/// The choices that a link names and that have something the group does not offer here: foreign,
/// deleted, hidden or invented ids.
#[derive(Clone, Copy, Debug, Default)]
struct GoneChoices {
    services: bool,
    calendar: bool,
    sets: bool,
    calendarsets: bool,
}

impl GoneChoices {
    const fn is_any(self) -> bool {
        self.services || self.calendar || self.sets || self.calendarsets
    }
}

/// The choices of a link that the group offers.
struct FoundChoice {
    choice: Choice,
    gone: GoneChoices,
}

impl FoundChoice {
    /// Reads the long names of a link, and the short ones.
    fn read(visit: &Visit, link: &Params) -> Self {
        let catalogue = &visit.state.catalogue;
        let mut choice = Choice::read(link, &visit.state);
        let mut gone =
            GoneChoices { services: choice.names_unknown_service, ..GoneChoices::default() };
        choice.names_unknown_service = false;
        if let Some(text) = link.value("calendar_id") {
            let id = parse_id(text).and_then(CalendarId::new);
            choice.calendar = id.filter(|id| catalogue.calendar_hidden(*id).is_none());
            gone.calendar = choice.calendar.is_none();
        }
        let services = link.list("intervention_ids");
        if !services.is_empty() {
            choice.services.clear();
        }
        let most = usize::try_from(visit.group().max_multirdvs.number()).expect("at most 100");
        for text in &services {
            let id = parse_id(text).and_then(InterventionId::new);
            match id.filter(|id| catalogue.intervention_hidden(*id).is_none()) {
                // One more than allowed is enough to say so.
                Some(id) if choice.services.len() <= most => choice.services.push(id),
                Some(_) => {}
                None => gone.services = true,
            }
        }
        for text in link.list("interventionset_ids") {
            let id = parse_id(text).and_then(InterventionsetId::new);
            match id.filter(|id| offers_set(catalogue, *id)) {
                Some(id) if !choice.sets.contains(&id) => choice.sets.push(id),
                Some(_) => {}
                None => gone.sets = true,
            }
        }
        for text in link.list("calendarset_ids") {
            let id = parse_id(text).and_then(CalendarsetId::new);
            match id.filter(|id| offers_calendars(catalogue, *id)) {
                Some(id) if !choice.calendarsets.contains(&id) => choice.calendarsets.push(id),
                Some(_) => {}
                None => gone.calendarsets = true,
            }
        }
        choice.keep_to_sets(catalogue);
        choice.keep_to_calendarsets(catalogue);
        Self { choice, gone }
    }

    /// Gives up a calendar that does not offer the chosen services.
    fn drop_calendar_without_services(&mut self, visit: &Visit) {
        let Self { choice, gone } = self;
        if let Some(calendar) = choice.calendar
            && !choice.services.is_empty()
            && !visit.offers_all(calendar, &choice.services)
        {
            choice.calendar = None;
            gone.calendar = true;
        }
    }
}

/// Returns the choices that a link freezes: those that `freeze` names, or with 1 all.
fn frozen_choices(link: &Params, choice: &Choice, gone: GoneChoices) -> Frozen {
    let named: Vec<&str> = link.list("freeze");
    let is_frozen = |name: &str| named.iter().any(|given| *given == name || *given == "1");
    let mut frozen = Frozen::default();
    if is_frozen("interventions") {
        frozen.services.clone_from(&choice.services);
        frozen.is_gone |= gone.services;
    }
    if is_frozen("calendars") {
        frozen.calendar = choice.calendar;
        frozen.is_gone |= gone.calendar;
    }
    if is_frozen("interventionsets") {
        frozen.sets.clone_from(&choice.sets);
        frozen.is_gone |= gone.sets;
    }
    if is_frozen("calendarsets") {
        frozen.calendarsets.clone_from(&choice.calendarsets);
        frozen.is_gone |= gone.calendarsets;
    }
    frozen
}

/// Whether a flag of a link is set.
fn is_set(link: &Params, name: &str) -> bool {
    link.value(name).is_some_and(|value| matches!(value, "1" | "true"))
}

/// Returns the origin of the booking; empty if the link names none, or one of a wrong form.
fn websource(link: &Params) -> String {
    let given = link.value("websource").unwrap_or_default();
    Text::<255>::new(given).map_or_else(|_| String::new(), |text| text.as_str().to_owned())
}

/// Returns the colours of a link by their keys in `usercolors`. The older module took them without
/// `#` too.
fn colours(link: &Params) -> BTreeMap<String, String> {
    let mut colours = BTreeMap::new();
    for key in Usercolors::KEYS {
        let Some(given) = link.value(&format!("colors[{key}]")) else { continue };
        let digits = given.strip_prefix('#').unwrap_or(given);
        if let Ok(colour) = Colour::new(&format!("#{digits}")) {
            colours.insert(key.to_owned(), colour.as_str().to_ascii_lowercase());
        }
    }
    colours
}

/// Returns the values of a link for the fields of the form, in their order.
fn details(visit: &Visit, link: &Params) -> Vec<(String, String)> {
    let mut details = Vec::new();
    for field in form_fields(visit, &Params::default()) {
        let name = match field.name.strip_prefix("fiche.") {
            Some(part) => format!("fiche[{part}]"),
            None => field.name.clone(),
        };
        if let Some(value) = link.value(&name).and_then(|value| value_of(&field, value)) {
            details.push((field.name, value));
        }
    }
    details
}

/// Returns a value as the form has it; `None` if it is of a wrong form for the field.
fn value_of(field: &FieldView, given: &str) -> Option<String> {
    if field.is_select() {
        return field.options.iter().find(|option| *option == given).cloned();
    }
    if field.is_checkbox() {
        return matches!(given, "1" | "true").then(|| "1".to_owned());
    }
    let is_right = match field.input_type() {
        // A date may be followed by a time, as in the API.
        "date" => {
            let day = given.get(..10)?;
            let rest = given.get(10..)?;
            let is_day =
                parse_day(day).is_some() && (rest.is_empty() || rest.starts_with([' ', 'T']));
            return is_day.then(|| day.to_owned());
        }
        "datetime-local" => parse_start(given).is_some(),
        "email" => Email::new(given).is_ok(),
        "number" => given.parse::<f64>().is_ok_and(f64::is_finite),
        "tel" => given.bytes().any(|byte| byte.is_ascii_digit()),
        _ => true,
    };
    let is_short = field.chars_max == 0 || given.chars().count() <= field.chars_max;
    let is_plain = field.is_long_text() || !given.chars().any(char::is_control);
    let is_kept = is_right && is_short && is_plain && LongText::new(given).is_ok();
    is_kept.then(|| given.to_owned())
}
