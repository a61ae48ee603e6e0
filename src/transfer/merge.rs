//! The groups of a document take the place of those of the same ids; all others stay. Reference 11.

use std::collections::{BTreeMap, BTreeSet};

use imbl::OrdMap;
use serde_json::Value;

use crate::domain::identity::directory::{Directory, IdKind, Pro};
use crate::domain::messaging::outbox::Outbox;
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::state::group_state::GroupState;
use crate::transfer::document::{Piece, Section, walk};
use crate::transfer::faults::{FAULTS_MAX, Faults};
use crate::transfer::{Content, ImportFault};
use crate::wire::value;

/// The content after `new` has been merged into `existing`, which it was read for out of `document`. A person whose e-mail
/// is known keeps the known id; a key that is known takes the new label and groups.
///
/// # Errors
/// Ids of the document that belong to groups or persons that stay, the first twenty.
pub fn merge(
    existing: Content,
    new: Content,
    document: &[u8],
) -> Result<Content, Vec<ImportFault>> {
    let mut faults = Faults::default();
    let replaced: BTreeSet<GroupId> =
        new.group_states.iter().map(|state| state.catalogue.group.id).collect();
    let is_replaced = |state: &GroupState| replaced.contains(&state.catalogue.group.id);
    let (old, staying): (Vec<GroupState>, Vec<GroupState>) =
        existing.group_states.into_iter().partition(is_replaced);
    let clashes = clashes(&staying, &new.group_states, &mut faults);
    let mut directory = existing.directory;
    directory.apikeys.extend(new.directory.apikeys);
    let (pros, twice) = pros(directory.pros, new.directory.pros, &replaced);
    directory.pros = pros;
    if !clashes.is_empty() || !twice.is_empty() {
        name(document, &clashes, &twice, &mut faults).map_err(|fault| vec![fault])?;
    }
    faults.none_or(())?;
    let mut arriving = new.group_states;
    for state in &mut arriving {
        claim(&mut directory, state);
        // Ids that the replaced group has used are not used again.
        if let Some(old) = old.iter().find(|old| old.catalogue.group.id == state.catalogue.group.id)
        {
            state.highest_ids.fiche = state.highest_ids.fiche.max(old.highest_ids.fiche);
            state.highest_ids.vevent = state.highest_ids.vevent.max(old.highest_ids.vevent);
            state.outbox =
                Outbox::from_messages(Vec::new(), state.outbox.last_id().max(old.outbox.last_id()));
            for kind in IdKind::ALL
                .into_iter()
                .filter(|kind| !matches!(kind, IdKind::Fiche | IdKind::Vevent))
            {
                if old.highest_id(kind) > state.highest_id(kind) {
                    state.record_removed_id(kind, old.highest_id(kind));
                }
            }
        }
    }
    let mut group_states = staying;
    group_states.extend(arriving);
    group_states.sort_by_key(|state| state.catalogue.group.id);
    Ok(Content { directory, group_states })
}

fn claim(directory: &mut Directory, state: &GroupState) {
    let group = state.catalogue.group.id;
    state
        .fiches
        .keys()
        .for_each(|id| directory.claim_imported_id(IdKind::Fiche, id.number(), group));
    state
        .rows
        .keys()
        .for_each(|id| directory.claim_imported_id(IdKind::Vevent, id.number(), group));
}

/// Ids of the document that are taken: each by the place of its group, its section, and what is wrong with it.
type Clashes = BTreeMap<(usize, &'static str, u64), String>;

/// The ids that both a group that stays and one that arrives have.
fn clashes(staying: &[GroupState], arriving: &[GroupState], faults: &mut Faults) -> Clashes {
    let mut clashes = Clashes::new();
    for (index, state) in arriving.iter().enumerate() {
        for other in staying {
            let owner = other.catalogue.group.id;
            let (ours, theirs) = (&state.catalogue, &other.catalogue);
            macro_rules! section {
                ($name:ident, $ours:expr, $theirs:expr) => {
                    for id in $ours.keys().filter(|id| $theirs.contains_key(*id)).take(FAULTS_MAX) {
                        let rule = format!("the id {id} belongs to group {owner}, which stays");
                        clashes.insert((index, stringify!($name), id.number()), rule);
                    }
                };
            }
            section!(calendarsets, ours.calendarsets, theirs.calendarsets);
            section!(calendars, ours.calendars, theirs.calendars);
            section!(interventionsets, ours.interventionsets, theirs.interventionsets);
            section!(interventions, ours.interventions, theirs.interventions);
            section!(customfields, ours.customfields, theirs.customfields);
            section!(fiches, state.fiches, other.fiches);
            section!(vevents, state.rows, other.rows);
            if ours.group.urlname == theirs.group.urlname {
                faults.add(
                    format!("groups[{index}].urlname"),
                    format!("belongs to group {owner}, which stays"),
                );
            }
        }
    }
    clashes
}

/// Names the rows whose ids are taken, or are those of two `persons`. An id that clashes was given, since those that the
/// import assigns are free.
fn name(
    document: &[u8],
    clashes: &Clashes,
    persons: &BTreeSet<u64>,
    faults: &mut Faults,
) -> Result<(), ImportFault> {
    let mut look = |group: usize, section: &str, index: usize, row: &Value| {
        let Some(Ok(Some(id))) = row.get("id").map(value::id) else { return };
        let rule = match section {
            "pros" => {
                persons.contains(&id).then(|| format!("the id {id} belongs to a person who stays"))
            }
            _ => clashes.get(&(group, section, id)).cloned(),
        };
        if let Some(rule) = rule {
            faults.add(format!("groups[{group}].{section}[{index}].id"), rule);
        }
    };
    walk(document, None, &mut |piece| {
        if let Piece::Field(group, section, Value::Array(rows)) = piece {
            rows.iter().enumerate().for_each(|(index, row)| look(group, &section, index, row));
        }
    })?;
    for section in [Section::Fiches, Section::Vevents] {
        if clashes.keys().any(|(_, name, _)| *name == section.name()) {
            walk(document, Some(section), &mut |piece| {
                if let Piece::Row(group, index, row) = piece {
                    look(group, section.name(), index, &row);
                }
            })?;
        }
    }
    Ok(())
}

/// The persons of both, and the ids that two of them have. Those known lose the replaced groups, and win those that the
/// document gives them.
fn pros(
    known: OrdMap<ProId, Pro>,
    new: OrdMap<ProId, Pro>,
    replaced: &BTreeSet<GroupId>,
) -> (OrdMap<ProId, Pro>, BTreeSet<u64>) {
    let mut by_email: BTreeMap<Box<str>, Pro> = BTreeMap::new();
    for (_, mut pro) in known {
        pro.groups.retain(|group| !replaced.contains(group));
        by_email.insert(pro.email.folded(), pro);
    }
    for (_, mut pro) in new {
        if let Some(known) = by_email.get(&pro.email.folded()) {
            pro.id = known.id;
            pro.groups.extend(&known.groups);
            pro.groups.sort_unstable();
            if !replaced.contains(&known.main) {
                pro.main = known.main;
            }
        }
        by_email.insert(pro.email.folded(), pro);
    }
    let (mut pros, mut twice) = (OrdMap::new(), BTreeSet::new());
    for mut pro in by_email.into_values() {
        let Some(first) = pro.groups.first().copied() else { continue };
        if !pro.groups.contains(&pro.main) {
            pro.main = first;
        }
        if let Some(other) = pros.insert(pro.id, pro) {
            twice.insert(other.id.number());
        }
    }
    (pros, twice)
}
