//! The fields of a start: calendar, service, day and time. Reference 15.9.
//!
//! An address and a form have the same names for them. A value that is wrong has its sentence at
//! once, one that is missing only when it is needed.

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::records::ids::{CalendarId, InterventionId};
use crate::domain::records::intervention::Intervention;
use crate::domain::time::Civil;
use crate::web::contact_fields::{FieldView, Widget};
use crate::web::format;
use crate::web::practice::texts::event::EventTexts;
use crate::web::practice::texts::new_event::NewEventTexts;
use crate::web::practice::typed_start::{TypedStart, read_start};
use crate::web::practice::visit::ProVisit;
use crate::wire::params::Params;

/// A choice among records of the group.
pub(crate) struct PickList {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) options: Vec<PickOption>,
    /// Whether it begins with no choice.
    pub(crate) can_be_open: bool,
    /// The sentence of a wrong choice; empty without a fault.
    pub(crate) fault: &'static str,
}

/// A record to choose.
pub(crate) struct PickOption {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) facts: String,
    pub(crate) is_chosen: bool,
}

impl PickList {
    fn choose(&mut self, id: u64) {
        for option in &mut self.options {
            option.is_chosen = option.id == id;
        }
    }

    /// The id of the chosen record.
    fn chosen(&self) -> Option<u64> {
        self.options.iter().find(|option| option.is_chosen).map(|option| option.id)
    }

    /// Chooses the record that a text names, or says that there is none.
    fn read(&mut self, text: &str, fault: &'static str) {
        match text.parse().ok().filter(|id| self.options.iter().any(|option| option.id == *id)) {
            Some(id) => self.choose(id),
            None => self.fault = fault,
        }
    }

    /// Says that a choice is needed, unless there is one.
    fn demand(&mut self, fault: &'static str) {
        if self.fault.is_empty() && self.chosen().is_none() {
            self.fault = fault;
        }
    }
}

/// The fields of a start.
pub(crate) struct StartFields {
    pub(crate) calendar: PickList,
    pub(crate) service: PickList,
    pub(crate) day: FieldView,
    pub(crate) time: FieldView,
    /// The start, if day and time are given and right.
    pub(crate) at: Option<Civil>,
}

impl StartFields {
    /// Reads the fields. Without a calendar it is the first, and without a day today.
    pub(crate) fn read(visit: &ProVisit, given: &Params) -> Self {
        let text = EventTexts::in_language(visit.language());
        let mut calendar = calendar_list(visit, text);
        match given.value("c") {
            Some(id) => calendar.read(id, text.bad_calendar),
            None => {
                if let Some(first) = calendar.options.first_mut() {
                    first.is_chosen = true;
                }
            }
        }
        let mut service = service_list(visit);
        match (given.value("s"), &mut service.options[..]) {
            (Some(id), _) => {
                service.read(id, NewEventTexts::in_language(visit.language()).bad_service);
            }
            (None, [only]) => only.is_chosen = true,
            (None, _) => {}
        }
        let mut day = FieldView::new("d", text.day, Widget::Input("date"));
        let mut time = FieldView::new("t", text.time, Widget::Input("time"));
        for field in [&mut day, &mut time] {
            field.is_required = true;
            field.autocomplete = "off";
            field.value = given.value(&field.name).unwrap_or_default().to_owned();
        }
        if !given.iter().any(|(name, _)| name == "d") {
            day.value = format::iso_day(visit.today());
        }
        let TypedStart { at, day_fault, time_fault } = read_start(visit, &day.value, &time.value);
        for (field, fault) in [(&mut day, day_fault), (&mut time, time_fault)] {
            if !field.value.is_empty() {
                field.fault = fault.to_owned();
            }
        }
        Self { calendar, service, day, time, at }
    }

    /// Sets the sentences of fields that are missing.
    pub(crate) fn demand_all(&mut self, visit: &ProVisit) {
        let text = EventTexts::in_language(visit.language());
        self.calendar.demand(text.bad_calendar);
        self.service.demand(NewEventTexts::in_language(visit.language()).bad_service);
        for (field, fault) in [(&mut self.day, text.bad_day), (&mut self.time, text.bad_time)] {
            if field.value.is_empty() {
                field.fault = fault.to_owned();
            }
        }
    }

    pub(crate) fn has_faults(&self) -> bool {
        let texts = [self.calendar.fault, self.service.fault, &self.day.fault, &self.time.fault];
        texts.into_iter().any(|fault| !fault.is_empty())
    }

    pub(crate) fn calendar_id(&self) -> Option<CalendarId> {
        self.calendar.chosen().and_then(CalendarId::new)
    }

    /// The service, if one is chosen.
    pub(crate) fn intervention<'c>(&self, catalogue: &'c Catalogue) -> Option<&'c Intervention> {
        let id = self.service.chosen().and_then(InterventionId::new)?;
        catalogue.interventions.get(&id).map(AsRef::as_ref)
    }
}

fn calendar_list(visit: &ProVisit, text: &EventTexts) -> PickList {
    let options = visit.written_calendars().map(|calendar| PickOption {
        id: calendar.id.number(),
        name: calendar.name.as_str().to_owned(),
        facts: String::new(),
        is_chosen: false,
    });
    PickList {
        name: "c",
        label: text.calendar,
        options: options.collect(),
        can_be_open: false,
        fault: "",
    }
}

/// The live services in their order, with their lengths.
fn service_list(visit: &ProVisit) -> PickList {
    let all = visit.state.catalogue.interventions.values().map(AsRef::as_ref);
    let mut live: Vec<&Intervention> = all.filter(|it| !it.deleted).collect();
    live.sort_by_key(|it| (it.sort, it.id));
    let options = live.into_iter().map(|it| PickOption {
        id: it.id.number(),
        name: it.name.as_str().to_owned(),
        facts: format::length(visit.language(), it.length.number()),
        is_chosen: false,
    });
    PickList {
        name: "s",
        label: EventTexts::in_language(visit.language()).service,
        options: options.collect(),
        can_be_open: true,
        fault: "",
    }
}
