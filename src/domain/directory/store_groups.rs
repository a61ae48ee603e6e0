//! The groups of a store, as changes of access see them. Reference 11.1.

use std::collections::BTreeSet;

use crate::domain::directory::access_refusal::AccessRefusal;
use crate::domain::records::ids::GroupId;

/// Maximum number of groups that a refusal lists.
const GROUPS_SHOWN_MAX: usize = 20;

/// The groups of a store, as far as a change of access depends on them.
pub struct StoreGroups<'s> {
    /// Whether a group exists.
    pub(super) exists: Box<dyn Fn(GroupId) -> bool + 's>,
    /// The first of them, ascending; more than one if there are more.
    pub(super) first: Vec<GroupId>,
}

impl<'s> StoreGroups<'s> {
    /// The groups for which `exists` is true, which `ascending` lists. Only the first few are read
    /// from the list.
    pub fn new(
        exists: impl Fn(GroupId) -> bool + 's,
        ascending: impl IntoIterator<Item = GroupId>,
    ) -> Self {
        Self {
            exists: Box::new(exists),
            first: ascending.into_iter().take(GROUPS_SHOWN_MAX).collect(),
        }
    }

    /// Checks that all of some groups exist.
    ///
    /// # Errors
    /// The first that does not.
    pub(super) fn check_all_exist(&self, named: &BTreeSet<GroupId>) -> Result<(), AccessRefusal> {
        for group in named {
            if !(self.exists)(*group) {
                return Err(AccessRefusal::NoGroup(*group));
            }
        }
        Ok(())
    }
}
