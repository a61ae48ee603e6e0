//! The changes of settings that an event makes, for the history. Reference 16.

use std::sync::Arc;

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::Customfield;
use crate::domain::records::group::Group;
use crate::domain::records::ids::{CalendarsetId, InterventionsetId};
use crate::domain::records::image::ImageSlot;
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::records::text::LongText;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::group_state::observed::{FieldChanges, verb_of};
use crate::domain::state::history::ObservedChange;
use crate::domain::state::history::row::{HistoryField, HistoryObject, HistoryVerb, ObjectKind};
use crate::domain::state::history::settings::{KeptRecord, SettingsChange, Versions};
use crate::domain::time::Instant;

impl GroupState {
    pub(super) fn observe_group(&self, after: &Group) -> ObservedChange {
        let before = &self.catalogue.group;
        let object = HistoryObject::of_group(after.id);
        observe(object, HistoryVerb::Changed, Some(before), Some(after), SettingsChange::Group)
    }

    /// Returns the change of an image, of which the history keeps the name alone.
    pub(super) fn observe_image(&self, slot: ImageSlot) -> ObservedChange {
        let group = HistoryObject::of_group(self.catalogue.group.id);
        let (object, field) = match slot {
            ImageSlot::Logo => (group, HistoryField::Logo),
            ImageSlot::Cover => (group, HistoryField::Cover),
            ImageSlot::Calendar(id) => {
                let calendar = HistoryObject { kind: ObjectKind::Calendar, id: id.number() };
                (calendar, HistoryField::Photo)
            }
        };
        let fields = FieldChanges::default().named(field, true).0;
        ObservedChange { object, verb: HistoryVerb::Changed, fields, settings: None }
    }

    pub(super) fn observe_calendar(&self, after: &Calendar) -> ObservedChange {
        let before = self.catalogue.calendars.get(&after.id).map(AsRef::as_ref);
        let verb = verb_of(before.map(|row| row.deleted), after.deleted);
        calendar_change(verb, before, after)
    }

    pub(super) fn observe_calendarset(&self, after: &Calendarset) -> ObservedChange {
        let before = self.catalogue.calendarsets.get(&after.id).map(AsRef::as_ref);
        let object = HistoryObject { kind: ObjectKind::Calendarset, id: after.id.number() };
        let verb = verb_of(before.map(|_| false), false);
        observe(object, verb, before, Some(after), SettingsChange::Calendarset)
    }

    pub(super) fn observe_intervention(&self, after: &Intervention) -> ObservedChange {
        let before = self.catalogue.interventions.get(&after.id).map(AsRef::as_ref);
        let verb = verb_of(before.map(|row| row.deleted), after.deleted);
        intervention_change(verb, before, after)
    }

    pub(super) fn observe_interventionset(&self, after: &Interventionset) -> ObservedChange {
        let before = self.catalogue.interventionsets.get(&after.id).map(AsRef::as_ref);
        let object = HistoryObject { kind: ObjectKind::Interventionset, id: after.id.number() };
        let verb = verb_of(before.map(|_| false), false);
        observe(object, verb, before, Some(after), SettingsChange::Interventionset)
    }

    pub(super) fn observe_customfield(&self, after: &Customfield) -> ObservedChange {
        let before = self.catalogue.customfields.get(&after.id).map(AsRef::as_ref);
        let object = HistoryObject { kind: ObjectKind::Customfield, id: after.id.number() };
        let verb = verb_of(before.map(|row| row.deleted), after.deleted);
        observe(object, verb, before, Some(after), SettingsChange::Customfield)
    }

    /// Returns the removal of a set, and the changes of the calendars in it.
    pub(super) fn observe_calendarset_removal(
        &self,
        id: CalendarsetId,
        at: Instant,
    ) -> Vec<ObservedChange> {
        let before = self.catalogue.calendarsets.get(&id).map(AsRef::as_ref);
        let object = HistoryObject { kind: ObjectKind::Calendarset, id: id.number() };
        let verb = HistoryVerb::Removed;
        let mut changes = vec![observe(object, verb, before, None, SettingsChange::Calendarset)];
        let mut next = Catalogue::clone(&self.catalogue);
        next.remove_calendarset(id, at);
        for (id, after) in &next.calendars {
            let before = &self.catalogue.calendars[id];
            if !Arc::ptr_eq(before, after) {
                changes.push(calendar_change(HistoryVerb::Changed, Some(before), after));
            }
        }
        changes
    }

    /// Returns the removal of a set, and the changes of the interventions in it.
    pub(super) fn observe_interventionset_removal(
        &self,
        id: InterventionsetId,
        at: Instant,
    ) -> Vec<ObservedChange> {
        let before = self.catalogue.interventionsets.get(&id).map(AsRef::as_ref);
        let object = HistoryObject { kind: ObjectKind::Interventionset, id: id.number() };
        let verb = HistoryVerb::Removed;
        let removal = observe(object, verb, before, None, SettingsChange::Interventionset);
        let mut changes = vec![removal];
        let mut next = Catalogue::clone(&self.catalogue);
        next.remove_interventionset(id, at);
        for (id, after) in &next.interventions {
            let before = &self.catalogue.interventions[id];
            if !Arc::ptr_eq(before, after) {
                changes.push(intervention_change(HistoryVerb::Changed, Some(before), after));
            }
        }
        changes
    }
}

fn calendar_change(
    verb: HistoryVerb,
    before: Option<&Calendar>,
    after: &Calendar,
) -> ObservedChange {
    let object = HistoryObject { kind: ObjectKind::Calendar, id: after.id.number() };
    observe(object, verb, before, Some(after), SettingsChange::Calendar)
}

fn intervention_change(
    verb: HistoryVerb,
    before: Option<&Intervention>,
    after: &Intervention,
) -> ObservedChange {
    let object = HistoryObject { kind: ObjectKind::Intervention, id: after.id.number() };
    observe(object, verb, before, Some(after), SettingsChange::Intervention)
}

/// Returns the change of a record of settings. Of its long text it has the name alone.
pub(super) fn observe<R: KeptRecord>(
    object: HistoryObject,
    verb: HistoryVerb,
    before: Option<&R>,
    after: Option<&R>,
    wrap: fn(Versions<R>) -> SettingsChange,
) -> ObservedChange {
    let (before, text_before) = without_long_text(before);
    let (after, text_after) = without_long_text(after);
    let mut fields = FieldChanges::default();
    if let Some(field) = R::LONG_TEXT {
        fields = fields.named(field, text_before != text_after);
    }
    let settings = Some(wrap(Versions { before, after }));
    ObservedChange { object, verb, fields: fields.0, settings }
}

fn without_long_text<R: KeptRecord>(record: Option<&R>) -> (Option<Arc<R>>, LongText) {
    match record {
        Some(record) => {
            let mut kept = record.clone();
            let text = kept.take_long_text();
            (Some(Arc::new(kept)), text)
        }
        None => (None, LongText::default()),
    }
}
