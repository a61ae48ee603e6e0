//! The live calendars that a professional writes on as the choices of a form.

use crate::domain::records::ids::CalendarId;
use crate::web::practice::visit::ProVisit;

/// A calendar to choose.
pub(crate) struct ListedCalendar {
    pub(crate) id: CalendarId,
    pub(crate) name: String,
    pub(crate) is_chosen: bool,
}

/// Returns the live calendars that the professional writes on, in their order. None is chosen.
pub(crate) fn list_calendars(visit: &ProVisit) -> Vec<ListedCalendar> {
    let calendars = visit.written_calendars();
    let listed =
        |id: CalendarId, name: &str| ListedCalendar { id, name: name.to_owned(), is_chosen: false };
    calendars.map(|calendar| listed(calendar.id, calendar.name.as_str())).collect()
}
