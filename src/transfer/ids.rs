//! Ids of a document: unique per resource over the whole store, and assigned after the highest where none is given.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::domain::identity::directory::{BLOCK, Block, IdKind};
use crate::domain::records::ids::{GroupId, ID_MAX};
use crate::transfer::Content;
use crate::transfer::faults::Faults;
use crate::wire::value;

/// The highest id that a document may give: enough are left above it to go on from for ever.
const GIVEN_MAX: u64 = ID_MAX - (1 << 40);

/// What the store already uses and a document may not.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// The highest id of each resource, by the name of its section.
    highest: BTreeMap<&'static str, u64>,
    /// Whose each `urlname` is.
    pub(super) urlnames: BTreeMap<String, GroupId>,
    /// The groups, which keys may name.
    pub(super) groups: BTreeSet<u64>,
}

impl Taken {
    /// What `content` uses.
    #[must_use]
    pub fn of(content: &Content) -> Self {
        let mut taken = Self::default();
        let mut note = |section, id: Option<u64>| {
            let highest = taken.highest.entry(section).or_default();
            *highest = (*highest).max(id.unwrap_or(0));
        };
        note("pros", content.directory.pros.keys().map(|id| id.number()).max());
        for state in &content.group_states {
            let catalogue = &state.catalogue;
            note("groups", Some(catalogue.group.id.number()));
            note("calendars", catalogue.calendars.keys().map(|id| id.number()).max());
            note("calendarsets", catalogue.calendarsets.keys().map(|id| id.number()).max());
            note("interventions", catalogue.interventions.keys().map(|id| id.number()).max());
            note("interventionsets", catalogue.interventionsets.keys().map(|id| id.number()).max());
            note("customfields", catalogue.customfields.keys().map(|id| id.number()).max());
        }
        // Granted blocks may be in use beyond what is published.
        for ((kind, block), owner) in &content.directory.blocks {
            let section = match (kind, owner) {
                (IdKind::Fiche, _) => "fiches",
                (IdKind::Vevent, _) => "vevents",
                // What an import has numbered is counted above.
                (_, Block::Imported(_)) => continue,
                (IdKind::Calendar, Block::Granted(_)) => "calendars",
                (IdKind::Calendarset, Block::Granted(_)) => "calendarsets",
                (IdKind::Intervention, Block::Granted(_)) => "interventions",
                (IdKind::Interventionset, Block::Granted(_)) => "interventionsets",
                (IdKind::Customfield, Block::Granted(_)) => "customfields",
            };
            note(section, Some((block + 1) * BLOCK - 1));
        }
        for state in &content.group_states {
            let group = &state.catalogue.group;
            taken.urlnames.insert(group.urlname.as_str().to_owned(), group.id);
            taken.groups.insert(state.catalogue.group.id.number());
        }
        taken
    }
}

/// The ids of all resources of a document.
#[derive(Debug)]
pub(super) struct Ids {
    /// The highest id given or assigned, by section.
    highest: BTreeMap<&'static str, u64>,
    /// Those claimed so far, by section.
    claimed: BTreeMap<&'static str, BTreeSet<u64>>,
}

impl Ids {
    pub(super) fn after(taken: &Taken) -> Self {
        Self { highest: taken.highest.clone(), claimed: BTreeMap::new() }
    }

    /// Notes an id that the document gives, before any is assigned.
    pub(super) fn note(&mut self, section: &'static str, given: Option<&Value>) {
        if let Some(Ok(Some(number))) = given.map(value::parse_id) {
            let highest = self.highest.entry(section).or_default();
            *highest = (*highest).max(number);
        }
    }

    /// The id of a row: the one given, or the next free one; `None` where something is wrong with it.
    pub(super) fn claim(
        &mut self,
        section: &'static str,
        row: &Map<String, Value>,
        path: &str,
        faults: &mut Faults,
    ) -> Option<u64> {
        let id = match row.get("id").map_or(Ok(None), value::parse_id) {
            Ok(Some(id)) => id,
            Ok(None) => {
                let highest = self.highest.entry(section).or_default();
                *highest += 1;
                *highest
            }
            Err(illegal) => {
                faults.add(format!("{path}.id"), illegal.0);
                return None;
            }
        };
        if id > GIVEN_MAX {
            faults.add(
                format!("{path}.id"),
                format!("must be at most {GIVEN_MAX}, so that ids are left to be given"),
            );
            return None;
        }
        if !self.claimed.entry(section).or_default().insert(id) {
            faults.add(format!("{path}.id"), format!("{id} stands twice among {section}"));
            return None;
        }
        Some(id)
    }
}
