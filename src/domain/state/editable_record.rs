//! The kinds of records that a professional makes and changes, with their rules. Reference 12.

use std::fmt;

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::records::calendar::{Calendar, Calendarset, SortOrder};
use crate::domain::records::customfield::{CustomName, Customfield, Model};
use crate::domain::records::fault::Fault;
use crate::domain::records::fiche::Fiche;
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, CustomfieldId, FicheId, InterventionId, InterventionsetId, RecordId,
};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::text::Name;
use crate::domain::state::event::Event;
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;

/// A kind of record that a professional makes and changes.
pub trait EditableRecord: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The type of its ids.
    type Id: RecordId;

    /// The kind of its ids.
    const KIND: IdKind;

    /// Finds a record, deleted or not.
    fn find(state: &GroupState, id: Self::Id) -> Option<&Self>;

    /// All records, ascending by id.
    fn all(state: &GroupState) -> impl ExactSizeIterator<Item = &Self>;

    /// Makes a new record with the defaults.
    fn blank(state: &GroupState, id: Self::Id, at: Instant) -> Self;

    /// Returns the faults of a record in the group's present state. `before` is the record before
    /// the change; `None` for a new one. A fault that `before` has already may stay.
    fn faults(&self, before: Option<&Self>, state: &GroupState) -> Vec<Fault>;

    /// Records a change decided at `now` under the stamp `at`.
    fn touch(&mut self, before: Option<&Self>, at: Instant, now: Instant);

    /// Makes the event that stores the record.
    fn into_event(self, at: Instant) -> Event;
}

impl EditableRecord for Fiche {
    type Id = FicheId;
    const KIND: IdKind = IdKind::Fiche;

    fn find(state: &GroupState, id: FicheId) -> Option<&Self> {
        state.fiches.get(&id).map(AsRef::as_ref)
    }

    fn all(state: &GroupState) -> impl ExactSizeIterator<Item = &Self> {
        state.fiches.values().map(AsRef::as_ref)
    }

    fn blank(_: &GroupState, id: FicheId, at: Instant) -> Self {
        Self::new(id, at)
    }

    fn faults(&self, before: Option<&Self>, state: &GroupState) -> Vec<Fault> {
        let is_nameless = |fiche: &Self| fiche.lastname.is_blank() && fiche.firstname.is_blank();
        if let Some(rule) = before.and_then(Self::final_rule) {
            return vec![Fault::new("id", rule)];
        }
        let mut faults = Vec::new();
        if is_nameless(self) && !before.is_some_and(is_nameless) {
            faults.push(Fault::new("lastname", "a client needs a last or first name"));
        }
        if before.is_none() {
            for name in state.catalogue.required_customfields(Model::Fiche, true) {
                if self.customs.value(name).is_none() {
                    faults.push(Fault::new(name.to_string(), "this attribute is required"));
                }
            }
        }
        faults
    }

    fn touch(&mut self, before: Option<&Self>, at: Instant, now: Instant) {
        self.record_change(before, at, now);
    }

    fn into_event(self, at: Instant) -> Event {
        Event::FichePut { at, fiche: Box::new(self) }
    }
}

/// The items of [`EditableRecord`] that all rows of the catalogue have in common.
macro_rules! catalogue_row {
    ($record:ident, $id:ident, $rows:ident, $event:ident) => {
        type Id = $id;
        const KIND: IdKind = IdKind::$record;

        fn find(state: &GroupState, id: $id) -> Option<&Self> {
            state.catalogue.$rows.get(&id).map(AsRef::as_ref)
        }

        fn all(state: &GroupState) -> impl ExactSizeIterator<Item = &Self> {
            state.catalogue.$rows.values().map(AsRef::as_ref)
        }

        fn touch(&mut self, _: Option<&Self>, at: Instant, _: Instant) {
            self.updated_at = at;
        }

        fn into_event(self, at: Instant) -> Event {
            Event::$event { at, row: Box::new(self) }
        }
    };
}

/// The item of [`EditableRecord`] that rows with a display order have in common.
macro_rules! sorted_row {
    ($id:ident) => {
        fn blank(state: &GroupState, id: $id, at: Instant) -> Self {
            let sort = next_sort_order(Self::all(state).map(|row| row.sort));
            Self { sort, ..Self::new(id, at) }
        }
    };
}

impl EditableRecord for Calendar {
    catalogue_row!(Calendar, CalendarId, calendars, CalendarPut);
    sorted_row!(CalendarId);

    fn faults(&self, before: Option<&Self>, state: &GroupState) -> Vec<Fault> {
        let mut faults = Vec::new();
        faults.extend(name_fault(&self.name, before.map(|before| &before.name)));
        if let Some(set) = self.calendarset_id
            && !state.catalogue.calendarsets.contains_key(&set)
        {
            let rule = "must be the id of one of the group's calendarsets";
            faults.push(Fault::new("calendarset_id", rule));
        }
        faults
    }
}

impl EditableRecord for Calendarset {
    catalogue_row!(Calendarset, CalendarsetId, calendarsets, CalendarsetPut);
    sorted_row!(CalendarsetId);

    fn faults(&self, before: Option<&Self>, _: &GroupState) -> Vec<Fault> {
        name_fault(&self.name, before.map(|before| &before.name)).into_iter().collect()
    }
}

impl EditableRecord for Intervention {
    catalogue_row!(Intervention, InterventionId, interventions, InterventionPut);
    sorted_row!(InterventionId);

    fn faults(&self, before: Option<&Self>, state: &GroupState) -> Vec<Fault> {
        let mut faults = Vec::new();
        faults.extend(name_fault(&self.name, before.map(|before| &before.name)));
        if let Some(set) = self.interventionset_id
            && !state.catalogue.interventionsets.contains_key(&set)
        {
            let rule = "must be the id of one of the group's interventionsets";
            faults.push(Fault::new("interventionset_id", rule));
        }
        faults
    }
}

impl EditableRecord for Interventionset {
    catalogue_row!(Interventionset, InterventionsetId, interventionsets, InterventionsetPut);
    sorted_row!(InterventionsetId);

    fn faults(&self, before: Option<&Self>, _: &GroupState) -> Vec<Fault> {
        name_fault(&self.name, before.map(|before| &before.name)).into_iter().collect()
    }
}

impl EditableRecord for Customfield {
    catalogue_row!(Customfield, CustomfieldId, customfields, CustomfieldPut);

    fn blank(_: &GroupState, id: CustomfieldId, at: Instant) -> Self {
        // Placeholders: a request for a new definition must give both the model and the name.
        let name = CustomName::new("str0").expect("a custom name");
        Self::new(id, Model::Fiche, name, at)
    }

    fn faults(&self, before: Option<&Self>, state: &GroupState) -> Vec<Fault> {
        let mut faults = Vec::new();
        if let Some(before) = before {
            let rule = "an attribute keeps its model and its name";
            if before.model != self.model {
                faults.push(Fault::new("model", rule));
            }
            if before.name != self.name {
                faults.push(Fault::new("name", rule));
            }
        }
        if let Some(other) = live_namesake(self, &state.catalogue) {
            faults.push(Fault::new("name", format!("is defined already, by {}", other.id)));
        }
        faults
    }
}

/// The other live definition of the same attribute, if there is one.
fn live_namesake<'c>(field: &Customfield, catalogue: &'c Catalogue) -> Option<&'c Customfield> {
    let other = catalogue.customfield(field.model, field.name)?;
    if field.deleted || other.id == field.id {
        return None;
    }
    Some(other)
}

/// The fault of a blank name, unless the name was blank before.
fn name_fault<const MAX: usize>(name: &Name<MAX>, before: Option<&Name<MAX>>) -> Option<Fault> {
    if !name.is_blank() || before.is_some_and(Name::is_blank) {
        return None;
    }
    Some(Fault::new("name", "must not be blank"))
}

/// The display order after the last, at least 1.
fn next_sort_order(sorts: impl Iterator<Item = SortOrder>) -> SortOrder {
    let last = sorts.max().map_or(0, SortOrder::number).max(0);
    SortOrder::new(last + 1).unwrap_or(const { SortOrder::known(2_147_483_647) })
}
