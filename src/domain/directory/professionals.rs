//! The professionals of all groups. Reference 3.3.

use std::collections::BTreeSet;
use std::ops::Deref;

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

use crate::domain::directory::roles::ProRole;
use crate::domain::records::ids::{GroupId, ProId};
use crate::domain::records::text::{Email, Name, Text};
use crate::domain::time::Instant;

/// A professional. An e-mail address belongs to one professional only. Reference 3.3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pro {
    /// Its id.
    pub id: ProId,
    /// The address it logs in with.
    pub email: Email,
    /// A PHC string over the lower-case hexadecimal SHA-1 of the password.
    pub password_hash: Text<255>,
    /// Last name.
    pub lastname: Name<64>,
    /// First name.
    pub firstname: Name<64>,
    /// Mobile phone.
    pub cellphone: Text<25>,
    /// The groups that the professional works for, ascending.
    pub groups: Vec<GroupId>,
    /// The group that older paths refer to. Reference 1.6.
    pub main: GroupId,
    /// The time of the last synchronisation by a client program.
    pub synched_at: Option<Instant>,
    /// The time of its creation.
    pub created_at: Instant,
    /// The time of its last change.
    pub updated_at: Instant,
}

impl Pro {
    /// Returns the names, as events name their taker; `None` without any.
    pub fn names(&self) -> Option<Text<255>> {
        let names = format!("{} {}", self.lastname.as_str(), self.firstname.as_str());
        let names = Text::new(names.trim()).expect("two names of 64 characters are a text");
        if names.is_blank() { None } else { Some(names) }
    }

    /// Creates a professional of one group with a placeholder address, which must be replaced.
    pub fn blank(id: ProId, group: GroupId, now: Instant) -> Self {
        Self {
            id,
            email: Email::new("placeholder@invalid").expect("an address"),
            password_hash: Text::default(),
            lastname: Name::default(),
            firstname: Name::default(),
            cellphone: Text::default(),
            groups: vec![group],
            main: group,
            synched_at: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether the professional works for a group.
    pub fn works_for(&self, group: GroupId) -> bool {
        self.groups.binary_search(&group).is_ok()
    }
}

/// A professional to add, or to add groups to.
#[derive(Clone, Debug)]
pub struct ProDraft {
    /// The address it logs in with. It identifies the professional.
    pub email: Email,
    /// The hash of the password; `None` for an existing professional.
    pub password_hash: Option<Text<255>>,
    /// Last name.
    pub lastname: Name<64>,
    /// First name.
    pub firstname: Name<64>,
    /// Mobile phone.
    pub cellphone: Text<25>,
    /// The groups to work for. May be empty if the store has one group only.
    pub groups: BTreeSet<GroupId>,
    /// The group that older paths refer to; `None` for the first. Reference 1.6.
    pub main: Option<GroupId>,
    /// The role in the groups that are added.
    pub role: ProRole,
}

/// Professionals by id, by address for their logins, and by group. They are read as the map by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Professionals {
    by_id: OrdMap<ProId, Pro>,
    /// The folded address of each, with its id.
    emails: OrdSet<(Box<str>, ProId)>,
    /// Each group that one works for, with its id.
    by_group: OrdSet<(GroupId, ProId)>,
    /// The highest id that one ever had; 0 before the first. The history names people by their ids,
    /// so the id of one who was removed is given to no other.
    last_id: u64,
}

impl Deref for Professionals {
    type Target = OrdMap<ProId, Pro>;

    fn deref(&self) -> &Self::Target {
        &self.by_id
    }
}

impl Professionals {
    /// The highest id that a professional ever had; 0 before the first.
    pub const fn last_id(&self) -> u64 {
        self.last_id
    }

    /// Prevents that ids up to this one are given again.
    pub fn spend_ids_to(&mut self, id: u64) {
        self.last_id = self.last_id.max(id);
    }

    /// Finds the professional with a folded address; of several, the one with the lowest id.
    pub fn find_by_email(&self, folded: &str) -> Option<&Pro> {
        let first = ProId::new(1).expect("1 is an id");
        let (email, id) = self.emails.range((Box::from(folded), first)..).next()?;
        if **email == *folded { self.get(id) } else { None }
    }

    /// The professionals of a group, ascending by id.
    pub fn of_group(&self, group: GroupId) -> impl Iterator<Item = &Pro> {
        let first = ProId::new(1).expect("1 is an id");
        let entries = self.by_group.range((group, first)..);
        entries.take_while(move |(of, _)| *of == group).filter_map(|(_, id)| self.get(id))
    }

    /// Inserts a professional, or replaces the one with its id. Returns the one before.
    pub fn insert(&mut self, id: ProId, pro: Pro) -> Option<Pro> {
        let before = self.remove(&id);
        self.spend_ids_to(id.number());
        self.emails.insert((pro.email.folded(), id));
        self.by_group.extend(pro.groups.iter().map(|group| (*group, id)));
        self.by_id.insert(id, pro);
        before
    }

    /// Removes a professional, if it exists, and returns it.
    pub fn remove(&mut self, id: &ProId) -> Option<Pro> {
        let before = self.by_id.remove(id)?;
        self.emails.remove(&(before.email.folded(), *id));
        for group in &before.groups {
            self.by_group.remove(&(*group, *id));
        }
        Some(before)
    }
}

impl Extend<(ProId, Pro)> for Professionals {
    fn extend<I: IntoIterator<Item = (ProId, Pro)>>(&mut self, pros: I) {
        for (id, pro) in pros {
            self.insert(id, pro);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pro(id: u64, email: &str, groups: &[u64]) -> Pro {
        let mut works_for = Vec::new();
        for group in groups {
            works_for.push(GroupId::new(*group).expect("an id"));
        }
        let id = ProId::new(id).expect("an id");
        let email = Email::new(&format!("{email}@example.org")).expect("an address");
        Pro { email, groups: works_for.clone(), ..Pro::blank(id, works_for[0], Instant(0)) }
    }

    proptest! {
        #[test]
        fn professionals_are_found_as_in_a_plain_list(
            steps in proptest::collection::vec(
                (1..5_u64, "[abAB]", proptest::collection::btree_set(1..4_u64, 1..3), any::<bool>()),
                0..30,
            ),
        ) {
            let mut pros = Professionals::default();
            let mut plain = std::collections::BTreeMap::new();
            for (id, email, groups, removes) in steps {
                let pro = pro(id, &email, &Vec::from_iter(groups));
                if removes {
                    prop_assert_eq!(pros.remove(&pro.id), plain.remove(&pro.id));
                } else {
                    prop_assert_eq!(pros.insert(pro.id, pro.clone()), plain.insert(pro.id, pro));
                }
            }
            prop_assert!(pros.values().eq(plain.values()));
            for group in 1..4 {
                let group = GroupId::new(group).expect("an id");
                prop_assert!(pros.of_group(group).eq(plain.values().filter(|pro| pro.works_for(group))));
            }
            for folded in ["a@example.org", "b@example.org", "c@example.org"] {
                let expected = plain.values().find(|pro| *pro.email.folded() == *folded);
                prop_assert_eq!(pros.find_by_email(folded), expected);
            }
        }
    }
}
