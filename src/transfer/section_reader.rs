//! Reader of the short lists of one group: sets, calendars, interventions and customised
//! attributes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::availability::catalogue::Catalogue;
use crate::domain::records::calendar::{Calendar, Calendarset};
use crate::domain::records::customfield::{CustomName, Customfield, Model};
use crate::domain::records::group::Group;
use crate::domain::records::ids::{
    CalendarId, CalendarsetId, CustomfieldId, InterventionId, InterventionsetId,
};
use crate::domain::records::intervention::{Intervention, Interventionset};
use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;
use crate::transfer::faults::ImportFaults;
use crate::transfer::ids::IdAllocator;
use crate::transfer::rows::{collect_objects, parse_stamps};
use crate::wire::calendar::{CALENDAR, CALENDARSET};
use crate::wire::customfield::CUSTOMFIELD;
use crate::wire::field::{Audience, ColumnValue, Scope, Table};
use crate::wire::intervention::{INTERVENTION, INTERVENTIONSET};
use crate::wire::value;

/// Reads the short lists of one group.
pub(crate) struct SectionReader<'a> {
    /// The group's object in the document.
    pub(crate) fields: &'a Map<String, Value>,
    pub(crate) path: &'a str,
    pub(crate) now: Instant,
    pub(crate) ids: &'a mut IdAllocator,
    pub(crate) faults: &'a mut ImportFaults,
}

impl SectionReader<'_> {
    /// Reads the group's catalogue. A section that others refer to is read before them.
    pub(crate) fn read_catalogue(&mut self, group: Group) -> Catalogue {
        let mut state = GroupState::new(Catalogue::new(group));
        let now = self.now;
        macro_rules! section {
            ($name:ident, $table:expr, $id:ident, $record:ident) => {
                let rows = self.read_rows(stringify!($name), &state, $table, |id| {
                    $id::new(id).map(|id| $record::new(id, now))
                });
                let mut catalogue = Catalogue::clone(&state.catalogue);
                for (_, row) in rows {
                    catalogue.$name.insert(row.id, Arc::new(row));
                }
                state.catalogue = catalogue.into();
            };
        }
        section!(calendarsets, &CALENDARSET, CalendarsetId, Calendarset);
        section!(calendars, &CALENDAR, CalendarId, Calendar);
        section!(interventionsets, &INTERVENTIONSET, InterventionsetId, Interventionset);
        section!(interventions, &INTERVENTION, InterventionId, Intervention);
        let str0 = CustomName::new("str0").expect("a custom name");
        let customfields = self.read_rows("customfields", &state, &CUSTOMFIELD, |id| {
            CustomfieldId::new(id).map(|id| Customfield::new(id, Model::Fiche, str0, now))
        });
        self.check_definitions(&customfields);
        let mut catalogue = Catalogue::clone(&state.catalogue);
        for (_, row) in customfields {
            catalogue.customfields.insert(row.id, Arc::new(row));
        }
        catalogue
    }

    /// Reads the rows of a section, each with its path. `blank` makes the record of an id.
    fn read_rows<R: 'static>(
        &mut self,
        section: &'static str,
        state: &GroupState,
        table: &Table<R>,
        blank: impl Fn(u64) -> Option<R>,
    ) -> Vec<(String, R)> {
        let scope = Scope::for_group(state);
        let section_path = format!("{}.{section}", self.path);
        let mut rows = Vec::new();
        let mut last_sort = 0;
        for (path, object) in collect_objects(self.fields.get(section), &section_path, self.faults)
        {
            let mut object = object.clone();
            // A row without `sort` comes after the highest so far.
            if table.field("sort").is_some() && object.get("sort").is_none_or(value::is_empty) {
                object.insert("sort".into(), (last_sort + 1).into());
            }
            let id = self.ids.claim(section, &object, &path, self.faults);
            let parsed = table.parse_new(&object, &scope, Audience::Store);
            let Some(patch) = self.faults.keep(&path, parsed) else { continue };
            let Some(mut row) = id.and_then(&blank) else { continue };
            parse_stamps(table, &object, &scope, self.now, &path, self.faults);
            patch.apply_to(&mut row);
            if let Some(field) = table.field("sort")
                && let ColumnValue::Integer(sort) = field.read_value(&row, &scope)
            {
                last_sort = last_sort.max(sort);
            }
            rows.push((path, row));
        }
        rows
    }

    /// Refuses two definitions of one name for the same model.
    fn check_definitions(&mut self, rows: &[(String, Customfield)]) {
        let mut defined: BTreeMap<(Model, CustomName), &str> = BTreeMap::new();
        for (path, row) in rows {
            if row.deleted {
                continue;
            }
            let first = *defined.entry((row.model, row.name)).or_insert(path);
            if first != path {
                let rule =
                    format!("{} of {} is defined by {first} already", row.name, row.model.name());
                self.faults.add(format!("{path}.name"), rule);
            }
        }
    }
}
