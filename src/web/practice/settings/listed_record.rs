//! The kinds of records that the settings list.

use std::sync::Arc;

use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::Customfield;
use crate::domain::records::ids::{CalendarId, InterventionId, RecordId as _, VeventId};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::http::resources::crud::{DeletableRecord, Deletion};
use crate::web::practice::frame::Section;
use crate::web::practice::settings::fields::field_text::FieldText;
use crate::web::practice::settings::fields::{calendar, customfield, intervention};
use crate::web::practice::settings::part::Part;
use crate::web::practice::texts::settings::SettingsTexts;
use crate::wire::field::Scope;

/// A kind of record that the settings list.
pub(crate) trait SettingsRecord: DeletableRecord {
    const PART: Part;

    /// The words of its fields.
    fn words() -> &'static [FieldText];

    /// The title of the form that makes one.
    fn new_title(text: &SettingsTexts) -> &'static str;

    /// The name on the screens of the practice; empty if it has none.
    fn own_name(&self) -> String;

    /// Its number.
    fn number(&self) -> u64;

    /// Returns the live appointments with it that end after a moment, by start.
    fn booked(_state: &GroupState, _id: Self::Id, _after: Instant) -> Vec<VeventId> {
        Vec::new()
    }

    /// The path of the screen of its opening hours below `/p/<urlname>`; `None` if it has none.
    fn hours_path(_id: Self::Id) -> Option<String> {
        None
    }

    /// Whether its lists have an order that the practice chooses.
    fn is_sorted() -> bool {
        Self::table().field("sort").is_some()
    }

    /// Whether a deleted one can be restored.
    fn can_be_restored() -> bool {
        matches!(Self::DELETION, Deletion::Marks(_))
    }
}

/// Returns the live records in the order of lists, and the deleted ones.
pub(crate) fn in_order<R: SettingsRecord>(state: &Arc<GroupState>) -> (Vec<&R>, Vec<&R>) {
    let scope = Scope::for_group(state);
    let mut all: Vec<&R> = R::all(state).collect();
    all.sort_by(|a, b| (R::table().order)(a, b, &scope).then(a.number().cmp(&b.number())));
    all.into_iter().partition(|record| !R::is_left_out(record))
}

impl SettingsRecord for Calendar {
    const PART: Part = Part::Calendars;

    fn words() -> &'static [FieldText] {
        calendar::CALENDAR
    }

    fn new_title(text: &SettingsTexts) -> &'static str {
        text.new_calendar
    }

    fn own_name(&self) -> String {
        self.name.as_str().to_owned()
    }

    fn number(&self) -> u64 {
        self.id.to_number()
    }

    fn hours_path(id: CalendarId) -> Option<String> {
        Some(format!("{}/{id}", Section::Hours.path()))
    }

    fn booked(state: &GroupState, id: CalendarId, after: Instant) -> Vec<VeventId> {
        let Some(view) = state.calendars.get(&id) else { return Vec::new() };
        view.taken().ending_after(after).map(|taken| taken.id).collect()
    }
}

impl SettingsRecord for Calendarset {
    const PART: Part = Part::Calendarsets;

    fn words() -> &'static [FieldText] {
        calendar::CALENDARSET
    }

    fn new_title(text: &SettingsTexts) -> &'static str {
        text.new_calendarset
    }

    fn own_name(&self) -> String {
        self.name.as_str().to_owned()
    }

    fn number(&self) -> u64 {
        self.id.to_number()
    }
}

impl SettingsRecord for Intervention {
    const PART: Part = Part::Interventions;

    fn words() -> &'static [FieldText] {
        intervention::INTERVENTION
    }

    fn new_title(text: &SettingsTexts) -> &'static str {
        text.new_intervention
    }

    fn own_name(&self) -> String {
        self.name.as_str().to_owned()
    }

    fn number(&self) -> u64 {
        self.id.to_number()
    }

    fn booked(state: &GroupState, id: InterventionId, after: Instant) -> Vec<VeventId> {
        let is_booked = |row: VeventId| {
            let row = state.rows.get(&row).and_then(|row| row.appointment());
            row.is_some_and(|appointment| appointment.intervention_id == id)
        };
        let mut found = Vec::new();
        for view in state.calendars.values() {
            for taken in view.taken().ending_after(after) {
                if is_booked(taken.id) {
                    found.push((taken.interval.start, taken.id));
                }
            }
        }
        found.sort_unstable();
        found.into_iter().map(|(_, id)| id).collect()
    }
}

impl SettingsRecord for Interventionset {
    const PART: Part = Part::Interventionsets;

    fn words() -> &'static [FieldText] {
        intervention::INTERVENTIONSET
    }

    fn new_title(text: &SettingsTexts) -> &'static str {
        text.new_interventionset
    }

    fn own_name(&self) -> String {
        self.name.as_str().to_owned()
    }

    fn number(&self) -> u64 {
        self.id.to_number()
    }
}

impl SettingsRecord for Customfield {
    const PART: Part = Part::Customfields;

    fn words() -> &'static [FieldText] {
        customfield::CUSTOMFIELD
    }

    fn new_title(text: &SettingsTexts) -> &'static str {
        text.new_customfield
    }

    fn own_name(&self) -> String {
        let label = if self.pro_label.is_blank() { &self.user_label } else { &self.pro_label };
        format!("{} {}", self.name, label.as_str()).trim().to_owned()
    }

    fn number(&self) -> u64 {
        self.id.to_number()
    }
}
