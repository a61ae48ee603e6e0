//! Blocks of ids, by which an id identifies its group. Reference 3.

use std::ops::{Deref, Range};

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::domain::records::ids::GroupId;

/// Number of ids in a block. A group uses ids of its own blocks only. So an id identifies its
/// group, and groups never wait for one another.
pub const BLOCK: u64 = 1_024;

/// The kinds of records whose ids come from blocks. The order of the variants is the format on
/// disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[derive(strum::EnumIter)]
#[expect(missing_docs, reason = "each is the record of its name")]
pub enum IdKind {
    Fiche,
    Vevent,
    Calendar,
    Calendarset,
    Intervention,
    Interventionset,
    Customfield,
}

/// The owner of a block of ids. The order of the variants is the format on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Block {
    /// Granted to one group, which uses the ids in ascending order.
    Granted(GroupId),
    /// Filled by an import, with ids of these groups, ascending. No new id is taken from it.
    Imported(Vec<GroupId>),
}

/// The blocks of ids of all groups. They are read as the map of the owners.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdBlocks {
    /// The owners, by kind and number. A block that an import filled may have several.
    owners: OrdMap<(IdKind, u64), Block>,
    /// The granted blocks of each group. An index of `owners`.
    granted: OrdSet<(GroupId, IdKind, u64)>,
}

impl Deref for IdBlocks {
    type Target = OrdMap<(IdKind, u64), Block>;

    fn deref(&self) -> &Self::Target {
        &self.owners
    }
}

impl IdBlocks {
    /// Finds the block of an id.
    pub fn find(&self, kind: IdKind, id: u64) -> Option<&Block> {
        self.owners.get(&(kind, id / BLOCK))
    }

    /// Inserts a block, or replaces the one with its kind and number. Returns the one before.
    pub fn insert(&mut self, kind: IdKind, number: u64, block: Block) -> Option<Block> {
        if let Some(Block::Granted(before)) = self.owners.get(&(kind, number)) {
            self.granted.remove(&(*before, kind, number));
        }
        if let Block::Granted(group) = &block {
            self.granted.insert((*group, kind, number));
        }
        self.owners.insert((kind, number), block)
    }

    /// The number of the block after the highest one in use.
    pub fn next_number(&self, kind: IdKind) -> u64 {
        match self.owners.range((kind, 0)..=(kind, u64::MAX)).next_back() {
            Some(((_, last), _)) => last + 1,
            None => 0,
        }
    }

    /// The ids that were granted to a group and are not used yet, as ascending ranges. `last_used`
    /// is the highest id that the group ever used.
    pub fn unused_ids(
        &self,
        kind: IdKind,
        group: GroupId,
        last_used: u64,
    ) -> impl Iterator<Item = Range<u64>> {
        let first = (last_used + 1) / BLOCK;
        self.granted
            .range((group, kind, first)..=(group, kind, u64::MAX))
            .map(move |(_, _, block)| (block * BLOCK).max(last_used + 1)..(block + 1) * BLOCK)
    }

    /// Marks the block of an id as filled by an import.
    pub fn claim_imported(&mut self, kind: IdKind, id: u64, group: GroupId) {
        let number = id / BLOCK;
        let owners = match self.owners.get_mut(&(kind, number)) {
            None => vec![group],
            Some(Block::Granted(owner)) if *owner == group => return,
            Some(Block::Granted(owner)) => vec![group.min(*owner), group.max(*owner)],
            Some(Block::Imported(owners)) => {
                if let Err(at) = owners.binary_search(&group) {
                    owners.insert(at, group);
                }
                return;
            }
        };
        self.insert(kind, number, Block::Imported(owners));
    }
}

impl Extend<((IdKind, u64), Block)> for IdBlocks {
    fn extend<I: IntoIterator<Item = ((IdKind, u64), Block)>>(&mut self, blocks: I) {
        for ((kind, number), block) in blocks {
            self.insert(kind, number, block);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn group(id: u64) -> GroupId {
        GroupId::new(id).expect("an id")
    }

    proptest! {
        #[test]
        fn unused_ids_are_those_of_the_granted_blocks_after_the_last_used(
            steps in proptest::collection::vec((any::<bool>(), 1..4_u64, 0..5_000_u64), 0..30),
            last_used in 0..6_000_u64,
        ) {
            let mut blocks = IdBlocks::default();
            for (is_granted, owner, id) in steps {
                if is_granted {
                    let number = blocks.next_number(IdKind::Fiche);
                    blocks.insert(IdKind::Fiche, number, Block::Granted(group(owner)));
                } else {
                    blocks.claim_imported(IdKind::Fiche, id, group(owner));
                }
            }
            for owner in 1..4 {
                let mut expected = Vec::new();
                for (&(_, number), block) in blocks.iter() {
                    if *block == Block::Granted(group(owner)) {
                        let ids = number * BLOCK..(number + 1) * BLOCK;
                        expected.extend(ids.filter(|id| *id > last_used));
                    }
                }
                let mut ranges = blocks.unused_ids(IdKind::Fiche, group(owner), last_used);
                prop_assert!(ranges.all(|range| !range.is_empty()));
                let found = blocks.unused_ids(IdKind::Fiche, group(owner), last_used).flatten();
                prop_assert_eq!(found.collect::<Vec<_>>(), expected);
                prop_assert_eq!(blocks.unused_ids(IdKind::Vevent, group(owner), 0).count(), 0);
            }
        }
    }

    #[test]
    fn a_block_that_others_filled_belongs_to_all_of_them() {
        let mut blocks = IdBlocks::default();
        blocks.insert(IdKind::Fiche, 0, Block::Granted(group(2)));
        blocks.claim_imported(IdKind::Fiche, 5, group(2));
        assert!(blocks.iter().all(|(_, block)| *block == Block::Granted(group(2))));
        blocks.claim_imported(IdKind::Fiche, 5, group(1));
        let owners = vec![group(1), group(2)];
        assert!(blocks.iter().all(|(_, block)| *block == Block::Imported(owners.clone())));
        assert_eq!(blocks.unused_ids(IdKind::Fiche, group(2), 0).count(), 0);
        // The first id after a block that is used up is that of the next one.
        blocks.insert(IdKind::Fiche, 1, Block::Granted(group(2)));
        blocks.insert(IdKind::Fiche, 2, Block::Granted(group(2)));
        let mut unused = blocks.unused_ids(IdKind::Fiche, group(2), 2 * BLOCK - 1);
        assert_eq!(unused.next(), Some(2 * BLOCK..3 * BLOCK));
        assert_eq!(unused.next(), None);
    }
}
