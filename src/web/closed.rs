//! Reasons why a page offers nothing to book, as the first step names them. Reference 14.2.

use axum::response::Response;

use crate::domain::availability::module_offer::{shown_calendars, shown_interventions};
use crate::domain::decisions::book::check_page_permission;
use crate::domain::records::channel::Channel;
use crate::web::choice::Choice;
use crate::web::message_page;
use crate::web::reason_text::Reasons;
use crate::web::shop::Visit;
use crate::web::text::fill;

/// Returns the page of a group that takes no bookings from the public here: it says why.
pub(crate) fn find_closed(visit: &Visit) -> Option<Response> {
    find_reason(visit).map(|reason| closed_page(visit, reason, false))
}

/// Returns the page of a group that offers no service, or none with the chosen calendar.
pub(crate) fn nothing_offered(visit: &Visit, choice: &Choice) -> Response {
    let reasons = Reasons::in_language(visit.language());
    match chosen_calendar(visit, choice) {
        Some(name) => {
            let reason = fill(reasons.not_offered_with, "calendar", name);
            closed_page(visit, &reason, true)
        }
        None => closed_page(visit, reasons.no_service, false),
    }
}

/// Returns the reason why no calendar offers the chosen services, with the telephone number; `None`
/// if one does.
pub(crate) fn find_unoffered(visit: &Visit, choice: &Choice) -> Option<String> {
    let services = &choice.services;
    let is_offered = match choice.calendar {
        Some(calendar) => visit.offers_all(calendar, services),
        None => {
            let shown = shown_calendars(&visit.state.catalogue);
            shown.iter().any(|calendar| {
                choice.has_calendar(&visit.state.catalogue, calendar.id)
                    && visit.offers_all(calendar.id, services)
            })
        }
    };
    if is_offered {
        return None;
    }
    let reasons = Reasons::in_language(visit.language());
    let reason = match (chosen_calendar(visit, choice), services.len()) {
        (Some(name), _) => fill(reasons.not_offered_with, "calendar", name),
        (None, 1) => reasons.not_offered.to_owned(),
        (None, _) => reasons.not_offered_together.to_owned(),
    };
    Some(message_page::lines_with_call(visit, reason).join(" "))
}

/// Returns the sentence of a group that takes bookings of known clients only, with the telephone
/// number for others; empty for other groups.
pub(crate) fn known_only_notice(visit: &Visit) -> String {
    if visit.group().open {
        return String::new();
    }
    let reason = Reasons::in_language(visit.language()).known_only.to_owned();
    message_page::lines_with_call(visit, reason).join(" ")
}

fn find_reason(visit: &Visit) -> Option<&'static str> {
    let catalogue = &visit.state.catalogue;
    let reasons = Reasons::in_language(visit.language());
    if catalogue.group.inactive {
        return Some(reasons.suspended);
    }
    if check_page_permission(catalogue).is_err() {
        return Some(reasons.accounts_only);
    }
    if !visit.can_send_code() {
        return match visit.code_channel() {
            Some(Channel::Sms) => Some(reasons.no_sms),
            Some(Channel::Mail) | None => Some(reasons.no_mail),
        };
    }
    if shown_calendars(catalogue).is_empty() {
        return Some(reasons.no_calendar);
    }
    if shown_interventions(catalogue).is_empty() {
        return Some(reasons.no_service);
    }
    visit.frozen().is_gone.then_some(visit.text.link_gone_frozen)
}

fn closed_page(visit: &Visit, reason: &str, has_way_back: bool) -> Response {
    message_page::with_call(visit, visit.text.closed, reason.to_owned(), has_way_back)
}

/// Returns the public name of the chosen calendar.
fn chosen_calendar<'v>(visit: &'v Visit, choice: &Choice) -> Option<&'v str> {
    let calendar = visit.state.catalogue.calendars.get(&choice.calendar?)?;
    Some(calendar.publicname.as_str())
}
