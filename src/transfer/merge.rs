//! Merge: the groups of a document replace those with the same ids; all others stay. Reference
//! 11.1.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use strum::IntoEnumIterator as _;

use crate::domain::directory::Directory;
use crate::domain::directory::id_blocks::IdKind;
use crate::domain::directory::professionals::{Pro, Professionals};
use crate::domain::directory::roles::Roles;
use crate::domain::records::author::Author;
use crate::domain::records::ids::GroupId;
use crate::domain::records::message::Message;
use crate::domain::state::group_state::GroupState;
use crate::domain::state::outbox::Outbox;
use crate::planted_faults::PlantedFault;
use crate::transfer::document::{DocumentPart, RowSection, walk_document};
use crate::transfer::faults::{FAULTS_MAX, ImportFaults};
use crate::transfer::ids::record_highest_id;
use crate::transfer::{ImportFault, StoreContent};
use crate::wire::value;

/// Merges `new`, the content of `document`, into `existing`. A professional whose e-mail exists
/// keeps the existing id. An existing key takes the new label and groups.
///
/// # Errors
///
/// Ids of the document that belong to groups or professionals that stay, the first twenty.
pub fn merge_content(
    existing: StoreContent,
    new: StoreContent,
    document: &[u8],
) -> Result<StoreContent, Vec<ImportFault>> {
    let mut faults = ImportFaults::default();
    let replaced = new.group_ids();
    let is_replaced = |state: &GroupState| replaced.contains(&state.catalogue.group.id);
    let (old, staying): (Vec<GroupState>, Vec<GroupState>) =
        existing.group_states.into_iter().partition(is_replaced);
    let conflicts = find_conflicts(&staying, &new.group_states, &mut faults);
    let mut directory = existing.directory;
    directory.apikeys.extend(new.directory.apikeys.iter().map(|(hash, key)| (*hash, key.clone())));
    let (pros, duplicates) = merge_pros(&directory.pros, &new.directory.pros, &replaced);
    directory.roles = merge_roles(&directory.roles, &new.directory, &pros, &replaced);
    directory.replace_pros(pros);
    for group in &replaced {
        directory.invitations.remove_group(*group);
    }
    if !conflicts.is_empty() || !duplicates.is_empty() {
        report_conflicts(document, &conflicts, &duplicates, &mut faults)
            .map_err(|fault| vec![fault])?;
    }
    faults.check_none()?;
    let mut arriving = new.group_states;
    for state in &mut arriving {
        state.claim_ids(&mut directory);
        let id = state.catalogue.group.id;
        if let Some(replaced) = old.iter().find(|old| old.catalogue.group.id == id) {
            if !PlantedFault::SpentIdsGivenAgain.is_active() {
                keep_spent_ids(state, replaced);
            }
            state.outbox = merge_messages(&state.outbox, &replaced.outbox);
            state.history = replaced.history.clone();
            // Their links end: an id of the document may name another calendar.
            state.calendarfeeds = replaced.calendarfeeds.without_rows();
            state.last_stamp = state.last_stamp.max(replaced.last_stamp);
            state.record_begin(Author::Operator);
            state.webhooks = replaced.webhooks.clone();
        }
    }
    let mut group_states = staying;
    group_states.extend(arriving);
    group_states.sort_by_key(|state| state.catalogue.group.id);
    Ok(StoreContent { directory, group_states })
}

/// Prevents that ids of the replaced group are assigned again.
fn keep_spent_ids(state: &mut GroupState, replaced: &GroupState) {
    for kind in IdKind::iter() {
        record_highest_id(state, kind, replaced.highest_id(kind));
    }
}

/// Merges the messages of a group: those of the document, of which the replaced group may know that
/// they are settled. The document may be older than that group, and nothing is sent twice.
fn merge_messages(arriving: &Outbox, replaced: &Outbox) -> Outbox {
    let mut messages = Vec::with_capacity(arriving.messages().len());
    for message in arriving.messages() {
        messages.push(match replaced.message(message.id) {
            Some(known) if is_settled_meanwhile(message, known) => Arc::clone(known),
            _ => Arc::clone(message),
        });
    }
    Outbox::from_messages(messages, arriving.last_id().max(replaced.last_id()))
}

/// Whether `known` is the same message as the open `message`, and settled. The number alone does
/// not identify a message: both groups may have given it since they parted.
fn is_settled_meanwhile(message: &Message, known: &Message) -> bool {
    message.is_open() && !known.is_open() && message.created_at == known.created_at
}

/// Rules broken by used ids, by index of the group, section and id.
type IdConflicts = BTreeMap<(usize, &'static str, u64), String>;

/// Finds the ids that both a staying and an arriving group have.
fn find_conflicts(
    staying: &[GroupState],
    arriving: &[GroupState],
    faults: &mut ImportFaults,
) -> IdConflicts {
    let mut conflicts = IdConflicts::new();
    for (index, state) in arriving.iter().enumerate() {
        for other in staying {
            let owner = other.catalogue.group.id;
            let arriving = &state.catalogue;
            let staying = &other.catalogue;
            macro_rules! section {
                ($name:ident, $arriving:expr, $staying:expr) => {
                    for id in
                        $arriving.keys().filter(|id| $staying.contains_key(*id)).take(FAULTS_MAX)
                    {
                        let rule = format!("the id {id} belongs to group {owner}, which stays");
                        conflicts.insert((index, stringify!($name), id.number()), rule);
                    }
                };
            }
            section!(calendarsets, arriving.calendarsets, staying.calendarsets);
            section!(calendars, arriving.calendars, staying.calendars);
            section!(interventionsets, arriving.interventionsets, staying.interventionsets);
            section!(interventions, arriving.interventions, staying.interventions);
            section!(customfields, arriving.customfields, staying.customfields);
            section!(fiches, state.fiches, other.fiches);
            section!(vevents, state.rows, other.rows);
            if arriving.group.urlname == staying.group.urlname {
                faults.add(
                    format!("groups[{index}].urlname"),
                    format!("belongs to group {owner}, which stays"),
                );
            }
        }
    }
    conflicts
}

/// Reports the rows whose ids conflict, or that two `professionals` have. Such ids were given by
/// the document, since assigned ids are free.
fn report_conflicts(
    document: &[u8],
    conflicts: &IdConflicts,
    professionals: &BTreeSet<u64>,
    faults: &mut ImportFaults,
) -> Result<(), ImportFault> {
    let mut look = |group: usize, section: &str, index: usize, row: &Value| {
        let Some(Ok(Some(id))) = row.get("id").map(value::parse_id) else { return };
        let rule = match section {
            "pros" => professionals
                .contains(&id)
                .then(|| format!("the id {id} belongs to a professional who stays")),
            _ => conflicts.get(&(group, section, id)).cloned(),
        };
        if let Some(rule) = rule {
            faults.add(format!("groups[{group}].{section}[{index}].id"), rule);
        }
    };
    walk_document(document, None, &mut |piece| {
        if let DocumentPart::Field(group, section, Value::Array(rows)) = piece {
            rows.iter().enumerate().for_each(|(index, row)| look(group, &section, index, row));
        }
    })?;
    for section in [RowSection::Fiches, RowSection::Vevents] {
        if conflicts.keys().any(|(_, name, _)| *name == section.name()) {
            walk_document(document, Some(section), &mut |piece| {
                if let DocumentPart::Row(group, index, row) = piece {
                    look(group, section.name(), index, &row);
                }
            })?;
        }
    }
    Ok(())
}

/// Merges the roles: those in the replaced groups are the document's. A professional may have got
/// another id, which its address tells.
fn merge_roles(
    known: &Roles,
    new: &Directory,
    merged: &Professionals,
    replaced: &BTreeSet<GroupId>,
) -> Roles {
    let mut roles = Roles::default();
    for ((group, pro), role) in known.iter() {
        if !replaced.contains(&group) && merged.contains_key(&pro) {
            roles.set(group, pro, role.clone());
        }
    }
    for ((group, pro), role) in new.roles.iter() {
        let email = new.pros.get(&pro).map(|pro| pro.email.folded());
        if let Some(pro) = email.and_then(|email| merged.find_by_email(&email)) {
            roles.set(group, pro.id, role.clone());
        }
    }
    roles
}

/// Merges the professionals. Returns them with the ids that two of them have. Known ones lose the
/// replaced groups, and gain the groups that the document gives them.
fn merge_pros(
    known: &Professionals,
    new: &Professionals,
    replaced: &BTreeSet<GroupId>,
) -> (Professionals, BTreeSet<u64>) {
    let mut by_email: BTreeMap<Box<str>, Pro> = BTreeMap::new();
    for mut pro in known.values().cloned() {
        pro.groups.retain(|group| !replaced.contains(group));
        by_email.insert(pro.email.folded(), pro);
    }
    for mut pro in new.values().cloned() {
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
    let mut pros = Professionals::default();
    let mut duplicates = BTreeSet::new();
    for mut pro in by_email.into_values() {
        let Some(first) = pro.groups.first().copied() else { continue };
        if !pro.groups.contains(&pro.main) {
            pro.main = first;
        }
        if let Some(other) = pros.insert(pro.id, pro) {
            duplicates.insert(other.id.number());
        }
    }
    (pros, duplicates)
}
