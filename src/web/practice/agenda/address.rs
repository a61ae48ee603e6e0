//! The address of a view of the agenda: `v` the view, `d` a day of it, `c` a calendar.
//! Reference 15.3.

use crate::domain::records::ids::CalendarId;
use crate::domain::time::CivilDay;
use crate::web::format;
use crate::web::month::{first_of_month, monday_of};
use crate::web::practice::typed_start::parse_legal_day;
use crate::web::practice::visit::ProVisit;

/// Days of a list.
pub(crate) const LIST_DAYS: i32 = 7;

/// A view of the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgendaView {
    Day,
    Week,
    Month,
    List,
}

impl AgendaView {
    /// All views, in the order of their links.
    pub(crate) const ALL: [Self; 4] = [Self::Day, Self::Week, Self::Month, Self::List];

    /// The name in URLs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::List => "list",
        }
    }

    /// The key that opens it.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Day => "d",
            Self::Week => "w",
            Self::Month => "m",
            Self::List => "l",
        }
    }
}

/// The address of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AgendaAddress {
    pub(crate) view: AgendaView,
    /// A day of the view.
    pub(crate) day: CivilDay,
    /// The calendar of a week; of other views the only one, or the one that a phone shows first.
    pub(crate) calendar: Option<CalendarId>,
}

/// A parameter of an address that is no day, view or calendar of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressFault {
    Day,
    View,
    Calendar,
}

impl AgendaAddress {
    /// Reads the address of a request. A wrong parameter counts as absent, and is a fault.
    pub(crate) fn read(visit: &ProVisit) -> (Self, Vec<AddressFault>) {
        let params = &visit.request.params;
        let mut faults = Vec::new();
        let mut view = AgendaView::Day;
        if let Some(name) = params.value("v") {
            match AgendaView::ALL.into_iter().find(|view| view.name() == name) {
                Some(named) => view = named,
                None => faults.push(AddressFault::View),
            }
        }
        let today = visit.today();
        // A list is printed on the evening before.
        let mut day = if view == AgendaView::List { today.plus_days(1) } else { today };
        if let Some(text) = params.value("d") {
            match parse_legal_day(text) {
                Some(named) => day = named,
                None => faults.push(AddressFault::Day),
            }
        }
        let mut calendar = None;
        if let Some(text) = params.value("c") {
            let named = text.parse().ok().and_then(CalendarId::new);
            let calendars = &visit.state.catalogue.calendars;
            let sight = visit.sight();
            match named.filter(|id| calendars.contains_key(id) && sight.shows_calendar(*id)) {
                Some(named) => calendar = Some(named),
                None => faults.push(AddressFault::Calendar),
            }
        }
        (Self { view, day, calendar }, faults)
    }

    /// Returns the same view of another day.
    pub(crate) const fn on(self, day: CivilDay) -> Self {
        Self { day, ..self }
    }

    /// Returns another view of the same day and calendar.
    pub(crate) const fn seen_as(self, view: AgendaView) -> Self {
        Self { view, ..self }
    }

    /// Returns the same view of another calendar.
    pub(crate) const fn of_calendar(self, calendar: CalendarId) -> Self {
        Self { calendar: Some(calendar), ..self }
    }

    /// The days of the view: the first, and their number.
    pub(crate) fn days(&self) -> (CivilDay, i32) {
        match self.view {
            AgendaView::Day => (self.day, 1),
            AgendaView::Week => (monday_of(self.day), 7),
            AgendaView::List => (self.day, LIST_DAYS),
            AgendaView::Month => {
                let first = first_of_month(self.day);
                let monday = monday_of(first);
                let next = first_of_month(first.plus_days(31));
                let sunday = monday_of(next.plus_days(-1)).plus_days(6);
                (monday, sunday.0 - monday.0 + 1)
            }
        }
    }

    /// The view before this one.
    pub(crate) fn previous(&self) -> Self {
        match self.view {
            AgendaView::Day => self.on(self.day.plus_days(-1)),
            AgendaView::Week => self.on(self.day.plus_days(-7)),
            AgendaView::List => self.on(self.day.plus_days(-LIST_DAYS)),
            AgendaView::Month => self.on(first_of_month(first_of_month(self.day).plus_days(-1))),
        }
    }

    /// The view after this one.
    pub(crate) fn next(&self) -> Self {
        match self.view {
            AgendaView::Day => self.on(self.day.plus_days(1)),
            AgendaView::Week => self.on(self.day.plus_days(7)),
            AgendaView::List => self.on(self.day.plus_days(LIST_DAYS)),
            AgendaView::Month => self.on(first_of_month(first_of_month(self.day).plus_days(31))),
        }
    }

    /// The URL of the view.
    pub(crate) fn url(&self, visit: &ProVisit) -> String {
        self.url_of(visit, "/agenda", &[])
    }

    /// Returns the URL of a screen that leads back to the view. `step` is its path, and `pairs` are
    /// its own parameters.
    pub(crate) fn url_of(&self, visit: &ProVisit, step: &str, pairs: &[(&str, &str)]) -> String {
        let day = format::iso_day(self.day);
        let calendar = self.calendar.map(|id| id.to_string());
        let mut all = pairs.to_vec();
        all.extend([("v", self.view.name()), ("d", &day)]);
        if let Some(calendar) = &calendar {
            all.push(("c", calendar));
        }
        visit.url(step, &all)
    }
}
