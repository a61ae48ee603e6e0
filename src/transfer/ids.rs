//! Ids of a document: unique per resource over the whole store. A row without an id gets the next
//! one after the highest. Reference 11.2.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use strum::IntoEnumIterator as _;

use crate::domain::directory::id_blocks::{BLOCK, Block, IdKind};
use crate::domain::records::ids::{GroupId, ID_MAX};
use crate::domain::state::group_state::GroupState;
use crate::transfer::StoreContent;
use crate::transfer::faults::ImportFaults;
use crate::wire::value;

/// Highest id that a document may give. The ids above it are left for new records.
pub(crate) const GIVEN_MAX: u64 = ID_MAX - (1 << 40);

/// Returns the section of a group that holds the rows of a kind.
pub(crate) const fn section_name(kind: IdKind) -> &'static str {
    match kind {
        IdKind::Fiche => "fiches",
        IdKind::Vevent => "vevents",
        IdKind::Calendar => "calendars",
        IdKind::Calendarset => "calendarsets",
        IdKind::Intervention => "interventions",
        IdKind::Interventionset => "interventionsets",
        IdKind::Customfield => "customfields",
    }
}

/// Records that ids of a kind up to `highest` were used, so that they are not assigned again.
pub(crate) fn record_highest_id(state: &mut GroupState, kind: IdKind, highest: u64) {
    match kind {
        IdKind::Fiche => state.highest_ids.fiche = state.highest_ids.fiche.max(highest),
        IdKind::Vevent => state.highest_ids.vevent = state.highest_ids.vevent.max(highest),
        IdKind::Calendar
        | IdKind::Calendarset
        | IdKind::Intervention
        | IdKind::Interventionset
        | IdKind::Customfield => {
            if highest > state.highest_id(kind) {
                state.record_removed_id(kind, highest);
            }
        }
    }
}

/// Ids and names that the store already uses and a document must not.
#[derive(Clone, Debug, Default)]
pub struct UsedIds {
    /// The highest id of each resource, by the name of its section.
    highest: BTreeMap<&'static str, u64>,
    /// Owner of each `urlname`.
    pub(crate) urlnames: BTreeMap<String, GroupId>,
    /// The groups, which keys may name.
    pub(crate) groups: BTreeSet<u64>,
}

impl UsedIds {
    /// Collects the ids and names that `content` uses.
    pub fn from_content(content: &StoreContent) -> Self {
        let mut used = Self::default();
        // Ids of removed professionals count too.
        used.note("pros", content.directory.pros.last_id());
        for state in &content.group_states {
            used.note_group(state);
        }
        // Ids of granted blocks may be in use before they are published.
        for ((kind, block), owner) in content.directory.blocks.iter() {
            match (kind, owner) {
                (IdKind::Fiche | IdKind::Vevent, _) | (_, Block::Granted(_)) => {
                    used.note(section_name(*kind), (block + 1) * BLOCK - 1);
                }
                // The rows of an import are counted above.
                (_, Block::Imported(_)) => {}
            }
        }
        used
    }

    fn note_group(&mut self, state: &GroupState) {
        let group = &state.catalogue.group;
        self.note("groups", group.id.number());
        // Ids of removed rows count too.
        for kind in IdKind::iter() {
            self.note(section_name(kind), state.highest_id(kind));
        }
        self.urlnames.insert(group.urlname.as_str().to_owned(), group.id);
        self.groups.insert(group.id.number());
    }

    fn note(&mut self, section: &'static str, id: u64) {
        let highest = self.highest.entry(section).or_default();
        *highest = (*highest).max(id);
    }
}

/// Allocator of the ids of a document.
#[derive(Debug)]
pub(crate) struct IdAllocator {
    /// The highest id given or assigned, by section.
    highest: BTreeMap<&'static str, u64>,
    /// Ids claimed so far, by section.
    claimed: BTreeMap<&'static str, BTreeSet<u64>>,
}

impl IdAllocator {
    /// Makes an allocator that assigns ids after those in `used_ids`.
    pub(crate) fn after(used_ids: &UsedIds) -> Self {
        Self { highest: used_ids.highest.clone(), claimed: BTreeMap::new() }
    }

    /// Notes an id that the document gives, before any is assigned. One that is too high is a fault
    /// where it stands, and not one of the ids after it.
    pub(crate) fn note(&mut self, section: &'static str, given: Option<&Value>) {
        if let Some(Ok(Some(number))) = given.map(value::parse_id)
            && number <= GIVEN_MAX
        {
            let highest = self.highest.entry(section).or_default();
            *highest = (*highest).max(number);
        }
    }

    /// Claims the id of a row: the given one, or the next free one. Returns `None` after adding a
    /// fault.
    pub(crate) fn claim(
        &mut self,
        section: &'static str,
        row: &Map<String, Value>,
        path: &str,
        faults: &mut ImportFaults,
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
                format!("must be at most {GIVEN_MAX}, so that ids are left for new records"),
            );
            return None;
        }
        if !self.claimed.entry(section).or_default().insert(id) {
            let rule = format!("{id} appears twice among {section}: give each row its own id");
            faults.add(format!("{path}.id"), rule);
            return None;
        }
        Some(id)
    }
}
