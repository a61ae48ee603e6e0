//! The way to another appointment of a client. Reference 15.5, 15.9.

use std::sync::Arc;

use crate::domain::records::calendar::Calendar;
use crate::domain::records::ids::FicheId;
use crate::domain::records::vevent::Vevent;
use crate::web::practice::visit::ProVisit;

/// Returns the URL of the form of a new appointment of a client, with the calendar and the service
/// of another one. What was deleted meanwhile is left out, and a calendar on which the professional
/// does not write.
pub(crate) fn book_again_url(visit: &ProVisit, client: FicheId, like: Option<&Vevent>) -> String {
    let catalogue = &visit.state.catalogue;
    let calendar = like.and_then(|row| catalogue.calendars.get(&row.calendar_id));
    let service = like.and_then(|row| catalogue.interventions.get(&row.intervention_id()?));
    let client = client.to_string();
    let is_offered = |it: &&Arc<Calendar>| !it.deleted && visit.role().writes_on(it.id);
    let calendar = calendar.filter(is_offered).map(|it| it.id.to_string());
    let service = service.filter(|it| !it.deleted).map(|it| it.id.to_string());
    let mut pairs = vec![("client", client.as_str())];
    if let Some(calendar) = &calendar {
        pairs.push(("c", calendar));
    }
    if let Some(service) = &service {
        pairs.push(("s", service));
    }
    visit.url("/events/new", &pairs)
}
