//! The fields of the form of a new appointment, as they were typed. Reference 15.9.

use serde_json::{Map, Value};

use crate::domain::records::customfield::Model;
use crate::domain::records::fault::Fault;
use crate::domain::time::{Civil, Instant, MINUTE};
use crate::web::contact_fields::{FieldView, Widget};
use crate::web::practice::explained::{ExplainedObstacle, ExplainedSlot};
use crate::web::practice::new_event::client_part::{ClientPart, required_attributes};
use crate::web::practice::new_event::sending::FORM_KEY;
use crate::web::practice::record_fields::{filled_in, place_faults, wire_value};
use crate::web::practice::start_fields::StartFields;
use crate::web::practice::texts::event::EventTexts;
use crate::web::practice::texts::field_labels::vevent_label;
use crate::web::practice::texts::form::FormTexts;
use crate::web::practice::texts::new_event::NewEventTexts;
use crate::web::practice::typed_start::read_start;
use crate::web::practice::visit::ProVisit;
use crate::web::you_step::is_form_key;
use crate::wire::datetime::{format_civil, format_rfc_3339};
use crate::wire::params::Params;

/// The form and what is said about it.
pub(crate) struct NewEventForm {
    /// Whether it was sent, so that its faults are listed.
    is_sent: bool,
    pub(crate) form_key: String,
    pub(crate) start: StartFields,
    /// The end on the day of the start; empty for the length of the service.
    pub(crate) end: FieldView,
    pub(crate) client: ClientPart,
    /// Comments and required attributes of the appointment.
    pub(crate) details: Vec<FieldView>,
    pub(crate) seen: String,
    pub(crate) warnings: Vec<ExplainedObstacle>,
    pub(crate) taken: Vec<ExplainedObstacle>,
    pub(crate) explanation: Option<Vec<ExplainedObstacle>>,
    pub(crate) others: Vec<String>,
    pub(crate) made_before: String,
}

/// A fault in the list above the form.
pub(crate) struct FaultLine {
    /// The element of its field.
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) fault: String,
}

/// The button that sends a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Press {
    Save,
    Search,
    /// A client among those that were found.
    PickClient,
    OtherClient,
    Explain,
}

/// The element that has the focus, so that the form is filled in by keys alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    Nowhere,
    Search,
    /// The first client that was found.
    Found,
    Service,
}

/// The time that an appointment is to take.
pub(crate) struct EventTarget {
    pub(crate) slot: ExplainedSlot,
    start: Civil,
}

impl EventTarget {
    fn end(&self) -> Instant {
        self.slot.interval().end
    }

    /// The target as the second press of a form names it.
    pub(crate) fn mark(&self) -> String {
        let end = format_rfc_3339(self.end());
        let ExplainedSlot { calendar, service, .. } = self.slot;
        format!("{} {end} {calendar} {service}", format_civil(self.start))
    }
}

impl NewEventForm {
    /// The form of an address. With a service the address has no end.
    pub(crate) fn of_address(visit: &ProVisit) -> Self {
        let given = &visit.request.params;
        let mut form = Self::read(visit, given, visit.request.pages.new_form_key());
        if given.value("s").is_some() {
            form.end.value.clear();
            form.end.fault.clear();
        }
        form
    }

    /// The form that was sent.
    pub(crate) fn sent(visit: &ProVisit, given: &Params) -> Self {
        let form_key = given.value(FORM_KEY).filter(|key| is_form_key(key));
        let form_key = form_key.map(ToOwned::to_owned);
        let form_key = form_key.unwrap_or_else(|| visit.request.pages.new_form_key());
        Self { is_sent: true, ..Self::read(visit, given, form_key) }
    }

    fn read(visit: &ProVisit, given: &Params, form_key: String) -> Self {
        let text = NewEventTexts::in_language(visit.language());
        let start = StartFields::read(visit, given);
        let mut end = FieldView::new("to", text.end, Widget::Input("time"));
        end.autocomplete = "off";
        end.hint = text.end_hint;
        end.value = given.value("to").unwrap_or_default().to_owned();
        if !end.value.is_empty() {
            end.fault = read_start(visit, &start.day.value, &end.value).time_fault.to_owned();
        }
        Self {
            is_sent: false,
            form_key,
            end,
            client: ClientPart::read(visit, given),
            details: filled_in(&blank_details(visit), given),
            start,
            seen: String::new(),
            warnings: Vec::new(),
            taken: Vec::new(),
            explanation: None,
            others: Vec::new(),
            made_before: String::new(),
        }
    }

    /// The button that was pressed. Enter in the field of a search searches.
    pub(crate) fn press(&self, given: &Params) -> Press {
        let is_pressed = |name: &str| given.iter().any(|(given, _)| given == name);
        let waits_for_client = self.client.chosen.is_none() && !self.client.is_new_given();
        if is_pressed("find") {
            Press::Search
        } else if is_pressed("other") {
            Press::OtherClient
        } else if is_pressed("explain") {
            Press::Explain
        } else if is_pressed("pick") {
            Press::PickClient
        } else if waits_for_client && !self.client.search.is_empty() {
            Press::Search
        } else {
            Press::Save
        }
    }

    /// The element to fill in next.
    pub(crate) fn focus(&self) -> Focus {
        let found = self.client.found.as_ref();
        if self.explanation.is_some() {
            Focus::Nowhere
        } else if self.client.chosen.is_some() {
            Focus::Service
        } else if found.is_some_and(|found| !found.clients.is_empty()) {
            Focus::Found
        } else {
            Focus::Search
        }
    }

    /// Returns the time to take. `None` if a field is wrong or missing, which then says so.
    pub(crate) fn target(&mut self, visit: &ProVisit) -> Option<EventTarget> {
        self.start.demand_all(visit);
        let zone = visit.zone();
        let service = self.start.intervention(&visit.state.catalogue);
        let from = self.start.at.map(|at| zone.instant_of(at));
        let mut length_seconds = service.map(|it| it.length.number() * MINUTE);
        if !self.end.value.is_empty()
            && let Some(from) = from
            && let Some(end) = read_start(visit, &self.start.day.value, &self.end.value).at
        {
            let length = zone.instant_of(end).seconds_since(from);
            if length > 0 {
                length_seconds = Some(length);
            } else {
                let text = NewEventTexts::in_language(visit.language());
                self.end.fault = text.end_before_start.to_owned();
            }
        }
        if self.start.has_faults() || !self.end.fault.is_empty() {
            return None;
        }
        let slot = ExplainedSlot {
            calendar: self.start.calendar_id()?,
            service: service?.id,
            start: from?,
            length_seconds: length_seconds?,
        };
        Some(EventTarget { slot, start: self.start.at? })
    }

    /// Returns the appointment as the body of a request has it, without its client.
    pub(crate) fn object(&self, visit: &ProVisit, target: &EventTarget) -> Map<String, Value> {
        let mut object = Map::new();
        let mut insert = |name: &str, value: Value| object.insert(name.to_owned(), value);
        insert("calendar_id", target.slot.calendar.number().into());
        insert("intervention_id", target.slot.service.number().into());
        insert("start", format_civil(target.start).into());
        // An instant, since the clocks may be put back before the end.
        insert("end", format_rfc_3339(target.end()).into());
        insert("taker", visit.creator().as_str().into());
        for field in &self.details {
            if !field.value.is_empty() || field.is_checkbox() {
                insert(&field.name, wire_value(field));
            }
        }
        object
    }

    /// Sets the sentence of each fault of the appointment at its field.
    pub(crate) fn place(&mut self, visit: &ProVisit, faults: &[Fault]) {
        let text = FormTexts::in_language(visit.language());
        let event_text = EventTexts::in_language(visit.language());
        let mut rest = Vec::new();
        for fault in faults {
            match fault.field.as_str() {
                "start" | "date" => self.start.time.fault = event_text.bad_time.to_owned(),
                "end" => self.end.fault = event_text.bad_time.to_owned(),
                "calendar_id" => self.start.calendar.fault = event_text.bad_calendar,
                "intervention_id" => {
                    let text = NewEventTexts::in_language(visit.language());
                    self.start.service.fault = text.bad_service;
                }
                "fiche_id" => {
                    let text = NewEventTexts::in_language(visit.language());
                    self.client.fault = text.client_deleted;
                    self.client.chosen = None;
                }
                _ => rest.push(fault.clone()),
            }
        }
        self.others = place_faults(&mut self.details, &rest, text);
    }

    pub(crate) fn has_faults(&self) -> bool {
        self.start.has_faults()
            || !self.end.fault.is_empty()
            || self.client.has_faults()
            || self.details.iter().any(|field| !field.fault.is_empty())
    }

    /// The faults in the order of the form.
    pub(crate) fn fault_lines(&self, visit: &ProVisit) -> Vec<FaultLine> {
        let text = NewEventTexts::in_language(visit.language());
        let mut lines = Vec::new();
        if !self.is_sent {
            return lines;
        }
        let mut push = |id: String, label: &str, fault: &str| {
            if !fault.is_empty() {
                lines.push(FaultLine { id, label: label.to_owned(), fault: fault.to_owned() });
            }
        };
        push("search".to_owned(), text.client, self.client.fault);
        for field in &self.client.fields {
            push(field.id(), &field.label, &field.fault);
        }
        for list in [&self.start.calendar, &self.start.service] {
            push(list.name.to_owned(), list.label, list.fault);
        }
        for field in [&self.start.day, &self.start.time, &self.end].into_iter().chain(&self.details)
        {
            push(field.id(), &field.label, &field.fault);
        }
        lines
    }
}

/// The comments, and the attributes that professionals have to give.
fn blank_details(visit: &ProVisit) -> Vec<FieldView> {
    let mut fields: Vec<FieldView> = ["comments", "internal_comments"]
        .into_iter()
        .map(|name| FieldView::new(name, vevent_label(name, visit.language()), Widget::LongText))
        .collect();
    fields.extend(required_attributes(visit, Model::Vevent));
    fields
}
