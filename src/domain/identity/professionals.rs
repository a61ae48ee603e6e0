//! The professionals of all groups. Reference 3.3.

use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};

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
    /// Whether the professional works for a group.
    #[must_use]
    pub fn works_for(&self, group: GroupId) -> bool {
        self.groups.binary_search(&group).is_ok()
    }
}

/// Professionals by id, and by address for their logins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Professionals {
    by_id: OrdMap<ProId, Pro>,
    /// The folded address of each, with its id.
    emails: OrdSet<(Box<str>, ProId)>,
}

impl Professionals {
    /// Finds a professional.
    #[must_use]
    pub fn get(&self, id: &ProId) -> Option<&Pro> {
        self.by_id.get(id)
    }

    /// Finds the professional with a folded address; of several, the one with the lowest id.
    #[must_use]
    pub fn find_by_email(&self, folded: &str) -> Option<&Pro> {
        let first = ProId::new(1).expect("1 is an id");
        let (email, id) = self.emails.range((Box::from(folded), first)..).next()?;
        if **email == *folded { self.get(id) } else { None }
    }

    /// Inserts a professional, or replaces the one with its id. Returns the one before.
    pub fn insert(&mut self, id: ProId, pro: Pro) -> Option<Pro> {
        let before = self.remove(&id);
        self.emails.insert((pro.email.folded(), id));
        self.by_id.insert(id, pro);
        before
    }

    /// Removes a professional, if it exists, and returns it.
    pub fn remove(&mut self, id: &ProId) -> Option<Pro> {
        let before = self.by_id.remove(id)?;
        self.emails.remove(&(before.email.folded(), *id));
        Some(before)
    }

    /// All professionals, ascending by id.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Pro> {
        self.by_id.values()
    }

    /// Their ids, ascending.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &ProId> {
        self.by_id.keys()
    }

    /// Their number.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }
}

impl Extend<(ProId, Pro)> for Professionals {
    fn extend<I: IntoIterator<Item = (ProId, Pro)>>(&mut self, pros: I) {
        for (id, pro) in pros {
            self.insert(id, pro);
        }
    }
}

impl FromIterator<(ProId, Pro)> for Professionals {
    fn from_iter<I: IntoIterator<Item = (ProId, Pro)>>(pros: I) -> Self {
        let mut professionals = Self::default();
        professionals.extend(pros);
        professionals
    }
}
