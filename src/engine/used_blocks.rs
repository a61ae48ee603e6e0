//! The blocks of the ids that groups use, so that the directory grants none of them to another
//! group. Reference 3.

use std::collections::BTreeSet;

use imbl::ordmap::DiffItem;
use strum::IntoEnumIterator as _;

use crate::domain::directory::id_blocks::{BLOCK, IdBlocks, IdKind};
use crate::domain::records::ids::GroupId;
use crate::domain::state::group_state::GroupState;
use crate::engine::group_states::GroupStates;

/// Claims the blocks of the ids of a group for it.
pub(crate) fn claim_used_ids(blocks: &mut IdBlocks, group_state: &GroupState) {
    let group = group_state.catalogue.group.id;
    // An import chooses ids itself, so these may lie in blocks that were never granted.
    let mut used = group_state.catalogue.ids();
    // The directory may be older than the group.
    used.extend(IdKind::iter().map(|kind| (kind, group_state.highest_id(kind))));
    used.retain(|(_, id)| *id > 0);
    // Most ids of a kind lie in one block, and looking for it takes longer.
    used.sort_unstable();
    used.dedup_by_key(|(kind, id)| (*kind, *id / BLOCK));
    for (kind, id) in used {
        blocks.claim_imported(kind, id, group);
    }
}

/// The blocks of a directory that is being read, with those of the ids that its groups use. A
/// server that follows a cluster claims them as it reads, and has few left to claim once it takes
/// over.
#[derive(Debug, Default)]
pub(crate) struct UsedBlocks {
    blocks: IdBlocks,
    /// Groups that were read or changed since their ids were claimed.
    unclaimed: BTreeSet<GroupId>,
}

impl UsedBlocks {
    /// Begins anew with the blocks of a directory. The ids of no group are claimed.
    pub(crate) fn begin(&mut self, blocks: &IdBlocks, groups: impl Iterator<Item = GroupId>) {
        self.blocks.clone_from(blocks);
        self.unclaimed = groups.collect();
    }

    /// Notes that a group was read or has changed.
    pub(crate) fn note_change(&mut self, group: GroupId) {
        self.unclaimed.insert(group);
    }

    /// Follows the blocks of the directory from before an event to after it.
    pub(crate) fn follow(
        &mut self,
        before: &IdBlocks,
        after: &IdBlocks,
        groups: impl Iterator<Item = GroupId>,
    ) {
        if before.ptr_eq(after) {
            return;
        }
        for change in before.diff(after) {
            let is_granted_once = match change {
                DiffItem::Add((kind, number), block) => {
                    self.blocks.insert(*kind, *number, block.clone()).is_none()
                }
                DiffItem::Update { .. } | DiffItem::Remove(..) => false,
            };
            if !is_granted_once {
                // The claim of a group may have gone.
                return self.begin(after, groups);
            }
        }
    }

    /// Claims the blocks of the ids of the groups that were read or changed.
    pub(crate) fn claim(&mut self, group_states: &GroupStates) {
        for group in std::mem::take(&mut self.unclaimed) {
            if let Some(group_state) = group_states.get(group) {
                claim_used_ids(&mut self.blocks, group_state);
            }
        }
    }

    /// Returns the blocks, with those that are claimed.
    pub(crate) fn into_blocks(self) -> IdBlocks {
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::availability::catalogue::Catalogue;
    use crate::domain::directory::id_blocks::Block;
    use crate::domain::records::group::Group;
    use crate::domain::time::Instant;
    use crate::domain::time::zone_names::ZoneName;

    fn group(id: u64) -> GroupId {
        GroupId::new(id).expect("an id")
    }

    /// Groups whose highest ids of clients are these.
    fn states(highest: &[(u64, u64)]) -> GroupStates {
        let zone = ZoneName::from_name("Paris").expect("a zone");
        let state = |(id, fiche): &(u64, u64)| {
            let group = Group::new(group(*id), zone, Instant(0));
            let mut state = GroupState::new(Catalogue::new(group));
            state.highest_ids.fiche = *fiche;
            Arc::new(state)
        };
        highest.iter().map(state).collect()
    }

    #[test]
    fn blocks_are_those_of_a_start_whenever_they_were_claimed() {
        let states = states(&[(1, 5), (2, 2_000), (3, 2_000)]);
        let mut directory = IdBlocks::default();
        directory.insert(IdKind::Fiche, 0, Block::Granted(group(1)));
        let mut used = UsedBlocks::default();
        used.begin(&directory, states.groups());
        used.claim(&states);
        let mut before = directory.clone();
        directory.insert(IdKind::Vevent, 7, Block::Granted(group(2)));
        used.follow(&before, &directory, states.groups());
        used.note_change(group(2));
        used.claim(&states);
        before = directory.clone();
        // A store that a mistake has made: both others use ids of this block already.
        directory.insert(IdKind::Fiche, 1, Block::Granted(group(1)));
        used.follow(&before, &directory, states.groups());
        used.claim(&states);
        let mut expected = directory;
        states.iter().for_each(|state| claim_used_ids(&mut expected, state));
        assert_eq!(used.into_blocks(), expected);
        let owners = vec![group(1), group(2), group(3)];
        assert_eq!(expected.find(IdKind::Fiche, 2_000), Some(&Block::Imported(owners)));
    }
}
