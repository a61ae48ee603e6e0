//! The groups of a document take the place of those of the same ids; all others stay. Contract 11.

use std::collections::{BTreeMap, BTreeSet};

use super::faults::Faults;
use super::{Content, ImportFault};
use crate::domain::directory::{Directory, IdKind, Pro};
use crate::domain::ids::{GroupId, ProId};
use crate::domain::root::Root;

/// The content after `new` has been merged into `existing`, which it was read for. A person whose e-mail is known keeps
/// the known id; a key that is known takes the new label and groups.
///
/// # Errors
/// Ids of the document that belong to groups or persons that stay.
pub fn merge(existing: Content, new: Content) -> Result<Content, Vec<ImportFault>> {
    let mut faults = Faults::default();
    let replaced: BTreeSet<GroupId> = new.roots.iter().map(|root| root.catalogue.group.id).collect();
    let is_replaced = |root: &Root| replaced.contains(&root.catalogue.group.id);
    let (old, staying): (Vec<Root>, Vec<Root>) = existing.roots.into_iter().partition(is_replaced);
    check_ids(&staying, &new.roots, &mut faults);
    let mut directory = existing.directory;
    directory.apikeys.extend(new.directory.apikeys);
    directory.pros = pros(directory.pros, new.directory.pros, &replaced, &mut faults);
    let mut arriving = new.roots;
    for root in &mut arriving {
        claim(&mut directory, root);
        // Ids that the replaced group has used are not used again.
        if let Some(old) = old.iter().find(|old| old.catalogue.group.id == root.catalogue.group.id) {
            root.spent.fiche = root.spent.fiche.max(old.spent.fiche);
            root.spent.vevent = root.spent.vevent.max(old.spent.vevent);
            for kind in IdKind::ALL.into_iter().filter(|kind| !matches!(kind, IdKind::Fiche | IdKind::Vevent)) {
                if old.spent(kind) > root.spent(kind) {
                    root.note_removed(kind, old.spent(kind));
                }
            }
        }
    }
    let mut roots = staying;
    roots.extend(arriving);
    roots.sort_by_key(|root| root.catalogue.group.id);
    faults.none_or(Content { directory, roots })
}

fn claim(directory: &mut Directory, root: &Root) {
    let group = root.catalogue.group.id;
    root.fiches.keys().for_each(|id| directory.claim(IdKind::Fiche, id.number(), group));
    root.rows.keys().for_each(|id| directory.claim(IdKind::Vevent, id.number(), group));
}

/// Refuses ids that both a group that stays and one that arrives have.
fn check_ids(staying: &[Root], arriving: &[Root], faults: &mut Faults) {
    for (index, root) in arriving.iter().enumerate() {
        for other in staying {
            let owner = other.catalogue.group.id;
            let (ours, theirs) = (&root.catalogue, &other.catalogue);
            let mut clash = |section: &str, id: Option<u64>| {
                if let Some(id) = id {
                    let rule = format!("the id {id} belongs to group {owner}, which stays");
                    faults.add(format!("groups[{index}].{section}"), rule);
                }
            };
            let taken = |known: bool, id: u64| known.then_some(id);
            macro_rules! section {
                ($name:ident, $ours:expr, $theirs:expr) => {
                    clash(stringify!($name), $ours.keys().find_map(|id| taken($theirs.contains_key(id), id.number())));
                };
            }
            section!(calendarsets, ours.calendarsets, theirs.calendarsets);
            section!(calendars, ours.calendars, theirs.calendars);
            section!(interventionsets, ours.interventionsets, theirs.interventionsets);
            section!(interventions, ours.interventions, theirs.interventions);
            section!(customfields, ours.customfields, theirs.customfields);
            section!(fiches, root.fiches, other.fiches);
            section!(vevents, root.rows, other.rows);
            if ours.group.urlname == theirs.group.urlname {
                faults.add(format!("groups[{index}].urlname"), format!("belongs to group {owner}, which stays"));
            }
        }
    }
}

/// The persons of both: those known lose the replaced groups, and win those that the document gives them.
fn pros(
    known: BTreeMap<ProId, Pro>,
    new: BTreeMap<ProId, Pro>,
    replaced: &BTreeSet<GroupId>,
    faults: &mut Faults,
) -> BTreeMap<ProId, Pro> {
    let mut by_email: BTreeMap<Box<str>, Pro> = BTreeMap::new();
    for mut pro in known.into_values() {
        pro.groups.retain(|group| !replaced.contains(group));
        by_email.insert(pro.email.folded(), pro);
    }
    for mut pro in new.into_values() {
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
    let mut pros: BTreeMap<ProId, Pro> = BTreeMap::new();
    for mut pro in by_email.into_values() {
        let Some(first) = pro.groups.first().copied() else { continue };
        if !pro.groups.contains(&pro.main) {
            pro.main = first;
        }
        if let Some(other) = pros.insert(pro.id, pro) {
            faults.add("groups", format!("two persons have the id {} among pros", other.id));
        }
    }
    pros
}
